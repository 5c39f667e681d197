// SPDX-License-Identifier: Apache-2.0
// automaton.c: see automaton.h. No private data.
// A state's stacks are in the order of stacks_compare, so equal sets are equal arrays. What the
// step by a class of bytes leads to is kept in the state's row.
#include "engine/grammar/automaton.h"

#include "base/misuse.h"
#include "engine/grammar/explore.h"
#include "engine/status.h"

#include <stdlib.h>
#include <string.h>

enum { STACK_COST = 8 }; /* units of work, to put a stack in its place */

struct automaton_state {
	uint32_t *stacks; /* [count] */
	uint32_t count;
	uint32_t held;
	uint32_t *row; /* [classes], NULL = no step was asked for */
	uint64_t distance;
	uint32_t alike[STACKS_REACHES]; /* of automaton_alike, 0 = not asked yet */
	bool accepts;
	bool used;
	bool marked;
};

struct automaton {
	const struct cuttle_grammar *grammar;
	struct stacks stacks;
	struct explore explore;
	struct automaton_state *states; /* states[0] is AUTOMATON_DEAD */
	size_t count, room;
	uint32_t *unused; /* numbers of states that are not in use */
	size_t unused_count, unused_room;
	uint32_t *table; /* hash table of states, 0 = empty */
	size_t table_room;
	size_t live;                    /* states in use */
	size_t extra;                   /* bytes of their stacks and rows */
	size_t limit;                   /* of bytes in use; above it automaton_tidy forgets */
	size_t asked;                   /* what the caller set as limit */
	size_t reaches[STACKS_REACHES]; /* of automaton_alike, 0 = not asked yet */
	uint32_t begin;
	uint64_t rations; /* of automaton_ration */
	bool rationed;
	bool crowded;
	bool failed;
	bool starved;
};

/* ---- one number for equal sets --------------------------------------------------------------- */

