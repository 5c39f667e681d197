// SPDX-License-Identifier: Apache-2.0
// Tests the rounding of every accountant in dp/ against the same formulas in 113-bit arithmetic.
// Exponentials and logarithms are the test's own.
// It fails if a promised number is below the truth, or an allowed one above it. It also fails if
// one is further off than the headers say.
#include "tests/dp/test_dp_support.h"

#include <float.h>
#include <math.h>

#include "dp/account.h"
#include "dp/exact.h"
#include "dp/rdp.h"
#include "dp/zcdp.h"

#if LDBL_MANT_DIG >= 113
typedef long double quad;
#else
typedef __float128 quad;
#endif
#define NONE ((double)NAN)

/* exp(x) for |x| < 2^20, to a part of 2^-85 or better: the series at x / 2^n, squared n times. */
static quad quad_exp(quad x) {
	int halvings = 0;
	while (x > 0.001 || x < -0.001) {
		x /= 2;
		halvings++;
	}
	quad sum = 1, term = 1;
	for (int i = 1; i < 16; i++) sum += term *= x / i;
	while (halvings-- > 0) sum *= sum;
	return sum;
}

/* ln(x): two steps of Halley's method from the logarithm in long double. */
static quad quad_log(quad x) {
	quad y = logl((long double)x);
	for (int i = 0; i < 2; i++) {
		const quad e = quad_exp(y);
		y += 2 * (x - e) / (x + e);
	}
	return y;
}

static void the_quad_functions(void **state) {
	(void)state;
	/* e to 33 digits, as whole numbers, which are exact */
	const quad e =
	    ((quad)UINT64_C(2718281828459045) + (quad)UINT64_C(235360287471352662) / 1e18L) / 1e15L;
	const quad error = quad_exp(1) - e, back = quad_log(quad_exp((quad)0.7)) - (quad)0.7,
	           sum = quad_exp(3) * quad_exp(-3) - 1;
	assert_true(fabs((double)error) < 1e-30 && fabs((double)back) < 1e-30 &&
	            fabs((double)sum) < 1e-28);
	const quad product = quad_log(6) - quad_log(2) - quad_log(3);
	assert_true(fabs((double)product) < 1e-30);
}

/* The greatest double below x. */
static double double_below(quad x) {
	const double d = (double)x;
	return (quad)d < x ? d : nextafter(d, -(double)INFINITY);
}

/* low <= got <= low (1 + part). */
static void assert_up(double got, quad low, double part, const char *what) {
	if (!((quad)got >= low && (quad)got <= low * (1 + (quad)part)))
		fail_msg("%s: %.17g is %.3g of itself above the truth", what, got,
		         (double)(((quad)got - low) / low));
}

static void assert_down(double got, quad high, double part, const char *what) {
	if (!((quad)got <= high && (quad)got >= high * (1 - (quad)part)))
		fail_msg("%s: %.17g is %.3g of itself below the truth", what, got,
		         (double)((high - (quad)got) / high));
}

/* Both slopes rise through zero where their minimum is. */
static long double slope_epsilon(long double rho, long double log_delta, long double b) {
	return rho * b * b + log1pl(b) + log_delta;
}
static long double slope_delta(long double rho, long double epsilon, long double b) {
	return (2 * b + 1) * rho - epsilon - log1pl(1 / b);
}

/* An error of 2^-60 here is one of 2^-120 in the minimum. */
static long double zero(long double (*slope)(long double, long double, long double),
                        long double rho, long double other) {
	long double low = -700, high = 700;
	for (int i = 0; i < 90; i++) {
		const long double middle = (low + high) / 2;
		if (slope(rho, other, expl(middle)) < 0) low = middle;
		else high = middle;
	}
	return expl(high);
}

static quad epsilon_at(quad loss, quad b, double delta) {
	return loss - (quad_log(delta) + quad_log(1 + b)) / b - quad_log(1 + 1 / b);
}

static quad true_epsilon(double rho, double delta) {
	const quad b = zero(slope_epsilon, rho, logl(delta));
	return epsilon_at((b + 1) * (quad)rho, b, delta);
}

