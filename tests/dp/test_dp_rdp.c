// SPDX-License-Identifier: Apache-2.0
// Tests dp/rdp.c, Renyi accounting, against vectors of 50 digits, brute
// force, closed forms and the zCDP accountant.
// It fails if a result is below what one of these reaches, or further above it than rounding
// explains.
#include "tests/dp/test_dp_support.h"

#include <float.h>
#include <math.h>

#include "dp/rdp.h"
#include "dp/zcdp.h"

static void assert_near(double got, double want, double part) {
	if (!(fabs(got - want) <= part * fabs(want))) fail_msg("got %.12g, want %.12g", got, want);
}

/* "exact BR-RDP + CKS": 500, 200 and 900 steps of the eta that zCDP allows for 1, 3, 5, 10 at delta
 * = 1e-6, by a second program, which rounded to 5e-6. */
static void bounded_range_of_plans(void **state) {
	(void)state;
	static const struct {
		uint32_t tokens;
		double asked, epsilon;
	} v[] = {{500, 1, 0.99866}, {500, 3, 2.99512},  {500, 5, 4.99069}, {500, 10, 9.97579},
	         {200, 1, 0.99664}, {200, 10, 9.93940}, {900, 1, 0.99926}, {900, 10, 9.98655}};
	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		const double eta = sqrt(8 * dp_rho_of_epsilon(v[i].asked, 1e-6) / v[i].tokens);
		const struct dp_rdp_event event = {
		    .kind = DP_RDP_BOUNDED_RANGE, .count = v[i].tokens, .size = eta};
		double order;
		const double epsilon = dp_rdp_epsilon(&event, 1, 1e-6, &order);
		if (fabs(epsilon - v[i].epsilon) > 6e-6)
			fail_msg("got %.9g, want %.9g", epsilon, v[i].epsilon);
		assert_true(epsilon == dp_rdp_epsilon(&event, 1, 1e-6, NULL));
		assert_true(epsilon ==
		            dp_rdp_epsilon_at(dp_rdp_loss(&event, 1, order), order, 1e-6));
		for (double other = order / 2; other < 2 * order; other *= 1.01)
			if (other > 1)
				assert_true(dp_rdp_epsilon_at(dp_rdp_loss(&event, 1, other), other,
				                              1e-6) >= epsilon * (1 - 1e-12));
	}
}

/* DP-Fusion at order 2, delta = 1e-3. The plain conversion adds ln(1/delta) / (alpha - 1); the
 * conversion here is ln 4 less at order 2. */
static void mixtures_of_plans(void **state) {
	(void)state;
	static const struct {
		uint64_t tokens;
		double divergence, alone, of_eight;
	} v[] = {{900, 0.01, 15.908, 8.038},
	         {900, 0.05, 51.908, 12.657},
	         {900, 0.10, 96.908, 18.662},
	         {500, 0.10, 56.908, 13.438}};
	for (size_t i = 0; i < sizeof v / sizeof *v; i++)
		for (uint32_t parts = 1; parts <= 8; parts += 7) {
			const struct dp_rdp_event event = {DP_RDP_MIXTURE, v[i].tokens,
			                                   v[i].divergence, 2, parts};
			const double loss = dp_rdp_loss(&event, 1, 2),
			             want = parts == 1 ? v[i].alone : v[i].of_eight;
			if (fabs(loss + log(1e3) - want) > 5.1e-4)
				fail_msg("got %.9g, want %.9g", loss + log(1e3), want);
			const double epsilon = dp_rdp_epsilon_at(loss, 2, 1e-3);
			assert_near(epsilon, loss + log(1e3) - log(4), 1e-14);
			double order;
			assert_true(dp_rdp_epsilon(&event, 1, 1e-3, &order) <= epsilon &&
			            order <= 2);
			assert_true(isinf(dp_rdp_loss(&event, 1, nextafter(2, 3))));
		}
	/* The bound of the mean grows from D/m to D with D. */
	struct dp_rdp_event event = {DP_RDP_MIXTURE, 1, 1e-9, 3, 8};
	assert_near(dp_rdp_loss(&event, 1, 3), 1e-9 / 8, 1e-8);
	event.order = 0x1p60;
	assert_true(dp_rdp_epsilon(&event, 1, 1e-3, NULL) <=
	            dp_rdp_epsilon_at(dp_rdp_loss(&event, 1, 1e9), 1e9, 1e-3));
	event.order = 3;
	event.size = 400;
	assert_near(dp_rdp_loss(&event, 1, 3), 400 - log(8) / 2, 1e-12);
	event.size = 1e5;
	assert_true(dp_rdp_loss(&event, 1, 3) >= 1e5);
}

