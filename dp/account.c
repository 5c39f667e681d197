// SPDX-License-Identifier: Apache-2.0
// account.c: how the accounting of account.h is computed.
//
// It holds, in this order: dp_budget_solve, and the integers (calibration). Both ask the formulas
// of dp/zcdp.h or the recursion of dp/exact.h, as the accountant says. Answers are rounded once, at
// the end, to the safe side.
#include "dp/account.h"

#include "base/misuse.h"
#include "dp/exact.h"
#include "dp/rounding.h"
#include "dp/weights.h"
#include "dp/zcdp.h"

#include <stddef.h>

#define HALVINGS 100 /* of a range of clips: more than it takes to reach a clip's last bit */
#define MOST_BITS 12 /* the largest F */
/* The smallest F. Logits are then rounded to sixteenths. The rounding of a quantised model's
 * weights changes them far more. */
#define LEAST_BITS 4

/* ---- solving for one field ------------------------------------------------------------------- */

static const char
    NO_MEMORY[] = "out of memory",
    NO_DELTA[] = "delta would be 1: no guarantee at this epsilon",
    NO_CLIP[] = "clip would be out of range",
    NO_TOKENS[] = "tokens would be 0: the budget does not pay for one token",
    NO_WEIGHTS[] = "no clip suits the exact weights at this batch and temperature",
    SMALL_CLIP[] =
        "clip would be too small for the exact weights: allow more epsilon, or fewer tokens";

static bool is_given(double x) {
	return !isnan(x);
}

/* NULL when every given field is in its domain, else the reason for refusing. */
static const char *name_bad_field(const struct dp_budget *b) {
	if (is_given(b->epsilon) && !positive(b->epsilon))
		return "epsilon must be positive and finite";
	if (is_given(b->delta) && !probability(b->delta))
		return "delta must lie between 0 and 1, both excluded";
	if (is_given(b->rho) && !positive(b->rho)) return "rho must be positive and finite";
	if (is_given(b->clip) && !positive(b->clip)) return "clip must be positive and finite";
	if (is_given(b->temperature) && !positive(b->temperature))
		return "temperature must be positive and finite";
	if (b->grid && (b->grid < DP_EXACT_LEAST_GRID || b->grid > DP_EXACT_MOST_GRID))
		return "grid must lie between 8 and 1024";
	return NULL;
}

/* NULL when all fields are given that the unknown is computed from, else the reason for refusing.
 * The unknown field's own value does not count. rho may be given only in place of the fields that
 * determine it. */
static const char *name_missing_field(const struct dp_budget *b, enum dp_unknown unknown) {
	if (b->accountant == DP_EXACT && unknown != DP_RHO && is_given(b->rho))
		return "rho is given: the exact accountant does not start from it";
	const bool allowance = unknown == DP_CLIP || unknown == DP_TOKENS ||
	                       unknown == DP_BATCH; /* rho from epsilon and delta */
	if (is_given(b->rho) && allowance && is_given(b->epsilon))
		return "rho and epsilon are both given: leave one out";
	if (is_given(b->rho) && !allowance && is_given(b->clip))
		return "rho and clip are both given: leave one out";
	if (unknown == DP_RHO && is_given(b->epsilon) && is_given(b->clip))
		return "epsilon and clip are both given: rho follows from either";
	const bool from_epsilon =
	    unknown == DP_RHO ? !is_given(b->clip) : allowance && !is_given(b->rho);
	const bool mechanism =
	    unknown == DP_RHO ? is_given(b->clip) : allowance || !is_given(b->rho);
	if (unknown == DP_RHO && !is_given(b->epsilon) && !is_given(b->clip))
		return "clip is missing (or epsilon and delta)";
	if ((from_epsilon || unknown == DP_DELTA) && !is_given(b->epsilon))
		return allowance ? "epsilon is missing (or rho)" : "epsilon is missing";
	if ((from_epsilon || unknown == DP_EPSILON) && !is_given(b->delta))
		return "delta is missing";
	if (!mechanism) return NULL;
	if (unknown != DP_CLIP && !is_given(b->clip))
		return allowance || unknown == DP_RHO ? "clip is missing"
		                                      : "clip is missing (or rho)";
	if (!is_given(b->temperature)) return "temperature is missing";
	if (unknown != DP_BATCH && b->batch < 1) return "batch is missing";
	if (unknown != DP_TOKENS && b->tokens < 1) return "tokens is missing";
	return NULL;
}

