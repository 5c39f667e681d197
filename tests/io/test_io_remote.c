// SPDX-License-Identifier: Apache-2.0
// Tests io/remote/remote.c and io/remote/remote_request.c against a server on this machine, which
// records every byte. It fails if other bytes leave than the request's own, if they leave for
// another place, if a retry changes them, if a bound does not hold, if the key is in a message, if
// a failure has the wrong status, or if libcurl is in the process before a remote is opened.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/remote/remote.h"
#include "tests/support/files.h"
#include "tests/support/http_server.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEY "sk-Test_0123456789.abcdef"
#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json"
#define OK_BODY "{\"choices\":[{\"message\":{\"content\":\"Once\"},\"finish_reason\":\"stop\"}]}"

static char folder[] = "/tmp/cuttle-remote-XXXXXX";
static char path[128];
static struct cuttle_error error;

static struct remote_request request_to(const char *url) {
	return (struct remote_request){.endpoint = url,
	                               .model = "small-1",
	                               .max_tokens = 150,
	                               .temperature = 0.5,
	                               .timeout_s = 20,
	                               .retries = 5};
}

static const char *in_folder(const char *name) {
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

/* ---- without a network ----------------------------------------------------------------------- */

static enum cuttle_status check(const char *url, const char *proxy) {
	struct remote_request request = request_to(url);
	request.proxy = proxy;
	error.message[0] = 0;
	return remote_check(&request, &error);
}

static void which_endpoints(void **state) {
	(void)state;
	static const char *const right[] = {"https://api.example.org/v1",
	                                    "https://api.example.org",
	                                    "https://a.b:8443/x/y-z_1.0~/",
	                                    "https://10.1.2.3/v1",
	                                    "https://[2001:db8::1]:443/v1",
	                                    "http://127.0.0.1:8080/v1",
	                                    "http://[::1]:1",
	                                    "http://localhost:65535",
	                                    "http://LocalHost/v1"};
	static const char *const wrong[] = {"",
	                                    "api.example.org",
	                                    "HTTPS://api.example.org",
	                                    "ftp://api.example.org",
	                                    "file:///etc/passwd",
	                                    "http://api.example.org",
	                                    "http://api.example.org/v1",
	                                    "http://127.0.0.2",
	                                    "http://127.1",
	                                    "http://localhost.",
	                                    "http://localhost.example.org",
	                                    "http://[::2]",
	                                    "http://2130706433",
	                                    "https://user@api.example.org",
	                                    "https://user:secret@api.example.org/v1",
	                                    "https://api.example.org/v1?key=secret",
	                                    "https://api.example.org/#secret",
	                                    "https://api.example.org/%2e",
	                                    "https://api.example.org\\@evil.example",
	                                    "https://api.example.org/a b",
	                                    "https://api.example.org/\r\nX: y",
	                                    "https://api.example.org:0",
	                                    "https://api.example.org:65536",
	                                    "https://api.example.org:123456",
	                                    "https://api.example.org:",
	                                    "https://api.example.org:80x",
	                                    "https://.example.org",
	                                    "https://-v",
	                                    "https://",
	                                    "https:///v1",
	                                    "https://[::1",
	                                    "https://[]",
	                                    "https://[::1]x",
	                                    "https://ex\xC3\xA4mple.org",
	                                    "http://127.0.0.1@evil.example",
	                                    " https://api.example.org"};
	for (size_t i = 0; i < sizeof right / sizeof *right; i++)
		assert_int_equal(check(right[i], NULL), CUTTLE_OK);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(check(wrong[i], NULL), CUTTLE_USAGE);
		assert_true(*error.message);
		assert_null(strstr(error.message, "secret"));
	}
	char url[REMOTE_URL + 32] = "https://api.example.org/";
	memset(url + strlen(url), 'a', REMOTE_URL + 1 - strlen(url));
	assert_int_equal(check(url, NULL), CUTTLE_USAGE);
	url[REMOTE_URL] = 0;
	assert_int_equal(check(url, NULL), CUTTLE_OK);
}

static void which_proxies(void **state) {
	(void)state;
	static const char *const wrong[] = {"proxy.example.org:3128",
	                                    "https://proxy.example.org",
	                                    "socks5://proxy",
	                                    "http://u:secret@proxy:1",
	                                    "",
	                                    "http://proxy:1/path"};
	assert_int_equal(check("https://a.example", "http://proxy.example.org:3128"), CUTTLE_OK);
	assert_int_equal(check("http://localhost", "http://proxy:1"), CUTTLE_USAGE);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(check("https://a.example", wrong[i]), CUTTLE_USAGE);
		assert_null(strstr(error.message, "secret"));
	}
}

static void which_numbers(void **state) {
	(void)state;
	static const char *const fields[] = {
	    "",      "Max",    "max-tokens", "prompt",      "messages",
	    "model", "stream", "n",          "temperature", "a\"b"};
	static const double temperatures[] = {-0.1, 2.1, NAN, INFINITY};
	const struct remote_request right = request_to("https://a.example");
	struct remote_request wrong = right;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		wrong.max_tokens_field = fields[i];
		assert_int_equal(remote_check(&wrong, &error), CUTTLE_USAGE);
	}
	wrong = right;
	for (size_t i = 0; i < sizeof temperatures / sizeof *temperatures; i++) {
		wrong.temperature = temperatures[i];
		assert_int_equal(remote_check(&wrong, &error), CUTTLE_USAGE);
	}
	wrong = right, wrong.max_tokens = 0;
	assert_int_equal(remote_check(&wrong, &error), CUTTLE_USAGE);
	wrong = right, wrong.timeout_s = 0;
	assert_int_equal(remote_check(&wrong, &error), CUTTLE_USAGE);
	wrong = right, wrong.model = "a\nb";
	assert_int_equal(remote_check(&wrong, &error), CUTTLE_USAGE);
	wrong.model = "";
	assert_int_equal(remote_check(&wrong, &error), CUTTLE_USAGE);
}

