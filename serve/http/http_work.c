// SPDX-License-Identifier: Apache-2.0
// http_work.c: the disk thread, which calls slow routes, one at a time. The hasher, which hashes
// keys, one at a time: who sends wrong ones holds up nobody but those whose key is new. And a
// thread for each route that waits.
//
// http_hand_over suspends a connection and passes its exchange on; the thread does the work and
// resumes it. Bodies and uploads pass through.
#include "serve/http/http_exchange.h"

#include <sched.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void http_exchange_free(struct http_exchange *x) {
	if (x->body) sodium_memzero(x->body, x->capacity);
	free(x->body);
	json_decref(x->json);
	free(x->target);
	free(x->path);
	if (x->holder != &x->server->everybody) free(x->holder);
	if (x->reply.response) mhd.destroy_response(x->reply.response);
	if (x->reply.stream) stream_leave(x->reply.stream);
	for (size_t i = 0; i < x->reply.added; i++) {
		free(x->reply.headers[i].name);
		free(x->reply.headers[i].value);
	}
	(void)atomic_fetch_sub(&x->server->open, 1);
	free(x);
}

static void drop_upload(struct http_exchange *x) {
	x->route->drop(x->table->user, x->upload);
	http_exchange_free(x);
}

/* Puts it into the queue. The lock is held. */
static void queue_work(struct http_exchange *x) {
	struct http_line *const line = x->work == WORK_KEY ? &x->server->hasher : &x->server->disk;
	if (line->last) line->last->next = x;
	else line->first = x;
	line->last = x;
	(void)pthread_cond_signal(&line->wake);
}

bool http_address_is_full(const struct http_server *server, const char *address) {
	size_t same = 0;
	// Behind a proxy keys are counted, and who reaches a Unix socket is of this machine.
	if (server->params.proxy || !strcmp(address, "unix")) return false;
	for (const struct watched *w = server->connections; w; w = w->next)
		same += !w->crowd && !strcmp(w->address, address);
	return same >= HTTP_ADDRESS_CONNECTIONS;
}

/* One address gets half of the places, so that its wrong keys do not keep out all new ones. */
bool http_key_has_place(const struct http_exchange *x) {
	struct http_server *const server = x->server;
	unsigned all = 0, same = 0;
	(void)pthread_mutex_lock(&server->lock);
	const struct http_exchange *const now = server->hasher.now;
	for (const struct http_exchange *at = now ? now : server->hasher.first; at;
	     at = at == now ? server->hasher.first : at->next) {
		all++;
		same += !strcmp(at->address, x->address);
	}
	(void)pthread_mutex_unlock(&server->lock);
	return all < HTTP_KEYS_WAITING && same < HTTP_ADDRESS_KEYS;
}

static void *wait_apart(void *user);

/* Whether one more may wait, of all and of its key; a server without keys has one user. The lock is
 * held. */
static bool has_place(const struct http_exchange *x) {
	const bool reserved = x->route->pace == HTTP_RESERVED;
	unsigned all = 0, same = 0;
	for (const struct http_waiter *at = x->server->waiters; at; at = at->next) {
		all++;
		same += !strcmp(at->key, x->holder->id);
	}
	return all < HTTP_WAITERS - (reserved ? 0U : HTTP_KEPT_WAITERS) &&
	       (!*x->holder->id ||
	        same < HTTP_KEY_WAITERS + (reserved ? HTTP_KEPT_WAITERS / 2U : 0U));
}

/* Starts a thread for a route that waits; it begins when the lock is free. The lock is held. False:
 * there are too many. */
static bool start_waiter(struct http_exchange *x) {
	struct http_server *const server = x->server;
	struct http_waiter *const waiter = has_place(x) ? calloc(1, sizeof *waiter) : NULL;
	pthread_t thread;
	if (!waiter) return false;
	waiter->exchange = x;
	memcpy(waiter->key, x->holder->id, sizeof waiter->key);
	if (pthread_create(&thread, NULL, wait_apart, waiter) != 0) {
		free(waiter);
		return false;
	}
	(void)pthread_detach(thread);
	waiter->next = server->waiters;
	server->waiters = waiter;
	return true;
}

