// SPDX-License-Identifier: Apache-2.0
// amplify.h: what secret lots change in the accounts. Where a run uses m of M batches, and each
// record stands in one of the M by a lot that nobody sees, the run costs less than a batch does.
//
// All numbers are public: no private data passes through. Example: 100 of 1000 batches, epsilon 1
// for the run. Then a batch may cost 2.9005:
//   q = dp_lots_ratio(100, 1000);  epsilon = dp_batch_epsilon(1.0, q);
// Rules: epsilon is positive, finite and not subnormal; delta likewise, and below 1; 0 < q <= 1.
#ifndef CUTTLE_DP_AMPLIFY_H
#define CUTTLE_DP_AMPLIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "dp/account.h"

/* The formulas. Source: dp/PRIVACY.md, step 39.
 *
 *   epsilon_run = ln(1 + q (e^epsilon_batch - 1))         delta_run = q delta_batch
 *
 * They hold for any accountant, in both directions, against whoever does not know the record's own
 * lot. Rounding is always to the safe side: what a run may cost and what a batch may cost go apart.
 * Each answer is off by at most a unit of its last place. */

/* q = used / batches, and 2^-40 of it more: lots are a hash modulo `batches`, whose odds differ
 * from equal ones by less than 2^-64. At most 1. 1 <= used <= batches. */
long double dp_lots_ratio(uint64_t used, uint64_t batches);

/* The run's epsilon, rounded up, and a batch's, rounded down. With q = 1 both are what they were
 * given. */
double dp_run_epsilon(double epsilon_batch, long double q);
double dp_batch_epsilon(double epsilon_run, long double q);

/* The run's delta, rounded up, and a batch's, rounded down. The latter may be 1 or more: then there
 * is no such batch. */
double dp_run_delta(double delta_batch, long double q);
double dp_batch_delta(double delta_run, long double q);

/* delta of the run against whoever knows the record's own lot, the cap of rows included (below):
 * delta / q, rounded up. */
double dp_known_delta(double delta_run, long double q);

/* ---- how many rows a batch has --------------------------------------------------------------- */

/* The lots of one cluster: records whose lots are drawn among the same batches. Without clusters
 * there is one. */
struct dp_lots {
	uint64_t records; /* R, null ones counted */
	uint64_t batches; /* M >= 1 */
	uint64_t used;    /* m <= M: a text is written from each of these */
};

/* By lots a batch has Binomial(R, 1/M) rows, which is private. So room is made for a public number,
 * the cap, and rows beyond it are dropped. The chance of that, for any used batch, is at most
 *
 *   p = sum over clusters of m exp(-mu (u ln u - u + 1)),   mu = R / M,   u = (cap + 1) / mu
 *
 * (Chernoff), and it costs (1 + e^epsilon) p of the run's delta. dp_rows_cap finds the least cap
 * for which that is at most 2^-20 of delta. DP_BAD_PARAMETER: it is above 2^20.
 * Example: 1500 records, 100 batches, all used, epsilon 1, delta 1e-6: 56. */
enum dp_status dp_rows_cap(const struct dp_lots *lots, size_t count, double epsilon, double delta,
                           uint32_t *cap);

/* What the cap leaves of the run's delta for its batches: delta (1 - 2^-20), rounded down. */
double dp_rows_delta(double delta);

/* Decides for --lots auto: whether q is at most 1/2 and the clip grows by a tenth or more. It reads
 * batch, tokens, temperature and gain of the integers. The clip is the weights' largest where that
 * is less. Statuses as dp_budget_solve, whose *reason it gives. */
enum dp_status dp_lots_pay(const struct dp_integers *integers, enum dp_accountant accountant,
                           double epsilon, double delta, long double q, bool *pay,
                           const char **reason);

#endif
