// SPDX-License-Identifier: Apache-2.0
// plan.h: a plan, everything the guarantee depends on, fixed before a private text is read.
// Which mechanism a plan has, and with which parameters, plan.c and methods.c alone know.
// Private data: none, except that the mechanism holds the state of the draw in progress.
// How: cuttle_plan_make checks the params, finds the integers of the guarantee and writes the
// prompts. Then it builds the mechanism and chooses how many texts are in flight.
#ifndef CUTTLE_ENGINE_RUN_PLAN_PLAN_H
#define CUTTLE_ENGINE_RUN_PLAN_PLAN_H

#include "dp/mechanism.h"
#include "engine/run/methods/methods.h"
#include "engine/run/methods/plan_status.h"
#include "engine/run/plan/prompt.h"
#include "engine/run/plan/seeded.h"
#include "engine/run/plan/stops.h"

struct cuttle_plan {
	const struct model *model;
	struct prompt *prompts; /* [prompt_count] one per heading, or one without headings */
	size_t prompt_count;

	/* [prompt_count] of the texts under each heading, the caller's; NULL = any text */
	const struct cuttle_grammar **grammars;

	struct stops stops; /* a text ends before one of them */

	struct dp_mechanism mechanism; /* one job at a time; its claim is that of one batch */

	/* The same mechanism, for the PRIVATE trace (diagnosis.h): only InvisibleInk has it. NULL:
	 * the plan has none. Owned by `mechanism`. */
	struct dp_invisibleink *traced;

	struct seeded seeded;    /* the mechanism draws from it when the plan is insecure */
	uint32_t batch;          /* B: references of a text; with lots their mean */
	uint32_t places;         /* of a text: B, or with lots the cap of its rows */
	struct method_caps caps; /* tokens of a batch */

	/* q of the lots (dp/amplify.h); 1 = no lots, or all batches are used. */
	long double ratio;
	double batch_delta; /* delta of a batch; without lots that of the run */

	size_t chunk;            /* rows per pass over the prompts */
	size_t reference_tokens; /* a reference is cut to so many tokens */
	size_t slots;            /* texts in flight */
	bool share;              /* contexts share the prefix of their prompts */
	bool room_for_drawn;     /* jobs may have prompts of their own (cuttle/drawn.h) */
	struct cuttle_guarantee guarantee;
};

/* Which tokens a mechanism may draw: [vocabulary], nonzero = may. The caller frees it. NULL: no
 * memory. */
uint8_t *plan_allowed_tokens(const struct model *model);

#endif
