// SPDX-License-Identifier: Apache-2.0
// Greedy pair merging by a priority queue of candidates. A new candidate mostly comes behind those before it (a run of one letter offers
// the same merge from left to right), so there are a few queues that are ascending as they are, and a heap for the others. Outdated
// candidates stay where they are and are recognised when they come up: their rank is no longer the symbol's.
#include "engine/merge.h"

#include "base/misuse.h"

#include <stdlib.h>
#include <string.h>

/* The heap's root is where the children of every node begin a cache line: those of node i are 8(i - 6) to 8(i - 6) + 7. */
enum { ROOT = 7, CHILDREN = 8, LINE = CHILDREN * sizeof(uint64_t) };

/* The words of a reference pass through here: what is given up is wiped. What was never used is not touched. */
static void give_up(void *block, size_t size) {
	if (block) explicit_bzero(block, size);
	free(block);
}

bool merge_reserve(struct merge_space *space, size_t count) {
	REQUIRE(count < MERGE_NONE);
	if (count <= space->capacity) return true;
	size_t capacity = count < 64 ? 64 : count;
	if (capacity < space->capacity * 2) capacity = space->capacity * 2;
	if (capacity > SIZE_MAX / 4 / sizeof *space->symbols) return false;
	// Each merge takes one candidate out and puts at most two in: never more than 2 * count at once.
	struct merge_space made = {.capacity = capacity};
	bool there = (made.symbols = malloc(capacity * sizeof *made.symbols)) != NULL;
	there &= (made.heap = aligned_alloc(LINE, (2 * capacity / CHILDREN + 2) * LINE)) != NULL;
	for (size_t i = 0; i < MERGE_QUEUES; i++) there &= (made.queues[i].items = malloc(capacity * sizeof *made.queues[i].items)) != NULL;
	if (there && space->capacity) memcpy(made.symbols, space->symbols, space->capacity * sizeof *made.symbols);
	struct merge_space given_up = there ? *space : made;
	if (!there) given_up.capacity = 0;
	merge_free(&given_up);
	if (there) *space = made;
	return there;
}

void merge_free(struct merge_space *space) {
	give_up(space->symbols, space->capacity * sizeof *space->symbols);
	give_up(space->heap, space->heap_most * sizeof *space->heap);
	for (size_t i = 0; i < MERGE_QUEUES; i++) give_up(space->queues[i].items, space->queue_most[i] * sizeof *space->heap);
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
		const size_t end = child + CHILDREN < space->heap_end ? child + CHILDREN : space->heap_end;
		for (size_t brother = child + 1; brother < end; brother++)
			if (heap[brother] < heap[child]) child = brother;
		if (last <= heap[child]) break;
		heap[hole] = heap[child];
	}
	heap[hole] = last;
	return first;
}

/* Behind the highest last candidate that is not above it, else into an empty queue, else into the heap. */
static void push(struct merge_space *space, uint64_t candidate) {
	size_t best = MERGE_QUEUES;
	uint64_t highest = 0;
	for (size_t i = 0; i < MERGE_QUEUES; i++) {
		const struct merge_queue *queue = &space->queues[i];
		const uint64_t last = queue->end ? queue->items[queue->end - 1] : 0;
		if (queue->end == space->capacity || last > candidate || (best < MERGE_QUEUES && last <= highest)) continue;
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

/* False: there is none left. */
static bool pop(struct merge_space *space, uint64_t *candidate) {
	size_t best = MERGE_QUEUES;
	bool any = space->heap_end > ROOT;
	uint64_t lowest = any ? space->heap[ROOT] : 0;
	for (size_t i = 0; i < MERGE_QUEUES; i++) {
		const struct merge_queue *queue = &space->queues[i];
		if (queue->first == queue->end || (any && queue->items[queue->first] >= lowest)) continue;
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

static void consider(struct merge_space *space, uint32_t left, merge_lookup *lookup, const void *rules) {
	if (left == MERGE_NONE) return;
	struct merge_symbol *first = &space->symbols[left];
	const bool merges = first->next != MERGE_NONE && lookup(rules, first, &space->symbols[first->next], &first->rank, &first->merged);
	if (merges) push(space, (uint64_t)first->rank << 32 | left);
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
	for (size_t i = 0; i < count; i++) consider(space, (uint32_t)i, lookup, rules);
	while (pop(space, &candidate)) {
		struct merge_symbol *left = &symbols[(uint32_t)candidate];
		if (left->rank != candidate >> 32) continue;
		struct merge_symbol *right = &symbols[left->next];
		left->length += right->length;
		left->id = left->merged;
		left->next = right->next;
		if (right->next != MERGE_NONE) symbols[right->next].previous = (uint32_t)candidate;
		right->length = 0;
		right->rank = MERGE_NONE;
		consider(space, left->previous, lookup, rules);
		consider(space, (uint32_t)candidate, lookup, rules);
	}
}