static quad true_delta(double rho, double epsilon) {
	const quad b = zero(slope_delta, rho, epsilon);
	return quad_exp(b * ((b + 1) * (quad)rho - (quad)epsilon - quad_log(1 + 1 / b)) -
	                quad_log(1 + b));
}

static quad true_rho(double clip, uint32_t batch, double temperature, uint64_t tokens) {
	const quad lambda = (quad)clip / ((quad)batch * (quad)temperature);
	return (quad)tokens * lambda * lambda / 2;
}

static void conversions(void **state) {
	(void)state;
	uint64_t seed = 51;
	for (int i = 0; i < 300; i++) {
		const double rho = exp2(test_between(&seed, -14, 6)),
		             delta = exp2(test_between(&seed, -60, -4));
		const quad truth = true_epsilon(rho, delta);
		const double epsilon = dp_epsilon_of_rho(rho, delta);
		assert_true((quad)epsilon >= truth);
		if ((double)truth < 1e-3) continue;
		assert_up(epsilon, truth, 1e-12, "epsilon");
		assert_up(dp_delta_of_rho(rho, epsilon), true_delta(rho, epsilon), 1e-11, "delta");
		const double allowed = dp_rho_of_epsilon(epsilon, delta);
		assert_down(epsilon, true_epsilon(allowed, delta) * (1 + (quad)1e-12), 2e-12,
		            "epsilon of the rho allowed");
		assert_true((quad)epsilon >= true_epsilon(allowed, delta));
		const double weaker = dp_epsilon_bun_steinke(rho, delta);
		const quad root = (quad)weaker - (quad)rho,
		           square = -4 * (quad)rho * quad_log(delta);
		assert_true(root * root >= square &&
		            root * root <= square * (1 + (quad)1e-14) + 1e-14);
	}
}

static void mechanisms(void **state) {
	(void)state;
	uint64_t seed = 52;
	for (int i = 0; i < 20000; i++) {
		const double clip = exp2(test_between(&seed, -12, 5)),
		             tau = test_between(&seed, 0.3f, 3);
		const uint32_t batch = 1 + (uint32_t)test_below(&seed, 300),
		               tokens = 1 + (uint32_t)test_below(&seed, 5000);
		const uint32_t group = 1 + (uint32_t)test_below(&seed, 9);
		const bool spread = test_below(&seed, 2);
		const double rho = dp_rho_of_clip(clip, batch, tau, tokens);
		assert_up(dp_group_rho(rho, group, true), (quad)rho * group * group, 3e-16,
		          "rho of a group in one batch");
		assert_up(dp_group_rho(rho, group, false), (quad)rho * group, 3e-16,
		          "rho of a group in several batches");
		assert_up(rho, true_rho(clip, batch, tau, tokens), 3e-16, "rho");
		assert_down(dp_clip_of_rho(rho, batch, tau, tokens), (quad)clip * (1 + (quad)2e-16),
		            6e-16, "clip");
		assert_true(true_rho(dp_clip_of_rho(rho, batch, tau, tokens), batch, tau, tokens) <=
		            (quad)rho);

		/* One person's: in both directions, and as dp_group_rho. */
		const quad times = spread ? group : group * group;
		struct dp_budget b = {.rho = NONE,
		                      .epsilon = NONE,
		                      .delta = NONE,
		                      .clip = clip,
		                      .temperature = tau,
		                      .batch = batch,
		                      .tokens = tokens,
		                      .group = group,
		                      .spread = spread};
		assert_int_equal(dp_budget_solve(&b, DP_RHO, NULL), DP_OK);
		assert_up(b.rho, times * true_rho(clip, batch, tau, tokens), 1e-15,
		          "rho of the group");
		assert_true(fabs(dp_group_rho(rho, group, !spread) / b.rho - 1) < 1e-15 &&
		            b.clip == clip && b.tokens == tokens);
		assert_int_equal(dp_budget_solve(&b, DP_CLIP, NULL), DP_OK);
		assert_down(b.clip, (quad)clip * (1 + (quad)4e-16), 1e-15, "clip of the group");
		assert_true(times * true_rho(b.clip, batch, tau, tokens) <= (quad)b.rho);
		b.clip = clip;
		b.rho *= 1 + 1e-12;
		assert_int_equal(dp_budget_solve(&b, DP_TOKENS, NULL), DP_OK);
		assert_int_equal(b.tokens, tokens);
		b.rho *= 1 - 1e-9;
		if (tokens == 1) continue;
		assert_int_equal(dp_budget_solve(&b, DP_TOKENS, NULL), DP_OK);
		assert_int_equal(b.tokens, tokens - 1);
		/* A budget that lacks the last bit of a token's cost does not pay for the token. */
		b.rho = double_below(times * true_rho(clip, batch, tau, tokens));
		assert_int_equal(dp_budget_solve(&b, DP_TOKENS, NULL), DP_OK);
		assert_int_equal(b.tokens, tokens - 1);
		b.rho *= 1 - 1e-9;
		b.tokens = tokens;
		assert_int_equal(dp_budget_solve(&b, DP_BATCH, NULL), DP_OK);
		assert_int_equal(b.batch, batch + 1);
		assert_true(times * true_rho(clip, b.batch, tau, tokens) <= (quad)b.rho);
	}
}

