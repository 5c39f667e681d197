// SPDX-License-Identifier: Apache-2.0
// Tests the budget of each record: dp/record_filter.c, and dp/fusion.c with it. Every course of
// events of a small vocabulary is followed in two worlds, places included: that is what the proof
// (dp/PRIVACY.md, step 51) bounds, so an adversary who is told each place is among those covered.
// It fails if a divergence of order alpha, either way round, is above the budget, if the worst
// adversary stays far below it, if a batch knows what another one used, or if a batch of an earlier
// process may use what it could have used there.
#include "tests/dp/test_dp_support.h"

#include <math.h>

#include "dp/fusion.h"
#include "dp/fusion_account.h"
#include "dp/rdp.h"
#include "dp/record_filter.h"
#include "dp/share.h"

enum { VOCAB = 3, PLACES = 3, MOST_STEPS = 5 };

/* One step of a course of events. */
struct event {
	uint32_t place;
	uint32_t token;
};

typedef void choose_fn(float (*rows)[VOCAB], uint64_t history);

struct tree {
	struct dp_fusion *mechanism;
	choose_fn *choose;
	unsigned order;
	uint32_t places, steps;
	uint32_t resumed; /* steps before which another process takes over */
	struct event course[MOST_STEPS];
	uint64_t answers[2]; /* of the source: a place, or the number of a draw */
	size_t asked;
	long double sum[2];  /* of P^alpha P'^(1-alpha), and P' against P */
	long double used[2]; /* largest product of 1 + bound of place 0 */
};

static enum dp_status fill_answer(void *user, void *bytes, size_t size) {
	struct tree *t = user;
	assert_int_equal(size, 8);
	memcpy(bytes, &t->answers[t->asked++], 8);
	return DP_OK;
}

/* The row takes as much as it may get: a token the public row gives a tenth. */
static void push(float (*rows)[VOCAB], uint64_t history) {
	for (size_t j = 0; j <= PLACES; j++)
		for (size_t i = 0; i < VOCAB; i++)
			rows[j][i] = j == 0 ? (i == history % 2 ? -2.2f
			                       : i == 2         ? -20
			                                        : 0)
			                    : (i == history % 2 ? 3
			                       : i == 2         ? -25
			                                        : 0);
}

/* Now near the public row, now far away. */
static void come_and_go(float (*rows)[VOCAB], uint64_t history) {
	uint64_t of = history;
	for (size_t i = 0; i < VOCAB; i++) rows[0][i] = test_between(&of, -3, 3);
	for (size_t j = 1; j <= PLACES; j++) {
		const float far = test_below(&of, 2) ? .2f : 5;
		for (size_t i = 0; i < VOCAB; i++)
			rows[j][i] = rows[0][i] + test_between(&of, -far, far);
	}
}

/* A row whose own past decides whether it costs: a place that is silent for two steps. */
static void late(float (*rows)[VOCAB], uint64_t history) {
	push(rows, history);
	if (history < 13)
		for (size_t j = 1; j <= PLACES; j++) memcpy(rows[j], rows[0], sizeof rows[j]);
}

