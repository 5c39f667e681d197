// SPDX-License-Identifier: Apache-2.0
// attention in plain C, as attention.h defines it: a row at a time. Tests compare every tier with
// it.
#include "base/misuse.h"
#include "kernels/attention.h"
#include "kernels/lanes.h"

/* Segment `s` of a row: the shared ones come first. */
static const struct attention_segment *find_segment(const struct attention_row *row,
                                                    const struct attention_segment *shared,
                                                    size_t shared_count, size_t s) {
	return s < shared_count ? &shared[s] : &row->own[s - shared_count];
}

static void attend_row(const struct attention_row *row, size_t heads, size_t head_size,
                       const struct attention_segment *shared, size_t shared_count, float inv_sqrt,
                       float *scores) {
	const size_t count = shared_count + row->own_count;
	size_t tokens = 0;
	for (size_t s = 0; s < count; s++) {
		REQUIRE(tokens % ATTENTION_TILE == 0);
		tokens += find_segment(row, shared, shared_count, s)->tokens;
	}
	REQUIRE(row->unseen < ATTENTION_TILE && row->unseen < tokens);
	const size_t padded = (tokens + 15) / 16 * 16;
	for (size_t h = 0; h < heads; h++) {
		size_t t = 0;
		for (size_t s = 0; s < count; s++) {
			const struct attention_segment *segment =
			    find_segment(row, shared, shared_count, s);
			for (size_t i = 0; i < segment->tokens; i++, t++) {
				const uint16_t *key =
				    (const uint16_t *)segment->k + i / 16 * 16 * head_size + i % 16;
				float acc = 0.0f;
				for (size_t d = 0; d < head_size; d++)
					acc = fmaf(row->q[h * head_size + d],
					           float_of_f16(key[d * 16]), acc);
				scores[t] = acc * inv_sqrt;
			}
		}
		for (; t < padded; t++) scores[t] = -INFINITY;
		for (t = 0; t < row->unseen; t++) scores[t] = -INFINITY;
		const float z = lanes_softmax(scores, padded);
		for (size_t d = 0; d < head_size; d++) {
			float acc = 0.0f;
			t = 0;
			for (size_t s = 0; s < count; s++) {
				const struct attention_segment *segment =
				    find_segment(row, shared, shared_count, s);
				const uint16_t *value = segment->v;
				for (size_t i = 0; i < segment->tokens; i++, t++)
					acc = fmaf(scores[t],
					           float_of_f16(value[i * head_size + d]), acc);
			}
			row->out[h * head_size + d] = acc / z;
		}
	}
}

void attention_scalar(const struct attention_row *rows, size_t row_count, size_t heads,
                      size_t head_size, const struct attention_segment *shared, size_t shared_count,
                      float inv_sqrt, float *scratch) {
	REQUIRE(head_size % 16 == 0 && row_count <= ATTENTION_MOST_ROWS);
	for (size_t r = 0; r < row_count; r++)
		attend_row(&rows[r], heads, head_size, shared, shared_count, inv_sqrt, scratch);
}
