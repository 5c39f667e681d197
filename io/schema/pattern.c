// SPDX-License-Identifier: Apache-2.0
// How pattern.h makes its automaton: each set of states that io/schema/nfa.h can be in at once is
// one state. Then states from which nothing is accepted are left out, and equal ones become one.
//
// A pattern may begin anywhere, so its first state is in every set; once it is accepted, whatever
// follows is, too. ^ leads on in the first set alone, $ when a set is asked whether a text may end.
#include "io/schema/pattern.h"

#include "base/utf8.h"
#include "io/schema/expression.h"
#include "io/schema/nfa.h"
#include <stdlib.h>
#include <string.h>

static const char TOO_MANY[] = "it needs too many states; make its numbers in { } smaller, or its "
                               "maxLength";

enum {
	STATES = 1 << 14,      /* of one automaton */
	MEMBERS = 1 << 22,     /* of all sets of one automaton */
	BUCKETS = 1 << 15,     /* of the table that finds a set again */
	ROUNDS_CELLS = 4000000 /* what making equal states one may look at */
};

void pattern_free(struct pattern *pattern) {
	for (uint32_t i = 0; pattern->sets && i < pattern->classes; i++)
		codepoints_free(&pattern->sets[i]);
	free(pattern->sets);
	free(pattern->next);
	free(pattern->accepts);
	*pattern = (struct pattern){0};
}

bool pattern_fits(const struct pattern *pattern, const char *text, size_t size) {
	uint32_t state = 0;
	if (!pattern->states) return false;
	for (size_t at = 0; at < size;) {
		uint32_t code_point, class = 0;
		const size_t length = utf8_decode(text + at, size - at, &code_point);
		while (class < pattern->classes &&
		       !codepoints_have(&pattern->sets[class], code_point))
			class ++;
		if (!length || class == pattern->classes) return false;
		state = pattern->next[(size_t)state * pattern->classes + class];
		if (state == PATTERN_NOWHERE) return false;
		at += length;
	}
	return pattern->accepts[state];
}

/* ---- growing --------------------------------------------------------------------------------- */

/* An automaton whose states are added one by one, each with a key of some numbers. */
struct growth {
	struct pattern *to;
	struct pattern_budget *budget;
	const char *fault;
	uint32_t room;     /* states that there is memory for */
	uint32_t *keys;    /* the keys, one behind the other */
	size_t *ends;      /* of each state: where its key ends */
	uint32_t *buckets; /* state + 1, or 0 */
	size_t used;       /* numbers in keys */
	size_t key_room;
};

static bool start_growth(struct growth *in, struct pattern *to, uint32_t classes,
                         struct pattern_budget *budget) {
	*in = (struct growth){.to = to, .budget = budget};
	to->classes = classes;
	to->sets = calloc(classes, sizeof *to->sets);
	in->buckets = calloc(BUCKETS, sizeof *in->buckets);
	in->fault = to->sets && in->buckets ? NULL : PATTERN_MEMORY;
	return !in->fault;
}

static void end_growth(struct growth *in) {
	free(in->keys);
	free(in->ends);
	free(in->buckets);
}

static bool copy_class_sets(struct pattern *to, const struct codepoints *sets) {
	for (uint32_t i = 0; i < to->classes; i++)
		if (!codepoints_join(&to->sets[i], &sets[i])) return false;
	return true;
}

static bool grow_states(struct growth *in) {
	struct pattern *to = in->to;
	if (to->states < in->room) return true;
	const uint32_t room = in->room ? 2 * in->room : 64;
	uint32_t *next = reallocarray(to->next, (size_t)room * to->classes, sizeof *next);
	if (next) to->next = next;
	bool *accepts = reallocarray(to->accepts, room, sizeof *accepts);
	if (accepts) to->accepts = accepts;
	size_t *ends = reallocarray(in->ends, room, sizeof *ends);
	if (ends) in->ends = ends;
	if (!next || !accepts || !ends) return false;
	in->room = room;
	return true;
}

