// SPDX-License-Identifier: Apache-2.0
// jobs_stage.h: a ledger, a tiny model, a folder and the command, for tests of private jobs. Each
// function fails the test where it cannot do what its name says.
#ifndef CUTTLE_TESTS_SERVE_JOBS_STAGE_H
#define CUTTLE_TESTS_SERVE_JOBS_STAGE_H

#include "serve/jobs/jobs.h"

#include <limits.h>
#include <stdatomic.h>

struct jobs_stage {
	char folder[32]; /* a scratch folder on a disk */
	char memory[40]; /* and one in memory */
	char state[64];
	char runtime[64];
	char ledger[64];
	char model[64];
	char fake[64];        /* where a test may put a command of its own */
	char named[PATH_MAX]; /* the true command */
	const char *command;  /* what the next server runs: `named` or `fake` */
	unsigned patience;    /* seconds that a quote gets; 0 = as many as a server gives */
	atomic_bool reads;    /* what the server was told last: a command reads references */
	atomic_uint commands; /* so many of them have ended */
	atomic_uint starved;  /* so many of the next commands find no file descriptor free */
};
extern struct jobs_stage stage;
extern const struct jobs_caller ann, bob, chief; /* chief is an officer */

#define PLAN "\"num\":4,\"batch_size\":3,\"max_tokens\":12,\"clip\":0.5"
/* Seconds of work on any machine, so that it does not end before it is told to. Its texts are
 * short, since a test waits for the first ones, and each step takes ten times as long under a
 * sanitizer. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define LONG_PLAN "\"num\":3000,\"batch_size\":3,\"max_tokens\":40,\"clip\":0.5"
#else
#define LONG_PLAN "\"num\":3000,\"batch_size\":3,\"max_tokens\":80,\"clip\":0.5"
#endif
enum { LONG = 9000 }; /* records of it; PLAN has 12 */
#define LINE "{\"text\":\"note %d of CANARY-42\"}\n"

/* False: CUTTLE is not the command, and the tests are skipped. */
bool stage_begin(void);
void stage_end(void);

/* Runs a line of shell; returns its exit code. */
int stage_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
void stage_nap(void); /* 10 ms */
double stage_seconds(void);

/* A new ledger with the data set "notes". */
void stage_ledger(double rho);
/* A server with the stage's command; seed UINT64_MAX = none. */
struct jobs *stage_open(uint64_t seed, bool approval);
/* Removes what a server has left. */
void stage_clean(void);

json_t *stage_request(const char *plan);
/* Makes a job; its id is kept in `id`. Returns the document. */
json_t *stage_create(struct jobs *jobs, const struct jobs_caller *caller, const char *key,
                     const char *plan, char id[64]);
/* Uploads `count` records of ann's job. Returns the fault's status, or 0. */
unsigned stage_upload(struct jobs *jobs, const char *id, size_t count, const char *line);
/* Returns the fault's status, and its code, or 202. */
unsigned stage_start(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                     char code[64]);
const char *stage_status(struct jobs *jobs, const char *id);
/* Runs that were charged, and how much. */
uint64_t stage_runs(double *spent);
/* Until the job has this status; at most some minutes, as each of these on a broken run. */
void stage_wait(struct jobs *jobs, const char *id, const char *status);
/* Makes a job of ann's, uploads so many records for it, and starts it. */
void stage_queue(struct jobs *jobs, const char *key, const char *plan, size_t records, char id[64]);
/* Until so many runs were charged, or the file is there, or gone. */
void stage_wait_for_runs(uint64_t runs);
void stage_wait_for_file(const char *path);
void stage_wait_for_no_file(const char *path);
/* Until the one job has a longer journal than the copy in this folder of the stage's. */
void stage_wait_for_growth(const char *copies);
/* Nothing of the records is below the server's folders in the clear. */
void stage_finds_no_canary(void);

#endif
