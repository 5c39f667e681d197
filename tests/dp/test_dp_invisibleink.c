// SPDX-License-Identifier: Apache-2.0
// Tests dp/invisibleink.c, the mechanism: a worked example, null
// references, allowed tokens, the cap, the order of calls, and failure.
// It fails if the example is off by one bit, if a null reference changes anything, if a token
// beyond the cap is drawn, or if a call out of order is not caught.
#include "tests/dp/test_dp_support.h"

#include <math.h>
#include <stdlib.h>

#include "dp/account.h"
#include "dp/invisibleink.h"
#include "dp/wide.h"

enum { V = 8, B = 3 };

static const float public_row[V] = {4, 3.5f, 3.25f, 1, .5f, -2, 2.875f, -7.5f};
static const float private_rows[B][V] = {{4, 4.5f, 3, 1, .5f, -2, 2.875f, 9},
                                         {3.75f, 3.5f, 3.5f, 2, .5f, -2, 3, -7.5f},
                                         {5, 3, 3.25f, 1, .25f, -2, 2, -7.5f}};

/* A source that gives one number of 256 bits, the upper half 0. It fails when told to. */
struct one_number {
	unsigned __int128 u;
	bool broken;
};

static enum dp_status fill_number(void *user, void *bytes, size_t size) {
	struct one_number *number = user;
	assert_int_equal(size, 32);
	if (number->broken) return DP_NO_ENTROPY;
	const struct dp_wide u = {number->u, 0};
	memcpy(bytes, &u, 32);
	return DP_OK;
}

static struct dp_invisibleink_params example(struct one_number *number, uint32_t k) {
	return (struct dp_invisibleink_params){.batch = B,
	                                       .top_k = k,
	                                       .tokens = 100,
	                                       .vocab = V,
	                                       .temperature_num = 6,
	                                       .temperature_den = 5,
	                                       .clip_fixed = 128,
	                                       .fraction_bits = 8,
	                                       .random = {fill_number, number}};
}

static struct dp_invisibleink *make(const struct dp_invisibleink_params *params) {
	struct dp_invisibleink *m;
	assert_int_equal(dp_invisibleink_new(params, &m), DP_OK);
	dp_invisibleink_begin(m, 0);
	return m;
}

/* Adds one public row, and the private rows in candidate order but number `without` (-1: all). */
static size_t feed(struct dp_invisibleink *m, int without, uint32_t *tokens) {
	const uint32_t *candidates;
	size_t count;
	assert_int_equal(dp_invisibleink_public(m, public_row, &candidates, &count), DP_OK);
	for (int row = 0; row < B; row++) {
		float logits[V];
		for (size_t i = 0; i < count; i++) logits[i] = private_rows[row][candidates[i]];
		if (row != without) dp_invisibleink_private(m, logits);
	}
	memcpy(tokens, candidates, count * sizeof *tokens);
	return count;
}

static long double weight(const struct dp_invisibleink *m, size_t i) {
	return (long double)dp_invisibleink_public_weight(m, i) *
	       (long double)dp_invisibleink_private_weight(m, i);
}

static unsigned __int128 decimal(const char *digits) {
	unsigned __int128 n = 0;
	for (; *digits; digits++) n = n * 10 + (unsigned)(*digits - '0');
	return n;
}

