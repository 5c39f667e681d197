// SPDX-License-Identifier: Apache-2.0
// method_mixture.c: see method_mixture.h. Parameters are found and checked here; what they cost is
// computed in dp/ alone, for the plan and for a receipt by the same function.
#include "engine/run/methods/method_mixture.h"

#include "base/misuse.h"
#include "dp/account.h"
#include "dp/exact.h"
#include "dp/fusion.h"
#include "dp/fusion_account.h"
#include "dp/mixture_account.h"
#include "dp/rdp.h"
#include "dp/record_filter.h"
#include "dp/rounding.h"
#include "dp/rowlaw.h"
#include "dp/share.h"
#include "engine/run/methods/plan_status.h"
#include "engine/status.h"

#include <math.h>
#include <stdio.h>

/* With a filter a token may cost so many times what it may without: rows that lie near the public
 * one leave something over for others. */
static const double FILTER_FACTOR = 4;
/* A budget is planned so much smaller, so that its loss, which is rounded up, is within. */
static const double FILTER_SLACK = 1e-12;

enum { INSTEAD = 128 }; /* bytes of what a refusal names */

static const double MOST_TEMPERATURE = 16; /* of dp/rowlaw.h */

static bool is_law_temperature(double temperature) {
	return temperature > 0.0 && temperature <= MOST_TEMPERATURE;
}

static enum cuttle_status check_law_limits(const struct cuttle_plan_params *p,
                                           const struct cuttle_guarantee *g,
                                           struct cuttle_error *error) {
	const char *name = cuttle_method_name(p->method);
	if (!is_law_temperature(g->temperature))
		return status_fail(error, CUTTLE_USAGE,
		                   "method %s takes a --temperature of at most 16", name);
	if (g->vocabulary > DP_ROWLAW_MOST)
		return status_fail(error, CUTTLE_USAGE,
		                   "method %s takes models of at most %zu tokens", name,
		                   DP_ROWLAW_MOST);
	return CUTTLE_OK;
}

/* Exactly one of -e and the parameter of this name. */
static enum cuttle_status check_one_given(const struct cuttle_plan_params *p, double parameter,
                                          const char *option, struct cuttle_error *error) {
	if (isnan(p->epsilon) != isnan(parameter)) {
		if (isnan(p->epsilon) || (isnormal(p->epsilon) && p->epsilon > 0.0))
			return CUTTLE_OK;
		return status_fail(error, CUTTLE_USAGE, "epsilon is out of range");
	}
	return status_fail(error, CUTTLE_USAGE,
	                   "method %s needs -e or --%s, not both and not neither",
	                   cuttle_method_name(p->method), option);
}

static enum dp_accountant accountant_of_method(const struct cuttle_guarantee *g) {
	return g->accountant == CUTTLE_EXACT ? DP_EXACT : DP_ZCDP;
}

/* Says that -e is below what the least parameter has, and what is possible instead. */
static enum cuttle_status refuse_epsilon(const struct cuttle_plan_params *p, const char *instead,
                                         struct cuttle_error *error) {
	return status_fail(error, CUTTLE_BUDGET,
	                   "no parameters of method %s keep to epsilon %g with %u tokens a text%s",
	                   cuttle_method_name(p->method), p->epsilon, p->tokens, instead);
}

/* What a search for a parameter answered, by the accountant in use. by_zcdp: what zcdp answers,
 * which never finds more than the exact accountant where that can compute at all. */
static enum cuttle_status refuse_found(enum dp_status status, enum dp_status by_zcdp,
                                       const struct cuttle_plan_params *p, const char *instead,
                                       struct cuttle_error *error) {
	if (status != DP_BAD_PARAMETER) return plan_status(status, error);
	if (by_zcdp == DP_OK)
		return status_fail(error, CUTTLE_USAGE,
		                   "this is out of range of the exact accountant; use zcdp");
	return refuse_epsilon(p, instead, error);
}

/* ---- pmixed ---------------------------------------------------------------------------------- */

static bool is_order_infinite(const struct cuttle_method_params *m) {
	return m->order == CUTTLE_ORDER_INFINITE;
}

static bool pmixed_params_fit(const struct cuttle_guarantee *g) {
	const struct cuttle_method_params *m = &g->method_params;
	const double c = m->divergence;
	if (g->batch < 1 || g->batch > DP_FILTER_PLACES || g->tokens < 1 || !positive(c) ||
	    !is_law_temperature(g->temperature))
		return false;
	if (is_order_infinite(m))
		return c <= DP_SHARE_RATIO && !m->record_filter && isnan(m->record_budget);
	if (m->order < 2 || m->order > DP_SHARE_ORDER || (m->order - 1) * c > DP_SHARE_EXPONENT)
		return false;
	if (!m->record_filter) return isnan(m->record_budget);
	return positive(m->record_budget) && (m->order - 1) * m->record_budget <= DP_SHARE_EXPONENT;
}

