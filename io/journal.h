// SPDX-License-Identifier: Apache-2.0
// The journal of drawn tokens: what makes a run resumable without drawing anything twice.
//
// A drawn token is private output that has been paid for. It is written here, by write(2), before anything else may see it, so that a run
// that was killed goes on from it. The first line names the command by its fingerprint; each further line is "TEXT STEP TOKEN CHECK", where
// CHECK is SipHash-2-4 of the rest under the fingerprint. A torn end (no newline, or a wrong check) was never acted upon: it is cut off.
#ifndef CUTTLE_IO_JOURNAL_H
#define CUTTLE_IO_JOURNAL_H

#include "io/hash.h"

enum journal_state {
	JOURNAL_NEW,    /* no token was ever recorded in it */
	JOURNAL_OURS,   /* of this command; its tokens are loaded */
	JOURNAL_OTHER,  /* of another command, or no journal at all */
	JOURNAL_DAMAGED /* of this command, but a wrong line stands before a right one */
};

struct journal;

/* Opens or creates the file, for this process alone. USAGE: cannot be created, or another process holds it. NOMEM. */
enum cuttle_status journal_open(const char *path, struct journal **journal, struct cuttle_error *error);
/* Reads it as the journal of a command of `texts` texts and cuts a torn end off. INPUT: cannot be read. NOMEM. */
enum cuttle_status journal_load(struct journal *journal, const char fingerprint[HASH_TEXT], size_t texts, enum journal_state *state,
                                struct cuttle_error *error);
/* Empties the file and writes the first line, durably. Returns 0 or the errno. */
int journal_restart(struct journal *journal, const char fingerprint[HASH_TEXT]);
/* Tokens loaded for a text; *tokens is valid until journal_close. */
size_t journal_drawn(const struct journal *journal, size_t text, const int32_t **tokens);
/* Records one token. Returns 0 or the errno. */
int journal_append(struct journal *journal, size_t text, uint32_t step, int32_t token);
/* Makes what was appended durable. Returns 0 or the errno. */
int journal_sync(struct journal *journal);
/* Whether it is known to hold no token, so that nothing is lost with it. */
bool journal_worthless(const struct journal *journal);
/* Unlinks the file. Returns 0 or the errno. */
int journal_remove(struct journal *journal);
/* Closes, gives the lock back, and removes the file when it holds no token; nulls the handle. NULL handles are fine. */
void journal_close(struct journal **journal);

#endif
