// SPDX-License-Identifier: Apache-2.0
// Tests engine/run/loop/generate.c with mechanisms made up here, which want what InvisibleInk never
// wants: the row of one place alone, and free tokens where they like.
// It fails if the loop calls a mechanism out of order, or tells it a wrong number of spent units,
// or another batch than the one whose turn it is. It fails if a mechanism gets another row than it
// wants, or if another row is computed. It fails if a free token is allowed where the batch has
// none left, or is not recorded as free.
#include "engine/run/loop/job.h"
#include "tests/support/tiny_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	TEXTS = 5,
	BATCH = 4,
	NULL_PLACE = 2, /* of every batch */
	TOKENS = 9,
	FREE = 4,
	MOST = TOKENS + FREE,
	SLOTS = 2,
	WANTED = 3 /* tokens of each step */
};

/* ---- the model ------------------------------------------------------------------------------- */

/* What was asked for last, and what the next rows follow from. */
struct mock_source {
	uint64_t history[SLOTS]; /* of the slot's tokens */
	float public_rows[SLOTS][TINY_VOCAB];
	bool alone[SLOTS]; /* the slot's private contexts are gone */
	size_t slot;       /* of the last public_row: the one whose turn it is */
	size_t asked;      /* times that private logits were asked for */
	size_t first_place, places;
	uint32_t tokens[WANTED];
	float row[WANTED];
};

static uint64_t mix_mock_token(uint64_t history, int32_t token) {
	uint64_t seed = history * 1000003 + (uint64_t)token + 1;
	return tiny_random(&seed);
}

static enum cuttle_status begin_mock_slot(void *self, size_t slot,
                                          const struct tokens *public_context,
                                          const struct place_context *places, size_t count,
                                          const struct tokens *already,
                                          const struct interruption *interruption) {
	struct mock_source *s = self;
	(void)public_context, (void)interruption;
	assert_int_equal(count, BATCH);
	s->history[slot] = 5;
	s->alone[slot] = !places[0].tokens.count;
	for (size_t i = 0; i < count && !s->alone[slot]; i++)
		assert_int_equal(places[i].tokens.count == 0, i == NULL_PLACE);
	for (size_t i = 0; i < already->count; i++)
		s->history[slot] = mix_mock_token(s->history[slot], already->ids[i]);
	return CUTTLE_OK;
}

static void end_mock_slot(void *self, size_t slot) {
	(void)self, (void)slot;
}

static void drop_mock_places(void *self, size_t slot) {
	((struct mock_source *)self)->alone[slot] = true;
}

static void make_mock_public_rows(void *self) {
	struct mock_source *s = self;
	for (size_t slot = 0; slot < SLOTS; slot++) {
		uint64_t seed = s->history[slot];
		for (size_t y = 0; y < TINY_VOCAB; y++)
			s->public_rows[slot][y] = (float)(tiny_random(&seed) % 1000);
	}
}

static const float *mock_public_row_of(void *self, size_t slot) {
	struct mock_source *s = self;
	s->slot = slot;
	return s->public_rows[slot];
}

static float mock_private_logit(uint64_t history, size_t place, uint32_t token) {
	uint64_t seed = mix_mock_token(history, (int32_t)(place * 1000 + token));
	return (float)(tiny_random(&seed) % 1000);
}

static void make_mock_private_rows(void *self, size_t slot, size_t first_place, size_t places,
                                   const uint32_t *candidates, size_t count) {
	struct mock_source *s = self;
	assert_int_equal(slot, s->slot);
	assert_int_equal(count, WANTED);
	assert_false(s->alone[slot]);
	s->asked++;
	s->first_place = first_place;
	s->places = places;
	memcpy(s->tokens, candidates, sizeof s->tokens);
}

static const float *mock_private_row_of(void *self, size_t place) {
	struct mock_source *s = self;
	assert_true(place >= s->first_place && place < s->first_place + s->places);
	for (size_t i = 0; i < WANTED; i++)
		s->row[i] = mock_private_logit(s->history[s->slot], place, s->tokens[i]);
	return place == NULL_PLACE ? NULL : s->row;
}

