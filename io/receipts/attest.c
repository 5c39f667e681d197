// SPDX-License-Identifier: Apache-2.0
// Reads members with jansson. attest_open refuses what another cuttle wrote, before anything else
// is asked of it.
#include "io/receipts/attest.h"

#include "base/utf8.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	MOST_RECEIPT = 1 << 20, /* bytes of the longest receipt that is read */
	MOST_PROBLEM = 96,      /* bytes for a phrase that says what is wrong */
	MOST_NAME = 32          /* bytes of a member's name that is shown */
};

/* ---- members --------------------------------------------------------------------------------- */

bool attest_count(const json_t *root, const char *key, uint64_t most, uint64_t *value) {
	const json_t *member = json_object_get(root, key);
	json_int_t number = json_integer_value(member);
	*value = number > 0 ? (uint64_t)number : 0;
	return json_is_integer(member) && number >= 0 && *value <= most;
}

bool attest_number(const json_t *root, const char *key, uint32_t *value) {
	uint64_t number;
	const bool right = attest_count(root, key, UINT32_MAX, &number);
	*value = (uint32_t)number;
	return right;
}

bool attest_real(const json_t *root, const char *key, double *value) {
	const json_t *member = json_object_get(root, key);
	*value = json_real_value(member);
	return json_is_real(member) && *value > 0 && isfinite(*value);
}

bool attest_flag(const json_t *root, const char *key, bool *value) {
	const json_t *member = json_object_get(root, key);
	*value = json_is_true(member);
	return json_is_boolean(member);
}

bool attest_text(const json_t *root, const char *key, const char **text) {
	*text = json_string_value(json_object_get(root, key));
	return *text != NULL;
}

bool attest_name(const json_t *root, const char *key, const char **text) {
	return attest_text(root, key, text) || json_is_null(json_object_get(root, key));
}

bool attest_hash(const json_t *root, const char *key, char hash[HASH_TEXT]) {
	const char *text;
	hash[0] = 0;
	if (!attest_text(root, key, &text) || strlen(text) != HASH_TEXT - 1) return false;
	memcpy(hash, text, HASH_TEXT);
	return strspn(hash, "0123456789abcdef") == HASH_TEXT - 1;
}

bool attest_date(const json_t *root, char date[RECEIPT_DATE]) {
	const char *text;
	struct tm day = {0};
	if (!attest_text(root, "date", &text) || !strptime(text, "%Y-%m-%d", &day)) return false;
	const time_t moment = timegm(&day);
	return strftime(date, RECEIPT_DATE, "%Y-%m-%d", gmtime_r(&moment, &day)) &&
	       !strcmp(date, text);
}

bool attest_charge(const json_t *root, const char *measure, struct receipt_ledger *ledger) {
	const json_t *member = json_object_get(root, "ledger");
	return json_is_null(member) || (attest_hash(member, "entry", ledger->entry) &&
	                                attest_real(member, measure, &ledger->rho));
}

bool attest_savings(const json_t *root, struct cuttle_savings *savings) {
	*savings = (struct cuttle_savings){.center = json_object_get(root, "center"),
	                                   .token_bank = json_object_get(root, "token_bank"),
	                                   .complete = json_object_get(root, "complete")};
	bool right = true;
	if (json_object_get(root, "public_when"))
		right &= attest_real(root, "public_when", &savings->public_when) &&
		         savings->public_when <= 1;
	const bool any = savings->complete || savings->public_when > 0 ||
	                 json_object_get(root, "grammar_sha256") ||
	                 json_object_get(root, "schema_sha256"),
	           named = json_object_get(root, "free_tokens");
	right &=
	    any == named && (!named || (attest_number(root, "free_tokens", &savings->free_tokens) &&
	                                savings->free_tokens > 0));
	return right;
}

bool attest_form(struct attested *attested, void *receipt) {
	(void)receipt;
	return !json_object_get(attested->root, "grammar_sha256") ||
	       !json_object_get(attested->root, "schema_sha256");
}

bool attest_bias(const json_t *root, struct receipt_bias *bias) {
	const json_t *member = json_object_get(root, "bias");
	if (!member) return true;
	bias->from_public = json_is_null(json_object_get(member, "rho"));
	return attest_hash(member, "sha256", bias->sha256) &&
	       attest_hash(member, "receipt_sha256", bias->receipt_sha256) &&
	       (bias->from_public || (attest_real(member, "rho", &bias->rho) &&
	                              attest_real(member, "epsilon", &bias->epsilon) &&
	                              attest_real(member, "delta", &bias->delta)));
}

const char *attest_bias_fault(const struct receipt_bias *bias) {
	struct cuttle_budget budget;
	if (!*bias->sha256 || bias->from_public) return NULL;
	cuttle_budget_none(&budget);
	budget.rho = bias->rho;
	budget.delta = bias->delta;
	return !cuttle_budget_solve(&budget, CUTTLE_EPSILON, NULL) &&
	               attest_confirm(bias->epsilon, budget.epsilon)
	           ? NULL
	           : "the epsilon of its bias does not follow from that one's rho and delta";
}

