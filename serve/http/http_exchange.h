// SPDX-License-Identifier: Apache-2.0
// http_exchange.h: a request on its way, its connection, and the server, as serve/http/http*.c see
// them.
//
// Bodies stand here until their route has read them; then they are wiped.
// How: the HTTP thread owns an exchange, but while its connection is suspended. Then the thread
// that it waits for owns it, until http_wake.
#ifndef CUTTLE_SERVE_HTTP_HTTP_EXCHANGE_H
#define CUTTLE_SERVE_HTTP_HTTP_EXCHANGE_H

#include "serve/http/http.h"
#include "serve/http/keys.h"
#include "serve/http/listen.h"
#include "serve/http/mhd.h"
#include "serve/http/stream.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum {
	HTTP_ADDED_MOST = 4,           /* headers that a route may add to a reply */
	HTTP_PIECE = 256 << 10,        /* bytes of an upload that are passed on at once */
	HTTP_REQUEST_S = 10,           /* seconds for a whole request */
	HTTP_REPLY_S = 30,             /* seconds for a small reply to be taken */
	HTTP_LEFT_S = 2,               /* seconds for what somebody sent who has left */
	HTTP_RATE = 10 << 10,          /* bytes a second of an upload or a large reply, at least */
	HTTP_KEYS_WAITING = 8,         /* keys that wait to be hashed, at most */
	HTTP_HASHER_NICE = 10,         /* a tenth of a processor that others want */
	HTTP_ADDRESS_KEYS = 4,         /* of them of one address */
	HTTP_CONNECTIONS = 1280,       /* at once; most may be streams */
	HTTP_ADDRESS_CONNECTIONS = 32, /* of one address, at once; behind a proxy of one key */
	HTTP_ADDRESS_CROWD = 64,       /* the same with those that get a 429; others get nothing */
	HTTP_LEAVING = 64,             /* connections that were refused, and still send */
	HTTP_MEMORY =
	    2 * HTTP_HEADER_MOST, /* of a connection: headers, and what libmicrohttpd adds */
	HTTP_WAITERS = 64,        /* routes that wait, each with a thread, at once */
	HTTP_KEY_WAITERS = 8,     /* of one key */
	HTTP_KEPT_WAITERS = 16,   /* of all, kept for HTTP_RESERVED; half as many of a key */
	HTTP_LOG = 64 << 10,      /* bytes of log lines that wait to be written */
	HTTP_REQUEST_ID = 25,     /* bytes of a request's name: 24 hex digits and a NUL */
	HTTP_ADDRESS = 64         /* bytes of a client's address, with a NUL */
};

#define HTTP_LARGE_HEAD "the head of a request may have 64 headers and 16384 bytes"
_Static_assert(HTTP_HEADERS_MOST == 64 && HTTP_HEADER_MOST == 16384, "HTTP_LARGE_HEAD says so");

/* http_clock.c: monotonic seconds. */
double http_now(void);

struct http_reply {
	struct MHD_Response *response; /* owned; NULL = none yet */
	unsigned code;
	uint64_t size;              /* bytes of the body; 0 for a stream */
	struct http_stream *stream; /* the receiver's share; NULL = none */
	bool close;                 /* the connection ends with this reply */
	bool later;                 /* http_later was called */
	size_t added;               /* headers below */
	struct {
		char *name, *value; /* owned */
	} headers[HTTP_ADDED_MOST];
	struct http_exchange *exchange;
};

/* A connection, as the watch thread sees it. */
struct watched {
	struct watched *previous, *next; /* under the server's lock */
	struct http_server *server;
	struct http_exchange *exchange; /* of the request that is read or answered; NULL = none */
	int socket;
	bool crowd; /* its address had as many as it may have; under the server's lock */
	char address[HTTP_ADDRESS];
	struct keys_holder holder;          /* who asks now; "" = nobody. Under the server's lock */
	atomic_bool revoked;                /* a key that is gone has asked */
	atomic_bool uploading;              /* more of an upload is to come */
	_Atomic double deadline;            /* http_now() at which it is shut down; 0 = none */
	struct http_later *_Atomic waiting; /* the client is asked now and then whether it left */
};

enum http_phase {
	PHASE_NEW,     /* only the request line was read */
	PHASE_KEY,     /* the key is being hashed */
	PHASE_BODY,    /* the body is read */
	PHASE_REFUSED, /* the reply is there; what is left of the body is thrown away */
	PHASE_ANSWER,  /* another thread fills the reply */
	PHASE_SENT     /* the reply is queued */
};

enum http_work { WORK_KEY, WORK_BEGIN, WORK_PIECE, WORK_ANSWER, WORK_DROP };

/* A socket that libmicrohttpd has closed, and whose client may still be sending. Were it closed for
 * good, the system would answer those bytes with a reset, on which a client loses the reply that
 * it has not read yet. */
struct leaving {
	int socket;   /* a copy, owned */
	double until; /* http_now() at which it is closed; 0 = the place is free */
};

/* A reply that is given later: the exchange itself, and whether its client has left. */
struct http_later {
	struct http_exchange *exchange;
	atomic_bool gone;
};

