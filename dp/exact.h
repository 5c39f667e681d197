// SPDX-License-Identifier: Apache-2.0
// exact.h: the exact accountant. It computes the joint cost of T steps of bounded range eta, where
// each step may depend on the outcomes of earlier ones.
//
// All numbers are public: no private data passes through.
// Example: what 500 steps of eta 0.157 cost at delta 1e-6, on the default grid.
//   status = dp_exact_epsilon(0.157, 500, 1e-6, 0, &epsilon);
// Rules: every function answers DP_OK, DP_BAD_PARAMETER or DP_NO_MEMORY. On failure it does not
// write its answer.
#ifndef CUTTLE_DP_EXACT_H
#define CUTTLE_DP_EXACT_H

#include <stdint.h>
#include "dp/status.h"

/* The recursion. V_k(e) is the least delta with which epsilon = e holds for all k such steps (Dong,
 * Durfee & Rogers 2020, arXiv 1909.13830).
 *
 *   V_0(e) = (1 - exp(e))_+
 *   V_k(e) = max over t in [0, eta] of p_t V_{k-1}(e - t) + (1 - p_t) V_{k-1}(e - t + eta)
 *   p_t    = (1 - exp(t - eta)) / (1 - exp(-eta))
 *
 * The code computes an upper bound of V_T. It holds V_k as a polygon over a = exp(e) that is never
 * below V_k. The polygon has `grid` points per eta: with eta 0.4 and grid 8, one at each multiple
 * of 0.05. dp/PRIVACY.md, "The exact accountant", has the proof. The answer is above V_T by a part
 * of epsilon of about 0.5 / grid^2: at grid 128 that is 0.00003 of epsilon.
 *
 * Limits; beyond them a function answers DP_BAD_PARAMETER:
 *   eta      at least 1e-100, the same for every step
 *   tokens   at most DP_EXACT_TOKENS, and tokens eta^2 / 8 at most DP_EXACT_RHO
 *   delta    1e-300 <= delta < 1
 *   epsilon  positive, finite and not subnormal
 *   grid     8 to 1024, or 0 for dp_exact_grid
 *
 * Time grows as grid^2 tokens^1.5. 500 tokens take about 0.4 s at grid 128, 0.1 s at 64, 0.03 s at
 * 32. The default grid takes under 2 s anywhere within the limits. dp_exact_eta takes three times
 * that. */
#define DP_EXACT_TOKENS (UINT32_C(1) << 15)
#define DP_EXACT_RHO 512.0
#define DP_EXACT_LEAST_GRID 8   /* points per eta */
#define DP_EXACT_MOST_GRID 1024 /* points per eta */

/* Points per eta for grid 0: 128 up to 512 tokens, then fewer, 8 at DP_EXACT_TOKENS. */
unsigned dp_exact_grid(uint32_t tokens);

/* delta at epsilon, rounded up; at least DBL_MIN. */
enum dp_status dp_exact_delta(double eta, uint32_t tokens, double epsilon, unsigned grid,
                              double *delta);

/* epsilon at delta, rounded up; DBL_MIN where epsilon = 0 already holds. */
enum dp_status dp_exact_epsilon(double eta, uint32_t tokens, double delta, unsigned grid,
                                double *epsilon);

/* V_T itself, to be read at many epsilons for the price of one: delta at `epsilon`, rounded up; at
 * least DBL_MIN. The polygon is made for epsilons from `low` to `high`. It may be read beyond
 * `high`, where the answer is larger than need be, but not below `low`: that is a caller bug. Free
 * it with dp_exact_profile_free, which takes NULL, too. On failure *profile is NULL. */
struct dp_exact_profile;
enum dp_status dp_exact_profile_new(double eta, uint32_t tokens, double low, double high,
                                    unsigned grid, struct dp_exact_profile **profile);
double dp_exact_profile_delta(const struct dp_exact_profile *profile, double epsilon);
void dp_exact_profile_free(struct dp_exact_profile **profile);

/* An eta, rounded down, whose dp_exact_delta at epsilon is at most delta. It is within 3e-7 of the
 * largest such eta. DP_BAD_PARAMETER also where that lies beyond the limits. */
enum dp_status dp_exact_eta(double epsilon, double delta, uint32_t tokens, unsigned grid,
                            double *eta);

/* The most tokens within epsilon and delta; may be 0. DP_BAD_PARAMETER also where they are more
 * than the limits allow. */
enum dp_status dp_exact_tokens(double eta, double epsilon, double delta, unsigned grid,
                               uint32_t *tokens);

#endif
