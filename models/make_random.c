// SPDX-License-Identifier: Apache-2.0
// Writes GGUF files of real models' shapes with random weights and a made-up vocabulary, for speed tests. Streams: memory stays small.
// usage: make-random SHAPE TYPE FILE [SEED]
#include "base/utf8.h"
#include "engine/gguf.h"
#include "kernels/f16.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 32, BYTES = 256, LETTERS = 26, TENSORS = 512, NAME = 64 };
enum tokenizer { SENTENCEPIECE, BPE_SMOLLM, BPE_LLAMA3 };

struct shape {
	const char *name;
	uint32_t layers, width, heads, kv_heads, ffn, vocab, context;
	bool tied;
	float rope_base;
	bool rope_factors;
	enum tokenizer tokenizer;
};

/* Sources: the config.json files of TinyLlama-1.1B-Chat-v1.0, Llama-3.2-1B-Instruct and SmolLM2-360M-Instruct. */
static const struct shape shapes[] = {
    {"tinyllama", 22, 2048, 32, 4, 5632, 32000, 2048, false, 1e4f, false, SENTENCEPIECE},
    {"llama-3.2-1b", 16, 2048, 32, 8, 8192, 128256, 131072, true, 5e5f, true, BPE_LLAMA3},
    {"width-512", 8, 512, 8, 4, 1536, 32000, 2048, true, 1e4f, false, SENTENCEPIECE}, // nobody's: the smallest for blocks of 256
    {"smollm2-360m", 32, 960, 15, 5, 2560, 49152, 8192, true, 1e5f, false, BPE_SMOLLM},
};

static const struct type {
	const char *name;
	enum gguf_tensor_type type;
	uint32_t block, block_bytes;
	uint32_t file_type; /* general.file_type, llama.cpp's number for people */
	// Of blocks: where the fp16 scale is; standard deviation of what it multiplies when all bits are random; where the fp16 minimum is
	// and its size in scales, so that the mean is 0.
	uint32_t scale_at;
	float deviation;
	uint32_t minimum_at;
	float minimum;
} types[] = {
    {"q4_0", GGUF_TENSOR_Q4_0, 32, 18, 2, 0, 4.6f, 0, 0},
    {"q4_1", GGUF_TENSOR_Q4_1, 32, 20, 3, 0, 4.6f, 2, -7.5f},
    {"q5_0", GGUF_TENSOR_Q5_0, 32, 22, 8, 0, 9.2f, 0, 0},
    {"q5_1", GGUF_TENSOR_Q5_1, 32, 24, 9, 0, 9.2f, 2, -15.5f},
    {"q8_0", GGUF_TENSOR_Q8_0, 32, 34, 7, 0, 73.3f, 0, 0}, // quantisers write -127..127
    {"q2_k", GGUF_TENSOR_Q2_K, 256, 84, 10, 80, 13.9f, 82, 1.5f},
    {"q3_k", GGUF_TENSOR_Q3_K, 256, 110, 12, 108, 43.0f, 0, 0},
    {"q4_k", GGUF_TENSOR_Q4_K, 256, 144, 15, 0, 258.0f, 2, 7.5f},
    {"q5_k", GGUF_TENSOR_Q5_K, 256, 176, 17, 0, 525.0f, 2, 15.5f},
    {"q6_k", GGUF_TENSOR_Q6_K, 256, 210, 18, 208, 1366.0f, 0, 0},
    {"iq4_nl", GGUF_TENSOR_IQ4_NL, 32, 18, 25, 0, 67.4f, 0, 0},
    {"iq4_xs", GGUF_TENSOR_IQ4_XS, 256, 136, 30, 0, 1247.0f, 0, 0},
    {"f16", GGUF_TENSOR_F16, 1, 2, 1, 0, 0, 0, 0},
    {"bf16", GGUF_TENSOR_BF16, 1, 2, 32, 0, 0, 0, 0},
};
static const struct type f32 = {"f32", GGUF_TENSOR_F32, 1, 4, 0, 0, 0, 0, 0};

struct tensor {
	char name[NAME];
	const struct type *type;
	uint64_t row, rows; /* rows 0: a vector */
	float size;         /* standard deviation of a matrix; NAN: the vector is the RoPE factors */
};

struct plan {
	struct tensor tensors[TENSORS];
	size_t count;
};

static _Noreturn void fail(const char *message) {
	fprintf(stderr, "make-random: %s\n", message);
	exit(1);
}

