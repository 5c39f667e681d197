// SPDX-License-Identifier: Apache-2.0
// Tests the kernels of the laws, rowlaw and chisq of DP-Fusion and those of ranking.h: every tier
// against the scalar one by memcmp, and the scalar one against its definition. `test_laws --bench`
// measures every tier at the sizes of two vocabularies. It fails if a tier differs in one bit,
// writes outside its arrays or reads beyond the row, if a law does not sum to 2^46 or has a zero,
// if a row that is not finite is taken, if keys are miscounted, or if one has the wrong
// place or is that of another cosine.
#include "tests/kernels/kernel_bench.h"
#include "tests/kernels/kernel_cases.h"

static struct numbers numbers;
static const struct kernels *tiers[8];
static size_t tier_count;

enum { UNIT = 4096 /* L in a nat */ };

/* The table of dp/rowlaw.c for tau = 1. */
static uint64_t *law_table(size_t *count) {
	*count = (size_t)(28.5 * UNIT) + 1;
	uint64_t *table = new_array(*count, sizeof *table);
	for (size_t i = 0; i < *count; i++)
		table[i] = (uint64_t)llrint(ldexp(exp(-(double)i / UNIT), 40));
	return table;
}

/* L of one logit, by another way than the kernel's. */
static int64_t fixed_logit(float logit) {
	return (int64_t)fmin(fmax(nearbyint((double)logit * UNIT), -0x1p26), 0x1p26);
}

/* Where the law must put what is left: at the first of the largest L. */
static size_t first_largest(const float *row, size_t n) {
	size_t first = 0;
	for (size_t i = 1; i < n; i++)
		if (fixed_logit(row[i]) > fixed_logit(row[first])) first = i;
	return first;
}

/* The scalar law against its definition: each entry but the one of the rest follows from e and S in
 * a few roundings. */
static void expect_law(const float *row, size_t n, const uint64_t *table, size_t count,
                       const uint64_t *law) {
	const size_t first = first_largest(row, n);
	uint64_t whole = 0, sum = 0;
	for (size_t i = 0; i < n; i++) {
		const int64_t below = fixed_logit(row[first]) - fixed_logit(row[i]);
		whole += below < (int64_t)count ? table[below] : 0;
		sum += law[i];
		assert_true(law[i] >= 1);
	}
	assert_true(sum == UINT64_C(1) << 46);
	for (size_t i = 0; i < n; i++) {
		const int64_t below = fixed_logit(row[first]) - fixed_logit(row[i]);
		const long double e = below < (int64_t)count ? (long double)table[below] : 0,
		                  exact = e * (0x1p46L - n) / (long double)whole * (1 - 0x1p-50L);
		/* The rest: at most one a truncation, and what the factor 1 - 2^-50 takes. */
		const long double above = i == first ? (long double)n + 0.1L : 0;
		assert_true((long double)law[i] >= exact * (1 - 0x1p-50L) &&
		            (long double)law[i] <= 1 + exact * (1 + 0x1p-50L) + above);
	}
}

static float law_logit(size_t mood) {
	const size_t kind = draw_below(&numbers, 16);
	if (mood == 1) return 2.5f;
	if (mood == 2 && kind == 0) return draw_below(&numbers, 2) ? 3e38f : -3e38f;
	if (mood == 3 && kind == 0) return draw_hostile(&numbers);
	if (kind == 1) return ((float)draw_below(&numbers, 200) - 100.5f) / UNIT;
	if (kind == 2) return ldexpf(draw_plain(&numbers), (int)draw_below(&numbers, 250) - 122);
	return draw_plain(&numbers) * 20.0f;
}

static void test_rowlaw(void **state) {
	(void)state;
	size_t count;
	uint64_t *table = law_table(&count);
	for (size_t round = 0; round < 4000; round++) {
		const size_t n = round % 100 == 0 ? 1840 : 1 + draw_below(&numbers, 41),
		             mood = round % 4;
		float *row = new_array(n + 1, sizeof *row);
		uint64_t *expected = new_array(n, sizeof *expected);
		bool finite = true;
		for (size_t i = 0; i < n; i++) {
			row[i] = law_logit(mood);
			finite = finite && isfinite(row[i]);
		}
		row[n] = NAN; // in the engine the next row stands here
		for (size_t t = 0; t < tier_count; t++) {
			struct guarded guard;
			uint64_t *law =
			    guarded_new(&guard, n * sizeof *law, 8 * draw_below(&numbers, 8));
			memset(law, 0x5b, n * sizeof *law);
			assert_int_equal(tiers[t]->rowlaw(row, n, table, count, law), finite);
			if (t == 0) memcpy(expected, law, n * sizeof *law);
			if (memcmp(expected, law, n * sizeof *law))
				fail_msg("rowlaw, %s: %zu entries differ", tiers[t]->name, n);
			guarded_end(&guard);
		}
		if (finite) expect_law(row, n, table, count, expected);
		else
			for (size_t i = 0; i < n * sizeof *expected; i++)
				assert_int_equal(((unsigned char *)expected)[i], 0x5b);
		free(row);
		free(expected);
	}
	free(table);
}