static bool grow_keys(struct growth *in, size_t more) {
	if (in->used + more <= in->key_room) return true;
	const size_t room = 2 * (in->used + more);
	uint32_t *keys = reallocarray(in->keys, room, sizeof *keys);
	if (!keys) return false;
	in->keys = keys;
	in->key_room = room;
	return true;
}

static const uint32_t *key_of(const struct growth *in, uint32_t state, size_t *count) {
	const size_t begin = state ? in->ends[state - 1] : 0;
	*count = in->ends[state] - begin;
	return in->keys + begin;
}

/* Where a key is in the table, or the empty place for it. */
static size_t find_bucket(const struct growth *in, const uint32_t *key, size_t count) {
	uint64_t hash = count;
	for (size_t i = 0; i < count; i++)
		hash = (hash ^ key[i]) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
	size_t at = hash % BUCKETS, size;
	for (; in->buckets[at]; at = (at + 1) % BUCKETS) {
		const uint32_t *other = key_of(in, in->buckets[at] - 1, &size);
		if (size == count && !memcmp(other, key, count * sizeof *key)) break;
	}
	return at;
}

/* The number of the state with this key, which is new if there was none. */
static uint32_t number_of_key(struct growth *in, const uint32_t *key, size_t count, bool accepts,
                              bool apart) {
	struct pattern *to = in->to;
	const size_t bucket = find_bucket(in, key, count);
	if (in->buckets[bucket] && !apart) return in->buckets[bucket] - 1;
	if (to->states == STATES || to->states >= in->budget->states ||
	    (size_t)to->states * to->classes >= in->budget->cells || in->used + count > MEMBERS) {
		in->fault = TOO_MANY;
		return 0;
	}
	if (!grow_states(in) || !grow_keys(in, count)) {
		in->fault = PATTERN_MEMORY;
		return 0;
	}
	if (count) memcpy(in->keys + in->used, key, count * sizeof *key);
	in->used += count;
	in->ends[to->states] = in->used;
	to->accepts[to->states] = accepts;
	if (!apart) in->buckets[bucket] = to->states + 1;
	return to->states++;
}

/* ---- sets of states -------------------------------------------------------------------------- */

/* Walks over the states that are reached without a character. */
struct walk {
	const struct nfa *nfa;
	struct pattern_budget *budget;
	uint32_t *seen;  /* of each state: the number of the walk that saw it last */
	uint32_t *stack; /* states to go on from */
	uint32_t *found; /* those that read, end or accept */
	size_t count;
	size_t waiting;
	uint32_t number;
	bool whole; /* one that accepts was found */
	bool failed;
};

static void visit_state(struct walk *walk, uint32_t state) {
	if (walk->seen[state] == walk->number) return;
	walk->seen[state] = walk->number;
	walk->stack[walk->waiting++] = state;
}

/* Goes on from what waits. Past ^ where `start`, past $ where `end`. */
static void walk_on(struct walk *walk, bool start, bool end) {
	while (walk->waiting) {
		const uint32_t at = walk->stack[--walk->waiting];
		const struct nfa_state *state = &walk->nfa->states[at];
		if (!nfa_pays(walk->budget, 1)) walk->failed = true;
		if (walk->failed) return;
		switch (state->kind) {
		case NFA_SPLIT:
			visit_state(walk, state->other);
			visit_state(walk, state->next);
			break;
		case NFA_START:
			if (start) visit_state(walk, state->next);
			break;
		case NFA_END:
			walk->found[walk->count++] = at;
			if (end) visit_state(walk, state->next);
			break;
		case NFA_ACCEPT:
			walk->whole = true;
			break;
		case NFA_SET:
			walk->found[walk->count++] = at;
			break;
		}
	}
}

static void start_walk(struct walk *walk) {
	walk->number++;
	walk->count = walk->waiting = 0;
	walk->whole = false;
}

