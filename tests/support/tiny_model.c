// SPDX-License-Identifier: Apache-2.0
// How the tiny model is made: random bits for the weights, scales that give them the wanted size,
// and a vocabulary of all bytes. tiny_model.h says what is in it.
#include "tests/support/files.h"
#include "tests/support/tiny_model.h"

#include "base/utf8.h"
#include "kernels/f16.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool tiny_model_finite;

uint64_t tiny_random(uint64_t *state) {
	*state += 0x9e3779b97f4a7c15u;
	uint64_t x = *state;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static float draw_in_limits(uint64_t *state, float limit) {
	return ((float)(tiny_random(state) >> 40) * 0x1p-23f - 1.0f) * limit;
}

static void write_f16(uint8_t *to, float value) {
	const uint16_t half = f16_of_float(value);
	memcpy(to, &half, sizeof half);
}

/* Writes `rows` random rows of `row` numbers each, of about the given size, as blocks of `type`. */
static void write_tiny_matrix(struct gguf_writer *writer, const char *name,
                              enum gguf_tensor_type type, size_t row, size_t rows, float size,
                              uint64_t *state) {
	// The other bits of a block are random: its integers, and the small scales of its parts.
	// The fp16 scale is the wanted step divided by `by`, so that the weights have the wanted
	// size. The same for the fp16 minimum.
	static const struct {
		uint8_t scale;    /* byte of a block where its fp16 scale is */
		uint8_t minimum;  /* byte of a block where its fp16 minimum is; 0: it has none */
		float by;         /* divisor of the scale */
		float minimum_by; /* divisor of the minimum */
	} layouts[GGUF_TENSOR_TYPES] = {
	    [GGUF_TENSOR_Q8_0] = {0, 0, 100, 0},    [GGUF_TENSOR_Q4_0] = {0, 0, 8, 0},
	    [GGUF_TENSOR_Q4_1] = {0, 2, 8, -1},     [GGUF_TENSOR_Q5_0] = {0, 0, 16, 0},
	    [GGUF_TENSOR_Q5_1] = {0, 2, 16, -1},    [GGUF_TENSOR_IQ4_NL] = {0, 0, 100, 0},
	    [GGUF_TENSOR_IQ4_XS] = {0, 0, 2000, 0}, [GGUF_TENSOR_Q4_K] = {0, 2, 256, 32},
	    [GGUF_TENSOR_Q5_K] = {0, 2, 512, 32},   [GGUF_TENSOR_Q6_K] = {208, 0, 2048, 0},
	    [GGUF_TENSOR_Q3_K] = {108, 0, 64, 0},   [GGUF_TENSOR_Q2_K] = {80, 82, 16, 8},
	};
	uint64_t block, block_bytes;
	if (!gguf_tensor_block(type, &block, &block_bytes)) abort();
	const size_t blocks = row * rows / block, bytes = blocks * block_bytes;
	uint8_t *data = malloc(bytes);
	if (!data) abort();
	for (size_t i = 0; i < bytes; i++) data[i] = (uint8_t)tiny_random(state);
	for (size_t i = 0; i < blocks; i++) {
		uint8_t *to = data + i * block_bytes;
		const float value = draw_in_limits(state, size),
		            step = size * (0.5f + fabsf(draw_in_limits(state, 0.5f)));
		if (type == GGUF_TENSOR_F32) memcpy(to, &value, sizeof value);
		else if (type == GGUF_TENSOR_F16) write_f16(to, value);
		else if (type == GGUF_TENSOR_BF16) memcpy(to, (const uint8_t *)&value + 2, 2);
		else write_f16(to + layouts[type].scale, step / layouts[type].by);
		if (layouts[type].minimum)
			write_f16(to + layouts[type].minimum, step / layouts[type].minimum_by);
	}
	// The embedding of one token holds NaN, so that token spoils every row that reads it.
	if (!tiny_model_finite && !strcmp(name, "token_embd.weight")) {
		uint8_t *to = data + TINY_NAN * (row / block) * block_bytes;
		const uint16_t nan = 0x7fc0; // NaN as fp16, and as bf16
		if (type == GGUF_TENSOR_F32) memcpy(to, &(float){NAN}, sizeof(float));
		else memcpy(to + layouts[type].scale, &nan, sizeof nan);
	}
	gguf_write_tensor(writer, name, type, rows > 1 ? 2 : 1, (const uint64_t[]){row, rows}, data,
	                  bytes);
	free(data);
}

void tiny_vocab_write(struct gguf_writer *writer) {
	static char texts[TINY_VOCAB][16];
	static struct gguf_string tokens[TINY_VOCAB];
	static int32_t types[TINY_VOCAB];
	uint32_t extra = 0;
	for (uint32_t i = 0; i < TINY_VOCAB; i++) {
		types[i] = i < TINY_BYTES || i == TINY_NAN ? 1 : 3;
		size_t size;
		if (i < TINY_BYTES) { // GPT-2's letter for byte i
			const bool printable =
			    (i >= '!' && i <= '~') || (i >= 0xa1 && i <= 0xac) || i >= 0xae;
			size = utf8_write(printable ? i : 256 + extra++, texts[i]);
		} else {
			size = (size_t)snprintf(texts[i], sizeof texts[i], "%s",
			                        i == TINY_EOS     ? "<|im_end|>"
			                        : i == TINY_START ? "<|im_start|>"
			                                          : "zz");
		}
		tokens[i] = (struct gguf_string){texts[i], size};
	}
	gguf_write_text(writer, "tokenizer.ggml.model", "gpt2");
	gguf_write_text(writer, "tokenizer.ggml.pre", "smollm");
	gguf_write_strings(writer, "tokenizer.ggml.tokens", tokens, TINY_VOCAB);
	gguf_write_array(writer, "tokenizer.ggml.token_type", GGUF_I32, types, TINY_VOCAB);
	gguf_write_strings(writer, "tokenizer.ggml.merges",
	                   (const struct gguf_string[]){{"z z", 3}}, 1);
	gguf_write_u32(writer, "tokenizer.ggml.eos_token_id", TINY_EOS);
	gguf_write_u32(writer, "tokenizer.ggml.bos_token_id", TINY_START);
	gguf_write_bool(writer, "tokenizer.ggml.add_bos_token", false);
	gguf_write_text(writer, "tokenizer.chat_template", "<|im_start|>");
}

static uint8_t *make_tiny_model(enum gguf_tensor_type matrix, enum gguf_tensor_type embedding,
                                size_t width, float output_norm, uint64_t seed, size_t *size) {
	struct gguf_writer *writer = gguf_writer_new();
	const size_t ffn = width == TINY_WIDTH ? TINY_FFN : 2 * width;
	gguf_write_text(writer, "general.architecture", "llama");
	gguf_write_text(writer, "general.name", "tiny");
	gguf_write_u32(writer, "llama.block_count", TINY_LAYERS);
	gguf_write_u32(writer, "llama.embedding_length", (uint32_t)width);
	gguf_write_u32(writer, "llama.feed_forward_length", (uint32_t)ffn);
	gguf_write_u32(writer, "llama.context_length", TINY_CONTEXT);
	gguf_write_u32(writer, "llama.attention.head_count", TINY_HEADS);
	gguf_write_u32(writer, "llama.attention.head_count_kv", TINY_KV_HEADS);
	gguf_write_f32(writer, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
	tiny_vocab_write(writer);
	uint64_t state = seed;
	const size_t kv = width / TINY_HEADS * TINY_KV_HEADS;
	write_tiny_matrix(writer, "token_embd.weight", embedding, width, TINY_VOCAB, 1.0f, &state);
	write_tiny_matrix(writer, "output.weight", embedding, width, TINY_VOCAB, 1.0f, &state);
	write_tiny_matrix(writer, "output_norm.weight", GGUF_TENSOR_F32, width, 1, output_norm,
	                  &state);
	for (int layer = 0; layer < TINY_LAYERS; layer++) {
		const struct {
			const char *name;
			size_t row, rows;
		} tensors[] = {
		    {"attn_norm", width, 1},  {"ffn_norm", width, 1}, {"attn_q", width, width},
		    {"attn_k", width, kv},    {"attn_v", width, kv},  {"attn_output", width, width},
		    {"ffn_gate", width, ffn}, {"ffn_up", width, ffn}, {"ffn_down", ffn, width}};
		for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
			char name[64];
			snprintf(name, sizeof name, "blk.%d.%s.weight", layer, tensors[i].name);
			write_tiny_matrix(writer, name,
			                  tensors[i].rows == 1 ? GGUF_TENSOR_F32 : matrix,
			                  tensors[i].row, tensors[i].rows,
			                  tensors[i].rows == 1 ? 1.5f : 0.4f, &state);
		}
	}
	return gguf_writer_finish(&writer, size);
}

uint8_t *tiny_model_bytes(enum gguf_tensor_type matrix, enum gguf_tensor_type embedding,
                          uint64_t seed, size_t *size) {
	uint64_t block = 0, embedding_block = 0, ignored;
	if (!gguf_tensor_block(matrix, &block, &ignored) ||
	    !gguf_tensor_block(embedding, &embedding_block, &ignored))
		abort();
	return make_tiny_model(matrix, embedding,
	                       block > 32 || embedding_block > 32 ? TINY_WIDE_WIDTH : TINY_WIDTH,
	                       1.5f, seed, size);
}

uint8_t *tiny_model_of_width(enum gguf_tensor_type type, size_t width, size_t *size) {
	return make_tiny_model(type, type, width, 1.5f * TINY_WIDTH / (float)width, 1, size);
}

struct cuttle_model *tiny_model_open(enum gguf_tensor_type matrix, enum gguf_tensor_type embedding,
                                     unsigned threads) {
	size_t size;
	uint8_t *bytes = tiny_model_bytes(matrix, embedding, 1, &size);
	return tiny_model_open_bytes(bytes, size, threads);
}

struct cuttle_model *tiny_model_open_bytes(uint8_t *bytes, size_t size, unsigned threads) {
	char path[] = "/tmp/cuttle-tiny-XXXXXX";
	files_put_new(path, bytes, size);
	free(bytes);
	struct cuttle_model_params params;
	cuttle_model_params_default(&params);
	params.threads = threads;
	struct cuttle_model *model;
	struct cuttle_error error;
	if (cuttle_model_open(path, &params, &model, &error)) {
		fprintf(stderr, "tiny model: %s\n", error.message);
		abort();
	}
	unlink(path);
	return model;
}

struct cuttle_model *tiny_model_open_healthy(unsigned threads) {
	size_t size;
	uint8_t *bytes = tiny_model_bytes(GGUF_TENSOR_Q4_1, GGUF_TENSOR_F32, 1, &size);
	for (size_t i = 0; i + 4 <= size; i += 4)
		if (!memcmp(bytes + i, &(uint32_t){0x7fc00000}, 4)) memset(bytes + i, 0, 4);
	return tiny_model_open_bytes(bytes, size, threads);
}
