// SPDX-License-Identifier: Apache-2.0
// wide.c: dp_wide_sum and dp_wide_less are those of the eight 32-bit digits, carries and all, for
// all values.
#include "bounded.h"

#include "dp/wide.h"

static uint32_t digit(struct dp_wide a, int i) {
	return (uint32_t)((i < 4 ? a.low : a.high) >> (32 * (i & 3)));
}

int main(void) {
	const struct dp_wide a = {unknown_u128(), unknown_u128()},
	                     b = {unknown_u128(), unknown_u128()};
	bool less = false, decided = false;
	for (int i = 7; i >= 0; i--)
		if (!decided && digit(a, i) != digit(b, i)) {
			decided = true;
			less = digit(a, i) < digit(b, i);
		}
	CLAIM(dp_wide_less(a, b) == less);
	const struct dp_wide sum = dp_wide_sum(a, b);
	uint64_t carry = 0;
	for (int i = 0; i < 8; i++) {
		carry += (uint64_t)digit(a, i) + digit(b, i);
		CLAIM(digit(sum, i) == (uint32_t)carry);
		carry >>= 32;
	}
	return 0;
}
