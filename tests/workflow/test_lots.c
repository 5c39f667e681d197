// SPDX-License-Identifier: Apache-2.0
// Tests a run with lots from its request to its receipt. It fails if a run that was stopped goes on
// with other lots, or begins again with those of a run before. It fails if the key stays, if a run
// without its lots goes on, or if receipt or ledger say more or less than they must.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/receipts/evidence.h"
#include "io/ledger/ledger.h"
#include "tests/support/files.h"
#include "tests/support/runs.h"
#include "tests/support/statistics.h"
#include "workflow/references.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXTS = 3, BATCH = 2, TOKENS = 3, RECORDS = 14, ROOM = 1 << 16 };
static char folder[] = "/tmp/cuttle-lots-run-XXXXXX";
static char model_path[96], input[96], out[96], lots_file[128], other_lots[128], ledger_path[96];
static struct setup_model opened;
static struct cuttle_error error;
static size_t tokens_told; /* by the run before */

static struct generate_request make_request(void) {
	struct generate_request request = runs_request(input, TEXTS, BATCH, TOKENS);
	request.common.output = out;
	request.lots = RUN_LOTS_ON;
	request.plan.epsilon = 3;
	return request;
}

/* Runs until so many tokens were drawn. */
static enum cuttle_status run_until(const struct generate_request *request, size_t tokens) {
	return runs_until(request, &opened, tokens, &tokens_told, &error);
}

static bool exists(const char *path) {
	return access(path, F_OK) == 0;
}

static void remove_output(void) {
	static const char *const endings[] = {"", ".journal", ".journal.key", ".lots", ".run"};
	char name[160];
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		(void)snprintf(name, sizeof name, "%s%s", out, endings[i]);
		(void)unlink(name);
	}
	char *receipt = output_receipt_beside(out);
	(void)unlink(receipt);
	free(receipt);
}

/* Writes so many records; record `null` is a null one. */
static void write_input(size_t count, size_t null) {
	char lines[RECORDS * 2 * 64] = "";
	for (size_t i = 0; i < count; i++)
		(void)snprintf(
		    lines + strlen(lines), sizeof lines - strlen(lines),
		    i == null ? "{}\n" : "{\"text\":\"Note %zu: a gardener who coughs.\"}\n", i);
	files_put(input, lines, strlen(lines));
}

static size_t read_all(const char *path, char *bytes) {
	const size_t size = files_get(path, bytes, ROOM - 1);
	bytes[size] = 0;
	return size;
}

static char wanted[ROOM], wanted_receipt[ROOM], got[ROOM];

static void make_wanted(void) {
	struct generate_request request = make_request();
	remove_output();
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
	assert_true(read_all(out, wanted) > 0);
	char *receipt = output_receipt_beside(out);
	assert_true(read_all(receipt, wanted_receipt) > 0);
	free(receipt);
	remove_output();
}

/* Stopped after any token, and with any number of texts in flight, the bytes are the same. The file
 * of the lots is there from the first token on, for its owner alone, and gone at the end. */
static void stopped_anywhere(void **state) {
	(void)state;
	make_wanted();
	for (uint32_t parallel = 1; parallel <= 3; parallel++)
		for (size_t tokens = 1; tokens <= TEXTS * TOKENS; tokens++) {
			struct generate_request request = make_request();
			struct stat file;
			request.plan.parallel = parallel;
			enum cuttle_status status = run_until(&request, tokens);
			if (status) {
				assert_int_equal(status, CUTTLE_PARTIAL);
				assert_int_equal(stat(lots_file, &file), 0);
				assert_int_equal(file.st_mode & 07777, 0600);
				assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
			}
			(void)read_all(out, got);
			assert_string_equal(got, wanted);
			assert_false(exists(lots_file));
			remove_output();
		}
	// Stopped after every single token.
	struct generate_request request = make_request();
	size_t runs = 0;
	while (run_until(&request, 1) == CUTTLE_PARTIAL) assert_true(runs++ < 100);
	(void)read_all(out, got);
	assert_string_equal(got, wanted);
	remove_output();
}

/* Other numbers of rows show nowhere: the receipt of another seed, whose lots are others, differs
 * in what the seed itself changes. */
