// SPDX-License-Identifier: Apache-2.0
#include "dp/draw.h"

#include "base/misuse.h"

#include <stdint.h>
#include <string.h>

/* A source that is out of range this often running is stuck: for uniform bits each try succeeds with chance above one half. */
#define DRAW_TRIES 1000

size_t dp_pick(const unsigned __int128 *weights, size_t n, unsigned __int128 u) {
	REQUIRE(n >= 1);
	unsigned __int128 prefix = 0;
	size_t pick = 0;
	for (size_t i = 0; i < n; i++) {
		prefix += weights[i];
		pick += prefix <= u;
	}
	return pick;
}

static unsigned __int128 mask_of_length(unsigned __int128 total) {
	uint64_t high = (uint64_t)(total >> 64), low = (uint64_t)total;
	unsigned length = high ? 128 - (unsigned)__builtin_clzll(high) : 64 - (unsigned)__builtin_clzll(low);
	return ((unsigned __int128)1 << length) - 1;
}

enum dp_status dp_draw(const unsigned __int128 *weights, size_t n, const struct dp_random *random, size_t *index) {
	unsigned __int128 total = 0, u = 0;
	for (size_t i = 0; i < n; i++) total += weights[i];
	REQUIRE(total > 0 && total >> 127 == 0);
	const unsigned __int128 mask = mask_of_length(total);
	enum dp_status status = DP_NO_ENTROPY;
	for (int tries = 0; tries < DRAW_TRIES; tries++) {
		if (random->fill(random->user, &u, sizeof u) != DP_OK) break;
		u &= mask;
		if (u >= total) continue;
		*index = dp_pick(weights, n, u);
		status = DP_OK;
		break;
	}
	explicit_bzero(&u, sizeof u);
	return status;
}
