// SPDX-License-Identifier: Apache-2.0
// Tests io/ledger/ledger.c and io/ledger/chain.c between processes: eight at once, one that waits
// for others, and kill -9 at any moment. It fails if they overspend together, if one gives up while
// the others get on, or if a killed process leaves a ledger that cannot be used. It fails if one
// ledger can be charged under two names that do not see each other's charges. CUTTLE_TEST_KILLS=N
// kills N times (default 75).
#include "tests/io/ledger_cases.h"

#include "io/disk/pages.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { WORKERS = 8, TRIES = 50, ROOM = 100 };

static int worker(const char *file) {
	struct ledger *ledger;
	char run[LEDGER_RUN];
	int succeeded = 0;
	for (int i = 0; i < TRIES; i++) {
		if (ledger_open(file, &ledger, NULL)) return 255;
		enum cuttle_status status = reserve(ledger, 1.0 / 128, run, NULL);
		ledger_close(&ledger);
		if (status && status != CUTTLE_BUDGET) return 255;
		succeeded += !status;
	}
	return succeeded;
}

/* What six processes came to that charge one file, half of them under each name. */
static void charge_under(const char *one, const char *other, int codes[6]) {
	pid_t workers[6];
	for (int i = 0; i < 6; i++) {
		workers[i] = fork();
		if (workers[i] == 0) _exit(worker(i % 2 ? one : other));
	}
	for (int i = 0; i < 6; i++) {
		int status;
		assert_int_equal(waitpid(workers[i], &status, 0), workers[i]);
		codes[i] = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	}
}

static void six_processes_and_two_hard_links(void **state) {
	(void)state;
	int codes[6], charged = 0;
	struct cuttle_error error;
	struct ledger *ledger = fresh(ROOM / 128.0, "");
	char run[LEDGER_RUN];
	assert_int_equal(reserve(ledger, 1.0 / 128, run, NULL), CUTTLE_OK);
	ledger_close(&ledger);
	assert_int_equal(link(path, copy_path), 0);
	charge_under(path, copy_path, codes);
	for (int i = 0; i < 6; i++) charged += codes[i] == 255 ? 0 : codes[i];
	assert_int_equal(ledger_open(copy_path, &ledger, &error), CUTTLE_LEDGER);
	assert_non_null(strstr(error.message, "under 2 names (hard links)"));
	assert_int_equal(ledger_create(copy_path, NULL), CUTTLE_LEDGER);
	// Nobody was told that it charged, and with one name all is as before.
	assert_int_equal(charged, 0);
	remove_ledger(copy_path);
	verifies(path);
	ledger = open_ledger(path);
	assert_true(standing(ledger).spent == 1.0 / 128);
	ledger_close(&ledger);
}

/* SQLite follows a symbolic link, so all see one log. */
static void six_processes_and_a_symbolic_link(void **state) {
	(void)state;
	int codes[6], charged = 0;
	struct ledger *ledger = fresh(ROOM / 128.0, "");
	ledger_close(&ledger);
	assert_int_equal(symlink(path, copy_path), 0);
	charge_under(path, copy_path, codes);
	for (int i = 0; i < 6; i++) {
		assert_true(codes[i] != 255);
		charged += codes[i];
	}
	assert_int_equal(charged, ROOM);
	ledger = open_ledger(copy_path);
	assert_int_equal(standing(ledger).runs, ROOM);
	ledger_close(&ledger);
	remove_ledger(copy_path);
	verifies(path);
}

enum { NO_MOUNT = 77 };

/* In a child: mounts the ledger's file alone at copy_path, and opens it there. */
static int open_mounted(void) {
	struct ledger *ledger;
	struct cuttle_error error = {{0}};
	if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS)) return NO_MOUNT;
	(void)mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
	if (mount(path, copy_path, NULL, MS_BIND, NULL)) return NO_MOUNT;
	const enum cuttle_status status = ledger_open(copy_path, &ledger, &error);
	ledger_close(&ledger);
	// The folder as a whole may be mounted: then the log is the same file, too.
	char folder_of[80], name[96];
	(void)snprintf(folder_of, sizeof folder_of, "%s.mount", path);
	(void)snprintf(name, sizeof name, "%s/ledger", folder_of);
	if (mkdir(folder_of, 0700) || mount(folder, folder_of, NULL, MS_BIND, NULL))
		return NO_MOUNT;
	const enum cuttle_status within = ledger_open(name, &ledger, NULL);
	ledger_close(&ledger);
	if (status != CUTTLE_LEDGER || !strstr(error.message, "mounted alone")) return 1;
	return within ? 2 : 0;
}

