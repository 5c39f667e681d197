// SPDX-License-Identifier: Apache-2.0
// How evaluation.h makes the table. All vectors are stacked: references, baseline, runs. They are
// brought to the same axes and clustered together, so that rows compare with each other.
// A view is a part of a set that stands for texts or references of a row: all of it, or every other
// text. Example: of 5 references, texts 1 and 3 against 0, 2 and 4.
#include "workflow/evaluate/evaluator.h"

#include "base/sort.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/text/terms.h"
#include "measure/bayes.h"
#include "measure/compare.h"
#include "measure/mauve.h"
#include "measure/ngrams.h"
#include "measure/pairs.h"
#include "measure/probe.h"
#include "measure/samples.h"
#include "measure/scratch.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct evaluation_column evaluation_columns[EVALUATION_COLUMNS] = {
    [EVALUATION_MAUVE] = {"mauve", "MAUVE c=.9", EVALUATION_DEVIATION, 4},
    [EVALUATION_MAUVE_SEEDS] = {"mauve_seeds", "sd of seeds", EVALUATION_NO_ERROR, 4},
    [EVALUATION_FINE] = {"mauve_5", "MAUVE c=5", EVALUATION_DEVIATION, 4},
    [EVALUATION_FINE_SEEDS] = {"mauve_5_seeds", "sd of seeds", EVALUATION_NO_ERROR, 4},
    [EVALUATION_FRONTIER] = {"frontier", "frontier integral", EVALUATION_NO_ERROR, 4},
    [EVALUATION_PERPLEXITY] = {"perplexity", "PPL", EVALUATION_HALF_WIDTH, 2},
    [EVALUATION_MEDIAN] = {"perplexity_median", "PPL, median", EVALUATION_NO_ERROR, 2},
    [EVALUATION_DPPL] = {"dppl", "dPPL of texts", EVALUATION_HALF_WIDTH, 2},
    [EVALUATION_DPPL_MEANS] = {"dppl_means", "dPPL of means", EVALUATION_HALF_WIDTH, 2},
    [EVALUATION_LENGTH] = {"length", "tokens", EVALUATION_HALF_WIDTH, 1},
    [EVALUATION_LENGTH_KS] = {"length_ks", "tokens, KS", EVALUATION_NO_ERROR, 3},
    [EVALUATION_ENDED] = {"ended", "ended by itself", EVALUATION_HALF_WIDTH, 3},
    [EVALUATION_DISTINCT_1] = {"distinct_1", "distinct-1", EVALUATION_NO_ERROR, 3},
    [EVALUATION_DISTINCT_2] = {"distinct_2", "distinct-2", EVALUATION_NO_ERROR, 3},
    [EVALUATION_DISTINCT_3] = {"distinct_3", "distinct-3", EVALUATION_NO_ERROR, 3},
    [EVALUATION_REPEATS] = {"repeats", "repeats", EVALUATION_NO_ERROR, 3},
    [EVALUATION_COPIES] = {"copies", "copies", EVALUATION_NO_ERROR, 3},
    [EVALUATION_COSINE] = {"cosine", "mean cosine", EVALUATION_NO_ERROR, 3},
    [EVALUATION_ENTITIES] = {"entities", "entities", EVALUATION_HALF_WIDTH, 2},
    [EVALUATION_BAYES] = {"bayes", "Bayes accuracy", EVALUATION_DEVIATION, 3},
    [EVALUATION_BAYES_RECALL] = {"bayes_recall", "Bayes recall", EVALUATION_DEVIATION, 3},
    [EVALUATION_PROBE] = {"probe", "probe accuracy", EVALUATION_DEVIATION, 3},
    [EVALUATION_NEAR_LENGTH] = {"tokens_near", "tokens, clamped", EVALUATION_HALF_WIDTH, 1},
    [EVALUATION_NEAR_LOSS] = {"loss_near", "-ln P, clamped", EVALUATION_HALF_WIDTH, 3},
    [EVALUATION_NEXT] = {"next_token", "next token", EVALUATION_HALF_WIDTH, 4},
    [EVALUATION_NEXT_BITS] = {"next_token_bits", "bits", EVALUATION_HALF_WIDTH, 3},
    [EVALUATION_NEXT_REAL] = {"next_token_over_real", "over real", EVALUATION_HALF_WIDTH, 4},
    [EVALUATION_NEXT_REAL_BITS] = {"next_token_bits_over_real", "bits over real",
                                   EVALUATION_HALF_WIDTH, 3},
    [EVALUATION_NEXT_PUBLIC] = {"next_token_over_public", "over public prompt",
                                EVALUATION_HALF_WIDTH, 4},
    [EVALUATION_NEXT_PUBLIC_BITS] = {"next_token_bits_over_public", "bits over public prompt",
                                     EVALUATION_HALF_WIDTH, 3},
    [EVALUATION_PROBE_RECALL] = {"probe_recall", "probe recall", EVALUATION_DEVIATION, 3},
};

