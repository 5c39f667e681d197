// SPDX-License-Identifier: Apache-2.0
// The candidates for the next merge are in a priority queue. A new candidate is mostly higher than
// those before it: a run of one letter offers the same merge from left to right. So there are three
// queues, each ascending because candidates are only appended, and a heap for the others. A merge
// makes some candidates outdated. They stay where they are until they come up: then their rank is
// no longer their symbol's, and they are skipped.
//
// The heap. Each node has eight children, and the eight are one cache line of 64 bytes. For that
// the root is heap[7]; heap[0..6] are unused. The root's children are heap[8..15], those of heap[8]
// are heap[16..23], those of heap[9] are heap[24..31].
#include "engine/text/merge.h"

#include "base/misuse.h"

#include <stdlib.h>
#include <string.h>

/* The children of heap[i] begin at heap[CHILDREN * (i - ROOT + 1)]. */
enum {
	ROOT = 7,                          /* index of the heap's root */
	CHILDREN = 8,                      /* children of a node */
	LINE = CHILDREN * sizeof(uint64_t) /* bytes of a cache line */
};

/* The words of a reference pass through here, so what is freed is wiped: the first `size` bytes.
 * Callers leave out what was never used, for wiping it would make it resident. */
static void wipe_and_free(void *block, size_t size) {
	if (block) explicit_bzero(block, size);
	free(block);
}

bool merge_reserve(struct merge_space *space, size_t count) {
	REQUIRE(count < MERGE_NONE);
	if (count <= space->capacity) return true;
	size_t capacity = count < 64 ? 64 : count;
	if (capacity < space->capacity * 2) capacity = space->capacity * 2;
	if (capacity > SIZE_MAX / 4 / sizeof *space->symbols) return false;
	// At first there are at most count - 1 candidates. Each of at most count - 1 merges takes
	// one out and adds at most two. So there are never more than 2 * count at once.
	struct merge_space made = {.capacity = capacity};
	bool there = (made.symbols = malloc(capacity * sizeof *made.symbols)) != NULL;
	there &= (made.heap = aligned_alloc(LINE, (2 * capacity / CHILDREN + 2) * LINE)) != NULL;
	for (size_t i = 0; i < MERGE_QUEUES; i++)
		there &= (made.queues[i].items = malloc(capacity * sizeof *made.queues[i].items)) !=
		         NULL;
	if (there && space->capacity)
		memcpy(made.symbols, space->symbols, space->capacity * sizeof *made.symbols);
	struct merge_space given_up = there ? *space : made;
	if (!there) given_up.capacity = 0;
	merge_free(&given_up);
	if (there) *space = made;
	return there;
}

void merge_free(struct merge_space *space) {
	wipe_and_free(space->symbols, space->capacity * sizeof *space->symbols);
	wipe_and_free(space->heap, space->heap_most * sizeof *space->heap);
	for (size_t i = 0; i < MERGE_QUEUES; i++)
		wipe_and_free(space->queues[i].items, space->queue_most[i] * sizeof *space->heap);
	*space = (struct merge_space){0};
}

static void push_heap(struct merge_space *space, uint64_t candidate) {
	uint64_t *heap = space->heap;
	size_t child = space->heap_end++;
	if (space->heap_end > space->heap_most) space->heap_most = space->heap_end;
	for (size_t parent; child > ROOT; child = parent) {
		parent = child / CHILDREN + ROOT - 1;
		if (heap[parent] <= candidate) break;
		heap[child] = heap[parent];
	}
	heap[child] = candidate;
}

static uint64_t pop_heap(struct merge_space *space) {
	uint64_t *heap = space->heap;
	const uint64_t first = heap[ROOT], last = heap[--space->heap_end];
	size_t hole = ROOT;
	for (size_t child; (child = CHILDREN * (hole - ROOT + 1)) < space->heap_end; hole = child) {
		const size_t end =
		    child + CHILDREN < space->heap_end ? child + CHILDREN : space->heap_end;
		for (size_t sibling = child + 1; sibling < end; sibling++)
			if (heap[sibling] < heap[child]) child = sibling;
		if (last <= heap[child]) break;
		heap[hole] = heap[child];
	}
	heap[hole] = last;
	return first;
}

