// SPDX-License-Identifier: Apache-2.0
// threshold.h: AboveThreshold in exact integers. It says, step by step, whether private rows differ
// from the public one by more than a threshold, and is silent about all else.
//
// Where the answer is no, the caller draws the token from the public row. Private are the rows, the
// distance and all noise; only the answers come out.
// How, for each unit:
//   dp_threshold_start    draws the unit's threshold noise N1, which the unit keeps
//   for each step: dp_threshold_noise draws N2; dp_threshold_add takes each row;
//                  dp_threshold_distance; dp_threshold_fires answers, and wipes N1 where it fires
// Rules for the caller, on which the proof stands: the noise of a step is drawn before a row of it
// is looked at. N1 is drawn once for a unit, and no other unit uses it. A unit counts as soon as
// its N1 is drawn, whether it ever fires or not.
// Example with two tokens, most = 4, s = 2 and Theta = 3: the rows say (4, 0) and (3, 1), the
// public one (1, 3). D = |7 - 2| + |1 - 6| = 10. With N1 = 4 and N2 = -5 no token is paid, as 10 -
// 5 < 3 + 4.
#ifndef CUTTLE_DP_THRESHOLD_H
#define CUTTLE_DP_THRESHOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "dp/entropy.h"
#include "dp/status.h"

/* The formulas. Source: Dwork & Roth 2014, Algorithm 1, with the lattice noise of dp/noise.h; Amin
 * et al. 2024 (arXiv 2407.12108), equation 2, for the distance; dp/PRIVACY.md, step 46.
 *
 *   N1 ~ Laplace of scale t1, once for a unit       N2 ~ Laplace of scale 2 t1, for each step
 *   p_i(y) >= 0, sum over y of p_i(y) <= most       null: 0 throughout
 *   D      = sum over y of |sum over i of p_i(y) - s p_pub(y)|
 *   answer = D + N2 >= Theta + N1
 *
 * One row moves D by at most `most`, so a unit is (2 most / t1)-DP, under "replace one row by
 * null". Nothing is asked of how p_i was computed. */
struct dp_threshold {
	uint64_t most;  /* 1 .. 2^32; 2^G */
	uint64_t scale; /* t1, 1 .. DP_THRESHOLD_MOST_SCALE */
	int64_t theta;  /* Theta, 0 .. 2^50 */
};

#define DP_THRESHOLD_MOST (UINT64_C(1) << 32)
#define DP_THRESHOLD_MOST_SCALE (UINT64_C(1) << 50) /* noise then stays below 2^61 */

/* What a unit keeps from step to step. */
struct dp_threshold_unit {
	int64_t noise; /* N1; private */
	bool standing; /* N1 is drawn, and the unit has not fired; public */
};

/* Whether the numbers are in their ranges. Else they are for no function below. */
bool dp_threshold_fits(const struct dp_threshold *threshold);

/* Draws N1 of a unit that is not standing. DP_NO_ENTROPY: it still is not. */
enum dp_status dp_threshold_start(const struct dp_threshold *threshold,
                                  const struct dp_random *random, struct dp_threshold_unit *unit);

/* Draws N2 of a step. DP_NO_ENTROPY: *noise is not written. */
enum dp_status dp_threshold_noise(const struct dp_threshold *threshold,
                                  const struct dp_random *random, int64_t *noise);

/* sum[y] += p(y) for y < n, of one row. What goes beyond `most`, counted from y = 0 on, is cut off.
 */
void dp_threshold_add(const struct dp_threshold *threshold, const uint64_t *p, size_t n,
                      uint64_t *sum);

/* D of sum[n] and public_p[n], with s = places <= 2^16 and public_p[y] <= 2^32; sum is of at most
 * `places` rows. Below 2^50. */
int64_t dp_threshold_distance(const uint64_t *sum, const uint64_t *public_p, size_t n,
                              uint32_t places);

/* The answer for a standing unit. Where it is yes, N1 is wiped and the unit stands no more. */
bool dp_threshold_fires(const struct dp_threshold *threshold, struct dp_threshold_unit *unit,
                        int64_t distance, int64_t noise);

/* Ends a unit, standing or not, and wipes N1. */
void dp_threshold_drop(struct dp_threshold_unit *unit);

#endif