/* SplitMix64. */
static uint64_t draw(uint64_t *state) {
	uint64_t x = *state += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* In [-1, 1). */
static float uniform(uint64_t *state) {
	return (float)(draw(state) >> 40) * 0x1p-23f - 1.0f;
}

// ---- values ---------------------------------------------------------------------------------------------------------------------------

static void put(FILE *file, const void *data, size_t size) {
	if (fwrite(data, 1, size, file) != size) fail("cannot write the file");
}
static void put_u32(FILE *file, uint32_t value) {
	put(file, &value, sizeof value);
}
static void put_u64(FILE *file, uint64_t value) {
	put(file, &value, sizeof value);
}
static void put_text(FILE *file, const char *text) {
	put_u64(file, strlen(text));
	put(file, text, strlen(text));
}

/* The metadata; `count` entries so far. */
struct entries {
	FILE *file;
	uint64_t count;
};

static void entry(struct entries *entries, const char *key, enum gguf_type type) {
	put_text(entries->file, key);
	put_u32(entries->file, type);
	entries->count++;
}
static void entry_text(struct entries *entries, const char *key, const char *value) {
	entry(entries, key, GGUF_STRING);
	put_text(entries->file, value);
}
static void entry_u32(struct entries *entries, const char *key, uint32_t value) {
	entry(entries, key, GGUF_U32);
	put_u32(entries->file, value);
}
static void entry_f32(struct entries *entries, const char *key, float value) {
	entry(entries, key, GGUF_F32);
	put(entries->file, &value, sizeof value);
}
static void entry_bool(struct entries *entries, const char *key, bool value) {
	entry(entries, key, GGUF_BOOL);
	put(entries->file, &(uint8_t){value}, 1);
}
static void entry_array(struct entries *entries, const char *key, enum gguf_type type, uint64_t count) {
	entry(entries, key, GGUF_ARRAY);
	put_u32(entries->file, type);
	put_u64(entries->file, count);
}

// ---- vocabulary -----------------------------------------------------------------------------------------------------------------------

/* A made-up word, shortest first: a letter or the mark of a space, then letters. Every word without its last letter is a word or a single
 * letter, so that pairs can be merged up to it. The result is at least two letters long. */
static void word(uint32_t index, const char *space_mark, char text[32]) {
	uint64_t words = (LETTERS + 1) * LETTERS, rest = index;
	size_t length = 2, at = 0;
	for (; rest >= words; length++, words *= LETTERS) rest -= words;
	const uint64_t first = rest / (words / (LETTERS + 1));
	rest %= words / (LETTERS + 1);
	if (first == LETTERS) at = (size_t)snprintf(text, 32, "%s", space_mark);
	else text[at++] = (char)('a' + first);
	for (size_t i = length - 1; i > 0; i--, rest /= LETTERS) text[at + i - 1] = (char)('a' + rest % LETTERS);
	text[at + length - 1] = '\0';
}

/* GPT-2's letter for a byte: printable bytes are themselves, the others take the letters from U+0100 on. */
static void byte_letter(uint32_t byte, char text[32]) {
	uint32_t extra = BYTES;
	for (uint32_t i = 0; i <= byte; i++) {
		const bool printable = (i >= '!' && i <= '~') || (i >= 0xa1 && i <= 0xac) || i >= 0xae;
		if (i == byte) text[utf8_encode(printable ? i : extra, text)] = '\0';
		extra += !printable;
	}
}

/* Where the made-up words stand, behind or before the special tokens. */
struct layout {
	uint32_t special, specials, letters, words, word_count;
	const char *space_mark;
};

static struct layout layout_of(const struct shape *shape) {
	switch (shape->tokenizer) {
	case SENTENCEPIECE: // <unk> <s> </s>, 256 bytes, the space and printable ASCII, words
		return (struct layout){0, 3 + BYTES, 3 + BYTES, 3 + BYTES + 95, shape->vocab - 3 - BYTES - 95, "\xe2\x96\x81"};
	case BPE_SMOLLM: // specials, 256 letters for bytes, words
		return (struct layout){0, 17, 17, 17 + BYTES, shape->vocab - 17 - BYTES, "\xc4\xa0"};
	case BPE_LLAMA3: // 256 letters for bytes, words, specials
		return (struct layout){128000, 256, 0, BYTES, 128000 - BYTES, "\xc4\xa0"};
	}
	fail("no such tokenizer");
}

static void special_name(const struct shape *shape, uint32_t index, char text[32]) {
	static const char *const sentencepiece[] = {"<unk>", "<s>", "</s>"};
	static const char *const smollm[] = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
	static const char *const llama3[] = {[0] = "<|begin_of_text|>", [1] = "<|end_of_text|>", [6] = "<|start_header_id|>",
	                                     [7] = "<|end_header_id|>", [8] = "<|eom_id|>",      [9] = "<|eot_id|>"};
	const char *name = NULL;
	if (shape->tokenizer == SENTENCEPIECE && index >= 3) {
		snprintf(text, 32, "<0x%02X>", index - 3);
		return;
	}
	if (shape->tokenizer == SENTENCEPIECE) name = sentencepiece[index];
	if (shape->tokenizer == BPE_SMOLLM && index < 3) name = smollm[index];
	if (shape->tokenizer == BPE_LLAMA3 && index < 10) name = llama3[index];
	if (name) snprintf(text, 32, "%s", name);
	else snprintf(text, 32, "<|reserved_%u|>", index);
}

static void token_text(const struct shape *shape, const struct layout *layout, uint32_t id, char text[32]) {
	const uint32_t letter = id - layout->letters;
	if (id - layout->special < layout->specials) special_name(shape, id - layout->special, text);
	else if (id - layout->words < layout->word_count) word(id - layout->words, layout->space_mark, text);
	else if (shape->tokenizer != SENTENCEPIECE) byte_letter(letter, text);
	else if (!letter) snprintf(text, 32, "%s", layout->space_mark);
	else snprintf(text, 32, "%c", (int)(' ' + letter));
}

static int32_t token_type(const struct shape *shape, const struct layout *layout, uint32_t id) {
	enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, BYTE = 6 };
	if (id - layout->special >= layout->specials) return NORMAL;
	if (shape->tokenizer != SENTENCEPIECE) return CONTROL;
	return id == 0 ? UNKNOWN : id < 3 ? CONTROL : BYTE;
}

