// SPDX-License-Identifier: Apache-2.0
// Builds the receipt of expand_receipt.h with jansson, and makes it anew from its members to check
// it. What the parent promised cannot be made anew here: expand_claim_parent compares it.
#include "io/expand_receipt.h"

#include "io/claim.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/jsonout.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Members of the parent's receipt that an expansion's repeats. */
static const char *const PROMISED[] = {"accountant", "adjacency",    "delta",      "epsilon",
                                       "rho",        "private",      "unit",       "unit_key",
                                       "dataset",    "unit_limited", "unit_weight"};
enum { PROMISES = sizeof PROMISED / sizeof *PROMISED };

void expand_sentence(const struct expand_receipt *receipt, char sentence[EXPAND_SENTENCE]) {
	if (!receipt->private_output) {
		(void)snprintf(sentence, EXPAND_SENTENCE, "%s.", RECEIPT_NOT_PRIVATE);
		return;
	}
	(void)snprintf(sentence, EXPAND_SENTENCE,
	               "Post-processing: these %zu texts were drawn from the public prompt alone, "
	               "with texts of an earlier output as examples. They cost nothing, and both "
	               "outputs together have the guarantee of the earlier one, which is: %s",
	               receipt->texts, receipt->parent_sentence);
}

json_t *expand_receipt_json(const struct expand_receipt *receipt, const char *fingerprint,
                            const char *output_sha256) {
	char sentence[EXPAND_SENTENCE];
	expand_sentence(receipt, sentence);
	json_t *parent =
	    json_pack("{s:s, s:s, s:s, s:s}", "command_sha256", receipt->parent_command,
	              "guarantee", receipt->parent_sentence, "output_sha256",
	              receipt->parent_output, "receipt_sha256", receipt->parent_receipt);
	const struct jsonout_member members[] = {
	    {"batch", json_integer(receipt->batch)},
	    {"clip_fixed", json_integer(receipt->clip_fixed)},
	    {"command_sha256", json_string(fingerprint)},
	    {"context", json_integer(receipt->context)},
	    {"date", json_string(receipt->date)},
	    {"examples", json_integer(receipt->examples)},
	    {"fraction_bits", json_integer(receipt->fraction_bits)},
	    {"gain", json_real(receipt->gain)},
	    {"guarantee", json_string(sentence)},
	    {"isa", json_string(receipt->isa)},
	    {"mechanism", json_string(EXPAND_MECHANISM)},
	    {"model_bytes", json_integer((json_int_t)receipt->model.file_bytes)},
	    {"model_name", jsonout_text(receipt->model.name, strlen(receipt->model.name))},
	    {"model_sha256", json_string(receipt->model_sha256)},
	    {"output_sha256", json_string(output_sha256)},
	    {"parent", parent},
	    {"receipt", json_integer(RECEIPT_FORMAT)},
	    {"seed",
	     receipt->seed == UINT64_MAX ? json_null() : json_integer((json_int_t)receipt->seed)},
	    {"temperature", json_real(receipt->temperature)},
	    {"template_sha256", json_string(receipt->template_sha256)},
	    {"texts", json_integer((json_int_t)receipt->texts)},
	    {"tokens", json_integer(receipt->tokens)},
	    {"top_k", json_integer(receipt->top_k)},
	    {"version", json_string(cuttle_version())},
	};
	json_t *stamp = json_pack(receipt->private_output ? "{}" : "{s:s}", "note", "NOT PRIVATE"),
	       *root = jsonout_extend(stamp, members, sizeof members / sizeof *members);
	for (size_t i = 0; i < PROMISES; i++) {
		json_t *value = json_object_get(receipt->promised, PROMISED[i]);
		root = jsonout_extend(
		    root,
		    &(struct jsonout_member){PROMISED[i], value ? json_incref(value) : json_null()},
		    1);
	}
	root = receipt_add_stops(root, &receipt->stops);
	return receipt_add_filters(root, &receipt->filters, &receipt->counts);
}

bool expand_fingerprint(const struct expand_receipt *receipt, const char *input,
                        const char *output_format, char fingerprint[HASH_TEXT]) {
	struct expand_receipt same = *receipt;
	same.isa = receipt_command_isa(receipt->isa);
	same.date[0] = 0;
	same.counts = (struct filter_counts){0};
	const struct jsonout_member members[] = {
	    {"input", jsonout_text(input, strlen(input))},
	    {"output_format", json_string(output_format)},
	};
	return receipt_hash_command(expand_receipt_json(&same, "", ""), members,
	                            sizeof members / sizeof *members, fingerprint);
}

/* ---- reading back ---------------------------------------------------------------------------- */

static bool take_law(const json_t *root, struct expand_receipt *receipt) {
	bool right = attest_real(root, "temperature", &receipt->temperature) &&
	             attest_real(root, "gain", &receipt->gain);
	right &= attest_number(root, "batch", &receipt->batch) && receipt->batch;
	right &= attest_number(root, "top_k", &receipt->top_k);
	right &= attest_number(root, "fraction_bits", &receipt->fraction_bits);
	right &= attest_number(root, "clip_fixed", &receipt->clip_fixed) && receipt->clip_fixed;
	return right;
}

