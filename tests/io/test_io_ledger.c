// SPDX-License-Identifier: Apache-2.0
// Tests io/ledger, pages and units within one process. It fails if a charge that breaks a limit or
// a rule is accepted, if rounding loses a part of a charge, or if an edit of the file is not found.
// CUTTLE_TEST_BYTES=N flips every N-th byte of the file (default 29; 1: every byte).
#include "tests/io/ledger_cases.h"

#include <float.h>
#include <malloc.h>
#include <math.h>
#include <sodium.h>
#include <sys/stat.h>

/* ---- numbers --------------------------------------------------------------------------------- */

static void sums_never_lose(void **state) {
	(void)state;
	assert_true(units_add(1, 5e-324) == nextafter(1, 2));
	assert_true(units_add(5e-324, 1e300) == nextafter(1e300, INFINITY));
	assert_true(units_add(5e-324, 5e-324) == 1e-323);
	assert_true(units_add(0.25, 0.5) == 0.75);
	assert_true(isinf(units_add(DBL_MAX, DBL_MAX)));
	assert_true(units_multiply(9, 0.125) == 1.125);
	assert_true(units_multiply(3, 0.1) >= 3 * 0.1L &&
	            units_multiply(3, 0.1) < 0.3000000000000001);
	assert_true(units_multiply(49, 5e-324) == 49 * 5e-324);
	assert_true(units_multiply(UINT64_MAX, 1) >= 0x1p64);
	assert_true(units_multiply((UINT64_C(1) << 53) + 1, 1) >=
	            0x1p53 + 2); // a count that a double has not is rounded up as well
	assert_true(units_left(1, 5e-324) == nextafter(1, 0));
	assert_true(units_left(1, 0.25) == 0.75);
	assert_true(units_left(1, 1) == 0 && units_left(1, 2) == 0);
	uint64_t random = 1;
	for (int i = 0; i < 100000; i++) {
		random = random * 6364136223846793005U + 1442695040888963407U;
		double a = (double)(random >> 11),
		       b = ldexp((double)((random >> 7) & 0xFFFFFF) + 1, (int)(random >> 59) - 40);
		assert_true((long double)units_add(a, b) >= (long double)a + (long double)b);
		assert_true(units_add(a, b) <= nextafter(a + b, INFINITY));
		assert_true((long double)units_left(a, b) <=
		            fmaxl(0, (long double)a - (long double)b));
		assert_true((long double)units_multiply(random >> 44, b) >=
		            (long double)(random >> 44) * (long double)b);
		// A product of 64 bits, which a long double holds; of more the double has every one
		// it can.
		const double full = ldexp((double)(random >> 11), -60);
		const long double product = (long double)(random % 2048) * (long double)full;
		assert_true((long double)units_multiply(random % 2048, full) >= product);
		assert_true((long double)units_multiply(random % 2048, full) <=
		            product * (1 + 0x1p-51L));
	}
}

static void numbers_are_shown_to_the_safe_side(void **state) {
	(void)state;
	static const double values[] = {1,          0.1,    1.0 / 3,         2.0 / 3, 9.99999999,
	                                123456.789, 1e-300, 0.0243559703595, 5e-324,  0};
	char up[UNITS_NUMBER], down[UNITS_NUMBER];
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		units_print(values[i], true, up);
		units_print(values[i], false, down);
		assert_true(strtod(up, NULL) >= values[i] && strtod(down, NULL) <= values[i]);
		if (values[i] > 1e-307)
			assert_true(strtod(up, NULL) - strtod(down, NULL) <= 3e-5 * values[i]);
	}
	units_print(1.0 / 3, true, up);
	assert_string_equal(up, "0.333334");
	units_print(2.0 / 3, false, down);
	assert_string_equal(down, "0.666666");
}

static void epsilons_round_both_ways(void **state) {
	(void)state;
	// rho 0.1 at delta 1e-6.
	const struct ledger_dataset dataset = {.rho = 1, .epsilon = 7.75, .delta = 1e-6};
	assert_true(fabs(ledger_epsilon(&dataset, 0.1, true) - 2.14193892839) < 1e-9);
	assert_true(ledger_epsilon(&dataset, 0.1, false) < ledger_epsilon(&dataset, 0.1, true));
	assert_true(ledger_epsilon(&dataset, 0, true) == 0);
	assert_true(ledger_epsilon(&dataset, 5e-324, true) > 0);
	assert_true(ledger_epsilon(&dataset, 5e-324, false) == 0);
	assert_true(ledger_epsilon(&dataset, 1, false) == 7.75);
}

/* ---- decimals -------------------------------------------------------------------------------- */

static void numbers_are_read_as_typed(void **state) {
	(void)state;
	static const char *const kept[] = {
	    "0.1", ".1",   "1e-1", "100e-3", "+0.10000000000000000000",
	    "1",   "1e14", "0.3",  "1e-24",  "123456.789012345"};
	static const struct {
		const char *text;
		long double typed;
	} rounded[] = {{"0.10000000000000001", 0.10000000000000001L},
	               {"0.3000000000000000001", 0.3000000000000000001L},
	               {"1e-25", 1e-25L},
	               {"1e300", 1e300L}};
	static const char *const none[] = {"", "x", "0", "-1", "nan", "inf", "1e999", "1 "};
	double value, up, down;
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		assert_true(units_read(kept[i], true, &value) && units_decimal(value) &&
		            value == strtod(kept[i], NULL));
	for (size_t i = 0; i < sizeof rounded / sizeof *rounded; i++) {
		assert_false(units_read(rounded[i].text, true, &up));
		assert_false(units_read(rounded[i].text, false, &down));
		assert_true((long double)up >= rounded[i].typed &&
		            (long double)down <= rounded[i].typed && up > down);
		assert_true(nextafter(nextafter(down, INFINITY), INFINITY) >= up);
	}
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_true(!units_read(none[i], true, &value) && isnan(value));
}

/* A new ledger with a limit that was typed. */
static struct ledger *fresh_typed(const char *limit) {
	struct ledger *ledger = fresh(1, "");
	struct ledger_dataset dataset = {.name = "typed", .delta = 1e-6};
	dataset.decimal = units_read(limit, false, &dataset.rho);
	assert_int_equal(ledger_add(ledger, &dataset, NULL), CUTTLE_OK);
	return ledger;
}

static enum cuttle_status charge_typed(struct ledger *ledger, const char *rho, bool computed) {
	char run[LEDGER_RUN];
	struct ledger_run found;
	ledger_name_run(run);
	struct ledger_request request = {
	    .dataset = "typed", .run = run, .command = COMMAND, .count = 10};
	request.decimal = units_read(rho, true, &request.rho) && !computed;
	return ledger_reserve(ledger, &request, false, &found, NULL);
}

