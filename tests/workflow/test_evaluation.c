// SPDX-License-Identifier: Apache-2.0
// Tests workflow/evaluate/evaluation against formulas of its own, on sets made by hand. It fails if
// a row is compared with other texts than it says, if texts and references are exchanged, if an
// anchor is another set, or if a number of the table is not that of its column.
#include "measure/mauve.h"
#include "measure/next_token.h"
#include "measure/samples.h"
#include "measure/scratch.h"
#include "tests/support/files.h"
#include "tests/support/tiny_model.h"
#include "workflow/evaluate/evaluation.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { WIDTH = 4, MOST = 200 };

/* What a set is made of: its texts stand around one of two points, and a share of the texts in the
 * second has the label "b". */
struct kind_of_set {
	size_t count;
	double second;     /* share of texts at the second point */
	double perplexity; /* of its first text; each next one has 1 more */
	size_t tokens;     /* of its first text; likewise */
	uint64_t seed;
};

static double draw_number(uint64_t *seed) {
	return (double)(tiny_random(seed) >> 11) * 0x1p-53;
}

static void make_set(const struct kind_of_set *kind, struct text_set *set) {
	static char lines[MOST * 120];
	char path[] = "/tmp/cuttle-evaluation-XXXXXX";
	uint64_t seed = kind->seed;
	size_t size = 0;
	bool second[MOST];
	for (size_t i = 0; i < kind->count; i++) {
		second[i] = draw_number(&seed) < kind->second;
		size +=
		    (size_t)sprintf(lines + size,
		                    "{\"text\":\"%s %s set %llu text %zu\",\"label\":\"%s\","
		                    "\"finish\":\"%s\"}\n",
		                    second[i] ? "Bad soup" : "good bread",
		                    i % 3 ? "" : "New York, York", (unsigned long long)kind->seed,
		                    i, second[i] ? "b" : "a", i % 4 ? "eos" : "length");
	}
	files_put_new(path, lines, size);
	struct cuttle_error error = {""};
	if (text_set_read(path, "text", "label", set, &error)) fail_msg("%s", error.message);
	unlink(path);
	set->path = "a set";
	assert_int_equal(set->count, kind->count);
	set->width = WIDTH;
	set->vectors = scratch_make(kind->count * WIDTH, sizeof *set->vectors);
	for (size_t i = 0; i < kind->count; i++) {
		set->perplexity[i] = kind->perplexity + (double)i;
		set->tokens[i] = (double)(kind->tokens + i);
		for (size_t d = 0; d < WIDTH; d++)
			set->vectors[i * WIDTH + d] =
			    (float)((d == (second[i] ? 1u : 0u)) + 0.02 * draw_number(&seed));
	}
}

static void make_table(const struct evaluation_input *input, struct evaluation *table) {
	struct cuttle_error error = {""};
	if (evaluation_make(input, table, &error)) fail_msg("%s", error.message);
}

static double value_of(const struct evaluation *table, size_t row, int column) {
	return table->rows[row].cells[column].value;
}

static void assert_close(double value, double expected) {
	if (!(fabs(value - expected) < 1e-9)) fail_msg("%.12f, not %.12f", value, expected);
}

/* References: half and half. The first run as well; the second is at one point; the baseline is
 * nearer to the references than that. */
static const struct kind_of_set REAL = {120, 0.5, 10, 40, 1}, GOOD = {100, 0.5, 30, 50, 2},
                                POOR = {80, 1, 90, 20, 3}, ALONE = {90, 0.85, 50, 30, 4},
                                TEST = {60, 0.5, 10, 40, 5};

struct sets {
	struct text_set real, alone, test, runs[2];
};

static int make_sets(void **state) {
	struct sets *sets = calloc(1, sizeof *sets);
	make_set(&REAL, &sets->real);
	make_set(&ALONE, &sets->alone);
	make_set(&TEST, &sets->test);
	make_set(&GOOD, &sets->runs[0]);
	make_set(&POOR, &sets->runs[1]);
	*state = sets;
	return 0;
}

