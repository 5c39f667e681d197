// SPDX-License-Identifier: Apache-2.0
// rewrite_budget.h: what rewriting a document with private marks costs (DP-Fusion). No model is
// needed.
// A rewriter (rewrite.h) speaks of costs in these words.
// No private data: all numbers are public.
// Example: divergence 0.01, tokens 900, alpha 2, delta 1e-3 and one group: epsilon 14.52.
//
// A document is public text with *marks* in it: places whose content is private. Each mark belongs
// to a *group*. The neighbour of a document has other contents: blank ones, in the marks of one
// group or of several. That marks are there, where, and of which group, is public.
// Only the laws of single tokens are bounded, in Renyi divergence at one order: alpha. The *loss*
// of a token is such a bound. The losses of T tokens add up, at this order and at smaller ones.
#ifndef CUTTLE_REWRITE_BUDGET_H
#define CUTTLE_REWRITE_BUDGET_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which private rows a document has, and how their laws are joined (dp/PRIVACY.md). */
enum cuttle_mix {
	/* One row shows the contents of all marks. Its neighbour has every mark blank. */
	CUTTLE_MIX_ALL,

	/* One row for each group that has a mark. Blanking one group costs the less, the more rows
	 * there are; so does what its row adds to the text. Groups may have epsilons of their own.
	 */
	CUTTLE_MIX_AVERAGE,

	/* One row for each group, at alpha 2. Blanking one group costs c however many rows there
	 * are; all m groups together cost about m^2 times as much. */
	CUTTLE_MIX_CAPPED
};

/* Where the number of a group is asked for: all groups together, or none of them. */
#define CUTTLE_EVERY_GROUP UINT32_MAX
#define CUTTLE_NO_GROUP (UINT32_MAX - 1)

/* What the marks of one group, or of all groups together, cost at worst. Everything promised is
 * rounded up. Without a mark all is 0, and the ceiling is 1/5. */
struct cuttle_rewrite_cost {
	/* m: private rows of the document: groups with a mark; with CUTTLE_MIX_ALL 1 or 0. */
	uint32_t rows;

	/* c: bound of a row's share of a token, nats; the largest of them when asked for all. */
	double divergence;

	/* Bound of D_alpha per token, either way round, of the contents against blank ones. NaN:
	 * one group alone with CUTTLE_MIX_ALL, where only the two below hold. */
	double loss;

	double epsilon; /* of blanking, for all T tokens at delta; NaN where loss is */

	/* Of exchanging the contents for others, at delta: two blankings. */
	double epsilon_exchange;

	/* Ceiling of the chance to guess which of five equally likely values the contents have, for
	 * somebody who knows everything else. 1 = there is none. */
	double ceiling;
};

/* A number that is not given is NaN, a count that is not given is 0. Exactly one of epsilon,
 * divergence and tokens is not given. */
struct cuttle_rewrite_budget {
	double epsilon;    /* of blanking one group, or with CUTTLE_MIX_ALL all marks */
	double divergence; /* c, nats per token */
	double delta;      /* above 0, below 1 */
	uint32_t tokens;   /* T: private tokens of a document, at most 2^20 */

	/* The order, 2..16. 0 = as suits: where the divergence is to be found, the one with the
	 * largest c / alpha; else 2. With CUTTLE_MIX_CAPPED it is 2. */
	uint32_t alpha;

	uint32_t groups; /* m, 1..16: groups with a mark */
	enum cuttle_mix mix;

	// Filled.
	struct cuttle_rewrite_cost one; /* of one group */
	struct cuttle_rewrite_cost all; /* of all groups together */
};

/* Sets all numbers to "not given", groups to 1 and the mix to CUTTLE_MIX_ALL. */
CUTTLE_API void cuttle_rewrite_budget_none(struct cuttle_rewrite_budget *budget);

/* Fills the one number that is not given, alpha, and the costs. Epsilon is rounded up; divergence
 * and tokens are rounded down. Source: dp/fusion_account.h.
 * USAGE: the message names the missing or impossible field. No divergence, however small, may be
 * within epsilon, for no order converts so small a loss: ask for a larger epsilon or delta. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_rewrite_budget_solve(struct cuttle_rewrite_budget *budget, struct cuttle_error *error);

/* What marks with these divergences cost, whoever found them: a receipt is checked with it. Of
 * *budget it reads alpha, which is given, delta, tokens, mix, and groups, m. divergences[rows] are
 * those of the m groups, or with CUTTLE_MIX_ALL the one of all. `group` is one of 0 .. m-1, or
 * CUTTLE_EVERY_GROUP; anything else is a caller bug. USAGE: a number is out of range. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_rewrite_budget_cost(const struct cuttle_rewrite_budget *budget, const double *divergences,
                           uint32_t group, struct cuttle_rewrite_cost *cost,
                           struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
