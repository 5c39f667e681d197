// SPDX-License-Identifier: Apache-2.0
// Tests by statistics that texts follow the mechanism's law. A million tokens go through
// cuttle_plan_make and the generation loop, as in a private run. Only the model is a stub, whose
// rows are given. By day the plan's seed is fixed, as by --insecure-seed; by night the plan is a
// private one.
// It fails if the tokens do not have the exact odds, or if the ratio of two neighbouring worlds is
// above what was promised. Every test also runs with a mechanism that is wrong, and fails if it
// does not notice, with as many tokens as its odds ask for.
#include "tests/dp/test_dp_support.h"

#include "dp/account.h"
#include "dp/invisibleink.h"

#include <math.h>
#include <stdio.h>

#include "engine/run/loop/job.h"
#include "tests/dp/dp_oracle.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"

enum {
	CELLS = 32,
	BATCH = 7,
	TEXT_TOKENS = 300,
	FIRST = '@' /* the cells are the letters from here on; every other token is far below */
};

struct world {
	float public[TINY_VOCAB], private[BATCH][TINY_VOCAB];
	const float *row[BATCH]; /* NULL = null */
};

/* ---- a logit source that always says the same ------------------------------------------------ */

struct stub {
	const struct world *world;
	float picked[BATCH][TINY_VOCAB];
};

static enum cuttle_status stub_begin(void *self, size_t slot, const struct tokens *public_context,
                                     const struct place_context *places, size_t count,
                                     const struct tokens *already,
                                     const struct interruption *interruption) {
	(void)self, (void)slot, (void)public_context, (void)places, (void)count, (void)already,
	    (void)interruption;
	return CUTTLE_OK;
}

static void stub_end(void *self, size_t slot) {
	(void)self, (void)slot;
}

static void stub_public_logits(void *self) {
	(void)self;
}

static const float *stub_public_row(void *self, size_t slot) {
	(void)slot;
	return ((struct stub *)self)->world->public;
}

static void stub_private_logits(void *self, size_t slot, size_t first_place, size_t places,
                                const uint32_t *candidates, size_t count) {
	(void)slot;
	struct stub *stub = self;
	for (size_t i = first_place; i < first_place + places; i++) {
		const float *row = stub->world->row[i];
		for (size_t c = 0; row && c < count; c++) stub->picked[i][c] = row[candidates[c]];
	}
}

static const float *stub_row(void *self, size_t place) {
	struct stub *stub = self;
	return stub->world->row[place] ? stub->picked[place] : NULL;
}

static void stub_append(void *self, const int32_t *tokens) {
	(void)self, (void)tokens;
}

/* ---- n tokens of the generation loop --------------------------------------------------------- */

struct count {
	size_t seen[TINY_VOCAB], drawn, wanted;
};

static void no_reference(void *user, size_t index, const char **text, size_t *size) {
	(void)user, (void)index;
	*text = NULL;
	*size = 0;
}

static int count_token(void *user, size_t text, uint32_t step, int32_t token) {
	(void)text, (void)step;
	struct count *count = user;
	count->seen[token]++;
	return ++count->drawn == count->wanted;
}

static int take_text(void *user, const struct cuttle_text *text) {
	(void)user;
	assert_int_equal(text->tokens, TEXT_TOKENS);
	return 0;
}

static struct cuttle_model *model;
static uint64_t next_seed;

static int open_model(void **state) {
	(void)state;
	model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1);
	next_seed = 1000;
	return 0;
}

static int close_model(void **state) {
	(void)state;
	cuttle_model_free(&model);
	return 0;
}

