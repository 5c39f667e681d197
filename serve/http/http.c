// SPDX-License-Identifier: Apache-2.0
// http.c: the server of http.h over libmicrohttpd: what it calls for each connection and request.
//
// Bodies pass through. libmicrohttpd has one thread, which polls all connections by epoll, and
// which everything here runs on but http_start, _quiesce and _stop.
#include "serve/http/http_check.h"
#include "serve/http/http_exchange.h"
#include "serve/http/tls.h"

#include "io/disk/fail.h"
#include "io/disk/secrecy.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- connections ----------------------------------------------------------------------------- */

/* "10.0.0.7", "::1", or "unix". */
static void print_address(struct MHD_Connection *connection, char text[HTTP_ADDRESS]) {
	const union MHD_ConnectionInfo *info =
	    mhd.connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *const address = info ? info->client_addr : NULL;
	const void *bytes = NULL;
	(void)snprintf(text, HTTP_ADDRESS, "unix");
	if (address && address->sa_family == AF_INET)
		bytes = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
	else if (address && address->sa_family == AF_INET6)
		bytes = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
	if (bytes) (void)inet_ntop(address->sa_family, bytes, text, HTTP_ADDRESS);
}

static void note_connection(void *user, struct MHD_Connection *connection, void **context,
                            enum MHD_ConnectionNotificationCode code) {
	struct http_server *const server = user;
	struct watched *watched = *context;
	(void)pthread_mutex_lock(&server->lock);
	if (code == MHD_CONNECTION_NOTIFY_STARTED && (watched = calloc(1, sizeof *watched))) {
		watched->socket =
		    mhd.connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
		watched->deadline = http_now() + HTTP_REQUEST_S;
		print_address(connection, watched->address);
		watched->server = server;
		watched->crowd = http_address_is_full(server, watched->address);
		watched->next = server->connections;
		if (watched->next) watched->next->previous = watched;
		server->connections = watched;
		*context = watched;
	} else if (code == MHD_CONNECTION_NOTIFY_CLOSED && watched) {
		if (watched->previous) watched->previous->next = watched->next;
		else server->connections = watched->next;
		if (watched->next) watched->next->previous = watched->previous;
		free(watched);
		*context = NULL;
	}
	(void)pthread_mutex_unlock(&server->lock);
}

/* The request line was read. NULL: no memory, and the request is refused without a reply. */
static void *begin_exchange(void *user, const char *uri, struct MHD_Connection *connection) {
	struct http_server *const server = user;
	const union MHD_ConnectionInfo *info =
	    mhd.connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct http_exchange *x = info && info->socket_context ? calloc(1, sizeof *x) : NULL;
	if (!x) return NULL;
	(void)atomic_fetch_add(&server->open, 1);
	x->server = server;
	x->connection = connection;
	x->watched = info->socket_context;
	x->watched->exchange = x;
	x->uri = uri;
	memcpy(x->address, x->watched->address, sizeof x->address);
	x->reply.exchange = x;
	http_name_request(server, x->request);
	x->target = strdup(uri);
	x->path = strndup(uri, strcspn(uri, "?"));
	// An exchange without it stays small: malloc is slower from 1 KiB on.
	x->holder = server->params.keys ? calloc(1, sizeof *x->holder) : &server->everybody;
	if (x->target && x->path && x->holder) return x;
	x->watched->exchange = NULL;
	http_exchange_free(x);
	return NULL;
}

static void end_exchange(void *user, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code) {
	struct http_server *const server = user;
	struct http_exchange *const x = *context;
	(void)connection;
	(void)code;
	if (!x) return;
	*context = NULL;
	x->watched->exchange = NULL;
	if (x->reply.later) http_forget_later(x);
	x->watched->deadline = http_now() + HTTP_REQUEST_S;
	(void)pthread_mutex_lock(&server->lock);
	*x->watched->holder.id = *x->watched->holder.owner = 0;
	x->watched->uploading = false;
	(void)pthread_mutex_unlock(&server->lock);
	if (x->reply.code) {
		http_count(server, x->route, x->reply.code);
		if (!server->params.quiet) http_log(server, x);
	}
	if (x->uploading) http_hand_over(x, WORK_DROP);
	else http_exchange_free(x);
}