static int free_sets(void **state) {
	struct sets *sets = *state;
	text_set_free(&sets->real);
	text_set_free(&sets->alone);
	text_set_free(&sets->test);
	text_set_free(&sets->runs[0]);
	text_set_free(&sets->runs[1]);
	free(sets);
	return 0;
}

static void test_rows(void **state) {
	const struct sets *sets = *state;
	struct evaluation table;
	make_table(&(struct evaluation_input){.references = &sets->real,
	                                      .baseline = &sets->alone,
	                                      .runs = sets->runs,
	                                      .run_count = 2},
	           &table);
	static const struct {
		enum evaluation_kind kind;
		size_t texts, against;
	} rows[] = {{EVALUATION_REAL, 60, 60},
	            {EVALUATION_PUBLIC, 90, 120},
	            {EVALUATION_RUN, 100, 120},
	            {EVALUATION_RUN, 80, 120}};
	assert_int_equal(table.row_count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(table.rows[i].kind, rows[i].kind);
		assert_int_equal(table.rows[i].texts, rows[i].texts);
		assert_int_equal(table.rows[i].against, rows[i].against);
	}
	assert_int_equal(table.clusters, 4);
	assert_int_equal(table.compared, 60);
	assert_true(value_of(&table, 0, EVALUATION_MAUVE) > 0.98);
	assert_true(value_of(&table, 2, EVALUATION_MAUVE) > 0.98);
	assert_true(value_of(&table, 1, EVALUATION_MAUVE) < value_of(&table, 2, EVALUATION_MAUVE));
	assert_true(value_of(&table, 3, EVALUATION_MAUVE) < value_of(&table, 1, EVALUATION_MAUVE));
	for (size_t i = 0; i < 4; i++) {
		assert_true(value_of(&table, i, EVALUATION_FINE) <
		            value_of(&table, i, EVALUATION_MAUVE) + 1e-12);
		assert_true(table.rows[i].cells[EVALUATION_FINE].error > 0);
		assert_true(isnan(value_of(&table, i, EVALUATION_ENTITIES)));
		assert_true(isnan(value_of(&table, i, EVALUATION_BAYES)));
		// Digits are no words: with and without "New York" there are two or four texts.
		assert_close(value_of(&table, i, EVALUATION_COPIES),
		             i == 3 ? 58.0 / 60 : 56.0 / 60);
	}
	// Three pairs of the baseline and the runs, each in its order, all of them found.
	assert_int_equal(table.pair_count, 3);
	static const size_t order[][2] = {{2, 1}, {1, 3}, {2, 3}};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(table.pairs[i].one, order[i][0]);
		assert_int_equal(table.pairs[i].other, order[i][1]);
		assert_true(table.pairs[i].difference > 0 && table.pairs[i].holm < 0.01);
		assert_true(table.pairs[i].holm >= table.pairs[i].p);
	}
	evaluation_free(&table);
}

/* The histogram's counts of all references (line 0) or of a row (1 + row), added up from `first` to
 * below `end`. */
static uint32_t sum_bins(const struct evaluation_histogram *h, size_t line, size_t first,
                         size_t end) {
	uint32_t sum = 0;
	for (size_t i = first; i < end; i++) sum += h->counts[line * h->bins + i];
	return sum;
}

static void test_histograms(void **state) {
	const struct sets *sets = *state;
	struct evaluation table;
	make_table(&(struct evaluation_input){.references = &sets->real,
	                                      .baseline = &sets->alone,
	                                      .runs = sets->runs,
	                                      .run_count = 2},
	           &table);
	static const uint32_t texts[] = {120, 60, 90, 100, 80};
	for (int which = 0; which < EVALUATION_HISTOGRAMS; which++)
		for (size_t line = 0; line < 5; line++) {
			const struct evaluation_histogram *h = &table.histograms[which];
			assert_int_equal(sum_bins(h, line, 0, h->bins), texts[line]);
		}
	// The longest text is a reference of 40 + 119 tokens and its end.
	const struct evaluation_histogram *h = &table.histograms[EVALUATION_LENGTHS];
	assert_int_equal(h->bins, 21);
	assert_true(h->edges[1] == 8 && h->edges[21] == 168);
	// References have 41, 42, ... tokens: 7 of them below 48. Poor ones have 20 or 21, ...
	assert_int_equal(sum_bins(h, 0, 0, 6), 7);
	assert_int_equal(sum_bins(h, 4, 0, 2), 0);
	assert_int_equal(sum_bins(h, 4, 2, 4), 11);
	// The perplexities are 10, 11, ... of references: 2 below 2^(14/4) = 11.31.
	h = &table.histograms[EVALUATION_PERPLEXITIES];
	assert_true(fabs(h->edges[1] - 11.313708498984761) < 1e-12);
	assert_int_equal(sum_bins(h, 0, 0, 1), 2);
	assert_int_equal(sum_bins(h, 3, 0, 1), 0);
	h = &table.histograms[EVALUATION_CLUSTERED];
	assert_int_equal(h->bins, table.clusters);
	assert_null(h->edges);
	evaluation_free(&table);
}

