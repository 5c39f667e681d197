// SPDX-License-Identifier: Apache-2.0
// gemm of every block type with AVX-VNNI, for processors without AVX-512. Up to 4 rows share each
// unpacked weight; activations are broadcast from memory. vpdpbusd takes weights without a sign, so
// the IQ4 table is raised by 128. The loops are in gemm_planes_body.h.
#include "kernels/gemm_planes_ymm.h"

#define GEMM_PLANES gemm_planes_avxvnni
#define GEMM_Q4 gemm_q4_avxvnni
#define GEMM_Q8 gemm_q8_avxvnni
enum { TABLE_OFFSET = 128 };

INLINE vbytes bytes_table(vbytes codes) {
	const __m128i raised =
	    _mm_xor_si128(_mm_setr_epi8(GEMM_IQ4_TABLE), _mm_set1_epi8((char)0x80));
	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(raised), codes);
}
INLINE vint add_products(enum packed_type type, vint isum, const vbytes codes[4], const int8_t *a) {
	(void)type;
	for (size_t i = 0; i < 4; i++) {
		int32_t four;
		memcpy(&four, a + 4 * i, sizeof four);
		isum = _mm256_dpbusd_avx_epi32(isum, codes[i], _mm256_set1_epi32(four));
	}
	return isum;
}

#include "kernels/gemm_planes_body.h"
