// SPDX-License-Identifier: Apache-2.0
// Tests serve/http/http_check.h and serve/plain_text.h, without a network. It fails if a head that
// can be read in two ways passes. It fails if a plain one does not. It fails if a path finds
// another route, or a foreign host or origin passes. It fails if a stop string or half a character
// is told.
#include "serve/http/http_check.h"
#include "serve/plain_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* As version 1.0 leaves a head: a line feed behind a carriage return stays, and so does the empty
 * line. */
static bool newer;

/* A head as libmicrohttpd leaves it: line ends and colons have become NULs. */
struct parsed {
	char bytes[512];
	struct http_head head;
	const char *names[8], *values[8];
	char target[256];
};

/* Reads as leniently as libmicrohttpd does: a bare line feed ends a line, too. */
static void parse_head(struct parsed *p, const char *text, size_t size) {
	memcpy(p->bytes, text, size);
	p->head = (struct http_head){
	    .bytes = p->bytes, .size = size, .names = p->names, .values = p->values};
	char *at = p->bytes, *const end = p->bytes + size;
	for (size_t line = 0; at < end; line++) {
		char *stop = memchr(at, '\n', (size_t)(end - at));
		assert_non_null(stop);
		char *const next = stop + 1;
		const bool whole = stop > at && stop[-1] == '\r';
		if (!newer || !whole) *stop = 0;
		if (whole && !(newer && stop - at == 1)) stop[-1] = 0;
		if (newer && whole && stop - at == 1) break;
		if (line == 0) {
			char *space = strchr(at, ' ');
			*space = 0;
			p->head.uri = space + 1;
			space = memrchr(space + 1, ' ', (size_t)(stop - space - 1));
			*space = 0;
			p->head.version = space + 1;
			p->head.uri_size = strlen(p->head.uri);
			strcpy(p->target, p->head.uri);
			p->head.target = p->target;
		} else if (*at) {
			char *value = memchr(at, ':', (size_t)(stop - at));
			assert_non_null(value);
			*value++ = 0;
			while (*value == ' ' || *value == '\t') value++;
			p->names[p->head.count] = at;
			p->values[p->head.count++] = value;
		}
		at = next;
	}
}

static bool head_is_plain(const char *text, size_t size) {
	struct parsed p;
	parse_head(&p, text, size);
	return http_head_is_plain(&p.head);
}
#define PLAIN(text) head_is_plain(text, sizeof(text) - 1)

static void check_heads(void) {
	assert_true(PLAIN("GET / HTTP/1.1\r\n\r\n"));
	assert_true(PLAIN("GET /a?b=c HTTP/1.0\r\nHost: a\r\nX-B:  c d \r\nE:\tf\r\nG:h\r\n\r\n"));
	assert_false(PLAIN("GET / HTTP/1.1\n\n"));
	assert_false(PLAIN("GET / HTTP/1.1\r\nHost: a\n\r\n"));
	assert_false(PLAIN("GET / HTTP/1.1\r\nHost: a\r\n\n"));
	assert_false(PLAIN("GET / HTTP/1.2\r\n\r\n"));
	assert_false(PLAIN("GET  / HTTP/1.1\r\n\r\n"));
	assert_false(PLAIN("G\rT / HTTP/1.1\r\n\r\n"));
	assert_false(PLAIN(" / HTTP/1.1\r\n\r\n"));
	assert_false(PLAIN("GET /a b HTTP/1.1\r\n\r\n"));
	assert_false(PLAIN("GET /a\tb HTTP/1.1\r\n\r\n"));
	assert_false(PLAIN("GET /a\0b HTTP/1.1\r\n\r\n"));
	assert_false(PLAIN("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n"));
	assert_false(PLAIN("GET / HTTP/1.1\r\nHo\0st: a\r\n\r\n"));
	assert_false(PLAIN("GET / HTTP/1.1\r\nHost : a\r\n\r\n"));
	assert_false(PLAIN("GET / HTTP/1.1\r\n: a\r\n\r\n"));
	assert_false(PLAIN("GET / HTTP/1.1\r\nHost: a\x01\r\n\r\n"));
	struct parsed p;
	static const char folded[] = "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n\r\n";
	// A value that was put together from two lines stands elsewhere.
	parse_head(&p, folded, sizeof folded - 1);
	p.values[1] = "b c";
	assert_false(http_head_is_plain(&p.head));
	// A header that nobody was told of.
	parse_head(&p, folded, sizeof folded - 1);
	p.head.count = 1;
	assert_false(http_head_is_plain(&p.head));
}

