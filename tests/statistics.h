// SPDX-License-Identifier: Apache-2.0
// What the statistical tests share: goodness of fit, exact intervals of a proportion, and where their randomness comes from.
#ifndef CUTTLE_TESTS_STATISTICS_H
#define CUTTLE_TESTS_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FALSE_ALARM 1e-6 /* of each test */

/* P(chi-square of `degrees` freedom >= x). */
double chi_square_tail(double x, double degrees);

/* The p-value of Pearson's test of seen[cells], n in all, against p[cells], which sum to 1. Cells that expect fewer than 10 are taken
 * together. 0 where something was seen that cannot be. */
double fit(const size_t *seen, const double *p, size_t cells, size_t n);

/* The p-value of two samples of n each having the same law. Cells with fewer than 20 in both are taken together. */
double same_law(const size_t *one, const size_t *other, size_t cells);

/* Clopper-Pearson bounds of the probability of what was seen k times in n: each is wrong with chance `alpha` at most. */
double proportion_above(size_t k, size_t n, double alpha); /* it is at least this */
double proportion_below(size_t k, size_t n, double alpha); /* it is at most this */

/* CUTTLE_TEST_NIGHTLY=1: larger sizes and fresh randomness of the system. */
bool nightly(void);

/* CUTTLE_TEST_SHORT=1: the smallest sizes that still test the thing, for sanitizers and emulated processors. */
bool briefly(void);

/* How often: a test of `by_day` repetitions does two fifths of them under CUTTLE_TEST_SHORT=1, and `by_night` of them at night. */
size_t repetitions(size_t by_day, size_t by_night);

/* fixed; nightly a fresh seed, printed, or that of CUTTLE_TEST_SEED to see a night's failure again. */
uint64_t nightly_seed(uint64_t fixed);

#endif
