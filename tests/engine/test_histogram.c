// SPDX-License-Identifier: Apache-2.0
// Tests private clusters through the public API: engine/run/plan/histogram.c, and the plans that it
// serves, on a tiny model. It fails if a plan's epsilon is above what was asked for or is not that
// of the two-point formula, if q* follows from counts, or if a batch may have more rows than there
// is room for, whatever the counts are.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dp/seats.h"
#include "engine/cuttle.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <string.h>

static void made(double epsilon, uint32_t clusters, uint64_t texts, uint64_t records,
                 uint32_t batch, struct cuttle_histogram *histogram, struct cuttle_lots *lots) {
	assert_int_equal(
	    cuttle_histogram_make(epsilon, clusters, texts, records, batch, histogram, lots, NULL),
	    CUTTLE_OK);
}

static void vectors(void **state) {
	(void)state;
	struct cuttle_histogram histogram;
	struct cuttle_lots lots, clusters[5];
	made(3, 4, 10, 1500, 15, &histogram, &lots);
	assert_int_equal(histogram.scale, 9);
	assert_int_equal(histogram.clusters, 4);
	assert_int_equal(histogram.texts, 10);
	assert_true(lots.records == 1500 && lots.batches == 100 && lots.used == 12);
	made(1, 4, 97, 1500, 15, &histogram, &lots);
	assert_int_equal(histogram.scale, 25);
	assert_true(lots.batches == 100 && lots.used == 99);
	made(1, 4, 99, 1500, 15, &histogram, &lots);
	assert_true(lots.batches == 100 && lots.used == 100);

	/* 60, 25, 10 and 5 batches, and one cluster that may be empty. q* is 1 here. */
	made(3, 5, 20, 20 * 15, 15, &histogram, &lots);
	assert_true(lots.used == lots.batches);
	static const int64_t noisy[5] = {900, -4, 375, 150, 75};
	assert_int_equal(cuttle_histogram_deal(&histogram, &lots, 15, noisy, clusters), 20);
	static const uint64_t batches[5] = {60, 0, 25, 10, 5}, used[5] = {12, 0, 5, 2, 1},
	                      records[5] = {900, 0, 375, 150, 75};
	for (int c = 0; c < 5; c++) {
		assert_int_equal(clusters[c].batches, batches[c]);
		assert_int_equal(clusters[c].used, used[c]);
		assert_int_equal(clusters[c].records, records[c]);
	}
	/* Rounded to the nearest there are 19 batches, and q* allows all of them. So for 20 texts
	 * counts are rounded up. */
	static const int64_t odd[5] = {157, 22, 97, 0, 23};
	static const uint64_t nearest[5] = {10, 1, 6, 0, 2}, up[5] = {11, 2, 7, 0, 2};
	for (uint64_t texts = 18; texts < 24; texts++) {
		histogram.texts = (uint32_t)texts;
		assert_int_equal(cuttle_histogram_deal(&histogram, &lots, 15, odd, clusters),
		                 texts < 22 ? texts : 22);
		for (int c = 0; c < 5; c++)
			assert_int_equal(clusters[c].batches, (texts < 20 ? nearest : up)[c]);
	}
	histogram.texts = 20;
	/* q* of one tenth: no more than 6, 2, 1 and 0 of the batches. */
	lots.batches = 10;
	lots.used = 1;
	assert_int_equal(cuttle_histogram_deal(&histogram, &lots, 15, noisy, clusters), 9);
	assert_true(clusters[0].used == 6 && clusters[2].used == 2 && clusters[3].used == 1);
}

static void counts(void **state) {
	(void)state;
	const struct cuttle_histogram histogram = {.scale = 9, .clusters = 3, .texts = 1};
	const uint32_t cluster[5] = {0, CUTTLE_NO_CLUSTER, 2, 2, 0};
	const uint64_t seed = 5, other = 6;
	int64_t one[3], two[3], none[3];
	assert_int_equal(cuttle_histogram_count(&histogram, cluster, 5, &seed, one, NULL),
	                 CUTTLE_OK);
	assert_int_equal(cuttle_histogram_count(&histogram, NULL, 0, &seed, none, NULL), CUTTLE_OK);
	assert_true(one[0] == none[0] + 2 && one[1] == none[1] && one[2] == none[2] + 2);
	assert_int_equal(cuttle_histogram_count(&histogram, cluster, 5, &other, two, NULL),
	                 CUTTLE_OK);
	assert_memory_not_equal(one, two, sizeof one);
	/* The system's bits: twenty times the same noise in all three has a chance below 1e-60. */
	bool differ = false;
	for (int n = 0; n < 20; n++) {
		assert_int_equal(cuttle_histogram_count(&histogram, cluster, 5, NULL, two, NULL),
		                 CUTTLE_OK);
		differ |= memcmp(one, two, sizeof one) != 0;
	}
	assert_true(differ);
}

