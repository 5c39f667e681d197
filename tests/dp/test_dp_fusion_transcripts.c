// SPDX-License-Identifier: Apache-2.0
// Tests the guarantee of DP-Fusion itself: every transcript of a small vocabulary, with the
// mechanism's own integers, in two neighbouring worlds. An adversary chooses all logits from what
// was drawn so far. Free tokens, and tokens after the cap, are among them.
// It fails if the Renyi divergence of the pair, either way round, is above T times the loss that
// dp/fusion_account.h promises, or if the worst adversary does not reach 95 % of it: then the test
// would see little.
#include "tests/dp/test_dp_support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dp/fusion.h"
#include "dp/fusion_account.h"
#include "dp/share.h"

enum { MOST_VOCAB = 4, MOST_PLACES = 3 };

/* The rows that the adversary chooses, from the tokens so far. */
struct fusion_rows {
	float public[MOST_VOCAB];
	float private[MOST_PLACES][MOST_VOCAB];
	uint8_t allowed[MOST_VOCAB]; /* by a grammar; one alone is the next token, and free */
};

typedef void adversary_fn(struct fusion_rows *rows, size_t vocab, uint64_t history);

struct fusion_case {
	const char *name;
	adversary_fn *choose;
	enum dp_fusion_rule rule;
	unsigned order;
	double divergence;
	uint32_t most_share; /* CAPPED only */
	size_t vocab;
	uint32_t tokens; /* T */
	uint32_t places;
	unsigned blanked; /* bit j: place j is null in the other world */
	uint32_t sure;    /* millionths; 0 = no step is sure */
	uint32_t extra;   /* free tokens of a transcript, at most */
	double least;     /* the part of T loss that must be reached */
};

struct fusion_tree {
	struct dp_fusion *mechanism;
	const struct fusion_case *what;
	uint64_t place;            /* what the source answers */
	long double divergence[2]; /* sum of P^alpha P'^(1-alpha), and P' against P */
	long double whole[2];      /* sum of P, of P' */
	size_t transcripts, free_steps, all_steps;
};

/* The source of random bits: the place that the enumeration asks for. */
static enum dp_status fill_place(void *user, void *bytes, size_t size) {
	const struct fusion_tree *tree = user;
	assert_int_equal(size, 8);
	memcpy(bytes, &tree->place, 8);
	return DP_OK;
}

/* ---- adversaries ----------------------------------------------------------------------------- */

/* The private row moves nearly all mass to a token that the public row gives a tenth. Then few
 * terms of the bound are loose, and shares are large enough not to be coarse. */
static void push_one_token(struct fusion_rows *rows, size_t vocab, uint64_t history) {
	const size_t y = history % vocab;
	for (size_t i = 0; i < vocab; i++) {
		rows->public[i] = i == y ? -2.2f : i == (y + 1) % vocab ? 0 : -9;
		for (size_t j = 0; j < MOST_PLACES; j++) rows->private[j][i] = i == y ? 3 : 0;
	}
}

/* The private row takes away a token that the public row likes: the reverse direction binds. */
static void take_one_token(struct fusion_rows *rows, size_t vocab, uint64_t history) {
	const size_t y = history % vocab;
	for (size_t i = 0; i < vocab; i++) {
		rows->public[i] = i == y ? -1.5f : 0;
		for (size_t j = 0; j < MOST_PLACES; j++) rows->private[j][i] = i == y ? -25 : 0;
	}
}

/* Random rows, some not finite, some equal to the public one, some far away. */
static void choose_at_random(struct fusion_rows *rows, size_t vocab, uint64_t history) {
	uint64_t seed = history;
	for (size_t i = 0; i < vocab; i++) rows->public[i] = test_between(&seed, -4, 4);
	for (size_t j = 0; j < MOST_PLACES; j++) {
		const uint64_t kind = test_below(&seed, 8);
		for (size_t i = 0; i < vocab; i++)
			rows->private[j][i] = kind == 0 ? rows->public[i]
			                      : kind == 1
			                          ? test_between(&seed, -40, 40)
			                          : rows->public[i] + test_between(&seed, -3, 3);
		if (kind == 2) rows->private[j][history % vocab] = NAN;
	}
}

/* The same, with a public row that is now and then sure of a token the private rows object to. */
static void choose_sometimes_sure(struct fusion_rows *rows, size_t vocab, uint64_t history) {
	uint64_t seed = history + 1;
	choose_at_random(rows, vocab, history);
	if (test_below(&seed, 2)) return;
	const size_t y = test_below(&seed, vocab);
	rows->public[y] = 9;
	for (size_t j = 0; j < MOST_PLACES; j++) rows->private[j][y] = -30;
}

