// SPDX-License-Identifier: Apache-2.0
// How a receipt is checked (claim.h says what for):
//   claim_read    takes every member out and compares the bytes with the canonical ones;
//   claim_check   checks the signature, the accountants' numbers, the categories and the charge.
//                 Last it writes the whole receipt anew and compares that.
// A get_ function returns false where the member is missing or of the wrong type or range. The
// functions check_numbers, check_categories and check_charge return what is wrong, or NULL. What
// does not depend on the mechanism is in io/attest.
#include "io/claim.h"

#include "base/utf8.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/units.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool get_unit(const json_t *root, struct receipt_unit *unit) {
	bool right = attest_name(root, "unit_key", &unit->key) &&
	             attest_flag(root, "unit_limited", &unit->limited);
	right &= attest_count(root, "unit_weight", INT64_MAX, &unit->weight) && unit->weight > 0;
	// Without a key a unit is one record. It costs what one text costs, and has no limit.
	return right && (unit->key || (unit->weight == 1 && !unit->limited));
}

static bool get_ledger(const json_t *root, struct receipt_ledger *ledger) {
	const json_t *member = json_object_get(root, "ledger");
	if (json_is_null(member)) return true;
	if (!attest_hash(member, "entry", ledger->entry)) return false;
	if (!json_object_get(member, "epsilon")) return attest_real(member, "rho", &ledger->rho);
	return attest_real(member, "epsilon", &ledger->rho) &&
	       attest_real(member, "delta", &ledger->delta);
}

/* One number, or element `index` of a list of `count`. */
static bool get_cluster(const json_t *lots, const char *key, size_t index, size_t count,
                        uint64_t *value) {
	const json_t *member = json_object_get(lots, key);
	if (json_is_array(member) && json_array_size(member) == count)
		member = json_array_get(member, index);
	const json_int_t number = json_integer_value(member);
	*value = (uint64_t)number;
	return json_is_integer(member) && number >= 0;
}

/* One number for each category, which may be negative where `least` is. */
static bool get_list(const json_t *object, const char *key, size_t count, int64_t least,
                     int64_t *values, size_t stride) {
	const json_t *list = json_object_get(object, key);
	bool right = json_is_array(list) && json_array_size(list) == count;
	for (size_t i = 0; right && i < count; i++) {
		const json_t *number = json_array_get(list, i);
		values[i * stride] = json_integer_value(number);
		right = json_is_integer(number) && values[i * stride] >= least;
	}
	return right;
}

/* What private categories were counted to be, and what followed. */
static bool get_histogram(struct claim *claim) {
	const json_t *member = json_object_get(claim->attested.root, "histogram");
	const size_t count = json_array_size(claim->categories);
	enum { STRIDE = sizeof(struct cuttle_lots) / sizeof(int64_t) };
	if (!member) return true;
	if (!count || count > MOST_CATEGORIES) return false;
	claim->histogram.clusters = (uint32_t)count;
	claim->receipt.histogram = &claim->histogram;
	claim->receipt.counts_of_clusters = claim->counts = calloc(count, sizeof *claim->counts);
	claim->receipt.seats = claim->seats = calloc(count, sizeof *claim->seats);
	return claim->counts && claim->seats &&
	       attest_number(member, "t", &claim->histogram.scale) &&
	       attest_number(member, "wanted", &claim->histogram.texts) &&
	       get_list(member, "counts", count, INT64_MIN, claim->counts, 1) &&
	       get_list(member, "batches", count, 0, (int64_t *)&claim->seats->batches, STRIDE) &&
	       get_list(member, "used", count, 0, (int64_t *)&claim->seats->used, STRIDE);
}

