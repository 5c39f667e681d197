// SPDX-License-Identifier: Apache-2.0
// Tests serve/jobs/store.c. It fails if a job is lost or changed when the list is closed. It fails
// if two jobs of an owner have one key, or a running one is not queued again. It fails if a change
// is not on the disk, or a removed job still is, or others may read the file, or if the list is
// opened under one of two names.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "serve/jobs/store.h"

#include "tests/support/files.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Syncs of any file. A symbol of the program comes before the C library's, for SQLite, too. */
static size_t syncs;

#define INSTEAD __attribute__((visibility("default")))
INSTEAD int fdatasync(int file) {
	syncs++;
	return fcntl(file, F_GETFD) < 0 ? -1 : 0;
}

INSTEAD int fsync(int file) {
	return fdatasync(file);
}

static char folder[] = "/tmp/cuttle-store-XXXXXX", path[64];

static struct store *open_store(void) {
	struct store *store;
	struct cuttle_error error;
	assert_int_equal(store_open(path, &store, &error), CUTTLE_OK);
	return store;
}

static struct store_job make_job(const char *owner, const char *key) {
	struct store_job job = {.state = STORE_AWAITING,
	                        .type = "generate",
	                        .spec = "{}",
	                        .fingerprint = "f",
	                        .dataset = "notes",
	                        .run = "",
	                        .owner = owner,
	                        .idempotency = key,
	                        .failure = "",
	                        .created = 5};
	store_name(job.id);
	return job;
}

struct seen {
	char ids[8][STORE_ID];
	enum store_state states[8];
	size_t count;
};

static enum cuttle_status see(void *user, const struct store_job *job) {
	struct seen *seen = user;
	memcpy(seen->ids[seen->count], job->id, STORE_ID);
	seen->states[seen->count++] = job->state;
	assert_string_equal(job->dataset, "notes");
	assert_int_equal(job->created, 5);
	return CUTTLE_OK;
}

static struct seen look(struct store *store, struct store_filter filter) {
	struct seen seen = {.count = 0};
	assert_int_equal(store_walk(store, &filter, see, &seen, NULL), CUTTLE_OK);
	return seen;
}

static void jobs_survive(void **state) {
	(void)state;
	struct store *store = open_store();
	struct store_job one = make_job("ann", "1"), two = make_job("bob", "1");
	assert_int_equal(store_add(store, &one, NULL), CUTTLE_OK);
	assert_int_equal(store_add(store, &two, NULL), CUTTLE_OK);
	one.state = STORE_RUNNING;
	one.place = 2;
	two.state = STORE_QUEUED;
	two.place = 1;
	assert_int_equal(store_change(store, &one, NULL), CUTTLE_OK);
	assert_int_equal(store_change(store, &two, NULL), CUTTLE_OK);
	store_close(&store);
	store = open_store();
	struct seen seen = look(store, (struct store_filter){.state = STORE_STATES});
	assert_int_equal(seen.count, 2);
	assert_string_equal(seen.ids[0], two.id); // by place, not by age
	assert_int_equal(seen.states[1], STORE_RUNNING);
	// One that was cancelled as it ran does not run again.
	one.failure = STORE_CANCELLING;
	assert_int_equal(store_change(store, &one, NULL), CUTTLE_OK);
	assert_int_equal(store_recover(store, NULL), CUTTLE_OK);
	assert_int_equal(look(store, (struct store_filter){.state = STORE_CANCELLED}).count, 1);
	one.failure = "";
	assert_int_equal(store_change(store, &one, NULL), CUTTLE_OK);
	assert_int_equal(store_recover(store, NULL), CUTTLE_OK);
	seen = look(store, (struct store_filter){.state = STORE_QUEUED});
	assert_int_equal(seen.count, 2);
	int64_t place;
	assert_int_equal(store_last_place(store, &place, NULL), CUTTLE_OK);
	assert_int_equal(place, 3);
	seen = look(store, (struct store_filter){.owner = "ann", .state = STORE_STATES});
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.ids[0], one.id);
	assert_int_equal(store_remove(store, one.id, NULL), CUTTLE_OK);
	assert_int_equal(store_remove(store, two.id, NULL), CUTTLE_OK);
	assert_int_equal(look(store, (struct store_filter){.state = STORE_STATES}).count, 0);
	store_close(&store);
}

