// SPDX-License-Identifier: Apache-2.0
// http_request.c: whether a request may go on to its route: its form, its host, its key.
//
// It runs on the HTTP thread. Foreign bytes; a refusal never repeats them.
#include "serve/http/http_check.h"
#include "serve/http/http_exchange.h"

#include <stdlib.h>
#include <string.h>

/* What is looked at of the headers. */
struct headers {
	const char *names[HTTP_HEADERS_MOST];
	const char *values[HTTP_HEADERS_MOST];
	size_t count;
	bool many;  /* there are more */
	bool twice; /* one that may stand once only stands twice */
	bool coded; /* the body is compressed, or the like */
	const char *host, *length, *encoding, *authorization, *origin, *site;
	const char *client, *forwarded; /* what a proxy says of its client: the last of each */
};

static void note_single(struct headers *headers, const char **place, const char *value) {
	if (*place) headers->twice = true;
	*place = value;
}

static enum MHD_Result note_header(void *user, enum MHD_ValueKind kind, const char *name,
                                   const char *value) {
	struct headers *h = user;
	(void)kind;
	h->many = h->count == HTTP_HEADERS_MOST;
	if (h->many) return MHD_NO;
	if (!value) value = "";
	if (!strcasecmp(name, "content-encoding") && strcasecmp(value, "identity") != 0)
		h->coded = true;
	h->names[h->count] = name;
	h->values[h->count++] = value;
	if (!strcasecmp(name, "x-forwarded-for")) h->client = value;
	if (!strcasecmp(name, "forwarded")) h->forwarded = value;
	const struct {
		const char *name;
		const char **place;
	} singles[] = {{"host", &h->host},
	               {"content-length", &h->length},
	               {"transfer-encoding", &h->encoding},
	               {"authorization", &h->authorization},
	               {"origin", &h->origin},
	               {"sec-fetch-site", &h->site}};
	for (size_t i = 0; i < sizeof singles / sizeof *singles; i++)
		if (!strcasecmp(name, singles[i].name)) note_single(h, singles[i].place, value);
	return MHD_YES;
}

/* Nothing of a request that can be read in two ways is read on: the connection ends. */
static void refuse_form(struct http_exchange *x, const char *message) {
	x->reply.close = true;
	x->phase = PHASE_REFUSED;
	http_fail(&x->reply, 400, "invalid_request_error", "bad_request", NULL, "%s", message);
}

/* A head that is larger than this server reads. */
static void refuse_size(struct http_exchange *x) {
	x->reply.close = true;
	x->phase = PHASE_REFUSED;
	http_fail(&x->reply, 431, "invalid_request_error", "headers_too_large", NULL, "%s",
	          HTTP_LARGE_HEAD);
}

