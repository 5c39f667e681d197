// SPDX-License-Identifier: Apache-2.0
// Tests dp/exact.c, the exact accountant. It is compared with closed forms, with brute force, with
// the best non-adaptive attack, and with vectors.
// It fails if a promised epsilon or delta is below what one of these reaches, or above it by more
// than the accountant's grid explains.
#include "tests/dp/test_dp_support.h"

#include <float.h>
#include <math.h>

#include "dp/exact.c" /* for its windows, which no caller can choose */
#include "dp/zcdp.h"

#define NONE ((double)NAN)

static double delta_of(double eta, uint32_t tokens, double epsilon, unsigned grid) {
	double delta = NONE;
	assert_int_equal(dp_exact_delta(eta, tokens, epsilon, grid, &delta), DP_OK);
	return delta;
}

static double epsilon_of(double eta, uint32_t tokens, double delta, unsigned grid) {
	double epsilon = NONE;
	assert_int_equal(dp_exact_epsilon(eta, tokens, delta, grid, &epsilon), DP_OK);
	return epsilon;
}

static double eta_of(double epsilon, double delta, uint32_t tokens, unsigned grid) {
	double eta = NONE;
	assert_int_equal(dp_exact_eta(epsilon, delta, tokens, grid, &eta), DP_OK);
	return eta;
}

/* The eta that zCDP allows. */
static double eta_zcdp(double epsilon, double delta, uint32_t tokens) {
	return sqrt(8 * dp_rho_of_epsilon(epsilon, delta) / tokens);
}

/* low <= got <= low (1 + part), to `digit`, the rounding of the vector itself. */
static void assert_above(double got, double low, double part, double digit) {
	if (!(got >= low - digit && got <= low * (1 + part) + digit))
		fail_msg("got %.12g, want %.12g and a part of %g more", got, low, part);
}

/* delta of one step, in closed form. Inside a cell dp/exact is above it by at most a part of
 * eta / grid. */
static double one_step(double eta, double epsilon) {
	const double root = -expm1((epsilon - eta) / 2);
	return epsilon >= eta ? 0 : epsilon <= -eta ? -expm1(epsilon) : root * root / -expm1(-eta);
}

static void a_single_step(void **state) {
	(void)state;
	static const double etas[] = {1e-90, 1e-6, 0.01, 0.5, 2, 8, 64};
	for (size_t i = 0; i < sizeof etas / sizeof *etas; i++)
		for (int j = 1; j < 64; j++) {
			const double epsilon = etas[i] * j / 64, want = one_step(etas[i], epsilon);
			assert_above(delta_of(etas[i], 1, epsilon, 64), want,
			             expm1(etas[i] / 64) + 1e-11, 1e-300);
			assert_true(delta_of(etas[i], 1, epsilon, 8) >= want);
		}
	assert_true(delta_of(0.5, 1, 0.5, 0) <= 2 * DBL_MIN);
	assert_true(delta_of(0.5, 1, 7, 0) == DBL_MIN);
}

/* The maximum over t on a grid, from the closed form of one step: a lower bound. */
static double brute(double eta, int tokens, double epsilon, int points) {
	if (tokens == 1) return one_step(eta, epsilon);
	double best = 0;
	for (int i = 0; i <= points; i++) {
		const double t = eta * i / points, p = expm1(t - eta) / expm1(-eta);
		const double v = p * brute(eta, tokens - 1, epsilon - t, points) +
		                 (1 - p) * brute(eta, tokens - 1, epsilon - t + eta, points);
		if (v > best) best = v;
	}
	return best;
}

static void two_and_three_steps(void **state) {
	(void)state;
	static const double etas[] = {0.05, 0.5, 3};
	for (size_t i = 0; i < sizeof etas / sizeof *etas; i++)
		for (double part = 0.1; part < 2; part += 0.37) {
			const double epsilon = part * etas[i], less = epsilon - etas[i] / 200;
			const double two = delta_of(etas[i], 2, epsilon, 512),
			             three = delta_of(etas[i], 3, epsilon, 512);
			assert_true(two >= brute(etas[i], 2, epsilon, 600) &&
			            two <= brute(etas[i], 2, less, 600));
			assert_true(three >= brute(etas[i], 3, epsilon, 120) &&
			            three <= brute(etas[i], 3, less, 120));
			assert_true(delta_of(etas[i], 2, epsilon, 8) >= two &&
			            delta_of(etas[i], 3, epsilon, 8) >= three);
		}
}

