// SPDX-License-Identifier: Apache-2.0
// Tests that a hostile model file does no harm. Loaders of model files have gone wrong in the ways
// below, and each became a rule. Each rule is a test here, with files made for it, or stands
// elsewhere:
//
//    1  one bounded cursor, no partial object    rule_01, and every other
//    2  magic, version, truncation               rule_02
//    3  counts of keys and tensors               rule_03
//    4  lengths of keys, strings and names       rule_04
//    5  arrays                                   rule_05
//    6  duplicates, absent and mistyped keys     rule_06
//    7  alignment                                rule_07
//    8  tensors, and a file that shrinks         rule_08, test_gguf
//    9  shapes                                   rule_09
//   10  hyper-parameters                         rule_10
//   11  vocabulary                               rule_11
//   12  weights                                  rule_12
//   13  tokenising                               rule_13, test_vocab
//   14  chat template                            rule_14
//   15  safetensors                              rule_15, test_io_safetensors
//   16  split files                              rule_16
//   17  fuzzing in CI                            tests/fuzz, make fuzz
//
// It fails if a wrong file is accepted or refused without saying why. Two tests hold for any file:
// a changed bit anywhere in header and table does no harm (every_bit), and a file costs no more
// memory and time than its size allows (fat_files).
#include "engine/cuttle.h"
#include "engine/model/model.h"
#include "tests/support/files.h"
#include "tests/support/micro_model.h"
#include "tests/support/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t big[] = {UINT64_C(1) << 31, UINT64_C(1) << 62, UINT64_C(1) << 63, UINT64_MAX};
enum { BIG = sizeof big / sizeof *big };

/* Builds a model from a private copy of just the size, as cuttle_model_open does. */
static enum cuttle_status build(const uint8_t *bytes, size_t size, struct cuttle_error *error) {
	struct region copy;
	struct model model = {0};
	*error = (struct cuttle_error){""};
	assert_true(region_map(&copy, size, false));
	if (size) memcpy(copy.base, bytes, size);
	assert_int_equal(threads_new(1, &model.threads, NULL), CUTTLE_OK);
	const enum cuttle_status status =
	    model_build(&model, copy.base, &(struct gguf_part){size, size}, 1, NULL, error);
	model_release(&model);
	region_unmap(&copy, false);
	if (status) assert_true(error->message[0] && !strchr(error->message, '\n'));
	return status;
}

/* Frees the bytes. `message`: NULL when the file is right, else a part of the line it is refused
 * with. */
static void expect_bytes(uint8_t *bytes, size_t size, const char *message, const char *what) {
	struct cuttle_error error;
	const enum cuttle_status status = build(bytes, size, &error);
	free(bytes);
	if (status != (message ? CUTTLE_MODEL : CUTTLE_OK) ||
	    (message && !strstr(error.message, message)))
		fail_msg("%s: wanted '%s', got status %d '%s'", what, message ? message : "ok",
		         (int)status, error.message);
}

static void expect(struct gguf_writer *writer, const char *message, const char *what) {
	size_t size;
	uint8_t *bytes = gguf_writer_finish(&writer, &size);
	expect_bytes(bytes, size, message, what);
}

/* The micro model with `value` over what stands `distance` bytes behind the first occurrence of
 * `name`. */
static void expect_patched(const char *name, size_t distance, const void *value, size_t value_size,
                           const char *message) {
	size_t size;
	uint8_t *bytes = micro_model_bytes(MICRO_SPM, &size),
	        *place = memmem(bytes, size, name, strlen(name));
	assert_non_null(place);
	memcpy(place + strlen(name) + distance, value, value_size);
	expect_bytes(bytes, size, message, name);
}

/* The micro model with another value of a key. */
static void expect_u32(const char *key, uint32_t value, const char *message) {
	struct gguf_writer *writer = micro_model_begin(MICRO_SPM, key);
	gguf_write_u32(writer, key, value);
	expect(writer, message, key);
}

static void expect_f32(const char *key, float value, const char *message) {
	struct gguf_writer *writer = micro_model_begin(MICRO_SPM, key);
	gguf_write_f32(writer, key, value);
	expect(writer, message, key);
}

static char path[] = "/tmp/cuttle-hostile-XXXXXX";

static void rule_01_no_partial_object(void **state) {
	(void)state;
	size_t size;
	uint8_t *bytes = micro_model_bytes(MICRO_BPE, &size);
	for (size_t cut = 1; cut <= size; cut += 97) {
		struct cuttle_model *model = (struct cuttle_model *)1;
		struct cuttle_error error = {""};
		files_put(path, bytes, size - cut);
		assert_int_equal(cuttle_model_open(path, NULL, &model, &error), CUTTLE_MODEL);
		assert_null(model);
		assert_true(error.message[0]);
	}
	free(bytes);
}

