// SPDX-License-Identifier: Apache-2.0
// http_check.c: see http_check.h.
#include "serve/http/http_check.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static const char *const ROLES[] = {"nobody", "metrics", "admin", "use", "officer"};

const char *http_role_name(enum http_role role) {
	return ROLES[role];
}

bool http_role_find(const char *name, enum http_role *role) {
	for (int i = HTTP_METRICS; i <= HTTP_OFFICER; i++)
		if (!strcmp(name, ROLES[i])) {
			*role = (enum http_role)i;
			return true;
		}
	return false;
}

bool http_role_may(enum http_role role, enum http_role wanted) {
	if (wanted == HTTP_NOBODY) return true;
	if (wanted == HTTP_METRICS) return role != HTTP_NOBODY;
	return role == wanted || (role == HTTP_OFFICER && wanted == HTTP_USE);
}

static bool is_name_byte(unsigned char byte) {
	// The token of RFC 9110, section 5.6.2.
	return isalnum(byte) || (byte && strchr("!#$%&'*+-.^_`|~", byte));
}

/* Whether a carriage return and a line feed stood at `end`, and *next is what comes behind them.
 * libmicrohttpd 0.9 left two NULs in their place; 1.0 leaves the line feed. A line feed alone
 * became one NUL in both, and what comes behind it is neither. */
static bool ends_line(const struct http_head *head, const char *end, const char **next) {
	const char *const stop = head->bytes + head->size;
	if (end < head->bytes || stop - end < 2 || end[0] || (end[1] && end[1] != '\n'))
		return false;
	*next = end + 2;
	return true;
}

/* The line "name: value" must stand at `at`, and be followed by *next. */
static bool is_plain_line(const struct http_head *head, const char *at, const char *name,
                          const char *value, const char **next) {
	const char *const stop = head->bytes + head->size;
	if (name != at || value <= name || value > stop - 4 || !*name) return false;
	for (; *at; at++)
		if (!is_name_byte((unsigned char)*at)) return false;
	for (at++; at < value && (*at == ' ' || *at == '\t'); at++)
		;
	// A value that stands elsewhere was put together from several lines.
	if (at != value) return false;
	for (; *at; at++)
		if ((unsigned char)*at < 0x20 && *at != '\t') return false;
	return ends_line(head, at, next);
}

bool http_head_is_plain(const struct http_head *head) {
	const char *const stop = head->bytes + head->size, *at = head->bytes;
	// The last line's end begins with a NUL, so no search for an end leaves the head.
	if (head->size < 4 || stop[-4] || head->uri != at + strlen(at) + 1 || head->uri >= stop)
		return false;
	if (!*at) return false;
	for (; *at; at++)
		if (!is_name_byte((unsigned char)*at)) return false;
	for (at = head->target; *at; at++)
		if ((unsigned char)*at <= 0x20 || *at == 0x7f) return false;
	if (head->version != head->uri + head->uri_size + 1 || head->version > stop - 4)
		return false;
	if (strcmp(head->version, "HTTP/1.1") != 0 && strcmp(head->version, "HTTP/1.0") != 0)
		return false;
	if (!ends_line(head, head->version + strlen(head->version), &at)) return false;
	for (size_t i = 0; i < head->count; i++)
		if (at >= stop || !is_plain_line(head, at, head->names[i], head->values[i], &at))
			return false;
	return stop - at == 2 && (!memcmp(at, "\0\0", 2) || !memcmp(at, "\r\n", 2));
}

bool http_read_length(const char *text, uint64_t *length) {
	const size_t size = strlen(text);
	*length = 0;
	if (size < 1 || size > 18) return false;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9') return false;
		*length = *length * 10 + (uint64_t)(text[i] - '0');
	}
	return true;
}

static bool is_id_byte(char byte) {
	return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '_' ||
	       byte == '-';
}

static bool matches_pattern(const char *pattern, const char *path, char id[HTTP_ID_MOST + 1]) {
	*id = 0;
	const char *const place = strstr(pattern, "{id}");
	if (!place) return !strcmp(pattern, path);
	const size_t before = (size_t)(place - pattern);
	if (strncmp(pattern, path, before) != 0) return false;
	size_t size = 0;
	while (is_id_byte(path[before + size])) size++;
	if (size < 1 || size > HTTP_ID_MOST || strcmp(place + 4, path + before + size) != 0)
		return false;
	memcpy(id, path + before, size);
	id[size] = 0;
	return true;
}

