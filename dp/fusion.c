// SPDX-License-Identifier: Apache-2.0
// fusion.c: the steps of fusion.h, in the order open, row, draw. At the end stands the table of
// dp/mechanism.h over them.
//
// The parts stand in files of their own: fixed.c (L), topk.c (V+), rowlaw.c (a and b), share.c (l).
// Here they meet. All memory is allocated once, in dp_fusion_new, so no step can fail for want of
// it.
#include "dp/fusion.h"

#include "base/misuse.h"
#include "dp/draw.h"
#include "dp/fixed.h"
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
	FUSION_NEW,   /* no batch yet */
	FUSION_BEGUN, /* between two steps */
	FUSION_OPEN,  /* in a paid step: its row may come */
	FUSION_MIXED, /* in a paid step: its row has come */
	FUSION_ALONE, /* in a step of the public law alone: no row can be added */
	FUSION_SILENT /* the random source has failed: nothing is ever drawn again */
};

struct dp_fusion {
	struct dp_fusion_params params; /* allowed points to our copy, divergences to none */
	struct dp_rowlaw rowlaw;
	enum fusion_stage stage;
	uint32_t places;  /* m of this batch */
	uint32_t spent;   /* paid tokens of this batch */
	uint32_t place;   /* the step's place; private */
	uint32_t share;   /* l of the step; private */
	size_t count;     /* candidates of this step */
	double *caps;     /* [most_places] what dp/share.h is given, without the m^2 of CAPPED */
	uint8_t *allowed; /* [vocab], or NULL: every token */
	int32_t *fixed;   /* [vocab] L of the public row */
	int32_t *heap;    /* [min(k, vocab)] scratch of dp_topk */
	uint32_t *candidates; /* [vocab], the first `count` in use; so in the three arrays below */
	float *logits;        /* [vocab] the public row's */
	uint64_t *a;          /* [vocab] the public law */
	uint64_t *b;          /* [vocab] the private law; private */
};

static void *zeroed_array(size_t count, size_t size) {
	return calloc(count > 0 ? count : 1, size);
}

static bool fusion_fits(const struct dp_fusion_params *p) {
	const bool capped = p->rule == DP_FUSION_CAPPED;
	if (!capped && p->rule != DP_FUSION_BOUNDED) return false;
	if (p->order < 2 || p->order > (capped ? 2 : DP_SHARE_ORDER)) return false;
	if (p->least_places < 1 || p->least_places > p->most_places ||
	    p->most_places > DP_FUSION_MOST_PLACES)
		return false;
	if (capped && (p->most_share < 1 || p->most_share >= DP_SHARE_ONE)) return false;
	if (p->tokens < 1 || p->sure > MILLION) return false;
	if (p->vocab < 1 || p->vocab > DP_ROWLAW_MOST) return false;
	for (uint32_t i = 0; i < p->most_places; i++) {
		const double c = p->divergences[i];
		if (!positive(c) || (p->order - 1) * c > DP_SHARE_EXPONENT) return false;
		if (capped && c > p->divergences[0]) return false;
		if (capped && c < p->divergences[0]) return false;
	}
	size_t y = 0;
	while (p->allowed && y < p->vocab && !p->allowed[y]) y++;
	return y < p->vocab;
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
	for (uint32_t i = 0; i < params->most_places; i++)
		m->caps[i] = dp_share_cap(params->order, params->divergences[i]);
	if (params->allowed) memcpy(m->allowed, params->allowed, vocab);
	m->params.allowed = params->allowed ? m->allowed : NULL;
	m->params.divergences = NULL;
	return dp_rowlaw_init(&m->rowlaw, params->temperature_num, params->temperature_den);
}

enum dp_status dp_fusion_new(const struct dp_fusion_params *params, struct dp_fusion **out) {
	REQUIRE(params && out && params->random.fill && params->divergences);
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
	explicit_bzero(&m->share, sizeof m->share);
	explicit_bzero(&m->place, sizeof m->place);
}

void dp_fusion_free(struct dp_fusion **mechanism) {
	struct dp_fusion *m = *mechanism;
	*mechanism = NULL;
	if (!m) return;
	if (m->b) wipe_step(m);
	dp_rowlaw_release(&m->rowlaw);
	free(m->caps);
	free(m->allowed);
	free(m->fixed);
	free(m->heap);
	free(m->candidates);
	free(m->logits);
	free(m->a);
	free(m->b);
	free(m);
}

void dp_fusion_begin(struct dp_fusion *m, uint32_t places, uint32_t spent) {
	REQUIRE(places >= m->params.least_places && places <= m->params.most_places);
	wipe_step(m);
	m->places = places;
	m->spent = spent;
	if (m->stage != FUSION_SILENT) m->stage = FUSION_BEGUN;
}

/* Makes V+ and a from the public row alone. False where that is not finite. */
static bool make_public_law(struct dp_fusion *m, const float *row) {
	const struct dp_fusion_params *p = &m->params;
	m->count = 0;
	if (!dp_fix(row, p->vocab, DP_ROWLAW_FRACTION_BITS, m->fixed)) return false;
	m->count = dp_topk(m->fixed, p->allowed, p->vocab, p->top_k, 1, 0, m->heap, m->candidates);
	for (size_t i = 0; i < m->count; i++) m->logits[i] = row[m->candidates[i]];
	return dp_rowlaw_make(&m->rowlaw, m->logits, m->count, m->a);
}