/* Without lots a text has B places, and nothing depends on what is known of them. */
static bool get_lots(struct claim *claim) {
	const json_t *member = json_object_get(claim->attested.root, "lots");
	struct cuttle_guarantee *guarantee = &claim->receipt.guarantee;
	const size_t count =
	    claim->categories && !claim->receipt.histogram ? json_array_size(claim->categories) : 1;
	guarantee->places = guarantee->batch;
	guarantee->epsilon_if_known = receipt_epsilon(guarantee);
	guarantee->delta_if_known = guarantee->delta;
	if (!member) return true;
	if (!count || count > MOST_CATEGORIES) return false;
	claim->receipt.lots = claim->lots = calloc(count, sizeof *claim->lots);
	claim->receipt.lot_count = count;
	bool right = claim->lots != NULL;
	for (size_t i = 0; right && i < count; i++)
		right = get_cluster(member, "records", i, count, &claim->lots[i].records) &&
		        get_cluster(member, "batches", i, count, &claim->lots[i].batches) &&
		        get_cluster(member, "used", i, count, &claim->lots[i].used);
	return right && attest_number(member, "rows_cap", &guarantee->places) &&
	       attest_real(member, "epsilon_if_known", &guarantee->epsilon_if_known) &&
	       attest_real(member, "delta_if_known", &guarantee->delta_if_known);
}

static bool get_guarantee(const json_t *root, struct cuttle_guarantee *guarantee) {
	const char *accountant;
	uint64_t clip_fixed;
	bool right = attest_text(root, "accountant", &accountant);
	const bool exact = right && !strcmp(accountant, "exact");
	guarantee->accountant = exact ? CUTTLE_EXACT : CUTTLE_ZCDP;
	guarantee->epsilon_exact = NAN;
	right &= exact || (right && !strcmp(accountant, "zcdp"));
	right &= attest_flag(root, "private", &guarantee->private_output);
	right &=
	    attest_real(root, "epsilon", exact ? &guarantee->epsilon_exact : &guarantee->epsilon);
	if (exact) right &= attest_real(root, "epsilon_zcdp", &guarantee->epsilon);
	else if (!json_is_null(json_object_get(root, "epsilon_exact")))
		right &= attest_real(root, "epsilon_exact", &guarantee->epsilon_exact);
	right &= attest_real(root, "rho", &guarantee->rho) &&
	         attest_real(root, "delta", &guarantee->delta);
	guarantee->gain = 1.0;
	if (json_object_get(root, "gain")) right &= attest_real(root, "gain", &guarantee->gain);
	right &= attest_real(root, "temperature", &guarantee->temperature) &&
	         attest_savings(root, &guarantee->savings);
	right &= attest_number(root, "batch", &guarantee->batch) &&
	         attest_number(root, "tokens", &guarantee->tokens);
	right &= attest_number(root, "top_k", &guarantee->top_k) &&
	         attest_number(root, "context", &guarantee->context);
	right &= attest_number(root, "reference_tokens", &guarantee->reference_tokens);
	right &= attest_number(root, "fraction_bits", &guarantee->fraction_bits) &&
	         guarantee->fraction_bits <= 30;
	right &= attest_count(root, "clip_fixed", INT32_MAX, &clip_fixed) && clip_fixed;
	guarantee->clip_fixed = (int32_t)clip_fixed;
	guarantee->clip = ldexp(guarantee->clip_fixed, -(int)guarantee->fraction_bits);
	return right && guarantee->batch && guarantee->tokens;
}

static bool read_members(struct claim *claim) {
	const json_t *root = claim->attested.root;
	struct receipt *receipt = &claim->receipt;
	const json_t *categories = json_object_get(root, "categories");
	uint64_t texts = 0;
	claim->categories = json_is_array(categories) ? categories : NULL;
	bool right = get_guarantee(root, &receipt->guarantee) && get_unit(root, &receipt->unit);
	right &= (claim->categories || json_is_null(categories)) &&
	         json_is_string(json_object_get(root, "model_name"));
	right &= attest_count(root, receipt->guarantee.savings.token_bank ? "batches" : "texts",
	                      SIZE_MAX / 2, &texts) &&
	         (texts || json_object_get(root, "histogram"));
	right &= attest_count(root, "model_bytes", INT64_MAX, &receipt->model.file_bytes) &&
	         attest_text(root, "isa", &receipt->isa);
	right &= attest_hash(root, "model_sha256", receipt->model_sha256) &&
	         attest_hash(root, "template_sha256", receipt->template_sha256);
	right &= attest_words(&claim->attested);
	right &= attest_filters(root, &receipt->filters, &receipt->counts);
	right = right && get_histogram(claim) && get_lots(claim);
	right &= attest_flag(root, "trace", &receipt->trace) && attest_date(root, receipt->date);
	right &=
	    attest_name(root, "dataset", &receipt->dataset) && get_ledger(root, &receipt->ledger);
	right &= !receipt->dataset || utf8_name(receipt->dataset, strlen(receipt->dataset));
	receipt->texts = (size_t)texts;
	return right;
}

