// SPDX-License-Identifier: Apache-2.0
// votes.h: what many records say together, with Gaussian noise: how often each candidate is voted
// for, and sums of bounded numbers.
//
// What a record votes for, and its number, are private; what comes out may be told once. Clean
// counts are held nowhere: each place of the answer begins as its noise, and records are added to
// that.
// Example: three candidates, four records that vote 0, 0, 2 and for none. The clean counts are 2,
// 0, 1; with variance 4 the noisy ones may be 3, -1, 1. One record moves one count by 1, so they
// cost rho = 1 / (2 * 4).
#ifndef CUTTLE_DP_VOTES_H
#define CUTTLE_DP_VOTES_H

#include <stddef.h>
#include <stdint.h>
#include "dp/entropy.h"
#include "dp/status.h"

#define DP_NO_VOTE UINT32_MAX /* of a record that votes for nobody, such as a null one */
#define DP_MOST_CANDIDATES (UINT32_C(1) << 20)
#define DP_MOST_VOTES 16                 /* of one record */
#define DP_MOST_REACH ((int32_t)1 << 20) /* of one record in a sum */

/* The noise: discrete Gaussian of variance num / den (dp/noise.h), for each number on its own. */
struct dp_variance {
	uint32_t num; /* at least 1 */
	uint32_t den; /* at least 1 */
};

/* noisy[c] = how many records vote for candidate c + noise.
 *
 *   votes      [records][each] private: different numbers below `candidates`, or DP_NO_VOTE. A
 *              candidate that stands twice in a record is counted once
 *   each       1 .. DP_MOST_VOTES            candidates  1 .. DP_MOST_CANDIDATES
 *   noisy      [candidates]
 *
 * All noise is drawn before the first record is looked at. So whether there are bits, how many are
 * taken and how long that takes has nothing to do with the records. Which counter a vote reaches
 * shows in the addresses.
 * Privacy: where one record becomes null, at most `each` counts fall by one: dp_votes_rho with
 * `each` as the square (dp/PRIVACY.md, step 49). To draw twice for the same records costs twice.
 * DP_NO_ENTROPY: nothing was drawn; noisy is zero throughout. */
enum dp_status dp_votes(const uint32_t *votes, size_t records, uint32_t each, uint32_t candidates,
                        struct dp_variance variance, const struct dp_random *random,
                        int64_t *noisy);

/* *noisy = the sum of values[records], each clamped to [-reach, reach], + noise. A record that has
 * no number has 0. 1 <= reach <= DP_MOST_REACH, records < 2^32. Privacy: where one record becomes
 * null the sum moves by at most `reach`: dp_votes_rho with reach^2 (step 50). Else as dp_votes. */
enum dp_status dp_votes_sum(const int32_t *values, size_t records, int32_t reach,
                            struct dp_variance variance, const struct dp_random *random,
                            int64_t *noisy);

/* What `times` such answers cost together in zCDP, rounded up: times square den / (2 num). square
 * is the largest sum of squares by which one record moves one answer. Source: Canonne, Kamath &
 * Steinke 2020 (arXiv 2004.00010), Theorem 4: discrete noise costs what continuous noise does. */
double dp_votes_rho(uint64_t square, uint32_t times, struct dp_variance variance);

/* The least variance, on a grid of powers of two as den, whose answers cost at most rho > 0: about
 * times square / (2 rho). DP_BAD_PARAMETER: it would be above 2^32 - 1. */
enum dp_status dp_votes_variance(uint64_t square, uint32_t times, double rho,
                                 struct dp_variance *variance);

#endif
