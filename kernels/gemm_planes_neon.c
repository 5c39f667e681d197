// SPDX-License-Identifier: Apache-2.0
// gemm over planes of bits with baseline ASIMD, for ARM cores without dot products. Up to 4 rows
// share each unpacked weight. The loops are in gemm_planes_body.h.
#include "kernels/gemm_planes_arm.h"

#define GEMM_PLANES gemm_planes_neon
enum { ROWS = 4 };

/* `fit` products are added in 16 bits before they must be widened; the largest that 16 bits hold is
 * 32767.
 * Codes of up to 6 bits: fit = 4, for 63 * 127 * 4 = 32004.
 * The IQ4 table:         fit = 2, for 127 * 127 * 2 = 32258. */
INLINE vint add_products(enum packed_type type, vint isum, const vbytes codes[4], const int8_t *a) {
	const size_t fit = packed_has_table(type) ? 2 : 4;
	for (size_t from = 0; from < 4; from += fit) {
		int16x8_t low = vdupq_n_s16(0), high = low;
		for (size_t i = from; i < from + fit; i++) {
			int32_t four;
			memcpy(&four, a + 4 * i, sizeof four);
			const int8x16_t code = vreinterpretq_s8_u8(codes[i]),
			                broadcast = vreinterpretq_s8_s32(vdupq_n_s32(four));
			low = vmlal_s8(low, vget_low_s8(code), vget_low_s8(broadcast));
			high = vmlal_high_s8(high, code, broadcast);
		}
		isum = vaddq_s32(isum, vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
	}
	return isum;
}

#include "kernels/gemm_planes_body.h"
