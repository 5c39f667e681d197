// SPDX-License-Identifier: Apache-2.0
// complete_draw.c: see complete_draw.h. The row is first reduced to the tokens that may be drawn.
#include "engine/run/loop/complete_draw.h"

#include "dp/account.h"
#include "dp/draw.h"
#include "dp/rowlaw.h"
#include "engine/run/plan/plan.h"
#include "engine/status.h"

#include <math.h>
#include <stdlib.h>

struct completion_draw {
	struct region region;    /* the arrays below */
	uint32_t *tokens;        /* [count] those that may be drawn, ascending */
	float *logits;           /* [count] of the open step */
	uint64_t *law;           /* [count] its law; NULL = the likeliest token is taken */
	struct dp_wide *weights; /* [count] the same, as dp_draw wants it */
	size_t count;
	struct dp_rowlaw rowlaw;
	struct dp_random random;
};

static void begin_completion(void *self, uint32_t places, uint32_t spent) {
	(void)self;
	(void)places;
	(void)spent;
}

static enum dp_status open_completion(void *self, const float *row, bool may_be_free,
                                      struct dp_wanted *wanted) {
	struct completion_draw *d = self;
	(void)may_be_free;
	*wanted = (struct dp_wanted){0};
	float least = 0;
	bool any = false;
	for (size_t i = 0; i < d->count; i++) {
		const float logit = d->logits[i] = row[d->tokens[i]];
		if (!isfinite(logit)) continue;
		if (!any || logit < least) least = logit;
		any = true;
	}
	for (size_t i = 0; i < d->count; i++)
		if (!isfinite(d->logits[i])) d->logits[i] = least;
	return DP_OK;
}

/* No private row is ever wanted. */
static void take_no_row(void *self, uint32_t place, const float *logits) {
	(void)self;
	(void)place;
	(void)logits;
}

static size_t find_likeliest(const struct completion_draw *d) {
	size_t best = 0;
	for (size_t i = 1; i < d->count; i++)
		if (d->logits[i] > d->logits[best]) best = i;
	return best;
}

static enum dp_status draw_completion(void *self, uint32_t *token, enum dp_fate *fate) {
	struct completion_draw *d = self;
	size_t index;
	*fate = DP_FREE;
	if (!d->law) {
		index = find_likeliest(d);
	} else {
		// All logits are finite here, so a law comes out.
		(void)dp_rowlaw_make(&d->rowlaw, d->logits, d->count, d->law);
		for (size_t i = 0; i < d->count; i++)
			d->weights[i] = (struct dp_wide){.low = d->law[i]};
		const enum dp_status status = dp_draw(d->weights, d->count, &d->random, &index);
		if (status) return status;
	}
	*token = d->tokens[index];
	return DP_OK;
}

static void free_completion(void *self) {
	struct completion_draw *d = self;
	dp_rowlaw_release(&d->rowlaw);
	region_unmap(&d->region, true);
	free(d);
}

/* Maps the arrays for the tokens that may be drawn. */
static enum cuttle_status map_draw(struct completion_draw *d, const struct model *model, bool drawn,
                                   struct cuttle_error *error) {
	size_t total = 0;
	for (size_t i = 0; i < model->vocab_size; i++)
		d->count += vocab_drawable(model->vocab, (int32_t)i);
	const size_t laws = drawn ? d->count : 0;
	if (!d->count) return status_fail(error, CUTTLE_USAGE, "the model has no token to draw");
	if (laws > DP_ROWLAW_MOST)
		return status_fail(error, CUTTLE_USAGE,
		                   "at a temperature the vocabulary has at most %zu tokens",
		                   DP_ROWLAW_MOST);
	if (!region_add(&total, d->count, sizeof *d->tokens) ||
	    !region_add(&total, d->count, sizeof *d->logits) ||
	    !region_add(&total, laws, sizeof *d->law) ||
	    !region_add(&total, laws, sizeof *d->weights) || !region_map(&d->region, total, true))
		return status_fail(error, CUTTLE_NOMEM, "out of memory");
	const enum cuttle_status status = model->lock ? region_lock(&d->region, error) : CUTTLE_OK;
	if (status) return status;
	d->tokens = region_carve(&d->region, d->count * sizeof *d->tokens);
	d->logits = region_carve(&d->region, d->count * sizeof *d->logits);
	if (laws) d->law = region_carve(&d->region, laws * sizeof *d->law);
	if (laws) d->weights = region_carve(&d->region, laws * sizeof *d->weights);
	for (size_t i = 0, next = 0; i < model->vocab_size; i++)
		if (vocab_drawable(model->vocab, (int32_t)i)) d->tokens[next++] = (uint32_t)i;
	return CUTTLE_OK;
}

enum cuttle_status complete_draw_new(const struct model *model, double temperature,
                                     const struct dp_random *random, struct dp_mechanism *mechanism,
                                     struct cuttle_error *error) {
	struct completion_draw *d = calloc(1, sizeof *d);
	if (!d) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	const bool drawn = temperature != 0;
	int64_t num, den;
	d->random = *random;
	enum cuttle_status status = map_draw(d, model, drawn, error);
	if (!status && drawn) {
		enum dp_status made = dp_temperature_ratio(temperature, &num, &den);
		if (!made) made = dp_rowlaw_init(&d->rowlaw, num, den);
		if (made == DP_BAD_PARAMETER)
			status = status_fail(error, CUTTLE_USAGE,
			                     "temperature must be 0, or in 0.000001..16");
		else status = plan_status(made, error);
	}
	if (status) {
		free_completion(d);
		return status;
	}
	*mechanism = (struct dp_mechanism){.self = d,
	                                   .begin = begin_completion,
	                                   .open = open_completion,
	                                   .row = take_no_row,
	                                   .draw = draw_completion,
	                                   .free = free_completion};
	return CUTTLE_OK;
}
