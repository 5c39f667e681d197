// SPDX-License-Identifier: Apache-2.0
// Tests serve/jobs/trail.c, trail_check.c and trail_copy.c. It fails if a trail that was edited,
// cut, put in another order or written anew is called whole, at any of its bytes; if one that a
// kill left at any of its bytes is not gone on with, or has an entry twice; if a trail that is
// moved away, or has grown, is written; if a copy lacks a line or has one twice; if pages of the
// trail lack an entry, have one twice or in another order, whatever is filtered and however long
// the lines are, or read without end.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "serve/jobs/trail_check.h"
#include "serve/jobs/trail_copy.h"
#include "serve/jobs/trail_read.h"

#include "tests/support/files.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/cuttle-trail-XXXXXX", path[64], list[64], copied[64];
enum { ENTRIES = 4 };
static char *lines[ENTRIES], whole[8192];
static size_t sizes[ENTRIES], whole_size;
static char read_back[8192];

static void make_lines(const struct signature_key *signer) {
	struct trail_head head = trail_none();
	whole_size = 0;
	for (int i = 0; i < ENTRIES; i++) {
		free(lines[i]);
		lines[i] = trail_line(&head, json_pack("{s:i,s:s}", "time", i, "event", "start"),
		                      signer, &sizes[i]);
		assert_non_null(lines[i]);
		memcpy(whole + whole_size, lines[i], sizes[i]);
		whole_size += sizes[i];
	}
	files_put(path, whole, whole_size);
}

/* What trail_check says of the file; "" = it is whole. */
static const char *check_trail(const char *known, const char *wanted) {
	static struct cuttle_error error;
	struct trail_check check;
	const enum cuttle_status status = trail_check(path, known, NULL, wanted, &check, &error);
	if (!status) {
		trail_check_free(&check);
		return "";
	}
	assert_int_equal(status, CUTTLE_LEDGER);
	assert_non_null(strstr(error.message, path));
	return error.message;
}

/* A list that knows the lines [from, to), the first `written` of them as being in the file. */
static struct store *make_list(int from, int to, int written) {
	struct store *store;
	struct cuttle_error error;
	(void)unlink(list);
	assert_int_equal(store_open(list, &store, &error), CUTTLE_OK);
	for (int i = from; i < to; i++)
		assert_int_equal(store_trail_add(store, i + 1, lines[i], &error), CUTTLE_OK);
	if (written) assert_int_equal(store_trail_written(store, written, &error), CUTTLE_OK);
	return store;
}

static void a_line_has_the_hash_of_the_one_before(void **state) {
	(void)state;
	char before[HASH_TEXT], text[HASH_TEXT], start[128];
	make_lines(NULL);
	assert_true(trail_hash(lines[0], sizes[0], before));
	(void)snprintf(start, sizeof start, "{\"number\":2,\"previous\":\"%s\",\"time\":1,",
	               before);
	assert_memory_equal(lines[1], start, strlen(start));
	// By hand: the line up to its hash, with a bracket.
	char bare[512];
	const char *at = strstr(lines[1], ",\"hash\"");
	(void)snprintf(bare, sizeof bare, "%.*s}", (int)(at - lines[1]), lines[1]);
	hash_of(bare, strlen(bare), text);
	assert_memory_equal(at + strlen(",\"hash\":\""), text, HASH_TEXT - 1);
	json_t *read = json_loads(lines[1], 0, NULL);
	assert_int_equal(json_integer_value(json_object_get(read, "number")), 2);
	json_decref(read);
	assert_string_equal(check_trail(NULL, NULL), "");
	assert_string_equal(check_trail(NULL, text), "");
	text[0] ^= 1;
	assert_non_null(strstr(check_trail(NULL, text), "no entry has the hash"));
}

static void any_byte_that_is_changed_is_noticed(void **state) {
	(void)state;
	make_lines(NULL);
	for (size_t i = 0; i < whole_size; i++) {
		whole[i] ^= 1;
		files_put(path, whole, whole_size);
		assert_string_not_equal(check_trail(NULL, NULL), "");
		whole[i] ^= 1;
	}
	for (size_t i = 0; i < whole_size; i++) {
		// A byte is gone, or one is more.
		files_put(path, whole, i);
		FILE *file = fopen(path, "a");
		(void)fwrite(whole + i + 1, 1, whole_size - i - 1, file);
		(void)fclose(file);
		if (i + 1 < whole_size) assert_string_not_equal(check_trail(NULL, NULL), "");
	}
}