/* Perplexities are first, first + 1, ...; so are tokens. Every fourth text did not end. */
static void test_perplexity_and_length(void **state) {
	const struct sets *sets = *state;
	struct evaluation table;
	make_table(&(struct evaluation_input){.references = &sets->real,
	                                      .baseline = &sets->alone,
	                                      .runs = sets->runs,
	                                      .run_count = 2},
	           &table);
	const struct kind_of_set *const kinds[] = {&ALONE, &GOOD, &POOR};
	const double real_mean = REAL.perplexity + (REAL.count - 1) / 2.0;
	for (size_t i = 1; i < 4; i++) {
		const struct kind_of_set *kind = kinds[i - 1];
		const double mean = kind->perplexity + (double)(kind->count - 1) / 2.0;
		double distance = 0, length = 0;
		for (size_t k = 0; k < kind->count; k++) {
			distance += fabs(kind->perplexity + (double)k - real_mean);
			length += (double)(kind->tokens + k) + (k % 4 != 0);
		}
		assert_close(value_of(&table, i, EVALUATION_PERPLEXITY), mean);
		assert_close(value_of(&table, i, EVALUATION_MEDIAN), mean);
		assert_close(value_of(&table, i, EVALUATION_DPPL), distance / (double)kind->count);
		assert_close(value_of(&table, i, EVALUATION_DPPL_MEANS), fabs(mean - real_mean));
		assert_close(value_of(&table, i, EVALUATION_LENGTH), length / (double)kind->count);
		size_t ended = 0;
		for (size_t k = 0; k < kind->count; k++) ended += k % 4 != 0;
		assert_close(value_of(&table, i, EVALUATION_ENDED),
		             (double)ended / (double)kind->count);
	}
	// Half width of n numbers in steps of 1: z sqrt(n (n + 1) / 12) / sqrt(n).
	assert_close(table.rows[2].cells[EVALUATION_PERPLEXITY].error,
	             SAMPLES_Z * sqrt(101.0 / 12.0));
	// References 1, 3, 5, ... against 0, 2, 4, ...; a reference has an end of its own.
	assert_close(value_of(&table, 0, EVALUATION_PERPLEXITY), 10 + 60);
	assert_close(value_of(&table, 0, EVALUATION_DPPL_MEANS), 1);
	assert_close(value_of(&table, 0, EVALUATION_LENGTH), 40 + 60 + 1);
	assert_close(value_of(&table, 0, EVALUATION_LENGTH_KS), 1.0 / 60);
	assert_true(isnan(value_of(&table, 0, EVALUATION_ENDED)));
	evaluation_free(&table);
}

/* "New York" is one term and not "York"; the second "York" is. */
static void test_entities(void **state) {
	const struct sets *sets = *state;
	static const char terms[] = "york\r\nNew York\n\nnowhere";
	struct evaluation table;
	make_table(&(struct evaluation_input){.references = &sets->real,
	                                      .runs = sets->runs,
	                                      .run_count = 1,
	                                      .lexicon = terms,
	                                      .lexicon_size = sizeof terms - 1},
	           &table);
	assert_int_equal(table.row_count, 2);
	assert_close(value_of(&table, 1, EVALUATION_ENTITIES), 2.0 * 34 / 100);
	evaluation_free(&table);
}

