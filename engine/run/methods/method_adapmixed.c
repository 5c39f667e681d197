// SPDX-License-Identifier: Apache-2.0
// method_adapmixed.c: see method_adapmixed.h. It stands outside dp/, since no line of a proof needs
// it. Shares come from dp/share.c, so rows that are near the public one are mixed in whole.
#include "engine/run/methods/method_adapmixed.h"

#include "base/misuse.h"
#include "dp/account.h"
#include "dp/draw.h"
#include "dp/fixed.h"
#include "dp/rdp.h"
#include "dp/rounding.h"
#include "dp/rowlaw.h"
#include "dp/share.h"
#include "dp/topk.h"
#include "engine/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The settings of the paper. */
enum {
	ORDER = 15,   /* alpha */
	SCREENED = 60 /* likeliest tokens of the public law that the noisy mean is compared on */
};
static const double DIVERGENCE = 4.5;     /* alpha beta, of a row and of the noisy mean */
static const double SCREEN_WEIGHT = 1e-4; /* of the rows in that mean */
static const double SCREEN_NOISE = 0.01;  /* standard deviation of each of its probabilities */
static const double PI_TWICE = 6.283185307179586;

struct adaptive_draw {
	struct dp_rowlaw rowlaw;
	struct dp_random random;
	uint32_t batch;  /* B */
	uint32_t tokens; /* T */
	uint32_t top_k;  /* k */
	size_t vocab;
	double divergence;
	double most_loss;        /* at order 15, of a text; infinite where -e was not given */
	uint8_t *allowed;        /* [vocab] */
	int32_t *fixed;          /* [vocab] */
	int32_t *heap;           /* [min(k, vocab)] */
	uint32_t *candidates;    /* [vocab], the first `count` in use; so below */
	float *logits;           /* [vocab] the public row's */
	uint64_t *public_law;    /* [vocab] sums to 2^46 */
	uint64_t *laws;          /* [batch][vocab] of the rows; private, as all below */
	bool *present;           /* [batch] the row has come, and is finite */
	double *mean;            /* [vocab] 1 together */
	struct dp_wide *weights; /* [vocab] */
	double losses[DP_MECHANISM_SLOTS]; /* of the text in each slot, at order 15 */
	double normals[SCREENED]; /* noise of the step's screen; an audit's worlds share it */
	double *past;             /* of an audit: the losses of its world; not freed here */
	double step_loss;         /* what the step adds to the losses */
	size_t count;
	size_t normal_count;
	uint32_t slot;
	uint32_t spent;
	bool alone; /* the open step has no private row */
};

static void turn_to_adaptive(void *self, uint32_t slot, bool fresh) {
	struct adaptive_draw *d = self;
	REQUIRE(slot < DP_MECHANISM_SLOTS);
	d->slot = slot;
	if (fresh) d->losses[slot] = 0.0;
}

static void begin_adaptive_step(void *self, uint32_t places, uint32_t spent) {
	struct adaptive_draw *d = self;
	REQUIRE(places <= d->batch);
	d->spent = spent;
	memset(d->present, 0, d->batch * sizeof *d->present);
}

static enum dp_status open_adaptive_step(void *self, const float *public_row, bool may_be_free,
                                         struct dp_wanted *wanted) {
	struct adaptive_draw *d = self;
	*wanted = (struct dp_wanted){.place = DP_EVERY_PLACE};
	d->alone = d->spent >= d->tokens;
	if (d->alone && !may_be_free) return DP_SPENT;
	d->count = 0;
	if (!dp_fix(public_row, d->vocab, DP_ROWLAW_FRACTION_BITS, d->fixed))
		return DP_PUBLIC_NOT_FINITE;
	d->count = dp_topk(d->fixed, d->allowed, d->vocab, d->top_k, 1, 0, d->heap, d->candidates);
	for (size_t i = 0; i < d->count; i++) d->logits[i] = public_row[d->candidates[i]];
	if (!dp_rowlaw_make(&d->rowlaw, d->logits, d->count, d->public_law))
		return DP_PUBLIC_NOT_FINITE;
	if (!d->alone) *wanted = (struct dp_wanted){d->candidates, d->count, DP_EVERY_PLACE};
	d->normal_count = 0;
	return DP_OK;
}

static void take_adaptive_row(void *self, uint32_t place, const float *logits) {
	struct adaptive_draw *d = self;
	REQUIRE(place < d->batch && !d->alone);
	d->present[place] =
	    dp_rowlaw_make(&d->rowlaw, logits, d->count, d->laws + place * d->vocab);
}

