// SPDX-License-Identifier: Apache-2.0
// Reads and checks tokenizer.ggml.*, answers questions about tokens, and writes tokens as text. The
// file is hostile: every count, id and size is checked before it is used.
//
// Reading goes in this order: the kind of tokenizer; the texts and types; the special tokens; what
// each token writes; the scores (SentencePiece) or the merges (BPE).
#include "engine/text/vocab_internal.h"

#include "base/misuse.h"
#include "engine/status.h"
#include "engine/text/gpt2_bytes.h"
#include "engine/text/unicode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN(string) (int)((string).size < 60 ? (string).size : 60), (string).text

enum {
	TEXT_MAX = 4 << 20,  /* bytes of all texts together; published vocabularies have 2 MiB */
	MERGES_MAX = 1 << 19 /* merges */
};

static bool string_equals(struct gguf_string string, const char *text) {
	return string.size == strlen(text) && !memcmp(string.text, text, string.size);
}

/* By pair; of equal pairs the first in the file comes first. */
static int compare_rules(const void *a, const void *b) {
	const struct vocab_rule *left = a, *right = b;
	if (left->pair != right->pair) return left->pair < right->pair ? -1 : 1;
	return (left->rank > right->rank) - (left->rank < right->rank);
}

struct scored_token {
	float score;
	int32_t id;
};

/* The highest score comes first. */
static int compare_scores(const void *a, const void *b) {
	float left = ((const struct scored_token *)a)->score,
	      right = ((const struct scored_token *)b)->score;
	return (left < right) - (left > right);
}

static enum cuttle_status fail_vocab_memory(struct cuttle_error *error) {
	return status_fail(error, CUTTLE_NOMEM, "out of memory");
}

static enum cuttle_status read_pretokenizer(const struct gguf *file, struct vocab *vocab,
                                            struct cuttle_error *error) {
	static const struct {
		const char *pre, *kind;
		enum vocab_split split;
		bool llama3; /* words that are tokens are whole; BOS unless the file says */
	} splits[] = {
	    {"smollm", "gpt2/smollm", VOCAB_SPLIT_SMOLLM, false},
	    {"refact", "gpt2/refact", VOCAB_SPLIT_SMOLLM, false},
	    {"gpt-2", "gpt2/gpt-2", VOCAB_SPLIT_GPT2, false},
	    {"llama-bpe", "gpt2/llama-bpe", VOCAB_SPLIT_LLAMA3, true},
	    {"llama3", "gpt2/llama-bpe", VOCAB_SPLIT_LLAMA3, true},
	    {"llama-v3", "gpt2/llama-bpe", VOCAB_SPLIT_LLAMA3, true},
	    {"falcon3", "gpt2/llama-bpe", VOCAB_SPLIT_LLAMA3, true},
	    {"lfm2", "gpt2/llama-bpe", VOCAB_SPLIT_LLAMA3, true},
	    {"smaug-bpe", "gpt2/smaug-bpe", VOCAB_SPLIT_LLAMA3, false},
	    {"dbrx", "gpt2/dbrx", VOCAB_SPLIT_LLAMA3, false},
	    {"qwen2", "gpt2/qwen2", VOCAB_SPLIT_QWEN2, false},
	    {"deepseek-r1-qwen", "gpt2/qwen2", VOCAB_SPLIT_QWEN2, false},
	    {"default", "gpt2/default", VOCAB_SPLIT_DEFAULT, false},
	    {"gpt-4o", "gpt2/gpt-4o", VOCAB_SPLIT_GPT4O, false},
	};
	struct gguf_string model, pre = {"default", 7};
	enum cuttle_status status = gguf_text(file, "tokenizer.ggml.model", true, &model, error);
	if (!status) status = gguf_text(file, "tokenizer.ggml.pre", false, &pre, error);
	if (status) return status;
	if (string_equals(model, "llama")) {
		vocab->kind = "llama";
		vocab->add_space_prefix = vocab->add_bos = true;
		return CUTTLE_OK;
	}
	if (!string_equals(model, "gpt2"))
		return status_fail(error, CUTTLE_MODEL,
		                   "the model's tokenizer is '%.*s'; cuttle has 'gpt2' and 'llama'",
		                   SHOWN(model));
	for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
		if (string_equals(pre, splits[i].pre)) {
			vocab->kind = splits[i].kind;
			vocab->split = splits[i].split;
			vocab->ignore_merges = vocab->add_bos = splits[i].llama3;
			return CUTTLE_OK;
		}
	return status_fail(error, CUTTLE_MODEL,
	                   "the model's pre-tokenizer is '%.*s'; cuttle has smollm, refact, gpt-2, "
	                   "llama-bpe, smaug-bpe, dbrx, qwen2, gpt-4o and default",
	                   SHOWN(pre));
}

