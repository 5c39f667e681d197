// SPDX-License-Identifier: Apache-2.0
// serve.c: joins the parts of a server, and ends them in an order that loses nothing: see serve.h.
#include "serve/serve.h"

#include "io/disk/fail.h"
#include "io/disk/secrecy.h"
#include "serve/http/http.h"
#include "serve/http/tls.h"
#include "serve/jobs/jobs_routes.h"
#include "serve/http/keys.h"
#include "serve/keys_routes.h"
#include "serve/page.h"
#include "serve/plain.h"
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	STOP_S = 10, /* seconds that answers and streams under way get to end */
	FILES = 4096 /* that the server may have open, if the system lets it */
};

struct server {
	struct listening listening;
	struct keys *keys;
	struct plain *plain;
	struct page page;
	struct keys_routes routes;
	struct jobs *jobs;
	struct http_server *http;
};

/* ---- signals --------------------------------------------------------------------------------- */

/* Each connection is a file, and most systems let a program have 1,024 before it asks for more. */
static void raise_files(void) {
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= FILES) return;
	limit.rlim_cur = limit.rlim_max < FILES ? limit.rlim_max : FILES;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Whichever thread gets a signal, even one of a library's, writes its number here. */
static int told[2] = {-1, -1};

static void tell_signal(int signal) {
	const int kept = errno;
	const unsigned char number = (unsigned char)signal;
	const ssize_t written = write(told[1], &number, 1);
	(void)written;
	// A second Ctrl-C ends the process at once.
	if (signal == SIGINT)
		(void)sigaction(SIGINT, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	errno = kept;
}

static bool take_signals(void) {
	const struct sigaction action = {.sa_handler = tell_signal, .sa_flags = SA_RESTART};
	return pipe2(told, O_CLOEXEC) == 0 && sigaction(SIGTERM, &action, NULL) == 0 &&
	       sigaction(SIGINT, &action, NULL) == 0 && sigaction(SIGHUP, &action, NULL) == 0;
}

/* Takes certificate and key anew. A pair that will not do changes nothing: whoever renews them may
 * have written one file and not the other yet. */
static void read_certificate_again(const struct listen_request *request) {
	struct cuttle_error error;
	struct stat state;
	const char *path = request->certificate;
	char *certificate = NULL, *secret = NULL;
	enum cuttle_status status = CUTTLE_OK;
	if (!path) return;
	// Who reads a pipe again may wait for ever, deaf to all signals.
	if (!strcmp(path, "-") || (stat(path, &state) == 0 && !S_ISREG(state.st_mode)))
		status = io_fail(&error, CUTTLE_USAGE, "%s is not a regular file", path);
	if (!status) status = listen_read_tls(request, &certificate, &secret, &error);
	if (!status) status = tls_take(certificate, secret, &error);
	if (status)
		fprintf(stderr, "cuttle serve: the certificate stays as it was: %s\n",
		        error.message);
	free(certificate);
	secrecy_free(secret);
}

/* Waits for the signal that ends the server. */
static void wait_for_end(struct server *server, const struct listen_request *request) {
	unsigned char signal = SIGHUP;
	while (signal == SIGHUP) {
		ssize_t got;
		while ((got = read(told[0], &signal, 1)) < 0 && errno == EINTR)
			;
		if (got != 1) return;
		if (signal != SIGHUP) continue;
		read_certificate_again(request);
		if (server->keys) keys_read_again(&server->routes);
	}
}

/* A private job begins or has ended. */
static void pause_plain(void *user, bool busy) {
	const struct server *server = user;
	if (server->plain) plain_pause(server->plain, busy);
}

static enum cuttle_status open_parts(struct server *server, const struct serve_request *request,
                                     struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	if (request->keys) status = keys_open(request->keys, &server->keys, error);
	if (!status) status = listen_open(&request->listen, &server->listening, error);
	if (!status && request->plain != SERVE_PLAIN_OFF) {
		const struct plain_params plain = {.model = request->model,
		                                   .name = request->name,
		                                   .slots = request->slots,
		                                   .context = request->context,
		                                   .bias = request->bias};
		status = plain_open(&plain, &server->plain, error);
	}
	if (!status && request->jobs) {
		struct jobs_options jobs = *request->jobs;
		if (request->plain == SERVE_PLAIN_PAUSE) jobs.busy = pause_plain;
		jobs.user = server;
		status = jobs_open(&jobs, &server->jobs, error);
		if (!status && server->keys) status = jobs_adopt(server->jobs, server->keys, error);
		if (!status) status = jobs_note_keys(server->jobs, server->keys, NULL, NULL, error);
		if (status && server->jobs) jobs_stop(server->jobs);
		if (status && server->plain) plain_stop(server->plain);
	}
	return status;
}

static enum cuttle_status serve_clients(struct server *server, const struct serve_request *request,
                                        struct cuttle_error *error) {
	struct http_table tables[4];
	size_t count = 0;
	page_make(&server->page);
	tables[count++] = page_table(&server->page);
	if (server->plain) tables[count++] = plain_table(server->plain);
	if (server->jobs) tables[count++] = jobs_table(server->jobs);
	server->routes = (struct keys_routes){.keys = server->keys,
	                                      .jobs = server->jobs,
	                                      .http = &server->http,
	                                      .changing = PTHREAD_MUTEX_INITIALIZER};
	if (server->keys) tables[count++] = keys_table(&server->routes);
	const struct http_params params = {.tables = tables,
	                                   .table_count = count,
	                                   .keys = server->keys,
	                                   .listening = &server->listening,
	                                   .proxy = request->proxy,
	                                   .quiet = request->quiet};
	const enum cuttle_status status = http_start(&params, &server->http, error);
	if (status) {
		if (server->jobs) jobs_stop(server->jobs);
		if (server->plain) plain_stop(server->plain);
		return status;
	}
	if (request->listening) request->listening(request->user, server->listening.shown);
	wait_for_end(server, &request->listen);
	// New requests get a 503 from here on. What is under way may end by itself for a while.
	http_quiesce(server->http);
	// The job that runs stops in order, and those who follow it hear the end of their streams.
	if (server->jobs) jobs_stop(server->jobs);
	(void)http_drain(server->http, STOP_S);
	// Whoever answers later must have answered before the wire ends.
	if (server->plain) plain_stop(server->plain);
	http_stop(&server->http);
	return CUTTLE_OK;
}

enum cuttle_status serve_run(const struct serve_request *request, struct cuttle_error *error) {
	struct server server = {.listening = {.socket = -1}};
	// Both begin once for the process, which must be before there are threads.
	if (sodium_init() < 0) return io_fail(error, CUTTLE_INTERNAL, "no entropy");
	json_object_seed(0);
	raise_files();
	if (!take_signals()) return io_fail(error, CUTTLE_INTERNAL, "no signal can be taken");
	enum cuttle_status status = open_parts(&server, request, error);
	if (!status) status = serve_clients(&server, request, error);
	jobs_close(&server.jobs);
	plain_close(&server.plain);
	listen_close(&server.listening);
	keys_free(&server.keys);
	return status;
}
