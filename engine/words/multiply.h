// SPDX-License-Identifier: Apache-2.0
// multiply.h: rows of floats times a packed F32 matrix, by several workers.
// Private data: rows may be vectors of private words. A small scratch array is wiped.
// Every element has the fixed order of kernels/gemm.h, so nothing else in the call changes it.
// Example: 3 rows of 300 floats by a matrix [11000][300] give out[3][11000].
#ifndef CUTTLE_ENGINE_MULTIPLY_H
#define CUTTLE_ENGINE_MULTIPLY_H

#include "engine/machine/threads.h"
#include "kernels/gemm.h"

/* out [count][w->channels] = rows [count][w->k] times w transposed. w is of a float type. */
void multiply_rows(struct threads *threads, const struct packed_matrix *w, const float *rows,
                   size_t count, float *out);

#endif
