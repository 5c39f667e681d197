// SPDX-License-Identifier: Apache-2.0
// histogram_account.c: see histogram_account.h.
//
// A question is answered from one profile of a batch, V, which is read at many epsilons. The run's
// is q V(ln(1 + (e^epsilon - 1) / q)), dp/amplify.h; the two-point formula reads that twice.
#include "dp/histogram_account.h"

#include "base/misuse.h"
#include "dp/amplify.h"
#include "dp/exact.h"
#include "dp/histogram.h"
#include "dp/rounding.h"
#include "dp/weights.h"
#include "dp/zcdp.h"

enum {
	PROBES = 60, /* of a search by halving: to the last bit */
	SECANTS = 8  /* of the search for a clip */
};
#define USUAL_SLOPE 30.0 /* of ln delta over ln clip */
#define NEAR 3e-4        /* of ln delta: about 1e-5 of the clip */

/* The two points, epsilon - 1/t and epsilon + 1/t, rounded down: profiles never rise, so to read
 * them a little further left is the safe side. False: the left one is not positive. */
static bool find_points(uint32_t t, double epsilon, double *left, double *right) {
	const long double loss = 1.0L / t, above = (long double)epsilon + loss,
	                  below = (long double)epsilon - loss - TERM * above;
	*left = fmax(round_down(below), DBL_MIN);
	*right = round_down(above * (1.0L - SIMPLE));
	return below >= (long double)DBL_MIN;
}

enum dp_status dp_two_point(uint32_t t, dp_profile *profile, const void *user, double epsilon,
                            double *delta) {
	REQUIRE(t >= 1 && positive(epsilon));
	double left, right;
	if (!find_points(t, epsilon, &left, &right)) return DP_BAD_PARAMETER;
	const long double loss = 1.0L / t;
	const long double p = 1.0L / (1.0L + expl(-loss)), rest = 1.0L / (1.0L + expl(loss));
	const double answer = round_up(
	    (p * (long double)profile(user, left) + rest * (long double)profile(user, right)) *
	    (1.0L + SIMPLE));
	*delta = answer < 1.0 ? answer : 1.0;
	return DP_OK;
}

enum dp_status dp_histogram_scale(double epsilon, uint32_t *t) {
	REQUIRE(positive(epsilon));
	const double scale = fmax(5.0, ceil(25.0 / epsilon));
	if (scale > DP_MOST_SCALE) return DP_BAD_PARAMETER;
	*t = (uint32_t)scale;
	return DP_OK;
}

double dp_histogram_rho(uint32_t t) {
	REQUIRE(t >= 1);
	return round_up(0.5L / t / t * (1.0L + SIMPLE));
}

/* ---- the profile of a run -------------------------------------------------------------------- */

struct run_profile {
	const struct dp_histogram_terms *terms;
	struct dp_exact_profile *exact; /* of a batch; NULL: by rho */
	double rho;                     /* of a batch */
};

/* delta of all that follows the counts. */
static double read_run_delta(const void *user, double epsilon) {
	const struct run_profile *profile = user;
	const long double q = profile->terms->q;
	const double batch = fmax(dp_batch_epsilon(epsilon, q), DBL_MIN);
	return dp_run_delta(profile->exact ? dp_exact_profile_delta(profile->exact, batch)
	                                   : dp_delta_of_rho(profile->rho, batch),
	                    q);
}

/* Makes the profile, to be read by the two-point formula at epsilons from `low` to `high`. */
static enum dp_status open_run_profile(const struct dp_histogram_terms *terms,
                                       const struct dp_claim *claim, double low, double high,
                                       struct run_profile *profile) {
	REQUIRE(terms->q > 0.0L && terms->q <= 1.0L && terms->t >= 1);
	*profile = (struct run_profile){.terms = terms, .rho = dp_claim_rho(claim)};
	if (!positive(profile->rho)) return DP_BAD_PARAMETER;
	if (terms->accountant == DP_ZCDP) return DP_OK;
	double left, right, beyond;
	(void)find_points(terms->t, low, &left, &beyond);
	(void)find_points(terms->t, high, &beyond, &right);
	/* A little more room at the left, as conversions round. */
	const double least = dp_batch_epsilon(left, terms->q) * (1.0 - 1e-9),
	             most = dp_batch_epsilon(right, terms->q);
	return dp_exact_profile_new(round_up(claim->eta * (1.0L + SIMPLE)), claim->units,
	                            fmax(least, DBL_MIN), most, terms->grid, &profile->exact);
}

enum dp_status dp_histogram_delta(const struct dp_histogram_terms *terms,
                                  const struct dp_claim *claim, double epsilon, double *delta) {
	struct run_profile profile;
	REQUIRE(terms->t >= 1 && positive(epsilon));
	if (!((long double)epsilon > 1.0L / terms->t)) return DP_BAD_PARAMETER;
	enum dp_status status = open_run_profile(terms, claim, epsilon, epsilon, &profile);
	if (status == DP_OK)
		status = dp_two_point(terms->t, read_run_delta, &profile, epsilon, delta);
	dp_exact_profile_free(&profile.exact);
	return status;
}

