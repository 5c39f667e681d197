// SPDX-License-Identifier: Apache-2.0
// trie.c: see trie.h. No private data.
#include "engine/grammar/trie.h"

#include "engine/grammar/tree.h"

#include <stdlib.h>
#include <string.h>

size_t trie_spell(const struct vocab *vocab, int32_t id, char *to, size_t room) {
	size_t size = 0;
	if (vocab_drawable(vocab, id) && !vocab_ends_text(vocab, id))
		vocab_detokenize(vocab, &id, 1, false, to, room, &size);
	return size < UINT16_MAX ? size : 0;
}

/* The tokens that are in texts, while a trie is made. */
struct spelt {
	struct trie *trie; /* by_id, bytes and longest are set */
	struct trie_token *tokens;
	size_t count;
};

static bool spell_tokens(struct spelt *spelt, const struct vocab *vocab) {
	struct trie *trie = spelt->trie;
	const size_t count = vocab_size(vocab);
	size_t room = 0;
	trie->by_id = calloc(count ? count : 1, sizeof *trie->by_id);
	trie->same = malloc((count ? count : 1) * sizeof *trie->same);
	spelt->tokens = calloc(count ? count : 1, sizeof *spelt->tokens);
	if (!trie->by_id || !trie->same || !spelt->tokens) return false;
	for (size_t id = 0, at = 0; id < count; id++) {
		if (!tree_grow((void **)&trie->bytes, &room, at + UINT16_MAX, 1) ||
		    at > UINT32_MAX - UINT16_MAX)
			return false;
		const size_t size = trie_spell(vocab, (int32_t)id, trie->bytes + at, room - at);
		const struct trie_token token = {(uint32_t)at, (uint32_t)size, (int32_t)id};
		trie->by_id[id] = token;
		if (size) spelt->tokens[spelt->count++] = token;
		if (size > trie->longest) trie->longest = size;
		at += size;
	}
	return true;
}

/* The first bytes of a token as a number in the order of bytes, and which token it is. */
struct trie_order {
	uint64_t head;
	uint32_t token;
};

/* Of tokens with the same head. */
static int compare_by_bytes(const void *one, const void *other, void *context) {
	const struct spelt *spelt = context;
	const char *bytes = spelt->trie->bytes;
	const struct trie_token *a = spelt->tokens + ((const struct trie_order *)one)->token;
	const struct trie_token *b = spelt->tokens + ((const struct trie_order *)other)->token;
	const size_t size = a->size < b->size ? a->size : b->size;
	const int order = memcmp(bytes + a->at, bytes + b->at, size);
	if (order) return order;
	return a->size != b->size ? (a->size < b->size ? -1 : 1)
	                          : (a->id > b->id) - (a->id < b->id);
}

static uint64_t head_of_token(const struct trie *trie, const struct trie_token *token) {
	uint64_t head = 0;
	for (size_t i = 0; i < sizeof head; i++)
		head = head << 8 | (i < token->size ? (uint8_t)trie->bytes[token->at + i] : 0);
	return head;
}

/* Sorts order[count] by head with order[count .. 2 * count) as room: by its last 16 bits first, and
 * what was before stays before. */
static void sort_heads(struct trie_order *order, size_t count, uint32_t *starts) {
	struct trie_order *from = order, *to = order + count;
	for (unsigned shift = 0; shift < 64; shift += 16) {
		memset(starts, 0, (UINT16_MAX + 2) * sizeof *starts);
		for (size_t i = 0; i < count; i++)
			starts[(from[i].head >> shift & UINT16_MAX) + 1]++;
		for (size_t i = 0; i < UINT16_MAX; i++) starts[i + 1] += starts[i];
		for (size_t i = 0; i < count; i++)
			to[starts[from[i].head >> shift & UINT16_MAX]++] = from[i];
		struct trie_order *swapped = from;
		from = to;
		to = swapped;
	}
}

static bool sort_tokens(struct spelt *spelt) {
	const size_t count = spelt->count;
	struct trie_order *order = malloc((2 * count + 1) * sizeof *order);
	struct trie_token *sorted = malloc((count + 1) * sizeof *sorted);
	uint32_t *starts = malloc((UINT16_MAX + 2) * sizeof *starts);
	const bool made = order && sorted && starts;
	for (size_t i = 0; made && i < count; i++)
		order[i] =
		    (struct trie_order){head_of_token(spelt->trie, spelt->tokens + i), (uint32_t)i};
	if (made) sort_heads(order, count, starts);
	for (size_t i = 0, end; made && i < count; i = end) {
		for (end = i + 1; end < count && order[end].head == order[i].head;) end++;
		if (end > i + 1)
			qsort_r(order + i, end - i, sizeof *order, compare_by_bytes, spelt);
	}
	for (size_t i = 0; made && i < count; i++) sorted[i] = spelt->tokens[order[i].token];
	free(starts);
	free(order);
	if (!made) {
		free(sorted);
		return false;
	}
	free(spelt->tokens);
	spelt->tokens = sorted;
	return true;
}

