// SPDX-License-Identifier: Apache-2.0
// Tests dp/invisibleink.c against a second implementation, tests/dp/dp_oracle.h.
// It fails if the two laws differ by more than 1e-9 on a random instance, which is compared
// exactly. It fails if the chi-square test tells the mechanism's draws from those of the exact
// rejection sampler.
#include "tests/dp/test_dp_support.h"

#include <math.h>

#include "tests/dp/dp_oracle.h"
#include "tests/support/statistics.h"

enum { VOCAB_MAX = 64, BATCH_MAX = 8 };

struct instance {
	float public[VOCAB_MAX], private[BATCH_MAX][VOCAB_MAX];
	const float *row[BATCH_MAX]; /* NULL = null */
	struct dp_invisibleink_params params;
};

/* One step up to the draw; returns |V+|. */
static size_t feed(struct dp_invisibleink *m, const struct instance *x,
                   const uint32_t **candidates) {
	size_t count;
	float logits[VOCAB_MAX];
	dp_invisibleink_begin(m, 0);
	assert_int_equal(dp_invisibleink_public(m, x->public, candidates, &count), DP_OK);
	for (uint32_t i = 0; i < x->params.batch; i++) {
		for (size_t c = 0; x->row[i] && c < count; c++)
			logits[c] = x->row[i][(*candidates)[c]];
		if (x->row[i]) dp_invisibleink_private(m, logits);
	}
	return count;
}

/* Scores are multiples of half a unit, so that ties of rounding occur. Rows are near the public
 * one, tied with it, far from it, infinite or null. */
static void random_instance(uint64_t *seed, struct instance *x, struct dp_random *random) {
	static const float odd[] = {NAN,      INFINITY,  -INFINITY, 3.4e38f,
	                            -3.4e38f, 0x1p-140f, -0.0f,     0x1p-13f};
	x->params = oracle_params(seed, *random);
	const float half = ldexpf(0.5f, -(int)x->params.fraction_bits);
	const int mood = (int)test_below(seed, 4);
	for (size_t y = 0; y < x->params.vocab; y++) {
		x->public[y] = test_between(seed, -4, 4);
		if (mood == 0) x->public[y] = half * roundf(x->public[y] / half);
		if (y > 0 && test_below(seed, 4) == 0) x->public[y] = x->public[y - 1];
	}
	for (uint32_t i = 0; i < x->params.batch; i++) {
		x->row[i] = test_below(seed, 4) ? x->private[i] : NULL;
		for (size_t y = 0; y < x->params.vocab; y++) {
			x->private[i][y] = x->public[y] + test_between(seed, -3, 3);
			if (mood < 2) x->private[i][y] = half * roundf(x->private[i][y] / half);
			if (test_below(seed, 300) == 0) x->private[i][y] = odd[test_below(seed, 8)];
		}
	}
}

/* V+ and S must be equal. The odds of every two candidates must agree up to the errors of E (1e-9
 * of lambda) and of A (its rounding). */
static void assert_same_law(struct dp_invisibleink *m, const struct instance *x) {
	static struct oracle_law law;
	const uint32_t *candidates;
	const size_t count = feed(m, x, &candidates);
	oracle_law(&x->params, x->public, x->row, &law);
	assert_int_equal(count, law.count);
	assert_memory_equal(candidates, law.token, count * sizeof *candidates);
	const unsigned gain = x->params.gain ? x->params.gain : 100;
	const long double lambda = (long double)x->params.clip_fixed * gain *
	                           (long double)law.kappa_num / (long double)law.kappa_den;
	long double first = 0, first_room = 0;
	for (size_t c = 0; c < count; c++) {
		assert_int_equal(dp_invisibleink_sum(m, c), law.sum[c]);
		const long double a = (long double)dp_invisibleink_public_weight(m, c),
		                  e = (long double)dp_invisibleink_private_weight(m, c);
		const long double ideal = -(long double)law.gap[c] * (long double)law.kappa_num /
		                          (long double)law.kappa_den;
		const long double away = logl(a) + logl(e) - ideal,
		                  room = 1e-9L * lambda + 1e-12L + 1 / a;
		if (c == 0) {
			first = away;
			first_room = room;
		}
		/* below 1, A is 1 */
		if (a > 1 && first_room < 0.5L)
			assert_true(fabsl(away - first) < room + first_room);
	}
}

