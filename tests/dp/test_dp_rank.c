// SPDX-License-Identifier: Apache-2.0
// Tests dp/rank.c, the word mechanism: its order of words, its draws, and the odds of its outputs.
// The order is compared with a full sort, all odds of hostile keys in exact integers, a million
// draws with their law by chi-square, and two worlds by Clopper-Pearson. It fails if a rank has
// another word than the sort says, if one pair of words or null has odds above e^epsilon, if what
// is drawn depends on the word, or if a failed source still gives an output.
#include "tests/dp/test_dp_support.h"

#include <math.h>

#include "dp/rank.h"

#define MILLION 1000000

enum { MOST = 300 };

static struct dp_rank *ranking(enum dp_rank_shape shape, uint32_t words, uint32_t near,
                               uint32_t epsilon, struct dp_random random) {
	const struct dp_rank_params params = {.shape = shape,
	                                      .words = words,
	                                      .near = near,
	                                      .epsilon_millionths = epsilon,
	                                      .random = random};
	struct dp_rank *m;
	assert_int_equal(dp_rank_new(&params, &m), DP_OK);
	return m;
}

/* ---- the order ------------------------------------------------------------------------------- */

static const int32_t *sort_keys; /* of before_in_order */

static int before_in_order(const void *a, const void *b) {
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (sort_keys[x] != sort_keys[y]) return sort_keys[x] > sort_keys[y] ? -1 : 1;
	return (x > y) - (x < y);
}

static void sort_ids(const int32_t *keys, uint32_t words, uint32_t *ids) {
	for (uint32_t i = 0; i < words; i++) ids[i] = i;
	sort_keys = keys;
	qsort(ids, words, sizeof *ids, before_in_order);
}

/* Kinds of keys: equal, both ends of int32, one other, rising, falling, few values, any. */
enum { KINDS = 10 };
static void make_keys(int kind, uint64_t *seed, uint32_t words, int32_t *keys) {
	static const int32_t ends[] = {INT32_MIN, INT32_MIN + 1, -1, 0, 1, INT32_MAX};
	for (uint32_t i = 0; i < words; i++) {
		keys[i] = (int32_t)(uint32_t)test_random(seed);
		if (kind == 0) keys[i] = INT32_MIN;
		if (kind == 1) keys[i] = INT32_MAX;
		if (kind == 2) keys[i] = ends[test_below(seed, 6)];
		if (kind == 3) keys[i] = i == words / 2 ? INT32_MAX : INT32_MIN;
		if (kind == 4) keys[i] = i + 1 == words ? INT32_MIN : 7;
		if (kind == 5) keys[i] = (int32_t)i;
		if (kind == 6) keys[i] = -(int32_t)i;
		if (kind == 7) keys[i] = (int32_t)test_below(seed, 5) - 2;
		if (kind == 8) keys[i] = (int32_t)test_below(seed, 1 << 20) - (1 << 19);
	}
}

static void every_rank_is_that_of_a_full_sort(void **state) {
	(void)state;
	uint64_t seed = 1;
	for (int i = 0; i < test_cases(500); i++) {
		const uint32_t words = 2 + (uint32_t)test_below(&seed, i % 5 ? 40 : MOST - 1);
		struct dp_rank *m =
		    ranking(DP_RANK_STEP, words, 1, MILLION, (struct dp_random){test_fill, &seed});
		int32_t keys[MOST];
		uint32_t ids[MOST];
		make_keys(i % KINDS, &seed, words, keys);
		sort_ids(keys, words, ids);
		for (uint32_t r = 0; r < words; r++) {
			assert_int_equal(dp_rank_select(m, keys, r), ids[r]);
			/* What was drawn decides, and nothing else does: the rank of a word, the
			 * even number of null. */
			const struct dp_rank_drawn drawn = {r, words - 1 - r};
			assert_int_equal(dp_rank_output(m, &drawn, keys), ids[r]);
			assert_int_equal(dp_rank_output(m, &drawn, NULL), words - 1 - r);
		}
		dp_rank_free(&m);
	}
}

