// SPDX-License-Identifier: Apache-2.0
// evaluator.h: an evaluation while it is made, for the files that make it.
//
// References may be PRIVATE, and so may be all numbers here.
#ifndef CUTTLE_WORKFLOW_EVALUATE_EVALUATOR_H
#define CUTTLE_WORKFLOW_EVALUATE_EVALUATOR_H

#include "measure/mauve.h"
#include "workflow/evaluate/evaluation.h"

enum { EVALUATOR_SEED = 1 };             /* public: the same numbers for everybody */
extern const double evaluator_scales[2]; /* c of MAUVE: the papers', and a finer one */

/* Texts begin, begin + step, ... of a set. */
struct text_view {
	const struct text_set *set;
	size_t begin;
	size_t step;
	size_t count;  /* texts */
	size_t offset; /* of the set's first text among all stacked vectors */
};

/* A row and the references that it is compared with. */
struct compared_views {
	struct text_view texts;
	struct text_view references;
};

struct evaluator {
	const struct evaluation_input *input;
	struct evaluation *evaluation;
	struct compared_views *views; /* [row_count] */
	struct terms *lexicon;        /* NULL = none */
	size_t width;                 /* of the vectors */
	struct mauve_points points;   /* all vectors, on the kept axes; without noisy references */
	struct mauve_points others;   /* vectors of noisy references, on the same axes */
	uint32_t *labels;             /* [points.count] clusters */
	int64_t *answers;             /* [clusters + 2] of noisy references; NULL = they are read */
	// Classes of the task: labels that occur, in the order of the test texts, then of the rows.
	const char *class_names[EVALUATION_CLASSES];
	size_t class_sizes[EVALUATION_CLASSES];
	struct cuttle_error *error;
};

enum cuttle_status evaluator_fail(const struct evaluator *e); /* NOMEM, with its message */
/* The number in its set of text i of a view. */
size_t evaluator_text(const struct text_view *view, size_t i);
void evaluator_cell(struct evaluation_row *row, int column, double value, double error);
/* A cell with the mean of values[count] and its half width. */
void evaluator_mean(struct evaluation_row *row, int column, const double *values, size_t count);
/* counts[clusters] of a view's texts, by e->labels. */
void evaluator_count(const struct evaluator *e, const struct text_view *view, uint32_t *counts);

/* MAUVE and means where the references answer through noise: clusters come from the other sets,
 * the references vote for them. Sets cells and pairs. NOMEM, or what the input's `ask` answers. */
enum cuttle_status evaluator_noisy(struct evaluator *e);

/* Cells of next tokens, where the input asks for them. All rows are set up. NOMEM. */
enum cuttle_status evaluator_next(struct evaluator *e);

#endif