const char *const evaluation_histograms[EVALUATION_HISTOGRAMS] = {
    [EVALUATION_LENGTHS] = "length",
    [EVALUATION_PERPLEXITIES] = "perplexity",
    [EVALUATION_CLUSTERED] = "clusters"};

/* ---- rows ------------------------------------------------------------------------------------ */

static void add_evaluation_row(struct evaluator *e, enum evaluation_kind kind,
                               struct text_view texts, struct text_view references) {
	struct evaluation *table = e->evaluation;
	struct evaluation_row *row = &table->rows[table->row_count];
	e->views[table->row_count++] = (struct compared_views){texts, references};
	row->kind = kind;
	row->name = texts.set->path;
	row->texts = texts.count;
	row->against = references.count;
	row->unreadable = texts.set->unreadable;
	if (kind != EVALUATION_REAL && kind != EVALUATION_NOISY)
		memcpy(row->sha256, texts.set->sha256, HASH_TEXT);
	for (int i = 0; i < EVALUATION_COLUMNS; i++) evaluator_cell(row, i, NAN, NAN);
	if (kind == EVALUATION_NOISY) return;
	if (!table->compared || texts.count < table->compared) table->compared = texts.count;
}

/* Sets up the rows, and how each stands in the stack: references, baseline, runs. */
static enum cuttle_status add_evaluation_rows(struct evaluator *e) {
	const struct evaluation_input *in = e->input;
	struct evaluation *table = e->evaluation;
	const struct text_set *refs = in->references;
	const size_t rows = 1 + (in->baseline != NULL) + in->run_count;
	table->rows = calloc(rows, sizeof *table->rows);
	e->views = calloc(rows, sizeof *e->views);
	if (!table->rows || !e->views) return evaluator_fail(e);
	table->references = refs->count;
	table->unreadable = refs->unreadable;
	const struct text_view all = {refs, 0, 1, refs->count, 0};
	if (in->noise) add_evaluation_row(e, EVALUATION_NOISY, all, all);
	else
		add_evaluation_row(e, EVALUATION_REAL,
		                   (struct text_view){refs, 1, 2, refs->count / 2, 0},
		                   (struct text_view){refs, 0, 2, (refs->count + 1) / 2, 0});
	// Noisy references are not in the stack.
	size_t offset = in->noise ? 0 : refs->count;
	for (size_t i = 0; i < rows - 1; i++) {
		const bool public = in->baseline && !i;
		const struct text_set *set =
		    public ? in->baseline : &in->runs[i - (in->baseline != NULL)];
		add_evaluation_row(e, public ? EVALUATION_PUBLIC : EVALUATION_RUN,
		                   (struct text_view){set, 0, 1, set->count, offset}, all);
		offset += set->count;
	}
	return CUTTLE_OK;
}

static enum cuttle_status check_evaluation_set(struct evaluator *e, const struct text_set *set) {
	if (set->count < EVALUATION_LEAST)
		return io_fail(e->error, CUTTLE_INPUT, "%s must hold at least %d texts",
		               file_shown(set->path), EVALUATION_LEAST);
	if (!set->vectors || set->width != e->width)
		return io_fail(e->error, CUTTLE_INPUT,
		               "the vectors of %s have another width than those of %s",
		               file_shown(set->path), file_shown(e->input->references->path));
	return CUTTLE_OK;
}

static enum cuttle_status check_evaluation_input(struct evaluator *e) {
	const struct evaluation_input *in = e->input;
	e->width = in->references->width;
	// How many references can be read may not end a run that asks them through noise.
	enum cuttle_status status = in->noise ? CUTTLE_OK : check_evaluation_set(e, in->references);
	if (!status && in->baseline) status = check_evaluation_set(e, in->baseline);
	for (size_t i = 0; i < in->run_count && !status; i++)
		status = check_evaluation_set(e, &in->runs[i]);
	return status;
}

/* ---- MAUVE ----------------------------------------------------------------------------------- */

