// SPDX-License-Identifier: Apache-2.0
// amin.c: the table of dp/mechanism.h over the mechanism of amin.h, in the order turn, begin, open,
// row, draw.
//
// The parts stand in files of their own: fixed.c (L), topk.c (V'), rowlaw.c (laws), threshold.c (D
// and its answer), weights.c (E), draw.c. Here they meet. All memory is allocated once, so no step
// can fail for want of it.
#include "dp/amin.h"

#include "base/misuse.h"
#include "dp/amin_account.h"
#include "dp/draw.h"
#include "dp/fixed.h"
#include "dp/rowlaw.h"
#include "dp/threshold_law.h"
#include "dp/topk.h"
#include "dp/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PLACES (UINT32_C(1) << 16)

/* Where a batch stands. The theorem composes over steps in the order open, row, draw. So the code
 * enforces this order. */
enum amin_stage {
	AMIN_NEW,      /* no batch yet */
	AMIN_BEGUN,    /* between two steps */
	AMIN_OPEN,     /* in a step whose noise is drawn: rows may come */
	AMIN_ALONE,    /* in a step of the public law alone: no row can be added */
	AMIN_RETRACED, /* in a step of an audit: rows may come, and nothing is drawn */
	AMIN_SILENT    /* the random source has failed: nothing is ever drawn again */
};

/* What a batch in flight keeps from step to step. */
struct amin_slot {
	struct dp_threshold_unit unit;
	uint32_t number; /* of the unit that stands, from 1 */
	bool answered;   /* a step of that unit was drawn */
};

struct dp_amin {
	struct dp_amin_params params; /* allowed points to our copy */
	struct dp_weights weights;
	struct dp_rowlaw plain;      /* at temperature 1, for p_i */
	struct dp_rowlaw public_law; /* at tau_pub, for free tokens */
	struct dp_threshold threshold;
	enum amin_stage stage;
	struct amin_slot *slots; /* [DP_MECHANISM_SLOTS]; private */
	struct amin_slot *slot;  /* whose turn it is */
	uint32_t places;         /* of this batch */
	uint32_t spent;          /* thresholds of this batch */
	uint32_t rows;           /* private rows added in this step */
	void *past;              /* of an audit: what is known of the threshold; not freed here */
	int64_t noise;           /* N2 of the step; private */
	size_t count;            /* candidates of this step */
	uint8_t *allowed;        /* [vocab], or NULL: every token */
	int32_t *heap;           /* [min(k, vocab)] scratch of dp_topk */
	uint32_t *candidates;    /* [vocab], the first `count` in use; so in all arrays below */
	float *logits;           /* [vocab] the public row's */
	uint64_t *free_law;      /* [vocab] the public row's, at tau_pub */
	uint64_t *public_p;      /* [vocab] p of the public row */
	int32_t *fixed;          /* [vocab] L of the row just added; private */
	uint64_t *p;             /* [vocab] p_i of that row; private */
	uint64_t *p_sum;         /* [vocab] sum of p_i; private */
	int32_t *sum;            /* [vocab] S; private */
	struct dp_wide *weight;  /* [vocab] of the draw; private */
};

static void *clear_array(size_t count, size_t size) {
	return calloc(count > 0 ? count : 1, size);
}

static bool amin_fits(const struct dp_amin_params *p, struct dp_threshold *threshold) {
	if (p->batch < 1 || p->batch > MOST_PLACES || p->units < 1 || p->law_bits > 32 ||
	    p->vocab < 1 || p->vocab > DP_ROWLAW_MOST)
		return false;
	*threshold = (struct dp_threshold){
	    .most = UINT64_C(1) << p->law_bits, .scale = p->scale, .theta = p->theta};
	size_t y = 0;
	while (p->allowed && y < p->vocab && !p->allowed[y]) y++;
	return y < p->vocab && dp_threshold_fits(threshold);
}

