// SPDX-License-Identifier: Apache-2.0
// Tests the guarantee itself: every transcript of a small vocabulary, with the mechanism's own
// integers, in two neighbouring worlds. An adversary chooses all logits from what was drawn so
// far. The same in every way to spend less, where a batch goes on after the end of a text, or with
// tokens that cost nothing.
// It fails if the exact delta of the pair is above what the accountants promise, at any epsilon of
// a grid. It also fails if the worst adversary does not reach nearly all of it: then the test
// would see little.
#include "tests/dp/test_dp_support.h"

#include <math.h>
#include <stdlib.h>

#include "dp/account.h"
#include "dp/exact.h"
#include "dp/invisibleink.h"
#include "dp/zcdp.h"

enum { MOST_VOCAB = 4, MOST_TOKENS = 8, EPSILONS = 24, GRID = 64, PER_ETA = 64 };

/* What the adversary sees (drawn, loss, history), and what it answers (the rows, ends). */
struct step {
	const struct dp_integers *integers;
	size_t vocab;
	uint32_t drawn, free_drawn;
	double loss;      /* ln P / P' of the transcript so far */
	uint64_t history; /* a number that differs for every prefix of tokens */
	float public[MOST_VOCAB], record[MOST_VOCAB], other[MOST_VOCAB];
	bool ends;                   /* the last token ends a text */
	uint8_t allowed[MOST_VOCAB]; /* by a grammar; where it is one token, that is the next one */
	size_t exist;                /* how many are */
};

struct attack {
	const char *name;
	void (*choose)(struct step *step, const struct attack *attack);
	double t;             /* of randomised response, in eta */
	const double *values; /* delta still to win after k tokens, see `plan` */
	double epsilon;
	bool exchanged; /* the other world has another record, not null: the guarantee does not
	                   cover this */
};

/* How tokens are spent, as engine/run/loop/transcript.c does it. */
struct mode {
	const char *name;
	bool center, bank, complete, shaped;
	uint32_t sure, free_tokens; /* the threshold in millionths; the limit per batch */
};

struct enumeration {
	struct dp_invisibleink *mechanism;
	const struct dp_integers *integers;
	const struct attack *attack;
	const struct mode *mode;
	size_t vocab, transcripts, costless;
	long double delta[2][EPSILONS], sum[2]; /* P against P', and P' against P */
	double epsilon[EPSILONS];
};

static double eta_of(const struct dp_integers *n) {
	const double lambda =
	    ldexp((double)n->clip_fixed * (double)n->temperature_den, -(int)n->fraction_bits) /
	    ((double)n->temperature_num * n->batch) * (n->gain ? n->gain / 100.0 : 1.0);
	return 2 * lambda * (1 + 1e-9) * (1 + 1e-15);
}

/* ---- adversaries ----------------------------------------------------------------------------- */

/* Randomised response at t: the record lifts token 0 and lowers the others, and the public mass of
 * token 0 puts the two losses at t and t - eta. */
static void respond(struct step *step, double t) {
	const struct dp_integers *n = step->integers;
	const double eta = eta_of(n), lambda = eta / 2,
	             tau = (double)n->temperature_num / (double)n->temperature_den;
	double mass = (exp(lambda - t) - exp(-lambda)) / (exp(lambda) - exp(-lambda));
	mass = fmin(fmax(mass, 1e-9), 1 - 1e-9);
	memset(step->public, 0, sizeof step->public);
	memset(step->other, 0, sizeof step->other);
	step->public[0] = (float)(tau * (log(mass / (1 - mass)) + log((double)step->vocab - 1)));
	for (size_t y = 0; y < step->vocab; y++) {
		step->other[y] = step->public[y];
		step->record[y] = step->public[y] + (y == 0 ? 100 : -100);
	}
}

static void steady(struct step *step, const struct attack *attack) {
	respond(step, attack->t * eta_of(step->integers));
}

/* The best t for the tokens to come, from a table that `plan` makes: values[k][j] is delta at
 * epsilon = j eta / PER_ETA - MOST_TOKENS eta with k tokens to come. */
