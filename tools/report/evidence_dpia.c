// SPDX-License-Identifier: Apache-2.0
// dpia.md: what an impact assessment under GDPR Art. 35(7) asks, and which extraction tests of EDPB
// Opinion 28/2024 were run.
#include "tools/report/evidence_pages.h"

#include <inttypes.h>
#include <math.h>

/* ---- (a) what is done ------------------------------------------------------------------------ */

static void put_description(FILE *file, const struct dossier *dossier) {
	const struct report *report = &dossier->report;
	evidence_begin(file, "Description, Art. 35(7)(a)");
	for (size_t i = 0; i < report->receipt_count; i++) {
		const struct report_receipt *receipt = &report->receipts[i];
		const json_t *texts = json_object_get(receipt->document, "texts");
		fprintf(file, "| Processing %zu | %s", i + 1, receipt->v.evidence.kind->system);
		if (json_is_integer(texts))
			fprintf(file, ", %lld texts", (long long)json_integer_value(texts));
		fprintf(file, ", begun %s", receipt->v.date);
		if (receipt->v.dataset) {
			fputs(", data set ", file);
			report_markdown(file, receipt->v.dataset);
		}
		fprintf(file, " | %s |\n", dossier->receipts[i].name);
	}
	for (size_t i = report->receipt_count; i < dossier->receipt_count; i++)
		evidence_row(file, "Processing without a guarantee that holds", "verify.txt", "%s",
		             dossier->receipts[i].name);
	evidence_yours(file, "Purposes", "What the output is for, and who gets it.");
	evidence_yours(file, "Legal basis",
	               "Of reading the records, and of publishing the output; the legitimate "
	               "interest, if that is it.");
	evidence_row(file, "Where records are read", "docs/GUARANTEE.md",
	             "On the machine that runs cuttle. No verb but `infer` and `serve` opens a "
	             "connection.");
	fputs("\n### Who is protected\n\n| what | here | source |\n|---|---|---|\n", file);
	for (size_t i = 0; i < report->receipt_count; i++) {
		const json_t *document = report->receipts[i].document;
		fprintf(file, "| Unit and neighbours %zu | ", i + 1);
		report_markdown(file, json_string_value(json_object_get(document, "unit")));
		fputs("; ", file);
		report_markdown(file, json_string_value(json_object_get(document, "adjacency")));
		fprintf(file, " | %s |\n", dossier->receipts[i].name);
	}
}

/* ---- (c) the risk ---------------------------------------------------------------------------- */

/* The heading of a table of odds. docs/EVIDENCE.md has the same. */
#define ODDS_HEADING                                                                               \
	"epsilon | odds grow at most | a chance of 1 % becomes at most | a chance of 50 % "        \
	"becomes at most |"

static void put_odds(FILE *file, double epsilon) {
	char number[UNITS_NUMBER], factor[ODDS_TEXT], small[ODDS_TEXT], even[ODDS_TEXT];
	fprintf(file, "%s | %s times | %s | %s |", report_number(epsilon, true, number),
	        odds_factor(epsilon, factor), odds_after_words(epsilon, 0.01, small),
	        odds_after_words(epsilon, 0.5, even));
}

/* A row of odds of one receipt. */
static void put_receipt_odds(FILE *file, const char *whose, double epsilon, double delta,
                             const char *source) {
	char number[UNITS_NUMBER];
	fprintf(file, "| %s | ", whose);
	put_odds(file, epsilon);
	fprintf(file, " %s | %s |\n", report_number(delta, true, number), source);
}

