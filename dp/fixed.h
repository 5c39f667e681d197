// SPDX-License-Identifier: Apache-2.0
// The fixed-point format of logits: L = clamp(round_half_even(x * 2^F), -2^26, 2^26). Source: design note privacy.md 1.4.
#ifndef CUTTLE_DP_FIXED_H
#define CUTTLE_DP_FIXED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DP_FIXED_LIMIT (INT32_C(1) << 26)

/* fixed[i] = L of logits[i], i < n. F = fraction_bits <= 16. False when any logit is NaN or infinite, which counts as 0.
 * Exact, whatever the rounding mode of the processor. kernels/dclip.h makes the same of a private row. */
bool dp_fix(const float *logits, size_t n, unsigned fraction_bits, int32_t *fixed);

#endif
