// SPDX-License-Identifier: Apache-2.0
// Prints what rewriting a document with private marks costs, see fusion_budget.h.
#include "tools/common/fusion_budget.h"

#include <math.h>

/* An epsilon above this is called large. */
#define LARGE_EPSILON 12

static const char *const MIXES[] = {"all", "average", "capped"}; /* in the order of the enum */

static json_t *encode_rewrite_cost(const struct cuttle_rewrite_cost *cost) {
	const struct jsonout_member members[] = {
	    {"loss_per_token", jsonout_real(cost->loss)},
	    {"epsilon", jsonout_real(cost->epsilon)},
	    {"epsilon_exchange", jsonout_real(cost->epsilon_exchange)},
	    {"recovery_ceiling_5",
	     cost->ceiling < 1 ? jsonout_real(cost->ceiling) : json_string("none")},
	};
	return jsonout_extend(json_object(), members, sizeof members / sizeof *members);
}

static json_t *encode_rewrite_budget(const struct cuttle_rewrite_budget *budget) {
	const struct jsonout_member members[] = {
	    {"epsilon", jsonout_real(budget->epsilon)},
	    {"divergence", jsonout_real(budget->divergence)},
	    {"tokens", json_integer(budget->tokens)},
	    {"delta", jsonout_real(budget->delta)},
	    {"alpha", json_integer(budget->alpha)},
	    {"mix", json_string(MIXES[budget->mix])},
	    {"groups", json_integer(budget->groups)},
	    {"rows", json_integer(budget->all.rows)},
	    {"one_group", encode_rewrite_cost(&budget->one)},
	    {"all_groups", encode_rewrite_cost(&budget->all)},
	};
	return jsonout_extend(json_object(), members, sizeof members / sizeof *members);
}

/* One group's blanking has no bound of its own where one row shows all marks. */
static void print_rewrite_cost(const char *who, const struct cuttle_rewrite_cost *cost) {
	printf("%s: ", who);
	if (isnan(cost->epsilon)) printf("no bound of blanking it while the others are shown; ");
	else printf("blanked, epsilon %.6g (%.6g a token); ", cost->epsilon, cost->loss);
	printf("exchanged for other contents, epsilon %.6g; guessed among five values, ",
	       cost->epsilon_exchange);
	if (cost->ceiling < 1) printf("at most %.1f %% right.\n", 100 * cost->ceiling);
	else printf("none: no ceiling is proven.\n");
}

int fusion_budget_print(const struct verb *verb, struct cuttle_rewrite_budget *budget, bool json) {
	const bool wants_epsilon = isnan(budget->epsilon), wants_tokens = !budget->tokens;
	struct cuttle_error error;
	const enum cuttle_status status = cuttle_rewrite_budget_solve(budget, &error);
	if (status) return verb_fail(verb, status, &error);
	if (json) return verb_print(verb, encode_rewrite_budget(budget), JSON_COMPACT);
	const double answer = wants_epsilon  ? budget->epsilon
	                      : wants_tokens ? budget->tokens
	                                     : budget->divergence;
	verb_print_number(answer);
	printf("The %s", wants_epsilon ? "epsilon" : wants_tokens ? "tokens" : "divergence");
	printf(" with epsilon %.6g, divergence %.6g, tokens %u, delta %.6g, alpha %u, mix %s, "
	       "groups %u.\n",
	       budget->epsilon, budget->divergence, budget->tokens, budget->delta, budget->alpha,
	       MIXES[budget->mix], budget->groups);
	if (budget->groups > 1) print_rewrite_cost("One group", &budget->one);
	print_rewrite_cost("All groups", &budget->all);
	if (budget->epsilon > LARGE_EPSILON) printf("An epsilon this large proves little.\n");
	return CUTTLE_OK;
}