static void put_risk(FILE *file, const struct dossier *dossier) {
	const struct report *report = &dossier->report;
	const struct evidence_asked asked = evidence_asked(dossier);
	static const double known[] = {1, 3, 10};
	fputs("\n## Risk as odds, Art. 35(7)(c)\n\nSomebody holds a chance that what is protected "
	      "was in the input: a record, the content of marks, or a word. Then they see the "
	      "output. The table says how sure they can become. It "
	      "holds for any reader, but for a chance of delta.",
	      file);
	if (!evidence_guarded(dossier))
		fputs(" Nothing bounds what an output says that has no row, or whose epsilon is "
		      "none.",
		      file);
	if (dossier->counts_lots)
		fputs(" With lots it holds while the reader does not know which batch a record was "
		      "in; a row of its own says what holds then.",
		      file);
	fputs("\n\n| of | " ODDS_HEADING " delta | source |\n|---|--:|--:|--:|--:|--:|---|\n",
	      file);
	for (size_t i = 0; i < report->receipt_count; i++) {
		const struct report_receipt *receipt = &report->receipts[i];
		char whose[160];
		(void)snprintf(whose, sizeof whose, "%s", report_epsilon_words(receipt, false));
		put_receipt_odds(file, whose, receipt->epsilon, receipt->delta,
		                 dossier->receipts[i].name);
		if (receipt->epsilon_all > 0)
			put_receipt_odds(file, report_epsilon_words(receipt, true),
			                 receipt->epsilon_all, receipt->delta,
			                 dossier->receipts[i].name);
		if (receipt->epsilon_known != receipt->epsilon)
			put_receipt_odds(file, "epsilon if the record's batch is known",
			                 receipt->epsilon_known, receipt->delta_known,
			                 dossier->receipts[i].name);
	}
	if (asked.count)
		put_receipt_odds(file, "evaluations through noise, of their references",
		                 asked.epsilon, asked.delta, "report.html, Budget");
	if (dossier->costing > 1 && isfinite(dossier->epsilon_sum))
		put_receipt_odds(file, "all outputs, if of the same records", dossier->epsilon_sum,
		                 dossier->delta_sum, "deployment.yaml, privacy_parameters");
	else if (dossier->costing > 1)
		fputs("\nEach row is of one output alone. Those of the same records add up; here "
		      "there is no sum, since they protect different things, or nothing.\n",
		      file);
	fputs("\nFor comparison, of any output:\n\n| " ODDS_HEADING "\n|--:|--:|--:|--:|\n", file);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		fputs("| ", file);
		put_odds(file, known[i]);
		fputc('\n', file);
	}
	fputs("\nEpsilon 10 promises little. The question here is whether something was there, or "
	      "nothing in its place. Between two contents the factor holds twice "
	      "(docs/EVIDENCE.md).\n",
	      file);
	evidence_begin(file, "Risks to people, Art. 35(7)(c)");
	evidence_row(file, "What a record alone says", "verify.txt", "%s",
	             evidence_guarded(dossier) ? "Bounded, as the table says."
	                                       : "Not bounded for all outputs here.");
	evidence_row(file, "What many records share", "report.html, What is not covered",
	             "Not bounded: it may come out.");
	evidence_yours(file, "Severity",
	               "What it would mean for somebody if their record became known.");
	evidence_yours(file, "People without a record", "Others whom a record tells about.");
}

/* ---- (d) measures ---------------------------------------------------------------------------- */

static void put_budgets(FILE *file, const struct report *report) {
	char spent[UNITS_NUMBER], left[UNITS_NUMBER];
	for (size_t i = 0; i < report->budget_count; i++) {
		const struct ledger_standing *standing = &report->budgets[i];
		fputs("| Budget of ", file);
		report_markdown(file, standing->dataset.name);
		fprintf(file, " | epsilon %s spent by %" PRIu64 " runs, %s left",
		        report_number(report_epsilon_spent(standing), true, spent), standing->runs,
		        report_number(report_epsilon_left(standing), false, left));
		fprintf(file, " of %s | ledger.jsonl |\n",
		        report_number(standing->dataset.epsilon, false, left));
	}
}

