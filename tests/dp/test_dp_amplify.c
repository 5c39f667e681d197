// SPDX-License-Identifier: Apache-2.0
// Tests dp/amplify.c: what lots change in the accounts.
// It fails if an epsilon or delta is rounded to the wrong side, differs from the formula in 256-bit
// arithmetic by more than the last place, or if a cap leaves more than its share of delta.
#include "tests/dp/test_dp_support.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "dp/amplify.h"

/* ---- e^x in fixed point, 160 bits behind the point ------------------------------------------- */

enum { LIMBS = 5, POINT = 160 };
struct big {
	uint64_t limb[LIMBS]; /* the least first */
};

static struct big big_times(struct big a, uint64_t b) {
	unsigned __int128 carry = 0;
	for (int i = 0; i < LIMBS; i++) {
		carry += (unsigned __int128)a.limb[i] * b;
		a.limb[i] = (uint64_t)carry;
		carry >>= 64;
	}
	assert_true(carry == 0);
	return a;
}

static struct big big_over(struct big a, uint64_t b) {
	unsigned __int128 rest = 0;
	for (int i = LIMBS - 1; i >= 0; i--) {
		rest = rest << 64 | a.limb[i];
		a.limb[i] = (uint64_t)(rest / b);
		rest %= b;
	}
	return a;
}

static struct big big_plus(struct big a, struct big b) {
	unsigned __int128 carry = 0;
	for (int i = 0; i < LIMBS; i++) {
		carry += (unsigned __int128)a.limb[i] + b.limb[i];
		a.limb[i] = (uint64_t)carry;
		carry >>= 64;
	}
	return a;
}

static int big_compare(struct big a, struct big b) {
	for (int i = LIMBS - 1; i >= 0; i--)
		if (a.limb[i] != b.limb[i]) return a.limb[i] < b.limb[i] ? -1 : 1;
	return 0;
}

static bool big_is_zero(struct big a) {
	return big_compare(a, (struct big){{0}}) == 0;
}

/* e^x - 1 from below, by its power series with every term rounded down; `above` adds more than what
 * was cut off. x < 30. */
static struct big big_expm1(double x, bool above) {
	int exponent;
	const uint64_t digits = (uint64_t)ldexp(frexp(x, &exponent), 53);
	struct big term = {{0}}, sum = {{0}};
	term.limb[POINT / 64] = UINT64_C(1) << POINT % 64;
	for (uint64_t n = 1; !big_is_zero(term); n++) {
		term = big_over(big_times(term, digits), n);
		// digits 2^(exponent - 53) is x. Two shifts, as one is by up to 73 bits.
		const int shift = 53 - exponent;
		term = big_over(term, UINT64_C(1) << shift / 2);
		term = big_over(term, UINT64_C(1) << (shift - shift / 2));
		sum = big_plus(sum, term);
	}
	const struct big slack = {{UINT64_C(1) << 60}};
	return above ? big_plus(sum, slack) : sum;
}

/* The formula of amplify.h holds for a run's epsilon and a batch's, or is missed on the safe side:
 * M (e^run - 1) >= m (e^batch - 1). */
static bool is_safe(double run, double batch, uint64_t used, uint64_t batches) {
	return big_compare(big_times(big_expm1(run, false), batches),
	                   big_times(big_expm1(batch, true), used)) >= 0;
}

static double next(double x, double to) {
	return nextafter(nextafter(x, to), to);
}

/* No answer promises more than the formula, and two units of the last place less would. */
static void against_256_bits(void **state) {
	(void)state;
	uint64_t seed = 39;
	for (int n = 0; n < test_cases(10000); n++) {
		const uint64_t batches = 2 + test_below(&seed, (1 << 20) - 2),
		               used = 1 + test_below(&seed, batches - 1);
		const long double q = nextafterl((long double)used / (long double)batches, 1.0L);
		const double given =
		    exp((double)test_between(&seed, -13.0f, 2.7f)); /* 2e-6 to 15 */
		const double run = dp_run_epsilon(given, q), batch = dp_batch_epsilon(given, q);
		assert_true(is_safe(run, given, used, batches));
		assert_false(is_safe(next(run, 0.0), given, used, batches));
		assert_true(is_safe(given, batch, used, batches));
		assert_false(is_safe(given, next(batch, INFINITY), used, batches));
		assert_true(run <= given && batch >= given);
		assert_true(dp_run_epsilon(batch, q) <= next(given, INFINITY));
	}
}

