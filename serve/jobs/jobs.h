// SPDX-License-Identifier: Apache-2.0
// jobs.h: private jobs: from a request over references, a budget and a queue to a result.
//
// PRIVATE references pass through, into the vault (vault.h) and out of it into a process
// (runner.h), a piece at a time.
//
//     jobs_create   a request is checked, and the command says what it will promise and cost
//     jobs_upload_* the references arrive, and the command says whether they will do
//     jobs_start    it fits into what the ledger has left, and waits for its turn
//     (the queue)   the command charges the ledger, draws and writes; jobs_follow tells how far
//     jobs_file     its results and receipt: the very bytes of the command
//
// Why the command, and not this process: see runner.h. A private job differs from the plan of one
// engine thread for all that was made first: the engine thread is for plain texts alone.
//
// Errors are HTTP's: a struct jobs_fault. Where a function returns false, it is filled.
#ifndef CUTTLE_SERVE_JOBS_JOBS_H
#define CUTTLE_SERVE_JOBS_JOBS_H

#include "engine/cuttle/status.h"
#include <jansson.h>

struct jobs_options {
	const char *state;    /* folder that is this server's alone; made with mode 0700 */
	const char *runtime;  /* folder in memory for keys; NULL = $RUNTIME_DIRECTORY, else
	                         /run/user/UID/cuttle */
	const char *ledger;   /* the ledger that jobs are charged in */
	const char *model;    /* GGUF file */
	const char *sign;     /* secret key that signs receipts and the audit trail; NULL = none */
	const char *program;  /* the command; NULL = this one, /proc/self/exe */
	uint64_t threads;     /* of a job; 0 = as the command does */
	const char *kv_type;  /* of a job's contexts; NULL = as the command does */
	uint64_t seed;        /* for tests: --insecure-seed of each job; UINT64_MAX = private */
	uint64_t queue;       /* most jobs that wait or run, half of them of one key; 0 = 64 */
	uint64_t key_jobs;    /* most jobs of one key in the list; 0 = 4096 */
	uint64_t key_waiting; /* most of them that were not started; 0 = 256 */
	uint64_t key_bytes;   /* most bytes of references of their jobs; 0 = 16 GiB */
	unsigned patience;   /* seconds that the command gets to say what a job would be; 0 = 300 */
	bool approval;       /* officers alone may start jobs */
	bool restored;       /* the ledger may lack entries: it was put back from a backup */
	bool trail_restored; /* and so may the audit trail, STATE/trail.jsonl */
	const char *trail_copy; /* a file that gets the same lines, "-" = standard output; NULL =
	                           none */
	/* Called whenever a command that reads references begins or has ended, and told whether
	 * one runs still. May not block, nor call jobs_*. NULL = not. */
	void (*busy)(void *user, bool busy);
	void *user;
};

struct jobs;
/* Reads the list of jobs, wipes what nobody needs any more, and starts the queue. USAGE: a folder
 * cannot be made or is another server's; no ledger. LEDGER, also where the audit trail was changed
 * or cut. Where the ledger lacks entries that this server has seen, and it is not `restored`,
 * nothing is charged before jobs_gap_confirm. INTERNAL, NOMEM. */
enum cuttle_status jobs_open(const struct jobs_options *options, struct jobs **jobs,
                             struct cuttle_error *error);
/* The job that runs stops in order, within 10 s, and will continue with the next server. It takes
 * longer, up to the ledger's 30 s, while somebody else holds the ledger. Streams of jobs_follow
 * end. Other functions still answer, until jobs_close. */
void jobs_stop(struct jobs *jobs);
/* Stops and frees. The handle may be NULL; it is set to NULL. */
void jobs_close(struct jobs **jobs);

/* Jobs of a state folder that named their owner by the ID of a key alone become those of the key
 * that has this ID now, or nobody's. So a key that is made later with an old ID gets none. To be
 * called once behind jobs_open, where the server has keys. INTERNAL, PARTIAL, NOMEM. */
struct keys;
enum cuttle_status jobs_adopt(struct jobs *jobs, struct keys *keys, struct cuttle_error *error);
/* Tells the audit trail which keys came, went or may something else since it was last told. `keys`
 * may be NULL: there are none. `caller` is who changed the key `changed`; all else was changed
 * by somebody, in the file. Both may be NULL. PARTIAL, INTERNAL, NOMEM: what was not told will be,
 * the next time. */
struct jobs_caller;
enum cuttle_status jobs_note_keys(struct jobs *jobs, struct keys *keys,
                                  const struct jobs_caller *caller, const char *changed,
                                  struct cuttle_error *error);
/* Whether private jobs can be served: NULL, or "no_ledger", "ledger_restored", "no_model",
 * "disk_full" or "no_trail". Adds the members ledger, model, disk and trail to `parts`. It
 * never waits. */
const char *jobs_ready(const struct jobs *jobs, json_t *parts);

/* Who asks. */
struct jobs_caller {
	const char *key;      /* whose the jobs are: "ID#MARK" of keys.h; "" = there are no keys */
	bool officer;         /* may see and end the jobs of all, and start them under --approval */
	const char *role;     /* as the audit trail has it; NULL = as `officer` says */
	const char *datasets; /* that it may use and see: keys.h; NULL = all */
	/* Of jobs_start: the member "approval" of the job as the caller has seen it; NULL = it does
	 * not say. */
	const char *approval;
	/* For the audit trail, both may be NULL: */
	const char *address; /* of the client */
	const char *request; /* the name of the request */
};
/* Why something is refused. */
struct jobs_fault {
	unsigned status;   /* of HTTP: 403 */
	const char *code;  /* "insufficient_privacy_budget" */
	char param[64];    /* member of the request; "" = none */
	char message[400]; /* one line; nothing private */
};

