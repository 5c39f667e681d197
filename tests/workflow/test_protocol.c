// SPDX-License-Identifier: Apache-2.0
// Replays the walks of proofs/protocol/protocol.pml, as proofs/protocol/walks.txt has them, on
// workflow/delivery.c, spending.c and all that they call. Of each walk three processes run, one
// after the other. The first two are ended before a step that the walk names, by a kill or by a
// power cut that loses whatever was not synced. It fails if a process takes another step than the
// model, if what it leaves in ledger and files is not what the model says, or if the model has a
// step that no walk takes. Each step is a call that the linker brings here first (Makefile:
// --wrap). Then come the faults that the model found: races, and what was refused or seen too
// early.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/disk/file.h"
#include "io/ledger/ledger.h"
#include "io/output/binding.h"
#include "tests/support/files.h"
#include "tests/support/runs.h"
#include "tests/support/statistics.h"
#include "workflow/delivery.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXTS = 2, PATH_ROOM = 320, SAID = 1024, NEVER = 255, DIED = 99 };
/* disk/ with the output, ledger/, synced/. In memory, where there is such a folder: what is synced
 * is noted here, and some 900 processes sync some 30,000 times. */
static char base[] = "/dev/shm/cuttle-protocol-XXXXXX", elsewhere[] = "/tmp/cuttle-protocol-XXXXXX";
static char disk[64], out[80], ledger_path[80];
static struct cuttle_error error;

/* ---- what a process does --------------------------------------------------------------------- */

/* Of one process; in memory that its parent sees. */
static struct watch {
	bool on;
	bool cuts;        /* what is synced is kept beside */
	unsigned depth;   /* inside a step: what it calls is no step of its own */
	unsigned steps;   /* taken */
	unsigned dies;    /* before the step behind so many; NEVER */
	char last[64];    /* name of the last step */
	char said[SAID];  /* all of them, each behind a space */
	void (*at)(void); /* called in the step `at_step` */
	const char *at_step;
} * watch;

/* What else happens at this moment. */
static void reach(const char *name) {
	if (!watch->on || !watch->at || strcmp(watch->at_step, name) != 0) return;
	void (*const at)(void) = watch->at;
	watch->at = NULL;
	watch->on = false;
	at();
	watch->on = true;
}

/* A step begins. Calls of one name, one after the other, are one step. */
static void enter(const char *name) {
	if (!watch->on || watch->depth || !strcmp(watch->last, name)) return;
	// The folder is a part of what was synced just now.
	if (!strcmp(name, "file_sync_folder") && strstr(watch->last, "_sync") &&
	    !strstr(watch->last, "journal_sync"))
		return;
	if (watch->steps++ == watch->dies) _exit(DIED);
	(void)snprintf(watch->last, sizeof watch->last, "%s", name);
	const size_t used = strlen(watch->said);
	(void)snprintf(watch->said + used, SAID - used, " %s", name);
	reach(name);
}

static bool ends_in(const char *path, const char *ending) {
	const size_t size = strlen(path), length = strlen(ending);
	return size >= length && !strcmp(path + size - length, ending);
}

int __real_access(const char *path, int how);
static bool is_there(const char *path) {
	return __real_access(path, F_OK) == 0;
}

static void name_of(int file, char path[PATH_ROOM]) {
	char link[64];
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
	const ssize_t size = readlink(link, path, PATH_ROOM - 1);
	path[size > 0 ? size : 0] = 0;
}

/* ---- what a power cut leaves ----------------------------------------------------------------- */

/* What stands under base/synced: of each file that was synced a second name, so that its number is
 * given to no other, and its content at that moment; and "names", the folder as it was synced last.
 */
static void name_synced(char path[PATH_ROOM], const char *what, ino_t number) {
	(void)snprintf(path, PATH_ROOM, "%s/synced/%s-%ju", base, what, (uintmax_t)number);
}

static void copy_bytes(const char *from, const char *to) {
	static char bytes[1 << 16];
	files_put(to, bytes, files_get(from, bytes, sizeof bytes));
}