/* Where delta is nearly 1, only the margin of its last rounding is left. */
static void delta_near_one(void **state) {
	(void)state;
	uint64_t seed = 56;
	for (int i = 0; i < 2000; i++) {
		const double rho = exp2(test_between(&seed, 0, 5)),
		             epsilon = exp2(test_between(&seed, -6, 1));
		assert_up(dp_delta_of_rho(rho, epsilon), true_delta(rho, epsilon), 1e-11, "delta");
	}
}

/* Where an epsilon is nearly 0, its terms of size 1 cancel. Only their rounding errors are left. */
static void terms_that_cancel(void **state) {
	(void)state;
	uint64_t seed = 57;
	for (int i = 0; i < 200; i++) {
		const double delta = exp2(test_between(&seed, -8, -2));
		double low = 1e-9, high = 1;
		for (int j = 0; j < 100; j++) {
			const double middle = sqrt(low * high);
			if (true_epsilon(middle, delta) < (quad)1e-17) low = middle;
			else high = middle;
		}
		for (int j = 0; j < 4; j++, high = nextafter(high, 2))
			assert_true((quad)dp_epsilon_of_rho(high, delta) >=
			            true_epsilon(high, delta));
		const double epsilon = exp2(test_between(&seed, -40, -20)),
		             allowed = dp_rho_of_epsilon(epsilon, delta);
		assert_true(allowed == 0 || true_epsilon(allowed, delta) <= (quad)epsilon);
	}
}

static void integers(void **state) {
	(void)state;
	uint64_t seed = 53;
	for (int i = 0; i < 2000; i++) {
		const struct dp_integers n = {
		    .batch = 1 + (uint32_t)test_below(&seed, 300),
		    .tokens = 1 + (uint32_t)test_below(&seed, 5000),
		    .temperature_num = 1 + (int64_t)test_below(&seed, 2000000),
		    .temperature_den = 1 + (int64_t)test_below(&seed, 1000000),
		    .clip_fixed = 1 + (int32_t)test_below(&seed, 6000),
		    .fraction_bits = 6 + (unsigned)test_below(&seed, 7)};
		const quad eta =
		    2 * (quad)n.clip_fixed * (quad)n.temperature_den /
		    ((quad)n.temperature_num * (quad)n.batch * (quad)(1u << n.fraction_bits)) *
		    (1 + (quad)1 / 1000000000);
		assert_up(dp_guarantee_rho(&n), (quad)n.tokens * eta * eta / 8, 3e-16,
		          "rho of the integers");
		const double epsilon = dp_guarantee_epsilon(&n, 1e-6);
		if (i < 50 && (double)eta < 100)
			assert_up(epsilon,
			          true_epsilon((double)((quad)n.tokens * eta * eta / 8), 1e-6),
			          1e-11, "epsilon");
	}
}

/* exp(x) - 1 for |x| < 2^-10. The subtraction itself would lose the last digits. */
static quad quad_expm1(quad x) {
	quad sum = 0, term = 1;
	for (int i = 1; i < 16; i++) sum += term *= x / i;
	return sum;
}

