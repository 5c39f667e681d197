// SPDX-License-Identifier: Apache-2.0
// rdp.c: see rdp.h. Formulas are in b = alpha - 1, the order less 1. Every order gives a valid
// bound, so a search that misses the best order is loose, not wrong.
#include "dp/rdp.h"

#include "base/misuse.h"
#include "dp/rounding.h"

#include <string.h>

enum { THIRDS = 150 }; /* steps of the search for an order; each cuts off a third of ln b */

/* Margin for a logarithm whose argument may be near one: its error is then absolute. */
#define NEAR_ONE 0x1p-58L
#define LEAST_B 1e-6L /* the search for an order begins here */
#define MOST_B 1e9L   /* and ends here */

#define INFINITY_BITS (UINT64_C(0x7FF) << 52) /* +infinity as a double, read as an integer */

/* With u = eta - t, b times the divergence of rdp.h is
 *   b (eta - u) + ln(E + r (1 - exp(-u))),   E = exp(-b eta),   r = (1 - E) / (1 - exp(-eta))
 * It is greatest at exp(u) = (b + 1) r / (b (E + r)). In the code E is `rest`. */
static long double bounded_range_loss(long double eta, long double b) {
	const long double rest = expl(-b * eta), r = expm1l(-b * eta) / expm1l(-eta);
	const long double u = logl((b + 1.0L) / b * r / (rest + r));
	const long double inside = logl(rest - r * expm1l(-u));
	const long double exact =
	    (b * (eta - u) + inside + NEAR_ONE * (1.0L + b * eta + fabsl(inside))) / b;
	return fminl(exact, fminl((b + 1.0L) * eta * eta / 8.0L, eta));
}

static long double mixture_loss(long double size, uint32_t parts, long double b) {
	const long double exponent = b * size;
	if (exponent > 11000.0L) return size; /* exp would overflow; the loss is never above size */
	return log1pl(expm1l(exponent) / parts) / b;
}

static long double event_loss(const struct dp_rdp_event *event, double order) {
	const long double size = (long double)event->size, b = (long double)order - 1.0L;
	REQUIRE(event->count >= 1 && positive(event->size));
	if (event->kind == DP_RDP_BOUNDED_RANGE) return bounded_range_loss(size, b);
	if (event->kind == DP_RDP_GAUSSIAN) return (b + 1.0L) * size * size / 2.0L;
	REQUIRE(event->kind == DP_RDP_MIXTURE && event->parts >= 1 && event->order > 1.0);
	return order <= event->order ? mixture_loss(size, event->parts, b) : (long double)INFINITY;
}

double dp_rdp_loss(const struct dp_rdp_event *list, size_t events, double order) {
	REQUIRE(order > 1.0 && order <= DP_RDP_ORDER);
	long double sum = 0.0L;
	for (size_t i = 0; i < events; i++)
		sum += (long double)list[i].count * event_loss(&list[i], order);
	return round_up(sum * (1.0L + TERM));
}

double dp_rdp_epsilon_at(double loss, double order, double delta) {
	REQUIRE(loss >= 0.0 && order > 1.0 && order <= DP_RDP_ORDER && probability(delta));
	const long double b = (long double)order - 1.0L;
	const long double tail = -logl((long double)delta) / b, width = log1pl(b) / b,
	                  shift = log1pl(1.0L / b);
	const double epsilon = round_up((long double)loss + tail - width - shift +
	                                TERM * ((long double)loss + tail + width + shift));
	return epsilon < DBL_MIN ? DBL_MIN : epsilon;
}

static double double_of_bits(uint64_t bits) {
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

double dp_rdp_loss_at(double epsilon, double order, double delta) {
	REQUIRE(positive(epsilon));
	/* Doubles from 0 to infinity are in the order of their bits, read as integers. So the
	 * search halves a range of integers. `low` is 0 or a loss that fits, `high` is one that
	 * does not. */
	uint64_t low = 0, high = INFINITY_BITS;
	while (high - low > 1) {
		const uint64_t middle = low + (high - low) / 2;
		if (dp_rdp_epsilon_at(double_of_bits(middle), order, delta) <= epsilon)
			low = middle;
		else high = middle;
	}
	return double_of_bits(low);
}

double dp_rdp_epsilon(const struct dp_rdp_event *list, size_t events, double delta, double *order) {
	REQUIRE(events >= 1);
	double most = (double)(1.0L + MOST_B), at[2], epsilon[2], best_order = 0.0,
	       best = (double)INFINITY;
	for (size_t i = 0; i < events; i++)
		if (list[i].kind == DP_RDP_MIXTURE && list[i].order < most) most = list[i].order;
	/* b epsilon is convex in b, so epsilon falls and then rises. Each round drops the outer
	 * third on the worse side. An order beyond `most` counts as `most`. */
	long double low = logl(LEAST_B), high = logl(MOST_B);
	for (int attempt = 0; attempt < THIRDS; attempt++) {
		const long double third = (high - low) / 3.0L;
		for (int side = 0; side < 2; side++) {
			at[side] =
			    fmin((double)(1.0L + expl(side ? high - third : low + third)), most);
			epsilon[side] =
			    dp_rdp_epsilon_at(dp_rdp_loss(list, events, at[side]), at[side], delta);
			if (epsilon[side] >= best) continue;
			best = epsilon[side];
			best_order = at[side];
		}
		if (epsilon[0] > epsilon[1]) low += third;
		else high -= third;
	}
	if (order) *order = best_order;
	return best;
}
