// SPDX-License-Identifier: Apache-2.0
// Tests workflow/ballot.c with a ledger and no records. It fails if noise is drawn twice for one
// charge, if answers of another command or input are given, if somebody's file is written over, or
// if journal and key stay when nobody needs them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/output/binding.h"
#include "io/ledger/ledger.h"
#include "tests/support/files.h"
#include "tests/support/runs.h"
#include "workflow/ballot.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ANSWERS = 3 };
static char folder[] = "/tmp/cuttle-ballot-XXXXXX";
static char out[64], journal[80], key[80], name[80], ledger_path[64];
static char command[HASH_TEXT];
static struct cuttle_error error;
static size_t draws;    /* so often noise was drawn */
static int64_t noise;   /* of the next draw */
static int64_t told[8]; /* answers of the last life */

static bool exists(const char *path) {
	return access(path, F_OK) == 0;
}

static void begin_anew(void) {
	struct ledger *ledger;
	struct ledger_dataset dataset = {.name = "notes", .rho = 10, .delta = 1e-6};
	char line[128];
	(void)snprintf(line, sizeof line, "rm -rf %s/*", folder);
	assert_int_equal(system(line), 0);
	assert_int_equal(ledger_create(ledger_path, &error), CUTTLE_OK);
	assert_int_equal(ledger_open(ledger_path, &ledger, &error), CUTTLE_OK);
	assert_int_equal(ledger_add(ledger, &dataset, &error), CUTTLE_OK);
	ledger_close(&ledger);
	draws = 0;
	noise = 100;
}

static void digest_input(void *user, const unsigned char *bytes, char *digest) {
	struct binding_digest state;
	binding_digest_begin(&state, bytes);
	binding_digest_add(&state, user, strlen(user));
	binding_digest_end(&state, digest);
}

static enum cuttle_status draw_noise(void *user, int64_t *answers, struct cuttle_error *ignored) {
	(void)ignored;
	draws++;
	for (size_t i = 0; i < *(size_t *)user; i++) answers[i] = noise++;
	return CUTTLE_OK;
}

static enum cuttle_status (*draw)(void *user, int64_t *answers,
                                  struct cuttle_error *error) = draw_noise;

enum ending { OPENED, TAKEN, DONE };

/* A command's life. */
static enum cuttle_status live(struct ballot_request request, enum ending ending) {
	struct spending spending;
	struct ballot *ballot = NULL;
	struct receipt_ledger charged = {.entry = ""};
	const struct spending_request counted = {
	    .ledger = ledger_path, .dataset = "notes", .output = request.output};
	const struct ledger_request charge = {
	    .command = request.fingerprint, .rho = 0.5, .count = 4};
	enum cuttle_status status = spending_open(&counted, &spending, &error);
	if (!status) status = ballot_open(&request, &spending, &charge, &ballot, &charged, &error);
	if (!status && ending >= TAKEN)
		status = ballot_take(ballot, draw, &request.answers, told, &error);
	if (!status && ending == DONE) {
		status = ballot_finish(ballot, command, &error);
		if (!status) ballot_done(ballot);
	}
	ballot_close(&ballot);
	spending_close(&spending);
	return status;
}

static struct ballot_request make_request(const char *input) {
	return (struct ballot_request){.output = out,
	                               .fingerprint = command,
	                               .answers = ANSWERS,
	                               .digest = digest_input,
	                               .user = (void *)(uintptr_t)input};
}

static void refuses(const struct ballot_request *request, enum cuttle_status status,
                    const char *why) {
	const uint64_t runs = runs_charged(ledger_path);
	const size_t before = draws;
	assert_int_equal(live(*request, DONE), status);
	if (!strstr(error.message, why)) fail_msg("not \"%s\": %s", why, error.message);
	assert_int_equal(runs_charged(ledger_path), runs);
	assert_int_equal(draws, before);
}

static void answers_are_drawn_once(void **state) {
	(void)state;
	const struct ballot_request request = make_request("asked");
	begin_anew();
	assert_int_equal(live(request, TAKEN), CUTTLE_OK);
	assert_true(exists(journal) && exists(key) && exists(name));
	for (int again = 0; again < 2; again++) {
		memset(told, 0, sizeof told);
		assert_int_equal(live(request, again ? DONE : TAKEN), CUTTLE_OK);
		for (int i = 0; i < ANSWERS; i++) assert_int_equal(told[i], 100 + i);
	}
	assert_int_equal(draws, 1);
	assert_int_equal(runs_charged(ledger_path), 1);
	assert_false(exists(journal) || exists(key) || exists(name));
	// The next is another one.
	assert_int_equal(live(request, DONE), CUTTLE_OK);
	assert_int_equal(draws, 2);
	assert_int_equal(runs_charged(ledger_path), 2);
}

/* Answers that are lost are paid again. */
static void lost_answers_are_paid_again(void **state) {
	(void)state;
	static char bytes[1024];
	const struct ballot_request request = make_request("asked");
	begin_anew();
	assert_int_equal(live(request, TAKEN), CUTTLE_OK);
	const size_t size = files_get(journal, bytes, sizeof bytes);
	// The ledger knows that they were there.
	files_put(journal, bytes, size - 1); // torn
	refuses(&request, CUTTLE_LEDGER, "older than what was drawn under its charge");
	assert_int_equal(unlink(journal), 0);
	assert_int_equal(live(request, DONE), CUTTLE_OK);
	assert_int_equal(draws, 2);
	assert_int_equal(runs_charged(ledger_path), 2);
}

