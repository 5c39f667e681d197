// SPDX-License-Identifier: Apache-2.0
// rank_account.c: both numbers are fractions of two integers below 2^63. A 64-bit significand holds
// each integer exactly, so one division and one look at its remainder round rightly.
#include "dp/rank_account.h"

#include "base/misuse.h"
#include "dp/rank.h"
#include "dp/rounding.h"

#define MILLION 1000000

/* The least double that is at least num / den. */
static double divide_up(uint64_t num, uint64_t den) {
	const long double n = (long double)num, d = (long double)den, near = n / d;
	const bool below = fmal(near, d, -n) < 0.0L;
	return round_up(below ? nextafterl(near, (long double)INFINITY) : near);
}

double dp_rank_epsilon(uint32_t epsilon_millionths, uint32_t places) {
	REQUIRE(epsilon_millionths >= 1 && epsilon_millionths <= DP_RANK_MOST_EPSILON);
	REQUIRE(places >= 1 && places <= DP_RANK_MOST_PLACES);
	return divide_up((uint64_t)epsilon_millionths * places, MILLION);
}

double dp_rank_rho(uint32_t epsilon_millionths, uint32_t places) {
	const double epsilon = dp_rank_epsilon(epsilon_millionths, places);
	if (epsilon_millionths >= 2 * MILLION) return epsilon; /* epsilon^2 / 2 >= epsilon */
	const uint64_t square = (uint64_t)epsilon_millionths * epsilon_millionths;
	return divide_up(square * places, UINT64_C(2) * MILLION * MILLION);
}
