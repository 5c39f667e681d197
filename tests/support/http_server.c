// SPDX-License-Identifier: Apache-2.0
// A scripted HTTP server: see http_server.h. A pipe tells its thread to end; whatever it waits for,
// it waits for that too.
#include "tests/support/http_server.h"

#include "base/misuse.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_REQUESTS = 256, CHUNK = 4096, REQUEST = 1 << 16 };

struct http_server {
	const struct http_answer *answers;
	size_t count;
	int socket;
	int ends[2]; /* a pipe; written to when the thread is to end */
	uint16_t port;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	char *requests[MOST_REQUESTS];
	size_t sizes[MOST_REQUESTS];
	size_t seen;
};

static int listen_somewhere(uint16_t *port) {
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof address;
	const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	REQUIRE(file >= 0 && !bind(file, (struct sockaddr *)&address, size));
	REQUIRE(!listen(file, 16) && !getsockname(file, (struct sockaddr *)&address, &size));
	*port = ntohs(address.sin_port);
	return file;
}

/* Waits for an event, at most so long. False: the server is to end. */
static bool await(const struct http_server *server, int file, short events, int milliseconds) {
	struct pollfd files[] = {{server->ends[0], POLLIN, 0}, {file, events, 0}};
	(void)poll(files, file < 0 ? 1 : 2, milliseconds);
	return !files[0].revents;
}

/* False: the other side has closed, or the server is to end. */
static bool send_all(const struct http_server *server, int file, const char *bytes, size_t size) {
	while (size) {
		if (!await(server, file, POLLOUT, -1)) return false;
		const ssize_t sent = send(file, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
		if (sent < 0) continue;
		bytes += sent;
		size -= (size_t)sent;
	}
	return true;
}

static bool send_text(const struct http_server *server, int file, const char *text) {
	return send_all(server, file, text, strlen(text));
}

static bool send_chunk(const struct http_server *server, int file, const char *bytes, size_t size) {
	char head[32];
	(void)snprintf(head, sizeof head, "%zx\r\n", size);
	return send_text(server, file, head) && send_all(server, file, bytes, size) &&
	       send_text(server, file, "\r\n");
}

static bool send_chunks(const struct http_server *server, int file, const char *bytes,
                        size_t size) {
	for (size_t at = 0; at < size; at += CHUNK)
		if (!send_chunk(server, file, bytes + at, size - at < CHUNK ? size - at : CHUNK))
			return false;
	return true;
}

static void send_body(const struct http_server *server, int file, const struct http_answer *answer,
                      const char *body, size_t size) {
	char head[128];
	const size_t told = answer->how == HTTP_CUT ? size + 100 : size;
	switch (answer->how) {
	case HTTP_CHUNKED:
	case HTTP_ENDLESS:
		if (!send_text(server, file,
		               "\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"))
			return;
		while (send_chunks(server, file, body, size) && answer->how == HTTP_ENDLESS) {}
		(void)send_text(server, file, "0\r\n\r\n");
		return;
	case HTTP_LONG_HEADER:
	case HTTP_MANY_HEADERS:
		if (!send_text(server, file, "\r\nX: ")) return;
		while (send_all(server, file, body, size) &&
		       (answer->how == HTTP_LONG_HEADER || send_text(server, file, "\r\nX: "))) {}
		return;
	default:
		(void)snprintf(head, sizeof head,
		               "\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n", told);
		if (!send_text(server, file, head)) return;
		const size_t step = answer->how == HTTP_DRIP ? 1 : size;
		for (size_t at = 0; at < size; at += step)
			if (!send_all(server, file, body + at, step) ||
			    (answer->how == HTTP_DRIP && !await(server, -1, 0, 200)))
				return;
	}
}

static void give_answer(const struct http_server *server, int file,
                        const struct http_answer *answer) {
	const char *body = answer->body ? answer->body : "";
	if (answer->milliseconds && !await(server, -1, 0, (int)answer->milliseconds)) return;
	if (answer->head && send_text(server, file, answer->head))
		send_body(server, file, answer, body, answer->size ? answer->size : strlen(body));
}

/* How many bytes the whole request has, once its head is there; else 0. */
static size_t request_size(const char *bytes) {
	const char *end = strstr(bytes, "\r\n\r\n"), *length = strcasestr(bytes, "content-length:");
	if (!end) return 0;
	return (size_t)(end - bytes) + 4 +
	       (length && length < end ? strtoul(length + 15, NULL, 10) : 0);
}

/* Reads a request into bytes[REQUEST]. Returns its size; 0: none came. */
static size_t read_request(const struct http_server *server, int file, char *bytes) {
	size_t used = 0, wanted;
	do {
		if (!await(server, file, POLLIN, -1)) return 0;
		const ssize_t got = recv(file, bytes + used, REQUEST - 1 - used, 0);
		if (got <= 0) return 0;
		used += (size_t)got;
		bytes[used] = 0;
		wanted = request_size(bytes);
	} while (!wanted || used < wanted);
	return used;
}

static void serve_connection(struct http_server *server, int file) {
	char *bytes = malloc(REQUEST);
	REQUIRE(bytes);
	const size_t size = read_request(server, file, bytes);
	if (!size) {
		free(bytes);
		return;
	}
	pthread_mutex_lock(&server->lock);
	const size_t index = server->seen;
	REQUIRE(index < MOST_REQUESTS);
	server->requests[index] = bytes;
	server->sizes[index] = size;
	server->seen++;
	pthread_mutex_unlock(&server->lock);
	const struct http_answer *answer =
	    &server->answers[index < server->count ? index : server->count - 1];
	if (answer->look) answer->look(index);
	give_answer(server, file, answer);
	// The answer would be lost if the connection were reset because of unread bytes.
	(void)shutdown(file, SHUT_WR);
}

static void *serve(void *user) {
	struct http_server *server = user;
	while (await(server, server->socket, POLLIN, -1)) {
		const int file = accept4(server->socket, NULL, NULL, SOCK_CLOEXEC);
		if (file < 0) continue;
		serve_connection(server, file);
		(void)close(file);
	}
	return NULL;
}

struct http_server *http_server_start(const struct http_answer *answers, size_t count) {
	struct http_server *server = calloc(1, sizeof *server);
	REQUIRE(server && count);
	server->answers = answers;
	server->count = count;
	server->socket = listen_somewhere(&server->port);
	REQUIRE(!pipe2(server->ends, O_CLOEXEC) && !pthread_mutex_init(&server->lock, NULL));
	REQUIRE(!pthread_create(&server->thread, NULL, serve, server));
	return server;
}

uint16_t http_server_port(const struct http_server *server) {
	return server->port;
}

size_t http_server_requests(struct http_server *server) {
	pthread_mutex_lock(&server->lock);
	const size_t seen = server->seen;
	pthread_mutex_unlock(&server->lock);
	return seen;
}

const char *http_server_request(struct http_server *server, size_t index, size_t *size) {
	REQUIRE(index < http_server_requests(server));
	*size = server->sizes[index];
	return server->requests[index];
}

void http_server_stop(struct http_server **server) {
	struct http_server *old = *server;
	REQUIRE(write(old->ends[1], "", 1) == 1 && !pthread_join(old->thread, NULL));
	for (size_t i = 0; i < old->seen; i++) free(old->requests[i]);
	(void)close(old->socket);
	(void)close(old->ends[0]);
	(void)close(old->ends[1]);
	(void)pthread_mutex_destroy(&old->lock);
	free(old);
	*server = NULL;
}

uint16_t http_free_port(void) {
	uint16_t port;
	(void)close(listen_somewhere(&port));
	return port;
}

/* ---- TLS ------------------------------------------------------------------------------------- */

/* The relay that runs, or 0. */
static pid_t relay;

/* Starts a command with `file` as standard input and output. Returns 0: there is none. */
static pid_t start_command(char *const words[], int file) {
	posix_spawn_file_actions_t actions;
	pid_t process = 0;
	REQUIRE(!posix_spawn_file_actions_init(&actions));
	REQUIRE(
	    !posix_spawn_file_actions_adddup2(&actions, file, STDIN_FILENO) &&
	    !posix_spawn_file_actions_adddup2(&actions, file, STDOUT_FILENO) &&
	    !posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0));
	if (posix_spawnp(&process, words[0], &actions, NULL, words, environ)) process = 0;
	(void)posix_spawn_file_actions_destroy(&actions);
	return process;
}

