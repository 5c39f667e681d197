// SPDX-License-Identifier: Apache-2.0
// recitation.h: what texts have in common with references, token by token.
//
// Both may be PRIVATE, and so is all that is computed of them: memory is wiped. A record that
// cannot be read has no tokens, so nothing in common with anything.
#ifndef CUTTLE_WORKFLOW_AUDIT_RECITATION_H
#define CUTTLE_WORKFLOW_AUDIT_RECITATION_H

#include "engine/cuttle/status.h"
#include "io/records/records.h"
#include "workflow/audit/finding.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cuttle_model;

enum { RECITATION_MOST = 512 }; /* tokens of a text or reference that are compared */

/* The tokens of all records of a file. */
struct recitation {
	uint32_t *item; /* of record i: item[first[i]] .. item[first[i + 1] - 1] */
	size_t *first;  /* [count + 1] */
	bool *readable; /* [count] */
	size_t count;
	double *vectors; /* [count][width] of length 1, by recitation_embed; NULL = none */
	size_t width;
};

/* Reads the file's records and their tokens. `lock`: both stay out of the swap where the system
 * allows it. INPUT: as records_read, or no record can be read.
 * NOMEM. Call recitation_free in any case. */
enum cuttle_status recitation_read(const struct cuttle_model *model, const char *path,
                                   const char *field, bool lock, struct recitation *made,
                                   struct cuttle_error *error);
void recitation_free(struct recitation *made);
/* How many of them can be read. */
size_t recitation_readable(const struct recitation *of);

/* Makes a vector of what the model makes of each record (cuttle_embed); one without tokens has
 * zeros. PARTIAL: stop(user) said so. NOMEM, USAGE as cuttle_embed. */
enum cuttle_status recitation_embed(struct cuttle_model *model, struct recitation *of,
                                    bool (*stop)(void *user), void *user,
                                    struct cuttle_error *error);

/* run[texts][references]: the most consecutive tokens in common. share: of a text's 8-grams, those
 * in that reference. Each may be NULL. stop(user) is asked before
 * each text. PARTIAL. NOMEM. */
enum cuttle_status recitation_compare(const struct recitation *texts,
                                      const struct recitation *references, double *run,
                                      double *share, bool (*stop)(void *user), void *user,
                                      struct cuttle_error *error);

/* Puts two lists of references behind each other. False: out of memory; free *both all the same. */
bool recitation_join(const struct recitation *one, const struct recitation *other,
                     struct recitation *both);
/* What texts have in common with the first `used` references, and with the others, which the run
 * did not read. Its p is that of measure/attacks.h. Errors as recitation_compare. */
enum cuttle_status recitation_overlap(const struct recitation *texts, const struct recitation *both,
                                      size_t used, bool (*stop)(void *user), void *user,
                                      struct audit_game *game, struct cuttle_error *error);
/* Guesses of records that were in or out by fair lot. A record is in where a text has much in
 * common with it, or where both have vectors, where a text's is near.
 * A member is a record of `members` that can be read. Only those of `all` that can be read are
 * guessed and counted. guesses 0 = a fifth of them. USAGE: there are not so many. INPUT: there is
 * none. Else as recitation_compare. */
enum cuttle_status recitation_guess(const struct recitation *texts, const struct recitation *all,
                                    const struct recitation *members, uint64_t guesses,
                                    double delta, bool (*stop)(void *user), void *user,
                                    struct audit_game *game, struct cuttle_error *error);

#endif