/* The best attack that does not adapt: T equal steps of randomised response at t. Its delta, or the
 * probability that its loss is above epsilon; the largest over t. */
enum measure { DELTA, PROBABILITY };
static double attack(double eta, uint32_t tokens, double epsilon, int points,
                     enum measure measure) {
	double best = 0;
	for (int i = 1; i < points; i++) {
		const double t = eta * i / points, p = expm1(t - eta) / expm1(-eta);
		double sum = 0;
		for (uint32_t low = 0; low <= tokens; low++) {
			const double loss = (tokens - low) * t + low * (t - eta);
			const double ways =
			    lgamma(tokens + 1.0) - lgamma(low + 1.0) - lgamma(tokens - low + 1.0);
			const double chance = exp(ways + (tokens - low) * log(p) + low * log1p(-p));
			if (loss > epsilon)
				sum += measure == DELTA ? -chance * expm1(epsilon - loss) : chance;
		}
		if (sum > best) best = sum;
	}
	return best;
}

static double non_adaptive(double eta, uint32_t tokens, double epsilon, int points) {
	return attack(eta, tokens, epsilon, points, DELTA);
}

/* The figures of dp/PRIVACY.md, "What delta means": B = 7, tau = 1.2, T = 500 at the eta that makes
 * delta 1e-6. */
static void delta_is_no_probability_of_loss(void **state) {
	(void)state;
	static const double epsilon[3] = {1, 3, 10}, times[3] = {21.6, 9.0, 4.2};
	for (int i = 0; i < test_cases(3); i++) {
		const double eta = eta_of(epsilon[i], 1e-6, 500, 0);
		const double ratio = attack(eta, 500, epsilon[i], 200, PROBABILITY) / 1e-6;
		if (fabs(ratio / times[i] - 1) > 0.02)
			fail_msg("P[Z > %g] is %.4g delta", epsilon[i], ratio);
		assert_true(non_adaptive(eta, 500, epsilon[i], 200) <= 1e-6);
	}
}

static void eight_steps_of_half(void **state) {
	(void)state;
	static const double epsilon[3] = {0.5, 1, 2}, delta[3] = {0.13314, 0.044555, 0.0013647},
	                    lower[3] = {0.13123, 0.043330, 0.0012922};
	for (int i = 0; i < 3; i++) {
		const double got = delta_of(0.5, 8, epsilon[i], 256);
		if (fabs(got / delta[i] - 1) > 4e-5)
			fail_msg("delta(%g) = %.9g, want %.9g", epsilon[i], got, delta[i]);
		if (fabs(non_adaptive(0.5, 8, epsilon[i], 4000) / lower[i] - 1) > 1e-4)
			fail_msg("non-adaptive at %g", epsilon[i]);
		assert_true(got > lower[i]);
	}
}

/* The answer is above the best non-adaptive attack, below zCDP, and lower with every finer grid. */
static void between_the_bounds(void **state) {
	(void)state;
	uint64_t seed = 21;
	for (int i = 0; i < test_cases(60); i++) {
		const uint32_t tokens = 1 + (uint32_t)test_below(&seed, 60);
		const double delta = exp2(test_between(&seed, -50, -2)),
		             eta = exp2(test_between(&seed, -6, 2)) / sqrt(tokens);
		const double rho = tokens * eta * eta / 8, zcdp = dp_epsilon_of_rho(rho, delta),
		             fine = epsilon_of(eta, tokens, delta, 32);
		const double coarse = epsilon_of(eta, tokens, delta, 16);
		assert_true(fine <= coarse && coarse <= zcdp);
		if (fine <= DBL_MIN) continue;
		const double reached = delta_of(eta, tokens, fine, 32);
		if (!(reached <= delta * (1 + 1e-6) && reached >= delta * (1 - 1e-6)))
			fail_msg("%.12g instead of %.12g", reached, delta);
		assert_true(non_adaptive(eta, tokens, fine, 100) <= delta * (1 + 1e-6));
		assert_true(delta_of(eta, tokens, fine * 0.9, 32) >=
		            non_adaptive(eta, tokens, fine * 0.9, 100));
		assert_true(delta_of(eta, tokens, zcdp, 32) <= delta);
	}
}

