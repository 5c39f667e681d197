// SPDX-License-Identifier: Apache-2.0
// pick.c: dp_pick returns the first prefix sum above u, for up to 3 weights of any size whose sum
// is below 2^255.
#include "bounded.h"

#include "base/misuse.h"
#include "dp/draw.c"

#define MOST 3

int main(void) {
	struct dp_wide weights[MOST], total = {0, 0};
	const struct dp_wide u = {unknown_u128(), unknown_u128()};
	const size_t n = unknown_u64();
	ASSUME(n >= 1 && n <= MOST);
	for (size_t i = 0; i < MOST; i++) {
		weights[i] = (struct dp_wide){unknown_u128(), unknown_u128()};
		if (i >= n) continue;
		ASSUME(weights[i].high >> 127 == 0);
		total = dp_wide_sum(total, weights[i]);
		ASSUME(total.high >> 127 == 0);
	}
	ASSUME(dp_wide_less(u, total));
	const size_t pick = dp_pick(weights, n, u);
	size_t first = 0;
	struct dp_wide prefix = weights[0];
	while (!dp_wide_less(u, prefix)) prefix = dp_wide_sum(prefix, weights[++first]);
	CLAIM(pick < n && pick == first);
	return 0;
}