/* Labels follow from words and from points. A run that has one label alone guesses it always. */
static void test_task(void **state) {
	const struct sets *sets = *state;
	struct evaluation table;
	make_table(
	    &(struct evaluation_input){
	        .references = &sets->real, .runs = sets->runs, .run_count = 2, .test = &sets->test},
	    &table);
	size_t b = 0, size;
	for (size_t i = 0; i < TEST.count; i++)
		b += *text_set_label(&sets->test, i, TEXT_SET_TASK, &size) == 'b';
	assert_int_equal(table.classes, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_close(value_of(&table, i, EVALUATION_BAYES), 1);
		assert_close(value_of(&table, i, EVALUATION_PROBE_RECALL), 1);
	}
	assert_close(value_of(&table, 2, EVALUATION_BAYES), (double)b / TEST.count);
	assert_close(value_of(&table, 2, EVALUATION_PROBE), (double)b / TEST.count);
	assert_close(value_of(&table, 2, EVALUATION_BAYES_RECALL), 0.5);
	evaluation_free(&table);
}

static void test_refusals(void **state) {
	struct sets *sets = *state;
	struct evaluation table;
	struct cuttle_error error = {""};
	struct evaluation_input input = {
	    .references = &sets->real, .runs = sets->runs, .run_count = 1, .test = &sets->runs[1]};
	assert_int_equal(evaluation_make(&input, &table, &error), CUTTLE_INPUT);
	assert_non_null(strstr(error.message, "at least two different labels"));
	evaluation_free(&table);
	input.test = NULL;
	sets->runs[0].width = WIDTH - 1;
	assert_int_equal(evaluation_make(&input, &table, &error), CUTTLE_INPUT);
	assert_non_null(strstr(error.message, "another width"));
	evaluation_free(&table);
	sets->runs[0].width = WIDTH;
	const size_t count = sets->runs[0].count;
	sets->runs[0].count = 3;
	assert_int_equal(evaluation_make(&input, &table, &error), CUTTLE_INPUT);
	assert_string_equal(error.message, "a set must hold at least 4 texts");
	evaluation_free(&table);
	sets->runs[0].count = count;
}

/* Vectors and perplexities of the tiny model, and what is kept of them in the file. */
static size_t texts_done;
static void count_done(void *user, size_t texts) {
	(void)user;
	texts_done += texts;
}
static bool never_stop(void *user) {
	(void)user;
	return false;
}

static void test_measured(void **state) {
	const struct sets *sets = *state;
	struct text_set set;
	struct feature_file *file;
	char sha256[HASH_TEXT];
	memset(sha256, '0', HASH_TEXT);
	make_set(&GOOD, &set);
	scratch_free(set.vectors);
	set.vectors = NULL;
	struct cuttle_model *model = tiny_model_open_healthy(2);
	const struct text_set_events events = {NULL, count_done, never_stop};
	assert_int_equal(feature_file_open(NULL, sha256, TINY_WIDTH, &file, NULL), CUTTLE_OK);
	texts_done = 0;
	assert_int_equal(text_set_measure(&set, model, file, &events, NULL), CUTTLE_OK);
	assert_int_equal(texts_done, GOOD.count);
	assert_int_equal(set.width, TINY_WIDTH);
	for (size_t i = 0; i < set.count; i += 13) {
		size_t size, count;
		const char *text = text_set_text(&set, i, &size);
		int32_t ids[128], top1[128];
		double logprobs[128], vector[TINY_WIDTH], sum = 0;
		assert_int_equal(cuttle_tokenize(model, text, size, true, ids, 128, &count, NULL),
		                 CUTTLE_OK);
		assert_int_equal(cuttle_score(model, ids, count, logprobs, top1, NULL), CUTTLE_OK);
		for (size_t k = 0; k + 1 < count; k++) sum += logprobs[k];
		assert_close(set.perplexity[i], exp(-sum / (double)(count - 1)));
		assert_close(set.tokens[i], (double)count);
		const struct cuttle_embed_text one = {ids, count};
		assert_int_equal(cuttle_embed(model, &one, 1, 0, vector, NULL), CUTTLE_OK);
		for (size_t d = 0; d < TINY_WIDTH; d++)
			assert_true(set.vectors[i * TINY_WIDTH + d] == (float)vector[d]);
	}
	bool found;
	assert_int_equal(text_set_meet(&set, &sets->runs[0], &found, NULL), CUTTLE_OK);
	assert_true(found);
	assert_int_equal(text_set_meet(&set, &sets->runs[1], &found, NULL), CUTTLE_OK);
	assert_false(found);
	feature_file_close(&file);
	cuttle_model_free(&model);
	text_set_free(&set);
}

