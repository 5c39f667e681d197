// SPDX-License-Identifier: Apache-2.0
// seats.h: how many batches each cluster has, and how many of them a text is written from: from
// noisy counts and public numbers, by fractions of integers.
//
// Noisy counts are public (dp/histogram.h), so all numbers here are: no private data passes
// through.
//   Before the counts: dp_seats_share; q* goes into the clip. With the counts: dp_seats_batches for
//   each cluster, dp_seats_deal, dp_seats_cap.
// Example: B = 15 and t = 9. Noisy counts 17, 18, 157, 158 give 0, 1, 10, 11 batches, and 0, 2, 11,
// 11 where they are rounded up. Of 60, 25, 10 and 5 batches, 20 texts take 12, 5, 2 and 1.
#ifndef CUTTLE_DP_SEATS_H
#define CUTTLE_DP_SEATS_H

#include <stdbool.h>
#include <stdint.h>
#include "dp/status.h"

/* A share of a cluster's batches, as a fraction: 0 < num <= den. */
struct dp_share {
	uint64_t num;
	uint64_t den;
};

/* q* = min(1, (N + ceil(k/2)) / ceil(R/B)): no cluster may use a larger share of its batches. It
 * knows no counts: if it followed from them, the accounts of the run would, too, and then its cost
 * is another (dp/PRIVACY.md, step 40). texts = N, clusters = k, batch = B, all at least 1; N and R
 * at most 2^40. R = records, null ones counted. The fraction is not reduced: den is ceil(R/B),
 * or 1 where that is 0. */
struct dp_share dp_seats_share(uint64_t texts, uint32_t clusters, uint64_t records, uint32_t batch);

/* M of a cluster: noisy / B where noisy >= max(B, 2t), else 0. A cluster with less could well be
 * empty. Rounded to the nearest, halves up, a batch has B records on average; rounded `up` it has
 * fewer, and there are more batches. */
uint64_t dp_seats_batches(int64_t noisy, uint32_t batch, uint32_t t, bool up);

/* The largest noisy count that gives so many batches, however it is rounded: B = 15, 10 batches:
 * 157. batches is 1 .. 2^31. */
uint64_t dp_seats_records(uint64_t batches, uint32_t batch);

/* Deals out the texts: used[c] = how many of the batches[c] of cluster c are used. Of all fractions
 * j / batches[c], 1 <= j <= batches[c], that are at most `most`, the N smallest are taken, the
 * lower cluster first where two are equal. So used[c] / batches[c] is at most `most`. Returns the
 * sum of used, which is N or less. Both arrays have an element for each cluster; batches and the
 * terms of `most` are at most 2^62. */
uint64_t dp_seats_deal(const uint64_t *batches, uint32_t clusters, uint64_t texts,
                       struct dp_share most, uint64_t *used);

/* The cap of rows of any batch (dp/amplify.h). The true count of cluster c may be above noisy[c] by
 * x, with a chance of at most k exp(-(x+1)/t) for any of the k clusters. So the cap is made for
 * (noisy[c] + x) / batches[c] rows on average; half of the chance that it allows is for x, half for
 * lots. t as for the counts; epsilon and delta are the run's, as for dp_rows_cap, whose errors
 * come. DP_BAD_PARAMETER also where no cluster has batches. DP_NO_MEMORY.
 * Example: 10 clusters, each of 150 in 10 batches, all used, t 9, epsilon 3, delta 1e-6: 113. */
enum dp_status dp_seats_cap(const int64_t *noisy, const uint64_t *batches, const uint64_t *used,
                            uint32_t clusters, uint32_t t, double epsilon, double delta,
                            uint32_t *cap);

#endif
