// SPDX-License-Identifier: Apache-2.0
// The sentence and the members of sample_receipt.h.
#include "io/receipts/sample_receipt.h"

#include "io/disk/jsonout.h"
#include <stdio.h>
#include <string.h>

void sample_sentence(const struct sample_receipt *receipt, char sentence[SAMPLE_SENTENCE]) {
	char promise[LEARN_SENTENCE];
	const struct learn_receipt learnt = {.from_public = receipt->bias.from_public,
	                                     .epsilon = receipt->bias.epsilon,
	                                     .delta = receipt->bias.delta,
	                                     .rho = receipt->bias.rho,
	                                     .private_output = receipt->private_output,
	                                     .unit_key = receipt->unit_key,
	                                     .categories = receipt->categories};
	learn_sentence(&learnt, promise);
	if (receipt->private_output)
		(void)snprintf(
		    sentence, SAMPLE_SENTENCE,
		    "Post-processing: these %zu texts were drawn from the public prompt "
		    "and a bias. No record was read for them, and they cost nothing. They "
		    "have the guarantee of the bias, which follows. %s",
		    receipt->texts, promise);
	else (void)snprintf(sentence, SAMPLE_SENTENCE, "%s", promise);
}

/* ---- the members ----------------------------------------------------------------------------- */

static json_t *add_sample_bias(json_t *object, const void *at) {
	return receipt_add_bias(object, &((const struct sample_receipt *)at)->bias, NULL);
}

static bool take_sample_bias(struct attested *attested, void *at) {
	struct receipt_bias *bias = &((struct sample_receipt *)at)->bias;
	return attest_bias(attested->root, bias) && *bias->sha256;
}

static json_t *add_sampled(json_t *object, const void *at) {
	const struct sample_receipt *receipt = at;
	return receipt_add_filters(object, &receipt->filters, &receipt->counts);
}

static bool take_sampled(struct attested *attested, void *at) {
	struct sample_receipt *receipt = at;
	return attest_filters(attested->root, &receipt->filters, &receipt->counts);
}

static json_t *make_sample_owner(const void *at) {
	return learn_owner(((const struct sample_receipt *)at)->unit_key);
}

static json_t *make_sample_null(const void *at) {
	const struct sample_receipt *receipt = at;
	return learn_null(receipt->unit_key, receipt->categories);
}

#define FIELD(field) MEMBER_AT(struct sample_receipt, field)
static const struct member MEMBERS[] = {
    {"unit", MEMBER_MADE, .follows = " unit ", .make = make_sample_owner},
    {"adjacency", MEMBER_MADE, .follows = " adjacency ", .make = make_sample_null},
    {"bias", MEMBER_PART, .add = add_sample_bias, .take = take_sample_bias},
    {"categories", MEMBER_NUMBER, FIELD(categories), .most = MOST_CATEGORIES},
    {"context", MEMBER_NUMBER, FIELD(context)},
    {"dataset", MEMBER_LABEL, FIELD(dataset)},
    {"date", MEMBER_DATE, FIELD(date), .late = true},
    {"filters", MEMBER_PART, FIELD(counts), .late = true, .add = add_sampled, .take = take_sampled},
    {"isa", MEMBER_ISA, FIELD(isa)},
    {"kv_type", MEMBER_VARIANT, FIELD(model.kv_type), .names = RECEIPT_KV_TYPES, .most = 2},
    {"model_bytes", MEMBER_COUNT, FIELD(model.file_bytes)},
    {"model_name", MEMBER_GIVEN, FIELD(model.name), .given = true},
    {"model_sha256", MEMBER_HASH, FIELD(model_sha256)},
    {"private", MEMBER_FLAG, FIELD(private_output)},
    {"seed", MEMBER_SEED, FIELD(seed)},
    {"stop", MEMBER_STOPS, FIELD(stops)},
    {"temperature", MEMBER_REAL, FIELD(temperature)},
    {"template_sha256", MEMBER_HASH, FIELD(template_sha256)},
    {"grammar_sha256", MEMBER_SOME, FIELD(grammar_sha256)},
    {"schema_sha256", MEMBER_SOME, FIELD(schema_sha256)},
    {.kind = MEMBER_PART, .take = attest_form},
    {"texts", MEMBER_COUNT, FIELD(texts), .least = 1},
    {"tokens", MEMBER_NUMBER, FIELD(tokens)},
    {"top_k", MEMBER_NUMBER, FIELD(top_k)},
    {"unit_key", MEMBER_NAME, FIELD(unit_key)},
};

static void tell_sample(const void *at, char sentence[EVIDENCE_SENTENCE]) {
	sample_sentence(at, sentence);
}

static const char *note_sample(const void *at) {
	return ((const struct sample_receipt *)at)->private_output ? NULL : "NOT PRIVATE";
}

/* What the bias promised is taken as it stands; verify --bias compares it. */
static const char *check_sample(const struct attested *attested, void *at) {
	const struct sample_receipt *receipt = at;
	const bool filtered = receipt->filters.trim || filters_drop_any(&receipt->filters);
	const char *problem = attest_bias_fault(&receipt->bias);
	if (problem) return problem;
	evidence_find_wording(&SAMPLE_KIND, attested, at);
	return filtered && receipt->counts.drawn != receipt->texts
	           ? "its filters do not add up to its texts"
	           : NULL;
}

const struct receipt_kind SAMPLE_KIND = {.system = "cuttle generate -B 0",
                                         .mechanism = "sample",
                                         .members = MEMBERS,
                                         .count = MEMBERS_IN(MEMBERS),
                                         .size = sizeof(struct sample_receipt),
                                         .room = sizeof(struct sample_receipt),
                                         .wording = offsetof(struct sample_receipt, wording),
                                         .sentence = tell_sample,
                                         .note = note_sample,
                                         .check = check_sample};

/* How many texts each category has, in their order. */
static json_t *list_spread(const struct categories *categories) {
	json_t *list = json_array();
	for (size_t i = 0; i < categories->count && list; i++) {
		json_t *one = json_pack("[s, I]", categories->all[i].heading,
		                        (json_int_t)categories->all[i].texts);
		if (json_array_append_new(list, one) == 0) continue;
		json_decref(list);
		list = NULL;
	}
	return list;
}

bool sample_fingerprint(const struct sample_receipt *receipt, const char *output_format,
                        const struct categories *categories, char fingerprint[HASH_TEXT]) {
	const struct jsonout_member members[] = {
	    {"output_format", json_string(output_format)},
	    {"spread", categories->count ? list_spread(categories) : NULL}};
	return evidence_fingerprint(&SAMPLE_KIND, receipt, members, 1 + (categories->count > 0),
	                            fingerprint);
}
