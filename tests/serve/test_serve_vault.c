// SPDX-License-Identifier: Apache-2.0
// Tests serve/jobs/vault.c. It fails if references are not read back as they came, or a word of
// them is on a disk. It fails if a changed, cut or foreign file is read. It fails if a wiped key is
// found, or if references are put in place that a power cut may halve.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "serve/jobs/vault.h"
#include "tests/support/files.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is synced before what -------------------------------------------------------------- */

/* As in tests/promises/test_durability.c: a symbol of the program comes before the C library's. */
static struct {
	const char *refuses; /* the folder whose sync fails; NULL = none */
	bool part_dirty;     /* refs.part was written behind its last sync */
	bool folder_dirty;   /* the job's folder has a new name that was not synced */
	size_t too_early;    /* renames of what was dirty, or before the mark stood */
} disk;

static void *next_symbol(const char *name) {
	void *found = dlsym(RTLD_NEXT, name);
	if (!found) abort();
	return found;
}

/* The last part of the file's name, in `path`. */
static const char *name_of(int file, char path[PATH_MAX]) {
	char link[64];
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
	const ssize_t size = readlink(link, path, PATH_MAX - 1);
	path[size > 0 ? size : 0] = 0;
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

#define INSTEAD __attribute__((visibility("default")))
INSTEAD ssize_t write(int file, const void *bytes, size_t size) {
	ssize_t (*real)(int, const void *, size_t);
	char path[PATH_MAX];
	*(void **)&real = next_symbol("write");
	if (!strcmp(name_of(file, path), "refs.part")) disk.part_dirty = true;
	return real(file, bytes, size);
}

INSTEAD int fsync(int file) {
	int (*real)(int);
	char path[PATH_MAX];
	*(void **)&real = next_symbol("fsync");
	const char *name = name_of(file, path);
	if (disk.refuses && !strcmp(path, disk.refuses)) {
		errno = EIO;
		return -1;
	}
	if (!strcmp(name, "refs.part")) disk.part_dirty = false;
	if (!strcmp(name, "job_a")) disk.folder_dirty = false;
	return real(file);
}

INSTEAD int rename(const char *from, const char *to) {
	int (*real)(const char *, const char *);
	char mark_path[PATH_MAX];
	*(void **)&real = next_symbol("rename");
	(void)snprintf(mark_path, sizeof mark_path, "%s.unseen", to);
	disk.too_early += disk.part_dirty || disk.folder_dirty || access(mark_path, F_OK) != 0;
	disk.folder_dirty = true;
	return real(from, to);
}

INSTEAD int open(const char *path, int flags, ...) {
	int (*real)(const char *, int, ...);
	va_list rest;
	va_start(rest, flags);
	const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	*(void **)&real = next_symbol("open");
	if (flags & O_CREAT && strstr(path, "refs.unseen")) disk.folder_dirty = true;
	return real(path, flags, mode);
}

/* ---- the vault ------------------------------------------------------------------------------- */

static char folder[] = "/tmp/cuttle-vault-XXXXXX", keys[64], job[64], refs[80], key[80], mark[96];
static struct vault vault;
static unsigned char kept[4 * VAULT_PIECE], file[5 * VAULT_PIECE];

/* Text of that many bytes, with a word in each line. */
static size_t fill(unsigned char *bytes, size_t size) {
	for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)"CANARY-42 was here\n"[i % 19];
	return size;
}

static void keep(size_t size, size_t piece) {
	struct vault_writer *writer;
	assert_int_equal(vault_begin(&vault, "job_a", &writer, NULL), CUTTLE_OK);
	(void)fill(kept, size);
	for (size_t at = 0; at < size; at += piece) {
		const size_t now = size - at < piece ? size - at : piece;
		assert_int_equal(vault_add(writer, kept + at, now, NULL), CUTTLE_OK);
	}
	assert_int_equal(vault_keep(&writer, NULL), CUTTLE_OK);
	assert_null(writer);
}

/* Reads all back, and compares. False: refused on the way. */
static bool read_back(size_t size) {
	struct vault_reader *reader;
	const void *bytes;
	size_t got = 0, now;
	if (vault_read(&vault, "job_a", &reader, NULL)) return false;
	for (;;) {
		if (vault_next(reader, &bytes, &now, NULL)) {
			vault_close(&reader);
			return false;
		}
		if (!now) break;
		assert_true(got + now <= size);
		assert_memory_equal(bytes, kept + got, now);
		got += now;
	}
	vault_close(&reader);
	return got == size;
}

static void all_sizes_come_back(void **state) {
	(void)state;
	static const size_t sizes[] = {0,
	                               1,
	                               17,
	                               VAULT_PIECE - 1,
	                               VAULT_PIECE,
	                               VAULT_PIECE + 1,
	                               3 * VAULT_PIECE,
	                               3 * VAULT_PIECE + 5};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		keep(sizes[i], i % 2 ? 1000 : 100000);
		assert_true(read_back(sizes[i]));
	}
}

