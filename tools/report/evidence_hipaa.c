// SPDX-License-Identifier: Apache-2.0
// hipaa.md: what an expert needs for 45 CFR 164.514(b)(1). It determines nothing.
#include "tools/report/evidence_pages.h"

#include <math.h>

void evidence_write_hipaa(FILE *file, const struct dossier *dossier) {
	char after[ODDS_TEXT], number[UNITS_NUMBER];
	const double epsilon = dossier->epsilon;
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
	evidence_row(file, "Other information", "dp/PRIVACY.md, In what sense",
	             "The bound holds for a reader with any other information, now or later, and "
	             "any means.");
	if (isfinite(epsilon))
		evidence_row(
		    file, "Size of the risk", "dpia.md, Risk as odds; verify.txt",
		    "The largest epsilon is %s. A chance of 1 %% that a record was read can become "
		    "%s.",
		    report_number(epsilon, true, number), odds_after_words(epsilon, 0.01, after));
	else
		evidence_row(file, "Size of the risk", "verify.txt",
		             "Without bound: an output here has no guarantee that holds.");
	evidence_row(file, "Who is protected", "dpia.md, Who is protected",
	             dossier->owns_persons
	                 ? "Everybody with one value of a field, as receipts say."
	                 : "A record or a mark, as receipts say. A person with several is "
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