/* ---- references that answer through noise ---------------------------------------------------- */

/* What the references said, and what is answered. */
struct asked {
	const int64_t *answers; /* NULL: the truth */
	size_t voters;
	size_t clusters;
	int64_t lengths;
	int64_t losses;
	uint32_t votes[MOST];
};

static enum cuttle_status answer_asked(void *user, const struct evaluation_sayings *sayings,
                                       int64_t *answers, struct cuttle_error *error) {
	struct asked *asked = user;
	(void)error;
	asked->clusters = sayings->clusters;
	memset(answers, 0, (sayings->clusters + 2) * sizeof *answers);
	for (size_t i = 0; i < sayings->count; i++) {
		asked->votes[i] = sayings->votes[i];
		asked->lengths += sayings->lengths[i];
		asked->losses += sayings->losses[i];
		if (sayings->votes[i] == CUTTLE_NO_VOTE) continue;
		assert_true(sayings->votes[i] < sayings->clusters);
		answers[sayings->votes[i]]++;
		asked->voters++;
	}
	answers[sayings->clusters] = asked->lengths;
	answers[sayings->clusters + 1] = asked->losses;
	if (asked->answers)
		memcpy(answers, asked->answers, (sayings->clusters + 2) * sizeof *answers);
	return CUTTLE_OK;
}

static void make_asked(const struct sets *sets, const struct text_set *references,
                       struct asked *asked, struct evaluation *table) {
	const struct evaluation_noise noise = {
	    .ask = answer_asked, .user = asked, .vote_deviation = 2, .sum_deviation = 300};
	make_table(&(struct evaluation_input){.references = references,
	                                      .baseline = &sets->alone,
	                                      .runs = sets->runs,
	                                      .run_count = 2,
	                                      .test = &sets->test,
	                                      .noise = &noise},
	           table);
}

/* With true answers: half of the references stand at each point, and the numbers are clamped. */
static void test_sayings(void **state) {
	struct sets *sets = *state;
	struct asked asked = {0};
	struct evaluation table;
	float *const first = sets->real.vectors, kept[WIDTH];
	const double perplexity = sets->real.perplexity[1];
	memcpy(kept, first, sizeof kept);
	memset(first, 0, sizeof kept);
	sets->real.perplexity[1] = (double)NAN;
	make_asked(sets, &sets->real, &asked, &table);
	assert_int_equal(asked.votes[0], CUTTLE_NO_VOTE);
	assert_int_equal(asked.voters, REAL.count - 1);
	assert_int_equal(asked.clusters, 4);
	// Runs: 50 .. 149 tokens and 20 .. 99, so 9950 + 4760 of 180 texts: 82.
	const int centre = 82;
	int64_t lengths = 0, losses = 0;
	double loss = 0;
	for (int run = 0; run < 2; run++)
		for (size_t i = 0; i < sets->runs[run].count; i++)
			loss += 64 * log(sets->runs[run].perplexity[i]);
	loss = rint(loss / 180);
	for (size_t i = 1; i < REAL.count; i++) {
		lengths += (int64_t)sets->real.tokens[i] - centre;
		if (i != 1)
			losses += (int64_t)rint(
			    fmax(fmin(64 * log(sets->real.perplexity[i]) - loss, 256), -256));
	}
	assert_true(asked.lengths == lengths);
	assert_true(asked.losses == losses);
	assert_close(value_of(&table, 0, EVALUATION_NEAR_LENGTH),
	             centre + (double)lengths / (double)asked.voters);
	assert_close(table.rows[0].cells[EVALUATION_NEAR_LENGTH].error,
	             SAMPLES_Z * 300 / (double)asked.voters);
	assert_close(value_of(&table, 0, EVALUATION_NEAR_LOSS),
	             (loss + (double)losses / (double)asked.voters) / 64);
	assert_close(value_of(&table, 2, EVALUATION_NEAR_LENGTH), 99.5);
	assert_true(value_of(&table, 2, EVALUATION_MAUVE) > .98);
	assert_true(value_of(&table, 3, EVALUATION_MAUVE) < value_of(&table, 1, EVALUATION_MAUVE));
	// Noise is in the errors.
	assert_true(table.rows[2].cells[EVALUATION_FINE].error > 0);
	memcpy(first, kept, sizeof kept);
	sets->real.perplexity[1] = perplexity;
	evaluation_free(&table);
}

