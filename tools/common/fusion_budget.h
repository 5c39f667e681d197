// SPDX-License-Identifier: Apache-2.0
// The answer of cuttle budget fusion: what rewriting a document with private marks costs.
//
// tools/budget.c calls it. The library does the arithmetic, in cuttle_rewrite_budget_solve. No
// private data passes through, and no model is needed.
#ifndef CUTTLE_TOOLS_COMMON_FUSION_BUDGET_H
#define CUTTLE_TOOLS_COMMON_FUSION_BUDGET_H

#include "tools/common/verbs.h"

/* Solves for the one of epsilon, divergence and tokens that is not given, and prints the answer. It
 * is JSON, or first the number alone, then what it belongs to. Prints on failure. Returns the exit
 * code. */
int fusion_budget_print(const struct verb *verb, struct cuttle_rewrite_budget *budget, bool json);

#endif
