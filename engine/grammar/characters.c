// SPDX-License-Identifier: Apache-2.0
// characters.c: see characters.h. No private data.
// A range of code points is cut until each piece is a product of byte ranges. Example: U+07F0 to
// U+0810 is DF B0-BF, then E0 A0 80-90. Pieces that begin with the same byte range get one edge.
#include "engine/grammar/characters.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

struct character_span { /* a product of byte ranges */
	uint8_t low[4];
	uint8_t high[4];
	uint8_t size; /* bytes */
};

/* ---- pieces ---------------------------------------------------------------------------------- */

static bool add_span(struct characters *characters, uint32_t low, uint32_t high) {
	if (!tree_grow((void **)&characters->spans, &characters->span_room,
	               characters->span_count + 1, sizeof *characters->spans))
		return false;
	struct character_span *span = characters->spans + characters->span_count++;
	char bytes[4] = "";
	*span = (struct character_span){.size = (uint8_t)utf8_write(low, bytes)};
	memcpy(span->low, bytes, span->size);
	utf8_write(high, bytes);
	memcpy(span->high, bytes, span->size);
	return true;
}

/* Where low..high must be cut: the last code point of its first piece. */
static uint32_t first_cut(uint32_t low, uint32_t high) {
	static const uint32_t ends[] = {0x7f, 0x7ff, 0xffff};
	for (unsigned i = 0; i < 3; i++)
		if (low <= ends[i] && high > ends[i]) high = ends[i];
	// The last bytes must be free where the bytes before them differ.
	for (unsigned bits = 6; bits < 24 && low > 0x7f; bits += 6) {
		const uint32_t tail = (1u << bits) - 1;
		if ((low & ~tail) == (high & ~tail)) break;
		if (low & tail) return low | tail;
		if ((high & tail) != tail) high = (high & ~tail) - 1;
	}
	return high;
}

static bool cut_range(struct characters *characters, struct tree_range range) {
	for (;;) {
		const uint32_t high = first_cut(range.low, range.high);
		if (!add_span(characters, range.low, high)) return false;
		if (high == range.high) return true;
		range.low = high + 1;
	}
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static size_t hash_edges(const struct program_edge *edges, size_t count) {
	uint64_t hash = count;
	for (size_t i = 0; i < count; i++) {
		hash = (hash ^ edges[i].next) * 0x9e3779b97f4a7c15u;
		hash = (hash ^ (hash >> 29) ^ (uint64_t)edges[i].low << 8 ^ edges[i].high) *
		       0xbf58476d1ce4e5b9u;
	}
	return (size_t)(hash ^ hash >> 32);
}

static bool same_edges(const struct program_edge *a, const struct program_edge *b, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (a[i].low != b[i].low || a[i].high != b[i].high || a[i].next != b[i].next)
			return false;
	return true;
}

static size_t slot_of_edges(const struct characters *characters, const struct program_edge *edges,
                            size_t count) {
	const struct cuttle_grammar *grammar = characters->grammar;
	size_t slot = hash_edges(edges, count) & (characters->table_room - 1);
	for (; characters->table[slot]; slot = (slot + 1) & (characters->table_room - 1)) {
		const struct program_node *node = grammar->nodes + characters->table[slot];
		if (node->count == count && same_edges(grammar->edges + node->first, edges, count))
			break;
	}
	return slot;
}

static bool widen_table(struct characters *characters) {
	struct cuttle_grammar *grammar = characters->grammar;
	if (grammar->node_count * 2 < characters->table_room) return true;
	const size_t room = characters->table_room ? characters->table_room * 2 : 1024;
	uint32_t *wider = calloc(room, sizeof *wider);
	if (!wider) return false;
	free(characters->table);
	characters->table = wider;
	characters->table_room = room;
	for (size_t i = 1; i < grammar->node_count; i++) {
		const struct program_node *node = grammar->nodes + i;
		wider[slot_of_edges(characters, grammar->edges + node->first, node->count)] =
		    (uint32_t)i;
	}
	return true;
}

static bool add_edges(struct cuttle_grammar *grammar, const struct program_edge *edges,
                      size_t count) {
	if (!tree_grow((void **)&grammar->edges, &grammar->edge_room, grammar->edge_count + count,
	               sizeof *edges) ||
	    !tree_grow((void **)&grammar->nodes, &grammar->node_room, grammar->node_count + 2,
	               sizeof *grammar->nodes))
		return false;
	if (!grammar->node_count) grammar->nodes[grammar->node_count++] = (struct program_node){0};
	struct program_node node = {(uint32_t)grammar->edge_count, (uint16_t)count, 4};
	for (size_t i = 0; i < count; i++) {
		const unsigned least = 1u + grammar->nodes[edges[i].next].least;
		if (least < node.least) node.least = (uint8_t)least;
		grammar->edges[grammar->edge_count++] = edges[i];
	}
	grammar->nodes[grammar->node_count++] = node;
	return true;
}

/* The node with these edges; 0 = out of memory. */
static uint32_t node_of_edges(struct characters *characters, const struct program_edge *edges,
                              size_t count) {
	if (!widen_table(characters)) return 0;
	const size_t slot = slot_of_edges(characters, edges, count);
	if (!characters->table[slot]) {
		if (!add_edges(characters->grammar, edges, count)) return 0;
		characters->table[slot] = (uint32_t)characters->grammar->node_count - 1;
	}
	return characters->table[slot];
}

/* The node of the bytes from number `at` on of spans[count], which share those before. */
static uint32_t node_of_spans(struct characters *characters, const struct character_span *spans,
                              size_t count, unsigned at) {
	struct program_edge edges[256];
	size_t edge_count = 0;
	for (size_t i = 0, end; i < count; i = end) {
		const struct character_span *span = spans + i;
		for (end = i + 1; end < count && spans[end].low[at] == span->low[at];) end++;
		uint32_t next = 0;
		if (at < 3 && span->size > at + 1) {
			next = node_of_spans(characters, span, end - i, at + 1);
			if (!next) return 0;
		}
		struct program_edge *last = edge_count ? edges + edge_count - 1 : NULL;
		if (last && last->next == next && last->high + 1 == span->low[at])
			last->high = span->high[at];
		else
			edges[edge_count++] =
			    (struct program_edge){span->low[at], span->high[at], next};
	}
	return node_of_edges(characters, edges, edge_count);
}

uint32_t characters_node(struct characters *characters, const struct tree_range *ranges,
                         size_t count) {
	const bool any = count == 2 && ranges[0].low == 0 && ranges[0].high == 0xd7ff &&
	                 ranges[1].low == 0xe000 && ranges[1].high == 0x10ffff;
	if (any && characters->any) return characters->any;
	characters->span_count = 0;
	for (size_t i = 0; i < count; i++)
		if (!cut_range(characters, ranges[i])) return 0;
	const uint32_t node =
	    node_of_spans(characters, characters->spans, characters->span_count, 0);
	if (any) characters->any = node;
	return node;
}

uint32_t characters_byte(struct characters *characters, uint8_t byte) {
	if (!characters->bytes[byte])
		characters->bytes[byte] =
		    node_of_edges(characters, &(struct program_edge){byte, byte, 0}, 1);
	return characters->bytes[byte];
}

void characters_free(struct characters *characters) {
	free(characters->table);
	free(characters->spans);
	*characters = (struct characters){0};
}