static void rule_02_cut_at_every_byte(void **state) {
	(void)state;
	struct cuttle_error error;
	for (int tokenizer = MICRO_SPM; tokenizer <= MICRO_BPE; tokenizer++) {
		size_t size;
		uint8_t *bytes = micro_model_bytes((enum micro_tokenizer)tokenizer, &size);
		assert_int_equal(build(bytes, size, &error), CUTTLE_OK);
		for (size_t cut = 0; cut < size; cut++)
			if (build(bytes, cut, &error) != CUTTLE_MODEL)
				fail_msg("cut to %zu of %zu", cut, size);
		free(bytes);
	}
	static const uint32_t versions[] = {0, 1, 4, UINT32_MAX};
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
		expect_patched("GGUF", 0, &versions[i], 4, "version");
	expect_patched("GGUF", 0, &(uint32_t){0x03000000}, 4, "big-endian");
	expect_patched("GGU", 0, "f", 1, "not a GGUF");
}

static void rule_03_counts(void **state) {
	(void)state;
	static const uint64_t small[] = {0, 1};
	for (size_t at = 4; at <= 12; at += 8) {
		for (size_t i = 0; i < 2; i++) expect_patched("GGUF", at, &small[i], 8, "");
		for (size_t i = 0; i < BIG; i++)
			expect_patched("GGUF", at, &big[i], 8, "more keys or tensors");
	}
}

static void rule_04_lengths(void **state) {
	(void)state;
	static const uint64_t lengths[] = {0, 65536, 1 << 21};
	for (size_t i = 0; i < BIG; i++) {
		expect_patched("GGUF", 20, &big[i], 8, "key");                   // of a key
		expect_patched("general.architecture", 4, &big[i], 8, "string"); // of a value
		expect_patched("tokenizer.ggml.tokens", 16, &big[i], 8,
		               "string"); // of a string in an array
	}
	for (size_t i = 0; i < 3; i++) expect_patched("GGUF", 20, &lengths[i], 8, "key");
	for (size_t length = 65535; length <= 65536; length++) {
		char *key = calloc(length + 1, 1);
		assert_non_null(key);
		memset(key, 'k', length);
		struct gguf_writer *writer = micro_model_begin(MICRO_SPM, NULL);
		gguf_write_u32(writer, key, 1);
		expect(writer, length > 65535 ? "too long" : NULL, "a long key");
		free(key);
	}
	for (size_t length = 64; length <= 65; length++) {
		char name[66] = "";
		memset(name, 'n', length);
		struct gguf_writer *writer = micro_model_begin(MICRO_SPM, NULL);
		gguf_write_tensor(writer, name, GGUF_TENSOR_F32, 1, (const uint64_t[]){1},
		                  &(float){1}, 4);
		expect(writer, length > 64 ? "longer than 64" : "is not supported", "a long name");
	}
	static const struct gguf_string odd[] = {
	    {"a\0b", 3}, {"\xff\xfe", 2}, {"\x1b[31m\n", 6}, {"", 0}};
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		struct gguf_writer *writer = micro_model_begin(MICRO_SPM, NULL);
		gguf_write_string(writer, "general.name", odd[i]);
		expect(writer, NULL, "an odd name"); // shown with question marks
		writer = micro_model_begin(MICRO_SPM, "general.architecture");
		gguf_write_string(writer, "general.architecture", odd[i]);
		expect(writer, "architecture", "an odd architecture");
	}
	static const char *const keys[] = {"", "a b", "a\n", "\xc3\xa9"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		struct gguf_writer *writer = micro_model_begin(MICRO_SPM, NULL);
		gguf_write_u32(writer, keys[i], 1);
		expect(writer, "not printable", "an odd key");
	}
}

static void rule_05_arrays(void **state) {
	(void)state;
	static const uint32_t types[] = {GGUF_ARRAY, 13, 99, 1u << 31, UINT32_MAX};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		expect_patched("tokenizer.ggml.scores", 4, &types[i], 4, "array of arrays");
		if (types[i] != GGUF_ARRAY)
			expect_patched("tokenizer.ggml.scores", 0, &types[i], 4, "does not exist");
	}
	for (size_t i = 0; i < BIG; i++) {
		expect_patched("tokenizer.ggml.scores", 8, &big[i], 8, "longer than the file");
		expect_patched("tokenizer.ggml.tokens", 8, &big[i], 8, "longer than the file");
	}
	expect_patched("tokenizer.ggml.scores", 8, &(uint64_t){0}, 8, "");
	expect_patched("tokenizer.ggml.tokens", 8, &(uint64_t){0}, 8, "");
	// An array in an array in an array ...: refused at the first, not followed.
	enum { DEEP = 1 << 20 };
	uint8_t *nested = calloc(DEEP, 12);
	assert_non_null(nested);
	for (size_t i = 0; i < DEEP; i++) nested[12 * i] = GGUF_ARRAY, nested[12 * i + 4] = 1;
	struct gguf_writer *writer = micro_model_begin(MICRO_SPM, NULL);
	size_t size;
	gguf_write_array(writer, "nested", GGUF_U8, nested, (size_t)DEEP * 12);
	uint8_t *bytes = gguf_writer_finish(&writer, &size),
	        *place = memmem(bytes, size, "nested", 6);
	assert_non_null(place);
	memcpy(place + 6 + 4, &(uint32_t){GGUF_ARRAY}, 4);
	free(nested);
	expect_bytes(bytes, size, "array of arrays", "nested");
	writer = micro_model_begin(MICRO_SPM, NULL);
	gguf_write_array(writer, "empty", GGUF_U64, NULL, 0);
	gguf_write_strings(writer, "none", NULL, 0);
	expect(writer, NULL, "empty arrays");
}