/* Stacks all vectors and brings them to the same axes. */
static enum cuttle_status project_vectors(struct evaluator *e) {
	const struct evaluation *table = e->evaluation;
	const struct text_view *last = &e->views[table->row_count - 1].texts;
	const size_t total = last->offset + last->set->count;
	float *stack = scratch_make(total * e->width, sizeof *stack);
	if (!stack) return evaluator_fail(e);
	const struct text_set *refs = e->input->references;
	if (!e->input->noise) memcpy(stack, refs->vectors, refs->count * e->width * sizeof *stack);
	for (size_t i = 1; i < table->row_count; i++) {
		const struct text_view *view = &e->views[i].texts;
		memcpy(stack + view->offset * e->width, view->set->vectors,
		       view->count * e->width * sizeof *stack);
	}
	const bool done =
	    e->input->noise ? mauve_project_onto(stack, total, e->width, MAUVE_SHARE, refs->vectors,
	                                         refs->count, &e->points, &e->others)
	                    : mauve_project(stack, total, e->width, MAUVE_SHARE, &e->points);
	scratch_free(stack);
	return done ? CUTTLE_OK : evaluator_fail(e);
}

static enum cuttle_status cluster_vectors(struct evaluator *e, uint64_t seed) {
	const struct kmeans_params params = {.clusters = e->evaluation->clusters,
	                                     .restarts = MAUVE_RESTARTS,
	                                     .rounds = MAUVE_ROUNDS,
	                                     .seed = seed};
	return kmeans_fit(e->points.rows, e->points.count, e->points.axes, &params, e->labels, NULL,
	                  NULL)
	           ? CUTTLE_OK
	           : evaluator_fail(e);
}

/* The scores of every row when k-means has another seed: scores [row][scale][seed]. */
static enum cuttle_status score_seed(struct evaluator *e, size_t seed, double *scores) {
	const size_t k = e->evaluation->clusters;
	uint32_t *counts = scratch_make(k, sizeof *counts);
	double *shares = scratch_make(2 * k, sizeof *shares);
	enum cuttle_status status = counts && shares ? CUTTLE_OK : evaluator_fail(e);
	if (!status) status = cluster_vectors(e, EVALUATOR_SEED + seed);
	for (size_t row = 0; row < e->evaluation->row_count && !status; row++) {
		evaluator_count(e, &e->views[row].references, counts);
		mauve_shares(counts, k, 0, shares);
		evaluator_count(e, &e->views[row].texts, counts);
		mauve_shares(counts, k, 0, shares + k);
		for (size_t scale = 0; scale < 2; scale++)
			scores[(2 * row + scale) * MAUVE_SEEDS + seed] =
			    mauve_score(shares, shares + k, k, evaluator_scales[scale]);
	}
	scratch_free(shares);
	scratch_free(counts);
	return status;
}

static enum cuttle_status measure_seeds(struct evaluator *e) {
	double *scores = scratch_make(2 * e->evaluation->row_count * MAUVE_SEEDS, sizeof *scores);
	enum cuttle_status status = scores ? CUTTLE_OK : evaluator_fail(e);
	// The first seed is the table's own, so its clusters are made last and stay.
	for (size_t seed = MAUVE_SEEDS; seed-- > 0 && !status;)
		status = score_seed(e, seed, scores);
	for (size_t row = 0; row < e->evaluation->row_count && !status; row++)
		for (size_t scale = 0; scale < 2; scale++)
			evaluator_cell(&e->evaluation->rows[row],
			               scale ? EVALUATION_FINE_SEEDS : EVALUATION_MAUVE_SEEDS,
			               samples_deviation(scores + (2 * row + scale) * MAUVE_SEEDS,
			                                 MAUVE_SEEDS),
			               NAN);
	scratch_free(scores);
	return status;
}

static enum cuttle_status measure_scores(struct evaluator *e, size_t row) {
	const size_t k = e->evaluation->clusters;
	struct evaluation_row *to = &e->evaluation->rows[row];
	uint32_t *counts = scratch_make(2 * k, sizeof *counts);
	struct mauve paper, fine;
	if (!counts) return evaluator_fail(e);
	evaluator_count(e, &e->views[row].references, counts);
	evaluator_count(e, &e->views[row].texts, counts + k);
	const bool done = mauve_measure(counts, counts + k, k, evaluator_scales[0], MAUVE_RESAMPLES,
	                                EVALUATOR_SEED, &paper) &&
	                  mauve_measure(counts, counts + k, k, evaluator_scales[1], MAUVE_RESAMPLES,
	                                EVALUATOR_SEED, &fine);
	scratch_free(counts);
	if (!done) return evaluator_fail(e);
	evaluator_cell(to, EVALUATION_MAUVE, paper.score, paper.deviation);
	evaluator_cell(to, EVALUATION_FINE, fine.score, fine.deviation);
	evaluator_cell(to, EVALUATION_FRONTIER, paper.frontier, NAN);
	return CUTTLE_OK;
}