static void append_mock_tokens(void *self, const int32_t *tokens) {
	struct mock_source *s = self;
	for (size_t slot = 0; slot < SLOTS; slot++)
		s->history[slot] = mix_mock_token(s->history[slot], tokens[slot]);
}

/* ---- the mechanism --------------------------------------------------------------------------- */

enum step_state { BETWEEN, BEGUN, OPEN };

struct mock_mechanism {
	struct mock_source *source;
	bool one_place;  /* wants one place only, otherwise every place */
	bool likes_free; /* decides for a free token now and then, where it may */
	enum dp_status open_fails, draw_fails;
	enum step_state state;
	bool fresh;          /* what the last turn said */
	uint32_t slot;       /* whose turn it was */
	bool begun[TEXTS];   /* batches that have drawn in this run */
	size_t holds[SLOTS]; /* the batch that drew last in each slot */
	uint32_t spent;
	bool may_be_free, free;
	size_t asked; /* source->asked when the step was opened */
	uint32_t place, tokens[WANTED];
	bool seen[BATCH]; /* rows of this step */
	size_t rows;      /* of all steps */
	float sum;        /* what the token follows from */
};

static void turn_to_mock_slot(void *self, uint32_t slot, bool fresh) {
	struct mock_mechanism *m = self;
	assert_int_equal(m->state, BETWEEN);
	assert_true(slot < SLOTS);
	m->slot = slot;
	m->fresh = fresh;
}

static void begin_mock_step(void *self, uint32_t places, uint32_t spent) {
	struct mock_mechanism *m = self;
	assert_int_equal(places, BATCH);
	m->spent = spent;
	m->state = BEGUN;
}

static enum dp_status open_mock_step(void *self, const float *public_row, bool may_be_free,
                                     struct dp_wanted *wanted) {
	struct mock_mechanism *m = self;
	assert_int_equal(m->state, BEGUN);
	assert_ptr_equal(public_row, m->source->public_rows[m->source->slot]);
	assert_true(m->spent < TOKENS || may_be_free);
	*wanted = (struct dp_wanted){0};
	if (m->open_fails) return m->open_fails;
	m->state = OPEN;
	m->may_be_free = may_be_free;
	m->free = may_be_free &&
	          (m->spent == TOKENS || (m->likes_free && (unsigned)public_row[0] % 3 == 0));
	m->asked = m->source->asked;
	m->sum = public_row[1];
	memset(m->seen, 0, sizeof m->seen);
	if (m->free) return DP_OK;
	for (uint32_t i = 0; i < WANTED; i++) m->tokens[i] = 20 * i + m->spent;
	m->place = m->one_place ? (unsigned)public_row[2] % BATCH : DP_EVERY_PLACE;
	*wanted = (struct dp_wanted){m->tokens, WANTED, m->place};
	return DP_OK;
}

static void add_mock_row(void *self, uint32_t place, const float *logits) {
	struct mock_mechanism *m = self;
	const struct mock_source *s = m->source;
	assert_true(m->state == OPEN && !m->free && place < BATCH && !m->seen[place]);
	assert_true(m->place == DP_EVERY_PLACE || m->place == place);
	for (size_t i = 0; i < WANTED; i++) {
		assert_true(logits[i] ==
		            mock_private_logit(s->history[s->slot], place, m->tokens[i]));
		m->sum += logits[i];
	}
	m->seen[place] = true;
	m->rows++;
}

static enum dp_status draw_mock_token(void *self, uint32_t *token, enum dp_fate *fate) {
	struct mock_mechanism *m = self;
	assert_int_equal(m->state, OPEN);
	m->state = BETWEEN;
	if (m->draw_fails) return m->draw_fails;
	// Every row that was wanted and is not null has come, and no other was computed.
	for (uint32_t place = 0; place < BATCH; place++) {
		const bool wanted = !m->free && (!m->one_place || place == m->place);
		assert_int_equal(m->seen[place], wanted && place != NULL_PLACE);
	}
	assert_int_equal(m->source->asked - m->asked, !m->free);
	if (!m->free) {
		assert_int_equal(m->source->places, m->one_place ? 1 : BATCH);
		assert_int_equal(m->source->first_place, m->one_place ? m->place : 0);
	}
	*token = 'a' + (unsigned)m->sum % 26;
	*fate = m->free ? DP_FREE : DP_PAID;
	return DP_OK;
}

