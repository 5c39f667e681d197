// SPDX-License-Identifier: Apache-2.0
// Tests the accounts of secret lots through the public API: engine/run/plan/lots.c. It fails if a
// claim follows from any but the largest share of batches that a cluster uses, or if a number is
// taken that no lots can have: such a claim would be larger than what was paid for.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/cuttle.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };
#define MOST_RECORDS (UINT64_C(1) << 40)

/* What all four functions say of lots, which must be the same. */
static void expect_refused(const struct cuttle_lots *lots, size_t count, const char *words) {
	struct cuttle_error error = {{0}};
	double one, other;
	uint32_t rows;
	assert_int_equal(cuttle_lots_delta(lots, count, 1e-6, &one, &other, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, words));
	assert_int_equal(cuttle_lots_epsilon(lots, count, 1, &one, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, words));
	assert_int_equal(cuttle_lots_rows(lots, count, 1, 1e-6, &rows, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, words));
	struct cuttle_plan_params params;
	bool pay;
	cuttle_plan_params_default(&params);
	params.epsilon = 1;
	params.batch = 10;
	params.tokens = 100;
	params.lots = lots;
	params.lot_count = count;
	assert_int_equal(cuttle_lots_pay(&params, &pay, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, words));
	assert_false(pay);
}

static void lots_in_range(void **state) {
	(void)state;
	const struct cuttle_lots wrong[] = {
	    {.records = MOST_RECORDS + 1, .batches = 10, .used = 1},
	    {.records = 100, .batches = MOST_RECORDS + 1, .used = 1},
	    {.records = 100, .batches = 0, .used = 0},
	    {.records = 100, .batches = 10, .used = 11},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		const struct cuttle_lots two[] = {{.records = 100, .batches = 10, .used = 2},
		                                  wrong[i]};
		expect_refused(&wrong[i], 1, "out of range");
		expect_refused(two, 2, "out of range");
	}
	struct cuttle_lots *many = calloc(MOST + 1, sizeof *many);
	assert_non_null(many);
	for (size_t i = 0; i <= MOST; i++)
		many[i] = (struct cuttle_lots){.records = 100, .batches = 10, .used = 1};
	expect_refused(many, MOST + 1, "more than 4096 clusters");
	free(many);
}

static void some_batch_is_used(void **state) {
	(void)state;
	const struct cuttle_lots none[] = {{.records = 100, .batches = 10},
	                                   {.records = 10, .batches = 1}};
	struct cuttle_error error = {{0}};
	double one, other;
	assert_int_equal(cuttle_lots_epsilon(none, 2, 1, &one, &error), CUTTLE_USAGE);
	assert_string_equal(error.message, "the lots use no batch");
	assert_int_equal(cuttle_lots_delta(none, 2, 1e-6, &one, &other, &error), CUTTLE_USAGE);
}

/* Shares of 1/10, 5/10 and 2/10, in each order, and beside a cluster that uses nothing. */
static void the_largest_share_counts(void **state) {
	(void)state;
	static const uint64_t used[][4] = {
	    {1, 5, 2, 0}, {5, 2, 1, 0}, {2, 1, 5, 0}, {0, 1, 2, 5}, {0, 5, 1, 2}};
	const double run = log1p(0.5 * expm1(2)), batch_delta = 1e-6 / 0.5;
	for (size_t i = 0; i < sizeof used / sizeof *used; i++) {
		struct cuttle_lots lots[4];
		struct cuttle_error error;
		double epsilon, delta, known;
		for (size_t c = 0; c < 4; c++)
			lots[c] =
			    (struct cuttle_lots){.records = 100, .batches = 10, .used = used[i][c]};
		assert_int_equal(cuttle_lots_epsilon(lots, 4, 2, &epsilon, &error), CUTTLE_OK);
		assert_true(epsilon >= run && epsilon < run * (1 + 1e-9));
		assert_int_equal(cuttle_lots_delta(lots, 4, 1e-6, &delta, &known, &error),
		                 CUTTLE_OK);
		assert_true(delta <= batch_delta && delta > batch_delta * 0.9);
	}
}