/* As many charges as the limit has room for, to the last digit; and no further one. */
static void typed_numbers_add_up_exactly(void **state) {
	(void)state;
	static const struct {
		const char *limit, *rho, *least;
		int fit;
	} cases[] = {{"1", "0.1", "1e-24", 10},    {"1", "0.2", "1e-24", 5},
	             {"0.3", "0.1", "1e-24", 3},   {"0.6", "0.2", "1e-24", 3},
	             {"10", ".01", "1e-20", 1000}, {"1e-6", "1e-7", "1e-24", 10},
	             {"0.7", "0.07", "1e-24", 10}, {"49", "0.7", "1e-24", 70}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ledger_standing now;
		struct ledger *ledger = fresh_typed(cases[i].limit);
		for (int j = 0; j < cases[i].fit; j++) {
			if (cases[i].fit > 100 && j % 100) {
				// A thousand entries take long: 99 of each hundred are one of a
				// larger number.
				if (j % 100 == 1)
					assert_int_equal(charge_typed(ledger, ".99", false),
					                 CUTTLE_OK);
				continue;
			}
			if (charge_typed(ledger, cases[i].rho, false))
				fail_msg("%s in %s: number %d is refused", cases[i].rho,
				         cases[i].limit, j + 1);
		}
		assert_int_equal(charge_typed(ledger, cases[i].least, false), CUTTLE_BUDGET);
		assert_int_equal(charge_typed(ledger, cases[i].rho, false), CUTTLE_BUDGET);
		assert_int_equal(ledger_look(ledger, "typed", &now, NULL), CUTTLE_OK);
		assert_true(now.spent == strtod(cases[i].limit, NULL) && now.left == 0);
		ledger_close(&ledger);
		verifies(path);
	}
	struct ledger_standing now;
	struct ledger *ledger = fresh_typed("1");
	for (int i = 0; i < 9; i++) assert_int_equal(charge_typed(ledger, "0.1", false), CUTTLE_OK);
	assert_int_equal(ledger_look(ledger, "typed", &now, NULL), CUTTLE_OK);
	assert_true(now.spent == 0.9 && now.left == 0.1);
	ledger_close(&ledger);
}

/* More than the sum has room for is no small sum. */
static void typed_sums_do_not_wrap(void **state) {
	(void)state;
	struct ledger_standing now;
	struct ledger *ledger = fresh_typed("1e15");
	for (int i = 0; i < 3; i++)
		assert_int_equal(charge_typed(ledger, "1e14", false), CUTTLE_OK);
	assert_int_equal(charge_typed(ledger, "1e14", false), CUTTLE_BUDGET);
	assert_int_equal(ledger_look(ledger, "typed", &now, NULL), CUTTLE_OK);
	assert_true(now.spent == 3e14);
	ledger_close(&ledger);
}

/* A number that was computed is the double itself: ten times the double 0.1 are more than 1, and
 * three times are more than what was typed as 0.3. */
static void computed_numbers_are_doubles(void **state) {
	(void)state;
	struct ledger *ledger = fresh_typed("1");
	for (int i = 0; i < 9; i++) {
		assert_int_equal(charge_typed(ledger, "0.1", i % 2), CUTTLE_OK);
		assert_true(standing(ledger).spent == 0);
	}
	assert_int_equal(charge_typed(ledger, "0.1", false), CUTTLE_BUDGET);
	assert_int_equal(charge_typed(ledger, "0.0999999999", true), CUTTLE_OK);
	ledger_close(&ledger);
	verifies(path);
	// The double 0.3 is below what was typed, and the double 0.1 above.
	ledger = fresh_typed("0.3");
	assert_int_equal(charge_typed(ledger, "0.3", true), CUTTLE_OK);
	ledger_close(&ledger);
	ledger = fresh_typed("0.1");
	assert_int_equal(charge_typed(ledger, "0.1", true), CUTTLE_BUDGET);
	ledger_close(&ledger);
	// A limit that was not typed is the double itself, too.
	ledger = fresh(0.3, "");
	struct ledger_dataset dataset = {.name = "typed", .rho = 0.3, .delta = 1e-6};
	assert_int_equal(ledger_add(ledger, &dataset, NULL), CUTTLE_OK);
	assert_int_equal(charge_typed(ledger, "0.3", false), CUTTLE_BUDGET);
	assert_int_equal(charge_typed(ledger, "0.3", true), CUTTLE_OK);
	ledger_close(&ledger);
}

/* ---- charging -------------------------------------------------------------------------------- */

static void limits_are_checked(void **state) {
	(void)state;
	static const double bad[] = {0, -1, NAN, INFINITY, 5e-324};
	struct cuttle_error error;
	struct ledger *ledger = fresh(1, "");
	for (size_t i = 0; i < 5; i++) {
		struct ledger_dataset dataset = {
		    .name = "other", .rho = bad[i], .epsilon = NAN, .delta = 1e-6};
		assert_int_equal(ledger_add(ledger, &dataset, &error), CUTTLE_USAGE);
		dataset = (struct ledger_dataset){
		    .name = "other", .rho = NAN, .epsilon = bad[i], .delta = 1e-6};
		assert_int_equal(ledger_add(ledger, &dataset, &error), CUTTLE_USAGE);
		dataset = (struct ledger_dataset){
		    .name = "other", .rho = NAN, .epsilon = 1, .delta = bad[i]};
		assert_int_equal(ledger_add(ledger, &dataset, &error), CUTTLE_USAGE);
	}
	struct ledger_dataset unnamed = {.name = "", .rho = 1, .delta = 1e-6},
	                      broken = {.name = "a\nb", .rho = 1, .delta = 1e-6};
	assert_int_equal(ledger_add(ledger, &unnamed, &error), CUTTLE_USAGE);
	assert_int_equal(ledger_add(ledger, &broken, &error), CUTTLE_USAGE);
	struct ledger_dataset again = {.name = "notes", .rho = 1, .delta = 1e-6};
	assert_int_equal(ledger_add(ledger, &again, &error), CUTTLE_USAGE);
	struct ledger_dataset ten = {.name = "ten", .rho = NAN, .epsilon = 10, .delta = 1e-6};
	assert_int_equal(ledger_add(ledger, &ten, &error), CUTTLE_OK);
	assert_true(fabs(ten.rho - 1.53927876387) < 1e-9);
	struct ledger_standing now;
	assert_int_equal(ledger_look(ledger, "none", &now, &error), CUTTLE_USAGE);
	ledger_close(&ledger);
	struct stat mode;
	assert_int_equal(stat(path, &mode), 0);
	assert_int_equal(mode.st_mode & 0777, 0600);
}