static void one_key_is_one_job(void **state) {
	(void)state;
	struct store *store = open_store();
	struct store_job one = make_job("ann", "k"), again = make_job("ann", "k"),
	                 other = make_job("bob", "k");
	assert_int_equal(store_add(store, &one, NULL), CUTTLE_OK);
	assert_int_not_equal(store_add(store, &again, NULL), CUTTLE_OK);
	assert_int_equal(store_add(store, &other, NULL), CUTTLE_OK);
	const struct seen seen =
	    look(store,
	         (struct store_filter){.owner = "ann", .idempotency = "k", .state = STORE_STATES});
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.ids[0], one.id);
	assert_int_equal(store_remove(store, one.id, NULL), CUTTLE_OK);
	assert_int_equal(store_remove(store, other.id, NULL), CUTTLE_OK);
	store_close(&store);
}

/* What a call changed is on the disk when it returns. */
static void every_change_is_synced(void **state) {
	(void)state;
	struct store *store = open_store();
	struct store_job job = make_job("ann", "1");
	syncs = 0;
	assert_int_equal(store_add(store, &job, NULL), CUTTLE_OK);
	assert_true(syncs > 0);
	syncs = 0;
	job.state = STORE_QUEUED;
	assert_int_equal(store_change(store, &job, NULL), CUTTLE_OK);
	assert_true(syncs > 0);
	syncs = 0;
	assert_int_equal(store_remove(store, job.id, NULL), CUTTLE_OK);
	assert_true(syncs > 0);
	store_close(&store);
}

/* A job that was removed is in no page of the file. */
static void what_is_removed_is_overwritten(void **state) {
	(void)state;
	static char bytes[1 << 20];
	struct store *store = open_store();
	struct store_job job = make_job("ann", "1");
	job.spec = "{\"plan\":{\"system\":\"CANARY-42\"}}";
	for (int i = 0; i < 2; i++) {
		if (!i) assert_int_equal(store_add(store, &job, NULL), CUTTLE_OK);
		else assert_int_equal(store_remove(store, job.id, NULL), CUTTLE_OK);
		store_close(&store);
		const size_t size = files_get(path, bytes, sizeof bytes);
		assert_int_equal(memmem(bytes, size, "CANARY-42", 9) != NULL, !i);
		store = open_store();
	}
	store_close(&store);
}

/* Jobs of keys that are gone belong to nobody, once; those of no key stay as they are. */
static void owners_that_left_own_nothing(void **state) {
	(void)state;
	static const char *const owners[][2] = {{"", ""}, {"old", "tag#old"}, {"ann", "ann#"}};
	struct store *store = open_store();
	struct store_job jobs[3];
	for (size_t i = 0; i < 3; i++) {
		jobs[i] = make_job(owners[i][0], i ? "1" : "2");
		assert_int_equal(store_add(store, &jobs[i], NULL), CUTTLE_OK);
	}
	assert_int_equal(store_adopt(store, "old", "tag#old", NULL), CUTTLE_OK);
	for (int twice = 0; twice < 2; twice++) {
		assert_int_equal(store_disown(store, NULL), CUTTLE_OK);
		for (size_t i = 0; i < 3; i++) {
			const struct seen seen =
			    look(store, (struct store_filter){.owner = owners[i][1],
			                                      .state = STORE_STATES});
			assert_int_equal(seen.count, 1);
			assert_string_equal(seen.ids[0], jobs[i].id);
		}
	}
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(store_remove(store, jobs[i].id, NULL), CUTTLE_OK);
	store_close(&store);
}

/* A word that stands for no state is damage, not a job that waits. */
static void a_job_in_no_state_is_damage(void **state) {
	(void)state;
	struct seen seen = {.count = 0};
	struct cuttle_error error;
	sqlite3 *handle;
	struct store *store = open_store();
	struct store_job job = make_job("ann", "1");
	const struct store_filter all = {.state = STORE_STATES};
	assert_int_equal(store_add(store, &job, NULL), CUTTLE_OK);
	assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, "UPDATE job SET state = 'odd'", NULL, NULL, NULL),
	                 SQLITE_OK);
	assert_int_equal(sqlite3_close(handle), SQLITE_OK);
	assert_int_not_equal(store_walk(store, &all, see, &seen, &error), CUTTLE_OK);
	assert_non_null(strstr(error.message, "a job is in no state"));
	assert_int_equal(seen.count, 0);
	assert_int_equal(store_remove(store, job.id, NULL), CUTTLE_OK);
	store_close(&store);
}

