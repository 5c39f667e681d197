// SPDX-License-Identifier: Apache-2.0
// Fuzzes io/text/fold.c and io/text/terms.c: the first byte of the input says where the text is
// cut, the bytes before that are a term, all of it is the text. It fails on a crash, or if what was
// folded is not UTF-8, or does not fold to itself. It fails if a place is not on the boundaries of
// characters, or lies before another that it follows. It fails if what is found does not fold to
// the term.
#include "base/misuse.h"
#include "base/utf8.h"
#include "io/text/terms.h"
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>

static bool is_boundary(const char *text, size_t size, size_t at) {
	return at == size || (at < size && ((unsigned char)text[at] & 0xc0) != 0x80);
}

static bool are_equal(const struct arena *one, const struct arena *other) {
	return one->used == other->used &&
	       (!one->used || !memcmp(one->bytes, other->bytes, one->used));
}

/* Checks the places of a text's folded characters. */
static void check_places(const struct folded *folded, const char *text, size_t size) {
	const bool valid = utf8_valid(text, size);
	size_t before = 0;
	for (size_t at = 0, length; at < folded->text.used; at += length) {
		uint32_t ignored;
		size_t from, to;
		length = utf8_decode(folded->text.bytes + at, folded->text.used - at, &ignored);
		REQUIRE(length);
		fold_place(folded, at, at + length, &from, &to);
		REQUIRE(before <= from && from < to && to <= size);
		REQUIRE(!valid || (is_boundary(text, size, from) && is_boundary(text, size, to)));
		before = from;
	}
}

/* What was found, and the text that it was found in. */
struct found_term {
	const char *text;
	size_t size;
	const struct arena *term; /* folded */
};

static void check_found(void *user, size_t start, size_t end, size_t name) {
	const struct found_term *found = user;
	struct folded folded = {.size = 0};
	REQUIRE(name == 7 && start < end && end <= found->size);
	REQUIRE(fold_text(&folded, found->text + start, end - start));
	REQUIRE(folded.text.used >= found->term->used);
	REQUIRE(memmem(folded.text.bytes, folded.text.used, found->term->bytes, found->term->used));
	fold_free(&folded);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	static struct folded folded, again, term;
	if (!size) return 0;
	const size_t wanted = *bytes++;
	size--;
	const char *text = (const char *)bytes, *part = text;
	size_t length = wanted < size ? wanted : size;
	REQUIRE(fold_text(&folded, text, size));
	if (folded.text.used) {
		REQUIRE(utf8_valid(folded.text.bytes, folded.text.used));
		REQUIRE(fold_text(&again, folded.text.bytes, folded.text.used));
		REQUIRE(are_equal(&folded.text, &again.text));
	}
	check_places(&folded, text, size);
	fold_trim(&part, &length);
	REQUIRE(fold_text(&term, part, length));
	struct terms *terms = terms_make();
	REQUIRE(terms && terms_add(terms, part, length, 1, 7) && terms_seal(terms));
	struct found_term found = {text, size, &term.text};
	terms_scan(terms, &folded, check_found, &found);
	terms_free(terms);
	return 0;
}

#define MARKS8 "\xCC\x81\xCC\xA3\xCC\x88\xCC\xB8\xCC\x81\xCC\xA3\xCC\x88\xCC\xB8"

uint8_t *fuzz_seed(size_t index, size_t *size) {
	static const struct fuzz_literal seeds[] = {
	    FUZZ_LITERAL("\x08"
	                 "Anna Roe, ANNA\r\n  roe; Anna\xC2\xA0Roe, Anna\xE2\x80\xAFRoe"),
	    FUZZ_LITERAL("\x0B\xEF\xBB\xBF"
	                 "O'Brien-X o\xE2\x80\x99"
	                 "brien\xE2\x80\x91x O'BRIEN\xE2\x88\x92X"),
	    FUZZ_LITERAL("\x06"
	                 "e\xCC\x81t\xC3\xA9 STRA\xC3\x9F"
	                 "E \xC4\xB0 \xEF\xAC\x83 so\xC2\xADng \xCD\x85\xCC\x81 \xE1\xBE\xB4"),
	    FUZZ_LITERAL("\x03\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB \xED\x95\x9C "
	                 "\xE4\xB8\xAD\xE6\x96\x87 \xE0\xA4\xB9\xE0\xA4\xBF"),
	    FUZZ_LITERAL("\x09"
	                 "a" MARKS8 MARKS8 MARKS8 MARKS8 MARKS8 " \xEF\xB7\xBA \xEF\xAC\xAC\n\t x"),
	    FUZZ_LITERAL("\x01\xFF"
	                 "ab\xC3 \xF0\x9F\x90\x99 c\xED\xA0\x80 d\0e \xC3\xC2\xAD\xA9 9\xCD\x85"),
	};
	return fuzz_copy(seeds, sizeof seeds / sizeof *seeds, index, size);
}
