// SPDX-License-Identifier: Apache-2.0
// invisibleink.c: the steps of invisibleink.h, in the order public, private, draw. At the end
// stands the table of dp/mechanism.h over them.
//
// The parts stand in files of their own: fixed.c (L), topk.c (V+), center.c (s_i), kernels/dclip.h
// (S), weights.c (A and E), draw.c. Here they meet. All memory is allocated once, in
// dp_invisibleink_new, so no step can fail for want of it.
#include "dp/invisibleink.h"

#include "base/misuse.h"
#include "dp/account.h"
#include "dp/center.h"
#include "dp/draw.h"
#include "dp/fixed.h"
#include "dp/topk.h"
#include "dp/weights.h"
#include "kernels/kernels.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SUM = 1 << 30 }; /* of the clips of all rows */

/* The farthest that A looks below the likeliest candidate (dp/weights.h). Without a shift no
 * candidate is farther, as L lies within 2^26 of 0. */
#define MOST_BELOW (INT64_C(1) << 27)

/* Where a batch stands. The theorem composes over steps in the order public, private, draw. So the
 * code enforces this order: the functions of a step REQUIRE their stage. */
enum stage {
	STAGE_NEW,   /* no batch yet */
	STAGE_BEGUN, /* between two steps */
	STAGE_STEP,  /* in a paid step: private rows may come */
	STAGE_ALONE, /* in a step of A alone: no private row can be added */
	STAGE_SILENT /* the random source has failed: nothing is ever drawn again */
};

struct dp_invisibleink {
	struct dp_invisibleink_params params; /* allowed points to our copy */
	struct dp_weights weights;
	int32_t reach; /* floor(g Chat): what a row may move a token by, in units of L_pub / B */
	enum stage stage;
	uint32_t spent;       /* paid tokens of this batch drawn */
	uint32_t private;     /* private rows added in this step */
	size_t count;         /* candidates of this step */
	int64_t largest;      /* L_pub of the likeliest candidate, its shift included */
	int32_t *shift;       /* [vocab] what A adds to L_pub, or NULL: nothing; public */
	uint8_t *allowed;     /* [vocab], or NULL: every token */
	const uint8_t *now;   /* [vocab] those of the next step, the caller's; NULL = allowed */
	int32_t *fixed;       /* [vocab] L_pub */
	int32_t *heap;        /* [min(k, vocab)] scratch of dp_topk */
	uint32_t *candidates; /* [vocab], the first `count` in use; so in the four arrays below */
	int32_t *candidate_fixed; /* [vocab] L_pub of the candidates */
	int32_t *centred; /* [vocab] L_pub + s_i of the row just added, with `center`; private */
	int32_t *sum;     /* [vocab] S; private */
	struct dp_wide *token_weight; /* [vocab] A E; private */
};

static void *allocate_rows(size_t count, size_t size) {
	return calloc(count > 0 ? count : 1, size);
}

static enum dp_status allocate_arrays(struct dp_invisibleink *m, const uint8_t *allowed) {
	const size_t vocab = m->params.vocab, k = m->params.top_k < vocab ? m->params.top_k : vocab;
	m->fixed = allocate_rows(vocab, sizeof *m->fixed);
	m->heap = allocate_rows(k, sizeof *m->heap);
	m->candidates = allocate_rows(vocab, sizeof *m->candidates);
	m->candidate_fixed = allocate_rows(vocab, sizeof *m->candidate_fixed);
	m->centred = allocate_rows(m->params.center ? vocab : 0, sizeof *m->centred);
	m->sum = allocate_rows(vocab, sizeof *m->sum);
	m->token_weight = allocate_rows(vocab, sizeof *m->token_weight);
	if (!m->fixed || !m->heap || !m->candidates || !m->candidate_fixed || !m->centred ||
	    !m->sum || !m->token_weight)
		return DP_NO_MEMORY;
	m->params.allowed = NULL;
	if (!allowed) return DP_OK;
	m->allowed = allocate_rows(vocab, 1);
	if (!m->allowed) return DP_NO_MEMORY;
	memcpy(m->allowed, allowed, vocab);
	m->params.allowed = m->allowed;
	return DP_OK;
}