/* ln(sum of p^15 q^-14) / 14. */
static double divergence_of(const double *p, const double *q, size_t n) {
	double sum = 0.0;
	for (size_t i = 0; i < n; i++)
		if (p[i] > 0.0) sum += p[i] * pow(p[i] / q[i], ORDER - 1);
	return log(sum) / (ORDER - 1);
}

/* Standard normal, by Box and Muller. */
static enum dp_status draw_screen_noise(const struct dp_random *random, double *normal) {
	uint64_t bits[2];
	const enum dp_status status = random->fill(random->user, bits, sizeof bits);
	const double first = ((double)(bits[0] >> 11) + 1.0) * 0x1p-53,
	             second = (double)(bits[1] >> 11) * 0x1p-53;
	*normal = status ? 0.0 : sqrt(-2.0 * log(first)) * cos(PI_TWICE * second);
	return status;
}

/* The noise of a rank, drawn where nobody has asked for it in this step. */
static enum dp_status ask_screen_noise(struct adaptive_draw *d, size_t rank, double *normal) {
	enum dp_status status = DP_OK;
	while (status == DP_OK && d->normal_count <= rank) {
		status = draw_screen_noise(&d->random, &d->normals[d->normal_count]);
		d->normal_count += status == DP_OK;
	}
	*normal = status ? 0.0 : d->normals[rank];
	return status;
}

/* Whether the noisy mean is too far from the public law. Of the SCREENED likeliest tokens each gets
 * noise; what falls to 0 or below is left out, and the rest has sum 1 again. */
static enum dp_status screen_step(struct adaptive_draw *d, bool *is_far) {
	double noisy[SCREENED], public[SCREENED], sum = 0.0, public_sum = 0.0;
	const size_t kept = d->count < SCREENED ? d->count : SCREENED;
	uint64_t below = UINT64_MAX;
	enum dp_status status = DP_OK;
	size_t n = 0;
	for (size_t rank = 0; rank < kept; rank++) {
		size_t best = d->count;
		for (size_t i = 0; i < d->count; i++)
			if (d->public_law[i] < below &&
			    (best == d->count || d->public_law[i] > d->public_law[best]))
				best = i;
		if (best == d->count) break; // of equal ones the first stands for all
		below = d->public_law[best];
		double mean = 0.0, normal;
		for (uint32_t j = 0; j < d->batch; j++)
			mean += (double)(d->present[j] ? d->laws[j * d->vocab + best]
			                               : d->public_law[best]);
		if ((status = ask_screen_noise(d, rank, &normal))) return status;
		const double p = (double)below * 0x1p-46,
		             q = SCREEN_WEIGHT * mean / d->batch * 0x1p-46 +
		                 (1.0 - SCREEN_WEIGHT) * p + SCREEN_NOISE * normal;
		public_sum += p;
		if (!(q > 0.0)) continue;
		sum += q;
		noisy[n] = q;
		public[n++] = p;
	}
	for (size_t i = 0; i < n; i++) {
		noisy[i] /= sum;
		public[i] /= public_sum;
	}
	*is_far = n == 0 || divergence_of(noisy, public, n) > d->divergence;
	explicit_bzero(noisy, sizeof noisy);
	return DP_OK;
}

/* Mixes each law so far as it may be, in its place, and adds them up. */
static void mix_rows(struct adaptive_draw *d, double cap) {
	for (size_t i = 0; i < d->count; i++) d->mean[i] = 0.0;
	for (uint32_t j = 0; j < d->batch; j++) {
		uint64_t *law = d->laws + j * d->vocab;
		const uint64_t share =
		    d->present[j] ? dp_share_bounded(d->public_law, law, d->count, ORDER, cap) : 0;
		for (size_t i = 0; i < d->count; i++) {
			law[i] = (DP_SHARE_ONE - share) * d->public_law[i] + share * law[i];
			d->mean[i] += (double)law[i] * 0x1p-62 / d->batch;
		}
	}
}

/* The largest divergence, either way round, that one row's becoming null makes. */
static double loss_of_step(struct adaptive_draw *d, double *without) {
	double most = 0.0;
	for (uint32_t j = 0; j < d->batch; j++) {
		if (!d->present[j]) continue;
		const uint64_t *law = d->laws + j * d->vocab;
		for (size_t i = 0; i < d->count; i++)
			without[i] = d->mean[i] + ((double)d->public_law[i] * 0x1p-46 -
			                           (double)law[i] * 0x1p-62) /
			                              d->batch;
		most = fmax(most, divergence_of(d->mean, without, d->count));
		most = fmax(most, divergence_of(without, d->mean, d->count));
	}
	return most;
}

