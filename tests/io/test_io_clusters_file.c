// SPDX-License-Identifier: Apache-2.0
// Tests topics/clusters_file: what is written is read, bit for bit, and everything else is refused.
// It fails if a file is taken that is cut, longer, changed in any byte, or that holds, with a right
// hash, a number out of range, an empty cluster, or a name of no line.
#include "topics/clusters_file.h"
#include "tests/support/files.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define PATH "sample.clusters"
enum {
	COUNT = 3,
	WIDTH = 40,
	MOST = 1 << 17, /* bytes of a sample, at most */
	/* Offsets in the file. */
	AT_BY = 24,
	AT_COUNT = 28,
	AT_TEXTS = 32,
	AT_LAYER = 36,
	AT_WIDTH = 40,
	AT_ZERO = 44,
	AT_MODEL = 48,
	AT_NAMES = 112,
	AT_SIZES = AT_NAMES + COUNT * CLUSTERS_NAME,
	AT_CENTRES = AT_SIZES + 4 * COUNT,
	AT_FIRST = AT_CENTRES + 4 * COUNT * HIDDEN_WIDTH,
	AT_WEIGHTS = AT_CENTRES + 4 * COUNT * TFIDF_WIDTH
};

static char names[COUNT][CLUSTERS_NAME] = {"sail rope", "oven", "cluster 2"};
static uint32_t sizes[COUNT] = {20, 1, 39};
static int32_t rows[COUNT * TFIDF_WIDTH];
static uint16_t weights[TFIDF_WIDTH];
static float first[WIDTH], mean[WIDTH], axes[HIDDEN_WIDTH * WIDTH];

static struct clusters make_sample(enum clusters_by by) {
	const bool words = by == CLUSTERS_BY_WORDS;
	for (size_t i = 0; i < COUNT * TFIDF_WIDTH; i++)
		rows[i] = (int32_t)(i * 7919 % 65537) - 32768;
	for (size_t i = 0; i < TFIDF_WIDTH; i++) weights[i] = (uint16_t)(i % 200);
	for (size_t i = 0; i < WIDTH; i++) mean[i] = 0.25f * (float)i;
	for (size_t i = 0; i < WIDTH; i++) first[i] = 0.5f - (float)i;
	for (size_t i = 0; i < HIDDEN_WIDTH * WIDTH; i++) axes[i] = -1.5f * (float)i;
	struct clusters sample = {
	    .by = by,
	    .count = COUNT,
	    .texts = 60,
	    .centres = {COUNT, words ? (size_t)TFIDF_WIDTH : (size_t)HIDDEN_WIDTH, rows},
	    .names = names,
	    .sizes = sizes,
	    .weights = words ? weights : NULL};
	if (words) return sample;
	sample.hidden = (struct hidden){6, WIDTH, first, mean, axes};
	memset(sample.model_sha256, 'a', HASH_TEXT - 1);
	return sample;
}

static size_t write_sample(enum clusters_by by, char *bytes) {
	const struct clusters sample = make_sample(by);
	struct cuttle_error error = {""};
	char sha256[HASH_TEXT], whole[HASH_TEXT];
	if (clusters_file_write(PATH, &sample, sha256, &error)) fail_msg("%s", error.message);
	const size_t size = files_get(PATH, bytes, MOST);
	assert_true(size < MOST);
	hash_of(bytes, size, whole);
	assert_string_equal(sha256, whole);
	return size;
}