void http_hand_over(struct http_exchange *x, enum http_work work) {
	struct http_server *const server = x->server;
	const bool apart = work == WORK_ANSWER && x->route->pace >= HTTP_WAITING;
	x->work = work;
	x->next = NULL;
	(void)pthread_mutex_lock(&server->lock);
	const bool open = !server->ending, taken = open && (!apart || start_waiter(x));
	// Within the lock, so that no thread can resume what is not suspended yet.
	if (taken && work != WORK_DROP) http_sleep(x);
	if (taken && !apart) queue_work(x);
	(void)pthread_mutex_unlock(&server->lock);
	if (taken) return;
	if (work == WORK_DROP) {
		drop_upload(x);
		return;
	}
	x->phase = PHASE_REFUSED;
	if (open) http_add(&x->reply, "Retry-After", "60");
	if (open)
		http_fail(&x->reply, 429, "rate_limit_error", "queue_full", NULL,
		          "too many requests wait");
	else http_fail(&x->reply, 503, "server_error", "stopping", NULL, "the server is stopping");
}

static void verify_key(struct http_exchange *x) {
	struct http_call call = {.exchange = x};
	const char *const authorization = http_header(&call, "Authorization"),
	                  *const space = authorization ? strchr(authorization, ' ') : NULL;
	const char *token = space ? space : "";
	while (*token == ' ') token++;
	x->key_right = keys_verify(x->server->params.keys, token, x->holder);
	(void)pthread_mutex_lock(&x->server->lock);
	x->server->hasher.now = NULL;
	(void)pthread_mutex_unlock(&x->server->lock);
}

static void begin_upload(struct http_exchange *x) {
	const struct http_call call = http_call_of(x);
	// The phase is the HTTP thread's, which may still be on its way out of the call before.
	x->uploading = x->route->begin(x->table->user, &call, &x->upload, &x->reply);
}

static void pass_piece(struct http_exchange *x) {
	if (x->size)
		x->piece_refused = !x->route->piece(x->table->user, x->upload, x->body, x->size);
	sodium_memzero(x->body, x->size);
	x->size = 0;
}

static void answer_slowly(struct http_exchange *x) {
	if (x->route->body == HTTP_BODY_UPLOAD) pass_piece(x);
	const struct http_call call = http_call_of(x);
	x->uploading = false;
	x->route->answer(x->table->user, &call, &x->reply);
}

static void work_on(struct http_exchange *x) {
	switch (x->work) {
	case WORK_KEY:
		verify_key(x);
		break;
	case WORK_BEGIN:
		begin_upload(x);
		break;
	case WORK_PIECE:
		pass_piece(x);
		break;
	case WORK_ANSWER:
		answer_slowly(x);
		break;
	case WORK_DROP:
		drop_upload(x);
		return;
	}
	http_wake(x);
}

static void *wait_apart(void *user) {
	struct http_waiter *const waiter = user, **at;
	struct http_server *const server = waiter->exchange->server;
	// Whoever started this holds the lock until the connection is suspended.
	(void)pthread_mutex_lock(&server->lock);
	(void)pthread_mutex_unlock(&server->lock);
	work_on(waiter->exchange);
	(void)pthread_mutex_lock(&server->lock);
	for (at = &server->waiters; *at != waiter;) at = &(*at)->next;
	*at = waiter->next;
	if (!server->waiters) (void)pthread_cond_signal(&server->finished);
	(void)pthread_mutex_unlock(&server->lock);
	free(waiter);
	return NULL;
}

/* A hash takes a processor for a tenth of a second. Everybody else goes first, and wants little of
 * it; whoever waits for the hash hardly notices. */
static void give_way(void) {
	const struct sched_param none = {0};
	(void)sched_setscheduler(0, SCHED_BATCH, &none);
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), HTTP_HASHER_NICE);
}

void *http_line_thread(void *user) {
	struct http_line *const line = user;
	struct http_server *const server = line->server;
	if (line == &server->hasher) give_way();
	for (;;) {
		(void)pthread_mutex_lock(&server->lock);
		while (!line->first && !server->ending)
			(void)pthread_cond_wait(&line->wake, &server->lock);
		struct http_exchange *const x = line->first;
		if (x) line->first = x->next;
		if (!line->first) line->last = NULL;
		if (line == &server->hasher) line->now = x;
		(void)pthread_mutex_unlock(&server->lock);
		if (!x) return NULL;
		work_on(x);
	}
}
