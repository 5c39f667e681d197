// SPDX-License-Identifier: Apache-2.0
// Special tokens written out in a text: USER_DEFINED ones always count, CONTROL and UNKNOWN ones only where the caller says so.
#ifndef CUTTLE_ENGINE_SPECIAL_H
#define CUTTLE_ENGINE_SPECIAL_H

#include "engine/gguf.h"

struct special_token {
	struct gguf_string text;
	int32_t id;
	bool always; /* USER_DEFINED */
};

/* Tokens of one length; `leads` has the bits of their first bytes. */
struct special_group {
	size_t first, count, length;
	bool always; /* at least one of them */
	uint64_t leads[4];
};

struct special_set {
	struct special_token *tokens; /* by length, longest first, then by text */
	struct special_group *groups;
	size_t token_count, group_count;
};

struct special_match {
	size_t position, length;
	int32_t id;
};

/* Takes over tokens[count] (distinct, non-empty texts that outlive the set), allocated by malloc, in success and failure. False: no memory.
 */
bool special_build(struct special_set *set, struct special_token *tokens, size_t count);
void special_free(struct special_set *set);

/* All matches in text[size], in text order and apart from each other: longer tokens first wherever they stand, then from left to right, as
 * llama.cpp partitions. O(size * number of distinct lengths). The caller frees *matches. False: no memory. */
bool special_find(const struct special_set *set, const char *text, size_t size, bool control_too, struct special_match **matches,
                  size_t *count);

#endif
