// SPDX-License-Identifier: Apache-2.0
// Tests dp/rank_table.c, the integers of the word mechanism, dp/rank_account.c and the public
// numbers of dp/rank.c. Vectors were computed with mpmath at 50 digits and more; the rest is
// compared with plain definitions, with 256-bit cross products and with random exponential
// mechanisms. It fails if one integer is off by one, if the check passes a table above its bound,
// if a number told is below the exact one, or if an exponential mechanism gives k words more than
// the envelope.
#include "tests/dp/test_dp_support.h"

#include <math.h>
#include <stdio.h>

#include "dp/draw.h"
#include "dp/rank.h"
#include "dp/rank_account.h"
#include "dp/zcdp.h"

#define MILLION 1000000

static struct dp_wide from_decimal(const char *digits) {
	struct dp_wide value = {0, 0};
	for (; *digits; digits++)
		value = dp_wide_sum(dp_wide_times(value, 10),
		                    (struct dp_wide){(unsigned)(*digits - '0'), 0});
	return value;
}

static bool same_wide(struct dp_wide a, struct dp_wide b) {
	return !dp_wide_less(a, b) && !dp_wide_less(b, a);
}

static struct dp_rank *made(enum dp_rank_shape shape, uint32_t words, uint32_t near,
                            uint32_t epsilon) {
	static uint64_t seed = 11;
	const struct dp_rank_params params = {.shape = shape,
	                                      .words = words,
	                                      .near = near,
	                                      .epsilon_millionths = epsilon,
	                                      .random = {test_fill, &seed}};
	struct dp_rank *m;
	assert_int_equal(dp_rank_new(&params, &m), DP_OK);
	return m;
}

/* ---- wide integers --------------------------------------------------------------------------- */

static void quotients(void **state) {
	(void)state;
	uint64_t seed = 1;
	for (int i = 0; i < test_cases(20000); i++) {
		/* a = b q + r with r < b, and all of it below 2^256 */
		const unsigned width = (unsigned)test_below(&seed, 64);
		const uint64_t q = test_random(&seed) >> width;
		struct dp_wide b = {(unsigned __int128)test_random(&seed) << 64 |
		                        test_random(&seed),
		                    test_random(&seed) >> 1};
		if (i % 3 == 0) b.high = 0;
		if (i % 3 == 1) b = (struct dp_wide){test_random(&seed) >> width, 0};
		b.low |= 1;
		struct dp_wide r =
		    i % 2 ? (struct dp_wide){b.low - 1, b.high} : (struct dp_wide){0, 0};
		const struct dp_wide a = dp_wide_sum(dp_wide_times(b, q), r);
		assert_true(same_wide(dp_wide_quotient(a, b), (struct dp_wide){q, 0}));
		/* And the other way round: a long quotient, a short divisor. */
		const struct dp_wide d = {(q >> 1) + 1, 0};
		assert_true(same_wide(dp_wide_quotient(dp_wide_times(b, (uint64_t)d.low), d), b));
	}
}

/* ---- the bound ------------------------------------------------------------------------------- */

/* floor(2^40 e^(millionths / 10^6)) */
static const struct {
	uint32_t millionths;
	const char *floor;
} bounds[] = {
    {1, "1099512727288"},
    {2, "1099513826801"},
    {500000, "1812788208096"},
    {1000000, "2988782477962"},
    {2000000, "8124353099063"},
    {6000000, "443574649424904"},
    {12000000, "178950785641452357"},
    {31415926, "48413126737750535177373671"},
    {40000000, "258808837894459955052883798197"},
    {63999999, "6855612059653723585242005847931574619500"},
    {64000000, "6855618915269211046138020247322890433888"},
};

