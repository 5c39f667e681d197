// SPDX-License-Identifier: Apache-2.0
// Tests io/disk/model_hash: libcrypto and libsodium must give the same digits, however the bytes
// are cut. It fails if a digit differs, if a small model loads libcrypto, if a large one does
// without where it is installed, or if its absence, or another library in its place, is noticed.
#include "io/disk/model_hash.h"
#include "tests/support/files.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { ROOM = MODEL_HASH_LARGE + (1 << 20) + 128 };
static const size_t SIZES[] = {0, 1, 55, 56, 63, 64, 65, 1 << 20};
enum { SIZE_COUNT = sizeof SIZES / sizeof *SIZES };

static unsigned char *bytes;
static const char *absent; /* part of the names of libraries that are not found; NULL = none */

void *__real_dlopen(const char *library, int flags);
void *__wrap_dlopen(const char *library, int flags);

void *__wrap_dlopen(const char *library, int flags) {
	// Something that is no libcrypto stands there instead.
	return __real_dlopen(absent && strstr(library, absent) ? "libm.so.6" : library, flags);
}

static int fill_bytes(void **state) {
	(void)state;
	bytes = malloc(ROOM);
	uint32_t number = 1;
	for (size_t i = 0; bytes && i < ROOM; i++) {
		number = number * 1664525u + 1013904223u;
		bytes[i] = (unsigned char)(number >> 24);
	}
	return !bytes;
}

static int free_bytes(void **state) {
	(void)state;
	free(bytes);
	return 0;
}

/* Hashes bytes[size]: a first piece, then pieces of at most `piece` bytes. Compares the digits with
 * hash.h's. Returns whether libcrypto did it. */
static bool compare_hashes(size_t first, size_t size, size_t piece) {
	char wanted[HASH_TEXT], is[HASH_TEXT];
	struct model_hash hash;
	hash_of(bytes, size, wanted);
	model_hash_begin(&hash);
	model_hash_add(&hash, bytes, first);
	for (size_t at = first; at < size; at += piece)
		model_hash_add(&hash, bytes + at, size - at < piece ? size - at : piece);
	const bool by_libcrypto = hash.by_libcrypto;
	model_hash_end(&hash, is);
	assert_string_equal(is, wanted);
	return by_libcrypto;
}

static void hashes_small_models_without_it(void **state) {
	(void)state;
	absent = "libcrypto"; // It is not even asked for.
	for (size_t i = 0; i < SIZE_COUNT; i++)
		for (size_t piece = 1; piece <= 1 << 20; piece *= 64) {
			if (SIZES[i] / piece > 1 << 16) continue;
			const size_t first = SIZES[i] < piece ? SIZES[i] : piece;
			assert_false(compare_hashes(first, SIZES[i], piece));
		}
	absent = NULL;
	assert_false(compare_hashes(MODEL_HASH_LARGE - 1, ROOM, MODEL_HASH_LARGE));
	assert_null(__real_dlopen("libcrypto.so.3", RTLD_LAZY | RTLD_NOLOAD));
}

/* Hashes a large model in a process of its own, where libraries of that name are not libcrypto: it
 * is never unloaded. Returns whether libcrypto did it. */
static bool hash_without(const char *name) {
	const pid_t child = fork();
	assert_true(child >= 0);
	if (!child) {
		absent = name;
		_exit(compare_hashes(MODEL_HASH_LARGE, ROOM, 100000) ? 10 : 11);
	}
	int code;
	assert_int_equal(waitpid(child, &code, 0), child);
	assert_true(WIFEXITED(code) && (WEXITSTATUS(code) == 10 || WEXITSTATUS(code) == 11));
	return WEXITSTATUS(code) == 10;
}

static void hashes_large_models_by_either(void **state) {
	(void)state;
	const bool old = hash_without("libcrypto.so.3");
	assert_false(hash_without("libcrypto"));
	bool found = false;
	for (size_t i = 0; i < SIZE_COUNT; i++) {
		const size_t size = MODEL_HASH_LARGE + SIZES[i];
		for (size_t piece = 1; piece <= 1 << 20; piece *= 64)
			if (SIZES[i] / piece <= 1 << 16)
				found = compare_hashes(MODEL_HASH_LARGE, size, piece);
	}
#if defined(CUTTLE_LIBCRYPTO)
	assert_true(found == (old || __real_dlopen("libcrypto.so.3", RTLD_LAZY)));
	if (!found) fprintf(stderr, "test_io_model_hash: there is no libcrypto to compare with\n");
#else
	assert_false(found || old);
#endif
}

static void hashes_files(void **state) {
	(void)state;
	char path[] = "/tmp/cuttle-hash-XXXXXX", wanted[HASH_TEXT], is[HASH_TEXT];
	const size_t sizes[] = {0, 3, MODEL_HASH_LARGE - 1, MODEL_HASH_LARGE, ROOM};
	struct cuttle_error error = {""};
	uint64_t size;
	files_put_new(path, "", 0);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		files_put(path, bytes, sizes[i]);
		hash_of(bytes, sizes[i], wanted);
		assert_int_equal(model_hash_file(path, is, &size, &error), CUTTLE_OK);
		assert_string_equal(is, wanted);
		assert_int_equal(size, sizes[i]);
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(model_hash_file(path, is, &size, &error), CUTTLE_INPUT);
	assert_non_null(strstr(error.message, path));
	assert_int_equal(model_hash_file("/tmp", is, &size, &error), CUTTLE_INPUT);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(hashes_small_models_without_it),
	    cmocka_unit_test(hashes_large_models_by_either),
	    cmocka_unit_test(hashes_files),
	};
	return cmocka_run_group_tests(tests, fill_bytes, free_bytes);
}
