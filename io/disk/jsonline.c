// SPDX-License-Identifier: Apache-2.0
// How jsonline.h looks: once through the line, strings and what is between them apart.
#include "io/disk/jsonline.h"

#include "base/utf8.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	NO_ESCAPE = 0x10000, /* more than any four hex digits are */
	/* What is the matter with a string: bits. */
	STRING_HALF = 1,  /* half a pair */
	STRING_WRONG = 2, /* a control character, or a backslash before what it cannot escape */
	STRING_ZERO = 4,  /* \u0000, which a name must not have */
};

/* What the four hex digits after \u say, or NO_ESCAPE where they are none. */
static unsigned parse_escape(const char *line, size_t size, size_t at) {
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	unsigned code = 0;
	if (at + 6 > size || line[at] != '\\' || line[at + 1] != 'u') return NO_ESCAPE;
	for (size_t i = at + 2; i < at + 6; i++) {
		const char *digit = line[i] ? strchr(digits, line[i]) : NULL;
		if (!digit) return NO_ESCAPE;
		code = code * 16 + (unsigned)(digit - digits) % 16;
	}
	return code;
}

static bool is_half(unsigned code, unsigned first) {
	return code >= first && code < first + 0x400;
}

/* Moves *at from a string's first quote behind its last, or to the end. Returns what is the matter
 * with it. */
static unsigned skip_string(const char *line, size_t size, size_t *at) {
	unsigned fault = 0;
	for (++*at; *at < size && line[*at] != '"'; ++*at) {
		if ((unsigned char)line[*at] < ' ') fault |= STRING_WRONG;
		if (line[*at] != '\\') continue;
		const unsigned code = parse_escape(line, size, *at);
		const bool high = is_half(code, 0xD800),
		           pair = high && is_half(parse_escape(line, size, *at + 6), 0xDC00);
		if (is_half(code, 0xDC00) || (high && !pair)) fault |= STRING_HALF;
		if (!code) fault |= STRING_ZERO;
		if (code == NO_ESCAPE &&
		    (*at + 1 >= size || !memchr("\"\\/bfnrt", line[*at + 1], 8)))
			fault |= STRING_WRONG;
		*at += pair ? 11 : 1;
	}
	*at = *at < size ? *at + 1 : size;
	return fault;
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
			half |= (skip_string(line, size, &at) & STRING_HALF) != 0;
			continue;
		}
		nan |= begins_with(line + at, size - at, "NaN") ||
		       begins_with(line + at, size - at, "Infinity");
		at++;
	}
	return nan ? JSONLINE_NAN : half ? JSONLINE_HALF_PAIR : JSONLINE_OTHER;
}

/* Whether no double can hold a number. */
static bool is_endless(const char *number, size_t size) {
	enum { SHORT = 5, ENOUGH = 1 << 10 };
	char digits[ENOUGH];
	if (size < SHORT) return false;
	// More than 1,000 digits are too many unless a point is among them; strtod needs few of
	// those.
	if (size >= sizeof digits) return !memchr(number, '.', size);
	memcpy(digits, number, size);
	digits[size] = 0;
	const bool endless = isinf(strtod(digits, NULL));
	memset(digits, 0, sizeof digits);
	return endless;
}

/* Whether it is a whole number that 64 bits do not hold. */
static bool is_beyond(const char *number, size_t size) {
	static const char *const limits[] = {"9223372036854775807", "9223372036854775808"};
	const bool negative = size && *number == '-';
	const char *digits = number + negative;
	size -= negative;
	if (!size || *digits < '1' || *digits > '9') return false;
	for (size_t i = 0; i < size; i++)
		if (digits[i] < '0' || digits[i] > '9') return false;
	const size_t most = strlen(limits[negative]);
	return size > most || (size == most && memcmp(digits, limits[negative], most) > 0);
}

/* Whether what ends here is the name of a member. */
static bool is_name(const char *line, size_t size, size_t end) {
	while (end < size && memchr(" \t\r\n", line[end], 4)) end++;
	return end < size && line[end] == ':';
}

/* The bytes of the number that begins here, or of what has its characters. */
static size_t count_number(const char *number, size_t size) {
	size_t length = 0;
	while (length < size && memchr("+-.0123456789eE", number[length], 15)) length++;
	return length;
}

static bool mend_number(struct arena *copy, const char *number, size_t size, bool words) {
	const bool beyond = is_beyond(number, size);
	if (beyond && words)
		return arena_append(copy, "\"", 1) && arena_append(copy, number, size) &&
		       arena_append(copy, "\"", 1);
	if (is_endless(number, size)) return arena_append(copy, "null", 4);
	return arena_append(copy, number, size) && (!beyond || arena_append(copy, "e0", 2));
}

static bool mend_string(struct arena *copy, const char *string, size_t size, unsigned fault,
                        bool name) {
	if (utf8_valid(string, size) && !(name ? fault : fault & ~(unsigned)STRING_ZERO))
		return arena_append(copy, string, size);
	return name ? arena_append(copy, "\"\"", 2) : arena_append(copy, "null", 4);
}

bool jsonline_mend(struct arena *copy, const char *line, size_t size, bool words) {
	static const char *const none[] = {"NaN", "Infinity", "-Infinity"};
	bool done = true;
	for (size_t at = 0, from = 0; done && at < size; from = at) {
		if (line[at] == '"') {
			const unsigned fault = skip_string(line, size, &at);
			done = words ? mend_string(copy, line + from, at - from, fault,
			                           is_name(line, size, at))
			             : arena_append(copy, line + from, at - from);
			continue;
		}
		for (size_t i = 0; words && i < 3 && at == from; i++)
			if (begins_with(line + at, size - at, none[i])) at += strlen(none[i]);
		if (at > from) {
			done = arena_append(copy, "null", 4);
			continue;
		}
		at += count_number(line + at, size - at);
		// A number is no name, and must not become one.
		if (at == from || is_name(line, size, at))
			at += at == from, done = arena_append(copy, line + from, at - from);
		else done = mend_number(copy, line + from, at - from, words);
	}
	return done;
}