/* A row that is as long as a row may be, with all the mass at its ends. */
static void test_longest(void **state) {
	(void)state;
	size_t count;
	uint64_t *table = law_table(&count), *expected = new_array(ROWLAW_MOST, sizeof *expected),
	         *law = new_array(ROWLAW_MOST, sizeof *law);
	float *row = new_array(ROWLAW_MOST, sizeof *row);
	for (size_t mood = 0; mood < 3; mood++) {
		for (size_t i = 0; i < ROWLAW_MOST; i++) row[i] = mood == 1 ? -9.0f : law_logit(0);
		if (mood == 2) row[ROWLAW_MOST - 1] = 1e30f;
		for (size_t t = 0; t < tier_count; t++) {
			double moments[2][CHISQ_ORDER + 1];
			assert_true(tiers[t]->rowlaw(row, ROWLAW_MOST, table, count, law));
			if (t == 0) memcpy(expected, law, ROWLAW_MOST * sizeof *law);
			assert_memory_equal(expected, law, ROWLAW_MOST * sizeof *law);
			tiers[0]->chisq(law, expected, ROWLAW_MOST, 16, moments[0]);
			tiers[t]->chisq(law, expected, ROWLAW_MOST, 16, moments[1]);
			assert_memory_equal(moments[0], moments[1], sizeof moments[0]);
		}
		expect_law(row, ROWLAW_MOST, table, count, expected);
	}
	free(table);
	free(expected);
	free(law);
	free(row);
}

/* Short tables, with a number behind the end that must not count. Rows end in every lane. */
static void test_table_end(void **state) {
	(void)state;
	const uint64_t table[] = {UINT64_C(1) << 40, UINT64_C(1) << 39, UINT64_C(1) << 38,
	                          UINT64_C(1) << 39};
	for (size_t count = 1; count < 4; count++)
		for (size_t n = 1; n < 20; n++)
			for (size_t t = 0; t < tier_count; t++) {
				float row[20];
				uint64_t law[20];
				for (size_t i = 0; i < n; i++) row[i] = -(float)(i % 4) / UNIT;
				assert_true(tiers[t]->rowlaw(row, n, table, count, law));
				for (size_t i = 0; i < n; i++)
					assert_int_equal(law[i] == 1, i % 4 >= count);
			}
}

/* Entries of every size from 1 to 2^46, and some equal ones. */
static uint64_t law_entry(void) {
	return 1 + (draw_test_bits(&numbers) >> 18 >> draw_below(&numbers, 47)) % (1ull << 46);
}

static void test_chisq(void **state) {
	(void)state;
	for (size_t round = 0; round < 4000; round++) {
		const size_t n = round % 100 == 0 ? 1843 : draw_below(&numbers, 41);
		const unsigned order = 2 + (unsigned)draw_below(&numbers, 15);
		uint64_t *a = new_array(n + 1, sizeof *a), *b = new_array(n + 1, sizeof *b);
		long double exact[CHISQ_ORDER + 1] = {0};
		for (size_t i = 0; i < n; i++) {
			a[i] = law_entry();
			b[i] = draw_below(&numbers, 8) ? law_entry() : a[i];
			const long double p = (long double)a[i], u = ((long double)b[i] - p) / p;
			long double t = p * u * u;
			if (u < 0) exact[0] += t;
			for (unsigned k = 2; k <= order && u >= 0; k++, t *= u) exact[k] += t;
		}
		a[n] = b[n] = 0; // would be 0 / 0 if it were read
		double expected[CHISQ_ORDER + 1];
		for (size_t t = 0; t < tier_count; t++) {
			struct guarded guard;
			double *moments = guarded_new(&guard, (order + 1) * sizeof *moments,
			                              8 * draw_below(&numbers, 8));
			tiers[t]->chisq(a, b, n, order, moments);
			if (t == 0) memcpy(expected, moments, (order + 1) * sizeof *moments);
			if (memcmp(expected, moments, (order + 1) * sizeof *moments))
				fail_msg("chisq, %s: order %u, %zu entries", tiers[t]->name, order,
				         n);
			guarded_end(&guard);
		}
		for (unsigned k = 0; k <= order; k++)
			assert_true(fabsl((long double)expected[k] - exact[k]) <=
			            exact[k] * ((long double)n + 48) * 0x1p-53L);
		free(a);
		free(b);
	}
}

