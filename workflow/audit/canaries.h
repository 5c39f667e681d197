// SPDX-License-Identifier: Apache-2.0
// canaries.h: references that an audit invents, and the lots that its games are played with.
//
// A canary begins as the model's own texts begin and ends in unlikely words (Meeus et al. 2025,
// arXiv 2502.14921). So it fits among references, and yet is told from them. It is invented from
// public things alone, so it may be shown. Lots are secret while a game lasts. For example, with
// 4-digit secrets:
//   "The patient was seen on Monday and glass harbour ninety ... The number is 0417."
#ifndef CUTTLE_WORKFLOW_AUDIT_CANARIES_H
#define CUTTLE_WORKFLOW_AUDIT_CANARIES_H

#include "engine/cuttle/plan.h"
#include <stdbool.h>

struct cuttle_model;

enum {
	CANARIES_MOST = 64,
	CANARIES_KEY = 32,    /* bytes */
	CANARY_PREFIX = 96,   /* bytes of a likely beginning, at most */
	CANARY_SUFFIX = 10,   /* unlikely tokens behind it */
	CANARY_MOST = 800,    /* bytes of one that is given */
	CANARIES_SHOWN = 1024 /* bytes of a canary with its secret, at most */
};

/* Fair lots: a number follows from key, purpose and number of the game. So a game that is played
 * again after a stop, with an insecure seed, has the same ones. */
struct chance {
	unsigned char key[CANARIES_KEY];
};
enum chance_purpose { CHANCE_WORD, CHANCE_LOT, CHANCE_SECRET, CHANCE_TIE };

/* A key from the system, or from *seed where that is not NULL. */
void chance_begin(struct chance *chance, const uint64_t *seed);
/* A number in 0 .. limit - 1; limit is 1 .. 2^32. `which` tells apart draws of one game. */
uint64_t chance_below(const struct chance *chance, enum chance_purpose purpose, uint64_t game,
                      uint64_t which, uint64_t limit);
void chance_end(struct chance *chance);

struct canaries {
	char *all[CANARIES_MOST]; /* [count] */
	size_t count;
	bool given; /* by the caller, in place of invented ones */
};

/* Invents `count` canaries, at most CANARIES_MOST: the plan draws beginnings from null references
 * alone, which is its public law. Call canaries_free in any case. Errors as cuttle_job_run;
 * PARTIAL where stop(user) says so. USAGE: the model has no token of visible letters. */
enum cuttle_status canaries_invent(struct canaries *canaries, struct cuttle_plan *plan,
                                   const struct cuttle_model *model, size_t count,
                                   const struct chance *chance, bool (*stop)(void *user),
                                   void *user, struct cuttle_error *error);
/* One canary, as given. NOMEM. */
enum cuttle_status canaries_take(struct canaries *canaries, const char *text,
                                 struct cuttle_error *error);
void canaries_free(struct canaries *canaries);

/* Writes canary number `game` modulo their count, with a secret of 0 .. secrets - 1 behind it;
 * secrets 0: without. Returns its bytes. */
size_t canaries_write(const struct canaries *canaries, size_t game, uint64_t secret,
                      uint64_t secrets, char text[CANARIES_SHOWN]);
/* The same with `blank` where the secret stands, which has UTF8_NAME bytes at most. */
size_t canaries_write_blank(const struct canaries *canaries, size_t game, const char *blank,
                            char text[CANARIES_SHOWN]);

#endif
