// SPDX-License-Identifier: Apache-2.0
// inversion.h: how many words of perturbed texts are found again by the nearest words.
//
// Original texts are PRIVATE, and so is what is counted here. The attack is the plainest there is:
// what stands in a place is the word itself, or near it. Who knows the law and how often words
// occur finds more: bench/words_attacks.c measures that.
// Example: "cough" became "fever", and "cough" is the seventh nearest word to it: found in ten.
#ifndef CUTTLE_WORKFLOW_AUDIT_INVERSION_H
#define CUTTLE_WORKFLOW_AUDIT_INVERSION_H

#include "engine/cuttle/words.h"
#include "io/records/records.h"
#include "workflow/audit/finding.h"

enum { INVERSION_NEAREST = 10 };

/* Compares words in order: word i of a record with word i of its output. Places count where both
 * have a word; one that is not in the list cannot be found. stop(user) is asked before each record.
 * INPUT: there is no such place. PARTIAL. NOMEM. */
enum cuttle_status inversion_compare(const struct cuttle_words *words,
                                     const struct records *originals, const struct records *outputs,
                                     bool (*stop)(void *user), void *user, struct audit_game *game,
                                     struct cuttle_error *error);

#endif
