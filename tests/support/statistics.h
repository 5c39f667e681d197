// SPDX-License-Identifier: Apache-2.0
// statistics.h: what the statistical tests share. It has goodness of fit, exact bounds of a
// proportion, how often a test repeats, and where its randomness comes from.
#ifndef CUTTLE_TESTS_STATISTICS_H
#define CUTTLE_TESTS_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FALSE_ALARM 1e-6 /* chance that one test fails though all is right */

/* P(chi-square of `degrees` freedom >= x). */
double chi_square_tail(double x, double degrees);

/* The p-value of Pearson's test of seen[cells] against p[cells]. The counts sum to n, the
 * probabilities to 1. Cells that expect fewer than 10 are joined to one. 0: a cell of probability 0
 * was seen. */
double fit(const size_t *seen, const double *p, size_t cells, size_t n);

/* The p-value of the test that two samples, one[cells] and other[cells], have the same law. Both
 * must be of the same size. Cells with fewer than 20 in both together are joined to one. */
double same_law(const size_t *one, const size_t *other, size_t cells);

/* Clopper-Pearson bounds of the probability of an event that was seen k times in n trials. Each
 * bound is wrong with a chance of at most `alpha`. */
double proportion_above(size_t k, size_t n, double alpha); /* the probability is at least this */
double proportion_below(size_t k, size_t n, double alpha); /* the probability is at most this */

/* Whether CUTTLE_TEST_NIGHTLY is set: larger sizes, and fresh randomness from the system. */
bool nightly(void);

/* Whether CUTTLE_TEST_SHORT is set: the smallest sizes that can still fail, for sanitizers and
 * emulated processors. */
bool briefly(void);

/* How often a test repeats: `by_day`, but two fifths of that when briefly(), and `by_night` when
 * nightly(). */
size_t repetitions(size_t by_day, size_t by_night);

/* The seed of a test: `fixed` by day, and a fresh one, which is printed, when nightly().
 * CUTTLE_TEST_SEED gives a seed in place of both, to see a night's failure again. */
uint64_t nightly_seed(uint64_t fixed);

#endif
