// SPDX-License-Identifier: Apache-2.0
// Tests the measure of a data set: io/ledger/ledger.c and io/ledger/chain.c where a data set counts
// Renyi losses at one order. It fails if a charge in rho or at another order is accepted, if a loss
// is rounded to the wrong side, or if the measure can be edited in the file.
#include "tests/io/ledger_cases.h"
#include "tests/support/files.h"

#include "engine/cuttle/budget.h"

#include <math.h>

/* Charges the loss at the order to the lines first to first + 9. Order 0: rho. */
static enum cuttle_status reserve_loss(struct ledger *ledger, unsigned order, double loss,
                                       uint64_t first, struct cuttle_error *error) {
	char run[LEDGER_RUN];
	struct ledger_run found;
	ledger_name_run(run);
	const struct ledger_request request = {.dataset = "notes",
	                                       .run = run,
	                                       .command = COMMAND,
	                                       .rho = loss,
	                                       .measure = order ? LEDGER_RDP : LEDGER_RHO,
	                                       .order = order,
	                                       .first = first,
	                                       .count = 10};
	return ledger_reserve(ledger, &request, false, &found, error);
}

/* The limit in losses is the largest that keeps to the epsilon, at every order. */
static void renyi_limits_keep_to_epsilon(void **state) {
	(void)state;
	struct cuttle_error error;
	double epsilon, loss;
	struct ledger *ledger = fresh(1, "");
	for (unsigned order = 0; order < 20; order++) {
		struct ledger_dataset dataset = {.rho = NAN,
		                                 .epsilon = 20,
		                                 .delta = 1e-6,
		                                 .measure = LEDGER_RDP,
		                                 .order = order};
		(void)snprintf(dataset.name, sizeof dataset.name, "order %u", order);
		const enum cuttle_status status = ledger_add(ledger, &dataset, &error);
		assert_int_equal(status, order < 2 || order > 16 ? CUTTLE_USAGE : CUTTLE_OK);
		if (status) continue;
		assert_int_equal(cuttle_renyi_epsilon(order, dataset.rho, 1e-6, &epsilon, NULL),
		                 CUTTLE_OK);
		assert_true(epsilon <= 20);
		assert_int_equal(cuttle_renyi_epsilon(order, nextafter(dataset.rho, INFINITY), 1e-6,
		                                      &epsilon, NULL),
		                 CUTTLE_OK);
		assert_true(epsilon > 20);
		struct ledger_standing now;
		assert_int_equal(ledger_look(ledger, dataset.name, &now, &error), CUTTLE_OK);
		assert_int_equal(now.dataset.measure, LEDGER_RDP);
		assert_int_equal(now.dataset.order, order);
		assert_true(now.dataset.rho == dataset.rho && now.left == dataset.rho);
	}
	static const double bad[] = {0, -1, NAN, INFINITY, 5e-324};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(cuttle_renyi_epsilon(2, bad[i], 0.5, &epsilon, NULL),
		                 CUTTLE_USAGE);
		assert_int_equal(cuttle_renyi_loss(2, bad[i], 0.5, &loss, NULL), CUTTLE_USAGE);
		assert_int_equal(cuttle_renyi_epsilon(2, 1, bad[i], &epsilon, NULL), CUTTLE_USAGE);
		assert_int_equal(cuttle_renyi_loss(2, 1, bad[i], &loss, NULL), CUTTLE_USAGE);
	}
	assert_int_equal(cuttle_renyi_epsilon(1, 1, 0.5, &epsilon, NULL), CUTTLE_USAGE);
	assert_int_equal(cuttle_renyi_loss(2, 12.4, 1e-6, &loss, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "it must be above 12.4292"));
	ledger_close(&ledger);
	verifies(path);
}

