// SPDX-License-Identifier: Apache-2.0
// Tests Theorem A of dp/PRIVACY.md on 12,000 random and adversarial neighbours, and on large
// batches, in exact integers. It fails if for any two candidates y, z
//   w(y) w'(z) <= e^eta w(z) w'(y),   eta = 2 Chat kappa (1 + 1e-9)
// is broken. Here w' are the weights of the world with one reference null. These are odds, not
// probabilities: the normalisers cancel, so the comparison is exact.
#include "tests/dp/test_dp_support.h"

#include <float.h>
#include <math.h>

#include "dp/account.h"
#include "dp/invisibleink.h"
#include "dp/wide.h"
#include "kernels/kernels.h"
#include "tests/dp/dp_oracle.h"

enum { VOCAB_MAX = 64, BATCH_MAX = 4096, LIMBS = 16 };

/* ---- little-endian numbers of 512 bits, 32 at a time ----------------------------------------- */

struct wide {
	uint32_t limb[LIMBS];
};

static struct wide wide(struct dp_wide value) {
	struct wide w = {{0}};
	for (int i = 0; i < 4; i++) {
		w.limb[i] = (uint32_t)(value.low >> 32 * i);
		w.limb[i + 4] = (uint32_t)(value.high >> 32 * i);
	}
	return w;
}

static struct wide narrow(unsigned __int128 value) {
	return wide((struct dp_wide){value, 0});
}

static struct wide times(const struct wide *a, struct wide b) {
	struct wide product = {{0}};
	uint64_t lost = 0;
	int length = LIMBS; /* of a: most of both numbers is zeros */
	while (length > 0 && a->limb[length - 1] == 0) length--;
	for (int j = 0; j < LIMBS; j++) {
		if (b.limb[j] == 0) continue;
		uint64_t carry = 0;
		for (int i = 0; i + j < LIMBS && (i < length || carry > 0); i++) {
			carry += (uint64_t)a->limb[i] * b.limb[j] + product.limb[i + j];
			product.limb[i + j] = (uint32_t)carry;
			carry >>= 32;
		}
		lost |= carry;
	}
	assert_int_equal(lost, 0);
	return product;
}

static int compare(const struct wide *a, const struct wide *b) {
	for (int i = LIMBS; i-- > 0;)
		if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
	return 0;
}

static void the_numbers_themselves(void **state) {
	(void)state;
	const unsigned __int128 ones = ~(unsigned __int128)0;
	struct wide a = narrow(ones), square = times(&a, a), b = narrow(ones - 1), c = narrow(1);
	/* (2^128 - 1)^2 = 2^256 - 2^129 + 1 */
	static const uint32_t want[LIMBS] = {1,          0,          0,          0, 0xfffffffe,
	                                     0xffffffff, 0xffffffff, 0xffffffff, 0, 0};
	assert_memory_equal(square.limb, want, sizeof want);
	assert_int_equal(compare(&a, &b), 1);
	assert_int_equal(compare(&c, &b), -1);
	assert_int_equal(compare(&a, &a), 0);
	struct wide shifted = times(&square, narrow((unsigned __int128)1 << 63));
	assert_int_equal(shifted.limb[1], 0x80000000u);
	assert_int_equal(shifted.limb[0], 0);
}

/* Compares dp/wide.h, whose arithmetic the mechanism uses, with the numbers above. */
static void the_mechanisms_numbers(void **state) {
	(void)state;
	uint64_t seed = 3;
	for (int i = 0; i < 20000; i++) {
		unsigned __int128 f[2];
		uint64_t g[2];
		struct dp_wide product[2];
		struct wide check[2], sum = {{0}};
		for (int n = 0; n < 2; n++) {
			f[n] = ((unsigned __int128)test_random(&seed) << 64 | test_random(&seed)) >>
			       test_below(&seed, 128);
			g[n] = test_random(&seed) >> test_below(&seed, 64);
			if (test_below(&seed, 8) == 0)
				f[n] = ~(unsigned __int128)0 << test_below(&seed, 128);
			if (test_below(&seed, 8) == 0) g[n] = UINT64_MAX;
			if (n == 1 && test_below(&seed, 4) == 0) f[1] = f[0];
			if (n == 1 && test_below(&seed, 2) == 0) g[1] = g[0] + test_below(&seed, 2);
			product[n] = dp_wide_product(g[n], f[n]);
			const struct wide left = narrow(f[n]), have = wide(product[n]);
			check[n] = times(&left, narrow(g[n]));
			assert_memory_equal(&have, &check[n], sizeof have);
		}
		uint64_t carry = 0;
		for (int limb = 0; limb < LIMBS; limb++) {
			carry += (uint64_t)check[0].limb[limb] + check[1].limb[limb];
			sum.limb[limb] = (uint32_t)carry;
			carry >>= 32;
		}
		const struct wide have = wide(dp_wide_sum(product[0], product[1]));
		assert_memory_equal(&have, &sum, sizeof have);
		assert_int_equal(dp_wide_less(product[0], product[1]),
		                 compare(&check[0], &check[1]) < 0);
		assert_int_equal(dp_wide_less(product[1], product[0]),
		                 compare(&check[1], &check[0]) < 0);
	}
}

