// SPDX-License-Identifier: Apache-2.0
// attention in plain C, as attention.h defines it. Tests compare every tier with it.
#include "base/misuse.h"
#include "kernels/attention.h"
#include "kernels/lanes.h"

void attention_scalar(const float *q, size_t heads, size_t head_size,
                      const struct attention_segment *segments, size_t segment_count,
                      float inv_sqrt, float *scores, float *out) {
	REQUIRE(head_size % 16 == 0);
	size_t tokens = 0;
	for (size_t s = 0; s < segment_count; s++) {
		REQUIRE(tokens % ATTENTION_TILE == 0);
		tokens += segments[s].tokens;
	}
	REQUIRE(tokens > 0);
	const size_t padded = (tokens + 15) / 16 * 16;
	for (size_t h = 0; h < heads; h++) {
		float *row = scores + h * padded;
		size_t t = 0;
		for (size_t s = 0; s < segment_count; s++)
			for (size_t i = 0; i < segments[s].tokens; i++, t++) {
				const uint16_t *key =
				    segments[s].k + i / 16 * 16 * head_size + i % 16;
				float acc = 0.0f;
				for (size_t d = 0; d < head_size; d++)
					acc = fmaf(q[h * head_size + d], float_of_f16(key[d * 16]),
					           acc);
				row[t] = acc * inv_sqrt;
			}
		for (; t < padded; t++) row[t] = -INFINITY;
		const float z = lanes_softmax(row, padded);
		for (size_t d = 0; d < head_size; d++) {
			float acc = 0.0f;
			t = 0;
			for (size_t s = 0; s < segment_count; s++)
				for (size_t i = 0; i < segments[s].tokens; i++, t++)
					acc = fmaf(row[t],
					           float_of_f16(segments[s].v[i * head_size + d]),
					           acc);
			out[h * head_size + d] = acc / z;
		}
	}
}
