// SPDX-License-Identifier: Apache-2.0
// Tests dp/amin.c and dp/amin_account.c. The linker puts functions below in the place of
// dp_noise_laplace and of the allocator, so a test decides what noise is, and when memory ends.
// It fails if the worked example has another distance, sum or law; if a private row moves the
// distance by more than 2^G or a sum by more than Chat; if a threshold is drawn twice for a unit,
// late, or not counted; if a number of the account is below the true one; if noise or memory that
// fails gives a token or a mechanism; or if freed memory holds a threshold.
#include "tests/dp/test_dp_support.h"

#include <limits.h>
#include <malloc.h>
#include <math.h>

#include "dp/account.h"
#include "dp/amin.h"
#include "dp/amin_account.h"
#include "dp/noise.h"
#include "dp/weights.h"
#include "dp/zcdp.h"

enum dp_status __real_dp_noise_laplace(uint64_t t, const struct dp_random *random, int64_t *noise);
enum dp_status __wrap_dp_noise_laplace(uint64_t t, const struct dp_random *random, int64_t *noise);
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void __wrap_free(void *block);

/* What is drawn: first for a threshold, second for a step; and how often each was asked for. */
static struct plan_of_noise {
	bool on;
	int64_t first, second;
	uint64_t scale; /* t1: tells the two apart */
	size_t firsts, seconds;
	size_t fails_at; /* the draw that fails, from 1 */
} plan;

enum dp_status __wrap_dp_noise_laplace(uint64_t t, const struct dp_random *random, int64_t *noise) {
	if (!plan.on) return __real_dp_noise_laplace(t, random, noise);
	assert_true(t == plan.scale || t == 2 * plan.scale);
	*(t == plan.scale ? &plan.firsts : &plan.seconds) += 1;
	if (plan.firsts + plan.seconds == plan.fails_at) return DP_NO_ENTROPY;
	*noise = t == plan.scale ? plan.first : plan.second;
	return DP_OK;
}

/* How many allocations still succeed; and a number that no freed block may hold. */
static int allocations = INT_MAX;
static int64_t secret;
static size_t secrets_found;

static bool fails(void) {
	return allocations < INT_MAX && allocations-- == 0;
}

void *__wrap_malloc(size_t size) {
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
	return fails() ? NULL : __real_calloc(count, size);
}

void __wrap_free(void *block) {
	if (block && secret)
		secrets_found +=
		    memmem(block, malloc_usable_size(block), &secret, sizeof secret) != NULL;
	__real_free(block);
}

/* ---- the worked example ---------------------------------------------------------------------- */

enum { TOKENS = 8, ROWS = 3 };
static const float PUBLIC[TOKENS] = {4, 3.5f, 3.25f, 1, .5f, -2, 2.875f, -7.5f};
static const float RECORDS[ROWS][TOKENS] = {{4, 4.5f, 3, 1, .5f, -2, 2.875f, 9},
                                            {3.75f, 3.5f, 3.5f, 2, .5f, -2, 3, -7.5f},
                                            {5, 3, 3.25f, 1, .25f, -2, 2, -7.5f}};

static struct dp_amin_params example(uint64_t *seed) {
	return (struct dp_amin_params){.batch = ROWS,
	                               .units = 5,
	                               .vocab = TOKENS,
	                               .temperature_num = 1,
	                               .temperature_den = 1,
	                               .public_num = 1,
	                               .public_den = 1,
	                               .clip_fixed = 512,
	                               .fraction_bits = 8,
	                               .law_bits = 32,
	                               .scale = dp_amin_scale(300000, ROWS),
	                               .theta = dp_amin_theta(700000, ROWS),
	                               .random = {test_fill, seed}};
}

static struct dp_mechanism make(const struct dp_amin_params *params) {
	struct dp_mechanism m;
	assert_int_equal(dp_amin_mechanism(params, &m), DP_OK);
	return m;
}

