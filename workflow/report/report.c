// SPDX-License-Identifier: Apache-2.0
// How report.h reads the files. Each is read once to see what it is. Of a receipt, what stands in
// the report is what was verified. Messages name the line of a syntax error, and never the text
// there: an evaluation may be private.
#include "workflow/report/report.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/secrecy.h"
#include "io/records/units.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 26 };

static enum cuttle_status fail_report(struct cuttle_error *error) {
	return io_fail(error, CUTTLE_NOMEM, "out of memory for the report");
}

/* INPUT: the file is of the right kind, but says something that it cannot. */
static enum cuttle_status refuse_reported_member(const char *path, const char *what,
                                                 const char *member, struct cuttle_error *error) {
	return io_fail(error, CUTTLE_INPUT,
	               "%s: its \"%s\" is missing, or not what cuttle %s writes", path, member,
	               what);
}

/* ---- members --------------------------------------------------------------------------------- */

/* A number, or NaN for null and for a member that is not there. False: it is something else. */
static bool take_number(const json_t *object, const char *key, double *value) {
	const json_t *member = json_object_get(object, key);
	*value = json_is_number(member) ? json_number_value(member) : NAN;
	return !member || json_is_number(member) || json_is_null(member);
}

static bool has_count(const json_t *object, const char *key) {
	const json_t *member = json_object_get(object, key);
	return json_is_integer(member) && json_integer_value(member) >= 0;
}

static bool has_text(const json_t *object, const char *key) {
	return json_is_string(json_object_get(object, key));
}

/* A string or null, or no such member. */
static bool has_hash_or_none(const json_t *root, const char *key) {
	const json_t *member = json_object_get(root, key);
	return !member || json_is_string(member) || json_is_null(member);
}

/* A list of `count` whole numbers that are not negative; any count where it is REPORT_NONE. */
static bool is_counts(const json_t *list, size_t count) {
	bool right =
	    json_is_array(list) && (count == REPORT_NONE || json_array_size(list) == count);
	for (size_t i = 0; right && i < json_array_size(list); i++) {
		const json_t *number = json_array_get(list, i);
		right = json_is_integer(number) && json_integer_value(number) >= 0;
	}
	return right;
}

/* LEDGER: a file that is private lost its stamp, or one that has it says that it is public. Whoever
 * turns one of both makes private numbers look public. */
static enum cuttle_status check_stamp(const char *path, const json_t *root,
                                      struct cuttle_error *error) {
	static const char begin[] = "PRIVATE: ";
	const json_t *stamp = json_object_get(root, "stamp");
	const bool stamped =
	    json_is_string(stamp) && !strncmp(json_string_value(stamp), begin, sizeof begin - 1);
	if (json_is_true(json_object_get(root, "private")) ? stamped : json_is_null(stamp))
		return CUTTLE_OK;
	return io_fail(error, CUTTLE_LEDGER,
	               "%s: its \"private\" and its \"stamp\" contradict each other: it was edited",
	               path);
}

/* ---- evaluations ----------------------------------------------------------------------------- */

bool report_cell(const json_t *row, int column, double *value, double *error) {
	const json_t *cell = json_object_get(row, evaluation_columns[column].key);
	*value = *error = NAN;
	return cell && take_number(cell, "value", value) && take_number(cell, "error", error) &&
	       !isnan(*value);
}

static bool is_share(int column) {
	return column == EVALUATION_MAUVE || column == EVALUATION_FINE;
}

static bool check_cells(const json_t *row) {
	for (int i = 0; i < EVALUATION_COLUMNS; i++) {
		const json_t *cell = json_object_get(row, evaluation_columns[i].key);
		double value, error;
		if (!cell) continue;
		if (!json_is_object(cell) || !take_number(cell, "value", &value) ||
		    !take_number(cell, "error", &error) || error < 0 ||
		    (is_share(i) && !(value >= 0 && value <= 1 + 1e-9)))
			return false;
	}
	return true;
}

/* Edges that rise from 0 or more, and a count between each two; edges are null for clusters. */
static bool check_histogram_shape(const json_t *histogram) {
	const json_t *edges = json_object_get(histogram, "edges"),
	             *counts = json_object_get(histogram, "references");
	if (!is_counts(counts, REPORT_NONE) || !json_array_size(counts)) return false;
	if (json_is_null(edges)) return true;
	if (!json_is_array(edges) || json_array_size(edges) != json_array_size(counts) + 1)
		return false;
	double before = -1;
	for (size_t i = 0; i < json_array_size(edges); i++) {
		const double edge = json_number_value(json_array_get(edges, i));
		if (!json_is_number(json_array_get(edges, i)) || edge <= before || edge < 0 ||
		    edge > 1e15)
			return false;
		before = edge;
	}
	return true;
}