static void assert_close(double got, double want, double part) {
	if (!(fabs(got - want) <= part * want)) fail_msg("got %.17g, want %.17g", got, want);
}

/* Numbers of mpmath, 40 digits. */
static void vectors(void **state) {
	(void)state;
	static const struct {
		double run, q, batch;
	} all[] = {
	    {1, .5, 1.48988012564475},  {1, .2, 2.26086781681783},      {1, .1, 2.90047709788939},
	    {1, .05, 3.56574063030279}, {3, .5, 3.66793856232303},      {3, .2, 4.56879334519947},
	    {3, .1, 5.25674180291524},  {3, .05, 5.94727945178127},     {10, .5, 10.6931244803374},
	    {10, .2, 11.6094015918307}, {10, .1, 12.3025442322225},     {10, .05, 12.9956891426906},
	    {1.75291195309957, .25, 3}, {.359407799278924, 2.0 / 3, .5}};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		assert_close(dp_batch_epsilon(all[i].run, (long double)all[i].q), all[i].batch,
		             1e-14);
		assert_close(dp_run_epsilon(all[i].batch, (long double)all[i].q), all[i].run,
		             1e-14);
	}
	// One double up would promise more than 1 for the run.
	const long double tenth = 1.0L / 10;
	assert_true(dp_batch_epsilon(1, tenth) == 2.9004770978893855);
	assert_false(is_safe(1, 2.900477097889386, 1, 10));
	// With q = 1 nothing changes, not by rounding either.
	assert_true(dp_run_epsilon(0.3, 1) == 0.3 && dp_batch_epsilon(0.3, 1) == 0.3);
	assert_true(dp_run_delta(0.3, 1) == 0.3 && dp_batch_delta(0.3, 1) == 0.3);
	// Beyond what e^epsilon can be computed for.
	assert_close(dp_batch_epsilon(5000, tenth), 5000 + log(10), 1e-15);
	assert_close(dp_run_epsilon(5000, tenth), 5000 - log(10), 1e-15);
	// Next to the point where the form changes both forms agree.
	const double at = 1000, above = nextafter(at, INFINITY);
	assert_close(dp_run_epsilon(above, tenth), dp_run_epsilon(at, tenth), 1e-15);
	assert_close(dp_batch_epsilon(above, tenth), dp_batch_epsilon(at, tenth), 1e-15);
}

static void deltas(void **state) {
	(void)state;
	uint64_t seed = 5;
	for (int n = 0; n < test_cases(10000); n++) {
		const double delta = exp((double)test_between(&seed, -600.0f, -0.1f));
		const long double q = (long double)(1 + test_below(&seed, 1 << 20)) * 0x1p-20L;
		// A double times 20 bits is exact in 73 bits; here 64 are kept, which loses 2^-64.
		assert_true((long double)dp_run_delta(delta, q) >= (long double)delta * q);
		assert_true((long double)dp_batch_delta(delta, q) * q <= (long double)delta);
		assert_close(dp_run_delta(dp_batch_delta(delta, q), q), delta, 1e-15);
	}
	assert_true(dp_rows_delta(0.5) <= 0.5 * (1 - 0x1p-20) &&
	            dp_rows_delta(0.5) > 0.5 * (1 - 1.1 * 0x1p-20));
	assert_true(dp_batch_delta(0.5, 0.25L) == 2 * (1 - 0x1p-53));
}

