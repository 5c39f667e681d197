// SPDX-License-Identifier: Apache-2.0
// gemm over planes of bits with AVX2: up to 4 rows share each unpacked weight. The loops are in
// gemm_planes_body.h.
#include "kernels/gemm_planes_ymm.h"
#include "kernels/in_order.h"

#define GEMM_PLANES gemm_planes_avx2
enum { TABLE_OFFSET = 0 };

INLINE vbytes bytes_table(vbytes codes) {
	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_setr_epi8(GEMM_IQ4_TABLE)),
	                           codes);
}

/* maddubs adds two products in 16 bits. `fit` such sums are added before they must be widened; the
 * largest that 16 bits hold is 32767.
 * Codes of up to 5 bits: fit = 4, for 31 * 127 * 2 * 4 = 31496.
 * Codes of 6 bits:       fit = 2, for 63 * 127 * 2 * 2 = 32004.
 * The IQ4 table:         fit = 1, for 127 * 127 * 2 = 32258.
 * maddubs takes weights without a sign, so the activation takes the sign of the table's weight. */
INLINE vint add_products(enum packed_type type, vint isum, const vbytes codes[4], const int8_t *a) {
	const bool table = packed_has_table(type);
	const size_t fit = table ? 1 : packed_bits(type) == 6 ? 2 : 4;
	const __m256i ones = _mm256_set1_epi16(1);
	for (size_t from = 0; from < 4; from += fit) {
		__m256i pairs = _mm256_setzero_si256();
		for (size_t i = from; i < from + fit; i++) {
			int32_t four;
			memcpy(&four, a + 4 * i, sizeof four);
			const __m256i broadcast = _mm256_set1_epi32(four);
			const __m256i product =
			    table ? _mm256_maddubs_epi16(_mm256_abs_epi8(codes[i]),
			                                 _mm256_sign_epi8(broadcast, codes[i]))
			          : _mm256_maddubs_epi16(codes[i], broadcast);
			pairs = i == from ? product : _mm256_add_epi16(pairs, product);
		}
		isum = _mm256_add_epi32(isum, _mm256_madd_epi16(pairs, ones));
		if (fit < 4) IN_ORDER(isum);
	}
	return isum;
}

#include "kernels/gemm_planes_body.h"