/* D_alpha(P || P') of randomised response at t. */
static long double response(long double eta, long double t, long double order) {
	const long double p = expm1l(t - eta) / expm1l(-eta), b = order - 1;
	return logl(p * expl(b * t) + (1 - p) * expl(b * (t - eta))) / b;
}

/* The loss is not below that of any t, and the best t attains it. It is the same with the roles
 * exchanged, and within both simple bounds. */
static void bounded_range_is_the_worst_response(void **state) {
	(void)state;
	static const double etas[] = {0.01, 0.157, 1, 5, 30},
	                    orders[] = {1.001, 1.5, 2, 3.7, 16, 100};
	for (size_t i = 0; i < sizeof etas / sizeof *etas; i++)
		for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
			const struct dp_rdp_event event = {
			    .kind = DP_RDP_BOUNDED_RANGE, .count = 1, .size = etas[i]};
			const double loss = dp_rdp_loss(&event, 1, orders[o]);
			long double best = 0;
			for (int t = 0; t <= 20000; t++) {
				const long double here =
				    response(etas[i], (long double)etas[i] * t / 20000, orders[o]);
				if (here > best) best = here;
			}
			if (!(loss >= best && loss <= best * (1 + 1e-3L)))
				fail_msg("eta %g, order %g: %.12g", etas[i], orders[o], loss);
			assert_true(loss <= orders[o] * etas[i] * etas[i] / 8 * (1 + 1e-15) &&
			            loss <= etas[i] * (1 + 1e-15));
		}
	struct dp_rdp_event tiny = {.kind = DP_RDP_BOUNDED_RANGE, .count = 1, .size = 1e-100};
	assert_near(dp_rdp_loss(&tiny, 1, 2), 2e-200 / 8, 1e-12);
	tiny.size = 1e100;
	assert_near(dp_rdp_loss(&tiny, 1, 2), 1e100, 1e-12);
	tiny.size = 1e-9;
	assert_near(dp_rdp_loss(&tiny, 1, DP_RDP_ORDER), 1e-9, 0.1);
}

/* A Gaussian is (size^2 / 2)-zCDP, and no better. Events add up. */
static void gaussians(void **state) {
	(void)state;
	uint64_t seed = 41;
	for (int i = 0; i < 200; i++) {
		const double noise = exp2(test_between(&seed, -8, 3)),
		             delta = exp2(test_between(&seed, -60, -1));
		const uint64_t count = 1 + test_below(&seed, 40);
		const struct dp_rdp_event events[2] = {
		    {.kind = DP_RDP_GAUSSIAN, .count = count, .size = noise},
		    {.kind = DP_RDP_GAUSSIAN, .count = 1, .size = noise / 2}};
		const double rho = ((double)count + 0.25) * noise * noise / 2;
		assert_near(dp_rdp_epsilon(events, 2, delta, NULL), dp_epsilon_of_rho(rho, delta),
		            1e-9);
		assert_near(dp_rdp_loss(events, 2, 5), 5 * rho, 1e-14);
		assert_true(dp_rdp_loss(events, 1, 5) < dp_rdp_loss(events, 2, 5));
	}
	/* AugPE's setting for epsilon = 1: 10 iterations, add or remove; the Gaussian's own curve
	 * has 1.0045 at this delta. */
	const struct dp_rdp_event augpe = {.kind = DP_RDP_GAUSSIAN, .count = 10, .size = 1 / 15.34};
	const double epsilon = dp_rdp_epsilon(&augpe, 1, 1 / (1939290 * log(1939290)), NULL);
	assert_true(epsilon > 1.0045 && epsilon < 1.0045 * 1.08);
	assert_true(dp_rdp_loss(NULL, 0, 2) == 0);
	assert_true(dp_rdp_epsilon_at(0, 2, 0.9) == DBL_MIN);
	assert_true(isinf(dp_rdp_epsilon_at(INFINITY, 2, 0.9)));
	const struct dp_rdp_event vast = {
	    .kind = DP_RDP_GAUSSIAN, .count = UINT64_MAX, .size = 1e200};
	assert_true(isinf(dp_rdp_epsilon(&vast, 1, 1e-6, NULL)));
}

