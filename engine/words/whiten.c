// SPDX-License-Identifier: Apache-2.0
// The covariance is summed in double, word by word in their order. A worker takes some rows of it,
// so each element is summed by one worker. The transform itself is in float and goes through the
// kernels, as for a word that is looked up later.
#include "engine/words/whiten.h"

#include "base/eigen.h"
#include "engine/status.h"
#include "engine/words/multiply.h"
#include "engine/words/vector.h"

#include <math.h>
#include <stdlib.h>

enum {
	COVARIANCE_ROWS = 16, /* rows of the covariance per task */
	WORDS_AT_ONCE = 8,    /* words that are added in one pass over a row */
	APPLY_ROWS = 1024     /* rows that are centred at once */
};

struct covariance {
	const float *rows; /* [count][width] */
	const float *mean;
	size_t count;
	size_t width;
	double *centred; /* [workers][WORDS_AT_ONCE][width] */
	double *sums;    /* [width][width]: right of the diagonal, and the diagonal */
};

/* sums[j] += x[0][i] * x[0][j] + ..., one word after the other, for j from i on. */
static void add_words(double *restrict sums, const double *restrict x, size_t i, size_t width) {
	const double *x0 = x, *x1 = x0 + width, *x2 = x1 + width, *x3 = x2 + width,
	             *x4 = x3 + width, *x5 = x4 + width, *x6 = x5 + width, *x7 = x6 + width;
	const double a0 = x0[i], a1 = x1[i], a2 = x2[i], a3 = x3[i], a4 = x4[i], a5 = x5[i],
	             a6 = x6[i], a7 = x7[i];
	for (size_t j = i; j < width; j++) {
		double sum = sums[j] + a0 * x0[j];
		sum += a1 * x1[j];
		sum += a2 * x2[j];
		sum += a3 * x3[j];
		sum += a4 * x4[j];
		sum += a5 * x5[j];
		sum += a6 * x6[j];
		sums[j] = sum + a7 * x7[j];
	}
}

static void covariance_task(void *context, size_t index, unsigned worker) {
	const struct covariance *c = context;
	const size_t d = c->width, begin = index * COVARIANCE_ROWS,
	             end = begin + COVARIANCE_ROWS < d ? begin + COVARIANCE_ROWS : d;
	double *x = c->centred + (size_t)worker * WORDS_AT_ONCE * d;
	for (size_t first = 0; first < c->count; first += WORDS_AT_ONCE) {
		// Behind the last word stand zeros: they add nothing.
		for (size_t w = 0; w < WORDS_AT_ONCE; w++) {
			const float *row = c->rows + (first + w) * d;
			for (size_t j = begin; j < d; j++)
				x[w * d + j] = first + w < c->count
				                   ? (double)row[j] - (double)c->mean[j]
				                   : 0.0;
		}
		for (size_t i = begin; i < end; i++) add_words(c->sums + i * d, x, i, d);
	}
}

static void find_mean(const float *rows, size_t count, size_t width, double *sum, float *mean) {
	for (size_t j = 0; j < width; j++) sum[j] = 0.0;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < width; j++) sum[j] += (double)rows[i * width + j];
	for (size_t j = 0; j < width; j++) mean[j] = (float)(sum[j] / (double)count);
}

/* The eigenbasis of a covariance. */
struct eigenbasis {
	double *memory;  /* all of it; NULL = there is none */
	double *values;  /* [width], in no order */
	double *vectors; /* [width][width], a row for each value */
	double greatest; /* of the values, above 0 */
};

/* Sets mean [width], and the eigenbasis of the rows' covariance, whose memory the caller frees.
 * Failures as whiten_measure; then there is none. */
