// SPDX-License-Identifier: Apache-2.0
// Tests engine/model/: opening a model file as a whole, hostile or only wrong. It fails if a bad
// file crashes the program, is not refused with one line, or gives a model of a wrong shape.
#include "engine/model/model.h"
#include "engine/model/rope.h"
#include "tests/support/files.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Builds a model from a private copy, as cuttle_model_open does. */
static enum cuttle_status build(const uint8_t *bytes, size_t size, struct cuttle_error *error) {
	struct region copy;
	assert_true(region_map(&copy, size, false));
	memcpy(copy.base, bytes, size);
	struct model model = {0};
	assert_int_equal(threads_new(1, &model.threads, NULL), CUTTLE_OK);
	const enum cuttle_status status =
	    model_build(&model, copy.base, &(struct gguf_part){size, size}, 1, NULL, error);
	model_release(&model);
	region_unmap(&copy, false);
	return status;
}

static void test_truncated_anywhere(void **state) {
	(void)state;
	size_t size;
	uint8_t *bytes = tiny_model_bytes(GGUF_TENSOR_Q4_0, GGUF_TENSOR_Q8_0, 1, &size);
	struct cuttle_error error = {""};
	assert_int_equal(build(bytes, size, &error), CUTTLE_OK);
	const size_t metadata = gguf_data_start(bytes, size);
	for (size_t cut = 1; cut < size; cut += cut < metadata ? 1 : 997) {
		error.message[0] = 0;
		assert_int_equal(build(bytes, cut, &error), CUTTLE_MODEL);
		assert_true(error.message[0] && !strchr(error.message, '\n'));
	}
	free(bytes);
}

static void test_flipped_bits(void **state) {
	(void)state;
	size_t size;
	uint8_t *bytes = tiny_model_bytes(GGUF_TENSOR_Q4_0, GGUF_TENSOR_Q8_0, 1, &size);
	const size_t metadata = gguf_data_start(bytes, size);
	for (size_t bit = 0; bit < 8 * metadata; bit += 3) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		const enum cuttle_status status = build(bytes, size, NULL);
		assert_true(status == CUTTLE_OK || status == CUTTLE_MODEL ||
		            status == CUTTLE_NOMEM);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	free(bytes);
}

/* Weights of all ones and random bytes: whatever they say, scoring ends with numbers or with a
 * status. */
static void test_hostile_weights(void **state) {
	(void)state;
	for (int way = 0; way < 3; way++) {
		size_t size;
		uint8_t *bytes = tiny_model_bytes(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1, &size);
		const size_t metadata = gguf_data_start(bytes, size);
		uint64_t random = 5;
		for (size_t i = metadata; i < size; i++)
			bytes[i] = way == 0 ? 0xff : way == 1 ? 0 : (uint8_t)tiny_random(&random);
		char path[] = "/tmp/cuttle-hostile-XXXXXX";
		files_put_new(path, bytes, size);
		struct cuttle_model *model;
		assert_int_equal(cuttle_model_open(path, NULL, &model, NULL), CUTTLE_OK);
		int32_t ids[40], top1[40];
		double logprobs[40];
		for (int i = 0; i < 40; i++) ids[i] = i * 5;
		const enum cuttle_status status =
		    cuttle_score(model, ids, 40, logprobs, top1, NULL);
		assert_true(status == (way == 1 ? CUTTLE_OK : CUTTLE_MODEL));
		cuttle_model_free(&model);
		unlink(path);
		free(bytes);
	}
}

/* The key's first value is replaced in the bytes: enough for the u32 keys of the tiny model. */
static void assert_key_refused(const char *key, uint32_t value) {
	size_t size;
	uint8_t *bytes = tiny_model_bytes(GGUF_TENSOR_Q4_0, GGUF_TENSOR_Q8_0, 1, &size);
	uint8_t *found = memmem(bytes, size, key, strlen(key));
	assert_non_null(found);
	memcpy(found + strlen(key) + 4, &value, sizeof value);
	struct cuttle_error error = {""};
	if (build(bytes, size, &error) != CUTTLE_MODEL) fail_msg("%s = %u was taken", key, value);
	free(bytes);
}

static void test_hyperparameters(void **state) {
	(void)state;
	const uint32_t wrong[] = {0, 1, 3, 7, 33, 100, 1u << 31, UINT32_MAX};
	const char *const keys[] = {"llama.block_count", "llama.embedding_length",
	                            "llama.feed_forward_length", "llama.attention.head_count",
	                            "llama.attention.head_count_kv"};
	for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
		for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
			assert_key_refused(keys[k], wrong[i]);
	assert_key_refused("llama.context_length", 0);
	for (size_t i = 0; i < 3; i++) {
		const float epsilon[] = {0.0f, NAN, -1.0f};
		uint32_t bits;
		memcpy(&bits, &epsilon[i], sizeof bits);
		assert_key_refused("llama.attention.layer_norm_rms_epsilon", bits);
	}
}

