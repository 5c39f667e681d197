// SPDX-License-Identifier: Apache-2.0
// Tests serve/jobs/jobs_upload.c and serve/jobs/jobs_quote.c with the command itself (CUTTLE),
// without HTTP. It fails if a job starts on references that nobody has looked at, or that will not
// do. It fails if somebody else's upload holds up who need not wait for it, or if references are
// read behind the end of their job.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/serve/stage_clock.h"
#include "tests/support/files.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct ender {
	struct jobs *jobs; /* for cancel_job, with `id` */
	const char *id;
	struct jobs_upload *upload;
	struct jobs_fault fault;
	atomic_bool ended;
	double when; /* it had ended, by the clock that the test moves */
	bool good;
};

static void *end_upload(void *user) {
	struct ender *ender = user;
	ender->good = jobs_upload_end(ender->upload, &ender->fault);
	ender->when = stage_seconds();
	ender->ended = true;
	return NULL;
}

/* Whether commands that begin from now on hang. */
static void hang(bool told) {
	(void)stage_shell("%s %s/hang", told ? "touch" : "rm", stage.folder);
}

/* The true command, or one that says so and hangs. The true one tells what hangs beside it. */
static void hanging_command(void) {
	char script[PATH_MAX + 256];
	const int size = snprintf(script, sizeof script,
	                          "#!/bin/sh\ncd %s\n"
	                          "[ -e hang ] && echo $$ >>hanging && >hangs && exec sleep 1000\n"
	                          "for process in $(cat hanging 2>/dev/null); do\n"
	                          "kill -0 $process 2>/dev/null && echo x >>beside\ndone\n"
	                          "exec %s \"$@\"\n",
	                          stage.folder, stage.named);
	(void)stage_shell("rm -f %s/hanging %s/beside", stage.folder, stage.folder);
	files_put(stage.fake, script, (size_t)size);
	assert_int_equal(chmod(stage.fake, 0700), 0);
	stage.command = stage.fake;
}

/* Makes a job, and uploads what is no record, up to the end. */
static void begin_upload(struct jobs *jobs, const struct jobs_caller *caller, const char *key,
                         char id[64], struct ender *ender) {
	*ender = (struct ender){.good = true};
	json_decref(stage_create(jobs, caller, key, PLAN, id));
	assert_true(jobs_upload_begin(jobs, caller, id, &ender->upload, &ender->fault));
	assert_true(jobs_upload_piece(ender->upload, "{}", 2));
}

/* Uploads, and waits until the command, which hangs, looks at it. */
static pthread_t hang_upload(struct ender *ender) {
	pthread_t thread;
	char hangs[64];
	(void)snprintf(hangs, sizeof hangs, "%s/hangs", stage.folder);
	(void)unlink(hangs);
	hang(true);
	assert_int_equal(pthread_create(&thread, NULL, end_upload, ender), 0);
	stage_wait_for_file(hangs);
	assert_true(stage.reads);
	hang(false);
	return thread;
}

/* Uploads what is no record for a job that has good references already. */
static pthread_t upload_again(struct jobs *jobs, const char *id, struct ender *ender) {
	pthread_t thread;
	*ender = (struct ender){.good = true};
	assert_true(jobs_upload_begin(jobs, &ann, id, &ender->upload, &ender->fault));
	assert_true(jobs_upload_piece(ender->upload, "{}", 2));
	assert_int_equal(pthread_create(&thread, NULL, end_upload, ender), 0);
	return thread;
}

static void bad_references_are_refused_and_wiped(void **state) {
	(void)state;
	char id[64], code[64];
	stage_ledger(10);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	json_decref(stage_create(jobs, &ann, "k", PLAN, id));
	assert_int_equal(stage_upload(jobs, id, 11, LINE), 422); // one too few
	assert_int_not_equal(stage_shell("ls %s/*.key >/dev/null 2>&1", stage.runtime), 0);
	assert_int_equal(stage_start(jobs, &ann, id, code), 409);
	assert_int_equal(stage_upload(jobs, id, 12, LINE), 0);
	assert_int_equal(stage_upload(jobs, id, 12, "{\"text\":\"another %d\"}\n"), 0);
	assert_int_equal(stage_start(jobs, &ann, id, code), 202);
	assert_int_equal(stage_upload(jobs, id, 12, LINE), 409);
	stage_wait(jobs, id, "done");
	double spent;
	assert_int_equal(stage_runs(&spent), 1);
	jobs_close(&jobs);
	stage_clean();
}

