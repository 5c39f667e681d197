// SPDX-License-Identifier: Apache-2.0
// Tests workflow/shards.h from inside a process, where a shard can be looked at between two tokens.
// It fails if a token is kept before the shard is taken, or if what another took meanwhile is drawn
// from. It fails if the number of a shard or of an attempt is no part of its command. It fails if a
// stopped shard does not go on to the same bytes, if --redraw takes away a shard that is completed
// meanwhile, or if merge takes memory for what a line only claims. It fails if merge takes what the
// ledger was charged for another run, charged otherwise, or not known to be drawn.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/disk/file.h"
#include "io/ledger/ledger.h"
#include "io/disk/pages.h"
#include "tests/support/files.h"
#include "tests/support/runs.h"
#include "workflow/merge.h"
#include "workflow/generate.h"
#include "workflow/shards.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TEXTS = 5, BATCH = 2, TOKENS = 6, SHARDS = 2, ROOM = 1 << 16 };
static char folder[] = "/tmp/cuttle-shards-XXXXXX";
static char model_path[64], input[64], run_folder[64], ledger_path[64];
static bool counted;     /* a ledger is charged */
static const char *kind; /* of the texts; NULL = the usual one */
static struct setup_model opened;
static struct cuttle_error error;

/* The shard that is drawn, and what its events do. */
static const struct run_shard *drawn;
static size_t tokens_told, stop_after;
static bool takes_away; /* another takes the shard while its prompts are read */
static bool taken_away; /* it has */
static bool was_taken;  /* by this journal, before it was continued */

static void begin(void *user, bool complete) {
	(void)user;
	(void)complete;
}
static void reading(void *user, size_t text) {
	(void)user;
	assert_true(text < TEXTS);
	if (takes_away && !taken_away) {
		assert_int_equal(shard_take(drawn->taken, "another"), 0);
		taken_away = true;
	}
	// Nothing is drawn yet, so nobody else has taken it.
	if (tokens_told == 0 && !taken_away && !was_taken)
		assert_int_equal(access(drawn->taken, F_OK), -1);
}
static void token(void *user) {
	(void)user;
	assert_int_equal(access(drawn->taken, F_OK), 0);
	tokens_told++;
}
static void text(void *user) {
	(void)user;
}
static bool stop(void *user) {
	(void)user;
	return tokens_told >= stop_after;
}
static void end(void *user) {
	(void)user;
}
static void publish(void *user, const char *receipt) {
	(void)user;
	assert_non_null(strstr(receipt, SHARD_RECEIPT));
}
static const struct run_events EVENTS = {NULL, begin, reading, token, text, stop, end, publish};

static struct generate_request make_request(void) {
	struct generate_request request = runs_request(input, TEXTS, BATCH, TOKENS);
	request.lots = RUN_LOTS_OFF;
	request.plan.clip = 0.5;
	if (kind) request.plan.kind = kind;
	if (!counted) return request;
	request.plan.insecure = false;
	request.common.ledger = ledger_path;
	request.common.dataset = "notes";
	request.charge = RUN_CHARGE_EPSILON;
	return request;
}

/* The request of the whole run. Its output is to be freed. */
static struct generate_request make_whole(struct setup *setup) {
	struct generate_request request = make_request();
	request.common.output = shards_file(run_folder);
	assert_non_null(request.common.output);
	assert_int_equal(generate_open(&request, &opened, setup, &error), CUTTLE_OK);
	return request;
}

static void open_run(void) {
	struct generate_request request = make_request();
	struct setup setup;
	bool already = true;
	assert_int_equal(shards_folder(&request, run_folder, &error), CUTTLE_OK);
	request = make_whole(&setup);
	const struct shards_request shards = {&request, run_folder, SHARDS};
	assert_int_equal(shards_open(&shards, &setup, &already, &error), CUTTLE_OK);
	assert_false(already);
	assert_int_equal(shards_open(&shards, &setup, &already, &error), CUTTLE_OK);
	assert_true(already);
	generate_free(&setup);
	free((char *)(uintptr_t)request.common.output);
}

static void remove_run(void) {
	char command[128];
	(void)snprintf(command, sizeof command, "rm -r %s", run_folder);
	assert_int_equal(system(command), 0);
}

