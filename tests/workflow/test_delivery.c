// SPDX-License-Identifier: Apache-2.0
// Tests workflow/delivery.c and workflow/spending.c with a ledger and no model. A run is stopped or
// killed, and its files are put back from before. It fails if tokens are drawn twice for one
// charge, if a run whose files are all there cannot go on, or if it is charged again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/ledger/ledger.h"
#include "tests/support/files.h"
#include "tests/support/runs.h"
#include "workflow/delivery.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXTS = 2, STEPS = 6 };
static char folder[] = "/tmp/cuttle-delivery-XXXXXX";
static char out[64], ledger_path[64];
static char command[HASH_TEXT];
static struct cuttle_error error;

static int shell(const char *format, const char *one, const char *other) {
	char line[512];
	(void)snprintf(line, sizeof line, format, one, other);
	return system(line);
}

/* Keeps what stands beside the output under a name, and puts it back. */
static void keep_files(const char *name) {
	char line[512];
	(void)snprintf(line, sizeof line, "rm -rf %s/%s && mkdir %s/%s && cp -p %s.* %s/%s/",
	               folder, name, folder, name, out, folder, name);
	assert_int_equal(system(line), 0);
}

static void put_back(const char *name) {
	char line[512];
	(void)snprintf(line, sizeof line, "rm -f %s.* && cp -p %s/%s/* %s/", out, folder, name,
	               folder);
	assert_int_equal(system(line), 0);
}

static void begin_anew(void) {
	struct ledger *ledger;
	struct ledger_dataset dataset = {.name = "notes", .rho = 10, .delta = 1e-6};
	assert_int_equal(shell("rm -rf %s/*%s", folder, ""), 0);
	assert_int_equal(ledger_create(ledger_path, &error), CUTTLE_OK);
	assert_int_equal(ledger_open(ledger_path, &ledger, &error), CUTTLE_OK);
	assert_int_equal(ledger_add(ledger, &dataset, &error), CUTTLE_OK);
	ledger_close(&ledger);
}

static enum cuttle_status count_entry(void *user, const struct chain_entry *entry) {
	*(size_t *)user += !strcmp(entry->kind, "draw");
	return CUTTLE_OK;
}

static size_t count_draws(void) {
	struct ledger *ledger;
	size_t draws = 0;
	assert_int_equal(ledger_open(ledger_path, &ledger, &error), CUTTLE_OK);
	assert_int_equal(ledger_walk(ledger, NULL, count_entry, &draws, &error), CUTTLE_OK);
	ledger_close(&ledger);
	return draws;
}

enum ending { STOP, KILL };

static double cost = 0.5; /* rho of the run */
static bool overwrite;
static bool uncounted;      /* no ledger is given */
static const char *receipt; /* where it goes; NULL = beside the output */

/* Opens a run's output and charges it. Who opens it must close both. */
static enum cuttle_status open_at(const char *path, struct spending *spending,
                                  struct delivery *delivery) {
	struct receipt_ledger charged = {.entry = ""};
	bool complete;
	const struct spending_request counted = {
	    .ledger = uncounted ? NULL : ledger_path, .dataset = "notes", .output = path};
	const struct output_request request = {.path = path,
	                                       .receipt_path = receipt,
	                                       .fingerprint = command,
	                                       .format = OUTPUT_JSONL,
	                                       .texts = TEXTS,
	                                       .private_output = true,
	                                       .overwrite = overwrite,
	                                       .digest = files_digest};
	const struct ledger_request charge = {.command = command, .rho = cost, .count = 4};
	*delivery = (struct delivery){0};
	enum cuttle_status status = spending_open(&counted, spending, &error);
	if (!status)
		status = delivery_open(&request, NULL, spending, &charge, delivery, &complete,
		                       &charged, &error);
	return status;
}

/* One process's life: it draws at most so many tokens that the journal lacks, `shift` above those
 * of another life, and ends. With all drawn it publishes. */
