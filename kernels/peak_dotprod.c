// SPDX-License-Identifier: Apache-2.0
// peak with the dot products of ARMv8.2: sdot does 16 multiply-adds. The loop is in peak_body.h.
#include <arm_neon.h>

#define INT8_PEAK int8_peak_dotprod
#define IN_REGISTER "+w"
enum { SUMS = 16, MULTIPLY_ADDS = 16 };
typedef int32x4_t vsums;

static inline vsums zero_sums(void) {
	return vdupq_n_s32(0);
}

static inline vsums multiply_add(vsums sum) {
	return vdotq_s32(sum, vdupq_n_s8(3), vdupq_n_s8(-4));
}

#include "kernels/peak_body.h"