/* An upload that ends late finds its job as it was: not started, or ended for good. */
static void no_job_starts_while_references_arrive(void **state) {
	(void)state;
	struct jobs_upload *late, *second;
	struct jobs_fault fault;
	json_t *document;
	char id[64], code[64];
	stage_ledger(10);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	json_decref(stage_create(jobs, &ann, "k", PLAN, id));
	assert_int_equal(stage_upload(jobs, id, 12, LINE), 0);
	assert_true(jobs_upload_begin(jobs, &ann, id, &late, &fault));
	assert_true(jobs_upload_piece(late, "{}", 2));
	assert_int_equal(stage_start(jobs, &ann, id, code), 409);
	assert_string_equal(code, "references_arriving");
	assert_false(jobs_upload_begin(jobs, &ann, id, &second, &fault));
	jobs_upload_drop(late);
	assert_int_equal(stage_start(jobs, &ann, id, code),
	                 202); // what arrived before is still there
	stage_wait(jobs, id, "done");
	json_decref(stage_create(jobs, &ann, "l", PLAN, id));
	assert_true(jobs_upload_begin(jobs, &ann, id, &late, &fault));
	assert_true(jobs_upload_piece(late, "{}", 2));
	assert_true(jobs_cancel(jobs, &ann, id, &document, &fault));
	json_decref(document);
	assert_false(jobs_upload_end(late, &fault));
	assert_int_equal(fault.status, 409);
	assert_int_not_equal(stage_shell("ls %s/*.key >/dev/null 2>&1", stage.runtime), 0);
	jobs_close(&jobs);
	stage_clean();
}

/* Lines of this file of the stage's. */
static int count_lines(const char *file) {
	char path[96], text[4096];
	(void)snprintf(path, sizeof path, "%s/%s", stage.folder, file);
	if (access(path, F_OK) != 0) return 0;
	const size_t size = files_get(path, text, sizeof text);
	int lines = 0;
	for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
	return lines;
}

/* References that are looked at for too long are refused and wiped. Meanwhile others' are taken,
 * but where those of two owners take that long. */
static void a_slow_quote_holds_up_nobody(void **state) {
	(void)state;
	struct ender ender, second, waits;
	char slow[64], slow_too[64], other[64], code[64];
	stage_ledger(10);
	hanging_command();
	stage.patience = 600;
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	begin_upload(jobs, &bob, "k", slow, &ender);
	const pthread_t thread = hang_upload(&ender);
	json_decref(stage_create(jobs, &ann, "l", PLAN, other));
	assert_int_equal(stage_upload(jobs, other, 12, LINE), 0);
	assert_false(ender.ended);
	begin_upload(jobs, &chief, "s", slow_too, &second);
	const pthread_t thread_too = hang_upload(&second);
	assert_false(ender.ended);
	(void)stage_shell("rm -f %s/beside", stage.folder);
	// It waits for longer than until the first one's time is over.
	pass_time(300);
	const pthread_t waiting = upload_again(jobs, other, &waits);
	pass_time(310);
	(void)pthread_join(waiting, NULL);
	(void)pthread_join(thread_too, NULL);
	(void)pthread_join(thread, NULL);
	// Its command ran, and refused what is no record.
	assert_int_equal(waits.fault.status, 422);
	assert_true(count_lines("beside") < 2);
	assert_false(ender.good || second.good);
	assert_int_equal(ender.fault.status, 503);
	assert_string_equal(ender.fault.code, "too_slow");
	assert_non_null(strstr(ender.fault.message, "no answer within 600 s"));
	assert_int_equal(stage_start(jobs, &bob, slow, code), 409);
	assert_string_equal(code, "references_missing");
	jobs_close(&jobs);
	stage.command = stage.named;
	stage.patience = 0;
	stage_clean();
}

/* Until so many threads wait to be woken, or a command hangs that should not have begun. */
static void wait_for_sleepers(unsigned count) {
	for (int i = 0; i < 6000 && clock_sleeps < count && count_lines("hanging") < 2; i++)
		stage_nap();
}

/* References of one owner are looked at one after the other. Of two that wait for the first, one
 * has its turn, and all the time of a turn; the other one is sent away, and has lost nothing. */
