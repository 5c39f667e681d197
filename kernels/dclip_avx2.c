// SPDX-License-Identifier: Apache-2.0
// dclip with AVX2: eight entries at a time, the last ones under a mask. A first pass looks for NaN
// and infinity, before sum changes.
#include "kernels/dclip.h"

#include "base/misuse.h"

#include <immintrin.h>

/* The lanes that hold entries when `left` are left. Example: 3 gives lanes 0, 1 and 2. */
static __m256i mask_of(size_t left) {
	const __m256i place = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
	return _mm256_cmpgt_epi32(_mm256_set1_epi32(left < 8 ? (int)left : 8), place);
}

bool dclip_avx2(const float *row, const int32_t *public_fixed, size_t n, unsigned fraction_bits,
                int32_t clip, int32_t *sum) {
	REQUIRE(fraction_bits <= 16);
	REQUIRE(clip >= 0 && clip <= INT32_C(1) << 26);
	const __m256i exponent = _mm256_set1_epi32(0x7f800000);
	__m256i broken = _mm256_setzero_si256();
	for (size_t i = 0; i < n; i += 8) {
		const __m256i bits = _mm256_maskload_epi32((const int *)row + i, mask_of(n - i));
		broken = _mm256_or_si256(
		    broken, _mm256_cmpeq_epi32(_mm256_and_si256(bits, exponent), exponent));
	}
	if (!_mm256_testz_si256(broken, broken)) return false;
	const __m256 scale = _mm256_set1_ps((float)(1u << fraction_bits)),
	             bound = _mm256_set1_ps(0x1p26f);
	const __m256i most = _mm256_set1_epi32(clip), least = _mm256_set1_epi32(-clip);
	for (size_t i = 0; i < n; i += 8) {
		const __m256i here = mask_of(n - i);
		__m256 scaled = _mm256_mul_ps(_mm256_maskload_ps(row + i, here), scale);
		scaled = _mm256_max_ps(_mm256_min_ps(scaled, bound),
		                       _mm256_sub_ps(_mm256_setzero_ps(), bound));
		const __m256i fixed = _mm256_cvtps_epi32(
		    _mm256_round_ps(scaled, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
		const __m256i difference =
		    _mm256_sub_epi32(fixed, _mm256_maskload_epi32(public_fixed + i, here));
		const __m256i clipped = _mm256_max_epi32(_mm256_min_epi32(difference, most), least);
		_mm256_maskstore_epi32(
		    sum + i, here, _mm256_add_epi32(_mm256_maskload_epi32(sum + i, here), clipped));
	}
	return true;
}
