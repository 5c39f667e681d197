// SPDX-License-Identifier: Apache-2.0
// fusion.c: the steps of fusion.h, in the order open, row, draw. At the end stands the table of
// dp/mechanism.h over them.
//
// The parts stand in files of their own: fixed.c (L), topk.c (V+), rowlaw.c (a and b), share.c (l),
// record_filter.c (what a place may still cost). Here they meet. All memory is allocated once, in
// dp_fusion_new, so no step can fail for want of it.
#include "dp/fusion.h"

#include "base/misuse.h"
#include "dp/draw.h"
#include "dp/fixed.h"
#include "dp/mixture_account.h"
#include "dp/record_filter.h"
#include "dp/rounding.h"
#include "dp/rowlaw.h"
#include "dp/share.h"
#include "dp/topk.h"

#include <stdlib.h>
#include <string.h>

#define MILLION 1000000

/* Where a batch stands. The theorem composes over steps in the order open, row, draw. So the code
 * enforces this order. */
enum fusion_stage {
	FUSION_NEW,      /* no batch yet */
	FUSION_BEGUN,    /* between two steps */
	FUSION_OPEN,     /* in a paid step: its row may come */
	FUSION_MIXED,    /* in a paid step: its row has come */
	FUSION_ALONE,    /* in a step of the public law alone: no row can be added */
	FUSION_RETRACED, /* in a step of an audit: all rows may come, and nothing is drawn */
	FUSION_SILENT    /* the random source has failed: nothing is ever drawn again */
};

struct dp_fusion {
	struct dp_fusion_params params; /* allowed points to our copy, divergences to none */
	struct dp_rowlaw rowlaw;
	enum fusion_stage stage;
	const uint8_t
	    *now;        /* [vocab] what may be drawn in this step, the caller's; NULL = allowed */
	uint32_t places; /* m of this batch */
	uint32_t spent;  /* paid tokens of this batch */
	uint32_t place;  /* the step's place; private */
	uint32_t share;  /* l of the step; private */
	size_t count;    /* candidates of this step */
	double *caps;    /* [most_places] what dp/share.h is given, without the m^2 of CAPPED */
	struct dp_share_limits limits;   /* RATIO */
	struct dp_record_filter *filter; /* with a budget; private */
	uint8_t *allowed;                /* [vocab], or NULL: every token */
	int32_t *fixed;                  /* [vocab] L of the public row */
	int32_t *heap;                   /* [min(k, vocab)] scratch of dp_topk */
	uint32_t *candidates; /* [vocab], the first `count` in use; so in the three arrays below */
	float *logits;        /* [vocab] the public row's */
	uint64_t *a;          /* [vocab] the public law */
	uint64_t *b;          /* [vocab] the private law; private */
	double *mean;         /* [vocab] of an audit alone: sums of w over places; private */
	uint32_t rows;        /* which ones those sums have */
};

static void *zeroed_array(size_t count, size_t size) {
	return calloc(count > 0 ? count : 1, size);
}

/* FIXED has one place, no other candidates than all, and nothing is sure. */
static bool rule_fits(const struct dp_fusion_params *p) {
	const bool takes_share = p->most_share >= 1 && p->most_share < DP_SHARE_ONE;
	switch (p->rule) {
	case DP_FUSION_BOUNDED:
		return p->order >= 2 && p->order <= DP_SHARE_ORDER;
	case DP_FUSION_CAPPED:
		return p->order == 2 && takes_share;
	case DP_FUSION_RATIO:
		return true;
	case DP_FUSION_FIXED:
		return takes_share && p->most_places == 1 && p->top_k == 0 && p->sure == 0;
	default:
		return false;
	}
}

static bool has_budget(const struct dp_fusion_params *p) {
	return fpclassify(p->budget) != FP_ZERO;
}

static bool divergences_fit(const struct dp_fusion_params *p) {
	const bool alike = p->rule != DP_FUSION_BOUNDED || has_budget(p);
	for (uint32_t i = 0; i < p->most_places; i++) {
		const double c = p->divergences[i], first = p->divergences[0];
		if (!positive(c)) return false;
		if (p->rule == DP_FUSION_RATIO ? c > DP_SHARE_RATIO
		                               : (p->order - 1) * c > DP_SHARE_EXPONENT)
			return false;
		if (alike && (c > first || c < first)) return false;
	}
	return true;
}

