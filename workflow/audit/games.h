// SPDX-License-Identifier: Apache-2.0
// games.h: plays the games of an audit, a text each.
//
// A text is drawn from a batch with a canary in its last place. Or it is drawn from a canary that
// is a document with its secret marked. The plan is one that is under test, or the positive
// control's. PRIVATE where the other references are: scores follow from them without protection.
// What a game gave is a trial, journalled before the next one ends (io/output/trials.h). So a
// stopped audit goes on with the game after it.
//
//     game          one trial                                     its numbers
//     GAME_WORLDS   game 2i with the canary, game 2i + 1 without  1 = without, score
//     GAME_LOTS     with it or not, by a fair lot                 1 = without, score
//     GAME_SECRETS  the canary has a secret of `secrets`          secret, rank by each statistic
//     GAME_RANGES   references alone; every place is compared     widest range, steps, places
#ifndef CUTTLE_WORKFLOW_AUDIT_GAMES_H
#define CUTTLE_WORKFLOW_AUDIT_GAMES_H

#include "engine/cuttle/audit.h"
#include "io/records/records.h"
#include "io/output/trials.h"
#include "workflow/audit/canaries.h"

enum game_kind { GAME_WORLDS, GAME_LOTS, GAME_SECRETS, GAME_RANGES };

/* How a game of worlds or lots is scored. */
enum game_score {
	GAME_ODDS, /* sum of ln(P/P') over the text's tokens, as the mechanism has it: the best */
	GAME_LOSS  /* ln P(text | canary) - ln P(text | public prompt) by the model alone */
};

/* Statistics of a game of secrets: LOSS, and MIN-K with these shares. */
enum { GAME_MINK = 5, GAME_RANKS = 1 + GAME_MINK };
extern const double game_shares[GAME_MINK];

struct game_request {
	enum game_kind kind;
	enum game_score score;
	struct cuttle_plan *plan;         /* NULL = the rewriter's texts */
	struct cuttle_rewriter *rewriter; /* of GAME_SECRETS: the canary is a document */
	const char *blank;                /* what stands for the secret in its public context */
	const struct cuttle_model *model;
	const struct records *others;    /* NULL = the other places are null */
	const struct canaries *canaries; /* NULL in GAME_RANGES */
	const struct records *texts;     /* GAME_RANGES: those that are gone through again; NULL =
	                                    each text is drawn */
	const struct chance *chance;
	double order;     /* of GAME_RANGES, as in struct cuttle_audit */
	uint64_t secrets; /* R, of GAME_SECRETS */
	size_t games;
	/* What is told: a game is done, by this run or an earlier one; and whether to stop. */
	void (*done)(void *user);
	bool (*stop)(void *user);
	void *user;
};

/* Numbers of a trial of this kind. */
size_t games_values(enum game_kind kind);

/* Plays the games that `trials` has not yet, and adds them. PARTIAL: stopped, or trials cannot be
 * written. Errors as cuttle_job_run, cuttle_audit_run, cuttle_rewriter_run and
 * cuttle_attacker_read. NOMEM. */
enum cuttle_status games_play(const struct game_request *request, struct trials *trials,
                              struct cuttle_error *error);

#endif
