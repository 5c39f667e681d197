// SPDX-License-Identifier: Apache-2.0
// histogram.h: how many records each cluster has, with noise, so that the counts may be told.
//
// Counts are drawn once for a run, before a record is placed. The cluster of a record is private;
// noisy counts are public. What they cost is in dp/histogram_account.h; what a run does with them
// is in dp/seats.h.
// Example: scale 9, and clusters 0, 0, 2 and none of four records. The true counts are 2, 0, 1; the
// noisy ones may be 11, -7, 3.
#ifndef CUTTLE_DP_HISTOGRAM_H
#define CUTTLE_DP_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>
#include "dp/entropy.h"
#include "dp/status.h"

#define DP_NO_CLUSTER UINT32_MAX /* of a record that stands nowhere, such as a null one */
#define DP_MOST_CLUSTERS 1024
#define DP_MOST_SCALE (UINT32_C(1) << 20) /* the largest t */

/* noisy[c] = the records of cluster c + noise, by the discrete Laplace law of scale t (dp/noise.h).
 *
 *   cluster  [records] private: numbers below `clusters`, or DP_NO_CLUSTER
 *   clusters 1 .. DP_MOST_CLUSTERS        t  1 .. DP_MOST_SCALE
 *   noisy    [clusters]
 *
 * All noise is drawn before the first record is looked at. So whether there are bits, how many are
 * taken and how long that takes has nothing to do with the records. Which counter a record's number
 * reaches shows in the addresses, as places do. The counts may be given out once: to draw twice for
 * the same records costs twice.
 * Privacy: where one record becomes null, and so of no cluster, one count falls by one; the loss is
 * 1/t or -1/t, and nothing else (dp/PRIVACY.md, step 40).
 * DP_NO_ENTROPY: nothing was drawn; noisy is zero throughout. */
enum dp_status dp_histogram(const uint32_t *cluster, size_t records, uint32_t clusters, uint32_t t,
                            const struct dp_random *random, int64_t *noisy);

#endif
