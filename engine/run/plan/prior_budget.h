// SPDX-License-Identifier: Apache-2.0
// prior_budget.h: what a plan with a token prior asks: its checks, its clip and its account.
// No private data: all numbers are public. dp/prior.h has the formulas.
#ifndef CUTTLE_ENGINE_RUN_PLAN_PRIOR_BUDGET_H
#define CUTTLE_ENGINE_RUN_PLAN_PRIOR_BUDGET_H

#include "dp/account.h"
#include "engine/cuttle/plan.h"

/* rho in millionths, as dp/prior.h takes it; UINT32_MAX where that is too large. */
uint32_t prior_parts(double rho);

/* USAGE: rho is out of range, or something does not go with a token prior. */
enum cuttle_status prior_check(const struct cuttle_plan_params *params, struct cuttle_error *error);

/* Finds the integers for the epsilon of the params, which pays for the prior, too. USAGE: there are
 * none. */
enum cuttle_status prior_calibrate(const struct cuttle_plan_params *params,
                                   struct dp_integers *integers, struct cuttle_error *error);

#endif
