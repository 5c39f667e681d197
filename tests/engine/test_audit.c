// SPDX-License-Identifier: Apache-2.0
// Tests cuttle_audit_run and cuttle_attacker_read on a tiny model.
// It fails if an audit changes what is drawn, if its odds are not those of two runs with and
// without the reference, if a range exceeds eta, if a huge clip does not reach most of its eta, if
// a text that is gone through again has other odds, or if an attacker reads another prompt. Of the
// methods with a past it fails if an audit changes their texts, if in a world without a reference
// they write another text than without it, or if what they claim is passed.
#include "engine/cuttle.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXTS = 12, BATCH = 3, TOKENS = 12, NULL_PLACE = 1, MOST_ODDS = TEXTS * TOKENS * BATCH };
#define PUBLIC_PROMPT "A text:"

struct game {
	bool without_last; /* place 2 has no reference at all */
	bool force;
	bool drop; /* draws as if place 2 were null */
	int32_t tokens[TEXTS][TOKENS];
	uint32_t counts[TEXTS];
	struct cuttle_odds odds[MOST_ODDS];
	size_t told;
	double probability[TEXTS][TOKENS]; /* of the trace */
	int32_t forced[TEXTS][TOKENS];
};

static void give_reference(void *user, size_t index, const char **text, size_t *size) {
	static const char *const texts[] = {"the old red fish", NULL, "a star said hello"};
	const struct game *game = user;
	const size_t place = index % BATCH;
	*text = place == 2 && game->without_last ? NULL : texts[place];
	*size = *text ? strlen(*text) : 0;
}
static int take_token(void *user, size_t text, uint32_t step, int32_t token) {
	struct game *game = user;
	game->tokens[text][step] = token;
	game->counts[text] = step + 1;
	return 0;
}
static int take_text(void *user, const struct cuttle_text *text) {
	(void)user, (void)text;
	return 0;
}
static int take_step(void *user, const struct cuttle_trace_step *step) {
	struct game *game = user;
	game->probability[step->text][step->step] = step->probability;
	return 0;
}
static int32_t give_forced(void *user, size_t text, uint32_t step) {
	const struct game *game = user;
	return game->force ? game->forced[text][step] : -1;
}
static bool drop_last(void *user, size_t text) {
	(void)text;
	return ((struct game *)user)->drop;
}
static void take_odds(void *user, const struct cuttle_odds *odds) {
	struct game *game = user;
	assert_true(game->told < MOST_ODDS);
	game->odds[game->told++] = *odds;
}

static struct cuttle_plan *make_plan(struct cuttle_model *model, double clip) {
	struct cuttle_plan_params params;
	struct cuttle_plan *plan;
	struct cuttle_error error;
	cuttle_plan_params_default(&params);
	params.clip = clip;
	params.batch = BATCH;
	params.tokens = TOKENS;
	params.gain = 1;
	params.temperature = .2;
	params.form = CUTTLE_CUSTOM;
	params.prompt_public = PUBLIC_PROMPT;
	params.prompt_private = "{reference}. A text:";
	params.insecure = true;
	params.insecure_seed = 7;
	if (cuttle_plan_make(model, &params, &plan, &error)) fail_msg("%s", error.message);
	return plan;
}

/* A plan of another method; NAN where it takes no epsilon. */
static struct cuttle_plan *make_method_plan(struct cuttle_model *model, enum cuttle_method method,
                                            uint32_t order, double epsilon) {
	struct cuttle_plan_params params;
	struct cuttle_plan *plan;
	struct cuttle_error error;
	cuttle_plan_params_default(&params);
	params.method = method;
	params.epsilon = epsilon;
	params.method_params.order = order;
	params.method_params.not_private = !cuttle_method_promises(method);
	if (method == CUTTLE_AMIN) {
		params.method_params.units = 6;
		params.method_params.svt_noise = .4;
	}
	params.batch = BATCH;
	params.tokens = TOKENS;
	params.form = CUTTLE_CUSTOM;
	params.prompt_public = PUBLIC_PROMPT;
	params.prompt_private = "{reference}. A text:";
	params.insecure = true;
	params.insecure_seed = 7;
	if (cuttle_plan_make(model, &params, &plan, &error)) fail_msg("%s", error.message);
	return plan;
}

