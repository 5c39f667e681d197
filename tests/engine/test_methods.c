// SPDX-License-Identifier: Apache-2.0
// Tests what all methods of a plan share (engine/run/methods/methods.h). It fails if a built
// method's mechanism claims something else than a receipt would be checked against, if a method
// takes a parameter that is another's, if one that promises nothing is private, or if
// cuttle_method_account accepts numbers that no plan has. And it tests method none: its law is the
// mean's, unclipped.
#include "engine/run/methods/methods.h"
#include "engine/run/plan/plan.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "engine/cuttle.h"

/* A line a method: what a plan of it needs. */
struct method_case {
	enum cuttle_method method;
	uint32_t batch;
	double epsilon; /* NaN = the parameters below */
	double clip_width;
	bool not_private;
	uint32_t order; /* of pmixed; 0 = not given */
	bool filter;    /* of pmixed */
	double mix;     /* of dp-decoding; 0 = not given */
};

static const struct method_case CASES[] = {
    {CUTTLE_DP_PROMPT, 1, 3.0, NAN, false, 0, false, 0},
    {CUTTLE_DP_PROMPT, 1, NAN, 5.0, false, 0, false, 0},
    {CUTTLE_DP_PROMPT, 1, NAN, 50.0, false, 0, false, 0},
    {CUTTLE_NONE, 3, NAN, NAN, true, 0, false, 0},
    {CUTTLE_ADAPMIXED, 3, NAN, NAN, true, 0, false, 0},
    {CUTTLE_PMIXED, 3, 8.0, NAN, false, 0, false, 0},
    {CUTTLE_PMIXED, 3, 8, NAN, false, 4, false, 0},
    {CUTTLE_PMIXED, 3, 8, NAN, false, 4, true, 0},
    {CUTTLE_DP_DECODING, 1, NAN, NAN, false, 0, false, 0.25},
    {CUTTLE_DP_DECODING, 1, 40, NAN, false, 0, false, 0},
    {CUTTLE_AMIN, 3, 90.0, NAN, false, 0, false, 0},
};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES, TOKENS = 12 };

static struct cuttle_plan_params params_of(const struct method_case *of) {
	struct cuttle_plan_params params;
	cuttle_plan_params_default(&params);
	params.method = of->method;
	params.epsilon = of->epsilon;
	params.batch = of->batch;
	params.tokens = TOKENS;
	params.temperature = 1.75;
	params.method_params.clip_width = of->clip_width;
	params.method_params.not_private = of->not_private;
	params.method_params.order = of->order;
	params.method_params.record_filter = of->filter;
	if (of->mix > 0) params.method_params.mix = of->mix;
	return params;
}

static void same_number(double a, double b) {
	if (isnan(a) || isnan(b)) assert_true(isnan(a) && isnan(b));
	else assert_true(a == b);
}

static void claims_are_those_of_mechanisms(void **state) {
	struct cuttle_model *model = *state;
	for (size_t i = 0; i < CASE_COUNT; i++) {
		const struct cuttle_plan_params params = params_of(&CASES[i]);
		const bool promises = cuttle_method_promises(params.method);
		struct cuttle_plan *plan;
		struct cuttle_error error;
		struct cuttle_guarantee g, made;
		struct dp_claim claim;
		if (cuttle_plan_make(model, &params, &plan, &error)) fail_msg("%s", error.message);
		cuttle_plan_describe(plan, &g);
		assert_int_equal(g.private_output, promises);
		assert_int_equal(method_of(params.method)->claim(&g, &claim), DP_OK);
		assert_true(claim.eta == plan->mechanism.claim.eta &&
		            claim.threshold == plan->mechanism.claim.threshold &&
		            claim.units == plan->mechanism.claim.units &&
		            claim.null == plan->mechanism.claim.null &&
		            claim.event.size == plan->mechanism.claim.event.size &&
		            claim.data_dependent == plan->mechanism.claim.data_dependent);
		// A receipt is checked by the same numbers.
		made = g;
		made.rho = made.epsilon = made.epsilon_exact = -1;
		assert_int_equal(cuttle_method_account(&made, &error), CUTTLE_OK);
		same_number(made.rho, g.rho);
		same_number(made.epsilon, g.epsilon);
		same_number(made.epsilon_exact, g.epsilon_exact);
		same_number(made.claim.unit, g.claim.unit);
		same_number(made.claim.epsilon_pair, g.claim.epsilon_pair);
		assert_int_equal(made.accountant, g.accountant);
		assert_true(promises == (g.epsilon > 0));
		if (!isnan(params.epsilon)) {
			const double epsilon =
			    g.accountant == CUTTLE_EXACT ? g.epsilon_exact : g.epsilon;
			assert_true(epsilon <= params.epsilon && epsilon > 0.9 * params.epsilon);
		}
		// Numbers that no plan has are refused.
		made = g;
		made.tokens = 0;
		if (promises) assert_int_equal(cuttle_method_account(&made, &error), CUTTLE_USAGE);
		made = g;
		made.clip_fixed += g.clip_fixed ? 1 : 0;
		if (params.method == CUTTLE_DP_PROMPT)
			assert_int_equal(cuttle_method_account(&made, &error), CUTTLE_USAGE);
		made = g;
		made.temperature = NAN;
		if (params.method == CUTTLE_DP_PROMPT)
			assert_int_equal(cuttle_method_account(&made, &error), CUTTLE_USAGE);
		cuttle_plan_free(&plan);
	}
}