/* ---- neighbours ------------------------------------------------------------------------------ */

struct world {
	float row[1 + BATCH_MAX][VOCAB_MAX]; /* row 0 is public */
	bool null[1 + BATCH_MAX];
};

struct outcome {
	size_t count;
	uint32_t candidates[VOCAB_MAX];
	struct wide weight[VOCAB_MAX];
	uint64_t a[VOCAB_MAX];
	unsigned __int128 e[VOCAB_MAX];
};

static void run(struct dp_invisibleink *m, const struct world *world, uint32_t batch,
                struct outcome *out) {
	const uint32_t *candidates;
	uint32_t token;
	dp_invisibleink_begin(m, 0);
	assert_int_equal(dp_invisibleink_public(m, world->row[0], &candidates, &out->count), DP_OK);
	memcpy(out->candidates, candidates, out->count * sizeof *candidates);
	for (uint32_t i = 1; i <= batch; i++) {
		float logits[VOCAB_MAX];
		for (size_t c = 0; c < out->count; c++) logits[c] = world->row[i][candidates[c]];
		if (!world->null[i]) dp_invisibleink_private(m, logits);
	}
	for (size_t c = 0; c < out->count; c++) {
		out->a[c] = dp_invisibleink_public_weight(m, c);
		out->e[c] = dp_invisibleink_private_weight(m, c);
		assert_true(out->a[c] > 0 && out->e[c] > 0);
		const struct wide e = narrow(out->e[c]);
		out->weight[c] = times(&e, narrow(out->a[c]));
	}
	assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
}

/* One logit of a private row: near the public one, a tie, far away, or as extreme as floats get. */
static float hostile(uint64_t *seed, float public, float clip, int mood) {
	switch (mood == 5 ? test_below(seed, 5) : (uint64_t)mood) {
	case 0:
		return public + test_between(seed, -2 * clip, 2 * clip);
	case 1:
		return public + (test_below(seed, 2) ? clip : -clip);
	case 2:
		return test_below(seed, 2) ? FLT_MAX : -FLT_MAX;
	case 3:
		return test_between(seed, -50, 50);
	default:
		return public;
	}
}

static void make_world(uint64_t *seed, struct world *world, uint32_t batch, size_t vocab,
                       float clip) {
	const float span = ldexpf(1, (int)test_below(seed, 12) - 5);
	const int mood = (int)test_below(seed, 6);
	for (size_t y = 0; y < vocab; y++) {
		world->row[0][y] = test_between(seed, -span, span);
		if (test_below(seed, 4) == 0 && y > 0) world->row[0][y] = world->row[0][y - 1];
		if (test_below(seed, 200) == 0)
			world->row[0][y] = test_below(seed, 2) ? FLT_MAX : -FLT_MAX;
	}
	for (uint32_t i = 1; i <= batch; i++) {
		world->null[i] = test_below(seed, 5) == 0;
		for (size_t y = 0; y < vocab; y++)
			world->row[i][y] = hostile(seed, world->row[0][y], clip, mood);
		if (test_below(seed, 8) == 0) {
			static const float odd[] = {NAN, INFINITY, -INFINITY};
			world->row[i][test_below(seed, vocab)] = odd[test_below(seed, 3)];
		}
	}
}

struct bound {
	struct wide factor, scale; /* factor / scale <= e^eta */
	long double eta;
};

/* The margin under the true e^eta is 2^-60 (1 + eta), far below the slack of 1e-9 eta. */
static struct bound bound_of(const struct dp_invisibleink_params *p) {
	long double kappa =
	    (long double)p->temperature_den * (p->gain ? p->gain : 100) /
	    ((long double)p->temperature_num * p->batch * (1u << p->fraction_bits) * 100);
	long double eta = 2.0L * p->clip_fixed * kappa * (1.0L + 1e-9L),
	            factor = expl(eta) * (1.0L - 0x1p-60L * (1.0L + eta));
	const int length = (int)ceill(eta / logl(2.0L));
	const struct wide digits = narrow((uint64_t)floorl(ldexpl(factor, 62 - length)));
	if (length <= 62) return (struct bound){digits, narrow((uint64_t)1 << (62 - length)), eta};
	return (struct bound){times(&digits, narrow((uint64_t)1 << (length - 62))), narrow(1), eta};
}

