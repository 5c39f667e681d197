// SPDX-License-Identifier: Apache-2.0
// holdout.h: whether texts say more of the records that a run read than of records kept aside.
//
// All may be PRIVATE, and so is all that is computed of them: memory is wiped. No model is needed.
// measure/disclosure.h has the method; words are those of io/text/split.h, numbers among them.
// It is done for runs of 1, 2, 4 and 6 words, each with a p of its own, and the whole with four
// times the least of them. A record that cannot be read is in neither group.
// The bound of epsilon: which record of a pair was read is a fair lot, and guesses of it are
// counted (measure/bounds.h). To exchange a pair's records is two exchanges with null. So the
// mechanism of pairs has 2 epsilon, and (1 + e^epsilon) delta.
#ifndef CUTTLE_WORKFLOW_AUDIT_HOLDOUT_H
#define CUTTLE_WORKFLOW_AUDIT_HOLDOUT_H

#include "engine/cuttle/status.h"
#include "workflow/audit/finding.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The words of all records of a file that can be read; with a unit key those of all owners. */
struct holdout_words {
	uint64_t *word; /* of record i: word[first[i]] .. word[first[i + 1] - 1] */
	size_t *first;  /* [count + 1] */
	size_t count;
};

/* Reads the file's records. unit_key: the field that says whose a record is, and all records of an
 * owner count as one; NULL = each is alone. `lock`: they stay out of the swap where the system
 * allows it. INPUT: as records_read, or no record can be read. NOMEM. Call holdout_free in any
 * case. */
enum cuttle_status holdout_read(const char *path, const char *field, const char *unit_key,
                                bool lock, struct holdout_words *words, struct cuttle_error *error);
void holdout_free(struct holdout_words *words);

/* The largest epsilon that so many records could refute, if all guesses were right: with a larger
 * delta, or fewer records, it is 0. guesses as below. */
double holdout_could_refute(const struct holdout_words *used, const struct holdout_words *held_out,
                            uint64_t guesses, double delta);

/* Compares texts with records that were used and with those held out, and adds numbers and bounds
 * to the game. guesses: in how many pairs; 0 = a fifth. delta as for a record. stop(user) is asked
 * between lengths. USAGE: more guesses than pairs. PARTIAL. NOMEM. */
enum cuttle_status holdout_compare(const struct holdout_words *texts,
                                   const struct holdout_words *used,
                                   const struct holdout_words *held_out, uint64_t guesses,
                                   double delta, bool (*stop)(void *user), void *user,
                                   struct audit_game *game, struct cuttle_error *error);

enum { HOLDOUT_LENGTHS = 4 }; /* of runs, that stop is asked for */

#endif