/* The loss found fits, and the next double does not. Most of it comes back from an epsilon. */
static void losses_of_an_epsilon(void **state) {
	(void)state;
	static const double deltas[] = {1e-300, 1e-6, 1e-3, 0.25, 0.9},
	                    epsilons[] = {DBL_MIN, 1e-9, 0.1, 5, 12.5, 100, 1e6, 1e300, DBL_MAX};
	int found = 0;
	for (int order = 2; order <= 16; order++)
		for (size_t d = 0; d < sizeof deltas / sizeof *deltas; d++)
			for (size_t e = 0; e < sizeof epsilons / sizeof *epsilons; e++) {
				const double delta = deltas[d], epsilon = epsilons[e],
				             loss = dp_rdp_loss_at(epsilon, order, delta);
				assert_true(loss >= 0 && isfinite(loss));
				assert_true(!(loss > 0) ||
				            dp_rdp_epsilon_at(loss, order, delta) <= epsilon);
				const double next = nextafter(loss, (double)INFINITY);
				assert_true(!(dp_rdp_epsilon_at(next, order, delta) <= epsilon));
				found += loss > 0;
			}
	assert_true(found > 200);
	/* Order 2, delta 1e-6: epsilon = loss + ln(1/2) - ln(2e-6), which is 12.4292 for loss 0. */
	assert_near(dp_rdp_loss_at(15, 2, 1e-6), 15 + log(4e-6), 1e-14);
	assert_true(dp_rdp_loss_at(12.4292, 2, 1e-6) == 0 && dp_rdp_loss_at(12.4293, 2, 1e-6) > 0);
	assert_near(dp_rdp_loss_at(dp_rdp_epsilon_at(0.3, 5, 1e-6), 5, 1e-6), 0.3, 1e-13);
}

static void misuse(void **state) {
	(void)state;
	const struct dp_rdp_event good = {DP_RDP_MIXTURE, 1, 0.1, 2, 8};
	struct dp_rdp_event bad[7];
	for (int i = 0; i < 7; i++) bad[i] = good;
	bad[0].count = 0;
	bad[1].size = 0;
	bad[2].size = (double)NAN;
	bad[3].order = 1;
	bad[4].parts = 0;
	bad[5].kind = (enum dp_rdp_kind)3;
	bad[6].size = 1e-310;
	for (volatile int i = 0; i < 7; i++) assert_misuse((void)dp_rdp_loss(&bad[i], 1, 2));
	assert_misuse((void)dp_rdp_loss(&good, 1, 1));
	assert_misuse((void)dp_rdp_loss(&good, 1, (double)INFINITY));
	assert_misuse((void)dp_rdp_epsilon_at(-1, 2, 0.1));
	assert_misuse((void)dp_rdp_epsilon_at(1, 1, 0.1));
	assert_misuse((void)dp_rdp_epsilon_at(1, (double)INFINITY, 0.1));
	assert_misuse((void)dp_rdp_epsilon_at(1, 2, 1));
	assert_misuse((void)dp_rdp_epsilon_at(1, 2, 0));
	assert_misuse((void)dp_rdp_epsilon(&good, 0, 0.1, NULL));
	assert_misuse((void)dp_rdp_loss_at(0, 2, 0.1));
	assert_misuse((void)dp_rdp_loss_at((double)INFINITY, 2, 0.1));
	assert_misuse((void)dp_rdp_loss_at(1, 1, 0.1));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bounded_range_of_plans),
	    cmocka_unit_test(mixtures_of_plans),
	    cmocka_unit_test(bounded_range_is_the_worst_response),
	    cmocka_unit_test(gaussians),
	    cmocka_unit_test(losses_of_an_epsilon),
	    cmocka_unit_test(misuse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
