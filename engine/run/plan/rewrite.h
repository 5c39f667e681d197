// SPDX-License-Identifier: Apache-2.0
// rewrite.h: a rewriter, everything that its guarantee depends on, and its jobs.
// Private data: the contents of marks pass through rewrite_generate; a rewriter holds none.
// How: cuttle_rewriter_make checks the params and writes the prompt. For each number of rows and
// each group it finds the divergence. A job first asks for the groups of all documents, which are
// public, and builds a mechanism for each pattern of divergences among them. Then the loop of
// generate.h draws.
// Example: G = 3 with equal epsilons: at most three patterns, those of 1, 2 and 3 rows.
#ifndef CUTTLE_ENGINE_RUN_PLAN_REWRITE_H
#define CUTTLE_ENGINE_RUN_PLAN_REWRITE_H

#include "dp/fusion.h"
#include "engine/cuttle/rewrite.h"
#include "engine/forward/lockstep.h"
#include "engine/run/plan/prompt.h"
#include "engine/run/plan/rewrite_budget.h"
#include "engine/run/plan/seeded.h"
#include "engine/run/plan/stops.h"

struct cuttle_rewriter {
	const struct model *model;
	struct prompt prompt;
	struct rewrite_terms terms;

	/* [rows - 1][group] divergence of a group in a document of so many rows. */
	double divergences[REWRITE_MOST_GROUPS][REWRITE_MOST_GROUPS];

	struct dp_fusion_params mechanism; /* of all mechanisms, but for places and divergences */
	struct stops stops;                /* a text ends before one of them */
	const struct cuttle_grammar *grammar; /* the caller's; NULL = any text */
	uint8_t *allowed;                     /* [vocabulary] what the mechanism may draw */
	struct seeded seeded; /* mechanisms draw from it when the rewriter is insecure */
	size_t chunk;         /* rows per pass over the prompts */
	size_t slots;         /* documents in flight */
	bool share;           /* contexts share what they have in common */
	struct cuttle_rewrite_guarantee guarantee;
};

/* What a lockstep of this rewriter's documents needs, of `rows` rows each at most. */
struct lockstep_params rewrite_lockstep(const struct cuttle_rewriter *rewriter, uint32_t rows,
                                        size_t slots);

/* Groups of a document: those that are `present`, one bit a group. Writes divergences[rows] of its
 * rows. A bit of no group is a caller bug. */
uint32_t rewrite_groups(const struct cuttle_rewriter *rewriter, uint32_t present,
                        double *divergences);

/* Runs a job as cuttle_rewriter_run does, over any logit source; NULL: over a lockstep of its own.
 */
enum cuttle_status rewrite_generate(struct cuttle_rewriter *rewriter,
                                    const struct cuttle_rewrite_job *job,
                                    const struct logit_source *source, struct cuttle_error *error);

#endif
