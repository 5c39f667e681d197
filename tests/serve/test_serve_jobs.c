// SPDX-License-Identifier: Apache-2.0
// Tests serve/jobs/jobs*.c with a tiny model and the command itself (CUTTLE), without HTTP. It
// fails if a result is not the command's. It fails if a job is charged twice or not at all, or
// starts without room. It fails if others see it, or references outlive it. It fails if a busy
// ledger holds up who does not need it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "io/ledger/ledger.h"
#include "io/disk/pages.h"
#include "serve/jobs/store.h"
#include "serve/jobs/jobs_state.h"
#include "tests/serve/stage_clock.h"
#include "tests/serve/stage_ledger.h"
#include "tests/support/files.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* As stage_wait, and the time until the queue looks again is passed over. */
static void wait_in_haste(struct jobs *jobs, const char *id, const char *status) {
	for (int i = 0; i < 6000 && strcmp(stage_status(jobs, id), status) != 0; i++) {
		if (clock_sleeps) pass_time(1); // nothing runs
		stage_nap();
	}
	assert_string_equal(stage_status(jobs, id), status);
}

static size_t count_texts(struct jobs *jobs, const char *id) {
	struct jobs_fault fault;
	json_t *document;
	assert_true(jobs_get(jobs, &chief, id, &document, &fault));
	const json_int_t done = json_integer_value(json_object_get(document, "texts_done"));
	json_decref(document);
	return (size_t)done;
}

/* The job runs, and has more texts than none: it did not begin anew, or was not stopped. */
static void sees_it_go_on(struct jobs *jobs, const char *id) {
	for (int i = 0; i < 15000 && !count_texts(jobs, id); i++) stage_nap();
	assert_true(count_texts(jobs, id) > 0);
	assert_string_equal(stage_status(jobs, id), "running");
}

/* The same bytes as the command's own, from the same records and seed. */
static void results_are_the_commands_bytes(void **state) {
	(void)state;
	struct jobs_fault fault;
	char id[64];
	int file;
	stage_ledger(10);
	struct jobs *jobs = stage_open(7, false);
	stage_queue(jobs, "k", PLAN, 12, id);
	stage_wait(jobs, id, "done");
	(void)stage_shell("for i in 0 1 2 3 4 5 6 7 8 9 10 11; do printf '{\"text\":\"note %%d of "
	                  "CANARY-42\"}\\n' $i; done >%s/refs",
	                  stage.folder);
	assert_int_equal(
	    stage_shell(
	        "env -u CUTTLE_TOP_K %s generate --model %s --ledger %s --dataset notes --num 4 "
	        "--batch-size 3 --max-tokens 12 --clip 0.5 --insecure-seed 7 --input "
	        "- --output %s/own.jsonl -q <%s/refs 2>%s/out",
	        stage.command, stage.model, stage.ledger, stage.folder, stage.folder, stage.folder),
	    0);
	for (int receipt = 0; receipt < 2; receipt++) {
		char theirs[8192], ours[8192], path[96];
		assert_true(jobs_file(jobs, &ann, id, receipt != 0, &file, &fault));
		const ssize_t size = read(file, theirs, sizeof theirs);
		(void)close(file);
		(void)snprintf(path, sizeof path, "%s/own%s", stage.folder,
		               receipt ? ".receipt.json" : ".jsonl");
		assert_int_equal(files_get(path, ours, sizeof ours), size);
		assert_true(size > 50);
		assert_memory_equal(theirs, ours, (size_t)size);
	}
	stage_finds_no_canary();
	assert_int_not_equal(stage_shell("ls %s/*.key >/dev/null 2>&1", stage.runtime), 0);
	assert_int_not_equal(stage_shell("ls %s/jobs/*/refs >/dev/null 2>&1", stage.state), 0);
	jobs_close(&jobs);
	stage_clean();
}

static void one_key_is_one_job(void **state) {
	(void)state;
	struct jobs_fault fault;
	char id[64], again[64];
	bool created;
	json_t *document;
	stage_ledger(10);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	json_decref(stage_create(jobs, &ann, "k", PLAN, id));
	json_decref(stage_create(jobs, &ann, "k", PLAN, again));
	assert_string_equal(id, again);
	json_t *other = stage_request("\"num\":5,\"clip\":0.5");
	assert_false(jobs_create(jobs, &ann, "k", other, &document, &created, &fault));
	assert_int_equal(fault.status, 409);
	assert_false(jobs_create(jobs, &ann, NULL, other, &document, &created, &fault));
	assert_int_equal(fault.status, 400);
	json_decref(other);
	json_decref(
	    stage_create(jobs, &bob, "k", PLAN, again)); // another owner's key is another key
	assert_string_not_equal(id, again);
	jobs_close(&jobs);
	stage_clean();
}

