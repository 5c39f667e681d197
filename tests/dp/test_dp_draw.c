// SPDX-License-Identifier: Apache-2.0
// Tests dp/draw.c, the exact draw of an index with given integer weights, and dp/entropy.c below
// it. It goes through every random number u of a small total weight W, compares a million draws
// with their law by chi-square, and lets the system's source fail in every way it can.
// It fails if one u gives a wrong index, if the draws do not follow the weights, or if a failing
// source still gives an index.
#include "tests/dp/test_dp_support.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/types.h>

#include "dp/draw.h"
#include "dp/weights.h"

/* ---- the system source, replaced at link time ------------------------------------------------ */

static int scenario[8]; /* what successive calls answer: > 0 that many bytes, 0 none, < 0 -errno */
static size_t calls;

ssize_t getrandom(void *bytes, size_t size, unsigned flags) {
	assert_int_equal(flags, 0);
	assert_true(calls < 8);
	int answer = scenario[calls++];
	if (answer < 0) {
		errno = -answer;
		return -1;
	}
	if ((size_t)answer > size) answer = (int)size;
	memset(bytes, 0x5a, (size_t)answer);
	return answer;
}

static enum dp_status system_fill(unsigned char *bytes, size_t size, const int *answers,
                                  size_t count) {
	memset(scenario, 0, sizeof scenario);
	memcpy(scenario, answers, count * sizeof *answers);
	calls = 0;
	struct dp_random random = dp_random_system();
	return random.fill(random.user, bytes, size);
}

static void system_source(void **state) {
	(void)state;
	unsigned char bytes[33] = {0}, want[32];
	memset(want, 0x5a, 32);
	assert_int_equal(system_fill(bytes, 32, (int[]){32}, 1), DP_OK);
	assert_int_equal(calls, 1);
	memset(bytes, 0, sizeof bytes);
	assert_int_equal(system_fill(bytes, 32, (int[]){-EINTR, 1, 15, -EINTR, 100}, 5), DP_OK);
	assert_int_equal(calls, 5);
	assert_memory_equal(bytes, want, 32);
	assert_int_equal(bytes[32], 0);
	assert_int_equal(system_fill(bytes, 32, (int[]){-ENOSYS}, 1), DP_NO_ENTROPY);
	assert_int_equal(system_fill(bytes, 32, (int[]){-EAGAIN}, 1), DP_NO_ENTROPY);
	assert_int_equal(system_fill(bytes, 32, (int[]){31, -EIO}, 2), DP_NO_ENTROPY);
	assert_int_equal(system_fill(bytes, 32, (int[]){31, 0}, 2), DP_NO_ENTROPY);
	assert_int_equal(calls, 2);
}

static void no_index_without_entropy(void **state) {
	(void)state;
	const struct dp_wide weights[3] = {{1, 0}, {2, 0}, {3, 0}};
	struct dp_random random = dp_random_system();
	size_t index = 77;
	memset(scenario, 0, sizeof scenario);
	calls = 0;
	assert_int_equal(dp_draw(weights, 3, &random, &index), DP_NO_ENTROPY);
	assert_int_equal(index, 77);
}

/* ---- the draw -------------------------------------------------------------------------------- */

/* Hands out a list of 256-bit words. */
struct words {
	const struct dp_wide *word;
	size_t count, next;
};

static enum dp_status fill_words(void *user, void *bytes, size_t size) {
	struct words *words = user;
	assert_int_equal(size, 32);
	if (words->next == words->count) return DP_NO_ENTROPY;
	memcpy(bytes, &words->word[words->next++], 32);
	return DP_OK;
}

/* W = 6, or 6 2^128. Three bits are taken; 6 and 7 are thrown away; the bits above the mask have no
 * effect. */
