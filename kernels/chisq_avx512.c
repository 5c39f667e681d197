// SPDX-License-Identifier: Apache-2.0
// chisq with AVX-512: the eight lanes are those of a register. An entry that adds nothing to a sum
// adds +0 or -0, which changes no bit of it. Beyond the end a and b count as 1, so u is 0.
#include "kernels/chisq.h"

#include "base/misuse.h"

#include <immintrin.h>

static inline __attribute__((always_inline)) void add_eight_entries(__m512d *lane, __m512i a,
                                                                    __m512i b, unsigned order) {
	const __m512d p = _mm512_cvtepi64_pd(a),
	              u = _mm512_div_pd(_mm512_sub_pd(_mm512_cvtepi64_pd(b), p), p);
	const __mmask8 under = _mm512_cmp_pd_mask(u, _mm512_setzero_pd(), _CMP_LT_OQ);
	__m512d t = _mm512_mul_pd(_mm512_mul_pd(p, u), u);
	lane[0] = _mm512_mask_add_pd(lane[0], under, lane[0], t);
	t = _mm512_mask_mov_pd(t, under, _mm512_setzero_pd());
	lane[2] = _mm512_add_pd(lane[2], t);
	for (unsigned k = 3; k <= order; k++) {
		t = _mm512_mul_pd(t, u);
		lane[k] = _mm512_add_pd(lane[k], t);
	}
}

static inline __attribute__((always_inline)) void
sum_eight_lanes(const uint64_t *a, const uint64_t *b, size_t n, unsigned order, double *moments) {
	__m512d lane[CHISQ_ORDER + 1];
	for (unsigned k = 0; k <= order; k++) lane[k] = _mm512_setzero_pd();
	const __m512i ones = _mm512_set1_epi64(1);
	for (size_t i = 0; i < n; i += 8) {
		const __mmask8 here = n - i < 8 ? (__mmask8)((1u << (n - i)) - 1) : 0xff;
		add_eight_entries(lane, _mm512_mask_loadu_epi64(ones, here, a + i),
		                  _mm512_mask_loadu_epi64(ones, here, b + i), order);
	}
	for (unsigned k = 0; k <= order; k++) {
		double joined[8];
		_mm512_storeu_pd(joined, lane[k]);
		moments[k] = chisq_join(joined);
	}
}

void chisq_avx512(const uint64_t *a, const uint64_t *b, size_t n, unsigned order, double *moments) {
	REQUIRE(n <= CHISQ_MOST && order >= 2 && order <= CHISQ_ORDER);
	if (order == 2) sum_eight_lanes(a, b, n, 2, moments);
	else sum_eight_lanes(a, b, n, order, moments);
}
