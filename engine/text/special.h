// SPDX-License-Identifier: Apache-2.0
// special.h: finds special tokens that are written out in a text, such as "<|im_end|>".
// Private text passes through; only positions and lengths of tokens in it are returned.
// USER_DEFINED tokens always count. CONTROL and UNKNOWN tokens count only where the caller says so.
#ifndef CUTTLE_ENGINE_SPECIAL_H
#define CUTTLE_ENGINE_SPECIAL_H

#include "engine/gguf.h"

struct special_token {
	struct gguf_string text;
	int32_t id;
	bool always; /* counts in any text: it is USER_DEFINED */
};

/* The tokens of one length: set->tokens[first .. first + count - 1]. */
struct special_group {
	size_t first;
	size_t count;
	size_t length;     /* bytes of each token's text */
	bool always;       /* at least one of them always counts */
	uint64_t leads[4]; /* 256 bits: bit b is set when one of them begins with byte b */
};

struct special_set {
	struct special_token *tokens; /* by length, longest first, then by text */
	struct special_group *groups; /* longest length first */
	size_t token_count;
	size_t group_count;
};

struct special_match {
	size_t position; /* in the text, in bytes */
	size_t length;   /* bytes */
	int32_t id;
};

/* Builds *set from tokens[count]. The array must come from malloc; the set owns it from now on,
 * also on failure. The tokens' texts are distinct and not empty, and must outlive the set. False:
 * no memory. */
bool special_build(struct special_set *set, struct special_token *tokens, size_t count);
void special_free(struct special_set *set);

/* Finds all special tokens in text[size]; with control_too also CONTROL and UNKNOWN ones. *matches
 * has them in the order of the text, and no two overlap. A longer token is preferred to a shorter
 * one wherever they stand; of one length, the leftmost. llama.cpp partitions a text the same way:
 * with the tokens "ab" and "bcd", "abcd" is "a" and "bcd". O(size * number of distinct lengths).
 * The caller frees *matches. False: no memory. */
bool special_find(const struct special_set *set, const char *text, size_t size, bool control_too,
                  struct special_match **matches, size_t *count);

#endif
