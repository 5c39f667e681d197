// SPDX-License-Identifier: Apache-2.0
// Tests dp/fixed.c, the fixed-point format, and dp/topk.c, the candidates V_k+. Both are compared
// with plain definitions on random inputs with ties, masks and bounds.
// It fails if one number is rounded otherwise, or if one candidate is missing, additional or out
// of order.
#include "tests/dp/test_dp_support.h"

#include <math.h>
#include <stdlib.h>

#include "dp/fixed.h"
#include "dp/topk.h"
#include "kernels/kernels.h"

static void halves_go_to_even(void **state) {
	(void)state;
	static const float logits[] = {0.5f,  1.5f,        2.5f,         -0.5f, -1.5f,
	                               -2.5f, 0.49999997f, -0.49999997f, 1e30f, -1e30f,
	                               -0.0f, 67108864.0f, 1e-42f};
	static const int32_t want[] = {
	    0, 2, 2, 0, -2, -2, 0, 0, DP_FIXED_LIMIT, -DP_FIXED_LIMIT, 0, DP_FIXED_LIMIT, 0};
	int32_t fixed[13];
	assert_true(dp_fix(logits, 13, 0, fixed));
	assert_memory_equal(fixed, want, sizeof fixed);
}

static void fixed_is_round_half_even(void **state) {
	(void)state;
	uint64_t seed = 3;
	for (int i = 0; i < 200000; i++) {
		unsigned bits = (unsigned)test_below(&seed, 17);
		float logit = ldexpf(test_between(&seed, -1, 1), (int)test_below(&seed, 40) - 15);
		if (i & 1)
			logit = ldexpf((float)((int)test_below(&seed, 4001) - 2000),
			               -(int)bits - 1); /* ties */
		int32_t fixed;
		assert_true(dp_fix(&logit, 1, bits, &fixed));
		double want =
		    fmax(-DP_FIXED_LIMIT,
		         fmin(DP_FIXED_LIMIT, nearbyint(ldexp((double)logit, (int)bits))));
		assert_int_equal(fixed, (int64_t)want);
		/* A private row has the same format: its difference to itself is 0, and to 0 the
		 * value itself. */
		int32_t zero = 0, sum = 0;
		assert_true(dclip_scalar(&logit, &fixed, 1, bits, DP_FIXED_LIMIT, &sum));
		assert_int_equal(sum, 0);
		assert_true(kernels_get()->dclip(&logit, &zero, 1, bits, DP_FIXED_LIMIT, &sum));
		assert_int_equal(sum, fixed);
	}
}

static void not_finite(void **state) {
	(void)state;
	const float bad[] = {NAN, INFINITY, -INFINITY};
	for (int i = 0; i < 3; i++)
		for (int at = 0; at < 5; at++) {
			float logits[5] = {1, 2, 3, 4, 5};
			int32_t fixed[5], sum[5] = {9, 9, 9, 9, 9};
			const int32_t zeros[5] = {0}, nines[5] = {9, 9, 9, 9, 9};
			logits[at] = bad[i];
			assert_false(dp_fix(logits, 5, 12, fixed));
			assert_false(dclip_scalar(logits, zeros, 5, 12, 100, sum));
			assert_memory_equal(sum, nines, sizeof sum);
		}
}

static int descending(const void *a, const void *b) {
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return (x < y) - (x > y);
}

enum { VOCAB_MAX = 300 };

static void against_a_full_sort(void **state) {
	(void)state;
	uint64_t seed = 5;
	for (int i = 0; i < 20000; i++) {
		static const int32_t spreads[] = {0, 2, 50, 100000, 2 * DP_FIXED_LIMIT};
		size_t vocab = 1 + test_below(&seed, VOCAB_MAX);
		int32_t fixed[VOCAB_MAX], sorted[VOCAB_MAX], heap[VOCAB_MAX],
		    spread = spreads[test_below(&seed, 5)];
		uint32_t k = (uint32_t)test_below(&seed, vocab + 3),
		         batch = 1 + (uint32_t)test_below(&seed, 9), got[VOCAB_MAX];
		int32_t clip = (int32_t)test_below(&seed, (uint64_t)spread + 2);
		uint8_t mask[VOCAB_MAX];
		const uint8_t *allowed = test_below(&seed, 2) ? mask : NULL;
		size_t held = 0, count = 0;
		for (size_t y = 0; y < vocab; y++) {
			fixed[y] = (int32_t)test_below(&seed, (uint64_t)spread + 1) - spread / 2;
			mask[y] = (uint8_t)test_below(&seed, 3);
			if (!allowed || allowed[y]) sorted[held++] = fixed[y];
		}
		qsort(sorted, held, sizeof *sorted, descending);
		size_t n = dp_topk(fixed, allowed, vocab, k, batch, clip, heap, got);
		for (size_t y = 0; y < vocab; y++) {
			bool in = !allowed || allowed[y];
			if (in && k > 0 && k < held)
				in = (int64_t)batch * ((int64_t)fixed[y] - sorted[k - 1]) >=
				     -2 * (int64_t)clip;
			if (!in) continue;
			assert_true(count < n);
			assert_int_equal(got[count++], y);
		}
		assert_int_equal(n, count);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(halves_go_to_even),
	    cmocka_unit_test(fixed_is_round_half_even),
	    cmocka_unit_test(not_finite),
	    cmocka_unit_test(against_a_full_sort),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