/* Bytes that two tokens begin with; 0 where there is no first one. */
static size_t shared_bytes(const struct trie *trie, const struct trie_token *a,
                           const struct trie_token *b) {
	size_t size = 0;
	while (a && size < a->size && size < b->size &&
	       trie->bytes[a->at + size] == trie->bytes[b->at + size])
		size++;
	return size;
}

/* The next token behind `at` of which the part is; NULL = none. */
static const struct trie_token *next_in_part(const struct spelt *spelt,
                                             const struct trie_part *part, size_t shorter,
                                             const struct trie_token *at) {
	const struct trie_token *end = spelt->tokens + spelt->count;
	for (at = at ? at + 1 : spelt->tokens; at < end; at++)
		if (at->size > shorter && at->size <= part->longest) return at;
	return NULL;
}

/* `before` is the token before it in its part, NULL = none. open[depth] is the last node with depth
 * + 1 bytes. */
static void add_trie_token(struct trie *trie, struct trie_part *part,
                           const struct trie_token *before, const struct trie_token *token,
                           uint32_t *open) {
	const size_t shared = shared_bytes(trie, before, token);
	for (size_t depth = shared; before && depth < before->size; depth++)
		part->nodes[open[depth]].end = (uint32_t)part->count;
	for (size_t depth = shared; depth < token->size; depth++) {
		open[depth] = (uint32_t)part->count;
		part->nodes[part->count++] =
		    (struct trie_node){.byte = (uint8_t)trie->bytes[token->at + depth],
		                       .depth = (uint16_t)(depth + 1)};
	}
	struct trie_node *node = part->nodes + open[token->size - 1];
	trie->same[token->id] = node->tokens ? node->id : -1;
	node->id = token->id;
	node->tokens = node->tokens ? TRIE_SEVERAL : TRIE_ONE;
}

/* The part of the tokens with more than `shorter` and at most part->longest bytes. */
static bool make_part(const struct spelt *spelt, struct trie_part *part, size_t shorter,
                      uint32_t *open) {
	const struct trie_token *before = NULL, *token = NULL;
	size_t count = 0;
	for (; (token = next_in_part(spelt, part, shorter, token)); before = token)
		count += token->size - shared_bytes(spelt->trie, before, token);
	part->nodes = malloc((count + 1) * sizeof *part->nodes);
	if (!part->nodes) return false;
	for (before = NULL; (token = next_in_part(spelt, part, shorter, token)); before = token)
		add_trie_token(spelt->trie, part, before, token, open);
	for (size_t depth = 0; before && depth < before->size; depth++)
		part->nodes[open[depth]].end = (uint32_t)part->count;
	return true;
}

/* The parts have the tokens with at most so many bytes that no part before has. */
static bool make_parts(const struct spelt *spelt) {
	static const size_t bounds[TRIE_PARTS] = {8, 16, SIZE_MAX};
	struct trie *trie = spelt->trie;
	uint32_t *open = calloc(trie->longest + 1, sizeof *open);
	bool made = open;
	for (size_t i = 0, shorter = 0; made && (!i || shorter < trie->longest); i++) {
		struct trie_part *part = trie->parts + trie->part_count++;
		part->longest = bounds[i] < trie->longest ? bounds[i] : trie->longest;
		made = make_part(spelt, part, shorter, open);
		shorter = part->longest;
	}
	free(open);
	return made;
}

struct trie *trie_new(const struct vocab *vocab) {
	struct trie *trie = calloc(1, sizeof *trie);
	struct spelt spelt = {.trie = trie};
	const bool made =
	    trie && spell_tokens(&spelt, vocab) && sort_tokens(&spelt) && make_parts(&spelt);
	free(spelt.tokens);
	if (made) return trie;
	trie_free(trie);
	return NULL;
}

void trie_free(struct trie *trie) {
	if (!trie) return;
	for (size_t i = 0; i < TRIE_PARTS; i++) free(trie->parts[i].nodes);
	free(trie->by_id);
	free(trie->same);
	free(trie->bytes);
	free(trie);
}
