// SPDX-License-Identifier: Apache-2.0
// capacity.h: how long contexts may be, how many texts are in flight, and whether memory is enough.
// No private data: it counts for the longest contexts that parameters allow.
// Example: B = 7 is 8 rows a text, so 4 texts are in flight; with 4096 tokens each a 135M model
// needs 3 GB for their contexts, which are mapped, and touched as they grow.
#ifndef CUTTLE_ENGINE_RUN_PLAN_CAPACITY_H
#define CUTTLE_ENGINE_RUN_PLAN_CAPACITY_H

#include "engine/forward/lockstep.h"

enum {
	CAPACITY_CHUNK = 256,         /* rows per pass over the prompts, if not asked for */
	CAPACITY_MOST_CHUNK = 1 << 14 /* the most that may be asked for */
};

/* Sets *context to the tokens of the longest context: as asked, or with 0 the model's, at most
 * 4096. USAGE: that is above the model's. */
enum cuttle_status capacity_context(const struct model *model, uint32_t asked, size_t *context,
                                    struct cuttle_error *error);

/* USAGE: more texts in flight, or rows per pass, are asked for than may be. */
enum cuttle_status capacity_check(uint32_t parallel, uint32_t chunk, struct cuttle_error *error);

/* Texts in flight: as asked; with 0 as many as suit texts of so many places, whose contexts take at
 * most half of the memory available. */
size_t capacity_slots(const struct model *model, size_t places, size_t context, uint32_t asked);

/* Bytes that a job maps beside the model: the lockstep, and lists of `place_tokens` tokens for the
 * private contexts of one text. UINT64_MAX: more than can be counted. */
uint64_t capacity_bytes(const struct model *model, const struct lockstep_params *params,
                        size_t place_tokens);

/* Checks that a job of so many bytes fits the memory that the system has available now. NOMEM: it
 * may not; the message says how much is needed and ends in `advice`. */
enum cuttle_status capacity_fits(uint64_t bytes, const struct lockstep_params *params,
                                 const char *advice, struct cuttle_error *error);

#endif
