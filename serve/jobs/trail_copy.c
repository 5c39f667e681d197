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

/* How a file ends. */
struct ending {
	char *line; /* the last whole line, owned; NULL = there is none */
	off_t size; /* bytes of all whole lines */
	char *torn; /* [torn_size] half a line behind them, owned; NULL = there is none */
	size_t torn_size;
};

static void free_ending(struct ending *ending) {
	free(ending->line);
	free(ending->torn);
}

/* On success free_ending ends it. */
static enum cuttle_status find_ending(const char *path, struct ending *ending,
                                      struct cuttle_error *error) {
	FILE *file = fopen(path, "re");
	char *next = NULL;
	size_t room = 0;
	ssize_t got;
	*ending = (struct ending){0};
	if (!file && errno == ENOENT) return CUTTLE_OK;
	if (!file) return io_fail(error, CUTTLE_INPUT, "cannot read %s: %s", path, strerror(errno));
	while ((got = getline(&next, &room, file)) > 0 && next[got - 1] == '\n') {
		free(ending->line);
		ending->line = next;
		ending->size += got;
		next = NULL;
		room = 0;
	}
	if (got > 0) {
		ending->torn = next;
		ending->torn_size = (size_t)got;
	} else free(next);
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

/* Whether half a line is what a kill left of the trail's line at that place. */
static bool is_torn_there(const char *trail, off_t at, const struct ending *ending) {
	char *text;
	size_t size;
	if (read_rest(trail, at, &text, &size, NULL)) return false;
	const bool same =
	    size >= ending->torn_size && !memcmp(text, ending->torn, ending->torn_size);
	free(text);
	return same;
}

enum cuttle_status trail_copy_open(const char *path, const char *trail, struct trail_copy *copy,
                                   struct cuttle_error *error) {
	struct ending ending;
	*copy = (struct trail_copy){.path = path};
	if (!path) return CUTTLE_OK;
	if (!strcmp(path, "-")) {
		copy->at = measure_file(trail);
		return CUTTLE_OK;
	}
	enum cuttle_status status = file_regular(path, error);
	if (!status) status = find_ending(path, &ending, error);
	if (status) return status;
	if (ending.line) copy->at = find_copied_line(trail, ending.line);
	const bool torn = ending.torn != NULL,
	           fits = copy->at >= 0 && (!torn || is_torn_there(trail, copy->at, &ending));
	free_ending(&ending);
	if (!fits)
		return io_fail(
		    error, CUTTLE_USAGE,
		    "%s is no copy of this audit trail: move it away, or name another file", path);
	// The whole line comes in its place.
	if (torn && truncate(path, ending.size) != 0)
		return io_fail(error, CUTTLE_USAGE, "cannot write %s: %s", path, strerror(errno));
	return CUTTLE_OK;
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
