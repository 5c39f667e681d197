// SPDX-License-Identifier: Apache-2.0
// Tests io/tables/words_file: what is written is read, bit for bit, and everything else is refused.
// It fails if a file is taken that is cut, longer, changed in any byte, or that holds a vector
// which is not finite or not of length one, a word twice, no word, or wrong sets, with a right
// hash.
#include "io/tables/words_file.h"
#include "tests/support/files.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum {
	COUNT = 5,
	WIDTH = 2,
	/* Offsets in the file: header, texts, sets, mean and transform, vectors, hash. */
	AT_MODEL = 40,
	AT_TEXTS = 104,
	AT_SETS = AT_TEXTS + 24,
	AT_MEAN = AT_SETS + 4 * COUNT,
	AT_VECTORS = AT_MEAN + 4 * (WIDTH + WIDTH * WIDTH),
	AT_HASH = AT_VECTORS + 4 * COUNT * WIDTH,
	SIZE = AT_HASH + 64
};

static const char *const list[COUNT] = {"the", "cat", "dog", "don't", "car"};
static const float rows[COUNT * WIDTH] = {1, 0, 0, 1, 0.6f, 0.8f, -1, 0, 0.8f, -0.6f};
static const float mean[WIDTH] = {0.25f, -3}, transform[WIDTH * WIDTH] = {1, 2, 3, 4};
static const uint32_t sets[COUNT] = {0, 1, 1, 2, 0};
static const char model[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
#define PATH "words.cw"

static struct cuttle_words *make_sample(bool with_model) {
	struct cuttle_words *words;
	struct cuttle_error error = {""};
	struct cuttle_words_params p;
	cuttle_words_params_default(&p);
	p.count = COUNT;
	p.width = WIDTH;
	p.words = list;
	p.vectors = rows;
	p.threads = 1;
	if (with_model) {
		p.mean = mean;
		p.transform = transform;
		p.model_sha256 = model;
	}
	if (cuttle_words_make(&p, &words, &error)) fail_msg("%s", error.message);
	return words;
}

static void write_sample(char sha256[HASH_TEXT]) {
	struct cuttle_words *words = make_sample(true);
	struct cuttle_error error = {""};
	if (words_file_write(PATH, words, sets, 2, sha256, &error)) fail_msg("%s", error.message);
	cuttle_words_free(&words);
}

static void check_sample(const struct cuttle_words *words) {
	float row[WIDTH], got_mean[WIDTH], got_transform[WIDTH * WIDTH];
	size_t set_size;
	assert_int_equal(cuttle_words_count(words), COUNT);
	assert_int_equal(cuttle_words_width(words), WIDTH);
	for (size_t i = 0; i < COUNT; i++) {
		assert_string_equal(cuttle_words_text(words, i), list[i]);
		cuttle_words_row(words, i, row);
		assert_memory_equal(row, rows + i * WIDTH, sizeof row);
	}
	assert_true(cuttle_words_pieces(words, got_mean, got_transform));
	assert_memory_equal(got_mean, mean, sizeof mean);
	assert_memory_equal(got_transform, transform, sizeof transform);
	assert_memory_equal(cuttle_words_sets(words, &set_size), sets, sizeof sets);
	assert_int_equal(set_size, 2);
	assert_string_equal(cuttle_words_model_sha256(words), model);
}

static void test_round_trip(void **state) {
	(void)state;
	char written[HASH_TEXT], again[HASH_TEXT], whole[HASH_TEXT];
	struct cuttle_error error = {""};
	struct cuttle_words *words;
	write_sample(written);
	assert_int_equal(words_file_read(PATH, 1, &words, again, &error), CUTTLE_OK);
	check_sample(words);
	assert_string_equal(written, again);
	assert_int_equal(hash_file(PATH, whole, &error), CUTTLE_OK);
	assert_string_equal(written, whole);
	// A list that was read is written to the same bytes, with its own sets.
	assert_int_equal(words_file_write(PATH, words, NULL, 0, again, &error), CUTTLE_OK);
	assert_string_equal(written, again);
	cuttle_words_free(&words);

	words = make_sample(false);
	assert_int_equal(words_file_write(PATH, words, NULL, 0, written, &error), CUTTLE_OK);
	cuttle_words_free(&words);
	assert_int_equal(words_file_read(PATH, 1, &words, again, &error), CUTTLE_OK);
	float row[WIDTH + WIDTH * WIDTH];
	size_t set_size;
	assert_false(cuttle_words_pieces(words, row, row + WIDTH));
	assert_null(cuttle_words_sets(words, &set_size));
	assert_string_equal(cuttle_words_model_sha256(words), "");
	cuttle_words_free(&words);
	words = make_sample(false);
	assert_int_equal(words_file_write("nowhere/a.cw", words, NULL, 0, written, &error),
	                 CUTTLE_USAGE);
	cuttle_words_free(&words);
}

static void refuse(const char *bytes, size_t size, const char *reason) {
	struct cuttle_words *words;
	struct cuttle_error error = {""};
	char sha256[HASH_TEXT];
	files_put(PATH, bytes, size);
	assert_int_equal(words_file_read(PATH, 1, &words, sha256, &error), CUTTLE_INPUT);
	assert_null(words);
	if (!strstr(error.message, reason)) fail_msg("\"%s\" lacks %s", error.message, reason);
	assert_null(strchr(error.message, '\n'));
}

static void read_sample(char bytes[SIZE + 1]) {
	char sha256[HASH_TEXT];
	write_sample(sha256);
	assert_int_equal(files_get(PATH, bytes, SIZE + 1), SIZE);
}

static void test_cut_or_changed(void **state) {
	(void)state;
	char bytes[SIZE + 1];
	read_sample(bytes);
	for (size_t size = 0; size < SIZE; size++) refuse(bytes, size, PATH);
	bytes[SIZE] = '\n';
	refuse(bytes, SIZE + 1, "too long");
	for (size_t i = 0; i < SIZE; i++) {
		bytes[i] ^= 1;
		refuse(bytes, SIZE, i < 16 ? "no words file" : PATH);
		bytes[i] ^= 1;
	}
}

/* Puts `size` bytes at an offset of a fresh sample, makes the hash right again, and has it refused.
 */
static void refuse_with(size_t at, const void *change, size_t size, const char *reason) {
	char bytes[SIZE + 1], sha256[HASH_TEXT];
	read_sample(bytes);
	memcpy(bytes + at, change, size);
	hash_of(bytes, AT_HASH, sha256);
	memcpy(bytes + AT_HASH, sha256, 64);
	refuse(bytes, SIZE, reason);
}

static void test_content(void **state) {
	(void)state;
	const float odd[] = {NAN, INFINITY, 1.01f, 0};
	static const char *const reasons[] = {"not finite", "not finite", "length one",
	                                      "length one"};
	for (size_t i = 0; i < 4; i++) refuse_with(AT_VECTORS, &odd[i], sizeof odd[i], reasons[i]);
	for (size_t i = 0; i < 2; i++) {
		refuse_with(AT_MEAN, &odd[i], sizeof odd[i], "not finite");
		refuse_with(AT_MEAN + 4 * WIDTH + 12, &odd[i], sizeof odd[i], "not finite");
	}
	refuse_with(AT_TEXTS, "cat", 3, "twice");
	refuse_with(AT_TEXTS, "The", 3, "no word");
	refuse_with(AT_TEXTS, "t e", 3, "no word");
	refuse_with(AT_TEXTS, "\0at", 3, "does not hold 5 words");
	refuse_with(AT_TEXTS + 3, "x", 1, "no word");
	refuse_with(AT_TEXTS + 23, "x", 1, "does not hold 5 words");
	refuse_with(AT_MODEL, "X", 1, "SHA-256");
	const uint32_t far = 3, other = 1;
	refuse_with(AT_SETS, &far, sizeof far, "sets of 2");
	refuse_with(AT_SETS, &other, sizeof other, "sets of 2");
	const uint32_t many = CUTTLE_WORDS_MOST + 1, wide = CUTTLE_WORDS_WIDTH + 1, two = 2;
	refuse_with(16, &many, sizeof many, "damaged");
	refuse_with(20, &wide, sizeof wide, "damaged");
	refuse_with(28, &two, sizeof two, "damaged");
	const uint64_t huge = UINT64_MAX - 7;
	refuse_with(32, &huge, sizeof huge, "damaged");
}

static char folder[] = "/tmp/cuttle-words-XXXXXX";

static int enter_folder(void **state) {
	(void)state;
	return mkdtemp(folder) ? chdir(folder) : -1;
}

static int leave_folder(void **state) {
	(void)state;
	static const char *const names[] = {PATH};
	return chdir("/") || files_remove(folder, names, 1);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_cut_or_changed),
	    cmocka_unit_test(test_content),
	};
	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