static void free_mock(void *self) {
	(void)self;
}

/* ---- the job --------------------------------------------------------------------------------- */

struct record {
	struct mock_source source;
	struct mock_mechanism mechanism;
	int32_t drawn[TEXTS][MOST];
	uint32_t counts[TEXTS], spent[TEXTS], free[TEXTS];
	size_t texts, now, stop_after;
};

static void give_fish(void *user, size_t index, const char **text, size_t *size) {
	(void)user;
	*text = "fish";
	*size = index % BATCH == NULL_PLACE ? 0 : 4;
}

static size_t give_recorded(void *user, size_t batch, const int32_t **tokens) {
	struct record *r = user;
	*tokens = r->drawn[batch];
	return r->counts[batch];
}

static int record_token(void *user, size_t batch, uint32_t step, int32_t token) {
	struct record *r = user;
	const struct mock_mechanism *m = &r->mechanism;
	assert_int_equal(step, r->counts[batch]);
	// A turn is fresh for the first token of each batch in a run, and then keeps its slot.
	assert_int_equal(m->fresh, !m->begun[batch]);
	if (m->begun[batch]) assert_int_equal(m->holds[m->slot], batch);
	r->mechanism.begun[batch] = true;
	r->mechanism.holds[m->slot] = batch;
	assert_true(step < MOST);
	assert_int_equal(m->spent, r->spent[batch]);
	assert_int_equal(m->may_be_free, r->free[batch] < FREE);
	assert_int_equal(token < 0, m->free);
	r->drawn[batch][r->counts[batch]++] = token;
	if (token < 0) r->free[batch]++;
	else r->spent[batch]++;
	return ++r->now == r->stop_after;
}

static int count_text(void *user, const struct cuttle_text *text) {
	struct record *r = user;
	assert_int_equal(text->free_tokens, r->free[text->batch]);
	assert_int_equal(text->tokens, r->counts[text->batch]);
	r->texts++;
	return 0;
}

static enum cuttle_status run_mock(struct cuttle_model *model, struct record *r, size_t slots) {
	struct cuttle_plan_params params;
	struct cuttle_plan *plan;
	struct cuttle_error error;
	cuttle_plan_params_default(&params);
	params.clip = 0.8;
	params.batch = BATCH;
	params.tokens = TOKENS;
	params.savings = (struct cuttle_savings){.complete = true, .free_tokens = FREE};
	assert_int_equal(cuttle_plan_make(model, &params, &plan, &error), CUTTLE_OK);
	plan->mechanism.free(plan->mechanism.self);
	plan->traced = NULL;
	r->mechanism.source = &r->source;
	plan->mechanism = (struct dp_mechanism){.self = &r->mechanism,
	                                        .turn = turn_to_mock_slot,
	                                        .begin = begin_mock_step,
	                                        .open = open_mock_step,
	                                        .row = add_mock_row,
	                                        .draw = draw_mock_token,
	                                        .free = free_mock};
	const struct logit_source source = {.self = &r->source,
	                                    .vocab = TINY_VOCAB,
	                                    .slots = slots,
	                                    .begin = begin_mock_slot,
	                                    .end = end_mock_slot,
	                                    .alone = drop_mock_places,
	                                    .public_logits = make_mock_public_rows,
	                                    .public_row = mock_public_row_of,
	                                    .private_logits = make_mock_private_rows,
	                                    .row = mock_private_row_of,
	                                    .append = append_mock_tokens};
	struct cuttle_job job;
	cuttle_job_default(&job);
	job.texts = TEXTS;
	job.user = r;
	job.reference = give_fish;
	job.drawn = give_recorded;
	job.token = record_token;
	job.text = count_text;
	r->texts = r->now = 0;
	memset(r->mechanism.begun, 0, sizeof r->mechanism.begun);
	const enum cuttle_status status = job_generate(plan, &job, &source, &error);
	cuttle_plan_free(&plan);
	return status;
}

