// SPDX-License-Identifier: Apache-2.0
// scratch.h: memory for numbers that may follow from private texts; it is wiped when it is freed.
//
// What is in it may be private: embeddings of references, their words.
// Example: double *sums = scratch_make(width, sizeof *sums); ... scratch_free(sums);
#ifndef CUTTLE_MEASURE_SCRATCH_H
#define CUTTLE_MEASURE_SCRATCH_H

#include <stddef.h>

/* Memory for count things of `size` bytes, all zero. Count may be 0. NULL: out of memory. */
void *scratch_make(size_t count, size_t size);
/* Wipes and frees what scratch_make gave; NULL is allowed. */
void scratch_free(void *block);

#endif
