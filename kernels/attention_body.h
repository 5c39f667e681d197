// SPDX-License-Identifier: Apache-2.0
// attention_body.h: the body of attention, included once by each vector tier.
// The including file defines TIER(name), which adds its suffix to a name, and TILES. Example:
// attention_avx2.c. Everything here may be private.
// A query is one head of one row. Scores: the 16 lanes are the 16 tokens of a tile. Values: they
// are 16 entries of a head.
// Up to 6 queries share each load of a key or value. TILES[queries] says how many tiles of scores,
// or times 16 entries of values, are computed at once for so many queries. That is enough to hide
// the latency of the chained FMAs, and few enough for the registers. Example: TILES = { 0, 4, 2, 2,
// 1, 1, 1 } takes 4 tiles for one query, 2 for two or three, 1 for more.
// Over the shared segments the queries are those of all rows; over a row's own, that row's heads.
// First come all scores: of the shared segments, then of each row's own. Then all values, likewise.
#include "base/misuse.h"
#include "kernels/attention.h"
#include "kernels/lanes.h"

#include <stdbool.h>

#if defined(ATTENTION_Q8)
#include "kernels/quantise.h"
typedef int8_t number;           /* of a key or value */
typedef int16_t factor;          /* what numbers are multiplied by: of a query, or weights */
typedef lanes_part_int products; /* sums of the products */
enum { PAIR = 2 };               /* numbers whose products are added at once */
#else
typedef uint16_t number; /* fp16 */
typedef float factor;
typedef lanes_part products;
enum { PAIR = 1 };
#endif

enum {
	QUERIES = 6,                /* queries that share a load */
	FLIGHT = 4 * LANES_PARTS,   /* vectors per query that are computed at once, at most */
	LINE = 64 / sizeof(number), /* numbers in a cache line */
	LEAD = 16                   /* segments fetched before they are used, at most */
};
static const size_t tiles_of[QUERIES + 1] = TILES;

/* The rows of a call. Query i is head i % heads of row i / heads. */
struct queries {
	const struct attention_row *rows;
	size_t row_count;
	size_t heads; /* of a row */
	size_t count; /* row_count * heads */
	size_t head_size;
	float inv_sqrt;
	factor *q;     /* [head_size / PAIR][count][PAIR] */
	float *scores; /* [count][stride], later p */
	size_t stride; /* the most tokens of a row, rounded up to a multiple of 16 */

	/* [row_count + 1]: the shared segments, then each row's own. */
	struct segments {
		const struct attention_segment *list; /* [count] */
		size_t count;
	} segments[ATTENTION_MOST_ROWS + 1];

	// The keys and values of all rows are too many for the CPU's caches, so they come from
	// memory. They are fetched while others are computed, in the order in which they are used:
	// all keys, then all values. The next to be fetched is number `next` of segments[in].
	size_t in, next;
	bool values;
	size_t lead; /* segments fetched and not yet used */
#if defined(ATTENTION_Q8)
	float scale[ATTENTION_MOST_ROWS * ATTENTION_MOST_HEADS]; /* of each query, * inv_sqrt */
#endif
};

/* What is fetched while one segment is computed for some queries: `step` numbers at a time. */
struct ahead {
	const number *from;
	size_t step; /* a multiple of LINE; 0 = nothing */
};

/* Goes on to the segment that is used after the next one. */
static void step_over(struct queries *all) {
	all->next++;
	while (all->in <= all->row_count && all->next >= all->segments[all->in].count) {
		all->next = 0;
		if (++all->in <= all->row_count || all->values) continue;
		all->in = 0;
		all->values = true;
	}
}

/* Chooses what is fetched in the next `times` steps. */
static struct ahead choose_ahead(struct queries *all, size_t times) {
	if (!times || all->lead == LEAD || all->in > all->row_count)
		return (struct ahead){all->segments[1].list->k, 0};
	const struct attention_segment *next = &all->segments[all->in].list[all->next];
	const size_t size = (next->tokens + LANES - 1) / LANES * LANES * all->head_size,
	             step = (size + times - 1) / times;
#if defined(ATTENTION_Q8)
	const float *scale = all->values ? next->v_scale : next->k_scale;
	for (size_t t = 0; t < next->tokens; t += LANES) __builtin_prefetch(scale + t, 0, 2);
#endif
	const struct ahead ahead = {all->values ? next->v : next->k,
	                            (step + LINE - 1) / LINE * LINE};
	all->lead++;
	step_over(all);
	return ahead;
}

