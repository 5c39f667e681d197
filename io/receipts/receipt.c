// SPDX-License-Identifier: Apache-2.0
// The sentence of receipt.h, and what receipts of all systems share when they are written.
#include "io/receipts/receipt.h"

#include "io/disk/jsonout.h"
#include "io/receipts/method.h"
#include "io/records/units.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void receipt_tell_lots(const struct receipt_lots *lots, char *sentence, size_t room) {
	char what[64 + sizeof "18446744073709551615" * 2], whose[RECEIPT_SENTENCE],
	    delta[UNITS_NUMBER];
	const bool owners = lots->histogram && lots->unit_key;
	units_print(lots->delta, true, delta);
	if (lots->histogram)
		(void)snprintf(what, sizeof what, "of the batches%s at most %llu in %llu",
		               owners ? "" : " of each category", (unsigned long long)lots->used,
		               (unsigned long long)lots->batches);
	else
		(void)snprintf(what, sizeof what, "%llu of %llu batches",
		               (unsigned long long)lots->used, (unsigned long long)lots->batches);
	(void)snprintf(whose, sizeof whose, "%s%s",
	               owners ? "the batch of a value of " : "a record's batch",
	               owners ? lots->unit_key : "");
	(void)snprintf(sentence, room,
	               "%s%s were used. Against who knows %s, epsilon is %.10g at delta %s.",
	               RECEIPT_LOTS, what, whose, lots->epsilon, delta);
}

/* What the guarantee counts on with lots, behind the sentence in `sentence`. */
static void add_lots_sentence(const struct receipt *receipt, char sentence[RECEIPT_SENTENCE]) {
	const struct cuttle_guarantee *guarantee = &receipt->guarantee;
	struct receipt_lots lots = {.histogram = receipt->histogram != NULL,
	                            .unit_key = receipt->unit.key,
	                            .used =
	                                receipt->histogram ? receipt->lots->used : receipt->texts,
	                            .epsilon = jsonout_round_up(guarantee->epsilon_if_known, 1e4),
	                            .delta = guarantee->delta_if_known};
	for (size_t i = 0; i < receipt->lot_count; i++) lots.batches += receipt->lots[i].batches;
	const size_t used = strlen(sentence);
	receipt_tell_lots(&lots, sentence + used, RECEIPT_SENTENCE - used);
}

void receipt_print_factor(double epsilon, char text[RECEIPT_FACTOR]) {
	if (epsilon < 12)
		(void)snprintf(text, RECEIPT_FACTOR, "e^%.10g = %.6g", epsilon,
		               jsonout_round_up(exp(epsilon), epsilon < 4 ? 1e2 : 1));
	else (void)snprintf(text, RECEIPT_FACTOR, "e^%.10g", epsilon);
}

/* "20.09" of "e^3 = 20.09": the number alone, or the power where there is none. */
static const char *number_of_factor(const char *factor) {
	const char *number = strstr(factor, " = ");
	return number ? number + 3 : factor;
}

void receipt_promise(const struct receipt_promise *promise, char *sentence, size_t room) {
	char factor[RECEIPT_FACTOR], delta[UNITS_NUMBER];
	receipt_print_factor(jsonout_round_up(promise->epsilon, 1e4), factor);
	units_print(promise->delta, true, delta);
	(void)snprintf(sentence, room,
	               "Guarantee %s: any event has at most %s times the probability it has %s, "
	               "plus delta = %s. The same holds the other way round.",
	               promise->scope, factor, promise->otherwise, delta);
}

void receipt_promise_texts(const struct receipt_promise *promise, char *sentence, size_t room) {
	const double epsilon = jsonout_round_up(promise->epsilon, 1e4);
	char factor[RECEIPT_FACTOR];
	receipt_promise(promise, sentence, room);
	receipt_print_factor(epsilon, factor);
	const size_t used = strlen(sentence);
	(void)snprintf(sentence + used, room - used,
	               " An event is anything that anyone concludes from the texts. Even odds "
	               "become at most %s to 1, but for delta.%s",
	               number_of_factor(factor), epsilon > RECEIPT_WEAK ? RECEIPT_LITTLE : "");
}

