// SPDX-License-Identifier: Apache-2.0
// attention: one row's query heads of one KV head over the row's keys and values, two-pass softmax.
//
//   s[h][t] = (fma over d ascending of q[h][d] * k[t][d]) * inv_sqrt
//   m = max over t;  p[t] = exp(s[t] - m) (exp_f32.h);  z = canonical sum of p: 16 lanes, lane t mod 16, then the halving tree
//   out[h][d] = (fma over t ascending of p[t] * v[t][d]) / z
//
// Keys and values are fp16. Keys lie in tiles of 16 tokens, [tile][d][16], values [token][d]. A row's tokens are the segments' one after
// the other; every segment but the last holds a multiple of 16 tokens, so the arithmetic does not know where a segment ends. Shapes:
// q[heads][head_size], scores scratch [heads][tokens rounded up to 16], out[heads][head_size]; head_size a multiple of 16. Tiles are whole:
// keys beyond a segment's tokens are readable (their content does not matter).
#ifndef CUTTLE_KERNELS_ATTENTION_H
#define CUTTLE_KERNELS_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

enum { ATTENTION_TILE = 16, ATTENTION_MOST_HEADS = 128 /* of one KV head */ };

struct attention_segment {
	const uint16_t *k; /* fp16 [tiles][head_size][16] */
	const uint16_t *v; /* fp16 [tokens][head_size] */
	size_t tokens;
};

typedef void attention_fn(const float *q, size_t heads, size_t head_size, const struct attention_segment *segments, size_t segment_count,
                          float inv_sqrt, float *scores, float *out);

attention_fn attention_scalar, attention_neon, attention_avx2, attention_avx512;

#endif
