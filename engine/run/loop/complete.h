// SPDX-License-Identifier: Apache-2.0
// complete.h: a completer, all that is public of its completions, and its jobs.
// Private data: shown texts and completions pass through complete_generate; a completer holds none.
// How: to the loop of generate.h each text is a batch without a private context. Its public context
// is the prompt, which is private here.
#ifndef CUTTLE_ENGINE_RUN_LOOP_COMPLETE_H
#define CUTTLE_ENGINE_RUN_LOOP_COMPLETE_H

#include "engine/cuttle/complete.h"
#include "engine/forward/lockstep.h"
#include "engine/run/plan/prompt.h"
#include "engine/run/plan/seeded.h"
#include "engine/run/plan/stops.h"

struct cuttle_completer {
	const struct model *model;
	struct prompt prompt;
	struct stops stops;   /* a text ends before one of them */
	struct seeded seeded; /* tokens are drawn from it when the completer is insecure */
	bool insecure;
	bool share;   /* contexts share what all prompts begin with */
	size_t chunk; /* rows per pass over the prompts */
	size_t slots; /* texts in flight */
	struct cuttle_completion_limits limits;
};

/* Runs a job as cuttle_completer_run does, over any logit source; NULL: over a lockstep of its own.
 */
enum cuttle_status complete_generate(struct cuttle_completer *completer,
                                     const struct cuttle_complete_job *job,
                                     const struct logit_source *source, struct cuttle_error *error);

#endif
