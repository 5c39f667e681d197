// SPDX-License-Identifier: Apache-2.0
// gemm with baseline ASIMD, for ARM cores without dot products. A q register holds 4 channels x 4
// k: a quarter of a group. Two quarters, 8 channels, are computed at once. Up to 4 rows share each
// unpacked weight and hold 16 integer sums in registers. The fp32 accumulators go through the
// first-level cache once per block. The types with planes of bits are in gemm_planes_neon.c.
#include "base/misuse.h"
#include "kernels/gemm.h"

#include <arm_neon.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
enum {
	ROWS = 4,     /* of a tile */
	QUARTERS = 4, /* of a group: 4 channels each */
	PAIR = 2      /* quarters computed at once */
};

INLINE float32x4_t load_f16(const uint16_t *half) {
	return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(half)));
}

INLINE int8x16_t broadcast4(const int8_t *q) {
	int32_t four;
	memcpy(&four, q, sizeof four);
	return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

INLINE int8x16_t load_q8(const uint8_t *packed) {
	return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(packed), vdupq_n_u8(0x80)));
}

INLINE void clear_accumulators(size_t count, float32x4_t acc[ROWS][QUARTERS]) {
	for (size_t r = 0; r < count; r++)
		for (size_t j = 0; j < QUARTERS; j++) acc[r][j] = vdupq_n_f32(0.0f);
}

INLINE void store_accumulators(float *out, size_t out_stride, bool add, size_t count,
                               float32x4_t acc[ROWS][QUARTERS]) {
	for (size_t r = 0; r < count; r++)
		for (size_t j = 0; j < QUARTERS; j++) {
			float *to = out + r * out_stride + 4 * j;
			vst1q_f32(to, add ? vaddq_f32(vld1q_f32(to), acc[r][j]) : acc[r][j]);
		}
}

/* The exact sums of one block, for 8 channels: quarters `from` and `from + 1`. Two products of
 * signed bytes fit in 16 bits for every weight: 2 * 128 * 127 = 32512, below 32768. */
INLINE void sum_block_q8(size_t count, const uint8_t *packed, size_t from, const int8_t *q,
                         size_t k, int32x4_t isum[ROWS][PAIR]) {
	int32x4_t halves[ROWS][PAIR][2];
	for (size_t r = 0; r < count; r++)
		for (size_t j = 0; j < PAIR; j++)
			halves[r][j][0] = halves[r][j][1] = vdupq_n_s32(0);
	for (size_t quad = 0; quad < 8; quad += 2) {
		int8x16_t even[PAIR], odd[PAIR];
		for (size_t j = 0; j < PAIR; j++) {
			even[j] = load_q8(packed + 64 * quad + 16 * (from + j));
			odd[j] = load_q8(packed + 64 * (quad + 1) + 16 * (from + j));
		}
		for (size_t r = 0; r < count; r++) {
			const int8x16_t even_a = broadcast4(q + r * k + 4 * quad),
			                odd_a = broadcast4(q + r * k + 4 * quad + 4);
			for (size_t j = 0; j < PAIR; j++) {
				int16x8_t low = vmull_s8(vget_low_s8(even[j]), vget_low_s8(even_a)),
				          high = vmull_high_s8(even[j], even_a);
				low = vmlal_s8(low, vget_low_s8(odd[j]), vget_low_s8(odd_a));
				high = vmlal_high_s8(high, odd[j], odd_a);
				halves[r][j][0] = vpadalq_s16(halves[r][j][0], low);
				halves[r][j][1] = vpadalq_s16(halves[r][j][1], high);
			}
		}
	}
	for (size_t r = 0; r < count; r++)
		for (size_t j = 0; j < PAIR; j++)
			isum[r][j] = vpaddq_s32(halves[r][j][0], halves[r][j][1]);
}

/* The same for nibbles 0 .. 15. Here the sums of a whole block fit in 16 bits: 8 * 15 * 127 =
 * 15240.
 */
INLINE void sum_block_q4(size_t count, const uint8_t *packed, size_t from, const int8_t *q,
                         size_t k, int32x4_t isum[ROWS][PAIR]) {
	int16x8_t halves[ROWS][PAIR][2];
	for (size_t r = 0; r < count; r++)
		for (size_t j = 0; j < PAIR; j++)
			halves[r][j][0] = halves[r][j][1] = vdupq_n_s16(0);
	for (size_t quad = 0; quad < 4; quad++) {
		int8x16_t low[PAIR], high[PAIR];
		for (size_t j = 0; j < PAIR; j++) {
			const uint8x16_t both = vld1q_u8(packed + 64 * quad + 16 * (from + j));
			low[j] = vreinterpretq_s8_u8(vandq_u8(both, vdupq_n_u8(15)));
			high[j] = vreinterpretq_s8_u8(vshrq_n_u8(both, 4));
		}
		for (size_t r = 0; r < count; r++) {
			const int8x16_t low_a = broadcast4(q + r * k + 4 * quad),
			                high_a = broadcast4(q + r * k + 16 + 4 * quad);
			for (size_t j = 0; j < PAIR; j++) {
				halves[r][j][0] = vmlal_s8(halves[r][j][0], vget_low_s8(low[j]),
				                           vget_low_s8(low_a));
				halves[r][j][1] = vmlal_high_s8(halves[r][j][1], low[j], low_a);
				halves[r][j][0] = vmlal_s8(halves[r][j][0], vget_low_s8(high[j]),
				                           vget_low_s8(high_a));
				halves[r][j][1] = vmlal_high_s8(halves[r][j][1], high[j], high_a);
			}
		}
	}
	for (size_t r = 0; r < count; r++)
		for (size_t j = 0; j < PAIR; j++)
			isum[r][j] =
			    vpaddq_s32(vpaddlq_s16(halves[r][j][0]), vpaddlq_s16(halves[r][j][1]));
}