static bool any_allowed(const uint8_t *allowed, size_t vocab) {
	bool any = !allowed;
	for (size_t y = 0; y < vocab && !any; y++) any = allowed[y] != 0;
	return any;
}

enum dp_status dp_invisibleink_new(const struct dp_invisibleink_params *params,
                                   struct dp_invisibleink **out) {
	REQUIRE(params && out && params->random.fill);
	*out = NULL;
	struct dp_weights weights;
	if (params->tokens < 1 || params->vocab < 1 || params->vocab > (size_t)1 << 24)
		return DP_BAD_PARAMETER;
	/* S is an int32, and all its rows must fit before it is clamped. */
	if ((int64_t)params->rows * params->clip_fixed > MOST_SUM) return DP_BAD_PARAMETER;
	enum dp_status status =
	    dp_weights_init(&weights, params->batch, params->clip_fixed, params->fraction_bits,
	                    params->temperature_num, params->temperature_den, params->gain);
	if (status != DP_OK) return status;
	struct dp_invisibleink *m = calloc(1, sizeof *m);
	if (!m) {
		dp_weights_release(&weights);
		return DP_NO_MEMORY;
	}
	m->params = *params;
	m->weights = weights;
	if (!params->rows) m->params.rows = params->batch;
	m->reach = params->clip_fixed;
	if (params->gain)
		m->reach = (int32_t)((int64_t)params->clip_fixed * params->gain / DP_GAIN_NONE);
	status = any_allowed(params->allowed, params->vocab) ? allocate_arrays(m, params->allowed)
	                                                     : DP_BAD_PARAMETER;
	if (status == DP_OK) *out = m;
	else dp_invisibleink_free(&m);
	return status;
}

void dp_invisibleink_free(struct dp_invisibleink **mechanism) {
	struct dp_invisibleink *m = *mechanism;
	*mechanism = NULL;
	if (!m) return;
	if (m->centred && m->params.center)
		explicit_bzero(m->centred, m->params.vocab * sizeof *m->centred);
	if (m->sum) explicit_bzero(m->sum, m->params.vocab * sizeof *m->sum);
	if (m->token_weight)
		explicit_bzero(m->token_weight, m->params.vocab * sizeof *m->token_weight);
	dp_weights_release(&m->weights);
	free(m->shift);
	free(m->allowed);
	free(m->fixed);
	free(m->heap);
	free(m->candidates);
	free(m->candidate_fixed);
	free(m->centred);
	free(m->sum);
	free(m->token_weight);
	free(m);
}

void dp_invisibleink_begin(struct dp_invisibleink *m, uint32_t spent) {
	m->spent = spent;
	m->now = NULL;
	if (m->stage != STAGE_SILENT) m->stage = STAGE_BEGUN;
}

enum dp_status dp_invisibleink_shift(struct dp_invisibleink *m, const int32_t *shift) {
	REQUIRE(shift && m->stage != STAGE_STEP && m->stage != STAGE_ALONE);
	for (size_t y = 0; y < m->params.vocab; y++)
		REQUIRE(shift[y] >= -DP_MOST_SHIFT && shift[y] <= DP_MOST_SHIFT);
	if (!m->shift) m->shift = allocate_rows(m->params.vocab, sizeof *m->shift);
	if (!m->shift) return DP_NO_MEMORY;
	memcpy(m->shift, shift, m->params.vocab * sizeof *m->shift);
	return DP_OK;
}

void dp_invisibleink_allow(struct dp_invisibleink *m, const uint8_t *allowed) {
	REQUIRE(allowed && (m->stage == STAGE_BEGUN || m->stage == STAGE_SILENT));
	m->now = allowed;
}

/* What A is a function of: L_pub of a candidate, and the shift of its token. */
static int64_t shifted_candidate(const struct dp_invisibleink *m, size_t i) {
	return m->candidate_fixed[i] + (m->shift ? (int64_t)m->shift[m->candidates[i]] : 0);
}

