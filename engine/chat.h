// SPDX-License-Identifier: Apache-2.0
// The chat formats, recognised by fingerprint of the model's template text; templates are never executed.
#ifndef CUTTLE_ENGINE_CHAT_H
#define CUTTLE_ENGINE_CHAT_H

#include "engine/vocab.h"

enum chat_format { CHAT_NONE, CHAT_CHATML, CHAT_ZEPHYR, CHAT_LLAMA3, CHAT_LLAMA2 };

/* The format a template text stands for; CHAT_NONE when it is none of ours. */
enum chat_format chat_recognise(const char *text, size_t size);
const char *chat_name(enum chat_format format); /* "chatml", "zephyr", "llama-3", "llama-2", "none" */

/* One turn of system + user in pieces, to be tokenised with parse_special true: before_system + system + before_user + user + after_user
 * opens the assistant's answer. With no system message, before_user_alone stands for before_system .. before_user. */
struct chat_pieces {
	const char *before_system, *before_user, *before_user_alone, *after_user;
};
const struct chat_pieces *chat_pieces(enum chat_format format); /* NULL for CHAT_NONE */

#endif