/* Compares each pair of rows that are no halves of the references. */
static enum cuttle_status measure_order(struct evaluator *e) {
	struct evaluation *table = e->evaluation;
	const size_t k = table->clusters, rows = table->row_count - 1;
	table->pairs = calloc(rows * rows + 1, sizeof *table->pairs);
	uint32_t *counts = scratch_make((rows + 1) * k, sizeof *counts);
	double *p = scratch_make(rows * rows, sizeof *p);
	bool done = table->pairs && counts && p;
	for (size_t i = 0; i <= rows && done; i++)
		evaluator_count(e, i ? &e->views[i].texts : &e->views[rows].references,
		                counts + i * k);
	for (size_t one = 1; one <= rows && done; one++)
		for (size_t other = one + 1; other <= rows && done; other++) {
			struct compare_difference found;
			done =
			    compare_runs(counts, counts + one * k, counts + other * k, k,
			                 MAUVE_SCALE_FINE, MAUVE_RESAMPLES, EVALUATOR_SEED, &found);
			const bool turned = found.difference < 0;
			p[table->pair_count] = found.p;
			table->pairs[table->pair_count++] =
			    (struct evaluation_pair){.one = turned ? other : one,
			                             .other = turned ? one : other,
			                             .difference = fabs(found.difference),
			                             .deviation = found.deviation,
			                             .p = found.p};
		}
	done = done && compare_holm(p, table->pair_count, p);
	for (size_t i = 0; i < table->pair_count && done; i++) table->pairs[i].holm = p[i];
	scratch_free(p);
	scratch_free(counts);
	return done ? CUTTLE_OK : evaluator_fail(e);
}

size_t evaluation_clusters(const struct evaluation_input *input) {
	size_t least = input->references->count;
	for (size_t i = 0; i < input->run_count; i++)
		if (input->runs[i].count < least) least = input->runs[i].count;
	if (input->baseline && input->baseline->count < least) least = input->baseline->count;
	const size_t clusters = mauve_clusters(least);
	return input->noise && clusters > EVALUATION_CLUSTERS_MOST ? EVALUATION_CLUSTERS_MOST
	                                                           : clusters;
}

static enum cuttle_status measure_mauve(struct evaluator *e) {
	struct evaluation *table = e->evaluation;
	table->clusters = evaluation_clusters(e->input);
	enum cuttle_status status = project_vectors(e);
	if (status) return status;
	table->axes = e->points.axes;
	if (e->input->noise) return evaluator_noisy(e);
	e->labels = scratch_make(e->points.count, sizeof *e->labels);
	status = e->labels ? measure_seeds(e) : evaluator_fail(e);
	for (size_t i = 0; i < table->row_count && !status; i++) status = measure_scores(e, i);
	return status ? status : measure_order(e);
}

/* ---- numbers of single texts ----------------------------------------------------------------- */

/* Sets values[view->count] to the numbers that are finite; returns how many. */
static size_t take_finite(const double *from, const struct text_view *view, double *values) {
	size_t count = 0;
	for (size_t i = 0; i < view->count; i++) {
		const double value = from[evaluator_text(view, i)];
		if (isfinite(value)) values[count++] = value;
	}
	return count;
}

static void measure_dppl(struct evaluation_row *row, double *texts, size_t count,
                         const double *references, size_t reference_count) {
	if (!count) return;
	const double mean = reference_count ? samples_mean(references, reference_count) : 0,
	             error = samples_half_width(texts, count),
	             reference_error =
	                 reference_count ? samples_half_width(references, reference_count) : 0;
	evaluator_mean(row, EVALUATION_PERPLEXITY, texts, count);
	if (reference_count)
		evaluator_cell(row, EVALUATION_DPPL_MEANS, fabs(samples_mean(texts, count) - mean),
		               hypot(error, reference_error));
	sort_doubles(texts, count);
	evaluator_cell(row, EVALUATION_MEDIAN, (texts[(count - 1) / 2] + texts[count / 2]) / 2,
	               NAN);
	if (!reference_count) return;
	for (size_t i = 0; i < count; i++) texts[i] = fabs(texts[i] - mean);
	evaluator_mean(row, EVALUATION_DPPL, texts, count);
}

