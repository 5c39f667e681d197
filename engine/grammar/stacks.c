// SPDX-License-Identifier: Apache-2.0
// stacks.c: see stacks.h. No private data.
#include "engine/grammar/stacks.h"

#include <stdlib.h>
#include <string.h>

enum { STACKS_TABLE = 1024 };

bool stacks_begin(struct stacks *stacks, const struct cuttle_grammar *grammar) {
	*stacks = (struct stacks){.grammar = grammar, .count = 1, .table_room = STACKS_TABLE};
	stacks->table = calloc(STACKS_TABLE, sizeof *stacks->table);
	if (!stacks->table ||
	    !tree_grow((void **)&stacks->cells, &stacks->room, 1, sizeof *stacks->cells))
		return false;
	stacks->cells[0] = (struct stack_cell){.used = true};
	return true;
}

void stacks_free(struct stacks *stacks) {
	free(stacks->cells);
	free(stacks->table);
	free(stacks->chain);
	*stacks = (struct stacks){0};
}

/* ---- one cell for equal ones ----------------------------------------------------------------- */

static size_t slot_of_cell(const struct stacks *stacks, uint32_t place, uint32_t count,
                           uint32_t below) {
	uint64_t hash = ((uint64_t)place << 32 | below) * 0x9e3779b97f4a7c15u;
	hash = (hash ^ hash >> 31 ^ count) * 0xbf58476d1ce4e5b9u;
	size_t slot = (size_t)(hash ^ hash >> 32) & (stacks->table_room - 1);
	for (; stacks->table[slot]; slot = (slot + 1) & (stacks->table_room - 1)) {
		const struct stack_cell *cell = stacks->cells + stacks->table[slot];
		if (cell->place == place && cell->count == count && cell->below == below) break;
	}
	return slot;
}

static void fill_table(struct stacks *stacks) {
	memset(stacks->table, 0, stacks->table_room * sizeof *stacks->table);
	for (size_t i = 1; i < stacks->count; i++) {
		const struct stack_cell *cell = stacks->cells + i;
		if (cell->used)
			stacks->table[slot_of_cell(stacks, cell->place, cell->count, cell->below)] =
			    (uint32_t)i;
	}
}

static bool widen_cells(struct stacks *stacks) {
	if ((stacks->live + 1) * 2 < stacks->table_room) return true;
	uint32_t *wider = malloc(stacks->table_room * 2 * sizeof *wider);
	if (!wider) return false;
	free(stacks->table);
	stacks->table = wider;
	stacks->table_room *= 2;
	fill_table(stacks);
	return true;
}

static uint32_t take_cell(struct stacks *stacks) {
	const uint32_t cell = stacks->free;
	if (cell) {
		stacks->free = stacks->cells[cell].below;
		return cell;
	}
	if (!tree_grow((void **)&stacks->cells, &stacks->room, stacks->count + 1,
	               sizeof *stacks->cells))
		return STACKS_FAILED;
	return (uint32_t)stacks->count++;
}

/* Bytes to the end of what this cell stands for, without those below. */
static uint64_t rest_of_cell(const struct cuttle_grammar *grammar, uint32_t place, uint32_t count) {
	const struct program_op *op = grammar->ops + place;
	if (!count) return op->rest;
	if (op->kind == PROGRAM_BYTES)
		return op->rest - grammar->nodes[op->a].least + grammar->nodes[count].least;
	const struct program_loop *loop = grammar->loops + op->a;
	const uint64_t lacks = count < loop->least ? loop->least - count : 0;
	return lacks * loop->cost + grammar->ops[loop->behind].rest;
}

uint32_t stacks_push(struct stacks *stacks, uint32_t place, uint32_t count, uint32_t below) {
	const size_t slot = slot_of_cell(stacks, place, count, below);
	if (stacks->table[slot]) return stacks->table[slot];
	if (!widen_cells(stacks)) return STACKS_FAILED;
	const uint32_t number = take_cell(stacks);
	if (number == STACKS_FAILED) return number;
	const struct stack_cell *under = stacks->cells + below;
	const uint64_t rest = rest_of_cell(stacks->grammar, place, count);
	stacks->cells[number] = (struct stack_cell){
	    .place = place,
	    .count = count,
	    .below = below,
	    .shape = (under->shape ^ place) * 0x9e3779b1u + 1,
	    .rest = rest > UINT64_MAX / 2 - under->rest ? UINT64_MAX / 2 : rest + under->rest,
	    .used = true,
	};
	stacks->table[slot_of_cell(stacks, place, count, below)] = number;
	stacks->live++;
	return number;
}

