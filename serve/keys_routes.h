// SPDX-License-Identifier: Apache-2.0
// keys_routes.h: the routes of who keeps the keys of a server: /v1/keys.
//
// A new key passes through, once, to who asked for it. No private data: an admin sees no text, no
// job and no data set. But who can make keys can make one that may see them. So each change stands
// in the audit trail, with the admin's key, before its answer.
#ifndef CUTTLE_SERVE_KEYS_ROUTES_H
#define CUTTLE_SERVE_KEYS_ROUTES_H

#include "serve/http/http.h"
#include "serve/http/keys.h"
#include "serve/jobs/jobs.h"
#include <pthread.h>

/* What the routes need; it must outlive the server. */
struct keys_routes {
	struct keys *keys;               /* the server has some */
	struct jobs *jobs;               /* whose audit trail is told; NULL = there is none */
	struct http_server *const *http; /* the server, once it has begun */
	/* Held from a change of the file until it is told. Otherwise the trail would say of two who
	   change keys at once that one of them changed both. */
	pthread_mutex_t changing;
};
struct http_table keys_table(struct keys_routes *routes);
/* Takes what the file says now, and ends what was asked with keys that are gone. What goes wrong is
 * said on standard error. */
void keys_read_again(struct keys_routes *routes);

#endif
