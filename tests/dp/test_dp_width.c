// SPDX-License-Identifier: Apache-2.0
// Tests DP-Prompt (dp/width.h): what a token costs between any two texts and against a null one,
// the law of hostile rows, draws, and the order of a step. It fails if a row moves the odds by more
// than is claimed, if the worst rows stay below nine tenths of that, if a row that is not finite is
// more than a null one, or if draws do not have the law.
#include "tests/dp/test_dp_support.h"

#include <math.h>

#include "dp/account.h"
#include "dp/width.h"

enum { MOST = 24, TOKENS = 3 };

static uint64_t seed = 7;

static struct dp_width_params width_params(size_t vocab, int32_t clip_fixed) {
	return (struct dp_width_params){.tokens = TOKENS,
	                                .vocab = vocab,
	                                .temperature_num = 3,
	                                .temperature_den = 2,
	                                .clip_fixed = clip_fixed,
	                                .fraction_bits = 12,
	                                .random = {test_fill, &seed}};
}

static struct dp_mechanism make_width(const struct dp_width_params *params) {
	struct dp_mechanism made;
	assert_int_equal(dp_width_mechanism(params, &made), DP_OK);
	return made;
}

/* ---- vectors --------------------------------------------------------------------------------- */

static void near_and_above(double x, double want) {
	if (!(x >= want * (1 - 1e-13) && x <= want * (1 + 1e-11)))
		fail_msg("%.15g, not %.15g", x, want);
}

static void vectors(void **state) {
	(void)state;
	near_and_above(dp_width_pair(5 / 1.5L, 32000), 6.6657921493375);
	near_and_above(dp_width_pair(50 / 1.75L, 32000), 38.944888490228);
	/* Of one token nothing can be told. Of two it is ln((1 + e^2x) ... ): 2 x - ln(...) = x. */
	assert_true(dp_width_pair(3, 1) < 1e-17);
	near_and_above(dp_width_pair(3, 2), 3);
	assert_misuse((void)dp_width_pair(0, 5));
	assert_misuse((void)dp_width_pair(65, 5));
	/* The widths of the vectors, through the integers: W = 5 is Chat 2.5 2^12. */
	struct dp_width_params p = width_params(4, 10240);
	struct dp_mechanism m = make_width(&p);
	assert_true(fabsl(m.claim.eta / (5 / 1.5L) - 1) < 1.1e-9L && m.claim.eta >= 5 / 1.5L);
	assert_true(dp_width_pair(m.claim.eta, 32000) <= 6.6657921493375 * (1 + 1e-9));
	assert_int_equal(m.claim.units, TOKENS);
	assert_int_equal(m.claim.null, DP_NULL_IS_NOTHING);
	m.free(m.self);
}

/* ---- the law --------------------------------------------------------------------------------- */

/* ln P of each token, where the row is NULL for null. */
static void law_of_row(const struct dp_mechanism *m, const float *row, size_t vocab, double *ln_p) {
	const float flat[MOST] = {0};
	float logits[MOST];
	struct dp_wanted wanted;
	double sum = 0;
	m->begin(m->self, 1, 0);
	assert_int_equal(m->open(m->self, flat, true, &wanted), DP_OK);
	assert_int_equal(wanted.count, vocab);
	assert_int_equal(wanted.place, DP_EVERY_PLACE);
	for (size_t i = 0; row && i < vocab; i++) logits[i] = row[wanted.tokens[i]];
	if (row) m->row(m->self, 0, logits);
	m->law(m->self, ln_p);
	for (size_t i = 0; i < vocab; i++) sum += exp(ln_p[i] - ln_p[0]);
	const double whole = ln_p[0] + log(sum);
	for (size_t i = 0; i < vocab; i++) ln_p[i] -= whole;
}

static float hostile_logit(unsigned kind) {
	static const float values[] = {0,     -0.0F, 1e-38F,   1e30F,   -1e30F, 65504, -65504, 2.5F,
	                               -2.5F, 1.25F, 0.00012F, 33.333F, 5,      -5,    1.2F,   3};
	return kind < 16 ? values[kind] : test_between(&seed, -30, 30);
}

/* The largest ln(P/P') over tokens, and least. */
static void compare_laws(const double *p, const double *q, size_t n, double *most, double *least) {
	for (size_t i = 0; i < n; i++) {
		*most = fmax(*most, p[i] - q[i]);
		*least = fmin(*least, p[i] - q[i]);
	}
}

/* Every two rows are within epsilon_pair, every row is within a range of eta of null; the rows of
 * width.h attain both. */
