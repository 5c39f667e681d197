// SPDX-License-Identifier: Apache-2.0
// Tests a run of workflow/evolve.h whose journal was written on by somebody. It fails if more
// noisy counts than there are candidates are taken: they would be written behind their room.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/output/journal.h"
#include "tests/support/files.h"
#include "tests/support/runs.h"
#include "workflow/evolve.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 2, VARIATIONS = 2, CANDIDATES = TEXTS * VARIATIONS, LINES = 64 };

static char folder[] = "/tmp/cuttle-evolving-XXXXXX";
static char model_path[64], input[64], out[64], journal_path[80];
static struct setup_model opened;
static struct cuttle_error error;

static bool stops; /* once the last line of the journal is a count */

static void ignore_begun(void *user, bool complete) {
	(void)user, (void)complete;
}
static void ignore_reading(void *user, size_t text) {
	(void)user, (void)text;
}
static void ignore_event(void *user) {
	(void)user;
}
static void ignore_receipt(void *user, const char *path) {
	(void)user, (void)path;
}

/* How many counts of the first generation the journal has: its text with that number. */
static size_t count_counts(void) {
	char bytes[1 << 14], wanted[16];
	size_t found = 0;
	bytes[files_get(journal_path, bytes, sizeof bytes - 1)] = 0;
	(void)snprintf(wanted, sizeof wanted, "\n%d ", CANDIDATES);
	for (const char *at = bytes; (at = strstr(at, wanted)); at++) found++;
	return found;
}

static bool stop_behind_counts(void *user) {
	(void)user;
	return stops && count_counts() == CANDIDATES;
}

static enum cuttle_status evolve_once(void) {
	static const struct run_events events = {.begin = ignore_begun,
	                                         .reading = ignore_reading,
	                                         .token = ignore_event,
	                                         .text = ignore_event,
	                                         .stop = stop_behind_counts,
	                                         .end = ignore_event,
	                                         .publish = ignore_receipt};
	struct evolve_request request;
	struct evolve evolving;
	evolve_default(&request);
	request.common.input = input;
	request.common.output = out;
	request.epsilon = 2;
	request.texts = TEXTS;
	request.variations = VARIATIONS;
	request.generations = 2;
	request.plan.tokens = 3;
	request.plan.context = 400;
	request.plan.insecure = true;
	request.plan.insecure_seed = request.seed = 5;
	request.common.now = 1;
	enum cuttle_status status = evolve_open(&request, &opened, &evolving, &error);
	if (!status) status = evolve_run(&request, &evolving, &events, &error);
	evolve_free(&evolving);
	return status;
}

static void more_counts_than_candidates(void **state) {
	(void)state;
	char bytes[1 << 14], fingerprint[HASH_TEXT], digest[HASH_TEXT];
	struct journal *journal;
	enum journal_state found;
	stops = true;
	assert_int_equal(evolve_once(), CUTTLE_PARTIAL);
	assert_int_equal(count_counts(), CANDIDATES);
	const size_t size = files_get(journal_path, bytes, sizeof bytes - 1);
	bytes[size] = 0;
	assert_int_equal(sscanf(bytes, "cuttle-journal %*d %64s %64s", fingerprint, digest), 2);
	const struct journal_owner owner = {.fingerprint = fingerprint, .input = digest};
	assert_int_equal(journal_open(journal_path, &journal, &error), CUTTLE_OK);
	assert_int_equal(journal_load(journal, &owner, LINES, &found, &error), CUTTLE_OK);
	assert_int_equal(found, JOURNAL_OURS);
	assert_int_equal(journal_append(journal, CANDIDATES, CANDIDATES, 7), 0);
	journal_close(&journal);
	stops = false;
	assert_int_equal(evolve_once(), CUTTLE_INPUT);
	assert_non_null(strstr(error.message, "out.jsonl.journal is damaged"));
	// As it was, it goes on.
	files_put(journal_path, bytes, size);
	assert_int_equal(evolve_once(), CUTTLE_OK);
}

static int prepare_evolving(void **state) {
	(void)state;
	static const char lines[] = "{\"text\":\"a b\"}\n{\"text\":\"b\"}\n{\"text\":\"c a\"}\n";
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(model_path, sizeof model_path, "%s/m.gguf", folder);
	(void)snprintf(input, sizeof input, "%s/in.jsonl", folder);
	(void)snprintf(out, sizeof out, "%s/out.jsonl", folder);
	(void)snprintf(journal_path, sizeof journal_path, "%s.journal", out);
	files_put(input, lines, sizeof lines - 1);
	return runs_model(model_path, &opened, &error) ? -1 : 0;
}

static int remove_evolving(void **state) {
	(void)state;
	static const char *const names[] = {"m.gguf", "in.jsonl", "out.jsonl", "out.receipt.json"};
	cuttle_model_free(&opened.model);
	return files_remove(folder, names, sizeof names / sizeof *names);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(more_counts_than_candidates)};
	return cmocka_run_group_tests(tests, prepare_evolving, remove_evolving);
}
