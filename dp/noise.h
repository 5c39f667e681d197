// SPDX-License-Identifier: Apache-2.0
// noise.h: integer noise, drawn without any rounding: a coin of exp(-n/d), the discrete Laplace law
// and the discrete Gaussian law.
//
// No private data passes through, but what is drawn is private: who knows a noisy count and its
// noise knows the count. So noise is drawn before data are looked at, and the time of a draw tells
// of the noise alone. Example: t = 9 gives 0 with chance 0.0555, and 1 and -1 with 0.0497 each; the
// standard deviation is 12.7. Rules: each call takes fresh bits of the source. Where the source
// fails, DP_NO_ENTROPY comes and nothing is written: a caller has either noise of the whole law, or
// none.
#ifndef CUTTLE_DP_NOISE_H
#define CUTTLE_DP_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "dp/entropy.h"
#include "dp/status.h"

/* The laws. Source: Canonne, Kamath & Steinke 2020 (arXiv 2004.00010), Algorithms 1 to 3.
 *
 *   coin      P(heads) = exp(-n/d)
 *   Laplace   P(x) = (1 - r) / (1 + r) r^|x|,   r = exp(-1/t)
 *   Gaussian  P(x) proportional to exp(-x^2 / (2 sigma^2)),   sigma^2 = num / den
 *
 * All three are made of numbers drawn uniformly below an integer (dp/draw.h), and of nothing else:
 * no float enters. Every loop ends after 1000 turns at the latest; then DP_NO_ENTROPY comes. For
 * uniform bits the chance of that is below 2^-1000. */

/* *heads is true with chance exp(-n/d). 1 <= d < 2^117. */
enum dp_status dp_noise_coin(unsigned __int128 n, unsigned __int128 d,
                             const struct dp_random *random, bool *heads);

#define DP_NOISE_MOST_SCALE (UINT64_C(1) << 53)

/* Draws *noise by the Laplace law of scale t, 1 .. DP_NOISE_MOST_SCALE. |*noise| < 1000 t, so below
 * 2^63. */
enum dp_status dp_noise_laplace(uint64_t t, const struct dp_random *random, int64_t *noise);

/* Draws *noise by the Gaussian law of variance num / den, both at least 1. |*noise| < 2^26. */
enum dp_status dp_noise_gaussian(uint32_t num, uint32_t den, const struct dp_random *random,
                                 int64_t *noise);

/* numbers[count] = that many such draws. DP_NO_ENTROPY: they are 0 throughout. */
enum dp_status dp_noise_fill(uint32_t num, uint32_t den, const struct dp_random *random,
                             int64_t *numbers, size_t count);

#endif