/* What dp/fusion.h is built with; each[batch] becomes the divergences. */
static struct dp_fusion_params pmixed_params_of(const struct cuttle_guarantee *g, double *each) {
	const struct cuttle_method_params *m = &g->method_params;
	for (uint32_t i = 0; i < g->batch; i++) each[i] = m->divergence;
	return (struct dp_fusion_params){
	    .rule = is_order_infinite(m) ? DP_FUSION_RATIO : DP_FUSION_BOUNDED,
	    .order = is_order_infinite(m) ? 0 : m->order,
	    .least_places = g->batch,
	    .most_places = g->batch,
	    .divergences = each,
	    .budget = m->record_filter ? m->record_budget : 0.0,
	    .top_k = g->top_k,
	    .tokens = g->tokens,
	    .sure =
	        g->savings.public_when > 0 ? (uint32_t)lround(g->savings.public_when * 1e6) : 0};
}

static enum cuttle_status choose_infinite(const struct cuttle_plan_params *p,
                                          struct cuttle_guarantee *g, struct cuttle_error *error) {
	struct cuttle_method_params *m = &g->method_params;
	if (m->record_filter)
		return status_fail(error, CUTTLE_USAGE,
		                   "--record-filter needs an --order from 2 to %u", DP_SHARE_ORDER);
	if (isnan(p->epsilon)) return CUTTLE_OK;
	double ignored;
	const enum dp_status found = dp_mixture_ratio(p->epsilon, p->delta, p->tokens, p->batch,
	                                              accountant_of_method(g), &m->divergence);
	return refuse_found(
	    found, dp_mixture_ratio(p->epsilon, p->delta, p->tokens, p->batch, DP_ZCDP, &ignored),
	    p, "; raise -e, or lower -n", error);
}

static enum cuttle_status choose_order(const struct cuttle_plan_params *p,
                                       struct cuttle_guarantee *g, struct cuttle_error *error) {
	struct cuttle_method_params *m = &g->method_params;
	if (m->order < 2 || m->order > DP_SHARE_ORDER)
		return status_fail(error, CUTTLE_USAGE, "--order must be in 2..%u, or inf",
		                   DP_SHARE_ORDER);
	if (isnan(p->epsilon)) return CUTTLE_OK;
	const double c = dp_fusion_divergence(DP_FUSION_BOUNDED, p->epsilon, p->delta, p->tokens,
	                                      p->batch, m->order),
	             most = DP_SHARE_EXPONENT / m->order;
	if (!(c > 0.0)) {
		char instead[INSTEAD];
		(void)snprintf(instead, sizeof instead,
		               "; at --order %u epsilon is above %.4f: raise -e or --order",
		               m->order, dp_rdp_epsilon_at(0.0, m->order, p->delta));
		return refuse_epsilon(p, instead, error);
	}
	if (isnan(m->divergence)) m->divergence = m->record_filter ? c * FILTER_FACTOR : c;
	if (!m->record_filter) return CUTTLE_OK;
	if (m->divergence > most) m->divergence = most;
	m->record_budget = dp_rdp_loss_at(p->epsilon, m->order, p->delta) * (1.0 - FILTER_SLACK);
	if (m->record_budget > most) m->record_budget = most;
	return CUTTLE_OK;
}

enum cuttle_status method_pmixed_choose(const struct cuttle_plan_params *p,
                                        struct cuttle_guarantee *g, struct cuttle_error *error) {
	struct cuttle_method_params *m = &g->method_params;
	enum cuttle_status status = check_law_limits(p, g, error);
	if (m->record_filter && isnan(p->epsilon))
		return status_fail(error, CUTTLE_USAGE,
		                   "--record-filter needs -e, the budget of each record");
	if (!status && !m->record_filter)
		status = check_one_given(p, m->divergence, "divergence", error);
	if (status) return status;
	if (!m->order) m->order = CUTTLE_ORDER_INFINITE;
	status = is_order_infinite(m) ? choose_infinite(p, g, error) : choose_order(p, g, error);
	if (status) return status;
	return pmixed_params_fit(g)
	           ? CUTTLE_OK
	           : status_fail(error, CUTTLE_USAGE,
	                         "--divergence %g is out of range for this --order", m->divergence);
}

enum dp_status method_pmixed_claim(const struct cuttle_guarantee *g, struct dp_claim *claim) {
	if (!pmixed_params_fit(g)) return DP_BAD_PARAMETER;
	double each[DP_FILTER_PLACES];
	const struct dp_fusion_params params = pmixed_params_of(g, each);
	*claim = dp_fusion_claim(&params);
	return DP_OK;
}