/* Sets the weights to draw by, and what the step costs a text that has lost so much. Sums below
 * 2^62 2^16. */
static enum dp_status weigh_step(struct adaptive_draw *d, double lost) {
	bool is_public = d->alone;
	d->step_loss = 0.0;
	enum dp_status status = is_public ? DP_OK : screen_step(d, &is_public);
	if (status) return status;
	if (!is_public) {
		double *without = calloc(d->count, sizeof *without);
		if (!without) return DP_NO_MEMORY;
		mix_rows(d, dp_share_cap(ORDER, d->divergence));
		const double loss = loss_of_step(d, without);
		explicit_bzero(without, d->count * sizeof *without);
		free(without);
		is_public = !(lost + loss <= d->most_loss);
		if (!is_public) d->step_loss = loss;
	}
	for (size_t i = 0; i < d->count; i++) {
		unsigned __int128 sum = d->public_law[i];
		if (!is_public) sum = 0;
		for (uint32_t j = 0; j < d->batch && !is_public; j++)
			sum += d->laws[j * d->vocab + i];
		d->weights[i] = (struct dp_wide){.low = sum};
	}
	return DP_OK;
}

static enum dp_status draw_adaptive_token(void *self, uint32_t *token, enum dp_fate *fate) {
	struct adaptive_draw *d = self;
	size_t drawn;
	enum dp_status status = weigh_step(d, d->losses[d->slot]);
	if (!status) status = dp_draw(d->weights, d->count, &d->random, &drawn);
	if (status) return status;
	d->losses[d->slot] += d->step_loss;
	*token = d->candidates[drawn];
	*fate = d->alone ? DP_FREE : DP_PAID;
	return DP_OK;
}

/* ---- audits. Which law a token has follows from the noise of the screen, too: an audit's odds are
 * those of who knows it, which are at least as far apart as those of the tokens alone. ----------
 */

static enum dp_status retrace_adaptive_step(void *self, void *past, const float *public_row,
                                            bool may_be_free, struct dp_wanted *wanted) {
	struct adaptive_draw *d = self;
	const size_t kept = d->normal_count;
	double ignored;
	enum dp_status status = open_adaptive_step(self, public_row, may_be_free, wanted);
	d->past = past;
	if (status || !past || d->alone) return status;
	d->normal_count = kept;
	return ask_screen_noise(d, SCREENED - 1, &ignored);
}

static void tell_adaptive_law(void *self, double *ln_w) {
	struct adaptive_draw *d = self;
	REQUIRE(d->past && !d->alone);
	/* The noise is there already; only memory may be wanting. */
	const enum dp_status status = weigh_step(d, *d->past);
	for (size_t i = 0; i < d->count; i++)
		ln_w[i] = status ? (double)NAN : log((double)d->weights[i].low);
}

static void pass_adaptive_step(void *self, enum dp_fate fate) {
	const struct adaptive_draw *d = self;
	if (fate == DP_PAID) *d->past += d->step_loss;
}

static void free_adaptive_draw(void *self) {
	struct adaptive_draw *d = self;
	if (d->laws) explicit_bzero(d->laws, d->batch * d->vocab * sizeof *d->laws);
	if (d->mean) explicit_bzero(d->mean, d->vocab * sizeof *d->mean);
	if (d->weights) explicit_bzero(d->weights, d->vocab * sizeof *d->weights);
	dp_rowlaw_release(&d->rowlaw);
	free(d->allowed);
	free(d->fixed);
	free(d->heap);
	free(d->candidates);
	free(d->logits);
	free(d->public_law);
	free(d->laws);
	free(d->present);
	free(d->mean);
	free(d->weights);
	explicit_bzero(d, sizeof *d);
	free(d);
}

static bool adaptive_params_fit(const struct cuttle_guarantee *g) {
	const double c = g->method_params.divergence;
	const double budget = g->method_params.record_budget;
	return g->batch >= 1 && g->tokens >= 1 && positive(c) &&
	       (isnan(budget) || positive(budget)) && (ORDER - 1) * c <= DP_SHARE_EXPONENT;
}