/* Takes every ordered pair of candidates, so both directions of the ratio. Returns the number of
 * pairs beyond the bound, and the widest log odds ratio seen. */
static size_t beyond(const struct outcome *x, const struct outcome *y, const struct bound *bound,
                     long double *widest) {
	size_t count = 0;
	long double low = INFINITY, high = -INFINITY;
	for (size_t i = 0; i < x->count; i++) {
		for (size_t j = 0; j < x->count; j++) {
			const struct wide left = times(&x->weight[i], y->weight[j]),
			                  right = times(&x->weight[j], y->weight[i]);
			const struct wide scaled = times(&left, bound->scale),
			                  limit = times(&right, bound->factor);
			count += compare(&scaled, &limit) > 0;
		}
		long double ratio = logl((long double)x->e[i] / (long double)y->e[i]);
		low = fminl(low, ratio);
		high = fmaxl(high, ratio);
	}
	*widest = high - low;
	return count;
}

static struct dp_invisibleink *
random_mechanism(uint64_t *seed, struct dp_invisibleink_params *params, uint64_t *source) {
	for (;;) {
		struct dp_invisibleink *m;
		*params = oracle_params(seed, (struct dp_random){test_fill, source});
		enum dp_status status = dp_invisibleink_new(params, &m);
		if (status == DP_OK) return m;
		assert_int_equal(status, DP_BAD_PARAMETER);
	}
}

struct tally {
	size_t pairs, tight, swaps, swapped_beyond;
	size_t largest, tied, odd, odd_changed, nulls,
	    alone; /* pairs that have one, see `describe` */
};

/* Counts which kinds of adversarial pair this one is. Row j is the one that becomes null. */
static void describe(const struct world *world, const struct dp_invisibleink_params *p, size_t j,
                     struct tally *tally) {
	bool largest = false, tied = false, odd = false, odd_changed = false;
	size_t nulls = 0;
	for (size_t y = 1; y < p->vocab; y++) tied |= world->row[0][y] == world->row[0][y - 1];
	for (size_t i = 1; i <= p->batch; i++) {
		nulls += world->null[i];
		for (size_t y = 0; y < p->vocab && !world->null[i]; y++) {
			largest |= fabsf(world->row[i][y]) == FLT_MAX;
			odd |= !isfinite(world->row[i][y]);
			odd_changed |= i == j && !isfinite(world->row[i][y]);
		}
	}
	tally->largest += largest;
	tally->tied += tied;
	tally->odd += odd;
	tally->odd_changed += odd_changed;
	tally->nulls += nulls > 0;
	tally->alone += p->batch > 1 && nulls == p->batch - 1;
}

static void try_neighbours(struct dp_invisibleink *m, const struct dp_invisibleink_params *p,
                           int instances, uint64_t *seed, struct tally *tally) {
	static struct world world, swapped;
	static struct outcome all, fewer, other;
	const struct bound bound = bound_of(p);
	for (int instance = 0; instance < instances; instance++) {
		make_world(seed, &world, p->batch, p->vocab,
		           ldexpf((float)p->clip_fixed, -(int)p->fraction_bits));
		const size_t j = 1 + test_below(seed, p->batch);
		world.null[j] = false;
		describe(&world, p, j, tally);
		run(m, &world, p->batch, &all);
		world.null[j] = true;
		run(m, &world, p->batch, &fewer);
		/* V+ and A are functions of the public row alone */
		assert_int_equal(all.count, fewer.count);
		assert_memory_equal(all.candidates, fewer.candidates,
		                    all.count * sizeof *all.candidates);
		assert_memory_equal(all.a, fewer.a, all.count * sizeof *all.a);
		long double widest;
		assert_int_equal(beyond(&all, &fewer, &bound, &widest), 0);
		tally->tight += widest > 0.9999L * bound.eta;
		tally->pairs++;
		if (instance % 10 != 0) continue;
		/* The test can fail: eta does not cover the exchange of a record for its opposite,
		 * and the comparison sees that. */
		swapped = world;
		swapped.null[j] = world.null[j] = false;
		for (size_t y = 0; y < p->vocab; y++) {
			world.row[j][y] = world.row[0][y] + (y & 1 ? 1e6f : -1e6f);
			swapped.row[j][y] = world.row[0][y] - (y & 1 ? 1e6f : -1e6f);
		}
		run(m, &world, p->batch, &all);
		run(m, &swapped, p->batch, &other);
		tally->swapped_beyond += beyond(&all, &other, &bound, &widest) > 0;
		tally->swaps++;
	}
}

