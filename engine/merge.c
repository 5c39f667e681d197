// SPDX-License-Identifier: Apache-2.0
// Greedy pair merging with a binary heap; outdated candidates stay in the heap and are recognised when they come up.
#include "engine/merge.h"

#include "base/misuse.h"

#include <stdlib.h>
#include <string.h>

/* The words of a reference pass through here: what is given up is wiped. */
static void give_up(void *block, size_t size) {
	if (block) explicit_bzero(block, size);
	free(block);
}

bool merge_reserve(struct merge_space *space, size_t count) {
	REQUIRE(count < MERGE_NONE);
	if (count <= space->capacity) return true;
	size_t capacity = count < 64 ? 64 : count;
	if (capacity < space->capacity * 2) capacity = space->capacity * 2;
	// Each merge takes one candidate out and puts at most two in: never more than 2 * count at once.
	if (capacity > SIZE_MAX / 2 / sizeof *space->heap / 2) return false;
	struct merge_symbol *symbols = malloc(capacity * sizeof *symbols);
	struct merge_candidate *heap = malloc(capacity * 2 * sizeof *heap);
	if (!symbols || !heap) {
		free(symbols);
		free(heap);
		return false;
	}
	if (space->capacity) memcpy(symbols, space->symbols, space->capacity * sizeof *symbols);
	merge_free(space);
	*space = (struct merge_space){symbols, heap, capacity, 0};
	return true;
}

void merge_free(struct merge_space *space) {
	give_up(space->symbols, space->capacity * sizeof *space->symbols);
	give_up(space->heap, space->capacity * 2 * sizeof *space->heap);
	*space = (struct merge_space){0};
}

static void push(struct merge_space *space, struct merge_candidate candidate) {
	struct merge_candidate *heap = space->heap;
	size_t child = space->heap_count++;
	for (size_t parent; child > 0; child = parent) {
		parent = (child - 1) / 2;
		if (heap[parent].order <= candidate.order) break;
		heap[child] = heap[parent];
	}
	heap[child] = candidate;
}

static struct merge_candidate pop(struct merge_space *space) {
	struct merge_candidate *heap = space->heap, first = heap[0], last = heap[--space->heap_count];
	size_t hole = 0;
	for (size_t child; (child = 2 * hole + 1) < space->heap_count; hole = child) {
		if (child + 1 < space->heap_count && heap[child + 1].order < heap[child].order) child++;
		if (last.order <= heap[child].order) break;
		heap[hole] = heap[child];
	}
	heap[hole] = last;
	return first;
}

static void consider(struct merge_space *space, uint32_t left, merge_lookup *lookup, const void *rules) {
	if (left == MERGE_NONE || space->symbols[left].next == MERGE_NONE) return;
	const struct merge_symbol *first = &space->symbols[left], *second = &space->symbols[first->next];
	uint32_t rank;
	int32_t id;
	if (lookup(rules, first, second, &rank, &id))
		push(space, (struct merge_candidate){(uint64_t)rank << 32 | left, first->length + second->length, id});
}

void merge_run(struct merge_space *space, size_t count, merge_lookup *lookup, const void *rules) {
	REQUIRE(count <= space->capacity);
	struct merge_symbol *symbols = space->symbols;
	space->heap_count = 0;
	for (size_t i = 0; i < count; i++) {
		symbols[i].previous = i ? (uint32_t)(i - 1) : MERGE_NONE;
		symbols[i].next = i + 1 < count ? (uint32_t)(i + 1) : MERGE_NONE;
	}
	for (size_t i = 0; i + 1 < count; i++) consider(space, (uint32_t)i, lookup, rules);
	while (space->heap_count) {
		struct merge_candidate best = pop(space);
		uint32_t left = (uint32_t)best.order;
		// A symbol only grows and its neighbour only by growing too, so equal length means the very pair that was considered.
		uint32_t right = symbols[left].length ? symbols[left].next : MERGE_NONE;
		if (right == MERGE_NONE || symbols[left].length + symbols[right].length != best.length) continue;
		symbols[left].length = best.length;
		symbols[left].id = best.id;
		symbols[left].next = symbols[right].next;
		if (symbols[right].next != MERGE_NONE) symbols[symbols[right].next].previous = left;
		symbols[right].length = 0;
		consider(space, symbols[left].previous, lookup, rules);
		consider(space, left, lookup, rules);
	}
}
