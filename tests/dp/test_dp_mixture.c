// SPDX-License-Identifier: Apache-2.0
// Tests PMixED and DP-Decoding: the rules RATIO and FIXED of dp/fusion.h, the share of dp/share.h
// at order infinity, and what dp/mixture_account.h promises of them. It fails if a share is above
// the largest that its rule allows or below it, if the law of a token leaves its interval when one
// place becomes null, if transcripts of a small vocabulary cost more than the accountant says, or
// if the worst adversary stays far below that.
#include "tests/dp/test_dp_support.h"

#include <math.h>

#include "dp/exact.h"
#include "dp/fusion.h"
#include "dp/fusion_account.h"
#include "dp/mixture_account.h"
#include "dp/rowlaw.h"
#include "dp/share.h"

enum { MOST = 32, PLACES = 5 };

#define WHOLE (UINT64_C(1) << 46)
#define SUM (UINT64_C(1) << 62)
#define ROUNDED 1e-15L /* a few hundred roundings of a long double */

static uint64_t seed = 20251123;

static void near(long double x, long double want, long double relative) {
	if (!(fabsl(x - want) <= relative * fabsl(want))) fail_msg("%.15Lg, not %.15Lg", x, want);
}

static void law_of(const double *p, size_t n, uint64_t *law) {
	uint64_t rest = WHOLE;
	for (size_t i = 1; i < n; i++) rest -= law[i] = (uint64_t)llround(p[i] * 0x1p46);
	law[0] = rest;
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* D_2(p || q) of the laws of a token and of all others. */
static long double divergence_2(const long double *p, const long double *q, size_t n) {
	long double sum = 0;
	for (size_t i = 0; i < n; i++) sum += p[i] * (p[i] / q[i]);
	return logl(sum);
}

/* The largest lambda at which both divergences of order 2 are at most c. */
static long double exact_lambda(const double *given, const double *public, size_t n, long double c,
                                bool *is_reverse) {
	long double low = 0, high = 1, p0[MOST], q[MOST];
	for (int turn = 0; turn < 200; turn++) {
		const long double lambda = (low + high) / 2;
		for (size_t i = 0; i < n; i++) {
			p0[i] = public[i];
			q[i] = p0[i] + lambda * ((long double)given[i] - p0[i]);
		}
		const long double forward = divergence_2(q, p0, n),
		                  reverse = divergence_2(p0, q, n);
		*is_reverse = reverse > forward;
		if (forward <= c && reverse <= c) low = lambda;
		else high = lambda;
	}
	return low;
}

/* Theorem F2 never gives more than the exact lambda, and no probability is so small that it is
 * taken for a larger one: then D_2 of the second pair would be .693 in place of 9.210. */
static void exact_lambdas(void **state) {
	(void)state;
	static const struct {
		double c;
		long double lambda;
		uint32_t share;
	} known[] = {{.01, .079172567715662L, 5188},
	             {.1, .25611553486454L, 16784},
	             {1, .96807177927258L, 63443}};
	const double p[] = {.7, .2, .1}, p0[] = {.2, .3, .5};
	uint64_t a[3], b[3];
	law_of(p0, 3, a);
	law_of(p, 3, b);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		bool reverse;
		const long double lambda = exact_lambda(p, p0, 3, known[i].c, &reverse);
		near(lambda, known[i].lambda, 1e-9L);
		assert_int_equal((uint32_t)floorl(lambda * DP_SHARE_ONE), known[i].share);
		/* at the largest c it is the public law's divergence that binds */
		assert_true(i < 2 || reverse);
		const uint32_t share = dp_share_bounded(a, b, 3, 2, dp_share_cap(2, known[i].c));
		assert_true(share <= known[i].share && share >= known[i].share / 2);
	}
	const double rare[] = {1e-5, 1 - 1e-5}, rarer[] = {1e-14, 1 - 1e-14};
	bool reverse;
	const long double lambda = exact_lambda(rare, rarer, 2, .1L, &reverse);
	near(lambda, .0032430066032308L, 1e-9L);
	assert_int_equal((uint32_t)floorl(lambda * DP_SHARE_ONE), 212);
	const long double one[] = {1e-5L, 1 - 1e-5L}, other[] = {1e-14L, 1 - 1e-14L},
	                  clamped[] = {1e-10L, 1 - 1e-14L};
	near(divergence_2(one, other, 2), 9.21044036498L, 1e-9L);
	near(divergence_2(one, clamped, 2), .69313718056L, 1e-9L);
	/* The same with 1e-14 as one part in 2^46, the least that a law has. */
	law_of((double[]){1 - 0x1p-46, 0x1p-46}, 2, a);
	law_of((double[]){1 - 1e-5, 1e-5}, 2, b);
	const double least[] = {0x1p-46, 1 - 0x1p-46};
	const uint32_t most =
	    (uint32_t)floorl(exact_lambda(rare, least, 2, .1L, &reverse) * DP_SHARE_ONE);
	const uint32_t share = dp_share_bounded(a, b, 2, 2, dp_share_cap(2, .1));
	assert_true(share <= most && share >= most / 2);
}

