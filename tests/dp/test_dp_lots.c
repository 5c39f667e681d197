// SPDX-License-Identifier: Apache-2.0
// Tests the mechanism with lots: the theorem of dp/PRIVACY.md, step 39, by enumeration through
// dp_invisibleink, and sums of more rows than B. It fails if a run costs more than q of a batch, in
// either direction, if S is not clamped, or is clamped before all rows are in.
#include "tests/dp/test_dp_support.h"

#include <math.h>

#include "dp/amplify.h"
#include "dp/invisibleink.h"

/* ---- the theorem, by enumeration ------------------------------------------------------------- */

/* 4 records, 3 batches, 2 of them used, 2 tokens of a vocabulary of 2, B = 2. */
enum { R = 4, M = 3, USED = 2, T = 2, B = 2, PASTS = 4, RUNS = PASTS * PASTS };

/* Each record lifts or lowers token 1 by Chat: C/tau is 0.8 and a record moves ln E by 0.4. */
static struct dp_invisibleink *make_toy(uint64_t *seed) {
	const struct dp_invisibleink_params params = {.batch = B,
	                                              .rows = R,
	                                              .tokens = T,
	                                              .vocab = 2,
	                                              .temperature_num = 5,
	                                              .temperature_den = 4,
	                                              .clip_fixed = 1024,
	                                              .fraction_bits = 10,
	                                              .random = {test_fill, seed}};
	struct dp_invisibleink *m = NULL;
	assert_int_equal(dp_invisibleink_new(&params, &m), DP_OK);
	return m;
}

/* Whether record r lifts token 1, after `count` tokens of which `ones` were 1: an adversary's
 * choice that depends on the past. */
static int script(int r, int count, int ones) {
	static const int others[] = {1, -1, 1, 1};
	return r == 0 ? (ones % 2 ? -1 : 1) : others[(r + count) % 4];
}

/* The law of a batch's two tokens, given the set of records whose rows it has. */
static void batch_law(struct dp_invisibleink *m, unsigned rows, double law[PASTS]) {
	static const float public[] = {0, 0};
	for (int y = 0; y < PASTS; y++) {
		law[y] = 1;
		for (int t = 0; t < T; t++) {
			const int first = y / 2, ones = t ? first : 0, token = t ? y % 2 : first;
			const uint32_t *candidates;
			size_t count;
			uint32_t drawn;
			dp_invisibleink_begin(m, 0);
			assert_int_equal(dp_invisibleink_public(m, public, &candidates, &count),
			                 DP_OK);
			for (int r = 0; r < R; r++) {
				const float row[] = {0, (float)script(r, t, ones)};
				if (rows >> r & 1) dp_invisibleink_private(m, row);
			}
			const double w0 = (double)dp_invisibleink_public_weight(m, 0) *
			                  (double)dp_invisibleink_private_weight(m, 0),
			             w1 = (double)dp_invisibleink_public_weight(m, 1) *
			                  (double)dp_invisibleink_private_weight(m, 1);
			law[y] *= (token ? w1 : w0) / (w0 + w1);
			assert_int_equal(dp_invisibleink_draw(m, &drawn), DP_OK);
		}
	}
}

/* The law of both texts where record i has lot lots[i]; record 0 is null or not. */
static void run_law(const double batches[1 << R][PASTS], const int lots[R], bool null,
                    double law[RUNS]) {
	unsigned rows[M] = {0};
	for (int i = null ? 1 : 0; i < R; i++) rows[lots[i]] |= 1u << i;
	for (int o = 0; o < RUNS; o++)
		law[o] = batches[rows[0]][o / PASTS] * batches[rows[1]][o % PASTS];
}

static double hockey_stick(const double *p, const double *q, double factor) {
	double sum = 0;
	for (int o = 0; o < RUNS; o++) sum += fmax(0, p[o] - factor * q[o]);
	return sum;
}

static void lots_of_number(int number, int lots[R]) {
	for (int i = 0; i < R; i++, number /= M) lots[i] = number % M;
}

static void the_theorem(void **state) {
	(void)state;
	enum { ALL = M * M * M * M };
	static const double epsilons[] = {0.2, 0.4, 0.7};
	static double batches[1 << R][PASTS], full[RUNS], null[RUNS];
	uint64_t seed = 1;
	struct dp_invisibleink *m = make_toy(&seed);
	for (unsigned rows = 0; rows < 1 << R; rows++) batch_law(m, rows, batches[rows]);
	dp_invisibleink_free(&m);
	memset(full, 0, sizeof full);
	memset(null, 0, sizeof null);
	double worst[3] = {0};
	for (int number = 0; number < ALL; number++) {
		int lots[R];
		double p[RUNS], p0[RUNS];
		lots_of_number(number, lots);
		run_law(batches, lots, false, p);
		run_law(batches, lots, true, p0);
		for (int o = 0; o < RUNS; o++) {
			full[o] += p[o] / ALL;
			null[o] += p0[o] / ALL;
		}
		for (int e = 0; e < 3 && lots[0] < USED; e++) {
			const double factor = exp(epsilons[e]);
			worst[e] = fmax(worst[e], fmax(hockey_stick(p, p0, factor),
			                               hockey_stick(p0, p, factor)));
		}
	}
	const long double q = (long double)USED / M;
	for (int e = 0; e < 3; e++) {
		const double factor = exp(dp_run_epsilon(epsilons[e], q)),
		             most = (double)q * worst[e] + 1e-12;
		assert_true(hockey_stick(full, null, factor) <= most);
		assert_true(hockey_stick(null, full, factor) <= most);
	}
	// The same numbers as by a toy in 40 digits.
	const double factor = exp(dp_run_epsilon(0.2, q));
	assert_true(fabs(hockey_stick(full, null, factor) - .00670554648274707) < 1e-9);
	assert_true(fabs(hockey_stick(null, full, factor) - .00539921251605734) < 1e-9);
	assert_true(fabs((double)q * worst[0] - .0355274258026402) < 1e-9);
}

