// SPDX-License-Identifier: Apache-2.0
// How the numbers of a receipt of cuttle generate are checked, once its members were read. The
// check_ functions return what is wrong, or NULL.
#include "io/receipts/receipt_check.h"

#include "base/utf8.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/receipts/method.h"
#include "io/records/units.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the numbers ----------------------------------------------------------------------------- */

/* What the clip and lots of a receipt give: the epsilon of the run for that of a batch. */
static double amplify_claim(const struct receipt *receipt, double batch_epsilon) {
	double epsilon;
	if (!receipt->lot_count) return batch_epsilon;
	return cuttle_lots_epsilon(receipt->lots, receipt->lot_count, batch_epsilon, &epsilon, NULL)
	           ? NAN
	           : epsilon;
}

/* With private categories: q* follows from records, B, N and the number of categories, and all of
 * seats from it and the noisy counts. */
static const char *check_histogram(const struct receipt *receipt, const json_t *root) {
	const struct cuttle_guarantee *guarantee = &receipt->guarantee;
	const struct cuttle_histogram *histogram = receipt->histogram;
	const json_t *categories = json_object_get(root, "categories");
	struct cuttle_histogram made;
	struct cuttle_lots lots, seats[MOST_CATEGORIES];
	uint32_t rows;
	if (json_integer_value(json_object_get(json_object_get(root, "histogram"), "rule")) !=
	    RECEIPT_SEATS)
		return "its batches follow from its counts by another rule: verify it with the "
		       "cuttle that wrote it";
	if (receipt->lot_count != 1 || guarantee->shots != 1 ||
	    (receipt->unit.key && (!receipt->unit.limited || receipt->unit.weight != 1)) ||
	    cuttle_histogram_make(1.0, histogram->clusters, histogram->texts,
	                          receipt->lots->records, guarantee->batch, &made, &lots, NULL) ||
	    lots.batches != receipt->lots->batches || lots.used != receipt->lots->used)
		return "its lots do not follow from records, batch and the texts wanted";
	if (cuttle_histogram_deal(histogram, &lots, guarantee->batch, receipt->counts_of_clusters,
	                          seats) != receipt->texts)
		return "its texts do not follow from the counts of its histogram";
	for (uint32_t c = 0; c < histogram->clusters; c++)
		if (seats[c].batches != receipt->seats[c].batches ||
		    seats[c].used != receipt->seats[c].used ||
		    (json_is_array(categories) &&
		     json_integer_value(json_object_get(json_array_get(categories, c), "texts")) !=
		         (json_int_t)seats[c].used))
			return "the batches and texts of its categories do not follow from the "
			       "counts of its histogram";
	if (cuttle_histogram_rows(histogram, guarantee->batch, guarantee->epsilon, guarantee->delta,
	                          &rows, NULL) ||
	    rows != guarantee->places)
		return "the rows_cap of its lots does not follow from epsilon, delta and "
		       "histogram";
	return NULL;
}

/* The same numbers as check_numbers, where counts of private categories are paid for as well. */
static const char *check_histogram_numbers(const struct receipt *receipt, const json_t *root,
                                           struct cuttle_budget budget) {
	const struct cuttle_guarantee *guarantee = &receipt->guarantee;
	const bool composed = !isnan(guarantee->epsilon_exact),
	           exact = guarantee->accountant == CUTTLE_EXACT;
	double delta, known;
	budget.rho = NAN;
	budget.delta = guarantee->delta;
	if (!receipt->lot_count ||
	    cuttle_lots_delta(receipt->lots, receipt->lot_count, guarantee->delta, &delta, &known,
	                      NULL) ||
	    cuttle_histogram_solve(receipt->histogram, receipt->lots, false, &budget, NULL))
		return "its lots or its histogram are out of range";
	if (!attest_confirm(guarantee->rho, budget.rho))
		return "rho does not follow from clip, gain, batch, temperature, tokens and "
		       "histogram";
	if (!attest_confirm(guarantee->epsilon, budget.epsilon))
		return "the epsilon of zcdp does not follow from clip, delta, lots and histogram";
	budget.accountant = CUTTLE_EXACT;
	if (composed &&
	    (cuttle_histogram_solve(receipt->histogram, receipt->lots, false, &budget, NULL) ||
	     !attest_confirm(guarantee->epsilon_exact, budget.epsilon)))
		return "the epsilon of exact composition does not follow from clip, tokens, delta, "
		       "lots and histogram";
	budget.accountant = guarantee->accountant;
	if ((exact && !composed) ||
	    cuttle_histogram_solve(receipt->histogram, receipt->lots, true, &budget, NULL) ||
	    !attest_confirm(guarantee->epsilon_if_known, budget.epsilon) ||
	    !attest_confirm(guarantee->delta_if_known, known))
		return "epsilon and delta against who knows a batch do not follow";
	return check_histogram(receipt, root);
}

