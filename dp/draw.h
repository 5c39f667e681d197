// SPDX-License-Identifier: Apache-2.0
// The exact draw: P(i) = weights[i] / W with W = sum of weights, no rounding anywhere. Source: design note privacy.md 1.4.
#ifndef CUTTLE_DP_DRAW_H
#define CUTTLE_DP_DRAW_H

#include <stddef.h>
#include "dp/entropy.h"
#include "dp/status.h"

/* The first i whose prefix sum weights[0] + ... + weights[i] exceeds u. n >= 1, W < 2^127, u < W. Reads every weight whatever u is. */
size_t dp_pick(const unsigned __int128 *weights, size_t n, unsigned __int128 u);

/* Draws u uniformly from 0 .. W-1 (128 bits at a time, masked to the length of W, again while u >= W) and picks. 0 < W < 2^127.
 * DP_NO_ENTROPY: the source failed, or its bits were out of range 1000 times running (chance below 2^-1000 for uniform bits); *index is
 * not written. The random bits are wiped. */
enum dp_status dp_draw(const unsigned __int128 *weights, size_t n, const struct dp_random *random, size_t *index);

#endif