static void bad_charges_are_refused(void **state) {
	(void)state;
	static const double bad[] = {0, -0.0, -1, NAN, INFINITY, -INFINITY};
	char run[LEDGER_RUN];
	struct cuttle_error error;
	struct ledger *ledger = fresh(1, "");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(reserve(ledger, bad[i], run, &error), CUTTLE_USAGE);
	assert_int_equal(reserve_span(ledger, 0.1, 0, 0, run, &error), CUTTLE_USAGE);
	assert_int_equal(reserve_span(ledger, 0.1, 2, UINT64_MAX - 1, run, &error), CUTTLE_USAGE);
	assert_int_equal(standing(ledger).runs, 0);
	assert_true(standing(ledger).spent == 0 && standing(ledger).left == 1);
	ledger_close(&ledger);
}

static void a_tiny_charge_is_not_lost(void **state) {
	(void)state;
	char run[LEDGER_RUN];
	struct cuttle_error error;
	struct ledger *ledger = fresh(1, "");
	assert_int_equal(reserve(ledger, nextafter(1, 0), run, &error), CUTTLE_OK);
	assert_int_equal(reserve(ledger, 5e-324, run, &error), CUTTLE_OK);
	assert_true(standing(ledger).spent == 1 && standing(ledger).left == 0);
	ledger_close(&ledger);
	verifies(path);
	ledger = fresh(1, "");
	assert_int_equal(reserve(ledger, 1, run, &error), CUTTLE_OK);
	assert_int_equal(reserve(ledger, 5e-324, run, &error), CUTTLE_BUDGET);
	assert_true(standing(ledger).spent == 1 && standing(ledger).runs == 1);
	ledger_close(&ledger);
	verifies(path);
}

static void refusals_say_the_numbers(void **state) {
	(void)state;
	char run[LEDGER_RUN];
	struct cuttle_error error;
	struct ledger_run found;
	struct ledger *ledger = fresh(1, "");
	assert_int_equal(reserve(ledger, 0.75, run, &error), CUTTLE_OK);
	assert_int_equal(reserve(ledger, 0.5, run, &error), CUTTLE_BUDGET);
	assert_non_null(strstr(error.message, "rho asked 0.5, spent 0.75 of 1, remaining 0.25 "));
	assert_non_null(
	    strstr(error.message, "(epsilon at delta 1e-06: asked 5.22154, spent 6.57"));
	assert_null(strchr(error.message, '\n'));
	const struct ledger_request dry = {
	    .dataset = "notes", .run = run, .command = "", .rho = 0.25, .count = 10};
	assert_int_equal(ledger_reserve(ledger, &dry, true, &found, &error), CUTTLE_OK);
	assert_int_equal(standing(ledger).runs, 1);
	assert_true(standing(ledger).spent == 0.75);
	ledger_close(&ledger);
}

