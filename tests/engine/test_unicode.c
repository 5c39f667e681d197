// SPDX-License-Identifier: Apache-2.0
// Tests engine/text/unicode.c and base/utf8.c. It fails if the class or case of any code
// point differs from utf8proc's. It fails if UTF-8, tried exhaustively, is read or written wrongly.
// The test links utf8proc; the engine does not.
#include "engine/text/unicode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>
#include <utf8proc.h>

static void test_classes(void **state) {
	(void)state;
	for (uint32_t code_point = 0; code_point <= 0x10ffff; code_point++) {
		const char *category = utf8proc_category_string((int32_t)code_point);
		enum unicode_class expected = UNICODE_OTHER;
		if (category[0] == 'L') expected = UNICODE_LETTER;
		if (category[0] == 'N') expected = UNICODE_NUMBER;
		if (category[0] == 'P') expected = UNICODE_PUNCTUATION;
		if (category[0] == 'Z' || (code_point >= 9 && code_point <= 13) ||
		    code_point == 0x85)
			expected = UNICODE_SPACE;
		// A newer utf8proc has letters that Unicode 15.0 does not.
		if (strcmp(utf8proc_unicode_version(), "15.0.0") > 0 &&
		    unicode_class(code_point) == UNICODE_OTHER)
			continue;
		if (unicode_class(code_point) != expected)
			fail_msg("U+%04X: %d, utf8proc says %s", code_point,
			         unicode_class(code_point), category);
	}
	assert_int_equal(unicode_class(0x110000), UNICODE_OTHER);
	assert_int_equal(unicode_class(UINT32_MAX), UNICODE_OTHER);
}

static void test_cases(void **state) {
	(void)state;
	for (uint32_t code_point = 0; code_point <= 0x10ffff; code_point++) {
		const char *category = utf8proc_category_string((int32_t)code_point);
		enum unicode_case expected = UNICODE_NO_CASE;
		if (!strcmp(category, "Lu") || !strcmp(category, "Lt")) expected = UNICODE_UPPER;
		if (!strcmp(category, "Ll")) expected = UNICODE_LOWER;
		if (!strcmp(category, "Lm") || !strcmp(category, "Lo") || category[0] == 'M')
			expected = UNICODE_BOTH;
		if (strcmp(utf8proc_unicode_version(), "15.0.0") > 0 &&
		    unicode_case(code_point) == UNICODE_NO_CASE)
			continue;
		if (unicode_case(code_point) != expected)
			fail_msg("U+%04X: %d, utf8proc says %s", code_point,
			         unicode_case(code_point), category);
	}
	assert_int_equal(unicode_case(0x110000), UNICODE_NO_CASE);
}

static void test_spaces_by_hand(void **state) {
	(void)state;
	static const uint32_t spaces[] = {0x9,    0xa,    0xb,    0xc,    0xd,    0x20,   0x85,
	                                  0xa0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
	                                  0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028,
	                                  0x2029, 0x202f, 0x205f, 0x3000};
	size_t found = 0;
	for (uint32_t code_point = 0; code_point <= 0x10ffff; code_point++)
		if (unicode_class(code_point) == UNICODE_SPACE)
			assert_int_equal(code_point, spaces[found++]);
	assert_int_equal(found, sizeof spaces / sizeof *spaces);
	assert_int_equal(unicode_class(0x200b), UNICODE_OTHER); // zero width space is no space
	assert_int_equal(unicode_class(0x1c), UNICODE_OTHER);
}

static void test_every_code_point_survives(void **state) {
	(void)state;
	for (uint32_t code_point = 0; code_point <= 0x10ffff; code_point++) {
		if (code_point >= 0xd800 && code_point <= 0xdfff) continue;
		char text[4];
		utf8proc_uint8_t reference[4];
		uint32_t decoded;
		size_t length = utf8_write(code_point, text);
		if (length != (size_t)utf8proc_encode_char((int32_t)code_point, reference) ||
		    memcmp(text, reference, length) ||
		    utf8_decode(text, length, &decoded) != length || decoded != code_point)
			fail_msg("U+%04X", code_point);
		for (size_t cut = 1; cut < length; cut++) assert_false(utf8_valid(text, cut));
	}
}

/* Compares the decoder with utf8proc's. The first two bytes take all values. */
static void test_strictness(void **state) {
	(void)state;
	for (uint32_t bytes = 0; bytes < 1u << 24; bytes++) {
		// All continuation bytes (80 to BF) are alike as third and fourth byte, and so are
		// all others. Three values stand for them.
		if ((bytes & 0xff) != 0x41 && (bytes & 0xff) != 0x80 && (bytes & 0xff) != 0xbf)
			continue;
		for (int last = 0; last < 3; last++) {
			static const unsigned char lasts[] = {0x41, 0x80, 0xc0};
			const unsigned char text[4] = {(unsigned char)(bytes >> 16),
			                               (unsigned char)(bytes >> 8),
			                               (unsigned char)bytes, lasts[last]};
			uint32_t decoded;
			utf8proc_int32_t reference;
			utf8proc_ssize_t expected = utf8proc_iterate(text, 4, &reference);
			size_t length = utf8_decode((const char *)text, 4, &decoded);
			if (length != (expected < 0 ? 0 : (size_t)expected) ||
			    decoded != (expected < 0 ? UNICODE_REPLACEMENT : (uint32_t)reference))
				fail_msg("bytes %02x %02x %02x %02x: %zu %d", text[0], text[1],
				         text[2], text[3], length, (int)expected);
		}
	}
}

static void test_valid(void **state) {
	(void)state;
	assert_true(utf8_valid("", 0));
	assert_true(utf8_valid("a\0b", 3));
	assert_true(utf8_valid("\xf0\x9f\xa6\x99 \xc3\xa9", 7));
	assert_false(utf8_valid("\xc0\x80", 2));
	assert_false(utf8_valid("\xed\xa0\x80", 3));
	assert_false(utf8_valid("ab\xff", 3));
	assert_false(utf8_valid("\xf4\x90\x80\x80", 4));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_classes),        cmocka_unit_test(test_cases),
	    cmocka_unit_test(test_spaces_by_hand), cmocka_unit_test(test_every_code_point_survives),
	    cmocka_unit_test(test_strictness),     cmocka_unit_test(test_valid),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
