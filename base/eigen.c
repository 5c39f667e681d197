// SPDX-License-Identifier: Apache-2.0
// All inner loops go along rows and add nothing up, so a compiler may use vectors without changing
// a bit. Sums over an index are in ascending order, or in four such interleaved (dot_in_lanes).
//
// Scratch is 8 arrays of n doubles. Between eigen_values and eigen_vectors the first three hold the
// tridiagonal matrix and the factors of the reflections: off-diagonal, beta, diagonal.
#include "base/eigen.h"

#include "base/sort.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
	STEPS_PER_VALUE = 60, /* QR steps, on average under two are needed */
	MOST_INVERSIONS = 20, /* of inverse iteration, mostly two are needed */
	VECTORS_AT_ONCE = 8,  /* that meet a reflection while it is in the cache */
};

#define WANTED_RESIDUAL 1e-13   /* of a vector times the matrix, by the largest value */
#define TOLERATED_RESIDUAL 1e-9 /* after MOST_INVERSIONS; above it there is no convergence */

size_t eigen_scratch(size_t n) {
	return 8 * n;
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

/* Row i of the block that one reflection leaves and the next one meets, from its diagonal element
 * to the right, [n]. It takes off what the last reflection left to do, v_i w' + w_i v', and
 * multiplies with the next one, u: an element right of the diagonal counts in row i and in its own
 * column. pu[n] += factor * row, and what is returned is the product of the row and u without its
 * first. */
static double reflect_row(size_t n, double *restrict row, const double *restrict v,
                          const double *restrict w, const double *restrict u, double factor,
                          double *restrict pu) {
	const double vi = v[0], wi = w[0];
	double lane[4] = {0};
	row[0] = row[0] - vi * w[0] - wi * v[0];
	pu[0] += factor * row[0];
	size_t j = 1;
	for (; j + 4 <= n; j += 4)
		for (size_t l = 0; l < 4; l++) {
			const double x = row[j + l] - vi * w[j + l] - wi * v[j + l];
			row[j + l] = x;
			pu[j + l] += factor * x;
			lane[l] += x * u[j + l];
		}
	for (; j < n; j++) {
		row[j] = row[j] - vi * w[j] - wi * v[j];
		pu[j] += factor * row[j];
		lane[0] += row[j] * u[j];
	}
	return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

/* a becomes tridiagonal: the diagonal goes to d[n], what is beside it to e[n-1]. Row k of a keeps
 * reflection k right of its diagonal, and beta[k] its factor. Only the upper triangle of a is read.
 * A reflection v turns the block A right of and below it to A - v w' - w v', where p = beta A v and
 * w = p - (beta/2 p'v) v. It does so while the next reflection is multiplied with A, so that each
 * step reads and writes A once. w has 2 n doubles, for this reflection's and the last one's. */
static void reduce_to_bands(size_t n, double *a, double *d, double *e, double *beta, double *w) {
	double *last = w, *next = w + n;
	const double *v = last; /* of the last reflection; zeros before the first */
	memset(last, 0, n * sizeof *last);
	for (size_t k = 0; k + 1 < n; k++) {
		const size_t m = n - 1 - k;
		double *row = a + k * n + k + 1;
		for (size_t j = 0; j <= m; j++)
			a[k * n + k + j] = a[k * n + k + j] - v[0] * last[j] - last[0] * v[j];
		d[k] = a[k * n + k];
		// next serves as the reflection first, then the reflection moves to its row.
		beta[k] = make_reflection(row, m, next, &e[k]);
		if (m == 1) {
			beta[k] = 0.0;
			e[k] = row[0];
		}
		memcpy(row, next, m * sizeof *row);
		memset(next, 0, m * sizeof *next);
		for (size_t i = 0; i < m; i++) {
			double *block = a + (k + 1 + i) * n + k + 1 + i;
			const double right = reflect_row(m - i, block, v + 1 + i, last + 1 + i,
			                                 row + i, beta[k] * row[i], next + i);
			next[i] += beta[k] * right;
		}
		add_multiple(next, -0.5 * beta[k] * dot_in_order(next, row, m), row, m);
		v = row;
		double *kept = last;
		last = next;
		next = kept;
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

/* QR steps until e is zero; the values are then in d. vectors [n][width] take part in each
 * rotation; with width 0 there are none. */
static bool diagonalise_bands(size_t n, double *d, double *e, double *vectors, size_t width) {
	size_t steps = STEPS_PER_VALUE * n;
	for (size_t high = n - 1; high > 0;) {
		if (is_negligible(d, e, high - 1)) {
			e[--high] = 0.0;
			continue;
		}
		size_t low = high - 1;
		while (low > 0 && !is_negligible(d, e, low - 1)) low--;
		if (!steps--) return false;
		step_bands(width, d, e, low, high, vectors);
	}
	for (size_t i = 0; i < n; i++)
		if (!isfinite(d[i])) return false;
	return true;
}

bool eigen_symmetric(size_t n, double *a, double *values, double *vectors, double *scratch) {
	double *e = scratch, *beta = scratch + n, *w = scratch + 2 * n;
	reduce_to_bands(n, a, values, e, beta, w);
	multiply_reflections(n, a, beta, vectors, w);
	return diagonalise_bands(n, values, e, vectors, n);
}

bool eigen_values(size_t n, double *a, double *values, double *scratch) {
	double *e = scratch, *beta = scratch + n, *d = scratch + 2 * n, *work = scratch + 3 * n;
	reduce_to_bands(n, a, d, e, beta, work);
	memcpy(values, d, n * sizeof *values);
	memcpy(work, e, (n - 1) * sizeof *work);
	if (!diagonalise_bands(n, values, work, NULL, 0)) return false;
	sort_doubles(values, n);
	for (size_t i = 0; i < n / 2; i++) {
		const double low = values[i];
		values[i] = values[n - 1 - i];
		values[n - 1 - i] = low;
	}
	return true;
}

static double dot_in_lanes(const double *a, const double *b, size_t n) {
	double lane[4] = {0};
	size_t i = 0;
	for (; i + 4 <= n; i += 4)
		for (size_t l = 0; l < 4; l++) lane[l] += a[i + l] * b[i + l];
	for (; i < n; i++) lane[0] += a[i] * b[i];
	return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

/* A tridiagonal matrix less a value on its diagonal, as triangles. Of rows i and i + 1 the one with
 * the larger first element is the pivot; row i of the upper triangle has three elements. */
struct triangles {
	double *pivot;  /* [n] */
	double *next;   /* [n] to the right of the pivot */
	double *second; /* [n] right of that, not 0 after an exchange only */
	double *factor; /* [n] of the pivot's row that row i + 1 is lessened by */
	double *swap;   /* [n] 1: rows i and i + 1 were exchanged */
};

/* `least` replaces smaller pivots: a value of the matrix itself makes it singular. */
static void make_triangles(size_t n, const double *d, const double *e, double value, double least,
                           const struct triangles *t) {
	double pivot = d[0] - value, next = n > 1 ? e[0] : 0.0;
	for (size_t i = 0; i + 1 < n; i++) {
		const double below = e[i], diagonal = d[i + 1] - value,
		             after = i + 2 < n ? e[i + 1] : 0.0;
		const bool swap = fabs(below) > fabs(pivot);
		t->swap[i] = swap;
		if (!swap && fabs(pivot) < least) pivot = least;
		t->pivot[i] = swap ? below : pivot;
		t->next[i] = swap ? diagonal : next;
		t->second[i] = swap ? after : 0.0;
		t->factor[i] = (swap ? pivot : below) / t->pivot[i];
		pivot = (swap ? next : diagonal) - t->factor[i] * t->next[i];
		next = swap ? -t->factor[i] * after : after;
	}
	t->pivot[n - 1] = fabs(pivot) < least ? least : pivot;
}

/* x[n] = the inverse of what the triangles stand for, times x. */
static void solve_triangles(size_t n, const struct triangles *t, double *x) {
	for (size_t i = 0; i + 1 < n; i++) {
		if (t->swap[i] != 0.0) {
			const double kept = x[i];
			x[i] = x[i + 1];
			x[i + 1] = kept;
		}
		x[i + 1] -= t->factor[i] * x[i];
	}
	for (size_t i = n; i-- > 0;) {
		if (i + 1 < n) x[i] -= t->next[i] * x[i + 1];
		if (i + 2 < n) x[i] -= t->second[i] * x[i + 2];
		x[i] /= t->pivot[i];
	}
}

static void scale_to_one(double *x, size_t n) {
	double largest = 0.0;
	for (size_t i = 0; i < n; i++) largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
	if (!(largest > 0.0)) return;
	for (size_t i = 0; i < n; i++) x[i] /= largest;
	const double length = sqrt(dot_in_lanes(x, x, n));
	for (size_t i = 0; i < n; i++) x[i] /= length;
}

/* The largest element of (T - value) x. */
static double measure_residual(size_t n, const double *d, const double *e, double value,
                               const double *x) {
	double largest = 0.0;
	for (size_t i = 0; i < n; i++) {
		double element = (d[i] - value) * x[i];
		if (i > 0) element += e[i - 1] * x[i - 1];
		if (i + 1 < n) element += e[i] * x[i + 1];
		if (!(fabs(element) <= largest)) largest = fabs(element);
	}
	return largest;
}

/* Numbers in -1 .. 1 without a pattern: a start that no vector is orthogonal to. The multiplier is
 * that of Knuth's MMIX. */
static void fill_start(double *x, size_t n, uint64_t *state) {
	for (size_t i = 0; i < n; i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		x[i] = (double)(*state >> 11) / 0x1p52 - 1.0;
	}
}

/* vectors [count][n] become those of the full matrix: the reflections, from the last to the first,
 * meet each. */
static void reflect_back(size_t n, const double *a, const double *beta, size_t count,
                         double *vectors) {
	for (size_t i = 0; i < count; i += VECTORS_AT_ONCE)
		for (size_t k = n - 1; k-- > 0;) {
			const double *v = a + k * n + k + 1;
			const size_t m = n - 1 - k;
			if (beta[k] == 0.0) continue;
			for (size_t j = i; j < count && j < i + VECTORS_AT_ONCE; j++) {
				double *x = vectors + j * n + k + 1;
				add_multiple(x, -beta[k] * dot_in_lanes(v, x, m), v, m);
			}
		}
}

bool eigen_vectors(size_t n, const double *a, const double *values, size_t count, double *vectors,
                   double *scratch) {
	const double *e = scratch, *beta = scratch + n, *d = scratch + 2 * n;
	const struct triangles t = {scratch + 3 * n, scratch + 4 * n, scratch + 5 * n,
	                            scratch + 6 * n, scratch + 7 * n};
	double norm = fabs(values[0]) > fabs(values[n - 1]) ? fabs(values[0]) : fabs(values[n - 1]);
	if (norm == 0.0) norm = 1.0;
	uint64_t state = 1;
	for (size_t i = 0; i < count; i++) {
		double *x = vectors + i * n;
		make_triangles(n, d, e, values[i], DBL_EPSILON * norm, &t);
		fill_start(x, n, &state);
		double residual = INFINITY;
		for (int turn = 0; turn < MOST_INVERSIONS; turn++) {
			solve_triangles(n, &t, x);
			scale_to_one(x, n);
			for (size_t j = 0; j < i; j++) {
				const double *earlier = vectors + j * n;
				add_multiple(x, -dot_in_lanes(earlier, x, n), earlier, n);
			}
			scale_to_one(x, n);
			residual = measure_residual(n, d, e, values[i], x);
			if (turn > 0 && residual <= WANTED_RESIDUAL * norm) break;
		}
		if (!(residual <= TOLERATED_RESIDUAL * norm)) return false;
	}
	reflect_back(n, a, beta, count, vectors);
	return true;
}
