// SPDX-License-Identifier: Apache-2.0
// scan.h: what the rules share: a text that is looked at byte by byte, and the scanner of each
// type.
//
// Private texts pass through.
// A scanner looks at one place of the text, where a word or a sign begins. It returns the end of
// the match, or 0. It looks at a fixed number of bytes at most, unless it matches: so a text of one
// repeated character takes no longer than another. (Those of tag/rules.c that look further
// remember how far.)
#ifndef CUTTLE_TAG_SCAN_H
#define CUTTLE_TAG_SCAN_H

#include "base/words.h"
#include <string.h>

struct tag_text {
	const char *bytes;
	size_t size;
};

/* The byte at a place; 0 behind the end. */
static inline unsigned char byte_at(const struct tag_text *text, size_t at) {
	return at < text->size ? (unsigned char)text->bytes[at] : 0;
}

static inline bool is_digit(unsigned char byte) {
	return byte >= '0' && byte <= '9';
}

static inline bool is_ascii_letter(unsigned char byte) {
	return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
}

static inline bool digit_at(const struct tag_text *text, size_t at) {
	return is_digit(byte_at(text, at));
}

/* Bytes of the letter or digit at a place, in any script; 0 = none. */
static inline size_t letter_at(const struct tag_text *text, size_t at) {
	return at < text->size ? words_letter_size(text->bytes + at, text->size - at) : 0;
}

/* How many digits stand at a place; it counts up to `most`. */
static inline size_t count_digits(const struct tag_text *text, size_t at, size_t most) {
	size_t count = 0;
	while (count < most && digit_at(text, at + count)) count++;
	return count;
}

/* The number of the `count` digits at a place; count is at most 9. */
static inline unsigned number_at(const struct tag_text *text, size_t at, size_t count) {
	unsigned number = 0;
	for (size_t i = 0; i < count; i++) number = 10 * number + (byte_at(text, at + i) - '0');
	return number;
}

/* What a sign at a place counts as, wherever it joins the parts of a number, a date or a name, or
 * stands behind a title: '-' for the dashes U+2010..2013 and U+2212, ' ' for the spaces U+00A0,
 * U+2000..200A, U+202F, U+205F and U+3000, '\'' for U+2019. Any other byte counts as itself. *size
 * gets its bytes; 0 behind the end. */
static inline unsigned char sign_at(const struct tag_text *text, size_t at, size_t *size) {
	const unsigned char first = byte_at(text, at), second = byte_at(text, at + 1);
	*size = first ? 1 : 0;
	if (first < 0xc2) return first;
	if (first == 0xc2 && second == 0xa0) return *size = 2, ' ';
	const unsigned code = second << 8 | byte_at(text, at + 2);
	unsigned char sign = first;
	if (first == 0xe2) {
		if ((code >= 0x8090 && code <= 0x8093) || code == 0x8892) sign = '-';
		if ((code >= 0x8080 && code <= 0x808a) || code == 0x80af || code == 0x819f)
			sign = ' ';
		if (code == 0x8099) sign = '\'';
	} else if (first == 0xe3 && code == 0x8080) sign = ' ';
	if (sign != first) *size = 3;
	return sign;
}

/* The same for the sign that ends before a place; 0 at the beginning. */
static inline unsigned char sign_before(const struct tag_text *text, size_t at, size_t *size) {
	for (size_t back = 3; back > 1; back--) {
		if (at < back) continue;
		const unsigned char sign = sign_at(text, at - back, size);
		if (*size == back) return sign;
	}
	*size = at ? 1 : 0;
	return at ? byte_at(text, at - 1) : 0;
}

/* Bytes of the dash or space at a place, or 0: see sign_at. */
static inline size_t dash_at(const struct tag_text *text, size_t at) {
	size_t size;
	return sign_at(text, at, &size) == '-' ? size : 0;
}

static inline size_t space_at(const struct tag_text *text, size_t at) {
	size_t size;
	return sign_at(text, at, &size) == ' ' ? size : 0;
}

/* Past one space, if one stands there. */
static inline size_t skip_space(const struct tag_text *text, size_t at) {
	return at + space_at(text, at);
}

/* Past one or two spaces or tabs; the place itself when none stands there. */
static inline size_t skip_gap(const struct tag_text *text, size_t at) {
	for (size_t i = 0; i < 2; i++) at += byte_at(text, at) == '\t' ? 1 : space_at(text, at);
	return at;
}

/* The same behind a colon, where a column may be aligned: up to 32 of them. */
static inline size_t skip_column(const struct tag_text *text, size_t at) {
	for (size_t i = 0; i < 16; i++) at = skip_gap(text, at);
	return at;
}

/* Whether the number at a place is the rest of a longer one, such as the 2.3 of 1.2.3, where its
 * parts are joined by one of `joints`. */
static inline bool is_rest(const struct tag_text *text, size_t at, const char *joints) {
	size_t size;
	const unsigned char sign = sign_before(text, at, &size);
	return sign && strchr(joints, sign) && at > size && digit_at(text, at - size - 1);
}

/* Whether a number that ends before `end` goes on there: by a letter, or by .5 or -5. */
static inline bool goes_on(const struct tag_text *text, size_t end, const char *joints) {
	size_t size;
	const unsigned char sign = sign_at(text, end, &size);
	return letter_at(text, end) || (sign && strchr(joints, sign) && digit_at(text, end + size));
}

/* Whether `word`, in small letters without accents, stands at a place, with no letter behind it. In
 * the text it may have capitals, and accents of Latin-1 or of their own (U+0300..036F); a space may
 * be another one. Returns how many bytes it has there, or 0. */
size_t match_word(const struct tag_text *text, size_t at, const char *word);
/* The same for the first of words[], which ends with NULL, that stands there. */
size_t match_words(const struct tag_text *text, size_t at, const char *const words[]);

/* Whether a word of the table stands before a place, with one space between. No word of it has more
 * than 12 bytes. */
bool follows_words(const struct tag_text *text, size_t at, const char *const words[]);

/* The end of a word that begins with a capital: O'Neil-Roe, J.; 0 = none stands there. */
size_t end_of_name(const struct tag_text *text, size_t at);

/* Where a mark begins and ends; end 0 = there is none. */
struct tag_range {
	size_t start;
	size_t end;
};

size_t scan_ip(const struct tag_text *text, size_t at);
size_t scan_iban(const struct tag_text *text, size_t at);
size_t scan_card(const struct tag_text *text, size_t at);
size_t scan_ssn(const struct tag_text *text, size_t at);
size_t scan_phone(const struct tag_text *text, size_t at);
size_t scan_money(const struct tag_text *text, size_t at);
size_t scan_date(const struct tag_text *text, size_t at);
size_t scan_address(const struct tag_text *text, size_t at);
/* `at` is where the title or the cue begins; the mark is what stands behind it. */
struct tag_range scan_person(const struct tag_text *text, size_t at);
struct tag_range scan_record(const struct tag_text *text, size_t at);
struct tag_range scan_age(const struct tag_text *text, size_t at);

#endif
