// SPDX-License-Identifier: Apache-2.0
#include "tests/micro_model.h"

#include <string.h>

static bool wanted(const char *name, const char *without) {
	const char *star = without ? strchr(without, '*') : NULL;
	if (star) return strncmp(name, without, (size_t)(star - without)) != 0;
	return !without || strcmp(name, without) != 0;
}

static void write_tokenizer(struct gguf_writer *writer, enum micro_tokenizer tokenizer, const char *without) {
	static const struct gguf_string spm[MICRO_VOCAB] = {{"<unk>", 5}, {"<s>", 3}, {"</s>", 4}, {"a", 1}, {"b", 1}, {"ab", 2}};
	static const struct gguf_string bpe[MICRO_VOCAB] = {
	    {"<|im_start|>", 12}, {"<|x|>", 5}, {"<|im_end|>", 10}, {"a", 1}, {"b", 1}, {"ab", 2}};
	static const int32_t spm_types[MICRO_VOCAB] = {2, 3, 3, 1, 1, 1}, bpe_types[MICRO_VOCAB] = {3, 4, 3, 1, 1, 1};
	static const float scores[MICRO_VOCAB] = {0, 0, 0, -2, -3, -1};
	const bool pieces = tokenizer == MICRO_SPM;
#define KEY(name) if (wanted("tokenizer." name, without))
	KEY("ggml.model") gguf_write_text(writer, "tokenizer.ggml.model", pieces ? "llama" : "gpt2");
	KEY("ggml.tokens") gguf_write_strings(writer, "tokenizer.ggml.tokens", pieces ? spm : bpe, MICRO_VOCAB);
	KEY("ggml.token_type") gguf_write_array(writer, "tokenizer.ggml.token_type", GGUF_I32, pieces ? spm_types : bpe_types, MICRO_VOCAB);
	if (pieces) {
		KEY("ggml.scores") gguf_write_array(writer, "tokenizer.ggml.scores", GGUF_F32, scores, MICRO_VOCAB);
		KEY("ggml.unknown_token_id") gguf_write_u32(writer, "tokenizer.ggml.unknown_token_id", 0);
	} else {
		KEY("ggml.pre") gguf_write_text(writer, "tokenizer.ggml.pre", "smollm");
		KEY("ggml.merges") gguf_write_strings(writer, "tokenizer.ggml.merges", (const struct gguf_string[]){{"a b", 3}}, 1);
	}
	KEY("ggml.bos_token_id") gguf_write_u32(writer, "tokenizer.ggml.bos_token_id", 1);
	KEY("ggml.eos_token_id") gguf_write_u32(writer, "tokenizer.ggml.eos_token_id", 2);
	KEY("chat_template") gguf_write_text(writer, "tokenizer.chat_template", "<|im_start|>");
#undef KEY
}

/* Rows of one block each: a scale and nibbles for a matrix, F32 for a vector. */
static void write_tensor(struct gguf_writer *writer, const char *name, size_t rows, const char *without) {
	static const uint8_t block[18] = {0x00, 0x2c, 0x19, 0x2a, 0x3b, 0x4c, 0x5d, 0x6e, 0x7f,
	                                  0x80, 0x91, 0xa2, 0xb3, 0xc4, 0xd5, 0xe6, 0xf7, 0x08};
	uint8_t blocks[MICRO_WIDTH * sizeof block];
	float vector[MICRO_WIDTH];
	if (!wanted(name, without)) return;
	if (!rows) {
		for (size_t i = 0; i < MICRO_WIDTH; i++) vector[i] = 1.0f;
		gguf_write_tensor(writer, name, GGUF_TENSOR_F32, 1, (const uint64_t[]){MICRO_WIDTH}, vector, sizeof vector);
		return;
	}
	for (size_t row = 0; row < rows; row++) {
		memcpy(blocks + row * sizeof block, block, sizeof block);
		blocks[row * sizeof block + 2 + row % 16] ^= (uint8_t)(row * 5 + 1);
	}
	gguf_write_tensor(writer, name, GGUF_TENSOR_Q4_0, 2, (const uint64_t[]){MICRO_WIDTH, rows}, blocks, rows * sizeof block);
}

struct gguf_writer *micro_model_begin(enum micro_tokenizer tokenizer, const char *without) {
	static const struct {
		const char *key;
		uint32_t value;
	} sizes[] = {{"llama.block_count", 1},
	             {"llama.embedding_length", MICRO_WIDTH},
	             {"llama.feed_forward_length", MICRO_WIDTH},
	             {"llama.context_length", 256},
	             {"llama.attention.head_count", MICRO_HEADS}};
	static const char *const matrices[] = {"blk.0.attn_q.weight",      "blk.0.attn_k.weight",   "blk.0.attn_v.weight",
	                                       "blk.0.attn_output.weight", "blk.0.ffn_gate.weight", "blk.0.ffn_up.weight",
	                                       "blk.0.ffn_down.weight"};
	struct gguf_writer *writer = gguf_writer_new();
	if (wanted("general.architecture", without)) gguf_write_text(writer, "general.architecture", "llama");
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (wanted(sizes[i].key, without)) gguf_write_u32(writer, sizes[i].key, sizes[i].value);
	if (wanted("llama.attention.layer_norm_rms_epsilon", without))
		gguf_write_f32(writer, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
	write_tokenizer(writer, tokenizer, without);
	write_tensor(writer, "token_embd.weight", MICRO_VOCAB, without);
	write_tensor(writer, "output_norm.weight", 0, without);
	write_tensor(writer, "blk.0.attn_norm.weight", 0, without);
	write_tensor(writer, "blk.0.ffn_norm.weight", 0, without);
	for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) write_tensor(writer, matrices[i], MICRO_WIDTH, without);
	return writer;
}

uint8_t *micro_model_bytes(enum micro_tokenizer tokenizer, size_t *size) {
	struct gguf_writer *writer = micro_model_begin(tokenizer, NULL);
	return gguf_writer_finish(&writer, size);
}
