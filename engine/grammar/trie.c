// SPDX-License-Identifier: Apache-2.0
// trie.c: see trie.h. No private data.
#include "engine/grammar/trie.h"

#include <stdlib.h>
#include <string.h>

static size_t bytes_of_token(const struct vocab *vocab, int32_t id, char *to, size_t room) {
	size_t size = 0;
	if (vocab_drawable(vocab, id) && !vocab_ends_text(vocab, id))
		vocab_detokenize(vocab, &id, 1, false, to, room, &size);
	return size < UINT16_MAX ? size : 0;
}

static bool spell_tokens(struct trie *trie, const struct vocab *vocab) {
	const size_t count = vocab_size(vocab);
	size_t total = 0;
	for (size_t id = 0; id < count; id++) total += bytes_of_token(vocab, (int32_t)id, NULL, 0);
	trie->by_id = calloc(count ? count : 1, sizeof *trie->by_id);
	trie->tokens = calloc(count ? count : 1, sizeof *trie->tokens);
	trie->bytes = malloc(total ? total : 1);
	if (!trie->by_id || !trie->tokens || !trie->bytes || total > UINT32_MAX) return false;
	for (size_t id = 0, at = 0; id < count; id++) {
		const size_t size =
		    bytes_of_token(vocab, (int32_t)id, trie->bytes + at, total - at);
		const struct trie_token token = {(uint32_t)at, (uint32_t)size, (int32_t)id};
		trie->by_id[id] = token;
		if (size) trie->tokens[trie->token_count++] = token;
		if (size > trie->longest) trie->longest = size;
		at += size;
	}
	return true;
}

static int compare_by_bytes(const char *bytes, const struct trie_token *a,
                            const struct trie_token *b) {
	const size_t size = a->size < b->size ? a->size : b->size;
	const int order = memcmp(bytes + a->at, bytes + b->at, size);
	if (order) return order;
	return a->size != b->size ? (a->size < b->size ? -1 : 1)
	                          : (a->id > b->id) - (a->id < b->id);
}

/* Sorts by merging runs of 1, 2, 4, ... tokens. */
static bool sort_tokens(struct trie *trie) {
	const size_t count = trie->token_count;
	struct trie_token *from = trie->tokens, *to = malloc((count + 1) * sizeof *to);
	if (!to) return false;
	for (size_t run = 1; run < count; run *= 2) {
		for (size_t begin = 0; begin < count; begin += 2 * run) {
			const size_t middle = begin + run < count ? begin + run : count;
			const size_t end = middle + run < count ? middle + run : count;
			for (size_t i = begin, j = middle, k = begin; k < end; k++) {
				const bool left =
				    j == end ||
				    (i < middle &&
				     compare_by_bytes(trie->bytes, from + i, from + j) <= 0);
				to[k] = left ? from[i++] : from[j++];
			}
		}
		struct trie_token *swapped = from;
		from = to;
		to = swapped;
	}
	trie->tokens = from;
	free(to);
	return true;
}

/* Bytes that a token has in common with the one before it. */
static size_t shared_bytes(const struct trie *trie, size_t token) {
	if (!token) return 0;
	const struct trie_token *a = trie->tokens + token - 1, *b = a + 1;
	size_t size = 0;
	while (size < a->size && size < b->size &&
	       trie->bytes[a->at + size] == trie->bytes[b->at + size])
		size++;
	return size;
}

static void add_trie_token(struct trie *trie, size_t number, const uint8_t classes[256],
                           uint32_t *open) {
	const struct trie_token *token = trie->tokens + number;
	const size_t shared = shared_bytes(trie, number);
	const size_t before = number ? token[-1].size : 0;
	for (size_t depth = shared; depth < before; depth++)
		trie->nodes[open[depth]].end = (uint32_t)trie->count;
	for (size_t depth = shared; depth < token->size; depth++) {
		const uint8_t byte = (uint8_t)trie->bytes[token->at + depth];
		open[depth] = (uint32_t)trie->count;
		trie->nodes[trie->count++] = (struct trie_node){
		    .byte = byte, .class = classes[byte], .depth = (uint16_t)(depth + 1)};
	}
	struct trie_node *node = trie->nodes + open[token->size - 1];
	if (!node->count) node->first = (uint32_t)number;
	node->count++;
}

bool trie_make(struct trie *trie, const struct vocab *vocab, const uint8_t classes[256]) {
	*trie = (struct trie){0};
	if (!spell_tokens(trie, vocab) || !sort_tokens(trie)) return false;
	size_t count = 0;
	for (size_t i = 0; i < trie->token_count; i++)
		count += trie->tokens[i].size - shared_bytes(trie, i);
	trie->nodes = malloc((count + 1) * sizeof *trie->nodes);
	uint32_t *open = calloc(trie->longest + 1, sizeof *open);
	if (trie->nodes && open) {
		for (size_t i = 0; i < trie->token_count; i++)
			add_trie_token(trie, i, classes, open);
		const size_t last =
		    trie->token_count ? trie->tokens[trie->token_count - 1].size : 0;
		for (size_t depth = 0; depth < last; depth++)
			trie->nodes[open[depth]].end = (uint32_t)trie->count;
	}
	free(open);
	return trie->nodes && open;
}

void trie_free(struct trie *trie) {
	free(trie->nodes);
	free(trie->tokens);
	free(trie->by_id);
	free(trie->bytes);
	*trie = (struct trie){0};
}
