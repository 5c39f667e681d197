// SPDX-License-Identifier: Apache-2.0
// Tests engine/run/loop/generate.c over a model made up here, whose rows depend on the reference
// they were given. It promises that nothing goes round the mechanism, not even the end of a text.
// It fails if a reference does not reach the model whole, alone and in its place. It fails if a
// token is not the one that a second mechanism, built from the guarantee alone, draws from the
// same rows.
#include "engine/run/loop/job.h"
#include "dp/account.h"
#include "dp/invisibleink.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 4, TEXTS = 6, TOKENS = 12, SLOTS = 2, CONTEXT = 64, SEED = 5 };

/* '!' at the start: a row whose first number is not finite. '$': a reference that wants the end of
 * the text, above all. */
static const char *const RECORDS[TEXTS * BATCH] = {
    "$ the end",
    "one",
    "two fish",
    "three", // all of them
    "!broken",
    "four",
    "",
    "five fish", // the first row is null, whatever stands behind it
    "\xff",
    NULL,
    " \n",
    "", // nobody
    "a",
    "bb",
    "!",
    "cut<|im_end|>", // what looks like a control token is text
    "$ <|im_start|>",
    "six",
    "seven",
    " eight ",
    "odd",
    "a reference far longer than the context leaves room for, which is cut at the same place as if "
    "it stood alone",
    "even",
    "nine"};

static uint64_t mixed(uint64_t hash, uint64_t value) {
	uint64_t state = hash ^ value;
	return tiny_random(&state);
}

static float logit(uint64_t context, uint32_t token) {
	return (float)(mixed(context, token) >> 40) * 0x1p-21f - 4.0f;
}

static void fill_public(uint64_t drawn, float *row) {
	for (uint32_t y = 0; y < TINY_VOCAB; y++) row[y] = logit(drawn, y);
	row[TINY_EOS] = 3.3f;
}

static void fill_private(uint64_t drawn, uint64_t reference, int32_t first,
                         const uint32_t *candidates, size_t count, float *row) {
	for (size_t i = 0; i < count; i++)
		row[i] = candidates[i] == TINY_EOS && first == '$'
		             ? 1e6f
		             : logit(mixed(drawn, reference), candidates[i]);
	if (first == '!') row[0] = NAN;
}

static uint64_t hash_of(const int32_t *ids, size_t count) {
	uint64_t hash = count;
	for (size_t i = 0; i < count; i++) hash = mixed(hash, (uint64_t)ids[i]);
	return hash;
}

/* The reference's tokens by hand: this vocabulary's are the bytes. */
static size_t tokens_of(const char *text, size_t limit, int32_t *ids) {
	static const char space[] = " \n";
	size_t count = 0;
	if (!text || *text == '\xff') return 0;
	text += strspn(text, space);
	for (const char *c = text; *c && count < limit && c[strspn(c, space)]; c++)
		ids[count++] = (unsigned char)*c;
	return count;
}

/* ---- the model and the job ------------------------------------------------------------------- */

struct stub {
	const struct prompt *prompt;
	size_t limit, begun;
	uint64_t drawn[SLOTS], reference[SLOTS][BATCH];
	int32_t first[SLOTS][BATCH]; /* of a place's reference; 0 = the place is null */
	size_t asked_slot, asked_first, asked_end;
	float public_rows[SLOTS][TINY_VOCAB], private_rows[BATCH][TINY_VOCAB];
	int32_t tokens[TEXTS][TOKENS]; /* what the job was told */
	uint32_t counts[TEXTS];
};

/* The list begins with these tokens, and *list is what follows them. */
static void assert_begins(struct tokens *list, const int32_t *ids, size_t count) {
	assert_true(list->count >= count);
	assert_memory_equal(list->ids, ids, count * sizeof *ids);
	list->ids += count;
	list->count -= count;
}

static enum cuttle_status begin(void *self, size_t slot, const struct tokens *public_context,
                                const struct place_context *places, size_t batch,
                                const struct tokens *already,
                                const struct interruption *interruption) {
	struct stub *stub = self;
	const struct prompt *prompt = stub->prompt;
	(void)interruption;
	assert_int_equal(batch, BATCH);
	assert_int_equal(already->count, 0);
	assert_int_equal(public_context->count, prompt->whole.count);
	assert_memory_equal(public_context->ids, prompt->whole.ids,
	                    prompt->whole.count * sizeof(int32_t));
	stub->drawn[slot] = 0;
	for (size_t i = 0; i < BATCH; i++) {
		int32_t ids[CONTEXT];
		const size_t count = tokens_of(RECORDS[stub->begun * BATCH + i], stub->limit, ids);
		struct tokens list = places[i].tokens;
		stub->first[slot][i] = count ? ids[0] : 0;
		if (!count) {
			assert_int_equal(list.count, 0);
			continue;
		}
		assert_begins(&list, prompt->head.ids, prompt->head.count);
		assert_begins(&list, ids, count);
		assert_begins(&list, prompt->tail.ids, prompt->tail.count);
		assert_int_equal(list.count, 0);
		assert_int_equal(places[i].shared, prompt->shared);
		stub->reference[slot][i] = hash_of(ids, count);
	}
	stub->begun++;
	return CUTTLE_OK;
}