static enum cuttle_status find_eigenbasis(struct threads *threads, const float *rows, size_t count,
                                          size_t width, float *mean, struct eigenbasis *basis,
                                          struct cuttle_error *error) {
	const size_t square = width * width, workers = threads_count(threads);
	double *memory =
	    calloc(2 * square + width + eigen_scratch(width) + workers * WORDS_AT_ONCE * width,
	           sizeof *memory);
	*basis = (struct eigenbasis){.memory = memory};
	if (!memory)
		return status_fail(error, CUTTLE_NOMEM,
		                   "out of memory for the covariance of vectors of %zu floats",
		                   width);
	double *sums = memory, *vectors = sums + square, *values = vectors + square,
	       *scratch = values + width, *centred = scratch + eigen_scratch(width);
	find_mean(rows, count, width, values, mean);
	struct covariance c = {rows, mean, count, width, centred, sums};
	threads_run(threads, (width + COVARIANCE_ROWS - 1) / COVARIANCE_ROWS, covariance_task, &c);
	for (size_t i = 0; i < width; i++)
		for (size_t j = i; j < width; j++)
			sums[j * width + i] = sums[i * width + j] /= (double)count;
	if (eigen_symmetric(width, sums, values, vectors, scratch))
		for (size_t i = 0; i < width; i++)
			if (values[i] > basis->greatest) basis->greatest = values[i];
	basis->values = values;
	basis->vectors = vectors;
	if (basis->greatest > 0.0) return CUTTLE_OK;
	free(memory);
	*basis = (struct eigenbasis){.memory = NULL};
	return status_fail(error, CUTTLE_USAGE,
	                   "the vectors are all equal, or their numbers are too large");
}

/* Whether the rows reach into direction i. */
static bool is_reached(const struct eigenbasis *basis, size_t i) {
	return basis->values[i] > 1e-9 * basis->greatest;
}

/* row [width] = eigenvector i times the factor. */
static void scale_axis(const struct eigenbasis *basis, size_t width, size_t i, double factor,
                       float *row) {
	for (size_t j = 0; j < width; j++) row[j] = (float)(factor * basis->vectors[i * width + j]);
}

enum cuttle_status whiten_measure(struct threads *threads, const float *rows, size_t count,
                                  size_t width, float *mean, float *transform,
                                  struct cuttle_error *error) {
	struct eigenbasis basis;
	const enum cuttle_status status =
	    find_eigenbasis(threads, rows, count, width, mean, &basis, error);
	for (size_t i = 0; !status && i < width; i++)
		scale_axis(&basis, width, i,
		           is_reached(&basis, i) ? 1.0 / sqrt(sqrt(basis.values[i])) : 0.0,
		           transform + i * width);
	free(basis.memory);
	return status;
}

enum cuttle_status whiten_principal(struct threads *threads, const float *rows, size_t count,
                                    size_t width, size_t wanted, float *mean, float *axes,
                                    struct cuttle_error *error) {
	struct eigenbasis basis;
	const enum cuttle_status status =
	    find_eigenbasis(threads, rows, count, width, mean, &basis, error);
	for (size_t n = 0; !status && n < wanted; n++) {
		size_t best = 0;
		for (size_t i = 1; i < width; i++)
			if (basis.values[i] > basis.values[best]) best = i;
		scale_axis(&basis, width, best,
		           is_reached(&basis, best) ? 1.0 / sqrt(basis.values[best]) : 0.0,
		           axes + n * width);
		basis.values[best] = -INFINITY;
	}
	free(basis.memory);
	return status;
}

enum cuttle_status whiten_apply(struct threads *threads, const float *mean,
                                const struct packed_matrix *turn, const float *rows, size_t count,
                                float *out, size_t *bad, struct cuttle_error *error) {
	const size_t d = turn->k;
	float *centred = malloc(APPLY_ROWS * d * sizeof *centred);
	if (!centred) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	*bad = count;
	for (size_t first = 0; first < count && *bad == count; first += APPLY_ROWS) {
		const size_t some = count - first < APPLY_ROWS ? count - first : APPLY_ROWS;
		for (size_t i = 0; i < some; i++)
			for (size_t j = 0; j < d; j++)
				centred[i * d + j] =
				    (float)((double)rows[(first + i) * d + j] - (double)mean[j]);
		multiply_rows(threads, turn, centred, some, out + first * d);
		for (size_t i = 0; i < some && *bad == count; i++)
			if (!vector_to_unit(out + (first + i) * d, d)) *bad = first + i;
	}
	free(centred);
	return CUTTLE_OK;
}