static void entries_that_go_or_move_are_named(void **state) {
	(void)state;
	static const int orders[][ENTRIES + 1] = {
	    {0, 2, 3, -1}, {1, 2, 3, -1}, {0, 2, 1, 3, -1}, {0, 0, 1, 2, -1}, {3, 2, 1, 0, -1}};
	static const char *const told[] = {"line 2: this is not entry 2", "line 1: this is not",
	                                   "line 2: this is not", "line 2: this is not",
	                                   "line 1: this is not"};
	make_lines(NULL);
	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
		FILE *file = fopen(path, "w");
		for (int k = 0; orders[i][k] >= 0 && k < ENTRIES; k++)
			(void)fputs(lines[orders[i][k]], file);
		(void)fclose(file);
		assert_non_null(strstr(check_trail(NULL, NULL), told[i]));
	}
	// One that was taken out, with the numbers made right.
	char *third = strdup(lines[2]);
	third[strlen("{\"number\":")] = '2';
	FILE *file = fopen(path, "w");
	(void)fprintf(file, "%s%s", lines[0], third);
	(void)fclose(file);
	free(third);
	assert_non_null(strstr(check_trail(NULL, NULL), "entry 2 does not follow"));
	char *second = strdup(lines[1]);
	*strstr(second, "start") = 'S';
	file = fopen(path, "w");
	(void)fprintf(file, "%s%s%s", lines[0], second, lines[2]);
	(void)fclose(file);
	free(second);
	assert_non_null(strstr(check_trail(NULL, NULL), "entry 2 was changed"));
}

static void a_trail_that_was_cut_is_noticed(void **state) {
	(void)state;
	make_lines(NULL);
	struct store *store = make_list(0, ENTRIES, ENTRIES);
	assert_string_equal(check_trail(list, NULL), "");
	size_t size = whole_size;
	for (int left = ENTRIES - 1; left >= 0; left--) {
		size -= sizes[left];
		files_put(path, whole, size);
		assert_string_equal(check_trail(NULL, NULL), "");
		assert_non_null(strstr(check_trail(list, NULL), "it was cut"));
	}
	(void)unlink(path);
	assert_non_null(strstr(check_trail(list, NULL), "it ends with entry 0"));
	// Written anew from an entry on: the chain holds, and the list knows another one.
	struct trail_head head = trail_none();
	FILE *file = fopen(path, "w");
	for (int i = 0; i < ENTRIES; i++) {
		char *line = trail_line(&head, json_pack("{s:s}", "event", "other"), NULL, &size);
		(void)fputs(line, file);
		free(line);
	}
	(void)fclose(file);
	assert_string_equal(check_trail(NULL, NULL), "");
	assert_non_null(strstr(check_trail(list, NULL), "entry 4 is another one"));
	store_close(&store);
	// More than the list knows: somebody appended, or the list is an old one.
	make_lines(NULL);
	store = make_list(0, 2, 2);
	assert_non_null(strstr(check_trail(list, NULL), "no entry behind 2"));
	store_close(&store);
}

/* Whatever a kill leaves of the file, the list has what is missing, and nothing comes twice. */
static void a_kill_at_any_byte_loses_nothing(void **state) {
	(void)state;
	struct cuttle_error error;
	make_lines(NULL);
	// The file has two, and two wait.
	const size_t first = sizes[0] + sizes[1];
	struct store *store = make_list(1, ENTRIES, 0);
	for (size_t size = first; size <= whole_size; size++) {
		struct trail_check check;
		struct trail *trail;
		files_put(path, whole, size);
		if (trail_check(path, NULL, store, NULL, &check, &error))
			fail_msg("%zu bytes: %s", size, error.message);
		assert_int_equal(check.end.head.number, ENTRIES);
		assert_int_equal(trail_open(path, check.end.size, &trail, &error), CUTTLE_OK);
		if (check.waiting_size)
			assert_int_equal(
			    trail_append(trail, check.waiting, check.waiting_size, &error),
			    CUTTLE_OK);
		trail_close(&trail);
		trail_check_free(&check);
		const size_t got = files_get(path, read_back, sizeof read_back);
		assert_int_equal(got, whole_size);
		assert_memory_equal(read_back, whole, whole_size);
	}
	// Half a line that is none of theirs was put there by somebody.
	files_put(path, whole, first + 9);
	FILE *file = fopen(path, "a");
	(void)fputs("???", file);
	(void)fclose(file);
	assert_non_null(strstr(check_trail(list, NULL), "its last line, behind entry 2"));
	store_close(&store);
	assert_non_null(strstr(check_trail(NULL, NULL), "its last line"));
}

