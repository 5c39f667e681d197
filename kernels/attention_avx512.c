// SPDX-License-Identifier: Apache-2.0
// attention with AVX-512: lanes over the 16 tokens of a tile for the scores, over head entries for the values. Up to 4 heads share each
// key and value load, and 4 tiles or 4 vectors of a head are in flight to hide the latency of the chained FMAs.
#include "base/misuse.h"
#include "kernels/attention.h"
#include "kernels/lanes.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
enum { HEADS = 4, FLIGHT = 4 };

INLINE __m512 load_f16(const uint16_t *half) {
	return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)half));
}

/* Two cache lines. Caches are larger than what one row reads, so its next page comes from memory: it is fetched while this one is used. */
INLINE void fetch(const uint16_t *ahead) {
	_mm_prefetch((const char *)ahead, _MM_HINT_T0);
	_mm_prefetch((const char *)(ahead + 32), _MM_HINT_T0);
}

INLINE void score_tiles(size_t heads, size_t tiles, const float *q, size_t head_size, const uint16_t *k, const uint16_t *ahead,
                        float inv_sqrt, float *scores, size_t padded) {
	__m512 acc[FLIGHT][HEADS];
	for (size_t t = 0; t < tiles; t++)
		for (size_t h = 0; h < heads; h++) acc[t][h] = _mm512_setzero_ps();
	for (size_t d = 0; d < head_size; d++) {
		if (tiles == FLIGHT) fetch(ahead + 64 * d);
		for (size_t t = 0; t < tiles; t++) {
			const __m512 key = load_f16(k + (t * head_size + d) * 16);
			for (size_t h = 0; h < heads; h++)
				acc[t][h] = _mm512_fmadd_ps(_mm512_set1_ps(q[h * head_size + d]), key, acc[t][h]);
		}
	}
	const __m512 factor = _mm512_set1_ps(inv_sqrt);
	for (size_t t = 0; t < tiles; t++)
		for (size_t h = 0; h < heads; h++) _mm512_storeu_ps(scores + h * padded + t * 16, _mm512_mul_ps(acc[t][h], factor));
}

INLINE void weigh_values(size_t heads, size_t vectors, const float *p, size_t padded, const struct attention_segment *segments,
                         size_t segment_count, size_t head_size, size_t from, const float *z, float *out) {
	__m512 acc[HEADS][FLIGHT];
	for (size_t h = 0; h < heads; h++)
		for (size_t i = 0; i < vectors; i++) acc[h][i] = _mm512_setzero_ps();
	size_t t = 0;
	for (size_t s = 0; s < segment_count; s++) {
		const uint16_t *v = segments[s].v + from, *ahead = (s + 1 < segment_count ? segments[s + 1].v : segments[s].v) + from;
		for (size_t n = segments[s].tokens; n; n--, t++, v += head_size, ahead += head_size) {
			if (vectors == FLIGHT) fetch(ahead);
			for (size_t i = 0; i < vectors; i++) {
				const __m512 value = load_f16(v + 16 * i);
				for (size_t h = 0; h < heads; h++)
					acc[h][i] = _mm512_fmadd_ps(_mm512_set1_ps(p[h * padded + t]), value, acc[h][i]);
			}
		}
	}
	for (size_t h = 0; h < heads; h++)
		for (size_t i = 0; i < vectors; i++)
			_mm512_storeu_ps(out + h * head_size + from + 16 * i, _mm512_div_ps(acc[h][i], _mm512_set1_ps(z[h])));
}

INLINE void some_heads(size_t heads, const float *q, size_t head_size, const struct attention_segment *segments, size_t segment_count,
                       size_t tokens, float inv_sqrt, float *scores, float *out) {
	const size_t padded = (tokens + 15) / 16 * 16;
	size_t at = 0;
	for (size_t s = 0; s < segment_count; s++) {
		const size_t tiles = (segments[s].tokens + 15) / 16;
		const uint16_t *k = segments[s].k, *after = s + 1 < segment_count ? segments[s + 1].k : segments[0].v;
		size_t t = 0;
		for (; t + FLIGHT <= tiles; t += FLIGHT)
			score_tiles(heads, FLIGHT, q, head_size, k + t * head_size * 16,
			            t + FLIGHT < tiles ? k + (t + FLIGHT) * head_size * 16 : after, inv_sqrt, scores + at + t * 16, padded);
		for (; t < tiles; t++)
			score_tiles(heads, 1, q, head_size, k + t * head_size * 16, k, inv_sqrt, scores + at + t * 16, padded);
		at += tiles * 16;
	}
	float z[HEADS];
	for (size_t h = 0; h < heads; h++) {
		for (size_t t = tokens; t < padded; t++) scores[h * padded + t] = -INFINITY;
		z[h] = lanes_softmax(scores + h * padded, padded);
	}
	size_t from = 0;
	for (; from + 16 * FLIGHT <= head_size; from += 16 * FLIGHT)
		weigh_values(heads, FLIGHT, scores, padded, segments, segment_count, head_size, from, z, out);
	for (; from < head_size; from += 16) weigh_values(heads, 1, scores, padded, segments, segment_count, head_size, from, z, out);
}

void attention_avx512(const float *q, size_t heads, size_t head_size, const struct attention_segment *segments, size_t segment_count,
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
			some_heads(1, q, head_size, segments, segment_count, tokens, inv_sqrt, scores, out);
			break;
		case 2:
			some_heads(2, q, head_size, segments, segment_count, tokens, inv_sqrt, scores, out);
			break;
		case 3:
			some_heads(3, q, head_size, segments, segment_count, tokens, inv_sqrt, scores, out);
			break;
		default:
			some_heads(4, q, head_size, segments, segment_count, tokens, inv_sqrt, scores, out);
		}
	}
}