static void write_vocab(struct entries *entries, const struct shape *shape) {
	static const char *const pre[] = {"default", "smollm", "llama-bpe"};
	static const uint32_t ids[][2] = {{1, 2}, {1, 2}, {128000, 128009}}; // beginning and end of a text
	// What tells the chat formats apart is enough of a template.
	static const char *const chat[] = {"{{ '<|user|>' + messages[0]['content'] + '</s><|assistant|>' }}",
	                                   "{{ '<|im_start|>' + messages[0]['content'] + '<|im_end|>' }}",
	                                   "{{ '<|start_header_id|>' + messages[0]['content'] + '<|eot_id|>' }}"};
	const struct layout layout = layout_of(shape);
	const bool bpe = shape->tokenizer != SENTENCEPIECE;
	char text[32];
	entry_text(entries, "tokenizer.ggml.model", bpe ? "gpt2" : "llama");
	entry_text(entries, "tokenizer.ggml.pre", pre[shape->tokenizer]);
	entry_array(entries, "tokenizer.ggml.tokens", GGUF_STRING, shape->vocab);
	for (uint32_t id = 0; id < shape->vocab; id++) {
		token_text(shape, &layout, id, text);
		put_text(entries->file, text);
	}
	entry_array(entries, "tokenizer.ggml.token_type", GGUF_I32, shape->vocab);
	for (uint32_t id = 0; id < shape->vocab; id++) put_u32(entries->file, (uint32_t)token_type(shape, &layout, id));
	if (bpe) {
		entry_array(entries, "tokenizer.ggml.merges", GGUF_STRING, layout.word_count);
		for (uint32_t i = 0; i < layout.word_count; i++) {
			word(i, layout.space_mark, text);
			const size_t length = strlen(text);
			text[length] = text[length - 1];
			text[length - 1] = ' ';
			text[length + 1] = '\0';
			put_text(entries->file, text);
		}
	} else {
		entry_array(entries, "tokenizer.ggml.scores", GGUF_F32, shape->vocab);
		for (uint32_t id = 0; id < shape->vocab; id++) {
			const float score = id < layout.letters ? 0.0f : -(float)(id - layout.letters);
			put(entries->file, &score, sizeof score);
		}
		entry_u32(entries, "tokenizer.ggml.unknown_token_id", 0);
	}
	entry_u32(entries, "tokenizer.ggml.bos_token_id", ids[shape->tokenizer][0]);
	entry_u32(entries, "tokenizer.ggml.eos_token_id", ids[shape->tokenizer][1]);
	entry_bool(entries, "tokenizer.ggml.add_bos_token", shape->tokenizer != BPE_SMOLLM);
	entry_text(entries, "tokenizer.chat_template", chat[shape->tokenizer]);
}

// ---- tensors --------------------------------------------------------------------------------------------------------------------------