/* The same in a public form, which lets some tokens come. */
static void choose_in_a_form(struct fusion_rows *rows, size_t vocab, uint64_t history) {
	uint64_t seed = history + 2;
	choose_at_random(rows, vocab, history);
	const uint64_t some = 1 + test_below(&seed, (UINT64_C(1) << vocab) - 1);
	for (size_t y = 0; y < MOST_VOCAB; y++) rows->allowed[y] = (uint8_t)(some >> y & 1);
}

/* ---- enumeration ----------------------------------------------------------------------------- */

/* The law of the next token, in units of 2^62 places, with the places of `blank` null. Returns
 * whether the token is free. */
static bool law_of_step(struct fusion_tree *tree, const struct fusion_rows *rows, uint32_t spent,
                        bool may_be_free, unsigned blank, long double *law) {
	const struct fusion_case *what = tree->what;
	size_t some = 0;
	for (size_t y = 0; y < what->vocab; y++) {
		some += rows->allowed[y];
		law[y] = rows->allowed[y];
	}
	if (some == 1) return true;
	for (size_t y = 0; y < what->vocab; y++) law[y] = 0;
	bool is_free = false;
	for (uint32_t j = 0; j < what->places; j++) {
		struct dp_wanted wanted;
		float logits[MOST_VOCAB];
		tree->place = j;
		dp_fusion_begin(tree->mechanism, what->places, spent);
		if (what->choose == choose_in_a_form)
			dp_fusion_allow(tree->mechanism, rows->allowed);
		assert_int_equal(
		    dp_fusion_open(tree->mechanism, rows->public, may_be_free, &wanted), DP_OK);
		is_free = wanted.count == 0;
		if (!is_free) {
			assert_int_equal(wanted.place, j);
			assert_int_equal(wanted.count, some);
			for (size_t i = 0; i < wanted.count; i++)
				logits[i] = rows->private[j][wanted.tokens[i]];
			if (!(blank >> j & 1)) dp_fusion_row(tree->mechanism, j, logits);
		}
		const struct dp_fusion_step step = dp_fusion_inspect(tree->mechanism);
		for (size_t i = 0; i < step.count; i++) {
			const size_t y = step.candidates[i];
			assert_true(rows->allowed[y]);
			law[y] += (long double)((DP_SHARE_ONE - step.share) * step.a[i] +
			                        (uint64_t)step.share * step.b[i]) /
			          0x1p62L / what->places;
		}
	}
	return is_free;
}

static long double power_of(long double x, unsigned n) {
	long double product = 1;
	for (unsigned i = 0; i < n; i++) product *= x;
	return product;
}

static void walk_transcripts(struct fusion_tree *tree, uint32_t spent, uint32_t drawn_free,
                             uint64_t history, long double p, long double q) {
	const struct fusion_case *what = tree->what;
	if (spent == what->tokens && drawn_free == what->extra) {
		tree->divergence[0] += p * power_of(p / q, what->order - 1);
		tree->divergence[1] += q * power_of(q / p, what->order - 1);
		tree->whole[0] += p;
		tree->whole[1] += q;
		tree->transcripts++;
		return;
	}
	struct fusion_rows rows;
	long double with[MOST_VOCAB], without[MOST_VOCAB];
	const bool may_be_free = drawn_free < what->extra;
	memset(rows.allowed, 1, sizeof rows.allowed);
	what->choose(&rows, what->vocab, history);
	if (!may_be_free) memset(rows.allowed, 1, sizeof rows.allowed);
	const bool is_free = law_of_step(tree, &rows, spent, may_be_free, 0, with);
	/* Both worlds agree on which tokens are free. */
	assert_int_equal(law_of_step(tree, &rows, spent, may_be_free, what->blanked, without),
	                 is_free);
	tree->free_steps += is_free;
	tree->all_steps++;
	for (size_t y = 0; y < what->vocab; y++)
		if (rows.allowed[y])
			walk_transcripts(tree, spent + !is_free, drawn_free + is_free,
			                 history * MOST_VOCAB + y + 1, p * with[y], q * without[y]);
}

/* Losses per token as dp/fusion_account.h promises them. */
static double promised_loss(const struct fusion_case *what) {
	const uint32_t blanked = (uint32_t)__builtin_popcount(what->blanked);
	const double each[MOST_PLACES] = {what->divergence, what->divergence, what->divergence};
	return what->rule == DP_FUSION_CAPPED
	           ? dp_fusion_capped_loss(what->divergence, blanked)
	           : dp_fusion_loss(what->order, each, blanked, what->places);
}

