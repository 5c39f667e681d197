// SPDX-License-Identifier: Apache-2.0
// methods.c: the table of methods, and what holds for all of them, see methods.h.
#include "engine/run/methods/methods.h"

#include "base/misuse.h"
#include "dp/rounding.h"
#include "engine/run/methods/method_amin.h"
#include "engine/run/methods/method_adapmixed.h"
#include "engine/run/methods/method_mixture.h"
#include "engine/run/methods/method_none.h"
#include "engine/run/methods/method_prompt.h"
#include "engine/run/methods/plan_status.h"
#include "engine/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* By enum cuttle_method. */
static const struct method METHODS[CUTTLE_METHODS] = {
    [CUTTLE_INVISIBLEINK] = {.built = true, .promises = true},
    [CUTTLE_AMIN] = {.built = true,
                     .promises = true,
                     .choose = method_amin_choose,
                     .claim = method_amin_claim,
                     .caps = method_amin_caps,
                     .build = method_amin_build},
    [CUTTLE_PMIXED] = {.built = true,
                       .promises = true,
                       .choose = method_pmixed_choose,
                       .claim = method_pmixed_claim,
                       .build = method_pmixed_build},
    [CUTTLE_ADAPMIXED] = {.built = true,
                          .choose = method_adapmixed_choose,
                          .claim = method_adapmixed_claim,
                          .build = method_adapmixed_build},
    [CUTTLE_DP_DECODING] = {.built = true,
                            .promises = true,
                            .most_batch = 1,
                            .choose = method_decoding_choose,
                            .claim = method_decoding_claim,
                            .pair = method_decoding_pair,
                            .build = method_decoding_build},
    [CUTTLE_DP_PROMPT] = {.built = true,
                          .promises = true,
                          .most_batch = 1,
                          .choose = method_prompt_choose,
                          .claim = method_prompt_claim,
                          .pair = method_prompt_pair,
                          .build = method_prompt_build},
    [CUTTLE_NONE] = {.built = true,
                     .choose = method_none_choose,
                     .claim = method_none_claim,
                     .build = method_none_build},
};

enum { FAULT_BYTES = 256 };

const struct method *method_of(enum cuttle_method method) {
	REQUIRE((unsigned)method < CUTTLE_METHODS);
	return &METHODS[method];
}

bool cuttle_method_promises(enum cuttle_method method) {
	return (unsigned)method < CUTTLE_METHODS && METHODS[method].promises;
}

static bool is_field_given(const struct cuttle_method_field *field,
                           const struct cuttle_method_params *params) {
	const void *at = (const char *)params + field->offset;
	if (field->kind == CUTTLE_FIELD_REAL) return !isnan(*(const double *)at);
	return field->kind == CUTTLE_FIELD_COUNT ? *(const uint32_t *)at != 0 : *(const bool *)at;
}

const char *cuttle_method_fault(enum cuttle_method method,
                                const struct cuttle_method_params *params) {
	static _Thread_local char fault[FAULT_BYTES];
	if ((unsigned)method >= CUTTLE_METHODS) return "there is no such method";
	const char *name = cuttle_method_name(method);
	if (!METHODS[method].promises && !params->not_private) {
		(void)snprintf(fault, sizeof fault,
		               "--method %s protects nothing: its texts are stamped NOT PRIVATE. "
		               "If that is what you want, say so with --not-private",
		               name);
		return fault;
	}
	if (!METHODS[method].built) {
		(void)snprintf(fault, sizeof fault, "this version has no method %s", name);
		return fault;
	}
	size_t count;
	const struct cuttle_method_field *fields = cuttle_method_fields(&count);
	for (size_t i = 0; i < count; i++) {
		if (!is_field_given(&fields[i], params) || fields[i].methods >> method & 1)
			continue;
		char option[32];
		(void)snprintf(option, sizeof option, "%s", fields[i].name);
		for (char *c = option; *c; c++)
			if (*c == '_') *c = '-';
		(void)snprintf(fault, sizeof fault, "--%s: method %s has no such parameter", option,
		               name);
		return fault;
	}
	return METHODS[method].promises && params->not_private
	           ? "--not-private is for methods that promise nothing: none and adapmixed"
	           : NULL;
}

enum cuttle_status method_check(const struct cuttle_plan_params *p, struct cuttle_error *error) {
	const char *fault = cuttle_method_fault(p->method, &p->method_params);
	if (fault) return status_fail(error, CUTTLE_USAGE, "%s", fault);
	if (p->method == CUTTLE_INVISIBLEINK) return CUTTLE_OK;
	const struct method *method = &METHODS[p->method];
	const char *name = cuttle_method_name(p->method);
	if (p->lot_count || p->histogram)
		return status_fail(error, CUTTLE_USAGE,
		                   "lots and private categories are for method invisibleink alone");
	if (p->spread > 1)
		return status_fail(
		    error, CUTTLE_USAGE,
		    "persons with several records are for method invisibleink alone");
	if (p->gain != 0.0 || !isnan(p->clip))
		return status_fail(error, CUTTLE_USAGE,
		                   "clip and gain are for method invisibleink alone");
	if (method->most_batch && p->batch > method->most_batch)
		return status_fail(error, CUTTLE_USAGE,
		                   "method %s writes a text from one reference: give -B 1", name);
	return CUTTLE_OK;
}

