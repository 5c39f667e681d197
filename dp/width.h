// SPDX-License-Identifier: Apache-2.0
// width.h: DP-Prompt (Utpala, Hooker & Chen 2023) in exact integers. It draws a token from one
// private row, whose logits are clipped to a width.
//
// dp_width_mechanism makes the table of functions that dp/mechanism.h describes. One private row
// goes in; the drawn token comes out. It is here to compare with: at widths that leave a text
// readable, the guarantee is none to speak of.
// Example: width 5 at temperature 1.5 among 32000 tokens: a token has epsilon 6.67 between any two
// texts, and bounded range 3.34 against a null one.
// Rules for the caller are those of dp/mechanism.h.
#ifndef CUTTLE_DP_WIDTH_H
#define CUTTLE_DP_WIDTH_H

#include <stddef.h>
#include <stdint.h>
#include "dp/entropy.h"
#include "dp/mechanism.h"
#include "dp/status.h"

/* The mechanism. Source: dp/PRIVACY.md, step 48.
 *
 *   L(y) = clamp(round_half_even(phi(y) 2^F), -2^26, 2^26)
 *   V'   = allowed, and at least the k-th largest of the public row; k = 0 is all allowed
 *   S(y) = max(-Chat, L(y) - max over V' of L + Chat); a null row has 0 everywhere
 *   E(s) = round(2^q exp(s kappa)), kappa = temperature_den / (temperature_num 2^F)
 *   P(y) = E(S(y)) / sum of E over V'
 *
 * The width is 2 Chat / 2^F. The window ends at the row's own largest logit: what a row does to
 * itself alone has no effect on what is proved, and a window that ends elsewhere would make the
 * likeliest tokens equal. A free token is drawn in the same way from the public row. */
struct dp_width_params {
	uint32_t top_k;          /* k; 0, or more than the allowed tokens, means all of them */
	uint32_t tokens;         /* T >= 1: hard cap of paid tokens per batch */
	size_t vocab;            /* tokens of the vocabulary, 1 .. 2^18 */
	int64_t temperature_num; /* tau = num / den, both in 1 .. 2^31 - 1 */
	int64_t temperature_den;
	int32_t clip_fixed;     /* Chat, at least 1 and at most 2^21 */
	unsigned fraction_bits; /* F, at most 16 */
	/* [vocab], nonzero = may be drawn; NULL = every token. Public; copied. */
	const uint8_t *allowed;
	struct dp_random random; /* dp_random_system() for a private output; copied */
};

/* Builds the mechanism, with all memory that it will ever need, and fills *out, whose claim is T
 * units of bounded range 2 Chat kappa (1 + 1e-9): InvisibleInk's with one reference
 * (dp/account.h). A batch has one place. DP_BAD_PARAMETER: a bound above is broken, no token is
 * allowed, or the weights cannot hold the clip (dp/weights.h). DP_SELF_CHECK: the table is wrong.
 * DP_NO_MEMORY. On failure *out is empty. */
enum dp_status dp_width_mechanism(const struct dp_width_params *params, struct dp_mechanism *out);

/* epsilon of one token between any two texts, without delta, for a bounded range x and n tokens:
 *
 *   x + ln((1 + (n - 1) e^x) / (e^x + n - 1))
 *
 * rounded up. It is attained: by two rows that each lift another token. 0 < x <= 64, 1 <= n <=
 * 2^24. Example: x 50 / 1.75 and n 32000 give 38.945, where 2 x, which is often quoted, is 57.14.
 */
double dp_width_pair(long double range, uint64_t n);

#endif
