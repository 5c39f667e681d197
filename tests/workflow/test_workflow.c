// SPDX-License-Identifier: Apache-2.0
// Tests workflow/ as a server would use it: a request made of values, no options, a model that
// several runs share. It fails if a run prints anything, or if its events come in another order. It
// fails if a stopped run does not go on to the same bytes, or if a refused one tells an event. It
// fails if another of two faults is told first. It fails if where texts end follows from a record,
// is no part of the command, or changes for a run that was begun without stops.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/output/journal.h"
#include "io/ledger/ledger.h"
#include "tests/support/files.h"
#include "tests/support/runs.h"
#include "workflow/generate.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXTS = 3, BATCH = 2, TOKENS = 6, ROOM = 1 << 16 };
static char folder[] = "/tmp/cuttle-workflow-XXXXXX";
static char model_path[64], input[64], examples[64], out[64], other_out[64], ledger_path[64];
static struct setup_model opened;
static struct cuttle_error error;

/* What a run told, a letter for each event: b begin, c begin of a complete one, r reading, t token,
 * x text, e end, p publish. Several readings in a row are one letter. */
static char told[512];
static size_t told_count, tokens_told;
static size_t stop_after; /* tokens after which the run is asked to stop; SIZE_MAX = never */
static char receipt_told[128];

static void note(char letter) {
	if (letter == 'r' && told_count && told[told_count - 1] == 'r') return;
	assert_true(told_count + 1 < sizeof told);
	told[told_count++] = letter;
	told[told_count] = 0;
}
static void note_begin(void *user, bool complete) {
	assert_ptr_equal(user, told);
	note(complete ? 'c' : 'b');
}
static void note_reading(void *user, size_t text) {
	(void)user;
	assert_true(text < TEXTS);
	note('r');
}
static void note_token(void *user) {
	(void)user;
	tokens_told++;
	note('t');
}
static void note_text(void *user) {
	(void)user;
	note('x');
}
static bool ask_stop(void *user) {
	(void)user;
	return tokens_told >= stop_after;
}
static void note_end(void *user) {
	(void)user;
	note('e');
}
static void note_publish(void *user, const char *receipt) {
	(void)user;
	assert_non_null(receipt);
	(void)snprintf(receipt_told, sizeof receipt_told, "%s", receipt);
	note('p');
}
static const struct run_events EVENTS = {.user = told,
                                         .begin = note_begin,
                                         .reading = note_reading,
                                         .token = note_token,
                                         .text = note_text,
                                         .stop = ask_stop,
                                         .end = note_end,
                                         .publish = note_publish};

static struct generate_request make_request(const char *output) {
	struct generate_request request = runs_request(input, TEXTS, BATCH, TOKENS);
	request.common.output = output;
	request.plan.clip = 0.5;
	return request;
}

/* Sends standard output and standard error to a file while the run goes on. Returns the status; the
 * run must have written nothing there. */
static enum cuttle_status run_silently(const struct generate_request *request, size_t tokens) {
	char said[64], bytes[16];
	struct setup setup;
	(void)snprintf(said, sizeof said, "%s/said", folder);
	(void)fflush(NULL);
	const int file = open(said, O_RDWR | O_CREAT | O_TRUNC, 0600), standard = dup(1),
	          errors = dup(2);
	assert_true(file >= 0 && standard >= 0 && errors >= 0);
	(void)dup2(file, 1);
	(void)dup2(file, 2);
	told_count = tokens_told = 0;
	told[0] = receipt_told[0] = 0;
	stop_after = tokens;
	enum cuttle_status status = generate_open(request, &opened, &setup, &error);
	if (!status) status = generate_texts(request, &setup, &EVENTS, &error);
	generate_free(&setup);
	(void)fflush(NULL);
	(void)dup2(standard, 1);
	(void)dup2(errors, 2);
	(void)close(file);
	(void)close(standard);
	(void)close(errors);
	assert_int_equal(files_get(said, bytes, sizeof bytes), 0);
	(void)unlink(said);
	return status;
}

static size_t read_output(const char *path, char *bytes) {
	const size_t size = files_get(path, bytes, ROOM - 1);
	bytes[size] = 0;
	assert_true(size > 0);
	return size;
}

