// SPDX-License-Identifier: Apache-2.0
// Result codes of SQLite become a status and a line. io/disk/database.h says which.
#include "io/disk/database.h"

#include "io/disk/fail.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum cuttle_status database_one_name(const char *path, const char *noun, enum cuttle_status failed,
                                     struct cuttle_error *error) {
	struct statx state;
	if (statx(AT_FDCWD, path, 0, STATX_NLINK, &state) != 0) return CUTTLE_OK;
	if (state.stx_nlink > 1)
		return io_fail(error, failed,
		               "the %s %s is one file under %u names (hard links), and what is "
		               "written under one may be lost under another. Keep one name",
		               noun, path, state.stx_nlink);
	if (state.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return io_fail(error, failed,
		               "the %s %s is mounted alone, without the files beside it, and "
		               "what is written there may be lost. Mount its folder instead",
		               noun, path);
	return CUTTLE_OK;
}

enum cuttle_status database_damaged(const struct database *database, const char *what,
                                    struct cuttle_error *error) {
	return io_fail(error, database->failed, "the %s %s is damaged or was edited: %s",
	               database->noun, database->path, what);
}

/* SQLite calls it an I/O error where the file that its readers share cannot grow. */
static bool is_disk_full(const struct database *database, int code) {
	const int problem = database->handle ? sqlite3_system_errno(database->handle) : 0;
	return (code & 0xFF) == SQLITE_FULL ||
	       ((code & 0xFF) == SQLITE_IOERR && (problem == ENOSPC || problem == EDQUOT));
}

enum cuttle_status database_fail(const struct database *database, int code,
                                 struct cuttle_error *error) {
	const bool full = is_disk_full(database, code);
	switch (code & 0xFF) {
	case SQLITE_NOMEM:
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_PROTOCOL:
		return io_fail(error, database->failed,
		               "the %s %s is busy: another process holds it and changes "
		               "nothing; end that process first",
		               database->noun, database->path);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return database_damaged(database, "a page is not as it was written", error);
	default:
		return io_fail(error, full ? database->full : database->failed,
		               "the %s %s cannot be used: %s", database->noun, database->path,
		               full ? "the disk is full" : sqlite3_errstr(code));
	}
}

enum cuttle_status database_execute(const struct database *database, const char *sql,
                                    struct cuttle_error *error) {
	int code = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
	return code == SQLITE_OK ? CUTTLE_OK : database_fail(database, code, error);
}

enum cuttle_status database_prepare(const struct database *database, const char *sql,
                                    sqlite3_stmt **statement, struct cuttle_error *error) {
	int code = sqlite3_prepare_v2(database->handle, sql, -1, statement, NULL);
	return code == SQLITE_OK ? CUTTLE_OK : database_fail(database, code, error);
}

enum cuttle_status database_integer(const struct database *database, const char *sql,
                                    int64_t *value, struct cuttle_error *error) {
	sqlite3_stmt *statement;
	enum cuttle_status status = database_prepare(database, sql, &statement, error);
	if (status) return status;
	int code = sqlite3_step(statement);
	*value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
	(void)sqlite3_finalize(statement);
	return code == SQLITE_ROW ? CUTTLE_OK : database_fail(database, code, error);
}
