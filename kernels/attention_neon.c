// SPDX-License-Identifier: Apache-2.0
// attention with ASIMD: lanes over the tokens of a tile (four q registers) for the scores, over head entries for the values. Up to 4 heads
// share each key and value load; fewer heads take more tiles or vectors in flight, to hide the latency of the chained FMAs.
#define LANES_NEON
#include "base/misuse.h"
#include "kernels/attention.h"
#include "kernels/lanes.h"

#define INLINE static inline __attribute__((always_inline))
enum { HEADS = 4, FLIGHT = 16, QUARTERS = 4 };

INLINE float32x4_t load_f16(const uint16_t *half) {
	return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(half)));
}

INLINE void score_tiles(size_t heads, size_t tiles, const float *q, size_t head_size, const uint16_t *k, float inv_sqrt, float *scores,
                        size_t padded) {
	float32x4_t acc[FLIGHT][HEADS];
	for (size_t i = 0; i < tiles * QUARTERS; i++)
		for (size_t h = 0; h < heads; h++) acc[i][h] = vdupq_n_f32(0.0f);
	for (size_t d = 0; d < head_size; d++)
		for (size_t i = 0; i < tiles * QUARTERS; i++) {
			const float32x4_t key = load_f16(k + (i / QUARTERS * head_size + d) * 16 + i % QUARTERS * 4);
			for (size_t h = 0; h < heads; h++) acc[i][h] = vfmaq_n_f32(acc[i][h], key, q[h * head_size + d]);
		}
	for (size_t i = 0; i < tiles * QUARTERS; i++)
		for (size_t h = 0; h < heads; h++) vst1q_f32(scores + h * padded + i * 4, vmulq_n_f32(acc[i][h], inv_sqrt));
}

INLINE void weigh_values(size_t heads, size_t vectors, const float *p, size_t padded, const struct attention_segment *segments,
                         size_t segment_count, size_t head_size, size_t from, const float *z, float *out) {
	float32x4_t acc[HEADS][FLIGHT];
	for (size_t h = 0; h < heads; h++)
		for (size_t i = 0; i < vectors; i++) acc[h][i] = vdupq_n_f32(0.0f);
	size_t t = 0;
	for (size_t s = 0; s < segment_count; s++) {
		const uint16_t *v = segments[s].v + from;
		for (size_t n = segments[s].tokens; n; n--, t++, v += head_size)
			for (size_t i = 0; i < vectors; i++) {
				const float32x4_t value = load_f16(v + 4 * i);
				for (size_t h = 0; h < heads; h++) acc[h][i] = vfmaq_n_f32(acc[h][i], value, p[h * padded + t]);
			}
	}
	for (size_t h = 0; h < heads; h++)
		for (size_t i = 0; i < vectors; i++) vst1q_f32(out + h * head_size + from + 4 * i, vdivq_f32(acc[h][i], vdupq_n_f32(z[h])));
}

/* `heads`, `tiles` and `vectors` (in flight at once) are constants after inlining. */
INLINE void some_heads(size_t heads, size_t tiles, size_t vectors, const float *q, size_t head_size,
                       const struct attention_segment *segments, size_t segment_count, size_t tokens, float inv_sqrt, float *scores,
                       float *out) {
	const size_t padded = (tokens + 15) / 16 * 16;
	size_t at = 0;
	for (size_t s = 0; s < segment_count; s++) {
		const size_t all = (segments[s].tokens + 15) / 16;
		const uint16_t *k = segments[s].k;
		size_t t = 0;
		for (; t + tiles <= all; t += tiles)
			score_tiles(heads, tiles, q, head_size, k + t * head_size * 16, inv_sqrt, scores + at + t * 16, padded);
		for (; t < all; t++) score_tiles(heads, 1, q, head_size, k + t * head_size * 16, inv_sqrt, scores + at + t * 16, padded);
		at += all * 16;
	}
	float z[HEADS];
	for (size_t h = 0; h < heads; h++) {
		for (size_t t = tokens; t < padded; t++) scores[h * padded + t] = -INFINITY;
		z[h] = lanes_softmax(scores + h * padded, padded);
	}
	size_t from = 0;
	for (; from + 4 * vectors <= head_size; from += 4 * vectors)
		weigh_values(heads, vectors, scores, padded, segments, segment_count, head_size, from, z, out);
	for (; from < head_size; from += 16) weigh_values(heads, 4, scores, padded, segments, segment_count, head_size, from, z, out);
}

void attention_neon(const float *q, size_t heads, size_t head_size, const struct attention_segment *segments, size_t segment_count,
                    float inv_sqrt, float *scores, float *out) {
	REQUIRE(head_size % 16 == 0);
	size_t tokens = 0;
	for (size_t s = 0; s < segment_count; s++) {
		REQUIRE(tokens % ATTENTION_TILE == 0);
		tokens += segments[s].tokens;
	}
	REQUIRE(tokens > 0);
	for (size_t h = 0; h < heads; h += HEADS, q += HEADS * head_size, out += HEADS * head_size) {
		const size_t left = heads - h;
		switch (left < HEADS ? left : HEADS) {
		case 1:
			some_heads(1, 4, 16, q, head_size, segments, segment_count, tokens, inv_sqrt, scores, out);
			break;
		case 2:
			some_heads(2, 2, 8, q, head_size, segments, segment_count, tokens, inv_sqrt, scores, out);
			break;
		case 3:
			some_heads(3, 1, 4, q, head_size, segments, segment_count, tokens, inv_sqrt, scores, out);
			break;
		default:
			some_heads(4, 1, 4, q, head_size, segments, segment_count, tokens, inv_sqrt, scores, out);
		}
	}
}
