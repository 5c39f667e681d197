// SPDX-License-Identifier: Apache-2.0
// jobs_state.h: what the files of private jobs share: the list, the lock, and a job as JSON.
//
// No private data: references are in the vault. All functions here want the lock held but those
// that say so. The ledger may be busy for half a minute, so whoever asks it does not hold the lock.
#ifndef CUTTLE_SERVE_JOBS_JOBS_STATE_H
#define CUTTLE_SERVE_JOBS_JOBS_STATE_H

#include "serve/jobs/budgets.h"
#include "serve/jobs/jobs.h"
#include "serve/jobs/runner.h"
#include "serve/jobs/store.h"
#include "serve/jobs/trail.h"
#include "serve/jobs/trail_copy.h"
#include <stdatomic.h>
#include <time.h>

/* Number of the event that says how a job ended. */
enum { JOBS_LAST_EVENT = 13 };

/* Bytes of STATE/trail.key, as it is used: serve/jobs/jobs_trail.h. */
enum { MARK_KEY = crypto_auth_hmacsha256_KEYBYTES };

/* What is asked of the job that runs. */
enum jobs_wish { JOBS_GO_ON, JOBS_CANCEL, JOBS_REMOVE };

struct jobs_watcher {
	char id[STORE_ID];
	uint64_t last; /* number of the last event that was sent */
	struct jobs_listener listener;
	struct jobs_watcher *next;
};

struct jobs {
	struct jobs_options options;
	char *folder;  /* "STATE/jobs"; owned */
	char *runtime; /* owned */
	struct vault vault;
	int held; /* descriptor of STATE/lock: no other server has this folder */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* something may be done: by the queue, or by who waits for it */
	struct store *store;
	struct signature_key *signer; /* NULL = nothing is signed */
	struct trail *trail;          /* NULL = it is not open */
	struct trail_head told;       /* the newest entry of the list */
	struct trail_head telling;    /* the newest of the step under way */
	uint64_t in_trail;            /* number of the trail\'s last entry */
	atomic_bool stuck;            /* the trail could not be written when it was last tried */
	atomic_bool lacks;            /* the ledger lacked what this server knows when last asked */
	unsigned confirmed;           /* how often somebody took such a ledger */
	bool behind;                  /* the list may have entries that the trail has not */
	char *trail_path;             /* STATE/trail.jsonl; owned */
	struct trail_copy copy;
	unsigned char mark_key[MARK_KEY]; /* of the hashes of uploads */
	pthread_t thread;                 /* of the queue */
	bool threaded;                    /* it was made */
	bool stopping;
	struct runner worker;        /* the job that runs */
	char running[STORE_ID];      /* its id; "" = none */
	char run[LEDGER_RUN];        /* the name of its charge; "" = it has none yet */
	struct jobs_upload *uploads; /* that arrive or are looked at, at most one of a job */
	uint64_t uploads_ended;      /* how many */
	bool starting;               /* somebody asks the ledger whether a job may start */
	unsigned planning;           /* quotes of plans that run */
	size_t texts;                /* of it */
	size_t texts_done;           /* of it */
	enum jobs_wish wish;         /* for it */
	struct timespec asked;       /* when it was sent SIGTERM; 0 = not yet */
	struct timespec rest_until;  /* the queue waits: the last job could not go on */
	unsigned rest;               /* seconds that the next wait takes */
	unsigned reading;            /* commands that read references now */
	struct timespec listened;    /* when listeners were last asked whether they are there */
	struct jobs_watcher *watchers;
	atomic_uint waiting;
	atomic_uint ended[2][3]; /* struct jobs_counts */
};

/* A job of the list, as a copy. */
struct job {
	struct store_job row; /* its strings are owned here */
	/* Of row.spec: {"request":..,"quote":..}, since its start "approved" (job_approval), and
	 * "charge_lost":true where the ledger was put back without its charge. */
	json_t *spec;
	enum store_state before; /* its state in the list */
};

