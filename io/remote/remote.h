// SPDX-License-Identifier: Apache-2.0
// remote.h: asks a language model at another machine to continue a text. The only way out of here.
//
// What leaves is a function of the request and the prompt. The caller makes the prompt from public
// words and words that a mechanism drew: nothing else may be in it. The key passes through; it is
// in no message, and wiped from the memory of this process.
//
//     status = remote_check(&request, error);         before anything is drawn
//     status = remote_open(&request, &events, &remote, error);        too: it reads the key
//     bytes = remote_body(&request, prompt, size, &count);            what will leave
//     status = remote_send(remote, bytes, count, &reply, error);
//     reply_free(&reply); free(bytes); remote_close(&remote);
//
// remote_check, remote_shown and remote_body are there without libcurl, too (make CURL=0). There
// remote_open says that this cuttle was built without it. remote_open loads libcurl: a process that
// opens no remote has no network library but libc (/proc/PID/maps shows it). It stays loaded.
// One process has one remote at a time, in one thread.
#ifndef CUTTLE_IO_REMOTE_REMOTE_H
#define CUTTLE_IO_REMOTE_REMOTE_H

#include "io/remote/reply.h"

enum remote_api {
	REMOTE_CHAT,       /* POST ENDPOINT/chat/completions */
	REMOTE_COMPLETIONS /* POST ENDPOINT/completions */
};

enum {
	REMOTE_KEY = 4096,        /* bytes of the longest key */
	REMOTE_URL = 2048,        /* bytes of the longest endpoint or proxy */
	REMOTE_BODY = 1 << 22,    /* bytes of the longest reply, 4 MiB */
	REMOTE_HEADERS = 1 << 16, /* bytes of all its headers, 64 KiB */
	REMOTE_CONNECT_S = 10,    /* seconds that a connection may take to stand */
	REMOTE_WAIT_S = 60        /* seconds of the longest wait before another attempt */
};

#define REMOTE_VARIABLE "CUTTLE_API_KEY" /* of the environment; its value is the key */
/* The headers that a request has beside Host and Content-Length. The key follows the last. */
#define REMOTE_AGENT "User-Agent: cuttle"
#define REMOTE_ACCEPT "Accept: application/json"
#define REMOTE_TYPE "Content-Type: application/json"
#define REMOTE_BEARER "Authorization: Bearer "

/* Public parameters of a run. The strings are the caller's and must outlive the remote. */
struct remote_request {
	/* "https://api.example.org/v1". http:// goes to 127.0.0.1, [::1] or localhost alone. */
	const char *endpoint;
	const char *model; /* as the service names it; utf8_name */
	enum remote_api api;
	const char *max_tokens_field; /* name of that member; NULL = "max_tokens" */
	uint32_t max_tokens;          /* tokens of a reply, at most; >= 1 */
	double temperature;           /* 0 to 2 */
	const char *ca_file;          /* PEM, the only certificates trusted; NULL = the system's */
	const char *proxy;            /* "http://host:port"; NULL = none, whatever the environment
	                                 says. For https endpoints alone */
	uint32_t timeout_s;           /* seconds for one attempt, from connect to end; >= 1 */
	uint32_t retries;             /* attempts after the first, for each text */
	/* Attempts of this remote, at most, each retry counted; 0 = any number. */
	uint64_t max_requests;
	/* Sum over those attempts of max_tokens and the body's bytes, at most; 0 = any. A body has
	 * fewer tokens than bytes, so this bounds what is paid for. */
	uint64_t max_tokens_total;
	/* File with the key, mode 0600; NULL = the variable CUTTLE_API_KEY. Neither, or an empty
	 * variable: no Authorization header is sent. A variable stays in the environment of the
	 * process, where its owner can read it in /proc: a file does not. */
	const char *key_file;
};

/* Asked and told while remote_send works. Each may be NULL. */
struct remote_events {
	/* Asked ten times a second while waiting, and about once a second while sending. true: the
	 * call stops with PARTIAL. */
	bool (*stop)(void *user);
	/* Waits before another attempt; NULL = by the clock. For tests. */
	void (*sleep)(void *user, double seconds);
	void *user; /* first argument of both */
};

struct remote;

/* Checks everything but the key, and opens nothing.
 * USAGE: an endpoint or proxy that is not SCHEME://HOST[:PORT][/PATH] of plain characters (so: no
 * user info, query, fragment, percent sign or blank), plain http to another machine, a proxy for
 * plain http, a name or number that is out of range. No message repeats a URL: it may hold a
 * password by mistake. */
enum cuttle_status remote_check(const struct remote_request *request, struct cuttle_error *error);

/* Where bodies go: the endpoint with what its api adds. The caller frees it; NULL: out of memory.
 */
char *remote_url(const struct remote_request *request);

/* The line and headers that go before a body, for people, the key as an ellipsis. Each line ends in
 * a newline. It needs a request that remote_check passed. The caller frees it; NULL: out of
 * memory. */
char *remote_shown(const struct remote_request *request);

/* The body of one request, as it will leave: compact JSON, members in a fixed order. It depends on
 * model, api, max_tokens_field, max_tokens, temperature and prompt[size] alone. The prompt is UTF-8
 * without NUL. The caller frees it; *count does not count the NUL behind it. NULL: out of memory.
 */
char *remote_body(const struct remote_request *request, const char *prompt, size_t size,
                  size_t *count);

/* Reads the key and prepares; it connects to nothing. On failure *remote is NULL.
 * USAGE: what remote_check refuses; a key that is empty, too long or has other than visible ASCII
 * characters (CR and LF above all); a key file that others may read; no libcurl that can be loaded.
 * INPUT: the key file or ca_file cannot be read; ca_file has no certificate, or a broken one.
 * INTERNAL: libcurl cannot begin, or is older than 7.85. NOMEM. */
enum cuttle_status remote_open(const struct remote_request *request,
                               const struct remote_events *events, struct remote **remote,
                               struct cuttle_error *error);

/* Sends a body until a reply comes, the same bytes each time. The caller frees *reply by
 * reply_free; after a failure it is empty.
 *
 * Sent again, after min(60, 2^i) s (i = 0, 1 ...) times a uniform number in [0.5, 1], or after the
 * reply's Retry-After, cut to 60 s: no connection or one that breaks, a timeout, and HTTP 408, 429,
 * 500, 502, 503, 504.
 *
 * PARTIAL: the retries or a cap are used up, or `stop` said so; the same command continues.
 * REMOTE: it will not work: TLS, any other HTTP status than 200 and those above (so each redirect,
 * which is never followed), a quota that is used up (429 insufficient_quota), a reply that is too
 * long or malformed. reply->refused then says that the fault may be this body's: HTTP 400, 413,
 * 422. The message has the HTTP status and the service's code, cleaned; never another word of the
 * reply, the URL or the key. NOMEM. */
enum cuttle_status remote_send(struct remote *remote, const char *body, size_t size,
                               struct reply *reply, struct cuttle_error *error);

/* Wipes the key, frees, and sets the handle to NULL. The handle may be NULL already. */
void remote_close(struct remote **remote);

#endif
