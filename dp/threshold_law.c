// SPDX-License-Identifier: Apache-2.0
// threshold_law.c: see threshold_law.h. The density has a corner at 0 alone. There the trapezoid
// rule is corrected; elsewhere what it leaves is below 1e-7.
#include "dp/threshold_law.h"

#include "base/misuse.h"

#include <math.h>
#include <string.h>

enum { STEPS = 64, BEHIND = 30, AT_ZERO = BEHIND * STEPS, MOST_POINTS = 1 << 17 };

/* A past: whether a unit stands, then the density at each point. */
struct past {
	uint64_t standing;
	double density[];
};

/* Points from -BEHIND on, to BEHIND beyond the largest distance there is. 0: too many. */
static size_t count_points(const struct dp_threshold *t, uint32_t places) {
	const double most = 2.0 * places * (double)t->most / (double)t->scale;
	return most < MOST_POINTS / STEPS - 2 * BEHIND ? (size_t)((most + 2 * BEHIND) * STEPS) : 0;
}

size_t dp_threshold_past_size(const struct dp_threshold *t, uint32_t places) {
	const size_t points = count_points(t, places);
	return points ? sizeof(struct past) + points * sizeof(double) : 0;
}

static double place_of_point(size_t i) {
	return (double)i / STEPS - BEHIND;
}

/* The density before any answer. At 0 it is less by h / 6, which is what the corner adds. */
static double density_at_first(size_t i) {
	const double x = fabs(place_of_point(i));
	return i == AT_ZERO ? 1.0 - 1.0 / (6.0 * STEPS) : exp(-x);
}

static double chance_of_answer(const struct dp_threshold *t, size_t i, int64_t distance, bool yes) {
	const double c = (double)(distance - t->theta) / (double)t->scale;
	const double z = yes ? place_of_point(i) - c : c - place_of_point(i);
	return z > 0.0 ? exp(-z / 2) / 2 : 1.0 - exp(z / 2) / 2;
}

void dp_threshold_chances(const struct dp_threshold *t, uint32_t places, const void *given,
                          int64_t distance, double ln_chance[2]) {
	const struct past *past = given;
	const size_t points = count_points(t, places);
	double all = 0.0, sum[2] = {0.0, 0.0};
	REQUIRE(points > 0);
	for (size_t i = 0; i < points; i++) {
		const double density = past->standing ? past->density[i] : density_at_first(i);
		all += density;
		for (int yes = 0; yes < 2; yes++)
			sum[yes] += density * chance_of_answer(t, i, distance, yes);
	}
	for (int yes = 0; yes < 2; yes++) ln_chance[yes] = log(sum[yes] / all);
}

void dp_threshold_answered(const struct dp_threshold *t, uint32_t places, void *given,
                           int64_t distance, bool yes) {
	struct past *past = given;
	const size_t points = count_points(t, places);
	double most = 0.0;
	REQUIRE(points > 0);
	if (yes) {
		/* The unit is over, and with it all that is known of its noise. */
		explicit_bzero(past, dp_threshold_past_size(t, places));
		return;
	}
	for (size_t i = 0; i < points; i++) {
		const double density = past->standing ? past->density[i] : density_at_first(i);
		past->density[i] = density * chance_of_answer(t, i, distance, false);
		most = fmax(most, past->density[i]);
	}
	/* So that a long unit does not underflow. */
	for (size_t i = 0; i < points; i++) past->density[i] /= most;
	past->standing = 1;
}
