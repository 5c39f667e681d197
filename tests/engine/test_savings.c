// SPDX-License-Identifier: Apache-2.0
// Tests token bank, free public tokens and public completion in engine/run/loop/generate.c. The
// model is a stub: its texts often end early, and its public row is sure now and then. It fails if
// the texts of a batch have more than T private tokens in all, or fewer than they could. It fails
// if a token is free where it may not be, or if a private row is read for a free one. It fails if
// texts change with how many are in flight, or with where a run was interrupted.
#include "engine/run/loop/job.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	BATCHES = 5,
	BATCH = 3,
	TOKENS = 12,
	FREE = 4,
	MOST = TOKENS + FREE,
	SLOTS = 4,
	MOST_TEXTS = BATCHES * MOST
};

/* ---- a source of logits ---------------------------------------------------------------------- */

struct stub {
	struct slot {
		bool busy;
		size_t batch;        /* only known while there are references */
		bool present[BATCH]; /* the place is not null */
		uint64_t history;    /* of the text's tokens */
		float public_row[TINY_VOCAB];
		bool sure;
	} slots[SLOTS];
	const struct prompt *prompt;
	bool sure; /* of the row last handed out */
	uint64_t private_seed;
	float candidates[TINY_VOCAB],
	    private_row[TINY_VOCAB]; /* the public row's, and with noise and an offset */
	const struct slot *asked;    /* by the last private_logits */
	size_t count;
	size_t private_steps[BATCHES]; /* steps for which private rows were asked; of a batch of
	                                  nulls they count to the first */
	size_t begins;
};

static float between(uint64_t *seed, float low, float high) {
	return low + (high - low) * (float)(tiny_random(seed) % 4096) / 4096;
}

static uint64_t mix(uint64_t history, int32_t token) {
	uint64_t seed = history * 1000003 + (uint64_t)token + 1;
	return tiny_random(&seed);
}

/* The next row of a text: one in eight wants the end, one in three is sure of something. */
static void write_public_row(struct slot *slot) {
	uint64_t seed = slot->history;
	for (size_t y = 0; y < TINY_VOCAB; y++) slot->public_row[y] = between(&seed, -3, 3);
	if (tiny_random(&seed) % 8 == 0) slot->public_row[TINY_EOS] = 7;
	slot->sure = tiny_random(&seed) % 3 == 0;
	if (slot->sure)
		slot->public_row[tiny_random(&seed) % 4 ? 'a' + tiny_random(&seed) % 26
		                                        : TINY_EOS] = 16;
}

static enum cuttle_status begin(void *self, size_t slot, const struct tokens *public_context,
                                const struct place_context *places, size_t batch,
                                const struct tokens *already,
                                const struct interruption *interruption) {
	struct stub *stub = self;
	struct slot *s = &stub->slots[slot];
	(void)interruption;
	assert_int_equal(public_context->count, stub->prompt->whole.count);
	assert_int_equal(batch, BATCH);
	*s = (struct slot){.busy = true, .history = 7};
	for (size_t i = 0; i < batch; i++)
		if (places[i].tokens.count) {
			s->present[i] = true;
			// See give_reference: the reference is this letter.
			s->batch = (size_t)(places[i].tokens.ids[stub->prompt->head.count] - 'A');
		}
	for (size_t i = 0; i < already->count; i++) {
		assert_true(already->ids[i] >= 0);
		s->history = mix(s->history, already->ids[i]);
	}
	stub->begins++;
	return CUTTLE_OK;
}

static void end(void *self, size_t slot) {
	((struct stub *)self)->slots[slot].busy = false;
}

static void alone(void *self, size_t slot) {
	struct slot *s = &((struct stub *)self)->slots[slot];
	memset(s->present, 0, sizeof s->present);
}

static void public_logits(void *self) {
	struct stub *stub = self;
	for (size_t i = 0; i < SLOTS; i++)
		if (stub->slots[i].busy) write_public_row(&stub->slots[i]);
}

