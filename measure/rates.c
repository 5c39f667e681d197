// SPDX-License-Identifier: Apache-2.0
// The area counts, for each positive, the negatives below it. In the sorted order these are the
// ones that came before, and half of those with the same score.
#include "measure/rates.h"

#include "base/misuse.h"
#include "measure/scratch.h"

#include <stdlib.h>

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

struct scored {
	double score;
	bool positive;
};

static int order_scored(const void *a, const void *b) {
	const struct scored *x = a, *y = b;
	return (x->score > y->score) - (x->score < y->score);
}

bool rates_area(const double *scores, const bool *positive, size_t count, double *area) {
	struct scored *sorted = scratch_make(count, sizeof *sorted);
	if (!sorted) return false;
	for (size_t i = 0; i < count; i++) sorted[i] = (struct scored){scores[i], positive[i]};
	qsort(sorted, count, sizeof *sorted, order_scored);
	double negatives = 0.0, positives = 0.0, pairs = 0.0;
	for (size_t i = 0; i < count;) {
		double here[2] = {0}; /* negatives and positives of one score */
		const double score = sorted[i].score;
		for (; i < count && sorted[i].score == score; i++) here[sorted[i].positive]++;
		pairs += here[1] * (negatives + here[0] / 2.0);
		negatives += here[0];
		positives += here[1];
	}
	REQUIRE(negatives > 0.0 && positives > 0.0);
	*area = pairs / (negatives * positives);
	scratch_free(sorted);
	return true;
}
