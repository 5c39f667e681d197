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
// Shared segments are read once for all rows: a product of all their heads with these keys, later
// one with these values. All scores are kept until then, so each sum begins with the shared tokens
// and goes on with the row's own. (Sums of both apart, added later, would give other bits.)
#ifndef CUTTLE_KERNELS_ATTENTION_H
#define CUTTLE_KERNELS_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

enum {
	ATTENTION_TILE = 16,       /* tokens */
	ATTENTION_MOST_ROWS = 8,   /* rows of one call */
	ATTENTION_MOST_HEADS = 128 /* query heads of one KV head */
};

/* Keys lie in tiles of 16 tokens. Example: entry d of the key of token 18 is in tile 1, at
 * k[(1 * head_size + d) * 16 + 2]. Tiles are whole: keys beyond the segment's tokens are read, and
 * their content does not matter. */
struct attention_segment {
	const uint16_t *k; /* fp16 [tiles][head_size][16] */
	const uint16_t *v; /* fp16 [tokens][head_size] */
	size_t tokens;
};

struct attention_row {
	const float *q;                      /* [heads][head_size] */
	float *out;                          /* [heads][head_size] */
	const struct attention_segment *own; /* [own_count], at least 1 token */
	size_t own_count;
};

/* Floats of scratch for so many rows, each of at most so many tokens. */
static inline size_t attention_scratch(size_t rows, size_t heads, size_t head_size, size_t tokens) {
	return rows * heads *
	       (head_size + (tokens + ATTENTION_TILE - 1) / ATTENTION_TILE * ATTENTION_TILE);
}

/* 1 <= row_count <= ATTENTION_MOST_ROWS; head_size a multiple of 16. scratch is the caller's,
 * attention_scratch floats for the row with the most tokens. */
typedef void attention_fn(const struct attention_row *rows, size_t row_count, size_t heads,
                          size_t head_size, const struct attention_segment *shared,
                          size_t shared_count, float inv_sqrt, float *scratch);

attention_fn attention_scalar, attention_neon, attention_avx2, attention_avx512;

#endif
