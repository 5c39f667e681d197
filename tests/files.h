// SPDX-License-Identifier: Apache-2.0
// Files of tests, whole. What fails ends the process.
#ifndef CUTTLE_TESTS_FILES_H
#define CUTTLE_TESTS_FILES_H

#include <stddef.h>

/* Writes bytes[size] to a file that is made or emptied first. */
void files_put(const char *path, const void *bytes, size_t size);
/* The same to a new file of this name, whose last six letters are XXXXXX and are replaced. */
void files_put_new(char *path, const void *bytes, size_t size);
/* Reads at most `room` bytes of a file; returns how many. 0 when it is not there. */
size_t files_get(const char *path, void *bytes, size_t room);
/* Removes those files of a folder that are there, then the folder, in which there may be nothing else: 0, else -1. */
int files_remove(const char *folder, const char *const *names, size_t count);

#endif
