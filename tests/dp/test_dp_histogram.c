// SPDX-License-Identifier: Apache-2.0
// Tests dp/histogram.c, the noisy counts of clusters, and dp/histogram_account.c, what they cost.
// Counts are compared with the noise that equal bits give; two worlds, a record in one of them
// null, are told apart no better than promised. The two-point formula is compared with an
// enumeration of all counts, and with vectors.
// It fails if a record of no cluster is counted, if data are looked at before all noise is drawn,
// if the noise is of another scale, or if a promise is below what its parts come to.
#include "tests/dp/test_dp_support.h"

#include <float.h>
#include <math.h>

#include "dp/amplify.h"
#include "dp/exact.h"
#include "dp/histogram.h"
#include "dp/histogram_account.h"
#include "dp/noise.h"
#include "dp/zcdp.h"

/* ---- counts ---------------------------------------------------------------------------------- */

enum { RECORDS = 300, CLUSTERS = 7 };

struct watched {
	uint64_t seed;
	size_t calls;
	size_t fails_at;   /* the call that fails, from 1; later ones succeed. 0: none */
	uint32_t *cluster; /* written at each call, where it is not NULL: to `becomes` */
	uint32_t becomes;
};

static enum dp_status watched_fill(void *user, void *bytes, size_t size) {
	struct watched *source = user;
	if (source->cluster) *source->cluster = source->becomes;
	if (++source->calls == source->fails_at) return DP_NO_ENTROPY;
	return test_fill(&source->seed, bytes, size);
}

/* Noise alone, of the same bits. */
static void noise_of(uint64_t seed, uint32_t clusters, uint32_t t, int64_t *noise) {
	const struct dp_random random = {test_fill, &seed};
	for (uint32_t c = 0; c < clusters; c++)
		assert_int_equal(dp_noise_laplace(t, &random, &noise[c]), DP_OK);
}

/* Random files: the counts are noise and records. Of a record that becomes null, or moves, nothing
 * changes but its count, and the same bits are taken. */
static void counts_are_noise_and_records(void **state) {
	(void)state;
	uint64_t seed = 1;
	for (int file = 0; file < test_cases(300); file++) {
		uint32_t cluster[RECORDS];
		int64_t noise[CLUSTERS], before[CLUSTERS], after[CLUSTERS];
		const uint32_t t = 1 + (uint32_t)test_below(&seed, 30);
		for (int i = 0; i < RECORDS; i++) {
			cluster[i] = (uint32_t)test_below(&seed, CLUSTERS + 1);
			if (cluster[i] == CLUSTERS) cluster[i] = DP_NO_CLUSTER;
		}
		const uint64_t bits = test_random(&seed);
		noise_of(bits, CLUSTERS, t, noise);
		struct watched source = {.seed = bits};
		const struct dp_random random = {watched_fill, &source};
		assert_int_equal(dp_histogram(cluster, RECORDS, CLUSTERS, t, &random, before),
		                 DP_OK);
		const size_t calls = source.calls;
		for (uint32_t c = 0; c < CLUSTERS; c++) {
			int64_t count = 0;
			for (int i = 0; i < RECORDS; i++) count += cluster[i] == c;
			assert_true(before[c] == noise[c] + count);
		}
		const size_t moved = test_below(&seed, RECORDS);
		const uint32_t was = cluster[moved];
		cluster[moved] = DP_NO_CLUSTER;
		source = (struct watched){.seed = bits};
		assert_int_equal(dp_histogram(cluster, RECORDS, CLUSTERS, t, &random, after),
		                 DP_OK);
		assert_int_equal(source.calls, calls);
		for (uint32_t c = 0; c < CLUSTERS; c++)
			assert_true(after[c] == before[c] - (c == was));
	}
	const uint32_t nobody[1] = {DP_NO_CLUSTER};
	int64_t noise[CLUSTERS], noisy[CLUSTERS];
	uint64_t again = 5;
	const struct dp_random random = {test_fill, &again};
	noise_of(5, CLUSTERS, 9, noise);
	assert_int_equal(dp_histogram(nobody, 1, CLUSTERS, 9, &random, noisy), DP_OK);
	assert_memory_equal(noisy, noise, sizeof noise);
	again = 5;
	assert_int_equal(dp_histogram(NULL, 0, CLUSTERS, 9, &random, noisy), DP_OK);
	assert_memory_equal(noisy, noise, sizeof noise);
}