/* How many references of the group stand in one batch, and in how many batches there are any. A
 * group of 3 gives 3 and 1; a spread group of 3 gives 1 and 3. */
static uint32_t count_in_batch(const struct dp_budget *b) {
	return b->group > 1 && !b->spread ? b->group : 1;
}
static uint32_t count_group_batches(const struct dp_budget *b) {
	return b->group > 1 && b->spread ? b->group : 1;
}

static const char *solve_by_zcdp(struct dp_budget *b, enum dp_unknown unknown) {
	if (!is_given(b->rho)) {
		const bool allowance = unknown == DP_CLIP || unknown == DP_TOKENS ||
		                       unknown == DP_BATCH || !is_given(b->clip);
		b->rho = allowance ? dp_rho_of_epsilon(b->epsilon, b->delta)
		                   : dp_rho_of_clip(b->clip, b->batch, b->temperature, b->tokens);
		if (!positive(b->rho)) return "rho would be out of range";
	}
	long double x;
	switch (unknown) {
	case DP_RHO:
		return NULL;
	case DP_CLIP:
		b->clip = dp_clip_of_rho(b->rho, b->batch, b->temperature, b->tokens);
		return positive(b->clip) ? NULL : NO_CLIP;
	case DP_EPSILON:
		b->epsilon = dp_epsilon_of_rho(b->rho, b->delta);
		return positive(b->epsilon) ? NULL : "epsilon would be out of range";
	case DP_DELTA:
		b->delta = dp_delta_of_rho(b->rho, b->epsilon);
		return b->delta < 1.0 ? NULL : NO_DELTA;
	case DP_TOKENS:
		x = (long double)b->batch * (long double)b->temperature / (long double)b->clip;
		x = floorl(2.0L * (long double)b->rho * x * x * (1.0L - SIMPLE));
		if (x > UINT32_MAX) return "tokens would be out of range";
		b->tokens = (uint32_t)x - (uint32_t)x % count_group_batches(b);
		return b->tokens < 1 ? NO_TOKENS : NULL;
	case DP_BATCH:
		break;
	}
	x = ceill((long double)b->clip / (long double)b->temperature *
	          sqrtl(b->tokens / (2.0L * (long double)b->rho)) * (1.0L + SIMPLE));
	if (x > UINT32_MAX) return "batch would be out of range";
	b->batch = (uint32_t)x;
	return NULL;
}

static const char *solve_by_exact(struct dp_budget *b, enum dp_unknown unknown) {
	if (unknown != DP_TOKENS && b->tokens > DP_EXACT_TOKENS)
		return "tokens would be out of range of the exact accountant, which goes up to "
		       "32768: use zcdp";
	const long double scale = (long double)b->batch * (long double)b->temperature / 2.0L;
	double eta = unknown == DP_CLIP || unknown == DP_BATCH
	                 ? 0.0
	                 : round_up((long double)b->clip / scale * (1.0L + SIMPLE));
	enum dp_status status = DP_OK;
	if (eta == 0.0) status = dp_exact_eta(b->epsilon, b->delta, b->tokens, b->grid, &eta);
	else if (unknown == DP_EPSILON)
		status = dp_exact_epsilon(eta, b->tokens, b->delta, b->grid, &b->epsilon);
	else if (unknown == DP_DELTA)
		status = dp_exact_delta(eta, b->tokens, b->epsilon, b->grid, &b->delta);
	else status = dp_exact_tokens(eta, b->epsilon, b->delta, b->grid, &b->tokens);
	if (status == DP_NO_MEMORY) return NO_MEMORY;
	if (status != DP_OK) return "this would be out of range of the exact accountant: use zcdp";
	if (unknown == DP_CLIP) b->clip = round_down((long double)eta * scale * (1.0L - SIMPLE));
	if (unknown == DP_CLIP && !positive(b->clip)) return NO_CLIP;
	if (unknown == DP_DELTA && b->delta >= 1.0) return NO_DELTA;
	if (unknown == DP_TOKENS) b->tokens -= b->tokens % count_group_batches(b);
	if (b->tokens < 1) return NO_TOKENS;
	if (unknown == DP_BATCH) {
		const long double x =
		    ceill(2.0L * (long double)b->clip /
		          ((long double)b->temperature * (long double)eta) * (1.0L + SIMPLE));
		if (x > UINT32_MAX) return "batch would be out of range";
		b->batch = (uint32_t)x;
	}
	b->rho = dp_rho_of_clip(b->clip, b->batch, b->temperature, b->tokens);
	return positive(b->rho) ? NULL : "rho would be out of range";
}