static enum dp_status allocate_amin(struct dp_amin *m, const struct dp_amin_params *params) {
	const size_t vocab = params->vocab, k = params->top_k < vocab ? params->top_k : vocab;
	m->slots = clear_array(DP_MECHANISM_SLOTS, sizeof *m->slots);
	m->allowed = clear_array(params->allowed ? vocab : 0, 1);
	m->heap = clear_array(k, sizeof *m->heap);
	m->candidates = clear_array(vocab, sizeof *m->candidates);
	m->logits = clear_array(vocab, sizeof *m->logits);
	m->free_law = clear_array(vocab, sizeof *m->free_law);
	m->public_p = clear_array(vocab, sizeof *m->public_p);
	m->fixed = clear_array(vocab, sizeof *m->fixed);
	m->p = clear_array(vocab, sizeof *m->p);
	m->p_sum = clear_array(vocab, sizeof *m->p_sum);
	m->sum = clear_array(vocab, sizeof *m->sum);
	m->weight = clear_array(vocab, sizeof *m->weight);
	if (!m->slots || !m->allowed || !m->heap || !m->candidates || !m->logits || !m->free_law ||
	    !m->public_p || !m->fixed || !m->p || !m->p_sum || !m->sum || !m->weight)
		return DP_NO_MEMORY;
	if (params->allowed) memcpy(m->allowed, params->allowed, vocab);
	m->params.allowed = params->allowed ? m->allowed : NULL;
	enum dp_status status = dp_rowlaw_init(&m->plain, 1, 1);
	if (status == DP_OK)
		status = dp_rowlaw_init(&m->public_law, params->public_num, params->public_den);
	if (status == DP_OK)
		status = dp_weights_init(&m->weights, params->batch, params->clip_fixed,
		                         params->fraction_bits, params->temperature_num,
		                         params->temperature_den, DP_GAIN_NONE);
	return status;
}

/* Wipes what a step knows of private rows. */
static void wipe_amin_step(struct dp_amin *m) {
	explicit_bzero(m->fixed, m->count * sizeof *m->fixed);
	explicit_bzero(m->p, m->count * sizeof *m->p);
	explicit_bzero(m->p_sum, m->count * sizeof *m->p_sum);
	explicit_bzero(m->sum, m->count * sizeof *m->sum);
	explicit_bzero(m->weight, m->count * sizeof *m->weight);
	explicit_bzero(&m->noise, sizeof m->noise);
}

static void free_amin(void *self) {
	struct dp_amin *m = self;
	if (m->fixed && m->p && m->p_sum && m->sum && m->weight) wipe_amin_step(m);
	if (m->slots) explicit_bzero(m->slots, DP_MECHANISM_SLOTS * sizeof *m->slots);
	dp_weights_release(&m->weights);
	dp_rowlaw_release(&m->plain);
	dp_rowlaw_release(&m->public_law);
	free(m->slots);
	free(m->allowed);
	free(m->heap);
	free(m->candidates);
	free(m->logits);
	free(m->free_law);
	free(m->public_p);
	free(m->fixed);
	free(m->p);
	free(m->p_sum);
	free(m->sum);
	free(m->weight);
	free(m);
}

static void turn_to_slot(void *self, uint32_t slot, bool fresh) {
	struct dp_amin *m = self;
	REQUIRE(slot < DP_MECHANISM_SLOTS);
	m->slot = &m->slots[slot];
	if (fresh) explicit_bzero(m->slot, sizeof *m->slot);
}

/* A step that was opened and not drawn told nobody of its threshold, so that is dropped with it. A
 * unit that has answered must be counted in `spent`. */
static void begin_amin_step(void *self, uint32_t places, uint32_t spent) {
	struct dp_amin *m = self;
	REQUIRE(m->slot && places <= m->params.batch);
	wipe_amin_step(m);
	if (!m->slot->answered) dp_threshold_drop(&m->slot->unit);
	REQUIRE(!m->slot->unit.standing || m->slot->number == spent);
	m->places = places;
	m->spent = spent;
	m->rows = 0;
	if (m->stage != AMIN_SILENT) m->stage = AMIN_BEGUN;
}

/* Turns a law of count entries and 2^46 in all into p: 2^G in all. */
static void make_shares(const struct dp_amin *m, uint64_t *p) {
	const unsigned shift = DP_ROWLAW_SUM_BITS - m->params.law_bits;
	uint64_t left = m->threshold.most;
	size_t peak = 0;
	for (size_t i = 0; i < m->count; i++) {
		peak = p[i] > p[peak] ? i : peak;
		left -= p[i] >> shift;
	}
	for (size_t i = 0; i < m->count; i++) p[i] >>= shift;
	p[peak] += left;
}

/* Makes V', the free law and p of the public row from that row alone. False where it is not
 * finite. */