static enum cuttle_status live(size_t draws, int32_t shift, enum ending ending) {
	struct spending spending;
	struct delivery delivery;
	char sha256[HASH_TEXT];
	enum cuttle_status status = open_at(out, &spending, &delivery);
	for (size_t t = 0; !status && t < TEXTS; t++) {
		const int32_t *tokens;
		const size_t had = output_drawn(delivery.output, t, &tokens);
		for (uint32_t step = (uint32_t)had; !status && step < STEPS; step++) {
			if (!draws--) {
				if (ending == KILL) _exit(CUTTLE_PARTIAL);
				status = CUTTLE_PARTIAL;
			} else if (delivery_token(&delivery, t, step, shift + (int32_t)step))
				status = delivery_explain(&delivery, &error);
		}
		const struct cuttle_text line = {
		    .index = t, .batch = t, .text = "a", .size = 1, .tokens = STEPS};
		if (!status && output_text(delivery.output, &line))
			status = delivery_explain(&delivery, &error);
	}
	if (!status) status = delivery_seal(&delivery, sha256, &error);
	if (!status) status = delivery_publish(&delivery, strdup("{}\n"), 3, &error);
	delivery_close(&delivery);
	spending_close(&spending);
	return status;
}

/* The same in a process that is killed. */
static enum cuttle_status live_and_die(size_t draws, int32_t shift) {
	int status;
	const pid_t child = fork();
	if (child == 0) _exit(live(draws, shift, KILL));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return (enum cuttle_status)WEXITSTATUS(status);
}

static void refuses_older(void) {
	const uint64_t runs = runs_charged(ledger_path);
	assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_LEDGER);
	assert_non_null(strstr(error.message, "older than what was drawn under its charge"));
	assert_non_null(strstr(error.message, "Bring the newer one back"));
	assert_int_equal(runs_charged(ledger_path), runs);
	assert_int_not_equal(access(out, F_OK), 0);
}

/* A run that is stopped in order has told how far it is. */
static void a_stopped_run_is_put_back(void **state) {
	(void)state;
	begin_anew();
	assert_int_equal(live(3, 0, STOP), CUTTLE_PARTIAL);
	keep_files("three");
	assert_int_equal(live(2, 0, STOP), CUTTLE_PARTIAL);
	keep_files("five");
	put_back("three");
	refuses_older();
	// It is refused again, and with what was drawn it goes on, for the one charge.
	refuses_older();
	put_back("five");
	assert_int_equal(live(1, 0, STOP), CUTTLE_PARTIAL);
	assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_OK);
	assert_int_equal(runs_charged(ledger_path), 1);
}

/* A run that was killed tells it when it goes on. */
static void a_killed_run_is_put_back(void **state) {
	(void)state;
	begin_anew();
	assert_int_equal(live_and_die(3, 0), CUTTLE_PARTIAL);
	keep_files("three");
	assert_int_equal(count_draws(), 2);
	assert_int_equal(live_and_die(2, 0), CUTTLE_PARTIAL);
	keep_files("five");
	assert_int_equal(count_draws(), 4);
	// From where it went on it has drawn before, so it does not go on from there again.
	put_back("three");
	refuses_older();
	put_back("five");
	assert_int_equal(live_and_die(1, 0), CUTTLE_PARTIAL);
	keep_files("six");
	assert_int_equal(count_draws(), 6);
	put_back("three");
	refuses_older();
	put_back("five");
	refuses_older();
	// What the ledger knows of is there, so it goes on, also where it was killed before a
	// token.
	put_back("six");
	assert_int_equal(live_and_die(0, 0), CUTTLE_PARTIAL);
	assert_int_equal(live_and_die(0, 0), CUTTLE_PARTIAL);
	assert_int_equal(count_draws(), 6);
	assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_OK);
	assert_int_equal(runs_charged(ledger_path), 1);
}

/* Of equal length, but with other tokens: another course of the same run. */
static void another_course_is_refused(void **state) {
	(void)state;
	begin_anew();
	assert_int_equal(live_and_die(2, 0), CUTTLE_PARTIAL);
	keep_files("two");
	assert_int_equal(
	    shell("mkdir %1$s/known && cp -p %2$s/ledger* %1$s/known/", folder, folder), 0);
	assert_int_equal(live_and_die(2, 3), CUTTLE_PARTIAL);
	keep_files("other");
	put_back("two");
	// The ledger does not know of the other either.
	assert_int_equal(shell("rm %1$s/ledger* && cp -p %2$s/known/* %1$s/", folder, folder), 0);
	assert_int_equal(live(2, 4, STOP), CUTTLE_PARTIAL);
	put_back("other");
	refuses_older();
}

