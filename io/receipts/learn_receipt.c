// SPDX-License-Identifier: Apache-2.0
// The sentence and the members of learn_receipt.h.
#include "io/receipts/learn_receipt.h"

#include "engine/cuttle/learn.h"
#include "io/disk/jsonout.h"
#include "io/records/units.h"
#include <stdio.h>
#include <string.h>

enum { MOST_WIDTH = 1 << 20 }; /* numbers: a wider model would not fit the memory that learns */

enum cuttle_status learn_settle(struct learn_receipt *receipt, struct cuttle_error *error) {
	return cuttle_queries_cost(&receipt->asked, 1, receipt->delta, &receipt->rho,
	                           &receipt->epsilon, error);
}

void learn_sentence(const struct learn_receipt *receipt, char sentence[LEARN_SENTENCE]) {
	char otherwise[RECEIPT_SENTENCE / 4], delta[UNITS_NUMBER];
	const char *key = receipt->unit_key;
	if (!receipt->private_output || receipt->from_public) {
		(void)snprintf(sentence, LEARN_SENTENCE, "%s.",
		               receipt->private_output
		                   ? "Nothing is promised to these records: whoever learnt the "
		                     "bias said that they are public, and no noise was added"
		                   : RECEIPT_NOT_PRIVATE);
		return;
	}
	(void)snprintf(otherwise, sizeof otherwise, "without %s%s",
	               key ? "all records of any one value of " : "any one record", key ? key : "");
	receipt_promise(
	    &(struct receipt_promise){.scope = "for this bias and all that is made of it",
	                              .otherwise = otherwise,
	                              .epsilon = receipt->epsilon,
	                              .delta = receipt->delta},
	    sentence, LEARN_SENTENCE);
	units_print(receipt->delta, true, delta);
	const size_t used = strlen(sentence);
	(void)snprintf(
	    sentence + used, LEARN_SENTENCE - used,
	    " That is (epsilon = %.10g, delta = %s)-differential privacy per %s, where "
	    "%s null%s. In zCDP rho is %.10g. The bias is one noisy sum over all records. "
	    "Whatever uses it without reading records costs nothing more.",
	    jsonout_round_up(receipt->epsilon, 1e4), delta, key ? "value" : "record",
	    key ? "all its records become" : "one record becomes",
	    receipt->categories ? ", but for its category, which is public" : "",
	    jsonout_round_up(receipt->rho, 1e6));
}

/* ---- the members ----------------------------------------------------------------------------- */

static json_t *real_or_null(double value) {
	return value > 0 ? json_real(value) : json_null();
}

/* All five are null of public records. */
static json_t *add_noise(json_t *object, const void *at) {
	const struct learn_receipt *receipt = at;
	const bool none = receipt->from_public;
	const struct jsonout_member members[] = {
	    {"delta", real_or_null(receipt->delta)},
	    {"epsilon", real_or_null(receipt->epsilon)},
	    {"from_public", json_boolean(none)},
	    {"rho", real_or_null(receipt->rho)},
	    {"variance_den", none ? json_null() : json_integer(receipt->asked.den)},
	    {"variance_num", none ? json_null() : json_integer(receipt->asked.num)}};
	return jsonout_extend(object, members, MEMBERS_IN(members));
}

static bool take_noise(struct attested *attested, void *at) {
	struct learn_receipt *receipt = at;
	const json_t *root = attested->root;
	if (!attest_flag(root, "from_public", &receipt->from_public)) return false;
	if (receipt->from_public) return true;
	receipt->asked =
	    (struct cuttle_query){.square = CUTTLE_LEARN_SQUARE, .times = 1, .parts = 1};
	return attest_real(root, "delta", &receipt->delta) && receipt->delta < 1 &&
	       attest_number(root, "variance_den", &receipt->asked.den) && receipt->asked.den &&
	       attest_number(root, "variance_num", &receipt->asked.num) && receipt->asked.num;
}

json_t *learn_owner(const char *key) {
	return key ? json_pack("s+", "everybody with one value of ", key)
	           : json_string("one record of the input");
}

json_t *learn_null(const char *key, uint32_t categories) {
	return json_string(key          ? "all records of one unit become null"
	                   : categories ? "one record becomes null; its category stays"
	                                : "one record becomes null");
}

static json_t *make_owner(const void *at) {
	return learn_owner(((const struct learn_receipt *)at)->unit_key);
}

static json_t *make_null(const void *at) {
	const struct learn_receipt *receipt = at;
	return learn_null(receipt->unit_key, receipt->categories);
}

/* By what the ledger counts: rho, epsilon and delta, or Renyi losses at an order. */
static json_t *add_learn_charge(json_t *object, const void *at) {
	const struct learn_receipt *receipt = at;
	const struct receipt_ledger *ledger = &receipt->ledger;
	if (!*ledger->entry || !receipt->order) return receipt_add_charge(object, ledger, "rho");
	json_t *charge = json_pack("{s:s, s:f, s:i}", "entry", ledger->entry, "loss", ledger->rho,
	                           "order", (int)receipt->order);
	return jsonout_extend(object, &(struct jsonout_member){"ledger", charge}, 1);
}