void http_allowed(const struct http_table *tables, size_t count, const char *path,
                  char allow[HTTP_ALLOW]) {
	static const char *const methods[] = {"GET", "POST", "PUT", "DELETE"};
	const struct http_table *table;
	char id[HTTP_ID_MOST + 1];
	bool any = false, known;
	*allow = 0;
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		if (strcmp(path, "*") != 0 &&
		    !http_find_route(tables, count, methods[i], path, &table, id, &known))
			continue;
		(void)strcat(strcat(allow, methods[i]), i ? ", " : ", HEAD, ");
		any = true;
	}
	if (any) (void)strcat(allow, "OPTIONS");
}

const struct http_route *http_find_route(const struct http_table *tables, size_t count,
                                         const char *method, const char *path,
                                         const struct http_table **table, char id[HTTP_ID_MOST + 1],
                                         bool *known) {
	*known = false;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < tables[i].count; j++) {
			const struct http_route *route = &tables[i].routes[j];
			if (!matches_pattern(route->pattern, path, id)) continue;
			*known = true;
			*table = &tables[i];
			if (!strcmp(route->method, method)) return route;
		}
	*id = 0;
	return NULL;
}

size_t http_name_size(const char *host) {
	const char *const close = *host == '[' ? strchr(host, ']') : NULL;
	const size_t size = close ? (size_t)(close + 1 - host) : strcspn(host, ":");
	if (!host[size]) return size;
	const size_t digits = strspn(host + size + 1, "0123456789");
	return host[size] != ':' || host[size + 1 + digits] || digits > 5 ? 0 : size;
}

bool http_host_is_ours(const char *host, const char *const *names, size_t count) {
	const size_t size = strlen(host), name = http_name_size(host);
	if (size < 1 || size > 255) return false;
	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)host[i]) && !strchr(".-:[]_", host[i])) return false;
	for (size_t i = 0; i < count; i++)
		if (name && strlen(names[i]) == name && !strncasecmp(host, names[i], name))
			return true;
	return count == 0;
}

bool http_origin_is_ours(const char *origin, const char *host, bool tls) {
	static const char *const schemes[] = {"https://", "http://"};
	for (size_t i = 0; i < (tls ? 1 : 2); i++) {
		const size_t size = strlen(schemes[i]);
		if (!strncasecmp(origin, schemes[i], size) && !strcasecmp(origin + size, host))
			return true;
	}
	return false;
}

const char *http_bearer(const char *authorization) {
	static const char scheme[] = "Bearer ";
	if (strncasecmp(authorization, scheme, sizeof scheme - 1) != 0) return NULL;
	authorization += sizeof scheme - 1;
	while (*authorization == ' ') authorization++;
	return *authorization ? authorization : NULL;
}

/* Takes quotes, brackets and a port away. False: what is left is no address. */
static bool read_node(char *text, char address[HTTP_CLIENT]) {
	unsigned char bytes[sizeof(struct in6_addr)];
	size_t size = strlen(text);
	if (size >= 2 && *text == '"' && text[size - 1] == '"') {
		text[size - 1] = 0;
		text++;
	}
	char *const close = strchr(text, ']'), *const colon = strchr(text, ':');
	if (*text == '[' && close) {
		*close = 0;
		text++;
	} else if (colon && !strchr(colon + 1, ':')) {
		*colon = 0;
	}
	const bool four = inet_pton(AF_INET, text, bytes) == 1;
	if (!four && inet_pton(AF_INET6, text, bytes) != 1) return false;
	// As the system writes it, so that one address has one name.
	return inet_ntop(four ? AF_INET : AF_INET6, bytes, address, HTTP_CLIENT) != NULL;
}

bool http_read_client(const char *value, bool forwarded, char address[HTTP_CLIENT]) {
	char text[256];
	const char *const comma = strrchr(value, ',');
	const char *at = comma ? comma + 1 : value;
	while (*at == ' ' || *at == '\t') at++;
	const char *const pair = forwarded ? strcasestr(at, "for=") : at;
	if (!pair) return false;
	at = forwarded ? pair + strlen("for=") : at;
	const size_t size = strcspn(at, forwarded ? "; \t" : " \t");
	if (!size || size >= sizeof text) return false;
	memcpy(text, at, size);
	text[size] = 0;
	return read_node(text, address);
}