static void assert_body(const struct remote_request *request, const char *prompt,
                        const char *expected) {
	size_t size;
	char *body = remote_body(request, prompt, strlen(prompt), &size);
	assert_int_equal(size, strlen(expected));
	assert_memory_equal(body, expected, size);
	free(body);
}

static void the_body_is_these_bytes(void **state) {
	(void)state;
	struct remote_request request = request_to("https://a.example");
	assert_body(&request, "Extend:\n\"\xC3\xA9t\xC3\xA9\" /",
	            "{\"model\":\"small-1\",\"messages\":[{\"role\":\"user\",\"content\":"
	            "\"Extend:\\n\\\"\xC3\xA9t\xC3\xA9\\\" /\"}],\"max_tokens\":150,"
	            "\"temperature\":0.5,\"n\":1,\"stream\":false}");
	request.api = REMOTE_COMPLETIONS;
	request.max_tokens_field = "max_completion_tokens";
	request.temperature = 0;
	assert_body(&request, "",
	            "{\"model\":\"small-1\",\"prompt\":\"\",\"max_completion_tokens\":150,"
	            "\"temperature\":0.0,\"n\":1,\"stream\":false}");
	// Nothing else of the request is in it.
	struct remote_request other = request_to("https://b.example");
	other.api = REMOTE_COMPLETIONS;
	other.max_tokens_field = "max_completion_tokens";
	other.temperature = 0;
	other.key_file = other.ca_file = "/nonexistent";
	other.retries = 99;
	other.max_requests = other.max_tokens_total = 7;
	assert_body(&other, "",
	            "{\"model\":\"small-1\",\"prompt\":\"\",\"max_completion_tokens\":150,"
	            "\"temperature\":0.0,\"n\":1,\"stream\":false}");
}

#ifndef CUTTLE_CURL
static void says_that_libcurl_is_missing(void **state) {
	(void)state;
	struct remote *remote;
	const struct remote_request request = request_to("https://a.example");
	assert_int_equal(remote_open(&request, NULL, &remote, &error), CUTTLE_USAGE);
	assert_null(remote);
	assert_non_null(strstr(error.message, "without libcurl"));
}
#else
/* ---- loading libcurl ------------------------------------------------------------------------- */

static const char *absent; /* part of the names of libraries that are not found; NULL = none */

void *__real_dlopen(const char *library, int flags);
void *__wrap_dlopen(const char *library, int flags);

void *__wrap_dlopen(const char *library, int flags) {
	// Something that is no libcurl stands there instead.
	return __real_dlopen(absent && strstr(library, absent) ? "libm.so.6" : library, flags);
}

/* Whether a library whose name begins so is in this process, as its owner sees it in /proc. */
static bool is_mapped(const char *name) {
	char file_name[64], *line = NULL;
	size_t room = 0;
	bool mapped = false, any = false;
	(void)snprintf(file_name, sizeof file_name, "/%s", name);
	FILE *maps = fopen("/proc/self/maps", "r");
	assert_non_null(maps);
	while (getline(&line, &room, maps) > 0) {
		mapped |= strstr(line, file_name) != NULL;
		any |= strstr(line, "/libc.so") != NULL;
	}
	assert_true(any);
	free(line);
	assert_int_equal(fclose(maps), 0);
	return mapped;
}

/* Opens and closes a remote without the libraries of that name, then tells which library came: 'o'
 * of OpenSSL, 'g' of GnuTLS, '-' none is there. In a process of its own: libcurl is never unloaded.
 */
static char open_without(const char *name) {
	static const char second[] = "libcurl-gnutls.so.4";
	char told = '?';
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	const pid_t child = fork();
	assert_true(child >= 0);
	if (!child) {
		const struct remote_request request = request_to("https://a.example");
		struct remote *remote;
		absent = name;
		const enum cuttle_status status = remote_open(&request, NULL, &remote, &error);
		const bool openssl = is_mapped("libcurl.so"), gnutls = is_mapped("libcurl-gnutls");
		remote_close(&remote);
		if (!status && openssl != gnutls) told = openssl ? 'o' : 'g';
		if (status == CUTTLE_USAGE && !openssl && !gnutls &&
		    strstr(error.message, "install the Debian package libcurl4"))
			told =
			    strstr(second, name) || !__real_dlopen(second, RTLD_LAZY) ? '-' : '?';
		_exit(write(ends[1], &told, 1) != 1);
	}
	int code;
	assert_int_equal(waitpid(child, &code, 0), child);
	assert_int_equal(code, 0);
	assert_int_equal(read(ends[0], &told, 1), 1);
	(void)close(ends[0]);
	(void)close(ends[1]);
	return told;
}

