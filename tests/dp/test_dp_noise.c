// SPDX-License-Identifier: Apache-2.0
// Tests dp/noise.c: the coin of exp(-n/d), the discrete Laplace and the discrete Gaussian law. The
// linker puts functions below in the place of those that draw numbers. So a test decides what comes
// of each, and sums the chances of all courses of events: the law, to its digits. A million draws
// are compared with it, and must be told from a law that is wrong in one small way.
// It fails if a chance is off by 1e-13 of it, or if a source that failed or is stuck gives noise.
#include "tests/dp/test_dp_support.h"

#include <math.h>

#include "dp/draw.h"
#include "dp/noise.h"

enum dp_status __real_dp_draw_number(struct dp_wide total, const struct dp_random *random,
                                     struct dp_wide *u);
enum dp_status __wrap_dp_draw_number(struct dp_wide total, const struct dp_random *random,
                                     struct dp_wide *u);
enum dp_status __real_dp_draw_below_wide(uint64_t n, const struct dp_random *random,
                                         uint64_t *number);
enum dp_status __wrap_dp_draw_below_wide(uint64_t n, const struct dp_random *random,
                                         uint64_t *number);

/* ---- draws that a test decides --------------------------------------------------------------- */

/* What the draws of one call are: numbers, or the first or last below whatever is asked for. */
enum { FIRST = -1, LAST = -2, MOST_DRAWS = 8192 };
static struct {
	bool on;                      /* off: the real draws */
	int64_t number[MOST_DRAWS];   /* what draw i is */
	size_t count;                 /* of `number`; a later draw fails */
	size_t drawn;                 /* by this call so far */
	unsigned __int128 last_total; /* of the last draw */
} plan;

static enum dp_status planned(unsigned __int128 total, unsigned __int128 *number) {
	assert_true(total >= 1);
	plan.last_total = total;
	if (plan.drawn == plan.count) return DP_NO_ENTROPY;
	const int64_t wanted = plan.number[plan.drawn++];
	*number = wanted == FIRST ? 0 : wanted == LAST ? total - 1 : (unsigned __int128)wanted;
	assert_true(*number < total);
	return DP_OK;
}

enum dp_status __wrap_dp_draw_number(struct dp_wide total, const struct dp_random *random,
                                     struct dp_wide *u) {
	if (!plan.on) return __real_dp_draw_number(total, random, u);
	assert_true(total.high == 0);
	u->high = 0;
	return planned(total.low, &u->low);
}

enum dp_status __wrap_dp_draw_below_wide(uint64_t n, const struct dp_random *random,
                                         uint64_t *number) {
	if (!plan.on) return __real_dp_draw_below_wide(n, random, number);
	unsigned __int128 wide = 0;
	const enum dp_status status = planned(n, &wide);
	if (status == DP_OK) *number = (uint64_t)wide;
	return status;
}

static void begin_plan(void) {
	plan.on = true;
	plan.count = plan.drawn = 0;
}

static void then(int64_t number) {
	assert_true(plan.count < MOST_DRAWS);
	plan.number[plan.count++] = number;
}

/* The draws of a coin of n/d < 1 that shows heads, or tails: it ends at k = 1, or at 2. */
static void then_coin(bool heads) {
	if (!heads) then(FIRST);
	then(LAST);
}

/* Of a coin of exp(-1), which never ends at k = 1. */
static void then_whole_coin(bool heads) {
	then(FIRST);
	if (heads) then(FIRST);
	then(LAST);
}

/* ---- the laws, draw by draw ------------------------------------------------------------------ */

/* The chance of heads of exp(-n/d), n < d or 1 = n = d: all courses of events of the coin, to the
 * depth where what is left is below 1e-18. Each draw is tried with every number there is. */
