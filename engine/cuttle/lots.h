// SPDX-License-Identifier: Apache-2.0
// lots.h: secret lots: a run that uses some of its batches, and what that does to its guarantee.
// They are for runs that have more records than their texts need. A plan takes struct cuttle_lots.
// No private data: all numbers are public. Lots themselves are drawn by the caller, in secret.
// Example: 15000 records and B = 15 are 1000 batches. 100 texts use 100 of them: q = 0.1. A run of
// epsilon 1 may then spend epsilon 2.9 on each batch, and its clip is 2.9 times as large.
// What the caller must do: give each record one of the M batches by a random number that nobody
// else ever sees, independent of all records; write texts from the first m batches alone; use no
// lots twice. A batch then has a random number of records, which is private, too.
#ifndef CUTTLE_LOTS_H
#define CUTTLE_LOTS_H

#include "status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cuttle_plan_params; /* plan.h */

/* The lots of one cluster: records whose lots are drawn among the same batches. */
struct cuttle_lots {
	uint64_t records; /* unreadable ones, too; at most 2^40. With shots: rows of records */
	uint64_t batches; /* M, 1 .. records; records / B rounded up gives B of them a batch */
	uint64_t used;    /* m, 0 .. M: texts, or batches with a token bank */
};

/* What becomes of (epsilon, delta) where `used` of `batches` are used, so q is their ratio:
 *
 *   epsilon of the run = ln(1 + q (e^epsilon - 1))        delta of the run = q delta
 *
 * From a batch to the run, rounded up; with `inverse` from the run to a batch, rounded down. As in
 * a plan, q is 2^-40 of it more. epsilon is about a batch by any accountant.
 * USAGE: a number is out of range, or a batch's delta would be 1 or more. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_amplify(uint64_t used, uint64_t batches,
                                                            bool inverse, double *epsilon,
                                                            double *delta,
                                                            struct cuttle_error *error);

/* The same as a plan does it, for any number of clusters: q is the largest share of batches that a
 * cluster uses. cuttle_lots_delta: a batch's delta where the run has this one, less what the cap of
 * rows takes; and delta against who knows a record's batch. cuttle_lots_epsilon: from a batch to
 * the run. USAGE: a number is out of range. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_lots_delta(const struct cuttle_lots *lots,
                                                               size_t count, double delta,
                                                               double *batch_delta, double *known,
                                                               struct cuttle_error *error);
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_lots_epsilon(const struct cuttle_lots *lots,
                                                                 size_t count, double batch_epsilon,
                                                                 double *epsilon,
                                                                 struct cuttle_error *error);

/* The rows that a batch with these lots may have, at most: more are dropped, as a run of that
 * epsilon and delta can pay for. At 15 rows on average it is about 56. USAGE: a number is out of
 * range. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_lots_rows(const struct cuttle_lots *lots,
                                                              size_t count, double epsilon,
                                                              double delta, uint32_t *rows,
                                                              struct cuttle_error *error);

/* Whether lots are worth it for a plan of these params: they use at most half of the batches, and
 * the clip grows by a tenth or more. False where the clip is given. USAGE, NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_lots_pay(const struct cuttle_plan_params *params, bool *pay, struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
