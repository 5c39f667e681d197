// SPDX-License-Identifier: Apache-2.0
// Tests who keeps private texts out of the swap when --mlock asks for it. It fails if a workflow
// reads records, documents, notes or the references of a shard and leaves their memory unlocked.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/files.h"
#include "tests/support/runs.h"
#include "workflow/audit/audit.h"
#include "workflow/evaluate/evaluate.h"
#include "workflow/evolve.h"
#include "workflow/extract.h"
#include "workflow/perturb.h"
#include "workflow/references.h"
#include "workflow/sanitize.h"
#include "workflow/shards.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define RECORD "PEBBLE-ONE"
#define OTHER "PEBBLE-TWO"
enum { RECORDS = 6 };

static char folder[] = "/tmp/cuttle-locking-XXXXXX";
static char model_path[64], input[64], others[64], out[64], run_folder[64];
static struct setup_model opened;
static struct cuttle_error error;

static char held[1 << 16]; /* what stood in locked memory */
static size_t held_size;

/* Stands in for the system's, which not everybody may call. */
int mlock(const void *address, size_t size) {
	const size_t left = sizeof held - held_size, some = size < left ? size : left;
	memcpy(held + held_size, address, some);
	held_size += some;
	return 0;
}

static bool was_locked(const char *text) {
	return memmem(held, held_size, text, strlen(text)) != NULL;
}

static void tell_count(void *user, size_t count) {
	(void)user, (void)count;
}
static void tell_event(void *user) {
	(void)user;
}
static bool stop_at_once(void *user) {
	(void)user;
	return true;
}

static void evolving_locks(void **state) {
	(void)state;
	for (int lock = 0; lock < 2; lock++) {
		struct evolve_request request;
		struct evolve evolving = {0};
		evolve_default(&request);
		request.common.input = input;
		request.common.lock = lock;
		assert_int_equal(evolve_count(&request, &evolving, &error), CUTTLE_OK);
		assert_int_equal(was_locked(RECORD), lock);
	}
}

static void perturbing_locks(void **state) {
	(void)state;
	struct perturb_request request;
	struct perturb perturbing = {0};
	perturb_default(&request);
	request.common.input = input;
	request.common.lock = true;
	assert_int_equal(perturb_count(&request, &perturbing, &error), CUTTLE_OK);
	assert_true(was_locked(RECORD));
}

static void rewriting_locks(void **state) {
	(void)state;
	static struct sanitize rewriting;
	struct sanitize_request request;
	sanitize_default(&request);
	request.common.input = input;
	request.common.lock = true;
	request.tagged_by = "nobody";
	request.params.epsilon = 1;
	request.params.tokens = 3;
	if (sanitize_open(&request, &opened, &rewriting, &error)) fail_msg("%s", error.message);
	if (sanitize_count(&request, &rewriting, &error)) fail_msg("%s", error.message);
	assert_true(was_locked(RECORD));
	sanitize_free(&rewriting);
}

/* Documents, and the notes of others. */
static void extract_locks(void **state) {
	(void)state;
	static const struct extract_events events = {NULL, tell_count, tell_event, stop_at_once};
	struct extract_request request;
	struct extract extract;
	extract_default(&request);
	request.input = input;
	request.replies = others;
	request.output = out;
	request.lock = true;
	request.params.tokens = 4;
	assert_int_equal(extract_make(&request, opened.model, &extract, &error), CUTTLE_OK);
	assert_int_equal(extract_run(&request, &extract, &events, &error), CUTTLE_PARTIAL);
	assert_true(was_locked(RECORD));
	assert_true(was_locked(OTHER));
	extract_free(&extract);
}

static void evaluate_locks(void **state) {
	(void)state;
	static const struct evaluate_events events = {NULL, tell_count, tell_event, stop_at_once};
	const char *const runs[] = {others};
	struct evaluate_request request;
	struct evaluate_asked asked = {0};
	struct evaluation table;
	evaluate_default(&request);
	request.runs = runs;
	request.run_count = 1;
	request.against = input;
	request.output = "-";
	request.privacy = EVALUATE_PRIVATE;
	request.lock = true;
	assert_int_equal(evaluate_run(&request, &opened, &events, &asked, &table, &error),
	                 CUTTLE_PARTIAL);
	assert_true(was_locked(RECORD));
	assert_true(was_locked(OTHER));
	evaluate_close(&asked);
}

static void overlap_locks(void **state) {
	(void)state;
	static const struct audit_events events = {NULL, tell_count, tell_event, stop_at_once,
	                                           NULL};
	struct audit_request request;
	struct audit audit;
	audit_default(&request, AUDIT_OVERLAP);
	request.run.common.input = input;
	request.run.common.lock = true;
	request.held_out = others;
	request.texts = others;
	request.privacy = AUDIT_PRIVATE;
	assert_int_equal(audit_run(&request, &opened, &events, &audit, &error), CUTTLE_PARTIAL);
	assert_true(was_locked(RECORD));
	assert_true(was_locked(OTHER));
}

