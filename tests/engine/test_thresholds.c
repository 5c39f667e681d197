// SPDX-License-Identifier: Apache-2.0
// Tests the loop of engine/run/loop/generate.c with Amin's mechanism (dp/amin.h), over rows made up
// here. They agree with the public row or do not, by a script, and thresholds have next to no
// noise: so the script says which tokens are free. It fails if the loop, the transcript and the
// mechanism count thresholds otherwise than a reader of the journal would; if a process that
// resumes a batch within a stretch of free tokens pays no threshold for it, or leaves no mark; if a
// batch goes on without a threshold; or if a mark is believed where none can be.
#include "dp/amin.h"
#include "dp/amin_account.h"
#include "engine/model/model.h"
#include "engine/run/loop/generate.h"
#include "engine/run/methods/methods.h"
#include "engine/run/plan/plan.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXTS = 5, BATCH = 4, LENGTH = 24, SLOTS = 2, FIRST = 'a', LETTERS = 26 };

struct script {
	bool (*differs)(size_t batch, uint32_t step); /* the rows, from the public one */
	uint32_t units;                               /* r */
	uint32_t length;                              /* T */
	bool bank, completes;
};

struct run {
	const struct script *script;
	struct dp_mechanism mechanism;
	/* The source. */
	size_t batch_of[SLOTS], begun_batch, slot;
	uint32_t steps[SLOTS];
	bool alone[SLOTS];
	float public_row[TINY_VOCAB], row[TINY_VOCAB];
	/* The journal. */
	int32_t drawn[TEXTS][LENGTH];
	uint32_t counts[TEXTS], lengths[TEXTS];
	enum cuttle_finish finish[TEXTS];
	size_t texts, now, stop_after;
};

/* ---- the source ------------------------------------------------------------------------------ */

static enum cuttle_status begin_slot(void *self, size_t slot, const struct tokens *public_context,
                                     const struct place_context *places, size_t count,
                                     const struct tokens *already,
                                     const struct interruption *interruption) {
	struct run *run = self;
	(void)public_context, (void)places, (void)already, (void)interruption;
	assert_int_equal(count, BATCH);
	run->batch_of[slot] = run->begun_batch;
	run->steps[slot] = run->counts[run->begun_batch];
	run->alone[slot] = false;
	return CUTTLE_OK;
}

static void end_slot(void *self, size_t slot) {
	(void)self, (void)slot;
}

static void drop_private(void *self, size_t slot) {
	((struct run *)self)->alone[slot] = true;
}

static void make_public(void *self) {
	(void)self;
}

static const float *public_row_of(void *self, size_t slot) {
	struct run *run = self;
	run->slot = slot;
	return run->public_row;
}

static void make_private(void *self, size_t slot, size_t first, size_t places,
                         const uint32_t *candidates, size_t count) {
	struct run *run = self;
	const bool differs = run->script->differs(run->batch_of[slot], run->steps[slot]);
	assert_true(slot == run->slot && first == 0 && places == BATCH && !run->alone[slot]);
	assert_int_equal(count, LETTERS);
	for (size_t i = 0; i < count; i++)
		run->row[i] = differs ? (candidates[i] == FIRST + 25 ? 40.0f : 0.0f)
		                      : run->public_row[candidates[i]];
}

static const float *private_row_of(void *self, size_t place) {
	(void)place;
	return ((struct run *)self)->row;
}

static void append_tokens(void *self, const int32_t *tokens) {
	(void)tokens;
	struct run *run = self;
	for (size_t slot = 0; slot < SLOTS; slot++) run->steps[slot]++;
}

/* ---- the job --------------------------------------------------------------------------------- */

static struct batch_terms terms(void *self, size_t batch) {
	struct run *run = self;
	(void)batch;
	return (struct batch_terms){.mechanism = &run->mechanism, .places = BATCH};
}

static enum cuttle_status contexts(void *self, size_t batch, bool alone, int32_t *ids,
                                   struct tokens *public_context, struct place_context *places,
                                   struct cuttle_error *error) {
	struct run *run = self;
	(void)alone, (void)places, (void)error;
	run->begun_batch = batch;
	ids[0] = 'x';
	*public_context = (struct tokens){ids, 1};
	return CUTTLE_OK;
}

