// SPDX-License-Identifier: Apache-2.0
// Tests what a power cut leaves: which files are synced before which others may be seen. The test
// records every write, sync, rename and unlink of the process. SQLite's are recorded, too, because
// a symbol of the program comes before the C library's.
//   write to a file      the file is dirty until it is next synced
//   rename, unlink       the folder is dirty until it is next synced
// It fails if a text is written while its tokens are dirty, if anything dirty is put in place, or
// if a charge is dirty when it is reported. So with keys, replies, shards, dropped texts and other
// files. It fails if a file is removed before what overwrites it is synced.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/ledger/ledger.h"
#include "io/records/lots.h"
#include "io/output/output.h"
#include "io/remote/replies.h"
#include "io/shards/shard_texts.h"
#include "io/disk/signature.h"
#include "tests/support/files.h"
#include "workflow/delivery.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what the process does to its files ------------------------------------------------------ */

enum { MOST_FILES = 32, MOST_RENAMES = 16, PATH_ROOM = 256 };

static struct {
	bool on;
	char dirty[MOST_FILES][PATH_ROOM]; /* "" = none */
	char known[MOST_FILES][PATH_ROOM]; /* written to before */
	size_t known_count;
	bool renaming;           /* a rename waits for its sync */
	bool removing;           /* so does an unlink, where files are wiped */
	bool wiping;             /* files are overwritten and removed */
	char written[PATH_ROOM]; /* the file of the last write */
	char watched[PATH_ROOM]; /* may not be dirty when another file is written */
	char renamed[MOST_RENAMES][PATH_ROOM];
	size_t renames, writes_too_early, renames_too_early, unlinks_too_early;
	size_t unlinked_dirty; /* files that were unlinked before what they held was synced */
} seen;

static char folder[] = "/tmp/cuttle-durability-XXXXXX";
static char out[64], receipt_path[64], ledger_path[64];

static size_t place_of(const char *path) {
	size_t place = 0;
	while (place < MOST_FILES && strcmp(seen.dirty[place], path) != 0) place++;
	return place;
}

static bool is_dirty(const char *path) {
	return place_of(path) < MOST_FILES;
}

static void make_dirty(const char *path) {
	if (is_dirty(path)) return;
	const size_t place = place_of("");
	if (place == MOST_FILES) abort();
	(void)snprintf(seen.dirty[place], PATH_ROOM, "%s", path);
}

static void make_clean(const char *path) {
	const size_t place = place_of(path);
	if (place < MOST_FILES) seen.dirty[place][0] = 0;
}

/* False: not a file of this test. */
static bool path_of(int file, char path[PATH_ROOM]) {
	char name[64];
	(void)snprintf(name, sizeof name, "/proc/self/fd/%d", file);
	const ssize_t size = readlink(name, path, PATH_ROOM - 1);
	path[size > 0 ? size : 0] = 0;
	return seen.on && !strncmp(path, folder, strlen(folder));
}

static bool is_known(const char *path) {
	for (size_t i = 0; i < seen.known_count; i++)
		if (!strcmp(seen.known[i], path)) return true;
	return false;
}

static void saw_write(int file) {
	char path[PATH_ROOM];
	// SQLite's shared index holds nothing that a restart does not make anew.
	if (!path_of(file, path) || strstr(path, "-shm")) return;
	if (*seen.watched && strcmp(path, seen.watched) != 0)
		seen.writes_too_early += is_dirty(seen.watched);
	make_dirty(path);
	memcpy(seen.written, path, PATH_ROOM);
	if (is_known(path)) return;
	if (seen.known_count == MOST_FILES) abort();
	memcpy(seen.known[seen.known_count++], path, PATH_ROOM);
	make_dirty(folder);
}

static void saw_sync(int file) {
	char path[PATH_ROOM];
	if (!path_of(file, path)) return;
	make_clean(path);
	if (!strcmp(path, folder)) seen.renaming = seen.removing = false;
}

static void *next(const char *name) {
	void *found = dlsym(RTLD_NEXT, name);
	if (!found) abort();
	return found;
}

#define INSTEAD __attribute__((visibility("default")))
INSTEAD ssize_t write(int file, const void *bytes, size_t size) {
	ssize_t (*real)(int, const void *, size_t);
	*(void **)&real = next("write");
	saw_write(file);
	return real(file, bytes, size);
}

INSTEAD ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t offset) {
	ssize_t (*real)(int, const void *, size_t, off64_t);
	*(void **)&real = next("pwrite64");
	saw_write(file);
	return real(file, bytes, size, offset);
}