/* Whatever the counts are, the cap that they would need is at most the one there is room for. */
static void room_for_all_counts(void **state) {
	(void)state;
	uint64_t seed = 61;
	for (int n = 0; n < (briefly() ? 30 : 300); n++) {
		const uint32_t batch = 1 + (uint32_t)(tiny_random(&seed) % 40),
		               clusters = 1 + (uint32_t)(tiny_random(&seed) % 12);
		const double epsilon = 0.3 + (double)(tiny_random(&seed) % 100) / 10.0;
		struct cuttle_histogram histogram;
		struct cuttle_lots lots, seats[12];
		int64_t noisy[12];
		uint64_t batches[12], used[12];
		uint32_t room = 0, cap = 0;
		made(epsilon, clusters, 1 + tiny_random(&seed) % 200, tiny_random(&seed) % 20000,
		     batch, &histogram, &lots);
		for (uint32_t c = 0; c < clusters; c++)
			noisy[c] = (int64_t)(tiny_random(&seed) % (n % 2 ? 3000 : 150)) - 40;
		if (!cuttle_histogram_deal(&histogram, &lots, batch, noisy, seats)) continue;
		for (uint32_t c = 0; c < clusters; c++) {
			batches[c] = seats[c].batches;
			used[c] = seats[c].used;
			/* q* holds for each of them */
			assert_true(used[c] * lots.batches <= lots.used * batches[c]);
		}
		assert_int_equal(
		    cuttle_histogram_rows(&histogram, batch, epsilon, 1e-6, &room, NULL),
		    CUTTLE_OK);
		assert_int_equal(dp_seats_cap(noisy, batches, used, clusters, histogram.scale,
		                              epsilon, 1e-6, &cap),
		                 0);
		/* One row more is for the record that is null in the other world. */
		assert_true(cap < room);
	}
}

/* A cluster of one batch has no more rows than records, and one of two may need more than it. */
static void room_for_large_batches(void **state) {
	(void)state;
	static const uint32_t sizes[] = {63, 255, 1024, 4096};
	for (uint64_t n = 0; n < 32; n++) {
		const uint32_t batch = sizes[n / 8];
		const uint64_t batches[2] = {1 + n / 2 % 4, 0};
		const int64_t noisy[2] = {(int64_t)dp_seats_records(batches[0], batch), 0};
		const double epsilon = n % 2 ? 10 : 3;
		struct cuttle_histogram histogram;
		struct cuttle_lots lots;
		uint32_t room = 0, cap = 0;
		made(epsilon, 2, 100, 10000000, batch, &histogram, &lots);
		assert_int_equal(
		    cuttle_histogram_rows(&histogram, batch, epsilon, 1e-6, &room, NULL),
		    CUTTLE_OK);
		assert_int_equal(
		    dp_seats_cap(noisy, batches, batches, 2, histogram.scale, epsilon, 1e-6, &cap),
		    0);
		assert_true(cap < room);
	}
}

/* The counts that need the largest cap, 243: 50 clusters of two batches each, and 50 of none. The
 * room is one row larger: the record that is null in the other world has no row there. */
static void room_for_the_record_that_is_null(void **state) {
	(void)state;
	enum { CLUSTERS = 100 };
	struct cuttle_histogram histogram;
	struct cuttle_lots lots;
	int64_t noisy[CLUSTERS] = {0};
	uint64_t batches[CLUSTERS] = {0};
	uint32_t room = 0, cap = 0;
	made(10, CLUSTERS, 100, 10000000, 15, &histogram, &lots);
	for (int c = 0; c < 50; c++) {
		batches[c] = 2;
		noisy[c] = (int64_t)dp_seats_records(2, 15);
	}
	assert_int_equal(cuttle_histogram_rows(&histogram, 15, 10, 1e-6, &room, NULL), CUTTLE_OK);
	assert_int_equal(
	    dp_seats_cap(noisy, batches, batches, CLUSTERS, histogram.scale, 10, 1e-6, &cap), 0);
	assert_int_equal(cap, 243);
	assert_int_equal(room, cap + 1);
}

static struct cuttle_plan_params params_of(const struct cuttle_histogram *histogram,
                                           const struct cuttle_lots *lots) {
	struct cuttle_plan_params params;
	cuttle_plan_params_default(&params);
	params.epsilon = 3;
	params.batch = 15;
	params.tokens = 20;
	params.gain = 1;
	params.lots = lots;
	params.lot_count = 1;
	params.histogram = histogram;
	return params;
}

