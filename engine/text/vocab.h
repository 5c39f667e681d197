// SPDX-License-Identifier: Apache-2.0
// vocab.h: turns text into tokens and tokens into text. Private text passes through.
//     vocab_read(file, &vocab, error);
//     size_t count = 0;
//     vocab_tokenize(vocab, "Hello", 5, false, ids, capacity, &count, error);
//     vocab_free(&vocab);
// The vocabulary is copied from GGUF metadata (tokenizer.ggml.*), so the file may be closed.
// Behaviour follows llama.cpp's tokenizers exactly. vocab.c reads the vocabulary; tokenize.c takes
// a text to the algorithm, tokenize_bpe.c or tokenize_spm.c.
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

/* Reads the vocabulary. The caller frees *vocab; it is NULL on failure. MODEL: malformed,
 * inconsistent, or a tokenizer or pre-tokenizer we do not have (the message names it). NOMEM. */
enum cuttle_status vocab_read(const struct gguf *file, struct vocab **vocab,
                              struct cuttle_error *error);
void vocab_free(struct vocab **vocab);

/* Number of tokens. Ids are 0 .. size-1; the functions below demand an id in that range. */
size_t vocab_size(const struct vocab *vocab);

/* True: a SentencePiece vocabulary. False: a BPE one. */
bool vocab_is_spm(const struct vocab *vocab);

/* "llama" for SentencePiece, else "gpt2/" and the pre-tokenizer, as in "gpt2/smollm". The file does
 * not name a pre-tokenizer, or names the default one: "gpt2/default". */
const char *vocab_kind(const struct vocab *vocab);

/* The tokens that begin and end a text; -1 = none. */
int32_t vocab_bos(const struct vocab *vocab);
int32_t vocab_eos(const struct vocab *vocab);

/* Whether a prompt of this model begins with BOS. */
bool vocab_add_bos(const struct vocab *vocab);

enum vocab_token_type vocab_type(const struct vocab *vocab, int32_t id);

/* The token's raw text as stored in the file (e.g. "<|im_end|>", "Ġthe"). It lives as long as the
 * vocabulary. */
struct gguf_string vocab_piece(const struct vocab *vocab, int32_t id);

/* The token with this raw text; -1 = no such token. */
int32_t vocab_find(const struct vocab *vocab, const char *text, size_t size);

/* Whether the token ends a text: eos, eot, eom, and the usual end-of-turn names (<|im_end|>,
 * <|eot_id|>, <|endoftext|>, <|end_of_text|>, </s>, ...).
 */
bool vocab_ends_text(const struct vocab *vocab, int32_t id);

/* Whether a mechanism may draw the token: NORMAL, BYTE, USER_DEFINED, and all that end a text. It
 * may not draw other CONTROL, UNKNOWN and UNUSED tokens. */
bool vocab_drawable(const struct vocab *vocab, int32_t id);

/* An upper bound of the tokens that `bytes` bytes of text become, BOS included. */
size_t vocab_tokens_bound(size_t bytes);

/* What stands before a piece of a longer text. Only SentencePiece asks, for its words begin with
 * their space: "world" alone becomes the token of " world". */
enum vocab_lead {
	VOCAB_START, /* nothing, or a special token: the tokenizer sets a space before the piece
	                where the file says so (add_space_prefix) */
	VOCAB_TEXT,  /* other text: the tokenizer sets no space */
	VOCAB_SPACE  /* a space that becomes part of the piece's first word */
};

/* Appends the tokens of text[size] to ids[*count..capacity). No BOS is added. parse_special:
 * control tokens written out in the text become those tokens. It is true only for the chat
 * templates' own pieces, never for anybody's text. O(n log n) on any input. USAGE when capacity is
 * short (vocab_tokens_bound is enough). NOMEM. On failure *count is unchanged. */
enum cuttle_status vocab_tokenize(const struct vocab *vocab, const char *text, size_t size,
                                  bool parse_special, int32_t *ids, size_t capacity, size_t *count,
                                  struct cuttle_error *error);
/* The same for a piece of a longer text. After a special token within the piece, VOCAB_START holds.
 * llama.cpp does so too, and transformers where legacy is true; GGUF does not say what legacy was.
 * An empty piece, or one that begins with a special token, has no first word: then `lead` changes
 * nothing. */
enum cuttle_status vocab_tokenize_piece(const struct vocab *vocab, enum vocab_lead lead,
                                        const char *text, size_t size, bool parse_special,
                                        int32_t *ids, size_t capacity, size_t *count,
                                        struct cuttle_error *error);
/* The lead of a piece that follows this token: VOCAB_START or VOCAB_TEXT. */
enum vocab_lead vocab_lead_after(const struct vocab *vocab, int32_t id);

/* Appends the bytes of ids[count] to text[*size..capacity) as far as they fit. *size grows by the
 * full length either way. Control tokens have no bytes. With `at_start`, the one leading space that
 * SentencePiece sets before a text is left out. Ids must be in range. */
void vocab_detokenize(const struct vocab *vocab, const int32_t *ids, size_t count, bool at_start,
                      char *text, size_t capacity, size_t *size);

#endif
