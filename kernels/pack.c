// SPDX-License-Identifier: Apache-2.0
// Packing goes channel by channel and file block by file block. block_read gives a block's codes,
// one per byte, and its scales. pack_codes spreads the codes over planes; pack_scales stores the
// scales. Some types are stored in files as they are packed: their codes are copied four bytes at a
// time.
#include "kernels/pack.h"

#include "base/misuse.h"
#include "kernels/blocks.h"
#include "kernels/f16.h"

/* One block in the file. */
static const struct block_format {
	uint16_t weights; /* in the block */
	uint16_t bytes;   /* of the block */
} formats[PACKED_TYPES] = {
    [PACKED_F32] = {1, 4},        [PACKED_F16] = {1, 2},      [PACKED_BF16] = {1, 2},
    [PACKED_Q8_0] = {32, 34},     [PACKED_Q4_0] = {32, 18},   [PACKED_Q4_1] = {32, 20},
    [PACKED_Q5_0] = {32, 22},     [PACKED_Q5_1] = {32, 24},   [PACKED_IQ4_NL] = {32, 18},
    [PACKED_IQ4_XS] = {256, 136}, [PACKED_Q4_K] = {256, 144}, [PACKED_Q5_K] = {256, 176},
    [PACKED_Q6_K] = {256, 210},   [PACKED_Q3_K] = {256, 110}, [PACKED_Q2_K] = {256, 84}};
enum { BLOCK_BYTES_MOST = 210 };

size_t pack_block(enum packed_type type) {
	return formats[type].weights;
}

size_t pack_block_bytes(enum packed_type type) {
	return formats[type].bytes;
}

size_t pack_row_bytes(enum packed_type type, size_t k) {
	return k / formats[type].weights * formats[type].bytes;
}

/* Bytes that the codes of one file block take when packed, for all 16 channels of a group. Example:
 * Q4_0 has 32 * 4 * 16 / 8 = 256. */
static size_t packed_code_bytes(enum packed_type type) {
	return formats[type].weights * packed_bits(type) * GEMM_GROUP / 8;
}

bool pack_sizes(enum packed_type type, size_t channels, size_t k, size_t *weights, size_t *scales,
                size_t *minima) {
	size_t cells;
	if (channels > SIZE_MAX - GEMM_GROUP) return false;
	if (__builtin_mul_overflow((channels + GEMM_GROUP - 1) / GEMM_GROUP,
	                           k / formats[type].weights, &cells))
		return false;
	if (__builtin_mul_overflow(cells, packed_code_bytes(type), weights) ||
	    *weights > SIZE_MAX / 2)
		return false;
	*weights = (*weights + 63) / 64 * 64;
	*scales = packed_is_float(type) ? 0 : (cells * packed_scale_bytes(type) + 63) / 64 * 64;
	*minima = packed_has_minimum(type) ? *scales : 0;
	return true;
}

static void pack_floats(const struct packed_matrix *to, const uint8_t *source, size_t group,
                        size_t c) {
	const size_t channel = group * GEMM_GROUP + c, bytes = formats[to->type].bytes;
	uint8_t *packed = (uint8_t *)to->weights + (group * to->k * GEMM_GROUP + c) * bytes;
	for (size_t j = 0; j < to->k; j++, packed += GEMM_GROUP * bytes)
		if (channel < to->channels)
			memcpy(packed, source + (channel * to->k + j) * bytes, bytes);
		else memset(packed, 0, bytes);
}

/* The codes of k = 4 * quad .. 4 * quad + 3, a byte each. */
static uint32_t quad_of(const uint8_t *code, size_t quad) {
	uint32_t four;
	memcpy(&four, code + 4 * quad, sizeof four);
	return four;
}

/* Spreads 32 codes over the planes of one packed block, at the bytes of channel c. gemm.h says
 * which bit goes where. */
