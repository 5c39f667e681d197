// SPDX-License-Identifier: Apache-2.0
// Tests measure/binomial.c and bounds.c: against scipy to its
// digits, and against sums of the binomial law.
// It fails if a bound is taken from its other side, if a chance of error is not halved where two
// bounds meet, or if a bound of epsilon is exceeded by what a mechanism of that epsilon does.
#include "measure/binomial.h"
#include "measure/bounds.h"
#include "tests/measure/measure_rows.h"
#include "tests/support/golden.h"
#include "tests/support/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#define GOLDEN "tests/golden/measure.txt"

/* ---- the binomial law ------------------------------------------------------------------------ */

static void test_beta_golden(void **state) {
	(void)state;
	for (int i = 0; i < 7; i++) {
		char name[32];
		double line[4];
		snprintf(name, sizeof name, "beta_%d", i);
		assert_int_equal(golden_read(GOLDEN, name, line, 4), 4);
		const double got = binomial_beta(line[0], line[1], line[2]);
		if (!(fabs(got / line[3] - 1) < 1e-12))
			fail_msg("%s: got %.17g, want %.17g", name, got, line[3]);
	}
	assert_true(binomial_beta(2, 3, 0) == 0 && binomial_beta(2, 3, 1) == 1);
}

static void test_tail(void **state) {
	(void)state;
	// All 20 trials' terms, summed from the far end.
	for (double p = 0.05; p < 1; p += 0.15) {
		double sum = 0;
		for (uint64_t k = 20; k > 0; k--) {
			const double d = (double)k;
			sum += exp(lgamma(21) - lgamma(d + 1) - lgamma(21 - d) + d * log(p) +
			           (20 - d) * log1p(-p));
			assert_true(fabs(binomial_tail(20, p, k) / sum - 1) < 1e-11);
		}
	}
	assert_true(binomial_tail(20, 0.3, 0) == 1 && binomial_tail(20, 0.3, 21) == 0);
	assert_true(binomial_tail(20, 0, 1) == 0 && binomial_tail(20, 1, 20) == 1);
}

static void test_proportions(void **state) {
	(void)state;
	for (int i = 0; i < 8; i++) {
		char name[32];
		double line[5];
		snprintf(name, sizeof name, "proportion_%d", i);
		assert_int_equal(golden_read(GOLDEN, name, line, 5), 5);
		const uint64_t seen = (uint64_t)line[0], trials = (uint64_t)line[1];
		const double low = binomial_low(seen, trials, line[2]),
		             high = binomial_high(seen, trials, line[2]);
		if (!(fabs(low - line[3]) < 1e-12 && fabs(high - line[4]) < 1e-12))
			fail_msg("%s: got %.15g %.15g", name, low, high);
		// The tests' own bounds, which sum the law.
		assert_true(fabs(low - proportion_above(seen, trials, line[2])) < 1e-10);
		assert_true(fabs(high - proportion_below(seen, trials, line[2])) < 1e-10);
	}
	// By scipy.
	assert_true(fabs(binomial_high(0, 200, .05) - .01486703923127) < 6e-15);
	assert_true(fabs(binomial_low(568, 2000, .025) - .26431560081308) < 6e-15);
	assert_true(fabs(binomial_high(568, 2000, .025) - .30431953334992) < 6e-15);
	assert_true(binomial_low(0, 5, .05) == 0 && binomial_high(5, 5, .05) == 1);
	// Against all laws: a bound is wrong with a chance of at most alpha.
	for (double p = 0.01; p < 1; p += 0.01) {
		double below = 0, above = 0;
		for (uint64_t k = 0; k <= 30; k++) {
			const double here = binomial_tail(30, p, k) - binomial_tail(30, p, k + 1);
			if (binomial_low(k, 30, .05) > p) below += here;
			if (binomial_high(k, 30, .05) < p) above += here;
		}
		assert_true(below <= .05 + 1e-12 && above <= .05 + 1e-12);
	}
}

/* ---- epsilon --------------------------------------------------------------------------------- */

static void expect_bound(double got, double want, double apart) {
	if (!(fabs(got - want) < apart)) fail_msg("got %.15g, want %.15g", got, want);
}

