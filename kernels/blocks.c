// SPDX-License-Identifier: Apache-2.0
// Each case of block_read is one file format. The comment beside it lists the fields of a block in
// the order of the file. d is the scale, m and dmin are the minimum: fp16 all.
#include "kernels/blocks.h"

#include <string.h>

/* Reads `count` fields of `bits` bits and puts each, `shift` bits up, into its code. A run is `run`
 * codes in a row. The first `run` bytes hold the first 8 / bits runs: byte j holds field j of each
 * of them, the first run in the lowest bits. The next `run` bytes hold the next runs.
 * Example: bits = 4, run = 16. Byte 3 holds code 3 in its low nibble and code 19 in its high one.
 * Every GGUF type stores its bits so; only the run differs. */
static inline __attribute__((always_inline)) void read_fields(uint8_t *code, const uint8_t *from,
                                                              size_t count, unsigned bits,
                                                              size_t run, unsigned shift) {
	for (const uint8_t *end = code + count; code < end; from += run)
		for (unsigned at = 0; at < 8; at += bits, code += run)
			for (size_t j = 0; j < run; j++)
				code[j] |= (uint8_t)((from[j] >> at & ((1u << bits) - 1)) << shift);
}

/* Q4_K, Q5_K: 12 bytes hold 8 scales and 8 minima of 6 bits each.
 * Bytes 0-3, low six bits: scales 0-3.     Bytes 4-7, low six bits: minima 0-3.
 * Bytes 8-11, low nibble: low four bits of scales 4-7.    High nibble: the same of minima 4-7.
 * Bytes 0-3, top two bits: bits 4-5 of scales 4-7.        Bytes 4-7: the same of minima 4-7.
 * Example: scale 5 is the low nibble of byte 9 plus 16 times the top two bits of byte 1. */
static void read_six_bit_scales(struct block *block, const uint8_t *from) {
	for (size_t i = 0; i < 4; i++) {
		block->scales[i] = from[i] & 63;
		block->minima[i] = from[4 + i] & 63;
		block->scales[4 + i] = (int8_t)((from[8 + i] & 15) | from[i] >> 6 << 4);
		block->minima[4 + i] = (int8_t)(from[8 + i] >> 4 | from[4 + i] >> 6 << 4);
	}
}

static void copy_f16(uint16_t *half, const uint8_t *from) {
	memcpy(half, from, sizeof *half);
}

void block_read(enum packed_type type, const uint8_t *raw, struct block *block) {
	memset(block->code, 0, packed_has_levels(type) ? GEMM_SUPER : GEMM_BLOCK);
	uint8_t high[GEMM_SUPER / GEMM_HALF] = {0};
	switch (type) {
	case PACKED_Q5_0: // d, fifth bits, nibbles
	case PACKED_Q5_1: // d, m, fifth bits, nibbles
		copy_f16(&block->scale, raw);
		if (type == PACKED_Q5_1) copy_f16(&block->minimum, raw += 2);
		for (size_t j = 0; j < 32; j++)
			block->code[j] = (uint8_t)((raw[2 + j / 8] >> j % 8 & 1) << 4);
		read_fields(block->code, raw + 6, 32, 4, 16, 0);
		break;
	case PACKED_IQ4_XS: // d, upper two bits of 8 scales, their nibbles, nibbles
		copy_f16(&block->scale, raw);
		for (size_t i = 0; i < 8; i++) {
			const unsigned top = (raw[2 + i / 4] >> i % 4 * 2 & 3) << 4,
			               nibble = raw[4 + i / 2] >> i % 2 * 4 & 15;
			block->scales[i] = (int8_t)((int)(top | nibble) - 32);
		}
		read_fields(block->code, raw + 8, 256, 4, 16, 0);
		break;
	case PACKED_Q4_K: // d, dmin, scales, nibbles
	case PACKED_Q5_K: // d, dmin, scales, fifth bits, nibbles
		copy_f16(&block->scale, raw);
		copy_f16(&block->minimum, raw + 2);
		read_six_bit_scales(block, raw + 4);
		if (type == PACKED_Q5_K) {
			read_fields(block->code, raw + 16, 256, 1, 32, 4);
			raw += 32;
		}
		read_fields(block->code, raw + 16, 256, 4, 32, 0);
		break;
	case PACKED_Q6_K: // nibbles, upper two bits, scales, d
		read_fields(block->code, raw, 256, 4, 64, 0);
		read_fields(block->code, raw + 128, 256, 2, 32, 4);
		memcpy(block->scales, raw + 192, 16);
		copy_f16(&block->scale, raw + 208);
		break;
	case PACKED_Q3_K: // third bits, lower two bits, scales, d
		read_fields(block->code, raw, 256, 1, 32, 2);
		read_fields(block->code, raw + 32, 256, 2, 32, 0);
		read_fields(high, raw + 96, 16, 4, 8, 0);
		read_fields(high, raw + 104, 16, 2, 4, 4);
		for (size_t i = 0; i < 16; i++) block->scales[i] = (int8_t)(high[i] - 32);
		copy_f16(&block->scale, raw + 108);
		break;
	case PACKED_Q2_K: // scales and minima in nibbles, codes, d, dmin
		for (size_t i = 0; i < 16; i++) {
			block->scales[i] = raw[i] & 15;
			block->minima[i] = (int8_t)(raw[i] >> 4);
		}
		read_fields(block->code, raw + 16, 256, 2, 32, 0);
		copy_f16(&block->scale, raw + 80);
		copy_f16(&block->minimum, raw + 82);
		break;
	default:
		break;
	}
	if (packed_has_levels(type) && packed_has_minimum(type))
		block->minimum ^= 0x8000; // turns the sign: the file's minimum is to be subtracted
}
