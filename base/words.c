// SPDX-License-Identifier: Apache-2.0
// words.c: see words.h. Letters outside ASCII are known by ranges of the Unicode code charts,
// blocks as a whole. A sign that a range counts wrongly only makes one piece of two, or two of one.
#include "base/words.h"

#include "base/misuse.h"
#include "base/utf8.h"

/* First and last code point of each range of letters, in order. */
static const uint16_t LETTERS[][2] = {
    {0x00aa, 0x00aa}, {0x00b5, 0x00b5}, {0x00ba, 0x00ba}, {0x00c0, 0x00d6}, {0x00d8, 0x00f6},
    {0x00f8, 0x037d}, {0x037f, 0x0386}, {0x0388, 0x0481}, {0x0483, 0x0556}, {0x0560, 0x0588},
    {0x0591, 0x05bd}, {0x05d0, 0x05ea}, {0x0610, 0x061a}, {0x0620, 0x0669}, {0x066e, 0x06d3},
    {0x06d5, 0x06ff}, {0x0900, 0x0963}, {0x0966, 0x0df3}, {0x10a0, 0x10fa}, {0x10fc, 0x10ff},
    {0x1200, 0x135f}, {0x13a0, 0x13fd}, {0x1c80, 0x1cbf}, {0x1e00, 0x1fff}, {0x2c00, 0x2cff},
    {0xa640, 0xa69f}, {0xa722, 0xa7ff},
};

/* Whether the character is part of a run: a letter, a digit, a mark on a letter, or '_'. */
static bool is_word_letter(uint32_t code_point) {
	if (code_point < 0x80)
		return (code_point | 0x20) - 'a' < 26 || code_point - '0' < 10 || code_point == '_';
	for (size_t i = 0; i < sizeof LETTERS / sizeof *LETTERS; i++)
		if (code_point <= LETTERS[i][1]) return code_point >= LETTERS[i][0];
	return false;
}

size_t words_letter_size(const char *text, size_t size) {
	uint32_t code_point;
	const size_t length = size ? utf8_decode(text, size, &code_point) : 0;
	return length && is_word_letter(code_point) ? length : 0;
}

size_t words_piece(const char *text, size_t size) {
	REQUIRE(size > 0);
	size_t end = 0, length;
	while ((length = words_letter_size(text + end, size - end))) end += length;
	if (end) return end;
	uint32_t ignored;
	length = utf8_decode(text, size, &ignored);
	return length ? length : 1;
}