INSTEAD int fsync(int file) {
	int (*real)(int);
	*(void **)&real = next("fsync");
	saw_sync(file);
	return real(file);
}

INSTEAD int fdatasync(int file) {
	int (*real)(int);
	*(void **)&real = next("fdatasync");
	saw_sync(file);
	return real(file);
}

INSTEAD int rename(const char *from, const char *to) {
	int (*real)(const char *, const char *);
	*(void **)&real = next("rename");
	if (seen.on && seen.renames < MOST_RENAMES) {
		seen.renames_too_early += is_dirty(from) || seen.renaming;
		(void)snprintf(seen.renamed[seen.renames++], PATH_ROOM, "%s", to);
		seen.renaming = true;
	}
	return real(from, to);
}

/* A second name is as a rename, but that the first one stays. */
INSTEAD int link(const char *from, const char *to) {
	int (*real)(const char *, const char *);
	*(void **)&real = next("link");
	if (seen.on) {
		seen.renames_too_early += is_dirty(from);
		seen.renaming = true;
	}
	return real(from, to);
}

INSTEAD int unlink(const char *path) {
	int (*real)(const char *);
	*(void **)&real = next("unlink");
	// What is given up must have been replaced for good; a file that is dirty itself never
	// counted.
	if (seen.on && seen.wiping) seen.removing = true;
	else if (seen.on) seen.unlinks_too_early += seen.renaming;
	if (seen.on) seen.unlinked_dirty += is_dirty(path);
	make_clean(path);
	return real(path);
}

static void begin_watch(void) {
	memset(&seen, 0, sizeof seen);
	seen.on = true;
}

static void expect_nothing_dirty(const char *when) {
	for (size_t i = 0; i < MOST_FILES; i++)
		if (*seen.dirty[i]) fail_msg("%s: %s is not synced", when, seen.dirty[i]);
	if (seen.renaming) fail_msg("%s: a rename is not synced", when);
	if (seen.removing) fail_msg("%s: a removal is not synced", when);
	if (seen.writes_too_early + seen.renames_too_early + seen.unlinks_too_early)
		fail_msg("%s: %zu writes, %zu renames, %zu unlinks before the sync they need", when,
		         seen.writes_too_early, seen.renames_too_early, seen.unlinks_too_early);
}

/* Removes what a run that was not finished left. */
static int remove_run(void) {
	char line[PATH_ROOM];
	(void)snprintf(line, sizeof line, "rm -f %s.*", out);
	return system(line);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void the_watch_sees(void **state) {
	(void)state;
	char path[80], other[80];
	(void)snprintf(path, sizeof path, "%s/a", folder);
	(void)snprintf(other, sizeof other, "%s/b", folder);
	begin_watch();
	const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(file, "x", 1), 1);
	assert_true(is_dirty(path) && is_dirty(folder) && !strcmp(seen.written, path));
	assert_int_equal(fdatasync(file), 0);
	assert_true(!is_dirty(path) && is_dirty(folder));
	assert_int_equal(write(file, "x", 1), 1);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(seen.renames_too_early, 1);
	assert_true(seen.renaming);
	assert_int_equal(unlink(other), 0);
	assert_int_equal(seen.unlinks_too_early, 1);
	assert_int_equal(close(file), 0);
	seen.on = false;
}

static void texts_and_their_tokens(void **state) {
	(void)state;
	enum { TEXTS = 3, TOKENS = 4 };
	char fingerprint[HASH_TEXT], sha256[HASH_TEXT], journal[PATH_ROOM];
	struct output *output;
	struct cuttle_error error;
	bool complete;
	hash_of("ours", 4, fingerprint);
	const struct output_request request = {.path = out,
	                                       .fingerprint = fingerprint,
	                                       .format = OUTPUT_JSONL,
	                                       .texts = TEXTS,
	                                       .private_output = true,
	                                       .digest = files_digest};
	begin_watch();
	assert_int_equal(output_open(&request, &output, &complete, &error), CUTTLE_OK);
	// Else the journal, or the command it is of, could be gone while tokens were drawn.
	expect_nothing_dirty("before the first token");
	for (size_t t = 0; t < TEXTS; t++) {
		for (uint32_t step = 0; step < TOKENS; step++) {
			assert_int_equal(output_token(output, t, step, (int32_t)step), 0);
			memcpy(journal, seen.written, sizeof journal);
			assert_true(is_dirty(journal));
		}
		memcpy(seen.watched, journal, sizeof journal);
		const struct cuttle_text line = {
		    .index = t, .batch = t, .text = "a", .size = 1, .tokens = TOKENS};
		assert_int_equal(output_text(output, &line), 0);
		assert_string_not_equal(seen.written, journal);
		assert_int_equal(seen.writes_too_early, 0);
		seen.watched[0] = 0;
	}
	assert_int_equal(output_seal(output, sha256, &error), CUTTLE_OK);
	make_clean(folder); // the name of the part needs no sync: it is about to get another
	expect_nothing_dirty("before the receipt");
	const size_t before = seen.renames;
	assert_int_equal(output_publish(output, "{}\n", 3, &error), CUTTLE_OK);
	// The receipt stands for good before the output does, and both before the journal goes.
	assert_int_equal(seen.renames, before + 2);
	assert_string_equal(seen.renamed[before], receipt_path);
	assert_string_equal(seen.renamed[before + 1], out);
	expect_nothing_dirty("at the end");
	assert_int_not_equal(access(journal, F_OK), 0);
	output_close(&output);
	seen.on = false;
}

