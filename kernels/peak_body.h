// SPDX-License-Identifier: Apache-2.0
// peak_body.h: the body of int8_peak, included by the tiers that multiply and add in one
// instruction. Example: peak_avx512.c. The including file defines:
//   INT8_PEAK         the name of its function
//   vsums             a vector of sums
//   SUMS              independent sums, enough to hide the instruction's latency; at most 16
//   MULTIPLY_ADDS     of one instruction
//   IN_REGISTER       the asm constraint of a sum: it stays in a register and is taken as changed,
//                     so that the compiler leaves no instruction out
//   zero_sums()       a vector of zeros
//   multiply_add(sum) one instruction
#include "kernels/peak.h"

#include <stddef.h>

enum { REPEATS = 8 /* in a round */ };

uint64_t INT8_PEAK(uint64_t rounds) {
	vsums sum[SUMS];
	for (size_t i = 0; i < SUMS; i++) sum[i] = zero_sums();
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
