// SPDX-License-Identifier: Apache-2.0
// Every minimum over a > 1 is searched over b = a - 1 on a logarithmic scale. Any b gives a valid bound, so the search needs no proof of
// its own: a poor b would only make the answer less tight, never wrong.
#include "dp/account.h"

#include "base/misuse.h"
#include "dp/exact.h"
#include "dp/rounding.h"
#include "dp/weights.h"

#include <stddef.h>

#define BISECTIONS 100     /* from 1e+-700 down to the last bit of ln b */
#define SHORTEST_B 1e-700L /* beyond what any double can ask for */
#define LONGEST_B 1e700L

/* ---- clip, batch, temperature, tokens <-> rho ---------------------------------------------------------------------------------------- */

double dp_rho_of_clip(double clip, uint32_t batch, double temperature, uint32_t tokens) {
	REQUIRE(positive(clip) && positive(temperature) && batch >= 1 && tokens >= 1);
	long double lambda = (long double)clip / ((long double)batch * (long double)temperature);
	return up(tokens * lambda * lambda / 2.0L * (1.0L + SIMPLE));
}

double dp_clip_of_rho(double rho, uint32_t batch, double temperature, uint32_t tokens) {
	REQUIRE(positive(rho) && positive(temperature) && batch >= 1 && tokens >= 1);
	return down((long double)batch * (long double)temperature * sqrtl(2.0L * (long double)rho / tokens) * (1.0L - SIMPLE));
}

double dp_group_rho(double rho, uint32_t records, bool same_batch) {
	REQUIRE(positive(rho) && records >= 1);
	const long double times = same_batch ? (long double)records * records : records;
	return up((long double)rho * times);
}

/* ---- rho <-> (epsilon, delta) -------------------------------------------------------------------------------------------------------- */

/* rho, epsilon and L = ln(1/delta); each search reads two of them. */
struct conversion {
	long double rho, epsilon, l;
};

/* Derivatives in b (their sign is enough), each increasing through one zero at the optimum. */
static long double slope_delta(const struct conversion *c, long double b) {
	return (2.0L * b + 1.0L) * c->rho - c->epsilon - log1pl(1.0L / b);
}

static long double slope_epsilon(const struct conversion *c, long double b) {
	return c->rho * b * b + log1pl(b) - c->l;
}

static long double rho_at(const struct conversion *c, long double b) {
	return (c->epsilon - (c->l - log1pl(b)) / b + log1pl(1.0L / b)) / (b + 1.0L);
}

static long double slope_rho(const struct conversion *c, long double b) {
	return rho_at(c, b) * b * b + log1pl(b) - c->l;
}

static long double search(long double (*slope)(const struct conversion *, long double), const struct conversion *c) {
	long double low = logl(SHORTEST_B), high = logl(LONGEST_B);
	for (int i = 0; i < BISECTIONS; i++) {
		long double middle = (low + high) / 2.0L;
		if (slope(c, expl(middle)) < 0.0L) low = middle;
		else high = middle;
	}
	return expl(high);
}

static long double log_inverse(double delta) {
	return -logl((long double)delta);
}

double dp_delta_of_rho(double rho, double epsilon) {
	REQUIRE(positive(rho) && positive(epsilon));
	const struct conversion c = {.rho = (long double)rho, .epsilon = (long double)epsilon};
	const long double b = search(slope_delta, &c);
	const long double gain = b * (b + 1.0L) * c.rho, loss = b * c.epsilon, tail = b * log1pl(1.0L / b), width = log1pl(b);
	const long double exponent = gain - loss - tail - width + TERM * (gain + loss + tail + width);
	double delta = exponent < 0.0L ? up(expl(exponent) * (1.0L + SIMPLE)) : 1.0;
	return delta > 1.0 ? 1.0 : delta < DBL_MIN ? DBL_MIN : delta;
}

double dp_epsilon_of_rho(double rho, double delta) {
	REQUIRE(positive(rho) && probability(delta));
	const struct conversion c = {.rho = (long double)rho, .l = log_inverse(delta)};
	const long double b = search(slope_epsilon, &c);
	const long double mean = (b + 1.0L) * c.rho, tail = c.l / b, width = log1pl(b) / b, order = log1pl(1.0L / b);
	double epsilon = up(mean + tail - width - order + TERM * (mean + tail + width + order));
	return epsilon < DBL_MIN ? DBL_MIN : epsilon;
}

