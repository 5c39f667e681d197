// SPDX-License-Identifier: Apache-2.0
// dclip.h: adds one private row's clipped difference to the public row to the sum over rows.
// Row and sum are private.
// Exact in every tier:
//   L_i = clamp(round_half_even(row[i] * 2^fraction_bits), -2^26, 2^26)
//   sum[i] += clamp(L_i - public_fixed[i], -clip, +clip)            i = 0 .. n-1
// Example: fraction_bits = 16, row[i] = 1.5, public_fixed[i] = 65536, clip = 20000. L_i is 98304,
// the difference 32768, and sum[i] grows by 20000.
// Source: InvisibleInk eq. 4 (DClip).
#ifndef CUTTLE_KERNELS_DCLIP_H
#define CUTTLE_KERNELS_DCLIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False when any row[i] is NaN or infinite: the row is null and sum stays untouched. What is added
 * and what is returned depend on this row and the public row alone. What is returned is private: it
 * must decide nothing that can be seen.
 * row[n]; sum[n]; public_fixed[n], each within -2^28 .. 2^28: a centred row comes with the shift
 * already in it (dp/center.h). No alignment needed; no aliasing.
 * 0 <= clip <= 2^26. fraction_bits <= 16. */
typedef bool dclip_fn(const float *row, const int32_t *public_fixed, size_t n,
                      unsigned fraction_bits, int32_t clip, int32_t *sum);

dclip_fn dclip_scalar;
dclip_fn dclip_neon;
dclip_fn dclip_avx2;
dclip_fn dclip_avx512;

#endif