static void one_owner_has_one_turn(void **state) {
	(void)state;
	struct ender first, third, both[2];
	char slow[64], id[64], ids[2][64], code[64];
	pthread_t threads[2];
	stage_ledger(10);
	hanging_command();
	stage.patience = 600;
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	for (int i = 0; i < 2; i++) {
		json_decref(stage_create(jobs, &ann, i ? "i" : "j", PLAN, ids[i]));
		assert_int_equal(stage_upload(jobs, ids[i], 12, LINE), 0);
	}
	begin_upload(jobs, &ann, "k", slow, &first);
	const double began = stage_seconds();
	const pthread_t thread = hang_upload(&first);
	hang(true);
	// Both wait for longer than until its time is over.
	pass_time(200);
	for (int i = 0; i < 2; i++) threads[i] = upload_again(jobs, ids[i], &both[i]);
	wait_for_sleepers(3); // the queue, and both
	pass_time(410);
	(void)pthread_join(thread, NULL);
	assert_string_equal(first.fault.code, "too_slow");
	for (int i = 0; i < 6000 && count_lines("hanging") < 2; i++) stage_nap();
	// Now the other has waited for as long as it may.
	pass_time(200);
	for (int i = 0; i < 6000 && !both[0].ended && !both[1].ended; i++) stage_nap();
	// Looked at meanwhile, so that whoever watches the one that hangs has looked at the clock.
	hang(false);
	begin_upload(jobs, &bob, "b", id, &third);
	assert_false(jobs_upload_end(third.upload, &third.fault));
	assert_int_equal(third.fault.status, 422);
	const int turned = both[0].ended;
	assert_false(both[turned].ended);
	pass_time(410);
	for (int i = 0; i < 2; i++) (void)pthread_join(threads[i], NULL);
	assert_false(both[0].good || both[1].good);
	assert_string_equal(both[turned].fault.code, "too_slow");
	assert_true(both[turned].when - began > 2 * 600);
	assert_string_equal(both[!turned].fault.code, "queue_full");
	assert_int_equal(both[!turned].fault.status, 429);
	assert_int_equal(stage_start(jobs, &ann, ids[turned], code), 409); // wiped
	assert_int_equal(stage_start(jobs, &ann, ids[!turned], code), 202);
	stage_wait(jobs, ids[!turned], "done");
	jobs_close(&jobs);
	stage.command = stage.named;
	stage.patience = 0;
	stage_clean();
}

/* Uploads that never end keep one owner's others waiting, and nobody else's. */
static void one_owner_has_four_uploads(void **state) {
	(void)state;
	struct ender slow[5], other;
	char id[64], key[2] = "a";
	stage_ledger(10);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	for (int i = 0; i < 4; i++, key[0]++) begin_upload(jobs, &ann, key, id, &slow[i]);
	json_decref(stage_create(jobs, &ann, "z", PLAN, id));
	assert_false(jobs_upload_begin(jobs, &ann, id, &slow[4].upload, &slow[4].fault));
	assert_int_equal(slow[4].fault.status, 429);
	begin_upload(jobs, &bob, "k", id, &other);
	jobs_upload_drop(other.upload);
	for (int i = 0; i < 4; i++) jobs_upload_drop(slow[i].upload);
	jobs_close(&jobs);
	stage_clean();
}

/* A server without keys knows no owners, and each upload takes memory. */
static void so_many_uploads_arrive_at_once(void **state) {
	(void)state;
	enum { MOST = 16 };
	static const struct jobs_caller anybody = {.key = "", .officer = true};
	struct ender slow[MOST], more;
	char id[64], key[2] = "a";
	stage_ledger(10);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	for (int i = 0; i < MOST; i++, key[0]++) begin_upload(jobs, &anybody, key, id, &slow[i]);
	// Two of one job would write one file.
	jobs_upload_drop(slow[0].upload);
	assert_false(jobs_upload_begin(jobs, &anybody, id, &more.upload, &more.fault));
	assert_int_equal(more.fault.status, 429);
	begin_upload(jobs, &anybody, "y", id, &slow[0]);
	json_decref(stage_create(jobs, &anybody, "z", PLAN, id));
	assert_false(jobs_upload_begin(jobs, &anybody, id, &more.upload, &more.fault));
	assert_int_equal(more.fault.status, 429);
	for (int i = 0; i < MOST; i++) jobs_upload_drop(slow[i].upload);
	// Nor is anything taken for a job that has ended.
	struct jobs_fault fault;
	json_t *document;
	assert_true(jobs_cancel(jobs, &anybody, id, &document, &fault));
	json_decref(document);
	assert_false(jobs_upload_begin(jobs, &anybody, id, &more.upload, &more.fault));
	assert_int_equal(more.fault.status, 409);
	jobs_close(&jobs);
	stage_clean();
}