static bool budget_fits(const struct dp_fusion_params *p) {
	return !has_budget(p) || (p->rule == DP_FUSION_BOUNDED && positive(p->budget) &&
	                          (p->order - 1) * p->budget <= DP_SHARE_EXPONENT &&
	                          p->most_places <= DP_FILTER_PLACES);
}

static bool fusion_fits(const struct dp_fusion_params *p) {
	if (!rule_fits(p)) return false;
	if (p->least_places < 1 || p->least_places > p->most_places ||
	    p->most_places > DP_FUSION_MOST_PLACES)
		return false;
	if (p->tokens < 1 || p->sure > MILLION) return false;
	if (p->vocab < 1 || p->vocab > DP_ROWLAW_MOST) return false;
	if (p->rule != DP_FUSION_FIXED && !divergences_fit(p)) return false;
	size_t y = 0;
	while (p->allowed && y < p->vocab && !p->allowed[y]) y++;
	return y < p->vocab && budget_fits(p);
}

static enum dp_status allocate_fusion(struct dp_fusion *m, const struct dp_fusion_params *params) {
	const size_t vocab = params->vocab, k = params->top_k < vocab ? params->top_k : vocab;
	m->caps = zeroed_array(params->most_places, sizeof *m->caps);
	m->allowed = zeroed_array(params->allowed ? vocab : 0, 1);
	m->fixed = zeroed_array(vocab, sizeof *m->fixed);
	m->heap = zeroed_array(k, sizeof *m->heap);
	m->candidates = zeroed_array(vocab, sizeof *m->candidates);
	m->logits = zeroed_array(vocab, sizeof *m->logits);
	m->a = zeroed_array(vocab, sizeof *m->a);
	m->b = zeroed_array(vocab, sizeof *m->b);
	if (!m->caps || !m->allowed || !m->fixed || !m->heap || !m->candidates || !m->logits ||
	    !m->a || !m->b)
		return DP_NO_MEMORY;
	const bool fixed = params->rule == DP_FUSION_FIXED, ratio = params->rule == DP_FUSION_RATIO;
	for (uint32_t i = 0; i < params->most_places && !fixed && !ratio; i++)
		m->caps[i] = dp_share_cap(params->order, params->divergences[i]);
	if (ratio) m->limits = dp_share_limits(params->divergences[0]);
	if (has_budget(params)) {
		m->filter = dp_record_filter_new(params->most_places, params->order, params->budget,
		                                 m->caps[0]);
		if (!m->filter) return DP_NO_MEMORY;
	}
	if (params->allowed) memcpy(m->allowed, params->allowed, vocab);
	m->params.allowed = params->allowed ? m->allowed : NULL;
	m->params.divergences = NULL;
	return dp_rowlaw_init(&m->rowlaw, params->temperature_num, params->temperature_den);
}

enum dp_status dp_fusion_new(const struct dp_fusion_params *params, struct dp_fusion **out) {
	REQUIRE(params && out && params->random.fill);
	REQUIRE(params->divergences || params->rule == DP_FUSION_FIXED);
	*out = NULL;
	if (!fusion_fits(params)) return DP_BAD_PARAMETER;
	struct dp_fusion *m = calloc(1, sizeof *m);
	if (!m) return DP_NO_MEMORY;
	m->params = *params;
	const enum dp_status status = allocate_fusion(m, params);
	if (status == DP_OK) *out = m;
	else dp_fusion_free(&m);
	return status;
}

/* Wipes what a step knows of private rows. */
static void wipe_step(struct dp_fusion *m) {
	explicit_bzero(m->b, m->count * sizeof *m->b);
	if (m->mean) explicit_bzero(m->mean, m->params.vocab * sizeof *m->mean);
	explicit_bzero(&m->share, sizeof m->share);
	explicit_bzero(&m->place, sizeof m->place);
}

void dp_fusion_free(struct dp_fusion **mechanism) {
	struct dp_fusion *m = *mechanism;
	*mechanism = NULL;
	if (!m) return;
	if (m->b) wipe_step(m);
	dp_rowlaw_release(&m->rowlaw);
	dp_record_filter_free(m->filter);
	free(m->caps);
	free(m->allowed);
	free(m->fixed);
	free(m->heap);
	free(m->candidates);
	free(m->logits);
	free(m->a);
	free(m->b);
	free(m->mean);
	free(m);
}