enum { WIDE = 2 * MOST_TOKENS * PER_ETA + 1 };
static double value_at(const double *values, double eta, uint32_t left, double epsilon) {
	const double at =
	    fmin(fmax(epsilon / eta * PER_ETA + MOST_TOKENS * PER_ETA, 0), WIDE - 1.001);
	const double *row = values + left * WIDE + (size_t)at;
	return row[0] + (row[1] - row[0]) * (at - floor(at));
}

static double gain(const double *values, double eta, uint32_t left, double epsilon, double t) {
	const double p = expm1(t - eta) / expm1(-eta);
	return p * value_at(values, eta, left - 1, epsilon - t) +
	       (1 - p) * value_at(values, eta, left - 1, epsilon - t + eta);
}

static double best_t(const double *values, double eta, uint32_t left, double epsilon) {
	double best = -1, t = 0;
	for (int i = 0; i <= PER_ETA; i++) {
		const double v = gain(values, eta, left, epsilon, eta * i / PER_ETA);
		if (v > best) {
			best = v;
			t = eta * i / PER_ETA;
		}
	}
	return t;
}

static void plan(double *values, double eta) {
	for (int j = 0; j < WIDE; j++)
		values[j] = fmax(0, -expm1(eta * (j - MOST_TOKENS * PER_ETA) / PER_ETA));
	for (uint32_t left = 1; left <= MOST_TOKENS; left++)
		for (int j = 0; j < WIDE; j++) {
			const double epsilon = eta * (j - MOST_TOKENS * PER_ETA) / PER_ETA;
			values[left * WIDE + (uint32_t)j] =
			    gain(values, eta, left, epsilon, best_t(values, eta, left, epsilon));
		}
}

static void adaptive(struct step *step, const struct attack *attack) {
	const double eta = eta_of(step->integers);
	respond(step, best_t(attack->values, eta, step->integers->tokens - step->drawn,
	                     attack->epsilon - step->loss));
}

/* Random rows: every row is drawn anew from the history, often beyond the clip, sometimes a tie,
 * sometimes not finite. */
static void erratic(struct step *step, const struct attack *attack) {
	(void)attack;
	uint64_t seed = step->history;
	for (size_t y = 0; y < step->vocab; y++) {
		step->public[y] = test_below(&seed, 4) ? test_between(&seed, -3, 3) : 0;
		step->other[y] = step->public[y] + test_between(&seed, -2, 2);
		step->record[y] =
		    step->public[y] + (test_below(&seed, 3)   ? test_between(&seed, -2, 2)
		                       : test_below(&seed, 2) ? 50
		                                              : -50);
	}
	if (test_below(&seed, 20) == 0) step->record[0] = NAN;
}

/* The same with an end token, and the record pushing towards it. */
static void ending(struct step *step, const struct attack *attack) {
	erratic(step, attack);
	step->ends = true;
	step->record[step->vocab - 1] = step->public[step->vocab - 1] + 50;
}

/* The same, with a public row that is now and then sure of a token the record objects to. */
static void sometimes_sure(struct step *step, const struct attack *attack) {
	uint64_t seed = step->history + 1;
	ending(step, attack);
	if (test_below(&seed, 3) > 0) return;
	const size_t y = test_below(&seed, step->vocab);
	step->public[y] = 30;
	step->record[y] = -30;
}

/* Randomised response whose differences have their median at 0: a token between the two has nearly
 * no mass. */
static void balanced(struct step *step, const struct attack *attack) {
	step->vocab = 2;
	steady(step, attack);
	step->vocab = 3;
	step->public[2] = step->other[2] = step->public[1];
	step->record[2] = step->record[1];
	step->public[1] = step->other[1] = step->record[1] = -40;
}

/* ---- enumeration ----------------------------------------------------------------------------- */

/* Which tokens a grammar lets be: some that follow from what was drawn. */
static void shape(const struct enumeration *e, struct step *step) {
	uint64_t seed = step->history + 2;
	const uint64_t every = (1u << e->vocab) - 1;
	const bool shaped = e->mode->shaped && step->free_drawn < e->mode->free_tokens;
	const uint64_t some = shaped ? 1 + test_below(&seed, every) : every;
	step->exist = 0;
	for (size_t y = 0; y < e->vocab; y++)
		step->exist += step->allowed[y] = (uint8_t)(some >> y & 1);
}