static void bound_is_the_floor(void **state) {
	(void)state;
	for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
		assert_true(
		    same_wide(dp_rank_bound(bounds[i].millionths), from_decimal(bounds[i].floor)));
	assert_misuse((void)dp_rank_bound(0));
	assert_misuse((void)dp_rank_bound(DP_RANK_MOST_EPSILON + 1));
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void toy_tables(void **state) {
	(void)state;
	static const uint64_t step[5] = {8124353099063, 8124353099063, 1099511627776, 1099511627776,
	                                 1099511627776},
	                      envelope[5] = {5282034273093, 3130441781685, 2071049743419,
	                                     1471604113655, 1099511627776};
	static const uint64_t totals[2] = {19547241081454, 13054641539628};
	static const size_t ranks[2][5] = {{0, 0, 1, 1, 4}, {0, 0, 1, 2, 4}};
	static const double nearest[2] = {.415626587159, .404609675192},
	                    farthest[2] = {.0562489418939, .0842238084009},
	                    worst[2] = {1.99999999999995, 1.56944519604},
	                    of_null[2] = {1.26853013642, .864839725163};
	for (int shape = 0; shape < 2; shape++) {
		struct dp_rank *m =
		    made(shape ? DP_RANK_ENVELOPE : DP_RANK_STEP, 5, 2, 2 * MILLION);
		const struct dp_wide *e = dp_rank_table(m);
		const uint64_t *want = shape ? envelope : step, w = totals[shape];
		for (int r = 0; r < 5; r++)
			assert_true(same_wide(e[r], (struct dp_wide){want[r], 0}));
		const uint64_t u[5] = {0, w / 4, w / 2, w / 4 * 3 + w % 4 * 3 / 4, w - 1};
		for (int i = 0; i < 5; i++)
			assert_int_equal(dp_pick(e, 5, (struct dp_wide){u[i], 0}), ranks[shape][i]);
		assert_float_equal(dp_rank_share(m, 1), nearest[shape], 1e-12);
		assert_float_equal(1.0 - dp_rank_share(m, 4), farthest[shape], 1e-12);
		assert_float_equal(log((double)want[0] / (double)want[4]), worst[shape], 1e-11);
		const double most = (double)want[0] * 5 / (double)w,
		             least = (double)w / 5 / (double)want[4];
		assert_float_equal(log(fmax(most, least)), of_null[shape], 1e-11);
		struct dp_rank_receipt receipt;
		char text[DP_RANK_DIGITS];
		dp_rank_describe(m, &receipt);
		snprintf(text, sizeof text, "%llu", (unsigned long long)want[0]);
		assert_string_equal(receipt.first, text);
		assert_string_equal(receipt.last, "1099511627776");
		snprintf(text, sizeof text, "%llu", (unsigned long long)w);
		assert_string_equal(receipt.total, text);
		dp_rank_free(&m);
		assert_null(m);
	}
}

static void large_tables(void **state) {
	(void)state;
	static const struct {
		uint32_t words;
		uint32_t epsilon;
		uint32_t near;
		const char *first;
		const char *total;
		double step;
		double envelope;
	} rows[] = {
	    {11000, 6, 20, "443574649424904", "20944130661478560", .423578955454807,
	     .0352944076417},
	    {11000, 10, 10, "24218355260200318", "254267185391261420", .952476632914058,
	     .118976746413},
	    {4096, 3, 64, "22084281397169", "5846624892611648", .241745286448069, .0664134098017},
	    {50000, 12, 8, "178950785641452357", "1486573070427396648", .963024498163434,
	     .0606438349084},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const uint32_t words = rows[i].words, epsilon = rows[i].epsilon * MILLION;
		struct dp_rank *m = made(DP_RANK_STEP, words, rows[i].near, epsilon);
		struct dp_rank_receipt receipt;
		dp_rank_describe(m, &receipt);
		assert_string_equal(receipt.first, rows[i].first);
		assert_string_equal(receipt.last, "1099511627776");
		assert_string_equal(receipt.total, rows[i].total);
		assert_float_equal(dp_rank_share(m, rows[i].near), rows[i].step, 1e-14);
		dp_rank_free(&m);
		if (briefly() && words > 5000) continue;
		m = made(DP_RANK_ENVELOPE, words, 0, epsilon);
		assert_float_equal(dp_rank_share(m, rows[i].near), rows[i].envelope, 1e-12);
		dp_rank_free(&m);
	}
}

/* The definitions of rank_table.h, apart from the code: E falls, never below 1, and E[0] / E[V-1]
 * is at most e^epsilon. A long double holds 64 bits of each, so its logarithm is good to 1e-16. An
 * envelope's entries and shares are those of the formula. */
static void follow_the_definition(const struct dp_rank *m, enum dp_rank_shape shape, uint32_t words,
                                  uint32_t near, uint32_t epsilon) {
	const struct dp_wide *e = dp_rank_table(m), bound = dp_rank_bound(epsilon);
	const long double nats = (long double)epsilon / MILLION;
	for (uint32_t r = 0; r + 1 < words; r++) assert_false(dp_wide_less(e[r], e[r + 1]));
	assert_true(same_wide(e[words - 1], (struct dp_wide){(uint64_t)1 << 40, 0}));
	assert_false(dp_wide_less(bound, e[0]));
	const long double first = ldexpl((long double)e[0].high, 128) + (long double)e[0].low;
	assert_true(logl(first) - 40.0L * logl(2.0L) <= nats + 1e-16L);
	if (shape == DP_RANK_STEP) {
		assert_true(same_wide(e[near - 1], bound));
		assert_true(same_wide(e[near], e[words - 1]));
		return;
	}
	const long double q1 = expm1l(nats / 2.0L), v = words;
	for (uint32_t i = 0; i < 20; i++) {
		const uint32_t r = 1 + (uint32_t)((uint64_t)(words - 1) * i / 19);
		const long double want = ldexpl((v + v * q1) / (v + r * q1) *
		                                    ((v + (v - 1) * q1) / (v + (r - 1) * q1)),
		                                40),
		                  have = ldexpl((long double)e[r - 1].high, 128) +
		                         (long double)e[r - 1].low;
		assert_true(fabsl(have - want) <= 0.51L + 1e-13L * want);
		const double share = (double)(r * (q1 + 1.0L) / (r * (q1 + 1.0L) + v - r));
		assert_float_equal(dp_rank_share(m, r), share, 1e-11);
	}
}

static void grid_of_tables(void **state) {
	(void)state;
	static const uint32_t sizes[] = {2, 3, 5, 64, 1000, 30000, DP_RANK_MOST_WORDS};
	static const uint32_t epsilons[] = {1,        2,        1000,    500000,  1000000,
	                                    1999999,  2000000,  6000000, 9876543, 20000000,
	                                    44444444, 63999999, 64000000};
	uint32_t tables = 0;
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (size_t p = 0; p < sizeof epsilons / sizeof *epsilons; p++) {
			const uint32_t v = sizes[s], epsilon = epsilons[p];
			if (v > 1000 && (briefly() || (v > 30000 && p % 12 != 0))) continue;
			const uint32_t nears[] = {1, v > 20 ? 20 : 1, v / 2, v - 1, 0};
			for (int n = 0; n < 5; n++) {
				const enum dp_rank_shape shape =
				    n < 4 ? DP_RANK_STEP : DP_RANK_ENVELOPE;
				struct dp_rank *m = made(shape, v, nears[n], epsilon);
				follow_the_definition(m, shape, v, nears[n], epsilon);
				dp_rank_free(&m);
				tables++;
			}
		}
	assert_true(tables >= 4 * 13 * 5);
}

static void refused_tables(void **state) {
	(void)state;
	const uint64_t unit = (uint64_t)1 << 40;
	const struct dp_wide far = {unit, 0}, one = {1, 0}, none = {0, 0};
	for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
		const uint32_t epsilon = bounds[i].millionths;
		const struct dp_wide bound = from_decimal(bounds[i].floor);
		struct dp_wide e[4] = {bound, bound, far, far};
		assert_int_equal(dp_rank_check(e, 4, epsilon), DP_OK);
		e[0] = dp_wide_sum(bound, one);
		assert_int_equal(dp_rank_check(e, 4, epsilon), DP_SELF_CHECK);
		/* In units of 3 2^40 the first may be three times as large, and not one unit more.
		 */
		e[0] = e[1] = dp_wide_times(bound, 3);
		e[2] = e[3] = (struct dp_wide){3 * unit, 0};
		assert_int_equal(dp_rank_check(e, 4, epsilon), DP_OK);
		e[0] = dp_wide_sum(e[0], one);
		assert_int_equal(dp_rank_check(e, 4, epsilon), DP_SELF_CHECK);
		/* The last one smaller by a unit. */
		const struct dp_wide low[4] = {bound, bound, far, {unit - 1, 0}};
		assert_int_equal(dp_rank_check(low, 4, epsilon), DP_SELF_CHECK);
		/* E rises: at the first, in the middle, at the last. */
		const struct dp_wide rise[3][4] = {{far, {unit + 1, 0}, far, far},
		                                   {bound, far, {unit + 1, 0}, far},
		                                   {bound, far, {unit - 1, 0}, far}};
		for (int n = 0; n < 3; n++)
			assert_int_equal(dp_rank_check(rise[n], 4, epsilon), DP_SELF_CHECK);
	}
	/* Zeros, and numbers beyond the widths of the check. */
	const struct dp_wide long_word = {(unsigned __int128)1 << 64, 0}, long_long = {0, 1},
	                     widest = {0, (unsigned __int128)1 << (200 - 128)};
	const struct dp_wide bad[5][2] = {{none, none},
	                                  {one, none},
	                                  {long_word, long_word},
	                                  {long_long, long_long},
	                                  {widest, {~(uint64_t)0, 0}}};
	for (int n = 0; n < 5; n++)
		assert_int_equal(dp_rank_check(bad[n], 2, DP_RANK_MOST_EPSILON), DP_SELF_CHECK);
	assert_int_equal(dp_rank_check((struct dp_wide[2]){one, one}, 2, 1), DP_OK);
	assert_misuse((void)dp_rank_check(NULL, 2, 1));
	assert_misuse((void)dp_rank_check(bad[0], 1, 1));
	struct dp_wide e[2];
	assert_misuse(dp_rank_tabulate(DP_RANK_STEP, 2, 1, 1, NULL));
	assert_misuse(dp_rank_tabulate(DP_RANK_STEP, 1, 1, 1, e));
	assert_misuse(dp_rank_tabulate(DP_RANK_STEP, DP_RANK_MOST_WORDS + 1, 1, 1, e));
	assert_misuse(dp_rank_tabulate(DP_RANK_STEP, 2, 0, 1, e));
	assert_misuse(dp_rank_tabulate(DP_RANK_STEP, 2, 2, 1, e));
	assert_misuse(dp_rank_tabulate(DP_RANK_ENVELOPE, 2, 0, 0, e));
	assert_misuse(dp_rank_tabulate(DP_RANK_ENVELOPE, 2, 0, DP_RANK_MOST_EPSILON + 1, e));
}

