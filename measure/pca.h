// SPDX-License-Identifier: Apache-2.0
// pca.h: turns rows to the axes along which they vary most, and keeps the first of these.
//
// Rows may follow from private texts; memory is wiped. How: the mean is taken off, and base/eigen.h
// finds the eigenvectors of the covariance. With fewer rows than columns it works on the inner
// products of rows instead: the same axes. Example: shares of variance .7, .2, .06, .04 and a share
// of .9 keep two axes: .7 + .2 reaches it.
#ifndef CUTTLE_MEASURE_PCA_H
#define CUTTLE_MEASURE_PCA_H

#include <stdbool.h>
#include <stddef.h>

struct pca;

/* Finds the axes of rows [count][width], count at least 1. Kept are the axes of the largest
 * variances up to the first at which their sum reaches `share` of the whole, that one included; at
 * least one axis. share lies in (0, 1]. An axis points so that its largest coordinate is positive.
 * False: out of memory, or a row is not finite. *pca must be freed in any case. */
bool pca_fit(const double *rows, size_t count, size_t width, double share, struct pca **pca);
void pca_free(struct pca *pca);
/* Axes that are kept. */
size_t pca_axes(const struct pca *pca);
/* The variance along axis i as a share of the whole; 0 when all rows are equal. */
double pca_share(const struct pca *pca, size_t i);

/* out [count][pca_axes] = rows [count][width] without the mean, along each axis. A row's numbers
 * depend on that row and the axes alone. */
void pca_apply(const struct pca *pca, const double *rows, size_t count, double *out);

#endif
