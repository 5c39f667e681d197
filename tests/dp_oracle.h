// SPDX-License-Identifier: Apache-2.0
// A second implementation of the mechanism, from the definition in dp/PRIVACY.md and not from dp/: no table, no weights, no prefix sums.
// With s(y) = B L_pub(y) + S(y), the law is P(y) proportional to exp(s(y) kappa) over V+, kappa = td / (tn B 2^F); `oracle_draw` has
// exactly this law: a candidate uniformly, accepted with probability exp(-(max s - s(y)) kappa), a rational exponent (Canonne, Kamath &
// Steinke 2020, arXiv 2004.00010, Algorithm 1). dp/ differs from it by the rounding of A and E only, below 1e-9.
#ifndef CUTTLE_TESTS_DP_ORACLE_H
#define CUTTLE_TESTS_DP_ORACLE_H

#include "dp/invisibleink.h"
#include "dp/weights.h"

#include <stdbool.h>

enum { ORACLE_VOCAB = 512 };

struct oracle_law {
	size_t count;                 /* |V+| */
	uint32_t token[ORACLE_VOCAB]; /* ascending */
	int64_t sum[ORACLE_VOCAB];    /* S */
	int64_t gap[ORACLE_VOCAB];    /* max s - s(y) */
	unsigned __int128 kappa_num, kappa_den;
};

/* Rows are of params->vocab <= ORACLE_VOCAB logits in token order; rows[i] NULL is the null reference, i < params->batch. */
void oracle_law(const struct dp_invisibleink_params *params, const float *public, const float *const *rows, struct oracle_law *law);

/* p[count], to long double's precision. */
void oracle_probabilities(const struct oracle_law *law, double *p);

/* Number of a candidate. */
size_t oracle_draw(const struct oracle_law *law, const struct dp_random *random);

/* True with probability exp(-num / den), exactly. den >= 1, both below 2^120. */
bool oracle_coin(unsigned __int128 num, unsigned __int128 den, const struct dp_random *random);

/* Every entry of the table against exp(s kappa) to 180 bits: within one unit of the last of its 56 bits (or of 1), never decreasing, and
 * E(s + Chat) <= E(s) exp(Chat kappa (1 + 1e-9)). NULL, or what is wrong. F < 17. */
const char *oracle_table(const struct dp_weights *weights, const struct dp_invisibleink_params *params);

#endif
