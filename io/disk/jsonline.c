// SPDX-License-Identifier: Apache-2.0
// How jsonline.h looks: once through the line, strings and what is between them apart.
#include "io/disk/jsonline.h"

#include "base/utf8.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The four hex digits behind \u, or 0 where they are none. No half of a pair is 0. */
static unsigned parse_escape(const char *line, size_t size, size_t at) {
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	unsigned code = 0;
	if (at + 6 > size || line[at] != '\\' || line[at + 1] != 'u') return 0;
	for (size_t i = at + 2; i < at + 6; i++) {
		const char *digit = line[i] ? strchr(digits, line[i]) : NULL;
		if (!digit) return 0;
		code = code * 16 + (unsigned)(digit - digits) % 16;
	}
	return code;
}

static bool is_half(unsigned code, unsigned first) {
	return code >= first && code < first + 0x400;
}

/* Moves *at from a string's first quote behind its last. Returns whether half a pair is in it. */
static bool skip_string(const char *line, size_t size, size_t *at) {
	bool half = false;
	for (++*at; *at < size && line[*at] != '"'; ++*at) {
		if (line[*at] != '\\') continue;
		const unsigned code = parse_escape(line, size, *at);
		const bool high = is_half(code, 0xD800),
		           pair = high && is_half(parse_escape(line, size, *at + 6), 0xDC00);
		half |= is_half(code, 0xDC00) || (high && !pair);
		*at += pair ? 11 : 1;
	}
	if (*at < size) ++*at;
	return half;
}

static bool begins_with(const char *line, size_t size, const char *word) {
	return size >= strlen(word) && !memcmp(line, word, strlen(word));
}

enum jsonline_fault jsonline_fault(const char *line, size_t size) {
	const char *trimmed = line;
	size_t left = size;
	utf8_trim(&trimmed, &left);
	if (!left) return JSONLINE_EMPTY;
	if (*trimmed != '{') return JSONLINE_OTHER;
	bool half = false, nan = false;
	for (size_t at = 0; at < size;) {
		if (line[at] == '"') {
			half |= skip_string(line, size, &at);
			continue;
		}
		nan |= begins_with(line + at, size - at, "NaN") ||
		       begins_with(line + at, size - at, "Infinity");
		at++;
	}
	return nan ? JSONLINE_NAN : half ? JSONLINE_HALF_PAIR : JSONLINE_OTHER;
}

/* Whether no double can hold a number, or no 64 bits a whole one. */
static bool is_too_large(const char *number, size_t size, bool integers) {
	enum { SHORT = 5, ENOUGH = 1 << 10 };
	char digits[ENOUGH];
	if (size < SHORT) return false;
	// More than 1,000 digits are too many unless a point is among them; strtod needs few of
	// those.
	if (size >= sizeof digits) return !memchr(number, '.', size);
	memcpy(digits, number, size);
	digits[size] = 0;
	const bool whole = integers && !strpbrk(digits, ".eE");
	errno = 0;
	if (whole) (void)strtoll(digits, NULL, 10);
	const bool large = whole ? errno == ERANGE : isinf(strtod(digits, NULL));
	memset(digits, 0, sizeof digits);
	return large;
}

void jsonline_drop_large(char *line, size_t size, bool integers) {
	for (size_t at = 0; at < size;) {
		if (line[at] == '"') {
			(void)skip_string(line, size, &at);
			continue;
		}
		size_t length = 0;
		while (at + length < size && memchr("+-.0123456789eE", line[at + length], 15))
			length++;
		if (is_too_large(line + at, length, integers)) {
			memset(line + at, ' ', length);
			memcpy(line + at, "null", 4);
		}
		at += length ? length : 1;
	}
}
