// SPDX-License-Identifier: Apache-2.0
// width.c: the table of dp/mechanism.h over the mechanism of width.h, in the order begin, open,
// row, draw.
//
// The parts stand in files of their own: fixed.c (L), topk.c (V'), weights.c (E), draw.c.
#include "dp/width.h"

#include "base/misuse.h"
#include "dp/account.h"
#include "dp/draw.h"
#include "dp/fixed.h"
#include "dp/rounding.h"
#include "dp/topk.h"
#include "dp/weights.h"

#include <stdlib.h>
#include <string.h>

#define MOST_VOCAB ((size_t)1 << 18)

/* Where a batch stands. The theorem composes over steps in the order open, row, draw. So the code
 * enforces this order. */
enum width_stage {
	WIDTH_NEW,   /* no batch yet */
	WIDTH_BEGUN, /* between two steps */
	WIDTH_OPEN,  /* in a paid step: its row may come */
	WIDTH_FULL,  /* in a paid step: its row has come */
	WIDTH_ALONE, /* in a step of the public row alone: no row can be added */
	WIDTH_SILENT /* the random source has failed: nothing is ever drawn again */
};

struct dp_width {
	struct dp_width_params params; /* allowed points to our copy */
	struct dp_weights weights;
	enum width_stage stage;
	uint32_t spent;         /* paid tokens of this batch */
	size_t count;           /* candidates of this step */
	uint8_t *allowed;       /* [vocab], or NULL: every token */
	int32_t *heap;          /* [min(k, vocab)] scratch of dp_topk */
	uint32_t *candidates;   /* [vocab], the first `count` in use; so in the arrays below */
	int32_t *fixed;         /* [vocab] L; private once a row has come */
	int32_t *sum;           /* [vocab] S; private */
	struct dp_wide *weight; /* [vocab] E; private */
};

static void *empty_array(size_t count, size_t size) {
	return calloc(count > 0 ? count : 1, size);
}

static bool width_fits(const struct dp_width_params *p) {
	size_t y = 0;
	if (p->tokens < 1 || p->vocab < 1 || p->vocab > MOST_VOCAB) return false;
	while (p->allowed && y < p->vocab && !p->allowed[y]) y++;
	return y < p->vocab;
}

static enum dp_status allocate_width(struct dp_width *m, const struct dp_width_params *params) {
	const size_t vocab = params->vocab, k = params->top_k < vocab ? params->top_k : vocab;
	m->allowed = empty_array(params->allowed ? vocab : 0, 1);
	m->heap = empty_array(k, sizeof *m->heap);
	m->candidates = empty_array(vocab, sizeof *m->candidates);
	m->fixed = empty_array(vocab, sizeof *m->fixed);
	m->sum = empty_array(vocab, sizeof *m->sum);
	m->weight = empty_array(vocab, sizeof *m->weight);
	if (!m->allowed || !m->heap || !m->candidates || !m->fixed || !m->sum || !m->weight)
		return DP_NO_MEMORY;
	if (params->allowed) memcpy(m->allowed, params->allowed, vocab);
	m->params.allowed = params->allowed ? m->allowed : NULL;
	return dp_weights_init(&m->weights, 1, params->clip_fixed, params->fraction_bits,
	                       params->temperature_num, params->temperature_den, DP_GAIN_NONE);
}

/* Wipes what a step knows of its row. */
static void wipe_width_step(struct dp_width *m) {
	explicit_bzero(m->fixed, m->params.vocab * sizeof *m->fixed);
	explicit_bzero(m->sum, m->params.vocab * sizeof *m->sum);
	explicit_bzero(m->weight, m->params.vocab * sizeof *m->weight);
}

static void free_width(void *self) {
	struct dp_width *m = self;
	if (m->fixed && m->sum && m->weight) wipe_width_step(m);
	dp_weights_release(&m->weights);
	free(m->allowed);
	free(m->heap);
	free(m->candidates);
	free(m->fixed);
	free(m->sum);
	free(m->weight);
	free(m);
}

static void begin_width_step(void *self, uint32_t places, uint32_t spent) {
	struct dp_width *m = self;
	REQUIRE(places <= 1);
	m->spent = spent;
	if (m->stage != WIDTH_SILENT) m->stage = WIDTH_BEGUN;
}

/* S of the row in fixed[count]. Its largest token gets Chat, none gets less than -Chat. */
static void clip_to_width(struct dp_width *m) {
	const int32_t clip = m->params.clip_fixed;
	int32_t most = m->fixed[0];
	for (size_t i = 1; i < m->count; i++) most = m->fixed[i] > most ? m->fixed[i] : most;
	for (size_t i = 0; i < m->count; i++) {
		const int32_t d = m->fixed[i] - most + clip;
		m->sum[i] = d < -clip ? -clip : d;
	}
}

