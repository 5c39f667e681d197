// SPDX-License-Identifier: Apache-2.0
// Tests serve/jobs/budgets.c: what the server asks the ledger before a job starts. It fails if a
// data set takes jobs of other units, or more than it has room for; if a charge that was given back
// counts as paid; if many small charges add up to less than they are.
#include "io/ledger/ledger.h"
#include "serve/jobs/budgets.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/cuttle-budgets-XXXXXX", path[64];
static struct cuttle_error error;

static int begin(void **state) {
	(void)state;
	struct ledger *ledger;
	struct ledger_dataset lines = {.name = "lines", .rho = 1, .delta = 1e-6},
	                      owners = {
	                          .name = "owners", .rho = 1, .delta = 1e-6, .unit_key = "who"};
	if (!mkdtemp(folder)) return 1;
	(void)snprintf(path, sizeof path, "%s/ledger", folder);
	lines.epsilon = owners.epsilon = NAN;
	return ledger_create(path, &error) || ledger_open(path, &ledger, &error) ||
	       ledger_add(ledger, &lines, &error) || ledger_add(ledger, &owners, &error) ||
	       (ledger_close(&ledger), 0);
}

static int end(void **state) {
	(void)state;
	char name[96];
	static const char *const endings[] = {"", "-wal", "-shm"};
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		(void)snprintf(name, sizeof name, "%s%s", path, endings[i]);
		(void)unlink(name);
	}
	return rmdir(folder);
}

static enum cuttle_status fits(const char *dataset, const char *key, double rho) {
	const struct budgets_charge charge = {.loss = rho, .lines = 12};
	return budgets_fit(path, dataset, key, &charge, &error);
}

static void a_job_fits_its_data_set(void **state) {
	(void)state;
	assert_int_equal(fits("lines", "", 1), CUTTLE_OK);
	assert_int_equal(fits("lines", "", 1.0000001), CUTTLE_BUDGET);
	assert_int_equal(fits("owners", "who", 1), CUTTLE_OK);
	assert_int_equal(fits("owners", "who", 1.0000001), CUTTLE_BUDGET);
	// A plan for other units would be refused by its run, after it was approved.
	assert_int_equal(fits("lines", "who", 0.1), CUTTLE_USAGE);
	assert_string_equal(error.message, "data set lines counts lines: leave out unit_key");
	assert_int_equal(fits("owners", "", 0.1), CUTTLE_USAGE);
	assert_int_equal(fits("owners", "whom", 0.1), CUTTLE_USAGE);
	assert_int_equal(fits("nobody", "", 0.1), CUTTLE_USAGE);
	// Nothing to charge always fits, in a data set that is there.
	assert_int_equal(fits("lines", "", 0), CUTTLE_OK);
	assert_int_equal(fits("nobody", "", 0), CUTTLE_USAGE);
}

static void a_charge_given_back_is_none(void **state) {
	(void)state;
	struct ledger *ledger;
	struct ledger_run found;
	char run[LEDGER_RUN];
	bool charged;
	ledger_name_run(run);
	const struct ledger_request request = {
	    .dataset = "lines", .run = run, .command = "", .rho = 0.25, .count = 12};
	assert_int_equal(budgets_charged(path, "lines", run, &charged, &error), CUTTLE_OK);
	assert_false(charged);
	assert_int_equal(ledger_open(path, &ledger, &error), CUTTLE_OK);
	assert_int_equal(ledger_reserve(ledger, &request, false, &found, &error), CUTTLE_OK);
	assert_int_equal(budgets_charged(path, "lines", run, &charged, &error), CUTTLE_OK);
	assert_true(charged);
	assert_int_equal(ledger_release(ledger, "lines", run, &error), CUTTLE_OK);
	ledger_close(&ledger);
	assert_int_equal(budgets_charged(path, "lines", run, &charged, &error), CUTTLE_OK);
	assert_false(charged);
}

static void sums_are_not_below(void **state) {
	(void)state;
	struct budgets_charge sum = {.loss = 0.5, .delta = 0.5, .lines = 7};
	const struct budgets_charge small = {.loss = 1e-17, .delta = 1e-17, .lines = 3},
	                            none = {.lines = 9};
	for (int i = 0; i < 1000; i++) budgets_add(&sum, &small);
	assert_true(sum.loss > 0.5 && sum.delta > 0.5);
	assert_int_equal(sum.lines, 7);
	const double loss = sum.loss;
	budgets_add(&sum, &none);
	assert_true(sum.loss == loss);
	assert_int_equal(sum.lines, 9);
}

static void a_quote_is_read(void **state) {
	(void)state;
	struct budgets_charge charge;
	json_t *quote = json_loads("{\"charge\":{\"measure\":\"rdp\",\"order\":3,\"loss\":0.25,"
	                           "\"delta\":null},\"references_needed\":12}",
	                           0, NULL);
	assert_true(budgets_read(quote, &charge));
	assert_true(charge.measure == LEDGER_RDP && charge.order == 3 && charge.loss == 0.25 &&
	            charge.delta == 0 && charge.lines == 12);
	(void)json_object_set_new(json_object_get(quote, "charge"), "measure", json_string("euro"));
	assert_false(budgets_read(quote, &charge));
	(void)json_object_del(quote, "charge");
	assert_false(budgets_read(quote, &charge));
	json_decref(quote);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_job_fits_its_data_set),
	    cmocka_unit_test(a_charge_given_back_is_none),
	    cmocka_unit_test(sums_are_not_below),
	    cmocka_unit_test(a_quote_is_read),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
