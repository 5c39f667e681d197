// SPDX-License-Identifier: Apache-2.0
// Tests jobs that bring the prompts of their texts, with texts that the plan drew before (job.c).
// It fails if the public context of a text and its private ones do not show the same texts, if a
// text gets the prompt of another one, or if a prompt that is too long is not shortened. It fails
// if a plan takes room that it cannot keep, or if a second job repeats the draws of the first.
#include "engine/run/loop/job.h"
#include "tests/support/tiny_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 2, TEXTS = 5, TOKENS = 3, PLACES = 3, MOST = 2, CONTEXT = 448, SLOTS = 2 };

static const char *const EXAMPLES[] = {"First example.", "Second one.", "A third, longer."},
                         *const DRAWN[] = {"Drawn before.", "Another that was drawn before."};

struct stub {
	struct cuttle_plan *plan;
	const struct cuttle_plan_params *params;
	bool own;     /* the job brings prompts */
	size_t fit;   /* drawn texts that a prompt has room for */
	size_t begun; /* texts */
	size_t count; /* that the prompts of this text show, as stub_prompt said */
	struct cuttle_drawn drawn;
	uint64_t steps[SLOTS];
	float public_rows[SLOTS][TINY_VOCAB], private_rows[BATCH][TINY_VOCAB];
	int32_t tokens[TEXTS][TOKENS];
};

static const char *reference_of(size_t index) {
	static const char *const all[] = {"one fish", "two fish", "", "three"};
	return all[index % 4];
}

/* Text 0 shows none, text 1 the first, text 2 both, and so on. */
static struct cuttle_drawn drawn_of(size_t text) {
	return (struct cuttle_drawn){text % 3 ? DRAWN : NULL, text % 3, PLACES};
}

static void stub_prompt(void *user, size_t text, struct cuttle_plan_params *params,
                        const char **heading) {
	struct stub *stub = user;
	*params = *stub->params;
	stub->drawn = drawn_of(text);
	params->drawn = &stub->drawn;
	*heading = NULL;
}

/* The contexts must be those of a prompt that is written here, from public words alone. */
static enum cuttle_status stub_begin(void *self, size_t slot, const struct tokens *public_context,
                                     const struct place_context *places, size_t batch,
                                     const struct tokens *already,
                                     const struct interruption *interruption) {
	struct stub *stub = self;
	struct prompt prompt;
	struct cuttle_plan_params params = *stub->params;
	struct cuttle_drawn drawn = drawn_of(stub->begun);
	(void)already, (void)interruption;
	if (drawn.count > stub->fit) drawn.count = stub->fit;
	params.drawn = stub->own && drawn.count ? &drawn : NULL;
	assert_int_equal(prompt_write(stub->plan->model, &params, NULL, &prompt, NULL), CUTTLE_OK);
	assert_int_equal(public_context->count, prompt.whole.count);
	assert_memory_equal(public_context->ids, prompt.whole.ids,
	                    prompt.whole.count * sizeof *prompt.whole.ids);
	for (size_t i = 0; i < batch; i++) {
		const char *words = reference_of(stub->begun * BATCH + i);
		const size_t size = strlen(words), limit = stub->plan->reference_tokens;
		int32_t *ids = calloc(prompt_private_capacity(&prompt, limit), sizeof *ids);
		const size_t count = prompt_private(
		    stub->plan->model, &prompt, &(struct prompt_shot){words, size}, 1, limit, ids);
		assert_int_equal(places[i].tokens.count, count);
		if (count) assert_memory_equal(places[i].tokens.ids, ids, count * sizeof *ids);
		assert_int_equal(places[i].shared, prompt.shared);
		free(ids);
	}
	prompt_free(&prompt);
	stub->steps[slot] = 0;
	stub->begun++;
	return CUTTLE_OK;
}

static void stub_end(void *self, size_t slot) {
	(void)self, (void)slot;
}

