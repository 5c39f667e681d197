// SPDX-License-Identifier: Apache-2.0
// The sentence and the members of evolve_receipt.h.
#include "io/receipts/evolve_receipt.h"

#include "io/disk/jsonout.h"
#include "io/records/units.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum cuttle_status evolve_settle(struct evolve_receipt *receipt, struct cuttle_error *error) {
	return cuttle_queries_cost(&receipt->votes, 1, receipt->delta, &receipt->rho,
	                           &receipt->epsilon, error);
}

/* The sentence in earlier words. */
static void tell_former_evolution(const struct evolve_receipt *receipt,
                                  char sentence[EVOLVE_SENTENCE]) {
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

void evolve_sentence(const struct evolve_receipt *receipt, char sentence[EVOLVE_SENTENCE]) {
	char scope[64], delta[UNITS_NUMBER];
	if (!receipt->private_output) {
		(void)snprintf(sentence, EVOLVE_SENTENCE, "%s.", RECEIPT_NOT_PRIVATE);
		return;
	}
	if (receipt->wording != RECEIPT_NOW) {
		tell_former_evolution(receipt, sentence);
		return;
	}
	(void)snprintf(scope, sizeof scope, "for all %zu texts together", receipt->texts);
	receipt_promise_texts(&(struct receipt_promise){.scope = scope,
	                                                .otherwise = "without any one record",
	                                                .epsilon = receipt->epsilon,
	                                                .delta = receipt->delta},
	                      sentence, EVOLVE_SENTENCE);
	units_print(receipt->delta, true, delta);
	const size_t used = strlen(sentence);
	(void)snprintf(sentence + used, EVOLVE_SENTENCE - used,
	               " That is (epsilon = %.10g, delta = %s)-differential privacy per record, "
	               "where one record becomes null. In zCDP rho is %.10g. All texts were drawn "
	               "from public prompts. Records were asked %u times which of them %s nearest, "
	               "with noise.",
	               jsonout_round_up(receipt->epsilon, 1e4), delta,
	               jsonout_round_up(receipt->rho, 1e6), (unsigned)receipt->votes.times,
	               receipt->votes.square > 1 ? "are" : "is");
}

/* ---- the members ----------------------------------------------------------------------------- */

static bool fit_delta(struct attested *attested, void *at) {
	(void)attested;
	return ((const struct evolve_receipt *)at)->delta < 1;
}

/* They follow from the votes. */
static json_t *add_spent(json_t *object, const void *at) {
	const struct evolve_receipt *receipt = at;
	const struct jsonout_member members[] = {{"epsilon", json_real(receipt->epsilon)},
	                                         {"rho", json_real(receipt->rho)}};
	return jsonout_extend(object, members, MEMBERS_IN(members));
}

#define FIELD(field) MEMBER_AT(struct evolve_receipt, field)
static const struct member MEMBERS[] = {
    {"adjacency", MEMBER_FIXED, .text = "one record becomes null", .follows = " adjacency "},
    {"context", MEMBER_NUMBER, FIELD(context)},
    {"dataset", MEMBER_LABEL, FIELD(dataset), .late = true},
    {"date", MEMBER_DATE, FIELD(date), .late = true},
    {"delta", MEMBER_REAL, FIELD(delta)},
    {.kind = MEMBER_PART, .follows = " epsilon rho ", .add = add_spent, .take = fit_delta},
    {"generations", MEMBER_NUMBER, FIELD(votes.times), .least = 1},
    {"isa", MEMBER_ISA, FIELD(isa)},
    {"kv_type", MEMBER_VARIANT, FIELD(model.kv_type), .names = RECEIPT_KV_TYPES, .most = 2},
    {"ledger", MEMBER_CHARGE, FIELD(ledger), .text = "rho", .late = true},
    {"model_bytes", MEMBER_COUNT, FIELD(model.file_bytes)},
    {"model_name", MEMBER_GIVEN, FIELD(model.name), .given = true},
    {"model_sha256", MEMBER_HASH, FIELD(model_sha256)},
    {"neighbours", MEMBER_COUNT, FIELD(votes.square), .least = 1, .most = CUTTLE_MOST_VOTES},
    {"private", MEMBER_FLAG, FIELD(private_output)},
    {"records", MEMBER_COUNT, FIELD(records), .least = 1, .late = true},
    {"seed", MEMBER_SEED, FIELD(seed)},
    {"stop", MEMBER_STOPS, FIELD(stops)},
    {"temperature", MEMBER_REAL, FIELD(temperature)},
    {"template_sha256", MEMBER_HASH, FIELD(template_sha256)},
    {"grammar_sha256", MEMBER_SOME, FIELD(grammar_sha256)},
    {"schema_sha256", MEMBER_SOME, FIELD(schema_sha256)},
    {.kind = MEMBER_PART, .take = attest_form},
    {"texts", MEMBER_COUNT, FIELD(texts), .least = 1},
    {"threshold", MEMBER_NUMBER, FIELD(threshold)},
    {"tokens", MEMBER_NUMBER, FIELD(tokens)},
    {"top_k", MEMBER_NUMBER, FIELD(top_k)},
    {"unit", MEMBER_FIXED, .text = "one record of the input", .follows = " unit "},
    {"unit_key", MEMBER_NAME, FIELD(unit_key)},
    {"variance_den", MEMBER_NUMBER, FIELD(votes.den), .least = 1},
    {"variance_num", MEMBER_NUMBER, FIELD(votes.num), .least = 1},
    {"variations", MEMBER_NUMBER, FIELD(variations), .least = 1},
};

static void tell_evolution(const void *at, char sentence[EVIDENCE_SENTENCE]) {
	evolve_sentence(at, sentence);
}

static const char *note_evolution(const void *at) {
	return ((const struct evolve_receipt *)at)->private_output ? NULL : "NOT PRIVATE";
}

static const char *check_evolution(const struct attested *attested, void *at) {
	struct evolve_receipt *receipt = at;
	if (evolve_settle(receipt, NULL)) return "its parameters are out of range";
	evidence_find_wording(&EVOLVE_KIND, attested, receipt);
	if (!*receipt->ledger.entry) return NULL;
	if (!receipt->dataset) return "it has an entry in a ledger and no data set";
	if (!receipt->private_output) return "a ledger counts private outputs only";
	return receipt->ledger.rho >= receipt->rho ? NULL
	                                           : "the ledger charged less than the votes cost";
}

const struct receipt_kind EVOLVE_KIND = {.system = "cuttle evolve",
                                         .mechanism = "evolve",
                                         .members = MEMBERS,
                                         .count = MEMBERS_IN(MEMBERS),
                                         .size = sizeof(struct evolve_receipt),
                                         .room = sizeof(struct evolve_receipt),
                                         .wording = offsetof(struct evolve_receipt, wording),
                                         .sentence = tell_evolution,
                                         .note = note_evolution,
                                         .check = check_evolution};

bool evolve_fingerprint(const struct evolve_receipt *receipt, const char *input,
                        const char *text_field, uint64_t insecure_seed,
                        char fingerprint[HASH_TEXT]) {
	const struct jsonout_member members[] = {
	    {"input", jsonout_text(input, strlen(input))},
	    {"text_field", jsonout_text(text_field, strlen(text_field))},
	    {"insecure_seed", json_integer((json_int_t)insecure_seed)},
	};
	return evidence_fingerprint(&EVOLVE_KIND, receipt, members, MEMBERS_IN(members),
	                            fingerprint);
}