static bool check_histograms(const json_t *root) {
	const json_t *histograms = json_object_get(root, "histograms");
	for (int i = 0; i < EVALUATION_HISTOGRAMS; i++) {
		const char *key = evaluation_histograms[i];
		const json_t *histogram = json_object_get(histograms, key);
		size_t row_number;
		json_t *row;
		if (!histogram) continue;
		if (!check_histogram_shape(histogram)) return false;
		const size_t bins = json_array_size(json_object_get(histogram, "references"));
		json_array_foreach(json_object_get(root, "rows"), row_number, row) {
			if (!is_counts(json_object_get(json_object_get(row, "histograms"), key),
			               bins))
				return false;
		}
	}
	return json_is_object(histograms);
}

static bool check_rows(const json_t *rows) {
	size_t number;
	json_t *row;
	bool right = json_is_array(rows) && json_array_size(rows) > 0;
	json_array_foreach(rows, number, row) {
		const json_t *hash = json_object_get(row, "sha256");
		right = right && has_text(row, "kind") && has_text(row, "name") &&
		        (json_is_string(hash) || json_is_null(hash)) && has_count(row, "texts") &&
		        has_count(row, "references") && has_count(row, "unreadable") &&
		        check_cells(row);
	}
	return right;
}

static bool check_order(const json_t *pairs) {
	static const char *const numbers[] = {"difference", "deviation", "p", "p_holm"};
	size_t i;
	json_t *pair;
	bool right = json_is_array(pairs);
	json_array_foreach(pairs, i, pair) {
		double value;
		right = right && has_text(pair, "better") && has_text(pair, "worse");
		for (size_t k = 0; right && k < sizeof numbers / sizeof *numbers; k++)
			right = take_number(pair, numbers[k], &value);
	}
	return right;
}

static enum cuttle_status check_evaluation(struct report_evaluation *e,
                                           struct cuttle_error *error) {
	static const char *const texts[] = {"model", "model_sha256", "features", "against"},
	                         *const counts[] = {"references", "clusters", "axes"};
	const json_t *root = e->document, *privacy = json_object_get(root, "private");
	if (json_integer_value(json_object_get(root, "evaluation")) != EVALUATE_FORMAT)
		return io_fail(error, CUTTLE_INPUT,
		               "%s: it was written by another cuttle: evaluate again with this one",
		               e->path);
	if (!json_is_boolean(privacy))
		return refuse_reported_member(e->path, "evaluate", "private", error);
	e->is_private = json_is_true(privacy);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (!has_text(root, texts[i]))
			return refuse_reported_member(e->path, "evaluate", texts[i], error);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (!has_count(root, counts[i]))
			return refuse_reported_member(e->path, "evaluate", counts[i], error);
	if (!check_rows(json_object_get(root, "rows")))
		return refuse_reported_member(e->path, "evaluate", "rows", error);
	// Earlier tables have none.
	const json_t *notes = json_object_get(root, "notes");
	for (size_t i = 0; i < json_array_size(notes); i++)
		if (!json_is_string(json_array_get(notes, i)))
			return refuse_reported_member(e->path, "evaluate", "notes", error);
	if (!check_histograms(root))
		return refuse_reported_member(e->path, "evaluate", "histograms", error);
	return check_order(json_object_get(root, "order"))
	           ? CUTTLE_OK
	           : refuse_reported_member(e->path, "evaluate", "order", error);
}

/* ---- audits ---------------------------------------------------------------------------------- */

static bool is_share_pair(const json_t *point) {
	bool right = json_array_size(point) == 2;
	for (size_t k = 0; right && k < 2; k++) {
		const json_t *share = json_array_get(point, k);
		right = json_is_number(share) && json_number_value(share) >= 0 &&
		        json_number_value(share) <= 1;
	}
	return right;
}

