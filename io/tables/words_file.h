// SPDX-License-Identifier: Apache-2.0
// words_file.h: stores a public list of words with their vectors in a file, and reads it.
//
// No private data: a list is made before any private text is read, and its hash stands in the
// receipt.
//
// The file, all numbers little-endian:
//   "cuttle words 1\n" and a NUL            16 bytes
//   V, d, K, 1 if there is a transform      4 uint32; K is the words of a set, 0 = no sets
//   bytes of the texts                      uint64, a multiple of 8
//   SHA-256 of the model                    64 hex digits, or 64 NULs
//   the V words, each with a NUL            then NULs up to a multiple of 8
//   the set of each word                    V uint32, unless K is 0
//   mean, transform                         d and d * d float32, if there is a transform
//   the vectors, of length one              V * d float32
//   SHA-256 of all bytes before             64 hex digits
#ifndef CUTTLE_IO_TABLES_WORDS_FILE_H
#define CUTTLE_IO_TABLES_WORDS_FILE_H

#include "engine/cuttle/words.h"
#include "io/disk/hash.h"

/* Writes the list under a scratch name and renames it. sets [count] and set_size as in
 * cuttle_words_params; NULL and 0 = the list's own, if any. sha256 gets the hash of the whole file.
 * USAGE: a file cannot be created there. INTERNAL: it cannot be written. NOMEM. */
enum cuttle_status words_file_write(const char *path, const struct cuttle_words *words,
                                    const uint32_t *sets, size_t set_size, char sha256[HASH_TEXT],
                                    struct cuttle_error *error);

/* Reads such a file. The caller frees *words. threads as in cuttle_words_params. sha256 gets the
 * hash of the whole file.
 * INPUT: it cannot be read, is no such file, is cut short or longer than it says, has another hash
 * than it says, or holds what cuttle_words_make refuses. NOMEM. */
enum cuttle_status words_file_read(const char *path, unsigned threads, struct cuttle_words **words,
                                   char sha256[HASH_TEXT], struct cuttle_error *error);

#endif
