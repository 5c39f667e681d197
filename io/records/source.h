// SPDX-License-Identifier: Apache-2.0
// source.h: reads a file or standard input as lines, as chunks, or as its caller divides it.
//
// The bytes may be private. They pass through one buffer, which is wiped at the end. Its size is
// fixed, however long the lines are. A UTF-8 byte order mark at the start is skipped. A file that
// begins with the mark of a foreign format is refused (io/disk/formats.h).
//
// Open, read until *line is NULL (or *size is 0 for chunks), close.
#ifndef CUTTLE_IO_RECORDS_SOURCE_H
#define CUTTLE_IO_RECORDS_SOURCE_H

#include "engine/cuttle/status.h"
#include "io/disk/arena.h"

enum { SOURCE_LINE = 1 << 24 }; /* bytes of the longest line, 16 MiB */

struct source {
	const char *path; /* for messages */
	int file;
	struct arena buffer;
	size_t start;   /* offset in the buffer of the first byte not given yet */
	size_t scanned; /* bytes start .. scanned-1 of the buffer hold no newline */
	bool ended;     /* the file has no more bytes */
	bool too_long;  /* the line being read is too long, and only its end is kept */
	bool cut;       /* the line given last was too long, and was given as an empty one */
};

/* Opens the file and reads its first bytes. INPUT: cannot be opened or read, or is of a foreign
 * format. NOMEM. On failure there is nothing to close. */
enum cuttle_status source_open(struct source *source, const char *path, struct cuttle_error *error);
/* The next line without its newline, or *line = NULL at the end. "a\nb" and "a\nb\n" both have two
 * lines. A line of more than SOURCE_LINE bytes is given as an empty one, and `cut` is set. Valid
 * until the next call. INPUT: read error. */
enum cuttle_status source_line(struct source *source, const char **line, size_t *size,
                               struct cuttle_error *error);
/* The next bytes, or *size = 0 at the end. Valid until the next call. Do not mix with source_line.
 * INPUT: read error. */
enum cuttle_status source_chunk(struct source *source, const char **chunk, size_t *size,
                                struct cuttle_error *error);
/* Reads on until `wanted` bytes are at hand, at most SOURCE_LINE + 2, or the file has ended. They
 * may move. INPUT: read error. */
enum cuttle_status source_more(struct source *source, size_t wanted, struct cuttle_error *error);
/* The bytes at hand, which the caller may change, and how many they are. */
char *source_bytes(const struct source *source);
size_t source_left(const struct source *source);
/* Takes so many of them. They stay where they are until the next call of source_more. */
void source_take(struct source *source, size_t size);
/* Wipes and closes. */
void source_close(struct source *source);

#endif
