// SPDX-License-Identifier: Apache-2.0
// seeded.h: the random source behind --insecure-seed. NOT PRIVATE: whoever knows the seed knows
// every "random" bit.
// How: set heading, text and step, and counter = 0, before each draw. The bits are a function of
// seed, heading, text, step and counter. So a resumed run draws what an undisturbed one would have
// drawn.
#ifndef CUTTLE_ENGINE_RUN_PLAN_SEEDED_H
#define CUTTLE_ENGINE_RUN_PLAN_SEEDED_H

#include "dp/entropy.h"

#include <stdint.h>

/* Headings of bits that are no job's, since no job has so many headings: all differ. */
#define SEEDED_COUNTS UINT64_MAX /* of clusters (histogram.c) */
/* UINT64_MAX - 1 was that of the counts of a token prior, which is gone. */
#define SEEDED_ANSWERS (UINT64_MAX - 2) /* votes and sums (votes.c) */
#define SEEDED_LEARNT (UINT64_MAX - 3)  /* the sum over records (learn.c) */
#define SEEDED_PUBLIC (UINT64_MAX - 4)  /* its public texts, with a seed of their own */

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
