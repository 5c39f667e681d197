// SPDX-License-Identifier: Apache-2.0
// Tests io/tables/feature_file: what was added is found again, also by the next process. It fails
// if a record that is cut or damaged, or one of another model, is believed; if one before it is
// lost; or if others than the owner may read the file.
#include "io/tables/feature_file.h"
#include "tests/support/files.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { WIDTH = 3, TEXTS = 700, MAGIC = 16, HEADER = 88, RECORD = 32 + 16 + 4 * WIDTH + 8 };
static char path[] = "/tmp/cuttle-features-XXXXXX";
static char sha256[HASH_TEXT];

static int make_file(void **state) {
	(void)state;
	memset(sha256, 'a', HASH_TEXT - 1);
	files_put_new(path, "", 0);
	return 0;
}

static int remove_file(void **state) {
	(void)state;
	return unlink(path);
}

static struct feature_file *open_features(const char *name, const char *model, size_t width) {
	struct feature_file *file;
	struct cuttle_error error = {""};
	if (feature_file_open(name, model, width, &file, &error)) fail_msg("%s", error.message);
	return file;
}

static size_t name_text(size_t i, char text[16]) {
	return (size_t)snprintf(text, 16, "text %zu", i);
}

static void add_texts(struct feature_file *file, size_t first, size_t end) {
	char text[16];
	for (size_t i = first; i < end; i++) {
		const float vector[WIDTH] = {(float)i, -1, 0.5f};
		const struct feature feature = {i, i % 5 ? 1.5 * (double)i : (double)NAN, vector};
		const size_t size = name_text(i, text);
		assert_int_equal(feature_file_add(file, text, size, &feature, NULL), CUTTLE_OK);
	}
}

/* Texts 0 .. count-1 are found with their numbers, and no other is. */
static void check_texts(const struct feature_file *file, size_t count) {
	char text[16];
	struct feature feature;
	for (size_t i = 0; i < TEXTS + 2; i++) {
		const size_t size = name_text(i, text);
		assert_int_equal(feature_file_find(file, text, size, &feature), i < count);
		if (i >= count) continue;
		assert_int_equal(feature.tokens, i);
		if (i % 5) assert_true(feature.perplexity == 1.5 * (double)i);
		else assert_true(isnan(feature.perplexity));
		assert_true(feature.vector[0] == (float)i && feature.vector[2] == 0.5f);
	}
}

static void test_resumed(void **state) {
	(void)state;
	struct stat entry;
	files_put(path, "", 0);
	assert_int_equal(chmod(path, 0644), 0);
	struct feature_file *file = open_features(path, sha256, WIDTH);
	assert_int_equal(stat(path, &entry), 0);
	assert_int_equal(entry.st_mode & 0777, 0600);
	check_texts(file, 0);
	add_texts(file, 0, 600);
	check_texts(file, 600);
	feature_file_close(&file);
	file = open_features(path, sha256, WIDTH);
	check_texts(file, 600);
	add_texts(file, 600, TEXTS);
	feature_file_close(&file);
	file = open_features(path, sha256, WIDTH);
	check_texts(file, TEXTS);
	struct feature_file *other;
	assert_int_equal(feature_file_open(path, sha256, WIDTH, &other, NULL), CUTTLE_USAGE);
	assert_null(other);
	feature_file_close(&file);
	file = open_features(NULL, sha256, WIDTH);
	add_texts(file, 0, 3);
	check_texts(file, 3);
	feature_file_close(&file);
}

static void test_damaged(void **state) {
	(void)state;
	static char bytes[HEADER + 3 * RECORD + 1], changed[sizeof bytes];
	files_put(path, "", 0);
	struct feature_file *file = open_features(path, sha256, WIDTH);
	add_texts(file, 0, 3);
	feature_file_close(&file);
	assert_int_equal(files_get(path, bytes, sizeof bytes), HEADER + 3 * RECORD);
	// Cut anywhere: whole records stay. Then what is lost is added again.
	for (size_t cut = 0; cut < HEADER + 3 * RECORD; cut++) {
		const size_t whole = cut < HEADER ? 0 : (cut - HEADER) / RECORD;
		files_put(path, bytes, cut);
		file = open_features(path, sha256, WIDTH);
		check_texts(file, whole);
		add_texts(file, whole, 3);
		feature_file_close(&file);
		assert_int_equal(files_get(path, changed, sizeof changed), HEADER + 3 * RECORD);
		assert_memory_equal(changed, bytes, HEADER + 3 * RECORD);
	}
	for (size_t at = MAGIC; at < HEADER + 3 * RECORD; at++) {
		memcpy(changed, bytes, sizeof bytes);
		changed[at] ^= 4;
		files_put(path, changed, HEADER + 3 * RECORD);
		file = open_features(path, sha256, WIDTH);
		check_texts(file, at < HEADER ? 0 : (at - HEADER) / RECORD);
		feature_file_close(&file);
	}
}

/* Where another file begins otherwise, it is left as it is, with its mode. */
static void test_of_somebody(void **state) {
	(void)state;
	static char bytes[HEADER + 1], after[sizeof bytes];
	struct cuttle_error error;
	struct feature_file *file;
	struct stat about;
	files_put(path, "", 0);
	file = open_features(path, sha256, WIDTH);
	feature_file_close(&file);
	assert_int_equal(files_get(path, bytes, sizeof bytes), HEADER);
	assert_int_equal(chmod(path, 0644), 0);
	for (size_t at = 0; at < MAGIC; at++) {
		bytes[at] ^= 4;
		for (size_t size = at + 1; size <= HEADER; size += HEADER - at - 1) {
			files_put(path, bytes, size);
			assert_int_equal(feature_file_open(path, sha256, WIDTH, &file, &error),
			                 CUTTLE_USAGE);
			assert_non_null(strstr(error.message, "is in the way"));
			assert_null(file);
			assert_int_equal(files_get(path, after, sizeof after), size);
			assert_memory_equal(after, bytes, size);
		}
		bytes[at] ^= 4;
	}
	assert_int_equal(stat(path, &about), 0);
	assert_int_equal(about.st_mode & 0777, 0644);
}

static void test_of_another(void **state) {
	(void)state;
	char other[HASH_TEXT];
	memcpy(other, sha256, HASH_TEXT);
	other[63] = 'b';
	files_put(path, "", 0);
	struct feature_file *file = open_features(path, sha256, WIDTH);
	add_texts(file, 0, 3);
	feature_file_close(&file);
	file = open_features(path, other, WIDTH);
	check_texts(file, 0);
	add_texts(file, 0, 2);
	feature_file_close(&file);
	file = open_features(path, other, WIDTH);
	check_texts(file, 2);
	feature_file_close(&file);
	file = open_features(path, other, 2);
	check_texts(file, 0);
	feature_file_close(&file);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_resumed),
	    cmocka_unit_test(test_damaged),
	    cmocka_unit_test(test_of_somebody),
	    cmocka_unit_test(test_of_another),
	};
	return cmocka_run_group_tests_name("feature_file", tests, make_file, remove_file);
}
