// SPDX-License-Identifier: Apache-2.0
// Tests measure/disclosure.c. It fails if a run of several records counts as a record's own, or one
// is counted twice; if the chance of a count is not that of all groupings; if data in which nothing
// was learnt raise an alarm more often than p says; if copies raise none; if a guess is taken by
// its sign.
#include "measure/disclosure.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void own_runs_are_counted(void **state) {
	(void)state;
	// ann has a cold; bob has a cold; ann has ann has; one word; nothing
	static const uint64_t pool[] = {1, 2, 3, 4, 5, 2, 3, 4, 1, 2, 1, 2, 9};
	static const size_t pool_first[] = {0, 4, 8, 12, 13, 13};
	// so ann has flu and has ann; bob has a; a cold bob has a; 9
	static const uint64_t texts[] = {6, 1, 2, 7, 8, 2, 1, 5, 2, 3, 3, 4, 5, 2, 3, 9};
	static const size_t texts_first[] = {0, 7, 10, 15, 16};
	const struct disclosure_words of = {pool, pool_first, 5}, written = {texts, texts_first, 4};
	static const uint32_t wanted[3][5] = {{0, 1, 0, 1, 0}, {0, 1, 1, 0, 0}, {0, 1, 0, 0, 0}};
	for (size_t n = 1; n <= 3; n++) {
		uint32_t found[5] = {7, 7, 7, 7, 7};
		assert_true(disclosure_count(&written, &of, n, found));
		for (size_t i = 0; i < 5; i++) assert_int_equal(found[i], wanted[n - 1][i]);
	}
}

static void assert_near(double value, double wanted, double most) {
	if (!(fabs(value - wanted) <= most)) fail_msg("%.17g for %.17g", value, wanted);
}

/* Counts all groupings of used + held_out records in which at least `seen` of the first `drawn` are
 * used. */
static double chance_by_hand(unsigned used, unsigned held_out, unsigned drawn, unsigned seen) {
	unsigned all = 0, so = 0;
	for (unsigned group = 0; group < 1u << (used + held_out); group++) {
		if (__builtin_popcount(group) != (int)used) continue;
		all++;
		so += __builtin_popcount(group & ((1u << drawn) - 1)) >= (int)seen;
	}
	return (double)so / all;
}

static void chances_are_those_of_all_groupings(void **state) {
	(void)state;
	for (unsigned used = 1; used < 7; used++)
		for (unsigned held_out = 1; held_out < 7; held_out++)
			for (unsigned drawn = 0; drawn <= used + held_out; drawn++)
				for (unsigned seen = 0; seen <= drawn && seen <= used; seen++)
					assert_near(disclosure_chance(used, held_out, drawn, seen),
					            chance_by_hand(used, held_out, drawn, seen),
					            1e-11);
	assert_near(disclosure_chance(500, 500, 20, 20) / 7.87e-7, 1, 0.01);
}

enum { SETS = 1000, RECORDS = 60, WORDS = 12, TEXTS = 20, LENGTH = 3 };

static uint64_t next_word(uint64_t *state, uint64_t among) {
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 33) % among;
}

/* Makes records of rare and common words, and texts: each a copy of a used record, or words of its
 * own. */
static void make_set(uint64_t *state, bool copies, uint64_t *records, uint64_t *texts) {
	for (size_t i = 0; i < (size_t)RECORDS * WORDS; i++)
		records[i] = next_word(state, next_word(state, 3) ? 8 : 400);
	for (size_t t = 0; t < TEXTS; t++) {
		const size_t from = next_word(state, RECORDS / 2) * WORDS;
		for (size_t i = 0; i < WORDS; i++) {
			const uint64_t other = next_word(state, next_word(state, 3) ? 8 : 400);
			texts[t * WORDS + i] = copies ? records[from + i] : other;
		}
	}
}

static void alarms_are_as_rare_as_p_says(void **state) {
	(void)state;
	static uint64_t records[RECORDS * WORDS], texts[TEXTS * WORDS];
	size_t first[RECORDS + 1], below[2][2] = {{0}};
	uint64_t random = 1;
	for (size_t i = 0; i <= RECORDS; i++) first[i] = i * WORDS;
	for (size_t copied = 0; copied < 2; copied++)
		for (size_t set = 0; set < SETS; set++) {
			uint32_t found[RECORDS];
			size_t used = 0, held_out = 0;
			make_set(&random, copied > 0, records, texts);
			const struct disclosure_words pool = {records, first, RECORDS},
			                              written = {texts, first, TEXTS};
			assert_true(disclosure_count(&written, &pool, copied ? LENGTH : 1, found));
			for (size_t i = 0; i < RECORDS / 2; i++) used += found[i] > 0;
			for (size_t i = RECORDS / 2; i < RECORDS; i++) held_out += found[i] > 0;
			const double p =
			    disclosure_chance(RECORDS / 2, RECORDS / 2, used + held_out, used);
			below[copied][0] += p <= 0.05;
			below[copied][1] += p <= 0.01;
		}
	print_message("of %d sets: %zu below .05, %zu below .01; with copies %zu, %zu\n", SETS,
	              below[0][0], below[0][1], below[1][0], below[1][1]);
	// An exact p of counts is below .05 somewhat less often than that. 3 standard deviations.
	assert_in_range(below[0][0], 10, 70);
	assert_in_range(below[0][1], 0, 19);
	assert_in_range(below[1][1], 990, SETS);
}

static void guesses_go_by_size_not_by_sign(void **state) {
	(void)state;
	size_t right;
	// All used ones are 1 to 4, all others 0.
	static const double clear[] = {1, 2, 3, 4, 0, 0, 0};
	for (size_t guesses = 1; guesses <= 3; guesses++) {
		assert_true(disclosure_guess(clear, 4, 3, guesses, 1, &right));
		assert_int_equal(right, guesses);
	}
	// Large ones are held out: the surest guesses are wrong, whatever the pairs are.
	static const double wrong[] = {1, 1, 1, 1, 9, 0, 0, 9};
	assert_true(disclosure_guess(wrong, 4, 4, 2, 1, &right));
	assert_int_equal(right, 0);
	assert_true(disclosure_guess(wrong, 4, 4, 4, 1, &right));
	assert_int_equal(right, 2);
	// Nothing to go by is no guess.
	static const double equal[] = {5, 5, 5, 5};
	assert_true(disclosure_guess(equal, 2, 2, 2, 1, &right));
	assert_int_equal(right, 0);
	// By chance half are right.
	double scores[2000];
	uint64_t random = 7;
	for (size_t i = 0; i < 2000; i++) scores[i] = (double)next_word(&random, 1 << 20);
	assert_true(disclosure_guess(scores, 1000, 1000, 1000, 1, &right));
	assert_in_range(right, 450, 550);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(own_runs_are_counted),
	    cmocka_unit_test(chances_are_those_of_all_groupings),
	    cmocka_unit_test(alarms_are_as_rare_as_p_says),
	    cmocka_unit_test(guesses_go_by_size_not_by_sign),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
