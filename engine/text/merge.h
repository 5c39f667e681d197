// SPDX-License-Identifier: Apache-2.0
// merge.h: greedy pair merging, which both tokenizers (BPE, SentencePiece) have in common.
// Of all neighbouring pairs that the vocabulary knows, the one with the lowest rank is merged, the
// leftmost of equals; again, until no such pair is left. O(n log n) on any input. With the rules
// "l o" of rank 0 and "lo w" of rank 1, the symbols l o w o become lo w o, then low o.
// Private text passes through: all memory that held some is wiped before it is freed.
//     struct merge_space space = {0};
//     merge_reserve(&space, 4);       // then the caller sets space.symbols[0..3]
//     merge_run(&space, 4, lookup, rules);
//     merge_free(&space);
#ifndef CUTTLE_ENGINE_MERGE_H
#define CUTTLE_ENGINE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MERGE_NONE UINT32_MAX /* no neighbour, or no merge */

struct merge_symbol {
	uint32_t start;    /* where its text begins, in bytes */
	uint32_t length;   /* bytes of its text; 0 = merged into a symbol before it */
	uint32_t previous; /* index of the symbol before it, MERGE_NONE at the beginning */
	uint32_t next;     /* index of the symbol after it, MERGE_NONE at the end */
	int32_t id;        /* its token, -1 = none */
	uint32_t rank;     /* rank of the merge with the next symbol, MERGE_NONE = none */
	int32_t merged;    /* the token that this merge makes */
};

enum { MERGE_QUEUES = 3 }; /* see merge.c */

/* Scratch memory, reused from word to word. All zero = empty. A candidate is a merge that may come
 * next: rank << 32 | index of the left symbol. The lowest one comes next. */
struct merge_space {
	struct merge_symbol *symbols; /* [capacity] */
	uint64_t *heap;               /* candidates that fit into no queue */
	struct merge_queue {
		uint64_t *items; /* [capacity]; the candidates first .. end-1 are ascending */
		size_t first;
		size_t end;
	} queues[MERGE_QUEUES];
	size_t capacity;                 /* symbols there is room for */
	size_t heap_end;                 /* index after the heap's last candidate */
	size_t heap_most;                /* the highest heap_end so far: what must be wiped */
	size_t queue_most[MERGE_QUEUES]; /* the highest `end` of each queue so far */
};

/* Makes room for `count` symbols, count < 2^32 - 1. The symbols keep their values. False when out
 * of memory; the space stays usable. */
bool merge_reserve(struct merge_space *space, size_t count);

/* Wipes and frees the memory, and makes the space empty. */
void merge_free(struct merge_space *space);

/* True when two neighbours make a token. Then it sets *rank (lower goes first) and *id. */
typedef bool merge_lookup(const void *rules, const struct merge_symbol *left,
                          const struct merge_symbol *right, uint32_t *rank, int32_t *id);

/* Merges space->symbols[0..count). The caller set their start, length > 0 and id, side by side in
 * the text; count <= the room reserved. Afterwards symbol 0 and those reached from it by `next` are
 * the result. */
void merge_run(struct merge_space *space, size_t count, merge_lookup *lookup, const void *rules);

#endif