/* Into the second cache: into the first one fewer lines can be under way. Measured with 32 rows of
 * 412 tokens from memory: 18 ms instead of 30. */
static LANES_INLINE void fetch_ahead(struct ahead *ahead) {
	for (size_t i = 0; i < ahead->step; i += LINE) __builtin_prefetch(ahead->from + i, 0, 2);
	ahead->from += ahead->step;
}

static LANES_INLINE void store_part(float *to, lanes_part value) {
	memcpy(to, &value, sizeof value);
}

#if defined(ATTENTION_Q8)
static LANES_INLINE products load_numbers(const number *from) {
	return lanes_part_of_pairs(from);
}
static LANES_INLINE products load_factor(const factor *from) {
	return lanes_part_of_pair(from);
}
static LANES_INLINE products add_product(products a, products b, products c) {
	return lanes_part_dot(c, a, b);
}
#else
static LANES_INLINE products load_numbers(const number *from) {
	return lanes_part_of_f16(from);
}
static LANES_INLINE products load_factor(const factor *from) {
	return lanes_part_of(*from);
}
static LANES_INLINE products add_product(products a, products b, products c) {
	return lanes_part_fma(a, b, c);
}
#endif

/* Vector i of keys or values. It is in tile i / LANES_PARTS; tiles are `apart` numbers apart. */
static LANES_INLINE products load_part(const number *from, size_t apart, size_t i) {
	return load_numbers(from + i / LANES_PARTS * apart + i % LANES_PARTS * PAIR * LANES_PART);
}

/* acc[n][i] += factors[n * stride] * vector i. Of factors and vectors the fewer are kept in
 * registers beside acc. */
static LANES_INLINE void multiply_queries(size_t queries, size_t parts, const factor *factors,
                                          size_t stride, const number *from, size_t apart,
                                          products acc[QUERIES][FLIGHT]) {
	if (queries < parts) {
		products by[QUERIES];
		for (size_t n = 0; n < queries; n++) by[n] = load_factor(factors + n * stride);
		for (size_t i = 0; i < parts; i++) {
			const products vector = load_part(from, apart, i);
			for (size_t n = 0; n < queries; n++)
				acc[n][i] = add_product(by[n], vector, acc[n][i]);
		}
		return;
	}
	products vector[FLIGHT];
	for (size_t i = 0; i < parts; i++) vector[i] = load_part(from, apart, i);
	for (size_t n = 0; n < queries; n++) {
		const products by = load_factor(factors + n * stride);
		for (size_t i = 0; i < parts; i++)
			acc[n][i] = add_product(by, vector[i], acc[n][i]);
	}
}

#if defined(ATTENTION_Q8)
static LANES_INLINE lanes_part load_floats(const float *from) {
	lanes_part value;
	memcpy(&value, from, sizeof value);
	return value;
}

/* The scores of a query's products with some keys of these scales. */
static LANES_INLINE lanes_part finish_score(const struct queries *all, size_t query, products sum,
                                            const float *scale) {
	return __builtin_convertvector(sum, lanes_part) *
	       (load_floats(scale) * lanes_part_of(all->scale[query]));
}
#else
static LANES_INLINE lanes_part finish_score(const struct queries *all, size_t query, products sum,
                                            const float *scale) {
	(void)query, (void)scale;
	return sum * lanes_part_of(all->inv_sqrt);
}
#endif

