// SPDX-License-Identifier: Apache-2.0
// trail.h: the audit trail's file: one line of JSON for each thing that somebody did. It only
// grows.
//
// No text, no token and no count of records passes through. Each line holds the hash of the line
// before it, so whoever changes, moves or takes out one has to write all later ones anew:
//
//     {"number":1,"previous":"0000...",...,"hash":"5f3c..."}
//     {"number":2,"previous":"5f3c...",...,"hash":"91aa..."}
//
// The hash is SHA-256 of the line up to `,"hash"`, with "}" behind it. Lines that are cut off at
// the end leave no such trace. Against that the server keeps its newest entry in jobs.db, too
// (serve/jobs/store.h), and whoever audits keeps a hash elsewhere. With a key, the line's last
// member "signature" is that of "cuttle-trail HASH", which covers all lines before it.
// serve/jobs/jobs_trail.h says what is written, and when.
#ifndef CUTTLE_SERVE_JOBS_TRAIL_H
#define CUTTLE_SERVE_JOBS_TRAIL_H

#include "io/disk/hash.h"
#include "io/disk/signature.h"
#include <jansson.h>
#include <sys/types.h>

/* An entry's place in the chain. */
struct trail_head {
	uint64_t number;      /* 1, 2, 3 ...; 0 = there is no entry yet */
	char hash[HASH_TEXT]; /* of no entry: 64 zeros */
};

/* Before the first entry. */
struct trail_head trail_none(void);
/* Makes the line of the entry behind *head, which becomes the new one's. Takes members. The signer
 * may be NULL. *size counts the newline; a NUL follows. The caller frees it. NULL: out of memory.
 */
char *trail_line(struct trail_head *head, json_t *members, const struct signature_key *signer,
                 size_t *size);

/* Copies the hash that a line says it has. False: it says none. */
bool trail_hash(const char *line, size_t size, char hash[HASH_TEXT]);

/* What a walk has found. */
struct trail_end {
	struct trail_head head; /* of the last whole line */
	off_t size;             /* bytes of all whole lines */
	char *torn; /* [torn_size] bytes behind them; owned by the caller; NULL = none */
	size_t torn_size;
	char signature[SIGNATURE_TEXT]; /* of the last line; "" = it is not signed */
};
/* Checks that a line, whole and with its NUL behind it, follows the last one, and takes it as the
 * last. `path` is for the message. LEDGER: it does not, or was changed. */
enum cuttle_status trail_take(struct trail_end *end, const char *path, const char *line,
                              size_t size, struct cuttle_error *error);
/* Checks each line, and passes its place on; `each` may be NULL, and a nonzero answer ends the walk
 * and is returned. A file that is not there has no lines.
 * LEDGER: a line was changed, taken out or moved, and the message says which. INTERNAL: the file
 * cannot be read. NOMEM. Then *end has nothing to free. */
enum cuttle_status trail_walk(const char *path,
                              enum cuttle_status (*each)(void *user, const struct trail_head *head,
                                                         struct cuttle_error *error),
                              void *user, struct trail_end *end, struct cuttle_error *error);
/* Whether the signature of a walk's last line is this key's. */
bool trail_signed(const struct trail_end *end, const char *public_key);

/* The file, open to append. */
struct trail;
/* Makes the file, with mode 0600, where there is none. Bytes behind the first `size` are cut off:
 * half a line that a kill left. INTERNAL, NOMEM. */
enum cuttle_status trail_open(const char *path, off_t size, struct trail **trail,
                              struct cuttle_error *error);
/* Appends whole lines; they are on the disk when it returns. On failure none of them is there.
 * PARTIAL: the disk is full. INTERNAL: the file is not the one that was opened, or not as it was
 * left, or cannot be written. */
enum cuttle_status trail_append(struct trail *trail, const char *lines, size_t size,
                                struct cuttle_error *error);
/* The handle may be NULL; it is set to NULL. */
void trail_close(struct trail **trail);

#endif
