// SPDX-License-Identifier: Apache-2.0
// The sentence and the members of expand_receipt.h. What the parent promised cannot be made anew
// here: expand_parent compares it.
#include "io/receipts/expand_receipt.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/jsonout.h"
#include "io/records/units.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Members of the parent's receipt that an expansion's repeats. */
static const char *const PROMISED[] = {"accountant", "adjacency",    "delta",      "epsilon",
                                       "rho",        "private",      "unit",       "unit_key",
                                       "dataset",    "unit_limited", "unit_weight"};
enum { PROMISES = sizeof PROMISED / sizeof *PROMISED };

/* The sentence where a bias was added. There were none in earlier words. */
static void tell_biased(const struct expand_receipt *receipt, char sentence[EXPAND_SENTENCE]) {
	const struct receipt_bias *bias = &receipt->bias;
	char whole[256], delta[UNITS_NUMBER];
	units_print(bias->delta, true, delta);
	if (bias->from_public)
		(void)snprintf(whole, sizeof whole,
		               "The bias was learnt from records that are public. Both outputs "
		               "together have the guarantee of the earlier one, which follows.");
	else
		(void)snprintf(
		    whole, sizeof whole,
		    "The guarantees of the bias and of the earlier output add up. Of the "
		    "bias epsilon is %.10g at delta %s. That of the earlier output "
		    "follows.",
		    jsonout_round_up(bias->epsilon, 1e4), delta);
	(void)snprintf(
	    sentence, EXPAND_SENTENCE,
	    "Post-processing: these %zu texts were drawn from the public prompt and a "
	    "bias, with texts of an earlier output as examples. They cost nothing. %s %s",
	    receipt->texts, whole, receipt->parent_sentence);
}

void expand_sentence(const struct expand_receipt *receipt, char sentence[EXPAND_SENTENCE]) {
	if (!receipt->private_output) {
		(void)snprintf(sentence, EXPAND_SENTENCE, "%s.", RECEIPT_NOT_PRIVATE);
		return;
	}
	if (*receipt->bias.sha256) {
		tell_biased(receipt, sentence);
		return;
	}
	const bool now = receipt->wording == RECEIPT_NOW;
	(void)snprintf(sentence, EXPAND_SENTENCE,
	               "Post-processing: these %zu texts were drawn from the public prompt alone, "
	               "with texts of an earlier output as examples. They cost nothing%s outputs "
	               "together have the guarantee of the earlier one%s %s",
	               receipt->texts, now ? ". Both" : ", and both",
	               now ? ", which follows." : ", which is:", receipt->parent_sentence);
}

/* ---- the members ----------------------------------------------------------------------------- */

/* What is repeated stands as it stood in the parent's receipt. */
static json_t *add_promised(json_t *object, const void *at) {
	const struct expand_receipt *receipt = at;
	for (size_t i = 0; i < PROMISES; i++) {
		json_t *value = json_object_get(receipt->promised, PROMISED[i]);
		const struct jsonout_member member = {PROMISED[i],
		                                      value ? json_incref(value) : json_null()};
		object = jsonout_extend(object, &member, 1);
	}
	return object;
}

static bool take_promised(struct attested *attested, void *at) {
	struct expand_receipt *receipt = at;
	receipt->promised = attested->root;
	return attest_flag(attested->root, "private", &receipt->private_output);
}

#define FIELD(field) MEMBER_AT(struct expand_receipt, field)

static const struct member PARENT[] = {
    {"command_sha256", MEMBER_HASH, FIELD(parent_command)},
    {"guarantee", MEMBER_TEXT, FIELD(parent_sentence)},
    {"output_sha256", MEMBER_HASH, FIELD(parent_output)},
    {"receipt_sha256", MEMBER_HASH, FIELD(parent_receipt)},
};

static json_t *make_parent(const void *at) {
	return members_add(json_object(), PARENT, MEMBERS_IN(PARENT), at);
}

static bool take_parent(struct attested *attested, void *at) {
	struct attested parent = {.root = json_object_get(attested->root, "parent")};
	const struct expand_receipt *receipt = at;
	return members_take(&parent, PARENT, MEMBERS_IN(PARENT), at) &&
	       strlen(receipt->parent_sentence) < RECEIPT_SENTENCE;
}

