// SPDX-License-Identifier: Apache-2.0
// method_amin.c: see method_amin.h. Real parameters are used in millionths; the guarantee holds
// what is used.
#include "engine/run/methods/method_amin.h"

#include "dp/account.h"
#include "dp/amin.h"
#include "dp/amin_account.h"
#include "dp/weights.h"
#include "dp/zcdp.h"
#include "engine/status.h"

#include <math.h>
#include <stdio.h>

#define MILLION 1e6

static const double NOISE = 0.3, THRESHOLD = 0.7, PUBLIC_TAU = 1.0, MOST_NOISE = 1000.0,
                    MOST_THRESHOLD = 2.0, MOST_PUBLIC_TAU = 16.0;
enum {
	TOKENS_PER_UNIT = 4, /* the paper's: 100 units of 400 tokens */
	MOST_FRACTION_BITS = 12,
	MOST_BATCH = 4096 /* of any plan */
};

static uint32_t millionths_of(double x) {
	return (uint32_t)llround(x * MILLION);
}

static bool is_public_temperature(double temperature) {
	int64_t num, den;
	return !dp_temperature_ratio(temperature, &num, &den) && temperature <= MOST_PUBLIC_TAU;
}

/* The integers of the mechanism, all but the clip's from the parameters in use. False: a number is
 * one that no plan has. */
static bool make_integers(const struct cuttle_guarantee *g, struct dp_amin_integers *integers) {
	const struct cuttle_method_params *p = &g->method_params;
	*integers = (struct dp_amin_integers){.batch = g->batch,
	                                      .units = p->units,
	                                      .clip_fixed = g->clip_fixed,
	                                      .fraction_bits = g->fraction_bits,
	                                      .law_bits = DP_AMIN_LAW_BITS};
	if (g->batch < 1 || g->batch > MOST_BATCH || p->units < 1 || p->units > g->tokens ||
	    !(p->svt_noise * MILLION >= 1.0 && p->svt_noise <= MOST_NOISE) ||
	    !(p->svt_threshold >= 0.0 && p->svt_threshold <= MOST_THRESHOLD) ||
	    !is_public_temperature(p->temperature_public) ||
	    dp_temperature_ratio(g->temperature, &integers->temperature_num,
	                         &integers->temperature_den))
		return false;
	integers->scale = dp_amin_scale(millionths_of(p->svt_noise), g->batch);
	return integers->scale <= DP_THRESHOLD_MOST_SCALE;
}

/* Sets the parameters that were not given, and rounds those that were. */
static enum cuttle_status take_amin_params(struct cuttle_guarantee *g, struct cuttle_error *error) {
	struct cuttle_method_params *p = &g->method_params;
	if (isnan(p->svt_noise)) p->svt_noise = NOISE;
	if (isnan(p->svt_threshold)) p->svt_threshold = THRESHOLD;
	if (isnan(p->temperature_public)) p->temperature_public = PUBLIC_TAU;
	if (!p->units) p->units = (g->tokens + TOKENS_PER_UNIT - 1) / TOKENS_PER_UNIT;
	int64_t num, den;
	struct dp_amin_integers integers;
	if (!is_public_temperature(p->temperature_public))
		return status_fail(error, CUTTLE_USAGE,
		                   "--temperature-public must be in 0.000001..%g", MOST_PUBLIC_TAU);
	if (p->units > g->tokens)
		return status_fail(error, CUTTLE_USAGE,
		                   "--units %u: a text of %u tokens has no more units than that",
		                   p->units, g->tokens);
	if (!make_integers(g, &integers))
		return status_fail(error, CUTTLE_USAGE,
		                   "--svt-noise must be in 0.000001..%g, and less with a large -B; "
		                   "--svt-threshold in 0..%g",
		                   MOST_NOISE, MOST_THRESHOLD);
	(void)dp_temperature_ratio(p->temperature_public, &num, &den);
	p->temperature_public = (double)num / (double)den;
	p->svt_noise = millionths_of(p->svt_noise) / MILLION;
	p->svt_threshold = millionths_of(p->svt_threshold) / MILLION;
	return CUTTLE_OK;
}