/* Begins a step of one world. Whether it is one of the public row alone. */
static bool alone(struct enumeration *e, const struct step *step) {
	const uint32_t *candidates;
	size_t count;
	dp_invisibleink_begin(e->mechanism, step->drawn);
	if (e->mode->shaped) dp_invisibleink_allow(e->mechanism, step->allowed);
	if (step->drawn == e->integers->tokens) {
		assert_int_equal(dp_invisibleink_alone(e->mechanism, step->public), DP_OK);
		return true;
	}
	assert_int_equal(dp_invisibleink_public(e->mechanism, step->public, &candidates, &count),
	                 DP_OK);
	assert_int_equal(count, step->exist);
	for (uint32_t i = 0, y = 0; i < count; i++, y++) {
		while (!step->allowed[y]) y++;
		assert_int_equal(candidates[i], y);
	}
	return step->free_drawn < e->mode->free_tokens && e->mode->sure > 0 &&
	       dp_invisibleink_sure(e->mechanism, e->mode->sure);
}

/* Adds a private row: its logits of the tokens that exist. */
static void add_allowed(struct enumeration *e, const struct step *step, const float *row) {
	float some[MOST_VOCAB];
	size_t count = 0;
	for (size_t y = 0; y < e->vocab; y++)
		if (step->allowed[y]) some[count++] = row[y];
	dp_invisibleink_private(e->mechanism, some);
}

/* ln of the probabilities of every token that exists, in one world. Returns whether they cost
 * nothing. */
static bool probabilities(struct enumeration *e, const struct step *step, const float *record,
                          long double log_p[MOST_VOCAB]) {
	const size_t count = step->exist;
	long double whole = 0, weight[MOST_VOCAB] = {1};
	if (count == 1) {
		for (size_t y = 0; y < e->vocab; y++) log_p[y] = 0;
		return true;
	}
	const bool costless = alone(e, step);
	for (uint32_t i = 1; i < e->integers->batch && !costless; i++)
		add_allowed(e, step, step->other);
	if (record && !costless) add_allowed(e, step, record);
	for (size_t i = 0; i < count; i++) {
		weight[i] = (long double)dp_invisibleink_public_weight(e->mechanism, i) *
		            (long double)dp_invisibleink_private_weight(e->mechanism, i);
		whole += weight[i];
	}
	for (size_t y = 0, i = 0; y < e->vocab; y++)
		if (step->allowed[y]) log_p[y] = logl(weight[i++] / whole);
	return costless;
}

static void leaf(struct enumeration *e, long double log_p, long double log_q) {
	const long double p = expl(log_p), q = expl(log_q);
	e->transcripts++;
	e->sum[0] += p;
	e->sum[1] += q;
	for (int i = 0; i < EPSILONS; i++) {
		const long double factor = expl((long double)e->epsilon[i]);
		if (p > factor * q) e->delta[0][i] += p - factor * q;
		if (q > factor * p) e->delta[1][i] += q - factor * p;
	}
}

static void visit(struct enumeration *e, uint32_t drawn, uint32_t free_drawn, uint64_t history,
                  long double log_p, long double log_q) {
	const uint32_t tokens = e->integers->tokens;
	if (drawn == tokens && !(e->mode->complete && free_drawn < e->mode->free_tokens)) {
		leaf(e, log_p, log_q);
		return;
	}
	struct step step = {.integers = e->integers,
	                    .vocab = e->vocab,
	                    .drawn = drawn,
	                    .free_drawn = free_drawn,
	                    .loss = (double)(log_p - log_q),
	                    .history = history};
	e->attack->choose(&step, e->attack);
	shape(e, &step);
	float opposite[MOST_VOCAB];
	for (size_t y = 0; y < e->vocab; y++) opposite[y] = 2 * step.public[y] - step.record[y];
	long double with[MOST_VOCAB], without[MOST_VOCAB];
	const bool costless = probabilities(e, &step, step.record, with);
	assert_int_equal(probabilities(e, &step, e->attack->exchanged ? opposite : NULL, without),
	                 costless);
	e->costless += costless;
	for (size_t y = 0; y < e->vocab; y++) {
		if (!step.allowed[y]) continue;
		const long double p = log_p + with[y], q = log_q + without[y];
		if (step.ends && y == e->vocab - 1 &&
		    (!e->mode->bank || drawn + !costless == tokens))
			leaf(e, p, q);
		else
			visit(e, drawn + !costless, free_drawn + costless,
			      history * MOST_VOCAB + y + 1, p, q);
	}
}