static void every_u(void **state) {
	(void)state;
	static const unsigned weights[5] = {1, 0, 2, 3, 0};
	static const size_t want[6] = {0, 2, 2, 3, 3, 3};
	for (int wide = 0; wide < 2; wide++)
		for (unsigned u = 0; u < 6; u++) {
			struct dp_wide w[5],
			    list[3] = {
			        {7, 0}, {((unsigned __int128)0xabcdef << 80) + 6, 7}, {0, 0}};
			for (int i = 0; i < 5; i++)
				w[i] = wide ? (struct dp_wide){0, weights[i]}
				            : (struct dp_wide){weights[i], 0};
			if (wide)
				list[0] = (struct dp_wide){0, 7},
				list[1] =
				    (struct dp_wide){5, ((unsigned __int128)0xabcdef << 80) + 6};
			list[2] = (struct dp_wide){((unsigned __int128)0x7654321 << 99) + u, 0};
			if (wide) list[2] = (struct dp_wide){~list[2].low, list[2].low};
			assert_int_equal(dp_pick(w, 5,
			                         wide ? (struct dp_wide){~list[2].low, u}
			                              : (struct dp_wide){u, 0}),
			                 want[u]);
			struct words words = {list, 3, 0};
			struct dp_random random = {fill_words, &words};
			size_t index = 77;
			assert_int_equal(dp_draw(w, 5, &random, &index), DP_OK);
			assert_int_equal(index, want[u]);
			assert_int_equal(words.next, 3);
		}
	/* the carry between the halves, on either side of each boundary */
	const unsigned __int128 ones = ~(unsigned __int128)0;
	const struct dp_wide large[2] = {{ones, 5}, {2, ones >> 2}};
	assert_int_equal(dp_pick(large, 2, (struct dp_wide){ones - 1, 5}), 0);
	assert_int_equal(dp_pick(large, 2, (struct dp_wide){ones, 5}), 1);
	assert_int_equal(dp_pick(large, 2, (struct dp_wide){0, 6}), 1);
	assert_int_equal(dp_pick(large, 2, (struct dp_wide){0, (ones >> 2) + 6}), 1);
	/* W = 2^128: no bit of the lower half is masked off */
	const struct dp_wide halves[2] = {{ones / 2 + 1, 0}, {ones / 2 + 1, 0}},
	                     middle = {ones / 2 + 1, ones << 1};
	struct words words = {&middle, 1, 0};
	struct dp_random random = {fill_words, &words};
	size_t index = 77;
	assert_int_equal(dp_draw(halves, 2, &random, &index), DP_OK);
	assert_int_equal(index, 1);
	struct dp_wide many[1000];
	for (size_t i = 0; i < 1000; i++) many[i] = (struct dp_wide){1, 0};
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(dp_pick(many, 1000, (struct dp_wide){i, 0}), i);
	const struct dp_wide one[1] = {{1, 0}};
	assert_int_equal(dp_pick(one, 1, (struct dp_wide){0, 0}), 0);
	assert_misuse((void)dp_pick(one, 0, (struct dp_wide){0, 0}));
}

/* Every u of every total up to 40, in 1 to 20 weights, some of them zero: the sums of the weights
 * give the index that the weights give, at the same number of random bits. */
static void sums_pick_like_weights(void **state) {
	(void)state;
	uint64_t seed = 21;
	for (int turn = 0; turn < 4 * 60; turn++) {
		const size_t n = 1 + test_below(&seed, 20);
		/* shift 127: the weights reach into both halves */
		const unsigned shift = turn % 4 * 42 + (turn % 4 == 3);
		struct dp_wide weights[20], prefixes[20], sum = {0, 0};
		unsigned total = 0;
		for (size_t i = 0; i < n; i++) {
			const unsigned w = (unsigned)test_below(&seed, 3) + (i == n / 2);
			weights[i] =
			    dp_wide_times((struct dp_wide){(unsigned __int128)1 << shift, 0}, w);
			prefixes[i] = sum = dp_wide_sum(sum, weights[i]);
			total += w;
		}
		for (unsigned u = 0; u < total; u++) {
			const struct dp_wide number =
			    dp_wide_times((struct dp_wide){(unsigned __int128)1 << shift, 0}, u);
			size_t indices[2] = {77, 78};
			for (int summed = 0; summed < 2; summed++) {
				const struct dp_wide list[2] = {
				    {~(unsigned __int128)0, ~(unsigned __int128)0}, number};
				struct words words = {list, 2, 0};
				struct dp_random random = {fill_words, &words};
				/* All ones are a number below W in no case: W is below 2^n. */
				assert_int_equal(
				    summed ? dp_draw_summed(prefixes, n, &random, &indices[1])
				           : dp_draw(weights, n, &random, &indices[0]),
				    DP_OK);
				assert_int_equal(words.next, 2);
			}
			assert_int_equal(indices[0], indices[1]);
			assert_int_equal(indices[0], dp_pick(weights, n, number));
		}
	}
	const struct dp_wide one[1] = {{1, 0}};
	struct dp_random none = {NULL, NULL};
	size_t index;
	assert_misuse((void)dp_draw_summed(one, 0, &none, &index));
}

