// SPDX-License-Identifier: Apache-2.0
// fixed.h: the fixed-point format of logits, L = clamp(round_half_even(x * 2^F), -2^26, 2^26).
//
// Example with F = 10: x = 1.5 gives L = 1536; x = 0.00146484375 (1.5 / 1024) gives 2, the even
// neighbour. A row may be private.
// kernels/dclip.h makes the same of a private row, inside its sum, and kernels/rowlaw.h inside its
// law. Source: dp/PRIVACY.md, step 1.
#ifndef CUTTLE_DP_FIXED_H
#define CUTTLE_DP_FIXED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DP_FIXED_LIMIT (INT32_C(1) << 26)

/* fixed[i] = L of logits[i], i < n. F = fraction_bits <= 16. False when any logit is NaN or
 * infinite; such a logit counts as 0. Exact, whatever the rounding mode of the processor. */
bool dp_fix(const float *logits, size_t n, unsigned fraction_bits, int32_t *fixed);

#endif
