// SPDX-License-Identifier: Apache-2.0
// nfa.h: an expression as an automaton that may be in several states at once, and the classes of
// characters that it tells apart.
//
// No private data. io/schema/pattern.c makes the automaton of one state of it.
// Example: of "[ab]|b" the classes are: a; b; all other characters.
#ifndef CUTTLE_IO_SCHEMA_NFA_H
#define CUTTLE_IO_SCHEMA_NFA_H

#include "io/schema/expression.h"
#include "io/schema/pattern.h"

enum { NFA_CLASSES = 256, NFA_STATES = 20000 }; /* at most */

enum nfa_kind {
	NFA_SET,   /* reads a character of `set`, then goes to `next` */
	NFA_SPLIT, /* goes to `next` and to `other`, and reads nothing */
	NFA_START, /* goes to `next` where nothing was read */
	NFA_END,   /* goes to `next` where nothing more is read */
	NFA_ACCEPT /* whatever comes */
};

struct nfa_state {
	enum nfa_kind kind;
	uint32_t set;
	uint32_t next;
	uint32_t other;
};

struct nfa {
	struct nfa_state *states;
	uint32_t count;
	uint32_t room;
	uint32_t first;
	struct codepoints *classes; /* each character is in one of them */
	uint32_t class_count;
	bool *within; /* within[set * class_count + class]: the set has the class's characters */
};

/* Returns NULL or why not, as pattern_make does. Whatever it returns, nfa_free ends it. */
const char *nfa_make(const struct expression *expression, struct pattern_budget *budget,
                     struct nfa *nfa);
void nfa_free(struct nfa *nfa);

/* Takes steps off the budget. False: there are not so many. */
bool nfa_pays(struct pattern_budget *budget, uint64_t steps);

#endif
