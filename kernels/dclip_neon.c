// SPDX-License-Identifier: Apache-2.0
// dclip with ASIMD: four entries at a time, the last ones through a copy filled up with zeros. A
// first pass looks for NaN and infinity, before sum changes.
#include "kernels/dclip.h"

#include "base/misuse.h"

#include <arm_neon.h>
#include <string.h>

enum { STEP = 4 /* entries */ };

/* All ones in the lanes that are NaN or infinite. */
static uint32x4_t mark_not_finite(const float *row) {
	const uint32x4_t exponent = vdupq_n_u32(0x7f800000);
	return vceqq_u32(vandq_u32(vreinterpretq_u32_f32(vld1q_f32(row)), exponent), exponent);
}

static void add_clipped(const float *row, const int32_t *public_fixed, unsigned fraction_bits,
                        int32_t clip, int32_t *sum) {
	const float32x4_t bound = vdupq_n_f32(0x1p26f),
	                  scaled = vmulq_n_f32(vld1q_f32(row), (float)(1u << fraction_bits));
	const int32x4_t fixed =
	    vcvtnq_s32_f32(vmaxq_f32(vminq_f32(scaled, bound), vnegq_f32(bound)));
	const int32x4_t difference = vsubq_s32(fixed, vld1q_s32(public_fixed));
	const int32x4_t clipped =
	    vmaxq_s32(vminq_s32(difference, vdupq_n_s32(clip)), vdupq_n_s32(-clip));
	vst1q_s32(sum, vaddq_s32(vld1q_s32(sum), clipped));
}

bool dclip_neon(const float *row, const int32_t *public_fixed, size_t n, unsigned fraction_bits,
                int32_t clip, int32_t *sum) {
	REQUIRE(fraction_bits <= 16);
	REQUIRE(clip >= 0 && clip <= INT32_C(1) << 26);
	const size_t whole = n / STEP * STEP, rest = n - whole;
	float last_row[STEP] = {0};
	int32_t last_public[STEP] = {0}, last_sum[STEP] = {0};
	if (rest) {
		memcpy(last_row, row + whole, rest * sizeof *row);
		memcpy(last_public, public_fixed + whole, rest * sizeof *public_fixed);
		memcpy(last_sum, sum + whole, rest * sizeof *sum);
	}
	uint32x4_t any = mark_not_finite(last_row);
	for (size_t i = 0; i < whole; i += STEP) any = vorrq_u32(any, mark_not_finite(row + i));
	if (vmaxvq_u32(any)) return false;
	for (size_t i = 0; i < whole; i += STEP)
		add_clipped(row + i, public_fixed + i, fraction_bits, clip, sum + i);
	add_clipped(last_row, last_public, fraction_bits, clip, last_sum);
	if (rest) memcpy(sum + whole, last_sum, rest * sizeof *sum);
	return true;
}
