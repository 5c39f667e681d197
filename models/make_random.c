// SPDX-License-Identifier: Apache-2.0
// Writes GGUF files for speed tests: the shapes of real models, random weights and made-up words.
// Weights go straight to the file, so little memory is needed. The same seed gives the same file.
// usage: make-random SHAPE TYPE FILE [SEED]
#include "base/utf8.h"
#include "convert/gguf_out.h"
#include "kernels/f16.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BYTES = 256,   /* tokens that stand for one byte */
	LETTERS = 26,  /* a to z */
	TENSORS = 512, /* tensors of a file, at most */
	NAME = 64,     /* bytes of a tensor's name, with its NUL */
	TEXT = 32      /* bytes of a token's text, with its NUL */
};
enum tokenizer { SENTENCEPIECE, BPE_SMOLLM, BPE_LLAMA3, BPE_QWEN };

struct shape {
	const char *name;
	const char *family; /* general.architecture */
	uint32_t layers, width, heads, kv_heads, head_size, ffn, vocab, context;
	bool tied;
	float rope_base;
	float rope_factor; /* by which the longest waves are stretched; 0 = none are */
	enum tokenizer tokenizer;
};

/* Sources: the config.json files of TinyLlama-1.1B-Chat-v1.0, Llama-3.2-1B-Instruct and
 * -3B-Instruct, Llama-3.1-8B-Instruct, SmolLM2-360M-Instruct, Qwen2.5-1.5B-Instruct, Qwen3-0.6B and
 * Qwen3-4B. width-512 is no real model: it is the smallest for blocks of 256. */
static const struct shape shapes[] = {
    {"tinyllama", "llama", 22, 2048, 32, 4, 64, 5632, 32000, 2048, false, 1e4f, 0, SENTENCEPIECE},
    {"llama-3.2-1b", "llama", 16, 2048, 32, 8, 64, 8192, 128256, 131072, true, 5e5f, 32,
     BPE_LLAMA3},
    {"llama-3.2-3b", "llama", 28, 3072, 24, 8, 128, 8192, 128256, 131072, true, 5e5f, 32,
     BPE_LLAMA3},
    {"llama-3.1-8b", "llama", 32, 4096, 32, 8, 128, 14336, 128256, 131072, false, 5e5f, 8,
     BPE_LLAMA3},
    {"qwen2.5-1.5b", "qwen2", 28, 1536, 12, 2, 128, 8960, 151936, 32768, true, 1e6f, 0, BPE_QWEN},
    {"qwen3-0.6b", "qwen3", 28, 1024, 16, 8, 128, 3072, 151936, 40960, true, 1e6f, 0, BPE_QWEN},
    {"qwen3-4b", "qwen3", 36, 2560, 32, 8, 128, 9728, 151936, 40960, true, 1e6f, 0, BPE_QWEN},
    {"smollm2-360m", "llama", 32, 960, 15, 5, 64, 2560, 49152, 8192, true, 1e5f, 0, BPE_SMOLLM},
    {"width-512", "llama", 8, 512, 8, 4, 64, 1536, 32000, 2048, true, 1e4f, 0, SENTENCEPIECE},
};

