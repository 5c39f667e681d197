// SPDX-License-Identifier: Apache-2.0
// deployment.yaml: an entry for the Differential Privacy Deployments Registry, as a draft.
//
// Names of fields and values are those of its schema (github.com/opendp/deployments-registry-data,
// schemas/deployments-schema.yaml); Nanayakkara, Ghazi and Vadhan, arXiv 2509.13509. The registry
// shows strings as Markdown, so foreign words are escaped for that, and then for YAML.
#include "tools/report/evidence_pages.h"

#include "base/utf8.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { YAML_INDENT = 2 }; /* spaces of a level */

/* Writes text between quotation marks, as YAML reads it: one line, no character unseen. */
static void quote_yaml(FILE *file, const char *text) {
	fputc('"', file);
	for (size_t left = strlen(text); left;) {
		uint32_t c;
		size_t size = utf8_decode(text, left, &c);
		if (!size) c = UNICODE_REPLACEMENT;
		if (c == '"' || c == '\\') fprintf(file, "\\%c", (int)c);
		else if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c > 0xfffd || c == 0xfeff ||
		         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || !size)
			fprintf(file, "\\U%08X", c);
		else (void)fwrite(text, 1, size, file);
		text += size ? size : 1;
		left -= size ? size : 1;
	}
	fputc('"', file);
}

static void put_field(FILE *file, int level, const char *key) {
	fprintf(file, "%*s%s: ", level * YAML_INDENT, "", key);
}

/* A field with text; `remark` stands behind it, NULL = nothing. */
static void put_text_field(FILE *file, int level, const char *key, const char *text,
                           const char *remark) {
	put_field(file, level, key);
	quote_yaml(file, text);
	if (remark) fprintf(file, " # %s", remark);
	fputc('\n', file);
}

/* A field that begins an object. */
static void open_field(FILE *file, int level, const char *key) {
	fprintf(file, "%*s%s:\n", level * YAML_INDENT, "", key);
}

/* A field whose text is written by `tell`. */
static void put_told_field(FILE *file, int level, const char *key, const struct dossier *dossier,
                           void (*tell)(FILE *file, const struct dossier *dossier)) {
	char *text = NULL;
	size_t size = 0;
	FILE *told = open_memstream(&text, &size);
	if (!told) return;
	tell(told, dossier);
	if (!fclose(told)) put_text_field(file, level, key, text, NULL);
	free(text);
}

/* A number, as all readers of YAML take one: 1e-06 is a string to some, 1.0e-06 is not. */
static void put_number_field(FILE *file, int level, const char *key, double value) {
	char number[UNITS_NUMBER];
	report_number(value, true, number);
	const size_t whole = strcspn(number, "e");
	put_field(file, level, key);
	fprintf(file, "%.*s%s%s\n", (int)whole, number, memchr(number, '.', whole) ? "" : ".0",
	        number + whole);
}

/* ---- what is told ---------------------------------------------------------------------------- */

static void tell_description(FILE *file, const struct dossier *dossier) {
	const struct report *report = &dossier->report;
	for (size_t i = 0; i < dossier->stamps.count; i++)
		fprintf(file, "**%s** ", dossier->stamps.all[i].text);
	for (size_t i = 0; i < report->receipt_count; i++)
		fprintf(file, "Output %zu of %s, cuttle %s (%s). ", i + 1,
		        report->receipts[i].v.evidence.kind->system, cuttle_version(),
		        dossier->receipts[i].name);
	fputs("What it is about: " EVIDENCE_YOURS ".", file);
}

static void tell_unit(FILE *file, const struct dossier *dossier, const char *key) {
	const struct report *report = &dossier->report;
	const size_t count = dossier->shares_unit ? 1 : report->receipt_count;
	for (size_t i = 0; i < count; i++) {
		fputs(i ? "; " : "", file);
		report_markdown(
		    file, json_string_value(json_object_get(report->receipts[i].document, key)));
	}
}

static void tell_protected(FILE *file, const struct dossier *dossier) {
	tell_unit(file, dossier, "unit");
}

