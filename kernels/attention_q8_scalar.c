// SPDX-License-Identifier: Apache-2.0
// attention over int8 in plain C, as attention.h defines it: a row at a time. Tests compare every
// tier with it.
#include "base/misuse.h"
#include "kernels/attention.h"
#include "kernels/lanes.h"
#include "kernels/quantise.h"

/* One tile of 16 tokens of a row. */
struct tile {
	const int8_t *k; /* [head_size/2][16][2] */
	const int8_t *v; /* [8][head_size][2] */
	const float *k_scale;
	const float *v_scale;
	size_t tokens; /* 16, or fewer in the row's last tile */
};

/* The tile that begins with token `at` of the row; the shared segments come first. */
static struct tile find_tile(const struct attention_row *row,
                             const struct attention_segment *shared, size_t shared_count,
                             size_t head_size, size_t at) {
	const struct attention_segment *segment = shared_count ? shared : row->own;
	for (size_t s = 1; at >= segment->tokens; s++) {
		REQUIRE(segment->tokens % ATTENTION_TILE == 0);
		at -= segment->tokens;
		segment = s < shared_count ? &shared[s] : &row->own[s - shared_count];
	}
	return (struct tile){(const int8_t *)segment->k + at * head_size,
	                     (const int8_t *)segment->v + at * head_size, segment->k_scale + at,
	                     segment->v_scale + at,
	                     segment->tokens - at < ATTENTION_TILE ? segment->tokens - at
	                                                           : ATTENTION_TILE};
}

/* Adds a tile's values, times p, to out. */
static void weigh_tile(const struct tile *tile, const float *p, size_t head_size, float *out) {
	float weights[ATTENTION_TILE] = {0};
	int16_t weight[ATTENTION_TILE];
	for (size_t t = 0; t < tile->tokens; t++) weights[t] = p[t] * tile->v_scale[t];
	const float scale = quantise_to_16(weights, ATTENTION_TILE, weight);
	for (size_t d = 0; d < head_size; d++) {
		int32_t sum = 0;
		for (size_t t = 0; t < tile->tokens; t++)
			sum += weight[t] * tile->v[(t / 2 * head_size + d) * 2 + t % 2];
		out[d] = fmaf((float)sum, scale, out[d]);
	}
}

static void attend_row_q8(const struct attention_row *row, size_t heads, size_t head_size,
                          const struct attention_segment *shared, size_t shared_count,
                          float inv_sqrt, float *scores) {
	int16_t *q = (int16_t *)(void *)scores;
	scores += head_size;
	size_t tokens = 0;
	for (size_t s = 0; s < shared_count; s++) tokens += shared[s].tokens;
	for (size_t s = 0; s < row->own_count; s++) tokens += row->own[s].tokens;
	REQUIRE(row->unseen < ATTENTION_TILE && row->unseen < tokens);
	const size_t padded = (tokens + 15) / 16 * 16;
	for (size_t h = 0; h < heads; h++) {
		const float scale = quantise_to_16(row->q + h * head_size, head_size, q) * inv_sqrt;
		for (size_t at = 0; at < padded; at += ATTENTION_TILE) {
			const struct tile tile =
			    find_tile(row, shared, shared_count, head_size, at);
			for (size_t t = 0; t < ATTENTION_TILE; t++) {
				int32_t sum = 0;
				for (size_t d = 0; t < tile.tokens && d < head_size; d++)
					sum += q[d] * tile.k[d / 2 * 32 + 2 * t + d % 2];
				scores[at + t] = t < tile.tokens
				                     ? (float)sum * (tile.k_scale[t] * scale)
				                     : -INFINITY;
			}
		}
		for (size_t t = 0; t < row->unseen; t++) scores[t] = -INFINITY;
		const float z = lanes_softmax(scores, padded);
		float *out = row->out + h * head_size;
		for (size_t d = 0; d < head_size; d++) out[d] = 0.0f;
		for (size_t at = 0; at < padded; at += ATTENTION_TILE) {
			const struct tile tile =
			    find_tile(row, shared, shared_count, head_size, at);
			weigh_tile(&tile, scores + at, head_size, out);
		}
		for (size_t d = 0; d < head_size; d++) out[d] /= z;
	}
}

void attention_q8_scalar(const struct attention_row *rows, size_t row_count, size_t heads,
                         size_t head_size, const struct attention_segment *shared,
                         size_t shared_count, float inv_sqrt, float *scratch) {
	REQUIRE(head_size % 16 == 0 && row_count <= ATTENTION_MOST_ROWS);
	for (size_t r = 0; r < row_count; r++)
		attend_row_q8(&rows[r], heads, head_size, shared, shared_count, inv_sqrt, scratch);
}
