// SPDX-License-Identifier: Apache-2.0
// rewrite_budget.c: see rewrite_budget.h. All formulas are those of dp/fusion_account.h. What is
// found by search is taken only after its epsilon was computed and is within what was asked for.
#include "engine/run/plan/rewrite_budget.h"

#include "base/misuse.h"
#include "dp/fusion_account.h"
#include "dp/share.h"
#include "engine/status.h"

#include <math.h>

enum { GUESSED_VALUES = 5 }; /* of the ceiling */
static const double LEAST_EPSILON = 1e-9, MOST_EPSILON = 1e9;

static enum dp_fusion_rule rule_of(const struct rewrite_terms *terms) {
	return terms->mix == CUTTLE_MIX_CAPPED ? DP_FUSION_CAPPED : DP_FUSION_BOUNDED;
}

static double epsilon_of_one(const struct rewrite_terms *terms, double divergence, uint32_t rows) {
	return dp_fusion_epsilon_of_one(rule_of(terms), divergence, terms->delta, terms->tokens,
	                                rows, terms->alpha);
}

enum cuttle_status rewrite_check_terms(const struct rewrite_terms *terms,
                                       struct cuttle_error *error) {
	if ((unsigned)terms->mix > CUTTLE_MIX_CAPPED)
		return status_fail(error, CUTTLE_USAGE, "there is no such mix");
	if (!(terms->delta >= 1e-300 && terms->delta < 1.0))
		return status_fail(error, CUTTLE_USAGE, "delta must be above 0 and below 1");
	if (terms->tokens < 1 || terms->tokens > REWRITE_MOST_TOKENS)
		return status_fail(error, CUTTLE_USAGE, "%u tokens are outside 1..%d",
		                   terms->tokens, REWRITE_MOST_TOKENS);
	if (terms->mix == CUTTLE_MIX_CAPPED && terms->alpha && terms->alpha != 2)
		return status_fail(error, CUTTLE_USAGE, "the mix capped is proven at alpha 2 only");
	if (terms->alpha && (terms->alpha < 2 || terms->alpha > DP_SHARE_ORDER))
		return status_fail(error, CUTTLE_USAGE, "alpha %u is outside 2..%d", terms->alpha,
		                   DP_SHARE_ORDER);
	return CUTTLE_OK;
}

bool rewrite_may_diverge(const struct rewrite_terms *terms, double divergence) {
	return divergence >= DP_FUSION_LEAST &&
	       (terms->alpha - 1) * divergence <= DP_SHARE_EXPONENT;
}

enum cuttle_status rewrite_choose_alpha(struct rewrite_terms *terms, double epsilon, uint32_t rows,
                                        struct cuttle_error *error) {
	const bool given = !isnan(epsilon);
	if (given && !(epsilon >= LEAST_EPSILON && epsilon <= MOST_EPSILON))
		return status_fail(error, CUTTLE_USAGE, "epsilon is out of range");
	struct dp_fusion_plan plan;
	if (given && !terms->alpha && terms->mix != CUTTLE_MIX_CAPPED &&
	    dp_fusion_plan_bounded(epsilon, terms->delta, terms->tokens, rows, &plan) == DP_OK)
		terms->alpha = plan.order;
	else if (!terms->alpha) terms->alpha = 2;
	if (!given || rewrite_divergence(terms, epsilon, rows) > 0.0) return CUTTLE_OK;
	return status_fail(error, CUTTLE_USAGE,
	                   "no divergence is small enough for epsilon %g at delta %g and alpha "
	                   "%u. Ask for a larger epsilon or delta, or leave alpha away",
	                   epsilon, terms->delta, terms->alpha);
}

double rewrite_divergence(const struct rewrite_terms *terms, double epsilon, uint32_t rows) {
	return dp_fusion_divergence(rule_of(terms), epsilon, terms->delta, terms->tokens, rows,
	                            terms->alpha);
}

uint32_t rewrite_rows(const struct rewrite_terms *terms, uint32_t groups) {
	return terms->mix == CUTTLE_MIX_ALL ? groups > 0 : groups;
}

/* With one row for all marks, exchange and guess of one group's contents are bounded by the way
 * over the document without any contents. Its own blanking is not. */
void rewrite_cost(const struct rewrite_terms *terms, const double *divergences, uint32_t groups,
                  uint32_t which, struct cuttle_rewrite_cost *cost) {
	const uint32_t rows = rewrite_rows(terms, groups);
	*cost = (struct cuttle_rewrite_cost){.rows = rows, .ceiling = 1.0 / GUESSED_VALUES};
	if (!groups) return;
	REQUIRE(which < groups || which == CUTTLE_EVERY_GROUP);
	const bool every = which == CUTTLE_EVERY_GROUP || terms->mix == CUTTLE_MIX_ALL;
	const double *first = every ? divergences : divergences + which;
	const uint32_t count = every ? rows : 1, alpha = terms->alpha, tokens = terms->tokens;
	for (uint32_t i = 0; i < count; i++)
		if (first[i] > cost->divergence) cost->divergence = first[i];
	cost->loss = terms->mix == CUTTLE_MIX_CAPPED
	                 ? dp_fusion_capped_loss(cost->divergence, count)
	                 : dp_fusion_loss(alpha, first, count, rows);
	cost->epsilon = dp_fusion_epsilon(cost->loss, tokens, alpha, terms->delta);
	cost->epsilon_exchange =
	    dp_fusion_epsilon_exchange(cost->loss, tokens, alpha, terms->delta);
	cost->ceiling = dp_fusion_ceiling(cost->loss, tokens, alpha, terms->delta, GUESSED_VALUES);
	if (terms->mix == CUTTLE_MIX_ALL && groups > 1 && which != CUTTLE_EVERY_GROUP)
		cost->loss = cost->epsilon = NAN;
}

