// SPDX-License-Identifier: Apache-2.0
// histogram_account.h: what a run costs that counts its clusters (dp/histogram.h) before it draws,
// and which clip it may have.
//
// All numbers are public: no private data passes through.
// Example: noise of scale 9 and 100 tokens of eta 0.128 in each of 100 batches, all used, cost
// epsilon 3 at delta 1e-6. Without the histogram eta might be 0.130: the counts cost 1.4 % of the
// clip. To add 1/9 to epsilon would cost 3.4 %.
// Rules: epsilon is positive, finite and not subnormal; delta likewise, and below 1. Each answer is
// rounded to the safe side: what is promised goes up, a clip goes down.
#ifndef CUTTLE_DP_HISTOGRAM_ACCOUNT_H
#define CUTTLE_DP_HISTOGRAM_ACCOUNT_H

#include <stdint.h>
#include "dp/account.h"

/* The two-point formula. Let the counts' loss be 1/t or -1/t, and let all that follows have, for
 * each outcome of the counts, a delta of at most profile(e) at every e > 0, in both directions.
 * Then all together has, at each epsilon > 1/t,
 *
 *   delta(epsilon) <= p profile(epsilon - 1/t) + (1 - p) profile(epsilon + 1/t)
 *   p = 1 / (1 + exp(-1/t))
 *
 * Source: dp/PRIVACY.md, step 40, which also says why it needs one profile for all outcomes. */

/* An upper bound of delta at epsilon > 0, that never rises with epsilon. */
typedef double dp_profile(const void *user, double epsilon);

/* The formula, rounded up; at most 1. DP_BAD_PARAMETER: epsilon is not above 1/t. t >= 1. */
enum dp_status dp_two_point(uint32_t t, dp_profile *profile, const void *user, double epsilon,
                            double *delta);

/* The scale t = max(5, ceil(25 / epsilon)) for a run of this epsilon: the counts' own loss is then
 * at most a twenty-fifth of it. DP_BAD_PARAMETER: it would be above DP_MOST_SCALE. */
enum dp_status dp_histogram_scale(double epsilon, uint32_t *t);

/* What the counts alone cost in zCDP: 1 / (2 t^2), rounded up (Bun & Steinke 2016, Prop. 1.4). */
double dp_histogram_rho(uint32_t t);

/* How a run with counts is paid for. */
struct dp_histogram_terms {
	enum dp_accountant accountant; /* whose delta(epsilon) of a batch is the profile */
	unsigned grid;                 /* of DP_EXACT (dp/exact.h); 0 = its default */
	long double q;                 /* dp_lots_ratio: the largest share of a cluster's batches
	                                * that is used, fixed before the counts; 1 = all */
	uint32_t t;                    /* scale of the counts' noise */
};

/* delta of the run at epsilon, and epsilon at delta, from a batch's claim of bounded range; rounded
 * up. The epsilon is always above 1/t. DP_BAD_PARAMETER: epsilon is not above 1/t, delta / q is not
 * below 1, or beyond the limits of dp/exact.h. DP_NO_MEMORY. */
enum dp_status dp_histogram_delta(const struct dp_histogram_terms *terms,
                                  const struct dp_claim *claim, double epsilon, double *delta);
enum dp_status dp_histogram_epsilon(const struct dp_histogram_terms *terms,
                                    const struct dp_claim *claim, double delta, double *epsilon);

/* Lowers integers->clip_fixed until the run's delta at epsilon is at most `delta`, and by
 * about one part in 10^5, or by one, more than needed at most. The integers come from dp_calibrate
 * for what a batch of the run may cost (dp_batch_epsilon, dp_batch_delta): then they are only a
 * little too large. DP_BAD_PARAMETER also where the weights hold no such clip. On failure they are
 * unchanged. */
enum dp_status dp_histogram_lower(const struct dp_histogram_terms *terms, double epsilon,
                                  double delta, struct dp_integers *integers);

#endif
