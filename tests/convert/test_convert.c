// SPDX-License-Identifier: Apache-2.0
// Tests convert/: conversion of a Hugging Face folder, and quantisation of a GGUF file. A GGUF
// model is written as a folder and converted back. The test fails if the result does not have the
// same tensors, bit for bit, and the same scores.
// It also fails if quantising twice gives different files, if a block is not rounded as the
// reference rounds it, or if a folder that GGUF cannot express is not refused by name.
#include "convert/convert.h"
#include "convert/gguf_in.h"
#include "convert/hf_config.h"
#include "convert/quantize.h"

#include "io/disk/hash.h"
#include "tests/support/files.h"
#include "tests/support/hf_folder.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const struct rewrite_report SILENT = {0};

/* The hashes are those of the Python package gguf 0.19.0, whose numpy quantisers are bit-exact to
 * ggml's reference, on the same values. */
static void test_rounding(void **state) {
	(void)state;
	enum { COUNT = 64 << 10 };
	static float x[COUNT];
	static uint8_t blocks[4 * COUNT];
	static const struct {
		enum weight_name type;
		const char *hash;
	} golden[] = {
	    {WEIGHT_F16, "81e394ef51a784bf923e692c588e9b2ca2b615ff266da40bd76096cc89c21d06"},
	    {WEIGHT_BF16, "9bd9136bba6a1253c27d9ba1d681b114e5b4e672905df9dd66449162b7e39242"},
	    {WEIGHT_Q8_0, "94f81fbd558d65352084d31d687f3e7c239ee27cde06d0fa986528117e6c6287"},
	    {WEIGHT_Q4_0, "694182068fbd9b823941c2933df37d6cea46dc5c0950eec4886034bf473cdd1a"},
	    {WEIGHT_Q4_1, "a0b24269fb9c3b9cd4cd5ebd3895bcb7c3ce8486f4a7739f8bae699770f3fbec"}};
	for (uint32_t i = 0; i < COUNT; i++)
		x[i] = i < 32 ? 0.0f
		              : ldexpf((float)((double)(i * 2654435761u) / 0x1p31 - 1.0),
		                       (int)(i / 32 % 24) - 12);
	for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
		const struct weight_type *type = weight_type(golden[i].type);
		char hash[HASH_TEXT];
		assert_true(weight_write(type, x, COUNT, blocks));
		hash_of(blocks, (size_t)COUNT / type->block * type->block_bytes, hash);
		assert_string_equal(hash, golden[i].hash);
	}
}

static void test_what_does_not_fit(void **state) {
	(void)state;
	static const float bad[] = {NAN, INFINITY, -INFINITY, 3e38f};
	for (int type = 0; type < WEIGHT_COUNT; type++)
		for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
			enum { COUNT = 256 };
			float x[COUNT] = {1e-45f, -1e-45f, 1.0f};
			uint8_t blocks[COUNT * sizeof *x];
			assert_true(
			    weight_write(weight_type((enum weight_name)type), x, COUNT, blocks));
			x[7] = bad[i];
			const bool wide = type == WEIGHT_F32 || type == WEIGHT_BF16;
			assert_int_equal(
			    weight_write(weight_type((enum weight_name)type), x, COUNT, blocks),
			    wide && i == 3);
		}
}

// ---- a folder ----

struct folder {
	char path[64], output[80];
	uint8_t *bytes;
	size_t size;
	struct gguf *gguf; /* the model that the folder says */
};

static void write_config(const struct folder *folder, const char *more) {
	FILE *file = hf_folder_file(folder->path, "config.json");
	fprintf(file,
	        "{\"architectures\":[\"LlamaForCausalLM\"],\"hidden_size\":%d,\"intermediate_"
	        "size\":%d,\"num_hidden_layers\":%d,"
	        "\"num_attention_heads\":%d,\"num_key_value_heads\":%d,\"max_position_embeddings\":"
	        "%d,\"rms_norm_eps\":1e-5,\"vocab_size\":%d,"
	        "\"bos_token_id\":%d,\"eos_token_id\":[%d]%s}",
	        TINY_WIDTH, TINY_FFN, TINY_LAYERS, TINY_HEADS, TINY_KV_HEADS, TINY_CONTEXT,
	        TINY_VOCAB, TINY_START, TINY_EOS, more);
	assert_int_equal(fclose(file), 0);
}

