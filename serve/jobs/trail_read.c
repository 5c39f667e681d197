// SPDX-License-Identifier: Apache-2.0
// Lines of the trail, from its end or from its beginning. serve/jobs/trail_read.h says for whom.
#include "serve/jobs/trail_read.h"

#include "io/disk/fail.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BLOCK_LEAST = 64 << 10, /* bytes read at once, more where a line is longer */
	LOOKED_MOST = 8 << 20   /* bytes of a page, whatever it has found by then */
};

/* ---- a page ---------------------------------------------------------------------------------- */

/* Whether a member of the entry is this; NULL = it may be anything. */
static bool is_member(const json_t *entry, const char *name, const char *wanted) {
	const char *const is = json_string_value(json_object_get(entry, name));
	return !wanted || (is && !strcmp(is, wanted));
}

/* Adds the line's entry, where the query means it. */
static enum cuttle_status take_line(const char *line, size_t size, const struct trail_query *query,
                                    json_t *data) {
	// Most lines are another job's, and need not be read as JSON.
	if (query->job && !memmem(line, size, query->job, strlen(query->job))) return CUTTLE_OK;
	json_t *const entry = json_loadb(line, size, 0, NULL);
	if (entry && is_member(entry, "event", query->event) && is_member(entry, "job", query->job))
		return json_array_append_new(data, entry) ? CUTTLE_NOMEM : CUTTLE_OK;
	json_decref(entry);
	return CUTTLE_OK;
}

/* Takes lines of a block from its end on, and tells by *at where the first of them begins. `first`:
 * the block begins with a line, and not within one. */
static enum cuttle_status take_trail_lines(const char *block, size_t *at, bool first,
                                           const struct trail_query *query, json_t *data) {
	enum cuttle_status status = CUTTLE_OK;
	while (!status && *at && json_array_size(data) < query->limit) {
		const char *const before = memrchr(block, '\n', *at - 1);
		const size_t begin = before ? (size_t)(before - block) + 1 : 0;
		if (!before && !first) return CUTTLE_OK;
		status = take_line(block + begin, *at - begin, query, data);
		*at = begin;
	}
	return status;
}

/* Fills `data`, and moves *end to where the next page ends. */
static enum cuttle_status read_trail_page(int file, off_t *end, const struct trail_query *query,
                                          json_t *data, struct cuttle_error *error) {
	size_t room = BLOCK_LEAST;
	char *block = malloc(room);
	const off_t least = *end > LOOKED_MOST ? *end - LOOKED_MOST : 0;
	enum cuttle_status status = CUTTLE_OK;
	while (block && !status && *end > least && json_array_size(data) < query->limit) {
		const size_t size = (off_t)room < *end ? room : (size_t)*end;
		size_t at = size;
		if (pread(file, block, size, *end - (off_t)size) != (ssize_t)size) {
			status = io_fail(error, CUTTLE_INTERNAL, "the trail cannot be read");
		} else if (block[size - 1] != '\n') {
			status = io_fail(error, CUTTLE_USAGE, "no entry begins there");
		} else {
			status = take_trail_lines(block, &at, (off_t)size == *end, query, data);
			if (at == size) {
				free(block);
				block = malloc(room *= 2);
			}
			*end -= (off_t)(size - at);
		}
	}
	if (!block) status = CUTTLE_NOMEM;
	free(block);
	return status;
}

enum cuttle_status trail_page(int file, off_t size, const struct trail_query *query, json_t **page,
                              struct cuttle_error *error) {
	json_t *data = json_array();
	off_t end = query->before ? query->before : size;
	enum cuttle_status status = data ? CUTTLE_OK : CUTTLE_NOMEM;
	*page = NULL;
	if (!status && (end < 0 || end > size))
		status = io_fail(error, CUTTLE_USAGE, "no entry begins there");
	if (!status) status = read_trail_page(file, &end, query, data, error);
	if (!status)
		*page = json_pack("{s:s,s:O,s:o}", "object", "list", "data", data, "next",
		                  end ? json_integer((json_int_t)end) : json_null());
	if (!status && !*page) status = CUTTLE_NOMEM;
	if (status == CUTTLE_NOMEM) (void)io_fail(error, status, "out of memory");
	json_decref(data);
	return status;
}

/* ---- all of them ----------------------------------------------------------------------------- */

enum cuttle_status trail_each(const char *path,
                              enum cuttle_status (*each)(void *user, const json_t *entry),
                              void *user, struct cuttle_error *error) {
	FILE *file = fopen(path, "re");
	if (!file && errno == ENOENT) return CUTTLE_OK;
	if (!file)
		return io_fail(error, CUTTLE_INTERNAL, "cannot open %s: %s", path, strerror(errno));
	char *line = NULL;
	size_t room = 0;
	ssize_t got;
	enum cuttle_status status = CUTTLE_OK;
	while (!status && (got = getline(&line, &room, file)) > 0) {
		// Half a line is what a kill left: it is no entry yet.
		json_t *const entry = json_loadb(line, (size_t)got, 0, NULL);
		if (entry) status = each(user, entry);
		json_decref(entry);
	}
	if (!status && ferror(file))
		status = io_fail(error, CUTTLE_INTERNAL, "cannot read %s", path);
	if (status == CUTTLE_NOMEM) (void)io_fail(error, status, "out of memory");
	free(line);
	(void)fclose(file);
	return status;
}
