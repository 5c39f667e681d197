// SPDX-License-Identifier: Apache-2.0
// Tests serve/http/stream.h with an invented libmicrohttpd and clock. It fails if bytes are lost or
// doubled, or a sender waits for a slow receiver. It fails if a stream that is full for 30 s goes
// on, or a silent one gets no keep-alive. It fails if a connection sleeps although there are bytes,
// or for a receiver who has left.
// It fails if one owner frees the other's stream.
#include "serve/http/http_exchange.h"
#include "serve/http/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static double now = 100;
static int suspended;
static MHD_ContentReaderCallback reader;
static void *read_from;

double __wrap_http_now(void);
double __wrap_http_now(void) {
	return now;
}

static void note_suspended(struct MHD_Connection *connection) {
	(void)connection;
	suspended++;
}

static void note_resumed(struct MHD_Connection *connection) {
	(void)connection;
	suspended--;
}

static struct MHD_Response *note_reader(uint64_t size, size_t block, MHD_ContentReaderCallback read,
                                        void *user, MHD_ContentReaderFreeCallback ended) {
	assert_true(size == MHD_SIZE_UNKNOWN && block && !ended);
	reader = read;
	read_from = user;
	return (struct MHD_Response *)&read_from;
}

struct bench {
	struct streams *streams;
	struct watched watched;
	struct http_stream *stream;
};

static void open_bench(struct bench *b) {
	mhd.suspend = note_suspended;
	mhd.resume = note_resumed;
	mhd.from_callback = note_reader;
	suspended = 0;
	*b = (struct bench){.streams = streams_new(), .watched.socket = -1};
	assert_non_null(b->streams);
	b->stream = stream_open(b->streams, NULL, &b->watched);
	assert_non_null(b->stream);
	assert_non_null(stream_response(b->stream));
}

static char bytes[STREAM_BYTES];

static void test_bytes_pass(void **state) {
	struct bench b;
	char taken[1000];
	size_t sent = 0, got = 0;
	(void)state;
	open_bench(&b);
	for (int round = 0; round < 3000; round++) {
		char some[333];
		const size_t size = 1 + (size_t)round * 7 % sizeof some;
		for (size_t i = 0; i < size; i++) some[i] = (char)((sent + i) * 31 >> 3);
		if (http_stream_send(b.stream, some, size) == HTTP_SENT) sent += size;
		else
			for (int i = 0; i < 100; i++) {
				const ssize_t n = reader(read_from, got, taken, sizeof taken);
				for (ssize_t j = 0; j < n; j++)
					assert_int_equal(taken[j],
					                 (char)((got + (size_t)j) * 31 >> 3));
				if (n > 0) got += (size_t)n;
				if (!n) break;
			}
	}
	assert_true(sent > 3 * STREAM_BYTES && got > STREAM_BYTES);
	http_stream_end(b.stream);
	ssize_t n;
	while ((n = reader(read_from, got, taken, sizeof taken)) > 0) got += (size_t)n;
	assert_int_equal(n, MHD_CONTENT_READER_END_OF_STREAM);
	assert_int_equal(got, sent);
	assert_int_equal(suspended, 0);
	stream_leave(b.stream);
	assert_int_equal(streams_count(b.streams), 0);
	streams_free(&b.streams);
}

static void test_sleep(void **state) {
	struct bench b;
	char taken[100];
	(void)state;
	open_bench(&b);
	assert_int_equal(reader(read_from, 0, taken, sizeof taken), 0);
	assert_int_equal(suspended, 1);
	assert_int_equal(http_stream_send(b.stream, "a", 1), HTTP_SENT);
	assert_int_equal(suspended, 0);
	assert_int_equal(reader(read_from, 0, taken, sizeof taken), 1);
	assert_int_equal(reader(read_from, 1, taken, sizeof taken), 0);
	now += STREAM_KEEP_S - 1;
	streams_tick(b.streams);
	assert_int_equal(suspended, 1);
	now += 2;
	streams_tick(b.streams);
	assert_int_equal(suspended, 0);
	assert_int_equal(reader(read_from, 1, taken, sizeof taken), 14);
	assert_memory_equal(taken, ": keep-alive\n\n", 14);
	assert_int_equal(reader(read_from, 15, taken, sizeof taken), 0);
	// The receiver leaves first; the sender still has its share.
	stream_leave(b.stream);
	assert_int_equal(streams_count(b.streams), 1);
	assert_int_equal(http_stream_send(b.stream, "a", 1), HTTP_GONE);
	http_stream_end(b.stream);
	assert_int_equal(streams_count(b.streams), 0);
	streams_free(&b.streams);
}