static void worked_example(void **state) {
	(void)state;
	static const int32_t sum[V] = {64, 0, 0, 128, -64, 0, -96, 128};
	static const uint64_t a[V] = {72057594037927936, 47503293704291351, 38569650720382781,
	                              5914847507444773,  3899307798347416,  485520249509175,
	                              28218159270045144, 4962390906005};
	static const uint64_t e[V] = {4827464775455934, 4503599627370496, 4503599627370496,
	                              5174619878871092, 4201461957169036, 4503599627370496,
	                              4058081510359235, 5174619878871092};
	static const long double p[2][V] = {
	    {0.386846827006084L, 0.237916008927631L, 0.193172654979443L, 0.0340378541714443L,
	     0.0182191504475284L, 0.00243168485822985L, 0.127347262806141L, 2.8556803499617e-5L},
	    {0.472955179600045L, 0.29087380553938L, 0.236171014860575L}};
	for (int small = 0; small < 2; small++) {
		struct one_number number = {0};
		struct dp_invisibleink_params params = example(&number, small ? 3 : 8);
		struct dp_invisibleink *m = make(&params);
		uint32_t tokens[V], token;
		size_t count = feed(m, -1, tokens);
		assert_int_equal(count, small ? 3 : 8);
		long double total = 0;
		for (size_t i = 0; i < count; i++) total += weight(m, i);
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(tokens[i], i);
			assert_int_equal(dp_invisibleink_sum(m, i), sum[i]);
			/* none of the sixteen differs from the published integers, even by 1 */
			assert_true(dp_invisibleink_public_weight(m, i) == a[i]);
			assert_true(dp_invisibleink_private_weight(m, i) == e[i]);
			assert_true(fabsl(weight(m, i) / total / p[small][i] - 1.0L) < 3e-14L);
		}
		assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
		assert_int_equal(token, 0);
		if (small) {
			/* U = W/3, W/2, W-1, W */
			unsigned __int128 w = 0;
			for (size_t i = 0; i < 3; i++) w += (unsigned __int128)a[i] * e[i];
			assert_true(w / 3 == decimal("245164525819948154732618622260565"));
			assert_true(w / 2 == decimal("367746788729922232098927933390848"));
			const unsigned __int128 u[3] = {w / 3, w / 2, w - 1};
			for (uint32_t i = 0; i < 3; i++) {
				number.u = u[i];
				feed(m, -1, tokens);
				assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
				assert_int_equal(token, i);
			}
		}
		dp_invisibleink_free(&m);
		assert_null(m);
	}
}

/* At gain 2 the rows are clipped to half as much, and count twice. */
static void a_gain(void **state) {
	(void)state;
	static const int32_t sum[V] = {0, 0, 0, 64, -64, 0, -32, 64};
	struct one_number number = {0};
	struct dp_invisibleink_params params = example(&number, 8);
	params.gain = 200;
	params.clip_fixed = 64;
	struct dp_invisibleink *m = make(&params), *as_before;
	uint32_t tokens[V];
	assert_int_equal(feed(m, -1, tokens), V);
	long double total = 0;
	for (size_t i = 0; i < V; i++) total += weight(m, i);
	for (size_t i = 0; i < V; i++) assert_int_equal(dp_invisibleink_sum(m, i), sum[i]);
	assert_true(dp_invisibleink_private_weight(m, 3) == 5174619878871092);
	assert_true(fabsl(weight(m, 0) / total / 0.369267406184272L - 1.0L) < 3e-14L);
	/* The public weights are those of gain 1, and so are the candidates. */
	params.gain = 0;
	params.clip_fixed = 128;
	params.top_k = 3;
	as_before = make(&params);
	size_t count = feed(as_before, -1, tokens);
	dp_invisibleink_free(&m);
	params.gain = 200;
	params.clip_fixed = 64;
	m = make(&params);
	assert_int_equal(feed(m, -1, tokens), count);
	for (size_t i = 0; i < count; i++)
		assert_true(dp_invisibleink_public_weight(m, i) ==
		            dp_invisibleink_public_weight(as_before, i));
	dp_invisibleink_free(&m);
	dp_invisibleink_free(&as_before);
}

/* The claim counts the gain: at half the clip and twice the gain it is the same. The clip that is
 * found for an epsilon is the largest whose claim keeps within it. */