/* Fills delta. */
static void enumerate_mode(struct enumeration *e, const struct dp_integers *integers, size_t vocab,
                           const struct attack *attack, const struct mode *mode) {
	*e = (struct enumeration){
	    .integers = integers, .attack = attack, .vocab = vocab, .mode = mode};
	const struct dp_invisibleink_params params = {.batch = integers->batch,
	                                              .tokens = integers->tokens,
	                                              .vocab = vocab,
	                                              .temperature_num = integers->temperature_num,
	                                              .temperature_den = integers->temperature_den,
	                                              .clip_fixed = integers->clip_fixed,
	                                              .fraction_bits = integers->fraction_bits,
	                                              .gain = integers->gain,
	                                              .center = mode->center,
	                                              .random = dp_random_system()};
	assert_int_equal(dp_invisibleink_new(&params, &e->mechanism), DP_OK);
	for (int i = 0; i < EPSILONS; i++)
		e->epsilon[i] = eta_of(integers) * integers->tokens * (i + 0.5) / EPSILONS;
	visit(e, 0, 0, 1, 0, 0);
	dp_invisibleink_free(&e->mechanism);
	for (int way = 0; way < 2; way++) assert_true(fabsl(e->sum[way] - 1) < 1e-12L);
}

static void enumerate(struct enumeration *e, const struct dp_integers *integers, size_t vocab,
                      const struct attack *attack) {
	static const struct mode plain = {.name = "plain"};
	enumerate_mode(e, integers, vocab, attack, &plain);
}

static double promised(const struct dp_integers *integers, double epsilon) {
	double delta;
	assert_int_equal(dp_exact_delta(eta_of(integers), integers->tokens, epsilon, GRID, &delta),
	                 DP_OK);
	return delta;
}

static void assert_kept(const struct enumeration *e) {
	for (int i = 0; i < EPSILONS; i++) {
		const double limit = promised(e->integers, e->epsilon[i]),
		             zcdp = dp_delta_of_rho(dp_guarantee_rho(e->integers), e->epsilon[i]);
		assert_true(limit <= zcdp);
		for (int way = 0; way < 2; way++) /* 1e-16: rounding of a sum of up to 65,536
		                                     probabilities in long double */
			if (e->delta[way][i] > limit + 1e-16)
				fail_msg("%s, %s: delta(%g) = %.12Lg, promised %.12g",
				         e->attack->name, e->mode->name, e->epsilon[i],
				         e->delta[way][i], limit);
	}
}

static const struct dp_integers INTEGERS[] = {
    {.batch = 1,
     .tokens = 8,
     .temperature_num = 6,
     .temperature_den = 5,
     .clip_fixed = 1229,
     .fraction_bits = 12}, /* eta = 0.5 */
    {.batch = 2,
     .tokens = 8,
     .temperature_num = 1,
     .temperature_den = 1,
     .clip_fixed = 410,
     .fraction_bits = 12},
    {.batch = 3,
     .tokens = 5,
     .temperature_num = 4,
     .temperature_den = 5,
     .clip_fixed = 9830,
     .fraction_bits = 12},
    {.batch = 1,
     .tokens = 3,
     .temperature_num = 1,
     .temperature_den = 1,
     .clip_fixed = 37,
     .fraction_bits = 8},
    {.batch = 255,
     .tokens = 3,
     .temperature_num = 1,
     .temperature_den = 1,
     .clip_fixed = 8162,
     .fraction_bits = 8}, /* as calibrated */
    {.batch = 4096,
     .tokens = 2,
     .temperature_num = 6,
     .temperature_den = 5,
     .clip_fixed = 512,
     .fraction_bits = 4},
    {.batch = 2,
     .tokens = 6,
     .temperature_num = 1,
     .temperature_den = 1,
     .clip_fixed = 410,
     .fraction_bits = 12,
     .gain = 200},
    {.batch = 3,
     .tokens = 4,
     .temperature_num = 4,
     .temperature_den = 5,
     .clip_fixed = 3001,
     .fraction_bits = 12,
     .gain = 150},
};
enum { CASES = sizeof INTEGERS / sizeof *INTEGERS };

