// SPDX-License-Identifier: Apache-2.0
// gemm with AVX-512 VNNI: one zmm is 16 channels x 4 k, activations are broadcast from memory, up to 8 rows share each weight load.
#include "base/misuse.h"
#include "kernels/gemm.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
enum { ROWS = 8, PREFETCH_BYTES = 1024 };

INLINE __m512i broadcast4(const int8_t *q) {
	int32_t four;
	memcpy(&four, q, sizeof four);
	return _mm512_set1_epi32(four);
}

INLINE __m512 load_f16(const uint16_t *half) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)half)); }

INLINE void store(float *out, size_t out_stride, bool add, size_t rows, const __m512 *acc) {
	for (size_t r = 0; r < rows; r++) {
		float *to = out + r * out_stride;
		_mm512_storeu_ps(to, add ? _mm512_add_ps(_mm512_loadu_ps(to), acc[r]) : acc[r]);
	}
}

/* `count` rows (a constant after inlining) from row `first` on, one group of channels. */
INLINE void tile_q8(size_t count, float *out, size_t out_stride, bool add, const struct gemm_rows *rows, size_t first,
                    const struct packed_matrix *w, size_t group) {
	const size_t blocks = w->k / GEMM_BLOCK;
	const uint8_t *packed = (const uint8_t *)w->weights + group * blocks * 512;
	const uint16_t *scales = w->scales + group * blocks * GEMM_GROUP;
	const int8_t *q = rows->q + first * w->k;
	const float *scale = rows->scale + first * blocks;
	const int32_t *sum = rows->sum + first * blocks;
	__m512 acc[ROWS];
	for (size_t r = 0; r < count; r++) acc[r] = _mm512_setzero_ps();
	for (size_t b = 0; b < blocks; b++, packed += 512, scales += GEMM_GROUP) {
		__m512i weights[8];
		for (size_t i = 0; i < 8; i++) {
			weights[i] = _mm512_loadu_si512(packed + 64 * i);
			_mm_prefetch((const char *)packed + PREFETCH_BYTES + 64 * i, _MM_HINT_T0);
		}
		const __m512 weight_scale = load_f16(scales);
		for (size_t r = 0; r < count; r++) {
			__m512i isum = _mm512_set1_epi32(-128 * sum[r * blocks + b]);
			for (size_t i = 0; i < 8; i++)
				isum = _mm512_dpbusd_epi32(isum, weights[i], broadcast4(q + r * w->k + b * GEMM_BLOCK + 4 * i));
			const __m512 both = _mm512_mul_ps(weight_scale, _mm512_set1_ps(scale[r * blocks + b]));
			acc[r] = _mm512_fmadd_ps(both, _mm512_cvtepi32_ps(isum), acc[r]);
		}
	}
	store(out, out_stride, add, count, acc);
}

INLINE void tile_q4(size_t count, bool has_minimum, float *out, size_t out_stride, bool add, const struct gemm_rows *rows, size_t first,
                    const struct packed_matrix *w, size_t group) {
	const size_t blocks = w->k / GEMM_BLOCK;
	const uint8_t *packed = (const uint8_t *)w->weights + group * blocks * 256;
	const uint16_t *scales = w->scales + group * blocks * GEMM_GROUP;
	const uint16_t *minima = has_minimum ? w->minima + group * blocks * GEMM_GROUP : NULL;
	const int8_t *q = rows->q + first * w->k;
	const float *scale = rows->scale + first * blocks, *scaled_sum = rows->scaled_sum + first * blocks;
	const int32_t *sum = rows->sum + first * blocks;
	const __m512i nibble = _mm512_set1_epi8(15);
	__m512 acc[ROWS];
	for (size_t r = 0; r < count; r++) acc[r] = _mm512_setzero_ps();
	for (size_t b = 0; b < blocks; b++, packed += 256, scales += GEMM_GROUP) {
		__m512i low[4], high[4];
		for (size_t i = 0; i < 4; i++) {
			const __m512i both = _mm512_loadu_si512(packed + 64 * i);
			_mm_prefetch((const char *)packed + PREFETCH_BYTES + 64 * i, _MM_HINT_T0);
			low[i] = _mm512_and_si512(both, nibble);
			high[i] = _mm512_and_si512(_mm512_srli_epi16(both, 4), nibble);
		}
		const __m512 weight_scale = load_f16(scales);
		__m512 minimum = _mm512_setzero_ps();
		if (has_minimum) minimum = load_f16(minima + b * GEMM_GROUP);
		for (size_t r = 0; r < count; r++) {
			const int8_t *a = q + r * w->k + b * GEMM_BLOCK;
			__m512i isum = has_minimum ? _mm512_setzero_si512() : _mm512_set1_epi32(-8 * sum[r * blocks + b]);
			for (size_t i = 0; i < 4; i++) isum = _mm512_dpbusd_epi32(isum, low[i], broadcast4(a + 4 * i));
			for (size_t i = 0; i < 4; i++) isum = _mm512_dpbusd_epi32(isum, high[i], broadcast4(a + 16 + 4 * i));
			const __m512 both = _mm512_mul_ps(weight_scale, _mm512_set1_ps(scale[r * blocks + b]));
			acc[r] = _mm512_fmadd_ps(both, _mm512_cvtepi32_ps(isum), acc[r]);
			if (has_minimum) acc[r] = _mm512_fmadd_ps(minimum, _mm512_set1_ps(scaled_sum[r * blocks + b]), acc[r]);
		}
	}
	store(out, out_stride, add, count, acc);
}