/* Copies the texts. Leaves as many bytes again for what the tokens write. */
static enum cuttle_status copy_texts(struct vocab *vocab, const struct gguf_string *texts,
                                     size_t count, struct cuttle_error *error) {
	if (!count || count > GGUF_TOKENS_MOST)
		return status_fail(error, CUTTLE_MODEL,
		                   "the vocabulary is empty or has more than %d tokens",
		                   GGUF_TOKENS_MOST);
	size_t total = 0;
	for (size_t i = 0; i < count; i++) {
		if (texts[i].size > VOCAB_TOKEN_MAX)
			return status_fail(error, CUTTLE_MODEL,
			                   "token %zu of the vocabulary is longer than %d bytes", i,
			                   VOCAB_TOKEN_MAX);
		// The sum cannot wrap: the texts lie side by side in the file.
		total += texts[i].size;
	}
	if (total > TEXT_MAX)
		return status_fail(error, CUTTLE_MODEL,
		                   "the vocabulary's texts are longer than %d MiB", TEXT_MAX >> 20);
	vocab->tokens = calloc(count, sizeof *vocab->tokens);
	vocab->arena = malloc(total * 2 + 1);
	if (!vocab->tokens || !vocab->arena) return fail_vocab_memory(error);
	vocab->size = count;
	char *free_space = vocab->arena;
	for (size_t i = 0; i < count; i++) {
		memcpy(free_space, texts[i].text, texts[i].size);
		vocab->tokens[i].text = (struct gguf_string){free_space, texts[i].size};
		vocab->tokens[i].type = VOCAB_NORMAL;
		free_space += texts[i].size;
	}
	return vocab_sort(vocab) ? CUTTLE_OK : fail_vocab_memory(error);
}

static enum cuttle_status read_tokens(const struct gguf *file, struct vocab *vocab,
                                      struct cuttle_error *error) {
	struct gguf_string *texts = NULL;
	size_t count = 0, type_count = 0;
	int32_t *types = NULL;
	enum cuttle_status status =
	    gguf_strings(file, "tokenizer.ggml.tokens", true, &texts, &count, error);
	if (!status) status = copy_texts(vocab, texts, count, error);
	free(texts);
	if (!status)
		status = gguf_ints(file, "tokenizer.ggml.token_type",
		                   vocab->split == VOCAB_SPLIT_NONE, &types, &type_count, error);
	if (!status && types && type_count != count)
		status = status_fail(error, CUTTLE_MODEL,
		                     "tokenizer.ggml.token_type has %zu entries for %zu tokens",
		                     type_count, count);
	for (size_t i = 0; !status && types && i < count; i++) {
		if (types[i] < VOCAB_NORMAL || types[i] > VOCAB_BYTE)
			status = status_fail(error, CUTTLE_MODEL,
			                     "token %zu has a type that does not exist", i);
		else vocab->tokens[i].type = (enum vocab_token_type)types[i];
	}
	free(types);
	return status;
}

