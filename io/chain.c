// SPDX-License-Identifier: Apache-2.0
// The hash-chained table in SQLite.
#include "io/chain.h"

#include "base/misuse.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/jsonout.h"
#include "io/pages.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUSY_MS = 10000, APPLICATION = 0x43744C67 }; /* "CtLg" */

static const char *const SCHEMA[] = {
    "CREATE TABLE secret(id INTEGER PRIMARY KEY CHECK(id = 1), key BLOB NOT NULL CHECK(length(key) = 32)) STRICT",
    "CREATE TABLE entry(number INTEGER PRIMARY KEY, time INTEGER NOT NULL, kind TEXT NOT NULL, dataset TEXT NOT NULL, run TEXT NOT NULL, "
    "command TEXT NOT NULL, unit_key TEXT NOT NULL, rho REAL NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL, by_key INTEGER NOT "
    "NULL, "
    "charges BLOB NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL) STRICT",
    "CREATE TRIGGER secret_once BEFORE INSERT ON secret WHEN EXISTS(SELECT 1 FROM secret) "
    "BEGIN SELECT RAISE(ABORT, 'the key is there already'); END",
    "CREATE TRIGGER secret_update BEFORE UPDATE ON secret BEGIN SELECT RAISE(ABORT, 'the key never changes'); END",
    "CREATE TRIGGER secret_delete BEFORE DELETE ON secret BEGIN SELECT RAISE(ABORT, 'the key never goes'); END",
    // Without recursive triggers REPLACE deletes unseen; it needs a number that exists, and that is refused here.
    "CREATE TRIGGER entry_in_turn BEFORE INSERT ON entry WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM entry) "
    "BEGIN SELECT RAISE(ABORT, 'entries are added at the end'); END",
    "CREATE TRIGGER entry_update BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'entries never change'); END",
    "CREATE TRIGGER entry_delete BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'entries never go'); END",
};
enum { SCHEMA_COUNT = sizeof SCHEMA / sizeof *SCHEMA };

struct chain {
	sqlite3 *database;
	char *path;
	unsigned char key[CHAIN_KEY];
	int64_t last; /* of the last walk or append */
	char head[HASH_TEXT];
};

static enum cuttle_status damaged(const struct chain *chain, const char *what, struct cuttle_error *error) {
	return io_fail(error, CUTTLE_LEDGER, "the ledger %s is damaged or was edited: %s", chain->path, what);
}

static enum cuttle_status failed(const struct chain *chain, int code, struct cuttle_error *error) {
	switch (code & 0xFF) {
	case SQLITE_NOMEM:
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_PROTOCOL:
		return io_fail(error, CUTTLE_LEDGER, "the ledger %s is busy: another process holds it", chain->path);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return damaged(chain, "a page is not as it was written", error);
	default:
		return io_fail(error, CUTTLE_LEDGER, "the ledger %s cannot be used: %s", chain->path, sqlite3_errstr(code));
	}
}

static enum cuttle_status execute(struct chain *chain, const char *sql, struct cuttle_error *error) {
	int code = sqlite3_exec(chain->database, sql, NULL, NULL, NULL);
	return code == SQLITE_OK ? CUTTLE_OK : failed(chain, code, error);
}

static enum cuttle_status prepare(struct chain *chain, const char *sql, sqlite3_stmt **statement, struct cuttle_error *error) {
	int code = sqlite3_prepare_v2(chain->database, sql, -1, statement, NULL);
	return code == SQLITE_OK ? CUTTLE_OK : failed(chain, code, error);
}

/* The first column of the first row, which the statement must have. */
static enum cuttle_status integer(struct chain *chain, const char *sql, int64_t *value, struct cuttle_error *error) {
	sqlite3_stmt *statement;
	enum cuttle_status status = prepare(chain, sql, &statement, error);
	if (status) return status;
	int code = sqlite3_step(statement);
	*value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
	(void)sqlite3_finalize(statement);
	return code == SQLITE_ROW ? CUTTLE_OK : failed(chain, code, error);
}