static void tell_neighbours(FILE *file, const struct dossier *dossier) {
	fputs("Neighbours: ", file);
	tell_unit(file, dossier, "adjacency");
	fputs(" (receipts/, adjacency).", file);
}

static void tell_limits(FILE *file, const struct dossier *dossier) {
	for (size_t i = 0; i < dossier->report.limit_count; i++) {
		fputs(i ? " " : "", file);
		report_markdown(file, dossier->report.limits[i].text);
	}
	fputs(" (report.html, What is not covered)", file);
}

static void tell_parameters(FILE *file, const struct dossier *dossier) {
	const struct report *report = &dossier->report;
	const struct evidence_asked asked = evidence_asked(dossier);
	char number[UNITS_NUMBER], delta[UNITS_NUMBER];
	for (size_t i = 0; i < report->receipt_count; i++) {
		const struct report_receipt *receipt = &report->receipts[i];
		fprintf(file, "%s: %s %s", dossier->receipts[i].name,
		        report_epsilon_words(receipt, false),
		        report_number(receipt->epsilon, true, number));
		if (receipt->epsilon_all > 0)
			fprintf(file, ", %s %s", report_epsilon_words(receipt, true),
			        report_number(receipt->epsilon_all, true, number));
		fprintf(file, ", delta %s", report_number(receipt->delta, true, number));
		if (receipt->epsilon_known != receipt->epsilon)
			fprintf(file, ", epsilon %s if the batch of a record is known",
			        report_number(receipt->epsilon_known, true, number));
		fputs(". ", file);
	}
	if (!evidence_guarded(dossier))
		fputs("Not every output here has a guarantee that holds, so there is no sum.",
		      file);
	else if (report->receipt_count > 1)
		fputs(dossier->shares_unit
		          ? "The numbers above are sums over all outputs that cost anything: those "
		            "made from others here cost nothing more."
		          : "Outputs protect different things, so there is no sum.",
		      file);
	if (asked.count)
		fprintf(file,
		        " Besides, evaluations cost their references epsilon %s, delta %s, through "
		        "noise (report.html, Budget).",
		        report_number(asked.epsilon, true, number),
		        report_number(asked.delta, true, delta));
}

static void tell_composition(FILE *file, const struct dossier *dossier) {
	const struct report *report = &dossier->report;
	char number[UNITS_NUMBER];
	fputs(
	    "Losses of one run add up over its tokens, by the accountant that its receipt names. ",
	    file);
	for (size_t i = 0; i < report->budget_count; i++) {
		const struct ledger_standing *standing = &report->budgets[i];
		fputs("Over runs, the ledger of ", file);
		report_markdown(file, standing->dataset.name);
		fprintf(file, " has epsilon %s spent",
		        report_number(report_epsilon_spent(standing), true, number));
		fprintf(file, " of %s", report_number(standing->dataset.epsilon, false, number));
		fprintf(file, " at delta %s (ledger.jsonl). ",
		        report_number(standing->dataset.delta, true, number));
	}
	if (!report->budget_count) fputs("Runs were compared with no ledger. ", file);
}

static void tell_mechanisms(FILE *file, const struct dossier *dossier) {
	for (size_t i = 0; i < dossier->report.receipt_count; i++) {
		fprintf(file, "%s: ", dossier->receipts[i].name);
		report_markdown(file, dossier->report.receipts[i].promise.opening);
		fputc(' ', file);
	}
	fputs("Own implementation; private numbers are clipped, summed and drawn as integers "
	      "(dp/PRIVACY.md). Timing is not covered: outputs are published after the run. Random "
	      "bits are the operating system's. Security of the records: " EVIDENCE_YOURS ".",
	      file);
}

/* ---- the parts ------------------------------------------------------------------------------- */

/* What kind of product the registry calls it. */
static const char *name_product(const struct dossier *dossier) {
	const struct report *report = &dossier->report;
	const struct receipt_kind *kind =
	    report->receipt_count ? report->receipts[0].v.evidence.kind : &GENERATE_KIND;
	return kind == &LEARN_KIND                               ? "Machine learning model"
	       : kind == &SANITIZE_KIND || kind == &PERTURB_KIND ? "Dataset"
	                                                         : "Synthetic data";
}