static enum cuttle_status read_id(const struct gguf *file, const struct vocab *vocab,
                                  const char *key, int32_t *id, struct cuttle_error *error) {
	*id = -1;
	uint64_t value = UINT64_MAX;
	enum cuttle_status status = gguf_unsigned(file, key, false, &value, error);
	if (status || !gguf_has(file, key)) return status;
	if (value >= vocab->size)
		return status_fail(error, CUTTLE_MODEL, "%s is outside the vocabulary", key);
	*id = (int32_t)value;
	return CUTTLE_OK;
}

static enum cuttle_status read_specials(const struct gguf *file, struct vocab *vocab,
                                        int32_t *unknown, struct cuttle_error *error) {
	// By these names llama.cpp knows tokens that end a text, whatever their type in the file.
	// "</s>" is not among them: it may be HTML, so its type must be CONTROL (below).
	static const char *const ends[] = {
	    "<|eot_id|>",      "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>",
	    "<|end_of_text|>", "<|eom_id|>", "<EOT>",   "< EOT >",       "_<EOT>"};
	int32_t eot, eom;
	enum cuttle_status status =
	    read_id(file, vocab, "tokenizer.ggml.bos_token_id", &vocab->bos, error);
	if (!status)
		status = read_id(file, vocab, "tokenizer.ggml.eos_token_id", &vocab->eos, error);
	if (!status) status = read_id(file, vocab, "tokenizer.ggml.eot_token_id", &eot, error);
	if (!status) status = read_id(file, vocab, "tokenizer.ggml.eom_token_id", &eom, error);
	if (!status)
		status = read_id(file, vocab, "tokenizer.ggml.unknown_token_id", unknown, error);
	if (!status)
		status =
		    gguf_bool(file, "tokenizer.ggml.add_bos_token", false, &vocab->add_bos, error);
	if (!status)
		status = gguf_bool(file, "tokenizer.ggml.add_space_prefix", false,
		                   &vocab->add_space_prefix, error);
	if (status) return status;
	if (vocab->bos < 0) vocab->add_bos = false;
	if (vocab->split != VOCAB_SPLIT_NONE) vocab->add_space_prefix = false;
	const int32_t named[] = {vocab->eos, eot, eom};
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (named[i] >= 0) vocab->tokens[named[i]].ends_text = true;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		int32_t id = vocab_find(vocab, ends[i], strlen(ends[i]));
		if (id < 0) continue;
		vocab->tokens[id].ends_text = true;
		vocab->tokens[id].type = VOCAB_CONTROL;
	}
	int32_t closing = vocab_find(vocab, "</s>", 4);
	if (closing >= 0 && vocab->tokens[closing].type == VOCAB_CONTROL)
		vocab->tokens[closing].ends_text = true;
	return CUTTLE_OK;
}

static const char DIGITS[] = "0123456789ABCDEF";

/* Returns the byte that "<0xHH>" names, or -1: 65 for "<0x41>". */
static int parse_byte_name(struct gguf_string text) {
	if (text.size != 6 || memcmp(text.text, "<0x", 3) || text.text[5] != '>') return -1;
	const char *high = memchr(DIGITS, text.text[3], 16),
	           *low = memchr(DIGITS, text.text[4], 16);
	return high && low ? (int)((high - DIGITS) * 16 + (low - DIGITS)) : -1;
}

/* Writes the token's bytes to `space`. In SentencePiece, U+2581 stands for a space. */
static void decode_spm_bytes(struct vocab_token *token, char *space) {
	size_t length = 0;
	for (size_t i = 0; i < token->text.size;) {
		if (token->text.size - i >= 3 && !memcmp(token->text.text + i, "\xe2\x96\x81", 3)) {
			space[length++] = ' ';
			i += 3;
		} else {
			space[length++] = token->text.text[i++];
		}
	}
	token->bytes = (struct gguf_string){space, length};
}

/* Writes the token's bytes to `space`. In BPE, each letter of the byte alphabet stands for a byte;
 * anything else stands for itself. */
