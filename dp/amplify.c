// SPDX-License-Identifier: Apache-2.0
// amplify.c: see amplify.h. Each number is computed in long double and rounded once, as the margins
// of dp/rounding.h say.
#include "dp/amplify.h"

#include "base/misuse.h"
#include "dp/rounding.h"

enum {
	MOST_ROWS = 1 << 20, /* the largest cap */
	LARGE = 1000,        /* above so many nats e^epsilon is not computed: it would overflow */
	COARSE_GRID = 32     /* points per eta; a hundredth of the clip would be too much already */
};

long double dp_lots_ratio(uint64_t used, uint64_t batches) {
	REQUIRE(used >= 1 && used <= batches);
	const long double q = (long double)used / (long double)batches * (1.0L + 0x1p-40L);
	return q < 1.0L ? q : 1.0L;
}

/* Above LARGE: ln(1 + q (e^x - 1)) = x + ln(q + (1 - q) e^-x). Below, a small answer must not
 * become the difference of large numbers. */
double dp_run_epsilon(double epsilon_batch, long double q) {
	const long double x = (long double)epsilon_batch;
	if (q == 1.0L) return epsilon_batch;
	const long double run =
	    x > LARGE ? x + logl(q + (1.0L - q) * expl(-x)) : log1pl(q * expm1l(x));
	return round_up(run * (1.0L + SIMPLE));
}

double dp_batch_epsilon(double epsilon_run, long double q) {
	const long double x = (long double)epsilon_run;
	if (q == 1.0L) return epsilon_run;
	const long double batch =
	    x > LARGE ? x - logl(q) + log1pl((q - 1.0L) * expl(-x)) : log1pl(expm1l(x) / q);
	return round_down(batch * (1.0L - SIMPLE));
}

double dp_run_delta(double delta_batch, long double q) {
	if (q == 1.0L) return delta_batch;
	return round_up((long double)delta_batch * q * (1.0L + SIMPLE));
}

double dp_batch_delta(double delta_run, long double q) {
	if (q == 1.0L) return delta_run;
	return round_down((long double)delta_run / q * (1.0L - SIMPLE));
}

double dp_known_delta(double delta_run, long double q) {
	return round_up((long double)delta_run / q * (1.0L + 0x1p-40L));
}

double dp_rows_delta(double delta) {
	return round_down((long double)delta * (1.0L - 0x1p-20L) * (1.0L - SIMPLE));
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Whether some batch of the lots may have more rows than its cap can bound by Chernoff, or the
 * chance of a row beyond it is too large: above exp(logarithm). The margin is far above what the
 * sum of some terms below 2^40 loses. */
static bool is_overflown(const struct dp_lots *lots, size_t count, uint64_t cap,
                         long double logarithm) {
	long double chance = 0.0L;
	for (size_t i = 0; i < count; i++) {
		const long double mu = (long double)lots[i].records / (long double)lots[i].batches,
		                  rows = (long double)cap + 1.0L;
		if (lots[i].records <= cap || lots[i].used == 0) continue;
		if (rows <= mu) return true;
		const long double exponent = rows * logl(rows / mu) - rows + mu;
		chance += (long double)lots[i].used * expl(-exponent);
	}
	return chance > 0.0L && logl(chance) + 1e-6L > logarithm;
}

enum dp_status dp_rows_cap(const struct dp_lots *lots, size_t count, double epsilon, double delta,
                           uint32_t *cap) {
	const long double x = (long double)epsilon,
	                  logarithm = logl((long double)delta * 0x1p-20L) - x - log1pl(expl(-x));
	for (size_t i = 0; i < count; i++)
		REQUIRE(lots[i].batches >= 1 && lots[i].used <= lots[i].batches);
	if (is_overflown(lots, count, MOST_ROWS, logarithm)) return DP_BAD_PARAMETER;
	/* `high` always suffices, and what is below `low` never does. */
	uint32_t low = 1, high = MOST_ROWS;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (is_overflown(lots, count, middle, logarithm)) low = middle + 1;
		else high = middle;
	}
	*cap = low;
	return DP_OK;
}

/* ---- whether lots are worth it --------------------------------------------------------------- */

static enum dp_status find_real_clip(const struct dp_integers *integers,
                                     enum dp_accountant accountant, double epsilon, double delta,
                                     double *clip, const char **reason) {
	struct dp_budget b = {.epsilon = epsilon,
	                      .delta = delta,
	                      .rho = (double)NAN,
	                      .clip = (double)NAN,
	                      .temperature = (double)integers->temperature_num /
	                                     (double)integers->temperature_den,
	                      .batch = integers->batch,
	                      .tokens = integers->tokens,
	                      .accountant = accountant,
	                      .grid = COARSE_GRID};
	const enum dp_status status = dp_budget_solve(&b, DP_CLIP, reason);
	*clip = b.clip;
	return status;
}

enum dp_status dp_lots_pay(const struct dp_integers *integers, enum dp_accountant accountant,
                           double epsilon, double delta, long double q, bool *pay,
                           const char **reason) {
	struct dp_integers plain = *integers;
	double least, most, before, after;
	*pay = false;
	plain.gain = 0;
	const double batch_delta = dp_batch_delta(dp_rows_delta(delta), q);
	if (q > 0.5L * (1.0L + 0x1p-39L) || batch_delta >= 1.0) return DP_OK;
	enum dp_status status =
	    find_real_clip(integers, accountant, epsilon, delta, &before, reason);
	if (status == DP_OK)
		status = find_real_clip(integers, accountant, dp_batch_epsilon(epsilon, q),
		                        batch_delta, &after, reason);
	if (status != DP_OK) return status;
	if (dp_clip_range(&plain, &least, &most) == DP_OK && after > most) after = most;
	*pay = after >= 1.1 * before;
	return DP_OK;
}