static void renyi_epsilons_round_both_ways(void **state) {
	(void)state;
	// At order 2 and delta 1/4 epsilon is the loss: the other terms are ln 4, ln 2 and ln 2.
	struct ledger_dataset dataset = {
	    .rho = 9, .epsilon = 9, .delta = 0.25, .measure = LEDGER_RDP, .order = 2};
	static const double losses[] = {5e-324, 1e-300, 1e-17, 1e-12, 0.1, 1, 8, 1e9};
	for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
		assert_true(ledger_epsilon(&dataset, losses[i], true) >= losses[i]);
		assert_true(ledger_epsilon(&dataset, losses[i], false) <= losses[i]);
	}
	assert_true(ledger_epsilon(&dataset, 1, true) - ledger_epsilon(&dataset, 1, false) < 1e-11);
	assert_true(ledger_epsilon(&dataset, 0, true) == 0);
	assert_true(ledger_epsilon(&dataset, 9, false) == 9);
	dataset.delta = 1e-6;
	assert_true(fabs(ledger_epsilon(&dataset, 1, true) - 1 + log(4e-6)) < 1e-9);
}

/* One order implies neither zCDP nor another order. */
static void other_measures_are_refused(void **state) {
	(void)state;
	char run[LEDGER_RUN];
	bool same;
	struct ledger_run found;
	struct cuttle_error error;
	struct ledger *ledger = fresh_measure(2, 1, "");
	assert_int_equal(reserve_loss(ledger, 0, 0.25, 0, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "counts Renyi losses at order 2, and this is charged "
	                                      "in rho of zCDP"));
	for (unsigned order = 1; order < 20; order++)
		if (order != 2)
			assert_int_equal(reserve_loss(ledger, order, 0.25, 0, &error),
			                 CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "in Renyi losses at order 19"));
	assert_true(standing(ledger).spent == 0 && standing(ledger).runs == 0);
	assert_int_equal(reserve_loss(ledger, 2, 0.25, 0, &error), CUTTLE_OK);
	ledger_name_run(run);
	struct ledger_request request = {.dataset = "notes",
	                                 .run = run,
	                                 .command = COMMAND,
	                                 .rho = 0.25,
	                                 .measure = LEDGER_RDP,
	                                 .order = 2,
	                                 .count = 10};
	assert_int_equal(ledger_reserve(ledger, &request, false, &found, &error), CUTTLE_OK);
	assert_int_equal(ledger_match(ledger, &request, &found, &same, &error), CUTTLE_OK);
	assert_true(same);
	request.order = 3;
	assert_int_equal(ledger_match(ledger, &request, &found, &same, &error), CUTTLE_USAGE);
	assert_false(same);
	ledger_close(&ledger);
	verifies(path);
	ledger = fresh(1, "");
	assert_int_equal(reserve_loss(ledger, 2, 0.25, 0, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "counts rho of zCDP, and this is charged in Renyi "
	                                      "losses at order 2"));
	assert_true(standing(ledger).spent == 0);
	ledger_close(&ledger);
}

static void renyi_losses_add_up(void **state) {
	(void)state;
	static const char *const names[] = {"Anna", "Berta", "Anna", "Anna", NULL};
	struct ledger_run found;
	struct cuttle_error error;
	struct ledger *ledger = fresh_measure(2, 1, "");
	assert_int_equal(reserve_loss(ledger, 2, 0.75, 0, &error), CUTTLE_OK);
	assert_int_equal(reserve_loss(ledger, 2, 0.75, 10, &error), CUTTLE_OK);
	assert_true(standing(ledger).spent == 0.75);
	assert_int_equal(reserve_loss(ledger, 2, 0.5, 5, &error), CUTTLE_BUDGET);
	assert_non_null(strstr(error.message, "loss asked 0.5, spent 0.75 of 1, remaining 0.25 "));
	assert_int_equal(reserve_loss(ledger, 2, 0.25 - 0x1p-53, 5, &error), CUTTLE_OK);
	// No charge is too small to count: rounded up, it takes all that is left.
	assert_true(standing(ledger).left == 0x1p-53);
	assert_int_equal(reserve_loss(ledger, 2, 5e-324, 5, &error), CUTTLE_OK);
	assert_true(standing(ledger).spent == 1 && standing(ledger).left == 0);
	assert_int_equal(reserve_loss(ledger, 2, 5e-324, 5, &error), CUTTLE_BUDGET);
	ledger_close(&ledger);
	verifies(path);
	// By key: three texts from one record of Anna each cost three times the loss. Of one text
	// from two records of a person nothing is known at this order.
	ledger = fresh_measure(2, 1, "name");
	assert_int_equal(reserve_owners(ledger, 2, 0.25, names, 5, 2, &found, &error),
	                 CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "a text may read one record, not 2"));
	assert_int_equal(reserve_owners(ledger, 2, 0.25, names, 5, 1, &found, &error), CUTTLE_OK);
	assert_true(found.rho == 0.75 && standing(ledger).spent == 0.75);
	assert_int_equal(reserve_owners(ledger, 2, 0.5, names, 1, 1, &found, &error),
	                 CUTTLE_BUDGET);
	assert_int_equal(reserve_owners(ledger, 2, 0.5, names + 1, 1, 1, &found, &error),
	                 CUTTLE_OK);
	assert_int_equal(reserve_loss(ledger, 2, 0.25, 0, &error), CUTTLE_OK); // for everybody
	assert_true(standing(ledger).spent == 1);
	ledger_close(&ledger);
	verifies(path);
}

