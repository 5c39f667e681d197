// SPDX-License-Identifier: Apache-2.0
// eigen.h: eigenvalues and eigenvectors of a real symmetric matrix, the same bits on every machine.
// The matrix may follow from private texts: all memory is the caller's, who wipes it.
// Arithmetic is IEEE double in a fixed order: sums, products, quotients, square roots, no libm.
// Source: Golub and Van Loan, Matrix Computations, 4th edition, sections 8.3.1 (reduction to a
// tridiagonal matrix by reflections) and 8.3.4-8.3.5 (implicit QR steps with Wilkinson's shift).
// Cyclic Jacobi, the simpler way, takes nine times as long at 576 (bench/INFERDPT.md).
// Example: {{2, 1}, {1, 2}} has the values 1 and 3.
#ifndef CUTTLE_BASE_EIGEN_H
#define CUTTLE_BASE_EIGEN_H

#include <stdbool.h>
#include <stddef.h>

/* Doubles of scratch for a matrix of n rows, of all functions below. n is at least 1. */
size_t eigen_scratch(size_t n);

/* Takes the symmetric matrix a [n][n]. Sets vectors [n][n], whose row i is the eigenvector of
 * length one of values[i], in no particular order; a is destroyed. False: no convergence, as with
 * numbers that are not finite or whose squares overflow. */
bool eigen_symmetric(size_t n, double *a, double *values, double *vectors, double *scratch);

/* All values, the largest first, of the symmetric matrix a [n][n]. In a and the scratch stays what
 * eigen_vectors needs. False: as above. */
bool eigen_values(size_t n, double *a, double *values, double *scratch);
/* After eigen_values: row i of vectors [count][n] = an eigenvector of length one of values[i], for
 * the first `count` values. With equal values these are orthogonal, too. Far faster than
 * eigen_symmetric when few vectors are wanted. Source: inverse iteration, Golub and Van Loan,
 * section 8.4.2, each vector kept orthogonal to the earlier ones. False: no convergence. */
bool eigen_vectors(size_t n, const double *a, const double *values, size_t count, double *vectors,
                   double *scratch);

#endif
