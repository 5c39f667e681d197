// SPDX-License-Identifier: Apache-2.0
// methods.h: the methods of a plan, a row each: name, parameters, mechanism, claim.
// InvisibleInk's clip is found elsewhere: it follows from lots and private categories as well.
// No private data: parameters are public. The mechanisms that are built here take it in later.
// How: plan.c asks method_check for what contradicts itself, then `choose` for the parameters in
// use, then `build` for the mechanism. method_account turns its claim into the guarantee.
// To add a method: its functions in a file method_NAME.c, its row in methods.c, its name and
// parameters in method_names.c, its line in tests/cli/methods.bash.
#ifndef CUTTLE_ENGINE_RUN_METHODS_METHODS_H
#define CUTTLE_ENGINE_RUN_METHODS_METHODS_H

#include "dp/entropy.h"
#include "dp/mechanism.h"
#include "engine/cuttle/plan.h"

/* How many tokens a batch may have (transcript.h). */
struct method_caps {
	uint32_t paid;   /* private tokens, or thresholds */
	uint32_t free;   /* tokens drawn from the public row alone; with thresholds not read */
	uint32_t length; /* all together */
	bool thresholds; /* units are thresholds */
};

/* What a mechanism is built from, beside the guarantee. */
struct method_parts {
	const struct cuttle_guarantee *guarantee;
	size_t vocab;           /* of the model */
	const uint8_t *allowed; /* [vocab], nonzero = may be drawn */
	struct dp_random random;
};

struct method {
	bool built;          /* false: this version has no such method */
	bool promises;       /* false: NOT PRIVATE */
	uint32_t most_batch; /* most references of a text; 0 = as many as any plan may have */

	/* Checks the method's parameters, or finds them from epsilon, and writes those in use to
	 * guarantee->method_params, and to clip, clip_fixed and fraction_bits where it has a clip.
	 * The other members that cuttle_method_account reads are set. USAGE: out of range. BUDGET:
	 * no parameters keep to this epsilon; the message names the nearest that do. */
	enum cuttle_status (*choose)(const struct cuttle_plan_params *params,
	                             struct cuttle_guarantee *guarantee,
	                             struct cuttle_error *error);

	/* The claim of one batch, that of the mechanism. DP_BAD_PARAMETER: numbers of a receipt
	 * that no plan has. */
	enum dp_status (*claim)(const struct cuttle_guarantee *guarantee, struct dp_claim *claim);

	/* As epsilon_pair of struct cuttle_method_claim. NULL: the method has none. */
	double (*pair)(const struct cuttle_guarantee *guarantee);

	/* NULL: T private tokens, and the free ones of the savings behind them or between. */
	void (*caps)(const struct cuttle_guarantee *guarantee, struct method_caps *caps);

	/* Builds the mechanism; plan.c frees it. */
	enum dp_status (*build)(const struct method_parts *parts, struct dp_mechanism *out);
};

/* The row of a method. InvisibleInk's has no functions. */
const struct method *method_of(enum cuttle_method method);

/* Checks what the method does not take, whatever its parameters are. USAGE. */
enum cuttle_status method_check(const struct cuttle_plan_params *params,
                                struct cuttle_error *error);

/* How many tokens a batch of this plan may have. */
struct method_caps method_caps_of(const struct cuttle_guarantee *guarantee);

/* What the claim says of one text: sets guarantee->claim. */
void method_describe(const struct dp_claim *claim, struct cuttle_guarantee *guarantee);

/* cuttle_method_account, for a claim that is known. */
enum cuttle_status method_account(const struct dp_claim *claim, struct cuttle_guarantee *guarantee,
                                  struct cuttle_error *error);

#endif
