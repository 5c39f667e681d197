// SPDX-License-Identifier: Apache-2.0
// What of remote.h needs no network: is a request right, and what would leave.
//
// URLs are of so few characters that all programs which read them find the same host. One with a
// user, a backslash or an escape could name one host to this check and another to the sender.
#include "io/remote/remote.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include "io/disk/fail.h"
#include "io/disk/jsonout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DIGITS "0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/* The host of a URL and what follows it. */
struct url_parts {
	const char *host; /* in the URL; an IPv6 address has its brackets */
	size_t host_size;
	const char *path; /* "" or from the first '/' on */
};

/* Splits scheme + HOST[:PORT][/PATH] of plain characters. False: it is something else. */
static bool split_url(const char *url, const char *scheme, struct url_parts *parts) {
	const size_t begin = strlen(scheme);
	if (strlen(url) > REMOTE_URL || strncmp(url, scheme, begin) != 0) return false;
	parts->host = url + begin;
	if (*parts->host == '[') {
		parts->host_size = 1 + strspn(parts->host + 1, DIGITS "abcdefABCDEF:.");
		if (parts->host_size < 3 || parts->host[parts->host_size++] != ']') return false;
	} else {
		parts->host_size = strspn(parts->host, DIGITS LETTERS ".-");
		if (!parts->host_size || *parts->host == '.' || *parts->host == '-') return false;
	}
	const char *rest = parts->host + parts->host_size;
	if (*rest == ':') {
		const size_t digits = strspn(++rest, DIGITS);
		if (!digits || digits > 5 || atoi(rest) < 1 || atoi(rest) > 65535) return false;
		rest += digits;
	}
	parts->path = rest;
	return !*rest || (*rest == '/' && !rest[strspn(rest, DIGITS LETTERS "-._~/")]);
}

/* Whether the host is this machine, whatever a name server says. */
static bool is_loopback(const struct url_parts *parts) {
	static const char *const names[] = {"127.0.0.1", "[::1]", "localhost"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (parts->host_size == strlen(names[i]) &&
		    !strncasecmp(parts->host, names[i], parts->host_size))
			return true;
	return false;
}

static enum cuttle_status check_urls(const struct remote_request *request,
                                     struct cuttle_error *error) {
	struct url_parts parts, proxy;
	const bool plain = split_url(request->endpoint, "http://", &parts);
	if (!plain && !split_url(request->endpoint, "https://", &parts))
		return io_fail(
		    error, CUTTLE_USAGE,
		    "the endpoint must be https://HOST[:PORT][/PATH] of letters, digits "
		    "and - . _ ~ alone, as in https://api.example.org/v1; a key goes into "
		    "CUTTLE_API_KEY or a file");
	if (plain && !is_loopback(&parts))
		return io_fail(error, CUTTLE_USAGE,
		               "an endpoint on another machine must be https://; http:// goes to "
		               "127.0.0.1, [::1] or localhost");
	if (!request->proxy) return CUTTLE_OK;
	if (plain)
		return io_fail(
		    error, CUTTLE_USAGE,
		    "a proxy is for an endpoint of https://; this one is asked directly");
	if (!split_url(request->proxy, "http://", &proxy) || *proxy.path)
		return io_fail(error, CUTTLE_USAGE,
		               "the proxy must be http://HOST[:PORT], as in "
		               "http://proxy.example.org:3128; what passes it is encrypted");
	return CUTTLE_OK;
}

static const char *tokens_field(const struct remote_request *request) {
	return request->max_tokens_field ? request->max_tokens_field : "max_tokens";
}

/* A name of lower-case letters and '_', and no other member's. */
static bool is_tokens_field(const char *name) {
	static const char *const taken[] = {"model",       "messages", "prompt",
	                                    "temperature", "n",        "stream"};
	const size_t size = strlen(name);
	if (!size || size > 64 || name[strspn(name, "abcdefghijklmnopqrstuvwxyz_")]) return false;
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		if (!strcmp(name, taken[i])) return false;
	return true;
}

enum cuttle_status remote_check(const struct remote_request *request, struct cuttle_error *error) {
	enum cuttle_status status = check_urls(request, error);
	if (status) return status;
	if (!utf8_name(request->model, strlen(request->model)))
		return io_fail(error, CUTTLE_USAGE,
		               "the remote model's name must be 1 to %d bytes of UTF-8 in one line",
		               UTF8_NAME);
	if (!is_tokens_field(tokens_field(request)))
		return io_fail(error, CUTTLE_USAGE,
		               "the field of the most tokens must be lower-case letters and _, and "
		               "no other field's name, as in max_completion_tokens");
	if (!request->max_tokens || request->max_tokens > INT32_MAX)
		return io_fail(error, CUTTLE_USAGE, "a reply must have 1 to %d tokens at most",
		               INT32_MAX);
	if (!(request->temperature >= 0 && request->temperature <= 2))
		return io_fail(error, CUTTLE_USAGE,
		               "the remote model's temperature must be 0 to 2, as in 0.5");
	if (!request->timeout_s || request->timeout_s > 86400)
		return io_fail(error, CUTTLE_USAGE,
		               "the timeout must be 1 to 86400 seconds, as in 120");
	return CUTTLE_OK;
}

char *remote_url(const struct remote_request *request) {
	size_t size = strlen(request->endpoint);
	char *url;
	while (size && request->endpoint[size - 1] == '/') size--;
	const int written =
	    asprintf(&url, "%.*s%s", (int)size, request->endpoint,
	             request->api == REMOTE_CHAT ? "/chat/completions" : "/completions");
	return written < 0 ? NULL : url;
}

char *remote_shown(const struct remote_request *request) {
	const char *variable = getenv(REMOTE_VARIABLE);
	const bool key = request->key_file || (variable && *variable);
	char *url = remote_url(request), *shown = NULL;
	if (url && asprintf(&shown, "POST %s\n%s\n%s\n%s\n%s", url, REMOTE_AGENT, REMOTE_ACCEPT,
	                    REMOTE_TYPE, key ? REMOTE_BEARER "\u2026\n" : "") < 0)
		shown = NULL;
	free(url);
	return shown;
}

char *remote_body(const struct remote_request *request, const char *prompt, size_t size,
                  size_t *count) {
	REQUIRE(utf8_valid(prompt, size) && !memchr(prompt, 0, size));
	json_t *said = json_stringn(prompt, size);
	if (request->api == REMOTE_CHAT) {
		const struct jsonout_member message[] = {{"role", json_string("user")},
		                                         {"content", said}};
		json_t *messages = json_array();
		said = jsonout_extend(json_object(), message, 2);
		if (json_array_append_new(messages, said) != 0) {
			json_decref(messages);
			messages = NULL;
		}
		said = messages;
	}
	const struct jsonout_member members[] = {
	    {"model", json_string(request->model)},
	    {request->api == REMOTE_CHAT ? "messages" : "prompt", said},
	    {tokens_field(request), json_integer(request->max_tokens)},
	    {"temperature", jsonout_real(request->temperature)},
	    {"n", json_integer(1)},
	    {"stream", json_false()}};
	char *body =
	    jsonout_dump(jsonout_extend(json_object(), members, sizeof members / sizeof *members),
	                 JSON_COMPACT, count);
	// The newline is for files; the service gets the document alone.
	if (body) body[--*count] = 0;
	return body;
}
