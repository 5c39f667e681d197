// SPDX-License-Identifier: Apache-2.0
// ledger_cases.h: what the tests of the ledger share. It has a file of its own for each test, a
// new ledger in it, charges, and edits of a copy.
#ifndef CUTTLE_TESTS_LEDGER_CASES_H
#define CUTTLE_TESTS_LEDGER_CASES_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/ledger/ledger.h"
#include "io/disk/pages.h"

static char folder[] = "/tmp/cuttle-ledger-XXXXXX";
static char path[64], copy_path[64];
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

/* A new ledger with one data set, which counts Renyi losses at the order. Order 0: rho. */
static inline struct ledger *fresh_measure(unsigned order, double limit, const char *unit_key) {
	struct cuttle_error error = {{0}};
	struct ledger_dataset dataset = {.name = "notes",
	                                 .rho = limit,
	                                 .delta = 1e-6,
	                                 .measure = order ? LEDGER_RDP : LEDGER_RHO,
	                                 .order = order};
	(void)strcpy(dataset.unit_key, unit_key);
	remove_ledger(path);
	if (ledger_create(path, &error)) fail_msg("%s", error.message);
	struct ledger *ledger = open_ledger(path);
	if (ledger_add(ledger, &dataset, &error)) fail_msg("%s", error.message);
	return ledger;
}

static inline struct ledger *fresh(double rho, const char *unit_key) {
	return fresh_measure(0, rho, unit_key);
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

/* ---- owners and edits ------------------------------------------------------------------------ */

/* The owner of record `index`: a name of the list that `user` is, or nobody. */
static inline bool owner(void *user, uint64_t index, const char **value, size_t *size) {
	const char *name = ((const char *const *)user)[index];
	if (!name) return false;
	*value = name;
	*size = strlen(name);
	return true;
}

/* Charges the owners in the list, in rho or at the order. */
static inline enum cuttle_status reserve_owners(struct ledger *ledger, unsigned order, double cost,
                                                const char *const *names, uint64_t count,
                                                uint64_t batch, struct ledger_run *found,
                                                struct cuttle_error *error) {
	char run[LEDGER_RUN];
	ledger_name_run(run);
	const struct ledger_request request = {.dataset = "notes",
	                                       .run = run,
	                                       .command = COMMAND,
	                                       .rho = cost,
	                                       .measure = order ? LEDGER_RDP : LEDGER_RHO,
	                                       .order = order,
	                                       .count = count,
	                                       .batch = batch,
	                                       .user = (void *)(uintptr_t)names,
	                                       .unit = owner};
	return ledger_reserve(ledger, &request, false, found, error);
}

/* Makes the file copy_path of these bytes. */
static inline void put_copy(const char *bytes, size_t size) {
	remove_ledger(copy_path);
	int file = open(copy_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(file, bytes, size), size);
	assert_int_equal(close(file), 0);
}

static inline int collect(void *user, int columns, char **values, char **names) {
	char *drop = ((char **)user)[0], *create = ((char **)user)[1];
	(void)columns;
	(void)names;
	(void)sprintf(drop + strlen(drop), "DROP TRIGGER %s;", values[0]);
	(void)sprintf(create + strlen(create), "%s;", values[1]);
	return 0;
}

/* Takes all triggers away, edits, and puts them back as they were. */
static inline void without_triggers(const char *edit) {
	sqlite3 *database;
	char drop[4096] = "", create[4096] = "", *both[] = {drop, create};
	assert_int_equal(
	    sqlite3_open_v2(copy_path, &database, SQLITE_OPEN_READWRITE, pages_layer()), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(
	        database,
	        "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid",
	        collect, both, NULL),
	    SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, drop, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, edit, NULL, NULL, NULL), SQLITE_OK);
	assert_true(sqlite3_changes(database) == 1);
	assert_int_equal(sqlite3_exec(database, create, NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(database);
}

/* For cmocka_run_group_tests: the folder of `path` and `copy_path`. */
static inline int make_folder(void **state) {
	(void)state;
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(path, sizeof path, "%s/ledger", folder);
	(void)snprintf(copy_path, sizeof copy_path, "%s/copy", folder);
	return 0;
}

static inline int remove_folder(void **state) {
	(void)state;
	remove_ledger(path);
	remove_ledger(copy_path);
	return rmdir(folder);
}

#endif
