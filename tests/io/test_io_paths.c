// SPDX-License-Identifier: Apache-2.0
// Tests io/disk/paths.c and io/disk/file.c. It fails if two names of one file are taken for two
// files, or names of two for one. It fails if a scratch file touches another file, or if a secret
// key is read from a file that others can reach or own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/disk/file.h"
#include "io/disk/paths.h"
#include "tests/support/files.h"
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static char folder[] = "/tmp/cuttle-paths-XXXXXX";
static struct cuttle_error error;

static enum cuttle_status check_pair(const char *input, const char *output) {
	const struct path_use uses[] = {PATH_ALONE("-i", input, PATH_STREAM),
	                                {"-o", output, PATH_OUTPUT, NULL, {".journal", ".key"}}};
	return paths_check(uses, 2, &error);
}

/* Tries the pair, and that the message names both. */
static void expect_hit(const char *input, const char *output) {
	char wanted[256];
	assert_int_equal(check_pair(input, output), CUTTLE_USAGE);
	(void)snprintf(wanted, sizeof wanted,
	               "-o %s would overwrite %s, which -i reads: choose another name", output,
	               input);
	assert_string_equal(error.message, wanted);
}

/* Names under which nothing stands yet, or something else does. */
static void names_of_one_place(void **state) {
	(void)state;
	expect_hit("z", "z");
	expect_hit("./z", "z");
	expect_hit("z", "sub/../z");
	expect_hit("link/z", "z");
	expect_hit("sub/z", "link/sub/z");
	expect_hit("z.journal", "z");
	expect_hit("./z.key", "link/z");
	assert_int_equal(check_pair("z", "sub/z"), CUTTLE_OK);
	assert_int_equal(check_pair("z.journals", "z"), CUTTLE_OK);
	assert_int_equal(check_pair("zz", "z"), CUTTLE_OK);
	assert_int_equal(check_pair("z", "z.journal"), CUTTLE_OK);
	assert_int_equal(check_pair(NULL, "z"), CUTTLE_OK);
	assert_int_equal(check_pair("z", NULL), CUTTLE_OK);
}

static void names_of_one_file(void **state) {
	(void)state;
	files_put("real", "text", 4);
	assert_int_equal(symlink("real", "soft"), 0);
	assert_int_equal(link("real", "hard"), 0);
	expect_hit("soft", "real");
	expect_hit("real", "soft");
	expect_hit("real", "hard");
	expect_hit("hard", "soft");
	assert_int_equal(rename("hard", "out.journal"), 0);
	expect_hit("real", "out");
	assert_int_equal(unlink("soft") | unlink("out.journal"), 0);
	files_put("twin", "text", 4);
	assert_int_equal(check_pair("real", "twin"), CUTTLE_OK);
	assert_int_equal(unlink("real") | unlink("twin"), 0);
}

static void scratch_names(void **state) {
	(void)state;
	expect_hit("z.part", "z");
	expect_hit("link/z.tmp", "./z");
	expect_hit("z.part-0123456789abcdef", "z");
	expect_hit("z.journal.tmp-1", "z");
	assert_int_equal(check_pair("z.parts", "z"), CUTTLE_OK);
	assert_int_equal(check_pair("z.tmp.jsonl", "z"), CUTTLE_OK);
	assert_int_equal(check_pair("sub/z.part", "z"), CUTTLE_OK);
	assert_int_equal(check_pair("y.part", "z"), CUTTLE_OK);
	assert_int_equal(check_pair("z.part", "-"), CUTTLE_OK);
}

static void outputs_among_themselves(void **state) {
	(void)state;
	const struct path_use direct[] = {PATH_ALONE("-o", "z", PATH_OUTPUT),
	                                  PATH_ALONE("--receipt", "./z", PATH_RECORD)};
	assert_int_equal(paths_check(direct, 2, &error), CUTTLE_USAGE);
	assert_string_equal(
	    error.message, "--receipt ./z would overwrite z, which -o writes: choose another name");
	const struct path_use also[] = {{"-o", "z", PATH_OUTPUT, "z.json", {NULL}},
	                                PATH_ALONE("--trace", "z.json", PATH_RECORD)};
	assert_int_equal(paths_check(also, 2, &error), CUTTLE_USAGE);
	const struct path_use beside[] = {{"--ledger", "l", PATH_LEDGER, NULL, {"-wal"}},
	                                  PATH_ALONE("-o", "l-wal", PATH_OUTPUT)};
	assert_int_equal(paths_check(beside, 2, &error), CUTTLE_USAGE);
	const struct path_use inputs[] = {PATH_ALONE("-i", "z", PATH_STREAM),
	                                  PATH_ALONE("--prompt", "z", PATH_STREAM)};
	assert_int_equal(paths_check(inputs, 2, &error), CUTTLE_OK);
	const struct path_use streams[] = {PATH_ALONE("-i", "-", PATH_STREAM),
	                                   PATH_ALONE("--prompt", "-", PATH_STREAM)};
	assert_int_equal(paths_check(streams, 2, &error), CUTTLE_USAGE);
	assert_string_equal(error.message, "-i and --prompt: only one of them can be -");
}

