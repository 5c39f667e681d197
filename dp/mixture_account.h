// SPDX-License-Identifier: Apache-2.0
// mixture_account.h: what a mean of mixtures promises about one reference, and which departure from
// the public law an epsilon allows: PMixED and DP-Decoding (dp/fusion.h).
//
// All numbers are public: no private data passes through.
// Example: 7 references, b = 0.4. dp_mixture_eta(0.4, 7) is 0.16133; 500 tokens of it have the
// epsilon 9.7 at delta 1e-6 by the exact accountant.
// Rules: what breaks a bound below is a caller bug, but for the functions that answer a status.
// Rounding: what is promised goes up, what is allowed goes down. libm is trusted to 2^-50.
#ifndef CUTTLE_DP_MIXTURE_ACCOUNT_H
#define CUTTLE_DP_MIXTURE_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>
#include "dp/account.h"
#include "dp/status.h"

/* Neighbours: one of the m places of a batch is null in one world; then its law is the public one.
 * Null may be either world. */

/* Order infinity: the law of each place is within e^b and e^-b of the public one. Then ln(P/P') of
 * a token lies in an interval of this length (dp/PRIVACY.md, step 47), which cannot be smaller:
 *
 *   eta = ln((m - 1 + e^(2b)) / m)
 *
 * 0 < b <= DP_SHARE_RATIO, m >= 1. */
long double dp_mixture_eta(double b, uint32_t places);

/* The largest b, up to DP_SHARE_RATIO, whose `tokens` units of dp_mixture_eta are within epsilon at
 * delta by the accountant. It is found by inverting the formula and then computing the epsilon of
 * it; within 1e-6 of the largest. DP_BAD_PARAMETER: out of domain, beyond what the accountant takes
 * (dp/exact.h), or no b is within. DP_NO_MEMORY. On failure *b is unchanged. */
enum dp_status dp_mixture_ratio(double epsilon, double delta, uint32_t tokens, uint32_t places,
                                enum dp_accountant accountant, double *b);

/* Fixed lambda = share / whole, mixed into the uniform law of n tokens: DP-Decoding. ln(P/P') of a
 * token lies in an interval of this length where null is the uniform law; and between any two texts
 * P is at most e^eta P' (dp/PRIVACY.md, step 48), so this is a token's epsilon, too:
 *
 *   eta = ln(1 + n lambda / (1 - lambda))
 *
 * with 2^46 / floor(2^46 / n) for n, as the integers have it. 0 < share < whole, 1 <= n <= 2^18.
 * Example: lambda 1/10 and 32000 tokens give 8.1765. */
long double dp_mixture_fixed_eta(uint32_t share, uint32_t whole, size_t n);

/* The largest share, in units of 2^-16, whose `tokens` units of dp_mixture_fixed_eta are within
 * epsilon at delta, found as above. Statuses as above, where share 1 is not within; 1 <= n <= 2^18.
 */
enum dp_status dp_mixture_share(double epsilon, double delta, uint32_t tokens, size_t n,
                                enum dp_accountant accountant, uint32_t *share);

#endif
