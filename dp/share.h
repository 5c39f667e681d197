// SPDX-License-Identifier: Apache-2.0
// share.h: how much of a private law may be mixed into the public one.
//
// The private law, and the share found, are private; orders, caps and the public law are public.
// How: with p = a / 2^46, u = (b - a) / a and a share lambda = l / 2^16, the mixture is
// q = p (1 + lambda u). One pass gives moments of u (kernels/chisq.h); the share is then bisected
// on a bound of the divergence that these moments give.
// Example: a = 1/2, 1/4, 1/8, 1/8 and b = 1/8, 1/8, 1/4, 1/2 of 2^46, order 2 and divergence 0.02:
// the share is 7280 / 65536 = 0.111, and D_2 is 0.0195 one way and 0.0163 the other.
// Source: dp/PRIVACY.md, steps 23, 26 and 47.
#ifndef CUTTLE_DP_SHARE_H
#define CUTTLE_DP_SHARE_H

#include <stddef.h>
#include <stdint.h>

#define DP_SHARE_ORDER 16                /* the largest order */
#define DP_SHARE_ONE (UINT32_C(1) << 16) /* a share of 1; shares are below it */
#define DP_SHARE_EXPONENT 700.0          /* the largest (order - 1) divergence: its exp is finite */

/* e^((order - 1) divergence) - 1, rounded down. divergence > 0, (order - 1) divergence <= 700. */
double dp_share_cap(unsigned order, double divergence);

/* The largest l in 0 .. 2^16 - 1 of which the bound of Theorem F2 is known to be at most `cap`, so
 * that with q above and c = ln(1 + cap) / (order - 1)
 *
 *   D_order(q || p) <= c   and   D_order(p || q) <= c.
 *
 * a[n] and b[n] are integers >= 1 that sum to 2^46 each, n <= 2^18. 2 <= order <= 16. cap >= 0. */
uint32_t dp_share_bounded(const uint64_t *a, const uint64_t *b, size_t n, unsigned order,
                          double cap);

/* What a share l really costs: e^((order - 1) D) - 1, rounded up by a part of 2^-34 of e^(..), for
 * the larger of D_order(q || p) and D_order(p || q). At least 0; PRIVATE. a, b, n, order as above,
 * l < 2^16. For a share of dp_share_bounded it is at most cap, but for that rounding, and often far
 * less: the theorem's bound is loose where q is near b. */
double dp_share_cost(const uint64_t *a, const uint64_t *b, size_t n, unsigned order, uint32_t l);

/* The largest l in 0 .. most with lambda^2 E_p[u^2] <= cap: what Theorem F3 asks for. most < 2^16;
 * the rest as above, with order 2. */
uint32_t dp_share_capped(const uint64_t *a, const uint64_t *b, size_t n, uint32_t most, double cap);

/* How far q / p may depart from 1, in units of 2^-32. Example: b = 0.4 gives 6407338287 and
 * 2879002676, which are 1.4918 and 0.6703. */
struct dp_share_limits {
	uint64_t high; /* 2^32 e^b, rounded down */
	uint64_t low;  /* 2^32 e^-b, rounded up */
};

#define DP_SHARE_RATIO 16.0 /* the largest b */

/* The limits for 0 < b <= DP_SHARE_RATIO. */
struct dp_share_limits dp_share_limits(double b);

/* The largest l in 0 .. 2^16 - 1 with low <= 2^32 q(y) / p(y) <= high for every y, in integers: a
 * bound of order infinity. a and b as above; low <= 2^32 <= high <= 2^56. */
uint32_t dp_share_ratio(const uint64_t *a, const uint64_t *b, size_t n,
                        struct dp_share_limits limits);

#endif
