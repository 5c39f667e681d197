// SPDX-License-Identifier: Apache-2.0
// The chat formats, recognised by fingerprint of the model's template text; templates are never executed.
#ifndef CUTTLE_ENGINE_CHAT_H
#define CUTTLE_ENGINE_CHAT_H

#include "engine/vocab.h"

enum chat_format { CHAT_NONE, CHAT_CHATML, CHAT_ZEPHYR, CHAT_LLAMA3, CHAT_LLAMA2, CHAT_MISTRAL, CHAT_MISTRAL_V7, CHAT_QWEN3 };

/* The format a template text stands for; CHAT_NONE when it is none of ours. */
enum chat_format chat_recognise(const char *text, size_t size);
/* "chatml" (Qwen2 too), "zephyr", "llama-3", "llama-2", "mistral", "mistral-v7", "qwen3", "none" */
const char *chat_name(enum chat_format format);
/* The format of that name; CHAT_NONE when there is none. */
enum chat_format chat_named(const char *name);
/* Whether a template puts BOS first itself: it names bos_token, or writes the token out. */
bool chat_writes_bos(const char *text, size_t size, struct gguf_string bos);

/* One turn of system + user in pieces, to be tokenised with parse_special true: before_system + system + before_user + user + after_user
 * opens the assistant's answer. With no system message, before_user_alone stands for before_system .. before_user. A space at either
 * end of a piece belongs to a word of SentencePiece, which begins with it. Where a token of its own stands instead of the word, there is
 * none; nor in byte-level vocabularies of that format (Mistral's Tekken). */
struct chat_pieces {
	const char *before_system, *before_user, *before_user_alone, *after_user;
};
const struct chat_pieces *chat_pieces(enum chat_format format); /* NULL for CHAT_NONE */

#endif