/* Two copies of one run: the one that goes on first is the run. */
static void a_copy_is_refused(void **state) {
	(void)state;
	begin_anew();
	assert_int_equal(live(3, 0, STOP), CUTTLE_PARTIAL);
	keep_files("copy");
	assert_int_equal(live(1, 0, STOP), CUTTLE_PARTIAL);
	keep_files("run");
	put_back("copy");
	refuses_older();
	put_back("run");
	assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_OK);
	// After the end too: its charge has paid for an output.
	assert_int_equal(shell("rm -f %s %s/out.receipt.json", out, folder), 0);
	put_back("copy");
	assert_int_not_equal(live(SIZE_MAX, 9, STOP), CUTTLE_OK);
	assert_int_equal(runs_charged(ledger_path), 1);
}

/* Two processes hold one charge, as one was begun from copies of the other's files before either
 * draws. The one that draws first is the run. The other ends at its first token, even where that is
 * the same one: then both journals are equal so far. */
static void copies_do_not_draw_together(void **state) {
	(void)state;
	static const struct {
		size_t begun;
		int32_t token;
	} cases[] = {{0, 123456}, {3, 123456}, {0, 7}, {3, 7}};
	char copy[80];
	(void)snprintf(copy, sizeof copy, "%s/copy.jsonl", folder);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct spending spending[2];
		struct delivery delivery[2];
		const uint32_t next = (uint32_t)cases[i].begun;
		begin_anew();
		if (next) assert_int_equal(live(next, 0, STOP), CUTTLE_PARTIAL);
		assert_int_equal(open_at(out, &spending[0], &delivery[0]), CUTTLE_OK);
		assert_int_equal(shell("for end in run journal journal.key; do "
		                       "cp %1$s.$end %2$s.$end; done",
		                       out, copy),
		                 0);
		assert_int_equal(open_at(copy, &spending[1], &delivery[1]), CUTTLE_OK);
		assert_string_equal(spending[0].run, spending[1].run);
		assert_int_equal(delivery_token(&delivery[0], 0, next, 7), 0);
		assert_int_not_equal(delivery_token(&delivery[1], 0, next, cases[i].token), 0);
		assert_int_equal(delivery_explain(&delivery[1], &error), CUTTLE_LEDGER);
		assert_non_null(strstr(error.message, "another process has drawn"));
		for (int k = 2; k-- > 0;) {
			delivery_close(&delivery[k]);
			spending_close(&spending[k]);
		}
		assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_OK);
		assert_int_equal(runs_charged(ledger_path), 1);
	}
}

/* Without its journal a run is drawn anew, and charged again. */
static void a_lost_journal_is_charged_again(void **state) {
	(void)state;
	begin_anew();
	assert_int_equal(live(3, 0, STOP), CUTTLE_PARTIAL);
	assert_int_equal(shell("rm %s.journal%s", out, ""), 0);
	assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_OK);
	assert_int_equal(runs_charged(ledger_path), 2);
	// A run that was killed had no time to tell how far it was.
	static const char *const loses[] = {"rm %s.journal%s", ": >%s.journal%s",
	                                    "rm %s.journal %s.journal.key",
	                                    "truncate -s 60 %s.journal%s"};
	for (size_t i = 0; i < sizeof loses / sizeof *loses; i++) {
		begin_anew();
		assert_int_equal(live_and_die(3, 0), CUTTLE_PARTIAL);
		assert_int_equal(count_draws(), 2);
		assert_int_equal(shell(loses[i], out, i == 2 ? out : ""), 0);
		const enum cuttle_status status = live(SIZE_MAX, 9, STOP);
		if (status || runs_charged(ledger_path) != 2)
			fail_msg("%s: status %d, %d runs", loses[i], (int)status,
			         (int)runs_charged(ledger_path));
	}
}

/* Opens a run, tells the ledger that it draws, and stops before its first token: killed, or for
 * want of something. */
static void begin_to_draw(enum ending ending) {
	struct spending spending;
	struct delivery delivery;
	int status;
	const pid_t child = ending == KILL ? fork() : 0;
	if (child) {
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		return;
	}
	assert_int_equal(open_at(out, &spending, &delivery), CUTTLE_OK);
	assert_int_equal(delivery_draw(&delivery, &error), CUTTLE_OK);
	if (ending == KILL) _exit(0);
	delivery_close(&delivery);
	spending_close(&spending);
}