static void a_trail_that_is_not_its_own_is_not_written(void **state) {
	(void)state;
	struct cuttle_error error;
	struct trail *trail;
	make_lines(NULL);
	assert_int_equal(trail_open(path, (off_t)whole_size, &trail, &error), CUTTLE_OK);
	FILE *file = fopen(path, "a");
	(void)fputs("more\n", file);
	(void)fclose(file);
	assert_int_equal(trail_append(trail, "x\n", 2, &error), CUTTLE_INTERNAL);
	assert_non_null(strstr(error.message, "moved or changed"));
	trail_close(&trail);
	make_lines(NULL);
	assert_int_equal(trail_open(path, (off_t)whole_size, &trail, &error), CUTTLE_OK);
	assert_int_equal(rename(path, copied), 0);
	files_put(path, whole, whole_size);
	assert_int_equal(trail_append(trail, "x\n", 2, &error), CUTTLE_INTERNAL);
	trail_close(&trail);
	(void)unlink(copied);
	struct stat about;
	(void)unlink(path);
	assert_int_equal(trail_open(path, 0, &trail, &error), CUTTLE_OK);
	assert_int_equal(stat(path, &about), 0);
	assert_int_equal(about.st_mode & 0777, 0600);
	trail_close(&trail);
}

static void a_copy_has_each_line_once(void **state) {
	(void)state;
	struct cuttle_error error;
	struct trail_copy copy;
	make_lines(NULL);
	for (size_t size = 0; size <= whole_size; size++) {
		files_put(copied, whole, size);
		assert_int_equal(trail_copy_open(copied, path, &copy, &error), CUTTLE_OK);
		assert_int_equal(trail_copy_add(&copy, path, &error), CUTTLE_OK);
		const size_t got = files_get(copied, read_back, sizeof read_back);
		assert_int_equal(got, whole_size);
		assert_memory_equal(read_back, whole, whole_size);
	}
	// Half a line that is none of the trail is somebody's file, and stays as it is.
	for (size_t size = 0; size <= sizes[0]; size += sizes[0]) {
		char foreign[4096];
		const size_t all = size + (size_t)snprintf(foreign, sizeof foreign,
		                                           "%.*s{\"number\":9", (int)size, whole);
		files_put(copied, foreign, all);
		assert_int_equal(trail_copy_open(copied, path, &copy, &error), CUTTLE_USAGE);
		assert_int_equal(files_get(copied, read_back, sizeof read_back), all);
		assert_memory_equal(read_back, foreign, all);
	}
	files_put(copied, whole, whole_size);
	// One that is moved away gets a new file, with what comes.
	const size_t first = whole_size - sizes[ENTRIES - 1];
	files_put(path, whole, first);
	assert_int_equal(trail_copy_open(copied, path, &copy, &error), CUTTLE_USAGE);
	(void)unlink(copied);
	assert_int_equal(trail_copy_open(copied, path, &copy, &error), CUTTLE_OK);
	assert_int_equal(trail_copy_add(&copy, path, &error), CUTTLE_OK);
	(void)unlink(copied);
	files_put(path, whole, whole_size);
	assert_int_equal(trail_copy_add(&copy, path, &error), CUTTLE_OK);
	const size_t got = files_get(copied, read_back, sizeof read_back);
	assert_int_equal(got, sizes[ENTRIES - 1]);
	assert_memory_equal(read_back, lines[ENTRIES - 1], got);
}

/* A list of a server before the trail has its jobs still; a later one is left alone. */
static void lists_of_other_versions(void **state) {
	(void)state;
	struct store *store;
	struct cuttle_error error;
	sqlite3 *handle;
	(void)unlink(list);
	assert_int_equal(sqlite3_open(list, &handle), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(
	        handle,
	        "PRAGMA journal_mode=WAL; CREATE TABLE job(number INTEGER PRIMARY KEY, id TEXT NOT "
	        "NULL UNIQUE, type TEXT NOT NULL, state TEXT NOT NULL, spec TEXT NOT NULL, "
	        "fingerprint TEXT NOT NULL, dataset TEXT NOT NULL, run TEXT NOT NULL, owner TEXT "
	        "NOT "
	        "NULL, idempotency TEXT NOT NULL, failure TEXT NOT NULL, attempts INTEGER NOT "
	        "NULL, "
	        "place INTEGER NOT NULL, created INTEGER NOT NULL, UNIQUE(owner, idempotency)) "
	        "STRICT; INSERT INTO job VALUES(1, 'job_a', 'generate', 'queued', '{}', 'f', "
	        "'notes', "
	        "'', 'ann#1', 'k', '', 0, 3, 5)",
	        NULL, NULL, NULL),
	    SQLITE_OK);
	(void)sqlite3_close(handle);
	(void)unlink(path);
	assert_string_equal(check_trail(list, NULL), "");
	for (int i = 0; i < 2; i++) {
		int64_t place;
		assert_int_equal(store_open(list, &store, &error), CUTTLE_OK);
		assert_int_equal(store_last_place(store, &place, &error), CUTTLE_OK);
		assert_int_equal(place, 4);
		if (!i) assert_int_equal(store_trail_add(store, 1, "line\n", &error), CUTTLE_OK);
		store_close(&store);
	}
	assert_int_equal(sqlite3_open(list, &handle), SQLITE_OK);
	(void)sqlite3_exec(handle, "PRAGMA user_version=99", NULL, NULL, NULL);
	(void)sqlite3_close(handle);
	assert_int_equal(store_open(list, &store, &error), CUTTLE_INTERNAL);
	assert_non_null(strstr(error.message, "later cuttle"));
}

