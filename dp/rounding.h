// SPDX-License-Identifier: Apache-2.0
// rounding.h: rounds a long double to a double, always to a named side.
//
// Accounts compute in long double and round once, at the end. This file also holds the checks of
// their arguments. No private data passes through.
// Example: round_up(0.1L) is the double just above 0.1, round_down(0.1L) the double just below.
#ifndef CUTTLE_DP_ROUNDING_H
#define CUTTLE_DP_ROUNDING_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

_Static_assert(LDBL_MANT_DIG >= 64 && LDBL_MAX_EXP >= 16384,
               "the margins below are for a wide long double");

#define SIMPLE 0x1p-59L /* relative margin for a handful of long double operations */
#define TERM 1e-16L     /* margin for a sum, relative to the sum of its terms' sizes */

/* The least double that is at least x; +infinity beyond the largest. */
static inline double round_up(long double x) {
	if (x > DBL_MAX) return (double)INFINITY;
	double d = (double)x;
	return (long double)d < x ? nextafter(d, (double)INFINITY) : d;
}

/* The greatest double that is at most x >= 0. */
static inline double round_down(long double x) {
	if (x > DBL_MAX) return (double)INFINITY;
	double d = (double)x;
	return (long double)d > x ? nextafter(d, 0.0) : d;
}

/* Positive, finite and not subnormal. */
static inline bool positive(double x) {
	return isnormal(x) && x > 0.0;
}

static inline bool probability(double x) {
	return positive(x) && x < 1.0;
}

#endif
