// SPDX-License-Identifier: Apache-2.0
// Tests dp/account.c, the zCDP accountant and the budget solver. The vectors were computed with 50
// digits.
// It fails if a result is further from its vector than rounding allows, or is rounded to the
// unsafe side. It fails if the solver accepts a budget that makes no sense, or refuses one without
// a reason.
#include "tests/dp/test_dp_support.h"

#include <float.h>
#include <math.h>

#include "dp/account.h"
#include "dp/exact.h"
#include "dp/weights.h"
#include "dp/zcdp.h"

#define NONE ((double)NAN)

static void assert_near(double got, double want, double relative) {
	if (!(fabs(got - want) <= relative * fabs(want)))
		fail_msg("got %.17g, want %.17g", got, want);
}

/* Vectors have 12 digits: half a unit of the last is up to 5e-12 relative; 1e-11 covers it. */
static void epsilon_vectors(void **state) {
	(void)state;
	static const struct {
		double rho, delta, epsilon;
	} vectors[] = {
	    {0.01, 1e-5, 0.545725548274}, {0.01, 1e-6, 0.62169265456}, {0.01, 1e-9, 0.810174467868},
	    {0.1, 1e-5, 1.914238832},     {0.1, 1e-6, 2.14193892839},  {0.1, 1e-9, 2.71548188673},
	    {0.5, 1e-5, 4.72838698494},   {0.5, 1e-6, 5.22153444453},  {0.5, 1e-9, 6.47407002073},
	    {1, 1e-5, 7.07719669581},     {1, 1e-6, 7.76621662531},    {1, 1e-9, 9.52146367179},
	    {2, 1e-5, 10.7248241129},     {2, 1e-6, 11.6885962494},    {2, 1e-9, 14.1501475539},
	    {5, 1e-5, 19.0472595523},     {5, 1e-6, 20.551948814},     {5, 1e-9, 24.4059875576},
	};
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
		assert_near(dp_epsilon_of_rho(vectors[i].rho, vectors[i].delta), vectors[i].epsilon,
		            1e-11);
	/* More digits, from the same script: the answer is never below the true value and at most
	 * 1e-12 above it. */
	static const struct {
		double rho, delta;
		long double epsilon; /* more digits than a double has, so that rounding to nearest
		                        is seen */
	} exact[] = {
	    {1e-08, 1e-06, 0.0003455881788010125743L},
	    {1e-08, 1e-12, 0.0008004760735807093034L},
	    {0.001, 0.001, 0.09036205113813309703L},
	    {0.001, 1e-06, 0.1828953771900762337L},
	    {0.001, 1e-12, 0.2951127971495085161L},
	    {0.0243559703595, 0.001, 0.5951407962902066583L},
	    {0.0243559703595, 1e-06, 0.9999999999991563985L},
	    {0.0243559703595, 1e-12, 1.526976110460947158L},
	    {0.185069840653, 0.001, 1.949027131129404471L},
	    {0.185069840653, 1e-06, 2.999999999996416341L},
	    {0.185069840653, 1e-12, 4.412718749312272635L},
	    {0.463064990139, 0.001, 3.375515455511558123L},
	    {0.463064990139, 1e-06, 5.000000000002252969L},
	    {0.463064990139, 1e-12, 7.209289514942321279L},
	    {1.53927876387, 0.001, 7.11454795423623528L},
	    {1.53927876387, 1e-06, 10.00000000001258268L},
	    {1.53927876387, 1e-12, 13.9739287840756968L},
	    {30.0, 0.001, 56.8364968697105238L},
	    {30.0, 1e-06, 69.04071390356286371L},
	    {30.0, 1e-12, 86.16306376332620604L},
	    {10000.0, 0.001, 10520.99937468230857L},
	    {10000.0, 1e-06, 10739.07315656385353L},
	    {10000.0, 1e-12, 11047.33236772647104L},
	};
	for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
		double got = dp_epsilon_of_rho(exact[i].rho, exact[i].delta);
		assert_near(got, (double)exact[i].epsilon, 1e-12);
		assert_true((long double)got >= exact[i].epsilon);
	}
}

static void rho_vectors(void **state) {
	(void)state;
	static const struct {
		double delta, epsilon, rho;
	} vectors[] = {
	    {1e-6, 1, 0.0243559703595}, {1e-6, 3, 0.185069840653},  {1e-6, 5, 0.463064990139},
	    {1e-6, 10, 1.53927876387},  {1e-5, 1, 0.0305565951976}, {1e-5, 3, 0.224249168246},
	    {1e-5, 5, 0.550973474939},  {1e-5, 10, 1.78269561633},
	};
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
		double rho = dp_rho_of_epsilon(vectors[i].epsilon, vectors[i].delta);
		assert_near(rho, vectors[i].rho, 1e-11);
		assert_near(dp_epsilon_of_rho(rho, vectors[i].delta), vectors[i].epsilon, 1e-12);
		assert_near(dp_delta_of_rho(rho, vectors[i].epsilon), vectors[i].delta, 1e-11);
		assert_true(dp_delta_of_rho(rho * (1 + 1e-11), vectors[i].epsilon) >
		            vectors[i].delta);
	}
}