static double chance_of_heads(unsigned n, unsigned d) {
	long double heads = 0.0L, passed = 1.0L;
	for (unsigned k = 1; k <= 25; k++) {
		unsigned ends = 0;
		for (unsigned number = 0; number < k * d; number++) {
			bool answer = true;
			begin_plan();
			for (unsigned before = 1; before < k; before++) then(FIRST);
			then(number);
			const bool ended = dp_noise_coin(n, d, NULL, &answer) == DP_OK;
			assert_int_equal(plan.drawn, k);
			/* exp(-1) is a coin of its own; behind its heads comes one of exp(0). */
			const bool next = !ended && plan.last_total == 1;
			assert_true(ended || next || plan.last_total == (k + 1) * d);
			ends += ended || next;
			if (ended || next) assert_int_equal(answer, k % 2);
		}
		if (k % 2) heads += passed * ends / (k * d);
		passed *= 1.0L - (long double)ends / (k * d);
	}
	plan.on = false;
	return (double)heads;
}

static void coins(void **state) {
	(void)state;
	static const unsigned pairs[][2] = {{1, 1}, {1, 2}, {2, 3},  {1, 9},  {8, 9},
	                                    {4, 9}, {4, 5}, {7, 20}, {19, 20}};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		const unsigned n = pairs[i][0], d = pairs[i][1];
		const double want = exp(-(double)n / d), have = chance_of_heads(n, d);
		assert_true(fabs(have - want) <= 1e-14 * want);
	}
	/* exp(-23/7): three coins of exp(-1) and one of exp(-2/7). The first tails end it. */
	for (int tails = 0; tails <= 4; tails++) {
		bool heads = tails < 4;
		begin_plan();
		for (int coin = 0; coin < 3 && coin <= tails; coin++) then_whole_coin(coin < tails);
		if (tails >= 3) then_coin(tails > 3);
		assert_int_equal(dp_noise_coin(23, 7, NULL, &heads), DP_OK);
		assert_int_equal(plan.drawn, plan.count);
		assert_int_equal(heads, tails == 4);
		if (tails >= 3) assert_true(plan.last_total == (tails == 3 ? 14 : 7));
	}
	plan.on = false;
	assert_misuse((void)dp_noise_coin(0, 0, NULL, &(bool){0}));
	assert_misuse((void)dp_noise_coin(0, (unsigned __int128)1 << 117, NULL, &(bool){0}));
}

/* The law of a Laplace draw: rest, the coin of exp(-rest/t), laps, sign. chance[x] is that of x and
 * of -x, which the signs give alike. */
static void sum_laplace(unsigned t, long double *chance, size_t count) {
	long double all = 0.0L;
	for (size_t x = 0; x < count; x++) chance[x] = 0.0L;
	for (unsigned rest = 0; rest < t; rest++)
		for (unsigned laps = 0; laps < 60; laps++)
			for (int negative = 0; negative < 2; negative++) {
				int64_t noise = 77;
				begin_plan();
				then(rest);
				then_coin(true);
				for (unsigned lap = 0; lap < laps; lap++) then_whole_coin(true);
				then_whole_coin(false);
				then(negative ? FIRST : LAST);
				const enum dp_status status = dp_noise_laplace(t, NULL, &noise);
				assert_int_equal(plan.drawn, plan.count);
				const int64_t size = (int64_t)(rest + laps * t);
				/* Of the two signs of zero one is drawn again. */
				assert_int_equal(status,
				                 size == 0 && negative ? DP_NO_ENTROPY : DP_OK);
				if (status != DP_OK) {
					assert_int_equal(noise, 77);
					assert_true(plan.last_total == t);
					continue;
				}
				assert_int_equal(noise, negative ? -size : size);
				const long double p = expl(-(long double)rest / t - laps) *
				                      (1.0L - expl(-1.0L)) / t / 2.0L;
				all += p;
				if ((size_t)size < count && !negative) chance[size] += p;
			}
	/* A rest that its coin does not keep is drawn again. A rest of 0 is always kept. */
	for (unsigned rest = 1; rest < t; rest++) {
		begin_plan();
		then(rest);
		then_coin(false);
		assert_int_equal(dp_noise_laplace(t, NULL, &(int64_t){0}), DP_NO_ENTROPY);
		assert_true(plan.drawn == plan.count && plan.last_total == t);
	}
	plan.on = false;
	for (size_t x = 0; x < count; x++) chance[x] /= all;
}

