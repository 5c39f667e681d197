// SPDX-License-Identifier: Apache-2.0
// zcdp.c: how the formulas of zcdp.h are computed.
//
// Each conversion is a minimum or maximum over a > 1. The code bisects for the best b = a - 1 on a
// logarithmic scale. Every b gives a valid bound, so the bisection needs no proof: a poor b makes
// the answer less tight, never wrong. Answers are rounded once, at the end, to the safe side.
#include "dp/zcdp.h"

#include "base/misuse.h"
#include "dp/rounding.h"

#define BISECTIONS 100     /* from b in 1e-700 .. 1e700 down to the last bit of ln b */
#define SHORTEST_B 1e-700L /* the search for b begins here: no double needs a smaller one */
#define LONGEST_B 1e700L   /* and ends here: no double needs a larger one */

/* ---- clip, batch, temperature, tokens <-> rho ------------------------------------------------ */

double dp_rho_of_clip(double clip, uint32_t batch, double temperature, uint32_t tokens) {
	REQUIRE(positive(clip) && positive(temperature) && batch >= 1 && tokens >= 1);
	long double lambda = (long double)clip / ((long double)batch * (long double)temperature);
	return round_up(tokens * lambda * lambda / 2.0L * (1.0L + SIMPLE));
}

double dp_clip_of_rho(double rho, uint32_t batch, double temperature, uint32_t tokens) {
	REQUIRE(positive(rho) && positive(temperature) && batch >= 1 && tokens >= 1);
	return round_down((long double)batch * (long double)temperature *
	                  sqrtl(2.0L * (long double)rho / tokens) * (1.0L - SIMPLE));
}

double dp_group_rho(double rho, uint32_t records, bool same_batch) {
	REQUIRE(positive(rho) && records >= 1);
	const long double times = same_batch ? (long double)records * records : records;
	return round_up((long double)rho * times);
}

/* ---- rho <-> (epsilon, delta) ---------------------------------------------------------------- */

/* What a search for b starts from. Each search reads two of the three. */
struct conversion {
	long double rho;
	long double epsilon;
	long double l; /* ln(1/delta) */
};

/* Each slope rises through zero once, at the best b. For delta and epsilon, which are minima, it
 * has the sign of the derivative in b. For rho, which is a maximum, it has the opposite sign. */
static long double slope_delta(const struct conversion *c, long double b) {
	return (2.0L * b + 1.0L) * c->rho - c->epsilon - log1pl(1.0L / b);
}

static long double slope_epsilon(const struct conversion *c, long double b) {
	return c->rho * b * b + log1pl(b) - c->l;
}

static long double rho_of_order(const struct conversion *c, long double b) {
	return (c->epsilon - (c->l - log1pl(b)) / b + log1pl(1.0L / b)) / (b + 1.0L);
}

static long double slope_rho(const struct conversion *c, long double b) {
	return rho_of_order(c, b) * b * b + log1pl(b) - c->l;
}

static long double search_order(long double (*slope)(const struct conversion *, long double),
                                const struct conversion *c) {
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
	const long double b = search_order(slope_delta, &c);
	const long double gain = b * (b + 1.0L) * c.rho, loss = b * c.epsilon,
	                  tail = b * log1pl(1.0L / b), width = log1pl(b);
	const long double exponent =
	    gain - loss - tail - width + TERM * (gain + loss + tail + width);
	double delta = exponent < 0.0L ? round_up(expl(exponent) * (1.0L + SIMPLE)) : 1.0;
	return delta > 1.0 ? 1.0 : delta < DBL_MIN ? DBL_MIN : delta;
}

double dp_epsilon_of_rho(double rho, double delta) {
	REQUIRE(positive(rho) && probability(delta));
	const struct conversion c = {.rho = (long double)rho, .l = log_inverse(delta)};
	const long double b = search_order(slope_epsilon, &c);
	const long double mean = (b + 1.0L) * c.rho, tail = c.l / b, width = log1pl(b) / b,
	                  order = log1pl(1.0L / b);
	double epsilon =
	    round_up(mean + tail - width - order + TERM * (mean + tail + width + order));
	return epsilon < DBL_MIN ? DBL_MIN : epsilon;
}

double dp_rho_of_epsilon(double epsilon, double delta) {
	REQUIRE(positive(epsilon) && probability(delta));
	const struct conversion c = {.epsilon = (long double)epsilon, .l = log_inverse(delta)};
	const long double b = search_order(slope_rho, &c);
	const long double terms = c.epsilon + (c.l + log1pl(b)) / b + log1pl(1.0L / b);
	const long double rho = rho_of_order(&c, b) - TERM * terms / (b + 1.0L);
	return rho > 0.0L ? round_down(rho) : 0.0;
}

double dp_epsilon_bun_steinke(double rho, double delta) {
	REQUIRE(positive(rho) && probability(delta));
	return round_up(((long double)rho + 2.0L * sqrtl((long double)rho * log_inverse(delta))) *
	                (1.0L + SIMPLE));
}