/* Draws a shard until it has drawn so many tokens. */
static enum cuttle_status draw_shard(struct run_shard *shard, size_t tokens) {
	struct generate_request request = make_request();
	struct setup setup;
	request.shard = drawn = shard;
	request.common.ledger = NULL; // which no shard looks at
	request.common.output = shard->lines;
	tokens_told = 0;
	stop_after = tokens;
	was_taken = access(shard->taken, F_OK) == 0;
	assert_int_equal(generate_open(&request, &opened, &setup, &error), CUTTLE_OK);
	const enum cuttle_status status = generate_texts(&request, &setup, &EVENTS, &error);
	generate_free(&setup);
	return status;
}

/* The shard that another process completes just before the next lock; NULL = none. */
static struct run_shard *completed_first;

/* Stands in for the system's: the completion falls between two steps of shards_redraw. */
int flock(int file, int operation) {
	struct run_shard *shard = completed_first;
	char name[32], path[128];
	(void)snprintf(name, sizeof name, "/proc/self/fd/%d", file);
	const ssize_t size = readlink(name, path, sizeof path - 1);
	path[size > 0 ? size : 0] = 0;
	if (shard && strstr(path, SHARD_JOURNAL)) {
		completed_first = NULL;
		assert_int_equal(draw_shard(shard, SIZE_MAX), CUTTLE_OK);
	}
	return (int)syscall(SYS_flock, file, operation);
}

static void a_shard_that_is_completed_meanwhile_is_not_redrawn(void **state) {
	(void)state;
	struct run_shard shard;
	struct setup setup;
	char journal[128];
	static char before[ROOM], after[ROOM];
	open_run();
	assert_int_equal(shards_join(run_folder, "0/2", 0, 0, &shard, &error), CUTTLE_OK);
	(void)snprintf(journal, sizeof journal, "%s.journal", shard.lines);
	assert_int_equal(draw_shard(&shard, 4), CUTTLE_PARTIAL);
	struct generate_request request = make_whole(&setup);
	const struct shards_request shards = {&request, run_folder, SHARDS};
	const size_t told = files_get(request.common.output, before, sizeof before);
	completed_first = &shard;
	assert_int_equal(shards_redraw(&shards, &setup, 0, "officer", &error), CUTTLE_USAGE);
	assert_null(completed_first);
	assert_non_null(strstr(error.message, "is complete"));
	assert_int_equal(access(shard.lines, F_OK), 0);
	assert_int_equal(access(shard.taken, F_OK), 0);
	assert_int_equal(access(journal, F_OK), -1);
	// Nothing was paid, or taken on somebody's word.
	assert_int_equal(files_get(request.common.output, after, sizeof after), told);
	assert_memory_equal(before, after, told);
	generate_free(&setup);
	free((char *)(uintptr_t)request.common.output);
	shards_leave(&shard);
	remove_run();
}

static void a_shard_is_taken_before_its_first_token(void **state) {
	(void)state;
	struct run_shard shard;
	char journal[128];
	open_run();
	assert_int_equal(shards_join(run_folder, "1/2", 0, 0, &shard, &error), CUTTLE_OK);
	(void)snprintf(journal, sizeof journal, "%s.journal", shard.lines);
	takes_away = true;
	assert_int_equal(draw_shard(&shard, SIZE_MAX), CUTTLE_LEDGER);
	// Not one token was kept, so the journal is gone.
	assert_int_equal(tokens_told, 0);
	assert_int_equal(access(journal, F_OK), -1);
	assert_int_equal(access(shard.lines, F_OK), -1);
	assert_int_equal(draw_shard(&shard, SIZE_MAX), CUTTLE_LEDGER);
	takes_away = taken_away = false;
	shards_leave(&shard);
	remove_run();
}

static void a_shard_that_was_stopped_goes_on(void **state) {
	(void)state;
	static char whole[ROOM], pieces[ROOM];
	struct run_shard shard;
	size_t size = 0, tokens = 0;
	for (int pass = 0; pass < 2; pass++) {
		open_run();
		assert_int_equal(shards_join(run_folder, "0/2", 0, 0, &shard, &error), CUTTLE_OK);
		enum cuttle_status status = CUTTLE_PARTIAL;
		while (status == CUTTLE_PARTIAL) {
			status = draw_shard(&shard, pass ? 4 : SIZE_MAX);
			tokens += tokens_told;
		}
		assert_int_equal(status, CUTTLE_OK);
		if (!pass) size = files_get(shard.lines, whole, sizeof whole);
		else assert_int_equal(files_get(shard.lines, pieces, sizeof pieces), size);
		shards_leave(&shard);
		remove_run();
	}
	assert_true(size > 0);
	assert_memory_equal(whole, pieces, size);
	// Shard 0 of 2 has three of the five texts.
	assert_int_equal(tokens, 2 * 3 * TOKENS);
}

