// SPDX-License-Identifier: Apache-2.0
// http_check.h: what a request must look like before anybody answers it, as functions of strings.
//
// Foreign bytes pass through. What two programs could read in two ways is refused: so no proxy
// before this server can be made to see another request than it does.
#ifndef CUTTLE_SERVE_HTTP_HTTP_CHECK_H
#define CUTTLE_SERVE_HTTP_HTTP_CHECK_H

#include "serve/http/http.h"
#include <stdint.h>

/* A request's head, as libmicrohttpd has read it: all strings point into the bytes that came, where
 * each line end has become two NULs, and the colon of a header one. */
struct http_head {
	const char *bytes; /* where the method stands */
	size_t size;       /* up to and with the empty line */
	const char *uri;   /* [uri_size]; NULs stand in it where libmicrohttpd cut the query */
	size_t uri_size;
	const char *target; /* a copy of the uri as it came */
	const char *version;
	const char *const *names;  /* [count] of headers, in order */
	const char *const *values; /* [count] theirs, behind white space */
	size_t count;
};

/* Whether these bytes are exactly what the strings say, in one way only: a line feed behind each
 * carriage return, no NUL, no line that goes on in the next one, nothing but a token's letters
 * within the method and names. One thing cannot be seen any more: a NUL beside a line feed looks
 * like the rest of that line's end. Whoever takes that line feed for the end of the line reads the
 * same request. */
bool http_head_is_plain(const struct http_head *head);

/* Reads a Content-Length: digits alone, at most 18. */
bool http_read_length(const char *text, uint64_t *length);

/* Writes the methods that a path has, as a header Allow lists them; "*" has all. "" where there is
 * nothing at the path. */
enum { HTTP_ALLOW = sizeof "GET, HEAD, POST, PUT, DELETE, OPTIONS" };
void http_allowed(const struct http_table *tables, size_t count, const char *path,
                  char allow[HTTP_ALLOW]);

/* Finds the route. The path has no query. *id gets what stands at {id}, "" when the pattern has
 * none. NULL: no route; *known says whether the path has one with another method. */
const struct http_route *http_find_route(const struct http_table *tables, size_t count,
                                         const char *method, const char *path,
                                         const struct http_table **table, char id[HTTP_ID_MOST + 1],
                                         bool *known);

/* The bytes of the name in "NAME" or "NAME:PORT", where NAME may be "[::1]". 0: it is neither. */
size_t http_name_size(const char *host);

/* Whether a Host header's value, in any case and with any port or none, is one of names[count],
 * which have no port. count 0: any value of letters, digits and .-:[] is right.
 *
 * The name is what keeps other sites out. An attacker can let his own name point to this server's
 * address (DNS rebinding), and his page then has the same origin as the server; but the browser
 * still sends his name. It sends the port that it connects to, for him as for everybody else, so
 * the port tells nothing about who asks. And behind a tunnel or a container's published port it is
 * another one than the server's own. */
bool http_host_is_ours(const char *host, const char *const *names, size_t count);

/* Whether an Origin header's value is SCHEME://HOST of the same request, with the port: a page at
 * another port of localhost is another site, which has the same name and may not ask. So it is
 * compared with the Host that the browser sent, which is the tunnel's where there is one, and not
 * with a port that the server knows. Without TLS of its own the server may stand behind a proxy
 * that has it, so https is right, too. */
bool http_origin_is_ours(const char *origin, const char *host, bool tls);

/* The token of "Bearer TOKEN", or NULL. */
const char *http_bearer(const char *authorization);

/* Reads the address of the client from what a proxy says of it: the last of a list as in
 * X-Forwarded-For ("10.0.0.1, 10.0.0.2"), or in Forwarded where `forwarded` ("for=10.0.0.1,
 * for=\"[2001:db8::1]:80\";proto=https"). What stands before it the client itself may have sent.
 * False: there is no address. */
enum { HTTP_CLIENT = 64 }; /* bytes of an address, with the NUL */
bool http_read_client(const char *value, bool forwarded, char address[HTTP_CLIENT]);

/* Parses a body of JSON: one object, HTTP_JSON_DEPTH deep at most, no member twice, no NUL in
 * strings except within an object called schema or json_schema. The caller owns the result. NULL:
 * it is not that, or there is no memory, and `fault` says why and where, without what came. */
enum { HTTP_FAULT = 160 }; /* bytes, with the NUL */
json_t *http_parse_json(const char *bytes, size_t size, char fault[HTTP_FAULT]);

#endif
