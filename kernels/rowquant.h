// SPDX-License-Identifier: Apache-2.0
// rowquant.h: turns one row of activations into int8, as the gemms of block types need it.
// Rows may be private.
// Each block of 32 entries depends on that block alone:
//   amax       = max |x[j]|, compared as bit patterns: infinity and NaN are then the largest
//   scale      = amax / 127
//   q[j]       = round_half_even(x[j] * (127 / amax))
//   sum        = sum of q[j]
//   scaled_sum = scale * (float)sum
//   half_sum   = the sum of the first 16 q, then of the last 16
// If amax < 2^-100: scale = 0 and q = 0.
// If amax is not finite: scale = NaN and q = 0, so the row's outputs become NaN.
#ifndef CUTTLE_KERNELS_ROWQUANT_H
#define CUTTLE_KERNELS_ROWQUANT_H

#include <stddef.h>
#include <stdint.h>

/* x[k], q[k], scale[k/32], scaled_sum[k/32], sum[k/32], half_sum[k/16]; k a multiple of 32. No
 * alignment needed; no aliasing. */
typedef void rowquant_fn(const float *x, size_t k, int8_t *q, float *scale, float *scaled_sum,
                         int32_t *sum, int32_t *half_sum);

rowquant_fn rowquant_scalar, rowquant_neon, rowquant_avx2, rowquant_avx512;

#endif
