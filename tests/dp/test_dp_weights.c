// SPDX-License-Identifier: Apache-2.0
// Tests dp/weights.c, the two factors of a weight, and their tables.
// It fails if an entry breaks the bound of dp/PRIVACY.md, step 4, checked over all entries.
// It fails if the program's self check accepts a table that is wrong in any place, or refuses a
// right one.
#include "tests/dp/test_dp_support.h"

#include <dlfcn.h>
#include <math.h>

#include "dp/weights.h"

/* ---- a libm that can be wrong ---------------------------------------------------------------- */

static long double wrong_by; /* what exp of 1/2 is off by, relatively */

long double expl(long double x) {
	static long double (*real)(long double);
	if (!real) *(void **)&real = dlsym(RTLD_NEXT, "expl");
	return x == 0.5L ? real(x) * (1.0L + wrong_by) : real(x);
}

/* A table is checked when it is made, not only when dp_weights_check is called. */
static void made_wrong(void **state) {
	(void)state;
	struct dp_weights w;
	for (int bad = 0; bad < 2; bad++) {
		wrong_by = bad ? 1e-8L : 0.0L; /* a part in 1e9 is allowed for */
		assert_int_equal(dp_weights_init(&w, 7, 512, 8, 1, 1, 100),
		                 bad ? DP_SELF_CHECK : DP_OK);
		assert_int_equal(w.table == NULL, bad);
		dp_weights_release(&w);
	}
	wrong_by = 0.0L;
}

/* lambda^ - Chat kappa from the published table, two digits; E there was rounded from 60 digits. */
static void published_bounds(void **state) {
	(void)state;
	static const struct {
		uint32_t batch;
		unsigned bits;
		int64_t num, den;
		int32_t clip;
		unsigned q;
		long double lambda, excess;
	} rows[] = {{7, 8, 6, 5, 168, 52, 0.078125L, 3.2e-16L},
	            {7, 10, 6, 5, 675, 52, 0.0784737723L, 3.6e-16L},
	            {3, 8, 1, 1, 512, 50, 0.6666666667L, 4.7e-15L},
	            {15, 6, 4, 5, 256, 45, 0.3333333333L, 3.0e-12L}};
	for (size_t i = 0; i < 4; i++) {
		struct dp_weights w;
		assert_int_equal(dp_weights_init(&w, rows[i].batch, rows[i].clip, rows[i].bits,
		                                 rows[i].num, rows[i].den, 100),
		                 DP_OK);
		assert_int_equal(w.private_bits, rows[i].q);
		long double lambda = 0, exact = (long double)rows[i].clip * rows[i].den /
		                                ((long double)rows[i].num * rows[i].batch *
		                                 (1u << rows[i].bits));
		for (int32_t s = -w.sum_limit; s <= w.sum_limit - w.clip_fixed; s++) {
			unsigned __int128 low = dp_weight_private(&w, s),
			                  high = dp_weight_private(&w, s + w.clip_fixed);
			lambda =
			    fmaxl(lambda, log1pl((long double)(high - low) / (long double)low));
		}
		assert_true(fabsl(exact - rows[i].lambda) < 1e-10L);
		assert_true(fabsl((lambda - exact) / rows[i].excess - 1.0L) < 0.02L);
		/* the bound the check uses lies between Chat kappa and Chat kappa (1 + 1e-9) */
		assert_true(ldexpl((long double)w.bound, -56) <= exact * (1.0L + 1e-9L));
		assert_true(ldexpl((long double)w.bound, -56) > exact * (1.0L + 0.99e-9L));
		dp_weights_release(&w);
	}
}

/* Where 53 bits do not suffice. lambda^ here is a maximum of long doubles, whose own error is
 * 1e-18. */
