// SPDX-License-Identifier: Apache-2.0
// The exact draw: P(i) = weights[i] / W with W = sum of weights, no rounding anywhere. Source: design note privacy.md 1.4.
#ifndef CUTTLE_DP_DRAW_H
#define CUTTLE_DP_DRAW_H

#include <stddef.h>
#include "dp/entropy.h"
#include "dp/status.h"
#include "dp/wide.h"

/* The first i whose prefix sum weights[0] + ... + weights[i] exceeds u. n >= 1, W < 2^255, u < W. Reads every weight whatever u is. */
size_t dp_pick(const struct dp_wide *weights, size_t n, struct dp_wide u);

/* Draws u uniformly from 0 .. W-1 (256 bits at a time, masked to the length of W, again while u >= W) and picks. 0 < W < 2^255.
 * DP_NO_ENTROPY: the source failed, or its bits were out of range 1000 times running (chance below 2^-1000 for uniform bits); *index is
 * not written. The random bits are wiped. */
enum dp_status dp_draw(const struct dp_wide *weights, size_t n, const struct dp_random *random, size_t *index);

#endif