static const float *public_row(void *self, size_t slot) {
	struct stub *stub = self;
	assert_true(stub->slots[slot].busy);
	stub->sure = stub->slots[slot].sure;
	return stub->slots[slot].public_row;
}

static void private_logits(void *self, size_t slot, size_t first_place, size_t places,
                           const uint32_t *candidates, size_t count) {
	struct stub *stub = self;
	const struct slot *s = &stub->slots[slot];
	assert_int_equal(first_place, 0);
	assert_int_equal(places, BATCH);
	stub->asked = s;
	stub->private_steps[s->batch]++;
	stub->private_seed = s->history + 31 * s->batch;
	stub->count = count;
	for (size_t i = 0; i < count; i++) stub->candidates[i] = s->public_row[candidates[i]];
}

static const float *row(void *self, size_t place) {
	struct stub *stub = self;
	if (!stub->asked->present[place]) return NULL;
	uint64_t seed = stub->private_seed + place;
	for (size_t i = 0; i < stub->count; i++)
		stub->private_row[i] = stub->candidates[i] + 1.5f + between(&seed, -2, 2);
	return stub->private_row;
}

static void append(void *self, const int32_t *tokens) {
	struct stub *stub = self;
	for (size_t i = 0; i < SLOTS; i++)
		if (stub->slots[i].busy)
			stub->slots[i].history = mix(stub->slots[i].history, tokens[i]);
}

/* ---- a job that remembers and checks --------------------------------------------------------- */

struct memory {
	struct stub stub;
	const struct cuttle_savings *savings;
	int32_t drawn[BATCHES][MOST];
	uint32_t counts[BATCHES], spent[BATCHES], extra[BATCHES];
	char texts[MOST_TEXTS][MOST * 4];
	uint32_t lengths[MOST_TEXTS], free_tokens[MOST_TEXTS];
	size_t batches[MOST_TEXTS];
	enum cuttle_finish finish[MOST_TEXTS];
	size_t texts_done, drawn_now, stop_after;
	bool resume;
	bool null[BATCHES * BATCH]; /* references that are */
};

static void give_reference(void *user, size_t index, const char **text, size_t *size) {
	static const char letters[] = "ABCDEFGH";
	const struct memory *memory = user;
	*text = letters + index / BATCH;
	*size = !memory->null[index];
}

static size_t give_drawn(void *user, size_t batch, const int32_t **tokens) {
	struct memory *memory = user;
	*tokens = memory->drawn[batch];
	return memory->resume ? memory->counts[batch] : 0;
}

static int take_token(void *user, size_t batch, uint32_t step, int32_t token) {
	struct memory *memory = user;
	const struct cuttle_savings *savings = memory->savings;
	assert_int_equal(step, memory->counts[batch]);
	assert_true(step < MOST);
	// Free exactly where it may be.
	const bool left = memory->extra[batch] < savings->free_tokens,
	           after = memory->spent[batch] == TOKENS;
	assert_int_equal(
	    token < 0,
	    left && (after ? savings->complete : savings->public_when > 0 && memory->stub.sure));
	memory->drawn[batch][memory->counts[batch]++] = token;
	if (token < 0) memory->extra[batch]++;
	else memory->spent[batch]++;
	assert_true(memory->spent[batch] <= TOKENS);
	return ++memory->drawn_now == memory->stop_after;
}

static int take_text(void *user, const struct cuttle_text *text) {
	struct memory *memory = user;
	assert_int_equal(text->index, memory->texts_done);
	assert_true(text->index < MOST_TEXTS && text->size < sizeof memory->texts[0]);
	memcpy(memory->texts[text->index], text->text, text->size);
	memory->texts[text->index][text->size] = 0;
	memory->lengths[text->index] = text->tokens;
	memory->free_tokens[text->index] = text->free_tokens;
	memory->batches[text->index] = text->batch;
	memory->finish[text->index] = text->finish;
	memory->texts_done++;
	return 0;
}

