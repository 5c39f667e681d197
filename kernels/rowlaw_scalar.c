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

/* Writes e_i of rowlaw.h and returns S. *peak is the first i with L_i = M. Apart from the rest
 * because proofs/contracts proves it, as share_law below. */
static uint64_t tabulate_law(const float *row, size_t n, const uint64_t *table, size_t table_count,
                             uint64_t *law, size_t *peak) {
	int32_t most = -LOGIT_LIMIT;
	for (size_t i = 0; i < n; i++) {
		const int32_t fixed = fix_law_logit(row[i]);
		most = fixed > most ? fixed : most;
	}
	uint64_t whole = 0;
	size_t first = n;
	for (size_t i = 0; i < n; i++) {
		const size_t below = (size_t)(most - fix_law_logit(row[i]));
		const uint64_t entry = below < table_count ? table[below] : 0;
		law[i] = entry;
		whole += entry;
		if (below == 0 && first == n) first = i;
	}
	*peak = first;
	return whole;
}

/* law_i of rowlaw.h, before the peak has what is left. */
static uint64_t scale_entry(uint64_t entry, double scale) {
	return 1 + (uint64_t)((double)entry * scale);
}

/* Makes law_i of e_i in place. What is left of 2^46 goes to the peak. */
static void share_law(uint64_t *law, size_t n, size_t peak, double scale) {
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++) {
		const uint64_t part = scale_entry(law[i], scale);
		law[i] = part;
		sum += part;
	}
	law[peak] += (UINT64_C(1) << ROWLAW_SUM_BITS) - sum;
}

bool rowlaw_scalar(const float *row, size_t n, const uint64_t *table, size_t table_count,
                   uint64_t *law) {
	REQUIRE(n >= 1 && n <= ROWLAW_MOST && table_count >= 1 && table_count < (size_t)1 << 28);
	bool finite = true;
	for (size_t i = 0; i < n; i++) finite &= __builtin_isfinite(row[i]) != 0;
	if (!finite) return false;
	size_t peak;
	const uint64_t whole = tabulate_law(row, n, table, table_count, law, &peak);
	const double scale =
	    ((double)((UINT64_C(1) << ROWLAW_SUM_BITS) - n) / (double)whole) * ROWLAW_SLACK;
	share_law(law, n, peak, scale);
	return true;
}
