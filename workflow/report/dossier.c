// SPDX-License-Identifier: Apache-2.0
// How dossier.h reads its files: each receipt is judged alone, then those that hold make a report.
#include "workflow/report/dossier.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/secrecy.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RECEIPT_MOST = 64 << 20 }; /* bytes of a file */

static enum cuttle_status fail_dossier(struct cuttle_error *error) {
	return io_fail(error, CUTTLE_NOMEM, "out of memory");
}

/* ---- the files ------------------------------------------------------------------------------- */

/* The files of the request that are none of the receipts. */
struct other_files {
	const char *paths[REPORT_FILES];
	size_t count;
};

/* Whether a document is a receipt: report_make asks in the same order. */
static bool is_receipt(const json_t *document) {
	return document && !json_object_get(document, "audit") &&
	       !json_object_get(document, "evaluation") && json_object_get(document, "receipt");
}

/* Takes a file that is a receipt. Any other is left to report_make, which says what is wrong. */
static enum cuttle_status take_file(struct dossier *dossier, struct other_files *others,
                                    const char *path, struct cuttle_error *error) {
	struct dossier_receipt *to = &dossier->receipts[dossier->receipt_count];
	char *bytes;
	size_t size;
	enum cuttle_status status = file_read(path, RECEIPT_MOST, &bytes, &size, error);
	if (status) return status;
	json_t *document = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
	if (!is_receipt(document)) {
		json_decref(document);
		secrecy_free(bytes);
		others->paths[others->count++] = path;
		return CUTTLE_OK;
	}
	*to = (struct dossier_receipt){
	    .path = path, .bytes = bytes, .size = size, .document = document};
	to->output_sha256 = json_string_value(json_object_get(document, "output_sha256"));
	hash_of(bytes, size, to->sha256);
	for (size_t i = 0; i < dossier->receipt_count && !status; i++)
		if (!strcmp(dossier->receipts[i].sha256, to->sha256))
			status = io_fail(error, CUTTLE_USAGE, "%s is given twice", path);
	dossier->receipt_count++;
	return status;
}

static enum cuttle_status take_files(const struct report_request *request, struct dossier *dossier,
                                     struct other_files *others, struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	if (request->file_count > REPORT_FILES)
		return io_fail(error, CUTTLE_USAGE, "at most %d files", REPORT_FILES);
	dossier->receipts = calloc(REPORT_FILES, sizeof *dossier->receipts);
	if (!dossier->receipts) return fail_dossier(error);
	for (size_t i = 0; i < request->file_count && !status; i++)
		status = take_file(dossier, others, request->files[i], error);
	if (!status && !dossier->receipt_count)
		status = io_fail(error, CUTTLE_USAGE,
		                 "none of the files is a receipt, and evidence begins with a "
		                 "guarantee: give OUT.receipt.json, too");
	return status;
}

