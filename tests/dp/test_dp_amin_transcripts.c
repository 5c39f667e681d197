// SPDX-License-Identifier: Apache-2.0
// Tests the guarantee of dp/amin.c itself: every transcript of a small vocabulary, free tokens and
// paid ones, in two neighbouring worlds, with the mechanism's own distances, sums and weights.
// Chances are summed over the noise of thresholds, in exact steps of its lattice. An adversary
// chooses all logits from what was drawn so far.
// It fails if delta is above what rho promises, at any epsilon of a grid, or if the odds of one
// transcript are above what units cost without a delta. It fails if the worst adversary does not
// reach nine tenths of that: then the test would see little.
#include "tests/dp/test_dp_support.h"

#include <math.h>

#include "dp/amin.h"
#include "dp/amin_account.h"
#include "dp/zcdp.h"

enum { MOST_VOCAB = 3, EPSILONS = 16, REACH = 400, WIDTH = 2 * REACH + 1, MOST_TOKENS = 6 };

struct setting {
	struct dp_amin_params params;
	uint32_t tokens; /* T */
	bool ends;       /* token 0 ends the text */
};

/* What the adversary sees, and what it answers. */
struct step {
	const struct setting *setting;
	uint32_t drawn, spent;
	uint64_t history;
	float public[MOST_VOCAB], record[MOST_VOCAB], other[MOST_VOCAB];
};
typedef void adversary(struct step *step);

/* A transcript so far. Index 0 is the world with the record, 1 the one with null. */
struct past {
	uint32_t drawn, spent;
	uint64_t history;
	bool standing;
	double p[2];            /* its chance, where no unit stands */
	double joint[2][WIDTH]; /* its chance with each N1, where one stands */
};

struct enumeration {
	const struct setting *setting;
	const struct dp_mechanism *mechanism;
	adversary *choose;
	double first[WIDTH];
	double sum[2], delta[2][EPSILONS], epsilon[EPSILONS], worst;
	size_t transcripts;
};

/* The chance of noise >= x. */
static double tail(uint64_t t, int64_t x) {
	const double r = exp(-1.0 / (double)t);
	return x > 0 ? exp(-(double)x / (double)t) / (1.0 + r)
	             : 1.0 - exp(-(double)(1 - x) / (double)t) / (1.0 + r);
}

/* ---- adversaries ----------------------------------------------------------------------------- */

static void erratic(struct step *step) {
	uint64_t seed = step->history;
	for (size_t y = 0; y < step->setting->params.vocab; y++) {
		step->public[y] = test_below(&seed, 4) ? test_between(&seed, -3, 3) : 0;
		step->other[y] = step->public[y] + test_between(&seed, -2, 2);
		step->record[y] =
		    test_below(&seed, 3) ? test_between(&seed, -9, 9) : step->public[y];
	}
	if (test_below(&seed, 20) == 0) step->record[0] = NAN;
}

static void point(float *row, size_t vocab, size_t at) {
	for (size_t y = 0; y < vocab; y++) row[y] = y == at ? 30 : -30;
}

/* Until the last step the record doubles a distance at which a unit should have fired. In the last
 * one it removes the distance, and objects to all tokens but one. */
static void patient(struct step *step) {
	const size_t vocab = step->setting->params.vocab;
	const bool last = step->drawn + 1 == step->setting->tokens;
	point(step->public, vocab, 0);
	point(step->other, vocab, last ? 0 : 1);
	point(step->record, vocab, last ? 0 : 1);
}

/* Each step looks like the last one of `patient`, and so a unit fires at once. */
static void hasty(struct step *step) {
	const size_t vocab = step->setting->params.vocab;
	point(step->public, vocab, vocab - 1);
	point(step->other, vocab, 0);
	point(step->record, vocab, step->history % 2 ? vocab - 1 : 0);
}

/* ---- enumeration ----------------------------------------------------------------------------- */

static void leaf(struct enumeration *e, const double p[2]) {
	e->transcripts++;
	for (int w = 0; w < 2; w++) {
		e->sum[w] += p[w];
		for (int i = 0; i < EPSILONS; i++)
			e->delta[w][i] += fmax(0, p[w] - exp(e->epsilon[i]) * p[1 - w]);
	}
	const double loss = fabs(log(p[0] / p[1]));
	if (p[0] > 1e-60 && p[1] > 1e-60 && loss > e->worst) e->worst = loss;
}

/* What the mechanism makes of the rows of one world. */
struct view {
	int64_t distance;
	double paid[MOST_VOCAB], free[MOST_VOCAB];
};

static struct view look(const struct enumeration *e, const struct step *step, bool record) {
	const struct dp_mechanism *m = e->mechanism;
	const uint32_t places = e->setting->params.batch;
	struct dp_wanted wanted;
	struct view view = {0};
	double whole[2] = {0};
	m->turn(m->self, 0, true);
	m->begin(m->self, places, step->spent);
	assert_int_equal(m->open(m->self, step->public, true, &wanted), DP_OK);
	assert_int_equal(wanted.count, e->setting->params.vocab);
	for (uint32_t i = 1; i < places; i++) m->row(m->self, i, step->other);
	if (record) m->row(m->self, 0, step->record);
	const struct dp_amin_step seen = dp_amin_inspect(m->self);
	view.distance = seen.distance;
	for (size_t y = 0; y < seen.count; y++) {
		view.paid[y] = (double)dp_amin_weight(m->self, seen.sum[y]);
		view.free[y] = (double)seen.public_law[y];
		whole[0] += view.paid[y];
		whole[1] += view.free[y];
	}
	for (size_t y = 0; y < seen.count; y++) {
		view.paid[y] /= whole[0];
		view.free[y] /= whole[1];
	}
	return view;
}

