// SPDX-License-Identifier: Apache-2.0
// pattern.h: regular expressions of ECMA 262, as JSON Schema has them, made automata.
//
// A pattern is public; what pattern_fits reads may be private. Nothing is tried twice: the
// automaton has one state at a time, so time grows with the text alone. Example: "b+$" is in "abb"
// and not in "abba". As JSON Schema says, a pattern may be anywhere in a string; ^ and $ tie it to
// the ends.
//
// What is read: characters, classes, . \d \w \s \D \W \S, escapes of characters, groups ( ) and
// (?: ), |, and ? * + {n} {n,} {n,m}, lazy or not; ^ and $. A character is a code point, as with
// ECMA's flag u. What is no regular language or none of our business is refused: \1, \b, \p,
// (?=, (?!, (?<. So is what needs too many states.
#ifndef CUTTLE_IO_SCHEMA_PATTERN_H
#define CUTTLE_IO_SCHEMA_PATTERN_H

#include "io/schema/codepoints.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What all patterns of a schema may still cost, so that none takes more than a second. */
struct pattern_budget {
	uint64_t steps; /* sets of states looked at, and the like */
	size_t states;  /* of automata, which become rules of a grammar */
	size_t cells;   /* of their tables */
};

enum { PATTERN_NOWHERE = UINT32_MAX }; /* no text fits any more */

/* A deterministic automaton. Each state leads to an accepting one. State 0 is the first; a pattern
 * that nothing fits has no state. */
struct pattern {
	uint32_t states;
	uint32_t classes;
	struct codepoints *sets; /* of each class; each character is in one of them */
	uint32_t *next;          /* next[state * classes + class], or PATTERN_NOWHERE */
	bool *accepts;           /* of each state: a text may end here */
};

/* Makes an automaton of the pattern text[size], well-formed UTF-8. Returns NULL, or why not: a
 * fixed text. PATTERN_MEMORY is one of them. Whatever it returns, pattern_free ends it. */
extern const char PATTERN_MEMORY[];
const char *pattern_make(const char *text, size_t size, struct pattern_budget *budget,
                         struct pattern *pattern);
/* Makes the automaton of those texts that fit `from` and have `least` to `most` characters, most
 * SIZE_MAX for any number. Returns NULL or why not. */
const char *pattern_bound(const struct pattern *from, size_t least, size_t most,
                          struct pattern_budget *budget, struct pattern *pattern);
void pattern_free(struct pattern *pattern);

/* Whether text[size], well-formed UTF-8, fits. */
bool pattern_fits(const struct pattern *pattern, const char *text, size_t size);

#endif
