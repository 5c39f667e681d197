// SPDX-License-Identifier: Apache-2.0
// rowquant in plain C, as rowquant.h defines it. Tests compare every tier with it.
#include "base/misuse.h"
#include "kernels/f16.h"
#include "kernels/gemm.h"
#include "kernels/rowquant.h"

#include <math.h>

static const uint32_t infinity_bits = 0x7f800000;
static const uint32_t tiny_bits = (127 - 100) << 23; // 2^-100

void rowquant_scalar(const float *x, size_t k, int8_t *q, float *scale, float *scaled_sum,
                     int32_t *sum, int32_t *half_sum) {
	REQUIRE(k % GEMM_BLOCK == 0);
	for (size_t block = 0; block < k / GEMM_BLOCK; block++) {
		const float *in = x + block * GEMM_BLOCK;
		int8_t *out = q + block * GEMM_BLOCK;
		uint32_t amax_bits = 0;
		for (size_t i = 0; i < GEMM_BLOCK; i++) {
			const uint32_t bits = bits_of_float(in[i]) & 0x7fffffff;
			amax_bits = bits > amax_bits ? bits : amax_bits;
		}
		int32_t halves[2] = {0};
		if (amax_bits >= infinity_bits || amax_bits < tiny_bits) {
			for (size_t i = 0; i < GEMM_BLOCK; i++) out[i] = 0;
			scale[block] = amax_bits < tiny_bits ? 0.0f : NAN;
		} else {
			const float amax = float_of_bits(amax_bits), inverse = 127.0f / amax;
			for (size_t i = 0; i < GEMM_BLOCK; i++) {
				// Adding 1.5 * 2^23 rounds to the nearest integer, ties to even,
				// whatever the libm.
				const float rounded = in[i] * inverse + 12582912.0f;
				out[i] = (int8_t)(int32_t)(bits_of_float(rounded) - 0x4b400000u);
				halves[i / GEMM_HALF] += out[i];
			}
			scale[block] = amax / 127.0f;
		}
		memcpy(half_sum + 2 * block, halves, sizeof halves);
		sum[block] = halves[0] + halves[1];
		scaled_sum[block] = scale[block] * (float)sum[block];
	}
}