static void note_file(const char *path) {
	char held[PATH_ROOM], content[PATH_ROOM];
	struct stat is;
	if (stat(path, &is) != 0) return;
	name_synced(held, "held", is.st_ino);
	name_synced(content, "content", is.st_ino);
	if (!is_there(held)) (void)link(path, held);
	copy_bytes(path, content);
}

static void note_folder(void) {
	char path[PATH_ROOM], held[PATH_ROOM];
	(void)snprintf(path, sizeof path, "%s/synced/names", base);
	FILE *names = fopen(path, "w");
	DIR *folder = opendir(disk);
	assert_true(names && folder);
	for (const struct dirent *entry; (entry = readdir(folder));) {
		struct stat is;
		if (entry->d_name[0] == '.') continue;
		(void)snprintf(path, sizeof path, "%s/%s", disk, entry->d_name);
		assert_int_equal(stat(path, &is), 0);
		name_synced(held, "held", is.st_ino);
		if (!is_there(held)) (void)link(path, held);
		(void)fprintf(names, "%ju %s\n", (uintmax_t)is.st_ino, entry->d_name);
	}
	(void)closedir(folder);
	(void)fclose(names);
}

static void note_sync(int file) {
	char path[PATH_ROOM];
	name_of(file, path);
	if (!watch->on || !watch->cuts || strncmp(path, disk, strlen(disk)) != 0) return;
	watch->depth++;
	watch->on = false;
	if (!strcmp(path, disk)) note_folder();
	else note_file(path);
	watch->on = true;
	watch->depth--;
}

static int shell(const char *format, const char *one, const char *other) {
	char line[512];
	(void)snprintf(line, sizeof line, format, one, other);
	return system(line);
}

/* The folder becomes what was synced of it. */
static void cut_power(void) {
	char names[PATH_ROOM], name[128], content[PATH_ROOM], path[PATH_ROOM];
	uintmax_t number;
	(void)snprintf(names, sizeof names, "%s/synced/names", base);
	assert_int_equal(shell("rm -rf %s && mkdir %s", disk, disk), 0);
	FILE *file = fopen(names, "r");
	while (file && fscanf(file, "%ju %127s", &number, name) == 2) {
		name_synced(content, "content", (ino_t)number);
		(void)snprintf(path, sizeof path, "%s/%s", disk, name);
		copy_bytes(content, path);
		assert_int_equal(chmod(path, 0600), 0);
	}
	if (file) (void)fclose(file);
	assert_int_equal(shell("rm -rf %s/synced && mkdir %s/synced", base, base), 0);
	DIR *folder = opendir(disk);
	assert_non_null(folder);
	for (const struct dirent *entry; (entry = readdir(folder));) {
		(void)snprintf(path, sizeof path, "%s/%s", disk, entry->d_name);
		if (entry->d_name[0] != '.') note_file(path);
	}
	(void)closedir(folder);
	note_folder();
}

/* ---- the steps ------------------------------------------------------------------------------- */

/* A call of a function is a step, whatever it calls itself. */
#define STEP(type, function, name, parameters, arguments)                                          \
	type __real_##function parameters;                                                         \
	type __wrap_##function parameters;                                                         \
	type __wrap_##function parameters {                                                        \
		enter(name);                                                                       \
		watch->depth++;                                                                    \
		const type answer = __real_##function arguments;                                   \
		watch->depth--;                                                                    \
		return answer;                                                                     \
	}

typedef struct cuttle_error fault;
typedef struct ledger_run ledger_run;
typedef enum cuttle_status result;
STEP(result, journal_open, "journal_open",
     (const char *path, struct journal **journal, fault *told), (path, journal, told))
STEP(result, binding_open, "binding_open", (const char *path, struct binding *binding, fault *told),
     (path, binding, told))
STEP(result, journal_load, "journal_load",
     (struct journal * journal, const struct journal_owner *owner, size_t texts,
      enum journal_state *state, fault *told),
     (journal, owner, texts, state, told))
STEP(result, ledger_match, "ledger_match",
     (struct ledger * ledger, const struct ledger_request *request, ledger_run *found, bool *same,
      fault *told),
     (ledger, request, found, same, told))