/* The same, with a full disk under its first token. */
static void draw_onto_a_full_disk(void) {
	struct spending spending;
	struct delivery delivery;
	struct rlimit limit, less;
	char path[80];
	struct stat is;
	assert_int_equal(open_at(out, &spending, &delivery), CUTTLE_OK);
	// The ledger is on another disk.
	assert_int_equal(delivery_draw(&delivery, &error), CUTTLE_OK);
	(void)snprintf(path, sizeof path, "%s.journal", out);
	assert_int_equal(stat(path, &is), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	less = limit;
	less.rlim_cur = (rlim_t)is.st_size + 9;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
	const int problem = delivery_token(&delivery, 0, 0, 7);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_not_equal(problem, 0);
	assert_int_equal(delivery_explain(&delivery, &error), CUTTLE_PARTIAL);
	assert_non_null(strstr(error.message, "the same command continues"));
	delivery_close(&delivery);
	spending_close(&spending);
}

/* Nobody has seen a token of a run that was stopped between the ledger's entry and its first token:
 * the same command goes on, for what it was charged. */
static void stopped_before_its_first_token_it_pays_once(void **state) {
	(void)state;
	for (int how = 0; how < 3; how++) {
		begin_anew();
		if (how < 2) begin_to_draw(how ? STOP : KILL);
		else draw_onto_a_full_disk();
		assert_int_equal(runs_charged(ledger_path), 1);
		// However often, and also where it is stopped while it reads its prompts.
		assert_int_equal(live(0, 0, STOP), CUTTLE_PARTIAL);
		begin_to_draw(KILL);
		assert_int_equal(live_and_die(0, 0), CUTTLE_PARTIAL);
		assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_OK);
		assert_int_equal(runs_charged(ledger_path), 1);
	}
}

/* The ledger knows of the first token before anybody sees it. So a journal without one that is put
 * back from before is refused, also where the run was killed. */
static void the_first_line_is_put_back(void **state) {
	(void)state;
	for (size_t draws = 1; draws < 4; draws += 2) {
		begin_anew();
		begin_to_draw(KILL);
		keep_files("none");
		assert_int_equal(live_and_die(draws, 0), CUTTLE_PARTIAL);
		keep_files("some");
		put_back("none");
		refuses_older();
		put_back("some");
		assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_OK);
		assert_int_equal(runs_charged(ledger_path), 1);
	}
	// What was cut off by hand is no other.
	begin_anew();
	assert_int_equal(live_and_die(3, 0), CUTTLE_PARTIAL);
	assert_int_equal(shell("truncate -s 147 %s.journal%s", out, ""), 0);
	refuses_older();
}

/* A run of an older version told the ledger that it draws, and of no first line. Its tokens may
 * have been seen, so it is charged again. */
static void an_older_first_line_is_charged_again(void **state) {
	(void)state;
	struct spending spending;
	struct delivery delivery;
	struct ledger *ledger;
	begin_anew();
	assert_int_equal(open_at(out, &spending, &delivery), CUTTLE_OK);
	output_hold(delivery.output);
	assert_int_equal(ledger_open(ledger_path, &ledger, &error), CUTTLE_OK);
	assert_int_equal(ledger_draw(ledger, "notes", spending.run, NULL, NULL, &error), CUTTLE_OK);
	ledger_close(&ledger);
	delivery_close(&delivery);
	spending_close(&spending);
	assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_OK);
	assert_int_equal(runs_charged(ledger_path), 2);
}

/* A charge pays for what it was made for: a run that costs more is charged anew, and once. */
static void another_cost_is_charged(void **state) {
	(void)state;
	begin_anew();
	assert_int_equal(live(3, 0, STOP), CUTTLE_PARTIAL);
	cost = 0.75;
	assert_int_equal(live(1, 0, STOP), CUTTLE_PARTIAL);
	assert_int_equal(runs_charged(ledger_path), 2);
	assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_OK);
	assert_int_equal(runs_charged(ledger_path), 2);
	cost = 0.5;
}

/* Noisy counts were drawn, too, where no token is: what is charged for them cannot be given back.
 */