/* Opens a step of a fresh batch and adds all rows but one. */
static struct dp_amin_step open_without(const struct dp_mechanism *m, const float *public_row,
                                        const float *rows, size_t count, size_t width,
                                        size_t without) {
	struct dp_wanted wanted;
	m->turn(m->self, 7, true);
	m->begin(m->self, (uint32_t)count, 0);
	assert_int_equal(m->open(m->self, public_row, true, &wanted), DP_OK);
	assert_int_equal(wanted.place, DP_EVERY_PLACE);
	for (size_t i = 0; i < count; i++) {
		float logits[64];
		for (size_t c = 0; c < wanted.count; c++)
			logits[c] = rows[i * width + wanted.tokens[c]];
		if (i != without) m->row(m->self, (uint32_t)i, logits);
	}
	return dp_amin_inspect(m->self);
}

static void worked_example(void **state) {
	(void)state;
	static const int32_t sums[TOKENS] = {512, -64, 0, -960, -1344, -1536, -448, -512};
	static const double law[TOKENS] = {.35190400654945,  .16622768246951, .18067354121864,
	                                   .051763836224859, .03139635373472, .024451504874187,
	                                   .10082218591074,  .092760889017892};
	static const int64_t distances[ROWS + 1] = {4352231974, 12691128554, 12691139896,
	                                            8456276984};
	uint64_t seed = 1;
	const struct dp_amin_params params = example(&seed);
	const struct dp_mechanism m = make(&params);
	for (size_t without = 0; without <= ROWS; without++) {
		const struct dp_amin_step step =
		    open_without(&m, PUBLIC, RECORDS[0], ROWS, TOKENS, without);
		assert_int_equal(step.count, TOKENS);
		assert_int_equal(step.distance, distances[without]);
		double whole = 0;
		for (size_t y = 0; without == ROWS && y < TOKENS; y++) {
			assert_int_equal(step.sum[y], sums[y]);
			whole += (double)dp_amin_weight(m.self, step.sum[y]);
		}
		for (size_t y = 0; without == ROWS && y < TOKENS; y++)
			assert_true(
			    fabs((double)dp_amin_weight(m.self, step.sum[y]) / whole / law[y] - 1) <
			    1e-9);
	}
	assert_int_equal(m.claim.null, DP_NULL_IS_NOTHING);
	assert_int_equal(m.claim.units, 5);
	m.free(m.self);
}

/* Draws tokens that must be paid, or free, and compares them with the law that they come from. */
static void draws_follow_their_laws(void **state) {
	(void)state;
	uint64_t seed = 2;
	struct dp_amin_params params = example(&seed);
	params.public_num = 13;
	params.public_den = 10;
	params.top_k = 5;
	const struct dp_mechanism m = make(&params);
	const size_t draws = repetitions(100000, 1000000);
	plan.on = true;
	plan.scale = params.scale;
	for (int paid = 0; paid < 2; paid++) {
		size_t seen[TOKENS] = {0};
		double p[TOKENS] = {0}, other[TOKENS] = {0}, whole[2] = {0};
		plan.first = 0;
		plan.second = paid ? INT64_C(1) << 40 : -(INT64_C(1) << 40);
		for (size_t n = 0; n < draws; n++) {
			uint32_t token;
			enum dp_fate fate;
			const struct dp_amin_step step =
			    open_without(&m, PUBLIC, RECORDS[0], ROWS, TOKENS, ROWS);
			assert_int_equal(step.count, 5); // tokens 0, 1, 2, 3, 6
			for (size_t c = 0; n == 0 && c < step.count; c++) {
				const double e = (double)dp_amin_weight(m.self, step.sum[c]),
				             free_p = exp(PUBLIC[step.candidates[c]] / 1.3);
				p[step.candidates[c]] = paid ? e : free_p;
				other[step.candidates[c]] = paid ? free_p : e;
				whole[0] += paid ? e : free_p;
				whole[1] += paid ? free_p : e;
			}
			assert_int_equal(m.draw(m.self, &token, &fate), DP_OK);
			assert_int_equal(fate, paid ? DP_PAID : DP_FREE);
			assert_true(token < TOKENS);
			seen[token]++;
		}
		size_t cells[5];
		double wanted[5], wrong[5];
		for (size_t y = 0, c = 0; y < TOKENS; y++) {
			assert_true(p[y] > 0 || seen[y] == 0);
			if (p[y] <= 0) continue;
			cells[c] = seen[y];
			wanted[c] = p[y] / whole[0];
			wrong[c++] = other[y] / whole[1];
		}
		assert_true(fit(cells, wanted, 5, draws) >= FALSE_ALARM);
		assert_true(fit(cells, wrong, 5, draws) < FALSE_ALARM);
	}
	plan.on = false;
	m.free(m.self);
}