static void add(struct plan *plan, const char *name, const struct type *type, uint64_t row, uint64_t rows, float size) {
	struct tensor *tensor = &plan->tensors[plan->count++];
	*tensor = (struct tensor){.type = type, .row = row, .rows = rows, .size = size};
	snprintf(tensor->name, sizeof tensor->name, "%s.weight", name);
}

/* Matrices keep the size of normalised inputs, so that attention scores vary by about 1; the head spreads logits by about 3. */
static void plan_tensors(struct plan *plan, const struct shape *shape, const struct type *type) {
	const float by_width = 1.0f / sqrtf((float)shape->width), by_ffn = 1.0f / sqrtf((float)shape->ffn);
	const uint64_t kv = shape->width / shape->heads * shape->kv_heads;
	add(plan, "token_embd", type, shape->width, shape->vocab, shape->tied ? 3.0f * by_width : 1.0f);
	add(plan, "output_norm", &f32, shape->width, 0, 0.1f);
	if (!shape->tied) add(plan, "output", type, shape->width, shape->vocab, 3.0f * by_width);
	if (shape->rope_factors) add(plan, "rope_freqs", &f32, shape->width / shape->heads / 2, 0, NAN);
	for (uint32_t layer = 0; layer < shape->layers; layer++) {
		const struct {
			const char *name;
			uint64_t row, rows;
			float size;
		} parts[] = {{"attn_norm", shape->width, 0, 0.1f},
		             {"attn_q", shape->width, shape->width, by_width},
		             {"attn_k", shape->width, kv, by_width},
		             {"attn_v", shape->width, kv, by_width},
		             {"attn_output", shape->width, shape->width, by_width},
		             {"ffn_norm", shape->width, 0, 0.1f},
		             {"ffn_gate", shape->width, shape->ffn, by_width},
		             {"ffn_up", shape->width, shape->ffn, by_width},
		             {"ffn_down", shape->ffn, shape->width, by_ffn}};
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
			char name[NAME / 2];
			snprintf(name, sizeof name, "blk.%u.%s", layer, parts[i].name);
			add(plan, name, parts[i].rows ? type : &f32, parts[i].row, parts[i].rows, parts[i].size);
		}
	}
}

static uint64_t tensor_bytes(const struct tensor *tensor) {
	return tensor->row * (tensor->rows ? tensor->rows : 1) / tensor->type->block * tensor->type->block_bytes;
}

static void fill_f16(uint8_t *to, float value) {
	const uint16_t half = f16_of_float(value);
	memcpy(to, &half, sizeof half);
}

/* Random bits are the block's integers, uniform in their range; a scale of either sign gives them standard deviation `size`. */
static void fill_block(uint8_t *to, const struct type *type, float size, uint64_t *state) {
	const float sign = draw(state) & 1 ? size : -size, scale = sign * (1.0f + 0.25f * uniform(state));
	for (size_t i = 0; i + 8 <= type->block_bytes; i += 8) {
		const uint64_t bits = draw(state);
		memcpy(to + type->block_bytes - 8 - i, &bits, sizeof bits);
	}
	if (type->scale_at) { // the first bytes are integers too
		const uint64_t bits = draw(state);
		memcpy(to, &bits, type->block_bytes % 8);
	}
	if (type->block == 1) { // uniform of standard deviation `size`
		const float value = uniform(state) * size * 1.7320508f;
		if (type->type == GGUF_TENSOR_F16) fill_f16(to, value);
		else memcpy(to, (const uint8_t *)&value + 2, 2);
		return;
	}
	fill_f16(to + type->scale_at, scale / type->deviation);
	if (type->minimum_at) fill_f16(to + type->minimum_at, type->minimum * scale / type->deviation);
	for (size_t i = 2; type->type == GGUF_TENSOR_Q8_0 && i < type->block_bytes; i++) to[i] += to[i] == 0x80;
}

/* Source: the "llama3" RoPE scaling of Llama-3.2-1B's config.json (factor 32, low 1, high 4, 8192 positions). */
static float rope_factor(const struct shape *shape, uint64_t index, uint64_t count) {
	const double wavelength = 2.0 * M_PI * pow(shape->rope_base, (double)index / (double)count), positions = 8192.0;
	if (wavelength < positions / 4.0) return 1.0f;
	if (wavelength > positions / 1.0) return 32.0f;
	const double smooth = (positions / wavelength - 1.0) / (4.0 - 1.0);
	return (float)(1.0 / ((1.0 - smooth) / 32.0 + smooth));
}

