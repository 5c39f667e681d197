// SPDX-License-Identifier: Apache-2.0
// Tests a key whose line changes while it is looked at: serve/http/keys.h and the server that asks
// it. It fails if a secret that was checked against one line passes for another of the same ID, or
// if a request is answered whose key is taken away before the server knows whose request it is.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "serve/http/http.h"
#include "serve/http/keys.h"
#include "serve/http/listen.h"
#include "tests/support/files.h"

#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define TOKEN "ann.secret"
#define LINE(role, mark) "ann " role " " crypto_pwhash_STRPREFIX mark "\n"

static char path[] = "/tmp/cuttle-keys-XXXXXX";
static struct keys *keys;
static struct http_server *server;
static const char *next_lines; /* what the file says once a key was looked at; NULL = no change */

static void change_lines(void) {
	if (!next_lines) return;
	files_put(path, next_lines, strlen(next_lines));
	next_lines = NULL;
	// Not an assertion of cmocka's: this may be the server's thread.
	if (keys_reload(keys, NULL)) abort();
	if (server) http_keys_changed(server);
}

/* Hashes take their time, and here every secret is right. */
int crypto_pwhash_str_verify(const char hash[crypto_pwhash_STRBYTES], const char *secret,
                             unsigned long long size) {
	(void)hash, (void)secret, (void)size;
	change_lines();
	return 0;
}
int crypto_pwhash_str(char hash[crypto_pwhash_STRBYTES], const char *secret,
                      unsigned long long size, unsigned long long operations, size_t memory) {
	(void)secret, (void)size, (void)operations, (void)memory;
	strcpy(hash, crypto_pwhash_STRPREFIX);
	return 0;
}

bool __real_keys_recall(struct keys *of, const char *token, struct keys_holder *holder);
bool __wrap_keys_recall(struct keys *of, const char *token, struct keys_holder *holder);
bool __wrap_keys_recall(struct keys *of, const char *token, struct keys_holder *holder) {
	const bool found = __real_keys_recall(of, token, holder);
	if (found) change_lines();
	return found;
}

static void open_keys(const char *lines) {
	files_put(path, lines, strlen(lines));
	assert_int_equal(keys_open(path, &keys, NULL), CUTTLE_OK);
}

static void a_secret_is_of_the_line_it_was_checked_against(void **state) {
	(void)state;
	struct keys_holder holder;
	open_keys(LINE("use", "1"));
	assert_true(keys_verify(keys, TOKEN, &holder));
	assert_int_equal(holder.role, HTTP_USE);
	// Another key has got the ID meanwhile, or nobody has it.
	static const char *const later[] = {LINE("officer", "2"), ""};
	for (size_t i = 0; i < 2; i++) {
		next_lines = later[i];
		assert_false(keys_verify(keys, TOKEN, &holder));
		assert_null(next_lines);
		assert_false(keys_recall(keys, TOKEN, &holder));
	}
	keys_free(&keys);
}

static void answer_empty(void *user, const struct http_call *call, struct http_reply *reply) {
	(void)user, (void)call;
	http_bytes(reply, 204, NULL, "", 0);
}

/* The status of an answer; 0 = there is none. */
static int ask_with_key(const struct sockaddr_in *address) {
	char text[512];
	int status = 0;
	const struct timeval patience = {.tv_sec = 20};
	const int client = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(client >= 0);
	(void)setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	assert_int_equal(connect(client, (const struct sockaddr *)address, sizeof *address), 0);
	const int size = snprintf(text, sizeof text,
	                          "GET /page HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
	                          "Authorization: Bearer " TOKEN "\r\n\r\n",
	                          ntohs(address->sin_port));
	assert_int_equal(send(client, text, (size_t)size, MSG_NOSIGNAL), size);
	const ssize_t got = recv(client, text, sizeof text - 1, 0);
	text[got > 0 ? got : 0] = 0;
	(void)close(client);
	return sscanf(text, "HTTP/1.1 %d", &status) == 1 ? status : 0;
}

static void a_key_is_asked_once_more_when_its_request_is_known(void **state) {
	(void)state;
	static const struct http_route route = {
	    .method = "GET", .pattern = "/page", .role = HTTP_USE, .answer = answer_empty};
	const struct http_table table = {.routes = &route, .count = 1};
	const struct listen_request request = {.address = "127.0.0.1:0"};
	struct cuttle_error error;
	struct listening listening;
	struct sockaddr_in address;
	socklen_t size = sizeof address;
	open_keys(LINE("use", "1"));
	assert_int_equal(listen_open(&request, &listening, &error), CUTTLE_OK);
	assert_int_equal(getsockname(listening.socket, (struct sockaddr *)&address, &size), 0);
	const struct http_params params = {.tables = &table,
	                                   .table_count = 1,
	                                   .keys = keys,
	                                   .listening = &listening,
	                                   .quiet = true};
	assert_int_equal(http_start(&params, &server, &error), CUTTLE_OK);
	assert_int_equal(ask_with_key(&address), 204);
	assert_int_equal(ask_with_key(&address), 204);
	next_lines = "";
	const int status = ask_with_key(&address);
	http_stop(&server);
	listen_close(&listening);
	keys_free(&keys);
	assert_null(next_lines);
	assert_int_equal(status, 401);
}

static int make_keys(void **state) {
	(void)state;
	const int file = mkstemp(path);
	return file < 0 || close(file) != 0 ? -1 : 0;
}

static int remove_keys(void **state) {
	(void)state;
	return unlink(path);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_secret_is_of_the_line_it_was_checked_against),
	    cmocka_unit_test(a_key_is_asked_once_more_when_its_request_is_known),
	};
	return cmocka_run_group_tests(tests, make_keys, remove_keys);
}