static void test_missing_and_unknown(void **state) {
	(void)state;
	size_t size;
	uint8_t *bytes = tiny_model_bytes(GGUF_TENSOR_Q4_0, GGUF_TENSOR_Q8_0, 1, &size);
	const char *const names[] = {"blk.1.ffn_up.weight", "token_embd.weight",
	                             "output_norm.weight", "blk.0.attn_q.weight"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		uint8_t *found = memmem(bytes, size, names[i], strlen(names[i]));
		assert_non_null(found);
		found[4] ^= 1; // one tensor is missing, and one has a name nobody knows
		struct cuttle_error error = {""};
		assert_int_equal(build(bytes, size, &error), CUTTLE_MODEL);
		found[4] ^= 1;
	}
	free(bytes);
	struct cuttle_model *model;
	struct cuttle_error error = {""};
	assert_int_equal(cuttle_model_open("/nonexistent/model.gguf", NULL, &model, &error),
	                 CUTTLE_MODEL);
	assert_null(model);
	assert_int_equal(cuttle_model_open("/dev/null", NULL, &model, &error), CUTTLE_MODEL);
	assert_int_equal(cuttle_model_open("/tmp", NULL, &model, &error), CUTTLE_MODEL);
}

/* The factors of Llama 3.1 (factor 8) and 3.2 (32), as the converter writes them into rope_freqs:
 * low 1, high 4, trained on 8192. */
static void llama3_factors(double base, size_t rotated, double factor, float *factors) {
	for (size_t i = 0; i < rotated / 2; i++) {
		const double turns = 8192.0 * pow(base, -2.0 * (double)i / (double)rotated) /
		                     (2.0 * 3.14159265358979323846);
		const double smooth = (turns - 1.0) / (4.0 - 1.0);
		factors[i] = (float)(smooth <= 0.0   ? factor
		                     : smooth >= 1.0 ? 1.0
		                                     : 1.0 / ((1.0 - smooth) / factor + smooth));
	}
}

/* Plain, linear and llama3, over the whole of a long context: to 1e-6 asked for, to 1e-7 found. */
static void test_rope_angles(void **state) {
	(void)state;
	static const struct {
		double base, linear, llama3; /* llama3 0 = no factors */
		size_t rotated;
	} cases[] = {{10000, 1, 0, 128},  {100000, 1, 0, 64},  {500000, 1, 0, 128},
	             {1e6, 1, 0, 128},    {10000, 4, 0, 128},  {10000, 2.5, 0, 64},
	             {500000, 1, 8, 128}, {500000, 1, 32, 64}, {500000, 2, 32, 128},
	             {10000, 1, 0, 80}};
	double frequencies[64], worst = 0.0;
	float cos_sin[128], factors[64];
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		const double base = cases[c].base;
		const size_t rotated = cases[c].rotated;
		if (cases[c].llama3 > 0.0) llama3_factors(base, rotated, cases[c].llama3, factors);
		rope_frequencies(base, rotated, cases[c].llama3 > 0.0 ? factors : NULL,
		                 cases[c].linear, frequencies);
		for (size_t position = 0; position < 131072; position += 977) {
			rope_angles(position, frequencies, rotated, cos_sin);
			for (size_t i = 0; i < rotated / 2; i++) {
				double angle = (double)position *
				               pow(base, -2.0 * (double)i / (double)rotated) /
				               cases[c].linear;
				if (cases[c].llama3 > 0.0) angle /= (double)factors[i];
				worst = fmax(worst, fabs((double)cos_sin[2 * i] - cos(angle)));
				worst = fmax(worst, fabs((double)cos_sin[2 * i + 1] - sin(angle)));
			}
		}
	}
	print_message("largest difference of a cosine or sine: %.2g\n", worst);
	assert_true(worst < 1e-7);
	// Llama 3.1's own figures: the fastest pairs stay, the slowest turn eight times as slowly.
	llama3_factors(500000, 128, 8, factors);
	assert_true(factors[0] == 1.0f && factors[28] == 1.0f && factors[29] > 1.0f &&
	            factors[34] < 8.0f && factors[63] == 8.0f);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_truncated_anywhere),  cmocka_unit_test(test_flipped_bits),
	    cmocka_unit_test(test_hostile_weights),     cmocka_unit_test(test_hyperparameters),
	    cmocka_unit_test(test_missing_and_unknown), cmocka_unit_test(test_rope_angles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