static void parameters(void **state) {
	(void)state;
	uint64_t seed = 1;
	const struct dp_rank_params good = {.shape = DP_RANK_STEP,
	                                    .words = 2,
	                                    .near = 1,
	                                    .epsilon_millionths = 1,
	                                    .random = {test_fill, &seed}};
	struct dp_rank *m = NULL;
	dp_rank_free(&m);
	for (int n = 0; n < 8; n++) {
		struct dp_rank_params bad = good;
		if (n == 0) bad.shape = (enum dp_rank_shape)2;
		if (n == 1) bad.words = 1;
		if (n == 2) bad.words = DP_RANK_MOST_WORDS + 1;
		if (n == 3) bad.near = 0;
		if (n == 4) bad.near = 2;
		if (n == 5) bad.epsilon_millionths = 0;
		if (n == 6) bad.epsilon_millionths = DP_RANK_MOST_EPSILON + 1;
		if (n == 7)
			bad = (struct dp_rank_params){
			    .shape = DP_RANK_ENVELOPE, .words = 2, .random = good.random};
		m = (struct dp_rank *)&bad;
		assert_int_equal(dp_rank_new(&bad, &m), DP_BAD_PARAMETER);
		assert_null(m);
	}
	struct dp_rank_params bad = good;
	bad.random.fill = NULL;
	assert_misuse((void)dp_rank_new(&bad, &m));
	assert_misuse((void)dp_rank_new(NULL, &m));
	assert_misuse((void)dp_rank_new(&good, NULL));
	assert_int_equal(dp_rank_new(&good, &m), DP_OK);
	assert_true(dp_rank_share(m, 0) == 0.0 && dp_rank_share(m, 2) == 1.0);
	assert_misuse((void)dp_rank_share(m, 3));
	dp_rank_free(&m);
}

