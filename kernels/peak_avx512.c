// SPDX-License-Identifier: Apache-2.0
// peak with AVX-512 VNNI: vpdpbusd does 64 multiply-adds. The loop is in peak_body.h.
#include <immintrin.h>

#define INT8_PEAK int8_peak_avx512
#define IN_REGISTER "+v"
enum { SUMS = 16, MULTIPLY_ADDS = 64 };
typedef __m512i vsums;

static inline vsums zero_sums(void) {
	return _mm512_setzero_si512();
}

static inline vsums multiply_add(vsums sum) {
	return _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(3), _mm512_set1_epi8(-4));
}

#include "kernels/peak_body.h"