static void test_two_worlds(void **state) {
	(void)state;
	// With 1,999 hits and 3 alarms "with" shows 4.499206958499, and "without" more.
	const struct {
		uint64_t hits, alarms, games;
		double alpha, bound;
	} cases[] = {
	    {568, 20, 2000, .05, 2.842634525631},
	    {200, 0, 200, .05, 3.983757233549},
	    {2000, 0, 2000, .05, 6.294656355120},
	    {1999, 3, 2000, 1e-6, 4.736176036027},
	    {60, 55, 200, .05, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const uint64_t n = cases[i].games, hits = cases[i].hits, alarms = cases[i].alarms;
		const double alpha = cases[i].alpha, want = cases[i].bound;
		expect_bound(bounds_two_worlds(hits, n, alarms, n, 1e-6, alpha), want, 6e-13);
		// An attack that says the opposite of the other's opposite is as good.
		expect_bound(bounds_two_worlds(n - alarms, n, n - hits, n, 1e-6, alpha), want,
		             1e-9);
	}
	assert_true(bounds_two_worlds(568, 2000, 20, 2000, .27, .05) == 0);
}

/* Randomised response of epsilon: true with chance e^eps / (1 + e^eps). Over all outcomes of 12
 * games in each world the bound exceeds epsilon with a chance of at most alpha. */
static void test_two_worlds_hold(void **state) {
	(void)state;
	enum { N = 12 };
	for (double epsilon = 0; epsilon < 3; epsilon += 0.5) {
		const double p = 1 / (1 + exp(-epsilon));
		double wrong = 0;
		for (uint64_t hits = 0; hits <= N; hits++)
			for (uint64_t alarms = 0; alarms <= N; alarms++) {
				const double here =
				    (binomial_tail(N, p, hits) - binomial_tail(N, p, hits + 1)) *
				    (binomial_tail(N, 1 - p, alarms) -
				     binomial_tail(N, 1 - p, alarms + 1));
				if (bounds_two_worlds(hits, N, alarms, N, 0, .2) > epsilon)
					wrong += here;
			}
		assert_true(wrong <= .2);
	}
}

static void test_one_run(void **state) {
	(void)state;
	expect_bound(bounds_one_run(100, 100, 60, 0, .05), .0519149378, 6e-11);
	expect_bound(bounds_one_run(100, 100, 99, 1e-6, .05), 3.0191749048, 6e-11);
	expect_bound(bounds_one_run(1000, 200, 180, 1e-6, .05), 1.7986085009, 6e-11);
	expect_bound(bounds_one_run(1000, 1000, 810, 1e-6, .05), 1.3154263825, 6e-11);
	expect_bound(bounds_one_run(100, 100, 100, 1e-6, .05), 3.4926905927, 6e-11);
	assert_true(bounds_one_run(100, 100, 50, 1e-6, .05) == 0);
	expect_bound(bounds_one_run_chance(100, 100, 60, 1, 0) / .998443141897, 1, 1e-11);
	expect_bound(bounds_one_run_chance(1000, 200, 180, 1, 1e-6) / 4.36250695756e-05, 1, 1e-11);
	assert_true(bounds_one_run_chance(100, 100, 3, 1, .9) == 1);
}

static void test_guess(void **state) {
	(void)state;
	expect_bound(bounds_guess(40, 2000, 10000, 1e-6, .05), 5.019286189405, 6e-13);
	expect_bound(bounds_guess(60, 200, 5, 1e-3, .05), .205779885007, 6e-13);
	expect_bound(bounds_guess(3, 2000, 10000, 1e-6, .05), 1.406015220709, 6e-13);
	expect_bound(bounds_guess(2000, 2000, 10000, 1e-6, .05), 9.208841504340, 6e-13);
	assert_true(bounds_guess(40, 200, 5, 1e-3, .05) == 0);
	expect_bound(bounds_exposure(1, 10000), 13.287712379549, 6e-13);
	assert_true(bounds_exposure(5000, 10000) == 1 && bounds_exposure(10000, 10000) == 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_beta_golden),     cmocka_unit_test(test_tail),
	    cmocka_unit_test(test_proportions),     cmocka_unit_test(test_two_worlds),
	    cmocka_unit_test(test_two_worlds_hold), cmocka_unit_test(test_one_run),
	    cmocka_unit_test(test_guess),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
