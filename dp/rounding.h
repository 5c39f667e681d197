// SPDX-License-Identifier: Apache-2.0
// What the accountants share: their domain, and the last rounding to a double, always to a named side.
#ifndef CUTTLE_DP_ROUNDING_H
#define CUTTLE_DP_ROUNDING_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

_Static_assert(LDBL_MANT_DIG >= 64 && LDBL_MAX_EXP >= 16384, "the margins below are for a wide long double");

#define SIMPLE 0x1p-59L /* relative margin of a handful of long double operations */
#define TERM 1e-16L     /* margin of a sum, per size of its terms */

/* The least double that is at least x; +infinity beyond the largest. */
static inline double up(long double x) {
	if (x > DBL_MAX) return (double)INFINITY;
	double d = (double)x;
	return (long double)d < x ? nextafter(d, (double)INFINITY) : d;
}

/* The greatest double that is at most x >= 0. */
static inline double down(long double x) {
	if (x > DBL_MAX) return (double)INFINITY;
	double d = (double)x;
	return (long double)d > x ? nextafter(d, 0.0) : d;
}

static inline bool positive(double x) {
	return isnormal(x) && x > 0.0;
}

static inline bool probability(double x) {
	return positive(x) && x < 1.0;
}

#endif