static json_t *add_expand_bias(json_t *object, const void *at) {
	return receipt_add_bias(object, &((const struct expand_receipt *)at)->bias, NULL);
}

static bool take_expand_bias(struct attested *attested, void *at) {
	return attest_bias(attested->root, &((struct expand_receipt *)at)->bias);
}

static json_t *add_filtered(json_t *object, const void *at) {
	const struct expand_receipt *receipt = at;
	return receipt_add_filters(object, &receipt->filters, &receipt->counts);
}

static bool take_filtered(struct attested *attested, void *at) {
	struct expand_receipt *receipt = at;
	return attest_filters(attested->root, &receipt->filters, &receipt->counts);
}

static const struct member MEMBERS[] = {
    {.kind = MEMBER_PART, .add = add_promised, .take = take_promised},
    {"batch", MEMBER_NUMBER, FIELD(batch), .least = 1},
    {"bias", MEMBER_PART, .add = add_expand_bias, .take = take_expand_bias},
    {"clip_fixed", MEMBER_NUMBER, FIELD(clip_fixed), .least = 1},
    {"context", MEMBER_NUMBER, FIELD(context)},
    {"date", MEMBER_DATE, FIELD(date), .late = true},
    {"examples", MEMBER_NUMBER, FIELD(examples), .least = 1},
    {"filters", MEMBER_PART, FIELD(counts), .late = true, .add = add_filtered,
     .take = take_filtered},
    {"fraction_bits", MEMBER_NUMBER, FIELD(fraction_bits)},
    {"gain", MEMBER_REAL, FIELD(gain)},
    {"isa", MEMBER_ISA, FIELD(isa)},
    {"kv_type", MEMBER_VARIANT, FIELD(model.kv_type), .names = RECEIPT_KV_TYPES, .most = 2},
    {"model_bytes", MEMBER_COUNT, FIELD(model.file_bytes)},
    {"model_name", MEMBER_GIVEN, FIELD(model.name), .given = true},
    {"model_sha256", MEMBER_HASH, FIELD(model_sha256)},
    {"parent", MEMBER_MADE, .make = make_parent, .take = take_parent},
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
};

static void tell_expansion(const void *at, char sentence[EVIDENCE_SENTENCE]) {
	expand_sentence(at, sentence);
}

static const char *note_expansion(const void *at) {
	return ((const struct expand_receipt *)at)->private_output ? NULL : "NOT PRIVATE";
}

/* Makes the parent's sentence anew from the members that are repeated. How many texts it had stands
 * in the sentence alone: where the one for 0 texts first differs there must be a number. */
static void remake_parent(struct receipt *parent, const char *unit_key, const char *claimed,
                          char sentence[RECEIPT_SENTENCE]) {
	size_t same = 0;
	parent->texts = 0;
	receipt_sentence(parent, unit_key, sentence);
	while (sentence[same] && sentence[same] == claimed[same]) same++;
	if (claimed[same] < '0' || claimed[same] > '9') return;
	parent->texts = (size_t)strtoull(claimed + same, NULL, 10);
	receipt_sentence(parent, unit_key, sentence);
}

/* The last place of `word` in the text, or NULL. */
static const char *find_last(const char *text, const char *word) {
	const char *last = NULL;
	for (const char *at = text; (at = strstr(at, word)); at++) last = at;
	return last;
}

/* A number as a sentence has it, rounded: what the text says and not what it was. */
static double told_epsilon(double epsilon) {
	char text[UNITS_NUMBER];
	(void)snprintf(text, sizeof text, "%.10g", jsonout_round_up(epsilon, 1e4));
	return strtod(text, NULL);
}

static double told_delta(double delta) {
	char text[UNITS_NUMBER];
	units_print(delta, true, text);
	return strtod(text, NULL);
}

/* Whether `claimed` is the sentence of lots and nothing else. An expansion has no members of these.
 * So the numbers are taken from it, and the sentence of them is made anew. Who knows the batch has
 * no less epsilon and delta than the parent promises. */
