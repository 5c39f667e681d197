// SPDX-License-Identifier: Apache-2.0
// weights.h: the two factors of a token's weight. A comes from public logits and cancels in every
// privacy ratio. E comes from the private sum S, through a table that is checked entry by entry.
//
// The table is public, like all parameters. The place where it is read, S, is private.
// Example with B 7, Chat 675, F 10, tau 6/5: kappa = 5 / (6 * 7 * 2^10) = 0.000116 nats per unit of
// S. The table has 2 * 4725 + 1 entries. One reference moves ln E by up to lambda = 675 kappa =
// 0.078. With gain 2 and Chat 337 it has 2 * 2359 + 1 entries, each twice as far from the next.
#ifndef CUTTLE_DP_WEIGHTS_H
#define CUTTLE_DP_WEIGHTS_H

#include <stdint.h>
#include "dp/status.h"

/* The formulas. Source: dp/PRIVACY.md, "The mechanism, in integers" and step 4.
 *
 *   tau    = tn / td
 *   g      = gain / 100
 *   kappa  = g td / (tn B 2^F)                          nats per unit of S
 *   lambda = Chat kappa = g C / (B tau)                 what one reference may move ln E by; the
 *                                                       check allows lambda (1 + 1e-9)
 *   A      = max(1, round(2^56 exp((L - Lmax) B kappa / g)))
 *   E(s)   = 2^q exp(s kappa), |s| <= B Chat, rounded to an integer of at most 56 significant bits
 *   q      = t - ceil(B Chat kappa / ln 2), so that E <= 2^t
 *   t      = 53 or 126, the smaller one with 1.1 / (2^q exp(-x)) + 2^-53 < 1e-9 lambda
 *   x      = g C / tau                                  so E spans exp(-x) to exp(x)
 *
 * The condition on t makes the smallest E, 2^q exp(-x), large enough: rounding it then stays within
 * the slack of 1e-9 in eta. t = 53 satisfies it for x below 5 to 7. t = 126 satisfies it for x up
 * to 28 and B <= 600,000, and up to 31 for B <= 1,000. Where neither does, or x >= 32, there is no
 * mechanism.
 *
 * q is a function of public parameters. The arithmetic is the same for both t:
 * W = sum of A E <= vocab 2^56 2^126 < 2^207 (dp/wide.h). */

/* The largest B Chat. It bounds the table at 32 MiB, and the time to make it at about 0.3 s. */
#define DP_SUM_LIMIT (INT32_C(1) << 21)

struct dp_weights {
	/* [2 sum_limit + 1], E(s) at table[s + sum_limit]; owned. The low 57 bits of an entry are
	 * shifted left by its high 7 bits: 3 in the high bits and 5 in the low ones are E = 40. */
	uint64_t *table;
	int32_t sum_limit;  /* B Chat */
	int32_t clip_fixed; /* Chat */
	/* floor(2^56 Chat kappa (1 + 1e-9)) or a little less. ln(E(s + Chat) / E(s)) must not be
	 * above bound / 2^56. */
	uint64_t bound;
	int64_t scale_num;     /* td; B kappa / g = scale_num / scale_den */
	int64_t scale_den;     /* tn 2^F */
	unsigned private_bits; /* q */
};

/* The gain g in hundredths: 150 makes what the references say count one and a half times as much,
 * against a public row that counts as before. Such a reference is clipped to less, so that eta is
 * what it was. */
enum { DP_GAIN_NONE = 100, DP_GAIN_MOST = 300 };

/* Turns tau = *num / *den into tau / g, in which the private side is accounted. gain is 100 to 300;
 * 0 stands for 100. Example: 6 / 5 at gain 150 becomes 12 / 15. At gain 100 both stay. */
void dp_gain_temperature(unsigned gain, int64_t *num, int64_t *den);

/* q, at least 6. Or 0 when there is no mechanism for these parameters. That is where a bound is
 * broken: batch >= 1, clip_fixed >= 1, batch clip_fixed <= DP_SUM_LIMIT, F <= 16, 1 <= num < 2^31,
 * 1 <= den < 2^31, gain as above. Or where x is too large, or lambda too small (below about
 * 1e-6). */
unsigned dp_weights_bits(uint32_t batch, int32_t clip_fixed, unsigned fraction_bits,
                         int64_t temperature_num, int64_t temperature_den, unsigned gain);

/* Makes the table and checks it. DP_BAD_PARAMETER: dp_weights_bits is 0. DP_SELF_CHECK: the check
 * below fails. DP_NO_MEMORY. On failure nothing is owned and table is NULL. */
enum dp_status dp_weights_init(struct dp_weights *weights, uint32_t batch, int32_t clip_fixed,
                               unsigned fraction_bits, int64_t temperature_num,
                               int64_t temperature_den, unsigned gain);
void dp_weights_release(struct dp_weights *weights);

/* Checks the whole table, in integers only. DP_OK or DP_SELF_CHECK. For every s:
 *   1 <= E(s) <= 2^126
 *   E(s) <= E(s + 1)
 *   E(s + Chat) / E(s) <= e^(Chat kappa (1 + 1e-9))
 * The right side of the last line is its power series, cut off and rounded down. */
enum dp_status dp_weights_check(const struct dp_weights *weights);

/* A of a token whose L is `below` under the largest, 0 <= below <= 2^27. It lies in 1 .. 2^56. It
 * is public. */
uint64_t dp_weight_public(const struct dp_weights *weights, int64_t below);

/* E(sum), |sum| <= sum_limit. It is private, as `sum` is. */
unsigned __int128 dp_weight_private(const struct dp_weights *weights, int32_t sum);

#endif