STEP(result, ledger_reserve, dry ? "ask_charge" : "ledger_reserve",
     (struct ledger * ledger, const struct ledger_request *request, bool dry, ledger_run *found,
      fault *told),
     (ledger, request, dry, found, told))
STEP(result, ledger_draw, "ledger_draw",
     (struct ledger * ledger, const char *dataset, const char *run,
      const struct journal_mark *before, const struct journal_mark *mark, fault *told),
     (ledger, dataset, run, before, mark, told))
STEP(result, ledger_finish, "ledger_finish",
     (struct ledger * ledger, const char *dataset, const char *run, const char *output,
      fault *told),
     (ledger, dataset, run, output, told))
STEP(int, journal_mark, "journal_mark",
     (const struct journal *journal, uint64_t most, struct journal_mark *mark),
     (journal, most, mark))
STEP(int, journal_sync, "journal_sync", (struct journal * journal), (journal))
STEP(result, output_seal, "output_seal", (struct output * output, char *sha256, fault *told),
     (output, sha256, told))
STEP(int, file_sync_folder, "file_sync_folder", (const char *path), (path))
STEP(int, file_sync, "binding_keep_sync", (const char *path), (path))
STEP(int, file_replace_by, ends_in(path, ".run") ? "write_run_name" : "replace_receipt",
     (const char *part, const char *path, const void *bytes, size_t size),
     (part, path, bytes, size))

int __real_journal_remove(struct journal *journal);
int __wrap_journal_remove(struct journal *journal);
int __wrap_journal_remove(struct journal *journal) {
	enter("journal_remove");
	const int answer = __real_journal_remove(journal);
	reach("journal_removed");
	return answer;
}

/* What is refused is closed within output_open, where the linker brings nothing here. */
void __real_journal_close(struct journal **journal);
void __wrap_journal_close(struct journal **journal);
void __wrap_journal_close(struct journal **journal) {
	if (*journal && strcmp(watch->last, "journal_remove") != 0 &&
	    strcmp(watch->last, "journal_open") != 0)
		enter("output_close");
	watch->depth++;
	__real_journal_close(journal);
	watch->depth--;
}
void __real_output_close(struct output **output);
void __wrap_output_close(struct output **output);
void __wrap_output_close(struct output **output) {
	if (*output && strcmp(watch->last, "journal_remove") != 0) enter("output_close");
	watch->depth++;
	__real_output_close(output);
	watch->depth--;
}

/* A call is a step by the file that it is about, and where it does something. */
int __real_file_write(int file, const void *bytes, size_t size);
int __wrap_file_write(int file, const void *bytes, size_t size);
int __wrap_file_write(int file, const void *bytes, size_t size) {
	enum { FIRST_LINE = 147 };
	char path[PATH_ROOM];
	name_of(file, path);
	if (ends_in(path, ".key")) enter("binding_keep_write");
	else if (ends_in(path, ".journal"))
		enter(size == FIRST_LINE ? "journal_restart_write" : "journal_append");
	else if (strstr(path, ".jsonl.part-")) enter("output_text");
	return __real_file_write(file, bytes, size);
}

int __real_ftruncate(int file, off_t size);
int __wrap_ftruncate(int file, off_t size);
int __wrap_ftruncate(int file, off_t size) {
	enter("ftruncate");
	return __real_ftruncate(file, size);
}

int __real_fsync(int file);
int __wrap_fsync(int file);
int __wrap_fsync(int file) {
	char path[PATH_ROOM];
	name_of(file, path);
	if (ends_in(path, ".key")) enter("binding_keep_sync");
	if (ends_in(path, ".journal")) enter("journal_restart_sync");
	const int answer = __real_fsync(file);
	note_sync(file);
	return answer;
}

int __real_fdatasync(int file);
int __wrap_fdatasync(int file);
int __wrap_fdatasync(int file) {
	const int answer = __real_fdatasync(file);
	note_sync(file);
	return answer;
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to) {
	if (is_there(from)) enter(ends_in(from, ".before") ? "rename_before" : "rename");
	return __real_rename(from, to);
}