/* Whether the public law gives its likeliest candidate at least `sure` millionths. */
static bool is_public_sure(const struct dp_fusion *m) {
	uint64_t most = 0;
	for (size_t i = 0; i < m->count; i++) most = m->a[i] > most ? m->a[i] : most;
	return m->params.sure > 0 && (unsigned __int128)most * MILLION >=
	                                 (unsigned __int128)m->params.sure << DP_ROWLAW_SUM_BITS;
}

enum dp_status dp_fusion_open(struct dp_fusion *m, const float *public_row, bool may_be_free,
                              struct dp_wanted *wanted) {
	REQUIRE(m->stage == FUSION_BEGUN || m->stage == FUSION_SILENT);
	*wanted = (struct dp_wanted){.place = DP_EVERY_PLACE};
	const bool all_spent = m->spent >= m->params.tokens;
	if (all_spent && !may_be_free) return DP_SPENT;
	if (m->stage == FUSION_SILENT) return DP_NO_ENTROPY;
	if (!make_public_law(m, public_row)) return DP_PUBLIC_NOT_FINITE;
	m->share = 0;
	if (may_be_free && (all_spent || is_public_sure(m))) {
		m->stage = FUSION_ALONE;
		return DP_OK;
	}
	m->spent++;
	const enum dp_status status = dp_draw_below(m->places, &m->params.random, &m->place);
	m->stage = status == DP_OK ? FUSION_OPEN : FUSION_SILENT;
	if (status == DP_OK) *wanted = (struct dp_wanted){m->candidates, m->count, m->place};
	return status;
}

/* What Theorem F3 allows lambda^2 E_p[u^2] to be: m^2 (1 - Lambda) (e^c - 1), rounded down. */
static double cap_of_square(const struct dp_fusion *m) {
	const long double rest = (long double)(DP_SHARE_ONE - m->params.most_share) / DP_SHARE_ONE;
	return round_down((long double)m->caps[0] * m->places * m->places * rest * (1.0L - SIMPLE));
}

void dp_fusion_row(struct dp_fusion *m, uint32_t place, const float *logits) {
	REQUIRE(m->stage == FUSION_OPEN && place == m->place);
	m->stage = FUSION_MIXED;
	/* Whether the row is finite is private: nobody is told. A share of 0 is the public law. */
	if (!dp_rowlaw_make(&m->rowlaw, logits, m->count, m->b)) return;
	m->share =
	    m->params.rule == DP_FUSION_CAPPED
	        ? dp_share_capped(m->a, m->b, m->count, m->params.most_share, cap_of_square(m))
	        : dp_share_bounded(m->a, m->b, m->count, m->params.order, m->caps[place]);
}

/* The first candidate whose prefix sum of w exceeds u < 2^62. It reads every weight, whatever u
 * is. */
static size_t pick_mixed(const struct dp_fusion *m, uint64_t u) {
	const uint64_t private_part = m->share, public_part = DP_SHARE_ONE - private_part;
	uint64_t prefix = 0;
	size_t pick = 0;
	for (size_t i = 0; i < m->count; i++) {
		prefix += public_part * m->a[i] + private_part * m->b[i];
		pick += prefix <= u;
	}
	return pick;
}

enum dp_status dp_fusion_draw(struct dp_fusion *m, uint32_t *token, enum dp_fate *fate) {
	REQUIRE(m->stage == FUSION_OPEN || m->stage == FUSION_MIXED || m->stage == FUSION_ALONE);
	const enum dp_fate drawn = m->stage == FUSION_ALONE ? DP_FREE : DP_PAID;
	uint64_t u;
	const enum dp_status status = m->params.random.fill(m->params.random.user, &u, sizeof u);
	m->stage = status == DP_OK ? FUSION_BEGUN : FUSION_SILENT;
	if (status == DP_OK) {
		*token = m->candidates[pick_mixed(m, u & ((UINT64_C(1) << 62) - 1))];
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

static void begin_fusion_step(void *self, uint32_t places, uint32_t spent) {
	dp_fusion_begin(self, places, spent);
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

static void free_fusion(void *self) {
	struct dp_fusion *m = self;
	dp_fusion_free(&m);
}

/* What a paid token costs at worst: the largest divergence, averaged over the fewest places. F3's
 * cost of one place has the m in it already. */
static struct dp_rdp_event event_of_token(const struct dp_fusion_params *p) {
	double most = p->divergences[0];
	for (uint32_t i = 1; i < p->most_places; i++)
		if (p->divergences[i] > most) most = p->divergences[i];
	return (struct dp_rdp_event){.kind = DP_RDP_MIXTURE,
	                             .count = 1,
	                             .size = most,
	                             .order = p->order,
	                             .parts = p->rule == DP_FUSION_CAPPED ? 1 : p->least_places};
}

enum dp_status dp_fusion_mechanism(const struct dp_fusion_params *params,
                                   struct dp_mechanism *out) {
	struct dp_fusion *m;
	*out = (struct dp_mechanism){0};
	const enum dp_status status = dp_fusion_new(params, &m);
	if (status != DP_OK) return status;
	*out = (struct dp_mechanism){.claim = {.null = DP_NULL_IS_PUBLIC,
	                                       .units = params->tokens,
	                                       .event = event_of_token(params)},
	                             .self = m,
	                             .begin = begin_fusion_step,
	                             .open = open_fusion_step,
	                             .row = mix_fusion_row,
	                             .draw = draw_fusion_token,
	                             .free = free_fusion};
	return DP_OK;
}
