// SPDX-License-Identifier: Apache-2.0
// sort.h: sorts numbers in their own place.
//
// The numbers may be private. The library's qsort may copy what it sorts to memory that it frees
// without wiping; this one has no memory of its own.
// Example: 3 1 2 becomes 1 2 3.
#ifndef CUTTLE_BASE_SORT_H
#define CUTTLE_BASE_SORT_H

#include <stddef.h>

/* Sorts values[count] upwards; none is NaN. Time grows with count log(count). */
void sort_doubles(double *values, size_t count);

#endif
