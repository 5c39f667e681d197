// SPDX-License-Identifier: Apache-2.0
// Tests the threads of serve/http.h over a socket; `make tsan` runs it, too. It fails if an upload
// is neither answered nor dropped, or is both. It fails if a refusal before the body does not
// arrive, or if a server that stops forgets what clients had begun.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "serve/http.h"
#include "serve/listen.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS = 6, ROUNDS = 12, BODY = 600 << 10 /* bytes: three pieces */ };

/* What the routes were told. */
struct told {
	atomic_uint begun, answered, dropped;
};

/* An upload under way. */
struct counted {
	size_t bytes;
	bool refused;
};

static bool refuse_upload(void *user, const struct http_call *call, void **upload,
                          struct http_reply *reply) {
	(void)user;
	(void)call;
	(void)upload;
	http_fail(reply, 404, "invalid_request_error", "not_found", NULL, "no such upload");
	return false;
}

static bool begin_upload(void *user, const struct http_call *call, void **upload,
                         struct http_reply *reply) {
	struct told *const told = user;
	(void)call;
	(void)reply;
	(void)atomic_fetch_add(&told->begun, 1);
	*upload = calloc(1, sizeof(struct counted));
	// Not an assertion of cmocka's: this is the server's thread.
	if (!*upload) abort();
	return true;
}

static bool take_piece(void *user, void *upload, const void *bytes, size_t size) {
	struct counted *const counted = upload;
	(void)user;
	counted->bytes += size;
	counted->refused = *(const char *)bytes == '!';
	return !counted->refused;
}

static void answer_upload(void *user, const struct http_call *call, struct http_reply *reply) {
	struct told *const told = user;
	struct counted *const counted = call->upload;
	(void)atomic_fetch_add(&told->answered, 1);
	if (counted->refused)
		http_fail(reply, 422, "invalid_request_error", "invalid_value", NULL, "no");
	else http_json(reply, 200, json_pack("{s:I}", "bytes", (json_int_t)counted->bytes));
	free(counted);
}

static void drop_upload(void *user, void *upload) {
	struct told *const told = user;
	(void)atomic_fetch_add(&told->dropped, 1);
	free(upload);
}

static void answer_nothing(void *user, const struct http_call *call, struct http_reply *reply) {
	(void)user;
	(void)call;
	http_bytes(reply, 204, NULL, "", 0);
}

static const struct http_route routes[] = {
    {"GET", "/at-once", HTTP_NOBODY, HTTP_BODY_NONE, HTTP_AT_ONCE, answer_nothing, NULL, NULL,
     NULL},
    {"GET", "/slow", HTTP_NOBODY, HTTP_BODY_NONE, HTTP_SLOW, answer_nothing, NULL, NULL, NULL},
    {"GET", "/waiting", HTTP_NOBODY, HTTP_BODY_NONE, HTTP_WAITING, answer_nothing, NULL, NULL,
     NULL},
    {"PUT", "/refused", HTTP_NOBODY, HTTP_BODY_UPLOAD, HTTP_RESERVED, answer_upload, refuse_upload,
     take_piece, drop_upload},
    {"PUT", "/taken", HTTP_NOBODY, HTTP_BODY_UPLOAD, HTTP_RESERVED, answer_upload, begin_upload,
     take_piece, drop_upload},
};

/* A server of these routes. */
struct stage {
	struct told told;
	struct listening listening;
	struct http_table table;
	struct http_server *server;
	struct sockaddr_in address;
};

static int open_stage(void **state) {
	static struct stage stage;
	struct cuttle_error error;
	const struct listen_request request = {.address = "127.0.0.1:0"};
	stage =
	    (struct stage){.table = {.routes = routes, .count = sizeof routes / sizeof *routes}};
	stage.table.user = &stage.told;
	if (listen_open(&request, &stage.listening, &error)) return -1;
	socklen_t size = sizeof stage.address;
	(void)getsockname(stage.listening.socket, (struct sockaddr *)&stage.address, &size);
	const struct http_params params = {
	    .tables = &stage.table, .table_count = 1, .listening = &stage.listening, .quiet = true};
	if (http_start(&params, &stage.server, &error)) {
		(void)fprintf(stderr, "%s\n", error.message);
		return -1;
	}
	*state = &stage;
	return 0;
}

static int close_stage(void **state) {
	struct stage *const stage = *state;
	if (stage->server) http_stop(&stage->server);
	listen_close(&stage->listening);
	return 0;
}

/* ---- a client -------------------------------------------------------------------------------- */

static bool send_whole(int client, const char *bytes, size_t size) {
	while (size > 0) {
		const ssize_t sent = send(client, bytes, size, MSG_NOSIGNAL);
		if (sent <= 0) return false;
		bytes += sent;
		size -= (size_t)sent;
	}
	return true;
}

