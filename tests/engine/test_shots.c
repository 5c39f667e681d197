// SPDX-License-Identifier: Apache-2.0
// Tests rows of several references (prompt.c, plan.c, job.c): --shots.
// It fails if a row shows its references otherwise than one behind the other, if a null one leaves
// anything of its row, if a plan's guarantee moves with the shots, or if a row gets references of
// another one.
#include "engine/run/loop/job.h"
#include "engine/run/plan/plan.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 3, SHOTS = 2, TEXTS = 2, TOKENS = 12, MOST = 512, ROOM = 64 };

static struct cuttle_model *model;

static struct cuttle_plan_params shots_params(uint32_t shots) {
	struct cuttle_plan_params params;
	cuttle_plan_params_default(&params);
	params.epsilon = 3;
	params.batch = BATCH;
	params.tokens = TOKENS;
	params.shots = shots;
	params.top_k = 0;
	params.insecure = true;
	params.insecure_seed = 11;
	return params;
}

static struct cuttle_plan *plan_of(const struct cuttle_plan_params *params) {
	struct cuttle_plan *plan;
	assert_int_equal(cuttle_plan_make(model, params, &plan, NULL), CUTTLE_OK);
	return plan;
}

/* ---- what a row shows ------------------------------------------------------------------------ */

/* The tokens of this model are bytes, so that a context can be read. */
static const char *read_row(const struct cuttle_plan *plan, const char *const *texts, size_t count,
                            size_t limit) {
	static char shown[MOST];
	struct prompt_shot shots[SHOTS + 1];
	int32_t *ids = calloc(prompt_row_capacity(plan->prompts, count, limit), sizeof *ids);
	for (size_t i = 0; i < count; i++)
		shots[i] = (struct prompt_shot){texts[i], texts[i] ? strlen(texts[i]) : 0};
	const size_t tokens = prompt_private(plan->model, plan->prompts, shots, count, limit, ids);
	assert_true(tokens < MOST);
	for (size_t i = 0; i < tokens; i++) shown[i] = (char)ids[i];
	shown[tokens] = 0;
	free(ids);
	return shown;
}

static void one_behind_the_other(void **state) {
	(void)state;
	static const char *const texts[] = {"a cod", " a ray\n", "an eel"};
	static const char *const headings[] = {"sea: deep"};
	struct cuttle_plan_params params = shots_params(SHOTS);
	params.kind = "note";
	struct cuttle_plan *plan = plan_of(&params);
	assert_string_equal(read_row(plan, texts, 3, ROOM),
	                    "A collection of notes.\n\n### note\na cod\n\n### note\na ray\n\n### "
	                    "note\nan eel\n\n### note\n");
	assert_string_equal(read_row(plan, texts, 1, ROOM),
	                    "A collection of notes.\n\n### note\na cod\n\n### note\n");
	assert_non_null(strstr(cuttle_plan_template(plan, 0),
	                       "### note\n{reference}\n\n### note\n{reference}\n\n### note\n"));
	cuttle_plan_free(&plan);
	params.headings = headings;
	params.heading_count = 1;
	plan = plan_of(&params);
	assert_string_equal(
	    read_row(plan, texts, 2, ROOM),
	    "A collection of notes.\n\n### note\nsea: deep\na cod\n\n### note\nsea: "
	    "deep\na ray\n\n### note\nsea: deep\n");
	cuttle_plan_free(&plan);
	params = shots_params(SHOTS);
	params.form = CUTTLE_CUSTOM;
	params.prompt_public = "New:";
	params.prompt_private = "Like {reference}. New:";
	plan = plan_of(&params);
	assert_string_equal(read_row(plan, texts, 2, ROOM), "Like a cod\n\na ray. New:");
	cuttle_plan_free(&plan);
	params.form = CUTTLE_INSTRUCT;
	params.chat_format = "chatml";
	plan = plan_of(&params);
	assert_non_null(
	    strstr(cuttle_plan_template(plan, 0),
	           "This is a text:\n\n{reference}\n\nThis is a text:\n\n{reference}\n\n"
	           "Write one new text like these. Write nothing else."));
	cuttle_plan_free(&plan);
	// One shot is what there was before there were shots.
	params.shots = 1;
	plan = plan_of(&params);
	assert_non_null(strstr(cuttle_plan_template(plan, 0),
	                       "This is a text:\n\n{reference}\n\nWrite one new text like it."));
	cuttle_plan_free(&plan);
}

