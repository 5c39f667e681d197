// SPDX-License-Identifier: Apache-2.0
// gemm over planes of bits with AVX2: up to 4 rows share each unpacked weight. The loops are in
// gemm_planes_body.h. Many rows are gemm_panels_avx2.c's.
#include "kernels/gemm_planes_avx2.h"
#include "kernels/in_order.h"

#define GEMM_PLANES gemm_planes_avx2
#define GEMM_PANELS gemm_panels_avx2
enum { MANY_ROWS = 12 /* from which on panels are faster, measured */ };

INLINE vint add_products(enum packed_type type, vint isum, const vbytes codes[4], const int8_t *a) {
	const size_t fit = pairs_that_fit(type);
	for (size_t from = 0; from < 4; from += fit) {
		__m256i pairs = pair_products(type, codes[from], a + 4 * from);
		for (size_t i = from + 1; i < from + fit; i++)
			pairs = _mm256_add_epi16(pairs, pair_products(type, codes[i], a + 4 * i));
		isum = _mm256_add_epi32(isum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
		if (fit < 4) IN_ORDER(isum);
	}
	return isum;
}

#include "kernels/gemm_planes_body.h"