/* The law of step `step` after t->course, of the place `place`; place 0 is null with `blank`. */
static void law_after(struct tree *t, uint32_t step, uint32_t place, bool blank, long double *law) {
	uint64_t history = 1;
	for (uint32_t s = 0; s <= step; s++) {
		const struct event *event = &t->course[s];
		const uint32_t at = s < step ? event->place : place;
		float rows[PLACES + 1][VOCAB];
		struct dp_wanted wanted;
		t->choose(rows, history);
		t->asked = 0;
		t->answers[0] = at;
		dp_fusion_turn(t->mechanism, 4, s == 0 || s == t->resumed);
		dp_fusion_begin(t->mechanism, t->places, s);
		assert_int_equal(dp_fusion_open(t->mechanism, rows[0], false, &wanted), DP_OK);
		assert_int_equal(wanted.place, at);
		if (!(blank && at == 0)) dp_fusion_row(t->mechanism, at, rows[at + 1]);
		const struct dp_fusion_step now = dp_fusion_inspect(t->mechanism);
		uint64_t prefix[VOCAB + 1] = {0};
		for (size_t y = 0; y < VOCAB; y++)
			prefix[y + 1] = prefix[y] + (DP_SHARE_ONE - now.share) * now.a[y] +
			                (uint64_t)now.share * now.b[y];
		if (s == step) {
			for (size_t y = 0; y < VOCAB; y++)
				law[y] = (long double)(prefix[y + 1] - prefix[y]) / 0x1p62L;
			return;
		}
		uint32_t token;
		enum dp_fate fate;
		t->answers[1] = prefix[event->token];
		assert_int_equal(dp_fusion_draw(t->mechanism, &token, &fate), DP_OK);
		assert_int_equal(token, event->token);
		history = history * VOCAB + token + 1;
	}
}

static void walk(struct tree *t, uint32_t step, long double p, long double q) {
	if (step == t->steps) {
		t->sum[0] += p * powl(p / q, t->order - 1);
		t->sum[1] += q * powl(q / p, t->order - 1);
		return;
	}
	for (uint32_t place = 0; place < t->places; place++) {
		long double with[VOCAB], without[VOCAB];
		law_after(t, step, place, false, with);
		law_after(t, step, place, true, without);
		for (uint32_t y = 0; y < VOCAB; y++) {
			t->course[step] = (struct event){place, y};
			walk(t, step + 1, p * with[y] / t->places, q * without[y] / t->places);
		}
	}
}

static struct dp_fusion_params filtered_params(struct tree *t, const double *each, double budget) {
	return (struct dp_fusion_params){.rule = DP_FUSION_BOUNDED,
	                                 .order = t->order,
	                                 .least_places = t->places,
	                                 .most_places = t->places,
	                                 .divergences = each,
	                                 .budget = budget,
	                                 .tokens = 100,
	                                 .vocab = VOCAB,
	                                 .temperature_num = 1,
	                                 .temperature_den = 1,
	                                 .random = {fill_answer, t}};
}

static void every_course(void **state) {
	(void)state;
	static const struct {
		choose_fn *choose;
		unsigned order;
		uint32_t places, steps, resumed;
		double divergence, budget;
		long double least; /* the part of the budget that must be reached */
		long double most;  /* and more than which must not */
	} cases[] = {
	    {push, 2, 1, 5, 99, .05, .1, .95L, 1},       {push, 4, 1, 5, 99, .05, .12, .95L, 1},
	    {push, 2, 1, 5, 99, .4, .1, .9L, 1},         {late, 2, 1, 5, 99, .05, .1, .9L, 1},
	    {push, 3, 2, 4, 99, .3, .2, .6L, 1},         {push, 2, 3, 3, 99, .3, .2, .3L, 1},
	    {come_and_go, 2, 1, 5, 99, .3, .2, .01L, 1}, {come_and_go, 5, 2, 4, 99, .3, .2, 0, 1},
	    {push, 2, 1, 5, 1, .05, .1, .9L, 1},         {push, 2, 1, 5, 2, .05, .1, .9L, 1},
	    {late, 2, 1, 5, 2, .05, .1, 0, .001L},       {push, 2, 2, 4, 2, .3, .2, 0, 1},
	};
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		struct tree t = {.choose = cases[c].choose,
		                 .order = cases[c].order,
		                 .places = cases[c].places,
		                 .steps = cases[c].steps,
		                 .resumed = cases[c].resumed};
		const double each[PLACES] = {cases[c].divergence, cases[c].divergence,
		                             cases[c].divergence},
		             budget = cases[c].budget;
		const struct dp_fusion_params params = filtered_params(&t, each, budget);
		assert_int_equal(dp_fusion_new(&params, &t.mechanism), DP_OK);
		walk(&t, 0, 1, 1);
		dp_fusion_free(&t.mechanism);
		const long double reached =
		    logl(fmaxl(t.sum[0], t.sum[1])) / (t.order - 1) / (long double)budget;
		if (!(reached <= cases[c].most + 1e-12L && reached >= cases[c].least - 1e-12L))
			fail_msg("case %zu: %.6Lf of the budget", c, reached);
	}
}

