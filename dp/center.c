// SPDX-License-Identifier: Apache-2.0
// center.c: see center.h. The median is found by bisection over its value, without sorting, so the
// work hardly depends on the private row.
#include "dp/center.h"

#include "base/misuse.h"
#include "dp/fixed.h"

void dp_center(int32_t *row, const int32_t *public_fixed, size_t n) {
	REQUIRE(n >= 1);
	/* Always: fewer than half of the differences are <= below, at least half are <= median. */
	int32_t below = -2 * DP_FIXED_LIMIT - 1, median = 2 * DP_FIXED_LIMIT;
	while (median - below > 1) {
		const int32_t middle = below + (median - below) / 2;
		size_t within = 0;
		for (size_t i = 0; i < n; i++) within += row[i] - public_fixed[i] <= middle;
		if (within >= n - n / 2) median = middle;
		else below = middle;
	}
	for (size_t i = 0; i < n; i++) row[i] = public_fixed[i] + median;
}
