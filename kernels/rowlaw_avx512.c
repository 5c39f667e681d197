// SPDX-License-Identifier: Apache-2.0
// rowlaw with AVX-512: sixteen or eight entries at a time, the last ones under a mask. A first pass
// looks for NaN and infinity and for the largest L, before law changes.
#include "kernels/rowlaw.h"

#include "base/misuse.h"

#include <immintrin.h>

/* L of eight logits; 0 of those that are not `here`. */
static __m256i fix_masked(const float *row, __mmask8 here) {
	const __m256 bound = _mm256_set1_ps(0x1p26f);
	__m256 scaled = _mm256_mul_ps(_mm256_maskz_loadu_ps(here, row),
	                              _mm256_set1_ps((float)(1 << ROWLAW_FRACTION_BITS)));
	scaled =
	    _mm256_max_ps(_mm256_min_ps(scaled, bound), _mm256_sub_ps(_mm256_setzero_ps(), bound));
	return _mm256_cvtps_epi32(
	    _mm256_round_ps(scaled, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* The lanes that hold entries when `left` are left. Example: 3 gives lanes 0, 1 and 2. */
static __mmask8 eight_left(size_t left) {
	return left < 8 ? (__mmask8)((1u << left) - 1) : 0xff;
}

bool rowlaw_avx512(const float *row, size_t n, const uint64_t *table, size_t table_count,
                   uint64_t *law) {
	REQUIRE(n >= 1 && n <= ROWLAW_MOST && table_count >= 1 && table_count < (size_t)1 << 28);
	const __m256i exponent = _mm256_set1_epi32(0x7f800000);
	__mmask8 broken = 0;
	__m256i largest = _mm256_set1_epi32(-(1 << 26));
	for (size_t i = 0; i < n; i += 8) {
		const __mmask8 here = eight_left(n - i);
		const __m256i bits = _mm256_maskz_loadu_epi32(here, row + i);
		broken |= _mm256_cmpeq_epi32_mask(_mm256_and_si256(bits, exponent), exponent);
		largest = _mm256_mask_max_epi32(largest, here, largest, fix_masked(row + i, here));
	}
	if (broken) return false;
	int32_t lane[8], most = -(1 << 26);
	_mm256_storeu_si256((__m256i *)lane, largest);
	for (size_t j = 0; j < 8; j++) most = lane[j] > most ? lane[j] : most;

	const __m256i top = _mm256_set1_epi32(most), end = _mm256_set1_epi32((int)table_count);
	__m512i whole = _mm512_setzero_si512();
	size_t peak = n;
	for (size_t i = 0; i < n; i += 8) {
		const __mmask8 here = eight_left(n - i);
		const __m256i below = _mm256_sub_epi32(top, fix_masked(row + i, here));
		const __mmask8 inside = _mm256_mask_cmplt_epi32_mask(here, below, end),
		               at_top = _mm256_mask_cmpeq_epi32_mask(here, below,
		                                                     _mm256_setzero_si256());
		if (at_top && peak == n) peak = i + (size_t)__builtin_ctz(at_top);
		const __m512i e =
		    _mm512_mask_i32gather_epi64(_mm512_setzero_si512(), inside, below, table, 8);
		whole = _mm512_add_epi64(whole, e);
		_mm512_mask_storeu_epi64(law + i, here, e);
	}
	const uint64_t target = UINT64_C(1) << ROWLAW_SUM_BITS;
	const double scale =
	    ((double)(target - n) / (double)(uint64_t)_mm512_reduce_add_epi64(whole)) *
	    ROWLAW_SLACK;
	const __m512d scales = _mm512_set1_pd(scale);
	const __m512i one = _mm512_set1_epi64(1);
	__m512i sum = _mm512_setzero_si512();
	for (size_t i = 0; i < n; i += 8) {
		const __mmask8 here = eight_left(n - i);
		const __m512d e = _mm512_cvtepi64_pd(_mm512_maskz_loadu_epi64(here, law + i));
		const __m512i entry =
		    _mm512_add_epi64(_mm512_cvttpd_epi64(_mm512_mul_pd(e, scales)), one);
		sum = _mm512_mask_add_epi64(sum, here, sum, entry);
		_mm512_mask_storeu_epi64(law + i, here, entry);
	}
	law[peak] += target - (uint64_t)_mm512_reduce_add_epi64(sum);
	return true;
}
