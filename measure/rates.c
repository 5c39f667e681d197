// SPDX-License-Identifier: Apache-2.0
// The area counts, for each positive, the negatives below it, and half of those with the same
// score. Both kinds are sorted, so that one walk along the negatives serves all positives.
#include "measure/rates.h"

#include "base/misuse.h"
#include "base/sort.h"
#include "measure/scratch.h"

bool rates_of(const uint32_t *truth, const uint32_t *guesses, size_t count, uint32_t classes,
              struct rates *rates) {
	REQUIRE(count >= 1);
	size_t *all = scratch_make(classes, sizeof *all),
	       *found = scratch_make(classes, sizeof *found);
	const bool ok = all && found;
	if (ok) {
		size_t right = 0, present = 0;
		for (size_t i = 0; i < count; i++) {
			REQUIRE(truth[i] < classes && guesses[i] < classes);
			all[truth[i]]++;
			if (guesses[i] != truth[i]) continue;
			found[truth[i]]++;
			right++;
		}
		double recalls = 0.0;
		for (uint32_t c = 0; c < classes; c++) {
			if (!all[c]) continue;
			recalls += (double)found[c] / (double)all[c];
			present++;
		}
		rates->accuracy = (double)right / (double)count;
		rates->mean_recall = recalls / (double)present;
	}
	scratch_free(all);
	scratch_free(found);
	return ok;
}

bool rates_area(const double *scores, const bool *positive, size_t count, double *area) {
	double *high = scratch_make(count, sizeof *high), *low = scratch_make(count, sizeof *low);
	const bool ok = high && low;
	if (ok) {
		size_t positives = 0, negatives = 0, below = 0, upto = 0;
		for (size_t i = 0; i < count; i++)
			if (positive[i]) high[positives++] = scores[i];
			else low[negatives++] = scores[i];
		REQUIRE(positives >= 1 && negatives >= 1);
		sort_doubles(high, positives);
		sort_doubles(low, negatives);
		double pairs = 0.0;
		for (size_t i = 0; i < positives; i++) {
			while (below < negatives && low[below] < high[i]) below++;
			while (upto < negatives && low[upto] <= high[i]) upto++;
			pairs += ((double)below + (double)upto) / 2.0;
		}
		*area = pairs / ((double)positives * (double)negatives);
	}
	scratch_free(high);
	scratch_free(low);
	return ok;
}
