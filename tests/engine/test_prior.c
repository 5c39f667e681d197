// SPDX-License-Identifier: Apache-2.0
// Tests the token prior through the public API: engine/run/plan/prior.c and the plans that it
// serves, on a tiny model whose tokens are bytes. It fails if a plan's guarantee is not that of
// texts and prior together, if a null record is counted, if public weights are not moved as prior.h
// says, or if a plan takes what a prior does not go with.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dp/invisibleink.h"
#include "engine/cuttle.h"
#include "engine/run/plan/plan.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS = 4000, TEXTS = 40 };

static struct cuttle_plan_params params_of(double rho) {
	struct cuttle_plan_params params;
	cuttle_plan_params_default(&params);
	params.epsilon = 3;
	params.batch = 7;
	params.tokens = 20;
	params.accountant = CUTTLE_ZCDP;
	params.token_prior = rho;
	return params;
}

static struct cuttle_plan *make_plan(struct cuttle_model *model,
                                     const struct cuttle_plan_params *params) {
	struct cuttle_plan *plan;
	struct cuttle_error error;
	assert_int_equal(cuttle_plan_make(model, params, &plan, &error), CUTTLE_OK);
	return plan;
}

static void plans(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_guarantee with, without;
	struct cuttle_budget budget;
	struct cuttle_plan_params params = params_of(0);
	struct cuttle_plan *plan = make_plan(model, &params);
	cuttle_plan_describe(plan, &without);
	cuttle_plan_free(&plan);
	assert_true(without.token_prior == 0.0);
	for (int spread = 1; spread < 4; spread += 2) {
		params = params_of(0.05);
		params.spread = (uint32_t)spread;
		plan = make_plan(model, &params);
		cuttle_plan_describe(plan, &with);
		cuttle_plan_free(&plan);
		assert_true(with.token_prior == 0.05);
		assert_true(with.epsilon <= 3 && with.epsilon > 2.98);
		assert_true(with.epsilon_if_known == with.epsilon);
		assert_true(isnan(with.epsilon_exact) && with.accountant == CUTTLE_ZCDP);
		assert_true(with.clip < without.clip);
		cuttle_budget_none(&budget);
		budget.clip = with.clip * with.gain;
		budget.temperature = 1;
		budget.batch = 7;
		budget.tokens = 20 * (uint32_t)spread;
		assert_int_equal(cuttle_budget_solve(&budget, CUTTLE_RHO, NULL), CUTTLE_OK);
		// A batch has 2e-9 on top of the formula.
		assert_true(with.rho >= budget.rho + 0.05);
		assert_true(with.rho <= budget.rho * (1 + 3e-9) + 0.05 + 1e-12);
		assert_true(fabs(cuttle_prior_rho(0.05, budget.rho) - budget.rho - 0.05) < 1e-12);
	}
	// A clip that is given stays, and costs so much more.
	params = params_of(0.05);
	params.epsilon = NAN;
	params.clip = 0.25;
	plan = make_plan(model, &params);
	cuttle_plan_describe(plan, &with);
	cuttle_plan_free(&plan);
	params.token_prior = 0;
	plan = make_plan(model, &params);
	cuttle_plan_describe(plan, &without);
	cuttle_plan_free(&plan);
	assert_true(with.clip == 0.25 && with.epsilon > without.epsilon);
	assert_true(with.rho >= without.rho + 0.05 && with.rho < without.rho + 0.0500001);

	static const double wrong[] = {-1, 0.0009, 101, NAN, INFINITY};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		params = params_of(wrong[i]);
		assert_int_equal(cuttle_plan_make(model, &params, &plan, NULL), CUTTLE_USAGE);
	}
	params = params_of(0.05);
	params.accountant = CUTTLE_EXACT;
	assert_int_equal(cuttle_plan_make(model, &params, &plan, NULL), CUTTLE_USAGE);
	const struct cuttle_lots lots = {.records = RECORDS, .batches = 500, .used = 10};
	params = params_of(0.05);
	params.lots = &lots;
	params.lot_count = 1;
	assert_int_equal(cuttle_plan_make(model, &params, &plan, NULL), CUTTLE_USAGE);
	params = params_of(0.5);
	params.epsilon = 1;
	assert_int_equal(cuttle_plan_make(model, &params, &plan, NULL), CUTTLE_USAGE);
	cuttle_model_free(&model);
}

/* Of the records three quarters say "abc", the rest nothing that can be read. */
static void give_record(void *user, size_t index, const char **text, size_t *size) {
	size_t *asked = user;
	assert_int_equal(index, (*asked)++);
	*text = index % 4 ? "abcabc" : index % 8 ? NULL : "  ";
	*size = *text ? strlen(*text) : 0;
}

static const char *texts[TEXTS];

