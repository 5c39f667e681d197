// SPDX-License-Identifier: Apache-2.0
// Tests dp/learn.c: the integers of one record, and the noisy sum of many. The integers are
// compared with vectors, and 10^6 hostile ones with their bound; the sum with the noise that equal
// bits give; its law, by exact sums, with the divergences that are promised.
// It fails if a record's integers are longer than 64, if one with a NaN adds anything, if a record
// is looked at before all noise is drawn, or if the noise is smaller than told.
#include "tests/dp/test_dp_support.h"

#include <float.h>
#include <math.h>

#include "dp/learn.h"
#include "dp/noise.h"

enum { MOST_TRIED = 40, WIDTH = 9, RECORDS = 50 };

static void integers_of_known_vectors(void **state) {
	(void)state;
	static const struct {
		double u[2];
		int32_t q[2];
	} known[] = {{{0.5, 0}, {32, 0}},
	             {{3, 4}, {38, 51}}, // 192, 256 is 320 long
	             {{-3, 4}, {-38, 51}},
	             {{1, 0}, {64, 0}},
	             {{1, 1 / 64.0}, {63, 0}}, // 64, 1: ceil of the length is 65
	             {{-0.5 / 64, 1.5 / 64}, {0, 2}},
	             {{0.5 / 64, 2.5 / 64}, {0, 2}}, // ties to even
	             {{1e300, -1e300}, {45, -45}},
	             {{5e-324, -0.0}, {0, 0}},
	             {{(double)NAN, 1}, {0, 0}},
	             {{1, (double)INFINITY}, {0, 0}},
	             {{-(double)INFINITY, 0.25}, {0, 0}}};
	int32_t q[2];
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		dp_learn_round(known[i].u, 2, q);
		assert_int_equal(q[0], known[i].q[0]);
		assert_int_equal(q[1], known[i].q[1]);
	}
	dp_learn_round(NULL, 2, q);
	assert_true(q[0] == 0 && q[1] == 0);
	assert_misuse(dp_learn_round(known[0].u, 0, q));
	assert_misuse(dp_learn_round(known[0].u, DP_LEARN_MOST_WIDTH + 1, q));
}

static double hostile_number(uint64_t *seed) {
	static const double odd[] = {0,         -0.0,     1,       -1,     0.5 / 64,
	                             64.5 / 64, 1e18,     -1e18,   0x1p14, -0x1.fffffffffffffp13,
	                             DBL_MAX,   -DBL_MAX, DBL_MIN, 5e-324};
	const double plain = (double)(int64_t)test_random(seed) * 0x1p-63;
	switch (test_below(seed, 8)) {
	case 0:
		return odd[test_below(seed, sizeof odd / sizeof *odd)];
	case 1:
		return plain * ldexp(1, (int)test_below(seed, 2040) - 1020);
	case 2:
		return test_below(seed, 200) ? plain * 40 : (double)NAN;
	case 3:
		return test_below(seed, 200) ? plain / 10 : (double)INFINITY;
	default:
		return plain;
	}
}

/* What dp_learn_round promises, from its own words. */
static void check_integers(const double *u, size_t width, const int32_t *q) {
	bool finite = true;
	long double square = 0, length = 0;
	for (size_t j = 0; j < width; j++) {
		const double part = fmax(-0x1p20, fmin(0x1p20, u[j] * 64));
		finite &= isfinite(u[j]) != 0;
		square += (long double)rint(part) * (long double)rint(part);
		length += (long double)q[j] * q[j];
	}
	assert_true(length <= 64 * 64);
	for (size_t j = 0; j < width; j++) {
		const double part = rint(fmax(-0x1p20, fmin(0x1p20, u[j] * 64)));
		const long double shrunk = part * 64.0L / ceill(sqrtl(square));
		if (!finite) assert_int_equal(q[j], 0);
		else if (square <= 64 * 64) assert_true(q[j] == part);
		else assert_true(fabsl(q[j] - truncl(shrunk)) < 0.5L);
	}
}

static void hostile_vectors_are_bounded(void **state) {
	(void)state;
	uint64_t seed = 1;
	double u[MOST_TRIED];
	int32_t q[MOST_TRIED];
	for (int i = 0; i < test_cases(1000000); i++) {
		const size_t width = 1 + test_below(&seed, MOST_TRIED);
		const double scale = i % 3 ? 1 : 1 / sqrt((double)width); // near the clip
		for (size_t j = 0; j < width; j++) u[j] = hostile_number(&seed) * scale;
		dp_learn_round(u, width, q);
		check_integers(u, width, q);
	}
}

