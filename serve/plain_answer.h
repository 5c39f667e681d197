// SPDX-License-Identifier: Apache-2.0
// plain_answer.h: one plain request under way, and what its client is told, in the client's words.
//
// It runs on the engine thread. No protection: plain text alone.
#ifndef CUTTLE_SERVE_PLAIN_ANSWER_H
#define CUTTLE_SERVE_PLAIN_ANSWER_H

#include "serve/plain_request.h"
#include "serve/plain_text.h"

struct plain_work {
	struct plain_work *next;
	struct plain_request request;
	struct http_later *later;   /* the reply that is owed; NULL = it was given */
	struct http_stream *stream; /* NULL = none, or ended */
	struct plain_text text;
	struct plain_follow *follow; /* its grammar; NULL = any text, or not compiled yet */
	char id[40];
	json_int_t created;   /* seconds since 1970 */
	size_t prompt_tokens; /* of the prompt */
	size_t tokens;        /* drawn, without the one that ends a text */
	const char *finish;   /* "stop" or "length"; NULL = more is drawn */
	bool opened;          /* the first event was told */
	bool lost;            /* its grammar was given up */
	bool gone;            /* nobody waits for it any more */
	char *pending;        /* [pending_size] events that did not fit the stream yet; owned */
	size_t pending_size, pending_capacity;
};

/* Takes over the request. NULL: out of memory; the request is then freed. */
struct plain_work *plain_work_new(struct plain_request *request);
/* Ends the stream, if there is one; the reply must have been given, and no slot has it. */
void plain_work_free(struct plain_work *work);

/* The whole answer; NULL: out of memory. */
json_t *plain_answer(const struct plain_work *work, const char *model);
/* Puts the event for the text that is ready, and once it has finished the last events, into
 * `pending`. Out of memory ends the work as gone. */
void plain_tell(struct plain_work *work, const char *model);
/* The same for a failure, which ends the stream. */
void plain_tell_failure(struct plain_work *work, const char *code, const char *message);
/* Sends what fits. True: nothing is pending any more, or nobody takes it. */
bool plain_flush(struct plain_work *work);

#endif
