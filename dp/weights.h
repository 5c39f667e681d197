// SPDX-License-Identifier: Apache-2.0
// The two factors of a token's weight: public A, which cancels in every privacy ratio, and private E, a table that is checked exhaustively.
//
//   kappa = td / (tn B 2^F)    tau = tn / td                      nats per unit of S
//   A     = max(1, round(2^a exp((L - Lmax) B kappa)))            a = min(56, 73 - ceil(log2 vocab))
//   E(s)  = round(2^q exp(s kappa)),  |s| <= B Chat               q = 53 - ceil(B Chat kappa / ln 2)
//
// so that W = sum of A E <= vocab 2^a 2^53 <= 2^126. Source: design note privacy.md 1.4, Theorem A.
#ifndef CUTTLE_DP_WEIGHTS_H
#define CUTTLE_DP_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>
#include "dp/status.h"

#define DP_SUM_LIMIT (INT32_C(1) << 21) /* largest B Chat: bounds the table at 32 MiB and the self check at well under a second */

struct dp_weights {
	uint64_t *table;              /* E(s) at table[s + sum_limit], 2 sum_limit + 1 entries; owned */
	int32_t sum_limit;            /* B Chat */
	int32_t clip_fixed;           /* Chat */
	uint64_t bound;               /* floor(2^56 Chat kappa (1 + 1e-9)) or a little less: what ln E(s+Chat)/E(s) must not pass */
	int64_t scale_num, scale_den; /* B kappa = td / (tn 2^F) */
	unsigned public_bits;         /* a */
	unsigned private_bits;        /* q */
};

/* Makes the table and checks it. 1 <= vocab <= 2^24, batch >= 1, clip_fixed >= 1, batch clip_fixed <= DP_SUM_LIMIT, F <= 16,
 * 1 <= num, den < 2^31. DP_BAD_PARAMETER: one of these is broken, or 53 bits cannot hold E closely enough (C/tau too large, or C/(B tau)
 * too small). DP_SELF_CHECK, DP_NO_MEMORY. On failure nothing is owned and table is NULL. */
enum dp_status dp_weights_init(struct dp_weights *weights, size_t vocab, uint32_t batch, int32_t clip_fixed, unsigned fraction_bits,
                               int64_t temperature_num, int64_t temperature_den);
void dp_weights_release(struct dp_weights *weights);

/* The exhaustive check, in integers only: E(s) >= 1, nondecreasing, and E(s + Chat) / E(s) <= e^(Chat kappa (1 + 1e-9)) for every s, the
 * right side taken from its power series, cut off and rounded down. DP_OK or DP_SELF_CHECK. */
enum dp_status dp_weights_check(const struct dp_weights *weights);

/* A of a token whose L is `below` under the largest, 0 <= below <= 2^27. 1 .. 2^a. Public. */
uint64_t dp_weight_public(const struct dp_weights *weights, int64_t below);

/* E(sum), |sum| <= sum_limit. Private. */
uint64_t dp_weight_private(const struct dp_weights *weights, int32_t sum);

#endif
