// SPDX-License-Identifier: Apache-2.0
// Tests measure/corpus.c, bayes.c, probe.c, rates.c and refit.c: against scikit-learn's numbers,
// and on public reviews against the counts of a second program. It fails if one
// word or one guess of 4,500 differs, or if a chance is off by more than 1e-6.
#include "measure/bayes.h"
#include "measure/probe.h"
#include "measure/samples.h"
#include "measure/stream.h"
#include "tests/measure/measure_rows.h"
#include "tests/support/files.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- words ----------------------------------------------------------------------------------- */

static void read_texts(const char *const *texts, size_t count, struct corpus *corpus) {
	size_t sizes[16];
	assert_true(count <= 16);
	for (size_t i = 0; i < count; i++) sizes[i] = strlen(texts[i]);
	assert_true(corpus_make(texts, sizes, count, corpus));
}

static void test_corpus(void **state) {
	(void)state;
	const char *const texts[] = {"The cat's the END", "", "42 -- caf\xC3\xA9 'tis,end",
	                             "cat THE\n"};
	const uint32_t words[] = {0, 1, 0, 2, 3, 4, 2, 5, 0};
	const size_t first[] = {0, 4, 4, 7, 9};
	struct corpus corpus;
	read_texts(texts, 4, &corpus);
	assert_int_equal(corpus.texts, 4);
	assert_int_equal(corpus.distinct, 6);
	assert_memory_equal(corpus.first, first, sizeof first);
	assert_memory_equal(corpus.word, words, sizeof words);
	corpus_free(&corpus);
	read_texts(texts, 0, &corpus);
	assert_int_equal(corpus.distinct, 0);
	corpus_free(&corpus);
}

/* ---- rates ----------------------------------------------------------------------------------- */

static void test_rates(void **state) {
	(void)state;
	const uint32_t truth[5] = {0, 0, 0, 3, 3}, guesses[5] = {0, 0, 2, 3, 0};
	struct rates rates;
	assert_true(rates_of(truth, guesses, 5, 4, &rates));
	assert_true(fabs(rates.accuracy - 0.6) < 1e-15);
	assert_true(fabs(rates.mean_recall - (2. / 3 + 0.5) / 2) < 1e-15);
	// Pairs won: 2 above both, 1 above one, 1 even with one: 1 + 1 + 1/2 of 4.
	const double scores[4] = {3, 1, 1, 0};
	const bool positive[4] = {true, true, false, false};
	double area;
	assert_true(rates_area(scores, positive, 4, &area));
	assert_true(fabs(area - 3.5 / 4) < 1e-15);
}

/* A learner that has only heard how often it should learn each text. */
struct told {
	size_t calls;
	double accuracies[8];
};

static bool guess_told(void *self, const uint32_t *times, uint32_t *guesses) {
	struct told *told = self;
	size_t right = 0;
	for (size_t i = 0; i < 6; i++) {
		guesses[i] = times && times[i] == 0;
		right += guesses[i] == 0;
	}
	if (told->calls == 9) return false;
	if (told->calls) told->accuracies[told->calls - 1] = (double)right / 6;
	told->calls++;
	return true;
}

static void test_refit(void **state) {
	(void)state;
	const uint32_t truth[6] = {0};
	struct told told = {0};
	const struct refit_task task = {&told, 6, 6, 2, truth, guess_told};
	struct refit_result result;
	assert_true(refit_measure(&task, 8, 1, &result));
	assert_true(result.rates.accuracy == 1 && told.calls == 9);
	const double deviation = samples_deviation(told.accuracies, 8);
	assert_true(deviation > 0 && result.deviation.accuracy == deviation);
	assert_true(result.deviation.mean_recall == deviation);
	assert_false(refit_measure(&task, 8, 1, &result));
}

/* ---- naive Bayes ----------------------------------------------------------------------------- */

/* Worked by hand: V = 4, class 0 has 3 words, class 1 has 5. "b" is 1/7 * 2/3 in class 0 and
 * 3/9 * 1/3 in class 1; "new" counts for nothing, so priors decide: class 0. Class 2 has no text.
 */
static void test_bayes(void **state) {
	(void)state;
	const char *const texts[] = {"a a", "c", "b b c d d", "b", "new", "a b", "d D new"};
	const uint32_t labels[7] = {0, 0, 1, 0, 0, 0, 2}, wanted[4] = {1, 0, 0, 1};
	struct corpus corpus;
	read_texts(texts, 7, &corpus);
	const struct bayes_data data = {&corpus, labels, 3, 3};
	uint32_t guesses[4];
	assert_true(bayes_guess(&data, NULL, guesses));
	assert_memory_equal(guesses, wanted, sizeof wanted);
	// Learnt twice, text 2 outweighs both others.
	const uint32_t times[3] = {1, 0, 2};
	const uint32_t heavier[4] = {1, 1, 0, 1};
	assert_true(bayes_guess(&data, times, guesses));
	assert_memory_equal(guesses, heavier, sizeof heavier);
	corpus_free(&corpus);
}

