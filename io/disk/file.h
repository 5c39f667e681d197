// SPDX-License-Identifier: Apache-2.0
// file.h: reads small files whole, writes files whole or says why not, and puts them in place.
//
// Private data may pass through sink_write and file_write. A file is put in place in one step: it
// is written under a scratch name, synced, then renamed. So nobody sees half a file. struct sink
// does the same for lines, or writes to standard output:
//
//     struct sink sink;
//     status = sink_open(&sink, path, error);       on failure there is nothing to close
//     status = sink_write(&sink, bytes, size, error);
//     status = sink_close(&sink, status, error);
#ifndef CUTTLE_IO_DISK_FILE_H
#define CUTTLE_IO_DISK_FILE_H

#include "engine/cuttle/status.h"
#include <sys/types.h>

/* Reads a whole file of at most `most` bytes; most is below SIZE_MAX. "-" is standard input. *text
 * gets the bytes and a NUL behind them; the caller frees it. *size does not count the NUL. After a
 * failure *text is NULL.
 * INPUT: the file cannot be read or is longer. NOMEM. */
enum cuttle_status file_read(const char *path, size_t most, char **text, size_t *size,
                             struct cuttle_error *error);

/* Reads exactly `size` bytes of an open file, from byte `at` on. `path` is for the message.
 * MODEL: they cannot be read, or the file ends before. */
enum cuttle_status file_read_at(int file, const char *path, uint64_t at, void *bytes, size_t size,
                                struct cuttle_error *error);

/* Opens a file that holds a secret key: a regular one of this user's or root's, which nobody else
 * may reach. It does not wait for the writer of a pipe. On failure *file is -1.
 * USAGE: it is another file. INPUT: it cannot be opened. */
enum cuttle_status file_open_secret(const char *path, int *file, struct cuttle_error *error);

/* The same, and reads it as file_read does. What it holds stands in *text alone. */
enum cuttle_status file_read_secret(const char *path, size_t most, char **text, size_t *size,
                                    struct cuttle_error *error);

/* Opens the file at path, made with mode 0600 if there is none, to append to it, and locks it for
 * this process. Returns 0 or the errno; EWOULDBLOCK: another process has the lock. On failure *file
 * is -1. To give up the lock, close it. */
int file_lock(const char *path, int *file);

/* Reads an open file from its beginning to its end. The caller frees *bytes. Returns 0 or the
 * errno; then *bytes is NULL. */
int file_read_open(int file, char **bytes, size_t *size);

/* Writes all `size` bytes. Returns 0 or the errno. */
int file_write(int file, const void *bytes, size_t size);

/* Syncs the folder of path: a rename or unlink of path is then durable. Returns 0 or the errno. */
int file_sync_folder(const char *path);
/* Syncs what the file at path holds, and its name: whoever wrote it may have been killed before.
 * Returns 0 or the errno. */
int file_sync(const char *path);

/* A scratch file is called PATH, then an ending, '-' and 16 random hex digits, such as
 * out.jsonl.part-0f3c... paths_check refuses inputs with such names. */
#define FILE_PART ".part" /* the ending for a sink, and for the texts of a run */
#define FILE_TMP ".tmp"   /* the ending for file_replace */

/* A fresh name of a scratch file or folder beside path. The caller frees it. NULL: out of memory.
 */
char *file_scratch_name(const char *path, const char *ending);

/* Makes a new, empty scratch file beside path, open for reading and writing. The umask applies to
 * `mode`. Returns its descriptor; *name is its name, which the caller frees. On failure it returns
 * -1, sets errno, and *name is NULL. */
int file_scratch(const char *path, const char *ending, mode_t mode, char **name);

/* Puts a whole file in place: scratch file, sync, rename, sync of the folder. Returns 0 or the
 * errno. If it fails before the rename, the old file stands. A process that is killed in between
 * leaves the scratch file behind. */
int file_replace(const char *path, const void *bytes, size_t size);

/* The same by way of the scratch name `part`, which is the caller's alone: whatever stands there is
 * removed first. So the next run can remove what a killed one left. */
int file_replace_by(const char *part, const char *path, const void *bytes, size_t size);

/* Whether path ends in `ending`, in upper or lower case, with something before it: "a.CSV" ends in
 * ".csv", the path ".csv" does not. */
bool file_ends_in(const char *path, const char *ending);

/* Whether both paths name the same file, and it exists. */
bool file_same(const char *one, const char *other);

/* USAGE: at path stands something other than a regular file. OK: a file, or nothing, stands there.
 */
enum cuttle_status file_regular(const char *path, struct cuttle_error *error);

/* Makes a folder for this user alone, or takes one that is. *made: it was not there.
 * USAGE: it cannot be made, is no folder or another user's, or others may look into it. */
enum cuttle_status file_own_folder(const char *path, bool *made, struct cuttle_error *error);

/* The folder of path: "/tmp" of "/tmp/a", "." of "a". The caller frees it. NULL: out of memory. */
char *file_folder(const char *path);

/* The name of an input in messages: path itself, or "standard input" for "-". */
const char *file_shown(const char *path);

/* path with `ending` behind it. The caller frees it. NULL: out of memory. */
char *file_name(const char *path, const char *ending);

/* Writes lines to a scratch file, which sink_close renames to path. If path is "-" or NULL, it
 * writes them straight to standard output. */
struct sink {
	int file;         /* descriptor */
	bool unnamed;     /* the scratch file has no name before sink_close */
	bool fresh;       /* set after opening: what stands at path meanwhile is never replaced */
	char *part;       /* name of the scratch file; NULL for standard output */
	const char *path; /* the caller's string, or "standard output"; for messages too */
};
/* USAGE: at path stands something other than a file, or a file beside it cannot be created. NOMEM.
 * On failure there is nothing to close. */
enum cuttle_status sink_open(struct sink *sink, const char *path, struct cuttle_error *error);
/* The same for private bytes: whatever the umask, nobody but the owner may read or write the file.
 * Where the file system can do that, the scratch file has no name, so nothing is left of it however
 * the process ends. */
enum cuttle_status sink_open_private(struct sink *sink, const char *path,
                                     struct cuttle_error *error);
/* INTERNAL: the bytes cannot be written (no space, broken pipe). */
enum cuttle_status sink_write(struct sink *sink, const void *bytes, size_t size,
                              struct cuttle_error *error);
/* With status OK it syncs the scratch file and renames it. INTERNAL: as for sink_write. With
 * another status it removes the scratch file and returns that status; *error stays as it is. For
 * standard output it only returns `status`. */
enum cuttle_status sink_close(struct sink *sink, enum cuttle_status status,
                              struct cuttle_error *error);
/* Removes the scratch file of the sink that was opened last, if that sink is still open. The
 * handler of a signal that ends the process calls it. */
void sink_abandon(void);

#endif