static void wide_bounds(void **state) {
	(void)state;
	static const struct {
		uint32_t batch;
		unsigned bits;
		int64_t num, den;
		int32_t clip;
		unsigned q;
	} rows[] = {{31, 12, 1, 1, 28774, 126 - 11},   {63, 11, 1, 1, 22536, 126 - 16},
	            {127, 9, 1, 1, 11417, 126 - 33},   {127, 9, 1, 1, 28 << 9, 126 - 41},
	            {1, 12, 1, 1, 31 << 12, 126 - 45}, {7, 12, 6, 5, 37 << 12, 126 - 45},
	            {1000, 6, 1, 1, 28 << 6, 126 - 41}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct dp_weights w;
		assert_int_equal(dp_weights_init(&w, rows[i].batch, rows[i].clip, rows[i].bits,
		                                 rows[i].num, rows[i].den, 100),
		                 DP_OK);
		assert_int_equal(w.private_bits, rows[i].q);
		const long double lambda =
		    (long double)rows[i].clip * rows[i].den /
		    ((long double)rows[i].num * rows[i].batch * (1u << rows[i].bits));
		long double low = INFINITY, high = 0;
		for (int32_t s = -w.sum_limit; s <= w.sum_limit - w.clip_fixed; s++) {
			long double ratio = (long double)dp_weight_private(&w, s + w.clip_fixed) /
			                    (long double)dp_weight_private(&w, s);
			low = fminl(low, ratio);
			high = fmaxl(high, ratio);
		}
		assert_true(logl(high) <= lambda * (1.0L + 1e-9L) &&
		            logl(high) > lambda * (1.0L - 1e-15L));
		assert_true(logl(low) >=
		            lambda * (1.0L - 1e-9L)); /* E is not only safe but right */
		assert_true(ldexpl((long double)w.bound, -56) <= lambda * (1.0L + 1e-9L));
		assert_true(ldexpl((long double)w.bound, -56) > lambda * (1.0L + 0.99e-9L));
		assert_true(dp_weight_private(&w, w.sum_limit) <= (unsigned __int128)1 << 126);
		dp_weights_release(&w);
	}
}

/* q is what dp/weights.h promises. No table is made, since some would be large. */
static void both_widths(void **state) {
	(void)state;
	for (int32_t clip = 1; clip <= 4 << 8;
	     clip++) { /* C/tau up to 4 is what B from 1 to 31 take */
		const unsigned octaves = (unsigned)ceill((long double)clip / 256.0L / logl(2.0L));
		assert_int_equal(dp_weights_bits(1, clip, 8, 1, 1, 100), 53 - octaves);
		assert_int_equal(dp_weights_bits(31, clip, 8, 1, 1, 100), 53 - octaves);
	}
	for (int32_t clip = 10 << 6; clip <= 28 << 6; clip++) {
		const unsigned octaves = (unsigned)ceill((long double)clip / 64.0L / logl(2.0L));
		assert_int_equal(dp_weights_bits(1, clip, 6, 1, 1, 100), 126 - octaves);
		assert_int_equal(dp_weights_bits(1000, clip, 6, 1, 1, 100), 126 - octaves);
	}
	assert_int_equal(dp_weights_bits(600000, 3, 0, 3, 28, 100), 126 - 41);
	assert_int_equal(dp_weights_bits(1000, 31 << 6, 6, 1, 1, 100), 126 - 45);
	assert_int_equal(dp_weights_bits(1, (32 << 12) - 1, 12, 1, 1, 100), 126 - 47);
	assert_int_equal(dp_weights_bits(1, 32 << 12, 12, 1, 1, 100), 0);
}

/* The check refuses one entry that is off by a little more than eta's 1e-9, in either direction, or
 * out of order; at either end and inside. */
static void check_refuses(void **state) {
	(void)state;
	struct dp_weights w;
	assert_int_equal(dp_weights_init(&w, 7, 675, 10, 6, 5, 100), DP_OK);
	const int32_t at[] = {-w.sum_limit, -w.sum_limit + 1, -1,         0, 1, 674,
	                      675,          w.sum_limit - 1,  w.sum_limit};
	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		uint64_t *entry = w.table + w.sum_limit + at[i], right = *entry;
		bool first = at[i] == -w.sum_limit, last = at[i] == w.sum_limit;
		*entry = 0;
		assert_int_equal(dp_weights_check(&w), DP_SELF_CHECK);
		*entry = UINT64_MAX;
		assert_int_equal(dp_weights_check(&w), DP_SELF_CHECK);
		*entry = first ? right - right / 1000000000 : right + right / 1000000000;
		if (first || last) assert_int_equal(dp_weights_check(&w), DP_SELF_CHECK);
		*entry =
		    last ? right - right / 5000
		         : right + right / 5000; /* above its successor, under its predecessor */
		assert_int_equal(dp_weights_check(&w), DP_SELF_CHECK);
		*entry = right;
		assert_int_equal(dp_weights_check(&w), DP_OK);
	}
	w.clip_fixed++; /* a clip larger than the one accounted for */
	assert_int_equal(dp_weights_check(&w), DP_SELF_CHECK);
	w.clip_fixed--;
	w.bound -= w.bound / 500000000; /* a bound under Chat kappa */
	assert_int_equal(dp_weights_check(&w), DP_SELF_CHECK);
	dp_weights_release(&w);
}

