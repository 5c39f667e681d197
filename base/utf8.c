// SPDX-License-Identifier: Apache-2.0
// utf8.c: see utf8.h. Decoding follows table 3-7 of the Unicode Standard. A lead byte gives the
// length, each further byte six bits. Overlong forms and surrogates are then refused by value:
// an overlong form is smaller than any character of its length.
#include "base/utf8.h"

#include "base/misuse.h"
#include <string.h>

static bool is_continuation(const char *text) {
	return ((unsigned char)*text & 0xc0) == 0x80;
}

size_t utf8_decode(const char *text, size_t size, uint32_t *code_point) {
	REQUIRE(size > 0);
	unsigned char lead = (unsigned char)text[0];
	if (lead < 0x80) {
		*code_point = lead;
		return 1;
	}
	size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
	*code_point = UNICODE_REPLACEMENT;
	if (lead < 0xc2 || lead > 0xf4 || size < length) return 0;
	uint32_t value = lead & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if (!is_continuation(text + i)) return 0;
		value = value << 6 | ((unsigned char)text[i] & 0x3fu);
	}
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	if (value < smallest[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 0;
	*code_point = value;
	return length;
}

size_t utf8_write(uint32_t code_point, char text[4]) {
	REQUIRE(code_point <= 0x10ffff && (code_point < 0xd800 || code_point > 0xdfff));
	if (code_point < 0x80) {
		text[0] = (char)code_point;
		return 1;
	}
	size_t length = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
	for (size_t i = length - 1; i > 0; i--, code_point >>= 6)
		text[i] = (char)(0x80 | (code_point & 0x3f));
	text[0] = (char)(0xf00u >> length | code_point);
	return length;
}

bool utf8_valid(const char *text, size_t size) {
	uint32_t ignored;
	for (size_t i = 0, length; i < size; i += length) {
		length = utf8_decode(text + i, size - i, &ignored);
		if (!length) return false;
	}
	return true;
}

size_t utf8_mark(const char *text, size_t size) {
	static const char mark[3] = {'\xEF', '\xBB', '\xBF'};
	return size >= sizeof mark && !memcmp(text, mark, sizeof mark) ? sizeof mark : 0;
}

bool utf8_name(const char *text, size_t size) {
	if (!size || size > UTF8_NAME || !utf8_valid(text, size)) return false;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127) return false;
	return true;
}

static bool is_ascii_space(char c) {
	return c == ' ' || (c >= '\t' && c <= '\r');
}

void utf8_trim(const char **text, size_t *size) {
	for (; *size && is_ascii_space(**text); ++*text) --*size;
	while (*size && is_ascii_space((*text)[*size - 1])) --*size;
}