static void rule_06_keys(void **state) {
	(void)state;
	static const char *const required[] = {"general.architecture",
	                                       "llama.block_count",
	                                       "llama.embedding_length",
	                                       "llama.feed_forward_length",
	                                       "llama.context_length",
	                                       "llama.attention.head_count",
	                                       "llama.attention.layer_norm_rms_epsilon",
	                                       "tokenizer.ggml.model",
	                                       "tokenizer.ggml.tokens",
	                                       "tokenizer.ggml.token_type",
	                                       "tokenizer.ggml.scores"};
	for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
		expect(micro_model_begin(MICRO_SPM, required[i]), required[i], "a missing key");
		for (int way = 0; way < 3; way++) { // a type that none of them has
			struct gguf_writer *writer = micro_model_begin(MICRO_SPM, required[i]);
			if (way == 0) gguf_write_bool(writer, required[i], true);
			else if (way == 1)
				gguf_write_array(writer, required[i], GGUF_BOOL,
				                 (const uint8_t[]){1}, 1);
			else
				gguf_write_array(writer, required[i], GGUF_U8, "\1\1\1\1\1\1",
				                 i < 6 ? 0 : MICRO_VOCAB);
			expect(writer, required[i], "a key of another type");
		}
		struct gguf_writer *writer = micro_model_begin(MICRO_SPM, NULL);
		gguf_write_bool(writer, required[i], true);
		expect(writer, "stands twice", required[i]);
	}
	static const size_t counts[] = {0, 1, MICRO_VOCAB - 1, MICRO_VOCAB + 1};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		struct gguf_writer *writer = micro_model_begin(MICRO_SPM, "tokenizer.ggml.scores");
		gguf_write_array(writer, "tokenizer.ggml.scores", GGUF_F32,
		                 (const float[MICRO_VOCAB + 1]){0}, counts[i]);
		expect(writer, "scores has", "scores of another count");
		writer = micro_model_begin(MICRO_SPM, "tokenizer.ggml.token_type");
		gguf_write_array(writer, "tokenizer.ggml.token_type", GGUF_I32,
		                 (const int32_t[MICRO_VOCAB + 1]){1}, counts[i]);
		expect(writer, "token_type has", "types of another count");
	}
	struct gguf_writer *writer = micro_model_begin(MICRO_SPM, NULL);
	gguf_write_tensor(writer, "token_embd.weight", GGUF_TENSOR_F32, 1, (const uint64_t[]){1},
	                  &(float){1}, 4);
	expect(writer, "stands twice", "a tensor twice");
}

static void rule_07_alignment(void **state) {
	(void)state;
	static const uint32_t wrong[] = {0, 1, 2, 3, 4, 12, 33, 1u << 17, 1u << 31, UINT32_MAX};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		expect_u32("general.alignment", wrong[i], "alignment");
	expect_u32("general.alignment", 32, NULL);
	expect_u32("general.alignment", 1u << 16, ""); // beyond the end of this file
	expect_f32("general.alignment", 32, "alignment");
	struct gguf_writer *writer = micro_model_begin(MICRO_SPM, NULL);
	gguf_write_value(writer, "general.alignment", GGUF_I32, &(int32_t){-32});
	expect(writer, "alignment", "a negative alignment");
}

static void cut_file(void *user, const void *bytes, size_t size) {
	(void)user;
	(void)bytes;
	(void)size;
	assert_int_equal(truncate(path, 100), 0);
}

static void rule_08_tensors(void **state) {
	(void)state;
	// Behind a tensor's name: dimensions u32, shape u64[], type u32, offset u64. This one is
	// [32, 6] Q4_0.
	static const char *const name = "token_embd.weight";
	static const uint32_t dimensions[] = {0, 5, 1u << 31, UINT32_MAX};
	for (size_t i = 0; i < sizeof dimensions / sizeof *dimensions; i++)
		expect_patched(name, 0, &dimensions[i], 4, "1 to 4 dimensions");
	for (size_t at = 4; at <= 12; at += 8) {
		expect_patched(name, at, &(uint64_t){0}, 8, "impossible shape");
		for (size_t i = 0; i < BIG; i++) expect_patched(name, at, &big[i], 8, "");
	}
	expect_patched(name, 4, (const uint64_t[]){UINT64_C(1) << 32, UINT64_C(1) << 32}, 16,
	               "impossible shape");
	expect_patched(name, 4, (const uint64_t[]){UINT64_C(1) << 63, 1}, 16,
	               "outside the file"); // bytes do not wrap for Q4_0
	expect_patched(name, 4, (const uint64_t[]){31, 6}, 16, "whole blocks");
	static const uint32_t types[] = {4, 5, 31, 32, 33, 36, 37, 38, 1000, 1u << 31, UINT32_MAX};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		expect_patched(name, 20, &types[i], 4, "unknown type");
	static const uint64_t offsets[] = {1, 31, 33};
	for (size_t i = 0; i < 3; i++) expect_patched(name, 24, &offsets[i], 8, "not aligned");
	for (size_t i = 0; i < BIG - 1; i++)
		expect_patched(name, 24, &big[i], 8, "outside the file");
	expect_patched(name, 24, &(uint64_t){UINT64_MAX - 31}, 8, "outside the file");
	expect_patched(name, 24, &(uint64_t){128}, 8, "overlap");
	expect_patched("output_norm.weight", 16, &(uint64_t){0}, 8, "overlap");

	size_t size;
	uint8_t *bytes = micro_model_bytes(MICRO_SPM, &size), *large = calloc(1, 9 << 20);
	struct cuttle_model_params params;
	struct cuttle_model *model;
	struct cuttle_error error = {""};
	assert_non_null(large);
	memcpy(large, bytes, size);
	files_put(path, large, 9 << 20);
	cuttle_model_params_default(&params);
	params.on_bytes = cut_file;
	assert_int_equal(cuttle_model_open(path, &params, &model, &error), CUTTLE_MODEL);
	assert_non_null(strstr(error.message, "shrank"));
	free(large);
	free(bytes);
}

