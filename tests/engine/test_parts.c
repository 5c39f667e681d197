// SPDX-License-Identifier: Apache-2.0
// Tests models in parts (base/parts.h, gguf_parse_parts): they must be the model that the whole
// file is, and give on_bytes all bytes in order. It fails if a part that is missing, cut, given
// twice, in another's place, or of another model is taken, or if a refusal does not say which.
#include "base/parts.h"
#include "engine/cuttle.h"
#include "tests/support/files.h"
#include "tests/support/split_model.h"
#include "tests/support/tiny_model.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { PARTS = 3, NAME_ROOM = 96 };
static char folder[] = "/tmp/cuttle-parts-XXXXXX", names[PARTS][NAME_ROOM];
static struct split_part shares[PARTS];
static uint8_t *bytes, *all; /* of the whole model; of all parts */
static size_t size, all_size;

/* Writes the parts as `shares` says. */
static void write_shares(void) {
	all_size = 0;
	for (unsigned i = 0; i < PARTS; i++) {
		size_t part_size;
		uint8_t *part = split_model_part(bytes, size, &shares[i], &part_size);
		files_put(names[i], part, part_size);
		memcpy(all + all_size, part, part_size);
		all_size += part_size;
		free(part);
	}
}

static int make_parts(void **state) {
	(void)state;
	if (!mkdtemp(folder)) return 1;
	bytes = tiny_model_bytes(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1, &size);
	all = malloc(2 * size);
	for (unsigned i = 0; i < PARTS; i++)
		(void)snprintf(names[i], NAME_ROOM, "%s/m-%05u-of-%05u.gguf", folder, i + 1, PARTS);
	return !all;
}

static int restore_parts(void **state) {
	(void)state;
	for (unsigned i = 0; i < PARTS; i++) shares[i] = split_model_share(bytes, size, i, PARTS);
	write_shares();
	return 0;
}

static int remove_parts(void **state) {
	(void)state;
	free(bytes);
	free(all);
	for (unsigned i = 0; i < PARTS; i++) (void)unlink(names[i]);
	return rmdir(folder);
}

static void score_text(struct cuttle_model *model, double logprobs[3]) {
	int32_t top1[3];
	assert_int_equal(
	    cuttle_score(model, (const int32_t[]){97, 98, 99, 100}, 4, logprobs, top1, NULL),
	    CUTTLE_OK);
	cuttle_model_free(&model);
}

static void compare_next_bytes(void *user, const void *read, size_t count) {
	size_t *const seen = user;
	assert_true(*seen + count <= all_size);
	assert_memory_equal(read, all + *seen, count);
	*seen += count;
}

static void test_same_model(void **state) {
	(void)state;
	struct cuttle_model *model;
	struct cuttle_model_info whole_info, info;
	struct cuttle_model_params params;
	struct cuttle_error error = {""};
	double whole[3], parts[3];
	size_t seen = 0;
	assert_int_equal(cuttle_model_open_memory(bytes, size, NULL, &model, NULL), CUTTLE_OK);
	cuttle_model_describe(model, &whole_info);
	score_text(model, whole);
	whole_info.file_bytes = all_size;
	cuttle_model_params_default(&params);
	params.on_bytes = compare_next_bytes;
	params.user = &seen;
	for (unsigned empty = 0; empty < 2; empty++) {
		// llama-gguf-split --no-tensor-first-split leaves the first without tensors.
		if (empty) {
			shares[0].end = shares[1].first = 0;
			write_shares();
			whole_info.file_bytes = all_size;
		}
		seen = 0;
		if (cuttle_model_open(names[0], &params, &model, &error))
			fail_msg("%s", error.message);
		assert_int_equal(seen, all_size);
		cuttle_model_describe(model, &info);
		assert_memory_equal(&info, &whole_info, sizeof info);
		score_text(model, parts);
		assert_memory_equal(parts, whole, sizeof parts);

		params.vocabulary_only = true;
		params.on_bytes = NULL;
		assert_int_equal(cuttle_model_open(names[0], &params, &model, NULL), CUTTLE_OK);
		cuttle_model_describe(model, &info);
		assert_memory_equal(&info, &whole_info, sizeof info);
		cuttle_model_free(&model);
		params.vocabulary_only = false;
		params.on_bytes = compare_next_bytes;
	}
}

