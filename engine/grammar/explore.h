// SPDX-License-Identifier: Apache-2.0
// explore.h: from where a byte was read to all stacks that read the next one. No private data.
#ifndef CUTTLE_ENGINE_GRAMMAR_EXPLORE_H
#define CUTTLE_ENGINE_GRAMMAR_EXPLORE_H

#include "engine/grammar/stacks.h"

enum {
	EXPLORE_FOUND = 2048,  /* stacks that are looked for, at most */
	EXPLORE_STEPS = 65536, /* after so many steps one stack is enough */
	EXPLORE_FEW = 8,       /* stacks of a state that automaton_alike may be asked for */
	EXPLORE_COVERS = 64    /* stacks of the same shape that one is compared with, at most */
};

struct explore_item {
	uint32_t place;
	uint32_t stack;
	uint32_t fresh; /* cells on top that no byte was read on */
};
struct explore_seen {
	struct explore_item item;
	uint32_t round;
};

struct explore {
	struct stacks *stacks;
	struct explore_item *items; /* to be looked at, the next one last */
	size_t item_count, item_room;
	struct explore_seen *seen; /* hash table of what was looked at in this round */
	size_t seen_room, seen_count;
	uint32_t round;
	uint32_t found[EXPLORE_FOUND + 1]; /* the stacks */
	uint32_t other[EXPLORE_FOUND + 1]; /* scratch */
	size_t found_count;
	/* What was kept, by shape: 1 + the nearest one's number in a hash table, and behind each
	   the next one and, for the nearest, the last one. */
	uint16_t first[2 * EXPLORE_FOUND];
	uint16_t next[EXPLORE_FOUND + 1];
	uint16_t last[EXPLORE_FOUND + 1];
	bool accepts; /* the text may end */
	bool crowded;
	bool failed; /* out of memory */
};

bool explore_begin(struct explore *explore, struct stacks *stacks);
void explore_free(struct explore *explore);

/* A new round: nothing is found yet. */
void explore_clear(struct explore *explore);
/* A stack that reads a byte now. */
void explore_add(struct explore *explore, uint32_t stack);
/* All stacks that read a byte after this place, with that stack. Those nearest to acceptance are
 * found first. */
void explore_from(struct explore *explore, uint32_t place, uint32_t stack);
/* Puts what was found into the order of stacks_compare, each once, without those that one of
 * the EXPLORE_COVERS nearest of their shape covers, and at most `most`. */
void explore_settle(struct explore *explore, size_t most);

#endif