static void charges(void **state) {
	(void)state;
	struct cuttle_error error = {{0}};
	struct ledger *ledger;
	struct ledger_run found;
	struct ledger_dataset dataset = {.name = "notes", .rho = 1, .delta = 1e-6};
	char run[LEDGER_RUN], other[LEDGER_RUN];
	ledger_name_run(run);
	ledger_name_run(other);
	const struct ledger_request
	    first = {.dataset = "notes", .run = run, .command = "c0ffee", .rho = 0.25, .count = 10},
	    second = {
	        .dataset = "notes", .run = other, .command = "c0ffee", .rho = 0.25, .count = 10};
	begin_watch();
	assert_int_equal(ledger_create(ledger_path, &error), CUTTLE_OK);
	expect_nothing_dirty("a new ledger");
	assert_int_equal(ledger_open(ledger_path, &ledger, &error), CUTTLE_OK);
	assert_int_equal(ledger_add(ledger, &dataset, &error), CUTTLE_OK);
	expect_nothing_dirty("a data set");
	seen.written[0] = 0;
	assert_int_equal(ledger_reserve(ledger, &first, false, &found, &error), CUTTLE_OK);
	assert_true(*seen.written);
	expect_nothing_dirty("a charge");
	seen.written[0] = 0;
	assert_int_equal(ledger_draw(ledger, "notes", run, NULL, NULL, &error), CUTTLE_OK);
	assert_true(*seen.written);
	expect_nothing_dirty("the first draw");
	assert_int_equal(ledger_reserve(ledger, &second, false, &found, &error), CUTTLE_OK);
	assert_int_equal(ledger_release(ledger, "notes", other, &error), CUTTLE_OK);
	expect_nothing_dirty("what was given back");
	ledger_close(&ledger);
	seen.on = false;
}

/* Noisy counts are on the disk before anything follows from them. */
static void counts(void **state) {
	(void)state;
	static const int64_t drawn[] = {11, -7, 3};
	char fingerprint[HASH_TEXT], journal[PATH_ROOM];
	struct output *output;
	struct cuttle_error error;
	bool complete;
	hash_of("counts", 6, fingerprint);
	(void)snprintf(journal, sizeof journal, "%s.journal", out);
	const struct output_request request = {.path = out,
	                                       .fingerprint = fingerprint,
	                                       .format = OUTPUT_JSONL,
	                                       .texts = 2,
	                                       .private_output = true,
	                                       .overwrite = true,
	                                       .digest = files_digest};
	begin_watch();
	assert_int_equal(output_open(&request, &output, &complete, &error), CUTTLE_OK);
	seen.written[0] = 0;
	assert_int_equal(output_keep_clusters(output, drawn, 3, &error), CUTTLE_OK);
	assert_string_equal(seen.written, journal);
	assert_false(is_dirty(journal));
	seen.on = false;
	output_close(&output);
	assert_int_equal(remove_run(), 0);
}

