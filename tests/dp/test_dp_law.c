// SPDX-License-Identifier: Apache-2.0
// Tests what mechanisms tell auditors: laws of mixtures and of Amin, and chances of answers.
// It fails if a law is not that of many draws, if it is not the mean over all places, if a null
// place is left out of it, if a range or a divergence passes the claim or no rows reach nine tenths
// of it, if chances of answers are not those of sums over the lattice, if a patient adversary does
// not reach nine tenths of what answers may cost, or if telling changes what is drawn.
#include "tests/dp/test_dp_support.h"

#include <math.h>

#include "dp/amin.h"
#include "dp/fusion.h"
#include "dp/threshold_law.h"

enum { MOST = 8 };

/* Rows of a step; a place of `null` has none. */
struct rows {
	size_t vocab;
	uint32_t places, null;
	float public[MOST], private[MOST][MOST];
};
#define NOBODY UINT32_MAX

static void give_rows(const struct dp_mechanism *m, const struct rows *r,
                      const struct dp_wanted *wanted) {
	float row[MOST];
	for (uint32_t place = 0; place < r->places && wanted->count; place++) {
		if (place == r->null || (wanted->place != DP_EVERY_PLACE && wanted->place != place))
			continue;
		for (size_t i = 0; i < wanted->count; i++)
			row[i] = r->private[place][wanted->tokens[i]];
		m->row(m->self, place, row);
	}
}

/* ln of the law, by token; answers may be NULL. The step stays open. */
static void tell(const struct dp_mechanism *m, void *past, const struct rows *r, double *ln_p,
                 double *answers) {
	struct dp_wanted wanted;
	double told[MOST], sum = 0;
	if (m->turn) m->turn(m->self, 7, true);
	m->begin(m->self, r->places, 0);
	assert_int_equal(m->retrace(m->self, past, r->public, true, &wanted), DP_OK);
	assert_int_equal(wanted.place, DP_EVERY_PLACE);
	give_rows(m, r, &wanted);
	m->law(m->self, told);
	for (size_t i = 0; i < wanted.count; i++) sum += exp(told[i]);
	for (size_t y = 0; y < r->vocab; y++) ln_p[y] = -INFINITY;
	for (size_t i = 0; i < wanted.count; i++) ln_p[wanted.tokens[i]] = told[i] - log(sum);
	if (answers) m->answers(m->self, answers);
}

static struct dp_fusion_params mixture(uint64_t *seed, enum dp_fusion_rule rule, unsigned order,
                                       const double *divergences, size_t vocab, uint32_t places) {
	return (struct dp_fusion_params){.rule = rule,
	                                 .order = order,
	                                 .least_places = places,
	                                 .most_places = places,
	                                 .divergences = divergences,
	                                 .most_share = 32768,
	                                 .tokens = UINT32_MAX,
	                                 .vocab = vocab,
	                                 .temperature_num = 1,
	                                 .temperature_den = 1,
	                                 .random = {test_fill, seed}};
}

static void random_rows(uint64_t *seed, struct rows *r) {
	for (size_t y = 0; y < r->vocab; y++) {
		r->public[y] = test_between(seed, -2, 2);
		for (uint32_t i = 0; i < r->places; i++)
			r->private[i][y] = test_between(seed, -4, 4);
	}
}

/* The chances of tokens, by as many draws. */
static void draw_often(const struct dp_mechanism *m, const struct rows *r, size_t draws,
                       size_t *tokens, size_t *paid) {
	struct dp_wanted wanted;
	memset(tokens, 0, r->vocab * sizeof *tokens);
	*paid = 0;
	for (size_t i = 0; i < draws; i++) {
		uint32_t token;
		enum dp_fate fate;
		if (m->turn) m->turn(m->self, 0, true);
		m->begin(m->self, r->places, 0);
		assert_int_equal(m->open(m->self, r->public, true, &wanted), DP_OK);
		give_rows(m, r, &wanted);
		assert_int_equal(m->draw(m->self, &token, &fate), DP_OK);
		if (fate == DP_FREE) continue;
		tokens[token]++;
		(*paid)++;
	}
}

static void expect_share(size_t count, size_t of, double p) {
	const double deviation = sqrt((double)of * p * (1 - p)) + 1;
	if (fabs((double)count - (double)of * p) > 5 * deviation)
		fail_msg("%zu of %zu, and %g of all", count, of, p);
}