/* epsilon at the clip that zCDP gives for 1, 3, 5, 10, with delta = 1e-6. A second program's
 * values, of grid 128, rounded to five digits. */
static void a_second_program_s_table(void **state) {
	(void)state;
	static const double asked[4] = {1, 3, 5, 10},
	                    at500[4] = {0.92750, 2.79835, 4.67665, 9.39084};
	static const double lower500[4] = {0.92688, 2.79643, 4.67348, 9.38403};
	for (int i = 0; i < test_cases(4); i++) {
		const double eta = eta_zcdp(asked[i], 1e-6, 500),
		             epsilon = epsilon_of(eta, 500, 1e-6, 64);
		assert_above(epsilon, at500[i], 1.5e-4, 6e-6);
		assert_true(epsilon > lower500[i]);
		assert_above(epsilon_of(eta, 500, 1e-6, 32), at500[i], 6e-4, 6e-6);
	}
	assert_above(epsilon_of(eta_zcdp(1, 1e-6, 200), 200, 1e-6, 128), 0.92737, 0, 6e-6);
	if (!briefly()) {
		assert_above(epsilon_of(eta_zcdp(10, 1e-6, 200), 200, 1e-6, 0), 9.37687, 0, 6e-6);
		assert_above(epsilon_of(eta_zcdp(10, 1e-6, 900), 900, 1e-6, 32), 9.39451, 6e-4,
		             6e-6);
	}
	static const double eta200[4] = {0.03347673, 0.09165664, 0.14444690, 0.26188856};
	for (int i = 0; i < test_cases(4); i++) {
		const double eta = eta_of(asked[i], 1e-6, 200, 0);
		if (fabs(eta / eta200[i] - 1) > 5e-7)
			fail_msg("eta %.9g, want %.9g", eta, eta200[i]);
		assert_true(epsilon_of(eta, 200, 1e-6, 0) <= asked[i]);
	}
	static const double eta500[4] = {0.02116938, 0.05794113, 0.09128951, 0.16541393};
	for (int i = 0; i < test_cases(4); i++) {
		const double eta = eta_of(asked[i], 1e-6, 500, 32);
		if (!(eta < eta500[i] && eta > eta500[i] * (1 - 6e-4)))
			fail_msg("eta %.9g, want a little less than %.9g", eta, eta500[i]);
	}
}

/* The solved eta and token count are within delta; a millionth more of eta is not. */
static void there_and_back(void **state) {
	(void)state;
	uint64_t seed = 22;
	for (int i = 0; i < test_cases(20); i++) {
		const uint32_t tokens = 1 + (uint32_t)test_below(&seed, 30);
		const double epsilon = exp2(test_between(&seed, -5, 5)),
		             delta = exp2(test_between(&seed, -60, -1));
		const double eta = eta_of(epsilon, delta, tokens, 16),
		             default_eta = eta_of(epsilon, delta, tokens, 0);
		assert_true(delta_of(eta, tokens, epsilon, 16) <= delta);
		assert_true(delta_of(eta * (1 + 1e-6), tokens, epsilon, 16) > delta);
		assert_true(epsilon_of(eta, tokens, delta, 16) <= epsilon * (1 + 1e-12));
		uint32_t most;
		assert_int_equal(
		    dp_exact_tokens(default_eta * (1 - 1e-6), epsilon, delta, 0, &most), DP_OK);
		assert_int_equal(most, tokens);
		assert_int_equal(
		    dp_exact_tokens(default_eta * (1 + 1e-6), epsilon, delta, 0, &most), DP_OK);
		assert_int_equal(most, tokens - 1);
	}
}

