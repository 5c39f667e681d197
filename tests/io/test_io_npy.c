// SPDX-License-Identifier: Apache-2.0
// Tests io/tables/npy: the versions and types that are read, and files that are refused. It fails
// if a number is read differently, if a file that is cut or has a wrong header is accepted, or if a
// shape makes the reader take memory that the file does not fill.
#include "io/tables/npy.h"
#include "tests/support/files.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char path[] = "/tmp/cuttle-npy-XXXXXX";

static int make_file(void **state) {
	(void)state;
	files_put_new(path, "", 0);
	return 0;
}

static int remove_file(void **state) {
	(void)state;
	return unlink(path);
}

/* Writes a file with this header and these numbers; returns its size. */
static size_t put_npy(unsigned char version, const char *header, const void *numbers, size_t bytes,
                      char *file) {
	const size_t length = strlen(header), begin = version == 1 ? 10 : 12;
	memcpy(file, "\x93NUMPY", 6);
	file[6] = (char)version;
	file[7] = 0;
	memset(file + 8, 0, 4);
	file[8] = (char)(length & 255);
	file[9] = (char)(length >> 8);
	memcpy(file + begin, header, length);
	memcpy(file + begin + length, numbers, bytes);
	files_put(path, file, begin + length + bytes);
	return begin + length + bytes;
}

#define HEADER(type, shape)                                                                        \
	"{'descr': '" type "', 'fortran_order': False, 'shape': " shape ", }  \n"
static const float NUMBERS[6] = {1, -2.5f, 3e-20f, 4, 0, -6};

static void check_good(unsigned char version, const char *header, const void *numbers,
                       size_t bytes) {
	char file[512];
	struct npy npy;
	struct cuttle_error error = {""};
	put_npy(version, header, numbers, bytes, file);
	if (npy_read(path, &npy, &error)) fail_msg("%s", error.message);
	assert_int_equal(npy.count, 2);
	assert_int_equal(npy.width, 3);
	assert_memory_equal(npy.rows, NUMBERS, sizeof NUMBERS);
	npy_free(&npy);
	assert_null(npy.rows);
}

static void test_good(void **state) {
	(void)state;
	double doubles[6];
	for (size_t i = 0; i < 6; i++) doubles[i] = (double)NUMBERS[i];
	for (unsigned char version = 1; version <= 3; version++) {
		check_good(version, HEADER("<f4", "(2, 3)"), NUMBERS, sizeof NUMBERS);
		check_good(version, HEADER("<f8", "(2,3,)"), doubles, sizeof doubles);
	}
	check_good(1, "{'shape':(2,3),'descr':'<f4','fortran_order':False}", NUMBERS,
	           sizeof NUMBERS);
}

static void check_bad(size_t size, const char *file, const char *what) {
	struct npy npy;
	struct cuttle_error error = {""};
	files_put(path, file, size);
	if (npy_read(path, &npy, &error) != CUTTLE_INPUT) fail_msg("accepted: %s", what);
	if (!strstr(error.message, path)) fail_msg("%s: %s", what, error.message);
	assert_null(npy.rows);
	npy_free(&npy);
}

static void test_cut(void **state) {
	(void)state;
	char file[512];
	const size_t size = put_npy(1, HEADER("<f4", "(2, 3)"), NUMBERS, sizeof NUMBERS, file);
	for (size_t cut = 0; cut < size; cut++) check_bad(cut, file, "cut");
	file[size] = 0;
	check_bad(size + 1, file, "a byte more");
	file[6] = 4;
	check_bad(size, file, "version 4");
	file[6] = 1;
	file[0] = 'x';
	check_bad(size, file, "no magic");
}

static void test_bad_headers(void **state) {
	(void)state;
	static const char *const headers[] = {
	    HEADER(">f4", "(2, 3)"),
	    HEADER("<i4", "(2, 3)"),
	    HEADER("|O", "(2, 3)"),
	    HEADER("<f4", "(6,)"),
	    HEADER("<f4", "(2, 3, 1)"),
	    HEADER("<f4", "(2, -3)"),
	    HEADER("<f4", "(3, 3)"),
	    HEADER("<f4", "(0, 3)"),
	    HEADER("<f4", "(2, 0)"),
	    HEADER("<f4", "(1, 99999)"),
	    HEADER("<f4", "(4611686018427387904, 4)"),
	    HEADER("<f4", "(6148914691236517206, 3)"),
	    HEADER("<f4", "(99999999999999999999, 3)"),
	    "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
	    "{'descr': '<f4', 'fortran_order': False, }",
	    "{'descr': '<f4', 'shape': (2, 3), }",
	    "{'fortran_order': False, 'shape': (2, 3), }",
	    "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
	    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
	    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } x",
	    "{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3), }",
	    "",
	};
	char file[512];
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
		const size_t size = put_npy(1, headers[i], NUMBERS, sizeof NUMBERS, file);
		check_bad(size, file, headers[i]);
	}
}

static void test_bad_numbers(void **state) {
	(void)state;
	char file[512];
	float singles[6];
	const float bad[] = {NAN, INFINITY, -INFINITY};
	for (size_t i = 0; i < 3; i++) {
		memcpy(singles, NUMBERS, sizeof singles);
		singles[5] = bad[i];
		check_bad(put_npy(1, HEADER("<f4", "(2, 3)"), singles, sizeof singles, file), file,
		          "not finite");
	}
	// Finite as a double, but not as the float that is kept.
	const double large[6] = {1e300};
	check_bad(put_npy(1, HEADER("<f8", "(2, 3)"), large, sizeof large, file), file,
	          "too large");
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_good),
	    cmocka_unit_test(test_cut),
	    cmocka_unit_test(test_bad_headers),
	    cmocka_unit_test(test_bad_numbers),
	};
	return cmocka_run_group_tests_name("npy", tests, make_file, remove_file);
}
