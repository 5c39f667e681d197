// SPDX-License-Identifier: Apache-2.0
// dossier.h: what a folder of evidence says, as data: receipts and how each was verified, a report
// of those that hold, and what the ledger has of their data sets.
//
// Receipts are public, and so is what a ledger says of a data set that is named there. Evaluations
// and audits may be PRIVATE: the report has none of these, or all are stamped. Where a report ends
// at a receipt that does not hold, a dossier tells it: what an officer files must show it.
//
//     status = dossier_make(&request, &dossier, &error);
//     ... dossier.receipts[0].verdict ... dossier.report.receipts[0].promise ...
//     dossier_free(&dossier);
#ifndef CUTTLE_WORKFLOW_REPORT_DOSSIER_H
#define CUTTLE_WORKFLOW_REPORT_DOSSIER_H

#include "workflow/report/report.h"

enum { DOSSIER_NAME = 48 }; /* bytes for the name of a file in the folder, with its NUL */

struct dossier_receipt {
	const char *path;        /* as it was given */
	char name[DOSSIER_NAME]; /* in the folder: "receipts/1.receipt.json" */
	char sha256[HASH_TEXT];  /* of its bytes */
	char *bytes;             /* [size] */
	size_t size;
	const char *output_sha256;       /* as it claims; NULL = it names none */
	json_t *document;                /* into which that points; as it was written */
	struct verification_files files; /* what it was compared with */
	/* Of the receipt of what it was made from, if that was given: of an expansion its parent,
	 * of texts of a bias the bias; "" = none. */
	char source[HASH_TEXT];
	/* It read no record, and that receipt is in the folder and holds. So it costs nothing
	 * more. */
	bool derived;
	/* OK: it holds. INPUT: it agrees with itself, and its output is NOT PRIVATE. LEDGER: it
	 * does not hold. The last two have a line that says why. */
	enum cuttle_status verdict;
	struct cuttle_error why;
};

struct dossier {
	struct dossier_receipt
	    *receipts;        /* [receipt_count] those that hold first, as in `report` */
	size_t receipt_count; /* at least 1 */
	size_t holding;       /* how many hold */
	size_t failing;       /* how many do not; the rest are NOT PRIVATE */
	/* Of the receipts that hold. Where none does it is empty, and so are its other lists. */
	struct report report;
	struct promise_lines stamps; /* what stands over each page: "NOT PRIVATE: ..." */
	char *ledger; /* [ledger_size] entries of the receipts' data sets, as JSON lines; NULL =
	                 none */
	size_t ledger_size;
	const char *key; /* that must have signed all receipts; NULL = any */
	char public_key[SIGNATURE_PUBLIC];
	/* Of all receipts that hold, together. */
	double epsilon; /* the largest; infinity: one promises nothing; NaN: none holds */
	double delta;   /* the largest */
	/* Sums over all that cost anything. NaN: they protect different things, or one of the
	 * receipts does not hold, or promises nothing. */
	double epsilon_sum, delta_sum, rho_sum;
	size_t costing;    /* how many cost anything: all but derived ones */
	bool counts_lots;  /* an epsilon holds while nobody knows which batch a record was in */
	bool has_rho;      /* each states its rho, and counts on no secret lots; but derived ones */
	bool owns_persons; /* each protects everybody with one value of a field */
	bool is_counted;   /* each was found in the ledger; but derived ones */
	bool is_signed;    /* each was signed with the key that was given */
	bool is_compared;  /* the output of each was given, and is its own */
	bool shares_unit;  /* all protect the same, in the same words */
};

/* Reads and checks all files, and fills *dossier. Call dossier_free in any case; the request's
 * strings must outlive it. `request->publish`: private evaluations and audits are left out.
 * USAGE, INPUT, NOMEM: as report_make. LEDGER: an output is that of no receipt; a private audit
 * that is left out contradicts its guarantee; a file was changed meanwhile; the ledger is damaged.
 */
enum cuttle_status dossier_make(const struct report_request *request, struct dossier *dossier,
                                struct cuttle_error *error);
void dossier_free(struct dossier *dossier);

/* What the folder ends with, once it is written: LEDGER: a receipt does not hold, or an audit
 * contradicts. INPUT: one is NOT PRIVATE. */
enum cuttle_status dossier_verdict(const struct dossier *dossier, struct cuttle_error *error);

/* What the whole run of a receipt costs a unit: its epsilon of all groups, of a whole text, or with
 * its bias, where it has one of these. */
double dossier_epsilon(const struct report_receipt *receipt);

#endif