static void put_basic(FILE *file, const struct dossier *dossier) {
	const struct report *report = &dossier->report;
	const char *date = "1900-01-01"; // as in the registry's own template
	for (size_t i = 0; i < report->receipt_count; i++)
		if (strcmp(report->receipts[i].v.date, date) > 0) date = report->receipts[i].v.date;
	open_field(file, 1, "basic");
	char *name = NULL;
	size_t size = 0;
	FILE *escaped = open_memstream(&name, &size);
	if (!escaped) return;
	report_markdown(escaped, evidence_subject(dossier));
	if (!fclose(escaped)) put_text_field(file, 2, "name", name, NULL);
	free(name);
	open_field(file, 2, "data_curators");
	fputs("      -\n", file);
	put_text_field(file, 4, "data_curator_name", EVIDENCE_YOURS, NULL);
	put_text_field(file, 4, "data_curator_type", "Industry",
	               EVIDENCE_YOURS ": Government, Industry or Nonprofit");
	put_told_field(file, 2, "description", dossier, tell_description);
	put_text_field(file, 2, "intended_use", EVIDENCE_YOURS, NULL);
	put_text_field(file, 2, "data_product_type", name_product(dossier), NULL);
	put_text_field(file, 2, "data_product_region", EVIDENCE_YOURS, NULL);
	fputs("    # data_product_sector: " EVIDENCE_YOURS "\n", file);
	put_text_field(file, 2, "publication_date", date,
	               EVIDENCE_YOURS ": this is the day on which the last run began");
}

/* The sum of epsilon, delta and rho over all outputs, where they protect the same. */
static void put_sums(FILE *file, const struct dossier *dossier) {
	if (!isfinite(dossier->epsilon_sum)) {
		put_field(file, 2, "privacy_parameters");
		fputs("{}\n", file);
		return;
	}
	open_field(file, 2, "privacy_parameters");
	put_number_field(file, 3, "epsilon", dossier->epsilon_sum);
	if (dossier->delta_sum > 0) put_number_field(file, 3, "delta", dossier->delta_sum);
	if (dossier->has_rho) put_number_field(file, 3, "rho", dossier->rho_sum);
}

/* Tiers 2 and 3, which only receipts that hold can fill in. */
static void put_guarantee(FILE *file, const struct dossier *dossier) {
	const bool guarded = isfinite(dossier->epsilon);
	open_field(file, 1, "dp_variant");
	put_text_field(file, 2, "variant_name",
	               !guarded             ? "Custom"
	               : dossier->delta > 0 ? "Approximate DP"
	                                    : "Pure DP",
	               guarded ? NULL : "an output here has no guarantee");
	put_text_field(file, 2, "data_domain",
	               "Lists of records, each a text or nothing (docs/GUARANTEE.md).", NULL);
	put_told_field(file, 2, "unprotected_quantities", dossier, tell_limits);
	open_field(file, 1, "privacy_loss");
	put_told_field(file, 2, "privacy_unit", dossier, tell_protected);
	put_told_field(file, 2, "privacy_unit_details", dossier, tell_neighbours);
	put_sums(file, dossier);
	put_told_field(file, 2, "privacy_parameters_details", dossier, tell_parameters);
}

#define TRUSTED_MACHINE                                                                            \
	"Nobody looks into the machine at work (dp/PRIVACY.md, What is assumed). People and "      \
	"their "                                                                                   \
	"roles: " EVIDENCE_YOURS "."

