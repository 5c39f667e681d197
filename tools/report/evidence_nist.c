// SPDX-License-Identifier: Apache-2.0
// sp800-226.md: the pyramid and the hazards of NIST SP 800-226, a row each.
#include "tools/report/evidence_pages.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum row_status { MET, NOT_MET, YOURS };
static const char *const STATUSES[] = {"met", "not met", "yours"};

/* An epsilon that the document calls conservative (2.2), and one that we call too large. */
static const double CONSERVATIVE = 1, LARGE = 10;

/* A row. `shown` names command and file, or who answers. */
__attribute__((format(printf, 6, 7))) static void
put_hazard(FILE *file, const char *section, const char *topic, enum row_status status,
           const char *shown, const char *format, ...) {
	va_list list;
	va_start(list, format);
	fprintf(file, "| %s | %s | %s | ", topic, section, STATUSES[status]);
	vfprintf(file, format, list);
	fprintf(file, " | %s |\n", shown);
	va_end(list);
}

static void begin_hazards(FILE *file, const char *heading) {
	fprintf(
	    file,
	    "\n## %s\n\n| topic | section | status | here | shown by |\n|---|---|---|---|---|\n",
	    heading);
}

/* How many outputs have an epsilon that is copied from the receipt of what they were made from, in
 * whole or in part, which is not here. Nothing here computes it again. */
static size_t count_copied(const struct dossier *dossier) {
	const struct report *report = &dossier->report;
	size_t copied = 0;
	for (size_t i = 0; i < report->receipt_count; i++) {
		const struct receipt_bias *bias = report->receipts[i].v.bias;
		bool found = dossier->receipts[i].derived;
		for (size_t k = 0; bias && k < report->receipt_count; k++)
			found |= !strcmp(report->receipts[k].sha256, bias->receipt_sha256);
		copied += !found && (bias || *dossier->receipts[i].source);
	}
	return copied;
}

static void put_parameters(FILE *file, const struct dossier *dossier) {
	char number[UNITS_NUMBER], factor[ODDS_TEXT];
	const double epsilon = dossier->epsilon, all = !evidence_guarded(dossier) ? (double)INFINITY
	                                               : isfinite(dossier->epsilon_sum)
	                                                   ? dossier->epsilon_sum
	                                                   : epsilon;
	const size_t copied = count_copied(dossier);
	char not_here[96] = "";
	if (copied)
		(void)snprintf(not_here, sizeof not_here,
		               " But of %zu it is copied from a receipt that is not here.", copied);
	put_hazard(file, "2.2", "Privacy parameter",
	           !evidence_guarded(dossier) ? NOT_MET
	           : copied                   ? YOURS
	                                      : MET,
	           "`cuttle receipt verify`: verify.txt",
	           "Epsilon of each output %s. The largest is %s.%s",
	           evidence_guarded(dossier) ? "is stated, and was computed again"
	                                     : "whose receipt holds was computed again; others "
	                                       "have none",
	           report_number(epsilon, true, number), not_here);
	put_hazard(file, "2.2", "Hazard: a large epsilon",
	           !evidence_guarded(dossier) || all >= LARGE ? NOT_MET
	           : all <= CONSERVATIVE                      ? MET
	                                                      : YOURS,
	           "dpia.md, Risk as odds; docs/EVIDENCE.md",
	           "Odds can grow %s times%s. Up to 1 counts as conservative in the document. From "
	           "10 on we say not met. Between them the decision is yours.",
	           odds_factor(all, factor),
	           dossier->costing < 2 || !isfinite(all) ? ""
	           : isfinite(dossier->epsilon_sum) ? ", by all outputs here, if they are of the "
	                                              "same records"
	                                            : ", by one output here alone");
	put_hazard(file, "2.3", "Variant, and hazard of delta",
	           !evidence_guarded(dossier)                ? NOT_MET
	           : dossier->has_rho || dossier->delta == 0 ? MET
	                                                     : YOURS,
	           "receipts/; verify.txt",
	           "%s The largest delta is %s. It should be far below one in the number of "
	           "records.",
	           dossier->has_rho ? "Losses are counted as rho of zCDP, and delta only converts "
	                              "them."
	                            : "Not every loss is counted as rho.",
	           report_number(dossier->delta, true, number));
	put_hazard(file, "2.4", "Unit of privacy", dossier->owns_persons ? MET : YOURS,
	           "dpia.md, Who is protected", "%s",
	           dossier->owns_persons
	               ? "Everybody with one value of a field is a unit. That each person has one "
	                 "value is yours."
	               : "The unit is smaller than a person. Whether somebody has several is "
	                 "yours.");
	put_hazard(
	    file, "2.5", "Hazard: comparing guarantees", dossier->holding ? MET : NOT_MET,
	    "receipts/",
	    "Unit, neighbours, epsilon, delta and what they follow from stand side by side.");
	put_hazard(file, "2.6", "Hazard: other releases of the same data", YOURS, EVIDENCE_YOURS,
	           "What else was published of these records is not known here, and is not "
	           "protected by this.");
}