static void the_receipt_has_no_lot(void **state) {
	(void)state;
	make_wanted();
	static const char *const names[] = {
	    "batches", "used", "records", "rows_cap", "epsilon_if_known", "delta_if_known"};
	json_t *one = json_loads(wanted_receipt, 0, NULL);
	struct generate_request request = make_request();
	request.plan.insecure_seed = 12;
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
	char *receipt = output_receipt_beside(out);
	(void)read_all(receipt, got);
	json_t *two = json_loads(got, 0, NULL);
	free(receipt);
	json_t *lots = json_object_get(one, "lots");
	assert_int_equal(json_object_size(lots), sizeof names / sizeof *names);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_non_null(json_object_get(lots, names[i]));
	assert_int_equal(json_integer_value(json_object_get(lots, "records")), RECORDS);
	assert_int_equal(json_integer_value(json_object_get(lots, "batches")), RECORDS / BATCH);
	assert_int_equal(json_integer_value(json_object_get(lots, "used")), TEXTS);
	assert_true(json_equal(lots, json_object_get(two, "lots")));
	assert_int_equal(
	    json_object_del(one, "output_sha256") | json_object_del(one, "command_sha256"), 0);
	assert_int_equal(
	    json_object_del(two, "output_sha256") | json_object_del(two, "command_sha256"), 0);
	assert_true(json_equal(one, two));
	json_decref(one);
	json_decref(two);
	remove_output();
}

/* A null record has a lot like any other, and counts. */
static void null_records_count(void **state) {
	(void)state;
	make_wanted();
	write_input(RECORDS, 3);
	struct generate_request request = make_request();
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
	char *receipt = output_receipt_beside(out);
	(void)read_all(receipt, got);
	free(receipt);
	json_t *root = json_loads(got, 0, NULL);
	json_t *lots = json_object_get(root, "lots");
	assert_int_equal(json_integer_value(json_object_get(lots, "records")), RECORDS);
	assert_int_equal(json_integer_value(json_object_get(lots, "batches")), RECORDS / BATCH);
	json_decref(root);
	remove_output();
	write_input(RECORDS, SIZE_MAX);
}

static void refused(const struct generate_request *request, enum cuttle_status status,
                    const char *words) {
	memset(&error, 0, sizeof error);
	assert_int_equal(run_until(request, SIZE_MAX), status);
	assert_non_null(strstr(error.message, words));
}

/* Without its lots a run does not go on, nor with others. */
static void lost_lots(void **state) {
	(void)state;
	struct generate_request request = make_request();
	char kept[256], changed[256];
	assert_int_equal(run_until(&request, 4), CUTTLE_PARTIAL);
	const size_t size = files_get(lots_file, kept, sizeof kept);
	assert_int_equal(unlink(lots_file), 0);
	refused(&request, CUTTLE_PARTIAL, "the lots of this run are lost");
	assert_false(exists(lots_file));
	// The last digit of the key.
	memcpy(changed, kept, size);
	changed[size - 2] = changed[size - 2] == '0' ? '1' : '0';
	files_put(lots_file, changed, size);
	refused(&request, CUTTLE_PARTIAL, "the lots of this run are lost");
	files_put(lots_file, kept, size / 2);
	refused(&request, CUTTLE_PARTIAL, "the lots of this run are lost");
	files_put(lots_file, "mine\n", 5);
	refused(&request, CUTTLE_USAGE, "is in the way");
	files_put(lots_file, kept, size);
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
	make_wanted();
	// --overwrite begins anew.
	assert_int_equal(run_until(&request, 4), CUTTLE_PARTIAL);
	assert_int_equal(unlink(lots_file), 0);
	request.common.overwrite = true;
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
	(void)read_all(out, got);
	assert_string_equal(got, wanted);
	remove_output();
}

/* The input has other records than the lots were made for. */
static void other_records(void **state) {
	(void)state;
	struct generate_request request = make_request();
	assert_int_equal(run_until(&request, 4), CUTTLE_PARTIAL);
	write_input(RECORDS + 1, SIZE_MAX);
	refused(&request, CUTTLE_INPUT, "was begun with 14 records, and the input has 15");
	write_input(RECORDS, 13);
	refused(&request, CUTTLE_USAGE, "the input is not the one this output was begun with");
	write_input(RECORDS, SIZE_MAX);
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
	remove_output();
	// A null record that no text reads is part of the input all the same.
	write_input(TEXTS * BATCH - 1, SIZE_MAX);
	refused(&request, CUTTLE_INPUT, "N x B = 3 x 2 = 6 are needed");
	write_input(RECORDS, SIZE_MAX);
}

