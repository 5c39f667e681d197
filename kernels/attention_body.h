// SPDX-License-Identifier: Apache-2.0
// The body of attention, included once per tier with TIER(name) and TILES defined: lanes over the tokens of a tile for the scores, over
// head entries for the values. Up to 4 heads share each key and value load. TILES[heads] tiles, and as many lanes of a head's values, are
// in flight at once: enough to hide the latency of the chained FMAs, few enough for the registers.
#include "base/misuse.h"
#include "kernels/attention.h"
#include "kernels/lanes.h"

#include <stdbool.h>

enum { HEADS = 4, FLIGHT = 4 * LANES_PARTS, LINE = 32 /* fp16 in a cache line */ };

static LANES_INLINE void part_store(float *to, lanes_part value) {
	memcpy(to, &value, sizeof value);
}

/* Caches are larger than what one row reads, so its next page comes from memory: it is fetched while this one is used. */
static LANES_INLINE void fetch(const uint16_t *ahead, size_t count) {
	for (size_t i = 0; i < count; i += LINE) __builtin_prefetch(ahead + i);
}

static LANES_INLINE void score_tiles(size_t heads, size_t tiles, const float *q, size_t head_size, const uint16_t *k, const uint16_t *ahead,
                                     float inv_sqrt, float *scores, size_t padded) {
	lanes_part acc[FLIGHT][HEADS];
	for (size_t i = 0; i < tiles * LANES_PARTS; i++)
		for (size_t h = 0; h < heads; h++) acc[i][h] = lanes_part_of(0.0f);
	for (size_t d = 0; d < head_size; d++) {
		fetch(ahead + tiles * LANES * d, tiles * LANES);
		for (size_t i = 0; i < tiles * LANES_PARTS; i++) {
			const lanes_part key =
			    lanes_part_of_f16(k + (i / LANES_PARTS * head_size + d) * LANES + i % LANES_PARTS * LANES_PART);
			for (size_t h = 0; h < heads; h++) acc[i][h] = lanes_part_fma(lanes_part_of(q[h * head_size + d]), key, acc[i][h]);
		}
	}
	for (size_t i = 0; i < tiles * LANES_PARTS; i++)
		for (size_t h = 0; h < heads; h++) part_store(scores + h * padded + i * LANES_PART, acc[i][h] * lanes_part_of(inv_sqrt));
}

/* Adds one segment's values, weighted, to out; `fresh`: to zero. */
static LANES_INLINE void weigh_values(size_t heads, size_t parts, const float *p, size_t padded, const struct attention_segment *segment,
                                      const uint16_t *ahead, size_t head_size, bool fresh, float *out) {
	lanes_part acc[HEADS][FLIGHT];
	for (size_t h = 0; h < heads; h++)
		for (size_t i = 0; i < parts; i++) {
			acc[h][i] = lanes_part_of(0.0f);
			if (!fresh) memcpy(&acc[h][i], out + h * head_size + LANES_PART * i, sizeof acc[h][i]);
		}
	const uint16_t *v = segment->v;
	for (size_t t = 0; t < segment->tokens; t++, v += head_size, ahead += head_size) {
		fetch(ahead, parts * LANES_PART);
		for (size_t i = 0; i < parts; i++) {
			const lanes_part value = lanes_part_of_f16(v + LANES_PART * i);
			for (size_t h = 0; h < heads; h++) acc[h][i] = lanes_part_fma(lanes_part_of(p[h * padded + t]), value, acc[h][i]);
		}
	}
	for (size_t h = 0; h < heads; h++)
		for (size_t i = 0; i < parts; i++) part_store(out + h * head_size + LANES_PART * i, acc[h][i]);
}