static bool take_expansion(struct expand_claim *claim) {
	const json_t *root = claim->attested.root, *parent = json_object_get(root, "parent");
	struct expand_receipt *receipt = &claim->receipt;
	uint64_t texts = 0;
	receipt->promised = root;
	bool right = attest_mechanism(&claim->attested, EXPAND_MECHANISM) &&
	             take_law(root, receipt) && attest_words(&claim->attested);
	right &= attest_text(parent, "guarantee", &receipt->parent_sentence) &&
	         strlen(receipt->parent_sentence) < RECEIPT_SENTENCE;
	right &= attest_hash(parent, "receipt_sha256", receipt->parent_receipt) &&
	         attest_hash(parent, "output_sha256", receipt->parent_output);
	right &= attest_hash(parent, "command_sha256", receipt->parent_command) &&
	         attest_flag(root, "private", &receipt->private_output);
	right &= attest_number(root, "tokens", &receipt->tokens) &&
	         attest_number(root, "context", &receipt->context);
	right &= attest_number(root, "examples", &receipt->examples) && receipt->examples;
	right &= attest_count(root, "texts", SIZE_MAX / 2, &texts) && texts;
	right &= attest_count(root, "seed", INT64_MAX, &receipt->seed) &&
	         attest_text(root, "isa", &receipt->isa);
	right &= attest_count(root, "model_bytes", INT64_MAX, &receipt->model.file_bytes) &&
	         json_is_string(json_object_get(root, "model_name"));
	right &= attest_hash(root, "model_sha256", receipt->model_sha256) &&
	         attest_hash(root, "template_sha256", receipt->template_sha256);
	right &= attest_stops(&claim->attested, &receipt->stops);
	right &= attest_filters(root, &receipt->filters, &receipt->counts) &&
	         attest_date(root, receipt->date);
	receipt->texts = (size_t)texts;
	return right;
}

enum cuttle_status expand_claim_read(struct attested *attested, struct expand_claim *claim,
                                     struct cuttle_error *error) {
	*claim = (struct expand_claim){.attested = *attested};
	*attested = (struct attested){0};
	const bool right = take_expansion(claim);
	return attest_refuse(&claim->attested, right, error);
}

enum cuttle_status expand_claim_check(struct expand_claim *claim, const char *key,
                                      struct cuttle_error *error) {
	const struct expand_receipt *receipt = &claim->receipt;
	const char *problem = attest_signature(&claim->attested, key);
	const bool filtered = receipt->filters.trim || filters_drop_any(&receipt->filters);
	if (!problem && filtered && receipt->counts.drawn != receipt->texts)
		problem = "its filters do not add up to its texts";
	// These members follow from no others, so they are copied.
	static const char *const given[] = {"model_name", "public_key"};
	const struct attested *attested = &claim->attested;
	json_t *again = problem ? NULL
	                        : expand_receipt_json(&claim->receipt, attested->command_sha256,
	                                              attested->output_sha256);
	return attest_conclude(attested, problem, again, given, sizeof given / sizeof *given,
	                       error);
}

/* Whether the parent that was checked is the one that the expansion names, and promised what it
 * says. Returns what is wrong, or NULL. */
static const char *compare_parent(const struct expand_claim *claim, const struct claim *parent,
                                  const char *receipt_sha256) {
	const struct expand_receipt *receipt = &claim->receipt;
	if (strcmp(receipt_sha256, receipt->parent_receipt) != 0)
		return "it is another parent's receipt";
	if (strcmp(parent->attested.output_sha256, receipt->parent_output) != 0 ||
	    strcmp(parent->attested.command_sha256, receipt->parent_command) != 0 ||
	    strcmp(parent->attested.sentence, receipt->parent_sentence) != 0)
		return "the expansion's receipt says something else of it";
	for (size_t i = 0; i < PROMISES; i++)
		if (!json_equal(json_object_get(claim->attested.root, PROMISED[i]),
		                json_object_get(parent->attested.root, PROMISED[i])))
			return "the expansion's receipt promises something else";
	return NULL;
}

enum cuttle_status expand_claim_parent(const struct expand_claim *claim, const char *path,
                                       struct cuttle_error *error) {
	struct attested attested;
	struct claim parent = {0};
	char sha256[HASH_TEXT];
	enum cuttle_status status = attest_open(path, &attested, error);
	if (!status) {
		hash_of(attested.bytes, attested.size, sha256);
		status = claim_read(&attested, &parent, error);
	}
	if (!status) status = claim_check(&parent, NULL, error);
	const char *problem = status ? NULL : compare_parent(claim, &parent, sha256);
	if (problem) status = io_fail(error, CUTTLE_LEDGER, "%s: %s", path, problem);
	attest_close(&attested);
	claim_free(&parent);
	return status;
}