/* Writes records of two kinds, so many of them of the first. */
static void write_kinds(size_t count, size_t first) {
	char lines[RECORDS * 2 * 64] = "";
	for (size_t i = 0; i < count; i++)
		(void)snprintf(lines + strlen(lines), sizeof lines - strlen(lines),
		               "{\"text\":\"Note %zu.\",\"kind\":\"%s\"}\n", i,
		               i < first ? "a" : "b");
	files_put(input, lines, strlen(lines));
}

/* The input is counted, then read. One more, or one of another category, and q is another. */
static void counted_and_then_changed(void **state) {
	(void)state;
	static const struct {
		size_t count, first;
		enum cuttle_status status;
	} cases[] = {
	    {RECORDS, 8, CUTTLE_OK}, {RECORDS, 7, CUTTLE_INPUT}, {RECORDS + 1, 8, CUTTLE_INPUT}};
	static const char *const kind = "kind";
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct generate_request request = make_request();
		struct setup setup;
		struct references references = {0};
		request.category_fields = &kind;
		request.category_field_count = 1;
		request.categories = "a,b";
		request.category_public = true;
		write_kinds(RECORDS, 8);
		assert_int_equal(generate_open(&request, &opened, &setup, &error), CUTTLE_OK);
		write_kinds(cases[i].count, cases[i].first);
		assert_int_equal(references_read(&request, &setup, &references, &error),
		                 cases[i].status);
		if (cases[i].status)
			assert_non_null(strstr(error.message, "other records than when"));
		references_free(&references);
		generate_free(&setup);
	}
	write_input(RECORDS, SIZE_MAX);
}

static void requests(void **state) {
	(void)state;
	struct setup setup;
	struct generate_request request = make_request();
	request.common.unit_key = "who";
	refused(&request, CUTTLE_USAGE, "--unit-key");
	request = make_request();
	request.common.input = "-";
	refused(&request, CUTTLE_USAGE, "a pipe cannot be read twice");
	// Where they cannot be, auto is none. Where they pay, auto has them.
	request.lots = RUN_LOTS_AUTO;
	assert_int_equal(generate_open(&request, &opened, &setup, &error), CUTTLE_OK);
	assert_int_equal(setup.lots.count, 0);
	generate_free(&setup);
	static const struct {
		uint64_t texts;
		enum run_lots lots;
		size_t count;
	} cases[] = {{3, RUN_LOTS_AUTO, 1},
	             {4, RUN_LOTS_AUTO, 0},
	             {7, RUN_LOTS_ON, 1},
	             {3, RUN_LOTS_OFF, 0},
	             {8, RUN_LOTS_ON, 0}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		request = make_request();
		request.texts = cases[i].texts;
		request.lots = cases[i].lots;
		assert_int_equal(generate_open(&request, &opened, &setup, &error), CUTTLE_OK);
		assert_int_equal(setup.lots.count, cases[i].count);
		assert_true(setup.receipt.guarantee.epsilon_exact <= 3);
		generate_free(&setup);
	}
	request.plan.clip = 0.5;
	request.plan.epsilon = (double)NAN;
	request.texts = 3;
	request.lots = RUN_LOTS_AUTO;
	assert_int_equal(generate_open(&request, &opened, &setup, &error), CUTTLE_OK);
	assert_int_equal(setup.lots.count, 0);
	generate_free(&setup);
}

static void read_key(const char *path, char key[65]) {
	char line[256];
	assert_int_equal(files_get(path, line, sizeof line), 165);
	memcpy(key, line + 100, 64);
	key[64] = 0;
}

/* Private runs: each has a key of its own, also the next one under the same name. Whoever kept the
 * file's blocks finds no key in them. */