static int by_state(const void *a, const void *b) {
	const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	return (left > right) - (left < right);
}

/* Whether a text may end in the set key[count]. */
static bool may_end(struct walk *walk, const uint32_t *key, size_t count, bool start) {
	start_walk(walk);
	for (size_t i = 0; i < count; i++)
		if (walk->nfa->states[key[i]].kind == NFA_END) visit_state(walk, key[i]);
	walk_on(walk, start, true);
	return walk->whole;
}

/* Makes a state of what was found. A set that accepts whatever comes is the set without states. */
static uint32_t state_of_walk(struct growth *in, struct walk *walk, bool first) {
	const bool whole = walk->whole;
	const size_t count = whole ? 0 : walk->count;
	const uint32_t accept = UINT32_MAX;
	if (walk->failed) {
		in->fault = TOO_MANY;
		return 0;
	}
	if (whole) return number_of_key(in, &accept, 1, true, false);
	uint32_t *key = malloc((count + 1) * sizeof *key);
	if (!key) {
		in->fault = PATTERN_MEMORY;
		return 0;
	}
	if (count) memcpy(key, walk->found, count * sizeof *key);
	qsort(key, count, sizeof *key, by_state);
	const bool ends = may_end(walk, key, count, first);
	const uint32_t state = number_of_key(in, key, count, ends, first);
	free(key);
	return state;
}

/* The state that a set goes to with a class. */
static uint32_t step_set(struct growth *in, struct walk *walk, uint32_t state, uint32_t class) {
	const struct nfa *nfa = walk->nfa;
	size_t count;
	const uint32_t *key = key_of(in, state, &count);
	if (count == 1 && key[0] == UINT32_MAX) return state;
	start_walk(walk);
	if (!nfa_pays(in->budget, count)) walk->failed = true;
	for (size_t i = 0; i < count; i++) {
		const struct nfa_state *from = &nfa->states[key[i]];
		if (from->kind == NFA_SET &&
		    nfa->within[(size_t)from->set * nfa->class_count + class])
			visit_state(walk, from->next);
	}
	visit_state(walk, nfa->first);
	walk_on(walk, false, false);
	return state_of_walk(in, walk, false);
}

static void grow_sets(struct growth *in, const struct nfa *nfa) {
	struct walk walk = {.nfa = nfa, .budget = in->budget};
	walk.seen = calloc(nfa->count, sizeof *walk.seen);
	walk.stack = calloc(nfa->count, sizeof *walk.stack);
	walk.found = calloc(nfa->count, sizeof *walk.found);
	if (!walk.seen || !walk.stack || !walk.found) in->fault = PATTERN_MEMORY;
	if (!in->fault) {
		start_walk(&walk);
		visit_state(&walk, nfa->first);
		walk_on(&walk, true, false);
		(void)state_of_walk(in, &walk, true);
	}
	for (uint32_t i = 0; !in->fault && i < in->to->states; i++)
		for (uint32_t class = 0; !in->fault && class < in->to->classes; class ++) {
			const uint32_t next = step_set(in, &walk, i, class);
			if (!in->fault) in->to->next[(size_t)i * in->to->classes + class] = next;
		}
	free(walk.seen);
	free(walk.stack);
	free(walk.found);
}

/* ---- fewer states ---------------------------------------------------------------------------- */

/* Takes over numbers[state] as the states' new numbers; equal ones become one, PATTERN_NOWHERE
 * goes. The first of each number stands for it. */
static void renumber_states(struct pattern *pattern, const uint32_t *numbers, uint32_t count) {
	const uint32_t classes = pattern->classes;
	uint32_t done = 0;
	for (uint32_t i = 0; i < pattern->states; i++) {
		if (numbers[i] != done) continue;
		for (uint32_t j = 0; j < classes; j++) {
			const uint32_t next = pattern->next[(size_t)i * classes + j];
			pattern->next[(size_t)done * classes + j] =
			    next == PATTERN_NOWHERE ? next : numbers[next];
		}
		pattern->accepts[done++] = pattern->accepts[i];
	}
	pattern->states = count;
}

