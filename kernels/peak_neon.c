// SPDX-License-Identifier: Apache-2.0
// peak with baseline ASIMD: smlal, 8 multiply-adds; the widening to 32 bits, once in a while, is left out.
#include "kernels/peak.h"

#include <arm_neon.h>
#include <stddef.h>

enum { SUMS = 16, REPEATS = 8 };

uint64_t int8_peak_neon(uint64_t rounds) {
	int16x8_t sum[SUMS];
	const int8x8_t weights = vdup_n_s8(3), a = vdup_n_s8(-4);
	for (size_t i = 0; i < SUMS; i++) sum[i] = vdupq_n_s16(0);
	for (uint64_t round = 0; round < rounds; round++)
#pragma GCC unroll 8
		for (size_t repeat = 0; repeat < REPEATS; repeat++) {
#pragma GCC unroll 16
			for (size_t i = 0; i < SUMS; i++) {
				sum[i] = vmlal_s8(sum[i], weights, a);
				__asm__ volatile("" : "+w"(sum[i]));
			}
		}
	return rounds * REPEATS * SUMS * 8;
}