static void a_gain_is_paid_for(void **state) {
	(void)state;
	struct dp_integers n = {.batch = B,
	                        .tokens = 100,
	                        .temperature_num = 6,
	                        .temperature_den = 5,
	                        .clip_fixed = 128,
	                        .fraction_bits = 8};
	const double rho = dp_guarantee_rho(&n);
	n.gain = 200;
	assert_true(dp_guarantee_rho(&n) > 3.99 * rho);
	n.clip_fixed = 64;
	assert_true(dp_guarantee_rho(&n) == rho);
	/* 128 / 1.5 rounded down is what gain 1.5 leaves. */
	n.gain = 150;
	n.clip_fixed = 85;
	assert_true(dp_guarantee_rho(&n) <= rho);
	n.clip_fixed = 86;
	assert_true(dp_guarantee_rho(&n) > rho);
	static const unsigned gains[] = {0, 100, 137, 150, 200, 300};
	static const uint32_t batches[] = {7, 15, 127};
	for (size_t g = 0; g < sizeof gains / sizeof *gains; g++)
		for (size_t b = 0; b < sizeof batches / sizeof *batches; b++)
			for (double epsilon = 1; epsilon < 40; epsilon *= 3) {
				struct dp_integers i = {.batch = batches[b],
				                        .tokens = 100,
				                        .temperature_num = 6,
				                        .temperature_den = 5,
				                        .gain = gains[g]};
				double least, most;
				assert_int_equal(dp_clip_range(&i, &least, &most), DP_OK);
				assert_int_equal(dp_calibrate(&i, epsilon, 1e-6, NULL), DP_OK);
				assert_true(dp_guarantee_epsilon(&i, 1e-6) <= epsilon);
				i.clip_fixed++;
				assert_true(dp_guarantee_epsilon(&i, 1e-6) > epsilon ||
				            ldexp(i.clip_fixed, -(int)i.fraction_bits) > most);
			}
}

/* The token drawn at the first and the last u of every token's share, for all rows and without each
 * one. So the weights shown are those that are drawn from. */
static void the_weights_decide(void **state) {
	(void)state;
	struct one_number number = {0};
	struct dp_invisibleink_params params = example(&number, 8);
	struct dp_invisibleink *m = make(&params);
	uint32_t tokens[V], token;
	for (int without = -1; without < B; without++) {
		unsigned __int128 before = 0;
		for (size_t i = 0; i < 2 * V; i++) {
			assert_int_equal(feed(m, without, tokens), V);
			const unsigned __int128 share = dp_invisibleink_public_weight(m, i / 2) *
			                                dp_invisibleink_private_weight(m, i / 2);
			number.u = i % 2 ? before + share - 1 : before;
			before += i % 2 ? share : 0;
			assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
			assert_int_equal(token, tokens[i / 2]);
		}
	}
	dp_invisibleink_free(&m);
}

/* The range of ln(P/P') over the tokens when row j is null: the largest of the row's clipped
 * differences less the smallest, times gain, divided by B tau. */
static void check_ranges(const struct dp_invisibleink_params *given, const long double want[B]) {
	const long double eta = 2.0L * 128 * 5 / (6.0L * B * 256) * (1.0L + 1e-9L);
	const struct dp_invisibleink_params params = *given;
	struct dp_invisibleink *all = make(&params), *fewer = make(&params);
	uint32_t tokens[V], token;
	feed(all, -1, tokens);
	for (int j = 0; j < B; j++) {
		feed(fewer, j, tokens);
		long double low = INFINITY, high = -INFINITY;
		for (size_t i = 0; i < V; i++) {
			assert_true(dp_invisibleink_public_weight(all, i) ==
			            dp_invisibleink_public_weight(fewer, i));
			long double ratio = logl(weight(all, i) / weight(fewer, i));
			low = fminl(low, ratio);
			high = fmaxl(high, ratio);
		}
		assert_true(fabsl(high - low - want[j]) < 5.1e-7L);
		assert_true(high - low <= eta);
		assert_int_equal(dp_invisibleink_draw(fewer, &token), DP_OK);
	}
	dp_invisibleink_free(&all);
	dp_invisibleink_free(&fewer);
}

static void nulling_a_row(void **state) {
	(void)state;
	static const long double plain[B] = {0.208333L, 0.208333L, 0.277778L},
	                         twice[B] = {0.277778L, 0.277778L, 0.277778L};
	struct one_number number = {0};
	struct dp_invisibleink_params params = example(&number, 8);
	check_ranges(&params, plain);
	/* At gain 2 every row reaches eta. */
	params.gain = 200;
	params.clip_fixed = 64;
	check_ranges(&params, twice);
}

/* A shift is in A alone: A is that of a public row that has it already, V+ and S are those of the
 * row without it, and nulling a row moves the odds as far as before. */
