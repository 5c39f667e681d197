// SPDX-License-Identifier: Apache-2.0
// How a receipt of cuttle perturb is checked: its parameters are taken out, the guarantee is made
// anew from them, and at last the whole receipt is written again and compared.
#include "io/word_claim.h"

#include "base/utf8.h"
#include "io/fail.h"
#include "io/file.h"
#include <math.h>
#include <string.h>

static bool take_choice(const json_t *root, const char *key, const char *const names[],
                        size_t count, unsigned *number) {
	const char *name;
	if (!attest_text(root, key, &name)) return false;
	for (*number = 0; *number < count; ++*number)
		if (!strcmp(names[*number], name)) return true;
	return false;
}

/* Gets a share from 0 to 1. */
static bool take_share(const json_t *root, const char *key, double *value) {
	const json_t *member = json_object_get(root, key);
	*value = json_real_value(member);
	return json_is_real(member) && *value >= 0 && *value <= 1;
}

/* Gets what the method has of its own. */
static bool take_baseline(const json_t *root, struct word_receipt *receipt) {
	struct cuttle_perturb_params *params = &receipt->params;
	const json_t *baseline = json_object_get(root, "baseline"),
	             *scale = json_object_get(baseline, "scale");
	const char *radius;
	switch (params->method) {
	case CUTTLE_RANTEXT:
		if (!attest_text(baseline, "radius", &radius)) return false;
		params->paper_radius = !strcmp(radius, "paper");
		receipt->guarantee.list_scale = json_is_null(scale) ? NAN : json_real_value(scale);
		return params->paper_radius ||
		       take_share(baseline, "list_share", &params->list_share);
	case CUTTLE_SANTEXT_PLUS:
		return take_share(baseline, "keep_share", &params->keep_share) &&
		       attest_hash(baseline, "sensitive_sha256", receipt->sensitive_sha256);
	case CUTTLE_CUSTEXT_PLUS:
		if (!attest_hash(baseline, "stop_words_sha256", receipt->stop_words_sha256))
			return false;
		return attest_number(baseline, "set_size", &params->set_size);
	case CUTTLE_CUSTEXT:
		return attest_number(baseline, "set_size", &params->set_size);
	case CUTTLE_RANK:
	case CUTTLE_SANTEXT:
		break;
	}
	return json_is_null(baseline);
}

static bool take_params(const json_t *root, struct word_receipt *receipt) {
	struct cuttle_perturb_params *params = &receipt->params;
	const json_t *table = json_object_get(root, "table");
	const char *note;
	unsigned method = 0, kind = 0;
	bool right = take_choice(root, "method", WORD_METHOD_NAMES, WORD_METHODS, &method);
	params->method = (enum cuttle_word_method)method;
	right &= attest_number(root, "epsilon_millionths", &params->epsilon_millionths);
	// A seed shows in the note alone. Whether the output is private follows.
	params->insecure = attest_text(root, "note", &note) && !strcmp(note, "NOT PRIVATE");
	if (params->method == CUTTLE_RANK) {
		right &= take_choice(table, "kind", WORD_TABLE_NAMES, WORD_TABLES, &kind);
		params->table = (enum cuttle_rank_table)kind;
		right &= kind == CUTTLE_ENVELOPE || attest_number(table, "k", &params->near);
	}
	return right && take_baseline(root, receipt);
}

/* Gets the model, or that there was none. */
static bool take_model(const json_t *root, struct word_receipt *receipt) {
	if (json_is_null(json_object_get(root, "model_name")))
		return json_is_null(json_object_get(root, "model_sha256"));
	return attest_text(root, "model_name", &receipt->model_name) &&
	       attest_hash(root, "model_sha256", receipt->model_sha256) &&
	       attest_count(root, "model_bytes", INT64_MAX, &receipt->model_bytes);
}