static void nothing_is_in_the_clear(void **state) {
	(void)state;
	struct stat mode;
	struct vault_writer *writer;
	const mode_t old = umask(0);
	keep(2 * VAULT_PIECE, 4096);
	(void)umask(old);
	const size_t size = files_get(refs, file, sizeof file);
	assert_null(memmem(file, size, "CANARY", 6));
	assert_int_equal(stat(refs, &mode), 0);
	assert_int_equal(mode.st_mode & 0777, 0600);
	assert_int_equal(stat(key, &mode), 0);
	assert_int_equal(mode.st_mode & 0777, 0600);
	// Nor while it arrives.
	char part[96];
	(void)snprintf(part, sizeof part, "%s.part", refs);
	assert_int_equal(vault_begin(&vault, "job_a", &writer, NULL), CUTTLE_OK);
	assert_int_equal(vault_add(writer, kept, 2 * VAULT_PIECE, NULL), CUTTLE_OK);
	const size_t arrived = files_get(part, file, sizeof file);
	assert_true(arrived >= VAULT_PIECE);
	assert_null(memmem(file, arrived, "CANARY", 6));
	vault_drop(&writer);
	assert_int_not_equal(access(part, F_OK), 0);
	assert_true(read_back(2 * VAULT_PIECE)); // what was there before is still there
}

static void two_uploads_have_two_keys(void **state) {
	(void)state;
	unsigned char one[128], two[128];
	keep(10, 10);
	const size_t size = files_get(key, one, sizeof one);
	keep(10, 10);
	assert_int_equal(files_get(key, two, sizeof two), size);
	assert_memory_not_equal(one, two, 32);
}

static void a_changed_file_is_refused(void **state) {
	(void)state;
	keep(3 * VAULT_PIECE, 5000);
	const size_t size = files_get(refs, file, sizeof file);
	static const size_t places[] = {0, 23, 24, 70000, 3 * VAULT_PIECE};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		file[places[i]] ^= 1;
		files_put(refs, file, size);
		assert_false(read_back(3 * VAULT_PIECE));
		file[places[i]] ^= 1;
	}
	// Cut at a seam, it is refused as well: its last piece is not the last one written.
	files_put(refs, file, 24 + (VAULT_PIECE + 17));
	assert_false(read_back(VAULT_PIECE));
	files_put(refs, file, size);
	assert_true(read_back(3 * VAULT_PIECE));
}

static void what_is_wiped_is_gone(void **state) {
	(void)state;
	struct vault_reader *reader;
	unsigned char before[128];
	keep(100, 10);
	assert_true(vault_has(&vault, "job_a"));
	assert_true(vault_age(&vault, "job_a") >= 0 && vault_age(&vault, "job_a") < 100);
	// A second name shows what becomes of the key's bytes.
	char second[96];
	(void)snprintf(second, sizeof second, "%s/second", keys);
	assert_int_equal(link(key, second), 0);
	vault_wipe(&vault, "job_a");
	assert_false(vault_has(&vault, "job_a"));
	assert_int_not_equal(access(key, F_OK), 0);
	assert_int_not_equal(access(refs, F_OK), 0);
	const size_t size = files_get(second, before, sizeof before);
	assert_true(size >= 32 && sodium_is_zero(before, size));
	(void)unlink(second);
	assert_int_equal(vault_read(&vault, "job_a", &reader, NULL), CUTTLE_INTERNAL);
	vault_wipe(&vault, "job_a");
	vault_wipe(&vault, "job_b");
	assert_true(vault_age(&vault, "job_a") == 0);
}

static void a_lost_key_is_a_lost_file(void **state) {
	(void)state;
	keep(100, 10);
	(void)unlink(key); // as a reboot does
	assert_false(vault_has(&vault, "job_a"));
	assert_false(read_back(100));
	files_put(key, "short", 5);
	assert_false(vault_has(&vault, "job_a"));
	assert_false(read_back(100));
}

/* A job that is cancelled loses the file that arrives. Then no key may stay. */
static void a_cancelled_upload_leaves_no_key(void **state) {
	(void)state;
	struct vault_writer *writer;
	vault_wipe(&vault, "job_a");
	assert_int_equal(vault_begin(&vault, "job_a", &writer, NULL), CUTTLE_OK);
	assert_int_equal(vault_add(writer, "text", 4, NULL), CUTTLE_OK);
	vault_wipe(&vault, "job_a");
	assert_int_equal(vault_keep(&writer, NULL), CUTTLE_INTERNAL);
	assert_null(writer);
	assert_int_not_equal(access(key, F_OK), 0);
	assert_int_not_equal(access(refs, F_OK), 0);
	assert_int_not_equal(access(mark, F_OK), 0);
}