static void rows_keep_to_the_claim(void **state) {
	(void)state;
	static const size_t sizes[] = {1, 2, 3, 7, MOST};
	static const int32_t clips[] = {1, 37, 4096, 10240, 40000};
	for (size_t s = 0; s < 5; s++)
		for (size_t c = 0; c < 5; c++) {
			const size_t n = sizes[s];
			const struct dp_width_params p = width_params(n, clips[c]);
			struct dp_mechanism m;
			if (dp_width_mechanism(&p, &m)) {
				assert_int_equal(clips[c], 1); /* below what the weights hold */
				continue;
			}
			const double pair = dp_width_pair(m.claim.eta, n),
			             eta = (double)m.claim.eta;
			double null[MOST], one[MOST], other[MOST], widest = 0, range = 0;
			law_of_row(&m, NULL, n, null);
			for (int i = 0; i < test_cases(400); i++) {
				float a[MOST], b[MOST];
				double most = 0, least = 0, up = 0, down = 0;
				for (size_t y = 0; y < n; y++) {
					a[y] = hostile_logit((unsigned)test_below(&seed, 24));
					b[y] = hostile_logit((unsigned)test_below(&seed, 24));
				}
				/* The corners: each row lifts another token, or pushes one down. */
				for (size_t y = 0; i < 2 && y < n; y++) {
					a[y] = y == 0 ? 1000 : 0;
					b[y] = y == 0 ? (i ? -1000 : 0) : (i || y == 1 ? 1000 : 0);
				}
				law_of_row(&m, a, n, one);
				law_of_row(&m, b, n, other);
				compare_laws(one, other, n, &most, &least);
				compare_laws(one, null, n, &up, &down);
				widest = fmax(widest, fmax(most, -least));
				range = fmax(range, up - down);
			}
			assert_true(widest <= pair * (1 + 1e-12) + 1e-12);
			assert_true(range <= eta * (1 + 1e-12) + 1e-12);
			assert_true(widest >= 0.9 * pair);
			assert_true(n == 1 || range >= 0.9 * eta);
			m.free(m.self);
		}
}

/* A token's own cost adds up: all transcripts of two tokens, where the second row depends on the
 * first token. */
static void transcripts_add_up(void **state) {
	(void)state;
	const struct dp_width_params p = width_params(3, 6000);
	struct dp_mechanism m = make_width(&p);
	const double pair = dp_width_pair(m.claim.eta, 3);
	double widest = 0;
	for (int i = 0; i < test_cases(200); i++) {
		float rows[2][4][3];
		double first[2][3], second[2][3], total[2] = {0};
		for (size_t w = 0; w < 2; w++)
			for (size_t r = 0; r < 4; r++)
				for (size_t y = 0; y < 3; y++)
					rows[w][r][y] =
					    i ? hostile_logit((unsigned)test_below(&seed, 24))
					      : (w ? y != 0 : y == 0) * 99.0F;
		for (size_t w = 0; w < 2; w++) law_of_row(&m, rows[w][3], 3, first[w]);
		for (size_t x = 0; x < 3; x++) {
			for (size_t w = 0; w < 2; w++) law_of_row(&m, rows[w][x], 3, second[w]);
			for (size_t y = 0; y < 3; y++) {
				const double a = first[0][x] + second[0][y],
				             b = first[1][x] + second[1][y];
				total[0] += exp(a);
				total[1] += exp(b);
				widest = fmax(widest, fabs(a - b));
			}
		}
		assert_true(fabs(total[0] - 1) < 1e-12 && fabs(total[1] - 1) < 1e-12);
	}
	assert_true(widest <= 2 * pair * (1 + 1e-12));
	assert_true(widest >= 1.8 * pair);
	m.free(m.self);
}

static void not_finite_is_null(void **state) {
	(void)state;
	const struct dp_width_params p = width_params(5, 10240);
	struct dp_mechanism m = make_width(&p);
	static const float bad[] = {(float)NAN, (float)INFINITY, -(float)INFINITY};
	double null[MOST], other[MOST];
	law_of_row(&m, NULL, 5, null);
	for (size_t y = 0; y < 5; y++) assert_true(fabs(null[y] + log(5)) < 1e-14);
	for (size_t kind = 0; kind < 3; kind++)
		for (size_t at = 0; at < 5; at++) {
			float row[5] = {9, 1, 1, 1, 1};
			row[at] = bad[kind];
			law_of_row(&m, row, 5, other);
			assert_memory_equal(other, null, 5 * sizeof *null);
		}
	m.free(m.self);
}

/* ---- draws ----------------------------------------------------------------------------------- */

