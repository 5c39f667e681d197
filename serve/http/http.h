// SPDX-License-Identifier: Apache-2.0
// http.h: the wire of cuttle serve: routes, calls, replies, and the server that joins them.
// Private data: uploads pass through in pieces, and files that a route answers with. Nothing of a
// body, a query or a header is ever logged.
// How: a route is a line of a table. The server checks a request (http_check.h), finds its route,
// its key and role, and its body. Then it calls the route's `answer`, which fills the reply:
//
//     static void answer_health(void *user, const struct http_call *call, struct http_reply *reply)
//     {
//             http_json(reply, 200, json_pack("{s:s}", "status", "ok"));
//     }
//     static const struct http_route ROUTES[] = {
//         {.method = "GET", .pattern = "/health", .answer = answer_health}};
//
// There are four threads here. The HTTP thread never blocks: it calls `answer` of a route that
// answers at once. The disk thread calls all functions of other routes, one at a time. The hasher
// hashes keys. The watch thread closes connections that take too long, and sends keep-alives. And
// each `answer` of a route that may wait gets a thread of its own, so that it holds up nobody.
#ifndef CUTTLE_SERVE_HTTP_HTTP_H
#define CUTTLE_SERVE_HTTP_HTTP_H

#include "engine/cuttle/status.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* What a key may do. A server without keys gives everybody HTTP_OFFICER: whoever reaches its socket
 * is trusted. */
enum http_role {
	HTTP_NOBODY,  /* of a route: it wants no key */
	HTTP_METRICS, /* reads /metrics, as every key may, and nothing else */
	HTTP_ADMIN,   /* makes and takes away keys, and sees no text */
	HTTP_USE,
	HTTP_OFFICER /* may what HTTP_USE may, and what is for officers alone */
};
/* "metrics", "admin", "use" or "officer". */
const char *http_role_name(enum http_role role);
/* The role of that name. False: there is none. */
bool http_role_find(const char *name, enum http_role *role);
/* Whether a key of this role may ask for what wants that role. */
bool http_role_may(enum http_role role, enum http_role wanted);

enum http_body {
	HTTP_BODY_NONE,  /* a body is refused */
	HTTP_BODY_JSON,  /* one object: whole, at most 4 MiB, at most 32 deep, no member twice */
	HTTP_BODY_UPLOAD /* passed on in pieces, at most 256 MiB, at 10 KiB a second or more */
};

/* How long a route's `answer` may take, which says what thread calls it. */
enum http_pace {
	HTTP_AT_ONCE, /* it never blocks: the HTTP thread */
	HTTP_SLOW,    /* it reads or writes a file: the disk thread, while the connection waits */
	HTTP_WAITING, /* it waits for a process, or a file's lock: a thread of its own */
	HTTP_RESERVED /* the same, and places are kept for it: it ends what takes those of others,
	              or its client has sent much */
};

enum {
	HTTP_HEADER_MOST = 16 << 10,  /* bytes of request line and headers */
	HTTP_HEADERS_MOST = 64,       /* lines of headers */
	HTTP_JSON_MOST = 4 << 20,     /* bytes */
	HTTP_JSON_DEPTH = 32,         /* objects and arrays inside one another */
	HTTP_UPLOAD_MOST = 256 << 20, /* bytes */
	HTTP_ID_MOST = 64             /* bytes of an id in a path */
};

struct http_exchange; /* a request on its way, http_exchange.h */

/* A request, as a route sees it. It lives until `answer` returns. */
struct http_call {
	const char *method;             /* "GET" */
	const char *path;               /* without the query; may hold an id, so it is not logged */
	const char *id;                 /* what stands at {id}; [a-z0-9_-]+, or NULL */
	const char *key;                /* ID of the API key; "" = the server has no keys, or
	                                 * HTTP_NOBODY's route was asked without one */
	const char *owner;              /* this very key: keys.h; "" with the ID */
	enum http_role role;            /* of that key */
	const char *datasets;           /* that it may use: keys.h */
	const char *address;            /* of the client: "10.0.0.7", "unix" */
	const char *request;            /* the name of this request, as its reply has it */
	const json_t *body;             /* borrowed; NULL unless HTTP_BODY_JSON */
	void *upload;                   /* what `begin` gave; NULL unless HTTP_BODY_UPLOAD */
	struct http_exchange *exchange; /* for the two functions below */
};

/* The value of a header, its name in any case; NULL: absent. It stands twice: the first. */
const char *http_header(const struct http_call *call, const char *name);
/* The raw value of a query's parameter: %XX stays as it is. NULL: absent; "" without '='. */
const char *http_query(const struct http_call *call, const char *name);

/* ---- replies --------------------------------------------------------------------------------- */

struct http_reply; /* of one call; filled once, by `answer` or (uploads) `begin` */

/* A JSON document. Takes root; NULL, which could not be made, becomes a 500. */
void http_json(struct http_reply *reply, unsigned code, json_t *root);
/* {"error":{"message":..,"type":..,"param":..,"code":..}}. `param` may be NULL. The message may
 * hold nothing private. `code` is a word for programs, as "invalid_value". */