struct receipt_joint bias_joint_promise(const struct receipt *receipt) {
	const struct cuttle_guarantee *guarantee = &receipt->guarantee;
	const struct receipt_bias *bias = &receipt->bias;
	const bool costs = *bias->sha256 && !bias->from_public;
	struct receipt_joint joint = {receipt_epsilon(guarantee), guarantee->delta};
	if (!costs) return joint;
	joint.epsilon = units_add(joint.epsilon, bias->epsilon);
	joint.delta = units_add(joint.delta, bias->delta);
	// With lots rho is that of whoever knows the batch.
	struct cuttle_budget budget;
	cuttle_budget_none(&budget);
	budget.rho = units_add(guarantee->rho, bias->rho);
	budget.delta = joint.delta;
	if (!receipt->lot_count && joint.delta < 1 &&
	    !cuttle_budget_solve(&budget, CUTTLE_EPSILON, NULL) && budget.epsilon < joint.epsilon)
		joint.epsilon = budget.epsilon;
	return joint;
}

json_t *receipt_add_bias(json_t *object, const struct receipt_bias *bias,
                         const struct receipt_joint *joint) {
	const bool none = bias->from_public;
	if (!*bias->sha256) return object;
	const struct jsonout_member members[] = {
	    {"delta", none ? json_null() : json_real(bias->delta)},
	    {"epsilon", none ? json_null() : json_real(bias->epsilon)},
	    {"receipt_sha256", json_string(bias->receipt_sha256)},
	    {"rho", none ? json_null() : json_real(bias->rho)},
	    {"sha256", json_string(bias->sha256)}};
	json_t *told = jsonout_extend(json_object(), members, sizeof members / sizeof *members);
	if (joint)
		told = jsonout_extend(told,
		                      (const struct jsonout_member[]){
		                          {"delta_together", json_real(joint->delta)},
		                          {"epsilon_together", json_real(joint->epsilon)}},
		                      2);
	return jsonout_extend(object, &(struct jsonout_member){"bias", told}, 1);
}

void receipt_tell_bias(bool from_public, const struct receipt_joint *joint, char *sentence,
                       size_t room) {
	char delta[UNITS_NUMBER];
	if (from_public) {
		(void)snprintf(sentence, room,
		               RECEIPT_BIAS ". It was learnt from records that are public.");
		return;
	}
	units_print(joint->delta, true, delta);
	(void)snprintf(sentence, room,
	               RECEIPT_BIAS ", which has a guarantee of its own. Where both read the same "
	                            "records, epsilon is %.10g at delta %s for both together.",
	               joint->epsilon, delta);
}

/* Of whom a sentence speaks. */
struct whom {
	const char *records;  /* "any one record" */
	const char *of, *key; /* " of " and the unit's field, or "" twice */
};

/* The promise in today's words, up to the one that names the kind of privacy. */
static void tell_promise(const struct receipt *receipt, const struct whom *whom,
                         char sentence[RECEIPT_SENTENCE]) {
	const struct cuttle_guarantee *guarantee = &receipt->guarantee;
	char scope[64], otherwise[RECEIPT_SENTENCE];
	// With a token bank a batch has any number of texts.
	(void)snprintf(scope, sizeof scope,
	               guarantee->savings.token_bank ? "for all texts of %zu batches together"
	                                             : "for all %zu texts together",
	               receipt->texts);
	(void)snprintf(otherwise, sizeof otherwise, "without %s%s%s", whom->records, whom->of,
	               whom->key);
	receipt_promise_texts(&(struct receipt_promise){.scope = scope,
	                                                .otherwise = otherwise,
	                                                .epsilon = receipt_epsilon(guarantee),
	                                                .delta = guarantee->delta},
	                      sentence, RECEIPT_SENTENCE);
}