static void loads_libcurl_when_it_opens(void **state) {
	(void)state;
	struct remote_request request = request_to("https://a.example");
	struct remote *remote;
	// Neither a request that is only shown nor one that is refused needs it.
	free(remote_shown(&request));
	request.key_file = request.ca_file = "/nonexistent";
	assert_int_equal(remote_open(&request, NULL, &remote, &error), CUTTLE_INPUT);
	request.ca_file = NULL;
	assert_int_equal(remote_open(&request, NULL, &remote, &error), CUTTLE_INPUT);
	assert_false(is_mapped("libcurl") || is_mapped("libssl") || is_mapped("libgnutls"));
	assert_int_equal(open_without("libcurl"), '-');
	assert_int_equal(open_without("gnutls"), 'o');
	const char other = open_without("libcurl.so");
	assert_true(other == 'g' || other == '-');
	assert_false(is_mapped("libcurl"));
	request.key_file = NULL;
	assert_int_equal(remote_open(&request, NULL, &remote, &error), CUTTLE_OK);
	assert_true(is_mapped("libcurl"));
	remote_close(&remote);
	assert_true(is_mapped("libcurl"));
}

/* ---- one exchange ---------------------------------------------------------------------------- */

static struct http_server *server;
static char endpoint[64];
static double waits[64];
static size_t wait_count;
static double stop_at; /* by read_clock; INFINITY = never stop */

static double read_clock(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void note_wait(void *user, double seconds) {
	(void)user;
	assert_true(wait_count < sizeof waits / sizeof *waits);
	waits[wait_count++] = seconds;
}

static bool ask_stop(void *user) {
	(void)user;
	return read_clock() >= stop_at;
}

static const struct remote_events events = {.stop = ask_stop, .sleep = note_wait};

static struct remote_request serve(const struct http_answer *answers, size_t count) {
	if (server) http_server_stop(&server);
	server = http_server_start(answers, count);
	wait_count = 0;
	stop_at = INFINITY;
	(void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u/v1",
	               http_server_port(server));
	return request_to(endpoint);
}

/* Opens, sends "Hello", closes. The reply, if any, must be "Once". */
static enum cuttle_status ask(const struct remote_request *request) {
	struct remote *remote;
	struct reply reply;
	size_t size;
	error.message[0] = 0;
	enum cuttle_status status = remote_open(request, &events, &remote, &error);
	if (status) return status;
	char *body = remote_body(request, "Hello", 5, &size);
	status = remote_send(remote, body, size, &reply, &error);
	if (status) assert_null(reply.text);
	else assert_string_equal(reply.text, "Once");
	assert_true(!status || *error.message);
	assert_null(strstr(error.message, KEY));
	assert_null(strstr(error.message, "127.0.0.1"));
	assert_null(strchr(error.message, '\n'));
	reply_free(&reply);
	free(body);
	remote_close(&remote);
	assert_null(remote);
	return status;
}

static void these_bytes_leave_and_no_others(void **state) {
	(void)state;
	static const struct http_answer answers[] = {{.head = OK_HEAD, .body = OK_BODY},
	                                             {.head = OK_HEAD, .body = OK_BODY}};
	struct remote_request request = serve(answers, 2);
	char expected[1024], *shown = remote_shown(&request);
	size_t size, count;
	char *body = remote_body(&request, "Hello", 5, &size);
	assert_int_equal(ask(&request), CUTTLE_OK);
	(void)snprintf(expected, sizeof expected,
	               "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
	               "User-Agent: cuttle\r\nAccept: application/json\r\n"
	               "Content-Type: application/json\r\nAuthorization: Bearer " KEY "\r\n"
	               "Content-Length: %zu\r\n\r\n%s",
	               http_server_port(server), size, body);
	assert_string_equal(http_server_request(server, 0, &count), expected);
	assert_int_equal(count, strlen(expected));
	// What is shown beforehand: the same headers, in their order, but for the key.
	(void)snprintf(expected, sizeof expected,
	               "POST %s/chat/completions\nUser-Agent: cuttle\nAccept: application/json\n"
	               "Content-Type: application/json\nAuthorization: Bearer \xE2\x80\xA6\n",
	               endpoint);
	assert_string_equal(shown, expected);
	free(shown);
	// Without a key there is no such header, here and there.
	assert_int_equal(setenv("CUTTLE_API_KEY", "", 1), 0);
	assert_int_equal(ask(&request), CUTTLE_OK);
	shown = remote_shown(&request);
	assert_null(strcasestr(http_server_request(server, 1, &count), "authorization"));
	assert_null(strstr(shown, "Authorization"));
	free(shown);
	free(body);
	(void)setenv("CUTTLE_API_KEY", KEY, 1);
}

static void both_apis(void **state) {
	(void)state;
	static const struct http_answer answer = {
	    .head = OK_HEAD, .body = "{\"choices\":[{\"text\":\"Once\"}]}", .how = HTTP_CHUNKED};
	struct remote_request request = serve(&answer, 1);
	size_t size;
	request.api = REMOTE_COMPLETIONS;
	request.endpoint = strcat(endpoint, "///");
	assert_int_equal(ask(&request), CUTTLE_OK);
	assert_memory_equal(http_server_request(server, 0, &size), "POST /v1/completions HTTP/1.1",
	                    29);
	request.api = REMOTE_CHAT;
	assert_int_equal(ask(&request), CUTTLE_REMOTE);
	assert_non_null(strstr(error.message, "malformed"));
	// Not a word, not even braces.
	static const struct http_answer nothing = {.head = OK_HEAD};
	request = serve(&nothing, 1);
	assert_int_equal(ask(&request), CUTTLE_REMOTE);
	assert_non_null(strstr(error.message, "malformed"));
}

/* ---- the key --------------------------------------------------------------------------------- */

static void which_keys(void **state) {
	(void)state;
	static const struct http_answer answer = {.head = OK_HEAD, .body = OK_BODY};
	static const char *const wrong[] = {"a\nb", "a\rb", "a b",        "a\r\nX: y",
	                                    " ",    "\x7f", "k\xC3\xA9y", "a\n"};
	struct remote_request request = serve(&answer, 1);
	char long_key[REMOTE_KEY + 3];
	size_t size;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		(void)setenv("CUTTLE_API_KEY", wrong[i], 1);
		assert_int_equal(ask(&request), CUTTLE_USAGE);
		assert_true(strlen(wrong[i]) == 1 || !strstr(error.message, wrong[i]));
	}
	(void)setenv("CUTTLE_API_KEY", "of the environment", 1);
	memset(long_key, 'k', sizeof long_key);
	request.key_file = in_folder("key");
	static const struct {
		const char *bytes;
		size_t size;
		mode_t mode;
		enum cuttle_status status;
	} cases[] = {{KEY, sizeof KEY - 1, 0600, CUTTLE_OK},
	             {KEY "\n", sizeof KEY, 0400, CUTTLE_OK},
	             {KEY, sizeof KEY - 1, 0640, CUTTLE_USAGE},
	             {KEY, sizeof KEY - 1, 0604, CUTTLE_USAGE},
	             {KEY, sizeof KEY - 1, 0610, CUTTLE_USAGE},
	             {KEY "\n\n", sizeof KEY + 1, 0600, CUTTLE_USAGE},
	             {KEY "\r\n", sizeof KEY + 1, 0600, CUTTLE_USAGE},
	             {KEY, sizeof KEY, 0600, CUTTLE_USAGE},
	             {"", 0, 0600, CUTTLE_USAGE},
	             {"\n", 1, 0600, CUTTLE_USAGE},
	             {NULL, REMOTE_KEY, 0600, CUTTLE_OK},
	             {NULL, REMOTE_KEY + 1, 0600, CUTTLE_USAGE},
	             {NULL, REMOTE_KEY + 2, 0600, CUTTLE_USAGE}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const size_t before = http_server_requests(server);
		(void)unlink(path);
		files_put(path, cases[i].bytes ? cases[i].bytes : long_key, cases[i].size);
		assert_int_equal(chmod(path, cases[i].mode), 0);
		assert_int_equal(ask(&request), cases[i].status);
		assert_null(strstr(error.message, "kkkk"));
		assert_int_equal(http_server_requests(server) - before, !cases[i].status);
	}
	assert_non_null(
	    strstr(http_server_request(server, 0, &size), "\r\nAuthorization: Bearer " KEY "\r\n"));
	assert_non_null(
	    strstr(http_server_request(server, 1, &size), "\r\nAuthorization: Bearer " KEY "\r\n"));
	(void)unlink(path);
	assert_int_equal(ask(&request), CUTTLE_INPUT);
	request.key_file = folder;
	assert_int_equal(ask(&request), CUTTLE_USAGE);
	(void)setenv("CUTTLE_API_KEY", KEY, 1);
}