static void misuse_of_an_order(void **state) {
	(void)state;
	uint64_t seed = 1;
	struct dp_rank *m =
	    ranking(DP_RANK_STEP, 2, 1, MILLION, (struct dp_random){test_fill, &seed});
	static const int32_t keys[2] = {0, 0};
	assert_misuse((void)dp_rank_select(m, keys, 2));
	assert_misuse((void)dp_rank_select(m, NULL, 0));
	dp_rank_free(&m);
}

/* Words on a plane: cat (0,0), dog (1,0), cow (0,2), car (6,0), bus (6,1). */
static void toy_orders(void **state) {
	(void)state;
	static const int32_t x[5] = {0, 1, 0, 6, 6}, y[5] = {0, 0, 2, 0, 1};
	static const uint32_t orders[5][5] = {
	    {0, 1, 2, 3, 4}, {1, 0, 2, 3, 4}, {2, 0, 1, 4, 3}, {3, 4, 1, 0, 2}, {4, 3, 1, 0, 2}};
	static const double step[5] = {.415626587159, .0562489418939, .415626587159, .0562489418939,
	                               .0562489418939},
	                    envelope[5] = {.239795307453, .158644704041, .404609675192,
	                                   .0842238084009, .112726504913};
	uint64_t seed = 1;
	for (int shape = 0; shape < 2; shape++) {
		struct dp_rank *m = ranking(shape ? DP_RANK_ENVELOPE : DP_RANK_STEP, 5, 2,
		                            2 * MILLION, (struct dp_random){test_fill, &seed});
		for (uint32_t word = 0; word < 5; word++) {
			int32_t keys[5];
			for (uint32_t i = 0; i < 5; i++)
				keys[i] = -(x[i] - x[word]) * (x[i] - x[word]) -
				          (y[i] - y[word]) * (y[i] - y[word]);
			for (uint32_t r = 0; r < 5; r++) {
				const uint32_t id = dp_rank_select(m, keys, r);
				assert_int_equal(id, orders[word][r]);
				const double p = dp_rank_share(m, r + 1) - dp_rank_share(m, r);
				if (word == 2)
					assert_float_equal(p, shape ? envelope[id] : step[id],
					                   1e-12);
			}
		}
		dp_rank_free(&m);
	}
}

/* ---- the odds of all outputs ----------------------------------------------------------------- */

/* weights[y] of output y for these keys, NULL for null, by asking for the output of every draw.
 * Words are weighed in 1 / W; null in 1 / V, so W is each output's weight in units of 1 / (V W). */
static void weigh_outputs(const struct dp_rank *m, uint32_t words, const int32_t *keys,
                          struct dp_wide *weights) {
	const struct dp_wide *e = dp_rank_table(m);
	struct dp_wide total = {0, 0};
	for (uint32_t y = 0; y < words; y++) weights[y] = (struct dp_wide){0, 0};
	for (uint32_t r = 0; r < words; r++) total = dp_wide_sum(total, e[r]);
	for (uint32_t r = 0; r < words; r++) {
		const struct dp_rank_drawn drawn = {keys ? r : 0, keys ? 0 : r};
		struct dp_wide *weight = &weights[dp_rank_output(m, &drawn, keys)];
		*weight = dp_wide_sum(*weight, keys ? dp_wide_times(e[r], words) : total);
	}
}

static void all_odds_are_within_the_bound(void **state) {
	(void)state;
	enum { WORDS = 64, INPUTS = 3 * KINDS + 1 };
	static const uint32_t sizes[] = {2, 3, 7, WORDS}, epsilons[] = {1, 500000, 6000000};
	static struct dp_wide weights[INPUTS][WORDS];
	uint64_t seed = 3;
	bool met = false;
	for (int n = 0; n < 4 * 3 * 2; n++) {
		const uint32_t words = sizes[n % 4], epsilon = epsilons[n / 4 % 3];
		struct dp_rank *m =
		    ranking(n / 12 ? DP_RANK_ENVELOPE : DP_RANK_STEP, words, words > 20 ? 20 : 1,
		            epsilon, (struct dp_random){test_fill, &seed});
		const struct dp_wide bound = dp_rank_bound(epsilon);
		for (int input = 0; input < INPUTS; input++) {
			int32_t keys[WORDS];
			make_keys(input % KINDS, &seed, words, keys);
			weigh_outputs(m, words, input + 1 < INPUTS ? keys : NULL, weights[input]);
		}
		/* P(y | x) 2^40 <= floor(2^40 e^epsilon) P(y | x'), every pair, both ways. All
		 * weights are below 2^64 here. */
		for (int one = 0; one < INPUTS; one++)
			for (int other = 0; other < INPUTS; other++)
				for (uint32_t y = 0; y < words; y++) {
					const struct dp_wide w = weights[other][y];
					assert_true(w.high == 0 && w.low >> 64 == 0 && w.low > 0);
					const struct dp_wide most =
					    dp_wide_times(bound, (uint64_t)w.low);
					const struct dp_wide have =
					    dp_wide_times(weights[one][y], (uint64_t)1 << 40);
					assert_false(dp_wide_less(most, have));
					met |= !dp_wide_less(have, most);
				}
		dp_rank_free(&m);
	}
	assert_true(met); /* a step meets the bound exactly */
}