static void a_shift(void **state) {
	(void)state;
	static const int32_t shift[V] = {-300, 0, 77, 512, 0, DP_MOST_SHIFT, 5, 0};
	for (uint32_t k = 3; k <= V; k += V - 3) {
		struct one_number number = {0};
		struct dp_invisibleink_params params = example(&number, k);
		struct dp_invisibleink *as_ever = make(&params), *fewer = make(&params),
		                       *shifted = make(&params);
		uint32_t tokens[V], same[V], token;
		assert_int_equal(dp_invisibleink_shift(shifted, shift), DP_OK);
		assert_int_equal(dp_invisibleink_shift(fewer, shift), DP_OK);
		const size_t count = feed(as_ever, -1, tokens);
		assert_int_equal(feed(shifted, -1, same), count);
		assert_memory_equal(same, tokens, count * sizeof *same);
		feed(fewer, 1, same);
		int64_t largest = INT64_MIN, of[V];
		for (size_t i = 0; i < count; i++) {
			of[i] = lroundf(public_row[tokens[i]] * 256) + shift[tokens[i]];
			if (of[i] > largest) largest = of[i];
		}
		long double low = INFINITY, high = -INFINITY;
		for (size_t i = 0; i < count; i++) {
			const int32_t sum = dp_invisibleink_sum(as_ever, i);
			const long double a = expl((long double)(of[i] - largest) / 256 / 1.2L);
			assert_int_equal(dp_invisibleink_sum(shifted, i), sum);
			assert_true(dp_invisibleink_private_weight(shifted, i) ==
			            dp_invisibleink_private_weight(as_ever, i));
			const uint64_t weight_of = dp_invisibleink_public_weight(shifted, i);
			assert_true(weight_of >= 1);
			assert_true(fabsl((long double)weight_of - a * 0x1p56L) <=
			            1 + a * 0x1p56L * 1e-15L);
			const long double ratio = logl(weight(shifted, i) / weight(fewer, i));
			low = fminl(low, ratio);
			high = fmaxl(high, ratio);
		}
		assert_true(high - low <= 2.0L * 128 * 5 / (6.0L * B * 256) * (1.0L + 1e-9L));
		assert_int_equal(dp_invisibleink_draw(shifted, &token), DP_OK);
		const int32_t none[V] = {0};
		assert_int_equal(dp_invisibleink_shift(shifted, none), DP_OK);
		feed(shifted, -1, same);
		for (size_t i = 0; i < count; i++)
			assert_true(dp_invisibleink_public_weight(shifted, i) ==
			            dp_invisibleink_public_weight(as_ever, i));
		dp_invisibleink_free(&as_ever);
		dp_invisibleink_free(&shifted);
		dp_invisibleink_free(&fewer);
	}
	struct one_number number = {0};
	struct dp_invisibleink_params params = example(&number, 3);
	struct dp_invisibleink *m = make(&params);
	const int32_t far[V] = {0, DP_MOST_SHIFT + 1};
	static const int32_t none[V];
	uint32_t tokens[V];
	assert_misuse((void)dp_invisibleink_shift(m, far));
	feed(m, -1, tokens);
	assert_misuse((void)dp_invisibleink_shift(m, none)); /* within a step */
	dp_invisibleink_free(&m);
}

/* A row that is not finite, wherever that is, counts as no row. Without any row the token is drawn
 * from the public distribution. */
static void null_is_nothing(void **state) {
	(void)state;
	struct one_number number = {0};
	struct dp_invisibleink_params params = example(&number, 0);
	struct dp_invisibleink *m = make(&params);
	const float bad[] = {NAN, INFINITY, -INFINITY};
	const uint32_t *candidates;
	size_t count;
	uint32_t token;
	for (int i = 0; i < 3; i++)
		for (int at = 0; at < V; at++) {
			assert_int_equal(dp_invisibleink_public(m, public_row, &candidates, &count),
			                 DP_OK);
			assert_int_equal(count, V);
			float logits[V];
			memcpy(logits, private_rows[0], sizeof logits);
			logits[at] = bad[i];
			dp_invisibleink_private(m, logits);
			for (size_t y = 0; y < V; y++)
				assert_int_equal(dp_invisibleink_sum(m, y), 0);
			dp_invisibleink_private(m, public_row);
			for (size_t y = 0; y < V; y++)
				assert_int_equal(dp_invisibleink_sum(m, y), 0);
			assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
		}
	dp_invisibleink_free(&m);
}

