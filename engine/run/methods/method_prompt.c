// SPDX-License-Identifier: Apache-2.0
// method_prompt.c: see method_prompt.h. To the accountants a width of 2 C is InvisibleInk's clip C
// with one reference.
#include "engine/run/methods/method_prompt.h"

#include "dp/account.h"
#include "dp/weights.h"
#include "dp/width.h"
#include "engine/status.h"

#include <math.h>

static struct dp_integers integers_of_width(const struct cuttle_guarantee *g) {
	struct dp_integers integers = {.batch = 1,
	                               .tokens = g->tokens,
	                               .clip_fixed = g->clip_fixed,
	                               .fraction_bits = g->fraction_bits,
	                               .gain = DP_GAIN_NONE};
	if (dp_temperature_ratio(g->temperature, &integers.temperature_num,
	                         &integers.temperature_den))
		integers.batch = 0;
	return integers;
}

/* The epsilon of a clip, by the accountant that was asked for. NaN: it has none. */
static double epsilon_of_clip(const struct cuttle_plan_params *p, struct dp_integers integers,
                              double clip) {
	double epsilon = (double)NAN;
	if (dp_fraction_bits(1, clip, &integers.fraction_bits)) return epsilon;
	integers.clip_fixed = dp_clip_fixed(clip, integers.fraction_bits);
	if (p->accountant == CUTTLE_EXACT)
		return dp_guarantee_exact(&integers, p->delta, &epsilon) ? (double)NAN : epsilon;
	return dp_guarantee_epsilon(&integers, p->delta);
}

/* The largest width within epsilon. */
static enum cuttle_status calibrate_width(const struct cuttle_plan_params *p, double least,
                                          double most, struct dp_integers *integers,
                                          struct cuttle_guarantee *g, struct cuttle_error *error) {
	const char *reason = "epsilon is out of range";
	const enum dp_status status =
	    p->accountant == CUTTLE_EXACT
	        ? dp_calibrate_exact(integers, p->epsilon, p->delta, &reason)
	        : dp_calibrate(integers, p->epsilon, p->delta, &reason);
	if (status == DP_NO_MEMORY) return status_fail(error, CUTTLE_NOMEM, "%s", reason);
	if (status) {
		const double width = ceil(2 * least * 1e4) / 1e4,
		             nearest = epsilon_of_clip(p, *integers, width / 2);
		return isfinite(p->epsilon) && p->epsilon > 0 && nearest > p->epsilon
		           ? status_fail(error, CUTTLE_BUDGET,
		                         "method dp-prompt holds no width for epsilon %g and %u "
		                         "tokens: the nearest is --clip-width %.6g, epsilon %.6g",
		                         p->epsilon, p->tokens, width, nearest)
		           : status_fail(error, CUTTLE_USAGE, "%s", reason);
	}
	g->clip_capped = integers->clip_fixed == dp_clip_fixed(most, integers->fraction_bits);
	return CUTTLE_OK;
}

enum cuttle_status method_prompt_choose(const struct cuttle_plan_params *p,
                                        struct cuttle_guarantee *g, struct cuttle_error *error) {
	struct dp_integers integers = integers_of_width(g);
	const double clip = p->method_params.clip_width / 2;
	double least, most;
	if (isnan(p->epsilon) == isnan(clip))
		return status_fail(error, CUTTLE_USAGE,
		                   "method dp-prompt needs epsilon or --clip-width, one of them");
	if (p->savings.public_when > 0)
		return status_fail(error, CUTTLE_USAGE, "method dp-prompt has no --public-when");
	if (dp_clip_range(&integers, &least, &most))
		return status_fail(error, CUTTLE_USAGE,
		                   "there is no width at this temperature; change --temperature");
	if (isnan(clip)) {
		const enum cuttle_status status =
		    calibrate_width(p, least, most, &integers, g, error);
		if (status) return status;
	} else {
		if (!(clip >= least && clip <= most) ||
		    dp_fraction_bits(1, clip, &integers.fraction_bits))
			return status_fail(error, CUTTLE_USAGE,
			                   "at this temperature --clip-width must lie between %.6g "
			                   "and %.6g",
			                   ceil(2 * least * 1e4) / 1e4,
			                   floor(2 * most * 1e4) / 1e4);
		integers.clip_fixed = dp_clip_fixed(clip, integers.fraction_bits);
	}
	g->clip_fixed = integers.clip_fixed;
	g->fraction_bits = integers.fraction_bits;
	g->clip = ldexp(g->clip_fixed, -(int)g->fraction_bits);
	g->method_params.clip_width = 2 * g->clip;
	return CUTTLE_OK;
}

enum dp_status method_prompt_claim(const struct cuttle_guarantee *g, struct dp_claim *claim) {
	const struct dp_integers integers = integers_of_width(g);
	if (g->batch != 1 || !g->tokens || g->clip_fixed < 1 || !g->vocabulary ||
	    g->vocabulary > 1u << 24 ||
	    g->method_params.clip_width != 2 * ldexp(g->clip_fixed, -(int)g->fraction_bits) ||
	    !dp_weights_bits(integers.batch, integers.clip_fixed, integers.fraction_bits,
	                     integers.temperature_num, integers.temperature_den, integers.gain))
		return DP_BAD_PARAMETER;
	*claim = dp_integers_claim(&integers);
	return DP_OK;
}

double method_prompt_pair(const struct cuttle_guarantee *g) {
	const struct dp_integers integers = integers_of_width(g);
	return dp_width_pair(dp_integers_claim(&integers).eta, g->vocabulary);
}

enum dp_status method_prompt_build(const struct method_parts *parts, struct dp_mechanism *out) {
	const struct cuttle_guarantee *g = parts->guarantee;
	const struct dp_integers integers = integers_of_width(g);
	const struct dp_width_params params = {.top_k = g->top_k,
	                                       .tokens = g->tokens,
	                                       .vocab = parts->vocab,
	                                       .temperature_num = integers.temperature_num,
	                                       .temperature_den = integers.temperature_den,
	                                       .clip_fixed = g->clip_fixed,
	                                       .fraction_bits = g->fraction_bits,
	                                       .allowed = parts->allowed,
	                                       .random = parts->random};
	return dp_width_mechanism(&params, out);
}
