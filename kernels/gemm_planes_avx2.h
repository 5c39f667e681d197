// SPDX-License-Identifier: Apache-2.0
// gemm_planes_avx2.h: the products that the gemms over planes of bits make with AVX2.
// Rows may be private; weights are public.
#ifndef CUTTLE_KERNELS_GEMM_PLANES_AVX2_H
#define CUTTLE_KERNELS_GEMM_PLANES_AVX2_H

#include "kernels/gemm_planes_ymm.h"

enum { TABLE_OFFSET = 0 };

INLINE vbytes bytes_table(vbytes codes) {
	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_setr_epi8(GEMM_IQ4_TABLE)),
	                           codes);
}

/* maddubs adds two products in 16 bits. So many such sums of 16 weights are added before they must
 * be widened; the largest that 16 bits hold is 32767.
 * Codes of up to 5 bits: 4, for 31 * 127 * 2 * 4 = 31496.
 * Codes of 6 bits:       2, for 63 * 127 * 2 * 2 = 32004.
 * The IQ4 table:         1, for 127 * 127 * 2 = 32258. */
INLINE size_t pairs_that_fit(enum packed_type type) {
	return packed_has_table(type) ? 1 : packed_bits(type) == 6 ? 2 : 4;
}

/* Codes times a[4], two products added in each 16 bits. maddubs takes weights without a sign, so
 * the activation takes the sign of the table's weight. */
INLINE __m256i pair_products(enum packed_type type, __m256i codes, const int8_t *a) {
	int32_t four;
	memcpy(&four, a, sizeof four);
	const __m256i broadcast = _mm256_set1_epi32(four);
	if (!packed_has_table(type)) return _mm256_maddubs_epi16(codes, broadcast);
	return _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(broadcast, codes));
}

#endif