static void ratios(void **state) {
	(void)state;
	assert_true(dp_lots_ratio(1, 1) == 1 && dp_lots_ratio(7, 7) == 1);
	assert_true(dp_lots_ratio(1, 10) * 10 > 1 + 0x1.8p-41L &&
	            dp_lots_ratio(1, 10) * 10 < 1 + 0x1.1p-40L);
	assert_misuse((void)dp_lots_ratio(0, 10));
	assert_misuse((void)dp_lots_ratio(11, 10));
}

/* ---- the cap --------------------------------------------------------------------------------- */

static uint32_t cap_of(struct dp_lots lots, double epsilon, double delta) {
	uint32_t cap = 0;
	assert_int_equal(dp_rows_cap(&lots, 1, epsilon, delta, &cap), DP_OK);
	return cap;
}

static void caps(void **state) {
	(void)state;
	static const struct {
		uint64_t batch;
		uint32_t cap[3];
	} all[] = {{7, {38, 39, 43}},
	           {15, {56, 57, 62}},
	           {31, {86, 88, 94}},
	           {63, {138, 140, 149}},
	           {127, {230, 232, 243}}};
	static const double epsilons[] = {1, 3, 10};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		for (size_t j = 0; j < 3; j++)
			assert_int_equal(cap_of((struct dp_lots){1000 * all[i].batch, 1000, 100},
			                        epsilons[j], 1e-6),
			                 all[i].cap[j]);
	// No batch has more rows than there are records, and an empty cluster has none.
	assert_int_equal(cap_of((struct dp_lots){9, 3, 1}, 1, 1e-6), 9);
	assert_int_equal(cap_of((struct dp_lots){0, 1, 1}, 1, 1e-6), 1);
	assert_int_equal(cap_of((struct dp_lots){1000, 1, 0}, 1, 1e-6), 1);
	uint32_t cap = 0;
	assert_int_equal(dp_rows_cap(&(struct dp_lots){UINT64_C(1) << 40, 1, 1}, 1, 1, 1e-6, &cap),
	                 DP_BAD_PARAMETER);
	// Clusters share the chance: two that have what one has need no less than it.
	const struct dp_lots two[] = {{750, 50, 50}, {750, 50, 50}};
	assert_int_equal(dp_rows_cap(two, 2, 1, 1e-6, &cap), DP_OK);
	assert_int_equal(cap, 56);
}

/* The chance that Binomial(records, 1 / batches) is above the cap, summed exactly enough, times the
 * used batches and 1 + e^epsilon, is at most 2^-20 of delta. With half of the rows that the cap has
 * above the mean it is not. */
static void the_cap_is_enough(void **state) {
	(void)state;
	uint64_t seed = 7;
	for (int n = 0; n < test_cases(1000); n++) {
		const uint64_t batches = 2 + test_below(&seed, 500),
		               records = batches * (1 + test_below(&seed, 60)),
		               used = 1 + test_below(&seed, batches);
		const double epsilon = (double)test_between(&seed, 0.1f, 12.0f),
		             delta = exp((double)test_between(&seed, -30.0f, -5.0f));
		const uint32_t cap =
		    cap_of((struct dp_lots){records, batches, used}, epsilon, delta);
		const double p = 1.0 / (double)batches, mean = (double)records * p;
		double beyond = 0, beyond_half = 0;
		for (uint64_t k = 1; k <= records && k < cap + 200; k++) {
			const double chance =
			    exp(lgamma((double)records + 1) - lgamma((double)k + 1) -
			        lgamma((double)(records - k) + 1) + (double)k * log(p) +
			        (double)(records - k) * log1p(-p));
			if (k > cap) beyond += chance;
			if ((double)k > (mean + cap) / 2) beyond_half += chance;
		}
		const double share = delta * 0x1p-20 / (1 + exp(epsilon)) / (double)used;
		assert_true(beyond <= share);
		if (cap < records) assert_true(beyond_half > share);
	}
}

/* ---- what lots are worth --------------------------------------------------------------------- */