/* ---- hostile rows ---------------------------------------------------------------------------- */

enum { WIDE = 40, MANY = 6 };

static float hostile_logit(uint64_t *seed, uint64_t kind) {
	static const float odd[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-40f, -0.0f};
	if (kind == 0) return odd[test_below(seed, 3 + test_below(seed, 5))]; // a row of its own
	if (kind == 1) return 2;                                              // ties
	if (kind == 2) return odd[3 + test_below(seed, 4)];
	return test_between(seed, -8, 8);
}

static void hostile_row(uint64_t *seed, float *row, bool finite) {
	const uint64_t kind = test_below(seed, 5) + (finite ? 1 : 0);
	for (size_t y = 0; y < WIDE; y++)
		row[y] = hostile_logit(seed, kind == 0 && test_below(seed, 9) ? 3 : kind);
	if (kind == 4) { // one-hot
		for (size_t y = 0; y < WIDE; y++) row[y] = 0;
		row[test_below(seed, WIDE)] = test_below(seed, 2) ? 3e38f : 60;
	}
}

static bool all_finite(const float *row, const struct dp_amin_step *step) {
	bool finite = true;
	for (size_t c = 0; c < step->count; c++) finite &= isfinite(row[step->candidates[c]]) != 0;
	return finite;
}

static void a_row_moves_what_it_may(void **state) {
	(void)state;
	uint64_t seed = 3;
	int64_t widest = 0;
	size_t nulls = 0, bent = 0;
	const int rounds = test_cases(10000);
	struct dp_amin_params params = example(&seed);
	params.batch = MANY;
	params.vocab = WIDE;
	params.clip_fixed = 700;
	params.theta = dp_amin_theta(700000, MANY);
	const struct dp_mechanism whole = make(&params);
	params.top_k = 4;
	const struct dp_mechanism few = make(&params);
	for (int round = 0; round < rounds; round++) {
		const struct dp_mechanism *m = round % 2 ? &whole : &few;
		float public_row[WIDE], rows[MANY][WIDE];
		hostile_row(&seed, public_row, true);
		for (size_t i = 0; i < MANY; i++) hostile_row(&seed, rows[i], false);
		const size_t j = test_below(&seed, MANY);
		int32_t sum[WIDE];
		struct dp_amin_step step = open_without(m, public_row, rows[0], MANY, WIDE, MANY);
		const int64_t distance = step.distance;
		memcpy(sum, step.sum, step.count * sizeof *sum);
		const bool finite = all_finite(rows[j], &step);
		step = open_without(m, public_row, rows[0], MANY, WIDE, j);
		const int64_t moved = llabs(step.distance - distance);
		assert_true(moved <= INT64_C(1) << 32);
		assert_true(distance <= INT64_C(2) * MANY << 32);
		assert_true(finite || moved == 0);
		nulls += !finite;
		widest = moved > widest ? moved : widest;
		for (size_t c = 0; c < step.count; c++) {
			assert_true(abs(step.sum[c] - sum[c]) <= 700);
			assert_true(finite || step.sum[c] == sum[c]);
			bent += abs(step.sum[c] - sum[c]) == 700;
		}
	}
	assert_true(widest > (INT64_C(1) << 32) - 100 && nulls > (size_t)rounds / 50 &&
	            bent > (size_t)rounds);
	whole.free(whole.self);
	few.free(few.self);
}

/* ---- units ----------------------------------------------------------------------------------- */

static enum dp_fate draw_fate(const struct dp_mechanism *m, uint32_t slot, bool fresh,
                              uint32_t spent, bool fires) {
	struct dp_wanted wanted;
	uint32_t token = UINT32_MAX;
	enum dp_fate fate;
	plan.second = fires ? INT64_C(1) << 50 : -(INT64_C(1) << 50);
	m->turn(m->self, slot, fresh);
	m->begin(m->self, ROWS, spent);
	assert_int_equal(m->open(m->self, PUBLIC, true, &wanted), DP_OK);
	for (uint32_t i = 0; wanted.count && i < ROWS; i++) m->row(m->self, i, RECORDS[i]);
	assert_int_equal(m->draw(m->self, &token, &fate), DP_OK);
	assert_true(token < TOKENS);
	return fate;
}

