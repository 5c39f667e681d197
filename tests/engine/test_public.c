// SPDX-License-Identifier: Apache-2.0
// Tests engine/run/loop/public.c: scores behind the public prompt, and jobs of its law alone.
// It fails if a score is not that of cuttle_score over the same tokens, or depends on what was
// scored before, on threads or on the tier, or if a bias does not turn its law. It fails if a
// public job draws other tokens than a plan whose references are null draws for free, or if a text
// depends on how many are in flight, on where a job was stopped, or on the examples of another
// text, or if it is drawn without the bias of its plan.
#include "engine/cuttle/learn.h"
#include "engine/cuttle/public.h"
#include "engine/forward/score.h"
#include "engine/run/plan/prompt.h"
#include "kernels/kernels.h"
#include "kernels/pack.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXTS = 9, TOKENS = 16, EXAMPLES = 2, MOST_TEXT = 256 };

static const char *const WORDS[] = {"One cold day.", "A note on rain.", "Nothing to say, really.",
                                    "The lungs are clear."};
enum { WORD_COUNT = sizeof WORDS / sizeof *WORDS };

static struct cuttle_plan_params params_of(size_t first) {
	struct cuttle_plan_params params;
	cuttle_plan_params_default(&params);
	params.clip = 0.5;
	params.batch = 2;
	params.tokens = TOKENS;
	params.kind = "note";
	params.context = 256;
	params.insecure = true;
	params.insecure_seed = 11;
	params.examples = WORDS + first % (WORD_COUNT - EXAMPLES + 1);
	params.example_count = EXAMPLES;
	return params;
}

static double mean_of(struct cuttle_scorer *scorer, const struct cuttle_plan_params *params,
                      const char *heading, const char *text) {
	struct cuttle_error error;
	double mean;
	if (cuttle_scorer_mean(scorer, params, heading, text, strlen(text), &mean, &error))
		fail_msg("%s", error.message);
	return mean;
}

/* The same by cuttle_score, which reads everything from the start. */
static double mean_anew(struct cuttle_model *model, const struct cuttle_plan_params *params,
                        const char *heading, const char *text, size_t most) {
	struct prompt prompt;
	double logprobs[TINY_CONTEXT];
	int32_t ids[TINY_CONTEXT], top1[TINY_CONTEXT];
	assert_int_equal(prompt_write(&model->model, params, heading, &prompt, NULL), CUTTLE_OK);
	const size_t before = prompt.whole.count;
	memcpy(ids, prompt.whole.ids, before * sizeof *ids);
	size_t count = 0;
	assert_int_equal(cuttle_tokenize(model, text, strlen(text), false, ids + before,
	                                 TINY_CONTEXT - before, &count, NULL),
	                 CUTTLE_OK);
	if (count > most) count = most;
	prompt_free(&prompt);
	assert_int_equal(cuttle_score(model, ids, before + count, logprobs, top1, NULL), CUTTLE_OK);
	int64_t sum = 0;
	for (size_t i = 0; i < count; i++) sum += llround(logprobs[before - 1 + i] * 65536);
	return (double)sum / 65536 / (double)count;
}

static void a_mean_is_that_of_the_model(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_scorer *scorer;
	struct cuttle_plan_params params = params_of(0), others = params_of(1);
	double first[WORD_COUNT];
	assert_int_equal(cuttle_scorer_make(model, 256, &scorer, NULL), CUTTLE_OK);
	for (size_t i = 0; i < WORD_COUNT; i++) {
		first[i] = mean_of(scorer, &params, NULL, WORDS[i]);
		assert_true(first[i] == mean_anew(model, &params, NULL, WORDS[i], TOKENS));
		assert_true(first[i] < 0);
		const double headed = mean_of(scorer, &params, "genre: sea", WORDS[i]);
		assert_true(headed == mean_anew(model, &params, "genre: sea", WORDS[i], TOKENS));
		assert_true(headed != first[i]);
		assert_true(mean_of(scorer, &others, NULL, WORDS[i]) != first[i]);
	}
	for (size_t i = WORD_COUNT; i-- > 0;)
		assert_true(mean_of(scorer, &params, NULL, WORDS[i]) == first[i]);
	// T tokens count and no more; here a token is a byte.
	const double whole = mean_of(scorer, &params, NULL, "Nothing to say, really.");
	assert_true(whole == mean_of(scorer, &params, NULL, "Nothing to say, "));
	assert_true(whole != mean_of(scorer, &params, NULL, "Nothing to say,"));
	// One token has a mean, none has not.
	assert_true(isnan(mean_of(scorer, &params, NULL, "")));
	assert_true(mean_of(scorer, &params, NULL, "N") ==
	            mean_anew(model, &params, NULL, "N", TOKENS));
	cuttle_scorer_free(&scorer);
	assert_null(scorer);
	cuttle_model_free(&model);
}