/* Appends the candidate to a queue that ends in a lower or equal one; of several, to the one that
 * ends highest. An empty queue is the second choice, the heap the last. With queues that end in 5,
 * 9 and 20, candidate 12 goes behind the 9, and candidate 3 into the heap. A full queue takes none.
 */
static void push_candidate(struct merge_space *space, uint64_t candidate) {
	size_t best = MERGE_QUEUES;
	uint64_t highest = 0;
	for (size_t i = 0; i < MERGE_QUEUES; i++) {
		const struct merge_queue *queue = &space->queues[i];
		const uint64_t last = queue->end ? queue->items[queue->end - 1] : 0;
		if (queue->end == space->capacity || last > candidate ||
		    (best < MERGE_QUEUES && last <= highest))
			continue;
		best = i;
		highest = last;
	}
	if (best == MERGE_QUEUES) {
		push_heap(space, candidate);
		return;
	}
	struct merge_queue *queue = &space->queues[best];
	queue->items[queue->end++] = candidate;
	if (queue->end > space->queue_most[best]) space->queue_most[best] = queue->end;
}

/* Takes out the lowest candidate of queues and heap. False when none is left. */
static bool pop_candidate(struct merge_space *space, uint64_t *candidate) {
	size_t best = MERGE_QUEUES;
	bool any = space->heap_end > ROOT;
	uint64_t lowest = any ? space->heap[ROOT] : 0;
	for (size_t i = 0; i < MERGE_QUEUES; i++) {
		const struct merge_queue *queue = &space->queues[i];
		if (queue->first == queue->end || (any && queue->items[queue->first] >= lowest))
			continue;
		best = i;
		any = true;
		lowest = queue->items[queue->first];
	}
	*candidate = lowest;
	if (!any) return false;
	if (best == MERGE_QUEUES) {
		(void)pop_heap(space);
		return true;
	}
	struct merge_queue *queue = &space->queues[best];
	if (++queue->first == queue->end) queue->first = queue->end = 0;
	return true;
}

/* Makes a candidate of the symbol `left` and the next one, if the vocabulary merges them. */
static void consider_pair(struct merge_space *space, uint32_t left, merge_lookup *lookup,
                          const void *rules) {
	if (left == MERGE_NONE) return;
	struct merge_symbol *first = &space->symbols[left];
	const bool merges =
	    first->next != MERGE_NONE &&
	    lookup(rules, first, &space->symbols[first->next], &first->rank, &first->merged);
	if (merges) push_candidate(space, (uint64_t)first->rank << 32 | left);
	else first->rank = MERGE_NONE;
}

void merge_run(struct merge_space *space, size_t count, merge_lookup *lookup, const void *rules) {
	REQUIRE(count <= space->capacity);
	struct merge_symbol *symbols = space->symbols;
	uint64_t candidate;
	space->heap_end = ROOT;
	for (size_t i = 0; i < count; i++) {
		symbols[i].previous = i ? (uint32_t)(i - 1) : MERGE_NONE;
		symbols[i].next = i + 1 < count ? (uint32_t)(i + 1) : MERGE_NONE;
	}
	for (size_t i = 0; i < count; i++) consider_pair(space, (uint32_t)i, lookup, rules);
	while (pop_candidate(space, &candidate)) {
		struct merge_symbol *left = &symbols[(uint32_t)candidate];
		if (left->rank != candidate >> 32) continue; // outdated
		struct merge_symbol *right = &symbols[left->next];
		left->length += right->length;
		left->id = left->merged;
		left->next = right->next;
		if (right->next != MERGE_NONE) symbols[right->next].previous = (uint32_t)candidate;
		right->length = 0;
		right->rank = MERGE_NONE;
		consider_pair(space, left->previous, lookup, rules);
		consider_pair(space, (uint32_t)candidate, lookup, rules);
	}
}