/* Who ends a job has it read by nobody from then on. */
static void an_ended_job_is_read_no_more(void **state) {
	(void)state;
	struct jobs_fault fault;
	json_t *document;
	stage_ledger(10);
	hanging_command();
	for (int remove = 0; remove < 2; remove++) {
		struct ender ender;
		char id[64];
		struct jobs *jobs = stage_open(UINT64_MAX, false);
		begin_upload(jobs, &ann, "k", id, &ender);
		const pthread_t thread = hang_upload(&ender);
		if (remove) assert_true(jobs_remove(jobs, &ann, id, &fault));
		else {
			assert_true(jobs_cancel(jobs, &ann, id, &document, &fault));
			json_decref(document);
		}
		assert_false(stage.reads);
		assert_int_not_equal(stage_shell("ls %s/*.key %s/jobs/*/refs* >/dev/null 2>&1",
		                                 stage.runtime, stage.state),
		                     0);
		(void)pthread_join(thread, NULL);
		assert_false(ender.good);
		assert_int_equal(ender.fault.status, 409);
		assert_string_equal(stage_status(jobs, id), remove ? "none" : "cancelled");
		assert_int_not_equal(stage_shell("ls %s/*.key >/dev/null 2>&1", stage.runtime), 0);
		jobs_close(&jobs);
		(void)stage_shell("rm -rf %s %s", stage.state, stage.runtime);
	}
	stage.command = stage.named;
	stage_clean();
}

/* References are looked at by a private command, which a server that stops ends at once. */
static void a_quote_ends_with_its_server(void **state) {
	(void)state;
	struct ender ender;
	char id[64];
	stage_ledger(10);
	hanging_command();
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	assert_false(stage.reads);
	begin_upload(jobs, &ann, "k", id, &ender);
	const pthread_t thread = hang_upload(&ender);
	jobs_stop(jobs);
	(void)pthread_join(thread, NULL);
	assert_false(ender.good);
	assert_string_equal(ender.fault.code, "stopping");
	assert_false(stage.reads);
	jobs_close(&jobs);
	stage.command = stage.named;
	stage_clean();
}

/* An upload that the disk does not hold is refused at its end, and takes nothing else with it. */
static void an_upload_that_failed_is_not_kept(void **state) {
	(void)state;
	static char piece[1 << 17];
	struct ender late = {.good = true};
	struct rlimit room;
	char id[64], code[64];
	memset(piece, 'a', sizeof piece);
	stage_ledger(10);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	json_decref(stage_create(jobs, &ann, "k", PLAN, id));
	assert_int_equal(stage_upload(jobs, id, 12, LINE), 0);
	assert_true(jobs_upload_begin(jobs, &ann, id, &late.upload, &late.fault));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &room), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	const struct rlimit little = {1000, room.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	const bool taken = jobs_upload_piece(late.upload, piece, sizeof piece);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &room), 0);
	assert_false(taken);
	// Now there is room, but not for what is missing.
	assert_false(jobs_upload_piece(late.upload, "{}", 2));
	assert_false(jobs_upload_end(late.upload, &late.fault));
	assert_true(late.fault.status >= 500);
	assert_int_equal(stage_start(jobs, &ann, id, code), 202); // on what arrived before
	stage_wait(jobs, id, "done");
	jobs_close(&jobs);
	stage_clean();
}

static void *cancel_job(void *user) {
	struct ender *ender = user;
	json_t *document;
	ender->good = jobs_cancel(ender->jobs, &bob, ender->id, &document, &ender->fault);
	json_decref(document);
	return NULL;
}

