// SPDX-License-Identifier: Apache-2.0
// Tests dp/share.c, how much of a private law is mixed in, on random and hostile laws, and with it
// Theorems F1 and F3 and the bound of an exchange.
// It fails if a share is above the largest one that the theorem allows, or far below it; if a
// divergence, either way round, is above its cap; or if a mean of mixtures departs further than
// dp/fusion_account.h says when groups are blanked.
// All sums here have positive terms alone. So a long double is off by less than ROUNDED of them,
// and the margins of dp/share.c, 2^-32, are far above that: no comparison depends on luck.
#include "tests/dp/test_dp_support.h"

#include <float.h>
#include <math.h>

#include "dp/fusion_account.h"
#include "dp/share.h"

enum { MOST = 64, GROUPS = 5 };

#define ROUNDED 0x1p-52L /* 300 roundings of a long double of 64 bits, and as many again */
#define WHOLE (UINT64_C(1) << 46)

static uint64_t seed = 20251122;

/* A law of n entries >= 1 that sum to 2^46: flat, spread out, with ties, or nearly all in one. */
static void random_law(uint64_t *law, size_t n) {
	const unsigned spread[] = {0, 1, 6, 20, 46};
	const unsigned most = spread[test_below(&seed, 5)];
	uint64_t weight[MOST], whole = 0, sum = 0;
	size_t largest = 0;
	for (size_t i = 0; i < n; i++) {
		weight[i] = (uint64_t)exp2(test_between(&seed, 0, (float)most));
		if (i > 0 && test_below(&seed, 8) == 0) weight[i] = weight[i - 1];
		whole += weight[i];
		if (weight[i] > weight[largest]) largest = i;
	}
	for (size_t i = 0; i < n; i++) {
		law[i] = 1 + (uint64_t)((unsigned __int128)(WHOLE - n) * weight[i] / whole);
		sum += law[i];
	}
	law[largest] += WHOLE - sum;
}

/* Two laws: often unrelated, sometimes near each other, equal, or with their entries exchanged. */
static void random_pair(uint64_t *a, uint64_t *b, size_t n) {
	random_law(a, n);
	const uint64_t kind = test_below(&seed, 8);
	if (kind > 2) {
		random_law(b, n);
		return;
	}
	for (size_t i = 0; i < n; i++) b[i] = kind == 1 ? a[n - 1 - i] : a[i];
	if (kind != 2) return;
	for (size_t i = 0; i + 1 < n; i += 2) {
		const uint64_t moved = test_below(&seed, b[i]);
		b[i] -= moved;
		b[i + 1] += moved;
	}
}

static double random_divergence(unsigned order) {
	const double most = fmin(20, DP_SHARE_EXPONENT / (order - 1));
	return fmin(exp2(test_between(&seed, -11, 5)), most);
}

static long double power(long double x, unsigned n) {
	long double product = 1;
	for (unsigned i = 0; i < n; i++) product *= x;
	return product;
}

/* max(F, G) of Theorem F2 at lambda = l / 2^16. */
static long double theorem_f2(const uint64_t *a, const uint64_t *b, size_t n, unsigned order,
                              uint32_t l) {
	const long double lambda = (long double)l / DP_SHARE_ONE;
	long double forward = 0, reverse = 0, tail = 0, binomial[DP_SHARE_ORDER + 1] = {1};
	for (unsigned k = 1; k <= order; k++) binomial[k] = binomial[k - 1] * (order - k + 1) / k;
	for (unsigned j = 1; j < order; j++) tail += j / power(1 - lambda, order - j);
	for (size_t i = 0; i < n; i++) {
		const long double p = (long double)a[i] / (long double)WHOLE,
		                  u = ((long double)b[i] - (long double)a[i]) / (long double)a[i],
		                  x = lambda * u;
		if (u < 0) {
			forward += p * binomial[2] * x * x;
			reverse += p * x * x * tail;
			continue;
		}
		reverse += p * binomial[2] * x * x;
		for (unsigned k = 2; k <= order; k++) forward += p * binomial[k] * power(x, k);
	}
	return fmaxl(forward, reverse);
}

