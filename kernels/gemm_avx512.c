// SPDX-License-Identifier: Apache-2.0
// gemm with AVX-512 VNNI. One zmm holds 16 channels x 4 k; activations are broadcast from memory.
// Up to 8 rows are one tile of up to 8 rows x 1 group, which reads the weights once: when tokens
// are drawn one by one, the time goes into reading memory. More rows are tiles of 5 rows x 2
// groups, which need fewer broadcasts: with prompts, the time goes into arithmetic. The types with
// planes of bits are in gemm_planes_avx512.c.
#include "base/misuse.h"
#include "kernels/gemm.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
enum {
	ROWS = 8,             /* of a tile of one group */
	WIDE_ROWS = 5,        /* of a tile of WIDTH groups */
	WIDTH = 2,            /* groups of a wide tile */
	PREFETCH_BYTES = 4096 /* from the weights in use to those fetched ahead */
};

INLINE __m512i broadcast4(const int8_t *q) {
	int32_t four;
	memcpy(&four, q, sizeof four);
	return _mm512_set1_epi32(four);
}

INLINE __m512 load_f16(const uint16_t *half) {
	return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)half));
}

INLINE void clear_accumulators(size_t rows, size_t width, __m512 acc[WIDTH][ROWS]) {
	for (size_t g = 0; g < width; g++)
		for (size_t r = 0; r < rows; r++) acc[g][r] = _mm512_setzero_ps();
}

/* Sixteen weights of a float type, from weight `at` on, in fp32. */
INLINE __m512 load_float(enum packed_type type, const void *weights, size_t at) {
	if (type == PACKED_F32) return _mm512_loadu_ps((const float *)weights + at);
	const uint16_t *half = (const uint16_t *)weights + at;
	if (type == PACKED_F16) return load_f16(half);
	return _mm512_castsi512_ps(_mm512_slli_epi32(
	    _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)half)), 16));
}

INLINE void store_accumulators(float *out, size_t out_stride, bool add, size_t rows,
                               const __m512 *acc) {
	for (size_t r = 0; r < rows; r++) {
		float *to = out + r * out_stride;
		_mm512_storeu_ps(to, add ? _mm512_add_ps(_mm512_loadu_ps(to), acc[r]) : acc[r]);
	}
}

/* Computes `count` rows from row `first` on, by `width` groups of channels. Both are constants
 * after inlining. The loop over i is unrolled by order: by itself gcc does so for 5 rows, not
 * for 8. */
INLINE void tile_q8(size_t count, size_t width, float *out, size_t out_stride, bool add,
                    const struct gemm_rows *rows, size_t first, const struct packed_matrix *w,
                    const size_t *group) {
	const size_t blocks = w->k / GEMM_BLOCK;
	const uint8_t *packed[WIDTH];
	const uint16_t *scales[WIDTH];
	for (size_t g = 0; g < width; g++) {
		packed[g] = (const uint8_t *)w->weights + group[g] * blocks * 512;
		scales[g] = w->scales + group[g] * blocks * GEMM_GROUP;
	}
	const int8_t *q = rows->q + first * w->k;
	const float *scale = rows->scale + first * blocks;
	const int32_t *sum = rows->sum + first * blocks;
	__m512 acc[WIDTH][ROWS];
	clear_accumulators(count, width, acc);
	for (size_t b = 0; b < blocks; b++) {
		__m512i isum[WIDTH][ROWS];
		for (size_t r = 0; r < count; r++)
			for (size_t g = 0; g < width; g++)
				isum[g][r] = _mm512_set1_epi32(-128 * sum[r * blocks + b]);
#pragma GCC unroll 8
		for (size_t i = 0; i < 8; i++) {
			__m512i weights[WIDTH];
			for (size_t g = 0; g < width; g++) {
				weights[g] = _mm512_loadu_si512(packed[g] + b * 512 + 64 * i);
				_mm_prefetch((const char *)packed[g] + b * 512 + PREFETCH_BYTES +
				                 64 * i,
				             _MM_HINT_T0);
			}
			for (size_t r = 0; r < count; r++) {
				const __m512i four =
				    broadcast4(q + r * w->k + b * GEMM_BLOCK + 4 * i);
				for (size_t g = 0; g < width; g++)
					isum[g][r] =
					    _mm512_dpbusd_epi32(isum[g][r], weights[g], four);
			}
		}
		for (size_t g = 0; g < width; g++) {
			const __m512 weight_scale = load_f16(scales[g] + b * GEMM_GROUP);
			for (size_t r = 0; r < count; r++) {
				const __m512 both = _mm512_mul_ps(
				    weight_scale, _mm512_set1_ps(scale[r * blocks + b]));
				acc[g][r] = _mm512_fmadd_ps(both, _mm512_cvtepi32_ps(isum[g][r]),
				                            acc[g][r]);
			}
		}
	}
	for (size_t g = 0; g < width; g++)
		store_accumulators(out + g * GEMM_GROUP, out_stride, add, count, acc[g]);
}

