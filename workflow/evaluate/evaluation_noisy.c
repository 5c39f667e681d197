// SPDX-License-Identifier: Apache-2.0
// References that answer through noise, see evaluator.h and dp/PRIVACY.md, step 50. What each of
// them says goes to the input's `ask`; only its answers come back, and only they are used.
#include "workflow/evaluate/evaluator.h"

#include "engine/cuttle/embed.h"
#include "engine/cuttle/votes.h"
#include "measure/compare.h"
#include "measure/samples.h"
#include "measure/scratch.h"
#include "measure/stream.h"
#include <math.h>
#include <stdlib.h>

enum { NOISES = 200 }; /* times that noise is added once more, to see what it does to a score */

/* Public numbers that what references say is clamped around. */
struct noisy_centres {
	double length; /* tokens */
	double loss;   /* parts of a nat */
};

static double length_of_text(const struct text_set *set, size_t i) {
	return fmin(set->tokens[i], CUTTLE_EMBED_TOKENS);
}

/* NaN: the text has none. */
static double loss_of_text(const struct text_set *set, size_t i) {
	return EVALUATION_LOSS_PARTS * log(set->perplexity[i]);
}

/* The means over all runs, as whole numbers. */
static struct noisy_centres find_centres(const struct evaluation_input *in) {
	double lengths = 0, losses = 0;
	size_t texts = 0, finite = 0;
	for (size_t run = 0; run < in->run_count; run++)
		for (size_t i = 0; i < in->runs[run].count; i++) {
			const double loss = loss_of_text(&in->runs[run], i);
			lengths += length_of_text(&in->runs[run], i);
			texts++;
			if (!isfinite(loss)) continue;
			losses += loss;
			finite++;
		}
	return (struct noisy_centres){.length = texts ? rint(lengths / (double)texts) : 0,
	                              .loss = finite ? rint(losses / (double)finite) : 0};
}

/* A whole number near `value` - centre, within the reach; 0 where there is no value. */
static int32_t clamp_saying(double value, double centre) {
	if (!isfinite(value)) return 0;
	return (int32_t)rint(fmax(fmin(value - centre, EVALUATION_REACH), -EVALUATION_REACH));
}

/* A record without a vector says nothing at all, as a null one. */
static bool has_direction(const struct text_set *set, size_t i) {
	bool some = false;
	for (size_t k = 0; k < set->width; k++) some |= set->vectors[i * set->width + k] != 0;
	return some;
}

/* Asks the references; what each says depends on it alone, and on public data. */
static enum cuttle_status ask_references(struct evaluator *e, const double *centres,
                                         struct noisy_centres around) {
	const struct text_set *refs = e->input->references;
	const size_t count = refs->count;
	uint32_t *votes = scratch_make(count, sizeof *votes);
	int32_t *lengths = scratch_make(count, sizeof *lengths),
	        *losses = scratch_make(count, sizeof *losses);
	enum cuttle_status status = votes && lengths && losses &&
	                                    kmeans_assign(e->others.rows, count, e->points.axes,
	                                                  centres, e->evaluation->clusters, votes)
	                                ? CUTTLE_OK
	                                : evaluator_fail(e);
	for (size_t i = 0; i < count && !status; i++) {
		if (!has_direction(refs, i)) {
			votes[i] = CUTTLE_NO_VOTE;
			continue;
		}
		lengths[i] = clamp_saying(length_of_text(refs, i), around.length);
		losses[i] = clamp_saying(loss_of_text(refs, i), around.loss);
	}
	const struct evaluation_sayings sayings = {votes, lengths, losses, count,
	                                           e->evaluation->clusters};
	if (!status)
		status =
		    e->input->noise->ask(e->input->noise->user, &sayings, e->answers, e->error);
	scratch_free(votes);
	scratch_free(lengths);
	scratch_free(losses);
	return status;
}

/* Counts from noisy ones, none below 0. False: nothing is left. */
static bool take_counts(const double *noisy, size_t clusters, uint32_t *counts) {
	bool some = false;
	for (size_t c = 0; c < clusters; c++) {
		counts[c] = noisy[c] > 0 ? (uint32_t)rint(noisy[c]) : 0;
		some |= counts[c] > 0;
	}
	return some;
}

/* A number of the normal law (Box and Muller 1958), from a public stream. */
static double draw_normal(struct stream *stream) {
	const double span = 0x1p53, one = (double)(stream_below(stream, 1ull << 53) + 1) / span,
	             other = (double)stream_below(stream, 1ull << 53) / span;
	return sqrt(-2.0 * log(one)) * cos(6.283185307179586 * other);
}

