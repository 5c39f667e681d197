// SPDX-License-Identifier: Apache-2.0
// Spherical k-means: see centres.h. Every product fits. A feature and a centre have lengths of
// about 2^15, so their product is about 2^30. A sum of 2^15 features has a length of about 2^30,
// and its square is about 2^60.
#include "topics/centres.h"

#include "base/misuse.h"
#include "io/disk/fail.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* One run of k-means. */
struct centring {
	const struct text_feature *points; /* [size] */
	size_t size;
	struct centres *centres; /* as they are now */
	uint32_t *clusters;      /* [size] the cluster of each point */
	uint32_t *before;        /* [size] the same, a round ago */
	int64_t *best;           /* [size] the product of each point with its centre */
	size_t *members;         /* [k] points of each cluster */
	int64_t *sums;           /* [width][k] */
	uint64_t *squares;       /* [k] */
	uint64_t stream;         /* state of splitmix64 */
};

/* The next random number (Steele, Lea and Flood 2014). */
static uint64_t next_number(uint64_t *stream) {
	uint64_t x = *stream += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* products [k] of the feature with all centres. */
static void multiply_feature(const struct centres *centres, const struct text_feature *feature,
                             int64_t *products) {
	const size_t k = centres->count;
	memset(products, 0, k * sizeof *products);
	for (size_t e = 0; e < feature->count; e++) {
		const int32_t *row = centres->rows + feature->at[e] * k;
		const int64_t value = feature->value[e];
		for (size_t j = 0; j < k; j++) products[j] += value * row[j];
	}
}

static size_t find_greatest(const int64_t *products, size_t count) {
	size_t best = 0;
	for (size_t j = 1; j < count; j++)
		if (products[j] > products[best]) best = j;
	return best;
}

uint32_t centres_nearest(const struct centres *centres, const struct text_feature *feature) {
	int64_t products[CENTRES_MOST];
	if (!feature->count) return CENTRES_NONE;
	multiply_feature(centres, feature, products);
	const size_t nearest = find_greatest(products, centres->count);
	sodium_memzero(products, centres->count * sizeof *products);
	return (uint32_t)nearest;
}

/* Centre j becomes the point. */
static void put_centre(struct centres *centres, size_t j, const struct text_feature *point) {
	for (size_t i = 0; i < centres->width; i++) centres->rows[i * centres->count + j] = 0;
	for (size_t e = 0; e < point->count; e++)
		centres->rows[point->at[e] * centres->count + j] = point->value[e];
}

/* How far a point is from the nearest centre so far: 1 - its cosine, times 2^30. */
static uint64_t distance_of(int64_t best) {
	const int64_t one = (int64_t)FEATURE_ONE * FEATURE_ONE;
	return best < one ? (uint64_t)(one - best) : 0;
}

static void choose_starts(struct centring *c) {
	const size_t k = c->centres->count;
	int64_t products[CENTRES_MOST];
	size_t chosen = next_number(&c->stream) % c->size;
	memset(c->centres->rows, 0, c->centres->width * k * sizeof *c->centres->rows);
	for (size_t i = 0; i < c->size; i++) c->best[i] = INT64_MIN;
	for (size_t j = 0;; j++) {
		put_centre(c->centres, j, &c->points[chosen]);
		if (j + 1 == k) return;
		uint64_t sum = 0;
		for (size_t i = 0; i < c->size; i++) {
			multiply_feature(c->centres, &c->points[i], products);
			if (products[j] > c->best[i]) c->best[i] = products[j];
			sum += distance_of(c->best[i]);
		}
		// Where all points stand on centres already, the last one is taken again.
		uint64_t rest = sum ? next_number(&c->stream) % sum : 0;
		for (chosen = 0; chosen + 1 < c->size; chosen++) {
			const uint64_t distance = distance_of(c->best[chosen]);
			if (rest < distance) break;
			rest -= distance;
		}
	}
}

/* Each point goes to its nearest centre. Returns the sum of the products with them. */
static int64_t assign_points(struct centring *c) {
	const size_t k = c->centres->count;
	int64_t products[CENTRES_MOST], sum = 0;
	memset(c->members, 0, k * sizeof *c->members);
	for (size_t i = 0; i < c->size; i++) {
		multiply_feature(c->centres, &c->points[i], products);
		const size_t nearest = find_greatest(products, k);
		c->clusters[i] = (uint32_t)nearest;
		c->best[i] = products[nearest];
		c->members[nearest]++;
		sum += products[nearest];
	}
	return sum;
}

/* Each empty cluster gets the point that is farthest from its centre, of equals the first, and that
 * is not alone. There are more points than centres, so there is one. */
static void fill_empty(struct centring *c) {
	for (size_t j = 0; j < c->centres->count; j++) {
		if (c->members[j]) continue;
		size_t farthest = c->size;
		for (size_t i = 0; i < c->size; i++)
			if (c->members[c->clusters[i]] > 1 &&
			    (farthest == c->size || c->best[i] < c->best[farthest]))
				farthest = i;
		c->members[c->clusters[farthest]]--;
		c->clusters[farthest] = (uint32_t)j;
		c->members[j] = 1;
	}
}

/* Each centre becomes the direction of its cluster's sum. */
static void turn_centres(struct centring *c) {
	const size_t k = c->centres->count, width = c->centres->width;
	memset(c->sums, 0, width * k * sizeof *c->sums);
	memset(c->squares, 0, k * sizeof *c->squares);
	for (size_t i = 0; i < c->size; i++) {
		const struct text_feature *point = &c->points[i];
		for (size_t e = 0; e < point->count; e++)
			c->sums[point->at[e] * k + c->clusters[i]] += point->value[e];
	}
	for (size_t i = 0; i < width; i++)
		for (size_t j = 0; j < k; j++)
			c->squares[j] += (uint64_t)(c->sums[i * k + j] * c->sums[i * k + j]);
	for (size_t j = 0; j < k; j++) c->squares[j] = feature_root(c->squares[j]);
	for (size_t i = 0; i < width; i++)
		for (size_t j = 0; j < k; j++)
			c->centres->rows[i * k + j] =
			    c->squares[j] ? (int32_t)(c->sums[i * k + j] * FEATURE_ONE /
			                              (int64_t)c->squares[j])
			                  : 0;
}

/* One start and its rounds. Returns the sum of the products. */
static int64_t centre_once(struct centring *c) {
	choose_starts(c);
	memset(c->before, 0xff, c->size * sizeof *c->before);
	for (int round = 0; round < CENTRES_ROUNDS; round++) {
		(void)assign_points(c);
		fill_empty(c);
		// What does not change now never changes again.
		if (!memcmp(c->before, c->clusters, c->size * sizeof *c->before)) break;
		memcpy(c->before, c->clusters, c->size * sizeof *c->before);
		turn_centres(c);
	}
	return assign_points(c);
}

static void free_centring(struct centring *c) {
	free(c->clusters);
	free(c->before);
	free(c->best);
	free(c->members);
	free(c->sums);
	free(c->squares);
}

enum cuttle_status centres_make(const struct text_feature *points, size_t size, size_t count,
                                size_t width, struct centres *centres, uint32_t *clusters,
                                struct cuttle_error *error) {
	REQUIRE(count >= 2 && count <= CENTRES_MOST && size > count && size <= CENTRES_POINTS);
	const size_t cells = width * count;
	struct centres now = {count, width, calloc(cells, sizeof *now.rows)};
	struct centring c = {.points = points,
	                     .size = size,
	                     .centres = &now,
	                     .clusters = calloc(size, sizeof *c.clusters),
	                     .before = calloc(size, sizeof *c.before),
	                     .best = calloc(size, sizeof *c.best),
	                     .members = calloc(count, sizeof *c.members),
	                     .sums = calloc(cells, sizeof *c.sums),
	                     .squares = calloc(count, sizeof *c.squares)};
	*centres = (struct centres){count, width, calloc(cells, sizeof *centres->rows)};
	const bool made = now.rows && c.clusters && c.before && c.best && c.members && c.sums &&
	                  c.squares && centres->rows;
	int64_t greatest = INT64_MIN;
	for (int start = 0; made && start < CENTRES_STARTS; start++) {
		const int64_t sum = centre_once(&c);
		if (sum <= greatest) continue;
		greatest = sum;
		memcpy(centres->rows, now.rows, cells * sizeof *now.rows);
		if (clusters) memcpy(clusters, c.clusters, size * sizeof *clusters);
	}
	free(now.rows);
	free_centring(&c);
	if (made) return CUTTLE_OK;
	centres_free(centres);
	return io_fail(error, CUTTLE_NOMEM, "out of memory for %zu clusters", count);
}

void centres_free(struct centres *centres) {
	free(centres->rows);
	*centres = (struct centres){0};
}
