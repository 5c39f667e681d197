// SPDX-License-Identifier: Apache-2.0
// runner.h: one command, run as a process of its own, for a private job.
//
// PRIVATE references pass from the vault into a pipe, a piece at a time. Why a process: whoever
// reads the network then holds neither keys and values nor logits of private rows, and no parsed
// record. A result is the command's very bytes. And a kill is what the command can stand. The
// references reach it on standard input alone (-i -), never by a file.
//
//     struct runner_request request = {.words = words, .input = reader, .line = on_line};
//     struct runner_result result;
//     status = runner_run(&runner, &request, &result, &error);        another thread may call
//     runner_signal(&runner, SIGTERM);                                this one meanwhile
//
// The process dies with the thread that called runner_run, and so with the server.
#ifndef CUTTLE_SERVE_JOBS_RUNNER_H
#define CUTTLE_SERVE_JOBS_RUNNER_H

#include "serve/jobs/vault.h"
#include <pthread.h>
#include <sys/types.h>

enum {
	RUNNER_LINE = 512,      /* bytes of a line on standard error; the rest is not looked at */
	RUNNER_ANSWER = 1 << 18 /* bytes of standard output that are kept */
};
#define RUNNER_FILE "/proc/self/fd/3" /* what `file` is to the command */

/* Holds at most one process at a time. Set it up as RUNNER_NONE. */
struct runner {
	pthread_mutex_t lock;
	pid_t process; /* 0 = none */
};
#define RUNNER_NONE                                                                                \
	{ PTHREAD_MUTEX_INITIALIZER, 0 }

struct runner_request {
	const char *program;        /* path of the command */
	const char *const *words;   /* its arguments; the first is its name, NULL ends them */
	struct vault_reader *input; /* what its standard input gives; NULL = nothing */
	const char *file; /* [file_size] public: what RUNNER_FILE has; NULL = there is none */
	size_t file_size;
	/* A line of its standard error, without the newline. May be NULL. */
	void (*line)(void *user, const char *line);
	/* Called a few times a second, while it runs. May be NULL. */
	void (*tick)(void *user);
	void *user;
};

struct runner_result {
	int code;               /* exit code; 128 + number of the signal that ended it */
	bool input_lost;        /* the vault could not be read to its end */
	char said[RUNNER_LINE]; /* its last line on standard error that begins "cuttle "; or "" */
	char *answer;           /* standard output with a NUL behind it; the caller frees it */
};

/* Runs a command to its end. INTERNAL: no process can be made. NOMEM. Then there is no answer. */
enum cuttle_status runner_run(struct runner *runner, const struct runner_request *request,
                              struct runner_result *result, struct cuttle_error *error);
/* Sends a signal to the process, if there is one. */
void runner_signal(struct runner *runner, int number);

#endif