/* Whether a text ended by itself: 1 or 0, or -1 when its file does not say. A reference did. */
static int view_text_ended(const struct text_view *view, size_t i, bool reference) {
	size_t size;
	const char *finish =
	    text_set_label(view->set, evaluator_text(view, i), TEXT_SET_FINISH, &size);
	if (reference) return 1;
	if (!finish) return -1;
	return !(size == 6 && !memcmp(finish, "length", 6));
}

static void fill_lengths(const struct text_view *view, bool reference, double *values) {
	for (size_t i = 0; i < view->count; i++)
		values[i] = view->set->tokens[evaluator_text(view, i)] +
		            (view_text_ended(view, i, reference) > 0);
}

static void measure_ended(const struct text_view *view, struct evaluation_row *row) {
	size_t known = 0, ended = 0;
	for (size_t i = 0; i < view->count; i++) {
		const int end = view_text_ended(view, i, false);
		known += end >= 0;
		ended += end > 0;
	}
	if (!known) return;
	const double share = (double)ended / (double)known;
	evaluator_cell(row, EVALUATION_ENDED, share,
	               SAMPLES_Z * sqrt(share * (1 - share) / (double)known));
}

static enum cuttle_status measure_single(struct evaluator *e, size_t i) {
	const struct text_view *texts = &e->views[i].texts;
	struct evaluation_row *row = &e->evaluation->rows[i];
	// Noisy references are not looked at here: the view of them is empty.
	struct text_view none = e->views[i].references;
	none.count = e->input->noise ? 0 : none.count;
	const struct text_view *refs = &none;
	double *one = scratch_make(texts->count, sizeof *one),
	       *other = scratch_make(refs->count, sizeof *other), distance = 0;
	bool done = one && other;
	if (done) {
		const size_t count = take_finite(texts->set->perplexity, texts, one);
		measure_dppl(row, one, count, other,
		             take_finite(refs->set->perplexity, refs, other));
		fill_lengths(texts, row->kind == EVALUATION_REAL, one);
		fill_lengths(refs, true, other);
		evaluator_mean(row, EVALUATION_LENGTH, one, texts->count);
		if (refs->count) {
			done = samples_distance(one, texts->count, other, refs->count, &distance);
			evaluator_cell(row, EVALUATION_LENGTH_KS, distance, NAN);
		}
		if (row->kind != EVALUATION_REAL) measure_ended(texts, row);
	}
	scratch_free(one);
	scratch_free(other);
	return done ? CUTTLE_OK : evaluator_fail(e);
}

/* ---- histograms ------------------------------------------------------------------------------ */

/* The view that is row `i` of a histogram's counts: 0 is all references. */
static struct text_view histogram_view(const struct evaluator *e, size_t i) {
	const struct text_set *refs = e->input->references;
	return i ? e->views[i - 1].texts : (struct text_view){refs, 0, 1, refs->count, 0};
}

/* Fills values[view.count] with what a histogram is made of. */
static void fill_histogram(const struct evaluator *e, size_t i, int which, double *values) {
	const struct text_view view = histogram_view(e, i);
	if (which == EVALUATION_LENGTHS) {
		fill_lengths(&view, i < 2, values);
		return;
	}
	for (size_t k = 0; k < view.count; k++)
		values[k] = view.set->perplexity[evaluator_text(&view, k)];
}

/* Edges that hold the finite numbers of all views. False: there are none. */
static bool find_edges(const struct evaluator *e, int which, double *values, struct bins *bins) {
	double least = INFINITY, most = -INFINITY;
	for (size_t i = 0; i <= e->evaluation->row_count; i++) {
		fill_histogram(e, i, which, values);
		for (size_t k = 0; k < histogram_view(e, i).count; k++) {
			if (!isfinite(values[k])) continue;
			least = fmin(least, values[k]);
			most = fmax(most, values[k]);
		}
	}
	if (most < least) return false;
	if (which == EVALUATION_LENGTHS) bins_equal(most, bins);
	else bins_ratio(fmax(least, 1), fmax(most, 1), bins);
	return true;
}