/* A source that changes a record until its last call: what counts is what stands there then. */
static void noise_comes_first(void **state) {
	(void)state;
	uint32_t cluster[2] = {0, DP_NO_CLUSTER};
	int64_t noise[CLUSTERS], noisy[CLUSTERS];
	struct watched source = {.seed = 5, .cluster = cluster, .becomes = 3};
	const struct dp_random random = {watched_fill, &source};
	noise_of(5, CLUSTERS, 9, noise);
	assert_int_equal(dp_histogram(cluster, 2, CLUSTERS, 9, &random, noisy), DP_OK);
	for (int c = 0; c < CLUSTERS; c++) assert_true(noisy[c] == noise[c] + (c == 3));
	/* Wherever it fails, nothing is drawn, and no record is looked at: there is none. */
	for (size_t fails_at = 1; fails_at < 40; fails_at++) {
		source = (struct watched){.seed = 5, .fails_at = fails_at};
		for (int c = 0; c < CLUSTERS; c++) noisy[c] = 77;
		const enum dp_status status =
		    dp_histogram(NULL, 1000000, CLUSTERS, 9, &random, noisy);
		assert_int_equal(source.calls, fails_at);
		assert_int_equal(status, DP_NO_ENTROPY);
		for (int c = 0; c < CLUSTERS; c++) assert_true(noisy[c] == 0);
	}
	assert_misuse((void)dp_histogram(cluster, 2, 0, 9, &random, noisy));
	assert_misuse((void)dp_histogram(cluster, 2, DP_MOST_CLUSTERS + 1, 9, &random, noisy));
	assert_misuse((void)dp_histogram(cluster, 2, CLUSTERS, 0, &random, noisy));
	assert_misuse((void)dp_histogram(cluster, 2, CLUSTERS, DP_MOST_SCALE + 1, &random, noisy));
	cluster[1] = CLUSTERS;
	assert_misuse((void)dp_histogram(cluster, 2, CLUSTERS, 9, &random, noisy));
}

/* Whether two worlds of scale 1 show more than a loss of 1: one record of cluster 0 among others,
 * and the same record as `null` has it. */
static bool tells_worlds_apart(uint32_t null, uint64_t *seed, size_t draws) {
	const struct dp_random random = {test_fill, seed};
	size_t seen[2] = {0, 0};
	for (size_t i = 0; i < draws; i++)
		for (int world = 0; world < 2; world++) {
			const uint32_t cluster[3] = {1, world ? null : 0, 0};
			int64_t noisy[2];
			assert_int_equal(dp_histogram(cluster, 3, 2, 1, &random, noisy), DP_OK);
			seen[world] += noisy[0] >= 2 && noisy[1] <= 1;
		}
	return proportion_above(seen[0], draws, FALSE_ALARM / 2) >
	       exp(1.0) * proportion_below(seen[1], draws, FALSE_ALARM / 2);
}

/* The event is attained: its odds are e^1. A null that has a cluster of its own shows e^2. */
static void two_worlds(void **state) {
	(void)state;
	uint64_t seed = nightly_seed(41);
	const size_t draws = repetitions(100000, 1000000);
	assert_false(tells_worlds_apart(DP_NO_CLUSTER, &seed, draws));
	assert_true(tells_worlds_apart(1, &seed, draws));
}

/* ---- the two-point formula ------------------------------------------------------------------- */

