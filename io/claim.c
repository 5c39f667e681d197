// SPDX-License-Identifier: Apache-2.0
// How a receipt is checked (claim.h says what for):
//   claim_read    takes every member out (get_ functions) and compares the bytes with the canonical
//                 ones;
//   claim_check   checks the signature, the accountants' numbers, the categories and the charge.
//                 Last it writes the whole receipt anew and compares that.
// A get_ function returns false where the member is missing or of the wrong type or range. The
// functions check_signature, check_numbers, check_categories and check_charge return what is wrong,
// or NULL.
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

enum {
	MOST_RECEIPT = 1 << 20, /* bytes of the longest receipt that is read */
	PROBLEM = 96            /* bytes for a phrase that says what is wrong */
};

static bool get_count(const json_t *root, const char *key, uint64_t most, uint64_t *value) {
	const json_t *member = json_object_get(root, key);
	json_int_t number = json_integer_value(member);
	*value = number > 0 ? (uint64_t)number : 0;
	return json_is_integer(member) && number >= 0 && *value <= most;
}

static bool get_number(const json_t *root, const char *key, uint32_t *value) {
	uint64_t number;
	const bool right = get_count(root, key, UINT32_MAX, &number);
	*value = (uint32_t)number;
	return right;
}

static bool get_real(const json_t *root, const char *key, double *value) {
	const json_t *member = json_object_get(root, key);
	*value = json_real_value(member);
	return json_is_real(member) && *value > 0 && isfinite(*value);
}

static bool get_flag(const json_t *root, const char *key, bool *value) {
	const json_t *member = json_object_get(root, key);
	*value = json_is_true(member);
	return json_is_boolean(member);
}

static bool get_text(const json_t *root, const char *key, const char **text) {
	*text = json_string_value(json_object_get(root, key));
	return *text != NULL;
}

/* Gets a string, or null as NULL. */
static bool get_name(const json_t *root, const char *key, const char **text) {
	return get_text(root, key, text) || json_is_null(json_object_get(root, key));
}

static bool get_hash(const json_t *root, const char *key, char hash[HASH_TEXT]) {
	const char *text;
	hash[0] = 0;
	if (!get_text(root, key, &text) || strlen(text) != HASH_TEXT - 1) return false;
	memcpy(hash, text, HASH_TEXT);
	return strspn(hash, "0123456789abcdef") == HASH_TEXT - 1;
}

static bool get_date(const json_t *root, char date[RECEIPT_DATE]) {
	const char *text;
	struct tm day = {0};
	if (!get_text(root, "date", &text) || !strptime(text, "%Y-%m-%d", &day)) return false;
	const time_t moment = timegm(&day);
	return strftime(date, RECEIPT_DATE, "%Y-%m-%d", gmtime_r(&moment, &day)) &&
	       !strcmp(date, text);
}

/* Gets the ways to spend better (struct cuttle_savings). A receipt names only those that are on. */
static bool get_savings(const json_t *root, struct cuttle_savings *savings) {
	*savings = (struct cuttle_savings){.center = json_object_get(root, "center"),
	                                   .token_bank = json_object_get(root, "token_bank"),
	                                   .complete = json_object_get(root, "complete")};
	bool right = true;
	if (json_object_get(root, "public_when"))
		right &= get_real(root, "public_when", &savings->public_when) &&
		         savings->public_when <= 1;
	const bool any = savings->complete || savings->public_when > 0,
	           named = json_object_get(root, "free_tokens");
	right &=
	    any == named && (!named || (get_number(root, "free_tokens", &savings->free_tokens) &&
	                                savings->free_tokens > 0));
	return right;
}

static bool get_unit(const json_t *root, struct receipt_unit *unit) {
	bool right = get_name(root, "unit_key", &unit->key) &&
	             get_flag(root, "unit_limited", &unit->limited);
	right &= get_count(root, "unit_weight", INT64_MAX, &unit->weight) && unit->weight > 0;
	// Without a key a unit is one record. It costs what one text costs, and has no limit.
	return right && (unit->key || (unit->weight == 1 && !unit->limited));
}

static bool get_ledger(const json_t *root, struct receipt_ledger *ledger) {
	const json_t *member = json_object_get(root, "ledger");
	return json_is_null(member) ||
	       (get_hash(member, "entry", ledger->entry) && get_real(member, "rho", &ledger->rho));
}

