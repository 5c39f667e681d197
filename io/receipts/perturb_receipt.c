// SPDX-License-Identifier: Apache-2.0
// The sentence and the members of perturb_receipt.h. The guarantee and its sentence are the
// engine's, so that a claim can make them again from the parameters.
#include "io/receipts/perturb_receipt.h"

#include "base/misuse.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const WORD_METHOD_NAMES[WORD_METHODS] = {"rank",     "rantext", "santext",
                                                     "santext+", "custext", "custext+"};
const char *const WORD_TABLE_NAMES[WORD_TABLES] = {"step", "envelope"};

bool perturb_receipt_counts(const struct perturb_receipt *receipt) {
	return receipt->guarantee.private_output && receipt->pad;
}

double perturb_receipt_charge(const struct perturb_receipt *receipt) {
	REQUIRE(perturb_receipt_counts(receipt));
	return cuttle_perturb_rho(receipt->params.epsilon_millionths, receipt->record_words);
}

/* The guarantee of ranks in earlier words. Other ones have the engine's, then as now. */
static void tell_former_rank(const struct perturb_receipt *receipt, char sentence[WORD_SENTENCE]) {
	const struct cuttle_perturb_guarantee *guarantee = &receipt->guarantee;
	char factor[RECEIPT_FACTOR], whole[160];
	receipt_print_factor(guarantee->epsilon_word, factor);
	if (receipt->pad)
		(void)snprintf(whole, sizeof whole,
		               "Per record of at most %u words: %.10g-local differential privacy; "
		               "the number of words is hidden.",
		               (unsigned)receipt->record_words, guarantee->epsilon_text);
	else
		(void)snprintf(whole, sizeof whole,
		               "A whole text of n words: n times %.10g. The number of words is "
		               "public.",
		               guarantee->epsilon_word);
	(void)snprintf(
	    sentence, WORD_SENTENCE,
	    "Guarantee per word: whoever sees the perturbed texts and already knows every other "
	    "word can change the odds between any two words at one place by at most a factor %s "
	    "(%.10g-local differential privacy, exact). %s Nothing is promised about what "
	    "correlated words tell together.",
	    factor, guarantee->epsilon_word, whole);
}

void perturb_receipt_sentence(const struct perturb_receipt *receipt, char sentence[WORD_SENTENCE]) {
	if (receipt->wording != RECEIPT_NOW && receipt->guarantee.private_output)
		tell_former_rank(receipt, sentence);
	else (void)snprintf(sentence, WORD_SENTENCE, "%s", receipt->guarantee.sentence);
	const size_t used = strlen(sentence);
	(void)snprintf(sentence + used, WORD_SENTENCE - used, "%s%s%s",
	               receipt->keep_punctuation ? " Declared public: punctuation and line breaks."
	                                         : "",
	               receipt->keep_numbers ? " Declared public: which places are numbers." : "",
	               receipt->id_field ? " Declared public: the ids." : "");
}

/* ---- the members ----------------------------------------------------------------------------- */

/* The parameters of a baseline: those that its method has. NULL: out of memory. */
static json_t *make_baseline(const void *at) {
	const struct perturb_receipt *receipt = at;
	const struct cuttle_perturb_params *params = &receipt->params;
	const bool paper = params->paper_radius;
	switch (params->method) {
	case CUTTLE_RANTEXT:
		return jsonout_extend(
		    json_object(),
		    (const struct jsonout_member[]){
		        {"list_share", paper ? json_null() : json_real(params->list_share)},
		        {"radius", json_string(paper ? "paper" : "fitted")},
		        {"scale", jsonout_real(receipt->guarantee.list_scale)}},
		    3);
	case CUTTLE_SANTEXT_PLUS:
		return json_pack("{s:f, s:s}", "keep_share", params->keep_share, "sensitive_sha256",
		                 receipt->sensitive_sha256);
	case CUTTLE_CUSTEXT:
		return json_pack("{s:I}", "set_size", (json_int_t)params->set_size);
	case CUTTLE_CUSTEXT_PLUS:
		return json_pack("{s:I, s:s}", "set_size", (json_int_t)params->set_size,
		                 "stop_words_sha256", receipt->stop_words_sha256);
	case CUTTLE_RANK:
	case CUTTLE_SANTEXT:
		break;
	}
	return json_null();
}

/* Gets a share from 0 to 1. */
static bool take_share(const json_t *root, const char *key, double *value) {
	const json_t *member = json_object_get(root, key);
	*value = json_real_value(member);
	return json_is_real(member) && *value >= 0 && *value <= 1;
}

