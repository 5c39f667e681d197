// SPDX-License-Identifier: Apache-2.0
// Builds the receipt of evolve_receipt.h with jansson, and makes it anew from its members to check
// it.
#include "io/evolve_receipt.h"

#include "base/utf8.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/jsonout.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum cuttle_status evolve_settle(struct evolve_receipt *receipt, struct cuttle_error *error) {
	return cuttle_queries_cost(&receipt->votes, 1, receipt->delta, &receipt->rho,
	                           &receipt->epsilon, error);
}

void evolve_sentence(const struct evolve_receipt *receipt, char sentence[EVOLVE_SENTENCE]) {
	if (!receipt->private_output) {
		(void)snprintf(sentence, EVOLVE_SENTENCE, "%s.", RECEIPT_NOT_PRIVATE);
		return;
	}
	(void)snprintf(
	    sentence, EVOLVE_SENTENCE,
	    "The %zu texts are (epsilon, delta)-differentially private with epsilon = %.6g and "
	    "delta = %.6g (rho = %.6g of zCDP), where one record becomes null: all texts were "
	    "drawn "
	    "from public prompts, and records were asked %u times which of them %s nearest, with "
	    "noise.",
	    receipt->texts, jsonout_round_up(receipt->epsilon, 1e5), receipt->delta,
	    jsonout_round_up(receipt->rho, 1e6), (unsigned)receipt->votes.times,
	    receipt->votes.square > 1 ? "are" : "is");
}

static json_t *text_or_null(const char *text) {
	return text && *text ? json_string(text) : json_null();
}

json_t *evolve_receipt_json(const struct evolve_receipt *receipt, const char *fingerprint,
                            const char *output_sha256) {
	char sentence[EVOLVE_SENTENCE];
	evolve_sentence(receipt, sentence);
	json_t *ledger = *receipt->ledger.entry
	                     ? json_pack("{s:s, s:f}", "entry", receipt->ledger.entry, "rho",
	                                 receipt->ledger.rho)
	                     : json_null();
	const struct jsonout_member members[] = {
	    {"adjacency", json_string("one record becomes null")},
	    {"command_sha256", json_string(fingerprint)},
	    {"context", json_integer(receipt->context)},
	    {"dataset", text_or_null(receipt->dataset)},
	    {"date", json_string(receipt->date)},
	    {"delta", json_real(receipt->delta)},
	    {"epsilon", json_real(receipt->epsilon)},
	    {"generations", json_integer(receipt->votes.times)},
	    {"guarantee", json_string(sentence)},
	    {"isa", json_string(receipt->isa)},
	    {"ledger", ledger},
	    {"mechanism", json_string(EVOLVE_MECHANISM)},
	    {"model_bytes", json_integer((json_int_t)receipt->model.file_bytes)},
	    {"model_name", jsonout_text(receipt->model.name, strlen(receipt->model.name))},
	    {"model_sha256", json_string(receipt->model_sha256)},
	    {"neighbours", json_integer((json_int_t)receipt->votes.square)},
	    {"output_sha256", json_string(output_sha256)},
	    {"private", json_boolean(receipt->private_output)},
	    {"receipt", json_integer(RECEIPT_FORMAT)},
	    {"records", json_integer((json_int_t)receipt->records)},
	    {"rho", json_real(receipt->rho)},
	    {"seed",
	     receipt->seed == UINT64_MAX ? json_null() : json_integer((json_int_t)receipt->seed)},
	    {"temperature", json_real(receipt->temperature)},
	    {"template_sha256", json_string(receipt->template_sha256)},
	    {"texts", json_integer((json_int_t)receipt->texts)},
	    {"threshold", json_integer(receipt->threshold)},
	    {"tokens", json_integer(receipt->tokens)},
	    {"top_k", json_integer(receipt->top_k)},
	    {"unit", json_string("one record of the input")},
	    {"unit_key", text_or_null(receipt->unit_key)},
	    {"variance_den", json_integer(receipt->votes.den)},
	    {"variance_num", json_integer(receipt->votes.num)},
	    {"variations", json_integer(receipt->variations)},
	    {"version", json_string(cuttle_version())},
	};
	json_t *stamp = json_pack(receipt->private_output ? "{}" : "{s:s}", "note", "NOT PRIVATE");
	json_t *root = jsonout_extend(stamp, members, sizeof members / sizeof *members);
	return receipt_add_stops(root, &receipt->stops);
}