static bool get_guarantee(const json_t *root, struct cuttle_guarantee *guarantee) {
	const char *accountant;
	uint64_t clip_fixed;
	bool right = get_text(root, "accountant", &accountant);
	const bool exact = right && !strcmp(accountant, "exact");
	guarantee->accountant = exact ? CUTTLE_EXACT : CUTTLE_ZCDP;
	guarantee->epsilon_exact = NAN;
	right &= exact || (right && !strcmp(accountant, "zcdp"));
	right &= get_flag(root, "private", &guarantee->private_output);
	right &= get_real(root, "epsilon", exact ? &guarantee->epsilon_exact : &guarantee->epsilon);
	if (exact) right &= get_real(root, "epsilon_zcdp", &guarantee->epsilon);
	else if (!json_is_null(json_object_get(root, "epsilon_exact")))
		right &= get_real(root, "epsilon_exact", &guarantee->epsilon_exact);
	right &=
	    get_real(root, "rho", &guarantee->rho) && get_real(root, "delta", &guarantee->delta);
	right &= get_real(root, "temperature", &guarantee->temperature) &&
	         get_savings(root, &guarantee->savings);
	right &= get_number(root, "batch", &guarantee->batch) &&
	         get_number(root, "tokens", &guarantee->tokens);
	right &= get_number(root, "top_k", &guarantee->top_k) &&
	         get_number(root, "context", &guarantee->context);
	right &= get_number(root, "reference_tokens", &guarantee->reference_tokens);
	right &= get_number(root, "fraction_bits", &guarantee->fraction_bits) &&
	         guarantee->fraction_bits <= 30;
	right &= get_count(root, "clip_fixed", INT32_MAX, &clip_fixed) && clip_fixed;
	guarantee->clip_fixed = (int32_t)clip_fixed;
	guarantee->clip = ldexp(guarantee->clip_fixed, -(int)guarantee->fraction_bits);
	return right && guarantee->batch && guarantee->tokens;
}

static bool read_members(struct claim *claim) {
	const json_t *root = claim->root;
	struct receipt *receipt = &claim->receipt;
	const json_t *categories = json_object_get(root, "categories");
	uint64_t texts = 0;
	claim->categories = json_is_array(categories) ? categories : NULL;
	bool right = get_guarantee(root, &receipt->guarantee) && get_unit(root, &receipt->unit);
	right &= (claim->categories || json_is_null(categories)) &&
	         json_is_string(json_object_get(root, "model_name"));
	right &= get_count(root, receipt->guarantee.savings.token_bank ? "batches" : "texts",
	                   SIZE_MAX / 2, &texts) &&
	         texts;
	right &= get_count(root, "model_bytes", INT64_MAX, &receipt->model.file_bytes) &&
	         get_text(root, "isa", &receipt->isa);
	right &= get_hash(root, "model_sha256", receipt->model_sha256) &&
	         get_hash(root, "template_sha256", receipt->template_sha256);
	right &= get_text(root, "command_sha256", &claim->command_sha256) &&
	         get_text(root, "output_sha256", &claim->output_sha256);
	right &= get_text(root, "guarantee", &claim->sentence);
	right &= get_flag(root, "trace", &receipt->trace) && get_date(root, receipt->date);
	right &= get_name(root, "dataset", &receipt->dataset) && get_ledger(root, &receipt->ledger);
	right &= !receipt->dataset || utf8_name(receipt->dataset, strlen(receipt->dataset));
	right &= get_text(root, "public_key", &claim->public_key) ==
	         get_text(root, "signature", &claim->signature);
	receipt->texts = (size_t)texts;
	return right;
}

/* Whether it is a receipt of another version or format. Such a program may write other members, or
 * compute other numbers. */
static bool is_foreign_receipt(const json_t *root, const char **version) {
	uint64_t format;
	const char *sentence;
	if (!get_text(root, "version", version) || !get_text(root, "guarantee", &sentence))
		return false;
	return !get_count(root, "receipt", INT64_MAX, &format) || format != RECEIPT_FORMAT ||
	       strcmp(*version, cuttle_version()) != 0;
}

/* ---- the numbers ----------------------------------------------------------------------------- */

/* Whether a claimed number is the one that follows from the rest. It must not be smaller, but
 * for rounding (1e-12). It may be larger by one part in a million: a still larger one belongs to
 * other parameters. Two things may rightly make it larger, but far less: the mechanism's own
 * margin, and the rounding of the receipt's digits. The margin is 1e-9 of a step's loss, which
 * enters rho squared. */
static bool confirm_number(double claimed, double follows) {
	return claimed >= follows * (1 - 1e-12) && claimed <= follows * (1 + 1e-6);
}

