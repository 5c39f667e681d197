// SPDX-License-Identifier: Apache-2.0
// judging.h: from the games of an audit to numbers, and to bounds of epsilon.
//
// The trials are those of workflow/audit/games.h. PRIVATE where these are: scratch is wiped. All
// sums are those of measure/.
#ifndef CUTTLE_WORKFLOW_AUDIT_JUDGING_H
#define CUTTLE_WORKFLOW_AUDIT_JUDGING_H

#include "workflow/audit/finding.h"
#include "workflow/audit/games.h"

struct judging {
	enum game_kind kind;
	bool exposure;    /* of secrets: how early they come, not only which is first */
	uint64_t secrets; /* R */
	uint64_t guesses; /* of lots; 0 = a fifth of the games */
	double delta;     /* of the claim */
	double eta;       /* of the plan under test, as cuttle_audit_range has it */
	double order;     /* of cuttle_audit_order */
	double answers;   /* of cuttle_audit_answers */
};

/* The largest epsilon that guesses about so many records of one run could refute, if all were
 * right. 0: there is none, as where delta is too large. guesses: 0 = a fifth. */
double judging_could_refute(size_t records, uint64_t guesses, double delta);

/* Judges all trials, of which there are some. NOMEM, without a message. */
enum cuttle_status judging_trials(const struct judging *judging, const struct trials *trials,
                                  struct audit_game *game);

#endif
