// SPDX-License-Identifier: Apache-2.0
// tfidf.h: hashed TF-IDF in integers: which words a text has, and how rare they are among public
// texts.
//
// It stands in io/, as it needs BLAKE2b of libsodium, which the engine does without. Private texts
// pass through tfidf_feature; a struct tfidf_work is wiped after each.
//
// A word is a run of the letters a-z and of bytes from 0x80 on; A-Z count as a-z. So "It's 5 cm"
// has the words it, s and cm. The first TFIDF_WORDS words of a text count. A word's dimension is
// its BLAKE2b-64, little-endian, modulo TFIDF_WIDTH. With log(x) = round(16 log2 x):
//
//     weight of a dimension = log((1 + n) / (1 + df)), 0 where df < 2; df of the n public texts
//                             have it
//     v = log(1 + min(count, 255)) * weight        u = floor(2^15 v / floor(sqrt(v . v)))
//
// All of it is integers: the same on every machine. A feature is a function of its text and of the
// weights, which are public. Source: Salton and Buckley 1988, with Weinberger et al. 2009 for the
// hashing.
#ifndef CUTTLE_TOPICS_TFIDF_H
#define CUTTLE_TOPICS_TFIDF_H

#include "topics/feature.h"
#include <stdbool.h>

enum {
	TFIDF_WIDTH = 4096, /* dimensions */
	TFIDF_WORDS = 512,  /* words of a text that count */
	TFIDF_COUNT = 255   /* a word counts at most so often */
};

/* round(16 log2(above / below)), for 1 <= below <= above < 2^30. */
uint32_t tfidf_log(uint64_t above, uint64_t below);

/* A word of a text. */
struct tfidf_word {
	const char *text; /* as it stands there, capitals and all */
	size_t size;      /* bytes */
	uint64_t hash;    /* of the word in small letters */
};
/* Moves *text and *size behind the next word and describes it. False: there is none. */
bool tfidf_next(const char **text, size_t *size, struct tfidf_word *word);

/* What is needed to look at one text. */
struct tfidf_work {
	uint32_t counts[TFIDF_WIDTH]; /* words of each dimension; all zero between two texts */
	uint16_t seen[TFIDF_WORDS];   /* the dimensions that are not zero */
	size_t seen_count;
};

/* Adds 1 to df [TFIDF_WIDTH] for each dimension that the public text has. *work is zero before and
 * after. */
void tfidf_count(const char *text, size_t size, struct tfidf_work *work, uint32_t *df);
/* weights [TFIDF_WIDTH] from df over `texts` public texts, below 2^29. */
void tfidf_weigh(const uint32_t *df, size_t texts, uint16_t *weights);
/* The feature of a text. Without a word that weighs something it has no entry. *work is zero before
 * and after. */
void tfidf_feature(const uint16_t *weights, const char *text, size_t size, struct tfidf_work *work,
                   struct text_feature *feature);

#endif
