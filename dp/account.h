// SPDX-License-Identifier: Apache-2.0
// Privacy accounting: clip, batch, temperature, tokens <-> rho (zCDP) <-> (epsilon, delta).
//
// rho = T C^2 / (2 B^2 tau^2): InvisibleInk Theorem 2; the step is bounded-range with eta = 2C/(B tau) and eta^2/8-zCDP (Cesar & Rogers
// 2020, Lemma 3.2). (epsilon, delta): Canonne, Kamath & Steinke 2020 (arXiv 2004.00010),
//   delta(epsilon) = min over a > 1 of exp((a-1)(a rho - epsilon)) (1-1/a)^a / (a-1)
//   epsilon(delta) = min over a > 1 of a rho + ln(1/(a delta))/(a-1) + ln(1-1/a).
// Source: design note privacy.md 2.1.
//
// Rounding is always to the safe side: what is promised (epsilon, delta, rho of a mechanism, batch) goes up; what is allowed (clip, tokens,
// rho of an epsilon and delta) goes down. The margin is a few units of the last place plus 1e-16 of the largest term, under 1e-12 relative
// wherever the answer is not the small difference of large terms (DP_EXACT: as dp/exact.h says). Every function takes bounded time for
// every input (fixed iterations).
//
// Domain of the functions that return a double: rho, epsilon, clip, temperature positive, finite and not subnormal; delta in (0, 1), not
// subnormal; counts >= 1. Anything else is a caller bug; user input goes through dp_budget_solve, which refuses politely.
#ifndef CUTTLE_DP_ACCOUNT_H
#define CUTTLE_DP_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include "dp/status.h"

enum dp_accountant { DP_ZCDP, DP_EXACT };

/* rho of T tokens, rounded up; +infinity on overflow. */
double dp_rho_of_clip(double clip, uint32_t batch, double temperature, uint32_t tokens);
/* Largest clip C = B tau sqrt(2 rho / T), rounded down; may be 0 or +infinity where the true one is out of range. */
double dp_clip_of_rho(double rho, uint32_t batch, double temperature, uint32_t tokens);

/* CKS20, rounded up. At least DBL_MIN; delta at most 1. */
double dp_delta_of_rho(double rho, double epsilon);
double dp_epsilon_of_rho(double rho, double delta);
/* CKS20 inverted: the largest rho known to give (epsilon, delta), rounded down. */
double dp_rho_of_epsilon(double epsilon, double delta);
/* Bun & Steinke 2016, Proposition 1.3: rho + 2 sqrt(rho ln(1/delta)), rounded up. Weaker; for comparison with papers that use it. */
double dp_epsilon_bun_steinke(double rho, double delta);

/* What `records` >= 1 references of one person cost together: rho records^2 when they stand in one batch (group privacy of zCDP, Bun &
 * Steinke 2016, Proposition 1.9), rho records when each stands in a batch of its own (composition). Rounded up; +infinity on overflow. */
double dp_group_rho(double rho, uint32_t records, bool same_batch);

/* A field that is not given is NaN (0 for the counts). Mirrors struct cuttle_budget of engine/cuttle.h. */
struct dp_budget {
	double epsilon, delta, rho, clip, temperature;
	uint32_t batch, tokens;
	enum dp_accountant accountant;
	unsigned grid;  /* of DP_EXACT, as in dp/exact.h */
	uint32_t group; /* references of one person, whom epsilon, delta and rho are about; 0 = 1 */
	bool spread;    /* each of them stands in a batch of its own; else all in one */
};
enum dp_unknown { DP_CLIP, DP_EPSILON, DP_RHO, DP_DELTA, DP_TOKENS, DP_BATCH };

/* Fills the unknown, and rho where it was not given, from the other fields; what stood in the unknown is ignored.
 *   CLIP, TOKENS, BATCH  from rho, or from epsilon and delta; and the other three of clip, temperature, batch, tokens
 *   EPSILON              from delta and either rho, or clip, temperature, batch and tokens;   DELTA  likewise from epsilon
 *   RHO                  from clip, temperature, batch and tokens (rounded up), or from epsilon and delta (an allowance, rounded down);
 *                        of either accountant it is the same
 * DP_EXACT takes no rho for the others, and rho is then what clip, temperature, batch and tokens cost in zCDP. DP_NO_MEMORY: DP_EXACT only.
 * A group in one batch is accounted as one reference at `group` times the clip, a spread one as one reference in a batch of `group` times
 * the tokens: rho as dp_group_rho, and the same for DP_EXACT, whose steps then have range group eta, or are group T.
 * DP_BAD_PARAMETER: *reason (a static string, may be a NULL pointer) names the field that is missing, out of its domain, given twice over
 * (rho beside what determines rho), or the answer that is out of range. The budget is then unchanged. */
enum dp_status dp_budget_solve(struct dp_budget *budget, enum dp_unknown unknown, const char **reason);

/* ---- the integers that the mechanism really uses ------------------------------------------------------------------------------------- */

/* tau rounded to six decimals, as a fraction in lowest terms. DP_BAD_PARAMETER unless 1e-6 <= tau <= 1000 (NaN refused). */
enum dp_status dp_temperature_ratio(double temperature, int64_t *num, int64_t *den);

/* The largest F <= 12 with B floor(C 2^F) <= 2^21. DP_BAD_PARAMETER: F would be below 6, floor(C 2^F) is 0, or the input is out of its
 * domain. */
enum dp_status dp_fraction_bits(uint32_t batch, double clip, unsigned *fraction_bits);

/* Chat = floor(C 2^F), exactly. 0 < C, C 2^F < 2^31, F <= 16. */
int32_t dp_clip_fixed(double clip, unsigned fraction_bits);

/* What the mechanism's integers are; the same names as in struct dp_invisibleink_params. */
struct dp_integers {
	uint32_t batch, tokens;
	int64_t temperature_num, temperature_den;
	int32_t clip_fixed;
	unsigned fraction_bits;
};

/* rho = T eta^2 / 8 with eta = 2 Chat kappa (1 + 1e-9), which the mechanism's start-up check proves; rounded up. All fields >= 1 but F. */
double dp_guarantee_rho(const struct dp_integers *integers);
/* epsilon of that rho, rounded up. */
double dp_guarantee_epsilon(const struct dp_integers *integers, double delta);
/* epsilon of that eta and T by dp/exact.h, rounded up. DP_BAD_PARAMETER: beyond its limits. DP_NO_MEMORY. */
enum dp_status dp_guarantee_exact(const struct dp_integers *integers, double delta, double *epsilon);

/* Calibration with nothing left to chance: reads batch, tokens and the temperature of *integers, sets fraction_bits and the largest
 * clip_fixed whose dp_guarantee_epsilon is at most epsilon. DP_BAD_PARAMETER: out of domain, no clip fits the integers, or the weights
 * cannot hold it (dp_weights_bits: C/tau above about 30), so that dp_invisibleink_new takes what comes out; *reason as above. */
enum dp_status dp_calibrate(struct dp_integers *integers, double epsilon, double delta, const char **reason);
/* The same for dp_guarantee_exact; DP_NO_MEMORY besides. */
enum dp_status dp_calibrate_exact(struct dp_integers *integers, double epsilon, double delta, const char **reason);

#endif
