// SPDX-License-Identifier: Apache-2.0
// fusion_account.h: what DP-Fusion promises, in numbers, and which divergence an epsilon allows.
//
// All numbers are public: no private data passes through.
// Example: 900 tokens, order 2, c = 0.01, 8 groups, delta 1e-3.
//   loss    = dp_fusion_loss(2, &c, 1, 8);                  0.0012555 per token, of one group
//   epsilon = dp_fusion_epsilon(loss, 900, 2, 1e-3);        6.6514
// Rules: 2 <= order <= 16, tokens >= 1; divergences and epsilon are positive, finite and not
// subnormal, and (order - 1) divergence <= 700; delta lies in (0, 1). Anything else is a caller
// bug.
// Rounding: what is promised goes up, what is allowed goes down, by a few units of the last place.
#ifndef CUTTLE_DP_FUSION_ACCOUNT_H
#define CUTTLE_DP_FUSION_ACCOUNT_H

#include <stdint.h>
#include "dp/fusion.h"
#include "dp/status.h"

/* Neighbours: the marks of some groups are blank in one world, and everything else is equal. A loss
 * is a bound of D_order, either way round, of the laws of one token (dp/PRIVACY.md, step 24). */

/* Theorem F1: the loss per token of blanking `blanked` of the `places` groups together, whose
 * divergences are divergences[blanked]:
 *
 *   ln(1 + (1/places) sum of (e^((order-1) c_i) - 1)) / (order - 1)
 *
 * 1 <= blanked <= places. All groups at the same c cost c. Where one row shows every mark, places
 * is 1. */
double dp_fusion_loss(unsigned order, const double *divergences, uint32_t blanked, uint32_t places);

/* Theorem F3, with DP_FUSION_CAPPED: the loss at order 2, per token, of blanking `blanked` >= 1
 * groups together, where one alone costs `divergence`: ln(1 + blanked^2 (e^divergence - 1)). */
double dp_fusion_capped_loss(double divergence, uint32_t blanked);

/* epsilon of blanking, at delta, of `tokens` tokens of this loss: their losses add up, and
 * dp_rdp_epsilon_at (dp/rdp.h) converts the sum. */
double dp_fusion_epsilon(double loss, uint32_t tokens, unsigned order, double delta);

/* epsilon of exchanging the contents for others, where blanking them costs `loss` per token: two
 * blankings by the triangle inequality of Renyi divergences (Mironov 2017, Proposition 11), at the
 * best split:
 *
 *   order alpha^2 / (2 alpha - 1), loss times (2 alpha - 1) / (alpha - 1)
 *
 * Example: alpha 2 gives order 4/3 and factor 3. */
double dp_fusion_epsilon_exchange(double loss, uint32_t tokens, unsigned order, double delta);

/* A ceiling of the chance to guess which of `values` >= 2 equally likely values a group has, from
 * the output and everything else, where blanking it costs `loss` per token. The smaller of
 *
 *   (e^(tokens loss) / values)^((order-1)/order)   and   e^epsilon / values + delta,
 *
 * at most 1; 1 means that there is none (dp/PRIVACY.md, step 28). */
double dp_fusion_ceiling(double loss, uint32_t tokens, unsigned order, double delta,
                         uint32_t values);

/* The least divergence that is planned, in nats per token: less cannot be told from nothing. */
#define DP_FUSION_LEAST 1e-30

/* dp_fusion_epsilon of blanking one group. With DP_FUSION_BOUNDED there are `places` >= 1 groups,
 * and c is its divergence. With DP_FUSION_CAPPED the order is 2, and places changes nothing. */
double dp_fusion_epsilon_of_one(enum dp_fusion_rule rule, double divergence, double delta,
                                uint32_t tokens, uint32_t places, unsigned order);

/* The largest c, from DP_FUSION_LEAST to what a share takes, whose dp_fusion_epsilon_of_one is at
 * most epsilon. 0: no c is. */
double dp_fusion_divergence(enum dp_fusion_rule rule, double epsilon, double delta, uint32_t tokens,
                            uint32_t places, unsigned order);

struct dp_fusion_plan {
	unsigned order;    /* alpha */
	double divergence; /* c, nats per token */
};

/* For DP_FUSION_BOUNDED: of the orders 2 .. 16, the one of the largest c / alpha, where c is that
 * of dp_fusion_divergence. DP_BAD_PARAMETER: no order allows any; *plan is then unchanged. */
enum dp_status dp_fusion_plan_bounded(double epsilon, double delta, uint32_t tokens,
                                      uint32_t places, struct dp_fusion_plan *plan);

#endif
