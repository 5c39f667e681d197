// SPDX-License-Identifier: Apache-2.0
// vocab_internal.h: what vocab.c, vocab_find.c, tokenize.c and the two tokenizers share: the
// vocabulary in memory, and the state of one tokenization. No other file includes it. Private text
// passes through struct token_run.
#ifndef CUTTLE_ENGINE_VOCAB_INTERNAL_H
#define CUTTLE_ENGINE_VOCAB_INTERNAL_H

#include "engine/text/merge.h"
#include "engine/text/special.h"
#include "engine/text/vocab.h"

/* Most bytes of a token's text. The longest real ones are runs of 256 spaces. */
enum { VOCAB_TOKEN_MAX = 4096 };

/* The pre-tokenizer: how BPE cuts a text into words. */
enum vocab_split {
	VOCAB_SPLIT_NONE, /* no words: SentencePiece */
	VOCAB_SPLIT_GPT2,
	VOCAB_SPLIT_SMOLLM,
	VOCAB_SPLIT_LLAMA3,
	VOCAB_SPLIT_QWEN2,
	VOCAB_SPLIT_DEFAULT,
	VOCAB_SPLIT_GPT4O
};

struct vocab_token {
	struct gguf_string text;  /* as stored in the file: "Ġthe" */
	struct gguf_string bytes; /* what it adds to a text: " the" */
	enum vocab_token_type type;
	bool ends_text;
	uint32_t rank; /* SentencePiece: the score's place, 0 = highest; equal scores share one */
};

struct vocab_text {
	uint64_t head; /* the text's first eight bytes as a number, for a fast comparison */
	struct gguf_string text;
	int32_t id;
};

/* BPE: two neighbouring tokens become one. */
struct vocab_rule {
	uint64_t pair;  /* the two tokens: left << 32 | right */
	uint32_t rank;  /* the rule's number in the file; lower goes first */
	int32_t merged; /* the token they become */
};

struct vocab {
	const char *kind;
	enum vocab_split split;
	size_t size;                /* number of tokens */
	struct vocab_token *tokens; /* [size] */
	char *arena;                /* all texts, then all bytes that are not the text itself */
	struct vocab_text *by_text; /* sorted, distinct, not empty */
	size_t text_count;          /* entries of by_text */
	size_t longest;             /* bytes of the longest text */
	struct vocab_rule *rules;   /* BPE: sorted by pair, distinct */
	size_t rule_count;
	/* BPE, [size + 1]. The rules whose left token is t are rules[first_rule[t]] up to but not
	 * including rules[first_rule[t + 1]]. */
	uint32_t *first_rule;
	struct special_set special;
	int32_t byte_token[256]; /* the token of each byte, -1 = none */
	int32_t bos;             /* -1 = none */
	int32_t eos;             /* -1 = none */
	bool add_bos;            /* a prompt begins with BOS */
	bool add_space_prefix;   /* SentencePiece sets a space before a text */
	bool ignore_merges;      /* BPE: a word that is a token is taken whole, without rules */
};

/* SentencePiece: a cache of what two neighbouring tokens merge into. Texts repeat their pairs, and
 * without it each pair is searched by its text. */
enum { SPM_PAIRS = 512 }; /* entries, a power of two */
struct spm_pair {
	uint64_t pair;  /* (left + 1) << 32 | right; 0 = empty */
	uint32_t rank;  /* rank of the merged token */
	int32_t merged; /* the token they become; -1 = none */
};

/* The state of one call of vocab_tokenize. */
struct token_run {
	const struct vocab *vocab;
	int32_t *ids;         /* the caller's array */
	size_t capacity;      /* of ids */
	size_t count;         /* ids written */
	enum vocab_lead lead; /* what stands before the next fragment */
	struct merge_space space;
	struct spm_pair pairs[SPM_PAIRS];
};

/* Appends a token. False when the caller's array is full. */
static inline bool token_run_put(struct token_run *run, int32_t id) {
	if (run->count == run->capacity) return false;
	run->ids[run->count++] = id;
	return true;
}

/* Whether ordinary text may become this token: NORMAL, USER_DEFINED and UNUSED ones. */
static inline bool vocab_ordinary(const struct vocab *vocab, int32_t id) {
	enum vocab_token_type type = vocab->tokens[id].type;
	return type == VOCAB_NORMAL || type == VOCAB_USER_DEFINED || type == VOCAB_UNUSED;
}

/* Makes by_text and `longest` from the tokens' texts. False: out of memory. */
bool vocab_sort(struct vocab *vocab);

/* Each appends the tokens of text[size], a fragment of the text without special tokens; run->lead
 * says what stands before it. USAGE: array full. NOMEM. */
enum cuttle_status tokenize_bpe(struct token_run *run, const char *text, size_t size,
                                struct cuttle_error *error);
enum cuttle_status tokenize_spm(struct token_run *run, const char *text, size_t size,
                                struct cuttle_error *error);

#endif