static void write_tensor(FILE *file, const struct shape *shape, const struct tensor *tensor, uint64_t *state) {
	static uint8_t buffer[40 << 10]; // a row of the widest matrix fits
	const uint64_t blocks = tensor->row / tensor->type->block;
	for (uint64_t row = 0; row < tensor->rows; row++) {
		for (uint64_t i = 0; i < blocks; i++) fill_block(buffer + i * tensor->type->block_bytes, tensor->type, tensor->size, state);
		put(file, buffer, blocks * tensor->type->block_bytes);
	}
	for (uint64_t i = 0; !tensor->rows && i < tensor->row; i++) {
		const float value = isnan(tensor->size) ? rope_factor(shape, i, tensor->row) : 1.0f + tensor->size * uniform(state);
		put(file, &value, sizeof value);
	}
	static const uint8_t zeros[ALIGNMENT];
	put(file, zeros, (ALIGNMENT - tensor_bytes(tensor) % ALIGNMENT) % ALIGNMENT);
}

static void write_metadata(struct entries *entries, const struct shape *shape, const struct type *type) {
	char name[NAME];
	snprintf(name, sizeof name, "random %s %s", shape->name, type->name);
	entry_text(entries, "general.architecture", "llama");
	entry_text(entries, "general.name", name);
	entry_u32(entries, "general.file_type", type->file_type);
	entry_u32(entries, "general.quantization_version", 2);
	entry_u32(entries, "llama.block_count", shape->layers);
	entry_u32(entries, "llama.context_length", shape->context);
	entry_u32(entries, "llama.embedding_length", shape->width);
	entry_u32(entries, "llama.feed_forward_length", shape->ffn);
	entry_u32(entries, "llama.attention.head_count", shape->heads);
	entry_u32(entries, "llama.attention.head_count_kv", shape->kv_heads);
	entry_f32(entries, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
	entry_u32(entries, "llama.rope.dimension_count", shape->width / shape->heads);
	entry_f32(entries, "llama.rope.freq_base", shape->rope_base);
	entry_u32(entries, "llama.vocab_size", shape->vocab);
	write_vocab(entries, shape);
}

static void write_file(FILE *file, const struct shape *shape, const struct type *type, uint64_t seed) {
	static struct plan plan;
	plan_tensors(&plan, shape, type);
	put(file, "GGUF", 4);
	put_u32(file, 3);
	put_u64(file, plan.count);
	const long count_position = ftell(file);
	put_u64(file, 0);
	struct entries entries = {file, 0};
	write_metadata(&entries, shape, type);
	uint64_t offset = 0;
	for (size_t i = 0; i < plan.count; i++) {
		const struct tensor *tensor = &plan.tensors[i];
		put_text(file, tensor->name);
		put_u32(file, tensor->rows ? 2 : 1);
		put_u64(file, tensor->row);
		if (tensor->rows) put_u64(file, tensor->rows);
		put_u32(file, tensor->type->type);
		put_u64(file, offset);
		offset += (tensor_bytes(tensor) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	}
	const long end = ftell(file);
	if (count_position < 0 || end < 0 || fseek(file, count_position, SEEK_SET)) fail("the file must be a regular one");
	put_u64(file, entries.count);
	if (fseek(file, end, SEEK_SET)) fail("the file must be a regular one");
	for (long position = end; position % ALIGNMENT; position++) put(file, "", 1);
	for (size_t i = 0; i < plan.count; i++) write_tensor(file, shape, &plan.tensors[i], &seed);
}

int main(int argc, char **argv) {
	const struct shape *shape = NULL;
	const struct type *type = NULL;
	for (size_t i = 0; argc >= 4 && i < sizeof shapes / sizeof *shapes; i++)
		if (!strcmp(argv[1], shapes[i].name)) shape = &shapes[i];
	for (size_t i = 0; argc >= 4 && i < sizeof types / sizeof *types; i++)
		if (!strcmp(argv[2], types[i].name)) type = &types[i];
	if (!shape || !type || argc > 5) {
		fprintf(stderr, "usage: make-random tinyllama|llama-3.2-1b|smollm2-360m|width-512 TYPE FILE [SEED], TYPE one of");
		for (size_t i = 0; i < sizeof types / sizeof *types; i++) fprintf(stderr, " %s", types[i].name);
		fprintf(stderr, "\n");
		return 2;
	}
	if (shape->width % type->block || shape->ffn % type->block) fail("the rows of this shape are not whole blocks of this type");
	FILE *file = fopen(argv[3], "wb");
	if (!file) fail("cannot open the file");
	write_file(file, shape, type, argc > 4 ? strtoull(argv[4], NULL, 10) : 1);
	if (fclose(file)) fail("cannot write the file");
	return 0;
}