static double laplace(unsigned t, int64_t x) {
	const double r = exp(-1.0 / t);
	return (1.0 - r) / (1.0 + r) * pow(r, fabs((double)x));
}

static void laplace_law(void **state) {
	(void)state;
	long double chance[100];
	sum_laplace(9, chance, 100);
	assert_float_equal((double)chance[0], .0554984701090264, 1e-16);
	assert_float_equal((double)chance[1], .0496622130766039, 1e-16);
	for (int x = 0; x < 100; x++)
		assert_true(fabs((double)chance[x] / laplace(9, x) - 1.0) <= 1e-13);
	sum_laplace(5, chance, 100);
	assert_float_equal((double)chance[0], .09966799462495582, 1e-16);
	assert_float_equal((double)chance[1], .08160125229706232, 1e-16);
	sum_laplace(1, chance, 20);
	for (int x = 0; x < 20; x++)
		assert_true(fabs((double)chance[x] / laplace(1, x) - 1.0) <= 1e-13);
	/* The loss of a count that one record moves: +1/t where the noise is at most 0. */
	sum_laplace(9, chance, 100);
	long double falls = chance[0] / 2.0L + 0.5L;
	assert_float_equal((double)falls, .527749235054513, 1e-14);
	assert_misuse((void)dp_noise_laplace(0, NULL, &(int64_t){0}));
	assert_misuse((void)dp_noise_laplace(DP_NOISE_MOST_SCALE + 1, NULL, &(int64_t){0}));
}

/* The law of a Gaussian draw: Laplace draws of scale floor(sigma) + 1, and what of them is kept. */
static void check_gaussian(unsigned num, unsigned den, int reach) {
	const unsigned t = (unsigned)sqrt((double)num / den) + 1;
	const long double variance = (long double)num / den;
	long double chance[100], all = 0.0L, total = 0.0L;
	sum_laplace(t, chance, 100);
	for (int x = -reach; x <= reach; x++) {
		const unsigned size = (unsigned)abs(x);
		for (int kept = 0; kept < 2; kept++) {
			/* n/d of the coin, as noise.h has it; the code's must take as many coins
			 * and ask for the same numbers. */
			const long double beside = size - variance / t,
			                  n = beside * beside / (2.0L * variance);
			int64_t noise = 77;
			begin_plan();
			then(size % t);
			then_coin(true);
			for (unsigned lap = 0; lap < size / t; lap++) then_whole_coin(true);
			then_whole_coin(false);
			then(x < 0 ? FIRST : LAST);
			for (unsigned coin = 0; coin < (unsigned)floorl(n); coin++)
				then_whole_coin(true);
			then_coin(kept);
			const enum dp_status status = dp_noise_gaussian(num, den, NULL, &noise);
			assert_int_equal(plan.drawn, plan.count);
			assert_int_equal(status, kept ? DP_OK : DP_NO_ENTROPY);
			assert_int_equal(noise, kept ? x : 77);
			if (!kept) continue;
			/* The last coin's d, as a float: what it asked for. */
			const long double d = 2.0L * num * den * t * t;
			assert_true(fabsl((long double)plan.last_total / d - 1.0L) < 1e-15L);
			const long double p = chance[size] * expl(-n);
			all += p;
			total += expl(-(long double)x * x / (2.0L * variance));
		}
	}
	plan.on = false;
	for (int x = 0; x <= reach; x++) {
		const long double beside = x - variance / t,
		                  p = chance[x] * expl(-beside * beside / (2.0L * variance)) / all,
		                  want = expl(-(long double)x * x / (2.0L * variance)) / total;
		assert_true(fabsl(p / want - 1.0L) <= 1e-13L);
		if (num == 4 && den == 1 && x == 0)
			assert_float_equal((double)p, .1994711402007163, 1e-15);
		if (num == 4 && den == 1 && x == 1)
			assert_float_equal((double)p, .1760326633821497, 1e-15);
	}
}

