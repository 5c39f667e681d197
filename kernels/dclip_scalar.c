// SPDX-License-Identifier: Apache-2.0
// The plain tier of dclip: the contract, line by line.
#include "kernels/dclip.h"

#include "base/misuse.h"

#define FIXED_LIMIT (INT32_C(1) << 26)

/* Products and fractions are exact in double: a float has 24 bits and the scale is a power of two. */
static int32_t fix(float logit, double scale) {
	double scaled = (double)logit * scale;
	scaled = scaled > FIXED_LIMIT ? FIXED_LIMIT : scaled < -FIXED_LIMIT ? -FIXED_LIMIT : scaled;
	int32_t whole = (int32_t)scaled;
	double fraction = scaled - whole;
	int32_t odd = whole & 1;
	whole += (fraction > 0.5) | ((fraction == 0.5) & odd);
	whole -= (fraction < -0.5) | ((fraction == -0.5) & odd);
	return whole;
}

bool dclip_scalar(const float *row, const int32_t *public_fixed, size_t n, unsigned fraction_bits, int32_t clip, int32_t *sum) {
	REQUIRE(fraction_bits <= 16);
	REQUIRE(clip >= 0 && clip <= FIXED_LIMIT);
	bool finite = true;
	for (size_t i = 0; i < n; i++) finite &= __builtin_isfinite(row[i]) != 0;
	if (!finite) return false;
	const double scale = (double)(1u << fraction_bits);
	for (size_t i = 0; i < n; i++) {
		int32_t difference = fix(row[i], scale) - public_fixed[i];
		sum[i] += difference > clip ? clip : difference < -clip ? -clip : difference;
	}
	return true;
}
