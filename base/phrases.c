// SPDX-License-Identifier: Apache-2.0
// How phrases.h finds: the automaton of Aho and Corasick (1975), on pieces in place of letters.
//
// Phrases are paths in a tree of nodes; each step is a piece. With "Anna", "Anna May" and "May":
//   0 -Anna-> 1 -space-> 2 -May-> 3        0 -May-> 4
// A node's fallback is the longest other path that ends alike: of 3 it is 4. A text walks down the
// tree piece by piece, and by the fallbacks where there is no step. Each node has the longest
// phrase that ends there, its own or that of its fallback.
#include "base/phrases.h"

#include "base/misuse.h"
#include "base/words.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ABSENT = UINT32_MAX }; /* no piece, node or phrase */

struct phrase_piece {
	const char *text; /* the caller's bytes; NULL = an empty place of the table */
	uint32_t size;    /* bytes */
	uint32_t hash;
	uint32_t number; /* from 0, in the order they came */
};
struct phrase_step {
	uint32_t from;  /* node */
	uint32_t piece; /* number */
	uint32_t to;    /* node; 0 = an empty place, as no step leads to the root */
};
struct phrase_node {
	uint32_t depth;    /* pieces from the root */
	uint32_t parent;   /* node */
	uint32_t piece;    /* number of the step from the parent */
	uint32_t fallback; /* node */
	uint32_t size;     /* bytes of the longest phrase that ends here; 0 = none does */
	size_t name;       /* the caller's number for it */
};
struct phrases {
	/* Both tables have a power of two of places and are at most half full. A search begins at
	 * the place that the hash gives, and goes on until an empty one. */
	struct phrase_piece *pieces;
	struct phrase_step *steps;
	struct phrase_node *nodes; /* node 0 is the root */
	size_t piece_places, piece_count;
	size_t step_places;
	size_t node_room, node_count;
	bool sealed;
};

static void wipe_block(void *block, size_t size) {
	if (block) explicit_bzero(block, size);
	free(block);
}