static size_t give_drawn(void *user, size_t batch, const int32_t **tokens) {
	struct run *run = user;
	*tokens = run->drawn[batch];
	return run->counts[batch];
}

/* What a reader of the journal counts: the first token, those after a paid one, and marked ones. */
static uint32_t units_of(const struct run *run, size_t batch) {
	const int32_t *drawn = run->drawn[batch];
	uint32_t units = 0;
	for (uint32_t i = 0; i < run->counts[batch]; i++) {
		const int32_t number = drawn[i] < 0 ? ~drawn[i] : drawn[i];
		const bool begins = i == 0 || drawn[i - 1] >= 0 || number >= 1 << 30;
		units += begins && units < run->script->units;
	}
	return units;
}

static uint32_t marks_of(const struct run *run, size_t batch) {
	uint32_t marks = 0;
	for (uint32_t i = 0; i < run->counts[batch]; i++) {
		const int32_t drawn = run->drawn[batch][i];
		marks += (drawn < 0 ? ~drawn : drawn) >= 1 << 30;
	}
	return marks;
}

static uint32_t paid_of(const struct run *run, size_t batch) {
	uint32_t paid = 0;
	for (uint32_t i = 0; i < run->counts[batch]; i++) paid += run->drawn[batch][i] >= 0;
	return paid;
}

static int keep_token(void *user, size_t batch, uint32_t step, int32_t token) {
	struct run *run = user;
	const uint32_t spent_before = units_of(run, batch);
	const bool left =
	    spent_before < run->script->units || (step && run->drawn[batch][step - 1] < 0);
	assert_int_equal(step, run->counts[batch]);
	assert_true(step < run->script->length);
	run->drawn[batch][run->counts[batch]++] = token;
	assert_int_equal(dp_amin_units(run->mechanism.self), units_of(run, batch));
	assert_true(units_of(run, batch) <= run->script->units);
	const int32_t id = (token < 0 ? ~token : token) & ~(1 << 30);
	assert_true(id >= FIRST && id < FIRST + LETTERS);
	if (left && !run->script->completes)
		assert_int_equal(token >= 0, run->script->differs(batch, step));
	return ++run->now == run->stop_after;
}

static int keep_text(void *user, const struct cuttle_text *text) {
	struct run *run = user;
	assert_int_equal(text->index, run->texts);
	assert_int_equal(text->tokens, run->counts[text->batch]);
	assert_int_equal(text->free_tokens, run->counts[text->batch] - paid_of(run, text->batch));
	for (uint32_t i = 0; i < text->tokens; i++) {
		const int32_t drawn = run->drawn[text->batch][i];
		assert_int_equal(text->ids[i], (drawn < 0 ? ~drawn : drawn) & ~(1 << 30));
	}
	run->finish[text->batch] = text->finish;
	run->texts++;
	return 0;
}

static struct cuttle_model *model;
static struct seeded seeded = {.seed = 3};

