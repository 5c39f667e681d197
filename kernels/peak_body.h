// SPDX-License-Identifier: Apache-2.0
// peak for the tiers that multiply and add in one instruction. The including file gives the tier: INT8_PEAK, its function; vsums; SUMS, as
// many as hide the instruction's latency, at most 16; MULTIPLY_ADDS of one; IN_REGISTER, the asm constraint; zero, multiply_add.
#include "kernels/peak.h"

#include <stddef.h>

enum { REPEATS = 8 };

uint64_t INT8_PEAK(uint64_t rounds) {
	vsums sum[SUMS];
	for (size_t i = 0; i < SUMS; i++) sum[i] = zero();
	for (uint64_t round = 0; round < rounds; round++)
#pragma GCC unroll 8
		for (size_t repeat = 0; repeat < REPEATS; repeat++) {
#pragma GCC unroll 16
			for (size_t i = 0; i < SUMS; i++) {
				sum[i] = multiply_add(sum[i]);
				__asm__ volatile("" : IN_REGISTER(sum[i]));
			}
		}
	return rounds * REPEATS * SUMS * MULTIPLY_ADDS;
}