static void decode_bpe_bytes(struct vocab_token *token, char *space) {
	size_t length = 0;
	for (size_t i = 0, step; i < token->text.size; i += step) {
		uint32_t letter;
		step = utf8_decode(token->text.text + i, token->text.size - i, &letter);
		int byte = step ? gpt2_byte(letter) : -1;
		if (!step) step = 1;
		if (byte >= 0) {
			space[length++] = (char)byte;
		} else {
			memcpy(space + length, token->text.text + i, step);
			length += step;
		}
	}
	token->bytes = (struct gguf_string){space, length};
}

/* Sets the bytes of each token. They follow the last text in the arena. */
static enum cuttle_status write_token_bytes(struct vocab *vocab, struct cuttle_error *error) {
	const struct gguf_string last = vocab->tokens[vocab->size - 1].text;
	char *space = vocab->arena + (last.text + last.size - vocab->arena);
	for (size_t i = 0; i < vocab->size; i++) {
		struct vocab_token *token = &vocab->tokens[i];
		bool spm = vocab->split == VOCAB_SPLIT_NONE;
		token->bytes = (struct gguf_string){space, 0};
		if (token->type == VOCAB_USER_DEFINED) token->bytes = token->text;
		if (token->type == VOCAB_NORMAL)
			spm ? decode_spm_bytes(token, space) : decode_bpe_bytes(token, space);
		if (token->type == VOCAB_BYTE && spm) {
			int byte = parse_byte_name(token->text);
			if (byte < 0)
				return status_fail(
				    error, CUTTLE_MODEL,
				    "token %zu is of type byte but not named <0x00> to <0xFF>", i);
			*space = (char)byte;
			token->bytes.size = 1;
		}
		if (token->bytes.text == space) space += token->bytes.size;
	}
	return CUTTLE_OK;
}

static enum cuttle_status read_scores(const struct gguf *file, struct vocab *vocab, int32_t unknown,
                                      struct cuttle_error *error) {
	float *scores = NULL;
	size_t count = 0;
	enum cuttle_status status =
	    gguf_floats(file, "tokenizer.ggml.scores", true, &scores, &count, error);
	if (status) return status;
	if (count != vocab->size)
		status = status_fail(error, CUTTLE_MODEL,
		                     "tokenizer.ggml.scores has %zu entries for %zu tokens", count,
		                     vocab->size);
	for (size_t i = 0; i < count && !status; i++)
		if (isnan(scores[i]))
			status = status_fail(error, CUTTLE_MODEL,
			                     "the score of token %zu is not a number", i);
	struct scored_token *order = status ? NULL : calloc(count, sizeof *order);
	if (!status && !order) status = fail_vocab_memory(error);
	if (!status) {
		for (size_t i = 0; i < count; i++)
			order[i] = (struct scored_token){scores[i], (int32_t)i};
		qsort(order, count, sizeof *order, compare_scores);
		uint32_t rank = 0;
		for (size_t i = 0; i < count; i++) {
			if (i && order[i].score < order[i - 1].score) rank++;
			vocab->tokens[order[i].id].rank = rank;
		}
	}
	free(order);
	free(scores);
	for (int byte = 0; byte < 256 && !status; byte++) {
		const char name[] = {'<', '0', 'x', DIGITS[byte / 16], DIGITS[byte % 16], '>', 0},
		           raw = (char)byte;
		const int32_t candidates[] = {vocab_find(vocab, name, 6),
		                              vocab_find(vocab, &raw, 1), unknown};
		int32_t id = -1;
		// The token named "<0x41>" is preferred for "A", then a token "A", then the unknown
		// token. No text may become a control token, whatever the file calls a byte.
		for (size_t i = 0; id < 0 && i < 3; i++)
			if (candidates[i] >= 0 &&
			    vocab->tokens[candidates[i]].type != VOCAB_CONTROL)
				id = candidates[i];
		if (id < 0)
			status =
			    status_fail(error, CUTTLE_MODEL,
			                "the vocabulary has neither %s nor an unknown token", name);
		vocab->byte_token[byte] = id;
	}
	return status;
}

/* Appends the rule that a line of merges gives: "Ġt he" makes "Ġthe" of its halves. False when a
 * half or the whole is not a token. */
