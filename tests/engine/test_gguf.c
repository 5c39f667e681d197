// SPDX-License-Identifier: Apache-2.0
// Tests engine/gguf.c, the GGUF reader. It fails if a good file is not read back as it was
// written, or if a bad one is accepted. Run it under AddressSanitizer, too: that finds a read
// outside the file.
#include "engine/gguf.h"

#include "tests/support/gguf_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_one_line(const struct cuttle_error *error) {
	assert_true(strlen(error->message) > 0 && strlen(error->message) < sizeof error->message);
	assert_null(strchr(error->message, '\n'));
}

/* Parses a copy of exactly `size` bytes, so that a sanitizer sees any step beyond them. If the file
 * parses, calls every function that reads from it. */
static enum cuttle_status parse(const uint8_t *bytes, size_t size, struct cuttle_error *error) {
	uint8_t *copy = malloc(size ? size : 1);
	assert_non_null(copy);
	memcpy(copy, bytes, size);
	struct gguf *file = (struct gguf *)1;
	memset(error, 0, sizeof *error);
	enum cuttle_status status = gguf_parse(copy, size, &file, error);
	if (status) {
		assert_null(file);
		assert_one_line(error);
	} else {
		assert_non_null(file);
		static const char *const keys[] = {"general.name",     "numbers.u8", "floats",
		                                   "strings",          "truth",      "ints",
		                                   "general.alignment"};
		volatile uint8_t sum = 0;
		for (size_t i = 0; i < gguf_tensor_count(file); i++) {
			const struct gguf_tensor *tensor = gguf_tensor_at(file, i);
			for (size_t j = 0; j < tensor->bytes; j++)
				sum = (uint8_t)(sum + tensor->data[j]);
		}
		for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
			uint64_t number;
			double real;
			bool truth;
			struct gguf_string text, *texts = NULL;
			float *floats = NULL;
			int32_t *ints = NULL;
			size_t count = 0;
			struct cuttle_error ignored;
			(void)gguf_unsigned(file, keys[i], true, &number, &ignored);
			(void)gguf_float(file, keys[i], true, &real, &ignored);
			(void)gguf_bool(file, keys[i], true, &truth, &ignored);
			if (!gguf_text(file, keys[i], true, &text, &ignored))
				for (size_t j = 0; j < text.size; j++)
					sum = (uint8_t)(sum + text.text[j]);
			if (!gguf_strings(file, keys[i], true, &texts, &count, &ignored))
				for (size_t j = 0; j < count; j++)
					for (size_t k = 0; k < texts[j].size; k++)
						sum = (uint8_t)(sum + texts[j].text[k]);
			(void)gguf_floats(file, keys[i], true, &floats, &count, &ignored);
			(void)gguf_ints(file, keys[i], true, &ints, &count, &ignored);
			free(texts);
			free(floats);
			free(ints);
		}
	}
	gguf_free(&file);
	free(copy);
	return status;
}

static uint8_t *good_file(size_t *size) {
	static const struct gguf_string strings[] = {{"one", 3}, {"", 0}, {"n\0l", 3}};
	static const float row[64] = {1, 2, 3};
	uint8_t blocks[2 * 18] = {7};
	struct gguf_writer *writer = gguf_writer_new();
	gguf_write_text(writer, "general.name", "small");
	gguf_write_u32(writer, "general.alignment", 32);
	gguf_write_value(writer, "numbers.u8", GGUF_U8, &(uint8_t){200});
	gguf_write_value(writer, "numbers.i8", GGUF_I8, &(int8_t){-3});
	gguf_write_value(writer, "numbers.u16", GGUF_U16, &(uint16_t){65535});
	gguf_write_value(writer, "numbers.i16", GGUF_I16, &(int16_t){-300});
	gguf_write_value(writer, "numbers.i32", GGUF_I32, &(int32_t){7});
	gguf_write_value(writer, "numbers.u64", GGUF_U64, &(uint64_t){UINT64_MAX});
	gguf_write_value(writer, "numbers.i64", GGUF_I64, &(int64_t){-1});
	gguf_write_f32(writer, "single", 0.5f);
	gguf_write_value(writer, "double", GGUF_F64, &(double){0.1});
	gguf_write_bool(writer, "truth", true);
	gguf_write_strings(writer, "strings", strings, 3);
	gguf_write_array(writer, "floats", GGUF_F32, row, 3);
	gguf_write_array(writer, "ints", GGUF_I32, (const int32_t[]){-1, 2}, 2);
	gguf_write_array(writer, "same", GGUF_U32, (const uint32_t[]){9, 9, 9}, 3);
	gguf_write_array(writer, "varies", GGUF_U32, (const uint32_t[]){9, 8, 0x80000000}, 3);
	gguf_write_array(writer, "nothing", GGUF_U32, NULL, 0);
	gguf_write_tensor(writer, "b.weight", GGUF_TENSOR_Q4_0, 2, (const uint64_t[]){32, 2},
	                  blocks, sizeof blocks);
	gguf_write_tensor(writer, "a.weight", GGUF_TENSOR_F32, 1, (const uint64_t[]){64}, row,
	                  sizeof row);
	return gguf_writer_finish(&writer, size);
}