static void test_written_is_read(void **state) {
	(void)state;
	static char bytes[MOST], again[MOST];
	for (enum clusters_by by = CLUSTERS_BY_WORDS; by <= CLUSTERS_BY_MODEL; by++) {
		const size_t size = write_sample(by, bytes);
		const struct clusters sample = make_sample(by);
		struct clusters read;
		struct cuttle_error error = {""};
		char sha256[HASH_TEXT], written[HASH_TEXT];
		if (clusters_file_read(PATH, &read, sha256, &error)) fail_msg("%s", error.message);
		assert_int_equal(read.by, by);
		assert_int_equal(read.count, COUNT);
		assert_int_equal(read.texts, 60);
		assert_int_equal(read.centres.count, COUNT);
		assert_int_equal(read.centres.width, sample.centres.width);
		assert_memory_equal(read.centres.rows, rows,
		                    COUNT * sample.centres.width * sizeof *rows);
		assert_memory_equal(read.names, names, sizeof names);
		assert_memory_equal(read.sizes, sizes, sizeof sizes);
		assert_string_equal(read.model_sha256, sample.model_sha256);
		assert_true(!read.weights == !sample.weights);
		if (read.weights) assert_memory_equal(read.weights, weights, sizeof weights);
		assert_int_equal(read.hidden.layer, sample.hidden.layer);
		assert_int_equal(read.hidden.width, sample.hidden.width);
		if (read.hidden.width) {
			assert_memory_equal(read.hidden.first, first, sizeof first);
			assert_memory_equal(read.hidden.mean, mean, sizeof mean);
			assert_memory_equal(read.hidden.axes, axes, sizeof axes);
		}
		assert_int_equal(clusters_file_write(PATH, &read, written, &error), CUTTLE_OK);
		assert_string_equal(written, sha256);
		assert_int_equal(files_get(PATH, again, MOST), size);
		assert_memory_equal(again, bytes, size);
		clusters_free(&read);
		assert_int_equal(clusters_file_write("nowhere/a", &sample, written, &error),
		                 CUTTLE_USAGE);
	}
}

static void refuse_file(const char *bytes, size_t size, const char *reason) {
	struct clusters clusters;
	struct cuttle_error error = {""};
	char sha256[HASH_TEXT];
	files_put(PATH, bytes, size);
	assert_int_equal(clusters_file_read(PATH, &clusters, sha256, &error), CUTTLE_INPUT);
	assert_null(clusters.names);
	assert_null(clusters.centres.rows);
	if (!strstr(error.message, reason)) fail_msg("\"%s\" lacks %s", error.message, reason);
}

/* Files without their last bytes, with more, and with one byte changed. */
static void test_cut_or_damaged(void **state) {
	(void)state;
	static char bytes[MOST];
	const size_t size = write_sample(CLUSTERS_BY_MODEL, bytes);
	for (size_t end = 0; end < size; end += 37) refuse_file(bytes, end, PATH);
	refuse_file(bytes, size + 1, "too long");
	refuse_file(bytes, size - 1, "cut short");
	refuse_file("words", 5, "is no clusters file");
	for (size_t i = 0; i < size; i += 11) {
		bytes[i] ^= 1;
		refuse_file(bytes, size, PATH);
		bytes[i] ^= 1;
	}
	struct clusters clusters;
	struct cuttle_error error = {""};
	char sha256[HASH_TEXT];
	files_put(PATH, bytes, size);
	assert_int_equal(clusters_file_read(PATH, &clusters, sha256, &error), CUTTLE_OK);
	clusters_free(&clusters);
	assert_int_equal(clusters_file_read("nowhere", &clusters, sha256, &error), CUTTLE_INPUT);
}

/* Puts bytes into a sample, and the right hash behind it. */
static void refuse_changed(enum clusters_by by, size_t at, const void *change, size_t length,
                           const char *reason) {
	static char bytes[MOST];
	char sha256[HASH_TEXT];
	const size_t size = write_sample(by, bytes);
	memcpy(bytes + at, change, length);
	hash_of(bytes, size - 64, sha256);
	memcpy(bytes + size - 64, sha256, 64);
	refuse_file(bytes, size, reason);
}

