// SPDX-License-Identifier: Apache-2.0
// keys.h: the API keys of a server: who may ask, and as what.
//
// A key is "ID.SECRET"; the file has lines "ID ROLE HASH [DATASET]...", never a secret. Roles: use,
// officer, metrics, admin. A line without data sets is for all of them. In a name, what would end a
// word is as in a URL: "ward%207".
// Secrets pass through; they are never kept or logged. How: to check a key takes a tenth of a
// second and 64 MiB (Argon2id), on purpose. So keys_recall knows the keys that were right before,
// by a keyed hash that ends with the process; the hasher calls keys_verify for others, and an
// unknown ID costs the same.
#ifndef CUTTLE_SERVE_HTTP_KEYS_H
#define CUTTLE_SERVE_HTTP_KEYS_H

#include "serve/http/http.h"

enum {
	KEYS_ID = 32,   /* bytes of an ID, [a-z0-9-], at most */
	KEYS_MARK = 16, /* hex digits that tell keys of one ID apart */
	KEYS_OWNER = KEYS_ID + 1 + KEYS_MARK,
	KEYS_DATASETS = 1024, /* bytes of a key's data sets as the file has them, with a NUL */
	KEYS_TOKEN = 128,     /* bytes of "ID.SECRET", at most */
	KEYS_MOST = 1000      /* lines of a file */
};

struct keys;

/* A key that was right. */
struct keys_holder {
	char id[KEYS_ID + 1];
	/* "ID#MARK": what belongs to a key belongs to this. Another key that is later made with the
	 * same ID has another mark. */
	char owner[KEYS_OWNER + 1];
	enum http_role role;
	char datasets[KEYS_DATASETS]; /* that it may use, "notes letters"; "" = all */
};

/* Adds a name to a list as in keys_holder. False: the name is empty, or the list is full. */
bool keys_add_dataset(char datasets[KEYS_DATASETS], const char *name);
/* Whether the list has the name, or is for all; NULL is for all. */
bool keys_has_dataset(const char *datasets, const char *name);

/* Reads the file. `path` must outlive the keys.
 * USAGE: it is not this user's alone (file_open_secret). INPUT: it cannot be read, or a line is not
 * "ID ROLE HASH", or an ID stands twice. NOMEM. */
enum cuttle_status keys_open(const char *path, struct keys **keys, struct cuttle_error *error);
void keys_free(struct keys **keys);
/* Reads the file again; on failure the keys stay as they were. Any thread. */
enum cuttle_status keys_reload(struct keys *keys, struct cuttle_error *error);

/* Whether this token was right before, since the file was read. Any thread; quick. */
bool keys_recall(struct keys *keys, const char *token, struct keys_holder *holder);
/* Whether this token was found wrong, since the file was read. Of the last few alone; quick. */
bool keys_wrong(struct keys *keys, const char *token);
/* Whether this token is right. Slow; one thread at a time. */
bool keys_verify(struct keys *keys, const char *token, struct keys_holder *holder);
/* Whether the file, as it was last read, still has this key, and it may what it might. Any thread;
 * quick. */
bool keys_hold(struct keys *keys, const struct keys_holder *holder);
/* The holder of line `at` of the file, from 0 on. False: there are not so many. */
bool keys_at(struct keys *keys, size_t at, struct keys_holder *holder);

/* Makes a key. A new file with its line behind the others takes the place of the old one, so that
 * nobody sees half a line, and on failure the old one stands. Processes that do so together wait
 * for each other. The key and a line break go to the descriptor `out`, and nowhere else; where that
 * fails, the old file stands. USAGE: the ID is no ID, or stands in the file already; another
 * process keeps the file locked; as keys_open. INTERNAL: no entropy, or the key or the file cannot
 * be written. NOMEM. `datasets` is as in keys_holder. */
enum cuttle_status keys_make(const char *path, const char *id, enum http_role role,
                             const char *datasets, int out, struct cuttle_error *error);
/* Takes the line of a key out of the file, likewise. *found: there was one. INPUT: the file will
 * not do, and stands as it was. */
enum cuttle_status keys_drop(const char *path, const char *id, bool *found,
                             struct cuttle_error *error);
/* The path of the file. */
const char *keys_place(const struct keys *keys);

#endif
