// SPDX-License-Identifier: Apache-2.0
// pairs.h: how like each other the texts of one set are, by cosines of pairs that a seed fixes.
//
// Rows may follow from private texts; nothing is kept.
// Example: with all texts equal the mean is 1, with unrelated directions near 0.
#ifndef CUTTLE_MEASURE_PAIRS_H
#define CUTTLE_MEASURE_PAIRS_H

#include <stddef.h>
#include <stdint.h>

enum { PAIRS_COUNT = 1000 };

/* The mean cosine of `pairs` pairs of different rows of [count][width]. The pairs follow from count
 * and seed alone, so that two runs of one size are compared in the same pairs. A row of zeros has
 * cosine 0 with all. count is at least 2, pairs at least 1. */
double pairs_cosine(const float *rows, size_t count, size_t width, size_t pairs, uint64_t seed);

#endif