/* ---- the numbers ----------------------------------------------------------------------------- */

/* What the clip and lots of a receipt give: the epsilon of the run for that of a batch. */
static double amplify_claim(const struct claim *claim, double batch_epsilon) {
	const struct receipt *receipt = &claim->receipt;
	double epsilon;
	if (!receipt->lot_count) return batch_epsilon;
	return cuttle_lots_epsilon(receipt->lots, receipt->lot_count, batch_epsilon, &epsilon, NULL)
	           ? NAN
	           : epsilon;
}

/* With private categories: q* follows from records, B, N and the number of categories, and all of
 * seats from it and the noisy counts. */
static const char *check_histogram(const struct claim *claim) {
	const struct receipt *receipt = &claim->receipt;
	const struct cuttle_guarantee *guarantee = &receipt->guarantee;
	const struct cuttle_histogram *histogram = receipt->histogram;
	struct cuttle_histogram made;
	struct cuttle_lots lots, seats[MOST_CATEGORIES];
	uint32_t rows;
	if (receipt->lot_count != 1 || receipt->unit.key ||
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
		    json_integer_value(json_object_get(json_array_get(claim->categories, c),
		                                       "texts")) != (json_int_t)seats[c].used)
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
static const char *check_histogram_numbers(const struct claim *claim, struct cuttle_budget budget) {
	const struct receipt *receipt = &claim->receipt;
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
	return check_histogram(claim);
}

/* Batches follow from records and B, and the cap from them and epsilon by zCDP. */
static const char *check_lots(const struct claim *claim) {
	const struct receipt *receipt = &claim->receipt;
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

static const char *check_numbers(const struct claim *claim) {
	const struct cuttle_guarantee *guarantee = &claim->receipt.guarantee;
	const struct receipt_unit *unit = &claim->receipt.unit;
	struct cuttle_budget rho, epsilon, exact;
	double delta = guarantee->delta, known = guarantee->delta;
	if (!guarantee->reference_tokens || (uint64_t)guarantee->reference_tokens +
	                                            guarantee->tokens +
	                                            guarantee->savings.free_tokens >
	                                        guarantee->context)
		return "its context has no room for its tokens and reference_tokens";
	if (!(guarantee->gain >= 1.0 && guarantee->gain <= 3.0)) return "its gain is out of range";
	cuttle_budget_none(&rho);
	// To an accountant a gain is a clip of so much more.
	rho.clip = guarantee->clip * guarantee->gain;
	rho.temperature = guarantee->temperature;
	rho.batch = guarantee->batch;
	rho.tokens = guarantee->tokens;
	if (cuttle_budget_solve(&rho, CUTTLE_RHO, NULL)) return "its parameters are out of range";
	if (claim->receipt.histogram) return check_histogram_numbers(claim, rho);
	if (!attest_confirm(guarantee->rho, units_multiply(unit->weight, rho.rho)))
		return "rho does not follow from clip, gain, batch, temperature, tokens and "
		       "unit_weight";
	if (claim->receipt.lot_count &&
	    cuttle_lots_delta(claim->receipt.lots, claim->receipt.lot_count, guarantee->delta,
	                      &delta, &known, NULL))
		return "its lots are out of range";
	cuttle_budget_none(&epsilon);
	epsilon.rho = guarantee->rho;
	epsilon.delta = delta;
	if (cuttle_budget_solve(&epsilon, CUTTLE_EPSILON, NULL))
		return "its parameters are out of range";
	if (!attest_confirm(guarantee->epsilon, amplify_claim(claim, epsilon.epsilon)))
		return "the epsilon of zcdp does not follow from rho and delta";
	exact = rho;
	exact.rho = NAN;
	exact.delta = delta;
	exact.accountant = CUTTLE_EXACT;
	const bool composed = !isnan(guarantee->epsilon_exact);
	// Exact composition counts texts that read one record of the unit each. With several
	// records of a unit only a limit ensures that (io/places.h).
	if (composed && unit->weight > 1 && !unit->limited)
		return "the epsilon of exact composition is not known of several records in one "
		       "text";
	if (composed && unit->weight > UINT32_MAX / exact.tokens)
		return "its parameters are out of range";
	exact.tokens *= (uint32_t)unit->weight;
	if (composed && cuttle_budget_solve(&exact, CUTTLE_EPSILON, NULL))
		return "its parameters are out of range";
	if (composed &&
	    !attest_confirm(guarantee->epsilon_exact, amplify_claim(claim, exact.epsilon)))
		return "the epsilon of exact composition does not follow from clip, tokens and "
		       "delta";
	if (claim->receipt.lot_count &&
	    (!attest_confirm(guarantee->epsilon_if_known, guarantee->accountant == CUTTLE_EXACT
	                                                      ? exact.epsilon
	                                                      : epsilon.epsilon) ||
	     !attest_confirm(guarantee->delta_if_known, known)))
		return "epsilon and delta against who knows a batch do not follow";
	return check_lots(claim);
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
static const char *check_categories(const struct claim *claim) {
	json_t *all[MOST_CATEGORIES];
	json_int_t texts, left = (json_int_t)claim->receipt.texts;
	const size_t count = json_array_size(claim->categories);
	if (!claim->categories) return NULL;
	if (count > MOST_CATEGORIES) return "it has too many categories";
	for (size_t i = 0; i < count; i++) {
		if (json_unpack(json_array_get(claim->categories, i), "{s:I, s:o !}", "texts",
		                &texts, "values", &all[i]))
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
static const char *check_charge(const struct claim *claim) {
	const struct receipt *receipt = &claim->receipt;
	if (!*receipt->ledger.entry) return NULL;
	if (!receipt->dataset) return "it has an entry in a ledger and no data set";
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
static const char *check_filters(const struct claim *claim) {
	const struct receipt *receipt = &claim->receipt;
	const uint64_t drawn = receipt->counts.drawn;
	if (!receipt->filters.trim && !filters_drop_any(&receipt->filters)) return NULL;
	return drawn == receipt->texts ||
	               (receipt->guarantee.savings.token_bank && drawn > receipt->texts)
	           ? NULL
	           : "its filters do not add up to its texts";
}

/* Makes the receipt anew from the members that were read, and compares. False: they differ; what is
 * wrong goes into `problem`. */
static bool rebuild_receipt(const struct claim *claim, char problem[ATTEST_PROBLEM]) {
	// These members follow from no others, so they are copied.
	static const char *const given[] = {"categories", "clusters_sha256", "model_name",
	                                    "public_key", "signature"};
	// Other members depend only on whether there are categories. So an empty list is enough.
	static const struct categories some;
	struct receipt receipt = claim->receipt;
	if (claim->categories) receipt.categories = &some;
	json_t *again =
	    receipt_json(&receipt, claim->attested.command_sha256, claim->attested.output_sha256);
	return attest_remade(&claim->attested, again, given, sizeof given / sizeof *given, problem);
}

/* ---- both together --------------------------------------------------------------------------- */

enum cuttle_status claim_read(struct attested *attested, struct claim *claim,
                              struct cuttle_error *error) {
	*claim = (struct claim){.attested = *attested};
	*attested = (struct attested){0};
	const bool right = read_members(claim);
	return attest_refuse(&claim->attested, right, error);
}

enum cuttle_status claim_check(struct claim *claim, const char *key, struct cuttle_error *error) {
	char member[ATTEST_PROBLEM];
	const char *problem = attest_signature(&claim->attested, key);
	if (!problem) problem = check_numbers(claim);
	if (!problem) problem = check_categories(claim);
	if (!problem) problem = check_charge(claim);
	if (!problem) problem = check_filters(claim);
	if (!problem && !rebuild_receipt(claim, member)) problem = member;
	return problem ? io_fail(error, CUTTLE_LEDGER, "%s: %s", file_shown(claim->attested.path),
	                         problem)
	               : CUTTLE_OK;
}

void claim_free(struct claim *claim) {
	free(claim->lots);
	free(claim->counts);
	free(claim->seats);
	attest_close(&claim->attested);
	*claim = (struct claim){0};
}
