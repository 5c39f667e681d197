// SPDX-License-Identifier: Apache-2.0
// A pair's second row is drawn from those that are left without the first.
#include "measure/pairs.h"

#include "base/misuse.h"
#include "measure/stream.h"

#include <math.h>

static double multiply_floats(const float *a, const float *b, size_t width) {
	double sum = 0.0;
	for (size_t j = 0; j < width; j++) sum += (double)a[j] * (double)b[j];
	return sum;
}

double pairs_cosine(const float *rows, size_t count, size_t width, size_t pairs, uint64_t seed) {
	REQUIRE(count >= 2 && pairs >= 1);
	struct stream stream = stream_of(seed, 0);
	double sum = 0.0;
	for (size_t i = 0; i < pairs; i++) {
		const size_t first = (size_t)stream_below(&stream, count),
		             step = (size_t)stream_below(&stream, count - 1);
		const float *a = rows + first * width,
		            *b = rows + (first + 1 + step) % count * width;
		const double square = multiply_floats(a, a, width) * multiply_floats(b, b, width);
		if (square > 0.0) sum += multiply_floats(a, b, width) / sqrt(square);
	}
	return sum / (double)pairs;
}
