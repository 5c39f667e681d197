// SPDX-License-Identifier: Apache-2.0
// One table of SQLite, with a write-ahead log and synchronous=FULL: what a call changed is on the
// disk when it returns. serve/jobs/store.h says what the columns are.
#include "serve/jobs/store.h"

#include "base/misuse.h"
#include "io/disk/database.h"
#include "io/disk/fail.h"
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const NAMES[STORE_STATES] = {
    "awaiting_references", "queued", "running", "done", "failed", "cancelled"};

/* PRAGMA user_version of the file. 0: job alone, of servers before the trail. */
enum { VERSION = 1 };

static const char SCHEMA[] =
    "CREATE TABLE IF NOT EXISTS job(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, type TEXT "
    "NOT NULL, state TEXT NOT NULL, spec TEXT NOT NULL, fingerprint TEXT NOT NULL, dataset TEXT "
    "NOT NULL, run TEXT NOT NULL, owner TEXT NOT NULL, idempotency TEXT NOT NULL, failure TEXT NOT "
    "NULL, attempts INTEGER NOT NULL, place INTEGER NOT NULL, created INTEGER NOT NULL, "
    "UNIQUE(owner, idempotency)) STRICT; "
    "CREATE TABLE IF NOT EXISTS trail(number INTEGER PRIMARY KEY, written INTEGER NOT NULL, line "
    "TEXT NOT NULL) STRICT; "
    "CREATE TABLE IF NOT EXISTS turn(owner TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT; "
    "CREATE TABLE IF NOT EXISTS client(owner TEXT PRIMARY KEY, may TEXT NOT NULL) STRICT; "
    "PRAGMA user_version = 1";

struct store {
	struct database database;
	char *path; /* owned */
};

const char *store_state_name(enum store_state state) {
	REQUIRE(state < STORE_STATES);
	return NAMES[state];
}

bool store_state_ended(enum store_state state) {
	return state == STORE_DONE || state == STORE_FAILED || state == STORE_CANCELLED;
}

static enum store_state find_state(const char *name) {
	enum store_state state = 0;
	while (state < STORE_STATES && strcmp(NAMES[state], name) != 0) state++;
	return state;
}

/* Makes the tables that are not there. A list of a later version is left as it is. */
static enum cuttle_status migrate_list(struct store *store, struct cuttle_error *error) {
	int64_t version;
	enum cuttle_status status =
	    database_integer(&store->database, "PRAGMA user_version", &version, error);
	if (!status && version > VERSION)
		status =
		    io_fail(error, CUTTLE_INTERNAL,
		            "the list of jobs %s is of a later cuttle: use that one", store->path);
	if (status || version == VERSION) return status;
	status = store_begin(store, error);
	if (!status) status = database_execute(&store->database, SCHEMA, error);
	return status ? status : store_end(store, status, error);
}

enum cuttle_status store_open(const char *path, struct store **store, struct cuttle_error *error) {
	*store = NULL;
	const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0)
		return io_fail(error, CUTTLE_INTERNAL, "cannot open the list of jobs %s: %s", path,
		               strerror(errno));
	(void)close(file);
	enum cuttle_status status = database_one_name(path, "list of jobs", CUTTLE_INTERNAL, error);
	if (status) return status;
	struct store *made = calloc(1, sizeof *made);
	if (made) made->path = strdup(path);
	if (!made || !made->path) {
		free(made);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	made->database =
	    (struct database){NULL, "list of jobs", made->path, CUTTLE_INTERNAL, CUTTLE_PARTIAL};
	const int code = sqlite3_open_v2(path, &made->database.handle, SQLITE_OPEN_READWRITE, NULL);
	status = code == SQLITE_OK ? CUTTLE_OK : database_fail(&made->database, code, error);
	if (!status)
		status = database_execute(&made->database,
		                          "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
		                          "PRAGMA trusted_schema=OFF; PRAGMA secure_delete=ON",
		                          error);
	if (!status) status = migrate_list(made, error);
	if (status) store_close(&made);
	*store = made;
	return status;
}

void store_close(struct store **store) {
	struct store *old = *store;
	if (!old) return;
	(void)sqlite3_close(old->database.handle);
	free(old->path);
	free(old);
	*store = NULL;
}

enum cuttle_status store_begin(struct store *store, struct cuttle_error *error) {
	return database_execute(&store->database, "BEGIN IMMEDIATE", error);
}

