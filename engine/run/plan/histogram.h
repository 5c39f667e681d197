// SPDX-License-Identifier: Apache-2.0
// histogram.h: what a plan with private clusters asks: its accounts and its clip.
// No private data: all numbers are public. dp/histogram_account.h has the formulas.
#ifndef CUTTLE_ENGINE_RUN_PLAN_HISTOGRAM_H
#define CUTTLE_ENGINE_RUN_PLAN_HISTOGRAM_H

#include "dp/histogram_account.h"
#include "engine/cuttle/histogram.h"

/* USAGE: a number of the histogram is out of range. */
enum cuttle_status histogram_check(const struct cuttle_histogram *histogram,
                                   struct cuttle_error *error);

/* epsilon of a run at delta from a batch's claim. ratio is lots_ratio's; 1 for who knows a record's
 * batch. USAGE: it is beyond the exact accountant's limits. NOMEM. */
enum cuttle_status histogram_epsilon(const struct cuttle_histogram *histogram, long double ratio,
                                     enum dp_accountant accountant, const struct dp_claim *claim,
                                     double delta, double *epsilon, struct cuttle_error *error);

/* rho of the batches and of the counts, rounded up. */
double histogram_rho(const struct cuttle_histogram *histogram, double rho);

/* Lowers the clip of integers that were calibrated without the counts. USAGE: epsilon is not above
 * what the counts alone cost, or there is no such clip. NOMEM. */
enum cuttle_status histogram_lower(const struct cuttle_histogram *histogram, long double ratio,
                                   enum dp_accountant accountant, double epsilon, double delta,
                                   struct dp_integers *integers, struct cuttle_error *error);

#endif
