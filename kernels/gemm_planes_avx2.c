// SPDX-License-Identifier: Apache-2.0
// gemm over planes of bits with AVX2: a ymm is 8 channels x 4 k, half a group; up to 4 rows share each unpacked weight.
#include "kernels/gemm.h"
#include "kernels/lanes.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define GEMM_PLANES gemm_planes_avx2
enum { ROWS = 4, TABLE_OFFSET = 0, PREFETCH_BYTES = 4096 };
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
	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_setr_epi8(GEMM_IQ4_TABLE)), codes);
}

/* maddubs adds two products in 16 bits; sums of them stay there as long as they fit: 31 * 127 * 2 * 4 = 31496 for codes of 5 bits,
 * 63 * 127 * 2 * 2 = 32004 for 6, 127 * 127 * 2 = 32258 for the table, whose sign goes to the activation. */
INLINE vint dot(enum packed_type type, vint isum, const vbytes codes[4], const int8_t *a) {
	const bool table = packed_has_table(type);
	const size_t fit = table ? 1 : packed_bits(type) == 6 ? 2 : 4;
	const __m256i ones = _mm256_set1_epi16(1);
	for (size_t from = 0; from < 4; from += fit) {
		__m256i pairs = _mm256_setzero_si256();
		for (size_t i = from; i < from + fit; i++) {
			int32_t four;
			memcpy(&four, a + 4 * i, sizeof four);
			const __m256i broadcast = _mm256_set1_epi32(four);
			const __m256i product = table
			                            ? _mm256_maddubs_epi16(_mm256_abs_epi8(codes[i]), _mm256_sign_epi8(broadcast, codes[i]))
			                            : _mm256_maddubs_epi16(codes[i], broadcast);
			pairs = i == from ? product : _mm256_add_epi16(pairs, product);
		}
		isum = _mm256_add_epi32(isum, _mm256_madd_epi16(pairs, ones));
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
