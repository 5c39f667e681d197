// SPDX-License-Identifier: Apache-2.0
// http_refuse.c: what clients get where libmicrohttpd refuses a request by itself.
//
// It does so before anybody here is asked: where a Content-Length is no number, a head does not fit
// its memory, or a chunk has no size. There is no option for the words, which are HTML. And version
// 0.9.75 goes on with the request after it has queued some of these replies, so that their head is
// sent twice. It queues them by MHD_queue_response, as everybody does, and looks that name up when
// it is loaded; so the one of this file, which the linker exports from the command, is found before
// its own. Our replies go by mhd.queue, which is the library's. So whatever comes here is a refusal
// of the library's: the reply is sent at once, in the form of all others, and the library is told
// that it cannot be queued. Then every version closes the connection and reads no further.
//
// Where the library binds its own name the replies are as it makes them, and nothing else changes.
// No private data: the words are a table's.
#include "serve/http/http_exchange.h"
#include "serve/http/tls.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const struct refusal {
	unsigned status;
	const char *type, *code, *message;
} REFUSALS[] = {
    {413, "invalid_request_error", "too_large", "the body, or a chunk of it, is too large"},
    {414, "invalid_request_error", "headers_too_large", "the path is too long"},
    {431, "invalid_request_error", "headers_too_large", HTTP_LARGE_HEAD},
    {500, "server_error", "internal", "the server cannot answer this request"},
    {503, "server_error", "out_of_memory", "out of memory"},
    {505, "invalid_request_error", "bad_request", "the version of HTTP is neither 1.0 nor 1.1"},
    {0, "invalid_request_error", "bad_request",
     "the request is malformed, or could be read in two ways"}};

/* Writes a whole reply; returns its size. */
static size_t write_refusal(unsigned status, const char *request, char *text, size_t room) {
	const struct refusal *refusal = REFUSALS;
	const time_t now = time(NULL);
	struct tm parts;
	char body[256], date[40] = "";
	while (refusal->status && refusal->status != status) refusal++;
	if (gmtime_r(&now, &parts))
		(void)strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &parts);
	const int size = snprintf(body, sizeof body,
	                          "{\"error\":{\"message\":\"%s\",\"type\":\"%s\",\"param\":null,"
	                          "\"code\":\"%s\"}}\n",
	                          refusal->message, refusal->type, refusal->code);
	const int all = snprintf(text, room,
	                         "HTTP/1.1 %u %s\r\nDate: %s\r\nConnection: close\r\n"
	                         "Content-Type: application/json\r\nContent-Length: %d\r\n"
	                         "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"
	                         "Referrer-Policy: no-referrer\r\nX-Request-Id: %s\r\n\r\n%s",
	                         status, mhd.reason(status), date, size, request, body);
	return all > 0 && (size_t)all < room ? (size_t)all : 0;
}

/* What the client still sends is read and dropped for a while, so that it gets the reply. */
static void let_leave(struct http_server *server, int socket) {
	(void)pthread_mutex_lock(&server->lock);
	struct leaving *place = server->ending ? NULL : server->leaving;
	while (place && place->until > 0)
		if (++place == server->leaving + HTTP_LEAVING) place = NULL;
	if (place) place->socket = fcntl(socket, F_DUPFD_CLOEXEC, 0);
	if (place && place->socket >= 0) place->until = http_now() + HTTP_LEFT_S;
	(void)pthread_mutex_unlock(&server->lock);
}

void http_see_off(struct http_server *server, double now) {
	char dropped[4096];
	for (struct leaving *l = server->leaving; l < server->leaving + HTTP_LEAVING; l++) {
		if (l->until == 0) continue;
		ssize_t got = 1;
		// A client that sends faster than this is cut off.
		for (int i = 0; i < 64 && got > 0; i++)
			got = recv(l->socket, dropped, sizeof dropped, MSG_DONTWAIT);
		// They may be of an upload.
		sodium_memzero(dropped, sizeof dropped);
		if (got != 0 && now < l->until && !server->ending) continue;
		(void)close(l->socket);
		l->until = 0;
	}
}

static void refuse_for_library(struct MHD_Connection *connection, struct watched *watched,
                               unsigned status) {
	struct http_server *const server = watched->server;
	struct http_exchange *const x = watched->exchange;
	char text[1024], request[HTTP_REQUEST_ID];
	if (x) memcpy(request, x->request, sizeof request);
	else http_name_request(server, request);
	const size_t size = write_refusal(status, request, text, sizeof text);
	const union MHD_ConnectionInfo *const session =
	    server->params.listening->tls
	        ? mhd.connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)
	        : NULL;
	if (session && session->tls_session) tls_send(session->tls_session, text, size);
	else (void)!send(watched->socket, text, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	let_leave(server, watched->socket);
	// The exchange's end counts and logs it.
	if (x) x->reply.code = status;
	else http_count(server, NULL, status);
}

__attribute__((visibility("default"))) enum MHD_Result
MHD_queue_response(struct MHD_Connection *connection, unsigned int status,
                   struct MHD_Response *response) {
	const union MHD_ConnectionInfo *const info =
	    mhd.connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	(void)response;
	if (info && info->socket_context)
		refuse_for_library(connection, info->socket_context, status);
	return MHD_NO;
}
