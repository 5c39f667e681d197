// SPDX-License-Identifier: Apache-2.0
// worlds.c: goes through a step several times, see worlds.h.
// begin and open of a mechanism drop what was opened before, so a step may be opened again with
// the same past. Only one of these passes draws: the first one.
#include "engine/run/loop/worlds.h"

#include "base/misuse.h"
#include "engine/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_PLACE UINT32_MAX /* no place is null that was not */

/* The slot in which an audit opens steps of its own: a job has fewer in flight. */
#define RETRACED_SLOT (DP_MECHANISM_SLOTS - 1)

static size_t count_worlds(const struct worlds *w) {
	return (w->audit->place == CUTTLE_EVERY_PLACE ? w->most_places : 1) + (size_t)1;
}

/* Number of the world in which `null` is null; 0 is that of P. */
static size_t number_of_world(const struct worlds *w, uint32_t null) {
	if (null == NO_PLACE) return 0;
	return w->audit->place == CUTTLE_EVERY_PLACE ? (size_t)null + 1 : 1;
}

static void *past_of_world(const struct worlds *w, uint32_t null) {
	return w->pasts +
	       (w->slot * count_worlds(w) + number_of_world(w, null)) * w->inner.past_size;
}

static void turn_worlds(void *self, uint32_t slot, bool fresh) {
	struct worlds *w = self;
	REQUIRE(slot < w->slots);
	w->slot = slot;
	if (w->inner.turn) w->inner.turn(w->inner.self, slot, fresh);
	if (!fresh) return;
	memset(past_of_world(w, NO_PLACE), 0, count_worlds(w) * w->inner.past_size);
	memset(w->answers + w->slot * w->most_places, 0, w->most_places * sizeof *w->answers);
}

static void begin_worlds_step(void *self, uint32_t places, uint32_t spent) {
	struct worlds *w = self;
	REQUIRE(places <= w->most_places);
	w->places = places;
	w->spent = spent;
	w->allowed = NULL;
	w->inner.begin(w->inner.self, places, spent);
}

static void allow_worlds_tokens(void *self, const uint8_t *allowed) {
	struct worlds *w = self;
	w->allowed = allowed;
}

/* Opens the step of the inner mechanism, with the tokens that exist in it. */
static enum dp_status open_inner(const struct worlds *w, struct dp_wanted *wanted) {
	if (w->allowed) w->inner.allow(w->inner.self, w->allowed);
	return w->inner.open(w->inner.self, w->public_row, w->may_be_free, wanted);
}

static enum dp_status open_worlds_step(void *self, const float *public_row, bool may_be_free,
                                       struct dp_wanted *wanted) {
	struct worlds *w = self;
	w->public_row = public_row;
	w->may_be_free = may_be_free;
	memset(w->came, 0, w->places * sizeof *w->came);
	const enum dp_status status =
	    w->inner.retrace
	        ? w->inner.retrace(w->inner.self, NULL, public_row, may_be_free, &w->wanted)
	        : open_inner(w, &w->wanted);
	*wanted = w->wanted;
	return status;
}

static void keep_worlds_row(void *self, uint32_t place, const float *logits) {
	struct worlds *w = self;
	REQUIRE(place < w->places);
	w->came[place] = true;
	memcpy(w->rows + place * w->vocab, logits, w->wanted.count * sizeof *logits);
}

/* Gives an open step the rows that it wants, but that of `null`. */
static void give_worlds_rows(struct worlds *w, const struct dp_wanted *wanted, uint32_t null) {
	for (uint32_t place = 0; place < w->places && wanted->count; place++)
		if (w->came[place] && place != null &&
		    (wanted->place == DP_EVERY_PLACE || wanted->place == place))
			w->inner.row(w->inner.self, place, w->rows + place * w->vocab);
}

/* Opens the step again, as that of a run where `null` is null, and draws its token. */
static enum dp_status draw_in_world(struct worlds *w, uint32_t null, uint32_t *token,
                                    enum dp_fate *fate) {
	struct dp_wanted wanted;
	w->inner.begin(w->inner.self, w->places, w->spent);
	enum dp_status status = open_inner(w, &wanted);
	if (status) return status;
	give_worlds_rows(w, &wanted, null);
	return w->inner.draw(w->inner.self, token, fate);
}

