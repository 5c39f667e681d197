// SPDX-License-Identifier: Apache-2.0
// split.h: the words and numbers of a text, one after the other, in any script.
//
// PRIVATE texts pass through a fixed buffer, which split_end wipes. No memory is taken, and nothing
// is an error: a byte that is not UTF-8 only ends a word. Example: "Ann's 3.5 mg!" gives ann's,
// then 3.5 as a number, then mg.
//
//     split_begin(&split, text, size, false);
//     while ((kind = split_next(&split, &bytes, &length)) != SPLIT_END) ...
//     split_end(&split);
//
// The text is read as if it were in normal form C, with its case folded (Unicode 15). Source:
// Unicode Standard Annex 15 and chapter 3.13. Rules:
//   word    letters and marks behind a letter, and an apostrophe between two of them: ann's
//   number  digits, and one of . , : / - between two of them: 3.5, 12:30
//   the rest is dropped, and ends both. Soft hyphen and joiners (U+00AD, 200C, 200D) are not seen.
// Scripts without spaces between words (Chinese, Thai) give long words.
#ifndef CUTTLE_IO_TEXT_SPLIT_H
#define CUTTLE_IO_TEXT_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SPLIT_BYTES = 128,  /* most bytes of a word or number; a longer one is cut to these */
	SPLIT_CLUSTER = 32, /* characters that are normalised together, as UAX 15 does in streams */
	SPLIT_EXPANSION = 18 /* most characters that one becomes when it is taken apart */
};

enum split_kind {
	SPLIT_END,
	SPLIT_WORD,
	SPLIT_NUMBER,
	SPLIT_SHAPE /* punctuation and white space between the others, where it was asked for */
};

/* Its members are split.c's own. */
struct split {
	const char *text; /* the caller's */
	size_t size;      /* bytes of text */
	size_t at;        /* bytes read so far */
	bool shape;       /* SPLIT_SHAPE is given */
	/* What the last cluster became, and which of it was not read yet. */
	int32_t points[SPLIT_CLUSTER * SPLIT_EXPANSION];
	size_t count; /* of points */
	size_t read;  /* of them */
	int32_t ahead[2];
	size_t ahead_count;
	char bytes[SPLIT_BYTES]; /* of the item given last */
	size_t used;             /* of bytes */
};

/* Begins at the start of text[size], which must stay until split_end. With `shape`, punctuation is
 * given, too, and white space: a run of it as one newline where it has one, else as one blank. */
void split_begin(struct split *split, const char *text, size_t size, bool shape);
/* The next item: *bytes[*length] is UTF-8 until the next call, at least one byte and at most
 * SPLIT_BYTES. SPLIT_END: there is none, and neither is set. */
enum split_kind split_next(struct split *split, const char **bytes, size_t *length);
/* Wipes what it holds. */
void split_end(struct split *split);

#endif
