// SPDX-License-Identifier: Apache-2.0
// Tests io/tables/safetensors.c, the reader of safetensors headers. It fails if a good header is
// not read as it was written, or if a bad one is accepted.
#include "io/tables/safetensors.h"
#include "tests/support/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Parses a copy of exactly `size` bytes, so that a sanitizer sees any step beyond them. */
static enum cuttle_status parse(const char *header, size_t size, uint64_t data,
                                struct safetensors_table *table) {
	char *copy = malloc(size ? size : 1);
	struct cuttle_error error = {""};
	assert_non_null(copy);
	memcpy(copy, header, size);
	const enum cuttle_status status = safetensors_parse(copy, size, data, table, &error);
	free(copy);
	if (status) {
		assert_true(*error.message && !strchr(error.message, '\n'));
		assert_true(!table->tensors && !table->count);
	}
	return status;
}

static const char GOOD[] = "{\"__metadata__\":{\"format\":\"pt\"},\"b\":{\"dtype\":\"BF16\","
                           "\"shape\":[2,3],\"data_offsets\":[8,20]},"
                           "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";

static void test_good(void **state) {
	(void)state;
	struct safetensors_table table;
	assert_int_equal(parse(GOOD, strlen(GOOD), 20, &table), CUTTLE_OK);
	assert_int_equal(table.count, 2);
	assert_string_equal(table.tensors[0].name, "a");
	assert_int_equal(table.tensors[1].type, SAFETENSORS_BF16);
	assert_int_equal(table.tensors[1].dimensions, 2);
	assert_int_equal(table.tensors[1].shape[1], 3);
	assert_int_equal(table.tensors[1].begin, 8);
	safetensors_table_free(&table);
}

static void test_truncated_and_flipped(void **state) {
	(void)state;
	struct safetensors_table table;
	char copy[sizeof GOOD];
	for (size_t size = 0; size < strlen(GOOD); size++)
		assert_int_equal(parse(GOOD, size, 20, &table), CUTTLE_MODEL);
	for (size_t bit = 0; bit < 8 * strlen(GOOD); bit++) {
		memcpy(copy, GOOD, sizeof copy);
		copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
		if (!parse(copy, strlen(GOOD), 20, &table)) safetensors_table_free(&table);
	}
}

static void test_bad(void **state) {
	(void)state;
#define TENSOR(shape, offsets)                                                                     \
	"{\"a\":{\"dtype\":\"F32\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}}"
#define TWICE                                                                                      \
	("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"                        \
	 "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}")
#define PAIR(one, other)                                                                           \
	"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[" one                           \
	"]},\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[" other "]}}"
	static const char *const headers[] = {
	    "[]",
	    "1",
	    "{\"a\":1}",
	    "{\"a\":{}}",
	    "{\"a\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]}}",
	    "{\"a\":{\"dtype\":4,\"shape\":[2],\"data_offsets\":[0,8]}}",
	    TENSOR("2", "8,0"),
	    TENSOR("2", "0,9"),
	    TENSOR("2", "0,4"),
	    TENSOR("1", "0,4"),
	    TENSOR("1", "4,8"),
	    TENSOR("0", "0,0"),
	    TENSOR("-2", "0,8"),
	    TENSOR("2.0", "0,8"),
	    TENSOR("2", "0"),
	    TENSOR("2", "-8,0"),
	    TENSOR("1,1,1,1,2", "0,8"),
	    TENSOR("2147483648", "0,8"),
	    TENSOR("4611686018427387904", "0,8"),
	    TENSOR("9223372036854775807", "0,8"),
	    TENSOR("9223372036854775808", "0,8"),
	    TENSOR("18446744073709551615", "0,8"),
	    TENSOR("4294967296,1073741824,2", "0,8"),
	    TENSOR("2", "0,9223372036854775808"),
	    TENSOR("2", "9223372036854775800,9223372036854775807"),
	    PAIR("0,8", "0,8"),
	    PAIR("0,8", "4,12"),
	    TWICE};
	struct safetensors_table table;
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		if (parse(headers[i], strlen(headers[i]), 8, &table) != CUTTLE_MODEL)
			fail_msg("believed: %s", headers[i]);
	assert_int_equal(parse(PAIR("0,8", "12,20"), strlen(PAIR("0,8", "12,20")), 20, &table),
	                 CUTTLE_MODEL);
	char *deep = malloc(1 << 20);
	assert_non_null(deep);
	memset(deep, '[', 1 << 20);
	assert_int_equal(parse(deep, 1 << 20, 8, &table), CUTTLE_MODEL);
	free(deep);
}

