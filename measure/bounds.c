// SPDX-License-Identifier: Apache-2.0
// Each bound takes of a count the side that makes epsilon smaller: the low one of what an attack
// got right, the high one of what it got wrong.
#include "measure/bounds.h"

#include "base/misuse.h"
#include "measure/binomial.h"

#include <math.h>

#define MOST_EPSILON 60.0 /* e^-60 is below the last bit of a chance near 1 */

/* ln((right - delta) / wrong), and 0 when that is less. wrong is above 0, for bounds above are. */
static double bound_ratio(double right, double wrong, double delta) {
	return right - delta > wrong ? log((right - delta) / wrong) : 0.0;
}

double bounds_two_worlds(uint64_t hits, uint64_t with, uint64_t alarms, uint64_t without,
                         double delta, double alpha) {
	REQUIRE(delta >= 0.0 && delta < 1.0);
	const double hit = binomial_low(hits, with, alpha / 2.0),
	             alarm = binomial_high(alarms, without, alpha / 2.0);
	const double says_with = bound_ratio(hit, alarm, delta),
	             says_without = bound_ratio(1.0 - alarm, 1.0 - hit, delta);
	return says_with > says_without ? says_with : says_without;
}

double bounds_one_run_chance(uint64_t canaries, uint64_t guesses, uint64_t right, double epsilon,
                             double delta) {
	REQUIRE(guesses >= 1 && guesses <= canaries && right <= guesses && epsilon >= 0.0);
	REQUIRE(delta >= 0.0 && delta < 1.0);
	const double p = 1.0 / (1.0 + exp(-epsilon)), tail = binomial_tail(guesses, p, right);
	double most = 0.0;
	for (uint64_t i = 1; delta > 0.0 && i <= right; i++) {
		const double slope = (binomial_tail(guesses, p, right - i) - tail) / (double)i;
		if (slope > most) most = slope;
	}
	const double chance = tail + 2.0 * (double)canaries * delta * most;
	return chance < 1.0 ? chance : 1.0;
}

double bounds_one_run(uint64_t canaries, uint64_t guesses, uint64_t right, double delta,
                      double alpha) {
	REQUIRE(alpha > 0.0 && alpha < 1.0);
	if (bounds_one_run_chance(canaries, guesses, right, 0.0, delta) > alpha) return 0.0;
	double low = 0.0, high = MOST_EPSILON;
	for (double middle = high / 2.0; low < middle && middle < high;
	     middle = low + (high - low) / 2.0)
		if (bounds_one_run_chance(canaries, guesses, right, middle, delta) <= alpha)
			low = middle;
		else high = middle;
	return low;
}

double bounds_guess(uint64_t right, uint64_t games, uint64_t secrets, double delta, double alpha) {
	REQUIRE(secrets >= 1 && delta >= 0.0 && delta < 1.0);
	return bound_ratio(binomial_low(right, games, alpha), 1.0 / (double)secrets, delta);
}

double bounds_exposure(uint64_t rank, uint64_t secrets) {
	REQUIRE(rank >= 1 && rank <= secrets);
	return log2((double)secrets) - log2((double)rank);
}
