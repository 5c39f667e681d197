// SPDX-License-Identifier: Apache-2.0
// account.h: privacy accounting. It turns the mechanism's parameters into a guarantee, and back.
//
//   clip C, batch B, temperature tau, tokens T  <->  rho (zCDP)  <->  (epsilon, delta)
//
// Called by engine/run/plan.c. All numbers are public: no private data passes through.
// Example: the guarantee of clip 0.6591, batch 7, temperature 1.2 and 500 tokens.
//   rho     = dp_rho_of_clip(0.6591, 7, 1.2, 500);      1.539
//   epsilon = dp_epsilon_of_rho(rho, 1e-6);             10.0
// Rules: user input goes through dp_budget_solve, which refuses politely. To the other functions
// that return a double, an argument outside its domain (below) is a caller bug.
#ifndef CUTTLE_DP_ACCOUNT_H
#define CUTTLE_DP_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include "dp/claim.h"
#include "dp/status.h"

/* How T tokens become (epsilon, delta). */
enum dp_accountant {
	DP_ZCDP, /* from rho, by the formulas below */
	DP_EXACT /* by exact composition of the T steps, dp/exact.h */
};

/* The formulas.
 *
 *   rho            = T C^2 / (2 B^2 tau^2)                             InvisibleInk, Theorem 2
 *   delta(epsilon) = min over a > 1 of exp((a-1)(a rho - epsilon)) (1-1/a)^a / (a-1)
 *   epsilon(delta) = min over a > 1 of a rho + ln(1/(a delta))/(a-1) + ln(1-1/a)
 *
 * rho: one step has bounded range eta = 2C/(B tau), so it is eta^2/8-zCDP (Cesar & Rogers 2020,
 * Lemma 3.2). delta and epsilon: Canonne, Kamath & Steinke 2020 (arXiv 2004.00010), CKS20 below.
 * delta is that of the definition: for every event E, P[E] <= e^epsilon P'[E] + delta. It is less
 * than the probability of a loss above epsilon (dp/PRIVACY.md).
 *
 * Domain: rho, epsilon, clip and temperature are positive, finite and not subnormal. delta lies in
 * (0, 1) and is not subnormal. Counts are at least 1.
 *
 * Rounding is always to the safe side. What is promised goes up: epsilon, delta, batch, and the
 * rho of a mechanism. What is allowed goes down: clip, tokens, and the rho of an epsilon and delta.
 * The margin is a few units of the last place plus 1e-16 of the largest term. That is under 1e-12
 * relative, unless the answer is a small difference of large terms. DP_EXACT: dp/exact.h says.
 *
 * Time is bounded for every input, because the number of iterations is fixed. */

/* rho of T tokens, rounded up; +infinity on overflow. */
double dp_rho_of_clip(double clip, uint32_t batch, double temperature, uint32_t tokens);
/* The largest clip C = B tau sqrt(2 rho / T), rounded down. It may be 0 or +infinity where the true
 * one is out of range. */
double dp_clip_of_rho(double rho, uint32_t batch, double temperature, uint32_t tokens);

/* CKS20, rounded up. Both answers are at least DBL_MIN; delta is at most 1. */
double dp_delta_of_rho(double rho, double epsilon);
double dp_epsilon_of_rho(double rho, double delta);
/* CKS20 inverted: the largest rho known to give (epsilon, delta), rounded down. */
double dp_rho_of_epsilon(double epsilon, double delta);
/* Bun & Steinke 2016, Proposition 1.3: rho + 2 sqrt(rho ln(1/delta)), rounded up. It is weaker than
 * CKS20, and serves to compare with papers that use it. */
double dp_epsilon_bun_steinke(double rho, double delta);

/* What `records` >= 1 references of one person cost together. Rounded up; +infinity on overflow.
 * In one batch: rho records^2 (group privacy of zCDP, Bun & Steinke 2016, Proposition 1.9).
 * Each in a batch of its own: rho records (composition).
 * Example: 3 references at rho 0.5 cost 4.5 in one batch, and 1.5 in three batches. */
double dp_group_rho(double rho, uint32_t records, bool same_batch);

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
};

/* Below, "the weights hold a clip" means: dp_weights_bits is not 0 for it. */

/* The least and the largest clip that the weights hold at this batch and temperature. The other
 * fields of *integers are not read. The table of weights ends at B Chat = 2^21 and at C/tau of
 * about 30 (dp/weights.h). DP_BAD_PARAMETER: they hold no clip, or a field is out of its domain. */
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

/* Finds the integers for an epsilon. It reads batch, tokens and temperature of *integers. It sets
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