/* The example of chisq.h, and one whose bits tell the order of the lanes. */
static void test_lane_order(void **state) {
	(void)state;
	const uint64_t a[] = {4, 4}, b[] = {6, 2};
	double moments[4], lanes[8];
	for (size_t t = 0; t < tier_count; t++) {
		tiers[t]->chisq(a, b, 2, 3, moments);
		assert_true(moments[0] == 1 && moments[1] == 0 && moments[2] == 1 &&
		            moments[3] == 0.5);
	}
	for (size_t round = 0; round < 100; round++) {
		uint64_t p[8], r[8];
		for (size_t i = 0; i < 8; i++) {
			p[i] = law_entry();
			r[i] = p[i] + law_entry();
			const double x = (double)p[i], u = ((double)r[i] - x) / x;
			lanes[i] = x * u * u;
		}
		const double joined = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
		                      ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
		tiers[0]->chisq(p, r, 8, 2, moments);
		assert_true(moments[2] == joined);
	}
}

/* A key at an end of int32, a near one, or any. */
static int32_t any_key(void) {
	static const int32_t ends[] = {INT32_MIN, INT32_MIN + 1, -1, 0, 1, INT32_MAX};
	const size_t kind = draw_below(&numbers, 3);
	if (kind == 0) return ends[draw_below(&numbers, 6)];
	return kind == 1 ? (int32_t)draw_below(&numbers, 9) - 4
	                 : (int32_t)(uint32_t)(draw_test_bits(&numbers) >> 16);
}

static void test_count_above(void **state) {
	(void)state;
	for (size_t round = 0; round < 4000; round++) {
		const size_t n = round % 100 == 0 ? 1843 : draw_below(&numbers, 70);
		int32_t *keys = new_array(n + 64, sizeof *keys), thresholds[COUNT_ABOVE];
		for (size_t i = 0; i < n; i++) keys[i] = any_key();
		for (size_t i = n; i < n + 64; i++) keys[i] = INT32_MAX; // would be counted
		uint32_t expected[COUNT_ABOVE] = {0};
		for (size_t t = 0; t < COUNT_ABOVE; t++) {
			thresholds[t] = any_key();
			for (size_t i = 0; i < n; i++) expected[t] += keys[i] > thresholds[t];
		}
		for (size_t t = 0; t < tier_count; t++) {
			uint32_t counts[COUNT_ABOVE];
			tiers[t]->count_above(keys, n, thresholds, counts);
			if (memcmp(expected, counts, sizeof counts))
				fail_msg("count_above, %s: %zu keys", tiers[t]->name, n);
		}
		free(keys);
	}
}

/* Every entry that equals a key, in all tiers: few different keys, so that many are equal. */
static void test_find_equal(void **state) {
	(void)state;
	for (size_t round = 0; round < 1000; round++) {
		const size_t n = round % 100 == 0 ? 443 : 1 + draw_below(&numbers, 200),
		             kinds = 1 + draw_below(&numbers, 9);
		int32_t *keys = new_array(n + 64, sizeof *keys), kind[9];
		for (size_t i = 0; i < kinds; i++) kind[i] = any_key();
		for (size_t i = 0; i < n; i++) keys[i] = kind[draw_below(&numbers, kinds)];
		for (size_t i = n; i < n + 64; i++) keys[i] = keys[0]; // would be counted
		for (size_t wanted = 0; wanted < n; wanted++) {
			uint32_t skip = 0;
			for (size_t i = 0; i < wanted; i++) skip += keys[i] == keys[wanted];
			for (size_t t = 0; t < tier_count; t++)
				if (tiers[t]->find_equal(keys, n, keys[wanted], skip) != wanted)
					fail_msg("find_equal, %s: entry %zu of %zu", tiers[t]->name,
					         wanted, n);
		}
		free(keys);
	}
}

/* A cosine, a half between two keys, one beyond them all, or no number. */
static float any_cosine(void) {
	static const float strange[] = {NAN,       -NAN, INFINITY, -INFINITY, 0.0f,  -0.0f,
	                                0x1p-149f, 2.0f, -2.0f,    3e38f,     -3e38f};
	const size_t kind = draw_below(&numbers, 4);
	if (kind == 0) return strange[draw_below(&numbers, sizeof strange / sizeof *strange)];
	if (kind == 1) return ((float)draw_below(&numbers, 6000000) - 3e6f) * 0x1p-21f;
	return draw_plain(&numbers);
}

