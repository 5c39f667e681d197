// SPDX-License-Identifier: Apache-2.0
// Walks workflow/run.c with a system that is none: it fails at every step in turn, and looks at
// ledger and files whenever it is called. It fails if a step comes before what it follows from, if
// anything is drawn or published without a charge, if a run that failed counts as done, if a
// complete one draws, or if the state is not freed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/ledger/ledger.h"
#include "tests/support/files.h"
#include "workflow/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXTS = 2, STEPS = 3, MOST_CALLS = 16 };
static char folder[] = "/tmp/cuttle-system-XXXXXX";
static char out[64], receipt_path[80], ledger_path[64];
static char command[HASH_TEXT];
static struct cuttle_error error;

struct fake {
	struct run run;           /* first: it is what the functions of run.h are told */
	char calls[MOST_CALLS];   /* a letter each, in their order */
	char fails;               /* the letter of the call that fails; 0 = none */
	enum cuttle_status wrong; /* what it answers */
	size_t tokens;            /* drawn by this process */
	size_t most;              /* of them, before the caller says stop */
	double rho;               /* that it costs; 0 = 0.5 */
	const char *dataset;      /* NULL = the one that there is */
	bool free;                /* there is nothing to pay for */
	bool again;               /* it was begun before */
	bool loses_ledger;        /* while it draws */
	bool blocks_receipt;      /* a folder stands where it goes */
};

/* ---- what stands ----------------------------------------------------------------------------- */

static bool stands(const char *ending) {
	char path[96];
	(void)snprintf(path, sizeof path, "%s%s", out, ending);
	return access(path, F_OK) == 0;
}

struct entries {
	size_t reserved;
	size_t drawn;
	size_t closed;
};

static enum cuttle_status count_entry(void *user, const struct chain_entry *entry) {
	struct entries *entries = user;
	entries->reserved += !strcmp(entry->kind, "reserve");
	entries->drawn += !strcmp(entry->kind, "draw");
	entries->closed += !strcmp(entry->kind, "close");
	return CUTTLE_OK;
}

static struct entries read_entries(void) {
	struct ledger *ledger;
	struct entries entries = {0};
	struct cuttle_error ignored;
	assert_int_equal(ledger_open(ledger_path, &ledger, &ignored), CUTTLE_OK);
	assert_int_equal(ledger_walk(ledger, NULL, count_entry, &entries, &ignored), CUTTLE_OK);
	ledger_close(&ledger);
	return entries;
}

static void nothing_is_published(void) {
	assert_false(stands(""));
	assert_int_not_equal(access(receipt_path, F_OK), 0);
}

static void nothing_is_begun(void) {
	nothing_is_published();
	assert_false(stands(".journal"));
	assert_int_equal(read_entries().reserved, 0);
}

static void begin_anew(void) {
	char line[128];
	struct ledger *ledger;
	struct ledger_dataset dataset = {.name = "notes", .rho = 1, .delta = 1e-6};
	(void)snprintf(line, sizeof line, "rm -rf %s/*", folder);
	assert_int_equal(system(line), 0);
	assert_int_equal(ledger_create(ledger_path, &error), CUTTLE_OK);
	assert_int_equal(ledger_open(ledger_path, &ledger, &error), CUTTLE_OK);
	assert_int_equal(ledger_add(ledger, &dataset, &error), CUTTLE_OK);
	ledger_close(&ledger);
}

/* ---- the system ------------------------------------------------------------------------------ */

static enum cuttle_status note_call(struct fake *fake, char letter) {
	const size_t count = strlen(fake->calls);
	assert_true(count + 1 < MOST_CALLS);
	fake->calls[count] = letter;
	if (fake->fails != letter) return CUTTLE_OK;
	(void)snprintf(error.message, sizeof error.message, "%c fails", letter);
	return fake->wrong;
}

/* Before the charge. */
static void nothing_is_paid(const struct fake *fake) {
	if (!fake->again) nothing_is_begun();
}

static enum cuttle_status fake_open(void *state, struct cuttle_error *at) {
	(void)at;
	nothing_is_paid(state);
	return note_call(state, 'o');
}

static enum cuttle_status fake_read(void *state, struct cuttle_error *at) {
	(void)at;
	nothing_is_paid(state);
	return note_call(state, 'r');
}

static void fake_terms(void *state, struct system_terms *terms) {
	struct fake *fake = state;
	nothing_is_paid(fake);
	(void)note_call(fake, 't');
	terms->output = (struct output_request){.fingerprint = command,
	                                        .format = OUTPUT_JSONL,
	                                        .texts = TEXTS,
	                                        .private_output = true,
	                                        .digest = files_digest};
	terms->charge =
	    (struct ledger_request){.command = command, .rho = fake->rho, .count = TEXTS};
	terms->free = fake->free;
}

/* From here on the run is charged, once, and its journal there. */
static void all_is_paid(const struct fake *fake) {
	const struct entries entries = read_entries();
	assert_int_equal(entries.reserved, !fake->free);
	assert_int_equal(entries.closed, 0);
	assert_true(stands(".journal"));
	assert_int_equal(stands(".run"), !fake->free);
	nothing_is_published();
}

