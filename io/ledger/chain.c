// SPDX-License-Identifier: Apache-2.0
// How the chain is kept. The file has two tables. "secret" has one row, the file's key. "entry" has
// a row for each entry, numbered 1, 2, 3 ...
//
// The hashes, with H for SHA-256:
//   entry 1   previous = H(key)               hash = H(its JSON, with previous, without hash)
//   entry 2   previous = hash of entry 1      hash = H(its JSON, with previous, without hash)
// So whoever changes entry 1 has to change every later entry too. A walk computes all hashes again.
//
// The table has no column for the order of a Renyi loss, nor for charges that are epsilons. So
// ledgers from before there were such losses stay as they are. The order stands behind the kind:
// "reserve rdp 2" in the column is the kind "reserve" of order 2, and "reserve epsilon" one of
// epsilons. Behind these stands "decimal" where the number was typed in decimal. Its JSON has
// members of its own. An older cuttle does not know them, so its hash comes out different, and it
// refuses the ledger.
#include "io/ledger/chain.h"

#include "base/misuse.h"
#include "io/disk/database.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/jsonout.h"
#include "io/disk/pages.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { APPLICATION = 0x43744C67 }; /* SQLite's application_id of a ledger: "CtLg" */

/* How long this process waits for another one that holds the ledger and changes nothing. 3,000 naps
 * of 5 to 15 ms are about 30 s. */
enum {
	SHORTEST_NAP_US = 5000, /* microseconds */
	NAP_SPREAD_US = 10000,  /* microseconds: a nap is up to this much longer */
	STILL_NAPS = 3000,      /* naps in a row without a change before giving up */
	LENGTH_TRIES = 3        /* to see the file while nobody adds to it */
};

static const char *const SCHEMA[] = {
    "CREATE TABLE secret(id INTEGER PRIMARY KEY CHECK(id = 1), key BLOB NOT NULL CHECK(length(key) "
    "= 32)) STRICT",
    "CREATE TABLE entry(number INTEGER PRIMARY KEY, time INTEGER NOT NULL, kind TEXT NOT NULL, "
    "dataset TEXT NOT NULL, run TEXT NOT NULL, "
    "command TEXT NOT NULL, unit_key TEXT NOT NULL, rho REAL NOT NULL, epsilon REAL NOT NULL, "
    "delta REAL NOT NULL, by_key INTEGER NOT "
    "NULL, "
    "charges BLOB NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL) STRICT",
    "CREATE TRIGGER secret_once BEFORE INSERT ON secret WHEN EXISTS(SELECT 1 FROM secret) "
    "BEGIN SELECT RAISE(ABORT, 'the key is there already'); END",
    "CREATE TRIGGER secret_update BEFORE UPDATE ON secret BEGIN SELECT RAISE(ABORT, 'the key never "
    "changes'); END",
    "CREATE TRIGGER secret_delete BEFORE DELETE ON secret BEGIN SELECT RAISE(ABORT, 'the key never "
    "goes'); END",
    // This also stops INSERT OR REPLACE. To replace an entry, SQLite deletes the old one. It does
    // not run entry_delete for that, because recursive_triggers is off. But replacing needs a
    // number that exists already, and this trigger accepts only the next free one.
    "CREATE TRIGGER entry_in_turn BEFORE INSERT ON entry WHEN NEW.number IS NOT (SELECT "
    "coalesce(max(number), 0) + 1 FROM entry) "
    "BEGIN SELECT RAISE(ABORT, 'entries are added at the end'); END",
    "CREATE TRIGGER entry_update BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'entries never "
    "change'); END",
    "CREATE TRIGGER entry_delete BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'entries never "
    "go'); END",
};
enum { SCHEMA_COUNT = sizeof SCHEMA / sizeof *SCHEMA };

/* The state of the ledger's files. A difference shows that another process wrote to the ledger. */
struct ledger_files {
	struct timespec file; /* when the ledger's file last changed */
	struct timespec log;  /* when its write-ahead log last changed; 0 without a log */
	off_t log_size;       /* bytes */
};