INLINE void tile_float(size_t count, bool half, float *out, size_t out_stride, bool add, const struct gemm_rows *rows, size_t first,
                       const struct packed_matrix *w, size_t group) {
	const size_t base = group * w->k * GEMM_GROUP;
	const float *x = rows->x + first * w->k;
	__m512 acc[ROWS];
	for (size_t r = 0; r < count; r++) acc[r] = _mm512_setzero_ps();
	for (size_t j = 0; j < w->k; j++) {
		const size_t at = base + j * GEMM_GROUP;
		const __m512 weight = half ? load_f16((const uint16_t *)w->weights + at) : _mm512_loadu_ps((const float *)w->weights + at);
		for (size_t r = 0; r < count; r++) acc[r] = _mm512_fmadd_ps(weight, _mm512_set1_ps(x[r * w->k + j]), acc[r]);
	}
	store(out, out_stride, add, count, acc);
}

/* All rows of one group in tiles of 8 and a rest; the tile size changes who computes, never what. */
#define FOR_TILES(TILE, ...)                                                                                                              \
	for (size_t place = begin; place < end; place++) {                                                                                 \
		const size_t group = groups ? groups[place] : place;                                                                       \
		for (size_t first = 0; first < rows->rows; first += ROWS) {                                                                \
			float *to = out + first * out_stride + place * GEMM_GROUP;                                                         \
			const size_t left = rows->rows - first;                                                                            \
			switch (left < ROWS ? left : ROWS) {                                                                               \
			case 1: TILE(1, __VA_ARGS__ to, out_stride, add, rows, first, w, group); break;                                    \
			case 2: TILE(2, __VA_ARGS__ to, out_stride, add, rows, first, w, group); break;                                    \
			case 3: TILE(3, __VA_ARGS__ to, out_stride, add, rows, first, w, group); break;                                    \
			case 4: TILE(4, __VA_ARGS__ to, out_stride, add, rows, first, w, group); break;                                    \
			case 5: TILE(5, __VA_ARGS__ to, out_stride, add, rows, first, w, group); break;                                    \
			case 6: TILE(6, __VA_ARGS__ to, out_stride, add, rows, first, w, group); break;                                    \
			case 7: TILE(7, __VA_ARGS__ to, out_stride, add, rows, first, w, group); break;                                    \
			default: TILE(8, __VA_ARGS__ to, out_stride, add, rows, first, w, group);                                          \
			}                                                                                                                  \
		}                                                                                                                          \
	}
#define COMMA ,

void gemm_q8_avx512(float *out, size_t out_stride, bool add, const struct gemm_rows *rows, const struct packed_matrix *w,
                    const uint32_t *groups, size_t begin, size_t end) {
	REQUIRE(w->type == PACKED_Q8_0 && w->k == rows->k);
	FOR_TILES(tile_q8, )
}

void gemm_q4_avx512(float *out, size_t out_stride, bool add, const struct gemm_rows *rows, const struct packed_matrix *w,
                    const uint32_t *groups, size_t begin, size_t end) {
	REQUIRE((w->type == PACKED_Q4_0 || w->type == PACKED_Q4_1) && w->k == rows->k);
	if (w->type == PACKED_Q4_1) {
		FOR_TILES(tile_q4, true COMMA)
	} else {
		FOR_TILES(tile_q4, false COMMA)
	}
}

void gemm_float_avx512(float *out, size_t out_stride, bool add, const struct gemm_rows *rows, const struct packed_matrix *w,
                       const uint32_t *groups, size_t begin, size_t end) {
	REQUIRE((w->type == PACKED_F32 || w->type == PACKED_F16) && w->k == rows->k);
	if (w->type == PACKED_F16) {
		FOR_TILES(tile_float, true COMMA)
	} else {
		FOR_TILES(tile_float, false COMMA)
	}
}