/* Opens the step for its law. What the mechanism keeps of the batch in flight stays as it is. */
static enum dp_status open_for_law(struct worlds *w, uint32_t null, struct dp_wanted *wanted) {
	if (!w->inner.retrace) {
		w->inner.begin(w->inner.self, w->places, w->spent);
		return open_inner(w, wanted);
	}
	if (w->inner.turn) w->inner.turn(w->inner.self, RETRACED_SLOT, true);
	w->inner.begin(w->inner.self, w->places, 0);
	return w->inner.retrace(w->inner.self, past_of_world(w, null), w->public_row,
	                        w->may_be_free, wanted);
}

/* Sets ln_p[wanted.count] to the law of a paid token in that world, and *answer to the chance of
 * the fate that came. */
static enum dp_status weigh_world(struct worlds *w, uint32_t null, enum dp_fate fate, double *ln_p,
                                  double *answer) {
	struct dp_wanted wanted;
	const enum dp_status status = open_for_law(w, null, &wanted);
	if (status) return status;
	give_worlds_rows(w, &wanted, null);
	double most = -INFINITY, sum = 0, answers[2] = {0, 0};
	w->inner.law(w->inner.self, ln_p);
	for (size_t i = 0; i < wanted.count; i++) most = fmax(most, ln_p[i]);
	for (size_t i = 0; i < wanted.count; i++) sum += exp(ln_p[i] - most);
	for (size_t i = 0; i < wanted.count; i++) ln_p[i] -= most + log(sum);
	if (w->inner.answers) w->inner.answers(w->inner.self, answers);
	if (w->inner.passed) w->inner.passed(w->inner.self, fate);
	*answer = answers[fate];
	return DP_OK;
}

/* ln of the sum of p^order q^(1-order), by their logarithms. */
static double sum_of_powers(const double *p, const double *q, size_t n, double order) {
	double most = -INFINITY, sum = 0;
	for (size_t i = 0; i < n; i++) most = fmax(most, order * p[i] + (1 - order) * q[i]);
	for (size_t i = 0; i < n; i++) sum += exp(order * p[i] + (1 - order) * q[i] - most);
	return most + log(sum);
}

/* The larger divergence of that order. */
static double diverge_worlds(const struct worlds *w, double order) {
	const size_t n = w->wanted.count;
	return fmax(sum_of_powers(w->with, w->without, n, order),
	            sum_of_powers(w->without, w->with, n, order)) /
	       (order - 1);
}

/* ln(P/P'), 0 where both are impossible. */
static double compare_worlds(double with, double without) {
	return with == without ? 0 : with - without;
}

/* A token that answers made free has the public law in both worlds: only its answer tells. */
static enum dp_status tell_place(struct worlds *w, uint32_t place, uint32_t token,
                                 enum dp_fate fate, double with) {
	struct cuttle_odds odds = {
	    .text = w->at->text, .step = (uint32_t)w->at->step, .place = place};
	double without, *answers = &w->answers[w->slot * w->most_places + place];
	const enum dp_status status = weigh_world(w, place, fate, w->without, &without);
	if (status) return status;
	odds.ratio = with - without;
	*answers += with - without;
	odds.answers = *answers;
	if (fate == DP_PAID) {
		*answers = 0;
		odds.least = INFINITY;
		odds.most = -INFINITY;
	}
	for (size_t i = 0; i < w->wanted.count && fate == DP_PAID; i++) {
		const double ratio = compare_worlds(w->with[i], w->without[i]);
		odds.least = fmin(odds.least, ratio);
		odds.most = fmax(odds.most, ratio);
		if (w->wanted.tokens[i] != token) continue;
		odds.candidate = true;
		odds.ratio += ratio;
	}
	odds.loss = odds.most - odds.least;
	if (fate == DP_PAID && w->audit->order > 0) odds.loss = diverge_worlds(w, w->audit->order);
	w->audit->odds(w->audit->user, &odds);
	return DP_OK;
}

