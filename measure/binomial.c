// SPDX-License-Identifier: Apache-2.0
// P(X >= k) of n trials is I_p(k, n - k + 1), which rises with p. The bounds bisect for the p at
// which a tail is alpha, and keep the side that is the safer one.
#include "measure/binomial.h"

#include "base/misuse.h"

#include <float.h>
#include <math.h>

enum { MOST_TERMS = 100000 }; /* about the root of the larger of a and b is needed */

/* DLMF 8.17.22 by Lentz's method, for x below (a + 1) / (a + b + 2), where it converges fast. */
static double beta_fraction(double a, double b, double x) {
	double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0);
	d = 1.0 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
	double fraction = d;
	for (int term = 1; term < MOST_TERMS; term++) {
		const double m = term;
		const double steps[2] = {
		    m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
		    -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
		};
		double change = 1.0;
		for (int k = 0; k < 2; k++) {
			d = 1.0 + steps[k] * d;
			c = 1.0 + steps[k] / c;
			d = 1.0 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
			c = fabs(c) < DBL_MIN ? DBL_MIN : c;
			change = c * d;
			fraction *= change;
		}
		if (fabs(change - 1.0) < DBL_EPSILON) break;
	}
	return fraction;
}

/* x^a (1 - x)^b / B(a, b). Its logarithm is a small difference of large numbers, hence long double:
 * with a + b of 10,000 they are near 10^5, and 1e-14 is left. */
static double beta_front(double a, double b, double x) {
	const long double ln = a * logl((long double)x) + b * log1pl(-(long double)x) +
	                       lgammal((long double)a + b) - lgammal(a) - lgammal(b);
	return (double)expl(ln);
}

double binomial_beta(double a, double b, double x) {
	REQUIRE(a > 0.0 && b > 0.0 && x >= 0.0 && x <= 1.0);
	if (x == 0.0 || x == 1.0) return x;
	if (x < (a + 1.0) / (a + b + 2.0)) return beta_front(a, b, x) / a * beta_fraction(a, b, x);
	return 1.0 - beta_front(a, b, x) / b * beta_fraction(b, a, 1.0 - x);
}

double binomial_tail(uint64_t trials, double p, uint64_t seen) {
	REQUIRE(p >= 0.0 && p <= 1.0);
	if (seen == 0) return 1.0;
	if (seen > trials) return 0.0;
	return binomial_beta((double)seen, (double)(trials - seen) + 1.0, p);
}

double binomial_low(uint64_t seen, uint64_t trials, double alpha) {
	REQUIRE(trials >= 1 && seen <= trials && alpha > 0.0 && alpha < 1.0);
	if (seen == 0) return 0.0;
	double low = 0.0, high = 1.0;
	// Until no double is left between them. The tail at `low` is at most alpha all the time.
	for (double middle = 0.5; low < middle && middle < high; middle = low + (high - low) / 2.0)
		if (binomial_tail(trials, middle, seen) <= alpha) low = middle;
		else high = middle;
	return low;
}

double binomial_high(uint64_t seen, uint64_t trials, double alpha) {
	REQUIRE(seen <= trials);
	return 1.0 - binomial_low(trials - seen, trials, alpha);
}
