// SPDX-License-Identifier: Apache-2.0
// The middle of a private row's differences to the public row. Softmax ignores a shift, so clipping around the middle instead of around
// zero keeps a constant offset of the row from eating the clip. Source: design note privacy.md 1.4, recentred DClip.
#ifndef CUTTLE_DP_CENTER_H
#define CUTTLE_DP_CENTER_H

#include <stddef.h>
#include <stdint.h>

/* row[n] holds L_i and becomes L_pub + s, s = the lower median of L_i - L_pub: the least value that at least half of the differences do not
 * exceed. public_fixed[n] holds L_pub; all |L| <= 2^26, so |row| <= 2^28 afterwards. n >= 1. Always the same work for the same n. */
void dp_center(int32_t *row, const int32_t *public_fixed, size_t n);

#endif
