// SPDX-License-Identifier: Apache-2.0
// gemm_planes_ymm.h: what gemm_planes_body.h needs, in AVX2 instructions.
// Who includes it defines add_products and bytes_table.
// A ymm holds 8 channels x 4 k, half a group.
#include "kernels/gemm.h"
#include "kernels/lanes.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
enum {
	ROWS = 4,             /* of a tile */
	PREFETCH_BYTES = 4096 /* from the weights in use to those fetched ahead */
};
typedef __m256i vint, vbytes;

INLINE void prefetch_weights(const uint8_t *packed) {
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

INLINE vint int_of(int32_t value) {
	return _mm256_set1_epi32(value);
}
