// SPDX-License-Identifier: Apache-2.0
// How nfa.h is made: from the end to the beginning, so that each part knows where it leads to.
// "a{2,3}" becomes a, a, and a split round a third a.
#include "io/schema/nfa.h"

#include <stdlib.h>
#include <string.h>

static const char TOO_LARGE[] = "it needs too many states; make its numbers in { } smaller";
const char PATTERN_MEMORY[] = "out of memory";

bool nfa_pays(struct pattern_budget *budget, uint64_t steps) {
	if (steps > budget->steps) {
		budget->steps = 0;
		return false;
	}
	budget->steps -= steps;
	return true;
}

struct building {
	const struct expression *from;
	struct nfa *to;
	struct pattern_budget *budget;
	const char *fault;
};

static uint32_t add_nfa_state(struct building *in, enum nfa_kind kind, uint32_t next,
                              uint32_t other) {
	struct nfa *to = in->to;
	if (in->fault) return 0;
	if (to->count == NFA_STATES || !nfa_pays(in->budget, 1)) {
		in->fault = TOO_LARGE;
		return 0;
	}
	if (to->count == to->room) {
		const uint32_t room = to->room ? 2 * to->room : 64;
		struct nfa_state *states = reallocarray(to->states, room, sizeof *states);
		if (!states) {
			in->fault = PATTERN_MEMORY;
			return 0;
		}
		to->states = states;
		to->room = room;
	}
	to->states[to->count] = (struct nfa_state){kind, 0, next, other};
	return to->count++;
}

static uint32_t build_part(struct building *in, uint32_t number, uint32_t next);

static uint32_t build_repeat(struct building *in, const struct part *part, uint32_t next) {
	uint32_t at = next;
	if (part->most == EXPRESSION_ENDLESS) {
		at = add_nfa_state(in, NFA_SPLIT, next, next);
		const uint32_t body = build_part(in, part->last, at);
		if (!in->fault) in->to->states[at].other = body;
	} else {
		for (uint32_t i = part->least; i < part->most && !in->fault; i++)
			at = add_nfa_state(in, NFA_SPLIT, next, build_part(in, part->last, at));
	}
	for (uint32_t i = 0; i < part->least && !in->fault; i++) {
		if (!nfa_pays(in->budget, 1)) in->fault = TOO_LARGE;
		at = build_part(in, part->last, at);
	}
	return at;
}

/* The state that reads the part and then goes on at `next`. */
static uint32_t build_part(struct building *in, uint32_t number, uint32_t next) {
	const struct part *part = &in->from->parts[number];
	uint32_t at = next;
	if (in->fault) return 0;
	switch (part->kind) {
	case PART_SET:
		at = add_nfa_state(in, NFA_SET, next, next);
		if (!in->fault) in->to->states[at].set = part->set;
		return at;
	case PART_LIST:
		for (uint32_t i = part->last; i != NO_PART; i = in->from->parts[i].before)
			at = build_part(in, i, at);
		return at;
	case PART_EITHER:
		at = build_part(in, part->last, next);
		for (uint32_t i = in->from->parts[part->last].before; i != NO_PART;
		     i = in->from->parts[i].before)
			at = add_nfa_state(in, NFA_SPLIT, build_part(in, i, next), at);
		return at;
	case PART_REPEAT:
		return build_repeat(in, part, next);
	case PART_START:
		return add_nfa_state(in, NFA_START, next, next);
	case PART_END:
		return add_nfa_state(in, NFA_END, next, next);
	}
	return at;
}

/* ---- classes --------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
	const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	return (left > right) - (left < right);
}

/* Where a set begins or ends, in order and once each; 0 and the end of all characters, too. */
static uint32_t *list_cuts(const struct expression *from, size_t *count) {
	size_t ranges = 0, used = 0, kept = 0;
	for (uint32_t i = 0; i < from->set_count; i++) ranges += from->sets[i].count;
	uint32_t *cuts = calloc(2 * ranges + 4, sizeof *cuts);
	if (!cuts) return NULL;
	for (uint32_t i = 0; i < from->set_count; i++)
		for (size_t j = 0; j < from->sets[i].count; j++) {
			cuts[used++] = from->sets[i].ranges[j].first;
			cuts[used++] = from->sets[i].ranges[j].last + 1;
		}
	static const uint32_t always[] = {0, 0xd800, 0xe000, 0x110000};
	memcpy(cuts + used, always, sizeof always);
	used += 4;
	qsort(cuts, used, sizeof *cuts, by_number);
	for (size_t i = 0; i < used; i++)
		if (!kept || cuts[kept - 1] != cuts[i]) cuts[kept++] = cuts[i];
	*count = kept;
	return cuts;
}