/* sum of p^order q^(1-order), for p and q of sum 1. */
static long double renyi_sum(const long double *p, const long double *q, size_t n, unsigned order) {
	long double sum = 0;
	for (size_t i = 0; i < n; i++) sum += p[i] * power(p[i] / q[i], order - 1);
	return sum;
}

static void mix_laws(const uint64_t *a, const uint64_t *b, size_t n, uint32_t l, long double *p,
                     long double *q) {
	for (size_t i = 0; i < n; i++) {
		p[i] = (long double)a[i] / (long double)WHOLE;
		q[i] = (long double)((DP_SHARE_ONE - l) * a[i] + l * b[i]) / 0x1p62L;
	}
}

/* l is within the theorem's premise, l + 1 is not, and both divergences are within c. */
static void the_largest_share(void **state) {
	(void)state;
	for (int i = 0; i < test_cases(100000); i++) {
		const size_t n =
		    i % 4 ? 2 + test_below(&seed, 11) : 2 + test_below(&seed, MOST - 1);
		const unsigned order = i % 2 ? 2 + (unsigned)test_below(&seed, 15) : 2;
		const double c = random_divergence(order);
		uint64_t a[MOST], b[MOST];
		long double p[MOST], q[MOST];
		random_pair(a, b, n);
		const double cap = dp_share_cap(order, c);
		const uint32_t l = dp_share_bounded(a, b, n, order, cap);
		const long double exact = expm1l((order - 1) * (long double)c);
		assert_true(cap <= exact && cap >= exact * (1 - 0x1p-48L));
		assert_true(l < DP_SHARE_ONE);
		assert_true(theorem_f2(a, b, n, order, l) * (1 + ROUNDED) <= exact);
		if (l < DP_SHARE_ONE - 1)
			assert_true(theorem_f2(a, b, n, order, l + 1) * (1 + 0x1p-31L) > exact);
		mix_laws(a, b, n, l, p, q);
		const long double forward = renyi_sum(q, p, n, order),
		                  reverse = renyi_sum(p, q, n, order);
		const long double cost = (long double)dp_share_cost(a, b, n, order, l) + 1;
		assert_true(cost >= fmaxl(forward, reverse) * (1 - ROUNDED) &&
		            cost <= fmaxl(1, fmaxl(forward, reverse)) * (1 + 0x1p-32L));
		if (!(fmaxl(forward, reverse) <= (1 + exact) * (1 + ROUNDED)))
			fail_msg("order %u, c %g, l %u: %Lg %Lg", order, c, l, forward, reverse);
	}
}

/* What the reference implementation gets wrong: one direction, and a floor under probabilities. */
static void both_directions(void **state) {
	(void)state;
	const uint64_t p = (uint64_t)(0.95 * 0x1p46);
	const uint64_t a[2] = {p, WHOLE - p}, b[2] = {WHOLE - 1, 1};
	const uint32_t l = dp_share_bounded(a, b, 2, 2, dp_share_cap(2, 0.1));
	/* the real share for b[1] = 2^-40 is .7378; D(b || a) alone would allow 1 */
	assert_true(l > 0.70 * DP_SHARE_ONE && l < 0.7378 * DP_SHARE_ONE);
	/* D_2 of 1e-5 against 1e-14 is 9.2; under a floor of 1e-10 it would be 0.7, and c = 1 would
	 * let the row through */
	const uint64_t rare[2] = {1, WHOLE - 1},
	               less_rare[2] = {WHOLE / 100000, WHOLE - WHOLE / 100000};
	assert_true(dp_share_bounded(rare, less_rare, 2, 2, dp_share_cap(2, 1)) <
	            DP_SHARE_ONE / 20);
}

