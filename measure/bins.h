// SPDX-License-Identifier: Apache-2.0
// bins.h: how many of some numbers lie in each of up to 64 intervals, for a histogram.
//
// Numbers may follow from private texts: so do edges and counts.
// Example: lengths 3, 40 and 41 have width 2 and 21 bins; bin 1 (2 to 4) has one, bin 20 two.
#ifndef CUTTLE_MEASURE_BINS_H
#define CUTTLE_MEASURE_BINS_H

#include <stddef.h>
#include <stdint.h>

enum { BINS_MOST = 64, BINS_EQUAL_MOST = 32 };

/* Bin i holds numbers from edges[i] to below edges[i + 1]. */
struct bins {
	size_t count;
	double edges[BINS_MOST + 1];
};

/* At most 32 bins of equal width, a power of two that is at least 1, from 0 to above `most`. most
 * is finite and not negative. */
void bins_equal(double most, struct bins *bins);
/* Bins whose edges are powers of 2^(1/4), from at most `least` to above `most`: 10 to 100 has 14.
 * There are at most 64. 0 < least <= most, finite. */
void bins_ratio(double least, double most, struct bins *bins);
/* Sets counts[bins->count]. A number beyond the edges counts in the bin next to it, and one that is
 * not finite nowhere. */
void bins_count(const struct bins *bins, const double *values, size_t count, uint32_t *counts);

#endif