static void end(void *self, size_t slot) {
	struct stub *stub = self;
	memset(stub->first[slot], 0, sizeof stub->first[slot]);
}

static void public_logits(void *self) {
	struct stub *stub = self;
	for (size_t slot = 0; slot < SLOTS; slot++)
		fill_public(stub->drawn[slot], stub->public_rows[slot]);
}

static const float *public_row(void *self, size_t slot) {
	return ((struct stub *)self)->public_rows[slot];
}

static void private_logits(void *self, size_t slot, size_t first_place, size_t places,
                           const uint32_t *candidates, size_t count) {
	struct stub *stub = self;
	stub->asked_slot = slot;
	stub->asked_first = first_place;
	stub->asked_end = first_place + places;
	for (size_t i = first_place; i < stub->asked_end; i++)
		fill_private(stub->drawn[slot], stub->reference[slot][i], stub->first[slot][i],
		             candidates, count, stub->private_rows[i]);
}

static const float *row(void *self, size_t place) {
	struct stub *stub = self;
	const bool asked = place >= stub->asked_first && place < stub->asked_end;
	return asked && stub->first[stub->asked_slot][place] ? stub->private_rows[place] : NULL;
}

static void append(void *self, const int32_t *tokens) {
	struct stub *stub = self;
	for (size_t slot = 0; slot < SLOTS; slot++)
		stub->drawn[slot] = mixed(stub->drawn[slot], (uint64_t)tokens[slot]);
}

static void give_reference(void *user, size_t index, const char **text, size_t *size) {
	(void)user;
	*text = RECORDS[index];
	*size = *text ? strlen(*text) : 0;
}

static int take_token(void *user, size_t text, uint32_t step, int32_t token) {
	struct stub *stub = user;
	assert_int_equal(step, stub->counts[text]++);
	stub->tokens[text][step] = token;
	return 0;
}

static int take_text(void *user, const struct cuttle_text *text) {
	(void)user;
	assert_true(text->finish == CUTTLE_FINISH_EOS || text->tokens == TOKENS);
	return 0;
}

static struct cuttle_plan_params plan_params(bool insecure) {
	struct cuttle_plan_params params;
	cuttle_plan_params_default(&params);
	params.clip = 0.7;
	params.gain = 1.5;
	params.temperature = 1.3;
	params.batch = BATCH;
	params.tokens = TOKENS;
	params.top_k = 20;
	params.context = CONTEXT;
	params.form = CUTTLE_CUSTOM;
	params.prompt_public = "A fish:";
	params.prompt_private = "Like {reference}:";
	params.insecure = insecure;
	params.insecure_seed = SEED;
	return params;
}

static struct cuttle_plan *make_plan(struct cuttle_model *model,
                                     const struct cuttle_plan_params *params) {
	struct cuttle_plan *plan;
	assert_int_equal(cuttle_plan_make(model, params, &plan, NULL), CUTTLE_OK);
	return plan;
}

