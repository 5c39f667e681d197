// SPDX-License-Identifier: Apache-2.0
// Tests convert/ and the engine together, against golden/transformers.txt. Folders as transformers
// saves them, in F32, F16 and BF16, are converted to GGUF. The weights follow from the tensors'
// names, in the test as in golden/make_transformers.py.
// It fails if a converted model does not score 256 tokens as transformers does.
#include "convert/convert.h"
#include "engine/cuttle.h"
#include "tests/support/hf_folder.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { TOKENS = 256, WORDS = 258, MOST_TENSORS = 96, LINE = 4096 };

struct golden {
	char name[32], config[LINE];
	struct hf_tensor tensors[MOST_TENSORS];
	size_t count;
	double logprobs[TOKENS];
};

static uint64_t state_of(const char *name) { // FNV-1a
	uint64_t state = 0xcbf29ce484222325u;
	for (; *name; name++) state = (state ^ (unsigned char)*name) * 0x100000001b3u;
	return state;
}

static bool ends_in(const char *name, const char *end) {
	return strlen(name) >= strlen(end) && !strcmp(name + strlen(name) - strlen(end), end);
}

/* from_one: norms are kept as differences to 1. */
static void fill(struct hf_tensor *tensor, bool from_one) {
	uint64_t state = state_of(tensor->name);
	const size_t count = (tensor->rows ? tensor->rows : 1) * tensor->row;
	const bool end = strstr(tensor->name, "embed_tokens") || strstr(tensor->name, "lm_head");
	tensor->values = malloc(count * sizeof *tensor->values);
	assert_non_null(tensor->values);
	for (size_t i = 0; i < count; i++) {
		const int byte = (int)(tiny_random(&state) >> 56);
		if (strstr(tensor->name, "conv.conv")) tensor->values[i] = (float)(byte - 128) / 64;
		else if (tensor->rows) tensor->values[i] = (float)(byte - 128) / (end ? 256 : 1024);
		else if (ends_in(tensor->name, ".bias"))
			tensor->values[i] = (float)(byte - 128) / 512;
		else
			tensor->values[i] =
			    (float)(64 + byte / 2) /
			        (strcmp(tensor->name, "model.norm.weight") != 0 &&
			                 strcmp(tensor->name, "model.embedding_norm.weight") != 0
			             ? 128
			             : 256) -
			    (from_one ? 1.0f : 0.0f);
	}
}

/* The next model of the file; false at its end. */
static bool next(FILE *file, struct golden *golden) {
	do {
		if (!fgets(golden->config, sizeof golden->config, file)) return false;
	} while (*golden->config == '#');
	assert_int_equal(sscanf(golden->config, "model %31s %zu", golden->name, &golden->count), 2);
	assert_in_range(golden->count, 1, MOST_TENSORS);
	assert_non_null(fgets(golden->config, sizeof golden->config, file));
	for (size_t i = 0; i < golden->count; i++) {
		struct hf_tensor *tensor = &golden->tensors[i];
		assert_int_equal(
		    fscanf(file, "%127s %zu %zu ", tensor->name, &tensor->rows, &tensor->row), 3);
		fill(tensor, strstr(golden->name, "gemma"));
	}
	for (size_t i = 0; i + 1 < TOKENS; i++)
		assert_int_equal(fscanf(file, "%lf ", &golden->logprobs[i]), 1);
	return true;
}

static void score(const char *path, double *logprobs) {
	struct cuttle_model *model;
	struct cuttle_error error = {""};
	int32_t ids[TOKENS], top[TOKENS];
	uint64_t state = state_of("ids");
	for (size_t i = 0; i < TOKENS; i++) ids[i] = (int32_t)(tiny_random(&state) >> 56) % WORDS;
	if (cuttle_model_open(path, NULL, &model, &error)) fail_msg("%s", error.message);
	assert_int_equal(cuttle_score(model, ids, TOKENS, logprobs, top, NULL), CUTTLE_OK);
	cuttle_model_free(&model);
}

/* All these types hold the weights exactly, so that only the first result needs comparing with
 * transformers. */
static void check(const struct golden *golden) {
	static const enum weight_name types[] = {WEIGHT_F32, WEIGHT_F16, WEIGHT_BF16};
	char folder[64], output[80];
	double first[TOKENS], logprobs[TOKENS], worst = 0;
	hf_folder_make(folder);
	snprintf(output, sizeof output, "%s/m.gguf", folder);
	hf_folder_tokenizer(folder);
	FILE *config = hf_folder_file(folder, "config.json");
	assert_true(fputs(golden->config, config) >= 0 && !fclose(config));
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		struct cuttle_error error = {""};
		hf_folder_weights(folder, types[i], golden->tensors, golden->count);
		// Stored as each of them, written as each other.
		if (convert(folder, output, weight_type(types[(i + 1) % 3]),
		            &(struct rewrite_report){0}, &error))
			fail_msg("%s: %s", golden->name, error.message);
		score(output, i ? logprobs : first);
		if (i) assert_memory_equal(logprobs, first, (TOKENS - 1) * sizeof *first);
	}
	for (size_t t = 0; t + 1 < TOKENS; t++)
		worst = fmax(worst, fabs(first[t] - golden->logprobs[t]));
	print_message("%s: largest difference %.1e\n", golden->name, worst);
	assert_true(worst < 1e-3);
	hf_folder_remove(folder);
}

static void test_transformers(void **state) {
	(void)state;
	static struct golden golden;
	size_t models = 0;
	FILE *file = fopen("tests/golden/transformers.txt", "r");
	assert_non_null(file);
	for (; next(file, &golden); models++) {
		check(&golden);
		for (size_t i = 0; i < golden.count; i++) free(golden.tensors[i].values);
	}
	assert_int_equal(models, 15);
	fclose(file);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_transformers)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