/* Randomised response of *user: the truth with chance e^x / (1 + e^x). */
static double response_profile(const void *user, double epsilon) {
	const double x = *(const double *)user, truth = 1.0 / (1.0 + exp(-x));
	return fmax(truth - exp(epsilon) * (1.0 - truth), 0.0) +
	       fmax(1.0 - truth - exp(epsilon) * truth, 0.0);
}

/* delta of the count and then the response, over all outcomes, one way or the other. */
static double enumerate_response(uint32_t t, double x, double epsilon, bool forward) {
	const long double r = expl(-1.0L / t), truth = 1.0L / (1.0L + expl(-(long double)x));
	long double delta = 0.0L;
	for (int count = -400 * (int)t; count <= 400 * (int)t; count++)
		for (int said = 0; said < 2; said++) {
			const long double scale = (1.0L - r) / (1.0L + r),
			                  with = scale * powl(r, abs(count - 1)) *
			                         (said ? truth : 1.0L - truth),
			                  without = scale * powl(r, abs(count)) *
			                            (said ? 1.0L - truth : truth),
			                  more = forward
			                             ? with - expl((long double)epsilon) * without
			                             : without - expl((long double)epsilon) * with;
			if (more > 0.0L) delta += more;
		}
	return (double)delta;
}

static void two_points_are_the_joint_law(void **state) {
	(void)state;
	double x = 0.3, delta = 17.0;
	assert_int_equal(dp_two_point(9, response_profile, &x, 0.25, &delta), DP_OK);
	assert_float_equal(delta, .0451112073405589, 1e-15);
	static const uint32_t scales[] = {1, 5, 9, 25};
	for (int i = 0; i < 4; i++)
		for (int j = 1; j <= 8; j++) {
			const uint32_t t = scales[i];
			const double epsilon = 1.0 / t + 0.13 * j;
			x = 0.25 * (9 - j);
			assert_int_equal(dp_two_point(t, response_profile, &x, epsilon, &delta),
			                 DP_OK);
			/* Here the formula is met in both directions: the response is symmetric. */
			for (int forward = 0; forward < 2; forward++) {
				const double want = enumerate_response(t, x, epsilon, forward);
				assert_true(delta >= want * (1.0 - 1e-12) - 1e-16);
				assert_float_equal(delta, want, 1e-12);
			}
		}
	delta = 17.0;
	x = 0.3;
	assert_int_equal(dp_two_point(4, response_profile, &x, 0.25, &delta), DP_BAD_PARAMETER);
	assert_int_equal(dp_two_point(9, response_profile, &x, 0.1, &delta), DP_BAD_PARAMETER);
	assert_true(delta == 17.0);
	assert_misuse((void)dp_two_point(0, response_profile, &x, 0.25, &delta));
	assert_misuse((void)dp_two_point(9, response_profile, &x, -1.0, &delta));
}

/* Reads the profile where it is told to, and keeps where that was. */
struct reads {
	double at[2];
	int count;
};
static double counting_profile(const void *user, double epsilon) {
	struct reads *reads = (struct reads *)(uintptr_t)user;
	reads->at[reads->count++] = epsilon;
	return 1.0;
}