/* The largest T whose epsilon is within. 0: not even one token is. */
static uint32_t count_tokens_within(struct rewrite_terms terms, double epsilon, double divergence,
                                    uint32_t rows) {
	uint32_t within = 0, beyond = REWRITE_MOST_TOKENS + 1;
	while (beyond - within > 1) {
		terms.tokens = within + (beyond - within) / 2;
		*(epsilon_of_one(&terms, divergence, rows) <= epsilon ? &within : &beyond) =
		    terms.tokens;
	}
	return within;
}

void cuttle_rewrite_budget_none(struct cuttle_rewrite_budget *budget) {
	*budget = (struct cuttle_rewrite_budget){
	    .epsilon = NAN, .divergence = NAN, .delta = NAN, .groups = 1, .mix = CUTTLE_MIX_ALL};
}

enum cuttle_status cuttle_rewrite_budget_solve(struct cuttle_rewrite_budget *budget,
                                               struct cuttle_error *error) {
	REQUIRE(budget);
	struct cuttle_rewrite_budget b = *budget;
	if (isnan(b.epsilon) + isnan(b.divergence) + !b.tokens != 1)
		return status_fail(error, CUTTLE_USAGE,
		                   "give two of epsilon, divergence and tokens: the third follows");
	if (b.groups < 1 || b.groups > REWRITE_MOST_GROUPS)
		return status_fail(error, CUTTLE_USAGE, "%u groups are outside 1..%d", b.groups,
		                   REWRITE_MOST_GROUPS);
	struct rewrite_terms terms = {b.mix, b.alpha, b.tokens ? b.tokens : 1, b.delta};
	const uint32_t rows = rewrite_rows(&terms, b.groups);
	enum cuttle_status status = rewrite_check_terms(&terms, error);
	if (status) return status;
	if ((status =
	         rewrite_choose_alpha(&terms, isnan(b.divergence) ? b.epsilon : NAN, rows, error)))
		return status;
	if (isnan(b.divergence)) b.divergence = rewrite_divergence(&terms, b.epsilon, rows);
	if (!rewrite_may_diverge(&terms, b.divergence))
		return status_fail(error, CUTTLE_USAGE,
		                   "the divergence must be above 0, and at most %g at alpha %u",
		                   DP_SHARE_EXPONENT / (terms.alpha - 1), terms.alpha);
	if (!b.tokens && !(b.tokens = count_tokens_within(terms, b.epsilon, b.divergence, rows)))
		return status_fail(error, CUTTLE_USAGE,
		                   "not even one token of this divergence is within epsilon");
	terms.tokens = b.tokens;
	double divergences[REWRITE_MOST_GROUPS];
	for (uint32_t i = 0; i < rows; i++) divergences[i] = b.divergence;
	rewrite_cost(&terms, divergences, b.groups, 0, &b.one);
	rewrite_cost(&terms, divergences, b.groups, CUTTLE_EVERY_GROUP, &b.all);
	b.epsilon = epsilon_of_one(&terms, b.divergence, rows);
	b.alpha = terms.alpha;
	*budget = b;
	return CUTTLE_OK;
}

enum cuttle_status cuttle_rewrite_budget_cost(const struct cuttle_rewrite_budget *budget,
                                              const double *divergences, uint32_t group,
                                              struct cuttle_rewrite_cost *cost,
                                              struct cuttle_error *error) {
	REQUIRE(budget && divergences && cost);
	const struct rewrite_terms terms = {budget->mix, budget->alpha, budget->tokens,
	                                    budget->delta};
	const enum cuttle_status status = rewrite_check_terms(&terms, error);
	if (status) return status;
	if (!terms.alpha) return status_fail(error, CUTTLE_USAGE, "alpha is not given");
	if (budget->groups < 1 || budget->groups > REWRITE_MOST_GROUPS)
		return status_fail(error, CUTTLE_USAGE, "%u groups are outside 1..%d",
		                   budget->groups, REWRITE_MOST_GROUPS);
	for (uint32_t row = 0; row < rewrite_rows(&terms, budget->groups); row++)
		if (!rewrite_may_diverge(&terms, divergences[row]))
			return status_fail(error, CUTTLE_USAGE,
			                   "a divergence is out of range at alpha %u", terms.alpha);
	rewrite_cost(&terms, divergences, budget->groups, group, cost);
	return CUTTLE_OK;
}
