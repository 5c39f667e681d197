// SPDX-License-Identifier: Apache-2.0
// Tests dp/fusion_account.c, what DP-Fusion promises: a table of losses and epsilons, a
// loss against dp/rdp.c and against itself, the planner, and what a caller may not do.
// It fails if a number of the table is off by more than 1e-9, if a promise is below the formula, or
// if a planned divergence costs more than was asked for.
#include "tests/dp/test_dp_support.h"

#include <float.h>
#include <math.h>

#include "dp/fusion_account.h"
#include "dp/rdp.h"

enum { GROUPS = 8 };

static double loss_of_one(unsigned order, double divergence, uint32_t places) {
	return dp_fusion_loss(order, &divergence, 1, places);
}

static double loss_of_all(unsigned order, double divergence, uint32_t places) {
	double each[GROUPS];
	for (size_t i = 0; i < GROUPS; i++) each[i] = divergence;
	return dp_fusion_loss(order, each, places, places);
}

static void expect_number(double got, double want, double part) {
	if (!(fabs(got - want) <= part * want)) fail_msg("got %.14g, want %.14g", got, want);
}

static void the_table_of_the_note(void **state) {
	(void)state;
	static const struct {
		uint32_t tokens;
		double divergence, epsilon[3]; /* of one group of 1, 3, 8 */
	} table[] = {{900, 0.001, {6.42146091786, 5.82156092897, 5.63401014892}},
	             {900, 0.01, {14.5214609179, 8.53147200110, 6.65139511163}},
	             {900, 0.1, {95.5214609179, 36.5322850712, 17.2760920565}},
	             {500, 0.1, {55.5214609179, 22.7496965586, 12.0518115505}}};
	static const uint32_t places[3] = {1, 3, 8};
	for (size_t i = 0; i < 4; i++)
		for (size_t m = 0; m < 3; m++) {
			const double c = table[i].divergence;
			const uint32_t tokens = table[i].tokens;
			expect_number(
			    dp_fusion_epsilon(loss_of_one(2, c, places[m]), tokens, 2, 1e-3),
			    table[i].epsilon[m], 1e-9);
			/* all groups together: the 1/m is gone */
			expect_number(
			    dp_fusion_epsilon(loss_of_all(2, c, places[m]), tokens, 2, 1e-3),
			    table[i].epsilon[0], 1e-9);
		}
	static const struct {
		unsigned order;
		double delta;
		uint32_t tokens;
		double divergence;
		uint32_t places;
		double epsilon;
	} more[] = {{2, 1e-6, 900, 0.1, 8, 24.183847335504},
	            {4, 1e-3, 900, 0.01, 1, 10.552804900169},
	            {4, 1e-5, 900, 0.01, 5, 4.9095912882309},
	            {16, 1e-6, 256, 0.02, 1, 5.7916562679107},
	            {3, 1e-4, 1, 0.5, 2, 3.9604561870250}};
	for (size_t i = 0; i < 5; i++)
		expect_number(dp_fusion_epsilon(
		                  loss_of_one(more[i].order, more[i].divergence, more[i].places),
		                  more[i].tokens, more[i].order, more[i].delta),
		              more[i].epsilon, 1e-9);
	expect_number(dp_fusion_epsilon_exchange(0.01, 900, 2, 1e-3), 45.473925, 1e-7);
	expect_number(dp_fusion_epsilon_exchange(0.01, 900, 4, 1e-3), 25.154362, 1e-7);
	expect_number(dp_fusion_epsilon_exchange(0.01, 900, 8, 1e-3), 20.689138, 1e-7);
	expect_number(dp_fusion_ceiling(0.22314355, 1, 2, 1e-3, 5), 0.5, 1e-7);
	expect_number(dp_fusion_ceiling(0.81726971, 1, 8, 1e-9, 5), 0.5, 1e-7);
	/* the strictest setting of the paper that its main figure shows: no ceiling */
	assert_true(dp_fusion_ceiling(0.01, 900, 2, 1e-3, 5) == 1);
}

/* One group is an event of dp/rdp.h; of two groups one may cost next to nothing; losses grow with
 * the groups blanked, and all together cost the divergence. */
