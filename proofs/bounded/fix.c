// SPDX-License-Identifier: Apache-2.0
// fix.c: for every finite float and every F up to 16, L is clamp(round_half_even(x 2^F), -2^26,
// 2^26), in dp_fix, dclip and rowlaw alike.
#include "bounded.h"

#include "dp/fixed.c"
#include "kernels/dclip_scalar.c"
#include "kernels/rowlaw_scalar.c"

int main(void) {
	const float x = unknown_float();
	const unsigned bits = unknown_u32();
	ASSUME(bits <= 16 && x - x == 0);
	const double scale = (double)(1u << bits);
	const int32_t L = fix_logit(x, scale);
	CLAIM(round_logit(x, scale) == L);
	CLAIM(bits != ROWLAW_FRACTION_BITS || fix_law_logit(x) == L);
	const double product = (double)x * scale; /* exact: 24 bits times a power of two */
	CLAIM(L >= -DP_FIXED_LIMIT && L <= DP_FIXED_LIMIT);
	CLAIM(product < DP_FIXED_LIMIT || L == DP_FIXED_LIMIT);
	CLAIM(product > -DP_FIXED_LIMIT || L == -DP_FIXED_LIMIT);
	if (product < DP_FIXED_LIMIT && product > -DP_FIXED_LIMIT) {
		const double rest = product - L; /* exact where the next claim holds */
		CLAIM(rest >= -0.5 && rest <= 0.5);
		CLAIM((rest != 0.5 && rest != -0.5) || L % 2 == 0);
	}
	return 0;
}