static void shares(void **state) {
	(void)state;
	const double p[] = {.7, .2, .1}, p0[] = {.2, .3, .5};
	uint64_t a[3], b[3];
	law_of(p0, 3, a);
	law_of(p, 3, b);
	/* the exact lambda at order infinity is .19672987905651, which is 12892.8 of 2^16 */
	assert_int_equal(dp_share_ratio(a, b, 3, dp_share_limits(.4)), 12892);
	assert_int_equal(dp_share_bounded(a, b, 3, 2, dp_share_cap(2, .01)), 5140);
	assert_int_equal(dp_share_bounded(a, b, 3, 2, dp_share_cap(2, .1)), 16208);
	const struct dp_share_limits limits = dp_share_limits(.4);
	assert_true(limits.high == UINT64_C(6407338287) && limits.low == UINT64_C(2879002676));
	/* a row that nearly takes a rare token away, and one that makes it likely */
	const double rare[] = {.99999, 1e-5}, common[] = {1e-5, .99999};
	law_of(rare, 2, a);
	law_of(common, 2, b);
	assert_int_equal(dp_share_ratio(a, b, 2, limits), 0);
	assert_int_equal(dp_share_ratio(b, a, 2, limits), 0);
	assert_int_equal(dp_share_ratio(a, a, 2, limits), DP_SHARE_ONE - 1);
	assert_int_equal(dp_share_ratio(a, b, 2, dp_share_limits(16)), DP_SHARE_ONE - 1);
	assert_int_equal(dp_share_ratio(a, b, 2, dp_share_limits(1e-300)), 0);
	assert_misuse((void)dp_share_limits(0));
	assert_misuse((void)dp_share_limits(16.1));
	assert_misuse((void)dp_share_ratio(a, b, 2, (struct dp_share_limits){1, 1}));
	assert_misuse((void)dp_share_ratio(a, b, 2, (struct dp_share_limits){UINT64_MAX, 1}));
	assert_misuse(
	    (void)dp_share_ratio(a, b, 2, (struct dp_share_limits){UINT64_MAX, UINT64_MAX}));
}

static void ranges(void **state) {
	(void)state;
	near(dp_mixture_eta(.4, 7), .161333911816L, 1e-11L);
	near(dp_mixture_eta(.4, 1), .8L, 1e-15L);
	near(dp_mixture_eta(1, 7), .648527515178L, 1e-11L);
	near(dp_mixture_eta(.8, 31), .120018025077L, 1e-11L);
	/* lambda .1, .5, .9 of 32000 tokens, and one of 49152 */
	near(dp_mixture_fixed_eta(1, 10, 32000), 8.1765478149022954L, 1e-10L);
	near(dp_mixture_fixed_eta(1, 2, 32000), 10.373522431294L, 1e-10L);
	near(dp_mixture_fixed_eta(9, 10, 32000), 12.570719231334L, 1e-10L);
	near(dp_mixture_fixed_eta(1, 10, 49152), 8.6056313278781L, 1e-10L);
	/* lambda 3.4957e-5 is an epsilon of 1 a token */
	near(dp_mixture_fixed_eta(34957, 1000000000, 49152), 1, 1e-5L);
	/* a formula of doubles never tells less than these integers have */
	for (size_t n = 1; n <= DP_ROWLAW_MOST; n = n * 3 / 2 + 1)
		assert_true(dp_mixture_fixed_eta(1, 3, n) >= log1pl((long double)n / 2));
	assert_misuse((void)dp_mixture_eta(0, 7));
	assert_misuse((void)dp_mixture_eta(17, 7));
	assert_misuse((void)dp_mixture_eta(1, 0));
	assert_misuse((void)dp_mixture_fixed_eta(0, 10, 5));
	assert_misuse((void)dp_mixture_fixed_eta(10, 10, 5));
	assert_misuse((void)dp_mixture_fixed_eta(1, 10, 0));
	assert_misuse((void)dp_mixture_fixed_eta(1, 10, DP_ROWLAW_MOST + 1));
	/* order A: what AdaPMixED's settings are worth at worst, and a mean of eight */
	const double c = 4.5, tenth = .1;
	near(dp_fusion_epsilon(dp_fusion_loss(15, &c, 1, 7), 500, 15, 1e-6), 2181.2276061163L,
	     1e-12L);
	near(dp_fusion_epsilon(dp_fusion_loss(2, &tenth, 1, 8), 900, 2, 1e-3), 17.276092056522L,
	     1e-12L);
}

