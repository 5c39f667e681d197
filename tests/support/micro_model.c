// SPDX-License-Identifier: Apache-2.0
// Writes the smallest GGUF model that opens; micro_model.h says what is in it.
#include "tests/support/micro_model.h"

#include <string.h>

static bool is_kept(const char *name, const char *without) {
	const char *star = without ? strchr(without, '*') : NULL;
	if (star) return strncmp(name, without, (size_t)(star - without)) != 0;
	return !without || strcmp(name, without) != 0;
}

static void write_micro_tokenizer(struct gguf_writer *writer, enum micro_tokenizer tokenizer,
                                  const char *without) {
	static const struct gguf_string spm[MICRO_VOCAB] = {{"<unk>", 5}, {"<s>", 3}, {"</s>", 4},
	                                                    {"a", 1},     {"b", 1},   {"ab", 2}};
	static const struct gguf_string bpe[MICRO_VOCAB] = {
	    {"<|im_start|>", 12}, {"<|x|>", 5}, {"<|im_end|>", 10}, {"a", 1}, {"b", 1}, {"ab", 2}};
	static const int32_t spm_types[MICRO_VOCAB] = {2, 3, 3, 1, 1, 1},
	                     bpe_types[MICRO_VOCAB] = {3, 4, 3, 1, 1, 1};
	static const float scores[MICRO_VOCAB] = {0, 0, 0, -2, -3, -1};
	const bool pieces = tokenizer == MICRO_SPM;
#define KEY(name) if (is_kept("tokenizer." name, without))
	KEY("ggml.model")
	gguf_write_text(writer, "tokenizer.ggml.model", pieces ? "llama" : "gpt2");
	KEY("ggml.tokens")
	gguf_write_strings(writer, "tokenizer.ggml.tokens", pieces ? spm : bpe, MICRO_VOCAB);
	KEY("ggml.token_type")
	gguf_write_array(writer, "tokenizer.ggml.token_type", GGUF_I32,
	                 pieces ? spm_types : bpe_types, MICRO_VOCAB);
	if (pieces) {
		KEY("ggml.scores")
		gguf_write_array(writer, "tokenizer.ggml.scores", GGUF_F32, scores, MICRO_VOCAB);
		KEY("ggml.unknown_token_id")
		gguf_write_u32(writer, "tokenizer.ggml.unknown_token_id", 0);
	} else {
		KEY("ggml.pre") gguf_write_text(writer, "tokenizer.ggml.pre", "smollm");
		KEY("ggml.merges")
		gguf_write_strings(writer, "tokenizer.ggml.merges",
		                   (const struct gguf_string[]){{"a b", 3}}, 1);
	}
	KEY("ggml.bos_token_id") gguf_write_u32(writer, "tokenizer.ggml.bos_token_id", 1);
	KEY("ggml.eos_token_id") gguf_write_u32(writer, "tokenizer.ggml.eos_token_id", 2);
	KEY("chat_template") gguf_write_text(writer, "tokenizer.chat_template", "<|im_start|>");
#undef KEY
}

/* Writes a matrix of `rows` rows, each one block of Q4_0, or with 0 rows a vector of F32. */
static void write_micro_tensor(struct gguf_writer *writer, const char *name, size_t rows,
                               const char *without) {
	static const uint8_t block[18] = {0x00, 0x2c, 0x19, 0x2a, 0x3b, 0x4c, 0x5d, 0x6e, 0x7f,
	                                  0x80, 0x91, 0xa2, 0xb3, 0xc4, 0xd5, 0xe6, 0xf7, 0x08};
	uint8_t blocks[MICRO_WIDTH * sizeof block];
	float vector[MICRO_WIDTH];
	if (!is_kept(name, without)) return;
	if (!rows) {
		for (size_t i = 0; i < MICRO_WIDTH; i++) vector[i] = 1.0f;
		gguf_write_tensor(writer, name, GGUF_TENSOR_F32, 1, (const uint64_t[]){MICRO_WIDTH},
		                  vector, sizeof vector);
		return;
	}
	for (size_t row = 0; row < rows; row++) {
		memcpy(blocks + row * sizeof block, block, sizeof block);
		blocks[row * sizeof block + 2 + row % 16] ^= (uint8_t)(row * 5 + 1);
	}
	gguf_write_tensor(writer, name, GGUF_TENSOR_Q4_0, 2, (const uint64_t[]){MICRO_WIDTH, rows},
	                  blocks, rows * sizeof block);
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
	static const char *const matrices[] = {"blk.0.attn_q.weight",   "blk.0.attn_k.weight",
	                                       "blk.0.attn_v.weight",   "blk.0.attn_output.weight",
	                                       "blk.0.ffn_gate.weight", "blk.0.ffn_up.weight",
	                                       "blk.0.ffn_down.weight"};
	struct gguf_writer *writer = gguf_writer_new();
	if (is_kept("general.architecture", without))
		gguf_write_text(writer, "general.architecture", "llama");
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (is_kept(sizes[i].key, without))
			gguf_write_u32(writer, sizes[i].key, sizes[i].value);
	if (is_kept("llama.attention.layer_norm_rms_epsilon", without))
		gguf_write_f32(writer, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
	write_micro_tokenizer(writer, tokenizer, without);
	write_micro_tensor(writer, "token_embd.weight", MICRO_VOCAB, without);
	write_micro_tensor(writer, "output_norm.weight", 0, without);
	write_micro_tensor(writer, "blk.0.attn_norm.weight", 0, without);
	write_micro_tensor(writer, "blk.0.ffn_norm.weight", 0, without);
	for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
		write_micro_tensor(writer, matrices[i], MICRO_WIDTH, without);
	return writer;
}

uint8_t *micro_model_bytes(enum micro_tokenizer tokenizer, size_t *size) {
	struct gguf_writer *writer = micro_model_begin(tokenizer, NULL);
	return gguf_writer_finish(&writer, size);
}