/* Finds whose output each of --texts is. */
static enum cuttle_status match_outputs(const struct report_request *request,
                                        struct dossier *dossier, struct cuttle_error *error) {
	for (size_t i = 0; i < request->text_count; i++) {
		char sha256[HASH_TEXT];
		bool found = false;
		const enum cuttle_status status = hash_file(request->texts[i], sha256, error);
		if (status) return status;
		for (size_t k = 0; k < dossier->receipt_count; k++) {
			struct dossier_receipt *receipt = &dossier->receipts[k];
			if (!receipt->output_sha256 || strcmp(receipt->output_sha256, sha256) != 0)
				continue;
			receipt->files.output = request->texts[i];
			found = true;
		}
		if (!found)
			return io_fail(error, CUTTLE_LEDGER,
			               "%s is the output of no receipt here: other bytes",
			               request->texts[i]);
	}
	return CUTTLE_OK;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* The receipt of the output that this one expanded, if it was given. */
static const char *find_expanded(const struct dossier *dossier, const struct verification *v) {
	if (v->evidence.kind != &EXPAND_KIND) return NULL;
	for (size_t i = 0; i < dossier->receipt_count; i++)
		if (!strcmp(dossier->receipts[i].sha256,
		            ((const struct expand_receipt *)v->receipt)->parent_receipt))
			return dossier->receipts[i].path;
	return NULL;
}

/* Sets source to the hash of the receipt of what this one's output was made from. */
static void take_source(const struct verification *v, char source[HASH_TEXT]) {
	const char *hash = v->evidence.kind == &EXPAND_KIND
	                       ? ((const struct expand_receipt *)v->receipt)->parent_receipt
	                   : v->evidence.kind == &SAMPLE_KIND && v->bias ? v->bias->receipt_sha256
	                                                                 : "";
	(void)snprintf(source, HASH_TEXT, "%s", hash);
}

/* Verifies one receipt. Only what is about the receipt itself is a verdict; a file that cannot be
 * read ends the dossier. */
static enum cuttle_status judge_receipt(const struct report_request *request,
                                        struct dossier *dossier, struct dossier_receipt *receipt,
                                        struct cuttle_error *error) {
	struct verification v;
	enum cuttle_status status =
	    verification_open(&v, receipt->path, dossier->key, &receipt->why);
	bool is_told = status == CUTTLE_LEDGER;
	if (!status) {
		receipt->files.parent = find_expanded(dossier, &v);
		receipt->files.key = dossier->key != NULL;
		if (*v.ledger.entry) receipt->files.ledger = request->ledger;
		take_source(&v, receipt->source);
		status = verification_compare(&v, &receipt->files, &receipt->why);
		is_told = !status || status == CUTTLE_LEDGER ||
		          (status == CUTTLE_INPUT && !v.private_output);
	}
	verification_close(&v);
	receipt->verdict = status;
	if (is_told) return CUTTLE_OK;
	*error = receipt->why;
	return status;
}

/* The first of these stand first in the folder. */
static int rank_verdict(enum cuttle_status verdict) {
	return !verdict ? 0 : verdict == CUTTLE_INPUT ? 1 : 2;
}

/* Puts receipts that hold first, each kind in the order in which it was given, and names them. */
static void order_receipts(struct dossier *dossier) {
	for (size_t i = 1; i < dossier->receipt_count; i++) {
		const struct dossier_receipt moved = dossier->receipts[i];
		size_t at = i;
		while (at > 0 && rank_verdict(dossier->receipts[at - 1].verdict) >
		                     rank_verdict(moved.verdict)) {
			dossier->receipts[at] = dossier->receipts[at - 1];
			at--;
		}
		dossier->receipts[at] = moved;
	}
	for (size_t i = 0; i < dossier->receipt_count; i++) {
		struct dossier_receipt *receipt = &dossier->receipts[i];
		(void)snprintf(receipt->name, sizeof receipt->name, "receipts/%zu.receipt.json",
		               i + 1);
		dossier->holding += !receipt->verdict;
		dossier->failing += receipt->verdict == CUTTLE_LEDGER;
	}
	// What a receipt that does not hold says is no cost: then each that was made from it
	// counts.
	for (size_t i = 0; i < dossier->holding; i++)
		for (size_t k = 0; k < dossier->holding; k++)
			dossier->receipts[i].derived |=
			    !strcmp(dossier->receipts[i].source, dossier->receipts[k].sha256);
}

/* ---- the report ------------------------------------------------------------------------------ */

/* Makes the report of what holds, and checks that nobody changed a receipt since it was copied. */
static enum cuttle_status report_what_holds(const struct report_request *request,
                                            struct dossier *dossier,
                                            const struct other_files *others,
                                            struct cuttle_error *error) {
	const char *files[2 * REPORT_FILES], *texts[REPORT_FILES];
	struct report_request held = *request;
	held.file_count = held.text_count = 0;
	if (!dossier->holding) return CUTTLE_OK;
	for (size_t i = 0; i < dossier->holding; i++) {
		files[held.file_count++] = dossier->receipts[i].path;
		if (dossier->receipts[i].files.output)
			texts[held.text_count++] = dossier->receipts[i].files.output;
	}
	for (size_t i = 0; i < others->count; i++) files[held.file_count++] = others->paths[i];
	held.files = files;
	held.texts = texts;
	held.evidence = true;
	enum cuttle_status status = report_make(&held, &dossier->report, error);
	for (size_t i = 0; i < dossier->holding && !status; i++)
		if (strcmp(dossier->report.receipts[i].sha256, dossier->receipts[i].sha256) != 0)
			status = io_fail(error, CUTTLE_LEDGER, "%s was changed meanwhile",
			                 dossier->receipts[i].path);
	// The page names the copies.
	for (size_t i = 0; i < dossier->holding && !status; i++)
		dossier->report.receipts[i].path = dossier->receipts[i].name;
	return status;
}

double dossier_epsilon(const struct report_receipt *receipt) {
	return receipt->epsilon_all > 0 ? receipt->epsilon_all : receipt->epsilon;
}

static bool is_same_member(const struct report_receipt *one, const struct report_receipt *other,
                           const char *key) {
	return json_equal(json_object_get(one->document, key),
	                  json_object_get(other->document, key));
}

/* What holds of all receipts together. */
static void gather_facts(struct dossier *dossier) {
	const struct report *report = &dossier->report;
	const bool some = report->receipt_count > 0;
	dossier->epsilon = some ? 0 : (double)NAN;
	dossier->has_rho = dossier->owns_persons = dossier->is_counted = dossier->is_signed =
	    dossier->is_compared = dossier->shares_unit = some;
	for (size_t i = 0; i < report->receipt_count; i++) {
		const struct report_receipt *receipt = &report->receipts[i];
		dossier->epsilon = fmax(dossier->epsilon, dossier_epsilon(receipt));
		dossier->delta = fmax(dossier->delta, receipt->delta);
		if (!dossier->receipts[i].derived) {
			dossier->has_rho &=
			    json_number_value(json_object_get(receipt->document, "rho")) > 0 &&
			    !json_is_object(json_object_get(receipt->document, "lots"));
			dossier->is_counted &= receipt->files.ledger != NULL;
		}
		dossier->owns_persons &= *receipt->v.unit_key != 0;
		dossier->is_signed &= receipt->files.key;
		dossier->is_compared &= receipt->files.output != NULL;
		dossier->shares_unit &= is_same_member(receipt, &report->receipts[0], "unit") &&
		                        is_same_member(receipt, &report->receipts[0], "adjacency");
		dossier->counts_lots |= receipt->epsilon_known != receipt->epsilon;
	}
}

/* Adds up what all outputs cost together, where that means anything. */
static void gather_sums(struct dossier *dossier) {
	const struct report *report = &dossier->report;
	const bool added = dossier->shares_unit && isfinite(dossier->epsilon) &&
	                   dossier->holding == dossier->receipt_count;
	dossier->epsilon_sum = dossier->delta_sum = dossier->rho_sum = added ? 0 : (double)NAN;
	for (size_t i = 0; i < report->receipt_count; i++) {
		const struct report_receipt *receipt = &report->receipts[i];
		if (dossier->receipts[i].derived) continue;
		const json_t *rho = json_object_get(receipt->document, "rho");
		dossier->costing++;
		if (!added) continue;
		dossier->epsilon_sum = units_add(dossier->epsilon_sum, dossier_epsilon(receipt));
		dossier->delta_sum = units_add(dossier->delta_sum, receipt->delta);
		dossier->rho_sum = units_add(dossier->rho_sum, json_number_value(rho));
	}
}

/* ---- the ledger ------------------------------------------------------------------------------ */

static enum cuttle_status extract_entry(void *user, const struct chain_entry *entry) {
	size_t size;
	char *line = chain_json(entry, true, &size);
	if (!line) return CUTTLE_NOMEM;
	(void)fwrite(line, 1, size, user);
	free(line);
	return CUTTLE_OK;
}

/* Copies the ledger's entries of the receipts' data sets, and of no other. */
static enum cuttle_status extract_ledger(const struct report_request *request,
                                         struct dossier *dossier, struct cuttle_error *error) {
	const struct report *report = &dossier->report;
	struct ledger *ledger = NULL;
	if (!report->budget_count) return CUTTLE_OK;
	FILE *file = open_memstream(&dossier->ledger, &dossier->ledger_size);
	if (!file) return fail_dossier(error);
	enum cuttle_status status = ledger_open(request->ledger, &ledger, error);
	for (size_t i = 0; i < report->budget_count && !status; i++) {
		status = ledger_walk(ledger, report->budgets[i].dataset.name, extract_entry, file,
		                     error);
		if (status == CUTTLE_NOMEM) status = fail_dossier(error);
	}
	ledger_close(&ledger);
	const bool failed = ferror(file) != 0;
	return fclose(file) || failed ? fail_dossier(error) : status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* What stands over each page. */
static enum cuttle_status stamp_pages(struct dossier *dossier, struct cuttle_error *error) {
	struct promise_lines *stamps = &dossier->stamps;
	struct report *report = &dossier->report;
	for (size_t i = dossier->holding; i < dossier->receipt_count; i++) {
		const struct dossier_receipt *receipt = &dossier->receipts[i];
		if (receipt->verdict == CUTTLE_INPUT)
			promise_add(stamps, "", "NOT PRIVATE: the output of %s has no guarantee.",
			            receipt->name);
		else
			promise_add(stamps, "",
			            "DOES NOT HOLD: %s failed its verification (verify.txt).",
			            receipt->name);
	}
	for (size_t i = 0; i < dossier->holding; i++)
		if (!isfinite(report->receipts[i].epsilon))
			promise_add(stamps, "", "NO GUARANTEE: what %s is of promises nothing.",
			            dossier->receipts[i].name);
	if (report_contradicted(report))
		promise_add(stamps, "",
		            "CONTRADICTED: an audit in report.html contradicts the "
		            "guarantee.");
	if (report->unguarded)
		promise_add(stamps, "",
		            "PRIVATE: numbers of %zu of the files are " REPORT_STAMP ".",
		            report->unguarded);
	report->stamps = stamps;
	return stamps->failed ? fail_dossier(error) : CUTTLE_OK;
}

enum cuttle_status dossier_make(const struct report_request *request, struct dossier *dossier,
                                struct cuttle_error *error) {
	struct other_files others = {.count = 0};
	*dossier = (struct dossier){.epsilon = NAN, .epsilon_sum = NAN};
	enum cuttle_status status =
	    request->key ? signature_read_public(request->key, dossier->public_key, error)
	                 : CUTTLE_OK;
	if (status) return status;
	dossier->key = request->key ? dossier->public_key : NULL;
	status = take_files(request, dossier, &others, error);
	if (!status) status = match_outputs(request, dossier, error);
	for (size_t i = 0; i < dossier->receipt_count && !status; i++)
		status = judge_receipt(request, dossier, &dossier->receipts[i], error);
	if (status) return status;
	order_receipts(dossier);
	status = report_what_holds(request, dossier, &others, error);
	if (status) return status;
	gather_facts(dossier);
	gather_sums(dossier);
	status = extract_ledger(request, dossier, error);
	return status ? status : stamp_pages(dossier, error);
}

void dossier_free(struct dossier *dossier) {
	report_free(&dossier->report);
	for (size_t i = 0; i < dossier->receipt_count; i++) {
		json_decref(dossier->receipts[i].document);
		secrecy_free(dossier->receipts[i].bytes);
	}
	free(dossier->receipts);
	promise_lines_free(&dossier->stamps);
	free(dossier->ledger);
	*dossier = (struct dossier){0};
}

enum cuttle_status dossier_verdict(const struct dossier *dossier, struct cuttle_error *error) {
	if (dossier->failing)
		return io_fail(error, CUTTLE_LEDGER,
		               "the folder is written, and %zu of its %zu receipts do not hold "
		               "(verify.txt)",
		               dossier->failing, dossier->receipt_count);
	if (report_contradicted(&dossier->report))
		return io_fail(
		    error, CUTTLE_LEDGER,
		    "the folder is written, and an audit in it contradicts the guarantee");
	if (dossier->holding < dossier->receipt_count)
		return io_fail(error, CUTTLE_INPUT,
		               "the folder is written, and the output of %zu of its %zu receipts "
		               "is NOT PRIVATE",
		               dossier->receipt_count - dossier->holding, dossier->receipt_count);
	return CUTTLE_OK;
}
