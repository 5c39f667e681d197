// SPDX-License-Identifier: Apache-2.0
// share.c: see share.h.
//
// Nothing is assumed of libm for the share itself: the moments and the bound use + - * / alone, all
// terms are positive, and two factors are larger than all roundings together. So the bound holds
// for the integers really drawn from. Only the cap, a public number, takes expm1.
#include "dp/share.h"

#include "base/misuse.h"
#include "dp/rounding.h"
#include "dp/rowlaw.h"
#include "kernels/kernels.h"

#include <stdbool.h>
#include <string.h>

#define MOMENT_MARGIN (1.0 + 0x1p-32) /* above (2^15 + 48) 2^-53, what a moment may lose */
#define BOUND_MARGIN (1.0 + 0x1p-40)  /* above the roundings of one bound */
#define COST_MARGIN (1.0 + 0x1p-34)   /* above (2^18 + 40) 2^-53, what a sum of laws may lose */
#define LIBM_MARGIN 0x1p-50L          /* expm1 is trusted to this */

_Static_assert(DP_SHARE_ORDER == CHISQ_ORDER && DP_ROWLAW_MOST == CHISQ_MOST,
               "the kernel takes every order and length");

/* What the bisections ask about; private. */
struct departure {
	double moments[DP_SHARE_ORDER + 1]; /* [0]: nu; [k]: mu_k. Not below the true ones. */
	unsigned order;                     /* alpha */
};

double dp_share_cap(unsigned order, double divergence) {
	REQUIRE(order >= 2 && order <= DP_SHARE_ORDER && positive(divergence));
	REQUIRE((order - 1) * divergence <= DP_SHARE_EXPONENT);
	return round_down(expm1l((order - 1) * (long double)divergence) * (1.0L - LIBM_MARGIN));
}

/* C(order, k), exactly. */
static double choose_double(unsigned order, unsigned k) {
	double value = 1.0;
	for (unsigned i = 0; i < k; i++) value = value * (order - i) / (i + 1);
	return value;
}

/* The larger right side of Theorem F2 at lambda = l / 2^16: F for D(q || p), G for D(p || q). */
static double bound_divergence(const struct departure *d, uint32_t l) {
	const unsigned order = d->order;
	const double lambda = (double)l * 0x1p-16, rest = (double)(DP_SHARE_ONE - l) * 0x1p-16,
	             square = lambda * lambda, pairs = choose_double(order, 2);
	double forward = pairs * square * d->moments[0], power = lambda;
	for (unsigned k = 2; k <= order; k++) {
		power = power * lambda;
		forward += choose_double(order, k) * power * d->moments[k];
	}
	double inverse = 1.0, tail = 0.0;
	for (unsigned j = order - 1; j > 0; j--) {
		inverse = inverse / rest;
		tail += j * inverse;
	}
	const double reverse = pairs * square * d->moments[2] + square * d->moments[0] * tail;
	return forward > reverse ? forward : reverse;
}

/* lambda^2 E_p[u^2] at lambda = l / 2^16. */
static double bound_square(const struct departure *d, uint32_t l) {
	const double lambda = (double)l * 0x1p-16;
	return lambda * lambda * (d->moments[0] + d->moments[2]);
}

/* The largest l below `end` whose bound is at most `cap`: bounds never fall with l, and that of 0
 * is 0. The number of steps is public. */
static uint32_t search_share(const uint64_t *a, const uint64_t *b, size_t n, unsigned order,
                             double (*bound)(const struct departure *, uint32_t), uint32_t end,
                             double cap) {
	REQUIRE(order >= 2 && order <= DP_SHARE_ORDER && cap >= 0.0);
	struct departure d = {.order = order};
	kernels_get()->chisq(a, b, n, order, d.moments);
	for (unsigned k = 0; k <= order; k++) d.moments[k] *= 0x1p-46 * MOMENT_MARGIN;
	uint32_t low = 0;
	while (end - low > 1) {
		const uint32_t middle = low + (end - low) / 2;
		if (bound(&d, middle) * BOUND_MARGIN <= cap) low = middle;
		else end = middle;
	}
	explicit_bzero(&d, sizeof d);
	return low;
}