/* What opening the model says; all of `words` must be in it. */
static void expect_refusal(const char *path, const char *first_word, const char *second_word) {
	struct cuttle_model *model;
	struct cuttle_error error = {""};
	assert_int_equal(cuttle_model_open(path, NULL, &model, &error), CUTTLE_MODEL);
	assert_null(model);
	if (!strstr(error.message, first_word) || !strstr(error.message, second_word) ||
	    strchr(error.message, '\n'))
		fail_msg("'%s' lacks '%s' or '%s'", error.message, first_word, second_word);
}

/* One thing is changed in the shares before they are written, and is refused. */
static void expect_refused_shares(const char *first_word, const char *second_word) {
	write_shares();
	expect_refusal(names[0], first_word, second_word);
	(void)restore_parts(NULL);
}

static void test_wrong_numbers(void **state) {
	(void)state;
	shares[1].number = 2;
	expect_refused_shares("part 2 of 3", "part 3 of 3");
	shares[2].count = 4;
	expect_refused_shares("part 3 of 3", "part 3 of 4");
	shares[0].count = 2;
	expect_refused_shares("part 1 of 3", "part 1 of 2");
	shares[0].number = 1;
	expect_refused_shares("part 1 of 3", "part 2 of 3");
	shares[1].number = 3;
	expect_refused_shares("part 2 of 3", "split.no");
	for (size_t i = 0; i < PARTS; i++) {
		const uint64_t counts[] = {0, 257, 65536, UINT64_MAX};
		char words[32];
		(void)snprintf(words, sizeof words, "part %zu of 3", i + 1);
		for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
			shares[i].count = counts[c];
			expect_refused_shares(words, "split.count must be 1 to 256");
		}
		shares[i].unsaid = true;
		expect_refused_shares(words, "part 1 of 1");
		const uint64_t tensors[] = {0, 1 << 18, UINT64_MAX};
		for (size_t t = 0; t < sizeof tensors / sizeof *tensors; t++) {
			shares[i].tensors = tensors[t];
			expect_refused_shares(words, "split.tensors.count is not");
		}
	}
}

static void test_wrong_tensors(void **state) {
	(void)state;
	shares[2].tensors++;
	expect_refused_shares("part 3 of 3", "another model");
	for (unsigned i = 0; i < PARTS; i++) shares[i].tensors++;
	expect_refused_shares("the parts have 21 tensors", "split.tensors.count is 22");
	for (unsigned i = 0; i < PARTS; i++) shares[i].tensors--;
	expect_refused_shares("part 3 of 3", "more tensors than the split.tensors.count of 20");
	// A tensor of the first part stands in the second, too, and one of the third nowhere.
	shares[1].first--;
	shares[2].first++;
	expect_refused_shares("part 2 of 3", "stands twice");
	// A part twice.
	shares[2].first = shares[1].first, shares[2].end = shares[1].end;
	expect_refused_shares("part 3 of 3", "stands twice");
}