static bool make_histogram(struct evaluator *e, int which, double *values) {
	struct evaluation_histogram *to = &e->evaluation->histograms[which];
	const size_t rows = 1 + e->evaluation->row_count;
	struct bins bins = {0};
	if (which == EVALUATION_CLUSTERED) bins.count = e->evaluation->clusters;
	else if (!find_edges(e, which, values, &bins)) return true;
	to->bins = bins.count;
	to->counts = calloc(rows * bins.count, sizeof *to->counts);
	if (which != EVALUATION_CLUSTERED) to->edges = calloc(bins.count + 1, sizeof *to->edges);
	if (!to->counts || (which != EVALUATION_CLUSTERED && !to->edges)) return false;
	if (to->edges) memcpy(to->edges, bins.edges, (bins.count + 1) * sizeof *to->edges);
	for (size_t i = 0; i < rows; i++) {
		const struct text_view view = histogram_view(e, i);
		if (which == EVALUATION_CLUSTERED) {
			evaluator_count(e, &view, to->counts + i * bins.count);
			continue;
		}
		fill_histogram(e, i, which, values);
		bins_count(&bins, values, view.count, to->counts + i * bins.count);
	}
	return true;
}

static enum cuttle_status make_histograms(struct evaluator *e) {
	double *values = scratch_make(e->points.count, sizeof *values);
	bool done = values != NULL;
	for (int which = 0; which < EVALUATION_HISTOGRAMS && done; which++)
		done = make_histogram(e, which, values);
	scratch_free(values);
	return done ? CUTTLE_OK : evaluator_fail(e);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Numbers that fall with the number of texts are of the first `compared` texts of every row. */
static enum cuttle_status measure_diversity(struct evaluator *e, size_t i) {
	const struct text_view *view = &e->views[i].texts;
	struct evaluation_row *row = &e->evaluation->rows[i];
	const size_t count = e->evaluation->compared;
	const char **texts = scratch_make(count, sizeof *texts);
	size_t *sizes = scratch_make(count, sizeof *sizes), copies = 0;
	float *rows = scratch_make(count * e->width, sizeof *rows);
	struct corpus corpus = {0};
	double share = 0;
	bool done = texts && sizes && rows;
	for (size_t k = 0; k < count && done; k++) {
		texts[k] = text_set_text(view->set, evaluator_text(view, k), &sizes[k]);
		memcpy(rows + k * e->width, view->set->vectors + evaluator_text(view, k) * e->width,
		       e->width * sizeof *rows);
	}
	done = done && corpus_make(texts, sizes, count, &corpus);
	const struct ngrams_texts words = {corpus.word, corpus.first, corpus.texts};
	for (size_t n = 1; n <= 3 && done; n++) {
		done = ngrams_distinct(&words, n, NGRAMS_HEAD, &share);
		evaluator_cell(row, EVALUATION_DISTINCT_1 + (int)n - 1, share, NAN);
	}
	done = done && ngrams_repeats(&words, NGRAMS_REPEATED, &share);
	evaluator_cell(row, EVALUATION_REPEATS, share, NAN);
	done = done && ngrams_copies(&words, &copies);
	evaluator_cell(row, EVALUATION_COPIES, (double)copies / (double)count, NAN);
	if (done)
		evaluator_cell(row, EVALUATION_COSINE,
		               pairs_cosine(rows, count, e->width, PAIRS_COUNT, EVALUATOR_SEED),
		               NAN);
	corpus_free(&corpus);
	scratch_free(rows);
	scratch_free(sizes);
	scratch_free(texts);
	return done ? CUTTLE_OK : evaluator_fail(e);
}

/* Each line of the lexicon is a term. */
static enum cuttle_status open_lexicon(struct evaluator *e) {
	const char *text = e->input->lexicon;
	const size_t size = e->input->lexicon_size;
	if (!text) return CUTTLE_OK;
	e->lexicon = terms_make();
	bool good = e->lexicon != NULL;
	for (size_t begin = 0; good && begin < size;) {
		const char *newline = memchr(text + begin, '\n', size - begin);
		const size_t end = newline ? (size_t)(newline - text) : size;
		good = terms_add(e->lexicon, text + begin, end - begin, 1, begin);
		begin = end + 1;
	}
	return good && terms_seal(e->lexicon) ? CUTTLE_OK : evaluator_fail(e);
}

/* Terms in a text that do not overlap; of two that do, the longer counts. */
struct found_terms {
	size_t count;
	size_t begin; /* of the last one */
	size_t end;   /* behind it */
};

/* Terms come in the order of their ends. One that covers the last takes its place. */
static void take_term(void *user, size_t start, size_t end, size_t name) {
	struct found_terms *found = user;
	(void)name;
	const bool apart = start >= found->end, covers = start <= found->begin;
	if (!apart && !covers) return;
	found->count += apart || !found->count;
	found->begin = start;
	found->end = end;
}

static enum cuttle_status measure_entities(struct evaluator *e, size_t i) {
	const struct text_view *view = &e->views[i].texts;
	if (!e->lexicon) return CUTTLE_OK;
	double *counts = scratch_make(view->count, sizeof *counts);
	struct folded folded = {.size = 0};
	bool done = counts != NULL;
	for (size_t k = 0; k < view->count && done; k++) {
		size_t size;
		const char *text = text_set_text(view->set, evaluator_text(view, k), &size);
		struct found_terms found = {0};
		done = fold_text(&folded, text, size);
		if (!done) break;
		terms_scan(e->lexicon, &folded, take_term, &found);
		counts[k] = (double)found.count;
	}
	fold_free(&folded);
	if (done) evaluator_mean(&e->evaluation->rows[i], EVALUATION_ENTITIES, counts, view->count);
	scratch_free(counts);
	return done ? CUTTLE_OK : evaluator_fail(e);
}

/* ---- the task: train on a row, test on real texts -------------------------------------------- */

/* The class of a label, added when it is new; EVALUATION_CLASSES: there is no room for it. */
static uint32_t find_class(struct evaluator *e, const char *name, size_t size) {
	size_t *const count = &e->evaluation->classes;
	for (size_t i = 0; i < *count; i++)
		if (e->class_sizes[i] == size && !memcmp(e->class_names[i], name, size))
			return (uint32_t)i;
	if (*count == EVALUATION_CLASSES) return EVALUATION_CLASSES;
	e->class_names[*count] = name;
	e->class_sizes[*count] = size;
	return (uint32_t)(*count)++;
}

static enum cuttle_status find_classes(struct evaluator *e, const struct text_view *view) {
	for (size_t i = 0; i < view->count; i++) {
		size_t size;
		const char *name =
		    text_set_label(view->set, evaluator_text(view, i), TEXT_SET_TASK, &size);
		if (name && find_class(e, name, size) == EVALUATION_CLASSES)
			return io_fail(e->error, CUTTLE_INPUT,
			               "the field of --task has more than %d different labels",
			               EVALUATION_CLASSES);
	}
	return CUTTLE_OK;
}

/* Labelled texts: those of a row first, then the test texts. */
struct learning {
	const char **texts;
	size_t *sizes;
	uint32_t *labels;
	float *rows; /* vectors */
	size_t count;
};

static void add_labelled(struct evaluator *e, const struct text_view *view,
                         struct learning *learning) {
	for (size_t i = 0; i < view->count; i++) {
		const size_t text = evaluator_text(view, i);
		size_t size;
		const char *name = text_set_label(view->set, text, TEXT_SET_TASK, &size);
		if (!name) continue;
		const size_t at = learning->count++;
		learning->labels[at] = find_class(e, name, size);
		learning->texts[at] = text_set_text(view->set, text, &learning->sizes[at]);
		if (learning->rows)
			memcpy(learning->rows + at * e->width, view->set->vectors + text * e->width,
			       e->width * sizeof *learning->rows);
	}
}

static bool measure_learning(struct evaluator *e, const struct learning *learning, size_t train,
                             struct evaluation_row *row) {
	const uint32_t classes = (uint32_t)e->evaluation->classes;
	struct corpus corpus;
	struct refit_result result;
	bool done = corpus_make(learning->texts, learning->sizes, learning->count, &corpus);
	const struct bayes_data words = {&corpus, learning->labels, train, classes};
	done = done && bayes_measure(&words, REFIT_COUNT, EVALUATOR_SEED, &result);
	corpus_free(&corpus);
	if (!done) return false;
	evaluator_cell(row, EVALUATION_BAYES, result.rates.accuracy, result.deviation.accuracy);
	evaluator_cell(row, EVALUATION_BAYES_RECALL, result.rates.mean_recall,
	               result.deviation.mean_recall);
	if (!learning->rows) return true;
	const struct probe_data vectors = {.rows = learning->rows,
	                                   .texts = learning->count,
	                                   .width = e->width,
	                                   .labels = learning->labels,
	                                   .train = train,
	                                   .classes = classes,
	                                   .penalty = PROBE_PENALTY};
	if (!probe_measure(&vectors, REFIT_COUNT, EVALUATOR_SEED, &result)) return false;
	evaluator_cell(row, EVALUATION_PROBE, result.rates.accuracy, result.deviation.accuracy);
	evaluator_cell(row, EVALUATION_PROBE_RECALL, result.rates.mean_recall,
	               result.deviation.mean_recall);
	return true;
}

/* A row without labels has no numbers here. */
static enum cuttle_status measure_task(struct evaluator *e, size_t i,
                                       const struct text_view *test) {
	const struct text_view *view = &e->views[i].texts;
	const size_t most = view->count + test->count;
	struct learning learning = {.texts = scratch_make(most, sizeof *learning.texts),
	                            .sizes = scratch_make(most, sizeof *learning.sizes),
	                            .labels = scratch_make(most, sizeof *learning.labels)};
	bool done = learning.texts && learning.sizes && learning.labels;
	if (done && test->set->vectors) {
		learning.rows = scratch_make(most * e->width, sizeof *learning.rows);
		done = learning.rows != NULL;
	}
	if (done) add_labelled(e, view, &learning);
	const size_t train = learning.count;
	if (done) add_labelled(e, test, &learning);
	if (done && train && learning.count > train)
		done = measure_learning(e, &learning, train, &e->evaluation->rows[i]);
	scratch_free(learning.texts);
	scratch_free(learning.sizes);
	scratch_free(learning.labels);
	scratch_free(learning.rows);
	return done ? CUTTLE_OK : evaluator_fail(e);
}

/* What a classifier that has learnt nothing reaches: always the commonest label. */
static void find_commonest(struct evaluator *e, const struct text_view *test) {
	size_t counts[EVALUATION_CLASSES + 1] = {0}, most = 0, size;
	for (size_t i = 0; i < test->count; i++) {
		const char *name =
		    text_set_label(test->set, evaluator_text(test, i), TEXT_SET_TASK, &size);
		if (!name) continue;
		const size_t count = ++counts[find_class(e, name, size)];
		most = count > most ? count : most;
		e->evaluation->tested++;
	}
	e->evaluation->commonest = (double)most / (double)e->evaluation->tested;
}

static enum cuttle_status measure_tasks(struct evaluator *e) {
	const struct text_set *set = e->input->test;
	if (!set) return CUTTLE_OK;
	const struct text_view test = {set, 0, 1, set->count, 0};
	enum cuttle_status status = find_classes(e, &test);
	if (!status && e->evaluation->classes < 2)
		status = io_fail(e->error, CUTTLE_INPUT,
		                 "%s: the field of --task must have at least two different labels",
		                 file_shown(set->path));
	if (!status) find_commonest(e, &test);
	const size_t first = e->input->noise ? 1 : 0;
	for (size_t i = first; i < e->evaluation->row_count && !status; i++)
		status = find_classes(e, &e->views[i].texts);
	for (size_t i = first; i < e->evaluation->row_count && !status; i++)
		status = measure_task(e, i, &test);
	return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

enum cuttle_status evaluation_make(const struct evaluation_input *input,
                                   struct evaluation *evaluation, struct cuttle_error *error) {
	struct evaluator e = {.input = input, .evaluation = evaluation, .error = error};
	*evaluation = (struct evaluation){0};
	enum cuttle_status status = check_evaluation_input(&e);
	if (!status) status = add_evaluation_rows(&e);
	if (!status) status = measure_mauve(&e);
	if (!status) status = open_lexicon(&e);
	// Of noisy references nothing is measured but what they answered.
	for (size_t i = input->noise ? 1 : 0; i < evaluation->row_count && !status; i++) {
		status = measure_single(&e, i);
		if (!status) status = measure_diversity(&e, i);
		if (!status) status = measure_entities(&e, i);
	}
	if (!status) status = measure_tasks(&e);
	if (!status) status = evaluator_next(&e);
	// Histograms hold clean counts of the references, and edges that follow from them.
	if (!status && !input->noise) status = make_histograms(&e);
	mauve_points_free(&e.points);
	mauve_points_free(&e.others);
	scratch_free(e.answers);
	scratch_free(e.labels);
	terms_free(e.lexicon);
	free(e.views);
	return status;
}

size_t evaluation_fewest(const struct evaluation *evaluation) {
	size_t fewest = evaluation->references;
	for (size_t i = 0; i < evaluation->row_count; i++) {
		const struct evaluation_row *row = &evaluation->rows[i];
		// Those of real against real are halves of the references.
		if (row->kind != EVALUATION_REAL && row->kind != EVALUATION_NOISY &&
		    row->texts < fewest)
			fewest = row->texts;
	}
	return fewest;
}

void evaluation_free(struct evaluation *evaluation) {
	free(evaluation->rows);
	free(evaluation->pairs);
	for (int i = 0; i < EVALUATION_HISTOGRAMS; i++) {
		free(evaluation->histograms[i].edges);
		free(evaluation->histograms[i].counts);
	}
	*evaluation = (struct evaluation){0};
}
