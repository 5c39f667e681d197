// SPDX-License-Identifier: Apache-2.0
// Tests the ways to spend less in dp/: centred differences, and steps that draw from the public
// row alone.
// It fails if a centred sum differs from a plain second computation. It fails if a step is public
// when it should not be, draws from other weights than the public ones, costs anything, or lets a
// private row in.
#include "tests/dp/test_dp_support.h"

#include <math.h>
#include <stdlib.h>

#include "dp/center.h"
#include "dp/invisibleink.h"

enum { MOST = 70 };

static int compare(const void *a, const void *b) {
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* The lower median, by sorting. */
static int64_t median(const int64_t *values, size_t n) {
	int64_t sorted[MOST];
	memcpy(sorted, values, n * sizeof *values);
	qsort(sorted, n, sizeof *sorted, compare);
	return sorted[(n - 1) / 2];
}

static void the_median(void **state) {
	(void)state;
	uint64_t seed = 1;
	const int32_t limit = INT32_C(1) << 26;
	for (int round = 0; round < 20000; round++) {
		const size_t n = 1 + test_below(&seed, round % 3 ? 8 : MOST);
		const int32_t range = round % 5 ? 6 : limit;
		int32_t row[MOST], public_fixed[MOST];
		int64_t difference[MOST];
		for (size_t i = 0; i < n; i++) {
			row[i] = test_below(&seed, 4)
			             ? (int32_t)test_below(&seed, 2 * (uint64_t)range + 1) - range
			         : test_below(&seed, 2) ? limit
			                                : -limit;
			public_fixed[i] =
			    test_below(&seed, 4)
			        ? (int32_t)test_below(&seed, 2 * (uint64_t)range + 1) - range
			    : test_below(&seed, 2) ? limit
			                           : -limit;
			difference[i] = (int64_t)row[i] - public_fixed[i];
		}
		dp_center(row, public_fixed, n);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(row[i] - public_fixed[i], median(difference, n));
	}
}

static struct dp_invisibleink_params small(void) {
	return (struct dp_invisibleink_params){.batch = 3,
	                                       .tokens = 4,
	                                       .vocab = MOST,
	                                       .temperature_num = 6,
	                                       .temperature_den = 5,
	                                       .clip_fixed = 1000,
	                                       .fraction_bits = 10,
	                                       .random = dp_random_system()};
}

static struct dp_invisibleink *make(const struct dp_invisibleink_params *params) {
	struct dp_invisibleink *m;
	assert_int_equal(dp_invisibleink_new(params, &m), DP_OK);
	dp_invisibleink_begin(m, 0);
	return m;
}

/* A source of one number, for every draw. */
static enum dp_status one_number(void *user, void *bytes, size_t size) {
	memset(bytes, 0, size);
	memcpy(bytes, user, sizeof(unsigned __int128));
	return DP_OK;
}

/* assert_misuse jumps, so it stands in functions of its own. */
static void refuses_private(struct dp_invisibleink *m, const float *row) {
	assert_misuse(dp_invisibleink_private(m, row));
}

static void refuses_sure(struct dp_invisibleink *m) {
	assert_misuse((void)dp_invisibleink_sure(m, 1));
}

static void refuses_draw(struct dp_invisibleink *m) {
	uint32_t token;
	assert_misuse((void)dp_invisibleink_draw(m, &token));
}

static void refuses_to_start(struct dp_invisibleink *m, const float *row) {
	const uint32_t *candidates;
	size_t count;
	assert_misuse((void)dp_invisibleink_alone(m, row));
	assert_misuse((void)dp_invisibleink_public(m, row, &candidates, &count));
}

/* Every S is the sum of clamp(L_i - L_pub - s_i). A row with an offset gives what the row without
 * it gives. A row that is not finite gives nothing. */
static void centred_sums(void **state) {
	(void)state;
	struct dp_invisibleink_params params = small();
	params.center = true;
	params.top_k = 9;
	struct dp_invisibleink *m = make(&params);
	uint64_t seed = 2;
	bool clipped = false, unclipped = false;
	for (int round = 0; round < 500; round++) {
		float public_row[MOST], row[MOST];
		int64_t sum[MOST] = {0};
		const uint32_t *candidates;
		size_t count;
		uint32_t token;
		for (size_t y = 0; y < MOST; y++) public_row[y] = test_between(&seed, -9, 9);
		dp_invisibleink_begin(m, 0);
		assert_int_equal(dp_invisibleink_public(m, public_row, &candidates, &count), DP_OK);
		for (uint32_t i = 0; i < params.batch; i++) {
			const float offset = ldexpf((float)test_below(&seed, 1 << 14) - 8192, -10);
			const bool finite = test_below(&seed, 10) > 0;
			int64_t difference[MOST];
			for (size_t c = 0; c < count; c++) {
				/* multiples of 2^-10: the offset moves L by exactly as much */
				const float plain =
				    ldexpf((float)((int)test_below(&seed, 4096) - 2048), -10);
				row[c] = public_row[candidates[c]] + plain;
				difference[c] = llrint((double)row[c] * 1024) -
				                llrint((double)public_row[candidates[c]] * 1024);
				row[c] = (float)llrint((double)row[c] * 1024) / 1024 + offset;
			}
			const int64_t middle = median(difference, count);
			if (!finite)
				row[test_below(&seed, count)] =
				    test_below(&seed, 2) ? NAN : -INFINITY;
			for (size_t c = 0; finite && c < count; c++) {
				const int64_t d = difference[c] - middle;
				sum[c] += d > params.clip_fixed    ? params.clip_fixed
				          : d < -params.clip_fixed ? -params.clip_fixed
				                                   : d;
				clipped |= llabs(d) > params.clip_fixed;
				unclipped |= llabs(d) < params.clip_fixed;
			}
			dp_invisibleink_private(m, row);
		}
		for (size_t c = 0; c < count; c++)
			assert_int_equal(dp_invisibleink_sum(m, c), sum[c]);
		refuses_private(m, row); /* B + 1 */
		assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
	}
	assert_true(clipped && unclipped);
	dp_invisibleink_free(&m);
}

/* Sure means: a million times A of the likeliest token is at least `millionths` times the sum of A,
 * to the last integer. */
static void sure_to_the_last_integer(void **state) {
	(void)state;
	struct dp_invisibleink_params params = small();
	params.vocab = 5;
	struct dp_invisibleink *m = make(&params);
	uint64_t seed = 3;
	const uint32_t *candidates;
	size_t count;
	uint32_t token;
	for (int round = 0; round < 300; round++) {
		float row[5];
		for (size_t y = 0; y < 5; y++) row[y] = test_between(&seed, -4, 4);
		dp_invisibleink_begin(m, 0);
		assert_int_equal(dp_invisibleink_public(m, row, &candidates, &count), DP_OK);
		unsigned __int128 whole = 0, largest = 0;
		for (size_t i = 0; i < count; i++) {
			const unsigned __int128 a = dp_invisibleink_public_weight(m, i);
			whole += a;
			if (a > largest) largest = a;
		}
		const uint32_t most = (uint32_t)(largest * 1000000 /
		                                 whole); /* the greatest threshold it still meets */
		assert_false(dp_invisibleink_sure(m, most + 1));
		dp_invisibleink_private(m, row); /* not sure: the step goes on as any other */
		assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
		assert_int_equal(dp_invisibleink_spent(m), 1);
		assert_int_equal(dp_invisibleink_public(m, row, &candidates, &count), DP_OK);
		assert_true(dp_invisibleink_sure(m, most));
		refuses_private(m, row);
		refuses_sure(m);
		assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
		assert_int_equal(dp_invisibleink_spent(m), 1);
	}
	/* two equal tokens: exactly one half */
	params.vocab = 2;
	struct dp_invisibleink *two = make(&params);
	assert_int_equal(dp_invisibleink_public(two, (const float[2]){2, 2}, &candidates, &count),
	                 DP_OK);
	assert_false(dp_invisibleink_sure(two, 500001));
	assert_true(dp_invisibleink_sure(two, 500000));
	dp_invisibleink_free(&two);
	/* once a private row is in, the public one is not asked any more */
	assert_int_equal(
	    dp_invisibleink_public(m, (const float[5]){9, 0, 0, 0, 0}, &candidates, &count), DP_OK);
	dp_invisibleink_private(m, (const float[5]){0});
	refuses_sure(m);
	dp_invisibleink_free(&m);
}

/* A step alone may come any time, also after T. It draws by A over V+, exactly, and costs no T. */
static void alone_draws_from_the_public_weights(void **state) {
	(void)state;
	unsigned __int128 number = 0;
	struct dp_invisibleink_params params = small();
	params.vocab = 4;
	params.batch = 1;
	params.top_k = 2;
	params.clip_fixed = 200;
	params.random = (struct dp_random){one_number, &number};
	struct dp_invisibleink *m = make(&params);
	static const float row[4] = {1, -9, 1.5f, 1.25f}, lifted[4] = {9, 9, 9, 9},
	                   broken[4] = {1, NAN, 1, 1};
	const uint32_t *candidates;
	size_t count;
	uint32_t token;
	for (uint32_t spent = 0; spent <= params.tokens; spent++) {
		dp_invisibleink_begin(m, spent);
		assert_int_equal(dp_invisibleink_alone(m, broken), DP_PUBLIC_NOT_FINITE);
		refuses_draw(m);
		number = 0;
		assert_int_equal(dp_invisibleink_alone(m, row), DP_OK);
		/* V+ = {0, 2, 3}; E(0) = 2^q, so the first number that draws candidate c is A(0) +
		 * ... + A(c - 1), times 2^q */
		static const uint32_t expected[3] = {0, 2, 3};
		unsigned __int128 before = 0;
		for (size_t c = 0; c < 3; c++) {
			const unsigned __int128 a = dp_invisibleink_public_weight(m, c),
			                        e = dp_invisibleink_private_weight(m, c);
			assert_true(e != 0 && (e & (e - 1)) == 0);
			refuses_private(m, lifted);
			number = before * e;
			assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
			assert_int_equal(token, expected[c]);
			assert_int_equal(dp_invisibleink_alone(m, row), DP_OK);
			number = (before + a) * e - 1;
			assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
			assert_int_equal(token, expected[c]);
			assert_int_equal(dp_invisibleink_alone(m, row), DP_OK);
			before += a;
		}
		refuses_to_start(m, row);
		dp_invisibleink_begin(m, spent);
		assert_int_equal(dp_invisibleink_spent(m), spent);
		assert_int_equal(dp_invisibleink_public(m, row, &candidates, &count),
		                 spent < params.tokens ? DP_OK : DP_SPENT);
	}
	dp_invisibleink_free(&m);
}

/* S of a private step is not left over in the next free step. */
static void nothing_private_is_left(void **state) {
	(void)state;
	struct dp_invisibleink_params params = small();
	params.vocab = 3;
	struct dp_invisibleink *m = make(&params);
	const uint32_t *candidates;
	size_t count;
	uint32_t token;
	static const float row[3] = {1, 2, 3}, far[3] = {100, -100, 100};
	for (int i = 0; i < 3; i++) {
		assert_int_equal(dp_invisibleink_public(m, row, &candidates, &count), DP_OK);
		dp_invisibleink_private(m, far);
		assert_int_equal(dp_invisibleink_sum(m, 1), -params.clip_fixed);
		if (i % 2) dp_invisibleink_begin(m, 1); /* given up half-way */
		else assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
		assert_int_equal(dp_invisibleink_alone(m, row), DP_OK);
		for (size_t c = 0; c < 3; c++) assert_int_equal(dp_invisibleink_sum(m, c), 0);
		assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
	}
	dp_invisibleink_free(&m);
}

static enum dp_status no_bits(void *user, void *bytes, size_t size) {
	(void)user;
	(void)bytes;
	(void)size;
	return DP_NO_ENTROPY;
}

static void no_entropy_alone(void **state) {
	(void)state;
	struct dp_invisibleink_params params = small();
	params.vocab = 2;
	params.random = (struct dp_random){no_bits, NULL};
	struct dp_invisibleink *m = make(&params);
	static const float row[2] = {1, 2};
	uint32_t token = 77;
	assert_int_equal(dp_invisibleink_alone(m, row), DP_OK);
	assert_int_equal(dp_invisibleink_draw(m, &token), DP_NO_ENTROPY);
	assert_int_equal(token, 77);
	assert_int_equal(dp_invisibleink_alone(m, row), DP_NO_ENTROPY);
	refuses_draw(m);
	dp_invisibleink_free(&m);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_median),
	    cmocka_unit_test(centred_sums),
	    cmocka_unit_test(sure_to_the_last_integer),
	    cmocka_unit_test(alone_draws_from_the_public_weights),
	    cmocka_unit_test(nothing_private_is_left),
	    cmocka_unit_test(no_entropy_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
