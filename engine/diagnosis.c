// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnosis.h"

#include "base/misuse.h"
#include "dp/fixed.h"

#include <math.h>
#include <stdlib.h>

static double private_weight(const struct cuttle_plan *plan, size_t i) {
	return (double)dp_invisibleink_public_weight(plan->mechanism, i) * (double)dp_invisibleink_private_weight(plan->mechanism, i);
}

static int32_t fixed(const struct cuttle_plan *plan, float logit) {
	int32_t value = 0;
	(void)dp_fix(&logit, 1, plan->guarantee.fraction_bits, &value); // not finite: as a null row, no difference
	return value;
}

struct differences {
	const struct cuttle_plan *plan;
	const float *row, *public_row;
	const uint32_t *candidates;
	size_t count;
};

static int32_t difference(const struct differences *d, size_t i) {
	return fixed(d->plan, d->row[i]) - fixed(d->plan, d->public_row[d->candidates[i]]);
}

/* What dp_center subtracts, found without memory: the least value that at least half of the differences do not exceed. */
static int32_t median(const struct differences *d) {
	int32_t low = -(1 << 28), high = 1 << 28;
	while (low < high) {
		const int32_t middle = low + (high - low) / 2;
		size_t within = 0;
		for (size_t i = 0; i < d->count; i++) within += difference(d, i) <= middle;
		if (2 * within >= d->count) high = middle;
		else low = middle + 1;
	}
	return low;
}

static double at_the_clip(const struct cuttle_plan *plan, const struct logit_source *source, size_t slot, const uint32_t *candidates,
                          size_t count) {
	const size_t rows = source->rows(source->self, slot);
	size_t clipped = 0;
	for (size_t r = 0; r < rows; r++) {
		const struct differences d = {plan, source->row(source->self, r), source->public_row(source->self, slot), candidates,
		                              count};
		const int32_t center = plan->guarantee.savings.center ? median(&d) : 0;
		for (size_t i = 0; i < count; i++) clipped += abs(difference(&d, i) - center) >= plan->guarantee.clip_fixed;
	}
	return rows ? (double)clipped / ((double)rows * (double)count) : 0;
}

void diagnosis_of(const struct cuttle_plan *plan, const struct logit_source *source, size_t slot, bool alone,
                  struct cuttle_trace_step *step) {
	size_t count, drawn = 0;
	const uint32_t *candidates = dp_invisibleink_candidates(plan->mechanism, &count);
	const float *logits = source->public_row(source->self, slot);
	double public_sum = 0, public_most = 0, sum = 0, entropy = 0;
	for (size_t i = 0; i < count; i++) {
		const double weight = (double)dp_invisibleink_public_weight(plan->mechanism, i);
		public_sum += weight;
		sum += private_weight(plan, i);
		if (weight > public_most) public_most = weight;
		if (candidates[i] == (uint32_t)step->token) drawn = i;
	}
	REQUIRE(count && candidates[drawn] == (uint32_t)step->token);
	const double weight = private_weight(plan, drawn);
	step->public_rank = step->rank = 1;
	for (size_t i = 0; i < count; i++) {
		const double other = private_weight(plan, i);
		entropy -= other / sum * log(other / sum);
		step->public_rank += logits[candidates[i]] > logits[candidates[drawn]];
		step->rank += other > weight;
	}
	step->candidates = (uint32_t)count;
	step->private_rows = alone ? 0 : (uint32_t)source->rows(source->self, slot);
	step->effective_k = exp(entropy);
	step->public_top = public_most / public_sum;
	step->public_probability = (double)dp_invisibleink_public_weight(plan->mechanism, drawn) / public_sum;
	step->probability = weight / sum;
	step->clipped = alone ? 0 : at_the_clip(plan, source, slot, candidates, count);
}
