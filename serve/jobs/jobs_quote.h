// SPDX-License-Identifier: Apache-2.0
// jobs_quote.h: a job as a command line, and what the command says it would promise and cost.
//
// PRIVATE references pass from the vault to the command where it is asked whether they will do. No
// lock is needed, nor may it be held: the command takes a second, and of large references minutes.
// So there are turns: two quotes of plans run at a time, and two of references, of two owners.
#ifndef CUTTLE_SERVE_JOBS_JOBS_QUOTE_H
#define CUTTLE_SERVE_JOBS_JOBS_QUOTE_H

#include "serve/jobs/jobs_upload.h"
#include "serve/jobs/spec.h"

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

/* Waits for a turn, of a plan or of this upload, at most as long as the options' patience: then
 * 429. 409: the upload's job has ended; 503: the server stops. The turn of a plan ends with
 * jobs_turn_end, that of an upload with the upload. */
bool jobs_turn_take(struct jobs *jobs, struct jobs_upload *upload, struct jobs_fault *fault);
void jobs_turn_end(struct jobs *jobs);

/* Asks the command (--dry-run --json), in a turn. With an upload, whose references are in the
 * vault, it also reads these, and says whether they will do: 422. What takes longer than the
 * options' patience is ended: 503. The caller owns *quote. */
bool jobs_quote(struct jobs *jobs, const struct spec *spec, const struct jobs_upload *upload,
                json_t **quote, struct jobs_fault *fault);

#endif