/* Hands out a list of 64-bit words. */
struct short_words {
	const uint64_t *word;
	size_t count, next;
};

static enum dp_status fill_short_words(void *user, void *bytes, size_t size) {
	struct short_words *words = user;
	assert_int_equal(size, 8);
	if (words->next == words->count) return DP_NO_ENTROPY;
	memcpy(bytes, &words->word[words->next++], 8);
	return DP_OK;
}

/* As many bits as n - 1 has: those from n on are thrown away, the bits above have no effect. */
static void every_number_below(void **state) {
	(void)state;
	static const uint32_t sizes[] = {1, 2, 3, 5, 8, 9, 31, 64, 1000, UINT32_MAX};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		const uint32_t n = sizes[s];
		uint64_t bound = 1;
		while (bound < n) bound *= 2;
		const uint64_t from = n > 2000 ? bound - 2000 : 0;
		for (uint64_t u = from; u < bound; u++) {
			const uint64_t list[2] = {(UINT64_C(0xabcdef) << 40) * bound + u, 0};
			struct short_words words = {list, 2, 0};
			struct dp_random random = {fill_short_words, &words};
			uint32_t number = 77;
			assert_int_equal(dp_draw_below(n, &random, &number), DP_OK);
			assert_int_equal(number, u < n ? u : 0);
			assert_int_equal(words.next, u < n ? 1 : 2);
		}
	}
	struct short_words none = {NULL, 0, 0};
	struct dp_random random = {fill_short_words, &none};
	uint32_t number = 77;
	assert_int_equal(dp_draw_below(5, &random, &number), DP_NO_ENTROPY);
	assert_int_equal(number, 77);
	assert_misuse((void)dp_draw_below(0, &random, &number));
}

static enum dp_status fill_ones(void *user, void *bytes, size_t size) {
	++*(int *)user;
	memset(bytes, 0xff, size);
	return DP_OK;
}

/* All ones is never below W, unless W is 2^n. A source of ones is stuck: the draw gives up instead
 * of hanging. */
static void a_stuck_source(void **state) {
	(void)state;
	const struct dp_wide weights[2] = {{3, 0}, {3, 0}};
	int asked = 0;
	struct dp_random random = {fill_ones, &asked};
	size_t index = 77;
	assert_int_equal(dp_draw(weights, 2, &random, &index), DP_NO_ENTROPY);
	assert_int_equal(index, 77);
	assert_int_equal(asked, 1000);
	assert_int_equal(dp_draw_summed((struct dp_wide[2]){{3, 0}, {6, 0}}, 2, &random, &index),
	                 DP_NO_ENTROPY);
	assert_int_equal(index, 77);
	assert_int_equal(asked, 2000);
	uint32_t number = 77;
	assert_int_equal(dp_draw_below(6, &random, &number), DP_NO_ENTROPY);
	assert_int_equal(number, 77);
	assert_int_equal(asked, 3000);
}

static double real(struct dp_wide w) {
	return (double)w.low + 0x1p128 * (double)w.high;
}

