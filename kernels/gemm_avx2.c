// SPDX-License-Identifier: Apache-2.0
// gemm with AVX2. Two ymm hold 16 channels x 4 k; up to 4 rows share each unpacked weight. Integer
// sums stay in registers during a block. The fp32 accumulators go through the first-level cache
// once per block. The types with planes of bits are in gemm_planes_avx2.c.
#include "base/misuse.h"
#include "kernels/gemm.h"
#include "kernels/in_order.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
enum {
	ROWS = 4,             /* of a tile */
	HALVES = 2,           /* of a group: 8 channels, a ymm */
	PREFETCH_BYTES = 4096 /* from the weights in use to those fetched ahead */
};

INLINE __m256i load_ymm(const uint8_t *from) {
	return _mm256_loadu_si256((const __m256i *)from);
}

INLINE __m256i broadcast4(const void *from) {
	int32_t four;
	memcpy(&four, from, sizeof four);
	return _mm256_set1_epi32(four);
}

INLINE __m256 load_f16(const uint16_t *half) {
	return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)half));
}

/* Eight weights of a float type, from weight `at` on, in fp32. */
INLINE __m256 load_float(enum packed_type type, const void *weights, size_t at) {
	if (type == PACKED_F32) return _mm256_loadu_ps((const float *)weights + at);
	const uint16_t *half = (const uint16_t *)weights + at;
	if (type == PACKED_F16) return load_f16(half);
	return _mm256_castsi256_ps(
	    _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)half)), 16));
}

INLINE void store_accumulators(float *out, size_t out_stride, bool add, size_t rows,
                               __m256 acc[ROWS][HALVES]) {
	for (size_t r = 0; r < rows; r++)
		for (size_t h = 0; h < HALVES; h++) {
			float *to = out + r * out_stride + 8 * h;
			_mm256_storeu_ps(to, add ? _mm256_add_ps(_mm256_loadu_ps(to), acc[r][h])
			                         : acc[r][h]);
		}
}

INLINE void clear_accumulators(size_t rows, __m256 acc[ROWS][HALVES]) {
	for (size_t r = 0; r < rows; r++) acc[r][0] = acc[r][1] = _mm256_setzero_ps();
}

/* Computes `count` rows from row `first` on, by one group of channels. count is a constant after
 * inlining. Bytes are widened to 16 bits: k = 0 and 2 of each four in one register, k = 1 and 3 in
 * another. madd then adds two exact products per channel, and for no weight does a sum saturate.
 * The loop over i is unrolled in part: unrolled whole, 3 and 4 rows take a third longer. */
INLINE void tile_q8(size_t count, float *out, size_t out_stride, bool add,
                    const struct gemm_rows *rows, size_t first, const struct packed_matrix *w,
                    size_t group) {
	const size_t blocks = w->k / GEMM_BLOCK;
	const uint8_t *packed = (const uint8_t *)w->weights + group * blocks * 512;
	const uint16_t *scales = w->scales + group * blocks * GEMM_GROUP;
	const int8_t *q = rows->q + first * w->k;
	const float *scale = rows->scale + first * blocks;
	const int32_t *sum = rows->sum + first * blocks;
	const __m256i low_byte = _mm256_set1_epi16(0xff);
	__m256 acc[ROWS][HALVES];
	clear_accumulators(count, acc);
	for (size_t b = 0; b < blocks; b++, packed += 512, scales += GEMM_GROUP) {
		int16_t even[ROWS][16], odd[ROWS][16];
		__m256i isum[ROWS][HALVES];
		for (size_t r = 0; r < count; r++) {
			const __m256i a = load_ymm((const uint8_t *)q + r * w->k + b * GEMM_BLOCK);
			_mm256_storeu_si256((__m256i *)even[r],
			                    _mm256_srai_epi16(_mm256_slli_epi16(a, 8), 8));
			_mm256_storeu_si256((__m256i *)odd[r], _mm256_srai_epi16(a, 8));
			isum[r][0] = isum[r][1] = _mm256_set1_epi32(-128 * sum[r * blocks + b]);
		}
#pragma GCC unroll 4
		for (size_t i = 0; i < 8; i++) {
			__m256i even_w[HALVES], odd_w[HALVES];
			_mm_prefetch((const char *)packed + PREFETCH_BYTES + 64 * i, _MM_HINT_T0);
			for (size_t h = 0; h < HALVES; h++) {
				const __m256i both = load_ymm(packed + 64 * i + 32 * h);
				even_w[h] = _mm256_and_si256(both, low_byte);
				odd_w[h] = _mm256_srli_epi16(both, 8);
			}
			for (size_t r = 0; r < count; r++) {
				const __m256i even_a = broadcast4(even[r] + 2 * i),
				              odd_a = broadcast4(odd[r] + 2 * i);
				for (size_t h = 0; h < HALVES; h++) {
					isum[r][h] = _mm256_add_epi32(
					    isum[r][h], _mm256_madd_epi16(even_w[h], even_a));
					if (count > 1) IN_ORDER(isum[r][h]);
					isum[r][h] = _mm256_add_epi32(
					    isum[r][h], _mm256_madd_epi16(odd_w[h], odd_a));
					if (count > 1) IN_ORDER(isum[r][h]);
				}
			}
		}
		for (size_t r = 0; r < count; r++)
			for (size_t h = 0; h < HALVES; h++) {
				const __m256 both =
				    _mm256_mul_ps(load_f16(scales + 8 * h),
				                  _mm256_set1_ps(scale[r * blocks + b]));
				acc[r][h] = _mm256_fmadd_ps(both, _mm256_cvtepi32_ps(isum[r][h]),
				                            acc[r][h]);
			}
	}
	store_accumulators(out, out_stride, add, count, acc);
}

