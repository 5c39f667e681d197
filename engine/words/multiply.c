// SPDX-License-Identifier: Apache-2.0
// A task is a block of rows by a range of groups. Tasks of one block of rows follow each other, so
// the matrix is read from memory once per block. A kernel writes all 16 channels of a group. The
// last group may have fewer, so it goes through a scratch array.
#include "engine/words/multiply.h"

#include "base/misuse.h"
#include "kernels/kernels.h"

#include <string.h>

enum {
	ROW_BLOCK = 64,      /* rows that share one reading of the matrix */
	TASKS_PER_WORKER = 8 /* tasks per worker and block, about */
};

struct row_product {
	const struct packed_matrix *w;
	const float *rows; /* [count][w->k] */
	float *out;        /* [count][w->channels] */
	size_t count;      /* rows */
	size_t step;       /* groups of a task */
	size_t ranges;     /* tasks of a block */
};

static void multiply_range(void *context, size_t index, unsigned worker) {
	(void)worker;
	const struct row_product *p = context;
	const size_t first = index / p->ranges * ROW_BLOCK, channels = p->w->channels,
	             whole = channels / GEMM_GROUP, left = p->count - first,
	             begin = index % p->ranges * p->step;
	const struct gemm_rows rows = {.rows = left < ROW_BLOCK ? left : ROW_BLOCK,
	                               .k = p->w->k,
	                               .x = p->rows + first * p->w->k};
	float *out = p->out + first * channels;
	gemm_fn *gemm = kernels_gemm(kernels_get(), p->w->type);
	const size_t end = begin + p->step < whole ? begin + p->step : whole;
	if (begin < end) gemm(out, channels, false, &rows, p->w, NULL, begin, end);
	const size_t rest = channels % GEMM_GROUP;
	if (!rest || begin > whole || begin + p->step <= whole) return;
	float scratch[ROW_BLOCK * GEMM_GROUP];
	const uint32_t last = (uint32_t)whole;
	gemm(scratch, GEMM_GROUP, false, &rows, p->w, &last, 0, 1);
	for (size_t r = 0; r < rows.rows; r++)
		memcpy(out + r * channels + whole * GEMM_GROUP, scratch + r * GEMM_GROUP,
		       rest * sizeof *out);
	explicit_bzero(scratch, sizeof scratch);
}

void multiply_rows(struct threads *threads, const struct packed_matrix *w, const float *rows,
                   size_t count, float *out) {
	REQUIRE(packed_is_float(w->type) && w->channels);
	if (!count) return;
	struct row_product product = {.w = w, .rows = rows, .out = out, .count = count};
	const size_t groups = (w->channels + GEMM_GROUP - 1) / GEMM_GROUP;
	// An even number of groups: the kernels' widest tiles hold two.
	product.step = (groups / ((size_t)threads_count(threads) * TASKS_PER_WORKER) / 2 + 1) * 2;
	product.ranges = (groups + product.step - 1) / product.step;
	threads_run(threads, (count + ROW_BLOCK - 1) / ROW_BLOCK * product.ranges, multiply_range,
	            &product);
}
