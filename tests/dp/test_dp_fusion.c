// SPDX-License-Identifier: Apache-2.0
// Tests dp/fusion.c, DP-Fusion: a worked example, the law of its draws, null rows, free tokens, the
// cap, the order of calls, and failure.
// `test_dp_fusion --bench` measures a step at the sizes of two vocabularies.
// It fails if the example is off by one bit, if a million draws do not follow the law or follow one
// of four wrong laws, if a null row differs from the public one, or if a token beyond the cap is
// drawn.
#include "tests/dp/test_dp_support.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "dp/fusion.h"
#include "dp/rowlaw.h"
#include "dp/share.h"

enum { V = 8, PLACES = 3, DRAWS = 1000000 };

#define SUM (UINT64_C(1) << 62)

static const float public_row[V] = {4, 3.5f, 3.25f, 1, .5f, -2, 2.875f, -7.5f};
static const float private_rows[PLACES][V] = {{4, 4.5f, 3, 1, .5f, -2, 2.875f, 9},
                                              {1, 3.5f, 1, 5, .5f, -2, -3, -7.5f},
                                              {-5, 1, 6, 1, .25f, 4, 2, -4}};

/* Rows that lie nearer to the public one, so that their shares are large. */
static const float near_rows[PLACES][V] = {{4, 4.5f, 3, 1, .5f, -2, 2.875f, -7},
                                           {3, 3.5f, 2.25f, 2, .5f, -1, 4, -7.5f},
                                           {3.5f, 2.5f, 4.5f, 1, .25f, -2, 2, -6.5f}};

/* A source that gives one word after the other, then the last one again. It fails when told to. */
struct word_source {
	uint64_t word[4];
	size_t count, next;
	bool broken;
};

static enum dp_status fill_word(void *user, void *bytes, size_t size) {
	struct word_source *source = user;
	assert_int_equal(size, 8);
	if (source->broken) return DP_NO_ENTROPY;
	memcpy(bytes, &source->word[source->next], 8);
	if (source->next + 1 < source->count) source->next++;
	return DP_OK;
}

static double divergences[PLACES] = {0.1, 0.05, 0.2};

static struct dp_fusion_params fusion_example(struct word_source *source) {
	return (struct dp_fusion_params){.rule = DP_FUSION_BOUNDED,
	                                 .order = 2,
	                                 .least_places = 1,
	                                 .most_places = PLACES,
	                                 .divergences = divergences,
	                                 .tokens = 100,
	                                 .vocab = V,
	                                 .temperature_num = 1,
	                                 .temperature_den = 1,
	                                 .random = {fill_word, source}};
}

static struct dp_fusion *make_fusion(const struct dp_fusion_params *params) {
	struct dp_fusion *m;
	assert_int_equal(dp_fusion_new(params, &m), DP_OK);
	return m;
}

/* Opens a step whose token is paid for, and gives the private row in candidate order. */
static struct dp_fusion_step mixed_step(struct dp_fusion *m, const float (*rows)[V]) {
	struct dp_wanted wanted;
	float logits[V];
	assert_int_equal(dp_fusion_open(m, public_row, false, &wanted), DP_OK);
	assert_true(wanted.count >= 1 && wanted.place < PLACES);
	for (size_t i = 0; i < wanted.count; i++) logits[i] = rows[wanted.place][wanted.tokens[i]];
	dp_fusion_row(m, wanted.place, logits);
	return dp_fusion_inspect(m);
}

static void refuses_a_token(struct dp_fusion *m) {
	uint32_t token;
	enum dp_fate fate;
	assert_misuse((void)dp_fusion_draw(m, &token, &fate));
}

static void refuses_a_row(struct dp_fusion *m) {
	assert_misuse(dp_fusion_row(m, 0, private_rows[0]));
}

static uint64_t weight_of(const struct dp_fusion_step *step, size_t i) {
	return (DP_SHARE_ONE - step->share) * step->a[i] + (uint64_t)step->share * step->b[i];
}