uint32_t dp_share_bounded(const uint64_t *a, const uint64_t *b, size_t n, unsigned order,
                          double cap) {
	return search_share(a, b, n, order, bound_divergence, DP_SHARE_ONE, cap);
}

double dp_share_cost(const uint64_t *a, const uint64_t *b, size_t n, unsigned order, uint32_t l) {
	REQUIRE(order >= 2 && order <= DP_SHARE_ORDER && l < DP_SHARE_ONE);
	double forward = 0.0, reverse = 0.0;
	for (size_t i = 0; i < n; i++) {
		const uint64_t w = (DP_SHARE_ONE - l) * a[i] + l * b[i];
		const double p = (double)a[i] * 0x1p-46, q = (double)w * 0x1p-62, up = q / p,
		             down = p / q;
		double there = q, back = p;
		for (unsigned k = 1; k < order; k++) {
			there *= up;
			back *= down;
		}
		forward += there;
		reverse += back;
	}
	const double most = forward > reverse ? forward : reverse;
	return most > 1.0 ? (most - 1.0) * COST_MARGIN + most * (COST_MARGIN - 1.0)
	                  : COST_MARGIN - 1.0;
}

uint32_t dp_share_capped(const uint64_t *a, const uint64_t *b, size_t n, uint32_t most,
                         double cap) {
	REQUIRE(most < DP_SHARE_ONE);
	return search_share(a, b, n, 2, bound_square, most + 1, cap);
}

struct dp_share_limits dp_share_limits(double b) {
	REQUIRE(positive(b) && b <= DP_SHARE_RATIO);
	const long double one = 0x1p32L, high = one * expl((long double)b) * (1.0L - LIBM_MARGIN),
	                  low = one * expl(-(long double)b) * (1.0L + LIBM_MARGIN);
	/* For a tiny b the margins would cross 1, where q is p. */
	return (struct dp_share_limits){(uint64_t)fmaxl(floorl(high), one),
	                                (uint64_t)fminl(ceill(low), one)};
}

/* departed / whole, how far one candidate may have to move; private. */
struct distance {
	uint64_t departed; /* |b - a| */
	uint64_t whole;    /* a >= 1 */
};

/* Keeps the larger of both fractions. Each product is below 2^92. */
static void keep_farther(struct distance *farthest, uint64_t departed, uint64_t whole) {
	if ((unsigned __int128)departed * farthest->whole >
	    (unsigned __int128)farthest->departed * whole)
		*farthest = (struct distance){departed, whole};
}

/* The largest l < 2^16 with l departed / whole <= 2^16 room / 2^32. */
static uint32_t share_within(struct distance farthest, uint64_t room) {
	if (farthest.departed == 0) return DP_SHARE_ONE - 1;
	const unsigned __int128 most =
	    (unsigned __int128)farthest.whole * room / ((unsigned __int128)farthest.departed << 16);
	return most < DP_SHARE_ONE ? (uint32_t)most : DP_SHARE_ONE - 1;
}

uint32_t dp_share_ratio(const uint64_t *a, const uint64_t *b, size_t n,
                        struct dp_share_limits limits) {
	const uint64_t one = UINT64_C(1) << 32;
	REQUIRE(limits.low <= one && limits.high >= one && limits.high <= UINT64_C(1) << 56);
	struct distance up = {0, 1}, down = {0, 1};
	for (size_t i = 0; i < n; i++) {
		keep_farther(&up, b[i] > a[i] ? b[i] - a[i] : 0, a[i]);
		keep_farther(&down, b[i] < a[i] ? a[i] - b[i] : 0, a[i]);
	}
	const uint32_t rise = share_within(up, limits.high - one),
	               fall = share_within(down, one - limits.low);
	explicit_bzero(&up, sizeof up);
	explicit_bzero(&down, sizeof down);
	return rise < fall ? rise : fall;
}