static void delta_vectors(void **state) {
	(void)state;
	assert_near(dp_delta_of_rho(0.1, 1), 0.00893324577181836352, 1e-12);
	assert_near(dp_delta_of_rho(1, 5), 0.002612034506620487, 1e-12);
	assert_near(dp_delta_of_rho(1.5, 10), 6.43304291899521748e-7, 1e-12);
	assert_true(dp_delta_of_rho(1e300, 1) == 1.0);
	assert_true(dp_delta_of_rho(1e-5, 1e5) == DBL_MIN);
}

static void bun_steinke(void **state) {
	(void)state;
	assert_near(dp_epsilon_bun_steinke(1, 1e-6), 1 + 2 * sqrt(log(1e6)), 1e-14);
	for (double rho = 1e-4; rho < 100; rho *= 3)
		assert_true(dp_epsilon_bun_steinke(rho, 1e-6) > dp_epsilon_of_rho(rho, 1e-6));
}

/* T = 500, delta = 1e-6, B = 7: the paper's Table 12 is the last row, rounded to two digits. */
static void clip_vectors(void **state) {
	(void)state;
	static const double epsilon[4] = {1, 3, 5, 10}, temperature[3] = {1.0, 1.1, 1.2};
	static const double clip[3][4] = {{0.0690924756429346732, 0.190456527239332732,
	                                   0.301265228772209152, 0.549271005713826833},
	                                  {0.0760017232072281467, 0.209502179963266022,
	                                   0.331391751649430094, 0.604198106285209565},
	                                  {0.0829109707715216048, 0.22854783268719927,
	                                   0.361518274526650969, 0.659125206856592175}};
	static const int table12[4] = {8, 23, 36, 66};
	for (int t = 0; t < 3; t++)
		for (int e = 0; e < 4; e++) {
			struct dp_budget b = {epsilon[e],     1e-6, NONE, NONE,
			                      temperature[t], 7,    500,  .accountant = DP_ZCDP};
			assert_int_equal(dp_budget_solve(&b, DP_CLIP, NULL), DP_OK);
			assert_near(b.clip, clip[t][e], 1e-12);
			assert_true(b.clip <= clip[t][e]);
			if (t == 2) assert_int_equal(lrint(100 * b.clip), table12[e]);
			assert_true(dp_rho_of_clip(b.clip, 7, temperature[t], 500) <= b.rho);
		}
}

/* F = 12: Chat, rho and epsilon of the integers. dp/account adds eta's factor 1 + 1e-9, so its rho
 * may be 2e-9 larger, never smaller. */
static void engine_vectors(void **state) {
	(void)state;
	static const struct {
		double tau, epsilon;
		int32_t clip_fixed;
		double rho, reported;
	} v[] = {
	    {1, 1, 283, 0.0243554918, 0.99998948},   {1, 3, 780, 0.1850176831, 2.9995344},
	    {1, 5, 1233, 0.4623279888, 4.9955084},   {1, 10, 2249, 1.5381650657, 9.9957161},
	    {1.1, 1, 311, 0.0243085716, 0.9989575},  {1.1, 3, 858, 0.1850176831, 2.9995344},
	    {1.1, 5, 1357, 0.4628053361, 4.9984179}, {1.1, 10, 2474, 1.5382894197, 9.9961945},
	    {1.2, 1, 339, 0.0242695060, 0.9980976},  {1.2, 3, 936, 0.1850176831, 2.9995344},
	    {1.2, 5, 1480, 0.4625779972, 4.9970324}, {1.2, 10, 2699, 1.5383930518, 9.9965931},
	};
	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		struct dp_integers n = {.batch = 7, .tokens = 500};
		assert_int_equal(
		    dp_temperature_ratio(v[i].tau, &n.temperature_num, &n.temperature_den), DP_OK);
		assert_int_equal(dp_calibrate(&n, v[i].epsilon, 1e-6, NULL), DP_OK);
		assert_int_equal(n.fraction_bits, 12);
		assert_int_equal(n.clip_fixed, v[i].clip_fixed);
		double rho = dp_rho_of_clip(ldexp(n.clip_fixed, -12), 7, v[i].tau, 500),
		       reported = dp_guarantee_rho(&n);
		assert_near(rho, v[i].rho, 5e-9 * 0.5); /* the vector's own last digit */
		assert_true(reported > rho && reported < rho * (1 + 2.1e-9));
		assert_near(dp_guarantee_epsilon(&n, 1e-6), v[i].reported, 5e-8);
		assert_true(dp_guarantee_epsilon(&n, 1e-6) <= v[i].epsilon);
		n.clip_fixed++;
		assert_true(dp_guarantee_epsilon(&n, 1e-6) > v[i].epsilon);
	}
}