/* b from epsilon, by both accountants: within, and not far below. */
static void calibration(void **state) {
	(void)state;
	static const struct {
		double epsilon, b;
	} want[] = {{1, .0697789113}, {3, .1744714641}, {5, .2561431774}, {10, .4074987096}};
	/* by day the exact accountant, which is slow, finds one of them */
	for (size_t i = briefly() ? 3 : 0; i < 4; i++)
		for (int exact = 0; exact < ((i == 3 && !briefly()) || nightly() ? 2 : 1);
		     exact++) {
			const enum dp_accountant by = exact ? DP_EXACT : DP_ZCDP;
			double b = 0, told;
			assert_int_equal(dp_mixture_ratio(want[i].epsilon, 1e-6, 500, 7, by, &b),
			                 DP_OK);
			if (exact) near(b, (long double)want[i].b, 1e-6L);
			else if (!(b < want[i].b && b > .85 * want[i].b)) fail_msg("b %.9g", b);
			const struct dp_claim claim = {.units = 500, .eta = dp_mixture_eta(b, 7)};
			if (exact) assert_int_equal(dp_claim_exact(&claim, 1e-6, &told), DP_OK);
			else told = dp_claim_epsilon(&claim, 1e-6);
			if (!(told <= want[i].epsilon && told >= want[i].epsilon * .9999))
				fail_msg("epsilon %.9g of %g", told, want[i].epsilon);
		}
	for (int exact = 0; exact < 2; exact++) {
		const enum dp_accountant by = exact ? DP_EXACT : DP_ZCDP;
		uint32_t share = 0;
		assert_int_equal(dp_mixture_share(10, 1e-6, 20, 100, by, &share), DP_OK);
		double told[2];
		for (uint32_t more = 0; more < 2; more++) {
			const struct dp_claim claim = {
			    .units = 20,
			    .eta = dp_mixture_fixed_eta(share + more, DP_SHARE_ONE, 100)};
			if (exact)
				assert_int_equal(dp_claim_exact(&claim, 1e-6, &told[more]), DP_OK);
			else told[more] = dp_claim_epsilon(&claim, 1e-6);
		}
		assert_true(told[0] <= 10 && told[1] > 10);
		assert_int_equal(dp_mixture_share(1e9, 1e-6, 2, 100, DP_ZCDP, &share), DP_OK);
		assert_int_equal(share, DP_SHARE_ONE - 1);
		assert_int_equal(dp_mixture_share(1, 1e-6, 500, 49152, by, &share),
		                 DP_BAD_PARAMETER);
		assert_int_equal(dp_mixture_share(0, 1e-6, 20, 100, by, &share), DP_BAD_PARAMETER);
		assert_int_equal(dp_mixture_share(1, 0, 20, 100, by, &share), DP_BAD_PARAMETER);
		assert_int_equal(dp_mixture_share(1, 1e-6, 0, 100, by, &share), DP_BAD_PARAMETER);
		assert_int_equal(dp_mixture_share(1, 1e-6, 20, 0, by, &share), DP_BAD_PARAMETER);
		assert_int_equal(dp_mixture_share(1, 1e-6, 20, DP_ROWLAW_MOST + 1, by, &share),
		                 DP_BAD_PARAMETER);
	}
	double b = 77;
	assert_int_equal(dp_mixture_ratio(0, 1e-6, 500, 7, DP_ZCDP, &b), DP_BAD_PARAMETER);
	assert_int_equal(dp_mixture_ratio(1, 1, 500, 7, DP_ZCDP, &b), DP_BAD_PARAMETER);
	assert_int_equal(dp_mixture_ratio(1, 1e-6, 0, 7, DP_ZCDP, &b), DP_BAD_PARAMETER);
	assert_int_equal(dp_mixture_ratio(1, 1e-6, 500, 0, DP_ZCDP, &b), DP_BAD_PARAMETER);
	assert_int_equal(dp_mixture_ratio(1, 1e-6, 40000, 7, DP_EXACT, &b), DP_BAD_PARAMETER);
	assert_int_equal(dp_mixture_ratio(1e-30, 1e-300, 9, 1, DP_ZCDP, &b), DP_BAD_PARAMETER);
	assert_true(b >= 77 && b <= 77);
	/* more than a ratio holds: its largest */
	assert_int_equal(dp_mixture_ratio(1e6, 1e-6, 1, 7, DP_ZCDP, &b), DP_OK);
	near(b, DP_SHARE_RATIO, 1e-15L);
}