/* Bytes of a path stay as they came: "%2f" is no slash, and "%00" ends no string. */
static size_t keep_escapes(void *user, struct MHD_Connection *connection, char *text) {
	(void)user;
	(void)connection;
	return strlen(text);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static uint64_t most_bytes(const struct http_exchange *x) {
	return x->route && x->route->body == HTTP_BODY_UPLOAD ? HTTP_UPLOAD_MOST : HTTP_JSON_MOST;
}

/* Makes room for `size` bytes more, as far as the body may grow. */
static bool make_body_room(struct http_exchange *x, size_t size) {
	if (x->size + size <= x->capacity) return true;
	size_t wanted = x->announced && x->announced <= HTTP_PIECE ? (size_t)x->announced
	                                                           : 2 * (x->size + size);
	if (wanted < x->size + size) wanted = x->size + size;
	char *const grown = secrecy_realloc(x->body, wanted);
	if (!grown) return false;
	x->body = grown;
	x->capacity = wanted;
	return true;
}

/* Takes a piece of the body. False: the connection ends. */
static bool take_piece(struct http_exchange *x, const char *bytes, size_t *size) {
	const bool upload = x->route && x->route->body == HTTP_BODY_UPLOAD;
	x->received += *size;
	// Who sends what is dropped may send all of it, and hears why.
	if (upload && x->phase != PHASE_REFUSED)
		x->watched->deadline =
		    x->begun + HTTP_REQUEST_S + (double)x->received / (double)HTTP_RATE;
	if (x->phase == PHASE_REFUSED || x->too_large || x->piece_refused) {
		*size = 0;
		return x->received <= 2 * most_bytes(x);
	}
	x->too_large = x->received > most_bytes(x);
	if (x->too_large) {
		*size = 0;
		return true;
	}
	if (!make_body_room(x, *size)) return false;
	memcpy(x->body + x->size, bytes, *size);
	x->size += *size;
	*size = 0;
	if (upload && x->size >= HTTP_PIECE) http_hand_over(x, WORK_PIECE);
	return true;
}

static void refuse_body(struct http_exchange *x, const char *fault) {
	if (x->too_large)
		http_fail(&x->reply, 413, "invalid_request_error", "too_large", NULL,
		          "the body may have %llu bytes", (unsigned long long)most_bytes(x));
	else http_fail(&x->reply, 400, "invalid_request_error", "invalid_json", NULL, "%s", fault);
}

/* The body is complete: the route answers, here or on the disk thread. */
static enum MHD_Result answer_call(struct http_exchange *x) {
	const bool json = x->route->body == HTTP_BODY_JSON;
	char fault[HTTP_FAULT] = "";
	x->watched->uploading = false;
	x->watched->deadline = 0;
	if (json && !x->too_large) {
		x->json = http_parse_json(x->body ? x->body : "", x->size, fault);
		if (x->body) sodium_memzero(x->body, x->capacity);
	}
	if (x->too_large || (json && !x->json)) {
		refuse_body(x, fault);
		return http_send(x);
	}
	if (x->route->pace != HTTP_AT_ONCE) {
		x->phase = PHASE_ANSWER;
		http_hand_over(x, WORK_ANSWER);
		return MHD_YES;
	}
	const struct http_call call = http_call_of(x);
	x->route->answer(x->table->user, &call, &x->reply);
	return x->reply.later ? MHD_YES : http_send(x);
}

/* Whether the exchange is another thread's. What libmicrohttpd says here changes on the HTTP thread
 * alone: a connection that was resumed counts as suspended until its next turn. */
static bool is_suspended(struct MHD_Connection *connection) {
	const union MHD_ConnectionInfo *info =
	    mhd.connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_SUSPENDED);
	return info && info->suspended == MHD_YES;
}

/* What libmicrohttpd calls: once for the headers, for each piece of the body, at its end, and again
 * whenever a suspended connection was resumed. */