static enum cuttle_status check_one(const char *path, enum path_role role) {
	const struct path_use use = PATH_ALONE("-x", path, role);
	return paths_check(&use, 1, &error);
}

static void kinds(void **state) {
	(void)state;
	static const enum cuttle_status wrong[] = {
	    [PATH_STREAM] = CUTTLE_INPUT, [PATH_FILE] = CUTTLE_INPUT,
	    [PATH_MODEL] = CUTTLE_MODEL,  [PATH_FOLDER] = CUTTLE_MODEL,
	    [PATH_RUN] = CUTTLE_USAGE,    [PATH_LEDGER] = CUTTLE_LEDGER,
	    [PATH_OUTPUT] = CUTTLE_USAGE, [PATH_RECORD] = CUTTLE_USAGE,
	    [PATH_COPY] = CUTTLE_USAGE};
	assert_int_equal(mkfifo("pipe", 0600), 0);
	files_put("plain", "", 0);
	for (enum path_role role = PATH_STREAM; role <= PATH_COPY; role++) {
		const bool holds = role == PATH_FOLDER || role == PATH_RUN;
		assert_int_equal(check_one("", role), CUTTLE_USAGE);
		assert_int_equal(check_one("absent", role), CUTTLE_OK);
		assert_int_equal(check_one("plain", role), holds ? wrong[role] : CUTTLE_OK);
		assert_int_equal(check_one("sub", role), holds ? CUTTLE_OK : wrong[role]);
		assert_int_equal(check_one("pipe", role),
		                 role == PATH_STREAM ? CUTTLE_OK : wrong[role]);
		assert_int_equal(check_one("/dev/null", role),
		                 role == PATH_STREAM ? CUTTLE_OK : wrong[role]);
	}
	assert_int_equal(check_one("-", PATH_OUTPUT), CUTTLE_OK);
	assert_int_equal(check_one("-", PATH_RECORD), CUTTLE_USAGE);
	assert_int_equal(check_one("-", PATH_COPY), CUTTLE_USAGE);
	assert_int_equal(check_one("z.tsv", PATH_RECORD), CUTTLE_USAGE);
	assert_int_equal(check_one("z.tsv", PATH_COPY), CUTTLE_OK);
	assert_int_equal(unlink("pipe") | unlink("plain"), 0);
}

static void folders_of_outputs(void **state) {
	(void)state;
	assert_int_equal(check_one("nowhere/z", PATH_OUTPUT), CUTTLE_USAGE);
	assert_string_equal(error.message,
	                    "-x nowhere/z: there is no folder nowhere; make it first");
	files_put("plain", "", 0);
	assert_int_equal(check_one("plain/z", PATH_OUTPUT), CUTTLE_USAGE);
	assert_int_equal(check_one("nowhere/z", PATH_STREAM), CUTTLE_OK);
	assert_int_equal(unlink("plain"), 0);
}

/* ---- scratch files --------------------------------------------------------------------------- */

static void expect_bytes(const char *path, const char *wanted) {
	char bytes[64];
	const size_t size = files_get(path, bytes, sizeof bytes);
	assert_int_equal(size, strlen(wanted));
	assert_memory_equal(bytes, wanted, size);
}

static void scratch_is_new(void **state) {
	(void)state;
	char *one, *other;
	const mode_t mask = umask(022);
	const int first = file_scratch("z", FILE_PART, 0666, &one),
	          second = file_scratch("z", FILE_PART, 0600, &other);
	(void)umask(mask);
	assert_true(first >= 0 && second >= 0);
	assert_int_equal(strncmp(one, "z.part-", 7), 0);
	assert_int_equal(strlen(one), 7 + 16);
	assert_string_not_equal(one, other);
	struct stat about;
	assert_int_equal(fstat(first, &about), 0);
	assert_int_equal(about.st_mode & 0777, 0644);
	assert_int_equal(fstat(second, &about), 0);
	assert_int_equal(about.st_mode & 0777, 0600);
	assert_int_equal(close(first) | close(second) | unlink(one) | unlink(other), 0);
	free(one);
	free(other);
	assert_int_equal(file_scratch("nowhere/z", FILE_PART, 0600, &one), -1);
	assert_int_equal(errno, ENOENT);
	assert_null(one);
}