void http_fail(struct http_reply *reply, unsigned status, const char *type, const char *code,
               const char *param, const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Bytes that are copied. size 0 with code 204 is an empty reply. */
void http_bytes(struct http_reply *reply, unsigned code, const char *content_type,
                const void *bytes, size_t size);
/* A whole regular file, from its first byte. Takes the descriptor. */
void http_file(struct http_reply *reply, unsigned code, const char *content_type, int file);
/* Adds a header to the reply that is made next or was made. Both strings are copied. */
void http_add(struct http_reply *reply, const char *name, const char *value);

/* ---- later ----------------------------------------------------------------------------------- */

/* A reply that another thread gives: `answer` returns without one, after http_later. */
struct http_later;
/* The connection waits, without a thread, until http_later_reply. Must be called in `answer` of a
 * route that is HTTP_AT_ONCE. */
struct http_later *http_later(struct http_reply *reply);
/* Whether the client has left: then what is computed for it may end. Any thread. */
bool http_later_gone(struct http_later *later);
/* The reply to fill, by one of the functions above. Any thread; the caller's alone. */
struct http_reply *http_later_reply(struct http_later *later);
/* Sends it, and frees `later`. */
void http_later_send(struct http_later *later);

/* ---- server-sent events ---------------------------------------------------------------------- */

/* A stream of events: 64 KiB between who sends and who receives. It has two owners, the connection
 * and the sender. Any thread may send, one at a time. Every 10 s without a byte the server sends
 * ": keep-alive". A stream that is full for 30 s is cancelled. */
struct http_stream;
enum http_sent {
	HTTP_SENT, /* all of it is in the stream */
	HTTP_FULL, /* none of it: try again later, the receiver is slow */
	HTTP_GONE  /* the receiver left, or the stream was cancelled: nothing more will be sent */
};
/* Makes a stream for this reply, whose code is 200 and type text/event-stream. The caller must call
 * http_stream_end on it once. NULL: too many streams are open or there is no memory, and the reply
 * is a 429 or 500 already. */
struct http_stream *http_events(struct http_reply *reply);
/* Sends bytes as they are, whole events such as "data: {...}\n\n". At most 64 KiB - 32. */
enum http_sent http_stream_send(struct http_stream *stream, const void *bytes, size_t size);
/* The sender has ended: the receiver gets what is there, then the end. The stream is gone for the
 * caller. */
void http_stream_end(struct http_stream *stream);

/* ---- routes ---------------------------------------------------------------------------------- */

struct http_route {
	const char *method;  /* "GET", "POST", "PUT" or "DELETE" */
	const char *pattern; /* "/v1/jobs/{id}/results"; at most one {id}, a whole segment */
	enum http_role role; /* that a key must have: http_role_may */
	enum http_body body;
	enum http_pace pace; /* of an upload not HTTP_AT_ONCE */

	/* Fills the reply. Of an upload, all pieces have come; `answer` owns call->upload. */
	void (*answer)(void *user, const struct http_call *call, struct http_reply *reply);

	/* Uploads: before the first piece. *upload is the caller's, for piece, answer or drop.
	 * False: refused, the reply is filled, and the body is not read. */
	bool (*begin)(void *user, const struct http_call *call, void **upload,
	              struct http_reply *reply);
	/* A piece, in order. It is wiped by the server afterwards. False: `answer` or `drop` tells
	 * why; no further piece comes, and `answer` is called. */
	bool (*piece)(void *user, void *upload, const void *bytes, size_t size);
	/* The client left, was too slow or sent too much: free `upload`. Instead of `answer`. */
	void (*drop)(void *user, void *upload);
};

struct http_metrics; /* lines of /metrics that are being written */
struct http_table {
	const struct http_route *routes; /* [count] */
	size_t count;
	void *user; /* first argument of their functions */

	/* Adds lines to /metrics, by http_metric; may be NULL. HTTP thread: it may not block. Must
	 * not show what a private job does before it ends. */
	void (*metrics)(void *user, struct http_metrics *metrics);
	/* Whether this part can serve: NULL, or a word such as "no_ledger" for /ready's 503. It
	 * adds members to `parts`, what is looked at and how it is. HTTP thread; may be NULL. */
	const char *(*ready)(void *user, json_t *parts);
};

/* A line `name{labels} value` of /metrics; labels without braces, NULL = none. */
void http_metric(struct http_metrics *metrics, const char *name, const char *labels, double value);

/* ---- the server ------------------------------------------------------------------------------ */

struct keys;      /* keys.h */
struct listening; /* listen.h */

struct http_params {
	const struct http_table *tables; /* [table_count]; must outlive the server */
	size_t table_count;
	struct keys *keys; /* NULL = no keys: everybody is HTTP_OFFICER */
	const struct listening *listening;
	/* Address of a proxy whose word on its clients' addresses counts: "127.0.0.1", "unix"; NULL
	 * = none. Then connections are limited by key, and not by address. */
	const char *proxy;
	bool quiet; /* no log line for each request */
};

struct http_server;
/* Starts the threads. USAGE: libmicrohttpd cannot be loaded, or refuses certificate or socket.
 * INTERNAL, NOMEM. */
enum cuttle_status http_start(const struct http_params *params, struct http_server **server,
                              struct cuttle_error *error);
/* The file of keys was read again: what was asked with a key that is gone, or may do less now,
 * ends, streams included. Not without keys. Any thread. */
void http_keys_changed(struct http_server *server);
/* No connection is accepted and no request begun any more: /ready is 503 "stopping", and so is
 * every new request. Streams and replies under way go on. */
void http_quiesce(struct http_server *server);
/* Waits until all requests have been answered, at most `seconds`. True: they have. */
bool http_drain(struct http_server *server, double seconds);
/* Ends all streams, closes all connections and threads, frees all. Who sends into streams must
 * have stopped before. Sets *server to NULL. */
void http_stop(struct http_server **server);

#endif
