// SPDX-License-Identifier: Apache-2.0
// plan.h: a plan, everything the guarantee depends on, fixed before a private text is read.
// Called by: users make plans through cuttle.h; generate.c, bench.c and diagnosis.c read them.
// Private data: none, except that the mechanism holds the state of the draw in progress.
// How: cuttle_plan_make checks the params, finds the integers of the guarantee and writes the
// prompts. Then it builds the mechanism and chooses how many texts are in flight.
#ifndef CUTTLE_ENGINE_PLAN_H
#define CUTTLE_ENGINE_PLAN_H

#include "dp/account.h"
#include "dp/invisibleink.h"
#include "engine/run/prompt.h"
#include "engine/run/seeded.h"

struct cuttle_plan {
	const struct model *model;
	struct prompt *prompts; /* [prompt_count] one per heading, or one without headings */
	size_t prompt_count;

	/* What the guarantee is computed from. It is about all texts that one person's references
	 * stand in: integers.tokens is T times spread. Example: T = 200, spread 3: 600. */
	struct dp_integers integers;

	struct dp_invisibleink *mechanism; /* holds the checked weight table; one job at a time */
	struct seeded seeded; /* the mechanism draws from it when the plan is insecure */

	/* In millionths. The public row alone draws when its likeliest token is at least this
	 * probable. Example: 950000 is 0.95. 0 = never. */
	uint32_t sure;

	size_t chunk;            /* rows per pass over the prompts */
	size_t reference_tokens; /* a reference is cut to so many tokens */
	size_t slots;            /* texts in flight */
	bool share;              /* contexts share the prefix of their prompts */
	struct cuttle_guarantee guarantee;
};

/* Turns a status of dp/ into the engine's status, and writes the message that belongs to it. */
enum cuttle_status plan_status(enum dp_status status, struct cuttle_error *error);

#endif
