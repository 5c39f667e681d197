// SPDX-License-Identifier: Apache-2.0
// attention_body.h: the body of attention, included once by each vector tier.
// The including file defines TIER(name), which adds its suffix to a name, and TILES. Example:
// attention_avx2.c. Everything here may be private.
// Scores: the 16 lanes are the 16 tokens of a tile. Values: they are 16 entries of a head.
// Up to 4 heads share each load of a key or value. TILES[heads] says how many tiles of scores, or
// times 16 entries of values, are computed at once for so many heads. That is enough to hide the
// latency of the chained FMAs, and few enough for the registers. Example: TILES = { 0, 4, 2, 2, 1 }
// takes 4 tiles for one head, 2 for two or three heads, 1 for four.
#include "base/misuse.h"
#include "kernels/attention.h"
#include "kernels/lanes.h"

#include <stdbool.h>

enum {
	HEADS = 4,                /* heads that share a load */
	FLIGHT = 4 * LANES_PARTS, /* vectors per head that are computed at once, at most */
	LINE = 32                 /* fp16 in a cache line */
};

static LANES_INLINE void store_part(float *to, lanes_part value) {
	memcpy(to, &value, sizeof value);
}

/* The keys and values of all rows are too many for the CPU's caches, so what a row reads next comes
 * from memory. It is fetched while this part is used. */
static LANES_INLINE void prefetch_ahead(const uint16_t *ahead, size_t count) {
	for (size_t i = 0; i < count; i += LINE) __builtin_prefetch(ahead + i);
}

/* The scores of `tiles` tiles of keys that begin at k. `ahead`: what is prefetched meanwhile. */
static LANES_INLINE void score_tiles(size_t heads, size_t tiles, const float *q, size_t head_size,
                                     const uint16_t *k, const uint16_t *ahead, float inv_sqrt,
                                     float *scores, size_t padded) {
	lanes_part acc[FLIGHT][HEADS];
	for (size_t i = 0; i < tiles * LANES_PARTS; i++)
		for (size_t h = 0; h < heads; h++) acc[i][h] = lanes_part_of(0.0f);
	for (size_t d = 0; d < head_size; d++) {
		prefetch_ahead(ahead + tiles * LANES * d, tiles * LANES);
		for (size_t i = 0; i < tiles * LANES_PARTS; i++) {
			const lanes_part key =
			    lanes_part_of_f16(k + (i / LANES_PARTS * head_size + d) * LANES +
			                      i % LANES_PARTS * LANES_PART);
			for (size_t h = 0; h < heads; h++)
				acc[i][h] = lanes_part_fma(lanes_part_of(q[h * head_size + d]), key,
				                           acc[i][h]);
		}
	}
	for (size_t i = 0; i < tiles * LANES_PARTS; i++)
		for (size_t h = 0; h < heads; h++)
			store_part(scores + h * padded + i * LANES_PART,
			           acc[i][h] * lanes_part_of(inv_sqrt));
}

/* Adds one segment's values, times p, to `parts` vectors of out. `fresh`: out begins at zero. */
static LANES_INLINE void weigh_values(size_t heads, size_t parts, const float *p, size_t padded,
                                      const struct attention_segment *segment,
                                      const uint16_t *ahead, size_t head_size, bool fresh,
                                      float *out) {
	lanes_part acc[HEADS][FLIGHT];
	for (size_t h = 0; h < heads; h++)
		for (size_t i = 0; i < parts; i++) {
			acc[h][i] = lanes_part_of(0.0f);
			if (!fresh)
				memcpy(&acc[h][i], out + h * head_size + LANES_PART * i,
				       sizeof acc[h][i]);
		}
	const uint16_t *v = segment->v;
	for (size_t t = 0; t < segment->tokens; t++, v += head_size, ahead += head_size) {
		prefetch_ahead(ahead, parts * LANES_PART);
		for (size_t i = 0; i < parts; i++) {
			const lanes_part value = lanes_part_of_f16(v + LANES_PART * i);
			for (size_t h = 0; h < heads; h++)
				acc[h][i] = lanes_part_fma(lanes_part_of(p[h * padded + t]), value,
				                           acc[h][i]);
		}
	}
	for (size_t h = 0; h < heads; h++)
		for (size_t i = 0; i < parts; i++)
			store_part(out + h * head_size + LANES_PART * i, acc[h][i]);
}

/* The scores of one segment. `after`: what is read once this segment is done. */
static LANES_INLINE void score_segment(size_t heads, size_t tiles, const float *q, size_t head_size,
                                       const struct attention_segment *segment,
                                       const uint16_t *after, float inv_sqrt, float *scores,
                                       size_t padded) {
	const size_t all = (segment->tokens + LANES - 1) / LANES, tile = head_size * LANES;
	const uint16_t *k = segment->k;
	size_t t = 0;
	for (; t + tiles <= all; t += tiles)
		score_tiles(heads, tiles, q, head_size, k + t * tile,
		            t + tiles < all ? k + (t + tiles) * tile : after, inv_sqrt,
		            scores + t * LANES, padded);
	for (; t < all; t++)
		score_tiles(heads, 1, q, head_size, k + t * tile, k, inv_sqrt, scores + t * LANES,
		            padded);
}

/* Adds one segment's values, times p, to out, TILES[heads] * 16 entries of a head at a time.
 * `after` and `fresh` are as above. */
static LANES_INLINE void weigh_segment(size_t heads, size_t tiles, const float *p, size_t padded,
                                       const struct attention_segment *segment,
                                       const uint16_t *after, size_t head_size, bool fresh,
                                       float *out) {
	struct attention_segment part = *segment;
	size_t from = 0;
	for (; from + tiles * LANES <= head_size;
	     from += tiles * LANES, part.v += tiles * LANES, after += tiles * LANES)
		weigh_values(heads, tiles * LANES_PARTS, p, padded, &part, after, head_size, fresh,
		             out + from);
	for (; from < head_size; from += LANES, part.v += LANES, after += LANES)
		weigh_values(heads, LANES_PARTS, p, padded, &part, after, head_size, fresh,
		             out + from);
}

/* CALL(heads, tiles, ...) for min(left, HEADS) heads, so that both are constants. */
#define FOR_HEADS(left, CALL, ...)                                                                 \
	switch (left) {                                                                            \
	case 1:                                                                                    \
		CALL(1, tiles[1], __VA_ARGS__);                                                    \
		break;                                                                             \
	case 2:                                                                                    \
		CALL(2, tiles[2], __VA_ARGS__);                                                    \
		break;                                                                             \
	case 3:                                                                                    \
		CALL(3, tiles[3], __VA_ARGS__);                                                    \
		break;                                                                             \
	default:                                                                                   \
		CALL(4, tiles[4], __VA_ARGS__);                                                    \
	}

/* Takes the segments one by one, and all heads of one before the next. The arithmetic of the heads
 * hides the time in which the next segment comes from memory. */
void TIER(attention)(const float *q, size_t heads, size_t head_size,
                     const struct attention_segment *segments, size_t segment_count, float inv_sqrt,
                     float *scores, float *out) {
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
			FOR_HEADS(heads - h, score_segment, q + h * head_size, head_size,
			          &segments[s], after, inv_sqrt, scores + h * padded + at, padded)
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
			FOR_HEADS(heads - h, weigh_segment, scores + h * padded + at, padded,
			          &segments[s], after, head_size, s == 0, out + h * head_size)
	}
	for (size_t h = 0; h < heads; h++, out += head_size)
		for (size_t d = 0; d < head_size; d += LANES)
			lanes_store(out + d, lanes_div(lanes_load(out + d), lanes_of(z[h])));
}