static void rule_09_shapes(void **state) {
	(void)state;
	static const char *const matrices[] = {"token_embd.weight",        "blk.0.attn_q.weight",
	                                       "blk.0.attn_k.weight",      "blk.0.attn_v.weight",
	                                       "blk.0.attn_output.weight", "blk.0.ffn_gate.weight",
	                                       "blk.0.ffn_up.weight",      "blk.0.ffn_down.weight"};
	static const char *const vectors[] = {"output_norm.weight", "blk.0.attn_norm.weight",
	                                      "blk.0.ffn_norm.weight"};
	static const uint64_t shapes[][4] = {{32, 31, 1, 1}, {32, 33, 1, 1}, {64, 32, 1, 1},
	                                     {32, 1, 1, 1},  {32, 1, 1, 32}, {32, 6, 2, 1}};
	static const uint8_t data[64 * 32 * 4];
	for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++) {
		expect(micro_model_begin(MICRO_SPM, matrices[m]), "missing", matrices[m]);
		for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
			struct gguf_writer *writer = micro_model_begin(MICRO_SPM, matrices[m]);
			gguf_write_tensor(writer, matrices[m], GGUF_TENSOR_F32, 4, shapes[i], data,
			                  sizeof data);
			expect(writer, "shape", matrices[m]);
		}
	}
	for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
		expect(micro_model_begin(MICRO_SPM, vectors[v]), "missing", vectors[v]);
		static const uint64_t lengths[] = {1, 31, 33};
		for (size_t i = 0; i < 4; i++) {
			struct gguf_writer *writer = micro_model_begin(MICRO_SPM, vectors[v]);
			if (i < 3)
				gguf_write_tensor(writer, vectors[v], GGUF_TENSOR_F32, 1,
				                  &lengths[i], data, 4 * lengths[i]);
			else
				gguf_write_tensor(writer, vectors[v], GGUF_TENSOR_F16, 1,
				                  (const uint64_t[]){32}, data, 64);
			expect(writer, i < 3 ? "shape" : "must be F32", vectors[v]);
		}
	}
	static const char *const unknown[] = {"blk.1.attn_q.weight", "blk.0.attn_sinks.weight",
	                                      "blk.00.attn_q.weight", "token_embd.weight2", "x"};
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
		struct gguf_writer *writer = micro_model_begin(MICRO_SPM, NULL);
		gguf_write_tensor(writer, unknown[i], GGUF_TENSOR_F32, 1, (const uint64_t[]){32},
		                  data, 128);
		expect(writer, "is not supported", unknown[i]);
	}
	const float factors[] = {1, 8, 0, -1, NAN, INFINITY};
	for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
		const float eight[9] = {1, 1, 1, 1, 1, 1, 1, factors[i], 1};
		for (uint64_t length = 7; length <= 9; length++) {
			struct gguf_writer *writer = micro_model_begin(MICRO_SPM, NULL);
			gguf_write_tensor(writer, "rope_freqs.weight", GGUF_TENSOR_F32, 1, &length,
			                  eight, 4 * length);
			expect(writer,
			       length != 8 ? "shape"
			       : i < 2     ? NULL
			                   : "rope_freqs",
			       "rope_freqs");
		}
	}
}

static void rule_10_hyperparameters(void **state) {
	(void)state;
	static const uint32_t wrong[] = {0, 3, 33, 513, 1u << 31, UINT32_MAX};
	static const char *const sizes[] = {"llama.block_count",
	                                    "llama.embedding_length",
	                                    "llama.feed_forward_length",
	                                    "llama.attention.head_count",
	                                    "llama.attention.head_count_kv",
	                                    "llama.attention.key_length",
	                                    "llama.attention.value_length",
	                                    "llama.rope.dimension_count"};
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
		for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
			expect_u32(sizes[k], wrong[i], "");
	expect_u32("llama.attention.head_count_kv", 2, NULL);
	expect_u32("llama.context_length", 0, "context_length");
	expect_u32("llama.context_length", UINT32_MAX,
	           NULL); // cut to what the engine has; memory is the plan's, by the user's limit
	const float numbers[] = {NAN, INFINITY, -INFINITY, 0, -1, 1e30f};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		expect_f32("llama.attention.layer_norm_rms_epsilon", numbers[i], "epsilon");
		expect_f32("llama.rope.freq_base", numbers[i], "rope base");
		struct gguf_writer *writer = micro_model_begin(MICRO_SPM, NULL);
		gguf_write_text(writer, "llama.rope.scaling.type", "linear");
		gguf_write_f32(writer, "llama.rope.scaling.factor", numbers[i]);
		expect(writer, numbers[i] == 0 ? NULL : "factor", "rope scaling"); // 0 means none
	}
	static const uint32_t layers[] = {1, 2};
	struct gguf_writer *writer = micro_model_begin(MICRO_SPM, "llama.attention.head_count");
	gguf_write_array(writer, "llama.attention.head_count", GGUF_U32, layers, 2);
	expect(writer, "differs between layers", "head counts that differ");
	expect_u32("llama.expert_count", 8, "expert_count");
}

