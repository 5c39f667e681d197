// SPDX-License-Identifier: Apache-2.0
// tree.h: a grammar as its text says it: a tree for each rule. No private data.
// gbnf.h makes it, measure.h learns what its parts can become, program.h makes a program of it.
// Example: root ::= "a" | b* is ANY of TEXT "a" and REPEAT 0 or more of CALL b.
#ifndef CUTTLE_ENGINE_GRAMMAR_TREE_H
#define CUTTLE_ENGINE_GRAMMAR_TREE_H

#include "engine/cuttle/status.h"

enum {
	TREE_NESTING = 256,       /* nodes in each other within a rule, at most */
	TREE_REPETITION = 1000000 /* the largest number in { } */
};
#define TREE_UNLIMITED UINT32_MAX    /* most of a repetition without a limit */
#define TREE_RULE 0x80000000u        /* parent of a rule's body: this and the rule's number */
#define TREE_COST_MOST (1ull << 40)  /* no part may need more bytes than that */
#define TREE_COST_UNKNOWN UINT64_MAX /* no way to its end is known */

enum tree_kind { TREE_TEXT, TREE_CLASS, TREE_CALL, TREE_ALL, TREE_ANY, TREE_REPEAT };

struct tree_node {
	uint32_t kind : 8; /* enum tree_kind */
	uint32_t at : 24;  /* where it stands in the text of the grammar */
	uint32_t first;    /* first child, 0 = none; of CALL the next call of the same rule */
	uint32_t next;     /* next sibling, 0 = none */
	uint32_t parent;   /* a node, or TREE_RULE and a rule */
	/* TEXT: its bytes begin here. CLASS: its ranges begin here. CALL: the rule. REPEAT: least.
	 */
	uint32_t a;
	uint32_t b; /* TEXT: bytes. CLASS: ranges. REPEAT: most. ALL: children not measured yet */
};

struct tree_range { /* of code points */
	uint32_t low;
	uint32_t high; /* included */
};

struct tree_rule {
	uint32_t name;  /* where its name first stands in the text */
	uint32_t size;  /* bytes of the name */
	uint32_t body;  /* 0 = not defined */
	uint32_t calls; /* the first CALL of it, 0 = none */
};

/* What a node can become. */
struct tree_extent {
	uint64_t cost; /* bytes of the shortest text; 0 = it may be empty */
	bool done;     /* cost is final */
	bool queued;
	bool full; /* it may be something, too */
};

struct tree {
	const char *text;
	size_t size;
	struct tree_node *nodes; /* nodes[0] is not used */
	size_t node_count, node_room;
	char *bytes; /* of all TEXT nodes */
	size_t byte_count, byte_room;
	struct tree_range *ranges; /* of all CLASS nodes: sorted, apart, no surrogates */
	size_t range_count, range_room;
	size_t dot; /* the ranges of all characters begin there, SIZE_MAX = nowhere yet */
	struct tree_rule *rules;
	size_t rule_count, rule_room;
	uint32_t *by_name; /* hash table of rules: number + 1, 0 = empty */
	size_t by_name_room;
	struct tree_extent *extents; /* [node_count], measure.h */
	uint32_t root;               /* the rule */
};

/* Grows *array of `size` bytes an element to hold `count` and more. False: out of memory. */
bool tree_grow(void **array, size_t *room, size_t count, size_t size);

/* A new node without children; 0 = out of memory. */
uint32_t tree_add(struct tree *tree, enum tree_kind kind, size_t at, uint32_t a, uint32_t b);

/* The rule with the name text[at .. at + size), which is made where there was none. False: out of
 * memory. */
bool tree_rule_of(struct tree *tree, size_t at, size_t size, uint32_t *rule);

/* INPUT, with the line and column of text[at]. */
enum cuttle_status tree_fault(const struct tree *tree, size_t at, struct cuttle_error *error,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

void tree_free(struct tree *tree);

#endif