static void the_same_law(void **state) {
	(void)state;
	static struct instance x;
	uint64_t seed = nightly_seed(31);
	struct dp_random random = {test_fill, &seed};
	const size_t instances = repetitions(2500, 30000);
	size_t made = 0;
	while (made < instances) {
		struct dp_invisibleink *m;
		random_instance(&seed, &x, &random);
		if (dp_invisibleink_new(&x.params, &m) != DP_OK) continue;
		assert_same_law(m, &x);
		dp_invisibleink_free(&m);
		if (made++ % 100 != 0) continue;
		struct dp_weights weights;
		const struct dp_invisibleink_params *p = &x.params;
		assert_int_equal(dp_weights_init(&weights, p->batch, p->clip_fixed,
		                                 p->fraction_bits, p->temperature_num,
		                                 p->temperature_den, p->gain),
		                 DP_OK);
		assert_null(oracle_table(&weights, p));
		dp_weights_release(&weights);
	}
}

/* The oracle's own coin, at exponents below, at and above 1. */
static void the_coin(void **state) {
	(void)state;
	static const unsigned gamma[][2] = {{0, 1}, {1, 1000}, {1, 3},  {1, 1},
	                                    {3, 2}, {2, 1},    {22, 7}, {6, 1}};
	uint64_t seed = nightly_seed(32);
	const struct dp_random random = {test_fill, &seed};
	const size_t n = repetitions(300000, 10000000);
	for (size_t i = 0; i < sizeof gamma / sizeof *gamma; i++) {
		size_t seen[2] = {0, 0};
		for (size_t j = 0; j < n; j++)
			seen[oracle_coin(gamma[i][0], gamma[i][1], &random)]++;
		const double p = exp(-(double)gamma[i][0] / gamma[i][1]);
		assert_true(fit(seen, (const double[]){1 - p, p}, 2, n) > FALSE_ALARM);
	}
}

/* The test's statistics against tables: 1 - 1e-6 quantiles of chi-square at 7 and 31 degrees, and
 * exact binomial intervals (closed forms, and the table for 5 of 10). */
static void the_statistics(void **state) {
	(void)state;
	assert_true(fabs(chi_square_tail(40.52183123418, 7) / 1e-6 - 1) < 1e-9);
	assert_true(fabs(chi_square_tail(83.64251584701, 31) / 1e-6 - 1) < 1e-9);
	assert_true(fabs(chi_square_tail(3.841458820694124, 1) - 0.05) < 1e-14 &&
	            fabs(chi_square_tail(1, 2) - exp(-0.5)) < 1e-14);
	assert_true(proportion_above(0, 10, 0.05) == 0 && proportion_below(10, 10, 0.05) == 1);
	assert_true(fabs(proportion_above(10, 10, 0.05) - pow(0.05, 0.1)) < 1e-12);
	assert_true(fabs(proportion_below(0, 30, 1e-6) - (1 - pow(1e-6, 1 / 30.0))) < 1e-12);
	assert_true(fabs(proportion_above(5, 10, 0.025) - 0.18708603) < 1e-7);
	assert_true(fabs(proportion_below(5, 10, 0.025) - 0.81291397) < 1e-7);
}

/* ---- draws ----------------------------------------------------------------------------------- */

enum deviation { NONE, HOTTER, HOT, WIDER, TWICE };

/* `count` tokens of normal-like scores, B = 7 with a null, C = 0.66, tau = 1.2; rows near the
 * public one but the last, which pulls every token by the whole clip one way or the other. */