static const char *check_numbers(const struct claim *claim) {
	const struct cuttle_guarantee *guarantee = &claim->receipt.guarantee;
	const struct receipt_unit *unit = &claim->receipt.unit;
	struct cuttle_budget rho, epsilon, exact;
	if (!guarantee->reference_tokens || (uint64_t)guarantee->reference_tokens +
	                                            guarantee->tokens +
	                                            guarantee->savings.free_tokens >
	                                        guarantee->context)
		return "its context has no room for its tokens and reference_tokens";
	cuttle_budget_none(&rho);
	rho.clip = guarantee->clip;
	rho.temperature = guarantee->temperature;
	rho.batch = guarantee->batch;
	rho.tokens = guarantee->tokens;
	if (cuttle_budget_solve(&rho, CUTTLE_RHO, NULL)) return "its parameters are out of range";
	if (!confirm_number(guarantee->rho, units_multiply(unit->weight, rho.rho)))
		return "rho does not follow from clip, batch, temperature, tokens and unit_weight";
	cuttle_budget_none(&epsilon);
	epsilon.rho = guarantee->rho;
	epsilon.delta = guarantee->delta;
	if (cuttle_budget_solve(&epsilon, CUTTLE_EPSILON, NULL))
		return "its parameters are out of range";
	if (!confirm_number(guarantee->epsilon, epsilon.epsilon))
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
	if (known && !confirm_number(guarantee->epsilon_exact, exact.epsilon))
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

/* Whether bytes[size] are exactly those that cuttle writes for this document. */
static bool is_canonical(json_t *root, const char *bytes, size_t size) {
	size_t wanted;
	char *text = receipt_canonical(json_incref(root), &wanted);
	bool same = text && wanted == size && !memcmp(text, bytes, size);
	free(text);
	return same;
}

/* Writes into `problem` where the claimed receipt differs from the one made anew. */
static void name_difference(json_t *claimed, const json_t *again, char problem[PROBLEM]) {
	const char *key;
	json_t *value;
	(void)snprintf(problem, PROBLEM, "it lacks a member");
	json_object_foreach(claimed, key, value) {
		const json_t *wanted = json_object_get(again, key);
		if (!wanted)
			(void)snprintf(problem, PROBLEM,
			               "it has a member that cuttle does not write");
		else if (!json_equal(value, wanted))
			(void)snprintf(problem, PROBLEM, "its %s does not follow from the rest",
			               key);
	}
}

/* Makes the receipt anew from the members that were read, and compares. False: they differ; what is
 * wrong goes into `problem`. */
static bool rebuild_receipt(const struct claim *claim, char problem[PROBLEM]) {
	// These members follow from no others, so they are copied.
	static const char *const given[] = {"categories", "model_name", "public_key", "signature"};
	// Other members depend only on whether there are categories. So an empty list is enough.
	static const struct categories some;
	struct receipt receipt = claim->receipt;
	json_t *value;
	if (claim->categories) receipt.categories = &some;
	json_t *again = receipt_json(&receipt, claim->command_sha256, claim->output_sha256);
	bool made = again != NULL;
	for (size_t i = 0; made && i < sizeof given / sizeof *given; i++)
		if ((value = json_object_get(claim->root, given[i])))
			made = json_object_set(again, given[i], value) == 0;
	const bool right = made && json_equal(again, claim->root);
	if (made) name_difference(claim->root, again, problem);
	else (void)snprintf(problem, PROBLEM, "out of memory");
	json_decref(again);
	return right;
}

/* Takes the signature out of the document, because the rest is the text that was signed. */
static const char *check_signature(const struct claim *claim, const char *key) {
	char signature[SIGNATURE_TEXT];
	size_t size;
	if (!claim->signature) return key ? "it has no signature" : NULL;
	if (key && strcmp(key, claim->public_key) != 0) return "it is signed with another key";
	if (strlen(claim->signature) >= sizeof signature) return "its signature is wrong";
	memcpy(signature, claim->signature, strlen(claim->signature) + 1);
	(void)json_object_del(claim->root, "signature");
	char *bytes = receipt_canonical(json_incref(claim->root), &size);
	const bool right = bytes && signature_right(claim->public_key, signature, bytes, size);
	free(bytes);
	return right ? NULL : "its signature is wrong: it was changed after it was signed";
}

/* ---- both together --------------------------------------------------------------------------- */

static enum cuttle_status refuse_foreign(const char *path, const char *version,
                                         struct cuttle_error *error) {
	// Only digits and dots are shown: other characters of an unknown file might control the
	// terminal.
	const int digits = (int)strspn(version, "0123456789.");
	return io_fail(error, CUTTLE_INPUT,
	               "%s: it was written by another cuttle (version %.*s; this is %s, receipt "
	               "format %d): verify it with that one",
	               file_shown(path), digits < 16 ? digits : 16, version, cuttle_version(),
	               RECEIPT_FORMAT);
}

enum cuttle_status claim_read(const char *path, struct claim *claim, struct cuttle_error *error) {
	char *bytes;
	const char *version;
	size_t size;
	*claim = (struct claim){.path = path};
	enum cuttle_status status = file_read(path, MOST_RECEIPT, &bytes, &size, error);
	if (status) return status;
	claim->root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
	if (is_foreign_receipt(claim->root, &version))
		status = refuse_foreign(path, version, error);
	else if (!read_members(claim))
		status = io_fail(error, CUTTLE_INPUT, "%s: it is no receipt, or lacks a field",
		                 file_shown(path));
	else if (!is_canonical(claim->root, bytes, size))
		status =
		    io_fail(error, CUTTLE_LEDGER, "%s: its bytes are not those that cuttle writes",
		            file_shown(path));
	free(bytes);
	return status;
}

enum cuttle_status claim_check(struct claim *claim, const char *key, struct cuttle_error *error) {
	char member[PROBLEM];
	const char *problem = check_signature(claim, key);
	if (!problem) problem = check_numbers(claim);
	if (!problem) problem = check_categories(claim);
	if (!problem) problem = check_charge(claim);
	if (!problem && !rebuild_receipt(claim, member)) problem = member;
	return problem ? io_fail(error, CUTTLE_LEDGER, "%s: %s", file_shown(claim->path), problem)
	               : CUTTLE_OK;
}

void claim_free(struct claim *claim) {
	json_decref(claim->root);
	*claim = (struct claim){0};
}