/* Batches follow from records and B, and the cap from them and epsilon by zCDP. */
static const char *check_lots(const struct receipt *receipt, const json_t *root) {
	const json_t *categories = json_object_get(root, "categories");
	const struct cuttle_guarantee *guarantee = &receipt->guarantee;
	uint64_t used = 0;
	uint32_t rows;
	if (!receipt->lot_count) return NULL;
	for (size_t i = 0; i < receipt->lot_count; i++) {
		const struct cuttle_lots *lots = &receipt->lots[i];
		const uint64_t whole = lots->records / guarantee->batch;
		const uint64_t batches = whole + (lots->records % guarantee->batch != 0);
		if (lots->used > whole || lots->batches != (batches ? batches : 1))
			return "the batches of its lots do not follow from records and batch";
		if (json_is_array(categories) &&
		    json_integer_value(json_object_get(json_array_get(categories, i), "texts")) !=
		        (json_int_t)lots->used)
			return "its lots do not have the texts of its categories";
		used += lots->used;
	}
	if (used != receipt->texts || receipt->unit.key)
		return "its lots do not add up to its texts";
	if (cuttle_lots_rows(receipt->lots, receipt->lot_count, guarantee->epsilon,
	                     guarantee->delta, &rows, NULL) ||
	    rows != guarantee->places)
		return "the rows_cap of its lots does not follow from epsilon, delta and batches";
	return NULL;
}

/* The numbers of any method but InvisibleInk. Sets the claim, which the receipt that is made anew
 * tells. */
static const char *check_method(struct receipt *receipt) {
	struct cuttle_guarantee *guarantee = &receipt->guarantee;
	struct cuttle_guarantee made = *guarantee;
	if (receipt->unit.key || receipt->lot_count || receipt->histogram)
		return "its method has no units, lots or private categories";
	made.spread = 1;
	if (cuttle_method_account(&made, NULL))
		return "the parameters of its method are out of range";
	if (guarantee->private_output && !cuttle_method_promises(guarantee->method))
		return "its method promises nothing";
	guarantee->claim = made.claim;
	if (!evidence_confirm(guarantee->rho, made.rho))
		return "rho does not follow from the parameters of its method";
	const bool composed = !isnan(guarantee->epsilon_exact);
	if (made.accountant != guarantee->accountant ||
	    !evidence_confirm(guarantee->epsilon, made.epsilon) ||
	    (composed && !evidence_confirm(guarantee->epsilon_exact, made.epsilon_exact)))
		return "epsilon does not follow from the parameters of its method and delta";
	return NULL;
}

