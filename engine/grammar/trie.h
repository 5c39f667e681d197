// SPDX-License-Identifier: Apache-2.0
// trie.h: the tokens of a vocabulary by their bytes, those with the same first bytes together. No
// private data. It is made once for a vocabulary, and serves any number of masks and threads.
// Example: of the tokens "a", "ab" and "b" the nodes are a (token "a", end 2), ab (token "ab", end
// 2) and b (token "b", end 3): a node's subtree is what stands between it and its end. Short,
// middle and long tokens are parts of their own: most states differ in what few long ones do.
#ifndef CUTTLE_ENGINE_GRAMMAR_TRIE_H
#define CUTTLE_ENGINE_GRAMMAR_TRIE_H

#include "engine/text/vocab.h"

enum trie_tokens { TRIE_NONE, TRIE_ONE, TRIE_SEVERAL };

/* Small, since a mask reads all of them. */
struct trie_node {
	uint32_t end;   /* the node behind its subtree */
	int32_t id;     /* a token with just these bytes; TRIE_NONE: 0 */
	uint16_t depth; /* 1 for the first byte of a token */
	uint8_t byte;
	uint8_t tokens; /* enum trie_tokens: how many have just these bytes */
};

struct trie_token {
	uint32_t at;   /* its bytes: bytes[at .. at + size) */
	uint32_t size; /* 0: no text of a grammar has this token */
	int32_t id;
};

enum { TRIE_PARTS = 3 };

struct trie_part {
	struct trie_node *nodes;
	size_t count;
	size_t longest; /* no token of this part or one before has more bytes */
};

struct trie {
	struct trie_part parts[TRIE_PARTS];
	size_t part_count;        /* 1 or more */
	struct trie_token *by_id; /* [vocab_size] */
	int32_t *same;            /* [vocab_size] another token with the same bytes; -1 = no more */
	char *bytes;
	size_t longest; /* bytes of a token */
};

/* The bytes that a token adds to a text of a grammar, to[room] of them; 0: it is in none. */
size_t trie_spell(const struct vocab *vocab, int32_t id, char *to, size_t room);

/* Of the tokens that may be drawn and have bytes, but none that end a text. The caller frees it.
 * NULL: out of memory. */
struct trie *trie_new(const struct vocab *vocab);
/* NULL is fine. */
void trie_free(struct trie *trie);

#endif