/* Takes the numbers of a game. False: one of them is none. */
static bool take_game(const json_t *root, const char *key, struct report_game *game) {
	json_t *member = json_object_get(root, key), *value, *point;
	const char *name;
	size_t i;
	*game = (struct report_game){.likely = NAN, .sure = NAN};
	if (json_is_null(member)) return true;
	bool right = json_is_object(member);
	json_object_foreach(member, name, value) {
		if (!json_is_array(value)) {
			right = right && (json_is_number(value) || json_is_null(value));
			continue;
		}
		right = right && !strcmp(name, "roc");
		json_array_foreach(value, i, point) right = right && is_share_pair(point);
	}
	game->numbers = member;
	return right && take_number(member, "epsilon_at_least", &game->likely) &&
	       take_number(member, "epsilon_at_least_sure", &game->sure);
}

/* Sets what follows from the audit's members. False, with the member's name: it is wrong. */
static bool take_audit(struct report_audit *audit, const char **member) {
	const json_t *root = audit->document;
	const struct {
		const char *name;
		bool right;
	} members[] = {
	    {"audit", has_text(root, "audit")},
	    {"private", json_is_boolean(json_object_get(root, "private"))},
	    {"contradicted", json_is_boolean(json_object_get(root, "contradicted"))},
	    {"void", json_is_boolean(json_object_get(root, "void"))},
	    {"claimed_epsilon",
	     take_number(root, "claimed_epsilon", &audit->claimed) && !(audit->claimed <= 0)},
	    {"receipt_sha256", has_hash_or_none(root, "receipt_sha256")},
	    {"model_sha256", has_hash_or_none(root, "model_sha256")},
	    {"game", take_game(root, "game", &audit->game) && audit->game.numbers},
	    {"control", take_game(root, "control", &audit->control)},
	};
	for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
		*member = members[i].name;
		if (!members[i].right) return false;
	}
	audit->is_private = json_is_true(json_object_get(root, "private"));
	audit->is_void = json_is_true(json_object_get(root, "void"));
	audit->contradicts = json_is_true(json_object_get(root, "contradicted")) ||
	                     audit->game.sure > audit->claimed;
	return true;
}

/* Whether an audit names this receipt, or its model where it names no receipt, or none of both. */
static bool names_receipt(const struct report_audit *audit, const struct report_receipt *receipt) {
	const char *own = json_string_value(json_object_get(audit->document, "receipt_sha256")),
	           *model = json_string_value(json_object_get(audit->document, "model_sha256")),
	           *of = json_string_value(json_object_get(receipt->document, "model_sha256"));
	if (own) return !strcmp(own, receipt->sha256);
	return !model || (of && !strcmp(model, of));
}

/* The receipt that an audit is about: it claimed its epsilon, or that against who knows a batch. */
static size_t find_audited(const struct report *report, const struct report_audit *audit) {
	for (size_t i = 0; i < report->receipt_count; i++) {
		const struct report_receipt *receipt = &report->receipts[i];
		const double epsilons[] = {receipt->epsilon, receipt->epsilon_known};
		if (!names_receipt(audit, receipt)) continue;
		for (size_t k = 0; k < 2; k++)
			if (fabs(epsilons[k] - audit->claimed) <= 1e-9 * audit->claimed) return i;
	}
	return REPORT_NONE;
}

/* ---- receipts -------------------------------------------------------------------------------- */

/* A bias told of the records, too: what it promises is added, or is all there is. Without noise
 * nothing is promised. */
static void add_bias_promise(struct report_receipt *receipt) {
	const struct verification *v = &receipt->v;
	const struct receipt_bias *bias = v->bias;
	struct receipt_joint joint;
	const bool learnt = v->evidence.kind == &LEARN_KIND,
	           alone = v->evidence.kind == &SAMPLE_KIND;
	if (learnt && ((const struct learn_receipt *)v->receipt)->from_public)
		receipt->epsilon = INFINITY;
	if (v->evidence.kind == &EXPAND_KIND && expand_parent_joint(v->receipt, &joint)) {
		receipt->epsilon = joint.epsilon;
		receipt->delta = joint.delta;
	}
	if (!bias || (bias->from_public && !alone)) return;
	if (v->evidence.kind == &GENERATE_KIND) {
		joint = bias_joint_promise(v->receipt);
		receipt->epsilon_all = joint.epsilon;
		receipt->delta = joint.delta;
		return;
	}
	receipt->epsilon =
	    bias->from_public ? (double)INFINITY : units_add(receipt->epsilon, bias->epsilon);
	receipt->delta = units_add(receipt->delta, bias->delta);
}