static void worked_example(void **state) {
	(void)state;
	static const uint64_t a[V] = {28305749297164, 17168304794875, 13370689218246, 1409260275453,
	                              854759564576,   70162937693,    9189531349759,  286739898},
	                      b[V] = {463449632733, 764099267386, 170493591921, 23073798546,
	                              13994966281,  1148776772,   150460066754, 68782024077271};
	static const struct {
		double divergence;
		uint32_t share;
		uint64_t last_weight;
	} want[] = {{0.01, 13, 912954371341177},
	            {0.1, 43, 2976406491462367},
	            {5, 1643, 113027186231259167}};
	static const struct {
		uint64_t u;
		uint32_t token;
	} draws[] = {{SUM / 2, 1}, {SUM / 4 * 3, 2}, {SUM - 1, 7}, {UINT64_MAX, 7}, {0, 0}};
	for (size_t c = 0; c < 3; c++) {
		struct word_source source = {.count = 2};
		struct dp_fusion_params params = fusion_example(&source);
		double divergence = want[c].divergence;
		params.divergences = &divergence;
		params.most_places = 1;
		struct dp_fusion *m = make_fusion(&params);
		dp_fusion_begin(m, 1, 0);
		for (size_t d = 0; d < sizeof draws / sizeof *draws; d++) {
			enum dp_fate fate = DP_FREE;
			uint32_t token;
			source.word[1] = draws[d].u;
			source.next = 0;
			const struct dp_fusion_step step = mixed_step(m, private_rows);
			assert_int_equal(step.count, V);
			assert_memory_equal(step.a, a, sizeof a);
			assert_memory_equal(step.b, b, sizeof b);
			assert_int_equal(step.share, want[c].share);
			assert_true(weight_of(&step, 7) == want[c].last_weight);
			assert_int_equal(dp_fusion_draw(m, &token, &fate), DP_OK);
			assert_int_equal(token, draws[d].token);
			assert_int_equal(fate, DP_PAID);
		}
		dp_fusion_free(&m);
		assert_null(m);
	}
}

/* The token drawn at the first and the last u of every token's share. So the weights shown are
 * those that are drawn from, and they sum to 2^62. */
static void the_weights_decide(void **state) {
	(void)state;
	struct word_source source = {.count = 2};
	struct dp_fusion_params params = fusion_example(&source);
	params.order = 5;
	struct dp_fusion *m = make_fusion(&params);
	dp_fusion_begin(m, PLACES, 0);
	for (uint64_t place = 0; place < PLACES; place++) {
		uint64_t before = 0;
		for (size_t i = 0; i < 2 * V; i++) {
			uint32_t token;
			enum dp_fate fate;
			source = (struct word_source){.word = {place}, .count = 2};
			const struct dp_fusion_step step = mixed_step(m, private_rows);
			const uint64_t share = weight_of(&step, i / 2);
			/* the two bits above the 62 have no effect */
			source.word[1] = (i % 2 ? before + share - 1 : before) | (uint64_t)3 << 62;
			before += i % 2 ? share : 0;
			assert_int_equal(dp_fusion_draw(m, &token, &fate), DP_OK);
			assert_int_equal(token, step.candidates[i / 2]);
		}
		assert_true(before == SUM);
	}
	dp_fusion_free(&m);
}

/* The probability of each token: the mean over the places, each with its share times `scale`. */
static void law_of_places(const struct dp_fusion_params *params, uint32_t places, double scale,
                          const double *odds, double *p) {
	struct dp_rowlaw rowlaw;
	uint64_t a[V], b[V];
	assert_int_equal(dp_rowlaw_init(&rowlaw, params->temperature_num, params->temperature_den),
	                 DP_OK);
	assert_true(dp_rowlaw_make(&rowlaw, public_row, V, a));
	memset(p, 0, V * sizeof *p);
	for (uint32_t j = 0; j < places; j++) {
		assert_true(dp_rowlaw_make(&rowlaw, near_rows[j], V, b));
		const uint32_t share = dp_share_bounded(
		    a, b, V, params->order, dp_share_cap(params->order, params->divergences[j]));
		const double lambda = fmin(1, scale * share / DP_SHARE_ONE);
		for (size_t y = 0; y < V; y++)
			p[y] += odds[j] * ((1 - lambda) * (double)a[y] + lambda * (double)b[y]) /
			        0x1p46;
	}
	dp_rowlaw_release(&rowlaw);
}

