// SPDX-License-Identifier: Apache-2.0
// centres.h: the middles of groups of public features, and which of them a feature is nearest to.
//
// centres_make sees public features alone; centres_nearest also sees those of private texts, and
// wipes what it computes of them.
//
// Spherical k-means (Dhillon and Modha 2001) in integers, so the same on every machine. Ten starts.
// Each takes its first centre at random among the features. It takes each further one in proportion
// to 1 - its best cosine so far (after Arthur and Vassilvitskii 2007). Then 25 rounds. Every
// feature goes to the nearest centre, of equals the one with the lower number. Every centre becomes
// 2^15 times the direction of its features' sum, rounded towards zero. A cluster that has lost all
// features gets the one that is farthest from its own centre. The start with the largest sum of
// best products is kept, of equals the first. Random numbers are those of splitmix64, begun at 0.
#ifndef CUTTLE_TOPICS_CENTRES_H
#define CUTTLE_TOPICS_CENTRES_H

#include "engine/cuttle/status.h"
#include "topics/feature.h"

#define CENTRES_NONE UINT32_MAX /* the number of no centre */
enum {
	CENTRES_MOST = 1024,      /* centres */
	CENTRES_POINTS = 1 << 15, /* features that they are made from */
	CENTRES_STARTS = 10,
	CENTRES_ROUNDS = 25
};

struct centres {
	size_t count;  /* k, 2 .. CENTRES_MOST */
	size_t width;  /* dimensions, at most 65536 */
	int32_t *rows; /* [width][k]; a dimension's entries stand side by side */
};

/* Makes `count` centres of points[size], which has more than `count`, at most CENTRES_POINTS. Each
 * has an entry. *clusters, if not NULL, gets the cluster of each point [size]. centres_free frees
 * both of *centres. NOMEM. */
enum cuttle_status centres_make(const struct text_feature *points, size_t size, size_t count,
                                size_t width, struct centres *centres, uint32_t *clusters,
                                struct cuttle_error *error);
void centres_free(struct centres *centres);

/* The number of the nearest centre, by the product; of equals the lowest. CENTRES_NONE: the feature
 * has no entry. */
uint32_t centres_nearest(const struct centres *centres, const struct text_feature *feature);

#endif
