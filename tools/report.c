// SPDX-License-Identifier: Apache-2.0
// cuttle report: one page for who answers for privacy, and more for who works with the texts.
//
// workflow/report/report reads and checks the files; tools/report/report_html, report_markdown and
// report_json write. Evaluations and audits may be private: the report is then stamped and its
// owner's alone.
//
// The way of a report:
//   tools/report.c                    options to a request; a private report is its owner's alone
//   workflow/report/report.c          each file: a receipt, an evaluation or an audit; the budgets
//     workflow/report/verification.c  a receipt is made anew; one that does not hold ends the run
//     workflow/report/promise.c       what it promises, and what it does not, in words
//   tools/report/report_html.c        the page, tools/report/report_charts.c its charts,
//                                     tools/report/report_svg.c their lines
//   tools/report/report_markdown.c    the same in words; tools/report/report_json.c: every number
//   tools/report/report_text.c        foreign strings escaped; whoever writes one calls it
// With --evidence it writes a folder of pages instead:
//   workflow/report/dossier.c         each receipt is judged, those that hold are reported, and the
//                                     ledger's entries of their data sets are copied
//   tools/report/evidence.c           which files the folder has; tools/report/evidence_*.c: each
//     io/disk/folder.c                the folder is put in place whole, or not at all
#include "tools/common/verbs.h"

#include "convert/rewrite.h"
#include "io/disk/fail.h"
#include "io/disk/folder.h"
#include "io/disk/secrecy.h"
#include "tools/report/evidence.h"
#include "tools/report/report_html.h"
#include "tools/report/report_json.h"
#include "tools/report/report_markdown.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum report_form { REPORT_HTML, REPORT_MARKDOWN, REPORT_JSON };

struct report_values {
	struct report_request request;
	struct option_list texts;
	const char *output; /* path; "-" = standard output */
	int form;           /* 0 auto, else 1 + enum report_form */
	bool json;
	bool overwrite;
	const char *evidence; /* path of a new folder; NULL = a page is written instead */
	bool with_private;    /* in a folder: private numbers, too */
};

#define VALUE(member) OPTION(struct report_values, member)
// clang-format off
static const struct option_entry OPTIONS[] = {
	{.name = "texts", VALUE(texts), .argument = "FILE",
	 .help = "the output of one of the receipts: its hash must be that one's; several times "
	         "for several"},
	{.name = "ledger", VALUE(request.ledger), .argument = "FILE",
	 .help = "the ledger: what was spent and is left, and the receipts' entries must be in it"},
	{.name = "dataset", VALUE(request.dataset), .argument = "NAME",
	 .help = "with --ledger: show this data set's budget, too (default: those of the "
	         "receipts)"},
	{.name = "key", VALUE(request.key), .argument = "PUBLIC",
	 .help = "all receipts must be signed with this key: its 64 digits, or the file with them "
	         "that cuttle ledger key made"},
	{.name = "publish", VALUE(request.publish),
	 .help = "leave out every private evaluation and audit, and say how many they were"},
	{.name = "output", .letter = 'o', VALUE(output), .argument = "FILE",
	 .help = "default -, standard output; it appears when all is written"},
	{.name = "format", VALUE(form), .argument = "auto|html|md|json",
	 .help = "auto: by the ending of FILE, else HTML"},
	{.name = "json", VALUE(json),
	 .help = "the same as --format json: every number of every file"},
	{.name = "overwrite", VALUE(overwrite),
	 .help = "replace an output that is there, but never an input"},
	{.name = "evidence", VALUE(evidence), .argument = "FOLDER",
	 .help = "make a new folder of evidence to file, instead of a page"},
	{.name = "private", VALUE(with_private),
	 .help = "with --evidence: add private evaluations and audits. Each page is then stamped, "
	         "and the folder is its owner's alone"},
};
// clang-format on

