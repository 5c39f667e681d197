// SPDX-License-Identifier: Apache-2.0
// Tests a key whose line changes while it is looked at: serve/http/keys.h and the server that asks
// it. It fails if a secret that was checked against one line passes for another of the same ID, or
// if a request is answered whose key is taken away before the server knows whose request it is; if
// wrong keys hold up a right one, or a new one of another address.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "serve/http/http_exchange.h"
#include "serve/http/keys.h"
#include "serve/http/listen.h"
#include "tests/support/files.h"

#include <netinet/in.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
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

/* A secret that begins with "wrong" is hashed until the test lets it go. */
static atomic_bool held;
static atomic_uint hashed;  /* how many such are or were */
static atomic_int niceness; /* of the thread that hashed the last one */

/* Hashes take their time, and here every other secret is right. */
int crypto_pwhash_str_verify(const char hash[crypto_pwhash_STRBYTES], const char *secret,
                             unsigned long long size) {
	(void)hash, (void)size;
	if (strncmp(secret, "wrong", 5) != 0) {
		change_lines();
		return 0;
	}
	niceness = getpriority(PRIO_PROCESS, (id_t)gettid());
	(void)atomic_fetch_add(&hashed, 1);
	while (held) (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return -1;
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

/* A connection from 127.0.0.FROM that has asked, with this key. */
static int send_request(const struct sockaddr_in *address, int from, const char *token) {
	char text[512];
	const struct timeval patience = {.tv_sec = 20};
	const int client = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(client >= 0);
	(void)setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	const struct sockaddr_in own = {.sin_family = AF_INET,
	                                .sin_addr.s_addr = htonl(0x7f000000U + (unsigned)from)};
	assert_int_equal(bind(client, (const struct sockaddr *)&own, sizeof own), 0);
	assert_int_equal(connect(client, (const struct sockaddr *)address, sizeof *address), 0);
	const int size = snprintf(text, sizeof text,
	                          "GET /page HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
	                          "Authorization: Bearer %s\r\n\r\n",
	                          ntohs(address->sin_port), token);
	assert_int_equal(send(client, text, (size_t)size, MSG_NOSIGNAL), size);
	return client;
}

/* The status of its answer; 0 = there is none. */
static int read_status(int client) {
	char text[512];
	int status = 0;
	const ssize_t got = recv(client, text, sizeof text - 1, 0);
	text[got > 0 ? got : 0] = 0;
	(void)close(client);
	return sscanf(text, "HTTP/1.1 %d", &status) == 1 ? status : 0;
}

static int ask_with_key(const struct sockaddr_in *address) {
	return read_status(send_request(address, 1, TOKEN));
}

static struct listening listening;

/* Starts a server of one route, of this pace. */
static struct sockaddr_in start_server(enum http_pace pace) {
	static struct http_route route = {
	    .method = "GET", .pattern = "/page", .role = HTTP_USE, .answer = answer_empty};
	static const struct http_table table = {.routes = &route, .count = 1};
	const struct listen_request request = {.address = "127.0.0.1:0"};
	struct cuttle_error error;
	struct sockaddr_in address;
	socklen_t size = sizeof address;
	route.pace = pace;
	open_keys(LINE("use", "1"));
	assert_int_equal(listen_open(&request, &listening, &error), CUTTLE_OK);
	assert_int_equal(getsockname(listening.socket, (struct sockaddr *)&address, &size), 0);
	const struct http_params params = {.tables = &table,
	                                   .table_count = 1,
	                                   .keys = keys,
	                                   .listening = &listening,
	                                   .quiet = true};
	assert_int_equal(http_start(&params, &server, &error), CUTTLE_OK);
	return address;
}

static void wait_for_hashes(unsigned count) {
	for (int i = 0; i < 5000 && hashed < count; i++)
		(void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	assert_int_equal(hashed, count);
}

/* While one is hashed, for as long as it takes. */
static void wrong_keys_hold_up_no_right_one(void **state) {
	(void)state;
	enum { PLACES = 4, MORE = 3 };
	const struct sockaddr_in address = start_server(HTTP_SLOW);
	char token[64];
	int wrong[PLACES + MORE];
	assert_int_equal(ask_with_key(&address), 204);
	held = true;
	for (int i = 0; i < PLACES + MORE; i++) {
		(void)snprintf(token, sizeof token, "ann.wrong-%d", i);
		wrong[i] = send_request(&address, 1, token);
		if (!i) wait_for_hashes(1);
		// With two processors one is taken by whoever sends them.
		assert_true(niceness >= HTTP_HASHER_NICE);
		// What has no place is told so at once.
		if (i >= PLACES) assert_int_equal(read_status(wrong[i]), 429);
	}
	assert_int_equal(ask_with_key(&address), 204);
	// Another address has its own places.
	const int other = send_request(&address, 2, "ann.secret-too");
	held = false;
	for (int i = 0; i < PLACES; i++) assert_int_equal(read_status(wrong[i]), 401);
	assert_int_equal(read_status(other), 204);
	wait_for_hashes(PLACES);
	// What was wrong is not hashed again, until the file is read again.
	assert_int_equal(read_status(send_request(&address, 1, "ann.wrong-2")), 401);
	wait_for_hashes(PLACES);
	assert_int_equal(keys_reload(keys, NULL), CUTTLE_OK);
	assert_int_equal(read_status(send_request(&address, 1, "ann.wrong-2")), 401);
	wait_for_hashes(PLACES + 1);
	http_stop(&server);
	listen_close(&listening);
	keys_free(&keys);
}

/* A change of the file leaves alone whose key has not changed. */
static void keys_that_stay_are_not_hashed_again(void **state) {
	(void)state;
	struct keys_holder holder;
	open_keys(LINE("use", "1") "bob use " crypto_pwhash_STRPREFIX "2\n");
	assert_true(keys_verify(keys, TOKEN, &holder) && keys_verify(keys, "bob.secret", &holder));
	next_lines = "new use " crypto_pwhash_STRPREFIX "3\nbob officer " crypto_pwhash_STRPREFIX
	             "2\n" LINE("use", "1");
	change_lines();
	assert_true(keys_recall(keys, TOKEN, &holder) && !strcmp(holder.id, "ann"));
	assert_true(keys_recall(keys, "bob.secret", &holder) && !strcmp(holder.id, "bob"));
	assert_int_equal(holder.role, HTTP_OFFICER);
	// Another key of the same ID, and one that is gone.
	next_lines = LINE("use", "4");
	change_lines();
	assert_false(keys_recall(keys, TOKEN, &holder) || keys_recall(keys, "bob.secret", &holder));
	keys_free(&keys);
}

static void put_lines(const char *lines) {
	files_put(path, lines, strlen(lines));
}

static void expect_lines(const char *lines) {
	char text[256];
	const size_t size = files_get(path, text, sizeof text);
	assert_int_equal(size, strlen(lines));
	assert_memory_equal(text, lines, size);
}

/* Of a file that no server takes nothing is taken away: the next answer would say that there is no
 * such key, and the server would go on with it. */
static void a_line_is_taken_away_as_it_is_read(void **state) {
	(void)state;
	static const char rest[] = "# ann \nbob use " crypto_pwhash_STRPREFIX "2\n",
	                  broken[] = LINE("use", "1") "bob boss\n",
	                  zeros[] = LINE("use", "1") "\0\0\n";
	char text[256];
	bool found;
	put_lines("  " LINE("use", "1") "# ann \nbob use " crypto_pwhash_STRPREFIX "2\n");
	assert_int_equal(keys_drop(path, "ann", &found, NULL), CUTTLE_OK);
	assert_true(found);
	expect_lines(rest);
	assert_int_equal(keys_drop(path, "ann", &found, NULL), CUTTLE_OK);
	assert_false(found);
	expect_lines(rest);
	put_lines(broken);
	assert_int_equal(keys_drop(path, "ann", &found, NULL), CUTTLE_INPUT);
	expect_lines(broken);
	// A power cut may leave zero bytes.
	files_put(path, zeros, sizeof zeros - 1);
	assert_int_equal(keys_drop(path, "ann", &found, NULL), CUTTLE_INPUT);
	assert_int_equal(files_get(path, text, sizeof text), sizeof zeros - 1);
	assert_int_equal(keys_open(path, &keys, NULL), CUTTLE_INPUT);
}

static void a_key_is_asked_once_more_when_its_request_is_known(void **state) {
	(void)state;
	const struct sockaddr_in address = start_server(HTTP_AT_ONCE);
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
	    cmocka_unit_test(keys_that_stay_are_not_hashed_again),
	    cmocka_unit_test(a_line_is_taken_away_as_it_is_read),
	    cmocka_unit_test(a_key_is_asked_once_more_when_its_request_is_known),
	    cmocka_unit_test(wrong_keys_hold_up_no_right_one),
	};
	return cmocka_run_group_tests(tests, make_keys, remove_keys);
}
