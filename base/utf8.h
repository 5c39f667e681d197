// SPDX-License-Identifier: Apache-2.0
// Strict UTF-8, the one decoder of the house.
#ifndef CUTTLE_BASE_UTF8_H
#define CUTTLE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNICODE_REPLACEMENT 0xfffdu

/* Decodes the character at the start of text[size], size > 0. Returns its length in bytes, 1..4, or 0 when no well-formed character starts
 * there (The Unicode Standard, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF); then *code_point is U+FFFD. */
size_t utf8_decode(const char *text, size_t size, uint32_t *code_point);

/* Writes the character to text and returns its length, 1..4. The code point is at most U+10FFFF and no surrogate. */
size_t utf8_encode(uint32_t code_point, char text[4]);

/* Whether text[size] is well-formed throughout. The empty text is; NUL bytes are legal. */
bool utf8_valid(const char *text, size_t size);

/* Takes the ASCII white space off both ends. */
void utf8_trim(const char **text, size_t *size);

#endif
