// SPDX-License-Identifier: Apache-2.0
// peak with AVX2: vpmaddubsw and vpaddw do 32 multiply-adds. A gemm also widens its sums to 32
// bits, once per block; that is left out.
#include "kernels/peak.h"

#include <immintrin.h>
#include <stddef.h>

enum {
	SUMS = 8,    /* vectors of sums */
	WEIGHTS = 4, /* vectors of weights, each for two sums */
	REPEATS = 8  /* in a round */
};

uint64_t int8_peak_avx2(uint64_t rounds) {
	__m256i sum[SUMS], weights[WEIGHTS], a[2];
	for (size_t i = 0; i < SUMS; i++) sum[i] = _mm256_setzero_si256();
	for (size_t i = 0; i < WEIGHTS; i++) weights[i] = _mm256_set1_epi8((char)(i + 3));
	for (size_t i = 0; i < 2; i++) a[i] = _mm256_set1_epi8((char)(5 * i - 4));
	for (uint64_t round = 0; round < rounds; round++)
#pragma GCC unroll 8
		for (size_t repeat = 0; repeat < REPEATS; repeat++) {
			// The compiler must take a as changed. Otherwise it would multiply only
			// once.
			__asm__ volatile("" : "+x"(a[0]), "+x"(a[1]));
#pragma GCC unroll 8
			for (size_t i = 0; i < SUMS; i++)
				sum[i] = _mm256_add_epi16(
				    sum[i], _mm256_maddubs_epi16(weights[i / 2], a[i % 2]));
		}
	for (size_t i = 0; i < SUMS; i++) __asm__ volatile("" : : "x"(sum[i]));
	return rounds * REPEATS * SUMS * 32;
}