static void expect_tokens(const struct gguf_string *tokens, const int32_t *types,
                          const char *message, const char *what) {
	struct gguf_writer *writer = micro_model_begin(MICRO_SPM, "tokenizer.ggml.tokens");
	gguf_write_strings(writer, "tokenizer.ggml.tokens", tokens, MICRO_VOCAB);
	size_t size;
	uint8_t *bytes = gguf_writer_finish(&writer, &size),
	        *place = memmem(bytes, size, "token_type", 10);
	assert_non_null(place);
	memcpy(place + 10 + 16, types, MICRO_VOCAB * sizeof *types);
	expect_bytes(bytes, size, message, what);
}

static void rule_11_vocabulary(void **state) {
	(void)state;
	static const char *const ids[] = {"bos", "eos", "eot", "eom", "unknown"};
	static const uint32_t outside[] = {MICRO_VOCAB, 1u << 31, UINT32_MAX};
	for (size_t k = 0; k < sizeof ids / sizeof *ids; k++)
		for (size_t i = 0; i < 3; i++) {
			char key[64];
			snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", ids[k]);
			expect_u32(key, outside[i], "outside the vocabulary");
		}
	// Absent ids have no default that such a small vocabulary could lack.
	expect(micro_model_begin(MICRO_SPM, "tokenizer.ggml.bos_token_id"), NULL, "no BOS");
	expect(micro_model_begin(MICRO_SPM, "tokenizer.ggml.eos_token_id"), NULL, "no EOS");
	expect(micro_model_begin(MICRO_SPM, "tokenizer.ggml.unknown_token_id"),
	       "neither <0x00> nor an unknown", "no byte fallback");

	static const int32_t byte[MICRO_VOCAB] = {2, 3, 3, 1, 1, 6},
	                     normal[MICRO_VOCAB] = {2, 3, 3, 1, 1, 1};
	static const char *const names[] = {"<0x-1>", "<0xZZ>", "<0x1>", "<0x+1>", "<0x100>",
	                                    "<0x 1>", "<0X41>", "",      "<0x4"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const struct gguf_string tokens[MICRO_VOCAB] = {
		    {"<unk>", 5}, {"<s>", 3}, {"</s>", 4},
		    {"a", 1},     {"b", 1},   {names[i], strlen(names[i])}};
		expect_tokens(tokens, byte, "of type byte", names[i]);
		expect_tokens(tokens, normal, NULL, names[i]);
	}
	static const int32_t control[MICRO_VOCAB] = {3, 3, 3, 1, 1, 1};
	const struct gguf_string plain[MICRO_VOCAB] = {{"<unk>", 5}, {"<s>", 3}, {"</s>", 4},
	                                               {"a", 1},     {"b", 1},   {"ab", 2}};
	expect_tokens(plain, control, "nor an unknown",
	              "a control token for what has no other"); // no text becomes a control token
	const struct gguf_string twice[MICRO_VOCAB] = {{"<unk>", 5}, {"a", 1}, {"a", 1},
	                                               {"a", 1},     {"", 0},  {"", 0}};
	expect_tokens(twice, normal, NULL, "one text several times");
	char *text = calloc(1, 1 << 16);
	assert_non_null(text);
	const struct gguf_string lengthy[MICRO_VOCAB] = {{"<unk>", 5}, {"<s>", 3}, {"</s>", 4},
	                                                 {"a", 1},     {"b", 1},   {text, 1 << 16}};
	expect_tokens(lengthy, normal, "longer than", "a token of 64 KiB");
	free(text);
	static const int32_t types[] = {-1, 0, 7, INT32_MAX, INT32_MIN};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		expect_patched("tokenizer.ggml.token_type", 16, &types[i], 4,
		               "type that does not exist");

	static const float scores[] = {NAN, INFINITY, -INFINITY};
	for (size_t i = 0; i < 3; i++)
		expect_patched("tokenizer.ggml.scores", 16, &scores[i], 4,
		               i ? NULL : "not a number");
	static const struct gguf_string merges[] = {{"ab", 2},  {" b", 2},  {"a ", 2},
	                                            {" ", 1},   {"", 0},    {"a c", 3},
	                                            {"c a", 3}, {"b a", 3}, {"a b c", 5}};
	for (size_t i = 0; i < sizeof merges / sizeof *merges; i++) {
		struct gguf_writer *writer = micro_model_begin(MICRO_BPE, "tokenizer.ggml.merges");
		gguf_write_strings(writer, "tokenizer.ggml.merges", &merges[i], 1);
		expect(writer, "merge 0", merges[i].text);
	}
	static const char *const kinds[] = {"", "wordpiece", "llama\n", "gpt2x"};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct gguf_writer *writer = micro_model_begin(MICRO_BPE, "tokenizer.ggml.model");
		gguf_write_text(writer, "tokenizer.ggml.model", kinds[i]);
		expect(writer, "tokenizer", kinds[i]);
	}
}