/* Spreads 64 bits over 32: an odd factor, and the upper half, which depends on all bits. */
static uint32_t spread_bits(uint64_t bits) {
	bits = (bits ^ bits >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(bits >> 32);
}

static uint32_t hash_piece(const char *text, size_t size) {
	uint64_t hash = size;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return spread_bits(hash);
}

/* The place of the piece, or the empty place where it belongs. */
static struct phrase_piece *place_of_piece(const struct phrases *set, const char *text, size_t size,
                                           uint32_t hash) {
	size_t place = hash & (set->piece_places - 1);
	for (;; place = (place + 1) & (set->piece_places - 1)) {
		struct phrase_piece *piece = &set->pieces[place];
		if (!piece->text || (piece->hash == hash && piece->size == size &&
		                     !memcmp(piece->text, text, size)))
			return piece;
	}
}

static struct phrase_step *place_of_step(const struct phrases *set, uint32_t from, uint32_t piece) {
	size_t place = spread_bits((uint64_t)from << 32 | piece) & (set->step_places - 1);
	for (;; place = (place + 1) & (set->step_places - 1)) {
		struct phrase_step *step = &set->steps[place];
		if (!step->to || (step->from == from && step->piece == piece)) return step;
	}
}

static bool grow_pieces(struct phrases *set) {
	struct phrases old = *set;
	if (2 * (set->piece_count + 1) <= set->piece_places) return true;
	struct phrase_piece *pieces = calloc(2 * old.piece_places, sizeof *pieces);
	if (!pieces) return false;
	set->pieces = pieces;
	set->piece_places = 2 * old.piece_places;
	for (size_t i = 0; i < old.piece_places; i++) {
		const struct phrase_piece *piece = &old.pieces[i];
		if (piece->text)
			*place_of_piece(set, piece->text, piece->size, piece->hash) = *piece;
	}
	wipe_block(old.pieces, old.piece_places * sizeof *old.pieces);
	return true;
}

/* Each node but the root has one step, so the steps are as many as the nodes. */
static bool grow_steps(struct phrases *set) {
	struct phrases old = *set;
	if (2 * (set->node_count + 1) <= set->step_places) return true;
	struct phrase_step *steps = calloc(2 * old.step_places, sizeof *steps);
	if (!steps) return false;
	set->steps = steps;
	set->step_places = 2 * old.step_places;
	for (size_t i = 0; i < old.step_places; i++)
		if (old.steps[i].to)
			*place_of_step(set, old.steps[i].from, old.steps[i].piece) = old.steps[i];
	wipe_block(old.steps, old.step_places * sizeof *old.steps);
	return true;
}

static bool grow_nodes(struct phrases *set) {
	if (set->node_count < set->node_room) return true;
	struct phrase_node *nodes = calloc(2 * set->node_room, sizeof *nodes);
	if (!nodes) return false;
	memcpy(nodes, set->nodes, set->node_count * sizeof *nodes);
	wipe_block(set->nodes, set->node_count * sizeof *nodes);
	set->nodes = nodes;
	set->node_room *= 2;
	return true;
}

struct phrases *phrases_make(void) {
	enum { PLACES = 64 };
	struct phrases *set = calloc(1, sizeof *set);
	if (!set) return NULL;
	*set = (struct phrases){.pieces = calloc(PLACES, sizeof *set->pieces),
	                        .steps = calloc(PLACES, sizeof *set->steps),
	                        .nodes = calloc(PLACES, sizeof *set->nodes),
	                        .piece_places = PLACES,
	                        .step_places = PLACES,
	                        .node_room = PLACES,
	                        .node_count = 1};
	if (set->pieces && set->steps && set->nodes) return set;
	phrases_free(set);
	return NULL;
}

void phrases_free(struct phrases *phrases) {
	if (!phrases) return;
	wipe_block(phrases->pieces, phrases->piece_places * sizeof *phrases->pieces);
	wipe_block(phrases->steps, phrases->step_places * sizeof *phrases->steps);
	wipe_block(phrases->nodes, phrases->node_room * sizeof *phrases->nodes);
	free(phrases);
}

/* The number of the piece, which is new or not. ABSENT: out of memory. */
static uint32_t number_piece(struct phrases *set, const char *text, size_t size) {
	if (!grow_pieces(set)) return ABSENT;
	const uint32_t hash = hash_piece(text, size);
	struct phrase_piece *piece = place_of_piece(set, text, size, hash);
	if (!piece->text)
		*piece =
		    (struct phrase_piece){text, (uint32_t)size, hash, (uint32_t)set->piece_count++};
	return piece->number;
}

/* The node that the step leads to, which is new or not. ABSENT: out of memory. */
static uint32_t step_down(struct phrases *set, uint32_t from, uint32_t piece) {
	if (!grow_steps(set) || !grow_nodes(set)) return ABSENT;
	struct phrase_step *step = place_of_step(set, from, piece);
	if (step->to) return step->to;
	const uint32_t to = (uint32_t)set->node_count++;
	*step = (struct phrase_step){from, piece, to};
	set->nodes[to] = (struct phrase_node){
	    .depth = set->nodes[from].depth + 1, .parent = from, .piece = piece};
	return to;
}

bool phrases_add(struct phrases *phrases, const char *text, size_t size, size_t name) {
	REQUIRE(!phrases->sealed && size < ABSENT - phrases->node_count);
	uint32_t node = 0;
	for (size_t at = 0, length; at < size; at += length) {
		length = words_piece(text + at, size - at);
		const uint32_t piece = number_piece(phrases, text + at, length);
		if (piece == ABSENT) return false;
		node = step_down(phrases, node, piece);
		if (node == ABSENT) return false;
	}
	struct phrase_node *end = &phrases->nodes[node];
	if (size && !end->size) {
		end->size = (uint32_t)size;
		end->name = name;
	}
	return true;
}

/* From the node by this piece: along the fallbacks to the first step there is, else to the root. */
static uint32_t next_node(const struct phrases *set, uint32_t node, uint32_t piece) {
	for (;;) {
		const struct phrase_step *step = place_of_step(set, node, piece);
		if (step->to) return step->to;
		if (!node) return 0;
		node = set->nodes[node].fallback;
	}
}

static void link_node(struct phrases *set, struct phrase_node *node) {
	node->fallback =
	    node->parent ? next_node(set, set->nodes[node->parent].fallback, node->piece) : 0;
	const struct phrase_node *fallback = &set->nodes[node->fallback];
	if (node->size) return;
	node->size = fallback->size;
	node->name = fallback->name;
}

bool phrases_seal(struct phrases *phrases) {
	REQUIRE(!phrases->sealed);
	size_t deepest = 0;
	for (size_t i = 0; i < phrases->node_count; i++)
		if (phrases->nodes[i].depth > deepest) deepest = phrases->nodes[i].depth;
	// A fallback is less deep than its node. So nodes are linked by depth: counted first, then
	// sorted. before[d] is where the nodes of depth d begin in `order`.
	size_t *before = calloc(deepest + 2, sizeof *before);
	uint32_t *order = calloc(phrases->node_count, sizeof *order);
	const bool room = before && order;
	if (room) {
		for (size_t i = 0; i < phrases->node_count; i++)
			before[phrases->nodes[i].depth + 1]++;
		for (size_t i = 1; i <= deepest; i++) before[i] += before[i - 1];
		for (size_t i = 0; i < phrases->node_count; i++)
			order[before[phrases->nodes[i].depth]++] = (uint32_t)i;
		for (size_t i = 1; i < phrases->node_count; i++)
			link_node(phrases, &phrases->nodes[order[i]]);
	}
	free(before);
	free(order);
	phrases->sealed = room;
	return room;
}

void phrases_scan(const struct phrases *phrases, const char *text, size_t size,
                  void (*found)(void *user, size_t start, size_t end, size_t name), void *user) {
	REQUIRE(phrases->sealed);
	uint32_t node = 0;
	for (size_t at = 0, length; at < size; at += length) {
		length = words_piece(text + at, size - at);
		const struct phrase_piece *piece =
		    place_of_piece(phrases, text + at, length, hash_piece(text + at, length));
		node = piece->text ? next_node(phrases, node, piece->number) : 0;
		const struct phrase_node *here = &phrases->nodes[node];
		const size_t end = at + length;
		if (here->size) found(user, end - here->size, end, here->name);
	}
}
