// SPDX-License-Identifier: Apache-2.0
// ranking_body.h: the loops of ranking.h. Included once by each ranking_TIER.c, which defines
// TIER(name). The compiler makes vectors of them, as wide as the tier's flags allow.
#include "kernels/ranking.h"

void TIER(count_above)(const int32_t *keys, size_t n, const int32_t thresholds[COUNT_ABOVE],
                       uint32_t counts[COUNT_ABOVE]) {
	const int32_t low = thresholds[0], middle = thresholds[1], high = thresholds[2];
	uint32_t above_low = 0, above_middle = 0, above_high = 0;
	for (size_t i = 0; i < n; i++) {
		above_low += keys[i] > low;
		above_middle += keys[i] > middle;
		above_high += keys[i] > high;
	}
	counts[0] = above_low;
	counts[1] = above_middle;
	counts[2] = above_high;
}

void TIER(cosine_keys)(const float *restrict cosines, size_t n, int32_t *restrict keys) {
	for (size_t i = 0; i < n; i++) keys[i] = cosine_key(cosines[i]);
}