/* Whoever has left gives the place back before the next keep-alive, whatever was sent with it. */
static void test_left(void **state) {
	struct bench b;
	char taken[100];
	int wire[2];
	(void)state;
	open_bench(&b);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, wire), 0);
	b.watched.socket = wire[0];
	assert_int_equal(reader(read_from, 0, taken, sizeof taken), 0);
	now += HTTP_LEFT_S + 1;
	streams_tick(b.streams);
	assert_int_equal(suspended, 1);
	assert_int_equal(write(wire[1], "bye", 3), 3);
	(void)close(wire[1]);
	streams_tick(b.streams);
	assert_int_equal(suspended, 0);
	assert_int_equal(reader(read_from, 0, taken, sizeof taken),
	                 MHD_CONTENT_READER_END_OF_STREAM);
	assert_int_equal(http_stream_send(b.stream, "a", 1), HTTP_GONE);
	http_stream_end(b.stream);
	stream_leave(b.stream);
	(void)close(wire[0]);
	streams_free(&b.streams);
}

static void test_full(void **state) {
	struct bench b;
	char taken[100];
	(void)state;
	open_bench(&b);
	assert_int_equal(http_stream_send(b.stream, bytes, STREAM_BYTES), HTTP_SENT);
	assert_int_equal(http_stream_send(b.stream, "a", 1), HTTP_FULL);
	now += STREAM_FULL_S - 1;
	streams_tick(b.streams);
	assert_true(b.watched.deadline == 0);
	// Some room, and the time begins anew.
	assert_int_equal(reader(read_from, 0, taken, 1), 1);
	assert_int_equal(http_stream_send(b.stream, "a", 1), HTTP_SENT);
	assert_int_equal(http_stream_send(b.stream, "a", 1), HTTP_FULL);
	now += STREAM_FULL_S - 1;
	streams_tick(b.streams);
	assert_int_equal(http_stream_send(b.stream, "a", 1), HTTP_FULL);
	now += 2;
	streams_tick(b.streams);
	assert_int_equal(http_stream_send(b.stream, "a", 1), HTTP_GONE);
	assert_true(b.watched.deadline > 0);
	http_stream_end(b.stream);
	stream_leave(b.stream);
	streams_free(&b.streams);
}

static void test_most(void **state) {
	struct bench b;
	struct http_stream *more[STREAM_MOST];
	char taken[100];
	(void)state;
	open_bench(&b);
	for (size_t i = 1; i < STREAM_MOST; i++)
		assert_non_null(more[i] = stream_open(b.streams, NULL, &b.watched));
	assert_null(stream_open(b.streams, NULL, &b.watched));
	assert_int_equal(reader(read_from, 0, taken, sizeof taken), 0);
	streams_cancel(b.streams);
	assert_int_equal(suspended, 0);
	assert_int_equal(reader(read_from, 0, taken, sizeof taken),
	                 MHD_CONTENT_READER_END_OF_STREAM);
	more[0] = b.stream;
	for (size_t i = 0; i < STREAM_MOST; i++) {
		assert_int_equal(http_stream_send(more[i], "a", 1), HTTP_GONE);
		http_stream_end(more[i]);
		stream_leave(more[i]);
	}
	assert_int_equal(streams_count(b.streams), 0);
	streams_free(&b.streams);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bytes_pass), cmocka_unit_test(test_sleep),
	    cmocka_unit_test(test_left),       cmocka_unit_test(test_full),
	    cmocka_unit_test(test_most),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