/* Connects and sends a head that announces `length` bytes. */
static int ask(const struct stage *stage, const char *what, size_t length) {
	char head[256];
	const int client = socket(AF_INET, SOCK_STREAM, 0);
	const struct timeval patience = {.tv_sec = 60};
	if (client < 0) return -1;
	(void)setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	const int size = snprintf(head, sizeof head,
	                          "%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n"
	                          "Content-Length: %zu\r\n\r\n",
	                          what, ntohs(stage->address.sin_port), length);
	if (connect(client, (const struct sockaddr *)&stage->address, sizeof stage->address) == 0 &&
	    send_whole(client, head, (size_t)size))
		return client;
	(void)close(client);
	return -1;
}

/* Reads the whole answer, and closes. Returns its status; 0 = none. */
static int hear(int client, char *answer, size_t room) {
	size_t size = 0;
	ssize_t got;
	int status = 0;
	while (size < room - 1 && (got = recv(client, answer + size, room - 1 - size, 0)) > 0)
		size += (size_t)got;
	answer[size] = 0;
	(void)close(client);
	return sscanf(answer, "HTTP/1.1 %d", &status) == 1 ? status : 0;
}

/* The status of an answer to a request with `size` bytes of a body that begins with `first`. */
static int exchange(const struct stage *stage, const char *what, size_t announced, size_t size,
                    char first) {
	char answer[2048];
	char *const body = size ? calloc(1, size) : NULL;
	const int client = ask(stage, what, announced);
	if (body) body[0] = first;
	const bool sent = client >= 0 && (!size || (body && send_whole(client, body, size)));
	free(body);
	if (client < 0) return 0;
	const int status = hear(client, answer, sizeof answer);
	if (status == 200 && (!sent || !strstr(answer, "{\"bytes\":614400}"))) return -1;
	return status;
}

/* Sends part of an upload, and leaves a moment later: an end that comes with the last bytes is
 * noticed by the time limit alone, which takes ten seconds. */
static void leave_midway(const struct stage *stage) {
	char part[4096] = "";
	const int client = ask(stage, "PUT /taken", BODY);
	if (client < 0) return;
	(void)send_whole(client, part, sizeof part);
	(void)usleep(5000);
	(void)close(client);
}

/* A client of every kind, again and again. Returns what went wrong, or NULL. */
static void *ask_all(void *user) {
	const struct stage *const stage = user;
	const char *wrong = NULL;
	for (unsigned i = 0; i < ROUNDS && !wrong; i++) {
		if (exchange(stage, "GET /at-once", 0, 0, 0) != 204) wrong = "at once";
		else if (exchange(stage, "GET /slow", 0, 0, 0) != 204) wrong = "slow";
		else if (exchange(stage, "GET /waiting", 0, 0, 0) != 204) wrong = "waiting";
		else if (exchange(stage, "PUT /taken", BODY, BODY, 'a') != 200) wrong = "taken";
		else if (exchange(stage, "PUT /taken", 300, 300, '!') != 422)
			wrong = "piece refused";
		leave_midway(stage);
	}
	return (void *)(uintptr_t)wrong;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void a_refusal_before_the_body_arrives(void **state) {
	const struct stage *const stage = *state;
	for (unsigned i = 0; i < 50; i++) {
		assert_int_equal(exchange(stage, "PUT /refused", 3, 3, 'a'), 404);
		// What would have to be thrown away for too long is not waited for.
		assert_int_equal(exchange(stage, "PUT /refused", 9000000, 3, 'a'), 404);
	}
}

static void every_upload_ends_once(void **state) {
	struct stage *const stage = *state;
	pthread_t clients[CLIENTS];
	for (size_t i = 0; i < CLIENTS; i++)
		assert_int_equal(pthread_create(&clients[i], NULL, ask_all, stage), 0);
	for (size_t i = 0; i < CLIENTS; i++) {
		void *wrong;
		(void)pthread_join(clients[i], &wrong);
		if (wrong) fail_msg("%s", (const char *)wrong);
	}
	assert_true(http_drain(stage->server, 60));
	assert_int_equal(stage->told.answered, 2 * CLIENTS * ROUNDS);
	assert_int_equal(stage->told.dropped, CLIENTS * ROUNDS);
	assert_int_equal(stage->told.begun, stage->told.answered + stage->told.dropped);
}

static void a_stop_ends_what_was_begun(void **state) {
	struct stage *const stage = *state;
	int clients[8];
	for (size_t i = 0; i < 8; i++) {
		clients[i] = ask(stage, "PUT /taken", BODY);
		assert_true(clients[i] >= 0);
		(void)send_whole(clients[i], "begun", 5);
	}
	for (int i = 0; i < 60000 && stage->told.begun < 8; i++) (void)usleep(1000);
	assert_int_equal(stage->told.begun, 8);
	http_quiesce(stage->server);
	http_stop(&stage->server);
	assert_int_equal(stage->told.answered, 0);
	assert_int_equal(stage->told.dropped, 8);
	for (size_t i = 0; i < 8; i++) (void)close(clients[i]);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_refusal_before_the_body_arrives, open_stage,
	                                    close_stage),
	    cmocka_unit_test_setup_teardown(every_upload_ends_once, open_stage, close_stage),
	    cmocka_unit_test_setup_teardown(a_stop_ends_what_was_begun, open_stage, close_stage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
