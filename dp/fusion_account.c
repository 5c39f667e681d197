// SPDX-License-Identifier: Apache-2.0
// fusion_account.c: see fusion_account.h. Formulas are computed in long double and rounded once, to
// the safe side; b stands for order - 1. A planned divergence is taken only after its epsilon has
// been computed and found to be within what was asked for.
#include "dp/fusion_account.h"

#include "base/misuse.h"
#include "dp/rdp.h"
#include "dp/rounding.h"
#include "dp/share.h"

#include <stdbool.h>

static bool divergence_fits(unsigned order, double divergence) {
	return positive(divergence) && (order - 1) * divergence <= DP_SHARE_EXPONENT;
}

double dp_fusion_loss(unsigned order, const double *divergences, uint32_t blanked,
                      uint32_t places) {
	REQUIRE(order >= 2 && order <= DP_SHARE_ORDER && blanked >= 1 && blanked <= places);
	const long double b = order - 1;
	long double sum = 0.0L;
	for (uint32_t i = 0; i < blanked; i++) {
		REQUIRE(divergence_fits(order, divergences[i]));
		sum += expm1l(b * (long double)divergences[i]);
	}
	if (blanked > 1) return round_up(log1pl(sum / places) / b * (1.0L + TERM));
	const struct dp_rdp_event event = {.kind = DP_RDP_MIXTURE,
	                                   .count = 1,
	                                   .size = divergences[0],
	                                   .order = order,
	                                   .parts = places};
	return dp_rdp_loss(&event, 1, order);
}

double dp_fusion_capped_loss(double divergence, uint32_t blanked) {
	REQUIRE(divergence_fits(2, divergence) && blanked >= 1);
	const long double times = (long double)blanked * blanked;
	return round_up(log1pl(times * expm1l((long double)divergence)) * (1.0L + TERM));
}

/* tokens times loss, rounded up. */
static double add_up_losses(double loss, uint32_t tokens) {
	REQUIRE(positive(loss) && tokens >= 1);
	return round_up((long double)loss * tokens);
}

double dp_fusion_epsilon(double loss, uint32_t tokens, unsigned order, double delta) {
	REQUIRE(order >= 2 && order <= DP_SHARE_ORDER);
	return dp_rdp_epsilon_at(add_up_losses(loss, tokens), order, delta);
}

double dp_fusion_epsilon_exchange(double loss, uint32_t tokens, unsigned order, double delta) {
	REQUIRE(order >= 2 && order <= DP_SHARE_ORDER);
	const long double b = order - 1, split = 2.0L * order - 1.0L;
	const double both =
	    round_up((long double)add_up_losses(loss, tokens) * split / b * (1.0L + SIMPLE));
	/* What holds at an order holds at every smaller one: so this is rounded down. */
	const double exchanged = round_down((long double)order * order / split * (1.0L - SIMPLE));
	return dp_rdp_epsilon_at(both, exchanged, delta);
}

double dp_fusion_ceiling(double loss, uint32_t tokens, unsigned order, double delta,
                         uint32_t values) {
	REQUIRE(values >= 2);
	const double epsilon = dp_fusion_epsilon(loss, tokens, order, delta);
	const long double gain = (long double)add_up_losses(loss, tokens),
	                  guess = logl((long double)values), b = order - 1,
	                  exponent = ((gain - guess) + TERM * (gain + guess)) * b / order;
	if (exponent >= 0.0L) return 1.0;
	const long double by_order = expl(exponent),
	                  by_epsilon = expl((long double)epsilon) / values + (long double)delta;
	const double ceiling = round_up(fminl(by_order, by_epsilon) * (1.0L + TERM));
	return ceiling > 1.0 ? 1.0 : ceiling;
}

double dp_fusion_epsilon_of_one(enum dp_fusion_rule rule, double divergence, double delta,
                                uint32_t tokens, uint32_t places, unsigned order) {
	const double loss = rule == DP_FUSION_CAPPED
	                        ? dp_fusion_capped_loss(divergence, 1)
	                        : dp_fusion_loss(order, &divergence, 1, places);
	return dp_fusion_epsilon(loss, tokens, order, delta);
}

/* Halves the way between a divergence within epsilon and one beyond, until none is between. */
double dp_fusion_divergence(enum dp_fusion_rule rule, double epsilon, double delta, uint32_t tokens,
                            uint32_t places, unsigned order) {
	REQUIRE(positive(epsilon) && probability(delta) && tokens >= 1 && places >= 1);
	REQUIRE(order >= 2 && order <= DP_SHARE_ORDER && (rule != DP_FUSION_CAPPED || order == 2));
	double within = DP_FUSION_LEAST, beyond = DP_SHARE_EXPONENT / (order - 1);
	if (dp_fusion_epsilon_of_one(rule, within, delta, tokens, places, order) > epsilon)
		return 0.0;
	if (dp_fusion_epsilon_of_one(rule, beyond, delta, tokens, places, order) <= epsilon)
		return beyond;
	for (;;) {
		const double middle = beyond > 2 * within ? sqrt(within) * sqrt(beyond)
		                                          : within + (beyond - within) / 2;
		if (middle <= within || middle >= beyond) return within;
		if (dp_fusion_epsilon_of_one(rule, middle, delta, tokens, places, order) <= epsilon)
			within = middle;
		else beyond = middle;
	}
}

enum dp_status dp_fusion_plan_bounded(double epsilon, double delta, uint32_t tokens,
                                      uint32_t places, struct dp_fusion_plan *plan) {
	double best = 0.0;
	for (unsigned order = 2; order <= DP_SHARE_ORDER; order++) {
		const double c =
		    dp_fusion_divergence(DP_FUSION_BOUNDED, epsilon, delta, tokens, places, order);
		if (!(c / order > best)) continue;
		best = c / order;
		*plan = (struct dp_fusion_plan){order, c};
	}
	return best > 0.0 ? DP_OK : DP_BAD_PARAMETER;
}
