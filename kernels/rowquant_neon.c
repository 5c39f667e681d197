// SPDX-License-Identifier: Apache-2.0
// rowquant with ASIMD: a block of 32 is eight q registers.
#include "base/misuse.h"
#include "kernels/f16.h"
#include "kernels/gemm.h"
#include "kernels/rowquant.h"

#include <arm_neon.h>
#include <math.h>

enum { PARTS = 8 /* registers of a block */ };

void rowquant_neon(const float *x, size_t k, int8_t *q, float *scale, float *scaled_sum,
                   int32_t *sum, int32_t *half_sum) {
	REQUIRE(k % GEMM_BLOCK == 0);
	for (size_t block = 0; block < k / GEMM_BLOCK; block++) {
		float32x4_t in[PARTS];
		uint32x4_t most = vdupq_n_u32(0);
		int32x4_t out[PARTS];
		for (size_t i = 0; i < PARTS; i++) {
			in[i] = vld1q_f32(x + block * GEMM_BLOCK + 4 * i);
			most = vmaxq_u32(
			    most, vandq_u32(vreinterpretq_u32_f32(in[i]), vdupq_n_u32(0x7fffffff)));
		}
		const uint32_t amax_bits = vmaxvq_u32(most);
		if (amax_bits >= 0x7f800000 || amax_bits < (127 - 100) << 23) {
			for (size_t i = 0; i < PARTS; i++) out[i] = vdupq_n_s32(0);
			scale[block] = amax_bits >= 0x7f800000 ? NAN : 0.0f;
		} else {
			const float amax = float_of_bits(amax_bits);
			const float32x4_t inverse = vdupq_n_f32(127.0f / amax);
			for (size_t i = 0; i < PARTS; i++)
				out[i] = vcvtnq_s32_f32(vmulq_f32(in[i], inverse));
			scale[block] = amax / 127.0f;
		}
		for (size_t i = 0; i < PARTS; i += 4) {
			const int16x8_t low =
			    vcombine_s16(vmovn_s32(out[i]), vmovn_s32(out[i + 1]));
			const int16x8_t high =
			    vcombine_s16(vmovn_s32(out[i + 2]), vmovn_s32(out[i + 3]));
			vst1q_s8(q + block * GEMM_BLOCK + 4 * i,
			         vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
			half_sum[2 * block + i / 4] = vaddvq_s16(vaddq_s16(low, high));
		}
		sum[block] = half_sum[2 * block] + half_sum[2 * block + 1];
		scaled_sum[block] = scale[block] * (float)sum[block];
	}
}
