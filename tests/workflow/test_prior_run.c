// SPDX-License-Identifier: Apache-2.0
// Tests a run with a token prior, or with private categories, that is stopped behind its counts,
// before its first token. It fails if the ledger does not know that something was drawn, if such a
// run can begin again, or if tokens without their counts, or with others, go on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/cuttle/prior.h"
#include "io/ledger/ledger.h"
#include "tests/support/files.h"
#include "tests/support/runs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/cuttle-prior-run-XXXXXX";
static char model_path[96], input[96], open_texts[96], out[96], ledger_path[96];
static struct setup_model opened;
static struct cuttle_error error;
static size_t tokens_told; /* by the run before */

/* Runs until so many tokens were drawn. */
static enum cuttle_status run_until(const struct generate_request *request, size_t tokens) {
	return runs_until(request, &opened, tokens, &tokens_told, &error);
}

static struct generate_request make_request(void) {
	struct generate_request request;
	generate_default(&request);
	request.common.input = input;
	request.common.output = out;
	request.public_examples = open_texts;
	request.examples_per_text = 1;
	request.texts = 2;
	request.common.ledger = ledger_path;
	request.common.dataset = "notes";
	request.plan.epsilon = 3;
	request.plan.batch = 2;
	request.plan.tokens = 3;
	request.plan.token_prior = 0.05;
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

static void counts_are_drawn(void **state) {
	(void)state;
	static char bytes[1 << 16], again[1 << 16];
	struct generate_request request = make_request();
	struct ledger *ledger;
	struct ledger_dataset dataset = {.rho = 0.5, .epsilon = (double)NAN, .delta = 1e-6};
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
	uncounted.common.ledger = uncounted.common.dataset = NULL;
	assert_int_equal(run_until(&uncounted, SIZE_MAX), CUTTLE_PARTIAL);
	assert_non_null(strstr(error.message, "token prior of this run is lost"));
	// Nor do counts that are not those of tokens: too few, too many, of another number.
	static const int64_t wrong[][4] = {{1, 5, 7, 9}, {2, 5, 7, 9}, {0, 5, 7, 9}, {-1, 5, 7, 9}};
	static const size_t counts[] = {2, 3, 3, 1};
	char fingerprint[HASH_TEXT], asked[HASH_TEXT];
	assert_int_equal(sscanf(bytes, "cuttle-journal %*d %64s %64s", fingerprint, asked), 2);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		const struct journal_owner owner = {.fingerprint = fingerprint, .input = asked};
		struct journal *journal;
		assert_int_equal(journal_open(path, &journal, &error), CUTTLE_OK);
		assert_int_equal(journal_restart(journal, &owner), 0);
		assert_int_equal(journal_keep_counts(journal, wrong[i], counts[i]), 0);
		journal_close(&journal);
		assert_int_equal(run_until(&uncounted, SIZE_MAX), CUTTLE_INPUT);
		assert_non_null(strstr(error.message, "no counts of a token prior"));
	}
	// With them it ends.
	files_put(path, bytes, whole);
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
	ledger_close(&ledger);
}

static void counts_of_categories_are_lost(void **state) {
	(void)state;
	static char lines[200 * 48], bytes[1 << 16];
	static const char *const fields[] = {"kind"};
	struct generate_request request = make_request();
	char *at = lines, path[128], records[128];
	size_t second, third;
	for (size_t i = 0; i < 200; i++)
		at += sprintf(at, "{\"text\":\"Note %zu\",\"kind\":\"%s\"}\n", i,
		              i % 2 ? "sea" : "land");
	(void)snprintf(records, sizeof records, "%s/kinds.jsonl", folder);
	files_put(records, lines, strlen(lines));
	request.common.input = records;
	request.common.ledger = request.common.dataset = request.public_examples = NULL;
	request.examples_per_text = 0;
	request.plan.token_prior = 0;
	request.category_fields = fields;
	request.category_field_count = 1;
	request.categories = "sea,land";
	assert_int_equal(run_until(&request, 1), CUTTLE_PARTIAL);
	const size_t size = read_journal(bytes, sizeof bytes, &second, &third);
	assert_memory_equal(bytes + second, "counts ", 7);
	assert_true(size > third);
	memmove(bytes + second, bytes + third, size - third);
	(void)snprintf(path, sizeof path, "%s.journal", out);
	files_put(path, bytes, size - third + second);
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_PARTIAL);
	assert_non_null(strstr(error.message, "counts of this run's categories are lost"));
	(void)snprintf(path, sizeof path, "rm %s.*", out);
	assert_int_equal(system(path), 0);
	assert_int_equal(unlink(records), 0);
}

static int prepare_prior(void **state) {
	(void)state;
	static char lines[CUTTLE_PRIOR_RECORDS * 32];
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(model_path, sizeof model_path, "%s/m.gguf", folder);
	(void)snprintf(input, sizeof input, "%s/in.jsonl", folder);
	(void)snprintf(open_texts, sizeof open_texts, "%s/open.jsonl", folder);
	(void)snprintf(out, sizeof out, "%s/out.jsonl", folder);
	(void)snprintf(ledger_path, sizeof ledger_path, "%s/l", folder);
	char *at = lines;
	for (size_t i = 0; i < CUTTLE_PRIOR_RECORDS; i++) {
		at += sprintf(at, "{\"text\":\"Note %zu\"}\n", i);
		if (i + 1 == CUTTLE_PRIOR_TEXTS) files_put(open_texts, lines, strlen(lines));
	}
	files_put(input, lines, strlen(lines));
	return runs_model(model_path, &opened, &error) ? -1 : 0;
}

static int remove_prior(void **state) {
	(void)state;
	static const char *const names[] = {"m.gguf", "in.jsonl",  "open.jsonl",
	                                    "l",      "out.jsonl", "out.receipt.json"};
	cuttle_model_free(&opened.model);
	return files_remove(folder, names, sizeof names / sizeof *names);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(counts_of_categories_are_lost),
	                                   cmocka_unit_test(counts_are_drawn)};
	return cmocka_run_group_tests(tests, prepare_prior, remove_prior);
}