static enum cuttle_status run(struct cuttle_model *model, const struct cuttle_savings *savings,
                              size_t slots, struct memory *memory) {
	struct cuttle_plan_params params;
	cuttle_plan_params_default(&params);
	params.clip = 0.8;
	params.batch = BATCH;
	params.tokens = TOKENS;
	params.top_k = 40;
	params.savings = *savings;
	params.insecure = true;
	params.insecure_seed = 9;
	struct cuttle_plan *plan;
	assert_int_equal(cuttle_plan_make(model, &params, &plan, NULL), CUTTLE_OK);
	struct cuttle_job job;
	cuttle_job_default(&job);
	job.texts = BATCHES;
	job.user = memory;
	job.reference = give_reference;
	job.drawn = give_drawn;
	job.token = take_token;
	job.text = take_text;
	memory->savings = savings;
	memory->stub.prompt = plan->prompts;
	memory->texts_done = memory->drawn_now = 0;
	const struct logit_source source = {
	    &memory->stub, TINY_VOCAB, slots,          begin, end,   alone,
	    public_logits, public_row, private_logits, row,   append};
	const enum cuttle_status status = job_generate(plan, &job, &source, NULL);
	cuttle_plan_free(&plan);
	return status;
}

static const struct {
	const char *name;
	struct cuttle_savings savings;
} MODES[] = {
    {"plain", {.center = false}},
    {"center", {.center = true}},
    {"bank", {.token_bank = true}},
    {"public when", {.public_when = 0.95, .free_tokens = FREE}},
    {"complete", {.complete = true, .free_tokens = FREE}},
    {"bank, complete", {.token_bank = true, .complete = true, .free_tokens = FREE}},
    {"all",
     {.center = true,
      .token_bank = true,
      .complete = true,
      .public_when = 0.95,
      .free_tokens = FREE}},
};
enum { MODE_COUNT = sizeof MODES / sizeof *MODES };

/* ---- tests ----------------------------------------------------------------------------------- */

/* The texts are those that the tokens spell, one after the other, and each batch goes on exactly as
 * far as its mode says. */
static void check_texts(const struct memory *m) {
	const struct cuttle_savings *savings = m->savings;
	size_t text = 0;
	for (size_t b = 0; b < BATCHES; b++) {
		const size_t first = text;
		for (uint32_t at = 0; at < m->counts[b]; text++) {
			char spelled[MOST + 1] = "";
			uint32_t size = 0, extra = 0;
			bool ascii = true;
			assert_int_equal(m->batches[text], b);
			assert_true(m->lengths[text] >= 1 && at + m->lengths[text] <= m->counts[b]);
			for (const uint32_t last = at + m->lengths[text] - 1; at <= last; at++) {
				const int32_t drawn = m->drawn[b][at],
				              token = drawn < 0 ? ~drawn : drawn;
				extra += drawn < 0;
				assert_int_equal(token == TINY_EOS,
				                 at == last &&
				                     m->finish[text] == CUTTLE_FINISH_EOS);
				ascii &= token > ' ' && (token < 127 || token == TINY_EOS);
				if (token < 127) spelled[size++] = (char)token;
			}
			if (ascii) assert_string_equal(m->texts[text], spelled);
			assert_int_equal(m->free_tokens[text], extra);
		}
		assert_true(text == first + 1 || savings->token_bank);
		const bool ended = m->finish[text - 1] == CUTTLE_FINISH_EOS;
		if (savings->token_bank || !ended) assert_int_equal(m->spent[b], TOKENS);
		if (savings->complete && !ended)
			assert_int_equal(m->extra[b], savings->free_tokens);
	}
	assert_int_equal(text, m->texts_done);
}

