// SPDX-License-Identifier: Apache-2.0
// method_none.c: see method_none.h. It stands outside dp/, since no line of a proof needs it.
#include "engine/run/methods/method_none.h"

#include "base/misuse.h"
#include "dp/draw.h"
#include "engine/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct bare_draw {
	size_t count;            /* tokens that may be drawn */
	uint32_t batch;          /* B */
	uint32_t tokens;         /* T */
	uint32_t spent;          /* paid tokens of this batch */
	double temperature;      /* tau */
	bool alone;              /* the open step has no private row */
	uint32_t *candidates;    /* [count] ascending */
	double *public_logits;   /* [count] of the open step */
	double *logits;          /* [count] with the private rows' shares; private */
	struct dp_wide *weights; /* [count] private */
	struct dp_random random;
};

static void begin_bare_step(void *self, uint32_t places, uint32_t spent) {
	struct bare_draw *d = self;
	REQUIRE(places <= d->batch);
	d->spent = spent;
}

static enum dp_status open_bare_step(void *self, const float *public_row, bool may_be_free,
                                     struct dp_wanted *wanted) {
	struct bare_draw *d = self;
	*wanted = (struct dp_wanted){.place = DP_EVERY_PLACE};
	d->alone = d->spent >= d->tokens;
	if (d->alone && !may_be_free) return DP_SPENT;
	for (size_t i = 0; i < d->count; i++) {
		const float logit = public_row[d->candidates[i]];
		if (!isfinite(logit)) return DP_PUBLIC_NOT_FINITE;
		d->public_logits[i] = d->logits[i] = logit;
	}
	if (!d->alone) *wanted = (struct dp_wanted){d->candidates, d->count, DP_EVERY_PLACE};
	return DP_OK;
}

static void add_bare_row(void *self, uint32_t place, const float *logits) {
	struct bare_draw *d = self;
	REQUIRE(place < d->batch && !d->alone);
	for (size_t i = 0; i < d->count; i++)
		if (!isfinite(logits[i])) return;
	for (size_t i = 0; i < d->count; i++)
		d->logits[i] += ((double)logits[i] - d->public_logits[i]) / d->batch;
}

/* The weights' logarithms, for audits. */
static void tell_bare_law(void *self, double *ln_w) {
	const struct bare_draw *d = self;
	for (size_t i = 0; i < d->count; i++) ln_w[i] = d->logits[i] / d->temperature;
}

static enum dp_status draw_bare_token(void *self, uint32_t *token, enum dp_fate *fate) {
	struct bare_draw *d = self;
	double most = d->logits[0];
	for (size_t i = 1; i < d->count; i++) most = fmax(most, d->logits[i]);
	// 62 bits: a token below e^-43 of the likeliest one is never drawn.
	for (size_t i = 0; i < d->count; i++)
		d->weights[i] = (struct dp_wide){
		    .low = (uint64_t)ldexp(exp((d->logits[i] - most) / d->temperature), 62)};
	size_t drawn;
	const enum dp_status status = dp_draw(d->weights, d->count, &d->random, &drawn);
	if (status) return status;
	*token = d->candidates[drawn];
	*fate = d->alone ? DP_FREE : DP_PAID;
	return DP_OK;
}

static void free_bare_draw(void *self) {
	struct bare_draw *d = self;
	if (d->logits) explicit_bzero(d->logits, d->count * sizeof *d->logits);
	if (d->weights) explicit_bzero(d->weights, d->count * sizeof *d->weights);
	free(d->candidates);
	free(d->public_logits);
	free(d->logits);
	free(d->weights);
	free(d);
}

enum dp_status method_none_claim(const struct cuttle_guarantee *guarantee, struct dp_claim *claim) {
	*claim = (struct dp_claim){.units = guarantee->tokens};
	return DP_OK;
}

enum cuttle_status method_none_choose(const struct cuttle_plan_params *params,
                                      struct cuttle_guarantee *guarantee,
                                      struct cuttle_error *error) {
	guarantee->top_k = 0;
	if (!isnan(params->epsilon))
		return status_fail(error, CUTTLE_USAGE,
		                   "method none has no epsilon: it promises nothing; leave out -e");
	return params->savings.public_when > 0
	           ? status_fail(error, CUTTLE_USAGE, "method none has no --public-when")
	           : CUTTLE_OK;
}

enum dp_status method_none_build(const struct method_parts *parts, struct dp_mechanism *out) {
	const struct cuttle_guarantee *g = parts->guarantee;
	struct bare_draw *d = calloc(1, sizeof *d);
	*out = (struct dp_mechanism){0};
	if (!d) return DP_NO_MEMORY;
	for (size_t y = 0; y < parts->vocab; y++) d->count += parts->allowed[y] != 0;
	d->batch = g->batch;
	d->tokens = g->tokens;
	d->temperature = g->temperature;
	d->random = parts->random;
	d->candidates = calloc(d->count + 1, sizeof *d->candidates);
	d->public_logits = calloc(d->count + 1, sizeof *d->public_logits);
	d->logits = calloc(d->count + 1, sizeof *d->logits);
	d->weights = calloc(d->count + 1, sizeof *d->weights);
	const bool all = d->candidates && d->public_logits && d->logits && d->weights;
	if (!all || !d->count) {
		free_bare_draw(d);
		return all ? DP_BAD_PARAMETER : DP_NO_MEMORY;
	}
	for (size_t y = 0, next = 0; y < parts->vocab; y++)
		if (parts->allowed[y]) d->candidates[next++] = (uint32_t)y;
	*out = (struct dp_mechanism){.self = d,
	                             .begin = begin_bare_step,
	                             .open = open_bare_step,
	                             .row = add_bare_row,
	                             .draw = draw_bare_token,
	                             .free = free_bare_draw,
	                             .law = tell_bare_law};
	return method_none_claim(g, &out->claim);
}
