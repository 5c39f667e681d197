// SPDX-License-Identifier: Apache-2.0
// wide.h: unsigned integers of 256 bits, with the arithmetic and comparison that weights need.
//
// Values may be private: no function branches on one. Example: 2^130 + 3 is {.low = 3, .high = 4}.
#ifndef CUTTLE_DP_WIDE_H
#define CUTTLE_DP_WIDE_H

#include <stdbool.h>
#include <stdint.h>

struct dp_wide {
	unsigned __int128 low;
	unsigned __int128 high; /* in units of 2^128 */
};

/* a + b. The caller knows that the sum is below 2^256. */
static inline struct dp_wide dp_wide_sum(struct dp_wide a, struct dp_wide b) {
	const unsigned __int128 low = a.low + b.low;
	return (struct dp_wide){low, a.high + b.high + (low < b.low)};
}

/* a b. It is below 2^192, so no value overflows. */
static inline struct dp_wide dp_wide_product(uint64_t a, unsigned __int128 b) {
	const unsigned __int128 upper = a * (b >> 64);
	return dp_wide_sum((struct dp_wide){(unsigned __int128)a * (uint64_t)b, 0},
	                   (struct dp_wide){upper << 64, upper >> 64});
}

/* Whether a < b. */
static inline bool dp_wide_less(struct dp_wide a, struct dp_wide b) {
	return (a.high < b.high) | ((a.high == b.high) & (a.low < b.low));
}

/* a b. The caller knows that the product is below 2^256. */
static inline struct dp_wide dp_wide_times(struct dp_wide a, uint64_t b) {
	return dp_wide_sum(dp_wide_product(b, a.low), (struct dp_wide){0, a.high * b});
}

/* floor(a / b), 0 < b < 2^255. Long division in binary, one digit a turn: digits of the answer come
 * in at the low end of a as its own leave at the high one. */
static inline struct dp_wide dp_wide_quotient(struct dp_wide a, struct dp_wide b) {
	struct dp_wide rest = {0, 0};
	for (int digit = 0; digit < 256; digit++) {
		rest = dp_wide_sum(dp_wide_sum(rest, rest), (struct dp_wide){a.high >> 127, 0});
		a = dp_wide_sum(a, a);
		const bool fits = !dp_wide_less(rest, b);
		const unsigned __int128 taken = -(unsigned __int128)fits;
		const struct dp_wide part = {b.low & taken, b.high & taken};
		rest.high -= part.high + (rest.low < part.low);
		rest.low -= part.low;
		a.low |= fits;
	}
	return a;
}

#endif