static const char *check_numbers(struct receipt *receipt, const json_t *root) {
	const struct cuttle_guarantee *guarantee = &receipt->guarantee;
	const struct receipt_unit *unit = &receipt->unit;
	struct cuttle_budget rho, epsilon, exact;
	double delta = guarantee->delta, known = guarantee->delta;
	if (!guarantee->reference_tokens || (uint64_t)guarantee->reference_tokens +
	                                            guarantee->tokens +
	                                            guarantee->savings.free_tokens >
	                                        guarantee->context)
		return "its context has no room for its tokens and reference_tokens";
	if (guarantee->method != CUTTLE_INVISIBLEINK) return check_method(receipt);
	if (!(guarantee->gain >= 1.0 && guarantee->gain <= 3.0)) return "its gain is out of range";
	cuttle_budget_none(&rho);
	// To an accountant a gain is a clip of so much more.
	rho.clip = guarantee->clip * guarantee->gain;
	rho.temperature = guarantee->temperature;
	rho.batch = guarantee->batch;
	rho.tokens = guarantee->tokens;
	if (cuttle_budget_solve(&rho, CUTTLE_RHO, NULL)) return "its parameters are out of range";
	if (receipt->histogram) return check_histogram_numbers(receipt, root, rho);
	if (!attest_confirm(guarantee->rho, units_multiply(unit->weight, rho.rho)))
		return "rho does not follow from clip, gain, batch, temperature, tokens and "
		       "unit_weight";
	if (receipt->lot_count && cuttle_lots_delta(receipt->lots, receipt->lot_count,
	                                            guarantee->delta, &delta, &known, NULL))
		return "its lots are out of range";
	cuttle_budget_none(&epsilon);
	epsilon.rho = guarantee->rho;
	epsilon.delta = delta;
	if (cuttle_budget_solve(&epsilon, CUTTLE_EPSILON, NULL))
		return "its parameters are out of range";
	if (!attest_confirm(guarantee->epsilon, amplify_claim(receipt, epsilon.epsilon)))
		return "the epsilon of zcdp does not follow from rho and delta";
	exact = rho;
	exact.rho = NAN;
	exact.delta = delta;
	exact.accountant = CUTTLE_EXACT;
	const bool composed = !isnan(guarantee->epsilon_exact);
	// Exact composition counts texts that read one record of the unit each. With several
	// records of a unit only a limit ensures that (io/records/places.h).
	if (composed && unit->weight > 1 && !unit->limited)
		return "the epsilon of exact composition is not known of several records in one "
		       "text";
	if (composed && unit->weight > UINT32_MAX / exact.tokens)
		return "its parameters are out of range";
	exact.tokens *= (uint32_t)unit->weight;
	if (composed && cuttle_budget_solve(&exact, CUTTLE_EPSILON, NULL))
		return "its parameters are out of range";
	if (composed &&
	    !attest_confirm(guarantee->epsilon_exact, amplify_claim(receipt, exact.epsilon)))
		return "the epsilon of exact composition does not follow from clip, tokens and "
		       "delta";
	if (receipt->lot_count &&
	    (!attest_confirm(guarantee->epsilon_if_known, guarantee->accountant == CUTTLE_EXACT
	                                                      ? exact.epsilon
	                                                      : epsilon.epsilon) ||
	     !attest_confirm(guarantee->delta_if_known, known)))
		return "epsilon and delta against who knows a batch do not follow";
	return check_lots(receipt, root);
}

/* Whether the values are strings, for exactly the fields that the first category has. */
static bool match_values(json_t *values, const json_t *first) {
	const char *field;
	json_t *value;
	bool right =
	    json_object_size(values) > 0 && json_object_size(values) == json_object_size(first);
	json_object_foreach(values, field, value) {
		right &= json_is_string(value) && json_object_get(first, field);
	}
	return right;
}

/* All categories must have the same fields, no two the same values. Their numbers of texts must add
 * up to the run's. */
static const char *check_categories(const struct receipt *receipt, const json_t *root) {
	json_t *all[MOST_CATEGORIES];
	json_int_t texts, left = (json_int_t)receipt->texts;
	const json_t *categories = json_object_get(root, "categories");
	const size_t count = json_array_size(categories);
	if (!json_is_array(categories)) return NULL;
	if (count > MOST_CATEGORIES) return "it has too many categories";
	for (size_t i = 0; i < count; i++) {
		if (json_unpack(json_array_get(categories, i), "{s:I, s:o !}", "texts", &texts,
		                "values", &all[i]))
			return "a category of it lacks a member";
		if (texts < 0 || texts > left) return "its categories do not add up to its texts";
		left -= texts;
		if (!match_values(all[i], all[0]))
			return "a category of it has other fields than the first";
		for (size_t before = 0; before < i; before++)
			if (json_equal(all[before], all[i]))
				return "a category of it is there twice";
	}
	return left ? "its categories do not add up to its texts" : NULL;
}

/* The ledger must have charged enough. ledger.rho is what the entry charged the unit that it
 * charged most. Without a limit that must be all of the receipt's rho. With a limit of G texts the
 * receipt's rho is that of G texts. The unit was charged for 1 to G of them. So G times ledger.rho
 * must reach it. Take G = 5 and 0.1 a text: the receipt says 0.5. A unit in 3 texts was charged
 * 0.3, and 5 times 0.3 is enough. */
