// SPDX-License-Identifier: Apache-2.0
// Tests measure/ngrams.c, samples.c, pairs.c and scratch.c: by hand, against slow definitions on
// random texts, and against scipy.
// It fails if an n-gram spans two texts, if a tie of two samples counts as a distance, or if a pair
// is a row with itself.
#include "base/sort.h"
#include "measure/ngrams.h"
#include "measure/pairs.h"
#include "measure/samples.h"
#include "measure/scratch.h"
#include "tests/measure/measure_rows.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- n-grams by hand ------------------------------------------------------------------------- */

static const uint32_t items[] = {5, 6, 5, 6, /* */ 6, 5, /* */ 9, /* */ 6, 5, 7, 7, 7, 7, 7};
static const size_t first[] = {0, 4, 6, 7, 7, 14};
static const struct ngrams_texts texts = {items, first, 5};

static double distinct(size_t n, size_t head) {
	double share;
	assert_true(ngrams_distinct(&texts, n, head, &share));
	return share;
}

static void test_distinct(void **state) {
	(void)state;
	assert_true(fabs(distinct(1, 64) - 4. / 14) < 1e-15);
	// 56 65 56 | 65 | - | - | 65 57 77 77 77 77: the end of one text and the next are no
	// 2-gram.
	assert_true(fabs(distinct(2, 64) - 4. / 10) < 1e-15);
	assert_true(fabs(distinct(3, 64) - 5. / 7) < 1e-15);
	assert_true(fabs(distinct(2, 2) - 2. / 3) < 1e-15);
	assert_true(distinct(8, 64) == 0);
}

static void test_repeats(void **state) {
	(void)state;
	double share;
	// 2-grams that stand earlier in the same text: 1 of 3, 0 of 1, none, none, 3 of 6.
	assert_true(ngrams_repeats(&texts, 2, &share));
	assert_true(fabs(share - (1. / 3 + 3. / 6) / 5) < 1e-15);
	const size_t again[] = {0, 2, 4, 5, 5, 5, 7, 8};
	const uint32_t words[] = {1, 2, 1, 2, 1, 2, 1, 1};
	const struct ngrams_texts copied = {words, again, 7};
	size_t copies;
	assert_true(ngrams_copies(&copied, &copies));
	assert_int_equal(copies, 3);
}

static void test_overlap(void **state) {
	(void)state;
	const uint32_t text[] = {1, 6, 5, 7, 7, 8, 5, 6};
	double share;
	size_t run;
	assert_true(ngrams_shared(text, 8, &texts, 2, &share));
	// 65 57 77 56 of 16 65 57 77 78 85 56.
	assert_true(fabs(share - 4. / 7) < 1e-15);
	assert_true(ngrams_shared(text, 8, &texts, 4, &share));
	assert_true(fabs(share - 1. / 5) < 1e-15);
	assert_true(ngrams_shared(text, 1, &texts, 2, &share));
	assert_true(share == 0);
	assert_true(ngrams_common_run(text, 8, items + 7, 7, &run));
	assert_int_equal(run, 4);
	assert_true(ngrams_common_run(text, 8, items, 0, &run));
	assert_int_equal(run, 0);
}

/* ---- n-grams by definition, on random texts -------------------------------------------------- */

static size_t slow_run(const uint32_t *a, size_t m, const uint32_t *b, size_t n) {
	size_t most = 0;
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < n; j++) {
			size_t k = 0;
			while (i + k < m && j + k < n && a[i + k] == b[j + k]) k++;
			if (k > most) most = k;
		}
	return most;
}

static double slow_shared(const uint32_t *a, size_t m, const uint32_t *b, size_t n, size_t size) {
	size_t found = 0;
	for (size_t i = 0; i + size <= m; i++) {
		bool here = false;
		for (size_t j = 0; j + size <= n; j++)
			here |= memcmp(a + i, b + j, size * sizeof *a) == 0;
		found += here;
	}
	return (double)found / (double)(m - size + 1);
}