void dp_fusion_turn(struct dp_fusion *m, uint32_t slot, bool fresh) {
	if (m->filter) dp_record_filter_turn(m->filter, slot, fresh);
}

void dp_fusion_begin(struct dp_fusion *m, uint32_t places, uint32_t spent) {
	REQUIRE(places >= m->params.least_places && places <= m->params.most_places);
	wipe_step(m);
	m->places = places;
	m->spent = spent;
	m->now = NULL;
	if (m->filter) dp_record_filter_begin(m->filter, spent);
	if (m->stage != FUSION_SILENT) m->stage = FUSION_BEGUN;
}

void dp_fusion_allow(struct dp_fusion *m, const uint8_t *allowed) {
	REQUIRE(allowed && m->params.rule != DP_FUSION_FIXED);
	REQUIRE(m->stage == FUSION_BEGUN || m->stage == FUSION_SILENT);
	m->now = allowed;
}

/* Makes V+ and a from the public row alone. False where that is not finite. */
static bool make_public_law(struct dp_fusion *m, const float *row) {
	const struct dp_fusion_params *p = &m->params;
	m->count = 0;
	if (!dp_fix(row, p->vocab, DP_ROWLAW_FRACTION_BITS, m->fixed)) return false;
	m->count = dp_topk(m->fixed, m->now ? m->now : p->allowed, p->vocab, p->top_k, 1, 0,
	                   m->heap, m->candidates);
	if (p->rule == DP_FUSION_FIXED) {
		dp_share_evenly(m->a, m->count, UINT64_C(1) << DP_ROWLAW_SUM_BITS);
		return true;
	}
	for (size_t i = 0; i < m->count; i++) m->logits[i] = row[m->candidates[i]];
	return dp_rowlaw_make(&m->rowlaw, m->logits, m->count, m->a);
}

/* Whether the public law gives its likeliest candidate at least `sure` millionths. */
static bool is_public_sure(const struct dp_fusion *m) {
	const uint64_t most = dp_largest(m->a, m->count);
	return m->params.sure > 0 && (unsigned __int128)most * MILLION >=
	                                 (unsigned __int128)m->params.sure << DP_ROWLAW_SUM_BITS;
}

/* Makes the public side of a step. Its stage becomes FUSION_ALONE where the token is free. */
static enum dp_status prepare_fusion_step(struct dp_fusion *m, const float *public_row,
                                          bool may_be_free, struct dp_wanted *wanted) {
	REQUIRE(m->stage == FUSION_BEGUN || m->stage == FUSION_SILENT);
	*wanted = (struct dp_wanted){.place = DP_EVERY_PLACE};
	const bool all_spent = m->spent >= m->params.tokens;
	if (all_spent && !may_be_free) return DP_SPENT;
	if (m->stage == FUSION_SILENT) return DP_NO_ENTROPY;
	if (!make_public_law(m, public_row)) return DP_PUBLIC_NOT_FINITE;
	m->share = 0;
	if (may_be_free && (all_spent || is_public_sure(m))) m->stage = FUSION_ALONE;
	return DP_OK;
}

enum dp_status dp_fusion_open(struct dp_fusion *m, const float *public_row, bool may_be_free,
                              struct dp_wanted *wanted) {
	enum dp_status status = prepare_fusion_step(m, public_row, may_be_free, wanted);
	if (status != DP_OK || m->stage == FUSION_ALONE) return status;
	m->spent++;
	if (m->filter) dp_record_filter_step(m->filter);
	status = dp_draw_below(m->places, &m->params.random, &m->place);
	m->stage = status == DP_OK ? FUSION_OPEN : FUSION_SILENT;
	if (status == DP_OK) *wanted = (struct dp_wanted){m->candidates, m->count, m->place};
	return status;
}

/* What Theorem F3 allows lambda^2 E_p[u^2] to be: m^2 (1 - Lambda) (e^c - 1), rounded down. */
static double cap_of_square(const struct dp_fusion *m) {
	const long double rest = (long double)(DP_SHARE_ONE - m->params.most_share) / DP_SHARE_ONE;
	return round_down((long double)m->caps[0] * m->places * m->places * rest * (1.0L - SIMPLE));
}