struct method_caps method_caps_of(const struct cuttle_guarantee *g) {
	struct method_caps caps = {.paid = g->tokens,
	                           .free = g->savings.free_tokens,
	                           .length = g->tokens + g->savings.free_tokens};
	if (METHODS[g->method].caps) METHODS[g->method].caps(g, &caps);
	return caps;
}

/* By what the numbers of the claim say; what is spent may follow from the data all the same. */
static enum cuttle_claim_kind kind_of_claim(const struct dp_claim *claim) {
	if (claim->threshold > 0.0L) return CUTTLE_CLAIM_RHO;
	if (claim->eta > 0.0L) return CUTTLE_CLAIM_RANGE;
	return claim->event.count ? CUTTLE_CLAIM_ORDER : CUTTLE_CLAIM_NOTHING;
}

void method_describe(const struct dp_claim *claim, struct cuttle_guarantee *g) {
	const enum cuttle_claim_kind kind = kind_of_claim(claim);
	struct dp_rdp_event all = claim->event;
	all.count *= claim->units;
	g->claim = (struct cuttle_method_claim){.kind = claim->data_dependent ? CUTTLE_CLAIM_NOTHING
	                                                                      : kind,
	                                        .null_is_public = claim->null == DP_NULL_IS_PUBLIC,
	                                        .units = claim->units,
	                                        .unit = (double)NAN,
	                                        .loss = (double)NAN,
	                                        .epsilon_pair = (double)NAN,
	                                        .epsilon_worst = (double)NAN};
	if (kind == CUTTLE_CLAIM_RANGE) g->claim.unit = round_up(claim->eta * (1.0L + SIMPLE));
	if (kind == CUTTLE_CLAIM_RHO) {
		struct dp_claim one = *claim;
		one.units = 1;
		g->claim.unit = dp_claim_rho(&one);
	}
	if (kind == CUTTLE_CLAIM_ORDER) {
		g->claim.order = (uint32_t)claim->event.order;
		g->claim.unit = dp_rdp_loss(&claim->event, 1, claim->event.order);
		g->claim.loss = dp_rdp_loss(&all, 1, claim->event.order);
	}
	if (METHODS[g->method].pair) g->claim.epsilon_pair = METHODS[g->method].pair(g);
}

/* The epsilon by zCDP, or the sum of all units' ranges where that is less; and, of a bounded range,
 * that by exact composition. Beyond its limits the latter has no number, and the former is told
 * instead. */
static enum cuttle_status account_rho(const struct dp_claim *claim, struct cuttle_guarantee *g,
                                      struct cuttle_error *error) {
	const long double pure = claim->units * claim->eta * (1.0L + SIMPLE);
	g->rho = dp_claim_rho(claim);
	g->epsilon = dp_claim_epsilon(claim, g->delta);
	if (g->claim.kind == CUTTLE_CLAIM_RANGE && round_up(pure) < g->epsilon)
		g->epsilon = round_up(pure);
	if (g->claim.kind == CUTTLE_CLAIM_RHO) {
		g->accountant = CUTTLE_ZCDP;
		return CUTTLE_OK;
	}
	const enum dp_status answer = dp_claim_exact(claim, g->delta, &g->epsilon_exact);
	if (answer != DP_BAD_PARAMETER) return plan_status(answer, error);
	g->accountant = CUTTLE_ZCDP;
	return CUTTLE_OK;
}

enum cuttle_status method_account(const struct dp_claim *claim, struct cuttle_guarantee *g,
                                  struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	method_describe(claim, g);
	g->rho = g->epsilon = g->epsilon_exact = (double)NAN;
	if (g->claim.kind == CUTTLE_CLAIM_RANGE || g->claim.kind == CUTTLE_CLAIM_RHO)
		status = account_rho(claim, g, error);
	if (g->claim.order)
		*(claim->data_dependent ? &g->claim.epsilon_worst : &g->epsilon) =
		    dp_rdp_epsilon_at(g->claim.loss, g->claim.order, g->delta);
	if (g->claim.kind == CUTTLE_CLAIM_ORDER) g->accountant = CUTTLE_RENYI;
	if (g->claim.kind == CUTTLE_CLAIM_NOTHING) g->accountant = CUTTLE_ZCDP;
	g->epsilon_if_known = g->accountant == CUTTLE_EXACT ? g->epsilon_exact : g->epsilon;
	g->delta_if_known = g->delta;
	return status;
}

enum cuttle_status cuttle_method_account(struct cuttle_guarantee *g, struct cuttle_error *error) {
	REQUIRE(g);
	if ((unsigned)g->method >= CUTTLE_METHODS || !METHODS[g->method].claim)
		return status_fail(error, CUTTLE_USAGE, "the method has no claim of its own");
	if (!(g->delta >= 1e-300 && g->delta < 1.0))
		return status_fail(error, CUTTLE_USAGE, "delta must be above 0 and below 1");
	const uint32_t most = METHODS[g->method].most_batch;
	if (most && (g->batch < 1 || g->batch > most))
		return status_fail(error, CUTTLE_USAGE,
		                   "method %s writes a text from one reference",
		                   cuttle_method_name(g->method));
	struct dp_claim claim;
	const enum dp_status status = METHODS[g->method].claim(g, &claim);
	return status ? plan_status(status, error) : method_account(&claim, g, error);
}