/* An entry with a right hash whose order is not the data set's makes no sense. */
static void an_entry_of_another_order_is_found(void **state) {
	(void)state;
	char hash[HASH_TEXT];
	struct chain *chain;
	struct charges charges;
	struct ledger_standing now;
	struct cuttle_error error;
	assert_true(charges_of_lines(0, 10, 0.25, &charges));
	for (unsigned order = 0; order < 4; order++) {
		struct ledger *ledger = fresh_measure(2, 1, "");
		ledger_close(&ledger);
		const struct chain_entry entry = {.kind = "reserve",
		                                  .dataset = "notes",
		                                  .run = "00000000000000000000000000000001",
		                                  .command = "",
		                                  .unit_key = "",
		                                  .order = order,
		                                  .rho = 0.25,
		                                  .charges = charges};
		assert_int_equal(chain_open(path, &chain, &error), CUTTLE_OK);
		assert_int_equal(chain_begin(chain, &error), CUTTLE_OK);
		assert_int_equal(chain_walk(chain, NULL, NULL, &error), CUTTLE_OK);
		assert_int_equal(chain_append(chain, &entry, hash, &error), CUTTLE_OK);
		assert_int_equal(chain_end(chain, CUTTLE_OK, &error), CUTTLE_OK);
		chain_close(&chain);
		ledger = open_ledger(path);
		assert_int_equal(ledger_look(ledger, "notes", &now, &error),
		                 order == 2 ? CUTTLE_OK : CUTTLE_LEDGER);
		ledger_close(&ledger);
		assert_int_equal(verify(path, NULL, &error),
		                 order == 2 ? CUTTLE_OK : CUTTLE_LEDGER);
	}
	charges_free(&charges);
}

/* The chain covers what a data set and its charges count. */
static void edits_of_the_measure_are_found(void **state) {
	(void)state;
	static char bytes[1 << 17];
	static const char *const edits[] = {
	    "UPDATE entry SET kind = 'dataset rdp 3' WHERE number = 1",
	    "UPDATE entry SET kind = 'dataset rdp 02' WHERE number = 1",
	    "UPDATE entry SET kind = 'dataset rdp 0' WHERE number = 1",
	    "UPDATE entry SET kind = 'dataset' WHERE number = 1",
	    "UPDATE entry SET kind = 'dataset rdp 4294967298' WHERE number = 1",
	    "UPDATE entry SET kind = 'reserve rdp 3' WHERE number = 2",
	    "UPDATE entry SET kind = 'reserve' WHERE number = 2",
	    "UPDATE entry SET kind = 'dataset rdp 2' WHERE number = 3",
	    "UPDATE entry SET kind = kind || ' rdp 2' WHERE number = 3",
	    "UPDATE entry SET kind = kind || printf('%.40c', 'x') WHERE number = 3",
	};
	struct cuttle_error error = {{0}};
	struct ledger *ledger = fresh_measure(2, 1, "");
	struct ledger_dataset other = {.name = "other", .rho = 1, .delta = 1e-6};
	assert_int_equal(reserve_loss(ledger, 2, 0.5, 0, &error), CUTTLE_OK);
	assert_int_equal(ledger_add(ledger, &other, &error), CUTTLE_OK);
	ledger_close(&ledger);
	int file = open(path, O_RDONLY);
	const ssize_t size = read(file, bytes, sizeof bytes);
	(void)close(file);
	assert_true(size > 4096 && size < (ssize_t)sizeof bytes);
	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
		put_copy(bytes, (size_t)size);
		verifies(copy_path);
		without_triggers(edits[i]);
		assert_int_equal(verify(copy_path, NULL, &error), CUTTLE_LEDGER);
		assert_non_null(strstr(error.message, "not as it was written"));
	}
}