/* ---- hostile rows ---------------------------------------------------------------------------- */

/* Logits of some kind: flat, spread out, tied, one-hot, far away, not finite. */
static void hostile_row(float *row, size_t n, const float *like) {
	const uint64_t kind = test_below(&seed, 9);
	const float spread = (const float[]){0, .1f, 1, 5, 30, 3e38f}[test_below(&seed, 6)];
	for (size_t i = 0; i < n; i++) {
		row[i] = test_between(&seed, -1, 1) * spread;
		if (kind == 0 && i % 2) row[i] = row[i - 1];
		if (kind == 1) row[i] = i == n / 2 ? 60 : -60;
		if (kind == 2) row[i] = i == n / 2 ? -25 : 0;
		if (like && kind == 3) row[i] = like[i];
		if (like && kind == 4) row[i] = like[n - 1 - i];
		if (like && kind > 6) row[i] = like[i] + row[i] / 8;
	}
	if (like && kind == 5) row[test_below(&seed, n)] = NAN;
	if (like && kind == 6) row[test_below(&seed, n)] = -INFINITY;
}

/* The source of random bits: a place, as often as it is asked for. */
static enum dp_status fill_place(void *user, void *bytes, size_t size) {
	memset(bytes, 0, size);
	memcpy(bytes, user, sizeof(uint32_t));
	return DP_OK;
}

static struct dp_fusion_params ratio_params(uint32_t *place, uint32_t places, size_t n,
                                            const double *each) {
	return (struct dp_fusion_params){.rule = DP_FUSION_RATIO,
	                                 .least_places = places,
	                                 .most_places = places,
	                                 .divergences = each,
	                                 .tokens = 1000,
	                                 .vocab = n,
	                                 .temperature_num = 1,
	                                 .temperature_den = 1,
	                                 .random = {fill_place, place}};
}

/* w of one place, and whether the row was wanted in order. */
static uint32_t weights_of(struct dp_fusion *m, const float *public, const float *row,
                           uint32_t places, uint32_t place, uint64_t *w, uint64_t *a) {
	struct dp_wanted wanted;
	dp_fusion_begin(m, places, 0);
	assert_int_equal(dp_fusion_open(m, public, false, &wanted), DP_OK);
	assert_int_equal(wanted.place, place);
	if (row) dp_fusion_row(m, place, row);
	const struct dp_fusion_step step = dp_fusion_inspect(m);
	uint64_t sum = 0;
	for (size_t y = 0; y < step.count; y++) {
		w[y] = (DP_SHARE_ONE - step.share) * step.a[y] + (uint64_t)step.share * step.b[y];
		a[y] = step.a[y];
		sum += w[y];
	}
	assert_true(sum == SUM);
	return step.share;
}

