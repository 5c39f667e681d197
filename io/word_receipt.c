// SPDX-License-Identifier: Apache-2.0
// Builds the receipt of word_receipt.h with jansson. The guarantee and its sentence are the
// engine's, so that a claim can make them again from the parameters.
#include "io/word_receipt.h"

#include "base/misuse.h"
#include "io/jsonout.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const WORD_METHOD_NAMES[WORD_METHODS] = {"rank",     "rantext", "santext",
                                                     "santext+", "custext", "custext+"};
const char *const WORD_TABLE_NAMES[WORD_TABLES] = {"step", "envelope"};

static const char UNIT[] = "one record of the input";

bool word_receipt_counts(const struct word_receipt *receipt) {
	return receipt->guarantee.private_output && receipt->pad;
}

double word_receipt_charge(const struct word_receipt *receipt) {
	REQUIRE(word_receipt_counts(receipt));
	return cuttle_perturb_rho(receipt->params.epsilon_millionths, receipt->record_words);
}

void word_receipt_sentence(const struct word_receipt *receipt, char sentence[WORD_SENTENCE]) {
	(void)snprintf(sentence, WORD_SENTENCE, "%s%s%s%s", receipt->guarantee.sentence,
	               receipt->keep_punctuation ? " Declared public: punctuation and line breaks."
	                                         : "",
	               receipt->keep_numbers ? " Declared public: which places are numbers." : "",
	               receipt->id_field ? " Declared public: the ids." : "");
}

/* ---- the document ---------------------------------------------------------------------------- */

static json_t *word_or_null(const char *word) {
	return word && *word ? json_string(word) : json_null();
}

static json_t *json_of_table(const struct word_receipt *receipt) {
	const struct cuttle_perturb_guarantee *guarantee = &receipt->guarantee;
	const struct jsonout_member members[] = {
	    {"kind", json_string(WORD_TABLE_NAMES[receipt->params.table])},
	    {"k", guarantee->near ? json_integer(guarantee->near) : json_null()},
	    {"V", json_integer(guarantee->words)},
	    {"first", json_string(guarantee->table_first)},
	    {"last", json_string(guarantee->table_last)},
	    {"total", json_string(guarantee->table_total)},
	};
	json_t *table = jsonout_extend(json_object(), members, sizeof members / sizeof *members);
	if (receipt->params.method == CUTTLE_RANK) return table;
	json_decref(table);
	return json_null();
}

/* The parameters of a baseline: those that its method has. NULL: out of memory. */
static json_t *json_of_baseline(const struct word_receipt *receipt) {
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

static json_t *json_of_charge(const struct receipt_ledger *ledger) {
	return *ledger->entry ? json_pack("{s:s, s:f}", "entry", ledger->entry, "rho", ledger->rho)
	                      : json_null();
}

static const char *name_adjacency(const struct word_receipt *receipt) {
	if (!receipt->guarantee.private_output) return NULL;
	return receipt->pad            ? "a record becomes one without words"
	       : receipt->former_words ? WORD_FORMER_ADJACENCY
	                               : "one word of a record becomes any other word; how many "
	                                 "there are is public";
}

json_t *word_receipt_json(const struct word_receipt *receipt, const char *fingerprint,
                          const char *output_sha256) {
	const struct cuttle_perturb_params *params = &receipt->params;
	const struct cuttle_perturb_guarantee *guarantee = &receipt->guarantee;
	const char *name = receipt->model_name;
	char sentence[WORD_SENTENCE];
	word_receipt_sentence(receipt, sentence);
	const struct jsonout_member members[] = {
	    {"adjacency", word_or_null(name_adjacency(receipt))},
	    {"baseline", json_of_baseline(receipt)},
	    {"command_sha256", json_string(fingerprint)},
	    {"dataset", word_or_null(receipt->dataset)},
	    {"date", json_string(receipt->date)},
	    {"epsilon_millionths", json_integer(params->epsilon_millionths)},
	    {"epsilon_text", jsonout_real(guarantee->epsilon_text)},
	    {"epsilon_word", jsonout_real(guarantee->epsilon_word)},
	    {"guarantee", json_string(sentence)},
	    {"id_field", word_or_null(receipt->id_field)},
	    {"isa", json_string(receipt->isa)},
	    {"keep_numbers", json_boolean(receipt->keep_numbers)},
	    {"keep_punctuation", json_boolean(receipt->keep_punctuation)},
	    {"ledger", json_of_charge(&receipt->ledger)},
	    {"mechanism", json_string(WORD_MECHANISM)},
	    {"method", json_string(WORD_METHOD_NAMES[params->method])},
	    {"model_bytes", name ? json_integer((json_int_t)receipt->model_bytes) : json_null()},
	    {"model_name", name ? jsonout_text(name, strlen(name)) : json_null()},
	    {"model_sha256", word_or_null(receipt->model_sha256)},
	    {"output_sha256", json_string(output_sha256)},
	    {"pad", json_boolean(receipt->pad)},
	    {"private", json_boolean(guarantee->private_output)},
	    {"receipt", json_integer(RECEIPT_FORMAT)},
	    {"record_words",
	     receipt->record_words ? json_integer(receipt->record_words) : json_null()},
	    {"records", json_integer((json_int_t)receipt->records)},
	    {"table", json_of_table(receipt)},
	    {"unit", json_string(UNIT)},
	    {"unit_key", word_or_null(receipt->unit_key)},
	    {"vector", json_integer((json_int_t)receipt->vector)},
	    {"version", json_string(cuttle_version())},
	    {"words", json_integer(guarantee->words)},
	    {"words_sha256", json_string(receipt->words_sha256)},
	};
	const char *note = params->insecure            ? "NOT PRIVATE"
	                   : guarantee->private_output ? NULL
	                                               : WORD_NOTE;
	json_t *stamp = note ? json_pack("{s:s}", "note", note) : json_object();
	return jsonout_extend(stamp, members, sizeof members / sizeof *members);
}

bool word_receipt_fingerprint(const struct word_receipt *receipt,
                              const struct word_command *command, char fingerprint[HASH_TEXT]) {
	struct word_receipt same = *receipt;
	same.isa = receipt_command_isa(receipt->isa);
	same.date[0] = 0;
	same.dataset = NULL;
	same.ledger = (struct receipt_ledger){.entry = ""};
	same.records = 0;
	same.former_words = true;
	const struct jsonout_member members[] = {
	    {"input", jsonout_text(command->input, strlen(command->input))},
	    {"text_field", jsonout_text(command->text_field, strlen(command->text_field))},
	    {"input_format", json_string(command->input_format)},
	    {"delimiter", word_or_null(command->delimiter)},
	    {"insecure_seed", json_integer((json_int_t)command->insecure_seed)},
	};
	return receipt_hash_command(word_receipt_json(&same, "", ""), members,
	                            sizeof members / sizeof *members, fingerprint);
}