/* C = clip_fixed / 2^12. Fills *count, and *params with the mechanism's integers for the oracle. */
static void generate(const struct world *world, int32_t clip_fixed, double temperature,
                     uint32_t top_k, size_t n, struct count *count,
                     struct dp_invisibleink_params *params) {
	struct cuttle_plan_params wanted;
	struct cuttle_plan *plan;
	struct cuttle_job job;
	struct cuttle_error error;
	static struct stub stub;
	stub.world = world;
	cuttle_plan_params_default(&wanted);
	wanted.clip = ldexp(clip_fixed, -12);
	wanted.savings.center = false;
	wanted.temperature = temperature;
	wanted.batch = BATCH;
	wanted.tokens = TEXT_TOKENS;
	wanted.top_k = top_k;
	wanted.accountant = CUTTLE_ZCDP;
	wanted.insecure = !nightly();
	wanted.insecure_seed = next_seed++;
	if (cuttle_plan_make(model, &wanted, &plan, &error)) fail_msg("%s", error.message);
	const struct cuttle_guarantee *told = &plan->guarantee;
	assert_int_equal(told->clip_fixed, clip_fixed);
	*params = (struct dp_invisibleink_params){.batch = told->batch,
	                                          .top_k = told->top_k,
	                                          .vocab = TINY_VOCAB,
	                                          .clip_fixed = told->clip_fixed,
	                                          .fraction_bits = told->fraction_bits};
	assert_int_equal(dp_temperature_ratio(told->temperature, &params->temperature_num,
	                                      &params->temperature_den),
	                 DP_OK);
	const struct logit_source source = {.self = &stub,
	                                    .vocab = TINY_VOCAB,
	                                    .slots = 2,
	                                    .begin = stub_begin,
	                                    .end = stub_end,
	                                    .public_logits = stub_public_logits,
	                                    .public_row = stub_public_row,
	                                    .private_logits = stub_private_logits,
	                                    .row = stub_row,
	                                    .append = stub_append};
	*count = (struct count){.wanted = n};
	cuttle_job_default(&job);
	job.texts = n / TEXT_TOKENS + 2;
	job.user = count;
	job.reference = no_reference;
	job.token = count_token;
	job.text = take_text;
	assert_int_equal(job_generate(plan, &job, &source, &error), CUTTLE_PARTIAL);
	assert_int_equal(count->drawn, n);
	cuttle_plan_free(&plan);
}

/* P of every token in a world, exactly. */
static void odds(const struct world *world, const struct dp_invisibleink_params *params,
                 double p[TINY_VOCAB]) {
	static struct oracle_law law;
	double of_candidates[ORACLE_VOCAB];
	oracle_law(params, world->public, world->row, &law);
	oracle_probabilities(&law, of_candidates);
	memset(p, 0, TINY_VOCAB * sizeof *p);
	for (size_t c = 0; c < law.count; c++) p[law.token[c]] = of_candidates[c];
}

/* ---- test 8: chi-square over 32 tokens ------------------------------------------------------- */

enum { CLIP = 2699 /* epsilon 10 at T = 500, tau = 1.2: C = 0.659 */ };

/* Scores of spread 2; one null; the last row pulls each token by the whole clip, up or down. */
static void make_world(struct world *world) {
	uint64_t seed = 61;
	*world = (struct world){.row = {NULL}};
	for (size_t y = 0; y < TINY_VOCAB; y++) {
		world->public[y] = -1e4f;
		for (size_t i = 1; i < BATCH; i++) world->private[i][y] = -1e4f;
	}
	for (size_t y = FIRST; y < FIRST + CELLS; y++) {
		float sum = 0;
		for (int i = 0; i < 12; i++) sum += test_between(&seed, -1, 1);
		world->public[y] = sum;
		for (size_t i = 1; i < BATCH; i++)
			world->private[i][y] = sum + (i == BATCH - 1 ? test_below(&seed, 2) ? 9 : -9
			                                             : test_between(&seed, -1, 1));
	}
	for (size_t i = 1; i < BATCH; i++) world->row[i] = world->private[i];
}

static size_t median_token(const struct world *world) {
	for (size_t y = FIRST;; y++) {
		int above = 0;
		for (size_t z = FIRST; z < FIRST + CELLS; z++)
			above += world->public[z] > world -> public[y];
		if (above == CELLS / 2) return y;
	}
}

static void a_million_tokens(void **state) {
	(void)state;
	static struct world world;
	static struct count count;
	struct dp_invisibleink_params params;
	double p[TINY_VOCAB];
	make_world(&world);
	generate(&world, CLIP, 1.2, CELLS, repetitions(1000000, 3000000), &count, &params);
	odds(&world, &params, p);
	assert_true(fit(count.seen, p, TINY_VOCAB, count.drawn) > FALSE_ALARM);
}

/* Chi-square of 31 degrees misses a deviation of this noncentrality once in a thousand times. */
#define SEEN 128.0

/* n is what this instance needs, computed from its exact odds; `note` is of another instance of
 * about the same size, and n may not be far above it. */