/* Reads all pages, and checks that they have entries 1 to `count` with numbers that `step` divides,
 * the newest first. Returns how many pages there were. */
static int read_pages(int file, off_t size, struct trail_query query, int count, int step) {
	int pages = 0;
	json_t *page, *entry;
	size_t i;
	int wanted = count / step * step;
	do {
		assert_int_equal(trail_page(file, size, &query, &page, NULL), CUTTLE_OK);
		assert_in_range(json_array_size(json_object_get(page, "data")), 0, query.limit);
		json_array_foreach(json_object_get(page, "data"), i, entry) {
			assert_int_equal(json_integer_value(json_object_get(entry, "number")),
			                 wanted);
			wanted -= step;
		}
		query.before = json_integer_value(json_object_get(page, "next"));
		json_decref(page);
		pages++;
	} while (query.before);
	assert_int_equal(wanted, 0);
	return pages;
}

/* Every fifth entry is an "end", every hundredth is long, and every tenth is of the job "job_a". */
static void pages_have_each_entry_once(void **state) {
	(void)state;
	enum { COUNT = 5000, LONG = 300 << 10 };
	char *filler = malloc(LONG + 1);
	json_t *page;
	assert_non_null(filler);
	memset(filler, 'x', LONG);
	filler[LONG] = 0;
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	for (int i = 1; i <= COUNT; i++)
		assert_true(
		    fprintf(out,
		            "{\"number\":%d,\"event\":\"%s\",\"job\":\"%s\",\"more\":\"%s\"}\n", i,
		            i % 5 ? "start" : "end", i % 10 ? "job_b" : "job_a",
		            i % 100 ? "" : filler) > 0);
	assert_int_equal(fclose(out), 0);
	free(filler);
	const int file = open(path, O_RDONLY | O_CLOEXEC);
	struct stat state_of;
	assert_int_equal(fstat(file, &state_of), 0);
	const off_t size = state_of.st_size;
	// A page looks at some MiB, whatever it finds: of 15 MiB at least two.
	assert_int_equal(read_pages(file, size, (struct trail_query){.limit = 100}, COUNT, 1),
	                 COUNT / 100);
	assert_in_range(
	    read_pages(file, size, (struct trail_query){.event = "end", .limit = 200}, COUNT, 5), 5,
	    8);
	(void)read_pages(file, size, (struct trail_query){.job = "job_a", .limit = 7}, COUNT, 10);
	assert_in_range(
	    read_pages(file, size, (struct trail_query){.event = "none", .limit = 1}, 0, 1), 2, 4);
	// Not the beginning of an entry, or behind the end.
	struct trail_query query = {.before = 5, .limit = 1};
	assert_int_equal(trail_page(file, size, &query, &page, NULL), CUTTLE_USAGE);
	query.before = size + 1;
	assert_int_equal(trail_page(file, size, &query, &page, NULL), CUTTLE_USAGE);
	assert_null(page);
	// What was appended since is not there yet.
	query = (struct trail_query){.limit = 1};
	assert_int_equal(trail_page(file, 0, &query, &page, NULL), CUTTLE_OK);
	assert_int_equal(json_array_size(json_object_get(page, "data")), 0);
	assert_true(json_is_null(json_object_get(page, "next")));
	json_decref(page);
	(void)close(file);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(pages_have_each_entry_once),
	    cmocka_unit_test(a_line_has_the_hash_of_the_one_before),
	    cmocka_unit_test(any_byte_that_is_changed_is_noticed),
	    cmocka_unit_test(entries_that_go_or_move_are_named),
	    cmocka_unit_test(a_trail_that_was_cut_is_noticed),
	    cmocka_unit_test(a_kill_at_any_byte_loses_nothing),
	    cmocka_unit_test(a_trail_that_is_not_its_own_is_not_written),
	    cmocka_unit_test(a_copy_has_each_line_once),
	    cmocka_unit_test(lists_of_other_versions),
	};
	if (sodium_init() < 0 || !mkdtemp(folder)) return 1;
	(void)snprintf(path, sizeof path, "%s/trail.jsonl", folder);
	(void)snprintf(list, sizeof list, "%s/jobs.db", folder);
	(void)snprintf(copied, sizeof copied, "%s/copy.jsonl", folder);
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	char line[128];
	for (int i = 0; i < ENTRIES; i++) free(lines[i]);
	(void)snprintf(line, sizeof line, "rm -rf %s", folder);
	return system(line) ? 1 : failed;
}
