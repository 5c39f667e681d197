// SPDX-License-Identifier: Apache-2.0
// components.h: the principal components of public vectors, whitened.
// They serve to sort texts by the vectors that cuttle_embed makes.
// No private data: the rows are public, and so are mean and axes. What is multiplied with them
// later may be private. Example: vectors x [576] and 32 axes. The number 0 of x is the sum of
// axes[i] * (x[i] - mean[i]), i below 576. Over the rows each such number has the mean 0 and the
// variance 1.
#ifndef CUTTLE_COMPONENTS_H
#define CUTTLE_COMPONENTS_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets mean [width] and axes [wanted][width] from rows [count][width]: the eigenvectors of the
 * rows' covariance with the greatest eigenvalues, the greatest first, each divided by the square
 * root of its value. A direction that the rows do not reach (below 1e-9 of the greatest value) is
 * zero. Same bits on every machine, for any number of threads (0 = all cores). Time and memory rise
 * with width^3 and width^2.
 * 1 <= wanted <= width, 1 <= count. USAGE: all rows are equal, or a number is not finite or too
 * large for its square. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_components(const float *rows, size_t count, size_t width, size_t wanted, unsigned threads,
                  float *mean, float *axes, struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
