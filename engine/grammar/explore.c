// SPDX-License-Identifier: Apache-2.0
// explore.c: see explore.h. No private data.
// A called rule or a repetition that took no byte is left again: what follows from that was found
// without it. `fresh` knows: the cell was put on top since the last byte. So no way is without end,
// though parts may be empty.
#include "engine/grammar/explore.h"

#include <stdlib.h>
#include <string.h>

enum { EXPLORE_SEEN = 1024 };

bool explore_begin(struct explore *explore, struct stacks *stacks) {
	explore->stacks = stacks;
	explore->seen = calloc(EXPLORE_SEEN, sizeof *explore->seen);
	explore->seen_room = EXPLORE_SEEN;
	return explore->seen != NULL;
}

void explore_free(struct explore *explore) {
	free(explore->items);
	free(explore->seen);
}

void explore_clear(struct explore *explore) {
	explore->round++;
	if (!explore->round) { // round numbers begin anew
		memset(explore->seen, 0, explore->seen_room * sizeof *explore->seen);
		explore->round = 1;
	}
	explore->item_count = explore->seen_count = explore->found_count = 0;
	explore->accepts = explore->crowded = false;
}

/* ---- what was looked at ---------------------------------------------------------------------- */

static struct explore_seen *find_seen(const struct explore *explore,
                                      const struct explore_item *item) {
	uint64_t hash = ((uint64_t)item->place << 32 | item->stack) * 0x9e3779b97f4a7c15u;
	hash = (hash ^ hash >> 31 ^ item->fresh) * 0xbf58476d1ce4e5b9u;
	size_t slot = (size_t)(hash ^ hash >> 32) & (explore->seen_room - 1);
	for (;; slot = (slot + 1) & (explore->seen_room - 1)) {
		struct explore_seen *seen = explore->seen + slot;
		if (seen->round != explore->round || !memcmp(&seen->item, item, sizeof *item))
			return seen;
	}
}

static void widen_seen(struct explore *explore) {
	struct explore_seen *before = explore->seen;
	const size_t room = explore->seen_room;
	struct explore_seen *wider = calloc(room * 2, sizeof *wider);
	if (!wider) {
		explore->failed = true;
		return;
	}
	explore->seen = wider;
	explore->seen_room = room * 2;
	for (size_t i = 0; i < room; i++)
		if (before[i].round == explore->round)
			*find_seen(explore, &before[i].item) = before[i];
	free(before);
}