static void a_million_mixtures(void **state) {
	(void)state;
	static const double alone[PLACES] = {1, 0, 0}, even[PLACES] = {1 / 3., 1 / 3., 1 / 3.},
	                    uneven[PLACES] = {0.5, 0.25, 0.25};
	uint64_t seed = nightly_seed(11);
	struct dp_fusion_params params = fusion_example(NULL);
	params.random = (struct dp_random){test_fill, &seed};
	params.tokens = UINT32_MAX;
	struct dp_fusion *m = make_fusion(&params);
	for (uint32_t places = 1; places <= PLACES; places += 2) {
		const size_t draws = repetitions(DRAWS, 10 * DRAWS);
		size_t seen[V] = {0};
		double p[V];
		dp_fusion_begin(m, places, 0);
		for (size_t i = 0; i < draws; i++) {
			uint32_t token;
			enum dp_fate fate;
			(void)mixed_step(m, near_rows);
			assert_int_equal(dp_fusion_draw(m, &token, &fate), DP_OK);
			seen[token]++;
		}
		const double *odds = places == 1 ? alone : even;
		law_of_places(&params, places, 1, odds, p);
		assert_true(fit(seen, p, V, draws) > FALSE_ALARM);
		/* what must be seen: shares a tenth larger; no share; no limit of the share; a
		 * place that is taken twice as often */
		law_of_places(&params, places, 1.1, odds, p);
		assert_true(fit(seen, p, V, draws) < FALSE_ALARM);
		law_of_places(&params, places, 0, odds, p);
		assert_true(fit(seen, p, V, draws) < FALSE_ALARM);
		law_of_places(&params, places, 65536, odds, p);
		assert_true(fit(seen, p, V, draws) < FALSE_ALARM);
		if (places == 1) continue;
		law_of_places(&params, places, 1, uneven, p);
		assert_true(fit(seen, p, V, draws) < FALSE_ALARM);
	}
	dp_fusion_free(&m);
}

/* Every place is equally likely: of the numbers that fit into as many bits, those below m are
 * taken, and others are drawn anew. */
static void places_are_uniform(void **state) {
	(void)state;
	double many[64];
	for (size_t i = 0; i < 64; i++) many[i] = 1;
	for (uint32_t places = 1; places <= 64; places++) {
		struct word_source source = {.count = 2};
		struct dp_fusion_params params = fusion_example(&source);
		params.most_places = 64;
		params.divergences = many;
		struct dp_fusion *m = make_fusion(&params);
		uint32_t bits = 1;
		while (bits < places) bits *= 2;
		for (uint64_t word = 0; word < bits; word++) {
			struct dp_wanted wanted;
			/* the higher bits have no effect */
			source.word[0] = word | ~(uint64_t)(bits - 1);
			source.word[1] = 0;
			source.next = 0;
			dp_fusion_begin(m, places, 0);
			assert_int_equal(dp_fusion_open(m, public_row, false, &wanted), DP_OK);
			assert_int_equal(wanted.place, word < places ? word : 0);
		}
		dp_fusion_free(&m);
	}
}

/* A place whose row never comes, whose row is not finite, or whose row is the public one: the law
 * is the public one, to the last integer. */
static void null_is_the_public_row(void **state) {
	(void)state;
	struct word_source source = {.word = {1}, .count = 1};
	struct dp_fusion_params params = fusion_example(&source);
	struct dp_fusion *m = make_fusion(&params);
	static const float odd[] = {NAN, INFINITY, -INFINITY};
	for (int kind = 0; kind < 2 + 3 * V; kind++) {
		struct dp_wanted wanted;
		float row[V];
		uint32_t token;
		enum dp_fate fate;
		dp_fusion_begin(m, PLACES, 0);
		mixed_step(m, private_rows); /* another row before, whose law must not stay */
		assert_int_equal(dp_fusion_draw(m, &token, &fate), DP_OK);
		assert_int_equal(dp_fusion_open(m, public_row, false, &wanted), DP_OK);
		memcpy(row, public_row, sizeof row);
		if (kind >= 2) {
			memcpy(row, private_rows[2], sizeof row);
			row[(kind - 2) / 3] = odd[kind % 3];
		}
		if (kind > 0) dp_fusion_row(m, wanted.place, row);
		const struct dp_fusion_step step = dp_fusion_inspect(m);
		for (size_t i = 0; i < V; i++) assert_true(weight_of(&step, i) == step.a[i] << 16);
		assert_int_equal(dp_fusion_draw(m, &token, &fate), DP_OK);
		assert_int_equal(fate, DP_PAID);
		assert_int_equal(dp_fusion_spent(m), 2);
	}
	dp_fusion_free(&m);
}

/* Each place has the divergence that was given for it. */
static void a_budget_for_each_place(void **state) {
	(void)state;
	struct word_source source = {.count = 1};
	double each[PLACES] = {0.01, 5, 0.1};
	static const uint32_t want[PLACES] = {13, 1643, 43};
	struct dp_fusion_params params = fusion_example(&source);
	params.divergences = each;
	struct dp_fusion *m = make_fusion(&params);
	memset(each, 0, sizeof each); /* the mechanism has its own copy */
	for (uint32_t j = 0; j < PLACES; j++) {
		struct dp_wanted wanted;
		source.word[0] = j;
		dp_fusion_begin(m, PLACES, 0);
		assert_int_equal(dp_fusion_open(m, public_row, false, &wanted), DP_OK);
		dp_fusion_row(m, j, private_rows[0]);
		assert_int_equal(dp_fusion_inspect(m).share, want[j]);
	}
	dp_fusion_free(&m);
}

