// SPDX-License-Identifier: Apache-2.0
// compare.h: whether one run is nearer to the references than another, and Holm's order.
//
// Counts of references are private. Nothing is kept.
// Example: of three pairs of runs with p-values .004, .03 and .02, Holm's are .012, .04 and .04.
#ifndef CUTTLE_MEASURE_COMPARE_H
#define CUTTLE_MEASURE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct compare_difference {
	double difference; /* mauve_score of `one` less that of `other` */
	double deviation;  /* its standard deviation over resamples */
	double p;          /* two-sided, by the normal law; 1 when there is no difference */
};

/* Compares two runs whose texts and the references' were clustered jointly (measure/mauve.h). A
 * resample draws the three histograms anew; both runs meet the same references, so what these do
 * to both cancels. resamples is at least 2, no histogram is empty. False: out of memory. */
bool compare_runs(const uint32_t *references, const uint32_t *one, const uint32_t *other,
                  size_t clusters, double scale, size_t resamples, uint64_t seed,
                  struct compare_difference *result);

/* adjusted[count] = Holm's p-values (Holm 1979). Those at most alpha are found together with a
 * chance of at most alpha that any of them is found wrongly. p and adjusted may be one array.
 * False: out of memory. */
bool compare_holm(const double *p, size_t count, double *adjusted);

#endif