static const struct type {
	struct weight_type as;
	uint32_t scale_at; /* byte of a block where its fp16 scale is */
	float deviation;   /* standard deviation of the scale's factors when all bits are random */
	uint32_t minimum_at; /* byte of a block where its fp16 minimum is; 0: it has none */
	float minimum;       /* minimum / scale for which the weights' mean is 0 */
} types[] = {
    {{"q4_0", GGUF_TENSOR_Q4_0, 2, 32, 18}, 0, 4.6f, 0, 0},
    {{"q4_1", GGUF_TENSOR_Q4_1, 3, 32, 20}, 0, 4.6f, 2, -7.5f},
    {{"q5_0", GGUF_TENSOR_Q5_0, 8, 32, 22}, 0, 9.2f, 0, 0},
    {{"q5_1", GGUF_TENSOR_Q5_1, 9, 32, 24}, 0, 9.2f, 2, -15.5f},
    {{"q8_0", GGUF_TENSOR_Q8_0, 7, 32, 34}, 0, 73.3f, 0, 0}, // codes -127..127, no -128
    {{"q2_k", GGUF_TENSOR_Q2_K, 10, 256, 84}, 80, 13.9f, 82, 1.5f},
    {{"q3_k", GGUF_TENSOR_Q3_K, 12, 256, 110}, 108, 43.0f, 0, 0},
    {{"q4_k", GGUF_TENSOR_Q4_K, 15, 256, 144}, 0, 258.0f, 2, 7.5f},
    {{"q5_k", GGUF_TENSOR_Q5_K, 17, 256, 176}, 0, 525.0f, 2, 15.5f},
    {{"q6_k", GGUF_TENSOR_Q6_K, 18, 256, 210}, 208, 1366.0f, 0, 0},
    {{"iq4_nl", GGUF_TENSOR_IQ4_NL, 25, 32, 18}, 0, 67.4f, 0, 0},
    {{"iq4_xs", GGUF_TENSOR_IQ4_XS, 30, 256, 136}, 0, 1247.0f, 0, 0},
    {{"f16", GGUF_TENSOR_F16, 1, 1, 2}, 0, 0, 0, 0},
    {{"bf16", GGUF_TENSOR_BF16, 32, 1, 2}, 0, 0, 0, 0},
};
static const struct type f32 = {{"f32", GGUF_TENSOR_F32, 0, 1, 4}, 0, 0, 0, 0};

struct tensor {
	char name[NAME];
	const struct type *type;
	uint64_t row;  /* values of one row */
	uint64_t rows; /* 0: a vector */
	float size;    /* of a matrix: standard deviation. Of a vector: its values are 1 - size to
	                  1 + size; NAN: they are the RoPE factors */
};

struct plan {
	struct tensor tensors[TENSORS];
	size_t count;
};

static _Noreturn void fail_with(const char *message) {
	fprintf(stderr, "make-random: %s\n", message);
	exit(1);
}