/* Runs the plan's texts; `place` NO_AUDIT: as a job with a trace. */
#define NO_AUDIT (UINT32_MAX - 1)
static void play(struct cuttle_plan *plan, struct game *game, uint32_t place) {
	struct cuttle_job job;
	struct cuttle_audit audit;
	struct cuttle_error error;
	const struct cuttle_trace trace = {take_step, game};
	cuttle_job_default(&job);
	job.texts = TEXTS;
	job.user = game;
	job.reference = give_reference;
	job.token = take_token;
	job.text = take_text;
	cuttle_audit_default(&audit);
	audit.place = place;
	audit.odds = take_odds;
	audit.forced = give_forced;
	audit.user = game;
	if (place != CUTTLE_EVERY_PLACE) audit.without = drop_last;
	enum cuttle_status status;
	if (place == NO_AUDIT) {
		job.trace = &trace;
		status = cuttle_job_run(plan, &job, &error);
	} else {
		status = cuttle_audit_run(plan, &job, &audit, &error);
	}
	if (status) fail_msg("%s", error.message);
}

static void same_tokens(const struct game *one, const struct game *other) {
	for (size_t text = 0; text < TEXTS; text++) {
		assert_int_equal(one->counts[text], other->counts[text]);
		assert_memory_equal(one->tokens[text], other->tokens[text],
		                    one->counts[text] * sizeof(int32_t));
	}
}

static void the_odds(void **state) {
	struct cuttle_model *model = *state;
	struct cuttle_plan *plan = make_plan(model, 2);
	static struct game plain, audited, again, without, dropped;
	plain = audited = again = without = dropped = (struct game){0};
	play(plan, &plain, NO_AUDIT);
	play(plan, &audited, CUTTLE_EVERY_PLACE);
	same_tokens(&plain, &audited);
	size_t paid = 0;
	for (size_t i = 0; i < TEXTS; i++) paid += plain.counts[i];
	/* The null place is not compared with itself. */
	assert_int_equal(audited.told, 2 * paid);
	const double eta = cuttle_audit_range(plan);
	double widest = 0;
	for (size_t i = 0; i < audited.told; i++) {
		const struct cuttle_odds *odds = &audited.odds[i];
		assert_true(odds->candidate && odds->place != NULL_PLACE);
		assert_true(odds->least <= 0 && odds->most >= 0);
		assert_true(odds->least <= odds->ratio && odds->ratio <= odds->most);
		widest = fmax(widest, odds->most - odds->least);
	}
	assert_true(widest <= eta + 1e-12);
	/* power: rows of a random model differ by more than this clip */
	assert_true(widest > .5 * eta);

	/* Two runs of the same tokens, with the last reference and without it. */
	memcpy(again.forced, plain.tokens, sizeof again.forced);
	again.force = true;
	play(plan, &again, 2);
	same_tokens(&plain, &again);
	without = again;
	without.told = 0;
	without.without_last = true;
	play(plan, &without, 0);
	size_t step = 0;
	for (size_t text = 0; text < TEXTS; text++)
		for (size_t i = 0; i < plain.counts[text]; i++) step++;
	assert_int_equal(again.told, step);
	for (size_t i = 0; i < again.told; i++) {
		const struct cuttle_odds *one = &again.odds[i];
		for (size_t k = 0; k < audited.told; k++) {
			const struct cuttle_odds *other = &audited.odds[k];
			if (other->place != 2 || other->text != one->text ||
			    other->step != one->step)
				continue;
			assert_true(one->ratio == other->ratio && one->least == other->least);
			assert_true(one->most == other->most);
		}
	}

	/* As if it were null: the tokens of a run without it, and ratios that its trace confirms.
	 */
	dropped.drop = true;
	play(plan, &dropped, 2);
	static struct game null;
	null = (struct game){.without_last = true};
	play(plan, &null, NO_AUDIT);
	same_tokens(&dropped, &null);
	static struct game with;
	with = (struct game){.force = true};
	memcpy(with.forced, null.tokens, sizeof with.forced);
	play(plan, &with, CUTTLE_EVERY_PLACE);
	for (size_t i = 0; i < dropped.told; i++) {
		const struct cuttle_odds *odds = &dropped.odds[i];
		const double p = null.probability[odds->text][odds->step];
		/* P' of the trace, P = P' e^ratio is a probability */
		assert_true(p * exp(odds->ratio) <= 1 + 1e-12);
	}
	/* P itself: all texts have the same first step. */
	size_t compared = 0;
	for (size_t k = 0; k < dropped.told; k++) {
		const struct cuttle_odds *odds = &dropped.odds[k];
		if (odds->step) continue;
		for (size_t text = 0; text < TEXTS; text++) {
			if (plain.tokens[text][0] != null.tokens[odds->text][0]) continue;
			compared++;
			assert_true(fabs(odds->ratio - log(plain.probability[text][0]) +
			                 log(null.probability[odds->text][0])) < 1e-11);
		}
	}
	assert_true(compared > 0);
	cuttle_plan_free(&plan);
}

