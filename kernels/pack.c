// SPDX-License-Identifier: Apache-2.0
#include "kernels/pack.h"

#include "base/misuse.h"
#include "kernels/f16.h"

struct format {
	size_t block;        /* elements */
	size_t file_bytes;   /* per block in the file */
	size_t packed_bytes; /* of weights per block and 16 channels */
	size_t header;       /* bytes of scales before the weights of a block */
};
static const struct format formats[] = {[PACKED_F32] = {1, 4, 64, 0},
                                        [PACKED_F16] = {1, 2, 32, 0},
                                        [PACKED_Q8_0] = {32, 34, 512, 2},
                                        [PACKED_Q4_0] = {32, 18, 256, 2},
                                        [PACKED_Q4_1] = {32, 20, 256, 4}};

size_t pack_row_bytes(enum packed_type type, size_t k) {
	return k / formats[type].block * formats[type].file_bytes;
}

bool pack_sizes(enum packed_type type, size_t channels, size_t k, size_t *weights, size_t *scales, size_t *minima) {
	const struct format *format = &formats[type];
	size_t cells;
	if (channels > SIZE_MAX - GEMM_GROUP) return false;
	if (__builtin_mul_overflow((channels + GEMM_GROUP - 1) / GEMM_GROUP, k / format->block, &cells)) return false;
	if (__builtin_mul_overflow(cells, format->packed_bytes, weights) || *weights > SIZE_MAX / 2) return false;
	*weights = (*weights + 63) / 64 * 64;
	*scales = format->header ? (cells * GEMM_GROUP * sizeof(uint16_t) + 63) / 64 * 64 : 0;
	*minima = type == PACKED_Q4_1 ? *scales : 0;
	return true;
}

void pack_groups(const struct packed_matrix *to, const uint8_t *source, size_t begin, size_t end) {
	const struct format *format = &formats[to->type];
	const size_t blocks = to->k / format->block, row_bytes = pack_row_bytes(to->type, to->k);
	const size_t element = format->packed_bytes / GEMM_GROUP; // bytes of one channel in one packed block
	for (size_t group = begin; group < end; group++)
		for (size_t c = 0; c < GEMM_GROUP; c++) {
			const size_t channel = group * GEMM_GROUP + c;
			const bool real = channel < to->channels;
			for (size_t b = 0; b < blocks; b++) {
				uint8_t *packed = (uint8_t *)to->weights + (group * blocks + b) * format->packed_bytes;
				const size_t at = (group * blocks + b) * GEMM_GROUP + c;
				if (!format->header) {
					if (real) memcpy(packed + c * element, source + channel * row_bytes + b * element, element);
					else memset(packed + c * element, 0, element);
					continue;
				}
				static const uint8_t zero[34] = {0};
				const uint8_t *raw = real ? source + channel * row_bytes + b * format->file_bytes : zero;
				memcpy((uint16_t *)to->scales + at, raw, sizeof(uint16_t));
				if (to->type == PACKED_Q4_1) memcpy((uint16_t *)to->minima + at, raw + 2, sizeof(uint16_t));
				for (size_t j = 0; j < element; j += 4) { // the four k of one channel stay together
					uint32_t four;
					memcpy(&four, raw + format->header + j, sizeof four);
					if (to->type == PACKED_Q8_0) four ^= 0x80808080u;
					memcpy(packed + j * GEMM_GROUP + c * 4, &four, sizeof four);
				}
			}
		}
}

void pack_row(const struct packed_matrix *w, size_t channel, float *out) {
	REQUIRE(channel < w->channels);
	const struct format *format = &formats[w->type];
	const size_t group = channel / GEMM_GROUP, c = channel % GEMM_GROUP, blocks = w->k / format->block;
	for (size_t b = 0; b < blocks; b++) {
		const size_t cell = group * blocks + b, at = cell * GEMM_GROUP + c;
		if (w->type == PACKED_F32) {
			out[b] = ((const float *)w->weights)[at];
			continue;
		}
		if (w->type == PACKED_F16) {
			out[b] = float_of_f16(((const uint16_t *)w->weights)[at]);
			continue;
		}
		const uint8_t *packed = (const uint8_t *)w->weights + cell * format->packed_bytes;
		const float scale = float_of_f16(w->scales[at]), minimum = w->type == PACKED_Q4_1 ? float_of_f16(w->minima[at]) : 0.0f;
		float *to = out + b * GEMM_BLOCK;
		for (size_t j = 0; j < GEMM_BLOCK; j++) {
			if (w->type == PACKED_Q8_0) {
				to[j] = scale * (float)(packed[j / 4 * 64 + c * 4 + j % 4] - 128);
				continue;
			}
			const uint8_t byte = packed[j % 16 / 4 * 64 + c * 4 + j % 4];
			const int nibble = j < 16 ? byte & 15 : byte >> 4;
			to[j] = w->type == PACKED_Q4_0 ? scale * (float)(nibble - 8) : scale * (float)nibble + minimum;
		}
	}
}
