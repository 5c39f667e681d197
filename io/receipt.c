// SPDX-License-Identifier: Apache-2.0
// Builds the receipt of receipt.h with jansson. receipt_json has its members in one table; the
// fingerprint is a hash of the same document with some of them blanked.
#include "io/receipt.h"

#include "io/jsonout.h"
#include "io/method.h"
#include "io/units.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By [0 = a unit is a record, 1 = it is a key's value][1 = with categories]. */
static const char *const ADJACENCY[2][2] = {
    {"replace one reference by null", "replace one reference by null; its category stays"},
    {"replace all references of one unit by null",
     "replace all references of one unit by null; their categories stay"}};
static const char PRIVATE_CATEGORY[] = "replace one reference by null, its category with it";
static const char UNIT[] = "one record of the input";

double receipt_epsilon(const struct cuttle_guarantee *guarantee) {
	return guarantee->accountant == CUTTLE_EXACT ? guarantee->epsilon_exact
	                                             : guarantee->epsilon;
}

enum cuttle_status receipt_weigh(struct receipt *receipt, uint64_t weight, double rho,
                                 struct cuttle_error *error) {
	struct cuttle_guarantee *guarantee = &receipt->guarantee;
	struct cuttle_budget budget;
	receipt->unit.weight = weight;
	if (weight == 1) return CUTTLE_OK;
	cuttle_budget_none(&budget);
	budget.rho = rho;
	budget.delta = guarantee->delta;
	enum cuttle_status status = cuttle_budget_solve(&budget, CUTTLE_EPSILON, error);
	if (status) return status;
	guarantee->rho = budget.rho;
	guarantee->epsilon = budget.epsilon;
	guarantee->epsilon_exact = NAN;
	guarantee->accountant = CUTTLE_ZCDP;
	return CUTTLE_OK;
}

/* What the guarantee counts on with lots, behind the sentence in `sentence`. */
static void add_lots_sentence(const struct receipt *receipt, char sentence[RECEIPT_SENTENCE]) {
	const struct cuttle_guarantee *guarantee = &receipt->guarantee;
	uint64_t batches = 0;
	char delta[UNITS_NUMBER];
	for (size_t i = 0; i < receipt->lot_count; i++) batches += receipt->lots[i].batches;
	units_print(guarantee->delta_if_known, true, delta);
	const size_t used = strlen(sentence);
	if (receipt->histogram && receipt->unit.key) {
		(void)snprintf(sentence + used, RECEIPT_SENTENCE - used,
		               " This counts on lots nobody saw: of the batches at most %llu in "
		               "%llu were used. Against who knows the batch of a value of %s, "
		               "epsilon is %.10g at delta %s.",
		               (unsigned long long)receipt->lots->used, (unsigned long long)batches,
		               receipt->unit.key,
		               jsonout_round_up(guarantee->epsilon_if_known, 1e4), delta);
		return;
	}
	if (receipt->histogram) {
		(void)snprintf(
		    sentence + used, RECEIPT_SENTENCE - used,
		    " This counts on lots nobody saw: of the batches of each category at "
		    "most %llu in %llu were used. Against who knows a record's batch, "
		    "epsilon is %.10g at delta %s.",
		    (unsigned long long)receipt->lots->used, (unsigned long long)batches,
		    jsonout_round_up(guarantee->epsilon_if_known, 1e4), delta);
		return;
	}
	(void)snprintf(sentence + used, RECEIPT_SENTENCE - used,
	               " This counts on lots nobody saw: %zu of %llu batches were used. Against "
	               "who knows a record's batch, epsilon is %.10g at delta %s.",
	               receipt->texts, (unsigned long long)batches,
	               jsonout_round_up(guarantee->epsilon_if_known, 1e4), delta);
}