/* Jobs that were cancelled count as well, so that no loop of them fills the disk. */
static void an_owner_has_so_many_jobs(void **state) {
	(void)state;
	struct jobs_fault fault;
	json_t *document, *request = stage_request(PLAN);
	char id[64], path[96];
	bool created;
	sqlite3 *list;
	stage_ledger(10);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	json_decref(stage_create(jobs, &ann, "k", PLAN, id));
	(void)snprintf(path, sizeof path, "%s/jobs.db", stage.state);
	assert_int_equal(sqlite3_open(path, &list), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(list,
	                 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
	                 "4095) INSERT INTO job(id, type, state, spec, fingerprint, dataset, run, "
	                 "owner, idempotency, failure, attempts, place, created) SELECT "
	                 "printf('job_%026d', i), type, 'cancelled', spec, fingerprint, dataset, "
	                 "run, owner, i, failure, attempts, place, created FROM job, n",
	                 NULL, NULL, NULL),
	    SQLITE_OK);
	(void)sqlite3_close(list);
	assert_false(jobs_create(jobs, &ann, "l", request, &document, &created, &fault));
	assert_int_equal(fault.status, 429);
	json_decref(stage_create(jobs, &bob, "l", PLAN, path)); // another owner's do not count
	assert_true(jobs_remove(jobs, &ann, id, &fault));
	json_decref(stage_create(jobs, &ann, "l", PLAN, id));
	json_decref(request);
	jobs_close(&jobs);
	stage_clean();
}

static void others_do_not_see_it(void **state) {
	(void)state;
	struct jobs_fault fault;
	struct jobs_upload *arriving;
	json_t *document;
	char id[64], code[64];
	int file;
	bool more;
	stage_ledger(10);
	struct jobs *jobs = stage_open(UINT64_MAX, true);
	json_decref(stage_create(jobs, &ann, "k", PLAN, id));
	assert_false(jobs_get(jobs, &bob, id, &document, &fault));
	assert_int_equal(fault.status, 404);
	assert_false(jobs_upload_begin(jobs, &bob, id, &arriving, &fault));
	assert_int_equal(fault.status, 404);
	assert_false(jobs_cancel(jobs, &bob, id, &document, &fault));
	assert_int_equal(fault.status, 404);
	assert_false(jobs_remove(jobs, &bob, id, &fault));
	assert_int_equal(fault.status, 404);
	assert_false(jobs_file(jobs, &bob, id, false, &file, &fault));
	assert_int_equal(fault.status, 404);
	assert_false(jobs_may_follow(jobs, &bob, id, 0, &more, &fault));
	assert_int_equal(fault.status, 404);
	assert_int_equal(stage_start(jobs, &bob, id, code), 404);
	assert_true(jobs_list(jobs, &bob, &document, &fault));
	assert_int_equal(json_array_size(json_object_get(document, "data")), 0);
	json_decref(document);
	assert_true(jobs_list(jobs, &chief, &document, &fault));
	assert_int_equal(json_array_size(json_object_get(document, "data")), 1);
	json_decref(document);
	assert_false(jobs_file(jobs, &ann, id, false, &file, &fault));
	assert_string_equal(fault.code, "not_done");
	assert_int_equal(stage_start(jobs, &chief, id, code), 409);
	assert_string_equal(code, "references_missing");
	assert_int_equal(stage_upload(jobs, id, 12, LINE), 0);
	assert_int_equal(stage_start(jobs, &ann, id, code), 403); // approval: an officer's
	assert_string_equal(code, "forbidden_role");
	assert_int_equal(stage_start(jobs, &chief, id, code), 202);
	stage_wait(jobs, id, "done");
	jobs_close(&jobs);
	stage_clean();
}

/* Of twenty that start at the same time as many are let in as the limit has room for. */
struct starter {
	struct jobs *jobs;
	char id[64];
	unsigned status;
	char code[64];
	atomic_bool ended;
};

static void *start_one(void *user) {
	struct starter *starter = user;
	starter->status = stage_start(starter->jobs, &ann, starter->id, starter->code);
	starter->ended = true;
	return NULL;
}

static void room_for_three_is_three(void **state) {
	(void)state;
	enum { STARTS = 20 };
	static struct starter starters[STARTS];
	pthread_t threads[STARTS];
	char id[64];
	double one, spent;
	stage_ledger(1000);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	json_t *document = stage_create(jobs, &ann, "first", PLAN, id);
	one = json_number_value(json_object_get(json_object_get(document, "budget"), "charge"));
	assert_true(one > 0);
	json_decref(document);
	jobs_close(&jobs);
	stage_clean();
	stage_ledger(one * 3.5);
	jobs = stage_open(UINT64_MAX, false);
	for (int i = 0; i < STARTS; i++) {
		char key[16];
		(void)snprintf(key, sizeof key, "k%d", i);
		starters[i].jobs = jobs;
		json_decref(stage_create(jobs, &ann, key, PLAN, starters[i].id));
		assert_int_equal(stage_upload(jobs, starters[i].id, 12, LINE), 0);
	}
	for (int i = 0; i < STARTS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, start_one, &starters[i]), 0);
	int started = 0;
	for (int i = 0; i < STARTS; i++) {
		(void)pthread_join(threads[i], NULL);
		started += starters[i].status == 202;
		if (starters[i].status == 202) continue;
		assert_int_equal(starters[i].status, 403);
		assert_string_equal(starters[i].code, "insufficient_privacy_budget");
	}
	assert_int_equal(started, 3);
	for (int i = 0; i < STARTS; i++)
		if (starters[i].status == 202) stage_wait(jobs, starters[i].id, "done");
	assert_int_equal(stage_runs(&spent), 3);
	stage_finds_no_canary();
	jobs_close(&jobs);
	stage_clean();
}

