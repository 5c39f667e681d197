// SPDX-License-Identifier: Apache-2.0
// keys.h: the API keys of a server: who may ask, and as what.
//
// Called by serve/http*.c and by cuttle serve key. A key is "ID.SECRET"; the file has lines "ID
// ROLE HASH", never a secret. Roles: use, officer. Secrets pass through; they are never kept or
// logged. How: to check a key takes a tenth of a second and 64 MiB (Argon2id), on purpose. So
// keys_recall knows the keys that were right before, by a keyed hash that ends with the process;
// the disk thread calls keys_verify for others, and an unknown ID costs the same.
#ifndef CUTTLE_SERVE_KEYS_H
#define CUTTLE_SERVE_KEYS_H

#include "serve/http.h"

enum {
	KEYS_ID = 32,     /* bytes of an ID, [a-z0-9-], at most */
	KEYS_TOKEN = 128, /* bytes of "ID.SECRET", at most */
	KEYS_MOST = 1000  /* lines of a file */
};

struct keys;

/* Reads the file. `path` must outlive the keys.
 * USAGE: it is not this user's alone (file_open_secret). INPUT: it cannot be read, or a line is not
 * "ID ROLE HASH", or an ID stands twice. NOMEM. */
enum cuttle_status keys_open(const char *path, struct keys **keys, struct cuttle_error *error);
void keys_free(struct keys **keys);
/* Reads the file again; on failure the keys stay as they were. Any thread. */
enum cuttle_status keys_reload(struct keys *keys, struct cuttle_error *error);

/* Whether this token was right before, since the file was read. Any thread; quick. */
bool keys_recall(struct keys *keys, const char *token, char id[KEYS_ID + 1], enum http_role *role);
/* Whether this token is right. Slow; one thread at a time. */
bool keys_verify(struct keys *keys, const char *token, char id[KEYS_ID + 1], enum http_role *role);

/* Makes a key. A new file with its line behind the others takes the place of the old one, so that
 * nobody sees half a line, and on failure the old one stands. Processes that do so together wait for
 * each other. token gets the key, which stands nowhere else.
 * USAGE: the ID is no ID, or stands in the file already; another process keeps the file locked; as
 * keys_open. INTERNAL: no entropy, or the file cannot be written. NOMEM. */
enum cuttle_status keys_make(const char *path, const char *id, enum http_role role,
                             char token[KEYS_TOKEN + 1], struct cuttle_error *error);

#endif