static void put_algorithms(FILE *file, const struct dossier *dossier) {
	const struct report *report = &dossier->report;
	put_hazard(file, "3", "Algorithms and correctness; hazard: own implementations", YOURS,
	           "dp/PRIVACY.md; `make proofs`, `make prove`, `make mutants`",
	           "The mechanism is cuttle's own implementation. Its proof names function and "
	           "test of each step. Nobody else has certified it.");
	put_hazard(file, "3.2", "Utility", report->evaluation_count ? MET : NOT_MET,
	           report->evaluation_count ? "`cuttle evaluate`: report.html"
	                                    : "`cuttle evaluate`: docs/EVALUATE.md",
	           report->evaluation_count ? "It was measured, with errors."
	                                    : "No measurement is in this folder.");
	put_hazard(file, "3.3", "Bias", YOURS, EVIDENCE_YOURS,
	           "What few records say is lost first, so small groups are shown worst.");
	put_hazard(file, "3.6", "Hazard: synthetic data without a guarantee",
	           evidence_guarded(dossier) ? MET : NOT_MET, "verify.txt", "%s",
	           evidence_guarded(dossier)
	               ? "Each output was drawn under the guarantee of its receipt."
	               : "Not every output here has a guarantee that holds.");
	put_hazard(file, "3.7", "Hazard: units of unstructured data", YOURS, EVIDENCE_YOURS,
	           "A text may tell about others than its owner. Whoever stands in several "
	           "people's records is protected less.");
}

static void put_deployment(FILE *file, const struct dossier *dossier) {
	const struct report *report = &dossier->report;
	put_hazard(file, "4.1", "Query model", evidence_guarded(dossier) ? MET : NOT_MET,
	           "receipts/",
	           "A data release: outputs are fixed. Whoever reads them asks the records "
	           "nothing.");
	put_hazard(file, "2.1.2, 4.1", "Composition and budget",
	           dossier->is_counted ? MET : NOT_MET,
	           dossier->ledger ? "`cuttle ledger history`: ledger.jsonl, verify.txt"
	                           : "`cuttle ledger`: docs/GUARANTEE.md",
	           "%s%s",
	           dossier->is_counted
	               ? "A ledger counted every run here that read records, and refuses what "
	                 "would go over its limit."
	               : "Not every run here was found in a ledger. What other runs cost is not "
	                 "known.",
	           evidence_asked(dossier).count
	               ? " Evaluations here cost their references more (report.html, Budget)."
	               : "");
	put_hazard(file, "4.2", "Threat and trust model", YOURS, EVIDENCE_YOURS,
	           "The central model: whoever runs cuttle holds the records and is trusted. "
	           "Readers are not.");
	const bool guarded = evidence_guarded(dossier);
	static const char unguarded[] = "Not every output here has a guarantee that holds.";
	put_hazard(
	    file, "4.3", "Hazard: floating point", guarded ? MET : NOT_MET,
	    "dp/PRIVACY.md, The mechanism, in integers; `make test`: test\\_dp\\_ratio", "%s",
	    guarded ? "Private numbers enter as integers. They are clipped, summed and drawn "
	              "as integers."
	            : unguarded);
	put_hazard(file, "4.3", "Hazard: timing", NOT_MET,
	           "docs/GUARANTEE.md; dp/PRIVACY.md, What is not promised",
	           "Time is not covered. Run offline, on a machine that no reader shares, and "
	           "publish afterwards.");
	put_hazard(file, "4.3", "Hazard: errors and other channels", guarded ? MET : NOT_MET,
	           "dp/PRIVACY.md, Threat model; tests/cli/noninterference.sh", "%s",
	           guarded ? "No message, exit code or size depends on a record, but through the "
	                     "mechanism."
	                   : unguarded);
	put_hazard(file, "4.4", "Hazard: data security", YOURS, EVIDENCE_YOURS,
	           "The records themselves, while they are stored and read.");
	put_hazard(file, "4.4", "Hazard: access control", YOURS, EVIDENCE_YOURS,
	           "Who may read the records, run cuttle, and write to the ledger.");
	put_hazard(file, "4.5", "Hazard: data collection exposure", YOURS, EVIDENCE_YOURS,
	           "Whether the records had to be collected at all, and for how long they are "
	           "kept.");
	size_t sound = 0, wrong = 0;
	for (size_t i = 0; i < report->audit_count; i++) {
		const struct report_audit *audit = &report->audits[i];
		const bool failed = audit->is_void || audit->contradicts;
		wrong += failed;
		sound += !failed && audit->receipt != REPORT_NONE;
	}
	put_hazard(file, "4.6", "Tests of the implementation", sound && !wrong ? MET : NOT_MET,
	           "`cuttle audit`: dpia.md, Extraction tests",
	           "%zu audits are here. %zu are void or contradict. %zu of the others tested what "
	           "a receipt here promises. Audits can refute, never confirm.",
	           report->audit_count, wrong, sound);
}

void evidence_write_nist(FILE *file, const struct dossier *dossier) {
	evidence_head(
	    file, dossier, "NIST SP 800-226",
	    "Each part of the pyramid and each hazard of *Guidelines for Evaluating Differential "
	    "Privacy Guarantees* has a row. Sections are those of the public draft of December "
	    "2023; compare them with the final text of March 2025. *Met* and *not met* are "
	    "about this folder. *Yours* is what no file here can show.");
	begin_hazards(file, "Part I: the guarantee");
	put_parameters(file, dossier);
	begin_hazards(file, "Part II: algorithms");
	put_algorithms(file, dossier);
	begin_hazards(file, "Part III: deployment");
	put_deployment(file, dossier);
}