static void remove_output(const char *path) {
	static const char *const endings[] = {"", ".journal", ".journal.key", ".run"};
	char name[128];
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		(void)snprintf(name, sizeof name, "%s%s", path, endings[i]);
		(void)unlink(name);
	}
	char *receipt = output_receipt_beside(path);
	assert_non_null(receipt);
	(void)unlink(receipt);
	free(receipt);
}

/* Two runs over one model, in one process, give the same bytes; a third finds its work done. */
static void runs_share_a_model(void **state) {
	(void)state;
	static char first[ROOM], second[ROOM];
	struct generate_request request = make_request(out);
	assert_int_equal(run_silently(&request, SIZE_MAX), CUTTLE_OK);
	assert_int_equal(tokens_told, TEXTS * TOKENS);
	// Each text reads, draws its tokens and is told; then the run ends and publishes.
	assert_true(told[0] == 'b' && told[1] == 'r' && told[2] == 't');
	assert_string_equal(told + told_count - 3, "xep");
	assert_non_null(strstr(receipt_told, ".receipt.json"));
	request.common.output = other_out;
	assert_int_equal(run_silently(&request, SIZE_MAX), CUTTLE_OK);
	assert_int_equal(read_output(out, first), read_output(other_out, second));
	assert_string_equal(first, second);
	assert_int_equal(run_silently(&request, SIZE_MAX), CUTTLE_OK);
	assert_string_equal(told, "c");
	remove_output(out);
	remove_output(other_out);
}

/* A run that is asked to stop says so, tells its end, and goes on to the same bytes. */
static void stopped_runs_go_on(void **state) {
	(void)state;
	static char whole[ROOM], pieces[ROOM];
	struct generate_request request = make_request(out);
	assert_int_equal(run_silently(&request, SIZE_MAX), CUTTLE_OK);
	request.common.output = other_out;
	size_t drawn = 0;
	for (int tries = 0; tries < TEXTS * TOKENS; tries++) {
		const enum cuttle_status status = run_silently(&request, 4);
		drawn += tokens_told;
		if (!status) break;
		assert_int_equal(status, CUTTLE_PARTIAL);
		assert_string_equal(error.message, "stopped; the same command continues from here");
		assert_int_equal(tokens_told, 4);
		assert_int_equal(told[told_count - 1], 'e');
		assert_int_equal(access(other_out, F_OK), -1);
	}
	// Each token is told once: by the run that drew it.
	assert_int_equal(drawn, TEXTS * TOKENS);
	assert_int_equal(read_output(out, whole), read_output(other_out, pieces));
	assert_string_equal(whole, pieces);
	remove_output(out);
	remove_output(other_out);
}

/* A run that the ledger refuses, or that has too few records, ends before any event. */
static void refusals_come_first(void **state) {
	(void)state;
	struct ledger *ledger;
	struct ledger_dataset dataset = {.name = "notes", .rho = 1e-6, .delta = 1e-6};
	assert_int_equal(ledger_create(ledger_path, &error), CUTTLE_OK);
	assert_int_equal(ledger_open(ledger_path, &ledger, &error), CUTTLE_OK);
	assert_int_equal(ledger_add(ledger, &dataset, &error), CUTTLE_OK);
	ledger_close(&ledger);
	struct generate_request request = make_request(out);
	request.plan.insecure = false;
	request.common.ledger = ledger_path;
	request.common.dataset = "notes";
	assert_int_equal(run_silently(&request, SIZE_MAX), CUTTLE_BUDGET);
	assert_string_equal(told, "");
	assert_int_equal(access(out, F_OK), -1);
	request.common.dataset = "letters";
	assert_int_equal(run_silently(&request, SIZE_MAX), CUTTLE_USAGE);
	request.common.ledger = NULL;
	request.texts = TEXTS + 1;
	assert_int_equal(run_silently(&request, SIZE_MAX), CUTTLE_INPUT);
	assert_string_equal(told, "");
	remove_output(out);
	(void)unlink(ledger_path);
}

/* Writes records, and an example without a line break. */
static void put_stop_files(const char *record) {
	char lines[TEXTS * BATCH * 64] = "";
	for (int i = 0; i < TEXTS * BATCH; i++)
		(void)snprintf(lines + strlen(lines), sizeof lines - strlen(lines),
		               "{\"text\":\"%s\"}\n", record);
	files_put(input, lines, strlen(lines));
	(void)snprintf(lines, sizeof lines, "{\"text\":\"A plain example.\"}\n");
	files_put(examples, lines, strlen(lines));
}

