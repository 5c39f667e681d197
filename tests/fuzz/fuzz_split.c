// SPDX-License-Identifier: Apache-2.0
// Fuzzes io/text/split.c: the first byte of the input says where the text is cut in two, the rest
// is the text. It fails on a crash, or if an item is empty, too long or not UTF-8. It fails if a
// word has white space or a capital letter A-Z, or if a number does not end with a digit. It fails
// if asking for punctuation changes the words, or if a newline between two halves joins their
// words. It also fails if something of the text is left in memory.
#include "base/misuse.h"
#include "base/utf8.h"
#include "io/text/split.h"
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>

enum { MOST = 1 << 16 }; /* bytes that the items of one text take in `items` */

/* The words and numbers of a text: for each its kind, its length and its bytes. */
struct items {
	size_t size;
	unsigned char bytes[MOST];
};

static void check_item(enum split_kind kind, const char *bytes, size_t length) {
	REQUIRE(length && length <= SPLIT_BYTES && utf8_valid(bytes, length));
	if (kind == SPLIT_SHAPE) return;
	for (size_t i = 0; i < length; i++)
		REQUIRE((unsigned char)bytes[i] > ' ' && !(bytes[i] >= 'A' && bytes[i] <= 'Z'));
	// Only a number that was cut may end with one of these.
	if (kind == SPLIT_NUMBER)
		REQUIRE(length > SPLIT_BYTES - 4 || !strchr(".,:/-", bytes[length - 1]));
}

/* Adds the words and numbers of a text to *items. */
static void add_items(struct items *items, const char *text, size_t size, bool shape) {
	static const struct split empty;
	struct split split;
	const char *bytes;
	size_t length;
	enum split_kind kind;
	memset(&split, 0xA5, sizeof split);
	split_begin(&split, text, size, shape);
	while ((kind = split_next(&split, &bytes, &length)) != SPLIT_END) {
		REQUIRE(kind != SPLIT_SHAPE || shape);
		check_item(kind, bytes, length);
		if (kind == SPLIT_SHAPE || items->size + 2 + length > MOST) continue;
		items->bytes[items->size++] = (unsigned char)kind;
		items->bytes[items->size++] = (unsigned char)length;
		memcpy(items->bytes + items->size, bytes, length);
		items->size += length;
	}
	REQUIRE(split_next(&split, &bytes, &length) == SPLIT_END);
	split_end(&split);
	REQUIRE(!memcmp(split.points, empty.points, sizeof split.points) &&
	        !memcmp(split.ahead, empty.ahead, sizeof split.ahead) &&
	        !memcmp(split.bytes, empty.bytes, sizeof split.bytes));
}

static bool are_alike(const struct items *a, const struct items *b) {
	return a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	static struct items plain, other;
	if (!size) return 0;
	const size_t wanted = *bytes++;
	size--;
	// Behind a newline stands an ASCII character: a mark would belong to the newline.
	size_t cut = wanted < size ? wanted : size;
	while (cut < size && bytes[cut] >= 0x80) cut++;
	char *text = malloc(size + 1);
	REQUIRE(text);
	memcpy(text, bytes, size);
	plain.size = other.size = 0;
	add_items(&plain, text, size, false);
	add_items(&other, text, size, true);
	REQUIRE(are_alike(&plain, &other));
	plain.size = other.size = 0;
	add_items(&plain, text, cut, false);
	add_items(&plain, text + cut, size - cut, false);
	memmove(text + cut + 1, text + cut, size - cut);
	text[cut] = '\n';
	add_items(&other, text, size + 1, false);
	REQUIRE(are_alike(&plain, &other));
	free(text);
	return 0;
}

#define MARKS8 "\xCC\x81\xCC\xA3\xCC\x88\xCC\xB8\xCC\x81\xCC\xA3\xCC\x88\xCC\xB8"

uint8_t *fuzz_seed(size_t index, size_t *size) {
	static const struct fuzz_literal seeds[] = {
	    FUZZ_LITERAL("\x05"
	                 "Ann's 3.5 mg! 12:30, 1/2-3. rock''n'roll -7- a1b2"),
	    FUZZ_LITERAL("\x02"
	                 "e\xCC\x81t\xC3\xA9 STRA\xC3\x9F"
	                 "E \xC4\xB0 \xEF\xAC\x83 so\xC2\xADng zw\xE2\x80\x8Dj \xE2\x80\x99tis"),
	    FUZZ_LITERAL("\x03\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB \xED\x95\x9C "
	                 "\xE4\xB8\xAD\xE6\x96\x87 \xE0\xA4\xB9\xE0\xA4\xBF \xD9\xA3\xD9\xA4"),
	    FUZZ_LITERAL("\x09"
	                 "a" MARKS8 MARKS8 MARKS8 MARKS8 MARKS8 " \xEF\xB7\xBA \xE1\xBE\x87\n\t x"),
	    FUZZ_LITERAL("\x00\xFF"
	                 "ab\xC3 \xF0\x9F\x90\x99 c\xED\xA0\x80 d\0e \xF4\x90\x80\x80 9\xCD\x85"),
	    FUZZ_LITERAL(
	        "\x40"
	        "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvw"
	        "xyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\xC3\xA9\xC3\xA9 b"),
	};
	return fuzz_copy(seeds, sizeof seeds / sizeof *seeds, index, size);
}