static enum cuttle_status take_receipt(struct report_receipt *receipt,
                                       const struct report_request *request, const char *key,
                                       struct cuttle_error *error) {
	enum cuttle_status status = verification_open(&receipt->v, receipt->path, key, error);
	if (status) return status;
	const struct attested *attested = receipt->v.attested;
	hash_of(attested->bytes, attested->size, receipt->sha256);
	// The signature was taken out of the attested document; this one has all members.
	receipt->document = json_loadb(attested->bytes, attested->size, 0, NULL);
	if (!receipt->document) return fail_report(error);
	const json_t *epsilon = json_object_get(receipt->document, "epsilon");
	if (!epsilon) epsilon = json_object_get(receipt->document, "epsilon_word");
	const char *all =
	    receipt->v.evidence.kind == &PERTURB_KIND ? "epsilon_text" : "epsilon_all";
	receipt->epsilon = json_number_value(epsilon);
	(void)take_number(receipt->document, all, &receipt->epsilon_all);
	if (receipt->epsilon_all == receipt->epsilon) receipt->epsilon_all = NAN;
	receipt->delta = json_number_value(json_object_get(receipt->document, "delta"));
	add_bias_promise(receipt);
	const json_t *lots = json_object_get(receipt->document, "lots"),
	             *known = json_object_get(lots, "epsilon_if_known");
	receipt->epsilon_known = known ? json_number_value(known) : receipt->epsilon;
	receipt->delta_known =
	    known ? json_number_value(json_object_get(lots, "delta_if_known")) : receipt->delta;
	receipt->files.key = key != NULL;
	// A run that no ledger counted has nothing there to be compared with.
	if (*receipt->v.ledger.entry) receipt->files.ledger = request->ledger;
	return CUTTLE_OK;
}

/* Finds whose texts each file has. LEDGER: no receipt's. */
static enum cuttle_status match_texts(const struct report_request *request, struct report *report,
                                      struct cuttle_error *error) {
	for (size_t i = 0; i < request->text_count; i++) {
		char sha256[HASH_TEXT];
		const enum cuttle_status status = hash_file(request->texts[i], sha256, error);
		if (status) return status;
		const size_t found = report_receipt_of(report, sha256);
		if (found == REPORT_NONE)
			return io_fail(error, CUTTLE_LEDGER,
			               "%s is the output of no receipt here: other bytes",
			               request->texts[i]);
		report->receipts[found].files.output = request->texts[i];
	}
	return CUTTLE_OK;
}

/* The receipt of an expansion's parent, if it is in the report. */
static const char *find_parent(const struct report *report, const struct report_receipt *of) {
	if (of->v.evidence.kind != &EXPAND_KIND) return NULL;
	for (size_t i = 0; i < report->receipt_count; i++)
		if (!strcmp(report->receipts[i].sha256,
		            ((const struct expand_receipt *)of->v.receipt)->parent_receipt))
			return report->receipts[i].path;
	return NULL;
}

static enum cuttle_status compare_receipts(struct report *report, struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; i < report->receipt_count && !status; i++) {
		struct report_receipt *receipt = &report->receipts[i];
		receipt->files.parent = find_parent(report, receipt);
		status = verification_compare(&receipt->v, &receipt->files, error);
		if (!status)
			status =
			    promise_make(&receipt->v, &receipt->files, &receipt->promise, error);
	}
	return status;
}

static enum cuttle_status gather_limits(struct report *report, struct cuttle_error *error) {
	size_t most = 0;
	for (size_t i = 0; i < report->receipt_count; i++)
		most += report->receipts[i].promise.limits.count;
	report->limits = calloc(most + 1, sizeof *report->limits);
	if (!report->limits) return fail_report(error);
	for (size_t i = 0; i < report->receipt_count; i++) {
		const struct promise_lines *lines = &report->receipts[i].promise.limits;
		for (size_t k = 0; k < lines->count; k++) {
			size_t at = 0;
			while (at < report->limit_count &&
			       strcmp(report->limits[at].text, lines->all[k].text) != 0)
				at++;
			report->limits[at].text = lines->all[k].text;
			report->limits[at].receipts |= UINT64_C(1) << i;
			if (at == report->limit_count) report->limit_count++;
		}
	}
	return CUTTLE_OK;
}

/* ---- budgets --------------------------------------------------------------------------------- */

