// SPDX-License-Identifier: Apache-2.0
// gemm over planes of bits with the dot products of ARMv8.2. A tile has up to 8 rows: 8 independent
// sums hide the latency of sdot. The loops are in gemm_planes_body.h.
#include "kernels/gemm_planes_arm.h"

#define GEMM_PLANES gemm_planes_dotprod
enum { ROWS = 8 };

INLINE vint add_products(enum packed_type type, vint isum, const vbytes codes[4], const int8_t *a) {
	(void)type;
	const int8x16_t all = vld1q_s8(a);
	isum = vdotq_laneq_s32(isum, vreinterpretq_s8_u8(codes[0]), all, 0);
	isum = vdotq_laneq_s32(isum, vreinterpretq_s8_u8(codes[1]), all, 1);
	isum = vdotq_laneq_s32(isum, vreinterpretq_s8_u8(codes[2]), all, 2);
	return vdotq_laneq_s32(isum, vreinterpretq_s8_u8(codes[3]), all, 3);
}

#include "kernels/gemm_planes_body.h"
