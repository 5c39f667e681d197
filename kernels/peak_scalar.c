// SPDX-License-Identifier: Apache-2.0
// peak in plain C: as fast as the compiler's code for a dot product of bytes.
#include "kernels/peak.h"

#include <stddef.h>

enum { BYTES = 1024 /* of each operand */ };

uint64_t int8_peak_scalar(uint64_t rounds) {
	int8_t a[BYTES], b[BYTES];
	for (size_t i = 0; i < BYTES; i++) a[i] = b[i] = (int8_t)(i % 251 - 125);
	for (uint64_t round = 0; round < rounds; round++) {
		int32_t sum = 0;
		// The compiler must take the bytes as changed, or it would sum only once.
		__asm__ volatile("" : : "r"(a), "r"(b) : "memory");
		for (size_t i = 0; i < BYTES; i++) sum += a[i] * b[i];
		__asm__ volatile("" : : "r"(sum));
	}
	return rounds * BYTES;
}
