// SPDX-License-Identifier: Apache-2.0
// worlds.h: a mechanism around another one, which tells the odds of each token in two worlds.
// An audit has it in place of a plan's own mechanism. No run that is published has it.
// Private data: rows pass through to the inner mechanism; the odds that come out are PRIVATE.
// How: the rows of a step are kept until its token. The inner mechanism then goes through the step
// several times, each time with other rows. Example: 7 places, all compared: with all rows and
// drawn; with all rows, for P; then with six of them seven times, for each P'.
// Nothing but the inner mechanism computes a weight: what is audited is the code that draws.
#ifndef CUTTLE_ENGINE_RUN_LOOP_WORLDS_H
#define CUTTLE_ENGINE_RUN_LOOP_WORLDS_H

#include "dp/mechanism.h"
#include "engine/cuttle/audit.h"
#include "engine/machine/region.h"
#include "engine/run/plan/seeded.h"

struct worlds {
	struct dp_mechanism inner;        /* of the plan; not freed here */
	const struct cuttle_audit *audit; /* the caller's */
	const struct seeded *at;          /* which text and step is drawn */
	struct region region;             /* of the arrays below, private */
	size_t vocab;
	uint32_t most_places; /* of a step */
	size_t slots;         /* batches in flight */
	uint8_t *pasts;       /* [slots][worlds][inner.past_size] */
	double *answers;      /* [slots][most_places] ln(P/P') of the open unit's answers */

	// The step in progress.
	size_t slot;
	const float *public_row; /* the loop's, valid until its next append */
	const uint8_t *allowed;  /* the loop's, valid until its next step; NULL = every token */
	bool may_be_free;
	uint32_t places, spent;
	struct dp_wanted wanted;
	float *rows;     /* [most_places][vocab] of which wanted.count are in use */
	bool *came;      /* [most_places] */
	double *with;    /* [vocab] ln P over the wanted tokens */
	double *without; /* [vocab] ln P' */
};

/* Prepares *worlds around `inner`, for steps of at most `places`, of `slots` batches. Call
 * worlds_end in any case. NOMEM. */
enum cuttle_status worlds_begin(struct worlds *worlds, const struct dp_mechanism *inner,
                                size_t vocab, uint32_t places, size_t slots,
                                const struct cuttle_audit *audit, const struct seeded *at,
                                struct cuttle_error *error);

/* The table of functions over *worlds. Its `free` does nothing. */
struct dp_mechanism worlds_mechanism(struct worlds *worlds);

/* Wipes and frees. */
void worlds_end(struct worlds *worlds);

#endif
