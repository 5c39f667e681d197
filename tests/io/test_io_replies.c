// SPDX-License-Identifier: Apache-2.0
// Tests io/remote/replies.c. The file is torn at every byte, damaged in the middle, of another run,
// or held by another process. It fails if a reply that was kept does not come back, if one comes
// back that was not kept, or if a reply may be used before it is durable.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/remote/replies.h"
#include "tests/support/files.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 4 };

static char folder[] = "/tmp/cuttle-replies-XXXXXX";
static char path[128];
static char ours[HASH_TEXT], other[HASH_TEXT];
static const struct replies_owner we = {ours, other}, others = {other, other},
                                  other_bodies = {ours, ours};
static struct cuttle_error error;
static char text_zero[] = "Once\nupon \"a\" \xF0\x9F\x90\x99 }", text_two[] = "",
            text_one[] = "{\"index\":0}\n";
static const struct reply zero = {.text = text_zero,
                                  .size = sizeof text_zero - 1,
                                  .finish = "stop"},
                          two = {.text = text_two, .size = 0, .finish = "length"},
                          one = {.text = text_one, .size = sizeof text_one - 1};

/* What was synced last, and a failure to come: the C library's function is behind this one. */
static size_t syncs;
static bool sync_fails;

int fdatasync(int file) {
	if (sync_fails) {
		errno = EIO;
		return -1;
	}
	syncs++;
	return (int)syscall(SYS_fdatasync, file);
}

static enum cuttle_status open_as(const struct replies_owner *owner, bool overwrite,
                                  struct replies **replies) {
	return replies_open(path, owner, COUNT, overwrite, replies, &error);
}

static struct replies *open_ours(void) {
	struct replies *replies;
	assert_int_equal(open_as(&we, false, &replies), CUTTLE_OK);
	return replies;
}

static void assert_reply(const struct replies *replies, size_t index,
                         const struct reply *expected) {
	const struct reply *reply = replies_get(replies, index);
	assert_int_equal(reply != NULL, expected != NULL);
	if (!expected) return;
	assert_int_equal(reply->size, expected->size);
	assert_string_equal(reply->text, expected->text);
	assert_string_equal(reply->finish, expected->finish);
}

static void keep(struct replies *replies, size_t index, const struct reply *reply) {
	assert_int_equal(replies_keep(replies, index, reply, &error), CUTTLE_OK);
}

/* Replies 2, 0 and 1, in this order. Returns the bytes of the file. */
static size_t sample(char *bytes, size_t room) {
	(void)unlink(path);
	struct replies *replies = open_ours();
	keep(replies, 2, &two);
	keep(replies, 0, &zero);
	keep(replies, 1, &one);
	replies_close(&replies);
	assert_null(replies);
	return files_get(path, bytes, room);
}

static void replies_come_back(void **state) {
	(void)state;
	char bytes[2048];
	struct stat file;
	const size_t size = sample(bytes, sizeof bytes);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_mode & 0777, 0600);
	struct replies *replies = open_ours();
	assert_reply(replies, 0, &zero);
	assert_reply(replies, 1, &one);
	assert_reply(replies, 2, &two);
	assert_reply(replies, 3, NULL);
	replies_close(&replies);
	// Reading changes nothing. Each reply is one line of JSON.
	char again[2048];
	assert_int_equal(files_get(path, again, sizeof again), size);
	assert_memory_equal(again, bytes, size);
	size_t lines = 0;
	for (size_t i = 0; i < size; i++) lines += bytes[i] == '\n';
	assert_int_equal(lines, 4);
	static const char begins[] =
	    "{\"index\":2,\"text\":\"\",\"finish\":\"length\",\"check\":\"";
	assert_memory_equal(strchr(bytes, '\n') + 1, begins, sizeof begins - 1);
}

static void torn_at_every_byte(void **state) {
	(void)state;
	char bytes[2048], now[2048];
	const size_t size = sample(bytes, sizeof bytes),
	             header = (size_t)(strchr(bytes, '\n') - bytes) + 1;
	for (size_t cut = 0; cut <= size; cut++) {
		size_t lines = 0, good = header;
		for (size_t i = header; i < cut; i++) {
			if (bytes[i] != '\n') continue;
			lines++;
			good = i + 1;
		}
		files_put(path, bytes, cut);
		struct replies *replies = open_ours();
		assert_reply(replies, 2, lines > 0 ? &two : NULL);
		assert_reply(replies, 0, lines > 1 ? &zero : NULL);
		assert_reply(replies, 1, lines > 2 ? &one : NULL);
		assert_int_equal(files_get(path, now, sizeof now), good);
		assert_memory_equal(now, bytes, good);
		// What comes next must be read again as if it had never been torn.
		keep(replies, 3, &one);
		replies_close(&replies);
		replies = open_ours();
		assert_reply(replies, 3, &one);
		assert_reply(replies, 0, lines > 1 ? &zero : NULL);
		replies_close(&replies);
	}
	// A file system may leave zeros.
	memset(now, 0, sizeof now);
	memcpy(now, bytes, size);
	files_put(path, now, size + 500);
	struct replies *replies = open_ours();
	assert_reply(replies, 1, &one);
	replies_close(&replies);
	assert_int_equal(files_get(path, now, sizeof now), size);
}

