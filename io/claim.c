// SPDX-License-Identifier: Apache-2.0
// How a receipt is checked (claim.h says what for):
//   claim_read    takes every member out and compares the bytes with the canonical ones;
//   claim_check   checks the signature, the accountants' numbers, the categories and the charge.
//                 Last it writes the whole receipt anew and compares that.
// A get_ function returns false where the member is missing or of the wrong type or range. The
// functions check_numbers, check_categories, check_charge and check_shards return what is wrong, or
// NULL. What does not depend on the mechanism is in io/attest.
#include "io/claim.h"

#include "base/utf8.h"
#include "engine/cuttle/prior.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/method.h"
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
	if (!json_object_get(member, "epsilon"))
		return attest_real(member, json_object_get(member, "loss") ? "loss" : "rho",
		                   &ledger->rho);
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
	// Owners are one cluster.
	const size_t count = claim->receipt.unit.key ? 1 : json_array_size(claim->categories);
	enum { STRIDE = sizeof(struct cuttle_lots) / sizeof(int64_t) };
	if (!member) return true;
	if (!count || count > MOST_CATEGORIES || (claim->receipt.unit.key && claim->categories))
		return false;
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

/* The receipt that is made anew says how many of the examples were drawn. */
static bool get_rounds(const json_t *root, uint32_t *places) {
	const json_t *member = json_object_get(root, "rounds");
	return !member || (attest_number(member, "examples", places) && *places >= 2);
}

/* A run without a token prior has no such member. */
static bool get_prior(const json_t *root, struct receipt *receipt) {
	const json_t *member = json_object_get(root, "token_prior");
	return !member ||
	       (attest_real(member, "rho", &receipt->guarantee.token_prior) &&
	        receipt->guarantee.token_prior > 0.0 &&
	        attest_count(member, "public_texts", INT64_MAX, &receipt->prior.public_texts) &&
	        attest_hash(member, "public_sha256", receipt->prior.public_sha256) &&
	        attest_count(member, "kept", INT64_MAX, &receipt->prior.kept));
}

/* Gets a number that may be null, as NaN. */
static bool get_real_or_null(const json_t *root, const char *key, double *value) {
	*value = NAN;
	return json_is_null(json_object_get(root, key)) || attest_real(root, key, value);
}

/* Of numbers any is taken, 0 and null too: which a method may have, check_method asks. */
static bool get_field(const json_t *parameters, const struct cuttle_method_field *field, void *at) {
	const json_t *member = json_object_get(parameters, field->name);
	switch (field->kind) {
	case CUTTLE_FIELD_REAL:
		if (json_is_null(member)) return true;
		*(double *)at = json_real_value(member);
		return json_is_real(member) && isfinite(*(double *)at);
	case CUTTLE_FIELD_FLAG:
		return attest_flag(parameters, field->name, (bool *)at);
	default:
		if (json_is_string(member) && !strcmp(json_string_value(member), "infinity")) {
			*(uint32_t *)at = UINT32_MAX;
			return true;
		}
		return attest_number(parameters, field->name, (uint32_t *)at);
	}
}

/* Method, parameters, vocabulary and what decides the claim's kind. Without "method" it is
 * InvisibleInk, and nothing else is read. The claim's numbers follow from the rest, so they are
 * made anew. */
static bool get_method(const json_t *root, struct cuttle_guarantee *guarantee) {
	const char *name;
	size_t count;
	unsigned method = 0;
	guarantee->method = CUTTLE_INVISIBLEINK;
	cuttle_method_params_none(&guarantee->method_params);
	if (!json_object_get(root, "method")) return true;
	if (!attest_text(root, "method", &name)) return false;
	while (method < CUTTLE_METHODS && strcmp(name, cuttle_method_name(method)) != 0) method++;
	if (method == CUTTLE_INVISIBLEINK || method == CUTTLE_METHODS) return false;
	guarantee->method = (enum cuttle_method)method;
	const struct cuttle_method_field *fields = cuttle_method_fields(&count);
	const json_t *parameters = json_object_get(root, "parameters");
	bool right =
	    attest_number(root, "vocabulary", &guarantee->vocabulary) && json_is_object(parameters);
	for (size_t i = 0; right && i < count; i++)
		if (fields[i].methods >> method & 1)
			right = get_field(parameters, &fields[i],
			                  (char *)&guarantee->method_params + fields[i].offset);
	return right;
}

/* What accountants say. Of a method that promises nothing all of it is null; of one that holds at
 * one order rho is. Another receipt with a null is not the one made anew. */
