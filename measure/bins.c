// SPDX-License-Identifier: Apache-2.0
// The few lines of bins.h.
#include "measure/bins.h"

#include <math.h>
#include <string.h>

void bins_equal(double most, struct bins *bins) {
	double width = 1;
	while (most >= BINS_EQUAL_MOST * width) width *= 2;
	bins->count = (size_t)(most / width) + 1;
	for (size_t i = 0; i <= bins->count; i++) bins->edges[i] = width * (double)i;
}

void bins_ratio(double least, double most, struct bins *bins) {
	const double first = floor(4 * log2(least)), last = floor(4 * log2(most)) + 1;
	bins->count = last - first < BINS_MOST ? (size_t)(last - first) : BINS_MOST;
	for (size_t i = 0; i <= bins->count; i++) bins->edges[i] = exp2((first + (double)i) / 4);
}

void bins_count(const struct bins *bins, const double *values, size_t count, uint32_t *counts) {
	memset(counts, 0, bins->count * sizeof *counts);
	for (size_t i = 0; i < count; i++) {
		size_t bin = 0;
		if (!isfinite(values[i])) continue;
		while (bin + 1 < bins->count && values[i] >= bins->edges[bin + 1]) bin++;
		counts[bin]++;
	}
}