static void losses_agree(void **state) {
	(void)state;
	uint64_t seed = 9;
	for (int i = 0; i < test_cases(20000); i++) {
		const unsigned order = 2 + (unsigned)test_below(&seed, 15);
		const uint32_t places = 1 + (uint32_t)test_below(&seed, GROUPS);
		const double c = exp2(test_between(&seed, -30, 5));
		const struct dp_rdp_event event = {
		    .kind = DP_RDP_MIXTURE, .count = 1, .size = c, .order = order, .parts = places};
		const double one = loss_of_one(order, c, places),
		             all = loss_of_all(order, c, places);
		assert_true(one == dp_rdp_loss(&event, 1, order));
		assert_true(all >= c && all <= c * (1 + 1e-12) && one <= all);
		if (places < 2) continue;
		const double pair[2] = {c, c * 0x1p-60};
		const double both = dp_fusion_loss(order, pair, 2, places);
		assert_true(both >= one * (1 - 1e-15) && both <= one * (1 + 1e-12));
		/* F3: one group costs what was planned, two of them four times as much or less */
		assert_true(dp_fusion_capped_loss(c, 1) >= c &&
		            dp_fusion_capped_loss(c, 1) <= c * (1 + 1e-12));
		assert_true(dp_fusion_capped_loss(c, 2) <= 4 * c * (1 + 1e-12) &&
		            dp_fusion_capped_loss(c, 2) > c);
	}
}

/* Nothing promised is below its formula in long double, nor far above it. */
static void promises_go_up(void **state) {
	(void)state;
	uint64_t seed = 10;
	for (int i = 0; i < test_cases(20000); i++) {
		const unsigned order = 2 + (unsigned)test_below(&seed, 15);
		const uint32_t tokens = 1 + (uint32_t)test_below(&seed, 5000),
		               values = 2 + (uint32_t)test_below(&seed, 1000);
		const double loss = exp2(test_between(&seed, -14, 0)) / tokens * 64,
		             delta = exp2(test_between(&seed, -40, -2));
		const long double b = order - 1, total = (long double)loss * tokens,
		                  shift = log1pl(-1.0L / order) -
		                          logl((long double)order * (long double)delta) / b,
		                  epsilon = total + shift;
		const double told = dp_fusion_epsilon(loss, tokens, order, delta);
		if (epsilon > 0) {
			assert_true(told >= epsilon - 1e-17L &&
			            told <= epsilon + 1e-12L * (total + fabsl(shift) + 1));
		} else assert_true(told == DBL_MIN);
		const long double by_order = expl((total - logl((long double)values)) * b / order);
		const long double by_epsilon =
		    expl((long double)told) / values + (long double)delta;
		const double ceiling = dp_fusion_ceiling(loss, tokens, order, delta, values);
		const long double least = fminl(1, fminl(by_order, by_epsilon));
		assert_true(ceiling >= least * (1 - 1e-17L) && ceiling <= least * (1 + 1e-12L));
		/* an exchange costs more than blanking, and at least twice its loss */
		assert_true(dp_fusion_epsilon_exchange(loss, tokens, order, delta) >= told);
	}
}