void receipt_sentence(const struct receipt *receipt, const char *unit_key,
                      char sentence[RECEIPT_SENTENCE]) {
	const struct cuttle_guarantee *guarantee = &receipt->guarantee;
	const size_t texts = receipt->texts;
	char method[METHOD_SENTENCE];
	if (!guarantee->private_output) {
		method_not_private(guarantee, method);
		(void)snprintf(sentence, RECEIPT_SENTENCE, "%s.", method);
		return;
	}
	char factor[32] = "", delta[UNITS_NUMBER], odds[64];
	units_print(guarantee->delta, true, delta);
	double epsilon = jsonout_round_up(receipt_epsilon(guarantee), 1e4);
	if (epsilon < 12)
		(void)snprintf(factor, sizeof factor, " = %.6g",
		               jsonout_round_up(exp(epsilon), epsilon < 4 ? 1e2 : 1));
	if (*factor) (void)snprintf(odds, sizeof odds, "%s", factor + 3);
	else (void)snprintf(odds, sizeof odds, "e^%.10g", epsilon);
	const char *const of = unit_key ? " of " : "", *const key = unit_key ? unit_key : "",
	                  *const whose =
	                      unit_key ? "the records of any one value" : "any one record",
	                  *const bank = guarantee->savings.token_bank ? "texts of " : "",
	                  *const what = guarantee->savings.token_bank ? "batches" : "texts";
	size_t used;
	if (receipt->former_words)
		(void)snprintf(
		    sentence, RECEIPT_SENTENCE,
		    "Guarantee: whatever anyone concludes from all %s%zu %s together, they "
		    "would have concluded nearly as well without %s%s%s: the probability of "
		    "any event is at most e^%.10g%s times what it would be without, plus "
		    "delta = %s, and the other way round.",
		    bank, texts, what, whose, of, key, epsilon, factor, delta);
	else
		(void)snprintf(
		    sentence, RECEIPT_SENTENCE,
		    "Guarantee: whatever anyone concludes from all %s%zu %s together, the "
		    "probability of any event is at most e^%.10g%s times what it would be "
		    "without %s%s%s, plus delta = %s, and the other way round. Even odds "
		    "become at most %s to 1, but for delta.%s",
		    bank, texts, what, epsilon, factor, whose, of, key, delta, odds,
		    epsilon > RECEIPT_WEAK ? RECEIPT_LITTLE : "");
	used = strlen(sentence);
	(void)snprintf(
	    sentence + used, RECEIPT_SENTENCE - used,
	    " That is (epsilon = %.10g, delta = %s)-differential privacy per %s%s%s, where "
	    "%s replaced by nothing.",
	    epsilon, delta, unit_key ? "value" : "record", of, key,
	    unit_key ? "all its records are" : "one record is");
	if (receipt->lot_count) add_lots_sentence(receipt, sentence);
	method_sentence(guarantee, method);
	used = strlen(sentence);
	(void)snprintf(sentence + used, RECEIPT_SENTENCE - used, "%s", method);
}

static json_t *json_of_ledger(const struct receipt *receipt) {
	const struct receipt_ledger *ledger = &receipt->ledger;
	if (!*ledger->entry) return json_null();
	if (ledger->delta > 0)
		return json_pack("{s:s, s:f, s:f}", "entry", ledger->entry, "epsilon", ledger->rho,
		                 "delta", ledger->delta);
	const bool order = receipt->guarantee.claim.kind == CUTTLE_CLAIM_ORDER;
	return json_pack("{s:s, s:f}", "entry", ledger->entry, order ? "loss" : "rho", ledger->rho);
}

json_t *receipt_add_savings(json_t *object, const struct cuttle_savings *savings) {
	const struct {
		bool on;
		const char *key;
		json_t *value;
	} members[] = {
	    {savings->center, "center", json_string("median")},
	    {savings->token_bank, "token_bank", json_true()},
	    {savings->complete, "complete", json_true()},
	    {savings->public_when > 0, "public_when", json_real(savings->public_when)},
	    {savings->free_tokens > 0, "free_tokens", json_integer(savings->free_tokens)},
	};
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		if (members[i].on)
			object = jsonout_extend(
			    object, &(struct jsonout_member){members[i].key, members[i].value}, 1);
		else json_decref(members[i].value);
	return object;
}

/* A run without a gain has no such member, as in the receipts before there was one. */
static json_t *add_gain(json_t *object, double gain) {
	if (gain == 1.0) return object;
	return jsonout_extend(object, &(struct jsonout_member){"gain", json_real(gain)}, 1);
}

/* One number where there is one cluster, else the list of them. */
static json_t *json_of_clusters(const struct receipt *receipt, size_t offset) {
	json_t *list = json_array();
	for (size_t i = 0; i < receipt->lot_count; i++) {
		const char *lots = (const char *)&receipt->lots[i];
		json_t *number =
		    json_integer((json_int_t) * (const uint64_t *)(const void *)(lots + offset));
		if (!receipt->categories || receipt->histogram) {
			json_decref(list);
			return number;
		}
		(void)json_array_append_new(list, number);
	}
	return list;
}