/* CAPPED: the share is the largest with lambda^2 X <= m^2 (1 - Lambda) (e^c - 1), and at most
 * Lambda. */
static void capped_shares(void **state) {
	(void)state;
	struct word_source source = {.count = 1};
	static const uint32_t most[] = {1, 5000, 32768, 65535};
	for (size_t i = 0; i < 4; i++)
		for (uint32_t places = 1; places <= PLACES; places++) {
			double each[PLACES] = {0.01, 0.01, 0.01};
			struct dp_fusion_params params = fusion_example(&source);
			params.rule = DP_FUSION_CAPPED;
			params.divergences = each;
			params.most_share = most[i];
			struct dp_fusion *m = make_fusion(&params);
			dp_fusion_begin(m, places, 0);
			const struct dp_fusion_step step = mixed_step(m, &private_rows[1]);
			long double x = 0;
			for (size_t y = 0; y < V; y++) {
				const long double d =
				    (long double)step.b[y] - (long double)step.a[y];
				x += d * d / (long double)step.a[y] / 0x1p46L;
			}
			const long double rest = 1 - (long double)most[i] / 65536,
			                  root = sqrtl(rest * expm1l(0.01L) / x) * places * 65536;
			const uint32_t want = root < most[i] ? (uint32_t)root : most[i];
			assert_int_equal(step.share, want);
			dp_fusion_free(&m);
		}
}

static void candidates_are_public(void **state) {
	(void)state;
	struct word_source source = {.count = 1};
	struct dp_fusion_params params = fusion_example(&source);
	uint8_t allowed[V] = {0, 1, 1, 1, 1, 1, 1, 1};
	params.allowed = allowed;
	params.top_k = 3;
	struct dp_fusion *m = make_fusion(&params);
	memset(allowed, 1, sizeof allowed); /* the mechanism has its own copy */
	float row[V];
	memcpy(row, public_row, sizeof row);
	row[3] = row[6] = 2.875f; /* a tie in the third place: both are in */
	struct dp_wanted wanted;
	dp_fusion_begin(m, 1, 0);
	assert_int_equal(dp_fusion_open(m, row, false, &wanted), DP_OK);
	static const uint32_t want[] = {1, 2, 3, 6};
	assert_int_equal(wanted.count, 4);
	assert_memory_equal(wanted.tokens, want, sizeof want);
	const float logits[4] = {-40, -40, -40, 40};
	dp_fusion_row(m, 0, logits);
	const struct dp_fusion_step step = dp_fusion_inspect(m);
	assert_int_equal(step.count, 4);
	assert_memory_equal(step.candidates, want, sizeof want);
	/* What the public law gives is kept up, whatever the private row says. */
	for (size_t i = 0; i < 4; i++) assert_true(weight_of(&step, i) >= step.a[i]);
	dp_fusion_free(&m);
	memset(allowed, 0, sizeof allowed);
	assert_int_equal(dp_fusion_new(&params, &m), DP_BAD_PARAMETER);
}

