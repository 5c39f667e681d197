// SPDX-License-Identifier: Apache-2.0
// word_list.h: reads a public list of words, one a line.
//
// No private data: a wrong line is an error, with its number. Words are read as io/text/split.h
// reads them, so "Doctor" in a list is the "doctor" of a text. Blank lines are skipped, a word that
// stands twice is kept once.
#ifndef CUTTLE_IO_TEXT_WORD_LIST_H
#define CUTTLE_IO_TEXT_WORD_LIST_H

#include "io/disk/hash.h"

struct word_list {
	const char **words; /* [count], in the order of their bytes */
	size_t count;
	char *bytes; /* of all words, each with a NUL */
};

/* Reads the list, and sets sha256 to the hash of the file's bytes. Call word_list_free in any case,
 * or begin with all members zero. INPUT: the file cannot be read or is longer than 64 MiB, a line
 * is not one word, or there is none. NOMEM. */
enum cuttle_status word_list_read(const char *path, struct word_list *list, char sha256[HASH_TEXT],
                                  struct cuttle_error *error);
void word_list_free(struct word_list *list);

#endif
