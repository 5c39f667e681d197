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
	return json_is_null(member) || (attest_hash(member, "entry", ledger->entry) &&
	                                attest_real(member, "rho", &ledger->rho));
}

/* What filters did. Kept is checked by the receipt that is made anew. */
static bool get_filters(const json_t *root, struct receipt *receipt) {
	const json_t *member = json_object_get(root, "filters"),
	             *dropped = json_object_get(member, "dropped");
	const char *trim;
	if (!member) return true;
	if (!attest_text(member, "trim", &trim) || !json_is_object(dropped) ||
	    !attest_count(member, "drawn", INT64_MAX, &receipt->counts.drawn))
		return false;
	receipt->filters.trim = !strcmp(trim, "sentence");
	uint64_t left = receipt->counts.drawn;
	for (enum filter_rule rule = 0; rule < FILTER_RULES; rule++) {
		uint64_t *count = &receipt->counts.dropped[rule];
		receipt->filters.drop[rule] = json_object_get(dropped, filters_name(rule)) != NULL;
		if (!receipt->filters.drop[rule]) continue;
		if (!attest_count(dropped, filters_name(rule), left, count)) return false;
		left -= *count;
	}
	return !filters_drop_any(&receipt->filters) ||
	       attest_hash(root, "dropped_sha256", receipt->counts.dropped_sha256);
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
	         texts;
	right &= attest_count(root, "model_bytes", INT64_MAX, &receipt->model.file_bytes) &&
	         attest_text(root, "isa", &receipt->isa);
	right &= attest_hash(root, "model_sha256", receipt->model_sha256) &&
	         attest_hash(root, "template_sha256", receipt->template_sha256);
	right &= attest_words(&claim->attested);
	right &= get_filters(root, receipt);
	right &= attest_flag(root, "trace", &receipt->trace) && attest_date(root, receipt->date);
	right &=
	    attest_name(root, "dataset", &receipt->dataset) && get_ledger(root, &receipt->ledger);
	right &= !receipt->dataset || utf8_name(receipt->dataset, strlen(receipt->dataset));
	receipt->texts = (size_t)texts;
	return right;
}

/* ---- the numbers ----------------------------------------------------------------------------- */

static const char *check_numbers(const struct claim *claim) {
	const struct cuttle_guarantee *guarantee = &claim->receipt.guarantee;
	const struct receipt_unit *unit = &claim->receipt.unit;
	struct cuttle_budget rho, epsilon, exact;
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
	if (!attest_confirm(guarantee->rho, units_multiply(unit->weight, rho.rho)))
		return "rho does not follow from clip, gain, batch, temperature, tokens and "
		       "unit_weight";
	cuttle_budget_none(&epsilon);
	epsilon.rho = guarantee->rho;
	epsilon.delta = guarantee->delta;
	if (cuttle_budget_solve(&epsilon, CUTTLE_EPSILON, NULL))
		return "its parameters are out of range";
	if (!attest_confirm(guarantee->epsilon, epsilon.epsilon))
		return "the epsilon of zcdp does not follow from rho and delta";
	exact = rho;
	exact.rho = NAN;
	exact.delta = guarantee->delta;
	exact.accountant = CUTTLE_EXACT;
	const bool known = !isnan(guarantee->epsilon_exact);
	// Exact composition counts texts that read one record of the unit each. With several
	// records of a unit only a limit ensures that (io/places.h).
	if (known && unit->weight > 1 && !unit->limited)
		return "the epsilon of exact composition is not known of several records in one "
		       "text";
	if (known && unit->weight > UINT32_MAX / exact.tokens)
		return "its parameters are out of range";
	exact.tokens *= (uint32_t)unit->weight;
	if (known && cuttle_budget_solve(&exact, CUTTLE_EPSILON, NULL))
		return "its parameters are out of range";
	if (known && !attest_confirm(guarantee->epsilon_exact, exact.epsilon))
		return "the epsilon of exact composition does not follow from clip, tokens and "
		       "delta";
	return NULL;
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
	static const char *const given[] = {"categories", "model_name", "public_key", "signature"};
	// Other members depend only on whether there are categories. So an empty list is enough.
	static const struct categories some;
	struct receipt receipt = claim->receipt;
	json_t *value;
	if (claim->categories) receipt.categories = &some;
	json_t *again =
	    receipt_json(&receipt, claim->attested.command_sha256, claim->attested.output_sha256);
	bool made = again != NULL;
	for (size_t i = 0; made && i < sizeof given / sizeof *given; i++)
		if ((value = json_object_get(claim->attested.root, given[i])))
			made = json_object_set(again, given[i], value) == 0;
	const bool right = made && json_equal(again, claim->attested.root);
	if (made) attest_difference(claim->attested.root, again, problem);
	else (void)snprintf(problem, ATTEST_PROBLEM, "out of memory");
	json_decref(again);
	return right;
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
	attest_close(&claim->attested);
	*claim = (struct claim){0};
}
