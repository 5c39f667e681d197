// SPDX-License-Identifier: Apache-2.0
// The words that tests of private jobs are made of. tests/serve/jobs_stage.h has them in short.
#include "tests/serve/jobs_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "io/ledger/ledger.h"
#include "tests/support/files.h"
#include "tests/support/tiny_model.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct jobs_stage stage = {.folder = "/tmp/cuttle-jobs-XXXXXX",
                           .memory = "/dev/shm/cuttle-jobs-XXXXXX",
                           .command = stage.named};
const struct jobs_caller ann = {.key = "ann"}, bob = {.key = "bob"},
                         chief = {.key = "chief", .officer = true};

bool stage_begin(void) {
	const char *named = getenv("CUTTLE");
	if (!named || !realpath(named, stage.named) || access(stage.named, X_OK) != 0) {
		(void)fprintf(stderr, "skipped: CUTTLE is not the command\n");
		return false;
	}
	// No job may hear of this: its options are those of its request.
	(void)setenv("CUTTLE_TOP_K", "1", 1);
	size_t size;
	if (sodium_init() < 0 || !mkdtemp(stage.folder) || !mkdtemp(stage.memory)) abort();
	(void)snprintf(stage.state, sizeof stage.state, "%s/state", stage.folder);
	(void)snprintf(stage.runtime, sizeof stage.runtime, "%s/run", stage.memory);
	(void)snprintf(stage.fake, sizeof stage.fake, "%s/fake", stage.folder);
	(void)snprintf(stage.ledger, sizeof stage.ledger, "%s/ledger", stage.folder);
	(void)snprintf(stage.model, sizeof stage.model, "%s/tiny.gguf", stage.folder);
	tiny_model_finite = true;
	uint8_t *bytes = tiny_model_bytes(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1, &size);
	files_put(stage.model, bytes, size);
	free(bytes);
	return true;
}

void stage_end(void) {
	(void)stage_shell("rm -rf %s %s", stage.folder, stage.memory);
}

/* Runs a line of shell; returns its exit code. */
int stage_shell(const char *format, ...) {
	char line[2048];
	va_list arguments;
	va_start(arguments, format);
	(void)vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	return system(line);
}

void stage_ledger(double rho) {
	// A test that failed may have left a command of its own, which waits.
	stage.command = stage.named;
	stage.patience = 0;
	(void)unlink(stage.ledger);
	assert_int_equal(
	    stage_shell("%s ledger init --ledger %s --dataset notes --rho-limit %.17g >%s/out",
	                stage.command, stage.ledger, rho, stage.folder),
	    0);
}

/* No file of this process can be opened from here on, or as many as before. */
static void starve_process(bool starve) {
	static struct rlimit before;
	if (starve) (void)getrlimit(RLIMIT_NOFILE, &before);
	const struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
	(void)setrlimit(RLIMIT_NOFILE, starve ? &none : &before);
}

static void hear_busy(void *user, bool busy) {
	(void)user;
	stage.reads = busy;
	if (!busy) (void)atomic_fetch_add(&stage.commands, 1);
	if (!stage.starved) return;
	starve_process(busy);
	if (!busy) (void)atomic_fetch_sub(&stage.starved, 1);
}

struct jobs *stage_open(uint64_t seed, bool approval) {
	const struct jobs_options options = {.state = stage.state,
	                                     .runtime = stage.runtime,
	                                     .ledger = stage.ledger,
	                                     .model = stage.model,
	                                     .program = stage.command,
	                                     .threads = 1,
	                                     .seed = seed,
	                                     .approval = approval,
	                                     .patience = stage.patience,
	                                     .busy = hear_busy};
	struct jobs *jobs;
	struct cuttle_error error;
	if (jobs_open(&options, &jobs, &error)) fail_msg("%s", error.message);
	return jobs;
}

json_t *stage_request(const char *plan) {
	char text[512];
	json_t *request;
	(void)snprintf(text, sizeof text,
	               "{\"type\":\"generate\",\"dataset\":\"notes\",\"plan\":{%s}}", plan);
	request = json_loads(text, 0, NULL);
	assert_non_null(request);
	return request;
}