static void wide_instance(struct instance *x, size_t vocab, uint32_t batch, double spread,
                          uint64_t seed) {
	*x = (struct instance){.params = {.batch = batch,
	                                  .top_k = (uint32_t)vocab * 3 / 4,
	                                  .tokens = 1,
	                                  .vocab = vocab,
	                                  .temperature_num = 6,
	                                  .temperature_den = 5,
	                                  .clip_fixed = 2699,
	                                  .fraction_bits = 12}};
	for (size_t y = 0; y < vocab; y++) {
		float sum = 0;
		for (int i = 0; i < 12; i++) sum += test_between(&seed, -0.5f, 0.5f);
		x->public[y] = sum * (float)spread;
		for (uint32_t i = 1; i < batch; i++)
			x->private[i][y] =
			    x->public[y] + (i == batch - 1 ? test_below(&seed, 2) ? 9 : -9
			                                   : test_between(&seed, -1, 1));
	}
	for (uint32_t i = 1; i < batch; i++) x->row[i] = x->private[i]; /* 0 is null */
}

static void deviate(struct instance *x, enum deviation deviation) {
	struct dp_invisibleink_params *p = &x->params;
	if (deviation == HOTTER) p->temperature_num = 5, p->temperature_den = 4;
	if (deviation == HOT) p->temperature_num = p->temperature_den = 1;
	if (deviation == WIDER) p->clip_fixed *= 2;
	if (deviation == TWICE) x->row[0] = x->row[p->batch - 1];
}

/* n draws of the mechanism, counted per token. */
static void draw_many(const struct instance *x, size_t n, struct dp_random random,
                      size_t seen[VOCAB_MAX]) {
	struct dp_invisibleink *m;
	struct dp_invisibleink_params params = x->params;
	const uint32_t *candidates;
	params.random = random;
	memset(seen, 0, VOCAB_MAX * sizeof *seen);
	assert_int_equal(dp_invisibleink_new(&params, &m), DP_OK);
	for (size_t i = 0; i < n; i++) {
		uint32_t token;
		feed(m, x, &candidates);
		assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
		seen[token]++;
	}
	dp_invisibleink_free(&m);
}

/* Both samplers use fixed seeds, or the system's generator in the nightly test. */
static void against_the_rejection_sampler(void **state) {
	(void)state;
	static const struct {
		size_t vocab;
		uint32_t batch;
		double spread;
	} shapes[] = {{32, 7, 2}, {8, 3, 1}, {2, 1, 0.3}, {64, 8, 4}};
	static struct instance x;
	static struct oracle_law law;
	uint64_t one = 33, other = 34;
	const struct dp_random ours =
	    nightly() ? dp_random_system() : (struct dp_random){test_fill, &one};
	const struct dp_random theirs =
	    nightly() ? dp_random_system() : (struct dp_random){test_fill, &other};
	const size_t n = repetitions(250000, 1000000); /* of each instance */
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		size_t drawn[VOCAB_MAX], wanted[VOCAB_MAX] = {0};
		double p[VOCAB_MAX], all[VOCAB_MAX] = {0};
		wide_instance(&x, shapes[i].vocab, shapes[i].batch, shapes[i].spread, 35 + i);
		oracle_law(&x.params, x.public, x.row, &law);
		oracle_probabilities(&law, p);
		for (size_t c = 0; c < law.count; c++) all[law.token[c]] = p[c];
		for (size_t j = 0; j < n; j++) wanted[law.token[oracle_draw(&law, &theirs)]]++;
		draw_many(&x, n, ours, drawn);
		assert_true(fit(wanted, all, VOCAB_MAX, n) > FALSE_ALARM);
		assert_true(fit(drawn, all, VOCAB_MAX, n) > FALSE_ALARM);
		assert_true(same_law(drawn, wanted, VOCAB_MAX) > FALSE_ALARM);
		if (i > 0) continue;
		/* the test can fail: each of these mechanisms differs, and it sees that */
		for (enum deviation d = HOTTER; d <= TWICE; d++) {
			struct instance wrong = x;
			for (uint32_t row = 1; row < x.params.batch; row++)
				wrong.row[row] = wrong.private[row];
			deviate(&wrong, d);
			draw_many(&wrong, n, ours, drawn);
			if (same_law(drawn, wanted, VOCAB_MAX) > FALSE_ALARM)
				fail_msg("deviation %d is not seen", (int)d);
		}
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_statistics),
	    cmocka_unit_test(the_coin),
	    cmocka_unit_test(the_same_law),
	    cmocka_unit_test(against_the_rejection_sampler),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
