// SPDX-License-Identifier: Apache-2.0
// rowlaw.h: the law that a row of logits stands for at a temperature, in integers.
//
// The public row and a private one take the same way, so equal rows give equal laws. A law alone
// has no guarantee: that is its mechanism's. Rows and laws may be private; the table is public.
// How: a table holds round(2^40 exp(-d / (tau 2^12))) for each distance d = max L - L(y). The rest
// is kernels/rowlaw.h. How accurate the table is changes the law, and no guarantee: the law is by
// definition what comes out, n integers >= 1 that sum to 2^46.
// Example: logits 0 and -1 at tau 1. The table has 2^40 at 0 and 2^40 / e at 4096, and the law is
// 0.731 and 0.269 of 2^46. Source: dp/PRIVACY.md, step 22.
#ifndef CUTTLE_DP_ROWLAW_H
#define CUTTLE_DP_ROWLAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "dp/status.h"

#define DP_ROWLAW_FRACTION_BITS 12       /* logits count in units of 2^-12 */
#define DP_ROWLAW_SUM_BITS 46            /* a law sums to 2^46 */
#define DP_ROWLAW_MOST ((size_t)1 << 18) /* the longest row */

struct dp_rowlaw {
	uint64_t *table; /* [count] by the distance to the largest L, in units of 2^-12 */
	size_t count;    /* entries up to 28.5 nats; beyond them the table is 0 */
};

/* Makes the table for tau = num / den, which lies in 1e-6 .. 16. About 0.93 MB times tau.
 * DP_BAD_PARAMETER: tau is out of range, or num or den is not in 1 .. 2^31 - 1. DP_NO_MEMORY. On
 * failure nothing is owned. */
enum dp_status dp_rowlaw_init(struct dp_rowlaw *rowlaw, int64_t num, int64_t den);

/* Frees the table; also one of zeros. */
void dp_rowlaw_release(struct dp_rowlaw *rowlaw);

/* law[n] of logits[n], 1 <= n <= 2^18. False when a logit is NaN or infinite: law is then
 * untouched. The answer is private where the row is. */
bool dp_rowlaw_make(const struct dp_rowlaw *rowlaw, const float *logits, size_t n, uint64_t *law);

#endif
