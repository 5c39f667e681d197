// SPDX-License-Identifier: Apache-2.0
// rowlaw.h: turns one row of logits into a law in integers: n numbers >= 1 that sum to 2^46.
// The public row and a private one take the same way. Row and law may be private. Integers are
// exact, and the few doubles are rounded once per operation, so every tier gives the same bits:
//   L_i   = clamp(round_half_even(row[i] * 2^12), -2^26, 2^26)        M = max of all L_i
//   e_i   = table[M - L_i], or 0 where M - L_i >= table_count         S = sum of all e_i
//   s     = ((2^46 - n) / (double)S) * (1 - 2^-50)
//   law_i = 1 + truncate((double)e_i * s)
// and the first i with L_i = M gets 2^46 - (sum of all law_i) on top, which is never negative.
// Example: table 2^40, 2^39 (a unit of L halves) and row 1, 1 - 2^-12. S is 3 * 2^39, the law is
// 2/3 and 1/3 of 2^46.
// Source: dp/PRIVACY.md, step 22.
#ifndef CUTTLE_KERNELS_ROWLAW_H
#define CUTTLE_KERNELS_ROWLAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROWLAW_FRACTION_BITS 12       /* of L */
#define ROWLAW_SUM_BITS 46            /* a law sums to 2^46 */
#define ROWLAW_PEAK_BITS 40           /* table[0] is 2^40 */
#define ROWLAW_MOST ((size_t)1 << 18) /* the longest row */
#define ROWLAW_SLACK (1.0 - 0x1p-50)  /* keeps the sum of the law at most 2^46 */

/* row[n], 1 <= n <= 2^18. table[table_count]: table[0] = 2^40, all others smaller. 1 <= table_count
 * < 2^28. law[n] does not alias row. False when a logit is NaN or infinite: law is then untouched.
 * What is returned is private where the row is. */
typedef bool rowlaw_fn(const float *row, size_t n, const uint64_t *table, size_t table_count,
                       uint64_t *law);

rowlaw_fn rowlaw_scalar;
rowlaw_fn rowlaw_neon;
rowlaw_fn rowlaw_avx2;
rowlaw_fn rowlaw_avx512;

#endif