static void keys_of_runs(void **state) {
	(void)state;
	char first[65], second[65], blocks[256];
	struct generate_request request = make_request();
	request.plan.insecure = false;
	assert_int_equal(run_until(&request, 2), CUTTLE_PARTIAL);
	read_key(lots_file, first);
	assert_int_equal(run_until(&request, 2), CUTTLE_PARTIAL);
	read_key(lots_file, second);
	assert_string_equal(first, second);
	assert_int_equal(link(lots_file, other_lots), 0);
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
	assert_false(exists(lots_file));
	assert_int_equal(files_get(other_lots, blocks, sizeof blocks), 165);
	for (size_t i = 0; i < 165; i++) assert_int_equal(blocks[i], 0);
	assert_int_equal(unlink(other_lots), 0);
	remove_output();
	assert_int_equal(run_until(&request, 2), CUTTLE_PARTIAL);
	read_key(lots_file, second);
	assert_string_not_equal(first, second);
	// Another command in its place removes it, with lots or without.
	request.common.overwrite = true;
	request.lots = RUN_LOTS_OFF;
	assert_int_equal(run_until(&request, 2), CUTTLE_PARTIAL);
	assert_false(exists(lots_file));
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
	remove_output();
}

/* The receipt agrees with itself, and with what the ledger charged. */
static void check_receipt(void) {
	struct attested attested;
	struct evidence evidence;
	char *receipt = output_receipt_beside(out);
	assert_int_equal(attest_open(receipt, &attested, &error), CUTTLE_OK);
	assert_int_equal(evidence_read(&GENERATE_KIND, &attested, &evidence, &error), CUTTLE_OK);
	assert_int_equal(evidence_check(&evidence, NULL, &error), CUTTLE_OK);
	evidence_free(&evidence);
	free(receipt);
}

static void ledgers(void **state) {
	(void)state;
	struct ledger *ledger;
	struct ledger_standing standing;
	struct ledger_dataset dataset = {
	    .name = "notes", .rho = (double)NAN, .epsilon = 7, .delta = 1e-5};
	assert_int_equal(ledger_create(ledger_path, &error), CUTTLE_OK);
	assert_int_equal(ledger_open(ledger_path, &ledger, &error), CUTTLE_OK);
	assert_int_equal(ledger_add(ledger, &dataset, &error), CUTTLE_OK);
	struct generate_request request = make_request();
	request.plan.insecure = false;
	request.common.ledger = ledger_path;
	request.common.dataset = "notes";
	for (int runs = 1; runs <= 2; runs++) {
		assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
		char *receipt = output_receipt_beside(out);
		struct attested attested;
		struct evidence evidence;
		assert_int_equal(attest_open(receipt, &attested, &error), CUTTLE_OK);
		assert_int_equal(evidence_read(&GENERATE_KIND, &attested, &evidence, &error),
		                 CUTTLE_OK);
		assert_int_equal(evidence_check(&evidence, NULL, &error), CUTTLE_OK);
		assert_true(((const struct receipt *)evidence.receipt)->guarantee.accountant ==
		            CUTTLE_EXACT);
		assert_true(((const struct receipt *)evidence.receipt)->ledger.delta == 1e-6);
		assert_true(((const struct receipt *)evidence.receipt)->ledger.rho ==
		            ((const struct receipt *)evidence.receipt)->guarantee.epsilon_exact);
		assert_int_equal(ledger_look(ledger, "notes", &standing, &error), CUTTLE_OK);
		assert_true(standing.in_epsilon && standing.spent == 0);
		assert_true(
		    standing.epsilon_spent >=
		    runs * ((const struct receipt *)evidence.receipt)->guarantee.epsilon_exact);
		evidence_free(&evidence);
		free(receipt);
		remove_output();
	}
	refused(&request, CUTTLE_BUDGET, "remaining 1.");
	// All lines of the input are charged, read or not, and none behind them.
	for (uint64_t line = RECORDS - 1; line <= RECORDS; line++) {
		char name[LEDGER_RUN];
		struct ledger_run found;
		ledger_name_run(name);
		const struct ledger_request more = {.dataset = "notes",
		                                    .run = name,
		                                    .command = "",
		                                    .rho = 2,
		                                    .delta = 1e-6,
		                                    .measure = LEDGER_EPSILON,
		                                    .first = line,
		                                    .count = 1};
		assert_int_equal(ledger_reserve(ledger, &more, true, &found, &error),
		                 line < RECORDS ? CUTTLE_BUDGET : CUTTLE_OK);
	}
	// A run without lots is then charged the same way, unless it is told otherwise.
	request.lots = RUN_LOTS_OFF;
	request.plan.epsilon = 0.5;
	request.charge = RUN_CHARGE_RHO;
	refused(&request, CUTTLE_USAGE, "--charge epsilon");
	request.charge = RUN_CHARGE_AUTO;
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
	remove_output();
	assert_int_equal(ledger_look(ledger, "notes", &standing, &error), CUTTLE_OK);
	assert_true(standing.in_epsilon && standing.epsilon_spent > 6.4 &&
	            standing.epsilon_spent < 7);
	// A data set that was charged in rho goes on in rho, with lots, too.
	(void)snprintf(dataset.name, sizeof dataset.name, "others");
	dataset.rho = (double)NAN;
	assert_int_equal(ledger_add(ledger, &dataset, &error), CUTTLE_OK);
	request.common.dataset = "others";
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
	remove_output();
	request.lots = RUN_LOTS_ON;
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
	check_receipt();
	remove_output();
	assert_int_equal(ledger_look(ledger, "others", &standing, &error), CUTTLE_OK);
	assert_true(!standing.in_epsilon && standing.runs == 2 && standing.spent > 0);
	uint64_t entries;
	char head[HASH_TEXT];
	assert_int_equal(ledger_verify(ledger, NULL, &entries, head, &error), CUTTLE_OK);
	ledger_close(&ledger);
	assert_int_equal(unlink(ledger_path), 0);
}

