// SPDX-License-Identifier: Apache-2.0
// parts.h: opens a model that is one file, or several whose names say so: NAME-00001-of-00003.gguf,
// NAME-00002-of-00003.gguf, ... in one folder. Their bytes are read as if they were one file, each
// part behind the one before. No private data.
//     if (!parts_open(&parts, "m-00001-of-00003.gguf", reason)) puts(reason);
//     got = parts_read(&parts, at, bytes, size);
//     parts_close(&parts);
#ifndef CUTTLE_BASE_PARTS_H
#define CUTTLE_BASE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	PARTS_MOST = 256,  /* parts of a model; the largest published ones have some 60 */
	PARTS_REASON = 160 /* bytes of a reason, with its NUL */
};

struct parts {
	unsigned count; /* files; 1 = a whole model */
	int files[PARTS_MOST];
	uint64_t ends[PARTS_MOST]; /* of each, in bytes from the beginning of the first */
};

/* Whether a name is one of several parts': it ends in -NNNNN-of-NNNNN.gguf, with a number from 1 to
 * the count, which is at least 2. */
bool parts_named(const char *path, unsigned *number, unsigned *count);

/* The path of another part beside one that is named so. The caller frees it; NULL without memory.
 */
char *parts_name(const char *path, unsigned number);

/* Opens the file at `path` and, where it is named as the first of several parts, the others beside
 * it. False: one cannot be opened or is no regular file; or the name is that of a later part.
 * `reason` then says which and why. Nothing is to be closed. */
bool parts_open(struct parts *parts, const char *path, char reason[PARTS_REASON]);
void parts_close(struct parts *parts);

/* Makes a whole model of an open descriptor, or says why it is none. The caller closes it. */
bool parts_of_file(struct parts *parts, int file, char reason[PARTS_REASON]);

/* Bytes of all parts. */
uint64_t parts_size(const struct parts *parts);

/* Bytes of one part, the first being 0. */
uint64_t parts_size_of(const struct parts *parts, unsigned part);

/* Reads `size` bytes from byte `at` of all parts, whatever part they are in. Returns how many,
 * fewer only where there are no more; -1 with errno on failure. */
ssize_t parts_read(const struct parts *parts, uint64_t at, void *to, size_t size);

#endif
