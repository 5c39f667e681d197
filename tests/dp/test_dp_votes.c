// SPDX-License-Identifier: Apache-2.0
// Tests dp/votes.c: counts of votes and sums with Gaussian noise. Answers are compared with the
// noise that equal bits give; their law, for all outcomes of two candidates, with the divergences
// that are promised; drawn ones with that law; the numbers told with vectors.
// It fails if a record without a vote is counted, if a record moves two counts, if a number is not
// clamped, if data are looked at before all noise is drawn, or if the noise is smaller than told.
#include "tests/dp/test_dp_support.h"

#include <math.h>

#include "dp/noise.h"
#include "dp/votes.h"
#include "dp/zcdp.h"

enum { RECORDS = 200, CANDIDATES = 7, EACH = 3 };

struct watched_bits {
	uint64_t seed;
	size_t calls;
	size_t fails_at; /* the call that fails, from 1; 0: none */
	uint32_t *vote;  /* written at each call where it is not NULL: to `becomes` */
	uint32_t becomes;
};

static enum dp_status fill_watched(void *user, void *bytes, size_t size) {
	struct watched_bits *source = user;
	if (source->vote) *source->vote = source->becomes;
	if (++source->calls == source->fails_at) return DP_NO_ENTROPY;
	return test_fill(&source->seed, bytes, size);
}

static void draw_noise_alone(uint64_t seed, struct dp_variance v, size_t count, int64_t *noise) {
	const struct dp_random random = {test_fill, &seed};
	for (size_t i = 0; i < count; i++)
		assert_int_equal(dp_noise_gaussian(v.num, v.den, &random, &noise[i]), DP_OK);
}

/* Random files: the answer is noise and votes. A record that becomes null takes its own votes with
 * it, and nothing else changes, nor how many bits are taken. */
static void votes_are_noise_and_records(void **state) {
	(void)state;
	uint64_t seed = 1;
	for (int file = 0; file < test_cases(200); file++) {
		uint32_t votes[RECORDS * EACH];
		int64_t noise[CANDIDATES], before[CANDIDATES], after[CANDIDATES];
		const uint32_t each = 1 + (uint32_t)test_below(&seed, EACH);
		const struct dp_variance v = {1 + (uint32_t)test_below(&seed, 3000),
		                              1 + (uint32_t)test_below(&seed, 30)};
		for (size_t i = 0; i < RECORDS * each; i++) {
			votes[i] = (uint32_t)test_below(&seed, CANDIDATES + 1);
			if (votes[i] == CANDIDATES) votes[i] = DP_NO_VOTE;
		}
		const uint64_t bits = test_random(&seed);
		draw_noise_alone(bits, v, CANDIDATES, noise);
		struct watched_bits source = {.seed = bits};
		const struct dp_random random = {fill_watched, &source};
		assert_int_equal(dp_votes(votes, RECORDS, each, CANDIDATES, v, &random, before),
		                 DP_OK);
		const size_t calls = source.calls, moved = test_below(&seed, RECORDS);
		bool has[CANDIDATES] = {false};
		for (uint32_t c = 0; c < CANDIDATES; c++) {
			int64_t count = 0;
			for (size_t i = 0; i < RECORDS; i++) {
				bool voted = false;
				for (uint32_t k = 0; k < each; k++)
					voted |= votes[i * each + k] == c;
				count += voted;
				has[c] |= i == moved && voted;
			}
			assert_true(before[c] == noise[c] + count);
		}
		for (uint32_t k = 0; k < each; k++) votes[moved * each + k] = DP_NO_VOTE;
		source = (struct watched_bits){.seed = bits};
		assert_int_equal(dp_votes(votes, RECORDS, each, CANDIDATES, v, &random, after),
		                 DP_OK);
		assert_int_equal(source.calls, calls);
		for (uint32_t c = 0; c < CANDIDATES; c++)
			assert_true(after[c] == before[c] - has[c]);
	}
}

static void sums_are_clamped(void **state) {
	(void)state;
	static const int32_t values[] = {5, -3, 1000, INT32_MIN, INT32_MAX, 0, 8, -8, 9};
	static const int64_t clamped = 5 - 3 + 8 - 8 + 8 + 0 + 8 - 8 + 8;
	const struct dp_variance v = {100, 3};
	int64_t noise, sum;
	for (uint64_t seed = 1; seed < 50; seed++) {
		uint64_t bits = seed;
		const struct dp_random random = {test_fill, &bits};
		draw_noise_alone(seed, v, 1, &noise);
		assert_int_equal(dp_votes_sum(values, 9, 8, v, &random, &sum), DP_OK);
		assert_true(sum == noise + clamped);
	}
	uint64_t bits = 7;
	const struct dp_random random = {test_fill, &bits};
	assert_misuse((void)dp_votes_sum(values, 9, 0, v, &random, &sum));
	assert_misuse((void)dp_votes_sum(values, 9, DP_MOST_REACH + 1, v, &random, &sum));
	assert_misuse((void)dp_votes_sum(values, (size_t)1 << 32, 8, v, &random, &sum));
}

