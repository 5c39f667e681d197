// SPDX-License-Identifier: Apache-2.0
// weight_type.h: the weight types of a model file. Turns floats into blocks of a type, and back.
// No private data passes here.
// Example: a block of Q8_0 holds 32 values in 34 bytes, so 64 values take 68 bytes.
// Sources: the GGUF specification's tensor types. Q8_0, Q4_0 and Q4_1 are rounded to the same bits
// as by ggml's reference quantisers.
#ifndef CUTTLE_CONVERT_WEIGHT_TYPE_H
#define CUTTLE_CONVERT_WEIGHT_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weight_type {
	const char *name;     /* as "q4_0" */
	uint32_t id;          /* GGUF's number of the type */
	uint32_t file_type;   /* general.file_type of a file whose matrices are mostly of it */
	uint32_t block;       /* values of one block */
	uint32_t block_bytes; /* bytes of one block */
};

/* In the order of WEIGHT_TYPES, the values of the option --type. */
enum weight_name {
	WEIGHT_F32,
	WEIGHT_F16,
	WEIGHT_BF16,
	WEIGHT_Q8_0,
	WEIGHT_Q4_0,
	WEIGHT_Q4_1,
	WEIGHT_Q4_K,
	WEIGHT_Q6_K,
	WEIGHT_COUNT
};
#define WEIGHT_TYPES "f32|f16|bf16|q8_0|q4_0|q4_1|q4_k|q6_k"

const struct weight_type *weight_type(enum weight_name name);
/* The type with GGUF's number `id`; NULL for a type that is not written here. */
const struct weight_type *weight_type_of(uint32_t id);

/* Reads values[count] from blocks. `count` must be whole blocks; with 0 the call only asks whether
 * the type can be read. False: the type is too coarse to start from (Q4_0, Q4_1, Q4_K, Q6_K). */
bool weight_read(const struct weight_type *type, const uint8_t *blocks, size_t count,
                 float *values);
/* Writes values[count] as blocks, rounded to nearest. `count` must be whole blocks.
 * A value half-way between two goes to the even one in F16 and BF16, away from zero in Q8_0.
 * A block of 32 values x has the scale d, and a code q for each value:
 *
 *   Q8_0   d = max|x| / 127        q = x / d
 *   Q4_0   d = m / -8              q = x / d + 8        m: the first x with the largest |x|
 *   Q4_1   d = (max - min) / 15    q = (x - min) / d    min is stored, too
 *
 * Q4_K and Q6_K: see k_quants.h.
 * False: a value is not finite, or too large for the type. */
bool weight_write(const struct weight_type *type, const float *values, size_t count,
                  uint8_t *blocks);

#endif
