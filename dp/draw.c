// SPDX-License-Identifier: Apache-2.0
// draw.c: see draw.h. Loops over the weights do the same work whatever the private values are. Only
// the number of tries depends on them, through W.
#include "dp/draw.h"

#include "base/misuse.h"

#include <stdint.h>
#include <string.h>

/* Tries before the source counts as stuck. With uniform bits each try succeeds with a chance of at
 * least one half. */
#define DRAW_TRIES 1000

size_t dp_pick(const struct dp_wide *weights, size_t n, struct dp_wide u) {
	REQUIRE(n >= 1);
	struct dp_wide prefix = {0, 0};
	size_t pick = 0;
	for (size_t i = 0; i < n; i++) {
		prefix = dp_wide_sum(prefix, weights[i]);
		pick += !dp_wide_less(u, prefix);
	}
	return pick;
}

/* Sets every bit below the highest one of x: 0b101000 becomes 0b111111. */
static unsigned __int128 fill_low_bits(unsigned __int128 x) {
	for (unsigned shift = 1; shift < 128; shift *= 2) x |= x >> shift;
	return x;
}

enum dp_status dp_draw(const struct dp_wide *weights, size_t n, const struct dp_random *random,
                       size_t *index) {
	struct dp_wide total = {0, 0}, u;
	for (size_t i = 0; i < n; i++) total = dp_wide_sum(total, weights[i]);
	REQUIRE((total.low | total.high) != 0 && total.high >> 127 == 0);
	const struct dp_wide mask = {total.high ? ~(unsigned __int128)0 : fill_low_bits(total.low),
	                             fill_low_bits(total.high)};
	enum dp_status status = DP_NO_ENTROPY;
	for (int tries = 0; tries < DRAW_TRIES; tries++) {
		if (random->fill(random->user, &u, sizeof u) != DP_OK) break;
		u.low &= mask.low;
		u.high &= mask.high;
		if (!dp_wide_less(u, total)) continue;
		*index = dp_pick(weights, n, u);
		status = DP_OK;
		break;
	}
	explicit_bzero(&u, sizeof u);
	return status;
}