/* A run without lots has no such member, as in the receipts before there were any. */
static json_t *add_lots(json_t *object, const struct receipt *receipt) {
	const struct cuttle_guarantee *guarantee = &receipt->guarantee;
	if (!receipt->lot_count) return object;
	const struct jsonout_member members[] = {
	    {"records", json_of_clusters(receipt, offsetof(struct cuttle_lots, records))},
	    {"batches", json_of_clusters(receipt, offsetof(struct cuttle_lots, batches))},
	    {"used", json_of_clusters(receipt, offsetof(struct cuttle_lots, used))},
	    {"rows_cap", json_integer(guarantee->places)},
	    {"epsilon_if_known", json_real(guarantee->epsilon_if_known)},
	    {"delta_if_known", json_real(guarantee->delta_if_known)},
	};
	json_t *lots = jsonout_extend(json_object(), members, sizeof members / sizeof *members);
	return jsonout_extend(object, &(struct jsonout_member){"lots", lots}, 1);
}

/* [clusters] one of the numbers of each seat. */
static json_t *json_of_seats(const struct receipt *receipt, size_t offset) {
	json_t *list = json_array();
	for (size_t i = 0; receipt->seats && i < receipt->histogram->clusters; i++) {
		const char *seat = (const char *)&receipt->seats[i];
		(void)json_array_append_new(
		    list,
		    json_integer((json_int_t) * (const uint64_t *)(const void *)(seat + offset)));
	}
	return list;
}

/* How private categories were counted, and what followed. Other runs have no such member. */
static json_t *add_histogram(json_t *object, const struct receipt *receipt) {
	if (!receipt->histogram) return object;
	json_t *counts = json_array();
	for (size_t i = 0; receipt->counts_of_clusters && i < receipt->histogram->clusters; i++)
		(void)json_array_append_new(
		    counts, json_integer((json_int_t)receipt->counts_of_clusters[i]));
	const struct jsonout_member members[] = {
	    {"rule", json_integer(RECEIPT_SEATS)},
	    {"t", json_integer(receipt->histogram->scale)},
	    {"wanted", json_integer(receipt->histogram->texts)},
	    {"counts", counts},
	    {"batches", json_of_seats(receipt, offsetof(struct cuttle_lots, batches))},
	    {"used", json_of_seats(receipt, offsetof(struct cuttle_lots, used))}};
	json_t *all = jsonout_extend(json_object(), members, sizeof members / sizeof *members);
	return jsonout_extend(object, &(struct jsonout_member){"histogram", all}, 1);
}

/* A run in one round has no such member, as in the receipts before there were two. */
static json_t *add_rounds(json_t *object, uint32_t places) {
	if (!places) return object;
	const struct jsonout_member members[] = {{"count", json_integer(2)},
	                                         {"drawn", json_integer(places / 2)},
	                                         {"examples", json_integer(places)}};
	json_t *rounds = jsonout_extend(json_object(), members, sizeof members / sizeof *members);
	return jsonout_extend(object, &(struct jsonout_member){"rounds", rounds}, 1);
}

/* A run without a token prior has no such member. */
static json_t *add_prior(json_t *object, const struct receipt *receipt) {
	if (receipt->guarantee.token_prior == 0.0) return object;
	const struct jsonout_member members[] = {
	    {"rho", json_real(receipt->guarantee.token_prior)},
	    {"public_texts", json_integer((json_int_t)receipt->prior.public_texts)},
	    {"public_sha256", json_string(receipt->prior.public_sha256)},
	    {"kept", json_integer((json_int_t)receipt->prior.kept)}};
	json_t *all = jsonout_extend(json_object(), members, sizeof members / sizeof *members);
	return jsonout_extend(object, &(struct jsonout_member){"token_prior", all}, 1);
}

json_t *receipt_add_filters(json_t *object, const struct filters *filters,
                            const struct filter_counts *counts) {
	if (!filters->trim && !filters_drop_any(filters)) return object;
	uint64_t kept = counts->drawn;
	json_t *dropped = json_object();
	for (enum filter_rule rule = 0; rule < FILTER_RULES; rule++) {
		const struct jsonout_member member = {
		    filters_name(rule), json_integer((json_int_t)counts->dropped[rule])};
		kept -= counts->dropped[rule];
		if (filters->drop[rule]) dropped = jsonout_extend(dropped, &member, 1);
		else json_decref(member.value);
	}
	json_t *all =
	    json_pack("{s:s, s:I, s:I, s:o}", "trim", filters->trim ? "sentence" : "none", "drawn",
	              (json_int_t)counts->drawn, "kept", (json_int_t)kept, "dropped", dropped);
	const struct jsonout_member members[] = {
	    {"filters", all}, {"dropped_sha256", json_string(counts->dropped_sha256)}};
	const bool sealed = *counts->dropped_sha256;
	if (!sealed) json_decref(members[1].value);
	return jsonout_extend(object, members, sealed ? 2 : 1);
}

