// SPDX-License-Identifier: Apache-2.0
// How source.h reads, in one buffer:
//
//   0 ......... start ............ scanned ......... used ......... capacity
//     given         no newline          not looked at      free
//
// When no whole line is left, refill_buffer moves the bytes from `start` on to the front and reads
// more behind them.
#include "io/records/source.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/formats.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 16 }; /* bytes of one read */

/* Reads at most CHUNK bytes to the end of the buffer. */
static enum cuttle_status read_some(struct source *source, struct cuttle_error *error) {
	REQUIRE(source->buffer.capacity - source->buffer.used >= CHUNK);
	ssize_t got;
	do got = read(source->file, source->buffer.bytes + source->buffer.used, CHUNK);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return io_fail(error, CUTTLE_INPUT, "cannot read %s: %s", source->path,
		               strerror(errno));
	if (got == 0) source->ended = true;
	arena_grew(&source->buffer, (size_t)got);
	return CUTTLE_OK;
}

/* Reads the first bytes, which belong to the file and not to a record. Refuses a foreign format and
 * skips a byte order mark. */
static enum cuttle_status read_start(struct source *source, const char *path,
                                     struct cuttle_error *error) {
	const struct arena *buffer = &source->buffer;
	enum cuttle_status status = CUTTLE_OK;
	while (!status && !source->ended && buffer->used < FORMATS_MARK)
		status = read_some(source, error);
	if (!status) status = formats_check_start(path, buffer->bytes, buffer->used, error);
	if (!status) source->start = source->scanned = utf8_mark(buffer->bytes, buffer->used);
	return status;
}

enum cuttle_status source_open(struct source *source, const char *path,
                               struct cuttle_error *error) {
	*source = (struct source){.path = file_shown(path), .file = STDIN_FILENO};
	if (strcmp(path, "-") != 0) source->file = open(path, O_RDONLY | O_CLOEXEC);
	if (source->file < 0)
		return io_fail(error, CUTTLE_INPUT, "cannot read %s: %s", path, strerror(errno));
	enum cuttle_status status = CUTTLE_OK;
	// Room for the longest line and two reads, so the buffer never grows.
	if (!arena_reserve(&source->buffer, SOURCE_LINE + 2 * CHUNK))
		status =
		    io_fail(error, CUTTLE_NOMEM, "out of memory while reading %s", source->path);
	if (!status) status = read_start(source, path, error);
	if (status) source_close(source);
	return status;
}

/* Moves the bytes that were not given yet to the front, and reads more behind them. */
static enum cuttle_status refill_buffer(struct source *source, struct cuttle_error *error) {
	struct arena *buffer = &source->buffer;
	if (source->start) {
		memmove(buffer->bytes, buffer->bytes + source->start, buffer->used - source->start);
		buffer->used -= source->start;
		source->scanned -= source->start;
		source->start = 0;
	}
	return read_some(source, error);
}

enum cuttle_status source_line(struct source *source, const char **line, size_t *size,
                               struct cuttle_error *error) {
	*line = NULL;
	*size = 0;
	for (;;) {
		struct arena *buffer = &source->buffer;
		char *newline = buffer->used > source->scanned
		                    ? memchr(buffer->bytes + source->scanned, '\n',
		                             buffer->used - source->scanned)
		                    : NULL;
		if (newline || (source->ended && buffer->used > source->start)) {
			size_t end = newline ? (size_t)(newline - buffer->bytes) : buffer->used;
			*line = buffer->bytes + source->start;
			source->cut = source->too_long || end - source->start > SOURCE_LINE;
			*size = source->cut ? 0 : end - source->start;
			source->too_long = false;
			source->start = source->scanned = newline ? end + 1 : end;
			return CUTTLE_OK;
		}
		if (source->ended) return CUTTLE_OK;
		source->scanned = buffer->used;
		source->too_long |= buffer->used - source->start > SOURCE_LINE;
		// One byte stays: a line without a newline at the end of the file is seen by it.
		if (source->too_long) source->start = buffer->used - 1;
		enum cuttle_status status = refill_buffer(source, error);
		if (status) return status;
	}
}

enum cuttle_status source_chunk(struct source *source, const char **chunk, size_t *size,
                                struct cuttle_error *error) {
	*chunk = NULL;
	*size = 0;
	while (!source->ended && source->start == source->buffer.used) {
		enum cuttle_status status = refill_buffer(source, error);
		if (status) return status;
	}
	*chunk = source->buffer.bytes + source->start;
	*size = source->buffer.used - source->start;
	source->start = source->scanned = source->buffer.used;
	return CUTTLE_OK;
}

enum cuttle_status source_more(struct source *source, size_t wanted, struct cuttle_error *error) {
	REQUIRE(wanted <= SOURCE_LINE + CHUNK);
	while (!source->ended && source_left(source) < wanted) {
		enum cuttle_status status = refill_buffer(source, error);
		if (status) return status;
	}
	return CUTTLE_OK;
}

char *source_bytes(const struct source *source) {
	return source->buffer.bytes + source->start;
}

size_t source_left(const struct source *source) {
	return source->buffer.used - source->start;
}

void source_take(struct source *source, size_t size) {
	REQUIRE(size <= source_left(source));
	source->start += size;
	source->scanned = source->start;
}

void source_close(struct source *source) {
	arena_free(&source->buffer);
	if (source->file > STDIN_FILENO) (void)close(source->file);
	source->file = -1;
}