static void allowed_tokens(void **state) {
	(void)state;
	struct one_number number = {0};
	struct dp_invisibleink_params params = example(&number, 2);
	uint8_t allowed[V] = {0, 0, 1, 1, 1, 1, 0, 1};
	params.allowed = allowed;
	struct dp_invisibleink *m = make(&params);
	memset(allowed, 0, sizeof allowed); /* the mechanism has its own copy */
	const uint32_t *candidates;
	size_t count;
	assert_int_equal(dp_invisibleink_public(m, public_row, &candidates, &count), DP_OK);
	assert_int_equal(count, 2); /* l = 1, the second among the allowed */
	assert_int_equal(candidates[0], 2);
	assert_int_equal(candidates[1], 3);
	assert_true(dp_invisibleink_public_weight(m, 0) == (uint64_t)1 << 56);
	dp_invisibleink_free(&m);
	assert_int_equal(dp_invisibleink_new(&params, &m), DP_BAD_PARAMETER); /* nothing allowed */
	assert_null(m);
}

/* What is allowed in one step is so in that step alone, and V+ is found among it. */
static void allowed_in_one_step(void **state) {
	(void)state;
	struct one_number number = {0};
	const uint8_t some[V] = {0, 0, 0, 1, 1, 1};
	const uint32_t *tokens;
	size_t count;
	struct dp_invisibleink_params params = example(&number, 2);
	struct dp_invisibleink *m = make(&params);
	dp_invisibleink_begin(m, 0);
	dp_invisibleink_allow(m, some);
	assert_int_equal(dp_invisibleink_public(m, public_row, &tokens, &count), DP_OK);
	assert_in_range(count, 2, 3);
	for (size_t i = 0; i < count; i++) assert_in_range(tokens[i], 3, 5);
	dp_invisibleink_begin(m, 0);
	assert_int_equal(dp_invisibleink_public(m, public_row, &tokens, &count), DP_OK);
	assert_int_equal(tokens[0], 0);
	dp_invisibleink_free(&m);
}

static void refuses_to_draw(struct dp_invisibleink *m) {
	uint32_t token;
	assert_misuse((void)dp_invisibleink_draw(m, &token));
}

static void the_cap(void **state) {
	(void)state;
	struct one_number number = {0};
	struct dp_invisibleink_params params = example(&number, 3);
	params.tokens = 4;
	struct dp_invisibleink *m = make(&params);
	uint32_t tokens[V], token;
	const uint32_t *candidates;
	size_t count = 9;
	float nan_row[V] = {NAN};
	for (uint32_t spent = 0; spent < 7; spent++) {
		dp_invisibleink_begin(m, spent);
		uint32_t drawn = 0;
		for (; dp_invisibleink_spent(m) < 4; drawn++) {
			feed(m, -1, tokens);
			assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
		}
		assert_int_equal(drawn, spent < 4 ? 4 - spent : 0);
		/* said before the row is looked at */
		assert_int_equal(dp_invisibleink_public(m, nan_row, &candidates, &count), DP_SPENT);
		assert_null(candidates);
		assert_int_equal(count, 0);
		refuses_to_draw(m);
	}
	/* a step counts whatever rows there are, also when there are none */
	dp_invisibleink_begin(m, 3);
	assert_int_equal(dp_invisibleink_public(m, public_row, &candidates, &count), DP_OK);
	assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
	assert_int_equal(dp_invisibleink_spent(m), 4);
	/* a batch cannot be begun in the middle of a step to win a token back */
	dp_invisibleink_begin(m, 3);
	feed(m, -1, tokens);
	dp_invisibleink_begin(m, 4);
	refuses_to_draw(m);
	dp_invisibleink_free(&m);
}

static void the_order(void **state) {
	(void)state;
	struct one_number number = {0};
	struct dp_invisibleink_params params = example(&number, 3);
	struct dp_invisibleink *m;
	uint32_t tokens[V], token;
	const uint32_t *candidates;
	size_t count;
	assert_int_equal(dp_invisibleink_new(&params, &m), DP_OK);
	assert_misuse(
	    (void)dp_invisibleink_public(m, public_row, &candidates, &count)); /* no begin */
	dp_invisibleink_begin(m, 0);
	assert_misuse(dp_invisibleink_private(m, public_row));
	assert_misuse((void)dp_invisibleink_draw(m, &token));
	feed(m, -1, tokens);
	assert_misuse(dp_invisibleink_private(m, public_row)); /* a fourth row */
	assert_misuse((void)dp_invisibleink_public(m, public_row, &candidates, &count));
	assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
	assert_misuse((void)dp_invisibleink_draw(m, &token)); /* the same step twice */
	assert_misuse((void)dp_invisibleink_sum(m, 3));
	dp_invisibleink_free(&m);
	dp_invisibleink_free(&m);
}

