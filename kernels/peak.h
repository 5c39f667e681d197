// SPDX-License-Identifier: Apache-2.0
// peak: multiply-adds of bytes, as many a second as the instructions of a tier's block gemms can do with everything in registers. What it
// computes means nothing; how long it takes is the ceiling of those gemms.
#ifndef CUTTLE_KERNELS_PEAK_H
#define CUTTLE_KERNELS_PEAK_H

#include <stdint.h>

/* Runs `rounds` rounds and returns the multiply-adds done, a fixed number per round. */
typedef uint64_t int8_peak_fn(uint64_t rounds);

int8_peak_fn int8_peak_scalar; /* the compiler's own code, on bytes that stay in the first-level cache */
int8_peak_fn int8_peak_neon;
int8_peak_fn int8_peak_dotprod;
int8_peak_fn int8_peak_avx2;
int8_peak_fn int8_peak_avxvnni;
int8_peak_fn int8_peak_avx512;
int8_peak_fn int8_peak_amx;

#endif