static bool make_public_side(struct dp_amin *m, const float *row) {
	const struct dp_amin_params *p = &m->params;
	m->count = 0;
	const bool finite = dp_fix(row, p->vocab, DP_ROWLAW_FRACTION_BITS, m->fixed);
	if (!finite) return false;
	m->count = dp_topk(m->fixed, p->allowed, p->vocab, p->top_k, 1, 0, m->heap, m->candidates);
	for (size_t i = 0; i < m->count; i++) m->logits[i] = row[m->candidates[i]];
	if (!dp_rowlaw_make(&m->public_law, m->logits, m->count, m->free_law)) return false;
	if (!dp_rowlaw_make(&m->plain, m->logits, m->count, m->public_p)) return false;
	make_shares(m, m->public_p);
	return true;
}

/* Draws the noise of a step, before a row of it is there, and that of a threshold where none
 * stands. That counts as a unit. */
static enum dp_status draw_noise(struct dp_amin *m) {
	struct amin_slot *slot = m->slot;
	enum dp_status status = DP_OK;
	if (!slot->unit.standing) {
		status = dp_threshold_start(&m->threshold, &m->params.random, &slot->unit);
		slot->number = ++m->spent;
		slot->answered = false;
	}
	return status == DP_OK ? dp_threshold_noise(&m->threshold, &m->params.random, &m->noise)
	                       : status;
}

/* Makes all that a step has before its noise. Its stage becomes AMIN_ALONE where no unit is left.
 */
static enum dp_status prepare_amin_step(struct dp_amin *m, const float *public_row,
                                        bool may_be_free, struct dp_wanted *wanted) {
	REQUIRE(m->stage == AMIN_BEGUN || m->stage == AMIN_SILENT);
	*wanted = (struct dp_wanted){.place = DP_EVERY_PLACE};
	const bool all_spent = !m->slot->unit.standing && m->spent >= m->params.units;
	if (all_spent && !may_be_free) return DP_SPENT;
	/* Whether a token is free follows from private rows, so no unit can do without. */
	REQUIRE(may_be_free);
	if (m->stage == AMIN_SILENT) return DP_NO_ENTROPY;
	if (!make_public_side(m, public_row)) return DP_PUBLIC_NOT_FINITE;
	memset(m->p_sum, 0, m->count * sizeof *m->p_sum);
	memset(m->sum, 0, m->count * sizeof *m->sum);
	if (all_spent) m->stage = AMIN_ALONE;
	else *wanted = (struct dp_wanted){m->candidates, m->count, DP_EVERY_PLACE};
	return DP_OK;
}

static enum dp_status open_amin_step(void *self, const float *public_row, bool may_be_free,
                                     struct dp_wanted *wanted) {
	struct dp_amin *m = self;
	enum dp_status status = prepare_amin_step(m, public_row, may_be_free, wanted);
	if (status != DP_OK || m->stage == AMIN_ALONE) return status;
	status = draw_noise(m);
	m->stage = status == DP_OK ? AMIN_OPEN : AMIN_SILENT;
	if (status != DP_OK) *wanted = (struct dp_wanted){.place = DP_EVERY_PLACE};
	return status;
}

static enum dp_status retrace_amin_step(void *self, void *past, const float *public_row,
                                        bool may_be_free, struct dp_wanted *wanted) {
	struct dp_amin *m = self;
	const enum dp_status status = prepare_amin_step(m, public_row, may_be_free, wanted);
	m->past = past;
	if (status == DP_OK && m->stage != AMIN_ALONE) m->stage = AMIN_RETRACED;
	return status;
}

static void add_amin_row(void *self, uint32_t place, const float *logits) {
	struct dp_amin *m = self;
	REQUIRE(m->stage == AMIN_OPEN || m->stage == AMIN_RETRACED);
	REQUIRE(place < m->places && m->rows < m->places);
	m->rows++;
	/* Whether the row is finite is private: nobody is told, and it adds to neither sum. */
	if (!dp_rowlaw_make(&m->plain, logits, m->count, m->p)) return;
	(void)dp_fix(logits, m->count, m->params.fraction_bits, m->fixed);
	make_shares(m, m->p);
	dp_threshold_add(&m->threshold, m->p, m->count, m->p_sum);
	int32_t most = -DP_FIXED_LIMIT;
	for (size_t i = 0; i < m->count; i++) most = m->fixed[i] > most ? m->fixed[i] : most;
	const int32_t clip = m->params.clip_fixed;
	for (size_t i = 0; i < m->count; i++) {
		const int32_t d = m->fixed[i] - most + clip;
		m->sum[i] += d < -clip ? -clip : d;
	}
}

/* D. Null rows count among the s. */
static int64_t find_distance(const struct dp_amin *m) {
	return dp_threshold_distance(m->p_sum, m->public_p, m->count, m->params.batch);
}

