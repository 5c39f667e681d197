// SPDX-License-Identifier: Apache-2.0
// seeded.h: the random source behind --insecure-seed. NOT PRIVATE: whoever knows the seed knows
// every "random" bit.
// Called by: plan.c, rewrite.c and complete.c give it to the mechanism; generate.c sets its place
// before each draw; bench.c draws random prompts from it. How: set heading, text and step, and
// counter = 0, before each draw. The bits are a function of seed, heading, text, step and counter.
// So a resumed run draws what an undisturbed one would have drawn.
#ifndef CUTTLE_ENGINE_SEEDED_H
#define CUTTLE_ENGINE_SEEDED_H

#include "dp/entropy.h"

#include <stdint.h>

struct seeded {
	uint64_t seed;    /* any number */
	uint64_t heading; /* index of the job's heading */
	uint64_t text;    /* index of the batch */
	uint64_t step;    /* token of the batch, from 0 */
	uint64_t counter; /* 8-byte words drawn in this step so far */
};

/* The source over *seeded. *seeded must outlive it. */
struct dp_random seeded_random(struct seeded *seeded);

#endif