/* ---- charges in epsilon ---------------------------------------------------------------------- */

static struct ledger *fresh_epsilon(double epsilon, double delta, const char *unit_key) {
	struct cuttle_error error = {{0}};
	struct ledger_dataset dataset = {
	    .name = "notes", .rho = NAN, .epsilon = epsilon, .delta = delta};
	(void)strcpy(dataset.unit_key, unit_key);
	remove_ledger(path);
	assert_int_equal(ledger_create(path, &error), CUTTLE_OK);
	struct ledger *ledger = open_ledger(path);
	assert_int_equal(ledger_add(ledger, &dataset, &error), CUTTLE_OK);
	return ledger;
}

static enum cuttle_status reserve_epsilon(struct ledger *ledger, double epsilon, double delta,
                                          uint64_t first, char run[LEDGER_RUN],
                                          struct cuttle_error *error) {
	struct ledger_run found;
	ledger_name_run(run);
	const struct ledger_request request = {.dataset = "notes",
	                                       .run = run,
	                                       .command = COMMAND,
	                                       .rho = epsilon,
	                                       .delta = delta,
	                                       .measure = LEDGER_EPSILON,
	                                       .first = first,
	                                       .count = 10};
	return ledger_reserve(ledger, &request, false, &found, error);
}

/* Four runs of (3, 1e-7) by lots of q = 0.1 are 12 as epsilons, and 11.77 as the rho that they have
 * without lots. Neither kind is read as the other. */
static void epsilons_add_up(void **state) {
	(void)state;
	struct cuttle_error error;
	char run[LEDGER_RUN];
	struct ledger *ledger = fresh_epsilon(12, 1e-6, "");
	for (int n = 0; n < 4; n++)
		assert_int_equal(reserve_epsilon(ledger, 3, 1e-7, 0, run, &error), CUTTLE_OK);
	struct ledger_standing now = standing(ledger);
	assert_true(now.in_epsilon && now.spent == 0 && now.epsilon_spent == 12);
	assert_true(now.epsilon_left == 0 && now.runs == 4);
	assert_int_equal(reserve_epsilon(ledger, 1e-9, 1e-9, 0, run, &error), CUTTLE_BUDGET);
	assert_non_null(strstr(error.message, "spent epsilon 12 of 12, remaining 0"));
	// Other lines have the whole limit, and what is given back is free again.
	assert_int_equal(reserve_epsilon(ledger, 12, 1e-7, 10, run, &error), CUTTLE_OK);
	assert_int_equal(ledger_release(ledger, "notes", run, &error), CUTTLE_OK);
	assert_int_equal(reserve_epsilon(ledger, 12, 1e-7, 9, run, &error), CUTTLE_BUDGET);
	ledger_close(&ledger);
	verifies(path);
	ledger = fresh_epsilon(12, 1e-6, "");
	for (int n = 0; n < 4; n++)
		assert_int_equal(reserve_span(ledger, 0.505974, 0, 10, run, &error), CUTTLE_OK);
	now = standing(ledger);
	assert_false(now.in_epsilon);
	assert_true(fabs(ledger_epsilon(&now.dataset, now.spent, true) - 11.7722) < 1e-3);
	ledger_close(&ledger);
}