static void public_row_not_finite(void **state) {
	(void)state;
	struct one_number number = {0};
	struct dp_invisibleink_params params = example(&number, 3);
	struct dp_invisibleink *m = make(&params);
	const uint32_t *candidates;
	size_t count;
	uint32_t tokens[V], token;
	float row[V] = {1, 2, 3, 4, 5, 6, 7, INFINITY};
	assert_int_equal(dp_invisibleink_public(m, row, &candidates, &count), DP_PUBLIC_NOT_FINITE);
	assert_null(candidates);
	assert_misuse((void)dp_invisibleink_draw(m, &token));
	assert_int_equal(dp_invisibleink_spent(m), 0);
	feed(m, -1, tokens);
	assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
	dp_invisibleink_free(&m);
}

static void no_entropy(void **state) {
	(void)state;
	struct one_number number = {0};
	struct dp_invisibleink_params params = example(&number, 3);
	struct dp_invisibleink *m = make(&params);
	const uint32_t *candidates;
	size_t count;
	uint32_t tokens[V], token = 77;
	feed(m, -1, tokens);
	number.broken = true;
	assert_int_equal(dp_invisibleink_draw(m, &token), DP_NO_ENTROPY);
	assert_int_equal(token, 77);
	assert_int_equal(dp_invisibleink_spent(m), 1);
	number.broken = false; /* the mechanism still never draws, in any batch */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(dp_invisibleink_public(m, public_row, &candidates, &count),
		                 DP_NO_ENTROPY);
		refuses_to_draw(m);
		dp_invisibleink_begin(m, 0);
	}
	assert_int_equal(token, 77);
	dp_invisibleink_free(&m);
}

static void bad_parameters(void **state) {
	(void)state;
	struct one_number number = {0};
	struct dp_invisibleink *m;
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		struct dp_invisibleink_params params = example(&number, 3);                        \
		change;                                                                            \
		assert_int_equal(dp_invisibleink_new(&params, &m), DP_BAD_PARAMETER);              \
		assert_null(m);                                                                    \
	} while (0)
	REFUSED(params.batch = 0);
	REFUSED(params.batch = UINT32_MAX);
	REFUSED(params.tokens = 0);
	REFUSED(params.vocab = 0);
	REFUSED(params.vocab = SIZE_MAX);
	REFUSED(params.temperature_num = 0);
	REFUSED(params.temperature_den = -1);
	REFUSED(params.temperature_num = INT64_MAX);
	REFUSED(params.clip_fixed = 0);
	REFUSED(params.clip_fixed = INT32_MAX);
	REFUSED(params.fraction_bits = 17);
	REFUSED(params.temperature_num = 1; params.temperature_den = 80); /* C/tau = 40 */
#undef REFUSED
	struct dp_invisibleink_params params = example(NULL, 3);
	params.random.fill = NULL;
	assert_misuse((void)dp_invisibleink_new(&params, &m));
	for (int status = DP_OK; status <= DP_PUBLIC_NOT_FINITE; status++) {
		assert_true(strlen(dp_status_text((enum dp_status)status)) > 1);
		assert_string_not_equal(dp_status_text((enum dp_status)status),
		                        dp_status_text((enum dp_status)99));
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(worked_example), cmocka_unit_test(the_weights_decide),
	    cmocka_unit_test(a_gain),         cmocka_unit_test(a_gain_is_paid_for),
	    cmocka_unit_test(nulling_a_row),  cmocka_unit_test(null_is_nothing),
	    cmocka_unit_test(allowed_tokens), cmocka_unit_test(the_cap),
	    cmocka_unit_test(the_order),      cmocka_unit_test(no_entropy),
	    cmocka_unit_test(bad_parameters), cmocka_unit_test(public_row_not_finite),
	    cmocka_unit_test(a_shift),        cmocka_unit_test(allowed_in_one_step),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