/* ---- what is answered ------------------------------------------------------------------------ */

static void final_statuses(void **state) {
	(void)state;
	static const int statuses[] = {201, 204, 206, 300, 301, 302, 303, 304, 307, 308, 400, 401,
	                               402, 403, 404, 405, 413, 418, 422, 451, 501, 505, 599};
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
		char head[64], said[32];
		(void)snprintf(head, sizeof head, "HTTP/1.1 %d Word", statuses[i]);
		(void)snprintf(said, sizeof said, "HTTP %d", statuses[i]);
		const struct http_answer answer = {
		    .head = head, .body = statuses[i] == 204 || statuses[i] == 304 ? "" : OK_BODY};
		struct remote_request request = serve(&answer, 1);
		assert_int_equal(ask(&request), CUTTLE_REMOTE);
		assert_non_null(strstr(error.message, said));
		assert_int_equal(http_server_requests(server), 1);
		http_server_stop(&server);
	}
}

static void redirects_are_not_followed(void **state) {
	(void)state;
	static const struct http_answer there = {.head = OK_HEAD, .body = OK_BODY};
	struct http_server *other = http_server_start(&there, 1);
	static const int statuses[] = {301, 302, 303, 307, 308};
	for (size_t i = 0; i < 5; i++) {
		char head[128];
		(void)snprintf(head, sizeof head,
		               "HTTP/1.1 %d Moved\r\nLocation: http://127.0.0.1:%u/secret",
		               statuses[i], http_server_port(other));
		const struct http_answer answer = {.head = head};
		struct remote_request request = serve(&answer, 1);
		assert_int_equal(ask(&request), CUTTLE_REMOTE);
		assert_null(strstr(error.message, "secret"));
		http_server_stop(&server);
	}
	assert_int_equal(http_server_requests(other), 0);
	http_server_stop(&other);
}

static void the_same_bytes_again(void **state) {
	(void)state;
	static const struct http_answer answers[] = {
	    {.head = "HTTP/1.1 408 Slow"},
	    {.head = "HTTP/1.1 429 Many", .body = "{\"error\":{\"code\":\"rate_limit\"}}"},
	    {.head = "HTTP/1.1 500 Oh"},
	    {.head = "HTTP/1.1 502 Oh"},
	    {.head = "HTTP/1.1 503 Oh"},
	    {.head = "HTTP/1.1 504 Oh"},
	    {.head = NULL},
	    {.head = OK_HEAD, .body = OK_BODY, .how = HTTP_CUT},
	    {.head = OK_HEAD, .body = OK_BODY}};
	const size_t count = sizeof answers / sizeof *answers;
	struct remote_request request = serve(answers, count);
	request.retries = 8;
	size_t size, first_size;
	assert_int_equal(ask(&request), CUTTLE_OK);
	assert_int_equal(http_server_requests(server), count);
	const char *first = http_server_request(server, 0, &first_size);
	for (size_t i = 1; i < count; i++) {
		const char *again = http_server_request(server, i, &size);
		assert_int_equal(size, first_size);
		assert_memory_equal(again, first, size);
	}
	// 2^i seconds times a number of [0.5, 1], never over a minute.
	assert_int_equal(wait_count, count - 1);
	size_t equal = 0;
	for (size_t i = 0; i < wait_count; i++) {
		const double most = i > 5 ? 60 : (double)(1 << i);
		assert_true(waits[i] >= most / 2 && waits[i] <= most);
		equal += i && waits[i] / waits[i - 1] == 2;
	}
	assert_true(equal < 3);
}