static void a_mixture_is_drawn_by_its_law(void **state) {
	(void)state;
	static const double divergences[] = {.3, .3, .3, .3};
	static const struct {
		enum dp_fusion_rule rule;
		unsigned order;
		uint32_t places;
	} of[] = {{DP_FUSION_RATIO, 0, 3},
	          {DP_FUSION_BOUNDED, 4, 4},
	          {DP_FUSION_CAPPED, 2, 3},
	          {DP_FUSION_FIXED, 0, 1}};
	uint64_t seed = 31;
	for (size_t k = 0; k < sizeof of / sizeof *of; k++)
		for (uint32_t null = 0; null < 2; null++) {
			const struct dp_fusion_params params =
			    mixture(&seed, of[k].rule, of[k].order, divergences, 5, of[k].places);
			struct rows r = {
			    .vocab = 5, .places = of[k].places, .null = null ? 0 : NOBODY};
			struct dp_mechanism m;
			double ln_p[MOST];
			size_t tokens[MOST], paid;
			const size_t draws = (size_t)test_cases(6000);
			random_rows(&seed, &r);
			assert_int_equal(dp_fusion_mechanism(&params, &m), DP_OK);
			tell(&m, NULL, &r, ln_p, NULL);
			draw_often(&m, &r, draws, tokens, &paid);
			assert_int_equal(paid, draws);
			for (size_t y = 0; y < r.vocab; y++)
				expect_share(tokens[y], draws, exp(ln_p[y]));
			m.free(m.self);
		}
	/* Whose laws follow from places that were drawn before. */
	struct dp_fusion_params params = mixture(&seed, DP_FUSION_BOUNDED, 4, divergences, 5, 4);
	struct dp_mechanism m;
	params.budget = 1;
	assert_int_equal(dp_fusion_mechanism(&params, &m), DP_OK);
	assert_null(m.law);
	assert_null(m.retrace);
	m.free(m.self);
}

/* What the claim bounds, of a place that becomes null. */
static double lose(const struct dp_mechanism *m, struct rows *r, uint32_t place, double order) {
	double with[MOST], without[MOST], least = INFINITY, most = -INFINITY, there = 0, back = 0;
	r->null = NOBODY;
	tell(m, NULL, r, with, NULL);
	r->null = place;
	tell(m, NULL, r, without, NULL);
	for (size_t y = 0; y < r->vocab; y++) {
		least = fmin(least, with[y] - without[y]);
		most = fmax(most, with[y] - without[y]);
		there += exp(order * with[y] + (1 - order) * without[y]);
		back += exp(order * without[y] + (1 - order) * with[y]);
	}
	return order > 0 ? log(fmax(there, back)) / (order - 1) : most - least;
}

static double claimed(const struct dp_claim *claim, double order) {
	return order > 0 ? dp_rdp_loss(&claim->event, 1, order) : (double)claim->eta;
}

/* Rows that push a mixture of order infinity as far as it goes: all places shun two tokens, and
 * the place that becomes null shuns one and wants the other. */
static void push(struct rows *r, double b) {
	const double p = .01, rest = 1 - 2 * p, wanted = p * (1 + exp(b));
	const double public[] = {p, p, rest}, place[] = {wanted, 1e-9, 1 - wanted};
	for (size_t y = 0; y < 3; y++) {
		r->public[y] = (float)log(public[y]);
		for (uint32_t i = 1; i < r->places; i++)
			r->private[i][y] = (float)log(y < 2 ? 1e-9 : 1);
		r->private[0][y] = (float)log(place[y]);
	}
}

