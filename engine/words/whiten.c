// SPDX-License-Identifier: Apache-2.0
// The covariance is summed in double, word by word in their order. A worker takes some rows of it,
// so each element is summed by one worker. The transform itself is in float and goes through the
// kernels, as for a word that is looked up later.
#include "engine/words/whiten.h"

#include "base/eigen.h"
#include "engine/status.h"
#include "engine/words/multiply.h"
#include "engine/words/vector.h"

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

/* transform = each eigenvector, divided by its value^(1/4). False: no value is above zero. */
static bool fill_transform(size_t width, const double *values, const double *vectors,
                           float *transform) {
	double greatest = 0.0;
	for (size_t i = 0; i < width; i++)
		if (values[i] > greatest) greatest = values[i];
	for (size_t i = 0; i < width; i++) {
		const bool reached = values[i] > 1e-9 * greatest;
		const double factor = reached ? 1.0 / sqrt(sqrt(values[i])) : 0.0;
		for (size_t j = 0; j < width; j++)
			transform[i * width + j] = (float)(factor * vectors[i * width + j]);
	}
	return greatest > 0.0;
}

enum cuttle_status whiten_measure(struct threads *threads, const float *rows, size_t count,
                                  size_t width, float *mean, float *transform,
                                  struct cuttle_error *error) {
	const size_t square = width * width, workers = threads_count(threads);
	double *memory =
	    calloc(2 * square + width + eigen_scratch(width) + workers * WORDS_AT_ONCE * width,
	           sizeof *memory);
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
	const bool ok = eigen_symmetric(width, sums, values, vectors, scratch) &&
	                fill_transform(width, values, vectors, transform);
	free(memory);
	return ok ? CUTTLE_OK
	          : status_fail(error, CUTTLE_USAGE,
	                        "the vectors are all equal, or their numbers are too large");
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
