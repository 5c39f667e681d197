// SPDX-License-Identifier: Apache-2.0
// http_watch.c: the watch thread: it shuts down connections that take too long, notices clients
// that left, keeps streams alive and writes the log.
//
// libmicrohttpd knows idle time alone: a client that sends a byte now and then would keep its
// connection for ever, and a few hundred of them the whole server. No private data: a log line is a
// route's pattern, a code and the key's ID.
#include "serve/http/http_exchange.h"

#include "io/disk/file.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Whether the client has closed its side. What it sent meanwhile stays where it is. */
static bool has_left(int socket) {
	char byte;
	return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void look_at(struct watched *watched, double now) {
	struct http_later *const waiting = watched->waiting;
	if (waiting && has_left(watched->socket)) waiting->gone = true;
	double deadline = watched->deadline;
	// libmicrohttpd misses an end that comes together with the last bytes.
	if (watched->uploading && deadline > now + HTTP_LEFT_S && has_left(watched->socket))
		(void)atomic_compare_exchange_strong(&watched->deadline, &deadline,
		                                     now + HTTP_LEFT_S);
	if (deadline == 0 || now < deadline) return;
	// libmicrohttpd then finds the end of the connection, and closes it itself.
	(void)shutdown(watched->socket, SHUT_RDWR);
	watched->deadline = 0;
}

void http_log(struct http_server *server, const struct http_exchange *x) {
	char line[256];
	const int size =
	    snprintf(line, sizeof line, "cuttle serve: %s %s %u%s%s\n",
	             x->route ? x->route->method : "-", x->route ? x->route->pattern : "-",
	             x->reply.code, *x->holder->id ? " key=" : "", x->holder->id);
	(void)pthread_mutex_lock(&server->lock);
	// A log that nobody takes is lost rather than waited for.
	if (size > 0 && (size_t)size < sizeof line && server->logged + (size_t)size <= HTTP_LOG) {
		memcpy(server->log + server->logged, line, (size_t)size);
		server->logged += (size_t)size;
	}
	(void)pthread_mutex_unlock(&server->lock);
}

void *http_watch_thread(void *user) {
	struct http_server *const server = user;
	char log[HTTP_LOG];
	for (bool ending = false; !ending;) {
		const struct timespec pause = {.tv_nsec = 250000000};
		(void)nanosleep(&pause, NULL);
		const double now = http_now();
		(void)pthread_mutex_lock(&server->lock);
		for (struct watched *w = server->connections; w; w = w->next) look_at(w, now);
		ending = server->ending;
		http_see_off(server, now);
		const size_t logged = server->logged;
		memcpy(log, server->log, logged);
		server->logged = 0;
		(void)pthread_mutex_unlock(&server->lock);
		(void)file_write(STDERR_FILENO, log, logged);
		streams_tick(server->streams);
	}
	return NULL;
}