/* Where it reads is never right of the real numbers; the chances are never too small. */
static void rounding_is_up(void **state) {
	(void)state;
	uint64_t seed = 43;
	for (int i = 0; i < 10000; i++) {
		const uint32_t t = 1 + (uint32_t)test_below(&seed, 100);
		const double above = exp(20.0 * (double)test_between(&seed, -1.0f, 0.3f)),
		             epsilon = 1.0 / t + above;
		struct reads reads = {{0, 0}, 0};
		double delta = 0.0;
		const enum dp_status status =
		    dp_two_point(t, counting_profile, &reads, epsilon, &delta);
		/* e t - 1 and e t + 1 over t, exactly: long double has 11 bits more than e. */
		if (status != DP_OK) {
			assert_true(above < 1e-12 * epsilon + 1e-15);
			continue;
		}
		const long double wide = (long double)epsilon * t;
		assert_true((long double)reads.at[0] * t <= wide - 1.0L);
		assert_true((long double)reads.at[1] * t <= wide + 1.0L);
		assert_true((long double)reads.at[0] * t >= (wide - 1.0L) - 1e-14L * (wide + 1.0L));
		assert_true((long double)reads.at[1] * t >= (wide + 1.0L) * (1.0L - 1e-14L));
		assert_true(delta == 1.0); /* p + (1 - p), and never above it */
	}
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void scales(void **state) {
	(void)state;
	static const struct {
		double epsilon;
		uint32_t t;
	} rows[] = {{1, 25}, {3, 9}, {10, 5}, {100, 5}, {0.5, 50}, {2.5, 10}, {2.49, 11}};
	uint32_t t = 17;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(dp_histogram_scale(rows[i].epsilon, &t), DP_OK);
		assert_int_equal(t, rows[i].t);
	}
	assert_int_equal(dp_histogram_scale(1e-5, &t), DP_BAD_PARAMETER);
	assert_int_equal(dp_histogram_scale(1e-300, &t), DP_BAD_PARAMETER);
	assert_int_equal(t, 11);
	assert_float_equal(dp_histogram_rho(9), 1.0 / 162.0, 1e-17);
	assert_true((long double)dp_histogram_rho(9) * 162.0L >= 1.0L);
}

/* 100 tokens of eta 0.1. */
static struct dp_claim claim_of(double eta) {
	return (struct dp_claim){.null = DP_NULL_IS_NOTHING, .units = 100, .eta = (long double)eta};
}

static double run_delta(struct dp_histogram_terms terms, double eta, double epsilon) {
	const struct dp_claim claim = claim_of(eta);
	double delta = 17.0;
	assert_int_equal(dp_histogram_delta(&terms, &claim, epsilon, &delta), DP_OK);
	return delta;
}

static void vectors(void **state) {
	(void)state;
	const struct dp_histogram_terms terms = {
	    .accountant = DP_EXACT, .grid = 64, .q = 0.25L, .t = 10};
	double delta = 17.0;
	assert_int_equal(dp_exact_delta(0.1, 100, 1.0, 64, &delta), DP_OK);
	assert_true(delta >= 6.9769009817e-03 * (1 - 1e-10) && delta < 6.9769009817e-03 * 1.001);
	/* q V(ln(1 + (e^.8 - 1) / q)), without and with the counts */
	const double batch = dp_batch_epsilon(0.8, 0.25L);
	assert_int_equal(dp_exact_delta(0.1, 100, batch, 64, &delta), DP_OK);
	delta = dp_run_delta(delta, 0.25L);
	assert_true(delta >= 1.4316260541e-05 * (1 - 1e-10) && delta < 1.4316260541e-05 * 1.001);
	delta = run_delta(terms, 0.1, 0.8);
	assert_true(delta >= 2.5451790740e-05 * (1 - 1e-10) && delta < 2.5451790740e-05 * 1.001);
}