/* Files of these names were written over once. */
static void what_stands_stays(void **state) {
	(void)state;
	struct sink sink;
	files_put("z.part", "mine", 4);
	files_put("z.tmp", "mine too", 8);
	assert_int_equal(file_replace("z", "one", 3), 0);
	expect_bytes("z", "one");
	assert_int_equal(sink_open(&sink, "z", &error), CUTTLE_OK);
	assert_int_equal(sink_write(&sink, "two", 3, &error), CUTTLE_OK);
	expect_bytes("z", "one");
	assert_int_equal(sink_close(&sink, CUTTLE_OK, &error), CUTTLE_OK);
	expect_bytes("z", "two");
	assert_int_equal(sink_open(&sink, "z", &error), CUTTLE_OK);
	assert_int_equal(sink_close(&sink, CUTTLE_INPUT, &error), CUTTLE_INPUT);
	expect_bytes("z", "two");
	assert_int_equal(sink_open(&sink, "z", &error), CUTTLE_OK);
	assert_int_equal(access(sink.part, F_OK), 0);
	sink_abandon();
	assert_int_equal(access(sink.part, F_OK), -1);
	assert_int_equal(sink_close(&sink, CUTTLE_INPUT, &error), CUTTLE_INPUT);
	expect_bytes("z.part", "mine");
	expect_bytes("z.tmp", "mine too");
	assert_int_equal(unlink("z") | unlink("z.part") | unlink("z.tmp"), 0);
}

/* An access list that gives a user, or a group, leave to read. */
static int let_read(const char *path, uint16_t tag, uint32_t number) {
	const struct posix_acl_xattr_entry one = {htole16(tag), htole16(4), htole32(number)},
	                                   owners = {htole16(ACL_GROUP_OBJ), 0,
	                                             htole32((uint32_t)-1)};
	// Their order is by tag: a user, the owner's group, a group.
	const struct {
		struct posix_acl_xattr_header head;
		struct posix_acl_xattr_entry entries[5];
	} list = {{htole32(POSIX_ACL_XATTR_VERSION)},
	          {{htole16(ACL_USER_OBJ), htole16(4), htole32((uint32_t)-1)},
	           tag == ACL_USER ? one : owners,
	           tag == ACL_USER ? owners : one,
	           {htole16(ACL_MASK), htole16(4), htole32((uint32_t)-1)},
	           {htole16(ACL_OTHER), 0, htole32((uint32_t)-1)}}};
	return setxattr(path, "system.posix_acl_access", &list, sizeof list, 0);
}

/* Not every file system has lists. */
static void a_list_of_one_is_no_other(void **state) {
	(void)state;
	int file;
	struct stat is;
	files_put("secret", "abc", 3);
	if (let_read("secret", ACL_USER, geteuid()) == 0) {
		assert_int_equal(stat("secret", &is), 0);
		assert_int_equal(is.st_mode & 0777, 0440);
		assert_int_equal(file_open_secret("secret", &file, &error), CUTTLE_OK);
		(void)close(file);
		assert_int_equal(let_read("secret", ACL_USER, geteuid() + 1), 0);
		assert_int_equal(file_open_secret("secret", &file, &error), CUTTLE_USAGE);
		// Debian gives each user a group of the same number, which others can join.
		assert_int_equal(let_read("secret", ACL_GROUP, geteuid()), 0);
		assert_int_equal(file_open_secret("secret", &file, &error), CUTTLE_USAGE);
	}
	assert_int_equal(unlink("secret"), 0);
}

static void a_secret_is_its_owners_alone(void **state) {
	(void)state;
	char *text;
	size_t size;
	int file;
	for (mode_t mode = 0; mode < 0777; mode++) {
		const bool closed = !(mode & 077);
		// Only root reads a file of its own without the mode that says so.
		if ((mode & 0400) == 0) continue;
		files_put("secret", "abc", 3);
		assert_int_equal(chmod("secret", mode), 0);
		const enum cuttle_status status =
		    file_read_secret("secret", 3, &text, &size, &error);
		assert_int_equal(status, closed ? CUTTLE_OK : CUTTLE_USAGE);
		if (closed) assert_string_equal(text, "abc");
		else assert_null(text);
		free(text);
		assert_int_equal(unlink("secret"), 0);
	}
	files_put("secret", "abc", 3);
	assert_int_equal(chmod("secret", 0600), 0);
	assert_int_equal(file_read_secret("secret", 2, &text, &size, &error), CUTTLE_INPUT);
	if (geteuid() == 0) {
		assert_int_equal(chown("secret", 12345, 0), 0);
		assert_int_equal(file_read_secret("secret", 3, &text, &size, &error), CUTTLE_USAGE);
		assert_non_null(strstr(error.message, "another user's"));
	}
	assert_int_equal(unlink("secret"), 0);
	assert_int_equal(file_open_secret("secret", &file, &error), CUTTLE_INPUT);
	assert_int_equal(file_open_secret("sub", &file, &error), CUTTLE_USAGE);
	assert_int_equal(mkfifo("secret", 0600), 0);
	assert_int_equal(file_open_secret("secret", &file, &error), CUTTLE_USAGE);
	assert_int_equal(file, -1);
	assert_int_equal(unlink("secret"), 0);
}

