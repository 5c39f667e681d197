// SPDX-License-Identifier: Apache-2.0
// Fuzzes what the server looks at of a request before anybody answers it: head, path, host, length
// and JSON. It stops when a head passes that another program could read as other lines; when an id
// has other letters than its alphabet; or by a sanitizer. The first byte of an input chooses; the
// rest is foreign.
#include "serve/http/http_check.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_HEADERS = 16 };

/* The line's end: where it stands in the head, the two bytes that came there, and one more line. */
static void check_line_end(const char *foreign, size_t at, size_t *lines, size_t *feeds) {
	for (size_t i = at; i < at + 2; i++) {
		if (foreign[i] && foreign[i] != '\r' && foreign[i] != '\n') abort();
		*feeds += foreign[i] == '\n';
	}
	++*lines;
}

/* A head that passed must have as many lines as line feeds, and each NUL, carriage return and line
 * feed among the two bytes that end a line. Which of the three stood at which of the two nobody
 * can see any more, see http_check.h. */
static void check_plain_head(const char *foreign, size_t size, const struct http_head *head) {
	size_t lines = 0, feeds = 0, ends = 0;
	check_line_end(foreign, (size_t)(head->version + strlen(head->version) - head->bytes),
	               &lines, &feeds);
	for (size_t i = 0; i < head->count; i++)
		check_line_end(foreign,
		               (size_t)(head->values[i] + strlen(head->values[i]) - head->bytes),
		               &lines, &feeds);
	check_line_end(foreign, size - 2, &lines, &feeds);
	for (size_t i = 0; i < size; i++)
		ends += !foreign[i] || foreign[i] == '\r' || foreign[i] == '\n';
	if (feeds != lines || ends != 2 * lines || foreign[size - 1] != '\n') abort();
}

/* Splits a head as leniently as libmicrohttpd does, and asks whether it is plain. */
static void check_head(const char *foreign, size_t size) {
	char *bytes = malloc(size + 1), *target = NULL;
	const char *names[MOST_HEADERS], *values[MOST_HEADERS];
	struct http_head head = {.bytes = bytes, .size = size, .names = names, .values = values};
	if (!bytes) return;
	memcpy(bytes, foreign, size);
	bytes[size] = 0;
	char *const end = bytes + size;
	size_t line = 0;
	bool ended = false; /* the first empty line is the last, as libmicrohttpd knows the end */
	for (char *at = bytes; at < end; line++) {
		char *const stop = memchr(at, '\n', (size_t)(end - at));
		if (!stop) break;
		*stop = 0;
		if (stop > at && stop[-1] == '\r') stop[-1] = 0;
		const bool empty = !*at;
		char *const cut = memchr(at, line ? ':' : ' ', (size_t)(stop - at));
		if (!line) {
			char *last = cut ? memrchr(cut + 1, ' ', (size_t)(stop - cut - 1)) : NULL;
			if (!last) break;
			*cut = *last = 0;
			head.uri = cut + 1;
			head.uri_size = strlen(head.uri);
			head.version = last + 1;
			target = strdup(head.uri);
			head.target = target;
		} else if (!empty && cut && head.count < MOST_HEADERS) {
			char *value = cut + 1;
			*cut = 0;
			while (*value == ' ' || *value == '\t') value++;
			names[head.count] = at;
			values[head.count++] = value;
		}
		ended = empty && stop + 1 == end;
		if (empty) break;
		at = stop + 1;
	}
	if (target && ended && http_head_is_plain(&head)) check_plain_head(foreign, size, &head);
	free(target);
	free(bytes);
}

static void check_path(const char *path) {
	static const struct http_route routes[] = {
	    {.method = "GET", .pattern = "/v1/jobs/{id}"},
	    {.method = "GET", .pattern = "/v1/jobs/{id}/results"},
	    {.method = "GET", .pattern = "/"}};
	const struct http_table tables = {.routes = routes, .count = 3}, *table;
	char id[HTTP_ID_MOST + 1];
	bool known;
	if (!http_find_route(&tables, 1, "GET", path, &table, id, &known)) return;
	if (strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789_-") != strlen(id)) abort();
	if (strchr(path, '.') || strchr(path, '%')) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	if (size < 1) return 0;
	const char *const foreign = (const char *)data + 1;
	char *const text = strndup(foreign, size - 1);
	const char *const names[] = {"localhost"};
	char fault[HTTP_FAULT];
	uint64_t length;
	if (!text) return 0;
	switch (*data % 4) {
	case 0:
		check_head(foreign, size - 1);
		break;
	case 1:
		check_path(text);
		break;
	case 2:
		(void)http_host_is_ours(text, names, 1);
		(void)http_origin_is_ours(text, "localhost:80", false);
		(void)http_bearer(text);
		(void)http_read_length(text, &length);
		break;
	default:
		json_decref(http_parse_json(foreign, size - 1, fault));
	}
	free(text);
	return 0;
}

uint8_t *fuzz_seed(size_t index, size_t *size) {
	static const struct fuzz_literal seeds[] = {
	    FUZZ_LITERAL("0GET /a?b=c HTTP/1.1\r\nHost: localhost:80\r\nX-B:  c d\r\n\r\n"),
	    FUZZ_LITERAL("0POST / HTTP/1.0\r\nContent-Length: 3\r\n folded\r\nE:f\r\n\r\n"),
	    FUZZ_LITERAL("0GET / HTTP/1.1\nHost: a\n\n"),
	    FUZZ_LITERAL("0\rET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	    FUZZ_LITERAL("0GET / HTTP/1.1\r\nX-B:  c1\0\r\n\n"),
	    FUZZ_LITERAL("1/v1/jobs/job_1-x/results"),
	    FUZZ_LITERAL("1/v1/jobs/../x"),
	    FUZZ_LITERAL("2localhost:80"),
	    FUZZ_LITERAL("2http://localhost:80"),
	    FUZZ_LITERAL("2Bearer alice.secret"),
	    FUZZ_LITERAL("2123456789"),
	    FUZZ_LITERAL("3{\"prompt\":\"a\\\"[\",\"stop\":[[[{\"a\":1e3}]]]}"),
	    FUZZ_LITERAL("3{\"a\":1,\"a\":2}"),
	};
	return fuzz_copy(seeds, sizeof seeds / sizeof *seeds, index, size);
}