/* epsilon and delta are each other's answers; the counts cost something, and less than 1/t. */
static void epsilons_and_deltas(void **state) {
	(void)state;
	static const double shares[] = {1.0, 0.5, 0.1}, etas[] = {0.02, 0.1, 0.3};
	static const uint32_t scale[] = {5, 25, 200};
	for (int i = 0; i < 2 * 3 * 3 * 3; i++) {
		const struct dp_histogram_terms terms = {.accountant = i % 2 ? DP_EXACT : DP_ZCDP,
		                                         .grid = 16,
		                                         .q = (long double)shares[i / 2 % 3],
		                                         .t = scale[i / 6 % 3]};
		const double eta = etas[i / 18], delta = i % 3 ? 1e-6 : 1e-3,
		             batch_delta = dp_batch_delta(delta, terms.q);
		const struct dp_claim claim = claim_of(eta);
		double epsilon = 17.0, alone = 17.0;
		if (briefly() && i % 5) continue;
		assert_int_equal(dp_histogram_epsilon(&terms, &claim, delta, &epsilon), DP_OK);
		assert_true(epsilon > 1.0 / terms.t);
		assert_true(run_delta(terms, eta, epsilon) <= delta * (1.0 + 1e-9));
		const double less = epsilon * (1.0 - 1e-7);
		if (less > 1.0 / terms.t * (1.0 + 1e-6))
			assert_true(run_delta(terms, eta, less) > delta);
		if (terms.accountant == DP_ZCDP) alone = dp_claim_epsilon(&claim, batch_delta);
		else assert_int_equal(dp_exact_epsilon(eta, 100, batch_delta, 16, &alone), DP_OK);
		alone = dp_run_epsilon(alone, terms.q);
		/* The accountant is told other windows, which move its answer by that much. */
		assert_true(epsilon > alone * (1.0 - 1e-9));
		assert_true(epsilon < alone + 1.0 / terms.t + 1e-9);
	}
	const struct dp_histogram_terms half = {.accountant = DP_EXACT, .q = 0.5L, .t = 9};
	const struct dp_claim claim = claim_of(0.1);
	double answer = 17.0;
	assert_int_equal(dp_histogram_epsilon(&half, &claim, 0.51, &answer), DP_BAD_PARAMETER);
	assert_int_equal(dp_histogram_delta(&half, &claim, 1.0 / 9.0, &answer), DP_BAD_PARAMETER);
	const struct dp_claim long_text = {.units = 40000, .eta = 0.01L},
	                      wide = {.units = 100, .eta = 1e200L};
	assert_int_equal(dp_histogram_epsilon(&half, &long_text, 1e-6, &answer), DP_BAD_PARAMETER);
	assert_int_equal(dp_histogram_delta(&half, &wide, 1.0, &answer), DP_BAD_PARAMETER);
	assert_int_equal(dp_histogram_epsilon(&half, &wide, 1e-6, &answer), DP_BAD_PARAMETER);
	assert_true(answer == 17.0);
	/* A delta so large that 1/t alone is nearly enough. */
	const struct dp_histogram_terms all = {.accountant = DP_EXACT, .q = 1.0L, .t = 9};
	assert_int_equal(dp_histogram_epsilon(&all, &claim, 0.9, &answer), DP_OK);
	assert_true(answer > 1.0 / 9.0 && answer < 1.0 / 9.0 * (1.0 + 1e-6));
}

/* What the counts cost of the clip, in percent. */
static void the_clip_costs(void **state) {
	(void)state;
	static const struct {
		double epsilon, percent;
		long double q;
	} rows[] = {{1, 1.34, 1},  {3, 1.36, 1},  {10, .57, 1},
	            {1, .36, .1L}, {3, .49, .1L}, {10, .35, .1L}};
	for (int i = 0; i < 6; i++) {
		const long double q = rows[i].q;
		/* A large temperature makes fine integers: one of them is 10^-5 of the clip. */
		struct dp_integers plain = {
		    .batch = 1, .tokens = 100, .temperature_num = 1000, .temperature_den = 1};
		struct dp_histogram_terms terms = {.accountant = DP_EXACT, .q = q};
		if (briefly() && i != 1) continue;
		assert_int_equal(dp_histogram_scale(rows[i].epsilon, &terms.t), DP_OK);
		assert_int_equal(dp_calibrate_exact(&plain, dp_batch_epsilon(rows[i].epsilon, q),
		                                    dp_batch_delta(1e-6, q), NULL),
		                 DP_OK);
		struct dp_integers lowered = plain;
		assert_int_equal(dp_histogram_lower(&terms, rows[i].epsilon, 1e-6, &lowered),
		                 DP_OK);
		const double cost = 100.0 * (1.0 - (double)lowered.clip_fixed / plain.clip_fixed);
		if (fabs(cost - rows[i].percent) > 0.011)
			fail_msg("epsilon %g: %.4f %%, not %g", rows[i].epsilon, cost,
			         rows[i].percent);
		/* The clip is within, and two parts in 10^5 more are not. */
		for (int more = 0; more < 2; more++) {
			lowered.clip_fixed += more ? 2 + lowered.clip_fixed / 50000 : 0;
			const struct dp_claim claim = dp_integers_claim(&lowered);
			double delta = 17.0;
			assert_int_equal(
			    dp_histogram_delta(&terms, &claim, rows[i].epsilon, &delta), DP_OK);
			assert_int_equal(delta <= 1e-6, !more);
		}
	}
}