/* Chi-square of n draws over `tokens` cells; every expected count is above 5. */
static double chi_square(const struct dp_wide *weights, size_t tokens, uint64_t seed, size_t n) {
	size_t seen[32] = {0};
	struct dp_random random = {test_fill, &seed};
	double total = 0;
	for (size_t i = 0; i < tokens; i++) total += real(weights[i]);
	for (size_t i = 0; i < n; i++) {
		size_t index;
		assert_int_equal(dp_draw(weights, tokens, &random, &index), DP_OK);
		assert_true(index < tokens);
		seen[index]++;
	}
	double sum = 0;
	for (size_t i = 0; i < tokens; i++) {
		double expected = (double)n * (real(weights[i]) / total);
		assert_true(expected > 5);
		sum += ((double)seen[i] - expected) * ((double)seen[i] - expected) / expected;
	}
	return sum;
}

/* The limits are the 1 - 1e-6 quantiles of chi-square with 7 and 31 degrees of freedom. The
 * generator's seed is fixed, so the result is always the same. */
static void a_million_draws(void **state) {
	(void)state;
	/* a worked example, k = 8 */
	static const uint64_t a[8] = {72057594037927936, 47503293704291351, 38569650720382781,
	                              5914847507444773,  3899307798347416,  485520249509175,
	                              28218159270045144, 4962390906005};
	static const uint64_t e[8] = {4827464775455934, 4503599627370496, 4503599627370496,
	                              5174619878871092, 4201461957169036, 4503599627370496,
	                              4058081510359235, 5174619878871092};
	struct dp_wide weights[32];
	for (int i = 0; i < 8; i++) weights[i] = dp_wide_product(a[i], e[i]);
	double example = chi_square(weights, 8, 42, 1000000);
	assert_true(example < 40.52);
	uint64_t seed = 9;
	for (int i = 0; i < 32; i++)
		weights[i] =
		    dp_wide_product(test_random(&seed), (unsigned __int128)1 << (i % 7 + 50));
	assert_true(chi_square(weights, 32, 43, 1000000) < 83.64);
	/* the test can fail: odds wrong by 1 % in the likeliest token are seen */
	for (int i = 0; i < 8; i++) weights[i] = dp_wide_product(a[i], e[i]);
	size_t seen = 0, n = 1000000;
	struct dp_random random = {test_fill, &seed};
	for (size_t i = 0; i < n; i++) {
		size_t index;
		assert_int_equal(dp_draw(weights, 8, &random, &index), DP_OK);
		seen += index == 0;
	}
	double p = 0.386846827006084, deviation = ((double)seen - 1.01 * p * (double)n) / 487.0;
	assert_true(deviation < -4.9);
}

/* B = 127 at C/tau = 22. E spans 55 of its 64 bits here. A, from 2^56 down to 2, makes up for E. So
 * each of 32 tokens is seen as often as its integers say. */
static void a_wide_table(void **state) {
	(void)state;
	enum { NAT = 127 << 8 }; /* units of S */
	struct dp_weights w;
	assert_int_equal(dp_weights_init(&w, 127, 22 << 8, 8, 1, 1, 100), DP_OK);
	struct dp_wide weights[32], total = {0, 0};
	uint64_t seed = 12;
	unsigned __int128 smallest = ~(unsigned __int128)0, largest = 0;
	for (int i = 0; i < 32; i++) {
		const int32_t sum =
		    w.sum_limit - i * (38 * NAT / 31) - (int32_t)test_below(&seed, NAT / 4);
		const unsigned __int128 e = dp_weight_private(&w, sum);
		weights[i] = dp_wide_product(dp_weight_public(&w, (sum + 17 * NAT) / 127), e);
		total = dp_wide_sum(total, weights[i]);
		smallest = e < smallest ? e : smallest;
		largest = e > largest ? e : largest;
	}
	assert_true(largest >> 54 > smallest);
	assert_true(total.high > 0); /* 128 bits would not hold the total */
	assert_true(chi_square(weights, 32, 44, 1000000) < 83.64);
	dp_weights_release(&w);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(system_source),
	    cmocka_unit_test(no_index_without_entropy),
	    cmocka_unit_test(every_u),
	    cmocka_unit_test(sums_pick_like_weights),
	    cmocka_unit_test(every_number_below),
	    cmocka_unit_test(a_stuck_source),
	    cmocka_unit_test(a_million_draws),
	    cmocka_unit_test(a_wide_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