/* Of equal answers come equal tables, whatever the references are; and their row has nothing but
 * answers. */
static void test_answers_alone(void **state) {
	struct sets *sets = *state;
	static const int64_t answers[6] = {40, -3, 55, 20, 700, -900},
	                     none[6] = {-1, 0, -7, 0, 5, 5};
	for (int way = 0; way < 2; way++) {
		struct asked asked = {.answers = way ? none : answers}, others = asked;
		struct evaluation one, other;
		make_asked(sets, &sets->real, &asked, &one);
		struct text_set changed = sets->test;
		changed.count = sets->test.count;
		changed.path = "elsewhere";
		make_asked(sets, &changed, &others, &other);
		// The number of records is public, and here another: 60 for 120.
		assert_int_equal(one.clusters, 4);
		assert_int_equal(other.clusters, 3);
		evaluation_free(&other);
		for (size_t i = 0; i < sets->real.count; i++) {
			sets->real.perplexity[i] += 1000;
			sets->real.tokens[i] += 77;
			for (size_t d = 0; d < WIDTH; d++)
				sets->real.vectors[i * WIDTH + d] *= i % 3 ? -1.0f : 0.0f;
		}
		make_asked(sets, &sets->real, &others, &other);
		for (size_t r = 0; r < one.row_count; r++) {
			assert_memory_equal(one.rows[r].cells, other.rows[r].cells,
			                    sizeof one.rows[r].cells);
			assert_int_equal(one.rows[r].unreadable, 0);
		}
		for (int h = 0; h < EVALUATION_HISTOGRAMS; h++)
			assert_true(!one.histograms[h].counts && !one.histograms[h].edges);
		assert_int_equal(one.pair_count, way ? 0 : 3);
		assert_true(one.compared == other.compared && one.axes == other.axes);
		for (int c = 0; c < EVALUATION_COLUMNS; c++)
			assert_true(
			    isnan(one.rows[0].cells[c].value) ==
			    (way || (c != EVALUATION_NEAR_LENGTH && c != EVALUATION_NEAR_LOSS)));
		assert_true(isnan(value_of(&one, 1, EVALUATION_MAUVE)) == (way == 1));
		assert_false(isnan(value_of(&one, 1, EVALUATION_PERPLEXITY)));
		assert_true(isnan(value_of(&one, 1, EVALUATION_LENGTH_KS)));
		evaluation_free(&one);
		evaluation_free(&other);
	}
}

/* Votes of 1,000 references for 50 clusters at epsilon 1: the noise of real answers moves MAUVE
 * with c = .9 by .006 at most, on average, for runs near the references and far from them. */
