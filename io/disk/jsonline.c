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

/* The bytes of the word that begins here: up to white space, a sign of JSON, or a string. */
static size_t count_word(const char *word, size_t size) {
	size_t length = 0;
	while (length < size && !memchr(" \t\r\n,:{}[]\"", word[length], 11)) length++;
	return length;
}

static size_t measure_digits(const char *text, size_t size, size_t at) {
	size_t end = at;
	while (end < size && text[end] >= '0' && text[end] <= '9') end++;
	return end - at;
}

/* Whether JSON has such a number: 10, -1.5 and 2e+3, but not 01, .5 or +5. */
static bool is_number(const char *word, size_t size) {
	size_t at = size && *word == '-';
	size_t digits = measure_digits(word, size, at);
	if (!digits || (digits > 1 && word[at] == '0')) return false;
	at += digits;
	if (at < size && word[at] == '.') {
		digits = measure_digits(word, size, ++at);
		if (!digits) return false;
		at += digits;
	}
	if (at < size && (word[at] == 'e' || word[at] == 'E')) {
		at++;
		at += at < size && (word[at] == '+' || word[at] == '-');
		digits = measure_digits(word, size, at);
		if (!digits) return false;
		at += digits;
	}
	return at == size;
}

static bool is_literal(const char *word, size_t size) {
	return (size == 4 && (!memcmp(word, "true", 4) || !memcmp(word, "null", 4))) ||
	       (size == 5 && !memcmp(word, "false", 5));
}

static bool mend_number(struct arena *copy, const char *number, size_t size, bool words) {
	const bool beyond = is_beyond(number, size);
	if (beyond && words)
		return arena_append(copy, "\"", 1) && arena_append(copy, number, size) &&
		       arena_append(copy, "\"", 1);
	if (is_endless(number, size)) return arena_append(copy, "null", 4);
	return arena_append(copy, number, size) && (!beyond || arena_append(copy, "e0", 2));
}

/* What is neither a number nor one of JSON's words becomes null. */
static bool mend_word(struct arena *copy, const char *word, size_t size) {
	if (is_number(word, size)) return mend_number(copy, word, size, true);
	return is_literal(word, size) ? arena_append(copy, word, size)
	                              : arena_append(copy, "null", 4);
}

static bool mend_string(struct arena *copy, const char *string, size_t size, unsigned fault,
                        bool name) {
	if (utf8_valid(string, size) && !(name ? fault : fault & ~(unsigned)STRING_ZERO))
		return arena_append(copy, string, size);
	return name ? arena_append(copy, "\"\"", 2) : arena_append(copy, "null", 4);
}

/* Moves *at from the beginning of an object or list behind its end, or to the end of the line. */
static void skip_nested(const char *line, size_t size, size_t *at) {
	size_t depth = 0;
	do {
		const char sign = line[*at];
		if (sign == '"') {
			(void)skip_string(line, size, at);
			continue;
		}
		if (sign == '{' || sign == '[') depth++;
		if (sign == '}' || sign == ']') depth--;
		++*at;
	} while (depth && *at < size);
}

/* Appends the line as it is for ids and labels. */
static bool mend_words(struct arena *copy, const char *line, size_t size) {
	bool done = true, inside = false;
	for (size_t at = 0, from = 0; done && at < size; from = at) {
		const bool opens = line[at] == '{' || line[at] == '[';
		const size_t word = count_word(line + at, size - at);
		if (line[at] == '"') {
			const unsigned fault = skip_string(line, size, &at);
			done = mend_string(copy, line + from, at - from, fault,
			                   is_name(line, size, at));
		} else if (opens && inside) {
			skip_nested(line, size, &at);
			done = arena_append(copy, "null", 4);
		} else if (word && !is_name(line, size, at + word)) {
			at += word;
			done = mend_word(copy, line + from, word);
		} else {
			// A word is no name, and must not become one.
			at += word ? word : 1;
			inside |= opens;
			done = arena_append(copy, line + from, at - from);
		}
	}
	return done;
}

bool jsonline_mend(struct arena *copy, const char *line, size_t size, bool words) {
	bool done = true;
	if (words) return mend_words(copy, line, size);
	for (size_t at = 0, from = 0; done && at < size; from = at) {
		if (line[at] == '"') {
			(void)skip_string(line, size, &at);
			done = arena_append(copy, line + from, at - from);
			continue;
		}
		at += count_number(line + at, size - at);
		// A number is no name, and must not become one.
		if (at == from || is_name(line, size, at))
			at += at == from, done = arena_append(copy, line + from, at - from);
		else done = mend_number(copy, line + from, at - from, false);
	}
	return done;
}