bool evolve_fingerprint(const struct evolve_receipt *receipt, const char *input,
                        const char *text_field, uint64_t insecure_seed,
                        char fingerprint[HASH_TEXT]) {
	struct evolve_receipt same = *receipt;
	same.isa = receipt_command_isa(receipt->isa);
	same.records = 0;
	same.date[0] = 0;
	same.dataset = NULL;
	same.ledger = (struct receipt_ledger){.entry = ""};
	const struct jsonout_member members[] = {
	    {"input", jsonout_text(input, strlen(input))},
	    {"text_field", jsonout_text(text_field, strlen(text_field))},
	    {"insecure_seed", json_integer((json_int_t)insecure_seed)},
	};
	return receipt_hash_command(evolve_receipt_json(&same, "", ""), members,
	                            sizeof members / sizeof *members, fingerprint);
}

/* ---- reading back ---------------------------------------------------------------------------- */

static bool take_votes(const json_t *root, struct evolve_receipt *receipt) {
	struct cuttle_query *votes = &receipt->votes;
	bool right = attest_number(root, "generations", &votes->times) && votes->times;
	right &=
	    attest_count(root, "neighbours", CUTTLE_MOST_VOTES, &votes->square) && votes->square;
	right &= attest_number(root, "variance_num", &votes->num) && votes->num;
	right &= attest_number(root, "variance_den", &votes->den) && votes->den;
	right &= attest_number(root, "variations", &receipt->variations) && receipt->variations;
	right &= attest_number(root, "threshold", &receipt->threshold);
	return right && attest_real(root, "delta", &receipt->delta) && receipt->delta < 1;
}

static bool take_evolution(struct evolve_claim *claim) {
	const json_t *root = claim->attested.root, *ledger = json_object_get(root, "ledger");
	struct evolve_receipt *receipt = &claim->receipt;
	uint64_t texts = 0, records = 0;
	bool right = attest_mechanism(&claim->attested, EVOLVE_MECHANISM) &&
	             take_votes(root, receipt) && attest_words(&claim->attested);
	right &= attest_flag(root, "private", &receipt->private_output) &&
	         attest_real(root, "temperature", &receipt->temperature);
	right &= attest_number(root, "top_k", &receipt->top_k) &&
	         attest_number(root, "tokens", &receipt->tokens) &&
	         attest_number(root, "context", &receipt->context);
	right &= attest_count(root, "texts", SIZE_MAX / 2, &texts) && texts;
	right &= attest_count(root, "records", SIZE_MAX / 2, &records) && records;
	right &= attest_count(root, "seed", INT64_MAX, &receipt->seed) &&
	         attest_text(root, "isa", &receipt->isa);
	right &= attest_count(root, "model_bytes", INT64_MAX, &receipt->model.file_bytes) &&
	         json_is_string(json_object_get(root, "model_name"));
	right &= attest_hash(root, "model_sha256", receipt->model_sha256) &&
	         attest_hash(root, "template_sha256", receipt->template_sha256);
	right &= attest_name(root, "unit_key", &receipt->unit_key) &&
	         attest_name(root, "dataset", &receipt->dataset) &&
	         attest_date(root, receipt->date);
	right &= !receipt->dataset || utf8_name(receipt->dataset, strlen(receipt->dataset));
	right &= json_is_null(ledger) || (attest_hash(ledger, "entry", receipt->ledger.entry) &&
	                                  attest_real(ledger, "rho", &receipt->ledger.rho));
	right &= attest_stops(&claim->attested, &receipt->stops);
	receipt->texts = (size_t)texts;
	receipt->records = (size_t)records;
	return right;
}

enum cuttle_status evolve_claim_read(struct attested *attested, struct evolve_claim *claim,
                                     struct cuttle_error *error) {
	*claim = (struct evolve_claim){.attested = *attested};
	*attested = (struct attested){0};
	const bool right = take_evolution(claim);
	return attest_refuse(&claim->attested, right, error);
}

static const char *check_evolve_charge(const struct evolve_receipt *receipt) {
	if (!*receipt->ledger.entry) return NULL;
	if (!receipt->dataset) return "it has an entry in a ledger and no data set";
	if (!receipt->private_output) return "a ledger counts private outputs only";
	return receipt->ledger.rho >= receipt->rho ? NULL
	                                           : "the ledger charged less than the votes cost";
}

enum cuttle_status evolve_claim_check(struct evolve_claim *claim, const char *key,
                                      struct cuttle_error *error) {
	const char *problem = attest_signature(&claim->attested, key);
	if (!problem && evolve_settle(&claim->receipt, NULL))
		problem = "its parameters are out of range";
	if (!problem) problem = check_evolve_charge(&claim->receipt);
	// These members follow from no others, so they are copied.
	static const char *const given[] = {"model_name", "public_key"};
	const struct attested *attested = &claim->attested;
	json_t *again = problem ? NULL
	                        : evolve_receipt_json(&claim->receipt, attested->command_sha256,
	                                              attested->output_sha256);
	return attest_conclude(attested, problem, again, given, sizeof given / sizeof *given,
	                       error);
}