/* A budget that pays for Chat exactly, but not for the 1e-9 in the guarantee, gets Chat - 1. The
 * guarantee is never above what was asked. */
static void calibration_at_the_edge(void **state) {
	(void)state;
	for (int32_t clip = 2; clip < 3000; clip += 37) {
		struct dp_integers n = {
		    .batch = 7, .tokens = 200, .temperature_num = 6, .temperature_den = 5};
		double epsilon =
		    dp_epsilon_of_rho(dp_rho_of_clip(ldexp(clip, -12), 7, 1.2, 200), 1e-6) *
		    (1 + 1e-11);
		assert_int_equal(dp_calibrate(&n, epsilon, 1e-6, NULL), DP_OK);
		assert_int_equal(n.clip_fixed, clip - 1);
		assert_true(dp_guarantee_epsilon(&n, 1e-6) <= epsilon);
	}
}

/* C = B = tau = 1: T tokens cost T/2. */
static void tokens_round_down(void **state) {
	(void)state;
	for (uint32_t tokens = 2; tokens < 1000; tokens++) {
		struct dp_budget less = {NONE, NONE, nextafter(tokens / 2.0, 0), 1, 1,
		                         1,    0,    .accountant = DP_ZCDP};
		struct dp_budget more = {NONE, NONE, nextafter(tokens / 2.0, 1e9), 1, 1,
		                         1,    0,    .accountant = DP_ZCDP};
		assert_int_equal(dp_budget_solve(&less, DP_TOKENS, NULL), DP_OK);
		assert_int_equal(less.tokens, tokens - 1);
		assert_int_equal(dp_budget_solve(&more, DP_TOKENS, NULL), DP_OK);
		assert_int_equal(more.tokens, tokens);
	}
}

static void round_trips(void **state) {
	(void)state;
	uint64_t seed = 11;
	for (int i = 0; i < 2000; i++) {
		double clip = exp2(test_between(&seed, -10, 4)), tau = test_between(&seed, 0.3f, 3),
		       delta = exp2(test_between(&seed, -60, -1));
		uint32_t batch = 1 + (uint32_t)test_below(&seed, 200),
		         tokens = 1 + (uint32_t)test_below(&seed, 4000);
		struct dp_budget b = {NONE, delta, NONE,   clip,
		                      tau,  batch, tokens, .accountant = DP_ZCDP};
		assert_int_equal(dp_budget_solve(&b, DP_EPSILON, NULL), DP_OK);
		double rho = b.rho;
		struct dp_budget c = {b.epsilon, delta, NONE,   NONE,
		                      tau,       batch, tokens, .accountant = DP_ZCDP};
		assert_int_equal(dp_budget_solve(&c, DP_CLIP, NULL), DP_OK);
		if (b.epsilon > 1e-3) assert_near(c.clip, clip, 1e-9);
		struct dp_budget t = {NONE, NONE, rho, clip, tau, batch, 0, .accountant = DP_ZCDP},
		                 n = {NONE, NONE, rho, clip, tau, 0, tokens, .accountant = DP_ZCDP};
		assert_int_equal(dp_budget_solve(&t, DP_TOKENS, NULL), DP_OK);
		assert_int_equal(t.tokens, tokens);
		assert_int_equal(dp_budget_solve(&n, DP_BATCH, NULL), DP_OK);
		assert_in_range(n.batch, batch,
		                batch +
		                    1); /* up: rho was rounded up, so batch itself nearly always */
		assert_true(dp_rho_of_clip(clip, n.batch, tau, tokens) <= rho || n.batch == batch);
		struct dp_budget d = {b.epsilon, NONE, rho, NONE,
		                      NONE,      0,    0,   .accountant = DP_ZCDP};
		if (b.epsilon > 1e-3) {
			assert_int_equal(dp_budget_solve(&d, DP_DELTA, NULL), DP_OK);
			assert_near(d.delta, delta, 1e-9);
		}
	}
}

static void rho_from_either_side(void **state) {
	(void)state;
	struct dp_budget up = {NONE, NONE, NONE, 0.5, 1, 7, 500, .accountant = DP_ZCDP},
	                 down = {3, 1e-6, NONE, NONE, NONE, 0, 0, .accountant = DP_ZCDP};
	assert_int_equal(dp_budget_solve(&up, DP_RHO, NULL), DP_OK);
	assert_near(up.rho, 500 * 0.25 / 98, 1e-15);
	assert_int_equal(dp_budget_solve(&down, DP_RHO, NULL), DP_OK);
	assert_true(dp_rho_of_epsilon(3, 1e-6) == down.rho);
}

