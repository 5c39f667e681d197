// SPDX-License-Identifier: Apache-2.0
// Sorting and counting, see attacks.h. The half that chooses a threshold and the half that is
// counted never meet: choose_threshold is given the one, count_above the other.
#include "measure/attacks.h"

#include "base/misuse.h"
#include "measure/bounds.h"
#include "measure/scratch.h"
#include "measure/stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHOICE_ALPHA .05 /* a threshold is chosen by bounds of 95 % */

/* Of the games first, first + 2, ... below n, how many score at least `threshold`. */
static uint64_t count_above(const double *scores, size_t n, size_t first, double threshold) {
	uint64_t count = 0;
	for (size_t i = first; i < n; i += 2) count += scores[i] >= threshold;
	return count;
}

/* Tries each score of the games of even number as threshold. Few games have no bound above 0: there
 * the difference of both rates decides. */
static double choose_threshold(const double *with, const double *without, size_t n, double delta) {
	const uint64_t games = (n + 1) / 2;
	double best = -1, apart = -1, threshold = INFINITY;
	for (uint64_t i = 0; i < 2 * games; i++) {
		const double here = i < games ? with[2 * i] : without[2 * (i - games)];
		const uint64_t hits = count_above(with, n, 0, here),
		               alarms = count_above(without, n, 0, here);
		const double bound =
		    bounds_two_worlds(hits, games, alarms, games, delta, CHOICE_ALPHA);
		const double between = fabs((double)hits - (double)alarms);
		if (bound < best || (bound == best && between <= apart)) continue;
		best = bound;
		apart = between;
		threshold = here;
	}
	return threshold;
}

void attacks_judge(const double *with, const double *without, size_t n, double delta,
                   struct attacks_worlds *judged) {
	REQUIRE(n >= 2);
	const double threshold = choose_threshold(with, without, n, delta);
	*judged = (struct attacks_worlds){.threshold = threshold,
	                                  .hits = count_above(with, n, 1, threshold),
	                                  .with = n / 2,
	                                  .alarms = count_above(without, n, 1, threshold),
	                                  .without = n / 2};
}

struct attacks_score {
	double value;
	size_t number;
};

/* Falling by value, then rising by number; NaN last. */
static int compare_distances(const void *one, const void *other) {
	const struct attacks_score *a = one, *b = other;
	const double x = isnan(a->value) ? -INFINITY : a->value,
	             y = isnan(b->value) ? -INFINITY : b->value;
	if (x != y) return x < y ? 1 : -1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static struct attacks_score *sort_scores(const double *scores, size_t n, double center) {
	struct attacks_score *sorted = scratch_make(n ? n : 1, sizeof *sorted);
	for (size_t i = 0; sorted && i < n; i++)
		sorted[i] =
		    (struct attacks_score){isnan(center) ? scores[i] : fabs(scores[i] - center), i};
	if (sorted) qsort(sorted, n, sizeof *sorted, compare_distances);
	return sorted;
}

size_t attacks_guess(const double *scores, const bool *in, size_t n, double center,
                     size_t guesses) {
	REQUIRE(guesses <= n && !isnan(center));
	struct attacks_score *sorted = sort_scores(scores, n, center);
	size_t right = 0;
	if (!sorted) return SIZE_MAX;
	for (size_t i = 0; i < guesses; i++) {
		const size_t number = sorted[i].number;
		right += (scores[number] > center) == in[number];
	}
	scratch_free(sorted);
	return right;
}

double attacks_median(const double *scores, size_t n) {
	REQUIRE(n >= 1);
	struct attacks_score *sorted = sort_scores(scores, n, NAN);
	if (!sorted) return NAN;
	const double median = (sorted[(n - 1) / 2].value + sorted[n / 2].value) / 2;
	scratch_free(sorted);
	return median;
}

double attacks_lowest(const double *logprobs, size_t n, double share) {
	REQUIRE(n >= 1);
	struct attacks_score *sorted = sort_scores(logprobs, n, NAN);
	const double wanted = round(share * (double)n);
	const size_t count = wanted < 1 ? 1 : wanted > (double)n ? n : (size_t)wanted;
	double sum = 0;
	if (!sorted) return NAN;
	for (size_t i = 0; i < count; i++) sum += sorted[n - 1 - i].value;
	scratch_free(sorted);
	return sum / (double)count;
}

void attacks_rank(const double *scores, size_t n, size_t secret, size_t *before, size_t *ties) {
	REQUIRE(secret < n);
	const double own = isnan(scores[secret]) ? -INFINITY : scores[secret];
	*before = *ties = 0;
	for (size_t i = 0; i < n; i++) {
		const double other = isnan(scores[i]) ? -INFINITY : scores[i];
		*before += other > own;
		*ties += other == own;
	}
}

double attacks_chance_exposure(uint64_t secrets) {
	REQUIRE(secrets >= 1);
	double sum = 0;
	for (uint64_t rank = 1; rank <= secrets; rank++) sum += bounds_exposure(rank, secrets);
	return sum / (double)secrets;
}

/* The mean over texts of the largest overlap with references order[first .. last - 1]. */
static double average_nearest(const double *overlap, size_t texts, size_t references,
                              const size_t *order, size_t first, size_t last) {
	double sum = 0;
	for (size_t t = 0; t < texts; t++) {
		double most = -INFINITY;
		for (size_t i = first; i < last; i++)
			most = fmax(most, overlap[t * references + order[i]]);
		sum += most;
	}
	return sum / (double)texts;
}

bool attacks_permute(const double *overlap, size_t texts, size_t references, size_t used,
                     size_t rounds, uint64_t seed, struct attacks_overlap *found) {
	REQUIRE(used >= 1 && used < references && texts >= 1 && rounds >= 1);
	size_t *order = scratch_make(references, sizeof *order), as_large = 1;
	struct stream stream = stream_of(seed, 0);
	if (!order) return false;
	for (size_t i = 0; i < references; i++) order[i] = i;
	found->used = average_nearest(overlap, texts, references, order, 0, used);
	found->held_out = average_nearest(overlap, texts, references, order, used, references);
	found->difference = found->used - found->held_out;
	for (size_t round = 0; round < rounds; round++) {
		for (size_t i = references - 1; i > 0; i--) {
			const size_t other = stream_below(&stream, i + 1), moved = order[i];
			order[i] = order[other];
			order[other] = moved;
		}
		const double difference =
		    average_nearest(overlap, texts, references, order, 0, used) -
		    average_nearest(overlap, texts, references, order, used, references);
		// Sums of other orders differ in their last digits: these count as equal.
		as_large += difference >= found->difference - 1e-12;
	}
	found->p = (double)as_large / (double)(rounds + 1);
	scratch_free(order);
	return true;
}