static enum dp_status draw_amin_token(void *self, uint32_t *token, enum dp_fate *fate) {
	struct dp_amin *m = self;
	REQUIRE(m->stage == AMIN_OPEN || m->stage == AMIN_ALONE);
	bool fires = false;
	if (m->stage == AMIN_OPEN) {
		fires =
		    dp_threshold_fires(&m->threshold, &m->slot->unit, find_distance(m), m->noise);
		m->slot->answered = true;
	}
	for (size_t i = 0; i < m->count; i++) {
		const unsigned __int128 weight =
		    fires ? dp_weight_private(&m->weights, m->sum[i]) : m->free_law[i];
		m->weight[i] = (struct dp_wide){weight, 0};
	}
	size_t drawn = 0;
	const enum dp_status status = dp_draw(m->weight, m->count, &m->params.random, &drawn);
	if (status == DP_OK) {
		*token = m->candidates[drawn];
		*fate = fires ? DP_PAID : DP_FREE;
	}
	wipe_amin_step(m);
	m->stage = status == DP_OK ? AMIN_BEGUN : AMIN_SILENT;
	return status;
}

static void tell_amin_law(void *self, double *ln_w) {
	const struct dp_amin *m = self;
	REQUIRE(m->stage == AMIN_RETRACED);
	for (size_t i = 0; i < m->count; i++)
		ln_w[i] = log((double)dp_weight_private(&m->weights, m->sum[i]));
}

static void tell_amin_answers(const void *self, double ln_chance[2]) {
	const struct dp_amin *m = self;
	double said[2];
	REQUIRE(m->stage == AMIN_RETRACED && m->past);
	dp_threshold_chances(&m->threshold, m->params.batch, m->past, find_distance(m), said);
	ln_chance[DP_PAID] = said[1];
	ln_chance[DP_FREE] = said[0];
}

static void pass_amin_step(void *self, enum dp_fate fate) {
	const struct dp_amin *m = self;
	REQUIRE(m->stage == AMIN_RETRACED && m->past);
	dp_threshold_answered(&m->threshold, m->params.batch, m->past, find_distance(m),
	                      fate == DP_PAID);
}

uint32_t dp_amin_units(const void *self) {
	const struct dp_amin *m = self;
	return m->spent;
}

struct dp_amin_step dp_amin_inspect(const void *self) {
	const struct dp_amin *m = self;
	REQUIRE(m->stage == AMIN_OPEN || m->stage == AMIN_ALONE);
	return (struct dp_amin_step){.candidates = m->candidates,
	                             .sum = m->sum,
	                             .public_law = m->free_law,
	                             .count = m->count,
	                             .distance = find_distance(m),
	                             .noise = m->noise};
}

unsigned __int128 dp_amin_weight(const void *self, int32_t sum) {
	const struct dp_amin *m = self;
	return dp_weight_private(&m->weights, sum);
}

enum dp_status dp_amin_mechanism(const struct dp_amin_params *params, struct dp_mechanism *out) {
	REQUIRE(params && out && params->random.fill);
	struct dp_threshold threshold;
	*out = (struct dp_mechanism){0};
	if (!amin_fits(params, &threshold)) return DP_BAD_PARAMETER;
	struct dp_amin *m = calloc(1, sizeof *m);
	if (!m) return DP_NO_MEMORY;
	m->params = *params;
	m->threshold = threshold;
	const enum dp_status status = allocate_amin(m, params);
	if (status != DP_OK) {
		free_amin(m);
		return status;
	}
	const struct dp_amin_integers integers = {.batch = params->batch,
	                                          .units = params->units,
	                                          .temperature_num = params->temperature_num,
	                                          .temperature_den = params->temperature_den,
	                                          .clip_fixed = params->clip_fixed,
	                                          .fraction_bits = params->fraction_bits,
	                                          .law_bits = params->law_bits,
	                                          .scale = params->scale};
	*out = (struct dp_mechanism){.claim = dp_amin_claim(&integers),
	                             .self = m,
	                             .turn = turn_to_slot,
	                             .begin = begin_amin_step,
	                             .open = open_amin_step,
	                             .row = add_amin_row,
	                             .draw = draw_amin_token,
	                             .free = free_amin};
	out->past_size = dp_threshold_past_size(&threshold, params->batch);
	if (out->past_size) {
		out->law = tell_amin_law;
		out->retrace = retrace_amin_step;
		out->answers = tell_amin_answers;
		out->passed = pass_amin_step;
	}
	return DP_OK;
}