enum { MOST_REVIEWS = 5000, TRAINED = 500, MOST_CLASSES = 64 };

struct reviews {
	char *texts[MOST_REVIEWS];
	size_t sizes[MOST_REVIEWS];
	uint32_t stars[MOST_REVIEWS], categories[MOST_REVIEWS];
	char names[MOST_CLASSES][64];
	uint32_t classes;
	size_t count;
};

/* Categories have numbers in the order of their names, as ties go to the lower. */
static int order_names(const void *a, const void *b) {
	return strcmp(a, b);
}

static uint32_t find_name(const struct reviews *r, const char *name) {
	uint32_t i = 0;
	while (i < r->classes && strcmp(r->names[i], name) != 0) i++;
	return i;
}

static void read_review(struct reviews *r, const json_t *line) {
	const char *text = json_string_value(json_object_get(line, "text")),
	           *name = json_string_value(json_object_get(line, "category"));
	assert_true(text && name && strlen(name) < 64 && r->count < MOST_REVIEWS);
	r->texts[r->count] = strdup(text);
	r->sizes[r->count] = strlen(text);
	r->stars[r->count++] = (uint32_t)json_number_value(json_object_get(line, "stars"));
	if (find_name(r, name) < r->classes) return;
	assert_true(r->classes < MOST_CLASSES);
	strcpy(r->names[r->classes++], name);
}

static void name_review(struct reviews *r, const json_t *line) {
	r->categories[r->count++] =
	    find_name(r, json_string_value(json_object_get(line, "category")));
}

static void read_reviews(FILE *file, struct reviews *r,
                         void (*read)(struct reviews *, const json_t *)) {
	char *line = NULL;
	size_t space = 0;
	rewind(file);
	r->count = 0;
	while (getline(&line, &space, file) > 0) {
		json_t *parsed = json_loads(line, 0, NULL);
		assert_non_null(parsed);
		read(r, parsed);
		json_decref(parsed);
	}
	free(line);
}

static void test_reviews(void **state) {
	(void)state;
	char path[4096];
	FILE *file = fopen(files_data("yelp_dev.jsonl", path, sizeof path), "r");
	if (!file) {
		print_message("SKIPPED: %s is not there\n", path);
		skip();
	}
	struct reviews *r = calloc(1, sizeof *r);
	assert_non_null(r);
	read_reviews(file, r, read_review);
	qsort(r->names, r->classes, sizeof *r->names, order_names);
	read_reviews(file, r, name_review);
	fclose(file);
	assert_int_equal(r->count, MOST_REVIEWS);
	struct corpus corpus;
	const char *const *texts = (const char *const *)r->texts;
	assert_true(corpus_make(texts, r->sizes, TRAINED, &corpus));
	assert_int_equal(corpus.distinct, 5658);
	corpus_free(&corpus);
	assert_true(corpus_make(texts, r->sizes, r->count, &corpus));
	const struct bayes_data stars = {&corpus, r->stars, TRAINED, 6},
	                        categories = {&corpus, r->categories, TRAINED, r->classes};
	struct refit_result result;
	assert_true(bayes_measure(&stars, REFIT_COUNT, 1, &result));
	assert_true(fabs(result.rates.accuracy * 4500 - 2289) < 1e-6);
	assert_true(fabs(result.rates.mean_recall - 0.303773) < 5e-7);
	// Other training texts: ten disjoint sets had a deviation of .0151.
	assert_true(result.deviation.accuracy > 0.007 && result.deviation.accuracy < 0.03);
	assert_true(bayes_measure(&categories, 0, 1, &result));
	assert_true(fabs(result.rates.accuracy * 4500 - 2768) < 1e-6);
	assert_true(result.deviation.accuracy == 0);
	corpus_free(&corpus);
	for (size_t i = 0; i < r->count; i++) free(r->texts[i]);
	free(r);
}

/* ---- logistic regression --------------------------------------------------------------------- */

