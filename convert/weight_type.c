// SPDX-License-Identifier: Apache-2.0
// Reads and rounds each weight type, block by block; weight_type.h has the formulas.
#include "convert/weight_type.h"

#include "base/misuse.h"
#include "convert/k_quants.h"
#include "kernels/f16.h"

#include <math.h>

enum { BLOCK = 32 }; /* values of a block of Q8_0, Q4_0 and Q4_1 */

static const struct weight_type TYPES[WEIGHT_COUNT] = {
    [WEIGHT_F32] = {"f32", 0, 0, 1, 4},
    [WEIGHT_F16] = {"f16", 1, 1, 1, 2},
    [WEIGHT_BF16] = {"bf16", 30, 32, 1, 2},
    [WEIGHT_Q8_0] = {"q8_0", 8, 7, BLOCK, 34},
    [WEIGHT_Q4_0] = {"q4_0", 2, 2, BLOCK, 18},
    [WEIGHT_Q4_1] = {"q4_1", 3, 3, BLOCK, 20},
    [WEIGHT_Q4_K] = {"q4_k", 12, 14, K_BLOCK, Q4_K_BYTES},
    [WEIGHT_Q6_K] = {"q6_k", 14, 18, K_BLOCK, Q6_K_BYTES},
};

const struct weight_type *weight_type(enum weight_name name) {
	REQUIRE(name < WEIGHT_COUNT);
	return &TYPES[name];
}

const struct weight_type *weight_type_of(uint32_t id) {
	for (size_t i = 0; i < WEIGHT_COUNT; i++)
		if (TYPES[i].id == id) return &TYPES[i];
	return NULL;
}

static float read_half(const uint8_t *from) {
	uint16_t half;
	memcpy(&half, from, sizeof half);
	return float_of_f16(half);
}

/* Stores the fp16 nearest to `value`. False: that fp16 is not finite. */
static bool write_half(uint8_t *to, float value) {
	const uint16_t half = f16_of_float(value);
	memcpy(to, &half, sizeof half);
	return (half & 0x7c00) != 0x7c00;
}

bool weight_read(const struct weight_type *type, const uint8_t *blocks, size_t count,
                 float *values) {
	REQUIRE(count % type->block == 0);
	switch ((enum weight_name)(type - TYPES)) {
	case WEIGHT_F32:
		if (count) memcpy(values, blocks, count * sizeof *values);
		return true;
	case WEIGHT_F16:
		for (size_t i = 0; i < count; i++) values[i] = read_half(blocks + 2 * i);
		return true;
	case WEIGHT_BF16:
		for (size_t i = 0; i < count; i++)
			values[i] =
			    float_of_bits((uint32_t)(blocks[2 * i] | blocks[2 * i + 1] << 8) << 16);
		return true;
	case WEIGHT_Q8_0:
		for (size_t i = 0; i < count; i++) {
			const uint8_t *block = blocks + i / BLOCK * type->block_bytes;
			values[i] = read_half(block) * (float)(int8_t)block[2 + i % BLOCK];
		}
		return true;
	default:
		return false;
	}
}

static bool write_bf16(uint8_t *to, float value) {
	const uint32_t bits = bits_of_float(value),
	               rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
	to[0] = (uint8_t)rounded;
	to[1] = (uint8_t)(rounded >> 8);
	return isfinite(value) && (rounded & 0x7f80) != 0x7f80;
}

static bool write_q8_0(uint8_t *to, const float *x) {
	float most = 0.0f;
	for (size_t i = 0; i < BLOCK; i++) most = fmaxf(most, fabsf(x[i]));
	const float step = most / 127.0f, inverse = step != 0.0f ? 1.0f / step : 0.0f;
	// Where the inverse of a tiny step is infinite, all codes are 0: that step is 0 as an fp16.
	for (size_t i = 0; i < BLOCK; i++)
		to[2 + i] = (uint8_t)(isfinite(inverse) ? (int8_t)roundf(x[i] * inverse) : 0);
	return write_half(to, step);
}

/* Writes the codes of a block, two to a byte: byte 3 has code 3 in its lower 4 bits and code 19 in
 * its upper 4. A code is (x - least) * inverse + offset, cut to 0..15 and rounded down. */
static void write_nibbles(uint8_t *to, const float *x, float least, float inverse, float offset) {
	for (size_t i = 0; i < BLOCK / 2; i++) {
		uint8_t pair[2];
		for (size_t j = 0; j < 2; j++) {
			const float q = isfinite(inverse)
			                    ? (x[i + j * BLOCK / 2] - least) * inverse + offset
			                    : offset;
			pair[j] = q < 15.0f ? (uint8_t)q : 15;
		}
		to[i] = (uint8_t)(pair[0] | pair[1] << 4);
	}
}

static bool write_q4_0(uint8_t *to, const float *x) {
	float extreme = 0.0f;
	for (size_t i = 0; i < BLOCK; i++)
		if (fabsf(x[i]) > fabsf(extreme)) extreme = x[i];
	const float step = extreme / -8.0f;
	write_nibbles(to + 2, x, 0.0f, step != 0.0f ? 1.0f / step : 0.0f, 8.5f);
	return write_half(to, step);
}

static bool write_q4_1(uint8_t *to, const float *x) {
	float least = x[0], most = x[0];
	for (size_t i = 1; i < BLOCK; i++) {
		least = fminf(least, x[i]);
		most = fmaxf(most, x[i]);
	}
	const float step = (most - least) / 15.0f;
	write_nibbles(to + 4, x, least, step != 0.0f ? 1.0f / step : 0.0f, 0.5f);
	return write_half(to, step) && write_half(to + 2, least);
}

bool weight_write(const struct weight_type *type, const float *values, size_t count,
                  uint8_t *blocks) {
	REQUIRE(count % type->block == 0);
	bool finite = true;
	for (size_t i = 0; i < count; i++) finite &= isfinite(values[i]) != 0;
	for (size_t i = 0; finite && i < count; i += type->block, blocks += type->block_bytes)
		switch ((enum weight_name)(type - TYPES)) {
		case WEIGHT_F32:
			memcpy(blocks, &values[i], sizeof values[i]);
			break;
		case WEIGHT_F16:
			finite = write_half(blocks, values[i]);
			break;
		case WEIGHT_BF16:
			finite = write_bf16(blocks, values[i]);
			break;
		case WEIGHT_Q8_0:
			finite = write_q8_0(blocks, values + i);
			break;
		case WEIGHT_Q4_0:
			finite = write_q4_0(blocks, values + i);
			break;
		case WEIGHT_Q4_1:
			finite = write_q4_1(blocks, values + i);
			break;
		case WEIGHT_Q4_K:
			finite = k_write_q4(blocks, values + i);
			break;
		case WEIGHT_Q6_K:
			finite = k_write_q6(blocks, values + i);
			break;
		case WEIGHT_COUNT:
			break;
		}
	return finite;
}