static void lines_compose_in_parallel(void **state) {
	(void)state;
	char run[LEDGER_RUN];
	struct cuttle_error error;
	struct ledger *ledger = fresh(1, "");
	assert_int_equal(reserve_span(ledger, 0.75, 0, 10, run, &error), CUTTLE_OK);
	assert_int_equal(reserve_span(ledger, 0.75, 10, 10, run, &error), CUTTLE_OK);
	assert_true(standing(ledger).spent == 0.75);
	assert_int_equal(reserve_span(ledger, 0.5, 19, 100, run, &error), CUTTLE_BUDGET);
	assert_int_equal(reserve_span(ledger, 0.5, 20, 100, run, &error), CUTTLE_OK);
	assert_int_equal(reserve_span(ledger, 0.25, 5, 100, run, &error), CUTTLE_OK);
	assert_true(standing(ledger).spent == 1);
	assert_int_equal(reserve_span(ledger, 0.25, 120, UINT64_MAX - 120, run, &error), CUTTLE_OK);
	assert_int_equal(reserve_span(ledger, 0.5, 119, 1, run, &error), CUTTLE_OK);
	assert_int_equal(reserve_span(ledger, 1e-9, 12, 1, run, &error), CUTTLE_BUDGET);
	ledger_close(&ledger);
	verifies(path);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void keys_add_up_per_person(void **state) {
	(void)state;
	// Anna: twice in the first batch, once in the second: 4 + 1. Nobody's records cost nobody;
	// an empty name is a name: 1 + 1.
	static const char *const names[] = {"Anna", "Berta", "Anna", "", "Anna", NULL, "", "Anton"};
	static const char *const later[] = {"Berta", "Dora"};
	struct ledger_run found;
	struct cuttle_error error;
	struct ledger *ledger = fresh(8, "name");
	assert_int_equal(reserve_owners(ledger, 0, 1, names, 8, 4, &found, &error), CUTTLE_OK);
	assert_true(found.rho == 5);
	assert_true(standing(ledger).spent == 5);
	assert_int_equal(reserve_owners(ledger, 0, 4, later, 2, 1, &found, &error), CUTTLE_OK);
	assert_true(standing(ledger).spent == 5);
	assert_int_equal(reserve_owners(ledger, 0, 4, later, 1, 1, &found, &error), CUTTLE_BUDGET);
	assert_non_null(strstr(error.message, "asked 4, spent 5 of 8, remaining 3"));
	// By hand: for everybody.
	char run[LEDGER_RUN];
	assert_int_equal(reserve(ledger, 3, run, &error), CUTTLE_OK);
	assert_true(standing(ledger).spent == 8);
	assert_int_equal(reserve_owners(ledger, 0, 1, names + 5, 1, 1, &found, &error), CUTTLE_OK);
	assert_true(found.rho == 0 && standing(ledger).spent == 8);
	ledger_close(&ledger);
	verifies(path);
	char bytes[1 << 17];
	int file = open(path, O_RDONLY);
	ssize_t size = read(file, bytes, sizeof bytes);
	assert_true(size > 0 && size < (ssize_t)sizeof bytes);
	(void)close(file);
	for (size_t i = 0; i < 8; i++)
		if (names[i] && *names[i])
			assert_null(memmem(bytes, (size_t)size, names[i], strlen(names[i])));
}

/* 7 and "7" are one person (io/records/records.h), who may have been charged as 7 by an older
 * version. */
static void old_charges_of_numbers_stand(void **state) {
	(void)state;
	static const char *const old[] = {"7", "-3"}, *const now[] = {"\"7\"", "\"-3\"",
	                                                              "\"Anna\""};
	struct ledger_run found;
	struct cuttle_error error;
	struct ledger *ledger = fresh(4, "name");
	assert_int_equal(reserve_owners(ledger, 0, 3, old, 2, 1, &found, &error), CUTTLE_OK);
	for (int i = 0; i < 2; i++)
		assert_int_equal(reserve_owners(ledger, 0, 2, now + i, 1, 1, &found, &error),
		                 CUTTLE_BUDGET);
	assert_int_equal(reserve_owners(ledger, 0, 1, now, 3, 1, &found, &error), CUTTLE_OK);
	assert_true(found.rho == 1 && standing(ledger).spent == 4);
	assert_int_equal(reserve_owners(ledger, 0, 1, now, 1, 1, &found, &error), CUTTLE_BUDGET);
	assert_int_equal(reserve_owners(ledger, 0, 3, now + 2, 1, 1, &found, &error), CUTTLE_OK);
	ledger_close(&ledger);
	verifies(path);
}

/* What one person pays adds up in three places, and none of them may lose anything: over a run's
 * batches, over runs, and with lines. */
static void a_person_s_tiny_charges_are_not_lost(void **state) {
	(void)state;
	static const char *const names[] = {"Anna", "Anna", "Anna", "Berta"};
	static const double rho = 0.2;
	struct ledger_run found;
	struct cuttle_error error;
	struct ledger *ledger = fresh(1, "name");
	// Anna: two in the first batch, one in the second: 4 rho + rho, which is 1 in doubles and
	// more than 1 in truth.
	assert_int_equal(reserve_owners(ledger, 0, rho, names, 4, 2, &found, &error),
	                 CUTTLE_BUDGET);
	assert_int_equal(reserve_owners(ledger, 0, nextafter(rho, 0), names, 4, 2, &found, &error),
	                 CUTTLE_OK);
	assert_true(found.rho == 1);
	assert_int_equal(reserve_owners(ledger, 0, 5e-324, names + 3, 1, 1, &found, &error),
	                 CUTTLE_OK);
	assert_int_equal(reserve_owners(ledger, 0, 5e-324, names, 1, 1, &found, &error),
	                 CUTTLE_BUDGET);
	ledger_close(&ledger);
	ledger = fresh(1, "name");
	assert_int_equal(reserve_owners(ledger, 0, 0.5, names, 1, 1, &found, &error), CUTTLE_OK);
	assert_int_equal(reserve_owners(ledger, 0, 0.5, names, 1, 1, &found, &error), CUTTLE_OK);
	assert_int_equal(reserve_owners(ledger, 0, 5e-324, names, 1, 1, &found, &error),
	                 CUTTLE_BUDGET);
	assert_true(standing(ledger).spent == 1);
	ledger_close(&ledger);
}

static enum cuttle_status keep_charges_hash(void *user, const struct chain_entry *entry) {
	if (!strcmp(entry->kind, "reserve")) memcpy(user, entry->charges_sha256, HASH_TEXT);
	return CUTTLE_OK;
}

/* An export shows the hash of who was charged. Nobody may find a name by trying names, nor see that
 * two hashes are of one person. */
static void names_of_persons_depend_on_ledger_and_data_set(void **state) {
	(void)state;
	static const char *const names[] = {"Anna"};
	static const char *const datasets[] = {"notes", "more"};
	char hashes[4][HASH_TEXT], run[LEDGER_RUN];
	struct ledger *ledger = NULL;
	for (size_t i = 0; i < 4; i++) {
		struct ledger_run found;
		struct ledger_dataset more = {
		    .name = "more", .unit_key = "name", .rho = 1, .delta = 1e-6};
		if (i % 2 == 0) {
			ledger_close(&ledger);
			ledger = fresh(1, "name");
			assert_int_equal(ledger_add(ledger, &more, NULL), CUTTLE_OK);
		}
		ledger_name_run(run);
		const struct ledger_request request = {.dataset = datasets[i % 2],
		                                       .run = run,
		                                       .command = COMMAND,
		                                       .rho = 0.5,
		                                       .count = 1,
		                                       .batch = 1,
		                                       .user = (void *)(uintptr_t)names,
		                                       .unit = owner};
		assert_int_equal(ledger_reserve(ledger, &request, false, &found, NULL), CUTTLE_OK);
		assert_int_equal(
		    ledger_walk(ledger, request.dataset, keep_charges_hash, hashes[i], NULL),
		    CUTTLE_OK);
		for (size_t j = 0; j < i; j++) assert_string_not_equal(hashes[i], hashes[j]);
	}
	ledger_close(&ledger);
}

/* In a data set of lines the ledger must not look at a text, whatever is in it. */
static bool never(void *user, uint64_t index, const char **value, size_t *size) {
	(void)user;
	(void)index;
	(void)value;
	(void)size;
	fail_msg("a record was looked at");
	return false;
}

static void lines_look_at_no_record(void **state) {
	(void)state;
	struct ledger_run found;
	struct ledger *ledger = fresh(8, "");
	char run[LEDGER_RUN];
	ledger_name_run(run);
	const struct ledger_request request = {.dataset = "notes",
	                                       .run = run,
	                                       .command = COMMAND,
	                                       .rho = 1,
	                                       .count = 8,
	                                       .batch = 2,
	                                       .unit = never};
	assert_int_equal(ledger_reserve(ledger, &request, false, &found, NULL), CUTTLE_OK);
	assert_true(found.rho == 1);
	ledger_close(&ledger);
}

/* ---- a run's life ---------------------------------------------------------------------------- */

static enum ledger_state state_of(struct ledger *ledger, const char *run) {
	struct ledger_run found;
	assert_int_equal(ledger_find(ledger, "notes", run, &found, NULL), CUTTLE_OK);
	return found.state;
}

static void what_was_drawn_stays(void **state) {
	(void)state;
	char run[LEDGER_RUN], other[LEDGER_RUN];
	struct ledger_run found;
	struct cuttle_error error;
	struct ledger *ledger = fresh(1, "");
	assert_int_equal(reserve(ledger, 0.75, run, &error), CUTTLE_OK);
	assert_int_equal(state_of(ledger, run), LEDGER_RESERVED);
	assert_int_equal(ledger_find(ledger, "notes", run, &found, &error), CUTTLE_OK);
	assert_true(found.rho == 0.75 && !strcmp(found.command, COMMAND) &&
	            strlen(found.entry) == 64);
	const struct ledger_request again = {
	    .dataset = "notes", .run = run, .command = COMMAND, .rho = 0.125, .count = 1};
	assert_int_equal(ledger_reserve(ledger, &again, false, &found, &error), CUTTLE_USAGE);
	assert_int_equal(ledger_release(ledger, "notes", run, &error), CUTTLE_OK);
	assert_int_equal(state_of(ledger, run), LEDGER_RELEASED);
	assert_true(standing(ledger).spent == 0 && standing(ledger).runs == 0);
	// A run that begins to draw although its reservation was given back must stop.
	assert_int_equal(ledger_draw(ledger, "notes", run, NULL, NULL, &error), CUTTLE_BUDGET);
	assert_int_equal(ledger_release(ledger, "notes", run, &error), CUTTLE_USAGE);
	assert_int_equal(reserve(ledger, 0.75, other, &error), CUTTLE_OK);
	assert_int_equal(ledger_draw(ledger, "notes", other, NULL, NULL, &error), CUTTLE_OK);
	assert_int_equal(ledger_draw(ledger, "notes", other, NULL, NULL, &error), CUTTLE_OK);
	assert_int_equal(state_of(ledger, other), LEDGER_DRAWN);
	assert_int_equal(ledger_release(ledger, "notes", other, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "cannot be given back"));
	assert_true(standing(ledger).spent == 0.75);
	assert_int_equal(state_of(ledger, "00000000000000000000000000000000"), LEDGER_UNKNOWN);
	assert_int_equal(
	    ledger_draw(ledger, "notes", "00000000000000000000000000000000", NULL, NULL, &error),
	    CUTTLE_BUDGET);
	ledger_close(&ledger);
	verifies(path);
}

static void one_charge_one_output(void **state) {
	(void)state;
	static const char first[HASH_TEXT] =
	    "0000000000000000000000000000000000000000000000000000000000000001",
	                  second[HASH_TEXT] =
	                      "0000000000000000000000000000000000000000000000000000000000000002";
	char run[LEDGER_RUN];
	struct ledger_run found;
	struct cuttle_error error;
	struct ledger *ledger = fresh(1, "");
	assert_int_equal(reserve(ledger, 0.5, run, &error), CUTTLE_OK);
	// An output under which nothing was drawn is none of this run's.
	assert_int_equal(ledger_finish(ledger, "notes", run, first, &error), CUTTLE_BUDGET);
	assert_int_equal(ledger_draw(ledger, "notes", run, NULL, NULL, &error), CUTTLE_OK);
	assert_int_equal(ledger_finish(ledger, "notes", run, first, &error), CUTTLE_OK);
	assert_int_equal(ledger_find(ledger, "notes", run, &found, &error), CUTTLE_OK);
	assert_true(found.state == LEDGER_CLOSED && !strcmp(found.output, first));
	// The same output again, as after a kill before it was in place; no other one, and no
	// further token.
	assert_int_equal(ledger_finish(ledger, "notes", run, first, &error), CUTTLE_OK);
	assert_int_equal(ledger_finish(ledger, "notes", run, second, &error), CUTTLE_BUDGET);
	assert_non_null(strstr(error.message, "has paid for the output with SHA-256 000000000000"));
	assert_int_equal(ledger_draw(ledger, "notes", run, NULL, NULL, &error), CUTTLE_BUDGET);
	assert_int_equal(ledger_release(ledger, "notes", run, &error), CUTTLE_USAGE);
	assert_true(standing(ledger).spent == 0.5 && standing(ledger).runs == 1);
	ledger_close(&ledger);
	verifies(path);
}

static struct journal_mark mark_of(uint64_t bytes, const char *text) {
	struct journal_mark mark = {.bytes = bytes};
	hash_of(text, strlen(text), mark.sha256);
	return mark;
}

static void how_far_a_run_has_come_only_grows(void **state) {
	(void)state;
	char run[LEDGER_RUN], other[LEDGER_RUN];
	struct ledger_run found;
	struct cuttle_error error;
	uint64_t entries, more;
	char head[HASH_TEXT];
	const struct journal_mark first = mark_of(150, "a"), same = mark_of(150, "b"),
	                          less = mark_of(149, "c"), next = mark_of(200, "d"), nothing = {0};
	struct ledger *ledger = fresh(1, "");
	assert_int_equal(reserve(ledger, 0.25, run, NULL), CUTTLE_OK);
	assert_int_equal(reserve(ledger, 0.25, other, NULL), CUTTLE_OK);
	assert_int_equal(ledger_draw(ledger, "notes", run, NULL, NULL, &error), CUTTLE_OK);
	assert_int_equal(ledger_draw(ledger, "notes", run, &nothing, &first, &error), CUTTLE_OK);
	assert_int_equal(ledger_verify(ledger, NULL, &entries, head, &error), CUTTLE_OK);
	// The same again writes nothing.
	assert_int_equal(ledger_draw(ledger, "notes", run, &first, &first, &error), CUTTLE_OK);
	assert_int_equal(ledger_draw(ledger, "notes", run, &first, &nothing, &error), CUTTLE_OK);
	assert_int_equal(ledger_draw(ledger, "notes", run, NULL, NULL, &error), CUTTLE_OK);
	// Who believes to draw first is told that it does not.
	assert_int_equal(ledger_draw(ledger, "notes", run, &nothing, NULL, &error), CUTTLE_LEDGER);
	assert_int_equal(ledger_draw(ledger, "notes", run, &first, &less, &error), CUTTLE_LEDGER);
	assert_int_equal(ledger_draw(ledger, "notes", run, &first, &same, &error), CUTTLE_LEDGER);
	// Nor may it grow from anything but what the ledger knows.
	assert_int_equal(ledger_draw(ledger, "notes", run, &same, &next, &error), CUTTLE_LEDGER);
	assert_int_equal(ledger_draw(ledger, "notes", run, &nothing, &next, &error), CUTTLE_LEDGER);
	// Another may have come as far as the caller, by the same tokens.
	assert_int_equal(ledger_draw(ledger, "notes", run, &nothing, &first, &error),
	                 CUTTLE_LEDGER);
	assert_non_null(strstr(error.message, "another process has drawn"));
	assert_int_equal(ledger_verify(ledger, NULL, &more, head, &error), CUTTLE_OK);
	assert_int_equal(more, entries);
	assert_int_equal(ledger_draw(ledger, "notes", run, &first, &next, &error), CUTTLE_OK);
	assert_int_equal(ledger_find(ledger, "notes", run, &found, &error), CUTTLE_OK);
	assert_int_equal(found.mark.bytes, 200);
	assert_string_equal(found.mark.sha256, next.sha256);
	// Of another run nothing was told, and a run may begin with what it has.
	assert_int_equal(ledger_find(ledger, "notes", other, &found, &error), CUTTLE_OK);
	assert_int_equal(found.mark.bytes, 0);
	assert_int_equal(ledger_draw(ledger, "notes", other, &nothing, &less, &error), CUTTLE_OK);
	assert_int_equal(ledger_find(ledger, "notes", other, &found, &error), CUTTLE_OK);
	assert_int_equal(found.mark.bytes, 149);
	ledger_close(&ledger);
	verifies(path);
}

/* Whether the charge of a run of keyed records would be the same for these names. */
static bool pays_for(struct ledger *ledger, const char *run, const char *command, double rho,
                     const char *const *names, uint64_t count) {
	bool same;
	struct ledger_run found;
	const struct ledger_request request = {.dataset = "notes",
	                                       .run = run,
	                                       .command = command,
	                                       .rho = rho,
	                                       .count = count,
	                                       .batch = 2,
	                                       .user = (void *)(uintptr_t)names,
	                                       .unit = owner};
	assert_int_equal(ledger_match(ledger, &request, &found, &same, NULL), CUTTLE_OK);
	return same;
}

static void a_charge_is_for_whom_it_was_made(void **state) {
	(void)state;
	static const char *const made[] = {"Anna", "Berta", "Anna", NULL},
	                         *const swapped[] = {"Anna", "Dora", "Anna", NULL},
	                         *const moved[] = {"Anna", "Anna", "Berta", NULL},
	                         *const fewer[] = {"Anna", "Berta", NULL, NULL},
	                         *const turned[] = {"Berta", "Anna", NULL, "Anna"};
	struct ledger *ledger = fresh(8, "name");
	char run[LEDGER_RUN];
	struct ledger_run found;
	ledger_name_run(run);
	const struct ledger_request request = {.dataset = "notes",
	                                       .run = run,
	                                       .command = COMMAND,
	                                       .rho = 1,
	                                       .count = 4,
	                                       .batch = 2,
	                                       .user = (void *)(uintptr_t)made,
	                                       .unit = owner};
	assert_false(pays_for(ledger, run, COMMAND, 1, made, 4));
	assert_int_equal(ledger_reserve(ledger, &request, false, &found, NULL), CUTTLE_OK);
	assert_true(pays_for(ledger, run, COMMAND, 1, made, 4));
	assert_true(pays_for(ledger, run, COMMAND, 1, turned, 4)); // each is charged the same
	assert_false(pays_for(ledger, run, "another", 1, made, 4));
	assert_false(pays_for(ledger, run, COMMAND, 1.5, made, 4));
	assert_false(pays_for(ledger, run, COMMAND, 1, swapped, 4));
	assert_false(pays_for(ledger, run, COMMAND, 1, moved, 4));
	assert_false(pays_for(ledger, run, COMMAND, 1, fewer, 4));
	ledger_close(&ledger);
}

/* Older versions charged each record of an owner with a limit. What they began goes on. */
static void an_older_charge_pays_for_what_it_was_made_for(void **state) {
	(void)state;
	static const char *const names[] = {"Anna", NULL, "Berta", NULL, "Anna", NULL},
	                         *const swapped[] = {"Anna", NULL, "Dora", NULL, "Anna", NULL};
	struct ledger *ledger = fresh(8, "name");
	char run[LEDGER_RUN];
	struct ledger_run found;
	bool same;
	ledger_name_run(run);
	struct ledger_request request = {.dataset = "notes",
	                                 .run = run,
	                                 .command = COMMAND,
	                                 .rho = 0.5,
	                                 .count = 6,
	                                 .batch = 2,
	                                 .user = (void *)(uintptr_t)names,
	                                 .unit = owner};
	assert_int_equal(ledger_reserve(ledger, &request, false, &found, NULL), CUTTLE_OK);
	assert_true(found.rho == 1);
	request.once = true;
	request.rho = 1.5; // of at most three records
	assert_int_equal(ledger_match(ledger, &request, &found, &same, NULL), CUTTLE_OK);
	assert_false(same);
	request.older = 0.5;
	assert_int_equal(ledger_match(ledger, &request, &found, &same, NULL), CUTTLE_OK);
	assert_true(same);
	assert_true(found.rho == 1);
	request.older = 0.75;
	assert_int_equal(ledger_match(ledger, &request, &found, &same, NULL), CUTTLE_OK);
	assert_false(same);
	request.older = 0.5;
	request.user = (void *)(uintptr_t)swapped;
	assert_int_equal(ledger_match(ledger, &request, &found, &same, NULL), CUTTLE_OK);
	assert_false(same);
	// What begins now is charged by today's rule.
	ledger_name_run(run);
	assert_int_equal(ledger_reserve(ledger, &request, false, &found, NULL), CUTTLE_OK);
	assert_true(found.rho == 1.5);
	ledger_close(&ledger);
}

/* ---- edits ----------------------------------------------------------------------------------- */

static size_t sample(char *bytes, size_t room) {
	char run[LEDGER_RUN];
	static const char *const names[] = {"Anna", "Berta", "Anna", "", "Anna", NULL, "", "Anton"};
	struct ledger_run found;
	struct ledger *ledger = fresh(100, "name");
	for (int i = 0; i < 6; i++) {
		assert_int_equal(reserve(ledger, 0.125, run, NULL), CUTTLE_OK);
		if (i % 2)
			assert_int_equal(ledger_draw(ledger, "notes", run, NULL, NULL, NULL),
			                 CUTTLE_OK);
		assert_int_equal(reserve_owners(ledger, 0, 0.5, names, 8, 4, &found, NULL),
		                 CUTTLE_OK);
	}
	assert_int_equal(ledger_release(ledger, "notes", run, NULL), CUTTLE_USAGE);
	ledger_close(&ledger);
	int file = open(path, O_RDONLY);
	ssize_t size = read(file, bytes, room);
	(void)close(file);
	assert_true(size > 4096 && size < (ssize_t)room && size % 4096 == 0);
	return (size_t)size;
}

static void every_flipped_byte_is_found(void **state) {
	(void)state;
	static char bytes[1 << 17];
	const size_t size = sample(bytes, sizeof bytes),
	             stride = (size_t)number_from("CUTTLE_TEST_BYTES", 29);
	size_t flips = 0;
	put_copy(bytes, size);
	verifies(copy_path);
	for (size_t at = 0; at < size; at += at < 100 ? 1 : stride) {
		struct cuttle_error error = {{0}};
		static const char masks[] = {1, (char)0x80, (char)0xFF, 0x20};
		bytes[at] ^= masks[flips % 4];
		put_copy(bytes, size);
		enum cuttle_status status = verify(copy_path, NULL, &error);
		bytes[at] ^= masks[flips++ % 4];
		if (status != CUTTLE_LEDGER)
			fail_msg("byte %zu of %zu: status %d: %s", at, size, (int)status,
			         error.message);
	}
	print_message("%zu bytes flipped, one at a time\n", flips);
}

static void other_lengths_are_found(void **state) {
	(void)state;
	static char bytes[1 << 17];
	const size_t size = sample(bytes, sizeof bytes - 8192);
	memset(bytes + size, 0, 8192);
	for (size_t page = 0; page < size / 4096; page++) {
		for (size_t more = 0; more < 3; more++) {
			put_copy(bytes, page * 4096 + (more == 0 ? 0 : more == 1 ? 1 : 4095));
			assert_int_equal(verify(copy_path, NULL, NULL), CUTTLE_LEDGER);
		}
	}
	static const size_t longer[] = {1, 4095, 4096, 8192};
	for (size_t i = 0; i < 4; i++) {
		put_copy(bytes, size + longer[i]);
		assert_int_equal(verify(copy_path, NULL, NULL), CUTTLE_LEDGER);
	}
	remove_ledger(copy_path);
	assert_int_equal(verify(copy_path, NULL, NULL), CUTTLE_LEDGER);
	put_copy("hello\n", 6);
	assert_int_equal(verify(copy_path, NULL, NULL), CUTTLE_LEDGER);
	assert_int_equal(ledger_create(copy_path, NULL), CUTTLE_LEDGER);
	assert_int_equal(ledger_create(folder, NULL), CUTTLE_LEDGER);
	// Two pages changed places.
	memcpy(bytes + size, bytes + size - 4096, 4096);
	memcpy(bytes + size - 4096, bytes + size - 8192, 4096);
	memcpy(bytes + size - 8192, bytes + size, 4096);
	put_copy(bytes, size);
	assert_int_equal(verify(copy_path, NULL, NULL), CUTTLE_LEDGER);
}

/* Newer SQLite reads of a page what it needs: what stands behind that is checked, too. */
static void parts_of_pages_are_checked(void **state) {
	(void)state;
	static char bytes[1 << 17];
	char part[4080];
	const size_t size = sample(bytes, sizeof bytes);
	sqlite3_vfs *layer = sqlite3_vfs_find(pages_layer());
	assert_non_null(layer);
	for (int damaged = 0; damaged < 2; damaged++) {
		put_copy(bytes, size);
		sqlite3_file *file = calloc(1, (size_t)layer->szOsFile);
		assert_non_null(file);
		assert_int_equal(layer->xOpen(layer, copy_path, file,
		                              SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, NULL),
		                 SQLITE_OK);
		static const int amounts[] = {5, 300, 512, 4080};
		for (size_t i = 0; i < 4; i++) {
			assert_int_equal(file->pMethods->xRead(file, part, amounts[i], 4096),
			                 damaged ? SQLITE_CORRUPT : SQLITE_OK);
			if (!damaged) assert_memory_equal(part, bytes + 4096, (size_t)amounts[i]);
		}
		assert_int_equal(file->pMethods->xRead(file, part, 300, 4096 + 512),
		                 SQLITE_CORRUPT);
		assert_int_equal(file->pMethods->xClose(file), SQLITE_OK);
		free(file);
		bytes[8191] ^= 1;
	}
}

static int sql(const char *layer, const char *statements) {
	sqlite3 *database;
	assert_int_equal(sqlite3_open_v2(copy_path, &database, SQLITE_OPEN_READWRITE, layer),
	                 SQLITE_OK);
	int code = sqlite3_exec(database, statements, NULL, NULL, NULL);
	(void)sqlite3_close(database);
	return code;
}

static void edits_by_sql_are_found(void **state) {
	(void)state;
	static char bytes[1 << 17];
	const size_t size = sample(bytes, sizeof bytes);
	static const char *const forbidden[] = {
	    "UPDATE entry SET rho = 0.001 WHERE number = 2",
	    "DELETE FROM entry WHERE number = 13",
	    "DELETE FROM entry",
	    "REPLACE INTO entry SELECT * FROM entry WHERE number = 2",
	    ("INSERT INTO entry SELECT 99, time, kind, dataset, run, command, unit_key, rho, "
	     "epsilon, delta, "
	     "by_key, charges, previous, hash FROM entry WHERE number = 2"),
	    "UPDATE secret SET key = zeroblob(32)",
	    "DELETE FROM secret",
	    "REPLACE INTO secret VALUES(1, zeroblob(32))"};
	put_copy(bytes, size);
	for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
		assert_int_equal(sql(pages_layer(), forbidden[i]), SQLITE_CONSTRAINT);
	verifies(copy_path);
	// By somebody who knows the pages' checksum and takes the triggers away.
	static const char *const edits[] = {
	    "DROP TRIGGER entry_update",
	    ("DROP TRIGGER entry_update; UPDATE entry SET rho = 0.001 WHERE number = 2; CREATE "
	     "TRIGGER entry_update BEFORE UPDATE ON entry "
	     "BEGIN SELECT RAISE(ABORT, 'entries never change'); END"),
	    "DROP TRIGGER entry_delete; DELETE FROM entry WHERE number = 5",
	    "DROP TRIGGER entry_update; UPDATE entry SET number = number + 1 WHERE number = 22",
	    "DROP TRIGGER secret_update; UPDATE secret SET key = zeroblob(32)",
	    "PRAGMA application_id = 7",
	    "CREATE TABLE more(x)",
	    ("DROP TRIGGER entry_in_turn; INSERT INTO entry SELECT (SELECT max(number) + 1 FROM "
	     "entry), time, kind, dataset, run, command, "
	     "unit_key, "
	     "rho, epsilon, delta, by_key, charges, previous, hash FROM entry WHERE number = 2"),
	};
	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
		put_copy(bytes, size);
		(void)sql(pages_layer(), edits[i]);
		assert_int_equal(verify(copy_path, NULL, NULL), CUTTLE_LEDGER);
	}
	// And who puts the same triggers back: only the chain tells.
	static const char *const quiet_edits[] = {
	    "UPDATE entry SET rho = rho / 2 WHERE number = 2",
	    "UPDATE entry SET epsilon = epsilon * (1 + 3e-16) WHERE number = 1",
	    "UPDATE entry SET charges = (SELECT charges FROM entry WHERE number = 2) WHERE number "
	    "= 3",
	    "UPDATE entry SET dataset = 'other' WHERE number = 2",
	    "UPDATE entry SET kind = 'release' WHERE number = (SELECT max(number) FROM entry WHERE "
	    "kind = 'draw')",
	    "UPDATE entry SET time = time + 1 WHERE number = (SELECT max(number) FROM entry)",
	    "UPDATE entry SET unit_key = 'other' WHERE number = 1",
	    "UPDATE entry SET kind = 'dataset decimal' WHERE number = 1",
	    "UPDATE entry SET command = 'x' WHERE number = 3",
	    "DELETE FROM entry WHERE number = 2",
	    "DELETE FROM entry WHERE number = 1",
	    "UPDATE secret SET key = zeroblob(32)"};
	for (size_t i = 0; i < sizeof quiet_edits / sizeof *quiet_edits; i++) {
		struct cuttle_error error = {{0}};
		put_copy(bytes, size);
		without_triggers(quiet_edits[i]);
		assert_int_equal(verify(copy_path, NULL, &error), CUTTLE_LEDGER);
		assert_non_null(strstr(error.message, "not as it was written"));
	}
	// By somebody with SQLite alone.
	put_copy(bytes, size);
	assert_int_equal(sql(NULL, "DROP TRIGGER entry_update"), SQLITE_OK);
	assert_int_equal(verify(copy_path, NULL, NULL), CUTTLE_LEDGER);
}

