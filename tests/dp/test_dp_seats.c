// SPDX-License-Identifier: Apache-2.0
// Tests dp/seats.c: batches and seats of clusters, compared with vectors and with a sorted list of
// all fractions, made anew.
// It fails if a cluster uses a larger share of its batches than q*, if another seat is taken than
// the smallest, or if a cap leaves more than its share of delta.
#include "tests/dp/test_dp_support.h"

#include <math.h>

#include "dp/amplify.h"
#include "dp/seats.h"

enum { MOST = 12 }; /* clusters of a test */
static const struct dp_share whole = {1, 1};

static void shares(void **state) {
	(void)state;
	static const struct {
		uint64_t texts, records;
		uint32_t clusters, batch;
		struct dp_share want;
	} rows[] = {{10, 1500, 4, 15, {12, 100}},
	            {10, 1501, 4, 15, {12, 101}},
	            {10, 1500, 5, 15, {13, 100}},
	            {10, 1500, 1, 15, {11, 100}},
	            {97, 1500, 5, 15, {100, 100}},
	            {98, 1500, 5, 15, {100, 100}},
	            {96, 1500, 5, 15, {99, 100}},
	            {1, 0, 1, 1, {1, 1}},
	            {1, UINT64_C(1) << 40, 1, 1, {2, UINT64_C(1) << 40}}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct dp_share have =
		    dp_seats_share(rows[i].texts, rows[i].clusters, rows[i].records, rows[i].batch);
		assert_true(have.num == rows[i].want.num && have.den == rows[i].want.den);
	}
	assert_misuse((void)dp_seats_share(0, 1, 1, 1));
	assert_misuse((void)dp_seats_share(1, 0, 1, 1));
	assert_misuse((void)dp_seats_share(1, 1, 1, 0));
	assert_misuse((void)dp_seats_share(UINT64_C(1) << 41, 1, 1, 1));
	assert_misuse((void)dp_seats_share(1, 1, UINT64_C(1) << 41, 1));
}

static void batches_of_counts(void **state) {
	(void)state;
	static const int64_t noisy[] = {-4, 14, 15, 17, 18, 22, 23, 31, 150, 157, 158, 900};
	static const uint64_t want[2][12] = {{0, 0, 0, 0, 1, 1, 2, 2, 10, 10, 11, 60},
	                                     {0, 0, 0, 0, 2, 2, 2, 3, 10, 11, 11, 60}};
	for (int up = 0; up < 2; up++) {
		for (int i = 0; i < 12; i++)
			assert_true(dp_seats_batches(noisy[i], 15, 9, up) == want[up][i]);
		/* Where B is above 2t, B decides. */
		assert_true(dp_seats_batches(19, 20, 9, up) == 0);
		assert_true(dp_seats_batches(20, 20, 9, up) == 1);
		assert_true(dp_seats_batches(INT64_MIN, 1, 1, up) == 0);
		assert_true(dp_seats_batches(INT64_MAX, 1, 1, up) == INT64_MAX);
		assert_true(dp_seats_batches(1, UINT32_MAX, UINT32_MAX, up) == 0);
	}
	/* halves go up */
	assert_true(dp_seats_batches(149, 20, 9, false) == 7);
	assert_true(dp_seats_batches(150, 20, 9, false) == 8);
	assert_true(dp_seats_batches(141, 20, 9, true) == 8);
}

static void batches_refused(void **state) {
	(void)state;
	assert_misuse((void)dp_seats_batches(1, 0, 1, false));
	assert_misuse((void)dp_seats_batches(1, 1, 0, false));
	assert_misuse((void)dp_seats_records(0, 1));
	assert_misuse((void)dp_seats_records(1, 0));
	assert_misuse((void)dp_seats_records((UINT64_C(1) << 31) + 1, 1));
}

/* A count of one more gives more batches, or it is rounded up; no larger one gives as few. */
static void largest_counts(void **state) {
	(void)state;
	for (uint32_t batch = 1; batch < 40; batch++)
		for (uint64_t batches = 1; batches < 40; batches++) {
			const int64_t most = (int64_t)dp_seats_records(batches, batch);
			if (most >= 2)
				assert_true(dp_seats_batches(most, batch, 1, false) == batches);
			assert_true(dp_seats_batches(most + 1, batch, 1, false) > batches);
			assert_true(dp_seats_batches(most + 1, batch, 1, true) > batches);
		}
}

static void check_seats(const uint64_t *batches, uint32_t clusters, uint64_t texts,
                        struct dp_share most, const uint64_t *want) {
	uint64_t used[MOST], sum = 0;
	memset(used, 0x77, sizeof used);
	const uint64_t dealt = dp_seats_deal(batches, clusters, texts, most, used);
	for (uint32_t c = 0; c < clusters; c++) {
		assert_true(used[c] == want[c]);
		sum += used[c];
	}
	assert_true(dealt == sum && dealt <= texts);
}