/* Randomised response attains the bound: nothing is given away. */
static void the_bound_is_attained(void **state) {
	(void)state;
	const double e = exp(2), high = e / (1 + e), low = 1 - high, q = 0.25,
	             mixed = (1 - q) * low + q * high;
	assert_true(fabs(mixed / low - 2.59726402473266) < 1e-13);
	assert_true(fabs(exp(dp_run_epsilon(2, 0.25L)) - mixed / low) < 1e-13);
}

/* ---- more rows than B ------------------------------------------------------------------------ */

static void refusals(void **state) {
	(void)state;
	uint64_t seed = 2;
	struct dp_invisibleink_params params = {.batch = 2,
	                                        .rows = 1 << 10,
	                                        .tokens = 1,
	                                        .vocab = 2,
	                                        .temperature_num = 100,
	                                        .temperature_den = 1,
	                                        .clip_fixed = 1 << 20,
	                                        .fraction_bits = 16,
	                                        .random = {test_fill, &seed}};
	struct dp_invisibleink *m = NULL;
	// 2^30 is the most that all rows may add up to.
	assert_int_equal(dp_invisibleink_new(&params, &m), DP_OK);
	dp_invisibleink_free(&m);
	params.rows++;
	assert_int_equal(dp_invisibleink_new(&params, &m), DP_BAD_PARAMETER);
	m = make_toy(&seed);
	static const float public[] = {0, 0}, row[] = {0, 1};
	const uint32_t *candidates;
	size_t count;
	dp_invisibleink_begin(m, 0);
	assert_int_equal(dp_invisibleink_public(m, public, &candidates, &count), DP_OK);
	for (int i = 0; i < R; i++) dp_invisibleink_private(m, row);
	assert_misuse(dp_invisibleink_private(m, row));
	dp_invisibleink_free(&m);
}

/* Rows of one sign beyond B, then of the other: the sum is clamped when all are in, to both ends.
 * Without a row S moves by at most Chat. */
static void clamped_once(void **state) {
	(void)state;
	static const unsigned gains[] = {100, 150, 200, 300};
	enum { ROWS = 9, LIMIT = 3 };
	uint64_t seed = 3;
	static const float public[] = {0, 0};
	for (size_t g = 0; g < sizeof gains / sizeof *gains; g++) {
		const int32_t clip = 60;
		const struct dp_invisibleink_params params = {.batch = LIMIT,
		                                              .rows = ROWS,
		                                              .tokens = 1,
		                                              .vocab = 2,
		                                              .temperature_num = 1,
		                                              .temperature_den = 1,
		                                              .clip_fixed = clip,
		                                              .fraction_bits = 8,
		                                              .gain = gains[g],
		                                              .random = {test_fill, &seed}};
		struct dp_invisibleink *m = NULL;
		assert_int_equal(dp_invisibleink_new(&params, &m), DP_OK);
		for (int n = 0; n < test_cases(2000); n++) {
			int32_t sums[2], plain = 0;
			float rows[ROWS][2];
			const size_t count = 1 + test_below(&seed, ROWS),
			             nulled = test_below(&seed, count);
			for (size_t i = 0; i < count; i++) {
				const int sign = test_below(&seed, 8) < 6 ? 1 : -1;
				rows[i][0] = 0;
				rows[i][1] =
				    (float)(n % 2 ? sign : -sign) * test_between(&seed, 0.1f, 0.4f);
				plain += (int32_t)lrintf(
				    fminf(fmaxf(rows[i][1] * 256, (float)-clip), (float)clip));
			}
			for (int null = 0; null < 2; null++) {
				const uint32_t *candidates;
				size_t found;
				uint32_t token;
				dp_invisibleink_begin(m, 0);
				assert_int_equal(
				    dp_invisibleink_public(m, public, &candidates, &found), DP_OK);
				for (size_t i = 0; i < count; i++)
					if (!null || i != nulled)
						dp_invisibleink_private(m, rows[i]);
				sums[null] = dp_invisibleink_sum(m, 1);
				const unsigned __int128 weight =
				    dp_invisibleink_private_weight(m, 1);
				assert_true(weight > 0);
				assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
			}
			const int32_t most = LIMIT * clip;
			assert_int_equal(sums[0], plain < -most  ? -most
			                          : plain > most ? most
			                                         : plain);
			assert_true(abs(sums[0] - sums[1]) <= clip);
		}
		dp_invisibleink_free(&m);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_theorem),
	    cmocka_unit_test(the_bound_is_attained),
	    cmocka_unit_test(refusals),
	    cmocka_unit_test(clamped_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
