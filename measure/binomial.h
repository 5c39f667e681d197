// SPDX-License-Identifier: Apache-2.0
// binomial.h: tails of the binomial law, and exact bounds of a proportion that was counted.
//
// No private data: counts of a game's outcomes.
// Example: 0 of 200: the proportion is at most .01487, with a chance of error of .05.
#ifndef CUTTLE_MEASURE_BINOMIAL_H
#define CUTTLE_MEASURE_BINOMIAL_H

#include <stdint.h>

/* The regularised incomplete beta function I_x(a, b), for a and b above 0 and x in 0 .. 1. Source:
 * DLMF 8.17.22, the continued fraction. About 1e-13 relative. */
double binomial_beta(double a, double b, double x);

/* P(X >= seen) for X binomial with `trials` trials of chance p: 1 when seen is 0, 0 when it is
 * above trials. */
double binomial_tail(uint64_t trials, double p, uint64_t seen);

/* Clopper and Pearson 1934: one-sided bounds of the proportion after `seen` of `trials`. Each is
 * wrong with a chance of at most alpha, in (0, 1); both together with 2 alpha at most. trials is at
 * least 1, seen at most trials. */
double binomial_low(uint64_t seen, uint64_t trials, double alpha);  /* it is at least this */
double binomial_high(uint64_t seen, uint64_t trials, double alpha); /* it is at most this */

#endif
