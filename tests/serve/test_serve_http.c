// SPDX-License-Identifier: Apache-2.0
// Tests the threads of serve/http/http.h over a socket; `make tsan` runs it, too. It fails if an
// upload is neither answered nor dropped, or is both, or if a byte of one is lost, however it is
// cut. It fails if a refusal before the body does not arrive, if more than may come is taken, if a
// server that stops forgets what clients had begun, or if a key that is gone has streams that go
// on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "serve/http/http_exchange.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CLIENTS = 6,
	ROUNDS = 12,
	BODY = 600 << 10,       /* bytes: three pieces */
	CHUNKED = 900000,       /* bytes: four pieces */
	CHUNK_MOST = 300 << 10, /* bytes of a chunk here */
	LEAVERS = 40
};

/* What the routes were told. */
struct told {
	atomic_uint begun, answered, dropped, streaming, held;
	atomic_bool released;
	struct http_stream *streams[2];
	struct http_later *_Atomic later;
};

/* An upload under way. */
struct counted {
	size_t bytes;
	uint64_t mark; /* of the bytes, in their order */
	bool refused;
};

static uint64_t mark_bytes(uint64_t mark, const char *bytes, size_t size) {
	for (size_t i = 0; i < size; i++) mark = mark * 31 + (unsigned char)bytes[i];
	return mark;
}

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
	counted->mark = mark_bytes(counted->mark, bytes, size);
	counted->refused = *(const char *)bytes == '!';
	return !counted->refused;
}