enum dp_status method_pmixed_build(const struct method_parts *parts, struct dp_mechanism *out) {
	const struct cuttle_guarantee *g = parts->guarantee;
	double each[DP_FILTER_PLACES];
	*out = (struct dp_mechanism){0};
	struct dp_fusion_params params = pmixed_params_of(g, each);
	params.vocab = parts->vocab;
	params.allowed = parts->allowed;
	params.random = parts->random;
	const enum dp_status status =
	    dp_temperature_ratio(g->temperature, &params.temperature_num, &params.temperature_den);
	return status ? status : dp_fusion_mechanism(&params, out);
}

/* ---- dp-decoding ----------------------------------------------------------------------------- */

/* l of a lambda; 0 = it is out of range. */
static uint32_t share_of_mix(double mix) {
	return mix > 0.0 && mix < 1.0 ? (uint32_t)floor(mix * DP_SHARE_ONE) : 0;
}

static bool decoding_params_fit(const struct cuttle_guarantee *g) {
	return is_law_temperature(g->temperature) && share_of_mix(g->method_params.mix) > 0 &&
	       g->tokens >= 1 && g->vocabulary >= 1 && g->vocabulary <= DP_ROWLAW_MOST;
}

enum cuttle_status method_decoding_choose(const struct cuttle_plan_params *p,
                                          struct cuttle_guarantee *g, struct cuttle_error *error) {
	struct cuttle_method_params *m = &g->method_params;
	enum cuttle_status status = check_law_limits(p, g, error);
	if (!status) status = check_one_given(p, m->mix, "mix", error);
	if (!status && (p->savings.public_when > 0 || p->savings.complete))
		return status_fail(error, CUTTLE_USAGE,
		                   "method dp-decoding has no --public-when and no --complete: "
		                   "without a reference it writes at random");
	if (status) return status;
	g->top_k = 0;
	uint32_t share = 0;
	if (isnan(p->epsilon)) {
		share = share_of_mix(m->mix);
		if (!share)
			return status_fail(error, CUTTLE_USAGE,
			                   "--mix must be at least 1/65536 and below 1");
	} else {
		char instead[INSTEAD];
		const struct dp_claim least = {
		    .units = g->tokens,
		    .eta = dp_mixture_fixed_eta(1, DP_SHARE_ONE, g->vocabulary)};
		(void)snprintf(instead, sizeof instead,
		               "; the nearest is --mix 0.0000152588, with epsilon %.4f by zcdp",
		               dp_claim_epsilon(&least, p->delta));
		uint32_t ignored;
		const enum dp_status found =
		    dp_mixture_share(p->epsilon, p->delta, p->tokens, g->vocabulary,
		                     accountant_of_method(g), &share);
		status = refuse_found(found,
		                      dp_mixture_share(p->epsilon, p->delta, p->tokens,
		                                       g->vocabulary, DP_ZCDP, &ignored),
		                      p, instead, error);
	}
	m->mix = (double)share / DP_SHARE_ONE;
	return status;
}

enum dp_status method_decoding_claim(const struct cuttle_guarantee *g, struct dp_claim *claim) {
	if (!decoding_params_fit(g)) return DP_BAD_PARAMETER;
	*claim = (struct dp_claim){.null = DP_NULL_IS_PUBLIC,
	                           .units = g->tokens,
	                           .eta = dp_mixture_fixed_eta(share_of_mix(g->method_params.mix),
	                                                       DP_SHARE_ONE, g->vocabulary)};
	return DP_OK;
}

double method_decoding_pair(const struct cuttle_guarantee *g) {
	struct dp_claim claim;
	const enum dp_status status = method_decoding_claim(g, &claim);
	return status ? (double)NAN : round_up(claim.eta);
}

enum dp_status method_decoding_build(const struct method_parts *parts, struct dp_mechanism *out) {
	const struct cuttle_guarantee *g = parts->guarantee;
	*out = (struct dp_mechanism){0};
	struct dp_fusion_params params = {.rule = DP_FUSION_FIXED,
	                                  .least_places = 1,
	                                  .most_places = 1,
	                                  .most_share = share_of_mix(g->method_params.mix),
	                                  .tokens = g->tokens,
	                                  .vocab = parts->vocab,
	                                  .allowed = parts->allowed,
	                                  .random = parts->random};
	const enum dp_status status =
	    dp_temperature_ratio(g->temperature, &params.temperature_num, &params.temperature_den);
	return status ? status : dp_fusion_mechanism(&params, out);
}