struct learn_bits {
	uint64_t seed;
	size_t calls;
	size_t fails_at; /* the call that fails, from 1; 0: none */
};

static enum dp_status fill_learn_bits(void *user, void *bytes, size_t size) {
	struct learn_bits *source = user;
	if (++source->calls == source->fails_at) return DP_NO_ENTROPY;
	return test_fill(&source->seed, bytes, size);
}

/* The answer over RECORDS records, of which `null` is null. */
static void answer_over(double (*u)[WIDTH], size_t null, struct dp_variance v, uint64_t bits,
                        int64_t *x) {
	struct learn_bits source = {.seed = bits};
	const struct dp_random random = {fill_learn_bits, &source};
	struct dp_learn *learn;
	assert_int_equal(dp_learn_begin(WIDTH, RECORDS, v, &random, &learn), DP_OK);
	const size_t calls = source.calls;
	for (size_t i = 0; i < RECORDS; i++) dp_learn_add(learn, i == null ? NULL : u[i]);
	dp_learn_end(&learn, x);
	assert_null(learn);
	assert_int_equal(source.calls, calls); // no bits after the first record
}

/* Noise and integers, and nothing else: a record that becomes null takes its own with it. */
static void answers_are_noise_and_records(void **state) {
	(void)state;
	uint64_t seed = 2;
	static double u[RECORDS][WIDTH];
	for (int file = 0; file < test_cases(200); file++) {
		const struct dp_variance v = {1 + (uint32_t)test_below(&seed, 300000),
		                              1 + (uint32_t)test_below(&seed, 30)};
		const uint64_t bits = test_random(&seed);
		const size_t moved = test_below(&seed, RECORDS);
		int64_t noise[WIDTH], before[WIDTH], after[WIDTH];
		int32_t q[WIDTH];
		uint64_t copy = bits;
		const struct dp_random random = {test_fill, &copy};
		assert_int_equal(dp_noise_fill(v.num, v.den, &random, noise, WIDTH), DP_OK);
		for (size_t i = 0; i < RECORDS; i++)
			for (size_t j = 0; j < WIDTH; j++) u[i][j] = hostile_number(&seed);
		answer_over(u, SIZE_MAX, v, bits, before);
		answer_over(u, moved, v, bits, after);
		for (size_t i = 0; i < RECORDS; i++) {
			dp_learn_round(u[i], WIDTH, q);
			for (size_t j = 0; j < WIDTH; j++) noise[j] += q[j];
		}
		dp_learn_round(u[moved], WIDTH, q);
		for (size_t j = 0; j < WIDTH; j++) {
			assert_true(before[j] == noise[j]);
			assert_true(after[j] == before[j] - q[j]);
		}
	}
}

static void noise_fails_before_records(void **state) {
	(void)state;
	const struct dp_variance v = {81, 1};
	struct dp_learn *learn;
	for (size_t fails_at = 1; fails_at < 40; fails_at++) {
		struct learn_bits source = {.seed = 5, .fails_at = fails_at};
		const struct dp_random random = {fill_learn_bits, &source};
		assert_int_equal(dp_learn_begin(WIDTH, 3, v, &random, &learn), DP_NO_ENTROPY);
		assert_null(learn);
	}
	uint64_t bits = 7;
	const struct dp_random random = {test_fill, &bits};
	int64_t x[WIDTH];
	assert_int_equal(dp_learn_begin(WIDTH, 1, v, &random, &learn), DP_OK);
	dp_learn_add(learn, NULL);
	assert_misuse(dp_learn_add(learn, NULL));
	dp_learn_end(&learn, x);
	assert_misuse((void)dp_learn_begin(0, 1, v, &random, &learn));
	assert_misuse((void)dp_learn_begin(DP_LEARN_MOST_WIDTH + 1, 1, v, &random, &learn));
	assert_misuse((void)dp_learn_begin(1, DP_LEARN_MOST_RECORDS + 1, v, &random, &learn));
	assert_true((uint64_t)DP_LEARN_MOST_RECORDS * DP_LEARN_CLIP <= UINT64_C(1) << 31);
}

/* 60,000 numbers without a record have the variance that was asked for: the mean of their squares
 * has a standard error of sqrt(2 / 60000) = 0.58 % of it, and 5 of these are allowed. */