/* The scores of `tiles` tiles of keys that begin at k, the first token being number `at`. */
static LANES_INLINE void score_tiles(size_t queries, size_t tiles, const struct queries *all,
                                     size_t first, size_t at,
                                     const struct attention_segment *segment, size_t tile,
                                     struct ahead *ahead) {
	const size_t parts = tiles * LANES_PARTS, head_size = all->head_size, stride = all->count;
	const number *k = (const number *)segment->k + tile * head_size * LANES;
	const factor *q = all->q + first * PAIR;
	products acc[QUERIES][FLIGHT];
	for (size_t n = 0; n < queries; n++)
		for (size_t i = 0; i < parts; i++) acc[n][i] = (products){0};
	for (size_t d = 0; d < head_size; d += PAIR, q += stride * PAIR) {
		fetch_ahead(ahead);
		multiply_queries(queries, parts, q, PAIR, k + d * LANES, head_size * LANES, acc);
	}
	float *scores = all->scores + first * all->stride + at + tile * LANES;
	for (size_t n = 0; n < queries; n++)
		for (size_t i = 0; i < parts; i++)
			store_part(scores + n * all->stride + i * LANES_PART,
			           finish_score(all, first + n, acc[n][i],
			                        segment->k_scale + tile * LANES + i * LANES_PART));
}

#if defined(ATTENTION_Q8)
/* Makes a tile's weights of its p, in place: first 16 weights of 16 bits, then their scale. */
static void quantise_weights(float *p, const float *v_scale, size_t tokens) {
	float weights[LANES] = {0};
	int16_t weight[LANES];
	if (tokens >= LANES)
		for (size_t t = 0; t < LANES; t++) weights[t] = p[t] * v_scale[t];
	else
		for (size_t t = 0; t < tokens; t++) weights[t] = p[t] * v_scale[t];
	const float scale = quantise_to_16(weights, LANES, weight);
	memcpy(p, weight, sizeof weight);
	memcpy(p + LANES / PAIR, &scale, sizeof scale);
}

/* Adds one segment's values, times their weights, to `parts` vectors of out. Before token 0 out is
 * zero. */
static LANES_INLINE void weigh_values(size_t queries, size_t parts, const struct queries *all,
                                      size_t first, size_t at,
                                      const struct attention_segment *segment, size_t entry,
                                      struct ahead *ahead) {
	const size_t head_size = all->head_size, stride = all->stride;
	const number *v = (const number *)segment->v + entry * PAIR;
	const float *p = all->scores + first * stride + at;
	float *out[QUERIES];
	for (size_t n = 0; n < queries; n++) {
		const size_t query = first + n;
		out[n] = all->rows[query / all->heads].out + query % all->heads * head_size + entry;
	}
	for (size_t t = 0; t < segment->tokens; t += LANES, p += LANES) {
		const factor *weights = (const factor *)(const void *)p;
		products acc[QUERIES][FLIGHT];
		for (size_t n = 0; n < queries; n++)
			for (size_t i = 0; i < parts; i++) acc[n][i] = (products){0};
		for (size_t i = 0; i < LANES; i += PAIR, v += head_size * PAIR) {
			fetch_ahead(ahead);
			multiply_queries(queries, parts, weights + i, stride * PAIR, v,
			                 LANES * PAIR, acc);
		}
		for (size_t n = 0; n < queries; n++) {
			const lanes_part scale = lanes_part_of(p[n * stride + LANES / PAIR]);
			for (size_t i = 0; i < parts; i++) {
				lanes_part before = {0};
				if (at + t) before = load_floats(out[n] + LANES_PART * i);
				store_part(
				    out[n] + LANES_PART * i,
				    lanes_part_fma(__builtin_convertvector(acc[n][i], lanes_part),
				                   scale, before));
			}
		}
	}
}
#else
/* Adds one segment's values, times p, to `parts` vectors of out. Before token 0 out is zero. */
static LANES_INLINE void weigh_values(size_t queries, size_t parts, const struct queries *all,
                                      size_t first, size_t at,
                                      const struct attention_segment *segment, size_t entry,
                                      struct ahead *ahead) {
	const size_t head_size = all->head_size, stride = all->stride;
	const float *p = all->scores + first * stride + at;
	float *out[QUERIES];
	lanes_part acc[QUERIES][FLIGHT];
	for (size_t n = 0; n < queries; n++) {
		const size_t query = first + n;
		out[n] = all->rows[query / all->heads].out + query % all->heads * head_size + entry;
		for (size_t i = 0; i < parts; i++) {
			acc[n][i] = lanes_part_of(0.0f);
			if (at) memcpy(&acc[n][i], out[n] + LANES_PART * i, sizeof acc[n][i]);
		}
	}
	const number *v = (const number *)segment->v + entry;
	for (size_t t = 0; t < segment->tokens; t++, v += head_size) {
		fetch_ahead(ahead);
		multiply_queries(queries, parts, p + t, stride, v, LANES, acc);
	}
	for (size_t n = 0; n < queries; n++)
		for (size_t i = 0; i < parts; i++) store_part(out[n] + LANES_PART * i, acc[n][i]);
}
#endif

