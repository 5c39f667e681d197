// SPDX-License-Identifier: Apache-2.0
// characters.h: classes of characters to nodes of UTF-8 bytes. No private data.
// Example: [a-z\u00e9] is a node with the edges a-z (complete) and C3 (to a node with the edge A9).
// Equal nodes are one.
#ifndef CUTTLE_ENGINE_GRAMMAR_CHARACTERS_H
#define CUTTLE_ENGINE_GRAMMAR_CHARACTERS_H

#include "engine/grammar/program.h"

struct characters {
	struct cuttle_grammar *grammar;
	uint32_t *table; /* hash table of nodes, 0 = empty */
	size_t table_room;
	uint32_t bytes[256]; /* the node of one byte, 0 = none yet */
	uint32_t any;        /* the node of all characters, 0 = none yet */
	struct character_span *spans;
	size_t span_count, span_room;
};

/* The node of ranges[count]; of one byte. 0 = out of memory. */
uint32_t characters_node(struct characters *characters, const struct tree_range *ranges,
                         size_t count);
uint32_t characters_byte(struct characters *characters, uint8_t byte);
void characters_free(struct characters *characters);

#endif
