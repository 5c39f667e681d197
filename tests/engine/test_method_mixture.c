// SPDX-License-Identifier: Apache-2.0
// Tests engine/run/methods/method_mixture.c and engine/run/methods/method_adapmixed.c: what methods
// pmixed, dp-decoding and adapmixed choose, claim and draw. It fails if a claim is not that of the
// mechanism, if an epsilon is passed, or if adapmixed leaves out rows that are within its
// divergence, as its published code does, or spends more than -e.
#include "dp/rdp.h"
#include "engine/run/methods/method_adapmixed.h"
#include "engine/run/methods/method_mixture.h"
#include "tests/dp/test_dp_support.h"

#include <math.h>

enum { V = 4, DRAWS = 40000 };

static const uint8_t allowed[V] = {1, 1, 1, 1};

static struct cuttle_plan_params params_of(double epsilon, uint32_t batch, uint32_t tokens) {
	struct cuttle_plan_params params;
	cuttle_plan_params_default(&params);
	params.epsilon = epsilon;
	params.batch = batch;
	params.tokens = tokens;
	return params;
}

static struct cuttle_guarantee guarantee_of(const struct cuttle_plan_params *params,
                                            enum cuttle_method method) {
	return (struct cuttle_guarantee){.delta = params->delta,
	                                 .temperature = 1,
	                                 .accountant = CUTTLE_ZCDP,
	                                 .batch = params->batch,
	                                 .tokens = params->tokens,
	                                 .top_k = 0,
	                                 .method = method,
	                                 .method_params = params->method_params,
	                                 .vocabulary = V};
}

static struct method_parts parts_of(const struct cuttle_guarantee *guarantee, uint64_t *seed) {
	return (struct method_parts){
	    .guarantee = guarantee, .vocab = V, .allowed = allowed, .random = {test_fill, seed}};
}

/* What is chosen for an epsilon has the claim of the mechanism that is built, and is within. */
static void claims(void **state) {
	(void)state;
	static const uint32_t orders[] = {CUTTLE_ORDER_INFINITE, 2, 4, 16};
	for (size_t i = 0; i < 8; i++) {
		uint64_t seed = 1;
		const bool decoding = i == 4, filtered = i > 4;
		struct cuttle_plan_params p = params_of(16, decoding ? 1 : 7, 20);
		p.method = decoding ? CUTTLE_DP_DECODING : CUTTLE_PMIXED;
		if (!decoding) p.method_params.order = orders[i % 4];
		p.method_params.record_filter = filtered;
		struct cuttle_guarantee g = guarantee_of(&p, p.method);
		struct cuttle_error error;
		struct dp_mechanism built;
		struct dp_claim told;
		const struct method_parts parts = parts_of(&g, &seed);
		if (decoding) {
			assert_int_equal(method_decoding_choose(&p, &g, &error), CUTTLE_OK);
			assert_int_equal(method_decoding_claim(&g, &told), DP_OK);
			assert_int_equal(method_decoding_build(&parts, &built), DP_OK);
			assert_true(method_decoding_pair(&g) >= (double)told.eta);
		} else {
			assert_int_equal(method_pmixed_choose(&p, &g, &error), CUTTLE_OK);
			assert_int_equal(method_pmixed_claim(&g, &told), DP_OK);
			assert_int_equal(method_pmixed_build(&parts, &built), DP_OK);
		}
		assert_true(told.eta >= built.claim.eta && told.eta <= built.claim.eta);
		assert_memory_equal(&told.event.size, &built.claim.event.size, sizeof(double));
		assert_int_equal(told.units, filtered ? 1 : 20);
		assert_int_equal(built.claim.units, told.units);
		assert_int_equal(told.event.parts, built.claim.event.parts);
		assert_int_equal(method_account(&told, &g, &error), CUTTLE_OK);
		assert_true(g.epsilon <= 16 && g.epsilon > (decoding ? 15 : 15.99));
		assert_int_equal(built.turn != NULL, filtered);
		built.free(built.self);
	}
}