/* SplitMix64. */
static uint64_t draw_bits(uint64_t *state) {
	uint64_t x = *state += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* In [-1, 1). */
static float draw_uniform(uint64_t *state) {
	return (float)(draw_bits(state) >> 40) * 0x1p-23f - 1.0f;
}

static void *reserve_zeros(size_t count, size_t size) {
	void *space = calloc(count, size);
	if (!space) fail_with("out of memory");
	return space;
}

static void write_metadata_text(struct gguf_out *out, const char *key, const char *text) {
	gguf_out_text(out, key, text, strlen(text));
}

// ---- vocabulary ----

/* Writes made-up word number `index`. A word is a letter or the mark of a space, then one letter or
 * more. The shortest words come first: aa ab .. az ba .. zz, then the space with a .. z, then aaa.
 * A word without its last letter is a word or a single letter. So merges can make every word. */
static void write_word(uint32_t index, const char *space_mark, char text[32]) {
	uint64_t words = (LETTERS + 1) * LETTERS, rest = index;
	size_t length = 2, at = 0;
	for (; rest >= words; length++, words *= LETTERS) rest -= words;
	const uint64_t first = rest / (words / (LETTERS + 1));
	rest %= words / (LETTERS + 1);
	if (first == LETTERS) at = (size_t)snprintf(text, 32, "%s", space_mark);
	else text[at++] = (char)('a' + first);
	for (size_t i = length - 1; i > 0; i--, rest /= LETTERS)
		text[at + i - 1] = (char)('a' + rest % LETTERS);
	text[at + length - 1] = '\0';
}

/* Writes GPT-2's letter for a byte. A printable byte is itself. The others are U+0100, U+0101 .. in
 * order: byte 0 is U+0100, the space (byte 32) is U+0120. */
static void write_byte_letter(uint32_t byte, char text[32]) {
	uint32_t extra = BYTES;
	for (uint32_t i = 0; i <= byte; i++) {
		const bool printable =
		    (i >= '!' && i <= '~') || (i >= 0xa1 && i <= 0xac) || i >= 0xae;
		if (i == byte) text[utf8_write(printable ? i : extra, text)] = '\0';
		extra += !printable;
	}
}

/* Which ids are which tokens. */
struct layout {
	uint32_t special;    /* first special token */
	uint32_t specials;   /* how many */
	uint32_t letters;    /* first letter */
	uint32_t words;      /* first made-up word */
	uint32_t word_count; /* how many */
	const char *space_mark;
};

static struct layout get_layout(const struct shape *shape) {
	switch (shape->tokenizer) {
	case SENTENCEPIECE: // <unk> <s> </s>, 256 bytes, the space and printable ASCII, words
		return (struct layout){0,
		                       3 + BYTES,
		                       3 + BYTES,
		                       3 + BYTES + 95,
		                       shape->vocab - 3 - BYTES - 95,
		                       "\xe2\x96\x81"};
	case BPE_SMOLLM: // specials, 256 letters for bytes, words
		return (struct layout){0,         17, 17, 17 + BYTES, shape->vocab - 17 - BYTES,
		                       "\xc4\xa0"};
	case BPE_LLAMA3: // 256 letters for bytes, words, specials
		return (struct layout){128000, 256, 0, BYTES, 128000 - BYTES, "\xc4\xa0"};
	case BPE_QWEN: // 256 letters for bytes, words, specials
		return (struct layout){151643, shape->vocab - 151643, 0,
		                       BYTES,  151643 - BYTES,        "\xc4\xa0"};
	}
	fail_with("no such tokenizer");
}

static void write_special_name(const struct shape *shape, uint32_t index, char text[32]) {
	static const char *const sentencepiece[] = {"<unk>", "<s>", "</s>"};
	static const char *const chatml_names[] = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
	static const char *const llama3[] = {
	    [0] = "<|begin_of_text|>", [1] = "<|end_of_text|>", [6] = "<|start_header_id|>",
	    [7] = "<|end_header_id|>", [8] = "<|eom_id|>",      [9] = "<|eot_id|>"};
	const char *name = NULL;
	if (shape->tokenizer == SENTENCEPIECE && index >= 3) {
		snprintf(text, 32, "<0x%02X>", index - 3);
		return;
	}
	if (shape->tokenizer == SENTENCEPIECE) name = sentencepiece[index];
	const bool chatml = shape->tokenizer == BPE_SMOLLM || shape->tokenizer == BPE_QWEN;
	if (chatml && index < 3) name = chatml_names[index];
	if (shape->tokenizer == BPE_LLAMA3 && index < 10) name = llama3[index];
	if (name) snprintf(text, 32, "%s", name);
	else snprintf(text, 32, "<|reserved_%u|>", index);
}

static void write_token_text(const struct shape *shape, const struct layout *layout, uint32_t id,
                             char text[32]) {
	const uint32_t letter = id - layout->letters;
	if (id - layout->special < layout->specials)
		write_special_name(shape, id - layout->special, text);
	else if (id - layout->words < layout->word_count)
		write_word(id - layout->words, layout->space_mark, text);
	else if (shape->tokenizer != SENTENCEPIECE) write_byte_letter(letter, text);
	else if (!letter) snprintf(text, 32, "%s", layout->space_mark);
	else snprintf(text, 32, "%c", (int)(' ' + letter));
}

static int32_t get_token_type(const struct shape *shape, const struct layout *layout, uint32_t id) {
	enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, BYTE = 6 };
	if (id - layout->special >= layout->specials) return NORMAL;
	if (shape->tokenizer != SENTENCEPIECE) return CONTROL;
	return id == 0 ? UNKNOWN : id < 3 ? CONTROL : BYTE;
}