/* A source that changes a vote until its last call: what counts is what stands there then. */
static void noise_is_first(void **state) {
	(void)state;
	uint32_t votes[2] = {0, DP_NO_VOTE};
	const struct dp_variance v = {81, 1};
	int64_t noise[CANDIDATES], noisy[CANDIDATES];
	struct watched_bits source = {.seed = 5, .vote = votes, .becomes = 3};
	const struct dp_random random = {fill_watched, &source};
	draw_noise_alone(5, v, CANDIDATES, noise);
	assert_int_equal(dp_votes(votes, 2, 1, CANDIDATES, v, &random, noisy), DP_OK);
	for (int c = 0; c < CANDIDATES; c++) assert_true(noisy[c] == noise[c] + (c == 3));
	/* Wherever it fails, nothing is drawn, and no record is looked at: there is none. */
	for (size_t fails_at = 1; fails_at < 40; fails_at++) {
		for (int sum = 0; sum < 2; sum++) {
			source = (struct watched_bits){.seed = 5, .fails_at = fails_at};
			for (int c = 0; c < CANDIDATES; c++) noisy[c] = 77;
			if (sum && fails_at > 3) continue;
			assert_int_equal(
			    sum ? dp_votes_sum(NULL, 1000000, 9, v, &random, noisy)
			        : dp_votes(NULL, 1000000, 1, CANDIDATES, v, &random, noisy),
			    DP_NO_ENTROPY);
			assert_int_equal(source.calls, fails_at);
			for (int c = 0; c < (sum ? 1 : CANDIDATES); c++) assert_true(noisy[c] == 0);
		}
	}
	assert_misuse((void)dp_votes(votes, 2, 0, CANDIDATES, v, &random, noisy));
	assert_misuse((void)dp_votes(votes, 2, DP_MOST_VOTES + 1, CANDIDATES, v, &random, noisy));
	assert_misuse((void)dp_votes(votes, 2, 1, 0, v, &random, noisy));
	assert_misuse((void)dp_votes(votes, 2, 1, DP_MOST_CANDIDATES + 1, v, &random, noisy));
	assert_misuse(
	    (void)dp_votes(votes, 2, 1, CANDIDATES, (struct dp_variance){0, 1}, &random, noisy));
	votes[1] = CANDIDATES;
	source = (struct watched_bits){.seed = 5};
	assert_misuse((void)dp_votes(votes, 2, 1, CANDIDATES, v, &random, noisy));
}

/* ---- the law --------------------------------------------------------------------------------- */

/* P(x) of the discrete Gaussian law around a whole number, by its formula. The sum of its weights
 * is made once for a variance. */
static long double gaussian_chance(int x, int centre, double variance) {
	static double of;
	static long double sum;
	if (of != variance) {
		of = variance;
		sum = 0.0L;
		for (int y = -400; y <= 400; y++)
			sum += expl(-(long double)y * y / (2.0L * (long double)variance));
	}
	return expl(-(long double)(x - centre) * (x - centre) / (2.0L * (long double)variance)) /
	       sum;
}

/* All outcomes of two candidates, in two worlds: a record that votes, for `each` of them, is null
 * in one. Every divergence is within what is told, both ways round; so is delta at some epsilons.
 */
static void law_of_all_outcomes(void **state) {
	(void)state;
	static const struct dp_variance variances[] = {{1, 1}, {9, 4}, {4, 1}, {81, 10}};
	for (size_t i = 0; i < 4; i++)
		for (uint32_t each = 1; each <= 2; each++) {
			const double variance = (double)variances[i].num / variances[i].den,
			             rho = dp_votes_rho(each, 1, variances[i]);
			assert_float_equal(rho, each / (2.0 * variance), 1e-12);
			static const double orders[] = {1.1, 2, 3, 5, 10, 30};
			long double moments[6][2] = {{0}}, deltas[3][2] = {{0}};
			for (int x = -60; x <= 60; x++)
				for (int y = -60; y <= 60; y++) {
					const double with = gaussian_chance(x, 3, variance) *
					                    gaussian_chance(y, each == 2 ? 2 : 1,
					                                    variance),
					             without = gaussian_chance(x, 2, variance) *
					                       gaussian_chance(y, 1, variance),
					             p[2] = {with, without}, q[2] = {without, with};
					for (int way = 0; way < 2 && p[0] * p[1] > 0; way++) {
						for (int a = 0; a < 6; a++)
							moments[a][way] +=
							    q[way] *
							    powl(p[way] / q[way], orders[a]);
						for (int e = 0; e < 3; e++)
							deltas[e][way] += fmaxl(
							    p[way] - expl(e + 0.5L) * q[way], 0);
					}
				}
			for (int way = 0; way < 2; way++) {
				for (int a = 0; a < 6; a++) {
					const double loss =
					    (double)logl(moments[a][way]) / (orders[a] - 1);
					/* For whole orders the bound is attained. */
					assert_true(loss <= orders[a] * rho * (1 + 1e-9));
					if (a == 1) assert_true(loss >= orders[a] * rho * .999);
				}
				for (int e = 0; e < 3; e++)
					assert_true((double)deltas[e][way] <=
					            dp_delta_of_rho(rho, e + 0.5));
			}
		}
}