static void answer_upload(void *user, const struct http_call *call, struct http_reply *reply) {
	struct told *const told = user;
	struct counted *const counted = call->upload;
	(void)atomic_fetch_add(&told->answered, 1);
	if (counted->refused)
		http_fail(reply, 422, "invalid_request_error", "invalid_value", NULL, "no");
	else
		http_json(reply, 200,
		          json_pack("{s:I,s:I}", "bytes", (json_int_t)counted->bytes, "mark",
		                    (json_int_t)(counted->mark >> 1)));
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

static void answer_json(void *user, const struct http_call *call, struct http_reply *reply) {
	(void)user;
	http_json(reply, 200,
	          json_pack("{s:I}", "members", (json_int_t)json_object_size(call->body)));
}

/* The stream begins, and ends with the test. */
static void answer_stream(void *user, const struct http_call *call, struct http_reply *reply) {
	struct told *const told = user;
	(void)call;
	struct http_stream *const stream = http_events(reply);
	if (!stream) abort();
	(void)http_stream_send(stream, "data: begun\n\n", 13);
	told->streams[atomic_fetch_add(&told->streaming, 1)] = stream;
}

static void answer_later(void *user, const struct http_call *call, struct http_reply *reply) {
	struct told *const told = user;
	(void)call;
	told->later = http_later(reply);
}

/* Waits until the test lets it go. */
static void answer_held(void *user, const struct http_call *call, struct http_reply *reply) {
	struct told *const told = user;
	(void)atomic_fetch_add(&told->held, 1);
	while (!told->released) (void)usleep(1000);
	answer_nothing(user, call, reply);
}

static const struct http_route routes[] = {
    {"GET", "/later", HTTP_NOBODY, HTTP_BODY_NONE, HTTP_AT_ONCE, answer_later, NULL, NULL, NULL},
    {"GET", "/held", HTTP_NOBODY, HTTP_BODY_NONE, HTTP_WAITING, answer_held, NULL, NULL, NULL},
    {"GET", "/held/kept", HTTP_NOBODY, HTTP_BODY_NONE, HTTP_RESERVED, answer_held, NULL, NULL,
     NULL},
    {"GET", "/stream", HTTP_USE, HTTP_BODY_NONE, HTTP_AT_ONCE, answer_stream, NULL, NULL, NULL},
    {"POST", "/json", HTTP_NOBODY, HTTP_BODY_JSON, HTTP_AT_ONCE, answer_json, NULL, NULL, NULL},
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
	struct keys *keys;
};

static const char KEYS[] = "/tmp/cuttle-keys-XXXXXX";
static char keys_path[sizeof KEYS], tokens[2][KEYS_TOKEN + 1];

static int begin_stage(void **state, struct keys *keys) {
	static struct stage stage;
	struct cuttle_error error;
	const struct listen_request request = {.address = "127.0.0.1:0"};
	stage =
	    (struct stage){.table = {.routes = routes, .count = sizeof routes / sizeof *routes}};
	stage.table.user = &stage.told;
	stage.keys = keys;
	if (listen_open(&request, &stage.listening, &error)) return -1;
	socklen_t size = sizeof stage.address;
	(void)getsockname(stage.listening.socket, (struct sockaddr *)&stage.address, &size);
	const struct http_params params = {.tables = &stage.table,
	                                   .table_count = 1,
	                                   .keys = keys,
	                                   .listening = &stage.listening,
	                                   .quiet = true};
	if (http_start(&params, &stage.server, &error)) {
		(void)fprintf(stderr, "%s\n", error.message);
		return -1;
	}
	*state = &stage;
	return 0;
}

static int open_stage(void **state) {
	return begin_stage(state, NULL);
}

/* Adds a key to the file. */
static bool add_key(const char *id, char token[KEYS_TOKEN + 1]) {
	int out[2];
	if (pipe(out) != 0) return false;
	const bool made = keys_make(keys_path, id, HTTP_USE, "", out[1], NULL) == CUTTLE_OK;
	const ssize_t size = made ? read(out[0], token, KEYS_TOKEN) : 0;
	(void)close(out[0]);
	(void)close(out[1]);
	if (size <= 0 || token[size - 1] != '\n') return false;
	token[size - 1] = 0;
	return true;
}

/* The same with two keys, ann's and bob's. */
static int open_stage_with_keys(void **state) {
	struct keys *keys;
	memcpy(keys_path, KEYS, sizeof KEYS);
	const int file = mkstemp(keys_path);
	if (file < 0 || close(file) != 0 || !add_key("ann", tokens[0]) ||
	    !add_key("bob", tokens[1]) || keys_open(keys_path, &keys, NULL))
		return -1;
	return begin_stage(state, keys);
}

static int close_stage(void **state) {
	struct stage *const stage = *state;
	if (stage->server) http_stop(&stage->server);
	listen_close(&stage->listening);
	if (!stage->keys) return 0;
	keys_free(&stage->keys);
	return unlink(keys_path);
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

/* Connects from 127.0.0.`host` and sends a head whose body is framed as the header says. */
static int ask_from(const struct stage *stage, const char *what, const char *framing,
                    unsigned host) {
	char head[256];
	const int client = socket(AF_INET, SOCK_STREAM, 0);
	const struct timeval patience = {.tv_sec = 60};
	const struct sockaddr_in from = {.sin_family = AF_INET,
	                                 .sin_addr = {htonl(INADDR_LOOPBACK - 1 + host)}};
	if (client < 0 || bind(client, (const struct sockaddr *)&from, sizeof from) != 0) return -1;
	(void)setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	const int size = snprintf(head, sizeof head,
	                          "%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n"
	                          "%s\r\n\r\n",
	                          what, ntohs(stage->address.sin_port), framing);
	if (connect(client, (const struct sockaddr *)&stage->address, sizeof stage->address) == 0 &&
	    send_whole(client, head, (size_t)size))
		return client;
	(void)close(client);
	return -1;
}

static int ask_framed(const struct stage *stage, const char *what, const char *framing) {
	return ask_from(stage, what, framing, 1);
}

/* The same for `length` bytes that are announced. */
static int ask(const struct stage *stage, const char *what, size_t length) {
	char framing[64];
	(void)snprintf(framing, sizeof framing, "Content-Length: %zu", length);
	return ask_framed(stage, what, framing);
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
	if (status == 200 && (!sent || !strstr(answer, "{\"bytes\":614400,"))) return -1;
	return status;
}

/* Sends part of an upload, and leaves a moment later. */
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
		else if (exchange(stage, "PUT /taken", BODY, BODY, '!') != 422)
			wrong = "first piece refused";
		leave_midway(stage);
	}
	return (void *)(uintptr_t)wrong;
}