static LANES_INLINE void score_segment(size_t heads, size_t tiles, const float *q, size_t head_size,
                                       const struct attention_segment *segment, const uint16_t *after, float inv_sqrt, float *scores,
                                       size_t padded) {
	const size_t all = (segment->tokens + LANES - 1) / LANES, tile = head_size * LANES;
	const uint16_t *k = segment->k;
	size_t t = 0;
	for (; t + tiles <= all; t += tiles)
		score_tiles(heads, tiles, q, head_size, k + t * tile, t + tiles < all ? k + (t + tiles) * tile : after, inv_sqrt,
		            scores + t * LANES, padded);
	for (; t < all; t++) score_tiles(heads, 1, q, head_size, k + t * tile, k, inv_sqrt, scores + t * LANES, padded);
}

static LANES_INLINE void weigh_segment(size_t heads, size_t tiles, const float *p, size_t padded, const struct attention_segment *segment,
                                       const uint16_t *after, size_t head_size, bool fresh, float *out) {
	struct attention_segment part = *segment;
	size_t from = 0;
	for (; from + tiles * LANES <= head_size; from += tiles * LANES, part.v += tiles * LANES, after += tiles * LANES)
		weigh_values(heads, tiles * LANES_PARTS, p, padded, &part, after, head_size, fresh, out + from);
	for (; from < head_size; from += LANES, part.v += LANES, after += LANES)
		weigh_values(heads, LANES_PARTS, p, padded, &part, after, head_size, fresh, out + from);
}

/* CALL(heads, tiles, ...) with constants for `left` heads, at most HEADS. */
#define FOR_HEADS(left, CALL, ...)                                                                                                         \
	switch (left) {                                                                                                                    \
	case 1:                                                                                                                            \
		CALL(1, tiles[1], __VA_ARGS__);                                                                                            \
		break;                                                                                                                     \
	case 2:                                                                                                                            \
		CALL(2, tiles[2], __VA_ARGS__);                                                                                            \
		break;                                                                                                                     \
	case 3:                                                                                                                            \
		CALL(3, tiles[3], __VA_ARGS__);                                                                                            \
		break;                                                                                                                     \
	default:                                                                                                                           \
		CALL(4, tiles[4], __VA_ARGS__);                                                                                            \
	}

/* Segment by segment, all heads of one before the next: their arithmetic hides the time the next one takes to come. */
void TIER(attention)(const float *q, size_t heads, size_t head_size, const struct attention_segment *segments, size_t segment_count,
                     float inv_sqrt, float *scores, float *out) {
	static const size_t tiles[HEADS + 1] = TILES;
	REQUIRE(head_size % LANES == 0 && heads <= ATTENTION_MOST_HEADS);
	size_t tokens = 0;
	for (size_t s = 0; s < segment_count; s++) {
		REQUIRE(tokens % ATTENTION_TILE == 0);
		tokens += segments[s].tokens;
	}
	REQUIRE(tokens > 0);
	const size_t padded = (tokens + LANES - 1) / LANES * LANES;
	size_t at = 0;
	for (size_t s = 0; s < segment_count; at += segments[s++].tokens) {
		const uint16_t *after = s + 1 < segment_count ? segments[s + 1].k : segments[0].v;
		for (size_t h = 0; h < heads; h += HEADS)
			FOR_HEADS(heads - h, score_segment, q + h * head_size, head_size, &segments[s], after, inv_sqrt,
			          scores + h * padded + at, padded)
	}
	float z[ATTENTION_MOST_HEADS];
	for (size_t h = 0; h < heads; h++) {
		for (size_t t = tokens; t < padded; t++) scores[h * padded + t] = -INFINITY;
		z[h] = lanes_softmax(scores + h * padded, padded);
	}
	at = 0;
	for (size_t s = 0; s < segment_count; at += segments[s++].tokens) {
		const uint16_t *after = s + 1 < segment_count ? segments[s + 1].v : segments[s].v;
		for (size_t h = 0; h < heads; h += HEADS)
			FOR_HEADS(heads - h, weigh_segment, scores + h * padded + at, padded, &segments[s], after, head_size, s == 0,
			          out + h * head_size)
	}
	for (size_t h = 0; h < heads; h++, out += head_size)
		for (size_t d = 0; d < head_size; d += LANES) lanes_store(out + d, lanes_div(lanes_load(out + d), lanes_of(z[h])));
}
