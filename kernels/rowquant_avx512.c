// SPDX-License-Identifier: Apache-2.0
#include "base/misuse.h"
#include "kernels/gemm.h"
#include "kernels/rowquant.h"

#include <immintrin.h>
#include <math.h>

void rowquant_avx512(const float *x, size_t k, int8_t *q, float *scale, float *scaled_sum, int32_t *sum, int32_t *half_sum) {
	REQUIRE(k % GEMM_BLOCK == 0);
	const __m512i magnitude = _mm512_set1_epi32(0x7fffffff), magic_bits = _mm512_set1_epi32(0x4b400000);
	const __m512 magic = _mm512_set1_ps(12582912.0f);
	for (size_t block = 0; block < k / GEMM_BLOCK; block++) {
		const __m512 low = _mm512_loadu_ps(x + block * GEMM_BLOCK), high = _mm512_loadu_ps(x + block * GEMM_BLOCK + 16);
		const __m512i bits = _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(low), magnitude),
		                                      _mm512_and_si512(_mm512_castps_si512(high), magnitude));
		const uint32_t amax_bits = _mm512_reduce_max_epu32(bits);
		__m512i low_q = _mm512_setzero_si512(), high_q = low_q;
		if (amax_bits >= 0x7f800000 || amax_bits < (127 - 100) << 23) {
			scale[block] = amax_bits >= 0x7f800000 ? NAN : 0.0f;
		} else {
			const float amax = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128((int)amax_bits)));
			const __m512 inverse = _mm512_set1_ps(127.0f / amax);
			low_q = _mm512_sub_epi32(_mm512_castps_si512(_mm512_add_ps(_mm512_mul_ps(low, inverse), magic)), magic_bits);
			high_q = _mm512_sub_epi32(_mm512_castps_si512(_mm512_add_ps(_mm512_mul_ps(high, inverse), magic)), magic_bits);
			scale[block] = amax / 127.0f;
		}
		_mm_storeu_si128((__m128i *)(q + block * GEMM_BLOCK), _mm512_cvtepi32_epi8(low_q));
		_mm_storeu_si128((__m128i *)(q + block * GEMM_BLOCK + 16), _mm512_cvtepi32_epi8(high_q));
		half_sum[2 * block] = _mm512_reduce_add_epi32(low_q);
		half_sum[2 * block + 1] = _mm512_reduce_add_epi32(high_q);
		sum[block] = half_sum[2 * block] + half_sum[2 * block + 1];
		scaled_sum[block] = scale[block] * (float)sum[block];
	}
}
