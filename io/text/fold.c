// SPDX-License-Identifier: Apache-2.0
// How fold.h folds: a cluster at a time, which is a run of white space, or a character with the
// marks behind it. Nothing composes with what stands before a cluster, so each is folded alone.
//
// Points say where folded bytes come from. From a point on, both texts go on byte by byte, up to
// the next point. Or what stands between the two was changed as a whole.
//   text    A n n a CR LF R o e        points   folded 0, text 0: byte by byte
//   folded  a n n a space r o e                 folded 4, text 4: as a whole
//                                               folded 5, text 6: byte by byte
#include "io/text/fold.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include <sodium.h>
#include <string.h>
#include <utf8proc.h>

enum {
	CLUSTER = 32,  /* characters of a cluster that count */
	EXPANSION = 18 /* most characters that one becomes when it is taken apart */
};

struct fold_point {
	size_t folded;   /* byte of the folded text */
	size_t original; /* byte of the text */
	bool whole;      /* what stands before the next point was changed as a whole */
};

/* A text that is being folded. */
struct folder {
	struct folded *folded;
	const char *text;
	size_t size;
	size_t at;                           /* bytes read so far */
	bool alike;                          /* the last point stands for what follows, too */
	int32_t points[CLUSTER * EXPANSION]; /* characters of the cluster */
	char bytes[CLUSTER * EXPANSION * 4]; /* the same in UTF-8 */
	size_t used;                         /* of bytes */
};

/* ---- characters ------------------------------------------------------------------------------ */

static bool is_fold_space(uint32_t point) {
	if (point < 0x80) return point == ' ' || (point >= '\t' && point <= '\r');
	const utf8proc_category_t category = utf8proc_category((int32_t)point);
	return point == 0x85 ||
	       (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP);
}

static bool is_nothing(uint32_t point) {
	return point == 0xfeff || point == 0xad || point == 0x200c || point == 0x200d;
}

/* Whether it belongs to the character before it: a mark, or a vowel or last consonant of Hangul. */
static bool is_joined(uint32_t point) {
	if (point < 0x300) return false;
	const utf8proc_category_t category = utf8proc_category((int32_t)point);
	return (category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME) ||
	       (point >= 0x1160 && point <= 0x11ff);
}

static uint32_t plain_sign(uint32_t point) {
	if (point == 0x2019) return '\'';
	return (point >= 0x2010 && point <= 0x2013) || point == 0x2212 ? '-' : point;
}

/* The character at a place of text[size], and its bytes. */
static size_t decode_folded(const char *text, size_t size, uint32_t *point) {
	const size_t length = utf8_decode(text, size, point);
	return length ? length : 1;
}

/* ---- clusters -------------------------------------------------------------------------------- */

/* Appends a character to the bytes of the cluster. */
static void put_folded(struct folder *folder, uint32_t point) {
	REQUIRE(folder->used + 4 <= sizeof folder->bytes);
	folder->used += utf8_write(point, folder->bytes + folder->used);
}

/* Takes the bytes apart, and puts the first characters of them back as bytes. */
static void rewrite_bytes(struct folder *folder, utf8proc_option_t options, size_t most) {
	const utf8proc_ssize_t room = sizeof folder->points / sizeof *folder->points;
	utf8proc_ssize_t count =
	    utf8proc_decompose((const utf8proc_uint8_t *)folder->bytes,
	                       (utf8proc_ssize_t)folder->used, folder->points, room, options);
	REQUIRE(count >= 0 && count <= room);
	if (options & UTF8PROC_COMPOSE)
		count = utf8proc_normalize_utf32(folder->points, count, options);
	REQUIRE(count >= 0);
	folder->used = 0;
	for (size_t i = 0; i < (size_t)count && i < most; i++)
		put_folded(folder, (uint32_t)folder->points[i]);
}

/* Moves past characters that are nothing. With `space` past white space, too. */
static void skip_nothing(struct folder *folder, bool space) {
	while (folder->at < folder->size) {
		uint32_t point;
		const size_t length =
		    decode_folded(folder->text + folder->at, folder->size - folder->at, &point);
		if (!is_nothing(point) && !(space && is_fold_space(point))) return;
		folder->at += length;
	}
}

