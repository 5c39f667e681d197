// SPDX-License-Identifier: Apache-2.0
// Tests io/text/fold.c and io/text/terms.c. It fails if two texts that people take for the same
// words fold to other bytes, or what was folded does not fold to itself. It fails if forms C and D
// of a text fold unlike. It fails if a place is not on the boundaries of characters of the text, or
// is not where the bytes come from, or if a list of words is read by other rules.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/utf8.h"
#include "io/text/terms.h"
#include "io/text/word_list.h"
#include "tests/support/files.h"
#include "tests/support/foldings.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utf8proc.h>

static struct folded folded, again;

static void expect_fold(const char *text, const char *wanted) {
	assert_true(fold_text(&folded, text, strlen(text)));
	assert_true(arena_append(&folded.text, "", 1));
	assert_string_equal(folded.text.bytes, wanted);
}

static void rules(void **state) {
	(void)state;
	expect_fold("", "");
	expect_fold("Anna\r\n  ROE", "anna roe");
	expect_fold(" \t\v\f\n\xc2\x85\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000x ", " x ");
	expect_fold("\uFEFF\uFEFFa\uFEFFb\u00ad\u200c\u200dc \uFEFF d", "abc d");
	expect_fold("\u2019\u2018 \u2010\u2011\u2012\u2013\u2014\u2212-", "'\u2018 ----\u2014--");
	expect_fold("e\u200d\u0301", "\u00e9");
	// An ypogegrammeni is a letter when case is folded, wherever it stands among the marks.
	expect_fold("\u03b1\u0345\u0301", "\u03ac\u03b9");
	expect_fold("\u1fb4", "\u03ac\u03b9");
	expect_fold("a\xff\xc3 \xa9", "a\ufffd\ufffd \ufffd");
	expect_fold("7 mg/dl, (X)_", "7 mg/dl, (x)_");
	for (size_t i = 0; i < FOLDING_COUNT; i++) {
		char text[2][64];
		for (int j = 0; j < 2; j++) {
			const char *at = FOLDINGS[i][j];
			size_t size = strlen(at);
			fold_trim(&at, &size);
			assert_true(fold_text(&folded, at, size));
			(void)snprintf(text[j], 64, "%.*s", (int)folded.text.used,
			               folded.text.bytes);
		}
		assert_string_equal(text[0], text[1]);
	}
}

static void ends(void **state) {
	(void)state;
	static const char *const texts[][2] = {
	    {" \uFEFFAnna \n", "Anna"}, {"\u00a0", ""},  {"", ""}, {"a b", "a b"},
	    {"\u202fx", "x"},           {"x\u3000", "x"}};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const char *text = texts[i][0];
		size_t size = strlen(text);
		fold_trim(&text, &size);
		assert_int_equal(size, strlen(texts[i][1]));
		assert_memory_equal(text, texts[i][1], size);
	}
}

/* ---- properties ------------------------------------------------------------------------------ */

/* Whether a character begins at this byte, or the text ends. */
static bool is_boundary(const char *text, size_t size, size_t at) {
	return at == size || (at < size && ((unsigned char)text[at] & 0xc0) != 0x80);
}

/* Each folded character comes from whole characters, in order, and what comes from a place folds to
 * at least it. */
static void check_places(const char *text, size_t size) {
	size_t before = 0, from, to;
	for (size_t at = 0, length; at < folded.text.used; at += length) {
		uint32_t ignored;
		length = utf8_decode(folded.text.bytes + at, folded.text.used - at, &ignored);
		assert_int_not_equal(length, 0);
		fold_place(&folded, at, at + length, &from, &to);
		assert_true(from < to && to <= size && from >= before);
		assert_true(is_boundary(text, size, from) && is_boundary(text, size, to));
		before = from;
		assert_true(fold_text(&again, text + from, to - from));
		assert_non_null(
		    memmem(again.text.bytes, again.text.used, folded.text.bytes + at, length));
	}
	if (folded.text.used) {
		fold_place(&folded, 0, folded.text.used, &from, &to);
		assert_true(is_boundary(text, size, from) && is_boundary(text, size, to));
	}
}