/* Draws `draws` first tokens of fresh texts and returns how often each came. */
static void draw_first(struct dp_mechanism *m, const float *public, const float (*rows)[V],
                       uint32_t batch, size_t draws, size_t *seen) {
	for (size_t i = 0; i < draws; i++) {
		struct dp_wanted wanted;
		uint32_t token;
		enum dp_fate fate;
		m->turn(m->self, 0, true);
		m->begin(m->self, batch, 0);
		assert_int_equal(m->open(m->self, public, false, &wanted), DP_OK);
		assert_int_equal(wanted.place, DP_EVERY_PLACE);
		assert_int_equal(wanted.count, V);
		for (uint32_t j = 0; j < batch; j++) m->row(m->self, j, rows[j]);
		assert_int_equal(m->draw(m->self, &token, &fate), DP_OK);
		assert_int_equal(fate, DP_PAID);
		seen[token]++;
	}
}

/* The mean of softmaxes; 0 rows: of the public row. */
static void mean_of(const float (*rows)[V], size_t count, double *p) {
	memset(p, 0, V * sizeof *p);
	for (size_t j = 0; j < count; j++) {
		double sum = 0;
		for (size_t y = 0; y < V; y++) sum += exp((double)rows[j][y]);
		for (size_t y = 0; y < V; y++)
			p[y] += exp((double)rows[j][y]) / sum / (double)count;
	}
}

static void adaptive(void **state) {
	(void)state;
	static const float public[1][V] = {{1, .5f, .2f, 0}};
	static const float rows[2][V] = {{1.5f, .5f, -.2f, 0}, {.2f, 1, .2f, -.4f}};
	for (int cheap = 0; cheap < 2; cheap++) {
		uint64_t seed = nightly_seed(15);
		struct cuttle_plan_params p = params_of(cheap ? (double)NAN : 0.75, 2, 500);
		p.method = CUTTLE_ADAPMIXED;
		struct cuttle_guarantee g = guarantee_of(&p, p.method);
		struct cuttle_error error;
		struct dp_mechanism m;
		const struct method_parts parts = parts_of(&g, &seed);
		assert_int_equal(method_adapmixed_choose(&p, &g, &error), CUTTLE_OK);
		/* The limit is a parameter, so a receipt tells it: -e is where order 15 gets. */
		const double limit = g.method_params.record_budget;
		assert_true(cheap ? isnan(limit)
		                  : fabs(dp_rdp_epsilon_at(limit, 15, g.delta) - 0.75) < 1e-9);
		assert_int_equal(method_adapmixed_build(&parts, &m), DP_OK);
		assert_true(m.claim.data_dependent);
		size_t seen[V] = {0};
		double mixed[V], plain[V];
		draw_first(&m, public[0], rows, 2, DRAWS, seen);
		m.free(m.self);
		mean_of(rows, 2, mixed);
		mean_of(public, 1, plain);
		/* Rows within the divergence are mixed in whole; beyond -e all is public. */
		const double p_mixed = fit(seen, mixed, V, DRAWS),
		             p_plain = fit(seen, plain, V, DRAWS);
		assert_true(cheap ? p_mixed > FALSE_ALARM && p_plain < FALSE_ALARM
		                  : p_plain > FALSE_ALARM && p_mixed < FALSE_ALARM);
	}
}

/* The settings of the paper are worth this at worst, and no guarantee. */
static void worst_case(void **state) {
	(void)state;
	const struct cuttle_plan_params p = params_of((double)NAN, 7, 500);
	struct cuttle_guarantee g = guarantee_of(&p, CUTTLE_ADAPMIXED);
	struct cuttle_error error;
	struct dp_claim claim;
	assert_int_equal(method_adapmixed_choose(&p, &g, &error), CUTTLE_OK);
	assert_int_equal(method_adapmixed_claim(&g, &claim), DP_OK);
	assert_int_equal(method_account(&claim, &g, &error), CUTTLE_OK);
	assert_true(isnan(g.epsilon) && isnan(g.rho));
	assert_int_equal(g.claim.kind, CUTTLE_CLAIM_NOTHING);
	assert_true(fabs(g.claim.epsilon_worst - 2250.7243971540) < 1e-8);
	const struct cuttle_plan_params tiny = params_of(0.7, 7, 500);
	assert_int_equal(method_adapmixed_choose(&tiny, &g, &error), CUTTLE_BUDGET);
	g.method_params.record_budget = (double)NAN;
	g.method_params.divergence = -1;
	assert_int_equal(method_adapmixed_claim(&g, &claim), DP_BAD_PARAMETER);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(claims),
	    cmocka_unit_test(adaptive),
	    cmocka_unit_test(worst_case),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
