// SPDX-License-Identifier: Apache-2.0
// The B + 1 contexts of each text in flight: one shared prefix computed once per run, prompts prefilled together, then one token appended
// to all. The public context is a text's first row; null references have no row. All rows of all texts go through the weights together.
#ifndef CUTTLE_ENGINE_LOCKSTEP_H
#define CUTTLE_ENGINE_LOCKSTEP_H

#include "engine/forward.h"
#include "engine/logit_source.h"

struct lockstep;

struct lockstep_params {
	const struct prompt *prompt; /* outlives the lockstep */
	size_t batch;                /* B */
	size_t slots;                /* texts in flight */
	size_t context;              /* tokens of the longest context */
	size_t chunk;                /* rows per prompt pass */
	bool share;                  /* false: every context computes and keeps its own copy of the prefix */
	bool resident;               /* true: all memory is touched now, as it is for every text of a run but the first */
};

/* Allocates everything a run needs. NOMEM. */
enum cuttle_status lockstep_new(const struct model *model, const struct lockstep_params *params, struct lockstep **out,
                                struct cuttle_error *error);
void lockstep_free(struct lockstep **lockstep);

struct logit_source lockstep_source(struct lockstep *lockstep);

/* Where its time went so far. */
struct forward_time lockstep_time(const struct lockstep *lockstep);

#endif