/* POST /v1/jobs. The same idempotency key and request give the same job, *created false. With
 * "dry_run" nothing is kept, and the key may be NULL. The caller owns *document. */
bool jobs_create(struct jobs *jobs, const struct jobs_caller *caller, const char *idempotency,
                 const json_t *request, json_t **document, bool *created, struct jobs_fault *fault);
/* GET /v1/jobs/ID. 404 for the jobs of others. */
bool jobs_get(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
              json_t **document, struct jobs_fault *fault);
/* GET /v1/jobs: without budgets. */
bool jobs_list(struct jobs *jobs, const struct jobs_caller *caller, json_t **document,
               struct jobs_fault *fault);

/* PUT /v1/jobs/ID/references, in pieces. What arrived before is replaced. jobs_upload_end asks the
 * command whether these references will do: 422 otherwise, never which record; 503 where it takes
 * longer than `patience`. Refused references are wiped.
 * It and jobs_upload_drop free the upload. After a piece that failed, end says why. */
struct jobs_upload;
bool jobs_upload_begin(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                       struct jobs_upload **upload, struct jobs_fault *fault);
bool jobs_upload_piece(struct jobs_upload *upload, const void *bytes, size_t size);
bool jobs_upload_end(struct jobs_upload *upload, struct jobs_fault *fault);
void jobs_upload_drop(struct jobs_upload *upload);

/* POST /v1/jobs/ID/start. A job that is queued or runs already is answered as one that was started
 * now, and not charged again. 409 while references of the job arrive; 412 where the job is not what
 * the caller approves. The run is held to the fingerprint and the charge that the job has now: with
 * others nothing is charged, and the job waits for its references and its start once more. */
bool jobs_start(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                json_t **document, struct jobs_fault *fault);
/* POST /v1/jobs/ID/cancel: it stops, and its references are wiped. The charge stays. */
bool jobs_cancel(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                 json_t **document, struct jobs_fault *fault);
/* DELETE /v1/jobs/ID: it is stopped, and all of it wiped. The charge stays. */
bool jobs_remove(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                 struct jobs_fault *fault);
/* Opens the results, or the receipt, of a job that is done: the caller's descriptor. */
bool jobs_file(struct jobs *jobs, const struct jobs_caller *caller, const char *id, bool receipt,
               int *file, struct jobs_fault *fault);
/* The public key of `sign`, 64 hex digits; NULL = nothing is signed. Never blocks. */
const char *jobs_public_key(const struct jobs *jobs);
/* Opens the audit trail, as it is now. */
bool jobs_trail_file(struct jobs *jobs, const struct jobs_caller *caller, int *file,
                     struct jobs_fault *fault);
/* GET /v1/trail/entries: a page of it, the newest first, as trail_page has it. */
struct trail_query;
bool jobs_trail_page(struct jobs *jobs, const struct jobs_caller *caller,
                     const struct trail_query *query, json_t **document, struct jobs_fault *fault);

/* GET /v1/jobs/ID/events: sends the job's events with a number above `after`, and then those that
 * come, by `send`, and at last `end`. Both are called under the jobs' lock, from any thread, and
 * must not block. `send` with size 0 asks whether somebody listens. Answer of send: false = nobody
 * listens any more; then only `end` follows. Events are numbered alike whatever server tells them:
 * 1 queued, 2 to 12 for each tenth of the texts, 13 the end. */
struct jobs_listener {
	bool (*send)(void *user, const char *bytes, size_t size);
	void (*end)(void *user);
	void *user;
};
bool jobs_follow(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                 uint64_t after, const struct jobs_listener *listener, struct jobs_fault *fault);
/* Whether the caller may follow the job. Events after `after` may still come: *more. */
bool jobs_may_follow(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                     uint64_t after, bool *more, struct jobs_fault *fault);

/* GET /v1/budget[/D], GET /v1/ledger/D/entries, POST /v1/ledger/verify. `dataset` may be NULL for
 * the first, `head` for the last. */
bool jobs_budget(struct jobs *jobs, const struct jobs_caller *caller, const char *dataset,
                 json_t **document, struct jobs_fault *fault);
bool jobs_entries(struct jobs *jobs, const struct jobs_caller *caller, const char *dataset,
                  json_t **document, struct jobs_fault *fault);
bool jobs_verify(struct jobs *jobs, const char *head, json_t **document, struct jobs_fault *fault);
/* GET /v1/ledger/gap: what the ledger lacks of that which this server has seen, for officers of all
 * data sets. While it lacks something, jobs_start refuses what is to be charged, and no job begins:
 * 503 ledger_restored. */
bool jobs_gap(struct jobs *jobs, const struct jobs_caller *caller, json_t **document,
              struct jobs_fault *fault);
/* POST /v1/ledger/gap: takes the ledger as it is. `name` is the gap's, as jobs_gap told it; NULL: a
 * 400. 412: something else is missing now. 409: nothing is. */
bool jobs_gap_confirm(struct jobs *jobs, const struct jobs_caller *caller, const char *name,
                      json_t **document, struct jobs_fault *fault);

/* How many jobs wait or run, and how many ended in done, failed and cancelled since jobs_open.
 * Never blocks. */
struct jobs_counts {
	unsigned waiting;
	unsigned ended[2][3]; /* [0 = generate, 1 = sanitize][done, failed, cancelled] */
};
struct jobs_counts jobs_count(struct jobs *jobs);

#endif