/* A server that stops leaves its job to the next one, which does not charge it again. */
static void the_next_server_goes_on(void **state) {
	(void)state;
	char id[64], code[64];
	double spent;
	stage_ledger(4); // room for one of them, which must be enough to go on
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	stage_queue(jobs, "k", LONG_PLAN, LONG, id);
	// Before it has drawn a token, the job would go on with any references.
	sees_it_go_on(jobs, id);
	assert_int_equal(stage_runs(&spent), 1);
	jobs_close(&jobs);
	stage_finds_no_canary();
	jobs = stage_open(UINT64_MAX, false);
	jobs_close(&jobs);
	// As after a reboot: the key is gone, and the job asks for its references again.
	(void)stage_shell("rm -f %s/*.key", stage.runtime);
	jobs = stage_open(UINT64_MAX, false);
	stage_wait(jobs, id, "awaiting_references");
	assert_int_equal(stage_upload(jobs, id, LONG, "{\"text\":\"others %d\"}\n"), 0);
	assert_int_equal(stage_start(jobs, &ann, id, code), 202);
	stage_wait(jobs, id, "awaiting_references"); // not those that it began with
	assert_int_equal(stage_upload(jobs, id, LONG, LINE), 0);
	assert_int_equal(stage_start(jobs, &ann, id, code), 202);
	sees_it_go_on(jobs, id);
	assert_int_equal(stage_runs(&spent), 1);
	jobs_close(&jobs);
	stage_clean();
}

/* A command that prices jobs as the true one does, and ends each with this exit code; all but the
 * job `spared`, which it runs. */
static void fake_command(int code, const char *spared) {
	char script[2 * PATH_MAX];
	const int size =
	    snprintf(script, sizeof script,
	             "#!/bin/sh\ncase \" $* \" in *' --dry-run '*|*'%s'*) exec %s \"$@\";; "
	             "esac\ncat >/dev/null\necho x >>%s/tried\nexit %d\n",
	             spared, stage.named, stage.folder, code);
	files_put(stage.fake, script, (size_t)size);
	assert_int_equal(chmod(stage.fake, 0700), 0);
}

static enum cuttle_status set_attempts(void *user, const struct store_job *row) {
	struct store_job job = *row;
	job.attempts = 4;
	return store_change(user, &job, NULL);
}

/* Runs the job once more, by the fake, as one that has failed four times before. */
static void try_again(const char *id, int code, const char *status) {
	char path[96], tried[96];
	struct store *store;
	(void)snprintf(path, sizeof path, "%s/jobs.db", stage.state);
	(void)snprintf(tried, sizeof tried, "%s/tried", stage.folder);
	assert_int_equal(store_open(path, &store, NULL), CUTTLE_OK);
	const struct store_filter one = {.id = id, .state = STORE_STATES};
	assert_int_equal(store_walk(store, &one, set_attempts, store, NULL), CUTTLE_OK);
	store_close(&store);
	(void)unlink(tried);
	fake_command(code, "job_none");
	stage.command = stage.fake;
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	stage_wait_for_file(tried);
	stage_wait(jobs, id, status);
	jobs_close(&jobs);
	stage.command = stage.named;
}

/* What was paid is not lost: neither a busy ledger nor a command that dies fails a charged job. */
static void no_charged_job_fails_by_attempts(void **state) {
	(void)state;
	char id[64], code[64];
	double spent;
	stage_ledger(1000);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	stage_queue(jobs, "k", LONG_PLAN, LONG, id);
	stage_wait_for_runs(1);
	jobs_close(&jobs);
	try_again(id, CUTTLE_LEDGER, "queued");
	// The machine is short of memory, or its models are mounted late.
	try_again(id, CUTTLE_MODEL, "queued");
	try_again(id, CUTTLE_NOMEM, "queued");
	try_again(id, CUTTLE_INTERNAL, "awaiting_references");
	jobs = stage_open(UINT64_MAX, false);
	assert_int_equal(stage_upload(jobs, id, LONG, LINE), 0);
	assert_int_equal(stage_start(jobs, &ann, id, code), 202);
	sees_it_go_on(jobs, id);
	assert_int_equal(stage_runs(&spent), 1);
	jobs_close(&jobs);
	stage_clean();
}

/* The state of the server was put back from before, and not the ledger: the job does not draw again
 * what was drawn, and does not wait for ever either. With the newer files it goes on. */
static void files_that_were_put_back_are_told(void **state) {
	(void)state;
	char id[64], code[64];
	double spent;
	struct jobs_fault fault;
	json_t *document;
	stage_ledger(1000);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	stage_queue(jobs, "k", LONG_PLAN, LONG, id);
	sees_it_go_on(jobs, id);
	jobs_close(&jobs);
	const char *keep = "cp -p $(find %s -name 'out.jsonl.*') %s/%s";
	const char *put =
	    "cp -p %s/%s/out.jsonl.* \"$(dirname \"$(find %s -name out.jsonl.journal)\")\"";
	assert_int_equal(stage_shell("mkdir %s/before %s/after", stage.folder, stage.folder), 0);
	assert_int_equal(stage_shell(keep, stage.state, stage.folder, "before"), 0);
	jobs = stage_open(UINT64_MAX, false);
	// Texts that are told may be those from before: only a longer journal has drawn more.
	stage_wait_for_growth("before");
	jobs_close(&jobs);
	assert_int_equal(stage_shell(keep, stage.state, stage.folder, "after"), 0);
	assert_int_equal(stage_shell(put, stage.folder, "before", stage.state), 0);
	jobs = stage_open(UINT64_MAX, false);
	stage_wait(jobs, id, "awaiting_references");
	assert_true(jobs_get(jobs, &ann, id, &document, &fault));
	const json_t *told = json_object_get(document, "error");
	assert_string_equal(json_string_value(json_object_get(told, "code")), "files_older");
	assert_non_null(strstr(json_string_value(json_object_get(told, "message")), "put back"));
	json_decref(document);
	stage_finds_no_canary();
	assert_int_equal(stage_upload(jobs, id, LONG, LINE), 0);
	assert_int_equal(stage_shell(put, stage.folder, "after", stage.state), 0);
	assert_int_equal(stage_start(jobs, &ann, id, code), 202);
	sees_it_go_on(jobs, id);
	assert_int_equal(stage_runs(&spent), 1);
	jobs_close(&jobs);
	stage_clean();
}