/* One profile, read at many epsilons, says what dp_exact_delta says of each. */
static void one_profile(void **state) {
	(void)state;
	static const struct {
		double eta, low, high;
	} rows[] = {{0.1, 0.2, 3}, {0.1, DBL_MIN, 0.5}, {0.4, 2, 2}, {0.01, 0.5, 1e6}};
	for (volatile size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct dp_exact_profile *profile;
		assert_int_equal(
		    dp_exact_profile_new(rows[i].eta, 60, rows[i].low, rows[i].high, 16, &profile),
		    DP_OK);
		for (int n = 0; n <= 20; n++) {
			const double epsilon =
			                 rows[i].low + n / 20.0 * (rows[i].high - rows[i].low),
			             want = delta_of(rows[i].eta, 60, epsilon, 16),
			             have = dp_exact_profile_delta(profile, epsilon);
			if (!(have >= want * (1 - 1e-6) && have <= want * (1 + 1e-6)))
				fail_msg("row %zu, %g: %.12g, not %.12g", i, epsilon, have, want);
		}
		/* Beyond the window delta stays where it was, or no loss is so large. */
		const double end = dp_exact_profile_delta(profile, rows[i].high);
		assert_true(dp_exact_profile_delta(profile, rows[i].high + 0.3) <= end);
		assert_true(dp_exact_profile_delta(profile, 60 * rows[i].eta * 1.001) == DBL_MIN);
		assert_misuse((void)dp_exact_profile_delta(profile, rows[i].low * 0.99));
		dp_exact_profile_free(&profile);
		assert_null(profile);
		dp_exact_profile_free(&profile);
	}
	static const double bad[][3] = {{0.1, 0, 1}, {0.1, 2, 1}, {0.1, 1, INFINITY},
	                                {1e3, 1, 1}, {0, 1, 1},   {0.1, NONE, 1}};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct dp_exact_profile *profile = (struct dp_exact_profile *)bad;
		assert_int_equal(
		    dp_exact_profile_new(bad[i][0], 60, bad[i][1], bad[i][2], 16, &profile),
		    DP_BAD_PARAMETER);
		assert_null(profile);
	}
}

/* A window so narrow that most of the loss leaves it makes delta larger, never smaller. */
static void narrow_windows(void **state) {
	(void)state;
	static const double deviations_tried[] = {0.3, 1, 2, 3.5}, parts[] = {0.05, 0.15, 0.4};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		const double eta = 0.4, epsilon = parts[i] * 30 * eta;
		struct recursion wide, narrow;
		struct question question = {eta, epsilon, epsilon, 12, 30, 16};
		assert_int_equal(run_recursion(&wide, &question), DP_OK);
		double before = INFINITY;
		for (size_t d = 0; d < sizeof deviations_tried / sizeof *deviations_tried; d++) {
			question.deviations = deviations_tried[d];
			assert_int_equal(run_recursion(&narrow, &question), DP_OK);
			const double delta = read_delta(&narrow, epsilon),
			             true_delta = read_delta(&wide, epsilon);
			assert_true(delta >= true_delta && delta <= before);
			if (d == 0) assert_true(delta > 1.01 * true_delta);
			before = delta;
			free_recursion(&narrow);
		}
		free_recursion(&wide);
	}
}

static void more_costs_more(void **state) {
	(void)state;
	double before = 0;
	for (uint32_t tokens = 1; tokens <= 400; tokens += 57) {
		const double epsilon = epsilon_of(0.1, tokens, 1e-6, 32);
		assert_true(epsilon > before);
		before = epsilon;
	}
	before = 0;
	for (double eta = 0.01; eta < 3; eta *= 1.7) {
		const double epsilon = epsilon_of(eta, 20, 1e-6, 32);
		assert_true(epsilon > before);
		before = epsilon;
	}
	before = INFINITY;
	for (double delta = 1e-300; delta < 1; delta *= 1e23) {
		const double epsilon = epsilon_of(0.1, 20, delta, 32);
		assert_true(epsilon <= before);
		before = epsilon;
	}
	/* Above the total variation distance epsilon = 0 holds. */
	assert_true(epsilon_of(0.01, 4, 0.5, 32) == DBL_MIN);
}

/* The ends of the domain are answered, and soon. */
static void ends(void **state) {
	(void)state;
	static const double deltas[] = {1e-300, 1e-6, 0.5, 1 - 0x1p-53};
	for (size_t i = 0; i < sizeof deltas / sizeof *deltas; i++) {
		for (uint32_t tokens = 1; tokens <= 64; tokens *= 8)
			for (int power = -98; power < 2; power += power < -4 ? 12 : 1) {
				const double epsilon =
				    epsilon_of(pow(10, power) / sqrt(tokens), tokens, deltas[i], 8);
				assert_true(epsilon >= DBL_MIN && epsilon < 1e4);
			}
		assert_true(epsilon_of(sqrt(8 * DP_EXACT_RHO / 256), 256, deltas[i], 8) > 1);
	}
	assert_true(epsilon_of(0.001, DP_EXACT_TOKENS / 2, 1e-6, 0) <
	            dp_epsilon_of_rho(DP_EXACT_TOKENS / 2 * 1e-6 / 8, 1e-6));
	for (uint32_t tokens = 1; tokens <= DP_EXACT_TOKENS; tokens *= 2)
		assert_in_range(dp_exact_grid(tokens), 8, 128);
}

