// SPDX-License-Identifier: Apache-2.0
// What workflow/evaluate/evaluation.c and workflow/evaluate/evaluation_noisy.c both need: see
// evaluator.h.
#include "workflow/evaluate/evaluator.h"

#include "io/disk/fail.h"
#include "measure/samples.h"
#include <string.h>

const double evaluator_scales[2] = {MAUVE_SCALE_PAPER, MAUVE_SCALE_FINE};

enum cuttle_status evaluator_fail(const struct evaluator *e) {
	return io_fail(e->error, CUTTLE_NOMEM, "out of memory for the evaluation");
}

size_t evaluator_text(const struct text_view *view, size_t i) {
	return view->begin + i * view->step;
}

void evaluator_cell(struct evaluation_row *row, int column, double value, double error) {
	row->cells[column] = (struct evaluation_cell){value, error};
}

void evaluator_mean(struct evaluation_row *row, int column, const double *values, size_t count) {
	evaluator_cell(row, column, samples_mean(values, count), samples_half_width(values, count));
}

void evaluator_count(const struct evaluator *e, const struct text_view *view, uint32_t *counts) {
	memset(counts, 0, e->evaluation->clusters * sizeof *counts);
	for (size_t i = 0; i < view->count; i++)
		counts[e->labels[view->offset + evaluator_text(view, i)]]++;
}
