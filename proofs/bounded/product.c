// SPDX-License-Identifier: Apache-2.0
// product.c: dp_wide_product and dp_wide_times put the products of 64-bit digits together without
// losing a carry, for all values.
#include "bounded.h"

#include "dp/wide.h"

int main(void) {
	const uint64_t a = unknown_u64(), b0 = unknown_u64(), b1 = unknown_u64(),
	               b2 = unknown_u64();
	const unsigned __int128 p0 = (unsigned __int128)a * b0, p1 = (unsigned __int128)a * b1,
	                        p2 = (unsigned __int128)a * b2;
	const unsigned __int128 d1 = (p0 >> 64) + (uint64_t)p1, d2 = (p1 >> 64) + (d1 >> 64);
	const struct dp_wide product = dp_wide_product(a, (unsigned __int128)b1 << 64 | b0);
	CLAIM((uint64_t)product.low == (uint64_t)p0);
	CLAIM((uint64_t)(product.low >> 64) == (uint64_t)d1);
	CLAIM(product.high == d2);
	const struct dp_wide times =
	    dp_wide_times((struct dp_wide){(unsigned __int128)b1 << 64 | b0, b2}, a);
	CLAIM(times.low == product.low);
	CLAIM(times.high == d2 + p2); /* it fits, as the caller promises */
	return 0;
}