static void test_reads_back(void **state) {
	(void)state;
	size_t size;
	uint8_t *bytes = good_file(&size);
	struct gguf *file;
	struct cuttle_error error;
	assert_int_equal(gguf_parse(bytes, size, &file, &error), CUTTLE_OK);

	uint64_t number = 1;
	assert_int_equal(gguf_unsigned(file, "numbers.u8", true, &number, &error), CUTTLE_OK);
	assert_int_equal(number, 200);
	assert_int_equal(gguf_unsigned(file, "numbers.u16", true, &number, &error), CUTTLE_OK);
	assert_int_equal(number, 65535);
	assert_int_equal(gguf_unsigned(file, "numbers.i32", true, &number, &error), CUTTLE_OK);
	assert_int_equal(number, 7);
	assert_int_equal(gguf_unsigned(file, "numbers.u64", true, &number, &error), CUTTLE_OK);
	assert_true(number == UINT64_MAX);
	assert_int_equal(gguf_unsigned(file, "same", true, &number, &error), CUTTLE_OK);
	assert_int_equal(number, 9);
	static const char *const refused[] = {"numbers.i8", "numbers.i16", "numbers.i64",
	                                      "varies",     "nothing",     "truth",
	                                      "single",     "general.name"};
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		assert_int_equal(gguf_unsigned(file, refused[i], false, &number, &error),
		                 CUTTLE_MODEL);
		assert_one_line(&error);
		assert_non_null(strstr(error.message, refused[i]));
	}
	assert_int_equal(number, 9);
	assert_int_equal(gguf_unsigned(file, "absent", false, &number, &error), CUTTLE_OK);
	assert_int_equal(number, 9);
	assert_int_equal(gguf_unsigned(file, "absent", true, &number, &error), CUTTLE_MODEL);
	assert_false(gguf_has(file, "absent"));
	assert_true(gguf_has(file, "truth"));

	double real;
	assert_int_equal(gguf_float(file, "single", true, &real, &error), CUTTLE_OK);
	assert_true(real == 0.5);
	assert_int_equal(gguf_float(file, "double", true, &real, &error), CUTTLE_OK);
	assert_true(real == 0.1);
	assert_int_equal(gguf_float(file, "floats", true, &real, &error), CUTTLE_MODEL);
	assert_int_equal(gguf_float(file, "numbers.u8", true, &real, &error), CUTTLE_MODEL);
	bool truth = false;
	assert_int_equal(gguf_bool(file, "truth", true, &truth, &error), CUTTLE_OK);
	assert_true(truth);
	assert_int_equal(gguf_bool(file, "numbers.u8", true, &truth, &error), CUTTLE_MODEL);
	struct gguf_string text, *texts;
	assert_int_equal(gguf_text(file, "general.name", true, &text, &error), CUTTLE_OK);
	assert_true(text.size == 5 && !memcmp(text.text, "small", 5));
	assert_int_equal(gguf_text(file, "strings", true, &text, &error), CUTTLE_MODEL);
	size_t count;
	assert_int_equal(gguf_strings(file, "strings", true, &texts, &count, &error), CUTTLE_OK);
	assert_int_equal(count, 3);
	assert_true(texts[0].size == 3 && texts[1].size == 0 && texts[2].size == 3 &&
	            !memcmp(texts[2].text, "n\0l", 3));
	free(texts);
	float *floats;
	assert_int_equal(gguf_floats(file, "floats", true, &floats, &count, &error), CUTTLE_OK);
	assert_true(count == 3 && floats[2] == 3);
	free(floats);
	assert_int_equal(gguf_floats(file, "ints", true, &floats, &count, &error), CUTTLE_MODEL);
	int32_t *ints;
	assert_int_equal(gguf_ints(file, "ints", true, &ints, &count, &error), CUTTLE_OK);
	assert_true(count == 2 && ints[0] == -1 && ints[1] == 2);
	free(ints);
	assert_int_equal(gguf_ints(file, "nothing", true, &ints, &count, &error), CUTTLE_OK);
	assert_int_equal(count, 0);
	free(ints);
	assert_int_equal(gguf_ints(file, "varies", true, &ints, &count, &error), CUTTLE_MODEL);
	assert_int_equal(gguf_ints(file, "floats", true, &ints, &count, &error), CUTTLE_MODEL);

	assert_int_equal(gguf_tensor_count(file), 2);
	const struct gguf_tensor *tensor = gguf_tensor_find(file, "b.weight");
	assert_ptr_equal(tensor, gguf_tensor_at(file, 0));
	assert_true(tensor->type == GGUF_TENSOR_Q4_0 && tensor->dimensions == 2 &&
	            tensor->bytes == 36 && tensor->data[0] == 7);
	assert_true(tensor->shape[0] == 32 && tensor->shape[1] == 2 && tensor->shape[2] == 1 &&
	            tensor->shape[3] == 1);
	tensor = gguf_tensor_find(file, "a.weight");
	assert_true(tensor == gguf_tensor_at(file, 1) && tensor->bytes == 256 &&
	            tensor->data + 256 == bytes + size);
	assert_null(gguf_tensor_find(file, "a.weigh"));
	assert_null(gguf_tensor_find(file, ""));
	gguf_free(&file);
	assert_null(file);
	gguf_free(&file);
	free(bytes);
}

