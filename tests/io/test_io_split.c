// SPDX-License-Identifier: Apache-2.0
// Tests io/text/split.c. It fails if a text is cut otherwise than tests/oracle/split.py cuts it, if
// the form in which Unicode wrote it decides, if hostile bytes take memory or give a word that is
// no UTF-8, or if something of a text is left in memory.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/utf8.h"
#include "io/text/split.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes kind and bytes in hex, as the oracle does. Runs of s are joined. */
static void show_items(const char *text, size_t size, bool shape, char *shown, size_t room) {
	static const char letters[] = "-wns";
	struct split split;
	const char *bytes;
	size_t length, used = 0;
	enum split_kind kind, last = SPLIT_END;
	*shown = 0;
	split_begin(&split, text, size, shape);
	while ((kind = split_next(&split, &bytes, &length)) != SPLIT_END) {
		assert_true(length > 0 && length <= SPLIT_BYTES && utf8_valid(bytes, length));
		if (kind != SPLIT_SHAPE || last != SPLIT_SHAPE)
			used += (size_t)snprintf(shown + used, room - used, "%s%c", used ? " " : "",
			                         letters[kind]);
		for (size_t i = 0; i < length; i++)
			used += (size_t)snprintf(shown + used, room - used, "%02x",
			                         (unsigned char)bytes[i]);
		assert_true(used < room);
		last = kind;
	}
	split_end(&split);
}

static size_t read_hex(const char *hex, char *bytes) {
	size_t size = 0;
	unsigned value;
	for (; hex[0] && hex[0] != '-' && sscanf(hex, "%2x", &value) == 1; hex += 2)
		bytes[size++] = (char)value;
	return size;
}

static void every_golden_text_is_cut_as_the_oracle_cuts_it(void **state) {
	(void)state;
	FILE *file = fopen("tests/golden/split.txt", "r");
	assert_non_null(file);
	char line[8192], text[2048], shown[8192];
	size_t lines = 0;
	while (fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = 0;
		char *wanted = strchr(line, ' ');
		if (wanted) *wanted++ = 0;
		const size_t size = read_hex(line, text);
		show_items(text, size, true, shown, sizeof shown);
		assert_string_equal(shown, wanted ? wanted : "");
		lines++;
	}
	(void)fclose(file);
	assert_true(lines > 300);
}

static void expect_words(const char *text, const char *wanted) {
	struct split split;
	const char *bytes;
	char shown[512] = "";
	size_t length, used = 0;
	enum split_kind kind;
	split_begin(&split, text, strlen(text), false);
	while ((kind = split_next(&split, &bytes, &length)) != SPLIT_END)
		used +=
		    (size_t)snprintf(shown + used, sizeof shown - used, "%s%s%.*s", used ? "|" : "",
		                     kind == SPLIT_NUMBER ? "#" : "", (int)length, bytes);
	split_end(&split);
	assert_string_equal(shown, wanted);
}

static void words_and_numbers_are_what_the_header_says(void **state) {
	(void)state;
	expect_words("Ann's 3.5 mg!", "ann's|#3.5|mg");
	expect_words("DON\xe2\x80\x99T 'quoted' rock 'n' roll'", "don't|quoted|rock|n|roll");
	expect_words("On 12/5/2020, at 12:30-13:00.", "on|#12/5/2020|at|#12:30-13:00");
	expect_words("B12 3rd", "b|#12|#3|rd");
	expect_words("co\xc2\xadop \xe2\x9d\xa4\xef\xb8\x8f", "coop");
	expect_words("", "");
	expect_words(" \n\t .,;", "");
	// The same word in two forms of Unicode: composed, and a letter with a mark.
	expect_words("CAF\xc3\x89 cafe\xcc\x81", "caf\xc3\xa9|caf\xc3\xa9");
}

static void a_byte_that_is_not_utf8_ends_a_word(void **state) {
	(void)state;
	expect_words("ab\xff"
	             "cd\xe2\x80",
	             "ab|cd");
	expect_words("e\xff\xcc\x81x", "e|x");
}

static void a_long_word_is_cut_to_whole_characters(void **state) {
	(void)state;
	char text[1000], wanted[SPLIT_BYTES + 8];
	for (size_t i = 0; i < 900; i++) text[i] = 'a';
	memcpy(text + SPLIT_BYTES - 1, "\xc3\xa9", 2);
	strcpy(text + 900, " b");
	memset(wanted, 'a', SPLIT_BYTES - 1);
	strcpy(wanted + SPLIT_BYTES - 1, "|b");
	expect_words(text, wanted);
}

/* Any bytes at all, and marks by the thousand on one letter. */
static void hostile_bytes_are_cut_too(void **state) {
	(void)state;
	char text[4096], *shown = malloc(1 << 16);
	assert_non_null(shown);
	uint64_t random = 7;
	for (int round = 0; round < 300; round++) {
		size_t size = 0;
		while (size < sizeof text) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			const uint32_t point = (uint32_t)(random >> 33) % 0x11000;
			if (round % 3 == 0) text[size++] = (char)(random >> 40);
			else if (size + 4 <= sizeof text && (point < 0xD800 || point > 0xDFFF))
				size += utf8_write(round % 3 == 1 ? point : 0x300 + point % 0x50,
				                   text + size);
			else break;
		}
		show_items(text, size, round % 2, shown, 1 << 16);
	}
	free(shown);
}

static void nothing_is_left_behind(void **state) {
	(void)state;
	struct split split;
	const char *bytes;
	size_t length;
	split_begin(&split, "sesame 12", 9, true);
	while (split_next(&split, &bytes, &length) != SPLIT_END) continue;
	split_end(&split);
	for (size_t i = 0; i < sizeof split; i++)
		assert_int_equal(((const unsigned char *)&split)[i], 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_golden_text_is_cut_as_the_oracle_cuts_it),
	    cmocka_unit_test(words_and_numbers_are_what_the_header_says),
	    cmocka_unit_test(a_byte_that_is_not_utf8_ends_a_word),
	    cmocka_unit_test(a_long_word_is_cut_to_whole_characters),
	    cmocka_unit_test(hostile_bytes_are_cut_too),
	    cmocka_unit_test(nothing_is_left_behind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
