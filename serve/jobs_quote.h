// SPDX-License-Identifier: Apache-2.0
// jobs_quote.h: a job as a command line, and what the command says it would promise and cost.
//
// Called by serve/jobs.c and serve/jobs_queue.c. PRIVATE references pass from the vault to the
// command where it is asked whether they will do. No lock is needed, nor may it be held: the
// command takes a second, and of large references minutes. Two at a time are asked of plans, and
// two of references; the others wait.
#ifndef CUTTLE_SERVE_JOBS_QUOTE_H
#define CUTTLE_SERVE_JOBS_QUOTE_H

#include "serve/jobs_state.h"
#include "serve/spec.h"

enum { JOBS_WORDS = SPEC_WORDS + 32, JOBS_NUMBER = 24 };

/* The words of a command; its strings belong to spec, jobs and the caller. */
struct jobs_words {
	const char *words[JOBS_WORDS]; /* NULL ends them */
	size_t count;
	char seed[JOBS_NUMBER];
	char threads[JOBS_NUMBER];
};
/* Begins with what each command of a job has: type, model, ledger, the request's own words. Words
 * point into `words`, which must stay where it is. */
void jobs_words_begin(const struct jobs *jobs, const struct spec *spec, struct jobs_words *words);
/* Adds up to two words; each may be NULL. */
void jobs_words_add(struct jobs_words *words, const char *one, const char *two);

/* Asks the command (--dry-run --json). With an id it also reads the references of that job, and
 * says whether they will do: 422. What takes longer than the options' patience is ended: 503. The
 * caller owns *quote. */
bool jobs_quote(struct jobs *jobs, const struct spec *spec, const char *id, json_t **quote,
                struct jobs_fault *fault);

#endif
