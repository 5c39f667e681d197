// SPDX-License-Identifier: Apache-2.0
// The seeded source behind --insecure-seed. Whoever knows the seed knows every "random" bit: its output is NOT PRIVATE. It counts by
// (heading, text, step), so a resumed run draws what an undisturbed one would have drawn.
#ifndef CUTTLE_ENGINE_SEEDED_H
#define CUTTLE_ENGINE_SEEDED_H

#include "dp/entropy.h"

#include <stdint.h>

struct seeded {
	uint64_t seed, heading, text, step, counter;
};

/* The source reads *seeded, which must outlive it; set heading, text, step and counter 0 before each draw. */
struct dp_random seeded_random(struct seeded *seeded);

#endif
