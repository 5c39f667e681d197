// SPDX-License-Identifier: Apache-2.0
// chat.h: the chat formats cuttle knows, and the text between the messages of each. The model's
// template says by certain words in its text which format it is; it is never executed.
// No private data: templates and formats are public.
#ifndef CUTTLE_ENGINE_CHAT_H
#define CUTTLE_ENGINE_CHAT_H

#include "engine/text/vocab.h"

enum { CHAT_PIECE = 256 }; /* bytes of the longest piece, at most */

enum chat_format {
	CHAT_NONE,
	CHAT_CHATML,
	CHAT_ZEPHYR,
	CHAT_LLAMA3,
	CHAT_LLAMA31, /* and 3.2, 3.3: the system block has two dates */
	CHAT_LLAMA2,
	CHAT_MISTRAL,
	CHAT_MISTRAL_V7,
	CHAT_QWEN3,
	CHAT_GRANITE,
	CHAT_TULU, /* OLMo 2 */
	CHAT_GEMMA,
	CHAT_PHI4_MINI
};

/* The format of the template text[size]; CHAT_NONE when cuttle does not know it. */
enum chat_format chat_recognise(const char *text, size_t size);
/* "chatml" (Qwen2 too), "zephyr", "llama-3", "llama-3.1", "llama-2", "mistral", "mistral-v7",
 * "qwen3", "granite", "tulu", "gemma", "phi-4-mini", "none" */
const char *chat_name(enum chat_format format);
/* The format of that name; CHAT_NONE when there is none. */
enum chat_format chat_named(const char *name);
/* Whether a template writes BOS itself: it names bos_token, or writes the token's text out. */
bool chat_writes_bos(const char *text, size_t size, struct gguf_string bos);

/* The pieces of a system and a user message, to be tokenised with parse_special true. With a system
 * message, a prompt is
 *     before_system, system message, before_user, user message, after_user
 * and without one
 *     before_user_alone, user message, after_user
 * The assistant's answer begins after that. Where a chat goes on, in a format whose template has a
 * rule about turns,
 *     answer, before_next_user, user message, after_user
 * follow, and so on. The other templates write each message alone, whosever it is:
 *     before[speaker], message, after
 * and `answer` behind the last. There before_system opens a system message that comes first.
 * A piece may begin or end with a space, as " [/INST]" does. SentencePiece takes that space into
 * the next word. No space is written where a special token comes next; [/INST] is one in some
 * vocabularies. Nor is it in byte-level vocabularies of that format, such as Mistral's Tekken. */
struct chat_pieces {
	const char *before_system;
	const char *before_user;
	const char *before_user_alone;
	const char *after_user;
	const char *before_next_user; /* NULL: the template has no rule about turns */
	const char *before[3];        /* without a rule: system, user, assistant */
	const char *after;
	const char *answer; /* also before an assistant's message that is the last */
	bool trims;         /* white space around a message is left out */
	bool always_system; /* the system block is there without a message, too */
};

/* The pieces of a format; NULL for CHAT_NONE. They are static. */
const struct chat_pieces *chat_pieces(enum chat_format format);

#endif
