// SPDX-License-Identifier: Apache-2.0
// Tests workflow/evaluation against formulas of its own, on sets made by hand. It fails if a row is
// compared with other texts than it says, if texts and references are exchanged, if an anchor is
// another set, or if a number of the table is not that of its column.
#include "measure/samples.h"
#include "measure/scratch.h"
#include "tests/support/files.h"
#include "tests/support/tiny_model.h"
#include "workflow/evaluation.h"

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

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rows),     cmocka_unit_test(test_perplexity_and_length),
	    cmocka_unit_test(test_entities), cmocka_unit_test(test_task),
	    cmocka_unit_test(test_refusals), cmocka_unit_test(test_measured),
	};
	return cmocka_run_group_tests_name("evaluation", tests, make_sets, free_sets);
}
