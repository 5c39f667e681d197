// SPDX-License-Identifier: Apache-2.0
// Tests io/tables/vectors: the three formats, what is passed over, and what is refused with its
// number. It fails if a word or number is read differently from how it stands, if a wrong line is
// accepted or named with another number, or if more is read than was asked for.
#include "io/tables/vectors.h"
#include "tests/support/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char path[] = "/tmp/cuttle-vectors-XXXXXX";

static int make_file(void **state) {
	(void)state;
	files_put_new(path, "", 0);
	return 0;
}

static int remove_file(void **state) {
	(void)state;
	return unlink(path);
}

static enum cuttle_status read_file(const char *bytes, size_t size, enum vectors_format format,
                                    size_t most, struct vectors *vectors,
                                    struct cuttle_error *error) {
	files_put(path, bytes, size);
	const struct vectors_request request = {.path = path, .format = format, .most = most};
	return vectors_read(&request, vectors, error);
}

/* The words and numbers that every good file below has. */
static void check_good(const char *bytes, size_t size, enum vectors_format format,
                       size_t not_words) {
	static const float rows[] = {1, -0.5f, 0.25f, 3e-2f, -7, 0};
	struct vectors v;
	struct cuttle_error error = {""};
	if (read_file(bytes, size, format, 100, &v, &error)) fail_msg("%s", error.message);
	assert_int_equal(v.count, 3);
	assert_int_equal(v.width, 2);
	assert_string_equal(v.words[0], "the");
	assert_string_equal(v.words[1], "don't");
	assert_string_equal(v.words[2], "caf\xc3\xa9");
	assert_memory_equal(v.rows, rows, sizeof rows);
	assert_int_equal(v.not_words, not_words);
	vectors_free(&v);
	assert_null(v.words);
}
#define GOOD(bytes, format, not_words) check_good(bytes, sizeof(bytes) - 1, format, not_words)

#define THE "\0\0\x80\x3f\0\0\0\xbf"
#define DONT "\0\0\x80\x3e\x8f\xc2\xf5\x3c"
#define CAFE "\0\0\xe0\xc0\0\0\0\0"

static void test_good(void **state) {
	(void)state;
	GOOD("the 1 -.5\ndon't 0.25 3e-2\ncaf\xc3\xa9 -7 0\n", VECTORS_GLOVE, 0);
	GOOD("the 1 -.5\r\ndon't\t0.25\t3e-2\r\ncaf\xc3\xa9 -7.0E0  0 ", VECTORS_GLOVE, 0);
	// Words with blanks, numbers and signs are no words of ours; the line is a right one.
	GOOD("the 1 -.5\n. . 9 9\n3 4 5\ndon't 0.25 3e-2\nThe 1 1\nat a@b.c 0 0\n"
	     "caf\xc3\xa9 -7 0\n",
	     VECTORS_GLOVE, 4);
	GOOD("3 2\nthe 1 -.5\ndon't 0.25 3e-2\ncaf\xc3\xa9 -7 0\n", VECTORS_WORD2VEC, 0);
	GOOD("3 2 \r\nthe 1 -.5 \ndon't 0.25 3e-2 \ncaf\xc3\xa9 -7 0 \n", VECTORS_WORD2VEC, 0);
	GOOD("3 2\nthe " THE "\ndon't " DONT "\ncaf\xc3\xa9 " CAFE "\n", VECTORS_WORD2VEC_BIN, 0);
	GOOD("3 2\nthe " THE "don't " DONT "caf\xc3\xa9 " CAFE, VECTORS_WORD2VEC_BIN, 0);
	GOOD("4 2\nthe " THE "</s> " THE "don't " DONT "caf\xc3\xa9 " CAFE, VECTORS_WORD2VEC_BIN,
	     1);
}

static bool has_no_apostrophe(void *user, const char *word) {
	(void)user;
	return !strchr(word, '\'');
}

static void test_chosen(void **state) {
	(void)state;
	static const char text[] = "the 1 2\ndon't 3 4\ncat 5 6\nwrong line\n";
	struct vectors v;
	struct cuttle_error error = {""};
	files_put(path, text, sizeof text - 1);
	// What stands behind the second word is not read.
	const struct vectors_request request = {
	    .path = path, .most = 2, .wanted = has_no_apostrophe};
	assert_int_equal(vectors_read(&request, &v, &error), CUTTLE_OK);
	assert_int_equal(v.count, 2);
	assert_string_equal(v.words[1], "cat");
	assert_int_equal(v.not_wanted, 1);
	assert_true(v.rows[2] == 5 && v.rows[3] == 6);
	vectors_free(&v);
}