static void odds_of_neighbours(void **state) {
	(void)state;
	uint64_t seed = 7, source = 8;
	struct tally tally = {0};
	size_t raised = 0; /* mechanisms with a gain above 1 */
	for (int mechanism = 0; mechanism < 120; mechanism++) {
		struct dp_invisibleink_params p;
		struct dp_invisibleink *m = random_mechanism(&seed, &p, &source);
		raised += p.gain > 100;
		struct dp_weights w;
		assert_int_equal(dp_weights_init(&w, p.batch, p.clip_fixed, p.fraction_bits,
		                                 p.temperature_num, p.temperature_den, p.gain),
		                 DP_OK);
		assert_null(oracle_table(&w, &p));
		dp_weights_release(&w);
		try_neighbours(m, &p, 100, &seed, &tally);
		dp_invisibleink_free(&m);
	}
	assert_int_equal(tally.pairs, 12000);
	assert_true(raised > 50);
	assert_true(
	    tally.tight >
	    1000); /* the bound is attained: a clip or a sum wrong by one unit would break it */
	assert_true(tally.swapped_beyond > tally.swaps / 2);
	/* every kind of adversary was there: +-FLT_MAX, ties, NaN or infinity in some row and in
	 * row j, nulls beside j, and nulls only */
	assert_true(tally.largest > 2000 && tally.tied > 6000 && tally.odd > 3000 &&
	            tally.odd_changed > 1000);
	assert_true(tally.nulls > 4000 && tally.alone > 200);
}

/* Large batches as dp_calibrate makes them for epsilon 10 at delta 1e-6. The last four have the
 * largest clips that the weights hold. */
static void odds_of_large_batches(void **state) {
	(void)state;
	static const struct {
		uint32_t batch, tokens;
		int instances;
		double exponent; /* C/tau */
	} rows[] = {{31, 60, 200, 7.02},   {63, 100, 200, 11.05},  {127, 100, 200, 22.28},
	            {31, 2, 200, 32.0},    {255, 100, 200, 31.88}, {1024, 100, 60, 31.19},
	            {4096, 100, 30, 30.44}};
	uint64_t seed = 27, source = 28;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct dp_integers n = {.batch = rows[i].batch,
		                        .tokens = rows[i].tokens,
		                        .temperature_num = 1,
		                        .temperature_den = 1};
		assert_int_equal(dp_calibrate(&n, 10, 1e-6, NULL), DP_OK);
		assert_true(fabs(ldexp(n.clip_fixed, -(int)n.fraction_bits) - rows[i].exponent) <
		            0.01);
		const struct dp_invisibleink_params p = {.batch = n.batch,
		                                         .tokens = n.tokens,
		                                         .vocab = 32,
		                                         .temperature_num = n.temperature_num,
		                                         .temperature_den = n.temperature_den,
		                                         .clip_fixed = n.clip_fixed,
		                                         .fraction_bits = n.fraction_bits,
		                                         .random = {test_fill, &source}};
		struct dp_invisibleink *m;
		struct tally tally = {0};
		assert_int_equal(dp_invisibleink_new(&p, &m), DP_OK);
		try_neighbours(m, &p, rows[i].instances, &seed, &tally);
		dp_invisibleink_free(&m);
		assert_true(tally.tight > tally.pairs / 10);
		assert_true(tally.swapped_beyond > tally.swaps / 2);
	}
}

/* The order of the rows does not matter, and every tier of the kernels gives the same weights. */
static void order_and_tiers(void **state) {
	(void)state;
	uint64_t seed = 17, source = 18;
	const struct kernels *tables[8];
	size_t tiers = kernels_available(tables);
	static struct world world, mirrored;
	static struct outcome first, again;
	for (int i = 0; i < 300; i++) {
		struct dp_invisibleink_params p;
		struct dp_invisibleink *m = random_mechanism(&seed, &p, &source);
		make_world(&seed, &world, p.batch, p.vocab,
		           ldexpf((float)p.clip_fixed, -(int)p.fraction_bits));
		mirrored = world;
		for (size_t row = 1; row <= p.batch; row++) {
			memcpy(mirrored.row[row], world.row[1 + p.batch - row],
			       sizeof world.row[row]);
			mirrored.null[row] = world.null[1 + p.batch - row];
		}
		assert_true(kernels_set("scalar"));
		run(m, &world, p.batch, &first);
		for (size_t tier = 0; tier < tiers; tier++) {
			assert_true(kernels_set(tables[tier]->name));
			run(m, &mirrored, p.batch, &again);
			assert_int_equal(first.count, again.count);
			assert_memory_equal(first.e, again.e, first.count * sizeof *first.e);
		}
		assert_true(kernels_set("auto"));
		dp_invisibleink_free(&m);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_numbers_themselves), cmocka_unit_test(the_mechanisms_numbers),
	    cmocka_unit_test(odds_of_neighbours),     cmocka_unit_test(odds_of_large_batches),
	    cmocka_unit_test(order_and_tiers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