static const char *check_charge(const struct receipt *receipt) {
	if (!*receipt->ledger.entry) return NULL;
	if (!receipt->dataset) return "it has an entry in a ledger and no data set";
	if (receipt->guarantee.claim.kind == CUTTLE_CLAIM_ORDER && !(receipt->ledger.delta > 0))
		return receipt->ledger.rho >= receipt->guarantee.claim.loss
		           ? NULL
		           : "the ledger charged less than its loss";
	if (receipt->ledger.delta > 0)
		return receipt->ledger.rho >= receipt_epsilon(&receipt->guarantee) &&
		               receipt->ledger.delta >= receipt->guarantee.delta
		           ? NULL
		           : "the ledger charged less than its epsilon and delta";
	return units_multiply(receipt->unit.limited ? receipt->unit.weight : 1,
	                      receipt->ledger.rho) >= receipt->guarantee.rho
	           ? NULL
	           : "the ledger charged less than its rho";
}

/* All texts are charged, so all are told: with a token bank a batch has one or more. */
static const char *check_filters(const struct receipt *receipt) {
	const uint64_t drawn = receipt->counts.drawn;
	if (!receipt->filters.trim && !filters_drop_any(&receipt->filters)) return NULL;
	return drawn == receipt->texts ||
	               (receipt->guarantee.savings.token_bank && drawn > receipt->texts)
	           ? NULL
	           : "its filters do not add up to its texts";
}

/* Whether a list has `count` texts of at least one byte; `hashes`: of 64 hex digits. */
static bool check_list(const json_t *list, size_t count, bool hashes) {
	bool right = json_is_array(list) && json_array_size(list) == count;
	for (size_t i = 0; right && i < count; i++) {
		const char *text = json_string_value(json_array_get(list, i));
		right = text && *text &&
		        (!hashes || (strlen(text) == HASH_TEXT - 1 &&
		                     strspn(text, "0123456789abcdef") == HASH_TEXT - 1));
	}
	return right;
}

/* A shard was drawn again: paid for, or on somebody's word. */
static bool check_redraw(const json_t *redraw, uint64_t shards) {
	const char *entry, *word, *run;
	uint64_t shard;
	return attest_count(redraw, "shard", shards - 1, &shard) &&
	       attest_text(redraw, "run", &run) && attest_text(redraw, "entry", &entry) &&
	       attest_text(redraw, "word", &word) && json_object_size(redraw) == 4 &&
	       (*entry ? strlen(entry) == HASH_TEXT - 1 && !*word : *word != 0);
}

/* What cuttle merge adds: how many parts there were, each with its kernels and hash. A receipt of
 * one machine has none of it. */
static const char *check_shards(const struct receipt *receipt, const json_t *root) {
	const json_t *redraws = json_object_get(root, "shard_redraws"),
	             *tiers = json_object_get(root, "shard_isa");
	uint64_t shards;
	if (!json_object_get(root, "shards"))
		return tiers || redraws || json_object_get(root, "shard_sha256")
		           ? "it names shards, and not how many there are"
		           : NULL;
	bool right = attest_count(root, "shards", receipt->texts, &shards) && shards &&
	             check_list(tiers, shards, false) &&
	             check_list(json_object_get(root, "shard_sha256"), shards, true);
	right = right && !strcmp(json_string_value(json_array_get(tiers, 0)), receipt->isa) &&
	        (!redraws || json_is_array(redraws));
	for (size_t i = 0; right && i < json_array_size(redraws); i++)
		right = check_redraw(json_array_get(redraws, i), shards);
	for (size_t i = 0; right && i < shards; i++)
		right = !strcmp(receipt_command_isa(json_string_value(json_array_get(tiers, i))),
		                receipt_command_isa(receipt->isa));
	return right ? NULL : "its shards do not agree with each other";
}

const char *receipt_check(const struct attested *attested, void *at) {
	struct receipt *receipt = at;
	const json_t *root = attested->root;
	const char *problem = check_numbers(receipt, root);
	if (!problem) problem = check_categories(receipt, root);
	if (!problem) problem = attest_bias_fault(&receipt->bias);
	if (!problem) problem = check_charge(receipt);
	if (!problem) problem = check_filters(receipt);
	return problem ? problem : check_shards(receipt, root);
}
