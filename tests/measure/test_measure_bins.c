// SPDX-License-Identifier: Apache-2.0
// Tests measure/bins on numbers counted by hand. It fails if a number on an edge counts below it,
// if one beyond the edges or not finite is lost or counted wrongly, or if bins are too many.
#include "measure/bins.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void test_equal(void **state) {
	(void)state;
	static const struct {
		double most;
		size_t count;
		double width;
	} cases[] = {{0, 1, 1},   {31, 32, 1}, {31.9, 32, 1},
	             {32, 17, 2}, {41, 21, 2}, {512, 17, 32}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bins bins;
		bins_equal(cases[i].most, &bins);
		assert_int_equal(bins.count, cases[i].count);
		assert_true(bins.edges[0] == 0 && bins.edges[1] == cases[i].width);
		assert_true(bins.edges[bins.count] > cases[i].most);
	}
}

static void test_ratio(void **state) {
	(void)state;
	struct bins bins;
	bins_ratio(10, 100, &bins);
	// 10 is between 2^(13/4) = 9.51 and 2^(14/4) = 11.31; 100 below 2^(27/4) = 107.6.
	assert_int_equal(bins.count, 14);
	assert_true(fabs(bins.edges[0] - 9.513656920021768) < 1e-12);
	assert_true(fabs(bins.edges[14] - 107.63474115247546) < 1e-10);
	bins_ratio(1, 1, &bins);
	assert_int_equal(bins.count, 1);
	assert_true(bins.edges[0] == 1 && bins.edges[1] > 1);
	bins_ratio(1, 1e300, &bins);
	assert_int_equal(bins.count, BINS_MOST);
}

static void test_count(void **state) {
	(void)state;
	static const double values[] = {0, 1.9, 2, 40, 41, 1000, -5, NAN, INFINITY};
	struct bins bins;
	uint32_t counts[BINS_MOST];
	bins_equal(41, &bins);
	bins_count(&bins, values, sizeof values / sizeof *values, counts);
	assert_int_equal(counts[0], 3);
	assert_int_equal(counts[1], 1);
	assert_int_equal(counts[20], 3);
	uint32_t sum = 0;
	for (size_t i = 0; i < bins.count; i++) sum += counts[i];
	assert_int_equal(sum, 7);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_equal),
	                                   cmocka_unit_test(test_ratio),
	                                   cmocka_unit_test(test_count)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