/* Each mixture is within its limits and could not hold a share more; the mean has the range eta. */
static void hostile_rows_of(uint32_t m, size_t n, double b, int sets) {
	const double each[PLACES] = {b, b, b, b, b};
	uint32_t place = 0;
	const struct dp_fusion_params params = ratio_params(&place, m, n, each);
	struct dp_fusion *mechanism;
	assert_int_equal(dp_fusion_new(&params, &mechanism), DP_OK);
	const long double high = expl((long double)b), low = expl(-(long double)b),
	                  eta = dp_mixture_eta(b, m);
	for (int i = 0; i < sets; i++) {
		float public[MOST], row[MOST];
		uint64_t w[PLACES][MOST], a[MOST];
		hostile_row(public, n, NULL);
		for (place = 0; place < m; place++) {
			hostile_row(row, n, public);
			const uint32_t l =
			    weights_of(mechanism, public, row, m, place, w[place], a);
			const struct dp_fusion_step step = dp_fusion_inspect(mechanism);
			bool finite = true, would_break = l == DP_SHARE_ONE - 1;
			for (size_t y = 0; y < n; y++) {
				const long double whole = (long double)a[y] * 65536.0L,
				                  q = (long double)w[place][y],
				                  next = q + (long double)step.b[y] -
				                         (long double)a[y];
				finite &= isfinite(row[y]) != 0;
				assert_true(q <= whole * high && q >= whole * low);
				/* the integers of dp/share.h are 2^-32 coarse */
				would_break |= next * (1 + 1e-8L) > whole * high ||
				               next < whole * low * (1 + 1e-8L);
			}
			assert_true(finite ? would_break : l == 0);
		}
		/* one place null: the interval of ln(P/P') */
		for (uint32_t j = 0; j < m; j++) {
			long double most = -INFINITY, least = INFINITY;
			for (size_t y = 0; y < n; y++) {
				long double all = 0;
				for (uint32_t k = 0; k < m; k++) all += (long double)w[k][y];
				const long double without = all - (long double)w[j][y] +
				                            (long double)a[y] * 65536.0L,
				                  loss = logl(all / without);
				most = fmaxl(most, loss);
				least = fminl(least, loss);
			}
			assert_true(most - least <= eta + ROUNDED);
		}
	}
	dp_fusion_free(&mechanism);
}

/* Each mixture is within its limits and could not hold a share more; the mean has the range eta. */
static void hostile_rows(void **state) {
	(void)state;
	for (int i = 0; i < test_cases(200); i++)
		hostile_rows_of(1 + (uint32_t)test_below(&seed, PLACES),
		                2 + test_below(&seed, i % 4 ? 8 : MOST - 1),
		                exp2(test_between(&seed, -9, 3.9f)), 50);
}

/* ---- every transcript ------------------------------------------------------------------------ */

enum { VOCAB = 3, MOST_STEPS = 6 };

typedef void choose_fn(float (*rows)[VOCAB], uint64_t history, double b);

/* Rows 1 .. of an adversary; row 0 is the public one. Place 0 is the one that becomes null. */

/* Its row makes one token so much likelier that this and a token it takes away are at both limits.
 * The other rows take both away, and most of the public law lies elsewhere. */
static void spread_apart(float (*rows)[VOCAB], uint64_t history, double b) {
	const size_t y = history % VOCAB;
	for (uint32_t j = 0; j <= PLACES; j++)
		for (size_t i = 0; i < VOCAB; i++)
			rows[j][i] = i == (y + 2) % VOCAB ? 0 : j == 0 ? -6 : -40;
	rows[1][y] = -6 + (float)log1p(exp(b));
}

/* Two tokens of weight. The row takes the one away and makes the other as much likelier as it may
 * be: where the public law gives it p, p e^b + (1 - p) e^-b is 1. */
static void move_half(float (*rows)[VOCAB], uint64_t history, double b) {
	const size_t y = history % 2;
	const double p = (1 - exp(-b)) / (exp(b) - exp(-b));
	for (uint32_t j = 0; j <= PLACES; j++) {
		for (size_t i = 0; i < VOCAB; i++) rows[j][i] = -28;
		rows[j][y] = (float)log(p / (1 - p));
		rows[j][1 - y] = j == 0 ? 0 : -40;
	}
}

static void at_random(float (*rows)[VOCAB], uint64_t history, double b) {
	(void)b;
	uint64_t of = history;
	for (uint32_t j = 0; j <= PLACES; j++)
		for (size_t i = 0; i < VOCAB; i++) rows[j][i] = test_between(&of, -6, 6);
	if (test_below(&of, 4) == 0) rows[2][history % VOCAB] = NAN;
}

struct tree {
	struct dp_fusion *mechanism;
	choose_fn *choose;
	double b;
	uint32_t places, steps;
	uint32_t place;    /* what the source answers */
	bool exchange;     /* the other world has another row, not null */
	long double range; /* the largest interval of a step */
	long double ratio; /* the largest |ln(P/P')| of a step */
	long double epsilon;
	long double delta[2]; /* sum of (P - e^epsilon P')_+, and the other way round */
	long double whole[2];
};

