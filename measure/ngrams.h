// SPDX-License-Identifier: Apache-2.0
// ngrams.h: how varied texts are, and how much of one text stands in another.
//
// A text is a list of numbers: its words (measure/corpus.h) or its tokens. Texts may be private:
// scratch is wiped.
// Example: 5 6 5 6 has the 2-grams 56 65 56, two different ones of three: distinct-2 is .667.
#ifndef CUTTLE_MEASURE_NGRAMS_H
#define CUTTLE_MEASURE_NGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NGRAMS_HEAD = 64,    /* words of a text that distinct-n looks at */
	NGRAMS_OVERLAP = 8,  /* n of the share for audits */
	NGRAMS_REPEATED = 4, /* n of repeats within a text */
};

/* Texts in one array, as in a corpus: text i is item[first[i] .. first[i + 1] - 1]. */
struct ngrams_texts {
	const uint32_t *item;
	const size_t *first; /* [count + 1] */
	size_t count;
};

/* Sets *share to the different n-grams of all texts together, as a share of all their n-grams, of
 * the first `head` items of each text; no n-gram spans two texts. 0 when there is none. Fewer texts
 * have a larger share: compare equal numbers of texts. Source: Li et al. 2016 (arXiv 1510.03055),
 * section 5. n is at least 1. False: out of memory. */
bool ngrams_distinct(const struct ngrams_texts *texts, size_t n, size_t head, double *share);

/* Sets *share to the mean over texts of the share of a text's n-grams that stand earlier in the
 * same text; texts shorter than n count 0. There is one text at least. False: out of memory. */
bool ngrams_repeats(const struct ngrams_texts *texts, size_t n, double *share);

/* Sets *copies to the number of texts that are equal to an earlier one. False: out of memory. */
bool ngrams_copies(const struct ngrams_texts *texts, size_t *copies);

/* Sets *run to the most consecutive items that stand in both one[m] and other[n]. False: out of
 * memory. Time grows with m n. */
bool ngrams_common_run(const uint32_t *one, size_t m, const uint32_t *other, size_t n, size_t *run);

/* Sets *share to the share of a text's n-grams text[count] that stand in `source` somewhere; 0 when
 * the text is shorter than n. n is at least 1. False: out of memory. */
bool ngrams_shared(const uint32_t *text, size_t count, const struct ngrams_texts *source, size_t n,
                   double *share);

#endif