static enum cuttle_status draw_and_fail(void *user, int64_t *answers, struct cuttle_error *at) {
	(void)draw_noise(user, answers, at);
	return CUTTLE_NOMEM;
}

/* Stopped between the ledger's entry and its answers, a run has shown nobody anything: it goes on
 * for what it was charged. */
static void stopped_before_its_answers_it_pays_once(void **state) {
	(void)state;
	struct ballot_request request = make_request("asked");
	begin_anew();
	draw = draw_and_fail;
	assert_int_equal(live(request, TAKEN), CUTTLE_NOMEM);
	draw = draw_noise;
	assert_true(exists(journal) && exists(key) && exists(name));
	assert_int_equal(live(request, DONE), CUTTLE_OK);
	assert_int_equal(draws, 2);
	assert_int_equal(runs_charged(ledger_path), 1);
}

static void others_get_no_answers(void **state) {
	(void)state;
	static char bytes[1024], kept[512];
	char other[HASH_TEXT];
	struct ballot_request request = make_request("asked"), changed = request;
	begin_anew();
	assert_int_equal(live(request, TAKEN), CUTTLE_OK);
	const size_t size = files_get(journal, bytes, sizeof bytes);
	changed = make_request("changed");
	refuses(&changed, CUTTLE_USAGE, "are not those that");
	hash_of("another", 7, other);
	changed = request;
	changed.fingerprint = other;
	refuses(&changed, CUTTLE_USAGE, "belongs to another command");
	changed = request;
	changed.answers = ANSWERS + 1;
	refuses(&changed, CUTTLE_INPUT, "is damaged");
	const size_t has = files_get(key, kept, sizeof kept);
	assert_int_equal(unlink(key), 0);
	refuses(&request, CUTTLE_USAGE, "are not those that");
	files_put(key, kept, has);
	assert_int_equal(chmod(key, 0600), 0);
	// None of that took the answers away.
	char now[1024];
	assert_int_equal(files_get(journal, now, sizeof now), size);
	assert_memory_equal(now, bytes, size);
	assert_int_equal(live(request, TAKEN), CUTTLE_OK);
	assert_int_equal(draws, 1);
	// To overwrite is to pay again.
	request.overwrite = true;
	request.user = (void *)(uintptr_t) "changed";
	assert_int_equal(live(request, DONE), CUTTLE_OK);
	assert_int_equal(draws, 2);
	assert_int_equal(runs_charged(ledger_path), 2);
}

static void files_of_somebody_are_left_alone(void **state) {
	(void)state;
	char is[64];
	struct ballot_request request = make_request("asked");
	for (int overwrite = 0; overwrite < 2; overwrite++) {
		request.overwrite = overwrite;
		begin_anew();
		files_put(journal, "mine\n", 5);
		refuses(&request, CUTTLE_USAGE, "is not a journal of cuttle");
		assert_int_equal(files_get(journal, is, sizeof is), 5);
		assert_memory_equal(is, "mine\n", 5);
		assert_int_equal(unlink(journal), 0);
		assert_int_equal(mkfifo(out, 0600), 0);
		refuses(&request, CUTTLE_USAGE, "is not a regular file");
		assert_int_equal(unlink(out), 0);
	}
}

/* Who drew nothing leaves nothing, and standard output keeps nothing. */
static void nothing_is_left(void **state) {
	(void)state;
	struct ballot_request request = make_request("asked");
	begin_anew();
	assert_int_equal(live(request, OPENED), CUTTLE_OK);
	assert_false(exists(journal) || exists(key));
	assert_int_equal(live(request, DONE), CUTTLE_OK);
	assert_int_equal(runs_charged(ledger_path), 1);
	request.output = "-";
	for (uint64_t runs = 2; runs < 4; runs++) {
		assert_int_equal(live(request, DONE), CUTTLE_OK);
		assert_int_equal(draws, runs);
		assert_int_equal(runs_charged(ledger_path), runs);
	}
	assert_false(exists(journal) || exists(key) || exists(name) || exists("-.journal"));
}

static int make_folder(void **state) {
	(void)state;
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(out, sizeof out, "%s/out.json", folder);
	(void)snprintf(journal, sizeof journal, "%s.journal", out);
	(void)snprintf(key, sizeof key, "%s.journal.key", out);
	(void)snprintf(name, sizeof name, "%s.run", out);
	(void)snprintf(ledger_path, sizeof ledger_path, "%s/ledger", folder);
	hash_of("command", 7, command);
	return 0;
}

static int remove_folder(void **state) {
	(void)state;
	char line[64];
	(void)snprintf(line, sizeof line, "rm -rf %s", folder);
	return system(line);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(answers_are_drawn_once),
	    cmocka_unit_test(lost_answers_are_paid_again),
	    cmocka_unit_test(stopped_before_its_answers_it_pays_once),
	    cmocka_unit_test(others_get_no_answers),
	    cmocka_unit_test(files_of_somebody_are_left_alone),
	    cmocka_unit_test(nothing_is_left),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