bool http_make_certificate(const char *folder, const char *name) {
	char key[256], certificate[256], names[128];
	(void)snprintf(key, sizeof key, "%s/key.pem", folder);
	(void)snprintf(certificate, sizeof certificate, "%s/cert.pem", folder);
	(void)snprintf(names, sizeof names, "subjectAltName=%s", name);
	char *const words[] = {"openssl",
	                       "req",
	                       "-x509",
	                       "-newkey",
	                       "ec",
	                       "-pkeyopt",
	                       "ec_paramgen_curve:P-256",
	                       "-nodes",
	                       "-days",
	                       "2",
	                       "-subj",
	                       "/CN=cuttle test",
	                       "-addext",
	                       names,
	                       "-keyout",
	                       key,
	                       "-out",
	                       certificate,
	                       NULL};
	const int none = open("/dev/null", O_RDWR | O_CLOEXEC);
	const pid_t process = start_command(words, none);
	int state = 0;
	(void)close(none);
	if (!process) return false;
	REQUIRE(waitpid(process, &state, 0) == process);
	return WIFEXITED(state) && !WEXITSTATUS(state);
}

uint16_t http_tls_start(const struct http_server *server, const char *folder) {
	char key[256], certificate[256], where[32];
	const uint16_t port = http_free_port();
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_port = htons(server->port),
	                              .sin_addr = {htonl(INADDR_LOOPBACK)}};
	(void)snprintf(key, sizeof key, "%s/key.pem", folder);
	(void)snprintf(certificate, sizeof certificate, "%s/cert.pem", folder);
	(void)snprintf(where, sizeof where, "127.0.0.1:%u", port);
	char *const words[] = {"openssl", "s_server", "-quiet",    "-accept", where, "-naccept",
	                       "1",       "-cert",    certificate, "-key",    key,   NULL};
	const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	REQUIRE(file >= 0 && !connect(file, (struct sockaddr *)&address, sizeof address));
	REQUIRE(!relay && (relay = start_command(words, file)));
	(void)close(file);
	return port;
}

void http_tls_stop(void) {
	if (!relay) return;
	(void)kill(relay, SIGTERM);
	REQUIRE(waitpid(relay, NULL, 0) == relay);
	relay = 0;
}
