// SPDX-License-Identifier: Apache-2.0
// fold.h: writes texts so that what people take for the same words has the same bytes. It also
// knows where in the text each byte comes from.
//
// Private texts pass through. They are kept in arenas, which fold_free wipes.
//
// Rules, for UTF-8:
//   case        folded as Unicode says, in full: STRASSE, Straße and strasse are one word
//   letters     normal form C: e with U+0301 is U+00E9
//   space       a run of white space, line breaks, U+00A0 and U+202F among it, is one space
//   signs       U+2019 is '; U+2010 to U+2013 and U+2212 are -
//   nothing     U+FEFF (a byte order mark), U+00AD, U+200C, U+200D: they say how a text looks
// A letter has at most 31 marks; further ones do not count. A byte that is not UTF-8 is U+FFFD.
// What was folded folds to itself.
// Example: "Anna\r\n  ROE" becomes "anna roe". There 5 .. 8 is "roe", in the text 8 .. 11.
#ifndef CUTTLE_IO_TEXT_FOLD_H
#define CUTTLE_IO_TEXT_FOLD_H

#include "io/disk/arena.h"

/* Begin with all members zero; it may be used for text after text. */
struct folded {
	struct arena text;   /* the folded bytes */
	struct arena points; /* struct fold_point, from left to right; see fold.c */
	size_t size;         /* bytes of the text that was folded */
};

/* Folds text[size] in place of what *folded had. False: out of memory. */
bool fold_text(struct folded *folded, const char *text, size_t size);
void fold_free(struct folded *folded);

/* Where the folded bytes start .. end - 1 come from, start < end: the bytes *from .. *to - 1 of the
 * text. Both are boundaries of characters. Of what was changed as a whole all is in it. */
void fold_place(const struct folded *folded, size_t start, size_t end, size_t *from, size_t *to);

/* Moves *text and *size past what folds to a space, or to nothing, at both ends. */
void fold_trim(const char **text, size_t *size);

#endif