static void fill(uint64_t step, float *row, size_t count) {
	for (size_t y = 0; y < count; y++) row[y] = (float)((step * 31 + y * 7) % 64) / 32.0f;
}

static void stub_public_logits(void *self) {
	struct stub *stub = self;
	for (size_t slot = 0; slot < SLOTS; slot++) {
		fill(stub->steps[slot], stub->public_rows[slot], TINY_VOCAB);
		stub->public_rows[slot][TINY_EOS] = -9;
	}
}

static const float *stub_public_row(void *self, size_t slot) {
	return ((struct stub *)self)->public_rows[slot];
}

static void stub_private_logits(void *self, size_t slot, size_t first, size_t places,
                                const uint32_t *candidates, size_t count) {
	struct stub *stub = self;
	(void)candidates;
	for (size_t i = first; i < first + places; i++)
		fill(stub->steps[slot], stub->private_rows[i], count);
}

static const float *stub_row(void *self, size_t place) {
	return ((struct stub *)self)->private_rows[place];
}

static void stub_append(void *self, const int32_t *tokens) {
	struct stub *stub = self;
	(void)tokens;
	for (size_t slot = 0; slot < SLOTS; slot++) stub->steps[slot]++;
}

static void stub_reference(void *user, size_t index, const char **text, size_t *size) {
	(void)user;
	*text = reference_of(index);
	*size = strlen(*text);
}

static int stub_token(void *user, size_t text, uint32_t step, int32_t token) {
	((struct stub *)user)->tokens[text][step] = token;
	return 0;
}

static int stub_text(void *user, const struct cuttle_text *text) {
	(void)user;
	assert_int_equal(text->tokens, TOKENS);
	return 0;
}

static const struct cuttle_drawn ROOM = {.count = MOST, .places = PLACES};

static struct cuttle_plan_params rounds_params(void) {
	struct cuttle_plan_params params;
	cuttle_plan_params_default(&params);
	params.clip = 0.7;
	params.batch = BATCH;
	params.tokens = TOKENS;
	params.context = CONTEXT;
	params.examples = EXAMPLES;
	params.example_count = PLACES;
	params.insecure = true;
	params.insecure_seed = 7;
	return params;
}

static void run_stub(struct stub *stub, struct cuttle_plan *plan,
                     const struct cuttle_plan_params *params, bool own, size_t fit, size_t texts,
                     size_t first) {
	const struct logit_source source = {.self = stub,
	                                    .vocab = TINY_VOCAB,
	                                    .slots = SLOTS,
	                                    .begin = stub_begin,
	                                    .end = stub_end,
	                                    .alone = stub_end,
	                                    .public_logits = stub_public_logits,
	                                    .public_row = stub_public_row,
	                                    .private_logits = stub_private_logits,
	                                    .row = stub_row,
	                                    .append = stub_append};
	struct cuttle_job job;
	cuttle_job_default(&job);
	job.texts = texts;
	job.first = first;
	job.user = stub;
	job.reference = stub_reference;
	job.token = stub_token;
	job.text = stub_text;
	if (own) job.prompt = stub_prompt;
	*stub = (struct stub){.plan = plan, .params = params, .own = own, .fit = fit};
	assert_int_equal(job_generate(plan, &job, &source, NULL), CUTTLE_OK);
	assert_int_equal(stub->begun, texts);
}

static struct cuttle_model *model;

/* Public and private contexts of a text show the same texts: those that the job named for it. */
static void both_contexts_show_the_same(void **state) {
	(void)state;
	static struct stub stub;
	struct cuttle_plan_params params = rounds_params(), with_room = params;
	struct cuttle_plan *plan;
	with_room.drawn = &ROOM;
	assert_int_equal(cuttle_plan_make(model, &with_room, &plan, NULL), CUTTLE_OK);
	run_stub(&stub, plan, &params, true, MOST, TEXTS, 0);
	run_stub(&stub, plan, &params, false, 0, TEXTS, 0);
	// Were there room for one alone, one would be shown, and no context would overflow.
	plan->reference_tokens += plan->prompts->spare;
	run_stub(&stub, plan, &params, true, 1, TEXTS, 0);
	cuttle_plan_free(&plan);
}

