// SPDX-License-Identifier: Apache-2.0
// threshold_law.h: how likely the answers of AboveThreshold (dp/threshold.h) are, given those that
// it gave before.
//
// It is for auditors: no token is ever drawn by it. Distances and chances are PRIVATE.
// How: N1 is known to nobody, so its density is kept on a grid and multiplied by the chance of each
// answer. A unit that answered no three times is one whose N1 is rather large.
// Example: t1 = 10, D = Theta. Before any answer, yes has the chance 1/2. After a yes the unit is
// over, and the next one begins anew.
#ifndef CUTTLE_DP_THRESHOLD_LAW_H
#define CUTTLE_DP_THRESHOLD_LAW_H

#include <stddef.h>
#include <stdint.h>
#include "dp/threshold.h"

/* The formulas, with x = N1 / t1 and c = (D - Theta) / t1:
 *
 *   density of x, at first   e^-|x| / 2
 *   chance of yes            T(x - c), where T(z) = e^(-z/2) / 2 for z > 0, else 1 - e^(z/2) / 2
 *
 * Sums over x have steps of 1/64 and end 30 behind the last place that matters. Lattice noise is
 * taken as continuous, which adds about 1 / t1. Chances are right to about 1e-7 of their own. */

/* Bytes of a past; 0: the noise is too small for a grid of 2^17 steps. */
size_t dp_threshold_past_size(const struct dp_threshold *threshold, uint32_t places);

/* ln_chance[1] and [0] become those of yes and no to this distance, by the grid in *past. Zeros
 * there are a batch that has no answer yet. */
void dp_threshold_chances(const struct dp_threshold *threshold, uint32_t places, const void *past,
                          int64_t distance, double ln_chance[2]);

/* The answer to that distance came. */
void dp_threshold_answered(const struct dp_threshold *threshold, uint32_t places, void *past,
                           int64_t distance, bool yes);

#endif