static void caps_and_texts(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1);
	static struct memory all[MODE_COUNT];
	for (size_t mode = 0; mode < MODE_COUNT; mode++) {
		struct memory *m = &all[mode];
		assert_int_equal(run(model, &MODES[mode].savings, 2, m), CUTTLE_OK);
		check_texts(m);
		for (size_t b = 0; b < BATCHES; b++)
			assert_int_equal(m->stub.private_steps[b],
			                 m->spent[b]); // none for a free token
	}
	// Every mode does something, and a text begins as it would without the bank.
	assert_memory_not_equal(all[0].drawn, all[1].drawn, sizeof all[0].drawn);
	assert_int_equal(all[0].texts_done, BATCHES);
	assert_true(all[2].texts_done > BATCHES + 2);
	for (size_t b = 0; b < BATCHES; b++)
		assert_memory_equal(all[0].drawn[b], all[2].drawn[b],
		                    all[0].counts[b] * sizeof(int32_t));
	bool differs = false; // a further text is drawn anew
	for (size_t i = 1; i < all[2].texts_done; i++)
		differs |= all[2].batches[i] == all[2].batches[i - 1] &&
		           all[2].texts[i][0] != all[2].texts[i - 1][0];
	assert_true(differs);
	size_t used_up = 0, completed = 0;
	for (size_t b = 0; b < BATCHES; b++) {
		used_up += all[3].extra[b] == FREE && all[3].spent[b] > 0;
		completed += all[4].extra[b] > 0;
	}
	assert_true(used_up > 0 && completed > 0);
	assert_true(all[5].stub.begins > BATCHES);
	cuttle_model_free(&model);
}

/* A step is free by what is public. Whether a reference is there decides neither that nor what a
 * step costs. */
static void nulls_are_charged_alike(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1);
	static struct memory m;
	for (size_t mode = 0; mode < MODE_COUNT; mode++) {
		for (unsigned kept = 0; kept <= BATCH; kept++) {
			m = (struct memory){0};
			for (size_t i = 0; i < BATCHES * BATCH; i++) m.null[i] = i % BATCH >= kept;
			// take_token wants each token free exactly where its public row and the
			// counts so far say so.
			assert_int_equal(run(model, &MODES[mode].savings, 2, &m), CUTTLE_OK);
			check_texts(&m);
			size_t asked = 0, spent = 0;
			for (size_t b = 0; b < BATCHES; b++) {
				asked += m.stub.private_steps[b];
				spent += m.spent[b];
			}
			assert_int_equal(asked, spent);
		}
	}
	cuttle_model_free(&model);
}

static void assert_same(const struct memory *a, const struct memory *b) {
	assert_int_equal(a->texts_done, b->texts_done);
	assert_memory_equal(a->drawn, b->drawn, sizeof a->drawn);
	assert_memory_equal(a->texts, b->texts, sizeof a->texts);
	assert_memory_equal(a->lengths, b->lengths, sizeof a->lengths);
	assert_memory_equal(a->free_tokens, b->free_tokens, sizeof a->free_tokens);
	assert_memory_equal(a->batches, b->batches, sizeof a->batches);
	assert_memory_equal(a->finish, b->finish, sizeof a->finish);
}

/* However many are in flight, and wherever it was stopped; what was drawn is never drawn again. */
static void same_texts(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1);
	static struct memory whole, part;
	for (size_t mode = 0; mode < MODE_COUNT; mode++) {
		whole = (struct memory){0};
		assert_int_equal(run(model, &MODES[mode].savings, 1, &whole), CUTTLE_OK);
		const size_t total = whole.drawn_now;
		for (size_t slots = 2; slots <= SLOTS; slots++) {
			part = (struct memory){0};
			assert_int_equal(run(model, &MODES[mode].savings, slots, &part), CUTTLE_OK);
			assert_same(&part, &whole);
		}
		for (size_t stop = 1; stop < total; stop += briefly() ? 5 : 1) {
			part = (struct memory){.stop_after = stop};
			assert_int_equal(run(model, &MODES[mode].savings, 1 + stop % SLOTS, &part),
			                 CUTTLE_PARTIAL);
			part.stop_after = 0;
			part.resume = true;
			memset(part.texts, 0, sizeof part.texts);
			assert_int_equal(
			    run(model, &MODES[mode].savings, 1 + stop / 3 % SLOTS, &part),
			    CUTTLE_OK);
			assert_same(&part, &whole);
			assert_int_equal(part.drawn_now, total - stop);
			for (size_t b = 0; b < BATCHES; b++)
				assert_int_equal(part.stub.private_steps[b], part.spent[b]);
		}
	}
	cuttle_model_free(&model);
}