/* What auto finds follows from the public examples, and is a part of the command. */
static void examples_say_where_texts_end(void **state) {
	(void)state;
	static const char *const records[] = {"One line.", "Two\\nlines.", "A\\n\\nblank one.", ""};
	static const char *const none[] = {"none"}, *const line[] = {"\\n"};
	char first[HASH_TEXT] = "";
	struct setup setup;
	struct generate_request request = make_request(out);
	request.public_examples = examples;
	for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
		put_stop_files(records[i]);
		assert_int_equal(generate_open(&request, &opened, &setup, &error), CUTTLE_OK);
		const struct cuttle_stops *stops = &setup.receipt.stops;
		assert_true(stops->given && stops->count == 2);
		assert_string_equal(stops->strings[0], "\n");
		assert_string_equal(stops->strings[1], "\n###");
		if (!i) memcpy(first, setup.fingerprint, sizeof first);
		assert_string_equal(setup.fingerprint, first);
		generate_free(&setup);
	}
	assert_int_equal(run_silently(&request, 4), CUTTLE_PARTIAL);
	request.common.stop_count = 1;
	for (int i = 0; i < 2; i++) {
		request.common.stops = i ? line : none;
		assert_int_equal(run_silently(&request, SIZE_MAX), CUTTLE_USAGE);
		assert_non_null(strstr(error.message, "belongs to another command"));
	}
	request.common.stop_count = 0;
	assert_int_equal(run_silently(&request, SIZE_MAX), CUTTLE_OK);
	remove_output(out);
}

/* A journal or a receipt of the same command, but without stops: as older versions wrote them. */
static void older_runs_go_on(void **state) {
	(void)state;
	struct setup setup;
	struct generate_request request = make_request(out);
	request.public_examples = examples;
	put_stop_files("One line.");
	assert_int_equal(generate_open(&request, &opened, &setup, &error), CUTTLE_OK);
	setup.receipt.stops.given = false;
	const struct receipt_command command = {.input = input,
	                                        .text_field = "text",
	                                        .input_format = "auto",
	                                        .output_format = "jsonl",
	                                        .insecure_seed = 11};
	char older[HASH_TEXT], now[HASH_TEXT], journal_path[80];
	memcpy(now, setup.fingerprint, sizeof now);
	assert_true(receipt_fingerprint(&setup.receipt, &command, older));
	generate_free(&setup);
	(void)snprintf(journal_path, sizeof journal_path, "%s.journal", out);
	for (int stands = 0; stands < 2; stands++) {
		struct journal *journal;
		const struct journal_owner owner = {.fingerprint = stands ? older : now,
		                                    .input = older};
		assert_int_equal(journal_open(journal_path, &journal, &error), CUTTLE_OK);
		assert_int_equal(journal_restart(journal, &owner), 0);
		assert_int_equal(journal_append(journal, 0, 0, 65), 0);
		journal_close(&journal);
		assert_int_equal(generate_open(&request, &opened, &setup, &error), CUTTLE_OK);
		assert_string_equal(setup.fingerprint, stands ? older : now);
		assert_int_equal(setup.receipt.stops.given, !stands);
		// The plan's prompts are those of the receipt.
		assert_int_equal(setup_prompts(&request, &setup, 0).stops.given, !stands);
		generate_free(&setup);
	}
	// Who names a rule means another command.
	static const char *const autos[] = {"auto"};
	request.common.stops = autos;
	request.common.stop_count = 1;
	assert_int_equal(generate_open(&request, &opened, &setup, &error), CUTTLE_OK);
	assert_string_equal(setup.fingerprint, now);
	generate_free(&setup);
	remove_output(out);
}

static void wrong_words_of_stop(void **state) {
	(void)state;
	static const char *const words[][2] = {
	    {"none", "auto"}, {"", NULL}, {"a\\b", NULL}, {"\xff", NULL}, {"a\\", NULL}};
	static const char *const right[] = {"auto", "a\\n\\t\\\\b"};
	struct stop_choice choice;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		assert_int_equal(stop_choice_make(words[i], 1 + (words[i][1] != NULL), NULL, 0,
		                                  true, &choice, &error),
		                 CUTTLE_USAGE);
		assert_memory_equal(error.message, "--stop", 6);
		stop_choice_free(&choice);
	}
	assert_int_equal(stop_choice_make(right, 2, NULL, 0, true, &choice, &error), CUTTLE_OK);
	assert_int_equal(choice.stops.count, 2);
	assert_string_equal(choice.all[0], "a\n\t\\b");
	assert_string_equal(choice.all[1], "\n###");
	stop_choice_free(&choice);
}

