// SPDX-License-Identifier: Apache-2.0
// corpus.h: texts as lists of numbered words.
//
// Texts may be private: memory is wiped. A word is a longest run of letters a to z and apostrophes,
// capitals made small. All other bytes part words, also those of other scripts.
// Example: "The cat's the end" has the words the, cat's, the, end: numbers 0 1 0 2.
#ifndef CUTTLE_MEASURE_CORPUS_H
#define CUTTLE_MEASURE_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct corpus {
	size_t texts;      /* how many */
	size_t *first;     /* [texts + 1]: words of text i are word[first[i] .. first[i + 1] - 1] */
	uint32_t *word;    /* numbers, from 0 in the order of first occurrence */
	uint32_t distinct; /* different words, below 2^32 */
};

/* Reads texts[count] of sizes[count] bytes. False: out of memory. The corpus must be freed in any
 * case. */
bool corpus_make(const char *const *texts, const size_t *sizes, size_t count,
                 struct corpus *corpus);
void corpus_free(struct corpus *corpus);

#endif