/* The references and what stands between them have `limit` tokens together. */
static void cut_to_the_room(void **state) {
	(void)state;
	static const char *const texts[] = {"abcdefgh", "ijklmnop", "qr"};
	struct cuttle_plan_params params = shots_params(SHOTS);
	params.form = CUTTLE_CUSTOM;
	params.prompt_public = "p";
	params.prompt_private = "<{reference}>";
	struct cuttle_plan *plan = plan_of(&params);
	assert_string_equal(read_row(plan, texts, 3, 22), "<abcdefgh\n\nijklmnop\n\nqr>");
	assert_string_equal(read_row(plan, texts, 3, 21), "<abcdefgh\n\nijklmnop\n\nq>");
	// There is no middle without a reference behind it.
	assert_string_equal(read_row(plan, texts, 3, 20), "<abcdefgh\n\nijklmnop>");
	assert_string_equal(read_row(plan, texts, 3, 12), "<abcdefgh\n\nij>");
	assert_string_equal(read_row(plan, texts, 3, 3), "<abc>");
	cuttle_plan_free(&plan);
}

/* A null one takes its row with it, wherever it stands, and shown or not. */
static void a_null_nulls_its_row(void **state) {
	(void)state;
	static const char *const nulls[] = {NULL, "", " \n", "\xff"};
	struct cuttle_plan_params params = shots_params(SHOTS);
	struct cuttle_plan *plan = plan_of(&params);
	for (size_t limit = 1; limit <= ROOM; limit += 21)
		for (size_t place = 0; place < 3; place++)
			for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++) {
				const char *texts[] = {"a cod", "a ray", "an eel"};
				assert_string_not_equal(read_row(plan, texts, 3, limit), "");
				texts[place] = nulls[i];
				assert_string_equal(read_row(plan, texts, 3, limit), "");
			}
	cuttle_plan_free(&plan);
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* B rows cost what they cost, whatever stands in them. */
static void shots_cost_nothing(void **state) {
	(void)state;
	const struct cuttle_lots lots = {.records = 90, .batches = 30, .used = TEXTS};
	for (int with_lots = 0; with_lots < 2; with_lots++) {
		struct cuttle_guarantee one, several;
		for (uint32_t shots = 1; shots <= 5; shots += 4) {
			struct cuttle_plan_params params = shots_params(shots);
			params.lots = with_lots ? &lots : NULL;
			params.lot_count = (size_t)with_lots;
			struct cuttle_plan *plan = plan_of(&params);
			cuttle_plan_describe(plan, shots == 1 ? &one : &several);
			cuttle_plan_free(&plan);
		}
		assert_int_equal(one.clip_fixed, several.clip_fixed);
		assert_int_equal(one.fraction_bits, several.fraction_bits);
		assert_true(one.epsilon == several.epsilon && one.rho == several.rho &&
		            one.epsilon_exact == several.epsilon_exact &&
		            one.epsilon_if_known == several.epsilon_if_known);
		assert_int_equal(one.places, several.places);
		assert_int_equal(cuttle_guarantee_references(&one), BATCH);
		assert_int_equal(cuttle_guarantee_references(&several), 5 * BATCH);
		assert_int_equal(cuttle_guarantee_asked(&several), 5 * several.places);
	}
}

static void refused_plans(void **state) {
	(void)state;
	struct cuttle_plan *plan;
	struct cuttle_error error;
	const struct cuttle_histogram histogram = {.scale = 9, .clusters = 2, .texts = TEXTS};
	const struct cuttle_lots lots = {.records = 90, .batches = 30, .used = TEXTS + 1};
	struct cuttle_plan_params params = shots_params(0);
	assert_int_equal(cuttle_plan_make(model, &params, &plan, &error), CUTTLE_USAGE);
	assert_string_equal(error.message, "0 shots are outside 1..64");
	params = shots_params(CUTTLE_MOST_SHOTS + 1);
	assert_int_equal(cuttle_plan_make(model, &params, &plan, &error), CUTTLE_USAGE);
	params = shots_params(SHOTS);
	params.histogram = &histogram;
	params.lots = &lots;
	params.lot_count = 1;
	assert_int_equal(cuttle_plan_make(model, &params, &plan, &error), CUTTLE_USAGE);
	assert_string_equal(error.message, "private clusters and shots exclude each other");
}