/* A threshold is drawn for the first step, after a paid token, and where the batch is fresh; never
 * else. The noise of a step is drawn in each. Two batches in flight have one each. */
static void one_threshold_for_a_unit(void **state) {
	(void)state;
	uint64_t seed = 4;
	const struct dp_amin_params params = example(&seed);
	const struct dp_mechanism m = make(&params);
	plan = (struct plan_of_noise){.on = true, .scale = params.scale};
	/* the slot; whether it is fresh; units before; fires; thresholds drawn so far */
	static const struct {
		uint32_t slot;
		bool fresh;
		uint32_t spent;
		bool fires;
		size_t firsts;
	} steps[] = {{0, true, 0, false, 1},  {0, false, 1, false, 1}, {3, true, 0, false, 2},
	             {0, false, 1, false, 2}, {3, false, 1, true, 2},  {0, false, 1, true, 2},
	             {3, false, 1, true, 3},  {0, false, 1, true, 4},  {0, false, 2, false, 5},
	             {0, true, 3, false, 6},  {0, true, 4, false, 7},  {0, false, 5, false, 7},
	             {0, false, 5, true, 7}};
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		assert_int_equal(
		    draw_fate(&m, steps[i].slot, steps[i].fresh, steps[i].spent, steps[i].fires),
		    steps[i].fires ? DP_PAID : DP_FREE);
		assert_int_equal(plan.firsts, steps[i].firsts);
		assert_int_equal(plan.seconds, i + 1);
	}
	assert_int_equal(dp_amin_units(m.self), 5);
	/* All five are drawn. The rest is free, and without rows or noise; or there is none. */
	struct dp_wanted wanted;
	assert_int_equal(draw_fate(&m, 0, false, 5, true), DP_FREE);
	assert_int_equal(draw_fate(&m, 0, true, 5, true), DP_FREE);
	assert_int_equal(plan.firsts + plan.seconds, 7 + sizeof steps / sizeof *steps);
	m.begin(m.self, ROWS, 5);
	assert_int_equal(m.open(m.self, PUBLIC, false, &wanted), DP_SPENT);
	assert_int_equal(wanted.count, 0);
	plan.on = false;
	m.free(m.self);
}

/* A unit counts when its threshold is drawn: before an answer. */
static void a_unit_counts_at_once(void **state) {
	(void)state;
	uint64_t seed = 5;
	struct dp_amin_params params = example(&seed);
	params.units = 1;
	const struct dp_mechanism m = make(&params);
	struct dp_wanted wanted;
	plan = (struct plan_of_noise){.on = true, .scale = params.scale};
	m.turn(m.self, 0, true);
	m.begin(m.self, ROWS, 0);
	assert_int_equal(m.open(m.self, PUBLIC, true, &wanted), DP_OK);
	assert_int_equal(wanted.count, TOKENS);
	assert_int_equal(dp_amin_units(m.self), 1);
	/* Not drawn: nobody saw an answer, and the threshold goes with the step. */
	m.begin(m.self, ROWS, 0);
	assert_int_equal(m.open(m.self, PUBLIC, true, &wanted), DP_OK);
	assert_int_equal(plan.firsts, 2);
	assert_int_equal(draw_fate(&m, 0, true, 0, false), DP_FREE);
	assert_int_equal(plan.firsts, 3);
	/* A public row that is not finite opens nothing and draws no noise. */
	float row[TOKENS] = {NAN};
	m.begin(m.self, ROWS, 1);
	assert_int_equal(m.open(m.self, row, true, &wanted), DP_PUBLIC_NOT_FINITE);
	assert_int_equal(wanted.count, 0);
	assert_int_equal(plan.seconds, 3);
	plan.on = false;
	m.free(m.self);
}

/* ---- failures -------------------------------------------------------------------------------- */

struct failing {
	uint64_t seed;
	bool fails;
};

static enum dp_status fill_or_fail(void *user, void *bytes, size_t size) {
	struct failing *source = user;
	return source->fails ? DP_NO_ENTROPY : test_fill(&source->seed, bytes, size);
}

