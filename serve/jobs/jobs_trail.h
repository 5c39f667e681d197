// SPDX-License-Identifier: Apache-2.0
// jobs_trail.h: what the audit trail says of private jobs, STATE/trail.jsonl, and when it says it.
//
// No word of a text and no count of records goes into an entry. Of an upload it has a keyed hash
// (STATE/trail.key), since a plain one would let whoever reads the trail test a guess of a text,
// and its size as the next power of two. What the queue does by itself has no time, as in the
// ledger: it would tell how long the references are.
//
// The order. An entry and what it tells of are one step of one file: the list of jobs, jobs.db.
// Then the entry is appended to the trail, then the list notes that it is there, then the request
// is answered. Wherever a kill comes, the entry is there once:
//
//     before the commit          neither the job has changed nor is there an entry
//     behind the commit          the list has both; the next server appends the entry
//     half a line was appended   the same: the list says what the whole line is
//     behind the append          the trail has the entry, and the list knows its hash, so that it
//                                is not appended again
//
// The list comes first, since it can take back a step and the trail cannot. Where the trail cannot
// be written, the list still has the entry. But nothing more is done before it is in the trail: a
// disk that is full refuses the next request, and loses nothing.
//
// The events: serve_begin, serve_end, trail_restored, ledger_restored; key_add, key_change,
// key_remove; of a job create, upload, start, cancel, fetch, remove, and end, once for each job
// that has ended.
#ifndef CUTTLE_SERVE_JOBS_JOBS_TRAIL_H
#define CUTTLE_SERVE_JOBS_JOBS_TRAIL_H

#include "serve/http/keys.h"
#include "serve/jobs/jobs_state.h"

enum {
	JOBS_ADDRESS = 64, /* bytes of a client's address, with its NUL */
	JOBS_REQUEST = 64  /* of the name of a request */
};

struct jobs_event {
	const char *name;                 /* "start" */
	const struct jobs_caller *caller; /* who asked; NULL = the server itself */
	const struct job *job;            /* NULL = it is about none */
	json_t *more;                     /* further members; taken; NULL = none */
};

/* All want the lock held. PARTIAL: the disk is full. INTERNAL: the trail or the list cannot be
 * used. NOMEM. */

/* Checks the trail, writes what waits, and tells that the server begins. LEDGER: the trail is not
 * as it was left; where the options say that it was put back, it goes on from what is there. */
enum cuttle_status jobs_trail_open(struct jobs *jobs, struct cuttle_error *error);
void jobs_trail_close(struct jobs *jobs);

/* A step of the list that has entries: begin, changes of the list and entries in any order, end.
 * With another status than OK jobs_trail_end undoes the step, and returns that status. */
enum cuttle_status jobs_trail_begin(struct jobs *jobs, struct cuttle_error *error);
enum cuttle_status jobs_trail_add(struct jobs *jobs, const struct jobs_event *event,
                                  struct cuttle_error *error);
enum cuttle_status jobs_trail_end(struct jobs *jobs, enum cuttle_status status,
                                  struct cuttle_error *error);
/* A step that is nothing but an entry. */
enum cuttle_status jobs_trail_tell(struct jobs *jobs, const struct jobs_event *event,
                                   struct cuttle_error *error);

/* A caller as a copy, for what takes longer than a call. */
struct jobs_who {
	char key[KEYS_OWNER + 1];
	char address[JOBS_ADDRESS];
	char request[JOBS_REQUEST];
	struct jobs_caller caller; /* its strings are those above */
};
void jobs_who_keep(struct jobs_who *who, const struct jobs_caller *caller);

/* The keyed hash of an upload, as it arrives. */
struct jobs_mark {
	crypto_auth_hmacsha256_state state;
	uint64_t size; /* bytes so far */
};
void jobs_mark_begin(const struct jobs *jobs, struct jobs_mark *mark);
void jobs_mark_add(struct jobs_mark *mark, const void *bytes, size_t size);
/* {"hmac_sha256":"..","bytes_at_most":65536,"kept":true}. NULL: no memory. */
json_t *jobs_mark_end(struct jobs_mark *mark, bool kept);

#endif
