// SPDX-License-Identifier: Apache-2.0
// stage_ledger.h: a ledger that a test holds at the moment when the server asks it, for a program
// that is linked with --wrap=budgets_fit and --wrap=job_charged. A test that holds the ledger and
// then sleeps would not know whether the server has asked meanwhile.
#ifndef CUTTLE_TESTS_SERVE_STAGE_LEDGER_H
#define CUTTLE_TESTS_SERVE_STAGE_LEDGER_H

#include "tests/serve/jobs_stage.h"

#include "io/disk/pages.h"
#include "serve/jobs/jobs_state.h"

#include <sqlite3.h>
#include <stdatomic.h>

/* Holds the ledger, as a process that writes to it; or `alone`, so that nobody reads it either. It
 * is free again when the handle is closed. */
static sqlite3 *hold_ledger(bool alone) {
	sqlite3 *held;
	assert_int_equal(sqlite3_open_v2(stage.ledger, &held, SQLITE_OPEN_READWRITE, pages_layer()),
	                 SQLITE_OK);
	(void)sqlite3_busy_timeout(held, 30000);
	if (alone)
		assert_int_equal(
		    sqlite3_exec(held, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL, NULL),
		    SQLITE_OK);
	assert_int_equal(sqlite3_exec(held, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	return held;
}

/* The server's questions to the ledger. Where the test says so, the next one finds it held. */
static struct {
	atomic_bool hold_room, hold_charge;
	sqlite3 *held;
	atomic_uint asked, answered; /* such questions */
} questions;

static void let_ledger_go(void) {
	assert_int_equal(questions.answered, 0);
	(void)sqlite3_close(questions.held);
	questions.asked = 0;
}

static void wait_for_question(void) {
	for (int i = 0; i < 6000 && !questions.asked; i++) stage_nap();
	assert_int_equal(questions.asked, 1);
}

enum cuttle_status __real_budgets_fit(const char *ledger, const char *dataset, const char *unit_key,
                                      const struct budgets_charge *charge,
                                      struct cuttle_error *error);
enum cuttle_status __wrap_budgets_fit(const char *ledger, const char *dataset, const char *unit_key,
                                      const struct budgets_charge *charge,
                                      struct cuttle_error *error);
enum cuttle_status __wrap_budgets_fit(const char *ledger, const char *dataset, const char *unit_key,
                                      const struct budgets_charge *charge,
                                      struct cuttle_error *error) {
	const bool hold = atomic_exchange(&questions.hold_room, false);
	if (hold) {
		questions.held = hold_ledger(false);
		questions.answered = 0;
		questions.asked = 1;
	}
	const enum cuttle_status status =
	    __real_budgets_fit(ledger, dataset, unit_key, charge, error);
	questions.answered += hold;
	return status;
}

enum cuttle_status __real_job_charged(const struct jobs *jobs, const char *id, const char *dataset,
                                      bool *charged, struct cuttle_error *error);
enum cuttle_status __wrap_job_charged(const struct jobs *jobs, const char *id, const char *dataset,
                                      bool *charged, struct cuttle_error *error);
enum cuttle_status __wrap_job_charged(const struct jobs *jobs, const char *id, const char *dataset,
                                      bool *charged, struct cuttle_error *error) {
	const bool hold = atomic_exchange(&questions.hold_charge, false);
	if (hold) {
		questions.held = hold_ledger(true);
		questions.answered = 0;
		questions.asked = 1;
	}
	const enum cuttle_status status = __real_job_charged(jobs, id, dataset, charged, error);
	questions.answered += hold;
	return status;
}

#endif
