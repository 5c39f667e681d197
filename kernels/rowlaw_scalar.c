// SPDX-License-Identifier: Apache-2.0
// rowlaw in plain C, line by line as rowlaw.h defines it. Tests compare every tier with it.
#include "kernels/rowlaw.h"

#include "base/misuse.h"

#define LOGIT_LIMIT (INT32_C(1) << 26)

/* L_i of rowlaw.h. The product and its fraction are exact in double, since a float has 24 bits and
 * the factor is a power of two. */
static int32_t fix_law_logit(float logit) {
	double scaled = (double)logit * (double)(1 << ROWLAW_FRACTION_BITS);
	scaled = scaled > LOGIT_LIMIT ? LOGIT_LIMIT : scaled < -LOGIT_LIMIT ? -LOGIT_LIMIT : scaled;
	int32_t whole = (int32_t)scaled;
	const double fraction = scaled - whole;
	const int32_t odd = whole & 1;
	whole += (fraction > 0.5) | ((fraction == 0.5) & odd);
	whole -= (fraction < -0.5) | ((fraction == -0.5) & odd);
	return whole;
}

bool rowlaw_scalar(const float *row, size_t n, const uint64_t *table, size_t table_count,
                   uint64_t *law) {
	REQUIRE(n >= 1 && n <= ROWLAW_MOST && table_count >= 1 && table_count < (size_t)1 << 28);
	bool finite = true;
	for (size_t i = 0; i < n; i++) finite &= __builtin_isfinite(row[i]) != 0;
	if (!finite) return false;
	int32_t most = -LOGIT_LIMIT;
	for (size_t i = 0; i < n; i++) {
		const int32_t fixed = fix_law_logit(row[i]);
		most = fixed > most ? fixed : most;
	}
	uint64_t whole = 0;
	size_t peak = n;
	for (size_t i = 0; i < n; i++) {
		const size_t below = (size_t)(most - fix_law_logit(row[i]));
		law[i] = below < table_count ? table[below] : 0;
		whole += law[i];
		if (below == 0 && peak == n) peak = i;
	}
	const double scale =
	    ((double)((UINT64_C(1) << ROWLAW_SUM_BITS) - n) / (double)whole) * ROWLAW_SLACK;
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++) {
		law[i] = 1 + (uint64_t)((double)law[i] * scale);
		sum += law[i];
	}
	law[peak] += (UINT64_C(1) << ROWLAW_SUM_BITS) - sum;
	return true;
}