static void test_noise_is_small(void **state) {
	(void)state;
	enum { VOTERS = 1000, CLUSTERS = 50, DRAWS = 100 };
	const uint64_t seeds = 1;
	struct cuttle_query queries[2] = {
	    {.square = 1, .times = 1, .parts = 8},
	    {.square = EVALUATION_REACH * EVALUATION_REACH, .times = 2, .parts = 2}};
	assert_int_equal(cuttle_queries_solve(queries, 2, 1.0, 1e-6, NULL), CUTTLE_OK);
	for (int far = 0; far < 3; far++) {
		uint64_t seed = seeds + (uint64_t)far;
		uint32_t votes[VOTERS], counts[2][CLUSTERS] = {{0}};
		for (int i = 0; i < VOTERS; i++) {
			// Clusters of a sloping size; a far run slopes the other way, or not at
			// all.
			const double u = draw_number(&seed), v = draw_number(&seed);
			votes[i] = (uint32_t)(CLUSTERS * u * sqrt(u));
			const double other = far == 0   ? v * sqrt(v)
			                     : far == 1 ? v
			                                : 1 - v * sqrt(v);
			counts[0][votes[i]]++;
			counts[1][(uint32_t)fmin(CLUSTERS * other, CLUSTERS - 1)]++;
		}
		double shares[2][CLUSTERS], sum = 0;
		mauve_shares(counts[0], CLUSTERS, 0, shares[0]);
		mauve_shares(counts[1], CLUSTERS, 0, shares[1]);
		const double clean = mauve_score(shares[0], shares[1], CLUSTERS, MAUVE_SCALE_PAPER);
		for (uint64_t draw = 0; draw < DRAWS; draw++) {
			int64_t noisy[CLUSTERS];
			assert_int_equal(cuttle_votes_count(&queries[0], votes, VOTERS, 1, CLUSTERS,
			                                    &seeds, draw, noisy, NULL),
			                 CUTTLE_OK);
			for (int c = 0; c < CLUSTERS; c++)
				counts[0][c] = noisy[c] > 0 ? (uint32_t)noisy[c] : 0;
			mauve_shares(counts[0], CLUSTERS, 0, shares[0]);
			sum += fabs(mauve_score(shares[0], shares[1], CLUSTERS, MAUVE_SCALE_PAPER) -
			            clean);
		}
		print_message("MAUVE %.4f: noise moves it by %.4f\n", clean, sum / DRAWS);
		assert_true(sum / DRAWS < .006);
	}
}

/* ---- next tokens ----------------------------------------------------------------------------- */

enum { VOCABULARY = 12, LONGEST = 15 };

/* Gives a set texts of 0 to 15 tokens. In `halves` halves of them each token follows from the one
 * before. */
static void add_tokens(struct text_set *set, uint64_t seed, unsigned halves) {
	set->first = scratch_make(set->count + 1, sizeof *set->first);
	set->ids = scratch_make(set->count * LONGEST, sizeof *set->ids);
	for (size_t i = 0; i < set->count; i++) {
		const bool follows = tiny_random(&seed) % 2 < halves;
		set->first[i + 1] = set->first[i] + tiny_random(&seed) % (LONGEST + 1);
		for (size_t t = set->first[i]; t < set->first[i + 1]; t++) {
			const uint32_t drawn = (uint32_t)(tiny_random(&seed) % VOCABULARY);
			set->ids[t] = follows && t > set->first[i]
			                  ? (set->ids[t - 1] * 5 + 1 + drawn % 2) % VOCABULARY
			                  : drawn;
		}
	}
}

/* Scores of all references, taught by `taught` texts of a set: begin, begin + step, ... */
static void guess_all(const struct text_set *set, size_t begin, size_t step, size_t taught,
                      const struct text_set *real, struct next_token_score *scores) {
	struct next_token_text texts[MOST];
	for (size_t i = 0; i < taught; i++) {
		const size_t text = begin + i * step;
		texts[i] = (struct next_token_text){set->ids + set->first[text],
		                                    set->first[text + 1] - set->first[text]};
	}
	struct next_token_model *model = next_token_teach(texts, taught, VOCABULARY);
	for (size_t i = 0; i < real->count; i++)
		texts[i] = (struct next_token_text){real->ids + real->first[i],
		                                    real->first[i + 1] - real->first[i]};
	assert_true(next_token_measure(model, texts, real->count, scores));
	next_token_free(model);
}

/* The share of tokens guessed, and bits a token, less those of `other`, in references 0, step, ..;
 * errors behind the two. */
static void mean_guesses(const struct next_token_score *one, const struct next_token_score *other,
                         size_t step, double means[4]) {
	double sums[2][MOST], sizes[MOST];
	size_t count = 0;
	for (size_t i = 0; i < REAL.count; i += step) {
		sizes[count] = one[i].tokens;
		sums[0][count] = one[i].right - (other ? other[i].right : 0);
		sums[1][count] = one[i].bits - (other ? other[i].bits : 0);
		count += one[i].tokens > 0;
	}
	for (size_t k = 0; k < 2; k++)
		means[k] = samples_share(sums[k], sizes, count, &means[2 + k]);
}

