// SPDX-License-Identifier: Apache-2.0
// A plan: everything the guarantee depends on, fixed before a private text is read.
#ifndef CUTTLE_ENGINE_PLAN_H
#define CUTTLE_ENGINE_PLAN_H

#include "dp/account.h"
#include "dp/invisibleink.h"
#include "engine/prompt.h"
#include "engine/seeded.h"

struct cuttle_plan {
	const struct model *model;
	struct prompt *prompts; /* one per heading, at least one */
	size_t prompt_count;
	struct dp_integers integers;       /* of all texts that one unit's references stand in: tokens is T times spread */
	struct dp_invisibleink *mechanism; /* the weight table, checked; one job at a time */
	struct seeded seeded;
	uint32_t sure; /* millionths: a public row at least this sure of its likeliest token draws alone; 0 = never */
	size_t chunk, reference_tokens, slots;
	bool share;
	struct cuttle_guarantee guarantee;
};

/* The status and message of the engine for a status of dp/. */
enum cuttle_status plan_status(enum dp_status status, struct cuttle_error *error);

#endif