/* Token by token, and as many as the context leaves. */
static void tokens_are_scored_one_by_one(void **state) {
	(void)state;
	static const char text[] = "A note on rain.";
	enum { SIZE = sizeof text - 1 };
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_scorer *scorer;
	struct cuttle_scores scores;
	struct cuttle_plan_params params = params_of(0);
	struct prompt prompt;
	int32_t ids[TINY_CONTEXT], top1[TINY_CONTEXT];
	double logprobs[TINY_CONTEXT];
	struct cuttle_plan *plan;
	assert_int_equal(cuttle_plan_make(model, &params, &plan, NULL), CUTTLE_OK);
	assert_int_equal(prompt_write(&model->model, &params, NULL, &prompt, NULL), CUTTLE_OK);
	const size_t before = prompt.whole.count;
	memcpy(ids, prompt.whole.ids, before * sizeof *ids);
	for (size_t i = 0; i < SIZE; i++) ids[before + i] = (unsigned char)text[i];
	assert_int_equal(cuttle_score(model, ids, before + SIZE, logprobs, top1, NULL), CUTTLE_OK);
	for (uint32_t room = SIZE + 1; room > 0; room--) {
		const size_t count = room < SIZE ? room : SIZE;
		assert_int_equal(cuttle_scorer_make(model, (uint32_t)before + room, &scorer, NULL),
		                 CUTTLE_OK);
		assert_int_equal(
		    cuttle_scorer_read(scorer, &params, NULL, text, SIZE, &scores, NULL),
		    CUTTLE_OK);
		assert_string_equal(scores.prompt, cuttle_plan_template(plan, 0));
		assert_int_equal(scores.whole, SIZE);
		assert_int_equal(scores.count, count);
		assert_memory_equal(scores.ids, ids + before, count * sizeof *ids);
		assert_memory_equal(scores.top1, top1 + before - 1, count * sizeof *top1);
		for (size_t i = 0; i < count; i++)
			assert_true(scores.logprobs[i] * 65536 ==
			            (double)llround(logprobs[before - 1 + i] * 65536));
		cuttle_scorer_free(&scorer);
	}
	assert_int_equal(cuttle_scorer_make(model, (uint32_t)before, &scorer, NULL), CUTTLE_OK);
	assert_int_equal(cuttle_scorer_read(scorer, &params, NULL, text, SIZE, &scores, NULL),
	                 CUTTLE_USAGE);
	cuttle_scorer_free(&scorer);
	prompt_free(&prompt);
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
}

static void make_bias(double bias[TINY_WIDTH]) {
	uint64_t seed = 5;
	for (size_t i = 0; i < TINY_WIDTH; i++)
		bias[i] = (double)(tiny_random(&seed) % 2000) * 0.001 - 1;
}

/* e_y . bias */
static double turn_of(const struct cuttle_model *model, size_t token, const double *bias) {
	float row[TINY_WIDTH];
	double sum = 0;
	pack_row(&model->model.head, token, row);
	for (size_t i = 0; i < TINY_WIDTH; i++) sum += (double)row[i] * bias[i];
	return sum;
}

/* ln p of ids[count - 1] with a bias, from the whole law without one. */
static double turned_logprob(struct cuttle_model *model, const int32_t *ids, size_t count,
                             const double *bias) {
	double logprobs[TINY_CONTEXT], found = 0, sum = 0;
	int32_t others[TINY_CONTEXT], top1[TINY_CONTEXT];
	memcpy(others, ids, count * sizeof *ids);
	for (int32_t y = 0; y < TINY_VOCAB; y++) {
		others[count - 1] = y;
		assert_int_equal(cuttle_score(model, others, count, logprobs, top1, NULL),
		                 CUTTLE_OK);
		const double logit = logprobs[count - 2] + turn_of(model, (size_t)y, bias);
		sum += exp(logit);
		if (y == ids[count - 1]) found = logit;
	}
	return found - log(sum);
}

