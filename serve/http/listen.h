// SPDX-License-Identifier: Apache-2.0
// listen.h: where a server listens, and by which names clients may call it.
//
// Sockets are opened before the server starts. No private data. Addresses: "HOST:PORT",
// "unix:PATH", or the one socket that systemd hands over (LISTEN_FDS). Anybody could connect to an
// address that is neither loopback nor a Unix socket, so those need TLS and keys.
#ifndef CUTTLE_SERVE_HTTP_LISTEN_H
#define CUTTLE_SERVE_HTTP_LISTEN_H

#include "engine/cuttle/status.h"

#define LISTEN_DEFAULT "127.0.0.1:8080"
#define LISTEN_UNIX "unix:"

enum {
	LISTEN_NAMES = 24, /* names, at most */
	LISTEN_OWN = 4     /* of them its address, and those of the loopback */
};

struct listen_request {
	const char *address;      /* NULL = systemd's socket, else LISTEN_DEFAULT */
	const char *certificate;  /* PEM file; NULL = no TLS */
	const char *secret;       /* PEM file of its key; NULL = no TLS */
	const char *const *names; /* [name_count] NAME or NAME:PORT that clients may use, too */
	size_t name_count;
	bool keys; /* clients need a key */
};

struct listening {
	int socket;
	bool tls;
	char *certificate; /* PEM text, owned; NULL = no TLS */
	char *secret;      /* the same */
	char *path;        /* of a Unix socket that we made; removed at the end; owned; or NULL */
	char shown[160];   /* "http://127.0.0.1:8080" */
	char *names[LISTEN_NAMES]; /* without ports, owned; none for a Unix socket */
	size_t name_count;
};

/* Opens the socket. listen_close frees all.
 * USAGE: the address is none, is in use, or needs TLS and keys; only one of certificate and key is
 * given; the key is not this user's alone (file_open_secret). INPUT: one of them cannot be read.
 * NOMEM. On failure nothing is owned. */
enum cuttle_status listen_open(const struct listen_request *request, struct listening *listening,
                               struct cuttle_error *error);
/* Reads what --tls-cert and --tls-key name. The caller frees the first, and the second by
 * secrecy_free. Both are NULL on failure, and without TLS. As listen_open. */
enum cuttle_status listen_read_tls(const struct listen_request *request, char **certificate,
                                   char **secret, struct cuttle_error *error);
void listen_close(struct listening *listening);

#endif
