// SPDX-License-Identifier: Apache-2.0
// terms.h: finds many words and names in a text, written as they may be (io/text/fold.h).
//
// Private texts pass through; the terms are kept folded, and wiped by terms_free. Example:
//   terms_add(terms, "Anna\r\nRoe", 9, 1, 7)      and terms_seal(terms)
//   fold_text(&folded, "ANNA ROE", 8)             and terms_scan finds 0 .. 8, with the number 7
#ifndef CUTTLE_IO_TEXT_TERMS_H
#define CUTTLE_IO_TEXT_TERMS_H

#include "io/text/fold.h"

struct terms;

/* NULL: out of memory. */
struct terms *terms_make(void);
void terms_free(struct terms *terms);
/* Adds text[size], without the white space around it. `name` is the caller's number for it. Ignored
 * is what has fewer than `least` characters when it is folded, and none in any case; of two equal
 * terms the first counts. False: out of memory; the set is then only good for terms_free. */
bool terms_add(struct terms *terms, const char *text, size_t size, size_t least, size_t name);
/* How many were added and not ignored. */
size_t terms_count(const struct terms *terms);
/* Call it once, after the last term. False: out of memory. */
bool terms_seal(struct terms *terms);
/* Calls found for each place where terms end, between the boundaries of words (base/phrases.h): for
 * the longest of them, with the bytes start .. end - 1 of the text that was folded. */
void terms_scan(const struct terms *terms, const struct folded *folded,
                void (*found)(void *user, size_t start, size_t end, size_t name), void *user);

#endif
