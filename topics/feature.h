// SPDX-License-Identifier: Apache-2.0
// feature.h: what a text is about, as a sparse vector of integers.
//
// topics/tfidf.c makes one of a text's words, topics/hidden.c one of a model's hidden state,
// topics/centres.c compares them. A feature of a private text is private: whoever holds one wipes
// it. Its length is about FEATURE_ONE, so products of two features are cosines times 2^30. Example:
// a text with one word has one entry, and that is 32768.
#ifndef CUTTLE_TOPICS_FEATURE_H
#define CUTTLE_TOPICS_FEATURE_H

#include <stddef.h>
#include <stdint.h>

enum {
	FEATURE_ONE = 1 << 15, /* the length of a feature, and of a centre */
	FEATURE_MOST = 512     /* most entries that are not zero */
};

struct text_feature {
	size_t count;                /* entries; 0 = the text has no direction */
	uint16_t at[FEATURE_MOST];   /* the dimension of each entry; no two are equal */
	int32_t value[FEATURE_MOST]; /* FEATURE_ONE is 1 */
};

/* The largest integer whose square is at most x. */
static inline uint64_t feature_root(uint64_t x) {
	uint64_t root = 0;
	for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1)
		if ((root | bit) * (root | bit) <= x) root |= bit;
	return root;
}

#endif
