// SPDX-License-Identifier: Apache-2.0
// gemm over planes of bits for many rows, with AVX2. Tiles are of 4 rows, by one group after the
// other: 8 sums of a part stay in the 16 registers, the accumulators in the first-level cache.
#include "kernels/gemm_planes_avx2.h"
#include "kernels/in_order.h"

#include "kernels/gemm_panel.h"

#define GEMM_PANELS gemm_panels_avx2
enum { PANEL_TILE = 4, HALVES = 2 /* of a group: 8 channels, a ymm */ };

/* As pairs_that_fit, of a part of 32 weights. Codes of up to 4 bits are widened once in 8 sums:
 * 15 * 127 * 2 * 8 = 30480. */
INLINE size_t sums_that_fit(enum packed_type type) {
	return packed_bits(type) < 5 && !packed_has_table(type) ? 8 : pairs_that_fit(type);
}

INLINE void group_tile(enum packed_type type, size_t count, size_t g, struct panel *panel,
                       size_t at, size_t blocks, const struct gemm_rows *rows, size_t row,
                       size_t block) {
	const size_t parts = GEMM_BLOCK / packed_span(type), quads = 8 / parts;
	const size_t fit = sums_that_fit(type) < quads ? sums_that_fit(type) : quads;
	const size_t k = rows->k, all_blocks = k / GEMM_BLOCK;
	const bool has_minimum = packed_has_minimum(type), has_offset = codes_offset(type) != 0;
	const int8_t *q = rows->q + row * k + block * GEMM_BLOCK;
	const float *scale = rows->scale + row * all_blocks + block,
	            *scaled_sum = rows->scaled_sum + row * all_blocks + block;
	const __m256i ones = _mm256_set1_epi16(1);
	for (size_t part = 0; part < blocks * parts; part++) {
		const size_t b = part / parts;
		__m256i isum[PANEL_TILE][HALVES], pairs[PANEL_TILE][HALVES];
		for (size_t r = 0; r < count; r++)
			isum[r][0] = isum[r][1] =
			    _mm256_set1_epi32(has_offset ? panel->correction[at + r][part] : 0);
#pragma GCC unroll 8
		for (size_t i = 0; i < quads; i++) {
			const size_t quad = part * quads + i;
			const uint8_t *codes = panel->codes[g] + 64 * quad;
			const __m256i weights[HALVES] = {bytes_load(codes), bytes_load(codes + 32)};
			for (size_t r = 0; r < count; r++)
				for (size_t h = 0; h < HALVES; h++) {
					const __m256i product =
					    pair_products(type, weights[h], q + r * k + 4 * quad);
					pairs[r][h] = i % fit == 0
					                  ? product
					                  : _mm256_add_epi16(pairs[r][h], product);
					IN_ORDER(pairs[r][h]);
					if (i % fit == fit - 1)
						isum[r][h] = _mm256_add_epi32(
						    isum[r][h],
						    _mm256_madd_epi16(pairs[r][h], ones));
				}
		}
		for (size_t r = 0; r < count; r++)
			for (size_t h = 0; h < HALVES; h++) {
				float *to = panel->acc[at + r][g] + 8 * h;
				const __m256 both =
				    _mm256_mul_ps(_mm256_load_ps(panel->scales[g][part] + 8 * h),
				                  _mm256_set1_ps(scale[r * all_blocks + b]));
				__m256 acc = _mm256_fmadd_ps(both, _mm256_cvtepi32_ps(isum[r][h]),
				                             _mm256_load_ps(to));
				const float sum = parts == 1 ? scaled_sum[r * all_blocks + b]
				                             : panel->scaled_half_sum[at + r][part];
				if (has_minimum)
					acc = _mm256_fmadd_ps(
					    _mm256_load_ps(panel->minima[g][part] + 8 * h),
					    _mm256_set1_ps(sum), acc);
				_mm256_store_ps(to, acc);
			}
	}
}

INLINE void panel_tile(enum packed_type type, size_t count, struct panel *panel, size_t at,
                       size_t blocks, const struct gemm_rows *rows, size_t row, size_t block) {
	for (size_t g = 0; g < PANEL_WIDTH; g++)
		group_tile(type, count, g, panel, at, blocks, rows, row, block);
}

#include "kernels/gemm_panels_body.h"