static const char ABOUT[] =
    "FILEs are receipts, evaluations (cuttle evaluate -o F.json) and audits (cuttle audit "
    "--json), in any order, and at least one receipt. The first page says what is "
    "promised, to whom, and what is not covered. It also has what of the budget is left, "
    "what audits found beside their controls, and who signed. The next pages have the "
    "tables with their errors, charts, parameters and hashes. HTML is one file without "
    "script, that fetches nothing and prints on A4. Nothing is graded: no number says "
    "whether an epsilon is small enough for you.\n\n"

    "Each receipt is made anew and compared, as cuttle receipt verify does. One that does "
    "not hold, or whose ledger says something else, ends the command with exit code 7. So "
    "does an evaluation whose stamp was taken off. Exit 4: a file cannot be read, is none "
    "of the three, or its output is NOT PRIVATE. An audit that contradicts its guarantee "
    "is reported, and then the exit code is 7, too. With --publish nothing is written.\n\n"

    "Numbers of private references stand in hatched boxes that say so, and the file is for "
    "its owner alone (mode 0600). --publish leaves these boxes out, and only such a report "
    "may leave with the texts.\n\n"

    "--evidence writes what an officer files. deployment.yaml is a draft for the registry of "
    "deployments. sp800-226.md, dpia.md and hipaa.md have a row for what NIST SP 800-226, GDPR "
    "Art. 35(7) and 45 CFR 164.514(b)(1) ask. questions.md answers ten questions by file and "
    "line. verify.txt is what cuttle receipt verify says. Beside them are report.html, "
    "copies of the receipts, and the ledger's entries of their data sets (docs/EVIDENCE.md).\n\n"

    "Each statement names its source, or says that you have to answer. The folder appears "
    "whole, or not at all. A receipt that does not hold, or has no guarantee, is shown "
    "there: each page is stamped. The exit code is that of cuttle receipt verify, 7 or 4. A "
    "private audit that contradicts its guarantee is refused (7), unless --private shows "
    "it.\n";

static enum report_form form_of_report(const struct report_values *values) {
	if (values->json) return REPORT_JSON;
	if (values->form) return (enum report_form)(values->form - 1);
	if (file_ends_in(values->output, ".json")) return REPORT_JSON;
	return file_ends_in(values->output, ".md") ? REPORT_MARKDOWN : REPORT_HTML;
}

/* Writes HTML or Markdown. */
static enum cuttle_status write_pages(struct sink *sink, enum report_form form,
                                      const struct report *report, struct cuttle_error *error) {
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	if (!file) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	(form == REPORT_HTML ? report_write_html : report_write_markdown)(file, report);
	const bool failed = ferror(file) != 0;
	const enum cuttle_status status = fclose(file) || failed
	                                      ? io_fail(error, CUTTLE_NOMEM, "out of memory")
	                                      : sink_write(sink, text, size, error);
	secrecy_free(text);
	return status;
}

static enum cuttle_status write_report(const struct report_values *values,
                                       const struct report *report, struct cuttle_error *error) {
	struct sink sink;
	const enum report_form form = form_of_report(values);
	enum cuttle_status status = report->unguarded
	                                ? sink_open_private(&sink, values->output, error)
	                                : sink_open(&sink, values->output, error);
	if (status) return status;
	status = form == REPORT_JSON
	             ? jsonout_write(&sink, report_json(report), JSON_INDENT(1), error)
	             : write_pages(&sink, form, report, error);
	return sink_close(&sink, status, error);
}

static enum cuttle_status make_report(const struct report_values *values,
                                      struct cuttle_error *error) {
	struct report report;
	enum cuttle_status status = report_make(&values->request, &report, error);
	// Told whatever the form is: standard output may be looked at alone.
	if (!status && report.unguarded)
		fprintf(stderr, "PRIVATE: numbers of %zu of the files are " REPORT_STAMP "\n",
		        report.unguarded);
	if (!status) status = write_report(values, &report, error);
	if (!status && report_contradicted(&report))
		status =
		    io_fail(error, CUTTLE_LEDGER,
		            "the report is written, and an audit in it contradicts the guarantee");
	report_free(&report);
	return status;
}

/* Makes a folder of evidence. What does not hold is in it, and in the exit code. */
static enum cuttle_status make_evidence(const struct report_values *values,
                                        struct cuttle_error *error) {
	struct dossier dossier;
	struct report_request request = values->request;
	request.publish = !values->with_private;
	enum cuttle_status status = folder_check(values->evidence, error);
	if (status) return status;
	status = dossier_make(&request, &dossier, error);
	if (!status && dossier.report.unguarded)
		fprintf(stderr, "PRIVATE: numbers of %zu of the files are " REPORT_STAMP "\n",
		        dossier.report.unguarded);
	if (!status) status = evidence_write(values->evidence, &dossier, error);
	if (!status) status = dossier_verdict(&dossier, error);
	dossier_free(&dossier);
	return status;
}