static void a_method_has_its_own_parameters(void **state) {
	struct cuttle_model *model = *state;
	size_t count;
	const struct cuttle_method_field *fields = cuttle_method_fields(&count);
	for (unsigned m = 0; m < CUTTLE_METHODS; m++)
		for (size_t i = 0; i < count; i++) {
			struct cuttle_method_params params;
			cuttle_method_params_none(&params);
			params.not_private = !cuttle_method_promises(m);
			const char *before = cuttle_method_fault(m, &params);
			if (before) continue; /* not built */
			void *at = (char *)&params + fields[i].offset;
			if (fields[i].kind == CUTTLE_FIELD_REAL) *(double *)at = 0.5;
			else if (fields[i].kind == CUTTLE_FIELD_COUNT) *(uint32_t *)at = 3;
			else *(bool *)at = true;
			const char *fault = cuttle_method_fault(m, &params);
			assert_int_equal(!fault, fields[i].methods >> m & 1);
		}
	assert_null(cuttle_method_name((enum cuttle_method)CUTTLE_METHODS));
	// What contradicts the method is refused by a plan, too, and without a model's work.
	for (int wrong = 0; wrong < 6; wrong++) {
		struct cuttle_plan_params params = params_of(&CASES[wrong < 5 ? 1 : 3]);
		struct cuttle_plan *plan;
		struct cuttle_error error;
		if (wrong == 0) params.batch = 2;
		if (wrong == 1) params.gain = 2;
		if (wrong == 2) params.clip = 1;
		if (wrong == 3) params.spread = 2;
		if (wrong == 4) params.method_params.mix = 0.5;
		if (wrong == 5) params.method_params.not_private = false;
		assert_int_equal(cuttle_plan_make(model, &params, &plan, &error), CUTTLE_USAGE);
		assert_null(plan);
	}
}

/* The law of none is exp((public + sum of (row - public) / B) / tau), however far rows differ. */
static void none_is_the_mean(void **state) {
	struct cuttle_model *model = *state;
	const struct cuttle_plan_params params = params_of(&CASES[3]);
	struct cuttle_plan *plan;
	struct cuttle_error error;
	struct dp_wanted wanted;
	float public_row[TINY_VOCAB], row[TINY_VOCAB];
	double ln_w[TINY_VOCAB];
	uint64_t seed = 5;
	if (cuttle_plan_make(model, &params, &plan, &error)) fail_msg("%s", error.message);
	const struct dp_mechanism *m = &plan->mechanism;
	for (size_t y = 0; y < TINY_VOCAB; y++)
		public_row[y] = (float)(tiny_random(&seed) % 100) / 10;
	m->begin(m->self, 3, 0);
	assert_int_equal(m->open(m->self, public_row, false, &wanted), DP_OK);
	assert_int_equal(wanted.place, DP_EVERY_PLACE);
	for (size_t i = 0; i < wanted.count; i++)
		row[i] = public_row[wanted.tokens[i]] + (float)i * 3;
	m->row(m->self, 0, row);
	row[1] = NAN; // place 1 is then as null as place 2
	m->row(m->self, 1, row);
	m->law(m->self, ln_w);
	for (size_t i = 0; i < wanted.count; i++) {
		const double want = (public_row[wanted.tokens[i]] + (double)i) / 1.75;
		assert_true(fabs(ln_w[i] - want) < 1e-5 * (1 + fabs(want)));
	}
	uint32_t token;
	enum dp_fate fate;
	const uint32_t last = wanted.tokens[wanted.count - 1];
	assert_int_equal(m->draw(m->self, &token, &fate), DP_OK);
	assert_true(token + 40 > last && fate == DP_PAID);
	m->begin(m->self, 3, TOKENS);
	assert_int_equal(m->open(m->self, public_row, false, &wanted), DP_SPENT);
	cuttle_plan_free(&plan);
}

static int open_methods_model(void **state) {
	*state = tiny_model_open_healthy(1);
	return *state == NULL;
}

static int close_methods_model(void **state) {
	struct cuttle_model *model = *state;
	cuttle_model_free(&model);
	return 0;
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(claims_are_those_of_mechanisms),
	    cmocka_unit_test(a_method_has_its_own_parameters),
	    cmocka_unit_test(none_is_the_mean),
	};
	return cmocka_run_group_tests(tests, open_methods_model, close_methods_model);
}
