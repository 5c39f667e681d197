// SPDX-License-Identifier: Apache-2.0
// Tests a run with private categories that is stopped behind its counts, before its first token. It
// fails if the ledger does not know that something was drawn, if such a run draws its counts again,
// or if tokens without their counts go on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/ledger/ledger.h"
#include "tests/support/files.h"
#include "tests/support/runs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/cuttle-counts-run-XXXXXX";
static char model_path[96], input[96], out[96], ledger_path[96];
static struct setup_model opened;
static struct cuttle_error error;
static size_t tokens_told; /* by the run before */

/* Runs until so many tokens were drawn. */
static enum cuttle_status run_until(const struct generate_request *request, size_t tokens) {
	return runs_until(request, &opened, tokens, &tokens_told, &error);
}

static const char *const FIELDS[] = {"kind"};

static struct generate_request make_request(void) {
	struct generate_request request;
	generate_default(&request);
	request.common.input = input;
	request.common.output = out;
	request.category_fields = FIELDS;
	request.category_field_count = 1;
	request.categories = "sea,land";
	request.texts = 2;
	request.common.ledger = ledger_path;
	request.common.dataset = "notes";
	request.plan.epsilon = 3;
	request.plan.batch = 2;
	request.plan.tokens = 3;
	return request;
}

/* The journal, and where its second line and its third begin. */
static size_t read_journal(char *bytes, size_t room, size_t *second, size_t *third) {
	char path[128];
	(void)snprintf(path, sizeof path, "%s.journal", out);
	const size_t size = files_get(path, bytes, room - 1);
	bytes[size] = 0;
	*second = (size_t)(strchr(bytes, '\n') - bytes) + 1;
	const char *end = strchr(bytes + *second, '\n');
	*third = end ? (size_t)(end - bytes) + 1 : size;
	return size;
}

static void counts_are_drawn_once(void **state) {
	(void)state;
	static char bytes[1 << 16], again[1 << 16];
	struct generate_request request = make_request();
	struct ledger *ledger;
	struct ledger_dataset dataset = {.rho = (double)NAN, .epsilon = 5, .delta = 1e-5};
	char path[128], name[64];
	size_t second, third;
	(void)snprintf(dataset.name, sizeof dataset.name, "notes");
	assert_int_equal(ledger_create(ledger_path, &error), CUTTLE_OK);
	assert_int_equal(ledger_open(ledger_path, &ledger, &error), CUTTLE_OK);
	assert_int_equal(ledger_add(ledger, &dataset, &error), CUTTLE_OK);
	// Stopped before the first token: the journal has counts and nothing else.
	assert_int_equal(run_until(&request, 0), CUTTLE_PARTIAL);
	assert_int_equal(tokens_told, 0);
	const size_t size = read_journal(bytes, sizeof bytes, &second, &third);
	assert_memory_equal(bytes + second, "counts ", 7);
	assert_int_equal(size, third);
	// What was spent on them cannot be given back.
	(void)snprintf(path, sizeof path, "%s.run", out);
	name[files_get(path, name, sizeof name - 1)] = 0;
	name[LEDGER_RUN - 1] = 0;
	assert_int_not_equal(ledger_release(ledger, "notes", name, &error), CUTTLE_OK);
	// The run goes on with these counts, charged once: twice would be over the limit.
	assert_int_equal(run_until(&request, 1), CUTTLE_PARTIAL);
	(void)read_journal(again, sizeof again, &second, &third);
	assert_memory_equal(again, bytes, size);
	// Tokens without counts go nowhere.
	(void)snprintf(path, sizeof path, "%s.journal", out);
	const size_t whole = files_get(path, again, sizeof again);
	memcpy(bytes, again, whole);
	memmove(again + second, again + third, whole - third);
	files_put(path, again, whole - third + second);
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_LEDGER);
	struct generate_request uncounted = request;
	char named[128], moved[136];
	(void)snprintf(named, sizeof named, "%s.run", out);
	(void)snprintf(moved, sizeof moved, "%s.moved", named);
	uncounted.common.ledger = uncounted.common.dataset = NULL;
	assert_int_equal(rename(named, moved), 0);
	assert_int_equal(run_until(&uncounted, SIZE_MAX), CUTTLE_PARTIAL);
	assert_non_null(strstr(error.message, "counts of this run's categories are lost"));
	assert_int_equal(rename(moved, named), 0);
	// With them it ends.
	files_put(path, bytes, whole);
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
	ledger_close(&ledger);
}

static int prepare_counts(void **state) {
	(void)state;
	static char lines[200 * 48];
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(model_path, sizeof model_path, "%s/m.gguf", folder);
	(void)snprintf(input, sizeof input, "%s/in.jsonl", folder);
	(void)snprintf(out, sizeof out, "%s/out.jsonl", folder);
	(void)snprintf(ledger_path, sizeof ledger_path, "%s/l", folder);
	char *at = lines;
	for (size_t i = 0; i < 200; i++)
		at += sprintf(at, "{\"text\":\"Note %zu\",\"kind\":\"%s\"}\n", i,
		              i % 2 ? "sea" : "land");
	files_put(input, lines, strlen(lines));
	return runs_model(model_path, &opened, &error) ? -1 : 0;
}

static int remove_counts(void **state) {
	(void)state;
	static const char *const names[] = {"m.gguf", "in.jsonl", "l", "out.jsonl",
	                                    "out.receipt.json"};
	cuttle_model_free(&opened.model);
	return files_remove(folder, names, sizeof names / sizeof *names);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(counts_are_drawn_once)};
	return cmocka_run_group_tests(tests, prepare_counts, remove_counts);
}
