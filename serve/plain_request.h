// SPDX-License-Identifier: Apache-2.0
// plain_request.h: reads what a client asks of the plain part, and refuses what it cannot give.
//
// It runs on the HTTP thread. Foreign JSON; a refusal names the parameter, never a value.
#ifndef CUTTLE_SERVE_PLAIN_REQUEST_H
#define CUTTLE_SERVE_PLAIN_REQUEST_H

#include "engine/cuttle.h"
#include "serve/http/http.h"
#include "serve/plain_shape.h"

enum plain_kind {
	PLAIN_COMPLETION, /* POST /v1/completions */
	PLAIN_CHAT,       /* POST /v1/chat/completions */
	PLAIN_LLAMA       /* POST /completion */
};

enum {
	PLAIN_STOPS = 4,       /* stop strings, at most */
	PLAIN_STOP_BYTES = 256 /* of one */
};

struct plain_request {
	enum plain_kind kind;
	json_t *body; /* owned; the strings below are in it */
	const char *prompt;
	size_t prompt_size;
	struct cuttle_message *messages; /* [message_count] owned; a chat's */
	size_t message_count;
	size_t bytes; /* of the prompt, or of all messages */
	struct cuttle_slot_params draw;
	bool open_length; /* no number of tokens was given: as many as fit */
	const char *stops[PLAIN_STOPS];
	size_t stop_count;
	struct plain_shape shape; /* which texts it wants */
	bool stream;
	bool include_usage; /* the stream ends with the numbers of tokens */
};

/* Reads the body of a call. `model` is the name that is served. On success the caller frees it by
 * plain_request_free. False: the reply is filled, and nothing is owned. */
bool plain_request_read(enum plain_kind kind, const json_t *body, const char *model,
                        struct plain_request *request, struct http_reply *reply);
void plain_request_free(struct plain_request *request);

#endif