static void test_every_truncation(void **state) {
	(void)state;
	size_t size;
	struct cuttle_error error;
	uint8_t *bytes = good_file(&size);
	assert_int_equal(parse(bytes, size, &error), CUTTLE_OK);
	for (size_t cut = 0; cut < size; cut++)
		if (parse(bytes, cut, &error) != CUTTLE_MODEL)
			fail_msg("a file of %zu bytes cut to %zu was accepted", size, cut);
	free(bytes);
}

static void test_every_bit(void **state) {
	(void)state;
	size_t size, accepted = 0;
	struct cuttle_error error;
	uint8_t *bytes = good_file(&size);
	for (size_t i = 0; i < size; i++)
		for (int bit = 0; bit < 9; bit++) {
			uint8_t mask = bit < 8 ? (uint8_t)(1u << bit) : 0xff;
			bytes[i] ^= mask;
			enum cuttle_status status = parse(bytes, size, &error);
			assert_true(status == CUTTLE_OK || status == CUTTLE_MODEL);
			accepted += status == CUTTLE_OK;
			bytes[i] ^= mask;
		}
	// A changed name, value or weight may be accepted. A changed structure may not.
	assert_in_range(accepted, 1, size * 9 * 4 / 5);
	free(bytes);
}

/* Overwrites bytes at `distance` after the end of the first occurrence of `name`, and expects
 * `message` from the parser. */
static void expect(const char *name, size_t distance, const void *value, size_t value_size,
                   const char *message) {
	size_t size;
	struct cuttle_error error;
	uint8_t *bytes = good_file(&size), *place = memmem(bytes, size, name, strlen(name));
	assert_non_null(place);
	memcpy(place + strlen(name) + distance, value, value_size);
	if (parse(bytes, size, &error) != CUTTLE_MODEL || !strstr(error.message, message))
		fail_msg("behind %s: wanted '%s', got '%s'", name, message, error.message);
	free(bytes);
}

