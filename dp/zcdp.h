// SPDX-License-Identifier: Apache-2.0
// zcdp.h: the accountant zcdp, in closed formulas: what T steps cost in zero-concentrated
// differential privacy (rho), and what (epsilon, delta) that gives.
//
//   clip C, batch B, temperature tau, tokens T  <->  rho (zCDP)  <->  (epsilon, delta)
//
// All numbers are public: no private data passes through.
// Example: the guarantee of clip 0.6591, batch 7, temperature 1.2 and 500 tokens.
//   rho     = dp_rho_of_clip(0.6591, 7, 1.2, 500);      1.539
//   epsilon = dp_epsilon_of_rho(rho, 1e-6);             10.0
// Rules: an argument outside its domain (below) is a caller bug.
#ifndef CUTTLE_DP_ZCDP_H
#define CUTTLE_DP_ZCDP_H

#include <stdbool.h>
#include <stdint.h>

/* The formulas.
 *
 *   rho            = T C^2 / (2 B^2 tau^2)                             InvisibleInk, Theorem 2
 *   delta(epsilon) = min over a > 1 of exp((a-1)(a rho - epsilon)) (1-1/a)^a / (a-1)
 *   epsilon(delta) = min over a > 1 of a rho + ln(1/(a delta))/(a-1) + ln(1-1/a)
 *
 * rho: one step has bounded range eta = 2C/(B tau), so it is eta^2/8-zCDP (Cesar & Rogers 2020,
 * Lemma 3.2). delta and epsilon: Canonne, Kamath & Steinke 2020 (arXiv 2004.00010), CKS20 below.
 * delta is that of the definition: for every event E, P[E] <= e^epsilon P'[E] + delta. It is less
 * than the probability of a loss above epsilon (dp/PRIVACY.md).
 *
 * Domain: rho, epsilon, clip and temperature are positive, finite and not subnormal. delta lies in
 * (0, 1) and is not subnormal. Counts are at least 1.
 *
 * Rounding is always to the safe side. What is promised goes up: epsilon, delta, batch, and the
 * rho of a mechanism. What is allowed goes down: clip, tokens, and the rho of an epsilon and delta.
 * The margin is a few units of the last place plus 1e-16 of the largest term. That is under 1e-12
 * relative, unless the answer is a small difference of large terms.
 *
 * Time is bounded for every input, because the number of iterations is fixed. */

/* rho of T tokens, rounded up; +infinity on overflow. */
double dp_rho_of_clip(double clip, uint32_t batch, double temperature, uint32_t tokens);
/* The largest clip C = B tau sqrt(2 rho / T), rounded down. It may be 0 or +infinity where the true
 * one is out of range. */
double dp_clip_of_rho(double rho, uint32_t batch, double temperature, uint32_t tokens);

/* CKS20, rounded up. Both answers are at least DBL_MIN; delta is at most 1. */
double dp_delta_of_rho(double rho, double epsilon);
double dp_epsilon_of_rho(double rho, double delta);
/* CKS20 inverted: the largest rho known to give (epsilon, delta), rounded down. */
double dp_rho_of_epsilon(double epsilon, double delta);
/* Bun & Steinke 2016, Proposition 1.3: rho + 2 sqrt(rho ln(1/delta)), rounded up. It is weaker than
 * CKS20, and serves to compare with papers that use it. */
double dp_epsilon_bun_steinke(double rho, double delta);

/* What `records` >= 1 references of one person cost together. Rounded up; +infinity on overflow.
 * In one batch: rho records^2 (group privacy of zCDP, Bun & Steinke 2016, Proposition 1.9).
 * Each in a batch of its own: rho records (composition).
 * Example: 3 references at rho 0.5 cost 4.5 in one batch, and 1.5 in three batches. */
double dp_group_rho(double rho, uint32_t records, bool same_batch);

#endif
