// SPDX-License-Identifier: Apache-2.0
// baselines.h: the published mechanisms RANTEXT, SANTEXT, SANTEXT+, CUSTEXT and CUSTEXT+.
//
// They are there to be compared with. None is counted by a ledger, and RANTEXT's theorem does not
// cover what runs: tests/engine/test_perturb.c shows it. Places, cosines and draws are private;
// sets, lists and the scale of the radius are public.
// All is deterministic given the random bits.
#ifndef CUTTLE_ENGINE_RUN_PERTURB_BASELINES_H
#define CUTTLE_ENGINE_RUN_PERTURB_BASELINES_H

#include "dp/entropy.h"
#include "dp/wide.h"
#include "engine/cuttle/perturb.h"

/* Radii of the sample from which Z is fitted. Their upper tail decides: it has most of the words.
 */
enum { BASELINES_RADII = 4096 };

struct baselines {
	const struct cuttle_words *words;
	enum cuttle_word_method method;
	double epsilon; /* of one word */
	size_t count;   /* V */
	size_t width;   /* d */
	// Public, each for its methods and NULL or 0 for others.
	double *spreads;    /* [d] RANTEXT: greatest less least coordinate of all words */
	double *radii;      /* [BASELINES_RADII] RANTEXT: of Z = 1, a sample, ascending */
	double scale;       /* RANTEXT: Z, as used */
	uint8_t *sensitive; /* [V] SANTEXT+: 1 = always replaced */
	uint64_t keep;      /* SANTEXT+: in units of 2^-40 */
	uint32_t *sets;     /* [V] CUSTEXT: number of the word's set */
	char **stop_words;  /* [stop_word_count] CUSTEXT+: sorted */
	size_t stop_word_count;
	// Private from a draw on, until baselines_wipe.
	unsigned char *scratch;   /* [scratch_size] what follows stands in it */
	size_t scratch_size;      /* bytes */
	struct dp_wide *integers; /* [max(V, 1000)] */
	double *distances;        /* [V] */
	double *weights;          /* [V] */
	uint64_t *bits;           /* [d] */
};

/* Makes the sets, lists and the scale that params->method asks for, and takes all memory that a
 * draw will need. `words` must outlive it. The caller frees *baselines.
 * USAGE: a parameter of the method is out of range. NOMEM. On failure *baselines is NULL. */
enum cuttle_status baselines_new(const struct cuttle_words *words,
                                 const struct cuttle_perturb_params *params,
                                 struct baselines **baselines, struct cuttle_error *error);
/* Frees it and sets the handle to NULL, which it may be before. */
void baselines_free(struct baselines **baselines);

/* Draws the output id of a place, as perturb.h numbers them. cosines: [V] of the word there with
 * all words; not read unless the word is one of the V. DP_NO_ENTROPY: *id is not written. */
enum dp_status baselines_draw(struct baselines *baselines, const struct cuttle_place *place,
                              const float *cosines, const struct dp_random *random, int32_t *id);

/* Wipes what draws left in memory. */
void baselines_wipe(struct baselines *baselines);

/* ---- for tests and benches ------------------------------------------------------------------- */

/* The law of baselines_draw where word `id` stands: law[y] is the chance of output y, law [V].
 * distances: [V] from that word, its own 0; words outside the support become infinite. radius:
 * RANTEXT's, fixed; others ignore it. */
void baselines_law(struct baselines *baselines, uint32_t id, double radius, double *distances,
                   double *law);

/* Distances between unit vectors: sqrt(2 - 2 cosine), and 0 from word `own` to itself. */
void baselines_distances(const float *cosines, size_t count, uint32_t own, double *distances);

#endif