static json_t *json_of_unit(const struct receipt_unit *unit) {
	return unit->key ? json_pack("s+", "everybody with one value of ", unit->key)
	                 : json_string(UNIT);
}

static json_t *json_of_categories(const struct categories *categories) {
	json_t *list = categories ? json_array() : json_null();
	for (size_t i = 0; categories && i < categories->count; i++) {
		const struct category *category = &categories->all[i];
		json_t *values = json_object(),
		       *entry = json_pack("{s:I, s:o}", "texts", (json_int_t)category->texts,
		                          "values", values);
		bool made = entry != NULL;
		for (size_t j = 0; made && j < categories->field_count; j++)
			made = json_object_set_new(values, categories->fields[j],
			                           json_string(category->values[j])) == 0;
		if (made && json_array_append_new(list, entry) == 0) continue;
		if (!made) json_decref(entry);
		json_decref(list);
		return NULL;
	}
	return list;
}

json_t *receipt_add_stops(json_t *object, const struct cuttle_stops *stops) {
	if (!stops->given) return object;
	json_t *list = json_array();
	for (size_t i = 0; i < stops->count; i++)
		if (json_array_append_new(list, json_string(stops->strings[i])) != 0) {
			json_decref(list);
			list = NULL;
			break;
		}
	return jsonout_extend(object, &(struct jsonout_member){"stop", list}, 1);
}

json_t *receipt_json(const struct receipt *receipt, const char *fingerprint,
                     const char *output_sha256) {
	const struct cuttle_guarantee *guarantee = &receipt->guarantee;
	static const char *const accountants[] = {"zcdp", "exact", "renyi"};
	const bool exact = guarantee->accountant == CUTTLE_EXACT,
	           promises = cuttle_method_promises(guarantee->method),
	           clipped = guarantee->clip_fixed != 0;
	char sentence[RECEIPT_SENTENCE];
	receipt_sentence(receipt, receipt->unit.key, sentence);
	const struct jsonout_member members[] = {
	    {"accountant",
	     promises ? json_string(accountants[guarantee->accountant]) : json_null()},
	    {"adjacency",
	     json_string(receipt->histogram && !receipt->unit.key
	                     ? PRIVATE_CATEGORY
	                     : ADJACENCY[receipt->unit.key != NULL][receipt->categories != NULL])},
	    {"batch", json_integer(guarantee->batch)},
	    {"categories", json_of_categories(receipt->categories)},
	    {"clip", clipped ? json_real(guarantee->clip) : json_null()},
	    {"clip_fixed", clipped ? json_integer(guarantee->clip_fixed) : json_null()},
	    {"command_sha256", json_string(fingerprint)},
	    {"context", json_integer(guarantee->context)},
	    {"dataset", receipt->dataset ? json_string(receipt->dataset) : json_null()},
	    {"date", json_string(receipt->date)},
	    {"delta", json_real(guarantee->delta)},
	    {"epsilon", jsonout_real(receipt_epsilon(guarantee))},
	    {exact ? "epsilon_zcdp" : "epsilon_exact",
	     jsonout_real(exact ? guarantee->epsilon : guarantee->epsilon_exact)},
	    {"fraction_bits", clipped ? json_integer(guarantee->fraction_bits) : json_null()},
	    {"guarantee", json_string(sentence)},
	    {"isa", json_string(receipt->isa)},
	    {"ledger", json_of_ledger(receipt)},
	    {"model_bytes", json_integer((json_int_t)receipt->model.file_bytes)},
	    {"model_name", jsonout_text(receipt->model.name, strlen(receipt->model.name))},
	    {"model_sha256", json_string(receipt->model_sha256)},
	    {"output_sha256", json_string(output_sha256)},
	    {"private", json_boolean(guarantee->private_output)},
	    {"receipt", json_integer(RECEIPT_FORMAT)},
	    {"reference_tokens", json_integer(guarantee->reference_tokens)},
	    {"rho", jsonout_real(guarantee->rho)},
	    {"temperature", json_real(guarantee->temperature)},
	    {"template_sha256", json_string(receipt->template_sha256)},
	    {guarantee->savings.token_bank ? "batches" : "texts",
	     json_integer((json_int_t)receipt->texts)},
	    {"tokens", json_integer(guarantee->tokens)},
	    {"top_k", json_integer(guarantee->top_k)},
	    {"trace", json_boolean(receipt->trace)},
	    {"unit", json_of_unit(&receipt->unit)},
	    {"unit_key", receipt->unit.key ? json_string(receipt->unit.key) : json_null()},
	    {"unit_limited", json_boolean(receipt->unit.limited)},
	    {"unit_weight", json_integer((json_int_t)receipt->unit.weight)},
	    {"version", json_string(cuttle_version())},
	};
	json_t *stamp =
	    json_pack(guarantee->private_output ? "{}" : "{s:s}", "note", "NOT PRIVATE");
	json_t *root = jsonout_extend(stamp, members, sizeof members / sizeof *members);
	root = add_gain(receipt_add_savings(root, &guarantee->savings), guarantee->gain);
	root = method_add(add_histogram(add_lots(root, receipt), receipt), guarantee);
	root = add_prior(root, receipt);
	root = add_rounds(root, receipt->places_of_rounds);
	const struct jsonout_member clusters = {
	    "clusters_sha256",
	    receipt->clusters_sha256 ? json_string(receipt->clusters_sha256) : NULL};
	if (receipt->clusters_sha256) root = jsonout_extend(root, &clusters, 1);
	root = receipt_add_stops(root, &receipt->stops);
	return receipt_add_filters(root, &receipt->filters, &receipt->counts);
}