double dp_rho_of_epsilon(double epsilon, double delta) {
	REQUIRE(positive(epsilon) && probability(delta));
	const struct conversion c = {.epsilon = (long double)epsilon, .l = log_inverse(delta)};
	const long double b = search(slope_rho, &c);
	const long double terms = c.epsilon + (c.l + log1pl(b)) / b + log1pl(1.0L / b);
	const long double rho = rho_at(&c, b) - TERM * terms / (b + 1.0L);
	return rho > 0.0L ? down(rho) : 0.0;
}

double dp_epsilon_bun_steinke(double rho, double delta) {
	REQUIRE(positive(rho) && probability(delta));
	return up(((long double)rho + 2.0L * sqrtl((long double)rho * log_inverse(delta))) * (1.0L + SIMPLE));
}

/* ---- solving for one field ----------------------------------------------------------------------------------------------------------- */

static const char NO_MEMORY[] = "out of memory", NO_DELTA[] = "delta would be 1: no guarantee at this epsilon",
                  NO_CLIP[] = "clip would be out of range", NO_TOKENS[] = "tokens would be 0: the budget does not pay for one token";

static bool given(double x) {
	return !isnan(x);
}

/* NULL when every given field is in its domain, else the complaint. */
static const char *complaint(const struct dp_budget *b) {
	if (given(b->epsilon) && !positive(b->epsilon)) return "epsilon must be positive and finite";
	if (given(b->delta) && !probability(b->delta)) return "delta must lie between 0 and 1, both excluded";
	if (given(b->rho) && !positive(b->rho)) return "rho must be positive and finite";
	if (given(b->clip) && !positive(b->clip)) return "clip must be positive and finite";
	if (given(b->temperature) && !positive(b->temperature)) return "temperature must be positive and finite";
	if (b->grid && (b->grid < DP_EXACT_LEAST_GRID || b->grid > DP_EXACT_MOST_GRID)) return "grid must lie between 8 and 1024";
	return NULL;
}

/* The unknown's own value does not count; and rho may stand only for what it follows from. */
static const char *missing(const struct dp_budget *b, enum dp_unknown unknown) {
	if (b->accountant == DP_EXACT && unknown != DP_RHO && given(b->rho))
		return "rho is given: the exact accountant does not start from it";
	const bool allowance = unknown == DP_CLIP || unknown == DP_TOKENS || unknown == DP_BATCH; /* rho from epsilon and delta */
	if (given(b->rho) && allowance && given(b->epsilon)) return "rho and epsilon are both given: leave one out";
	if (given(b->rho) && !allowance && given(b->clip)) return "rho and clip are both given: leave one out";
	if (unknown == DP_RHO && given(b->epsilon) && given(b->clip)) return "epsilon and clip are both given: rho follows from either";
	const bool from_epsilon = unknown == DP_RHO ? !given(b->clip) : allowance && !given(b->rho);
	const bool mechanism = unknown == DP_RHO ? given(b->clip) : allowance || !given(b->rho);
	if (unknown == DP_RHO && !given(b->epsilon) && !given(b->clip)) return "clip is missing (or epsilon and delta)";
	if ((from_epsilon || unknown == DP_DELTA) && !given(b->epsilon))
		return allowance ? "epsilon is missing (or rho)" : "epsilon is missing";
	if ((from_epsilon || unknown == DP_EPSILON) && !given(b->delta)) return "delta is missing";
	if (!mechanism) return NULL;
	if (unknown != DP_CLIP && !given(b->clip)) return allowance || unknown == DP_RHO ? "clip is missing" : "clip is missing (or rho)";
	if (!given(b->temperature)) return "temperature is missing";
	if (unknown != DP_BATCH && b->batch < 1) return "batch is missing";
	if (unknown != DP_TOKENS && b->tokens < 1) return "tokens is missing";
	return NULL;
}

/* References of the group in one batch, and batches with any. */
static uint32_t group_in_batch(const struct dp_budget *b) {
	return b->group > 1 && !b->spread ? b->group : 1;
}
static uint32_t group_batches(const struct dp_budget *b) {
	return b->group > 1 && b->spread ? b->group : 1;
}