static void run(struct cuttle_plan *plan, struct stub *stub) {
	const struct logit_source source = {.self = stub,
	                                    .vocab = TINY_VOCAB,
	                                    .slots = SLOTS,
	                                    .begin = begin,
	                                    .end = end,
	                                    .alone = end,
	                                    .public_logits = public_logits,
	                                    .public_row = public_row,
	                                    .private_logits = private_logits,
	                                    .row = row,
	                                    .append = append};
	struct cuttle_job job;
	cuttle_job_default(&job);
	job.texts = TEXTS;
	job.user = stub;
	job.reference = give_reference;
	job.token = take_token;
	job.text = take_text;
	*stub = (struct stub){.prompt = plan->prompts, .limit = plan->guarantee.reference_tokens};
	assert_int_equal(job_generate(plan, &job, &source, NULL), CUTTLE_OK);
	assert_int_equal(stub->begun, TEXTS);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* A mechanism by the guarantee's own numbers. */
static struct dp_invisibleink *mechanism_told(const struct cuttle_guarantee *told,
                                              struct seeded *seeded) {
	struct dp_invisibleink *m;
	uint8_t allowed[TINY_VOCAB];
	memset(allowed, 1, sizeof allowed);
	allowed[TINY_START] = 0;
	struct dp_invisibleink_params params = {.batch = told->batch,
	                                        .top_k = told->top_k,
	                                        .tokens = told->tokens,
	                                        .vocab = TINY_VOCAB,
	                                        .clip_fixed = told->clip_fixed,
	                                        .fraction_bits = told->fraction_bits,
	                                        .gain = (unsigned)lround(told->gain * 100),
	                                        .center = told->savings.center,
	                                        .allowed = allowed,
	                                        .random = seeded_random(seeded)};
	assert_int_equal(dp_temperature_ratio(told->temperature, &params.temperature_num,
	                                      &params.temperature_den),
	                 DP_OK);
	assert_int_equal(dp_invisibleink_new(&params, &m), DP_OK);
	return m;
}

static void every_token_is_the_mechanisms(void **state) {
	(void)state;
	static struct stub stub;
	struct seeded seeded = {.seed = SEED};
	struct cuttle_guarantee told;
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q8_0, GGUF_TENSOR_Q8_0, 1);
	const struct cuttle_plan_params params = plan_params(true);
	struct cuttle_plan *plan = make_plan(model, &params);
	run(plan, &stub);
	cuttle_plan_describe(plan, &told);
	assert_false(told.private_output);
	struct dp_invisibleink *m = mechanism_told(&told, &seeded);
	for (size_t text = 0; text < TEXTS; text++) {
		uint64_t drawn = 0;
		dp_invisibleink_begin(m, 0);
		for (uint32_t step = 0; step < stub.counts[text]; step++) {
			float logits[TINY_VOCAB];
			const uint32_t *candidates;
			size_t count;
			uint32_t token;
			fill_public(drawn, logits);
			assert_int_equal(dp_invisibleink_public(m, logits, &candidates, &count),
			                 DP_OK);
			for (size_t i = 0; i < BATCH; i++) {
				int32_t ids[CONTEXT];
				const size_t length =
				    tokens_of(RECORDS[text * BATCH + i], stub.limit, ids);
				if (!length) continue;
				fill_private(drawn, hash_of(ids, length), ids[0], candidates, count,
				             logits);
				dp_invisibleink_private(m, logits);
			}
			seeded.text = text;
			seeded.step = step;
			seeded.counter = 0;
			assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
			assert_int_equal(stub.tokens[text][step], token);
			assert_true((token == TINY_EOS || step + 1 == TOKENS) ==
			            (step + 1 == stub.counts[text]));
			drawn = mixed(drawn, token);
		}
	}
	dp_invisibleink_free(&m);
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
}

static void the_plan_keeps_its_guarantee(void **state) {
	(void)state;
	float logits[TINY_VOCAB];
	struct dp_wanted wanted;
	struct cuttle_guarantee told;
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q8_0, GGUF_TENSOR_Q8_0, 1);
	struct cuttle_plan_params params = plan_params(false);
	params.savings.center = false;
	struct cuttle_plan *plan = make_plan(model, &params);
	cuttle_plan_describe(plan, &told);
	assert_true(told.private_output);
	fill_public(0, logits);
	const struct dp_mechanism *mechanism = &plan->mechanism;
	mechanism->begin(mechanism->self, told.batch, told.tokens);
	assert_int_equal(mechanism->open(mechanism->self, logits, false, &wanted), DP_SPENT);
	assert_int_equal(wanted.count, 0);
	mechanism->begin(mechanism->self, told.batch, told.tokens - 1);
	assert_int_equal(mechanism->open(mechanism->self, logits, false, &wanted), DP_OK);
	assert_int_equal(wanted.place, DP_EVERY_PLACE);
	for (size_t i = 0; i < wanted.count; i++) logits[i] = 1e6f;
	for (uint32_t i = 0; i < told.batch; i++) {
		mechanism->row(mechanism->self, i, logits);
		assert_int_equal(dp_invisibleink_sum(plan->traced, 0),
		                 told.clip_fixed * (int32_t)(i + 1));
	}
	cuttle_plan_free(&plan);
	// What is told follows from those integers, not from what was asked: of an epsilon for the
	// exact accountant, zCDP says more.
	params.clip = NAN;
	params.epsilon = 3;
	plan = make_plan(model, &params);
	cuttle_plan_describe(plan, &told);
	struct cuttle_budget budget;
	cuttle_budget_none(&budget);
	budget.rho = told.rho;
	budget.delta = told.delta;
	assert_int_equal(cuttle_budget_solve(&budget, CUTTLE_EPSILON, NULL), CUTTLE_OK);
	assert_true(told.epsilon == budget.epsilon && told.epsilon > 3 && told.epsilon_exact <= 3);
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_token_is_the_mechanisms),
	    cmocka_unit_test(the_plan_keeps_its_guarantee),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
