// SPDX-License-Identifier: Apache-2.0
// report.h: what a report says, as data: receipts that hold, evaluations, audits and budgets.
//
// Receipts and ledgers are public. Evaluations and audits may be PRIVATE, each says so: with
// `publish` those are left out, with every number in them. Strings are foreign: names of files,
// categories, data sets. Whoever shows them escapes them. A report grades nothing: it repeats what
// files say, once they hold.
//
//     status = report_make(&request, &report, &error);
//     ... report.receipts[0].promise.kept ... report.evaluations[0].document ...
//     report_free(&report);
//
// What is read, and relied on. A receipt: workflow/report/verification.h. An evaluation: the JSON
// of tools/report/evaluate_table.h, with "evaluation": 1. An audit: that of cuttle audit --json, a
// JSON object with
//     "audit": string               its name
//     "private": bool, "stamp": string or null   whether its numbers are protected by nothing
//     "contradicted": bool, "void": bool         what it found; void: its control was not caught
//     "claimed_epsilon": number or null          what the guarantee says
//     "receipt_sha256", "model_sha256": string or null, or not there   of what was audited
//     "game", "control": object of numbers; the control has no protection, and may be null
// and in these two, perhaps: "epsilon_at_least" and "epsilon_at_least_sure", the epsilon that is
// shown with 95 % and but for one in a million; "games", "hits" and "alarms", counts; "roc", a list
// of [x, y], shares of false and true alarms. "delta" and "canary" are shown where they are there.
// Other members are not looked at, but stand in the report's JSON.
#ifndef CUTTLE_WORKFLOW_REPORT_REPORT_H
#define CUTTLE_WORKFLOW_REPORT_REPORT_H

#include "io/ledger/ledger.h"
#include "workflow/evaluate/evaluation.h"
#include "workflow/report/promise.h"

enum { REPORT_FILES = 48 }; /* files in a report, at most */
#define REPORT_NONE SIZE_MAX

/* What stands over numbers of private files. */
#define REPORT_STAMP "computed from the references without protection: do not publish"

struct report_request {
	const char *const *files; /* [file_count] receipts, evaluations and audits, in any order */
	size_t file_count;
	const char *const *texts; /* [text_count] outputs, each of one of the receipts */
	size_t text_count;
	const char *ledger;  /* path; NULL = no budget is shown */
	const char *dataset; /* in it; NULL = those of the receipts */
	const char *key;     /* the public key that must have signed all receipts; NULL = any */
	bool publish;        /* private evaluations and audits are left out */
	bool evidence;       /* for a folder of evidence (workflow/report/dossier.h): a public audit
	                        that contradicts is shown, whatever `publish` is */
};

struct report_receipt {
	const char *path;
	char sha256[HASH_TEXT];
	struct verification v; /* it holds */
	struct verification_files files;
	struct promise promise;
	json_t *document; /* all of it, as it was written */
	/* For whom the receipt says; of perturb for a word, of sanitize a group. Infinity: nothing
	 * is promised. */
	double epsilon;
	double epsilon_all; /* of perturb for a text, of sanitize all groups, of a run with a bias
	                       both together; NaN = the same, or none */
	double delta;       /* 0 = none */
	/* Against who knows which batch a record was in; equal to the two above without lots. */
	double epsilon_known;
	double delta_known;
};

struct report_evaluation {
	const char *path;
	char sha256[HASH_TEXT];
	json_t *document; /* has the shape of tools/report/evaluate_table.h */
	bool is_private;
};

/* What an audit shows of one mechanism. */
struct report_game {
	const json_t *numbers; /* NULL = was not played */
	double likely;         /* epsilon is at least this, with 95 %; NaN = no bound */
	double sure;           /* but for one in a million */
};

struct report_audit {
	const char *path;
	char sha256[HASH_TEXT];
	json_t *document;
	bool is_private;
	bool contradicts; /* its guarantee */
	bool is_void;     /* it did not catch what has no protection, so it shows nothing */
	double claimed;   /* epsilon; NaN = none */
	struct report_game game;
	struct report_game control;
	size_t receipt; /* the one whose epsilon was claimed, of the same receipt or model where
	                   the audit names one; or REPORT_NONE */
};

/* What is not covered, and by which receipts not. */
struct report_limit {
	const char *text;
	uint64_t receipts; /* bit i: receipt i */
};

struct report {
	struct report_receipt *receipts; /* [receipt_count] at least one */
	size_t receipt_count;
	struct report_evaluation *evaluations; /* [evaluation_count] */
	size_t evaluation_count;
	struct report_audit *audits; /* [audit_count] */
	size_t audit_count;
	struct report_limit *limits; /* [limit_count] each text once */
	size_t limit_count;
	struct ledger_standing *budgets; /* [budget_count] */
	size_t budget_count;
	size_t left_out;  /* private files, of which nothing is here */
	size_t unguarded; /* private files that are here */
	bool publish;
	bool evidence;                      /* it is a page of a folder of evidence */
	const struct promise_lines *stamps; /* what stands over each page of it; NULL = nothing */
	char given[REPORT_FILES]
	          [HASH_TEXT]; /* [given_count] of all files, also of those left out */
	size_t given_count;
};

/* Reads and checks all files. Call report_free in any case; the request's strings must outlive
 * *report. USAGE: there is no receipt, too many files, one of them twice, or a data set without a
 * ledger. INPUT: a file cannot be read, is none of the three kinds, or lacks what is relied on.
 * LEDGER: a receipt does not hold, an evaluation's stamp contradicts it, or as ledger_open. NOMEM.
 */
enum cuttle_status report_make(const struct report_request *request, struct report *report,
                               struct cuttle_error *error);
void report_free(struct report *report);

/* The receipt whose output has this SHA-256; REPORT_NONE. sha256 may be NULL. */
size_t report_receipt_of(const struct report *report, const char *sha256);
/* Whether an audit contradicts a guarantee. */
bool report_contradicted(const struct report *report);
/* The most true alarms that any test can have with this share of false ones, both from 0 to 1,
 * where the guarantee holds. */
double report_alarms(double epsilon, double delta, double false_alarms);

/* One number of a row, by its column of workflow/evaluate/evaluation.h. False: the row has none.
 * The error is NaN where the column has none. */
bool report_cell(const json_t *row, int column, double *value, double *error);

#endif
