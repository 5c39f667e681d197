// SPDX-License-Identifier: Apache-2.0
// Tests base/phrases.c and base/words.c. It fails if phrases are found elsewhere than by comparing
// each phrase with each place of the text, or if a word's boundary is not where it should be.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/phrases.h"
#include "base/words.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void pieces(void **state) {
	(void)state;
	static const char *const texts[] = {
	    "Anna|'|s| |7_x|.",
	    "\u00c9va|\u2019|s|\u00a0|\u0416\u0443\u043a|\u2013|\u0391\u03bd",
	    "\u738b|\u5c0f|,|\u0e01|\uac00",
	    "\xff|a|\xc3|(|\xf0|\x9f",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char text[64];
		size_t size = 0, at = 0;
		for (const char *c = texts[i]; *c; c++)
			if (*c != '|') text[size++] = *c;
		for (const char *c = texts[i]; *c;) {
			const size_t length = strcspn(c, "|");
			assert_int_equal(words_piece(text + at, size - at), length);
			at += length;
			c += length + (c[length] == '|');
		}
		assert_int_equal(at, size);
	}
	assert_int_equal(words_letter_size("", 0), 0);
	assert_int_equal(words_letter_size("\u00c9", 2), 2);
	assert_int_equal(words_letter_size("\u00d7", 2), 0);
}

enum { TEXT = 60, PHRASES = 8, LONGEST = 6 };

struct case_of_phrases {
	char text[TEXT];
	char phrases[PHRASES][LONGEST];
	size_t sizes[PHRASES];
	size_t start[TEXT + 1],
	    name[TEXT + 1]; /* what was found, by its end; start TEXT = nothing */
};

static void note_phrase(void *user, size_t start, size_t end, size_t name) {
	struct case_of_phrases *one = user;
	assert_int_equal(one->start[end], TEXT);
	one->start[end] = start;
	one->name[end] = name;
}

/* Whether a piece of the text begins at the place. */
static bool begins_piece(const char *text, size_t at) {
	size_t piece = 0;
	while (piece < at) piece += words_piece(text + piece, TEXT - piece);
	return piece == at;
}

static void check_case(struct case_of_phrases *one) {
	for (size_t end = 1; end <= TEXT; end++) {
		size_t start = TEXT, name = 0;
		for (size_t i = PHRASES; i-- > 0;) {
			const size_t size = one->sizes[i];
			if (!size || size > end ||
			    memcmp(one->text + end - size, one->phrases[i], size) ||
			    !begins_piece(one->text, end - size) || !begins_piece(one->text, end))
				continue;
			if (end - size > start) continue;
			start = end - size;
			name = i;
		}
		assert_int_equal(one->start[end], start);
		if (start != TEXT) assert_int_equal(one->name[end], name);
	}
}

static void against_comparing(void **state) {
	(void)state;
	uint64_t random = 7;
	for (size_t turn = 0; turn < repetitions(3000, 100000); turn++) {
		struct case_of_phrases one;
		struct phrases *phrases = phrases_make();
		const size_t letters = 2 + tiny_random(&random) % 3;
		for (size_t i = 0; i < TEXT; i++)
			one.text[i] = "a b."[tiny_random(&random) % letters];
		for (size_t i = 0; i <= TEXT; i++) one.start[i] = TEXT;
		for (size_t i = 0; i < PHRASES; i++) {
			one.sizes[i] = tiny_random(&random) % (LONGEST + 1);
			for (size_t j = 0; j < one.sizes[i]; j++)
				one.phrases[i][j] = "a b."[tiny_random(&random) % letters];
			assert_true(phrases_add(phrases, one.phrases[i], one.sizes[i], i));
		}
		assert_true(phrases_seal(phrases));
		phrases_scan(phrases, one.text, TEXT, note_phrase, &one);
		check_case(&one);
		phrases_free(phrases);
	}
}

static void count_found(void *user, size_t start, size_t end, size_t name) {
	size_t *count = user;
	assert_true(start < end && name < 100000);
	++*count;
}

/* As many phrases as make the tables grow, and one text with all of them. */
static void many_phrases(void **state) {
	(void)state;
	const size_t count = briefly() ? 3000 : 100000;
	char *text = malloc(16 * count);
	size_t used = 0, found = 0;
	struct phrases *phrases = phrases_make();
	assert_true(text && phrases);
	for (size_t i = 0; i < count; i++) {
		const size_t length = (size_t)sprintf(text + used, "p%zu q%zu", i / 3, i);
		assert_true(phrases_add(phrases, text + used, length, i));
		used += length;
		text[used++] = '\n';
	}
	assert_true(phrases_seal(phrases));
	phrases_scan(phrases, text, used, count_found, &found);
	assert_int_equal(found, count);
	phrases_free(phrases);
	free(text);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(pieces),
	    cmocka_unit_test(against_comparing),
	    cmocka_unit_test(many_phrases),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
