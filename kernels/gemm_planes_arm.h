// SPDX-License-Identifier: Apache-2.0
// gemm_planes_arm.h: what gemm_planes_body.h needs, in ASIMD instructions.
// Who includes it defines add_products and ROWS.
// A q register holds 4 channels x 4 k, a quarter of a group.
#define LANES_NEON
#include "kernels/gemm.h"
#include "kernels/lanes.h"

#include <arm_neon.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
enum { TABLE_OFFSET = 0 };
typedef int32x4_t vint;
typedef uint8x16_t vbytes;

/* Does nothing: these cores prefetch a stream of loads themselves. */
INLINE void prefetch_weights(const uint8_t *packed) {
	(void)packed;
}

INLINE vbytes bytes_load(const uint8_t *from) {
	return vld1q_u8(from);
}
INLINE vbytes bytes_field(vbytes x, int n, int mask) {
	return vandq_u8(n ? vshlq_u8(x, vdupq_n_s8((int8_t)-n)) : x, vdupq_n_u8((uint8_t)mask));
}
INLINE vbytes bytes_or(vbytes a, vbytes b) {
	return vorrq_u8(a, b);
}
INLINE vbytes bytes_table(vbytes codes) {
	static const int8_t table[16] = {GEMM_IQ4_TABLE};
	return vreinterpretq_u8_s8(vqtbl1q_s8(vld1q_s8(table), codes));
}

INLINE vint int_of(int32_t value) {
	return vdupq_n_s32(value);
}
