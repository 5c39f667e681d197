// SPDX-License-Identifier: Apache-2.0
// prior_budget.c: see prior_budget.h. The numbers of a token prior alone: no model, no plan.
#include "engine/run/plan/prior_budget.h"

#include "dp/prior.h"
#include "engine/cuttle/prior.h"
#include "engine/status.h"

#include <math.h>

uint32_t prior_parts(double rho) {
	return rho * 1e6 < DP_PRIOR_MOST_PARTS + 1.0 ? (uint32_t)lround(rho * 1e6) : UINT32_MAX;
}

double cuttle_prior_rho(double token_prior, double rho) {
	return token_prior > 0.0 ? dp_prior_rho(prior_parts(token_prior), rho) : rho;
}

enum cuttle_status prior_check(const struct cuttle_plan_params *p, struct cuttle_error *error) {
	if (p->token_prior == 0.0) return CUTTLE_OK;
	if (!(p->token_prior >= DP_PRIOR_LEAST_PARTS / 1e6 &&
	      p->token_prior <= DP_PRIOR_MOST_PARTS / 1e6))
		return status_fail(error, CUTTLE_USAGE,
		                   "the rho of a token prior must be in 0.001..100");
	if (p->accountant == CUTTLE_EXACT)
		return status_fail(error, CUTTLE_USAGE,
		                   "a token prior adds up by zcdp alone: ask for that accountant");
	return p->lot_count ? status_fail(error, CUTTLE_USAGE,
	                                  "a token prior reads every record, so lots do not "
	                                  "lower what it costs: leave out one of them")
	                    : CUTTLE_OK;
}

enum cuttle_status prior_calibrate(const struct cuttle_plan_params *p, struct dp_integers *integers,
                                   struct cuttle_error *error) {
	const char *reason = "epsilon is out of range";
	const enum dp_status status = dp_prior_calibrate(integers, prior_parts(p->token_prior),
	                                                 p->epsilon, p->delta, &reason);
	return status ? status_fail(error, status == DP_NO_MEMORY ? CUTTLE_NOMEM : CUTTLE_USAGE,
	                            "%s", reason)
	              : CUTTLE_OK;
}
