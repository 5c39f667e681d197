// SPDX-License-Identifier: Apache-2.0
// rowlaw with ASIMD: four entries at a time, the last ones through copies. A first pass looks for
// NaN and infinity and for the largest logit, before law changes. ASIMD has no gather, so entries
// of the table are loaded one by one. No branch depends on a logit, but for the answer.
// gcc 12 takes 15.5 instructions an entry in three loops. The scalar tier takes 81.5 in four.
#include "kernels/rowlaw.h"

#include "base/misuse.h"

#include <arm_neon.h>
#include <string.h>

enum { STEP = 4 /* entries */ };

/* L of four logits. */
static int32x4_t fix_logits(float32x4_t logits) {
	const float32x4_t bound = vdupq_n_f32(0x1p26f),
	                  scaled = vmulq_n_f32(logits, (float)(1 << ROWLAW_FRACTION_BITS));
	return vcvtnq_s32_f32(vmaxq_f32(vminq_f32(scaled, bound), vnegq_f32(bound)));
}

/* Two entries of the table, 0 where `inside` is 0. */
static uint64x2_t look_up_two(const uint64_t *table, uint32x2_t places, uint32x2_t inside) {
	const uint64x2_t e = vcombine_u64(vld1_u64(table + vget_lane_u32(places, 0)),
	                                  vld1_u64(table + vget_lane_u32(places, 1)));
	return vandq_u64(e, vreinterpretq_u64_s64(vmovl_s32(vreinterpret_s32_u32(inside))));
}

bool rowlaw_neon(const float *row, size_t n, const uint64_t *table, size_t table_count,
                 uint64_t *law) {
	REQUIRE(n >= 1 && n <= ROWLAW_MOST && table_count >= 1 && table_count < (size_t)1 << 28);
	const size_t whole = n / STEP * STEP, rest = n - whole;
	/* Copies of the first entry fill up the last ones: no maximum changes by them. */
	float last_row[STEP] = {row[0], row[0], row[0], row[0]};
	uint64_t last_law[STEP];
	memcpy(last_row, row + whole, rest * sizeof *row);

	/* A NaN of the row is a NaN in both. */
	float32x4_t largest = vld1q_f32(last_row), smallest = largest;
	for (size_t i = 0; i < whole; i += STEP) {
		const float32x4_t logits = vld1q_f32(row + i);
		largest = vmaxq_f32(largest, logits);
		smallest = vminq_f32(smallest, logits);
	}
	const float most = vmaxvq_f32(largest);
	if (!__builtin_isfinite(most) || !__builtin_isfinite(vminvq_f32(smallest))) return false;

	/* Of two logits the larger one never has the smaller L. So M is L of the largest. */
	const int32x4_t top = fix_logits(vdupq_n_f32(most));
	const uint32x4_t end = vdupq_n_u32((uint32_t)table_count), count = vdupq_n_u32((uint32_t)n);
	const uint32_t first[STEP] = {0, 1, 2, 3};
	uint32x4_t place = vld1q_u32(first), peaks = vdupq_n_u32(UINT32_MAX);
	uint64x2_t sums = vdupq_n_u64(0);
	for (size_t i = 0; i < n; i += STEP) {
		const int32x4_t fixed = fix_logits(vld1q_f32(i < whole ? row + i : last_row));
		const uint32x4_t below = vreinterpretq_u32_s32(vsubq_s32(top, fixed)),
		                 inside = vandq_u32(vcltq_u32(below, end), vcltq_u32(place, count)),
		                 places = vandq_u32(below, inside);
		peaks = vminq_u32(peaks, vornq_u32(place, vceqzq_u32(below)));
		place = vaddq_u32(place, vdupq_n_u32(STEP));
		const uint64x2_t low =
		                     look_up_two(table, vget_low_u32(places), vget_low_u32(inside)),
		                 high = look_up_two(table, vget_high_u32(places),
		                                    vget_high_u32(inside));
		sums = vaddq_u64(sums, vaddq_u64(low, high));
		uint64_t *to = i < whole ? law + i : last_law;
		vst1q_u64(to, low);
		vst1q_u64(to + 2, high);
	}
	memcpy(law + whole, last_law, rest * sizeof *law);

	const uint64_t target = UINT64_C(1) << ROWLAW_SUM_BITS;
	const double scale = ((double)(target - n) / (double)vaddvq_u64(sums)) * ROWLAW_SLACK;
	/* Compilers make vectors of this loop as it stands. */
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++) {
		law[i] = 1 + (uint64_t)((double)law[i] * scale);
		sum += law[i];
	}
	law[vminvq_u32(peaks)] += target - sum;
	return true;
}