/* ---- draws ----------------------------------------------------------------------------------- */

/* A million draws against E / W and 1 / V, and ranks against even numbers in 8 x 8 fields. Then a
 * table of a larger epsilon, which must not pass. */
static void draws_follow_the_law(void **state) {
	(void)state;
	enum { WORDS = 64 };
	uint64_t seed = nightly_seed(17);
	const size_t draws = repetitions(1000000, 10000000);
	struct dp_rank *m = ranking(DP_RANK_ENVELOPE, WORDS, 0, 6 * MILLION,
	                            (struct dp_random){test_fill, &seed}),
	               *wrong = ranking(DP_RANK_ENVELOPE, WORDS, 0, 6100000,
	                                (struct dp_random){test_fill, &seed});
	static size_t ranks[WORDS], evens[WORDS], both[64];
	static double law[WORDS], other[WORDS], even[WORDS], fields[64];
	for (uint32_t r = 0; r < WORDS; r++) {
		law[r] = dp_rank_share(m, r + 1) - dp_rank_share(m, r);
		other[r] = dp_rank_share(wrong, r + 1) - dp_rank_share(wrong, r);
		even[r] = 1.0 / WORDS;
	}
	for (size_t i = 0; i < draws; i++) {
		struct dp_rank_drawn drawn;
		assert_int_equal(dp_rank_draw(m, &drawn), DP_OK);
		assert_true(drawn.rank < WORDS && drawn.even < WORDS);
		ranks[drawn.rank]++;
		evens[drawn.even]++;
		both[drawn.rank / 8 * 8 + drawn.even / 8]++;
	}
	for (int i = 0; i < 64; i++)
		for (int r = 0; r < 8; r++) fields[i] += law[i / 8 * 8 + r] / 8.0;
	assert_true(fit(ranks, law, WORDS, draws) >= FALSE_ALARM);
	assert_true(fit(evens, even, WORDS, draws) >= FALSE_ALARM);
	assert_true(fit(both, fields, 64, draws) >= FALSE_ALARM);
	assert_true(fit(ranks, other, WORDS, draws) < FALSE_ALARM);
	assert_true(fit(evens, law, WORDS, draws) < FALSE_ALARM);
	dp_rank_free(&m);
	dp_rank_free(&wrong);
}

/* Whether two words, or a word and null, show more than epsilon .5: some output is that much
 * likelier in one world than in the other, with a false alarm of at most FALSE_ALARM over all of
 * them. */
static bool tells_worlds_apart(uint32_t epsilon, bool null, uint64_t *seed, size_t draws) {
	enum { WORDS = 8 };
	struct dp_rank *m =
	    ranking(DP_RANK_STEP, WORDS, 1, epsilon, (struct dp_random){test_fill, seed});
	static const int32_t one[WORDS] = {8, 7, 6, 5, 4, 3, 2, 1},
	                     other[WORDS] = {1, 2, 3, 4, 5, 6, 7, 8};
	size_t seen[2][WORDS] = {{0}};
	for (size_t i = 0; i < draws; i++)
		for (int world = 0; world < 2; world++) {
			struct dp_rank_drawn drawn;
			assert_int_equal(dp_rank_draw(m, &drawn), DP_OK);
			const int32_t *keys = world == 0 ? one : null ? NULL : other;
			seen[world][dp_rank_output(m, &drawn, keys)]++;
		}
	dp_rank_free(&m);
	bool apart = false;
	for (int y = 0; y < WORDS; y++)
		for (int world = 0; world < 2; world++) {
			const double alpha = FALSE_ALARM / (4 * WORDS),
			             at_least = proportion_above(seen[world][y], draws, alpha),
			             at_most = proportion_below(seen[!world][y], draws, alpha);
			apart |= at_least > exp(0.5) * at_most;
		}
	return apart;
}

