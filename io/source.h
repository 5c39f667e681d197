// SPDX-License-Identifier: Apache-2.0
// A file or standard input, read as chunks or lines through wiped memory of one size, whatever the lines are. A byte order mark at the
// start is skipped.
#ifndef CUTTLE_IO_SOURCE_H
#define CUTTLE_IO_SOURCE_H

#include "engine/cuttle.h"
#include "io/arena.h"

enum { SOURCE_LINE = 1 << 24 };

struct source {
	const char *path; /* for messages */
	int file;
	struct arena buffer;
	size_t start, scanned;       /* first unread byte; bytes before it are known to hold no newline */
	bool begun, ended, too_long; /* too_long: the line being read, of which only the end is kept */
};

/* INPUT: cannot be opened. NOMEM. On failure there is nothing to close. */
enum cuttle_status source_open(struct source *source, const char *path, struct cuttle_error *error);
/* The next line without its newline, or *line = NULL at the end. A line without a newline at the end counts; nothing after the last newline
 * does not. One of more than SOURCE_LINE bytes is given as an empty one. Valid until the next call. INPUT: read error. */
enum cuttle_status source_line(struct source *source, const char **line, size_t *size, struct cuttle_error *error);
/* The next bytes, *size = 0 at the end. Do not mix with source_line. Errors as source_line. */
enum cuttle_status source_chunk(struct source *source, const char **chunk, size_t *size, struct cuttle_error *error);
/* Wipes and closes. */
void source_close(struct source *source);

#endif