/* The claim: one unit, the batch, costs the budget, at the order and below, whatever T is; the
 * table has a turn. */
static void the_claim(void **state) {
	(void)state;
	struct tree t = {.order = 4, .places = 2};
	const double each[PLACES] = {.3, .3, .3};
	const struct dp_fusion_params params = filtered_params(&t, each, 2);
	struct dp_mechanism table;
	assert_int_equal(dp_fusion_mechanism(&params, &table), DP_OK);
	assert_non_null(table.turn);
	assert_int_equal(table.claim.units, 1);
	assert_true(table.claim.event.size >= 2 && table.claim.event.size <= 2);
	assert_int_equal(table.claim.event.parts, 1);
	struct dp_rdp_event all = table.claim.event;
	all.count = table.claim.units;
	const double whole = dp_rdp_loss(&all, 1, 4), lower = dp_rdp_loss(&all, 1, 1.5);
	assert_true(whole >= 2 && whole < 2 + 1e-12 && lower >= 2);
	assert_true(isinf(dp_rdp_loss(&all, 1, 4.5)));
	table.free(table.self);
}

/* ---- the filter by itself -------------------------------------------------------------------- */

static void same(double x, double want) {
	if (!(fabs(x - want) <= 1e-13 && x <= want)) fail_msg("%.17g, not %.17g", x, want);
}

static void sums(void **state) {
	(void)state;
	struct dp_record_filter *f = dp_record_filter_new(2, 2, .5, .3);
	assert_non_null(f);
	assert_misuse(dp_record_filter_begin(f, 0)); /* no batch yet */
	assert_misuse((void)dp_record_filter_left(f, 0));
	dp_record_filter_turn(f, 7, true);
	dp_record_filter_begin(f, 0);
	assert_misuse((void)dp_record_filter_left(f, 2));
	assert_misuse(dp_record_filter_pay(f, 0, -1));
	same(dp_record_filter_left(f, 0), .3);
	dp_record_filter_step(f);
	dp_record_filter_pay(f, 0, .2);
	dp_record_filter_turn(f, 7, false);
	dp_record_filter_begin(f, 1);
	dp_record_filter_step(f);
	dp_record_filter_pay(f, 0, .3);
	/* e^0.5 is 1.6487212707; 1.2 times 1.3 is 1.56 */
	same(dp_record_filter_left(f, 0), exp(.5) / 1.56 - 1);
	same(dp_record_filter_left(f, 1), .3); /* the other place has lost nothing */
	dp_record_filter_pay(f, 0, dp_record_filter_left(f, 0));
	assert_true(dp_record_filter_left(f, 0) < 1e-12);
	/* Another batch in flight, and the first one again. */
	dp_record_filter_turn(f, 8, true);
	dp_record_filter_begin(f, 0);
	same(dp_record_filter_left(f, 0), .3);
	dp_record_filter_turn(f, 7, false);
	assert_true(dp_record_filter_left(f, 0) < 1e-12);
	/* Another batch in the same slot: nothing is left of the earlier one. */
	dp_record_filter_turn(f, 7, true);
	dp_record_filter_begin(f, 0);
	same(dp_record_filter_left(f, 0), .3);
	/* Taken up with one token of an earlier process: it cost every place the cap. */
	dp_record_filter_turn(f, 7, true);
	dp_record_filter_begin(f, 1);
	same(dp_record_filter_left(f, 0), exp(.5) / 1.3 - 1);
	same(dp_record_filter_left(f, 1), exp(.5) / 1.3 - 1);
	dp_record_filter_begin(f, 4);
	assert_true(dp_record_filter_left(f, 1) <= 0);
	dp_record_filter_turn(f, 7, true);
	dp_record_filter_begin(f, UINT32_MAX);
	assert_true(dp_record_filter_left(f, 1) <= 0);
	assert_misuse(dp_record_filter_turn(f, 9, false)); /* a slot that nothing was in */
	assert_misuse(dp_record_filter_turn(f, DP_MECHANISM_SLOTS, true));
	dp_record_filter_free(f);
	dp_record_filter_free(NULL);
	assert_misuse((void)dp_record_filter_new(0, 2, 1, 1));
	assert_misuse((void)dp_record_filter_new(DP_FILTER_PLACES + 1, 2, 1, 1));
	assert_misuse((void)dp_record_filter_new(1, 1, 1, 1));
	assert_misuse((void)dp_record_filter_new(1, 2, 701, 1));
	assert_misuse((void)dp_record_filter_new(1, 2, 0, 1));
	assert_misuse((void)dp_record_filter_new(1, 2, 1, 0));
}

