// SPDX-License-Identifier: Apache-2.0
// budget.h: what privacy costs: epsilon, delta and rho from clip, batch, temperature and tokens,
// and back. It also names the savings of a plan. No model is needed.
// A plan has its own accountant and savings.
// No private data: all numbers are public.
// Example: set clip, batch, tokens, temperature and delta, and solve for CUTTLE_EPSILON.
#ifndef CUTTLE_BUDGET_H
#define CUTTLE_BUDGET_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How epsilon follows from the other numbers. */
enum cuttle_accountant {
	/* From rho, by Canonne-Kamath-Steinke 2020. */
	CUTTLE_ZCDP,

	/* By exact composition of the tokens (dp/exact.h): 5 to 7 % less epsilon. T is at most
	 * 32768. */
	CUTTLE_EXACT,

	/* From a Renyi loss at one order. Nobody chooses it: it is that of methods whose claim
	 * holds there alone (method.h). */
	CUTTLE_RENYI
};

/* The guarantee of one text when one reference is replaced by null: rho = T C^2 / (2 B^2 tau^2)
 * (InvisibleInk, Theorem 2). A number that is not given is NaN, a count that is not given is 0.
 * Example: T = 200, C = 1, B = 7, tau = 1: rho = 200 / 98 = 2.04. */
struct cuttle_budget {
	double epsilon;
	double delta;
	double rho;         /* of zero-concentrated differential privacy */
	double clip;        /* C: bound of a reference's logit differences, in nats */
	double temperature; /* tau */
	uint32_t batch;     /* B: private references per text */
	uint32_t tokens;    /* T: hard cap of private tokens per batch */

	/* References of one person. Epsilon, delta and rho are about this person. 0 = 1. */
	uint32_t group;

	uint32_t grid; /* points of the exact accountant; 0 = as suits T */

	/* true: the group's references are in a text each, which multiplies rho by group. false:
	 * they are all in one text, which multiplies rho by group^2. Example: group 3: 3 or 9. */
	bool spread;

	enum cuttle_accountant accountant;
};

/* The number that cuttle_budget_solve fills. */
enum cuttle_unknown {
	CUTTLE_CLIP,
	CUTTLE_EPSILON,
	CUTTLE_RHO,
	CUTTLE_DELTA,
	CUTTLE_TOKENS,
	CUTTLE_BATCH
};

/* Sets all members to "not given", and the accountant to zCDP. */
CUTTLE_API void cuttle_budget_none(struct cuttle_budget *budget);

/* Fills the unknown, and rho, from the others. Epsilon, delta, rho and batch are rounded up; clip
 * and tokens are rounded down. The clip is a real number here; a plan rounds it to an integer.
 * USAGE: the message names the missing or impossible field. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_budget_solve(struct cuttle_budget *budget,
                                                                 enum cuttle_unknown unknown,
                                                                 struct cuttle_error *error);

/* For mechanisms that rho does not describe: a Renyi loss at one order (Mironov 2017). Losses at
 * one order add up; from one order alone no rho follows. The order is a whole number, at least 2.
 * cuttle_renyi_epsilon: the epsilon of a loss, rounded up (Canonne-Kamath-Steinke 2020).
 * cuttle_renyi_loss: the largest loss of at most that epsilon, rounded down.
 * Example: order 2, delta 1e-6: a loss of 1 gives epsilon 13.43. None gives less than 12.43.
 * USAGE: order below 2; loss or epsilon not positive and finite; delta not in (0, 1); no loss gives
 * so small an epsilon. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_renyi_epsilon(uint32_t order, double loss,
                                                                  double delta, double *epsilon,
                                                                  struct cuttle_error *error);
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_renyi_loss(uint32_t order, double epsilon,
                                                               double delta, double *loss,
                                                               struct cuttle_error *error);

/* Ways to get more from the same guarantee (dp/PRIVACY.md, steps 12 to 15). All are off by default,
 * but for `center` in a plan. A token drawn from the public prompt alone is free: it does not count
 * against T. */
struct cuttle_savings {
	/* Clips each reference's logit differences around their median over the candidates V+. */
	bool center;

	/* Tokens left of T when a text ends early serve further texts of the same batch. */
	bool token_bank;

	/* After T tokens a text goes on with free tokens. */
	bool complete;

	/* A step is free when the public prompt's likeliest token has at least this probability.
	 * Rounded to a multiple of 1e-6. 0 = never. */
	double public_when;

	/* U: free tokens of a batch, at most. 0 = T, if complete or public_when is on. With a
	 * grammar 0 = T and what two of its shortest texts take. */
	uint32_t free_tokens;
};

#ifdef __cplusplus
}
#endif

#endif