static void a_bias_turns_the_law(void **state) {
	(void)state;
	static const char text[] = "sea";
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_scorer *scorer;
	struct cuttle_scores scores;
	struct cuttle_plan_params params = params_of(0);
	struct cuttle_error error = {""};
	struct prompt prompt;
	int32_t ids[TINY_CONTEXT];
	double bias[TINY_WIDTH], none[TINY_WIDTH] = {0}, mean = 0;
	make_bias(bias);
	assert_int_equal(cuttle_scorer_make(model, 256, &scorer, NULL), CUTTLE_OK);
	const double before = mean_of(scorer, &params, NULL, text);
	assert_int_equal(cuttle_scorer_bias(scorer, none, NULL), CUTTLE_OK);
	assert_true(mean_of(scorer, &params, NULL, text) == before);
	assert_int_equal(cuttle_scorer_bias(scorer, bias, NULL), CUTTLE_OK);
	assert_int_equal(cuttle_scorer_read(scorer, &params, NULL, text, 3, &scores, NULL),
	                 CUTTLE_OK);
	assert_int_equal(prompt_write(&model->model, &params, NULL, &prompt, NULL), CUTTLE_OK);
	memcpy(ids, prompt.whole.ids, prompt.whole.count * sizeof *ids);
	for (size_t i = 0; i < 3; i++) {
		const size_t count = prompt.whole.count + i + 1;
		ids[count - 1] = (unsigned char)text[i];
		mean += scores.logprobs[i] / 3;
		assert_true(fabs(scores.logprobs[i] - turned_logprob(model, ids, count, bias)) <
		            5e-5);
	}
	assert_true(fabs(mean - before) > 0.1);
	// A number that is none changes nothing; a large one is as far as a logit can move.
	bias[3] = (double)INFINITY;
	assert_int_equal(cuttle_scorer_bias(scorer, bias, &error), CUTTLE_USAGE);
	assert_string_equal(error.message, "a number of the bias is not finite");
	assert_true(fabs(mean_of(scorer, &params, NULL, text) - mean) < 1e-9);
	bias[3] = 1e300;
	assert_int_equal(cuttle_scorer_bias(scorer, bias, NULL), CUTTLE_OK);
	assert_true(isfinite(mean_of(scorer, &params, NULL, text)));
	assert_int_equal(cuttle_scorer_bias(scorer, NULL, NULL), CUTTLE_OK);
	assert_true(mean_of(scorer, &params, NULL, text) == before);
	prompt_free(&prompt);
	cuttle_scorer_free(&scorer);
	cuttle_model_free(&model);
}

static void a_mean_has_the_same_bits_everywhere(void **state) {
	(void)state;
	struct cuttle_plan_params params = params_of(0);
	double first = NAN, first_turned = NAN, bias[TINY_WIDTH];
	make_bias(bias);
	const struct kernels *tiers[8];
	const size_t count = kernels_available(tiers);
	for (unsigned way = 0; way < 2 + count; way++) {
		assert_true(kernels_set(way < 2 ? "auto" : tiers[way - 2]->name));
		struct cuttle_model *model = tiny_model_open_healthy(way == 1 ? 2 : 1);
		struct cuttle_scorer *scorer;
		assert_int_equal(cuttle_scorer_make(model, 256, &scorer, NULL), CUTTLE_OK);
		const double mean = mean_of(scorer, &params, NULL, WORDS[3]);
		assert_int_equal(cuttle_scorer_bias(scorer, bias, NULL), CUTTLE_OK);
		const double turned = mean_of(scorer, &params, NULL, WORDS[3]);
		if (!way) first = mean, first_turned = turned;
		assert_true(mean == first && turned == first_turned && turned != mean);
		cuttle_scorer_free(&scorer);
		cuttle_model_free(&model);
	}
	assert_true(kernels_set("auto"));
}

static void what_cannot_be_scored(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_scorer *scorer;
	struct cuttle_plan_params params = params_of(0);
	double mean;
	assert_int_equal(cuttle_scorer_make(model, TINY_CONTEXT + 1, &scorer, NULL), CUTTLE_USAGE);
	assert_null(scorer);
	assert_int_equal(cuttle_scorer_make(model, 64, &scorer, NULL), CUTTLE_OK);
	assert_int_equal(cuttle_scorer_mean(scorer, &params, NULL, "x", 1, &mean, NULL),
	                 CUTTLE_USAGE);
	cuttle_scorer_free(&scorer);
	assert_int_equal(cuttle_scorer_make(model, 256, &scorer, NULL), CUTTLE_OK);
	params.kind = "";
	assert_int_equal(cuttle_scorer_mean(scorer, &params, NULL, "x", 1, &mean, NULL),
	                 CUTTLE_USAGE);
	cuttle_scorer_free(&scorer);
	cuttle_model_free(&model);
}