/* The same of a table whose entries are shifted. At lambda = 0.18 an entry off by 1e-9 of itself
 * breaks the bound both ways from it. */
static void check_refuses_wide(void **state) {
	(void)state;
	struct dp_weights w;
	assert_int_equal(dp_weights_init(&w, 127, 22 << 4, 4, 1, 1, 100), DP_OK);
	const uint64_t digits = (UINT64_C(1) << 57) - 1;
	for (int32_t s = -w.sum_limit; s <= w.sum_limit; s += w.sum_limit / 8) {
		uint64_t *entry = w.table + w.sum_limit + s, right = *entry;
		const bool first = s == -w.sum_limit, last = s == w.sum_limit;
		const uint64_t wrong[] = {0,
		                          UINT64_MAX,
		                          right + (1 + digits),
		                          right & digits,
		                          right + (right & digits) / 1000000000,
		                          right - (right & digits) / 1000000000};
		for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
			/* what only widens the table's end inwards, or changes nothing, is right */
			if (wrong[i] == right || (first && (i == 4)) ||
			    (last && (i == 3 || i == 5)))
				continue;
			*entry = wrong[i];
			assert_int_equal(dp_weights_check(&w), DP_SELF_CHECK);
		}
		*entry = right;
		assert_int_equal(dp_weights_check(&w), DP_OK);
	}
	dp_weights_release(&w);
}

/* The largest table is looked at whole: an entry that is wrong at either end, or where half of it
 * would end, is seen. */
static void check_refuses_anywhere(void **state) {
	(void)state;
	struct dp_weights w;
	assert_int_equal(dp_weights_init(&w, 4096, 512, 4, 6, 5, 100), DP_OK);
	assert_int_equal(w.sum_limit, DP_SUM_LIMIT);
	const int32_t end = w.sum_limit,
	              at[] = {-end, 1 - end, -end / 2, 0, end / 2, end - 513, end - 1, end};
	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		uint64_t *entry = w.table + end + at[i], right = *entry;
		/* An entry within a clip of the top can only be too large. All others are made too
		 * small here. The difference to the next entry is larger. */
		*entry = at[i] > end - 512 ? right + 1000000000 : right - 1000000000;
		assert_int_equal(dp_weights_check(&w), DP_SELF_CHECK);
		*entry = right;
	}
	assert_int_equal(dp_weights_check(&w), DP_OK);
	dp_weights_release(&w);
}

/* The right side of the check, e^bound, is wrong by far less than its slack, also where it is
 * squared: lambda from 1/9 to 31. */
static void sharp_bounds(void **state) {
	(void)state;
	for (int32_t nats = 1; nats < 32; nats += nats < 8 ? 1 : 7)
		for (uint32_t batch = 1; batch < 10; batch += 2) {
			struct dp_weights w;
			assert_int_equal(dp_weights_init(&w, batch, nats << 6, 6, 1, 1, 100),
			                 DP_OK);
			const uint64_t lambda = ((uint64_t)nats << 56) / batch;
			/* 53 bits round E itself by up to this where C/tau is largest
			 * for them */
			w.bound = lambda + lambda / 2000000000;
			assert_int_equal(dp_weights_check(&w), DP_OK);
			w.bound = lambda - lambda / 2000000000;
			assert_int_equal(dp_weights_check(&w), DP_SELF_CHECK);
			if (w.private_bits > 60) {
				w.bound = lambda + lambda / 1000000000000;
				assert_int_equal(dp_weights_check(&w), DP_OK);
				w.bound = lambda - lambda / 1000000000000;
				assert_int_equal(dp_weights_check(&w), DP_SELF_CHECK);
			}
			dp_weights_release(&w);
		}
}

static void refuses_negative(const struct dp_weights *weights) {
	assert_misuse(dp_weight_public(weights, -1));
}