static bool get_accounts(const json_t *root, struct cuttle_guarantee *guarantee) {
	const char *accountant = "zcdp";
	bool right = !cuttle_method_promises(guarantee->method) ||
	             attest_text(root, "accountant", &accountant);
	const bool exact = right && !strcmp(accountant, "exact"),
	           renyi = right && !strcmp(accountant, "renyi");
	guarantee->accountant = exact ? CUTTLE_EXACT : renyi ? CUTTLE_RENYI : CUTTLE_ZCDP;
	guarantee->epsilon_exact = NAN;
	right &= exact || renyi || (right && !strcmp(accountant, "zcdp"));
	if (guarantee->method == CUTTLE_INVISIBLEINK)
		right &= !renyi && attest_real(root, "rho", &guarantee->rho);
	else right &= get_real_or_null(root, "rho", &guarantee->rho);
	double *epsilon = exact ? &guarantee->epsilon_exact : &guarantee->epsilon;
	right &= cuttle_method_promises(guarantee->method)
	             ? attest_real(root, "epsilon", epsilon)
	             : get_real_or_null(root, "epsilon", epsilon);
	return right &&
	       (exact ? attest_real(root, "epsilon_zcdp", &guarantee->epsilon)
	              : get_real_or_null(root, "epsilon_exact", &guarantee->epsilon_exact));
}

/* A method without a clip has null in its place. */
static bool get_clip(const json_t *root, struct cuttle_guarantee *guarantee) {
	uint64_t clip_fixed;
	if (guarantee->method != CUTTLE_INVISIBLEINK &&
	    json_is_null(json_object_get(root, "clip_fixed")))
		return true;
	if (!attest_number(root, "fraction_bits", &guarantee->fraction_bits) ||
	    guarantee->fraction_bits > 30 ||
	    !attest_count(root, "clip_fixed", INT32_MAX, &clip_fixed) || !clip_fixed)
		return false;
	guarantee->clip_fixed = (int32_t)clip_fixed;
	guarantee->clip = ldexp(guarantee->clip_fixed, -(int)guarantee->fraction_bits);
	return true;
}