static void budgets_in_range(void **state) {
	(void)state;
	static const double epsilons[] = {0, -1, NAN, INFINITY, DBL_MIN / 2},
	                    deltas[] = {0, -1e-6, NAN, 1, 2, 1e-301};
	const struct cuttle_lots lots = {.records = 100, .batches = 10, .used = 2};
	struct cuttle_error error = {{0}};
	double epsilon, delta, known;
	uint32_t rows;
	for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; i++) {
		assert_int_equal(cuttle_lots_epsilon(&lots, 1, epsilons[i], &epsilon, &error),
		                 CUTTLE_USAGE);
		assert_int_equal(cuttle_lots_rows(&lots, 1, epsilons[i], 1e-6, &rows, &error),
		                 CUTTLE_USAGE);
		for (int inverse = 0; inverse < 2; inverse++) {
			epsilon = epsilons[i];
			delta = 1e-6;
			assert_int_equal(cuttle_amplify(1, 2, inverse, &epsilon, &delta, &error),
			                 CUTTLE_USAGE);
		}
	}
	for (size_t i = 0; i < sizeof deltas / sizeof *deltas; i++) {
		assert_int_equal(cuttle_lots_delta(&lots, 1, deltas[i], &delta, &known, &error),
		                 CUTTLE_USAGE);
		assert_int_equal(cuttle_lots_rows(&lots, 1, 1, deltas[i], &rows, &error),
		                 CUTTLE_USAGE);
		epsilon = 1;
		delta = deltas[i];
		assert_int_equal(cuttle_amplify(1, 2, false, &epsilon, &delta, &error),
		                 CUTTLE_USAGE);
	}
	// A batch's delta of 1 promises nothing; so where its delta is the run's by the share.
	assert_int_equal(cuttle_lots_delta(&lots, 1, 0.3, &delta, &known, &error), CUTTLE_USAGE);
	epsilon = 1;
	delta = 0.6;
	assert_int_equal(cuttle_amplify(1, 2, true, &epsilon, &delta, &error), CUTTLE_USAGE);
	const struct cuttle_lots crowd = {.records = MOST_RECORDS, .batches = 1, .used = 1};
	assert_int_equal(cuttle_lots_rows(&crowd, 1, 1, 1e-6, &rows, &error), CUTTLE_USAGE);
	static const uint64_t shares[][2] = {{0, 2}, {3, 2}, {0, 0}, {1, 0}};
	for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
		epsilon = 1;
		delta = 1e-6;
		assert_int_equal(
		    cuttle_amplify(shares[i][0], shares[i][1], false, &epsilon, &delta, &error),
		    CUTTLE_USAGE);
		assert_true(epsilon == 1 && delta == 1e-6);
	}
}

/* Lots are worth it where they buy a tenth of the clip. Of a clip that is given they buy none. */
static void lots_that_pay(void **state) {
	(void)state;
	struct cuttle_lots few = {.records = 1000, .batches = 100, .used = 10},
	                   most = {.records = 1000, .batches = 100, .used = 99};
	struct cuttle_plan_params params;
	struct cuttle_error error = {{0}};
	bool pay;
	cuttle_plan_params_default(&params);
	params.batch = 10;
	params.tokens = 100;
	params.lots = &few;
	params.lot_count = 1;
	params.clip = 0.5;
	assert_int_equal(cuttle_lots_pay(&params, &pay, &error), CUTTLE_OK);
	assert_false(pay);
	params.clip = NAN;
	params.epsilon = 3;
	assert_int_equal(cuttle_lots_pay(&params, &pay, &error), CUTTLE_OK);
	assert_true(pay);
	params.lots = &most;
	assert_int_equal(cuttle_lots_pay(&params, &pay, &error), CUTTLE_OK);
	assert_false(pay);
	params.lots = &few;
	params.batch = 0;
	assert_int_equal(cuttle_lots_pay(&params, &pay, &error), CUTTLE_USAGE);
	params.batch = 10;
	params.tokens = 0;
	assert_int_equal(cuttle_lots_pay(&params, &pay, &error), CUTTLE_USAGE);
	params.tokens = 100;
	params.temperature = 0;
	assert_int_equal(cuttle_lots_pay(&params, &pay, &error), CUTTLE_USAGE);
	params.temperature = 1;
	params.delta = 0;
	assert_int_equal(cuttle_lots_pay(&params, &pay, &error), CUTTLE_USAGE);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lots_in_range),
	    cmocka_unit_test(some_batch_is_used),
	    cmocka_unit_test(the_largest_share_counts),
	    cmocka_unit_test(budgets_in_range),
	    cmocka_unit_test(lots_that_pay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