static const char *solve_zcdp(struct dp_budget *b, enum dp_unknown unknown) {
	if (!given(b->rho)) {
		const bool allowance = unknown == DP_CLIP || unknown == DP_TOKENS || unknown == DP_BATCH || !given(b->clip);
		b->rho = allowance ? dp_rho_of_epsilon(b->epsilon, b->delta) : dp_rho_of_clip(b->clip, b->batch, b->temperature, b->tokens);
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
		b->tokens = (uint32_t)x - (uint32_t)x % group_batches(b);
		return b->tokens < 1 ? NO_TOKENS : NULL;
	case DP_BATCH:
		break;
	}
	x = ceill((long double)b->clip / (long double)b->temperature * sqrtl(b->tokens / (2.0L * (long double)b->rho)) * (1.0L + SIMPLE));
	if (x > UINT32_MAX) return "batch would be out of range";
	b->batch = (uint32_t)x;
	return NULL;
}

static const char *solve_exact(struct dp_budget *b, enum dp_unknown unknown) {
	if (unknown != DP_TOKENS && b->tokens > DP_EXACT_TOKENS)
		return "tokens would be out of range of the exact accountant, which goes up to 32768: use zcdp";
	const long double scale = (long double)b->batch * (long double)b->temperature / 2.0L;
	double eta = unknown == DP_CLIP || unknown == DP_BATCH ? 0.0 : up((long double)b->clip / scale * (1.0L + SIMPLE));
	enum dp_status status = DP_OK;
	if (eta == 0.0) status = dp_exact_eta(b->epsilon, b->delta, b->tokens, b->grid, &eta);
	else if (unknown == DP_EPSILON) status = dp_exact_epsilon(eta, b->tokens, b->delta, b->grid, &b->epsilon);
	else if (unknown == DP_DELTA) status = dp_exact_delta(eta, b->tokens, b->epsilon, b->grid, &b->delta);
	else status = dp_exact_tokens(eta, b->epsilon, b->delta, b->grid, &b->tokens);
	if (status == DP_NO_MEMORY) return NO_MEMORY;
	if (status != DP_OK) return "this would be out of range of the exact accountant: use zcdp";
	if (unknown == DP_CLIP) b->clip = down((long double)eta * scale * (1.0L - SIMPLE));
	if (unknown == DP_CLIP && !positive(b->clip)) return NO_CLIP;
	if (unknown == DP_DELTA && b->delta >= 1.0) return NO_DELTA;
	if (unknown == DP_TOKENS) b->tokens -= b->tokens % group_batches(b);
	if (b->tokens < 1) return NO_TOKENS;
	if (unknown == DP_BATCH) {
		const long double x =
		    ceill(2.0L * (long double)b->clip / ((long double)b->temperature * (long double)eta) * (1.0L + SIMPLE));
		if (x > UINT32_MAX) return "batch would be out of range";
		b->batch = (uint32_t)x;
	}
	b->rho = dp_rho_of_clip(b->clip, b->batch, b->temperature, b->tokens);
	return positive(b->rho) ? NULL : "rho would be out of range";
}

/* For the group: in one batch it moves sums by `group` clips, as one reference at that clip would; in a batch each, its tokens add up. */
static const char *solve(struct dp_budget *b, enum dp_unknown unknown) {
	const uint32_t in_batch = group_in_batch(b), batches = group_batches(b);
	struct dp_budget whole = *b;
	if (__builtin_mul_overflow(b->tokens, batches, &whole.tokens)) return "tokens times group would be out of range";
	if (in_batch > 1) whole.clip = up((long double)b->clip * in_batch * (1.0L + SIMPLE));
	if (isinf(whole.clip)) return "clip times group would be out of range";
	const char *why = b->accountant == DP_EXACT && unknown != DP_RHO ? solve_exact(&whole, unknown) : solve_zcdp(&whole, unknown);
	if (why) return why;
	whole.tokens /= batches;
	if (unknown != DP_CLIP) whole.clip = b->clip;
	else if (in_batch > 1) whole.clip = down((long double)whole.clip / in_batch * (1.0L - SIMPLE));
	if (unknown == DP_CLIP && !positive(whole.clip)) return NO_CLIP;
	*b = whole;
	return NULL;
}

enum dp_status dp_budget_solve(struct dp_budget *budget, enum dp_unknown unknown, const char **reason) {
	REQUIRE(budget && (unsigned)unknown <= DP_BATCH && (unsigned)budget->accountant <= DP_EXACT);
	struct dp_budget b = *budget;
	if (unknown == DP_CLIP) b.clip = (double)NAN;
	if (unknown == DP_EPSILON) b.epsilon = (double)NAN;
	if (unknown == DP_RHO) b.rho = (double)NAN;
	if (unknown == DP_DELTA) b.delta = (double)NAN;
	if (unknown == DP_TOKENS) b.tokens = 0;
	const char *why = complaint(&b);
	if (!why) why = missing(&b, unknown);
	if (!why) why = solve(&b, unknown);
	if (reason) *reason = why;
	if (why) return why == NO_MEMORY ? DP_NO_MEMORY : DP_BAD_PARAMETER;
	*budget = b;
	return DP_OK;
}

