// SPDX-License-Identifier: Apache-2.0
// lockstep.h: the contexts of all texts in flight, which grow by one token at a time.
// Private data: private contexts pass through; its memory is wiped when it is freed.
// How: lockstep_new, then the functions of lockstep_source (logit_source.h), then lockstep_free.
// Each text has one public context and one for each of its B places that is not null.
// Example: B = 7 and two null places give 1 + 5 contexts.
// What contexts have in common is computed once, in two ways. All contexts of a run may begin with
// the same tokens, the run's prefix. A private context may also share the beginning of its text's
// public context (struct place_context).
// The prompts of a text are prefilled together; then each step appends one token to all contexts.
// All rows of all texts go through the weights together.
#ifndef CUTTLE_ENGINE_LOCKSTEP_H
#define CUTTLE_ENGINE_LOCKSTEP_H

#include "engine/forward/forward.h"
#include "engine/forward/logit_source.h"

struct lockstep;

struct lockstep_params {
	/* The run's prefix, with which every context begins. Its count is a multiple of 16, or 0:
	 * then every context computes and keeps its own. The ids must outlive the lockstep; for
	 * lockstep_bytes they may be NULL. */
	struct tokens prefix;
	size_t batch;   /* B: places per text, at most; 0 = texts have no private context */
	size_t slots;   /* texts in flight */
	size_t context; /* tokens of the longest context */
	size_t chunk;   /* rows per prompt pass, at most */

	/* true: touches all memory now, so that a benchmark finds it as all texts of a run but the
	 * first do. */
	bool resident;
};

/* Sets *bytes to what a run maps, which is also the most that it touches. The number is public, as
 * the params are. False on overflow. */
bool lockstep_bytes(const struct model *model, const struct lockstep_params *params, size_t *bytes);

/* Allocates everything a run needs. NOMEM; USAGE when --mlock is refused. */
enum cuttle_status lockstep_new(const struct model *model, const struct lockstep_params *params,
                                struct lockstep **out, struct cuttle_error *error);

/* Wipes and frees it, and sets *lockstep to NULL. *lockstep may be NULL. */
void lockstep_free(struct lockstep **lockstep);

/* The functions of the generation loop over this lockstep. They are valid until lockstep_free. */
struct logit_source lockstep_source(struct lockstep *lockstep);

/* Where its time went so far. */
struct forward_time lockstep_time(const struct lockstep *lockstep);

#endif
