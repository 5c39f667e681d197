// SPDX-License-Identifier: Apache-2.0
// Greedy pair merging, the common core of both tokenizers: the neighbouring pair of lowest rank is merged, ties by leftmost, until no pair
// is left that the vocabulary knows. O(n log n) on any input.
#ifndef CUTTLE_ENGINE_MERGE_H
#define CUTTLE_ENGINE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MERGE_NONE UINT32_MAX /* no neighbour */

struct merge_symbol {
	uint32_t start, length;  /* bytes of the text it stands for; length 0 = merged into a symbol before it */
	uint32_t previous, next; /* neighbours, MERGE_NONE at the ends */
	int32_t id;              /* token, -1 = none */
	uint32_t rank;           /* of the merge with the next one, MERGE_NONE = none */
	int32_t merged;          /* what that merge makes */
};

enum { MERGE_QUEUES = 3 };

/* Scratch memory, reused from word to word. All zero = empty. */
struct merge_space {
	struct merge_symbol *symbols;
	uint64_t *heap; /* candidates: rank << 32 | left symbol */
	struct merge_queue {
		uint64_t *items; /* ascending from first to end */
		size_t first, end;
	} queues[MERGE_QUEUES];
	size_t capacity, heap_end, heap_most; /* of the heap: behind its last candidate, and the furthest that this has been */
	size_t queue_most[MERGE_QUEUES];
};

/* Room for `count` symbols (their values are kept). False when out of memory; the space stays usable. */
bool merge_reserve(struct merge_space *space, size_t count);
void merge_free(struct merge_space *space);

/* Whether the two neighbours make a token, and which, at which rank (lower goes first). */
typedef bool merge_lookup(const void *rules, const struct merge_symbol *left, const struct merge_symbol *right, uint32_t *rank,
                          int32_t *id);

/* Merges space->symbols[0..count), in which the caller set start, length > 0 and id, side by side; count <= the room reserved.
 * Afterwards symbol 0 and those reached by `next` from it are the result. */
void merge_run(struct merge_space *space, size_t count, merge_lookup *lookup, const void *rules);

#endif