/* ---- public jobs ----------------------------------------------------------------------------- */

/* What a job wrote, and what it is told of an earlier one. */
struct written {
	char texts[TEXTS][MOST_TEXT];
	int32_t tokens[TEXTS][TOKENS];
	size_t counts[TEXTS], known[TEXTS]; /* known: tokens of an earlier job */
	size_t delivered, drawn, stop_after;
	size_t changed; /* the text whose examples are others; TEXTS = none */
	struct cuttle_plan_params params;
};

static void give_prompt(void *user, size_t text, struct cuttle_plan_params *params,
                        const char **heading) {
	const struct written *w = user;
	const size_t examples = text == w->changed ? text + 1 : text;
	*params = params_of(examples % 3);
	*heading = text % 2 ? "genre: sea" : NULL;
}

static size_t give_known(void *user, size_t text, const int32_t **tokens) {
	const struct written *w = user;
	*tokens = w->tokens[text];
	return w->known[text];
}

static int keep_written(void *user, size_t text, uint32_t step, int32_t token) {
	struct written *w = user;
	assert_int_equal(step, w->counts[text]);
	assert_in_range(step, 0, TOKENS - 1);
	assert_true(token < 0);
	w->tokens[text][w->counts[text]++] = token;
	return ++w->drawn == w->stop_after;
}

static int take_written(void *user, const struct cuttle_text *text) {
	struct written *w = user;
	assert_int_equal(text->index, w->delivered++);
	assert_int_equal(text->free_tokens, text->tokens);
	assert_true(text->size < MOST_TEXT);
	memcpy(w->texts[text->index], text->text, text->size);
	w->texts[text->index][text->size] = 0;
	return 0;
}

static enum cuttle_status write_public(struct cuttle_plan *plan, uint32_t parallel,
                                       struct written *w) {
	struct cuttle_public_job job;
	cuttle_public_job_default(&job);
	job.texts = TEXTS;
	job.parallel = parallel;
	job.seed = 11;
	job.user = w;
	job.prompt = give_prompt;
	job.drawn = give_known;
	job.token = keep_written;
	job.text = take_written;
	w->delivered = w->drawn = 0;
	memcpy(w->counts, w->known, sizeof w->counts);
	return cuttle_public_run(plan, &job, NULL);
}

static void texts_follow_from_the_seed_alone(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_plan *plan;
	const struct cuttle_plan_params params = params_of(0);
	static struct written first, again;
	struct cuttle_error error;
	if (cuttle_plan_make(model, &params, &plan, &error)) fail_msg("%s", error.message);
	first.changed = again.changed = TEXTS;
	assert_int_equal(write_public(plan, 1, &first), CUTTLE_OK);
	assert_int_equal(first.delivered, TEXTS);
	for (uint32_t parallel = 2; parallel <= 4; parallel += 2) {
		assert_int_equal(write_public(plan, parallel, &again), CUTTLE_OK);
		assert_memory_equal(first.texts, again.texts, sizeof first.texts);
		assert_memory_equal(first.tokens, again.tokens, sizeof first.tokens);
	}
	// Stopped anywhere and continued.
	for (size_t stop = 1; stop < 100; stop += 13) {
		memset(again.known, 0, sizeof again.known);
		again.stop_after = stop;
		assert_int_equal(write_public(plan, 3, &again), CUTTLE_PARTIAL);
		again.stop_after = 0;
		memcpy(again.known, again.counts, sizeof again.known);
		assert_int_equal(write_public(plan, 2, &again), CUTTLE_OK);
		assert_memory_equal(first.texts, again.texts, sizeof first.texts);
	}
	// Other examples of text 4 change text 4.
	memset(again.known, 0, sizeof again.known);
	again.changed = 4;
	assert_int_equal(write_public(plan, 3, &again), CUTTLE_OK);
	for (size_t i = 0; i < TEXTS; i++)
		assert_int_equal(!strcmp(first.texts[i], again.texts[i]), i != 4);
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
}

static void give_nothing(void *user, size_t index, const char **text, size_t *size) {
	(void)user;
	(void)index;
	*text = NULL;
	*size = 0;
}

static void give_one_prompt(void *user, size_t text, struct cuttle_plan_params *params,
                            const char **heading) {
	const struct written *w = user;
	(void)text;
	*params = w->params;
	*heading = NULL;
}