static enum cuttle_status fake_take(void *state, struct cuttle_error *at) {
	(void)at;
	all_is_paid(state);
	return note_call(state, 'k');
}

/* Draws what the journal lacks. */
static enum cuttle_status draw_fake_text(struct fake *fake, size_t index) {
	const struct cuttle_text text = {
	    .index = index, .batch = index, .text = "a", .size = 1, .tokens = STEPS};
	const int32_t *tokens;
	const size_t had = run_drawn(fake, index, &tokens);
	for (uint32_t step = (uint32_t)had; step < STEPS; step++) {
		if (run_token(fake, index, step, (int32_t)step) || run_stop(fake))
			return CUTTLE_PARTIAL;
		assert_true(fake->free || read_entries().drawn > 0);
	}
	return run_text(fake, &text) ? CUTTLE_PARTIAL : CUTTLE_OK;
}

static enum cuttle_status fake_draw(void *state, struct cuttle_error *at) {
	struct fake *fake = state;
	(void)at;
	all_is_paid(fake);
	enum cuttle_status status = note_call(fake, 'd');
	if (fake->loses_ledger) assert_int_equal(unlink(ledger_path), 0);
	for (size_t i = 0; i < TEXTS && !status; i++) status = draw_fake_text(fake, i);
	return status;
}

/* The output is sealed and its charge closed, and nobody has seen it. */
static json_t *fake_receipt(void *state, const struct filter_counts *counts, const char *sha256) {
	struct fake *fake = state;
	nothing_is_published();
	assert_int_equal(read_entries().closed, !fake->free);
	assert_int_equal(counts->drawn, TEXTS);
	if (fake->blocks_receipt) assert_int_equal(mkdir(receipt_path, 0700), 0);
	return note_call(fake, 'p')
	           ? NULL
	           : json_pack("{s:s, s:s}", "command_sha256", command, "output_sha256", sha256);
}

static void fake_free(void *state) {
	struct fake *fake = state;
	(void)note_call(fake, 'f');
	assert_null(fake->run.delivery.output);
	assert_null(fake->run.spending.path);
}

static const struct system FAKE = {.open = fake_open,
                                   .read = fake_read,
                                   .terms = fake_terms,
                                   .take = fake_take,
                                   .draw = fake_draw,
                                   .receipt = fake_receipt,
                                   .free = fake_free};

/* ---- what it tells --------------------------------------------------------------------------- */

static void on_begin(void *user, bool complete) {
	(void)note_call(user, complete ? 'c' : 'b');
	if (!complete) all_is_paid(user);
}

static void on_reading(void *user, size_t text) {
	(void)user, (void)text;
}

static void on_token(void *user) {
	((struct fake *)user)->tokens++;
}

static void on_text(void *user) {
	(void)user;
}

static bool on_stop(void *user) {
	const struct fake *fake = user;
	return fake->tokens >= fake->most;
}

static void on_end(void *user) {
	(void)note_call(user, 'e');
}

static void on_publish(void *user, const char *path) {
	(void)note_call(user, 'P');
	assert_string_equal(path, receipt_path);
	assert_int_equal(access(path, F_OK), 0);
	assert_true(stands(""));
	assert_false(stands(".journal"));
}

/* Runs it, and compares what was called. */
static enum cuttle_status run_fake(struct fake *fake, const char *calls) {
	const struct run_events events = {.user = fake,
	                                  .begin = on_begin,
	                                  .reading = on_reading,
	                                  .token = on_token,
	                                  .text = on_text,
	                                  .stop = on_stop,
	                                  .end = on_end,
	                                  .publish = on_publish};
	const struct common_request request = {.output = out,
	                                       .ledger = ledger_path,
	                                       .dataset = fake->dataset ? fake->dataset : "notes"};
	if (!fake->rho) fake->rho = 0.5;
	if (!fake->most) fake->most = SIZE_MAX;
	fake->run = (struct run){.request = &request, .events = &events, .counted = true};
	const enum cuttle_status status = run_system(&FAKE, fake, &error);
	assert_string_equal(fake->calls, calls);
	return status;
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void a_run_is_published(void **state) {
	(void)state;
	begin_anew();
	struct fake fake = {0};
	assert_int_equal(run_fake(&fake, "ortkbdepPf"), CUTTLE_OK);
	assert_int_equal(fake.tokens, TEXTS * STEPS);
	assert_false(stands(".run"));
	assert_int_equal(read_entries().closed, 1);
}

/* Of a complete run the input is read, as it is bound to that; nothing is drawn, taken or paid. */
static void a_complete_run_draws_nothing(void **state) {
	(void)state;
	a_run_is_published(NULL);
	struct fake fake = {.again = true};
	assert_int_equal(run_fake(&fake, "ortcf"), CUTTLE_OK);
	assert_int_equal(fake.tokens, 0);
	assert_int_equal(read_entries().reserved, 1);
}

/* What fails before the charge leaves nothing; what fails behind it leaves the charge, its name and
 * the journal, if there is something in it. */
static void each_step_may_fail(void **state) {
	static const struct {
		char letter;
		const char *calls;
		bool charged;
	} steps[] = {{'o', "of", false},
	             {'r', "orf", false},
	             {'k', "ortkf", true},
	             {'d', "ortkbdef", true},
	             {'p', "ortkbdepf", true}};
	(void)state;
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		begin_anew();
		struct fake fake = {.fails = steps[i].letter, .wrong = CUTTLE_INPUT};
		const enum cuttle_status wanted =
		    steps[i].letter == 'p' ? CUTTLE_NOMEM : CUTTLE_INPUT;
		assert_int_equal(run_fake(&fake, steps[i].calls), wanted);
		nothing_is_published();
		assert_int_equal(read_entries().reserved, steps[i].charged);
		assert_int_equal(stands(".run"), steps[i].charged);
		assert_int_equal(stands(".journal"), steps[i].letter == 'p');
	}
}

