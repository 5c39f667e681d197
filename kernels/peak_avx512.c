// SPDX-License-Identifier: Apache-2.0
// peak with AVX-512 VNNI: vpdpbusd, 64 multiply-adds; 16 sums hide its latency.
#include "kernels/peak.h"

#include <immintrin.h>
#include <stddef.h>

enum { SUMS = 16, REPEATS = 8 };

uint64_t int8_peak_avx512(uint64_t rounds) {
	__m512i sum[SUMS];
	const __m512i weights = _mm512_set1_epi8(3), a = _mm512_set1_epi8(-4);
	for (size_t i = 0; i < SUMS; i++) sum[i] = _mm512_setzero_si512();
	for (uint64_t round = 0; round < rounds; round++)
#pragma GCC unroll 8
		for (size_t repeat = 0; repeat < REPEATS; repeat++) {
#pragma GCC unroll 16
			for (size_t i = 0; i < SUMS; i++) {
				sum[i] = _mm512_dpbusd_epi32(sum[i], weights, a);
				__asm__ volatile("" : "+v"(sum[i]));
			}
		}
	return rounds * REPEATS * SUMS * 64;
}