/* Whichever draw fails, no token is drawn, then or later. */
static void no_entropy(void **state) {
	(void)state;
	for (size_t fails_at = 1; fails_at <= 3; fails_at++) {
		struct failing source = {.seed = 6};
		struct dp_amin_params params = example(NULL);
		params.random = (struct dp_random){fill_or_fail, &source};
		const struct dp_mechanism m = make(&params);
		struct dp_wanted wanted;
		uint32_t token = 77;
		enum dp_fate fate = (enum dp_fate)5;
		plan =
		    (struct plan_of_noise){.on = true, .scale = params.scale, .fails_at = fails_at};
		m.turn(m.self, 0, true);
		m.begin(m.self, ROWS, 0);
		assert_int_equal(m.open(m.self, PUBLIC, true, &wanted),
		                 fails_at < 3 ? DP_NO_ENTROPY : DP_OK);
		assert_int_equal(wanted.count, fails_at < 3 ? 0 : TOKENS);
		if (fails_at == 3) {
			source.fails = true;
			assert_int_equal(m.draw(m.self, &token, &fate), DP_NO_ENTROPY);
			source.fails = false;
		}
		for (int i = 0; i < 2; i++) {
			m.turn(m.self, (uint32_t)i, true);
			m.begin(m.self, ROWS, 1);
			assert_int_equal(m.open(m.self, PUBLIC, true, &wanted), DP_NO_ENTROPY);
		}
		assert_int_equal(token, 77);
		assert_int_equal(fate, 5);
		plan.on = false;
		m.free(m.self);
	}
}

static void no_memory(void **state) {
	(void)state;
	uint64_t seed = 7;
	const struct dp_amin_params params = example(&seed);
	struct dp_mechanism m;
	int count = 0;
	enum dp_status status;
	do {
		allocations = count++;
		status = dp_amin_mechanism(&params, &m);
		allocations = INT_MAX;
		assert_true(status == DP_OK || status == DP_NO_MEMORY);
		assert_true((m.self == NULL) == (status == DP_NO_MEMORY));
	} while (status != DP_OK);
	assert_true(count > 14);
	m.free(m.self);
}

/* Neither N1 nor N2 nor a sum is in what is freed; a unit that ends is wiped with its slot. */
static void freed_memory_is_wiped(void **state) {
	(void)state;
	uint64_t seed = 8;
	const struct dp_amin_params params = example(&seed);
	const struct dp_mechanism m = make(&params);
	plan = (struct plan_of_noise){.on = true, .scale = params.scale};
	plan.first = INT64_C(0x0123456789abcd);
	assert_int_equal(draw_fate(&m, 2, true, 0, false), DP_FREE);
	struct dp_wanted wanted;
	plan.second = plan.first;
	m.turn(m.self, 0, true);
	m.begin(m.self, ROWS, 0);
	assert_int_equal(m.open(m.self, PUBLIC, true, &wanted), DP_OK);
	m.row(m.self, 0, RECORDS[0]);
	secret = plan.first;
	m.free(m.self);
	assert_int_equal(secrets_found, 0);
	volatile int64_t *block = malloc(64);
	assert_non_null(block);
	block[3] = secret;
	free((void *)(uintptr_t)block); /* the search finds what is there */
	assert_int_equal(secrets_found, 1);
	secret = 0;
	plan.on = false;
}

/* assert_misuse jumps, so each use stands in a function of its own. */
static void refuses_slot(const struct dp_mechanism *m) {
	assert_misuse(m->turn(m->self, DP_MECHANISM_SLOTS, true));
}
static void refuses_begin(const struct dp_mechanism *m, uint32_t places, uint32_t spent) {
	assert_misuse(m->begin(m->self, places, spent));
}
static void refuses_open(const struct dp_mechanism *m, bool may_be_free) {
	struct dp_wanted wanted;
	assert_misuse((void)m->open(m->self, PUBLIC, may_be_free, &wanted));
}
static void refuses_row(const struct dp_mechanism *m, uint32_t place) {
	assert_misuse(m->row(m->self, place, RECORDS[0]));
}
static void refuses_draw(const struct dp_mechanism *m) {
	uint32_t token;
	enum dp_fate fate;
	assert_misuse((void)m->draw(m->self, &token, &fate));
	assert_misuse((void)dp_amin_inspect(m->self));
}