/* A job may be cancelled between the command's answer and the moment when it is kept. */
static void a_late_answer_opens_no_ended_job(void **state) {
	(void)state;
	struct ender ender, canceller;
	pthread_t uploading, cancelling;
	char id[64], script[PATH_MAX + 256], hangs[64];
	stage_ledger(10);
	// It answers, and then nobody can hear that it hangs.
	const int size =
	    snprintf(script, sizeof script,
	             "#!/bin/sh\n[ -e %s/hang ] || exec %s \"$@\"\n%s \"$@\"\n"
	             "exec >&- 2>&-\n>%s/hangs\n"
	             "while [ -e %s/hang ]; do sleep .02; done\n",
	             stage.folder, stage.named, stage.named, stage.folder, stage.folder);
	files_put(stage.fake, script, (size_t)size);
	assert_int_equal(chmod(stage.fake, 0700), 0);
	stage.command = stage.fake;
	(void)snprintf(hangs, sizeof hangs, "%s/hangs", stage.folder);
	(void)unlink(hangs);
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	json_decref(stage_create(jobs, &bob, "k", PLAN, id));
	ender = (struct ender){.good = true};
	assert_true(jobs_upload_begin(jobs, &bob, id, &ender.upload, &ender.fault));
	for (int i = 0; i < 12; i++) {
		char record[64];
		const int length = snprintf(record, sizeof record, LINE, i);
		assert_true(jobs_upload_piece(ender.upload, record, (size_t)length));
	}
	hang(true);
	assert_int_equal(pthread_create(&uploading, NULL, end_upload, &ender), 0);
	stage_wait_for_file(hangs);
	canceller = (struct ender){.jobs = jobs, .id = id};
	assert_int_equal(pthread_create(&cancelling, NULL, cancel_job, &canceller), 0);
	for (int i = 0; i < 6000 && strcmp(stage_status(jobs, id), "cancelled") != 0; i++)
		stage_nap();
	hang(false);
	(void)pthread_join(uploading, NULL);
	(void)pthread_join(cancelling, NULL);
	assert_true(canceller.good);
	assert_false(ender.good);
	assert_int_equal(ender.fault.status, 409);
	assert_string_equal(stage_status(jobs, id), "cancelled");
	assert_int_not_equal(
	    stage_shell("ls %s/*.key %s/jobs/*/refs* >/dev/null 2>&1", stage.runtime, stage.state),
	    0);
	jobs_close(&jobs);
	stage.command = stage.named;
	stage_clean();
}

struct maker {
	struct jobs *jobs;
	const char *key;
	bool good;
};

static void *make_one(void *user) {
	struct maker *maker = user;
	struct jobs_fault fault;
	json_t *request = stage_request(PLAN), *document;
	bool created;
	maker->good =
	    jobs_create(maker->jobs, &ann, maker->key, request, &document, &created, &fault);
	json_decref(request);
	if (maker->good) json_decref(document);
	return NULL;
}

/* Two plans are asked for at a time: each is a process with the model. */
static void two_plans_at_a_time(void **state) {
	(void)state;
	enum { MAKERS = 4 };
	static const char *const keys[MAKERS] = {"a", "b", "c", "d"};
	struct maker makers[MAKERS];
	pthread_t threads[MAKERS];
	char script[PATH_MAX + 256];
	stage_ledger(10);
	const int size =
	    snprintf(script, sizeof script,
	             "#!/bin/sh\necho x >>%s/plans\nwhile [ -e %s/hang ]; do sleep .02; done\n"
	             "exec %s \"$@\"\n",
	             stage.folder, stage.folder, stage.named);
	files_put(stage.fake, script, (size_t)size);
	assert_int_equal(chmod(stage.fake, 0700), 0);
	stage.command = stage.fake;
	struct jobs *jobs = stage_open(UINT64_MAX, false);
	hang(true);
	for (int i = 0; i < MAKERS; i++) {
		makers[i] = (struct maker){jobs, keys[i], false};
		assert_int_equal(pthread_create(&threads[i], NULL, make_one, &makers[i]), 0);
	}
	// Each of them asks or waits, as the queue does.
	for (int i = 0; i < 6000 && count_lines("plans") + (int)clock_sleeps < MAKERS + 1; i++)
		stage_nap();
	const int asked = count_lines("plans");
	hang(false);
	for (int i = 0; i < MAKERS; i++) (void)pthread_join(threads[i], NULL);
	assert_int_equal(asked, 2);
	for (int i = 0; i < MAKERS; i++) assert_true(makers[i].good);
	jobs_close(&jobs);
	(void)stage_shell("rm -f %s/plans", stage.folder);
	stage.command = stage.named;
	stage_clean();
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bad_references_are_refused_and_wiped),
	    cmocka_unit_test(no_job_starts_while_references_arrive),
	    cmocka_unit_test(a_slow_quote_holds_up_nobody),
	    cmocka_unit_test(one_owner_has_one_turn),
	    cmocka_unit_test(one_owner_has_four_uploads),
	    cmocka_unit_test(so_many_uploads_arrive_at_once),
	    cmocka_unit_test(an_ended_job_is_read_no_more),
	    cmocka_unit_test(a_quote_ends_with_its_server),
	    cmocka_unit_test(an_upload_that_failed_is_not_kept),
	    cmocka_unit_test(a_late_answer_opens_no_ended_job),
	    cmocka_unit_test(two_plans_at_a_time),
	};
	if (!stage_begin()) return 0;
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	stage_end();
	return failed;
}
