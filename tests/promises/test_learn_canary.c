// SPDX-License-Identifier: Apache-2.0
// Tests the guarantee of a learnt bias from outside, by the canary game, on a tiny model. One
// record says a rare phrase 40 times, or is null. An attacker knows all others. He takes what they
// say off the noisy answer, projects the rest on the canary's own integers, and says which world it
// was. That is the best attack there is. His success bounds epsilon from below.
// It fails if that bound, at confidence 1 - 1e-6, is above the promised epsilon. It fails, too, if
// noise of a quarter of the variance is not noticed: so it sees gross errors. Records are read
// once, and only the noise is drawn anew: 10,000 answers in each world by day, 40,000 at night.
// delta is .05, since games do not see what is rarer: at 1e-6 no test can play enough of them.
#include "tests/dp/test_dp_support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dp/learn.h"
#include "engine/cuttle.h"
#include "engine/run/loop/learn.h"
#include "measure/attacks.h"
#include "measure/bounds.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"

enum { RECORDS = 8, CANARY = 5, TOKENS = 160, ANSWERS = 10000, MOST_ANSWERS = 40000, SAYINGS = 40 };
#define PHRASE "zqx "
#define EPSILON 2.0
#define DELTA .05

/* What each record says, in units of the clip, and the text of one record. */
struct learn_game {
	double u[RECORDS][TINY_WIDTH];
	size_t taken;
	char canary[SAYINGS * sizeof PHRASE];
	uint64_t bits; /* of the noise */
};

static void give_learnt(void *user, size_t index, const char **text, size_t *size) {
	static const char *const others[] = {"the star said hello", "a red fish", "so it was",
	                                     "no"};
	const struct learn_game *game = user;
	*text = index == CANARY ? game->canary : others[index % 4];
	*size = strlen(*text);
}

static void keep_learnt(void *self, const double *u) {
	struct learn_game *game = self;
	memcpy(game->u[game->taken++], u, sizeof game->u[0]);
}

static void read_game(struct learn_game *game) {
	struct cuttle_plan_params params;
	struct cuttle_plan *plan;
	struct cuttle_learner *learner;
	struct cuttle_error error;
	const struct cuttle_learn_params learning = {.texts = 40, .tokens = TOKENS};
	struct cuttle_model *model = tiny_model_open_healthy(1);
	*game = (struct learn_game){.bits = nightly_seed(5)};
	for (int i = 0; i < SAYINGS; i++) strcat(game->canary, PHRASE);
	cuttle_plan_params_default(&params);
	params.epsilon = EPSILON;
	params.tokens = TOKENS;
	params.kind = "note";
	if (cuttle_plan_make(model, &params, &plan, &error)) fail_msg("%s", error.message);
	if (cuttle_learner_make(plan, &learning, &learner, &error)) fail_msg("%s", error.message);
	assert_true(learner_read(learner, RECORDS, give_learnt, game, keep_learnt, game));
	assert_int_equal(game->taken, RECORDS);
	cuttle_learner_free(&learner);
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
}

/* An answer as cuttle_learner_read makes it; then the attacker's score of it. */
static double score_answer(struct learn_game *game, bool with, struct dp_variance variance) {
	const struct dp_random random = {test_fill, &game->bits};
	struct dp_learn *learn;
	int64_t x[TINY_WIDTH];
	int32_t q[TINY_WIDTH];
	double score = 0;
	assert_int_equal(dp_learn_begin(TINY_WIDTH, RECORDS, variance, &random, &learn), DP_OK);
	for (size_t i = 0; i < RECORDS; i++)
		dp_learn_add(learn, i == CANARY && !with ? NULL : game->u[i]);
	dp_learn_end(&learn, x);
	for (size_t i = 0; i < RECORDS; i++) {
		if (i == CANARY) continue;
		dp_learn_round(game->u[i], TINY_WIDTH, q);
		for (size_t j = 0; j < TINY_WIDTH; j++) x[j] -= q[j];
	}
	dp_learn_round(game->u[CANARY], TINY_WIDTH, q);
	for (size_t j = 0; j < TINY_WIDTH; j++) score += (double)x[j] * q[j];
	return score;
}

static double epsilon_won(struct learn_game *game, struct dp_variance variance) {
	static double with[MOST_ANSWERS], without[MOST_ANSWERS];
	const size_t answers = nightly() ? MOST_ANSWERS : ANSWERS;
	struct attacks_worlds judged;
	for (size_t i = 0; i < answers; i++) {
		with[i] = score_answer(game, true, variance);
		without[i] = score_answer(game, false, variance);
	}
	attacks_judge(with, without, answers, DELTA, &judged);
	return bounds_two_worlds(judged.hits, judged.with, judged.alarms, judged.without, DELTA,
	                         FALSE_ALARM);
}

static void the_game_of_learning(void **state) {
	(void)state;
	static struct learn_game game;
	struct cuttle_query query = {.square = CUTTLE_LEARN_SQUARE, .times = 1, .parts = 1};
	struct cuttle_error error;
	double length = 0;
	int32_t q[TINY_WIDTH];
	read_game(&game);
	dp_learn_round(game.u[CANARY], TINY_WIDTH, q);
	for (size_t j = 0; j < TINY_WIDTH; j++) length += (double)q[j] * q[j];
	if (cuttle_queries_solve(&query, 1, EPSILON, DELTA, &error)) fail_msg("%s", error.message);
	const double honest = epsilon_won(&game, (struct dp_variance){query.num, query.den}),
	             wrong = epsilon_won(&game, (struct dp_variance){query.num / 4, query.den});
	printf("canary of a bias: %.1f of 64 long; epsilon %.1f promised, at least %.3f won, and "
	       "%.3f with a quarter of the noise\n",
	       sqrt(length), EPSILON, honest, wrong);
	assert_true(length > 60 * 60); // it fills its bound, so nobody says more
	assert_true(honest <= EPSILON);
	assert_true(wrong > EPSILON);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_game_of_learning)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