static bool parse_rule(struct vocab *vocab, struct gguf_string text, uint32_t rank) {
	// The first space after the first byte parts the halves. So the left half may begin with a
	// space: "  b" is " " and "b".
	const char *space = text.size > 2 ? memchr(text.text + 1, ' ', text.size - 1) : NULL;
	char merged[VOCAB_TOKEN_MAX];
	if (!space || text.size - 1 > sizeof merged) return false;
	size_t left_size = (size_t)(space - text.text), right_size = text.size - left_size - 1;
	memcpy(merged, text.text, left_size);
	memcpy(merged + left_size, space + 1, right_size);
	int32_t left = vocab_find(vocab, text.text, left_size),
	        right = vocab_find(vocab, space + 1, right_size);
	int32_t whole = vocab_find(vocab, merged, left_size + right_size);
	if (left < 0 || right < 0 || whole < 0) return false;
	// No text may become a control token, whatever the merges say.
	if (vocab_ordinary(vocab, whole))
		vocab->rules[vocab->rule_count++] =
		    (struct vocab_rule){(uint64_t)left << 32 | (uint32_t)right, rank, whole};
	return true;
}

static enum cuttle_status read_merge_rules(const struct gguf *file, struct vocab *vocab,
                                           struct cuttle_error *error) {
	struct gguf_string *merges = NULL;
	size_t count = 0;
	enum cuttle_status status =
	    gguf_strings(file, "tokenizer.ggml.merges", true, &merges, &count, error);
	if (status) return status;
	if (count > MERGES_MAX)
		status =
		    status_fail(error, CUTTLE_MODEL, "there are more than %d merges", MERGES_MAX);
	vocab->rules = status ? NULL : calloc(count + 1, sizeof *vocab->rules);
	if (!status && !vocab->rules) status = fail_vocab_memory(error);
	for (size_t i = 0; i < count && !status; i++)
		if (!parse_rule(vocab, merges[i], (uint32_t)i))
			status = status_fail(error, CUTTLE_MODEL,
			                     "merge %zu is not two tokens that make a third", i);
	free(merges);
	if (status) return status;
	qsort(vocab->rules, vocab->rule_count, sizeof *vocab->rules, compare_rules);
	// Of equal pairs, the first in the file is kept.
	size_t kept = 0;
	for (size_t i = 0; i < vocab->rule_count; i++)
		if (!kept || vocab->rules[kept - 1].pair != vocab->rules[i].pair)
			vocab->rules[kept++] = vocab->rules[i];
	vocab->rule_count = kept;
	vocab->first_rule = calloc(vocab->size + 1, sizeof *vocab->first_rule);
	if (!vocab->first_rule) return fail_vocab_memory(error);
	// Take a vocabulary of 4 tokens, with rules of the left tokens 1, 1 and 3. First each end
	// is set: 0 0 2 0 3. Then a token without rules ends where the one before ends: 0 0 2 2 3.
	for (size_t i = 0; i < kept; i++)
		vocab->first_rule[(vocab->rules[i].pair >> 32) + 1] = (uint32_t)i + 1;
	for (size_t i = 1; i <= vocab->size; i++)
		if (!vocab->first_rule[i]) vocab->first_rule[i] = vocab->first_rule[i - 1];
	for (int byte = 0; byte < 256; byte++) {
		char letter[4];
		int32_t id =
		    vocab_find(vocab, letter, utf8_write(gpt2_letter((unsigned char)byte), letter));
		vocab->byte_token[byte] = id >= 0 && vocab_ordinary(vocab, id) ? id : -1;
	}
	return CUTTLE_OK;
}