/* cuttle receipt verify finds each number of the lots that does not follow from the others. */
static void edited_receipts(void **state) {
	(void)state;
	static const struct {
		const char *member;
		double factor;
	} edits[] = {{"records", 0.5},
	             {"records", 2},
	             {"batches", 2},
	             {"batches", 0.5},
	             {"used", 2},
	             {"used", 0.5},
	             {"rows_cap", 0.9},
	             {"rows_cap", 1.1},
	             {"epsilon_if_known", 0.9},
	             {"epsilon_if_known", 1.1},
	             {"delta_if_known", 0.9},
	             {"delta_if_known", 1.1},
	             {"epsilon_if_known", 1}};
	char path[128];
	(void)snprintf(path, sizeof path, "%s/edited", folder);
	make_wanted();
	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
		struct attested attested;
		struct evidence evidence;
		size_t size;
		json_t *root = json_loads(wanted_receipt, 0, NULL),
		       *member = json_object_get(json_object_get(root, "lots"), edits[i].member);
		if (json_is_integer(member))
			(void)json_integer_set(
			    member,
			    (json_int_t)((double)json_integer_value(member) * edits[i].factor));
		else (void)json_real_set(member, json_real_value(member) * edits[i].factor);
		char *bytes = receipt_canonical(root, &size);
		files_put(path, bytes, size);
		free(bytes);
		assert_int_equal(attest_open(path, &attested, &error), CUTTLE_OK);
		assert_int_equal(evidence_read(&GENERATE_KIND, &attested, &evidence, &error),
		                 CUTTLE_OK);
		assert_int_equal(evidence_check(&evidence, NULL, &error),
		                 edits[i].factor == 1 ? CUTTLE_OK : CUTTLE_LEDGER);
		evidence_free(&evidence);
	}
	assert_int_equal(unlink(path), 0);
}

static int prepare_lots(void **state) {
	(void)state;
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(model_path, sizeof model_path, "%s/m.gguf", folder);
	(void)snprintf(input, sizeof input, "%s/in.jsonl", folder);
	(void)snprintf(out, sizeof out, "%s/out.jsonl", folder);
	(void)snprintf(lots_file, sizeof lots_file, "%s.lots", out);
	(void)snprintf(other_lots, sizeof other_lots, "%s/blocks", folder);
	(void)snprintf(ledger_path, sizeof ledger_path, "%s/l", folder);
	write_input(RECORDS, SIZE_MAX);
	return runs_model(model_path, &opened, &error) ? -1 : 0;
}

static int remove_lots(void **state) {
	(void)state;
	static const char *const names[] = {"m.gguf", "in.jsonl"};
	cuttle_model_free(&opened.model);
	return files_remove(folder, names, sizeof names / sizeof *names);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(stopped_anywhere),
	                                   cmocka_unit_test(the_receipt_has_no_lot),
	                                   cmocka_unit_test(null_records_count),
	                                   cmocka_unit_test(lost_lots),
	                                   cmocka_unit_test(other_records),
	                                   cmocka_unit_test(requests),
	                                   cmocka_unit_test(counted_and_then_changed),
	                                   cmocka_unit_test(keys_of_runs),
	                                   cmocka_unit_test(ledgers),
	                                   cmocka_unit_test(edited_receipts)};
	return cmocka_run_group_tests(tests, prepare_lots, remove_lots);
}
