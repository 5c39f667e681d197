// SPDX-License-Identifier: Apache-2.0
// words.h: where a word begins and ends, in any script.
//
// Text may be private; nothing is kept.
// A text is cut into pieces: a piece is a run of letters and digits, or one other character.
// Example: "Anna's 7." is the pieces Anna ' s space 7 and the full stop.
// Scripts without spaces between words (Chinese, Japanese, Korean, Thai) have no runs here: each of
// their characters is a piece. So a name is seen there wherever it stands.
#ifndef CUTTLE_BASE_WORDS_H
#define CUTTLE_BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the letter at the start of text[size]. 0: none stands there, or size is 0. */
size_t words_letter_size(const char *text, size_t size);
/* Bytes of the piece at the start of text[size], size > 0. A byte that is not UTF-8 is a piece. */
size_t words_piece(const char *text, size_t size);

#endif