static void wrong_mechanisms(void **state) {
	(void)state;
	static struct world world, wrong;
	static struct count count;
	struct dp_invisibleink_params params, other;
	double p[TINY_VOCAB], q[TINY_VOCAB];
	make_world(&world);
	generate(&world, CLIP, 1.2, CELLS, 1, &count, &params);
	odds(&world, &params, p);
	const struct {
		const char *name;
		int64_t num, den;
		double note;
	} cases[] = {{"tau 1.2 -> 1.25", 5, 4, 35000},
	             {"tau ignored", 1, 1, 1600},
	             {"a median token never drawn", 6, 5, 9000},
	             {"one row at 2C/B", 6, 5, 20000},
	             {"tau 1.2 -> 1.21", 121, 100, 830000}};
	for (int i = 0; i < (nightly() ? 5 : 4); i++) {
		wrong = world;
		for (size_t row = 1; row < BATCH; row++) wrong.row[row] = wrong.private[row];
		if (i == 2) wrong.public[median_token(&world)] = -1e4f;
		if (i == 3) wrong.row[0] = wrong.private[BATCH - 1];
		other = params;
		other.temperature_num = cases[i].num;
		other.temperature_den = cases[i].den;
		odds(&wrong, &other, q);
		double away = 0;
		for (size_t y = FIRST; y < FIRST + CELLS; y++)
			away += (q[y] - p[y]) * (q[y] - p[y]) / p[y];
		const double n = ceil(SEEN / away);
		if (n > 3 * cases[i].note)
			fail_msg("%s: needs %g tokens, about %g were expected", cases[i].name, n,
			         cases[i].note);
		generate(&wrong, CLIP, (double)cases[i].num / (double)cases[i].den, CELLS,
		         (size_t)n, &count, &other);
		if (fit(count.seen, p, TINY_VOCAB, count.drawn) > FALSE_ALARM)
			fail_msg("%s: not seen in %g tokens", cases[i].name, n);
	}
}

/* ---- test 9: two worlds ---------------------------------------------------------------------- */

/* Randomised response: two tokens, one reference that lifts the first and lowers the second by the
 * whole clip; public odds that put the two losses at +-eta / 2. */
static void make_response(struct world *world, double eta, double temperature) {
	*world = (struct world){.row = {NULL}};
	for (size_t y = 0; y < TINY_VOCAB; y++) world->public[y] = -1e4f;
	world->public[FIRST] = (float)(-eta / 2 * temperature);
	world->public[FIRST + 1] = 0;
	memcpy(world->private[0], world -> public, sizeof world->public);
	world->private[0][FIRST] += 100;
	world->private[0][FIRST + 1] -= 100;
}

static double log_odds(double p) {
	return log(p) - log1p(-p);
}

/* Whether n tokens of each world prove, with error at most FALSE_ALARM, that the odds of the two
 * tokens differ by more than exp(claimed).
 */
static bool proves_more(double claimed, int32_t clip_fixed, size_t n) {
	static struct world with, without;
	static struct count one, other;
	struct dp_invisibleink_params params;
	const double temperature = 1.2, eta = 2 * ldexp(clip_fixed, -12) / (BATCH * temperature);
	make_response(&with, eta, temperature);
	make_response(&without, eta, temperature);
	with.row[0] = with.private[0];
	generate(&with, clip_fixed, temperature, 2, n, &one, &params);
	generate(&without, clip_fixed, temperature, 2, n, &other, &params);
	assert_int_equal(one.seen[FIRST] + one.seen[FIRST + 1], n);
	const double low = log_odds(proportion_above(one.seen[FIRST], n, FALSE_ALARM / 2));
	const double high = log_odds(proportion_below(other.seen[FIRST], n, FALSE_ALARM / 2));
	return low - high > claimed * (1 + 1e-9);
}

static void the_ratio_of_two_worlds(void **state) {
	(void)state;
	const double eta = 2 * ldexp(CLIP, -12) / (BATCH * 1.2); /* 0.157 */
	assert_false(proves_more(eta, CLIP, repetitions(150000, 2000000)));
	/* power: clips that are larger than what is claimed */
	const struct {
		double claimed, times;
		size_t n;
		bool night;
	} cases[] = {{2699, 2, 34000, false},
	             {2699, 1.5, 150000, false},
	             {936, 2, 300000, false},
	             {2699, 1.25, 530000, true},
	             {339, 2, 2300000, true}};
	for (int i = 0; i < 5; i++) {
		if (cases[i].night && !nightly()) continue;
		const double claimed = 2 * ldexp(cases[i].claimed, -12) / (BATCH * 1.2);
		if (!proves_more(claimed, (int32_t)(cases[i].claimed * cases[i].times), cases[i].n))
			fail_msg("%g times eta = %g: not seen in %zu tokens", cases[i].times,
			         claimed, cases[i].n);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_million_tokens),
	    cmocka_unit_test(wrong_mechanisms),
	    cmocka_unit_test(the_ratio_of_two_worlds),
	};
	return cmocka_run_group_tests(tests, open_model, close_model);
}