/* Sends bytes as chunks of `piece`, with a pause now and then. False: the server has ended. */
static bool send_chunks(int client, const char *bytes, size_t size, size_t piece, unsigned pause) {
	char frame[CHUNK_MOST + 32];
	for (size_t at = 0, count = 0; at < size; at += piece, count++) {
		if (piece > size - at) piece = size - at;
		const int head = snprintf(frame, sizeof frame, "%zx\r\n", piece);
		memcpy(frame + head, bytes + at, piece);
		memcpy(frame + (size_t)head + piece, "\r\n", 2);
		if (!send_whole(client, frame, (size_t)head + piece + 2)) return false;
		if (pause && count % 16 == 0) (void)usleep(pause);
	}
	return true;
}

/* Sends an upload in chunks. What comes back must be the mark of what was sent. */
static void upload_in_chunks(const struct stage *stage, const char *bytes, size_t size,
                             size_t piece, unsigned pause) {
	char answer[2048], expected[128];
	const int client = ask_framed(stage, "PUT /taken", "Transfer-Encoding: chunked");
	assert_true(client >= 0);
	const bool sent =
	    send_chunks(client, bytes, size, piece, pause) && send_whole(client, "0\r\n\r\n", 5);
	const int status = hear(client, answer, sizeof answer);
	(void)snprintf(expected, sizeof expected, "{\"bytes\":%zu,\"mark\":%" PRIu64 "}", size,
	               mark_bytes(0, bytes, size) >> 1);
	if (!sent || status != 200 || !strstr(answer, expected))
		fail_msg("%zu bytes in pieces of %zu: %s, not %s", size, piece, answer, expected);
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

/* Waits for the end of that many uploads. A busy server may not have seen yet who came last and is
 * gone again, and then has nothing open. */
static void drain_begun(const struct stage *stage, unsigned begun) {
	for (int i = 0; i < 60000 && stage->told.begun < begun; i++) (void)usleep(1000);
	assert_int_equal(stage->told.begun, begun);
	assert_true(http_drain(stage->server, 60));
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
	drain_begun(stage, 4 * CLIENTS * ROUNDS);
	assert_int_equal(stage->told.answered, 3 * CLIENTS * ROUNDS);
	assert_int_equal(stage->told.dropped, CLIENTS * ROUNDS);
}

static void wait_for_held(const struct stage *stage, unsigned held) {
	for (int i = 0; i < 60000 && stage->told.held < held; i++) (void)usleep(1000);
	assert_int_equal(stage->told.held, held);
}

static void is_refused(struct stage *stage, const char *what) {
	char answer[2048];
	const int status = hear(ask_from(stage, what, "X: y", 9), answer, sizeof answer);
	// A server that stops waits for them.
	if (status != 429) stage->told.released = true;
	assert_int_equal(status, 429);
}

/* Who has left needs no answer: what is computed for it may end. */
static void who_has_left_needs_no_answer(void **state) {
	struct stage *const stage = *state;
	const int client = ask(stage, "GET /later", 0);
	assert_true(client >= 0);
	for (int i = 0; i < 60000 && !stage->told.later; i++) (void)usleep(1000);
	(void)usleep(600000);
	assert_false(http_later_gone(stage->told.later));
	(void)close(client);
	bool gone = false;
	for (int i = 0; i < 10000 && !gone; i++) {
		(void)usleep(1000);
		gone = http_later_gone(stage->told.later);
	}
	http_json(http_later_reply(stage->told.later), 200, json_object());
	http_later_send(stage->told.later);
	assert_true(gone);
}

/* Each takes a thread. Some places are kept for what ends others. */
static void so_many_wait_at_once(void **state) {
	struct stage *const stage = *state;
	enum { MOST = HTTP_WAITERS - HTTP_KEPT_WAITERS };
	int clients[HTTP_WAITERS];
	char answer[2048];
	for (unsigned i = 0; i < HTTP_WAITERS; i++) {
		if (i == MOST) {
			wait_for_held(stage, MOST);
			is_refused(stage, "GET /held");
		}
		clients[i] =
		    ask_from(stage, i < MOST ? "GET /held" : "GET /held/kept", "X: y", 2 + i / 16);
		assert_true(clients[i] >= 0);
	}
	wait_for_held(stage, HTTP_WAITERS);
	is_refused(stage, "GET /held/kept");
	stage->told.released = true;
	for (unsigned i = 0; i < HTTP_WAITERS; i++)
		assert_int_equal(hear(clients[i], answer, sizeof answer), 204);
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

/* libmicrohttpd has read several chunks at once. It offers the next one while the disk thread still
 * has the one before. */
static void chunks_arrive_whole_and_in_order(void **state) {
	struct stage *const stage = *state;
	static const size_t pieces[] = {1000, 1460, CHUNK_MOST};
	static const size_t sizes[] = {0, 1, 262143, 262144, 262145, CHUNKED};
	char *const bytes = malloc(CHUNKED);
	assert_non_null(bytes);
	for (size_t i = 0; i < CHUNKED; i++) bytes[i] = (char)('a' + i * i % 23);
	unsigned count = 0;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (size_t j = 0; j < sizeof pieces / sizeof *pieces; j++)
			for (unsigned pause = 0; pause <= 500; pause += 500, count++)
				upload_in_chunks(stage, bytes, sizes[i], pieces[j], pause);
	upload_in_chunks(stage, bytes, 3 * 7919, 1, 0);
	free(bytes);
	assert_true(http_drain(stage->server, 60));
	assert_int_equal(stage->told.answered, count + 1);
	assert_int_equal(stage->told.dropped, 0);
}

/* Their end comes in one packet with their last bytes, which libmicrohttpd does not notice. */
static void who_leaves_at_once_takes_no_place(void **state) {
	struct stage *const stage = *state;
	char part[4096] = "";
	int clients[8];
	const int on = 1;
	for (size_t i = 0; i < 8; i++) {
		clients[i] = ask(stage, "PUT /taken", (size_t)100 * BODY);
		assert_true(clients[i] >= 0);
		assert_true(send_whole(clients[i], part, sizeof part));
	}
	for (int i = 0; i < 60000 && stage->told.begun < 8; i++) (void)usleep(1000);
	(void)usleep(100000);
	for (size_t i = 0; i < 8; i++) {
		(void)setsockopt(clients[i], IPPROTO_TCP, TCP_CORK, &on, sizeof on);
		assert_true(send_whole(clients[i], part, sizeof part));
		(void)close(clients[i]);
	}
	assert_true(http_drain(stage->server, 4 * HTTP_LEFT_S));
	assert_int_equal(stage->told.dropped, 8);
}

static void who_leaves_between_chunks_leaves_nothing(void **state) {
	struct stage *const stage = *state;
	char *const bytes = calloc(1, CHUNKED);
	assert_non_null(bytes);
	for (size_t i = 0; i < LEAVERS; i++) {
		const int client = ask_framed(stage, "PUT /taken", "Transfer-Encoding: chunked");
		assert_true(client >= 0);
		(void)send_chunks(client, bytes, 1 + i * CHUNKED / LEAVERS, 1000, 0);
		// Half a chunk, or none.
		if (i % 2) (void)send_whole(client, "3e8\r\nabc", 8);
		(void)usleep(5000);
		(void)close(client);
	}
	free(bytes);
	drain_begun(stage, LEAVERS);
	assert_int_equal(stage->told.answered, 0);
	assert_int_equal(stage->told.dropped, LEAVERS);
}

/* The status of an answer to a body of `size` spaces in chunks, behind an empty object. */
static int send_spaces(const struct stage *stage, const char *what, size_t size) {
	char answer[2048];
	char *const spaces = malloc(size);
	assert_non_null(spaces);
	memset(spaces, ' ', size);
	memcpy(spaces, "{}", 2);
	const int client = ask_framed(stage, what, "Transfer-Encoding: chunked");
	assert_true(client >= 0);
	if (send_chunks(client, spaces, size, CHUNK_MOST, 0))
		(void)send_whole(client, "0\r\n\r\n", 5);
	free(spaces);
	return hear(client, answer, sizeof answer);
}

/* A body in chunks announces no length, so it is refused when that much has come. */
static void no_more_than_the_limit_comes_in_chunks(void **state) {
	struct stage *const stage = *state;
	assert_int_equal(send_spaces(stage, "POST /json", HTTP_JSON_MOST), 200);
	assert_int_equal(send_spaces(stage, "POST /json", HTTP_JSON_MOST + 1), 413);
	// Who sends much more than that is not listened to.
	assert_int_equal(send_spaces(stage, "POST /json", (size_t)3 * HTTP_JSON_MOST), 0);
	assert_int_equal(send_spaces(stage, "PUT /taken", HTTP_UPLOAD_MOST), 200);
	assert_int_equal(send_spaces(stage, "PUT /taken", HTTP_UPLOAD_MOST + 1), 413);
	assert_true(http_drain(stage->server, 60));
	assert_int_equal(stage->told.answered, 1);
	assert_int_equal(stage->told.dropped, 1);
}

/* Takes ann's line, the first, out of the file. */
static void take_away_ann(void) {
	char line[256];
	FILE *const file = fopen(keys_path, "r+");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof line, file));
	assert_non_null(fgets(line, sizeof line, file));
	rewind(file);
	assert_true(fputs(line, file) >= 0);
	assert_int_equal(ftruncate(fileno(file), (off_t)strlen(line)), 0);
	assert_int_equal(fclose(file), 0);
}

