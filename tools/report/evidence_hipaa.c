// SPDX-License-Identifier: Apache-2.0
// hipaa.md: what an expert needs for 45 CFR 164.514(b)(1). It determines nothing.
#include "tools/report/evidence_pages.h"

#include <math.h>

/* How sure a recipient can become, by one output and by all. */
static void put_risk_size(FILE *file, const struct dossier *dossier) {
	char one[UNITS_NUMBER], all[UNITS_NUMBER], after[ODDS_TEXT], after_all[ODDS_TEXT];
	const double epsilon = dossier->epsilon, sum = dossier->epsilon_sum;
	static const char topic[] = "Size of the risk",
	                  shown[] = "dpia.md, Risk as odds; verify.txt";
	report_number(epsilon, true, one);
	odds_after_words(epsilon, 0.01, after);
	if (!evidence_guarded(dossier))
		evidence_row(file, topic, "verify.txt",
		             "Without bound: an output here has no guarantee that holds.");
	else if (dossier->costing < 2)
		evidence_row(file, topic, shown,
		             "Epsilon is %s. A chance of 1 %% that what is protected was read can "
		             "become %s.",
		             one, after);
	else if (isfinite(sum))
		evidence_row(
		    file, topic, shown,
		    "By one output, whose epsilon is %s at most, a chance of 1 %% that "
		    "what is protected was read can become %s. By all of them, if they are "
		    "of the same records, epsilon is %s, and it can become %s.",
		    one, after, report_number(sum, true, all),
		    odds_after_words(sum, 0.01, after_all));
	else
		evidence_row(file, topic, shown,
		             "By one output, whose epsilon is %s at most, a chance of 1 %% that "
		             "what is protected was read can become %s. Several of the same "
		             "records add up, and there is no sum here.",
		             one, after);
}

/* What the evaluations tell a recipient besides. */
static void put_evaluations(FILE *file, const struct dossier *dossier) {
	const struct evidence_asked asked = evidence_asked(dossier);
	char epsilon[UNITS_NUMBER];
	if (!asked.count) return;
	evidence_row(file, "Evaluations", "dpia.md, Risk as odds; report.html, Budget",
	             "Of %zu the references answered through noise. Whoever reads these, too, may "
	             "learn more of them: epsilon %s is added to that of outputs of the same "
	             "records.",
	             asked.count, report_number(asked.epsilon, true, epsilon));
}

void evidence_write_hipaa(FILE *file, const struct dossier *dossier) {
	const bool guarded = evidence_guarded(dossier);
	evidence_head(file, dossier, "Expert determination",
	              "For an expert under 45 CFR 164.514(b)(1). **This is not a determination.** "
	              "Nobody has judged here that a risk is very small. The rule names no number, "
	              "and neither does this page.");
	evidence_begin(file, "The expert, 164.514(b)(1)");
	evidence_yours(file, "Knowledge and experience",
	               "Who the expert is, and of which methods.");
	evidence_begin(file, "The risk, 164.514(b)(1)(i)");
	evidence_yours(file, "Anticipated recipients",
	               "Who will get the output. The bound holds whoever that is.");
	evidence_row(file, "The information", "verify.txt; receipts/",
	             "%zu outputs, each named by its SHA-256. %s", dossier->receipt_count,
	             dossier->is_compared ? "The files were compared with it."
	                                  : "Not all files were compared with it.");
	evidence_row(
	    file, "Other information", "dp/PRIVACY.md, In what sense", "%s%s%s%s",
	    guarded ? "The bound holds"
	            : "No bound holds for all outputs here. Of those "
	              "whose receipt holds, it does so",
	    " for a reader with any other information",
	    dossier->counts_lots ? " but that of the lots" : "",
	    dossier->counts_lots
	        ? ", now or later, and any means. Who knows these has a weaker bound (dpia.md)."
	        : ", now or later, and any means.");
	put_risk_size(file, dossier);
	put_evaluations(file, dossier);
	evidence_row(file, "Who is protected", "dpia.md, Who is protected",
	             !dossier->holding ? "Nobody: no receipt here holds."
	             : dossier->owns_persons
	                 ? "Everybody with one value of a field, as receipts say."
	                 : "A record, a mark or a word, as receipts say. A person with several is "
	                   "protected less.");
	evidence_yours(file, "Names and dates in the output",
	               "The model may write names that it learnt elsewhere. A name that many "
	               "records share may come out.");
	evidence_begin(file, "Methods and results, 164.514(b)(1)(ii)");
	evidence_row(file, "Methods", "dp/PRIVACY.md; docs/GUARANTEE.md",
	             "The mechanism and its proof, step by step, with the test of each.");
	evidence_row(file, "Parameters", "receipts/; report.html",
	             "Every number that a guarantee follows from.");
	evidence_row(file, "Results", "verify.txt",
	             "Each receipt was made anew from its parameters, and compared.");
	fputs("| Attacks | ", file);
	evidence_audits(file, dossier,
	                " canary one-run invariant recover exposure overlap holdout lot invert ");
	fputs(" | dpia.md, Extraction tests; report.html |\n", file);
	evidence_row(file, "Limits", "report.html, What is not covered", "%zu sentences.",
	             dossier->report.limit_count);
	evidence_yours(file, "Determination", "Whether the risk is very small, signed and dated.");
	evidence_begin(file, "Not claimed");
	evidence_row(file, "Safe harbor, 164.514(b)(2)", "dp/PRIVACY.md, What is not promised",
	             "No list of identifiers was removed. Nothing here is about that method.");
}