static void edges(void **state) {
	(void)state;
	const uint64_t a[3] = {1, 1, WHOLE - 2}, b[3] = {WHOLE - 2, 1, 1};
	for (unsigned order = 2; order <= DP_SHARE_ORDER; order++) {
		/* equal laws: as much as there is; no cap: nothing */
		assert_int_equal(dp_share_bounded(a, a, 3, order, 0), DP_SHARE_ONE - 1);
		assert_int_equal(dp_share_bounded(a, b, 3, order, 0), 0);
		assert_int_equal(dp_share_bounded(a, a, 1, order, 0.5), DP_SHARE_ONE - 1);
	}
	assert_int_equal(dp_share_bounded(a, b, 3, 2, DBL_MAX), DP_SHARE_ONE - 1);
	assert_int_equal(dp_share_capped(a, a, 3, 77, 0), 77);
	assert_int_equal(dp_share_capped(a, b, 3, 77, 0), 0);
	assert_int_equal(dp_share_capped(a, b, 3, 0, 1e300), 0);
	assert_int_equal(dp_share_capped(a, b, 3, DP_SHARE_ONE - 1, 1e300), DP_SHARE_ONE - 1);
	assert_true(isfinite(dp_share_cap(16, DP_SHARE_EXPONENT / 15)));
	assert_misuse((void)dp_share_cap(1, 1));
	assert_misuse((void)dp_share_cap(17, 1));
	assert_misuse((void)dp_share_cap(2, 0));
	assert_misuse((void)dp_share_cap(2, 701));
	assert_misuse((void)dp_share_bounded(a, b, 3, 1, 1));
	assert_misuse((void)dp_share_bounded(a, b, 3, 17, 1));
	assert_misuse((void)dp_share_bounded(a, b, 3, 2, -1));
	assert_misuse((void)dp_share_capped(a, b, 3, DP_SHARE_ONE, 1));
	assert_misuse((void)dp_share_cost(a, b, 3, 1, 1));
	assert_misuse((void)dp_share_cost(a, b, 3, 17, 1));
	assert_misuse((void)dp_share_cost(a, b, 3, 2, DP_SHARE_ONE));
	assert_true(dp_share_cost(a, a, 3, 2, 77) >= 0 && dp_share_cost(a, a, 3, 2, 77) < 1e-9);
}

/* The mean of the mixtures of the groups outside `blank`, with p for those inside. */
static void mean_law(const long double *p, long double q[GROUPS][MOST], size_t m, size_t n,
                     unsigned blank, long double *mean) {
	for (size_t y = 0; y < n; y++) {
		mean[y] = 0;
		for (size_t j = 0; j < m; j++) mean[y] += blank >> j & 1 ? p[y] : q[j][y];
		mean[y] /= (long double)m;
	}
}

/* Theorem F1: every set of groups blanked, each group with a divergence of its own. */
static void every_set_blanked(void **state) {
	(void)state;
	for (int i = 0; i < test_cases(3000); i++) {
		const size_t n = 2 + test_below(&seed, 7), m = 1 + test_below(&seed, GROUPS);
		const unsigned order = 2 + (unsigned)test_below(&seed, 5);
		uint64_t a[MOST], b[MOST];
		long double p[MOST], q[GROUPS][MOST], whole[MOST], blanked[MOST];
		double c[GROUPS], of_set[GROUPS];
		random_law(a, n);
		for (size_t j = 0; j < m; j++) {
			random_law(b, n);
			c[j] = random_divergence(order);
			mix_laws(a, b, n,
			         dp_share_bounded(a, b, n, order, dp_share_cap(order, c[j])), p,
			         q[j]);
		}
		mean_law(p, q, m, n, 0, whole);
		for (unsigned set = 1; set < 1u << m; set++) {
			uint32_t count = 0;
			for (size_t j = 0; j < m; j++)
				if (set >> j & 1) of_set[count++] = c[j];
			const double loss = dp_fusion_loss(order, of_set, count, (uint32_t)m);
			mean_law(p, q, m, n, set, blanked);
			const long double limit =
			    expl((order - 1) * (long double)loss) * (1 + ROUNDED);
			assert_true(renyi_sum(whole, blanked, n, order) <= limit);
			assert_true(renyi_sum(blanked, whole, n, order) <= limit);
		}
	}
}