static uint64_t hash_set(const uint32_t *stacks, size_t count, bool accepts) {
	uint64_t hash = count * 2 + accepts;
	for (size_t i = 0; i < count; i++) {
		hash = (hash ^ stacks[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	return hash;
}

static size_t find_set(const struct automaton *automaton, const uint32_t *stacks, size_t count,
                       bool accepts) {
	size_t slot = (size_t)hash_set(stacks, count, accepts) & (automaton->table_room - 1);
	for (; automaton->table[slot]; slot = (slot + 1) & (automaton->table_room - 1)) {
		const struct automaton_state *state = automaton->states + automaton->table[slot];
		if (state->count == count && state->accepts == accepts &&
		    !memcmp(state->stacks, stacks, count * sizeof *stacks))
			break;
	}
	return slot;
}

static void fill_sets(struct automaton *automaton) {
	memset(automaton->table, 0, automaton->table_room * sizeof *automaton->table);
	for (size_t i = 1; i < automaton->count; i++) {
		const struct automaton_state *state = automaton->states + i;
		if (state->used)
			automaton->table[find_set(automaton, state->stacks, state->count,
			                          state->accepts)] = (uint32_t)i;
	}
}

static bool widen_sets(struct automaton *automaton) {
	if ((automaton->live + 1) * 2 < automaton->table_room) return true;
	uint32_t *wider = malloc(automaton->table_room * 2 * sizeof *wider);
	if (!wider) return false;
	free(automaton->table);
	automaton->table = wider;
	automaton->table_room *= 2;
	fill_sets(automaton);
	return true;
}

static uint32_t unused_number(struct automaton *automaton) {
	if (automaton->unused_count) return automaton->unused[--automaton->unused_count];
	if (!tree_grow((void **)&automaton->states, &automaton->room, automaton->count + 1,
	               sizeof *automaton->states))
		return AUTOMATON_DEAD;
	return (uint32_t)automaton->count++;
}

/* The state of this set, which is in order; AUTOMATON_DEAD for none, or out of memory. */
static uint32_t state_of_set(struct automaton *automaton, const uint32_t *stacks, size_t count,
                             bool accepts) {
	if (!count && !accepts) return AUTOMATON_DEAD;
	size_t slot = find_set(automaton, stacks, count, accepts);
	if (automaton->table[slot]) return automaton->table[slot];
	uint32_t *copy = malloc(count ? count * sizeof *copy : 1);
	const uint32_t number = copy && widen_sets(automaton) ? unused_number(automaton) : 0;
	if (!number) {
		free(copy);
		automaton->failed = true;
		return AUTOMATON_DEAD;
	}
	if (count) memcpy(copy, stacks, count * sizeof *copy);
	automaton->states[number] = (struct automaton_state){
	    .stacks = copy,
	    .count = (uint32_t)count,
	    .distance = accepts ? 0 : automaton->stacks.cells[stacks[0]].rest,
	    .accepts = accepts,
	    .used = true,
	};
	automaton->table[find_set(automaton, stacks, count, accepts)] = number;
	automaton->extra += count * sizeof *copy;
	automaton->live++;
	return number;
}

/* Pays for what was explored. False: too little is left. */
static bool eat_rations(struct automaton *automaton) {
	const struct explore *explore = &automaton->explore;
	const uint64_t cost = explore->seen_count + STACK_COST * explore->found_count;
	if (!automaton->rationed) return true;
	if (cost > automaton->rations) automaton->failed = automaton->starved = true;
	else automaton->rations -= cost;
	return !automaton->starved;
}

/* The state of what was explored. */
static uint32_t state_explored(struct automaton *automaton) {
	struct explore *explore = &automaton->explore;
	automaton->crowded |= explore->crowded;
	automaton->failed |= explore->failed;
	if (explore->failed || !eat_rations(automaton)) return AUTOMATON_DEAD;
	explore_settle(explore, AUTOMATON_STACKS);
	return state_of_set(automaton, explore->found, explore->found_count, explore->accepts);
}

/* ---- make and free --------------------------------------------------------------------------- */

static bool begin_automaton(struct automaton *automaton) {
	automaton->table_room = 1024;
	automaton->table = calloc(automaton->table_room, sizeof *automaton->table);
	if (!automaton->table ||
	    !tree_grow((void **)&automaton->states, &automaton->room, 1, sizeof *automaton->states))
		return false;
	automaton->states[automaton->count++] = (struct automaton_state){.distance = UINT64_MAX};
	if (!stacks_begin(&automaton->stacks, automaton->grammar) ||
	    !explore_begin(&automaton->explore, &automaton->stacks))
		return false;
	explore_clear(&automaton->explore);
	explore_from(&automaton->explore, automaton->grammar->root, 0);
	automaton->begin = state_explored(automaton);
	automaton_hold(automaton, automaton->begin);
	return !automaton->failed;
}

enum cuttle_status automaton_new(const struct cuttle_grammar *grammar, size_t bytes,
                                 struct automaton **automaton, struct cuttle_error *error) {
	REQUIRE(grammar && automaton);
	*automaton = calloc(1, sizeof **automaton);
	if (*automaton) {
		(*automaton)->grammar = grammar;
		(*automaton)->asked = (*automaton)->limit = bytes ? bytes : AUTOMATON_BYTES;
		if (begin_automaton(*automaton)) return CUTTLE_OK;
	}
	automaton_free(automaton);
	return status_fail(error, CUTTLE_NOMEM, "no memory for the grammar's automaton");
}

void automaton_free(struct automaton **automaton) {
	REQUIRE(automaton);
	struct automaton *a = *automaton;
	*automaton = NULL;
	if (!a) return;
	for (size_t i = 0; a->states && i < a->count; i++) {
		free(a->states[i].stacks);
		free(a->states[i].row);
	}
	free(a->states);
	free(a->unused);
	free(a->table);
	explore_free(&a->explore);
	stacks_free(&a->stacks);
	free(a);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static const struct automaton_state *look_up_state(const struct automaton *automaton,
                                                   uint32_t state) {
	REQUIRE(automaton && state < automaton->count);
	REQUIRE(!state || automaton->states[state].used);
	return automaton->states + state;
}

uint32_t automaton_begin(const struct automaton *automaton) {
	return automaton->begin;
}

/* Where this byte leads to from a node: another node, 0 = the character is complete, or
 * UINT32_MAX. */
static uint32_t follow_edge(const struct cuttle_grammar *grammar, uint32_t number, uint8_t byte) {
	const struct program_node *node = grammar->nodes + number;
	const struct program_edge *edges = grammar->edges + node->first;
	size_t low = 0, high = node->count;
	while (low < high) {
		const size_t middle = (low + high) / 2;
		if (edges[middle].high < byte) low = middle + 1;
		else high = middle;
	}
	return low < node->count && edges[low].low <= byte ? edges[low].next : UINT32_MAX;
}

struct automaton_seed {
	uint64_t rest;
	uint32_t place;
	uint32_t stack;
};

/* A stable sort by rest: what is nearest to acceptance is explored first. */
static void order_seeds(struct automaton_seed *seeds, size_t count) {
	for (size_t i = 1; i < count; i++) {
		const struct automaton_seed seed = seeds[i];
		size_t at = i;
		for (; at && seeds[at - 1].rest > seed.rest; at--) seeds[at] = seeds[at - 1];
		seeds[at] = seed;
	}
}

/* The state behind a byte, from the stacks. */
static uint32_t explore_byte(struct automaton *automaton, uint32_t number, uint8_t byte) {
	const struct cuttle_grammar *grammar = automaton->grammar;
	struct stacks *stacks = &automaton->stacks;
	const struct automaton_state *state = automaton->states + number;
	struct automaton_seed seeds[AUTOMATON_STACKS];
	size_t seed_count = 0;
	explore_clear(&automaton->explore);
	for (uint32_t i = 0; i < state->count; i++) {
		const struct stack_cell cell = stacks->cells[state->stacks[i]];
		const uint32_t next = follow_edge(grammar, cell.count, byte);
		if (next == UINT32_MAX) continue;
		if (next) {
			explore_add(&automaton->explore,
			            stacks_push(stacks, cell.place, next, cell.below));
			continue;
		}
		const uint32_t place = grammar->ops[cell.place].b;
		seeds[seed_count++] = (struct automaton_seed){
		    grammar->ops[place].rest + stacks->cells[cell.below].rest, place, cell.below};
	}
	order_seeds(seeds, seed_count);
	for (size_t i = 0; i < seed_count; i++)
		explore_from(&automaton->explore, seeds[i].place, seeds[i].stack);
	return state_explored(automaton);
}

const uint32_t *automaton_row(struct automaton *automaton, uint32_t state) {
	look_up_state(automaton, state);
	struct automaton_state *at = automaton->states + state;
	if (!at->row) {
		const size_t count = automaton->grammar->class_count;
		at->row = malloc(count * sizeof *at->row);
		if (!at->row) {
			automaton->failed = true;
			return NULL;
		}
		for (size_t i = 0; i < count; i++) at->row[i] = AUTOMATON_UNKNOWN;
		automaton->extra += count * sizeof *at->row;
	}
	return at->row;
}

uint32_t automaton_step(struct automaton *automaton, uint32_t state, uint8_t byte) {
	look_up_state(automaton, state);
	if (!state || !automaton_row(automaton, state)) return AUTOMATON_DEAD;
	const uint8_t class = automaton->grammar->classes[byte];
	uint32_t next = automaton->states[state].row[class];
	if (next == AUTOMATON_UNKNOWN) {
		next = explore_byte(automaton, state, byte);
		if (automaton->failed) return AUTOMATON_DEAD;
		automaton->states[state].row[class] = next;
	}
	return next;
}

uint32_t automaton_walk(struct automaton *automaton, uint32_t state, const char *bytes,
                        size_t size) {
	for (size_t i = 0; i < size && state; i++)
		state = automaton_step(automaton, state, (uint8_t)bytes[i]);
	return state;
}

bool automaton_accepts(const struct automaton *automaton, uint32_t state) {
	return look_up_state(automaton, state)->accepts;
}

uint64_t automaton_distance(const struct automaton *automaton, uint32_t state) {
	return look_up_state(automaton, state)->distance;
}

uint64_t automaton_farthest(const struct automaton *automaton) {
	return automaton->grammar->farthest;
}

/* The one byte that may follow, -1 = there are several, or the text may end. */
static int only_byte(const struct automaton *automaton, uint32_t state) {
	const struct cuttle_grammar *grammar = automaton->grammar;
	const struct automaton_state *at = automaton->states + state;
	int only = -1;
	if (at->accepts) return -1;
	for (uint32_t i = 0; i < at->count; i++) {
		const struct stack_cell *cell = automaton->stacks.cells + at->stacks[i];
		const struct program_node *node = grammar->nodes + cell->count;
		const struct program_edge *edge = grammar->edges + node->first;
		if (node->count > 1 || edge->low != edge->high) return -1;
		if (only >= 0 && edge->low != only) return -1;
		only = edge->low;
	}
	return only;
}

size_t automaton_forced(struct automaton *automaton, uint32_t state, char *bytes, size_t capacity) {
	look_up_state(automaton, state);
	size_t size = 0;
	while (state && size < capacity) {
		const int byte = only_byte(automaton, state);
		if (byte < 0) break;
		bytes[size++] = (char)byte;
		state = automaton_step(automaton, state, (uint8_t)byte);
	}
	return size;
}

/* ---- memory ---------------------------------------------------------------------------------- */

void automaton_hold(struct automaton *automaton, uint32_t state) {
	look_up_state(automaton, state);
	if (state) automaton->states[state].held++;
}

void automaton_release(struct automaton *automaton, uint32_t state) {
	REQUIRE(!state || look_up_state(automaton, state)->held);
	if (state) automaton->states[state].held--;
}

static size_t bytes_in_use(const struct automaton *automaton) {
	return automaton->extra + automaton->live * sizeof *automaton->states +
	       automaton->stacks.live * (sizeof *automaton->stacks.cells + 4 * sizeof(uint32_t));
}

bool automaton_full(const struct automaton *automaton) {
	return bytes_in_use(automaton) > automaton->limit;
}

static void mark_state(struct automaton *automaton, uint32_t number) {
	struct automaton_state *state = automaton->states + number;
	if (state->marked) return;
	state->marked = true;
	for (uint32_t i = 0; i < state->count; i++)
		stacks_mark(&automaton->stacks, state->stacks[i]);
}

static void forget_state(struct automaton *automaton, uint32_t number) {
	struct automaton_state *state = automaton->states + number;
	if (!tree_grow((void **)&automaton->unused, &automaton->unused_room,
	               automaton->unused_count + 1, sizeof *automaton->unused)) {
		mark_state(automaton, number); // it stays
		return;
	}
	automaton->unused[automaton->unused_count++] = number;
	automaton->extra -= state->count * sizeof *state->stacks;
	if (state->row) automaton->extra -= automaton->grammar->class_count * sizeof *state->row;
	free(state->stacks);
	free(state->row);
	*state = (struct automaton_state){0};
	automaton->live--;
}

/* What a state that stays says of others that do not is unknown again. */
static void forget_links(struct automaton *automaton, struct automaton_state *state) {
	const struct automaton_state *states = automaton->states;
	for (size_t i = 0; i < STACKS_REACHES; i++)
		if (!states[state->alike[i]].marked) state->alike[i] = 0;
	for (size_t i = 0; state->row && i < automaton->grammar->class_count; i++) {
		const uint32_t next = state->row[i];
		if (next && next != AUTOMATON_UNKNOWN && !states[next].marked)
			state->row[i] = AUTOMATON_UNKNOWN;
	}
}

void automaton_tidy(struct automaton *automaton, const uint32_t *keep, size_t count) {
	REQUIRE(automaton && (keep || !count));
	if (!automaton_full(automaton)) return;
	for (size_t i = 0; i < count; i++) {
		look_up_state(automaton, keep[i]);
		if (keep[i]) mark_state(automaton, keep[i]);
	}
	for (size_t i = 1; i < automaton->count; i++)
		if (automaton->states[i].held) mark_state(automaton, (uint32_t)i);
	for (size_t i = 1; i < automaton->count; i++)
		if (automaton->states[i].used && !automaton->states[i].marked)
			forget_state(automaton, (uint32_t)i);
	for (size_t i = 1; i < automaton->count; i++)
		if (automaton->states[i].used) forget_links(automaton, automaton->states + i);
	for (size_t i = 1; i < automaton->count; i++) automaton->states[i].marked = false;
	stacks_sweep(&automaton->stacks);
	fill_sets(automaton);
	// Where held states alone need more than was allowed, not every call looks for others.
	const size_t twice = 2 * bytes_in_use(automaton);
	automaton->limit = twice > automaton->asked ? twice : automaton->asked;
}

bool automaton_failed(const struct automaton *automaton) {
	return automaton->failed;
}

void automaton_ration(struct automaton *automaton, uint64_t more, uint64_t most) {
	REQUIRE(automaton && more <= most);
	automaton->rations = automaton->rations > most - more ? most : automaton->rations + more;
	automaton->rationed = true;
}

bool automaton_starved(const struct automaton *automaton) {
	return automaton->starved;
}

/* ---- for mask.h ------------------------------------------------------------------------------ */

/* The set of stacks_alike of each stack. Where two become one the state itself is the answer. */
static uint32_t find_alike(struct automaton *automaton, uint32_t number, size_t which) {
	struct explore *explore = &automaton->explore;
	const uint32_t count = automaton->states[number].count;
	explore_clear(explore);
	if (count > EXPLORE_FEW) return number;
	for (uint32_t i = 0; i < count; i++)
		explore_add(explore,
		            stacks_alike(&automaton->stacks, automaton->states[number].stacks[i],
		                         automaton->reaches[which], which));
	explore->accepts = automaton->states[number].accepts;
	const uint32_t alike = state_explored(automaton);
	if (automaton->failed) return number;
	return automaton->states[alike].count == count ? alike : number;
}

uint32_t automaton_alike(struct automaton *automaton, uint32_t state, size_t reach, size_t which) {
	look_up_state(automaton, state);
	REQUIRE(reach && which < STACKS_REACHES);
	REQUIRE(!automaton->reaches[which] || automaton->reaches[which] == reach);
	automaton->reaches[which] = reach;
	if (!state || automaton->crowded) return state;
	if (!automaton->states[state].alike[which]) {
		const uint32_t alike = find_alike(automaton, state, which);
		automaton->states[state].alike[which] = alike;
	}
	return automaton->states[state].alike[which];
}

bool automaton_crowded(const struct automaton *automaton) {
	return automaton->crowded;
}

const uint8_t *automaton_classes(const struct automaton *automaton) {
	return automaton->grammar->classes;
}

/* Whether some byte of the edge is in `bits`. */
static bool has_byte_of(const struct program_edge *edge, const uint64_t bits[4]) {
	for (unsigned byte = edge->low; byte <= edge->high; byte++)
		if (bits[byte / 64] >> byte % 64 & 1) return true;
	return false;
}

int automaton_lacks(const struct automaton *automaton, const uint64_t bits[4]) {
	const struct cuttle_grammar *grammar = automaton->grammar;
	for (size_t i = 1; i < grammar->node_count; i++) {
		const struct program_node *node = grammar->nodes + i;
		int lacks = -1;
		for (unsigned j = 0; j < node->count; j++) {
			const struct program_edge *edge = grammar->edges + node->first + j;
			if (grammar->nodes[edge->next].least + 1 != node->least) continue;
			if (has_byte_of(edge, bits)) {
				lacks = -1;
				break;
			}
			if (lacks < 0) lacks = edge->low;
		}
		if (lacks >= 0) return lacks;
	}
	return -1;
}