/* ---- opening ------------------------------------------------------------------------------------------------------------------------- */

static enum cuttle_status connect(const char *path, struct chain **chain, struct cuttle_error *error) {
	*chain = NULL;
	struct stat state;
	if (stat(path, &state) != 0) return io_fail(error, CUTTLE_LEDGER, "cannot open the ledger %s: %s", path, strerror(errno));
	if (!S_ISREG(state.st_mode)) return io_fail(error, CUTTLE_LEDGER, "the ledger %s is not a regular file", path);
	const char *layer = pages_layer();
	struct chain *made = calloc(1, sizeof *made);
	if (made) made->path = strdup(path);
	if (!layer || !made || !made->path) {
		free(made);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	int code = sqlite3_open_v2(path, &made->database, SQLITE_OPEN_READWRITE, layer);
	if (code == SQLITE_OK) code = sqlite3_busy_timeout(made->database, BUSY_MS);
	if (code == SQLITE_OK) code = sqlite3_db_config(made->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	enum cuttle_status status = code == SQLITE_OK ? CUTTLE_OK : failed(made, code, error);
	if (!status) status = execute(made, "PRAGMA synchronous=FULL; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON", error);
	if (status) chain_close(&made);
	*chain = made;
	return status;
}

static enum cuttle_status read_key(struct chain *chain, struct cuttle_error *error) {
	sqlite3_stmt *statement;
	enum cuttle_status status = prepare(chain, "SELECT key FROM secret", &statement, error);
	if (status) return status;
	int code = sqlite3_step(statement);
	const void *key = code == SQLITE_ROW ? sqlite3_column_blob(statement, 0) : NULL;
	if (key && sqlite3_column_bytes(statement, 0) == CHAIN_KEY) memcpy(chain->key, key, CHAIN_KEY);
	else status = code == SQLITE_ROW || code == SQLITE_DONE ? damaged(chain, "its key is missing", error) : failed(chain, code, error);
	(void)sqlite3_finalize(statement);
	return status;
}

enum cuttle_status chain_open(const char *path, struct chain **chain, struct cuttle_error *error) {
	int64_t application, tables;
	enum cuttle_status status = connect(path, chain, error);
	if (status) return status;
	status = integer(*chain, "SELECT count(*) FROM sqlite_schema WHERE name IN ('secret', 'entry')", &tables, error);
	if (!status) status = integer(*chain, "PRAGMA application_id", &application, error);
	if (!status && (tables != 2 || application != APPLICATION))
		status = io_fail(error, CUTTLE_LEDGER, "%s is not a ledger; cuttle ledger init makes one", path);
	if (!status) status = read_key(*chain, error);
	if (status) chain_close(chain);
	return status;
}

void chain_close(struct chain **chain) {
	struct chain *old = *chain;
	if (!old) return;
	(void)sqlite3_close(old->database);
	sodium_memzero(old->key, sizeof old->key);
	free(old->path);
	free(old);
	*chain = NULL;
}

const unsigned char *chain_key(const struct chain *chain) {
	return chain->key;
}

static enum cuttle_status fill(struct chain *chain, struct cuttle_error *error) {
	char sql[256], key[2 * CHAIN_KEY + 1];
	enum cuttle_status status = CUTTLE_OK;
	randombytes_buf(chain->key, sizeof chain->key);
	(void)sodium_bin2hex(key, sizeof key, chain->key, sizeof chain->key);
	for (size_t i = 0; !status && i < SCHEMA_COUNT; i++) status = execute(chain, SCHEMA[i], error);
	(void)snprintf(sql, sizeof sql, "PRAGMA application_id=%d; INSERT INTO secret VALUES(1, x'%s')", APPLICATION, key);
	if (!status) status = execute(chain, sql, error);
	sodium_memzero(sql, sizeof sql);
	sodium_memzero(key, sizeof key);
	return status;
}

enum cuttle_status chain_create(const char *path, struct cuttle_error *error) {
	struct chain *chain;
	int64_t things;
	int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0 && errno != EEXIST) return io_fail(error, CUTTLE_LEDGER, "cannot create the ledger %s: %s", path, strerror(errno));
	if (file >= 0) (void)close(file);
	enum cuttle_status status = connect(path, &chain, error);
	if (status) return status;
	int reserved = PAGES_RESERVED;
	status = execute(chain, "PRAGMA page_size=4096", error);
	if (!status) (void)sqlite3_file_control(chain->database, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
	if (!status) status = execute(chain, "PRAGMA journal_mode=WAL", error);
	if (!status) status = chain_begin(chain, error);
	if (!status) {
		// Another process may have been faster, or an earlier one been killed before this.
		status = integer(chain, "SELECT count(*) FROM sqlite_schema", &things, error);
		if (!status && !things) status = fill(chain, error);
		status = chain_end(chain, status, error);
	}
	chain_close(&chain);
	int problem = status ? 0 : file_sync_folder(path);
	if (problem) return io_fail(error, CUTTLE_LEDGER, "cannot create the ledger %s: %s", path, strerror(problem));
	if (!status) status = chain_open(path, &chain, error);
	if (!status) chain_close(&chain);
	return status;
}

/* ---- transactions -------------------------------------------------------------------------------------------------------------------- */

enum cuttle_status chain_begin(struct chain *chain, struct cuttle_error *error) {
	return execute(chain, "BEGIN IMMEDIATE", error);
}

enum cuttle_status chain_end(struct chain *chain, enum cuttle_status status, struct cuttle_error *error) {
	if (!status) status = execute(chain, "COMMIT", error);
	if (status) (void)execute(chain, "ROLLBACK", NULL);
	return status;
}

/* ---- entries ------------------------------------------------------------------------------------------------------------------------- */

/* All 17 digits: a hash of less would not notice a change of the last ones. */
static json_t *exact(double value) {
	char digits[32];
	(void)snprintf(digits, sizeof digits, "%.17g", value);
	return json_string(digits);
}

char *chain_json(const struct chain_entry *entry, bool with_hash, size_t *size) {
	const struct jsonout_member members[] = {
	    {"by_key", json_boolean(entry->charges.by_key)},
	    {"charges_sha256", json_string(entry->charges_sha256)},
	    {"command", json_string(entry->command)},
	    {"dataset", json_string(entry->dataset)},
	    {"delta", exact(entry->delta)},
	    {"epsilon", exact(entry->epsilon)},
	    {"kind", json_string(entry->kind)},
	    {"number", json_integer(entry->number)},
	    {"previous", json_string(entry->previous)},
	    {"rho", exact(entry->rho)},
	    {"run", json_string(entry->run)},
	    {"time", json_integer(entry->time)},
	    {"unit_key", json_string(entry->unit_key)},
	};
	json_t *start = json_pack(with_hash ? "{s:s}" : "{}", "hash", entry->hash);
	return jsonout_dump(jsonout_extend(start, members, sizeof members / sizeof *members), JSON_SORT_KEYS | JSON_COMPACT, size);
}

static bool hash_entry(const struct chain_entry *entry, char hash[HASH_TEXT]) {
	size_t size;
	char *text = chain_json(entry, false, &size);
	if (text) hash_of(text, size, hash);
	free(text);
	return text != NULL;
}

static const char COLUMNS[] = "number, time, kind, dataset, run, command, unit_key, rho, epsilon, delta, by_key, charges, previous, hash";
enum { NUMBER, TIME, KIND, DATASET, RUN, COMMAND, UNIT_KEY, RHO, EPSILON, DELTA, BY_KEY, CHARGES, PREVIOUS, HASH };

/* False: a text is missing. */
static bool read_entry(sqlite3_stmt *row, struct chain_entry *entry) {
	const char *texts[HASH + 1];
	static const int TEXTS[] = {KIND, DATASET, RUN, COMMAND, UNIT_KEY, PREVIOUS, HASH};
	for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
		if (!(texts[TEXTS[i]] = (const char *)sqlite3_column_text(row, TEXTS[i]))) return false;
	*entry = (struct chain_entry){.number = sqlite3_column_int64(row, NUMBER),
	                              .time = sqlite3_column_int64(row, TIME),
	                              .kind = texts[KIND],
	                              .dataset = texts[DATASET],
	                              .run = texts[RUN],
	                              .command = texts[COMMAND],
	                              .unit_key = texts[UNIT_KEY],
	                              .rho = sqlite3_column_double(row, RHO),
	                              .epsilon = sqlite3_column_double(row, EPSILON),
	                              .delta = sqlite3_column_double(row, DELTA),
	                              .charges = {.by_key = sqlite3_column_int(row, BY_KEY) != 0,
	                                          // Read only; the row keeps it.
	                                          .bytes = (unsigned char *)(uintptr_t)sqlite3_column_blob(row, CHARGES),
	                                          .size = (size_t)sqlite3_column_bytes(row, CHARGES)},
	                              .previous = texts[PREVIOUS],
	                              .hash = texts[HASH]};
	return true;
}

static enum cuttle_status check_entry(struct chain *chain, sqlite3_stmt *row, struct chain_entry *entry, char charges_sha256[HASH_TEXT],
                                      struct cuttle_error *error) {
	char hash[HASH_TEXT], what[64];
	(void)snprintf(what, sizeof what, "entry %lld is not as it was written", (long long)chain->last + 1);
	if (!read_entry(row, entry)) return damaged(chain, what, error);
	hash_of(entry->charges.bytes, entry->charges.size, charges_sha256);
	entry->charges_sha256 = charges_sha256;
	if (!hash_entry(entry, hash)) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (entry->number != chain->last + 1 || strcmp(entry->hash, hash) != 0 || strcmp(entry->previous, chain->head) != 0)
		return damaged(chain, what, error);
	if (!charges_valid(&entry->charges)) return damaged(chain, what, error);
	chain->last = entry->number;
	memcpy(chain->head, hash, sizeof hash);
	return CUTTLE_OK;
}

enum cuttle_status chain_walk(struct chain *chain, enum cuttle_status (*each)(void *user, const struct chain_entry *entry), void *user,
                              struct cuttle_error *error) {
	struct chain_entry entry;
	char sql[256], charges_sha256[HASH_TEXT];
	sqlite3_stmt *row;
	(void)snprintf(sql, sizeof sql, "SELECT %s FROM entry ORDER BY number", COLUMNS);
	enum cuttle_status status = prepare(chain, sql, &row, error);
	if (status) return status;
	chain->last = 0;
	hash_of(chain->key, sizeof chain->key, chain->head);
	int code = SQLITE_ROW;
	while (!status && (code = sqlite3_step(row)) == SQLITE_ROW) {
		status = check_entry(chain, row, &entry, charges_sha256, error);
		if (!status && each) status = each(user, &entry);
	}
	if (!status && code != SQLITE_DONE) status = failed(chain, code, error);
	(void)sqlite3_finalize(row);
	return status;
}

enum cuttle_status chain_append(struct chain *chain, const struct chain_entry *entry, char hash[HASH_TEXT], struct cuttle_error *error) {
	struct chain_entry added = *entry;
	char sql[256], charges_sha256[HASH_TEXT];
	sqlite3_stmt *row;
	hash_of(added.charges.bytes, added.charges.size, charges_sha256);
	added.number = chain->last + 1;
	added.previous = chain->head;
	added.charges_sha256 = charges_sha256;
	if (!hash_entry(&added, hash)) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	(void)snprintf(sql, sizeof sql, "INSERT INTO entry(%s) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", COLUMNS);
	enum cuttle_status status = prepare(chain, sql, &row, error);
	if (status) return status;
	const char *texts[] = {added.kind, added.dataset, added.run, added.command, added.unit_key};
	const double reals[] = {added.rho, added.epsilon, added.delta};
	int code = sqlite3_bind_int64(row, NUMBER + 1, added.number);
	code |= sqlite3_bind_int64(row, TIME + 1, added.time);
	for (int i = 0; i < 5; i++) code |= sqlite3_bind_text(row, KIND + 1 + i, texts[i], -1, SQLITE_STATIC);
	for (int i = 0; i < 3; i++) code |= sqlite3_bind_double(row, RHO + 1 + i, reals[i]);
	code |= sqlite3_bind_int(row, BY_KEY + 1, added.charges.by_key);
	code |= sqlite3_bind_blob64(row, CHARGES + 1, added.charges.size ? (const void *)added.charges.bytes : "", added.charges.size,
	                            SQLITE_STATIC);
	code |= sqlite3_bind_text(row, PREVIOUS + 1, added.previous, -1, SQLITE_STATIC);
	code |= sqlite3_bind_text(row, HASH + 1, hash, -1, SQLITE_STATIC);
	// Binding fails only for want of memory (or a size beyond SQLite's limits).
	if (code != SQLITE_OK) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status && (code = sqlite3_step(row)) != SQLITE_DONE) status = failed(chain, code, error);
	(void)sqlite3_finalize(row);
	if (status) return status;
	chain->last = added.number;
	memcpy(chain->head, hash, HASH_TEXT);
	return CUTTLE_OK;
}

/* ---- the file ------------------------------------------------------------------------------------------------------------------------ */

static enum cuttle_status check_schema(struct chain *chain, struct cuttle_error *error) {
	sqlite3_stmt *row;
	size_t count = 0;
	enum cuttle_status status = prepare(chain, "SELECT sql FROM sqlite_schema ORDER BY rowid", &row, error);
	if (status) return status;
	int code;
	while ((code = sqlite3_step(row)) == SQLITE_ROW) {
		const char *sql = (const char *)sqlite3_column_text(row, 0);
		if (count >= SCHEMA_COUNT || !sql || strcmp(sql, SCHEMA[count]) != 0) break;
		count++;
	}
	if (code != SQLITE_DONE && code != SQLITE_ROW) status = failed(chain, code, error);
	else if (code == SQLITE_ROW || count != SCHEMA_COUNT) status = damaged(chain, "its tables or triggers are others", error);
	(void)sqlite3_finalize(row);
	return status;
}

static enum cuttle_status check_pages(struct chain *chain, struct cuttle_error *error) {
	sqlite3_stmt *row;
	enum cuttle_status status = prepare(chain, "PRAGMA integrity_check", &row, error);
	if (status) return status;
	int code = sqlite3_step(row);
	const char *answer = code == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : NULL;
	if (code != SQLITE_ROW) status = failed(chain, code, error);
	else if (!answer || strcmp(answer, "ok") != 0) status = damaged(chain, "SQLite's integrity check fails", error);
	(void)sqlite3_finalize(row);
	return status;
}

enum cuttle_status chain_check(struct chain *chain, struct cuttle_error *error) {
	struct stat state;
	int64_t pages, busy;
	enum cuttle_status status = check_pages(chain, error);
	if (!status) status = check_schema(chain, error);
	if (!status) status = integer(chain, "PRAGMA page_count", &pages, error);
	// Only with an empty write-ahead log are the pages and the file the same length.
	if (!status) status = integer(chain, "PRAGMA wal_checkpoint(TRUNCATE)", &busy, error);
	if (!status && !busy && (stat(chain->path, &state) != 0 || state.st_size != pages * PAGES_SIZE))
		status = damaged(chain, "its length is wrong", error);
	return status;
}