/* Where eta is so small that the polygon is the truth, only rounding puts the answer above it. */
static void exact_to_the_last_bits(void **state) {
	(void)state;
	enum { GRID = 64 };
	uint64_t seed = 58;
	for (int i = 0; i < 2000; i++) {
		/* The vertex itself, as eta has bits to spare; the best t of an even one is a
		 * vertex too. */
		const double eta = ldexp(1 + (double)test_below(&seed, 1u << 30) / (1u << 30),
		                         -20 - (int)test_below(&seed, 20));
		const double epsilon =
		    eta / GRID * 2 * (1 + (double)test_below(&seed, GRID / 2 - 1));
		const quad root = quad_expm1(((quad)epsilon - (quad)eta) / 2),
		           truth = root * root / -quad_expm1(-(quad)eta);
		double delta;
		assert_int_equal(dp_exact_delta(eta, 1, epsilon, GRID, &delta), DP_OK);
		assert_up(delta, truth, 1e-12, "delta of a step");
		if (test_below(&seed, 4)) continue;
		/* A caller's clip is first rounded up to an eta. So the answer is that of an eta
		 * not below the truth. */
		const struct dp_integers n = {
		    .batch = 1 + (uint32_t)test_below(&seed, 300),
		    .tokens = 1 + (uint32_t)test_below(&seed, 3),
		    .temperature_num = 1 + (int64_t)test_below(&seed, 2000000),
		    .temperature_den = 1 + (int64_t)test_below(&seed, 1000000),
		    .clip_fixed = 1 + (int32_t)test_below(&seed, 6000),
		    .fraction_bits = 12};
		struct dp_budget b = {.epsilon = NONE,
		                      .delta = 1e-6,
		                      .rho = NONE,
		                      .clip = (double)n.clip_fixed / 4096,
		                      .temperature =
		                          (double)n.temperature_num / (double)n.temperature_den,
		                      .batch = n.batch,
		                      .tokens = n.tokens,
		                      .accountant = DP_EXACT};
		const quad asked = 2 * (quad)b.clip / ((quad)b.batch * (quad)b.temperature);
		const quad made = 2 * (quad)n.clip_fixed * (quad)n.temperature_den /
		                  ((quad)n.temperature_num * (quad)n.batch * 4096) *
		                  (1 + (quad)1 / 1000000000);
		if (asked > 8 || asked < (quad)1e-4) continue;
		double told, least;
		assert_int_equal(dp_guarantee_exact(&n, 1e-6, &told), DP_OK);
		assert_int_equal(dp_exact_epsilon(-double_below(-made), n.tokens, 1e-6, 0, &least),
		                 DP_OK);
		assert_true(told >= least);
		assert_int_equal(dp_budget_solve(&b, DP_EPSILON, NULL), DP_OK);
		assert_int_equal(dp_exact_epsilon(-double_below(-asked), n.tokens, 1e-6, 0, &least),
		                 DP_OK);
		assert_true(b.epsilon >= least);
	}
}

/* One step by the exact accountant is (1 - exp((epsilon - eta) / 2))^2 / (1 - exp(-eta)); and a
 * group's step has range group eta. */
