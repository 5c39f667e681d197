// SPDX-License-Identifier: Apache-2.0
// pca.c: the mean, a symmetric matrix of products, its leading eigenvectors.
//
// Products of columns give a matrix [width][width], products of rows one of [count][count]. The
// smaller one is taken. An eigenvector u of rows and its value v make the axis X'u / sqrt(v).
// Sums over rows are in ascending order.
#include "measure/pca.h"

#include "base/eigen.h"
#include "base/misuse.h"
#include "measure/scratch.h"

#include <math.h>

enum {
	ROWS_AT_ONCE = 8, /* whose products are added to an element while it is in a register */
	BLOCK = 4,        /* rows that meet an axis matrix while it is in the cache */
};

#define NO_VARIANCE 1e-12 /* of the largest: an axis below it is rounding */

struct pca {
	size_t width;
	size_t count;   /* axes kept */
	double *mean;   /* [width] */
	double *shares; /* [count] of the variance */
	double *across; /* [width][count]: element j of all axes side by side */
};

void pca_free(struct pca *pca) {
	if (!pca) return;
	scratch_free(pca->mean);
	scratch_free(pca->shares);
	scratch_free(pca->across);
	scratch_free(pca);
}

size_t pca_axes(const struct pca *pca) {
	return pca->count;
}

double pca_share(const struct pca *pca, size_t i) {
	REQUIRE(i < pca->count);
	return pca->shares[i];
}

static void average_columns(const double *rows, size_t count, size_t width, double *mean) {
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < width; j++) mean[j] += rows[i * width + j];
	for (size_t j = 0; j < width; j++) mean[j] /= (double)count;
}

/* Row a of the upper triangle of the products of columns, over ROWS_AT_ONCE rows of x. */
static void add_products(const double *restrict x, size_t width, size_t a, double *restrict out) {
	const double *const r = x;
	double f[ROWS_AT_ONCE];
	for (size_t i = 0; i < ROWS_AT_ONCE; i++) f[i] = r[i * width + a];
	for (size_t b = a; b < width; b++) {
		double sum = out[b];
		for (size_t i = 0; i < ROWS_AT_ONCE; i++) sum += f[i] * r[i * width + b];
		out[b] = sum;
	}
}

/* The upper triangle of out [width][width] = the products of all columns of x [count][width]. The
 * rows of x up to the next multiple of ROWS_AT_ONCE are there, and zero. */
static void multiply_columns(const double *x, size_t count, size_t width, double *out) {
	for (size_t i = 0; i < count; i += ROWS_AT_ONCE)
		for (size_t a = 0; a < width; a++)
			add_products(x + i * width, width, a, out + a * width);
}

