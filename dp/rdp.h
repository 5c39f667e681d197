// SPDX-License-Identifier: Apache-2.0
// rdp.h: Renyi differential privacy (Mironov 2017, arXiv 1702.07476), for mechanisms that zCDP
// describes badly or not at all.
//
// All numbers are public: no private data passes through.
// Example: 500 Gaussian steps with noise of 20 times the sensitivity, at delta 1e-6.
//   struct dp_rdp_event noise = {.kind = DP_RDP_GAUSSIAN, .count = 500, .size = 1.0 / 20};
//   epsilon = dp_rdp_epsilon(&noise, 1, 1e-6, NULL);
// Rules: sizes are positive, finite and not subnormal. Counts are at least 1. delta lies in (0, 1)
// and is not subnormal. 1 < alpha <= DP_RDP_ORDER. Anything else is a caller bug.
#ifndef CUTTLE_DP_RDP_H
#define CUTTLE_DP_RDP_H

#include <stddef.h>
#include <stdint.h>

/* The loss of a mechanism at an order alpha > 1 is a bound of the Renyi divergence
 * D_alpha(P || P') of neighbours, either way round. Losses at one order add up, also when each step
 * depends on earlier outcomes (Mironov 2017, Proposition 1). From a loss to (epsilon, delta):
 * Canonne, Kamath & Steinke 2020 (arXiv 2004.00010), Proposition 12,
 *
 *   epsilon = loss + ln(1 - 1/alpha) - ln(alpha delta) / (alpha - 1)
 *
 * All answers are rounded up, by a few units of the last place plus 1e-16 of the largest term. Each
 * step of BOUNDED_RANGE adds up to 4e-18 / (alpha - 1), as long as it stays under alpha eta^2 / 8.
 * There is no amplification by sampling: every step sees every record. */

#define DP_RDP_ORDER 0x1p40 /* the largest order that is computed */

enum dp_rdp_kind {
	/* A step of bounded range eta = size, such as the exponential mechanism. Its loss is
	 * exactly the largest divergence of generalised randomised response over t in [0, eta]:
	 *   ln(p_t e^((alpha-1) t) + (1 - p_t) e^((alpha-1) (t-eta))) / (alpha-1)
	 * with p_t of dp/exact.h (Dong, Durfee & Rogers 2020, arXiv 1909.13830). It is never more
	 * than alpha eta^2 / 8, nor than eta. */
	DP_RDP_BOUNDED_RANGE,
	/* Gaussian noise. size = L2 sensitivity / standard deviation, loss = alpha size^2 / 2
	 * (Mironov 2017, Proposition 7). */
	DP_RDP_GAUSSIAN,
	/* The mean of m = `parts` distributions. A neighbour changes one of them, by at most `size`
	 * in D_order either way round (DP-Fusion, arXiv 2507.04531, whose size is alpha beta).
	 *   loss = ln((m-1)/m + e^((alpha-1) size) / m) / (alpha-1)
	 * because e^((alpha-1) D_alpha) is convex in both distributions. It holds at orders up to
	 * `order`, since `size` bounds D_alpha below `order` too; above it there is no bound. */
	DP_RDP_MIXTURE
};

/* `count` steps of one kind. */
struct dp_rdp_event {
	enum dp_rdp_kind kind;
	uint64_t count; /* steps */
	double size;    /* as the kind says */
	double order;   /* MIXTURE only: the order of the bound `size` */
	uint32_t parts; /* MIXTURE only: m */
};

/* The loss of all events together at the order. +infinity where an event has no bound there.
 * `events` may be 0. */
double dp_rdp_loss(const struct dp_rdp_event *list, size_t events, double order);

/* epsilon of a loss at an order; at least DBL_MIN. The loss is not negative. */
double dp_rdp_epsilon_at(double loss, double order, double delta);
/* Its exact inverse: the largest double whose dp_rdp_epsilon_at is at most epsilon. So it is
 * rounded down. 0 where that of every positive loss is above: at order 2 and delta 1e-6 no loss
 * gives an epsilon below 12.43. epsilon is positive, finite and not subnormal. Bounded time. */
double dp_rdp_loss_at(double epsilon, double order, double delta);

/* The least such epsilon over the orders, for at least one event. *order becomes the order that
 * gives it; `order` may be NULL. Bounded time. */
double dp_rdp_epsilon(const struct dp_rdp_event *list, size_t events, double delta, double *order);

#endif