static enum MHD_Result take_request(void *user, struct MHD_Connection *connection, const char *url,
                                    const char *method, const char *version, const char *bytes,
                                    size_t *size, void **context) {
	struct http_exchange *const x = *context;
	(void)user;
	(void)url;
	if (!x) return MHD_NO;
	// Where it has read several chunks, it offers them all, though the first was handed over.
	// What is not taken is offered again.
	if (is_suspended(connection)) return MHD_YES;
	if (x->phase == PHASE_NEW) {
		http_judge(x, method, version);
		// A reply now ends the connection; later, the client gets to send its body.
		return x->phase == PHASE_REFUSED && x->reply.close ? http_send(x) : MHD_YES;
	}
	if (x->phase == PHASE_KEY) {
		x->watched->deadline = http_now() + HTTP_REQUEST_S;
		http_judge_key(x);
		// A connection that was suspended at its headers is called for them once more,
		// without a body: that is not the end of an empty one.
		if (x->phase == PHASE_BODY) return MHD_YES;
	} else if (x->heads_again) {
		x->heads_again = false;
		// The disk thread has begun the upload, or not.
		if (!x->uploading && x->phase == PHASE_BODY) {
			x->phase = PHASE_REFUSED;
			if (x->announced > HTTP_JSON_MOST) x->reply.close = true;
		}
		if (x->phase == PHASE_BODY) return MHD_YES;
	}
	if (*size) return take_piece(x, bytes, size) ? MHD_YES : MHD_NO;
	return x->phase == PHASE_BODY ? answer_call(x) : http_send(x);
}

/* ---- start and stop -------------------------------------------------------------------------- */

static enum cuttle_status start_daemon(struct http_server *server, struct cuttle_error *error) {
	const struct listening *const listening = server->params.listening;
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
	struct MHD_OptionItem tls[] = {
	    {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, tls_callback()},
	    {MHD_OPTION_HTTPS_PRIORITIES, 0, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
	    {MHD_OPTION_END, 0, NULL}};
	static struct MHD_OptionItem strict[] = {
#if MHD_VERSION >= 0x01000000
		// Otherwise it would join lines where nobody can see it any more (http_check.h).
		{MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1, NULL},
#endif
		{MHD_OPTION_END, 0, NULL}
	};
	if (listening->tls && mhd.has_feature(MHD_FEATURE_TLS) != MHD_YES)
		return io_fail(error, CUTTLE_USAGE, "this libmicrohttpd has no TLS");
	if (listening->tls) {
		const enum cuttle_status status =
		    tls_take(listening->certificate, listening->secret, error);
		if (status) return status;
		flags |= MHD_USE_TLS;
	} else {
		tls[0].option = MHD_OPTION_END;
	}
	// libmicrohttpd closes the socket that it gets.
	const int socket = fcntl(listening->socket, F_DUPFD_CLOEXEC, 0);
	server->daemon = mhd.start_daemon(
	    flags, 0, NULL, NULL, take_request, server, MHD_OPTION_LISTEN_SOCKET, socket,
	    MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CONNECTIONS,
	    MHD_OPTION_PER_IP_CONNECTION_LIMIT,
	    server->params.proxy ? 0U : (unsigned)HTTP_ADDRESS_CROWD,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT,
	    (unsigned)HTTP_REPLY_S, MHD_OPTION_NOTIFY_CONNECTION, note_connection, server,
	    MHD_OPTION_URI_LOG_CALLBACK, begin_exchange, server, MHD_OPTION_NOTIFY_COMPLETED,
	    end_exchange, server, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
	    MHD_OPTION_ARRAY, tls, MHD_OPTION_ARRAY, strict, MHD_OPTION_END);
	if (server->daemon) return CUTTLE_OK;
	if (socket >= 0) (void)close(socket);
	return io_fail(error, CUTTLE_USAGE, "the server cannot start on this socket");
}

static bool prepare_server(struct http_server *server, const struct http_params *params) {
	unsigned char name[sizeof server->name / 2];
	randombytes_buf(name, sizeof name);
	(void)sodium_bin2hex(server->name, sizeof server->name, name, sizeof name);
	server->params = *params;
	(void)pthread_mutex_init(&server->lock, NULL);
	(void)pthread_cond_init(&server->disk.wake, NULL);
	(void)pthread_cond_init(&server->hasher.wake, NULL);
	server->disk.server = server->hasher.server = server;
	(void)pthread_cond_init(&server->finished, NULL);
	server->table_count = params->table_count + 1;
	server->tables = calloc(server->table_count, sizeof *server->tables);
	server->streams = streams_new();
	if (!server->tables || !server->streams) return false;
	server->everybody.role = HTTP_OFFICER;
	server->tables[0] = http_state_table;
	server->tables[0].user = server;
	memcpy(server->tables + 1, params->tables, params->table_count * sizeof *params->tables);
	return true;
}

static void begin_line(struct http_line *line) {
	line->runs = pthread_create(&line->thread, NULL, http_line_thread, line) == 0;
}

enum cuttle_status http_start(const struct http_params *params, struct http_server **out,
                              struct cuttle_error *error) {
	*out = NULL;
	enum cuttle_status status = mhd_load(error);
	if (status) return status;
	struct http_server *server = calloc(1, sizeof *server);
	if (!server) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!prepare_server(server, params)) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) {
		begin_line(&server->disk);
		begin_line(&server->hasher);
		server->has_watch =
		    pthread_create(&server->watch, NULL, http_watch_thread, server) == 0;
		if (!server->disk.runs || !server->hasher.runs || !server->has_watch)
			status = io_fail(error, CUTTLE_INTERNAL, "no thread can be started");
	}
	if (!status) status = start_daemon(server, error);
	if (status) http_stop(&server);
	*out = server;
	return status;
}