/* What the ledger is told of a journal is on the disk before. */
static void how_far_a_run_has_come(void **state) {
	(void)state;
	char fingerprint[HASH_TEXT], journal[PATH_ROOM];
	struct cuttle_error error;
	struct spending spending;
	struct receipt_ledger charged = {.entry = ""};
	hash_of("other", 5, fingerprint);
	(void)snprintf(journal, sizeof journal, "%s.journal", out);
	const struct output_request request = {.path = out,
	                                       .fingerprint = fingerprint,
	                                       .format = OUTPUT_JSONL,
	                                       .texts = 2,
	                                       .private_output = true,
	                                       .overwrite = true,
	                                       .digest = files_digest};
	const struct spending_request counted = {
	    .ledger = ledger_path, .dataset = "notes", .output = out};
	const struct ledger_request charge = {.command = fingerprint, .rho = 0.125, .count = 1};
	for (uint32_t life = 0; life < 2; life++) {
		struct delivery delivery;
		bool complete;
		assert_int_equal(spending_open(&counted, &spending, &error), CUTTLE_OK);
		begin_watch();
		// As after a kill: what the process before wrote was never synced.
		if (life) make_dirty(journal);
		memcpy(seen.watched, life ? journal : "", life ? sizeof journal : 1);
		assert_int_equal(delivery_open(&request, NULL, &spending, &charge, &delivery,
		                               &complete, &charged, &error),
		                 CUTTLE_OK);
		// Who begins or goes on tells of its first token, and of no further one until it
		// stops.
		memcpy(seen.watched, journal, sizeof journal);
		assert_int_equal(delivery_token(&delivery, 0, 2 * life, 1), 0);
		seen.watched[0] = 0;
		assert_int_equal(delivery_token(&delivery, 0, 2 * life + 1, 1), 0);
		assert_true(is_dirty(journal));
		memcpy(seen.watched, journal, sizeof journal);
		delivery_close(&delivery);
		assert_true(strstr(seen.written, "ledger"));
		if (seen.writes_too_early)
			fail_msg("life %u: the ledger is told before the journal is synced",
			         (unsigned)life);
		seen.on = false;
		spending_close(&spending);
	}
	assert_int_equal(remove_run(), 0);
}

/* Who can take a disk apart must not find the lots: zeros are on it before the name is gone. */
static void lots_and_their_key(void **state) {
	(void)state;
	char path[PATH_ROOM], fingerprint[HASH_TEXT];
	struct cuttle_error error;
	struct lots lots;
	(void)snprintf(path, sizeof path, "%s.lots", out);
	hash_of("ours", 4, fingerprint);
	assert_int_equal(lots_begin(&lots, NULL, &error), CUTTLE_OK);
	begin_watch();
	assert_int_equal(lots_keep(&lots, path, fingerprint), 0);
	assert_string_equal(seen.written, path);
	expect_nothing_dirty("the key of lots");
	begin_watch();
	seen.wiping = true;
	assert_int_equal(lots_remove(&lots, path), 0);
	assert_string_equal(seen.written, path);
	assert_int_equal(seen.unlinked_dirty, 0);
	expect_nothing_dirty("lots that are gone");
	seen.on = false;
	assert_int_not_equal(access(path, F_OK), 0);
	lots_close(&lots);
}

/* A service is asked, and paid, only when it stands whose replies these are. */
static void the_first_line_of_replies(void **state) {
	(void)state;
	char path[PATH_ROOM];
	struct cuttle_error error;
	struct replies *replies;
	char fingerprint[HASH_TEXT];
	(void)snprintf(path, sizeof path, "%s.replies", out);
	hash_of("ours", 4, fingerprint);
	const struct replies_owner owner = {.fingerprint = fingerprint, .sent = fingerprint};
	begin_watch();
	assert_int_equal(replies_open(path, &owner, 1, false, &replies, &error), CUTTLE_OK);
	assert_string_equal(seen.written, path);
	expect_nothing_dirty("before the first request");
	seen.on = false;
	assert_int_equal(replies_remove(replies), 0);
	replies_close(&replies);
}

/* Texts that were dropped are named in the receipt, by their hash. */
static void texts_that_were_dropped(void **state) {
	(void)state;
	char fingerprint[HASH_TEXT], sha256[HASH_TEXT];
	struct output *output;
	struct cuttle_error error;
	bool complete;
	hash_of("ours", 4, fingerprint);
	struct output_request request = {.path = out,
	                                 .fingerprint = fingerprint,
	                                 .format = OUTPUT_JSONL,
	                                 .texts = 2,
	                                 .private_output = true,
	                                 .overwrite = true,
	                                 .digest = files_digest};
	request.filters.drop[FILTER_DUPLICATES] = true;
	begin_watch();
	assert_int_equal(output_open(&request, &output, &complete, &error), CUTTLE_OK);
	for (size_t t = 0; t < 2; t++) {
		assert_int_equal(output_token(output, t, 0, 1), 0);
		const struct cuttle_text line = {
		    .index = t, .batch = t, .text = "a", .size = 1, .tokens = 1};
		assert_int_equal(output_text(output, &line), 0);
	}
	assert_false(output_kept(output));
	assert_int_equal(output_seal(output, sha256, &error), CUTTLE_OK);
	make_clean(folder);
	expect_nothing_dirty("before the receipt of a run that dropped a text");
	assert_int_equal(output_publish(output, "{}\n", 3, &error), CUTTLE_OK);
	output_close(&output);
	seen.on = false;
	char line[PATH_ROOM];
	(void)snprintf(line, sizeof line, "rm -f %s.* %s", out, receipt_path);
	assert_int_equal(system(line), 0);
}