static void pack_codes(enum packed_type type, uint8_t *packed, size_t c, const uint8_t *code) {
	const size_t bits = packed_bits(type);
	uint8_t *plane = packed + 4 * c;
	unsigned shift = 0;
	if (bits & 4) {
		for (size_t quad = 0; quad < 4; quad++) {
			const uint32_t both = (quad_of(code, quad) & 0x0f0f0f0f) |
			                      (quad_of(code, 4 + quad) & 0x0f0f0f0f) << 4;
			memcpy(plane + 64 * quad, &both, 4);
		}
		plane += 256, shift = 4;
	}
	if (bits & 2) {
		uint32_t pairs[2] = {0};
		for (size_t quad = 0; quad < 8; quad++)
			pairs[quad / 4] |= (quad_of(code, quad) >> shift & 0x03030303)
			                   << quad % 4 * 2;
		for (size_t half = 0; half < 2; half++) memcpy(plane + 64 * half, &pairs[half], 4);
		plane += 128, shift += 2;
	}
	if (bits & 1) {
		uint32_t single = 0;
		for (size_t quad = 0; quad < 8; quad++)
			single |= (quad_of(code, quad) >> shift & 0x01010101) << quad;
		memcpy(plane, &single, 4);
	}
}

/* Stores the scales (or minima) of channel c that belong to one file block. `half` is the fp16;
 * types with two levels also have `parts`, a signed byte for each part. */
static void pack_scales(enum packed_type type, uint16_t *to, size_t c, uint16_t half,
                        const int8_t *parts) {
	memcpy(to + c, &half, sizeof half);
	if (!packed_has_levels(type)) return;
	int8_t *second = (int8_t *)(to + GEMM_GROUP);
	for (size_t part = 0; part < GEMM_SUPER / packed_span(type); part++)
		second[part * GEMM_GROUP + c] = parts[part];
}

/* Some types' codes lie in the file as in the packed layout: four bytes of a block become four
 * bytes of a vector. Returns the bytes before these codes in a file block: d, or d and m. For other
 * types it returns 0. */
static size_t plain_header_bytes(enum packed_type type) {
	return type == PACKED_Q4_1                                                   ? 4
	       : type == PACKED_Q4_0 || type == PACKED_Q8_0 || type == PACKED_IQ4_NL ? 2
	                                                                             : 0;
}

/* Copies the codes of a type that plain_header_bytes names. Q8_0 is turned to w ^ 0x80. */
static void pack_plain_codes(enum packed_type type, uint8_t *packed, size_t c,
                             const uint8_t *code) {
	const uint32_t turned = type == PACKED_Q8_0 ? 0x80808080u : 0;
	for (size_t quad = 0; quad < packed_bits(type); quad++) {
		const uint32_t four = quad_of(code, quad) ^ turned;
		memcpy(packed + 64 * quad + 4 * c, &four, sizeof four);
	}
}

void pack_groups(const struct packed_matrix *to, const uint8_t *source, size_t begin, size_t end) {
	const enum packed_type type = to->type;
	const size_t weights = formats[type].weights, blocks = to->k / weights,
	             row_bytes = pack_row_bytes(type, to->k);
	const size_t packed_block = packed_bits(type) * GEMM_BLOCK * GEMM_GROUP / 8,
	             scale_bytes = packed_scale_bytes(type);
	static const uint8_t zero[BLOCK_BYTES_MOST] = {0};
	const size_t header = plain_header_bytes(type);
	for (size_t group = begin; group < end; group++)
		for (size_t c = 0; c < GEMM_GROUP; c++) {
			if (packed_is_float(type)) {
				pack_floats(to, source, group, c);
				continue;
			}
			const size_t channel = group * GEMM_GROUP + c;
			for (size_t b = 0; b < blocks; b++) {
				const size_t cell = group * blocks + b;
				uint8_t *packed =
				    (uint8_t *)to->weights + cell * packed_code_bytes(type);
				const uint8_t *raw =
				    channel < to->channels
				        ? source + channel * row_bytes + b * formats[type].bytes
				        : zero;
				struct block block;
				if (header) {
					// Without taking codes apart, a large model loads 20 times
					// as fast.
					memcpy(&block.scale, raw, sizeof block.scale);
					if (packed_has_minimum(type))
						memcpy(&block.minimum, raw + 2,
						       sizeof block.minimum);
					pack_plain_codes(type, packed, c, raw + header);
				} else block_read(type, raw, &block);
				for (size_t j = 0; !header && j < weights; j += GEMM_BLOCK)
					pack_codes(type, packed + j / GEMM_BLOCK * packed_block, c,
					           block.code + j);
				pack_scales(type, (uint16_t *)to->scales + cell * scale_bytes / 2,
				            c, block.scale, block.scales);
				if (packed_has_minimum(type))
					pack_scales(type,
					            (uint16_t *)to->minima + cell * scale_bytes / 2,
					            c, block.minimum, block.minima);
			}
		}
}

