// SPDX-License-Identifier: Apache-2.0
// votes.c: see votes.h. dp/PRIVACY.md, steps 49 and 50, says what rests on it.
#include "dp/votes.h"

#include "base/misuse.h"
#include "dp/noise.h"
#include "dp/rounding.h"

#include <string.h>

/* Whether a vote of a record stands among its earlier ones. */
static bool stands_before(const uint32_t *votes, uint32_t at) {
	bool found = false;
	for (uint32_t i = 0; i < at; i++) found |= votes[i] == votes[at];
	return found;
}

enum dp_status dp_votes(const uint32_t *votes, size_t records, uint32_t each, uint32_t candidates,
                        struct dp_variance variance, const struct dp_random *random,
                        int64_t *noisy) {
	REQUIRE(each >= 1 && each <= DP_MOST_VOTES);
	REQUIRE(candidates >= 1 && candidates <= DP_MOST_CANDIDATES);
	const enum dp_status status =
	    dp_noise_fill(variance.num, variance.den, random, noisy, candidates);
	if (status != DP_OK) return status;
	/* Votes for none are counted, too, where nobody looks. So a record takes the same steps
	 * whether it votes or not. */
	int64_t none = 0;
	for (size_t i = 0; i < records; i++)
		for (uint32_t k = 0; k < each; k++) {
			const uint32_t *of = votes + i * each;
			REQUIRE((of[k] < candidates) | (of[k] == DP_NO_VOTE));
			const bool counts = (of[k] < candidates) & !stands_before(of, k);
			int64_t *const to = counts ? &noisy[of[k]] : &none;
			++*to;
		}
	explicit_bzero(&none, sizeof none);
	return DP_OK;
}

enum dp_status dp_votes_sum(const int32_t *values, size_t records, int32_t reach,
                            struct dp_variance variance, const struct dp_random *random,
                            int64_t *noisy) {
	REQUIRE(reach >= 1 && reach <= DP_MOST_REACH && records <= UINT32_MAX);
	const enum dp_status status = dp_noise_fill(variance.num, variance.den, random, noisy, 1);
	for (size_t i = 0; i < records && status == DP_OK; i++) {
		const int32_t low = values[i] < -reach ? -reach : values[i];
		*noisy += low > reach ? reach : low;
	}
	return status;
}

double dp_votes_rho(uint64_t square, uint32_t times, struct dp_variance variance) {
	REQUIRE(square >= 1 && times >= 1 && variance.num >= 1 && variance.den >= 1);
	return round_up((long double)square * times * variance.den / variance.num / 2.0L *
	                (1.0L + SIMPLE));
}

enum dp_status dp_votes_variance(uint64_t square, uint32_t times, double rho,
                                 struct dp_variance *variance) {
	REQUIRE(square >= 1 && times >= 1 && positive(rho));
	const long double least =
	    (long double)square * times / (long double)rho / 2.0L * (1.0L + SIMPLE);
	if (!(least <= (long double)(UINT32_MAX - 1))) return DP_BAD_PARAMETER;
	uint32_t den = UINT32_C(1) << 31;
	while (den > 1 && least * den > (long double)(UINT32_MAX - 1)) den /= 2;
	struct dp_variance made = {(uint32_t)ceill(least * den), den};
	if (made.num < 1) made.num = 1;
	/* What rounding took from the quotient is at most one part. */
	if (dp_votes_rho(square, times, made) > rho) made.num++;
	REQUIRE(dp_votes_rho(square, times, made) <= rho);
	*variance = made;
	return DP_OK;
}
