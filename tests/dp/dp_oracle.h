// SPDX-License-Identifier: Apache-2.0
// dp_oracle.h: a second implementation of the mechanism. It follows the definition in
// dp/PRIVACY.md and shares nothing with dp/: no table, no weights, no prefix sums. test_dp_oracle
// and test_dp_ratio compare dp/ with it.
// With s(y) = 100 B L_pub(y) + gain S(y) and kappa = td / (100 tn B 2^F), the law is: P(y) is
// proportional to exp(s(y) kappa) over V+. `oracle_draw` has exactly this law. It takes a candidate
// uniformly and accepts it with probability exp(-(max s - s(y)) kappa), a rational exponent
// (Canonne, Kamath & Steinke 2020, arXiv 2004.00010, Algorithm 1). dp/ differs from it only by the
// rounding of A and E, below 1e-9.
#ifndef CUTTLE_TESTS_DP_ORACLE_H
#define CUTTLE_TESTS_DP_ORACLE_H

#include "dp/invisibleink.h"
#include "dp/weights.h"

#include <stdbool.h>

enum { ORACLE_VOCAB = 512 };

struct oracle_law {
	size_t count;                           /* |V+| */
	uint32_t token[ORACLE_VOCAB];           /* ascending */
	int64_t sum[ORACLE_VOCAB];              /* S */
	int64_t gap[ORACLE_VOCAB];              /* max s - s(y) */
	unsigned __int128 kappa_num, kappa_den; /* kappa, nats per unit of s */
};

/* Any parameters of a small mechanism, valid or not: B up to 8, 2 to 64 tokens. */
struct dp_invisibleink_params oracle_params(uint64_t *seed, struct dp_random random);

/* A row has params->vocab <= ORACLE_VOCAB logits, in token order. rows[i], i < params->batch, is
 * NULL for a null reference. */
void oracle_law(const struct dp_invisibleink_params *params, const float *public,
                const float *const *rows, struct oracle_law *law);

/* p[count] of the candidates, computed in long double. */
void oracle_probabilities(const struct oracle_law *law, double *p);

/* Draws; returns the number of a candidate, below count. */
size_t oracle_draw(const struct oracle_law *law, const struct dp_random *random);

/* True with probability exp(-num / den), exactly. den >= 1, both below 2^120. */
bool oracle_coin(unsigned __int128 num, unsigned __int128 den, const struct dp_random *random);

/* Checks every entry of the table against exp(s kappa) to 180 bits. An entry must be within one
 * unit of the last of its 56 bits (or of 1). Entries must never decrease, and E(s + Chat) must not
 * be above E(s) exp(Chat kappa (1 + 1e-9)). Returns NULL, or says what is wrong. F < 17. */
const char *oracle_table(const struct dp_weights *weights,
                         const struct dp_invisibleink_params *params);

#endif