static void law_of_step(struct tree *t, float (*rows)[VOCAB], bool neighbour, long double *law) {
	float other[VOCAB];
	for (size_t y = 0; y < VOCAB; y++) {
		law[y] = 0;
		other[y] = rows[1][VOCAB - 1 - y];
	}
	for (t->place = 0; t->place < t->places; t->place++) {
		uint64_t w[VOCAB], a[VOCAB];
		const float *row = rows[t->place + 1];
		if (neighbour && t->place == 0) row = t->exchange ? other : NULL;
		weights_of(t->mechanism, rows[0], row, t->places, t->place, w, a);
		for (size_t y = 0; y < VOCAB; y++)
			law[y] += (long double)w[y] / 0x1p62L / t->places;
	}
}

static void walk(struct tree *t, uint32_t step, uint64_t history, long double p, long double q) {
	if (step == t->steps) {
		const long double factor = expl(t->epsilon);
		t->delta[0] += fmaxl(0, p - factor * q);
		t->delta[1] += fmaxl(0, q - factor * p);
		t->whole[0] += p;
		t->whole[1] += q;
		return;
	}
	float rows[PLACES + 1][VOCAB];
	long double with[VOCAB], without[VOCAB], most = -INFINITY, least = INFINITY;
	t->choose(rows, history, t->b);
	law_of_step(t, rows, false, with);
	law_of_step(t, rows, true, without);
	for (size_t y = 0; y < VOCAB; y++) {
		most = fmaxl(most, logl(with[y] / without[y]));
		least = fminl(least, logl(with[y] / without[y]));
	}
	t->range = fmaxl(t->range, most - least);
	t->ratio = fmaxl(t->ratio, fmaxl(most, -least));
	for (size_t y = 0; y < VOCAB; y++)
		walk(t, step + 1, history * 3 + y + 1, p * with[y], q * without[y]);
}

/* eta holds for each step, what the exact accountant says for all of them; the named adversaries
 * reach nine tenths of the one or the other. */
static void every_transcript(void **state) {
	(void)state;
	static const struct {
		choose_fn *choose;
		uint32_t places;
		double b;
		long double range; /* the part of eta that must be reached */
		bool whole;        /* whether epsilon must be reached, too */
	} cases[] = {{spread_apart, 1, .4, .97L, false}, {spread_apart, 2, .4, .97L, false},
	             {spread_apart, 5, .4, .97L, false}, {spread_apart, 5, 1.5, .97L, false},
	             {move_half, 1, .4, .9L, true},      {move_half, 1, .1, .9L, true},
	             {move_half, 3, .4, 0, false},       {at_random, 3, .4, 0, false},
	             {at_random, 2, 2, 0, false}};
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		const double b = cases[c].b, each[PLACES] = {b, b, b, b, b};
		const uint32_t m = cases[c].places;
		const long double eta = dp_mixture_eta(b, m);
		bool reached = false;
		for (double part = .05; part < 1; part += .3) {
			struct tree t = {.choose = cases[c].choose,
			                 .b = b,
			                 .places = m,
			                 .steps = MOST_STEPS - 1,
			                 .epsilon = part * MOST_STEPS * (double)eta / 2};
			const struct dp_fusion_params params =
			    ratio_params(&t.place, m, VOCAB, each);
			struct dp_mechanism table;
			assert_int_equal(dp_fusion_mechanism(&params, &table), DP_OK);
			assert_true(table.claim.eta >= eta && table.claim.eta <= eta);
			assert_int_equal(table.claim.null, DP_NULL_IS_PUBLIC);
			assert_int_equal(table.claim.units, 1000);
			assert_int_equal(table.claim.event.count, 0);
			assert_null(table.turn);
			t.mechanism = table.self;
			walk(&t, 0, 1, 1, 1);
			table.free(table.self);
			double delta;
			assert_int_equal(dp_exact_delta((double)(eta * (1 + 1e-15L)), t.steps,
			                                (double)t.epsilon, 0, &delta),
			                 DP_OK);
			for (int way = 0; way < 2; way++)
				assert_true(fabsl(t.whole[way] - 1) < ROUNDED);
			const long double most = fmaxl(t.delta[0], t.delta[1]);
			if (!(t.range <= eta + ROUNDED && most <= (long double)delta + ROUNDED))
				fail_msg("case %zu: range %.9Lf of %.9Lf, delta %.9Lg of %.9g", c,
				         t.range, eta, most, delta);
			if (!(t.range >= cases[c].range * eta))
				fail_msg("case %zu: range %.9Lf of %.9Lf", c, t.range, eta);
			reached |= most > 1e-4L && most >= .9L * (long double)delta;
		}
		if (cases[c].whole && !reached) fail_msg("case %zu: no delta is reached", c);
	}
}

