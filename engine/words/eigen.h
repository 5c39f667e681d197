// SPDX-License-Identifier: Apache-2.0
// eigen.h: eigenvalues and eigenvectors of a real symmetric matrix, the same bits on every machine.
// Called by whiten.c. No private data: the matrix is a covariance of public vectors.
// Arithmetic is IEEE double in a fixed order: sums, products, quotients, square roots, no libm.
// Source: Golub and Van Loan, Matrix Computations, 4th edition, sections 8.3.1 (reduction to a
// tridiagonal matrix by reflections) and 8.3.4-8.3.5 (implicit QR steps with Wilkinson's shift).
// Cyclic Jacobi, the simpler way, takes nine times as long at 576 (bench/INFERDPT.md).
// Example: {{2, 1}, {1, 2}} has the values 1 and 3.
#ifndef CUTTLE_ENGINE_EIGEN_H
#define CUTTLE_ENGINE_EIGEN_H

#include <stdbool.h>
#include <stddef.h>

/* Doubles of scratch for a matrix of n rows. */
size_t eigen_scratch(size_t n);

/* Takes the symmetric matrix a [n][n]. Sets vectors [n][n], whose row i is the eigenvector of
 * length one of values[i], in no particular order; a is destroyed. False: no convergence, as with
 * numbers that are not finite or whose squares overflow. */
bool eigen_symmetric(size_t n, double *a, double *values, double *vectors, double *scratch);

#endif
