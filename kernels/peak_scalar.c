// SPDX-License-Identifier: Apache-2.0
// peak in plain C: what the compiler makes of a dot product of bytes.
#include "kernels/peak.h"

#include <stddef.h>

enum { BYTES = 1024 };

uint64_t int8_peak_scalar(uint64_t rounds) {
	int8_t a[BYTES], b[BYTES];
	for (size_t i = 0; i < BYTES; i++) a[i] = b[i] = (int8_t)(i % 251 - 125);
	for (uint64_t round = 0; round < rounds; round++) {
		int32_t sum = 0;
		__asm__ volatile("" : : "r"(a), "r"(b) : "memory"); // the bytes may have changed
		for (size_t i = 0; i < BYTES; i++) sum += a[i] * b[i];
		__asm__ volatile("" : : "r"(sum));
	}
	return rounds * BYTES;
}
