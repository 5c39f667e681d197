// SPDX-License-Identifier: Apache-2.0
// guarantee.h: what a plan guarantees, and the integers that this follows from.
// cuttle_plan_describe (plan.h) tells it; a receipt states these numbers.
// No private data: all numbers are public.
// Example: clip_fixed 675 and fraction_bits 10 are a clip of 675 / 1024 = 0.659 nats.
#ifndef CUTTLE_GUARANTEE_H
#define CUTTLE_GUARANTEE_H

#include "budget.h"
#include "method.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUTTLE_MOST_SHOTS = 64 }; /* references of a row */

/* What a plan guarantees. Epsilons and rho are computed from the integers that are really used, and
 * rounded up. */
struct cuttle_guarantee {
	double epsilon;       /* by zCDP */
	double epsilon_exact; /* by exact composition; NaN where that is out of range */
	double delta;         /* for every event E, P[E] <= e^epsilon P'[E] + delta */
	double rho;           /* of zero-concentrated differential privacy */
	double clip;          /* in nats: clip_fixed / 2^fraction_bits */
	double temperature;   /* tau, rounded to six decimals */
	double gain;          /* in hundredths: 1, 1.5, 2 */
	enum cuttle_accountant accountant;
	struct cuttle_savings savings; /* as the plan uses them */
	int32_t clip_fixed;            /* the clip as an integer */
	uint32_t fraction_bits;        /* F: logits are multiples of 2^-F */
	uint32_t batch;                /* B, rows of a text */
	uint32_t tokens;               /* T */
	uint32_t spread;               /* G */
	uint32_t top_k;                /* k */
	uint32_t context;              /* longest prompt plus text, in tokens */
	uint32_t public_tokens;        /* tokens of the public prompt */
	uint32_t shared_prefix;        /* tokens that every prompt begins with, computed once */
	uint32_t reference_tokens;     /* the references of a row are cut to so many tokens */
	uint32_t reference_bytes;      /* before that each is cut to so many bytes */
	uint32_t parallel;             /* texts in flight */
	bool private_output;           /* false when the plan is insecure */

	/* Contexts of a text, null ones counted: B, or with lots the cap of a batch's rows. */
	uint32_t places;

	/* With lots: epsilon by the accountant above, and delta, against who knows which batch a
	 * record is in. Without: epsilon and delta once more. */
	double epsilon_if_known;
	double delta_if_known;

	/* Epsilon was asked for, and this clip is the largest that the weight table holds. The
	 * epsilon above may then be less than the one asked for. */
	bool clip_capped;

	/* Bytes that a job maps beside the model and the plan, for contexts as long as they can be.
	 * UINT64_MAX: more than can be counted. */
	uint64_t job_bytes;

	/* Of a method without a clip, clip and its integers are 0. Of one whose Renyi loss holds at
	 * one order, rho is NaN. Where nothing is promised, both epsilons are NaN, too. */
	enum cuttle_method method;
	struct cuttle_method_params method_params; /* as the plan uses them */
	struct cuttle_method_claim claim;          /* of one text */
	uint32_t vocabulary;                       /* tokens that may be drawn */

	uint32_t shots; /* R: references of a row */
};

/* References that a text has: B * R; with lots their mean. */
CUTTLE_API uint64_t cuttle_guarantee_references(const struct cuttle_guarantee *guarantee);
/* References that a job asks for, for each text: places * R. */
CUTTLE_API uint64_t cuttle_guarantee_asked(const struct cuttle_guarantee *guarantee);

/* Accounts for any method but InvisibleInk: sets claim, rho and both epsilons of the guarantee, and
 * its accountant where only one can speak. It reads method, method_params, clip_fixed,
 * fraction_bits, temperature, batch, tokens, spread, top_k, vocabulary, delta and accountant.
 * USAGE: they are out of range. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_method_account(struct cuttle_guarantee *guarantee, struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