static void each_shard_and_attempt_is_a_command(void **state) {
	(void)state;
	struct run_shard shard;
	struct shard_run again = {0};
	char commands[4][HASH_TEXT], path[128];
	size_t size;
	open_run();
	for (size_t i = 0; i < SHARDS; i++) {
		assert_int_equal(shards_join(run_folder, i ? "1/2" : "0/2", 0, 0, &shard, &error),
		                 CUTTLE_OK);
		memcpy(commands[i], shard.command, HASH_TEXT);
		if (i + 1 < SHARDS) shards_leave(&shard);
	}
	const struct shard_redraw redraw = {.shard = 1, .run = "", .entry = "", .word = "officer"};
	char *bytes = receipt_seal(shard_run_again(&shard.run, &redraw), NULL, &size);
	assert_non_null(bytes);
	(void)snprintf(path, sizeof path, "%s/" SHARD_RUN, run_folder);
	files_put(path, bytes, size);
	free(bytes);
	assert_int_equal(shard_run_read(run_folder, NULL, &again, &error), CUTTLE_OK);
	shard_run_command(&again, 0, commands[2]);
	shard_run_command(&again, 1, commands[3]);
	assert_string_not_equal(commands[0], commands[1]);
	assert_string_equal(commands[2], commands[0]);
	assert_string_not_equal(commands[3], commands[1]);
	assert_string_not_equal(commands[3], commands[0]);
	shard_run_close(&again);
	shards_leave(&shard);
	remove_run();
}

/* What happens to the files of a shard: 'u' and the ending of one that is removed, 's' where a
 * folder is synced. */
static char happened[512];
static bool watches;

/* Stands in for the system's. */
int unlink(const char *path) {
	const int code = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
	const char *ending = strstr(path, "-of-00002");
	if (watches && !code && ending && strlen(happened) < 400)
		(void)sprintf(happened + strlen(happened), "u%s ", ending + strlen("-of-00002"));
	return code;
}

int fsync(int file) {
	struct stat state;
	if (watches && !fstat(file, &state) && S_ISDIR(state.st_mode) && strlen(happened) < 400)
		(void)strcat(happened, "s ");
	return (int)syscall(SYS_fsync, file);
}

/* A redraw that was killed behind its payment is paid, and removes the rest: the taker at last. */
static void a_redraw_is_paid_once(void **state) {
	(void)state;
	static char taker[ROOM];
	struct run_shard shard;
	struct shard_run run;
	struct setup setup;
	open_run();
	assert_int_equal(shards_join(run_folder, "0/2", 0, 0, &shard, &error), CUTTLE_OK);
	assert_int_equal(draw_shard(&shard, 4), CUTTLE_PARTIAL);
	const size_t size = files_get(shard.taken, taker, sizeof taker);
	struct generate_request request = make_whole(&setup);
	const struct shards_request shards = {&request, run_folder, SHARDS};
	// Nobody was charged, so nothing can be charged again.
	assert_int_equal(shards_redraw(&shards, &setup, 0, NULL, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "nobody counted this run"));
	for (int calls = 0; calls < 2; calls++) {
		happened[0] = 0;
		watches = true;
		assert_int_equal(shards_redraw(&shards, &setup, 0, "officer", &error), CUTTLE_OK);
		watches = false;
		// A file that is not there is not removed, and the folder is synced all the same.
		const char *last = strstr(happened, "u" SHARD_TAKEN);
		assert_non_null(last);
		assert_string_equal(last, "u" SHARD_TAKEN " s ");
		if (calls == 0) assert_non_null(strstr(happened, "u" SHARD_JOURNAL " s "));
		assert_int_equal(shard_run_read(run_folder, NULL, &run, &error), CUTTLE_OK);
		assert_int_equal(shard_run_redraws(&run), 1);
		shard_run_close(&run);
		// As a kill leaves it.
		if (calls == 0) files_put(shard.taken, taker, size);
	}
	generate_free(&setup);
	free((char *)(uintptr_t)request.common.output);
	shards_leave(&shard);
	remove_run();
}