struct chain {
	struct database database;
	char *path;                    /* of the ledger's file; owned */
	char *log_path;                /* of its write-ahead log: path and "-wal"; owned */
	struct ledger_files last_seen; /* the files at the last nap of wait_for_turn */
	int still_naps;                /* naps since the files last changed */
	unsigned char key[CHAIN_KEY];
	int64_t last;         /* number of the last entry that was walked or appended; 0 = none */
	char head[HASH_TEXT]; /* its hash; without an entry the hash of the key */
};

static enum cuttle_status refuse_damaged_chain(const struct chain *chain, const char *what,
                                               struct cuttle_error *error) {
	return database_damaged(&chain->database, what, error);
}

static enum cuttle_status report_sqlite_error(const struct chain *chain, int code,
                                              struct cuttle_error *error) {
	return database_fail(&chain->database, code, error);
}

static enum cuttle_status execute_sql(struct chain *chain, const char *sql,
                                      struct cuttle_error *error) {
	return database_execute(&chain->database, sql, error);
}

static enum cuttle_status prepare_sql(struct chain *chain, const char *sql,
                                      sqlite3_stmt **statement, struct cuttle_error *error) {
	return database_prepare(&chain->database, sql, statement, error);
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct ledger_files look_at_files(const struct chain *chain) {
	struct stat file = {0}, log = {0};
	(void)stat(chain->path, &file);
	(void)stat(chain->log_path, &log); // fails if nobody has the ledger open: no log then
	return (struct ledger_files){file.st_mtim, log.st_mtim, log.st_size};
}

static bool is_same_moment(struct timespec a, struct timespec b) {
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* SQLite calls this when another process holds the lock. 1: SQLite tries again; 0: it gives up.
 * On a slow disk or a loaded machine other processes may get the lock first many times. That is no
 * reason to fail. So only naps count during which nobody changed the ledger. Naps are counted and
 * not seconds: on a machine so busy that this process hardly runs, the holder hardly runs either.
 */
static int wait_for_turn(void *user, int tries) {
	struct chain *chain = user;
	const struct ledger_files now = look_at_files(chain), *last = &chain->last_seen;
	const bool changed = !is_same_moment(now.file, last->file) ||
	                     !is_same_moment(now.log, last->log) || now.log_size != last->log_size;
	if (!tries || changed) chain->still_naps = 0;
	chain->last_seen = now;
	if (chain->still_naps++ == STILL_NAPS) return 0;
	// Naps have random lengths, so that two waiting processes do not wake together each time.
	const struct timespec nap = {
	    .tv_nsec = 1000L * (SHORTEST_NAP_US + (long)randombytes_uniform(NAP_SPREAD_US))};
	(void)nanosleep(&nap, NULL);
	return 1;
}

static enum cuttle_status open_database(const char *path, struct chain **chain,
                                        struct cuttle_error *error) {
	*chain = NULL;
	struct stat state;
	if (stat(path, &state) != 0)
		return io_fail(error, CUTTLE_LEDGER, "cannot open the ledger %s: %s", path,
		               strerror(errno));
	if (!S_ISREG(state.st_mode))
		return io_fail(error, CUTTLE_LEDGER, "the ledger %s is not a regular file", path);
	enum cuttle_status status = database_one_name(path, "ledger", CUTTLE_LEDGER, error);
	if (status) return status;
	const char *layer = pages_layer();
	struct chain *made = calloc(1, sizeof *made);
	if (made) made->path = strdup(path);
	// SQLite follows symbolic links, and its log stands beside the file itself.
	char *real = realpath(path, NULL);
	if (made && real) made->log_path = file_name(real, "-wal");
	free(real);
	if (!layer || !made || !made->path || !made->log_path) {
		chain_close(&made);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	made->database =
	    (struct database){NULL, "ledger", made->path, CUTTLE_LEDGER, CUTTLE_LEDGER};
	int code = sqlite3_open_v2(path, &made->database.handle, SQLITE_OPEN_READWRITE, layer);
	if (code == SQLITE_OK)
		code = sqlite3_busy_handler(made->database.handle, wait_for_turn, made);
	if (code == SQLITE_OK)
		code = sqlite3_db_config(made->database.handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	status = code == SQLITE_OK ? CUTTLE_OK : report_sqlite_error(made, code, error);
	if (!status)
		status = execute_sql(
		    made,
		    "PRAGMA synchronous=FULL; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON",
		    error);
	if (status) chain_close(&made);
	*chain = made;
	return status;
}

static enum cuttle_status read_key(struct chain *chain, struct cuttle_error *error) {
	sqlite3_stmt *statement;
	enum cuttle_status status = prepare_sql(chain, "SELECT key FROM secret", &statement, error);
	if (status) return status;
	int code = sqlite3_step(statement);
	const void *key = code == SQLITE_ROW ? sqlite3_column_blob(statement, 0) : NULL;
	if (key && sqlite3_column_bytes(statement, 0) == CHAIN_KEY)
		memcpy(chain->key, key, CHAIN_KEY);
	else
		status = code == SQLITE_ROW || code == SQLITE_DONE
		             ? refuse_damaged_chain(chain, "its key is missing", error)
		             : report_sqlite_error(chain, code, error);
	(void)sqlite3_finalize(statement);
	return status;
}

enum cuttle_status chain_open(const char *path, struct chain **chain, struct cuttle_error *error) {
	int64_t application, tables;
	enum cuttle_status status = open_database(path, chain, error);
	if (status) return status;
	status = database_integer(
	    &(*chain)->database,
	    "SELECT count(*) FROM sqlite_schema WHERE name IN ('secret', 'entry')", &tables, error);
	if (!status)
		status = database_integer(&(*chain)->database, "PRAGMA application_id",
		                          &application, error);
	if (!status && (tables != 2 || application != APPLICATION))
		status = io_fail(error, CUTTLE_LEDGER,
		                 "%s is not a ledger; cuttle ledger init makes one", path);
	if (!status) status = read_key(*chain, error);
	if (status) chain_close(chain);
	return status;
}

void chain_close(struct chain **chain) {
	struct chain *old = *chain;
	if (!old) return;
	(void)sqlite3_close(old->database.handle);
	sodium_memzero(old->key, sizeof old->key);
	free(old->path);
	free(old->log_path);
	free(old);
	*chain = NULL;
}

const unsigned char *chain_key(const struct chain *chain) {
	return chain->key;
}

static enum cuttle_status create_tables(struct chain *chain, struct cuttle_error *error) {
	char sql[256], key[2 * CHAIN_KEY + 1];
	enum cuttle_status status = CUTTLE_OK;
	randombytes_buf(chain->key, sizeof chain->key);
	(void)sodium_bin2hex(key, sizeof key, chain->key, sizeof chain->key);
	for (size_t i = 0; !status && i < SCHEMA_COUNT; i++)
		status = execute_sql(chain, SCHEMA[i], error);
	(void)snprintf(sql, sizeof sql,
	               "PRAGMA application_id=%d; INSERT INTO secret VALUES(1, x'%s')", APPLICATION,
	               key);
	if (!status) status = execute_sql(chain, sql, error);
	sodium_memzero(sql, sizeof sql);
	sodium_memzero(key, sizeof key);
	return status;
}

/* Gives an empty file pages with checksums. */
static enum cuttle_status prepare_pages(struct chain *chain, struct cuttle_error *error) {
	int reserved = PAGES_RESERVED;
	const enum cuttle_status status = execute_sql(chain, "PRAGMA page_size=4096", error);
	if (!status)
		(void)sqlite3_file_control(chain->database.handle, "main",
		                           SQLITE_FCNTL_RESERVE_BYTES, &reserved);
	return status;
}

enum cuttle_status chain_copy(struct chain *chain, const char *path, struct cuttle_error *error) {
	struct chain *copy;
	enum cuttle_status status = open_database(path, &copy, error);
	if (status) return status;
	status = prepare_pages(copy, error);
	sqlite3_backup *backup = status ? NULL
	                                : sqlite3_backup_init(copy->database.handle, "main",
	                                                      chain->database.handle, "main");
	if (!status && !backup)
		status = report_sqlite_error(copy, sqlite3_errcode(copy->database.handle), error);
	if (backup) {
		// All pages in one step: they are those of one moment.
		(void)sqlite3_backup_step(backup, -1);
		const int code = sqlite3_backup_finish(backup);
		if (code != SQLITE_OK) status = report_sqlite_error(copy, code, error);
	}
	if (!status) status = execute_sql(copy, "PRAGMA journal_mode=WAL", error);
	chain_close(&copy);
	return status;
}

enum cuttle_status chain_create(const char *path, struct cuttle_error *error) {
	struct chain *chain;
	int64_t things;
	int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0 && errno != EEXIST)
		return io_fail(error, CUTTLE_LEDGER, "cannot create the ledger %s: %s", path,
		               strerror(errno));
	if (file >= 0) (void)close(file);
	enum cuttle_status status = open_database(path, &chain, error);
	if (status) return status;
	status = prepare_pages(chain, error);
	if (!status) status = execute_sql(chain, "PRAGMA journal_mode=WAL", error);
	if (!status) status = chain_begin(chain, error);
	if (!status) {
		// The tables may be there: another process may have been faster. They may also be
		// missing from an older file: its maker may have been killed before this line.
		status = database_integer(&chain->database, "SELECT count(*) FROM sqlite_schema",
		                          &things, error);
		if (!status && !things) status = create_tables(chain, error);
		status = chain_end(chain, status, error);
	}
	chain_close(&chain);
	// SQLite has synced the folder, as it does for every log: with it the file's name, too.
	if (!status) status = chain_open(path, &chain, error);
	if (!status) chain_close(&chain);
	return status;
}

/* ---- transactions ---------------------------------------------------------------------------- */

enum cuttle_status chain_begin(struct chain *chain, struct cuttle_error *error) {
	return execute_sql(chain, "BEGIN IMMEDIATE", error);
}

enum cuttle_status chain_end(struct chain *chain, enum cuttle_status status,
                             struct cuttle_error *error) {
	if (!status) status = execute_sql(chain, "COMMIT", error);
	if (status) (void)execute_sql(chain, "ROLLBACK", NULL);
	return status;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Makes a JSON string of all 17 digits. With fewer, a change of the last digits would not change
 * the entry's hash. */
static json_t *render_real(double value) {
	char digits[32];
	(void)snprintf(digits, sizeof digits, "%.17g", value);
	return json_string(digits);
}

char *chain_json(const struct chain_entry *entry, bool with_hash, size_t *size) {
	json_t *start = json_pack(with_hash ? "{s:s}" : "{}", "hash", entry->hash);
	if (entry->order) {
		const struct jsonout_member measure[] = {
		    {"measure", json_string("rdp")},
		    {"order", json_integer(entry->order)},
		};
		start = jsonout_extend(start, measure, sizeof measure / sizeof *measure);
	}
	const bool in_epsilon = entry->charges.delta > 0;
	if (in_epsilon)
		start = jsonout_extend(
		    start, &(struct jsonout_member){"measure", json_string("epsilon")}, 1);
	if (entry->decimal)
		start = jsonout_extend(start, &(struct jsonout_member){"decimal", json_true()}, 1);
	const struct jsonout_member members[] = {
	    {"by_key", json_boolean(entry->charges.by_key)},
	    {"charges_sha256", json_string(entry->charges_sha256)},
	    {"command", json_string(entry->command)},
	    {"dataset", json_string(entry->dataset)},
	    {"delta", render_real(entry->delta)},
	    {"epsilon", render_real(entry->epsilon)},
	    {"kind", json_string(entry->kind)},
	    {"number", json_integer(entry->number)},
	    {"previous", json_string(entry->previous)},
	    {entry->order || in_epsilon ? "loss" : "rho", render_real(entry->rho)},
	    {"run", json_string(entry->run)},
	    {"time", json_integer(entry->time)},
	    {"unit_key", json_string(entry->unit_key)},
	};
	return jsonout_dump(jsonout_extend(start, members, sizeof members / sizeof *members),
	                    JSON_SORT_KEYS | JSON_COMPACT, size);
}

static bool hash_entry(const struct chain_entry *entry, char hash[HASH_TEXT]) {
	size_t size;
	char *text = chain_json(entry, false, &size);
	if (text) hash_of(text, size, hash);
	free(text);
	return text != NULL;
}

/* The columns of an entry in the order of the enum below: NUMBER is column 0, HASH column 13. */
static const char COLUMNS[] = "number, time, kind, dataset, run, command, unit_key, rho, epsilon, "
                              "delta, by_key, charges, previous, hash";
enum {
	NUMBER,
	TIME,
	KIND,
	DATASET,
	RUN,
	COMMAND,
	UNIT_KEY,
	RHO,
	EPSILON,
	DELTA,
	BY_KEY,
	CHARGES,
	PREVIOUS,
	HASH
};

enum { KIND_SIZE = 32 }; /* bytes for the text of column KIND, with its NUL */

static const char DECIMAL[] = " decimal";

/* Writes the text of column KIND. A text that is cut is none that read_kind takes. */
static void write_kind(const struct chain_entry *entry, char text[KIND_SIZE]) {
	const char *decimals = entry->decimal ? DECIMAL : "";
	if (entry->charges.delta > 0) (void)snprintf(text, KIND_SIZE, "%.20s epsilon", entry->kind);
	else if (entry->order)
		(void)snprintf(text, KIND_SIZE, "%.8s rdp %u%s", entry->kind, entry->order,
		               decimals);
	else (void)snprintf(text, KIND_SIZE, "%.20s%s", entry->kind, decimals);
}

/* Reads the column's text into entry->kind, which stands in `kind` then, and entry->order. False:
 * write_kind writes no such text, for example "reserve rdp 02". */
static bool read_kind(const char *text, char kind[KIND_SIZE], struct chain_entry *entry) {
	char again[KIND_SIZE];
	const char *measure = strstr(text, " rdp "), *epsilon = strstr(text, " epsilon"),
	           *decimals = strstr(text, DECIMAL);
	const size_t size = measure    ? (size_t)(measure - text)
	                    : epsilon  ? (size_t)(epsilon - text)
	                    : decimals ? (size_t)(decimals - text)
	                               : strlen(text);
	if (size >= KIND_SIZE) return false;
	memcpy(kind, text, size);
	kind[size] = 0;
	entry->kind = kind;
	entry->order = measure ? (unsigned)strtoul(measure + strlen(" rdp "), NULL, 10) : 0;
	entry->charges.delta = epsilon ? entry->delta : 0;
	entry->decimal = decimals != NULL;
	entry->charges.decimal = entry->decimal && entry->charges.size;
	write_kind(entry, again);
	return !strcmp(again, text);
}

/* What an entry points at beside its row. */
struct entry_texts {
	char kind[KIND_SIZE];
	char charges_sha256[HASH_TEXT];
};

/* Reads the row into *entry. Its other strings and its charges stay the row's. False: a string is
 * missing, or the kind is none. */
static bool read_entry(sqlite3_stmt *row, struct chain_entry *entry, struct entry_texts *own) {
	const char *texts[HASH + 1];
	static const int TEXTS[] = {KIND, DATASET, RUN, COMMAND, UNIT_KEY, PREVIOUS, HASH};
	for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
		if (!(texts[TEXTS[i]] = (const char *)sqlite3_column_text(row, TEXTS[i])))
			return false;
	*entry = (struct chain_entry){
	    .number = sqlite3_column_int64(row, NUMBER),
	    .time = sqlite3_column_int64(row, TIME),
	    .dataset = texts[DATASET],
	    .run = texts[RUN],
	    .command = texts[COMMAND],
	    .unit_key = texts[UNIT_KEY],
	    .rho = sqlite3_column_double(row, RHO),
	    .epsilon = sqlite3_column_double(row, EPSILON),
	    .delta = sqlite3_column_double(row, DELTA),
	    .charges = {.by_key = sqlite3_column_int(row, BY_KEY) != 0,
	                // The cast drops a const. Nobody writes to these bytes.
	                .bytes = (unsigned char *)(uintptr_t)sqlite3_column_blob(row, CHARGES),
	                .size = (size_t)sqlite3_column_bytes(row, CHARGES)},
	    .previous = texts[PREVIOUS],
	    .hash = texts[HASH]};
	return read_kind(texts[KIND], own->kind, entry);
}

/* Reads the row and checks it as the entry after chain->last: its number, its hash and its charges.
 */
static enum cuttle_status check_entry(struct chain *chain, sqlite3_stmt *row,
                                      struct chain_entry *entry, struct entry_texts *own,
                                      struct cuttle_error *error) {
	char hash[HASH_TEXT], what[64];
	(void)snprintf(what, sizeof what, "entry %lld is not as it was written",
	               (long long)chain->last + 1);
	if (!read_entry(row, entry, own)) return refuse_damaged_chain(chain, what, error);
	hash_of(entry->charges.bytes, entry->charges.size, own->charges_sha256);
	entry->charges_sha256 = own->charges_sha256;
	if (!hash_entry(entry, hash)) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (entry->number != chain->last + 1 || strcmp(entry->hash, hash) != 0 ||
	    strcmp(entry->previous, chain->head) != 0)
		return refuse_damaged_chain(chain, what, error);
	if (!charges_valid(&entry->charges)) return refuse_damaged_chain(chain, what, error);
	chain->last = entry->number;
	memcpy(chain->head, hash, sizeof hash);
	return CUTTLE_OK;
}

enum cuttle_status chain_walk(struct chain *chain,
                              enum cuttle_status (*each)(void *user,
                                                         const struct chain_entry *entry),
                              void *user, struct cuttle_error *error) {
	struct chain_entry entry;
	struct entry_texts own;
	char sql[256];
	sqlite3_stmt *row;
	(void)snprintf(sql, sizeof sql, "SELECT %s FROM entry ORDER BY number", COLUMNS);
	enum cuttle_status status = prepare_sql(chain, sql, &row, error);
	if (status) return status;
	chain->last = 0;
	hash_of(chain->key, sizeof chain->key, chain->head);
	int code = SQLITE_ROW;
	while (!status && (code = sqlite3_step(row)) == SQLITE_ROW) {
		status = check_entry(chain, row, &entry, &own, error);
		if (!status && each) status = each(user, &entry);
	}
	if (!status && code != SQLITE_DONE) status = report_sqlite_error(chain, code, error);
	(void)sqlite3_finalize(row);
	return status;
}

enum cuttle_status chain_append(struct chain *chain, const struct chain_entry *entry,
                                char hash[HASH_TEXT], struct cuttle_error *error) {
	struct chain_entry added = *entry;
	char sql[256], charges_sha256[HASH_TEXT], kind[KIND_SIZE];
	sqlite3_stmt *row;
	hash_of(added.charges.bytes, added.charges.size, charges_sha256);
	added.number = chain->last + 1;
	added.previous = chain->head;
	added.charges_sha256 = charges_sha256;
	if (!hash_entry(&added, hash)) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	(void)snprintf(sql, sizeof sql,
	               "INSERT INTO entry(%s) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	               COLUMNS);
	enum cuttle_status status = prepare_sql(chain, sql, &row, error);
	if (status) return status;
	write_kind(&added, kind);
	const char *texts[] = {kind, added.dataset, added.run, added.command, added.unit_key};
	const double reals[] = {added.rho, added.epsilon, added.delta};
	int code = sqlite3_bind_int64(row, NUMBER + 1, added.number);
	code |= sqlite3_bind_int64(row, TIME + 1, added.time);
	for (int i = 0; i < 5; i++)
		code |= sqlite3_bind_text(row, KIND + 1 + i, texts[i], -1, SQLITE_STATIC);
	for (int i = 0; i < 3; i++) code |= sqlite3_bind_double(row, RHO + 1 + i, reals[i]);
	code |= sqlite3_bind_int(row, BY_KEY + 1, added.charges.by_key);
	code |= sqlite3_bind_blob64(row, CHARGES + 1,
	                            added.charges.size ? (const void *)added.charges.bytes : "",
	                            added.charges.size, SQLITE_STATIC);
	code |= sqlite3_bind_text(row, PREVIOUS + 1, added.previous, -1, SQLITE_STATIC);
	code |= sqlite3_bind_text(row, HASH + 1, hash, -1, SQLITE_STATIC);
	// Binding fails only if memory is short, or if a size is beyond SQLite's limits.
	if (code != SQLITE_OK) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status && (code = sqlite3_step(row)) != SQLITE_DONE)
		status = report_sqlite_error(chain, code, error);
	(void)sqlite3_finalize(row);
	if (status) return status;
	chain->last = added.number;
	memcpy(chain->head, hash, HASH_TEXT);
	return CUTTLE_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

static enum cuttle_status check_schema(struct chain *chain, struct cuttle_error *error) {
	sqlite3_stmt *row;
	size_t count = 0;
	enum cuttle_status status =
	    prepare_sql(chain, "SELECT sql FROM sqlite_schema ORDER BY rowid", &row, error);
	if (status) return status;
	int code;
	while ((code = sqlite3_step(row)) == SQLITE_ROW) {
		const char *sql = (const char *)sqlite3_column_text(row, 0);
		if (count >= SCHEMA_COUNT || !sql || strcmp(sql, SCHEMA[count]) != 0) break;
		count++;
	}
	if (code != SQLITE_DONE && code != SQLITE_ROW)
		status = report_sqlite_error(chain, code, error);
	else if (code == SQLITE_ROW || count != SCHEMA_COUNT)
		status = refuse_damaged_chain(chain, "its tables or triggers are others", error);
	(void)sqlite3_finalize(row);
	return status;
}

static enum cuttle_status check_pages(struct chain *chain, struct cuttle_error *error) {
	sqlite3_stmt *row;
	enum cuttle_status status = prepare_sql(chain, "PRAGMA integrity_check", &row, error);
	if (status) return status;
	int code = sqlite3_step(row);
	const char *answer = code == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : NULL;
	if (code != SQLITE_ROW) status = report_sqlite_error(chain, code, error);
	else if (!answer || strcmp(answer, "ok") != 0)
		status = refuse_damaged_chain(chain, "SQLite's integrity check fails", error);
	(void)sqlite3_finalize(row);
	return status;
}

/* The file has its full length only when all pages of the write-ahead log are in it. Where another
 * process keeps the log from being emptied, the length says nothing. *grew: pages were added
 * meanwhile, so it says nothing either. */
static enum cuttle_status check_length(struct chain *chain, bool *grew,
                                       struct cuttle_error *error) {
	struct stat state;
	int64_t pages = 0, pages_after = 0, busy = 1;
	enum cuttle_status status =
	    database_integer(&chain->database, "PRAGMA page_count", &pages, error);
	if (!status)
		status = database_integer(&chain->database, "PRAGMA wal_checkpoint(TRUNCATE)",
		                          &busy, error);
	const bool whole = stat(chain->path, &state) == 0 && state.st_size == pages * PAGES_SIZE;
	if (!status)
		status =
		    database_integer(&chain->database, "PRAGMA page_count", &pages_after, error);
	if (status) return status;
	*grew = pages != pages_after;
	return busy || *grew || whole ? CUTTLE_OK
	                              : refuse_damaged_chain(chain, "its length is wrong", error);
}

enum cuttle_status chain_check(struct chain *chain, struct cuttle_error *error) {
	bool grew = true;
	enum cuttle_status status = check_pages(chain, error);
	if (!status) status = check_schema(chain, error);
	for (int tries = 0; !status && grew && tries < LENGTH_TRIES; tries++)
		status = check_length(chain, &grew, error);
	return status;
}
