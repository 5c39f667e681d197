// SPDX-License-Identifier: Apache-2.0
// center.h: finds the median of a private row's differences to the public row.
//
// Softmax ignores a constant added to all logits of a row. Clipped around zero, such a constant
// would use up the clip. Clipped around their median, the differences lose it first.
// Example: the differences 3.0, 3.1, 3.2 at clip 0.5 all become 0.5 around zero. Around their
// median 3.1 they become -0.1, 0, 0.1.
// The row is private, and so is the median: it stays in the row. Source: dp/PRIVACY.md, step 12.
#ifndef CUTTLE_DP_CENTER_H
#define CUTTLE_DP_CENTER_H

#include <stddef.h>
#include <stdint.h>

/* row[n] holds L_i and becomes L_pub + s. s is the lower median of L_i - L_pub: the least value
 * that at least half of the differences do not exceed. Of the differences 1, 2, 5, 9 it is 2.
 * public_fixed[n] holds L_pub. All |L| <= 2^26, so |row| <= 2^28 afterwards. n >= 1. The work
 * depends on n alone: 28 passes over the row, and one more where s >= 2^27 - 1. */
void dp_center(int32_t *row, const int32_t *public_fixed, size_t n);

#endif
