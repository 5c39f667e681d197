// SPDX-License-Identifier: Apache-2.0
// replies.h: the replies of a run, kept in a file, so that a stopped run asks for no text twice.
//
// Replies to perturbed words pass through: no private data, yet the file has mode 0600. Each reply
// is on the disk before anybody uses it. An example:
//
//     {"cuttle-replies":1,"fingerprint":"64 hex digits","sent":"64 hex digits"}
//     {"index":0,"text":"Once","finish":"stop","check":"4f5d0c2ab19e7386"}
//     {"index":2,"text":"Then","finish":"length","check":"90ab31c4d5e6f708"}
//
// Here the reply to request 1 is missing. The check is SipHash-2-4 of the line without it, keyed
// with a hash of the first line. A torn end (no newline, or a wrong check) is cut off: its request
// is sent again, the same bytes.
#ifndef CUTTLE_IO_REMOTE_REPLIES_H
#define CUTTLE_IO_REMOTE_REPLIES_H

#include "io/disk/hash.h"
#include "io/remote/reply.h"

/* Whose replies they are. Both strings have 64 hex digits. */
struct replies_owner {
	const char *fingerprint; /* of the command (io/receipts/receipt.h) */
	const char *sent;        /* SHA-256 of all request bodies, one after the other */
};

struct replies;

/* Opens or creates the file, locks it for this process and reads it. With `overwrite` a file of
 * another run, or a damaged one, is emptied first.
 * USAGE: the file is of another run, or somebody's that is none of cuttle (refused whatever
 * `overwrite` says); it cannot be created; another process holds it. INPUT: it is damaged: a wrong
 * line before a right one, an index twice or not below `count`; or it cannot be read. PARTIAL: its
 * first line cannot be written. NOMEM. On failure *replies is NULL. */
enum cuttle_status replies_open(const char *path, const struct replies_owner *owner, size_t count,
                                bool overwrite, struct replies **replies,
                                struct cuttle_error *error);
/* The reply to request `index` < count, or NULL when there is none yet. It has text, size and
 * finish; the service's counts are not kept. Valid until replies_close. */
const struct reply *replies_get(const struct replies *replies, size_t index);
/* Writes the reply to a request that has none yet, and syncs. Then replies_get gives a copy of it.
 * PARTIAL: it cannot be written; the same command continues. NOMEM. */
enum cuttle_status replies_keep(struct replies *replies, size_t index, const struct reply *reply,
                                struct cuttle_error *error);
/* Unlinks the file; the lock is held until replies_close. Returns 0 or the errno. */
int replies_remove(struct replies *replies);
/* Frees, gives up the lock, and sets the handle to NULL. The file stays. NULL handles are fine. */
void replies_close(struct replies **replies);

#endif