/* The scores of one segment, whose first token is number `at`. */
static LANES_INLINE void score_segment(size_t queries, size_t tiles, struct queries *all,
                                       size_t first, size_t at,
                                       const struct attention_segment *segment) {
	const size_t count = (segment->tokens + LANES - 1) / LANES;
	struct ahead ahead =
	    choose_ahead(all, (count / tiles + count % tiles) * all->head_size / PAIR);
	size_t t = 0;
	for (; t + tiles <= count; t += tiles)
		score_tiles(queries, tiles, all, first, at, segment, t, &ahead);
	for (; t < count; t++) score_tiles(queries, 1, all, first, at, segment, t, &ahead);
}

/* Adds one segment's values, times p, to out, tiles * 16 entries of a head at a time. */
static LANES_INLINE void weigh_segment(size_t queries, size_t tiles, struct queries *all,
                                       size_t first, size_t at,
                                       const struct attention_segment *segment) {
	const size_t count = all->head_size / LANES;
	struct ahead ahead = choose_ahead(all, (count / tiles + count % tiles) *
	                                           ((segment->tokens + PAIR - 1) / PAIR));
	size_t i = 0;
	for (; i + tiles <= count; i += tiles)
		weigh_values(queries, tiles * LANES_PARTS, all, first, at, segment, i * LANES,
		             &ahead);
	for (; i < count; i++)
		weigh_values(queries, LANES_PARTS, all, first, at, segment, i * LANES, &ahead);
}

/* CALL(queries, tiles, ...), so that both are constants. */
#define FOR_QUERIES(queries, CALL, ...)                                                            \
	switch (queries) {                                                                         \
	case 1:                                                                                    \
		CALL(1, tiles_of[1], __VA_ARGS__);                                                 \
		break;                                                                             \
	case 2:                                                                                    \
		CALL(2, tiles_of[2], __VA_ARGS__);                                                 \
		break;                                                                             \
	case 3:                                                                                    \
		CALL(3, tiles_of[3], __VA_ARGS__);                                                 \
		break;                                                                             \
	case 4:                                                                                    \
		CALL(4, tiles_of[4], __VA_ARGS__);                                                 \
		break;                                                                             \
	case 5:                                                                                    \
		CALL(5, tiles_of[5], __VA_ARGS__);                                                 \
		break;                                                                             \
	default:                                                                                   \
		CALL(6, tiles_of[6], __VA_ARGS__);                                                 \
	}

/* One segment, for queries `first` to first + count - 1. They are cut into parts of up to 6, which
 * differ by at most one. Example: 8 queries are 4 and 4. */
static void compute_segment(struct queries *all, bool values, size_t first, size_t count, size_t at,
                            const struct attention_segment *segment) {
	const size_t parts = (count + QUERIES - 1) / QUERIES;
	for (size_t part = 0; part < parts; part++) {
		const size_t from = part * count / parts, to = (part + 1) * count / parts;
		if (values) FOR_QUERIES(to - from, weigh_segment, all, first + from, at, segment)
		else FOR_QUERIES(to - from, score_segment, all, first + from, at, segment)
	}
}

/* All of segments[in], for queries `first` to first + count - 1. Its first token is number `at` of
 * the row. Returns the number of the token behind it. */