static void check_bad(const char *bytes, size_t size, enum vectors_format format,
                      const char *reason) {
	struct vectors v;
	struct cuttle_error error = {""};
	assert_int_equal(read_file(bytes, size, format, 100, &v, &error), CUTTLE_INPUT);
	if (!strstr(error.message, reason)) fail_msg("\"%s\" lacks %s", error.message, reason);
	vectors_free(&v);
}
#define BAD(bytes, format, reason) check_bad(bytes, sizeof(bytes) - 1, format, reason)

static void test_bad(void **state) {
	(void)state;
	BAD("", VECTORS_GLOVE, "0 words are left");
	BAD("\n", VECTORS_GLOVE, "outside 1..4096");
	BAD("the 1 2\n", VECTORS_GLOVE, "1 words are left");
	BAD("the 1 2\n\na 1 2\n", VECTORS_GLOVE, "line 2: it has fewer");
	BAD("the 1 2\na 1\n", VECTORS_GLOVE, "line 2: it has fewer");
	BAD("the 1 2\n 1 2\n", VECTORS_GLOVE, "line 2: it has fewer");
	BAD("the 1 2\na 1 x\n", VECTORS_GLOVE, "line 2: a field");
	BAD("the 1 2\na 1 0x1p3\n", VECTORS_GLOVE, "line 2: a field");
	BAD("the 1 2\na 1 inf\n", VECTORS_GLOVE, "line 2: a field");
	BAD("the 1 2\na 1 1.5.2\n", VECTORS_GLOVE, "line 2: a field");
	BAD("the 1 2\na 1 4e38\n", VECTORS_GLOVE, "line 2: a number is not finite");
	BAD("the 1 2\nB 1 4e38\n", VECTORS_GLOVE, "line 2: a number is not finite");
	BAD("the 1 2\na 1 2\0\n", VECTORS_GLOVE, "line 2: it is too long");
	BAD("the 1 2\nb 1 2\na 1 2\nb 3 4\n", VECTORS_GLOVE, "line 4: its word stood there");
	BAD("400000 300\n", VECTORS_GLOVE, "--format word2vec");
	BAD("the 1 2\n", VECTORS_WORD2VEC, "line 1: it should say");
	BAD("2 2 2\n", VECTORS_WORD2VEC, "line 1: it should say");
	BAD("0 2\n", VECTORS_WORD2VEC, "line 1: it should say");
	BAD("-2 2\n", VECTORS_WORD2VEC, "line 1: it should say");
	BAD("2 0\n", VECTORS_WORD2VEC, "outside 1..4096");
	BAD("2 4097\n", VECTORS_WORD2VEC, "outside 1..4096");
	BAD("2 9999999999999999999\n", VECTORS_WORD2VEC, "outside 1..4096");
	BAD("2 1\na 1\nb 2\nc 3\n", VECTORS_WORD2VEC, "line 4: there are more");
	BAD("3 1\na 1\nb 2\n", VECTORS_WORD2VEC, "after 2 of 3 words");
	BAD("3 2\nthe " THE "cat " DONT, VECTORS_WORD2VEC_BIN, "after 2 of 3 words");
	BAD("2 2\nthe " THE "cat \0\0", VECTORS_WORD2VEC_BIN, "after 1 of 2 words");
	BAD("2 2\nthe " THE "ca", VECTORS_WORD2VEC_BIN, "after 1 of 2 words");
	BAD("2 2\nthe " THE "cat " DONT "\n\nx", VECTORS_WORD2VEC_BIN, "goes on after");
	BAD("2 2\nthe " THE "cat \0\0\xc0\x7f\0\0\0\0", VECTORS_WORD2VEC_BIN,
	    "word 2: a number is not finite");
	BAD("2 2\nthe " THE "the " DONT, VECTORS_WORD2VEC_BIN, "word 2: its word stood there");
	static char endless[8192] = "2 2\n";
	memset(endless + 4, 'x', sizeof endless - 5);
	BAD(endless, VECTORS_WORD2VEC_BIN, "word 1: its text does not end");
	struct vectors v;
	struct cuttle_error error = {""};
	const struct vectors_request absent = {.path = "/nonexistent", .most = 2};
	assert_int_equal(vectors_read(&absent, &v, &error), CUTTLE_INPUT);
	vectors_free(&v);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_good),
	    cmocka_unit_test(test_chosen),
	    cmocka_unit_test(test_bad),
	};
	return cmocka_run_group_tests(tests, make_file, remove_file);
}