static void no_adversary_wins_more(void **state) {
	(void)state;
	static const struct attack attacks[] = {
	    {.name = "steady", .choose = steady, .t = 0.5},
	    {.name = "low", .choose = steady, .t = 0.1},
	    {.name = "high", .choose = steady, .t = 0.9},
	    {.name = "erratic", .choose = erratic},
	    {.name = "ending", .choose = ending},
	};
	struct enumeration e;
	for (size_t i = 0; i < CASES; i++)
		for (size_t vocab = 2; vocab <= MOST_VOCAB; vocab++)
			for (size_t a = 0; a < sizeof attacks / sizeof *attacks; a++) {
				if (INTEGERS[i].batch > 3 && (vocab != 3 || a % 3 || briefly()))
					continue; /* each makes a large table */
				if (vocab == 4 && INTEGERS[i].tokens == 8 && (a == 1 || a == 2))
					continue; /* 65,536 transcripts each */
				enumerate(&e, &INTEGERS[i], vocab, &attacks[a]);
				assert_kept(&e);
				if (a < 4)
					assert_true(e.transcripts ==
					            (size_t)pow((double)vocab, INTEGERS[i].tokens));
			}
}

/* The best steady adversary, by the closed form of T equal randomised responses. */
static double non_adaptive(double eta, uint32_t tokens, double epsilon, double *best) {
	double most = 0;
	for (int i = 1; i < 400; i++) {
		const double t = eta * i / 400, p = expm1(t - eta) / expm1(-eta);
		double sum = 0;
		for (uint32_t low = 0; low <= tokens; low++) {
			const double loss = (tokens - low) * t + low * (t - eta);
			const double ways =
			    lgamma(tokens + 1.0) - lgamma(low + 1.0) - lgamma(tokens - low + 1.0);
			if (loss > epsilon)
				sum -= exp(ways + (tokens - low) * log(p) + low * log1p(-p)) *
				       expm1(epsilon - loss);
		}
		if (sum > most) {
			most = sum;
			*best = t / eta;
		}
	}
	return most;
}

/* Each epsilon has adversaries made for it. The best steady one wins what the closed form says. The
 * adaptive one wins more, within 1 % of the promise. So the promise is not too large. */
static void the_worst_wins_nearly_all(void **state) {
	(void)state;
	static double values[(MOST_TOKENS + 1) * WIDE];
	struct enumeration e;
	for (size_t i = 0; i < 2; i++) {
		const double eta = eta_of(&INTEGERS[i]);
		int more = 0;
		plan(values, eta);
		for (int at = 0; at < EPSILONS * 3 / 4; at += briefly() ? 4 : 1) {
			struct attack attack = {
			    .name = "best steady", .choose = steady, .values = values};
			enumerate(&e, &INTEGERS[i], 2, &attack);
			attack.epsilon = e.epsilon[at];
			const double lower =
			    non_adaptive(eta, INTEGERS[i].tokens, attack.epsilon, &attack.t);
			enumerate(&e, &INTEGERS[i], 2, &attack);
			assert_kept(&e);
			const double steady_wins = (double)fmaxl(e.delta[0][at], e.delta[1][at]);
			attack.name = "adaptive";
			attack.choose = adaptive;
			enumerate(&e, &INTEGERS[i], 2, &attack);
			assert_kept(&e);
			const double wins = (double)fmaxl(e.delta[0][at], e.delta[1][at]),
			             limit = promised(&INTEGERS[i], attack.epsilon);
			if (fmax(wins, steady_wins) < 0.95 * lower)
				fail_msg("epsilon %g: %g and %g of %g", attack.epsilon, steady_wins,
				         wins, lower);
			if (wins < 0.99 * limit)
				fail_msg("epsilon %g: %g of the promised %g", attack.epsilon, wins,
				         limit);
			more += wins > 1.005 * lower;
		}
		assert_true(more >= EPSILONS / (briefly() ? 16 : 4)); /* adapting pays */
	}
}