char *receipt_canonical(json_t *root, size_t *size) {
	return jsonout_dump(root, JSON_SORT_KEYS | JSON_INDENT(2), size);
}

/* Takes the document and returns it with the key and the signature. The signed bytes have the key
 * already. */
static json_t *sign_document(json_t *root, const struct signature_key *signer) {
	char signature[SIGNATURE_TEXT];
	size_t size;
	root = jsonout_extend(
	    root, &(struct jsonout_member){"public_key", json_string(signature_public(signer))}, 1);
	char *bytes = receipt_canonical(json_incref(root), &size);
	if (bytes) signature_sign(signer, bytes, size, signature);
	root = jsonout_extend(
	    root, &(struct jsonout_member){"signature", bytes ? json_string(signature) : NULL}, 1);
	free(bytes);
	return root;
}

char *receipt_seal(json_t *root, const struct signature_key *signer, size_t *size) {
	return receipt_canonical(signer ? sign_document(root, signer) : root, size);
}

char *receipt_dump(const struct receipt *receipt, const char *fingerprint,
                   const char *output_sha256, size_t *size) {
	json_t *root = receipt_json(receipt, fingerprint, output_sha256);
	return receipt_seal(root, receipt->signer, size);
}

bool receipt_hash_command(json_t *root, const struct jsonout_member *members, size_t count,
                          char fingerprint[HASH_TEXT]) {
	size_t size;
	// Two versions of one format are the same command.
	const struct jsonout_member since = {"version", json_string(RECEIPT_SINCE)};
	root = jsonout_extend(jsonout_extend(root, members, count), &since, 1);
	char *text = jsonout_dump(root, JSON_SORT_KEYS, &size);
	if (text) hash_of(text, size, fingerprint);
	free(text);
	return text != NULL;
}

const char *receipt_command_isa(const char *isa) {
	return strstr(isa, "blas") ? "blas" : "exact";
}

bool receipt_fingerprint(const struct receipt *receipt, const struct receipt_command *command,
                         char fingerprint[HASH_TEXT]) {
	struct receipt same = *receipt;
	same.isa = receipt_command_isa(receipt->isa);
	same.date[0] = 0;
	same.dataset = NULL;
	same.ledger = (struct receipt_ledger){.entry = ""};
	same.counts = (struct filter_counts){0};
	same.prior.kept = 0;
	same.former_words = true;
	const struct jsonout_member members[] = {
	    {"input", jsonout_text(command->input, strlen(command->input))},
	    {"text_field", jsonout_text(command->text_field, strlen(command->text_field))},
	    {"input_format", json_string(command->input_format)},
	    {"output_format", json_string(command->output_format)},
	    {"insecure_seed", json_integer((json_int_t)command->insecure_seed)},
	};
	return receipt_hash_command(receipt_json(&same, "", ""), members,
	                            sizeof members / sizeof *members, fingerprint);
}

static void copy_hash(const json_t *value, char hash[HASH_TEXT]) {
	hash[0] = 0;
	if (json_string_length(value) == HASH_TEXT - 1)
		memcpy(hash, json_string_value(value), HASH_TEXT);
}

bool receipt_read(const char *path, char fingerprint[HASH_TEXT], char output_sha256[HASH_TEXT]) {
	char *bytes;
	size_t size;
	json_t *root = NULL;
	if (!file_read(path, (size_t)1 << 20, &bytes, &size, NULL))
		root = json_loadb(bytes, size, 0, NULL);
	free(bytes);
	copy_hash(json_object_get(root, "command_sha256"), fingerprint);
	copy_hash(json_object_get(root, "output_sha256"), output_sha256);
	json_decref(root);
	return file_same(path, path);
}