/* -8 * sum in every lane. By vectors, for gcc takes the product of scalars through the stack. */
INLINE __m512i minus_eight_times(int32_t sum) {
	return _mm512_sub_epi32(_mm512_setzero_si512(),
	                        _mm512_slli_epi32(_mm512_set1_epi32(sum), 3));
}

/* Like tile_q8. Q4_1 has minima and no offset, Q4_0 an offset and no minima. */
INLINE void tile_q4(size_t count, size_t width, bool has_minimum, float *out, size_t out_stride,
                    bool add, const struct gemm_rows *rows, size_t first,
                    const struct packed_matrix *w, const size_t *group) {
	const size_t blocks = w->k / GEMM_BLOCK;
	const uint8_t *packed[WIDTH];
	const uint16_t *scales[WIDTH], *minima[WIDTH];
	for (size_t g = 0; g < width; g++) {
		packed[g] = (const uint8_t *)w->weights + group[g] * blocks * 256;
		scales[g] = w->scales + group[g] * blocks * GEMM_GROUP;
		minima[g] = has_minimum ? w->minima + group[g] * blocks * GEMM_GROUP : NULL;
	}
	const int8_t *q = rows->q + first * w->k;
	const float *scale = rows->scale + first * blocks,
	            *scaled_sum = rows->scaled_sum + first * blocks;
	const int32_t *sum = rows->sum + first * blocks;
	const __m512i nibble = _mm512_set1_epi8(15);
	__m512 acc[WIDTH][ROWS];
	clear_accumulators(count, width, acc);
	for (size_t b = 0; b < blocks; b++) {
		__m512i isum[WIDTH][ROWS];
		for (size_t r = 0; r < count; r++)
			for (size_t g = 0; g < width; g++)
				isum[g][r] = has_minimum ? _mm512_setzero_si512()
				                         : minus_eight_times(sum[r * blocks + b]);
#pragma GCC unroll 4
		for (size_t i = 0; i < 4; i++) {
			__m512i low[WIDTH], high[WIDTH];
			for (size_t g = 0; g < width; g++) {
				const __m512i both =
				    _mm512_loadu_si512(packed[g] + b * 256 + 64 * i);
				_mm_prefetch((const char *)packed[g] + b * 256 + PREFETCH_BYTES +
				                 64 * i,
				             _MM_HINT_T0);
				low[g] = _mm512_and_si512(both, nibble);
				high[g] = _mm512_and_si512(_mm512_srli_epi16(both, 4), nibble);
			}
			for (size_t r = 0; r < count; r++) {
				const int8_t *a = q + r * w->k + b * GEMM_BLOCK + 4 * i;
				const __m512i first_half = broadcast4(a),
				              second_half = broadcast4(a + 16);
				for (size_t g = 0; g < width; g++)
					isum[g][r] =
					    _mm512_dpbusd_epi32(isum[g][r], low[g], first_half);
				for (size_t g = 0; g < width; g++)
					isum[g][r] =
					    _mm512_dpbusd_epi32(isum[g][r], high[g], second_half);
			}
		}
		for (size_t g = 0; g < width; g++) {
			const __m512 weight_scale = load_f16(scales[g] + b * GEMM_GROUP);
			const __m512 minimum = has_minimum ? load_f16(minima[g] + b * GEMM_GROUP)
			                                   : _mm512_setzero_ps();
			for (size_t r = 0; r < count; r++) {
				const __m512 both = _mm512_mul_ps(
				    weight_scale, _mm512_set1_ps(scale[r * blocks + b]));
				acc[g][r] = _mm512_fmadd_ps(both, _mm512_cvtepi32_ps(isum[g][r]),
				                            acc[g][r]);
				if (has_minimum)
					acc[g][r] = _mm512_fmadd_ps(
					    minimum, _mm512_set1_ps(scaled_sum[r * blocks + b]),
					    acc[g][r]);
			}
		}
	}
	for (size_t g = 0; g < width; g++)
		store_accumulators(out + g * GEMM_GROUP, out_stride, add, count, acc[g]);
}