static enum cuttle_status look_budget(struct report *report, struct ledger *ledger,
                                      const char *dataset, struct cuttle_error *error) {
	for (size_t i = 0; i < report->budget_count; i++)
		if (!strcmp(report->budgets[i].dataset.name, dataset)) return CUTTLE_OK;
	const enum cuttle_status status =
	    ledger_look(ledger, dataset, &report->budgets[report->budget_count], error);
	if (!status) report->budget_count++;
	return status;
}

static enum cuttle_status take_budgets(const struct report_request *request, struct report *report,
                                       struct cuttle_error *error) {
	struct ledger *ledger;
	if (!request->ledger) return CUTTLE_OK;
	report->budgets = calloc(report->receipt_count + 1, sizeof *report->budgets);
	if (!report->budgets) return fail_report(error);
	enum cuttle_status status = ledger_open(request->ledger, &ledger, error);
	if (status) return status;
	if (request->dataset) status = look_budget(report, ledger, request->dataset, error);
	for (size_t i = 0; i < report->receipt_count && !status; i++) {
		const struct verification *v = &report->receipts[i].v;
		if (*v->ledger.entry) status = look_budget(report, ledger, v->dataset, error);
	}
	ledger_close(&ledger);
	return status;
}

/* ---- all files ------------------------------------------------------------------------------- */

/* Reads a file and takes its hash. The document is the caller's. */
static enum cuttle_status read_report_json(const char *path, json_t **document,
                                           char sha256[HASH_TEXT], struct cuttle_error *error) {
	char *text;
	size_t size;
	json_error_t where;
	enum cuttle_status status = file_read(path, MOST_BYTES, &text, &size, error);
	if (status) return status;
	hash_of(text, size, sha256);
	*document = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
	secrecy_free(text);
	if (!*document && (file_ends_in(path, ".md") || file_ends_in(path, ".csv")))
		return io_fail(error, CUTTLE_INPUT,
		               "%s: a report reads a table in JSON: evaluate with -o table.json",
		               path);
	if (!*document)
		return io_fail(error, CUTTLE_INPUT, "%s: line %d is no JSON, or has a member twice",
		               path, where.line);
	return CUTTLE_OK;
}

static bool was_given(const struct report *report, const char sha256[HASH_TEXT]) {
	bool found = false;
	for (size_t i = 0; i < report->given_count; i++) found |= !strcmp(report->given[i], sha256);
	return found;
}

/* Leaves the last file out when it is private and the report will be published. Else counts it. */
static void sort_private(struct report *report, bool is_private, size_t *count, json_t **last) {
	if (!is_private) return;
	if (!report->publish) {
		report->unguarded++;
		return;
	}
	report->left_out++;
	json_decref(*last);
	*last = NULL;
	(*count)--;
}

static enum cuttle_status take_evaluation(struct report *report, const char *path,
                                          const char sha256[HASH_TEXT], json_t *document,
                                          struct cuttle_error *error) {
	struct report_evaluation *e = &report->evaluations[report->evaluation_count++];
	*e = (struct report_evaluation){.path = path, .document = document};
	memcpy(e->sha256, sha256, HASH_TEXT);
	enum cuttle_status status = check_evaluation(e, error);
	if (!status) status = check_stamp(path, document, error);
	if (!status) sort_private(report, e->is_private, &report->evaluation_count, &e->document);
	return status;
}

static enum cuttle_status add_audit(struct report *report, const char *path,
                                    const char sha256[HASH_TEXT], json_t *document,
                                    struct cuttle_error *error) {
	struct report_audit *audit = &report->audits[report->audit_count++];
	const char *member;
	*audit = (struct report_audit){.path = path, .document = document};
	memcpy(audit->sha256, sha256, HASH_TEXT);
	if (!take_audit(audit, &member))
		return refuse_reported_member(path, "audit", member, error);
	const enum cuttle_status status = check_stamp(path, document, error);
	if (status) return status;
	if (audit->contradicts && report->publish && (audit->is_private || !report->evidence))
		return io_fail(error, CUTTLE_LEDGER,
		               "%s contradicts the guarantee: nothing of it may be published",
		               path);
	sort_private(report, audit->is_private, &report->audit_count, &audit->document);
	return CUTTLE_OK;
}

