// SPDX-License-Identifier: Apache-2.0
// utf8.h: strict UTF-8. All of cuttle decodes with these functions.
//
// Text may be private; nothing is kept or written elsewhere.
// Example: utf8_decode("\xc3\xa9!", 3, &c) returns 2 and sets c to U+00E9.
// "Well-formed" is what The Unicode Standard says in table 3-7: no overlong forms, no surrogates,
// nothing above U+10FFFF.
#ifndef CUTTLE_BASE_UTF8_H
#define CUTTLE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNICODE_REPLACEMENT 0xfffdu

/* Decodes the character at the start of text[size], size > 0. Returns its length in bytes, 1 to 4.
 * Returns 0 when no well-formed character starts there; *code_point is then U+FFFD. */
size_t utf8_decode(const char *text, size_t size, uint32_t *code_point);

/* Writes the character to text and returns its length in bytes, 1 to 4. The code point is at most
 * U+10FFFF and no surrogate. */
size_t utf8_write(uint32_t code_point, char text[4]);

/* Whether text[size] is well-formed throughout. The empty text is; NUL bytes are legal. */
bool utf8_valid(const char *text, size_t size);

/* Bytes of the byte order mark that text[size] begins with, as some editors write it: 3 or 0. */
size_t utf8_mark(const char *text, size_t size);

enum { UTF8_NAME = 128 }; /* the longest name, in bytes */
/* Whether text[size] is a name: 1 to UTF8_NAME bytes of well-formed text without ASCII control
 * characters. So it stands in one line. */
bool utf8_name(const char *text, size_t size);

/* Moves *text and *size past ASCII white space at both ends: " a b \n" becomes "a b". */
void utf8_trim(const char **text, size_t *size);

#endif
