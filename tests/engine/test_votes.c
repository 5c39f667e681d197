// SPDX-License-Identifier: Apache-2.0
// Tests votes and sums through the public API: engine/run/loop/votes.c. It fails if answers cost
// more than was asked for, if a query gets another share than its parts, if a refused request
// changes something, or if equal seeds give other answers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/cuttle.h"

#include <math.h>
#include <string.h>

static const uint64_t SEED = 5;

static void shares_of_epsilon(void **state) {
	(void)state;
	static const double epsilons[] = {0.1, 1, 3, 10, 100};
	for (int i = 0; i < 5; i++) {
		struct cuttle_query q[2] = {{.square = 1, .times = 1, .parts = 8},
		                            {.square = 65536, .times = 2, .parts = 2}};
		double rho, epsilon, alone[2], ignored;
		assert_int_equal(cuttle_queries_solve(q, 2, epsilons[i], 1e-6, NULL), CUTTLE_OK);
		assert_int_equal(cuttle_queries_cost(q, 2, 1e-6, &rho, &epsilon, NULL), CUTTLE_OK);
		assert_true(epsilon <= epsilons[i] && epsilon > epsilons[i] * (1 - 1e-6));
		for (int k = 0; k < 2; k++)
			assert_int_equal(
			    cuttle_queries_cost(&q[k], 1, 1e-6, &alone[k], &ignored, NULL),
			    CUTTLE_OK);
		assert_float_equal(alone[0] / rho, 0.8, 1e-6);
		assert_float_equal(alone[1] / rho, 0.2, 1e-6);
	}
}

static void vectors(void **state) {
	(void)state;
	static const double sigma[] = {14.327891, 5.197771, 3.285973, 1.802297},
	                    epsilons[] = {1, 3, 5, 10};
	for (int i = 0; i < 4; i++) {
		struct cuttle_query q = {.square = 1, .times = 10, .parts = 1};
		assert_int_equal(cuttle_queries_solve(&q, 1, epsilons[i], 1e-6, NULL), CUTTLE_OK);
		assert_float_equal(sqrt((double)q.num / q.den), sigma[i], 5e-7);
	}
}

static void refusals(void **state) {
	(void)state;
	struct cuttle_error error;
	struct cuttle_query q = {.square = 1, .times = 1, .parts = 1};
	double rho = 7, epsilon = 7;
	static const double wrong[] = {0, -1, NAN, INFINITY, 1e-5};
	for (int i = 0; i < 5; i++)
		assert_int_equal(cuttle_queries_solve(&q, 1, wrong[i], 1e-6, &error), CUTTLE_USAGE);
	static const double deltas[] = {0, 1, NAN, -1};
	for (int i = 0; i < 4; i++)
		assert_int_equal(cuttle_queries_solve(&q, 1, 1, deltas[i], &error), CUTTLE_USAGE);
	assert_int_equal(cuttle_queries_cost(&q, 1, 1e-6, &rho, &epsilon, &error), CUTTLE_USAGE);
	q.times = 0;
	assert_int_equal(cuttle_queries_solve(&q, 1, 1, 1e-6, &error), CUTTLE_USAGE);
	assert_true(rho == 7 && epsilon == 7 && q.num == 0);
}

/* Answers of one seed are equal, other numbers of answers are not; a null record is nothing. */
static void answers(void **state) {
	(void)state;
	struct cuttle_query q = {.square = 1, .times = 1, .parts = 1}, sum = q;
	sum.square = 100;
	static const uint32_t votes[4] = {0, 2, CUTTLE_NO_VOTE, 2};
	static const int32_t values[4] = {5, -50, 0, 11};
	int64_t noise[3], noisy[3], again[3], one, other;
	assert_int_equal(cuttle_queries_solve(&q, 1, 1, 1e-6, NULL), CUTTLE_OK);
	assert_int_equal(cuttle_queries_solve(&sum, 1, 1, 1e-6, NULL), CUTTLE_OK);
	assert_int_equal(cuttle_votes_count(&q, NULL, 0, 1, 3, &SEED, 0, noise, NULL), CUTTLE_OK);
	assert_int_equal(cuttle_votes_count(&q, votes, 4, 1, 3, &SEED, 0, noisy, NULL), CUTTLE_OK);
	assert_int_equal(cuttle_votes_count(&q, votes, 4, 1, 3, &SEED, 1, again, NULL), CUTTLE_OK);
	assert_true(noisy[0] == noise[0] + 1 && noisy[1] == noise[1] && noisy[2] == noise[2] + 2);
	assert_true(memcmp(noisy, again, sizeof noisy) != 0);
	assert_int_equal(cuttle_votes_count(&q, votes, 4, 1, 3, NULL, 0, again, NULL), CUTTLE_OK);
	assert_true(memcmp(noisy, again, sizeof noisy) != 0);
	assert_int_equal(cuttle_votes_sum(&sum, values, 4, 10, &SEED, 2, &one, NULL), CUTTLE_OK);
	assert_int_equal(cuttle_votes_sum(&sum, NULL, 0, 10, &SEED, 2, &other, NULL), CUTTLE_OK);
	assert_true(one == other + 5 - 10 + 0 + 10);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(shares_of_epsilon),
	    cmocka_unit_test(vectors),
	    cmocka_unit_test(refusals),
	    cmocka_unit_test(answers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
