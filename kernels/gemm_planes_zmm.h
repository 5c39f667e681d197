// SPDX-License-Identifier: Apache-2.0
// gemm_planes_zmm.h: what gemm_codes.h needs, in AVX-512 instructions.
// A zmm holds 16 channels x 4 k, a whole group. vpdpbusd takes weights without a sign, so the IQ4
// table is raised by 128.
#ifndef CUTTLE_KERNELS_GEMM_PLANES_ZMM_H
#define CUTTLE_KERNELS_GEMM_PLANES_ZMM_H

#include "kernels/gemm.h"
#include "kernels/lanes.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
enum {
	TABLE_OFFSET = 128,   /* added to each value of the IQ4 table */
	PREFETCH_BYTES = 4096 /* from the weights in use to those fetched ahead */
};
typedef __m512i vint, vbytes;

INLINE void prefetch_weights(const uint8_t *packed) {
	_mm_prefetch((const char *)packed + PREFETCH_BYTES, _MM_HINT_T0);
}

INLINE vbytes bytes_load(const uint8_t *from) {
	return _mm512_loadu_si512(from);
}
INLINE vbytes bytes_field(vbytes x, int n, int mask) {
	if (n > 0) x = _mm512_srli_epi16(x, (unsigned)n);
	if (n < 0) x = _mm512_slli_epi16(x, (unsigned)-n);
	return _mm512_and_si512(x, _mm512_set1_epi8((char)mask));
}
INLINE vbytes bytes_or(vbytes a, vbytes b) {
	return _mm512_or_si512(a, b);
}
INLINE vbytes bytes_table(vbytes codes) {
	const __m128i table = _mm_setr_epi8(GEMM_IQ4_TABLE);
	const __m128i raised = _mm_xor_si128(table, _mm_set1_epi8((char)0x80));
	return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(raised), codes);
}

#endif