/* ---- integers ------------------------------------------------------------------------------------------------------------------------ */

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
	for (unsigned bits = 12; bits >= 6; bits--) {
		double fixed = floor(ldexp(clip, (int)bits));
		if (fixed < 1.0) return DP_BAD_PARAMETER;
		if (fixed * batch > 2097152.0) continue;
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

/* eta / 2 of the integers, the self check's 1e-9 included. */
static long double guarantee_lambda(const struct dp_integers *i) {
	REQUIRE(i->batch >= 1 && i->tokens >= 1 && i->temperature_num >= 1 && i->temperature_den >= 1 && i->clip_fixed >= 1);
	const long double scale = ldexpl((long double)i->temperature_num, (int)i->fraction_bits) * i->batch;
	return (long double)i->clip_fixed * (long double)i->temperature_den / scale * (1.0L + 1e-9L);
}

double dp_guarantee_rho(const struct dp_integers *integers) {
	const long double lambda = guarantee_lambda(integers);
	return up(integers->tokens * lambda * lambda / 2.0L * (1.0L + SIMPLE));
}

double dp_guarantee_epsilon(const struct dp_integers *integers, double delta) {
	return dp_epsilon_of_rho(dp_guarantee_rho(integers), delta);
}

enum dp_status dp_guarantee_exact(const struct dp_integers *integers, double delta, double *epsilon) {
	return dp_exact_epsilon(up(2.0L * guarantee_lambda(integers) * (1.0L + SIMPLE)), integers->tokens, delta, 0, epsilon);
}

/* *epsilon of the accountant. */
static enum dp_status guarantee(const struct dp_integers *integers, enum dp_accountant accountant, double delta, double *epsilon) {
	if (accountant == DP_EXACT) return dp_guarantee_exact(integers, delta, epsilon);
	*epsilon = dp_guarantee_epsilon(integers, delta);
	return DP_OK;
}

static enum dp_status calibrate(struct dp_integers *integers, enum dp_accountant accountant, double epsilon, double delta,
                                const char **reason) {
	struct dp_budget b = {.epsilon = epsilon,
	                      .delta = delta,
	                      .rho = (double)NAN,
	                      .clip = (double)NAN,
	                      .temperature = (double)integers->temperature_num / (double)integers->temperature_den,
	                      .batch = integers->batch,
	                      .tokens = integers->tokens,
	                      .accountant = accountant};
	enum dp_status status = dp_budget_solve(&b, DP_CLIP, reason);
	if (status != DP_OK) return status;
	struct dp_integers i = *integers;
	status = dp_fraction_bits(b.batch, b.clip, &i.fraction_bits);
	if (status == DP_OK) {
		/* The real clip is right but for the last 1e-9 of the guarantee, and the exact one a little low: from there down to what
		 * holds. */
		double reached = (double)INFINITY;
		i.clip_fixed = dp_clip_fixed(accountant == DP_EXACT ? b.clip * (1.0 + 1e-6) : b.clip, i.fraction_bits);
		for (; status == DP_OK && i.clip_fixed >= 1; i.clip_fixed--) {
			status = guarantee(&i, accountant, delta, &reached);
			if (reached <= epsilon) break;
		}
		if (i.clip_fixed < 1 && status == DP_OK) status = DP_BAD_PARAMETER;
	}
	if (status != DP_OK) {
		if (reason) *reason = status == DP_NO_MEMORY ? NO_MEMORY : NO_CLIP;
		return status;
	}
	if (dp_weights_bits(i.batch, i.clip_fixed, i.fraction_bits, i.temperature_num, i.temperature_den) == 0) {
		if (reason)
			*reason = "clip would be out of range of the weights: clip / temperature must lie between 0.000001 batch and 28";
		return DP_BAD_PARAMETER;
	}
	*integers = i;
	return DP_OK;
}

enum dp_status dp_calibrate(struct dp_integers *integers, double epsilon, double delta, const char **reason) {
	return calibrate(integers, DP_ZCDP, epsilon, delta, reason);
}

enum dp_status dp_calibrate_exact(struct dp_integers *integers, double epsilon, double delta, const char **reason) {
	return calibrate(integers, DP_EXACT, epsilon, delta, reason);
}
