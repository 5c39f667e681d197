// SPDX-License-Identifier: Apache-2.0
// All inner loops go along rows and add nothing up, so a compiler may use vectors without changing
// a bit. Sums over an index are short, and in ascending order.
#include "engine/words/eigen.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { STEPS_PER_VALUE = 60 }; /* QR steps, on average under two are needed */

size_t eigen_scratch(size_t n) {
	return 4 * n;
}

static double dot_in_order(const double *a, const double *b, size_t n) {
	double sum = 0.0;
	for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
	return sum;
}

/* to[n] += factor * from[n] */
static void add_multiple(double *restrict to, double factor, const double *restrict from,
                         size_t n) {
	for (size_t i = 0; i < n; i++) to[i] += factor * from[i];
}

/* Makes v, of the row x[n] to the right of the diagonal, such that I - beta v v' turns x to a
 * multiple of the first axis. Returns beta, 0 when x has no length; *off becomes that multiple. */
static double make_reflection(const double *x, size_t n, double *v, double *off) {
	const double length = sqrt(dot_in_order(x, x, n));
	*off = x[0] > 0 ? -length : length;
	memcpy(v, x, n * sizeof *v);
	v[0] -= *off;
	const double square = dot_in_order(v, v, n);
	return square > 0.0 ? 2.0 / square : 0.0;
}

/* The block right of and below the diagonal element k: block - v w' - w v', with m rows, where w =
 * p - (beta/2 p'v) v and p = beta block v. */
static void reflect_both_sides(double *a, size_t n, size_t k, const double *v, double beta,
                               double *w) {
	const size_t m = n - 1 - k;
	double *block = a + (k + 1) * n + k + 1;
	memset(w, 0, m * sizeof *w);
	for (size_t i = 0; i < m; i++) add_multiple(w, beta * v[i], block + i * n, m);
	add_multiple(w, -0.5 * beta * dot_in_order(w, v, m), v, m);
	for (size_t i = 0; i < m; i++) {
		add_multiple(block + i * n, -v[i], w, m);
		add_multiple(block + i * n, -w[i], v, m);
	}
}

/* a becomes tridiagonal: the diagonal goes to d[n], what is beside it to e[n-1]. Row k of a keeps
 * reflection k right of its diagonal, and beta[k] its factor. */
static void reduce_to_bands(size_t n, double *a, double *d, double *e, double *beta, double *w) {
	for (size_t k = 0; k + 1 < n; k++) {
		double *row = a + k * n + k + 1;
		d[k] = a[k * n + k];
		beta[k] = 0.0;
		e[k] = row[0];
		if (k + 2 >= n) break;
		// w serves as the reflection first, then the reflection moves to its row.
		beta[k] = make_reflection(row, n - 1 - k, w, &e[k]);
		memcpy(row, w, (n - 1 - k) * sizeof *w);
		reflect_both_sides(a, n, k, row, beta[k], w);
	}
	d[n - 1] = a[n * n - 1];
}

/* vectors = the transposed product of all reflections. They are multiplied from the last to the
 * first, so each meets only the block that is not yet the identity. */
static void multiply_reflections(size_t n, const double *a, const double *beta, double *vectors,
                                 double *t) {
	memset(vectors, 0, n * n * sizeof *vectors);
	for (size_t i = 0; i < n; i++) vectors[i * n + i] = 1.0;
	for (size_t k = n - 1; k-- > 0;) {
		const double *v = a + k * n + k + 1;
		double *block = vectors + (k + 1) * n + k + 1;
		const size_t m = n - 1 - k;
		if (beta[k] == 0.0) continue;
		memset(t, 0, m * sizeof *t);
		for (size_t i = 0; i < m; i++) add_multiple(t, v[i], block + i * n, m);
		for (size_t i = 0; i < m; i++) add_multiple(block + i * n, -beta[k] * v[i], t, m);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++) {
			const double kept = vectors[i * n + j];
			vectors[i * n + j] = vectors[j * n + i];
			vectors[j * n + i] = kept;
		}
}

static void rotate_rows(double *restrict one, double *restrict other, double c, double s,
                        size_t n) {
	for (size_t i = 0; i < n; i++) {
		const double x = one[i], y = other[i];
		one[i] = c * x + s * y;
		other[i] = c * y - s * x;
	}
}

/* One implicit QR step on the block low .. high of the tridiagonal matrix. */
static void step_bands(size_t n, double *d, double *e, size_t low, size_t high, double *vectors) {
	const double half = (d[high - 1] - d[high]) / 2, side = e[high - 1];
	const double root = sqrt(half * half + side * side);
	const double shift = d[high] - side * side / (half + (half < 0 ? -root : root));
	double x = d[low] - shift, z = e[low];
	for (size_t k = low; k < high; k++) {
		const double r = sqrt(x * x + z * z), c = r > 0 ? x / r : 1.0,
		             s = r > 0 ? z / r : 0.0;
		if (k > low) e[k - 1] = r;
		const double a = d[k], b = d[k + 1], f = e[k], cross = 2 * c * s * f;
		d[k] = c * c * a + cross + s * s * b;
		d[k + 1] = s * s * a - cross + c * c * b;
		e[k] = c * s * (b - a) + (c * c - s * s) * f;
		x = e[k];
		if (k + 1 < high) {
			z = s * e[k + 1];
			e[k + 1] *= c;
		}
		rotate_rows(vectors + k * n, vectors + (k + 1) * n, c, s, n);
	}
}

static bool is_negligible(const double *d, const double *e, size_t i) {
	return fabs(e[i]) <= DBL_EPSILON * (fabs(d[i]) + fabs(d[i + 1]));
}

bool eigen_symmetric(size_t n, double *a, double *values, double *vectors, double *scratch) {
	double *e = scratch, *beta = scratch + n, *w = scratch + 2 * n;
	reduce_to_bands(n, a, values, e, beta, w);
	multiply_reflections(n, a, beta, vectors, w);
	size_t steps = STEPS_PER_VALUE * n;
	for (size_t high = n - 1; high > 0;) {
		if (is_negligible(values, e, high - 1)) {
			e[--high] = 0.0;
			continue;
		}
		size_t low = high - 1;
		while (low > 0 && !is_negligible(values, e, low - 1)) low--;
		if (!steps--) return false;
		step_bands(n, values, e, low, high, vectors);
	}
	for (size_t i = 0; i < n; i++)
		if (!isfinite(values[i])) return false;
	return true;
}
