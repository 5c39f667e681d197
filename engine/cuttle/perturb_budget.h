// SPDX-License-Identifier: Apache-2.0
// perturb_budget.h: what perturbing a text costs, from parameters alone, without a perturber.
// perturb.h speaks of costs in these numbers. No private data: all of them are public.
// Example: epsilon 6 and 50 words: 300 for a text; at epsilon 0.1 it is 5, and rho is 0.25.
#ifndef CUTTLE_PERTURB_BUDGET_H
#define CUTTLE_PERTURB_BUDGET_H

#include "perturb.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUTTLE_PERTURB_MOST_PLACES (UINT32_C(1) << 20) /* N of a record, at most */

/* The guarantee of a perturber with these parameters over `words` output words (V). `record_words`
 * is N when each record has exactly N places, 0 otherwise. list_scale is NaN: it follows from the
 * words. Lists of words and vectors are not looked at, so their numbers are not checked.
 * USAGE: epsilon is not above 0 and at most 64; k is not in 1 .. V - 1; V or N is out of range.
 * INTERNAL: a self check failed. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_perturb_budget(const struct cuttle_perturb_params *params, uint32_t words,
                      uint32_t record_words, struct cuttle_perturb_guarantee *guarantee,
                      struct cuttle_error *error);

/* rho of zCDP of a record of N places, N min(epsilon^2 / 2, epsilon), rounded up: what a ledger
 * counts. Both in range. Source: Bun & Steinke 2016, Proposition 1.4; dp/rank_account.h. */
CUTTLE_API double cuttle_perturb_rho(uint32_t epsilon_millionths, uint32_t record_words);

/* Sets *share to the probability that a known word becomes one of the k words nearest to it, with
 * k = 1 itself. Method CUTTLE_RANK; to be shown only. Errors as cuttle_perturb_budget. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_perturb_share(const struct cuttle_perturb_params *params, uint32_t words, uint32_t k,
                     double *share, struct cuttle_error *error);

/* Sets *near to the k of CUTTLE_STEP that keeps words nearest to themselves on average, at this
 * epsilon: the mean cosine of the output with the word is highest. Advice only, from 64 of the
 * words, which are spread evenly: any k has the same guarantee. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_perturb_best_near(const struct cuttle_words *words, uint32_t epsilon_millionths,
                         uint32_t *near, struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
