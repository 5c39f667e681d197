// SPDX-License-Identifier: Apache-2.0
// peak with AVX-VNNI: vpdpbusd on ymm, 32 multiply-adds.
#include "kernels/peak.h"

#include <immintrin.h>
#include <stddef.h>

enum { SUMS = 12, REPEATS = 8 };

uint64_t int8_peak_avxvnni(uint64_t rounds) {
	__m256i sum[SUMS];
	const __m256i weights = _mm256_set1_epi8(3), a = _mm256_set1_epi8(-4);
	for (size_t i = 0; i < SUMS; i++) sum[i] = _mm256_setzero_si256();
	for (uint64_t round = 0; round < rounds; round++)
#pragma GCC unroll 8
		for (size_t repeat = 0; repeat < REPEATS; repeat++) {
#pragma GCC unroll 12
			for (size_t i = 0; i < SUMS; i++) {
				sum[i] = _mm256_dpbusd_avx_epi32(sum[i], weights, a);
				__asm__ volatile("" : "+x"(sum[i]));
			}
		}
	return rounds * REPEATS * SUMS * 32;
}