static bool tells_lots(const char *claimed, const struct receipt *parent, const char *unit_key) {
	static const char digits[] = "0123456789", epsilon_is[] = ", epsilon is ",
	                  at_delta[] = " at delta ";
	const char *epsilon = find_last(claimed, epsilon_is), *delta = find_last(claimed, at_delta),
	           *used = claimed + strcspn(claimed, digits);
	const char *batches = used + strspn(used, digits);
	batches += strcspn(batches, digits);
	if (!epsilon || !delta) return false;
	struct receipt_lots lots = {.unit_key = unit_key,
	                            .used = strtoull(used, NULL, 10),
	                            .batches = strtoull(batches, NULL, 10),
	                            .epsilon = strtod(epsilon + strlen(epsilon_is), NULL),
	                            .delta = strtod(delta + strlen(at_delta), NULL)};
	char sentence[RECEIPT_SENTENCE];
	bool same = false;
	for (int way = 0; way < 2 && !same; way++) {
		lots.histogram = way;
		receipt_tell_lots(&lots, sentence, sizeof sentence);
		same = !strcmp(sentence, claimed) && (way || lots.used == parent->texts);
	}
	return same && lots.used <= lots.batches &&
	       lots.epsilon >= told_epsilon(parent->guarantee.epsilon) &&
	       lots.delta >= told_delta(parent->guarantee.delta);
}

/* What the sentence of a bias says of both together; 0 and 0: it costs nothing. */
static struct receipt_joint read_joint(const char *claimed) {
	static const char epsilon_is[] = "epsilon is ", at_delta[] = " at delta ";
	const char *epsilon = strstr(claimed, epsilon_is), *delta = strstr(claimed, at_delta);
	return (struct receipt_joint){.epsilon =
	                                  epsilon ? strtod(epsilon + strlen(epsilon_is), NULL) : 0,
	                              .delta = delta ? strtod(delta + strlen(at_delta), NULL) : 0};
}

bool expand_parent_joint(const struct expand_receipt *receipt, struct receipt_joint *joint) {
	const char *bias = strstr(receipt->parent_sentence, RECEIPT_BIAS);
	*joint = bias ? read_joint(bias) : (struct receipt_joint){.epsilon = 0};
	return joint->epsilon > 0;
}

/* Whether `claimed` is the sentence of a bias and nothing else. An expansion has no members of it,
 * either: the same holds as of lots. */
static bool tells_bias(const char *claimed, const struct receipt *parent) {
	const struct receipt_joint joint = read_joint(claimed);
	const bool costs = joint.epsilon > 0;
	char sentence[RECEIPT_SENTENCE];
	receipt_tell_bias(!costs, &joint, sentence, sizeof sentence);
	return !strcmp(sentence, claimed) &&
	       (!costs || (joint.epsilon >= told_epsilon(parent->guarantee.epsilon) &&
	                   joint.delta >= told_delta(parent->guarantee.delta)));
}

/* Whether the parent's sentence is `sentence`, or it and the one of lots. */
static bool begins_as_made(const char *claimed, const char *sentence, const struct receipt *parent,
                           const char *unit_key) {
	const size_t length = strlen(sentence);
	return !strncmp(claimed, sentence, length) &&
	       (!claimed[length] || tells_lots(claimed + length, parent, unit_key));
}

/* Whether the parent's sentence says what the repeated members say, in any wording. Only texts of
 * InvisibleInk are expanded, so no other method speaks. */
static bool fits_parent(const json_t *root, const struct expand_receipt *receipt) {
	struct receipt parent = {.guarantee.private_output = true,
	                         .guarantee.accountant = CUTTLE_ZCDP};
	static const char stamp[] = "NOT PRIVATE: ";
	const char *unit_key, *claimed = receipt->parent_sentence;
	char sentence[RECEIPT_SENTENCE], first[RECEIPT_SENTENCE];
	if (!receipt->private_output) return !strncmp(claimed, stamp, strlen(stamp));
	if (!attest_real(root, "epsilon", &parent.guarantee.epsilon) ||
	    !attest_real(root, "delta", &parent.guarantee.delta) ||
	    !attest_name(root, "unit_key", &unit_key))
		return false;
	const char *bias = strstr(claimed, RECEIPT_BIAS);
	if (bias && !tells_bias(bias, &parent)) return false;
	(void)snprintf(first, sizeof first, "%.*s", bias ? (int)(bias - claimed) : RECEIPT_SENTENCE,
	               claimed);
	for (int way = 0; way < 2 * (RECEIPT_OLDEST + 1); way++) {
		parent.wording = (enum receipt_wording)(way / 2);
		parent.guarantee.savings.token_bank = way % 2;
		remake_parent(&parent, unit_key, first, sentence);
		if (begins_as_made(first, sentence, &parent, unit_key)) return true;
	}
	return false;
}

