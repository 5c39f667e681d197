// SPDX-License-Identifier: Apache-2.0
// learn.c: see learn.h. dp/PRIVACY.md, step 55, says what rests on it.
#include "dp/learn.h"

#include "base/misuse.h"
#include "dp/noise.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The largest integer before the clip. 2^16 of them squared sum to 2^56. */
#define MOST_PART 0x1p20

struct dp_learn {
	size_t width;
	size_t left; /* records that may still come */
	int64_t *x;  /* [width] noise, and the records so far */
	int32_t *q;  /* [width] of one record */
};

static uint64_t square_length(const int32_t *q, size_t width) {
	uint64_t square = 0;
	for (size_t j = 0; j < width; j++) square += (uint64_t)((int64_t)q[j] * q[j]);
	return square;
}

/* ceil(sqrt(square)), for square <= 2^56 */
static int64_t find_length(uint64_t square) {
	uint64_t root = 0;
	for (uint64_t bit = UINT64_C(1) << 28; bit; bit >>= 1)
		if ((root + bit) * (root + bit) <= square) root += bit;
	return (int64_t)(root + (root * root < square));
}

void dp_learn_round(const double *u, size_t width, int32_t *q) {
	REQUIRE(width >= 1 && width <= DP_LEARN_MOST_WIDTH);
	bool finite = u != NULL;
	for (size_t j = 0; u && j < width; j++) finite &= isfinite(u[j]) != 0;
	for (size_t j = 0; j < width; j++) {
		const double part = finite ? u[j] * DP_LEARN_CLIP : 0.0;
		q[j] = (int32_t)rint(fmax(-MOST_PART, fmin(MOST_PART, part)));
	}
	const uint64_t square = square_length(q, width);
	const int64_t length = square > DP_LEARN_SQUARE ? find_length(square) : DP_LEARN_CLIP;
	for (size_t j = 0; j < width; j++) q[j] = (int32_t)((int64_t)q[j] * DP_LEARN_CLIP / length);
	const bool within = square_length(q, width) <= DP_LEARN_SQUARE;
	for (size_t j = 0; j < width; j++) q[j] *= within;
}

static void free_learn(struct dp_learn **learn) {
	struct dp_learn *l = *learn;
	if (l->x) explicit_bzero(l->x, l->width * sizeof *l->x);
	if (l->q) explicit_bzero(l->q, l->width * sizeof *l->q);
	free(l->x);
	free(l->q);
	free(l);
	*learn = NULL;
}

enum dp_status dp_learn_begin(size_t width, size_t records, struct dp_variance variance,
                              const struct dp_random *random, struct dp_learn **out) {
	REQUIRE(width >= 1 && width <= DP_LEARN_MOST_WIDTH && records <= DP_LEARN_MOST_RECORDS);
	struct dp_learn *l = *out = calloc(1, sizeof *l);
	if (!l) return DP_NO_MEMORY;
	*l = (struct dp_learn){.width = width,
	                       .left = records,
	                       .x = calloc(width, sizeof *l->x),
	                       .q = calloc(width, sizeof *l->q)};
	const enum dp_status status =
	    l->x && l->q ? dp_noise_fill(variance.num, variance.den, random, l->x, width)
	                 : DP_NO_MEMORY;
	if (status != DP_OK) free_learn(out);
	return status;
}

void dp_learn_add(struct dp_learn *learn, const double *u) {
	REQUIRE(learn->left > 0);
	learn->left--;
	dp_learn_round(u, learn->width, learn->q);
	for (size_t j = 0; j < learn->width; j++) learn->x[j] += learn->q[j];
}

void dp_learn_end(struct dp_learn **learn, int64_t *x) {
	memcpy(x, (*learn)->x, (*learn)->width * sizeof *x);
	free_learn(learn);
}

double dp_learn_share(const int64_t *x, size_t width, size_t whole, size_t records,
                      struct dp_variance variance) {
	const double of_records = (double)records * DP_LEARN_SQUARE * (double)width / (double)whole;
	double square = 0.0;
	for (size_t j = 0; j < width; j++) square += (double)x[j] * (double)x[j];
	const double noise = (double)width * variance.num / variance.den + of_records;
	return noise < square ? 1.0 - noise / square : 0.0;
}
