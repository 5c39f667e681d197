// SPDX-License-Identifier: Apache-2.0
// The weight types a model file is written in: floats <-> blocks as GGUF stores them.
// Sources: the GGUF specification's tensor types; Q8_0, Q4_0, Q4_1 round as ggml's reference quantisers, to the bit.
#ifndef CUTTLE_CONVERT_WEIGHT_TYPE_H
#define CUTTLE_CONVERT_WEIGHT_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weight_type {
	const char *name;            /* "q4_0" */
	uint32_t id, file_type;      /* GGUF's number of the type, and general.file_type of a file that is mostly of it */
	uint32_t block, block_bytes; /* values, bytes */
};

/* In the order of WEIGHT_TYPES, which is what --type takes. */
enum weight_name { WEIGHT_F32, WEIGHT_F16, WEIGHT_BF16, WEIGHT_Q8_0, WEIGHT_Q4_0, WEIGHT_Q4_1, WEIGHT_Q4_K, WEIGHT_Q6_K, WEIGHT_COUNT };
#define WEIGHT_TYPES "f32|f16|bf16|q8_0|q4_0|q4_1|q4_k|q6_k"

const struct weight_type *weight_type(enum weight_name name);
/* By GGUF's number; NULL for types that are not written here. */
const struct weight_type *weight_type_of(uint32_t id);

/* values[count] of blocks, count whole blocks, 0 to ask. False: the type is too coarse to start from (Q4_0, Q4_1, Q4_K, Q6_K). */
bool weight_read(const struct weight_type *type, const uint8_t *blocks, size_t count, float *values);
/* The reverse, rounding to nearest: halves to even for F16 and BF16, away from zero for Q8_0. A block of 32 values x becomes
 *   Q8_0: d = max|x| / 127, q = x/d;  Q4_0: d = m / -8 with m the first x of the greatest size, q = x/d + 8;
 *   Q4_1: d = (max - min) / 15, q = (x - min)/d, and min is stored;  Q4_K, Q6_K: see k_quants.h.
 * False: a value is not finite, or too large for the type. */
bool weight_write(const struct weight_type *type, const float *values, size_t count, uint8_t *blocks);

#endif