static void put_measures(FILE *file, const struct dossier *dossier) {
	evidence_begin(file, "Measures, Art. 35(7)(d)");
	evidence_row(file, "Differential privacy", "verify.txt; dp/PRIVACY.md",
	             "%zu of %zu outputs have a guarantee that holds.", dossier->holding,
	             dossier->receipt_count);
	evidence_row(file, "Counting of runs",
	             dossier->ledger ? "ledger.jsonl" : "docs/GUARANTEE.md",
	             dossier->is_counted ? "A ledger counted each run that read records."
	                                 : "Not every run was found in a ledger.");
	put_budgets(file, &dossier->report);
	evidence_row(file, "Signature", "verify.txt",
	             dossier->is_signed ? "Each receipt is signed with the key that was given."
	                                : "Not compared with a key for every receipt.");
	evidence_row(file, "Memory", "docs/GUARANTEE.md",
	             "Records stay out of core dumps, and are wiped at the end of a run.");
	evidence_yours(file, "Security of the records", "Where they lie, and who may read them.");
	evidence_yours(file, "Rights of people", "Information, access, objection, erasure.");
	evidence_begin(file, "Residual risk");
	evidence_row(file, "What is not covered", "report.html, What is not covered",
	             "%zu sentences: time, truth, other runs, and more.",
	             dossier->report.limit_count);
	evidence_yours(file, "Whether it is acceptable",
	               "And whether the authority is asked "
	               "(Art. 36).");
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void put_tests(FILE *file, const struct dossier *dossier) {
	static const struct {
		const char *attack, *names, *how;
	} rows[] = {
	    {"Attribute and membership inference, 55(i)", " canary one-run invariant lot holdout ",
	     "`cuttle audit canary`, `one-run`, `invariant`, `lot`, `holdout`"},
	    {"Regurgitation, 55(iii)", " overlap holdout ", "`cuttle audit overlap`, `holdout`"},
	    {"Inversion, 55(iv)", " recover invert ", "`cuttle audit recover`, `invert`"},
	    {"Reconstruction, 55(v)", " recover exposure ", "`cuttle audit recover`, `exposure`"},
	};
	fputs("\n## Extraction tests, EDPB Opinion 28/2024, section 3.2.2\n\nThe Opinion is about "
	      "models that were trained with personal data. cuttle publishes texts and trains no "
	      "model; a bias of `cuttle learn` is learnt under the guarantee of its receipt. The "
	      "attacks of paragraph 55 fit texts, too. A test that finds nothing shows little: "
	      "only that this attack failed.\n\n"
	      "| attack | found | how | source |\n|---|---|---|---|\n",
	      file);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		fprintf(file, "| %s | ", rows[i].attack);
		evidence_audits(file, dossier, rows[i].names);
		fprintf(file, " | %s | %s |\n", rows[i].how,
		        dossier->report.audit_count ? "report.html, Audits" : "docs/AUDIT.md");
	}
	fputs("| Exfiltration, 55(ii) | not run | no audit of cuttle is about intruders "
	      "| " EVIDENCE_YOURS " |\n",
	      file);
	evidence_begin(file, "The model itself");
	evidence_yours(file, "Training data of the model",
	               "Whether the records were among it, and who made it.");
	evidence_row(file, "Which model", "receipts/",
	             "A receipt names it by its hash, where there was one.");
}

void evidence_write_dpia(FILE *file, const struct dossier *dossier) {
	evidence_head(file, dossier, "Impact assessment",
	              "What Art. 35(7) of Regulation (EU) 2016/679 (GDPR) asks, as far as receipts "
	              "can answer it. It is no legal opinion. Whether the output is personal data "
	              "is yours to say.");
	put_description(file, dossier);
	evidence_begin(file, "Necessity and proportionality, Art. 35(7)(b)");
	evidence_yours(file, "Necessity", "Why these records, and why not fewer, or none.");
	evidence_yours(file, "Proportionality", "Why this epsilon, and not a smaller one.");
	put_risk(file, dossier);
	put_measures(file, dossier);
	put_tests(file, dossier);
}
