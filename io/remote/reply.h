// SPDX-License-Identifier: Apache-2.0
// reply.h: reads one answer of a language model's service: strict JSON, taken to be hostile.
//
// The bytes come from another machine, which knows the perturbed words alone: no private data
// passes through. An example of a chat's answer:
//
//     {"choices":[{"message":{"content":"Once"},"finish_reason":"stop"}],
//      "usage":{"prompt_tokens":9,"completion_tokens":1}}
//
// gives text "Once", finish "stop", 9 and 1. A completion's has "text":"Once" in place of message.
#ifndef CUTTLE_IO_REMOTE_REPLY_H
#define CUTTLE_IO_REMOTE_REPLY_H

#include "engine/cuttle/status.h"

enum {
	REPLY_CODE = 65,       /* bytes of a cleaned code: 64 characters and a NUL */
	REPLY_DEPTH = 32,      /* objects and arrays inside each other, at most */
	REPLY_VALUES = 1 << 16 /* commas, objects and arrays of an answer, at most */
};

/* Begin with all members zero. */
struct reply {
	char *text;                 /* UTF-8 without NUL bytes, a NUL behind it; owned */
	size_t size;                /* bytes of text, without that NUL */
	char finish[REPLY_CODE];    /* why the text ends, cleaned: "stop", "length"; "" = unsaid */
	uint64_t prompt_tokens;     /* as the service counted; 0 = unsaid */
	uint64_t completion_tokens; /* likewise */
	bool refused;               /* there is none: the service will not answer this body */
};
/* How the reply of a refused request ends, in the file of replies. */
#define REPLY_REFUSED "refused"

/* What a service says of a request that it refused. */
struct reply_problem {
	char code[REPLY_CODE]; /* error.code, else error.type, cleaned; "" = none */
	bool quota;            /* either of them is insufficient_quota: asking again is no use */
};

/* Reads an answer. A content that is null, as in a refusal, is the empty text. After a failure
 * *reply is empty.
 * REMOTE: bytes[size] is not such an answer: no JSON of at most REPLY_DEPTH and REPLY_VALUES, a
 * member twice, not UTF-8, a NUL in a text, no text where `chat` says, a wrong finish_reason or
 * usage. The message has no word of it. NOMEM. */
enum cuttle_status reply_parse(const char *bytes, size_t size, bool chat, struct reply *reply,
                               struct cuttle_error *error);

/* Reads the body of a refusal. What it cannot read is no problem: code is then "". */
void reply_explain(const char *bytes, size_t size, struct reply_problem *problem);

/* Keeps the characters [A-Za-z0-9_.-] of text, the first 64 of them: what may be shown. */
void reply_clean(const char *text, char code[REPLY_CODE]);

/* Frees the text and empties the reply. */
void reply_free(struct reply *reply);

#endif
