// SPDX-License-Identifier: Apache-2.0
// record_filter.c: see record_filter.h. What was used is kept as a product, so that private numbers
// meet + * / alone. Only the public limits take exp.
#include "dp/record_filter.h"

#include "base/misuse.h"
#include "dp/mechanism.h"
#include "dp/rounding.h"

#include <stdlib.h>
#include <string.h>

#define MOST_EXPONENT 700.0  /* the largest (order - 1) budget: its exp is finite */
#define LIBM_MARGIN 0x1p-50L /* expl and powl are trusted to this */
#define UP (1.0 + 0x1p-50)   /* above the three roundings of a product */
#define DOWN (1.0 - 0x1p-50) /* below those of a quotient and a difference */

/* The batch in one slot. */
struct filter_slot {
	bool begun;     /* a batch has had its first turn here */
	uint32_t spent; /* paid tokens that `used` counts */
	double *used;   /* [places] 1 .. ; private */
};

struct dp_record_filter {
	uint32_t places;
	double whole; /* e^((order-1) budget), rounded down */
	double cap;   /* the largest bound of a step */
	double *used; /* [DP_MECHANISM_SLOTS * places] those of all slots */
	struct filter_slot slots[DP_MECHANISM_SLOTS];
	struct filter_slot *now; /* whose turn it is; NULL before the first */
};

struct dp_record_filter *dp_record_filter_new(uint32_t places, unsigned order, double budget,
                                              double cap) {
	REQUIRE(places >= 1 && places <= DP_FILTER_PLACES && order >= 2 && positive(cap));
	REQUIRE(positive(budget) && (order - 1) * budget <= MOST_EXPONENT);
	struct dp_record_filter *filter = calloc(1, sizeof *filter);
	double *used = calloc((size_t)places * DP_MECHANISM_SLOTS, sizeof *used);
	if (!filter || !used) {
		free(filter);
		free(used);
		return NULL;
	}
	filter->places = places;
	filter->whole = round_down(expl((order - 1) * (long double)budget) * (1.0L - LIBM_MARGIN));
	filter->cap = cap;
	filter->used = used;
	for (uint32_t i = 0; i < DP_MECHANISM_SLOTS; i++)
		filter->slots[i].used = used + (size_t)i * places;
	return filter;
}

void dp_record_filter_free(struct dp_record_filter *filter) {
	if (!filter) return;
	for (uint32_t i = 0; i < DP_MECHANISM_SLOTS; i++)
		if (filter->slots[i].begun)
			explicit_bzero(filter->slots[i].used, filter->places * sizeof(double));
	free(filter->used);
	free(filter);
}

void dp_record_filter_turn(struct dp_record_filter *filter, uint32_t slot, bool fresh) {
	REQUIRE(slot < DP_MECHANISM_SLOTS);
	struct filter_slot *now = filter->now = &filter->slots[slot];
	REQUIRE(fresh || now->begun);
	if (!fresh) return;
	now->begun = true;
	now->spent = 0;
	for (uint32_t i = 0; i < filter->places; i++) now->used[i] = 1.0;
}

void dp_record_filter_begin(struct dp_record_filter *filter, uint32_t spent) {
	REQUIRE(filter->now);
	struct filter_slot *now = filter->now;
	if (spent <= now->spent) return;
	const double unseen = round_up(powl(1.0L + (long double)filter->cap, spent - now->spent) *
	                               (1.0L + LIBM_MARGIN));
	for (uint32_t i = 0; i < filter->places; i++) now->used[i] *= unseen * UP;
	now->spent = spent;
}

void dp_record_filter_step(struct dp_record_filter *filter) {
	REQUIRE(filter->now);
	filter->now->spent++;
}

double dp_record_filter_left(const struct dp_record_filter *filter, uint32_t place) {
	REQUIRE(filter->now && place < filter->places);
	const double rest = filter->whole / filter->now->used[place] * DOWN - 1.0;
	const double left = rest * DOWN;
	return left > filter->cap ? filter->cap : left > 0.0 ? left : 0.0;
}

void dp_record_filter_pay(struct dp_record_filter *filter, uint32_t place, double bound) {
	REQUIRE(filter->now && place < filter->places && bound >= 0.0);
	filter->now->used[place] *= (1.0 + bound) * UP;
}