/* ---- jobs ------------------------------------------------------------------------------------ */

struct shots_job {
	size_t null;     /* the reference that is null; SIZE_MAX = none */
	size_t replaced; /* the one that says something else; SIZE_MAX = none */
	size_t asked;    /* so many were given, in order */
	int32_t tokens[TEXTS][TOKENS];
};

static void give_shot(void *user, size_t index, const char **text, size_t *size) {
	static char words[TEXTS * BATCH * SHOTS][32];
	struct shots_job *job = user;
	assert_int_equal(index, job->asked++);
	assert_true(index < TEXTS * BATCH * SHOTS);
	(void)snprintf(words[index], sizeof *words, "%s number %zu",
	               index == job->replaced ? "a whale" : "one fish", index);
	*text = index == job->null ? NULL : words[index];
	*size = *text ? strlen(*text) : 0;
}

static int keep_shot_token(void *user, size_t text, uint32_t step, int32_t token) {
	((struct shots_job *)user)->tokens[text][step] = token;
	return 0;
}

static int take_shot_text(void *user, const struct cuttle_text *text) {
	(void)user, (void)text;
	return 0;
}

static struct shots_job run_shots(size_t null, size_t replaced) {
	struct cuttle_plan_params params = shots_params(SHOTS);
	params.epsilon = NAN;
	params.clip = 9; // so that each row is heard
	struct cuttle_plan *plan = plan_of(&params);
	struct shots_job kept = {.null = null, .replaced = replaced};
	struct cuttle_job job;
	cuttle_job_default(&job);
	job.texts = TEXTS;
	job.user = &kept;
	job.reference = give_shot;
	job.token = keep_shot_token;
	job.text = take_shot_text;
	assert_int_equal(cuttle_job_run(plan, &job, NULL), CUTTLE_OK);
	assert_int_equal(kept.asked, TEXTS * BATCH * SHOTS);
	cuttle_plan_free(&plan);
	return kept;
}

/* Row i of text t reads the references (t B + i) R to (t B + i) R + R - 1. So which of them is
 * null, and what the others then say, makes no difference. Each one that is not is heard. */
static void rows_are_null_whole(void **state) {
	(void)state;
	const struct shots_job all = run_shots(SIZE_MAX, SIZE_MAX);
	for (size_t row = 0; row < TEXTS * BATCH; row++) {
		const size_t first = row * SHOTS;
		const struct shots_job one = run_shots(first, SIZE_MAX),
		                       other = run_shots(first + 1, SIZE_MAX),
		                       said = run_shots(first, first + 1),
		                       heard = run_shots(SIZE_MAX, first + 1);
		assert_memory_equal(one.tokens, other.tokens, sizeof one.tokens);
		assert_memory_equal(one.tokens, said.tokens, sizeof one.tokens);
		assert_memory_not_equal(one.tokens, all.tokens, sizeof one.tokens);
		assert_memory_not_equal(heard.tokens, all.tokens, sizeof one.tokens);
		// A row is one text's alone.
		const size_t another = row / BATCH ? 0 : 1;
		assert_memory_equal(one.tokens[another], all.tokens[another], sizeof *one.tokens);
	}
}

static int open_shots_model(void **state) {
	(void)state;
	model = tiny_model_open_healthy(1);
	return 0;
}

static int close_shots_model(void **state) {
	(void)state;
	cuttle_model_free(&model);
	return 0;
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_behind_the_other), cmocka_unit_test(cut_to_the_room),
	    cmocka_unit_test(a_null_nulls_its_row), cmocka_unit_test(shots_cost_nothing),
	    cmocka_unit_test(refused_plans),        cmocka_unit_test(rows_are_null_whole),
	};
	return cmocka_run_group_tests(tests, open_shots_model, close_shots_model);
}