static void test_heads(void **state) {
	(void)state;
	for (int i = 0; i < 2; i++) {
		newer = i;
		check_heads();
	}
}

static void test_lengths(void **state) {
	uint64_t length;
	(void)state;
	assert_true(http_read_length("0", &length) && length == 0);
	assert_true(http_read_length("123456789012345678", &length) &&
	            length == UINT64_C(123456789012345678));
	static const char *const wrong[] = {
	    "", "+1", "-1", " 1", "1 ", "0x1", "1,1", "1e3", "1234567890123456789"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_false(http_read_length(wrong[i], &length));
}

static void answer_nothing(void *user, const struct http_call *call, struct http_reply *reply) {
	(void)user;
	(void)call;
	(void)reply;
}

static void test_routes(void **state) {
	(void)state;
	static const struct http_route
	    first[] = {{.method = "GET", .pattern = "/a", .answer = answer_nothing},
	               {.method = "GET", .pattern = "/jobs/{id}", .answer = answer_nothing},
	               {.method = "DELETE", .pattern = "/jobs/{id}", .answer = answer_nothing}},
	    second[] = {
	        {.method = "GET", .pattern = "/jobs/{id}/results", .answer = answer_nothing}};
	const struct http_table tables[] = {{.routes = first, .count = 3},
	                                    {.routes = second, .count = 1}},
	                        *table;
	const struct {
		const char *method, *path;
		const struct http_route *route;
		const char *id;
		bool known;
	} cases[] = {{"GET", "/a", &first[0], "", true},
	             {"GET", "/jobs/job_1-x", &first[1], "job_1-x", true},
	             {"DELETE", "/jobs/j", &first[2], "j", true},
	             {"GET", "/jobs/j/results", &second[0], "j", true},
	             {"POST", "/jobs/j", NULL, "", true},
	             {"GET", "/jobs/", NULL, "", false},
	             {"GET", "/jobs/J", NULL, "", false},
	             {"GET", "/jobs/j.k", NULL, "", false},
	             {"GET", "/jobs/..", NULL, "", false},
	             {"GET", "/jobs/j%2f", NULL, "", false},
	             {"GET", "/jobs/j/", NULL, "", false},
	             {"GET", "/jobs/j/k/results", NULL, "", false},
	             {"GET", "/jobs/j/results/", NULL, "", false},
	             {"GET", "/A", NULL, "", false},
	             {"GET", "", NULL, "", false},
	             {"GET",
	              "/jobs/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	              NULL, "", false}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char id[HTTP_ID_MOST + 1];
		bool known;
		assert_ptr_equal(
		    http_find_route(tables, 2, cases[i].method, cases[i].path, &table, id, &known),
		    cases[i].route);
		assert_string_equal(id, cases[i].id);
		assert_int_equal(known, cases[i].known);
	}
}

static void test_sites(void **state) {
	static const char *const names[] = {"localhost", "[::1]"};
	(void)state;
	assert_true(http_host_is_ours("localhost", names, 2));
	assert_true(http_host_is_ours("LocalHost:80", names, 2));
	// Behind a tunnel the port is another one. It tells nothing about who asks.
	assert_true(http_host_is_ours("localhost:81", names, 2));
	assert_true(http_host_is_ours("[::1]", names, 2));
	assert_true(http_host_is_ours("[::1]:29999", names, 2));
	static const char *const foreign[] = {"localhost:80.evil", "localhost:80:80",
	                                      "localhost:123456",  "[::1",
	                                      "[::1]80",           ":80",
	                                      "localhos",          "[::1].evil:80",
	                                      "evil:80",           "::1",
	                                      "localhost[::1]"};
	for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
		assert_false(http_host_is_ours(foreign[i], names, 2));
	assert_false(http_host_is_ours("localhost.evil", names, 2));
	assert_false(http_host_is_ours("", names, 2));
	assert_true(http_host_is_ours("any", NULL, 0));
	assert_false(http_host_is_ours("any/thing", NULL, 0));
	assert_true(http_origin_is_ours("http://a:1", "A:1", false));
	assert_false(http_origin_is_ours("http://a:1", "a:1", true));
	assert_true(http_origin_is_ours("https://a", "a", true));
	assert_true(http_origin_is_ours("https://a", "a", false)); // a proxy may have TLS
	assert_false(http_origin_is_ours("https://b", "a", false));
	assert_false(http_origin_is_ours("ftp://a", "a", false));
	assert_false(http_origin_is_ours("http://a:10", "a:1", false));
	assert_false(http_origin_is_ours("null", "a:1", false));
	assert_string_equal(http_bearer("bearer  x"), "x");
	assert_null(http_bearer("Bearer "));
	assert_null(http_bearer("Basic x"));
}

static void test_bodies(void **state) {
	char deep[128] = {0}, fault[HTTP_FAULT];
	(void)state;
	static const char *const wrong[] = {"", "[]", "1", "{", "{}}", "{\"a\":1,\"a\":2}"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_null(http_parse_json(wrong[i], strlen(wrong[i]), fault));
	for (int depth = 31; depth <= 32; depth++) {
		char *at = stpcpy(deep, "{\"a\":");
		memset(at, '[', (size_t)depth);
		memset(at + depth, ']', (size_t)depth);
		strcpy(at + 2 * depth, "}");
		json_t *root = http_parse_json(deep, strlen(deep), fault);
		assert_int_equal(root != NULL, depth == 31);
		json_decref(root);
	}
	// Brackets in a string are no depth.
	static const char text[] = "{\"a\":\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[\"}";
	json_t *root = http_parse_json(text, sizeof text - 1, fault);
	assert_non_null(root);
	json_decref(root);
}

/* What is wrong is told, and where, in words that hold nothing of the body. */
static void test_faults(void **state) {
	static const struct {
		const char *body, *fault;
	} cases[] = {
	    {"", "the body is empty"},
	    {" \r\n\t", "the body is empty"},
	    {"{\"a\":\"canary\ncanary\"}", "line 1, column 12: a text has a line break"},
	    {"{\"a\":\"canary\x1f\"}", "another control character"},
	    {"{\"a\":\"\\ud800canary\"}", "half of a surrogate pair"},
	    {"\x1f\x8b\x08", "compressed"},
	    {"\xef\xbb\xbf{}", "byte order mark"},
	    {"[]", "must be one JSON object"},
	    {"{\"a\":\n18446744073709551615}", "line 2, column 20: the number is too large"},
	    {"{\"a\":-9223372036854775809}", "the number is too large"},
	    {"{\"a\":1e999}", "the number is too large"},
	    {"{\"a\":1,\"a\":2}", "a member stands twice"},
	    {"{\"a\":\"canary\"", "the body ends before"},
	    {"{} canary", "something follows"},
	    {"{\"a\":\"\xff\"}", "not UTF-8"},
	    {"canary", "not JSON"},
	    {"{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
	     "32 deep"},
	    {"{\"dataset\":\"notes\\u0000canary\"}", "a text has \\u0000"},
	    {"{\"a\":[{\"b\":\"\\u0000\"}]}", "a text has \\u0000"},
	    {"{\"plan\":{\"schema\":\"\\u0000\"}}", "a text has \\u0000"},
	    {"{\"schema\":[\"\\u0000\"]}", "a text has \\u0000"},
	    {"{\"schema\":{\"\\u0000\":1}}", "the name of a member"}};
	char fault[HTTP_FAULT];
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_null(http_parse_json(cases[i].body, strlen(cases[i].body), fault));
		if (!strstr(fault, cases[i].fault)) fail_msg("%s: %s", cases[i].body, fault);
		assert_null(strstr(fault, "canary"));
	}
	assert_null(http_parse_json("{\0}\0", 4, fault));
	assert_non_null(strstr(fault, "the body has a NUL"));
	static const char schema[] = "{\"plan\":{\"schema\":{\"enum\":[\"a\\u0000b\"]}},\"json_"
	                             "schema\":{\"const\":\"\\u0000\"}}";
	json_t *root = http_parse_json(schema, sizeof schema - 1, fault);
	assert_non_null(root);
	json_decref(root);
}

/* Adds the pieces and writes what is told after each, with '|' between. */
static void tell_pieces(const char *const *stops, size_t stop_count, const char *const *pieces,
                        size_t count, char *told) {
	struct plain_text text = {.stops = stops, .stop_count = stop_count};
	*told = 0;
	for (size_t i = 0; i < count; i++) {
		assert_true(plain_text_add(&text, pieces[i], strlen(pieces[i])));
		const size_t ready = plain_text_ready(&text, i + 1 == count);
		strncat(told, text.bytes + text.told, ready);
		strcat(told, "|");
		text.told += ready;
	}
	plain_text_free(&text);
}

static void test_texts(void **state) {
	static const char *const stops[] = {"END", "\n\n"};
	char told[128];
	(void)state;
	tell_pieces(stops, 2, (const char *[]){"go", " EN", "D now", "x"}, 4, told);
	assert_string_equal(told, "go| |||");
	tell_pieces(stops, 2, (const char *[]){"go", " EN", "TER"}, 3, told);
	assert_string_equal(told, "go| |ENTER|");
	tell_pieces(stops, 2, (const char *[]){"a\n", "\nb"}, 2, told);
	assert_string_equal(told, "a||");
	tell_pieces(stops, 2, (const char *[]){"xEND\n\n"}, 1, told);
	assert_string_equal(told, "x|");
	tell_pieces(NULL, 0, (const char *[]){"\xc3", "\xa9", "\xe2\x82", "\xac!"}, 4, told);
	assert_string_equal(told, "|\xc3\xa9||\xe2\x82\xac!|");
	tell_pieces(NULL, 0, (const char *[]){"\xe2\x82"}, 1, told);
	assert_string_equal(told, "|");
	tell_pieces(NULL, 0, (const char *[]){"a\xf0\x9f", "\x98"}, 2, told);
	assert_string_equal(told, "a||");
	// Broken bytes are no cut character, nor are those in front of a stop string.
	tell_pieces(stops, 2, (const char *[]){"a\xe2\x82", "END"}, 2, told);
	assert_string_equal(told, "a|\xe2\x82|");
	tell_pieces(NULL, 0, (const char *[]){"\x80\x80\x80\x80", "a"}, 2, told);
	assert_string_equal(told, "\x80\x80\x80\x80|a|");
}

/* A whole answer has no cut character at its end either. */
static void test_ends(void **state) {
	static const char *const stops[] = {"END"};
	static const struct {
		const char *bytes;
		size_t size;
	} ends[] = {{"a\xe2\x82", 1},
	            {"a\xc3\xa9", 3},
	            {"\xf0\x9f\x98", 0},
	            {"a\xc3"
	             "END",
	             2}};
	(void)state;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		struct plain_text text = {.stops = stops, .stop_count = 1};
		assert_true(plain_text_add(&text, ends[i].bytes, strlen(ends[i].bytes)));
		plain_text_end(&text);
		assert_int_equal(text.size, ends[i].size);
		plain_text_free(&text);
	}
	struct plain_text none = {0};
	plain_text_end(&none);
	assert_int_equal(none.size, 0);
}

/* What stands in memory before a short text is no part of it. */
static void test_short_texts(void **state) {
	static const char *const stops[] = {"ABCD"};
	char stop_before[] = "ABC", character_before[] = "\xe2\x82";
	struct plain_text text = {
	    .stops = stops, .stop_count = 1, .bytes = stop_before + 2, .size = 1};
	(void)state;
	assert_int_equal(plain_text_ready(&text, false), 1);
	text = (struct plain_text){.bytes = character_before + 1, .size = 1};
	assert_int_equal(plain_text_ready(&text, true), 1);
	// Nobody may read there.
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *const pages =
	    mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(pages != MAP_FAILED && mprotect(pages, page, PROT_NONE) == 0);
	text = (struct plain_text){
	    .stops = stops, .stop_count = 1, .bytes = pages + page, .capacity = page};
	assert_true(plain_text_add(&text, "a", 1));
	assert_int_equal(text.size, 1);
	assert_int_equal(munmap(pages, 2 * page), 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_heads),       cmocka_unit_test(test_lengths),
	    cmocka_unit_test(test_routes),      cmocka_unit_test(test_sites),
	    cmocka_unit_test(test_bodies),      cmocka_unit_test(test_faults),
	    cmocka_unit_test(test_texts),       cmocka_unit_test(test_ends),
	    cmocka_unit_test(test_short_texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
