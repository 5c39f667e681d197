// SPDX-License-Identifier: Apache-2.0
// rates.h: how often labels were guessed right.
//
// Nothing is kept.
// Example: truth 0 0 0 1 and guesses 0 0 1 1: accuracy .75, mean recall (2/3 + 1) / 2 = .833.
#ifndef CUTTLE_MEASURE_RATES_H
#define CUTTLE_MEASURE_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rates {
	double accuracy;    /* share of guesses that are right */
	double mean_recall; /* mean, over classes that occur in truth, of the share found of each */
};

/* Labels are below `classes`; count is at least 1. False: out of memory. */
bool rates_of(const uint32_t *truth, const uint32_t *guesses, size_t count, uint32_t classes,
              struct rates *rates);

/* The area under the curve of true against false positives: the chance that a positive has a
 * higher score than a negative, ties one half. Both kinds must occur, no score is NaN. Sets *area.
 * False: out of memory. */
bool rates_area(const double *scores, const bool *positive, size_t count, double *area);

#endif
