// SPDX-License-Identifier: Apache-2.0
// Tests cuttle_score against golden/prose_scores.txt: Hugging Face transformers in float64 over
// the same dequantised weights. The bounds leave room for int8 activations and nothing else;
// golden/README.md says what an ideal int8 engine reaches. A second golden file, type_scores.txt,
// has the tiny model in each weight type, in float64 with int8 activations.
// It fails if log-probabilities are off by more than those bounds, or if a token outside the
// vocabulary is scored. It skips what needs a model that is not there.
#include "engine/cuttle.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <jansson.h>

#define PROSE "tests/golden/prose.jsonl"
#define SCORES "tests/golden/prose_scores.txt"
#define LONGEST 600
enum { BRIEF = 48 }; /* tokens of a text, with CUTTLE_TEST_SHORT=1 */

struct golden {
	char id[64];
	size_t count;
	int32_t ids[LONGEST], top1[LONGEST];
	double logprobs[LONGEST];
};

struct tally {
	size_t tokens, same_top1;
	double golden_sum, sum, distance;
};

/* The next text of the golden file; false at its end. Anything malformed fails the test. */
static bool golden_next(FILE *file, struct golden *golden) {
	int first;
	while ((first = fgetc(file)) == '#')
		while ((first = fgetc(file)) != '\n') assert_int_not_equal(first, EOF);
	if (first == EOF) return false;
	assert_int_equal(ungetc(first, file), first);
	assert_int_equal(fscanf(file, "text %63s %zu ", golden->id, &golden->count), 2);
	assert_in_range(golden->count, 2, LONGEST);
	for (size_t i = 0; i < golden->count; i++)
		assert_int_equal(fscanf(file, "%d ", &golden->ids[i]), 1);
	for (size_t i = 0; i + 1 < golden->count; i++)
		assert_int_equal(fscanf(file, "%lf ", &golden->logprobs[i]), 1);
	for (size_t i = 0; i + 1 < golden->count; i++)
		assert_int_equal(fscanf(file, "%d ", &golden->top1[i]), 1);
	return true;
}

static void ok(enum cuttle_status status, const struct cuttle_error *error) {
	if (status != CUTTLE_OK) fail_msg("status %d: %s", (int)status, error->message);
}

static void assert_same_tokens(const struct cuttle_model *model, const char *text,
                               const struct golden *golden) {
	struct cuttle_error error = {""};
	size_t size = strlen(text), capacity = cuttle_tokens_bound(size), count = 0;
	int32_t *ids = malloc(capacity * sizeof *ids);
	assert_non_null(ids);
	ok(cuttle_tokenize(model, text, size, false, ids, capacity, &count, &error), &error);
	for (size_t i = 0; i < count && i < golden->count; i++)
		if (ids[i] != golden->ids[i])
			fail_msg("%s: token %zu is %d, golden %d", golden->id, i, (int)ids[i],
			         (int)golden->ids[i]);
	assert_int_equal(count, golden->count);
	free(ids);
}

static void score_one(struct cuttle_model *model, const struct golden *golden,
                      struct tally *tally) {
	struct cuttle_error error = {""};
	double logprobs[LONGEST];
	int32_t top1[LONGEST];
	// A token's score depends on those before it alone, so the first ones can stand for all.
	const size_t count = briefly() && golden->count > BRIEF ? BRIEF : golden->count;
	ok(cuttle_score(model, golden->ids, count, logprobs, top1, &error), &error);
	for (size_t i = 0; i + 1 < count; i++) {
		assert_true(isfinite(logprobs[i]));
		assert_true(logprobs[i] <= 0.0);
		tally->tokens++;
		tally->same_top1 += top1[i] == golden->top1[i];
		tally->golden_sum += golden->logprobs[i];
		tally->sum += logprobs[i];
		tally->distance += fabs(logprobs[i] - golden->logprobs[i]);
	}
}