/* A data set takes one kind: that of the first run that stands. */
static void kinds_are_not_mixed(void **state) {
	(void)state;
	struct cuttle_error error;
	char run[LEDGER_RUN], other[LEDGER_RUN];
	struct ledger *ledger = fresh_epsilon(8, 1e-6, "");
	assert_int_equal(reserve_span(ledger, 0.5, 0, 10, run, &error), CUTTLE_OK);
	const struct ledger_standing now = standing(ledger);
	assert_true(!now.in_epsilon && now.spent == 0.5);
	assert_int_equal(reserve_epsilon(ledger, 1, 1e-7, 50, other, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "--charge rho"));
	assert_int_equal(ledger_release(ledger, "notes", run, &error), CUTTLE_OK);
	assert_int_equal(reserve_epsilon(ledger, 1, 5e-7, 0, run, &error), CUTTLE_OK);
	assert_int_equal(reserve_span(ledger, 0.5, 50, 10, other, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "--charge epsilon"));
	assert_true(standing(ledger).in_epsilon && standing(ledger).spent == 0);
	// Deltas have a limit of their own.
	assert_int_equal(reserve_epsilon(ledger, 0.1, 6e-7, 5, run, &error), CUTTLE_BUDGET);
	assert_int_equal(reserve_epsilon(ledger, 0.1, 4e-7, 5, run, &error), CUTTLE_OK);
	ledger_close(&ledger);
	verifies(path);
}

static void epsilons_that_are_refused(void **state) {
	(void)state;
	struct cuttle_error error;
	char run[LEDGER_RUN];
	struct ledger *ledger = fresh_epsilon(8, 1e-6, "who");
	assert_int_equal(reserve_epsilon(ledger, 1, 1e-7, 0, run, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "--charge rho"));
	ledger_close(&ledger);
	ledger = fresh_measure(2, 1, "");
	assert_int_equal(reserve_epsilon(ledger, 1, 1e-7, 0, run, &error), CUTTLE_USAGE);
	ledger_close(&ledger);
	ledger = fresh_epsilon(8, 1e-6, "");
	static const double wrong[] = {0, -1, 1, NAN};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(reserve_epsilon(ledger, 1, wrong[i], 0, run, &error),
		                 CUTTLE_USAGE);
		if (wrong[i] < 1)
			assert_int_equal(reserve_epsilon(ledger, wrong[i], 1e-7, 0, run, &error),
			                 CUTTLE_USAGE);
	}
	ledger_close(&ledger);
}

/* ---- entries with right hashes that make no sense -------------------------------------------- */

/* Appends the entry to a copy of the sample, with all hashes right, and looks at its data set. */
static enum cuttle_status append_and_look(const char *bytes, size_t size,
                                          const struct chain_entry *entry) {
	char hash[HASH_TEXT];
	struct chain *chain;
	struct ledger *ledger;
	struct ledger_standing now;
	put_copy(bytes, size);
	assert_int_equal(chain_open(copy_path, &chain, NULL), CUTTLE_OK);
	assert_int_equal(chain_begin(chain, NULL), CUTTLE_OK);
	assert_int_equal(chain_walk(chain, NULL, NULL, NULL), CUTTLE_OK);
	assert_int_equal(chain_append(chain, entry, hash, NULL), CUTTLE_OK);
	assert_int_equal(chain_end(chain, CUTTLE_OK, NULL), CUTTLE_OK);
	chain_close(&chain);
	assert_int_equal(ledger_open(copy_path, &ledger, NULL), CUTTLE_OK);
	const enum cuttle_status status = ledger_look(ledger, entry->dataset, &now, NULL);
	ledger_close(&ledger);
	return status;
}

#define RUN(digit) "0000000000000000000000000000000" digit
#define MARK_HASH "00000000000000000000000000000000000000000000000000000000000000aa"

static struct charges charge_of(double rho, uint64_t first, uint64_t end) {
	struct charges charges;
	assert_true(charges_of_lines(0, 10, rho, &charges));
	memcpy(charges.bytes, &first, sizeof first);
	memcpy(charges.bytes + sizeof first, &end, sizeof end);
	return charges;
}

