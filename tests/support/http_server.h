// SPDX-License-Identifier: Apache-2.0
// http_server.h: an HTTP server on this machine that does as it is told, for tests.
//
// No private data. It answers request after request from a list, one connection at a time, and
// keeps the bytes that came. A failure of its own ends the process.
//
//     static const struct http_answer answers[] = {{.head = "HTTP/1.1 503 Busy"}, {...}};
//     struct http_server *server = http_server_start(answers, 2);
//     ... http_server_port(server) ... http_server_request(server, 0, &size) ...
//     http_server_stop(&server);
#ifndef CUTTLE_TESTS_HTTP_SERVER_H
#define CUTTLE_TESTS_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a body goes out behind its head. */
enum http_manner {
	HTTP_LENGTH,      /* with Content-Length, whole */
	HTTP_CHUNKED,     /* in chunks of 4 KiB */
	HTTP_ENDLESS,     /* in chunks, again and again, until the other side closes */
	HTTP_CUT,         /* with a Content-Length of 100 bytes more; then the connection closes */
	HTTP_DRIP,        /* with Content-Length, a byte every 200 ms */
	HTTP_LONG_HEADER, /* no body: one header line, again and again the body's bytes, without end
	                   */
	HTTP_MANY_HEADERS /* no body: the body is a header line, sent without end */
};

struct http_answer {
	const char *head;      /* status line and headers, \r\n between them, none at the end;
	                          NULL = the connection is closed without a word */
	const char *body;      /* NULL = "" */
	size_t size;           /* bytes of body; 0 = strlen */
	enum http_manner how;  /* of the body */
	unsigned milliseconds; /* waited before the first byte */
	/* Called in the server's thread when the request has come, before its answer; NULL = no
	 * call. */
	void (*look)(size_t index);
};

struct http_server;

/* Listens on 127.0.0.1, on a port that was free, and answers in a thread. The last answer is given
 * to all requests from then on. answers[count], count >= 1, must outlive the server. */
struct http_server *http_server_start(const struct http_answer *answers, size_t count);
uint16_t http_server_port(const struct http_server *server);
/* How many requests came. */
size_t http_server_requests(struct http_server *server);
/* The bytes of a request, with a NUL behind them, head and body as they came. Valid until
 * http_server_stop. */
const char *http_server_request(struct http_server *server, size_t index, size_t *size);
/* Ends the thread, frees, and sets the handle to NULL. */
void http_server_stop(struct http_server **server);

/* A port of 127.0.0.1 on which nobody listens. */
uint16_t http_free_port(void);

/* Makes FOLDER/cert.pem and FOLDER/key.pem, a certificate of `name` ("IP:127.0.0.1" or "DNS:...")
 * signed by itself, with the command openssl. False: there is no such command. */
bool http_make_certificate(const char *folder, const char *name);
/* Starts `openssl s_server` with them for one connection, which it passes to the server in the
 * clear. Returns its port; it may listen a moment later. It ends with the connection. */
uint16_t http_tls_start(const struct http_server *server, const char *folder);
/* Ends the process that http_tls_start began, if it still runs. */
void http_tls_stop(void);

#endif