/* Free tokens: the sure ones, to the last millionth, and all once T is paid. */
static void free_tokens(void **state) {
	(void)state;
	struct word_source source = {.word = {0, SUM / 2}, .count = 2};
	struct dp_fusion_params params = fusion_example(&source);
	struct dp_wanted wanted;
	uint32_t token;
	enum dp_fate fate;
	params.tokens = 2;
	/* a[0] / 2^46 = 0.402248..., so 402248 millionths are sure and 402249 are not */
	for (uint32_t sure = 402248; sure <= 402249; sure++)
		for (int may_be_free = 0; may_be_free < 2; may_be_free++) {
			params.sure = sure;
			struct dp_fusion *m = make_fusion(&params);
			dp_fusion_begin(m, 1, 0);
			assert_int_equal(dp_fusion_open(m, public_row, may_be_free != 0, &wanted),
			                 DP_OK);
			const bool is_free = may_be_free && sure == 402248;
			assert_int_equal(wanted.count, is_free ? 0 : V);
			assert_int_equal(dp_fusion_spent(m), !is_free);
			if (is_free) refuses_a_row(m);
			const struct dp_fusion_step step = dp_fusion_inspect(m);
			assert_int_equal(step.share, 0);
			assert_int_equal(dp_fusion_draw(m, &token, &fate), DP_OK);
			assert_int_equal(fate, is_free ? DP_FREE : DP_PAID);
			assert_int_equal(dp_fusion_spent(m), !is_free);
			dp_fusion_free(&m);
		}
	/* the public law alone, from both ends of each token's part */
	params.sure = 0;
	struct dp_fusion *m = make_fusion(&params);
	uint64_t before = 0;
	for (size_t i = 0; i < 2 * V; i++) {
		dp_fusion_begin(m, 1, 2);
		assert_int_equal(dp_fusion_open(m, public_row, true, &wanted), DP_OK);
		assert_int_equal(wanted.count, 0);
		const uint64_t part = dp_fusion_inspect(m).a[i / 2] << 16;
		source =
		    (struct word_source){.word = {i % 2 ? before + part - 1 : before}, .count = 1};
		before += i % 2 ? part : 0;
		assert_int_equal(dp_fusion_draw(m, &token, &fate), DP_OK);
		assert_int_equal(token, i / 2);
		assert_int_equal(fate, DP_FREE);
		assert_int_equal(dp_fusion_spent(m), 2);
	}
	dp_fusion_free(&m);
}

static void the_cap(void **state) {
	(void)state;
	struct word_source source = {.count = 1};
	struct dp_fusion_params params = fusion_example(&source);
	params.tokens = 4;
	struct dp_fusion *m = make_fusion(&params);
	const float not_finite[V] = {NAN};
	struct dp_wanted wanted;
	uint32_t token;
	enum dp_fate fate;
	for (uint32_t spent = 0; spent < 7; spent++) {
		dp_fusion_begin(m, 1, spent);
		uint32_t drawn = 0;
		for (; dp_fusion_spent(m) < 4; drawn++) {
			(void)mixed_step(m, private_rows);
			assert_int_equal(dp_fusion_spent(m),
			                 spent + drawn + 1); /* before the draw */
			assert_int_equal(dp_fusion_draw(m, &token, &fate), DP_OK);
		}
		assert_int_equal(drawn, spent < 4 ? 4 - spent : 0);
		/* said before the row is looked at */
		assert_int_equal(dp_fusion_open(m, not_finite, false, &wanted), DP_SPENT);
		assert_int_equal(wanted.count, 0);
		refuses_a_token(m);
	}
	dp_fusion_free(&m);
}

static void the_order(void **state) {
	(void)state;
	struct word_source source = {.word = {1}, .count = 1};
	struct dp_fusion_params params = fusion_example(&source);
	params.least_places = 2;
	struct dp_fusion *m = make_fusion(&params);
	struct dp_wanted wanted;
	uint32_t token;
	enum dp_fate fate;
	assert_misuse((void)dp_fusion_open(m, public_row, false, &wanted)); /* no begin */
	assert_misuse(dp_fusion_begin(m, 1, 0));
	assert_misuse(dp_fusion_begin(m, PLACES + 1, 0));
	dp_fusion_begin(m, PLACES, 0);
	assert_misuse(dp_fusion_row(m, 1, private_rows[1]));
	assert_misuse((void)dp_fusion_draw(m, &token, &fate));
	assert_misuse((void)dp_fusion_inspect(m));
	assert_int_equal(dp_fusion_open(m, public_row, false, &wanted), DP_OK);
	assert_misuse((void)dp_fusion_open(m, public_row, false, &wanted));
	assert_misuse(dp_fusion_row(m, 0, private_rows[1])); /* not the wanted one */
	dp_fusion_row(m, 1, private_rows[1]);
	assert_misuse(dp_fusion_row(m, 1, private_rows[1])); /* twice */
	assert_int_equal(dp_fusion_draw(m, &token, &fate), DP_OK);
	assert_misuse((void)dp_fusion_draw(m, &token, &fate)); /* the same step twice */
	/* A step that is dropped leaves nothing behind, and its token stays paid if told so. */
	(void)mixed_step(m, private_rows);
	dp_fusion_begin(m, PLACES, 2);
	assert_misuse((void)dp_fusion_draw(m, &token, &fate));
	assert_int_equal(dp_fusion_open(m, public_row, false, &wanted), DP_OK);
	const struct dp_fusion_step step = dp_fusion_inspect(m);
	for (size_t i = 0; i < V; i++) assert_true(step.b[i] == 0);
	assert_int_equal(step.share, 0);
	assert_int_equal(dp_fusion_spent(m), 3);
	dp_fusion_free(&m);
	dp_fusion_free(&m);
}