/* Wants two neighbouring cells of a row. */
static void assert_guesses(const struct evaluation *table, size_t row, int column,
                           const double means[4]) {
	for (int k = 0; k < 2; k++) {
		assert_close(table->rows[row].cells[column + k].value, means[k]);
		assert_close(table->rows[row].cells[column + k].error, means[2 + k]);
	}
}

static void test_next_tokens(void **state) {
	struct sets *sets = *state;
	struct text_set *all[] = {&sets->real, &sets->alone, &sets->runs[0], &sets->runs[1]};
	const struct text_set *const real = &sets->real;
	struct next_token_score scores[4][MOST];
	struct evaluation_input input = {
	    .references = real, .baseline = &sets->alone, .runs = sets->runs, .run_count = 2};
	struct evaluation table;
	double means[4];
	static const unsigned halves[] = {2, 1, 2, 0};
	for (size_t i = 0; i < 4; i++) add_tokens(all[i], 90 + i, halves[i]);
	make_table(&input, &table);
	for (size_t i = 0; i < 4; i++) assert_true(isnan(value_of(&table, i, EVALUATION_NEXT)));
	evaluation_free(&table);
	input.vocabulary = VOCABULARY;
	make_table(&input, &table);
	// As many texts of each teach as a half of the references has.
	guess_all(real, 1, 2, 60, real, scores[0]);
	for (size_t i = 1; i < 4; i++) guess_all(all[i], 0, 1, 60, real, scores[i]);
	for (size_t i = 0; i < 4; i++) {
		mean_guesses(scores[i], NULL, i ? 1 : 2, means);
		assert_guesses(&table, i, EVALUATION_NEXT, means);
		mean_guesses(scores[i], scores[0], 2, means);
		if (i) assert_guesses(&table, i, EVALUATION_NEXT_REAL, means);
		else assert_true(isnan(value_of(&table, i, EVALUATION_NEXT_REAL)));
		mean_guesses(scores[i], scores[1], 1, means);
		if (i > 1) assert_guesses(&table, i, EVALUATION_NEXT_PUBLIC, means);
		else assert_true(isnan(value_of(&table, i, EVALUATION_NEXT_PUBLIC)));
	}
	// The good run has texts of the references' kind, the poor one of none.
	assert_true(value_of(&table, 2, EVALUATION_NEXT) > value_of(&table, 3, EVALUATION_NEXT));
	assert_true(value_of(&table, 2, EVALUATION_NEXT_BITS) <
	            value_of(&table, 3, EVALUATION_NEXT_BITS));
	evaluation_free(&table);
	// Texts without a token teach nothing, and there is no number of references without one.
	memset(sets->runs[1].first, 0, (sets->runs[1].count + 1) * sizeof *real->first);
	make_table(&input, &table);
	guess_all(all[3], 0, 1, 60, real, scores[3]);
	mean_guesses(scores[3], NULL, 1, means);
	assert_guesses(&table, 3, EVALUATION_NEXT, means);
	evaluation_free(&table);
	memset(sets->real.first, 0, (real->count + 1) * sizeof *real->first);
	make_table(&input, &table);
	for (size_t i = 0; i < 4; i++) assert_true(isnan(value_of(&table, i, EVALUATION_NEXT)));
	evaluation_free(&table);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rows),
	    cmocka_unit_test(test_histograms),
	    cmocka_unit_test(test_perplexity_and_length),
	    cmocka_unit_test(test_entities),
	    cmocka_unit_test(test_task),
	    cmocka_unit_test(test_refusals),
	    cmocka_unit_test(test_measured),
	    cmocka_unit_test(test_sayings),
	    cmocka_unit_test(test_answers_alone),
	    cmocka_unit_test(test_noise_is_small),
	    cmocka_unit_test(test_next_tokens),
	};
	return cmocka_run_group_tests_name("evaluation", tests, make_sets, free_sets);
}