/* The test can fail: an exchange instead of a removal, which is not covered, breaks the promise. */
static void an_exchange_is_seen(void **state) {
	(void)state;
	static const struct attack attack = {
	    .name = "exchange", .choose = steady, .t = 0.5, .exchanged = true};
	struct enumeration e;
	for (size_t i = 0; i < 2; i++) {
		enumerate(&e, &INTEGERS[i], 2, &attack);
		for (int at = 0; at < EPSILONS / 2; at++)
			assert_true((double)e.delta[0][at] >
			            1.2 * promised(&INTEGERS[i], e.epsilon[at]));
	}
}

/* No way to spend better gives an adversary more than the promise of T tokens. All modes but the
 * first draw more than T tokens. */
static void nor_however_it_is_spent(void **state) {
	(void)state;
	static const struct mode modes[] = {
	    {.name = "center", .center = true},
	    {.name = "bank", .bank = true},
	    {.name = "public when", .sure = 900000, .free_tokens = 3},
	    {.name = "complete", .complete = true, .free_tokens = 3},
	    {.name = "shaped", .shaped = true, .free_tokens = 3},
	    {.name = "all",
	     .shaped = true,
	     .center = true,
	     .bank = true,
	     .complete = true,
	     .sure = 900000,
	     .free_tokens = 3},
	};
	static const struct attack attacks[] = {
	    {.name = "steady", .choose = steady, .t = 0.5},
	    {.name = "erratic", .choose = erratic},
	    {.name = "ending", .choose = ending},
	    {.name = "sometimes sure", .choose = sometimes_sure},
	};
	struct dp_integers few[2] = {INTEGERS[0], INTEGERS[2]};
	struct enumeration e;
	size_t shaped_costless = 0;
	few[0].tokens = 5;
	few[1].tokens = 4;
	for (size_t i = 0; i < 2; i++)
		for (size_t vocab = 2; vocab <= (briefly() ? 3 : MOST_VOCAB); vocab++)
			for (size_t mode = 0; mode < sizeof modes / sizeof *modes; mode++)
				for (size_t a = 0; a < sizeof attacks / sizeof *attacks; a++) {
					enumerate_mode(&e, &few[i], vocab, &attacks[a],
					               &modes[mode]);
					assert_kept(&e);
					shaped_costless += modes[mode].shaped ? e.costless : 0;
					if (modes[mode].complete || (modes[mode].sure && a == 3))
						assert_true(e.costless > 0);
					else if (!modes[mode].sure && !modes[mode].shaped)
						assert_int_equal(e.costless, 0);
				}
	assert_true(shaped_costless > 0); // a grammar leaves one token now and then
	/* Each mode leaves the worst adversary what it had before, so none of them is loose. */
	struct attack worst = {.name = "worst", .choose = steady};
	const double eta = eta_of(&few[0]);
	for (int at = 2; at < EPSILONS / 2; at++) {
		enumerate(&e, &few[0], 2, &worst);
		const double lower = non_adaptive(eta, few[0].tokens, e.epsilon[at], &worst.t);
		for (size_t mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
			// The balanced one needs all its tokens, and a grammar leaves out some.
			if (modes[mode].shaped && modes[mode].center) continue;
			worst.choose = modes[mode].center ? balanced : steady;
			enumerate_mode(&e, &few[0], modes[mode].center ? 3 : 2, &worst,
			               &modes[mode]);
			const double wins = (double)fmaxl(e.delta[0][at], e.delta[1][at]);
			if (wins < 0.95 * lower)
				fail_msg("%s, epsilon %g: %g of %g", modes[mode].name,
				         e.epsilon[at], wins, lower);
		}
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(no_adversary_wins_more),
	    cmocka_unit_test(nor_however_it_is_spent),
	    cmocka_unit_test(the_worst_wins_nearly_all),
	    cmocka_unit_test(an_exchange_is_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
