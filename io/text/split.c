// SPDX-License-Identifier: Apache-2.0
// Three layers, each asked by the next. read_cluster takes a character with the marks behind it and
// normalises them. peek_point gives single characters, up to two ahead. split_next joins them.
//
// A cluster can be normalised alone. Nothing composes with what stands before a character that is
// neither a mark nor a vowel or final consonant of Hangul. Example: "e", U+0301 is one cluster and
// becomes U+00E9.
#include "io/text/split.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include <sodium.h>
#include <string.h>
#include <utf8proc.h>

enum {
	NO_POINT = -1, /* behind the end */
	BAD_POINT = -2 /* a byte that is not UTF-8 */
};

enum point_class {
	POINT_LETTER,
	POINT_MARK,
	POINT_DIGIT,
	POINT_PUNCTUATION,
	POINT_SPACE,
	POINT_REST
};

static enum point_class classify_point(int32_t point) {
	if (point < 0) return POINT_REST;
	if ((point >= '\t' && point <= '\r') || point == 0x85) return POINT_SPACE;
	const utf8proc_category_t category = utf8proc_category(point);
	if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO)
		return POINT_LETTER;
	if (category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME) return POINT_MARK;
	if (category == UTF8PROC_CATEGORY_ND) return POINT_DIGIT;
	if (category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO)
		return POINT_PUNCTUATION;
	if (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP)
		return POINT_SPACE;
	return POINT_REST;
}

/* ---- characters ------------------------------------------------------------------------------ */

/* Whether it may compose with a character before it. */
static bool joins_before(uint32_t point) {
	return classify_point((int32_t)point) == POINT_MARK || (point >= 0x1160 && point <= 0x11FF);
}

/* Reads the next cluster into points. It has at least one character, unless the text is at its end.
 */
static void read_cluster(struct split *split) {
	const size_t begin = split->at;
	size_t characters = 0;
	split->count = split->read = 0;
	while (split->at < split->size && characters < SPLIT_CLUSTER) {
		uint32_t point;
		const size_t bytes =
		    utf8_decode(split->text + split->at, split->size - split->at, &point);
		if (characters && (!bytes || !joins_before(point))) break;
		if (!bytes) {
			split->at++;
			split->points[split->count++] = BAD_POINT;
			return;
		}
		split->at += bytes;
		characters++;
	}
	if (!characters) return;
	const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD;
	const utf8proc_ssize_t room = sizeof split->points / sizeof *split->points;
	utf8proc_ssize_t count =
	    utf8proc_decompose((const utf8proc_uint8_t *)split->text + begin,
	                       (utf8proc_ssize_t)(split->at - begin), split->points, room, options);
	REQUIRE(count > 0 && count <= room);
	count = utf8proc_normalize_utf32(split->points, count, options);
	REQUIRE(count > 0);
	split->count = (size_t)count;
}

/* Soft hyphen and joiners: they say how a word looks, not where it ends. */
static bool is_unseen(int32_t point) {
	return point == 0xAD || point == 0x200C || point == 0x200D;
}

static int32_t read_point(struct split *split) {
	for (;;) {
		if (split->read == split->count) read_cluster(split);
		if (split->read == split->count) return NO_POINT;
		const int32_t point = split->points[split->read++];
		if (!is_unseen(point)) return point;
	}
}

/* The next character, or the one behind it; `distance` is 0 or 1. */
static int32_t peek_point(struct split *split, size_t distance) {
	while (split->ahead_count <= distance)
		split->ahead[split->ahead_count++] = read_point(split);
	return split->ahead[distance];
}

static int32_t take_point(struct split *split) {
	const int32_t point = peek_point(split, 0);
	split->ahead[0] = split->ahead[1];
	split->ahead_count--;
	return point;
}

/* ---- items ----------------------------------------------------------------------------------- */

/* Appends a character. False: there is no room for it. */
static bool append_point(struct split *split, int32_t point) {
	char bytes[4];
	const size_t size = utf8_write((uint32_t)point, bytes);
	const bool fits = size <= SPLIT_BYTES - split->used;
	if (fits) memcpy(split->bytes + split->used, bytes, size);
	if (fits) split->used += size;
	sodium_memzero(bytes, sizeof bytes);
	return fits;
}

static bool is_apostrophe(int32_t point) {
	return point == '\'' || point == 0x2019;
}

static bool is_separator(int32_t point) {
	return point > 0 && point < 0x80 && strchr(".,:/-", point);
}

/* Reads a word or number to its end. What has no room any more is read and not kept. */
static void read_run(struct split *split, enum split_kind kind) {
	bool room = true;
	for (;;) {
		const int32_t point = peek_point(split, 0);
		const enum point_class class = classify_point(point);
		int32_t kept = point;
		if (kind == SPLIT_WORD) {
			if (is_apostrophe(point) &&
			    classify_point(peek_point(split, 1)) == POINT_LETTER)
				kept = '\'';
			else if (class != POINT_LETTER && class != POINT_MARK) return;
		} else if (class != POINT_DIGIT &&
		           !(is_separator(point) &&
		             classify_point(peek_point(split, 1)) == POINT_DIGIT))
			return;
		// After the first that has no room none is kept, so what is kept is a beginning.
		room = room && append_point(split, kept);
		(void)take_point(split);
	}
}

/* Reads what stands between words and numbers, as far as there is room. */
static void read_shape(struct split *split) {
	bool space = false, newline = false;
	for (;;) {
		const int32_t point = peek_point(split, 0);
		const enum point_class class = classify_point(point);
		if (class == POINT_LETTER || class == POINT_DIGIT || point == NO_POINT) break;
		// A run of white space is written when it has ended; one byte is left for it.
		if (class == POINT_SPACE) {
			space = true;
			newline |= point == '\n' || point == '\r' || point == 0x85 ||
			           point == 0x2028 || point == 0x2029;
		} else if (class == POINT_PUNCTUATION) {
			if (SPLIT_BYTES - split->used < 1 + 4 + 1) break;
			if (space) (void)append_point(split, newline ? '\n' : ' ');
			space = newline = false;
			(void)append_point(split, point);
		}
		(void)take_point(split);
	}
	if (space) (void)append_point(split, newline ? '\n' : ' ');
}

void split_begin(struct split *split, const char *text, size_t size, bool shape) {
	memset(split, 0, sizeof *split);
	split->text = text;
	split->size = size;
	split->shape = shape;
}

enum split_kind split_next(struct split *split, const char **bytes, size_t *length) {
	enum split_kind kind = SPLIT_END;
	split->used = 0;
	while (kind == SPLIT_END) {
		const int32_t point = peek_point(split, 0);
		const enum point_class class = classify_point(point);
		if (point == NO_POINT) return SPLIT_END;
		if (class == POINT_LETTER) kind = SPLIT_WORD;
		else if (class == POINT_DIGIT) kind = SPLIT_NUMBER;
		else if (split->shape) {
			read_shape(split);
			if (split->used) kind = SPLIT_SHAPE;
		} else (void)take_point(split);
	}
	if (kind != SPLIT_SHAPE) read_run(split, kind);
	*bytes = split->bytes;
	*length = split->used;
	return kind;
}

void split_end(struct split *split) {
	sodium_memzero(split, sizeof *split);
}