static void no_more_retries(void **state) {
	(void)state;
	static const struct http_answer answer = {.head = "HTTP/1.1 503 Busy",
	                                          .body = "{\"error\":{\"code\":\"overloaded\"}}"};
	for (uint32_t retries = 0; retries < 3; retries++) {
		struct remote_request request = serve(&answer, 1);
		request.retries = retries;
		assert_int_equal(ask(&request), CUTTLE_PARTIAL);
		assert_non_null(strstr(error.message, "HTTP 503, overloaded"));
		assert_int_equal(http_server_requests(server), retries + 1);
	}
	// Nobody listens there.
	struct remote_request request = serve(&answer, 1);
	(void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", http_free_port());
	assert_int_equal(ask(&request), CUTTLE_PARTIAL);
	assert_int_equal(wait_count, 5);
}

static void waits_as_long_as_it_is_asked(void **state) {
	(void)state;
	static const struct http_answer answers[] = {
	    {.head = "HTTP/1.1 429 Many\r\nRetry-After: 7"},
	    {.head = "HTTP/1.1 503 Busy\r\nRetry-After: 86400"},
	    {.head = "HTTP/1.1 503 Busy\r\nRetry-After: -5"},
	    {.head = "HTTP/1.1 503 Busy\r\nRetry-After: soon"},
	    {.head = OK_HEAD, .body = OK_BODY}};
	struct remote_request request = serve(answers, 5);
	assert_int_equal(ask(&request), CUTTLE_OK);
	assert_int_equal(wait_count, 4);
	assert_true(waits[0] == 7 && waits[1] == 60);
	assert_true(waits[2] >= 2 && waits[2] <= 4 && waits[3] >= 4 && waits[3] <= 8);
}

static void a_quota_that_is_used_up(void **state) {
	(void)state;
	static const char *const bodies[] = {
	    "{\"error\":{\"message\":\"secret\",\"type\":\"insufficient_quota\",\"code\":null}}",
	    "{\"error\":{\"type\":\"requests\",\"code\":\"insufficient_quota\"}}"};
	for (size_t i = 0; i < 2; i++) {
		const struct http_answer answer = {.head = "HTTP/1.1 429 Many", .body = bodies[i]};
		struct remote_request request = serve(&answer, 1);
		assert_int_equal(ask(&request), CUTTLE_REMOTE);
		assert_non_null(strstr(error.message, "HTTP 429, insufficient_quota"));
		assert_null(strstr(error.message, "secret"));
		assert_int_equal(http_server_requests(server), 1);
		http_server_stop(&server);
	}
}

/* A message has the cleaned code of a refusal, and no code that repeats the key. */
static void messages_are_clean(void **state) {
	(void)state;
	static const struct {
		const char *body, *message;
	} cases[] = {{"{\"error\":{\"code\":\"in\\u001b[31mvalid key\\n\",\"message\":\"secret\"}}",
	              "answer: HTTP 401, in31mvalidkey"},
	             {"{\"error\":{\"code\":null,\"type\":\"auth\"}}", "answer: HTTP 401, auth"},
	             {"{\"error\":\"secret\"}", "answer: HTTP 401"},
	             {"secret", "answer: HTTP 401"},
	             {"", "answer: HTTP 401"},
	             {"{\"error\":{\"code\":\"" KEY "\"}}", "answer: HTTP 401"},
	             {"{\"error\":{\"code\":\"bad key 0123456789.ab\"}}", "answer: HTTP 401"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct http_answer answer = {.head = "HTTP/1.1 401 Secret",
		                                   .body = cases[i].body};
		struct remote_request request = serve(&answer, 1);
		assert_int_equal(ask(&request), CUTTLE_REMOTE);
		const char *end = strstr(error.message, "answer:");
		assert_non_null(end);
		assert_string_equal(end, cases[i].message);
		http_server_stop(&server);
	}
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static void slow_answers(void **state) {
	(void)state;
	static const struct http_answer slow[] = {
	    {.head = OK_HEAD, .body = OK_BODY, .how = HTTP_DRIP},
	    {.head = OK_HEAD, .body = OK_BODY, .milliseconds = 5000}};
	for (size_t i = 0; i < 2; i++) {
		struct remote_request request = serve(&slow[i], 1);
		request.timeout_s = 1;
		request.retries = 0;
		const double begun = read_clock();
		assert_int_equal(ask(&request), CUTTLE_PARTIAL);
		assert_true(read_clock() - begun < 4);
		assert_non_null(strstr(error.message, "Timeout"));
	}
}

/* A body of so many bytes whose content is white space but for the reply at its end. */
static char *padded(size_t size) {
	char *body = malloc(size);
	assert_non_null(body);
	memset(body, ' ', size);
	memcpy(body + size - strlen(OK_BODY), OK_BODY, strlen(OK_BODY));
	return body;
}

static void long_bodies(void **state) {
	(void)state;
	char *most = padded(REMOTE_BODY), *more = padded(REMOTE_BODY + 1);
	const struct {
		struct http_answer answer;
		enum cuttle_status status;
	} cases[] = {
	    {{.head = OK_HEAD, .body = most, .size = REMOTE_BODY}, CUTTLE_OK},
	    {{.head = OK_HEAD, .body = most, .size = REMOTE_BODY, .how = HTTP_CHUNKED}, CUTTLE_OK},
	    {{.head = OK_HEAD, .body = more, .size = REMOTE_BODY + 1}, CUTTLE_REMOTE},
	    {{.head = OK_HEAD, .body = more, .size = REMOTE_BODY + 1, .how = HTTP_CHUNKED},
	     CUTTLE_REMOTE},
	    {{.head = OK_HEAD, .body = most, .size = 65536, .how = HTTP_ENDLESS}, CUTTLE_REMOTE},
	    {{.head = "HTTP/1.1 503 Busy", .body = most, .size = 65536, .how = HTTP_ENDLESS},
	     CUTTLE_REMOTE}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct remote_request request = serve(&cases[i].answer, 1);
		assert_int_equal(ask(&request), cases[i].status);
		assert_true(!cases[i].status || strstr(error.message, "4 MiB"));
		assert_int_equal(http_server_requests(server), 1);
	}
	http_server_stop(&server);
	free(most);
	free(more);
}

static void long_headers(void **state) {
	(void)state;
	static const char word[] = "0123456789012345678901234567890123456789";
	static const struct http_answer answers[] = {
	    {.head = OK_HEAD, .body = word, .how = HTTP_MANY_HEADERS},
	    {.head = OK_HEAD, .body = word, .how = HTTP_LONG_HEADER}};
	for (size_t i = 0; i < 2; i++) {
		struct remote_request request = serve(&answers[i], 1);
		assert_int_equal(ask(&request), CUTTLE_REMOTE);
		assert_non_null(strstr(error.message, "header"));
	}
	// Without a blank line between them, 1xx answers may come without end, too.
	static char many[1 << 17];
	while (strlen(many) < sizeof many - 128) strcat(many, "HTTP/1.1 100 Continue\r\n\r\n");
	strcat(many, OK_HEAD);
	const struct http_answer hints = {.head = many, .body = OK_BODY};
	struct remote_request request = serve(&hints, 1);
	assert_int_equal(ask(&request), CUTTLE_REMOTE);
	assert_non_null(strstr(error.message, "64 KiB"));
	http_server_stop(&server);
}

static void caps(void **state) {
	(void)state;
	static const struct http_answer answers[] = {{.head = "HTTP/1.1 503 Busy"},
	                                             {.head = OK_HEAD, .body = OK_BODY}};
	struct remote *remote;
	struct reply reply;
	size_t size;
	// A retry counts. Two requests for the first body, one for the second, none for the third.
	struct remote_request request = serve(answers, 2);
	request.max_requests = 3;
	char *body = remote_body(&request, "Hello", 5, &size);
	assert_int_equal(remote_open(&request, &events, &remote, &error), CUTTLE_OK);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(remote_send(remote, body, size, &reply, &error), CUTTLE_OK);
		reply_free(&reply);
	}
	assert_int_equal(remote_send(remote, body, size, &reply, &error), CUTTLE_PARTIAL);
	assert_non_null(strstr(error.message, "all 3 requests"));
	assert_int_equal(http_server_requests(server), 3);
	remote_close(&remote);
	// The tokens of two requests and one less than those of a third.
	request = serve(answers, 2);
	request.max_tokens_total = 3 * (size + 150) - 1;
	assert_int_equal(remote_open(&request, &events, &remote, &error), CUTTLE_OK);
	assert_int_equal(remote_send(remote, body, size, &reply, &error), CUTTLE_OK);
	reply_free(&reply);
	assert_int_equal(remote_send(remote, body, size, &reply, &error), CUTTLE_PARTIAL);
	assert_non_null(strstr(error.message, "tokens"));
	assert_int_equal(http_server_requests(server), 2);
	remote_close(&remote);
	request.max_tokens_total = 3 * (size + 150);
	assert_int_equal(remote_open(&request, &events, &remote, &error), CUTTLE_OK);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(remote_send(remote, body, size, &reply, &error),
		                 i < 3 ? CUTTLE_OK : CUTTLE_PARTIAL);
		reply_free(&reply);
	}
	assert_int_equal(http_server_requests(server), 5);
	remote_close(&remote);
	// A retry is not sent either when the cap is reached.
	static const struct http_answer busy = {.head = "HTTP/1.1 503 Busy"};
	request = serve(&busy, 1);
	request.max_requests = 2;
	assert_int_equal(ask(&request), CUTTLE_PARTIAL);
	assert_int_equal(http_server_requests(server), 2);
	free(body);
}

static void stops_when_it_is_asked(void **state) {
	(void)state;
	static const struct http_answer busy = {.head = "HTTP/1.1 503 Busy"},
	                                slow = {.head = OK_HEAD, .milliseconds = 15000};
	struct remote_request request = serve(&busy, 1);
	stop_at = 0;
	assert_int_equal(ask(&request), CUTTLE_PARTIAL);
	assert_non_null(strstr(error.message, "stopped"));
	assert_int_equal(http_server_requests(server), 0);
	// While it waits before a retry: by the clock, and a minute long.
	static const struct http_answer later = {.head = "HTTP/1.1 503 Busy\r\nRetry-After: 60"};
	static const struct remote_events clock_events = {.stop = ask_stop};
	struct remote *remote;
	struct reply reply;
	request = serve(&later, 1);
	assert_int_equal(remote_open(&request, &clock_events, &remote, &error), CUTTLE_OK);
	stop_at = read_clock() + 0.7;
	const double begun = read_clock();
	assert_int_equal(remote_send(remote, "{}", 2, &reply, &error), CUTTLE_PARTIAL);
	assert_non_null(strstr(error.message, "stopped"));
	assert_int_equal(http_server_requests(server), 1);
	remote_close(&remote);
	// While it waits for the answer.
	request = serve(&slow, 1);
	stop_at = read_clock() + 0.7;
	assert_int_equal(ask(&request), CUTTLE_PARTIAL);
	assert_non_null(strstr(error.message, "stopped"));
	assert_true(read_clock() - begun < 12);
}

static void waits_by_the_clock(void **state) {
	(void)state;
	static const struct http_answer answers[] = {
	    {.head = "HTTP/1.1 503 Busy\r\nRetry-After: 1"}, {.head = OK_HEAD, .body = OK_BODY}};
	static const struct remote_events none;
	struct remote *remote;
	struct reply reply;
	struct remote_request request = serve(answers, 2);
	const double begun = read_clock();
	assert_int_equal(remote_open(&request, &none, &remote, &error), CUTTLE_OK);
	assert_int_equal(remote_send(remote, "{}", 2, &reply, &error), CUTTLE_OK);
	const double seconds = read_clock() - begun;
	assert_true(seconds > 0.99 && seconds < 5);
	reply_free(&reply);
	remote_close(&remote);
}

/* ---- the way there --------------------------------------------------------------------------- */

static void the_environment_has_no_say(void **state) {
	(void)state;
	static const struct http_answer answer = {.head = OK_HEAD, .body = OK_BODY};
	static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
	                                    "ALL_PROXY"};
	struct remote_request request = serve(&answer, 1);
	char proxy[64];
	size_t size;
	(void)snprintf(proxy, sizeof proxy, "http://127.0.0.1:%u", http_free_port());
	for (size_t i = 0; i < 5; i++) (void)setenv(names[i], proxy, 1);
	(void)setenv("HOME", folder, 1);
	files_put(in_folder(".netrc"), "machine 127.0.0.1 login user password secret\n", 45);
	(void)setenv("CUTTLE_API_KEY", "", 1);
	assert_int_equal(ask(&request), CUTTLE_OK);
	assert_null(strcasestr(http_server_request(server, 0, &size), "authorization"));
	(void)setenv("CUTTLE_API_KEY", KEY, 1);
	for (size_t i = 0; i < 5; i++) (void)unsetenv(names[i]);
	(void)unlink(path);
}

