// SPDX-License-Identifier: Apache-2.0
// How codepoints.h keeps a set: a list of ranges, into which a new one is put in its order.
#include "io/schema/codepoints.h"

#include <stdlib.h>
#include <string.h>

enum { LAST = 0x10ffff, SURROGATES = 0xd800, BEHIND_SURROGATES = 0xe000 };

void codepoints_free(struct codepoints *set) {
	free(set->ranges);
	*set = (struct codepoints){0};
}

static bool have_room(struct codepoints *set) {
	if (set->count < set->room) return true;
	const size_t room = set->room ? 2 * set->room : 4;
	struct codepoint_range *ranges = reallocarray(set->ranges, room, sizeof *ranges);
	if (!ranges) return false;
	set->ranges = ranges;
	set->room = room;
	return true;
}

/* Ranges that the new one touches become one with it. */
static bool put_range(struct codepoints *set, uint32_t first, uint32_t last) {
	size_t from = 0, to;
	while (from < set->count && set->ranges[from].last + 1 < first) from++;
	for (to = from; to < set->count && set->ranges[to].first <= last + 1; to++) {
		if (set->ranges[to].first < first) first = set->ranges[to].first;
		if (set->ranges[to].last > last) last = set->ranges[to].last;
	}
	if (from == to && !have_room(set)) return false;
	// [from, to) makes room for one.
	memmove(set->ranges + from + 1, set->ranges + to, (set->count - to) * sizeof *set->ranges);
	set->count = set->count - (to - from) + 1;
	set->ranges[from] = (struct codepoint_range){first, last};
	return true;
}

bool codepoints_add(struct codepoints *set, uint32_t first, uint32_t last) {
	if (last > LAST) last = LAST;
	if (first < SURROGATES && !put_range(set, first, last < SURROGATES ? last : SURROGATES - 1))
		return false;
	if (last < BEHIND_SURROGATES) return true;
	return put_range(set, first < BEHIND_SURROGATES ? BEHIND_SURROGATES : first, last);
}

bool codepoints_join(struct codepoints *set, const struct codepoints *more) {
	for (size_t i = 0; i < more->count; i++)
		if (!codepoints_add(set, more->ranges[i].first, more->ranges[i].last)) return false;
	return true;
}

bool codepoints_invert(struct codepoints *set) {
	struct codepoints others = {0};
	uint32_t next = 0;
	bool done = true;
	for (size_t i = 0; i < set->count && done; i++) {
		if (set->ranges[i].first > next)
			done = codepoints_add(&others, next, set->ranges[i].first - 1);
		next = set->ranges[i].last + 1;
	}
	if (done && next <= LAST) done = codepoints_add(&others, next, LAST);
	codepoints_free(set);
	*set = others;
	return done;
}

bool codepoints_have(const struct codepoints *set, uint32_t code_point) {
	size_t low = 0, high = set->count;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (set->ranges[middle].last < code_point) low = middle + 1;
		else high = middle;
	}
	return low < set->count && set->ranges[low].first <= code_point;
}

bool codepoints_equal(const struct codepoints *a, const struct codepoints *b) {
	return a->count == b->count &&
	       (!a->count || !memcmp(a->ranges, b->ranges, a->count * sizeof *a->ranges));
}
