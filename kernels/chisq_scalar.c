// SPDX-License-Identifier: Apache-2.0
// chisq in plain C, line by line as chisq.h defines it. Tests compare every tier with it.
#include "kernels/chisq.h"

#include "base/misuse.h"

void chisq_scalar(const uint64_t *a, const uint64_t *b, size_t n, unsigned order, double *moments) {
	REQUIRE(n <= CHISQ_MOST && order >= 2 && order <= CHISQ_ORDER);
	double lanes[CHISQ_ORDER + 1][8] = {{0}};
	for (size_t i = 0; i < n; i++) {
		const double p = (double)a[i], u = ((double)b[i] - p) / p;
		double t = (p * u) * u;
		if (u < 0) {
			lanes[0][i % 8] += t;
			continue;
		}
		for (unsigned k = 2; k <= order; k++, t = t * u) lanes[k][i % 8] += t;
	}
	for (unsigned k = 0; k <= order; k++) moments[k] = chisq_join(lanes[k]);
}