static void refuses(struct dp_budget b, enum dp_unknown unknown, const char *field) {
	const struct dp_budget before = b;
	const char *reason = NULL;
	assert_int_equal(dp_budget_solve(&b, unknown, &reason), DP_BAD_PARAMETER);
	assert_non_null(reason);
	if (strncmp(reason, field, strlen(field)) != 0)
		fail_msg("\"%s\" does not begin with \"%s\"", reason, field);
	assert_memory_equal(&b, &before, sizeof b);
}

static void refusals(void **state) {
	(void)state;
	const double inf = (double)INFINITY;
	refuses((struct dp_budget){NONE, 1e-6, NONE, NONE, 1, 7, 500, .accountant = DP_ZCDP},
	        DP_CLIP, "epsilon is missing");
	refuses((struct dp_budget){3, NONE, NONE, NONE, 1, 7, 500, .accountant = DP_ZCDP}, DP_CLIP,
	        "delta is missing");
	refuses((struct dp_budget){3, 1e-6, NONE, NONE, NONE, 7, 500, .accountant = DP_ZCDP},
	        DP_CLIP, "temperature is missing");
	refuses((struct dp_budget){3, 1e-6, NONE, NONE, 1, 0, 500, .accountant = DP_ZCDP}, DP_CLIP,
	        "batch is missing");
	refuses((struct dp_budget){3, 1e-6, NONE, NONE, 1, 7, 0, .accountant = DP_ZCDP}, DP_CLIP,
	        "tokens is missing");
	refuses((struct dp_budget){3, 1e-6, 1, NONE, 1, 7, 500, .accountant = DP_ZCDP}, DP_CLIP,
	        "rho and epsilon");
	refuses((struct dp_budget){3, 1e-6, NONE, NONE, 1, 7, 0, .accountant = DP_ZCDP}, DP_TOKENS,
	        "clip is missing");
	refuses((struct dp_budget){3, 1e-6, NONE, NONE, 1, 0, 7, .accountant = DP_ZCDP}, DP_BATCH,
	        "clip is missing");
	refuses((struct dp_budget){NONE, 1e-6, NONE, NONE, 1, 7, 500, .accountant = DP_ZCDP},
	        DP_EPSILON, "clip is missing");
	refuses((struct dp_budget){NONE, NONE, NONE, 1, 1, 7, 500, .accountant = DP_ZCDP},
	        DP_EPSILON, "delta is missing");
	refuses((struct dp_budget){NONE, 1e-6, 1, 1, 1, 7, 500, .accountant = DP_ZCDP}, DP_EPSILON,
	        "rho and clip");
	refuses((struct dp_budget){NONE, NONE, NONE, 1, 1, 7, 500, .accountant = DP_ZCDP}, DP_DELTA,
	        "epsilon is missing");
	refuses((struct dp_budget){NONE, NONE, NONE, NONE, 1, 7, 500, .accountant = DP_ZCDP},
	        DP_RHO, "clip is missing");
	refuses((struct dp_budget){3, NONE, NONE, NONE, 1, 7, 500, .accountant = DP_ZCDP}, DP_RHO,
	        "delta is missing");
	refuses((struct dp_budget){3, 1e-6, NONE, 1, 1, 7, 500, .accountant = DP_ZCDP}, DP_RHO,
	        "epsilon and clip");
	const double bad[] = {0, -1, inf, -inf, 1e-310, -0.0};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		refuses(
		    (struct dp_budget){bad[i], 1e-6, NONE, NONE, 1, 7, 500, .accountant = DP_ZCDP},
		    DP_CLIP, "epsilon");
		refuses((struct dp_budget){3, bad[i], NONE, NONE, 1, 7, 500, .accountant = DP_ZCDP},
		        DP_CLIP, "delta");
		refuses(
		    (struct dp_budget){NONE, NONE, bad[i], NONE, 1, 7, 500, .accountant = DP_ZCDP},
		    DP_CLIP, "rho");
		refuses(
		    (struct dp_budget){NONE, 1e-6, NONE, bad[i], 1, 7, 500, .accountant = DP_ZCDP},
		    DP_EPSILON, "clip");
		refuses(
		    (struct dp_budget){3, 1e-6, NONE, NONE, bad[i], 7, 500, .accountant = DP_ZCDP},
		    DP_CLIP, "temperature");
	}
	refuses((struct dp_budget){3, 1, NONE, NONE, 1, 7, 500, .accountant = DP_ZCDP}, DP_CLIP,
	        "delta");
	refuses((struct dp_budget){NONE, 1e-6, NONE, 1e300, 1, 7, 500, .accountant = DP_ZCDP},
	        DP_EPSILON, "rho would be");
	refuses((struct dp_budget){NONE, 1e-6, NONE, 1e-300, 1, 7, 500, .accountant = DP_ZCDP},
	        DP_EPSILON, "rho would be");
	refuses((struct dp_budget){1e-3, 1e-6, NONE, 1e9, 1, 7, 0, .accountant = DP_ZCDP},
	        DP_TOKENS, "tokens would be 0");
	refuses((struct dp_budget){10, 1e-6, NONE, 1e-9, 1, 7, 0, .accountant = DP_ZCDP}, DP_TOKENS,
	        "tokens would be out");
	refuses((struct dp_budget){1e-3, 1e-6, NONE, 1e12, 1, 0, 9, .accountant = DP_ZCDP},
	        DP_BATCH, "batch would be out");
	refuses((struct dp_budget){1, NONE, 1e6, NONE, 1, 0, 9, .accountant = DP_ZCDP}, DP_DELTA,
	        "delta would be 1");
}

