// SPDX-License-Identifier: Apache-2.0
// samples.h: what a table says of numbers that each text has one of: lengths, perplexities.
//
// Numbers may follow from private texts: scratch is wiped.
// Example: 1 2 3 4 has the mean 2.5 and half width 2.576 * 1.291 / 2 = 1.663.
#ifndef CUTTLE_MEASURE_SAMPLES_H
#define CUTTLE_MEASURE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>

#define SAMPLES_Z 2.576 /* standard deviations on either side of a mean: 99 % */

/* The mean of values[count], count at least 1. */
double samples_mean(const double *values, size_t count);
/* Their standard deviation, with count - 1; 0 when count is below 2. */
double samples_deviation(const double *values, size_t count);
/* What to print behind the mean with a plus-minus: SAMPLES_Z deviation / sqrt(count). */
double samples_half_width(const double *values, size_t count);

/* The sum of sums[count] over the sum of sizes[count], as a share of all tokens that texts have
 * together; NaN where the sizes add up to 0. Sets *half_width to SAMPLES_Z standard errors, where
 * texts are drawn: those of sums[i] - share sizes[i], over the mean size. Source: Cochran 1977,
 * section 2.11. Example: 1 of 2 and 3 of 4 have the share 4/6. */
double samples_share(const double *sums, const double *sizes, size_t count, double *half_width);

/* Sets *distance to the Kolmogorov-Smirnov distance of two samples: the largest difference of their
 * shares at or below any value. Neither is empty, no value is NaN. False: out of memory. */
bool samples_distance(const double *one, size_t one_count, const double *other, size_t other_count,
                      double *distance);

#endif