/* ---- Theorem D ------------------------------------------------------------------------------- */

static int fall(const void *a, const void *b) {
	const double x = *(const double *)a, y = *(const double *)b;
	return (x < y) - (x > y);
}

/* Random exponential mechanisms of exponent epsilon / 2 and utility in [0, 1]: none gives any k
 * words more than the envelope of the same epsilon, nor has a utility that falls with rank a higher
 * mean under it. Utilities are drawn near their ends too, where the bound is met. */
static void no_exponential_mechanism_does_better(void **state) {
	(void)state;
	enum { MOST = 40, EACH = 10 };
	uint64_t seed = 5;
	double closest = 1.0;
	for (int i = 0; i < test_cases(300); i++) {
		const uint32_t v = 2 + (uint32_t)test_below(&seed, MOST - 1),
		               epsilon = 1 + (uint32_t)test_below(&seed, 12 * MILLION);
		struct dp_rank *m = made(DP_RANK_ENVELOPE, v, 0, epsilon);
		for (int n = 0; n < EACH; n++) {
			double weight[MOST], total = 0.0, sum = 0.0, mean = 0.0,
			                     envelope_mean = 0.0;
			const uint32_t high = (uint32_t)test_below(&seed, v + 1);
			for (uint32_t y = 0; y < v; y++) {
				double u = (double)test_between(&seed, 0.0f, 1.0f);
				if (n % 3 == 1) u = u < 0.5 ? 0.0 : 1.0;
				if (n % 3 == 2) u = y < high ? 1.0 : 0.0;
				weight[y] = exp((double)epsilon / MILLION / 2.0 * u);
				total += weight[y];
			}
			qsort(weight, v, sizeof *weight, fall);
			for (uint32_t k = 1; k <= v; k++) {
				sum += weight[k - 1];
				const double share = dp_rank_share(m, k),
				             slack = share - sum / total;
				assert_true(slack >= -1e-11);
				if (k < v) closest = fmin(closest, slack);
				/* A utility of 1 up to rank k, summed over all k. */
				mean += sum / total;
				envelope_mean += share;
			}
			assert_true(envelope_mean >= mean - 1e-10);
		}
		dp_rank_free(&m);
	}
	assert_true(closest < 1e-9);
}

