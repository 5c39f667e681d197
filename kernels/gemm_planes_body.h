// SPDX-License-Identifier: Apache-2.0
// gemm_planes_body.h: the gemm over planes of bits (gemm.h), included once by each vector tier.
// Rows may be private; weights are public.
// A tile is up to ROWS rows by one group of 16 channels. The channels of a group are computed
// LANES_PART at a time (lanes.h): with AVX2 first channels 0-7, then 8-15.
// Example: gemm_planes_avx2.c defines its instructions, then includes this file.

// The including file defines:
//   GEMM_PLANES         the name of its gemm
//   GEMM_PANELS, MANY_ROWS    the same for so many rows or more; only if there is one
//   GEMM_Q4, GEMM_Q8    the same for Q4_x and Q8_0; only if these have no kernels of their own
//   ROWS                rows of a tile, at most 8
//   vint                a vector of LANES_PART int32
//   what gemm_codes.h asks for
//   int_of(value)              value in every lane
//   add_products(type, isum, codes, a)    adds to each channel its 16 codes times a[16], exact
//   prefetch_weights(packed)              fetches what a later block reads
#include "base/misuse.h"
#include "kernels/gemm_codes.h"
#include "kernels/part_scale.h"

enum { SUPER_BLOCKS = GEMM_SUPER / GEMM_BLOCK, SUPER_HALVES = GEMM_SUPER / GEMM_HALF };

/* Computes `count` rows from row `first` on, by one group of channels. type and count are constants
 * after inlining. */
INLINE void compute_tile(enum packed_type type, size_t count, float *out, size_t out_stride,
                         bool add, const struct gemm_rows *rows, size_t first,
                         const struct packed_matrix *w, size_t group) {
	const bool halved = packed_span(type) == GEMM_HALF, has_minimum = packed_has_minimum(type);
	const int offset = codes_offset(type);
	const size_t blocks = w->k / GEMM_BLOCK, bytes = packed_bits(type) * 64;
	const size_t scale_halves = group_scale_halves(type, w->k);
	const uint8_t *packed = (const uint8_t *)w->weights + group * blocks * bytes;
	const uint16_t *scales = w->scales + group * scale_halves,
	               *minima = has_minimum ? w->minima + group * scale_halves : NULL;
	const int8_t *q = rows->q + first * w->k;
	const float *scale = rows->scale + first * blocks,
	            *scaled_sum = rows->scaled_sum + first * blocks;
	const int32_t *sum = rows->sum + first * blocks,
	              *half_sum = rows->half_sum + 2 * first * blocks;
	lanes_part acc[LANES_PARTS][ROWS];
	for (size_t part = 0; part < LANES_PARTS; part++)
		for (size_t r = 0; r < count; r++) acc[part][r] = lanes_part_of(0.0f);
	// Only types whose parts are halves: one value per row and half (16 halves in 256 weights).
	// They are in arrays so that they can be broadcast from memory.
	int32_t offset_correction[ROWS][SUPER_HALVES]; // isum begins here instead of at 0
	float scaled_half_sum[ROWS][SUPER_HALVES];     // scaled_sum of gemm.h
	for (size_t b = 0; b < blocks; b++, packed += bytes) {
		for (size_t i = 0; i < bytes; i += 64) prefetch_weights(packed + i);
		if (halved && b % SUPER_BLOCKS == 0)
			for (size_t r = 0; r < count; r++)
				for (size_t i = 0; i < SUPER_HALVES; i++) {
					const int32_t whole = half_sum[2 * (r * blocks + b) + i];
					offset_correction[r][i] = -offset * whole;
					scaled_half_sum[r][i] =
					    scale[r * blocks + b + i / 2] * (float)whole;
				}
		for (size_t part = 0; part < LANES_PARTS; part++) {
			vint isum[ROWS];
#pragma GCC unroll 2
			for (size_t half = 0; half < 2; half++) {
				vbytes codes[4];
				unpack_codes(type, packed, half, part, codes);
				for (size_t r = 0; r < count; r++) {
					const size_t at = r * blocks + b;
					if (halved)
						isum[r] = int_of(
						    offset ? offset_correction[r][b % SUPER_BLOCKS *
						                                      2 +
						                                  half]
						           : 0);
					else if (!half)
						isum[r] = int_of(offset ? -offset * sum[at] : 0);
					isum[r] = add_products(type, isum[r], codes,
					                       q + r * w->k + b * GEMM_BLOCK +
					                           half * GEMM_HALF);
				}
				if (!halved && !half) continue;
				const size_t at_scale = halved ? 2 * b + half : b;
				const lanes_part weight_scale =
				    part_scale(type, scales, at_scale, part * LANES_PART);
				const lanes_part minimum =
				    has_minimum
				        ? part_scale(type, minima, at_scale, part * LANES_PART)
				        : lanes_part_of(0.0f);
				for (size_t r = 0; r < count; r++) {
					const size_t at = r * blocks + b;
					lanes_part *to = &acc[part][r];
					*to =
					    lanes_part_fma(weight_scale * lanes_part_of(scale[at]),
					                   __builtin_convertvector(
					                       (lanes_part_int)isum[r], lanes_part),
					                   *to);
					if (!has_minimum) continue;
					const float factor =
					    halved ? scaled_half_sum[r][b % SUPER_BLOCKS * 2 + half]
					           : scaled_sum[at];
					*to = lanes_part_fma(minimum, lanes_part_of(factor), *to);
				}
			}
		}
	}
	for (size_t r = 0; r < count; r++)
		for (size_t part = 0; part < LANES_PARTS; part++) {
			float *to = out + r * out_stride + part * LANES_PART;
			lanes_part value = acc[part][r];
			if (add) {
				memcpy(&value, to, sizeof value);
				value = value + acc[part][r];
			}
			memcpy(to, &value, sizeof value);
		}
}

#include "kernels/gemm_tiles.h"

#define TYPE(NAME)                                                                                 \
	case NAME:                                                                                 \
		all_tiles(NAME, out, out_stride, add, rows, w, groups, begin, end);                \
		break;
void GEMM_PLANES(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                 const struct packed_matrix *w, const uint32_t *groups, size_t begin, size_t end) {
	REQUIRE(w->type >= PACKED_Q5_0 && w->type < PACKED_TYPES && w->k == rows->k);
#if defined(GEMM_PANELS)
	if (rows->rows >= MANY_ROWS) {
		GEMM_PANELS(out, out_stride, add, rows, w, groups, begin, end);
		return;
	}
#endif
	switch (w->type) {
		PLANE_TYPES(TYPE)
	default:
		break;
	}
}

#if defined(GEMM_Q4)
void GEMM_Q4(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
             const struct packed_matrix *w, const uint32_t *groups, size_t begin, size_t end) {
	REQUIRE((w->type == PACKED_Q4_0 || w->type == PACKED_Q4_1) && w->k == rows->k);
	if (w->type == PACKED_Q4_0)
		all_tiles(PACKED_Q4_0, out, out_stride, add, rows, w, groups, begin, end);
	else all_tiles(PACKED_Q4_1, out, out_stride, add, rows, w, groups, begin, end);
}

void GEMM_Q8(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
             const struct packed_matrix *w, const uint32_t *groups, size_t begin, size_t end) {
	REQUIRE(w->type == PACKED_Q8_0 && w->k == rows->k);
	all_tiles(PACKED_Q8_0, out, out_stride, add, rows, w, groups, begin, end);
}
#endif
