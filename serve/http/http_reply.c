// SPDX-License-Identifier: Apache-2.0
// http_reply.c: fills replies and queues them: http.h says what each function does.
//
// Routes may use it on any thread. Replies may be private: copies are libmicrohttpd's, which does
// not wipe them; so private bytes go by http_file.
#include "serve/http/http_exchange.h"

#include "base/misuse.h"
#include "io/disk/jsonout.h"
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char JSON_TYPE[] = "application/json";

static void set_response(struct http_reply *reply, unsigned code, struct MHD_Response *response,
                         const char *content_type) {
	REQUIRE(!reply->response);
	reply->response = response;
	reply->code = response ? code : 500;
	if (response && content_type)
		(void)mhd.add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
}

void http_bytes(struct http_reply *reply, unsigned code, const char *content_type,
                const void *bytes, size_t size) {
	reply->size = size;
	// libmicrohttpd takes no pointer to const, and copies what is there.
	void *const copied = size ? (void *)(uintptr_t)bytes : "";
	set_response(reply, code, mhd.from_buffer(size, copied, MHD_RESPMEM_MUST_COPY),
	             code == 204 ? NULL : content_type);
}

/* Writes the number at[size], which has 17 digits, by as few as give the same double. A client's
 * own 1e-7 must not come back as 9.9999999999999995e-8, and what a job is said to cost is the
 * number of its receipt, to the last digit. Returns the new size, which is not larger. */
static size_t shorten_real(char *at, size_t size) {
	char old[40], text[40], shorter[44];
	if (size >= sizeof old) return size;
	(void)snprintf(old, sizeof old, "%.*s", (int)size, at);
	for (int digits = 1; digits < 17; digits++) {
		(void)snprintf(text, sizeof text, "%.*g", digits, strtod(old, NULL));
		if (strtod(text, NULL) != strtod(old, NULL)) continue;
		// As jansson writes it: 1e-7 and not 1e-07, 1e20 and not 1e+20, 100.0 and not 100.
		const char *power = strchr(text, 'e');
		if (power) {
			const int exponent = (int)strtol(power + 1, NULL, 10);
			(void)snprintf(shorter, sizeof shorter, "%.*se%d", (int)(power - text),
			               text, exponent);
		} else {
			(void)snprintf(shorter, sizeof shorter, "%s%s", text,
			               strchr(text, '.') ? "" : ".0");
		}
		if (strlen(shorter) > size) return size;
		memcpy(at, shorter, strlen(shorter));
		return strlen(shorter);
	}
	return size;
}

/* Shortens each real number of a document in place; returns its new size. */
static size_t shorten_reals(char *text, size_t size) {
	static const char number[] = "-+.0123456789eE";
	size_t to = 0;
	bool quoted = false;
	for (size_t from = 0; from < size;) {
		const bool begins =
		    !quoted && (text[from] == '-' || (text[from] >= '0' && text[from] <= '9'));
		if (!begins) {
			if (quoted && text[from] == '\\') text[to++] = text[from++];
			else if (text[from] == '"') quoted = !quoted;
			text[to++] = text[from++];
			continue;
		}
		const size_t length = strspn(text + from, number);
		const bool real =
		    memchr(text + from, '.', length) || memchr(text + from, 'e', length);
		memmove(text + to, text + from, length);
		to += real ? shorten_real(text + to, length) : length;
		from += length;
	}
	return to;
}

void http_json(struct http_reply *reply, unsigned code, json_t *root) {
	size_t size;
	char *text = jsonout_dump(root, JSON_COMPACT, &size);
	if (text) size = shorten_reals(text, size);
	static const char starved[] =
	    "{\"error\":{\"message\":\"out of memory\",\"type\":\"server_error\",\"param\":null,"
	    "\"code\":\"out_of_memory\"}}\n";
	if (text) http_bytes(reply, code, JSON_TYPE, text, size);
	else http_bytes(reply, 500, JSON_TYPE, starved, sizeof starved - 1);
	free(text);
}

void http_fail(struct http_reply *reply, unsigned status, const char *type, const char *code,
               const char *param, const char *format, ...) {
	char message[512];
	va_list list;
	va_start(list, format);
	const int size = vsnprintf(message, sizeof message, format, list);
	va_end(list);
	const size_t shown = size < 0 ? 0 : (size_t)size < sizeof message ? (size_t)size : 511;
	json_t *text = jsonout_text(message, shown);
	http_json(reply, status,
	          text ? json_pack("{s:{s:o,s:s,s:s?,s:s}}", "error", "message", text, "type", type,
	                           "param", param, "code", code)
	               : NULL);
}

void http_file(struct http_reply *reply, unsigned code, const char *content_type, int file) {
	struct stat state;
	if (fstat(file, &state) != 0 || !S_ISREG(state.st_mode)) {
		(void)close(file);
		http_fail(reply, 500, "server_error", "internal", NULL, "a file cannot be read");
		return;
	}
	reply->size = (uint64_t)state.st_size;
	struct MHD_Response *response = mhd.from_file(reply->size, file);
	if (!response) (void)close(file);
	set_response(reply, code, response, content_type);
}

void http_add(struct http_reply *reply, const char *name, const char *value) {
	REQUIRE(reply->added < HTTP_ADDED_MOST);
	char *one = strdup(name), *other = strdup(value);
	if (!one || !other) {
		free(one);
		free(other);
		return;
	}
	reply->headers[reply->added].name = one;
	reply->headers[reply->added++].value = other;
}

