// SPDX-License-Identifier: Apache-2.0
// Tests which examples the prompts under each heading show. It fails if a prompt shows one that was
// not chosen for its heading, lacks one that was, or shows them in another order; or if public and
// private prompt differ in them.
#include "engine/cuttle.h"
#include "tests/support/tiny_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static const char *const examples[] = {"ONE", "TWO", "SIX"};
static const char *const headings[] = {"cluster: a", "cluster: b"};

/* The words of the prompts under a heading. The plan is freed by the caller. */
static struct cuttle_plan *make_plan(struct cuttle_model *model, const size_t *shown,
                                     size_t shown_count) {
	struct cuttle_plan_params params;
	struct cuttle_plan *plan;
	struct cuttle_error error = {""};
	cuttle_plan_params_default(&params);
	params.epsilon = 3;
	params.tokens = 8;
	params.examples = examples;
	params.example_count = 3;
	params.headings = headings;
	params.heading_count = 2;
	params.shown = shown;
	params.shown_count = shown_count;
	if (cuttle_plan_make(model, &params, &plan, &error)) fail_msg("%s", error.message);
	return plan;
}

static size_t count_word(const char *text, const char *word) {
	size_t count = 0;
	for (; (text = strstr(text, word)); text++) count++;
	return count;
}

static void test_shown(void **state) {
	(void)state;
	static const size_t shown[] = {0, 2, 1, 0};
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_plan *plan = make_plan(model, NULL, 0);
	const size_t prompts = count_word(cuttle_plan_template(plan, 0), "ONE");
	assert_true(prompts >= 1);
	for (size_t i = 0; i < 2; i++)
		for (size_t e = 0; e < 3; e++)
			assert_int_equal(count_word(cuttle_plan_template(plan, i), examples[e]),
			                 prompts);
	cuttle_plan_free(&plan);
	plan = make_plan(model, shown, 2);
	for (size_t i = 0; i < 2; i++) {
		const char *text = cuttle_plan_template(plan, i);
		const char *first = examples[shown[2 * i]], *second = examples[shown[2 * i + 1]];
		// Both prompts are in the template, so each example stands there as often as they.
		for (size_t e = 0; e < 3; e++)
			assert_int_equal(count_word(text, examples[e]),
			                 e == shown[2 * i] || e == shown[2 * i + 1] ? prompts : 0);
		assert_true(strstr(text, first) < strstr(text, second));
	}
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_shown)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
