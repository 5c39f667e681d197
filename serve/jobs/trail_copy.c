// SPDX-License-Identifier: Apache-2.0
// What a copy has is found by the number of its last line; from then on a place in the trail is
// kept. The copy is opened for each entry, so that it may be moved away at any time.
#include "serve/jobs/trail_copy.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The last whole line of a file, owned by the caller, NULL: there is none; and how many bytes whole
 * lines have. */
static enum cuttle_status find_last_line(const char *path, char **line, off_t *size,
                                         struct cuttle_error *error) {
	FILE *file = fopen(path, "re");
	char *next = NULL;
	size_t room = 0;
	ssize_t got;
	*line = NULL;
	*size = 0;
	if (!file && errno == ENOENT) return CUTTLE_OK;
	if (!file) return io_fail(error, CUTTLE_INPUT, "cannot read %s: %s", path, strerror(errno));
	while ((got = getline(&next, &room, file)) > 0 && next[got - 1] == '\n') {
		free(*line);
		*line = next;
		*size += got;
		next = NULL;
		room = 0;
	}
	free(next);
	(void)fclose(file);
	return CUTTLE_OK;
}

/* The place in the trail behind a line of it; -1: it has no such line. */
static off_t find_copied_line(const char *trail, const char *line) {
	FILE *file = fopen(trail, "re");
	char *next = NULL;
	size_t room = 0;
	ssize_t got;
	off_t at = 0, found = -1;
	while (file && found < 0 && (got = getline(&next, &room, file)) > 0) {
		at += got;
		if (!strcmp(next, line)) found = at;
	}
	free(next);
	if (file) (void)fclose(file);
	return found;
}

static off_t measure_file(const char *path) {
	struct stat state;
	return stat(path, &state) == 0 ? state.st_size : 0;
}

enum cuttle_status trail_copy_open(const char *path, const char *trail, struct trail_copy *copy,
                                   struct cuttle_error *error) {
	char *line;
	off_t size;
	*copy = (struct trail_copy){.path = path};
	if (!path) return CUTTLE_OK;
	if (!strcmp(path, "-")) {
		copy->at = measure_file(trail);
		return CUTTLE_OK;
	}
	enum cuttle_status status = file_regular(path, error);
	if (!status) status = find_last_line(path, &line, &size, error);
	if (status) return status;
	if (line) copy->at = find_copied_line(trail, line);
	free(line);
	if (copy->at < 0)
		return io_fail(
		    error, CUTTLE_USAGE,
		    "%s is no copy of this audit trail: move it away, or name another file", path);
	// Half a line is what a kill left; the whole one comes behind.
	if (measure_file(path) > size && truncate(path, size) != 0)
		return io_fail(error, CUTTLE_USAGE, "cannot write %s: %s", path, strerror(errno));
	return CUTTLE_OK;
}

/* Reads the trail from a place on. */
static enum cuttle_status read_rest(const char *trail, off_t at, char **text, size_t *size,
                                    struct cuttle_error *error) {
	const off_t whole = measure_file(trail);
	*size = whole > at ? (size_t)(whole - at) : 0;
	*text = malloc(*size + 1);
	if (!*text) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	const int file = open(trail, O_RDONLY | O_CLOEXEC);
	const enum cuttle_status status =
	    file < 0 ? io_fail(error, CUTTLE_INTERNAL, "cannot read %s: %s", trail, strerror(errno))
	             : file_read_at(file, trail, (uint64_t)at, *text, *size, error);
	if (file >= 0) (void)close(file);
	if (!status) return CUTTLE_OK;
	free(*text);
	*text = NULL;
	return CUTTLE_INTERNAL;
}

enum cuttle_status trail_copy_add(struct trail_copy *copy, const char *trail,
                                  struct cuttle_error *error) {
	char *text;
	size_t size;
	if (!copy->path) return CUTTLE_OK;
	const bool told = !strcmp(copy->path, "-");
	enum cuttle_status status = read_rest(trail, copy->at, &text, &size, error);
	if (status) return status;
	const int file = told ? STDOUT_FILENO
	                      : open(copy->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
	struct stat before = {0};
	int problem = file < 0 || (!told && fstat(file, &before) != 0) ? errno : 0;
	if (!problem) problem = file_write(file, text, size);
	// Half a line may not stay, since the whole one will come.
	if (problem && !told && file >= 0) (void)!ftruncate(file, before.st_size);
	if (file >= 0 && !told) (void)close(file);
	free(text);
	if (problem)
		return io_fail(error, CUTTLE_INTERNAL,
		               "the copy of the audit trail cannot be written now: %s: %s",
		               copy->path, strerror(problem));
	copy->at += (off_t)size;
	return CUTTLE_OK;
}