/* Finds V+ of the public row and empties S. */
static enum dp_status start_step(struct dp_invisibleink *m, const float *logits, enum stage stage) {
	if (m->stage == STAGE_SILENT) return DP_NO_ENTROPY;
	const struct dp_invisibleink_params *p = &m->params;
	m->count = 0;
	if (!dp_fix(logits, p->vocab, p->fraction_bits, m->fixed)) return DP_PUBLIC_NOT_FINITE;
	m->count = dp_topk(m->fixed, m->now ? m->now : p->allowed, p->vocab, p->top_k, p->batch,
	                   m->reach, m->heap, m->candidates);
	REQUIRE(m->count);
	m->largest = INT64_MIN;
	for (size_t i = 0; i < m->count; i++) {
		m->candidate_fixed[i] = m->fixed[m->candidates[i]];
		const int64_t shifted = shifted_candidate(m, i);
		if (shifted > m->largest) m->largest = shifted;
	}
	memset(m->sum, 0, m->count * sizeof *m->sum);
	m->private = 0;
	m->stage = stage;
	return DP_OK;
}

enum dp_status dp_invisibleink_public(struct dp_invisibleink *m, const float *logits,
                                      const uint32_t **candidates, size_t *count) {
	REQUIRE(m->stage == STAGE_BEGUN || m->stage == STAGE_SILENT);
	*candidates = NULL;
	*count = 0;
	if (m->spent >= m->params.tokens) return DP_SPENT;
	enum dp_status status = start_step(m, logits, STAGE_STEP);
	if (status != DP_OK) return status;
	*candidates = m->candidates;
	*count = m->count;
	return DP_OK;
}

enum dp_status dp_invisibleink_alone(struct dp_invisibleink *m, const float *logits) {
	REQUIRE(m->stage == STAGE_BEGUN || m->stage == STAGE_SILENT);
	return start_step(m, logits, STAGE_ALONE);
}

bool dp_invisibleink_sure(struct dp_invisibleink *m, uint32_t millionths) {
	REQUIRE(m->stage == STAGE_STEP && m->private == 0);
	unsigned __int128 whole = 0; /* at most 2^24 2^56: no overflow */
	for (size_t i = 0; i < m->count; i++) whole += dp_invisibleink_public_weight(m, i);
	const bool sure =
	    (unsigned __int128)1000000 * dp_weight_public(&m->weights, 0) >= millionths * whole;
	if (sure) m->stage = STAGE_ALONE;
	return sure;
}

void dp_invisibleink_private(struct dp_invisibleink *m, const float *logits) {
	REQUIRE(m->stage == STAGE_STEP);
	REQUIRE(m->private < m->params.rows);
	m->private ++;
	/* dp_fix and dclip tell whether the row is finite. That is private, so their answers are
	 * dropped. dclip leaves the sum alone where it is not. */
	const int32_t *center = m->candidate_fixed;
	if (m->params.center) {
		(void)dp_fix(logits, m->count, m->params.fraction_bits, m->centred);
		dp_center(m->centred, m->candidate_fixed, m->count);
		center = m->centred;
	}
	(void)kernels_get()->dclip(logits, center, m->count, m->params.fraction_bits,
	                           m->params.clip_fixed, m->sum);
}

enum dp_status dp_invisibleink_draw(struct dp_invisibleink *m, uint32_t *token) {
	REQUIRE(m->stage == STAGE_STEP || m->stage == STAGE_ALONE);
	if (m->stage == STAGE_STEP) {
		REQUIRE(m->spent < m->params.tokens);
		m->spent++;
	}
	m->stage = STAGE_BEGUN;
	for (size_t i = 0; i < m->count; i++)
		m->token_weight[i] = dp_wide_product(dp_invisibleink_public_weight(m, i),
		                                     dp_invisibleink_private_weight(m, i));
	size_t drawn;
	enum dp_status status = dp_draw(m->token_weight, m->count, &m->params.random, &drawn);
	if (status == DP_OK) *token = m->candidates[drawn];
	else m->stage = STAGE_SILENT;
	return status;
}

uint32_t dp_invisibleink_spent(const struct dp_invisibleink *m) {
	return m->spent;
}

const uint32_t *dp_invisibleink_candidates(const struct dp_invisibleink *m, size_t *count) {
	*count = m->count;
	return m->candidates;
}

/* S is clamped here alone, once all rows are in. To clamp a part of the sum would let a row move
 * what comes after it. */