static void put_model(FILE *file, const struct dossier *dossier) {
	const bool one = dossier->receipt_count == 1;
	open_field(file, 1, "deployment_model");
	put_text_field(file, 2, "model_name", "Central", NULL);
	put_text_field(file, 2, "model_name_details",
	               "Whoever runs cuttle holds the records; outputs leave (docs/GUARANTEE.md).",
	               NULL);
	put_text_field(
	    file, 2, "trust_assumptions",
	    dossier->counts_lots
	        ? "Readers may know every other record, all settings and the code, but not the "
	          "lots, which say what batch a record was in. " TRUSTED_MACHINE
	        : "Readers may know every other record, all settings and the "
	          "code. " TRUSTED_MACHINE,
	    NULL);
	put_text_field(file, 2, "release_type", one ? "One release" : "Many releases", NULL);
	put_text_field(file, 2, "release_type_details",
	               "As many as receipts here. Further ones: " EVIDENCE_YOURS ".", NULL);
	put_text_field(file, 2, "data_source_type", "Static",
	               EVIDENCE_YOURS ": Dynamic, if records come in over time");
	put_text_field(file, 2, "access_type", "Non-interactive", NULL);
	put_text_field(file, 2, "access_type_details",
	               "Readers get the outputs as they are, and cannot query the records.", NULL);
}

static void put_implementation(FILE *file, const struct dossier *dossier) {
	open_field(file, 1, "implementation");
	put_text_field(file, 2, "preprocessing_and_hyperparameter_tuning",
	               "Settings must be chosen without the records (dp/PRIVACY.md, What is "
	               "assumed). Whether they were: " EVIDENCE_YOURS ".",
	               NULL);
	put_told_field(file, 2, "mechanisms", dossier, tell_mechanisms);
	put_told_field(file, 2, "composition", dossier, tell_composition);
	put_text_field(file, 2, "post_processing",
	               "What a receipt lists under filters, and what you did to the output "
	               "since: " EVIDENCE_YOURS ".",
	               NULL);
	put_text_field(file, 2, "justification", EVIDENCE_YOURS, NULL);
	put_text_field(file, 2, "utility",
	               dossier->report.evaluation_count ? "Measured: report.html, Evaluation."
	                                                : "No measurement is in the folder.",
	               NULL);
	put_text_field(file, 2, "additional_information",
	               "sp800-226.md, dpia.md, hipaa.md, questions.md, verify.txt", NULL);
}

static void put_administration(FILE *file, const struct dossier *dossier) {
	open_field(file, 1, "administrative");
	open_field(file, 2, "evidence_sources");
	for (size_t i = 0; i < dossier->receipt_count; i++) {
		const struct dossier_receipt *receipt = &dossier->receipts[i];
		char key[32], note[128];
		(void)snprintf(key, sizeof key, "receipt_%zu", i + 1);
		(void)snprintf(note, sizeof note, "SHA-256 %s; %s", receipt->sha256,
		               receipt->verdict == CUTTLE_LEDGER  ? "it does not hold"
		               : receipt->verdict == CUTTLE_INPUT ? "NOT PRIVATE"
		                                                  : "it holds (verify.txt)");
		open_field(file, 3, key);
		put_text_field(file, 4, "evidence_source_type",
		               "Authorized organizational attestation", NULL);
		open_field(file, 4, "misc");
		put_text_field(file, 5, "title", receipt->name, NULL);
		put_text_field(file, 5, "note", note, NULL);
	}
	put_text_field(file, 2, "status", "Draft", NULL);
	open_field(file, 2, "registry_authors");
	fputs("      - \"" EVIDENCE_YOURS "\"\n", file);
	fprintf(file, "    tier: %d\n", dossier->holding ? 3 : 1);
}

void evidence_write_deployment(FILE *file, const struct dossier *dossier) {
	for (size_t i = 0; i < dossier->stamps.count; i++)
		fprintf(file, "# %s\n", dossier->stamps.all[i].text);
	fputs("# A draft for the Differential Privacy Deployments Registry. The registry's schema "
	      "has "
	      "no room\n# for an empty choice: remarks say which values you have to put in.\n",
	      file);
	fprintf(file, "url_slug: \"cuttle-%.12s\"\ndeployment:\n", dossier->receipts[0].sha256);
	put_basic(file, dossier);
	if (dossier->holding) {
		put_guarantee(file, dossier);
		put_model(file, dossier);
		put_implementation(file, dossier);
	}
	put_administration(file, dossier);
}
