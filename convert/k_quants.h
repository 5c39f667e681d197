// SPDX-License-Identifier: Apache-2.0
// Rounding to Q4_K and Q6_K: 256 weights with one fp16 scale, and small integer scales of their parts.
// Source: the GGUF specification's block layouts. Which of the many roundings is chosen is our own: least squares over a grid of steps.
#ifndef CUTTLE_CONVERT_K_QUANTS_H
#define CUTTLE_CONVERT_K_QUANTS_H

#include <stdbool.h>
#include <stdint.h>

enum { K_BLOCK = 256, Q4_K_BYTES = 144, Q6_K_BYTES = 210 };

/* x[256] finite. A part of 32 is  d * scale * q - dmin * minimum,  0 <= q < 16, 0 <= scale, minimum < 64. False: too large for an fp16. */
bool k_write_q4(uint8_t to[Q4_K_BYTES], const float *x);
/* x[256] finite. A part of 16 is  d * scale * (q - 32),  0 <= q < 64, -128 <= scale < 128. False: too large for an fp16. */
bool k_write_q6(uint8_t to[Q6_K_BYTES], const float *x);

#endif
