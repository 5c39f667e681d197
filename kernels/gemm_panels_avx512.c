// SPDX-License-Identifier: Apache-2.0
// gemm over planes of bits for many rows, with AVX-512 VNNI. Each 512-bit instruction but a load
// needs one of two ports. So what a tile would unpack for itself costs as much as products do.
#include "kernels/gemm_planes_zmm.h"

#include "kernels/gemm_panel.h"

#define GEMM_PANELS gemm_panels_avx512
enum { PANEL_TILE = 5 /* rows: by 2 groups 10 sums and 10 accumulators, of 32 registers */ };

INLINE void panel_tile(enum packed_type type, size_t count, struct panel *panel, size_t at,
                       size_t blocks, const struct gemm_rows *rows, size_t row, size_t block) {
	const size_t parts = GEMM_BLOCK / packed_span(type), quads = 8 / parts;
	const size_t k = rows->k, all_blocks = k / GEMM_BLOCK;
	const bool has_minimum = packed_has_minimum(type), has_offset = codes_offset(type) != 0;
	const int8_t *q = rows->q + row * k + block * GEMM_BLOCK;
	const float *scale = rows->scale + row * all_blocks + block,
	            *scaled_sum = rows->scaled_sum + row * all_blocks + block;
	__m512 acc[PANEL_WIDTH][PANEL_TILE];
	for (size_t g = 0; g < PANEL_WIDTH; g++)
		for (size_t r = 0; r < count; r++)
			acc[g][r] = _mm512_load_ps(panel->acc[at + r][g]);
	for (size_t part = 0; part < blocks * parts; part++) {
		const size_t b = part / parts;
		__m512i isum[PANEL_WIDTH][PANEL_TILE];
		for (size_t r = 0; r < count; r++)
			for (size_t g = 0; g < PANEL_WIDTH; g++)
				isum[g][r] = _mm512_set1_epi32(
				    has_offset ? panel->correction[at + r][part] : 0);
#pragma GCC unroll 8
		for (size_t i = 0; i < quads; i++) {
			const size_t quad = part * quads + i;
			__m512i weights[PANEL_WIDTH];
			for (size_t g = 0; g < PANEL_WIDTH; g++)
				weights[g] = _mm512_load_si512(panel->codes[g] + 64 * quad);
			for (size_t r = 0; r < count; r++) {
				int32_t four;
				memcpy(&four, q + r * k + 4 * quad, sizeof four);
				for (size_t g = 0; g < PANEL_WIDTH; g++)
					isum[g][r] = _mm512_dpbusd_epi32(isum[g][r], weights[g],
					                                 _mm512_set1_epi32(four));
			}
		}
		for (size_t g = 0; g < PANEL_WIDTH; g++)
			for (size_t r = 0; r < count; r++) {
				const __m512 both =
				    _mm512_mul_ps(_mm512_load_ps(panel->scales[g][part]),
				                  _mm512_set1_ps(scale[r * all_blocks + b]));
				acc[g][r] = _mm512_fmadd_ps(both, _mm512_cvtepi32_ps(isum[g][r]),
				                            acc[g][r]);
				if (!has_minimum) continue;
				const float sum = parts == 1 ? scaled_sum[r * all_blocks + b]
				                             : panel->scaled_half_sum[at + r][part];
				acc[g][r] = _mm512_fmadd_ps(_mm512_load_ps(panel->minima[g][part]),
				                            _mm512_set1_ps(sum), acc[g][r]);
			}
	}
	for (size_t g = 0; g < PANEL_WIDTH; g++)
		for (size_t r = 0; r < count; r++)
			_mm512_store_ps(panel->acc[at + r][g], acc[g][r]);
}

#include "kernels/gemm_panels_body.h"