static void write_made_up_vocab(struct gguf_out *out, const struct shape *shape) {
	static const char *const pre[] = {"default", "smollm", "llama-bpe", "qwen2"};
	// Ids of the beginning and the end of a text.
	static const uint32_t ids[][2] = {{1, 2}, {1, 2}, {128000, 128009}, {151643, 151645}};
	// Short templates: they hold the marks by which the engine tells the chat formats apart.
	static const char *const chat[] = {
	    "{{ '<|user|>' + messages[0]['content'] + '</s><|assistant|>' }}",
	    "{{ '<|im_start|>' + messages[0]['content'] + '<|im_end|>' }}",
	    "{{ '<|start_header_id|>' + messages[0]['content'] + '<|eot_id|>' }}",
	    "{{ '<|im_start|>' + messages[0]['content'] + '<|im_end|>' }}"};
	const struct layout layout = get_layout(shape);
	const bool bpe = shape->tokenizer != SENTENCEPIECE;
	char(*texts)[TEXT] = reserve_zeros(shape->vocab, TEXT);
	struct gguf_string *strings = reserve_zeros(shape->vocab, sizeof *strings);
	int32_t *kinds = reserve_zeros(shape->vocab, sizeof *kinds);
	float *scores = reserve_zeros(shape->vocab, sizeof *scores);
	for (uint32_t id = 0; id < shape->vocab; id++) {
		write_token_text(shape, &layout, id, texts[id]);
		strings[id] = (struct gguf_string){texts[id], strlen(texts[id])};
		kinds[id] = get_token_type(shape, &layout, id);
		scores[id] = id < layout.letters ? 0.0f : -(float)(id - layout.letters);
	}
	write_metadata_text(out, "tokenizer.ggml.model", bpe ? "gpt2" : "llama");
	write_metadata_text(out, "tokenizer.ggml.pre", pre[shape->tokenizer]);
	gguf_out_strings(out, "tokenizer.ggml.tokens", strings, shape->vocab);
	gguf_out_array(out, "tokenizer.ggml.token_type", GGUF_I32, kinds, shape->vocab);
	if (bpe) {
		for (uint32_t i = 0; i < layout.word_count; i++) { // the merge "ab c" makes "abc"
			char *text = texts[i];
			write_word(i, layout.space_mark, text);
			const size_t length = strlen(text);
			text[length] = text[length - 1];
			text[length - 1] = ' ';
			strings[i] = (struct gguf_string){text, length + 1};
		}
		gguf_out_strings(out, "tokenizer.ggml.merges", strings, layout.word_count);
	} else {
		gguf_out_array(out, "tokenizer.ggml.scores", GGUF_F32, scores, shape->vocab);
		gguf_out_u32(out, "tokenizer.ggml.unknown_token_id", 0);
	}
	gguf_out_u32(out, "tokenizer.ggml.bos_token_id", ids[shape->tokenizer][0]);
	gguf_out_u32(out, "tokenizer.ggml.eos_token_id", ids[shape->tokenizer][1]);
	gguf_out_bool(out, "tokenizer.ggml.add_bos_token",
	              shape->tokenizer == SENTENCEPIECE || shape->tokenizer == BPE_LLAMA3);
	write_metadata_text(out, "tokenizer.chat_template", chat[shape->tokenizer]);
	free(texts);
	free(strings);
	free(kinds);
	free(scores);
}

// ---- tensors ----

static void plan_tensor(struct plan *plan, const char *name, const struct type *type, uint64_t row,
                        uint64_t rows, float size) {
	struct tensor *tensor = &plan->tensors[plan->count++];
	*tensor = (struct tensor){.type = type, .row = row, .rows = rows, .size = size};
	snprintf(tensor->name, sizeof tensor->name, "%s", name);
}

/* Lists the tensors. A matrix keeps the size of normalised inputs: with rows of 2048 values, its
 * standard deviation is 1 / sqrt(2048). Then attention scores vary by about 1. The head's is three
 * times that, so logits vary by about 3. An embedding that is not the head too has 1.
 * Biases are near 1, like norms: no time depends on them. */
static void plan_all_tensors(struct plan *plan, const struct shape *shape,
                             const struct type *type) {
	const float by_width = 1.0f / sqrtf((float)shape->width),
	            by_ffn = 1.0f / sqrtf((float)shape->ffn),
	            by_heads = 1.0f / sqrtf((float)(shape->head_size * shape->heads));
	const uint64_t q = (uint64_t)shape->head_size * shape->heads,
	               kv = (uint64_t)shape->head_size * shape->kv_heads;
	const bool biases = !strcmp(shape->family, "qwen2"),
	           head_norms = !strcmp(shape->family, "qwen3");
	const uint64_t head_norm = head_norms ? shape->head_size : 0;
	plan_tensor(plan, "token_embd.weight", type, shape->width, shape->vocab,
	            shape->tied ? 3.0f * by_width : 1.0f);
	plan_tensor(plan, "output_norm.weight", &f32, shape->width, 0, 0.1f);
	if (!shape->tied)
		plan_tensor(plan, "output.weight", type, shape->width, shape->vocab,
		            3.0f * by_width);
	if (shape->rope_factor > 0)
		plan_tensor(plan, "rope_freqs.weight", &f32, shape->head_size / 2, 0, NAN);
	for (uint32_t layer = 0; layer < shape->layers; layer++) {
		const struct {
			const char *name;
			uint64_t row; /* 0 = this family has none */
			uint64_t rows;
			float size;
		} parts[] = {{"attn_norm.weight", shape->width, 0, 0.1f},
		             {"attn_q.weight", shape->width, q, by_width},
		             {"attn_k.weight", shape->width, kv, by_width},
		             {"attn_v.weight", shape->width, kv, by_width},
		             {"attn_output.weight", q, shape->width, by_heads},
		             {"ffn_norm.weight", shape->width, 0, 0.1f},
		             {"ffn_gate.weight", shape->width, shape->ffn, by_width},
		             {"ffn_up.weight", shape->width, shape->ffn, by_width},
		             {"ffn_down.weight", shape->ffn, shape->width, by_ffn},
		             {"attn_q.bias", biases ? q : 0, 0, 0.1f},
		             {"attn_k.bias", biases ? kv : 0, 0, 0.1f},
		             {"attn_v.bias", biases ? kv : 0, 0, 0.1f},
		             {"attn_q_norm.weight", head_norm, 0, 0.1f},
		             {"attn_k_norm.weight", head_norm, 0, 0.1f}};
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
			char name[NAME];
			snprintf(name, sizeof name, "blk.%u.%s", layer, parts[i].name);
			if (!parts[i].row) continue;
			plan_tensor(plan, name, parts[i].rows ? type : &f32, parts[i].row,
			            parts[i].rows, parts[i].size);
		}
	}
}