/* What is done to "held" between its opening and its lock. */
static void (*before_lock)(void);

int flock(int file, int operation) {
	void (*const act)(void) = before_lock;
	before_lock = NULL;
	if (act) act();
	return (int)syscall(SYS_flock, file, operation);
}

static void put_another(void) {
	assert_int_equal(unlink("held"), 0);
	files_put("held", "another", 7);
}

static void take_it_away(void) {
	assert_int_equal(unlink("held"), 0);
}

/* A lock on a file that has lost its name locks nobody out. */
static void a_lock_is_on_the_file_with_the_name(void **state) {
	(void)state;
	void (*const acts[])(void) = {put_another, take_it_away};
	for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
		struct stat held, named;
		int file, other;
		files_put("held", "", 0);
		before_lock = acts[i];
		assert_int_equal(file_lock("held", &file), 0);
		assert_null(before_lock);
		assert_int_equal(fstat(file, &held) | stat("held", &named), 0);
		assert_true(held.st_ino == named.st_ino);
		assert_int_equal(file_lock("held", &other), EWOULDBLOCK);
		assert_int_equal(close(file), 0);
		assert_int_equal(unlink("held"), 0);
	}
}

/* What is written to a pipe or a device for a later start is lost. */
static void only_a_regular_file_is_locked(void **state) {
	(void)state;
	int file;
	assert_int_equal(mkfifo("held", 0600), 0);
	assert_int_equal(file_lock("held", &file), EINVAL);
	assert_int_equal(unlink("held"), 0);
	assert_int_equal(symlink("/dev/null", "held"), 0);
	assert_int_equal(file_lock("held", &file), EINVAL);
	assert_int_equal(file, -1);
	assert_int_equal(unlink("held"), 0);
}

static void what_is_too_long_is_not_read(void **state) {
	(void)state;
	char *text;
	size_t size;
	files_put("long", "abcd", 4);
	assert_int_equal(file_read("long", 4, &text, &size, &error), CUTTLE_OK);
	assert_string_equal(text, "abcd");
	free(text);
	assert_int_equal(file_read("long", 3, &text, &size, &error), CUTTLE_INPUT);
	assert_null(text);
	assert_non_null(strstr(error.message, "is longer than 3 bytes"));
	assert_int_equal(unlink("long"), 0);
}

/* Two splits of one name that begin together: the one that ends later replaces nothing. */
static void what_came_meanwhile_stays(void **state) {
	(void)state;
	for (int private = 0; private < 2; private ++) {
		for (int meanwhile = 0; meanwhile < 2; meanwhile++) {
			struct sink sink;
			char bytes[8];
			assert_int_equal(
			    (private ? sink_open_private : sink_open)(&sink, "fresh", &error),
			    CUTTLE_OK);
			sink.fresh = true;
			assert_int_equal(sink_write(&sink, "mine", 4, &error), CUTTLE_OK);
			if (meanwhile) files_put("fresh", "other", 5);
			assert_int_equal(sink_close(&sink, CUTTLE_OK, &error),
			                 meanwhile ? CUTTLE_INTERNAL : CUTTLE_OK);
			const size_t size = files_get("fresh", bytes, sizeof bytes);
			assert_int_equal(size, meanwhile ? 5 : 4);
			assert_memory_equal(bytes, meanwhile ? "other" : "mine", size);
			assert_int_equal(unlink("fresh"), 0);
		}
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_of_one_place),
	    cmocka_unit_test(names_of_one_file),
	    cmocka_unit_test(scratch_names),
	    cmocka_unit_test(outputs_among_themselves),
	    cmocka_unit_test(kinds),
	    cmocka_unit_test(folders_of_outputs),
	    cmocka_unit_test(scratch_is_new),
	    cmocka_unit_test(what_stands_stays),
	    cmocka_unit_test(a_secret_is_its_owners_alone),
	    cmocka_unit_test(a_list_of_one_is_no_other),
	    cmocka_unit_test(a_lock_is_on_the_file_with_the_name),
	    cmocka_unit_test(only_a_regular_file_is_locked),
	    cmocka_unit_test(what_is_too_long_is_not_read),
	    cmocka_unit_test(what_came_meanwhile_stays),
	};
	if (!mkdtemp(folder) || chdir(folder) != 0 || mkdir("sub", 0700) != 0 ||
	    symlink(".", "link") != 0)
		return 1;
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	static const char *const names[] = {"link"};
	// Nothing may be left over: the folder can go.
	if (rmdir("sub") != 0 || files_remove(folder, names, 1) != 0) return 1;
	return failed;
}
