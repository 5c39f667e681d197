// SPDX-License-Identifier: Apache-2.0
// database.h: what every SQLite file of cuttle needs: statements, and errors in one line.
//
// No private text passes through. The caller opens and closes the handle, and says what the file is
// called in messages:
//
//     status = database_one_name(path, "list of jobs", CUTTLE_INTERNAL, error);   before the open
//     struct database jobs = {handle, "list of jobs", path, CUTTLE_INTERNAL, CUTTLE_PARTIAL};
//     status = database_execute(&jobs, "PRAGMA synchronous=FULL", error);
//
// Errors of every call: NOMEM; `failed` when the file cannot be used, is damaged, or is busy;
// `full` when there is no space on its disk.
#ifndef CUTTLE_IO_DISK_DATABASE_H
#define CUTTLE_IO_DISK_DATABASE_H

#include "engine/cuttle/status.h"
#include <sqlite3.h>

struct database {
	sqlite3 *handle;           /* the caller's */
	const char *noun;          /* what messages call the file: "ledger" */
	const char *path;          /* of the file; the caller's */
	enum cuttle_status failed; /* what an error of the file is */
	enum cuttle_status full;   /* what a full disk is */
};

/* OK where the file at `path` has one name, or is not there. Else `failed`, with `noun` for it, as
 * below: SQLite keeps what is not yet in the file in one beside it, named after it. So who opens
 * it by a hard link, or by a mount of the file alone, reads and writes past all others. A symbolic
 * link is no second name, since SQLite follows it. Kernels before Linux 5.8 do not tell mounts. */
enum cuttle_status database_one_name(const char *path, const char *noun, enum cuttle_status failed,
                                     struct cuttle_error *error);
/* The error of a result code that is neither OK, ROW nor DONE. */
enum cuttle_status database_fail(const struct database *database, int code,
                                 struct cuttle_error *error);
/* The same for a file whose content makes no sense: `what` says why. */
enum cuttle_status database_damaged(const struct database *database, const char *what,
                                    struct cuttle_error *error);
/* Runs statements that answer nothing. */
enum cuttle_status database_execute(const struct database *database, const char *sql,
                                    struct cuttle_error *error);
/* Makes a statement, which the caller finalizes. */
enum cuttle_status database_prepare(const struct database *database, const char *sql,
                                    sqlite3_stmt **statement, struct cuttle_error *error);
/* Reads the first column of the first row of the answer. The statement must have a row. */
enum cuttle_status database_integer(const struct database *database, const char *sql,
                                    int64_t *value, struct cuttle_error *error);

#endif
