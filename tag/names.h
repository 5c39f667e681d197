// SPDX-License-Identifier: Apache-2.0
// names.h: finds the names of the operator's own list in a text.
//
// The caller reads the file. List and texts are private; the list is copied into memory that
// names_free wipes. For example the list of a hospital's patients:
//   Anna Roe
//   4711-A<TAB>CODE
// Each line is a name, of type PERSON, or of the type behind a tab. A name is found at the
// boundaries of words, written as it may be: in any case of letters, with other white space,
// accents or dashes (io/text/fold.h).
#ifndef CUTTLE_TAG_NAMES_H
#define CUTTLE_TAG_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct names;

/* Makes the list of text[size], UTF-8. Lines that are blank are ignored. False: out of memory, or a
 * line is wrong: *wrong is then its number, from 1, else 0. A line is wrong that is not UTF-8, or
 * whose type is no name of at most 128 bytes (base/utf8.h). *names must be freed in any case. */
bool names_make(const char *text, size_t size, struct names **names, size_t *wrong);
void names_free(struct names *names);
/* Names on the list. */
size_t names_count(const struct names *names);

/* Calls found for each place where names of the list end in the text, for the longest of them:
 * bytes start .. end - 1. `type` is valid until names_free. False: out of memory. */
bool names_scan(const struct names *names, const char *text, size_t size,
                void (*found)(void *user, size_t start, size_t end, const char *type), void *user);

#endif
