// SPDX-License-Identifier: Apache-2.0
// amin.h: the mechanism of Amin et al. 2024 in exact integers. It draws a token from the private
// rows where these differ from the public row by more than a noisy threshold, else from the public
// row, for free.
//
// dp_amin_mechanism makes the table of functions that dp/mechanism.h describes. Private rows go in;
// the drawn token comes out, and whether it was paid.
// How: the table's open draws the noise of the step, and that of the threshold where no unit
// stands; row adds a row to the sums S and to those of the distance D (dp/threshold.h); draw
// answers, and draws from E(S) or from the public law. open cannot say whether the token is free:
// that follows from private rows. So each step wants the rows of all places, and any token may
// become a free one.
// Rules for the caller are those of dp/mechanism.h. A unit is a threshold: it counts from the step
// in which it is drawn. The token after a paid one begins another unit, and so does the first one
// that a process draws for a batch.
#ifndef CUTTLE_DP_AMIN_H
#define CUTTLE_DP_AMIN_H

#include <stddef.h>
#include <stdint.h>
#include "dp/entropy.h"
#include "dp/mechanism.h"
#include "dp/status.h"
#include "dp/threshold.h"

/* The mechanism. Source: Amin et al. 2024 (arXiv 2407.12108), Algorithm 1; dp/PRIVACY.md, step 46.
 *
 *   L_i(y) = clamp(round_half_even(phi_i(y) 2^F), -2^26, 2^26)
 *   V'     = allowed, and at least the k-th largest of the public row; k = 0 is all allowed
 *   S(y)   = sum over i of max(-Chat, L_i(y) - max over V' of L_i + Chat); null adds 0
 *   E(s)   = round(2^q exp(s kappa)), kappa = temperature_den / (temperature_num s 2^F)
 * (dp/weights.h) paid   P(y) = E(S(y)) / sum of E over V' free   P(y) = the public row's law over
 * V' at temperature tau_pub (dp/rowlaw.h) p_i    = row i's law over V' at temperature 1, in units
 * of 2^-G, rounded down; what that leaves is the likeliest token's. D and the answer:
 * dp/threshold.h, with most = 2^G
 *
 * Guarantee: all tokens of one batch together are rho-zCDP, under "replace one reference by null":
 * rho = r (eta^2 / 8 + threshold^2 / 2), eta = 2 Chat kappa (1 + 1e-9), threshold = 2 2^G / t1. */
struct dp_amin_params {
	uint32_t batch; /* s >= 1: private references, the null ones counted; at most 2^16 */
	uint32_t top_k; /* k; 0, or more than the allowed tokens, means every allowed token */
	uint32_t units; /* r >= 1: thresholds of a batch, at most */
	size_t vocab;   /* tokens of the vocabulary, 1 .. 2^18 */
	int64_t temperature_num; /* tau = num / den, both in 1 .. 2^31 - 1 */
	int64_t temperature_den;
	int64_t public_num; /* tau_pub = num / den, the same; 1e-6 .. 16 */
	int64_t public_den;
	int32_t clip_fixed;     /* Chat = C 2^F >= 1, with s Chat <= 2^21 */
	unsigned fraction_bits; /* F, at most 16 */
	unsigned law_bits;      /* G, at most 32 */
	uint64_t scale;         /* t1 (dp/threshold.h) */
	int64_t theta;          /* Theta (dp/threshold.h) */
	/* [vocab], nonzero = may be drawn; NULL = every token. Public; copied. */
	const uint8_t *allowed;
	struct dp_random random; /* dp_random_system() for a private output; copied */
};

/* Builds the mechanism, with all memory that it will ever need, and fills *out. out->claim is that
 * of the integers (dp_amin_claim in dp/amin_account.h). A batch that has a unit left must be
 * allowed a free token in each step. DP_BAD_PARAMETER: a bound above is broken, no token is
 * allowed, or the weights cannot hold the clip (dp/weights.h). DP_SELF_CHECK: the table is wrong.
 * DP_NO_MEMORY. On failure *out is empty. */
enum dp_status dp_amin_mechanism(const struct dp_amin_params *params, struct dp_mechanism *out);

/* Thresholds of this batch that were drawn so far, those told to begin included. `self` is that of
 * the table. */
uint32_t dp_amin_units(const void *self);

/* PRIVATE, for tests and auditors only: the open step. Arrays have `count` entries and are valid
 * until its draw. */
struct dp_amin_step {
	const uint32_t *candidates;
	const int32_t *sum;         /* S */
	const uint64_t *public_law; /* of 2^46 */
	size_t count;
	int64_t distance; /* D */
	int64_t noise;    /* N2 */
};
struct dp_amin_step dp_amin_inspect(const void *self);
unsigned __int128 dp_amin_weight(const void *self, int32_t sum); /* E */

#endif