/* What a power cut leaves under the name refs is whole, and marked as seen by nobody. */
static void nothing_is_put_in_place_unsynced(void **state) {
	(void)state;
	vault_wipe(&vault, "job_a");
	disk.part_dirty = disk.folder_dirty = false;
	disk.too_early = 0;
	keep(3 * VAULT_PIECE + 5, 1000);
	assert_int_equal(disk.too_early, 0);
	assert_false(disk.folder_dirty);
	vault_wipe(&vault, "job_a");
}

/* An upload that cannot be kept takes nothing from the one before it, nor does a sweep then. */
static void a_failed_keep_leaves_what_was_there(void **state) {
	(void)state;
	struct vault_writer *writer;
	struct cuttle_error error;
	char place[PATH_MAX];
	keep(100, 100);
	vault_trust(&vault, "job_a");
	assert_int_equal(vault_begin(&vault, "job_a", &writer, NULL), CUTTLE_OK);
	assert_int_equal(vault_add(writer, "text", 4, NULL), CUTTLE_OK);
	assert_non_null(realpath(job, place));
	disk.refuses = place;
	assert_int_equal(vault_keep(&writer, &error), CUTTLE_INTERNAL);
	disk.refuses = NULL;
	assert_null(writer);
	assert_int_not_equal(access(mark, F_OK), 0);
	vault_sweep(&vault, "job_a");
	assert_true(read_back(100));
	vault_wipe(&vault, "job_a");
}

/* A kill may come before anybody has looked at them. */
static void what_nobody_looked_at_is_swept(void **state) {
	(void)state;
	keep(100, 100);
	vault_sweep(&vault, "job_a");
	assert_false(vault_has(&vault, "job_a"));
	keep(100, 100);
	vault_trust(&vault, "job_a");
	vault_sweep(&vault, "job_a");
	assert_true(read_back(100));
	vault_wipe(&vault, "job_a");
}

/* What cannot be opened for want of a descriptor is not lost. */
static void a_passing_failure_is_told_apart(void **state) {
	(void)state;
	struct vault_reader *reader;
	struct rlimit limit;
	keep(100, 10);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	const int next = dup(0);
	(void)close(next);
	for (int spare = 0; spare < 2; spare++) { // not the file, then the file but not its key
		const struct rlimit few = {(rlim_t)(next + spare), limit.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		const enum cuttle_status status = vault_read(&vault, "job_a", &reader, NULL);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		assert_int_equal(status, CUTTLE_PARTIAL);
		assert_null(reader);
	}
	assert_true(read_back(100));
}

static void a_foreign_place_is_refused(void **state) {
	(void)state;
	struct vault_writer *writer;
	struct cuttle_error error;
	const struct vault nowhere = {"/dev/null", keys};
	assert_int_equal(vault_begin(&nowhere, "job_a", &writer, &error), CUTTLE_INTERNAL);
	assert_null(writer);
	assert_null(strstr(error.message, "/dev")); // no name of the server is told
	// A link in the place of the file is not followed.
	char part[96];
	(void)snprintf(part, sizeof part, "%s.part", refs);
	vault_wipe(&vault, "job_a");
	assert_int_equal(symlink("/dev/null", part), 0);
	assert_int_equal(vault_begin(&vault, "job_a", &writer, &error), CUTTLE_INTERNAL);
	(void)unlink(part);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_sizes_come_back),
	    cmocka_unit_test(nothing_is_in_the_clear),
	    cmocka_unit_test(two_uploads_have_two_keys),
	    cmocka_unit_test(a_changed_file_is_refused),
	    cmocka_unit_test(what_is_wiped_is_gone),
	    cmocka_unit_test(a_lost_key_is_a_lost_file),
	    cmocka_unit_test(a_cancelled_upload_leaves_no_key),
	    cmocka_unit_test(nothing_is_put_in_place_unsynced),
	    cmocka_unit_test(a_failed_keep_leaves_what_was_there),
	    cmocka_unit_test(what_nobody_looked_at_is_swept),
	    cmocka_unit_test(a_passing_failure_is_told_apart),
	    cmocka_unit_test(a_foreign_place_is_refused),
	};
	if (sodium_init() < 0 || !mkdtemp(folder)) return 1;
	(void)snprintf(keys, sizeof keys, "%s/keys", folder);
	(void)snprintf(job, sizeof job, "%s/job_a", folder);
	(void)snprintf(refs, sizeof refs, "%s/refs", job);
	(void)snprintf(key, sizeof key, "%s/job_a.key", keys);
	(void)snprintf(mark, sizeof mark, "%s.unseen", refs);
	if (mkdir(keys, 0700) || mkdir(job, 0700)) return 1;
	vault = (struct vault){folder, keys};
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	vault_wipe(&vault, "job_a");
	return failed || rmdir(keys) || rmdir(job) || rmdir(folder);
}
