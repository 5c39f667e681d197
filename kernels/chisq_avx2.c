// SPDX-License-Identifier: Apache-2.0
// chisq with AVX2: lanes 0 to 3 in one register, 4 to 7 in another. An entry that adds nothing to a
// sum adds +0 or -0, which changes no bit of it. Beyond the end a and b count as 1, so u is 0.
#include "kernels/chisq.h"

#include "base/misuse.h"

#include <immintrin.h>

struct half_sums {
	__m256d lane[CHISQ_ORDER + 1]; /* four lanes of each moment */
};

/* Integers below 2^52, in the low bits of the double 2^52, are 2^52 plus these integers. */
static __m256d doubles_of(__m256i entries) {
	const __m256d magic = _mm256_set1_pd(0x1p52);
	return _mm256_sub_pd(
	    _mm256_castsi256_pd(_mm256_or_si256(entries, _mm256_castpd_si256(magic))), magic);
}

static inline __attribute__((always_inline)) void
add_four_entries(struct half_sums *sums, __m256i a, __m256i b, unsigned order) {
	const __m256d p = doubles_of(a), u = _mm256_div_pd(_mm256_sub_pd(doubles_of(b), p), p),
	              zero = _mm256_setzero_pd(), under = _mm256_cmp_pd(u, zero, _CMP_LT_OQ);
	__m256d t = _mm256_mul_pd(_mm256_mul_pd(p, u), u);
	sums->lane[0] = _mm256_add_pd(sums->lane[0], _mm256_and_pd(t, under));
	t = _mm256_andnot_pd(under, t);
	sums->lane[2] = _mm256_add_pd(sums->lane[2], t);
	for (unsigned k = 3; k <= order; k++) {
		t = _mm256_mul_pd(t, u);
		sums->lane[k] = _mm256_add_pd(sums->lane[k], t);
	}
}

/* The lanes that hold entries when `left` are left, at most 4. */
static __m256i four_left(size_t left) {
	return _mm256_cmpgt_epi64(_mm256_set1_epi64x(left < 4 ? (long long)left : 4),
	                          _mm256_setr_epi64x(0, 1, 2, 3));
}

static __m256i load_or_ones(const uint64_t *entries, __m256i here) {
	return _mm256_blendv_epi8(_mm256_set1_epi64x(1),
	                          _mm256_maskload_epi64((const long long *)entries, here), here);
}

static inline __attribute__((always_inline)) void
sum_moments(const uint64_t *a, const uint64_t *b, size_t n, unsigned order, double *moments) {
	struct half_sums halves[2];
	for (unsigned k = 0; k <= order; k++)
		halves[0].lane[k] = halves[1].lane[k] = _mm256_setzero_pd();
	size_t i = 0;
	for (; i + 8 <= n; i += 8)
		for (size_t h = 0; h < 2; h++)
			add_four_entries(
			    &halves[h], _mm256_loadu_si256((const __m256i *)(a + i + 4 * h)),
			    _mm256_loadu_si256((const __m256i *)(b + i + 4 * h)), order);
	for (size_t h = 0; h < 2 && i + 4 * h < n; h++) {
		const __m256i here = four_left(n - i - 4 * h);
		add_four_entries(&halves[h], load_or_ones(a + i + 4 * h, here),
		                 load_or_ones(b + i + 4 * h, here), order);
	}
	for (unsigned k = 0; k <= order; k++) {
		double lane[8];
		_mm256_storeu_pd(lane, halves[0].lane[k]);
		_mm256_storeu_pd(lane + 4, halves[1].lane[k]);
		moments[k] = chisq_join(lane);
	}
}

void chisq_avx2(const uint64_t *a, const uint64_t *b, size_t n, unsigned order, double *moments) {
	REQUIRE(n <= CHISQ_MOST && order >= 2 && order <= CHISQ_ORDER);
	if (order == 2) sum_moments(a, b, n, 2, moments);
	else sum_moments(a, b, n, order, moments);
}
