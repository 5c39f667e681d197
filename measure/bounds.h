// SPDX-License-Identifier: Apache-2.0
// bounds.h: what the outcome of an attack says about epsilon: lower bounds of it.
//
// No private data: counts of a game's outcomes. Each bound is 0 at least, and exceeds a true
// epsilon with a chance of at most alpha, for whatever mechanism is (epsilon, delta)-private. delta
// lies in [0, 1), alpha in (0, 1). That null replaces a record is assumed, with one record a game.
// Example: 568 hits and 20 false alarms in 2,000 games each, delta 1e-6, alpha .05: 2.8426.
#ifndef CUTTLE_MEASURE_BOUNDS_H
#define CUTTLE_MEASURE_BOUNDS_H

#include <stdint.h>

/* Two worlds, with the record and without: an attack that says "with" in `hits` of `with` games of
 * the one and in `alarms` of `without` games of the other. Half of alpha goes to low(hits) and half
 * to high(alarms). Both directions follow from these two, and the larger bound counts:
 *   ln((low(hits) - delta) / high(alarms))                    the attack says "with"
 *   ln((1 - high(alarms) - delta) / (1 - low(hits)))          it says "without"
 * The attack is fixed before these games: a threshold comes from others. Source: Jagielski et al.
 * 2020 (arXiv 2006.07709), section 3. Counts of games are at least 1. */
double bounds_two_worlds(uint64_t hits, uint64_t with, uint64_t alarms, uint64_t without,
                         double delta, double alpha);

/* One run with `canaries` records, each in or out by a fair lot, and `guesses` guesses about them
 * of which `right` are right. Source: Steinke, Nasr and Jagielski 2023 (arXiv 2305.08846), theorem
 * 5.2: a mechanism of epsilon has so many right with a chance of at most
 *   P(X >= right) + 2 canaries delta max over i in 1 .. right of P(right > X >= right - i) / i,
 *   X binomial with `guesses` trials of chance e^epsilon / (1 + e^epsilon)
 * guesses is 1 .. canaries, right at most guesses. */
double bounds_one_run(uint64_t canaries, uint64_t guesses, uint64_t right, double delta,
                      double alpha);
/* That chance, at most 1. epsilon is at least 0. */
double bounds_one_run_chance(uint64_t canaries, uint64_t guesses, uint64_t right, double epsilon,
                             double delta);

/* One of `secrets` equally likely secrets, guessed right in `right` of `games` games. A guess is
 * right with a chance of at most e^epsilon / secrets + delta, so
 *   ln(secrets (low(right) - delta))
 * which is at most ln(secrets). games and secrets are at least 1. */
double bounds_guess(uint64_t right, uint64_t games, uint64_t secrets, double delta, double alpha);

/* log2(secrets) - log2(rank) bits, for the secret's rank from 1, the likeliest. Where nothing leaks
 * the mean is near 1.4427, and P(x bits or more) = 2^-x. Source: Carlini et al. 2019 (arXiv
 * 1802.08232), section 4. rank is 1 .. secrets. */
double bounds_exposure(uint64_t rank, uint64_t secrets);

#endif