static bool take_learn_charge(struct attested *attested, void *at) {
	struct learn_receipt *receipt = at;
	const json_t *root = attested->root, *member = json_object_get(root, "ledger");
	if (json_object_get(member, "epsilon"))
		return attest_charge(root, "epsilon", &receipt->ledger) &&
		       attest_real(member, "delta", &receipt->ledger.delta);
	if (json_object_get(member, "loss"))
		return attest_charge(root, "loss", &receipt->ledger) &&
		       attest_number(member, "order", &receipt->order) && receipt->order > 1;
	return attest_charge(root, "rho", &receipt->ledger);
}

#define FIELD(field) MEMBER_AT(struct learn_receipt, field)
static const struct member MEMBERS[] = {
    {.kind = MEMBER_PART, .follows = " epsilon rho ", .add = add_noise, .take = take_noise},
    {"unit_key", MEMBER_NAME, FIELD(unit_key)},
    {"unit", MEMBER_MADE, .follows = " unit ", .make = make_owner},
    {"adjacency", MEMBER_MADE, .follows = " adjacency ", .make = make_null},
    {"categories", MEMBER_NUMBER, FIELD(categories), .most = MOST_CATEGORIES},
    {"context", MEMBER_NUMBER, FIELD(context)},
    {"dataset", MEMBER_LABEL, FIELD(dataset), .late = true},
    {"date", MEMBER_DATE, FIELD(date), .late = true},
    {"isa", MEMBER_ISA, FIELD(isa)},
    {"kv_type", MEMBER_VARIANT, FIELD(model.kv_type), .names = RECEIPT_KV_TYPES, .most = 2},
    {"ledger", MEMBER_PART, FIELD(ledger), .late = true, .add = add_learn_charge,
     .take = take_learn_charge},
    {"model_bytes", MEMBER_COUNT, FIELD(model.file_bytes)},
    {"model_name", MEMBER_GIVEN, FIELD(model.name), .given = true},
    {"model_sha256", MEMBER_HASH, FIELD(model_sha256)},
    {"private", MEMBER_FLAG, FIELD(private_output)},
    {"records", MEMBER_COUNT, FIELD(records), .least = 1, .late = true},
    {"schema_sha256", MEMBER_SOME, FIELD(schema_sha256)},
    {"template_sha256", MEMBER_HASH, FIELD(template_sha256)},
    {"texts", MEMBER_NUMBER, FIELD(texts), .least = 1},
    {"tokens", MEMBER_NUMBER, FIELD(tokens), .least = 1},
    {"width", MEMBER_COUNT, FIELD(width), .least = 1},
};

static void tell_learnt(const void *at, char sentence[EVIDENCE_SENTENCE]) {
	learn_sentence(at, sentence);
}

static const char *note_learnt(const void *at) {
	return ((const struct learn_receipt *)at)->private_output ? NULL : "NOT PRIVATE";
}

static const char *check_learnt_charge(const struct learn_receipt *receipt) {
	const struct receipt_ledger *ledger = &receipt->ledger;
	if (!*ledger->entry) return NULL;
	if (!receipt->dataset) return "it has an entry in a ledger and no data set";
	if (!receipt->private_output || receipt->from_public)
		return "a ledger counts private outputs only";
	const double cost = ledger->delta > 0 ? receipt->epsilon
	                    : receipt->order  ? receipt->order * receipt->rho
	                                      : receipt->rho;
	return ledger->rho >= cost && (!(ledger->delta > 0) || ledger->delta >= receipt->delta)
	           ? NULL
	           : "the ledger charged less than the bias costs";
}

static const char *check_learnt(const struct attested *attested, void *at) {
	struct learn_receipt *receipt = at;
	if (receipt->records > CUTTLE_LEARN_RECORDS || receipt->width > MOST_WIDTH ||
	    (!receipt->from_public && learn_settle(receipt, NULL)))
		return "its parameters are out of range";
	evidence_find_wording(&LEARN_KIND, attested, receipt);
	return check_learnt_charge(receipt);
}

const struct receipt_kind LEARN_KIND = {.system = "cuttle learn",
                                        .mechanism = "learn",
                                        .members = MEMBERS,
                                        .count = MEMBERS_IN(MEMBERS),
                                        .size = sizeof(struct learn_receipt),
                                        .room = sizeof(struct learn_receipt),
                                        .wording = offsetof(struct learn_receipt, wording),
                                        .sentence = tell_learnt,
                                        .note = note_learnt,
                                        .check = check_learnt};

bool learn_fingerprint(const struct learn_receipt *receipt, const char *input,
                       const char *text_field, const struct categories *categories,
                       uint64_t insecure_seed, char fingerprint[HASH_TEXT]) {
	json_t *headings = json_array();
	for (size_t i = 0; headings && categories && i < categories->count; i++) {
		const char *heading = categories->all[i].heading;
		if (!json_array_append_new(headings, jsonout_text(heading, strlen(heading))))
			continue;
		json_decref(headings);
		headings = NULL;
	}
	const struct jsonout_member members[] = {
	    {"headings", headings},
	    {"input", jsonout_text(input, strlen(input))},
	    {"text_field", jsonout_text(text_field, strlen(text_field))},
	    {"insecure_seed", json_integer((json_int_t)insecure_seed)},
	};
	return evidence_fingerprint(&LEARN_KIND, receipt, members, MEMBERS_IN(members),
	                            fingerprint);
}