/* A proxy is told a name and a port, and not the key. */
static void a_proxy_sees_no_key(void **state) {
	(void)state;
	static const struct http_answer answer = {.head = "HTTP/1.1 403 No"};
	struct remote_request request = serve(&answer, 1);
	size_t size;
	request.proxy = endpoint;
	endpoint[strlen(endpoint) - strlen("/v1")] = 0;
	request.endpoint = "https://api.example.org/v1";
	request.retries = 0;
	(void)setenv("no_proxy", "api.example.org", 1);
	assert_int_equal(ask(&request), CUTTLE_PARTIAL);
	(void)unsetenv("no_proxy");
	const char *seen = http_server_request(server, 0, &size);
	assert_memory_equal(seen, "CONNECT api.example.org:443 HTTP/1.1\r\n", 38);
	assert_null(strstr(seen, KEY));
	assert_null(strcasestr(seen, "authorization"));
	assert_null(strstr(seen, "completions"));
}

static bool dawdle(void *user) {
	(void)user;
	return false;
}

static void sleep_a_moment(void *user, double seconds) {
	(void)user;
	(void)seconds;
	(void)usleep(20000);
}

/* Asks through TLS. The relay may listen a moment later, so it is asked again until it does. */
static enum cuttle_status ask_by_tls(const char *ca_file) {
	static const struct remote_events patient = {.stop = dawdle, .sleep = sleep_a_moment};
	char url[64];
	struct remote *remote;
	struct reply reply;
	(void)snprintf(url, sizeof url, "https://127.0.0.1:%u/v1", http_tls_start(server, folder));
	struct remote_request request = request_to(url);
	request.ca_file = ca_file;
	request.retries = 500;
	enum cuttle_status status = remote_open(&request, &patient, &remote, &error);
	if (!status) status = remote_send(remote, "{}", 2, &reply, &error);
	if (!status) {
		assert_string_equal(reply.text, "Once");
		reply_free(&reply);
	}
	remote_close(&remote);
	http_tls_stop();
	return status;
}

