// SPDX-License-Identifier: Apache-2.0
// chisq.h: one pass over two laws in integers: by how much the private one departs from the public.
// b and the moments are private.
// For each i, in double, every operation rounded once and none joined to another:
//   u = ((double)b[i] - (double)a[i]) / (double)a[i]        t = ((double)a[i] * u) * u
//   u < 0:   moments[0] += t
//   u >= 0:  moments[2] += t, t = t * u, moments[3] += t, ... up to moments[order]
// Sums are kept in 8 lanes, entry i in lane i mod 8, in the order of i. A sum over lanes is
//   ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7))
// Every tier adds in this order, so all give the same bits. moments[1] is 0.
// Example: a = 4, 4 and b = 6, 2. u is 1/2 and -1/2, t is 1 twice: moments[2] = moments[0] = 1.
// Source: dp/PRIVACY.md, step 23; the name is that of moments[0] + moments[2], Pearson's statistic.
#ifndef CUTTLE_KERNELS_CHISQ_H
#define CUTTLE_KERNELS_CHISQ_H

#include <stddef.h>
#include <stdint.h>

#define CHISQ_ORDER 16               /* the largest order */
#define CHISQ_MOST ((size_t)1 << 18) /* the longest law */

/* a[n], b[n]: 1 .. 2^46 each, n <= 2^18. moments[order + 1], 2 <= order <= 16. */
typedef void chisq_fn(const uint64_t *a, const uint64_t *b, size_t n, unsigned order,
                      double *moments);

/* The sum over lanes, in the order above. */
static inline double chisq_join(const double lane[8]) {
	return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
	       ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

chisq_fn chisq_scalar;
chisq_fn chisq_neon;
chisq_fn chisq_avx2;
chisq_fn chisq_avx512;

#endif