static void two_worlds(void **state) {
	(void)state;
	uint64_t seed = nightly_seed(23);
	const size_t draws = repetitions(100000, 1000000);
	for (int null = 0; null < 2; null++) {
		assert_false(tells_worlds_apart(500000, null, &seed, draws));
		assert_true(tells_worlds_apart(1000000, null, &seed, draws));
	}
}

/* ---- what is drawn does not depend on the word -------------------------------------------------
 */

struct counted {
	uint64_t seed;
	size_t calls;
	size_t fails_at; /* the call that fails, from 1; later ones succeed. 0: none */
};

static enum dp_status counted_fill(void *user, void *bytes, size_t size) {
	struct counted *source = user;
	if (++source->calls == source->fails_at) return DP_NO_ENTROPY;
	return test_fill(&source->seed, bytes, size);
}

/* Two mechanisms with equal random bits serve other places, words and nulls in another order. Their
 * draws, and how many random bits they took, are the same throughout. */
static void nothing_drawn_depends_on_words(void **state) {
	(void)state;
	enum { WORDS = 64 };
	struct counted sources[2] = {{.seed = 5}, {.seed = 5}};
	struct dp_rank *m[2];
	for (int n = 0; n < 2; n++)
		m[n] = ranking(DP_RANK_STEP, WORDS, 20, 6 * MILLION,
		               (struct dp_random){counted_fill, &sources[n]});
	uint64_t seed = 7;
	for (int place = 0; place < 500; place++) {
		struct dp_rank_drawn drawn[2];
		int32_t keys[2][WORDS];
		for (int n = 0; n < 2; n++) {
			make_keys((int)test_below(&seed, KINDS), &seed, WORDS, keys[n]);
			assert_int_equal(dp_rank_draw(m[n], &drawn[n]), DP_OK);
		}
		assert_int_equal(drawn[0].rank, drawn[1].rank);
		assert_int_equal(drawn[0].even, drawn[1].even);
		assert_int_equal(sources[0].calls, sources[1].calls);
		for (int n = 0; n < 2; n++)
			(void)dp_rank_output(m[n], &drawn[n],
			                     test_below(&seed, 3) ? keys[n] : NULL);
		assert_int_equal(sources[0].calls, sources[1].calls);
	}
	for (int n = 0; n < 2; n++) dp_rank_free(&m[n]);
}

/* The source fails once, at the rank or at the even number. No output comes then, nor later. */
static void failed_source(void **state) {
	(void)state;
	for (size_t fails_at = 1; fails_at <= 8; fails_at++) {
		struct counted source = {.seed = 3, .fails_at = fails_at};
		struct dp_rank *m = ranking(DP_RANK_STEP, 64, 20, 6 * MILLION,
		                            (struct dp_random){counted_fill, &source});
		for (int place = 0; place < 20; place++) {
			struct dp_rank_drawn drawn = {77, 77};
			const enum dp_status status = dp_rank_draw(m, &drawn);
			if (source.calls < fails_at) {
				assert_int_equal(status, DP_OK);
				assert_true(drawn.rank < 64 && drawn.even < 64);
				continue;
			}
			assert_int_equal(status, DP_NO_ENTROPY);
			assert_true(drawn.rank == 0 && drawn.even == 0);
			assert_int_equal(source.calls, fails_at);
		}
		assert_int_equal(source.calls, fails_at);
		dp_rank_free(&m);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_rank_is_that_of_a_full_sort),
	    cmocka_unit_test(misuse_of_an_order),
	    cmocka_unit_test(toy_orders),
	    cmocka_unit_test(all_odds_are_within_the_bound),
	    cmocka_unit_test(draws_follow_the_law),
	    cmocka_unit_test(two_worlds),
	    cmocka_unit_test(nothing_drawn_depends_on_words),
	    cmocka_unit_test(failed_source),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
