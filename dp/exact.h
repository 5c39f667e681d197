// SPDX-License-Identifier: Apache-2.0
// The exact accountant: what T steps of bounded range eta cost together when each may depend on the outcomes of those before.
//
//   V_0(e) = (1 - exp(e))_+      V_k(e) = max over t in [0, eta] of p_t V_{k-1}(e - t) + (1 - p_t) V_{k-1}(e - t + eta)
//   p_t = (1 - exp(t - eta)) / (1 - exp(-eta))
//
// V_T(epsilon) is the least delta that holds for all such steps (Dong, Durfee & Rogers 2020, arXiv 1909.13830; design note privacy.md 2.3).
// What is computed is an upper bound of it by construction: V is held as a polygon over a = exp(e) that is never below, on `grid` points
// per eta; dp/PRIVACY.md, "The exact accountant", has the proof. The answer is above V_T by a part of epsilon of about 0.5 / grid^2.
//
// Limits: the same eta for every step, tokens <= DP_EXACT_TOKENS, tokens eta^2 / 8 <= DP_EXACT_RHO, eta >= 1e-100; 1e-300 <= delta < 1,
// epsilon positive and finite; grid 8 to 1024, or 0 for dp_exact_grid. Outside: DP_BAD_PARAMETER. Time grows as grid^2 tokens^1.5: about
// 0.4 s for 500 tokens at 128, 0.1 s at 64, 0.03 s at 32, and under 2 s for whatever the default grid meets within the limits; for eta
// three times that.
// Every function: DP_OK, DP_BAD_PARAMETER or DP_NO_MEMORY; on failure the answer is not written.
#ifndef CUTTLE_DP_EXACT_H
#define CUTTLE_DP_EXACT_H

#include <stdint.h>
#include "dp/status.h"

#define DP_EXACT_TOKENS (UINT32_C(1) << 15)
#define DP_EXACT_RHO 512.0
#define DP_EXACT_LEAST_GRID 8
#define DP_EXACT_MOST_GRID 1024

/* Points per eta when none are asked for: 128 up to 512 tokens, then fewer, 8 at the limit. */
unsigned dp_exact_grid(uint32_t tokens);

/* delta at epsilon, rounded up; at least DBL_MIN. */
enum dp_status dp_exact_delta(double eta, uint32_t tokens, double epsilon, unsigned grid, double *delta);

/* epsilon at delta, rounded up; DBL_MIN where epsilon = 0 already holds. */
enum dp_status dp_exact_epsilon(double eta, uint32_t tokens, double delta, unsigned grid, double *epsilon);

/* An eta, rounded down, whose dp_exact_delta at epsilon is at most delta; within 3e-7 of the largest. DP_BAD_PARAMETER also where it lies
 * beyond the limits. */
enum dp_status dp_exact_eta(double epsilon, double delta, uint32_t tokens, unsigned grid, double *eta);

/* The most tokens within epsilon and delta; may be 0. DP_BAD_PARAMETER also where they are more than DP_EXACT_TOKENS. */
enum dp_status dp_exact_tokens(double eta, double epsilon, double delta, unsigned grid, uint32_t *tokens);

#endif