static void public_row_not_finite(void **state) {
	(void)state;
	struct word_source source = {.count = 1};
	struct dp_fusion_params params = fusion_example(&source);
	params.top_k = 2; /* not even among the candidates */
	struct dp_fusion *m = make_fusion(&params);
	struct dp_wanted wanted = {.count = 9};
	uint32_t token;
	enum dp_fate fate;
	const float row[V] = {1, 2, 3, 4, 5, 6, 7, -INFINITY};
	dp_fusion_begin(m, 1, 0);
	assert_int_equal(dp_fusion_open(m, row, false, &wanted), DP_PUBLIC_NOT_FINITE);
	assert_int_equal(wanted.count, 0);
	refuses_a_token(m);
	assert_int_equal(dp_fusion_spent(m), 0);
	(void)mixed_step(m, private_rows);
	assert_int_equal(dp_fusion_draw(m, &token, &fate), DP_OK);
	dp_fusion_free(&m);
}

/* No bits for the place, bits that never fit, no bits for the draw: the token is paid, none comes,
 * and the mechanism is silent for good. */
static void no_entropy(void **state) {
	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		struct word_source source = {
		    .word = {kind == 1 ? UINT64_MAX : 0}, .count = 1, .broken = kind == 0};
		struct dp_fusion_params params = fusion_example(&source);
		struct dp_fusion *m = make_fusion(&params);
		struct dp_wanted wanted;
		uint32_t token = 77;
		enum dp_fate fate = DP_FREE;
		dp_fusion_begin(m, PLACES, 0);
		if (kind < 2) {
			assert_int_equal(dp_fusion_open(m, public_row, false, &wanted),
			                 DP_NO_ENTROPY);
			assert_int_equal(wanted.count, 0);
			assert_int_equal(wanted.place, DP_EVERY_PLACE);
		} else {
			(void)mixed_step(m, private_rows);
			source.broken = true;
			assert_int_equal(dp_fusion_draw(m, &token, &fate), DP_NO_ENTROPY);
		}
		assert_int_equal(dp_fusion_spent(m), 1);
		assert_int_equal(token, 77);
		assert_int_equal(fate, DP_FREE);
		source = (struct word_source){.count = 1};
		for (int i = 0; i < 2; i++) {
			assert_int_equal(dp_fusion_open(m, public_row, i != 0, &wanted),
			                 DP_NO_ENTROPY);
			refuses_a_token(m);
			dp_fusion_begin(m, 1, 0);
		}
		dp_fusion_free(&m);
	}
}

static void bad_parameters(void **state) {
	(void)state;
	struct word_source source = {.count = 1};
	struct dp_fusion *m;
	struct dp_mechanism table;
	double each[PLACES], many[4097];
	for (size_t i = 0; i < 4097; i++) many[i] = 0.1;
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		struct dp_fusion_params params = fusion_example(&source);                          \
		for (size_t i_ = 0; i_ < PLACES; i_++) each[i_] = 0.1;                             \
		params.divergences = each;                                                         \
		params.most_share = 1000;                                                          \
		change;                                                                            \
		assert_int_equal(dp_fusion_new(&params, &m), DP_BAD_PARAMETER);                    \
		assert_null(m);                                                                    \
		assert_int_equal(dp_fusion_mechanism(&params, &table), DP_BAD_PARAMETER);          \
		assert_null(table.self);                                                           \
	} while (0)
	REFUSED(params.rule = (enum dp_fusion_rule)4);
	REFUSED(params.order = 1);
	REFUSED(params.order = 17);
	REFUSED(params.least_places = 0);
	REFUSED(params.least_places = 4);
	REFUSED(params.most_places = DP_FUSION_MOST_PLACES + 1);
	REFUSED(each[2] = 0);
	REFUSED(each[1] = -1);
	REFUSED(each[0] = NAN);
	REFUSED(each[0] = 701);
	REFUSED(each[0] = 100; params.order = 16);
	REFUSED(params.rule = DP_FUSION_CAPPED; params.order = 3);
	REFUSED(params.rule = DP_FUSION_CAPPED; params.most_share = 0);
	REFUSED(params.rule = DP_FUSION_CAPPED; params.most_share = 65536);
	REFUSED(params.rule = DP_FUSION_CAPPED; each[1] = 0.2);
	REFUSED(params.rule = DP_FUSION_CAPPED; each[1] = 0.05);
	REFUSED(params.rule = DP_FUSION_RATIO; each[0] = each[1] = each[2] = 16.1);
	REFUSED(params.rule = DP_FUSION_RATIO; each[1] = 0.2);
	REFUSED(params.rule = DP_FUSION_FIXED); /* three places */
	REFUSED(params.rule = DP_FUSION_FIXED; params.most_places = 1; params.most_share = 0);
	REFUSED(params.rule = DP_FUSION_FIXED; params.most_places = 1; params.most_share = 65536);
	REFUSED(params.rule = DP_FUSION_FIXED; params.most_places = 1; params.top_k = 5);
	REFUSED(params.rule = DP_FUSION_FIXED; params.most_places = 1; params.sure = 1);
	REFUSED(params.budget = -1);
	REFUSED(params.budget = NAN);
	REFUSED(params.budget = 701);
	REFUSED(params.budget = 1; params.most_places = 4097; params.divergences = many);
	REFUSED(params.budget = 1; each[1] = 0.05);
	REFUSED(params.budget = 1; params.rule = DP_FUSION_RATIO);
	REFUSED(params.tokens = 0);
	REFUSED(params.sure = 1000001);
	REFUSED(params.vocab = 0);
	REFUSED(params.vocab = ((size_t)1 << 18) + 1);
	REFUSED(params.temperature_num = 0);
	REFUSED(params.temperature_num = INT64_MAX);
	REFUSED(params.temperature_den = 0);
	REFUSED(params.temperature_den = INT64_MAX);
	REFUSED(params.temperature_num = 17);
	REFUSED(params.temperature_den = 1000001);
