// SPDX-License-Identifier: Apache-2.0
// Words as scan.h compares them, for the scanners of all types. They stand apart from tag/rules.c,
// which calls the scanners: no two files call each other.
#include "tag/scan.h"

/* The small letter without its accent that stands at a place; *size gets its bytes, with those of
 * accents behind it. A byte that is no letter of Latin-1 is itself. */
static unsigned char plain_letter(const struct tag_text *text, size_t at, size_t *size) {
	// U+00C0 to U+00DF; those of U+00E0 to U+00FF differ by 0x20. '.' = none.
	static const char plain[] = "aaaaaa.ceeeeiiiidnooooo.ouuuuy..";
	unsigned char byte = byte_at(text, at);
	const unsigned char second = byte_at(text, at + 1);
	*size = 1;
	if (byte == 0xc3 && second >= 0x80 && second < 0xc0 && plain[second & 0x1f] != '.') {
		byte = (unsigned char)plain[second & 0x1f];
		*size = 2;
	}
	for (size_t marks = 0; marks < 4; marks++) {
		const unsigned char mark = byte_at(text, at + *size),
		                    rest = byte_at(text, at + *size + 1);
		if (rest < 0x80 || (mark != 0xcc && (mark != 0xcd || rest >= 0xb0))) break;
		*size += 2;
	}
	return is_ascii_letter(byte) ? byte | 0x20 : byte;
}

size_t match_word(const struct tag_text *text, size_t at, const char *word) {
	size_t length = 0, size;
	for (size_t i = 0; word[i]; i++) {
		if (word[i] == ' '
		        ? !(size = space_at(text, at + length))
		        : plain_letter(text, at + length, &size) != (unsigned char)word[i])
			return 0;
		length += size;
	}
	return letter_at(text, at + length) ? 0 : length;
}

size_t match_words(const struct tag_text *text, size_t at, const char *const words[]) {
	size_t length = 0;
	for (size_t i = 0; !length && words[i]; i++) length = match_word(text, at, words[i]);
	return length;
}

bool follows_words(const struct tag_text *text, size_t at, const char *const words[]) {
	enum { MOST = 12 };
	size_t size;
	if (sign_before(text, at, &size) != ' ') return false;
	const size_t end = at - size;
	size_t start = end;
	while (start > 0 && end - start <= MOST && is_ascii_letter(byte_at(text, start - 1)))
		start--;
	return start < end && match_words(text, start, words) == end - start;
}

/* A letter outside ASCII may be a capital. Letters, the full stop of an initial, hyphens and
 * apostrophes belong to the word. */
size_t end_of_name(const struct tag_text *text, size_t at) {
	enum { MOST = 96 };
	const unsigned char first = byte_at(text, at);
	if ((first < 'A' || first > 'Z') && first < 0x80) return 0;
	size_t end = at, length, size;
	while ((length = letter_at(text, end))) {
		if (end > at + MOST) return 0;
		end += length;
		const unsigned char joint = sign_at(text, end, &size);
		// "Roe's" is Roe with an ending; "O'Neil" is one word.
		const unsigned char next = byte_at(text, end + size);
		if ((joint == '-' || joint == '\'') && (next < 'a' || next > 'z') &&
		    letter_at(text, end + size))
			end += size;
	}
	// An initial has its full stop: one letter of ASCII.
	return end == at + 1 && byte_at(text, end) == '.' ? end + 1 : end > at ? end : 0;
}