static void a_ledger_mounted_alone(void **state) {
	(void)state;
	int status;
	struct ledger *ledger = fresh(1, "");
	ledger_close(&ledger);
	put_copy("", 0);
	const pid_t child = fork();
	if (child == 0) _exit(open_mounted());
	assert_int_equal(waitpid(child, &status, 0), child);
	char folder_of[80];
	(void)snprintf(folder_of, sizeof folder_of, "%s.mount", path);
	(void)rmdir(folder_of);
	remove_ledger(copy_path);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_MOUNT) {
		print_message("skipped: a_ledger_mounted_alone: this machine lets nobody mount\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void eight_processes_never_overspend(void **state) {
	(void)state;
	struct ledger *ledger = fresh(ROOM / 128.0, "");
	ledger_close(&ledger);
	pid_t workers[WORKERS];
	int succeeded = 0;
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = fork();
		if (workers[i] == 0) _exit(worker(path));
	}
	for (int i = 0; i < WORKERS; i++) {
		int status;
		assert_int_equal(waitpid(workers[i], &status, 0), workers[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 255);
		succeeded += WEXITSTATUS(status);
	}
	assert_int_equal(succeeded, ROOM);
	ledger = open_ledger(path);
	assert_int_equal(standing(ledger).runs, ROOM);
	assert_true(standing(ledger).left == 0);
	ledger_close(&ledger);
	verifies(path);
}

/* What a process that waits for the ledger sees, instead of sleeping: a holder that writes after
 * every `still` naps, until after `most` of them it ends. */
static struct {
	sqlite3 *holder;
	unsigned naps, still, most;
	void (*first)(
	    void); /* what another process does then, before the one that waits; or NULL */
} waiting;

int nanosleep(const struct timespec *time, struct timespec *left) {
	if (!waiting.holder) return clock_nanosleep(CLOCK_REALTIME, 0, time, left);
	waiting.naps++;
	char log[80];
	(void)snprintf(log, sizeof log, "%s-wal", path);
	const struct timespec moments[2] = {{.tv_sec = waiting.naps}, {.tv_sec = waiting.naps}};
	if (waiting.naps % waiting.still == 0) (void)utimensat(AT_FDCWD, log, moments, 0);
	if (waiting.naps != waiting.most) return 0;
	(void)sqlite3_exec(waiting.holder, "COMMIT", NULL, NULL, NULL);
	if (waiting.first) waiting.first();
	return 0;
}

static void hold(unsigned still, unsigned most) {
	assert_int_equal(
	    sqlite3_open_v2(path, &waiting.holder, SQLITE_OPEN_READWRITE, pages_layer()),
	    SQLITE_OK);
	assert_int_equal(sqlite3_exec(waiting.holder, "BEGIN IMMEDIATE", NULL, NULL, NULL),
	                 SQLITE_OK);
	waiting.naps = 0;
	waiting.still = still;
	waiting.most = most;
}

static void let_go(void) {
	(void)sqlite3_close(waiting.holder);
	waiting.holder = NULL;
}

/* Whether a ledger can be used, under the name `file`, while another connection holds it. */
static enum cuttle_status wait_for_holder(const char *file, unsigned still, unsigned most,
                                          struct cuttle_error *error) {
	char run[LEDGER_RUN];
	struct ledger *ledger = fresh(1, "");
	ledger_close(&ledger);
	ledger = open_ledger(file);
	hold(still, most);
	const enum cuttle_status status = reserve(ledger, 0.5, run, error);
	let_go();
	assert_true(standing(ledger).spent == (status ? 0 : 0.5));
	ledger_close(&ledger);
	return status;
}

/* A loaded machine or a slow disk is no reason to fail; a process that holds the ledger and stands
 * still is. */
static void others_may_be_faster_for_long(void **state) {
	(void)state;
	struct cuttle_error error;
	assert_int_equal(wait_for_holder(path, 2000, 20000, &error), CUTTLE_OK);
	assert_int_equal(waiting.naps, 20000);
	assert_int_equal(wait_for_holder(path, UINT_MAX, 2000, &error), CUTTLE_OK);
	assert_int_equal(wait_for_holder(path, UINT_MAX, UINT_MAX, &error), CUTTLE_LEDGER);
	assert_non_null(strstr(error.message, "is busy"));
	assert_true(waiting.naps > 2000 && waiting.naps < 10000);
	// Through a symbolic link, too: what changes stands beside the file itself.
	assert_int_equal(symlink(path, copy_path), 0);
	assert_int_equal(wait_for_holder(copy_path, 2000, 20000, &error), CUTTLE_OK);
	remove_ledger(copy_path);
}

static char contested[LEDGER_RUN];

static void draw_contested(void) {
	struct ledger *ledger = open_ledger(path);
	assert_int_equal(ledger_draw(ledger, "notes", contested, NULL, NULL, NULL), CUTTLE_OK);
	ledger_close(&ledger);
}

static void release_contested(void) {
	struct ledger *ledger = open_ledger(path);
	assert_int_equal(ledger_release(ledger, "notes", contested, NULL), CUTTLE_OK);
	ledger_close(&ledger);
}

/* Of two who begin to draw and to give back at once, whoever is second sees what the first one did.
 */
static void drawing_and_giving_back_at_once(void **state) {
	(void)state;
	for (int drawn_first = 0; drawn_first < 2; drawn_first++) {
		struct cuttle_error error;
		struct ledger *ledger = fresh(1, "");
		assert_int_equal(reserve(ledger, 0.5, contested, &error), CUTTLE_OK);
		hold(1, 1);
		waiting.first = drawn_first ? draw_contested : release_contested;
		if (drawn_first)
			assert_int_equal(ledger_release(ledger, "notes", contested, &error),
			                 CUTTLE_USAGE);
		else
			assert_int_equal(
			    ledger_draw(ledger, "notes", contested, NULL, NULL, &error),
			    CUTTLE_BUDGET);
		waiting.first = NULL;
		let_go();
		assert_true(standing(ledger).spent == (drawn_first ? 0.5 : 0));
		ledger_close(&ledger);
		verifies(path);
	}
}

/* Says 'b' when it begins, 'R' after each reservation, 'g' before each giving back. */
static void spend_until_killed(int pipe) {
	if (write(pipe, "b", 1) != 1) _exit(1);
	for (unsigned i = 0;; i++) {
		struct ledger *ledger;
		char run[LEDGER_RUN];
		if (ledger_open(path, &ledger, NULL) || reserve(ledger, 0x1p-20, run, NULL) ||
		    write(pipe, "R", 1) != 1)
			_exit(1);
		if (i % 3 == 1 && ledger_draw(ledger, "notes", run, NULL, NULL, NULL)) _exit(1);
		if (i % 3 == 2 &&
		    (write(pipe, "g", 1) != 1 || ledger_release(ledger, "notes", run, NULL)))
			_exit(1);
		ledger_close(&ledger);
	}
}

static void killed_at_any_moment(void **state) {
	(void)state;
	const long kills = number_from("CUTTLE_TEST_KILLS", 75);
	struct ledger *ledger = fresh(1, "");
	ledger_close(&ledger);
	long reserved = 0, given = 0;
	uint64_t random = (uint64_t)time(NULL) * 2 + 1;
	for (long kill_number = 0; kill_number < kills; kill_number++) {
		int ends[2], status;
		char said[4096];
		assert_int_equal(pipe(ends), 0);
		pid_t child = fork();
		if (child == 0) spend_until_killed(ends[1]);
		(void)close(ends[1]);
		random = random * 6364136223846793005U + 1442695040888963407U;
		// From when it has got so far: on a busy machine most would else be killed before
		// they did anything.
		const size_t words = 1 + (random >> 59) % 7;
		for (size_t i = 0; i < words; i++) assert_int_equal(read(ends[0], &said[i], 1), 1);
		const struct timespec moment = {.tv_nsec = (long)((random >> 33) % 10000000)};
		(void)nanosleep(&moment, NULL);
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		const ssize_t rest = read(ends[0], said + words, sizeof said - words);
		(void)close(ends[0]);
		for (size_t i = 0; i < words + (size_t)rest; i++) {
			reserved += said[i] == 'R';
			given += said[i] == 'g';
		}
		ledger = open_ledger(path);
		const double spent = standing(ledger).spent * 0x1p20;
		ledger_close(&ledger);
		// Each kill can have cut one reservation off between its commit and its word, and
		// one giving back before its commit.
		assert_true(spent >= (double)(reserved - given));
		assert_true(spent <= (double)(reserved - given + 2 * (kill_number + 1)));
		if (kill_number % 10 == 0 || kill_number == kills - 1) verifies(path);
	}
	print_message("%ld kills, %ld reservations, %ld given back\n", kills, reserved, given);
	assert_true(reserved > 0 && (given > 0 || kills < 20));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(eight_processes_never_overspend),
	    cmocka_unit_test(six_processes_and_two_hard_links),
	    cmocka_unit_test(six_processes_and_a_symbolic_link),
	    cmocka_unit_test(a_ledger_mounted_alone),
	    cmocka_unit_test(others_may_be_faster_for_long),
	    cmocka_unit_test(drawing_and_giving_back_at_once),
	    cmocka_unit_test(killed_at_any_moment),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