static enum dp_status tell_odds(struct worlds *w, uint32_t token, enum dp_fate fate) {
	const uint32_t only = w->audit->place, first = only == CUTTLE_EVERY_PLACE ? 0 : only;
	double with;
	enum dp_status status = weigh_world(w, NO_PLACE, fate, w->with, &with);
	for (uint32_t place = first; !status && place < w->places; place++) {
		if (w->came[place]) status = tell_place(w, place, token, fate, with);
		if (only != CUTTLE_EVERY_PLACE) break;
	}
	return status;
}

static enum dp_status draw_worlds_token(void *self, uint32_t *token, enum dp_fate *fate) {
	struct worlds *w = self;
	const struct cuttle_audit *audit = w->audit;
	const size_t text = w->at->text;
	const int32_t forced =
	    audit->forced ? audit->forced(audit->user, text, (uint32_t)w->at->step) : -1;
	const bool null = audit->without && audit->without(audit->user, text);
	enum dp_status status = DP_OK;
	*fate = w->wanted.count ? DP_PAID : DP_FREE;
	// Of a text that stands already nobody knows which answers came, so some are drawn.
	if (forced < 0 || (w->inner.answers && w->wanted.count))
		status = draw_in_world(w, null ? audit->place : NO_PLACE, token, fate);
	REQUIRE(forced < 0 || (size_t)forced < w->vocab);
	if (forced >= 0) *token = (uint32_t)forced;
	if (!status && w->wanted.count) status = tell_odds(w, *token, *fate);
	return status;
}

static void leave_worlds(void *self) {
	(void)self;
}

struct dp_mechanism worlds_mechanism(struct worlds *worlds) {
	return (struct dp_mechanism){.claim = worlds->inner.claim,
	                             .self = worlds,
	                             .turn = turn_worlds,
	                             .begin = begin_worlds_step,
	                             .allow = worlds->inner.allow ? allow_worlds_tokens : NULL,
	                             .open = open_worlds_step,
	                             .row = keep_worlds_row,
	                             .draw = draw_worlds_token,
	                             .free = leave_worlds};
}

enum cuttle_status worlds_begin(struct worlds *worlds, const struct dp_mechanism *inner,
                                size_t vocab, uint32_t places, size_t slots,
                                const struct cuttle_audit *audit, const struct seeded *at,
                                struct cuttle_error *error) {
	size_t total = 0;
	REQUIRE(slots <= RETRACED_SLOT);
	*worlds = (struct worlds){.inner = *inner,
	                          .audit = audit,
	                          .at = at,
	                          .vocab = vocab,
	                          .most_places = places,
	                          .slots = slots};
	const size_t pasts = slots * count_worlds(worlds);
	if (!region_add(&total, (size_t)places * vocab, sizeof *worlds->rows) ||
	    !region_add(&total, places, sizeof *worlds->came) ||
	    !region_add(&total, vocab, sizeof *worlds->with) ||
	    !region_add(&total, vocab, sizeof *worlds->without) ||
	    !region_add(&total, slots * places, sizeof *worlds->answers) ||
	    !region_add(&total, pasts + 1, inner->past_size) ||
	    !region_map(&worlds->region, total, true))
		return status_fail(error, CUTTLE_NOMEM, "out of memory for the rows of %u places",
		                   places);
	worlds->rows = region_carve(&worlds->region, (size_t)places * vocab * sizeof *worlds->rows);
	worlds->came = region_carve(&worlds->region, places * sizeof *worlds->came);
	worlds->with = region_carve(&worlds->region, vocab * sizeof *worlds->with);
	worlds->without = region_carve(&worlds->region, vocab * sizeof *worlds->without);
	worlds->answers = region_carve(&worlds->region, slots * places * sizeof *worlds->answers);
	worlds->pasts = region_carve(&worlds->region, pasts * inner->past_size);
	return CUTTLE_OK;
}

void worlds_end(struct worlds *worlds) {
	region_unmap(&worlds->region, true);
}
