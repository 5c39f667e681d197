// SPDX-License-Identifier: Apache-2.0
// words.h: a public list of words, each with a vector of length one: which word is near which.
// io/tables/words_file.h stores a list in a file.
// Private data: the words looked up, their vectors and cosines. The list itself must be public.
// How: cuttle_words_of_model or cuttle_words_make builds a list; nothing in it changes then.
// Any number of threads may use one.
// Example: cuttle_words_vector(words, model, "doctors", 7, v) finds a vector, and
// cuttle_words_cosines(words, v, 1, c) sets c[id] to its cosine with word `id`, for every id.
#ifndef CUTTLE_WORDS_H
#define CUTTLE_WORDS_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuttle_model; /* model.h */

/* Bounds of a list. */
#define CUTTLE_WORDS_MOST 200000 /* words */
#define CUTTLE_WORDS_WIDTH 4096  /* floats of a vector */
#define CUTTLE_WORDS_BYTES 128   /* bytes of a word */
#define CUTTLE_WORDS_HASH 65     /* bytes of a hash as text: 64 hex digits and a NUL */

struct cuttle_words;

/* A word is 1 .. CUTTLE_WORDS_BYTES bytes: letters, and single apostrophes (U+0027) between them.
 * Letters are those of UTF-8 in any script, but no ASCII capitals and no digits. Example: "don't".
 */
CUTTLE_API bool cuttle_words_is_word(const char *text, size_t size);

struct cuttle_words_params {
	size_t struct_size;       /* set by the default function */
	size_t count;             /* V, words: 2 .. CUTTLE_WORDS_MOST */
	size_t width;             /* d, floats of a vector: 1 .. CUTTLE_WORDS_WIDTH */
	const char *const *words; /* [count] words, no two equal; their places are their ids */
	const float *vectors;     /* [count][width] finite; of length one unless `raw` */

	/* Vectors come as they were trained. They are centred, half-whitened and brought to length
	 * one here: see cuttle_words_of_model. mean and transform must be NULL. */
	bool raw;

	/* What turns the mean of the raw rows of an unknown word's tokens into its vector: the mean
	 * is taken off, the transform applied, the length made one. Finite; both or neither. */
	const float *mean;      /* [width] */
	const float *transform; /* [width][width] */

	/* SHA-256 of the model whose tokens those are, 64 hex digits. NULL = none is known. */
	const char *model_sha256;

	/* A partition of the words into sets, for CUSTEXT, as cuttle_words_partition makes it:
	 * sets[id] is the number of the word's set. NULL and 0 = none. */
	const uint32_t *sets; /* [count] */
	size_t set_size;

	/* Worker threads, the caller included. 0 = the cores that this process may use. Results do
	 * not depend on it. */
	unsigned threads;
};

CUTTLE_API void cuttle_words_params_default(struct cuttle_words_params *params);

/* Makes a list from copies of what params point to. cuttle_words_free frees it.
 * USAGE: a parameter is out of range; a text is no word; two words are equal; a number is not
 * finite; a vector's length is not one within 1e-4, or has no direction when raw; no partition
 * into sets of set_size. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_words_make(const struct cuttle_words_params *params, struct cuttle_words **words,
                  struct cuttle_error *error);

struct cuttle_words_of_model_params {
	size_t struct_size;         /* set by the default function */
	size_t count;               /* V, at most so many words: default 11,000 */
	const char *const *allowed; /* [allowed_count] only these words; NULL = any */
	size_t allowed_count;
	/* Fragments are beginnings of words, as "kidn". Unless they are kept, or `allowed` is
	 * given, the model is asked which tokens are such: it expects letters after them. */
	bool keep_fragments;
	const char *model_sha256; /* of the model's file, 64 hex digits; NULL = not known */
	unsigned threads;         /* of the list, 0 = as above */

	/* `done` of `total` words are found. Nonzero stops with PARTIAL. NULL = none. */
	int (*on_progress)(void *user, uint64_t done, uint64_t total);
	void *user; /* its first argument */
};

CUTTLE_API void cuttle_words_of_model_params_default(struct cuttle_words_of_model_params *params);

/* Makes a list from a model's own token vectors. Its words are the tokens that begin with a space
 * and then are two or more letters a-z, in the order of their ids, the first `count` of them.
 * Vectors are centred by the mean of all such tokens and half-whitened: rotated to the eigenbasis
 * of their covariance, divided by eigenvalue^(1/4), and brought to length one. All of it is a
 * function of the model alone, the same bits on every machine.
 * USAGE: a parameter is out of range; the model has no weights; it has fewer than two such words.
 * MODEL: a token's vector, or a logit, is not finite. NOMEM, PARTIAL. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_words_of_model(struct cuttle_model *model, const struct cuttle_words_of_model_params *params,
                      struct cuttle_words **words, struct cuttle_error *error);

/* Frees the list and sets the handle to NULL. A NULL handle is fine. */
CUTTLE_API void cuttle_words_free(struct cuttle_words **words);

/* What was given. `id` is below the count. Texts, hash and sets live as long as the list. */
CUTTLE_API size_t cuttle_words_count(const struct cuttle_words *words);
CUTTLE_API size_t cuttle_words_width(const struct cuttle_words *words);
CUTTLE_API const char *cuttle_words_text(const struct cuttle_words *words, size_t id);
CUTTLE_API void cuttle_words_row(const struct cuttle_words *words, size_t id, float *vector);
/* "" = not known. */
CUTTLE_API const char *cuttle_words_model_sha256(const struct cuttle_words *words);
/* Copies mean [width] and transform [width][width]. False: unknown words have no vector. */
CUTTLE_API bool cuttle_words_pieces(const struct cuttle_words *words, float *mean,
                                    float *transform);
/* The set of each word [count], and the words of a set. NULL: there are no sets. */
CUTTLE_API const uint32_t *cuttle_words_sets(const struct cuttle_words *words, size_t *set_size);

/* The id of a word, -1 = unknown. */
CUTTLE_API int32_t cuttle_words_find(const struct cuttle_words *words, const char *text,
                                     size_t size);

/* Sets vector [width] to the vector of a PRIVATE word: its own when it is known, else that of its
 * tokens' mean. The model is the one that the list was made from; NULL = none. False: the word has
 * no vector, which must show nowhere; vector is then all zeros. So it is for a text that is empty,
 * of more than CUTTLE_WORDS_BYTES bytes, or without direction, and when memory is short. */
CUTTLE_API bool cuttle_words_vector(const struct cuttle_words *words,
                                    const struct cuttle_model *model, const char *text, size_t size,
                                    float *vector);

/* Sets cosines [places][count] to the cosines of vectors [places][width] with all words. A place's
 * cosines depend on its vector alone, and have the same bits in every tier, for any number of
 * threads and places. */
CUTTLE_API void cuttle_words_cosines(const struct cuttle_words *words, const float *vectors,
                                     size_t places, float *cosines);

/* Cuts the words into sets of set_size, 2 .. count, and writes sets [count]. In the order of ids,
 * each word without a set forms one with the nearest words that have none, by cosine; of equal ones
 * the lower id. The last set may be smaller. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_words_partition(const struct cuttle_words *words, size_t set_size, uint32_t *sets,
                       struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