void http_keys_changed(struct http_server *server) {
	(void)pthread_mutex_lock(&server->lock);
	for (struct watched *w = server->connections; w; w = w->next) {
		if (!*w->holder.id || keys_hold(server->params.keys, &w->holder)) continue;
		w->revoked = true;
		(void)shutdown(w->socket, SHUT_RDWR);
	}
	(void)pthread_mutex_unlock(&server->lock);
	streams_revoke(server->streams);
}

void http_quiesce(struct http_server *server) {
	server->stopping = true;
}

bool http_drain(struct http_server *server, double seconds) {
	const double end = http_now() + seconds;
	const struct timespec pause = {.tv_nsec = 20000000};
	while (server->open && http_now() < end) (void)nanosleep(&pause, NULL);
	return !server->open;
}

void http_stop(struct http_server **out) {
	struct http_server *const server = *out;
	if (!server) return;
	server->stopping = true;
	if (server->streams) streams_cancel(server->streams);
	// libmicrohttpd aborts when a connection is suspended at its end. So the other threads
	// first finish what they have; from then on nothing is handed over and nobody suspends.
	(void)pthread_mutex_lock(&server->lock);
	server->ending = true;
	(void)pthread_cond_signal(&server->disk.wake);
	(void)pthread_cond_signal(&server->hasher.wake);
	while (server->waiters) (void)pthread_cond_wait(&server->finished, &server->lock);
	(void)pthread_mutex_unlock(&server->lock);
	// Behind a key comes what it asked for.
	if (server->hasher.runs) (void)pthread_join(server->hasher.thread, NULL);
	if (server->disk.runs) (void)pthread_join(server->disk.thread, NULL);
	(void)http_drain(server, 1);
	if (server->daemon) mhd.stop_daemon(server->daemon);
	if (server->params.listening && server->params.listening->tls) tls_drop();
	if (server->has_watch) (void)pthread_join(server->watch, NULL);
	streams_free(&server->streams);
	(void)pthread_mutex_destroy(&server->lock);
	(void)pthread_cond_destroy(&server->disk.wake);
	(void)pthread_cond_destroy(&server->hasher.wake);
	(void)pthread_cond_destroy(&server->finished);
	free(server->counts);
	free(server->tables);
	free(server);
	*out = NULL;
}