static void audit_locks(void **state) {
	(void)state;
	static const struct audit_events events = {NULL, tell_count, tell_event, stop_at_once,
	                                           NULL};
	struct audit_request request;
	struct audit audit;
	audit_default(&request, AUDIT_INVARIANT);
	request.run.plan.clip = 1;
	request.run.plan.batch = 2;
	request.run.plan.tokens = 3;
	request.run.common.input = input;
	request.run.common.lock = true;
	request.privacy = AUDIT_PRIVATE;
	assert_int_equal(audit_run(&request, &opened, &events, &audit, &error), CUTTLE_PARTIAL);
	assert_true(was_locked(RECORD));
}

static struct generate_request make_request(void) {
	struct generate_request request = runs_request(input, 2, 2, 3);
	request.lots = RUN_LOTS_OFF;
	request.plan.clip = 0.5;
	return request;
}

static void expect_references_locked(struct generate_request *request) {
	struct setup setup;
	struct references references;
	request->common.lock = true;
	assert_int_equal(generate_open(request, &opened, &setup, &error), CUTTLE_OK);
	assert_int_equal(references_read(request, &setup, &references, &error), CUTTLE_OK);
	assert_true(was_locked(RECORD));
	references_free(&references);
	generate_free(&setup);
}

static void a_run_locks(void **state) {
	(void)state;
	struct generate_request request = make_request();
	expect_references_locked(&request);
}

/* Whoever draws a shard has its references from a file that was made for it. */
static void a_shard_locks(void **state) {
	(void)state;
	struct generate_request request = make_request(), whole = request;
	struct run_shard shard;
	struct setup setup;
	char command[96], *output = shards_file(run_folder);
	bool already;
	assert_int_equal(shards_folder(&request, run_folder, &error), CUTTLE_OK);
	assert_non_null(output);
	whole.common.output = output;
	assert_int_equal(generate_open(&whole, &opened, &setup, &error), CUTTLE_OK);
	const struct shards_request shards = {&whole, run_folder, 2};
	assert_int_equal(shards_open(&shards, &setup, &already, &error), CUTTLE_OK);
	assert_false(was_locked(RECORD));
	assert_int_equal(shards_join(run_folder, "0/2", 0, 0, &shard, &error), CUTTLE_OK);
	request.shard = &shard;
	request.common.output = shard.lines;
	expect_references_locked(&request);
	shards_leave(&shard);
	generate_free(&setup);
	free(output);
	(void)snprintf(command, sizeof command, "rm -r %s", run_folder);
	assert_int_equal(system(command), 0);
}

static int forget_locked(void **state) {
	(void)state;
	memset(held, 0, sizeof held);
	held_size = 0;
	return 0;
}

static void put_lines(const char *path, const char *text) {
	char lines[RECORDS * 64] = "";
	for (size_t i = 0; i < RECORDS; i++)
		(void)snprintf(lines + strlen(lines), sizeof lines - strlen(lines),
		               "{\"text\":\"%s %zu.\",\"spans\":[]}\n", text, i);
	files_put(path, lines, strlen(lines));
}

static int prepare_locking(void **state) {
	(void)state;
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(model_path, sizeof model_path, "%s/m.gguf", folder);
	(void)snprintf(input, sizeof input, "%s/in.jsonl", folder);
	(void)snprintf(others, sizeof others, "%s/others.jsonl", folder);
	(void)snprintf(out, sizeof out, "%s/out.jsonl", folder);
	(void)snprintf(run_folder, sizeof run_folder, "%s/run", folder);
	put_lines(input, RECORD);
	put_lines(others, OTHER);
	return runs_model(model_path, &opened, &error) ? -1 : 0;
}

static int remove_locking(void **state) {
	(void)state;
	static const char *const names[] = {"m.gguf", "in.jsonl", "others.jsonl"};
	cuttle_model_free(&opened.model);
	return files_remove(folder, names, sizeof names / sizeof *names);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(evolving_locks, forget_locked),
	    cmocka_unit_test_setup(perturbing_locks, forget_locked),
	    cmocka_unit_test_setup(rewriting_locks, forget_locked),
	    cmocka_unit_test_setup(extract_locks, forget_locked),
	    cmocka_unit_test_setup(evaluate_locks, forget_locked),
	    cmocka_unit_test_setup(audit_locks, forget_locked),
	    cmocka_unit_test_setup(overlap_locks, forget_locked),
	    cmocka_unit_test_setup(a_run_locks, forget_locked),
	    cmocka_unit_test_setup(a_shard_locks, forget_locked),
	};
	return cmocka_run_group_tests(tests, prepare_locking, remove_locking);
}
