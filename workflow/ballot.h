// SPDX-License-Identifier: Apache-2.0
// ballot.h: noisy answers of private records, for a run that draws no text from them.
//
// Answers are charged first, drawn once and kept until they are used up. Of the private records a
// keyed digest passes through. The answers are public once they are kept. The order is the promise:
//
//     ballot_open     the run is bound to its input and charged; or it is continued
//     ballot_take     the ledger knows that noise is drawn; it is drawn; it is on the disk
//     ballot_finish   the charge is closed with the hash of what was made of the answers
//     ballot_done     that is in place: journal and key go
//
// Beside OUT stand OUT.journal and OUT.journal.key (io/output/journal.h, io/output/binding.h), as
// for texts. The journal has its first line and the counts. Standard output has neither: each run
// is a new one.
#ifndef CUTTLE_WORKFLOW_BALLOT_H
#define CUTTLE_WORKFLOW_BALLOT_H

#include "workflow/spending.h"

enum { BALLOT_MOST = 1024 }; /* answers */

struct ballot_request {
	const char *output;      /* path of OUT; "-" = standard output */
	const char *fingerprint; /* of the command, HASH_TEXT */
	size_t answers;          /* 1 .. BALLOT_MOST */
	bool overwrite;
	/* Writes the digest under `key` of all that is asked, as HASH_TEXT. */
	void (*digest)(void *user, const unsigned char *key, char *digest);
	void *user;
};

struct ballot;

/* Opens the journal, and charges `charge` or finds its charge. The request's strings and the
 * spending, which is open, must outlive the ballot. *charged is what can be told of the charge.
 * Call ballot_close in any case.
 * USAGE: the journal is another command's, or was begun with another input, without `overwrite`;
 * or it is somebody's file; another process is at work. INPUT: it is damaged, without `overwrite`.
 * PARTIAL: a file cannot be written. Else as spending_reserve. */
enum cuttle_status ballot_open(const struct ballot_request *request, struct spending *spending,
                               const struct ledger_request *charge, struct ballot **ballot,
                               struct receipt_ledger *charged, struct cuttle_error *error);
/* answers[request->answers]: those of the journal, or what `draw` makes, which is then durable.
 * PARTIAL: it cannot be written. Else as spending_draw and `draw`. */
enum cuttle_status ballot_take(struct ballot *ballot,
                               enum cuttle_status (*draw)(void *user, int64_t *answers,
                                                          struct cuttle_error *error),
                               void *user, int64_t *answers, struct cuttle_error *error);
/* What was made of the answers has this hash. Call it before anybody sees that. Errors as
 * spending_finish. */
enum cuttle_status ballot_finish(struct ballot *ballot, const char sha256[HASH_TEXT],
                                 struct cuttle_error *error);
/* It is in place: removes journal, key and OUT.run. */
void ballot_done(struct ballot *ballot);
/* Closes and nulls the handle. A journal with answers stays, unless ballot_done was called. */
void ballot_close(struct ballot **ballot);

#endif