/* References whose key is gone when their turn comes are asked for again: the job is not done, and
 * paid nothing. */
static void lost_references_are_asked_for(void **state) {
	(void)state;
	char id[64], first[64], code[64], key[160];
	struct jobs_fault fault;
	json_t *document;
	double spent;
	stage_ledger(1000);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	stage_queue(jobs, "k", LONG_PLAN, LONG, first);
	stage_wait_for_runs(1);
	stage_queue(jobs, "l", PLAN, 12, id);
	(void)snprintf(key, sizeof key, "%s/%s.key", stage.runtime, id);
	assert_int_equal(unlink(key), 0);
	assert_true(jobs_cancel(jobs, &ann, first, &document, &fault));
	json_decref(document);
	stage_wait(jobs, id, "awaiting_references");
	assert_true(jobs_get(jobs, &ann, id, &document, &fault));
	char *told = json_dumps(document, 0);
	assert_non_null(strstr(told, "references_lost"));
	free(told);
	json_decref(document);
	assert_int_equal(stage_runs(&spent), 1);
	assert_int_equal(stage_upload(jobs, id, 12, LINE), 0);
	assert_int_equal(stage_start(jobs, &ann, id, code), 202);
	stage_wait(jobs, id, "done");
	assert_int_equal(stage_runs(&spent), 2);
	jobs_close(&jobs);
	stage_clean();
}

/* A job that cannot go on waits behind the others; one that has paid nothing fails. */
static void a_job_that_waits_holds_up_no_other(void **state) {
	(void)state;
	char id[64], other[64], third[64];
	double spent;
	stage_ledger(1000);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	stage_queue(jobs, "k", LONG_PLAN, LONG, id);
	stage_wait_for_runs(1);
	jobs_close(&jobs);
	fake_command(CUTTLE_MODEL, "job_none");
	stage.command = stage.fake;
	jobs = stage_open(UINT64_MAX, false);
	json_decref(stage_create(jobs, &ann, "l", PLAN, other));
	fake_command(CUTTLE_MODEL, other);
	json_decref(stage_create(jobs, &ann, "m", PLAN, third));
	char code[64];
	assert_int_equal(stage_upload(jobs, other, 12, LINE), 0);
	assert_int_equal(stage_upload(jobs, third, 12, LINE), 0);
	assert_int_equal(stage_start(jobs, &ann, other, code), 202);
	assert_int_equal(stage_start(jobs, &ann, third, code), 202);
	wait_in_haste(jobs, other, "done");
	wait_in_haste(jobs, third, "failed");
	assert_true(!strcmp(stage_status(jobs, id), "queued") ||
	            !strcmp(stage_status(jobs, id), "running"));
	jobs_close(&jobs);
	stage.command = stage.named;
	jobs = stage_open(UINT64_MAX, false);
	sees_it_go_on(jobs, id);
	assert_int_equal(stage_runs(&spent), 2);
	jobs_close(&jobs);
	stage_clean();
}

static void ask_list(struct jobs *jobs) {
	struct jobs_fault fault;
	json_t *document;
	assert_true(jobs_list(jobs, &chief, &document, &fault));
	json_decref(document);
}

/* A command that cannot even begin has done nothing: its job waits, and keeps its references. */
static void a_command_that_cannot_begin_ends_no_job(void **state) {
	(void)state;
	char id[64], code[64];
	double spent;
	stage_ledger(10);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	json_decref(stage_create(jobs, &ann, "k", PLAN, id));
	assert_int_equal(stage_upload(jobs, id, 12, LINE), 0);
	stage.starved = 1;
	assert_int_equal(stage_start(jobs, &ann, id, code), 202);
	while (stage.starved) stage_nap();
	wait_in_haste(jobs, id, "done");
	assert_int_equal(stage_runs(&spent), 1);
	jobs_close(&jobs);
	stage_clean();
}

/* While a start waits for the ledger, the list is told, and references of another job are taken. */
static void a_busy_ledger_holds_up_its_own_start_alone(void **state) {
	(void)state;
	struct starter starter = {0};
	char other[64];
	pthread_t thread;
	double spent;
	stage_ledger(10);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	json_decref(stage_create(jobs, &ann, "k", PLAN, starter.id));
	json_decref(stage_create(jobs, &ann, "l", PLAN, other));
	assert_int_equal(stage_upload(jobs, starter.id, 12, LINE), 0);
	starter.jobs = jobs;
	questions.hold_room = true;
	assert_int_equal(pthread_create(&thread, NULL, start_one, &starter), 0);
	wait_for_question();
	ask_list(jobs);
	assert_int_equal(stage_upload(jobs, other, 12, LINE), 0);
	assert_false(starter.ended);
	let_ledger_go();
	(void)pthread_join(thread, NULL);
	assert_int_equal(starter.status, 202);
	stage_wait(jobs, starter.id, "done");
	assert_int_equal(stage_runs(&spent), 1);
	jobs_close(&jobs);
	stage_clean();
}