struct http_stream *http_events(struct http_reply *reply) {
	struct http_exchange *const x = reply->exchange;
	struct http_stream *stream = stream_open(x->server->streams, x->connection, x->watched);
	if (!stream) {
		http_add(reply, "Retry-After", "10");
		http_fail(reply, 429, "rate_limit_error", "queue_full", NULL,
		          "%d streams are open, which is the most", STREAM_MOST);
		return NULL;
	}
	struct MHD_Response *response = stream_response(stream);
	if (!response) {
		stream_leave(stream);
		http_stream_end(stream);
		http_json(reply, 500, NULL);
		return NULL;
	}
	set_response(reply, 200, response, "text/event-stream");
	reply->stream = stream;
	return stream;
}

struct http_later *http_later(struct http_reply *reply) {
	struct http_exchange *const x = reply->exchange;
	REQUIRE(x->route->pace == HTTP_AT_ONCE && !reply->later);
	reply->later = true;
	x->phase = PHASE_ANSWER;
	x->later.exchange = x;
	x->watched->waiting = &x->later;
	http_sleep(x);
	return &x->later;
}

bool http_later_gone(struct http_later *later) {
	return later->gone;
}

struct http_reply *http_later_reply(struct http_later *later) {
	return &later->exchange->reply;
}

void http_later_send(struct http_later *later) {
	http_wake(later->exchange);
}

void http_sleep(struct http_exchange *x) {
	x->watched->deadline = 0;
	mhd.suspend(x->connection);
}

void http_wake(struct http_exchange *x) {
	// What is left of the body must come in time again; a reply sets its own deadline.
	x->watched->deadline = http_now() + HTTP_REQUEST_S;
	mhd.resume(x->connection);
}

struct http_call http_call_of(struct http_exchange *x) {
	return (struct http_call){.method = x->route->method,
	                          .path = x->path,
	                          .id = *x->id ? x->id : NULL,
	                          .key = x->holder->id,
	                          .owner = x->holder->owner,
	                          .role = x->holder->role,
	                          .datasets = x->holder->datasets,
	                          .address = x->address,
	                          .request = x->request,
	                          .body = x->json,
	                          .upload = x->upload,
	                          .exchange = x};
}

const char *http_header(const struct http_call *call, const char *name) {
	return mhd.value(call->exchange->connection, MHD_HEADER_KIND, name);
}

struct query {
	const char *name;
	const char *value;
};

static enum MHD_Result find_parameter(void *user, enum MHD_ValueKind kind, const char *name,
                                      const char *value) {
	struct query *query = user;
	(void)kind;
	if (strcmp(name, query->name) != 0) return MHD_YES;
	query->value = value ? value : "";
	return MHD_NO;
}

const char *http_query(const struct http_call *call, const char *name) {
	struct query query = {.name = name};
	(void)mhd.values(call->exchange->connection, MHD_GET_ARGUMENT_KIND, find_parameter, &query);
	return query.value;
}

void http_forget_later(struct http_exchange *x) {
	// The watch thread reads it under this lock.
	(void)pthread_mutex_lock(&x->server->lock);
	x->watched->waiting = NULL;
	(void)pthread_mutex_unlock(&x->server->lock);
}

/* The server's name and a number. By hand, as snprintf adds 1.6 % to /health. */
void http_name_request(struct http_server *server, char name[HTTP_REQUEST_ID]) {
	const size_t size = strlen(server->name);
	unsigned char number[(HTTP_REQUEST_ID - sizeof server->name) / 2];
	const uint64_t begun = server->begun++;
	for (size_t i = 0; i < sizeof number; i++)
		number[i] = (unsigned char)(begun >> 8 * (sizeof number - 1 - i));
	memcpy(name, server->name, size);
	(void)sodium_bin2hex(name + size, HTTP_REQUEST_ID - size, number, sizeof number);
}

enum MHD_Result http_send(struct http_exchange *x) {
	struct http_reply *const reply = &x->reply;
	x->phase = PHASE_SENT;
	if (reply->later) http_forget_later(x);
	if (!reply->response) http_json(reply, 500, NULL);
	if (!reply->response) return MHD_NO;
	static const char *const always[][2] = {{"X-Content-Type-Options", "nosniff"},
	                                        {"Cache-Control", "no-store"},
	                                        {"Referrer-Policy", "no-referrer"}};
	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		(void)mhd.add_header(reply->response, always[i][0], always[i][1]);
	(void)mhd.add_header(reply->response, "X-Request-Id", x->request);
	for (size_t i = 0; i < reply->added; i++)
		(void)mhd.add_header(reply->response, reply->headers[i].name,
		                     reply->headers[i].value);
	if (reply->code == 401) (void)mhd.add_header(reply->response, "WWW-Authenticate", "Bearer");
	if (reply->close || x->server->stopping)
		(void)mhd.add_header(reply->response, "Connection", "close");
	x->watched->deadline =
	    reply->stream ? 0 : http_now() + HTTP_REPLY_S + (double)reply->size / (double)HTTP_RATE;
	const enum MHD_Result queued = mhd.queue(x->connection, reply->code, reply->response);
	mhd.destroy_response(reply->response);
	reply->response = NULL;
	return queued;
}