/* Which class has the characters that exactly the sets of `within` have. A new one, if none. */
static const char *find_character_class(struct nfa *nfa, const bool *within, uint32_t sets,
                                        uint32_t *found) {
	for (*found = 0; *found < nfa->class_count; ++*found)
		if (!memcmp(nfa->within + (size_t)*found * sets, within, sets)) return NULL;
	if (nfa->class_count == NFA_CLASSES)
		return "it tells more than 256 kinds of characters apart";
	memcpy(nfa->within + (size_t)nfa->class_count++ * sets, within, sets);
	return NULL;
}

/* Until transpose_within, nfa->within has a row for each class. */
static const char *sort_ranges(const struct expression *from, const uint32_t *cuts, size_t count,
                               struct pattern_budget *budget, struct nfa *nfa) {
	const uint32_t sets = from->set_count;
	bool *within = calloc((size_t)sets + 1, sizeof *within);
	const char *fault = within ? NULL : PATTERN_MEMORY;
	for (size_t i = 0; i + 1 < count && !fault; i++) {
		uint32_t found;
		if (cuts[i] == 0xd800) continue;
		if (!nfa_pays(budget, 8 * (uint64_t)sets + nfa->class_count)) {
			fault = TOO_LARGE;
			break;
		}
		for (uint32_t j = 0; j < sets; j++)
			within[j] = codepoints_have(&from->sets[j], cuts[i]);
		fault = find_character_class(nfa, within, sets, &found);
		if (!fault && !codepoints_add(&nfa->classes[found], cuts[i], cuts[i + 1] - 1))
			fault = PATTERN_MEMORY;
	}
	free(within);
	return fault;
}

static const char *transpose_within(struct nfa *nfa, uint32_t sets) {
	bool *turned = calloc((size_t)sets * nfa->class_count + 1, sizeof *turned);
	if (!turned) return PATTERN_MEMORY;
	for (uint32_t i = 0; i < nfa->class_count; i++)
		for (uint32_t j = 0; j < sets; j++)
			turned[(size_t)j * nfa->class_count + i] =
			    nfa->within[(size_t)i * sets + j];
	free(nfa->within);
	nfa->within = turned;
	return NULL;
}

static const char *make_classes(const struct expression *from, struct pattern_budget *budget,
                                struct nfa *nfa) {
	size_t count = 0;
	uint32_t *cuts = list_cuts(from, &count);
	nfa->classes = calloc(NFA_CLASSES, sizeof *nfa->classes);
	nfa->within = calloc((size_t)NFA_CLASSES * from->set_count + 1, sizeof *nfa->within);
	const char *fault = cuts && nfa->classes && nfa->within ? NULL : PATTERN_MEMORY;
	if (!fault) fault = sort_ranges(from, cuts, count, budget, nfa);
	if (!fault) fault = transpose_within(nfa, from->set_count);
	free(cuts);
	return fault;
}

const char *nfa_make(const struct expression *expression, struct pattern_budget *budget,
                     struct nfa *nfa) {
	struct building in = {expression, nfa, budget, NULL};
	*nfa = (struct nfa){0};
	const uint32_t accept = add_nfa_state(&in, NFA_ACCEPT, 0, 0);
	nfa->first = build_part(&in, expression->root, accept);
	return in.fault ? in.fault : make_classes(expression, budget, nfa);
}

void nfa_free(struct nfa *nfa) {
	for (uint32_t i = 0; nfa->classes && i < NFA_CLASSES; i++)
		codepoints_free(&nfa->classes[i]);
	free(nfa->classes);
	free(nfa->within);
	free(nfa->states);
	*nfa = (struct nfa){0};
}