/* A trigger that somebody put into the file may do nothing that plain SQL may not: here it would
 * write into the inner table of a virtual one, where SQLite's own reader trusts what it finds. */
static void a_trigger_of_somebody_is_kept_out(void **state) {
	(void)state;
	static char bytes[1 << 17];
	char run[LEDGER_RUN];
	struct cuttle_error error = {{0}};
	const size_t size = sample(bytes, sizeof bytes);
	put_copy(bytes, size);
	if (sql(pages_layer(), "CREATE VIRTUAL TABLE f USING fts4(x)") != SQLITE_OK) {
		print_message("skipped: this SQLite has no fts4\n");
		return;
	}
	assert_int_equal(sql(pages_layer(), "CREATE TRIGGER more AFTER INSERT ON entry BEGIN "
	                                    "INSERT INTO f_content VALUES(7, 'x'); END"),
	                 SQLITE_OK);
	struct ledger *ledger = open_ledger(copy_path);
	assert_int_equal(reserve(ledger, 1e-9, run, &error), CUTTLE_LEDGER);
	ledger_close(&ledger);
	assert_int_equal(verify(copy_path, NULL, NULL), CUTTLE_LEDGER);
}

static unsigned char watched_key[CHAIN_KEY];
static bool watches;
static size_t keys_left; /* blocks that cuttle freed with the key in them */

