// SPDX-License-Identifier: Apache-2.0
// claim.c: the accounts of claim.h.
//
// eta is a long double, so each answer is rounded once, at its end.
#include "dp/claim.h"

#include "base/misuse.h"
#include "dp/exact.h"
#include "dp/rounding.h"
#include "dp/zcdp.h"

double dp_claim_rho(const struct dp_claim *claim) {
	REQUIRE(claim->units >= 1 && claim->eta > 0.0L);
	const long double half = claim->eta / 2.0L, answers = claim->threshold;
	const long double decided = claim->units * answers * answers / 2.0L * (1.0L + SIMPLE);
	return round_up(claim->units * half * half / 2.0L * (1.0L + SIMPLE) + decided);
}

double dp_claim_epsilon(const struct dp_claim *claim, double delta) {
	return dp_epsilon_of_rho(dp_claim_rho(claim), delta);
}

enum dp_status dp_claim_exact(const struct dp_claim *claim, double delta, double *epsilon) {
	REQUIRE(claim->units >= 1 && claim->eta > 0.0L);
	if (claim->threshold > 0.0L) return DP_BAD_PARAMETER;
	return dp_exact_epsilon(round_up(claim->eta * (1.0L + SIMPLE)), claim->units, delta, 0,
	                        epsilon);
}