int32_t dp_invisibleink_sum(const struct dp_invisibleink *m, size_t candidate) {
	REQUIRE(candidate < m->count);
	const int32_t sum = m->sum[candidate], most = m->weights.sum_limit;
	return sum < -most ? -most : sum > most ? most : sum;
}

uint64_t dp_invisibleink_public_weight(const struct dp_invisibleink *m, size_t candidate) {
	REQUIRE(candidate < m->count);
	const int64_t below = m->largest - shifted_candidate(m, candidate);
	return dp_weight_public(&m->weights, below < MOST_BELOW ? below : MOST_BELOW);
}

unsigned __int128 dp_invisibleink_private_weight(const struct dp_invisibleink *m,
                                                 size_t candidate) {
	return dp_weight_private(&m->weights, dp_invisibleink_sum(m, candidate));
}

/* ---- the table of dp/mechanism.h ------------------------------------------------------------- */

static void begin_ink_step(void *self, uint32_t places, uint32_t spent) {
	struct dp_invisibleink *m = self;
	REQUIRE(places <= m->params.rows);
	dp_invisibleink_begin(m, spent);
}

static void allow_ink_tokens(void *self, const uint8_t *allowed) {
	dp_invisibleink_allow(self, allowed);
}

/* Decides whether the token is free: by `spent`, the public row and the parameters alone. */
static enum dp_status open_ink_step(void *self, const float *public_row, bool may_be_free,
                                    struct dp_wanted *wanted) {
	struct dp_invisibleink *m = self;
	*wanted = (struct dp_wanted){.place = DP_EVERY_PLACE};
	if (may_be_free && m->spent >= m->params.tokens)
		return dp_invisibleink_alone(m, public_row);
	enum dp_status status =
	    dp_invisibleink_public(m, public_row, &wanted->tokens, &wanted->count);
	if (status == DP_OK && may_be_free && m->params.sure &&
	    dp_invisibleink_sure(m, m->params.sure))
		wanted->count = 0;
	return status;
}

static void add_ink_row(void *self, uint32_t place, const float *logits) {
	struct dp_invisibleink *m = self;
	REQUIRE(place < m->params.rows);
	dp_invisibleink_private(m, logits);
}

static enum dp_status draw_ink_token(void *self, uint32_t *token, enum dp_fate *fate) {
	struct dp_invisibleink *m = self;
	const enum dp_fate drawn = m->stage == STAGE_ALONE ? DP_FREE : DP_PAID;
	const enum dp_status status = dp_invisibleink_draw(m, token);
	if (status == DP_OK) *fate = drawn;
	return status;
}

/* For audits: no part of a run. Both factors are integers of at least 1. */
static void tell_ink_law(void *self, double *ln_w) {
	const struct dp_invisibleink *m = self;
	REQUIRE(m->stage == STAGE_STEP);
	for (size_t i = 0; i < m->count; i++)
		ln_w[i] = log((double)dp_invisibleink_public_weight(m, i)) +
		          log((double)dp_invisibleink_private_weight(m, i));
}

static void free_ink(void *self) {
	struct dp_invisibleink *m = self;
	dp_invisibleink_free(&m);
}

enum dp_status dp_invisibleink_mechanism(const struct dp_invisibleink_params *params,
                                         struct dp_mechanism *out) {
	struct dp_invisibleink *m;
	*out = (struct dp_mechanism){0};
	enum dp_status status = dp_invisibleink_new(params, &m);
	if (status != DP_OK) return status;
	const struct dp_integers integers = {.batch = params->batch,
	                                     .tokens = params->tokens,
	                                     .temperature_num = params->temperature_num,
	                                     .temperature_den = params->temperature_den,
	                                     .clip_fixed = params->clip_fixed,
	                                     .fraction_bits = params->fraction_bits,
	                                     .gain = params->gain};
	*out = (struct dp_mechanism){.claim = dp_integers_claim(&integers),
	                             .self = m,
	                             .begin = begin_ink_step,
	                             .allow = allow_ink_tokens,
	                             .open = open_ink_step,
	                             .row = add_ink_row,
	                             .draw = draw_ink_token,
	                             .free = free_ink,
	                             .law = tell_ink_law};
	return DP_OK;
}
