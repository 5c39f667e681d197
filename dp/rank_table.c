// SPDX-License-Identifier: Apache-2.0
// rank_table.c: E in integers of 256 bits. However the table was made, dp_rank_check proves it
// right, or there is no mechanism (dp/PRIVACY.md, step 31).
#include "dp/rank_table.h"

#include "base/misuse.h"

#include <stdbool.h>

#define MILLION 1000000
#define UNIT_BITS 40      /* the smallest E is 2^40 */
#define SERIES_BITS 229   /* of raise_e's answer: times 64 * 10^6 it still fits 256 bits */
#define SERIES_TERMS 300  /* for exponents up to 64 the rest is below 2^-230 of the sum */
#define ENVELOPE_BITS 107 /* of V q: T(V) T(V-1) 2^40 then fits 254 bits */

static struct dp_wide halve_wide(struct dp_wide a, unsigned times) {
	for (; times > 0; times--) a = (struct dp_wide){a.low >> 1 | a.high << 127, a.high >> 1};
	return a;
}

/* Returns s < 2^229 with s / 2^*bits <= e^(num/den), num/den <= 64. s / 2^*bits is less by at most
 * 2^-218 of it. The power series is summed from its far end, 1 + x/1 (1 + x/2 (1 + x/3 (...))), and
 * every operation rounds down. Example: e^0.5 starts as 2^228 and ends as 1.6487 * 2^228. */
static struct dp_wide raise_e(uint32_t num, uint32_t den, unsigned *bits) {
	const struct dp_wide one = {0, (unsigned __int128)1 << (SERIES_BITS - 1 - 128)};
	struct dp_wide sum = one;
	*bits = SERIES_BITS - 1;
	for (uint64_t n = SERIES_TERMS; n >= 1; n--) {
		const uint64_t divisor = n * den;
		sum = dp_wide_quotient(dp_wide_times(sum, num), (struct dp_wide){divisor, 0});
		sum = dp_wide_sum(sum, halve_wide(one, SERIES_BITS - 1 - *bits));
		for (; sum.high >> (SERIES_BITS - 128); --*bits) sum = halve_wide(sum, 1);
	}
	return sum;
}

struct dp_wide dp_rank_bound(uint32_t epsilon_millionths) {
	REQUIRE(epsilon_millionths >= 1 && epsilon_millionths <= DP_RANK_MOST_EPSILON);
	unsigned bits;
	const struct dp_wide power = raise_e(epsilon_millionths, MILLION, &bits);
	return halve_wide(power, bits - UNIT_BITS);
}

enum dp_status dp_rank_check(const struct dp_wide *table, uint32_t words,
                             uint32_t epsilon_millionths) {
	REQUIRE(table && words >= 2);
	const struct dp_wide bound = dp_rank_bound(epsilon_millionths), first = table[0],
	                     last = table[words - 1];
	if (last.high != 0 || last.low >> 64 != 0 || last.low == 0) return DP_SELF_CHECK;
	if (first.high >> (200 - 128) != 0) return DP_SELF_CHECK;
	bool good = !dp_wide_less(dp_wide_times(bound, (uint64_t)last.low),
	                          dp_wide_times(first, UINT64_C(1) << UNIT_BITS));
	for (uint32_t r = 0; r + 1 < words; r++) good &= !dp_wide_less(table[r], table[r + 1]);
	return good ? DP_OK : DP_SELF_CHECK;
}

static unsigned count_bits(unsigned __int128 x) {
	unsigned bits = 0;
	for (; x; x >>= 1) bits++;
	return bits;
}

/* a b, both below 2^127. */
static struct dp_wide multiply_long(unsigned __int128 a, unsigned __int128 b) {
	const struct dp_wide upper = dp_wide_product((uint64_t)(a >> 64), b);
	return dp_wide_sum(dp_wide_product((uint64_t)a, b),
	                   (struct dp_wide){upper.low << 64, upper.high << 64 | upper.low >> 64});
}

static void tabulate_step(uint32_t words, uint32_t near, struct dp_wide bound,
                          struct dp_wide *table) {
	const struct dp_wide far = {(unsigned __int128)1 << UNIT_BITS, 0};
	for (uint32_t r = 0; r < words; r++) table[r] = r < near ? bound : far;
}

/* T is held in units of 2^-f, with f as large as ENVELOPE_BITS allows: 88 at V = 11000 and epsilon
 * 6. Then T(r) = V 2^f + r (Q - 2^f) is exact for the integer Q, and only Q is rounded, down. The
 * first E is below the bound by 2^40 q (q^2 - 1) / (q + V - 1), which is 4 or more: rounding it to
 * nearest does not reach the bound. */
static void tabulate_envelope(uint32_t words, uint32_t epsilon_millionths, struct dp_wide *table) {
	unsigned bits;
	const struct dp_wide power = raise_e(epsilon_millionths, 2 * MILLION, &bits);
	const unsigned fraction =
	    ENVELOPE_BITS - count_bits(words) - count_bits(halve_wide(power, bits).low);
	const unsigned __int128 start = (unsigned __int128)words << fraction,
	                        slope = halve_wide(power, bits - fraction).low -
	                                ((unsigned __int128)1 << fraction);
	const struct dp_wide top = multiply_long((start + words * slope) << UNIT_BITS / 2,
	                                         (start + (words - 1) * slope) << UNIT_BITS / 2);
	for (uint32_t r = 0; r < words; r++) {
		const struct dp_wide divisor =
		    multiply_long(start + (r + 1) * slope, start + r * slope);
		table[r] = dp_wide_quotient(dp_wide_sum(top, halve_wide(divisor, 1)), divisor);
	}
}

void dp_rank_tabulate(enum dp_rank_shape shape, uint32_t words, uint32_t near,
                      uint32_t epsilon_millionths, struct dp_wide *table) {
	REQUIRE(table && words >= 2 && words <= DP_RANK_MOST_WORDS);
	REQUIRE(epsilon_millionths >= 1 && epsilon_millionths <= DP_RANK_MOST_EPSILON);
	REQUIRE(shape == DP_RANK_ENVELOPE || (near >= 1 && near < words));
	if (shape == DP_RANK_STEP)
		tabulate_step(words, near, dp_rank_bound(epsilon_millionths), table);
	else tabulate_envelope(words, epsilon_millionths, table);
}
