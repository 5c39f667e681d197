// SPDX-License-Identifier: Apache-2.0
// rope.c: ln, exp, cos and sin by fixed expressions; see rope.h for why.
#include "engine/model/rope.h"

#include <math.h>

/* ln x for x >= 1, to about 1e-16. Halving brings x below 1.5. Then the atanh series follows:
 * ln x = 2 (z + z^3/3 + z^5/5 + ...), z = (x - 1) / (x + 1). Each halving adds ln 2 again. */
static double log_fixed(double x) {
	static const double ln2 = 0x1.62e42fefa39efp-1;
	int halvings = 0;
	for (; x >= 1.5; halvings++) x *= 0.5;
	const double z = (x - 1.0) / (x + 1.0), square = z * z;
	double sum = 0.0;
	for (int k = 41; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
	return 2.0 * z * sum + halvings * ln2;
}

/* exp(-x) for x >= 0: exp(-x/256) by Taylor's series, then eight squarings, since 2^8 = 256. */
static double exp_minus(double x) {
	const double part = -x / 256.0;
	double sum = 1.0;
	for (int k = 18; k >= 1; k--) sum = 1.0 + sum * part / k;
	for (int i = 0; i < 8; i++) sum *= sum;
	return sum;
}

/* cos and sin. First all quarter turns are subtracted; pi/2 is given in two parts, so that little
 * is lost (Cody and Waite). Taylor's series gives the rest, which is in [-pi/4, pi/4]. Then the
 * number of quarter turns, modulo 4, picks the signs and which of the two is which. */
static void compute_cos_sin(double angle, double *cosine, double *sine) {
	const double quarter = rint(angle * 0x1.45f306dc9c883p-1);
	double r = fma(quarter, -0x1.921fb54442d18p+0, angle);
	r = fma(quarter, -0x1.1a62633145c07p-54, r);
	const double square = r * r;
	double c = 1.0, s = 1.0;
	for (int k = 22; k >= 2; k -= 2) {
		c = 1.0 - c * square / (k * (k - 1));
		s = 1.0 - s * square / (k * (k + 1));
	}
	s *= r;
	switch ((long long)quarter & 3) {
	case 0:
		*cosine = c, *sine = s;
		break;
	case 1:
		*cosine = -s, *sine = c;
		break;
	case 2:
		*cosine = -c, *sine = -s;
		break;
	default:
		*cosine = s, *sine = -c;
	}
}

void rope_frequencies(double base, size_t rotated, const float *factors, double scale,
                      double *frequencies) {
	const double log_base = log_fixed(base);
	for (size_t i = 0; i < rotated / 2; i++) {
		frequencies[i] = exp_minus(2.0 * (double)i / (double)rotated * log_base) / scale;
		if (factors) frequencies[i] /= (double)factors[i];
	}
}

void rope_angles(size_t position, const double *frequencies, size_t rotated, float *cos_sin) {
	for (size_t i = 0; i < rotated / 2; i++) {
		double cosine, sine;
		compute_cos_sin((double)position * frequencies[i], &cosine, &sine);
		cos_sin[2 * i] = (float)cosine;
		cos_sin[2 * i + 1] = (float)sine;
	}
}