/* What working on noisy counts needs, for rows 1 .. rows: the texts of row i have the counts at
 * (i - 1) k. */
struct noisy_scores {
	size_t rows;
	size_t clusters;
	double *noisy;      /* [clusters] */
	uint32_t *counts;   /* [clusters] of the references */
	uint32_t *texts;    /* [rows][clusters] */
	double *shares;     /* [2][clusters] */
	double *scores;     /* [rows][NOISES] of one scale */
	double *difference; /* [NOISES] */
	double *p;          /* [rows squared] */
};

/* Scores every row with noise added once more to the noisy counts. As many as are left. */
static size_t score_noises(struct evaluator *e, struct noisy_scores *s, double scale) {
	struct stream stream = stream_of(EVALUATOR_SEED, 1);
	size_t scored = 0;
	for (int n = 0; n < NOISES; n++) {
		for (size_t c = 0; c < s->clusters; c++)
			s->noisy[c] = (double)e->answers[c] +
			              e->input->noise->vote_deviation * draw_normal(&stream);
		if (!take_counts(s->noisy, s->clusters, s->counts)) continue;
		mauve_shares(s->counts, s->clusters, 0, s->shares);
		for (size_t i = 0; i < s->rows; i++) {
			mauve_shares(s->texts + i * s->clusters, s->clusters, 0,
			             s->shares + s->clusters);
			s->scores[i * NOISES + scored] =
			    mauve_score(s->shares, s->shares + s->clusters, s->clusters, scale);
		}
		scored++;
	}
	for (size_t c = 0; c < s->clusters; c++) s->noisy[c] = (double)e->answers[c];
	return scored;
}

/* The order of two rows; noise of the references is in the deviation. */
static bool compare_noisy(struct evaluator *e, struct noisy_scores *s, size_t one, size_t other,
                          size_t noises) {
	struct evaluation *table = e->evaluation;
	const uint32_t *texts = s->texts;
	struct compare_difference found;
	if (!compare_runs(s->counts, texts + (one - 1) * s->clusters,
	                  texts + (other - 1) * s->clusters, s->clusters, MAUVE_SCALE_FINE,
	                  MAUVE_RESAMPLES, EVALUATOR_SEED, &found))
		return false;
	for (size_t n = 0; n < noises; n++)
		s->difference[n] =
		    s->scores[(one - 1) * NOISES + n] - s->scores[(other - 1) * NOISES + n];
	const double deviation = hypot(found.deviation, samples_deviation(s->difference, noises)),
	             size = fabs(found.difference);
	const bool turned = found.difference < 0;
	s->p[table->pair_count] = deviation > 0 ? erfc(size / deviation / sqrt(2.0)) : 1;
	table->pairs[table->pair_count] = (struct evaluation_pair){.one = turned ? other : one,
	                                                           .other = turned ? one : other,
	                                                           .difference = size,
	                                                           .deviation = deviation,
	                                                           .p = s->p[table->pair_count]};
	table->pair_count++;
	return true;
}

/* Scores of rows against noisy counts; their deviation is that of resamples and of noise. */
static enum cuttle_status score_noisy(struct evaluator *e, struct noisy_scores *s) {
	struct evaluation *table = e->evaluation;
	for (size_t i = 1; i <= s->rows; i++)
		evaluator_count(e, &e->views[i].texts, s->texts + (i - 1) * s->clusters);
	for (int scale = 0; scale < 2; scale++) {
		const size_t noises = score_noises(e, s, evaluator_scales[scale]);
		if (!take_counts(s->noisy, s->clusters, s->counts)) return CUTTLE_OK;
		for (size_t i = 1; i <= s->rows; i++) {
			struct mauve found;
			if (!mauve_measure(s->counts, s->texts + (i - 1) * s->clusters, s->clusters,
			                   evaluator_scales[scale], MAUVE_RESAMPLES, EVALUATOR_SEED,
			                   &found))
				return evaluator_fail(e);
			evaluator_cell(
			    &table->rows[i], scale ? EVALUATION_FINE : EVALUATION_MAUVE,
			    found.score,
			    hypot(found.deviation,
			          samples_deviation(s->scores + (i - 1) * NOISES, noises)));
			evaluator_cell(&table->rows[i], EVALUATION_FRONTIER, found.frontier, NAN);
		}
		for (size_t one = 1; scale && one <= s->rows; one++)
			for (size_t other = one + 1; other <= s->rows; other++)
				if (!compare_noisy(e, s, one, other, noises))
					return evaluator_fail(e);
	}
	if (!compare_holm(s->p, table->pair_count, s->p)) return evaluator_fail(e);
	for (size_t i = 0; i < table->pair_count; i++) table->pairs[i].holm = s->p[i];
	return CUTTLE_OK;
}

