// SPDX-License-Identifier: Apache-2.0
// threshold.c: see threshold.h.
#include "dp/threshold.h"

#include "base/misuse.h"
#include "dp/noise.h"

#include <string.h>

#define MOST_THETA (INT64_C(1) << 50)
#define MOST_ROWS (UINT32_C(1) << 16)

bool dp_threshold_fits(const struct dp_threshold *t) {
	return t->most >= 1 && t->most <= DP_THRESHOLD_MOST && t->scale >= 1 &&
	       t->scale <= DP_THRESHOLD_MOST_SCALE && t->theta >= 0 && t->theta <= MOST_THETA;
}

enum dp_status dp_threshold_start(const struct dp_threshold *t, const struct dp_random *random,
                                  struct dp_threshold_unit *unit) {
	REQUIRE(dp_threshold_fits(t) && !unit->standing);
	const enum dp_status status = dp_noise_laplace(t->scale, random, &unit->noise);
	unit->standing = status == DP_OK;
	return status;
}

enum dp_status dp_threshold_noise(const struct dp_threshold *t, const struct dp_random *random,
                                  int64_t *noise) {
	REQUIRE(dp_threshold_fits(t));
	return dp_noise_laplace(2 * t->scale, random, noise);
}

void dp_threshold_add(const struct dp_threshold *t, const uint64_t *p, size_t n, uint64_t *sum) {
	uint64_t left = t->most;
	for (size_t y = 0; y < n; y++) {
		const uint64_t kept = p[y] < left ? p[y] : left;
		left -= kept;
		sum[y] += kept;
	}
}

int64_t dp_threshold_distance(const uint64_t *sum, const uint64_t *public_p, size_t n,
                              uint32_t places) {
	REQUIRE(places <= MOST_ROWS);
	uint64_t distance = 0;
	for (size_t y = 0; y < n; y++) {
		const uint64_t expected = places * public_p[y];
		distance += sum[y] > expected ? sum[y] - expected : expected - sum[y];
	}
	return (int64_t)distance;
}

bool dp_threshold_fires(const struct dp_threshold *t, struct dp_threshold_unit *unit,
                        int64_t distance, int64_t noise) {
	REQUIRE(unit->standing);
	const bool fires = distance + noise >= t->theta + unit->noise;
	if (fires) dp_threshold_drop(unit);
	return fires;
}

void dp_threshold_drop(struct dp_threshold_unit *unit) {
	explicit_bzero(unit, sizeof *unit);
}
