// SPDX-License-Identifier: Apache-2.0
// The two factors of a token's weight: public A, which cancels in every privacy ratio, and private E, a table that is checked exhaustively.
//
//   kappa  = td / (tn B 2^F)    tau = tn / td                      nats per unit of S
//   lambda = Chat kappa = C / (B tau)                              what one reference may move ln E by
//   A      = max(1, round(2^56 exp((L - Lmax) B kappa)))
//   E(s)   = 2^q exp(s kappa), |s| <= B Chat, rounded to an integer of at most 56 significant bits
//   q      = t - ceil(B Chat kappa / ln 2), so that E <= 2^t
//   t      = 53 where the smallest E is then large enough for eta's slack of 1e-9:
//                1.1 / (2^q exp(-C/tau)) + 2^-53 < 1e-9 lambda     (C/tau below 5 to 7)
//            or else 126, under the same condition; where that fails too, or C/tau >= 32, there is no mechanism.
//
// t = 53 gives the integers of the design note, to the bit; t = 126 carries C/tau up to 28 for every B <= 600,000, up to 31 for B <= 1,000.
// A function of public parameters, and the same arithmetic for both: W = sum of A E <= vocab 2^56 2^126 < 2^207, see dp/wide.h.
// Source: design note privacy.md 1.4, Theorem A.
#ifndef CUTTLE_DP_WEIGHTS_H
#define CUTTLE_DP_WEIGHTS_H

#include <stdint.h>
#include "dp/status.h"

#define DP_SUM_LIMIT (INT32_C(1) << 21) /* largest B Chat: bounds the table at 32 MiB and its making at about 0.3 s */

struct dp_weights {
	uint64_t *table;              /* E(s) at table[s + sum_limit], 2 sum_limit + 1 entries: low 57 bits times 2^(high 7 bits); owned */
	int32_t sum_limit;            /* B Chat */
	int32_t clip_fixed;           /* Chat */
	uint64_t bound;               /* floor(2^56 Chat kappa (1 + 1e-9)) or a little less: what ln E(s+Chat)/E(s) must not pass */
	int64_t scale_num, scale_den; /* B kappa = td / (tn 2^F) */
	unsigned private_bits;        /* q */
};

/* q, at least 6; or 0 when there is no mechanism for these parameters: batch >= 1, clip_fixed >= 1, batch clip_fixed <= DP_SUM_LIMIT,
 * F <= 16 or 1 <= num, den < 2^31 is broken, C/tau is too large, or C/(B tau) is too small (below about 1e-6). */
unsigned dp_weights_bits(uint32_t batch, int32_t clip_fixed, unsigned fraction_bits, int64_t temperature_num, int64_t temperature_den);

/* Makes the table and checks it. DP_BAD_PARAMETER: dp_weights_bits is 0. DP_SELF_CHECK, DP_NO_MEMORY. On failure nothing is owned and
 * table is NULL. */
enum dp_status dp_weights_init(struct dp_weights *weights, uint32_t batch, int32_t clip_fixed, unsigned fraction_bits,
                               int64_t temperature_num, int64_t temperature_den);
void dp_weights_release(struct dp_weights *weights);

/* The exhaustive check, in integers only: E(s) >= 1, nondecreasing, at most 2^126, and E(s + Chat) / E(s) <= e^(Chat kappa (1 + 1e-9)) for
 * every s, the right side taken from its power series, cut off and rounded down. DP_OK or DP_SELF_CHECK. */
enum dp_status dp_weights_check(const struct dp_weights *weights);

/* A of a token whose L is `below` under the largest, 0 <= below <= 2^27. 1 .. 2^56. Public. */
uint64_t dp_weight_public(const struct dp_weights *weights, int64_t below);

/* E(sum), |sum| <= sum_limit. Private. */
unsigned __int128 dp_weight_private(const struct dp_weights *weights, int32_t sum);

#endif