/* Drawn counts have that law: chi square over the outcomes of two candidates. With a quarter of
 * the variance they have not. */
static double compare_law(struct dp_variance drawn, double variance, size_t draws, uint64_t *seed) {
	enum { SPAN = 4 };
	const struct dp_random random = {test_fill, seed};
	static const uint32_t votes[5] = {0, 0, 1, DP_NO_VOTE, 0};
	size_t seen[2 * SPAN + 1][2 * SPAN + 1] = {{0}};
	double sum = 0.0;
	for (size_t i = 0; i < draws; i++) {
		int64_t noisy[2];
		assert_int_equal(dp_votes(votes, 5, 1, 2, drawn, &random, noisy), DP_OK);
		const int64_t x = noisy[0] - 3 + SPAN, y = noisy[1] - 1 + SPAN;
		if (x >= 0 && x <= 2 * SPAN && y >= 0 && y <= 2 * SPAN) seen[x][y]++;
	}
	for (int x = 0; x <= 2 * SPAN; x++)
		for (int y = 0; y <= 2 * SPAN; y++) {
			const double want = (double)draws *
			                    (double)gaussian_chance(x - SPAN, 0, variance) *
			                    (double)gaussian_chance(y - SPAN, 0, variance),
			             off = (double)seen[x][y] - want;
			sum += off * off / want;
		}
	/* 80 degrees of freedom: mean 80, standard deviation 12.6. */
	return (sum - 80.0) / sqrt(160.0);
}

static void drawn_counts_have_the_law(void **state) {
	(void)state;
	uint64_t seed = nightly_seed(49);
	const size_t draws = repetitions(100000, 1000000);
	assert_true(fabs(compare_law((struct dp_variance){4, 1}, 4.0, draws, &seed)) < 8);
	assert_true(compare_law((struct dp_variance){1, 1}, 4.0, draws, &seed) > 100);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* sigma of ten generations, delta 1e-6. */
static void vectors(void **state) {
	(void)state;
	static const struct {
		double epsilon, sigma;
	} rows[] = {{1, 14.327891}, {3, 5.197771}, {5, 3.285973}, {10, 1.802297}};
	for (size_t i = 0; i < 4; i++) {
		const double rho = dp_rho_of_epsilon(rows[i].epsilon, 1e-6);
		struct dp_variance v, twice;
		assert_int_equal(dp_votes_variance(1, 10, rho, &v), DP_OK);
		const double sigma = sqrt((double)v.num / v.den);
		assert_float_equal(sigma, rows[i].sigma, 5e-7);
		assert_true(dp_votes_rho(1, 10, v) <= rho);
		assert_true(dp_votes_rho(1, 10, v) > rho * (1 - 1e-6));
		assert_true(dp_epsilon_of_rho(dp_votes_rho(1, 10, v), 1e-6) <=
		            rows[i].epsilon * (1 + 1e-15));
		/* K neighbours: sigma sqrt(K) */
		assert_int_equal(dp_votes_variance(3, 10, rho, &twice), DP_OK);
		assert_float_equal(sqrt((double)twice.num / twice.den), sigma * sqrt(3), 1e-6);
	}
}

static void costs_are_rounded_up(void **state) {
	(void)state;
	uint64_t seed = 3;
	for (int i = 0; i < test_cases(20000); i++) {
		const uint64_t square = 1 + test_below(&seed, i % 2 ? 20 : (uint64_t)1 << 40);
		const uint32_t times = 1 + (uint32_t)test_below(&seed, 100);
		const double rho = exp(20.0 * (double)test_between(&seed, -1.0f, 0.5f));
		struct dp_variance v = {77, 77};
		if (dp_votes_variance(square, times, rho, &v) != DP_OK) {
			assert_true((double)square * times / rho / 2 > 4.2e9);
			assert_true(v.num == 77 && v.den == 77);
			continue;
		}
		const double told = dp_votes_rho(square, times, v);
		assert_true(told <= rho);
		/* told 2 num >= square times den, in integers that a long double holds */
		if (square < 1 << 20)
			assert_true((long double)told * 2.0L * v.num >=
			            (long double)(square * times) * v.den * (1.0L - 0x1p-62L));
		assert_true(told > rho * (1 - 1e-8) || v.num < 1 << 30);
	}
	assert_misuse((void)dp_votes_rho(0, 1, (struct dp_variance){1, 1}));
	assert_misuse((void)dp_votes_rho(1, 1, (struct dp_variance){1, 0}));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(votes_are_noise_and_records),
	    cmocka_unit_test(sums_are_clamped),
	    cmocka_unit_test(noise_is_first),
	    cmocka_unit_test(law_of_all_outcomes),
	    cmocka_unit_test(drawn_counts_have_the_law),
	    cmocka_unit_test(vectors),
	    cmocka_unit_test(costs_are_rounded_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
