// SPDX-License-Identifier: Apache-2.0
// stream.c: see stream.h. One lock serves all streams: it is held for copies of at most 64 KiB.
#include "serve/http/stream.h"

#include "serve/http/http_exchange.h"
#include <poll.h>
#include <sodium.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char KEEP_ALIVE[] = ": keep-alive\n\n";

struct http_stream {
	struct streams *streams;
	struct http_stream *next;
	struct MHD_Connection *connection;
	struct watched *watched; /* NULL = the receiver has left */
	size_t begin, used;      /* of the ring */
	double sent;             /* http_now() of the last byte sent */
	double full;             /* http_now() since when it is full; 0 = it is not */
	bool asleep;             /* the connection is suspended until there is a byte */
	bool written;            /* there was a byte */
	bool ended;              /* the sender has ended */
	bool cancelled;          /* what is sent no longer arrives */
	char ring[STREAM_BYTES];
};

struct streams {
	pthread_mutex_t lock;
	struct http_stream *first;
	size_t count;
};

struct streams *streams_new(void) {
	struct streams *streams = calloc(1, sizeof *streams);
	if (streams) (void)pthread_mutex_init(&streams->lock, NULL);
	return streams;
}

void streams_free(struct streams **streams) {
	if (!*streams) return;
	(void)pthread_mutex_destroy(&(*streams)->lock);
	free(*streams);
	*streams = NULL;
}

static void lock_streams(struct streams *streams) {
	(void)pthread_mutex_lock(&streams->lock);
}

static void unlock_streams(struct streams *streams) {
	(void)pthread_mutex_unlock(&streams->lock);
}

struct http_stream *stream_open(struct streams *streams, struct MHD_Connection *connection,
                                struct watched *watched) {
	struct http_stream *stream = malloc(sizeof *stream);
	if (!stream) return NULL;
	// A ring is read where it was written only. One that is never written takes no memory.
	memset(stream, 0, offsetof(struct http_stream, ring));
	stream->streams = streams;
	stream->connection = connection;
	stream->watched = watched;
	stream->sent = http_now();
	lock_streams(streams);
	const bool room = streams->count < STREAM_MOST;
	if (room) {
		stream->next = streams->first;
		streams->first = stream;
		streams->count++;
	}
	unlock_streams(streams);
	if (room) return stream;
	free(stream);
	return NULL;
}

/* Frees it when both owners have ended. Under the lock. */
static void release_stream(struct http_stream *stream) {
	if (stream->watched || !stream->ended) return;
	struct http_stream **link = &stream->streams->first;
	while (*link != stream) link = &(*link)->next;
	*link = stream->next;
	stream->streams->count--;
	if (stream->written) sodium_memzero(stream->ring, sizeof stream->ring);
	free(stream);
}

/* Under the lock. */
static void wake_receiver(struct http_stream *stream) {
	if (!stream->asleep) return;
	stream->asleep = false;
	mhd.resume(stream->connection);
}

/* Under the lock; there must be room. */
static void put_bytes(struct http_stream *stream, const char *bytes, size_t size) {
	const size_t end = (stream->begin + stream->used) % STREAM_BYTES,
	             first = size < STREAM_BYTES - end ? size : STREAM_BYTES - end;
	memcpy(stream->ring + end, bytes, first);
	memcpy(stream->ring, bytes + first, size - first);
	stream->used += size;
	stream->written = true;
	stream->sent = http_now();
	stream->full = 0;
	wake_receiver(stream);
}

static ssize_t take_stream_bytes(void *user, uint64_t at, char *bytes, size_t most) {
	struct http_stream *stream = user;
	ssize_t taken = MHD_CONTENT_READER_END_OF_STREAM;
	(void)at;
	lock_streams(stream->streams);
	if (stream->used) {
		size_t size = STREAM_BYTES - stream->begin;
		if (size > stream->used) size = stream->used;
		if (size > most) size = most;
		memcpy(bytes, stream->ring + stream->begin, size);
		sodium_memzero(stream->ring + stream->begin, size);
		stream->begin = (stream->begin + size) % STREAM_BYTES;
		stream->used -= size;
		taken = (ssize_t)size;
	} else if (!stream->ended && !stream->cancelled) {
		stream->asleep = true;
		mhd.suspend(stream->connection);
		taken = 0;
	}
	unlock_streams(stream->streams);
	return taken;
}

struct MHD_Response *stream_response(struct http_stream *stream) {
	return mhd.from_callback(MHD_SIZE_UNKNOWN, 4096, take_stream_bytes, stream, NULL);
}

void stream_leave(struct http_stream *stream) {
	struct streams *const streams = stream->streams;
	lock_streams(streams);
	stream->watched = NULL;
	release_stream(stream);
	unlock_streams(streams);
}

enum http_sent http_stream_send(struct http_stream *stream, const void *bytes, size_t size) {
	enum http_sent sent = HTTP_SENT;
	lock_streams(stream->streams);
	if (!stream->watched || stream->cancelled) {
		sent = HTTP_GONE;
	} else if (size > STREAM_BYTES - stream->used) {
		if (!stream->full) stream->full = http_now();
		sent = HTTP_FULL;
	} else {
		put_bytes(stream, bytes, size);
	}
	unlock_streams(stream->streams);
	return sent;
}

void http_stream_end(struct http_stream *stream) {
	struct streams *const streams = stream->streams;
	lock_streams(streams);
	stream->ended = true;
	wake_receiver(stream);
	release_stream(stream);
	unlock_streams(streams);
}

/* Whether the receiver has closed its side, with bytes of its own before that or not. */
static bool has_hung_up(const struct http_stream *stream) {
	struct pollfd wire = {.fd = stream->watched->socket, .events = POLLRDHUP};
	return poll(&wire, 1, 0) == 1 && wire.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

void streams_tick(struct streams *streams) {
	lock_streams(streams);
	const double now = http_now();
	for (struct http_stream *stream = streams->first; stream; stream = stream->next) {
		if (!stream->watched || stream->cancelled) continue;
		const size_t room = STREAM_BYTES - stream->used;
		if (stream->full && now - stream->full > STREAM_FULL_S) {
			stream->cancelled = true;
			stream->watched->deadline = now;
		} else if (stream->asleep && now - stream->sent > HTTP_LEFT_S &&
		           has_hung_up(stream)) {
			// libmicrohttpd does not look at connections that are suspended. The place
			// is free for whoever comes again, such as all clients of a proxy.
			stream->cancelled = true;
			wake_receiver(stream);
		} else if (!stream->ended && now - stream->sent > STREAM_KEEP_S &&
		           room >= sizeof KEEP_ALIVE) {
			put_bytes(stream, KEEP_ALIVE, sizeof KEEP_ALIVE - 1);
		}
	}
	unlock_streams(streams);
}

void streams_revoke(struct streams *streams) {
	lock_streams(streams);
	for (struct http_stream *stream = streams->first; stream; stream = stream->next) {
		if (!stream->watched || !stream->watched->revoked) continue;
		stream->cancelled = true;
		sodium_memzero(stream->ring, sizeof stream->ring);
		stream->used = 0;
		wake_receiver(stream);
	}
	unlock_streams(streams);
}

void streams_cancel(struct streams *streams) {
	lock_streams(streams);
	for (struct http_stream *stream = streams->first; stream; stream = stream->next) {
		stream->cancelled = true;
		wake_receiver(stream);
	}
	unlock_streams(streams);
}

size_t streams_count(struct streams *streams) {
	lock_streams(streams);
	const size_t count = streams->count;
	unlock_streams(streams);
	return count;
}