static void one_reference(void *user, size_t index, const char **text, size_t *size) {
	(void)user;
	(void)index;
	*text = "ab";
	*size = 2;
}

static int take_text(void *user, const struct cuttle_text *text) {
	(void)user;
	return text->tokens > 4;
}

/* Scales and weights of any bits: numbers or a status, in scoring and in generating. */
static void rule_12_weights(void **state) {
	(void)state;
	static const uint8_t fills[] = {0xff, 0x7f, 0x7c, 0xfc, 0x00, 0x80, 0x01, 0x55};
	for (int way = 0; way < 40; way++) {
		size_t size;
		uint8_t *bytes = micro_model_bytes(MICRO_SPM, &size);
		uint64_t random = (uint64_t)way * 0x9e3779b97f4a7c15u + 1;
		for (size_t i = gguf_data_start(bytes, size); i < size; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			if (way < 8) bytes[i] = fills[way];
			else if (way < 24 || random >> 56 < 8) bytes[i] = (uint8_t)(random >> 40);
		}
		files_put(path, bytes, size);
		free(bytes);
		struct cuttle_model_params open;
		struct cuttle_model *model;
		struct cuttle_error error = {""};
		cuttle_model_params_default(&open);
		open.threads = 1;
		assert_int_equal(cuttle_model_open(path, &open, &model, &error), CUTTLE_OK);
		int32_t top1[8];
		double logprobs[8];
		const enum cuttle_status scored = cuttle_score(
		    model, (const int32_t[]){0, 1, 2, 3, 4, 5, 0, 1}, 8, logprobs, top1, &error);
		assert_true(scored == CUTTLE_OK || scored == CUTTLE_MODEL);
		for (size_t i = 0; !scored && i < 7; i++)
			assert_true(isfinite(logprobs[i]) && top1[i] >= 0 && top1[i] < MICRO_VOCAB);
		struct cuttle_plan_params params;
		struct cuttle_plan *plan;
		struct cuttle_job job;
		cuttle_plan_params_default(&params);
		params.clip = 1;
		params.batch = 1;
		params.tokens = 4;
		params.form = CUTTLE_CUSTOM;
		params.prompt_public = "a";
		params.prompt_private = "a{reference}";
		assert_int_equal(cuttle_plan_make(model, &params, &plan, &error), CUTTLE_OK);
		cuttle_job_default(&job);
		job.texts = 1;
		job.reference = one_reference;
		job.text = take_text;
		const enum cuttle_status ran = cuttle_job_run(plan, &job, &error);
		assert_true(ran == CUTTLE_OK || ran == CUTTLE_MODEL);
		cuttle_plan_free(&plan);
		cuttle_model_free(&model);
	}
}

/* Of the processor: how busy the machine is does not count. */
static double seconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Runs of one character, and many special tokens in the vocabulary and in the text: time grows with
 * the length. */
static void rule_13_tokenising(void **state) {
	(void)state;
	enum { SPECIALS = 20000 };
	static char names[SPECIALS][16];
	static struct gguf_string tokens[SPECIALS + 3];
	static int32_t types[SPECIALS + 3];
	static float scores[SPECIALS + 3];
	tokens[0] = (struct gguf_string){"<unk>", 5};
	tokens[1] = (struct gguf_string){"a", 1};
	tokens[2] = (struct gguf_string){"aa", 2};
	types[0] = 2;
	types[1] = types[2] = 1;
	for (size_t i = 0; i < SPECIALS; i++) {
		tokens[i + 3] = (struct gguf_string){
		    names[i], (size_t)snprintf(names[i], sizeof names[i], "<|%zu|>", i)};
		types[i + 3] = i % 2 ? 3 : 4;
	}
	struct gguf_writer *writer = gguf_writer_new();
	gguf_write_text(writer, "tokenizer.ggml.model", "llama");
	gguf_write_strings(writer, "tokenizer.ggml.tokens", tokens, SPECIALS + 3);
	gguf_write_array(writer, "tokenizer.ggml.token_type", GGUF_I32, types, SPECIALS + 3);
	gguf_write_array(writer, "tokenizer.ggml.scores", GGUF_F32, scores, SPECIALS + 3);
	gguf_write_u32(writer, "tokenizer.ggml.unknown_token_id", 0);
	size_t size, count;
	uint8_t *bytes = gguf_writer_finish(&writer, &size);
	struct gguf *file;
	struct vocab *vocab;
	struct cuttle_error error = {""};
	assert_int_equal(gguf_parse(bytes, size, &file, &error), CUTTLE_OK);
	assert_int_equal(vocab_read(file, &vocab, &error), CUTTLE_OK);
	gguf_free(&file);
	free(bytes);
	// CUTTLE_TEST_SHORT=1: for emulated processors and valgrind.
	const size_t text_size = briefly() ? 1 << 17 : 1 << 20,
	             bound = vocab_tokens_bound(text_size);
	char *text = malloc(text_size);
	int32_t *ids = malloc(bound * sizeof *ids);
	assert_true(text && ids);
	static const char *const fillings[] = {
	    "a", " ", "<|", "<|1|>", "<|2|>", "\xf0\x9f\x98\x80", "\xed\xa0\x80", "\xff", "\0"};
	for (size_t f = 0; f < sizeof fillings / sizeof *fillings; f++) {
		const size_t period = *fillings[f] ? strlen(fillings[f]) : 1;
		for (size_t i = 0; i < text_size; i++) text[i] = fillings[f][i % period];
		const double begun = seconds();
		count = 0;
		assert_int_equal(
		    vocab_tokenize(vocab, text, text_size, false, ids, bound, &count, &error),
		    CUTTLE_OK);
		assert_true(count > 0 && count <= bound);
		if (seconds() - begun > 5)
			fail_msg("filling %zu took %.1f s", f, seconds() - begun);
		// The room of one token less is an error that leaves the count alone, never a
		// negative number.
		const size_t wanted = count;
		count = 0;
		assert_int_equal(
		    vocab_tokenize(vocab, text, text_size, false, ids, wanted - 1, &count, &error),
		    CUTTLE_USAGE);
		assert_int_equal(count, 0);
	}
	assert_int_equal(vocab_tokenize(vocab, NULL, 0, false, ids, bound, &count, &error),
	                 CUTTLE_OK);
	assert_int_equal(count, 0);
	free(ids);
	free(text);
	vocab_free(&vocab);
}