/* Any pair of doubles from 1e-300 to 1e300 gets an answer on the safe side, soon. */
static void extremes(void **state) {
	(void)state;
	static const double deltas[] = {DBL_MIN, 1e-100, 1e-6, 0.5, 1 - 0x1p-53};
	for (size_t d = 0; d < sizeof deltas / sizeof *deltas; d++) {
		double last_rho = 0, last_epsilon = 0;
		for (int power = -300; power <= 300; power += 5) {
			double x = pow(10, power), rho = dp_rho_of_epsilon(x, deltas[d]),
			       epsilon = dp_epsilon_of_rho(x, deltas[d]);
			assert_true(rho >= last_rho && isfinite(rho));
			assert_true(epsilon >= last_epsilon && isfinite(epsilon) &&
			            epsilon >= DBL_MIN);
			/* beyond 1e10 a unit of the last place of epsilon moves delta by more than
			 * this */
			if (isnormal(rho) && power <= 10)
				assert_true(dp_delta_of_rho(rho, x) <=
				            deltas[d] * (1 + 1e-9) + 1e-15);
			last_rho = rho;
			last_epsilon = epsilon;
			struct dp_budget b = {x, deltas[d], NONE, NONE,
			                      1, 7,         500,  .accountant = DP_ZCDP};
			enum dp_status status = dp_budget_solve(&b, DP_CLIP, NULL);
			assert_true(status == DP_OK || status == DP_BAD_PARAMETER);
		}
	}
}

static bool weights_hold(const struct dp_integers *n) {
	return dp_weights_bits(n->batch, n->clip_fixed, n->fraction_bits, n->temperature_num,
	                       n->temperature_den, n->gain) > 0;
}

/* The integers of a real clip, where the weights hold them. */
static bool holds(struct dp_integers n, double clip) {
	if (dp_fraction_bits(n.batch, clip, &n.fraction_bits) != DP_OK) return false;
	n.clip_fixed = dp_clip_fixed(clip, n.fraction_bits);
	return weights_hold(&n);
}

/* Both ends of the range work, and a clip beyond them does not. They are where dp/weights.h says:
 * C/tau of 28 to 32, or B Chat = 2^21 at F = 4. */
static void clip_ranges(void **state) {
	(void)state;
	uint64_t seed = 31;
	for (int i = 0; i < 400; i++) {
		struct dp_integers n = {.batch =
		                            1 + (uint32_t)test_below(&seed, i % 4 ? 5000 : 60)};
		const double tau = exp2(test_between(&seed, -3, 4));
		double least = 0, most = 0;
		assert_int_equal(dp_temperature_ratio(tau, &n.temperature_num, &n.temperature_den),
		                 DP_OK);
		assert_int_equal(dp_clip_range(&n, &least, &most), DP_OK);
		assert_true(least < most && holds(n, least) && holds(n, most));
		assert_true(!holds(n, nextafter(least, 0)) &&
		            !holds(n, nextafter(most, INFINITY)) && !holds(n, most * 2));
		assert_true(least < 0x1p-11 + 2e-7 * n.batch * tau);
		const double table = ldexp(1, 17) / n.batch;
		assert_true(most > fmin(28 * tau, table) &&
		            most < fmin(32 * tau * 1.01, table) + 0.07);
	}
	double least = 17, most = 17;
	const struct dp_integers none[] = {
	    {.batch = 0, .temperature_num = 1, .temperature_den = 1},
	    {.batch = 7, .temperature_num = 0, .temperature_den = 1},
	    {.batch = 7, .temperature_num = 1, .temperature_den = 0},
	    {.batch = 7, .temperature_num = 1, .temperature_den = 1000000},
	    {.batch = UINT32_MAX, .temperature_num = 1, .temperature_den = 1}};
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_int_equal(dp_clip_range(&none[i], &least, &most), DP_BAD_PARAMETER);
	assert_true(least == 17 && most == 17);
}

/* Calibrated integers can be built, at any batch. Where epsilon allows more than the weights hold,
 * the clip is their largest. The guarantee is then that of this clip, less than what was asked. */
