// SPDX-License-Identifier: Apache-2.0
// gemm with the dot products of ARMv8.2. A q register holds 4 channels x 4 k: a quarter of a group.
// Up to 8 independent sums hide the latency of sdot: 8 rows x 1 quarter, or fewer rows and more
// quarters. Weights are unpacked once per tile. The fp32 accumulators go through the first-level
// cache once per block. The types with planes of bits are in gemm_planes_dotprod.c.
#include "base/misuse.h"
#include "kernels/gemm.h"

#include <arm_neon.h>

#define INLINE static inline __attribute__((always_inline))
enum {
	ROWS = 8,    /* of a tile */
	QUARTERS = 4 /* of a group: 4 channels each */
};

INLINE float32x4_t load_f16(const uint16_t *half) {
	return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(half)));
}

/* sum += weights times four activations of `a`, those of lane `lane`. `lane` is a constant once its
 * loop is unrolled; but the intrinsic takes only a literal. */
INLINE int32x4_t add_lane_products(int32x4_t sum, int8x16_t weights, int8x16_t a, size_t lane) {
	switch (lane) {
	case 0:
		return vdotq_laneq_s32(sum, weights, a, 0);
	case 1:
		return vdotq_laneq_s32(sum, weights, a, 1);
	case 2:
		return vdotq_laneq_s32(sum, weights, a, 2);
	default:
		return vdotq_laneq_s32(sum, weights, a, 3);
	}
}

/* Eight weights of each channel of quarter `quarter` in a block. low: k = 4 * quad .. 4 * quad + 3;
 * high: these k plus 16. Weights of Q4_0 come without their - 8: isum begins at -8 times the sum of
 * the activations. */
INLINE void unpack_quarter(enum packed_type type, const uint8_t *packed, size_t quad,
                           size_t quarter, int8x16_t *low, int8x16_t *high) {
	const uint8x16_t both = vld1q_u8(packed + 64 * quad + 16 * quarter),
	                 sign = vdupq_n_u8(0x80);
	if (type == PACKED_Q8_0) {
		*low = vreinterpretq_s8_u8(veorq_u8(both, sign));
		*high = vreinterpretq_s8_u8(
		    veorq_u8(vld1q_u8(packed + 64 * (quad + 4) + 16 * quarter), sign));
	} else {
		*low = vreinterpretq_s8_u8(vandq_u8(both, vdupq_n_u8(15)));
		*high = vreinterpretq_s8_u8(vshrq_n_u8(both, 4));
	}
}

/* Computes `count` rows from row `first` on, by one group of channels. Fewer rows take more
 * quarters at a time, so that there are up to 8 sums. type and count are constants after inlining.
 */
INLINE void compute_tile(enum packed_type type, size_t count, float *out, size_t out_stride,
                         bool add, const struct gemm_rows *rows, size_t first,
                         const struct packed_matrix *w, size_t group) {
	const size_t width = count <= 2 ? 4 : count <= 4 ? 2 : 1; // quarters
	const size_t blocks = w->k / GEMM_BLOCK, bytes = type == PACKED_Q8_0 ? 512 : 256;
	const uint8_t *packed = (const uint8_t *)w->weights + group * blocks * bytes;
	const uint16_t *scales = w->scales + group * blocks * GEMM_GROUP;
	const uint16_t *minima =
	    type == PACKED_Q4_1 ? w->minima + group * blocks * GEMM_GROUP : NULL;
	const int8_t *q = rows->q + first * w->k;
	const float *scale = rows->scale + first * blocks,
	            *scaled_sum = rows->scaled_sum + first * blocks;
	const int32_t *sum = rows->sum + first * blocks;
	float32x4_t acc[QUARTERS][ROWS];
	for (size_t j = 0; j < QUARTERS; j++)
		for (size_t r = 0; r < count; r++) acc[j][r] = vdupq_n_f32(0.0f);
	for (size_t b = 0; b < blocks; b++, packed += bytes, scales += GEMM_GROUP)
		for (size_t from = 0; from < QUARTERS; from += width) {
			int8x16_t a[ROWS][2];
			int32x4_t isum[QUARTERS][ROWS];
			for (size_t r = 0; r < count; r++) {
				a[r][0] = vld1q_s8(q + r * w->k + b * GEMM_BLOCK);
				a[r][1] = vld1q_s8(q + r * w->k + b * GEMM_BLOCK + 16);
				for (size_t j = 0; j < width; j++)
					isum[j][r] = vdupq_n_s32(
					    type == PACKED_Q4_0 ? -8 * sum[r * blocks + b] : 0);
			}
#pragma GCC unroll 4
			for (size_t quad = 0; quad < 4; quad++)
				for (size_t j = 0; j < width; j++) {
					int8x16_t low, high;
					unpack_quarter(type, packed, quad, from + j, &low, &high);
					for (size_t r = 0; r < count; r++)
						isum[j][r] = add_lane_products(isum[j][r], low,
						                               a[r][0], quad);
					for (size_t r = 0; r < count; r++)
						isum[j][r] = add_lane_products(isum[j][r], high,
						                               a[r][1], quad);
				}
			for (size_t j = 0; j < width; j++) {
				const float32x4_t weight_scale = load_f16(scales + 4 * (from + j));
				for (size_t r = 0; r < count; r++) {
					const float32x4_t both =
					    vmulq_n_f32(weight_scale, scale[r * blocks + b]);
					acc[from + j][r] = vfmaq_f32(acc[from + j][r], both,
					                             vcvtq_f32_s32(isum[j][r]));
					if (type != PACKED_Q4_1) continue;
					const float32x4_t minimum =
					    load_f16(minima + b * GEMM_GROUP + 4 * (from + j));
					acc[from + j][r] = vfmaq_n_f32(acc[from + j][r], minimum,
					                               scaled_sum[r * blocks + b]);
				}
			}
		}
	for (size_t r = 0; r < count; r++)
		for (size_t j = 0; j < QUARTERS; j++) {
			float *to = out + r * out_stride + 4 * j;
			vst1q_f32(to, add ? vaddq_f32(vld1q_f32(to), acc[j][r]) : acc[j][r]);
		}
}

#include "kernels/gemm_tiles.h"

void gemm_q8_dotprod(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                     const struct packed_matrix *w, const uint32_t *groups, size_t begin,
                     size_t end) {
	REQUIRE(w->type == PACKED_Q8_0 && w->k == rows->k);
	all_tiles(PACKED_Q8_0, out, out_stride, add, rows, w, groups, begin, end);
}

void gemm_q4_dotprod(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                     const struct packed_matrix *w, const uint32_t *groups, size_t begin,
                     size_t end) {
	REQUIRE((w->type == PACKED_Q4_0 || w->type == PACKED_Q4_1) && w->k == rows->k);
	if (w->type == PACKED_Q4_1)
		all_tiles(PACKED_Q4_1, out, out_stride, add, rows, w, groups, begin, end);
	else all_tiles(PACKED_Q4_0, out, out_stride, add, rows, w, groups, begin, end);
}