/* The best step is the best of all, by the definition. */
static void best_near(void **state) {
	(void)state;
	enum { MOST = 30 };
	uint64_t seed = 7;
	for (int i = 0; i < test_cases(2000); i++) {
		const uint32_t v = 2 + (uint32_t)test_below(&seed, MOST - 1),
		               epsilon = 1 + (uint32_t)test_below(&seed, 8 * MILLION);
		double g[MOST], best = -2.0;
		for (uint32_t r = 0; r < v; r++) g[r] = (double)test_between(&seed, -1.0f, 1.0f);
		if (i % 2) qsort(g, v, sizeof *g, fall);
		const double e = exp((double)epsilon / MILLION);
		double means[MOST];
		for (uint32_t k = 1; k < v; k++) {
			double near = 0.0, rest = 0.0;
			for (uint32_t r = 0; r < v; r++) *(r < k ? &near : &rest) += g[r];
			means[k] = (e * near + rest) / (k * e + (v - k));
			best = fmax(best, means[k]);
		}
		const uint32_t k = dp_rank_best_near(g, v, epsilon);
		assert_true(k >= 1 && k < v);
		assert_float_equal(means[k], best, 1e-12);
	}
	/* All alike: the least k. One near word only; many, of which the last ones still count. */
	assert_int_equal(dp_rank_best_near((double[4]){0, 0, 0, 0}, 4, 6 * MILLION), 1);
	assert_int_equal(dp_rank_best_near((double[4]){1, 0, 0, 0}, 4, 6 * MILLION), 1);
	assert_int_equal(dp_rank_best_near((double[4]){1, 1, 1, 0}, 4, 6 * MILLION), 3);
	assert_int_equal(dp_rank_best_near((double[4]){1, 1, 1, 0}, 4, 20 * MILLION), 3);
	const double g[2] = {1, 0};
	assert_misuse((void)dp_rank_best_near(NULL, 2, 1));
	assert_misuse((void)dp_rank_best_near(g, 1, 1));
	assert_misuse((void)dp_rank_best_near(g, 2, 0));
	assert_misuse((void)dp_rank_best_near(g, 2, DP_RANK_MOST_EPSILON + 1));
}