/* Marks from the end to the beginning, again until nothing changes. */
static const char *mark_alive(const struct pattern *pattern, struct pattern_budget *budget,
                              bool *alive) {
	const uint32_t classes = pattern->classes;
	bool changed = true;
	memcpy(alive, pattern->accepts, pattern->states * sizeof *alive);
	while (changed) {
		changed = false;
		if (!nfa_pays(budget, (uint64_t)pattern->states * classes / 4 + 1)) return TOO_MANY;
		for (uint32_t i = pattern->states; i-- > 0;)
			for (uint32_t j = 0; j < classes && !alive[i]; j++) {
				const uint32_t next = pattern->next[(size_t)i * classes + j];
				if (next != PATTERN_NOWHERE && alive[next])
					changed = alive[i] = true;
			}
	}
	return NULL;
}

/* Leaves out the states from which nothing is accepted. */
static const char *drop_dead(struct pattern *pattern, struct pattern_budget *budget) {
	uint32_t *numbers = calloc((size_t)pattern->states + 1, sizeof *numbers), count = 0;
	bool *alive = calloc((size_t)pattern->states + 1, sizeof *alive);
	const char *fault = numbers && alive ? mark_alive(pattern, budget, alive) : PATTERN_MEMORY;
	for (uint32_t i = 0; !fault && i < pattern->states; i++)
		numbers[i] = alive[i] ? count++ : PATTERN_NOWHERE;
	// Where the first state is dead, all are: each is reached from it.
	if (!fault) renumber_states(pattern, numbers, count);
	free(numbers);
	free(alive);
	return fault;
}

static uint32_t block_of_state(const uint32_t *blocks, uint32_t state) {
	return state == PATTERN_NOWHERE ? PATTERN_NOWHERE : blocks[state];
}

static bool is_alike(const struct pattern *pattern, const uint32_t *blocks, uint32_t a,
                     uint32_t b) {
	const uint32_t *left = pattern->next + (size_t)a * pattern->classes,
	               *right = pattern->next + (size_t)b * pattern->classes;
	if (blocks[a] != blocks[b]) return false;
	for (uint32_t j = 0; j < pattern->classes; j++)
		if (block_of_state(blocks, left[j]) != block_of_state(blocks, right[j]))
			return false;
	return true;
}

/* Splits blocks whose states lead to different blocks. Returns how many there are then. */
static uint32_t split_blocks(const struct pattern *pattern, const uint32_t *blocks, uint32_t *finer,
                             uint32_t *buckets) {
	uint32_t count = 0;
	memset(buckets, 0, BUCKETS * sizeof *buckets);
	for (uint32_t i = 0; i < pattern->states; i++) {
		uint64_t hash = blocks[i];
		for (uint32_t j = 0; j < pattern->classes; j++) {
			const uint32_t next = pattern->next[(size_t)i * pattern->classes + j];
			hash = (hash ^ block_of_state(blocks, next)) * 0x9e3779b97f4a7c15u;
			hash ^= hash >> 29;
		}
		size_t at = hash % BUCKETS;
		while (buckets[at] && !is_alike(pattern, blocks, buckets[at] - 1, i))
			at = (at + 1) % BUCKETS;
		if (buckets[at]) {
			finer[i] = finer[buckets[at] - 1];
			continue;
		}
		buckets[at] = i + 1;
		finer[i] = count++;
	}
	return count;
}