/* transformers' name of a tensor. */
static void their_name(struct gguf_string name, char theirs[128]) {
	static const char *const parts[][2] = {
	    {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
	    {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
	    {"attn_output", "self_attn.o_proj"}, {"ffn_norm", "post_attention_layernorm"},
	    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
	    {"ffn_down", "mlp.down_proj"}};
	char ours[65] = {0};
	memcpy(ours, name.text, name.size);
	unsigned layer;
	char part[64];
	snprintf(theirs, 128, "%s",
	         !strcmp(ours, "token_embd.weight") ? "model.embed_tokens.weight"
	         : !strcmp(ours, "output.weight")   ? "lm_head.weight"
	                                            : "model.norm.weight");
	if (sscanf(ours, "blk.%u.%63[a-z_].weight", &layer, part) != 2) return;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (!strcmp(part, parts[i][0]))
			snprintf(theirs, 128, "model.layers.%u.%s.weight", layer, parts[i][1]);
}

/* Their rows: of a head of Q or K, the even ones come first. */
static float *their_rows(const struct gguf_tensor *tensor, bool turned) {
	const size_t head = TINY_WIDTH / TINY_HEADS, row = (size_t)tensor->shape[0];
	float *rows = malloc(tensor->bytes);
	assert_non_null(rows);
	for (size_t i = 0; i < tensor->shape[1]; i++) {
		const size_t within = i % head,
		             from = within < head / 2 ? 2 * within : 2 * (within - head / 2) + 1;
		const size_t source = turned ? i - within + from : i;
		memcpy(rows + i * row, tensor->data + source * row * sizeof *rows,
		       row * sizeof *rows);
	}
	return rows;
}

/* With one tensor more, or NULL. */
static void write_weights(const struct folder *folder, const char *extra) {
	enum { MOST = 32 };
	static struct hf_tensor tensors[MOST];
	const size_t count = gguf_tensor_count(folder->gguf);
	assert_true(count < MOST);
	for (size_t i = 0; i < count; i++) {
		const struct gguf_tensor *tensor = gguf_tensor_at(folder->gguf, i);
		struct hf_tensor *theirs = &tensors[i];
		their_name(tensor->name, theirs->name);
		theirs->rows = tensor->dimensions == 1 ? 0 : (size_t)tensor->shape[1];
		theirs->row = (size_t)tensor->shape[0];
		theirs->values = their_rows(tensor, strstr(theirs->name, "q_proj") ||
		                                        strstr(theirs->name, "k_proj"));
	}
	tensors[count] = (struct hf_tensor){.row = 1, .values = &(float){1.0f}};
	if (extra) strcpy(tensors[count].name, extra);
	hf_folder_weights(folder->path, WEIGHT_F32, tensors, count + (extra != NULL));
	for (size_t i = 0; i < count; i++) free(tensors[i].values);
}

/* Qwen's files name a window that they do not use, and Qwen3 its head size only where it is
 * another. */
static void test_kinds(void **state) {
	(void)state;
	static const struct {
		const char *kind, *more;
		uint64_t context;
	} cases[] = {
	    {"Qwen2", "\"sliding_window\":128", 512},
	    {"Qwen2", "\"sliding_window\":128,\"use_sliding_window\":false", 512},
	    {"Qwen3", "\"sliding_window\":128,\"use_sliding_window\":true", 128},
	    {"Qwen3", "\"sliding_window\":null,\"use_sliding_window\":true", 512},
	    {"Mistral", "\"sliding_window\":128", 128},
	    {"Mistral", "\"sliding_window\":null", 512},
	    {"Mistral", "\"sliding_window\":null,\"max_position_embeddings\":8192", 8192},
	    {"Mistral", "\"max_position_embeddings\":8192", 4096},
	    {"Qwen2", "\"max_position_embeddings\":8192,\"use_sliding_window\":true", 4096},
	    {"Qwen2", "\"max_position_embeddings\":8192", 8192},
	    {"Phi3", "\"sliding_window\":128,\"original_max_position_embeddings\":512", 512},
	    {"Qwen3", "\"attention_bias\":true", 0}}; // refused
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_t *root = json_pack(
		    "{s:[o], s:i, s:i, s:i, s:i, s:i, s:i, s:f}", "architectures",
		    json_sprintf("%sForCausalLM", cases[i].kind), "hidden_size", 64,
		    "intermediate_size", 96, "num_hidden_layers", 2, "num_attention_heads", 4,
		    "max_position_embeddings", 512, "vocab_size", 9, "rms_norm_eps", 1e-5);
		char more[96];
		snprintf(more, sizeof more, "{%s}", cases[i].more);
		json_t *added = json_loads(more, 0, NULL);
		struct hf_config config;
		assert_int_equal(json_object_update(root, added), 0);
		assert_int_equal(hf_config_read(root, &config, NULL),
		                 cases[i].context ? CUTTLE_OK : CUTTLE_MODEL);
		if (cases[i].context) assert_int_equal(config.context, cases[i].context);
		assert_int_equal(config.head_size,
		                 cases[i].context ? strcmp(cases[i].kind, "Qwen3") ? 16 : 128 : 0);
		json_decref(added);
		json_decref(root);
	}
}

/* Settings that a family alone has, and what is refused of them. `why` NULL: nothing is. */
static void test_family_settings(void **state) {
	(void)state;
	static const struct {
		const char *kind, *more, *why;
	} cases[] = {
	    {"Granite",
	     "{\"embedding_multiplier\":12,\"residual_multiplier\":0.22,"
	     "\"attention_multiplier\":0.015625,\"logits_scaling\":8}",
	     NULL},
	    {"Granite", "{\"embedding_multiplier\":12}", "residual_multiplier must be"},
	    {"Granite", "{\"embedding_multiplier\":0}", "embedding_multiplier must be"},
	    {"SmolLM3", "{\"no_rope_layers\":[1,1,1,0,1]}", NULL},
	    {"SmolLM3", "{\"no_rope_layer_interval\":4}", NULL},
	    {"SmolLM3", "{\"no_rope_layer_interval\":2}", "no_rope_layer_interval 2"},
	    {"SmolLM3", "{\"no_rope_layers\":[1,1,0,1,1]}", "no_rope_layers"},
	    {"SmolLM3", "{\"no_rope_layers\":[1,1,1,0]}", "no_rope_layers"},
	    {"Gemma3", "{\"hidden_activation\":\"gelu_pytorch_tanh\",\"sliding_window\":64}", NULL},
	    {"Gemma3", "{\"sliding_window\":null}", "sliding_window must be a whole number"},
	    {"Gemma3", "{\"sliding_window\":15}", "sliding_window 15 is not supported"},
	    {"Phi3", "{\"sliding_window\":1}", "sliding_window 1 is not supported"},
	    {"Gemma3", "{\"hidden_activation\":\"silu\"}", "hidden_activation silu"},
	    {"Gemma3", "{\"final_logit_softcapping\":30.0}", "final_logit_softcapping"},
	    {"Gemma3", "{\"query_pre_attn_scalar\":168}", "query_pre_attn_scalar"},
	    {"Gemma3", "{\"sliding_window_pattern\":2}", "sliding_window_pattern 2"},
	    {"Gemma3", "{\"rope_local_base_freq\":0}", "rope_local_base_freq must be"},
	    {"Gemma3",
	     "{\"layer_types\":[\"sliding_attention\",\"full_attention\",\"sliding_attention\","
	     "\"sliding_attention\",\"sliding_attention\"]}",
	     "layer_types"},
	    {"Gemma3", "{\"rope_parameters\":{\"rope_type\":\"default\"}}", "type of layer"},
	    {"Llama", "{\"partial_rotary_factor\":0.5}", "partial_rotary_factor"},
	    {"Phi3", "{\"partial_rotary_factor\":0.5}", NULL},
	    {"Phi3", "{\"partial_rotary_factor\":0}", "partial_rotary_factor must be"},
	    {"Phi3",
	     "{\"partial_rotary_factor\":0.5,\"original_max_position_embeddings\":64,"
	     "\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1,1.5,2,3]}}",
	     NULL},
	    {"Phi3",
	     "{\"original_max_position_embeddings\":64,"
	     "\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1,1.5,2,3]}}",
	     "short_factor"},
	    {"Phi3",
	     "{\"partial_rotary_factor\":0.5,\"original_max_position_embeddings\":64,"
	     "\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1,1.5,0,3]}}",
	     "short_factor"},
	    {"Phi3", "{\"rope_scaling\":{\"type\":\"su\"}}", "RoPE scaling su"},
	    {"Lfm2", "{}", "norm_eps"},
	    {"Lfm2", "{\"norm_eps\":1e-5}", NULL},
	    {"Lfm2", "{\"norm_eps\":1e-5,\"full_attn_idxs\":[1,4]}", NULL},
	    {"Lfm2", "{\"norm_eps\":1e-5,\"full_attn_idxs\":[1,5]}", "full_attn_idxs must"},
	    {"Lfm2", "{\"norm_eps\":1e-5,\"full_attn_idxs\":[]}", "full_attn_idxs must"},
	    {"Lfm2", "{\"norm_eps\":1e-5,\"layer_types\":[\"conv\",\"full_attention\"]}",
	     "layer_types must"},
	    {"Lfm2",
	     "{\"norm_eps\":1e-5,\"layer_types\":[\"conv\",\"conv\",\"conv\",\"conv\",\"conv\"]}",
	     "layer_types must"},
	    {"Lfm2", "{\"norm_eps\":1e-5,\"layer_types\":[\"sliding_attention\"]}",
	     "a layer of type"},
	    {"Lfm2", "{\"norm_eps\":1e-5,\"conv_bias\":true}", "conv_bias is not supported"},
	    {"Lfm2", "{\"norm_eps\":1e-5,\"conv_L_cache\":17}", "conv_L_cache must be"},
	    {"Lfm2", "{\"norm_eps\":1e-5,\"block_ffn_dim_multiplier\":0}",
	     "block_ffn_dim_multiplier must be"},
	    {"Llama", "{\"layer_types\":[\"conv\"]}", "a layer of type conv"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_t *root = json_pack(
		    "{s:[o] s:i s:i s:i s:i s:i s:i s:f}", "architectures",
		    json_sprintf("%sForCausalLM", cases[i].kind), "hidden_size", 64,
		    "intermediate_size", 96, "num_hidden_layers", 5, "num_attention_heads", 4,
		    "max_position_embeddings", 512, "vocab_size", 9, "rms_norm_eps", 1e-5);
		json_t *added = json_loads(cases[i].more, 0, NULL);
		struct hf_config config;
		struct cuttle_error error = {""};
		assert_int_equal(json_object_update(root, added), 0);
		assert_int_equal(hf_config_read(root, &config, &error),
		                 cases[i].why ? CUTTLE_MODEL : CUTTLE_OK);
		if (cases[i].why && !strstr(error.message, cases[i].why))
			fail_msg("says %s, not %s", error.message, cases[i].why);
		json_decref(added);
		json_decref(root);
	}
}

static int set_up(void **state) {
	struct folder *folder = calloc(1, sizeof *folder);
	assert_non_null(folder);
	hf_folder_make(folder->path);
	snprintf(folder->output, sizeof folder->output, "%s/m.gguf", folder->path);
	folder->bytes = tiny_model_bytes(GGUF_TENSOR_F32, GGUF_TENSOR_F32, 1, &folder->size);
	assert_int_equal(gguf_parse(folder->bytes, folder->size, &folder->gguf, NULL), CUTTLE_OK);
	const struct gguf_tensor *embedding = gguf_tensor_find(folder->gguf, "token_embd.weight");
	const size_t poison = (size_t)(embedding->data - folder->bytes) +
	                      (size_t)TINY_NAN * TINY_WIDTH * sizeof(float);
	memset(folder->bytes + poison, 0, sizeof(float));
	write_config(folder, "");
	hf_folder_tokenizer(folder->path);
	write_weights(folder, NULL);
	*state = folder;
	return 0;
}

static int tear_down(void **state) {
	static const char *const files[] = {
	    "config.json",       "tokenizer.json", "tokenizer_config.json",
	    "model.safetensors", "m.gguf",         "n.gguf"};
	struct folder *folder = *state;
	assert_int_equal(files_remove(folder->path, files, sizeof files / sizeof *files),
	                 0); // nothing half-written
	gguf_free(&folder->gguf);
	free(folder->bytes);
	free(folder);
	return 0;
}

static void scores_of(const char *path, double *logprobs, size_t count) {
	struct cuttle_model *model;
	struct cuttle_error error = {""};
	int32_t ids[256], top[256];
	for (size_t i = 0; i < count; i++) ids[i] = (int32_t)(i * 37 % TINY_BYTES);
	if (cuttle_model_open(path, NULL, &model, &error)) fail_msg("%s", error.message);
	assert_int_equal(cuttle_score(model, ids, count, logprobs, top, NULL), CUTTLE_OK);
	cuttle_model_free(&model);
}

static void test_same_model(void **state) {
	const struct folder *folder = *state;
	struct cuttle_error error = {""};
	struct gguf_in in;
	if (convert(folder->path, folder->output, weight_type(WEIGHT_F32), &SILENT, &error))
		fail_msg("%s", error.message);
	assert_int_equal(gguf_in_open(&in, folder->output, &error), CUTTLE_OK);
	assert_int_equal(gguf_tensor_count(in.gguf), gguf_tensor_count(folder->gguf));
	for (size_t i = 0; i < gguf_tensor_count(in.gguf); i++) {
		const struct gguf_tensor *ours = gguf_tensor_at(in.gguf, i);
		char name[65] = {0};
		memcpy(name, ours->name.text, ours->name.size);
		const struct gguf_tensor *wanted = gguf_tensor_find(folder->gguf, name);
		assert_non_null(wanted);
		assert_int_equal(ours->bytes, wanted->bytes);
		uint8_t *bytes = malloc(ours->bytes);
		assert_int_equal(gguf_in_read(&in, ours, 0, bytes, ours->bytes, &error), CUTTLE_OK);
		assert_memory_equal(bytes, wanted->data, ours->bytes);
		free(bytes);
	}
	gguf_in_close(&in);
	double ours[256], wanted[256];
	scores_of(folder->output, ours, 256);
	char other[96];
	snprintf(other, sizeof other, "%s/n.gguf", folder->path);
	files_put(other, folder->bytes, folder->size);
	scores_of(other, wanted, 256);
	assert_memory_equal(ours, wanted, 255 * sizeof *ours);
}

static void count_note(void *user, const char *line) {
	assert_non_null(strstr(line, "not whole blocks of"));
	++*(size_t *)user;
}

/* From each type that may be quantised to each that can be written: a model that runs, the same
 * every time. */
static void test_quantize(void **state) {
	const struct folder *folder = *state;
	static const enum weight_name sources[] = {WEIGHT_F32, WEIGHT_F16, WEIGHT_BF16,
	                                           WEIGHT_Q8_0};
	char other[96], first[HASH_TEXT], second[HASH_TEXT];
	double logprobs[256];
	snprintf(other, sizeof other, "%s/n.gguf", folder->path);
	for (size_t source = 0; source < sizeof sources / sizeof *sources; source++) {
		assert_int_equal(convert(folder->path, folder->output, weight_type(sources[source]),
		                         &SILENT, NULL),
		                 CUTTLE_OK);
		for (int type = 0; type < WEIGHT_COUNT; type++) {
			const bool fits = weight_type((enum weight_name)type)->block <= TINY_WIDTH;
			for (int again = 0; again < 2; again++) {
				size_t notes = 0;
				const struct rewrite_report report = {.user = &notes,
				                                      .note = count_note};
				assert_int_equal(quantize(folder->output, other,
				                          weight_type((enum weight_name)type),
				                          &report, NULL),
				                 CUTTLE_OK);
				assert_int_equal(notes, fits ? 0 : 7 * TINY_LAYERS + 2);
				assert_int_equal(hash_file(other, again ? second : first, NULL),
				                 CUTTLE_OK);
			}
			assert_string_equal(first, second);
			scores_of(other, logprobs, 256);
		}
	}
	// What is at 4 bits is not quantised again.
	assert_int_equal(quantize(folder->output, other, weight_type(WEIGHT_Q4_1), &SILENT, NULL),
	                 CUTTLE_OK);
	assert_int_equal(quantize(other, folder->output, weight_type(WEIGHT_Q8_0), &SILENT, NULL),
	                 CUTTLE_MODEL);
}

static void refused(const struct folder *folder, const char *why) {
	struct cuttle_error error = {""};
	assert_int_equal(
	    convert(folder->path, folder->output, weight_type(WEIGHT_F32), &SILENT, &error),
	    CUTTLE_MODEL);
	if (!strstr(error.message, why)) fail_msg("says %s, not %s", error.message, why);
	assert_int_not_equal(access(folder->output, F_OK), 0);
}

static void test_refusals(void **state) {
	struct folder *folder = *state;
	static const char *const settings[][2] = {
	    {",\"hidden_act\":\"gelu\"", "hidden_act"},
	    {",\"attention_bias\":true", "attention_bias"},
	    {",\"num_local_experts\":8", "num_local_experts"},
	    {",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":2}", "yarn"},
	    {",\"head_dim\":512", "head_dim"},
	    {",\"tie_word_embeddings\":3,\"rope_theta\":0.5", "rope_theta"},
	    {",\"hidden_size\":32", "duplicate"},
	    {",\"head_dim\":32", "shape"},
	    {",\"layer_types\":[\"full_attention\",\"linear_attention\"]", "linear_attention"},
	    {",\"rope_parameters\":{\"rope_type\":\"llama3\",\"factor\":8}", "low_freq_factor"}};
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
		write_config(folder, settings[i][0]);
		refused(folder, settings[i][1]);
	}
	write_config(folder, "");
	// Not read to the NUL: that would be another token.
	static const char longer[] = "{\"eos_token\":\"<|im_end|>\\u0000\"}";
	char path[96];
	snprintf(path, sizeof path, "%s/tokenizer_config.json", folder->path);
	files_put(path, longer, strlen(longer));
	refused(folder, "\\u0000");
	hf_folder_tokenizer(folder->path);
	write_weights(folder, "model.layers.0.self_attn.q_proj.bias");
	refused(folder, "q_proj.bias");
	const float bad = NAN;
	memcpy(folder->bytes +
	           (gguf_tensor_find(folder->gguf, "blk.1.ffn_up.weight")->data - folder->bytes) +
	           8,
	       &bad, sizeof bad);
	write_weights(folder, NULL);
	refused(folder, "not finite");
}

/* More tokens than a file may have are refused before anything is as large as they. */
static void test_largest_vocabulary(void **state) {
	(void)state;
	for (int over = 0; over < 2; over++) {
		struct hf_config config;
		struct cuttle_error error = {""};
		json_t *root = json_pack("{s[s]s:i s:i s:i s:i s:i s:f s:i}", "architectures",
		                         "LlamaForCausalLM", "hidden_size", 2, "intermediate_size",
		                         1, "num_hidden_layers", 1, "num_attention_heads", 1,
		                         "max_position_embeddings", 1, "rms_norm_eps", 1e-5,
		                         "vocab_size", GGUF_TOKENS_MOST + over);
		assert_int_equal(hf_config_read(root, &config, &error),
		                 over ? CUTTLE_MODEL : CUTTLE_OK);
		assert_true(!over == !strstr(error.message, "vocab_size"));
		json_decref(root);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rounding),
	    cmocka_unit_test(test_largest_vocabulary),
	    cmocka_unit_test(test_what_does_not_fit),
	    cmocka_unit_test(test_kinds),
	    cmocka_unit_test(test_family_settings),
	    cmocka_unit_test_setup_teardown(test_same_model, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_quantize, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
