// SPDX-License-Identifier: Apache-2.0
// partition.c: cuts a list of words into sets of neighbours, see cuttle/words.h.
// Cosines are computed for several words ahead in one product. A word that another set takes in the
// meantime was computed for nothing; what the sets are does not depend on it. No private data.
#include "base/misuse.h"
#include "engine/status.h"
#include "engine/words/words.h"
#include "kernels/pack.h"

#include <stdlib.h>

enum { AHEAD = 32 }; /* words whose cosines are computed at once */

#define UNASSIGNED UINT32_MAX /* no set has this number */

/* A word that may join the set, and its cosine with the first of the set. */
struct neighbour {
	float cosine;
	uint32_t id;
};

/* Whether `a` is nearer than `b`: by cosine, then by the lower id. */
static bool is_nearer(struct neighbour a, struct neighbour b) {
	return a.cosine != b.cosine ? a.cosine > b.cosine : a.id < b.id;
}

/* Puts `one` into the heap of the nearest[count], whose farthest is on top, in the place of it. */
static void replace_farthest(struct neighbour *nearest, size_t count, struct neighbour one) {
	size_t at = 0;
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && is_nearer(nearest[child], nearest[child + 1])) child++;
		if (!is_nearer(one, nearest[child])) break;
		nearest[at] = nearest[child];
	}
	nearest[at] = one;
}

/* Gives number `set` to the word `first` and to the set_size - 1 nearest without a set. */
static void form_set(const float *cosines, size_t count, size_t first, size_t set_size,
                     uint32_t set, struct neighbour *nearest, uint32_t *sets) {
	const size_t wanted = set_size - 1;
	for (size_t i = 0; i < wanted; i++) nearest[i] = (struct neighbour){-2.0f, UINT32_MAX};
	sets[first] = set;
	for (size_t id = first + 1; id < count; id++) {
		const struct neighbour one = {cosines[id], (uint32_t)id};
		if (sets[id] == UNASSIGNED && is_nearer(one, nearest[0]))
			replace_farthest(nearest, wanted, one);
	}
	for (size_t i = 0; i < wanted; i++)
		if (nearest[i].id != UINT32_MAX) sets[nearest[i].id] = set;
}

enum cuttle_status cuttle_words_partition(const struct cuttle_words *words, size_t set_size,
                                          uint32_t *sets, struct cuttle_error *error) {
	REQUIRE(words && sets && set_size >= 2 && set_size <= words->count);
	const size_t count = words->count, d = words->width;
	float *cosines = malloc(AHEAD * count * sizeof *cosines);
	float *vectors = malloc(AHEAD * d * sizeof *vectors);
	struct neighbour *nearest = malloc(set_size * sizeof *nearest);
	uint32_t set = 0;
	for (size_t i = 0; i < count; i++) sets[i] = UNASSIGNED;
	for (size_t at = 0; cosines && vectors && nearest && at < count;) {
		size_t ids[AHEAD], some = 0;
		for (; at < count && some < AHEAD; at++)
			if (sets[at] == UNASSIGNED) {
				pack_row(&words->rows, at, vectors + some * d);
				ids[some++] = at;
			}
		cuttle_words_cosines(words, vectors, some, cosines);
		for (size_t i = 0; i < some; i++)
			if (sets[ids[i]] == UNASSIGNED)
				form_set(cosines + i * count, count, ids[i], set_size, set++,
				         nearest, sets);
	}
	const bool ok = cosines && vectors && nearest;
	free(cosines);
	free(vectors);
	free(nearest);
	return ok ? CUTTLE_OK
	          : status_fail(error, CUTTLE_NOMEM, "out of memory for cutting words into sets");
}
