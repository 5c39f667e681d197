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

uint32_t dp_share_capped(const uint64_t *a, const uint64_t *b, size_t n, uint32_t most,
                         double cap) {
	REQUIRE(most < DP_SHARE_ONE);
	return search_share(a, b, n, 2, bound_square, most + 1, cap);
}
