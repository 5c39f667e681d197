// SPDX-License-Identifier: Apache-2.0
// vector.h: one vector brought to length one.
// One function does it, so a word's vector has the same bits, whoever makes it.
// Private data: the vector of a private word may pass through; nothing is kept.
#ifndef CUTTLE_ENGINE_VECTOR_H
#define CUTTLE_ENGINE_VECTOR_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* The square of the length: summed in order, in double. */
static inline double vector_square(const float *vector, size_t width) {
	double sum = 0.0;
	for (size_t i = 0; i < width; i++) sum += (double)vector[i] * (double)vector[i];
	return sum;
}

/* Divides by the length. False: it is zero or not finite, and the vector has no direction. */
static inline bool vector_to_unit(float *vector, size_t width) {
	const double square = vector_square(vector, width);
	if (!(square > 0.0) || !isfinite(square)) return false;
	const double length = sqrt(square);
	for (size_t i = 0; i < width; i++) vector[i] = (float)((double)vector[i] / length);
	return true;
}

#endif
