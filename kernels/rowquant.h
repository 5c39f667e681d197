// SPDX-License-Identifier: Apache-2.0
// rowquant: one row of activations to int8, per block of 32, as a function of that block alone.
//
//   amax  = max |x[j]|, compared as bit patterns so that Inf and NaN win
//   scale = amax / 127,  q[j] = round_half_even(x[j] * (127 / amax)),  sum = sum of q[j],  scaled_sum = scale * (float)sum
//   half_sum = the sums over the first 16 q and over the last 16
//   amax < 2^-100: scale = 0, q = 0.   amax not finite: scale = NaN, q = 0 (the row's outputs become NaN).
//
// Shapes: x[k], q[k], scale[k/32], scaled_sum[k/32], sum[k/32], half_sum[k/16]; k a multiple of 32; no alignment needed; no aliasing.
#ifndef CUTTLE_KERNELS_ROWQUANT_H
#define CUTTLE_KERNELS_ROWQUANT_H

#include <stddef.h>
#include <stdint.h>

typedef void rowquant_fn(const float *x, size_t k, int8_t *q, float *scale, float *scaled_sum, int32_t *sum, int32_t *half_sum);

rowquant_fn rowquant_scalar, rowquant_neon, rowquant_avx2, rowquant_avx512;

#endif
