// SPDX-License-Identifier: Apache-2.0
// diagnosis.c: computes the numbers of diagnosis.h.
// A candidate's weight is its public weight times its private weight. The law, which the token was
// drawn from, is weight / sum of weights.
// Differences are taken in the same integers that the mechanism clips.
#include "engine/run/loop/diagnosis.h"

#include "base/misuse.h"
#include "dp/fixed.h"
#include "dp/invisibleink.h"

#include <math.h>
#include <stdlib.h>

/* The weight of candidate number i, in the law that the token was drawn from. */
static double weight_of_candidate(const struct cuttle_plan *plan, size_t i) {
	return (double)dp_invisibleink_public_weight(plan->traced, i) *
	       (double)dp_invisibleink_private_weight(plan->traced, i);
}

static int32_t fix_shown_logit(const struct cuttle_plan *plan, float logit) {
	int32_t value = 0;
	// A logit that is not finite stays 0 here; the mechanism takes such a row for null.
	(void)dp_fix(&logit, 1, plan->guarantee.fraction_bits, &value);
	return value;
}

/* One private row against the public row. */
struct differences {
	const struct cuttle_plan *plan;
	const float *row;           /* [count] logits of the candidates */
	const float *public_row;    /* [vocabulary] */
	const uint32_t *candidates; /* [count] token numbers */
	size_t count;
};

static int32_t fixed_difference_of(const struct differences *d, size_t i) {
	return fix_shown_logit(d->plan, d->row[i]) -
	       fix_shown_logit(d->plan, d->public_row[d->candidates[i]]);
}

/* The lower median, which dp_center subtracts: the least value that at least half of the
 * differences do not exceed. It is found by halving the range, without memory. Example: of 1, 4, 6
 * and 9 it is 4. */
static int32_t find_lower_median(const struct differences *d) {
	int32_t low = -(1 << 28), high = 1 << 28;
	while (low < high) {
		const int32_t middle = low + (high - low) / 2;
		size_t within = 0;
		for (size_t i = 0; i < d->count; i++) within += fixed_difference_of(d, i) <= middle;
		if (2 * within >= d->count) high = middle;
		else low = middle + 1;
	}
	return low;
}

/* Counts the private rows of the step: sets step->private_rows, and step->clipped to the share of
 * all differences, centred if the plan says so, that lie at the clip or beyond it. */
static void measure_private_rows(const struct cuttle_plan *plan, const struct logit_source *source,
                                 size_t slot, const uint32_t *candidates, size_t count,
                                 struct cuttle_trace_step *step) {
	size_t clipped = 0;
	for (size_t place = 0; place < plan->places; place++) {
		const float *row = source->row(source->self, place);
		if (!row) continue;
		step->private_rows++;
		const struct differences d = {plan, row, source->public_row(source->self, slot),
		                              candidates, count};
		const int32_t center = plan->guarantee.savings.center ? find_lower_median(&d) : 0;
		for (size_t i = 0; i < count; i++)
			clipped +=
			    abs(fixed_difference_of(&d, i) - center) >= plan->guarantee.clip_fixed;
	}
	if (step->private_rows)
		step->clipped = (double)clipped / ((double)step->private_rows * (double)count);
}

void diagnosis_of(const struct cuttle_plan *plan, const struct logit_source *source, size_t slot,
                  bool alone, struct cuttle_trace_step *step) {
	size_t count, drawn = 0;
	const uint32_t *candidates = dp_invisibleink_candidates(plan->traced, &count);
	const float *logits = source->public_row(source->self, slot);
	double public_sum = 0, public_most = 0, sum = 0, entropy = 0;
	for (size_t i = 0; i < count; i++) {
		const double weight = (double)dp_invisibleink_public_weight(plan->traced, i);
		public_sum += weight;
		sum += weight_of_candidate(plan, i);
		if (weight > public_most) public_most = weight;
		if (candidates[i] == (uint32_t)step->token) drawn = i;
	}
	REQUIRE(count && candidates[drawn] == (uint32_t)step->token);
	const double weight = weight_of_candidate(plan, drawn);
	step->public_rank = step->rank = 1;
	for (size_t i = 0; i < count; i++) {
		const double other = weight_of_candidate(plan, i);
		entropy -= other / sum * log(other / sum);
		step->public_rank += logits[candidates[i]] > logits[candidates[drawn]];
		step->rank += other > weight;
	}
	step->candidates = (uint32_t)count;
	step->effective_k = exp(entropy);
	step->public_top = public_most / public_sum;
	step->public_probability =
	    (double)dp_invisibleink_public_weight(plan->traced, drawn) / public_sum;
	step->probability = weight / sum;
	if (!alone) measure_private_rows(plan, source, slot, candidates, count, step);
}
