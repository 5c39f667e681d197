// SPDX-License-Identifier: Apache-2.0
// rowlaw with AVX2: eight entries at a time, the last ones under a mask. A first pass looks for NaN
// and infinity and for the largest L, before law changes.
#include "kernels/rowlaw.h"

#include "base/misuse.h"

#include <immintrin.h>

/* The lanes that hold entries when `left` are left. Example: 3 gives lanes 0, 1 and 2. */
static __m256i lanes_left(size_t left) {
	const __m256i place = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
	return _mm256_cmpgt_epi32(_mm256_set1_epi32(left < 8 ? (int)left : 8), place);
}

/* L of eight logits. */
static __m256i fix_eight(__m256 logits) {
	const __m256 bound = _mm256_set1_ps(0x1p26f);
	__m256 scaled = _mm256_mul_ps(logits, _mm256_set1_ps((float)(1 << ROWLAW_FRACTION_BITS)));
	scaled =
	    _mm256_max_ps(_mm256_min_ps(scaled, bound), _mm256_sub_ps(_mm256_setzero_ps(), bound));
	return _mm256_cvtps_epi32(
	    _mm256_round_ps(scaled, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* Four masks of 32 bits, widened to 64. */
static __m256i widen_mask(__m256i mask, int upper) {
	return _mm256_cvtepi32_epi64(upper ? _mm256_extracti128_si256(mask, 1)
	                                   : _mm256_castsi256_si128(mask));
}

static uint64_t add_four(__m256i sums) {
	uint64_t lane[4];
	_mm256_storeu_si256((__m256i *)lane, sums);
	return lane[0] + lane[1] + lane[2] + lane[3];
}

bool rowlaw_avx2(const float *row, size_t n, const uint64_t *table, size_t table_count,
                 uint64_t *law) {
	REQUIRE(n >= 1 && n <= ROWLAW_MOST && table_count >= 1 && table_count < (size_t)1 << 28);
	const __m256i exponent = _mm256_set1_epi32(0x7f800000);
	__m256i broken = _mm256_setzero_si256(), largest = _mm256_set1_epi32(-(1 << 26));
	for (size_t i = 0; i < n; i += 8) {
		const __m256i here = lanes_left(n - i);
		const __m256 logits = _mm256_maskload_ps(row + i, here);
		broken = _mm256_or_si256(
		    broken, _mm256_cmpeq_epi32(
		                _mm256_and_si256(_mm256_castps_si256(logits), exponent), exponent));
		const __m256i fixed =
		    _mm256_blendv_epi8(_mm256_set1_epi32(-(1 << 26)), fix_eight(logits), here);
		largest = _mm256_max_epi32(largest, fixed);
	}
	if (!_mm256_testz_si256(broken, broken)) return false;
	int32_t lane[8], most = -(1 << 26);
	_mm256_storeu_si256((__m256i *)lane, largest);
	for (size_t j = 0; j < 8; j++) most = lane[j] > most ? lane[j] : most;

	const __m256i zero = _mm256_setzero_si256(), top = _mm256_set1_epi32(most),
	              end = _mm256_set1_epi32((int)table_count);
	__m256i whole = zero;
	size_t peak = n;
	for (size_t i = 0; i < n; i += 8) {
		const __m256i here = lanes_left(n - i),
		              below = _mm256_sub_epi32(
		                  top, fix_eight(_mm256_maskload_ps(row + i, here))),
		              inside = _mm256_and_si256(here, _mm256_cmpgt_epi32(end, below));
		const unsigned at_top = (unsigned)_mm256_movemask_ps(
		    _mm256_castsi256_ps(_mm256_and_si256(here, _mm256_cmpeq_epi32(below, zero))));
		if (at_top && peak == n) peak = i + (size_t)__builtin_ctz(at_top);
		for (int upper = 0; upper < 2; upper++) {
			const __m256i e =
			    _mm256_mask_i32gather_epi64(zero, (const long long *)table,
			                                upper ? _mm256_extracti128_si256(below, 1)
			                                      : _mm256_castsi256_si128(below),
			                                widen_mask(inside, upper), 8);
			whole = _mm256_add_epi64(whole, e);
			_mm256_maskstore_epi64((long long *)law + i + 4 * (size_t)upper,
			                       widen_mask(here, upper), e);
		}
	}
	const uint64_t target = UINT64_C(1) << ROWLAW_SUM_BITS;
	const double scale = ((double)(target - n) / (double)add_four(whole)) * ROWLAW_SLACK;
	/* An integer below 2^52 in the low bits of the double 2^52 is 2^52 plus this integer. */
	const __m256d magic = _mm256_set1_pd(0x1p52), scales = _mm256_set1_pd(scale);
	const __m256i bits = _mm256_castpd_si256(magic), one = _mm256_set1_epi64x(1);
	__m256i sum = zero;
	for (size_t i = 0; i < n; i += 4) {
		const __m256i here = widen_mask(lanes_left(n - i), 0),
		              e = _mm256_maskload_epi64((const long long *)law + i, here);
		const __m256d product = _mm256_mul_pd(
		    _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(e, bits)), magic), scales);
		const __m256d cut =
		    _mm256_round_pd(product, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
		const __m256i entry = _mm256_add_epi64(
		    _mm256_xor_si256(_mm256_castpd_si256(_mm256_add_pd(cut, magic)), bits), one);
		sum = _mm256_add_epi64(sum, _mm256_and_si256(entry, here));
		_mm256_maskstore_epi64((long long *)law + i, here, entry);
	}
	law[peak] += target - add_four(sum);
	return true;
}
