// SPDX-License-Identifier: Apache-2.0
// serve.h: a server, from a request to its end.
//
// It joins what the room has: sockets, keys, the wire, and the parts that answer. No private data
// passes through here. SIGTERM and SIGINT end a server in order, SIGHUP has it read its keys again.
#ifndef CUTTLE_SERVE_SERVE_H
#define CUTTLE_SERVE_SERVE_H

#include "engine/cuttle.h"
#include "serve/jobs/jobs.h"
#include "serve/plain.h"
#include "serve/http/listen.h"

enum serve_plain {
	SERVE_PLAIN_PAUSE,  /* completions, but while a private job runs */
	SERVE_PLAIN_BESIDE, /* also beside private jobs: all clients are one circle of trust */
	SERVE_PLAIN_OFF     /* none */
};

struct serve_request {
	struct listen_request listen;
	const char *keys;           /* file of keys; NULL = whoever reaches the socket may do all */
	struct cuttle_model *model; /* NULL with SERVE_PLAIN_OFF */
	const char *name;           /* what clients call it: [a-z0-9_-]+ */
	enum serve_plain plain;
	uint32_t slots;                /* completions at once */
	uint32_t context;              /* tokens of prompt and text; 0 = as the model allows */
	const struct serve_bias *bias; /* of completions; NULL = none */
	const char *proxy; /* whose word on clients' addresses counts: http.h; NULL = nobody's */
	bool quiet;        /* no log line for each request */
	const struct jobs_options *jobs; /* private jobs; NULL = there are none. Its `busy` is
	                                    this server's */

	/* Called once, when clients may connect. `address` is as http://127.0.0.1:8080. */
	void (*listening)(void *user, const char *address);
	void *user;
};

/* Serves until a signal ends it; then OK. USAGE, INPUT, NOMEM, INTERNAL: it could not begin. */
enum cuttle_status serve_run(const struct serve_request *request, struct cuttle_error *error);

#endif