static enum dp_status open_width_step(void *self, const float *public_row, bool may_be_free,
                                      struct dp_wanted *wanted) {
	struct dp_width *m = self;
	const struct dp_width_params *p = &m->params;
	REQUIRE(m->stage == WIDTH_BEGUN || m->stage == WIDTH_SILENT);
	*wanted = (struct dp_wanted){.place = DP_EVERY_PLACE};
	const bool all_spent = m->spent >= p->tokens;
	if (all_spent && !may_be_free) return DP_SPENT;
	if (m->stage == WIDTH_SILENT) return DP_NO_ENTROPY;
	if (!dp_fix(public_row, p->vocab, p->fraction_bits, m->fixed)) return DP_PUBLIC_NOT_FINITE;
	m->count = dp_topk(m->fixed, p->allowed, p->vocab, p->top_k, 1, 0, m->heap, m->candidates);
	memset(m->sum, 0, m->count * sizeof *m->sum);
	if (all_spent) {
		for (size_t i = 0; i < m->count; i++) m->fixed[i] = m->fixed[m->candidates[i]];
		clip_to_width(m);
		m->stage = WIDTH_ALONE;
		return DP_OK;
	}
	m->spent++;
	m->stage = WIDTH_OPEN;
	*wanted = (struct dp_wanted){m->candidates, m->count, DP_EVERY_PLACE};
	return DP_OK;
}

static void take_width_row(void *self, uint32_t place, const float *logits) {
	struct dp_width *m = self;
	REQUIRE(m->stage == WIDTH_OPEN && place == 0);
	m->stage = WIDTH_FULL;
	/* Whether the row is finite is private: nobody is told, and S stays that of a null row. */
	if (dp_fix(logits, m->count, m->params.fraction_bits, m->fixed)) clip_to_width(m);
}

static enum dp_status draw_width_token(void *self, uint32_t *token, enum dp_fate *fate) {
	struct dp_width *m = self;
	REQUIRE(m->stage == WIDTH_OPEN || m->stage == WIDTH_FULL || m->stage == WIDTH_ALONE);
	const enum dp_fate drawn = m->stage == WIDTH_ALONE ? DP_FREE : DP_PAID;
	size_t index = 0;
	for (size_t i = 0; i < m->count; i++)
		m->weight[i] = (struct dp_wide){dp_weight_private(&m->weights, m->sum[i]), 0};
	const enum dp_status status = dp_draw(m->weight, m->count, &m->params.random, &index);
	m->stage = status == DP_OK ? WIDTH_BEGUN : WIDTH_SILENT;
	if (status == DP_OK) {
		*token = m->candidates[index];
		*fate = drawn;
	}
	wipe_width_step(m);
	return status;
}

static void tell_width_law(void *self, double *ln_w) {
	const struct dp_width *m = self;
	REQUIRE(m->stage == WIDTH_OPEN || m->stage == WIDTH_FULL);
	for (size_t i = 0; i < m->count; i++)
		ln_w[i] = log((double)dp_weight_private(&m->weights, m->sum[i]));
}

enum dp_status dp_width_mechanism(const struct dp_width_params *params, struct dp_mechanism *out) {
	REQUIRE(params && out && params->random.fill);
	*out = (struct dp_mechanism){0};
	if (!width_fits(params)) return DP_BAD_PARAMETER;
	struct dp_width *m = calloc(1, sizeof *m);
	if (!m) return DP_NO_MEMORY;
	m->params = *params;
	const enum dp_status status = allocate_width(m, params);
	if (status != DP_OK) {
		free_width(m);
		return status;
	}
	const struct dp_integers integers = {.batch = 1,
	                                     .tokens = params->tokens,
	                                     .temperature_num = params->temperature_num,
	                                     .temperature_den = params->temperature_den,
	                                     .clip_fixed = params->clip_fixed,
	                                     .fraction_bits = params->fraction_bits};
	*out = (struct dp_mechanism){.claim = dp_integers_claim(&integers),
	                             .self = m,
	                             .begin = begin_width_step,
	                             .open = open_width_step,
	                             .row = take_width_row,
	                             .draw = draw_width_token,
	                             .free = free_width,
	                             .law = tell_width_law};
	return DP_OK;
}

double dp_width_pair(long double range, uint64_t n) {
	REQUIRE(range > 0.0L && range <= 64.0L && n >= 1 && n <= (uint64_t)1 << 24);
	const long double e = expl(range), others = (long double)(n - 1);
	return round_up((range + logl((1.0L + others * e) / (e + others))) * (1.0L + SIMPLE));
}