static void gaussian_law(void **state) {
	(void)state;
	check_gaussian(4, 1, 30);
	check_gaussian(5, 2, 20);
	check_gaussian(1, 3, 8);
	check_gaussian(640, 1, 99);
	assert_misuse((void)dp_noise_gaussian(0, 1, NULL, &(int64_t){0}));
	assert_misuse((void)dp_noise_gaussian(1, 0, NULL, &(int64_t){0}));
}

/* ---- a million draws ------------------------------------------------------------------------- */

enum { CELLS = 201, MIDDLE = 100 }; /* -100 to 100; the ends stand for what is beyond */

/* The law of integers with these weights, and what a wrong sampler would give. */
static void normalise(double *law) {
	double sum = 0.0;
	for (int i = 0; i < CELLS; i++) sum += law[i];
	for (int i = 0; i < CELLS; i++) law[i] /= sum;
}

static void a_million_draws(void **state) {
	(void)state;
	uint64_t seed = nightly_seed(29);
	const struct dp_random random = {test_fill, &seed};
	const size_t draws = repetitions(1000000, 10000000);
	/* Laplace 9 and 5, Gaussian of variance 4 */
	for (int kind = 0; kind < 3; kind++) {
		static size_t seen[CELLS];
		double law[CELLS], zero_twice[CELLS], scaled[CELLS];
		memset(seen, 0, sizeof seen);
		const unsigned t = kind == 0 ? 9 : 5;
		for (int i = 0; i < CELLS; i++) {
			const double x = i - MIDDLE;
			law[i] = kind < 2 ? exp(-fabs(x) / t) : exp(-x * x / 8.0);
			/* a fiftieth too wide; and zero as often as two signs would give it */
			scaled[i] =
			    kind < 2 ? exp(-fabs(x) / (t * 1.02)) : exp(-x * x / (8.0 * 1.02));
			zero_twice[i] = law[i] * (x == 0.0 ? 2.0 : 1.0);
		}
		normalise(law);
		normalise(scaled);
		normalise(zero_twice);
		for (size_t i = 0; i < draws; i++) {
			int64_t noise;
			assert_int_equal(kind < 2 ? dp_noise_laplace(t, &random, &noise)
			                          : dp_noise_gaussian(4, 1, &random, &noise),
			                 DP_OK);
			const int64_t cell = noise + MIDDLE;
			seen[cell < 0 ? 0 : cell >= CELLS ? CELLS - 1 : cell]++;
		}
		/* Beyond 100 there is less than 2e-5 of DLap(9), half on either side. */
		if (kind < 2) {
			const double beyond = exp(-101.0 / t) / (1.0 + exp(-1.0 / t));
			for (int i = 0; i < CELLS; i++) law[i] *= 1.0 - 2.0 * beyond;
			law[0] += beyond;
			law[CELLS - 1] += beyond;
		}
		assert_true(fit(seen, law, CELLS, draws) >= FALSE_ALARM);
		assert_true(fit(seen, scaled, CELLS, draws) < FALSE_ALARM);
		assert_true(fit(seen, zero_twice, CELLS, draws) < FALSE_ALARM);
	}
}

/* ---- failures -------------------------------------------------------------------------------- */

struct failing {
	uint64_t seed;
	size_t calls;
	size_t fails_at; /* the call that fails, from 1; later ones succeed */
};

static enum dp_status fill_or_fail(void *user, void *bytes, size_t size) {
	struct failing *source = user;
	if (++source->calls == source->fails_at) return DP_NO_ENTROPY;
	return test_fill(&source->seed, bytes, size);
}

/* Wherever the source fails, nothing is drawn. */
static void failed_source(void **state) {
	(void)state;
	for (int gaussian = 0; gaussian < 2; gaussian++)
		for (uint64_t seed = 0; seed < 100; seed++) {
			struct failing source = {.seed = seed};
			const struct dp_random random = {fill_or_fail, &source};
			for (size_t fails_at = 1;; fails_at++) {
				int64_t noise = INT64_MIN;
				source = (struct failing){.seed = seed, .fails_at = fails_at};
				const enum dp_status status =
				    gaussian ? dp_noise_gaussian(640, 1, &random, &noise)
				             : dp_noise_laplace(9, &random, &noise);
				if (source.calls < fails_at) {
					assert_int_equal(status, DP_OK);
					assert_true(noise != INT64_MIN);
					break;
				}
				assert_int_equal(source.calls, fails_at);
				assert_int_equal(status, DP_NO_ENTROPY);
				assert_true(noise == INT64_MIN);
			}
		}
}