/* Without a trace, which these methods have none of. */
static void play_plainly(struct cuttle_plan *plan, struct game *game) {
	struct cuttle_job job;
	struct cuttle_error error;
	cuttle_job_default(&job);
	job.texts = TEXTS;
	job.user = game;
	job.reference = give_reference;
	job.token = take_token;
	job.text = take_text;
	if (cuttle_job_run(plan, &job, &error)) fail_msg("%s", error.message);
}

static void methods_with_a_past(void **state) {
	static const struct {
		enum cuttle_method method;
		uint32_t order;
		double epsilon;
	} of[] = {{CUTTLE_PMIXED, CUTTLE_ORDER_INFINITE, 9},
	          {CUTTLE_PMIXED, 4, 9},
	          {CUTTLE_AMIN, 0, 900},
	          {CUTTLE_ADAPMIXED, 0, 40}};
	for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
		struct cuttle_plan *plan =
		    make_method_plan(*state, of[k].method, of[k].order, of[k].epsilon);
		static struct game plain, audited, one, dropped, null;
		plain = audited = one = dropped = null = (struct game){0};
		play_plainly(plan, &plain);
		play(plan, &audited, CUTTLE_EVERY_PLACE);
		same_tokens(&plain, &audited);
		play(plan, &one, 2);
		same_tokens(&plain, &one);
		assert_true(one.told > 0 && audited.told >= 2 * one.told);
		/* One place alone has the odds that it has among all. */
		for (size_t i = 0, j = 0; i < one.told; i++, j++) {
			while (j < audited.told && audited.odds[j].place != 2) j++;
			assert_true(j < audited.told);
			assert_int_equal(one.odds[i].text, audited.odds[j].text);
			assert_int_equal(one.odds[i].step, audited.odds[j].step);
			assert_true(one.odds[i].ratio == audited.odds[j].ratio);
		}
		const double most = cuttle_audit_range(plan), answers = cuttle_audit_answers(plan);
		assert_true((of[k].method == CUTTLE_AMIN) == (answers > 0));
		bool differs = false;
		for (size_t i = 0; i < audited.told; i++) {
			const struct cuttle_odds *odds = &audited.odds[i];
			if (of[k].method != CUTTLE_ADAPMIXED)
				assert_true(odds->most - odds->least <= most + 1e-12 ||
				            cuttle_audit_order(plan) > 0);
			assert_true(fabs(odds->answers) <= answers * (1 + 1e-6));
			differs |= fabs(odds->ratio) > 1e-3;
		}
		assert_true(differs);
		dropped.drop = true;
		play(plan, &dropped, 2);
		null.without_last = true;
		play_plainly(plan, &null);
		same_tokens(&dropped, &null);
		cuttle_plan_free(&plan);
	}
}

static void wrong_places(void **state) {
	struct cuttle_plan *plan = make_plan(*state, 1);
	struct cuttle_job job;
	struct cuttle_audit audit;
	struct cuttle_error error;
	struct game game = {0};
	cuttle_job_default(&job);
	job.texts = 1;
	job.user = &game;
	job.reference = give_reference;
	job.text = take_text;
	cuttle_audit_default(&audit);
	audit.place = BATCH;
	audit.odds = take_odds;
	assert_int_equal(cuttle_audit_run(plan, &job, &audit, &error), CUTTLE_USAGE);
	assert_string_equal(error.message, "the plan has no place 3");
	cuttle_plan_free(&plan);
}

