// SPDX-License-Identifier: Apache-2.0
// What vocab.c and the two tokenizers share. Nobody else includes it.
#ifndef CUTTLE_ENGINE_VOCAB_INTERNAL_H
#define CUTTLE_ENGINE_VOCAB_INTERNAL_H

#include "engine/merge.h"
#include "engine/special.h"
#include "engine/vocab.h"

enum { VOCAB_TOKEN_MAX = 4096 }; /* bytes of a token's text; the longest real ones are runs of 256 spaces */

enum vocab_split { VOCAB_SPLIT_NONE, VOCAB_SPLIT_GPT2, VOCAB_SPLIT_SMOLLM, VOCAB_SPLIT_LLAMA3, VOCAB_SPLIT_QWEN2, VOCAB_SPLIT_DEFAULT };

struct vocab_token {
	struct gguf_string text;  /* as stored in the file */
	struct gguf_string bytes; /* what it writes */
	enum vocab_token_type type;
	bool ends_text;
	uint32_t rank; /* SPM: place of its score among the distinct scores, 0 = highest */
};

struct vocab_text {
	uint64_t head; /* the first eight bytes as a number, for a fast comparison */
	struct gguf_string text;
	int32_t id;
};

struct vocab_rule { /* BPE: the tokens of `pair` (left << 32 | right) become `merged` */
	uint64_t pair;
	uint32_t rank;
	int32_t merged;
};

struct vocab {
	const char *kind;
	enum vocab_split split; /* NONE = SentencePiece */
	size_t size;
	struct vocab_token *tokens;
	char *arena;
	struct vocab_text *by_text; /* sorted, distinct, non-empty */
	size_t text_count, longest;
	struct vocab_rule *rules; /* sorted by pair, distinct */
	size_t rule_count;
	uint32_t *first_rule; /* [size + 1]: of a left token; the next one's is where they end */
	struct special_set special;
	int32_t byte_token[256]; /* -1 = none */
	int32_t bos, eos;
	bool add_bos, add_space_prefix, ignore_merges;
};

/* SPM: what two tokens side by side make. Texts repeat their pairs, and looking one up by its text is a search. */
enum { SPM_PAIRS = 512 };
struct spm_pair {
	uint64_t pair; /* left + 1 << 32 | right; 0 = none yet */
	uint32_t rank;
	int32_t merged; /* -1 = nothing */
};

/* One call of vocab_tokenize. */
struct token_run {
	const struct vocab *vocab;
	int32_t *ids;
	size_t capacity, count;
	enum vocab_lead lead; /* of the next fragment */
	struct merge_space space;
	struct spm_pair pairs[SPM_PAIRS];
};

/* False when the caller's array is full. */
static inline bool token_run_put(struct token_run *run, int32_t id) {
	if (run->count == run->capacity) return false;
	run->ids[run->count++] = id;
	return true;
}

/* Whether ordinary text may become this token. */
static inline bool vocab_ordinary(const struct vocab *vocab, int32_t id) {
	enum vocab_token_type type = vocab->tokens[id].type;
	return type == VOCAB_NORMAL || type == VOCAB_USER_DEFINED || type == VOCAB_UNUSED;
}

/* Makes by_text from the tokens' texts. False: out of memory. */
bool vocab_sort(struct vocab *vocab);

/* The printable character that GPT-2's byte alphabet has for a byte, and its inverse (-1 = not of the alphabet).
 * Source: openai/gpt-2, encoder.py, bytes_to_unicode. */
uint32_t bpe_letter(unsigned char byte);
int bpe_byte(uint32_t letter);

/* Each appends the tokens of text[size], a fragment that holds no special tokens and stands behind what run->lead says.
 * USAGE: array full. NOMEM. */
enum cuttle_status tokenize_bpe(struct token_run *run, const char *text, size_t size, struct cuttle_error *error);
enum cuttle_status tokenize_spm(struct token_run *run, const char *text, size_t size, struct cuttle_error *error);

#endif