/* Makes a job; its id is kept in `id`. Returns the document. */
json_t *stage_create(struct jobs *jobs, const struct jobs_caller *caller, const char *key,
                     const char *plan, char id[64]) {
	struct jobs_fault fault;
	json_t *request = stage_request(plan), *document;
	bool created;
	if (!jobs_create(jobs, caller, key, request, &document, &created, &fault))
		fail_msg("%s", fault.message);
	json_decref(request);
	(void)snprintf(id, 64, "%s", json_string_value(json_object_get(document, "id")));
	return document;
}

/* Uploads `count` records. Returns the fault's status, or 0. */
unsigned stage_upload(struct jobs *jobs, const char *id, size_t count, const char *line) {
	struct jobs_upload *arriving;
	struct jobs_fault fault;
	if (!jobs_upload_begin(jobs, &ann, id, &arriving, &fault)) return fault.status;
	for (size_t i = 0; i < count; i++) {
		char record[200];
		const int size = snprintf(record, sizeof record, line, (int)i);
		assert_true(jobs_upload_piece(arriving, record, (size_t)size));
	}
	return jobs_upload_end(arriving, &fault) ? 0 : fault.status;
}

unsigned stage_start(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                     char code[64]) {
	struct jobs_fault fault;
	json_t *document;
	const bool good = jobs_start(jobs, caller, id, &document, &fault);
	json_decref(document);
	(void)snprintf(code, 64, "%s", good ? "" : fault.code);
	return good ? 202 : fault.status;
}

const char *stage_status(struct jobs *jobs, const char *id) {
	static char status[32];
	struct jobs_fault fault;
	json_t *document;
	if (!jobs_get(jobs, &chief, id, &document, &fault)) return "none";
	(void)snprintf(status, sizeof status, "%s",
	               json_string_value(json_object_get(document, "status")));
	json_decref(document);
	return status;
}

void stage_wait(struct jobs *jobs, const char *id, const char *status) {
	for (int i = 0; i < 6000; i++) {
		const char *now = stage_status(jobs, id);
		if (!strcmp(now, status)) return;
		if (!strcmp(now, "failed")) break; // for good
		stage_nap();
	}
	fail_msg("%s is %s, not %s", id, stage_status(jobs, id), status);
}

void stage_nap(void) {
	(void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

void stage_clean(void) {
	(void)stage_shell("rm -rf %s %s", stage.state, stage.runtime);
}

double stage_seconds(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

uint64_t stage_runs(double *spent) {
	struct ledger *ledger;
	struct ledger_standing standing;
	assert_int_equal(ledger_open(stage.ledger, &ledger, NULL), CUTTLE_OK);
	assert_int_equal(ledger_look(ledger, "notes", &standing, NULL), CUTTLE_OK);
	ledger_close(&ledger);
	*spent = standing.spent;
	return standing.runs;
}

void stage_queue(struct jobs *jobs, const char *key, const char *plan, size_t records,
                 char id[64]) {
	char code[64];
	json_decref(stage_create(jobs, &ann, key, plan, id));
	assert_int_equal(stage_upload(jobs, id, records, LINE), 0);
	assert_int_equal(stage_start(jobs, &ann, id, code), 202);
}

void stage_wait_for_runs(uint64_t runs) {
	double spent;
	for (int i = 0; i < 6000 && stage_runs(&spent) < runs; i++) stage_nap();
	assert_true(stage_runs(&spent) >= runs);
}

void stage_wait_for_file(const char *path) {
	for (int i = 0; i < 6000 && access(path, F_OK) != 0; i++) stage_nap();
	assert_int_equal(access(path, F_OK), 0);
}

void stage_finds_no_canary(void) {
	assert_int_not_equal(
	    stage_shell("grep -rqa CANARY-42 %s %s %s", stage.state, stage.runtime, stage.ledger),
	    0);
}

void stage_wait_for_no_file(const char *path) {
	for (int i = 0; i < 6000 && access(path, F_OK) == 0; i++) stage_nap();
	assert_int_not_equal(access(path, F_OK), 0);
}

void stage_wait_for_growth(const char *copies) {
	for (int i = 0; i < 15000; i++) {
		if (!stage_shell("[ $(cat %s/%s/*.journal | wc -c) -lt "
		                 "$(find %s -name out.jsonl.journal -exec cat {} + | wc -c) ]",
		                 stage.folder, copies, stage.state))
			return;
		stage_nap();
	}
	fail_msg("no token is drawn");
}