static enum cuttle_status add_report_file(struct report *report,
                                          const struct report_request *request, const char *path,
                                          const char *key, struct cuttle_error *error) {
	json_t *document;
	char sha256[HASH_TEXT];
	enum cuttle_status status = read_report_json(path, &document, sha256, error);
	if (status) return status;
	const bool twice = was_given(report, sha256);
	memcpy(report->given[report->given_count++], sha256, HASH_TEXT);
	if (twice) status = io_fail(error, CUTTLE_USAGE, "%s is given twice", path);
	else if (json_object_get(document, "audit"))
		return add_audit(report, path, sha256, document, error);
	else if (json_object_get(document, "evaluation"))
		return take_evaluation(report, path, sha256, document, error);
	else if (!json_object_get(document, "receipt"))
		status =
		    io_fail(error, CUTTLE_INPUT,
		            "%s is no receipt, no evaluation (cuttle evaluate -o F.json) and no "
		            "audit (cuttle audit --json)",
		            path);
	json_decref(document);
	if (status) return status;
	struct report_receipt *to = &report->receipts[report->receipt_count++];
	to->path = path;
	return take_receipt(to, request, key, error);
}

static enum cuttle_status add_report_files(struct report *report,
                                           const struct report_request *request,
                                           struct cuttle_error *error) {
	char public_key[SIGNATURE_PUBLIC];
	const char *key = request->key ? public_key : NULL;
	enum cuttle_status status =
	    key ? signature_read_public(request->key, public_key, error) : CUTTLE_OK;
	for (size_t i = 0; i < request->file_count && !status; i++)
		status = add_report_file(report, request, request->files[i], key, error);
	if (!status && !report->receipt_count)
		status = io_fail(error, CUTTLE_USAGE,
		                 "none of the files is a receipt, and a report begins with a "
		                 "guarantee: give OUT.receipt.json, too");
	return status;
}

enum cuttle_status report_make(const struct report_request *request, struct report *report,
                               struct cuttle_error *error) {
	*report = (struct report){.publish = request->publish, .evidence = request->evidence};
	if (request->file_count > REPORT_FILES)
		return io_fail(error, CUTTLE_USAGE, "at most %d files", REPORT_FILES);
	if (request->dataset && !request->ledger)
		return io_fail(error, CUTTLE_USAGE, "--dataset is a name in --ledger FILE");
	report->receipts = calloc(REPORT_FILES, sizeof *report->receipts);
	report->evaluations = calloc(REPORT_FILES, sizeof *report->evaluations);
	report->audits = calloc(REPORT_FILES, sizeof *report->audits);
	if (!report->receipts || !report->evaluations || !report->audits) return fail_report(error);
	enum cuttle_status status = add_report_files(report, request, error);
	if (!status) status = match_texts(request, report, error);
	if (!status) status = compare_receipts(report, error);
	if (!status) status = gather_limits(report, error);
	if (!status) status = take_budgets(request, report, error);
	for (size_t i = 0; i < report->audit_count && !status; i++)
		report->audits[i].receipt = find_audited(report, &report->audits[i]);
	return status;
}

void report_free(struct report *report) {
	for (size_t i = 0; i < report->receipt_count; i++) {
		promise_free(&report->receipts[i].promise);
		verification_close(&report->receipts[i].v);
		json_decref(report->receipts[i].document);
	}
	for (size_t i = 0; i < report->evaluation_count; i++)
		json_decref(report->evaluations[i].document);
	for (size_t i = 0; i < report->audit_count; i++) json_decref(report->audits[i].document);
	free(report->receipts);
	free(report->evaluations);
	free(report->audits);
	free(report->limits);
	free(report->budgets);
	*report = (struct report){0};
}

/* ---- questions ------------------------------------------------------------------------------- */

size_t report_receipt_of(const struct report *report, const char *sha256) {
	for (size_t i = 0; sha256 && i < report->receipt_count; i++)
		if (!strcmp(report->receipts[i].v.attested->output_sha256, sha256)) return i;
	return REPORT_NONE;
}

bool report_contradicted(const struct report *report) {
	bool found = false;
	for (size_t i = 0; i < report->audit_count; i++) found |= report->audits[i].contradicts;
	return found;
}

double report_alarms(double epsilon, double delta, double false_alarms) {
	const double one = exp(epsilon) * false_alarms + delta,
	             other = 1 - exp(-epsilon) * (1 - delta - false_alarms);
	return fmin(1, fmin(one, other));
}
