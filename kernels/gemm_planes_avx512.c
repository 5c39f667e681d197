// SPDX-License-Identifier: Apache-2.0
// gemm over planes of bits with AVX-512 VNNI. Activations are broadcast from memory. The loops are
// in gemm_planes_body.h. Many rows are gemm_panels_avx512.c's.
#include "kernels/gemm_planes_zmm.h"

#define GEMM_PLANES gemm_planes_avx512
#define GEMM_PANELS gemm_panels_avx512
enum {
	ROWS = 8,      /* of a tile */
	MANY_ROWS = 20 /* from which on panels are faster, measured */
};

INLINE vint add_products(enum packed_type type, vint isum, const vbytes codes[4], const int8_t *a) {
	(void)type;
	for (size_t i = 0; i < 4; i++) {
		int32_t four;
		memcpy(&four, a + 4 * i, sizeof four);
		isum = _mm512_dpbusd_epi32(isum, codes[i], _mm512_set1_epi32(four));
	}
	return isum;
}

INLINE vint int_of(int32_t value) {
	return _mm512_set1_epi32(value);
}

#include "kernels/gemm_planes_body.h"