static bool get_guarantee(const json_t *root, struct cuttle_guarantee *guarantee) {
	bool right = get_method(root, guarantee) && get_accounts(root, guarantee) &&
	             attest_flag(root, "private", &guarantee->private_output) &&
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
	return right && get_clip(root, guarantee) && guarantee->batch && guarantee->tokens;
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
	right &= attest_stops(&claim->attested, &receipt->stops);
	right &= get_rounds(root, &receipt->places_of_rounds);
	right = right && get_histogram(claim) && get_lots(claim) && get_prior(root, receipt);
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
	if (json_integer_value(json_object_get(json_object_get(claim->attested.root, "histogram"),
	                                       "rule")) != RECEIPT_SEATS)
		return "its batches follow from its counts by another rule: verify it with the "
		       "cuttle that wrote it";
	if (receipt->lot_count != 1 ||
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
		    (claim->categories &&
		     json_integer_value(json_object_get(json_array_get(claim->categories, c),
		                                        "texts")) != (json_int_t)seats[c].used))
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

/* Whether two accounts are the same: both unknown, or the claimed one follows. */
static bool confirm_or_null(double claimed, double follows) {
	return isnan(follows) ? isnan(claimed) : attest_confirm(claimed, follows);
}

/* The numbers of any method but InvisibleInk. Sets the claim, which the receipt that is made anew
 * tells. */
static const char *check_method(struct claim *claim) {
	struct cuttle_guarantee *guarantee = &claim->receipt.guarantee;
	struct cuttle_guarantee made = *guarantee;
	if (claim->receipt.unit.key || claim->receipt.lot_count || claim->receipt.histogram ||
	    guarantee->token_prior > 0.0)
		return "its method has no units, lots, private categories or token prior";
	made.spread = 1;
	if (cuttle_method_account(&made, NULL))
		return "the parameters of its method are out of range";
	if (guarantee->private_output && !cuttle_method_promises(guarantee->method))
		return "its method promises nothing";
	guarantee->claim = made.claim;
	if (!confirm_or_null(guarantee->rho, made.rho))
		return "rho does not follow from the parameters of its method";
	const bool composed = !isnan(guarantee->epsilon_exact);
	if (made.accountant != guarantee->accountant ||
	    !confirm_or_null(guarantee->epsilon, made.epsilon) ||
	    (composed && !confirm_or_null(guarantee->epsilon_exact, made.epsilon_exact)))
		return "epsilon does not follow from the parameters of its method and delta";
	return NULL;
}

static const char *check_numbers(struct claim *claim) {
	const struct cuttle_guarantee *guarantee = &claim->receipt.guarantee;
	const struct receipt_unit *unit = &claim->receipt.unit;
	struct cuttle_budget rho, epsilon, exact;
	double delta = guarantee->delta, known = guarantee->delta;
	if (!guarantee->reference_tokens || (uint64_t)guarantee->reference_tokens +
	                                            guarantee->tokens +
	                                            guarantee->savings.free_tokens >
	                                        guarantee->context)
		return "its context has no room for its tokens and reference_tokens";
	if (guarantee->method != CUTTLE_INVISIBLEINK) return check_method(claim);
	if (!(guarantee->gain >= 1.0 && guarantee->gain <= 3.0)) return "its gain is out of range";
	cuttle_budget_none(&rho);
	// To an accountant a gain is a clip of so much more.
	rho.clip = guarantee->clip * guarantee->gain;
	rho.temperature = guarantee->temperature;
	rho.batch = guarantee->batch;
	rho.tokens = guarantee->tokens;
	if (cuttle_budget_solve(&rho, CUTTLE_RHO, NULL)) return "its parameters are out of range";
	// A prior counts one record of a unit, and by one accountant (engine/cuttle/prior.h).
	if (guarantee->token_prior > 0.0 &&
	    (guarantee->token_prior > 100.0 || claim->receipt.lot_count ||
	     claim->receipt.histogram || unit->weight != 1 || !isnan(guarantee->epsilon_exact) ||
	     guarantee->accountant != CUTTLE_ZCDP))
		return "its token_prior does not go with its accountant, its lots or its unit";
	if (claim->receipt.histogram) return check_histogram_numbers(claim, rho);
	if (!attest_confirm(
	        guarantee->rho,
	        cuttle_prior_rho(guarantee->token_prior, units_multiply(unit->weight, rho.rho))))
		return "rho does not follow from clip, gain, batch, temperature, tokens, "
		       "unit_weight and token_prior";
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
static const char *check_filters(const struct claim *claim) {
	const struct receipt *receipt = &claim->receipt;
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
static const char *check_shards(const struct claim *claim) {
	const json_t *root = claim->attested.root,
	             *redraws = json_object_get(root, "shard_redraws"),
	             *tiers = json_object_get(root, "shard_isa");
	uint64_t shards;
	if (!json_object_get(root, "shards"))
		return tiers || redraws || json_object_get(root, "shard_sha256")
		           ? "it names shards, and not how many there are"
		           : NULL;
	bool right = attest_count(root, "shards", claim->receipt.texts, &shards) && shards &&
	             check_list(tiers, shards, false) &&
	             check_list(json_object_get(root, "shard_sha256"), shards, true);
	right = right && !strcmp(json_string_value(json_array_get(tiers, 0)), claim->receipt.isa) &&
	        (!redraws || json_is_array(redraws));
	for (size_t i = 0; right && i < json_array_size(redraws); i++)
		right = check_redraw(json_array_get(redraws, i), shards);
	for (size_t i = 0; right && i < shards; i++)
		right = !strcmp(receipt_command_isa(json_string_value(json_array_get(tiers, i))),
		                receipt_command_isa(claim->receipt.isa));
	return right ? NULL : "its shards do not agree with each other";
}

/* Makes the receipt anew from the members that were read. NULL: out of memory. */
static json_t *rebuild_receipt(const struct claim *claim) {
	// Other members depend only on whether there are categories. So an empty list is enough.
	static const struct categories some;
	struct receipt receipt = claim->receipt;
	if (claim->categories) receipt.categories = &some;
	receipt.former_words = strstr(claim->attested.sentence, RECEIPT_FORMER_WORDS) != NULL;
	return receipt_json(&receipt, claim->attested.command_sha256,
	                    claim->attested.output_sha256);
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
	const char *problem = attest_signature(&claim->attested, key);
	if (!problem) problem = check_numbers(claim);
	if (!problem) problem = check_categories(claim);
	if (!problem) problem = check_charge(claim);
	if (!problem) problem = check_filters(claim);
	if (!problem) problem = check_shards(claim);
	// These members follow from no others, so they are copied.
	static const char *const given[] = {"categories",   "clusters_sha256", "model_name",
	                                    "public_key",   "shard_isa",       "shard_redraws",
	                                    "shard_sha256", "shards",          "signature"};
	json_t *again = problem ? NULL : rebuild_receipt(claim);
	return attest_conclude(&claim->attested, problem, again, given,
	                       sizeof given / sizeof *given, error);
}

void claim_free(struct claim *claim) {
	free(claim->lots);
	free(claim->counts);
	free(claim->seats);
	attest_close(&claim->attested);
	*claim = (struct claim){0};
}