/* The share that the rule allows the row whose law is b. */
static uint32_t allow_share(struct dp_fusion *m, uint32_t place) {
	const struct dp_fusion_params *p = &m->params;
	switch (p->rule) {
	case DP_FUSION_FIXED:
		return p->most_share;
	case DP_FUSION_RATIO:
		return dp_share_ratio(m->a, m->b, m->count, m->limits);
	case DP_FUSION_CAPPED:
		return dp_share_capped(m->a, m->b, m->count, p->most_share, cap_of_square(m));
	default:
		break;
	}
	const double cap = m->filter ? dp_record_filter_left(m->filter, place) : m->caps[place];
	const uint32_t share = dp_share_bounded(m->a, m->b, m->count, p->order, cap);
	if (m->filter)
		dp_record_filter_pay(m->filter, place,
		                     dp_share_cost(m->a, m->b, m->count, p->order, share));
	return share;
}

/* Adds the w of a row to the sums. A share of 0 is what a null row has. */
static void add_to_mean(struct dp_fusion *m) {
	const double l = m->share;
	REQUIRE(m->rows < m->places);
	m->rows++;
	for (size_t i = 0; i < m->count; i++)
		m->mean[i] +=
		    (DP_SHARE_ONE - l) * (double)m->a[i] + (l > 0 ? l * (double)m->b[i] : 0);
}

void dp_fusion_row(struct dp_fusion *m, uint32_t place, const float *logits) {
	const bool retraced = m->stage == FUSION_RETRACED;
	REQUIRE(retraced || (m->stage == FUSION_OPEN && place == m->place));
	if (retraced) m->share = 0;
	else m->stage = FUSION_MIXED;
	/* Whether the row is finite is private: nobody is told. A share of 0 is the public law. */
	if (dp_rowlaw_make(&m->rowlaw, logits, m->count, m->b)) m->share = allow_share(m, place);
	if (retraced) add_to_mean(m);
}

enum dp_status dp_fusion_draw(struct dp_fusion *m, uint32_t *token, enum dp_fate *fate) {
	REQUIRE(m->stage == FUSION_OPEN || m->stage == FUSION_MIXED || m->stage == FUSION_ALONE);
	const enum dp_fate drawn = m->stage == FUSION_ALONE ? DP_FREE : DP_PAID;
	uint64_t u;
	const enum dp_status status = m->params.random.fill(m->params.random.user, &u, sizeof u);
	m->stage = status == DP_OK ? FUSION_BEGUN : FUSION_SILENT;
	if (status == DP_OK) {
		u &= (UINT64_C(1) << 62) - 1;
		const size_t pick = dp_pick_mixed(m->a, m->b, m->count, m->share, DP_SHARE_ONE, u);
		*token = m->candidates[pick];
		*fate = drawn;
	}
	explicit_bzero(&u, sizeof u);
	wipe_step(m);
	return status;
}

uint32_t dp_fusion_spent(const struct dp_fusion *m) {
	return m->spent;
}

struct dp_fusion_step dp_fusion_inspect(const struct dp_fusion *m) {
	REQUIRE(m->stage == FUSION_OPEN || m->stage == FUSION_MIXED || m->stage == FUSION_ALONE);
	return (struct dp_fusion_step){m->candidates, m->a, m->b, m->count, m->share};
}

/* ---- the table of dp/mechanism.h ------------------------------------------------------------- */

static void turn_to_batch(void *self, uint32_t slot, bool fresh) {
	dp_fusion_turn(self, slot, fresh);
}

static void begin_fusion_step(void *self, uint32_t places, uint32_t spent) {
	dp_fusion_begin(self, places, spent);
}

static void allow_fusion_tokens(void *self, const uint8_t *allowed) {
	dp_fusion_allow(self, allowed);
}

static enum dp_status open_fusion_step(void *self, const float *public_row, bool may_be_free,
                                       struct dp_wanted *wanted) {
	return dp_fusion_open(self, public_row, may_be_free, wanted);
}

