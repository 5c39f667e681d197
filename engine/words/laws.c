// SPDX-License-Identifier: Apache-2.0
// laws.c: see laws.h. All in double: no guarantee rests on these numbers.
#include "engine/words/laws.h"

#include <math.h>

/* The least of the distances. Here and below a comparison stands where fmin would be a call. */
static double least_distance(const double *distances, size_t count) {
	double least = INFINITY;
	for (size_t i = 0; i < count; i++) least = distances[i] < least ? distances[i] : least;
	return least;
}

void laws_weights(double slope, const double *distances, size_t count, double *weights) {
	const double least = least_distance(distances, count);
	for (size_t i = 0; i < count; i++) {
		/* Below this a weight could not be told from 0, which is outside the support. */
		const double exponent = -slope * (distances[i] - least);
		weights[i] = isinf(distances[i]) ? 0 : exp(exponent > -700 ? exponent : -700);
	}
}

uint64_t laws_integer(double weight) {
	const uint64_t integer = (uint64_t)(int64_t)(weight * 0x1p40 + .5);
	return integer + (integer == 0 && weight > 0);
}

double laws_santext_slope(double epsilon) {
	return epsilon / 2;
}

double laws_custext_slope(double epsilon, const double *distances, size_t count) {
	const double least = least_distance(distances, count);
	double greatest = 0;
	for (size_t i = 0; i < count; i++)
		if (!isinf(distances[i]) && distances[i] > greatest) greatest = distances[i];
	return greatest > least ? epsilon / 2 / (greatest - least) : 0;
}

double laws_rantext_slope(double epsilon, double radius, double *distances, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (!(distances[i] < radius)) distances[i] = INFINITY;
	return epsilon / 2 / radius;
}

double laws_rantext_scale(double epsilon) {
	if (epsilon < 2) return epsilon;
	return 0.01658160142016071 * log(19.064721649556482 * epsilon - 38.1294334077209) +
	       9.311083811697406;
}

double laws_laplace(uint64_t bits) {
	const uint64_t low = bits & ((UINT64_C(1) << 53) - 1);
	/* 2^53 less this is exact; so the numbers near 0 keep all their digits. */
	const double above = (double)((UINT64_C(1) << 53) - low) - .5;
	const double size =
	    low >> 52 ? -log1p(-above * 0x1p-53) : -log(((double)low + .5) * 0x1p-53);
	return bits >> 63 ? -size : size;
}

double laws_rantext_radius(const double *spreads, double scale, const uint64_t *bits,
                           size_t width) {
	double sum = 0;
	for (size_t i = 0; i < width; i++) {
		const double y = spreads[i] / scale * laws_laplace(bits[i]);
		sum += y * y;
	}
	return sqrt(sum);
}