static void refusals(void **state) {
	(void)state;
	const double inf = (double)INFINITY, bad[] = {0, -1, inf, -inf, NONE, 1e-310};
	double answer = 17;
	uint32_t tokens = 17;
#define REFUSED(call) assert_int_equal(call, DP_BAD_PARAMETER)
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		REFUSED(dp_exact_delta(bad[i], 8, 1, 0, &answer));
		REFUSED(dp_exact_delta(0.1, 8, bad[i], 0, &answer));
		REFUSED(dp_exact_epsilon(bad[i], 8, 1e-6, 0, &answer));
		REFUSED(dp_exact_epsilon(0.1, 8, bad[i], 0, &answer));
		REFUSED(dp_exact_eta(bad[i], 1e-6, 8, 0, &answer));
		REFUSED(dp_exact_eta(1, bad[i], 8, 0, &answer));
		REFUSED(dp_exact_tokens(bad[i], 1, 1e-6, 0, &tokens));
		REFUSED(dp_exact_tokens(0.1, bad[i], 1e-6, 0, &tokens));
		REFUSED(dp_exact_tokens(0.1, 1, bad[i], 0, &tokens));
	}
	REFUSED(dp_exact_epsilon(0.1, 8, 1, 0, &answer));
	REFUSED(dp_exact_epsilon(0.1, 0, 1e-6, 0, &answer));
	REFUSED(dp_exact_epsilon(1e-4, DP_EXACT_TOKENS + 1, 1e-6, 0, &answer));
	REFUSED(dp_exact_epsilon(23, 8, 1e-6, 0, &answer));
	REFUSED(dp_exact_epsilon(0.1, 8, 1e-6, 7, &answer));
	REFUSED(dp_exact_epsilon(0.1, 8, 1e-6, 1025, &answer));
	REFUSED(dp_exact_eta(1e9, 1e-6, 8, 0, &answer));
	REFUSED(dp_exact_eta(680, 1e-6, 8, 0, &answer));
	REFUSED(dp_exact_tokens(0.0001, 10, 1e-6, 0, &tokens));
	REFUSED(dp_exact_tokens(0.1, 1e300, 1e-6, 0, &tokens));
	assert_true(answer == 17 && tokens == 17);
	assert_int_equal(dp_exact_tokens(3, 0.5, 1e-6, 0, &tokens), DP_OK);
	assert_int_equal(tokens, 0);
	assert_misuse((void)dp_exact_epsilon(0.1, 8, 1e-6, 0, NULL));
}

/* Readings that no caller can ask for: outside the window, and where the polygon is level. */
static void readings(void **state) {
	(void)state;
	double vertices[] = {0.5, nextafter(0.5, 0)};
	const struct recursion level = {.question = {.low = 0},
	                                .h = 0.1,
	                                .ratio = expm1(0.1),
	                                .vertex = vertices,
	                                .low = 0,
	                                .high = 1};
	assert_misuse((void)read_delta(&level, -0.2));
	assert_true(isinf(read_epsilon(&level, 0.4)));
	const double end = read_epsilon(&level, vertices[1]);
	assert_true(end >= 0.1 && end < 0.1 * (1 + 1e-12));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_single_step),
	    cmocka_unit_test(two_and_three_steps),
	    cmocka_unit_test(eight_steps_of_half),
	    cmocka_unit_test(delta_is_no_probability_of_loss),
	    cmocka_unit_test(between_the_bounds),
	    cmocka_unit_test(a_second_program_s_table),
	    cmocka_unit_test(there_and_back),
	    cmocka_unit_test(one_profile),
	    cmocka_unit_test(narrow_windows),
	    cmocka_unit_test(more_costs_more),
	    cmocka_unit_test(ends),
	    cmocka_unit_test(refusals),
	    cmocka_unit_test(readings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