static void seats_of_vectors(void **state) {
	(void)state;
	static const uint64_t four[] = {60, 25, 10, 5}, three[] = {40, 40, 3};
	check_seats(four, 4, 20, whole, (uint64_t[]){12, 5, 2, 1});
	check_seats(four, 4, 10, whole, (uint64_t[]){7, 2, 1, 0});
	check_seats(three, 3, 8, whole, (uint64_t[]){4, 4, 0});
	/* ties go to the lower cluster */
	check_seats(three, 3, 1, whole, (uint64_t[]){1, 0, 0});
	check_seats((uint64_t[]){2, 2}, 2, 3, whole, (uint64_t[]){2, 1});
	/* q*: a fifth allows all of the first row and no more; a little less, fewer */
	check_seats(four, 4, 100, (struct dp_share){1, 5}, (uint64_t[]){12, 5, 2, 1});
	check_seats(four, 4, 100, (struct dp_share){199, 1000}, (uint64_t[]){11, 4, 1, 0});
	/* all batches are used, and none has more */
	check_seats(four, 4, 101, whole, four);
	check_seats((uint64_t[]){0, 3, 0}, 3, 5, whole, (uint64_t[]){0, 3, 0});
	check_seats((uint64_t[]){0, 0}, 2, 5, whole, (uint64_t[]){0, 0});
	/* the largest numbers: cross products of 2^124 */
	const uint64_t large = UINT64_C(1) << 62;
	check_seats((uint64_t[]){large, large - 1}, 2, 3, (struct dp_share){large - 1, large},
	            (uint64_t[]){2, 1});
	assert_misuse((void)dp_seats_deal(four, 4, 1, (struct dp_share){0, 1}, (uint64_t[4]){0}));
	assert_misuse((void)dp_seats_deal(four, 4, 1, (struct dp_share){2, 1}, (uint64_t[4]){0}));
}

struct seat {
	uint64_t j, batches;
	uint32_t cluster;
};

static int before_in_line(const void *a, const void *b) {
	const struct seat *x = a, *y = b;
	const uint64_t left = x->j * y->batches, right = y->j * x->batches;
	if (left != right) return left < right ? -1 : 1;
	return (x->cluster > y->cluster) - (x->cluster < y->cluster);
}

/* Random clusters: the seats are the first of the sorted list. */
static void seats_are_the_smallest(void **state) {
	(void)state;
	uint64_t seed = 53;
	for (int i = 0; i < test_cases(2000); i++) {
		static struct seat line[MOST * 30];
		const uint32_t clusters = 1 + (uint32_t)test_below(&seed, MOST);
		const uint64_t den = 1 + test_below(&seed, 100), texts = test_below(&seed, 120);
		const struct dp_share most = {1 + test_below(&seed, den), den};
		uint64_t batches[MOST], want[MOST] = {0};
		size_t count = 0;
		for (uint32_t c = 0; c < clusters; c++) {
			batches[c] = test_below(&seed, 30);
			for (uint64_t j = 1; j <= batches[c]; j++)
				if (j * most.den <= most.num * batches[c])
					line[count++] = (struct seat){j, batches[c], c};
		}
		qsort(line, count, sizeof *line, before_in_line);
		for (size_t n = 0; n < count && n < texts; n++) want[line[n].cluster]++;
		check_seats(batches, clusters, texts, most, want);
	}
}

/* 10 clusters of 150 noisy records in 10 batches, all used: m = 100. */
static uint32_t cap_of(uint32_t t, double epsilon) {
	int64_t noisy[10];
	uint64_t batches[10], used[10];
	uint32_t cap = 17;
	for (int c = 0; c < 10; c++) {
		noisy[c] = 150;
		batches[c] = used[c] = 10;
	}
	assert_int_equal(dp_seats_cap(noisy, batches, used, 10, t, epsilon, 1e-6, &cap), DP_OK);
	return cap;
}

static void caps(void **state) {
	(void)state;
	assert_int_equal(cap_of(25, 1), 186);
	assert_int_equal(cap_of(9, 3), 113);
	assert_int_equal(cap_of(5, 10), 103);
	/* A cluster without batches counts among the k, and for nothing else. */
	const int64_t noisy[3] = {INT64_MIN, 150, 150};
	const uint64_t batches[3] = {0, 10, 10}, used[3] = {0, 10, 0}, none[3] = {0};
	uint32_t cap = 17, all = 17;
	assert_int_equal(dp_seats_cap(noisy, batches, used, 3, 9, 3, 1e-6, &cap), DP_OK);
	assert_int_equal(dp_seats_cap(noisy + 1, batches + 1, used + 1, 2, 9, 3, 1e-6, &all),
	                 DP_OK);
	assert_true(cap >= all && cap <= all + 1);
	/* The rule, by itself: x as small as may be, and a cap as small as may be. */
	const double share = 0x1p-20 * 1e-6 / 2.0 / (1.0 + exp(3.0)),
	             x = ceil(9.0 * log(3.0 / share)), mu = (150.0 + x) / 10.0;
	for (int less = 0; less < 2; less++) {
		const double rows = cap + 1.0 - less,
		             chance = 10.0 * exp(-(rows * log(rows / mu) - rows + mu));
		assert_int_equal(chance <= share, !less);
	}
	cap = 17;
	assert_int_equal(dp_seats_cap(noisy, none, none, 3, 9, 3, 1e-6, &cap), DP_BAD_PARAMETER);
	const int64_t many[1] = {INT64_C(1) << 40};
	assert_int_equal(dp_seats_cap(many, (uint64_t[]){1}, (uint64_t[]){1}, 1, 9, 3, 1e-6, &cap),
	                 DP_BAD_PARAMETER);
	assert_int_equal(cap, 17);
	assert_misuse((void)dp_seats_cap(noisy, batches, used, 3, 0, 3, 1e-6, &cap));
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(shares),
	                                   cmocka_unit_test(batches_of_counts),
	                                   cmocka_unit_test(largest_counts),
	                                   cmocka_unit_test(batches_refused),
	                                   cmocka_unit_test(seats_of_vectors),
	                                   cmocka_unit_test(seats_are_the_smallest),
	                                   cmocka_unit_test(caps)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