static void misuse_is_stopped(void **state) {
	(void)state;
	uint64_t seed = 9;
	const struct dp_amin_params params = example(&seed);
	const struct dp_mechanism m = make(&params);
	struct dp_wanted wanted;
	refuses_begin(&m, ROWS, 0); /* no slot has its turn */
	refuses_slot(&m);
	m.turn(m.self, 0, true);
	refuses_open(&m, true);
	refuses_begin(&m, ROWS + 1, 0);
	m.begin(m.self, ROWS, 0);
	refuses_open(&m, false); /* a unit is left, and no free token */
	refuses_draw(&m);
	refuses_row(&m, 0);
	assert_int_equal(m.open(m.self, PUBLIC, true, &wanted), DP_OK);
	refuses_open(&m, true);
	refuses_row(&m, ROWS);
	for (uint32_t i = 0; i < ROWS; i++) m.row(m.self, i, RECORDS[i]);
	refuses_row(&m, 0); /* one more */
	plan = (struct plan_of_noise){.on = true, .scale = params.scale};
	assert_int_equal(draw_fate(&m, 0, true, 0, false), DP_FREE);
	refuses_begin(&m, ROWS, 0); /* its unit is not counted */
	refuses_begin(&m, ROWS, 2);
	assert_int_equal(draw_fate(&m, 0, true, 5, false), DP_FREE);
	plan.on = false;
	m.begin(m.self, ROWS, 5);
	assert_int_equal(m.open(m.self, PUBLIC, true, &wanted), DP_OK);
	refuses_row(&m, 0); /* a step of the public row alone */
	m.free(m.self);
}

static void parameters_out_of_range(void **state) {
	(void)state;
	uint64_t seed = 10;
	const uint8_t none[TOKENS] = {0}, some[TOKENS] = {0, 1, 0, 0, 1, 0, 0, 1};
	struct dp_mechanism m;
	for (int i = 0; i < 14; i++) {
		struct dp_amin_params p = example(&seed);
		switch (i) {
		case 0:
			p.batch = 0;
			break;
		case 1:
			p.batch = (1 << 16) + 1;
			break;
		case 2:
			p.units = 0;
			break;
		case 3:
			p.vocab = 0;
			break;
		case 4:
			p.vocab = (1 << 18) + 1;
			break;
		case 5:
			p.law_bits = 33;
			break;
		case 6:
			p.scale = 0;
			break;
		case 7:
			p.theta = -1;
			break;
		case 8:
			p.public_num = 0;
			break;
		case 9:
			p.public_num = 17;
			break;
		case 10:
			p.clip_fixed = 0;
			break;
		case 11:
			p.temperature_den = 0;
			break;
		case 12:
			p.allowed = none;
			break;
		default:
			p.clip_fixed = 512 << 8;
			break;
		}
		assert_int_equal(dp_amin_mechanism(&p, &m), DP_BAD_PARAMETER);
		assert_null(m.self);
	}
	struct dp_amin_params p = example(&seed);
	p.allowed = some;
	m = make(&p);
	const struct dp_amin_step step = open_without(&m, PUBLIC, RECORDS[0], ROWS, TOKENS, 1);
	assert_int_equal(step.count, 3);
	assert_true(step.candidates[0] == 1 && step.candidates[1] == 4 && step.candidates[2] == 7);
	m.free(m.self);
}

/* ---- the account ----------------------------------------------------------------------------- */

static struct dp_amin_integers table_2(uint32_t batch) {
	return (struct dp_amin_integers){.batch = batch,
	                                 .units = 100,
	                                 .temperature_num = 1,
	                                 .temperature_den = 1,
	                                 .law_bits = DP_AMIN_LAW_BITS,
	                                 .scale = dp_amin_scale(300000, batch)};
}