/* What the model alone says of `text` behind a prompt is what the attacker is told of a guess. */
static void check_guess(struct cuttle_model *model, struct cuttle_attacker *attacker,
                        const char *prompt, const char *guess) {
	static const int32_t text[] = {' ', 'a', ' ', 's', 't', 'a', 'r'};
	enum { COUNT = sizeof text / sizeof *text };
	struct cuttle_error error;
	int32_t ids[100], top1[100];
	double wanted[100], got[COUNT];
	size_t count;
	assert_int_equal(
	    cuttle_tokenize(model, prompt, strlen(prompt), true, ids, 50, &count, &error),
	    CUTTLE_OK);
	memcpy(ids + count, text, sizeof text);
	assert_int_equal(cuttle_score(model, ids, count + COUNT, wanted, top1, &error), CUTTLE_OK);
	assert_int_equal(cuttle_attacker_read(attacker, guess, guess ? strlen(guess) : 0, text,
	                                      COUNT, got, &error),
	                 CUTTLE_OK);
	for (size_t k = 0; k < COUNT; k++) assert_true(fabs(got[k] - wanted[count - 1 + k]) < 1e-9);
}

static void the_attacker(void **state) {
	struct cuttle_model *model = *state;
	struct cuttle_plan *plan = make_plan(model, 1);
	struct cuttle_attacker *attacker;
	struct cuttle_error error;
	double got[1];
	assert_int_equal(cuttle_attacker_make(plan, &attacker, &error), CUTTLE_OK);
	check_guess(model, attacker, "hello. A text:", "hello");
	check_guess(model, attacker, PUBLIC_PROMPT, NULL);
	check_guess(model, attacker, "fish. A text:", "fish");
	const int32_t wrong = TINY_VOCAB, right = ' ';
	assert_int_equal(cuttle_attacker_read(attacker, "fish", 4, &wrong, 1, got, &error),
	                 CUTTLE_USAGE);
	assert_int_equal(cuttle_attacker_read(attacker, "fish", 4, &right, 0, got, &error),
	                 CUTTLE_USAGE);
	cuttle_attacker_free(&attacker);
	cuttle_attacker_free(&attacker);
	cuttle_plan_free(&plan);
}

static void the_attacker_on_rewritten_documents(void **state) {
	struct cuttle_model *model = *state;
	struct cuttle_rewrite_params params;
	struct cuttle_rewriter *rewriter;
	struct cuttle_attacker *attacker;
	struct cuttle_error error;
	double got[1];
	cuttle_rewrite_params_default(&params);
	params.divergence = 1;
	params.tokens = 8;
	params.form = CUTTLE_CONTINUE;
	params.instruction = "Say {document} again:";
	assert_int_equal(cuttle_rewriter_make(model, &params, &rewriter, &error), CUTTLE_OK);
	assert_int_equal(cuttle_attacker_make_rewritten(rewriter, &attacker, &error), CUTTLE_OK);
	check_guess(model, attacker, "Say Ann is 9 again:", "Ann is 9");
	// A document is neither trimmed nor cut.
	check_guess(model, attacker, "Say  Bo  again:", " Bo ");
	const int32_t right = ' ';
	char *const endless = calloc(1, 1 << 16);
	assert_non_null(endless);
	memset(endless, 'a', 1 << 16);
	assert_int_equal(cuttle_attacker_read(attacker, endless, 1 << 16, &right, 1, got, &error),
	                 CUTTLE_USAGE);
	assert_int_equal(cuttle_attacker_read(attacker, "\xff", 1, &right, 1, got, &error),
	                 CUTTLE_USAGE);
	free(endless);
	cuttle_attacker_free(&attacker);
	cuttle_rewriter_free(&rewriter);
}

static int open_model(void **state) {
	tiny_model_finite = true;
	*state = tiny_model_open_healthy(1);
	return 0;
}
static int close_model(void **state) {
	struct cuttle_model *model = *state;
	cuttle_model_free(&model);
	return 0;
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_odds), cmocka_unit_test(methods_with_a_past),
	    cmocka_unit_test(wrong_places), cmocka_unit_test(the_attacker),
	    cmocka_unit_test(the_attacker_on_rewritten_documents)};
	return cmocka_run_group_tests(tests, open_model, close_model);
}
