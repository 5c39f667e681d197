// SPDX-License-Identifier: Apache-2.0
// dclip in plain C, line by line as dclip.h defines it. Tests compare every tier with it.
#include "kernels/dclip.h"

#include "base/misuse.h"

#define FIXED_LIMIT (INT32_C(1) << 26)

/* L_i of dclip.h. The product and its fraction are exact in double, since a float has 24 bits and
 * the scale is a power of two. */
static int32_t round_logit(float logit, double scale) {
	double scaled = (double)logit * scale;
	scaled = scaled > FIXED_LIMIT ? FIXED_LIMIT : scaled < -FIXED_LIMIT ? -FIXED_LIMIT : scaled;
	int32_t whole = (int32_t)scaled;
	double fraction = scaled - whole;
	int32_t odd = whole & 1;
	whole += (fraction > 0.5) | ((fraction == 0.5) & odd);
	whole -= (fraction < -0.5) | ((fraction == -0.5) & odd);
	return whole;
}

bool dclip_scalar(const float *row, const int32_t *public_fixed, size_t n, unsigned fraction_bits,
                  int32_t clip, int32_t *sum) {
	REQUIRE(fraction_bits <= 16);
	REQUIRE(clip >= 0 && clip <= FIXED_LIMIT);
	bool finite = true;
	for (size_t i = 0; i < n; i++) finite &= __builtin_isfinite(row[i]) != 0;
	if (!finite) return false;
	const double scale = (double)(1u << fraction_bits);
	for (size_t i = 0; i < n; i++) {
		int32_t difference = round_logit(row[i], scale) - public_fixed[i];
		sum[i] += difference > clip ? clip : difference < -clip ? -clip : difference;
	}
	return true;
}