/* Folds text[size], which is UTF-8, and checks all that holds of any text. */
static void check_text(const char *text, size_t size) {
	assert_true(fold_text(&folded, text, size));
	const struct arena *bytes = &folded.text;
	assert_true(!bytes->used || utf8_valid(bytes->bytes, bytes->used));
	assert_true(fold_text(&again, bytes->bytes, bytes->used));
	assert_int_equal(again.text.used, bytes->used);
	if (bytes->used) assert_memory_equal(again.text.bytes, bytes->bytes, bytes->used);
	check_places(text, size);
	const utf8proc_option_t forms[] = {UTF8PROC_COMPOSE, UTF8PROC_DECOMPOSE};
	for (int i = 0; i < 2; i++) {
		utf8proc_uint8_t *other = NULL;
		const utf8proc_ssize_t length =
		    utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)size, &other,
		                 UTF8PROC_STABLE | forms[i]);
		assert_true(length >= 0);
		assert_true(fold_text(&again, (const char *)other, (size_t)length));
		assert_int_equal(again.text.used, bytes->used);
		if (bytes->used) assert_memory_equal(again.text.bytes, bytes->bytes, bytes->used);
		free(other);
	}
}

/* Each character there is, alone and behind another. */
static void all_characters(void **state) {
	(void)state;
	for (uint32_t point = 1; point <= (briefly() ? 0x2ffff : 0x10ffff); point++) {
		char text[16] = "xA";
		if (point >= 0xd800 && point < 0xe000) continue;
		size_t size = utf8_write(point, text + 2);
		check_text(text + 2, size);
		(void)strcpy(text + 2 + size, "b");
		check_text(text + 1, size + 2);
		// As case says it: utf8proc's own folding of one character.
		if (point < 0x80 || utf8proc_tolower((int32_t)point) == (int32_t)point) continue;
		char lower[8];
		const size_t length = utf8_write((uint32_t)utf8proc_tolower((int32_t)point), lower);
		assert_true(fold_text(&folded, text + 2, size));
		assert_true(fold_text(&again, lower, length));
		if (point == 0x130 || (point >= 0x13a0 && point <= 0x13f5)) continue;
		assert_int_equal(folded.text.used, again.text.used);
		assert_memory_equal(folded.text.bytes, again.text.bytes, again.text.used);
	}
}

/* Strings of what is hard to fold. */
static void random_texts(void **state) {
	(void)state;
	static const uint32_t hard[] = {
	    'a',     'S',    'i',    ' ',    '\n',   '-',    0xa0,   0xad,    0xdf,    0xe9,
	    0x130,   0x149,  0x1f0,  0x300,  0x301,  0x307,  0x308,  0x316,   0x323,   0x327,
	    0x345,   0x34f,  0x390,  0x3a3,  0x3b1,  0x3c2,  0x5b4,  0x5e9,   0x915,   0x93c,
	    0x9c7,   0x9be,  0x1100, 0x1161, 0x11a8, 0xac00, 0x1fb4, 0x1fc3,  0x1ffc,  0x200d,
	    0x2011,  0x2019, 0x202f, 0x20d0, 0x2126, 0x212b, 0xfb2c, 0xfb03,  0xfeff,  0xff21,
	    0x1e9e,  0x13f8, 0xab70, 0x13a0, 0x10a0, 0x1c90, 0x2c00, 0x1d15e, 0x10400, 0x1f600,
	    0xe01f0, 0x344,  0xf73,  0x1ebf, 0x30ab, 0x3099};
	uint64_t random = 7;
	const size_t texts = getenv("CUTTLE_TEST_SHORT") ? 20000 : 200000;
	for (size_t i = 0; i < texts; i++) {
		char text[256];
		size_t size = 0;
		const size_t most = 1 + tiny_random(&random) % 12;
		for (size_t j = 0; j < most; j++)
			size += utf8_write(
			    hard[tiny_random(&random) % (sizeof hard / sizeof *hard)], text + size);
		check_text(text, size);
	}
}