/* A charge that is refused is no run: it takes nothing, begins nothing and draws nothing. */
static void nothing_is_drawn_without_a_charge(void **state) {
	(void)state;
	begin_anew();
	struct fake fake = {.rho = 2};
	assert_int_equal(run_fake(&fake, "ortf"), CUTTLE_BUDGET);
	assert_int_equal(fake.tokens, 0);
	nothing_is_begun();
	assert_false(stands(".run"));
}

/* An unknown data set ends the run before anything is opened or read. */
static void the_data_set_comes_first(void **state) {
	(void)state;
	begin_anew();
	struct fake fake = {.dataset = "others"};
	assert_int_equal(run_fake(&fake, "f"), CUTTLE_USAGE);
	nothing_is_begun();
}

/* A run that is stopped goes on with the charge that it had. */
static void a_stopped_run_goes_on(void **state) {
	(void)state;
	begin_anew();
	struct fake fake = {.most = 2}, rest = {.again = true};
	assert_int_equal(run_fake(&fake, "ortkbdef"), CUTTLE_PARTIAL);
	assert_non_null(strstr(error.message, "the same command continues from here"));
	assert_int_equal(fake.tokens, 2);
	assert_true(stands(".run"));
	assert_true(stands(".journal"));
	nothing_is_published();
	assert_int_equal(run_fake(&rest, "ortkbdepPf"), CUTTLE_OK);
	assert_int_equal(rest.tokens, TEXTS * STEPS - 2);
	assert_int_equal(read_entries().reserved, 1);
	assert_false(stands(".run"));
}

/* The ledger goes while the run draws: no token is kept that it does not know of. */
static void the_ledger_may_go(void **state) {
	(void)state;
	begin_anew();
	struct fake fake = {.loses_ledger = true};
	assert_int_equal(run_fake(&fake, "ortkbdef"), CUTTLE_LEDGER);
	assert_int_equal(fake.tokens, 0);
	nothing_is_published();
}

/* A receipt that cannot be put in place: the output is not there either. */
static void a_publication_may_fail(void **state) {
	(void)state;
	begin_anew();
	struct fake fake = {.blocks_receipt = true};
	assert_int_equal(run_fake(&fake, "ortkbdepf"), CUTTLE_PARTIAL);
	assert_false(stands(""));
	assert_true(stands(".run"));
	assert_true(stands(".journal"));
}

/* What has nothing to pay for asks no ledger, and leaves no name. */
static void what_is_free_is_not_charged(void **state) {
	(void)state;
	begin_anew();
	struct fake fake = {.free = true};
	assert_int_equal(run_fake(&fake, "ortkbdepPf"), CUTTLE_OK);
	assert_int_equal(read_entries().reserved, 0);
}

static int make_folder(void **state) {
	(void)state;
	if (!mkdtemp(folder)) return 1;
	(void)snprintf(out, sizeof out, "%s/out.jsonl", folder);
	(void)snprintf(receipt_path, sizeof receipt_path, "%s/out.receipt.json", folder);
	(void)snprintf(ledger_path, sizeof ledger_path, "%s/spent.db", folder);
	hash_of("command", strlen("command"), command);
	return 0;
}

static int remove_folder(void **state) {
	char line[128];
	(void)state;
	(void)snprintf(line, sizeof line, "rm -rf %s", folder);
	return system(line);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_run_is_published),
	    cmocka_unit_test(a_complete_run_draws_nothing),
	    cmocka_unit_test(each_step_may_fail),
	    cmocka_unit_test(nothing_is_drawn_without_a_charge),
	    cmocka_unit_test(the_data_set_comes_first),
	    cmocka_unit_test(a_stopped_run_goes_on),
	    cmocka_unit_test(the_ledger_may_go),
	    cmocka_unit_test(a_publication_may_fail),
	    cmocka_unit_test(what_is_free_is_not_charged),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
