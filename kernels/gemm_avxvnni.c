// SPDX-License-Identifier: Apache-2.0
// gemm of every block type with AVX-VNNI, for processors that have no AVX-512: a ymm is 8 channels x 4 k, half a group, and activations are
// broadcast from memory.
#include "kernels/gemm.h"
#include "kernels/lanes.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define GEMM_PLANES gemm_planes_avxvnni
#define GEMM_Q4 gemm_q4_avxvnni
#define GEMM_Q8 gemm_q8_avxvnni
enum { ROWS = 4, TABLE_OFFSET = 128, PREFETCH_BYTES = 4096 };
typedef __m256i vint, vbytes;

INLINE void prefetch(const uint8_t *packed) {
	_mm_prefetch((const char *)packed + PREFETCH_BYTES, _MM_HINT_T0);
}

INLINE vbytes bytes_load(const uint8_t *from) {
	return _mm256_loadu_si256((const __m256i *)from);
}
INLINE vbytes bytes_field(vbytes x, int n, int mask) {
	if (n > 0) x = _mm256_srli_epi16(x, n);
	if (n < 0) x = _mm256_slli_epi16(x, -n);
	return _mm256_and_si256(x, _mm256_set1_epi8((char)mask));
}
INLINE vbytes bytes_or(vbytes a, vbytes b) {
	return _mm256_or_si256(a, b);
}
INLINE vbytes bytes_table(vbytes codes) {
	const __m128i raised = _mm_xor_si128(_mm_setr_epi8(GEMM_IQ4_TABLE), _mm_set1_epi8((char)0x80));
	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(raised), codes);
}
INLINE vint dot(enum packed_type type, vint isum, const vbytes codes[4], const int8_t *a) {
	(void)type;
	for (size_t i = 0; i < 4; i++) {
		int32_t four;
		memcpy(&four, a + 4 * i, sizeof four);
		isum = _mm256_dpbusd_avx_epi32(isum, codes[i], _mm256_set1_epi32(four));
	}
	return isum;
}

INLINE vint int_of(int32_t value) {
	return _mm256_set1_epi32(value);
}
INLINE lanes_part float_of_i8(const int8_t *from) {
	return (lanes_part)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)from)));
}

#include "kernels/gemm_planes_body.h"
