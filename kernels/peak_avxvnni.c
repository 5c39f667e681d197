// SPDX-License-Identifier: Apache-2.0
// peak with AVX-VNNI: vpdpbusd on ymm does 32 multiply-adds. The loop is in peak_body.h.
#include <immintrin.h>

#define INT8_PEAK int8_peak_avxvnni
#define IN_REGISTER "+x"
enum { SUMS = 12, MULTIPLY_ADDS = 32 };
typedef __m256i vsums;

static inline vsums zero_sums(void) {
	return _mm256_setzero_si256();
}

static inline vsums multiply_add(vsums sum) {
	return _mm256_dpbusd_avx_epi32(sum, _mm256_set1_epi8(3), _mm256_set1_epi8(-4));
}

#include "kernels/peak_body.h"