#define PEM_LINE(word) "-----" word " CERTIFICATE-----\n"
#define PEM(bytes) PEM_LINE("BEGIN") bytes "\n" PEM_LINE("END")

static void certificates(void **state) {
	(void)state;
	static const struct http_answer answer = {.head = OK_HEAD, .body = OK_BODY};
	(void)serve(&answer, 1);
	if (!http_make_certificate(folder, "IP:127.0.0.1")) {
		print_message("skipped: there is no command openssl, so TLS is not tested\n");
		skip();
	}
	char ca_file[128];
	(void)snprintf(ca_file, sizeof ca_file, "%s/cert.pem", folder);
	// The system does not know it. Nothing was sent.
	assert_int_equal(ask_by_tls(NULL), CUTTLE_REMOTE);
	assert_int_equal(http_server_requests(server), 0);
	assert_int_equal(ask_by_tls(ca_file), CUTTLE_OK);
	assert_int_equal(http_server_requests(server), 1);
	assert_int_not_equal(access(in_folder("secrets"), F_OK), 0);
	// A right certificate of somebody else.
	assert_true(http_make_certificate(folder, "DNS:other.example"));
	assert_int_equal(ask_by_tls(ca_file), CUTTLE_REMOTE);
	assert_int_equal(http_server_requests(server), 1);
	// Something that only looks like a certificate.
	(void)snprintf(ca_file, sizeof ca_file, "%s/none.pem", folder);
	files_put(ca_file, PEM("MAA="), strlen(PEM("MAA=")));
	assert_int_equal(ask_by_tls(ca_file), CUTTLE_REMOTE);
	assert_int_equal(http_server_requests(server), 1);
	(void)unlink(ca_file);
}

