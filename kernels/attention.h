// SPDX-License-Identifier: Apache-2.0
// attention.h: attention of some rows: the query heads of one KV head over each row's keys and
// values. All of it may be private.
// The order of arithmetic is fixed, in every tier. h is a head, t a token, d an entry of a head:
//   s[h][t] = (fma over d ascending of q[h][d] * k[t][d]) * inv_sqrt
//   p[h][t] = exp(s[h][t] - m[h])             m[h]: the largest s[h][t]; exp as in exp_f32.h
//   z[h]    = the canonical sum of p[h][t]    lane t % 16, then the halving tree (lanes.h)
//   out[h][d] = (fma over t ascending of p[h][t] * v[t][d]) / z[h]
// The keys and values lie in segments. A row's tokens are those of the shared segments, then those
// of its own, one after the other. Every segment but a row's last holds a multiple of 16 tokens. So
// the arithmetic does not depend on where a segment ends, nor on which of them are shared, nor on
// the other rows.
// A row may see only the last tokens of its context, by a sliding window. Then its segments begin
// with the tile of the first token that it sees, and s[h][t] of the `unseen` tokens before that is
// -infinity, so p[h][t] is 0.
// Shared segments are read once for all rows: a product of all their heads with these keys, later
// one with these values. All scores are kept until then, so each sum begins with the shared tokens
// and goes on with the row's own. (Sums of both apart, added later, would give other bits.)
// attention_q8 reads keys and values of 8 bits. What it multiplies is quantised too, to 16 bits by
// quantise.h, so all products and sums of a tile are exact, and no order of them is fixed:
//   (Q[h][d], a[h]) = q[h][d] over d, quantised
//   s[h][t] = (float)(sum over d of Q[h][d] * k[t][d]) * (k_scale[t] * (a[h] * inv_sqrt))
//   p, z    as above
//   (W[h][t], b[h]) = p[h][t] * v_scale[t] over the 16 tokens of a tile, quantised; a tile begins
//                     at a multiple of 16 of the row's tokens, and ends with 0 where the row does
//   out[h][d] = (fma over tiles of (float)(sum over t of W[h][t] * v[t][d]) * b[h]) / z[h]
// A token whose key or value is not finite has the scale NaN: then what sees it is NaN.
// Example: the largest p[h][t] * v_scale[t] of a tile is 0.2, so W is 32767 there, and b 0.2/32767.
#ifndef CUTTLE_KERNELS_ATTENTION_H
#define CUTTLE_KERNELS_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

enum {
	ATTENTION_TILE = 16,       /* tokens */
	ATTENTION_MOST_ROWS = 8,   /* rows of one call */
	ATTENTION_MOST_HEAD = 256, /* entries of a head: then attention_q8's sums fit 32 bits */
	ATTENTION_MOST_HEADS = 128 /* query heads of one KV head */
};

/* Keys lie in tiles of 16 tokens. Example: entry d of the key of token 18 is in tile 1, at
 * k[(1 * head_size + d) * 16 + 2]. Tiles are whole: keys beyond the segment's tokens are read, and
 * their content does not matter.
 * int8 numbers stand in pairs, whose products are added at once: two entries of a key, and an entry
 * of two tokens' values. Example: entry 5 of the key of token 18 is at k[((1 * head_size/2 + 2) *
 * 16 + 2) * 2 + 1], and of its value at v[(9 * head_size + 5) * 2]. Values and scales beyond the
 * tokens are read there, too. */
struct attention_segment {
	const void *k; /* fp16 [tiles][head_size][16], or int8 [tiles][head_size/2][16][2] */
	const void *v; /* fp16 [tokens][head_size], or int8 [tiles * 8][head_size][2] */
	size_t tokens;
	const float *k_scale; /* [tiles * 16], of attention_q8 alone */
	const float *v_scale; /* [tiles * 16], likewise */
};

struct attention_row {
	const float *q;                      /* [heads][head_size] */
	float *out;                          /* [heads][head_size] */
	const struct attention_segment *own; /* [own_count], at least 1 token */
	size_t own_count;
	size_t unseen; /* tokens of the first tile that the row does not see, 0 to 15 */
};

/* Floats of scratch for so many rows, each of at most so many tokens. */
static inline size_t attention_scratch(size_t rows, size_t heads, size_t head_size, size_t tokens) {
	return rows * heads *
	       (head_size + (tokens + ATTENTION_TILE - 1) / ATTENTION_TILE * ATTENTION_TILE);
}

/* 1 <= row_count <= ATTENTION_MOST_ROWS; head_size a multiple of 16, at most ATTENTION_MOST_HEAD.
 * scratch is the caller's, attention_scratch floats for the row with the most tokens. */
typedef void attention_fn(const struct attention_row *rows, size_t row_count, size_t heads,
                          size_t head_size, const struct attention_segment *shared,
                          size_t shared_count, float inv_sqrt, float *scratch);

attention_fn attention_scalar, attention_neon, attention_avx2, attention_avx512;
attention_fn attention_q8_scalar, attention_q8_neon, attention_q8_avx2, attention_q8_avx512;

#endif
