// SPDX-License-Identifier: Apache-2.0
// peak with the dot products of ARMv8.2: sdot, 16 multiply-adds; 16 sums hide its latency.
#include "kernels/peak.h"

#include <arm_neon.h>
#include <stddef.h>

enum { SUMS = 16, REPEATS = 8 };

uint64_t int8_peak_dotprod(uint64_t rounds) {
	int32x4_t sum[SUMS];
	const int8x16_t weights = vdupq_n_s8(3), a = vdupq_n_s8(-4);
	for (size_t i = 0; i < SUMS; i++) sum[i] = vdupq_n_s32(0);
	for (uint64_t round = 0; round < rounds; round++)
#pragma GCC unroll 8
		for (size_t repeat = 0; repeat < REPEATS; repeat++) {
#pragma GCC unroll 16
			for (size_t i = 0; i < SUMS; i++) {
				sum[i] = vdotq_s32(sum[i], weights, a);
				__asm__ volatile("" : "+w"(sum[i]));
			}
		}
	return rounds * REPEATS * SUMS * 16;
}