/* What stands in a file is looked at when a remote is opened: nothing is drawn or sent by then. */
static void which_files_of_certificates(void **state) {
	(void)state;
	static const struct {
		const char *text;
		enum cuttle_status status;
	} cases[] = {
	    {PEM("MAA="), CUTTLE_OK},
	    {"Our own:\r\n-----BEGIN CERTIFICATE-----\r\nMAMC\r\nAQE=\r\n"
	     "-----END CERTIFICATE-----",
	     CUTTLE_OK},
	    {PEM("MAA=") "and\n" PEM("MAMC\nAQE="), CUTTLE_OK},
	    {"", CUTTLE_INPUT},
	    {"none\n", CUTTLE_INPUT},
	    {"\x30\x03\x02\x01\x01", CUTTLE_INPUT},
	    {PEM_LINE("BEGIN"), CUTTLE_INPUT},
	    {PEM(""), CUTTLE_INPUT},
	    {PEM("MAA"), CUTTLE_INPUT},
	    {PEM("MA.A"), CUTTLE_INPUT},
	    {PEM("AAA="), CUTTLE_INPUT},
	    {PEM_LINE("BEGIN") "MAA=\n", CUTTLE_INPUT},
	    {PEM_LINE("BEGIN") "MAA=\n-----END CERT", CUTTLE_INPUT},
	    {"# " PEM("MAA="), CUTTLE_INPUT},
	    {"-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n", CUTTLE_INPUT},
	    {PEM("MAA=") PEM_LINE("BEGIN") "MAM\n", CUTTLE_INPUT}};
	struct remote_request request = request_to("https://a.example");
	struct remote *remote;
	request.ca_file = in_folder("cert.pem");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		files_put(path, cases[i].text, strlen(cases[i].text));
		assert_int_equal(remote_open(&request, NULL, &remote, &error), cases[i].status);
		assert_true(!cases[i].status || strstr(error.message, "PEM form"));
		remote_close(&remote);
	}
	(void)unlink(path);
	assert_int_equal(remote_open(&request, NULL, &remote, &error), CUTTLE_INPUT);
	assert_non_null(strstr(error.message, "No such file"));
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(remote_open(&request, NULL, &remote, &error), CUTTLE_INPUT);
	(void)unlink(path);
	request.ca_file = folder;
	assert_int_equal(remote_open(&request, NULL, &remote, &error), CUTTLE_INPUT);
	// A file that the system has, with more than a hundred certificates and comments.
	request.ca_file = "/etc/ssl/certs/ca-certificates.crt";
	if (access(request.ca_file, R_OK) == 0) {
		assert_int_equal(remote_open(&request, NULL, &remote, &error), CUTTLE_OK);
		remote_close(&remote);
	}
}
#endif

static int make_folder(void **state) {
	(void)state;
	(void)setenv("CUTTLE_API_KEY", KEY, 1);
	if (!mkdtemp(folder)) return -1;
	// libcurl opens this file when it begins.
	return setenv("SSLKEYLOGFILE", in_folder("secrets"), 1);
}

static int remove_folder(void **state) {
	(void)state;
	static const char *const names[] = {"key", "key.pem", "cert.pem", ".netrc", "secrets"};
#ifdef CUTTLE_CURL
	if (server) http_server_stop(&server);
#endif
	return files_remove(folder, names, sizeof names / sizeof *names);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(which_endpoints),
	    cmocka_unit_test(which_proxies),
	    cmocka_unit_test(which_numbers),
	    cmocka_unit_test(the_body_is_these_bytes),
#ifndef CUTTLE_CURL
	    cmocka_unit_test(says_that_libcurl_is_missing),
#else
	    cmocka_unit_test(loads_libcurl_when_it_opens),
	    cmocka_unit_test(these_bytes_leave_and_no_others),
	    cmocka_unit_test(both_apis),
	    cmocka_unit_test(which_keys),
	    cmocka_unit_test(final_statuses),
	    cmocka_unit_test(redirects_are_not_followed),
	    cmocka_unit_test(the_same_bytes_again),
	    cmocka_unit_test(no_more_retries),
	    cmocka_unit_test(waits_as_long_as_it_is_asked),
	    cmocka_unit_test(a_quota_that_is_used_up),
	    cmocka_unit_test(messages_are_clean),
	    cmocka_unit_test(slow_answers),
	    cmocka_unit_test(long_bodies),
	    cmocka_unit_test(long_headers),
	    cmocka_unit_test(caps),
	    cmocka_unit_test(stops_when_it_is_asked),
	    cmocka_unit_test(waits_by_the_clock),
	    cmocka_unit_test(the_environment_has_no_say),
	    cmocka_unit_test(a_proxy_sees_no_key),
	    cmocka_unit_test(certificates),
	    cmocka_unit_test(which_files_of_certificates),
#endif
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