void pack_integers(const struct packed_matrix *w, size_t group, size_t c, size_t block,
                   int8_t weights[GEMM_BLOCK]) {
	static const int8_t table[16] = {GEMM_IQ4_TABLE};
	const size_t bits = packed_bits(w->type);
	const uint8_t *plane =
	    (const uint8_t *)w->weights + (group * (w->k / GEMM_BLOCK) + block) * bits * 64 + 4 * c;
	uint8_t code[GEMM_BLOCK];
	uint32_t quads[8] = {0};
	unsigned shift = 0;
	for (size_t quad = 0; bits == 8 && quad < 8; quad++)
		memcpy(&quads[quad], plane + 64 * quad, 4);
	if (bits & 4) {
		for (size_t quad = 0; quad < 8; quad++)
			quads[quad] =
			    quad_of(plane + quad % 4 * 64, 0) >> quad / 4 * 4 & 0x0f0f0f0f;
		plane += 256, shift = 4;
	}
	if (bits & 2) {
		for (size_t quad = 0; quad < 8; quad++)
			quads[quad] |=
			    (quad_of(plane + quad / 4 * 64, 0) >> quad % 4 * 2 & 0x03030303)
			    << shift;
		plane += 128, shift += 2;
	}
	for (size_t quad = 0; bits & 1 && quad < 8; quad++)
		quads[quad] |= (quad_of(plane, 0) >> quad & 0x01010101) << shift;
	memcpy(code, quads, sizeof code);
	for (size_t j = 0; j < GEMM_BLOCK; j++)
		weights[j] = packed_has_table(w->type) ? table[code[j]]
		                                       : (int8_t)(code[j] - packed_offset(w->type));
}

float pack_scale(const struct packed_matrix *w, const uint16_t *scales, size_t group, size_t c,
                 size_t j) {
	if (!packed_has_levels(w->type))
		return float_of_f16(
		    scales[(group * (w->k / GEMM_BLOCK) + j / GEMM_BLOCK) * GEMM_GROUP + c]);
	scales += (group * (w->k / GEMM_SUPER) + j / GEMM_SUPER) * packed_scale_bytes(w->type) / 2;
	const int8_t *second = (const int8_t *)(scales + GEMM_GROUP);
	return float_of_f16(scales[c]) *
	       (float)second[j % GEMM_SUPER / packed_span(w->type) * GEMM_GROUP + c];
}

void pack_row(const struct packed_matrix *w, size_t channel, float *out) {
	REQUIRE(channel < w->channels);
	const size_t group = channel / GEMM_GROUP, c = channel % GEMM_GROUP;
	for (size_t j = 0; packed_is_float(w->type) && j < w->k; j++) {
		const size_t at = (group * w->k + j) * GEMM_GROUP + c;
		if (w->type == PACKED_F32) out[j] = ((const float *)w->weights)[at];
		else if (w->type == PACKED_F16)
			out[j] = float_of_f16(((const uint16_t *)w->weights)[at]);
		else out[j] = float_of_bf16(((const uint16_t *)w->weights)[at]);
	}
	if (packed_is_float(w->type)) return;
	const size_t span = packed_span(w->type);
	for (size_t from = 0; from < w->k; from += span) {
		const float scale = pack_scale(w, w->scales, group, c, from);
		const float minimum =
		    packed_has_minimum(w->type) ? pack_scale(w, w->minima, group, c, from) : -0.0f;
		int8_t weights[GEMM_BLOCK];
		pack_integers(w, group, c, from / GEMM_BLOCK, weights);
		for (size_t j = 0; j < span; j++)
			out[from + j] = scale * (float)weights[from % GEMM_BLOCK + j] + minimum;
	}
}