static void store_f16(uint8_t *to, float value) {
	const uint16_t half = f16_of_float(value);
	memcpy(to, &half, sizeof half);
}

/* Fills one block. Its integers are random bits, uniform in their range. Its scale, of either sign,
 * gives the weights the standard deviation `size`. */
static void fill_random_block(uint8_t *to, const struct type *type, float size, uint64_t *state) {
	const float sign = draw_bits(state) & 1 ? size : -size,
	            scale = sign * (1.0f + 0.25f * draw_uniform(state));
	for (size_t i = 0; i + 8 <= type->as.block_bytes; i += 8) {
		const uint64_t bits = draw_bits(state);
		memcpy(to + type->as.block_bytes - 8 - i, &bits, sizeof bits);
	}
	// Where the scale is not in front, the first bytes are integers, too.
	if (type->scale_at) {
		const uint64_t bits = draw_bits(state);
		memcpy(to, &bits, type->as.block_bytes % 8);
	}
	if (type->as.block == 1) { // uniform of standard deviation `size`
		const float value = draw_uniform(state) * size * 1.7320508f;
		if (type->as.id == GGUF_TENSOR_F16) store_f16(to, value);
		else memcpy(to, (const uint8_t *)&value + 2, 2);
		return;
	}
	store_f16(to + type->scale_at, scale / type->deviation);
	if (type->minimum_at)
		store_f16(to + type->minimum_at, type->minimum * scale / type->deviation);
	for (size_t i = 2; type->as.id == GGUF_TENSOR_Q8_0 && i < type->as.block_bytes; i++)
		to[i] += to[i] == 0x80;
}

/* Source: the "llama3" RoPE scaling of Llama's config.json files (low 1, high 4, 8192 positions;
 * the factor is 32 in 3.2 and 8 in 3.1). */
static float compute_rope_factor(const struct shape *shape, uint64_t index, uint64_t count) {
	const double wavelength = 2.0 * M_PI * pow(shape->rope_base, (double)index / (double)count),
	             positions = 8192.0;
	if (wavelength < positions / 4.0) return 1.0f;
	if (wavelength > positions / 1.0) return shape->rope_factor;
	const double smooth = (positions / wavelength - 1.0) / (4.0 - 1.0);
	return (float)(1.0 / ((1.0 - smooth) / (double)shape->rope_factor + smooth));
}

static enum cuttle_status write_random_tensor(struct gguf_out *out, const struct shape *shape,
                                              const struct tensor *tensor, uint64_t *state,
                                              struct cuttle_error *error) {
	static uint8_t buffer[40 << 10]; // a row of the widest matrix fits
	const uint64_t blocks = tensor->row / tensor->type->as.block;
	enum cuttle_status status = CUTTLE_OK;
	for (uint64_t row = 0; !status && row < tensor->rows; row++) {
		for (uint64_t i = 0; i < blocks; i++)
			fill_random_block(buffer + i * tensor->type->as.block_bytes, tensor->type,
			                  tensor->size, state);
		status = gguf_out_data(out, buffer, blocks * tensor->type->as.block_bytes, error);
	}
	for (uint64_t i = 0; !status && !tensor->rows && i < tensor->row; i++) {
		const float value = isnan(tensor->size) ? compute_rope_factor(shape, i, tensor->row)
		                                        : 1.0f + tensor->size * draw_uniform(state);
		status = gguf_out_data(out, &value, sizeof value, error);
	}
	return status ? status : gguf_out_pad(out, error);
}

