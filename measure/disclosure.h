// SPDX-License-Identifier: Apache-2.0
// disclosure.h: what texts say that stands in one record alone, and whether that is more often a
// record that was read than one that was kept aside.
//
// Words may be private: scratch is wiped. A word is a number, equal words have equal ones.
// A run of n words is a record's own when it stands in no other record of the pool. A record is
// disclosed when a text has a run of its own. One that was read may be disclosed for that, or by
// chance; one kept aside by chance alone: a phantom. Where nothing was learnt, both are equally
// likely if it was left to chance which records were kept aside. Source: Amin et al. 2026 (arXiv
// 2606.16952): the comparison with records kept aside, and exact tests of it.
// Example: the pool "ann has a cold", "bob has a cold", n = 2. "ann has" is the first record's own,
// "has a" is nobody's. The text "so ann has flu" discloses the first record.
#ifndef CUTTLE_MEASURE_DISCLOSURE_H
#define CUTTLE_MEASURE_DISCLOSURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Texts or records: number i has the words word[first[i]] .. word[first[i + 1] - 1]. */
struct disclosure_words {
	const uint64_t *word;
	const size_t *first; /* [count + 1] */
	size_t count;
};

/* Sets found[pool->count] to how many different runs of n words, of each record's own, stand in any
 * of the texts. n is at least 1. Two runs are taken for one with a chance of 2^-64. False: out of
 * memory. */
bool disclosure_count(const struct disclosure_words *texts, const struct disclosure_words *pool,
                      size_t n, uint32_t *found);

/* P(X >= seen) for X of `drawn` records at random, how many are of the first `used` of used +
 * held_out: hypergeometric, exact to about 1e-11. It is the chance of so many disclosed records
 * among the used ones where `drawn` are disclosed and nothing was learnt. */
double disclosure_chance(uint64_t used, uint64_t held_out, uint64_t drawn, uint64_t seen);

/* Pairs each held-out record with a used one, by a public seed, and guesses in the `guesses` pairs
 * whose scores differ most which one was used: the one with the larger score. Equal scores are no
 * guess, and so not right. scores[used + held_out], the used ones first. Sets *right. Pairs there
 * are min(used, held_out), guesses at most as many. False: out of memory. */
bool disclosure_guess(const double *scores, size_t used, size_t held_out, size_t guesses,
                      uint64_t seed, size_t *right);

#endif