static void test_prose_matches_golden(void **state) {
	struct cuttle_model *model = *state;
	if (!model) skip();
	FILE *prose = fopen(PROSE, "r"), *scores = fopen(SCORES, "r");
	assert_non_null(prose);
	assert_non_null(scores);
	struct golden golden;
	struct tally tally = {0};
	while (golden_next(scores, &golden)) {
		json_error_t where;
		json_t *line = json_loadf(prose, JSON_DISABLE_EOF_CHECK, &where);
		assert_non_null(line);
		assert_string_equal(json_string_value(json_object_get(line, "id")), golden.id);
		assert_same_tokens(model, json_string_value(json_object_get(line, "text")),
		                   &golden);
		score_one(model, &golden, &tally);
		json_decref(line);
	}
	fclose(prose);
	fclose(scores);
	double tokens = (double)tally.tokens;
	double ratio = exp((tally.golden_sum - tally.sum) / tokens),
	       distance = tally.distance / tokens;
	double agreement = (double)tally.same_top1 / tokens;
	print_message(
	    "%zu tokens on %s: perplexity x %.5f, mean |d logprob| %.4f, top-1 agreement %.2f %%\n",
	    tally.tokens, cuttle_isa(), ratio, distance, 100.0 * agreement);
	assert_true(tally.tokens >= (briefly() ? 350 : 2000));
	assert_true(fabs(ratio - 1.0) <= 0.015);
	assert_true(distance <= 0.08);
	assert_true(agreement >= 0.955);
}

static void test_score_refuses_bad_tokens(void **state) {
	struct cuttle_model *model = *state;
	if (!model) skip();
	struct cuttle_model_info info;
	cuttle_model_describe(model, &info);
	int32_t ids[2] = {0, (int32_t)info.vocab}, top1[2];
	double logprobs[2];
	assert_int_equal(cuttle_score(model, ids, 2, logprobs, top1, NULL), CUTTLE_USAGE);
	ids[1] = -1;
	assert_int_equal(cuttle_score(model, ids, 2, logprobs, top1, NULL), CUTTLE_USAGE);
	assert_int_equal(cuttle_score(model, ids, 1, logprobs, top1, NULL), CUTTLE_USAGE);
}

/* Every path from a type's blocks to a probability. Here both sides round activations, so that what
 * is left is luck at the steps. */
static void test_types_match_golden(void **state) {
	(void)state;
	enum { TOKENS = 128, NAME = 16 };
	FILE *file = fopen("tests/golden/type_scores.txt", "r");
	assert_non_null(file);
	char name[NAME];
	int32_t ids[TOKENS], top1[TOKENS];
	size_t types = 0;
	for (int32_t i = 0; i < TOKENS; i++) ids[i] = (i * i * 7 + i * 37) % 251;
	assert_int_equal(fscanf(file, "#%*[^\n] "), 0);
	for (; fscanf(file, "%15s ", name) == 1; types++) {
		double logprobs[TOKENS], golden, sum = 0, distance = 0;
		uint32_t type = 0;
		while (type < GGUF_TENSOR_TYPES &&
		       (!gguf_type_name(type) || strcmp(gguf_type_name(type), name)))
			type++;
		assert_in_range(type, 0, GGUF_TENSOR_TYPES - 1);
		uint64_t block, block_bytes;
		size_t size;
		assert_true(gguf_tensor_block(type, &block, &block_bytes));
		uint8_t *bytes = tiny_model_of_width(
		    (enum gguf_tensor_type)type, block > 32 ? TINY_WIDE_WIDTH : TINY_WIDTH, &size);
		struct cuttle_model *model = tiny_model_open_bytes(bytes, size, 1);
		assert_int_equal(cuttle_score(model, ids, TOKENS, logprobs, top1, NULL), CUTTLE_OK);
		cuttle_model_free(&model);
		for (size_t i = 0; i + 1 < TOKENS; i++) {
			assert_int_equal(fscanf(file, "%lf ", &golden), 1);
			sum += golden - logprobs[i];
			distance += fabs(golden - logprobs[i]);
		}
		const double ratio = exp(sum / (TOKENS - 1));
		distance /= TOKENS - 1;
		print_message("%s: perplexity x %.5f, mean |d logprob| %.4f\n", name, ratio,
		              distance);
		assert_true(fabs(ratio - 1.0) <= 0.005);
	}
	assert_int_equal(types, 15);
	fclose(file);
}

static int open_model(void **state) {
	const char *path = getenv("CUTTLE_MODEL");
	if (!path || !*path) path = "models/SmolLM2-135M-Instruct.Q4_1.gguf";
	*state = NULL;
	if (access(path, R_OK) != 0) {
		print_message("skipped: no model at %s (set CUTTLE_MODEL)\n", path);
		return 0;
	}
	struct cuttle_error error = {""};
	struct cuttle_model *model = NULL;
	ok(cuttle_model_open(path, NULL, &model, &error), &error);
	*state = model;
	return 0;
}

static int close_model(void **state) {
	struct cuttle_model *model = *state;
	cuttle_model_free(&model);
	return 0;
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_prose_matches_golden),
	    cmocka_unit_test(test_score_refuses_bad_tokens),
	    cmocka_unit_test(test_types_match_golden),
	};
	return cmocka_run_group_tests_name("score", tests, open_model, close_model);
}