/* Computes `count` rows from row `first` on, by one group of channels. type and count are constants
 * after inlining. */
INLINE void tile_blocks(enum packed_type type, size_t count, float *out, size_t out_stride,
                        bool add, const struct gemm_rows *rows, size_t first,
                        const struct packed_matrix *w, size_t group) {
	const size_t blocks = w->k / GEMM_BLOCK, bytes = type == PACKED_Q8_0 ? 512 : 256;
	const uint8_t *packed = (const uint8_t *)w->weights + group * blocks * bytes;
	const uint16_t *scales = w->scales + group * blocks * GEMM_GROUP;
	const uint16_t *minima =
	    type == PACKED_Q4_1 ? w->minima + group * blocks * GEMM_GROUP : NULL;
	const int8_t *q = rows->q + first * w->k;
	const float *scale = rows->scale + first * blocks,
	            *scaled_sum = rows->scaled_sum + first * blocks;
	const int32_t *sum = rows->sum + first * blocks;
	float32x4_t acc[ROWS][QUARTERS];
	clear_accumulators(count, acc);
	for (size_t b = 0; b < blocks; b++, packed += bytes, scales += GEMM_GROUP)
		for (size_t from = 0; from < QUARTERS; from += PAIR) {
			int32x4_t isum[ROWS][PAIR];
			if (type == PACKED_Q8_0)
				sum_block_q8(count, packed, from, q + b * GEMM_BLOCK, w->k, isum);
			else sum_block_q4(count, packed, from, q + b * GEMM_BLOCK, w->k, isum);
			for (size_t j = 0; j < PAIR; j++) {
				const float32x4_t weight_scale = load_f16(scales + 4 * (from + j));
				for (size_t r = 0; r < count; r++) {
					const float32x4_t both =
					    vmulq_n_f32(weight_scale, scale[r * blocks + b]);
					if (type == PACKED_Q4_0)
						isum[r][j] =
						    vsubq_s32(isum[r][j],
						              vdupq_n_s32(8 * sum[r * blocks + b]));
					acc[r][from + j] = vfmaq_f32(acc[r][from + j], both,
					                             vcvtq_f32_s32(isum[r][j]));
					if (type != PACKED_Q4_1) continue;
					const float32x4_t minimum =
					    load_f16(minima + b * GEMM_GROUP + 4 * (from + j));
					acc[r][from + j] = vfmaq_n_f32(acc[r][from + j], minimum,
					                               scaled_sum[r * blocks + b]);
				}
			}
		}
	store_accumulators(out, out_stride, add, count, acc);
}

INLINE void tile_floats(enum packed_type type, size_t count, float *out, size_t out_stride,
                        bool add, const struct gemm_rows *rows, size_t first,
                        const struct packed_matrix *w, size_t group) {
	const size_t base = group * w->k * GEMM_GROUP;
	const float *x = rows->x + first * w->k;
	float32x4_t acc[ROWS][QUARTERS];
	clear_accumulators(count, acc);
	for (size_t i = 0; i < w->k; i++)
		for (size_t j = 0; j < QUARTERS; j++) {
			const size_t at = base + i * GEMM_GROUP + 4 * j;
			float32x4_t weight;
			if (type == PACKED_F32) weight = vld1q_f32((const float *)w->weights + at);
			else if (type == PACKED_F16)
				weight = load_f16((const uint16_t *)w->weights + at);
			else
				weight = vreinterpretq_f32_u32(
				    vshll_n_u16(vld1_u16((const uint16_t *)w->weights + at), 16));
			for (size_t r = 0; r < count; r++)
				acc[r][j] = vfmaq_n_f32(acc[r][j], weight, x[r * w->k + i]);
		}
	store_accumulators(out, out_stride, add, count, acc);
}

INLINE void compute_tile(enum packed_type type, size_t count, float *out, size_t out_stride,
                         bool add, const struct gemm_rows *rows, size_t first,
                         const struct packed_matrix *w, size_t group) {
	if (packed_is_float(type))
		tile_floats(type, count, out, out_stride, add, rows, first, w, group);
	else tile_blocks(type, count, out, out_stride, add, rows, first, w, group);
}

#include "kernels/gemm_tiles.h"

void gemm_q8_neon(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                  const struct packed_matrix *w, const uint32_t *groups, size_t begin, size_t end) {
	REQUIRE(w->type == PACKED_Q8_0 && w->k == rows->k);
	all_tiles(PACKED_Q8_0, out, out_stride, add, rows, w, groups, begin, end);
}

void gemm_q4_neon(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                  const struct packed_matrix *w, const uint32_t *groups, size_t begin, size_t end) {
	REQUIRE((w->type == PACKED_Q4_0 || w->type == PACKED_Q4_1) && w->k == rows->k);
	if (w->type == PACKED_Q4_1)
		all_tiles(PACKED_Q4_1, out, out_stride, add, rows, w, groups, begin, end);
	else all_tiles(PACKED_Q4_0, out, out_stride, add, rows, w, groups, begin, end);
}

void gemm_float_neon(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                     const struct packed_matrix *w, const uint32_t *groups, size_t begin,
                     size_t end) {
	REQUIRE(packed_is_float(w->type) && w->k == rows->k);
	if (w->type == PACKED_F16)
		all_tiles(PACKED_F16, out, out_stride, add, rows, w, groups, begin, end);
	else if (w->type == PACKED_BF16)
		all_tiles(PACKED_BF16, out, out_stride, add, rows, w, groups, begin, end);
	else all_tiles(PACKED_F32, out, out_stride, add, rows, w, groups, begin, end);
}