/* So it is where the queue asks whether a job that broke off was charged. */
static void a_busy_ledger_holds_up_no_list(void **state) {
	(void)state;
	char id[64];
	stage_ledger(1000);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	stage_queue(jobs, "k", LONG_PLAN, LONG, id);
	stage_wait_for_runs(1);
	jobs_close(&jobs);
	fake_command(CUTTLE_USAGE, "job_none");
	stage.command = stage.fake;
	questions.hold_charge = true;
	jobs = stage_open(UINT64_MAX, false);
	wait_for_question();
	ask_list(jobs);
	assert_string_equal(stage_status(jobs, id), "running"); // nobody knows yet what it is
	let_ledger_go();
	wait_in_haste(jobs, id, "awaiting_references");
	jobs_close(&jobs);
	stage.command = stage.named;
	stage_clean();
}

static enum cuttle_status see_wish(void *user, const struct store_job *row) {
	*(bool *)user = row->state != STORE_RUNNING || !strcmp(row->failure, STORE_CANCELLING);
	return CUTTLE_OK;
}

/* Whether a kill of the server, now, would leave the job cancelled. */
static bool is_cancelled_for_good(const char *id) {
	char path[96];
	struct store *store;
	bool good = false;
	(void)snprintf(path, sizeof path, "%s/jobs.db", stage.state);
	assert_int_equal(store_open(path, &store, NULL), CUTTLE_OK);
	const struct store_filter one = {.id = id, .state = STORE_STATES};
	assert_int_equal(store_walk(store, &one, see_wish, &good, NULL), CUTTLE_OK);
	store_close(&store);
	return good;
}

static void cancelled_and_removed_jobs_are_wiped(void **state) {
	(void)state;
	struct jobs_fault fault;
	json_t *document;
	char id[64], waits[64], other[64];
	double spent;
	stage_ledger(1000);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	stage_queue(jobs, "k", LONG_PLAN, LONG, id);
	stage_queue(jobs, "l", LONG_PLAN, LONG, waits);
	stage_wait_for_runs(1);
	assert_true(jobs_cancel(jobs, &ann, waits, &document, &fault));
	json_decref(document);
	assert_string_equal(stage_status(jobs, waits), "cancelled");
	assert_true(jobs_cancel(jobs, &ann, id, &document, &fault)); // runs
	json_decref(document);
	assert_true(is_cancelled_for_good(id));
	stage_wait(jobs, id, "cancelled");
	assert_int_not_equal(stage_shell("ls %s/*.key >/dev/null 2>&1", stage.runtime), 0);
	assert_int_equal(stage_runs(&spent), 1); // the charge stays
	stage_queue(jobs, "m", LONG_PLAN, LONG, other);
	stage_wait_for_runs(2);
	assert_true(jobs_remove(jobs, &ann, other, &fault)); // runs
	assert_string_equal(stage_status(jobs, other), "none");
	assert_true(jobs_remove(jobs, &ann, id, &fault)); // has ended
	assert_true(jobs_remove(jobs, &ann, waits, &fault));
	assert_int_not_equal(stage_shell("ls -d %s/jobs/job_* >/dev/null 2>&1", stage.state), 0);
	assert_int_equal(stage_runs(&spent), 2);
	jobs_close(&jobs);
	stage_clean();
}