enum cuttle_status store_end(struct store *store, enum cuttle_status status,
                             struct cuttle_error *error) {
	if (!status) status = database_execute(&store->database, "COMMIT", error);
	// A full disk may have ended it already.
	if (status && !sqlite3_get_autocommit(store->database.handle))
		(void)database_execute(&store->database, "ROLLBACK", NULL);
	return status;
}

void store_name(char id[STORE_ID]) {
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	memcpy(id, "job_", 4);
	for (size_t i = 4; i + 1 < STORE_ID; i++) id[i] = letters[randombytes_uniform(32)];
	id[STORE_ID - 1] = 0;
}

/* Steps a statement that answers nothing, and ends it. */
static enum cuttle_status finish_statement(const struct store *store, sqlite3_stmt *statement,
                                           struct cuttle_error *error) {
	const int code = sqlite3_step(statement);
	(void)sqlite3_finalize(statement);
	return code == SQLITE_DONE ? CUTTLE_OK : database_fail(&store->database, code, error);
}

/* Binds a text, or NULL. */
static void bind_text(sqlite3_stmt *statement, int at, const char *text) {
	(void)sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

enum cuttle_status store_add(struct store *store, const struct store_job *job,
                             struct cuttle_error *error) {
	sqlite3_stmt *statement;
	const char *const texts[] = {job->id,          store_state_name(job->state),
	                             job->type,        job->spec,
	                             job->fingerprint, job->dataset,
	                             job->run,         job->owner,
	                             job->idempotency, job->failure};
	enum { TEXTS = sizeof texts / sizeof *texts };
	const enum cuttle_status status =
	    database_prepare(&store->database,
	                     "INSERT INTO job(id, state, type, spec, fingerprint, dataset, run, "
	                     "owner, idempotency, failure, attempts, place, created) VALUES(?1, "
	                     "?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
	                     &statement, error);
	if (status) return status;
	for (int i = 0; i < TEXTS; i++) bind_text(statement, i + 1, texts[i]);
	(void)sqlite3_bind_int64(statement, TEXTS + 1, job->attempts);
	(void)sqlite3_bind_int64(statement, TEXTS + 2, job->place);
	(void)sqlite3_bind_int64(statement, TEXTS + 3, job->created);
	return finish_statement(store, statement, error);
}

enum cuttle_status store_change(struct store *store, const struct store_job *job,
                                struct cuttle_error *error) {
	sqlite3_stmt *statement;
	const enum cuttle_status status =
	    database_prepare(&store->database,
	                     "UPDATE job SET state = ?2, spec = ?3, fingerprint = ?4, run = ?5, "
	                     "failure = ?6, attempts = ?7, place = ?8 WHERE id = ?1",
	                     &statement, error);
	if (status) return status;
	bind_text(statement, 1, job->id);
	bind_text(statement, 2, store_state_name(job->state));
	bind_text(statement, 3, job->spec);
	bind_text(statement, 4, job->fingerprint);
	bind_text(statement, 5, job->run);
	bind_text(statement, 6, job->failure);
	(void)sqlite3_bind_int64(statement, 7, job->attempts);
	(void)sqlite3_bind_int64(statement, 8, job->place);
	return finish_statement(store, statement, error);
}

enum cuttle_status store_remove(struct store *store, const char *id, struct cuttle_error *error) {
	sqlite3_stmt *statement;
	const enum cuttle_status status =
	    database_prepare(&store->database, "DELETE FROM job WHERE id = ?1", &statement, error);
	if (status) return status;
	bind_text(statement, 1, id);
	return finish_statement(store, statement, error);
}

enum cuttle_status store_adopt(struct store *store, const char *id, const char *owner,
                               struct cuttle_error *error) {
	sqlite3_stmt *statement;
	const enum cuttle_status status = database_prepare(
	    &store->database,
	    // Of two jobs with one idempotency key, the older server's gives it up.
	    "UPDATE job SET owner = ?2, idempotency = CASE WHEN EXISTS (SELECT 1 FROM job AS newer "
	    "WHERE newer.owner = ?2 AND newer.idempotency = job.idempotency) THEN id "
	    "ELSE idempotency END WHERE owner = ?1",
	    &statement, error);
	if (status) return status;
	bind_text(statement, 1, id);
	bind_text(statement, 2, owner);
	return finish_statement(store, statement, error);
}

enum cuttle_status store_disown(struct store *store, struct cuttle_error *error) {
	return database_execute(&store->database,
	                        "UPDATE job SET owner = owner || '#', idempotency = id "
	                        "WHERE owner <> '' AND instr(owner, '#') = 0",
	                        error);
}

enum cuttle_status store_recover(struct store *store, struct cuttle_error *error) {
	return database_execute(
	    &store->database,
	    "UPDATE job SET state = CASE failure WHEN '" STORE_CANCELLING
	    "' THEN 'cancelled' ELSE 'queued' END, failure = '' WHERE state = 'running'",
	    error);
}

enum cuttle_status store_turn(struct store *store, const char *owner, struct cuttle_error *error) {
	sqlite3_stmt *statement;
	const enum cuttle_status status =
	    database_prepare(&store->database,
	                     "INSERT INTO turn(owner, number) SELECT ?1, coalesce(max(number), 0) "
	                     "+ 1 FROM turn WHERE "
	                     "true ON CONFLICT(owner) DO UPDATE SET number = excluded.number",
	                     &statement, error);
	if (status) return status;
	bind_text(statement, 1, owner);
	return finish_statement(store, statement, error);
}

enum cuttle_status store_next(struct store *store, char id[STORE_ID], struct cuttle_error *error) {
	sqlite3_stmt *statement;
	*id = 0;
	const enum cuttle_status status = database_prepare(
	    &store->database,
	    "SELECT id FROM job LEFT JOIN turn USING(owner) WHERE state = 'queued' ORDER BY "
	    "coalesce(turn.number, 0), place, job.number LIMIT 1",
	    &statement, error);
	if (status) return status;
	const int code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		(void)snprintf(id, STORE_ID, "%s",
		               (const char *)(const void *)sqlite3_column_text(statement, 0));
	(void)sqlite3_finalize(statement);
	return code == SQLITE_ROW || code == SQLITE_DONE
	           ? CUTTLE_OK
	           : database_fail(&store->database, code, error);
}

enum cuttle_status store_last_place(struct store *store, int64_t *place,
                                    struct cuttle_error *error) {
	return database_integer(&store->database, "SELECT coalesce(max(place), 0) + 1 FROM job",
	                        place, error);
}

static const char *read_text(sqlite3_stmt *statement, int column) {
	const void *text = sqlite3_column_text(statement, column);
	return text ? text : "";
}

static struct store_job read_job(sqlite3_stmt *statement) {
	struct store_job job = {.state = find_state(read_text(statement, 1)),
	                        .type = read_text(statement, 2),
	                        .spec = read_text(statement, 3),
	                        .fingerprint = read_text(statement, 4),
	                        .dataset = read_text(statement, 5),
	                        .run = read_text(statement, 6),
	                        .owner = read_text(statement, 7),
	                        .idempotency = read_text(statement, 8),
	                        .failure = read_text(statement, 9),
	                        .attempts = sqlite3_column_int64(statement, 10),
	                        .place = sqlite3_column_int64(statement, 11),
	                        .created = sqlite3_column_int64(statement, 12)};
	(void)strncpy(job.id, read_text(statement, 0), STORE_ID - 1);
	return job;
}

enum cuttle_status store_walk(struct store *store, const struct store_filter *filter,
                              enum cuttle_status (*each)(void *user, const struct store_job *job),
                              void *user, struct cuttle_error *error) {
	sqlite3_stmt *statement;
	enum cuttle_status status = database_prepare(
	    &store->database,
	    "SELECT id, state, type, spec, fingerprint, dataset, run, owner, idempotency, failure, "
	    "attempts, place, created FROM job WHERE (?1 IS NULL OR id = ?1) AND (?2 IS NULL OR "
	    "owner "
	    "= ?2) AND (?3 IS NULL OR idempotency = ?3) AND (?4 IS NULL OR state = ?4) ORDER BY "
	    "place, "
	    "number",
	    &statement, error);
	if (status) return status;
	bind_text(statement, 1, filter->id);
	bind_text(statement, 2, filter->owner);
	bind_text(statement, 3, filter->idempotency);
	if (filter->state != STORE_STATES) bind_text(statement, 4, NAMES[filter->state]);
	int code = SQLITE_ROW;
	while (!status && (code = sqlite3_step(statement)) == SQLITE_ROW) {
		const struct store_job job = read_job(statement);
		if (job.state == STORE_STATES)
			status = database_damaged(&store->database, "a job is in no state", error);
		else status = each(user, &job);
	}
	(void)sqlite3_finalize(statement);
	if (status || code == SQLITE_DONE) return status;
	return database_fail(&store->database, code, error);
}

/* ---- the audit trail ------------------------------------------------------------------------- */

enum cuttle_status store_trail_add(struct store *store, int64_t number, const char *line,
                                   struct cuttle_error *error) {
	sqlite3_stmt *statement;
	const enum cuttle_status status = database_prepare(
	    &store->database, "INSERT INTO trail(number, written, line) VALUES(?1, 0, ?2)",
	    &statement, error);
	if (status) return status;
	(void)sqlite3_bind_int64(statement, 1, number);
	bind_text(statement, 2, line);
	return finish_statement(store, statement, error);
}

enum cuttle_status store_trail_written(struct store *store, int64_t number,
                                       struct cuttle_error *error) {
	static const char *const changes[] = {"DELETE FROM trail WHERE number < ?1",
	                                      "UPDATE trail SET written = 1 WHERE number = ?1"};
	enum cuttle_status status = store_begin(store, error);
	if (status) return status;
	for (size_t i = 0; i < 2 && !status; i++) {
		sqlite3_stmt *statement;
		status = database_prepare(&store->database, changes[i], &statement, error);
		if (status) break;
		(void)sqlite3_bind_int64(statement, 1, number);
		status = finish_statement(store, statement, error);
	}
	return store_end(store, status, error);
}

enum cuttle_status store_trail_forget(struct store *store, struct cuttle_error *error) {
	return database_execute(&store->database, "DELETE FROM trail", error);
}

static enum cuttle_status walk_entries(const struct database *database,
                                       enum cuttle_status (*each)(void *user,
                                                                  const struct store_entry *entry),
                                       void *user, struct cuttle_error *error) {
	sqlite3_stmt *statement;
	enum cuttle_status status = database_prepare(
	    database, "SELECT number, written, line FROM trail ORDER BY number", &statement, error);
	if (status) return status;
	int code = SQLITE_ROW;
	while (!status && (code = sqlite3_step(statement)) == SQLITE_ROW) {
		const struct store_entry entry = {sqlite3_column_int64(statement, 0),
		                                  sqlite3_column_int(statement, 1) != 0,
		                                  read_text(statement, 2)};
		status = each(user, &entry);
	}
	(void)sqlite3_finalize(statement);
	return status || code == SQLITE_DONE ? status : database_fail(database, code, error);
}

enum cuttle_status store_trail_walk(struct store *store,
                                    enum cuttle_status (*each)(void *user,
                                                               const struct store_entry *entry),
                                    void *user, struct cuttle_error *error) {
	return walk_entries(&store->database, each, user, error);
}

enum cuttle_status store_trail_peek(const char *path,
                                    enum cuttle_status (*each)(void *user,
                                                               const struct store_entry *entry),
                                    void *user, struct cuttle_error *error) {
	enum { PATIENCE_MS = 5000 };
	struct database database = {NULL, "list of jobs", path, CUTTLE_INTERNAL, CUTTLE_PARTIAL};
	int64_t version = 0;
	if (access(path, F_OK) != 0) return CUTTLE_OK;
	const int code = sqlite3_open_v2(path, &database.handle, SQLITE_OPEN_READONLY, NULL);
	enum cuttle_status status =
	    code == SQLITE_OK ? CUTTLE_OK : database_fail(&database, code, error);
	if (!status) (void)sqlite3_busy_timeout(database.handle, PATIENCE_MS);
	if (!status) status = database_integer(&database, "PRAGMA user_version", &version, error);
	if (!status && version) status = walk_entries(&database, each, user, error);
	(void)sqlite3_close(database.handle);
	return status;
}

enum cuttle_status store_key_put(struct store *store, const char *owner, const char *may,
                                 struct cuttle_error *error) {
	sqlite3_stmt *statement;
	const enum cuttle_status status = database_prepare(
	    &store->database,
	    may ? "INSERT INTO client(owner, may) VALUES(?1, ?2) ON CONFLICT(owner) DO UPDATE "
	          "SET may = ?2"
	        : "DELETE FROM client WHERE owner = ?1",
	    &statement, error);
	if (status) return status;
	bind_text(statement, 1, owner);
	if (may) bind_text(statement, 2, may);
	return finish_statement(store, statement, error);
}

enum cuttle_status store_key_walk(struct store *store,
                                  enum cuttle_status (*each)(void *user, const char *owner,
                                                             const char *may),
                                  void *user, struct cuttle_error *error) {
	sqlite3_stmt *statement;
	enum cuttle_status status = database_prepare(
	    &store->database, "SELECT owner, may FROM client ORDER BY owner", &statement, error);
	if (status) return status;
	int code = SQLITE_ROW;
	while (!status && (code = sqlite3_step(statement)) == SQLITE_ROW)
		status = each(user, read_text(statement, 0), read_text(statement, 1));
	(void)sqlite3_finalize(statement);
	return status || code == SQLITE_DONE ? status
	                                     : database_fail(&store->database, code, error);
}
