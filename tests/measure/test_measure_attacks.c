// SPDX-License-Identifier: Apache-2.0
// Tests measure/attacks.c: against counts by hand, and attacks that know nothing.
// It fails if a threshold is taken from the games that it is judged by, if ties help an attack, if
// MIN-K takes other tokens, or if a permutation test calls chance recitation.
#include "measure/attacks.h"
#include "measure/bounds.h"
#include "measure/stream.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static double uniform(struct stream *stream) {
	return (double)stream_below(stream, 1u << 30) / (1u << 30);
}

static void two_worlds(void **state) {
	(void)state;
	struct attacks_worlds judged;
	/* Apart by far: the threshold is the least score with the record in the first half. */
	const double with[] = {9, 8, 7, 6, 5, 9}, without[] = {1, 2, 3, 4, 2, 1};
	attacks_judge(with, without, 6, 0, &judged);
	assert_true(judged.threshold == 5);
	assert_true(judged.hits == 3 && judged.with == 3);
	assert_true(judged.alarms == 0 && judged.without == 3);
	/* The odd games alone are counted: here they say the opposite of the even ones. */
	const double turned[] = {9, 1, 9, 1, 9, 1}, other[] = {1, 9, 1, 9, 1, 9};
	attacks_judge(turned, other, 6, 0, &judged);
	assert_true(judged.threshold == 9);
	assert_true(judged.hits == 0 && judged.alarms == 3);

	/* Scores that mean nothing: a threshold chosen where it is judged would win above alpha. */
	enum { GAMES = 40, ROUNDS = 400 };
	struct stream stream = stream_of(3, 0);
	size_t won = 0;
	for (size_t round = 0; round < ROUNDS; round++) {
		double one[GAMES], two[GAMES];
		for (size_t i = 0; i < GAMES; i++) one[i] = uniform(&stream);
		for (size_t i = 0; i < GAMES; i++) two[i] = uniform(&stream);
		attacks_judge(one, two, GAMES, 0, &judged);
		won += bounds_two_worlds(judged.hits, judged.with, judged.alarms, judged.without, 0,
		                         .4) > 0;
	}
	/* In fact at most .4 / 2 + .4 / 2 in each direction, and far less with Clopper-Pearson. */
	assert_true(won < ROUNDS * 12 / 100);
}

static void guesses(void **state) {
	(void)state;
	const double scores[] = {3, -5, .5, -.1, 0, 2};
	const bool in[] = {true, false, false, true, true, true};
	assert_int_equal(attacks_guess(scores, in, 6, 0, 1), 1); /* -5 */
	assert_int_equal(attacks_guess(scores, in, 6, 0, 3), 3); /* and 3, 2 */
	assert_int_equal(attacks_guess(scores, in, 6, 0, 4), 3); /* .5 is wrong */
	assert_int_equal(attacks_guess(scores, in, 6, 0, 6), 3);
	assert_int_equal(attacks_guess(scores, in, 6, 0, 0), 0);
	assert_true(attacks_median(scores, 6) == .25);
	assert_true(attacks_median(scores, 5) == 0);
	assert_int_equal(attacks_guess(scores, in, 6, .25, 6), 3);
	assert_int_equal(attacks_guess(scores, in, 6, 1, 2), 2); /* -5 and 3 */
}

static void lowest(void **state) {
	(void)state;
	const double p[] = {-1, -9, -2, -4, -3, -8, -5, -7, -6, -10};
	assert_true(attacks_lowest(p, 10, .05) == -10);
	assert_true(attacks_lowest(p, 10, .2) == -9.5);
	assert_true(attacks_lowest(p, 10, .4) == -8.5);
	assert_true(attacks_lowest(p, 10, 1) == -5.5);
	assert_true(attacks_lowest(p, 1, .05) == -1);
}

static void ranks(void **state) {
	(void)state;
	const double scores[] = {5, 7, 5, (double)NAN, 5, 9};
	size_t before, ties;
	attacks_rank(scores, 6, 0, &before, &ties);
	assert_true(before == 2 && ties == 3);
	attacks_rank(scores, 6, 5, &before, &ties);
	assert_true(before == 0 && ties == 1);
	attacks_rank(scores, 6, 3, &before, &ties);
	assert_true(before == 5 && ties == 1);
	/* sum of log2 of 1 .. 4 is log2 24 */
	assert_true(fabs(attacks_chance_exposure(4) - (2 - log2(24) / 4)) < 1e-12);
	assert_true(fabs(attacks_chance_exposure(1000000) - 1 / log(2)) < 1e-4);
}

static void permutations(void **state) {
	(void)state;
	enum { TEXTS = 5, REFERENCES = 12, USED = 6, ROUNDS = 199, TRIALS = 100 };
	double overlap[TEXTS * REFERENCES];
	struct attacks_overlap found;
	struct stream stream = stream_of(8, 0);
	for (size_t i = 0; i < TEXTS * REFERENCES; i++)
		overlap[i] = i % REFERENCES < USED ? 10 + (double)(i % 3) : 1;
	assert_true(attacks_permute(overlap, TEXTS, REFERENCES, USED, ROUNDS, 1, &found));
	assert_true(found.held_out == 1 && found.used == 12);
	assert_true(found.difference == 11);
	/* 12 over 6 groupings are 924, one as good as the true one */
	assert_true(found.p <= .03);
	/* chance: p is uniform */
	size_t low = 0;
	for (size_t trial = 0; trial < TRIALS; trial++) {
		for (size_t i = 0; i < TEXTS * REFERENCES; i++) overlap[i] = uniform(&stream);
		assert_true(
		    attacks_permute(overlap, TEXTS, REFERENCES, USED, ROUNDS, trial, &found));
		low += found.p <= .1;
	}
	assert_true(low >= 2 && low <= 22);
	/* all equal: every grouping is as good */
	for (size_t i = 0; i < TEXTS * REFERENCES; i++) overlap[i] = 3;
	assert_true(attacks_permute(overlap, TEXTS, REFERENCES, USED, ROUNDS, 1, &found));
	assert_true(found.p == 1 && found.difference == 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(two_worlds), cmocka_unit_test(guesses),
	                                   cmocka_unit_test(lowest), cmocka_unit_test(ranks),
	                                   cmocka_unit_test(permutations)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
