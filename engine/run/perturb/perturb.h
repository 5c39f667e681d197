// SPDX-License-Identifier: Apache-2.0
// perturb.h: what a perturber holds, for perturb.c and for tests that bring their own random bits.
// Private data: the scratch memory, while cuttle_perturb is under way. It is wiped before it ends.
#ifndef CUTTLE_ENGINE_RUN_PERTURB_PERTURB_H
#define CUTTLE_ENGINE_RUN_PERTURB_PERTURB_H

#include "dp/rank.h"
#include "engine/cuttle/perturb.h"
#include "engine/run/plan/seeded.h"
#include "engine/run/perturb/baselines.h"

/* Places whose words are looked at together: one pass over all vectors serves them. */
enum { PERTURB_BLOCK = 64 };

struct cuttle_perturber {
	const struct cuttle_words *words;
	const struct cuttle_model *model;    /* NULL = unknown words are null */
	struct cuttle_perturb_params params; /* the lists in it are NULL: baselines have copies */
	size_t count;                        /* V */
	size_t width;                        /* d */
	struct dp_rank *rank;                /* CUTTLE_RANK; else NULL */
	struct baselines *baselines;         /* all other methods; else NULL */
	struct seeded seeded;                /* insecure only */
	struct dp_random random;             /* what every draw reads */
	// Private, and wiped after each call.
	unsigned char *scratch; /* [scratch_size] what follows stands in it */
	size_t scratch_size;    /* bytes */
	float *vectors;         /* [PERTURB_BLOCK][d] of the words there; zeros for null */
	int32_t *keys;          /* [workers][V] */
	float *cosines;         /* [PERTURB_BLOCK][V]; last in the scratch */
};

#endif
