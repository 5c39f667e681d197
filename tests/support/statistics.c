// SPDX-License-Identifier: Apache-2.0
// How the p-values and bounds of statistics.h are computed: series and continued fractions, summed
// until the next term no longer counts.
#include "tests/support/statistics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

enum { MOST_TERMS = 100000 };

/* The tail is Q(a, x) = Gamma(a, x) / Gamma(a) with a = degrees / 2 and x = chi_square / 2. For x
 * below a + 1 it is 1 - P(a, x), by the series of P. Otherwise it is Legendre's continued fraction,
 * by Lentz's method. */
double chi_square_tail(double chi_square, double degrees) {
	const double a = degrees / 2, x = chi_square / 2, scale = exp(a * log(x) - x - lgamma(a));
	if (!(x > 0)) return 1;
	if (x < a + 1) {
		double term = 1 / a, sum = term;
		for (int n = 1; n < MOST_TERMS && term > 1e-17 * sum; n++)
			sum += term *= x / (a + n);
		return 1 - scale * sum;
	}
	double b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d;
	for (int n = 1; n < MOST_TERMS; n++) {
		const double step = -n * (n - a);
		b += 2;
		d = 1 / (b + step * d);
		c = b + step / c;
		fraction *= c * d;
		if (fabs(c * d - 1) < 1e-16) break;
	}
	return scale * fraction;
}

double fit(const size_t *seen, const double *p, size_t cells, size_t n) {
	double sum = 0, rare_expected = 0, rare_seen = 0;
	int degrees = -1;
	for (size_t i = 0; i < cells; i++) {
		const double expected = p[i] * (double)n;
		if (expected == 0 && seen[i] > 0) return 0;
		if (expected < 10) {
			rare_expected += expected;
			rare_seen += (double)seen[i];
			continue;
		}
		sum += ((double)seen[i] - expected) * ((double)seen[i] - expected) / expected;
		degrees++;
	}
	if (rare_expected >= 1) {
		sum += (rare_seen - rare_expected) * (rare_seen - rare_expected) / rare_expected;
		degrees++;
	}
	return degrees < 1 ? 1 : chi_square_tail(sum, degrees);
}

double same_law(const size_t *one, const size_t *other, size_t cells) {
	double sum = 0, rare[2] = {0, 0};
	int degrees = -1;
	for (size_t i = 0; i <= cells; i++) {
		const double a = i < cells ? (double)one[i] : rare[0],
		             b = i < cells ? (double)other[i] : rare[1];
		if (i < cells && a + b < 20) {
			rare[0] += a;
			rare[1] += b;
		} else if (a + b >= 1) {
			sum += (a - b) * (a - b) / (a + b);
			degrees++;
		}
	}
	return degrees < 1 ? 1 : chi_square_tail(sum, degrees);
}

/* P(X >= k) for X binomial with n trials of chance p. k must be above the mean n p: then the terms
 * fall, and the sum can stop at a term too small to count. */
static double sum_binomial_tail(size_t k, size_t n, double p) {
	const double count = (double)n, first = (double)k;
	double term = exp(lgamma(count + 1) - lgamma(first + 1) - lgamma(count - first + 1) +
	                  first * log(p) + (count - first) * log1p(-p));
	double sum = 0;
	for (double i = first; term > 1e-18 * sum && i <= count; i++) {
		sum += term;
		term *= (count - i) / (i + 1) * p / (1 - p);
	}
	return sum;
}

double proportion_above(size_t k, size_t n, double alpha) {
	double low = 0, high = (double)k / (double)n;
	for (int i = 0; i < 60 && k > 0; i++) {
		const double middle = (low + high) / 2;
		if (sum_binomial_tail(k, n, middle) <= alpha) low = middle;
		else high = middle;
	}
	return low;
}

double proportion_below(size_t k, size_t n, double alpha) {
	return 1 - proportion_above(n - k, n, alpha);
}

bool nightly(void) {
	return getenv("CUTTLE_TEST_NIGHTLY") != NULL;
}

bool briefly(void) {
	return getenv("CUTTLE_TEST_SHORT") != NULL;
}

size_t repetitions(size_t by_day, size_t by_night) {
	return nightly() ? by_night : briefly() ? by_day * 2 / 5 : by_day;
}

uint64_t nightly_seed(uint64_t fixed) {
	const char *asked = getenv("CUTTLE_TEST_SEED");
	uint64_t seed = fixed;
	if (asked) seed = strtoull(asked, NULL, 0);
	else if (!nightly()) return fixed;
	else if (getrandom(&seed, sizeof seed, 0) != sizeof seed) abort();
	printf("CUTTLE_TEST_SEED=%" PRIu64 "\n", seed);
	return seed;
}