static void counts_alone_are_drawn(void **state) {
	(void)state;
	static const int64_t counts[] = {3, -1};
	struct spending spending;
	struct delivery delivery;
	begin_anew();
	assert_int_equal(open_at(out, &spending, &delivery), CUTTLE_OK);
	assert_int_equal(delivery_draw(&delivery, &error), CUTTLE_OK);
	assert_int_equal(delivery_keep_counts(&delivery, counts, 2, &error), CUTTLE_OK);
	assert_int_equal(count_draws(), 2);
	delivery_close(&delivery);
	spending_close(&spending);
	for (size_t runs = 1; runs < 3; runs++) {
		cost = runs == 1 ? 0.5 : 0.75;
		assert_int_equal(live_and_die(0, 0), CUTTLE_PARTIAL);
		assert_int_equal(runs_charged(ledger_path), runs);
		assert_int_equal(count_draws(), 1 + runs);
	}
	cost = 0.5;
}

/* Whether all that was kept under this name stands beside the output as it was. */
static bool stands_as(const char *name) {
	char line[512];
	(void)snprintf(line, sizeof line,
	               "for f in %s/%s/*; do cmp -s $f %s/${f##*/} || exit 1; done", folder, name,
	               folder);
	return system(line) == 0;
}

/* --overwrite of another command's run that was paid and stopped: where the ledger refuses the new
 * run, the old one has lost nothing, and goes on for its charge. */
static void a_refused_run_takes_nothing_away(void **state) {
	(void)state;
	begin_anew();
	assert_int_equal(live(3, 0, STOP), CUTTLE_PARTIAL);
	keep_files("paid");
	hash_of("another command", 15, command);
	cost = 20;
	overwrite = true;
	assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_BUDGET);
	assert_true(stands_as("paid"));
	hash_of("command", 7, command);
	cost = 0.5;
	overwrite = false;
	assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_OK);
	assert_int_equal(runs_charged(ledger_path), 1);
}

/* Nor does a command take the place of a run that was charged and drew nothing yet. */
static void a_paid_beginning_is_nobody_elses(void **state) {
	(void)state;
	begin_anew();
	begin_to_draw(KILL);
	keep_files("paid");
	hash_of("another command", 15, command);
	assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "belongs to another command"));
	assert_true(stands_as("paid"));
	hash_of("command", 7, command);
	assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_OK);
	assert_int_equal(runs_charged(ledger_path), 1);
}

/* A receipt that has no place is told before the charge, and the old run has lost nothing. */
static void a_receipt_without_a_place_costs_nothing(void **state) {
	(void)state;
	begin_anew();
	assert_int_equal(live(3, 0, STOP), CUTTLE_PARTIAL);
	keep_files("paid");
	hash_of("another command", 15, command);
	overwrite = true;
	receipt = "/nowhere/out.receipt.json";
	assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "cannot create a file beside /nowhere"));
	assert_true(stands_as("paid"));
	assert_int_equal(runs_charged(ledger_path), 1);
	receipt = NULL;
	overwrite = false;
	hash_of("command", 7, command);
	assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_OK);
	assert_int_equal(runs_charged(ledger_path), 1);
}

/* One that the ledger takes is charged once, and replaces the other. */
static void a_run_that_replaces_pays_first(void **state) {
	(void)state;
	begin_anew();
	assert_int_equal(live(3, 0, STOP), CUTTLE_PARTIAL);
	hash_of("another command", 15, command);
	overwrite = true;
	assert_int_equal(live(2, 100, STOP), CUTTLE_PARTIAL);
	assert_int_equal(runs_charged(ledger_path), 2);
	assert_int_equal(live(SIZE_MAX, 100, STOP), CUTTLE_OK);
	assert_int_equal(runs_charged(ledger_path), 2);
	hash_of("command", 7, command);
	overwrite = false;
}

/* A run that was charged does not go on where nobody counts, however far it has come: its charge
 * would stay open. Nothing of it is taken away. */
static void a_charged_run_is_not_finished_uncounted(void **state) {
	(void)state;
	char path[80], moved[88];
	(void)snprintf(path, sizeof path, "%s.run", out);
	for (size_t drawn = 0; drawn < 4; drawn += 3) {
		begin_anew();
		assert_int_equal(live(drawn, 0, STOP), CUTTLE_PARTIAL);
		keep_files("paid");
		uncounted = true;
		for (int i = 0; i < 2; i++) {
			overwrite = i == 1;
			assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_USAGE);
			assert_non_null(
			    strstr(error.message, "says that this output was charged in a ledger"));
			assert_true(stands_as("paid"));
		}
		overwrite = uncounted = false;
		assert_int_equal(live(1, 0, STOP), CUTTLE_PARTIAL);
		assert_int_equal(runs_charged(ledger_path), 1);
		// Whoever moves it away says that another run begins.
		(void)snprintf(moved, sizeof moved, "%s.away", path);
		assert_int_equal(rename(path, moved), 0);
		uncounted = true;
		assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_OK);
		uncounted = false;
		assert_int_equal(runs_charged(ledger_path), 1);
	}
}