/* Like tile_q8, but the sums of maddubs fit in 16 bits for a whole block. A lane adds 8 of them,
 * two products each: 15 * 127 * 2 * 8 = 30480, below 32768. */
INLINE void tile_q4(size_t count, bool has_minimum, float *out, size_t out_stride, bool add,
                    const struct gemm_rows *rows, size_t first, const struct packed_matrix *w,
                    size_t group) {
	const size_t blocks = w->k / GEMM_BLOCK;
	const uint8_t *packed = (const uint8_t *)w->weights + group * blocks * 256;
	const uint16_t *scales = w->scales + group * blocks * GEMM_GROUP;
	const uint16_t *minima = has_minimum ? w->minima + group * blocks * GEMM_GROUP : NULL;
	const int8_t *q = rows->q + first * w->k;
	const float *scale = rows->scale + first * blocks,
	            *scaled_sum = rows->scaled_sum + first * blocks;
	const int32_t *sum = rows->sum + first * blocks;
	const __m256i nibble = _mm256_set1_epi8(15), ones = _mm256_set1_epi16(1);
	__m256 acc[ROWS][HALVES];
	clear_accumulators(count, acc);
	for (size_t b = 0; b < blocks; b++, packed += 256, scales += GEMM_GROUP) {
		__m256i pairs[ROWS][HALVES];
		for (size_t r = 0; r < count; r++)
			pairs[r][0] = pairs[r][1] = _mm256_setzero_si256();
#pragma GCC unroll 4
		for (size_t i = 0; i < 4; i++) {
			__m256i low[HALVES], high[HALVES];
			_mm_prefetch((const char *)packed + PREFETCH_BYTES + 64 * i, _MM_HINT_T0);
			for (size_t h = 0; h < HALVES; h++) {
				const __m256i both = load_ymm(packed + 64 * i + 32 * h);
				low[h] = _mm256_and_si256(both, nibble);
				high[h] = _mm256_and_si256(_mm256_srli_epi16(both, 4), nibble);
			}
			for (size_t r = 0; r < count; r++) {
				const int8_t *a = q + r * w->k + b * GEMM_BLOCK + 4 * i;
				const __m256i low_a = broadcast4(a), high_a = broadcast4(a + 16);
				for (size_t h = 0; h < HALVES; h++) {
					pairs[r][h] = _mm256_add_epi16(
					    pairs[r][h], _mm256_maddubs_epi16(low[h], low_a));
					IN_ORDER(pairs[r][h]);
					pairs[r][h] = _mm256_add_epi16(
					    pairs[r][h], _mm256_maddubs_epi16(high[h], high_a));
					IN_ORDER(pairs[r][h]);
				}
			}
		}
		for (size_t r = 0; r < count; r++)
			for (size_t h = 0; h < HALVES; h++) {
				__m256i isum = _mm256_madd_epi16(pairs[r][h], ones);
				if (!has_minimum)
					isum = _mm256_sub_epi32(
					    isum, _mm256_set1_epi32(8 * sum[r * blocks + b]));
				const __m256 both =
				    _mm256_mul_ps(load_f16(scales + 8 * h),
				                  _mm256_set1_ps(scale[r * blocks + b]));
				acc[r][h] =
				    _mm256_fmadd_ps(both, _mm256_cvtepi32_ps(isum), acc[r][h]);
				if (has_minimum) {
					const __m256 minimum =
					    load_f16(minima + b * GEMM_GROUP + 8 * h);
					acc[r][h] = _mm256_fmadd_ps(
					    minimum, _mm256_set1_ps(scaled_sum[r * blocks + b]),
					    acc[r][h]);
				}
			}
	}
	store_accumulators(out, out_stride, add, count, acc);
}

