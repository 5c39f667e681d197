// SPDX-License-Identifier: Apache-2.0
// dclip with AVX-512: sixteen entries at a time, the last ones under a mask. A first pass looks for
// NaN and infinity, before sum changes.
#include "kernels/dclip.h"

#include "base/misuse.h"

#include <immintrin.h>

bool dclip_avx512(const float *row, const int32_t *public_fixed, size_t n, unsigned fraction_bits,
                  int32_t clip, int32_t *sum) {
	REQUIRE(fraction_bits <= 16);
	REQUIRE(clip >= 0 && clip <= INT32_C(1) << 26);
	const __m512i exponent = _mm512_set1_epi32(0x7f800000);
	__mmask16 broken = 0;
	for (size_t i = 0; i < n; i += 16) {
		const __mmask16 here = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : 0xffff;
		const __m512i bits = _mm512_maskz_loadu_epi32(here, row + i);
		broken |= _mm512_cmpeq_epi32_mask(_mm512_and_si512(bits, exponent), exponent);
	}
	if (broken) return false;
	const __m512 scale = _mm512_set1_ps((float)(1u << fraction_bits)),
	             bound = _mm512_set1_ps(0x1p26f);
	const __m512i most = _mm512_set1_epi32(clip), least = _mm512_set1_epi32(-clip);
	for (size_t i = 0; i < n; i += 16) {
		const __mmask16 here = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : 0xffff;
		__m512 scaled = _mm512_mul_ps(_mm512_maskz_loadu_ps(here, row + i), scale);
		scaled = _mm512_max_ps(_mm512_min_ps(scaled, bound),
		                       _mm512_sub_ps(_mm512_setzero_ps(), bound));
		const __m512i fixed =
		    _mm512_cvt_roundps_epi32(scaled, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
		const __m512i difference =
		    _mm512_sub_epi32(fixed, _mm512_maskz_loadu_epi32(here, public_fixed + i));
		const __m512i clipped = _mm512_max_epi32(_mm512_min_epi32(difference, most), least);
		_mm512_mask_storeu_epi32(
		    sum + i, here,
		    _mm512_add_epi32(_mm512_maskz_loadu_epi32(here, sum + i), clipped));
	}
	return true;
}