/* Searches the least epsilon from `low` to `high` whose delta is at most `delta`. *epsilon is 0
 * where that of `low` is already, and `high` where that of no lower one is. */
static enum dp_status seek_epsilon(const struct run_profile *profile, double low, double high,
                                   double delta, double *epsilon) {
	const uint32_t t = profile->terms->t;
	double reached = 1.0;
	enum dp_status status = dp_two_point(t, read_run_delta, profile, low, &reached);
	*epsilon = 0.0;
	if (status != DP_OK || reached <= delta) return status;
	for (int probe = 0; probe < PROBES && status == DP_OK; probe++) {
		const double middle = low + (high - low) / 2.0;
		status = dp_two_point(t, read_run_delta, profile, middle, &reached);
		if (reached <= delta) high = middle;
		else low = middle;
	}
	*epsilon = high;
	return status;
}

enum dp_status dp_histogram_epsilon(const struct dp_histogram_terms *terms,
                                    const struct dp_claim *claim, double delta, double *epsilon) {
	REQUIRE(terms->t >= 1 && probability(delta));
	const double loss = 1.0 / terms->t, batch = dp_batch_delta(delta, terms->q);
	if (!probability(batch) || !positive(dp_claim_rho(claim))) return DP_BAD_PARAMETER;
	/* Both accountants are within zCDP's epsilon, and the counts add at most 1/t. That is the
	 * upper end, proven by itself. The lower one is a guess, and 1/t where it was too high. */
	const double alone = dp_run_epsilon(dp_claim_epsilon(claim, batch), terms->q),
	             high = round_up(((long double)alone + 1.0L / terms->t) * (1.0L + SIMPLE)),
	             least = loss * (1.0 + 1e-9);
	double answer = 0.0, low = fmax(least, 0.8 * alone - loss);
	enum dp_status status = isinf(high) ? DP_BAD_PARAMETER : DP_OK;
	for (int attempt = 0; attempt < 2 && status == DP_OK && answer == 0.0; attempt++) {
		struct run_profile profile;
		status = open_run_profile(terms, claim, low, high, &profile);
		if (status == DP_OK) status = seek_epsilon(&profile, low, high, delta, &answer);
		dp_exact_profile_free(&profile.exact);
		if (attempt == 0) low = least;
	}
	if (status == DP_OK) *epsilon = answer > 0.0 ? answer : least;
	return status;
}

/* ---- the clip -------------------------------------------------------------------------------- */

/* *missed is ln(delta of these integers / delta): at most 0 exactly where they are within. */
static enum dp_status measure_clip(const struct dp_histogram_terms *terms, double epsilon,
                                   double delta, const struct dp_integers *integers,
                                   double *missed) {
	double reached;
	const struct dp_claim claim = dp_integers_claim(integers);
	const enum dp_status status = dp_histogram_delta(terms, &claim, epsilon, &reached);
	if (status != DP_OK) return status;
	*missed = log(reached / delta);
	*missed = reached <= delta ? fmin(*missed, 0.0) : fmax(*missed, DBL_MIN);
	return DP_OK;
}

/* Whether the weights hold the clip (dp/account.h). */
static bool weights_take(const struct dp_integers *i) {
	return dp_weights_bits(i->batch, i->clip_fixed, i->fraction_bits, i->temperature_num,
	                       i->temperature_den, i->gain) > 0;
}

enum dp_status dp_histogram_lower(const struct dp_histogram_terms *terms, double epsilon,
                                  double delta, struct dp_integers *integers) {
	REQUIRE(integers->clip_fixed >= 1 && probability(delta));
	/* A clip of `low` is within, one of `high` is not. With a clip of 0 the counts alone would
	 * cost something, and 1/t is below epsilon. */
	struct dp_integers i = *integers;
	int32_t low = 0, high = integers->clip_fixed + 1, last = 0;
	double slope = USUAL_SLOPE, missed = 0.0, missed_last = 0.0;
	for (int probe = 0; high - low > 1; probe++) {
		const enum dp_status status = measure_clip(terms, epsilon, delta, &i, &missed);
		if (status != DP_OK) return status;
		if (missed <= 0.0) low = i.clip_fixed;
		else high = i.clip_fixed;
		if (missed <= 0.0 && (missed >= -NEAR || low == integers->clip_fixed)) break;
		/* As secants go over ln clip; halving where they leave the bracket or creep. */
		const double x = log(i.clip_fixed),
		             measured = (missed - missed_last) / (x - log(last));
		if (last && measured > 0.0 && !isinf(measured)) slope = measured;
		last = i.clip_fixed;
		missed_last = missed;
		const double next = floor(exp(x - (missed + NEAR / 2.0) / slope));
		i.clip_fixed = next > low && next < high && probe < SECANTS
		                   ? (int32_t)next
		                   : low + (high - low) / 2;
	}
	i.clip_fixed = low;
	while (i.clip_fixed >= 1 && !weights_take(&i)) i.clip_fixed--;
	if (i.clip_fixed < 1) return DP_BAD_PARAMETER;
	*integers = i;
	return DP_OK;
}