/* A claim is that of the fewest places, which cost most. */
static void the_fewest_places(void **state) {
	(void)state;
	uint32_t place = 0;
	const double each[PLACES] = {.4, .4, .4, .4, .4};
	struct dp_fusion_params params = ratio_params(&place, PLACES, VOCAB, each);
	params.least_places = 2;
	struct dp_mechanism table;
	assert_int_equal(dp_fusion_mechanism(&params, &table), DP_OK);
	near(table.claim.eta, .477953485388L, 1e-11L);
	table.free(table.self);
}

/* ---- a fixed lambda -------------------------------------------------------------------------- */

static void sure_of_first(float (*rows)[VOCAB], uint64_t history, double b) {
	(void)b;
	(void)history;
	for (size_t i = 0; i < VOCAB; i++) {
		rows[0][i] = (float)i; /* of no effect: the base is uniform */
		rows[1][i] = i == 0 ? 60 : -60;
	}
}

static void decoding(void **state) {
	(void)state;
	choose_fn *const choices[] = {sure_of_first, at_random};
	static const uint32_t shares[] = {1, 2, 6553, 32768, 58982, 65535};
	for (size_t c = 0; c < 2 * 6 * 2; c++) {
		const uint32_t share = shares[c / 4];
		struct tree t = {
		    .choose = choices[c % 2], .places = 1, .steps = 3, .exchange = c / 2 % 2};
		const struct dp_fusion_params params = {.rule = DP_FUSION_FIXED,
		                                        .least_places = 1,
		                                        .most_places = 1,
		                                        .tokens = 9,
		                                        .most_share = share,
		                                        .vocab = VOCAB,
		                                        .temperature_num = 1,
		                                        .temperature_den = 1,
		                                        .random = {fill_place, &t.place}};
		struct dp_mechanism table;
		assert_int_equal(dp_fusion_mechanism(&params, &table), DP_OK);
		const long double eta = dp_mixture_fixed_eta(share, DP_SHARE_ONE, VOCAB);
		assert_true(table.claim.eta >= eta && table.claim.eta <= eta);
		t.mechanism = table.self;
		walk(&t, 0, 1, 1, 1);
		/* Against null the interval is eta, against any other text the ratio is. */
		const long double told = t.exchange ? t.ratio : t.range;
		if (!(told <= eta + ROUNDED)) fail_msg("case %zu: %.9Lf of %.9Lf", c, told, eta);
		if (c % 2 == 0) near(told, eta, 1e-6L);
		uint64_t w[VOCAB], a[VOCAB];
		float rows[PLACES + 1][VOCAB];
		sure_of_first(rows, 0, 0);
		assert_int_equal(weights_of(table.self, rows[0], rows[1], 1, t.place = 0, w, a),
		                 share);
		assert_true(a[1] == WHOLE / 3 && a[2] == a[1] && a[0] == WHOLE - 2 * a[1]);
		table.free(table.self);
	}
	/* tokens that may not be drawn are not among the n */
	uint32_t place = 0;
	const uint8_t allowed[VOCAB] = {1, 0, 1};
	struct dp_fusion_params params = ratio_params(&place, 1, VOCAB, NULL);
	params.rule = DP_FUSION_FIXED;
	params.most_share = 32768;
	params.allowed = allowed;
	struct dp_mechanism table;
	assert_int_equal(dp_fusion_mechanism(&params, &table), DP_OK);
	near(table.claim.eta, logl(3), 1e-12L);
	table.free(table.self);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(shares),       cmocka_unit_test(exact_lambdas),
	    cmocka_unit_test(ranges),       cmocka_unit_test(calibration),
	    cmocka_unit_test(hostile_rows), cmocka_unit_test(every_transcript),
	    cmocka_unit_test(decoding),     cmocka_unit_test(the_fewest_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