/* Whether this is the first time in this round. */
static bool is_new(struct explore *explore, const struct explore_item *item) {
	if (explore->seen_count * 2 >= explore->seen_room) widen_seen(explore);
	if (explore->failed) return false;
	struct explore_seen *seen = find_seen(explore, item);
	if (seen->round == explore->round) return false;
	*seen = (struct explore_seen){*item, explore->round};
	explore->seen_count++;
	return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

void explore_add(struct explore *explore, uint32_t stack) {
	if (stack == STACKS_FAILED) explore->failed = true;
	else if (explore->found_count < EXPLORE_FOUND)
		explore->found[explore->found_count++] = stack;
}

static void put_item(struct explore *explore, uint32_t place, uint32_t stack, uint32_t fresh) {
	if (stack == STACKS_FAILED || !tree_grow((void **)&explore->items, &explore->item_room,
	                                         explore->item_count + 1, sizeof *explore->items))
		explore->failed = true;
	else explore->items[explore->item_count++] = (struct explore_item){place, stack, fresh};
}

static void step_call(struct explore *explore, const struct program_op *op,
                      const struct explore_item *item) {
	if (op->tail) put_item(explore, op->a, item->stack, item->fresh);
	else
		put_item(explore, op->a, stacks_push(explore->stacks, op->b, 0, item->stack),
		         item->fresh + 1);
	if (op->skip) put_item(explore, op->b, item->stack, item->fresh);
}

/* The loop at `place` was begun so many times, on the stack `below`. */
static void step_loop(struct explore *explore, uint32_t place, uint32_t begun, uint32_t below,
                      uint32_t fresh) {
	const struct cuttle_grammar *grammar = explore->stacks->grammar;
	const struct program_loop *loop = grammar->loops + grammar->ops[place].a;
	uint32_t next = begun + 1;
	// Without a limit it is enough to know that the least was reached.
	if (loop->most == TREE_UNLIMITED && next > loop->least)
		next = loop->least ? loop->least : 1;
	if (begun < loop->most)
		put_item(explore, loop->body, stacks_push(explore->stacks, place, next, below),
		         fresh + 1);
	if (begun >= loop->least) put_item(explore, loop->behind, below, fresh);
}

/* A rule or the body of a repetition ends: the cell on top says where it goes on. */
static void step_end(struct explore *explore, const struct explore_item *item) {
	if (item->fresh) return;
	if (!item->stack) {
		explore->accepts = true;
		return;
	}
	const struct stack_cell cell = explore->stacks->cells[item->stack];
	if (cell.count) step_loop(explore, cell.place, cell.count, cell.below, 0);
	else put_item(explore, cell.place, cell.below, 0);
}

static void step_item(struct explore *explore, const struct explore_item *item) {
	const struct cuttle_grammar *grammar = explore->stacks->grammar;
	const struct program_op *op = grammar->ops + item->place;
	switch ((enum program_kind)op->kind) {
	case PROGRAM_BYTES:
		explore_add(explore, stacks_push(explore->stacks, item->place, op->a, item->stack));
		break;
	case PROGRAM_CALL:
		step_call(explore, op, item);
		break;
	case PROGRAM_GO:
		put_item(explore, op->a, item->stack, item->fresh);
		break;
	case PROGRAM_FORK: // the first target is looked at first
		for (uint32_t i = op->b; i--;)
			put_item(explore, grammar->targets[op->a + i], item->stack, item->fresh);
		break;
	case PROGRAM_LOOP:
		step_loop(explore, item->place, 0, item->stack, item->fresh);
		break;
	case PROGRAM_AGAIN:
	case PROGRAM_RETURN:
		step_end(explore, item);
		break;
	}
}

void explore_from(struct explore *explore, uint32_t place, uint32_t stack) {
	put_item(explore, place, stack, 0);
	while (explore->item_count && !explore->failed) {
		const struct explore_item item = explore->items[--explore->item_count];
		if (!is_new(explore, &item)) continue;
		step_item(explore, &item);
		const bool found = explore->found_count || explore->accepts;
		if (explore->found_count == EXPLORE_FOUND ||
		    (found && explore->seen_count > EXPLORE_STEPS))
			break;
	}
	explore->item_count = 0;
	// Stacks that only differ in counters count once for automaton_alike, and here each.
	explore->crowded |= explore->found_count > EXPLORE_FOUND / 2 / EXPLORE_FEW ||
	                    explore->seen_count > EXPLORE_STEPS / EXPLORE_FEW;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Sorts by merging runs of 1, 2, 4, ... stacks. */
static void sort_found(struct explore *explore) {
	const struct stacks *stacks = explore->stacks;
	const size_t count = explore->found_count;
	uint32_t *from = explore->found, *to = explore->other;
	for (size_t run = 1; run < count; run *= 2) {
		for (size_t begin = 0; begin < count; begin += 2 * run) {
			const size_t middle = begin + run < count ? begin + run : count;
			const size_t end = middle + run < count ? middle + run : count;
			for (size_t i = begin, j = middle, k = begin; k < end; k++) {
				const bool left =
				    j == end ||
				    (i < middle && stacks_compare(stacks, from[i], from[j]) <= 0);
				to[k] = left ? from[i++] : from[j++];
			}
		}
		uint32_t *swapped = from;
		from = to;
		to = swapped;
	}
	if (from != explore->found) memcpy(explore->found, from, count * sizeof *from);
}

/* Where the kept stacks of this shape are in the table of `room` slots, or belong. */
static size_t slot_of_shape(const struct explore *explore, size_t room, uint32_t shape) {
	const struct stack_cell *cells = explore->stacks->cells;
	size_t slot = (shape ^ shape >> 15) & (room - 1);
	while (explore->first[slot] &&
	       cells[explore->found[explore->first[slot] - 1]].shape != shape)
		slot = (slot + 1) & (room - 1);
	return slot;
}

static bool covered_before(const struct explore *explore, size_t kept, size_t slot,
                           uint32_t stack) {
	unsigned compared = 0;
	for (size_t i = explore->first[slot]; i && compared < EXPLORE_COVERS;
	     i = explore->next[i], compared++)
		if (stacks_cover(explore->stacks, explore->found[i - 1], stack)) return true;
	// Equal stacks stand beside each other.
	return kept && explore->found[kept - 1] == stack;
}

/* The stack becomes the last one of its shape. */
static void keep_stack(struct explore *explore, size_t kept, size_t slot, uint32_t stack) {
	const uint16_t number = (uint16_t)(kept + 1);
	explore->found[kept] = stack;
	explore->next[number] = 0;
	if (!explore->first[slot]) explore->first[slot] = number;
	else explore->next[explore->last[explore->first[slot]]] = number;
	explore->last[explore->first[slot]] = number;
}

void explore_settle(struct explore *explore, size_t most) {
	sort_found(explore);
	size_t kept = 0, room = 2;
	while (room < 2 * explore->found_count) room *= 2;
	memset(explore->first, 0, room * sizeof *explore->first);
	for (size_t i = 0; i < explore->found_count && kept < most; i++) {
		const uint32_t stack = explore->found[i];
		const size_t slot =
		    slot_of_shape(explore, room, explore->stacks->cells[stack].shape);
		if (!covered_before(explore, kept, slot, stack))
			keep_stack(explore, kept++, slot, stack);
	}
	explore->found_count = kept;
}