/* Coarse integers, zCDP, clips that are within already, and clips that no weights hold. */
static void lowered_clips(void **state) {
	(void)state;
	uint64_t seed = 47;
	for (int i = 0; i < test_cases(200); i++) {
		struct dp_integers n = {.batch = 1 + (uint32_t)test_below(&seed, 60),
		                        .tokens = 1 + (uint32_t)test_below(&seed, 40),
		                        .temperature_num = 6,
		                        .temperature_den = 5,
		                        .gain = 100 + 50 * (unsigned)test_below(&seed, 3)};
		const double epsilon = exp((double)test_between(&seed, 0.0f, 2.3f)),
		             delta = exp((double)test_between(&seed, -20.0f, -4.0f));
		struct dp_histogram_terms terms = {.accountant = DP_ZCDP, .q = 0.25L};
		assert_int_equal(dp_histogram_scale(epsilon, &terms.t), DP_OK);
		assert_int_equal(dp_calibrate(&n, dp_batch_epsilon(epsilon, terms.q),
		                              dp_batch_delta(delta, terms.q), NULL),
		                 DP_OK);
		const struct dp_integers before = n;
		assert_int_equal(dp_histogram_lower(&terms, epsilon, delta, &n), DP_OK);
		assert_true(n.clip_fixed >= 1 && n.clip_fixed <= before.clip_fixed);
		struct dp_claim claim = dp_integers_claim(&n);
		double reached = 17.0;
		assert_int_equal(dp_histogram_delta(&terms, &claim, epsilon, &reached), DP_OK);
		assert_true(reached <= delta);
		/* Where it was within already, it stays. */
		struct dp_integers again = n;
		assert_int_equal(dp_histogram_lower(&terms, epsilon, delta, &again), DP_OK);
		assert_int_equal(again.clip_fixed, n.clip_fixed);
		if (n.clip_fixed == before.clip_fixed) continue;
		n.clip_fixed += 1 + n.clip_fixed / 20000;
		claim = dp_integers_claim(&n);
		assert_int_equal(dp_histogram_delta(&terms, &claim, epsilon, &reached), DP_OK);
		assert_true(reached > delta);
	}
	struct dp_histogram_terms terms = {.accountant = DP_EXACT, .q = 1.0L, .t = 9};
	struct dp_integers n = {.batch = 1,
	                        .tokens = 1,
	                        .clip_fixed = 1,
	                        .temperature_num = 1,
	                        .temperature_den = 1000};
	const struct dp_integers unchanged = n;
	assert_int_equal(dp_histogram_lower(&terms, 0.12, 1e-9, &n), DP_BAD_PARAMETER);
	n.tokens = 1 << 16;
	assert_int_equal(dp_histogram_lower(&terms, 0.12, 1e-9, &n), DP_BAD_PARAMETER);
	n.tokens = 1;
	assert_memory_equal(&n, &unchanged, sizeof n);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(counts_are_noise_and_records),
	                                   cmocka_unit_test(noise_comes_first),
	                                   cmocka_unit_test(two_worlds),
	                                   cmocka_unit_test(two_points_are_the_joint_law),
	                                   cmocka_unit_test(rounding_is_up),
	                                   cmocka_unit_test(scales),
	                                   cmocka_unit_test(vectors),
	                                   cmocka_unit_test(epsilons_and_deltas),
	                                   cmocka_unit_test(the_clip_costs),
	                                   cmocka_unit_test(lowered_clips)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
