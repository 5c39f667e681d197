// SPDX-License-Identifier: Apache-2.0
// rewrite_budget.h: the divergence that an epsilon allows, and what a document's marks cost.
// No private data: all numbers are public.
// Example: mix ALL, alpha 2, T 900, delta 1e-3: epsilon 16 allows c = 0.01164282; that c costs 16.
#ifndef CUTTLE_ENGINE_RUN_PLAN_REWRITE_BUDGET_H
#define CUTTLE_ENGINE_RUN_PLAN_REWRITE_BUDGET_H

#include "engine/cuttle/rewrite_budget.h"

/* The most groups of a document. */
enum { REWRITE_MOST_GROUPS = 16, REWRITE_MOST_TOKENS = 1 << 20 };

/* What all costs of a rewriter depend on. */
struct rewrite_terms {
	enum cuttle_mix mix;
	uint32_t alpha;  /* 2..16 */
	uint32_t tokens; /* T */
	double delta;
};

/* USAGE: mix, delta, T or alpha (0 = not chosen yet) is out of range. */
enum cuttle_status rewrite_check_terms(const struct rewrite_terms *terms,
                                       struct cuttle_error *error);

/* Sets terms->alpha, where it is 0, to the order that serves this epsilon best in a document of so
 * many rows; NaN: to 2. USAGE: no order allows any divergence. */
enum cuttle_status rewrite_choose_alpha(struct rewrite_terms *terms, double epsilon, uint32_t rows,
                                        struct cuttle_error *error);

/* The largest divergence of a group whose blanking costs at most epsilon, in a document of so many
 * rows. 0: none does. */
double rewrite_divergence(const struct rewrite_terms *terms, double epsilon, uint32_t rows);

/* Whether a mechanism takes this divergence at the terms' order. */
bool rewrite_may_diverge(const struct rewrite_terms *terms, double divergence);

/* Private rows of a document in which so many groups have a mark. */
uint32_t rewrite_rows(const struct rewrite_terms *terms, uint32_t groups);

/* Fills *cost for a document in which so many groups have a mark, with divergences[rows]: the cost
 * of group number `which` among them, or of all together (CUTTLE_EVERY_GROUP). */
void rewrite_cost(const struct rewrite_terms *terms, const double *divergences, uint32_t groups,
                  uint32_t which, struct cuttle_rewrite_cost *cost);

#endif