static enum cuttle_status build_specials(struct vocab *vocab, struct cuttle_error *error) {
	struct special_token *tokens = calloc(vocab->text_count + 1, sizeof *tokens);
	if (!tokens) return fail_vocab_memory(error);
	size_t count = 0;
	for (size_t i = 0; i < vocab->text_count; i++) {
		enum vocab_token_type type = vocab->tokens[vocab->by_text[i].id].type;
		if (type == VOCAB_CONTROL || type == VOCAB_UNKNOWN || type == VOCAB_USER_DEFINED)
			tokens[count++] =
			    (struct special_token){vocab->by_text[i].text, vocab->by_text[i].id,
			                           type == VOCAB_USER_DEFINED};
	}
	return special_build(&vocab->special, tokens, count) ? CUTTLE_OK : fail_vocab_memory(error);
}

enum cuttle_status vocab_read(const struct gguf *file, struct vocab **vocab,
                              struct cuttle_error *error) {
	REQUIRE(file && vocab);
	*vocab = NULL;
	struct vocab *read = calloc(1, sizeof *read);
	if (!read) return fail_vocab_memory(error);
	int32_t unknown = -1;
	enum cuttle_status status = read_pretokenizer(file, read, error);
	if (!status) status = read_tokens(file, read, error);
	if (!status) status = read_specials(file, read, &unknown, error);
	if (!status) status = write_token_bytes(read, error);
	if (!status)
		status = read->split == VOCAB_SPLIT_NONE ? read_scores(file, read, unknown, error)
		                                         : read_merge_rules(file, read, error);
	if (!status) status = build_specials(read, error);
	if (status) vocab_free(&read);
	*vocab = read;
	return status;
}

void vocab_free(struct vocab **vocab) {
	REQUIRE(vocab);
	if (!*vocab) return;
	free((*vocab)->tokens);
	free((*vocab)->arena);
	free((*vocab)->by_text);
	free((*vocab)->rules);
	free((*vocab)->first_rule);
	special_free(&(*vocab)->special);
	free(*vocab);
	*vocab = NULL;
}

static const struct vocab_token *look_up_token(const struct vocab *vocab, int32_t id) {
	REQUIRE(id >= 0 && (size_t)id < vocab->size);
	return &vocab->tokens[id];
}

size_t vocab_size(const struct vocab *vocab) {
	return vocab->size;
}
bool vocab_is_spm(const struct vocab *vocab) {
	return vocab->split == VOCAB_SPLIT_NONE;
}
const char *vocab_kind(const struct vocab *vocab) {
	return vocab->kind;
}
int32_t vocab_bos(const struct vocab *vocab) {
	return vocab->bos;
}
int32_t vocab_eos(const struct vocab *vocab) {
	return vocab->eos;
}
bool vocab_add_bos(const struct vocab *vocab) {
	return vocab->add_bos;
}
enum vocab_token_type vocab_type(const struct vocab *vocab, int32_t id) {
	return look_up_token(vocab, id)->type;
}
struct gguf_string vocab_piece(const struct vocab *vocab, int32_t id) {
	return look_up_token(vocab, id)->text;
}
bool vocab_ends_text(const struct vocab *vocab, int32_t id) {
	return look_up_token(vocab, id)->ends_text;
}

bool vocab_drawable(const struct vocab *vocab, int32_t id) {
	const struct vocab_token *token = look_up_token(vocab, id);
	return token->ends_text || token->type == VOCAB_NORMAL || token->type == VOCAB_BYTE ||
	       token->type == VOCAB_USER_DEFINED;
}

void vocab_detokenize(const struct vocab *vocab, const int32_t *ids, size_t count, bool at_start,
                      char *text, size_t capacity, size_t *size) {
	REQUIRE(vocab && size && (ids || !count) && (text || !capacity));
	bool strip = at_start && vocab->add_space_prefix;
	for (size_t i = 0; i < count; i++) {
		struct gguf_string bytes = look_up_token(vocab, ids[i])->bytes;
		if (strip && bytes.size) {
			strip = false;
			if (*bytes.text == ' ') bytes.text++, bytes.size--;
		}
		size_t room = *size < capacity ? capacity - *size : 0,
		       copied = bytes.size < room ? bytes.size : room;
		if (copied) memcpy(text + *size, bytes.text, copied);
		*size += bytes.size;
	}
}
