// SPDX-License-Identifier: Apache-2.0
// rank_account.h: what the word mechanism of dp/rank.h promises for a text, in numbers.
//
// All numbers are public: no private data passes through.
// Example: a record of at most 50 words at epsilon 6 per word.
//   dp_rank_epsilon(6000000, 50)     300
//   dp_rank_rho(6000000, 50)         300; at epsilon 0.1 per word it is 0.25
//   dp_epsilon_of_rho(0.25, 1e-6)    3.55 at delta 1e-6 (dp/zcdp.h)
// Rules: 1 <= epsilon_millionths <= 64 * 10^6, 1 <= places <= DP_RANK_MOST_PLACES. Anything else is
// a caller bug. Answers are the least doubles that are not below the exact rational.
#ifndef CUTTLE_DP_RANK_ACCOUNT_H
#define CUTTLE_DP_RANK_ACCOUNT_H

#include <stdint.h>

/* The most places of one record, N. */
#define DP_RANK_MOST_PLACES (UINT32_C(1) << 20)

/* N epsilon: what replacing a whole record of N places by N nulls, or by any other N places, can
 * change the odds by, as a logarithm. N = 1: one word. Source: dp/PRIVACY.md, step 36. */
double dp_rank_epsilon(uint32_t epsilon_millionths, uint32_t places);

/* rho = N min(epsilon^2 / 2, epsilon), what the ledger counts per record. Source: Bun & Steinke
 * 2016, Proposition 1.4; and D_alpha <= epsilon for every alpha. */
double dp_rank_rho(uint32_t epsilon_millionths, uint32_t places);

#endif