/* Says what would do: each parameter alone, all others as they were. */
static enum cuttle_status fail_infeasible(const struct dp_amin_integers *integers,
                                          const struct cuttle_guarantee *g, double epsilon,
                                          struct cuttle_error *error) {
	const double alone =
	    ceil(dp_epsilon_of_rho(dp_amin_threshold_rho(integers), g->delta) * 1e4) / 1e4;
	const struct dp_amin_nearest near =
	    dp_amin_nearest(integers, millionths_of(g->method_params.svt_noise), epsilon, g->delta);
	char words[200] = "";
	int used = 0;
	if (near.units) used += snprintf(words, sizeof words, "--units %u, ", near.units);
	if (near.sigma_millionths)
		used += snprintf(words + used, sizeof words - (size_t)used, "--svt-noise %g, ",
		                 ceil(near.sigma_millionths / 1e2) / 1e4);
	if (near.batch)
		used += snprintf(words + used, sizeof words - (size_t)used, "-B %u, ", near.batch);
	return status_fail(error, CUTTLE_BUDGET,
	                   "%u thresholds of -B %u and noise %g cost epsilon %.6g, and of %g "
	                   "nothing is left for a clip. The nearest that do: %s%s-e above %.6g",
	                   integers->units, integers->batch, g->method_params.svt_noise, alone,
	                   epsilon, words, used ? "or " : "", alone);
}

enum cuttle_status method_amin_choose(const struct cuttle_plan_params *params,
                                      struct cuttle_guarantee *g, struct cuttle_error *error) {
	struct dp_amin_integers integers;
	const struct cuttle_savings *savings = &params->savings;
	if (!isnormal(params->epsilon) || params->epsilon < 0)
		return status_fail(error, CUTTLE_USAGE, "method amin needs epsilon: give -e");
	if (savings->public_when > 0 || savings->complete || savings->token_bank)
		return status_fail(error, CUTTLE_USAGE,
		                   "method amin has no --public-when, --complete or --token-bank: "
		                   "its thresholds say which tokens are public");
	enum cuttle_status status = take_amin_params(g, error);
	if (status) return status;
	(void)make_integers(g, &integers);
	if (dp_amin_calibrate(&integers, params->epsilon, g->delta))
		return fail_infeasible(&integers, g, params->epsilon, error);
	g->clip_fixed = integers.clip_fixed;
	g->fraction_bits = integers.fraction_bits;
	g->clip = ldexp(g->clip_fixed, -(int)g->fraction_bits);
	return CUTTLE_OK;
}

enum dp_status method_amin_claim(const struct cuttle_guarantee *g, struct dp_claim *claim) {
	struct dp_amin_integers i;
	if (!make_integers(g, &i) || i.fraction_bits > MOST_FRACTION_BITS || i.clip_fixed < 1 ||
	    !dp_weights_bits(i.batch, i.clip_fixed, i.fraction_bits, i.temperature_num,
	                     i.temperature_den, DP_GAIN_NONE))
		return DP_BAD_PARAMETER;
	*claim = dp_amin_claim(&i);
	return DP_OK;
}

void method_amin_caps(const struct cuttle_guarantee *g, struct method_caps *caps) {
	*caps = (struct method_caps){
	    .paid = g->method_params.units, .length = g->tokens, .thresholds = true};
}

enum dp_status method_amin_build(const struct method_parts *parts, struct dp_mechanism *out) {
	const struct cuttle_guarantee *g = parts->guarantee;
	struct dp_amin_integers integers;
	*out = (struct dp_mechanism){0};
	if (!make_integers(g, &integers)) return DP_BAD_PARAMETER;
	struct dp_amin_params params = {
	    .batch = g->batch,
	    .top_k = g->top_k,
	    .units = integers.units,
	    .vocab = parts->vocab,
	    .temperature_num = integers.temperature_num,
	    .temperature_den = integers.temperature_den,
	    .clip_fixed = integers.clip_fixed,
	    .fraction_bits = integers.fraction_bits,
	    .law_bits = integers.law_bits,
	    .scale = integers.scale,
	    .theta = dp_amin_theta(millionths_of(g->method_params.svt_threshold), g->batch),
	    .allowed = parts->allowed,
	    .random = parts->random};
	if (dp_temperature_ratio(g->method_params.temperature_public, &params.public_num,
	                         &params.public_den))
		return DP_BAD_PARAMETER;
	return dp_amin_mechanism(&params, out);
}
