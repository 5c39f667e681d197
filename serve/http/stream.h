// SPDX-License-Identifier: Apache-2.0
// stream.h: the streams of events of one server: 64 KiB each between sender and receiver.
//
// Senders use http_events and http_stream_* of http.h. What is streamed passes through, and is
// wiped behind the receiver's back.
#ifndef CUTTLE_SERVE_HTTP_STREAM_H
#define CUTTLE_SERVE_HTTP_STREAM_H

#include "serve/http/http.h"
#include "serve/http/mhd.h"

enum {
	STREAM_MOST = 1088,      /* streams at once: 1,024 of jobs, and 64 of completions */
	STREAM_BYTES = 64 << 10, /* between sender and receiver */
	STREAM_KEEP_S = 10,      /* seconds without a byte, after which a keep-alive is sent */
	STREAM_FULL_S = 30       /* seconds that a stream may be full */
};

struct streams;
struct watched;

/* NULL: no memory. */
struct streams *streams_new(void);
/* All senders and receivers must have ended. *streams may be NULL. */
void streams_free(struct streams **streams);

/* Opens a stream with two owners. NULL: STREAM_MOST are open, or there is no memory. */
struct http_stream *stream_open(struct streams *streams, struct MHD_Connection *connection,
                                struct watched *watched);
/* The response that hands out the stream's bytes. NULL: no memory. */
struct MHD_Response *stream_response(struct http_stream *stream);
/* The receiver has ended. */
void stream_leave(struct http_stream *stream);

/* Called every second or so: keep-alives; a stream that was full for too long is cancelled, and its
 * connection is shut down. */
void streams_tick(struct streams *streams);
/* Cancels the streams whose connection is revoked; what is in them is wiped. */
void streams_revoke(struct streams *streams);
/* Cancels all streams: their receivers get the end. */
void streams_cancel(struct streams *streams);
size_t streams_count(struct streams *streams);

#endif
