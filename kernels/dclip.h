// SPDX-License-Identifier: Apache-2.0
// dclip: one private row's clipped difference to the public row, added to the sum over rows. Exact in every tier.
//
//   L_i = clamp(round_half_even(row[i] * 2^fraction_bits), -2^26, 2^26)
//   sum[i] += clamp(L_i - public_fixed[i], -clip, +clip)            i = 0 .. n-1
//
// When any row[i] is NaN or infinite the row is null: sum is left untouched and false is returned. The answer is a function of this row and
// the public row alone; it is private and decides nothing that can be seen.
// Shapes: row[n], public_fixed[n] (|.| <= 2^28: a centred row comes with the shift already in it, dp/center.h), sum[n]; no alignment
// needed; no aliasing. 0 <= clip <= 2^26. fraction_bits <= 16. Source: design note privacy.md 1.4; InvisibleInk eq. 4 (DClip).
#ifndef CUTTLE_KERNELS_DCLIP_H
#define CUTTLE_KERNELS_DCLIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef bool dclip_fn(const float *row, const int32_t *public_fixed, size_t n, unsigned fraction_bits, int32_t clip, int32_t *sum);

dclip_fn dclip_scalar;
dclip_fn dclip_neon;
dclip_fn dclip_avx2;
dclip_fn dclip_avx512;

#endif