/* Reads a character with its marks into the bytes, and folds them. */
static void read_marked(struct folder *folder, uint32_t base) {
	size_t characters = 1;
	put_folded(folder, plain_sign(base));
	for (;;) {
		uint32_t point;
		skip_nothing(folder, false);
		if (folder->at == folder->size) break;
		const size_t length =
		    decode_folded(folder->text + folder->at, folder->size - folder->at, &point);
		if (!is_joined(point)) break;
		if (characters++ < CLUSTER) put_folded(folder, point);
		folder->at += length;
	}
	// Case is folded when marks are in their order: folding makes a letter of U+0345.
	rewrite_bytes(folder, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, CLUSTER);
	rewrite_bytes(folder, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD,
	              sizeof folder->points / sizeof *folder->points);
}

/* Whether the cluster is one ASCII character, and nothing may belong to it. */
static bool is_simple(const struct folder *folder) {
	const unsigned char c = (unsigned char)folder->text[folder->at];
	return c > ' ' && c < 0x7f &&
	       (folder->at + 1 == folder->size ||
	        (unsigned char)folder->text[folder->at + 1] < 0x80);
}

/* Reads a cluster into the bytes. */
static void read_folded(struct folder *folder) {
	uint32_t point;
	folder->used = 0;
	if (is_simple(folder)) {
		const char c = folder->text[folder->at++];
		folder->bytes[folder->used++] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
		return;
	}
	const size_t length =
	    decode_folded(folder->text + folder->at, folder->size - folder->at, &point);
	folder->at += length;
	if (is_nothing(point)) skip_nothing(folder, false);
	else if (is_fold_space(point)) {
		skip_nothing(folder, true);
		folder->bytes[folder->used++] = ' ';
	} else read_marked(folder, point);
}

/* Whether text and bytes of a cluster are one character of one length, so that no point is needed.
 */
static bool goes_alike(const struct folder *folder, size_t start) {
	uint32_t ignored;
	const size_t length = folder->at - start;
	return folder->used == length &&
	       utf8_decode(folder->text + start, length, &ignored) == length &&
	       utf8_decode(folder->bytes, length, &ignored) == length;
}

/* ---- a text ---------------------------------------------------------------------------------- */

static bool fold_cluster(struct folder *folder) {
	struct folded *folded = folder->folded;
	const size_t start = folder->at;
	read_folded(folder);
	const bool alike = goes_alike(folder, start);
	const struct fold_point point = {folded->text.used, start, !alike};
	if (!(alike && folder->alike) && !arena_append(&folded->points, &point, sizeof point))
		return false;
	folder->alike = alike;
	return arena_append(&folded->text, folder->bytes, folder->used);
}

bool fold_text(struct folded *folded, const char *text, size_t size) {
	struct folder folder = {.folded = folded, .text = text, .size = size};
	bool good = true;
	folded->text.used = folded->points.used = 0;
	folded->size = size;
	while (good && folder.at < size) good = fold_cluster(&folder);
	sodium_memzero(&folder, sizeof folder);
	return good;
}

void fold_free(struct folded *folded) {
	arena_free(&folded->text);
	arena_free(&folded->points);
	folded->size = 0;
}

/* The last point at or before the folded byte. */
static const struct fold_point *point_before(const struct folded *folded, size_t at) {
	const struct fold_point *points = (const void *)folded->points.bytes;
	size_t low = 0, high = folded->points.used / sizeof *points;
	REQUIRE(at < folded->text.used);
	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;
		if (points[middle].folded <= at) low = middle;
		else high = middle;
	}
	return &points[low];
}

void fold_place(const struct folded *folded, size_t start, size_t end, size_t *from, size_t *to) {
	REQUIRE(start < end);
	const struct fold_point *first = point_before(folded, start),
	                        *last = point_before(folded, end - 1),
	                        *behind =
	                            (const void *)(folded->points.bytes + folded->points.used);
	*from = first->original + (first->whole ? 0 : start - first->folded);
	if (!last->whole) *to = last->original + (end - last->folded);
	else *to = last + 1 < behind ? last[1].original : folded->size;
}

void fold_trim(const char **text, size_t *size) {
	size_t first = *size, behind = *size;
	for (size_t at = 0, length; at < *size; at += length) {
		uint32_t point;
		length = decode_folded(*text + at, *size - at, &point);
		if (is_nothing(point) || is_fold_space(point)) continue;
		if (first == *size) first = at;
		behind = at + length;
	}
	*text += first;
	*size = behind - first;
}