/* A request with two faults is told the first in the order of the checks. */
static void contradictions_have_an_order(void **state) {
	(void)state;
	struct generate_request request = make_request("-");
	assert_int_equal(generate_check(&request, &error), CUTTLE_OK);
	static const char *const messages[] = {
	    "--sign: there is no receipt to sign; give --receipt FILE",
	    "--num-per-category needs --category-field FIELD",
	    "--unit-key: must be 1 to 128 bytes",
	    "--ledger needs --dataset NAME, the data set in it",
	    "--chat-format needs --template instruct",
	    "--prompt-public and --prompt-private go together",
	};
	for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
		// From the last check to the first: each new fault hides those before it.
		if (i == 0) request.common.sign = "key";
		else if (i == 1) request.texts_per_share = 1;
		else if (i == 2) request.common.unit_key = "";
		else if (i == 3) request.common.ledger = "ledger";
		else if (i == 4) request.plan.chat_format = "chatml";
		else request.prompt_public = "prompt";
		assert_int_equal(generate_check(&request, &error), CUTTLE_USAGE);
		assert_string_equal(error.message, messages[i]);
	}
}

/* The model's path is only compared: no run may write over it. */
static void paths_that_collide(void **state) {
	(void)state;
	struct generate_request request = make_request(model_path);
	assert_int_equal(generate_paths(&request, &error), CUTTLE_OK);
	request.common.model = model_path;
	assert_int_equal(generate_paths(&request, &error), CUTTLE_USAGE);
	request.common.output = out;
	assert_int_equal(generate_paths(&request, &error), CUTTLE_OK);
	// Names of foreign formats come after the paths, the input's before that of the examples.
	request.public_examples = "examples.xlsx";
	assert_int_equal(generate_paths(&request, &error), CUTTLE_INPUT);
	assert_non_null(strstr(error.message, "examples.xlsx is a workbook"));
	request.common.input = "notes.jsonl.gz";
	assert_int_equal(generate_paths(&request, &error), CUTTLE_INPUT);
	assert_non_null(strstr(error.message, "notes.jsonl.gz is compressed by gzip"));
	request.common.receipt = "notes.jsonl.gz";
	assert_int_equal(generate_paths(&request, &error), CUTTLE_USAGE);
	request.common.input = request.common.receipt = input;
	assert_int_equal(generate_paths(&request, &error), CUTTLE_USAGE);
}

static int prepare_workflow(void **state) {
	(void)state;
	char lines[TEXTS * BATCH * 64] = "";
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(model_path, sizeof model_path, "%s/m.gguf", folder);
	(void)snprintf(input, sizeof input, "%s/in.jsonl", folder);
	(void)snprintf(examples, sizeof examples, "%s/ex.jsonl", folder);
	(void)snprintf(out, sizeof out, "%s/one.jsonl", folder);
	(void)snprintf(other_out, sizeof other_out, "%s/two.jsonl", folder);
	(void)snprintf(ledger_path, sizeof ledger_path, "%s/l", folder);
	for (int i = 0; i < TEXTS * BATCH; i++)
		(void)snprintf(lines + strlen(lines), sizeof lines - strlen(lines),
		               "{\"text\":\"Note %d: a gardener who coughs.\"}\n", i);
	files_put(input, lines, strlen(lines));
	return runs_model(model_path, &opened, &error) ? -1 : 0;
}

static int remove_workflow(void **state) {
	(void)state;
	static const char *const names[] = {"m.gguf", "in.jsonl", "ex.jsonl", "one.jsonl",
	                                    "two.jsonl"};
	cuttle_model_free(&opened.model);
	return files_remove(folder, names, sizeof names / sizeof *names);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(runs_share_a_model),  cmocka_unit_test(stopped_runs_go_on),
	    cmocka_unit_test(refusals_come_first), cmocka_unit_test(contradictions_have_an_order),
	    cmocka_unit_test(paths_that_collide),  cmocka_unit_test(examples_say_where_texts_end),
	    cmocka_unit_test(older_runs_go_on),    cmocka_unit_test(wrong_words_of_stop)};
	return cmocka_run_group_tests(tests, prepare_workflow, remove_workflow);
}