/* What the parent promised is taken as it stands, but for what its sentence says of it. */
static const char *check_expansion(const struct attested *attested, void *at) {
	struct expand_receipt *receipt = at;
	const bool filtered = receipt->filters.trim || filters_drop_any(&receipt->filters);
	if (!fits_parent(attested->root, receipt))
		return "its parent's sentence does not follow from epsilon, delta and unit_key";
	const char *problem = attest_bias_fault(&receipt->bias);
	if (problem) return problem;
	evidence_find_wording(&EXPAND_KIND, attested, receipt);
	return filtered && receipt->counts.drawn != receipt->texts
	           ? "its filters do not add up to its texts"
	           : NULL;
}

const struct receipt_kind EXPAND_KIND = {.system = "cuttle expand",
                                         .mechanism = "expand",
                                         .members = MEMBERS,
                                         .count = MEMBERS_IN(MEMBERS),
                                         .size = sizeof(struct expand_receipt),
                                         .room = sizeof(struct expand_receipt),
                                         .wording = offsetof(struct expand_receipt, wording),
                                         .sentence = tell_expansion,
                                         .note = note_expansion,
                                         .check = check_expansion};

bool expand_fingerprint(const struct expand_receipt *receipt, const char *input,
                        const char *output_format, char fingerprint[HASH_TEXT]) {
	const struct jsonout_member members[] = {
	    {"input", jsonout_text(input, strlen(input))},
	    {"output_format", json_string(output_format)},
	};
	return evidence_fingerprint(&EXPAND_KIND, receipt, members, MEMBERS_IN(members),
	                            fingerprint);
}

/* ---- the parent ------------------------------------------------------------------------------ */

/* Whether the parent that was checked is the one that the expansion names, and promised what it
 * says. Returns what is wrong, or NULL. */
static const char *compare_parent(const struct evidence *evidence, const struct evidence *parent,
                                  const char *receipt_sha256) {
	const struct expand_receipt *receipt = evidence->receipt;
	const struct receipt *of = parent->receipt;
	if (strcmp(receipt_sha256, receipt->parent_receipt) != 0)
		return "it is another parent's receipt";
	if (strcmp(parent->attested.output_sha256, receipt->parent_output) != 0 ||
	    strcmp(parent->attested.command_sha256, receipt->parent_command) != 0 ||
	    strcmp(parent->attested.sentence, receipt->parent_sentence) != 0)
		return "the expansion's receipt says something else of it";
	if (strcmp(of->schema_sha256, receipt->schema_sha256) != 0 ||
	    (*of->grammar_sha256 && strcmp(of->grammar_sha256, receipt->grammar_sha256) != 0))
		return "the expansion's receipt is of another grammar or schema";
	for (size_t i = 0; i < PROMISES; i++)
		if (!json_equal(json_object_get(evidence->attested.root, PROMISED[i]),
		                json_object_get(parent->attested.root, PROMISED[i])))
			return "the expansion's receipt promises something else";
	return NULL;
}

enum cuttle_status expand_parent(const struct evidence *evidence, const char *path,
                                 struct cuttle_error *error) {
	struct attested attested;
	struct evidence parent = {0};
	char sha256[HASH_TEXT];
	enum cuttle_status status = attest_open(path, &attested, error);
	if (!status) {
		hash_of(attested.bytes, attested.size, sha256);
		status = evidence_read(&GENERATE_KIND, &attested, &parent, error);
	}
	if (!status) status = evidence_check(&parent, NULL, error);
	const char *problem = status ? NULL : compare_parent(evidence, &parent, sha256);
	if (problem) status = io_fail(error, CUTTLE_LEDGER, "%s: %s", path, problem);
	attest_close(&attested);
	evidence_free(&parent);
	return status;
}
