// SPDX-License-Identifier: Apache-2.0
// perturb_budget.c: see perturb_budget.h. Every number is that of dp/rank.h and dp/rank_account.h;
// here they become a guarantee, and words.
#include "engine/cuttle/perturb_budget.h"

#include "base/misuse.h"
#include "dp/rank.h"
#include "dp/rank_account.h"
#include "engine/status.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above it e^epsilon is no number that helps anybody. */
static const double LARGE_EPSILON = 12;

/* Words whose neighbours are looked at for advice. */
enum { SAMPLE = 64 };

static enum cuttle_status check_budget(const struct cuttle_perturb_params *params, uint32_t words,
                                       uint32_t record_words, struct cuttle_error *error) {
	if ((unsigned)params->method > CUTTLE_CUSTEXT_PLUS)
		return status_fail(error, CUTTLE_USAGE, "there is no such method");
	if (params->epsilon_millionths < 1 || params->epsilon_millionths > DP_RANK_MOST_EPSILON)
		return status_fail(error, CUTTLE_USAGE, "epsilon must be above 0 and at most 64");
	if (words < 2 || words > DP_RANK_MOST_WORDS)
		return status_fail(error, CUTTLE_USAGE, "%u words are outside 2..%u",
		                   (unsigned)words, (unsigned)DP_RANK_MOST_WORDS);
	if (record_words > DP_RANK_MOST_PLACES)
		return status_fail(error, CUTTLE_USAGE, "a record of %u words is too long",
		                   (unsigned)record_words);
	if (params->method == CUTTLE_RANK && params->table == CUTTLE_STEP &&
	    (params->near < 1 || params->near >= words))
		return status_fail(error, CUTTLE_USAGE,
		                   "k = %u must be from 1 to %u, below the number of words",
		                   (unsigned)params->near, (unsigned)words - 1);
	return CUTTLE_OK;
}

/* Makes the mechanism, for its numbers alone. */
static enum cuttle_status make_budget_rank(const struct cuttle_perturb_params *params,
                                           uint32_t words, struct dp_rank **rank,
                                           struct cuttle_error *error) {
	const struct dp_rank_params wanted = {
	    .shape = params->table == CUTTLE_STEP ? DP_RANK_STEP : DP_RANK_ENVELOPE,
	    .words = words,
	    .near = params->near,
	    .epsilon_millionths = params->epsilon_millionths,
	    .random = dp_random_system()};
	const enum dp_status status = dp_rank_new(&wanted, rank);
	if (status == DP_OK) return CUTTLE_OK;
	if (status == DP_NO_MEMORY) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	return status_fail(error, CUTTLE_INTERNAL, "the table of ranks fails its check");
}

/* e^epsilon in words, rounded up: "e^6 = 404"; without the number where it is large. */
static void print_odds(double epsilon, char text[48]) {
	if (epsilon < LARGE_EPSILON)
		(void)snprintf(text, 48, "e^%.10g = %.6g", epsilon,
		               epsilon < 4 ? ceil(exp(epsilon) * 100) / 100 : ceil(exp(epsilon)));
	else (void)snprintf(text, 48, "e^%.10g", epsilon);
}

static void write_rank_sentence(double epsilon, uint32_t record_words,
                                struct cuttle_perturb_guarantee *guarantee) {
	char odds[48], whole[160];
	print_odds(epsilon, odds);
	if (record_words)
		(void)snprintf(whole, sizeof whole,
		               "Per record of at most %u words: %.10g-local differential privacy. "
		               "The number of words is hidden.",
		               (unsigned)record_words, guarantee->epsilon_text);
	else
		(void)snprintf(whole, sizeof whole,
		               "A whole text of n words: n times %.10g. The number of words is "
		               "public.",
		               epsilon);
	(void)snprintf(
	    guarantee->sentence, sizeof guarantee->sentence,
	    "Guarantee per word: any event has at most %s times the probability it has with any "
	    "other word in the same place. An event is anything that anyone concludes from the "
	    "perturbed texts. They may know every other word. The odds between any two words in "
	    "one place change by at most this factor. That is %.10g-local differential privacy, "
	    "and exact. %s Nothing is promised about what correlated words tell together.",
	    odds, epsilon, whole);
}