static void a_mixture_keeps_and_reaches_its_claim(void **state) {
	(void)state;
	uint64_t seed = 32;
	double best = 0;
	for (int round = 0; round < test_cases(500); round++) {
		const double c = .05 + .02 * (double)test_below(&seed, 80);
		const double divergences[MOST] = {c, c, c, c, c, c, c, c};
		const uint32_t places = 1 + (uint32_t)test_below(&seed, 5);
		const bool ranged = test_below(&seed, 2);
		const unsigned order = 2 + (unsigned)test_below(&seed, 6);
		const struct dp_fusion_params params =
		    mixture(&seed, ranged ? DP_FUSION_RATIO : DP_FUSION_BOUNDED, order, divergences,
		            3, places);
		struct rows r = {.vocab = 3, .places = places};
		struct dp_mechanism m;
		random_rows(&seed, &r);
		if (round % 2) push(&r, fmin(c, 3));
		assert_int_equal(dp_fusion_mechanism(&params, &m), DP_OK);
		const double most = claimed(&m.claim, ranged ? 0 : order),
		             lost = lose(&m, &r, 0, ranged ? 0 : order);
		assert_true(lost <= most + 1e-12);
		if (ranged && places == 5) best = fmax(best, lost / most);
		m.free(m.self);
	}
	print_message("order infinity: %.4f of the claim\n", best);
	assert_true(best >= .9);
	/* One place, whose row has nothing in common with the public one. */
	static const double half[] = {.5};
	for (int fixed = 0; fixed < 2; fixed++) {
		const struct dp_fusion_params params =
		    mixture(&seed, fixed ? DP_FUSION_FIXED : DP_FUSION_BOUNDED, 3, half, 3, 1);
		struct rows r = {
		    .vocab = 3, .places = 1, .public = {-3, 3}, .private = {{20, -20, -20}}};
		struct dp_mechanism m;
		assert_int_equal(dp_fusion_mechanism(&params, &m), DP_OK);
		const double order = fixed ? 0 : 3, most = claimed(&m.claim, order),
		             lost = lose(&m, &r, 0, order);
		assert_true(lost <= most + 1e-12 && lost >= .9 * most);
		m.free(m.self);
	}
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The chance of noise >= x, of scale t. */
static double tail(double t, double x) {
	const double r = exp(-1 / t);
	return x > 0 ? exp(-x / t) / (1 + r) : 1 - exp(-(1 - x) / t) / (1 + r);
}

static void chances_are_those_of_the_lattice(void **state) {
	(void)state;
	enum { PLACES = 3, STEPS = 4, REACH = 60000 };
	static const int64_t distances[STEPS] = {2600, 900, 3100, 1200};
	const struct dp_threshold t = {.most = 1600, .scale = 2000, .theta = 1500};
	const size_t size = dp_threshold_past_size(&t, PLACES);
	void *past = calloc(1, size);
	double said[2], before = 1;
	assert_true(past && size);
	for (int step = 0; step < STEPS; step++) {
		double silent = 0, fired = 0;
		for (int64_t n1 = -REACH; n1 <= REACH; n1++) {
			const double r = exp(-1 / (double)t.scale);
			double p = (1 - r) / (1 + r) * exp(-fabs((double)n1) / (double)t.scale);
			for (int i = 0; i < step; i++)
				p *= 1 - tail(2 * (double)t.scale,
				              (double)(t.theta + n1 - distances[i]));
			const double yes =
			    tail(2 * (double)t.scale, (double)(t.theta + n1 - distances[step]));
			fired += p * yes;
			silent += p * (1 - yes);
		}
		dp_threshold_chances(&t, PLACES, past, distances[step], said);
		assert_true(fabs(said[1] - log(fired / before)) < 1e-3);
		assert_true(fabs(said[0] - log(silent / before)) < 1e-3);
		dp_threshold_answered(&t, PLACES, past, distances[step], false);
		before = silent;
	}
	/* After a yes nothing is known of the next threshold. */
	double anew[2];
	dp_threshold_answered(&t, PLACES, past, distances[0], true);
	dp_threshold_chances(&t, PLACES, past, distances[0], anew);
	memset(past, 0, size);
	dp_threshold_chances(&t, PLACES, past, distances[0], said);
	assert_memory_equal(anew, said, sizeof said);
	free(past);
	/* Noise that no grid can hold. */
	assert_int_equal(
	    dp_threshold_past_size(&(struct dp_threshold){.most = 1 << 14, .scale = 1}, PLACES), 0);
}

static struct dp_amin_params amin(uint64_t *seed) {
	return (struct dp_amin_params){.batch = 2,
	                               .units = 1000,
	                               .vocab = 3,
	                               .temperature_num = 1,
	                               .temperature_den = 1,
	                               .public_num = 1,
	                               .public_den = 1,
	                               .clip_fixed = 200,
	                               .fraction_bits = 8,
	                               .law_bits = 20,
	                               .scale = (UINT64_C(2) << 20) / 3,
	                               .theta = INT64_C(1) << 21,
	                               .random = {test_fill, seed}};
}

static void amin_is_drawn_by_its_law(void **state) {
	(void)state;
	uint64_t seed = 33;
	const struct dp_amin_params params = amin(&seed);
	struct dp_mechanism m;
	assert_int_equal(dp_amin_mechanism(&params, &m), DP_OK);
	void *past = calloc(1, m.past_size);
	assert_non_null(past);
	for (uint32_t null = 0; null < 2; null++) {
		struct rows r = {.vocab = 3, .places = 2, .null = null ? 0 : NOBODY};
		double ln_p[MOST], answers[2];
		size_t tokens[MOST], paid;
		const size_t draws = (size_t)test_cases(6000);
		random_rows(&seed, &r);
		tell(&m, past, &r, ln_p, answers);
		draw_often(&m, &r, draws, tokens, &paid);
		expect_share(paid, draws, exp(answers[DP_PAID]));
		assert_true(fabs(exp(answers[DP_PAID]) + exp(answers[DP_FREE]) - 1) < 1e-9);
		for (size_t y = 0; y < r.vocab; y++) expect_share(tokens[y], paid, exp(ln_p[y]));
	}
	free(past);
	m.free(m.self);
}

/* As `patient` of test_dp_amin_transcripts.c, but by what auditors are told. */
static void amin_keeps_and_reaches_its_claim(void **state) {
	(void)state;
	enum { STEPS = 60 };
	uint64_t seed = 34;
	struct dp_amin_params params = amin(&seed);
	params.theta = 0;
	struct dp_mechanism m;
	assert_int_equal(dp_amin_mechanism(&params, &m), DP_OK);
	void *pasts[2] = {calloc(1, m.past_size), calloc(1, m.past_size)};
	double sum = 0, range = 0, farthest = 0;
	for (int step = 0; step <= STEPS; step++) {
		const bool last = step == STEPS;
		struct rows r = {.vocab = 3, .places = 2, .public = {30, -30, -30}};
		for (int i = 0; i < 2; i++) {
			const float at[] = {last ? 30 : -30, last ? -30 : 30, -30};
			memcpy(r.private[i], at, sizeof at);
		}
		double ln_p[2][MOST], answers[2][2];
		const enum dp_fate fate = last ? DP_PAID : DP_FREE;
		for (uint32_t world = 0; world < 2; world++) {
			r.null = world ? 0 : NOBODY;
			tell(&m, pasts[world], &r, ln_p[world], answers[world]);
			m.passed(m.self, fate);
		}
		sum += answers[0][fate] - answers[1][fate];
		farthest = fmax(farthest, fabs(sum));
		double least = INFINITY, most = -INFINITY;
		for (size_t y = 0; y < r.vocab; y++) {
			least = fmin(least, ln_p[0][y] - ln_p[1][y]);
			most = fmax(most, ln_p[0][y] - ln_p[1][y]);
		}
		range = fmax(range, most - least);
	}
	const double answers = (double)m.claim.threshold, eta = (double)m.claim.eta;
	print_message("answers: %.4f, range: %.4f of the claim\n", farthest / answers, range / eta);
	assert_true(farthest <= answers * (1 + 1e-6) && farthest >= .9 * answers);
	assert_true(range <= eta + 1e-12 && range >= .9 * eta);
	free(pasts[0]);
	free(pasts[1]);
	m.free(m.self);
}

/* Steps of two slots, with questions of an auditor between them or without. */
static void telling_changes_nothing(void **state) {
	(void)state;
	static const double divergences[] = {.3, .3};
	uint32_t drawn[2][40];
	for (int kind = 0; kind < 2; kind++) {
		for (int asked = 0; asked < 2; asked++) {
			uint64_t seed = 35, rows_seed = 36;
			const struct dp_amin_params params = amin(&seed);
			const struct dp_fusion_params mixed =
			    mixture(&seed, DP_FUSION_RATIO, 0, divergences, 3, 2);
			struct dp_mechanism m;
			assert_int_equal(kind ? dp_amin_mechanism(&params, &m)
			                      : dp_fusion_mechanism(&mixed, &m),
			                 DP_OK);
			void *past = calloc(1, m.past_size + 1);
			uint32_t spent[2] = {0, 0};
			for (uint32_t step = 0; step < 40; step++) {
				const uint32_t slot = step % 2;
				struct rows r = {.vocab = 3, .places = 2, .null = NOBODY};
				struct dp_wanted wanted;
				enum dp_fate fate;
				double ln_p[MOST];
				random_rows(&rows_seed, &r);
				if (asked) tell(&m, past, &r, ln_p, NULL);
				if (m.turn) m.turn(m.self, slot, step < 2);
				m.begin(m.self, 2, spent[slot]);
				assert_int_equal(m.open(m.self, r.public, true, &wanted), DP_OK);
				give_rows(&m, &r, &wanted);
				assert_int_equal(m.draw(m.self, &drawn[asked][step], &fate), DP_OK);
				spent[slot] = kind ? dp_amin_units(m.self) : spent[slot] + 1;
			}
			free(past);
			m.free(m.self);
		}
		assert_memory_equal(drawn[0], drawn[1], sizeof drawn[0]);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_mixture_is_drawn_by_its_law),
	    cmocka_unit_test(a_mixture_keeps_and_reaches_its_claim),
	    cmocka_unit_test(chances_are_those_of_the_lattice),
	    cmocka_unit_test(amin_is_drawn_by_its_law),
	    cmocka_unit_test(amin_keeps_and_reaches_its_claim),
	    cmocka_unit_test(telling_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