static void noise_has_its_variance(void **state) {
	(void)state;
	enum { NUMBERS = 60000 };
	static int64_t x[NUMBERS];
	static const double rhos[] = {0.0178, 0.5, 3};
	uint64_t bits = 11;
	const struct dp_random random = {test_fill, &bits};
	for (size_t i = 0; i < sizeof rhos / sizeof *rhos; i++) {
		struct dp_variance v;
		struct dp_learn *learn;
		double square = 0, sum = 0;
		assert_int_equal(dp_votes_variance(DP_LEARN_SQUARE, 1, rhos[i], &v), DP_OK);
		assert_int_equal(dp_learn_begin(NUMBERS, 0, v, &random, &learn), DP_OK);
		dp_learn_end(&learn, x);
		for (size_t j = 0; j < NUMBERS; j++) {
			square += (double)x[j] * (double)x[j];
			sum += (double)x[j];
		}
		const double variance = 64.0 * 64 / (2 * rhos[i]);
		assert_true(fabs(square / NUMBERS / variance - 1) < 5 * sqrt(2.0 / NUMBERS));
		assert_true(fabs(sum) < 5 * sqrt(variance * NUMBERS));
	}
}

/* The Renyi divergence of order a between noise around `shift` and around 0, or the other way
 * round, by summing all outcomes that matter. */
static long double divergence(long double a, int64_t shift, struct dp_variance v, bool back) {
	const long double s2 = 2.0L * v.num / v.den;
	const int64_t reach =
	    (int64_t)(12 * sqrtl(s2) + (a + 1) * (long double)llabs((long long)shift)) + 2;
	long double whole = 0, sum = 0;
	for (int64_t x = -reach; x <= reach; x++) {
		const long double here = (long double)(x - (back ? 0 : shift)),
		                  there = (long double)(x - (back ? shift : 0));
		whole += expl(-(long double)x * x / s2);
		sum += expl((-a * here * here - (1 - a) * there * there) / s2);
	}
	return logl(sum / whole) / (a - 1);
}

/* Where one record becomes null, both ways, an answer of three numbers costs a rho at every order
 * and no more; a record at the clip costs all of it. */
static void neighbours_are_within_rho(void **state) {
	(void)state;
	static const long double orders[] = {1.25L, 2, 9};
	static const double rhos[] = {0.05, 1};
	uint64_t seed = 3;
	long double most = 0;
	for (int file = 0; file < test_cases(40); file++) {
		double u[3] = {1, 0, 0};
		int32_t q[3];
		struct dp_variance v;
		const double rho = rhos[file % 2];
		for (size_t j = 0; file > 1 && j < 3; j++) u[j] = hostile_number(&seed);
		dp_learn_round(u, 3, q);
		assert_int_equal(dp_votes_variance(DP_LEARN_SQUARE, 1, rho, &v), DP_OK);
		assert_true(dp_votes_rho(DP_LEARN_SQUARE, 1, v) <= rho);
		for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
			for (int back = 0; back < 2; back++) {
				long double whole = 0;
				for (size_t j = 0; j < 3; j++)
					whole += divergence(orders[i], q[j], v, back);
				assert_true(whole <= orders[i] * rho * (1 + 1e-12L));
				most = fmaxl(most, whole / orders[i] / rho);
			}
	}
	assert_true(most > 1 - 1e-6L);
}

static void share_of_what_is_no_noise(void **state) {
	(void)state;
	static const int64_t x[2] = {3000, -4000};
	const struct dp_variance v = {3000000, 2};
	/* (2 * 1.5e6 + 100 * 4096) / 2.5e7 */
	assert_true(fabs(dp_learn_share(x, 2, 2, 100, v) - (1 - 3409600.0 / 2.5e7)) < 1e-15);
	assert_true(dp_learn_share(x, 2, 2, 5371, v) > 0);
	assert_true(dp_learn_share(x, 2, 2, 5372, v) == 0); // noise is as large as the answer
	assert_true(dp_learn_share((const int64_t[]){0, 0}, 2, 2, 0, v) == 0);
	/* Its second half: (1.5e6 + 100 * 4096 / 2) / 1.6e7 */
	assert_true(fabs(dp_learn_share(x + 1, 1, 2, 100, v) - (1 - 1704800.0 / 1.6e7)) < 1e-15);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(integers_of_known_vectors),
	    cmocka_unit_test(hostile_vectors_are_bounded),
	    cmocka_unit_test(answers_are_noise_and_records),
	    cmocka_unit_test(noise_fails_before_records),
	    cmocka_unit_test(noise_has_its_variance),
	    cmocka_unit_test(neighbours_are_within_rho),
	    cmocka_unit_test(share_of_what_is_no_noise),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