static enum cuttle_status generate(struct run *run) {
	struct cuttle_error error;
	uint8_t allowed[TINY_VOCAB] = {0};
	memset(allowed + FIRST, 1, LETTERS);
	const struct dp_amin_params params = {.batch = BATCH,
	                                      .units = run->script->units,
	                                      .vocab = TINY_VOCAB,
	                                      .temperature_num = 1,
	                                      .temperature_den = 1,
	                                      .public_num = 1,
	                                      .public_den = 1,
	                                      .clip_fixed = 300,
	                                      .fraction_bits = 8,
	                                      .law_bits = 32,
	                                      .scale = 1,
	                                      .theta = dp_amin_theta(700000, BATCH),
	                                      .allowed = allowed,
	                                      .random = seeded_random(&seeded)};
	assert_int_equal(dp_amin_mechanism(&params, &run->mechanism), DP_OK);
	for (size_t y = 0; y < TINY_VOCAB; y++) run->public_row[y] = (float)(y % 7) * 0.5f;
	run->now = run->texts = 0;
	const struct generation job = {.model = &model->model,
	                               .rules = {.vocab = model->model.vocab,
	                                         .tokens = run->script->units,
	                                         .length = run->script->length,
	                                         .bank = run->script->bank,
	                                         .completes = run->script->completes,
	                                         .thresholds = true},
	                               .texts = TEXTS,
	                               .places = BATCH,
	                               .context_tokens = 4,
	                               .seeded = &seeded,
	                               .self = run,
	                               .terms = terms,
	                               .contexts = contexts,
	                               .user = run,
	                               .drawn = give_drawn,
	                               .token = keep_token,
	                               .text = keep_text};
	const struct logit_source source = {.self = run,
	                                    .vocab = TINY_VOCAB,
	                                    .slots = SLOTS,
	                                    .begin = begin_slot,
	                                    .end = end_slot,
	                                    .alone = drop_private,
	                                    .public_logits = make_public,
	                                    .public_row = public_row_of,
	                                    .private_logits = make_private,
	                                    .row = private_row_of,
	                                    .append = append_tokens};
	const enum cuttle_status status = generate_run(&job, &source, &error);
	run->mechanism.free(run->mechanism.self);
	return status;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static bool never(size_t batch, uint32_t step) {
	(void)batch, (void)step;
	return false;
}

static bool now_and_then(size_t batch, uint32_t step) {
	return (step + 3 * batch) % 5 == 4;
}

/* A batch ends with its last unit, or with T. */
static void a_batch_has_its_units(void **state) {
	(void)state;
	static struct run run;
	for (uint32_t units = 1; units <= 6; units++) {
		const struct script script = {now_and_then, units, LENGTH, false, false};
		run = (struct run){.script = &script};
		assert_int_equal(generate(&run), CUTTLE_OK);
		assert_int_equal(run.texts, TEXTS);
		for (size_t b = 0; b < TEXTS; b++) {
			assert_int_equal(marks_of(&run, b), 0);
			assert_int_equal(run.finish[b], CUTTLE_FINISH_LENGTH);
			uint32_t fires = 0, last = LENGTH - 1;
			for (uint32_t step = 0; step < LENGTH; step++) {
				fires += now_and_then(b, step);
				if (fires == units && now_and_then(b, step)) last = step;
			}
			assert_int_equal(paid_of(&run, b), fires < units ? fires : units);
			assert_int_equal(run.counts[b], last + 1);
			assert_int_equal(units_of(&run, b),
			                 fires < units ? fires + !now_and_then(b, LENGTH - 1)
			                               : units);
		}
	}
	/* A text that never pays costs a threshold. */
	const struct script script = {never, 3, 9, false, false};
	run = (struct run){.script = &script};
	assert_int_equal(generate(&run), CUTTLE_OK);
	for (size_t b = 0; b < TEXTS; b++) {
		assert_int_equal(run.counts[b], 9);
		assert_int_equal(units_of(&run, b), 1);
	}
}

/* Two stops inside one stretch of free tokens cost a unit each, and leave a mark each. */
static void a_stop_costs_a_unit(void **state) {
	(void)state;
	static struct run run;
	const struct script script = {never, 4, 10, false, false};
	run = (struct run){.script = &script, .stop_after = 3};
	assert_int_equal(generate(&run), CUTTLE_PARTIAL); /* tokens of batches 0, 1, 0 */
	assert_int_equal(run.counts[0], 2);
	assert_int_equal(generate(&run), CUTTLE_PARTIAL);
	assert_int_equal(run.counts[0], 4);
	run.stop_after = 0;
	assert_int_equal(generate(&run), CUTTLE_OK);
	for (size_t b = 0; b < TEXTS; b++) {
		assert_int_equal(run.counts[b], 10);
		assert_int_equal(marks_of(&run, b), b < 2 ? 2 : 0);
		assert_int_equal(units_of(&run, b), b < 2 ? 3 : 1);
	}
	assert_true(run.drawn[0][2] == (run.drawn[0][2] & ~(1 << 30))); /* ~(t + 2^30) */
	assert_true(~run.drawn[0][2] >= 1 << 30 && ~run.drawn[0][4] >= 1 << 30);
	/* A text that is whole is replayed as it was. */
	assert_int_equal(generate(&run), CUTTLE_OK);
	assert_int_equal(run.texts, TEXTS);
	assert_int_equal(run.now, 0);
}

/* Without a unit that is left, a stop ends the batch: it may look at nothing any more. */
static void a_stop_may_end_a_batch(void **state) {
	(void)state;
	static struct run run;
	for (int completes = 0; completes < 2; completes++) {
		const struct script script = {never, 1, 10, false, completes};
		run = (struct run){.script = &script, .stop_after = 5};
		assert_int_equal(generate(&run), CUTTLE_PARTIAL);
		run.stop_after = 0;
		assert_int_equal(generate(&run), CUTTLE_OK);
		assert_int_equal(run.texts, TEXTS);
		assert_int_equal(run.counts[0], completes ? 10 : 3);
		assert_int_equal(run.counts[1], completes ? 10 : 2);
		assert_int_equal(run.counts[2], 10);
		for (size_t b = 0; b < TEXTS; b++) {
			assert_int_equal(run.finish[b], CUTTLE_FINISH_LENGTH);
			assert_int_equal(marks_of(&run, b), 0);
			assert_int_equal(units_of(&run, b), 1);
		}
		assert_int_equal(generate(&run), CUTTLE_OK);
		assert_int_equal(run.now, 0);
	}
}

/* Stopped at each token: units are never above r, and every one is counted. */
static void stopped_anywhere(void **state) {
	(void)state;
	static struct run run;
	for (size_t stop = 1; stop <= 6; stop++) {
		const struct script script = {now_and_then, 4, LENGTH, false, false};
		run = (struct run){.script = &script, .stop_after = stop};
		enum cuttle_status status = CUTTLE_PARTIAL;
		for (int tries = 0; status == CUTTLE_PARTIAL && tries < TEXTS * LENGTH + 2; tries++)
			status = generate(&run);
		assert_int_equal(status, CUTTLE_OK);
		assert_int_equal(run.texts, TEXTS);
		uint32_t marks = 0;
		for (size_t b = 0; b < TEXTS; b++) {
			marks += marks_of(&run, b);
			assert_true(paid_of(&run, b) + marks_of(&run, b) <= 4);
		}
		assert_true(marks > 2);
	}
}

/* A journal that no such run wrote is refused. */
static void wrong_marks(void **state) {
	(void)state;
	static struct run run;
	static const int32_t mark = 1 << 30;
	const struct script script = {never, 2, 10, false, false};
	const int32_t wrong[][4] = {
	    {'b' | mark, 'b', 'b', 'b'},                /* the first token */
	    {'b', 'b' | mark, ~'b', ~'b'},              /* behind a paid one */
	    {~'b', ~('b' | mark), ~('b' | mark), ~'b'}, /* one more than r */
	    {'b', ~'b', 'b' | mark, ~'b'}};             /* the same */
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		run = (struct run){.script = &script};
		memcpy(run.drawn[0], wrong[i], sizeof wrong[i]);
		run.counts[0] = 4;
		assert_int_equal(generate(&run), CUTTLE_MODEL);
		assert_int_equal(run.now, 0);
	}
	run = (struct run){.script = &script};
	memcpy(run.drawn[0], (int32_t[]){~'b', ~('b' | mark), ~'b'}, 3 * sizeof(int32_t));
	run.counts[0] = 3;
	assert_int_equal(generate(&run), CUTTLE_OK);
	assert_int_equal(run.counts[0], 3); /* r is used up, and its threshold is lost */
	/* Without thresholds there are no marks. */
	struct transcript transcript;
	const struct transcript_rules rules = {
	    .vocab = model->model.vocab, .tokens = 5, .free_tokens = 5, .length = 10};
	assert_int_equal(transcript_new(&rules, &transcript, NULL), CUTTLE_OK);
	transcript_begin(&transcript, false);
	transcript_add(&transcript, ~'b');
	transcript_resume(&transcript);
	assert_int_equal(transcript_marked(&transcript, 'c'), 'c');
	assert_true(transcript_may_add(&transcript, ~'b'));
	assert_false(transcript_may_add(&transcript, ~('b' | mark)));
	transcript_free(&transcript);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static enum cuttle_status plan_amin(double epsilon, double noise, uint32_t units,
                                    struct cuttle_guarantee *g, struct cuttle_error *error) {
	struct cuttle_plan_params params;
	struct cuttle_plan *plan;
	cuttle_plan_params_default(&params);
	params.method = CUTTLE_AMIN;
	params.epsilon = epsilon;
	params.batch = BATCH;
	params.tokens = LENGTH;
	params.method_params.svt_noise = noise;
	params.method_params.units = units;
	const enum cuttle_status status = cuttle_plan_make(model, &params, &plan, error);
	if (status) return status;
	cuttle_plan_describe(plan, g);
	struct dp_claim claim;
	assert_int_equal(method_of(CUTTLE_AMIN)->claim(g, &claim), DP_OK);
	assert_true(claim.eta == plan->mechanism.claim.eta &&
	            claim.threshold == plan->mechanism.claim.threshold &&
	            claim.units == plan->mechanism.claim.units);
	assert_true(plan->caps.thresholds && plan->caps.paid == claim.units &&
	            plan->caps.length == LENGTH);
	cuttle_plan_free(&plan);
	return CUTTLE_OK;
}

/* A plan's numbers are those that a receipt is checked by. */
static void plans(void **state) {
	(void)state;
	struct cuttle_guarantee g, made;
	struct cuttle_error error;
	assert_int_equal(plan_amin(10, 3, 0, &g, &error), CUTTLE_OK);
	assert_int_equal(g.claim.units, LENGTH / 4); /* what is not given is the paper's */
	assert_true(g.method_params.svt_threshold == 0.7);
	assert_true(g.method_params.temperature_public == 1);
	assert_true(g.epsilon <= 10 && g.epsilon > 9.99 && g.accountant == CUTTLE_ZCDP);
	assert_int_equal(g.claim.kind, CUTTLE_CLAIM_RHO);
	made = g;
	made.rho = made.epsilon = -1;
	assert_int_equal(cuttle_method_account(&made, &error), CUTTLE_OK);
	assert_true(made.rho == g.rho && made.epsilon == g.epsilon && isnan(made.epsilon_exact));
	/* More units, less noise: less for the clip. */
	assert_int_equal(plan_amin(10, 2, 6, &made, &error), CUTTLE_OK);
	assert_true(made.clip_fixed < g.clip_fixed && made.fraction_bits == g.fraction_bits);
	assert_int_equal(plan_amin(10, 0.3, 6, &made, &error), CUTTLE_BUDGET);
	assert_non_null(strstr(error.message, "The nearest that do: --units "));
	assert_int_equal(plan_amin(10, 3, LENGTH + 1, &made, &error), CUTTLE_USAGE);
	assert_int_equal(plan_amin(10, 1e9, 1, &made, &error), CUTTLE_USAGE);
	assert_int_equal(plan_amin(NAN, 3, 1, &made, &error), CUTTLE_USAGE);
	/* Numbers that no plan has. */
	for (int wrong = 0; wrong < 7; wrong++) {
		made = g;
		if (wrong == 0) made.method_params.units = 0;
		if (wrong == 1) made.method_params.units = LENGTH + 1;
		if (wrong == 2) made.method_params.svt_noise = NAN;
		if (wrong == 3) made.method_params.svt_threshold = 2.1;
		if (wrong == 4) made.clip_fixed = 0;
		if (wrong == 5) made.fraction_bits = 13;
		if (wrong == 6) made.temperature = NAN;
		assert_int_equal(cuttle_method_account(&made, &error), CUTTLE_USAGE);
	}
}

static int open_model(void **state) {
	(void)state;
	model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1);
	return 0;
}

static int close_model(void **state) {
	(void)state;
	cuttle_model_free(&model);
	return 0;
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_batch_has_its_units),
	    cmocka_unit_test(a_stop_costs_a_unit),
	    cmocka_unit_test(a_stop_may_end_a_batch),
	    cmocka_unit_test(stopped_anywhere),
	    cmocka_unit_test(wrong_marks),
	    cmocka_unit_test(plans),
	};
	return cmocka_run_group_tests(tests, open_model, close_model);
}