/* A journal with more tokens than the rules allow is another command's, not a reason to go beyond
 * them. */
static void too_much_in_the_journal(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1);
	static const struct {
		int32_t token;
		size_t mode;
		uint32_t count;
		enum cuttle_status status;
	} cases[] = {
	    {'a', 2, TOKENS, CUTTLE_OK},       {~'a', 0, 1, CUTTLE_MODEL},
	    {~'a', 2, 1, CUTTLE_MODEL},        {~'a', 3, FREE + 1, CUTTLE_MODEL},
	    {~TINY_VOCAB, 3, 1, CUTTLE_MODEL}, {'a', 4, TOKENS + 1, CUTTLE_MODEL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		static struct memory m;
		m = (struct memory){.resume = true};
		for (; m.counts[0] < cases[i].count; m.counts[0]++)
			m.drawn[0][m.counts[0]] = cases[i].token;
		m.spent[0] = cases[i].token < 0 ? 0 : cases[i].count;
		m.extra[0] = cases[i].token < 0 ? cases[i].count : 0;
		assert_int_equal(run(model, &MODES[cases[i].mode].savings, 2, &m), cases[i].status);
	}
	cuttle_model_free(&model);
}

static void plans(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1);
	struct cuttle_plan *plan;
	struct cuttle_guarantee guarantee, plain;
	struct cuttle_error error;
	struct cuttle_plan_params params;
	cuttle_plan_params_default(&params);
	params.epsilon = 5;
	params.tokens = 30;
	assert_int_equal(cuttle_plan_make(model, &params, &plan, &error), CUTTLE_OK);
	cuttle_plan_describe(plan, &plain);
	cuttle_plan_free(&plan);
	assert_true(plain.savings.center);
	assert_false(plain.savings.token_bank || plain.savings.complete);
	assert_true(plain.savings.public_when == 0.0 && plain.savings.free_tokens == 0);
	const struct {
		struct cuttle_savings asked;
		uint32_t free_tokens; /* what comes of it, or WRONG */
	} cases[] = {
#define WRONG UINT32_MAX
	    {{.complete = true}, 30},
	    {{.public_when = 0.9}, 30},
	    {{.public_when = 1e-6, .free_tokens = 5}, 5},
	    {{.token_bank = true, .center = true}, 0},
	    {{.free_tokens = 5}, WRONG},
	    {{.token_bank = true, .free_tokens = 5}, WRONG},
	    {{.public_when = 1.01}, WRONG},
	    {{.public_when = -0.1}, WRONG},
	    {{.public_when = 1e-9}, WRONG},
	    {{.public_when = (double)NAN}, WRONG},
	    {{.complete = true, .free_tokens = UINT32_MAX}, WRONG},
	    {{.complete = true, .free_tokens = TINY_CONTEXT}, WRONG}, /* does not fit */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		params.savings = cases[i].asked;
		const enum cuttle_status status = cuttle_plan_make(model, &params, &plan, &error);
		assert_int_equal(status, cases[i].free_tokens == WRONG ? CUTTLE_USAGE : CUTTLE_OK);
		if (status) continue;
		cuttle_plan_describe(plan, &guarantee);
		cuttle_plan_free(&plan);
		assert_int_equal(guarantee.savings.free_tokens, cases[i].free_tokens);
		// What is promised is that of T tokens, whatever else is drawn.
		assert_true(guarantee.rho == plain.rho &&
		            guarantee.epsilon_exact == plain.epsilon_exact);
		assert_int_equal(guarantee.clip_fixed, plain.clip_fixed);
		assert_int_equal(guarantee.reference_tokens,
		                 plain.reference_tokens - cases[i].free_tokens);
	}
	cuttle_model_free(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(caps_and_texts), cmocka_unit_test(nulls_are_charged_alike),
	    cmocka_unit_test(same_texts),     cmocka_unit_test(too_much_in_the_journal),
	    cmocka_unit_test(plans),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
