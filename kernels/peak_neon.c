// SPDX-License-Identifier: Apache-2.0
// peak with baseline ASIMD: smlal does 8 multiply-adds. A gemm also widens its sums to 32 bits,
// once in a while; that is left out. The loop is in peak_body.h.
#include <arm_neon.h>

#define INT8_PEAK int8_peak_neon
#define IN_REGISTER "+w"
enum { SUMS = 16, MULTIPLY_ADDS = 8 };
typedef int16x8_t vsums;

static inline vsums zero_sums(void) {
	return vdupq_n_s16(0);
}

static inline vsums multiply_add(vsums sum) {
	return vmlal_s8(sum, vdup_n_s8(3), vdup_n_s8(-4));
}

#include "kernels/peak_body.h"