/* Equal states become one; where that would take too long, they stay as they are. */
static const char *join_equal(struct pattern *pattern) {
	const uint64_t cells = (uint64_t)pattern->states * pattern->classes + BUCKETS / 8;
	uint32_t *blocks = calloc((size_t)pattern->states + 1, sizeof *blocks),
	         *finer = calloc((size_t)pattern->states + 1, sizeof *finer),
	         *buckets = calloc(BUCKETS, sizeof *buckets), count = 1, before = 0;
	const char *fault = blocks && finer && buckets ? NULL : PATTERN_MEMORY;
	for (uint32_t i = 0; !fault && i < pattern->states; i++) blocks[i] = pattern->accepts[i];
	for (uint64_t looked = 0; !fault && count != before && looked < ROUNDS_CELLS;
	     looked += cells) {
		before = count;
		count = split_blocks(pattern, blocks, finer, buckets);
		uint32_t *last = blocks;
		blocks = finer;
		finer = last;
	}
	if (!fault && count == before) renumber_states(pattern, blocks, count);
	free(blocks);
	free(finer);
	free(buckets);
	return fault;
}

static const char *finish_pattern(struct growth *in) {
	const char *fault = in->fault;
	if (!fault && in->to->states) fault = drop_dead(in->to, in->budget);
	if (!fault && in->to->states) fault = join_equal(in->to);
	end_growth(in);
	if (fault) {
		pattern_free(in->to);
		return fault;
	}
	in->budget->states -= in->to->states;
	in->budget->cells -= (size_t)in->to->states * in->to->classes;
	return NULL;
}

const char *pattern_make(const char *text, size_t size, struct pattern_budget *budget,
                         struct pattern *pattern) {
	struct expression expression;
	struct nfa nfa = {0};
	struct growth in;
	*pattern = (struct pattern){0};
	const char *fault = expression_read(text, size, &expression);
	if (fault && !*fault) fault = PATTERN_MEMORY;
	if (!fault) fault = nfa_make(&expression, budget, &nfa);
	if (!fault) {
		if (start_growth(&in, pattern, nfa.class_count, budget)) {
			if (!copy_class_sets(pattern, nfa.classes)) in.fault = PATTERN_MEMORY;
			else grow_sets(&in, &nfa);
		}
		fault = finish_pattern(&in);
	}
	nfa_free(&nfa);
	expression_free(&expression);
	return fault;
}

/* ---- lengths --------------------------------------------------------------------------------- */

/* A state's key is the state of `from` and how many characters were read; beyond `least`, where
 * there is no most, it does not matter how many. */
static uint32_t state_of_length(struct growth *in, const struct pattern *from, uint32_t state,
                                size_t read, size_t least, size_t most) {
	if (most == SIZE_MAX && read > least) read = least;
	const uint32_t key[2] = {state, (uint32_t)read};
	return number_of_key(in, key, 2, from->accepts[state] && read >= least, false);
}

static void grow_lengths(struct growth *in, const struct pattern *from, size_t least, size_t most) {
	const uint32_t classes = from->classes;
	if (from->states) (void)state_of_length(in, from, 0, 0, least, most);
	for (uint32_t i = 0; !in->fault && i < in->to->states; i++) {
		size_t count;
		const uint32_t *key = key_of(in, i, &count), state = key[0], read = key[1];
		for (uint32_t class = 0; class < classes && !in->fault; class ++) {
			uint32_t next = from->next[(size_t)state * classes + class];
			if (read >= most) next = PATTERN_NOWHERE;
			if (next != PATTERN_NOWHERE)
				next = state_of_length(in, from, next, read + 1, least, most);
			if (!in->fault) in->to->next[(size_t)i * classes + class] = next;
		}
	}
}

const char *pattern_bound(const struct pattern *from, size_t least, size_t most,
                          struct pattern_budget *budget, struct pattern *pattern) {
	struct growth in;
	*pattern = (struct pattern){0};
	if (start_growth(&in, pattern, from->classes, budget)) {
		if (!copy_class_sets(pattern, from->sets)) in.fault = PATTERN_MEMORY;
		else grow_lengths(&in, from, least, most);
	}
	return finish_pattern(&in);
}
