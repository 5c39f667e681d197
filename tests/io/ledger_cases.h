// SPDX-License-Identifier: Apache-2.0
// ledger_cases.h: what the tests of the ledger share. It has a file of its own for each test, a
// new ledger in it, and charges.
#ifndef CUTTLE_TESTS_LEDGER_CASES_H
#define CUTTLE_TESTS_LEDGER_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/ledger.h"

static char folder[] = "/tmp/cuttle-ledger-XXXXXX";
static char path[64];
static const char COMMAND[] = "c0ffee";

static inline struct ledger *open_ledger(const char *file) {
	struct ledger *ledger;
	struct cuttle_error error = {{0}};
	if (ledger_open(file, &ledger, &error)) fail_msg("%s", error.message);
	return ledger;
}

static inline void remove_ledger(const char *file) {
	char name[80];
	static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
	for (size_t i = 0; i < 4; i++) {
		(void)snprintf(name, sizeof name, "%s%s", file, endings[i]);
		(void)unlink(name);
	}
}

/* A new ledger with one data set. */
static inline struct ledger *fresh(double rho, const char *unit_key) {
	struct cuttle_error error = {{0}};
	struct ledger_dataset dataset = {.name = "notes", .rho = rho, .delta = 1e-6};
	(void)strcpy(dataset.unit_key, unit_key);
	remove_ledger(path);
	if (ledger_create(path, &error)) fail_msg("%s", error.message);
	struct ledger *ledger = open_ledger(path);
	if (ledger_add(ledger, &dataset, &error)) fail_msg("%s", error.message);
	return ledger;
}

static inline enum cuttle_status reserve_span(struct ledger *ledger, double rho, uint64_t first,
                                              uint64_t count, char run[LEDGER_RUN],
                                              struct cuttle_error *error) {
	struct ledger_run found;
	ledger_name_run(run);
	const struct ledger_request request = {.dataset = "notes",
	                                       .run = run,
	                                       .command = COMMAND,
	                                       .rho = rho,
	                                       .first = first,
	                                       .count = count};
	return ledger_reserve(ledger, &request, false, &found, error);
}

static inline enum cuttle_status reserve(struct ledger *ledger, double rho, char run[LEDGER_RUN],
                                         struct cuttle_error *error) {
	return reserve_span(ledger, rho, 0, 10, run, error);
}

static inline struct ledger_standing standing(struct ledger *ledger) {
	struct ledger_standing now;
	assert_int_equal(ledger_look(ledger, "notes", &now, NULL), CUTTLE_OK);
	return now;
}

static inline enum cuttle_status verify(const char *file, const char *hash,
                                        struct cuttle_error *error) {
	struct ledger *ledger;
	uint64_t entries;
	char head[HASH_TEXT];
	enum cuttle_status status = ledger_open(file, &ledger, error);
	if (!status) status = ledger_verify(ledger, hash, &entries, head, error);
	ledger_close(&ledger);
	return status;
}

static inline void verifies(const char *file) {
	struct cuttle_error error = {{0}};
	if (verify(file, NULL, &error)) fail_msg("%s", error.message);
}

static inline long number_from(const char *name, long otherwise) {
	const char *text = getenv(name);
	return text && atol(text) > 0 ? atol(text) : otherwise;
}

#endif
