// SPDX-License-Identifier: Apache-2.0
// files.h: writes, reads and removes whole files, for tests. A failure ends the process.
#ifndef CUTTLE_TESTS_FILES_H
#define CUTTLE_TESTS_FILES_H

#include <stddef.h>

/* Writes bytes[size] to a file. It is made if absent; an older content is replaced. */
void files_put(const char *path, const void *bytes, size_t size);
/* Writes bytes[size] to a new file. The last six letters of `path` must be XXXXXX: they are
 * replaced by letters that no other file there has. */
void files_put_new(char *path, const void *bytes, size_t size);
/* Reads at most `room` bytes of a file; returns how many. 0: the file is absent. */
size_t files_get(const char *path, void *bytes, size_t room);
/* Removes the files names[count] of a folder, as far as they exist, then the folder itself. Returns
 * 0, or -1 when the folder holds anything else. */
int files_remove(const char *folder, const char *const *names, size_t count);

/* The path of a data set that the repository does not hold, in room[size]: in the folder that the
 * environment names as CUTTLE_DATA, or without that in ../shared/data. bench/README.md has the
 * list. A test without its data set says so and is skipped. */
const char *files_data(const char *name, char *room, size_t size);

/* For struct output_request: a digest of 64 zeros, whatever input and key are. */
void files_digest(void *user, const unsigned char *key, char *digest);

#endif