/* Theorem F3: shares capped together, every set blanked; and the bound is nearly reached. */
static void every_set_capped(void **state) {
	(void)state;
	long double tightest = 0;
	for (int i = 0; i < test_cases(6000); i++) {
		const size_t n = 2 + test_below(&seed, 5), m = 1 + test_below(&seed, GROUPS);
		const uint32_t most = 1 + (uint32_t)test_below(&seed, DP_SHARE_ONE - 1);
		const double c = exp2(test_between(&seed, -9, 1));
		uint64_t a[MOST], b[MOST];
		long double p[MOST], q[GROUPS][MOST], whole[MOST], blanked[MOST];
		const double cap = dp_share_cap(2, c) * (double)(m * m) * (1 - 0x1p-52) *
		                   (double)(DP_SHARE_ONE - most) / DP_SHARE_ONE * (1 - 0x1p-50);
		random_law(a, n);
		for (size_t j = 0; j < m; j++) {
			if (j == 0 || i % 2) random_law(b, n);
			const uint32_t l = dp_share_capped(a, b, n, most, cap);
			assert_true(l <= most);
			mix_laws(a, b, n, l, p, q[j]);
		}
		mean_law(p, q, m, n, 0, whole);
		for (unsigned set = 1; set < 1u << m; set++) {
			const double loss =
			    dp_fusion_capped_loss(c, (uint32_t)__builtin_popcount(set));
			mean_law(p, q, m, n, set, blanked);
			const long double limit = expl((long double)loss) * (1 + ROUNDED),
			                  there = renyi_sum(whole, blanked, n, 2),
			                  back = renyi_sum(blanked, whole, n, 2);
			assert_true(there <= limit && back <= limit);
			tightest = fmaxl(tightest, (fmaxl(there, back) - 1) / (limit - 1));
		}
	}
	assert_true(tightest > 0.9L);
}

/* Exchange of one content for another: the triangle inequality, at its order and factor. */
static void exchange(void **state) {
	(void)state;
	long double tightest = 0;
	for (int i = 0; i < test_cases(10000); i++) {
		const size_t n = 2 + test_below(&seed, 4);
		const unsigned order = 2 + (unsigned)test_below(&seed, 7);
		const double c = random_divergence(order);
		const long double a_order = (long double)order * order / (2.0L * order - 1);
		uint64_t a[MOST], b[2][MOST];
		long double p[MOST], q[2][MOST], sum = 0;
		random_law(a, n);
		for (int side = 0; side < 2; side++) {
			random_law(b[side], n);
			mix_laws(a, b[side], n,
			         dp_share_bounded(a, b[side], n, order, dp_share_cap(order, c)), p,
			         q[side]);
		}
		for (size_t y = 0; y < n; y++)
			sum += q[0][y] * powl(q[0][y] / q[1][y], a_order - 1);
		const long double reached = logl(sum) / (a_order - 1),
		                  limit = (long double)c * (2.0L * order - 1) / (order - 1);
		assert_true(reached <= limit * (1 + 1e-12L) + 1e-16L);
		tightest = fmaxl(tightest, reached / limit);
	}
	assert_true(tightest > 0.5L);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_largest_share),
	    cmocka_unit_test(both_directions),
	    cmocka_unit_test(edges),
	    cmocka_unit_test(every_set_blanked),
	    cmocka_unit_test(every_set_capped),
	    cmocka_unit_test(exchange),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