static void test_header(void **state) {
	(void)state;
	static const uint32_t versions[] = {0, 1, 4, 0x01000000, UINT32_MAX};
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
		expect("GGUF", 0, &versions[i], 4, "not supported");
	expect("GGUF", 0, &(uint32_t){0x03000000}, 4, "big-endian");
	expect("GG", 0, "JT", 2, "not a GGUF");
	static const uint64_t counts[] = {200, UINT64_C(1) << 31, UINT64_C(1) << 62,
	                                  UINT64_C(1) << 63, UINT64_MAX};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		expect("GGUF", 4, &counts[i], 8, "header announces");
		expect("GGUF", 12, &counts[i], 8, "header announces");
	}
	expect("GGUF", 12, &(uint64_t){17}, 8, ""); // a key read as a tensor
	expect("GGUF", 12, &(uint64_t){19}, 8, ""); // a tensor read as a key
	struct cuttle_error error;
	assert_int_equal(
	    parse((const uint8_t *)"GGUF\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24, &error),
	    CUTTLE_OK);
	assert_int_equal(
	    parse((const uint8_t *)"GGUF\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24, &error),
	    CUTTLE_OK);
	struct gguf *file;
	assert_int_equal(gguf_parse(NULL, 0, &file, NULL), CUTTLE_MODEL);
}

static void test_metadata(void **state) {
	(void)state;
	static const uint64_t sizes[] = {1 << 21, UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX - 7};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		expect("general.name", 4, &sizes[i], 8, "general.name"); // a string's length
		expect("strings", 16, &sizes[i], 8, "string");           // of a string in an array
		expect("strings", 8, &sizes[i], 8, "longer than the file"); // count of strings
		expect("floats", 8, &sizes[i], 8, "longer than the file");  // count of numbers
		expect("GGUF", 20, &sizes[i], 8, "key");                    // a key's length
	}
	expect("GGUF", 20, &(uint64_t){0}, 8, "key");
	expect("general.nam", 0, "\n", 1, "not printable");
	expect("general.name", 0, &(uint32_t){13}, 4, "type");
	expect("general.name", 0, &(uint32_t){UINT32_MAX}, 4, "type");
	expect("floats", 4, &(uint32_t){GGUF_ARRAY}, 4, "array of arrays");
	expect("floats", 4, &(uint32_t){99}, 4, "type");
	expect("truth", 4, "\2", 1, "neither 0 nor 1");
	expect("numbers.u8", 0, &(uint32_t){GGUF_BOOL}, 4, "neither 0 nor 1");
	expect("numbers.", 0, "i8", 2, "stands twice");
	expect("ints", 0, &(uint32_t){GGUF_U32}, 4, "");
	static const uint32_t alignments[] = {0, 1, 3, 4, 12, 48, 1u << 17, 1u << 31};
	for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++)
		expect("general.alignment", 4, &alignments[i], 4, "alignment");
	expect("general.alignment", 0, &(uint32_t){GGUF_F32}, 4, "alignment");
	expect("general.alignment", 4, &(uint32_t){65536}, 4, "ends before the tensors' data");

	size_t size;
	struct cuttle_error error;
	struct gguf_writer *writer = gguf_writer_new();
	gguf_write_value(writer, "split.count", GGUF_U16, &(uint16_t){2});
	uint8_t *bytes = gguf_writer_finish(&writer, &size);
	assert_int_equal(parse(bytes, size, &error), CUTTLE_MODEL);
	assert_non_null(strstr(error.message, "split"));
	free(bytes);
}

