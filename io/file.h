// SPDX-License-Identifier: Apache-2.0
// Whole small files, writes that finish or say why, replacement in one step, and a sink that is a file or standard output.
#ifndef CUTTLE_IO_FILE_H
#define CUTTLE_IO_FILE_H

#include "engine/cuttle.h"

/* Reads a file of at most `most` bytes (below SIZE_MAX) into *text (malloc, NUL behind it). INPUT: cannot be read or is longer. NOMEM. */
enum cuttle_status file_read(const char *path, size_t most, char **text, size_t *size, struct cuttle_error *error);

/* Reads exactly `size` bytes at a place of an open file; path is for the message. MODEL: unreadable, or the file ends before. */
enum cuttle_status file_read_at(int file, const char *path, uint64_t at, void *bytes, size_t size, struct cuttle_error *error);

/* Writes everything. Returns 0 or the errno. */
int file_write(int file, const void *bytes, size_t size);

/* Makes a rename or unlink of path durable. Returns 0 or the errno. */
int file_sync_folder(const char *path);

/* Puts a whole file in place: PATH.tmp, sync, rename, sync. Returns 0 or the errno; on failure the old file stands. */
int file_replace(const char *path, const void *bytes, size_t size);

/* Whether path ends in `ending`, in whatever case, with something before it. */
bool file_ends_in(const char *path, const char *ending);

/* Whether both paths name one existing file. */
bool file_same(const char *one, const char *other);

/* USAGE: something else than a file stands at path. A path where nothing stands is right. */
enum cuttle_status file_regular(const char *path, struct cuttle_error *error);

/* How messages name an input: "-" is standard input. */
const char *file_shown(const char *path);

/* path + ending, to be freed; NULL when out of memory. */
char *file_name(const char *path, const char *ending);

/* Lines to PATH.part, renamed to PATH by sink_close, or straight to standard output when path is "-" or NULL. */
struct sink {
	int file;
	char *part;       /* NULL for standard output */
	const char *path; /* the caller's */
};
/* USAGE: cannot be created. NOMEM. On failure there is nothing to close. */
enum cuttle_status sink_open(struct sink *sink, const char *path, struct cuttle_error *error);
/* INTERNAL: cannot be written (no space, broken pipe). */
enum cuttle_status sink_write(struct sink *sink, const void *bytes, size_t size, struct cuttle_error *error);
/* After OK: sync and rename, INTERNAL as sink_write. After a failure the part is removed, and that failure is returned; *error stands. */
enum cuttle_status sink_close(struct sink *sink, enum cuttle_status status, struct cuttle_error *error);

#endif
