// SPDX-License-Identifier: Apache-2.0
// account.h: privacy accounting. It turns the mechanism's parameters into a guarantee, and back, by
// either accountant: the formulas of dp/zcdp.h, or the exact composition of dp/exact.h.
//
// All numbers are public: no private data passes through.
// Example: which clip batch 7, temperature 1.2 and 500 tokens may have for epsilon 10, delta 1e-6.
//   dp_budget_solve(&budget, DP_CLIP, &reason);         budget.clip = 0.6591 by DP_ZCDP
// Rules: user input goes through dp_budget_solve, which refuses politely. To the other functions
// that return a double, an argument outside its domain (dp/zcdp.h) is a caller bug. Every number is
// rounded to the safe side, as dp/zcdp.h and dp/exact.h say.
#ifndef CUTTLE_DP_ACCOUNT_H
#define CUTTLE_DP_ACCOUNT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include "dp/claim.h"
#include "dp/status.h"

/* How T tokens become (epsilon, delta). */
enum dp_accountant {
	DP_ZCDP, /* from rho, by the formulas of dp/zcdp.h */
	DP_EXACT /* by exact composition of the T steps, dp/exact.h */
};

/* A budget, some of whose fields are given. A field that is not given is NaN, or 0 if it is a
 * count. It mirrors struct cuttle_budget of engine/cuttle.h. */
struct dp_budget {
	double epsilon;
	double delta;
	double rho;
	double clip;        /* C, in nats */
	double temperature; /* tau */
	uint32_t batch;     /* B, references */
	uint32_t tokens;    /* T, per batch */
	enum dp_accountant accountant;
	unsigned grid;  /* points per eta, DP_EXACT only (dp/exact.h); 0 = dp_exact_grid */
	uint32_t group; /* references of the one person whom the guarantee is about; 0 = 1 */
	bool spread;    /* true: each of these stands in a batch of its own; false: all in one */
};
enum dp_unknown { DP_CLIP, DP_EPSILON, DP_RHO, DP_DELTA, DP_TOKENS, DP_BATCH };

/* Computes the unknown field, and rho where it was not given, from the other fields. It ignores
 * the value that stood in the unknown field.
 *
 *   unknown              is computed from
 *   CLIP, TOKENS, BATCH  rho, or epsilon and delta; and the other three of clip, temperature,
 *                        batch, tokens
 *   EPSILON              delta; and rho, or clip, temperature, batch and tokens
 *   DELTA                epsilon; and rho, or clip, temperature, batch and tokens
 *   RHO                  clip, temperature, batch and tokens (a cost, rounded up);
 *                        or epsilon and delta (an allowance, rounded down)
 *
 * RHO is the same for both accountants. For the other unknowns DP_EXACT takes no rho; rho then
 * becomes what clip, temperature, batch and tokens cost in zCDP.
 *
 * A group in one batch is accounted as one reference at `group` times the clip. A spread group is
 * accounted as one reference in a batch of `group` times the tokens. So rho is that of
 * dp_group_rho. For DP_EXACT each step then has range group eta, or there are group T steps.
 *
 * DP_NO_MEMORY: DP_EXACT only. DP_BAD_PARAMETER: a field is missing, out of its domain, or given
 * twice over (rho beside what determines it, or for RHO epsilon beside clip), or the answer is out
 * of range. *reason is NULL on success; on failure it is a static string that names the field.
 * `reason` itself may be NULL. On failure the budget is unchanged. */
enum dp_status dp_budget_solve(struct dp_budget *budget, enum dp_unknown unknown,
                               const char **reason);

/* ---- the integers that the mechanism really uses --------------------------------------------- */

/* tau rounded to six decimals, as a fraction in lowest terms: 1.2 gives 6 / 5.
 * DP_BAD_PARAMETER unless 1e-6 <= tau <= 1000; NaN is refused. */
enum dp_status dp_temperature_ratio(double temperature, int64_t *num, int64_t *den);

/* The largest F <= 12 with B floor(C 2^F) <= 2^21. Example: B 4096 and C 0.5 give F 10, because
 * 4096 * 512 = 2^21. DP_BAD_PARAMETER: F would be below 4, floor(C 2^F) is 0, or the input is out
 * of its domain. */
enum dp_status dp_fraction_bits(uint32_t batch, double clip, unsigned *fraction_bits);

/* Chat = floor(C 2^F), exactly. 0 < C, C 2^F < 2^31, F <= 16. Example: C 0.66 and F 10 give 675. */
int32_t dp_clip_fixed(double clip, unsigned fraction_bits);

/* The mechanism's integers, named as in struct dp_invisibleink_params. */
struct dp_integers {
	uint32_t batch;          /* B */
	uint32_t tokens;         /* T */
	int64_t temperature_num; /* tau = num / den */
	int64_t temperature_den;
	int32_t clip_fixed;     /* Chat */
	unsigned fraction_bits; /* F */
	unsigned gain;          /* g in hundredths (dp/weights.h); 0 = 100 */
};

/* Below, "the weights hold a clip" means: dp_weights_bits is not 0 for it. */

/* The least and the largest clip that the weights hold at this batch, temperature and gain. The
 * other fields of *integers are not read. The table of weights ends at B Chat = 2^21 and at g C/tau
 * of about 30 (dp/weights.h). DP_BAD_PARAMETER: they hold no clip, or a field is out of its
 * domain. */
enum dp_status dp_clip_range(const struct dp_integers *integers, double *least, double *most);

/* What InvisibleInk with these integers claims: T units of eta = 2 Chat kappa (1 + 1e-9). The
 * mechanism's start-up check proves this eta. All fields but F are at least 1. */
struct dp_claim dp_integers_claim(const struct dp_integers *integers);

/* The three answers of dp/claim.h about that claim: rho, epsilon by zCDP, epsilon by the exact
 * accountant. */
double dp_guarantee_rho(const struct dp_integers *integers);
double dp_guarantee_epsilon(const struct dp_integers *integers, double delta);
enum dp_status dp_guarantee_exact(const struct dp_integers *integers, double delta,
                                  double *epsilon);

/* The gain that dp_calibrate chooses by itself: 2 where the clip at gain 1 is at least 3/4 of the
 * temperature and there are 7 references or more, else 1. Measured on texts: below that a gain
 * takes more by clipping than it gives. */
#define DP_GAIN_AUTO UINT_MAX

/* Finds the integers for an epsilon. It reads batch, tokens, temperature and gain of *integers. For
 * DP_GAIN_AUTO it sets the gain, too. It sets
 * fraction_bits and the largest clip_fixed that the weights hold and whose dp_guarantee_epsilon is
 * at most epsilon. So dp_invisibleink_new takes the result. Where epsilon allows a larger clip than
 * the weights hold, the clip is dp_clip_range's largest. The functions above then tell its epsilon,
 * which is less than the one asked for. DP_BAD_PARAMETER: out of domain, or the clip would be below
 * all that the weights hold. *reason as for dp_budget_solve; on failure *integers is unchanged. */
enum dp_status dp_calibrate(struct dp_integers *integers, double epsilon, double delta,
                            const char **reason);
/* The same for dp_guarantee_exact; DP_NO_MEMORY besides. */
enum dp_status dp_calibrate_exact(struct dp_integers *integers, double epsilon, double delta,
                                  const char **reason);

#endif
