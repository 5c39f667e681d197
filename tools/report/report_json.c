// SPDX-License-Identifier: Apache-2.0
// The members of report_json.h.
#include "tools/report/report_json.h"

#include "io/disk/jsonout.h"
#include <string.h>

#define EXTEND(members) jsonout_extend(json_object(), members, sizeof(members) / sizeof *(members))

/* A name that jansson takes whatever its bytes are. */
static json_t *encode_name(const char *text) {
	return text ? jsonout_text(text, strlen(text)) : json_null();
}

static json_t *encode_lines(const struct promise_lines *lines) {
	json_t *list = json_array();
	for (size_t i = 0; i < lines->count; i++)
		(void)json_array_append_new(list, encode_name(lines->all[i].text));
	return list;
}

static json_t *encode_about(const struct promise_lines *lines) {
	json_t *object = json_object();
	for (size_t i = 0; i < lines->count; i++)
		(void)json_object_set_new(object, lines->all[i].label,
		                          encode_name(lines->all[i].text));
	return object;
}

/* The number of a receipt in the report, or null. */
static json_t *encode_place(size_t receipt) {
	return receipt == REPORT_NONE ? json_null() : json_integer((json_int_t)receipt);
}

static json_t *encode_receipt(const struct report_receipt *receipt) {
	const struct jsonout_member members[] = {
	    {"file", encode_name(report_base_name(receipt->path))},
	    {"sha256", json_string(receipt->sha256)},
	    {"system", json_string(receipt->v.evidence.kind->system)},
	    {"holds", json_true()},
	    {"key_compared", json_boolean(receipt->files.key)},
	    {"ledger_compared", json_boolean(receipt->files.ledger != NULL)},
	    {"follows", encode_name(receipt->promise.opening)},
	    {"not_checked", encode_name(receipt->promise.unchecked)},
	    {"about", encode_about(&receipt->promise.about)},
	    {"promised", encode_lines(&receipt->promise.kept)},
	    {"not_promised", encode_lines(&receipt->promise.limits)},
	    {"document", json_deep_copy(receipt->document)}};
	return EXTEND(members);
}

static json_t *encode_report_budget(const struct ledger_standing *standing) {
	const struct ledger_dataset *dataset = &standing->dataset;
	char measure[LEDGER_MEASURE];
	ledger_print_measure(dataset->order, false, measure);
	const struct jsonout_member members[] = {
	    {"dataset", encode_name(dataset->name)},
	    {"unit_key", encode_name(dataset->unit_key)},
	    {"measure", json_string(standing->in_epsilon ? "epsilon" : measure)},
	    {"loss_limit", jsonout_real(dataset->rho)},
	    {"loss_spent", standing->in_epsilon ? json_null() : jsonout_real(standing->spent)},
	    {"loss_remaining", standing->in_epsilon ? json_null() : jsonout_real(standing->left)},
	    {"epsilon_limit", jsonout_real(dataset->epsilon)},
	    {"epsilon_spent", jsonout_real(report_epsilon_spent(standing))},
	    {"epsilon_remaining", jsonout_real(report_epsilon_left(standing))},
	    {"delta", jsonout_real(dataset->delta)},
	    {"runs", json_integer((json_int_t)standing->runs)}};
	return EXTEND(members);
}

/* Which receipt each row of an evaluation has. */
static json_t *encode_receipts_of_rows(const struct report *report,
                                       const struct report_evaluation *e) {
	json_t *list = json_array(), *row;
	size_t i;
	json_array_foreach(json_object_get(e->document, "rows"), i, row) {
		const char *hash = json_string_value(json_object_get(row, "sha256"));
		(void)json_array_append_new(list, encode_place(report_receipt_of(report, hash)));
	}
	return list;
}

static void cut_to_base_name(json_t *object, const char *key) {
	const char *path = json_string_value(json_object_get(object, key));
	if (path) (void)json_object_set_new(object, key, encode_name(report_base_name(path)));
}

/* An evaluation names files by whole paths, which say where somebody keeps them. */
static json_t *encode_evaluated(const struct report_evaluation *e) {
	json_t *copy = json_deep_copy(e->document), *row, *pair;
	size_t i;
	cut_to_base_name(copy, "against");
	json_array_foreach(json_object_get(copy, "rows"), i, row) cut_to_base_name(row, "name");
	json_array_foreach(json_object_get(copy, "order"), i, pair) {
		cut_to_base_name(pair, "better");
		cut_to_base_name(pair, "worse");
	}
	return copy;
}

static json_t *encode_report_evaluation(const struct report *report,
                                        const struct report_evaluation *e) {
	const struct jsonout_member members[] = {
	    {"file", encode_name(report_base_name(e->path))},
	    {"sha256", json_string(e->sha256)},
	    {"private", json_boolean(e->is_private)},
	    {"stamp", e->is_private ? json_string(REPORT_STAMP) : json_null()},
	    {"receipts_of_rows", encode_receipts_of_rows(report, e)},
	    {"document", encode_evaluated(e)}};
	return EXTEND(members);
}

static json_t *encode_report_audit(const struct report_audit *audit) {
	const struct jsonout_member members[] = {
	    {"file", encode_name(report_base_name(audit->path))},
	    {"sha256", json_string(audit->sha256)},
	    {"private", json_boolean(audit->is_private)},
	    {"stamp", audit->is_private ? json_string(REPORT_STAMP) : json_null()},
	    {"receipt", encode_place(audit->receipt)},
	    {"void", json_boolean(audit->is_void)},
	    {"contradicts", json_boolean(audit->contradicts)},
	    {"finding", json_string(report_finding(audit))},
	    {"document", json_deep_copy(audit->document)}};
	return EXTEND(members);
}

json_t *report_json(const struct report *report) {
	json_t *receipts = json_array(), *budgets = json_array(), *evaluations = json_array(),
	       *audits = json_array();
	for (size_t i = 0; i < report->receipt_count; i++)
		(void)json_array_append_new(receipts, encode_receipt(&report->receipts[i]));
	for (size_t i = 0; i < report->budget_count; i++)
		(void)json_array_append_new(budgets, encode_report_budget(&report->budgets[i]));
	for (size_t i = 0; i < report->evaluation_count; i++)
		(void)json_array_append_new(
		    evaluations, encode_report_evaluation(report, &report->evaluations[i]));
	for (size_t i = 0; i < report->audit_count; i++)
		(void)json_array_append_new(audits, encode_report_audit(&report->audits[i]));
	const struct jsonout_member members[] = {
	    {"report", json_integer(1)},
	    {"version", json_string(cuttle_version())},
	    {"private", json_boolean(report->unguarded > 0)},
	    {"stamp", report->unguarded ? json_string(REPORT_STAMP) : json_null()},
	    {"publish", json_boolean(report->publish)},
	    {"left_out", json_integer((json_int_t)report->left_out)},
	    {"receipts", receipts},
	    {"budgets", budgets},
	    {"evaluations", evaluations},
	    {"audits", audits}};
	// A list that lacks an element, for want of memory, must not look complete.
	if (json_array_size(receipts) != report->receipt_count ||
	    json_array_size(budgets) != report->budget_count ||
	    json_array_size(evaluations) != report->evaluation_count ||
	    json_array_size(audits) != report->audit_count) {
		json_decref(EXTEND(members));
		return NULL;
	}
	return EXTEND(members);
}
