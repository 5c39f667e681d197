// SPDX-License-Identifier: Apache-2.0
// Binary search in a generated table of ranges. An entry is the range's first code point << 3 | its
// class; the range ends where the next one begins. ASCII is answered without the table.
#include "engine/text/unicode.h"

#include "engine/text/unicode_table.h"

enum unicode_class unicode_class(uint32_t code_point) {
	if (code_point < 0x80) {
		if ((code_point | 0x20) - 'a' < 26) return UNICODE_LETTER;
		if (code_point - '0' < 10) return UNICODE_NUMBER;
		if (code_point == ' ' || code_point - '\t' < 5) return UNICODE_SPACE;
	}
	if (code_point > 0x10ffff) return UNICODE_OTHER;
	size_t low = 0, high = sizeof unicode_table / sizeof *unicode_table;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (unicode_table[middle] >> 3 <= code_point) low = middle;
		else high = middle;
	}
	return (enum unicode_class)(unicode_table[low] & 7);
}
