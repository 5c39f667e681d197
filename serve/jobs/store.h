// SPDX-License-Identifier: Apache-2.0
// store.h: the list of private jobs, in an SQLite file that survives the server.
//
// The caller holds the lock of the jobs (jobs_state.h). The list has public parameters alone: no
// text, no token, no key, and no time but that of the request, as durations would tell how long
// references are. For example:
//
//     status = store_open("STATE/jobs.db", &store, error);
//     status = store_add(store, &job, error);
//     status = store_walk(store, &(struct store_filter){.id = id}, each, user, error);
//
// The same file has the newest entries of the audit trail (serve/jobs/jobs_trail.h), so that a job
// and the entry that tells of it change in one step, and the keys that the trail has told of.
//
// A job's states, and what moves it on:
//
//     awaiting_references -> queued     it is started
//     queued -> running                 its turn has come
//     running -> queued                 the server ended; the next one continues from its journal
//     running -> done | failed | cancelled
//
// Errors of every call: INTERNAL: the file cannot be used. PARTIAL: its disk is full. NOMEM.
#ifndef CUTTLE_SERVE_JOBS_STORE_H
#define CUTTLE_SERVE_JOBS_STORE_H

#include "engine/cuttle/status.h"

enum store_state {
	STORE_AWAITING,
	STORE_QUEUED,
	STORE_RUNNING,
	STORE_DONE,
	STORE_FAILED,
	STORE_CANCELLED,
	STORE_STATES
};
/* "awaiting_references" ... "cancelled". */
const char *store_state_name(enum store_state state);
/* Whether a job in it will not change any more. */
bool store_state_ended(enum store_state state);

enum { STORE_ID = 31 }; /* bytes of an id: "job_", 26 of a-z and 2-7, and a NUL */

/* The failure of a job that runs and is to end: store_recover takes it for cancelled. */
#define STORE_CANCELLING "cancelling"

struct store_job {
	char id[STORE_ID];
	enum store_state state;
	const char *type;        /* "generate" or "sanitize" */
	const char *spec;        /* JSON: the request as it came, and what it was told */
	const char *fingerprint; /* of the command; "" = not known yet */
	const char *dataset;     /* the ledger's name of the references */
	const char *run;         /* the ledger's name of the charge; "" = none is known */
	const char *owner;       /* the key that made it, "ID#MARK"; "" = there are no keys */
	const char *idempotency; /* the key of its request, one of its owner */
	const char *failure;     /* code of a failed job, or STORE_CANCELLING; else "" */
	int64_t attempts;        /* times that its command has ended without an answer */
	int64_t place;           /* in its owner's queue, the least comes first; 0 = never in it */
	int64_t created;         /* seconds since 1970 */
};

struct store;
/* Makes the file with mode 0600 when there is none. */
enum cuttle_status store_open(const char *path, struct store **store, struct cuttle_error *error);
/* The handle may be NULL; it is set to NULL. */
void store_close(struct store **store);

/* What is done between these two is done whole or not at all. With another status than OK store_end
 * undoes it and returns that status. */
enum cuttle_status store_begin(struct store *store, struct cuttle_error *error);
enum cuttle_status store_end(struct store *store, enum cuttle_status status,
                             struct cuttle_error *error);

/* Makes an id that no job has. */
void store_name(char id[STORE_ID]);
/* Adds a job. Strings are copied. */
enum cuttle_status store_add(struct store *store, const struct store_job *job,
                             struct cuttle_error *error);
/* Writes what may change of a job: state, spec, fingerprint, run, failure, attempts, place. */
enum cuttle_status store_change(struct store *store, const struct store_job *job,
                                struct cuttle_error *error);
enum cuttle_status store_remove(struct store *store, const char *id, struct cuttle_error *error);
/* Jobs whose owner is an ID without a mark, as older servers wrote it, become the owner's. */
enum cuttle_status store_adopt(struct store *store, const char *id, const char *owner,
                               struct cuttle_error *error);
/* Those that are left become nobody's: their ID gets the mark that no key has, "". */
enum cuttle_status store_disown(struct store *store, struct cuttle_error *error);
/* What a server does first: jobs that were running when the last one ended are queued again. */
enum cuttle_status store_recover(struct store *store, struct cuttle_error *error);
/* The job whose turn it is: of the queued ones, that of the owner who had a turn longest ago, or
 * never; of an owner's, the one with the least place. "" = none is queued. */
enum cuttle_status store_next(struct store *store, char id[STORE_ID], struct cuttle_error *error);
/* The owner has had its turn. */
enum cuttle_status store_turn(struct store *store, const char *owner, struct cuttle_error *error);
/* The place behind all others in the queue. */
enum cuttle_status store_last_place(struct store *store, int64_t *place,
                                    struct cuttle_error *error);

/* Which jobs are meant; NULL or STORE_STATES = all. */
struct store_filter {
	const char *id;
	const char *owner;
	const char *idempotency;
	enum store_state state;
};
/* Passes the jobs to `each`, in the order of the queue, then in that in which they were made. A
 * job's strings are valid during that call. A nonzero answer ends the walk and is returned. */
enum cuttle_status store_walk(struct store *store, const struct store_filter *filter,
                              enum cuttle_status (*each)(void *user, const struct store_job *job),
                              void *user, struct cuttle_error *error);

/* ---- the audit trail ------------------------------------------------------------------------- */

struct store_entry {
	int64_t number;   /* of the entry: 1, 2, 3 ... */
	bool written;     /* the trail's file has it */
	const char *line; /* with its newline */
};
enum cuttle_status store_trail_add(struct store *store, int64_t number, const char *line,
                                   struct cuttle_error *error);
/* The file has all entries up to `number`. The last one stays, to be looked for. */
enum cuttle_status store_trail_written(struct store *store, int64_t number,
                                       struct cuttle_error *error);
/* Forgets all entries. */
enum cuttle_status store_trail_forget(struct store *store, struct cuttle_error *error);
/* Passes the entries that are kept to `each`, in order, as store_walk does. */
enum cuttle_status store_trail_walk(struct store *store,
                                    enum cuttle_status (*each)(void *user,
                                                               const struct store_entry *entry),
                                    void *user, struct cuttle_error *error);
/* The same of a file that a server may have open. One that is not there, or that has no trail yet,
 * has no entries. */
enum cuttle_status store_trail_peek(const char *path,
                                    enum cuttle_status (*each)(void *user,
                                                               const struct store_entry *entry),
                                    void *user, struct cuttle_error *error);

/* The keys that the trail has told of: owner "ID#MARK", and what it may. `may` NULL: it may nothing
 * any more. */
enum cuttle_status store_key_put(struct store *store, const char *owner, const char *may,
                                 struct cuttle_error *error);
enum cuttle_status store_key_walk(struct store *store,
                                  enum cuttle_status (*each)(void *user, const char *owner,
                                                             const char *may),
                                  void *user, struct cuttle_error *error);

#endif
