// SPDX-License-Identifier: Apache-2.0
// Binary search in generated tables of ranges. An entry is the range's first code point << 3 | its
// class; the range ends where the next one begins. ASCII is answered without the tables.
#include "engine/text/unicode.h"

#include "engine/text/unicode_table.h"

static unsigned look_up_class(const uint32_t *table, size_t high, uint32_t code_point) {
	size_t low = 0;
	if (code_point > 0x10ffff) return 0;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (table[middle] >> 3 <= code_point) low = middle;
		else high = middle;
	}
	return table[low] & 7;
}

enum unicode_class unicode_class(uint32_t code_point) {
	if (code_point < 0x80) {
		if ((code_point | 0x20) - 'a' < 26) return UNICODE_LETTER;
		if (code_point - '0' < 10) return UNICODE_NUMBER;
		if (code_point == ' ' || code_point - '\t' < 5) return UNICODE_SPACE;
	}
	return (enum unicode_class)look_up_class(
	    unicode_table, sizeof unicode_table / sizeof *unicode_table, code_point);
}

enum unicode_case unicode_case(uint32_t code_point) {
	if (code_point - 'a' < 26) return UNICODE_LOWER;
	if (code_point - 'A' < 26) return UNICODE_UPPER;
	if (code_point < 0x80) return UNICODE_NO_CASE;
	return (enum unicode_case)look_up_class(case_table, sizeof case_table / sizeof *case_table,
	                                        code_point);
}
