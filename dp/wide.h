// SPDX-License-Identifier: Apache-2.0
// Unsigned integers of 256 bits: as much arithmetic as exact weights need. No function branches on a value.
#ifndef CUTTLE_DP_WIDE_H
#define CUTTLE_DP_WIDE_H

#include <stdbool.h>
#include <stdint.h>

struct dp_wide {
	unsigned __int128 low, high;
};

/* a + b; the sum is below 2^256. */
static inline struct dp_wide dp_wide_sum(struct dp_wide a, struct dp_wide b) {
	const unsigned __int128 low = a.low + b.low;
	return (struct dp_wide){low, a.high + b.high + (low < b.low)};
}

/* a b, whatever they are. */
static inline struct dp_wide dp_wide_product(uint64_t a, unsigned __int128 b) {
	const unsigned __int128 upper = a * (b >> 64);
	return dp_wide_sum((struct dp_wide){(unsigned __int128)a * (uint64_t)b, 0}, (struct dp_wide){upper << 64, upper >> 64});
}

/* Whether a < b. */
static inline bool dp_wide_less(struct dp_wide a, struct dp_wide b) {
	return (a.high < b.high) | ((a.high == b.high) & (a.low < b.low));
}

#endif