static void names_are_of_the_alphabet(void **state) {
	(void)state;
	char one[STORE_ID], two[STORE_ID];
	store_name(one);
	store_name(two);
	assert_string_not_equal(one, two);
	assert_int_equal(strlen(one), 30);
	assert_int_equal(strspn(one + 4, "abcdefghijklmnopqrstuvwxyz234567"), 26);
	assert_false(store_state_ended(STORE_RUNNING));
	assert_true(store_state_ended(STORE_CANCELLED));
}

static void others_may_not_read_it(void **state) {
	(void)state;
	struct stat file;
	const mode_t old = umask(0);
	struct store *store = open_store();
	(void)umask(old);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_mode & 0777, 0600);
	store_close(&store);
}

static void a_broken_file_is_one_line(void **state) {
	(void)state;
	char broken[80];
	struct store *store;
	struct cuttle_error error;
	(void)snprintf(broken, sizeof broken, "%s/broken", folder);
	FILE *file = fopen(broken, "w");
	assert_non_null(file);
	for (int i = 0; i < 1000; i++) (void)fputs("not a database", file);
	(void)fclose(file);
	assert_int_equal(store_open(broken, &store, &error), CUTTLE_INTERNAL);
	assert_null(store);
	assert_non_null(strstr(error.message, "list of jobs"));
	(void)unlink(broken);
	(void)snprintf(broken, sizeof broken, "%s/none/jobs.db", folder);
	assert_int_equal(store_open(broken, &store, &error), CUTTLE_INTERNAL);
}

static void one_list_has_one_name(void **state) {
	(void)state;
	char other[80];
	struct store *store = open_store();
	struct cuttle_error error;
	store_close(&store);
	(void)snprintf(other, sizeof other, "%s.other", path);
	assert_int_equal(link(path, other), 0);
	assert_int_equal(store_open(path, &store, &error), CUTTLE_INTERNAL);
	assert_non_null(strstr(error.message, "under 2 names (hard links)"));
	assert_null(store);
	assert_int_equal(unlink(other), 0);
	store = open_store();
	store_close(&store);
}

/* A server of an older version, begun again, makes jobs of an ID alone, with keys that were used.
 */
static void older_jobs_find_their_owners(void **state) {
	(void)state;
	struct store *store = open_store();
	static const char *const owners[] = {"cleo#1", "cleo", "dan#", "dan", "cleo"},
	                         *const keys[] = {"1", "1", "1", "1", "2"};
	for (size_t i = 0; i < 5; i++) {
		const struct store_job job = make_job(owners[i], keys[i]);
		assert_int_equal(store_add(store, &job, NULL), CUTTLE_OK);
	}
	assert_int_equal(store_adopt(store, "cleo", "cleo#1", NULL), CUTTLE_OK);
	assert_int_equal(store_disown(store, NULL), CUTTLE_OK);
	const struct store_filter cleo = {.owner = "cleo#1", .state = STORE_STATES},
	                          nobody = {.owner = "dan#", .state = STORE_STATES};
	const struct seen found = look(store, cleo);
	assert_int_equal(found.count, 3);
	assert_int_equal(look(store, nobody).count, 2);
	// The key is that of the newer server's job.
	const struct store_filter first = {
	    .owner = "cleo#1", .idempotency = "1", .state = STORE_STATES};
	assert_int_equal(look(store, first).count, 1);
	assert_string_equal(look(store, first).ids[0], found.ids[0]);
	store_close(&store);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(others_may_not_read_it),
	    cmocka_unit_test(jobs_survive),
	    cmocka_unit_test(one_key_is_one_job),
	    cmocka_unit_test(names_are_of_the_alphabet),
	    cmocka_unit_test(one_list_has_one_name),
	    cmocka_unit_test(a_broken_file_is_one_line),
	    cmocka_unit_test(older_jobs_find_their_owners),
	    cmocka_unit_test(every_change_is_synced),
	    cmocka_unit_test(what_is_removed_is_overwritten),
	    cmocka_unit_test(owners_that_left_own_nothing),
	    cmocka_unit_test(a_job_in_no_state_is_damage),
	};
	if (!mkdtemp(folder)) return 1;
	(void)snprintf(path, sizeof path, "%s/jobs.db", folder);
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	static const char *const names[] = {"", "-wal", "-shm"};
	for (size_t i = 0; i < 3; i++) {
		char name[80];
		(void)snprintf(name, sizeof name, "%s%s", path, names[i]);
		(void)unlink(name);
	}
	return failed || rmdir(folder);
}