/* Like tile_q8, for a float type. */
INLINE void tile_float(size_t count, size_t width, enum packed_type type, float *out,
                       size_t out_stride, bool add, const struct gemm_rows *rows, size_t first,
                       const struct packed_matrix *w, const size_t *group) {
	const float *x = rows->x + first * w->k;
	__m512 acc[WIDTH][ROWS];
	clear_accumulators(count, width, acc);
	for (size_t j = 0; j < w->k; j++)
		for (size_t g = 0; g < width; g++) {
			const size_t at = (group[g] * w->k + j) * GEMM_GROUP;
			const __m512 weight = load_float(type, w->weights, at);
			for (size_t r = 0; r < count; r++)
				acc[g][r] = _mm512_fmadd_ps(weight, _mm512_set1_ps(x[r * w->k + j]),
				                            acc[g][r]);
		}
	for (size_t g = 0; g < width; g++)
		store_accumulators(out + g * GEMM_GROUP, out_stride, add, count, acc[g]);
}

/* Computes `count` rows from row `first` on, by `width` groups of channels. All of type, count and
 * width are constants after inlining. */
INLINE void compute_tile(enum packed_type type, size_t count, size_t width, float *out,
                         size_t out_stride, bool add, const struct gemm_rows *rows, size_t first,
                         const struct packed_matrix *w, const size_t *group) {
	if (type == PACKED_Q8_0) tile_q8(count, width, out, out_stride, add, rows, first, w, group);
	else if (packed_is_float(type))
		tile_float(count, width, type, out, out_stride, add, rows, first, w, group);
	else
		tile_q4(count, width, type == PACKED_Q4_1, out, out_stride, add, rows, first, w,
		        group);
}

/* Computes all rows of all places in tiles. The shape of a tile does not change the arithmetic of a
 * row. Example: 12 rows by 3 places are tiles of 5, 5 and 2 rows by 2 groups, then of 8 and 4 rows
 * by one group. */
#define TILE(COUNT, COLUMNS)                                                                       \
	case COLUMNS * 10 + COUNT:                                                                 \
		compute_tile(type, COUNT, COLUMNS, to, out_stride, add, rows, first, w, group);    \
		break;
INLINE void all_tiles(enum packed_type type, float *out, size_t out_stride, bool add,
                      const struct gemm_rows *rows, const struct packed_matrix *w,
                      const uint32_t *groups, size_t begin, size_t end) {
	for (size_t place = begin; place < end;) {
		const bool wide = rows->rows > ROWS && end - place >= WIDTH;
		const size_t width = wide ? WIDTH : 1, height = wide ? WIDE_ROWS : ROWS;
		size_t group[WIDTH];
		for (size_t g = 0; g < width; g++)
			group[g] = groups ? groups[place + g] : place + g;
		for (size_t first = 0; first < rows->rows; first += height) {
			float *to = out + first * out_stride + place * GEMM_GROUP;
			const size_t left = rows->rows - first,
			             count = left < height ? left : height;
			switch (width * 10 + count) {
				TILE(1, 1)
				TILE(2, 1)
				TILE(3, 1)
				TILE(4, 1)
				TILE(5, 1)
				TILE(6, 1)
				TILE(7, 1)
				TILE(8, 1)
				TILE(1, WIDTH)
				TILE(2, WIDTH)
				TILE(3, WIDTH)
				TILE(4, WIDTH)
				TILE(5, WIDTH)
			}
		}
		place += width;
	}
}

void gemm_q8_avx512(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                    const struct packed_matrix *w, const uint32_t *groups, size_t begin,
                    size_t end) {
	REQUIRE(w->type == PACKED_Q8_0 && w->k == rows->k);
	all_tiles(PACKED_Q8_0, out, out_stride, add, rows, w, groups, begin, end);
}

void gemm_q4_avx512(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                    const struct packed_matrix *w, const uint32_t *groups, size_t begin,
                    size_t end) {
	REQUIRE((w->type == PACKED_Q4_0 || w->type == PACKED_Q4_1) && w->k == rows->k);
	if (w->type == PACKED_Q4_1)
		all_tiles(PACKED_Q4_1, out, out_stride, add, rows, w, groups, begin, end);
	else all_tiles(PACKED_Q4_0, out, out_stride, add, rows, w, groups, begin, end);
}

void gemm_float_avx512(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                       const struct packed_matrix *w, const uint32_t *groups, size_t begin,
                       size_t end) {
	REQUIRE(packed_is_float(w->type) && w->k == rows->k);
	if (w->type == PACKED_F16)
		all_tiles(PACKED_F16, out, out_stride, add, rows, w, groups, begin, end);
	else if (w->type == PACKED_BF16)
		all_tiles(PACKED_BF16, out, out_stride, add, rows, w, groups, begin, end);
	else all_tiles(PACKED_F32, out, out_stride, add, rows, w, groups, begin, end);
}
