// SPDX-License-Identifier: Apache-2.0
// attention.h: attention of one row: the query heads of one KV head over the row's keys and values.
// All of it may be private.
// The order of arithmetic is fixed, in every tier. h is a head, t a token, d an entry of a head:
//   s[h][t] = (fma over d ascending of q[h][d] * k[t][d]) * inv_sqrt
//   p[h][t] = exp(s[h][t] - m[h])             m[h]: the largest s[h][t]; exp as in exp_f32.h
//   z[h]    = the canonical sum of p[h][t]    lane t % 16, then the halving tree (lanes.h)
//   out[h][d] = (fma over t ascending of p[h][t] * v[t][d]) / z[h]
// The keys and values lie in segments; a row's tokens are those of its segments, one after the
// other. Every segment but the last holds a multiple of 16 tokens. So the arithmetic does not
// depend on where a segment ends.
#ifndef CUTTLE_KERNELS_ATTENTION_H
#define CUTTLE_KERNELS_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

enum {
	ATTENTION_TILE = 16,       /* tokens */
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

/* q[heads][head_size], out[heads][head_size]; head_size a multiple of 16. scores is scratch of the
 * caller: [heads][tokens rounded up to a multiple of 16]. */

typedef void attention_fn(const float *q, size_t heads, size_t head_size,
                          const struct attention_segment *segments, size_t segment_count,
                          float inv_sqrt, float *scores, float *out);

attention_fn attention_scalar, attention_neon, attention_avx2, attention_avx512;

#endif