/* The same in earlier words. */
static void tell_former_promise(const struct receipt *receipt, const struct whom *whom,
                                char sentence[RECEIPT_SENTENCE]) {
	const struct cuttle_guarantee *guarantee = &receipt->guarantee;
	const double epsilon = jsonout_round_up(receipt_epsilon(guarantee), 1e4);
	const bool banked = guarantee->savings.token_bank;
	const char *const bank = banked ? "texts of " : "", *const what =
	                                                        banked ? "batches" : "texts";
	char factor[RECEIPT_FACTOR], delta[UNITS_NUMBER];
	receipt_print_factor(epsilon, factor);
	units_print(guarantee->delta, true, delta);
	if (receipt->wording == RECEIPT_OLDEST)
		(void)snprintf(
		    sentence, RECEIPT_SENTENCE,
		    "Guarantee: whatever anyone concludes from all %s%zu %s together, they "
		    "would have concluded nearly as well without %s%s%s: the probability of "
		    "any event is at most %s times what it would be without, plus "
		    "delta = %s, and the other way round.",
		    bank, receipt->texts, what, whom->records, whom->of, whom->key, factor, delta);
	else
		(void)snprintf(
		    sentence, RECEIPT_SENTENCE,
		    "Guarantee: whatever anyone concludes from all %s%zu %s together, the "
		    "probability of any event is at most %s times what it would be "
		    "without %s%s%s, plus delta = %s, and the other way round. Even odds "
		    "become at most %s to 1, but for delta.%s",
		    bank, receipt->texts, what, factor, whom->records, whom->of, whom->key, delta,
		    number_of_factor(factor), epsilon > RECEIPT_WEAK ? RECEIPT_LITTLE : "");
}

void receipt_sentence(const struct receipt *receipt, const char *unit_key,
                      char sentence[RECEIPT_SENTENCE]) {
	const struct cuttle_guarantee *guarantee = &receipt->guarantee;
	const struct whom whom = {.records = !unit_key ? "any one record"
	                                     : receipt->wording == RECEIPT_NOW
	                                         ? "all records of any one value"
	                                         : "the records of any one value",
	                          .of = unit_key ? " of " : "",
	                          .key = unit_key ? unit_key : ""};
	char method[METHOD_SENTENCE], delta[UNITS_NUMBER];
	if (!guarantee->private_output) {
		method_not_private(guarantee, receipt->wording, method);
		(void)snprintf(sentence, RECEIPT_SENTENCE, "%s.", method);
		return;
	}
	if (receipt->wording == RECEIPT_NOW) tell_promise(receipt, &whom, sentence);
	else tell_former_promise(receipt, &whom, sentence);
	size_t used = strlen(sentence);
	units_print(guarantee->delta, true, delta);
	(void)snprintf(
	    sentence + used, RECEIPT_SENTENCE - used,
	    " That is (epsilon = %.10g, delta = %s)-differential privacy per %s%s%s, where "
	    "%s replaced by nothing.",
	    jsonout_round_up(receipt_epsilon(guarantee), 1e4), delta, unit_key ? "value" : "record",
	    whom.of, whom.key, unit_key ? "all its records are" : "one record is");
	if (receipt->lot_count) add_lots_sentence(receipt, sentence);
	method_sentence(guarantee, receipt->wording, method);
	used = strlen(sentence);
	(void)snprintf(sentence + used, RECEIPT_SENTENCE - used, "%s", method);
	if (!*receipt->bias.sha256) return;
	struct receipt_joint joint = bias_joint_promise(receipt);
	joint.epsilon = jsonout_round_up(joint.epsilon, 1e4);
	used = strlen(sentence);
	receipt_tell_bias(receipt->bias.from_public, &joint, sentence + used,
	                  RECEIPT_SENTENCE - used);
}

json_t *receipt_add_charge(json_t *object, const struct receipt_ledger *ledger,
                           const char *measure) {
	const char *entry = ledger->entry;
	json_t *charge = !*entry ? json_null()
	                 : ledger->delta > 0
	                     ? json_pack("{s:s, s:f, s:f}", "entry", entry, "epsilon", ledger->rho,
	                                 "delta", ledger->delta)
	                     : json_pack("{s:s, s:f}", "entry", entry, measure, ledger->rho);
	return jsonout_extend(object, &(struct jsonout_member){"ledger", charge}, 1);
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

const char *const RECEIPT_KV_TYPES[2] = {"f16", "q8"};

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
