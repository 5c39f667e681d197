// SPDX-License-Identifier: Apache-2.0
// Next tokens of the references, guessed by what each row teaches. See evaluator.h. Equally many
// texts of each row teach, since more teach more. Rows are compared on the same references: real
// against real is tested on every other one, so a row is compared with it on these.
#include "workflow/evaluate/evaluator.h"

#include "measure/next_token.h"
#include "measure/samples.h"
#include "measure/scratch.h"
#include <math.h>

/* Scores of the references, by their number; of one that a row is not tested on, no tokens. */
struct guessed {
	struct next_token_score *row;    /* of the row that is measured */
	struct next_token_score *real;   /* of real against real */
	struct next_token_score *public; /* of the public prompt alone */
	struct next_token_text *texts;   /* scratch: what teaches, no more than references */
	double *sums;                    /* scratch, one number a reference */
	double *sizes;                   /* the same */
	size_t count;                    /* references */
};

static struct next_token_text tokens_of_text(const struct text_set *set, size_t i) {
	return (struct next_token_text){set->ids + set->first[i],
	                                set->first[i + 1] - set->first[i]};
}

/* Teaches a model by the first texts of a view, and has it guess the references of another. */
static bool guess_tokens(const struct evaluator *e, const struct compared_views *views,
                         const struct guessed *g, struct next_token_score *scores) {
	const struct text_view *texts = &views->texts, *refs = &views->references;
	const size_t taught = e->evaluation->compared;
	for (size_t i = 0; i < taught; i++)
		g->texts[i] = tokens_of_text(texts->set, evaluator_text(texts, i));
	struct next_token_model *model = next_token_teach(g->texts, taught, e->input->vocabulary);
	if (!model) return false;
	for (size_t i = 0; i < g->count; i++) g->texts[i] = (struct next_token_text){0};
	for (size_t i = 0; i < refs->count; i++) {
		const size_t number = evaluator_text(refs, i);
		g->texts[number] = tokens_of_text(refs->set, number);
	}
	const bool done = next_token_measure(model, g->texts, g->count, scores);
	next_token_free(model);
	return done;
}

/* A cell of the share of tokens that were guessed, or with `bits` of the bits a token. With `other`
 * it is the difference to that, on the references that other was tested on. */
static void put_guessed(const struct guessed *g, const struct next_token_score *mine,
                        const struct next_token_score *other, bool bits,
                        struct evaluation_cell *cell) {
	size_t tested = 0;
	for (size_t i = 0; i < g->count; i++) {
		const double tokens = other ? other[i].tokens : mine[i].tokens;
		if (!(tokens > 0)) continue;
		g->sums[tested] = bits ? mine[i].bits : mine[i].right;
		if (other) g->sums[tested] -= bits ? other[i].bits : other[i].right;
		g->sizes[tested++] = tokens;
	}
	cell->value = samples_share(g->sums, g->sizes, tested, &cell->error);
}

static bool measure_guesses(struct evaluator *e, struct guessed *g, size_t i) {
	struct evaluation_row *row = &e->evaluation->rows[i];
	struct next_token_score *scores = row->kind == EVALUATION_REAL     ? g->real
	                                  : row->kind == EVALUATION_PUBLIC ? g->public
	                                                                   : g->row;
	if (!guess_tokens(e, &e->views[i], g, scores)) return false;
	struct evaluation_cell *cells = row->cells;
	put_guessed(g, scores, NULL, false, &cells[EVALUATION_NEXT]);
	put_guessed(g, scores, NULL, true, &cells[EVALUATION_NEXT_BITS]);
	if (row->kind == EVALUATION_REAL) return true;
	put_guessed(g, scores, g->real, false, &cells[EVALUATION_NEXT_REAL]);
	put_guessed(g, scores, g->real, true, &cells[EVALUATION_NEXT_REAL_BITS]);
	if (row->kind == EVALUATION_PUBLIC || !e->input->baseline) return true;
	put_guessed(g, scores, g->public, false, &cells[EVALUATION_NEXT_PUBLIC]);
	put_guessed(g, scores, g->public, true, &cells[EVALUATION_NEXT_PUBLIC_BITS]);
	return true;
}

enum cuttle_status evaluator_next(struct evaluator *e) {
	const size_t count = e->input->references->count;
	if (!e->input->vocabulary) return CUTTLE_OK;
	struct guessed g = {.row = scratch_make(count, sizeof *g.row),
	                    .real = scratch_make(count, sizeof *g.real),
	                    .public = scratch_make(count, sizeof *g.public),
	                    .texts = scratch_make(count, sizeof *g.texts),
	                    .sums = scratch_make(count, sizeof *g.sums),
	                    .sizes = scratch_make(count, sizeof *g.sizes),
	                    .count = count};
	bool done = g.row && g.real && g.public && g.texts && g.sums && g.sizes;
	// The anchors are the first rows, and others are compared with them.
	for (size_t i = 0; i < e->evaluation->row_count && done; i++)
		done = measure_guesses(e, &g, i);
	scratch_free(g.row);
	scratch_free(g.real);
	scratch_free(g.public);
	scratch_free(g.texts);
	scratch_free(g.sums);
	scratch_free(g.sizes);
	return done ? CUTTLE_OK : evaluator_fail(e);
}