static size_t round_rows(size_t count) {
	return (count + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE * ROWS_AT_ONCE;
}

/* Axes of descending values that reach `share` of their sum. */
static size_t count_axes(const double *values, size_t n, double share) {
	double whole = 0.0, reached = 0.0;
	for (size_t i = 0; i < n; i++) whole += values[i] > 0.0 ? values[i] : 0.0;
	size_t kept = 0;
	while (kept < n && (kept == 0 || values[kept] > NO_VARIANCE * values[0])) {
		reached += values[kept++];
		if (reached >= share * whole) break;
	}
	return kept;
}

/* Writes axis i = sign v[width], so that its largest element is positive. */
static void keep_axis(struct pca *pca, size_t i, const double *v) {
	size_t largest = 0;
	double square = 0.0;
	for (size_t j = 0; j < pca->width; j++) {
		if (fabs(v[j]) > fabs(v[largest])) largest = j;
		square += v[j] * v[j];
	}
	const double length = sqrt(square), scale = v[largest] < 0.0 ? -length : length;
	for (size_t j = 0; j < pca->width; j++)
		pca->across[j * pca->count + i] = scale != 0.0 ? v[j] / scale : 0.0;
}

/* What a fit works on, beside its result. */
struct pca_fit {
	double *x; /* rows without their mean; transposed when there are fewer rows than columns */
	double *matrix;  /* [n][n] */
	double *values;  /* [n] */
	double *scratch; /* for eigen.h */
	double *vectors; /* [axes][n] */
	double *axis;    /* [width] */
	size_t n;        /* the smaller of count and width */
};

static bool solve_axes(struct pca *pca, struct pca_fit *f, size_t count, double share) {
	const size_t width = pca->width, n = f->n;
	const bool by_rows = count < width;
	multiply_columns(f->x, by_rows ? width : count, n, f->matrix);
	double whole = 0.0;
	for (size_t i = 0; i < n; i++) whole += f->matrix[i * n + i];
	if (!isfinite(whole) || !eigen_values(n, f->matrix, f->values, f->scratch)) return false;
	pca->count = count_axes(f->values, n, share);
	f->vectors = scratch_make(pca->count * n, sizeof *f->vectors);
	pca->shares = scratch_make(pca->count, sizeof *pca->shares);
	pca->across = scratch_make(pca->count * width, sizeof *pca->across);
	if (!f->vectors || !pca->shares || !pca->across) return false;
	if (!eigen_vectors(n, f->matrix, f->values, pca->count, f->vectors, f->scratch))
		return false;
	for (size_t i = 0; i < pca->count; i++) {
		const double *u = f->vectors + i * n;
		pca->shares[i] = whole > 0.0 ? f->values[i] / whole : 0.0;
		for (size_t j = 0; by_rows && j < width; j++) {
			double sum = 0.0;
			for (size_t k = 0; k < n; k++) sum += u[k] * f->x[j * n + k];
			f->axis[j] = sum;
		}
		keep_axis(pca, i, by_rows ? f->axis : u);
	}
	return true;
}

bool pca_fit(const double *rows, size_t count, size_t width, double share, struct pca **out) {
	REQUIRE(count >= 1 && width >= 1 && share > 0.0 && share <= 1.0);
	*out = NULL;
	struct pca *pca = scratch_make(1, sizeof *pca);
	if (!pca) return false;
	*out = pca;
	pca->width = width;
	const bool by_rows = count < width;
	struct pca_fit f = {.n = by_rows ? count : width};
	pca->mean = scratch_make(width, sizeof *pca->mean);
	f.x = scratch_make(round_rows(by_rows ? width : count) * f.n, sizeof *f.x);
	f.matrix = scratch_make(f.n * f.n, sizeof *f.matrix);
	f.values = scratch_make(f.n, sizeof *f.values);
	f.scratch = scratch_make(eigen_scratch(f.n), sizeof *f.scratch);
	f.axis = scratch_make(width, sizeof *f.axis);
	bool ok = pca->mean && f.x && f.matrix && f.values && f.scratch && f.axis;
	if (ok) {
		average_columns(rows, count, width, pca->mean);
		for (size_t i = 0; i < count; i++)
			for (size_t j = 0; j < width; j++)
				f.x[by_rows ? j * count + i : i * width + j] =
				    rows[i * width + j] - pca->mean[j];
		ok = solve_axes(pca, &f, count, share);
	}
	scratch_free(f.x);
	scratch_free(f.matrix);
	scratch_free(f.values);
	scratch_free(f.scratch);
	scratch_free(f.vectors);
	scratch_free(f.axis);
	return ok;
}

/* out[axes] += x * axes[axes], BLOCK rows at once; rows beyond `rows` are not touched. */
static void add_axes(size_t rows, const double *x, const double *restrict axes, size_t count,
                     double *out) {
	for (size_t i = 0; i < rows; i++) {
		double *restrict o = out + i * count;
		const double f = x[i];
		for (size_t k = 0; k < count; k++) o[k] += f * axes[k];
	}
}

void pca_apply(const struct pca *pca, const double *rows, size_t count, double *out) {
	const size_t width = pca->width, axes = pca->count;
	for (size_t i = 0; i < count * axes; i++) out[i] = 0.0;
	for (size_t i = 0; i < count; i += BLOCK) {
		const size_t here = count - i < BLOCK ? count - i : BLOCK;
		for (size_t j = 0; j < width; j++) {
			double x[BLOCK];
			for (size_t k = 0; k < here; k++)
				x[k] = rows[(i + k) * width + j] - pca->mean[j];
			add_axes(here, x, pca->across + j * axes, axes, out + i * axes);
		}
	}
}