void __real_free(void *block);
void __wrap_free(void *block);

void __wrap_free(void *block) {
	if (block && watches)
		keys_left +=
		    memmem(block, malloc_usable_size(block), watched_key, CHAIN_KEY) != NULL;
	__real_free(block);
}

static void the_key_is_wiped(void **state) {
	(void)state;
	struct chain *chain;
	struct ledger *ledger = fresh(1, "");
	ledger_close(&ledger);
	assert_int_equal(chain_open(path, &chain, NULL), CUTTLE_OK);
	memcpy(watched_key, chain_key(chain), CHAIN_KEY);
	assert_false(sodium_is_zero(watched_key, CHAIN_KEY));
	watches = true;
	chain_close(&chain);
	void *volatile seen = malloc(CHAIN_KEY); // a compiler would leave the copy out
	assert_non_null(seen);
	assert_int_equal(keys_left, 0);
	memcpy(seen, watched_key, CHAIN_KEY);
	free(seen);
	watches = false;
	assert_int_equal(keys_left, 1); // so it would have been seen
}

static enum cuttle_status last_hash(void *user, const struct chain_entry *entry) {
	(void)strcpy(user, entry->hash);
	return CUTTLE_OK;
}

static void an_older_copy_lacks_the_head(void **state) {
	(void)state;
	static char bytes[1 << 17];
	const size_t size = sample(bytes, sizeof bytes);
	char run[LEDGER_RUN], head[HASH_TEXT];
	struct cuttle_error error;
	struct ledger *ledger = open_ledger(path);
	assert_int_equal(reserve(ledger, 1, run, NULL), CUTTLE_OK);
	assert_int_equal(ledger_walk(ledger, "notes", last_hash, head, NULL), CUTTLE_OK);
	ledger_close(&ledger);
	assert_int_equal(verify(path, head, NULL), CUTTLE_OK);
	put_copy(bytes, size);
	assert_int_equal(verify(copy_path, NULL, NULL), CUTTLE_OK);
	assert_int_equal(verify(copy_path, head, &error), CUTTLE_LEDGER);
	assert_non_null(strstr(error.message, "older copy"));
}