/* What cannot be said together, in words; NULL = nothing. */
static const char *find_conflict(const struct report_values *values) {
	for (size_t i = 0; i < values->request.file_count; i++)
		if (!strcmp(values->request.files[i], "-"))
			return "a report names its files and reads them twice: give files, and no "
			       "standard input (-)";
	if (!values->evidence)
		return values->with_private
		           ? "--private is for a folder: say --evidence FOLDER, too"
		           : NULL;
	if (values->request.publish)
		return "--evidence leaves private numbers out by itself: say it without --publish";
	if (values->request.dataset)
		return "--evidence shows the data sets of its receipts: say it without --dataset";
	if (strcmp(values->output, "-") != 0 || values->form || values->json || values->overwrite)
		return "--evidence makes a folder of its own: say it without -o, --format, --json "
		       "and "
		       "--overwrite";
	return NULL;
}

static enum cuttle_status check_report(const struct report_values *values,
                                       struct cuttle_error *error) {
	struct path_use uses[REPORT_FILES + OPTION_MOST + 4];
	size_t count = 0;
	for (size_t i = 0; i < values->request.file_count && i < REPORT_FILES; i++)
		uses[count++] =
		    (struct path_use)PATH_ALONE("report", values->request.files[i], PATH_FILE);
	for (size_t i = 0; i < values->texts.count; i++)
		uses[count++] =
		    (struct path_use)PATH_ALONE("--texts", values->texts.texts[i], PATH_FILE);
	uses[count++] = (struct path_use)PATH_ALONE("--key", values->request.key, PATH_FILE);
	uses[count++] = (struct path_use){
	    "--ledger", values->request.ledger, PATH_LEDGER, NULL, {LEDGER_BESIDE}};
	uses[count++] = (struct path_use)PATH_ALONE("-o", values->output, PATH_OUTPUT);
	// An empty folder that stands there is no file, and folder_check looks at it.
	if (values->evidence && access(values->evidence, F_OK) != 0)
		uses[count++] =
		    (struct path_use)PATH_ALONE("--evidence", values->evidence, PATH_RECORD);
	enum cuttle_status status = paths_check(uses, count, error);
	if (!status && strcmp(values->output, "-") != 0)
		status = rewrite_allowed(values->output, values->overwrite, error);
	return status;
}

static int run_report_verb(const struct verb *verb, int argc, char **argv) {
	struct report_values values = {.output = "-"};
	struct cuttle_error error = {"out of memory"};
	int operand, code;
	secrecy_begin();
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	values.request.files = (const char *const *)(argv + operand);
	values.request.file_count = (size_t)(argc - operand);
	values.request.texts = values.texts.texts;
	values.request.text_count = values.texts.count;
	const struct verb_need need = {operand == argc, "RECEIPT", "out.receipt.json"};
	if ((code = verb_lacks(verb, &need, 1))) return code;
	// What is set in the environment for audits must not put private numbers into a folder.
	values.with_private = values.with_private && options_typed(verb, "private");
	const char *conflict = find_conflict(&values);
	if (conflict) return verb_refuse(verb, CUTTLE_USAGE, conflict);
	char *folder = values.evidence ? folder_name(values.evidence) : NULL;
	if (values.evidence && !folder) return verb_fail(verb, CUTTLE_NOMEM, &error);
	values.evidence = folder;
	enum cuttle_status status = check_report(&values, &error);
	if (!status) status = (folder ? make_evidence : make_report)(&values, &error);
	free(folder);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

const struct verb report_verb = {
    .name = "report",
    .usage = "RECEIPT [RECEIPT|EVALUATION|AUDIT]... [OPTION]...",
    .summary = "a page for who answers for privacy: promise, limits, budget, audits, tables",
    .example = "out.receipt.json table.json --ledger spent.db -o report.html",
    .another = "out.receipt.json table.json audit.json --ledger spent.db --evidence evidence",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .run = run_report_verb,
};
