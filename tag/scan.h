// SPDX-License-Identifier: Apache-2.0
// scan.h: what the rules share: a text that is looked at byte by byte, and the scanner of each
// type.
//
// Called within tag/ alone. Private texts pass through.
// A scanner looks at one place of the text, where a word or a sign begins. It returns the end of
// the match, or 0. It looks at a fixed number of bytes at most, unless it matches: so a text of one
// repeated character takes no longer than another. (Those of tag/rules.c that look further
// remember how far.)
#ifndef CUTTLE_TAG_SCAN_H
#define CUTTLE_TAG_SCAN_H

#include "base/words.h"

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

/* Whether `word`, in small letters, stands at a place in any case, with no letter behind it.
 * Returns its length, or 0. */
size_t match_word(const struct tag_text *text, size_t at, const char *word);
/* The same for the first of words[], which ends with NULL, that stands there. */
size_t match_words(const struct tag_text *text, size_t at, const char *const words[]);

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
/* `at` is where the title begins; the mark is the name behind it. */
struct tag_range scan_person(const struct tag_text *text, size_t at);

#endif
