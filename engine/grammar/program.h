// SPDX-License-Identifier: Apache-2.0
// program.h: a grammar as a program for the automaton: what to read next, and where to go on. No
// private data. This is what a struct cuttle_grammar holds; it never changes.
// Example: root ::= "a" b?     0 BYTES 'a'   1 FORK 3, 2   2 CALL b   3 RETURN
// The alternatives of a FORK stand in the order of `rest`: the first leads to the end soonest.
#ifndef CUTTLE_ENGINE_GRAMMAR_PROGRAM_H
#define CUTTLE_ENGINE_GRAMMAR_PROGRAM_H

#include "engine/grammar/tree.h"

enum program_kind {
	PROGRAM_BYTES, /* reads one character: nodes from a on, then goes on at b */
	PROGRAM_CALL,  /* a is the rule's first place; its end goes on at b */
	PROGRAM_GO,    /* goes on at a */
	PROGRAM_FORK,  /* goes on at one of targets[a .. a + b) */
	PROGRAM_LOOP,  /* begins loops[a] */
	PROGRAM_AGAIN, /* the end of the body of loops[a] */
	PROGRAM_RETURN /* the end of a rule */
};

struct program_op {
	uint8_t kind;
	bool skip; /* CALL: the rule may be empty */
	bool tail; /* CALL: what stands at b is RETURN */
	uint32_t a;
	uint32_t b;
	uint64_t rest; /* bytes to the end of the rule, or of the loop's body, at least */
};

struct program_loop {
	uint32_t least; /* 0 where the body may be empty: then no repetition needs to be there */
	uint32_t most;  /* TREE_UNLIMITED */
	uint32_t body;
	uint32_t behind;
	uint64_t cost; /* bytes of one repetition, at least */
};

/* Bytes of a character are read node by node. An edge leads to another node, or to node 0: the
 * character is complete. */
struct program_edge {
	uint8_t low;
	uint8_t high; /* included */
	uint32_t next;
};
struct program_node {
	uint32_t first; /* edges[first .. first + count), sorted */
	uint16_t count;
	uint8_t least; /* bytes to the end of the character, at least */
};

struct cuttle_grammar {
	struct program_op *ops;
	size_t op_count, op_room;
	uint32_t *targets;
	size_t target_count, target_room;
	struct program_loop *loops;
	size_t loop_count, loop_room;
	struct program_edge *edges;
	size_t edge_count, edge_room;
	struct program_node *nodes; /* nodes[0] is the complete character */
	size_t node_count, node_room;
	uint32_t root;        /* its first place */
	uint64_t farthest;    /* measure_farthest */
	uint8_t classes[256]; /* bytes of the same class have the same edges everywhere */
	uint8_t members[256]; /* the least byte of each class */
	unsigned class_count;
};

/* Makes the program of a measured tree. NOMEM; then *grammar is to be freed as well. */
enum cuttle_status program_make(const struct tree *tree, struct cuttle_grammar *grammar,
                                struct cuttle_error *error);
void program_free(struct cuttle_grammar *grammar);

#endif