static void counts(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	const struct cuttle_plan_params params = params_of(0.05), none = params_of(0);
	struct cuttle_plan *plan = make_plan(model, &params), *without = make_plan(model, &none);
	struct cuttle_prior_token *kept = NULL, *again = NULL;
	size_t count, other, asked = 0;
	const uint64_t seed = 3;
	assert_int_equal(
	    cuttle_prior_draw(plan, RECORDS, give_record, &asked, &seed, &kept, &count, NULL),
	    CUTTLE_OK);
	assert_int_equal(asked, RECORDS);
	size_t letters = 0;
	for (size_t i = 0; i < count; i++) {
		assert_true(kept[i].count >= 76 && kept[i].token >= 0);
		assert_true(!i || kept[i].token > kept[i - 1].token);
		if (kept[i].count < 1000) continue; // noise alone
		letters++;
		assert_true(kept[i].count > 3000 - 200 && kept[i].count < 3000 + 200);
	}
	assert_int_equal(letters, 3);
	asked = 0;
	assert_int_equal(
	    cuttle_prior_draw(plan, RECORDS, give_record, &asked, &seed, &again, &other, NULL),
	    CUTTLE_OK);
	assert_int_equal(other, count);
	assert_memory_equal(kept, again, count * sizeof *kept);
	free(again);
	// Bits of the system are others each time.
	bool differ = false;
	for (int n = 0; n < 3; n++) {
		asked = 0;
		assert_int_equal(cuttle_prior_draw(plan, RECORDS, give_record, &asked, NULL, &again,
		                                   &other, NULL),
		                 CUTTLE_OK);
		differ |= other != count || memcmp(again, kept, count * sizeof *kept) != 0;
		free(again);
	}
	assert_true(differ);
	asked = 0;
	assert_int_equal(
	    cuttle_prior_draw(without, RECORDS, give_record, &asked, &seed, &again, &other, NULL),
	    CUTTLE_USAGE);
	assert_true(!again && !asked);
	assert_int_equal(cuttle_prior_use(without, kept, count, texts, TEXTS, NULL), CUTTLE_USAGE);
	assert_int_equal(cuttle_prior_use(plan, kept, count, texts, 19, NULL), CUTTLE_USAGE);
	struct cuttle_prior_token wrong[2] = {{'a', 5}, {'a', 5}};
	assert_int_equal(cuttle_prior_use(plan, wrong, 2, texts, TEXTS, NULL), CUTTLE_USAGE);
	for (int n = 0; n < 4; n++) {
		static const struct cuttle_prior_token bad[4] = {
		    {-1, 5}, {TINY_VOCAB, 5}, {'a', 0}, {TINY_START, 5}};
		assert_int_equal(cuttle_prior_use(plan, &bad[n], 1, texts, TEXTS, NULL),
		                 CUTTLE_USAGE);
	}
	free(kept);
	cuttle_plan_free(&plan);
	cuttle_plan_free(&without);
	cuttle_model_free(&model);
}

/* The public weight of a token after equal logits, less what rounding may do. */
static double weight_of(struct cuttle_plan *plan, int32_t token) {
	float logits[TINY_VOCAB] = {0};
	const uint32_t *candidates;
	size_t count, at = 0;
	uint32_t drawn;
	dp_invisibleink_begin(plan->traced, 0);
	assert_int_equal(dp_invisibleink_public(plan->traced, logits, &candidates, &count), 0);
	while (at < count && candidates[at] != (uint32_t)token) at++;
	assert_true(at < count);
	const double weight = (double)dp_invisibleink_public_weight(plan->traced, at);
	assert_int_equal(dp_invisibleink_draw(plan->traced, &drawn), 0);
	return weight;
}

/* Of the public texts all have "a", half have "b", none "c". Noisy counts of 1000 each are a third
 * of all three; the public shares are 40.5, 20.5 and 0.5 of 61.5. */
static void weights(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	for (int n = 0; n < 2; n++) {
		struct cuttle_plan_params params = params_of(0.05);
		params.temperature = n ? 1.5 : 1;
		params.top_k = 0;
		struct cuttle_plan *plan = make_plan(model, &params);
		const struct cuttle_prior_token kept[3] = {{'a', 1000}, {'b', 1000}, {'c', 1000}};
		assert_true(weight_of(plan, 'a') == weight_of(plan, 'x'));
		assert_int_equal(cuttle_prior_use(plan, kept, 3, texts, TEXTS, NULL), CUTTLE_OK);
		const double rest = weight_of(plan, 'x');
		static const double ratio[3] = {61.5 / 3 / 40.5, 61.5 / 3 / 20.5, 4};
		for (int i = 0; i < 3; i++)
			assert_true(fabs(weight_of(plan, 'a' + i) / rest / pow(ratio[i], 0.2) - 1) <
			            ldexp(1, -(int)plan->guarantee.fraction_bits));
		// Without any token that stands out all is as before.
		assert_int_equal(cuttle_prior_use(plan, NULL, 0, texts, TEXTS, NULL), CUTTLE_OK);
		assert_true(weight_of(plan, 'c') == weight_of(plan, 'x'));
		cuttle_plan_free(&plan);
	}
	cuttle_model_free(&model);
}

int main(void) {
	for (int i = 0; i < TEXTS; i++) texts[i] = i % 2 ? "aab" : "ad";
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(plans),
	    cmocka_unit_test(counts),
	    cmocka_unit_test(weights),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