static void one_opens_at_a_time(void **state) {
	(void)state;
	struct generate_request request = make_request();
	struct setup setup;
	char lock[128];
	bool already = true;
	assert_int_equal(shards_folder(&request, run_folder, &error), CUTTLE_OK);
	request = make_whole(&setup);
	const struct shards_request shards = {&request, run_folder, SHARDS};
	// Nothing is open.
	assert_int_equal(shards_redraw(&shards, &setup, 0, "officer", &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "no run is open in"));
	(void)snprintf(lock, sizeof lock, "%s/run.lock", run_folder);
	const int held = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(held >= 0 && !flock(held, LOCK_EX | LOCK_NB));
	assert_int_equal(shards_open(&shards, &setup, &already, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "another process is opening"));
	assert_false(already);
	assert_int_equal(access(request.common.output, F_OK), -1);
	assert_int_equal(close(held), 0);
	assert_int_equal(shards_open(&shards, &setup, &already, &error), CUTTLE_OK);
	generate_free(&setup);
	free((char *)(uintptr_t)request.common.output);
	remove_run();
}

/* Each file that the run reads would be swept or shown to the machines, were it in the folder. */
static void what_is_read_is_elsewhere(void **state) {
	(void)state;
	struct generate_request request;
	char inside[128];
	const char **const read[] = {&request.common.input,  &request.common.model,
	                             &request.common.ledger, &request.public_examples,
	                             &request.prompt_public, &request.prompt_private,
	                             &request.categories,    &request.common.sign};
	assert_int_equal(mkdir(run_folder, 0700), 0);
	(void)snprintf(inside, sizeof inside, "%s/file", run_folder);
	for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
		request = make_request();
		assert_int_equal(shards_folder(&request, run_folder, &error), CUTTLE_OK);
		*read[i] = inside;
		assert_int_equal(shards_folder(&request, run_folder, &error), CUTTLE_USAGE);
		assert_non_null(strstr(error.message, "where only files of shards may be"));
	}
	// A member of that name would be taken for one of cuttle's when shards are merged.
	static const char *const names[] = {"batch", "free", "ids"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		request = make_request();
		assert_null(shards_fault(&request));
		const char *const fields[] = {"land", names[i]};
		request.category_fields = fields;
		request.category_field_count = 2;
		assert_non_null(shards_fault(&request));
	}
	remove_run();
}

/* The most memory that this process has claimed so far, in KiB. */
static size_t most_memory(void) {
	char status[4096];
	status[files_get("/proc/self/status", status, sizeof status - 1)] = 0;
	const char *line = strstr(status, "VmPeak:");
	assert_non_null(line);
	return strtoul(line + strlen("VmPeak:"), NULL, 10);
}

/* Changes the first `from` in a file to `to`. */
static void edit_file(const char *path, const char *from, const char *to) {
	static char bytes[2 * ROOM], edited[4 * ROOM];
	bytes[files_get(path, bytes, sizeof bytes - 1)] = 0;
	const char *at = strstr(bytes, from);
	assert_non_null(at);
	const int size = snprintf(edited, sizeof edited, "%.*s%s%s", (int)(at - bytes), bytes, to,
	                          at + strlen(from));
	files_put(path, edited, (size_t)size);
}

/* Changes the number behind the first `before` in a file. */
static void edit_number(const char *path, const char *before, const char *to) {
	static char bytes[ROOM];
	char from[256], whole[256];
	bytes[files_get(path, bytes, sizeof bytes - 1)] = 0;
	const char *at = strstr(bytes, before);
	assert_non_null(at);
	const int size = (int)(strlen(before) + strcspn(at + strlen(before), ",\n"));
	(void)snprintf(from, sizeof from, "%.*s", size, at);
	(void)snprintf(whole, sizeof whole, "%s%s", before, to);
	edit_file(path, from, whole);
}

/* Draws all shards. The last one is still joined. */
static void draw_all(struct run_shard *shard) {
	for (size_t i = 0; i < SHARDS; i++) {
		assert_int_equal(shards_join(run_folder, i ? "1/2" : "0/2", 0, 0, shard, &error),
		                 CUTTLE_OK);
		assert_int_equal(draw_shard(shard, SIZE_MAX), CUTTLE_OK);
		if (i + 1 < SHARDS) shards_leave(shard);
	}
}

