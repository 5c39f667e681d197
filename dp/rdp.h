// SPDX-License-Identifier: Apache-2.0
// Renyi differential privacy (Mironov 2017, arXiv 1702.07476) of mechanisms that zCDP describes badly or not at all. A mechanism of order
// alpha > 1 loses what bounds D_alpha(P || P') of neighbours, either way round; losses of one order add up, also adaptively (Proposition 1
// there). To (epsilon, delta): Canonne, Kamath & Steinke 2020 (arXiv 2004.00010), Proposition 12,
//   epsilon = loss + ln(1 - 1/alpha) - ln(alpha delta) / (alpha - 1).
//
// Everything is rounded up, by a few units of the last place plus 1e-16 of the largest term; BOUNDED_RANGE by up to 4e-18 / (alpha - 1) a
// step besides, as long as that is under alpha eta^2 / 8. Sizes are positive, finite and not subnormal,
// counts >= 1, 1 < alpha <= DP_RDP_ORDER, delta in (0, 1) and not subnormal: anything else is a caller bug.
// No amplification by sampling: every step sees every record. Source: design note privacy.md 2.3 and 3.
#ifndef CUTTLE_DP_RDP_H
#define CUTTLE_DP_RDP_H

#include <stddef.h>
#include <stdint.h>

#define DP_RDP_ORDER 0x1p40 /* the largest that is computed */

enum dp_rdp_kind {
	/* Bounded range eta = size, as the exponential mechanism: exactly max over t in [0, eta] of the divergence of generalised
	 * randomised response, ln(p_t e^((alpha-1) t) + (1 - p_t) e^((alpha-1) (t-eta))) / (alpha-1) with p_t of dp/exact.h (Dong, Durfee &
	 * Rogers 2020, arXiv 1909.13830). Never more than alpha eta^2 / 8 nor than eta. */
	DP_RDP_BOUNDED_RANGE,
	/* Gaussian noise, size = L2 sensitivity / standard deviation: alpha size^2 / 2 (Mironov 2017, Proposition 7). */
	DP_RDP_GAUSSIAN,
	/* The mean of `parts` distributions, of which a neighbour changes one, by at most `size` in D_order either way round (DP-Fusion,
	 * arXiv 2507.04531, whose size is alpha beta): ln((m-1)/m + e^((alpha-1) size) / m) / (alpha-1), as e^((alpha-1) D_alpha) is convex
	 * in both. Orders up to `order`, whose bound holds below it too; none above. */
	DP_RDP_MIXTURE
};

/* `count` steps of one kind. */
struct dp_rdp_event {
	enum dp_rdp_kind kind;
	uint64_t count;
	double size;
	double order;   /* MIXTURE */
	uint32_t parts; /* MIXTURE */
};

/* What all events lose together at the order; +infinity where one of them has no bound there. `events` may be 0. */
double dp_rdp_loss(const struct dp_rdp_event *list, size_t events, double order);

/* epsilon of a loss at an order; at least DBL_MIN. The loss is not negative. */
double dp_rdp_epsilon_at(double loss, double order, double delta);

/* The least of these over the orders, of at least one event; *order, unless order is NULL, is where. Bounded time. */
double dp_rdp_epsilon(const struct dp_rdp_event *list, size_t events, double delta, double *order);

#endif
