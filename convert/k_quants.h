// SPDX-License-Identifier: Apache-2.0
// k_quants.h: rounds 256 weights to one block of type Q4_K or Q6_K.
// No private data passes here.
// A block has one fp16 scale (Q4_K: two), and a small integer scale for each of its parts.
// Source: the GGUF specification's block layouts. A block can be rounded in many ways. How we
// choose is our own: least squares over a grid of steps. The same weights give the same bytes
// everywhere.
#ifndef CUTTLE_CONVERT_K_QUANTS_H
#define CUTTLE_CONVERT_K_QUANTS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	K_BLOCK = 256,    /* weights */
	Q4_K_BYTES = 144, /* of a block of Q4_K */
	Q6_K_BYTES = 210  /* of a block of Q6_K */
};

/* Rounds x[256], which must be finite. A weight of a part of 32 becomes
 *   d * scale * q - dmin * minimum,   0 <= q < 16,   0 <= scale < 64,   0 <= minimum < 64.
 * d and dmin belong to the block, scale and minimum to the part, q to the weight.
 * False: d or dmin is too large for an fp16. */
bool k_write_q4(uint8_t to[Q4_K_BYTES], const float *x);
/* Rounds x[256], which must be finite. A weight of a part of 16 becomes
 *   d * scale * (q - 32),   0 <= q < 64,   -128 <= scale < 128.
 * d belongs to the block, scale to the part, q to the weight. False: d is too large for an fp16. */
bool k_write_q6(uint8_t to[Q6_K_BYTES], const float *x);

#endif