static struct dp_integers integers_of(uint32_t batch) {
	return (struct dp_integers){
	    .batch = batch, .tokens = 100, .temperature_num = 1, .temperature_den = 1};
}

/* The clips of dp/PRIVACY.md, step 39: T 100, tau 1, delta 1e-6. */
static void clips(void **state) {
	(void)state;
	static const struct {
		double epsilon, q, clip15, clip31;
	} all[] = {{1, 1, .355, .734},     {1, .5, .531, 1.097},   {1, .2, .811, 1.675},
	           {1, .1, 1.047, 2.165},  {1, .05, 1.300, 2.686}, {3, 1, .973, 2.011},
	           {3, .5, 1.199, 2.478},  {3, .2, 1.512, 3.124},  {3, .1, 1.758, 3.633},
	           {3, .05, 2.013, 4.160}, {10, 1, 2.784, 5.754},  {10, .5, 3.010, 6.220},
	           {10, .2, 3.318, 6.857}, {10, .1, 3.560, 7.357}, {10, .05, 3.810, 7.873}};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		const long double q = (long double)all[i].q;
		struct dp_budget b = {.epsilon = dp_batch_epsilon(all[i].epsilon, q),
		                      .delta = dp_batch_delta(1e-6, q),
		                      .rho = NAN,
		                      .clip = NAN,
		                      .temperature = 1,
		                      .batch = 15,
		                      .tokens = 100,
		                      .accountant = DP_EXACT,
		                      .grid = 64};
		assert_int_equal(dp_budget_solve(&b, DP_CLIP, NULL), DP_OK);
		assert_true(fabs(b.clip - all[i].clip15) < 6e-4);
		assert_true(fabs(b.clip / 15 * 31 - all[i].clip31) < 1e-3);
	}
}

static bool pays(uint32_t batch, enum dp_accountant accountant, double epsilon, long double q) {
	const struct dp_integers integers = integers_of(batch);
	bool pay = false;
	const char *reason = NULL;
	assert_int_equal(dp_lots_pay(&integers, accountant, epsilon, 1e-6, q, &pay, &reason),
	                 DP_OK);
	return pay;
}

static void when_lots_pay(void **state) {
	(void)state;
	for (int accountant = DP_ZCDP; accountant <= DP_EXACT; accountant++) {
		assert_true(pays(15, accountant, 1, dp_lots_ratio(100, 200)));
		assert_true(pays(15, accountant, 3, dp_lots_ratio(100, 200)));
		assert_false(pays(15, accountant, 1, dp_lots_ratio(101, 200)));
		assert_false(pays(15, accountant, 10, dp_lots_ratio(100, 200)));
		assert_true(pays(15, accountant, 10, dp_lots_ratio(1, 3)));
	}
	// Where the weights hold no larger clip, lots buy nothing.
	assert_true(pays(255, DP_ZCDP, 3, 0.1L));
	assert_false(pays(255, DP_ZCDP, 10, 0.1L));
	// delta of a batch would be 1.
	const struct dp_integers integers = integers_of(15);
	bool pay = true;
	assert_int_equal(dp_lots_pay(&integers, DP_ZCDP, 1, 0.2, 0.1L, &pay, NULL), DP_OK);
	assert_false(pay);
	// What cannot be calibrated is told as by dp_budget_solve.
	const char *reason = NULL;
	struct dp_integers none = integers;
	none.tokens = 0;
	assert_int_equal(dp_lots_pay(&none, DP_ZCDP, 1, 1e-6, 0.1L, &pay, &reason),
	                 DP_BAD_PARAMETER);
	assert_non_null(reason);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(against_256_bits),
	    cmocka_unit_test(vectors),
	    cmocka_unit_test(deltas),
	    cmocka_unit_test(ratios),
	    cmocka_unit_test(caps),
	    cmocka_unit_test(the_cap_is_enough),
	    cmocka_unit_test(clips),
	    cmocka_unit_test(when_lots_pay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