/* More marks on a letter than count: nobody waits, and what was folded folds to itself. */
static void many_marks(void **state) {
	(void)state;
	const size_t count = 200000;
	char *text = malloc(2 * count + 1);
	text[0] = 'A';
	for (size_t i = 0; i < count; i++) memcpy(text + 1 + 2 * i, i % 2 ? "\u0301" : "\u0316", 2);
	assert_true(fold_text(&folded, text, 2 * count + 1));
	assert_true(folded.text.used < 80);
	assert_true(fold_text(&again, folded.text.bytes, folded.text.used));
	assert_int_equal(again.text.used, folded.text.used);
	size_t from, to;
	fold_place(&folded, 0, 1, &from, &to);
	assert_int_equal(from, 0);
	assert_int_equal(to, 2 * count + 1);
	free(text);
}

/* ---- terms ----------------------------------------------------------------------------------- */

static void note_place(void *user, size_t start, size_t end, size_t name) {
	size_t *places = user;
	places[0] = start;
	places[1] = end;
	places[2] = name;
	places[3]++;
}

static void terms_are_found(void **state) {
	(void)state;
	for (size_t i = 0; i < 2 * (size_t)FOLDING_COUNT; i++) {
		char text[128];
		size_t places[4] = {0};
		const char *listed = FOLDINGS[i / 2][i % 2], *written = FOLDINGS[i / 2][1 - i % 2];
		size_t size = strlen(written);
		fold_trim(&written, &size);
		struct terms *terms = terms_make();
		assert_true(terms_add(terms, listed, strlen(listed), 1, 7) &&
		            terms_add(terms, " \uFEFF\u00a0", 6, 1, 8) &&
		            terms_add(terms, "met", 3, 4, 9) && terms_seal(terms));
		assert_int_equal(terms_count(terms), 1);
		(void)snprintf(text, sizeof text, "\u00c9va\n met %.*s.", (int)size, written);
		assert_true(fold_text(&folded, text, strlen(text)));
		terms_scan(terms, &folded, note_place, places);
		assert_int_equal(places[3], 1);
		assert_int_equal(places[2], 7);
		assert_int_equal(places[0], 10);
		assert_int_equal(places[1], 10 + size);
		terms_free(terms);
	}
	struct terms *none = terms_make();
	assert_true(terms_seal(none));
	terms_scan(none, &folded, note_place, NULL);
	terms_free(none);
}

/* The words of a public list (io/text/word_list.h), which has a reader of its own. */
static void lists_of_words(void **state) {
	(void)state;
	static const char bytes[] =
	    "\uFEFFAnna\r\nJose\u0301\u00a0\r\nSTRA\u00dfE\n\u202fO\u2019Brien\njos\u00e9\n\n";
	static const char *const wanted[] = {"anna", "jos\u00e9", "o'brien", "strasse"};
	char path[] = "/tmp/cuttle-fold-XXXXXX", sha256[HASH_TEXT];
	struct word_list list;
	files_put_new(path, bytes, sizeof bytes - 1);
	assert_int_equal(word_list_read(path, &list, sha256, NULL), CUTTLE_OK);
	assert_int_equal(list.count, 4);
	for (size_t i = 0; i < 4; i++) assert_string_equal(list.words[i], wanted[i]);
	word_list_free(&list);
	assert_int_equal(unlink(path), 0);
}

static int free_folded(void **state) {
	(void)state;
	fold_free(&folded);
	fold_free(&again);
	return 0;
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rules),          cmocka_unit_test(ends),
	    cmocka_unit_test(all_characters), cmocka_unit_test(random_texts),
	    cmocka_unit_test(many_marks),     cmocka_unit_test(terms_are_found),
	    cmocka_unit_test(lists_of_words),
	};
	return cmocka_run_group_tests(tests, NULL, free_folded);
}
