// SPDX-License-Identifier: Apache-2.0
// Text <-> tokens. A vocabulary is read from GGUF metadata (tokenizer.ggml.*) and copied: it does not keep the file alive.
// Behaviour follows llama.cpp's tokenizers exactly (design note engine.md 4.3); the two algorithms are in tokenize_bpe.c and
// tokenize_spm.c.
#ifndef CUTTLE_ENGINE_VOCAB_H
#define CUTTLE_ENGINE_VOCAB_H

#include "engine/gguf.h"

enum vocab_token_type { /* tokenizer.ggml.token_type */
	                VOCAB_NORMAL = 1,
	                VOCAB_UNKNOWN = 2,
	                VOCAB_CONTROL = 3,
	                VOCAB_USER_DEFINED = 4,
	                VOCAB_UNUSED = 5,
	                VOCAB_BYTE = 6
};

struct vocab;

/* MODEL: malformed, inconsistent, or a tokenizer/pre-tokenizer we do not have (the message names it). NOMEM. */
enum cuttle_status vocab_read(const struct gguf *file, struct vocab **vocab, struct cuttle_error *error);
void vocab_free(struct vocab **vocab);

size_t vocab_size(const struct vocab *vocab);
bool vocab_is_spm(const struct vocab *vocab);      /* SentencePiece */
const char *vocab_kind(const struct vocab *vocab); /* "gpt2/smollm", "llama", ...; "gpt2/default": the file does not say */
int32_t vocab_bos(const struct vocab *vocab);      /* -1 = none */
int32_t vocab_eos(const struct vocab *vocab);      /* -1 = none */
bool vocab_add_bos(const struct vocab *vocab);
enum vocab_token_type vocab_type(const struct vocab *vocab, int32_t id);
/* The token's raw text as stored in the file (e.g. "<|im_end|>", "Ġthe"). */
struct gguf_string vocab_piece(const struct vocab *vocab, int32_t id);
int32_t vocab_find(const struct vocab *vocab, const char *text, size_t size); /* -1 = no such token */

/* A token that ends a text: eos, eot and the usual end-of-turn names (<|im_end|>, <|eot_id|>, <|endoftext|>, <|end_of_text|>, </s>, ...).
 */
bool vocab_ends_text(const struct vocab *vocab, int32_t id);
/* Whether a mechanism may draw it: NORMAL, BYTE, USER_DEFINED, and whatever vocab_ends_text; not other CONTROL, UNKNOWN, UNUSED. */
bool vocab_drawable(const struct vocab *vocab, int32_t id);

/* An upper bound of the tokens that `bytes` bytes of text become, BOS included. */
size_t vocab_tokens_bound(size_t bytes);

/* What stands before a piece of a longer text. Only SentencePiece asks: its words begin with their space. */
enum vocab_lead {
	VOCAB_START, /* nothing, or a special token: a space is put before the piece where the file says so (add_space_prefix) */
	VOCAB_TEXT,  /* other text: none is put */
	VOCAB_SPACE  /* a space that becomes part of the piece's first word */
};

/* Appends the tokens of text[size] to ids[*count..capacity). parse_special: whether control tokens written out in the text become those
 * tokens; true only for the chat templates' own pieces, never for anybody's text. No BOS is added. O(n log n) on any input.
 * USAGE when capacity is short (vocab_tokens_bound is enough). NOMEM. On failure *count is unchanged. */
enum cuttle_status vocab_tokenize(const struct vocab *vocab, const char *text, size_t size, bool parse_special, int32_t *ids,
                                  size_t capacity, size_t *count, struct cuttle_error *error);
/* The same of a piece. Behind a special token within it, VOCAB_START holds, as llama.cpp does (and transformers where legacy is true; GGUF
 * does not say what legacy was). A piece that is empty or begins with a special token has no first word: then its lead says nothing. */
enum cuttle_status vocab_tokenize_piece(const struct vocab *vocab, enum vocab_lead lead, const char *text, size_t size, bool parse_special,
                                        int32_t *ids, size_t capacity, size_t *count, struct cuttle_error *error);
/* How a piece that follows the token must begin: VOCAB_START or VOCAB_TEXT. */
enum vocab_lead vocab_lead_after(const struct vocab *vocab, int32_t id);

/* Appends the bytes of ids[count] to text[*size..capacity) as far as they fit; *size grows by the full length either way. Control tokens
 * have no bytes. `at_start` strips the one leading space that SentencePiece puts before a text. Ids must be in range. */
void vocab_detokenize(const struct vocab *vocab, const int32_t *ids, size_t count, bool at_start, char *text, size_t capacity,
                      size_t *size);

#endif
