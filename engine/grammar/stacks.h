// SPDX-License-Identifier: Apache-2.0
// stacks.h: the stacks of an automaton; those that are equal, or equal from some cell down, are
// kept once. No private data.
// A stack is its top cell; cell 0 is the empty stack. A cell is one of three:
//   place of BYTES, count = a node   reads a byte there; only ever on top
//   place of LOOP, count >= 1        the repetition that was begun so many times
//   any place, count 0               where a rule that was called goes on
// Example: in root ::= "[" x{2,5} "]" the second x of "[xx" is  BYTES x, below it LOOP 2.
#ifndef CUTTLE_ENGINE_GRAMMAR_STACKS_H
#define CUTTLE_ENGINE_GRAMMAR_STACKS_H

#include "engine/grammar/program.h"

#define STACKS_REACHES 3         /* reaches of stacks_alike */
#define STACKS_FAILED UINT32_MAX /* out of memory */

struct stack_cell {
	uint32_t place;
	uint32_t count;
	uint32_t below;
	uint32_t shape;                 /* a hash of all places from here down */
	uint64_t rest;                  /* bytes to acceptance, at least */
	uint32_t alike[STACKS_REACHES]; /* of stacks_alike, 0 = not asked yet */
	bool used;
	bool marked; /* by stacks_mark */
};

struct stacks {
	const struct cuttle_grammar *grammar;
	struct stack_cell *cells;
	size_t count, room;
	size_t live;     /* cells in use */
	uint32_t free;   /* a list through `below` of cells that are not in use, 0 = none */
	uint32_t *table; /* hash table of cells, 0 = empty */
	size_t table_room;
	uint32_t *chain; /* scratch of stacks_alike */
	size_t chain_room;
};

bool stacks_begin(struct stacks *stacks, const struct cuttle_grammar *grammar);
void stacks_free(struct stacks *stacks);

/* The stack with this cell on top. Pointers to cells do not outlive it. */
uint32_t stacks_push(struct stacks *stacks, uint32_t place, uint32_t count, uint32_t below);

/* An order of stacks by what they hold: nearest to acceptance first. 0 for equal ones only. */
int stacks_compare(const struct stacks *stacks, uint32_t a, uint32_t b);

/* Whether what may follow b may follow a, too, because they differ in counters alone. With a < 5
 * for b, a {0,9} that was begun three times may do all that one begun five times may. Then a comes
 * before b in the order of stacks_compare. */
bool stacks_cover(const struct stacks *stacks, uint32_t a, uint32_t b);

/* The stack whose counters are as low as they can be, such that the same `reach` bytes may follow.
 * `which` below STACKS_REACHES is a number of this reach, the same at each call. */
uint32_t stacks_alike(struct stacks *stacks, uint32_t stack, size_t reach, size_t which);

/* Forgets all cells of stacks that were not marked since the last call. */
void stacks_mark(struct stacks *stacks, uint32_t stack);
void stacks_sweep(struct stacks *stacks);

#endif