/* Fills the fault; returns false, for "return jobs_refuse(...)". No lock is needed. */
bool jobs_refuse(struct jobs_fault *fault, unsigned status, const char *code, const char *param,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The same for the failure of a file or of the ledger. */
bool jobs_refuse_status(struct jobs_fault *fault, enum cuttle_status status,
                        const struct cuttle_error *error);

/* The same for what is done for a job that has ended: 409. */
bool jobs_refuse_ended(struct jobs_fault *fault);

/* The first job that the filter means. Its id is "" where there is none. job_free in any case. */
enum cuttle_status job_find(struct jobs *jobs, const struct store_filter *filter, struct job *job,
                            struct cuttle_error *error);
void job_free(struct job *job);
/* Whether the caller is an officer of all data sets. */
bool jobs_sees_all(const struct jobs_caller *caller);
/* Whether the caller may use and see this data set. */
bool jobs_may_use(const struct jobs_caller *caller, const char *dataset);
/* Finds a job by id for whoever asks: 404 where there is none, or it is somebody else's. */
bool job_find_own(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                  struct job *job, struct jobs_fault *fault);
/* Whether the job waits for its references and its start: else 409. */
bool job_check_awaiting(const struct job *job, struct jobs_fault *fault);
/* Writes the job to the list, and tells whoever follows it. `event` is what the trail says of that;
 * NULL = nothing. That a job has ended it says in any case. */
struct jobs_event;
enum cuttle_status job_save(struct jobs *jobs, struct job *job, const struct jobs_event *event,
                            struct cuttle_error *error);

/* A command that reads references begins, or has ended. Takes the lock, so it may not be held. */
void jobs_busy(struct jobs *jobs, bool busy);

/* What the command said of the job, and of the request. Borrowed. */
const json_t *job_quote(const struct job *job);
const json_t *job_request(const struct job *job);
/* "COMMAND:LOSS", what an approval of the job is for, to be freed. NULL: the command has not seen
 * its references yet, or no memory. */
char *job_approval(const struct job *job);
/* The field that says whose a record is, as its request names it; NULL = none. Borrowed. */
const char *job_unit_key(const struct job *job);
/* Counts a job that has ended, by its type and its state; another one counts nothing. */
void job_count_end(struct jobs *jobs, const struct job *job);
/* How many texts it will have; 0 = not known before the upload. */
size_t job_texts(const struct job *job);
/* "STATE/jobs/ID/NAME"; "STATE/jobs/ID" where name is NULL. The caller frees it. NULL: out of
 * memory. No lock is needed. */
char *jobs_path(const struct jobs *jobs, const char *id, const char *name);
/* Whether the job's output is in place. No lock is needed. */
bool job_complete(const struct jobs *jobs, const char *id);
/* The job as JSON. `budget` (taken) may be NULL. NULL: out of memory. */
json_t *job_describe(const struct jobs *jobs, const struct job *job, json_t *budget);

/* Adds what jobs of the data set that wait or run will be charged and are not yet. Takes the lock,
 * and asks the ledger without it. LEDGER, NOMEM. */
enum cuttle_status jobs_pending(struct jobs *jobs, const char *dataset, const char *but,
                                struct budgets_charge *sum, struct cuttle_error *error);
/* The name by which a job that has begun is charged, as its command keeps it beside the output;
 * else "", and false. No lock is needed. */
bool job_run_name(const struct jobs *jobs, const char *id, char run[LEDGER_RUN]);
/* The job was charged under this name. */
void job_name_charge(struct job *job, const char *run);
/* Whether the job's charge stands in the ledger. The lock may not be held. LEDGER, NOMEM. */
enum cuttle_status job_charged(const struct jobs *jobs, const char *id, const char *dataset,
                               bool *charged, struct cuttle_error *error);

/* Sends the events of a job that came since, and ends the streams of jobs that have ended. id NULL:
 * only asks who still listens. */
void jobs_tell(struct jobs *jobs, const struct job *job);
void jobs_tell_none(struct jobs *jobs);
/* Sends a watcher what it lacks. False: its stream has ended, and it is to be freed. */
bool jobs_tell_one(const struct jobs *jobs, const struct job *job, struct jobs_watcher *watcher);

#endif