/* A planned divergence is within what was asked for, and a hair more is not. */
static void plans_are_within(void **state) {
	(void)state;
	uint64_t seed = 12;
	int refused = 0;
	for (int i = 0; i < test_cases(3000); i++) {
		const double epsilon = exp2(test_between(&seed, -4, 8)),
		             delta = exp2(test_between(&seed, -40, -1));
		const uint32_t tokens = 1 + (uint32_t)test_below(&seed, i % 2 ? 2000 : 3),
		               places = 1 + (uint32_t)test_below(&seed, 20);
		struct dp_fusion_plan plan = {7, 7};
		if (dp_fusion_plan_bounded(epsilon, delta, tokens, places, &plan) != DP_OK) {
			refused++;
			assert_true(plan.order == 7 && plan.divergence == 7);
			/* order 16 would be the last to allow something */
			assert_true(dp_rdp_epsilon_at(0, 16, delta) >= epsilon * (1 - 1e-12));
			continue;
		}
		assert_true(plan.order >= 2 && plan.order <= 16);
		const double most = 700.0 / (plan.order - 1), more = plan.divergence * (1 + 1e-9);
		assert_true(plan.divergence <= most);
		assert_true(dp_fusion_epsilon(loss_of_one(plan.order, plan.divergence, places),
		                              tokens, plan.order, delta) <= epsilon);
		/* where epsilon is little more than what delta takes, the difference loses digits
		 */
		if (more <= most && plan.divergence * tokens > epsilon / 100)
			assert_true(dp_fusion_epsilon(loss_of_one(plan.order, more, places), tokens,
			                              plan.order, delta) > epsilon);
		const double capped =
		    dp_fusion_divergence(DP_FUSION_CAPPED, epsilon, delta, tokens, 1, 2);
		if (!(capped > 0)) {
			assert_true(dp_rdp_epsilon_at(0, 2, delta) >= epsilon * (1 - 1e-12));
			continue;
		}
		assert_true(dp_fusion_epsilon(dp_fusion_capped_loss(capped, 1), tokens, 2, delta) <=
		            epsilon);
	}
	assert_true(refused > 0);
	/* no order reaches this; and one token at an epsilon beyond all: the largest divergence */
	struct dp_fusion_plan plan;
	assert_int_equal(dp_fusion_plan_bounded(0.001, 1e-9, 900, 1, &plan), DP_BAD_PARAMETER);
	assert_true(dp_fusion_divergence(DP_FUSION_CAPPED, 5, 1e-3, 900, 1, 2) == 0);
	assert_int_equal(dp_fusion_plan_bounded(1e6, 1e-3, 1, 1, &plan), DP_OK);
	assert_true(plan.order == 2 && plan.divergence <= 700 &&
	            plan.divergence > 700 * (1 - 1e-15));
}

static void caller_bugs(void **state) {
	(void)state;
	struct dp_fusion_plan plan;
	const double good[2] = {0.1, 0.1}, bad[4] = {0, -1, (double)NAN, 701};
	for (volatile int i = 0; i < 4; i++) {
		assert_misuse((void)dp_fusion_loss(2, &bad[i], 1, 1));
		assert_misuse((void)dp_fusion_capped_loss(bad[i], 1));
	}
	assert_misuse((void)dp_fusion_loss(1, good, 1, 2));
	assert_misuse((void)dp_fusion_loss(17, good, 1, 2));
	assert_misuse((void)dp_fusion_loss(2, good, 0, 2));
	assert_misuse((void)dp_fusion_loss(2, good, 2, 1));
	assert_misuse((void)dp_fusion_capped_loss(0.1, 0));
	assert_misuse((void)dp_fusion_epsilon(0, 1, 2, 0.1));
	assert_misuse((void)dp_fusion_epsilon(0.1, 0, 2, 0.1));
	assert_misuse((void)dp_fusion_epsilon(0.1, 1, 17, 0.1));
	assert_misuse((void)dp_fusion_epsilon(0.1, 1, 2, 1));
	assert_misuse((void)dp_fusion_epsilon_exchange(0.1, 1, 1, 0.1));
	assert_misuse((void)dp_fusion_epsilon_exchange(0.1, 1, 17, 0.1));
	assert_misuse((void)dp_fusion_ceiling(0.1, 1, 2, 0.1, 1));
	assert_misuse((void)dp_fusion_plan_bounded(0, 0.1, 1, 1, &plan));
	assert_misuse((void)dp_fusion_plan_bounded(1, 0, 1, 1, &plan));
	assert_misuse((void)dp_fusion_plan_bounded(1, 0.1, 0, 1, &plan));
	assert_misuse((void)dp_fusion_plan_bounded(1, 0.1, 1, 0, &plan));
	assert_misuse((void)dp_fusion_divergence(DP_FUSION_CAPPED, 0, 0.1, 1, 1, 2));
	assert_misuse((void)dp_fusion_divergence(DP_FUSION_CAPPED, 1, 1, 1, 1, 2));
	assert_misuse((void)dp_fusion_divergence(DP_FUSION_CAPPED, 1, 0.1, 0, 1, 2));
	assert_misuse((void)dp_fusion_divergence(DP_FUSION_CAPPED, 1, 0.1, 1, 1, 3));
	assert_misuse((void)dp_fusion_divergence(DP_FUSION_BOUNDED, 1, 0.1, 1, 1, 17));
	assert_misuse((void)dp_fusion_divergence(DP_FUSION_BOUNDED, 1, 0.1, 1, 1, 1));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_table_of_the_note), cmocka_unit_test(losses_agree),
	    cmocka_unit_test(promises_go_up),        cmocka_unit_test(plans_are_within),
	    cmocka_unit_test(caller_bugs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
