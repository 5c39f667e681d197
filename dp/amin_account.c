// SPDX-License-Identifier: Apache-2.0
// amin_account.c: see amin_account.h. The clip starts from the closed formula and goes down integer
// by integer, until the claim of these integers is within epsilon.
#include "dp/amin_account.h"

#include "base/misuse.h"
#include "dp/account.h"
#include "dp/rounding.h"
#include "dp/threshold.h"
#include "dp/weights.h"
#include "dp/zcdp.h"

#define MILLION 1000000
#define MOST_SIGMA (UINT32_C(1000) * MILLION)
#define MOST_THETA (UINT32_C(2) * MILLION)
#define MOST_BATCH (UINT32_C(1) << 16)

/* Below this a clip is a few units, and a step down is a large part of it. */
enum { NEAREST_BATCH = 4096 };

uint64_t dp_amin_scale(uint32_t sigma_millionths, uint32_t batch) {
	REQUIRE(sigma_millionths >= 1 && sigma_millionths <= MOST_SIGMA && batch >= 1 &&
	        batch <= MOST_BATCH);
	const unsigned __int128 product = (unsigned __int128)sigma_millionths * batch
	                                  << DP_AMIN_LAW_BITS;
	return (uint64_t)((product + MILLION - 1) / MILLION);
}

int64_t dp_amin_theta(uint32_t theta_millionths, uint32_t batch) {
	REQUIRE(theta_millionths <= MOST_THETA && batch >= 1 && batch <= MOST_BATCH);
	const unsigned __int128 product = (unsigned __int128)theta_millionths * batch
	                                  << DP_AMIN_LAW_BITS;
	return (int64_t)(product / MILLION);
}

/* Of one unit, in nats. */
static long double threshold_of(const struct dp_amin_integers *i) {
	return 2.0L * (long double)(UINT64_C(1) << i->law_bits) / (long double)i->scale;
}

struct dp_claim dp_amin_claim(const struct dp_amin_integers *i) {
	REQUIRE(i->scale >= 1 && i->law_bits <= DP_AMIN_LAW_BITS);
	const struct dp_integers paid = {.batch = i->batch,
	                                 .tokens = i->units,
	                                 .temperature_num = i->temperature_num,
	                                 .temperature_den = i->temperature_den,
	                                 .clip_fixed = i->clip_fixed,
	                                 .fraction_bits = i->fraction_bits};
	struct dp_claim claim = dp_integers_claim(&paid);
	claim.threshold = threshold_of(i);
	return claim;
}

double dp_amin_threshold_rho(const struct dp_amin_integers *i) {
	REQUIRE(i->scale >= 1 && i->law_bits <= DP_AMIN_LAW_BITS && i->units >= 1);
	const long double threshold = threshold_of(i);
	return round_up(i->units * threshold * threshold / 2.0L * (1.0L + SIMPLE));
}

/* The largest clip that may be tried: by the budget, the weights and the cut at 28 tau. 0: none. */
static double largest_clip(const struct dp_amin_integers *i, double epsilon, double delta) {
	struct dp_integers paid = {.batch = i->batch,
	                           .temperature_num = i->temperature_num,
	                           .temperature_den = i->temperature_den};
	const double tau = (double)i->temperature_num / (double)i->temperature_den;
	const double left = dp_rho_of_epsilon(epsilon, delta) - dp_amin_threshold_rho(i);
	double least, most;
	if (!positive(left) || dp_clip_range(&paid, &least, &most) != DP_OK) return 0.0;
	const double clip = dp_clip_of_rho(left, i->batch, tau, i->units);
	if (most > DP_AMIN_MOST_CLIP * tau) most = DP_AMIN_MOST_CLIP * tau;
	return clip < least ? 0.0 : clip < most ? clip : most;
}

enum dp_status dp_amin_calibrate(struct dp_amin_integers *integers, double epsilon, double delta) {
	struct dp_amin_integers i = *integers;
	if (!positive(epsilon) || !probability(delta) || i.batch < 1 || i.batch > MOST_BATCH ||
	    i.units < 1 || i.temperature_num < 1 || i.temperature_den < 1 || i.scale < 1 ||
	    i.scale > DP_THRESHOLD_MOST_SCALE || i.law_bits > DP_AMIN_LAW_BITS)
		return DP_BAD_PARAMETER;
	const double clip = largest_clip(&i, epsilon, delta);
	if (!positive(clip) || dp_fraction_bits(i.batch, clip, &i.fraction_bits) != DP_OK)
		return DP_BAD_PARAMETER;
	for (i.clip_fixed = dp_clip_fixed(clip, i.fraction_bits); i.clip_fixed >= 1;
	     i.clip_fixed--) {
		const struct dp_claim claim = dp_amin_claim(&i);
		if (dp_claim_epsilon(&claim, delta) > epsilon) continue;
		if (!dp_weights_bits(i.batch, i.clip_fixed, i.fraction_bits, i.temperature_num,
		                     i.temperature_den, DP_GAIN_NONE))
			break;
		*integers = i;
		return DP_OK;
	}
	return DP_BAD_PARAMETER;
}

/* Whether the clip for epsilon is there, with one parameter changed. */
static bool is_feasible(const struct dp_amin_integers *integers, uint32_t sigma_millionths,
                        double epsilon, double delta) {
	struct dp_amin_integers i = *integers;
	i.scale = dp_amin_scale(sigma_millionths, i.batch);
	return i.scale <= DP_THRESHOLD_MOST_SCALE && dp_amin_calibrate(&i, epsilon, delta) == DP_OK;
}

/* Each search keeps `bad`, which is infeasible, and `good`, which is not, until they are
 * neighbours. */
struct dp_amin_nearest dp_amin_nearest(const struct dp_amin_integers *integers,
                                       uint32_t sigma_millionths, double epsilon, double delta) {
	struct dp_amin_nearest found = {0};
	struct dp_amin_integers i = *integers;
	i.units = 1;
	if (is_feasible(&i, sigma_millionths, epsilon, delta)) {
		uint32_t good = 1, bad = integers->units;
		while (bad - good > 1) {
			i.units = good + (bad - good) / 2;
			if (is_feasible(&i, sigma_millionths, epsilon, delta)) good = i.units;
			else bad = i.units;
		}
		found.units = good;
	}
	i = *integers;
	if (is_feasible(&i, MOST_SIGMA, epsilon, delta)) {
		uint32_t good = MOST_SIGMA, bad = sigma_millionths;
		while (good - bad > 1) {
			const uint32_t middle = bad + (good - bad) / 2;
			if (is_feasible(&i, middle, epsilon, delta)) good = middle;
			else bad = middle;
		}
		found.sigma_millionths = good;
	}
	i.batch = NEAREST_BATCH;
	if (integers->batch < NEAREST_BATCH && is_feasible(&i, sigma_millionths, epsilon, delta)) {
		uint32_t good = NEAREST_BATCH, bad = integers->batch;
		while (good - bad > 1) {
			i.batch = bad + (good - bad) / 2;
			if (is_feasible(&i, sigma_millionths, epsilon, delta)) good = i.batch;
			else bad = i.batch;
		}
		found.batch = good;
	}
	return found;
}