static void visit(struct enumeration *e, const struct past *past) {
	const struct dp_amin_params *params = &e->setting->params;
	const bool standing = past->standing;
	double p[2];
	for (int w = 0; w < 2; w++) {
		p[w] = past->p[w];
		for (int i = 0; standing && i < WIDTH; i++) p[w] += past->joint[w][i];
	}
	if (past->drawn == e->setting->tokens || (!standing && past->spent == params->units)) {
		leaf(e, p);
		return;
	}
	struct past *next = malloc(sizeof *next);
	assert_non_null(next);
	struct step step = {.setting = e->setting,
	                    .drawn = past->drawn,
	                    .spent = standing ? past->spent - 1 : past->spent,
	                    .history = past->history};
	e->choose(&step);
	const struct view views[2] = {look(e, &step, true), look(e, &step, false)};
	for (int fires = 0; fires < 2; fires++)
		for (size_t y = 0; y < params->vocab; y++) {
			*next = (struct past){.drawn = past->drawn + 1,
			                      .spent = past->spent + !standing,
			                      .history = past->history * 2 * MOST_VOCAB + 2 * y +
			                                 (size_t)fires + 1,
			                      .standing = !fires};
			for (int w = 0; w < 2; w++)
				for (int i = 0; i < WIDTH; i++) {
					const double joint =
					    standing ? past->joint[w][i] : past->p[w] * e->first[i];
					const double yes =
					    tail(2 * params->scale,
					         params->theta + i - REACH - views[w].distance);
					if (fires) next->p[w] += joint * yes * views[w].paid[y];
					else
						next->joint[w][i] =
						    joint * (1 - yes) * views[w].free[y];
				}
			if (e->setting->ends && y == 0) {
				for (int w = 0; w < 2; w++) {
					p[w] = next->p[w];
					for (int i = 0; i < WIDTH; i++) p[w] += next->joint[w][i];
				}
				leaf(e, p);
			} else visit(e, next);
		}
	free(next);
}

static void enumerate(struct enumeration *e, const struct setting *setting, adversary *choose) {
	const struct dp_amin_params *params = &setting->params;
	struct dp_mechanism m;
	*e = (struct enumeration){.setting = setting, .mechanism = &m, .choose = choose};
	assert_int_equal(dp_amin_mechanism(params, &m), DP_OK);
	const double r = exp(-1.0 / (double)params->scale);
	for (int i = 0; i < WIDTH; i++) e->first[i] = (1 - r) / (1 + r) * pow(r, abs(i - REACH));
	const double rho = dp_claim_rho(&m.claim),
	             pure = (double)((m.claim.eta + m.claim.threshold) * m.claim.units);
	for (int i = 0; i < EPSILONS; i++) e->epsilon[i] = pure * (i + 0.5) / EPSILONS;
	struct past *past = calloc(1, sizeof *past);
	assert_non_null(past);
	past->p[0] = past->p[1] = 1;
	past->history = 1;
	visit(e, past);
	free(past);
	for (int w = 0; w < 2; w++) {
		assert_true(fabs(e->sum[w] - 1) < 1e-9);
		for (int i = 0; i < EPSILONS; i++)
			assert_true(e->delta[w][i] <= dp_delta_of_rho(rho, e->epsilon[i]) + 1e-12);
	}
	assert_true(e->worst <= pure * (1 + 1e-9));
	e->worst /= pure;
	m.free(m.self);
}

static struct setting small_setting(uint64_t *seed, uint32_t units, uint32_t tokens, uint32_t vocab,
                                    uint64_t scale, int32_t clip_fixed) {
	return (struct setting){.params = {.batch = 2,
	                                   .units = units,
	                                   .vocab = vocab,
	                                   .temperature_num = 1,
	                                   .temperature_den = 1,
	                                   .public_num = 20, /* so that free tokens are not sure */
	                                   .public_den = 2,
	                                   .clip_fixed = clip_fixed,
	                                   .fraction_bits = 8,
	                                   .law_bits = 3,
	                                   .scale = scale,
	                                   .theta = 16,
	                                   .random = {test_fill, seed}},
	                        .tokens = tokens};
}

static void no_adversary_wins_more(void **state) {
	(void)state;
	static adversary *const adversaries[] = {erratic, patient, hasty};
	uint64_t seed = 21;
	struct enumeration *e = malloc(sizeof *e);
	assert_non_null(e);
	size_t transcripts = 0;
	for (uint32_t units = 1; units <= 3; units++)
		for (uint32_t vocab = 2; vocab <= MOST_VOCAB; vocab++)
			for (size_t a = 0; a < 3; a++) {
				struct setting setting =
				    small_setting(&seed, units, vocab == 2 ? 5 : 4, vocab,
				                  5 * units, (int32_t)(100 * units));
				setting.ends = units == 2;
				enumerate(e, &setting, adversaries[a]);
				transcripts += e->transcripts;
			}
	assert_true(transcripts > 2000);
	free(e);
}

/* Somebody comes near to what a unit may cost, and near to what two may. */
static void the_worst_is_near_the_claim(void **state) {
	(void)state;
	uint64_t seed = 22;
	struct enumeration *e = malloc(sizeof *e);
	assert_non_null(e);
	const struct setting setting = small_setting(&seed, 1, 6, 2, 3, 900);
	enumerate(e, &setting, patient);
	print_message("%.4f of the claim\n", e->worst);
	assert_true(e->worst >= 0.9);
	free(e);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(no_adversary_wins_more),
	    cmocka_unit_test(the_worst_is_near_the_claim),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