/* Whether nothing but what is there comes within a moment, and the connection stays. */
static bool stays_open(int client) {
	char bytes[4096];
	const struct timeval moment = {.tv_usec = 300000};
	ssize_t got;
	(void)setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof moment);
	while ((got = recv(client, bytes, sizeof bytes, 0)) > 0) {}
	return got < 0;
}

static void a_key_that_is_gone_ends_its_streams(void **state) {
	struct stage *const stage = *state;
	int clients[2];
	for (unsigned i = 0; i < 2; i++) {
		char key[2 * KEYS_TOKEN + 64];
		(void)snprintf(key, sizeof key, "Authorization: Bearer %s", tokens[i]);
		clients[i] = ask_framed(stage, "GET /stream", key);
		assert_true(clients[i] >= 0);
		for (int wait = 0; wait < 60000 && stage->told.streaming <= i; wait++)
			(void)usleep(1000);
		assert_int_equal(stage->told.streaming, i + 1);
	}
	take_away_ann();
	// Until the file is read again nothing changes.
	http_keys_changed(stage->server);
	assert_true(stays_open(clients[0]));
	assert_int_equal(keys_reload(stage->keys, NULL), CUTTLE_OK);
	http_keys_changed(stage->server);
	assert_int_equal(http_stream_send(stage->told.streams[0], ":\n\n", 3), HTTP_GONE);
	assert_int_equal(http_stream_send(stage->told.streams[1], ":\n\n", 3), HTTP_SENT);
	assert_false(stays_open(clients[0]));
	assert_true(stays_open(clients[1]));
	for (unsigned i = 0; i < 2; i++) {
		http_stream_end(stage->told.streams[i]);
		(void)close(clients[i]);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_refusal_before_the_body_arrives, open_stage,
	                                    close_stage),
	    cmocka_unit_test_setup_teardown(every_upload_ends_once, open_stage, close_stage),
	    cmocka_unit_test_setup_teardown(chunks_arrive_whole_and_in_order, open_stage,
	                                    close_stage),
	    cmocka_unit_test_setup_teardown(who_leaves_at_once_takes_no_place, open_stage,
	                                    close_stage),
	    cmocka_unit_test_setup_teardown(who_leaves_between_chunks_leaves_nothing, open_stage,
	                                    close_stage),
	    cmocka_unit_test_setup_teardown(no_more_than_the_limit_comes_in_chunks, open_stage,
	                                    close_stage),
	    cmocka_unit_test_setup_teardown(a_key_that_is_gone_ends_its_streams,
	                                    open_stage_with_keys, close_stage),
	    cmocka_unit_test_setup_teardown(so_many_wait_at_once, open_stage, close_stage),
	    cmocka_unit_test_setup_teardown(who_has_left_needs_no_answer, open_stage, close_stage),
	    cmocka_unit_test_setup_teardown(a_stop_ends_what_was_begun, open_stage, close_stage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