static void reserve_named(struct ledger *ledger, const char *run) {
	struct ledger_run found;
	const struct ledger_request request = {
	    .dataset = "notes", .run = run, .command = COMMAND, .rho = 0.125, .count = 10};
	assert_int_equal(ledger_reserve(ledger, &request, false, &found, NULL), CUTTLE_OK);
}

/* Run 1 is reserved, run 2 has drawn, run 3 is closed and run 4 was released. */
static size_t make_sample(char *bytes, size_t room) {
	struct ledger *ledger = fresh(1, "");
	struct ledger_dataset keyed = {.name = "keyed", .unit_key = "who", .rho = 1, .delta = 1e-6};
	struct ledger_dataset unspent = {.name = "fresh", .rho = 1, .delta = 1e-6};
	const struct journal_mark mark = {150, MARK_HASH};
	static const char *const runs[] = {RUN("1"), RUN("2"), RUN("3"), RUN("4")};
	assert_int_equal(ledger_add(ledger, &keyed, NULL), CUTTLE_OK);
	assert_int_equal(ledger_add(ledger, &unspent, NULL), CUTTLE_OK);
	for (size_t i = 0; i < 4; i++) reserve_named(ledger, runs[i]);
	assert_int_equal(ledger_draw(ledger, "notes", runs[1], NULL, NULL, NULL), CUTTLE_OK);
	assert_int_equal(
	    ledger_draw(ledger, "notes", runs[1], &(struct journal_mark){0}, &mark, NULL),
	    CUTTLE_OK);
	assert_int_equal(ledger_draw(ledger, "notes", runs[2], NULL, NULL, NULL), CUTTLE_OK);
	assert_int_equal(ledger_finish(ledger, "notes", runs[2], MARK_HASH, NULL), CUTTLE_OK);
	assert_int_equal(ledger_release(ledger, "notes", runs[3], NULL), CUTTLE_OK);
	ledger_close(&ledger);
	return files_get(path, bytes, room);
}