static size_t head_size_of(const struct http_exchange *x) {
	const union MHD_ConnectionInfo *info =
	    mhd.connection_info(x->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	return info ? info->header_size : 0;
}

static bool head_is_plain(struct http_exchange *x, const struct headers *headers,
                          const char *method, const char *version) {
	const struct http_head head = {.bytes = method,
	                               .size = head_size_of(x),
	                               .uri = x->uri,
	                               .uri_size = strlen(x->target),
	                               .target = x->target,
	                               .version = version,
	                               .names = headers->names,
	                               .values = headers->values,
	                               .count = headers->count};
	return http_head_is_plain(&head);
}

/* Whether the body's length can be read in one way only. */
static bool read_framing(struct http_exchange *x, const struct headers *h, const char *version) {
	if (h->length && !http_read_length(h->length, &x->announced)) return false;
	if (!h->encoding) return true;
	x->chunked = true;
	return !h->length && !strcasecmp(h->encoding, "chunked") && !strcmp(version, "HTTP/1.1");
}

static bool has_body(const struct http_exchange *x) {
	return x->chunked || x->announced > 0;
}

/* A refusal that the client shall be able to read: a small body is read first, and thrown away. */
static void refuse_call(struct http_exchange *x) {
	x->phase = PHASE_REFUSED;
	if (x->announced > HTTP_JSON_MOST) x->reply.close = true;
}

/* Browsers say in Sec-Fetch-Site whether the page that asks is of this origin. That also tells
 * http://localhost from https://localhost, which have one Host where both have their scheme's own
 * port. */
static bool is_of_other_site(const struct headers *h, bool tls) {
	return !http_origin_is_ours(h->origin, h->host, tls) ||
	       (h->site && strcasecmp(h->site, "same-origin") != 0);
}

static bool check_site(struct http_exchange *x, const struct headers *h) {
	const struct listening *const listening = x->server->params.listening;
	if (!http_host_is_ours(h->host, (const char *const *)listening->names,
	                       listening->name_count))
		http_fail(&x->reply, 421, "invalid_request_error", "wrong_host", NULL,
		          "this server has another name; --host NAME gives it one more");
	else if (h->origin && is_of_other_site(h, listening->tls))
		http_fail(&x->reply, 403, "permission_error", "wrong_origin", NULL,
		          "a page of another site may not ask this server");
	return !x->reply.response;
}

/* HEAD is GET, whose body libmicrohttpd then leaves out. OPTIONS is answered here. */
static bool find_route(struct http_exchange *x, const char *method) {
	bool known;
	char allow[HTTP_ALLOW];
	const struct http_table *const tables = x->server->tables;
	x->route =
	    http_find_route(tables, x->server->table_count, strcmp(method, "HEAD") ? method : "GET",
	                    x->path, &x->table, x->id, &known);
	if (x->route) return true;
	http_allowed(tables, x->server->table_count, x->path, allow);
	if (*allow) http_add(&x->reply, "Allow", allow);
	if (*allow && !strcmp(method, "OPTIONS")) http_bytes(&x->reply, 204, NULL, "", 0);
	else if (known)
		http_fail(&x->reply, 405, "invalid_request_error", "method_not_allowed", NULL,
		          "this path has no such method");
	else
		http_fail(&x->reply, 404, "invalid_request_error", "not_found", NULL,
		          "there is nothing at this path");
	return false;
}

/* The role is known: may it ask, and may the body come? */
static void judge_call(struct http_exchange *x) {
	if (!http_role_may(x->holder->role, x->route->role)) {
		http_fail(&x->reply, 403, "permission_error", "forbidden_role", NULL,
		          "this key's role may not do that");
	} else if (x->route->body == HTTP_BODY_NONE && has_body(x)) {
		http_fail(&x->reply, 400, "invalid_request_error", "invalid_value", NULL,
		          "this request takes no body");
	} else if (x->coded && has_body(x)) {
		http_add(&x->reply, "Accept-Encoding", "identity");
		http_fail(&x->reply, 415, "invalid_request_error", "unsupported_encoding", NULL,
		          "Content-Encoding is not read here: send the body as it is");
	} else {
		const uint64_t most =
		    x->route->body == HTTP_BODY_UPLOAD ? HTTP_UPLOAD_MOST : HTTP_JSON_MOST;
		x->begun = http_now();
		x->phase = PHASE_BODY;
		if (x->announced <= most) {
			if (x->route->body != HTTP_BODY_UPLOAD) return;
			x->watched->uploading = true;
			x->heads_again = true;
			http_hand_over(x, WORK_BEGIN);
			return;
		}
		http_fail(&x->reply, 413, "invalid_request_error", "too_large", NULL,
		          "the body may have %llu bytes", (unsigned long long)most);
	}
	refuse_call(x);
}

/* Behind the proxy the client's address is what it says. */
static void read_client(struct http_exchange *x, const struct headers *h) {
	const char *const proxy = x->server->params.proxy;
	if (!proxy || strcmp(x->watched->address, proxy) != 0) return;
	char address[HTTP_CLIENT];
	if ((h->forwarded && http_read_client(h->forwarded, true, address)) ||
	    (h->client && http_read_client(h->client, false, address)))
		memcpy(x->address, address, sizeof x->address);
}

/* Whether the key has as many connections as it may. The lock is held. */
static bool has_many(const struct http_exchange *x) {
	unsigned same = 0;
	for (const struct watched *w = x->server->connections; w; w = w->next)
		same += w != x->watched && !strcmp(w->holder.owner, x->holder->owner);
	return x->server->params.proxy && same >= HTTP_ADDRESS_CONNECTIONS;
}

/* Whether a connection that found as many of its address as there may be still does. Once others
 * have ended it is one like them. */
static bool is_of_crowd(struct http_exchange *x) {
	if (!x->watched->crowd) return false;
	(void)pthread_mutex_lock(&x->server->lock);
	x->watched->crowd = http_address_is_full(x->server, x->watched->address);
	(void)pthread_mutex_unlock(&x->server->lock);
	return x->watched->crowd;
}

static void refuse_crowd(struct http_exchange *x) {
	x->reply.close = true;
	http_add(&x->reply, "Retry-After", "10");
	http_fail(&x->reply, 429, "rate_limit_error", "queue_full", NULL,
	          "%d connections of this address are open, which is the most",
	          HTTP_ADDRESS_CONNECTIONS);
	refuse_call(x);
}

static void refuse_key(struct http_exchange *x) {
	http_fail(&x->reply, 401, "authentication_error", "invalid_api_key", NULL,
	          "a key of this server is needed: Authorization: Bearer KEY");
	refuse_call(x);
}

/* The key was right. It may be taken away at any time: http_keys_changed ends what it finds here,
 * so it stands here before the keys are asked once more. */
static void judge_holder(struct http_exchange *x) {
	(void)pthread_mutex_lock(&x->server->lock);
	x->watched->holder = *x->holder;
	const bool many = has_many(x);
	(void)pthread_mutex_unlock(&x->server->lock);
	if (many) {
		http_add(&x->reply, "Retry-After", "10");
		http_fail(&x->reply, 429, "rate_limit_error", "queue_full", NULL,
		          "%d requests of this key are under way, which is the most",
		          HTTP_ADDRESS_CONNECTIONS);
		refuse_call(x);
	} else if (keys_hold(x->server->params.keys, x->holder)) judge_call(x);
	else refuse_key(x);
}

void http_judge_key(struct http_exchange *x) {
	if (x->key_right) judge_holder(x);
	else refuse_key(x);
}

static void judge_caller(struct http_exchange *x, const char *authorization) {
	struct keys *const keys = x->server->params.keys;
	const char *const token = authorization ? http_bearer(authorization) : NULL;
	if (!keys || x->route->role == HTTP_NOBODY) {
		judge_call(x);
	} else if (token && keys_recall(keys, token, x->holder)) {
		judge_holder(x);
	} else if (!token || keys_wrong(keys, token)) {
		refuse_key(x);
	} else if (http_key_has_place(x)) {
		x->phase = PHASE_KEY;
		http_hand_over(x, WORK_KEY);
	} else {
		http_add(&x->reply, "Retry-After", "2");
		http_fail(&x->reply, 429, "rate_limit_error", "queue_full", NULL,
		          "too many keys are being checked");
		refuse_call(x);
	}
}

void http_judge(struct http_exchange *x, const char *method, const char *version) {
	static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"};
	struct headers h = {0};
	bool method_known = false;
	(void)mhd.values(x->connection, MHD_HEADER_KIND, note_header, &h);
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		method_known |= !strcmp(method, methods[i]);
	read_client(x, &h);
	x->coded = h.coded;
	if (is_of_crowd(x)) {
		refuse_crowd(x);
	} else if (h.many || head_size_of(x) > HTTP_HEADER_MOST) {
		refuse_size(x);
	} else if (!h.host && head_is_plain(x, &h, method, version)) {
		refuse_form(x, "the request has no header Host");
	} else if (!head_is_plain(x, &h, method, version) || h.twice || !h.host ||
	           !read_framing(x, &h, version)) {
		refuse_form(x, "the request is malformed, or could be read in two ways");
	} else if (!method_known) {
		refuse_form(x, "the method is none of GET, HEAD, POST, PUT, DELETE and OPTIONS");
	} else if (x->server->stopping) {
		x->reply.close = true;
		http_add(&x->reply, "Retry-After", "10");
		http_fail(&x->reply, 503, "server_error", "stopping", NULL,
		          "the server is stopping");
		refuse_call(x);
	} else if (!check_site(x, &h) || !find_route(x, method)) {
		refuse_call(x);
	} else {
		judge_caller(x, h.authorization);
	}
}