static void test_wrong_content(void **state) {
	(void)state;
	static const struct {
		enum clusters_by by;
		size_t at;
		uint32_t value;
		const char *reason;
	} cases[] = {
	    {CLUSTERS_BY_WORDS, AT_BY, 2, "first bytes"},
	    {CLUSTERS_BY_WORDS, AT_BY, 1, "first bytes"},
	    {CLUSTERS_BY_MODEL, AT_BY, 0, "first bytes"},
	    {CLUSTERS_BY_WORDS, AT_COUNT, 1, "first bytes"},
	    {CLUSTERS_BY_WORDS, AT_COUNT, CLUSTERS_MOST + 1, "first bytes"},
	    {CLUSTERS_BY_WORDS, AT_COUNT, 4, "cut short"},
	    {CLUSTERS_BY_WORDS, AT_TEXTS, UINT32_MAX, "first bytes"},
	    {CLUSTERS_BY_WORDS, AT_TEXTS, 61, "holds what no"},
	    {CLUSTERS_BY_WORDS, AT_LAYER, 1, "first bytes"},
	    {CLUSTERS_BY_WORDS, AT_WIDTH, 32, "first bytes"},
	    {CLUSTERS_BY_WORDS, AT_ZERO, 1, "first bytes"},
	    {CLUSTERS_BY_WORDS, AT_MODEL, 1, "first bytes"},
	    {CLUSTERS_BY_MODEL, AT_LAYER, 0, "first bytes"},
	    {CLUSTERS_BY_MODEL, AT_WIDTH, HIDDEN_WIDTH - 1, "first bytes"},
	    {CLUSTERS_BY_MODEL, AT_WIDTH, UINT32_MAX, "first bytes"},
	    {CLUSTERS_BY_MODEL, AT_MODEL, 0x47474747, "first bytes"},
	    {CLUSTERS_BY_MODEL, AT_MODEL, 0, "first bytes"},
	    {CLUSTERS_BY_WORDS, AT_SIZES + 4, 0, "holds what no"},
	    {CLUSTERS_BY_WORDS, AT_CENTRES, 1 << 18, "holds what no"},
	    {CLUSTERS_BY_WORDS, AT_CENTRES, (uint32_t)INT32_MIN, "holds what no"},
	    {CLUSTERS_BY_WORDS, AT_WEIGHTS, 0xffff, "holds what no"},
	    {CLUSTERS_BY_MODEL, AT_FIRST, 0x7fc00000, "holds what no"},
	    {CLUSTERS_BY_MODEL, AT_FIRST + 4 * WIDTH, 0xff800000, "holds what no"},
	    {CLUSTERS_BY_MODEL, AT_FIRST + 8 * WIDTH, 0x7f800000, "holds what no"},
	    {CLUSTERS_BY_WORDS, AT_NAMES, 0x0a0a0a0a, "holds what no"},
	    {CLUSTERS_BY_WORDS, AT_NAMES, 0xffffffff, "holds what no"},
	    {CLUSTERS_BY_WORDS, AT_NAMES + 100, 0x61, "holds what no"},
	    {CLUSTERS_BY_WORDS, AT_NAMES, 0, "holds what no"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		refuse_changed(cases[i].by, cases[i].at, &cases[i].value, sizeof cases[i].value,
		               cases[i].reason);
	// Two sizes that are too large in such a way that their sum wraps round in 32 bits.
	const uint32_t wrapping[2] = {UINT32_MAX, 22};
	refuse_changed(CLUSTERS_BY_WORDS, AT_SIZES, wrapping, sizeof wrapping, "holds what no");
	// A name without an end.
	char endless[CLUSTERS_NAME];
	memset(endless, 'a', sizeof endless);
	refuse_changed(CLUSTERS_BY_WORDS, AT_NAMES, endless, sizeof endless, "holds what no");
}

static char folder[] = "/tmp/cuttle-clusters-XXXXXX";

static int enter_folder(void **state) {
	(void)state;
	return mkdtemp(folder) ? chdir(folder) : -1;
}

static int leave_folder(void **state) {
	(void)state;
	static const char *const files[] = {PATH};
	return chdir("/") || files_remove(folder, files, 1);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_written_is_read),
	    cmocka_unit_test(test_cut_or_damaged),
	    cmocka_unit_test(test_wrong_content),
	};
	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