/* The fourth text of one job is drawn as the first one of a job that comes after three. */
static void later_jobs_draw_otherwise(void **state) {
	(void)state;
	static struct stub whole, second;
	struct cuttle_plan_params params = rounds_params();
	struct cuttle_plan *plan;
	assert_int_equal(cuttle_plan_make(model, &params, &plan, NULL), CUTTLE_OK);
	run_stub(&whole, plan, &params, false, 0, TEXTS, 0);
	run_stub(&second, plan, &params, false, 0, 1, 3);
	assert_memory_equal(second.tokens[0], whole.tokens[3], sizeof whole.tokens[3]);
	assert_memory_not_equal(second.tokens[0], whole.tokens[0], sizeof whole.tokens[0]);
	cuttle_plan_free(&plan);
}

static void assert_no_plan(const struct cuttle_plan_params *params, const char *words) {
	struct cuttle_plan *plan;
	struct cuttle_error error;
	assert_int_equal(cuttle_plan_make(model, params, &plan, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, words));
}

/* Room is what the longest prompt takes, from references and from the context. */
static void plans_keep_room(void **state) {
	(void)state;
	struct cuttle_plan_params params = rounds_params();
	struct cuttle_plan *plan, *roomy;
	struct cuttle_drawn room = ROOM;
	assert_int_equal(cuttle_plan_make(model, &params, &plan, NULL), CUTTLE_OK);
	params.drawn = &room;
	assert_int_equal(cuttle_plan_make(model, &params, &roomy, NULL), CUTTLE_OK);
	const size_t spare = roomy->prompts->spare;
	// Two examples of 14 + 11 bytes and what is around them make place for two of 128.
	assert_int_equal(spare,
	                 2 * CUTTLE_DRAWN_TOKENS - strlen(EXAMPLES[1]) - strlen(EXAMPLES[2]));
	assert_int_equal(roomy->reference_tokens + spare, plan->reference_tokens);
	assert_true(roomy->guarantee.shared_prefix < plan->guarantee.shared_prefix);
	assert_int_equal(roomy->guarantee.public_tokens, plan->guarantee.public_tokens + spare);
	// With one token less of context than prompts and text take nothing is left.
	params.context = (uint32_t)(CONTEXT - roomy->reference_tokens);
	assert_no_plan(&params, "leave no room for a reference");
	params.context++;
	cuttle_plan_free(&roomy);
	assert_int_equal(cuttle_plan_make(model, &params, &roomy, NULL), CUTTLE_OK);
	assert_int_equal(roomy->reference_tokens, 1);
	params.context = CONTEXT;
	room = (struct cuttle_drawn){.count = 0, .places = PLACES};
	assert_no_plan(&params, "at least one place");
	room.count = PLACES;
	assert_no_plan(&params, "at least one place");
	room = (struct cuttle_drawn){.count = 1, .places = PLACES - 1};
	assert_no_plan(&params, "more examples than places");
	cuttle_plan_free(&plan);
	cuttle_plan_free(&roomy);
}

static int open_rounds_model(void **state) {
	(void)state;
	model = tiny_model_open(GGUF_TENSOR_Q8_0, GGUF_TENSOR_Q8_0, 1);
	return model ? 0 : -1;
}

static int close_rounds_model(void **state) {
	(void)state;
	cuttle_model_free(&model);
	return 0;
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(both_contexts_show_the_same),
	                                   cmocka_unit_test(later_jobs_draw_otherwise),
	                                   cmocka_unit_test(plans_keep_room)};
	return cmocka_run_group_tests(tests, open_rounds_model, close_rounds_model);
}
