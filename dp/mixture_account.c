// SPDX-License-Identifier: Apache-2.0
// mixture_account.c: see mixture_account.h. A b is told only after its epsilon has been computed
// and found to be within what was asked for.
#include "dp/mixture_account.h"

#include "base/misuse.h"
#include "dp/claim.h"
#include "dp/exact.h"
#include "dp/rounding.h"
#include "dp/rowlaw.h"
#include "dp/share.h"
#include "dp/zcdp.h"

#include <stdbool.h>

#define LEAST_RATIO 0x1p-31 /* below it the integers of dp/share.h allow nothing */
#define STEP_BACK 1e-9      /* how much smaller a b is tried next; two tries are enough */

enum { TRIES = 8 };

long double dp_mixture_eta(double b, uint32_t places) {
	REQUIRE(positive(b) && b <= DP_SHARE_RATIO && places >= 1);
	return log1pl(expm1l(2.0L * (long double)b) / places) * (1.0L + TERM);
}

long double dp_mixture_fixed_eta(uint32_t share, uint32_t whole, size_t n) {
	REQUIRE(share >= 1 && share < whole && n >= 1 && n <= DP_ROWLAW_MOST);
	const uint64_t sum = UINT64_C(1) << DP_ROWLAW_SUM_BITS;
	const long double spread = (long double)sum / (long double)(sum / n);
	return log1pl(spread * share / (whole - share)) * (1.0L + TERM);
}

/* The largest eta of `tokens` steps within epsilon, about. */
static enum dp_status find_largest_eta(double epsilon, double delta, uint32_t tokens,
                                       enum dp_accountant accountant, double *eta) {
	if (accountant == DP_EXACT) return dp_exact_eta(epsilon, delta, tokens, 0, eta);
	*eta = round_down(sqrtl(8.0L * (long double)dp_rho_of_epsilon(epsilon, delta) / tokens) *
	                  (1.0L - SIMPLE));
	return DP_OK;
}

/* Whether `tokens` steps of eta are within epsilon. */
static enum dp_status check_eta(long double eta, double epsilon, double delta, uint32_t tokens,
                                enum dp_accountant accountant, bool *within) {
	const struct dp_claim claim = {.units = tokens, .eta = eta};
	double reached = 0.0;
	enum dp_status status = DP_OK;
	if (accountant == DP_EXACT) status = dp_claim_exact(&claim, delta, &reached);
	else reached = dp_claim_epsilon(&claim, delta);
	*within = reached <= epsilon;
	return status;
}

enum dp_status dp_mixture_ratio(double epsilon, double delta, uint32_t tokens, uint32_t places,
                                enum dp_accountant accountant, double *b) {
	if (!positive(epsilon) || !probability(delta) || tokens < 1 || places < 1)
		return DP_BAD_PARAMETER;
	double eta = 0.0;
	enum dp_status status = find_largest_eta(epsilon, delta, tokens, accountant, &eta);
	if (status != DP_OK) return status;
	const long double widest =
	    eta > 0.0 ? log1pl(places * expm1l((long double)eta)) / 2.0L : 0.0L;
	double found = round_down(fminl(widest * (1.0L - TERM), (long double)DP_SHARE_RATIO));
	for (int i = 0; i < TRIES && found >= LEAST_RATIO; i++) {
		bool within;
		status = check_eta(dp_mixture_eta(found, places), epsilon, delta, tokens,
		                   accountant, &within);
		if (status != DP_OK) return status;
		if (within) {
			*b = found;
			return DP_OK;
		}
		found *= 1.0 - STEP_BACK;
	}
	return DP_BAD_PARAMETER;
}

enum dp_status dp_mixture_share(double epsilon, double delta, uint32_t tokens, size_t n,
                                enum dp_accountant accountant, uint32_t *share) {
	if (!positive(epsilon) || !probability(delta) || tokens < 1 || n < 1 || n > DP_ROWLAW_MOST)
		return DP_BAD_PARAMETER;
	double eta = 0.0;
	enum dp_status status = find_largest_eta(epsilon, delta, tokens, accountant, &eta);
	if (status != DP_OK) return status;
	uint32_t found = 0, beyond = DP_SHARE_ONE;
	while (beyond - found > 1) {
		const uint32_t middle = found + (beyond - found) / 2;
		if (dp_mixture_fixed_eta(middle, DP_SHARE_ONE, n) <= (long double)eta)
			found = middle;
		else beyond = middle;
	}
	for (int i = 0; i < TRIES && found > 0; i++, found--) {
		bool within;
		status = check_eta(dp_mixture_fixed_eta(found, DP_SHARE_ONE, n), epsilon, delta,
		                   tokens, accountant, &within);
		if (status != DP_OK) return status;
		if (within) {
			*share = found;
			return DP_OK;
		}
	}
	return DP_BAD_PARAMETER;
}
