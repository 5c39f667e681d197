// SPDX-License-Identifier: Apache-2.0
// draw.c: see draw.h. Loops over the weights do the same work whatever the private values are. The
// number of tries depends on them, through W; so do the addresses that find_prefix reads.
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

size_t dp_pick_mixed(const uint64_t *a, const uint64_t *b, size_t n, uint64_t share, uint64_t whole,
                     uint64_t u) {
	REQUIRE(n >= 1 && share <= whole);
	const uint64_t left = whole - share;
	uint64_t prefix = 0;
	size_t pick = 0;
	for (size_t i = 0; i < n; i++) {
		prefix += left * a[i] + share * b[i];
		pick += prefix <= u;
	}
	return pick;
}

void dp_share_evenly(uint64_t *law, size_t n, uint64_t sum) {
	REQUIRE(n >= 1 && n <= sum);
	const uint64_t part = sum / n;
	for (size_t i = 0; i < n; i++) law[i] = part;
	law[0] += sum - part * n;
}

uint64_t dp_largest(const uint64_t *weights, size_t n) {
	uint64_t most = 0;
	for (size_t i = 0; i < n; i++) most = weights[i] > most ? weights[i] : most;
	return most;
}

/* Sets every bit below the highest one of x: 0b101000 becomes 0b111111. */
static unsigned __int128 fill_low_bits(unsigned __int128 x) {
	for (unsigned shift = 1; shift < 128; shift *= 2) x |= x >> shift;
	return x;
}

enum dp_status dp_draw_number(struct dp_wide total, const struct dp_random *random,
                              struct dp_wide *u) {
	REQUIRE((total.low | total.high) != 0 && total.high >> 127 == 0);
	const struct dp_wide mask = {total.high ? ~(unsigned __int128)0 : fill_low_bits(total.low),
	                             fill_low_bits(total.high)};
	for (int tries = 0; tries < DRAW_TRIES; tries++) {
		if (random->fill(random->user, u, sizeof *u) != DP_OK) break;
		u->low &= mask.low;
		u->high &= mask.high;
		if (dp_wide_less(*u, total)) return DP_OK;
	}
	return DP_NO_ENTROPY;
}

enum dp_status dp_draw(const struct dp_wide *weights, size_t n, const struct dp_random *random,
                       size_t *index) {
	struct dp_wide total = {0, 0}, u;
	for (size_t i = 0; i < n; i++) total = dp_wide_sum(total, weights[i]);
	const enum dp_status status = dp_draw_number(total, random, &u);
	if (status == DP_OK) *index = dp_pick(weights, n, u);
	explicit_bzero(&u, sizeof u);
	return status;
}

/* How many prefixes are at most u. The last one is above it, so it stands in for those that would
 * come after it. */
static size_t find_prefix(const struct dp_wide *prefixes, size_t n, struct dp_wide u) {
	size_t step = 1, passed = 0;
	while (step <= n / 2) step *= 2;
	for (; step; step /= 2) {
		const size_t wanted = passed + step, probe = wanted < n ? wanted : n;
		passed += step & -(size_t)!dp_wide_less(u, prefixes[probe - 1]);
	}
	return passed;
}

enum dp_status dp_draw_summed(const struct dp_wide *prefixes, size_t n,
                              const struct dp_random *random, size_t *index) {
	REQUIRE(n >= 1);
	struct dp_wide u;
	const enum dp_status status = dp_draw_number(prefixes[n - 1], random, &u);
	if (status == DP_OK) *index = find_prefix(prefixes, n, u);
	explicit_bzero(&u, sizeof u);
	return status;
}

enum dp_status dp_draw_below_wide(uint64_t n, const struct dp_random *random, uint64_t *number) {
	REQUIRE(n >= 1);
	const uint64_t mask = (uint64_t)fill_low_bits(n - 1);
	uint64_t bits;
	enum dp_status status = DP_NO_ENTROPY;
	for (int tries = 0; tries < DRAW_TRIES; tries++) {
		if (random->fill(random->user, &bits, sizeof bits) != DP_OK) break;
		bits &= mask;
		if (bits >= n) continue;
		*number = bits;
		status = DP_OK;
		break;
	}
	explicit_bzero(&bits, sizeof bits);
	return status;
}

enum dp_status dp_draw_below(uint32_t n, const struct dp_random *random, uint32_t *number) {
	uint64_t wide = 0;
	const enum dp_status status = dp_draw_below_wide(n, random, &wide);
	if (status == DP_OK) *number = (uint32_t)wide;
	explicit_bzero(&wide, sizeof wide);
	return status;
}