static void test_wrong_files(void **state) {
	(void)state;
	struct stat about;
	assert_int_equal(stat(names[1], &about), 0);
	assert_int_equal(truncate(names[1], about.st_size - 40), 0);
	expect_refusal(names[0], "part 2 of 3", "outside the file");
	assert_int_equal(truncate(names[1], 10), 0);
	expect_refusal(names[0], "part 2 of 3", "cut off");
	assert_int_equal(truncate(names[1], 0), 0);
	expect_refusal(names[0], "part 2 of 3", "not a GGUF file");
	assert_int_equal(unlink(names[1]), 0);
	expect_refusal(names[0], "part 2 of 3, m-00002-of-00003.gguf", "No such file");
	assert_int_equal(mkdir(names[1], 0700), 0);
	expect_refusal(names[0], "part 2 of 3, m-00002-of-00003.gguf", "a folder");
	assert_int_equal(rmdir(names[1]), 0);
	assert_int_equal(mkfifo(names[1], 0600), 0);
	expect_refusal(names[0], "part 2 of 3, m-00002-of-00003.gguf", "not a regular file");
	assert_int_equal(unlink(names[1]), 0);
	(void)restore_parts(NULL);
	expect_refusal(names[1], "part 2 of 3", "-00001-of-00003.gguf");

	// Under a name that is not that of a part, by descriptor, and from memory.
	char other[NAME_ROOM];
	size_t part_size;
	struct cuttle_model *model;
	struct cuttle_error error = {""};
	(void)snprintf(other, sizeof other, "%s/other.gguf", folder);
	assert_int_equal(rename(names[0], other), 0);
	expect_refusal(other, "part 1 of 3", "NAME-00001-of-00003.gguf");
	const int file = open(other, O_RDONLY | O_CLOEXEC);
	assert_int_equal(cuttle_model_open_fd(file, NULL, &model, &error), CUTTLE_MODEL);
	assert_int_equal(close(file), 0);
	assert_non_null(strstr(error.message, "part 1 of 3"));
	uint8_t *part = split_model_part(bytes, size, &shares[0], &part_size);
	assert_int_equal(cuttle_model_open_memory(part, part_size, NULL, &model, &error),
	                 CUTTLE_MODEL);
	free(part);
	assert_non_null(strstr(error.message, "part 1 of 3"));
	// More parts than there may be; and names that only look like a part's, of a whole model.
	static const char *const whole[] = {"m-00001-of-00001.gguf", "m-00000-of-00003.gguf",
	                                    "m-00004-of-00003.gguf", "m-0001-of-00003.gguf",
	                                    "m-00001-of-0000x.gguf", "m-00001-of-00003.bin",
	                                    "m-00001_of-00003.gguf", "m-00001-of-00000.gguf"};
	(void)snprintf(other, sizeof other, "%s/other.gguf", folder);
	assert_int_equal(unlink(other), 0);
	(void)snprintf(other, sizeof other, "%s/m-00001-of-00257.gguf", folder);
	expect_refusal(other, "257 parts", "at most 256");
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
		(void)snprintf(other, sizeof other, "%s/%s", folder, whole[i]);
		files_put(other, bytes, size);
		if (cuttle_model_open(other, NULL, &model, &error)) fail_msg("%s", error.message);
		cuttle_model_free(&model);
		assert_int_equal(unlink(other), 0);
	}
}

/* Every byte of the second part is changed, and every length of it tried: it opens or is refused.
 */
static void test_hostile_part(void **state) {
	(void)state;
	size_t part_size;
	uint8_t *part = split_model_part(bytes, size, &shares[1], &part_size);
	struct cuttle_model *model;
	struct gguf *file;
	const struct gguf_part second = {part_size, part_size};
	struct cuttle_error error = {""};
	assert_int_equal(gguf_parse_parts(part, &second, 1, &file, &error), CUTTLE_MODEL);
	for (size_t at = 0; at < 700 && at < part_size; at++) {
		part[at] ^= 0xff;
		files_put(names[1], part, part_size);
		const enum cuttle_status status = cuttle_model_open(names[0], NULL, &model, &error);
		assert_true(status == CUTTLE_OK || status == CUTTLE_MODEL);
		assert_true(!status || strstr(error.message, "part 2 of 3") ||
		            strstr(error.message, "tensor"));
		cuttle_model_free(&model);
		part[at] ^= 0xff;
		files_put(names[1], part, at);
		expect_refusal(names[0], "part 2 of 3", "");
	}
	free(part);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_same_model, restore_parts),
	    cmocka_unit_test_setup(test_wrong_numbers, restore_parts),
	    cmocka_unit_test_setup(test_wrong_tensors, restore_parts),
	    cmocka_unit_test_setup(test_wrong_files, restore_parts),
	    cmocka_unit_test_setup(test_hostile_part, restore_parts),
	};
	return cmocka_run_group_tests(tests, make_parts, remove_parts);
}
