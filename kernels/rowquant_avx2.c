// SPDX-License-Identifier: Apache-2.0
// rowquant with AVX2: a block of 32 is four ymm. Adding 1.5 * 2^23 rounds to the nearest integer,
// ties to even; its bits 0x4b400000 are then taken away.
#include "base/misuse.h"
#include "kernels/gemm.h"
#include "kernels/rowquant.h"

#include <immintrin.h>
#include <math.h>

enum { PARTS = 4 /* registers of a block */ };

static uint32_t reduce_max(__m256i bits) {
	__m128i most =
	    _mm_max_epu32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
	most = _mm_max_epu32(most, _mm_shuffle_epi32(most, 0x4e));
	most = _mm_max_epu32(most, _mm_shuffle_epi32(most, 0xb1));
	return (uint32_t)_mm_cvtsi128_si32(most);
}

static int32_t reduce_sum(__m256i values) {
	__m128i sum =
	    _mm_add_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
	sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
	return _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1)));
}

void rowquant_avx2(const float *x, size_t k, int8_t *q, float *scale, float *scaled_sum,
                   int32_t *sum, int32_t *half_sum) {
	REQUIRE(k % GEMM_BLOCK == 0);
	const __m256i magnitude = _mm256_set1_epi32(0x7fffffff),
	              magic_bits = _mm256_set1_epi32(0x4b400000);
	const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
	const __m256 magic = _mm256_set1_ps(12582912.0f);
	for (size_t block = 0; block < k / GEMM_BLOCK; block++) {
		__m256 in[PARTS];
		__m256i most = _mm256_setzero_si256(), out[PARTS];
		for (size_t i = 0; i < PARTS; i++) {
			in[i] = _mm256_loadu_ps(x + block * GEMM_BLOCK + 8 * i);
			most = _mm256_max_epu32(
			    most, _mm256_and_si256(_mm256_castps_si256(in[i]), magnitude));
		}
		const uint32_t amax_bits = reduce_max(most);
		if (amax_bits >= 0x7f800000 || amax_bits < (127 - 100) << 23) {
			for (size_t i = 0; i < PARTS; i++) out[i] = _mm256_setzero_si256();
			scale[block] = amax_bits >= 0x7f800000 ? NAN : 0.0f;
		} else {
			const float amax =
			    _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128((int)amax_bits)));
			const __m256 inverse = _mm256_set1_ps(127.0f / amax);
			for (size_t i = 0; i < PARTS; i++) {
				const __m256 rounded =
				    _mm256_add_ps(_mm256_mul_ps(in[i], inverse), magic);
				out[i] = _mm256_sub_epi32(_mm256_castps_si256(rounded), magic_bits);
			}
			scale[block] = amax / 127.0f;
		}
		const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(out[0], out[1]),
		                                         _mm256_packs_epi32(out[2], out[3]));
		// The packs work in halves of 128 bits. They leave the groups of four in the order
		// 0 2 4 6 1 3 5 7; `order` puts them back.
		_mm256_storeu_si256((__m256i *)(q + block * GEMM_BLOCK),
		                    _mm256_permutevar8x32_epi32(bytes, order));
		half_sum[2 * block] = reduce_sum(_mm256_add_epi32(out[0], out[1]));
		half_sum[2 * block + 1] = reduce_sum(_mm256_add_epi32(out[2], out[3]));
		sum[block] = half_sum[2 * block] + half_sum[2 * block + 1];
		scaled_sum[block] = scale[block] * (float)sum[block];
	}
}