/* Solves for the whole group as for one reference. In one batch the group moves sums by `group`
 * clips, as one reference at `group` times the clip would. In a batch each, it pays for `group`
 * times the tokens. Tokens and clip are then divided back. */
static const char *solve_group(struct dp_budget *b, enum dp_unknown unknown) {
	const uint32_t in_batch = count_in_batch(b), batches = count_group_batches(b);
	struct dp_budget whole = *b;
	if (__builtin_mul_overflow(b->tokens, batches, &whole.tokens))
		return "tokens times group would be out of range";
	if (in_batch > 1) whole.clip = round_up((long double)b->clip * in_batch * (1.0L + SIMPLE));
	if (isinf(whole.clip)) return "clip times group would be out of range";
	const char *why = b->accountant == DP_EXACT && unknown != DP_RHO
	                      ? solve_by_exact(&whole, unknown)
	                      : solve_by_zcdp(&whole, unknown);
	if (why) return why;
	whole.tokens /= batches;
	if (unknown != DP_CLIP) whole.clip = b->clip;
	else if (in_batch > 1)
		whole.clip = round_down((long double)whole.clip / in_batch * (1.0L - SIMPLE));
	if (unknown == DP_CLIP && !positive(whole.clip)) return NO_CLIP;
	*b = whole;
	return NULL;
}

enum dp_status dp_budget_solve(struct dp_budget *budget, enum dp_unknown unknown,
                               const char **reason) {
	REQUIRE(budget && (unsigned)unknown <= DP_BATCH &&
	        (unsigned)budget->accountant <= DP_EXACT);
	struct dp_budget b = *budget;
	if (unknown == DP_CLIP) b.clip = (double)NAN;
	if (unknown == DP_EPSILON) b.epsilon = (double)NAN;
	if (unknown == DP_RHO) b.rho = (double)NAN;
	if (unknown == DP_DELTA) b.delta = (double)NAN;
	if (unknown == DP_TOKENS) b.tokens = 0;
	const char *why = name_bad_field(&b);
	if (!why) why = name_missing_field(&b, unknown);
	if (!why) why = solve_group(&b, unknown);
	if (reason) *reason = why;
	if (why) return why == NO_MEMORY ? DP_NO_MEMORY : DP_BAD_PARAMETER;
	*budget = b;
	return DP_OK;
}

/* ---- integers -------------------------------------------------------------------------------- */

enum dp_status dp_temperature_ratio(double temperature, int64_t *num, int64_t *den) {
	if (!(temperature >= 1e-6 && temperature <= 1000.0)) return DP_BAD_PARAMETER;
	int64_t a = llrintl((long double)temperature * 1e6L), b = 1000000;
	*num = a;
	*den = b;
	while (b > 0) {
		int64_t rest = a % b;
		a = b;
		b = rest;
	}
	*num /= a;
	*den /= a;
	return DP_OK;
}