static size_t compute_segments(struct queries *all, bool values, size_t in, size_t first,
                               size_t count, size_t at) {
	const struct attention_segment *list = all->segments[in].list;
	for (size_t s = 0; s < all->segments[in].count; at += list[s++].tokens) {
		REQUIRE(at % ATTENTION_TILE == 0);
		if (all->lead) all->lead--;
		else step_over(all); // not fetched: it is used now
#if defined(ATTENTION_Q8)
		for (size_t i = first; values && i < first + count; i++)
			for (size_t t = 0; t < list[s].tokens; t += LANES)
				quantise_weights(all->scores + i * all->stride + at + t,
				                 list[s].v_scale + t, list[s].tokens - t);
#endif
		compute_segment(all, values, first, count, at, &list[s]);
	}
	return at;
}

static size_t count_segment_tokens(const struct attention_segment *segments, size_t count) {
	size_t tokens = 0;
	for (size_t s = 0; s < count; s++) tokens += segments[s].tokens;
	return tokens;
}

#if defined(ATTENTION_Q8)
static void take_query(struct queries *all, size_t query, const float *q) {
	int16_t quantised[ATTENTION_MOST_HEAD];
	all->scale[query] = quantise_to_16(q, all->head_size, quantised) * all->inv_sqrt;
	for (size_t d = 0; d < all->head_size; d += PAIR)
		memcpy(all->q + (d * all->count + query * PAIR), quantised + d,
		       PAIR * sizeof *quantised);
}
#else
static void take_query(struct queries *all, size_t query, const float *q) {
	for (size_t d = 0; d < all->head_size; d++) all->q[d * all->count + query] = q[d];
}
#endif

void TIER(attention)(const struct attention_row *rows, size_t row_count, size_t heads,
                     size_t head_size, const struct attention_segment *shared, size_t shared_count,
                     float inv_sqrt, float *scratch) {
	REQUIRE(head_size % LANES == 0 && head_size <= ATTENTION_MOST_HEAD &&
	        heads <= ATTENTION_MOST_HEADS && row_count && row_count <= ATTENTION_MOST_ROWS);
	size_t most = 0;
	for (size_t r = 0; r < row_count; r++) {
		const size_t tokens = count_segment_tokens(rows[r].own, rows[r].own_count);
		REQUIRE(rows[r].unseen < ATTENTION_TILE && tokens > 0);
		most = tokens > most ? tokens : most;
	}
	const size_t stride =
	    (count_segment_tokens(shared, shared_count) + most + LANES - 1) / LANES * LANES;
	struct queries all = {.rows = rows,
	                      .row_count = row_count,
	                      .heads = heads,
	                      .count = row_count * heads,
	                      .head_size = head_size,
	                      .inv_sqrt = inv_sqrt,
	                      .scores = scratch,
	                      .q = (factor *)(scratch + row_count * heads * stride),
	                      .stride = stride,
	                      .segments = {{shared, shared_count}},
	                      .in = shared_count ? 0 : 1};
	for (size_t r = 0; r < row_count; r++)
		all.segments[r + 1] = (struct segments){rows[r].own, rows[r].own_count};
	for (size_t i = 0; i < all.count; i++)
		take_query(&all, i, rows[i / heads].q + i % heads * head_size);
	float z[ATTENTION_MOST_ROWS * ATTENTION_MOST_HEADS];
	const size_t before = compute_segments(&all, false, 0, 0, all.count, 0);
	for (size_t r = 0; r < row_count; r++) {
		const size_t tokens =
		                 compute_segments(&all, false, r + 1, r * heads, heads, before),
		             padded = (tokens + LANES - 1) / LANES * LANES;
		for (size_t i = r * heads; i < (r + 1) * heads; i++) {
			float *scores = all.scores + i * stride;
			for (size_t t = 0; t < rows[r].unseen; t++) scores[t] = -INFINITY;
			for (size_t t = tokens; t < padded; t++) scores[t] = -INFINITY;
			z[i] = lanes_softmax(scores, padded);
		}
	}
	(void)compute_segments(&all, true, 0, 0, all.count, 0);
	for (size_t r = 0; r < row_count; r++) {
		(void)compute_segments(&all, true, r + 1, r * heads, heads, before);
		for (size_t i = r * heads; i < (r + 1) * heads; i++) {
			float *out = rows[r].out + (i - r * heads) * head_size;
			for (size_t d = 0; d < head_size; d += LANES)
				lanes_store(out + d,
				            lanes_div(lanes_load(out + d), lanes_of(z[i])));
		}
	}
}
