// SPDX-License-Identifier: Apache-2.0
// Tests all of measure/ when memory fails, and what it leaves behind. The linker puts the functions
// below in the place of the real ones.
// It fails if a failed allocation is not reported, if a block is not freed, or if one is freed that
// was not wiped: embeddings and words of private texts stand in them.
#include "measure/bayes.h"
#include "measure/compare.h"
#include "measure/fields.h"
#include "measure/mauve.h"
#include "measure/ngrams.h"
#include "measure/next_token.h"
#include "measure/probe.h"
#include "measure/samples.h"
#include "tests/measure/measure_rows.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

void *__real_calloc(size_t count, size_t size);
void __real_free(void *block);
void *__wrap_calloc(size_t count, size_t size);
void __wrap_free(void *block);

enum { MOST_BLOCKS = 64 };

static int still_allowed = INT_MAX; /* allocations that still succeed */
static struct {
	void *block;
	size_t size;
} blocks[MOST_BLOCKS];
static size_t unwiped; /* freed with something in them */

void *__wrap_calloc(size_t count, size_t size) {
	if (still_allowed < INT_MAX && still_allowed-- <= 0) return NULL;
	void *block = __real_calloc(count, size);
	size_t i = 0;
	while (i < MOST_BLOCKS && blocks[i].block) i++;
	assert_true(i < MOST_BLOCKS);
	blocks[i].block = block;
	blocks[i].size = count * size;
	return block;
}

void __wrap_free(void *block) {
	for (size_t i = 0; block && i < MOST_BLOCKS; i++) {
		if (blocks[i].block != block) continue;
		const unsigned char *bytes = block;
		bool clean = true;
		for (size_t k = 0; k < blocks[i].size; k++) clean &= bytes[k] == 0;
		unwiped += !clean;
		blocks[i].block = NULL;
	}
	__real_free(block);
}

static size_t count_blocks(void) {
	size_t count = 0;
	for (size_t i = 0; i < MOST_BLOCKS; i++) count += blocks[i].block != NULL;
	return count;
}

/* ---- what may fail --------------------------------------------------------------------------- */

enum { TEXTS = 40, TRAIN = 25, WIDTH = 6, CLUSTERS = 3 };

static float rows[TEXTS * WIDTH];
static uint32_t labels[TEXTS], guesses[TEXTS];
static const uint32_t counts[3][CLUSTERS] = {{5, 6, 7}, {3, 3, 9}, {8, 1, 1}};
static const char *const words[TEXTS] = {"some words", "other words", "and more"};
static const size_t sizes[TEXTS] = {10, 11, 8};
static const struct kmeans_params params = {CLUSTERS, 2, 9, 1};

static bool try_mauve(void) {
	struct mauve_points points;
	bool ok = mauve_project(rows, TEXTS, WIDTH, 0.9, &points);
	ok = ok && kmeans_fit(points.rows, TEXTS, points.axes, &params, guesses, NULL, NULL);
	mauve_points_free(&points);
	return ok;
}

static bool try_counts(void) {
	struct mauve m;
	struct compare_difference d;
	double p[3] = {.1, .2, .3};
	return mauve_measure(counts[0], counts[1], CLUSTERS, 5, 5, 1, &m) &&
	       compare_runs(counts[0], counts[1], counts[2], CLUSTERS, 5, 5, 1, &d) &&
	       compare_holm(p, 3, p);
}

static bool try_assign(void) {
	const double points[4] = {0, 1, 2, 3}, centres[2] = {0, 3};
	uint32_t nearest[4];
	return kmeans_assign(points, 4, 1, centres, 2, nearest);
}

static bool try_bayes(void) {
	struct corpus corpus;
	struct refit_result result;
	bool ok = corpus_make(words, sizes, TEXTS, &corpus);
	const struct bayes_data data = {&corpus, labels, TRAIN, 4};
	ok = ok && bayes_measure(&data, 2, 1, &result);
	corpus_free(&corpus);
	return ok;
}

static bool try_probe(void) {
	const struct probe_data data = {rows, TEXTS, WIDTH, labels, TRAIN, 4, PROBE_PENALTY};
	struct refit_result result;
	double chances[(TEXTS - TRAIN) * 4];
	return probe_measure(&data, 2, 1, &result) && probe_chances(&data, NULL, chances);
}

static bool try_texts(void) {
	const size_t first[3] = {0, 20, TEXTS};
	const struct ngrams_texts texts = {labels, first, 2};
	const double values[3] = {1, 2, 3};
	const bool positive[3] = {true, false, true};
	double share;
	size_t number;
	return ngrams_distinct(&texts, 2, 64, &share) && ngrams_repeats(&texts, 2, &share) &&
	       ngrams_copies(&texts, &number) && ngrams_shared(labels, 9, &texts, 3, &share) &&
	       ngrams_common_run(labels, 9, guesses, 9, &number) &&
	       samples_distance(values, 3, values, 2, &share) &&
	       rates_area(values, positive, 3, &share);
}

static bool try_fields(void) {
	static const uint8_t codes[6] = {0, 1, 1, 0, 2, 1}, same[3] = {0, 1, 2};
	const struct fields_column columns[2] = {{codes, codes + 1, 3, same, 3, true},
	                                         {codes + 1, codes, 3, same, 3, true}};
	const struct fields_comparison comparison = {columns, 2, 5, 5, 3, 1};
	struct fields_result result;
	const bool ok = fields_compare(&comparison, &result);
	fields_free(&result);
	return ok;
}

static bool try_next_token(void) {
	const struct next_token_text texts[2] = {{labels, 20}, {labels + 20, TEXTS - 20}};
	struct next_token_score scores[2];
	struct next_token_model *model = next_token_teach(texts, 2, 4);
	const bool ok = model && next_token_measure(model, texts, 2, scores);
	next_token_free(model);
	return ok;
}

static void check_failures(bool (*attempt)(void)) {
	bool ok = false;
	int allowed = 0;
	for (; !ok && allowed < 300; allowed++) {
		still_allowed = allowed;
		ok = attempt();
		const bool all = still_allowed >= 0;
		still_allowed = INT_MAX;
		// Whoever was refused a block says so.
		assert_int_equal(ok, all);
		assert_int_equal(count_blocks(), 0);
		assert_int_equal(unwiped, 0);
	}
	assert_true(ok && allowed > 1);
}

static void test_failures(void **state) {
	(void)state;
	static const unsigned shares[4] = {4, 4, 4, 4};
	make_rows(31, TEXTS, WIDTH, 4, shares, 1.0, rows, labels);
	unwiped = 0; // the rows of the test itself
	check_failures(try_mauve);
	check_failures(try_counts);
	check_failures(try_assign);
	check_failures(try_bayes);
	check_failures(try_probe);
	check_failures(try_texts);
	check_failures(try_fields);
	check_failures(try_next_token);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_failures)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