enum dp_status dp_fraction_bits(uint32_t batch, double clip, unsigned *fraction_bits) {
	if (batch < 1 || !positive(clip)) return DP_BAD_PARAMETER;
	for (unsigned bits = MOST_BITS; bits >= LEAST_BITS; bits--) {
		double fixed = floor(ldexp(clip, (int)bits));
		if (fixed < 1.0) return DP_BAD_PARAMETER;
		if (fixed * batch > DP_SUM_LIMIT) continue;
		*fraction_bits = bits;
		return DP_OK;
	}
	return DP_BAD_PARAMETER;
}

int32_t dp_clip_fixed(double clip, unsigned fraction_bits) {
	REQUIRE(clip > 0.0 && fraction_bits <= 16);
	double fixed = floor(ldexp(clip, (int)fraction_bits));
	REQUIRE(fixed < 2147483648.0);
	return (int32_t)fixed;
}

static bool weights_hold(const struct dp_integers *i) {
	return dp_weights_bits(i->batch, i->clip_fixed, i->fraction_bits, i->temperature_num,
	                       i->temperature_den, i->gain) > 0;
}

/* 0 where the weights hold the clip, -1 where it is too small for them, 1 where it is too large.
 * B Chat <= 2^21 bounds B. So they refuse a clip as too small only where g C/tau is below 0.25, and
 * as too large only where it is above 28 (dp/weights.h). Hence g C/tau above or below 1 tells the
 * side. */
static int compare_clip(const struct dp_integers *integers, double clip) {
	struct dp_integers i = *integers;
	if (ldexp(clip, MOST_BITS) < 1.0) return -1;
	if (dp_fraction_bits(i.batch, clip, &i.fraction_bits) != DP_OK) return 1;
	i.clip_fixed = dp_clip_fixed(clip, i.fraction_bits);
	if (weights_hold(&i)) return 0;
	dp_gain_temperature(i.gain, &i.temperature_num, &i.temperature_den);
	return clip * (double)i.temperature_den > (double)i.temperature_num ? 1 : -1;
}

/* The end of the range of clips that the weights hold: to the last bit, the last clip on the way
 * from `inside` to `outside` whose side is not `side`. At B 4096, tau 1 and side 1 it is 30.4. */
static double search_clip_end(const struct dp_integers *integers, int side, double inside,
                              double outside) {
	for (int n = 0; n < HALVINGS; n++) {
		const double middle = inside + (outside - inside) / 2.0;
		if (compare_clip(integers, middle) == side) outside = middle;
		else inside = middle;
	}
	return inside;
}

enum dp_status dp_clip_range(const struct dp_integers *integers, double *least, double *most) {
	const double smallest = ldexp(1.0, -MOST_BITS - 1),
	             largest = ldexp(DP_SUM_LIMIT, 1 - LEAST_BITS);
	if (integers->batch < 1 || integers->temperature_num < 1 || integers->temperature_den < 1)
		return DP_BAD_PARAMETER;
	const double low = search_clip_end(integers, -1, largest, smallest),
	             high = search_clip_end(integers, 1, smallest, largest);
	if (compare_clip(integers, low) || compare_clip(integers, high)) return DP_BAD_PARAMETER;
	*least = low;
	*most = high;
	return DP_OK;
}

/* eta has the 1e-9 that the check of the table allows (dp/weights.h). */
struct dp_claim dp_integers_claim(const struct dp_integers *i) {
	REQUIRE(i->batch >= 1 && i->tokens >= 1 && i->temperature_num >= 1 &&
	        i->temperature_den >= 1 && i->clip_fixed >= 1);
	int64_t num = i->temperature_num, den = i->temperature_den;
	dp_gain_temperature(i->gain, &num, &den);
	const long double scale = ldexpl((long double)num, (int)i->fraction_bits) * i->batch;
	const long double half_eta =
	    (long double)i->clip_fixed * (long double)den / scale * (1.0L + 1e-9L);
	return (struct dp_claim){
	    .null = DP_NULL_IS_NOTHING, .units = i->tokens, .eta = 2.0L * half_eta};
}