static int keep_any_token(void *user, size_t text, uint32_t step, int32_t token) {
	struct written *w = user;
	w->tokens[text][step] = token < 0 ? ~token : token;
	w->counts[text]++;
	return 0;
}

static int take_nothing(void *user, const struct cuttle_text *text) {
	(void)user;
	(void)text;
	return 0;
}

/* Where all references are null, a plan draws from the public row; behind its one paid token it
 * does so for free. With the same seed a public job draws the same. */
static void the_law_is_that_of_free_tokens(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_plan *plan, *paying;
	static struct written alone, beside;
	alone.params = params_of(0);
	struct cuttle_plan_params with = params_of(0);
	with.tokens = 1;
	with.savings.complete = true;
	with.savings.free_tokens = TOKENS - 1;
	assert_int_equal(cuttle_plan_make(model, &alone.params, &plan, NULL), CUTTLE_OK);
	assert_int_equal(cuttle_plan_make(model, &with, &paying, NULL), CUTTLE_OK);
	struct cuttle_job job;
	cuttle_job_default(&job);
	job.texts = TEXTS;
	job.user = &beside;
	job.reference = give_nothing;
	job.token = keep_any_token;
	job.text = take_nothing;
	assert_int_equal(cuttle_job_run(paying, &job, NULL), CUTTLE_OK);
	struct cuttle_public_job public;
	cuttle_public_job_default(&public);
	public.texts = TEXTS;
	public.seed = 11;
	public.user = &alone;
	public.prompt = give_one_prompt;
	public.token = keep_any_token;
	public.text = take_nothing;
	assert_int_equal(cuttle_public_run(plan, &public, NULL), CUTTLE_OK);
	for (size_t i = 0; i < TEXTS; i++) {
		assert_true(alone.counts[i] > 1);
		assert_int_equal(alone.counts[i], beside.counts[i]);
		assert_memory_equal(alone.tokens[i], beside.tokens[i],
		                    alone.counts[i] * sizeof(int32_t));
	}
	// What does not fit is refused.
	alone.params.kind = "x";
	const char *const longer[] = {WORDS[0], WORDS[1], WORDS[2], WORDS[3], WORDS[0], WORDS[1],
	                              WORDS[2], WORDS[3], WORDS[0], WORDS[1], WORDS[2], WORDS[3]};
	alone.params.examples = longer;
	alone.params.example_count = 12;
	assert_int_equal(cuttle_public_run(plan, &public, NULL), CUTTLE_USAGE);
	cuttle_plan_free(&plan);
	cuttle_plan_free(&paying);
	cuttle_model_free(&model);
}

/* A bias that is a large multiple of e_y: of all tokens y is the likeliest, then and later. */
static void a_bias_is_in_what_is_drawn(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(2);
	struct cuttle_plan *plan;
	struct cuttle_plan_params params = params_of(0);
	static struct written first, turned;
	double bias[TINY_WIDTH];
	float row[TINY_WIDTH];
	params.top_k = 0;
	first.changed = turned.changed = TEXTS;
	assert_int_equal(cuttle_plan_make(model, &params, &plan, NULL), CUTTLE_OK);
	assert_int_equal(write_public(plan, 2, &first), CUTTLE_OK);
	pack_row(&model->model.head, 'q', row);
	for (size_t i = 0; i < TINY_WIDTH; i++) bias[i] = 100 * (double)row[i];
	for (size_t y = 0; y < TINY_VOCAB; y++)
		assert_true(y == 'q' || turn_of(model, y, bias) + 60 < turn_of(model, 'q', bias));
	assert_int_equal(cuttle_bias_use(plan, bias, NULL), CUTTLE_OK);
	assert_int_equal(write_public(plan, 2, &turned), CUTTLE_OK);
	for (size_t i = 0; i < TEXTS; i++) {
		assert_string_not_equal(first.texts[i], turned.texts[i]);
		assert_string_equal(turned.texts[i], "qqqqqqqqqqqqqqqq");
	}
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_mean_is_that_of_the_model),
	    cmocka_unit_test(tokens_are_scored_one_by_one),
	    cmocka_unit_test(a_bias_turns_the_law),
	    cmocka_unit_test(a_mean_has_the_same_bits_everywhere),
	    cmocka_unit_test(what_cannot_be_scored),
	    cmocka_unit_test(texts_follow_from_the_seed_alone),
	    cmocka_unit_test(the_law_is_that_of_free_tokens),
	    cmocka_unit_test(a_bias_is_in_what_is_drawn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