/* Fills the plan with one course of events, again and again. */
static void repeat(const int64_t *course, size_t count) {
	begin_plan();
	while (plan.count + count <= MOST_DRAWS)
		for (size_t i = 0; i < count; i++) then(course[i]);
}

/* A source that always gives the same numbers keeps nobody waiting: every loop ends. */
static void a_stuck_source(void **state) {
	(void)state;
	int64_t noise = 77;
	bool heads = true;
	/* a coin whose draws all pass; one of exp(-2000) that shows heads 1000 times */
	repeat((int64_t[]){FIRST}, 1);
	assert_int_equal(dp_noise_coin(1, 2, NULL, &heads), DP_NO_ENTROPY);
	assert_int_equal(plan.drawn, 1000);
	repeat((int64_t[]){FIRST, FIRST, LAST}, 3);
	assert_int_equal(dp_noise_coin(2000, 1, NULL, &heads), DP_NO_ENTROPY);
	assert_int_equal(plan.drawn, 3000);
	/* laps without end: behind a rest and its coin, heads for ever */
	repeat((int64_t[]){FIRST, LAST, FIRST}, 3);
	assert_int_equal(dp_noise_laplace(9, NULL, &noise), DP_NO_ENTROPY);
	assert_int_equal(plan.drawn, 3002);
	/* a rest that is never kept; a Gaussian draw that is never kept, with y = 1 */
	repeat((int64_t[]){8, FIRST, LAST}, 3);
	assert_int_equal(dp_noise_laplace(9, NULL, &noise), DP_NO_ENTROPY);
	assert_int_equal(plan.drawn, 3000);
	repeat((int64_t[]){1, LAST, FIRST, LAST, LAST, FIRST, LAST}, 7);
	assert_int_equal(dp_noise_gaussian(4, 1, NULL, &noise), DP_NO_ENTROPY);
	assert_int_equal(plan.drawn, 7000);
	plan.on = false;
	assert_int_equal(noise, 77);
}

/* The largest parameters: no product overflows, and draws are of the size that they should be. */
static void large_parameters(void **state) {
	(void)state;
	static const uint32_t sizes[] = {1, 2, 1000, UINT32_C(1) << 31, UINT32_MAX};
	uint64_t seed = 31;
	const struct dp_random random = {test_fill, &seed};
	for (int i = 0; i < 5; i++)
		for (int j = 0; j < 5; j++) {
			const double deviation = sqrt((double)sizes[i] / sizes[j]);
			double sum = 0.0;
			for (int n = 0; n < 400; n++) {
				int64_t noise;
				assert_int_equal(
				    dp_noise_gaussian(sizes[i], sizes[j], &random, &noise), DP_OK);
				sum += (double)noise * (double)noise;
			}
			/* 400 squares: their mean is within a third, a chance of 1e-5 aside */
			if (deviation >= 1.0)
				assert_true(fabs(sqrt(sum / 400.0) / deviation - 1.0) < 0.17);
		}
	static const uint64_t scales[] = {UINT32_MAX, UINT64_C(163638253978), DP_NOISE_MOST_SCALE};
	for (int i = 0; i < 3; i++) {
		double sum = 0.0;
		for (int n = 0; n < 400; n++) {
			int64_t noise;
			assert_int_equal(dp_noise_laplace(scales[i], &random, &noise), DP_OK);
			sum += fabs((double)noise);
		}
		assert_true(fabs(sum / 400.0 / (double)scales[i] - 1.0) < 0.25);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(coins),           cmocka_unit_test(laplace_law),
	    cmocka_unit_test(gaussian_law),    cmocka_unit_test(a_million_draws),
	    cmocka_unit_test(failed_source),   cmocka_unit_test(a_stuck_source),
	    cmocka_unit_test(large_parameters)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