static void public_factor(void **state) {
	(void)state;
	static const int32_t clips[] = {2703, 22 << 12};
	for (size_t i = 0; i < 2; i++) {
		struct dp_weights w;
		assert_int_equal(dp_weights_init(&w, 7, clips[i], 12, 6, 5, 100), DP_OK);
		uint64_t last = (uint64_t)1 << 56;
		assert_true(dp_weight_public(&w, 0) == last);
		for (int64_t below = 1; below < INT64_C(1) << 27; below += 1 + below / 64) {
			uint64_t weight = dp_weight_public(&w, below);
			assert_true(weight >= 1 && weight <= last);
			last = weight;
		}
		assert_true(dp_weight_public(&w, INT64_C(1) << 27) == 1);
		refuses_negative(&w);
		dp_weights_release(&w);
	}
}

static void bad_parameters(void **state) {
	(void)state;
	struct dp_weights w;
	assert_int_equal(dp_weights_init(&w, 0, 100, 12, 1, 1, 100), DP_BAD_PARAMETER);
	assert_int_equal(dp_weights_init(&w, 7, 0, 12, 1, 1, 100), DP_BAD_PARAMETER);
	assert_int_equal(dp_weights_init(&w, 7, -5, 12, 1, 1, 100), DP_BAD_PARAMETER);
	assert_int_equal(dp_weights_init(&w, 7, INT32_MAX, 12, 1, 1, 100), DP_BAD_PARAMETER);
	assert_int_equal(dp_weights_init(&w, UINT32_MAX, INT32_MAX, 12, 1, 1, 100),
	                 DP_BAD_PARAMETER);
	assert_int_equal(dp_weights_init(&w, 7, 100, 17, 1, 1, 100), DP_BAD_PARAMETER);
	assert_int_equal(dp_weights_init(&w, 7, 100, 12, 0, 1, 100), DP_BAD_PARAMETER);
	assert_int_equal(dp_weights_init(&w, 7, 100, 12, 1, 0, 100), DP_BAD_PARAMETER);
	assert_int_equal(dp_weights_init(&w, 7, 100, 12, INT64_C(1) << 31, 1, 100),
	                 DP_BAD_PARAMETER);
	assert_int_equal(dp_weights_init(&w, 7, 100, 12, 1, 1, 99), DP_BAD_PARAMETER);
	assert_int_equal(dp_weights_init(&w, 7, 100, 12, 1, 1, 301), DP_BAD_PARAMETER);
	/* a gain of 3 brings C/tau = 11 to 33 */
	assert_int_equal(dp_weights_init(&w, 7, 11 << 12, 12, 1, 1, 300), DP_BAD_PARAMETER);
	/* C/tau too large, then C/(B tau) too small */
	assert_int_equal(dp_weights_init(&w, 1, 100 << 12, 12, 1, 1, 100), DP_BAD_PARAMETER);
	assert_int_equal(dp_weights_init(&w, 1, 32 << 12, 12, 1, 1, 100), DP_BAD_PARAMETER);
	assert_int_equal(dp_weights_init(&w, 1 << 21, 1, 12, 1, 1, 100), DP_BAD_PARAMETER);
	assert_null(w.table);
}

/* Parameters that dp_weights_bits accepts never fail the check of the table. And it accepts the
 * usual parameters. */
static void never_a_false_alarm(void **state) {
	(void)state;
	uint64_t seed = 21;
	int made = 0;
	for (int i = 0; i < 3000; i++) {
		unsigned bits = 4 + (unsigned)test_below(&seed, 9);
		uint32_t batch = 1 + (uint32_t)test_below(&seed, 12);
		int32_t clip =
		    1 + (int32_t)test_below(&seed, (33u << bits) / (1 + test_below(&seed, 60)) + 1);
		if ((uint64_t)clip * batch > 12000) continue;
		struct dp_weights w;
		enum dp_status status =
		    dp_weights_init(&w, batch, clip, bits, 1 + (int64_t)test_below(&seed, 30),
		                    1 + (int64_t)test_below(&seed, 20), 100);
		assert_true(status == DP_OK || status == DP_BAD_PARAMETER);
		made += status == DP_OK;
		dp_weights_release(&w);
	}
	assert_true(made > 500);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(made_wrong),
	    cmocka_unit_test(published_bounds),
	    cmocka_unit_test(wide_bounds),
	    cmocka_unit_test(both_widths),
	    cmocka_unit_test(check_refuses_wide),
	    cmocka_unit_test(sharp_bounds),
	    cmocka_unit_test(check_refuses),
	    cmocka_unit_test(public_factor),
	    cmocka_unit_test(bad_parameters),
	    cmocka_unit_test(never_a_false_alarm),
	    cmocka_unit_test(check_refuses_anywhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