int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to) {
	if (is_there(from)) enter("link_before");
	return __real_link(from, to);
}

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path) {
	struct stat is;
	if (!stat(path, &is)) {
		if (ends_in(path, ".run")) enter("unlink_name");
		if (ends_in(path, ".before")) enter("unlink_before");
		// An empty one is what a process left that was ended before it wrote its key.
		if (ends_in(path, ".key") && is.st_size) enter("binding_remove");
	}
	return __real_unlink(path);
}

int __wrap_access(const char *path, int how);
int __wrap_access(const char *path, int how) {
	// The name of the charge is read before the charge is looked up.
	if (ends_in(path, ".run")) enter("ledger_match");
	return __real_access(path, how);
}

/* ---- a process ------------------------------------------------------------------------------- */

/* What one is told, as the model's process is. */
struct told {
	int number; /* which token it draws */
	int plan;   /* 1, or 2: another command */
	bool overwrite;
	unsigned stops; /* before this text; NEVER */
	const char *approved;
	bool uncounted;
};

static void name_command(int plan, char command[HASH_TEXT]) {
	const char name[] = {'c', (char)('0' + plan)};
	hash_of(name, sizeof name, command);
}

static void digest_key(void *user, const unsigned char *key, char *digest) {
	(void)user;
	hash_of(key, BINDING_KEY, digest);
}

static enum cuttle_status live(const struct told *told) {
	struct spending spending;
	struct delivery delivery = {0};
	struct receipt_ledger charged = {.entry = ""};
	char command[HASH_TEXT], sha256[HASH_TEXT], receipt[512];
	bool complete = false;
	name_command(told->plan, command);
	const struct spending_request counted = {.ledger = told->uncounted ? NULL : ledger_path,
	                                         .dataset = "notes",
	                                         .output = out,
	                                         .approved = told->approved};
	const struct output_request request = {.path = out,
	                                       .fingerprint = command,
	                                       .format = OUTPUT_JSONL,
	                                       .texts = TEXTS,
	                                       .private_output = true,
	                                       .overwrite = told->overwrite,
	                                       .digest = digest_key};
	const struct ledger_request charge = {.command = command, .rho = 0.5, .count = 4};
	enum cuttle_status status = spending_open(&counted, &spending, &error);
	if (!status)
		status = delivery_open(&request, NULL, &spending, &charge, &delivery, &complete,
		                       &charged, &error);
	for (size_t t = 0; !status && !complete && t < TEXTS; t++) {
		const int32_t *tokens;
		int32_t token = told->number;
		if (output_drawn(delivery.output, t, &tokens)) token = tokens[0];
		else if (told->stops == t) status = CUTTLE_PARTIAL;
		else if (delivery_token(&delivery, t, 0, token))
			status = delivery_explain(&delivery, &error);
		const char letter = (char)('0' + token);
		const struct cuttle_text line = {
		    .index = t, .batch = t, .text = &letter, .size = 1, .tokens = 1};
		if (!status && output_text(delivery.output, &line))
			status = delivery_explain(&delivery, &error);
	}
	if (!status && !complete) status = delivery_seal(&delivery, sha256, &error);
	if (!status && !complete) {
		(void)snprintf(receipt, sizeof receipt,
		               "{\"command_sha256\":\"%s\",\"output_sha256\":\"%s\"}\n", command,
		               sha256);
		status = delivery_publish(&delivery, strdup(receipt), strlen(receipt), &error);
	}
	delivery_close(&delivery);
	spending_close(&spending);
	return status;
}

static void (*hook)(void);    /* what else happens, once, in the next process, */
static const char *hook_step; /* in this step */
static bool notes;            /* what is synced is noted */