static bool take_word_members(struct word_claim *claim) {
	const json_t *root = claim->attested.root, *ledger = json_object_get(root, "ledger"),
	             *longest = json_object_get(root, "record_words");
	struct word_receipt *receipt = &claim->receipt;
	uint64_t records = 0, vector = 0;
	bool right = take_params(root, receipt) && take_model(root, receipt);
	right &= attest_number(root, "words", &receipt->guarantee.words);
	right &=
	    json_is_null(longest) || (attest_number(root, "record_words", &receipt->record_words) &&
	                              receipt->record_words > 0);
	right &= attest_flag(root, "pad", &receipt->pad);
	right &= attest_flag(root, "keep_punctuation", &receipt->keep_punctuation);
	right &= attest_flag(root, "keep_numbers", &receipt->keep_numbers);
	right &= attest_count(root, "records", SIZE_MAX / 2, &records) && records;
	right &= attest_count(root, "vector", SIZE_MAX / 2, &vector);
	receipt->records = (size_t)records;
	receipt->vector = (size_t)vector;
	right &= attest_text(root, "isa", &receipt->isa);
	right &= attest_name(root, "id_field", &receipt->id_field);
	right &= attest_name(root, "unit_key", &receipt->unit_key);
	right &= attest_hash(root, "words_sha256", receipt->words_sha256);
	right &=
	    attest_date(root, receipt->date) && attest_name(root, "dataset", &receipt->dataset);
	right &= !receipt->dataset || utf8_name(receipt->dataset, strlen(receipt->dataset));
	right &= json_is_null(ledger) || (attest_hash(ledger, "entry", receipt->ledger.entry) &&
	                                  attest_real(ledger, "rho", &receipt->ledger.rho));
	return attest_words(&claim->attested) && right;
}

/* ---- the numbers ----------------------------------------------------------------------------- */

/* Makes the guarantee anew. Returns what is wrong, or NULL. */
static const char *remake_guarantee(struct word_receipt *receipt) {
	const double scale = receipt->guarantee.list_scale;
	if (receipt->pad &&
	    (!receipt->record_words || receipt->keep_punctuation || receipt->keep_numbers))
		return "records are padded to a number of words, and nothing of their shape stays";
	if (cuttle_perturb_budget(&receipt->params, receipt->guarantee.words,
	                          receipt->pad ? receipt->record_words : 0, &receipt->guarantee,
	                          NULL))
		return "its parameters are out of range";
	if (receipt->params.method == CUTTLE_RANTEXT) receipt->guarantee.list_scale = scale;
	return NULL;
}

static const char *check_word_charge(const struct word_receipt *receipt) {
	if (!*receipt->ledger.entry) return NULL;
	if (!receipt->dataset) return "it has an entry in a ledger and no data set";
	if (!word_receipt_counts(receipt)) return "a ledger counts proven guarantees only";
	return receipt->ledger.rho >= word_receipt_charge(receipt)
	           ? NULL
	           : "the ledger charged less than a record costs";
}

enum cuttle_status word_claim_read(struct attested *attested, struct word_claim *claim,
                                   struct cuttle_error *error) {
	*claim = (struct word_claim){.attested = *attested, .receipt.guarantee.list_scale = NAN};
	*attested = (struct attested){0};
	cuttle_perturb_params_default(&claim->receipt.params);
	const bool right = take_word_members(claim);
	return attest_refuse(&claim->attested, right, error);
}

enum cuttle_status word_claim_check(struct word_claim *claim, const char *key,
                                    struct cuttle_error *error) {
	const char *problem = attest_signature(&claim->attested, key);
	if (!problem) problem = remake_guarantee(&claim->receipt);
	if (!problem) problem = check_word_charge(&claim->receipt);
	// This member follows from no others, so it is copied.
	static const char *const given[] = {"public_key"};
	const struct attested *attested = &claim->attested;
	const char *adjacency;
	claim->receipt.former_words = attest_text(attested->root, "adjacency", &adjacency) &&
	                              !strcmp(adjacency, WORD_FORMER_ADJACENCY);
	json_t *again = problem ? NULL
	                        : word_receipt_json(&claim->receipt, attested->command_sha256,
	                                            attested->output_sha256);
	return attest_conclude(attested, problem, again, given, sizeof given / sizeof *given,
	                       error);
}

void word_claim_free(struct word_claim *claim) {
	attest_close(&claim->attested);
}