static void write_file(const char *folder, const char *name, const void *bytes, size_t size) {
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	files_put(path, bytes, size);
}

/* A file with one tensor `name` of two floats; header_size as announced, 0 = the truth. */
static void write_tensor(const char *folder, const char *file, const char *name,
                         uint64_t header_size) {
	char bytes[256];
	const float values[2] = {1.5f, -2.0f};
	const int size =
	    snprintf(bytes + 8, sizeof bytes - 8,
	             "{\"%s\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", name);
	if (!header_size) header_size = (uint64_t)size;
	memcpy(bytes, &header_size, 8);
	memcpy(bytes + 8 + size, values, sizeof values);
	write_file(folder, file, bytes, 16 + (size_t)size);
}

static enum cuttle_status opens(const char *folder) {
	struct cuttle_error error = {""};
	struct safetensors *files;
	const enum cuttle_status status = safetensors_open(folder, &files, &error);
	if (status) assert_true(*error.message && !files);
	safetensors_close(&files);
	return status;
}

static void index_of(const char *folder, const char *map) {
	char text[256];
	const int size = snprintf(text, sizeof text, "{\"weight_map\":%s}", map);
	write_file(folder, "model.safetensors.index.json", text, (size_t)size);
}

static void test_files(void **state) {
	(void)state;
	char folder[] = "/tmp/cuttle-safetensors-XXXXXX";
	struct safetensors *files;
	float values[2];
	assert_non_null(mkdtemp(folder));
	assert_int_equal(opens(folder), CUTTLE_MODEL);
	static const uint64_t sizes[] = {1, UINT64_C(1) << 31, UINT64_C(1) << 62, UINT64_C(1) << 63,
	                                 UINT64_MAX};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		write_tensor(folder, "model.safetensors", "a", sizes[i]);
		assert_int_equal(opens(folder), CUTTLE_MODEL);
	}
	write_tensor(folder, "model.safetensors", "a", 0);
	assert_int_equal(opens(folder), CUTTLE_OK);
	write_tensor(folder, "1.safetensors", "a", 0);
	write_tensor(folder, "2.safetensors", "b", 0);
	static const char *const bad[] = {"1",
	                                  "{}",
	                                  "{\"a\":1}",
	                                  "{\"a\":\"1.safetensors\",\"c\":\"2.safetensors\"}",
	                                  "{\"a\":\"2.safetensors\",\"b\":\"1.safetensors\"}",
	                                  "{\"a\":\"../1.safetensors\"}",
	                                  "{\"a\":\"1.safetensors\",\"b\":\"3.safetensors\"}",
	                                  "{\"a\":\"/etc/passwd\"}"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		index_of(folder, bad[i]);
		// An index without tensors is a model without any.
		assert_int_equal(opens(folder), i == 1 ? CUTTLE_OK : CUTTLE_MODEL);
	}
	index_of(folder, "{\"a\":\"1.safetensors\",\"b\":\"2.safetensors\"}");
	assert_int_equal(safetensors_open(folder, &files, NULL), CUTTLE_OK);
	assert_int_equal(safetensors_count(files), 2);
	assert_null(safetensors_find(files, "c"));
	assert_int_equal(
	    safetensors_read(files, safetensors_find(files, "b"), 0, values, sizeof values, NULL),
	    CUTTLE_OK);
	assert_true(values[0] == 1.5f && values[1] == -2.0f);
	safetensors_close(&files);
	static const char *const names[] = {"model.safetensors", "1.safetensors", "2.safetensors",
	                                    "model.safetensors.index.json"};
	assert_int_equal(files_remove(folder, names, sizeof names / sizeof *names), 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_good), cmocka_unit_test(test_truncated_and_flipped),
	    cmocka_unit_test(test_bad), cmocka_unit_test(test_files)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