/* Never more than the budget, by long doubles, however many bounds are paid. */
static void products(void **state) {
	(void)state;
	uint64_t seed = 51;
	for (int i = 0; i < test_cases(2000); i++) {
		const unsigned order = 2 + (unsigned)test_below(&seed, 15);
		const double budget = exp2(test_between(&seed, -12, 5)),
		             cap = exp2(test_between(&seed, -30, 3));
		if ((order - 1) * budget > 700) continue;
		struct dp_record_filter *f = dp_record_filter_new(1, order, budget, cap);
		assert_non_null(f);
		dp_record_filter_turn(f, 0, true);
		long double used = 0;
		for (uint32_t step = 0; step < 300; step++) {
			dp_record_filter_begin(f, step);
			const double left = dp_record_filter_left(f, 0),
			             bound = test_below(&seed, 3)
			                         ? left
			                         : left * test_between(&seed, 0, 1);
			assert_true(left >= 0 && left <= cap);
			dp_record_filter_step(f);
			dp_record_filter_pay(f, 0, bound);
			used += log1pl((long double)bound);
		}
		assert_true(used <= (order - 1) * (long double)budget * (1 + 1e-17L));
		if (cap > .1 && budget < 1)
			assert_true(used >= (order - 1) * (long double)budget * .99L);
		dp_record_filter_free(f);
	}
}

/* A row near the public one costs little: many more steps than the cap allows are still mixed. */
static void what_is_saved(void **state) {
	(void)state;
	struct tree t = {.order = 2, .places = 1};
	const double each[1] = {.1};
	const struct dp_fusion_params params = filtered_params(&t, each, .3);
	assert_int_equal(dp_fusion_new(&params, &t.mechanism), DP_OK);
	const float public[VOCAB] = {1, 0, -1}, near[VOCAB] = {1.05f, 0, -1},
	            far[VOCAB] = {-5, 0, 5};
	uint32_t mixed = 0;
	for (uint32_t s = 0; s < 100; s++) {
		struct dp_wanted wanted;
		uint32_t token;
		enum dp_fate fate;
		t.asked = 0;
		dp_fusion_turn(t.mechanism, 0, s == 0);
		dp_fusion_begin(t.mechanism, 1, s);
		assert_int_equal(dp_fusion_open(t.mechanism, public, false, &wanted), DP_OK);
		dp_fusion_row(t.mechanism, 0, s < 90 ? near : far);
		mixed += dp_fusion_inspect(t.mechanism).share > 0;
		if (s < 90) assert_true(dp_fusion_inspect(t.mechanism).share > 50000);
		assert_int_equal(dp_fusion_draw(t.mechanism, &token, &fate), DP_OK);
	}
	assert_true(mixed > 90 && mixed < 97);
	dp_fusion_free(&t.mechanism);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_course), cmocka_unit_test(the_claim),     cmocka_unit_test(sums),
	    cmocka_unit_test(products),     cmocka_unit_test(what_is_saved),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