static void exact(void **state) {
	(void)state;
	uint64_t seed = 54;
	for (int i = 0; i < 300; i++) {
		const double eta = exp2(test_between(&seed, -20, 4)),
		             epsilon = eta * test_between(&seed, 0.01f, 0.9f);
		const quad root = 1 - quad_exp(((quad)epsilon - (quad)eta) / 2),
		           truth = root * root / (1 - quad_exp(-(quad)eta));
		double delta, back, most;
		assert_int_equal(dp_exact_delta(eta, 1, epsilon, 256, &delta), DP_OK);
		assert_up(delta, truth, eta / 100 + 1e-3, "delta of a step");
		assert_int_equal(dp_exact_epsilon(eta, 1, (double)truth, 256, &back), DP_OK);
		assert_true(back >= epsilon * (1 - 1e-15) && back <= eta * (1 + 1e-12));
		if (dp_exact_eta(epsilon, delta, 1, 256, &most)) continue;
		const quad rest = 1 - quad_exp(((quad)epsilon - (quad)most) / 2);
		assert_true(rest * rest / (1 - quad_exp(-(quad)most)) <= (quad)delta);
	}
	for (uint32_t group = 1; group <= 3; group++) {
		struct dp_budget b = {.epsilon = 2,
		                      .delta = 1e-6,
		                      .rho = NONE,
		                      .clip = NONE,
		                      .temperature = 1.2,
		                      .batch = 7,
		                      .tokens = 36,
		                      .accountant = DP_EXACT,
		                      .grid = 32,
		                      .group = group};
		double eta;
		assert_int_equal(dp_exact_eta(2, 1e-6, 36, 32, &eta), DP_OK);
		assert_int_equal(dp_budget_solve(&b, DP_CLIP, NULL), DP_OK);
		assert_down(b.clip, (quad)eta * 7 * (quad)1.2 / 2 / group, 1e-15, "clip");
		struct dp_budget apart = b, few = b;
		apart.spread = few.spread = true;
		apart.rho = NONE;
		apart.tokens = 36 / group;
		assert_int_equal(dp_budget_solve(&apart, DP_CLIP, NULL), DP_OK);
		assert_down(apart.clip, (quad)eta * 7 * (quad)1.2 / 2, 1e-15, "clip");
		assert_int_equal(dp_exact_eta(2, 1e-6, 37, 32, &eta),
		                 DP_OK); /* of which the third reference cannot use the last */
		few.clip = eta * 7 * 1.2 / 2 * (1 - 1e-6);
		few.rho = NONE;
		assert_int_equal(dp_budget_solve(&few, DP_TOKENS, NULL), DP_OK);
		assert_int_equal(few.tokens, 37 / group);
		assert_up(few.rho, group * true_rho(few.clip, 7, 1.2, few.tokens), 3e-16, "rho");
	}
}

static void renyi(void **state) {
	(void)state;
	uint64_t seed = 55;
	for (int i = 0; i < 400; i++) {
		const double size = exp2(test_between(&seed, -12, 4)),
		             order = 1 + exp2(test_between(&seed, -6, 7)), delta = 1e-6;
		const uint32_t parts = 1 + (uint32_t)test_below(&seed, 20);
		const uint64_t count = 1 + test_below(&seed, 1000);
		const struct dp_rdp_event range = {.kind = DP_RDP_BOUNDED_RANGE,
		                                   .count = count,
		                                   .size = size},
		                          noise = {.kind = DP_RDP_GAUSSIAN,
		                                   .count = count,
		                                   .size = size},
		                          mean = {DP_RDP_MIXTURE, count, size, order, parts};
		const quad b = (quad)order - 1, eta = size, whole = 1 - quad_exp(-eta),
		           r = (1 - quad_exp(-b * eta)) / whole;
		const quad c = quad_exp(-b * eta) + r, best = quad_log((b + 1) * r / (b * c));
		/* At the best t, and beside it, where the truth is less. */
		for (int side = -1; side <= 1; side++) {
			const quad u = best * (1 + (quad)0.01 * side);
			const quad value = (b * (eta - u) + quad_log(c - r * quad_exp(-u))) / b;
			if (side)
				assert_true((quad)dp_rdp_loss(&range, 1, order) >=
				            (quad)count * value);
			else
				assert_up(dp_rdp_loss(&range, 1, order), (quad)count * value,
				          1e-14 + 1e-17 * (double)((1 + b * eta) / b / value),
				          "range");
		}
		assert_up(dp_rdp_loss(&noise, 1, order), (quad)count * (b + 1) * eta * eta / 2,
		          4e-16, "Gaussian");
		const quad mixed = quad_log(((quad)parts - 1 + quad_exp(b * eta)) / parts) / b;
		assert_up(dp_rdp_loss(&mean, 1, order), (quad)count * mixed, 1e-14, "mixture");
		const double loss = exp2(test_between(&seed, -4, 4));
		const quad epsilon = epsilon_at(loss, b, delta);
		if (epsilon > 0.01)
			assert_up(dp_rdp_epsilon_at(loss, order, delta), epsilon, 1e-12, "epsilon");
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_quad_functions),
	    cmocka_unit_test(conversions),
	    cmocka_unit_test(mechanisms),
	    cmocka_unit_test(delta_near_one),
	    cmocka_unit_test(terms_that_cancel),
	    cmocka_unit_test(integers),
	    cmocka_unit_test(exact),
	    cmocka_unit_test(exact_to_the_last_bits),
	    cmocka_unit_test(renyi),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
