// SPDX-License-Identifier: Apache-2.0
// rowlaw.c: see rowlaw.h. The table is made in long double; the row is left to the kernel.
#include "dp/rowlaw.h"

#include "base/misuse.h"
#include "kernels/kernels.h"

#include <math.h>
#include <stdlib.h>

#define MOST_NATS 28.5L /* 2^40 exp(-28.5) is 0.46: further entries round to 0 */
#define LEAST_TAU 1e-6L
#define MOST_TAU 16.0L

_Static_assert(DP_ROWLAW_FRACTION_BITS == ROWLAW_FRACTION_BITS &&
                   DP_ROWLAW_SUM_BITS == ROWLAW_SUM_BITS && DP_ROWLAW_MOST == ROWLAW_MOST,
               "the kernel and its caller mean the same law");

enum dp_status dp_rowlaw_init(struct dp_rowlaw *rowlaw, int64_t num, int64_t den) {
	*rowlaw = (struct dp_rowlaw){0};
	if (num < 1 || num > INT32_MAX || den < 1 || den > INT32_MAX) return DP_BAD_PARAMETER;
	const long double tau = (long double)num / (long double)den;
	if (tau < LEAST_TAU || tau > MOST_TAU) return DP_BAD_PARAMETER;
	const long double unit = ldexpl(tau, DP_ROWLAW_FRACTION_BITS); /* steps of L in a nat */
	const size_t count = (size_t)(MOST_NATS * unit) + 1;
	uint64_t *table = malloc(count * sizeof *table);
	if (!table) return DP_NO_MEMORY;
	for (size_t below = 0; below < count; below++)
		table[below] =
		    (uint64_t)llrintl(ldexpl(expl(-(long double)below / unit), ROWLAW_PEAK_BITS));
	*rowlaw = (struct dp_rowlaw){table, count};
	return DP_OK;
}

void dp_rowlaw_release(struct dp_rowlaw *rowlaw) {
	free(rowlaw->table);
	*rowlaw = (struct dp_rowlaw){0};
}

bool dp_rowlaw_make(const struct dp_rowlaw *rowlaw, const float *logits, size_t n, uint64_t *law) {
	REQUIRE(rowlaw->table);
	return kernels_get()->rowlaw(logits, n, rowlaw->table, rowlaw->count, law);
}