/* The cells of the paper's table: eight are refused, four run, at the clips of a second program. */
static void cells_of_the_table(void **state) {
	(void)state;
	static const double epsilons[] = {1, 3, 5, 10};
	static const struct {
		uint32_t batch;
		double rho, epsilon, clip[4];
	} rows[] = {
	    {31, 2.3124060585, 12.7562860811, {0}},
	    {63, .559894739789, 5.56729328139, {0, 0, 0, 8.81722767265}},
	    {127, .137778053334, 2.55134032458, {0, 3.90581422414, 10.2435862897, 21.2625515685}}};
	size_t refused = 0;
	for (size_t i = 0; i < 3; i++) {
		const struct dp_amin_integers fixed = table_2(rows[i].batch);
		const double rho = dp_amin_threshold_rho(&fixed);
		assert_true(fabs(rho / rows[i].rho - 1) < 1e-9);
		assert_true(fabs(dp_epsilon_of_rho(rho, 1e-6) / rows[i].epsilon - 1) < 1e-9);
		for (size_t e = 0; e < 4; e++) {
			struct dp_amin_integers n = fixed;
			const enum dp_status status = dp_amin_calibrate(&n, epsilons[e], 1e-6);
			assert_int_equal(status, rows[i].clip[e] > 0 ? DP_OK : DP_BAD_PARAMETER);
			refused += status != DP_OK;
			if (status != DP_OK) {
				assert_memory_equal(&n, &fixed, sizeof n);
				continue;
			}
			const double clip = ldexp(n.clip_fixed, -(int)n.fraction_bits);
			assert_true(clip <= rows[i].clip[e] * (1 + 1e-9));
			assert_true(clip > rows[i].clip[e] - 2 * ldexp(1, -(int)n.fraction_bits));
			assert_true(n.batch * (uint32_t)n.clip_fixed <= DP_SUM_LIMIT);
			assert_true(n.fraction_bits == 12 ||
			            n.batch * (uint32_t)n.clip_fixed * 2 > DP_SUM_LIMIT - 254);
			struct dp_claim claim = dp_amin_claim(&n);
			assert_int_equal(claim.units, 100);
			assert_true(dp_claim_epsilon(&claim, 1e-6) <= epsilons[e]);
			/* rho, in long double: r (2 (2^G / t1)^2 + (C / (s tau))^2 / 2) */
			const long double part = 0x1p32L / (long double)n.scale,
			                  range = (long double)clip / n.batch * (1 + 1e-9L);
			const long double expected = 100 * (2 * part * part + range * range / 2);
			assert_true(dp_claim_rho(&claim) >= expected * (1 - 1e-18L));
			assert_true(dp_claim_rho(&claim) < expected * (1 + 1e-14L));
			/* one step of the clip more would be too much */
			n.clip_fixed++;
			claim = dp_amin_claim(&n);
			assert_true(dp_claim_epsilon(&claim, 1e-6) > epsilons[e]);
			double exact = 5;
			assert_int_equal(dp_claim_exact(&claim, 1e-6, &exact), DP_BAD_PARAMETER);
			assert_true(exact == 5);
			if (rows[i].batch == 127 && e == 3) assert_int_equal(n.fraction_bits, 9);
		}
	}
	assert_int_equal(refused, 8);
	assert_true(dp_amin_scale(300000, 127) == UINT64_C(163638253978)); /* 38.1 2^32, up */
	assert_true(dp_amin_theta(700000, 127) == INT64_C(381822592614));  /* 88.9 2^32, down */
}

/* C/tau is cut at 28, and at the smallest clip there is an end, too. */
static void ends_of_the_clip(void **state) {
	(void)state;
	struct dp_amin_integers n = table_2(511);
	assert_int_equal(dp_amin_calibrate(&n, 10, 1e-6), DP_OK);
	assert_true(n.clip_fixed == 28 << n.fraction_bits);
	n.temperature_num = 6;
	n.temperature_den = 5;
	assert_int_equal(dp_amin_calibrate(&n, 10, 1e-6), DP_OK);
	assert_true(n.clip_fixed <= 33.6 * (1 << n.fraction_bits));
	assert_true(n.clip_fixed > 33.6 * (1 << n.fraction_bits) - 2);
	/* What is left is positive, and no clip that the weights hold. */
	n = table_2(127);
	const double alone = dp_epsilon_of_rho(dp_amin_threshold_rho(&n), 1e-6);
	assert_int_equal(dp_amin_calibrate(&n, alone * (1 + 1e-13), 1e-6), DP_BAD_PARAMETER);
	for (int i = 0; i < 9; i++) {
		struct dp_amin_integers wrong = table_2(127);
		double epsilon = 10, delta = 1e-6;
		switch (i) {
		case 0:
			epsilon = 0;
			break;
		case 1:
			delta = 1;
			break;
		case 2:
			wrong.batch = 0;
			break;
		case 3:
			wrong.units = 0;
			break;
		case 4:
			wrong.temperature_num = 0;
			break;
		case 5:
			wrong.temperature_den = 0;
			break;
		case 6:
			wrong.scale = 0;
			break;
		case 7:
			wrong.law_bits = 33;
			break;
		default:
			wrong.batch = (1 << 16) + 1;
			break;
		}
		assert_int_equal(dp_amin_calibrate(&wrong, epsilon, delta), DP_BAD_PARAMETER);
	}
	struct dp_amin_integers wide = table_2(127);
	wide.scale = DP_THRESHOLD_MOST_SCALE + 1;
	assert_int_equal(dp_amin_calibrate(&wide, 10, 1e-6), DP_BAD_PARAMETER);
}

