// SPDX-License-Identifier: Apache-2.0
// whiten.h: centres and half-whitens vectors of words, and brings them to length one; and whitens
// other vectors to their principal components.
// No private data.
// Half-whitened: the mean is taken off; the vector is rotated to the eigenbasis of the covariance;
// each coordinate is divided by its eigenvalue^(1/4). Without it, how frequent words are weighs
// more than what they mean; divided by the square root, noise weighs too much (bench/INFERDPT.md).
#ifndef CUTTLE_ENGINE_WHITEN_H
#define CUTTLE_ENGINE_WHITEN_H

#include "engine/cuttle/status.h"
#include "engine/machine/threads.h"
#include "kernels/gemm.h"

/* Sets mean [width] and transform [width][width] from rows [count][width]. A direction whose
 * eigenvalue is below 1e-9 of the largest becomes zero: the rows do not reach it.
 * USAGE: the numbers are too large for their squares, or all rows are equal. NOMEM. */
enum cuttle_status whiten_measure(struct threads *threads, const float *rows, size_t count,
                                  size_t width, float *mean, float *transform,
                                  struct cuttle_error *error);

/* Sets mean [width] and axes [wanted][width], wanted at most width: the eigenvectors of the
 * greatest eigenvalues, the greatest first, each divided by the square root of its value. A
 * direction whose eigenvalue is below 1e-9 of the largest becomes zero. Failures as whiten_measure.
 */
enum cuttle_status whiten_principal(struct threads *threads, const float *rows, size_t count,
                                    size_t width, size_t wanted, float *mean, float *axes,
                                    struct cuttle_error *error);

/* out [count][width] = the rows [count][width] so treated, turn the packed transform. Sets *bad to
 * the first row that has no direction, or to `count`. NOMEM. */
enum cuttle_status whiten_apply(struct threads *threads, const float *mean,
                                const struct packed_matrix *turn, const float *rows, size_t count,
                                float *out, size_t *bad, struct cuttle_error *error);

#endif