/* Means of what references say, and of the same numbers of each row's texts. How many references
 * say something is the sum of their noisy votes. */
static enum cuttle_status measure_near(struct evaluator *e, struct noisy_centres around) {
	const size_t k = e->evaluation->clusters;
	double voters = 0;
	for (size_t c = 0; c < k; c++) voters += (double)e->answers[c];
	struct evaluation_row *row = &e->evaluation->rows[0];
	const double error = SAMPLES_Z * e->input->noise->sum_deviation / voters;
	if (voters >= 1) {
		evaluator_cell(row, EVALUATION_NEAR_LENGTH,
		               around.length + (double)e->answers[k] / voters, error);
		evaluator_cell(row, EVALUATION_NEAR_LOSS,
		               (around.loss + (double)e->answers[k + 1] / voters) /
		                   EVALUATION_LOSS_PARTS,
		               error / EVALUATION_LOSS_PARTS);
	}
	for (size_t i = 1; i < e->evaluation->row_count; i++) {
		const struct text_view *view = &e->views[i].texts;
		double *values = scratch_make(2 * view->count, sizeof *values);
		if (!values) return evaluator_fail(e);
		size_t losses = 0;
		row = &e->evaluation->rows[i];
		for (size_t t = 0; t < view->count; t++) {
			const size_t text = evaluator_text(view, t);
			const double loss = loss_of_text(view->set, text);
			values[t] = around.length +
			            clamp_saying(length_of_text(view->set, text), around.length);
			if (isfinite(loss))
				values[view->count + losses++] =
				    (around.loss + clamp_saying(loss, around.loss)) /
				    EVALUATION_LOSS_PARTS;
		}
		evaluator_mean(row, EVALUATION_NEAR_LENGTH, values, view->count);
		if (losses) evaluator_mean(row, EVALUATION_NEAR_LOSS, values + view->count, losses);
		scratch_free(values);
	}
	return CUTTLE_OK;
}

/* Clusters come from the other sets; the references vote for them. */
enum cuttle_status evaluator_noisy(struct evaluator *e) {
	struct evaluation *table = e->evaluation;
	const size_t k = table->clusters, rows = table->row_count - 1;
	const struct noisy_centres around = find_centres(e->input);
	const struct kmeans_params params = {.clusters = k,
	                                     .restarts = MAUVE_RESTARTS,
	                                     .rounds = MAUVE_ROUNDS,
	                                     .seed = EVALUATOR_SEED};
	double *centres = scratch_make(k * e->points.axes, sizeof *centres);
	struct noisy_scores s = {.rows = rows,
	                         .clusters = k,
	                         .noisy = scratch_make(k, sizeof *s.noisy),
	                         .counts = scratch_make(k, sizeof *s.counts),
	                         .texts = scratch_make(rows * k, sizeof *s.texts),
	                         .shares = scratch_make(2 * k, sizeof *s.shares),
	                         .scores = scratch_make(rows * NOISES, sizeof *s.scores),
	                         .difference = scratch_make(NOISES, sizeof *s.difference),
	                         .p = scratch_make(rows * rows, sizeof *s.p)};
	e->labels = scratch_make(e->points.count, sizeof *e->labels);
	e->answers = scratch_make(k + 2, sizeof *e->answers);
	table->pairs = calloc(rows * rows + 1, sizeof *table->pairs);
	const bool room = centres && s.noisy && s.counts && s.texts && s.shares && s.scores &&
	                  s.difference && s.p && e->labels && e->answers && table->pairs;
	enum cuttle_status status =
	    room && kmeans_fit(e->points.rows, e->points.count, e->points.axes, &params, e->labels,
	                       centres, NULL)
	        ? CUTTLE_OK
	        : evaluator_fail(e);
	if (!status) status = ask_references(e, centres, around);
	if (!status) status = score_noisy(e, &s);
	if (!status) status = measure_near(e, around);
	scratch_free(centres);
	scratch_free(s.noisy);
	scratch_free(s.counts);
	scratch_free(s.texts);
	scratch_free(s.shares);
	scratch_free(s.scores);
	scratch_free(s.difference);
	scratch_free(s.p);
	return status;
}