static void rule_14_chat_template(void **state) {
	(void)state;
	for (size_t over = 0; over < 2; over++) {
		const size_t length = (1 << 20) + over;
		char *text = malloc(length);
		assert_non_null(text);
		for (size_t i = 0; i < length; i++)
			text[i] = "{{ ''.__class__ }}{% for x in range(10**9) %}"[i % 44];
		struct gguf_writer *writer =
		    micro_model_begin(MICRO_SPM, "tokenizer.chat_template");
		gguf_write_string(writer, "tokenizer.chat_template",
		                  (struct gguf_string){text, length});
		expect(writer, over ? "longer than 1 MiB" : NULL, "a template of 1 MiB");
		free(text);
	}
	expect_u32("tokenizer.chat_template", 1, "chat_template");
	expect(micro_model_begin(MICRO_SPM, "tokenizer.chat_template"), NULL, "no template");
}

static void rule_15_safetensors(void **state) {
	(void)state;
	static const char header[] = "\x40\0\0\0\0\0\0\0{\"t\":{\"dtype\":\"F32\",\"shape\":[1],"
	                             "\"data_offsets\":[0,4]}}           \0\0\0\0";
	struct cuttle_error error;
	assert_int_equal(build((const uint8_t *)header, sizeof header - 1, &error), CUTTLE_MODEL);
	assert_non_null(strstr(error.message, "not a GGUF"));
}

static void rule_16_split_files(void **state) {
	(void)state;
	static const uint32_t counts[] = {2, 100000, UINT32_MAX};
	for (size_t i = 0; i < 3; i++) expect_u32("split.count", counts[i], "split");
	expect_f32("split.count", 2, "split.count");
	expect_u32("split.count", 1, NULL);
}