/* What stands at OUT.run and is no name of a run is somebody's. */
static void a_file_in_the_way_is_left_alone(void **state) {
	(void)state;
	static const char *const files[] = {"0123456789abcdef0123456789abcdeX\n",
	                                    "0123456789abcdef0123456789abcdef0", "mine\n", ""};
	char path[80], is[64];
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		begin_anew();
		(void)snprintf(path, sizeof path, "%s.run", out);
		files_put(path, files[i], strlen(files[i]));
		assert_int_equal(live(SIZE_MAX, 0, STOP), CUTTLE_USAGE);
		assert_non_null(strstr(error.message, "is not the name of a run"));
		assert_int_equal(files_get(path, is, sizeof is), strlen(files[i]));
		assert_memory_equal(is, files[i], strlen(files[i]));
		assert_int_equal(runs_charged(ledger_path), 0);
	}
}

/* A full disk cuts a line off, and what the ledger was told lies before it. */
static void a_line_cut_off_is_not_told(void **state) {
	(void)state;
	struct rlimit limit, less;
	struct journal *journal;
	struct journal_mark mark, again;
	enum journal_state is;
	char path[80], fingerprint[HASH_TEXT];
	hash_of("input", 5, fingerprint);
	const struct journal_owner owner = {.fingerprint = command, .input = fingerprint};
	(void)snprintf(path, sizeof path, "%s/cut", folder);
	assert_int_equal(journal_open(path, &journal, &error), CUTTLE_OK);
	assert_int_equal(journal_restart(journal, &owner), 0);
	assert_int_equal(journal_append(journal, 0, 0, 7), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	less = limit;
	less.rlim_cur = (rlim_t)(lseek(open(path, O_RDONLY | O_CLOEXEC), 0, SEEK_END) + 9);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
	const int problem = journal_append(journal, 0, 1, 8);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_not_equal(problem, 0);
	assert_int_equal(journal_mark(journal, UINT64_MAX, &mark), 0);
	journal_close(&journal);
	assert_int_equal(journal_open(path, &journal, &error), CUTTLE_OK);
	assert_int_equal(journal_load(journal, &owner, TEXTS, &is, &error), CUTTLE_OK);
	assert_int_equal(is, JOURNAL_OURS);
	assert_int_equal(journal_mark(journal, UINT64_MAX, &again), 0);
	assert_int_equal(again.bytes, mark.bytes);
	assert_string_equal(again.sha256, mark.sha256);
	journal_close(&journal);
}

static int make_folder(void **state) {
	(void)state;
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(out, sizeof out, "%s/out.jsonl", folder);
	(void)snprintf(ledger_path, sizeof ledger_path, "%s/ledger", folder);
	hash_of("command", 7, command);
	return 0;
}

static int remove_folder(void **state) {
	(void)state;
	return shell("rm -rf %s%s", folder, "");
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_stopped_run_is_put_back),
	    cmocka_unit_test(a_killed_run_is_put_back),
	    cmocka_unit_test(another_course_is_refused),
	    cmocka_unit_test(a_copy_is_refused),
	    cmocka_unit_test(copies_do_not_draw_together),
	    cmocka_unit_test(a_lost_journal_is_charged_again),
	    cmocka_unit_test(stopped_before_its_first_token_it_pays_once),
	    cmocka_unit_test(the_first_line_is_put_back),
	    cmocka_unit_test(an_older_first_line_is_charged_again),
	    cmocka_unit_test(another_cost_is_charged),
	    cmocka_unit_test(counts_alone_are_drawn),
	    cmocka_unit_test(a_refused_run_takes_nothing_away),
	    cmocka_unit_test(a_paid_beginning_is_nobody_elses),
	    cmocka_unit_test(a_receipt_without_a_place_costs_nothing),
	    cmocka_unit_test(a_run_that_replaces_pays_first),
	    cmocka_unit_test(a_charged_run_is_not_finished_uncounted),
	    cmocka_unit_test(a_file_in_the_way_is_left_alone),
	    cmocka_unit_test(a_line_cut_off_is_not_told),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
