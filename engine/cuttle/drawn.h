// SPDX-License-Identifier: Apache-2.0
// drawn.h: texts that a plan drew before, shown by its prompts as further examples.
// So texts are written in rounds, with a plan (plan.h) and its jobs (job.h).
// No private data: these texts were drawn under the plan's guarantee.
// How: the plan is told how many of them a prompt may show, so that it keeps room for them. A job
// then says which ones, for each of its texts. Public and private prompts of a text show the same
// ones: else the public row would not be the row of a null reference (dp/PRIVACY.md, step 42).
// Example: 4 places and 1 drawn text: the first 3 public examples, then that text.
#ifndef CUTTLE_DRAWN_H
#define CUTTLE_DRAWN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A drawn text is cut to so many tokens in a prompt. */
enum { CUTTLE_DRAWN_TOKENS = 128 };

/* A prompt with `count` of these texts shows the first places - count of its public examples, then
 * these. */
struct cuttle_drawn {
	const char *const *texts; /* [count]; NULL in cuttle_plan_make, which keeps room */
	size_t count;             /* with texts NULL: how many a prompt may show; 1 to places - 1 */
	size_t places;            /* E: at least the number of public examples */
};

#ifdef __cplusplus
}
#endif

#endif
