// SPDX-License-Identifier: Apache-2.0
// histogram.h: clusters of records that stay private: noisy counts of them, batches and texts by
// these counts, and what that does to a guarantee.
// Clusters may be categories that nobody declared public. A plan takes a struct cuttle_histogram
// beside its lots.
// Private data: the cluster of each record goes into cuttle_histogram_count. All else is public.
// How: a plan is made for the counts before they are known. Then they are drawn, once, and kept;
// cuttle_histogram_deal says how many batches and texts each cluster has. A record's lot is drawn
// among the batches of its own cluster.
#ifndef CUTTLE_HISTOGRAM_H
#define CUTTLE_HISTOGRAM_H

#include "budget.h"
#include "lots.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUTTLE_NO_CLUSTER UINT32_MAX /* of a record that no text is written from, as a null one */
#define CUTTLE_MOST_CLUSTERS 1024

/* How the counts of a run are drawn and paid for. */
struct cuttle_histogram {
	uint32_t scale;    /* t: of their noise; one record moves them by a loss of 1/t */
	uint32_t clusters; /* k, 1 .. CUTTLE_MOST_CLUSTERS */
	uint32_t texts;    /* N, at least 1; with a token bank batches */
};

/* The histogram of a run of this epsilon, and the one entry of lots that its plan takes: `records`,
 * the batches that they make, and how many of these a run may use: its texts, and room for half a
 * text of each cluster. No cluster uses a larger share of its batches.
 * Example: epsilon 3, 4 clusters, 10 texts, 1500 records, B = 15: t = 9, and 12 of 100 batches.
 * USAGE: a number is out of range; epsilon is not given or so small that t would be above 2^20. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_histogram_make(double epsilon, uint32_t clusters, uint64_t texts, uint64_t records,
                      uint32_t batch, struct cuttle_histogram *histogram, struct cuttle_lots *lots,
                      struct cuttle_error *error);

/* Draws noisy[clusters], the records of each cluster and noise (dp/histogram.h). cluster[records]
 * has numbers below `clusters`, or CUTTLE_NO_CLUSTER. seed NULL: random bits of the system; else
 * NOT PRIVATE. The counts are public, but only once: a caller keeps them before they are used.
 * INTERNAL: there are no random bits; nothing was drawn. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_histogram_count(const struct cuttle_histogram *histogram, const uint32_t *cluster,
                       size_t records, const uint64_t *seed, int64_t *noisy,
                       struct cuttle_error *error);

/* Deals out the texts by noisy counts: of cluster c, clusters[c].batches is how many batches its
 * lots have, 0 where the count is mostly noise, and clusters[c].used how many texts are written.
 * Batches have `batch` records on average, or fewer in all clusters where else texts would lack.
 * clusters[c].records is its noisy count, or 0. `lots` and `batch` as for the plan. Returns the sum
 * of `used`: all texts, or fewer. */
CUTTLE_API uint64_t cuttle_histogram_deal(const struct cuttle_histogram *histogram,
                                          const struct cuttle_lots *lots, uint32_t batch,
                                          const int64_t *noisy, struct cuttle_lots *clusters);

/* The rows that a batch may have, whatever the counts will be (dp/seats.h). epsilon and delta are
 * the run's. USAGE: a number is out of range. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_histogram_rows(const struct cuttle_histogram *histogram, uint32_t batch, double epsilon,
                      double delta, uint32_t *rows, struct cuttle_error *error);

/* What a run with this histogram and lots guarantees: from clip, batch, tokens, temperature, delta
 * and accountant, rho and epsilon of the budget. rho has 1 / (2 t^2) for the counts, epsilon is
 * that of the two-point formula, and delta the run's. With `known` both are about who knows a
 * record's batch, at the delta that cuttle_lots_delta gives for it. USAGE: as cuttle_budget_solve.
 * NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_histogram_solve(const struct cuttle_histogram *histogram, const struct cuttle_lots *lots,
                       bool known, struct cuttle_budget *budget, struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