static void plans(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_histogram histogram;
	struct cuttle_lots lots;
	made(3, 4, 10, 1500, 15, &histogram, &lots);
	for (int exact = 0; exact < 2; exact++) {
		struct cuttle_plan_params params = params_of(&histogram, &lots);
		struct cuttle_guarantee with, without;
		struct cuttle_plan *plan;
		params.accountant = exact ? CUTTLE_EXACT : CUTTLE_ZCDP;
		assert_int_equal(cuttle_plan_make(model, &params, &plan, NULL), CUTTLE_OK);
		cuttle_plan_describe(plan, &with);
		cuttle_plan_free(&plan);
		params.histogram = NULL;
		assert_int_equal(cuttle_plan_make(model, &params, &plan, NULL), CUTTLE_OK);
		cuttle_plan_describe(plan, &without);
		cuttle_plan_free(&plan);
		const double epsilon = exact ? with.epsilon_exact : with.epsilon;
		assert_true(epsilon <= 3 && epsilon > 2.99);
		/* The counts cost half a percent of the clip, and some. */
		assert_true(with.clip_fixed < without.clip_fixed);
		assert_true(with.clip_fixed > 0.98 * without.clip_fixed);
		assert_true(with.places > without.places);
		/* The same numbers without a model, as a receipt is checked. */
		struct cuttle_budget budget;
		cuttle_budget_none(&budget);
		budget.delta = 1e-6;
		budget.clip = with.clip;
		budget.batch = 15;
		budget.tokens = 20;
		budget.temperature = 1;
		budget.accountant = params.accountant;
		assert_int_equal(cuttle_histogram_solve(&histogram, &lots, false, &budget, NULL),
		                 CUTTLE_OK);
		assert_true(fabs(budget.epsilon / epsilon - 1.0) < 1e-6);
		assert_true(fabs(budget.rho / with.rho - 1.0) < 1e-6);
		/* The counts have their part of rho, 1 / (2 t^2). */
		struct cuttle_budget alone = budget;
		alone.epsilon = alone.rho = NAN;
		assert_int_equal(cuttle_budget_solve(&alone, CUTTLE_RHO, NULL), CUTTLE_OK);
		assert_true(fabs((with.rho - alone.rho) * 162.0 - 1.0) < 1e-6);
		assert_int_equal(cuttle_histogram_solve(&histogram, &lots, true, &budget, NULL),
		                 CUTTLE_OK);
		assert_true(fabs(budget.epsilon / with.epsilon_if_known - 1.0) < 1e-6);
		assert_true(with.epsilon_if_known > 5.0 && with.delta_if_known > 8e-6);
	}
	cuttle_model_free(&model);
}

static void refusals(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_histogram histogram, wrong;
	struct cuttle_lots lots;
	struct cuttle_error error;
	struct cuttle_plan *plan;
	struct cuttle_budget budget;
	uint32_t rows;
	const double bad[] = {0, -1, NAN, INFINITY, 1e-5};
	for (int i = 0; i < 5; i++)
		assert_int_equal(
		    cuttle_histogram_make(bad[i], 4, 10, 1500, 15, &histogram, &lots, &error),
		    CUTTLE_USAGE);
	assert_int_equal(cuttle_histogram_make(3, 0, 10, 1500, 15, &histogram, &lots, &error),
	                 CUTTLE_USAGE);
	assert_int_equal(cuttle_histogram_make(3, 1025, 10, 1500, 15, &histogram, &lots, &error),
	                 CUTTLE_USAGE);
	assert_int_equal(cuttle_histogram_make(3, 4, 0, 1500, 15, &histogram, &lots, &error),
	                 CUTTLE_USAGE);
	assert_int_equal(
	    cuttle_histogram_make(3, 4, UINT64_C(1) << 32, 1500, 15, &histogram, &lots, &error),
	    CUTTLE_USAGE);
	assert_int_equal(cuttle_histogram_make(3, 4, 10, 1500, 0, &histogram, &lots, &error),
	                 CUTTLE_USAGE);
	made(3, 4, 10, 1500, 15, &histogram, &lots);
	assert_int_equal(cuttle_histogram_rows(&histogram, 0, 3, 1e-6, &rows, &error),
	                 CUTTLE_USAGE);
	assert_int_equal(cuttle_histogram_rows(&histogram, 15, NAN, 1e-6, &rows, &error),
	                 CUTTLE_USAGE);
	assert_int_equal(cuttle_histogram_rows(&histogram, 15, 3, 1, &rows, &error), CUTTLE_USAGE);
	cuttle_budget_none(&budget);
	budget.delta = 0.5;
	budget.clip = budget.temperature = 1;
	budget.batch = budget.tokens = 1;
	assert_int_equal(cuttle_histogram_solve(&histogram, &lots, false, &budget, &error),
	                 CUTTLE_USAGE);
	struct cuttle_plan_params params = params_of(&histogram, &lots);
	params.lot_count = 0;
	assert_int_equal(cuttle_plan_make(model, &params, &plan, &error), CUTTLE_USAGE);
	params = params_of(&histogram, &lots);
	params.epsilon = NAN;
	params.clip = 1;
	assert_int_equal(cuttle_plan_make(model, &params, &plan, &error), CUTTLE_USAGE);
	/* The counts alone cost 1/t, here 1/2. */
	wrong = histogram;
	wrong.scale = 2;
	params = params_of(&wrong, &lots);
	params.epsilon = 0.5;
	assert_int_equal(cuttle_plan_make(model, &params, &plan, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "1/2"));
	wrong.scale = 0;
	params.epsilon = 3;
	assert_int_equal(cuttle_plan_make(model, &params, &plan, &error), CUTTLE_USAGE);
	cuttle_model_free(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(vectors),
	                                   cmocka_unit_test(counts),
	                                   cmocka_unit_test(room_for_all_counts),
	                                   cmocka_unit_test(room_for_large_batches),
	                                   cmocka_unit_test(room_for_the_record_that_is_null),
	                                   cmocka_unit_test(plans),
	                                   cmocka_unit_test(refusals)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