/* Every batch draws T paid and all its free tokens. */
static void check_mock_counts(const struct record *r) {
	assert_int_equal(r->texts, TEXTS);
	for (size_t b = 0; b < TEXTS; b++) {
		assert_int_equal(r->spent[b], TOKENS);
		assert_int_equal(r->free[b], FREE);
	}
}

/* ---- tests ----------------------------------------------------------------------------------- */

static struct cuttle_model *model;

static int open_mock_model(void **state) {
	(void)state;
	model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1);
	return 0;
}

static int close_mock_model(void **state) {
	(void)state;
	cuttle_model_free(&model);
	return 0;
}

static void one_place_alone(void **state) {
	(void)state;
	static struct record one, every;
	one = every = (struct record){0};
	one.mechanism.one_place = true;
	assert_int_equal(run_mock(model, &one, SLOTS), CUTTLE_OK);
	check_mock_counts(&one);
	// Some steps want the null place: no row comes. All others want one row.
	assert_true(one.mechanism.rows < TEXTS * TOKENS && one.mechanism.rows > TEXTS);
	assert_int_equal(one.source.asked, TEXTS * TOKENS);
	assert_int_equal(run_mock(model, &every, SLOTS), CUTTLE_OK);
	check_mock_counts(&every);
	assert_int_equal(every.mechanism.rows, TEXTS * TOKENS * (BATCH - 1));
}

/* The texts are the same however many are in flight, and wherever a run was stopped. */
static void free_tokens_where_they_may_be(void **state) {
	(void)state;
	static struct record whole, parts;
	whole = (struct record){.mechanism = {.one_place = true, .likes_free = true}};
	assert_int_equal(run_mock(model, &whole, 1), CUTTLE_OK);
	check_mock_counts(&whole);
	size_t early = 0; // free tokens before the last paid one
	for (size_t b = 0; b < TEXTS; b++)
		for (size_t i = 0; i < TOKENS; i++) early += whole.drawn[b][i] < 0;
	assert_true(early > 3);
	for (size_t slots = 1; slots <= SLOTS; slots++)
		for (size_t stop = 1; stop <= 7; stop += 2) {
			parts = (struct record){.mechanism = whole.mechanism, .stop_after = stop};
			enum cuttle_status status = CUTTLE_PARTIAL;
			for (int tries = 0; status == CUTTLE_PARTIAL && tries < TEXTS * MOST + 2;
			     tries++)
				status = run_mock(model, &parts, slots);
			assert_int_equal(status, CUTTLE_OK);
			assert_memory_equal(parts.drawn, whole.drawn, sizeof whole.drawn);
			check_mock_counts(&parts);
		}
}

/* What a mechanism answers ends the run. No token is told. */
static void failures_end_the_run(void **state) {
	(void)state;
	static struct record r;
	static const struct {
		enum dp_status open, draw;
		enum cuttle_status ends;
	} cases[] = {{DP_PUBLIC_NOT_FINITE, DP_OK, CUTTLE_MODEL},
	             {DP_NO_ENTROPY, DP_OK, CUTTLE_INTERNAL},
	             {DP_SPENT, DP_OK, CUTTLE_INTERNAL},
	             {DP_OK, DP_NO_ENTROPY, CUTTLE_INTERNAL}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		r = (struct record){0};
		r.mechanism.open_fails = cases[i].open;
		r.mechanism.draw_fails = cases[i].draw;
		assert_int_equal(run_mock(model, &r, SLOTS), cases[i].ends);
		assert_int_equal(r.now, 0);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_place_alone),
	    cmocka_unit_test(free_tokens_where_they_may_be),
	    cmocka_unit_test(failures_end_the_run),
	};
	return cmocka_run_group_tests(tests, open_mock_model, close_mock_model);
}