/* ---- numbers of a text ----------------------------------------------------------------------- */

/* Whether d is below num / den: d = digits 2^-shift, so digits den < num 2^shift, in integers. */
static bool below_fraction(double d, uint64_t num, uint64_t den) {
	int exponent;
	const uint64_t digits = (uint64_t)ldexp(frexp(d, &exponent), 53);
	struct dp_wide left = dp_wide_product(digits, den), right = {num, 0};
	for (int shift = 53 - exponent; shift > 0; shift--) right = dp_wide_sum(right, right);
	for (int shift = exponent - 53; shift > 0; shift--) left = dp_wide_sum(left, left);
	return dp_wide_less(left, right);
}

static void least_above(double d, uint64_t num, uint64_t den) {
	assert_false(below_fraction(d, num, den));
	assert_true(below_fraction(nextafter(d, 0.0), num, den));
}

static void costs_are_rounded_up(void **state) {
	(void)state;
	uint64_t seed = 9;
	for (int i = 0; i < test_cases(100000); i++) {
		const uint32_t range = i % 2 ? DP_RANK_MOST_EPSILON : 2 * MILLION,
		               m = 1 + (uint32_t)test_below(&seed, range),
		               n = 1 +
		                   (uint32_t)test_below(&seed, i % 3 ? 500 : DP_RANK_MOST_PLACES);
		least_above(dp_rank_epsilon(m, n), (uint64_t)m * n, MILLION);
		if (m >= 2 * MILLION) assert_true(dp_rank_rho(m, n) == dp_rank_epsilon(m, n));
		else
			least_above(dp_rank_rho(m, n), (uint64_t)m * m * n,
			            UINT64_C(2) * MILLION * MILLION);
	}
	least_above(dp_rank_rho(1, 1), 1, UINT64_C(2) * MILLION * MILLION);
	least_above(dp_rank_rho(1999999, DP_RANK_MOST_PLACES),
	            UINT64_C(1999999) * 1999999 * DP_RANK_MOST_PLACES,
	            UINT64_C(2) * MILLION * MILLION);
	/* What is exact is told exactly. */
	assert_true(dp_rank_epsilon(6 * MILLION, 50) == 300.0);
	assert_true(dp_rank_epsilon(6 * MILLION, 400) == 2400.0);
	assert_true(dp_rank_epsilon(MILLION, 50) == 50.0);
	assert_true(dp_rank_epsilon(100000, 50) == 5.0);
	assert_true(dp_rank_epsilon(500000, 1) == 0.5);
	assert_true(dp_rank_epsilon(DP_RANK_MOST_EPSILON, DP_RANK_MOST_PLACES) == 0x1p26);
	assert_true(dp_rank_rho(6 * MILLION, 50) == 300.0);
	assert_true(dp_rank_rho(2 * MILLION, 3) == 6.0);
	assert_true(dp_rank_rho(MILLION, 3) == 1.5);
	assert_true(dp_rank_rho(100000, 50) == 0.25);
	assert_float_equal(dp_epsilon_bun_steinke(dp_rank_rho(100000, 50), 1e-6), 3.97, 0.004);
	assert_float_equal(dp_epsilon_of_rho(dp_rank_rho(100000, 50), 1e-6), 3.5423, 0.0001);
	assert_misuse((void)dp_rank_epsilon(0, 1));
	assert_misuse((void)dp_rank_epsilon(DP_RANK_MOST_EPSILON + 1, 1));
	assert_misuse((void)dp_rank_epsilon(1, 0));
	assert_misuse((void)dp_rank_epsilon(1, DP_RANK_MOST_PLACES + 1));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(quotients),
	    cmocka_unit_test(bound_is_the_floor),
	    cmocka_unit_test(toy_tables),
	    cmocka_unit_test(large_tables),
	    cmocka_unit_test(grid_of_tables),
	    cmocka_unit_test(refused_tables),
	    cmocka_unit_test(parameters),
	    cmocka_unit_test(no_exponential_mechanism_does_better),
	    cmocka_unit_test(best_near),
	    cmocka_unit_test(costs_are_rounded_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