static void draws_have_the_law(void **state) {
	(void)state;
	enum { DRAWS = 100000 };
	const uint8_t allowed[] = {1, 1, 0, 1, 1, 1};
	const float public_row[] = {3, 2, 9, 1, 0, -1}, row[] = {0, 1, 2.2F, -4};
	struct dp_width_params p = width_params(6, 4096);
	p.allowed = allowed;
	p.top_k = 4;
	p.tokens = DRAWS;
	struct dp_mechanism m = make_width(&p);
	struct dp_wanted wanted;
	size_t counts[6] = {0};
	double ln_w[4], sum = 0;
	for (uint32_t i = 0; i < DRAWS; i++) {
		uint32_t token;
		enum dp_fate fate;
		m.begin(m.self, 1, i);
		assert_int_equal(m.open(m.self, public_row, true, &wanted), DP_OK);
		m.row(m.self, 0, row);
		if (!i) m.law(m.self, ln_w);
		assert_int_equal(m.draw(m.self, &token, &fate), DP_OK);
		assert_int_equal(fate, DP_PAID);
		counts[token]++;
	}
	/* Top 4 of the allowed ones: 0, 1, 3, 4. The row's window: 2.2 down to 0.2. */
	const double s[] = {-1, -.2, 1, -1};
	const size_t tokens[] = {0, 1, 3, 4};
	assert_int_equal(counts[2] + counts[5], 0);
	for (size_t i = 0; i < 4; i++) sum += exp(s[i] / 1.5);
	for (size_t i = 0; i < 4; i++) {
		const double want = exp(s[i] / 1.5) / sum;
		assert_true(fabs(ln_w[i] - ln_w[2] - (s[i] - 1) / 1.5) < 2e-4);
		assert_true(fabs((double)counts[tokens[i]] / DRAWS - want) <
		            5 * sqrt(want * (1 - want) / DRAWS) + 1e-4);
	}
	m.free(m.self);
}

static enum dp_status fail_to_fill(void *user, void *bytes, size_t size) {
	(void)user;
	memset(bytes, 0, size);
	return DP_NO_ENTROPY;
}

static void order_of_a_step(void **state) {
	(void)state;
	const float row[5] = {1, 2, 3, 4, 5}, bad[5] = {1, 2, (float)NAN, 4, 5};
	struct dp_width_params p = width_params(5, 4096);
	struct dp_mechanism m = make_width(&p);
	struct dp_wanted wanted;
	uint32_t token;
	enum dp_fate fate;
	assert_misuse((void)m.open(m.self, row, true, &wanted));
	m.begin(m.self, 1, 0);
	assert_misuse((void)m.draw(m.self, &token, &fate));
	assert_int_equal(m.open(m.self, bad, true, &wanted), DP_PUBLIC_NOT_FINITE);
	assert_int_equal(wanted.count, 0);
	assert_int_equal(m.open(m.self, row, false, &wanted), DP_OK);
	assert_misuse(m.row(m.self, 1, row));
	m.row(m.self, 0, row);
	assert_misuse(m.row(m.self, 0, row));
	assert_int_equal(m.draw(m.self, &token, &fate), DP_OK);
	assert_misuse(m.begin(m.self, 2, 0));
	/* All T are paid: a free token, or none. */
	m.begin(m.self, 1, TOKENS);
	assert_int_equal(m.open(m.self, row, false, &wanted), DP_SPENT);
	assert_int_equal(m.open(m.self, row, true, &wanted), DP_OK);
	assert_int_equal(wanted.count, 0);
	assert_misuse(m.row(m.self, 0, row));
	assert_int_equal(m.draw(m.self, &token, &fate), DP_OK);
	assert_int_equal(fate, DP_FREE);
	m.free(m.self);
	/* Without random bits nothing is drawn, now and ever. */
	p.random = (struct dp_random){fail_to_fill, NULL};
	m = make_width(&p);
	m.begin(m.self, 1, 0);
	assert_int_equal(m.open(m.self, row, false, &wanted), DP_OK);
	token = 77;
	assert_int_equal(m.draw(m.self, &token, &fate), DP_NO_ENTROPY);
	assert_int_equal(token, 77);
	m.begin(m.self, 1, 1);
	assert_int_equal(m.open(m.self, row, false, &wanted), DP_NO_ENTROPY);
	m.free(m.self);
}

static void parameters(void **state) {
	(void)state;
	const uint8_t none[4] = {0};
	struct dp_mechanism m;
	struct dp_width_params bad[6];
	for (size_t i = 0; i < 6; i++) bad[i] = width_params(4, 4096);
	bad[0].tokens = 0;
	bad[1].vocab = 0;
	bad[2].vocab = ((size_t)1 << 18) + 1;
	bad[3].allowed = none;
	bad[4].clip_fixed = 0;
	bad[5].clip_fixed = 200000; /* C/tau of 32.6 */
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(dp_width_mechanism(&bad[i], &m), DP_BAD_PARAMETER);
		assert_null(m.self);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(vectors),
	    cmocka_unit_test(rows_keep_to_the_claim),
	    cmocka_unit_test(transcripts_add_up),
	    cmocka_unit_test(not_finite_is_null),
	    cmocka_unit_test(draws_have_the_law),
	    cmocka_unit_test(order_of_a_step),
	    cmocka_unit_test(parameters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
