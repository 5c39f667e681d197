// SPDX-License-Identifier: Apache-2.0
// fixed.c: see fixed.h. It rounds by comparing the fraction with one half, so the processor's
// rounding mode has no effect.
#include "dp/fixed.h"

#include "base/misuse.h"

/* Product and fraction are exact in double: a float has 24 bits, the factor is a power of two. */
static int32_t fix_logit(float logit, double scale) {
	double scaled = (double)logit * scale;
	scaled = scaled > DP_FIXED_LIMIT    ? DP_FIXED_LIMIT
	         : scaled < -DP_FIXED_LIMIT ? -DP_FIXED_LIMIT
	                                    : scaled;
	int32_t whole = (int32_t)scaled;
	double fraction = scaled - whole;
	int32_t odd = whole & 1;
	whole += (fraction > 0.5) | ((fraction == 0.5) & odd);
	whole -= (fraction < -0.5) | ((fraction == -0.5) & odd);
	return whole;
}

bool dp_fix(const float *logits, size_t n, unsigned fraction_bits, int32_t *fixed) {
	REQUIRE(fraction_bits <= 16);
	const double scale = (double)(1u << fraction_bits);
	bool finite = true;
	for (size_t i = 0; i < n; i++) {
		bool here = __builtin_isfinite(logits[i]);
		finite &= here;
		fixed[i] = fix_logit(here ? logits[i] : 0.0f, scale);
	}
	return finite;
}
