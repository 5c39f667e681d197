// SPDX-License-Identifier: Apache-2.0
// golden.h: reads a golden file whose lines are a name and numbers.
//
// No private data.
// Example: the line "samples 24.5 3" gives 24.5 and 3 to golden_read(path, "samples", ...).
#ifndef CUTTLE_TESTS_GOLDEN_H
#define CUTTLE_TESTS_GOLDEN_H

#include <stddef.h>

/* Reads the numbers of the line `name`, at most `most`. Returns how many. The test fails when there
 * is no such line, or more numbers. */
size_t golden_read(const char *path, const char *name, double *numbers, size_t most);

#endif
