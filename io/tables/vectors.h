// SPDX-License-Identifier: Apache-2.0
// vectors.h: reads word vectors that others trained: GloVe text, word2vec text, word2vec binary.
//
// No private data: the vectors must be public, so a wrong line is an error with its number. The
// formats, with d = 2:
//   GloVe            "the 0.1 -0.2\n", a line for each word; the last d fields are the numbers, all
//                    before them is the word, blanks included; d follows from the first line
//   word2vec         "2 2\n" first, words and d; then lines as above
//   word2vec binary  "2 2\n" first; then for each word its bytes, a blank, d little-endian float32,
//                    and perhaps a newline
#ifndef CUTTLE_IO_TABLES_VECTORS_H
#define CUTTLE_IO_TABLES_VECTORS_H

#include "engine/cuttle/words.h"

enum vectors_format { VECTORS_GLOVE, VECTORS_WORD2VEC, VECTORS_WORD2VEC_BIN };

struct vectors_request {
	const char *path; /* "-" = standard input */
	enum vectors_format format;
	size_t most; /* words to keep; what follows them is not read */

	/* Whether to keep a word. NULL = every one. */
	bool (*wanted)(void *user, const char *word);
	void *user; /* its first argument */
};

struct vectors {
	size_t count;      /* words kept */
	size_t width;      /* d */
	char **words;      /* [count] in the order of the file */
	float *rows;       /* [count][width] as in the file */
	size_t not_words;  /* passed over: by cuttle_words_is_word they are none */
	size_t not_wanted; /* passed over: the caller does not want them */
	uint64_t
	    *positions; /* [count] number of the word's line, or of the word in binary, from 1 */
};

/* Reads the file. Words that are no words (cuttle_words_is_word) are passed over and counted.
 * Whatever happens, vectors_free frees *vectors.
 * INPUT: it cannot be read; a line lacks numbers or has a wrong one; a number is not finite; a word
 * stands there twice; d is above CUTTLE_WORDS_WIDTH; the file ends early; no two words are kept.
 * NOMEM. */
enum cuttle_status vectors_read(const struct vectors_request *request, struct vectors *vectors,
                                struct cuttle_error *error);
void vectors_free(struct vectors *vectors);

#endif