bool attest_stops(struct attested *attested, struct cuttle_stops *stops) {
	const json_t *list = json_object_get(attested->root, "stop");
	const size_t count = json_array_size(list);
	*stops = (struct cuttle_stops){.strings = attested->stops, .given = list != NULL};
	if (list && (!json_is_array(list) || count > CUTTLE_STOPS)) return false;
	while (stops->count < count) {
		const char *stop = json_string_value(json_array_get(list, stops->count));
		if (!stop || !*stop) return false;
		attested->stops[stops->count++] = stop;
	}
	return true;
}

bool attest_filters(const json_t *root, struct filters *filters, struct filter_counts *counts) {
	const json_t *member = json_object_get(root, "filters"),
	             *dropped = json_object_get(member, "dropped");
	const char *trim;
	if (!member) return true;
	if (!attest_text(member, "trim", &trim) || !json_is_object(dropped) ||
	    !attest_count(member, "drawn", INT64_MAX, &counts->drawn))
		return false;
	filters->trim = !strcmp(trim, "sentence");
	uint64_t left = counts->drawn;
	for (enum filter_rule rule = 0; rule < FILTER_RULES; rule++) {
		filters->drop[rule] = json_object_get(dropped, filters_name(rule)) != NULL;
		if (!filters->drop[rule]) continue;
		if (!attest_count(dropped, filters_name(rule), left, &counts->dropped[rule]))
			return false;
		left -= counts->dropped[rule];
	}
	return !filters_drop_any(filters) ||
	       attest_hash(root, "dropped_sha256", counts->dropped_sha256);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Whether it has what all receipts have. */
static bool looks_like_receipt(const json_t *root, const char **version) {
	const char *sentence;
	return attest_text(root, "version", version) && attest_text(root, "guarantee", &sentence);
}

/* Whether it is a receipt of another format, which has other members. Another version that writes
 * the same format is no stranger. */
static bool is_foreign_receipt(const json_t *root, const char *version) {
	uint64_t format;
	return !attest_count(root, "receipt", INT64_MAX, &format) || format != RECEIPT_FORMAT ||
	       !*version || strlen(version) > 16 ||
	       strspn(version, "0123456789.") != strlen(version);
}

static enum cuttle_status refuse_foreign(const char *path, const char *version,
                                         struct cuttle_error *error) {
	// Only digits and dots are shown: other characters of an unknown file might control the
	// terminal.
	const int digits = (int)strspn(version, "0123456789.");
	return io_fail(
	    error, CUTTLE_INPUT,
	    "%s: it was written by another cuttle, in another format (version %.*s; this "
	    "is %s, receipt format %d): use that one",
	    file_shown(path), digits < 16 ? digits : 16, version, cuttle_version(), RECEIPT_FORMAT);
}

enum cuttle_status attest_open(const char *path, struct attested *attested,
                               struct cuttle_error *error) {
	const char *version;
	*attested = (struct attested){.path = path};
	enum cuttle_status status =
	    file_read(path, MOST_RECEIPT, &attested->bytes, &attested->size, error);
	if (status) return status;
	attested->root = json_loadb(attested->bytes, attested->size, JSON_REJECT_DUPLICATES, NULL);
	if (!looks_like_receipt(attested->root, &version)) return CUTTLE_OK;
	if (!json_object_get(attested->root, "receipt"))
		return io_fail(error, CUTTLE_INPUT,
		               "%s: this is no receipt of cuttle: its format is not named (the "
		               "member \"receipt\")",
		               file_shown(path));
	if (is_foreign_receipt(attested->root, version))
		return refuse_foreign(path, version, error);
	// Versions up to 0.2.0 drew with one; the rules that made its numbers are gone.
	return json_object_get(attested->root, "token_prior")
	           ? io_fail(error, CUTTLE_INPUT,
	                     "%s: this receipt is of a token prior, which cuttle 0.2 no longer "
	                     "checks: use the version that wrote it",
	                     file_shown(path))
	           : CUTTLE_OK;
}

void attest_close(struct attested *attested) {
	json_decref(attested->root);
	free(attested->bytes);
	*attested = (struct attested){0};
}

bool attest_mechanism(const struct attested *attested, const char *name) {
	const char *mechanism;
	return attest_text(attested->root, "mechanism", &mechanism) && !strcmp(mechanism, name);
}

bool attest_words(struct attested *attested) {
	const json_t *root = attested->root;
	char hash[HASH_TEXT];
	bool right = attest_hash(root, "command_sha256", hash) &&
	             attest_text(root, "command_sha256", &attested->command_sha256);
	right &= attest_hash(root, "output_sha256", hash) &&
	         attest_text(root, "output_sha256", &attested->output_sha256);
	right &= attest_text(root, "guarantee", &attested->sentence);
	right &= attest_text(root, "public_key", &attested->public_key) ==
	         attest_text(root, "signature", &attested->signature);
	return right;
}

/* Whether bytes[size] are exactly those that cuttle writes for this document. */
static bool is_canonical(json_t *root, const char *bytes, size_t size) {
	size_t wanted;
	char *text = receipt_canonical(json_incref(root), &wanted);
	bool same = text && wanted == size && !memcmp(text, bytes, size);
	free(text);
	return same;
}

enum cuttle_status attest_refuse(const struct attested *attested, bool members,
                                 struct cuttle_error *error) {
	if (!members)
		return io_fail(error, CUTTLE_INPUT, "%s: it is no receipt, or lacks a field",
		               file_shown(attested->path));
	return is_canonical(attested->root, attested->bytes, attested->size)
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_LEDGER, "%s: its bytes are not those that cuttle writes",
	                     file_shown(attested->path));
}