/* Whoever can write into the folder can write such a line, and a receipt with its hash. */
static void a_line_that_claims_many_tokens_takes_no_memory(void **state) {
	(void)state;
	struct run_shard shard;
	struct merge_result result;
	char output[64], receipt[128], before[HASH_TEXT], after[HASH_TEXT];
	open_run();
	draw_all(&shard);
	char *path = shard_path(run_folder, shard.number, SHARD_RECEIPT);
	assert_non_null(path);
	(void)snprintf(receipt, sizeof receipt, "%s", path);
	free(path);
	(void)snprintf(output, sizeof output, "%s/out.jsonl", folder);
	const struct merge_request request = {
	    .folder = run_folder, .common.output = output, .common.now = 1700000000};
	static const char *const edits[][2] = {{"\"tokens\":", "\"tokens\":100000000"},
	                                       {"\"index\":1", "\"index\":0"},
	                                       {"\"ids\":[", "\"ids\":[4294967296"}};
	static char lines_bytes[ROOM], receipt_bytes[ROOM];
	const size_t lines = files_get(shard.lines, lines_bytes, sizeof lines_bytes),
	             told = files_get(receipt, receipt_bytes, sizeof receipt_bytes),
	             memory = most_memory();
	assert_int_equal(hash_file(shard.lines, before, &error), CUTTLE_OK);
	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
		edit_file(shard.lines, edits[i][0], edits[i][1]);
		assert_int_equal(hash_file(shard.lines, after, &error), CUTTLE_OK);
		edit_file(receipt, before, after);
		assert_int_equal(merge_outputs(&request, &result, &error), CUTTLE_LEDGER);
		assert_non_null(strstr(error.message, "none that cuttle writes"));
		assert_in_range(most_memory(), memory, memory + (1 << 20));
		free(result.lacking);
		files_put(shard.lines, lines_bytes, lines);
		files_put(receipt, receipt_bytes, told);
	}
	shards_leave(&shard);
	remove_run();
}

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define REDRAW(shard, run, entry, word)                                                            \
	"[{\"shard\": " shard ", \"run\": \"" run "\", \"entry\": \"" entry                        \
	"\", \"word\": \"" word "\"}]"

static void refuses_members(const char *what) {
	struct shard_run run;
	const enum cuttle_status status = shard_run_read(run_folder, NULL, &run, &error);
	shard_run_close(&run);
	if (status != CUTTLE_LEDGER || !strstr(error.message, "it is not what cuttle shard open"))
		fail_msg("%s: %d, %s", what, (int)status, error.message);
}

static enum cuttle_status merge_run(void) {
	char output[64];
	struct merge_result result;
	(void)snprintf(output, sizeof output, "%s/out.jsonl", folder);
	const struct merge_request request = {.folder = run_folder,
	                                      .common.output = output,
	                                      .common.ledger = ledger_path,
	                                      .common.now = 1700000000};
	const enum cuttle_status status = merge_outputs(&request, &result, &error);
	free(result.lacking);
	assert_int_equal(access(output, F_OK), status ? -1 : 0);
	if (!status) assert_int_equal(unlink(output), 0);
	return status;
}

static void refuses_merge(const char *why) {
	assert_int_equal(merge_run(), CUTTLE_LEDGER);
	if (!strstr(error.message, why)) fail_msg("not \"%s\": %s", why, error.message);
}

static int copy_sql(void *user, int columns, char **values, char **names) {
	(void)columns, (void)names;
	(void)snprintf(user, 512, "%s", values[0]);
	return 0;
}

