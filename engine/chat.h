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
 * opens the assistant's answer. With no system message, before_user_alone stands for before_system .. before_user. Where a template has a
 * space between its mark and the text and all its tokenizers are SentencePiece, the piece leaves it to them: they put it there. */
struct chat_pieces {
	const char *before_system, *before_user, *before_user_alone, *after_user;
};
const struct chat_pieces *chat_pieces(enum chat_format format); /* NULL for CHAT_NONE */

#endif