static void test_cosine_keys(void **state) {
	(void)state;
	for (size_t round = 0; round < 4000; round++) {
		const size_t n = round % 100 == 0 ? 1843 : draw_below(&numbers, 70);
		float *cosines = new_array(n + 1, sizeof *cosines);
		for (size_t i = 0; i < n; i++) cosines[i] = any_cosine();
		for (size_t t = 0; t < tier_count; t++) {
			struct guarded guard;
			int32_t *keys =
			    guarded_new(&guard, n * sizeof *keys, 4 * draw_below(&numbers, 16));
			tiers[t]->cosine_keys(cosines, n, keys);
			for (size_t i = 0; i < n; i++) {
				const double exact = nearbyint((double)cosines[i] * 0x1p20),
				             within = fmin(fmax(exact, -0x1p21), 0x1p21);
				const int32_t key = isnan(cosines[i]) ? INT32_MIN : (int32_t)within;
				if (keys[i] != key)
					fail_msg("cosine_keys, %s: %a has %d", tiers[t]->name,
					         (double)cosines[i], keys[i]);
			}
			guarded_end(&guard);
		}
		free(cosines);
	}
}

static void bench_ranking(size_t n) {
	static const int32_t thresholds[COUNT_ABOVE] = {-1000, 0, 1000};
	uint32_t counts[COUNT_ABOVE];
	double base = 0;
	float *cosines = new_array(n, sizeof *cosines);
	int32_t *keys = new_array(n, sizeof *keys);
	for (size_t i = 0; i < n; i++) cosines[i] = draw_plain(&numbers);
	char what[64];
	snprintf(what, sizeof what, "cosine_keys, %zu", n);
	for (size_t t = 0; t < tier_count; t++) {
		BENCH(seconds, tiers[t]->cosine_keys(cosines, n, keys))
		bench_report(what, tiers[t]->name, seconds, &base);
	}
	snprintf(what, sizeof what, "count_above, %zu", n);
	for (size_t t = 0; t < tier_count; t++) {
		BENCH(seconds, tiers[t]->count_above(keys, n, thresholds, counts))
		bench_report(what, tiers[t]->name, seconds, &base);
	}
	free(cosines);
	free(keys);
}

static void bench_laws(size_t n) {
	size_t count;
	double base = 0, moments[CHISQ_ORDER + 1];
	uint64_t *table = law_table(&count), *a = new_array(n, sizeof *a),
	         *b = new_array(n, sizeof *b);
	float *row = new_array(n, sizeof *row);
	for (size_t i = 0; i < n; i++) row[i] = draw_plain(&numbers) * 14.0f;
	tiers[0]->rowlaw(row, n, table, count, b);
	char what[64];
#define BENCH_LAW(op, call)                                                                        \
	snprintf(what, sizeof what, "%s, %zu", op, n);                                             \
	for (size_t t = 0; t < tier_count; t++) {                                                  \
		BENCH(seconds, call)                                                               \
		bench_report(what, tiers[t]->name, seconds, &base);                                \
	}
	BENCH_LAW("rowlaw", tiers[t]->rowlaw(row, n, table, count, a))
	for (size_t i = 0; i < n; i++) row[i] += draw_plain(&numbers);
	tiers[0]->rowlaw(row, n, table, count, a);
	BENCH_LAW("chisq order 2", tiers[t]->chisq(a, b, n, 2, moments))
	BENCH_LAW("chisq order 4", tiers[t]->chisq(a, b, n, 4, moments))
	BENCH_LAW("chisq order 16", tiers[t]->chisq(a, b, n, 16, moments))
#undef BENCH_LAW
	free(table);
	free(a);
	free(b);
	free(row);
}

int main(int argc, char **argv) {
	const char *seed = getenv("CUTTLE_TEST_SEED");
	numbers.state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
	tier_count = kernels_available(tiers);
	printf("CUTTLE_TEST_SEED=%llu\n", (unsigned long long)numbers.state);
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "--bench")) {
		bench_laws(49152);
		bench_laws(151936);
		bench_ranking(3000);
		bench_ranking(50000);
		return 0;
	}
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rowlaw),     cmocka_unit_test(test_longest),
	    cmocka_unit_test(test_table_end),  cmocka_unit_test(test_chisq),
	    cmocka_unit_test(test_lane_order), cmocka_unit_test(test_count_above),
	    cmocka_unit_test(test_find_equal), cmocka_unit_test(test_cosine_keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
