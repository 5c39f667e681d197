// SPDX-License-Identifier: Apache-2.0
// Tests the guarantee from outside, by the canary game through the public API, on a tiny model.
// Some texts are written from one reference, others from none. A guesser scores each text with and
// without the reference (LOSS) and says which is which. His success bounds epsilon from below.
// It fails only if that bound, at confidence 1 - 1e-6, is above the promised epsilon. So it sees
// gross errors only. cuttle audit canary plays the same game with any run. There are 200 texts per
// world by day and 2,000 at night.
#include "tests/dp/test_dp_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure/attacks.h"
#include "measure/bounds.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"

enum { MOST_TEXTS = 2000, TOKENS = 30, MOST_PROMPT = 100 };
#define CANARY "the star said hello to the old red fish"
#define PUBLIC_PROMPT "A text:"
#define PRIVATE_PROMPT CANARY ". A text:"

struct game {
	struct cuttle_model *model;
	const char *reference; /* NULL: the world without */
	size_t texts;
	int32_t tokens[MOST_TEXTS][TOKENS];
	uint32_t counts[MOST_TEXTS];
	double score[MOST_TEXTS]; /* ln P(text | canary) - ln P(text | public) */
};

static void give_reference(void *user, size_t index, const char **text, size_t *size) {
	(void)index;
	*text = ((struct game *)user)->reference;
	*size = *text ? strlen(*text) : 0;
}

static int take_token(void *user, size_t text, uint32_t step, int32_t token) {
	struct game *game = user;
	game->tokens[text][step] = token;
	game->counts[text] = step + 1;
	return 0;
}

/* The tiny model has a token after which nothing is finite: it ends a text here, in both worlds. */
static size_t give_drawn(void *user, size_t text, const int32_t **tokens) {
	static int32_t ended[TOKENS + 1];
	struct game *game = user;
	const uint32_t count = game->counts[text];
	*tokens = game->tokens[text];
	if (count == 0 || game->tokens[text][count - 1] != TINY_NAN) return count;
	memcpy(ended, game->tokens[text], count * sizeof *ended);
	ended[count] = TINY_EOS;
	*tokens = ended;
	return count + 1;
}

static int take_text(void *user, const struct cuttle_text *text) {
	(void)user, (void)text;
	return 0;
}

static double log_likelihood(struct game *game, size_t text, const char *prompt) {
	int32_t ids[MOST_PROMPT + TOKENS], likeliest[MOST_PROMPT + TOKENS];
	double log_p[MOST_PROMPT + TOKENS], sum = 0;
	size_t count;
	assert_int_equal(cuttle_tokenize(game->model, prompt, strlen(prompt), true, ids,
	                                 MOST_PROMPT, &count, NULL),
	                 CUTTLE_OK);
	memcpy(ids + count, game->tokens[text], game->counts[text] * sizeof *ids);
	assert_int_equal(
	    cuttle_score(game->model, ids, count + game->counts[text], log_p, likeliest, NULL),
	    CUTTLE_OK);
	for (size_t i = 0; i < game->counts[text]; i++) sum += log_p[count - 1 + i];
	return sum;
}

static void play(struct game *game, struct cuttle_plan *plan) {
	struct cuttle_job job;
	struct cuttle_error error;
	cuttle_job_default(&job);
	job.texts = game->texts;
	job.user = game;
	job.reference = give_reference;
	job.token = take_token;
	job.text = take_text;
	job.drawn = give_drawn;
	enum cuttle_status status;
	do status = cuttle_job_run(plan, &job, &error);
	while (status == CUTTLE_MODEL);
	if (status) fail_msg("%s", error.message);
	for (size_t i = 0; i < game->texts; i++)
		game->score[i] = log_likelihood(game, i, PRIVATE_PROMPT) -
		                 log_likelihood(game, i, PUBLIC_PROMPT);
}

/* The even texts choose the threshold, the odd ones are the trial. */
static double won(const struct game *with, const struct game *without, double delta) {
	struct attacks_worlds judged;
	attacks_judge(with->score, without->score, with->texts, delta, &judged);
	return bounds_two_worlds(judged.hits, judged.with, judged.alarms, judged.without, delta,
	                         FALSE_ALARM);
}

/* clip: NaN for epsilon 1. */
static double lower_bound(struct cuttle_model *model, double clip, double *promised) {
	static struct game with, without;
	struct cuttle_plan_params params;
	struct cuttle_plan *plan;
	struct cuttle_error error;
	struct cuttle_guarantee guarantee;
	cuttle_plan_params_default(&params);
	params.epsilon = isnan(clip) ? 1.0 : (double)NAN;
	params.clip = clip;
	params.batch = 1;
	params.tokens = TOKENS;
	params.form = CUTTLE_CUSTOM;
	params.prompt_public = PUBLIC_PROMPT;
	params.prompt_private = "{reference}. A text:";
	params.insecure = !nightly();
	params.insecure_seed = 5;
	if (cuttle_plan_make(model, &params, &plan, &error)) fail_msg("%s", error.message);
	cuttle_plan_describe(plan, &guarantee);
	*promised = fmin(guarantee.epsilon, guarantee.epsilon_exact);
	with = (struct game){
	    .model = model, .reference = CANARY, .texts = nightly() ? MOST_TEXTS : 200};
	without = (struct game){.model = model, .texts = with.texts};
	play(&with, plan);
	play(&without, plan);
	cuttle_plan_free(&plan);
	return won(&with, &without, guarantee.delta);
}

static void the_game(void **state) {
	(void)state;
	double promised, large;
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1);
	const double honest = lower_bound(model, (double)NAN, &promised),
	             far = lower_bound(model, 5.0, &large);
	printf("canary: epsilon %.3f promised, at least %.3f won; with a clip of epsilon %.1f at "
	       "least %.3f won\n",
	       promised, honest, large, far);
	assert_true(honest <= promised);
	/* power: the same texts sold as epsilon 1, were the clip 5 */
	assert_true(far > promised && far <= large);
	cuttle_model_free(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_game)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