double dp_guarantee_rho(const struct dp_integers *integers) {
	const struct dp_claim claim = dp_integers_claim(integers);
	return dp_claim_rho(&claim);
}

double dp_guarantee_epsilon(const struct dp_integers *integers, double delta) {
	const struct dp_claim claim = dp_integers_claim(integers);
	return dp_claim_epsilon(&claim, delta);
}

enum dp_status dp_guarantee_exact(const struct dp_integers *integers, double delta,
                                  double *epsilon) {
	const struct dp_claim claim = dp_integers_claim(integers);
	return dp_claim_exact(&claim, delta, epsilon);
}

static enum dp_status compute_epsilon(const struct dp_integers *integers,
                                      enum dp_accountant accountant, double delta,
                                      double *epsilon) {
	if (accountant == DP_EXACT) return dp_guarantee_exact(integers, delta, epsilon);
	*epsilon = dp_guarantee_epsilon(integers, delta);
	return DP_OK;
}

static enum dp_status calibrate_clip(struct dp_integers *integers, enum dp_accountant accountant,
                                     double epsilon, double delta, const char **reason) {
	struct dp_budget b = {.epsilon = epsilon,
	                      .delta = delta,
	                      .rho = (double)NAN,
	                      .clip = (double)NAN,
	                      .temperature = (double)integers->temperature_num /
	                                     (double)integers->temperature_den,
	                      .batch = integers->batch,
	                      .tokens = integers->tokens,
	                      .accountant = accountant};
	enum dp_status status = dp_budget_solve(&b, DP_CLIP, reason);
	if (status != DP_OK) return status;
	struct dp_integers i = *integers;
	double least, most, reached = (double)INFINITY;
	if (i.gain == DP_GAIN_AUTO)
		i.gain = b.batch >= 7 && b.clip >= 0.75 * b.temperature ? 200 : DP_GAIN_NONE;
	if (dp_clip_range(&i, &least, &most) != DP_OK) {
		if (reason) *reason = NO_WEIGHTS;
		return DP_BAD_PARAMETER;
	}
	/* One part in 10^15 more, as this rounds: below the clip only goes down. */
	if (i.gain) b.clip = b.clip * DP_GAIN_NONE / i.gain * (1.0 + 1e-15);
	if (b.clip > most) b.clip = most;
	status = dp_fraction_bits(b.batch, b.clip, &i.fraction_bits);
	if (status == DP_OK) {
		/* Start at the real clip, and go down until weights and guarantee hold. The real
		 * clip may be too large by the 1e-9 in the guarantee. By DP_EXACT it is a little
		 * too small: dp_exact_eta is within 3e-7 of the largest, hence the 1e-6 on top. */
		i.clip_fixed = dp_clip_fixed(
		    accountant == DP_EXACT ? b.clip * (1.0 + 1e-6) : b.clip, i.fraction_bits);
		for (; status == DP_OK && i.clip_fixed >= 1; i.clip_fixed--) {
			if (!weights_hold(&i)) continue;
			status = compute_epsilon(&i, accountant, delta, &reached);
			if (reached <= epsilon) break;
		}
		if (i.clip_fixed < 1 && status == DP_OK) status = DP_BAD_PARAMETER;
	}
	if (status != DP_OK) {
		if (reason) *reason = status == DP_NO_MEMORY ? NO_MEMORY : SMALL_CLIP;
		return status;
	}
	*integers = i;
	return DP_OK;
}

enum dp_status dp_calibrate(struct dp_integers *integers, double epsilon, double delta,
                            const char **reason) {
	return calibrate_clip(integers, DP_ZCDP, epsilon, delta, reason);
}

enum dp_status dp_calibrate_exact(struct dp_integers *integers, double epsilon, double delta,
                                  const char **reason) {
	return calibrate_clip(integers, DP_EXACT, epsilon, delta, reason);
}