/* What is true of a baseline, or of a run with a seed. */
static void write_sentence(const struct cuttle_perturb_params *params, double epsilon,
                           struct cuttle_perturb_guarantee *guarantee) {
	char *sentence = guarantee->sentence;
	const size_t room = sizeof guarantee->sentence;
	if (params->insecure)
		(void)snprintf(sentence, room,
		               "NOT PRIVATE: drawn from a chosen seed, so the texts are a function "
		               "of the input; there is no guarantee.");
	else if (params->method == CUTTLE_RANTEXT)
		(void)snprintf(
		    sentence, room,
		    "NO GUARANTEE: RANTEXT's theorem does not cover the mechanism that "
		    "runs; words outside the vocabulary are deleted visibly. A baseline.");
	else if (params->method == CUTTLE_SANTEXT)
		(void)snprintf(sentence, room,
		               "Metric guarantee in floating point, as published: odds between two "
		               "words at distance d change by at most e^(%.10g d). Not counted: a "
		               "baseline.",
		               epsilon);
	else if (params->method == CUTTLE_SANTEXT_PLUS)
		(void)snprintf(
		    sentence, room,
		    "NO GUARANTEE for words outside the sensitive list: they are sent in "
		    "clear with probability %.10g. A baseline.",
		    params->keep_share);
	else if (params->method == CUTTLE_CUSTEXT)
		(void)snprintf(sentence, room,
		               "Between words of one public set of %u only: %.10g. The set of "
		               "every word is public. Not counted: a baseline.",
		               (unsigned)params->set_size, epsilon);
	else
		(void)snprintf(sentence, room,
		               "NO GUARANTEE: stop words and unknown words are sent in clear. A "
		               "baseline.");
}

enum cuttle_status cuttle_perturb_budget(const struct cuttle_perturb_params *params, uint32_t words,
                                         uint32_t record_words,
                                         struct cuttle_perturb_guarantee *guarantee,
                                         struct cuttle_error *error) {
	const enum cuttle_status status = check_budget(params, words, record_words, error);
	if (status) return status;
	const double epsilon = dp_rank_epsilon(params->epsilon_millionths, 1);
	const bool ranked = params->method == CUTTLE_RANK;
	*guarantee =
	    (struct cuttle_perturb_guarantee){.private_output = ranked && !params->insecure,
	                                      .epsilon_word = NAN,
	                                      .epsilon_text = NAN,
	                                      .words = words,
	                                      .list_scale = NAN};
	if (ranked) {
		struct dp_rank *rank;
		struct dp_rank_receipt table;
		const enum cuttle_status made = make_budget_rank(params, words, &rank, error);
		if (made) return made;
		dp_rank_describe(rank, &table);
		dp_rank_free(&rank);
		memcpy(guarantee->table_first, table.first, sizeof guarantee->table_first);
		memcpy(guarantee->table_last, table.last, sizeof guarantee->table_last);
		memcpy(guarantee->table_total, table.total, sizeof guarantee->table_total);
		if (params->table == CUTTLE_STEP) guarantee->near = params->near;
	}
	if (!guarantee->private_output) {
		write_sentence(params, epsilon, guarantee);
		return CUTTLE_OK;
	}
	guarantee->epsilon_word = epsilon;
	if (record_words)
		guarantee->epsilon_text = dp_rank_epsilon(params->epsilon_millionths, record_words);
	write_rank_sentence(epsilon, record_words, guarantee);
	return CUTTLE_OK;
}

double cuttle_perturb_rho(uint32_t epsilon_millionths, uint32_t record_words) {
	return dp_rank_rho(epsilon_millionths, record_words);
}

enum cuttle_status cuttle_perturb_share(const struct cuttle_perturb_params *params, uint32_t words,
                                        uint32_t k, double *share, struct cuttle_error *error) {
	struct dp_rank *rank;
	REQUIRE(params->method == CUTTLE_RANK && k <= words);
	enum cuttle_status status = check_budget(params, words, 0, error);
	if (!status) status = make_budget_rank(params, words, &rank, error);
	if (status) return status;
	*share = dp_rank_share(rank, k);
	dp_rank_free(&rank);
	return CUTTLE_OK;
}

static int compare_cosines(const void *one, const void *other) {
	const float a = *(const float *)one, b = *(const float *)other;
	return (a < b) - (a > b);
}

/* Sets similarity [count] to the mean cosine at each rank. */
static void average_cosines(const struct cuttle_words *words, float *vector, float *cosines,
                            double *similarity) {
	const size_t count = cuttle_words_count(words), sample = count < SAMPLE ? count : SAMPLE;
	for (size_t i = 0; i < sample; i++) {
		cuttle_words_row(words, i * count / sample, vector);
		cuttle_words_cosines(words, vector, 1, cosines);
		qsort(cosines, count, sizeof *cosines, compare_cosines);
		for (size_t rank = 0; rank < count; rank++)
			similarity[rank] += (double)cosines[rank] / (double)sample;
	}
}

enum cuttle_status cuttle_perturb_best_near(const struct cuttle_words *words,
                                            uint32_t epsilon_millionths, uint32_t *near,
                                            struct cuttle_error *error) {
	const size_t count = cuttle_words_count(words);
	float *vector = calloc(cuttle_words_width(words), sizeof *vector),
	      *cosines = calloc(count, sizeof *cosines);
	double *similarity = calloc(count, sizeof *similarity);
	const bool made = vector && cosines && similarity;
	if (made) {
		average_cosines(words, vector, cosines, similarity);
		*near = dp_rank_best_near(similarity, (uint32_t)count, epsilon_millionths);
	}
	free(vector);
	free(cosines);
	free(similarity);
	return made ? CUTTLE_OK : status_fail(error, CUTTLE_NOMEM, "out of memory");
}