/* ---- what a receipt says --------------------------------------------------------------------- */

bool attest_confirm(double claimed, double follows) {
	return claimed >= follows * (1 - 1e-12) && claimed <= follows * (1 + 1e-6);
}

/* ": NAME", or "" for a name of other characters than cuttle's: these might control a terminal. */
static const char *name_member(const char *key, char name[MOST_NAME + sizeof ": "]) {
	const size_t size = strlen(key);
	const bool plain =
	    size <= MOST_NAME && strspn(key, "abcdefghijklmnopqrstuvwxyz_0123456789") == size;
	(void)snprintf(name, MOST_NAME + sizeof ": ", "%s%s", plain ? ": " : "", plain ? key : "");
	return name;
}

/* Writes where the claimed document differs from the one made anew. */
static void name_difference(json_t *claimed, const json_t *again, char problem[MOST_PROBLEM]) {
	const char *key;
	json_t *value;
	char name[MOST_NAME + sizeof ": "];
	(void)snprintf(problem, MOST_PROBLEM, "it lacks a member");
	json_object_foreach(claimed, key, value) {
		const json_t *wanted = json_object_get(again, key);
		if (!wanted)
			(void)snprintf(problem, MOST_PROBLEM,
			               "it has a member that cuttle does not write%s",
			               name_member(key, name));
		else if (!json_equal(value, wanted))
			(void)snprintf(problem, MOST_PROBLEM,
			               "its %s does not follow from the rest", key);
	}
}

/* Copies a member, where there is one. False: out of memory. */
static bool copy_member(const struct attested *attested, const char *name, json_t *again) {
	json_t *value = json_object_get(attested->root, name);
	return !value || json_object_set(again, name, value) == 0;
}

/* The same of a member that is a string or wrong. */
static bool copy_own_word(const struct attested *attested, const char *name, json_t *again) {
	const char *text;
	return !attest_text(attested->root, name, &text) || copy_member(attested, name, again);
}

/* Whether the document is `again`, with the members that are given in it. Which version of the
 * format wrote it is its own word, and so is the key. */
static bool is_remade(const struct attested *attested, json_t *again, const struct member *members,
                      size_t count, char problem[MOST_PROBLEM]) {
	bool made = again && copy_own_word(attested, "public_key", again) &&
	            copy_own_word(attested, "version", again);
	for (size_t i = 0; made && i < count; i++)
		made = !members[i].given || copy_member(attested, members[i].name, again);
	const bool right = made && json_equal(again, attested->root);
	if (made) name_difference(attested->root, again, problem);
	else (void)snprintf(problem, MOST_PROBLEM, "out of memory");
	return right;
}

enum cuttle_status attest_conclude(const struct attested *attested, const char *problem,
                                   json_t *again, const struct member *members, size_t count,
                                   struct cuttle_error *error) {
	char difference[MOST_PROBLEM];
	const char *version = json_string_value(json_object_get(attested->root, "version"));
	const bool other = version && strcmp(version, cuttle_version()) != 0;
	if (!problem && !is_remade(attested, again, members, count, difference))
		problem = difference;
	json_decref(again);
	if (!problem) return CUTTLE_OK;
	return io_fail(error, CUTTLE_LEDGER, "%s: %s%s%s", file_shown(attested->path), problem,
	               other ? "; cuttle wrote it in version " : "", other ? version : "");
}

const char *attest_signature(const struct attested *attested, const char *key) {
	char signature[SIGNATURE_TEXT];
	size_t size;
	if (!attested->signature) return key ? "it has no signature" : NULL;
	if (key && strcmp(key, attested->public_key) != 0) return "it is signed with another key";
	if (strlen(attested->signature) >= sizeof signature) return "its signature is wrong";
	memcpy(signature, attested->signature, strlen(attested->signature) + 1);
	(void)json_object_del(attested->root, "signature");
	char *bytes = receipt_canonical(json_incref(attested->root), &size);
	const bool right = bytes && signature_right(attested->public_key, signature, bytes, size);
	free(bytes);
	return right ? NULL : "its signature is wrong: it was changed after it was signed";
}