static void test_random_texts(void **state) {
	(void)state;
	uint64_t random = 3;
	for (int i = 0; i < 200; i++) {
		uint32_t a[60], b[70];
		for (size_t k = 0; k < 60; k++) a[k] = (uint32_t)(tiny_random(&random) % 3);
		for (size_t k = 0; k < 70; k++) b[k] = (uint32_t)(tiny_random(&random) % 3);
		size_t run;
		assert_true(ngrams_common_run(a, 60, b, 70, &run));
		assert_int_equal(run, slow_run(a, 60, b, 70));
		const size_t ends[2] = {0, 70};
		const struct ngrams_texts source = {b, ends, 1};
		double share;
		assert_true(ngrams_shared(a, 60, &source, 4, &share));
		assert_true(share == slow_shared(a, 60, b, 70, 4));
	}
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void test_samples(void **state) {
	(void)state;
	uint64_t random = 15;
	double a[300], b[170], got[4];
	for (size_t i = 0; i < 300; i++) a[i] = (double)(tiny_random(&random) % 50);
	for (size_t i = 0; i < 170; i++) b[i] = 3 + (double)(tiny_random(&random) % 45);
	got[0] = samples_mean(a, 300);
	got[1] = samples_deviation(a, 300);
	got[2] = samples_half_width(a, 300);
	assert_true(samples_distance(a, 300, b, 170, &got[3]));
	expect_golden("samples", got, 4, 1e-12);
	double same, apart;
	assert_true(samples_distance(a, 300, a, 300, &same));
	const double low[2] = {1, 2}, high[3] = {7, 8, 9};
	assert_true(samples_distance(low, 2, high, 3, &apart));
	assert_true(same == 0 && apart == 1);
	assert_true(samples_deviation(a, 1) == 0 && samples_half_width(a, 1) == 0);
}

/* Rows along two axes: half of the pairs have cosine 1, but fewer by those of a row with itself. */
static void test_pairs(void **state) {
	(void)state;
	float rows[4 * 2] = {1, 0, 0, 2, 3, 0, 0, 1};
	const double mean = pairs_cosine(rows, 4, 2, 60000, 1);
	assert_true(fabs(mean - 1. / 3) < 0.01);
	assert_true(mean == pairs_cosine(rows, 4, 2, 60000, 1));
	assert_true(mean != pairs_cosine(rows, 4, 2, 60000, 2));
	rows[0] = 0;
	assert_true(fabs(pairs_cosine(rows, 4, 2, 60000, 1) - 1. / 6) < 0.01);
	const float two[4] = {1, 0, -1, 0};
	assert_true(pairs_cosine(two, 2, 2, 100, 1) == -1);
}

static void test_share(void **state) {
	(void)state;
	const double sums[4] = {1, 3, 0, 5}, sizes[4] = {2, 4, 0, 5};
	double width;
	// Residuals of 9/11: -7/11, -3/11, 0, 10/11; their squares add up to 158/121.
	assert_true(fabs(samples_share(sums, sizes, 4, &width) - 9. / 11) < 1e-15);
	assert_true(fabs(width - SAMPLES_Z * sqrt(158. / 121 * 4 / 3) / 11) < 1e-15);
	assert_true(samples_share(sums, sizes, 1, &width) == .5 && width == 0);
	assert_true(isnan(samples_share(sums + 2, sizes + 2, 1, &width)) && isnan(width));
	assert_true(isnan(samples_share(NULL, NULL, 0, &width)));
	// Of equal sizes it is the mean, and its error that of a mean.
	const double equal[4] = {1, 1, 1, 1};
	assert_true(samples_share(sums, equal, 4, &width) == samples_mean(sums, 4));
	assert_true(fabs(width - samples_half_width(sums, 4)) < 1e-15);
}

static void test_sort(void **state) {
	(void)state;
	uint64_t random = 9;
	for (size_t count = 0; count < 40; count++) {
		double values[40], sum = 0, sorted = 0;
		for (size_t i = 0; i < count; i++)
			sum += values[i] = (double)(tiny_random(&random) % 20);
		sort_doubles(values, count);
		for (size_t i = 0; i < count; i++) sorted += values[i];
		for (size_t i = 1; i < count; i++) assert_true(values[i - 1] <= values[i]);
		assert_true(sum == sorted);
	}
}

static void test_scratch(void **state) {
	(void)state;
	assert_null(scratch_make(SIZE_MAX / 2, 4));
	assert_null(scratch_make(SIZE_MAX, 1));
	unsigned char *block = scratch_make(100, 3);
	for (size_t i = 0; i < 300; i++) assert_true(block[i] == 0);
	assert_true((uintptr_t)block % _Alignof(max_align_t) == 0);
	scratch_free(block);
	scratch_free(scratch_make(0, 8));
	scratch_free(NULL);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_distinct), cmocka_unit_test(test_repeats),
	    cmocka_unit_test(test_overlap),  cmocka_unit_test(test_random_texts),
	    cmocka_unit_test(test_samples),  cmocka_unit_test(test_pairs),
	    cmocka_unit_test(test_share),    cmocka_unit_test(test_sort),
	    cmocka_unit_test(test_scratch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