static void write_model_metadata(struct gguf_out *out, const struct shape *shape,
                                 const struct type *type) {
	char name[NAME];
	snprintf(name, sizeof name, "random %s %s", shape->name, type->as.name);
	write_metadata_text(out, "general.architecture", shape->family);
	write_metadata_text(out, "general.name", name);
	gguf_out_u32(out, "general.file_type", type->as.file_type);
	gguf_out_u32(out, "general.quantization_version", 2);
	const struct {
		const char *key;
		uint32_t value;
	} numbers[] = {{"block_count", shape->layers},
	               {"context_length", shape->context},
	               {"embedding_length", shape->width},
	               {"feed_forward_length", shape->ffn},
	               {"attention.head_count", shape->heads},
	               {"attention.head_count_kv", shape->kv_heads},
	               {"attention.key_length", shape->head_size},
	               {"attention.value_length", shape->head_size},
	               {"rope.dimension_count", shape->head_size},
	               {"vocab_size", shape->vocab}};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		snprintf(name, sizeof name, "%s.%s", shape->family, numbers[i].key);
		gguf_out_u32(out, name, numbers[i].value);
	}
	snprintf(name, sizeof name, "%s.attention.layer_norm_rms_epsilon", shape->family);
	gguf_out_f32(out, name, 1e-5f);
	snprintf(name, sizeof name, "%s.rope.freq_base", shape->family);
	gguf_out_f32(out, name, shape->rope_base);
	write_made_up_vocab(out, shape);
}

static void write_random_model(const char *path, const struct shape *shape, const struct type *type,
                               uint64_t seed) {
	static struct plan plan;
	struct sink sink;
	struct cuttle_error error;
	struct gguf_out *out = gguf_out_new();
	if (!out) fail_with("out of memory");
	plan_all_tensors(&plan, shape, type);
	write_model_metadata(out, shape, type);
	for (size_t i = 0; i < plan.count; i++) {
		const struct tensor *tensor = &plan.tensors[i];
		gguf_out_tensor(out, (struct gguf_string){tensor->name, strlen(tensor->name)},
		                &tensor->type->as, tensor->rows ? 2 : 1,
		                (const uint64_t[]){tensor->row, tensor->rows});
	}
	enum cuttle_status status = sink_open(&sink, path, &error);
	if (status) fail_with(error.message);
	status = gguf_out_begin(out, &sink, &error);
	for (size_t i = 0; !status && i < plan.count; i++)
		status = write_random_tensor(out, shape, &plan.tensors[i], &seed, &error);
	if (sink_close(&sink, status, &error)) fail_with(error.message);
	gguf_out_free(&out);
}

int main(int argc, char **argv) {
	const struct shape *shape = NULL;
	const struct type *type = NULL;
	for (size_t i = 0; argc >= 4 && i < sizeof shapes / sizeof *shapes; i++)
		if (!strcmp(argv[1], shapes[i].name)) shape = &shapes[i];
	for (size_t i = 0; argc >= 4 && i < sizeof types / sizeof *types; i++)
		if (!strcmp(argv[2], types[i].as.name)) type = &types[i];
	if (!shape || !type || argc > 5) {
		fprintf(stderr, "usage: make-random SHAPE TYPE FILE [SEED]\nSHAPE is one of");
		for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
			fprintf(stderr, " %s", shapes[i].name);
		fprintf(stderr, "\nTYPE is one of");
		for (size_t i = 0; i < sizeof types / sizeof *types; i++)
			fprintf(stderr, " %s", types[i].as.name);
		fprintf(stderr, "\n");
		return 2;
	}
	if (shape->width % type->as.block || shape->ffn % type->as.block ||
	    shape->heads * shape->head_size % type->as.block)
		fail_with("the rows of this shape are not whole blocks of this type");
	write_random_model(argv[3], shape, type, argc > 4 ? strtoull(argv[4], NULL, 10) : 1);
	return 0;
}