static void mix_fusion_row(void *self, uint32_t place, const float *logits) {
	dp_fusion_row(self, place, logits);
}

static enum dp_status draw_fusion_token(void *self, uint32_t *token, enum dp_fate *fate) {
	return dp_fusion_draw(self, token, fate);
}

static enum dp_status retrace_fusion_step(void *self, void *past, const float *public_row,
                                          bool may_be_free, struct dp_wanted *wanted) {
	struct dp_fusion *m = self;
	(void)past;
	const enum dp_status status = prepare_fusion_step(m, public_row, may_be_free, wanted);
	if (status != DP_OK || m->stage == FUSION_ALONE) return status;
	if (!m->mean) m->mean = calloc(m->params.vocab, sizeof *m->mean);
	if (!m->mean) return DP_NO_MEMORY;
	memset(m->mean, 0, m->count * sizeof *m->mean);
	m->rows = 0;
	m->stage = FUSION_RETRACED;
	*wanted = (struct dp_wanted){m->candidates, m->count, DP_EVERY_PLACE};
	return DP_OK;
}

static void tell_fusion_law(void *self, double *ln_w) {
	const struct dp_fusion *m = self;
	const double null = (double)(m->places - m->rows) * DP_SHARE_ONE;
	REQUIRE(m->stage == FUSION_RETRACED);
	for (size_t i = 0; i < m->count; i++) ln_w[i] = log(m->mean[i] + null * (double)m->a[i]);
}

static void free_fusion(void *self) {
	struct dp_fusion *m = self;
	dp_fusion_free(&m);
}

/* What a unit costs at worst. A paid token: the largest divergence, averaged over the fewest
 * places; F3's cost of one place has the m in it already. With a filter a unit is the whole batch:
 * a single token may cost more than its share of the budget, but all together cost no more than it.
 */
static struct dp_rdp_event event_of_unit(const struct dp_fusion_params *p) {
	double most = p->divergences[0];
	for (uint32_t i = 1; i < p->most_places; i++)
		if (p->divergences[i] > most) most = p->divergences[i];
	const bool filtered = has_budget(p), whole = filtered || p->rule == DP_FUSION_CAPPED;
	if (filtered) most = p->budget;
	return (struct dp_rdp_event){.kind = DP_RDP_MIXTURE,
	                             .count = 1,
	                             .size = most,
	                             .order = p->order,
	                             .parts = whole ? 1 : p->least_places};
}

static size_t count_allowed(const struct dp_fusion_params *p) {
	size_t allowed = 0;
	for (size_t y = 0; y < p->vocab; y++) allowed += !p->allowed || p->allowed[y];
	return allowed;
}

struct dp_claim dp_fusion_claim(const struct dp_fusion_params *p) {
	struct dp_claim claim = {.null = DP_NULL_IS_PUBLIC, .units = has_budget(p) ? 1 : p->tokens};
	if (p->rule == DP_FUSION_RATIO)
		claim.eta = dp_mixture_eta(p->divergences[0], p->least_places);
	else if (p->rule == DP_FUSION_FIXED)
		claim.eta = dp_mixture_fixed_eta(p->most_share, DP_SHARE_ONE, count_allowed(p));
	else claim.event = event_of_unit(p);
	return claim;
}

enum dp_status dp_fusion_mechanism(const struct dp_fusion_params *params,
                                   struct dp_mechanism *out) {
	struct dp_fusion *m;
	*out = (struct dp_mechanism){0};
	const enum dp_status status = dp_fusion_new(params, &m);
	if (status != DP_OK) return status;
	*out = (struct dp_mechanism){.claim = dp_fusion_claim(params),
	                             .self = m,
	                             .turn = params->budget > 0.0 ? turn_to_batch : NULL,
	                             .begin = begin_fusion_step,
	                             .allow = params->rule == DP_FUSION_FIXED ? NULL
	                                                                      : allow_fusion_tokens,
	                             .open = open_fusion_step,
	                             .row = mix_fusion_row,
	                             .draw = draw_fusion_token,
	                             .free = free_fusion};
	/* With a filter a law follows from places that were drawn before, which nobody knows. */
	if (!m->filter) {
		out->law = tell_fusion_law;
		out->retrace = retrace_fusion_step;
	}
	return DP_OK;
}
