// SPDX-License-Identifier: Apache-2.0
// rowquant with AVX-512: a block of 32 is two zmm. Adding 1.5 * 2^23 rounds to the nearest integer,
// ties to even; its bits 0x4b400000 are then taken away.
#include "base/misuse.h"
#include "kernels/gemm.h"
#include "kernels/rowquant.h"

#include <immintrin.h>
#include <math.h>

void rowquant_avx512(const float *x, size_t k, int8_t *q, float *scale, float *scaled_sum,
                     int32_t *sum, int32_t *half_sum) {
	REQUIRE(k % GEMM_BLOCK == 0);
	const __m512i magnitude = _mm512_set1_epi32(0x7fffffff),
	              magic_bits = _mm512_set1_epi32(0x4b400000);
	const __m512 magic = _mm512_set1_ps(12582912.0f);
	for (size_t block = 0; block < k / GEMM_BLOCK; block++) {
		const __m512 low = _mm512_loadu_ps(x + block * GEMM_BLOCK),
		             high = _mm512_loadu_ps(x + block * GEMM_BLOCK + 16);
		const __m512i bits =
		    _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(low), magnitude),
		                     _mm512_and_si512(_mm512_castps_si512(high), magnitude));
		const uint32_t amax_bits = _mm512_reduce_max_epu32(bits);
		__m512i low_q = _mm512_setzero_si512(), high_q = low_q;
		if (amax_bits >= 0x7f800000 || amax_bits < (127 - 100) << 23) {
			scale[block] = amax_bits >= 0x7f800000 ? NAN : 0.0f;
		} else {
			const float amax =
			    _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128((int)amax_bits)));
			const __m512 inverse = _mm512_set1_ps(127.0f / amax);
			low_q = _mm512_sub_epi32(
			    _mm512_castps_si512(_mm512_add_ps(_mm512_mul_ps(low, inverse), magic)),
			    magic_bits);
			high_q = _mm512_sub_epi32(
			    _mm512_castps_si512(_mm512_add_ps(_mm512_mul_ps(high, inverse), magic)),
			    magic_bits);
			scale[block] = amax / 127.0f;
		}
		const __m256i both =
		    _mm256_set_m128i(_mm512_cvtepi32_epi8(high_q), _mm512_cvtepi32_epi8(low_q));
		_mm256_storeu_si256((__m256i *)(q + block * GEMM_BLOCK), both);
		// Each half of the register adds its own 16 bytes: first each four bytes, then the
		// four sums. That takes half the instructions of two reductions of 16 lanes.
		__m256i sums =
		    _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_set1_epi8(1), both);
		sums = _mm256_add_epi32(sums, _mm256_shuffle_epi32(sums, 0x4e));
		sums = _mm256_add_epi32(sums, _mm256_shuffle_epi32(sums, 0xb1));
		half_sum[2 * block] = _mm256_cvtsi256_si32(sums);
		half_sum[2 * block + 1] = _mm_cvtsi128_si32(_mm256_extracti128_si256(sums, 1));
		sum[block] = half_sum[2 * block] + half_sum[2 * block + 1];
		scaled_sum[block] = scale[block] * (float)sum[block];
	}
}