/* Edits the ledger as somebody who knows its pages, and puts the trigger back. */
static void edit_ledger(const char *edit) {
	sqlite3 *database;
	char trigger[512] = "";
	assert_int_equal(
	    sqlite3_open_v2(ledger_path, &database, SQLITE_OPEN_READWRITE, pages_layer()),
	    SQLITE_OK);
	(void)sqlite3_exec(database, "SELECT sql FROM sqlite_schema WHERE name = 'entry_delete'",
	                   copy_sql, trigger, NULL);
	(void)sqlite3_exec(database, "DROP TRIGGER entry_delete", NULL, NULL, NULL);
	assert_int_equal(sqlite3_exec(database, edit, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, trigger, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static void make_ledger(void) {
	struct ledger *ledger;
	struct ledger_dataset dataset = {
	    .name = "notes", .rho = (double)NAN, .epsilon = 1e6, .delta = 1e-3};
	assert_int_equal(ledger_create(ledger_path, &error), CUTTLE_OK);
	assert_int_equal(ledger_open(ledger_path, &ledger, &error), CUTTLE_OK);
	assert_int_equal(ledger_add(ledger, &dataset, &error), CUTTLE_OK);
	ledger_close(&ledger);
}

static bool unnamed; /* run.json does not get its name */

/* Stands in for the system's. */
int rename(const char *from, const char *to) {
	if (unnamed && file_ends_in(to, "/" SHARD_RUN)) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* Stopped between the ledger's entry and run.json, an opening goes on for what it was charged: no
 * shard could begin. So does a redraw. Where not all of it stands as the ledger has it, it is
 * refused, or charged again. */
static void an_opening_that_was_stopped_is_charged_once(void **state) {
	(void)state;
	struct setup setup;
	struct run_shard shard;
	struct shard_run run;
	char staged[128], texts[128];
	static char bytes[ROOM];
	bool already;
	(void)snprintf(staged, sizeof staged, "%s/" SHARD_RUN ".part-paid", run_folder);
	(void)snprintf(texts, sizeof texts, "%s/shard-00001-of-00002.texts", run_folder);
	counted = true;
	for (uint64_t loses = 0; loses < 2; loses++) {
		make_ledger();
		struct generate_request request = make_request();
		assert_int_equal(shards_folder(&request, run_folder, &error), CUTTLE_OK);
		request = make_whole(&setup);
		const struct shards_request shards = {&request, run_folder, SHARDS};
		unnamed = true;
		for (int i = 0; i < 2; i++) {
			assert_int_equal(shards_open(&shards, &setup, &already, &error),
			                 CUTTLE_PARTIAL);
			assert_int_equal(runs_charged(ledger_path), 1);
		}
		unnamed = false;
		const size_t size = files_get(staged, bytes, sizeof bytes);
		files_put(staged, bytes, size - 1);
		assert_int_equal(shards_open(&shards, &setup, &already, &error), CUTTLE_LEDGER);
		assert_non_null(strstr(error.message, "run.json.part-paid has"));
		files_put(staged, bytes, size);
		if (loses) assert_int_equal(unlink(texts), 0);
		assert_int_equal(shards_open(&shards, &setup, &already, &error), CUTTLE_OK);
		assert_false(already);
		assert_int_equal(runs_charged(ledger_path), 1 + loses);
		assert_int_equal(access(staged, F_OK), -1);
		assert_int_equal(shards_join(run_folder, "1/2", 0, 0, &shard, &error), CUTTLE_OK);
		assert_int_equal(draw_shard(&shard, 2), CUTTLE_PARTIAL);
		unnamed = true;
		for (int i = 0; i < 2; i++) {
			assert_int_equal(shards_redraw(&shards, &setup, 1, NULL, &error),
			                 CUTTLE_PARTIAL);
			assert_int_equal(runs_charged(ledger_path), 2 + loses);
		}
		unnamed = false;
		assert_int_equal(shards_redraw(&shards, &setup, 1, NULL, &error), CUTTLE_OK);
		assert_int_equal(runs_charged(ledger_path), 2 + loses);
		assert_int_equal(shard_run_read(run_folder, NULL, &run, &error), CUTTLE_OK);
		assert_int_equal(shard_run_redraws(&run), 1);
		shard_run_close(&run);
		shards_leave(&shard);
		generate_free(&setup);
		free((char *)(uintptr_t)request.common.output);
		remove_run();
		assert_int_equal(unlink(ledger_path), 0);
	}
	counted = false;
}

/* The run and the ledger agree, and each is edited so that the other contradicts it. */
static void merge_asks_the_ledger(void **state) {
	(void)state;
	static char run_bytes[ROOM], ledger_bytes[4 * ROOM];
	struct run_shard shard;
	struct shard_run other;
	char run_json[128], before[160];
	counted = true;
	make_ledger();
	open_run();
	draw_all(&shard);
	(void)snprintf(run_json, sizeof run_json, "%s/" SHARD_RUN, run_folder);
	const size_t run = files_get(run_json, run_bytes, sizeof run_bytes),
	             ledger = files_get(ledger_path, ledger_bytes, sizeof ledger_bytes);
	// An older copy of the ledger knows the charge, and not that it was drawn.
	edit_ledger("DELETE FROM entry WHERE kind = 'draw'");
	refuses_merge("does not know that its run draws");
	// Something was added that changes no entry.
	files_put(ledger_path, ledger_bytes, ledger);
	edit_ledger("CREATE TABLE more(x)");
	refuses_merge("its tables or triggers are others");
	files_put(ledger_path, ledger_bytes, ledger);
	// What the run says that it was charged is not what it was.
	edit_number(run_json, "\"ledger\": {\n      \"delta\": ", "0.5");
	refuses_merge("has no entry");
	files_put(run_json, run_bytes, run);
	(void)snprintf(before, sizeof before, "%s\",\n      \"epsilon\": ", shard.run.ledger.entry);
	edit_number(run_json, before, "2.5");
	refuses_merge("has no entry");
	files_put(run_json, run_bytes, run);
	// A charge is of a data set, and in epsilon of a delta.
	edit_file(run_json, "\"dataset\": \"notes\"", "\"dataset\": null");
	refuses_members("no data set");
	files_put(run_json, run_bytes, run);
	edit_number(run_json, "\"ledger\": {\n      \"delta\": ", "\"x\"");
	refuses_members("no delta");
	files_put(run_json, run_bytes, run);
	// A receipt of a shard in other bytes.
	static char receipt_bytes[ROOM];
	char *receipt = shard_path(run_folder, shard.number, SHARD_RECEIPT);
	const size_t told = files_get(receipt, receipt_bytes, sizeof receipt_bytes);
	edit_file(receipt, "\"batches\": ", "\"batches\":  ");
	refuses_merge("its bytes are not those");
	files_put(receipt, receipt_bytes, told);
	free(receipt);
	// The charge of another run of this command; that of another command, which cost the same.
	char first_folder[64];
	memcpy(first_folder, run_folder, sizeof first_folder);
	for (int commands = 1; commands <= 2; commands++) {
		(void)snprintf(run_folder, sizeof run_folder, "%s/OTHER", folder);
		kind = commands > 1 ? "another kind" : NULL;
		open_run();
		assert_int_equal(shard_run_read(run_folder, NULL, &other, &error), CUTTLE_OK);
		assert_true(other.ledger.rho == shard.run.ledger.rho);
		remove_run();
		memcpy(run_folder, first_folder, sizeof first_folder);
		edit_file(run_json, shard.run.ledger.entry, other.ledger.entry);
		if (commands > 1) edit_file(run_json, shard.run.terms.run, other.terms.run);
		refuses_merge("has no entry");
		shard_run_close(&other);
		files_put(run_json, run_bytes, run);
	}
	kind = NULL;
	assert_int_equal(merge_run(), CUTTLE_OK);
	shards_leave(&shard);
	remove_run();
	(void)snprintf(before, sizeof before, "%s/out.receipt.json", folder);
	assert_int_equal(unlink(before), 0);
	assert_int_equal(unlink(ledger_path), 0);
	counted = false;
}

/* Every member of run.json is one that shard open writes, or nothing is drawn or merged. */
static void a_run_of_other_members_is_refused(void **state) {
	(void)state;
	static const char *const numbers[][2] = {
	    {"\"shards\": ", "0"},
	    {"\"shards\": ", "8193"},
	    {"\"shards\": ", "3"},
	    {"\"shards\": ", "\"2\""},
	    {"\"batches\": ", "1"},
	    {"\"batches\": ", "-5"},
	    {"\"places\": ", "0"},
	    {"\"places\": ", "4294967296"},
	    {"\"records\": ", "-1"},
	    {"\"accountant\": ", "\"none\""},
	    {"\"format\": ", "\"xml\""},
	    {"\"lines_of_batches\": ", "0"},
	    {"\"run\": ", "\"x\""},
	    {"\"redraws\": ", "[1]"},
	    {"\"redraws\": ", "null"},
	    {"\"lots\": ", "{}"},
	    {"\"lots\": ", "[1]"},
	    {"\"fields\": ", "[1]"},
	    {"\"fields\": ", "null"},
	    {"\"digests\": [\n    ", "1"},
	    {"\"digests\": [\n    ", "\"a\""},
	    {"\"fields\": ", "[\"a\",\"b\",\"c\",\"d\",\"e\"]"},
	    {"\"digests\": [\n    ", "\"" HEX64 "\",\"" HEX64 "\""},
	    // A redraw of no shard; without a word; with a name that is none; of a word and an
	    // entry.
	    {"\"redraws\": ", REDRAW("2", "", "", "officer")},
	    {"\"redraws\": ", REDRAW("1", "", "", "")},
	    {"\"redraws\": ", REDRAW("1", "x", HEX64, "")},
	    {"\"redraws\": ", REDRAW("1", "", "x", "officer")},
	    {"\"private\": ", "1"},
	    {"\"ledger\": ", "1"},
	    {"\"command_sha256\": ", "\"a\""},
	    {"\"model_sha256\": ", "1"},
	    {"\"template_sha256\": ", "1"},
	    {"\"run\": ", "\"0123456789abcdef0123456789abcdef\",\n  \"signature\": \"a\""}};
	static char bytes[ROOM];
	struct shard_run run;
	char run_json[128];
	open_run();
	(void)snprintf(run_json, sizeof run_json, "%s/" SHARD_RUN, run_folder);
	const size_t size = files_get(run_json, bytes, sizeof bytes);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		edit_number(run_json, numbers[i][0], numbers[i][1]);
		refuses_members(numbers[i][1]);
		files_put(run_json, bytes, size);
	}
	// No shard, and so no digest.
	const char *from = strstr(bytes, "\"digests\": "), *to = strchr(from, ']');
	char digests[512];
	(void)snprintf(digests, sizeof digests, "%.*s", (int)(to + 1 - from), from);
	edit_file(run_json, digests, "\"digests\": []");
	edit_number(run_json, "\"shards\": ", "0");
	refuses_members("no shard");
	// More categories than a run has.
	static char lots[ROOM] = "[";
	for (size_t i = 0; i <= MOST_CATEGORIES; i++)
		(void)strcat(lots, "{\"records\":1,\"batches\":1,\"used\":1},");
	lots[strlen(lots) - 1] = ']';
	files_put(run_json, bytes, size);
	static char line[ROOM + 16];
	(void)snprintf(line, sizeof line, "\"lots\": %s", lots);
	edit_file(run_json, "\"lots\": []", line);
	refuses_members("1025 categories");
	// Equal members in other bytes.
	files_put(run_json, bytes, size);
	edit_file(run_json, "\"batches\": ", "\"batches\":  ");
	assert_int_equal(shard_run_read(run_folder, NULL, &run, &error), CUTTLE_LEDGER);
	assert_non_null(strstr(error.message, "its bytes are not those"));
	shard_run_close(&run);
	files_put(run_json, bytes, size);
	assert_int_equal(shard_run_read(run_folder, NULL, &run, &error), CUTTLE_OK);
	shard_run_close(&run);
	remove_run();
}

static int begin_tests(void **state) {
	(void)state;
	static const char records[] =
	    "{\"text\":\"one\"}\n{\"text\":\"two\"}\n{\"text\":\"three\"}\n{\"text\":\"four\"}\n"
	    "{\"text\":\"five\"}\n{\"text\":\"six\"}\n{\"text\":\"seven\"}\n{\"text\":\"eight\"}\n"
	    "{\"text\":\"nine\"}\n{\"text\":\"ten\"}\n";
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(model_path, sizeof model_path, "%s/tiny.gguf", folder);
	(void)snprintf(input, sizeof input, "%s/refs.jsonl", folder);
	(void)snprintf(run_folder, sizeof run_folder, "%s/RUN", folder);
	(void)snprintf(ledger_path, sizeof ledger_path, "%s/ledger", folder);
	files_put(input, records, sizeof records - 1);
	return runs_model(model_path, &opened, &error) ? -1 : 0;
}

static int end_tests(void **state) {
	(void)state;
	static const char *const names[] = {"tiny.gguf", "refs.jsonl"};
	cuttle_model_free(&opened.model);
	return files_remove(folder, names, sizeof names / sizeof *names);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_shard_is_taken_before_its_first_token),
	    cmocka_unit_test(a_shard_that_was_stopped_goes_on),
	    cmocka_unit_test(each_shard_and_attempt_is_a_command),
	    cmocka_unit_test(a_shard_that_is_completed_meanwhile_is_not_redrawn),
	    cmocka_unit_test(a_line_that_claims_many_tokens_takes_no_memory),
	    cmocka_unit_test(an_opening_that_was_stopped_is_charged_once),
	    cmocka_unit_test(merge_asks_the_ledger),
	    cmocka_unit_test(a_redraw_is_paid_once),
	    cmocka_unit_test(one_opens_at_a_time),
	    cmocka_unit_test(what_is_read_is_elsewhere),
	    cmocka_unit_test(a_run_of_other_members_is_refused),
	};
	return cmocka_run_group_tests(tests, begin_tests, end_tests);
}
