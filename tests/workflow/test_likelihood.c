// SPDX-License-Identifier: Apache-2.0
// Tests workflow/likelihood.c. It fails if the least is not that of an example behind the others,
// if an example's own category is not its heading, if a text is scored behind other examples than
// those of the run or without its bias, or if too few examples are accepted.
#include "workflow/likelihood.h"

#include "tests/support/tiny_model.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const char *const EXAMPLES[] = {"One.", "genre: sea\nTwo and two.", "Three, three.",
                                       "genre: hill\nFour", "Five \xc3\xa9"};
static const char *const HEADINGS[] = {"genre: se", "genre: sea"};
enum { COUNT = sizeof EXAMPLES / sizeof *EXAMPLES };

static struct cuttle_plan_params some_params(const char *const *examples, size_t count) {
	struct cuttle_plan_params params;
	cuttle_plan_params_default(&params);
	params.tokens = 10;
	params.context = 300;
	params.examples = examples;
	params.example_count = count;
	return params;
}

static double score(struct cuttle_scorer *scorer, const struct cuttle_plan_params *params,
                    const char *heading, const char *text) {
	double mean;
	assert_int_equal(
	    cuttle_scorer_mean(scorer, params, heading, text, strlen(text), &mean, NULL),
	    CUTTLE_OK);
	return mean;
}

static enum cuttle_status open_likelihood(struct likelihood *likelihood, struct cuttle_model *model,
                                          const struct cuttle_plan_params *params, size_t headings,
                                          size_t per_text) {
	const struct likelihood_examples examples = {params->examples, params->example_count,
	                                             per_text, HEADINGS, headings};
	return likelihood_open(likelihood, model, params, NULL, &examples, NULL);
}

static void the_least_is_of_the_examples(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_plan_params params = some_params(EXAMPLES, COUNT);
	struct cuttle_scorer *scorer;
	struct likelihood likelihood;
	double least = INFINITY, mean;
	assert_int_equal(cuttle_scorer_make(model, 300, &scorer, NULL), CUTTLE_OK);
	assert_int_equal(open_likelihood(&likelihood, model, &params, 2, 0), CUTTLE_OK);
	for (size_t i = 0; i < COUNT; i++) {
		const char *others[COUNT];
		size_t left = 0;
		for (size_t j = 0; j < COUNT; j++)
			if (j != i) others[left++] = EXAMPLES[j];
		const struct cuttle_plan_params without = some_params(others, left);
		mean = i == 1 ? score(scorer, &without, HEADINGS[1], "Two and two.")
		              : score(scorer, &without, NULL, EXAMPLES[i]);
		if (mean < least) least = mean;
	}
	assert_true(likelihood.scale.least == least);
	// A text stands behind all examples, under its own heading.
	for (size_t i = 0; i < 3; i++) {
		likelihood.heading = i ? HEADINGS[i - 1] : NULL;
		assert_int_equal(
		    likelihood.scale.mean(likelihood.scale.user, "Six", 3, &mean, NULL), CUTTLE_OK);
		assert_true(mean == score(scorer, &params, likelihood.heading, "Six"));
	}
	assert_true(likelihood.scale.least == least);
	likelihood_close(&likelihood);
	cuttle_scorer_free(&scorer);
	cuttle_model_free(&model);
}

/* Each behind two others: of its own category first. Only the second one has a category. */
static void examples_have_few_others(void **state) {
	(void)state;
	// Of no category are 0, 2, 3 and 4. Example 1 is alone, so others fill up.
	static const size_t shown[COUNT][2] = {{2, 3}, {0, 2}, {0, 3}, {0, 2}, {0, 2}};
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_plan_params params = some_params(EXAMPLES, COUNT);
	struct cuttle_scorer *scorer;
	struct likelihood likelihood;
	double least = INFINITY;
	assert_int_equal(cuttle_scorer_make(model, 300, &scorer, NULL), CUTTLE_OK);
	assert_int_equal(open_likelihood(&likelihood, model, &params, 2, 2), CUTTLE_OK);
	for (size_t i = 0; i < COUNT; i++) {
		const char *const others[] = {EXAMPLES[shown[i][0]], EXAMPLES[shown[i][1]]};
		const struct cuttle_plan_params with = some_params(others, 2);
		const double mean = i == 1 ? score(scorer, &with, HEADINGS[1], "Two and two.")
		                           : score(scorer, &with, NULL, EXAMPLES[i]);
		if (mean < least) least = mean;
	}
	assert_true(likelihood.scale.least == least);
	likelihood_close(&likelihood);
	cuttle_scorer_free(&scorer);
	cuttle_model_free(&model);
}

/* What a bias makes likelier is not dropped as unlikely: examples and texts are scored with it. */
static void a_bias_is_scored_with(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	const struct cuttle_plan_params params = some_params(EXAMPLES, COUNT);
	const struct likelihood_examples examples = {EXAMPLES, COUNT, 0, NULL, 0};
	struct cuttle_model_info info;
	struct cuttle_scorer *scorer;
	struct likelihood likelihood, plain;
	double mean, bias[256];
	cuttle_model_describe(model, &info);
	assert_true(info.width <= sizeof bias / sizeof *bias);
	for (size_t i = 0; i < info.width; i++) bias[i] = i % 3 ? 4 : -4;
	assert_int_equal(cuttle_scorer_make(model, 300, &scorer, NULL), CUTTLE_OK);
	assert_int_equal(cuttle_scorer_bias(scorer, bias, NULL), CUTTLE_OK);
	assert_int_equal(likelihood_open(&likelihood, model, &params, bias, &examples, NULL),
	                 CUTTLE_OK);
	assert_int_equal(likelihood_open(&plain, model, &params, NULL, &examples, NULL), CUTTLE_OK);
	assert_true(likelihood.scale.least != plain.scale.least);
	assert_int_equal(likelihood.scale.mean(likelihood.scale.user, "Six", 3, &mean, NULL),
	                 CUTTLE_OK);
	assert_true(mean == score(scorer, &params, NULL, "Six"));
	likelihood_close(&likelihood);
	likelihood_close(&plain);
	cuttle_scorer_free(&scorer);
	cuttle_model_free(&model);
}

static void too_few_examples(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct likelihood likelihood;
	const char *const blank[] = {"One.", "genre: sea\n", "Three.", "Four.", "Five."};
	struct cuttle_plan_params params = some_params(EXAMPLES, COUNT - 1);
	assert_int_equal(open_likelihood(&likelihood, model, &params, 0, 0), CUTTLE_USAGE);
	likelihood_close(&likelihood);
	// An example without a token tells nothing, so it does not count.
	params = some_params(blank, COUNT);
	assert_int_equal(open_likelihood(&likelihood, model, &params, 2, 0), CUTTLE_USAGE);
	likelihood_close(&likelihood);
	assert_int_equal(open_likelihood(&likelihood, model, &params, 1, 0), CUTTLE_OK);
	likelihood_close(&likelihood);
	cuttle_model_free(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_least_is_of_the_examples),
	    cmocka_unit_test(examples_have_few_others),
	    cmocka_unit_test(a_bias_is_scored_with),
	    cmocka_unit_test(too_few_examples),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