#undef REFUSED
	struct dp_fusion_params params = fusion_example(&source);
	params.random.fill = NULL;
	assert_misuse((void)dp_fusion_new(&params, &m));
	params = fusion_example(&source);
	params.divergences = NULL;
	assert_misuse((void)dp_fusion_new(&params, &m));
}

/* The table that the loop calls: the same tokens as the functions, and a claim that holds for every
 * number of places. */
static void the_table(void **state) {
	(void)state;
	uint64_t seeds[2] = {5, 5};
	double each[PLACES] = {0.5, 1, 0.25};
	struct dp_fusion_params params = fusion_example(NULL);
	params.divergences = each;
	params.least_places = 2;
	params.order = 3;
	params.sure = 500000;
	params.random = (struct dp_random){test_fill, &seeds[0]};
	struct dp_fusion *m = make_fusion(&params);
	struct dp_mechanism table;
	params.random.user = &seeds[1];
	assert_int_equal(dp_fusion_mechanism(&params, &table), DP_OK);
	assert_int_equal(table.claim.null, DP_NULL_IS_PUBLIC);
	assert_int_equal(table.claim.units, 100);
	assert_true(table.claim.eta == 0);
	assert_int_equal(table.claim.event.kind, DP_RDP_MIXTURE);
	assert_int_equal(table.claim.event.count, 1);
	assert_true(table.claim.event.size == 1 && table.claim.event.order == 3);
	assert_int_equal(table.claim.event.parts, 2);
	for (uint32_t i = 0; i < 50; i++) {
		struct dp_wanted wanted[2];
		uint32_t token[2];
		enum dp_fate fate[2];
		float row[V];
		memcpy(row, public_row, sizeof row);
		row[i % V] += i % 3 ? 0 : 6;
		dp_fusion_begin(m, 2 + i % 2, i);
		table.begin(table.self, 2 + i % 2, i);
		assert_int_equal(dp_fusion_open(m, row, i % 4 > 0, &wanted[0]), DP_OK);
		assert_int_equal(table.open(table.self, row, i % 4 > 0, &wanted[1]), DP_OK);
		assert_int_equal(wanted[0].count, wanted[1].count);
		assert_int_equal(wanted[0].place, wanted[1].place);
		if (wanted[0].count > 0) {
			dp_fusion_row(m, wanted[0].place, private_rows[wanted[0].place]);
			table.row(table.self, wanted[1].place, private_rows[wanted[1].place]);
		}
		assert_int_equal(dp_fusion_draw(m, &token[0], &fate[0]), DP_OK);
		assert_int_equal(table.draw(table.self, &token[1], &fate[1]), DP_OK);
		assert_int_equal(token[0], token[1]);
		assert_int_equal(fate[0], fate[1]);
	}
	dp_fusion_free(&m);
	table.free(table.self);
	/* F3's cost of one place does not get smaller with more places */
	each[0] = each[2] = 1;
	params.rule = DP_FUSION_CAPPED;
	params.order = 2;
	params.most_share = 32768;
	assert_int_equal(dp_fusion_mechanism(&params, &table), DP_OK);
	assert_int_equal(table.claim.event.parts, 1);
	assert_true(table.claim.event.size == 1 && table.claim.event.order == 2);
	table.free(table.self);
}

