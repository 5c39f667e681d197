// SPDX-License-Identifier: Apache-2.0
// attacks.h: from the scores of an audit's games to counts, which measure/bounds.h takes.
//
// Scores may follow from private texts; nothing is kept of them. No function draws for itself: what
// is random is given, or follows from a public seed.
// Example: 6 games with a record score 1 5 2 6 3 7, 6 without 0 1 0 2 0 4. Games 0, 2, 4 of each
// choose the threshold 1; games 1, 3, 5 are counted by it: 3 hits of 3, 3 alarms of 3.
#ifndef CUTTLE_MEASURE_ATTACKS_H
#define CUTTLE_MEASURE_ATTACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an attack said in games of two worlds. It says "with" from a score of `threshold` on. */
struct attacks_worlds {
	double threshold;
	uint64_t hits, with;      /* "with" in games with the record, and these games */
	uint64_t alarms, without; /* "with" in games without it, and these games */
};

/* Judges games by their scores: with[n], without[n], n at least 2. The games of even number choose
 * the threshold, the one with the largest bound of 95 %. Those of odd number are counted. So the
 * threshold is fixed before them, as bounds_two_worlds demands. */
void attacks_judge(const double *with, const double *without, size_t n, double delta,
                   struct attacks_worlds *judged);

/* Guesses `guesses` of n records, those whose scores are farthest from `center`: "in" above it,
 * else "out". Returns how many are right. guesses is at most n. Of equally far ones the first
 * count. SIZE_MAX: out of memory. */
size_t attacks_guess(const double *scores, const bool *in, size_t n, double center, size_t guesses);

/* The middle of scores[n]: the mean of the two middle ones where n is even. NaN: out of memory. */
double attacks_median(const double *scores, size_t n);

/* MIN-K: the mean of the lowest max(1, round(share n)) of logprobs[n]; n is at least 1. Source: Shi
 * et al. 2024 (arXiv 2310.16789). NaN: out of memory. */
double attacks_lowest(const double *logprobs, size_t n, double share);

/* The rank of scores[secret] among scores[n], the largest first: `before` are larger, and `ties`
 * are as large, itself included. Its rank is before + 1 + a fair number below ties. NaN is the
 * least score. */
void attacks_rank(const double *scores, size_t n, size_t secret, size_t *before, size_t *ties);

/* The mean of log2(secrets) - log2(rank) where all ranks are equally likely: near 1.4427. */
double attacks_chance_exposure(uint64_t secrets);

/* How near texts are to references: overlap[texts][references]. A text counts with the largest
 * overlap with a reference of a group. */
struct attacks_overlap {
	double used;       /* mean over texts: with the references that were used */
	double held_out;   /* with the others */
	double difference; /* used - held_out */
	double p; /* share of groupings with at least this difference, the true one counted */
};

/* Compares the first `used` references with the others by a test of permutations: `rounds` random
 * groupings of the same sizes, from a public seed. Without recitation p is uniform, where used and
 * held-out references come from one population. Source: Phipson and Smyth 2010, section 4. used is
 * 1 .. references - 1, texts and rounds at least 1. False: out of memory. */
bool attacks_permute(const double *overlap, size_t texts, size_t references, size_t used,
                     size_t rounds, uint64_t seed, struct attacks_overlap *found);

#endif
