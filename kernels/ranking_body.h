// SPDX-License-Identifier: Apache-2.0
// ranking_body.h: the loops of ranking.h. Included once by each ranking_TIER.c, which defines
// TIER(name). The compiler makes vectors of them, as wide as the tier's flags allow.
#include "kernels/ranking.h"

#include <string.h>

/* The entries of which find_equal keeps one block. */
enum { FIND_BLOCK = 64 };

/* What find_equal knows so far. */
struct found_block {
	uint32_t seen;             /* entries that equal the key */
	uint32_t first;            /* of the block with the wanted entry; 0 before it has come */
	uint32_t left;             /* entries to skip in this block */
	uint32_t kept[FIND_BLOCK]; /* 1 where an entry of this block equals the key */
};

void TIER(count_above)(const int32_t *keys, size_t n, const int32_t thresholds[COUNT_ABOVE],
                       uint32_t counts[COUNT_ABOVE]) {
	const int32_t low = thresholds[0], middle = thresholds[1], high = thresholds[2];
	uint32_t above_low = 0, above_middle = 0, above_high = 0;
	for (size_t i = 0; i < n; i++) {
		above_low += keys[i] > low;
		above_middle += keys[i] > middle;
		above_high += keys[i] > high;
	}
	counts[0] = above_low;
	counts[1] = above_middle;
	counts[2] = above_high;
}

/* Takes `size` entries from `at`, and keeps them if the wanted one is among them. */
static inline __attribute__((always_inline)) void look_for_equal(struct found_block *found,
                                                                 const int32_t *keys, size_t at,
                                                                 size_t size, int32_t key,
                                                                 uint32_t skip) {
	uint32_t here = 0;
	for (size_t i = 0; i < size; i++) here += keys[at + i] == key;
	const uint32_t end = found->seen + here,
	               hit = -(uint32_t)((found->seen <= skip) & (skip < end));
	for (size_t i = 0; i < size; i++) found->kept[i] |= (uint32_t)(keys[at + i] == key) & hit;
	found->first |= (uint32_t)at & hit;
	found->left |= (skip - found->seen) & hit;
	found->seen = end;
}

uint32_t TIER(find_equal)(const int32_t *keys, size_t n, int32_t key, uint32_t skip) {
	struct found_block found = {0};
	size_t at = 0;
	for (; at + FIND_BLOCK <= n; at += FIND_BLOCK)
		look_for_equal(&found, keys, at, FIND_BLOCK, key, skip);
	look_for_equal(&found, keys, at, n - at, key, skip);
	uint32_t equal = 0, index = found.first;
	for (size_t i = 0; i < FIND_BLOCK; i++) {
		equal += found.kept[i];
		index += equal <= found.left;
	}
	explicit_bzero(&found, sizeof found);
	return index;
}

void TIER(cosine_keys)(const float *restrict cosines, size_t n, int32_t *restrict keys) {
	for (size_t i = 0; i < n; i++) keys[i] = cosine_key(cosines[i]);
}