/* Each bit of the header, of the metadata and of the tensor table. */
static void every_bit(void **state) {
	(void)state;
	struct cuttle_error error;
	for (int tokenizer = MICRO_SPM; tokenizer <= MICRO_BPE; tokenizer++) {
		size_t size, taken = 0;
		uint8_t *bytes = micro_model_bytes((enum micro_tokenizer)tokenizer, &size);
		const size_t bits = 8 * gguf_data_start(bytes, size);
		for (size_t bit = 0; bit < bits; bit++) {
			bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
			const enum cuttle_status status = build(bytes, size, &error);
			if (status && status != CUTTLE_MODEL)
				fail_msg("bit %zu: status %d", bit, (int)status);
			taken += !status;
			bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		assert_in_range(taken, 1, bits / 2); // texts of tokens, scores, padding
		free(bytes);
	}
}

/* Files of many MiB that announce as many small things as fit, each kind in turn. NULL behind the
 * last one. */
static uint8_t *fat_file(int kind, size_t *size, const char **what) {
	enum { MANY = 1 << 20 };
	struct gguf_string *strings = calloc(MANY, sizeof *strings);
	char(*names)[8] = calloc(MANY, sizeof *names);
	assert_true(strings && names);
	for (size_t i = 0; i < MANY; i++) {
		for (int letter = 0; letter < 5; letter++)
			names[i][letter] = (char)('a' + (i >> 4 * letter) % 16);
		strings[i] = (struct gguf_string){names[i], 5};
	}
	strings[0].size = 1; // what the one merge is of
	strings[1] = (struct gguf_string){"b", 1};
	strings[2] = (struct gguf_string){"ab", 2};
	static const char *const kinds[] = {"keys",        "tensors",        "strings", "tokens",
	                                    "long tokens", "special tokens", "merges",  "numbers"};
	struct gguf_writer *writer = NULL;
	if ((size_t)kind < sizeof kinds / sizeof *kinds) {
		*what = kinds[kind];
		writer =
		    micro_model_begin(MICRO_BPE, kind >= 3 && kind <= 5 ? "tokenizer.ggml.token*"
		                                 : kind == 6            ? "tokenizer.ggml.merges"
		                                                        : NULL);
	}
	int32_t *numbers = calloc(4 * MANY, sizeof *numbers);
	char *text = calloc(1, 4097);
	assert_true(numbers && text);
	memset(text, 'x', 4096);
	switch (kind) {
	case 0:
		for (size_t i = 0; i < MANY; i++) gguf_write_value(writer, names[i], GGUF_U8, "");
		break;
	case 1:
		for (size_t i = 0; i < MANY / 2; i++)
			gguf_write_tensor(writer, names[i], GGUF_TENSOR_F32, 1,
			                  (const uint64_t[]){1}, "\0\0\0", 4);
		break;
	case 2:
		for (size_t i = 0; i < MANY; i++) strings[i].size = 0;
		gguf_write_strings(writer, "tokenizer.ggml.unused", strings, MANY);
		break;
	case 3:
		gguf_write_strings(writer, "tokenizer.ggml.tokens", strings, MANY);
		break;
	case 4:
		for (size_t i = 0; i < 12000; i++) strings[i] = (struct gguf_string){text, 4096};
		gguf_write_strings(writer, "tokenizer.ggml.tokens", strings, 12000);
		break;
	case 5:
		for (size_t i = 0; i < MANY; i++) numbers[i] = 4;
		gguf_write_strings(writer, "tokenizer.ggml.tokens", strings, 300000);
		gguf_write_array(writer, "tokenizer.ggml.token_type", GGUF_I32, numbers, 300000);
		break;
	case 6:
		for (size_t i = 0; i < MANY; i++) strings[i] = (struct gguf_string){"a b", 3};
		gguf_write_strings(writer, "tokenizer.ggml.merges", strings, MANY);
		break;
	case 7:
		gguf_write_array(writer, "llama.attention.sliding_window_pattern", GGUF_I32,
		                 numbers, (size_t)4 * MANY);
		break;
	}
	uint8_t *bytes = writer ? gguf_writer_finish(&writer, size) : NULL;
	free(text);
	free(numbers);
	free(names);
	free(strings);
	return bytes;
}

/* In a process of its own, whose memory is measured: 0, or how it failed. */
static int open_and_measure(size_t size, const char *what) {
	struct rusage before, after;
	struct cuttle_model_params params;
	struct cuttle_model *model;
	struct cuttle_error error = {""};
	cuttle_model_params_default(&params);
	params.threads = 1;
	getrusage(RUSAGE_SELF, &before);
	const double begun = seconds();
	const enum cuttle_status status = cuttle_model_open(path, &params, &model, &error);
	const double took = seconds() - begun;
	getrusage(RUSAGE_SELF, &after);
	cuttle_model_free(&model);
	const double mib = (double)size / 0x1p20,
	             used = (double)(after.ru_maxrss - before.ru_maxrss) / 1024;
	printf("%-16s %5.1f MiB: %6.1f MiB, %5.2f s, %s\n", what, mib, used, took,
	       status ? error.message : "taken");
	if (status && status != CUTTLE_MODEL) return 1;
#if !defined(__SANITIZE_ADDRESS__)
	if (used > 64 + mib) return 2;
#endif
	return took > 1 + mib ? 3 : 0;
}

static void fat_files(void **state) {
	(void)state;
	size_t size;
	const char *what = "";
	uint8_t *bytes;
	for (int kind = 0; (bytes = fat_file(kind, &size, &what)); kind++) {
		int status;
		files_put(path, bytes, size);
		free(bytes);
		fflush(stdout);
		const pid_t child = fork();
		assert_true(child >= 0);
		if (!child) {
			const int failed = open_and_measure(size, what);
			fflush(stdout);
			_exit(failed);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			fail_msg("%s: %s", what,
			         WIFEXITED(status) && WEXITSTATUS(status) == 2 ? "too much memory"
			                                                       : "failed");
	}
}

static int make_path(void **state) {
	(void)state;
	const int file = mkstemp(path);
	return file < 0 || close(file);
}

static int remove_path(void **state) {
	(void)state;
	return unlink(path);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rule_01_no_partial_object),
	    cmocka_unit_test(rule_02_cut_at_every_byte),
	    cmocka_unit_test(rule_03_counts),
	    cmocka_unit_test(rule_04_lengths),
	    cmocka_unit_test(rule_05_arrays),
	    cmocka_unit_test(rule_06_keys),
	    cmocka_unit_test(rule_07_alignment),
	    cmocka_unit_test(rule_08_tensors),
	    cmocka_unit_test(rule_09_shapes),
	    cmocka_unit_test(rule_10_hyperparameters),
	    cmocka_unit_test(rule_11_vocabulary),
	    cmocka_unit_test(rule_12_weights),
	    cmocka_unit_test(rule_13_tokenising),
	    cmocka_unit_test(rule_14_chat_template),
	    cmocka_unit_test(rule_15_safetensors),
	    cmocka_unit_test(rule_16_split_files),
	    cmocka_unit_test(every_bit),
	    cmocka_unit_test(fat_files),
	};
	return cmocka_run_group_tests(tests, make_path, remove_path);
}
