// SPDX-License-Identifier: Apache-2.0
// noise.c: the three samplers of noise.h. dp/PRIVACY.md, step 40, says what rests on them.
//
// Each is a loop around the one before it: a Gaussian draw is a Laplace draw that a coin keeps, and
// a Laplace draw is made of coins. All counts and products are integers.
#include "dp/noise.h"

#include "base/misuse.h"
#include "dp/draw.h"

#include <string.h>

/* Turns of a loop before the source counts as stuck. */
#define NOISE_TURNS 1000

/* *heads is true with chance part / whole. */
static enum dp_status toss_share(unsigned __int128 part, unsigned __int128 whole,
                                 const struct dp_random *random, bool *heads) {
	struct dp_wide number;
	const enum dp_status status = dp_draw_number((struct dp_wide){whole, 0}, random, &number);
	if (status == DP_OK) *heads = number.low < part;
	explicit_bzero(&number, sizeof number);
	return status;
}

/* The coin for n <= d. With x = n/d, k ends at 1 with chance 1 - x, at 2 with x (1 - x/2), at 3
 * with x x/2 (1 - x/3). The chances of odd k sum to 1 - x + x^2/2 - x^3/6 ... = exp(-x). */
static enum dp_status toss_below_one(unsigned __int128 n, unsigned __int128 d,
                                     const struct dp_random *random, bool *heads) {
	for (unsigned k = 1; k <= NOISE_TURNS; k++) {
		bool more;
		const enum dp_status status = toss_share(n, d * k, random, &more);
		if (status != DP_OK) return status;
		if (more) continue;
		*heads = k % 2;
		return DP_OK;
	}
	return DP_NO_ENTROPY;
}

/* *count is how often the coin of exp(-1) shows heads before it shows tails. */
static enum dp_status count_heads(const struct dp_random *random, uint32_t *count) {
	for (uint32_t n = 0; n < NOISE_TURNS; n++) {
		bool heads;
		const enum dp_status status = toss_below_one(1, 1, random, &heads);
		if (status != DP_OK) return status;
		if (heads) continue;
		*count = n;
		return DP_OK;
	}
	return DP_NO_ENTROPY;
}

enum dp_status dp_noise_coin(unsigned __int128 n, unsigned __int128 d,
                             const struct dp_random *random, bool *heads) {
	REQUIRE(d >= 1 && d >> 117 == 0);
	/* exp(-7/3) is exp(-1) twice and exp(-1/3) once: all three must show heads. */
	const unsigned __int128 whole = n / d;
	for (unsigned turn = 0; turn < whole; turn++) {
		if (turn == NOISE_TURNS) return DP_NO_ENTROPY;
		const enum dp_status status = toss_below_one(1, 1, random, heads);
		if (status != DP_OK || !*heads) return status;
	}
	return toss_below_one(n % d, d, random, heads);
}

enum dp_status dp_noise_laplace(uint64_t t, const struct dp_random *random, int64_t *noise) {
	REQUIRE(t >= 1 && t <= DP_NOISE_MOST_SCALE);
	enum dp_status status = DP_OK;
	for (int turn = 0; turn < NOISE_TURNS && status == DP_OK; turn++) {
		/* |noise| = rest + t laps; its two parts are independent. */
		uint64_t rest;
		uint32_t laps = 0;
		bool kept = false, negative = false;
		status = dp_draw_below_wide(t, random, &rest);
		if (status == DP_OK) status = dp_noise_coin(rest, t, random, &kept);
		if (status != DP_OK || !kept) continue;
		status = count_heads(random, &laps);
		if (status == DP_OK) status = toss_share(1, 2, random, &negative);
		const int64_t size = (int64_t)(rest + t * laps);
		/* Zero has two signs, so one of them is drawn again. */
		if (status != DP_OK || (negative && size == 0)) continue;
		*noise = negative ? -size : size;
		return DP_OK;
	}
	return DP_NO_ENTROPY;
}

/* floor(sqrt(x)) */
static uint32_t find_root(uint32_t x) {
	uint32_t root = 0;
	for (uint32_t bit = UINT32_C(1) << 15; bit; bit >>= 1)
		if ((uint64_t)(root + bit) * (root + bit) <= x) root += bit;
	return root;
}

enum dp_status dp_noise_gaussian(uint32_t num, uint32_t den, const struct dp_random *random,
                                 int64_t *noise) {
	REQUIRE(num >= 1 && den >= 1);
	/* With t = floor(sigma) + 1 a draw y is kept with chance exp(-n/d), where
	 * n/d = (|y| - sigma^2/t)^2 / (2 sigma^2) = (|y| den t - num)^2 / (2 num den t^2).
	 * den t^2 <= (sqrt(num) + sqrt(den))^2 <= 2^34, so d < 2^67 and n < 2^88. */
	const uint32_t t = find_root(num / den) + 1;
	const unsigned __int128 d = (unsigned __int128)2 * num * den * t * t;
	for (int turn = 0; turn < NOISE_TURNS; turn++) {
		int64_t drawn;
		bool kept;
		enum dp_status status = dp_noise_laplace(t, random, &drawn);
		if (status != DP_OK) return status;
		const int64_t size = drawn < 0 ? -drawn : drawn;
		const __int128 beside = (__int128)size * den * t - num;
		status = dp_noise_coin((unsigned __int128)(beside * beside), d, random, &kept);
		if (status != DP_OK) return status;
		if (!kept) continue;
		*noise = drawn;
		return DP_OK;
	}
	return DP_NO_ENTROPY;
}

enum dp_status dp_noise_fill(uint32_t num, uint32_t den, const struct dp_random *random,
                             int64_t *numbers, size_t count) {
	enum dp_status status = DP_OK;
	for (size_t i = 0; i < count && status == DP_OK; i++)
		status = dp_noise_gaussian(num, den, random, &numbers[i]);
	if (status != DP_OK) explicit_bzero(numbers, count * sizeof *numbers);
	return status;
}
