// SPDX-License-Identifier: Apache-2.0
// parts.c: see parts.h.
#include "base/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIGITS = 5 };
static const char OF[] = "-of-", ENDING[] = ".gguf";
enum { TAIL = 1 + DIGITS + (sizeof OF - 1) + DIGITS + (sizeof ENDING - 1) }; /* of a name */

static bool read_part_number(const char *digits, unsigned *number) {
	*number = 0;
	for (size_t i = 0; i < DIGITS; i++) {
		if (digits[i] < '0' || digits[i] > '9') return false;
		*number = *number * 10 + (unsigned)(digits[i] - '0');
	}
	return true;
}

bool parts_named(const char *path, unsigned *number, unsigned *count) {
	const size_t length = strlen(path);
	if (length <= TAIL) return false;
	const char *const tail = path + (length - TAIL);
	return *tail == '-' && read_part_number(tail + 1, number) &&
	       !strncmp(tail + 1 + DIGITS, OF, sizeof OF - 1) &&
	       read_part_number(tail + DIGITS + sizeof OF, count) &&
	       !strcmp(tail + DIGITS + sizeof OF + DIGITS, ENDING) && *number >= 1 &&
	       *number <= *count && *count >= 2;
}

char *parts_name(const char *path, unsigned number) {
	char digits[16], *const name = strdup(path);
	(void)snprintf(digits, sizeof digits, "%0*u", DIGITS, number);
	if (name) memcpy(name + strlen(name) - TAIL + 1, digits, DIGITS);
	return name;
}

static const char *find_file_fault(int file, uint64_t *size) {
	struct stat about;
	if (file < 0 || fstat(file, &about)) return strerror(errno);
	if (S_ISDIR(about.st_mode))
		return "a folder; make a GGUF file of it with: cuttle model convert -i FOLDER -o "
		       "FILE";
	if (!S_ISREG(about.st_mode)) return "not a regular file";
	*size = (uint64_t)about.st_size;
	return NULL;
}

/* Adds a file behind the others. Returns what is wrong with it, NULL = nothing. */
static const char *add_part(struct parts *parts, int file) {
	const uint64_t before = parts_size(parts);
	uint64_t size = 0;
	const char *const fault = find_file_fault(file, &size);
	if (fault) return fault;
	if (__builtin_add_overflow(before, size, &size)) return "impossibly large";
	parts->files[parts->count] = file;
	parts->ends[parts->count++] = size;
	return NULL;
}

/* Opens a file and adds it. */
static const char *open_part(struct parts *parts, const char *path) {
	// Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
	const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const char *const fault = add_part(parts, file);
	if (fault && file >= 0) (void)close(file);
	return fault;
}

/* A path without its folder. */
static const char *name_without_folder(const char *path) {
	const char *const slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Opens the parts behind the first. */
static bool open_later_parts(struct parts *parts, const char *path, unsigned count,
                             char reason[PARTS_REASON]) {
	for (unsigned number = 2; number <= count; number++) {
		char *const name = parts_name(path, number);
		const char *const fault = name ? open_part(parts, name) : "out of memory";
		if (fault)
			(void)snprintf(reason, PARTS_REASON, "part %u of %u, %.80s: %s", number,
			               count, name_without_folder(name ? name : path), fault);
		free(name);
		if (fault) return false;
	}
	return true;
}

bool parts_open(struct parts *parts, const char *path, char reason[PARTS_REASON]) {
	unsigned number = 1, count = 1;
	parts->count = 0;
	if (!parts_named(path, &number, &count)) number = count = 1;
	if (number > 1) {
		(void)snprintf(reason, PARTS_REASON,
		               "by its name part %u of %u; give the first part, -%0*u-of-%0*u.gguf",
		               number, count, DIGITS, 1, DIGITS, count);
		return false;
	}
	if (count > PARTS_MOST) {
		(void)snprintf(reason, PARTS_REASON,
		               "by its name one of %u parts; there may be at most %d", count,
		               PARTS_MOST);
		return false;
	}
	const char *const fault = open_part(parts, path);
	if (fault) (void)snprintf(reason, PARTS_REASON, "%s", fault);
	if (!fault && open_later_parts(parts, path, count, reason)) return true;
	parts_close(parts);
	return false;
}

bool parts_of_file(struct parts *parts, int file, char reason[PARTS_REASON]) {
	parts->count = 0;
	const char *const fault = add_part(parts, file);
	if (fault) (void)snprintf(reason, PARTS_REASON, "%s", fault);
	return !fault;
}

void parts_close(struct parts *parts) {
	for (unsigned i = 0; i < parts->count; i++) (void)close(parts->files[i]);
	parts->count = 0;
}

uint64_t parts_size(const struct parts *parts) {
	return parts->count ? parts->ends[parts->count - 1] : 0;
}

uint64_t parts_size_of(const struct parts *parts, unsigned part) {
	return parts->ends[part] - (part ? parts->ends[part - 1] : 0);
}

/* As pread, never beyond the end of a part. */
static ssize_t read_in_part(const struct parts *parts, uint64_t at, void *to, size_t size) {
	unsigned part = 0;
	while (part < parts->count && at >= parts->ends[part]) part++;
	if (part == parts->count) return 0;
	const uint64_t left = parts->ends[part] - at, begin = part ? parts->ends[part - 1] : 0;
	if (at - begin > INT64_MAX) return 0;
	ssize_t got;
	do
		got = pread(parts->files[part], to, size < left ? size : (size_t)left,
		            (off_t)(at - begin));
	while (got < 0 && errno == EINTR);
	return got;
}

ssize_t parts_read(const struct parts *parts, uint64_t at, void *to, size_t size) {
	size_t done = 0;
	while (done < size) {
		const ssize_t got =
		    read_in_part(parts, at + done, (uint8_t *)to + done, size - done);
		if (got < 0) return -1;
		if (!got) break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}
