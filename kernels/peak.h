// SPDX-License-Identifier: Apache-2.0
// peak.h: multiply-adds of bytes, as fast as the instructions of a tier's block gemms allow.
// No private data. All operands are in registers. So no block gemm of this tier does more
// multiply-adds a second. What is computed means nothing; only the time counts.
// Example: 10 seconds for a call that returns 5e12 are a ceiling of 0.5e12 multiply-adds a second.
#ifndef CUTTLE_KERNELS_PEAK_H
#define CUTTLE_KERNELS_PEAK_H

#include <stdint.h>

/* Runs `rounds` rounds and returns the multiply-adds done, a fixed number per round. */
typedef uint64_t int8_peak_fn(uint64_t rounds);

/* The scalar one is the compiler's own code, on bytes that stay in the first-level cache. */
int8_peak_fn int8_peak_scalar;
int8_peak_fn int8_peak_neon;
int8_peak_fn int8_peak_dotprod;
int8_peak_fn int8_peak_avx2;
int8_peak_fn int8_peak_avxvnni;
int8_peak_fn int8_peak_avx512;
int8_peak_fn int8_peak_amx;

#endif
