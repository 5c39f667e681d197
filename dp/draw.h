// SPDX-License-Identifier: Apache-2.0
// draw.h: the exact draw. P(i) = weights[i] / W, W = the sum of all weights, without any rounding.
//
// A draw alone has no guarantee: that is its mechanism's. Weights and random bits are private.
// Example: with the weights 2, 3, 5 a number u is drawn from 0 .. 9. u = 0, 1 give 0; u = 2, 3, 4
// give 1; u = 5 .. 9 give 2.
// Source: dp/PRIVACY.md, step 7.
#ifndef CUTTLE_DP_DRAW_H
#define CUTTLE_DP_DRAW_H

#include <stddef.h>
#include <stdint.h>
#include "dp/entropy.h"
#include "dp/status.h"
#include "dp/wide.h"

/* The first i whose prefix sum weights[0] + ... + weights[i] exceeds u. n >= 1, W < 2^255, u < W.
 * It reads every weight, whatever u is. */
size_t dp_pick(const struct dp_wide *weights, size_t n, struct dp_wide u);

/* Weights of a mixture: w[i] = (whole - share) a[i] + share b[i], share <= whole. The first i whose
 * prefix sum of w exceeds u, which is less than the sum of all w, itself below 2^64. n >= 1. It
 * reads every weight, whatever u is. Source: dp/PRIVACY.md, step 25. */
size_t dp_pick_mixed(const uint64_t *a, const uint64_t *b, size_t n, uint64_t share, uint64_t whole,
                     uint64_t u);

/* The uniform law: sum / n each, rounded down, and the rest on the first. 1 <= n <= sum. */
void dp_share_evenly(uint64_t *law, size_t n, uint64_t sum);

/* The largest of n weights; 0 where there are none. */
uint64_t dp_largest(const uint64_t *weights, size_t n);

/* Draws u uniformly from 0 .. W-1 and picks. 0 < W < 2^255. It takes 256 random bits, keeps as many
 * as W is long, and starts again while u >= W. The random bits are wiped. DP_NO_ENTROPY: the source
 * failed, or u was out of range 1000 times running (chance below 2^-1000 for uniform bits). *index
 * is then not written. */
enum dp_status dp_draw(const struct dp_wide *weights, size_t n, const struct dp_random *random,
                       size_t *index);

/* The same draw for weights that are public and stay: prefixes[i] = weights[0] + ... + weights[i],
 * 0 < W = prefixes[n-1] < 2^255. It finds the index in log2 n + 1 steps or fewer, as many for each
 * u; which prefixes it reads depends on u. Random bits, errors and the index are those of dp_draw.
 */
enum dp_status dp_draw_summed(const struct dp_wide *prefixes, size_t n,
                              const struct dp_random *random, size_t *index);

/* Draws *u uniformly from 0 .. total-1, 0 < total < 2^255, as dp_draw does. On failure *u is not to
 * be used. In either case the caller wipes it. Errors as above. */
enum dp_status dp_draw_number(struct dp_wide total, const struct dp_random *random,
                              struct dp_wide *u);

/* Draws *number uniformly from 0 .. n-1, n >= 1. It takes 64 random bits, keeps as many as n - 1 is
 * long, and starts again while they give n or more. DP_NO_ENTROPY as above; then *number is not
 * written. Both draw the same from the same bits. */
enum dp_status dp_draw_below(uint32_t n, const struct dp_random *random, uint32_t *number);
enum dp_status dp_draw_below_wide(uint64_t n, const struct dp_random *random, uint64_t *number);

#endif