/* In a process of its own, which ends before the step behind `dies`, or never. */
static enum cuttle_status run_process(const struct told *told, unsigned dies) {
	int status;
	memset(watch, 0, sizeof *watch);
	watch->dies = dies;
	watch->cuts = notes;
	watch->at = hook;
	watch->at_step = hook_step;
	hook = NULL;
	const pid_t child = fork();
	if (child == 0) {
		watch->on = true;
		const enum cuttle_status ended = live(told);
		watch->on = false;
		_exit((int)ended);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	watch->on = false;
	return (enum cuttle_status)WEXITSTATUS(status);
}

/* ---- what it leaves -------------------------------------------------------------------------- */

static struct {
	int charges;
	char run[LEDGER_RUN]; /* of the newest */
} seen;

static enum cuttle_status look_at_entry(void *user, const struct chain_entry *entry) {
	(void)user;
	if (strcmp(entry->kind, "reserve") != 0) return CUTTLE_OK;
	seen.charges++;
	(void)snprintf(seen.run, sizeof seen.run, "%s", entry->run);
	return CUTTLE_OK;
}

static size_t read_file(const char *ending, char *bytes, size_t room) {
	char path[PATH_ROOM];
	(void)snprintf(path, sizeof path, "%s%s", out, ending);
	const size_t size = files_get(path, bytes, room - 1);
	bytes[size] = 0;
	return size;
}

static bool stands(const char *ending) {
	char path[PATH_ROOM];
	(void)snprintf(path, sizeof path, "%s%s", out, ending);
	return is_there(path);
}

/* As the model prints it. The numbers of a journal's lines are those of a first line of 147 bytes
 * and tokens of one digit. */
static void tell_state(char state[SAID]) {
	enum { FIRST_LINE = 147, TOKEN_LINE = 23, TOKEN = 4 };
	struct ledger *ledger;
	struct ledger_run found = {.state = LEDGER_UNKNOWN};
	char journal[512], receipt[512], text[512], command[HASH_TEXT], path[PATH_ROOM];
	memset(&seen, 0, sizeof seen);
	assert_int_equal(ledger_open(ledger_path, &ledger, &error), CUTTLE_OK);
	assert_int_equal(ledger_walk(ledger, NULL, look_at_entry, NULL, &error), CUTTLE_OK);
	if (seen.charges)
		assert_int_equal(ledger_find(ledger, "notes", seen.run, &found, &error), CUTTLE_OK);
	ledger_close(&ledger);
	const size_t size = read_file(".journal", journal, sizeof journal),
	             lines = size < FIRST_LINE ? 0 : (size - FIRST_LINE) / TOKEN_LINE;
	const int first = lines > 0 ? journal[FIRST_LINE + TOKEN] - '0' : 0,
	          second = lines > 1 ? journal[FIRST_LINE + TOKEN_LINE + TOKEN] - '0' : 0;
	const int told =
	    found.mark.bytes ? 1 + (int)(found.mark.bytes - FIRST_LINE) / TOKEN_LINE : 0;
	(void)snprintf(path, sizeof path, "%s/out.receipt.json", disk);
	receipt[files_get(path, receipt, sizeof receipt - 1)] = 0;
	int whose = 0;
	for (int plan = 1; plan < 3; plan++) {
		name_command(plan, command);
		if (strstr(receipt, command)) whose = plan;
	}
	int put = 0;
	if (read_file("", text, sizeof text))
		for (const char *at = text; (at = strstr(at, "\"text\":\"")); at++)
			put = 8 * put + at[strlen("\"text\":\"")] - '0';
	(void)snprintf(state, SAID, "%d %d %d %d%d %d %d %d %d %d %d", seen.charges,
	               (int)found.state, told, first, second, size >= FIRST_LINE,
	               read_file(".journal.key", text, sizeof text) > 0, stands(".run"),
	               stands(".run.before"), whose, put);
}

/* ---- the walks ------------------------------------------------------------------------------- */

static void begin_anew(void) {
	char line[512];
	(void)snprintf(
	    line, sizeof line,
	    "cd %s && rm -rf disk synced ledger && mkdir disk synced && cp -r empty ledger", base);
	assert_int_equal(system(line), 0);
}

/* The next word of a walk. */
static const char *next(char **rest) {
	const char *word = strtok_r(NULL, " \n", rest);
	return word ? word : "";
}

/* Collects the words up to `end`, each behind a space. */
static void collect(char **rest, const char *end, char words[SAID], const char **last) {
	words[0] = 0;
	const char *word = next(rest);
	for (; *word && strcmp(word, end) != 0; word = next(rest)) {
		const size_t used = strlen(words);
		(void)snprintf(words + used, SAID - used, " %s", word);
	}
	*last = word;
}

static void replay(const char *line) {
	char copy[4096], steps[SAID], state[SAID], is[SAID], *rest;
	struct told told[3] = {{1, 1, false, NEVER, NULL, false},
	                       {2, 1, false, NEVER, NULL, false},
	                       {3, 1, false, NEVER, NULL, false}};
	(void)snprintf(copy, sizeof copy, "%s", line);
	const bool cuts = !strcmp(strtok_r(copy, " ", &rest), "cut");
	unsigned dies[3] = {0, 0, NEVER};
	dies[0] = (unsigned)atoi(next(&rest));
	dies[1] = (unsigned)atoi(next(&rest));
	told[0].stops = (unsigned)atoi(next(&rest));
	for (int i = 1; i < 3; i++) {
		told[i].plan = atoi(next(&rest));
		told[i].overwrite = atoi(next(&rest)) != 0;
	}
	assert_string_equal(next(&rest), ":");
	assert_string_equal(next(&rest), "process");
	begin_anew();
	for (int i = 0; i < 3; i++) {
		const char *last;
		assert_int_equal(atoi(next(&rest)), i + 1);
		collect(&rest, "leaves", steps, &last);
		collect(&rest, "process", state, &last);
		notes = cuts;
		if ((int)run_process(&told[i], dies[i]) == DIED && cuts) cut_power();
		if (strcmp(steps, watch->said) != 0)
			fail_msg("process %d of\n%s takes\n%s\ninstead of\n%s\n%s", i + 1, line,
			         watch->said, steps, error.message);
		tell_state(is);
		if (strcmp(state + 1, is) != 0)
			fail_msg("process %d of\n%s leaves %s instead of%s", i + 1, line, is,
			         state);
	}
}

/* Each step of the model that no walk takes. */
static void each_step_is_walked(const char *walked) {
	char line[512], name[64], word[72];
	FILE *file = fopen("proofs/protocol/protocol.pml", "r");
	size_t steps = 0;
	assert_non_null(file);
	while (fgets(line, sizeof line, file)) {
		const char *at = strstr(line, "step(");
		if (!at || *line == '/' || *line == '#' || sscanf(at, "step(%63[a-z_])", name) != 1)
			continue;
		(void)snprintf(word, sizeof word, " %s ", name);
		if (!strstr(walked, word)) fail_msg("no walk takes the step %s", name);
		steps++;
	}
	(void)fclose(file);
	assert_true(steps > 30);
}

static void the_code_walks_as_the_model(void **state) {
	(void)state;
	static char walked[1 << 20], line[4096];
	size_t used = 0, walks = 0;
	FILE *file = fopen("proofs/protocol/walks.txt", "r");
	assert_non_null(file);
	while (fgets(line, sizeof line, file)) {
		// The brief form takes every third walk.
		if (!briefly() || walks % 3 == 0) replay(line);
		walks++;
		assert_true(used + strlen(line) < sizeof walked);
		used += (size_t)snprintf(walked + used, sizeof walked - used, "%s", line);
	}
	(void)fclose(file);
	assert_true(walks > 100);
	each_step_is_walked(walked);
}

/* ---- what the model found -------------------------------------------------------------------- */

static const struct told first = {1, 1, false, NEVER, NULL, false},
                         again = {2, 1, false, NEVER, NULL, false},
                         stopped = {1, 1, false, 1, NULL, false},
                         other = {3, 2, false, NEVER, NULL, false},
                         replacing = {3, 2, true, NEVER, NULL, false};

/* Another process, while the one that is watched waits. */
static void meanwhile(const struct told *told, unsigned dies) {
	const struct watch kept = *watch;
	(void)run_process(told, dies);
	*watch = kept;
}

static void leaves(const char *wanted) {
	char state[SAID];
	tell_state(state);
	if (strncmp(state, wanted, strlen(wanted)) != 0)
		fail_msg("left %s instead of %s: %s", state, wanted, error.message);
}

static void spend_the_rest(void) {
	struct ledger *ledger;
	struct ledger_run found;
	char run[LEDGER_RUN];
	ledger_name_run(run);
	const struct ledger_request request = {
	    .dataset = "notes", .run = run, .command = "c0ffee", .rho = 9.3, .count = 4};
	assert_int_equal(ledger_open(ledger_path, &ledger, &error), CUTTLE_OK);
	assert_int_equal(ledger_reserve(ledger, &request, false, &found, &error), CUTTLE_OK);
	ledger_close(&ledger);
}

/* A run is refused behind the question whether there is room, or killed before its charge: in its
 * place another one goes on for its own. */
static void a_refused_run_leaves_the_name(void **state) {
	(void)state;
	for (unsigned dies = 4; dies < 8; dies++) {
		begin_anew();
		assert_int_equal(run_process(&stopped, NEVER), CUTTLE_PARTIAL);
		if (dies == 4) hook = spend_the_rest, hook_step = "ledger_reserve";
		const int ended = (int)run_process(&replacing, dies == 4 ? NEVER : dies);
		assert_int_equal(ended, dies == 4 ? CUTTLE_BUDGET : DIED);
		assert_int_equal(run_process(&again, NEVER), CUTTLE_OK);
		leaves(dies == 4 ? "2 " : "1 3");
	}
}

static void another_is_charged(void) {
	meanwhile(&first, 12);
}

/* A run is charged while another command waits for the lock, and is killed. */
static void a_paid_beginning_is_seen_under_the_lock(void **state) {
	(void)state;
	begin_anew();
	hook = another_is_charged, hook_step = "journal_open";
	assert_int_equal(run_process(&other, NEVER), CUTTLE_USAGE);
	leaves("1 1");
	assert_int_equal(run_process(&again, NEVER), CUTTLE_OK);
	leaves("1 3");
}

static void another_begins(void) {
	meanwhile(&replacing, 20);
}

/* A command begins in the place of one that ends, as soon as it may. Its name and its key stay. */
static void who_ends_takes_nothing_along(void **state) {
	(void)state;
	begin_anew();
	hook = another_begins, hook_step = "journal_removed";
	assert_int_equal(run_process(&first, NEVER), CUTTLE_OK);
	leaves("2 2 2 33 1 1 1");
	assert_int_equal(run_process(&replacing, NEVER), CUTTLE_OK);
	leaves("2 3");
}

/* A run that goes on is held to what was approved, too. */
static void an_approval_is_of_what_goes_on(void **state) {
	(void)state;
	char command[HASH_TEXT], approved[3][HASH_TEXT + 16];
	for (int i = 0; i < 3; i++) {
		name_command(i ? 1 : 2, command);
		(void)snprintf(approved[i], sizeof approved[i], "%s:%s", command,
		               i == 1 ? "0.4" : "0.5");
	}
	begin_anew();
	assert_int_equal(run_process(&stopped, NEVER), CUTTLE_PARTIAL);
	for (int i = 0; i < 3; i++) {
		struct told told = again;
		told.approved = approved[i];
		assert_int_equal(run_process(&told, NEVER), i < 2 ? CUTTLE_USAGE : CUTTLE_OK);
	}
	leaves("1 3");
}

/* Another process has drawn from the same charge, and closed it. */
static void another_closes_the_charge(void) {
	struct ledger *ledger;
	struct ledger_run found;
	char run[LEDGER_RUN + 1];
	assert_int_equal(read_file(".run", run, sizeof run), LEDGER_RUN);
	run[LEDGER_RUN - 1] = 0;
	assert_int_equal(ledger_open(ledger_path, &ledger, &error), CUTTLE_OK);
	assert_int_equal(ledger_find(ledger, "notes", run, &found, &error), CUTTLE_OK);
	struct journal_mark mark = found.mark;
	mark.bytes += 23;
	hash_of("another token", 13, mark.sha256);
	assert_int_equal(ledger_draw(ledger, "notes", run, &found.mark, &mark, &error), CUTTLE_OK);
	assert_int_equal(ledger_finish(ledger, "notes", run, mark.sha256, &error), CUTTLE_OK);
	ledger_close(&ledger);
}

/* Of two processes with copies of one run's files the second ends at its first token. That one is
 * shown by nobody who comes later. */
static void a_closed_charge_shows_its_own_tokens(void **state) {
	(void)state;
	begin_anew();
	hook = another_closes_the_charge, hook_step = "journal_append";
	assert_int_equal(run_process(&first, NEVER), CUTTLE_BUDGET);
	leaves("1 3 2 10");
	assert_int_equal(run_process(&again, NEVER), CUTTLE_BUDGET);
	assert_null(strstr(watch->said, "output_text"));
}

/* The name of the output, before what else there is of it goes. */
static void the_output_is_synced(void) {
	char path[PATH_ROOM], names[1024];
	(void)snprintf(path, sizeof path, "%s/synced/names", base);
	names[files_get(path, names, sizeof names - 1)] = 0;
	if (!strstr(names, " out.jsonl\n")) _exit(CUTTLE_INTERNAL);
}

/* What a killed process did not sync is synced by the one that builds on it: a token that it
 * writes as a text, the key, the first line, the name of the output. Then the power goes. */
static void what_was_killed_is_synced(void **state) {
	(void)state;
	struct told uncounted = first, later = again;
	uncounted.uncounted = later.uncounted = true;
	notes = true;
	begin_anew();
	assert_int_equal((int)run_process(&uncounted, 9), DIED);
	assert_int_equal((int)run_process(&later, 6), DIED);
	assert_non_null(strstr(watch->said, "output_text"));
	cut_power();
	leaves("0 0 0 10");
	static const unsigned killed[] = {4, 7, 26};
	for (size_t i = 0; i < 3; i++) {
		begin_anew();
		assert_int_equal((int)run_process(&first, killed[i]), DIED);
		if (i == 2) hook = the_output_is_synced, hook_step = "journal_remove";
		assert_int_equal((int)run_process(&again, i < 2 ? 14 : NEVER),
		                 i < 2 ? DIED : CUTTLE_OK);
		cut_power();
		const struct told last = {3, 1, false, NEVER, NULL, false};
		assert_int_equal(run_process(&last, NEVER), CUTTLE_OK);
		leaves("1 3");
	}
	notes = false;
}

static int make_folder(void **state) {
	(void)state;
	struct ledger *ledger;
	struct ledger_dataset dataset = {.name = "notes", .rho = 10, .delta = 1e-6};
	if (!mkdtemp(base)) {
		if (!mkdtemp(elsewhere)) return -1;
		(void)snprintf(base, sizeof base, "%s", elsewhere);
	}
	watch =
	    mmap(NULL, sizeof *watch, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (watch == MAP_FAILED) return -1;
	(void)snprintf(disk, sizeof disk, "%s/disk", base);
	(void)snprintf(out, sizeof out, "%s/out.jsonl", disk);
	(void)snprintf(ledger_path, sizeof ledger_path, "%s/ledger/l", base);
	if (shell("mkdir %s/ledger%s", base, "")) return -1;
	if (ledger_create(ledger_path, &error) || ledger_open(ledger_path, &ledger, &error) ||
	    ledger_add(ledger, &dataset, &error))
		return -1;
	ledger_close(&ledger);
	return shell("mv %s/ledger %s/empty", base, base);
}

static int remove_folder(void **state) {
	(void)state;
	return shell("rm -rf %s%s", base, "");
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_refused_run_leaves_the_name),
	    cmocka_unit_test(a_paid_beginning_is_seen_under_the_lock),
	    cmocka_unit_test(who_ends_takes_nothing_along),
	    cmocka_unit_test(an_approval_is_of_what_goes_on),
	    cmocka_unit_test(a_closed_charge_shows_its_own_tokens),
	    cmocka_unit_test(what_was_killed_is_synced),
	    cmocka_unit_test(the_code_walks_as_the_model),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