enum cuttle_status method_adapmixed_choose(const struct cuttle_plan_params *p,
                                           struct cuttle_guarantee *g, struct cuttle_error *error) {
	struct cuttle_method_params *m = &g->method_params;
	if (isnan(m->divergence)) m->divergence = DIVERGENCE;
	if (!isnan(p->epsilon) && !positive(p->epsilon))
		return status_fail(error, CUTTLE_USAGE, "epsilon is out of range");
	if (p->savings.public_when > 0)
		return status_fail(error, CUTTLE_USAGE, "method adapmixed has no --public-when");
	if (!isnan(p->epsilon)) {
		m->record_budget = dp_rdp_loss_at(p->epsilon, ORDER, p->delta);
		if (!positive(m->record_budget))
			return status_fail(error, CUTTLE_BUDGET,
			                   "at order %d epsilon is above %.4f: raise -e", ORDER,
			                   dp_rdp_epsilon_at(0.0, ORDER, p->delta));
	}
	return adaptive_params_fit(g)
	           ? CUTTLE_OK
	           : status_fail(error, CUTTLE_USAGE, "--divergence must lie between 0 and 50");
}

/* What T tokens cost at worst (dp/PRIVACY.md, after step 51). Whether a token reads the rows
 * follows from the rows. So it may be public in one world and not in the other, and B divides
 * nothing. */
enum dp_status method_adapmixed_claim(const struct cuttle_guarantee *g, struct dp_claim *claim) {
	if (!adaptive_params_fit(g)) return DP_BAD_PARAMETER;
	*claim = (struct dp_claim){.null = DP_NULL_IS_PUBLIC,
	                           .units = g->tokens,
	                           .event = {.kind = DP_RDP_MIXTURE,
	                                     .count = 1,
	                                     .size = g->method_params.divergence,
	                                     .order = ORDER,
	                                     .parts = 1},
	                           .data_dependent = true};
	return DP_OK;
}

static bool allocate_adaptive(struct adaptive_draw *d) {
	const size_t n = d->vocab, k = d->top_k && d->top_k < n ? d->top_k : n;
	d->allowed = calloc(n, sizeof *d->allowed);
	d->fixed = calloc(n, sizeof *d->fixed);
	d->heap = calloc(k, sizeof *d->heap);
	d->candidates = calloc(n, sizeof *d->candidates);
	d->logits = calloc(n, sizeof *d->logits);
	d->public_law = calloc(n, sizeof *d->public_law);
	d->laws = calloc(n * d->batch, sizeof *d->laws);
	d->present = calloc(d->batch, sizeof *d->present);
	d->mean = calloc(n, sizeof *d->mean);
	d->weights = calloc(n, sizeof *d->weights);
	return d->allowed && d->fixed && d->heap && d->candidates && d->logits && d->public_law &&
	       d->laws && d->present && d->mean && d->weights;
}

enum dp_status method_adapmixed_build(const struct method_parts *parts, struct dp_mechanism *out) {
	const struct cuttle_guarantee *g = parts->guarantee;
	*out = (struct dp_mechanism){0};
	if (parts->vocab < 1 || parts->vocab > DP_ROWLAW_MOST) return DP_BAD_PARAMETER;
	struct adaptive_draw *d = calloc(1, sizeof *d);
	if (!d) return DP_NO_MEMORY;
	d->batch = g->batch;
	d->tokens = g->tokens;
	d->top_k = g->top_k;
	d->vocab = parts->vocab;
	d->divergence = g->method_params.divergence;
	const double budget = g->method_params.record_budget;
	d->most_loss = isnan(budget) ? (double)INFINITY : budget;
	d->random = parts->random;
	int64_t num, den;
	enum dp_status status = allocate_adaptive(d) ? DP_OK : DP_NO_MEMORY;
	if (!status) status = dp_temperature_ratio(g->temperature, &num, &den);
	if (!status) status = dp_rowlaw_init(&d->rowlaw, num, den);
	if (status) {
		free_adaptive_draw(d);
		return status;
	}
	memcpy(d->allowed, parts->allowed, d->vocab);
	*out = (struct dp_mechanism){.self = d,
	                             .turn = turn_to_adaptive,
	                             .begin = begin_adaptive_step,
	                             .open = open_adaptive_step,
	                             .row = take_adaptive_row,
	                             .draw = draw_adaptive_token,
	                             .free = free_adaptive_draw,
	                             .law = tell_adaptive_law,
	                             .retrace = retrace_adaptive_step,
	                             .past_size = sizeof(double),
	                             .passed = pass_adaptive_step};
	return method_adapmixed_claim(g, &out->claim);
}