static void large_batches(void **state) {
	(void)state;
	static const struct {
		uint32_t batch, tokens;
	} rows[] = {{1, 100}, {7, 100},   {31, 100},   {127, 100},  {159, 100},
	            {31, 4},  {255, 100}, {1024, 100}, {4096, 100}, {4096, 1}};
	static const int64_t temperatures[][2] = {{1, 1}, {6, 5}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (int exact = 0; exact < 2; exact++)
			for (int t = 0; t < 2 - exact;
			     t++) { /* the exact accountant takes its time */
				struct dp_integers n = {rows[i].batch,
				                        rows[i].tokens,
				                        temperatures[t][0],
				                        temperatures[t][1],
				                        0,
				                        0,
				                        100};
				double least, most, epsilon;
				assert_int_equal(dp_clip_range(&n, &least, &most), DP_OK);
				assert_int_equal(
				    (exact ? dp_calibrate_exact : dp_calibrate)(&n, 10, 1e-6, NULL),
				    DP_OK);
				assert_true(weights_hold(&n));
				if (exact)
					assert_int_equal(dp_guarantee_exact(&n, 1e-6, &epsilon),
					                 DP_OK);
				else epsilon = dp_guarantee_epsilon(&n, 1e-6);
				const bool capped =
				    n.clip_fixed == dp_clip_fixed(most, n.fraction_bits);
				/* 31 references and 4 tokens: C/tau of 26.8 by zCDP, of 36 by the
				 * exact accountant. */
				assert_int_equal(capped, rows[i].batch > 159 ||
				                             (rows[i].tokens == 4 && exact));
				if (capped) assert_true(epsilon < 0.8 * 10);
				else assert_true(epsilon > 9.9 && epsilon <= 10);
				/* The guarantee follows from the integers: eta = 2 C / (B tau). */
				const double eta = 2 * ldexp(n.clip_fixed, -(int)n.fraction_bits) /
				                   n.batch * (double)n.temperature_den /
				                   (double)n.temperature_num;
				assert_near(dp_guarantee_rho(&n), n.tokens * eta * eta / 8, 1e-8);
			}
}

static void integers(void **state) {
	(void)state;
	int64_t num, den;
	assert_int_equal(dp_temperature_ratio(1.2, &num, &den), DP_OK);
	assert_true(num == 6 && den == 5);
	assert_int_equal(dp_temperature_ratio(1.0, &num, &den), DP_OK);
	assert_true(num == 1 && den == 1);
	assert_int_equal(dp_temperature_ratio(0.3333333, &num, &den), DP_OK);
	assert_true(num == 333333 && den == 1000000);
	const double bad[] = {0, -1, 1e-7, 1001, NONE, (double)INFINITY};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(dp_temperature_ratio(bad[i], &num, &den), DP_BAD_PARAMETER);

	unsigned bits = 99;
	assert_int_equal(dp_fraction_bits(7, 0.66, &bits), DP_OK);
	assert_int_equal(bits, 12);
	assert_int_equal(dp_clip_fixed(0.66, 12), 2703);
	assert_int_equal(dp_clip_fixed(0.5, 8), 128);
	assert_int_equal(dp_clip_fixed(nextafter(0.5, 0), 8), 127);
	assert_int_equal(dp_fraction_bits(512, 1, &bits), DP_OK);
	assert_int_equal(bits, 12);
	assert_int_equal(dp_fraction_bits(513, 1, &bits), DP_OK);
	assert_int_equal(bits, 11);
	assert_int_equal(dp_fraction_bits(32768, 1, &bits), DP_OK);
	assert_int_equal(bits, 6);
	assert_int_equal(dp_fraction_bits(131072, 1, &bits), DP_OK);
	assert_int_equal(bits, 4);
	assert_int_equal(dp_fraction_bits(131073, 1, &bits), DP_BAD_PARAMETER);
	assert_int_equal(dp_fraction_bits(7, 1e-4, &bits), DP_BAD_PARAMETER);
	assert_int_equal(dp_fraction_bits(0, 1, &bits), DP_BAD_PARAMETER);
	assert_int_equal(dp_fraction_bits(7, NONE, &bits), DP_BAD_PARAMETER);
	assert_int_equal(dp_fraction_bits(7, 1e300, &bits), DP_BAD_PARAMETER);

	struct dp_integers n = {
	    .batch = 7, .tokens = 500, .temperature_num = 1, .temperature_den = 1};
	const char *reason = NULL;
	assert_int_equal(dp_calibrate(&n, 1e-9, 1e-6, &reason), DP_BAD_PARAMETER);
	assert_true(strncmp(reason, "clip would be too small", 23) == 0);
	assert_int_equal(dp_calibrate(&n, 1e-9, 1e-6, NULL), DP_BAD_PARAMETER);
	n.temperature_den = 1000000;
	assert_int_equal(dp_calibrate(&n, 3, 1e-6, NULL), DP_BAD_PARAMETER);
	assert_int_equal(dp_calibrate(&n, 3, 1e-6, &reason), DP_BAD_PARAMETER);
	assert_true(strncmp(reason, "no clip suits", 13) == 0);
	n.temperature_den = 1;
	assert_int_equal(dp_calibrate(&n, 3, 2, &reason), DP_BAD_PARAMETER);
	assert_true(strncmp(reason, "delta", 5) == 0);
	assert_misuse(dp_rho_of_clip(1, 0, 1, 1));
	assert_misuse(dp_epsilon_of_rho(1, 1));
	struct dp_budget b = {3, 1e-6, NONE, NONE, 1, 7, 500, .accountant = DP_ZCDP};
	assert_misuse((void)dp_budget_solve(&b, (enum dp_unknown)17, NULL));
}

/* Each field from the others, by the exact accountant. 0.11716856 is eta for
 * epsilon = 1, T = 200, times B tau / 2. */
static void exact_budgets(void **state) {
	(void)state;
	struct dp_budget clip = {1, 1e-6, NONE, NONE, 1, 7, 200, .accountant = DP_EXACT};
	assert_int_equal(dp_budget_solve(&clip, DP_CLIP, NULL), DP_OK);
	assert_near(clip.clip, 0.11716856, 5e-7);
	assert_true(clip.rho == dp_rho_of_clip(clip.clip, 7, 1, 200));
	assert_true(dp_epsilon_of_rho(clip.rho, 1e-6) > 1.05);
	struct dp_budget epsilon = clip, delta = clip, tokens = clip, batch = clip, rho = clip;
	epsilon.rho = delta.rho = tokens.rho = batch.rho = epsilon.epsilon = rho.epsilon = NONE;
	assert_int_equal(dp_budget_solve(&epsilon, DP_EPSILON, NULL), DP_OK);
	assert_true(epsilon.epsilon <= 1 && epsilon.epsilon > 1 - 1e-6);
	assert_int_equal(dp_budget_solve(&delta, DP_DELTA, NULL), DP_OK);
	assert_true(delta.delta <= 1e-6 && delta.delta > 1e-6 * (1 - 1e-6));
	tokens.clip *= 1 - 1e-6;
	assert_int_equal(dp_budget_solve(&tokens, DP_TOKENS, NULL), DP_OK);
	assert_int_equal(tokens.tokens, 200);
	tokens.clip *= 1 + 2e-6;
	tokens.rho = NONE;
	assert_int_equal(dp_budget_solve(&tokens, DP_TOKENS, NULL), DP_OK);
	assert_int_equal(tokens.tokens, 199);
	batch.batch = 0;
	assert_int_equal(dp_budget_solve(&batch, DP_BATCH, NULL), DP_OK);
	assert_int_equal(batch.batch, 7);
	batch.clip *= 1 + 1e-6;
	batch.rho = NONE;
	assert_int_equal(dp_budget_solve(&batch, DP_BATCH, NULL), DP_OK);
	assert_int_equal(batch.batch, 8);
	assert_int_equal(dp_budget_solve(&rho, DP_RHO, NULL), DP_OK);
	assert_true(rho.rho == clip.rho);

	refuses((struct dp_budget){NONE, 1e-6, 1, NONE, 1, 7, 200, .accountant = DP_EXACT}, DP_CLIP,
	        "rho is given");
	refuses((struct dp_budget){1, 1e-6, NONE, NONE, 1, 7, DP_EXACT_TOKENS + 1,
	                           .accountant = DP_EXACT},
	        DP_CLIP, "tokens would be out");
	refuses((struct dp_budget){1e6, 1e-6, NONE, NONE, 1, 7, 200, .accountant = DP_EXACT},
	        DP_CLIP, "this would be out of range of the exact");
	refuses((struct dp_budget){NONE, 1e-6, NONE, 1e6, 1, 7, 200, .accountant = DP_EXACT},
	        DP_EPSILON, "this would be out of range of the exact");
	refuses((struct dp_budget){1, 1e-305, NONE, NONE, 1, 7, 200, .accountant = DP_EXACT},
	        DP_CLIP, "this would be out of range of the exact");
	refuses((struct dp_budget){1e-3, 1e-6, NONE, 10, 1, 1, 0, .accountant = DP_EXACT},
	        DP_TOKENS, "tokens would be 0");
	refuses((struct dp_budget){1, 1e-6, NONE, 1e-3, 1, 100, 0, .accountant = DP_EXACT},
	        DP_TOKENS, "this would be out of range of the exact");
	refuses((struct dp_budget){1, 1e-6, NONE, 1e9, 1, 0, 200, .accountant = DP_EXACT}, DP_BATCH,
	        "batch would be out");
	refuses((struct dp_budget){0, 1e-6, NONE, NONE, 1, 7, 200, .accountant = DP_EXACT}, DP_CLIP,
	        "epsilon");
	refuses((struct dp_budget){1, 1, NONE, NONE, 1, 7, 200, .accountant = DP_EXACT}, DP_CLIP,
	        "delta");
	refuses((struct dp_budget){1, 1e-6, NONE, NONE, 1, 0, 200, .accountant = DP_EXACT}, DP_CLIP,
	        "batch is missing");
	struct dp_budget b = {1, 1e-6, NONE, NONE, 1, 7, 200, .accountant = (enum dp_accountant)2};
	assert_misuse((void)dp_budget_solve(&b, DP_CLIP, NULL));
}

/* The largest Chat whose exact epsilon is within what was asked. It is never below zCDP's. */
static void exact_calibration(void **state) {
	(void)state;
	uint64_t seed = 12;
	for (int i = 0; i < test_cases(25); i++) {
		struct dp_integers n = {.batch = 1 + (uint32_t)test_below(&seed, 60),
		                        .tokens = 1 + (uint32_t)test_below(&seed, 25)};
		assert_int_equal(dp_temperature_ratio(test_between(&seed, 0.5f, 2),
		                                      &n.temperature_num, &n.temperature_den),
		                 DP_OK);
		struct dp_integers zcdp = n;
		const double asked = exp2(test_between(&seed, -2, 3.5f)),
		             delta = exp2(test_between(&seed, -40, -4));
		double epsilon;
		if (dp_calibrate(&zcdp, asked, delta, NULL)) continue;
		if (dp_calibrate_exact(&n, asked, delta, NULL))
			fail_msg("epsilon %g, delta %g, batch %u", asked, delta, n.batch);
		assert_int_equal(dp_guarantee_exact(&n, delta, &epsilon), DP_OK);
		assert_true(epsilon <= asked && dp_guarantee_epsilon(&n, delta) >= epsilon);
		assert_true(n.clip_fixed >= zcdp.clip_fixed &&
		            n.fraction_bits == zcdp.fraction_bits);
		n.clip_fixed++;
		if (!weights_hold(&n)) continue;
		assert_int_equal(dp_guarantee_exact(&n, delta, &epsilon), DP_OK);
		if (!(epsilon > asked))
			fail_msg("Chat %d also gives %.12g of %.12g", n.clip_fixed, epsilon, asked);
	}
	/* T = 200, B = 7, tau = 1.2: the exact epsilon of the integers is in (1 - 1 / Chat, 1] of
	 * what was asked. */
	struct dp_integers n = {
	    .batch = 7, .tokens = 200, .temperature_num = 6, .temperature_den = 5};
	assert_int_equal(dp_calibrate_exact(&n, 10, 1e-6, NULL), DP_OK);
	assert_int_equal(n.clip_fixed, 4505); /* floor(0.26188856 * 4.2 * 4096) */
	const char *reason = NULL;
	n.tokens = DP_EXACT_TOKENS + 1;
	assert_int_equal(dp_calibrate_exact(&n, 10, 1e-6, &reason), DP_BAD_PARAMETER);
	assert_true(strncmp(reason, "tokens", 6) == 0);
	double epsilon;
	assert_int_equal(dp_guarantee_exact(&n, 1e-6, &epsilon), DP_BAD_PARAMETER);
}

static void groups(void **state) {
	(void)state;
	assert_true(dp_group_rho(0.5, 1, true) == 0.5 && dp_group_rho(0.5, 1, false) == 0.5);
	assert_true(dp_group_rho(0.5, 3, true) == 4.5 && dp_group_rho(0.5, 3, false) == 1.5);
	assert_true(isinf(dp_group_rho(1e300, UINT32_MAX, true)));
	const double third = dp_group_rho(1.0 / 3, 3, false); /* 1 - 2^-54: up */
	assert_true(third == 1);
	/* Two records of one batch move S by 2 Chat: as one record at twice the clip. */
	assert_near(dp_group_rho(dp_rho_of_clip(0.5, 7, 1.2, 500), 2, true),
	            dp_rho_of_clip(1, 7, 1.2, 500), 1e-15);
	assert_misuse((void)dp_group_rho(0.5, 0, true));
	assert_misuse((void)dp_group_rho(NONE, 1, true));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(epsilon_vectors),   cmocka_unit_test(rho_vectors),
	    cmocka_unit_test(delta_vectors),     cmocka_unit_test(bun_steinke),
	    cmocka_unit_test(clip_vectors),      cmocka_unit_test(engine_vectors),
	    cmocka_unit_test(round_trips),       cmocka_unit_test(refusals),
	    cmocka_unit_test(extremes),          cmocka_unit_test(rho_from_either_side),
	    cmocka_unit_test(integers),          cmocka_unit_test(calibration_at_the_edge),
	    cmocka_unit_test(tokens_round_down), cmocka_unit_test(clip_ranges),
	    cmocka_unit_test(large_batches),     cmocka_unit_test(exact_budgets),
	    cmocka_unit_test(exact_calibration), cmocka_unit_test(groups),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