static void damage_in_the_middle(void **state) {
	(void)state;
	char bytes[4096];
	const size_t size = sample(bytes, sizeof bytes),
	             header = (size_t)(strchr(bytes, '\n') - bytes) + 1;
	struct replies *replies;
	size_t last = size - 1;
	while (bytes[last - 1] != '\n') last--;
	for (size_t i = header; i < last - 1; i++) {
		bytes[i] ^= 1;
		files_put(path, bytes, size);
		assert_int_equal(open_as(&we, false, &replies), CUTTLE_INPUT);
		assert_null(replies);
		bytes[i] ^= 1;
	}
	// A line that is right but stands twice.
	memcpy(bytes + size, bytes + header, size - header);
	files_put(path, bytes, 2 * size - header);
	assert_int_equal(open_as(&we, false, &replies), CUTTLE_INPUT);
	assert_non_null(strstr(error.message, "--overwrite"));
	assert_int_equal(open_as(&we, true, &replies), CUTTLE_OK);
	for (size_t i = 0; i < COUNT; i++) assert_reply(replies, i, NULL);
	replies_close(&replies);
	// More requests than the run has.
	files_put(path, bytes, size);
	assert_int_equal(replies_open(path, &we, 2, false, &replies, &error), CUTTLE_INPUT);
	// The last line changed: it counts as torn.
	bytes[size - 3] ^= 1;
	files_put(path, bytes, size);
	replies = open_ours();
	assert_reply(replies, 0, &zero);
	assert_reply(replies, 1, NULL);
	replies_close(&replies);
}

static void other_runs(void **state) {
	(void)state;
	static const char *const files[] = {"somebody's\n", "x", "\n", "{\"cuttle-journal\":1}\n"};
	char bytes[2048], now[2048];
	const size_t size = sample(bytes, sizeof bytes),
	             header = (size_t)(strchr(bytes, '\n') - bytes) + 1;
	struct replies *replies;
	const struct replies_owner *const owners[] = {&others, &other_bodies};
	for (size_t i = 0; i < 2; i++) {
		files_put(path, bytes, size);
		assert_int_equal(open_as(owners[i], false, &replies), CUTTLE_USAGE);
		assert_null(replies);
		assert_int_equal(files_get(path, now, sizeof now), size);
		assert_int_equal(open_as(owners[i], true, &replies), CUTTLE_OK);
		for (size_t j = 0; j < COUNT; j++) assert_reply(replies, j, NULL);
		replies_close(&replies);
		// Another run that asked for nothing yet is in nobody's way.
		files_put(path, bytes, header);
		assert_int_equal(open_as(owners[i], false, &replies), CUTTLE_OK);
		replies_close(&replies);
	}
	// The checks of the lines are the owner's: another first line does not make them one's own.
	files_put(path, bytes, size);
	for (size_t i = 0; i < 2; i++) {
		char stolen[2048];
		memcpy(stolen, bytes, size);
		(void)unlink(path);
		assert_int_equal(open_as(owners[i], false, &replies), CUTTLE_OK);
		replies_close(&replies);
		assert_int_equal(files_get(path, stolen, header), header);
		files_put(path, stolen, size);
		assert_int_equal(open_as(owners[i], false, &replies), CUTTLE_OK);
		for (size_t j = 0; j < COUNT; j++) assert_reply(replies, j, NULL);
		replies_close(&replies);
	}
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		files_put(path, files[i], strlen(files[i]));
		assert_int_equal(open_as(&we, true, &replies), CUTTLE_USAGE);
		assert_int_equal(files_get(path, now, sizeof now), strlen(files[i]));
	}
}

static void kept_when_durable(void **state) {
	(void)state;
	(void)unlink(path);
	struct replies *replies = open_ours();
	const size_t before = syncs;
	keep(replies, 1, &one);
	assert_int_equal(syncs, before + 1);
	sync_fails = true;
	assert_int_equal(replies_keep(replies, 0, &zero, &error), CUTTLE_PARTIAL);
	sync_fails = false;
	assert_null(replies_get(replies, 0));
	replies_close(&replies);
}

static void one_process_alone(void **state) {
	(void)state;
	char bytes[2048];
	(void)sample(bytes, sizeof bytes);
	struct replies *replies = open_ours(), *second;
	const pid_t child = fork();
	if (child == 0)
		_exit(open_as(&we, true, &second) == CUTTLE_USAGE &&
		              strstr(error.message, "another process")
		          ? 0
		          : 1);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(replies_remove(replies), 0);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(replies_remove(replies), 0);
	replies_close(&replies);
	replies_close(&replies);
	// No folder, no file.
	char nowhere[256];
	(void)snprintf(nowhere, sizeof nowhere, "%s/no/out.replies", folder);
	assert_int_equal(replies_open(nowhere, &we, 1, false, &second, &error), CUTTLE_USAGE);
}

static int make_folder(void **state) {
	(void)state;
	hash_of("ours", 4, ours);
	hash_of("other", 5, other);
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(path, sizeof path, "%s/out.replies", folder);
	return 0;
}

static int remove_folder(void **state) {
	(void)state;
	(void)unlink(path);
	return rmdir(folder);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(replies_come_back),    cmocka_unit_test(torn_at_every_byte),
	    cmocka_unit_test(damage_in_the_middle), cmocka_unit_test(other_runs),
	    cmocka_unit_test(kept_when_durable),    cmocka_unit_test(one_process_alone),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