/* What is told next to parameters that are refused runs, and one step nearer does not. */
static void nearest_parameters(void **state) {
	(void)state;
	static const struct {
		uint32_t batch;
		double epsilon;
	} cells[] = {{31, 1}, {31, 10}, {63, 5}, {127, 1}};
	for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
		const struct dp_amin_integers n = table_2(cells[i].batch);
		const double epsilon = cells[i].epsilon;
		const struct dp_amin_nearest near = dp_amin_nearest(&n, 300000, epsilon, 1e-6);
		assert_true(near.units >= 1 && near.units < 100 && near.batch > n.batch &&
		            near.sigma_millionths > 300000);
		for (int beyond = 0; beyond < 2; beyond++) {
			const enum dp_status wanted = beyond ? DP_BAD_PARAMETER : DP_OK;
			struct dp_amin_integers one = n;
			one.units = near.units + (uint32_t)beyond;
			assert_int_equal(dp_amin_calibrate(&one, epsilon, 1e-6), wanted);
			one = n;
			one.scale =
			    dp_amin_scale(near.sigma_millionths - (uint32_t)beyond, n.batch);
			assert_int_equal(dp_amin_calibrate(&one, epsilon, 1e-6), wanted);
			one = table_2(near.batch - (uint32_t)beyond);
			assert_int_equal(dp_amin_calibrate(&one, epsilon, 1e-6), wanted);
		}
	}
	const struct dp_amin_integers n = table_2(4096);
	const struct dp_amin_nearest none = dp_amin_nearest(&n, 1, 1e-7, 1e-300);
	assert_true(none.units == 0 && none.batch == 0 && none.sigma_millionths == 0);
}

static void refuses_sigma(uint32_t sigma, uint32_t batch) {
	assert_misuse((void)dp_amin_scale(sigma, batch));
}
static void refuses_theta(uint32_t theta, uint32_t batch) {
	assert_misuse((void)dp_amin_theta(theta, batch));
}
static void refuses_integers(const struct dp_amin_integers *n) {
	assert_misuse((void)dp_amin_threshold_rho(n));
	if (n->units) assert_misuse((void)dp_amin_claim(n));
}

static void account_misuse(void **state) {
	(void)state;
	refuses_sigma(0, 1);
	refuses_sigma(1000000001, 1);
	refuses_sigma(1, 0);
	refuses_sigma(1, (1 << 16) + 1);
	refuses_theta(2000001, 1);
	refuses_theta(1, 0);
	refuses_theta(1, (1 << 16) + 1);
	struct dp_amin_integers n = table_2(3);
	n.clip_fixed = 1;
	n.scale = 0;
	refuses_integers(&n);
	n = table_2(3);
	n.law_bits = 33;
	refuses_integers(&n);
	n = table_2(3);
	n.units = 0;
	refuses_integers(&n);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(worked_example),
	    cmocka_unit_test(draws_follow_their_laws),
	    cmocka_unit_test(a_row_moves_what_it_may),
	    cmocka_unit_test(one_threshold_for_a_unit),
	    cmocka_unit_test(a_unit_counts_at_once),
	    cmocka_unit_test(no_entropy),
	    cmocka_unit_test(no_memory),
	    cmocka_unit_test(freed_memory_is_wiped),
	    cmocka_unit_test(misuse_is_stopped),
	    cmocka_unit_test(parameters_out_of_range),
	    cmocka_unit_test(cells_of_the_table),
	    cmocka_unit_test(ends_of_the_clip),
	    cmocka_unit_test(nearest_parameters),
	    cmocka_unit_test(account_misuse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