/* ---- comparisons ----------------------------------------------------------------------------- */

#define ORDER(x, y)                                                                                \
	if ((x) != (y)) return (x) < (y) ? -1 : 1

int stacks_compare(const struct stacks *stacks, uint32_t a, uint32_t b) {
	while (a != b) {
		if (!a || !b) return a ? 1 : -1;
		const struct stack_cell *x = stacks->cells + a, *y = stacks->cells + b;
		ORDER(x->rest, y->rest);
		ORDER(x->place, y->place);
		ORDER(x->count, y->count);
		a = x->below;
		b = y->below;
	}
	return 0;
}

bool stacks_cover(const struct stacks *stacks, uint32_t a, uint32_t b) {
	const struct cuttle_grammar *grammar = stacks->grammar;
	if (stacks->cells[a].shape != stacks->cells[b].shape) return false;
	while (a != b) {
		if (!a || !b) return false;
		const struct stack_cell *x = stacks->cells + a, *y = stacks->cells + b;
		if (x->place != y->place) return false;
		a = x->below;
		b = y->below;
		if (x->count == y->count) continue;
		const struct program_op *op = grammar->ops + x->place;
		if (op->kind != PROGRAM_LOOP || !x->count || !y->count) return false;
		const struct program_loop *loop = grammar->loops + op->a;
		if (loop->most == TREE_UNLIMITED ? x->count < y->count
		                                 : x->count > y->count || x->count < loop->least)
			return false;
	}
	return true;
}

/* ---- counters that are far from their limits ------------------------------------------------- */

static uint32_t count_alike(const struct cuttle_grammar *grammar, const struct stack_cell *cell,
                            size_t reach) {
	const struct program_op *op = grammar->ops + cell->place;
	if (op->kind != PROGRAM_LOOP || !cell->count) return cell->count;
	const struct program_loop *loop = grammar->loops + op->a;
	const uint32_t lacks = cell->count < loop->least ? loop->least - cell->count : 0;
	// At most so many repetitions begin within `reach` bytes: of 3 bytes each 4 within 10.
	const uint64_t begun = 1 + (reach - 1) / (loop->cost ? loop->cost : 1);
	if (loop->most != TREE_UNLIMITED && loop->most - cell->count <= begun) return cell->count;
	if (lacks > begun) return 1;
	return lacks ? cell->count : loop->least > 1 ? loop->least : 1;
}

uint32_t stacks_alike(struct stacks *stacks, uint32_t stack, size_t reach, size_t which) {
	size_t depth = 0;
	for (; stack && !stacks->cells[stack].alike[which]; stack = stacks->cells[stack].below) {
		if (!tree_grow((void **)&stacks->chain, &stacks->chain_room, depth + 1,
		               sizeof *stacks->chain))
			return STACKS_FAILED;
		stacks->chain[depth++] = stack;
	}
	uint32_t alike = stack ? stacks->cells[stack].alike[which] : 0;
	while (depth) {
		const uint32_t number = stacks->chain[--depth];
		const struct stack_cell *cell = stacks->cells + number;
		alike = stacks_push(stacks, cell->place, count_alike(stacks->grammar, cell, reach),
		                    alike);
		if (alike == STACKS_FAILED) return alike;
		stacks->cells[number].alike[which] = alike;
	}
	return alike;
}

/* ---- forgetting ------------------------------------------------------------------------------ */

void stacks_mark(struct stacks *stacks, uint32_t stack) {
	for (; stack && !stacks->cells[stack].marked; stack = stacks->cells[stack].below)
		stacks->cells[stack].marked = true;
}

void stacks_sweep(struct stacks *stacks) {
	stacks->free = 0;
	stacks->live = 0;
	for (size_t i = stacks->count; --i;) {
		struct stack_cell *cell = stacks->cells + i;
		if (cell->marked) {
			for (size_t j = 0; j < STACKS_REACHES; j++)
				if (!stacks->cells[cell->alike[j]].marked) cell->alike[j] = 0;
			stacks->live++;
		} else {
			*cell = (struct stack_cell){.below = stacks->free};
			stacks->free = (uint32_t)i;
		}
	}
	for (size_t i = 1; i < stacks->count; i++) stacks->cells[i].marked = false;
	fill_table(stacks);
}