struct http_exchange {
	struct http_server *server;
	struct MHD_Connection *connection;
	struct watched *watched;
	const char *uri; /* as it came, within libmicrohttpd's buffer */
	char *target;    /* a copy of it; owned */
	char *path;      /* the same without its query; owned */
	enum http_phase phase;
	const struct http_route *route; /* NULL = none was found */
	const struct http_table *table;
	char id[HTTP_ID_MOST + 1];
	struct keys_holder *holder;    /* owned where the server has keys, else `everybody` */
	bool key_right;                /* what WORK_KEY found */
	char address[HTTP_ADDRESS];    /* of the client, also behind a proxy */
	char request[HTTP_REQUEST_ID]; /* its name, in the reply and in the audit trail */

	char *body; /* [capacity] owned; JSON, or what waits to be passed on */
	size_t size, capacity;
	uint64_t received;  /* bytes of the body so far, thrown away or not */
	uint64_t announced; /* Content-Length, 0 = none */
	bool chunked;
	bool coded; /* the body has a Content-Encoding */
	bool too_large;
	double begun; /* http_now() when the body was first asked for */
	json_t *json;

	void *upload;     /* the route's; NULL = none */
	bool heads_again; /* the call behind WORK_BEGIN is that for the headers, repeated */
	bool uploading;   /* `begin` succeeded, and neither `answer` nor `drop` was called */
	bool piece_refused;

	struct http_reply reply;
	struct http_later later;
	enum http_work work;
	struct http_exchange *next; /* in the queue of a thread */
};

/* How often a route was answered with a code. */
struct http_count {
	const struct http_route *route; /* NULL = none */
	unsigned code;
	uint64_t count;
};

/* A thread of its own for a route that waits. */
struct http_waiter {
	struct http_exchange *exchange;
	char key[KEYS_ID + 1]; /* the exchange may be gone before this ends */
	struct http_waiter *next;
};

/* A thread, and what waits for it. */
struct http_line {
	struct http_server *server;
	struct http_exchange *first, *last;
	struct http_exchange *now; /* whose key is hashed, of the hasher; NULL = none */
	pthread_cond_t wake;
	pthread_t thread;
	bool runs; /* it was made */
};

struct http_server {
	struct http_params params;
	struct http_table *tables; /* [table_count] the server's own first */
	size_t table_count;
	struct MHD_Daemon *daemon;
	struct streams *streams;
	atomic_bool stopping;
	atomic_size_t open; /* exchanges */

	pthread_mutex_t lock; /* of the lists here */
	struct watched *connections;
	struct http_line disk;   /* slow routes and uploads */
	struct http_line hasher; /* keys that were not right before */
	struct leaving leaving[HTTP_LEAVING];
	char log[HTTP_LOG];
	size_t logged;
	bool ending; /* all threads end once nothing is to do */
	struct http_waiter *waiters;
	pthread_cond_t finished; /* the last of them has ended */

	bool has_watch; /* the thread runs */
	pthread_t watch;

	char name[13]; /* hex digits, of this process alone; the names of requests begin so */
	struct keys_holder everybody; /* who asks where no keys are: an officer without a name */

	// The HTTP thread's alone.
	uint64_t begun; /* requests */
	struct http_count *counts;
	size_t count_number;
};

/* http_work.c: hands the exchange to the thread for it, or one of its own; its connection is
 * suspended. Where that thread has ended, the reply is a 503 at once. Where too many wait it is a
 * 429. */
void http_hand_over(struct http_exchange *x, enum http_work work);
/* Suspends the connection, and resumes it. Whoever calls http_wake must not touch x afterwards. */
void http_sleep(struct http_exchange *x);
void http_wake(struct http_exchange *x);
void http_exchange_free(struct http_exchange *x);
/* Takes what waits in a line until the server ends. */
void *http_line_thread(void *line);
/* Whether one more key may wait to be hashed, of all and of this address. */
bool http_key_has_place(const struct http_exchange *x);
/* Whether an address has as many connections as it may have. The lock is held. */
bool http_address_is_full(const struct http_server *server, const char *address);

/* http_refuse.c: takes what still comes from those who were refused; at the end closes all. The
 * lock is held. */
void http_see_off(struct http_server *server, double now);

/* http_request.c: the first look at a request: it sets phase BODY, KEY or REFUSED. */
void http_judge(struct http_exchange *x, const char *method, const char *version);
/* What follows once the key was hashed. */
void http_judge_key(struct http_exchange *x);

/* http_watch.c */
void *http_watch_thread(void *server);
void http_log(struct http_server *server, const struct http_exchange *x);

/* http_state.c: /health, /ready and /metrics; its user is the server. */
extern const struct http_table http_state_table;
void http_count(struct http_server *server, const struct http_route *route, unsigned code);

/* http_reply.c: gives the next request its name. */
void http_name_request(struct http_server *server, char name[HTTP_REQUEST_ID]);
/* Sends the reply, on the HTTP thread. */
enum MHD_Result http_send(struct http_exchange *x);
/* The watch thread no longer looks whether the client of a later reply has left. */
void http_forget_later(struct http_exchange *x);
struct http_call http_call_of(struct http_exchange *x);

#endif