static void check_probe(const char *shape, size_t count, size_t train, size_t width,
                        uint32_t classes, const unsigned *shares) {
	float *rows = calloc(count * width, sizeof *rows);
	double *unit = calloc(count * width, sizeof *unit), *chances, *first;
	uint32_t *labels = calloc(count, sizeof *labels);
	const size_t test = count - train;
	chances = calloc(test * classes, sizeof *chances);
	first = calloc(test, sizeof *first);
	bool *positive = calloc(test, sizeof *positive);
	assert_true(rows && unit && labels && chances && first && positive);
	make_rows(14, count, width, classes, shares, 2.5, rows, labels);
	make_unit_rows(rows, count, width, unit);
	for (size_t i = 0; i < count * width; i++) rows[i] = (float)unit[i];
	const struct probe_data data = {rows, count, width, labels, train, classes, PROBE_PENALTY};
	assert_true(probe_chances(&data, NULL, chances));
	double shown[4 * 4];
	const size_t which[4] = {0, 1, 2, test - 1};
	for (size_t i = 0; i < 4; i++)
		memcpy(shown + i * classes, chances + which[i] * classes, classes * sizeof *shown);
	char name[32];
	snprintf(name, sizeof name, "probe_%s_chances", shape);
	expect_golden(name, shown, 4 * (size_t)classes, 1e-6);
	for (size_t i = 0; i < test; i++) {
		first[i] = rint(chances[i * classes] * 10) / 10;
		positive[i] = labels[train + i] == 0;
	}
	double area;
	assert_true(rates_area(first, positive, test, &area));
	snprintf(name, sizeof name, "probe_%s_area", shape);
	expect_golden(name, &area, 1, 1e-12);
	struct refit_result result;
	assert_true(probe_measure(&data, 10, 1, &result));
	const double rates[2] = {result.rates.accuracy, result.rates.mean_recall};
	snprintf(name, sizeof name, "probe_%s_rates", shape);
	expect_golden(name, rates, 2, 1e-12);
	assert_true(result.deviation.accuracy > 0.005 && result.deviation.accuracy < 0.1);
	// The first half of the training texts twice and the others never, or that half alone at
	// half the penalty: the same weights.
	uint32_t *times = calloc(train, sizeof *times);
	double *other = calloc(test * classes, sizeof *other);
	float *half = calloc(count * width, sizeof *half);
	uint32_t *half_labels = calloc(count, sizeof *half_labels);
	assert_true(times && other && half && half_labels);
	for (size_t i = 0; i < train / 2; i++) times[i] = 2;
	assert_true(probe_chances(&data, times, chances));
	memcpy(half, rows, train / 2 * width * sizeof *half);
	memcpy(half + train / 2 * width, rows + train * width, test * width * sizeof *half);
	memcpy(half_labels, labels, train / 2 * sizeof *labels);
	const struct probe_data less = {half,    train / 2 + test, width, half_labels, train / 2,
	                                classes, PROBE_PENALTY / 2};
	assert_true(probe_chances(&less, NULL, other));
	for (size_t i = 0; i < test * classes; i++) assert_true(fabs(chances[i] - other[i]) < 1e-5);
	free(rows);
	free(unit);
	free(labels);
	free(chances);
	free(first);
	free(positive);
	free(times);
	free(other);
	free(half);
	free(half_labels);
}

static void test_probe_golden(void **state) {
	(void)state;
	const unsigned tall[4] = {8, 4, 2, 2}, wide[3] = {6, 5, 5};
	check_probe("tall", 260, 160, 12, 4, tall);
	check_probe("wide", 120, 50, 90, 3, wide);
}

/* Two texts at 0 and 1, classes 0 and 2; class 1 has none. The best weights are -w and w, and the
 * text at 1 is right with odds e^w. The slope of w is 0 where the chance of wrong is penalty w. */
static void test_probe_by_hand(void **state) {
	(void)state;
	const float rows[5] = {0, 1, 0.5f, 0, 1};
	const uint32_t labels[5] = {0, 2, 0, 0, 2};
	const struct probe_data data = {rows, 5, 1, labels, 2, 3, 0.25};
	double chances[9];
	assert_true(probe_chances(&data, NULL, chances));
	assert_true(fabs(chances[0] - log(0.5)) < 1e-7 && fabs(chances[2] - log(0.5)) < 1e-7);
	for (size_t i = 0; i < 3; i++) assert_true(chances[3 * i + 1] == -INFINITY);
	const double wrong = exp(chances[5]), w = log(1 / wrong - 1);
	assert_true(fabs(exp(chances[6]) - wrong) < 1e-7);
	assert_true(fabs(wrong - 0.25 * w) < 1e-6);
	// One class alone is certain.
	const uint32_t same[5] = {1, 1, 1, 1, 1};
	const struct probe_data certain = {rows, 5, 1, same, 2, 3, 0.25};
	assert_true(probe_chances(&certain, NULL, chances));
	assert_true(chances[1] == 0 && chances[0] == -INFINITY);
	float strange[5] = {0, NAN, 0, 0, 0};
	const struct probe_data broken = {strange, 5, 1, labels, 2, 3, 0.25};
	assert_false(probe_chances(&broken, NULL, chances));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_corpus),        cmocka_unit_test(test_rates),
	    cmocka_unit_test(test_refit),         cmocka_unit_test(test_bayes),
	    cmocka_unit_test(test_reviews),       cmocka_unit_test(test_probe_golden),
	    cmocka_unit_test(test_probe_by_hand),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
