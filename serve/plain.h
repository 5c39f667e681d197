// SPDX-License-Identifier: Apache-2.0
// plain.h: completions and chats as OpenAI's and llama.cpp's clients ask for them. NOT PRIVATE.
//
// Prompts and answers pass through, without any protection: what somebody sends here the model
// simply goes on with. Private work is a job (/v1/jobs), and a request here that asks for privacy
// is refused.
// How: the HTTP thread reads a request (plain_request.h) and leaves it in a queue. The engine
// thread takes it into a free slot (engine/cuttle/slots.h), and answers.
#ifndef CUTTLE_SERVE_PLAIN_H
#define CUTTLE_SERVE_PLAIN_H

#include "engine/cuttle.h"
#include "serve/http/http.h"

/* A learnt bias, and what its receipt says. Completions are covered by its guarantee, and protect
 * nothing else: prompts are as they are without it. */
struct serve_bias {
	const double *vector; /* [width of the model] */
	const char *sha256, *receipt_sha256;
	const char *guarantee; /* its sentence */
};

struct plain_params {
	struct cuttle_model *model;
	const char *name; /* what clients call the model; copied */
	uint32_t slots;   /* completions at once */
	uint32_t context; /* tokens of prompt and text; 0 = the model's, at most 4096 */
	const struct serve_bias *bias; /* NULL = none */
};

struct plain;

/* Starts the engine thread. The model must outlive it. USAGE, NOMEM as cuttle_slots_make. */
enum cuttle_status plain_open(const struct plain_params *params, struct plain **plain,
                              struct cuttle_error *error);
/* Its routes. The table is valid until plain_close. */
struct http_table plain_table(struct plain *plain);

/* While paused, requests are refused (503, Retry-After), and those under way end with that error:
 * who could draw plain tokens beside a private job could time its steps. Any thread. */
void plain_pause(struct plain *plain, bool paused);

/* Refuses all that waits, ends all that is under way, and the thread. */
void plain_stop(struct plain *plain);
/* After plain_stop, and once no route is called any more. Sets *plain to NULL. */
void plain_close(struct plain **plain);

#endif