static void busy_is_said(void **state) {
	(void)state;
	struct ledger *ledger = fresh(1, "");
	char run[LEDGER_RUN];
	assert_int_equal(reserve(ledger, 0.5, run, NULL), CUTTLE_OK);
	ledger_close(&ledger);
	// A ledger on a medium that cannot be written, or that belongs to another.
	assert_int_equal(chmod(path, 0), 0);
	if (geteuid() != 0) assert_int_equal(ledger_open(path, &ledger, NULL), CUTTLE_LEDGER);
	assert_int_equal(chmod(path, 0600), 0);
	struct cuttle_error error;
	assert_int_equal(ledger_open("/dev/null", &ledger, &error), CUTTLE_LEDGER);
	assert_non_null(strstr(error.message, "is not a regular file"));
	assert_int_equal(ledger_open("/nonexistent/ledger", &ledger, NULL), CUTTLE_LEDGER);
	assert_null(ledger);
	assert_int_equal(ledger_create("/nonexistent/ledger", NULL), CUTTLE_LEDGER);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sums_never_lose),
	    cmocka_unit_test(numbers_are_shown_to_the_safe_side),
	    cmocka_unit_test(epsilons_round_both_ways),
	    cmocka_unit_test(numbers_are_read_as_typed),
	    cmocka_unit_test(typed_numbers_add_up_exactly),
	    cmocka_unit_test(typed_sums_do_not_wrap),
	    cmocka_unit_test(computed_numbers_are_doubles),
	    cmocka_unit_test(limits_are_checked),
	    cmocka_unit_test(bad_charges_are_refused),
	    cmocka_unit_test(a_tiny_charge_is_not_lost),
	    cmocka_unit_test(refusals_say_the_numbers),
	    cmocka_unit_test(lines_compose_in_parallel),
	    cmocka_unit_test(keys_add_up_per_person),
	    cmocka_unit_test(old_charges_of_numbers_stand),
	    cmocka_unit_test(a_person_s_tiny_charges_are_not_lost),
	    cmocka_unit_test(names_of_persons_depend_on_ledger_and_data_set),
	    cmocka_unit_test(lines_look_at_no_record),
	    cmocka_unit_test(what_was_drawn_stays),
	    cmocka_unit_test(one_charge_one_output),
	    cmocka_unit_test(how_far_a_run_has_come_only_grows),
	    cmocka_unit_test(a_charge_is_for_whom_it_was_made),
	    cmocka_unit_test(an_older_charge_pays_for_what_it_was_made_for),
	    cmocka_unit_test(every_flipped_byte_is_found),
	    cmocka_unit_test(other_lengths_are_found),
	    cmocka_unit_test(parts_of_pages_are_checked),
	    cmocka_unit_test(edits_by_sql_are_found),
	    cmocka_unit_test(a_trigger_of_somebody_is_kept_out),
	    cmocka_unit_test(the_key_is_wiped),
	    cmocka_unit_test(an_older_copy_lacks_the_head),
	    cmocka_unit_test(busy_is_said),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