/* Whether no value is deeper than `left` objects and arrays. Bytes in strings do not count. */
static bool is_shallow(const char *bytes, size_t size, size_t left) {
	size_t depth = 0;
	bool quoted = false;
	for (size_t i = 0; i < size; i++) {
		const char byte = bytes[i];
		if (quoted && byte == '\\') i++;
		else if (byte == '"') quoted = !quoted;
		else if (quoted) continue;
		else if (byte == '{' || byte == '[') depth++;
		else if ((byte == '}' || byte == ']') && depth) depth--;
		if (depth > left) return false;
	}
	return true;
}

/* Whether a string outside of schemas has a NUL. Schemas are written out again as JSON, with an
 * escape for it; everything else is read up to the NUL, so that "notes\0x" would be taken for the
 * data set "notes". */
static bool has_nul(const json_t *value) {
	const char *name;
	size_t i;
	json_t *part;
	if (json_is_string(value))
		return strlen(json_string_value(value)) != json_string_length(value);
	json_array_foreach(value, i, part) {
		if (has_nul(part)) return true;
	}
	json_object_foreach((json_t *)(uintptr_t)value, name, part) {
		const bool schema = !strcmp(name, "schema") || !strcmp(name, "json_schema");
		if (!(schema && json_is_object(part)) && has_nul(part)) return true;
	}
	return false;
}

/* What is wrong, in words of our own: jansson's repeat what came. */
static const char *explain_json(const json_error_t *error) {
	// It has one code for all faults of syntax, and tells these apart by its words.
	static const char control[] = "control character", line[] = "unexpected newline",
	                  half[] = "invalid Unicode";
	if (!strncmp(error->text, control, sizeof control - 1) ||
	    !strncmp(error->text, line, sizeof line - 1))
		return "a text has a line break or another control character: write it as \\n "
		       "or \\u001f";
	if (!strncmp(error->text, half, sizeof half - 1))
		return "a text has half of a surrogate pair, such as \\ud800 alone";
	switch (json_error_code(error)) {
	case json_error_numeric_overflow:
		return "the number is too large: whole numbers go up to 9223372036854775807, "
		       "others to 1.79e308";
	case json_error_duplicate_key:
		return "a member stands twice in its object";
	case json_error_null_byte_in_key:
		return "the name of a member may not have \\u0000";
	case json_error_invalid_utf8:
		return "the bytes are not UTF-8";
	case json_error_premature_end_of_input:
		return "the body ends before its object does";
	case json_error_end_of_input_expected:
		return "the object has ended, and something follows it";
	case json_error_out_of_memory:
		return "there is no memory for it";
	default:
		return "this is not JSON";
	}
}

json_t *http_parse_json(const char *bytes, size_t size, char fault[HTTP_FAULT]) {
	const char *wrong = NULL;
	json_error_t error = {.line = 0};
	json_t *root = NULL;
	size_t blank = 0;
	while (blank < size && strchr(" \t\r\n", bytes[blank]) && bytes[blank]) blank++;
	if (blank == size) wrong = "the body is empty, and must be one JSON object";
	else if (size >= 2 && !memcmp(bytes, "\x1f\x8b", 2))
		wrong = "the body is compressed: send it as it is";
	else if (size >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3))
		wrong = "the body begins with a byte order mark: send it without";
	else if (memchr(bytes, 0, size)) wrong = "the body has a NUL, and must be JSON in UTF-8";
	else if (!is_shallow(bytes, size, HTTP_JSON_DEPTH))
		wrong = "the body may have objects and arrays 32 deep in one another, and has more";
	else if (!(root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error)))
		wrong = explain_json(&error);
	else if (!json_is_object(root)) wrong = "the body must be one JSON object";
	else if (has_nul(root)) wrong = "a text has \\u0000, which only a schema may have";
	if (!wrong) return root;
	json_decref(root);
	if (!root && error.line > 0)
		(void)snprintf(fault, HTTP_FAULT, "the body, line %d, column %d: %s", error.line,
		               error.column, wrong);
	else (void)snprintf(fault, HTTP_FAULT, "%s", wrong);
	return NULL;
}