/* Gets what the method has of its own. */
static bool take_baseline(struct attested *attested, void *at) {
	struct perturb_receipt *receipt = at;
	struct cuttle_perturb_params *params = &receipt->params;
	const json_t *baseline = json_object_get(attested->root, "baseline"),
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

static json_t *make_word_adjacency(const void *at) {
	const struct perturb_receipt *receipt = at;
	if (!receipt->guarantee.private_output) return json_null();
	return json_string(receipt->pad ? "a record becomes one without words"
	                   : receipt->wording == RECEIPT_OLDEST
	                       ? WORD_OLDEST_ADJACENCY
	                       : "one word of a record becomes any other word; "
	                         "how many there are is public");
}

/* What follows from the parameters. Of a baseline both epsilons are null. */
static json_t *add_promise(json_t *object, const void *at) {
	const struct cuttle_perturb_guarantee *guarantee =
	    &((const struct perturb_receipt *)at)->guarantee;
	const struct jsonout_member members[] = {
	    {"epsilon_text", jsonout_real(guarantee->epsilon_text)},
	    {"epsilon_word", jsonout_real(guarantee->epsilon_word)},
	    {"private", json_boolean(guarantee->private_output)},
	};
	return jsonout_extend(object, members, MEMBERS_IN(members));
}

/* A seed shows in the note alone. Whether the output is private follows. */
static bool take_note(struct attested *attested, void *at) {
	struct perturb_receipt *receipt = at;
	const char *note;
	cuttle_perturb_params_default(&receipt->params);
	receipt->guarantee.list_scale = NAN;
	receipt->params.insecure =
	    attest_text(attested->root, "note", &note) && !strcmp(note, "NOT PRIVATE");
	return true;
}

static json_t *make_table(const void *at) {
	const struct perturb_receipt *receipt = at;
	const struct cuttle_perturb_guarantee *guarantee = &receipt->guarantee;
	const struct jsonout_member members[] = {
	    {"kind", json_string(WORD_TABLE_NAMES[receipt->params.table])},
	    {"k", guarantee->near ? json_integer(guarantee->near) : json_null()},
	    {"V", json_integer(guarantee->words)},
	    {"first", json_string(guarantee->table_first)},
	    {"last", json_string(guarantee->table_last)},
	    {"total", json_string(guarantee->table_total)},
	};
	json_t *table = jsonout_extend(json_object(), members, MEMBERS_IN(members));
	if (receipt->params.method == CUTTLE_RANK) return table;
	json_decref(table);
	return json_null();
}

#define FIELD(field) MEMBER_AT(struct perturb_receipt, field)
static const struct member TABLE[] = {
    {"kind", MEMBER_CHOICE, FIELD(params.table), .names = WORD_TABLE_NAMES, .most = WORD_TABLES}};

static bool take_table(struct attested *attested, void *at) {
	struct cuttle_perturb_params *params = &((struct perturb_receipt *)at)->params;
	struct attested table = {.root = json_object_get(attested->root, "table")};
	if (params->method != CUTTLE_RANK) return true;
	return members_take(&table, TABLE, MEMBERS_IN(TABLE), at) &&
	       (params->table == CUTTLE_ENVELOPE || attest_number(table.root, "k", &params->near));
}

/* All three are null where there was no model. */
static json_t *add_model(json_t *object, const void *at) {
	const struct perturb_receipt *receipt = at;
	const char *name = receipt->model_name;
	const struct jsonout_member members[] = {
	    {"model_name", name ? jsonout_text(name, strlen(name)) : json_null()},
	    {"model_bytes", name ? json_integer((json_int_t)receipt->model_bytes) : json_null()},
	    {"model_sha256",
	     *receipt->model_sha256 ? json_string(receipt->model_sha256) : json_null()}};
	return jsonout_extend(object, members, MEMBERS_IN(members));
}

static bool take_model(struct attested *attested, void *at) {
	struct perturb_receipt *receipt = at;
	const json_t *root = attested->root;
	if (json_is_null(json_object_get(root, "model_name")))
		return json_is_null(json_object_get(root, "model_sha256"));
	return attest_text(root, "model_name", &receipt->model_name) &&
	       attest_hash(root, "model_sha256", receipt->model_sha256) &&
	       attest_count(root, "model_bytes", INT64_MAX, &receipt->model_bytes);
}

/* In the order in which they are read: what a method has of its own needs the method. */
static const struct member MEMBERS[] = {
    {"note", MEMBER_PART, .take = take_note},
    {"method", MEMBER_CHOICE, FIELD(params.method), .names = WORD_METHOD_NAMES,
     .most = WORD_METHODS},
    {"epsilon_millionths", MEMBER_NUMBER, FIELD(params.epsilon_millionths)},
    {"table", MEMBER_MADE, .follows = " table ", .make = make_table, .take = take_table},
    {"baseline", MEMBER_MADE, .follows = " baseline ", .make = make_baseline,
     .take = take_baseline},
    {"model", MEMBER_PART, .add = add_model, .take = take_model},
    {"adjacency", MEMBER_MADE, .follows = " adjacency ", .make = make_word_adjacency},
    {.kind = MEMBER_PART, .follows = " epsilon_text epsilon_word private ", .add = add_promise},
    {"words", MEMBER_NUMBER, FIELD(guarantee.words)},
    {"record_words", MEMBER_LENGTH, FIELD(record_words)},
    {"pad", MEMBER_FLAG, FIELD(pad)},
    {"keep_punctuation", MEMBER_FLAG, FIELD(keep_punctuation)},
    {"keep_numbers", MEMBER_FLAG, FIELD(keep_numbers)},
    {"records", MEMBER_COUNT, FIELD(records), .least = 1, .late = true},
    {"vector", MEMBER_COUNT, FIELD(vector)},
    {"isa", MEMBER_ISA, FIELD(isa)},
    {"id_field", MEMBER_NAME, FIELD(id_field)},
    {"unit", MEMBER_FIXED, .text = "one record of the input", .follows = " unit "},
    {"unit_key", MEMBER_NAME, FIELD(unit_key)},
    {"words_sha256", MEMBER_HASH, FIELD(words_sha256)},
    {"date", MEMBER_DATE, FIELD(date), .late = true},
    {"dataset", MEMBER_LABEL, FIELD(dataset), .late = true},
    {"ledger", MEMBER_CHARGE, FIELD(ledger), .text = "rho", .late = true},
};

/* ---- the numbers ----------------------------------------------------------------------------- */

/* Makes the guarantee anew. Returns what is wrong, or NULL. */
static const char *remake_guarantee(struct perturb_receipt *receipt) {
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

static const char *check_word_charge(const struct perturb_receipt *receipt) {
	if (!*receipt->ledger.entry) return NULL;
	if (!receipt->dataset) return "it has an entry in a ledger and no data set";
	if (!perturb_receipt_counts(receipt)) return "a ledger counts proven guarantees only";
	return receipt->ledger.rho >= perturb_receipt_charge(receipt)
	           ? NULL
	           : "the ledger charged less than a record costs";
}

static const char *check_words(const struct attested *attested, void *at) {
	struct perturb_receipt *receipt = at;
	const char *adjacency, *problem = remake_guarantee(receipt);
	if (problem) return problem;
	evidence_find_wording(&PERTURB_KIND, attested, receipt);
	// The oldest sentence is the former one, too: only its adjacency is another.
	if (receipt->wording == RECEIPT_OLDEST &&
	    !(attest_text(attested->root, "adjacency", &adjacency) &&
	      !strcmp(adjacency, WORD_OLDEST_ADJACENCY)))
		receipt->wording = RECEIPT_FORMER;
	return check_word_charge(receipt);
}

/* ---- the receipt ----------------------------------------------------------------------------- */

static void tell_words(const void *at, char sentence[EVIDENCE_SENTENCE]) {
	perturb_receipt_sentence(at, sentence);
}

static const char *note_words(const void *at) {
	const struct perturb_receipt *receipt = at;
	return receipt->params.insecure            ? "NOT PRIVATE"
	       : receipt->guarantee.private_output ? NULL
	                                           : WORD_NOTE;
}

const struct receipt_kind PERTURB_KIND = {.system = "cuttle perturb",
                                          .mechanism = "words",
                                          .members = MEMBERS,
                                          .count = MEMBERS_IN(MEMBERS),
                                          .size = sizeof(struct perturb_receipt),
                                          .room = sizeof(struct perturb_receipt),
                                          .sentence = tell_words,
                                          .note = note_words,
                                          .wording = offsetof(struct perturb_receipt, wording),
                                          .check = check_words};

bool perturb_receipt_fingerprint(const struct perturb_receipt *receipt,
                                 const struct perturb_command *command,
                                 char fingerprint[HASH_TEXT]) {
	const struct jsonout_member members[] = {
	    {"input", jsonout_text(command->input, strlen(command->input))},
	    {"text_field", jsonout_text(command->text_field, strlen(command->text_field))},
	    {"input_format", json_string(command->input_format)},
	    {"delimiter", command->delimiter ? json_string(command->delimiter) : json_null()},
	    {"insecure_seed", json_integer((json_int_t)command->insecure_seed)},
	};
	return evidence_fingerprint(&PERTURB_KIND, receipt, members, MEMBERS_IN(members),
	                            fingerprint);
}

json_t *perturb_receipt_json(const struct perturb_receipt *receipt, const char *fingerprint,
                             const char *output_sha256) {
	return evidence_json(&PERTURB_KIND, receipt, fingerprint, output_sha256);
}
