// SPDX-License-Identifier: Apache-2.0
// See method.h. Parameters go through the engine's list of them, so a new one needs no line here.
#include "io/receipts/method.h"

#include "io/disk/jsonout.h"
#include "io/receipts/receipt.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Above it an epsilon is called no protection in practice: e^20 is 5 10^8. */
static const double NO_PROTECTION = 20;

/* By enum cuttle_claim_kind: what the cost of a unit is called, and what a ledger counts of it. */
static const struct {
	const char *unit;
	const char *ledger;
} KINDS[] = {[CUTTLE_CLAIM_RANGE] = {"eta", "rho"},
             [CUTTLE_CLAIM_RHO] = {"rho", "rho"},
             [CUTTLE_CLAIM_ORDER] = {"loss", "Renyi losses at this order"},
             [CUTTLE_CLAIM_NOTHING] = {NULL, "nothing"}};

static json_t *json_of_claim(const struct cuttle_guarantee *guarantee) {
	const struct cuttle_method_claim *claim = &guarantee->claim;
	const struct jsonout_member members[] = {
	    {"ledger", json_string(KINDS[claim->kind].ledger)},
	    {"null", json_string(claim->null_is_public ? "public row" : "nothing")},
	    {"units", json_integer(claim->units)}};
	json_t *object = jsonout_extend(json_object(), members, sizeof members / sizeof *members);
	const struct {
		const char *key;
		double value;
	} numbers[] = {{KINDS[claim->kind].unit, claim->unit},
	               {"loss_of_text", claim->loss},
	               {"order", claim->order ? claim->order : (double)NAN},
	               {"epsilon_per_token_of_any_two", claim->epsilon_pair},
	               {"epsilon_worst_case", claim->epsilon_worst}};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		if (!numbers[i].key || isnan(numbers[i].value)) continue;
		object = jsonout_extend(
		    object,
		    &(struct jsonout_member){numbers[i].key, jsonout_real(numbers[i].value)}, 1);
	}
	return object;
}

static json_t *json_of_field(const struct cuttle_method_field *field, const void *at) {
	const uint32_t count = field->kind == CUTTLE_FIELD_COUNT ? *(const uint32_t *)at : 0;
	if (field->kind == CUTTLE_FIELD_REAL) return jsonout_real(*(const double *)at);
	if (field->kind == CUTTLE_FIELD_FLAG) return json_boolean(*(const bool *)at);
	return count == UINT32_MAX ? json_string("infinity") : json_integer(count);
}

json_t *method_add(json_t *object, const struct cuttle_guarantee *guarantee) {
	if (guarantee->method == CUTTLE_INVISIBLEINK) return object;
	size_t count;
	const struct cuttle_method_field *fields = cuttle_method_fields(&count);
	json_t *parameters = json_object();
	for (size_t i = 0; i < count; i++)
		if (fields[i].methods >> guarantee->method & 1)
			parameters = jsonout_extend(
			    parameters,
			    &(struct jsonout_member){
			        fields[i].name,
			        json_of_field(&fields[i], (const char *)&guarantee->method_params +
			                                      fields[i].offset)},
			    1);
	const struct jsonout_member members[] = {
	    {"claim", json_of_claim(guarantee)},
	    {"method", json_string(cuttle_method_name(guarantee->method))},
	    {"parameters", parameters},
	    {"vocabulary", json_integer(guarantee->vocabulary)}};
	return jsonout_extend(object, members, sizeof members / sizeof *members);
}

/* Digits of an epsilon that was rounded up. Six might round a large one down again. */
static int digits_of(enum receipt_wording wording) {
	return wording == RECEIPT_NOW ? 10 : 6;
}

void method_sentence(const struct cuttle_guarantee *guarantee, enum receipt_wording wording,
                     char sentence[METHOD_SENTENCE]) {
	const struct cuttle_method_claim *claim = &guarantee->claim;
	sentence[0] = 0;
	if (guarantee->method == CUTTLE_INVISIBLEINK) return;
	int used = 0;
	if (guarantee->method == CUTTLE_AMIN)
		used = snprintf(sentence, METHOD_SENTENCE,
		                " At most %u thresholds a batch; by zCDP.", (unsigned)claim->units);
	if (claim->kind == CUTTLE_CLAIM_ORDER)
		used += snprintf(sentence + used, METHOD_SENTENCE - (size_t)used,
		                 " This holds at Renyi order %u only.", (unsigned)claim->order);
	if (isnan(claim->epsilon_pair)) return;
	const double text = claim->epsilon_pair * claim->units;
	const int digits = digits_of(wording);
	(void)snprintf(sentence + used, METHOD_SENTENCE - (size_t)used,
	               " Between any two texts in place of the record, epsilon is %.*g a token, "
	               "%.*g the text%s.",
	               digits, jsonout_round_up(claim->epsilon_pair, 1e4), digits,
	               jsonout_round_up(text, 1e4),
	               text > NO_PROTECTION ? ": no protection in practice" : "");
}

void method_not_private(const struct cuttle_guarantee *guarantee, enum receipt_wording wording,
                        char sentence[METHOD_SENTENCE]) {
	if (guarantee->method == CUTTLE_INVISIBLEINK || cuttle_method_promises(guarantee->method)) {
		(void)snprintf(sentence, METHOD_SENTENCE, "%s", RECEIPT_NOT_PRIVATE);
		return;
	}
	if (!isnan(guarantee->claim.epsilon_worst)) {
		(void)snprintf(sentence, METHOD_SENTENCE,
		               "NOT PRIVATE: the loss of method %s was computed from the "
		               "references; worst case epsilon %.*g",
		               cuttle_method_name(guarantee->method), digits_of(wording),
		               jsonout_round_up(guarantee->claim.epsilon_worst, 1e4));
		return;
	}
	(void)snprintf(sentence, METHOD_SENTENCE,
	               "NOT PRIVATE: method %s protects nothing, so the texts may repeat the "
	               "references; there is no guarantee",
	               cuttle_method_name(guarantee->method));
}