/* Like tile_q8, for a float type. */
INLINE void tile_float(size_t count, enum packed_type type, float *out, size_t out_stride, bool add,
                       const struct gemm_rows *rows, size_t first, const struct packed_matrix *w,
                       size_t group) {
	const size_t base = group * w->k * GEMM_GROUP;
	const float *x = rows->x + first * w->k;
	__m256 acc[ROWS][HALVES];
	clear_accumulators(count, acc);
	for (size_t j = 0; j < w->k; j++)
		for (size_t h = 0; h < HALVES; h++) {
			const size_t at = base + j * GEMM_GROUP + 8 * h;
			const __m256 weight = load_float(type, w->weights, at);
			for (size_t r = 0; r < count; r++)
				acc[r][h] = _mm256_fmadd_ps(weight, _mm256_set1_ps(x[r * w->k + j]),
				                            acc[r][h]);
		}
	store_accumulators(out, out_stride, add, count, acc);
}

/* Computes `count` rows from row `first` on, by one group of channels. type and count are constants
 * after inlining. */
INLINE void compute_tile(enum packed_type type, size_t count, float *out, size_t out_stride,
                         bool add, const struct gemm_rows *rows, size_t first,
                         const struct packed_matrix *w, size_t group) {
	if (type == PACKED_Q8_0) tile_q8(count, out, out_stride, add, rows, first, w, group);
	else if (packed_is_float(type))
		tile_float(count, type, out, out_stride, add, rows, first, w, group);
	else tile_q4(count, type == PACKED_Q4_1, out, out_stride, add, rows, first, w, group);
}

/* Computes all rows of each group in tiles of 4 rows and a smaller last one. Example: 11 rows are
 * tiles of 4, 4 and 3. The size of a tile does not change the arithmetic of a row. */
INLINE void all_tiles(enum packed_type type, float *out, size_t out_stride, bool add,
                      const struct gemm_rows *rows, const struct packed_matrix *w,
                      const uint32_t *groups, size_t begin, size_t end) {
	for (size_t place = begin; place < end; place++) {
		const size_t group = groups ? groups[place] : place;
		for (size_t first = 0; first < rows->rows; first += ROWS) {
			float *to = out + first * out_stride + place * GEMM_GROUP;
			const size_t left = rows->rows - first;
			switch (left < ROWS ? left : ROWS) {
			case 1:
				compute_tile(type, 1, to, out_stride, add, rows, first, w, group);
				break;
			case 2:
				compute_tile(type, 2, to, out_stride, add, rows, first, w, group);
				break;
			case 3:
				compute_tile(type, 3, to, out_stride, add, rows, first, w, group);
				break;
			default:
				compute_tile(type, 4, to, out_stride, add, rows, first, w, group);
			}
		}
	}
}

void gemm_q8_avx2(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                  const struct packed_matrix *w, const uint32_t *groups, size_t begin, size_t end) {
	REQUIRE(w->type == PACKED_Q8_0 && w->k == rows->k);
	all_tiles(PACKED_Q8_0, out, out_stride, add, rows, w, groups, begin, end);
}

void gemm_q4_avx2(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                  const struct packed_matrix *w, const uint32_t *groups, size_t begin, size_t end) {
	REQUIRE((w->type == PACKED_Q4_0 || w->type == PACKED_Q4_1) && w->k == rows->k);
	if (w->type == PACKED_Q4_1)
		all_tiles(PACKED_Q4_1, out, out_stride, add, rows, w, groups, begin, end);
	else all_tiles(PACKED_Q4_0, out, out_stride, add, rows, w, groups, begin, end);
}

void gemm_float_avx2(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                     const struct packed_matrix *w, const uint32_t *groups, size_t begin,
                     size_t end) {
	REQUIRE(packed_is_float(w->type) && w->k == rows->k);
	if (w->type == PACKED_F16)
		all_tiles(PACKED_F16, out, out_stride, add, rows, w, groups, begin, end);
	else if (w->type == PACKED_BF16)
		all_tiles(PACKED_BF16, out, out_stride, add, rows, w, groups, begin, end);
	else all_tiles(PACKED_F32, out, out_stride, add, rows, w, groups, begin, end);
}