/* A list that cannot be written, as on a full disk, does not hold up who removes the job. */
static void a_full_disk_holds_up_no_removal(void **state) {
	(void)state;
	struct jobs_fault fault;
	char id[64], path[96];
	sqlite3 *list;
	stage_ledger(1000);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	stage_queue(jobs, "k", LONG_PLAN, LONG, id);
	stage_wait_for_runs(1);
	(void)snprintf(path, sizeof path, "%s/jobs.db", stage.state);
	assert_int_equal(sqlite3_open(path, &list), SQLITE_OK);
	assert_int_equal(sqlite3_exec(list, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	(void)alarm(60); // else a server that waits would keep the test for ever
	assert_false(jobs_remove(jobs, &ann, id, &fault));
	(void)alarm(0);
	stage_finds_no_canary();
	assert_int_not_equal(stage_shell("ls %s/*.key >/dev/null 2>&1", stage.runtime), 0);
	(void)sqlite3_close(list);
	assert_true(jobs_remove(jobs, &ann, id, &fault));
	assert_string_equal(stage_status(jobs, id), "none");
	jobs_close(&jobs);
	stage_clean();
}

/* Nor does it keep references: those of a job that waits are wiped, though it cannot be removed. A
 * job whose command has died, and that is cancelled while nothing can be written, ends. */
static void a_full_disk_keeps_no_references(void **state) {
	(void)state;
	struct jobs_fault fault;
	json_t *document;
	char id[64], waits[64], path[160], script[PATH_MAX + 256];
	sqlite3 *list;
	stage_ledger(1000);
	// It reads its records, and ends when the test says so, as on a full disk.
	const int size = snprintf(script, sizeof script,
	                          "#!/bin/sh\ncase \" $* \" in *' --dry-run '*) exec %s \"$@\";; "
	                          "esac\ncat >/dev/null\n>%s/reads\n"
	                          "while [ ! -e %s/go ]; do sleep 0.05; done\nexit 6\n",
	                          stage.named, stage.folder, stage.folder);
	files_put(stage.fake, script, (size_t)size);
	assert_int_equal(chmod(stage.fake, 0700), 0);
	stage.command = stage.fake;
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	json_decref(stage_create(jobs, &ann, "l", PLAN, waits));
	assert_int_equal(stage_upload(jobs, waits, 12, LINE), 0);
	stage_queue(jobs, "k", PLAN, 12, id);
	(void)snprintf(path, sizeof path, "%s/reads", stage.folder);
	stage_wait_for_file(path);
	(void)snprintf(path, sizeof path, "%s/jobs.db", stage.state);
	assert_int_equal(sqlite3_open(path, &list), SQLITE_OK);
	assert_int_equal(sqlite3_exec(list, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_false(jobs_remove(jobs, &ann, waits, &fault));
	(void)snprintf(path, sizeof path, "%s/%s.key", stage.runtime, waits);
	assert_int_not_equal(access(path, F_OK), 0);
	(void)stage_shell(">%s/go", stage.folder);
	// The queue cannot write that it waits again, and rests.
	for (int i = 0; i < 6000 && !clock_sleeps; i++) stage_nap();
	assert_false(jobs_cancel(jobs, &ann, id, &document, &fault));
	(void)sqlite3_close(list);
	wait_in_haste(jobs, id, "cancelled");
	assert_true(jobs_remove(jobs, &ann, waits, &fault));
	jobs_close(&jobs);
	stage.command = stage.named;
	stage_clean();
}

/* Events are numbered alike for every listener, and end. */
struct heard {
	char text[4096];
	atomic_bool ended;
};

static bool hear(void *user, const char *bytes, size_t size) {
	struct heard *heard = user;
	(void)snprintf(heard->text + strlen(heard->text), sizeof heard->text - strlen(heard->text),
	               "%.*s", (int)size, bytes);
	return true;
}

static void hear_end(void *user) {
	((struct heard *)user)->ended = true;
}

static void events_are_numbered(void **state) {
	(void)state;
	struct jobs_fault fault;
	static struct heard live, late;
	char id[64];
	bool more;
	stage_ledger(1000);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	stage_queue(jobs, "k", PLAN, 12, id);
	assert_true(
	    jobs_follow(jobs, &ann, id, 0, &(struct jobs_listener){hear, hear_end, &live}, &fault));
	stage_wait(jobs, id, "done");
	for (int i = 0; i < 6000 && !live.ended; i++) stage_nap();
	assert_true(live.ended);
	assert_true(
	    jobs_follow(jobs, &ann, id, 0, &(struct jobs_listener){hear, hear_end, &late}, &fault));
	assert_true(late.ended);
	assert_string_equal(live.text, late.text);
	assert_non_null(strstr(late.text,
	                       "id: 1\nevent: progress\ndata: {\"object\":\"job.event\","
	                       "\"status\":\"queued\",\"texts\":4,\"texts_done\":0}\n\n"));
	assert_non_null(strstr(late.text, "id: 13\n"));
	memset(late.text, 0, sizeof late.text);
	late.ended = false;
	assert_true(jobs_follow(jobs, &ann, id, 12, &(struct jobs_listener){hear, hear_end, &late},
	                        &fault));
	assert_int_equal(strncmp(late.text, "id: 13\n", 7), 0);
	assert_true(jobs_may_follow(jobs, &ann, id, 13, &more, &fault));
	assert_false(more);
	jobs_close(&jobs);
	stage_clean();
}

/* Who follows a job that is removed hears that it ended, though its end could not be written. */
static void a_removal_is_heard(void **state) {
	(void)state;
	struct jobs_fault fault;
	static struct heard live;
	char id[64], path[96];
	sqlite3 *list;
	stage_ledger(1000);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	stage_queue(jobs, "k", LONG_PLAN, LONG, id);
	stage_wait_for_runs(1);
	assert_true(
	    jobs_follow(jobs, &ann, id, 0, &(struct jobs_listener){hear, hear_end, &live}, &fault));
	assert_false(live.ended);
	(void)snprintf(path, sizeof path, "%s/jobs.db", stage.state);
	assert_int_equal(sqlite3_open(path, &list), SQLITE_OK);
	assert_int_equal(sqlite3_exec(list,
	                              "CREATE TRIGGER full BEFORE UPDATE ON job BEGIN "
	                              "SELECT RAISE(ABORT, 'full'); END",
	                              NULL, NULL, NULL),
	                 SQLITE_OK);
	(void)sqlite3_close(list);
	assert_true(jobs_remove(jobs, &ann, id, &fault));
	assert_true(live.ended);
	assert_non_null(strstr(live.text, "\"status\":\"cancelled\""));
	jobs_close(&jobs);
	stage_clean();
}

static void what_a_kill_left_is_swept(void **state) {
	(void)state;
	char id[64];
	stage_ledger(10);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	json_decref(stage_create(jobs, &ann, "k", PLAN, id));
	char unseen[64], path[160];
	json_decref(stage_create(jobs, &ann, "u", PLAN, unseen));
	assert_int_equal(stage_upload(jobs, unseen, 12, LINE), 0);
	(void)snprintf(path, sizeof path, "%s/jobs/%s/refs.unseen", stage.state, unseen);
	assert_int_not_equal(access(path, F_OK), 0); // the command has looked at them
	struct cuttle_error error;
	struct jobs *second;
	const struct jobs_options options = {.state = stage.state,
	                                     .runtime = stage.runtime,
	                                     .ledger = stage.ledger,
	                                     .model = stage.model};
	assert_int_equal(jobs_open(&options, &second, &error), CUTTLE_USAGE); // one server a folder
	jobs_close(&jobs);
	(void)stage_shell(
	    "mkdir %s/jobs/job_lost && echo x >%s/jobs/job_lost/refs && echo x "
	    ">%s/job_lost.key && echo x >%s/job_bare.key && echo x >%s/other.key && echo x "
	    ">%s/jobs/%s/refs.part && >%s",
	    stage.state, stage.state, stage.runtime, stage.runtime, stage.runtime, stage.state, id,
	    path);
	jobs = stage_open(UINT64_MAX, false);
	assert_int_not_equal(
	    stage_shell("ls -d %s/jobs/job_lost %s/job_lost.key %s/jobs/%s/refs.part "
	                ">/dev/null 2>&1",
	                stage.state, stage.runtime, stage.state, id),
	    0);
	(void)snprintf(path, sizeof path, "%s/%s.key", stage.runtime, unseen);
	assert_int_not_equal(access(path, F_OK), 0);
	(void)snprintf(path, sizeof path, "%s/jobs/job_lost", stage.state);
	assert_int_not_equal(access(path, F_OK), 0);
	(void)snprintf(path, sizeof path, "%s/job_lost.key", stage.runtime);
	assert_int_not_equal(access(path, F_OK), 0);
	(void)snprintf(path, sizeof path, "%s/job_bare.key", stage.runtime);
	assert_int_not_equal(access(path, F_OK), 0);
	(void)snprintf(path, sizeof path, "%s/other.key", stage.runtime);
	assert_int_equal(access(path, F_OK), 0);
	(void)snprintf(path, sizeof path, "%s/jobs/%s/refs.part", stage.state, id);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_string_equal(stage_status(jobs, id), "awaiting_references");
	jobs_close(&jobs);
	stage_clean();
}

/* Keys that were wiped on a disk may be found there. */
static void keys_are_kept_in_memory_alone(void **state) {
	(void)state;
	struct statfs system;
	char path[96];
	assert_int_equal(statfs(stage.folder, &system), 0);
	if (system.f_type == TMPFS_MAGIC) {
		(void)fprintf(stderr, "skipped: keys_are_kept_in_memory_alone: /tmp is no disk\n");
		return;
	}
	stage_ledger(10);
	struct cuttle_error error;
	struct jobs *jobs;
	(void)snprintf(path, sizeof path, "%s/run", stage.folder);
	const struct jobs_options options = {
	    .state = stage.state, .runtime = path, .ledger = stage.ledger, .model = stage.model};
	assert_int_equal(jobs_open(&options, &jobs, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "is on a disk"));
	stage_clean();
}

/* The references of a job arrived more than a day ago, it seems. `key` is the file of their key. */
static void age_references(const char *id, char key[160]) {
	unsigned char bytes[64];
	int64_t since;
	(void)snprintf(key, 160, "%s/%s.key", stage.runtime, id);
	// The file is 32 bytes of key, and when it was made.
	const size_t size = files_get(key, bytes, sizeof bytes);
	assert_int_equal(size, 40);
	memcpy(&since, bytes + 32, sizeof since);
	since -= 24 * 3600 + 5;
	memcpy(bytes + 32, &since, sizeof since);
	files_put(key, bytes, size);
}

/* References that nobody starts are wiped after a day, by a clock that no setting moves. */
static void what_nobody_starts_is_wiped(void **state) {
	(void)state;
	char id[64], key[160], code[64];
	stage_ledger(10);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	json_decref(stage_create(jobs, &ann, "k", PLAN, id));
	assert_int_equal(stage_upload(jobs, id, 12, LINE), 0);
	jobs_close(&jobs);
	jobs = stage_open(UINT64_MAX, false);
	jobs_close(&jobs);
	age_references(id, key);
	jobs = stage_open(UINT64_MAX, false);
	stage_wait_for_no_file(key);
	assert_int_equal(stage_start(jobs, &ann, id, code), 409);
	assert_string_equal(code, "references_missing");
	jobs_close(&jobs);
	stage_clean();
}

/* They are also while another job runs. Those of a job that was started stay, since it is paid for
 * or will be. */
static void a_long_job_holds_up_no_wiping(void **state) {
	(void)state;
	struct jobs_fault fault;
	char runs[64], queued[64], idle[64], idle_key[160], queued_key[160];
	stage_ledger(1000);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	json_decref(stage_create(jobs, &ann, "i", PLAN, idle));
	assert_int_equal(stage_upload(jobs, idle, 12, LINE), 0);
	stage_queue(jobs, "k", LONG_PLAN, LONG, runs);
	stage_wait(jobs, runs, "running");
	stage_queue(jobs, "l", PLAN, 12, queued);
	age_references(queued, queued_key);
	age_references(idle, idle_key);
	pass_time(60);
	stage_wait_for_no_file(idle_key);
	assert_string_equal(stage_status(jobs, runs), "running");
	assert_int_equal(access(queued_key, F_OK), 0);
	assert_true(jobs_remove(jobs, &ann, runs, &fault));
	stage_wait(jobs, queued, "done");
	jobs_close(&jobs);
	stage_clean();
}

/* Whoever has no descriptors left cannot start a command. The job is not done then: it waits. */
static void a_command_that_cannot_start_is_waited_for(void **state) {
	(void)state;
	char id[64], code[64];
	double spent;
	struct rlimit limit, none;
	stage_ledger(100);
	struct jobs *jobs = stage_open(7, false);
	json_decref(stage_create(jobs, &ann, "k", PLAN, id));
	assert_int_equal(stage_upload(jobs, id, 12, LINE), 0);
	jobs_close(&jobs);
	// Descriptors for the ledger or the references, and not for three pipes beside them.
	jobs = stage_open(7, false);
	const int first = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(first >= 0 && !close(first) && !getrlimit(RLIMIT_NOFILE, &limit));
	none = (struct rlimit){.rlim_cur = (rlim_t)first + 6, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(stage_start(jobs, &ann, id, code), 202);
	for (int tries = 0; tries < 2; tries++) {
		const unsigned before = stage.commands;
		pass_time(60);
		for (int i = 0; i < 6000 && (stage.commands == before || !clock_sleeps); i++)
			stage_nap();
		assert_int_not_equal(stage.commands, before);
		assert_string_equal(stage_status(jobs, id), "queued");
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	wait_in_haste(jobs, id, "done");
	assert_int_equal(stage_runs(&spent), 0); // seeded
	jobs_close(&jobs);
	stage_clean();
}

static void one_folder_has_one_server(void **state) {
	(void)state;
	struct cuttle_error error;
	struct jobs *second;
	stage_ledger(100);
	struct jobs *jobs = stage_open(7, false);
	const struct jobs_options options = {.state = stage.state,
	                                     .runtime = stage.runtime,
	                                     .ledger = stage.ledger,
	                                     .model = stage.model,
	                                     .program = stage.command,
	                                     .seed = 7};
	assert_int_equal(jobs_open(&options, &second, &error), CUTTLE_USAGE);
	assert_null(second);
	assert_non_null(strstr(error.message, "another server has this folder"));
	jobs_close(&jobs);
	assert_int_equal(jobs_open(&options, &second, &error), CUTTLE_OK);
	jobs_close(&second);
	stage_clean();
}

/* What waits in one data set takes no room in another; and so many jobs may wait, and no more. */
static void data_sets_have_their_own_room(void **state) {
	(void)state;
	struct cuttle_error error;
	struct jobs_fault fault;
	struct jobs *jobs;
	json_t *document;
	char ids[2][64], id[64], code[64];
	bool created;
	stage_ledger(6);
	assert_int_equal(stage_shell("%s ledger init --ledger %s --dataset others --rho-limit 0.3 "
	                             ">%s/out",
	                             stage.command, stage.ledger, stage.folder),
	                 0);
	const struct jobs_options options = {.state = stage.state,
	                                     .runtime = stage.runtime,
	                                     .ledger = stage.ledger,
	                                     .model = stage.model,
	                                     .program = stage.command,
	                                     .threads = 1,
	                                     .seed = UINT64_MAX,
	                                     .queue = 5};
	assert_int_equal(jobs_open(&options, &jobs, &error), CUTTLE_OK);
	stage_queue(jobs, "a", LONG_PLAN, LONG, ids[0]);
	stage_queue(jobs, "b", LONG_PLAN, LONG, ids[1]);
	json_t *request = stage_request(PLAN);
	(void)json_object_set_new(request, "dataset", json_string("others"));
	assert_true(jobs_create(jobs, &ann, "c", request, &document, &created, &fault));
	(void)snprintf(id, sizeof id, "%s", json_string_value(json_object_get(document, "id")));
	assert_true(json_is_true(json_object_get(json_object_get(document, "budget"), "fits")));
	json_decref(document);
	json_decref(request);
	assert_int_equal(stage_upload(jobs, id, 12, LINE), 0);
	assert_int_equal(stage_start(jobs, &ann, id, code), 202);
	json_decref(stage_create(jobs, &ann, "d", PLAN, id));
	assert_int_equal(stage_upload(jobs, id, 12, LINE), 0);
	assert_int_equal(stage_start(jobs, &ann, id, code), 429);
	assert_string_equal(code, "queue_full");
	assert_string_equal(stage_status(jobs, id), "awaiting_references");
	jobs_close(&jobs);
	stage_clean();
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(results_are_the_commands_bytes),
	    cmocka_unit_test(one_key_is_one_job),
	    cmocka_unit_test(an_owner_has_so_many_jobs),
	    cmocka_unit_test(others_do_not_see_it),
	    cmocka_unit_test(room_for_three_is_three),
	    cmocka_unit_test(the_next_server_goes_on),
	    cmocka_unit_test(no_charged_job_fails_by_attempts),
	    cmocka_unit_test(files_that_were_put_back_are_told),
	    cmocka_unit_test(a_command_that_cannot_begin_ends_no_job),
	    cmocka_unit_test(lost_references_are_asked_for),
	    cmocka_unit_test(a_job_that_waits_holds_up_no_other),
	    cmocka_unit_test(a_busy_ledger_holds_up_its_own_start_alone),
	    cmocka_unit_test(a_busy_ledger_holds_up_no_list),
	    cmocka_unit_test(cancelled_and_removed_jobs_are_wiped),
	    cmocka_unit_test(a_full_disk_holds_up_no_removal),
	    cmocka_unit_test(a_full_disk_keeps_no_references),
	    cmocka_unit_test(events_are_numbered),
	    cmocka_unit_test(a_removal_is_heard),
	    cmocka_unit_test(what_a_kill_left_is_swept),
	    cmocka_unit_test(keys_are_kept_in_memory_alone),
	    cmocka_unit_test(what_nobody_starts_is_wiped),
	    cmocka_unit_test(a_long_job_holds_up_no_wiping),
	    cmocka_unit_test(a_command_that_cannot_start_is_waited_for),
	    cmocka_unit_test(one_folder_has_one_server),
	    cmocka_unit_test(data_sets_have_their_own_room),
	};
	if (!stage_begin()) return 0;
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	stage_end();
	return failed;
}
