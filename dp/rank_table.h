// SPDX-License-Identifier: Apache-2.0
// rank_table.h: the integers E[0 .. V-1] by which dp/rank.h draws ranks, and the check that Theorem
// R stands on.
//
// All numbers are public: no private data passes through.
// Example with V 5, k 2, epsilon 2: STEP makes 8124353099063 twice and 2^40 three times; ENVELOPE
// makes 5282034273093, 3130441781685, 2071049743419, 1471604113655 and 2^40.
// Rules: 2 <= words <= DP_RANK_MOST_WORDS and 1 <= epsilon_millionths <= DP_RANK_MOST_EPSILON.
// Anything else is a caller bug.
#ifndef CUTTLE_DP_RANK_TABLE_H
#define CUTTLE_DP_RANK_TABLE_H

#include <stdint.h>
#include "dp/status.h"
#include "dp/wide.h"

#define DP_RANK_MOST_WORDS (UINT32_C(1) << 18)
#define DP_RANK_MOST_EPSILON UINT32_C(64000000) /* 64, in millionths */

/* With T(r) = V + r (q - 1) and q = e^(epsilon/2), an ENVELOPE gives P(rank < k), for every k at
 * once, as much as any exponential mechanism of the same epsilon gives to k words (Theorem D). */
enum dp_rank_shape {
	DP_RANK_STEP,    /* E = floor(2^40 e^epsilon) for the k nearest words, 2^40 for the rest */
	DP_RANK_ENVELOPE /* E[r-1] = 2^40 T(V) T(V-1) / (T(r) T(r-1)) to the nearest integer */
};

/* floor(2^40 e^epsilon) from a series in which every operation rounds down. It is never above the
 * true floor, and below it only where 2^40 e^epsilon is less than 2^-80 above an integer. */
struct dp_wide dp_rank_bound(uint32_t epsilon_millionths);

/* Checks a table of `words` integers. DP_OK, or DP_SELF_CHECK unless for every r:
 *   E[r] >= E[r+1] >= 1
 *   E[0] 2^40 <= dp_rank_bound E[V-1]
 * Tables with E[V-1] >= 2^64, or E[0] >= 2^200, fail too. */
enum dp_status dp_rank_check(const struct dp_wide *table, uint32_t words,
                             uint32_t epsilon_millionths);

/* Makes the table of a shape: table[words], the caller's. The work is in integers alone, so every
 * machine makes the same table. near: k of STEP, 1 .. words - 1; ENVELOPE does not read it. */
void dp_rank_tabulate(enum dp_rank_shape shape, uint32_t words, uint32_t near,
                      uint32_t epsilon_millionths, struct dp_wide *table);

#endif