static void test_tensors(void **state) {
	(void)state;
	// After a tensor's name come dimensions u32, shape u64[], type u32, offset u64. So the type
	// of b.weight, which has two dimensions, is at 4 + 16.
	static const uint32_t dimensions[] = {0, 5, UINT32_MAX};
	for (size_t i = 0; i < sizeof dimensions / sizeof *dimensions; i++)
		expect("a.weight", 0, &dimensions[i], 4, "1 to 4 dimensions");
	expect("a.weight", 4, &(uint64_t){0}, 8, "impossible shape");
	expect("b.weight", 12, &(uint64_t){0}, 8, "impossible shape");
	expect("b.weight", 12, &(uint64_t){UINT64_MAX}, 8, "impossible shape");
	expect("b.weight", 12, &(uint64_t){UINT64_C(1) << 58}, 8, "outside the file");
	// The number of elements fits into 64 bits; four times that many bytes do not.
	expect("a.weight", 4, &(uint64_t){UINT64_C(1) << 62}, 8, "impossible shape");
	expect("a.weight", 4, &(uint64_t){(UINT64_C(1) << 62) - 1}, 8, "outside the file");
	expect("a.weight", 4, &(uint64_t){65}, 8, "outside the file");
	expect("b.weight", 4, &(uint64_t){33}, 8, "whole blocks");
	static const struct {
		uint32_t type;
		const char *message;
	} types[] = {{16, "type IQ2_XXS, which cuttle does not read yet"},
	             {15, "type Q8_K"},
	             {34, "type TQ1_0"},
	             {4, "unknown type 4"},
	             {31, "unknown type 31"},
	             {40, "unknown type"},
	             {UINT32_MAX, "unknown type"}};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		expect("b.weight", 20, &types[i].type, 4, types[i].message);
	// As Q8_0 the tensor has 68 bytes, as Q4_0 36; the next one begins 64 bytes after it.
	expect("b.weight", 20, &(uint32_t){GGUF_TENSOR_Q8_0}, 4, "overlap");
	expect("a.weight", 16, &(uint64_t){33}, 8, "not aligned");
	expect("a.weight", 16, &(uint64_t){32}, 8, "overlap");
	expect("a.weight", 16, &(uint64_t){0}, 8, "overlap");
	expect("a.weight", 16, &(uint64_t){96}, 8, "outside the file");
	expect("a.weight", 16, &(uint64_t){UINT64_MAX - 31}, 8, "outside the file");
	expect("a.weight", 16, &(uint64_t){UINT64_C(1) << 63}, 8, "outside the file");

	struct cuttle_error error;
	size_t size;
	uint8_t *bytes = good_file(&size), *place = memmem(bytes, size, "b.weight", 8);
	*place = 'a';
	assert_int_equal(parse(bytes, size, &error), CUTTLE_MODEL);
	assert_non_null(strstr(error.message, "stands twice"));
	free(bytes);

	char name[66];
	memset(name, 'n', 65);
	for (int length = 64; length < 66; length++) {
		name[length] = '\0';
		struct gguf_writer *writer = gguf_writer_new();
		gguf_write_tensor(writer, name, GGUF_TENSOR_F32, 1, (const uint64_t[]){1},
		                  &(float){1}, 4);
		bytes = gguf_writer_finish(&writer, &size);
		assert_int_equal(parse(bytes, size, &error),
		                 length == 64 ? CUTTLE_OK : CUTTLE_MODEL);
		free(bytes);
		name[length] = 'n';
	}
}

/* Many keys cost n log n, since names are sorted. Two equal ones among them are always found. */
static void test_many_keys(void **state) {
	(void)state;
	for (int twice = 0; twice < 2; twice++) {
		struct gguf_writer *writer = gguf_writer_new();
		char key[32];
		for (int i = 0; i < 100000; i++) {
			snprintf(key, sizeof key, "key.%d", (int)((i * 7919LL) % 100003));
			gguf_write_u32(writer, key, 1);
		}
		if (twice) gguf_write_text(writer, key, "of another type");
		size_t size;
		struct cuttle_error error;
		uint8_t *bytes = gguf_writer_finish(&writer, &size);
		assert_int_equal(parse(bytes, size, &error), twice ? CUTTLE_MODEL : CUTTLE_OK);
		free(bytes);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_reads_back), cmocka_unit_test(test_every_truncation),
	    cmocka_unit_test(test_every_bit),  cmocka_unit_test(test_header),
	    cmocka_unit_test(test_metadata),   cmocka_unit_test(test_tensors),
	    cmocka_unit_test(test_many_keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