/* What is replaced at the end holds all of it; a key that signed can sign again. */
static void other_files(void **state) {
	(void)state;
	char path[PATH_ROOM], public_key[SIGNATURE_PUBLIC];
	struct cuttle_error error;
	struct sink sink;
	(void)snprintf(path, sizeof path, "%s.report", out);
	for (int own = 0; own < 2; own++) {
		begin_watch();
		assert_int_equal((own ? sink_open_private : sink_open)(&sink, path, &error),
		                 CUTTLE_OK);
		assert_int_equal(sink_write(&sink, "x", 1, &error), CUTTLE_OK);
		char written[PATH_ROOM];
		memcpy(written, seen.written, sizeof written);
		assert_true(is_dirty(written));
		assert_int_equal(sink_close(&sink, CUTTLE_OK, &error), CUTTLE_OK);
		assert_false(is_dirty(written));
		assert_int_equal(seen.renames, 1);
		assert_int_equal(seen.renames_too_early, 0);
	}
	(void)snprintf(path, sizeof path, "%s.key", out);
	begin_watch();
	assert_int_equal(signature_make(path, public_key, &error), CUTTLE_OK);
	expect_nothing_dirty("a key that signs");
	seen.on = false;
	char line[PATH_ROOM];
	(void)snprintf(line, sizeof line, "rm -f %s.*", out);
	assert_int_equal(system(line), 0);
}

/* The name that says who took a shard has its line, and both are there after a power cut. */
static void who_took_a_shard(void **state) {
	(void)state;
	char path[80];
	(void)snprintf(path, sizeof path, "%s/a.taken", folder);
	begin_watch();
	seen.wiping = true; // the scratch name goes after the true one is there
	assert_int_equal(shard_take(path, "we"), 0);
	expect_nothing_dirty("before the first token of a shard");
	seen.wiping = false;
	assert_int_equal(shard_begin(path, "we"), 0);
	expect_nothing_dirty("before the first token of a shard is seen");
	assert_int_equal(unlink(path), 0);
	seen.on = false;
}

/* Where a name goes before the zeros are on the disk, the blocks may keep what it held. */
static void the_references_of_a_shard(void **state) {
	(void)state;
	char path[80];
	(void)snprintf(path, sizeof path, "%s/a.texts", folder);
	files_put(path, "a secret", 8);
	begin_watch();
	seen.wiping = true;
	assert_int_equal(shard_texts_remove(path), 0);
	assert_string_equal(seen.written, path);
	assert_int_equal(seen.unlinked_dirty, 0);
	expect_nothing_dirty("references that are removed");
	seen.on = false;
}

static int make_folder(void **state) {
	(void)state;
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(out, sizeof out, "%s/out.jsonl", folder);
	(void)snprintf(receipt_path, sizeof receipt_path, "%s/out.receipt.json", folder);
	(void)snprintf(ledger_path, sizeof ledger_path, "%s/ledger", folder);
	return 0;
}

static int remove_folder(void **state) {
	(void)state;
	const char *const names[] = {"out.jsonl", "out.receipt.json", "ledger", "ledger-wal",
	                             "ledger-shm"};
	return files_remove(folder, names, sizeof names / sizeof *names);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_watch_sees),
	    cmocka_unit_test(texts_and_their_tokens),
	    cmocka_unit_test(charges),
	    cmocka_unit_test(counts),
	    cmocka_unit_test(how_far_a_run_has_come),
	    cmocka_unit_test(lots_and_their_key),
	    cmocka_unit_test(the_first_line_of_replies),
	    cmocka_unit_test(texts_that_were_dropped),
	    cmocka_unit_test(other_files),
	    cmocka_unit_test(who_took_a_shard),
	    cmocka_unit_test(the_references_of_a_shard),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