static const struct fusion_case CASES[] = {
    {"one row, forward", push_one_token, DP_FUSION_BOUNDED, 2, 0.01, 0, 2, 6, 1, 1, 0, 0, 0.95},
    {"one row, reverse", take_one_token, DP_FUSION_BOUNDED, 2, 0.01, 0, 2, 6, 1, 1, 0, 0, 0.95},
    {"order 5", push_one_token, DP_FUSION_BOUNDED, 5, 0.01, 0, 2, 6, 1, 1, 0, 0, 0.95},
    {"order 16", take_one_token, DP_FUSION_BOUNDED, 16, 0.01, 0, 2, 6, 1, 1, 0, 0, 0.9},
    {"vocabulary of 4", push_one_token, DP_FUSION_BOUNDED, 2, 0.01, 0, 4, 5, 1, 1, 0, 0, 0.95},
    {"large divergence", push_one_token, DP_FUSION_BOUNDED, 2, 2, 0, 3, 5, 1, 1, 0, 0, 0.5},
    {"one of three", push_one_token, DP_FUSION_BOUNDED, 2, 0.1, 0, 2, 6, 3, 1, 0, 0, 0.2},
    {"two of three", take_one_token, DP_FUSION_BOUNDED, 3, 0.1, 0, 2, 6, 3, 6, 0, 0, 0.6},
    {"all of three", push_one_token, DP_FUSION_BOUNDED, 2, 0.01, 0, 2, 6, 3, 7, 0, 0, 0.95},
    {"one of two at random", choose_at_random, DP_FUSION_BOUNDED, 2, 0.2, 0, 3, 6, 2, 2, 0, 0, 0},
    {"all of two at random", choose_at_random, DP_FUSION_BOUNDED, 7, 0.2, 0, 3, 6, 2, 3, 0, 0, 0},
    {"sure tokens", choose_sometimes_sure, DP_FUSION_BOUNDED, 2, 0.3, 0, 3, 3, 2, 1, 980000, 4, 0},
    {"after the cap", push_one_token, DP_FUSION_BOUNDED, 2, 0.01, 0, 2, 4, 1, 1, 0, 4, 0.95},
    {"capped, one", push_one_token, DP_FUSION_CAPPED, 2, 0.01, 6000, 2, 6, 3, 1, 0, 0, 0.5},
    {"capped, all", push_one_token, DP_FUSION_CAPPED, 2, 0.01, 6000, 2, 6, 3, 7, 0, 0, 0.7},
    {"in a form", choose_in_a_form, DP_FUSION_BOUNDED, 2, 0.3, 0, 3, 3, 2, 1, 0, 4, 0},
    {"in a form, all", choose_in_a_form, DP_FUSION_BOUNDED, 5, 0.2, 0, 4, 3, 2, 3, 0, 3, 0},
    {"capped in a form", choose_in_a_form, DP_FUSION_CAPPED, 2, 0.1, 32768, 3, 3, 3, 5, 0, 4, 0},
    {"capped at random", choose_at_random, DP_FUSION_CAPPED, 2, 0.1, 32768, 3, 6, 3, 5, 0, 0, 0},
};

static void every_transcript(void **state) {
	(void)state;
	for (size_t c = 0; c < sizeof CASES / sizeof *CASES; c++) {
		const struct fusion_case *what = &CASES[c];
		struct fusion_tree tree = {.what = what};
		const double each[MOST_PLACES] = {what->divergence, what->divergence,
		                                  what->divergence};
		const struct dp_fusion_params params = {.rule = what->rule,
		                                        .order = what->order,
		                                        .least_places = what->places,
		                                        .most_places = what->places,
		                                        .divergences = each,
		                                        .most_share = what->most_share,
		                                        .tokens = what->tokens,
		                                        .sure = what->sure,
		                                        .vocab = what->vocab,
		                                        .temperature_num = 1,
		                                        .temperature_den = 1,
		                                        .random = {fill_place, &tree}};
		assert_int_equal(dp_fusion_new(&params, &tree.mechanism), DP_OK);
		walk_transcripts(&tree, 0, 0, 1, 1, 1);
		dp_fusion_free(&tree.mechanism);
		/* A sum of at most 4^8 positive terms of some 100 roundings each. */
		const long double rounded = 1e-15L,
		                  limit = (long double)promised_loss(what) * what->tokens,
		                  top = expl((what->order - 1) * limit) * (1 + rounded);
		for (int way = 0; way < 2; way++) assert_true(fabsl(tree.whole[way] - 1) < rounded);
		const long double most = fmaxl(tree.divergence[0], tree.divergence[1]),
		                  reached = logl(most) / (what->order - 1) / limit;
		if (!(most <= top && reached >= (long double)what->least))
			fail_msg("%s: %.6Lf of what is promised", what->name, reached);
		if (what->sure > 0)
			assert_true(tree.free_steps > tree.all_steps / 10 &&
			            tree.free_steps < tree.all_steps);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_transcript)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