static void entries_that_cannot_follow(void **state) {
	(void)state;
	static char bytes[1 << 17];
	const size_t size = make_sample(bytes, sizeof bytes);
	static const struct {
		const char *kind, *dataset, *run, *command;
		double rho;
		bool decimal, right;
	} cases[] = {
	    {"dataset", "notes", "", "", 2, false, false}, // a second limit
	    {"dataset", "more", "", "", 0, false, false},
	    {"dataset", "more", "", "", -1, false, false},
	    {"dataset", "more", "", "", INFINITY, false, false},
	    {"dataset", "more", "", "", 0x1p-200, true, false}, // no decimal of 24 places
	    {"dataset", "more", "", "", 0.5, true, true},
	    {"draw", "notes", RUN("1"), "", 0, false, true},
	    {"draw", "notes", RUN("1"), "150 " MARK_HASH, 0, false, true},
	    {"draw", "notes", RUN("1"), "0150 " MARK_HASH, 0, false, false},
	    {"draw", "notes", RUN("1"), "150 x" MARK_HASH, 0, false, false},
	    {"draw", "notes", RUN("1"), MARK_HASH, 0, false, false},
	    {"draw", "notes", RUN("2"), "", 0, false, false},
	    {"draw", "notes", RUN("2"), "149 " MARK_HASH, 0, false, false},
	    {"draw", "notes", RUN("2"), "151 " MARK_HASH, 0, false, true},
	    {"draw", "notes", RUN("3"), "", 0, false, false},
	    {"draw", "notes", RUN("3"), "151 " MARK_HASH, 0, false, false},
	    {"draw", "notes", RUN("4"), "", 0, false, false},
	    {"draw", "notes", RUN("5"), "", 0, false, false},
	    {"close", "notes", RUN("1"), MARK_HASH, 0, false, false},
	    {"close", "notes", RUN("2"), MARK_HASH, 0, false, true},
	    {"close", "notes", RUN("2"), MARK_HASH "0", 0, false, false},
	    {"close", "notes", RUN("3"), MARK_HASH, 0, false, false},
	    {"close", "notes", RUN("4"), MARK_HASH, 0, false, false},
	    {"release", "notes", RUN("1"), "", 0, false, true},
	    {"release", "notes", RUN("2"), "", 0, false, false},
	    {"release", "notes", RUN("3"), "", 0, false, false},
	    {"release", "notes", RUN("4"), "", 0, false, false},
	    {"refund", "notes", RUN("2"), "", 0, false, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct chain_entry entry = {.kind = cases[i].kind,
		                                  .dataset = cases[i].dataset,
		                                  .run = cases[i].run,
		                                  .command = cases[i].command,
		                                  .unit_key = "",
		                                  .rho = cases[i].rho,
		                                  .delta = 1e-6,
		                                  .decimal = cases[i].decimal};
		if (append_and_look(bytes, size, &entry) !=
		    (cases[i].right ? CUTTLE_OK : CUTTLE_LEDGER))
			fail_msg("case %zu: %s of %s", i, cases[i].kind, cases[i].run);
	}
}

static void charges_that_make_no_sense(void **state) {
	(void)state;
	static char bytes[1 << 17];
	const size_t size = make_sample(bytes, sizeof bytes);
	static const struct {
		const char *dataset, *run;
		double rho;
		uint64_t first, end;
		size_t cut;
		double delta;
		bool by_key, decimal, right;
	} cases[] = {
	    {"notes", RUN("5"), 0.125, 0, 10, 0, 0, false, false, true},
	    {"notes", RUN("1"), 0.125, 0, 10, 0, 0, false, false, false}, // it was reserved
	    {"none", RUN("5"), 0.125, 0, 10, 0, 0, false, false, false},
	    {"notes", RUN("5"), 0.125, 10, 10, 0, 0, false, false, false},
	    {"notes", RUN("5"), 0.125, 11, 10, 0, 0, false, false, false},
	    {"notes", RUN("5"), 0.125, 0, 10, 1, 0, false, false, false},
	    {"notes", RUN("5"), 0, 0, 10, 0, 0, false, false, false},
	    {"notes", RUN("5"), -0.125, 0, 10, 0, 0, false, false, false},
	    {"notes", RUN("5"), NAN, 0, 10, 0, 0, false, false, false},
	    {"notes", RUN("5"), INFINITY, 0, 10, 0, 0, false, false, false},
	    {"notes", RUN("5"), 0.1, 0, 10, 0, 0, false, true, true},
	    {"notes", RUN("5"), 0x1p-200, 0, 10, 0, 0, false, true, false},
	    {"keyed", RUN("5"), 0.1, 1, 10, 0, 0, true, false, true},
	    {"keyed", RUN("5"), 0.1, 1, 10, 0, 0, true, true, false},
	    {"keyed", RUN("5"), 0.1, 0, 10, 0, 1e-9, false, false,
	     false}, // epsilons of lines alone
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct charges charges = charge_of(cases[i].rho, cases[i].first, cases[i].end);
		charges.size -= cases[i].cut;
		charges.by_key = cases[i].by_key;
		charges.decimal = cases[i].decimal;
		charges.delta = cases[i].delta;
		const struct chain_entry entry = {.kind = "reserve",
		                                  .dataset = cases[i].dataset,
		                                  .run = cases[i].run,
		                                  .command = "",
		                                  .unit_key = "",
		                                  .rho = 0.125,
		                                  .delta = cases[i].delta,
		                                  .decimal = cases[i].decimal,
		                                  .charges = charges};
		if (append_and_look(bytes, size, &entry) !=
		    (cases[i].right ? CUTTLE_OK : CUTTLE_LEDGER))
			fail_msg("charge %zu of %s", i, cases[i].dataset);
		charges.size = CHARGE_BYTES;
		charges_free(&charges);
	}
	// A charge in epsilon beside those in rho: nothing adds both up, so they are over any
	// limit.
	struct charges charges = charge_of(1e-3, 0, 10);
	charges.delta = 1e-9;
	const struct chain_entry mixed = {.kind = "reserve",
	                                  .dataset = "notes",
	                                  .run = RUN("5"),
	                                  .command = "",
	                                  .unit_key = "",
	                                  .rho = 1e-3,
	                                  .delta = 1e-9,
	                                  .charges = charges};
	assert_int_equal(append_and_look(bytes, size, &mixed), CUTTLE_OK);
	assert_int_equal(verify(copy_path, NULL, NULL), CUTTLE_LEDGER);
	charges_free(&charges);
	// Two charges of one owner, or not in order.
	for (int later = 0; later < 2; later++) {
		struct charges two = {.by_key = true, .bytes = calloc(2, CHARGE_BYTES)};
		const double rho = 0.125;
		two.size = 2 * (size_t)CHARGE_BYTES;
		for (size_t i = 0; i < 2; i++) {
			two.bytes[i * CHARGE_BYTES] = (unsigned char)(later ? 2 - i : 7);
			memcpy(two.bytes + i * CHARGE_BYTES + UNIT_NAME, &rho, sizeof rho);
		}
		const struct chain_entry entry = {.kind = "reserve",
		                                  .dataset = "keyed",
		                                  .run = RUN("5"),
		                                  .command = "",
		                                  .unit_key = "",
		                                  .rho = rho,
		                                  .charges = two};
		assert_int_equal(append_and_look(bytes, size, &entry), CUTTLE_LEDGER);
		charges_free(&two);
	}
}

/* How many runs of this epsilon and delta fit. */
static int fill_deltas(double limit, double delta) {
	struct ledger *ledger = fresh(1, "");
	struct ledger_dataset dataset = {
	    .name = "deltas", .rho = NAN, .epsilon = 100, .delta = limit};
	struct ledger_run found;
	char run[LEDGER_RUN];
	int fit = 0;
	assert_int_equal(ledger_add(ledger, &dataset, NULL), CUTTLE_OK);
	for (enum cuttle_status status = CUTTLE_OK; !status; fit += !status) {
		ledger_name_run(run);
		const struct ledger_request request = {.dataset = "deltas",
		                                       .run = run,
		                                       .command = COMMAND,
		                                       .measure = LEDGER_EPSILON,
		                                       .rho = 0.125,
		                                       .delta = delta,
		                                       .count = 10};
		status = ledger_reserve(ledger, &request, false, &found, NULL);
	}
	ledger_close(&ledger);
	verifies(path);
	return fit;
}

/* Deltas add up exactly, and none is charged less than it is: a double that is above the decimal
 * number it stands for counts as the double. */
static void deltas_add_up(void **state) {
	(void)state;
	assert_int_equal(fill_deltas(1e-5, 1e-6), 10);
	assert_int_equal(fill_deltas(1e-6, 1e-7), 10);
	assert_int_equal(fill_deltas(3e-6, 1e-6), 3);
	assert_int_equal(fill_deltas(0x1p-20, 0x1p-23), 8);
	assert_int_equal(fill_deltas(1e-4, 1e-5), 9);
	assert_int_equal(fill_deltas(1e-5, nextafter(1e-6, 1)), 9);
	assert_int_equal(fill_deltas(1e-23, 1e-25), 10); // a unit each
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(deltas_add_up),
	    cmocka_unit_test(entries_that_cannot_follow),
	    cmocka_unit_test(charges_that_make_no_sense),
	    cmocka_unit_test(renyi_limits_keep_to_epsilon),
	    cmocka_unit_test(renyi_epsilons_round_both_ways),
	    cmocka_unit_test(other_measures_are_refused),
	    cmocka_unit_test(renyi_losses_add_up),
	    cmocka_unit_test(an_entry_of_another_order_is_found),
	    cmocka_unit_test(edits_of_the_measure_are_found),
	    cmocka_unit_test(epsilons_add_up),
	    cmocka_unit_test(kinds_are_not_mixed),
	    cmocka_unit_test(epsilons_that_are_refused),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