/* ---- speed ----------------------------------------------------------------------------------- */

static double thread_seconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void bench_step(size_t vocab, uint32_t k, unsigned order) {
	uint64_t seed = 3;
	double c = 0.01, open = INFINITY, rest = INFINITY;
	const struct dp_fusion_params params = {.rule = DP_FUSION_BOUNDED,
	                                        .order = order,
	                                        .least_places = 1,
	                                        .most_places = 1,
	                                        .divergences = &c,
	                                        .top_k = k,
	                                        .tokens = UINT32_MAX,
	                                        .vocab = vocab,
	                                        .temperature_num = 1,
	                                        .temperature_den = 1,
	                                        .random = dp_random_system()};
	struct dp_fusion *m = make_fusion(&params);
	float *rows = calloc(2 * vocab, sizeof *rows);
	assert_non_null(rows);
	for (size_t i = 0; i < vocab; i++) {
		rows[i] = test_between(&seed, -7, 7) + test_between(&seed, -7, 7);
		rows[vocab + i] = rows[i] + test_between(&seed, -1, 1);
	}
	dp_fusion_begin(m, 1, 0);
	for (int i = 0; i < 300; i++) {
		struct dp_wanted wanted;
		uint32_t token;
		enum dp_fate fate;
		const double start = thread_seconds();
		assert_int_equal(dp_fusion_open(m, rows, false, &wanted), DP_OK);
		const double opened = thread_seconds();
		dp_fusion_row(m, 0, rows + vocab);
		assert_int_equal(dp_fusion_draw(m, &token, &fate), DP_OK);
		open = fmin(open, opened - start);
		rest = fmin(rest, thread_seconds() - opened);
	}
	printf("vocab %6zu  k %3u  order %2u   open %7.1f us   row and draw %7.1f us\n", vocab, k,
	       order, open * 1e6, rest * 1e6);
	free(rows);
	dp_fusion_free(&m);
}

/* A step draws among the tokens that it is allowed, whose k-th largest is the limit, and the next
 * one among all again. */
static void allowed_for_a_step(void **state) {
	(void)state;
	static const uint8_t some[V] = {0, 0, 1, 1, 0, 1, 0, 1};
	static const uint32_t expected[] = {2, 3, 5};
	struct word_source source = {.word = {0}, .count = 1};
	struct dp_fusion_params params = fusion_example(&source);
	params.top_k = 3;
	struct dp_fusion *m = make_fusion(&params);
	struct dp_wanted wanted;
	dp_fusion_begin(m, 1, 0);
	dp_fusion_allow(m, some);
	assert_int_equal(dp_fusion_open(m, public_row, false, &wanted), DP_OK);
	assert_int_equal(wanted.count, 3);
	for (size_t i = 0; i < 3; i++) assert_int_equal(wanted.tokens[i], expected[i]);
	dp_fusion_begin(m, 1, 1);
	assert_int_equal(dp_fusion_open(m, public_row, false, &wanted), DP_OK);
	for (size_t i = 0; i < 3; i++) assert_int_equal(wanted.tokens[i], i);
	dp_fusion_free(&m);
}

int main(int argc, char **argv) {
	if (argc > 1 && !strcmp(argv[1], "--bench")) {
		for (size_t i = 0; i < 12; i++)
			bench_step(i < 6 ? 49152 : 151936, i % 6 < 3 ? 0 : 200,
			           (const unsigned[]){2, 4, 16}[i % 3]);
		return 0;
	}
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(worked_example),
	    cmocka_unit_test(allowed_for_a_step),
	    cmocka_unit_test(the_weights_decide),
	    cmocka_unit_test(a_million_mixtures),
	    cmocka_unit_test(places_are_uniform),
	    cmocka_unit_test(null_is_the_public_row),
	    cmocka_unit_test(a_budget_for_each_place),
	    cmocka_unit_test(capped_shares),
	    cmocka_unit_test(candidates_are_public),
	    cmocka_unit_test(free_tokens),
	    cmocka_unit_test(the_cap),
	    cmocka_unit_test(the_order),
	    cmocka_unit_test(public_row_not_finite),
	    cmocka_unit_test(no_entropy),
	    cmocka_unit_test(bad_parameters),
	    cmocka_unit_test(the_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
